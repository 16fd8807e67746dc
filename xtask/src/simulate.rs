//! The simulation of servers, stores, upstreams and clients, which is a program of its own (`xtask/simulate`).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::language;

/// Optimised as what is shipped, and built sooner.
const PROFILE: &str = "tune";

/// What `cargo xtask ci` simulates: a minute of a seed that is known to hold, so that a change is judged by what it changed.
const SHORT: [&str; 2] = ["1", "1"];

/// Simulates with an optimised build, which many schedules need.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let build = ["build", "--quiet", "--package", "xtask-simulate", "--profile", PROFILE];
    if !Command::new("cargo").args(build).current_dir(root).status()?.success() {
        bail!("cargo {}", build.join(" "));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    simulate(&target.join(PROFILE).join("xtask-simulate"), args)
}

/// Simulates for a minute with the build that tests use.
pub fn shortly(root: &Path) -> Result<()> {
    simulate(&language::built(root, "xtask-simulate")?, &SHORT.map(str::to_owned))
}

fn simulate(program: &Path, args: &[String]) -> Result<()> {
    match Command::new(program).args(args).status()?.success() {
        true => Ok(()),
        false => bail!("the simulation failed; see above"),
    }
}
