//! Chores that need the language itself, which are a program of their own (`xtask/language`), and what is built for chores
//! beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

/// Builds the program and does one of its chores.
pub fn run(root: &Path, chore: &str, args: &[String]) -> Result<()> {
    let program = built(root, "xtask-language")?;
    match Command::new(program).arg(chore).args(args).current_dir(root).status()?.success() {
        true => Ok(()),
        false => bail!("{chore} failed; see above"),
    }
}

/// Writes the generated files. The page of the server's settings is written by a test of the server, because building
/// the server for this chore would double the time that checks take on a new machine.
pub fn generate(root: &Path) -> Result<()> {
    run(root, "generate", &[])?;
    // Of the whole workspace, or it would be built anew with the features of one package.
    let test = ["test", "--quiet", "--workspace", "--test", "it", "the_page_of_settings"];
    let status = Command::new("cargo").args(test).env("PTC_WRITE_PAGES", "1").current_dir(root).status()?;
    match status.success() {
        true => Ok(()),
        false => bail!("docs/mcp-options.md could not be written: cargo {}", test.join(" ")),
    }
}

/// Builds a program of the workspace, unoptimised. The workspace is chosen, and an example with it, because crates are
/// built anew wherever features differ, and those are the features that tests are built with.
pub fn built(root: &Path, name: &str) -> Result<PathBuf> {
    let args = ["build", "--quiet", "--workspace", "--example", "attack", "--bin", name];
    if !Command::new("cargo").args(args).current_dir(root).status()?.success() {
        bail!("cargo {}", args.join(" "));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("debug").join(name))
}
