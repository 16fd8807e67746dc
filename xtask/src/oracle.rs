//! Answers of the conformance cases, asked of real Clojure.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

/// Fails if Clojure answers a case otherwise than the case says.
pub fn check(root: &Path) -> Result<()> {
    let folder = root.join("conformance");
    let entries = std::fs::read_dir(folder.join("cases"))?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "clj"));
    files.sort();
    let asked = Command::new("python3")
        .arg(folder.join("oracle.py"))
        .arg("--check")
        .args(files)
        .current_dir(root)
        .status()?;
    match asked.success() {
        true => Ok(()),
        false => bail!("Clojure answers otherwise than conformance/cases say, or not at all; see above"),
    }
}
