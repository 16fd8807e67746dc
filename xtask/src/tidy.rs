//! House rules that no lint knows: every source file says what lives in it, and none grows without
//! bound.

use std::path::Path;

use anyhow::{Result, bail};

/// Longer files are refused; tables and tests included.
const MAX_LINES: usize = 1100;

/// How tests say that they are skipped. One function does it, which fails where nothing may be skipped.
const SKIP: &str = concat!("\"ski", "pped:");

/// Checks every Rust file of the workspace.
pub fn check(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    for folder in ["crates", "xtask"] {
        visit(&root.join(folder), &mut faults)?;
    }
    if !faults.is_empty() {
        bail!("untidy files:\n{}", faults.join("\n"));
    }
    Ok(())
}

fn visit(folder: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                visit(&path, faults)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            if !text.starts_with("//!") {
                faults.push(format!("{}: does not open with a module doc", path.display()));
            }
            if text.contains(SKIP) && !path.ends_with("tests/it/skip.rs") && !path.ends_with("src/tests.rs") {
                faults.push(format!("{}: says itself that a test is skipped, not by `skip`", path.display()));
            }
            let lines = text.lines().count();
            if lines > MAX_LINES {
                faults.push(format!("{}: {lines} lines, more than {MAX_LINES}", path.display()));
            }
        }
    }
    Ok(())
}
