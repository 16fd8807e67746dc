//! Programs that checks need beside Rust, installed where they are missing and Debian's packages are to be had.
//! Where not, whoever needs them says so.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

/// Valgrind, which counts instructions.
pub fn valgrind() -> Result<()> {
    install("valgrind", Command::new("valgrind").arg("--version").output().is_err())
}

/// The PostgreSQL server, of which tests of the store start one of their own.
pub fn postgresql() -> Result<()> {
    install(
        "postgresql",
        !Path::new("/usr/lib/postgresql").exists() && Command::new("initdb").arg("-V").output().is_err(),
    )
}

fn install(package: &str, missing: bool) -> Result<()> {
    if missing && Command::new("apt-get").arg("--version").output().is_ok() {
        eprintln!("== installing {package}");
        let install = format!(
            "[ $(id -u) = 0 ] || sudo=sudo; $sudo apt-get update -qq; \
             $sudo apt-get install -y -qq {package} >/dev/null"
        );
        Command::new("sh").args(["-c", &install]).status()?;
    }
    Ok(())
}
