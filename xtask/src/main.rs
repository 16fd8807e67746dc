//! Chores of the workspace: everything a change must pass.

mod attacks;
mod builds;
mod ci;
mod counts;
mod deny;
mod dist;
mod kills;
mod language;
mod names;
mod oracle;
mod packages;
mod secrets;
mod simulate;
mod stress;
mod tests;
mod tidy;
mod walks;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "usage: cargo xtask <command>
  ci            everything a change must pass; every step runs, and what failed is listed at the end
                --allow-skips: tests whose programs are missing are skipped instead of failing
  test          all tests, with what they print and leave behind looked through for secrets; `-p CRATE` for some
  stress        tests that start processes, and those that ever failed, again and again with all cores busy
                --times N, --frail N: how often; FILTER: only these
  kills         two servers of one store are killed while clients retry, on SQLite and PostgreSQL:
                `kills [COUNT] [SEED]`, 200 unless told
  generate      write docs/functions.md, limits.md, agent-options.md, mcp-options.md, trace-events.md,
                agent.schema.json and coverage.md from the declarations
  check         fail if a generated file is out of date
  dist          build the command and pack archives with their sums into target/dist: `dist [TARGET…]`
  packages      install what checks need beside Rust, where it is missing
  deny          licences, versions and sources of dependencies, and advisories where their list can be reached
  oracle        ask real Clojure for the answers of conformance cases, and compare
  compare       debug and release builds do the same with every program of the corpora
  sanitize      so does a build with the address sanitizer, which finds nothing
  attack        looks for holes in the sandbox with generated programs: `attack [MINUTES]`; --help for more
  simulate      servers, stores, upstreams and clients under one seeded scheduler: `simulate [MINUTES] [SEED]`
  counts        fail if a workload takes other numbers of instructions than bench/counts.txt says
                --write: record them; --growth: at larger sizes; --meters: without limits";

fn main() -> Result<ExitCode> {
    if let Some(cargo) = std::env::var_os(deny::CARGO) {
        return deny::as_cargo(&cargo, &std::env::args_os().skip(1).collect::<Vec<_>>());
    }
    let (root, command) = (root(), std::env::args().nth(1).unwrap_or_default());
    let args: Vec<String> = std::env::args().skip(2).collect();
    match command.as_str() {
        "ci" => ci::run(&root, &args),
        "generate" => language::generate(&root),
        "check" => language::run(&root, "check", &args),
        "test" => test(&root, &args),
        "stress" => stress::run(&root, &args),
        "dist" => dist::run(&root, &args),
        "kills" => kills::run(&root, &args),
        "packages" => packages::install(&root),
        "deny" => deny::check(&root),
        "oracle" => oracle::check(&root),
        "compare" => builds::compare(),
        "sanitize" => builds::sanitize(),
        "attack" => language::run(&root, "attack", &args),
        "simulate" => simulate::run(&root, &args),
        "counts" => counts::run(&root, &args),
        _ => bail!("{USAGE}"),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// All tests or some, with what they print and leave behind looked through for secrets.
fn test(root: &Path, which: &[String]) -> Result<()> {
    packages::install(root)?;
    let ran = tests::run(root, which, tests::Skips::Told)?;
    let secrets = match which {
        [] => secrets::check(root, ran.output()),
        _ => secrets::uncovered(root, ran.output()).map(drop),
    };
    ran.verdict().and(secrets)
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
