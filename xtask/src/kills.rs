//! Kills the servers of a store again and again while clients retry (`crates/ptc/tests/mcp/kills.rs`), on SQLite and on
//! PostgreSQL, and prints what happened.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask kills [COUNT] [SEED]";

/// Kills unless told.
const COUNT: u64 = 200;

/// Runs the command.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let number = |at: usize| args.get(at).map(|text| text.parse::<u64>().context(USAGE)).transpose();
    let (count, seed) = (number(0)?.unwrap_or(COUNT), number(1)?);
    if args.len() > 2 {
        bail!("{USAGE}");
    }
    // No runner that ends tests which take long.
    let mut command = Command::new("cargo");
    command
        .args(["test", "--workspace", "--test", "mcp", "kills::", "--", "--nocapture", "--test-threads=1"])
        .env("PTC_KILLS", count.to_string())
        .env("PTC_SKIPS", "fail")
        .current_dir(root);
    if let Some(seed) = seed {
        command.env("PTC_KILLS_SEED", seed.to_string());
    }
    match command.status()?.success() {
        true => Ok(()),
        false => bail!("a rule did not hold, see above"),
    }
}
