//! Builds of the machine beside each other: all programs of the corpora do the same in each, and the one
//! with the address sanitizer finds nothing in the unsafe code.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::root;

/// A way to build.
struct Build {
    name: &'static str,
    /// Arguments for cargo.
    args: &'static [&'static str],
    /// Whether memory is watched.
    sanitized: bool,
}

const DEBUG: Build = Build { name: "debug", args: &[], sanitized: false };
const RELEASE: Build = Build { name: "release", args: &["--release"], sanitized: false };
/// Optimised, because the loop checks its own accesses where debug assertions are on.
const SANITIZED: Build = Build { name: "sanitized", args: &["--release"], sanitized: true };

/// Debug and release builds do the same.
pub fn compare() -> Result<()> {
    same(&DEBUG, &RELEASE)
}

/// A build with the address sanitizer does the same as a debug build, and finds nothing.
pub fn sanitize() -> Result<()> {
    same(&DEBUG, &SANITIZED)
}

fn same(first: &Build, second: &Build) -> Result<()> {
    let (one, other) = (outcomes(first)?, outcomes(second)?);
    let differing: Vec<String> = one
        .lines()
        .zip(other.lines())
        .filter(|(a, b)| a != b)
        .map(|(a, b)| format!("{}: {a}\n{}: {b}", first.name, second.name))
        .collect();
    let (count, others) = (one.lines().count(), other.lines().count());
    if count != others || !differing.is_empty() {
        bail!("{count} and {others} programs, {} differ:\n{}", differing.len(), differing.join("\n"));
    }
    eprintln!("{count} programs: value, prints and fuel are the same in {} and {}", first.name, second.name);
    Ok(())
}

/// What `crates/ptc-host/examples/outcomes.rs` prints in a build.
fn outcomes(build: &Build) -> Result<String> {
    eprintln!("== {}", build.name);
    let mut command = Command::new("cargo");
    command
        .args(["run", "--quiet", "-p", "ptc-host", "--no-default-features", "--example", "outcomes"])
        .args(build.args)
        .current_dir(root());
    if build.sanitized {
        command
            .args(["--target", &host()?])
            .env("CARGO_TARGET_DIR", root().join("target/sanitized"))
            // The sanitizer is part of the stable toolchain, the flag that turns it on is not.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("ASAN_OPTIONS", "detect_leaks=1");
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("the {} build ended with {}", build.name, output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The platform of this toolchain; naming it keeps build scripts unsanitized.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say what it runs on")
}
