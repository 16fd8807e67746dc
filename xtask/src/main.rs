//! Chores of the workspace: everything a change must pass, and the files that are generated from the
//! declarations in the code.

mod agents;
mod attack;
mod builds;
mod counts;
mod coverage;
mod limits;
mod packages;
mod reference;
mod secrets;
mod tidy;
mod walks;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask <command>
  ci            everything a change must pass: format, lints, tidiness, generated files, tests, counts
  test          all tests, with what they print and leave behind looked through for secrets; `-p CRATE` for some
  generate      write docs/functions.md, limits.md, agent-options.md, mcp-options.md, agent.schema.json and coverage.md from the declarations
  check         fail if a generated file is out of date
  packages      install what tests need beside Rust, where it is missing
  compare       debug and release builds do the same with every program of the corpora
  sanitize      so does a build with the address sanitizer, which finds nothing
  attack        looks for holes in the sandbox with generated programs: `attack [MINUTES]`; --help for more
  counts        fail if a workload takes other numbers of instructions than bench/counts.txt says
                --write: record them; --growth: at larger sizes; --meters: without limits";

fn main() -> Result<()> {
    let command = std::env::args().nth(1).unwrap_or_default();
    match command.as_str() {
        "ci" => ci(),
        "generate" => generate(),
        "check" => check(),
        "test" => packages::for_tests(&root())
            .and_then(|()| secrets::tests(&root(), &std::env::args().skip(2).collect::<Vec<_>>())),
        "packages" => packages::for_tests(&root()),
        "compare" => builds::compare(),
        "sanitize" => builds::sanitize(),
        "attack" => attack::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        "counts" => counts::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        _ => bail!("{USAGE}"),
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn generated() -> Result<Vec<(PathBuf, String)>> {
    let docs = root().join("docs");
    std::fs::create_dir_all(&docs)?;
    Ok(vec![
        (docs.join("functions.md"), reference::functions()),
        (docs.join("limits.md"), limits::page()),
        (docs.join("agent-options.md"), agents::page()),
        (docs.join("agent.schema.json"), agents::schema()),
        (docs.join("coverage.md"), coverage::report(&root().join("conformance/clojure-vars.txt"))?),
    ])
}

/// Writes the generated files. The page of the server's settings is written by a test of the server, because building
/// the server for this command would double the time that checks take on a new machine.
fn generate() -> Result<()> {
    for (path, text) in generated()? {
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let test = ["test", "--quiet", "--package", "ptc-server", "--test", "it", "the_page_of_settings"];
    let status = Command::new("cargo").args(test).env("PTC_WRITE_PAGES", "1").current_dir(root()).status()?;
    if !status.success() {
        bail!("docs/mcp-options.md could not be written: cargo {}", test.join(" "));
    }
    Ok(())
}

fn check() -> Result<()> {
    for (path, text) in generated()? {
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found != text {
            bail!("{} is out of date: run `cargo xtask generate` and commit it", path.display());
        }
    }
    Ok(())
}

fn ci() -> Result<()> {
    step("format", "cargo", &["fmt", "--all", "--check"])?;
    tidy::check(&root())?;
    walks::check(&root())?;
    step("lints", "cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])?;
    check()?;
    packages::for_tests(&root())?;
    eprintln!("== tests");
    secrets::tests(&root(), &[])?;
    step("documentation tests", "cargo", &["test", "--workspace", "--doc", "--quiet"])?;
    eprintln!("== instruction counts");
    counts::run(&root(), &[])
}

fn step(name: &str, program: &str, args: &[&str]) -> Result<()> {
    eprintln!("== {name}");
    let status = Command::new(program).args(args).current_dir(root()).status()?;
    if !status.success() {
        bail!("{name} failed: {program} {}", args.join(" "));
    }
    Ok(())
}
