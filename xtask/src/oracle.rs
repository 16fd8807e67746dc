//! Answers of the conformance cases and of the tasks over data, asked of real Clojure.

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
    if !asked.success() {
        bail!("Clojure answers otherwise than conformance/cases say, or not at all; see above");
    }
    tasks(root)?;
    decimals(root)
}

/// Fails if Clojure answers a task over data otherwise than Python.
fn tasks(root: &Path) -> Result<()> {
    let script = root.join("conformance/tasks/clojure.py");
    match Command::new("python3").arg(script).current_dir(root).status()?.success() {
        true => Ok(()),
        false => {
            bail!("Clojure answers otherwise than conformance/tasks/answers.json, or not at all; see above")
        }
    }
}

/// Fails if Clojure computes otherwise with decimals: some expressions for each change, by hand thousands.
fn decimals(root: &Path) -> Result<()> {
    const COUNT: &str = "500";
    let ptc = crate::language::built(root, "ptc")?;
    let compared = Command::new("python3")
        .arg(root.join("conformance/decimals.py"))
        .args(["--count", COUNT, "--ptc"])
        .arg(ptc)
        .current_dir(root)
        .status()?;
    match compared.success() {
        true => Ok(()),
        false => bail!("Clojure computes otherwise with decimals; see above"),
    }
}
