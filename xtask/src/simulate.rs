//! The simulation of servers, stores, upstreams and clients, which is a program of its own (`xtask/simulate`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::language;

/// Optimised as what is shipped, and built sooner.
const PROFILE: &str = "tune";

/// The minutes that `cargo xtask ci` simulates with each of two seeds.
const SHORT: &str = "0.5";
/// A seed that is known to hold, so that a change is judged by what it changed.
const KNOWN: u64 = 1;

/// Simulates with an optimised build, which many schedules need.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let build = ["build", "--quiet", "--package", "xtask-simulate", "--profile", PROFILE];
    if !Command::new("cargo").args(build).current_dir(root).status()?.success() {
        bail!("cargo {}", build.join(" "));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    simulate(&target.join(PROFILE).join("xtask-simulate"), args)
}

/// Simulates for a minute with the build that tests use: half of it with a seed that is known to hold, and half with one
/// that is another for every commit, so that in time all kinds of schedules are run. The same commit has the same seed.
pub fn shortly(root: &Path) -> Result<()> {
    let program = language::built(root, "xtask-simulate")?;
    for seed in [Some(KNOWN), seed_of(&commit(root)?)].into_iter().flatten() {
        simulate(&program, &[SHORT.to_owned(), seed.to_string()])?;
    }
    Ok(())
}

/// The commit that is checked out; nothing where the project is no repository.
fn commit(root: &Path) -> Result<String> {
    let asked = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root).output()?;
    Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

/// The number that a commit begins with.
fn seed_of(commit: &str) -> Option<u64> {
    u64::from_str_radix(commit.get(..8)?, 16).ok()
}

fn simulate(program: &Path, args: &[String]) -> Result<()> {
    match Command::new(program).args(args).status()?.success() {
        true => Ok(()),
        false => bail!("the simulation failed; see above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_commit_has_its_seed() {
        for (commit, seed) in [
            ("d52f125c0000000000000000000000000000abcd", Some(0xd52f_125c)),
            ("0000000100000000000000000000000000000000", Some(1)),
            ("", None),
            ("no commit at all", None),
        ] {
            assert_eq!(seed_of(commit), seed, "{commit}");
        }
    }
}
