//! The attacks of `conformance/adversarial` on an optimised build, where the instruction loop checks nothing and the
//! bounds on time and on the memory of the whole process hold. The tests of the workspace run them unoptimised.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

/// Optimised as what is shipped, and built sooner.
const PROFILE: &str = "tune";

/// Builds the example `batch` of `ptc-trace`, which answers as the command does, and the one that generated attacks are
/// tried on, with which it shares most.
pub fn build(root: &Path) -> Result<()> {
    let examples = ["--example", "batch", "--example", "attack"];
    let build =
        [&["build", "--quiet", "--package", "ptc-trace", "--profile", PROFILE], &examples[..]].concat();
    match Command::new("cargo").args(&build).current_dir(root).status()?.success() {
        true => Ok(()),
        false => bail!("cargo {}", build.join(" ")),
    }
}

/// Runs the attacks on the optimised build.
pub fn optimised(root: &Path) -> Result<()> {
    build(root)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    // Of the whole workspace, or it would be built anew with the features of one package.
    let test = ["test", "--quiet", "--workspace", "--test", "adversarial"];
    let tested = Command::new("cargo")
        .args(test)
        .env("PTC_ATTACK_COMMAND", target.join(PROFILE).join("examples/batch"))
        .current_dir(root)
        .status()?;
    match tested.success() {
        true => Ok(()),
        false => bail!("an attack on the optimised build does not end as it must; see above"),
    }
}
