//! Everything a change must pass. Every step runs, whatever came of those before it; what failed is listed at the end.
//! What later steps need is installed and built beside earlier ones, because compilers often have work for one core only.

use std::path::Path;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::tests::{Ran, Skips};
use crate::{
    attacks, counts, deny, language, names, oracle, packages, root, secrets, simulate, tests, tidy, walks,
};

const USAGE: &str = "usage: cargo xtask ci [--allow-skips]
  --allow-skips   tests that need a program which is missing are skipped, and told, instead of failing";

/// Generated attacks: a minute of those that are known to hold, so that a change is judged by what it changed.
const ATTACK: [&str; 3] = ["1", "--seed", "1"];

/// Runs all steps.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    let skips = match args {
        [] => Skips::Fail,
        [flag] if flag == "--allow-skips" => Skips::Told,
        _ => bail!("{USAGE}"),
    };
    let mut steps = Steps::default();
    let packages = beside(root, packages::install);
    // Whatever does not build, the step that needs it says.
    let optimised = beside(root, |root| attacks::build(root).and(counts::prepare(root)));
    steps.run("format", || cargo(&["fmt", "--all", "--check"]));
    steps.run("tidiness", || tidy::check(root));
    steps.run("names of types", || names::check(root));
    steps.run("walks over values", || walks::check(root));
    steps.run("generated files", || language::run(root, "check", &[]));
    steps.run("packages", || ended(packages));
    steps.run("dependencies", || deny::check(root));
    let answers = beside(root, oracle::check);
    steps.run("build of tests", || tests::build(root));
    // Tests wait much of their time. Two builds in one folder would wait for each other.
    let lints = beside(root, lints);
    let mut ran = None;
    steps.run("tests", || ran.insert(tests::run(root, &[], skips)?).verdict());
    steps.run("lints", || ended(lints));
    steps.run("secrets", || secrets::check(root, ran.as_ref().map_or("", Ran::output)));
    steps.run("documentation tests", || cargo(&["test", "--workspace", "--doc", "--quiet"]));
    steps.run("answers of Clojure", || ended(answers));
    let _ = optimised.join();
    steps.run("instruction counts", || counts::run(root, &[]));
    steps.run("attacks on an optimised build", || attacks::optimised(root));
    steps.run("generated attacks", || language::run(root, "attack", &ATTACK.map(str::to_owned)));
    steps.run("simulated schedules", || simulate::shortly(root));
    steps.finish()
}

/// Does something while steps run.
fn beside(root: &Path, work: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> JoinHandle<Result<()>> {
    let root = root.to_path_buf();
    std::thread::spawn(move || work(&root))
}

/// How it ended.
fn ended(work: JoinHandle<Result<()>>) -> Result<()> {
    work.join().unwrap_or_else(|_| bail!("it panicked"))
}

/// What ran so far.
#[derive(Default)]
struct Steps(Vec<Step>);

struct Step {
    name: &'static str,
    took: Duration,
    failed: Option<String>,
}

impl Steps {
    /// Runs a step and takes note of how it ended and how long it took.
    fn run(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) {
        eprintln!("== {name}");
        let began = Instant::now();
        let failed = work().err().map(|error| format!("{error:#}"));
        if let Some(why) = &failed {
            eprintln!("{name} failed: {why}");
        }
        self.0.push(Step { name, took: began.elapsed(), failed });
    }

    /// Says how long each step took and what failed.
    fn finish(self) -> Result<()> {
        eprintln!("== summary");
        for Step { name, took, failed } in &self.0 {
            let ended = if failed.is_some() { "FAILED" } else { "ok" };
            eprintln!("{:>7.1} s  {ended:6}  {name}", took.as_secs_f64());
        }
        let total: Duration = self.0.iter().map(|step| step.took).sum();
        eprintln!("{:>7.1} s  in all", total.as_secs_f64());
        let failed: Vec<String> = self
            .0
            .iter()
            .filter_map(|step| Some(format!("{}: {}", step.name, step.failed.as_deref()?)))
            .collect();
        match failed.len() {
            0 => Ok(()),
            count => bail!("{count} of {} steps failed\n{}", self.0.len(), failed.join("\n")),
        }
    }
}

/// What clippy says of all code.
fn lints(root: &Path) -> Result<()> {
    let args = ["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"];
    let output = Command::new("cargo").args(args).current_dir(root).output()?;
    match output.status.success() {
        true => Ok(()),
        false => bail!("{}", String::from_utf8_lossy(&output.stderr)),
    }
}

/// Runs cargo in the workspace.
fn cargo(args: &[&str]) -> Result<()> {
    match Command::new("cargo").args(args).current_dir(root()).status()?.success() {
        true => Ok(()),
        false => bail!("cargo {}", args.join(" ")),
    }
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn every_step_runs_and_what_failed_is_listed() {
        let (mut steps, mut last) = (Steps::default(), false);
        steps.run("first", || bail!("one reason"));
        steps.run("second", || Ok(()));
        steps.run("third", || {
            last = true;
            bail!("another reason")
        });
        assert!(last, "the last runs although the first failed");
        let told = steps.finish().expect_err("two failed").to_string();
        assert_eq!(told, "2 of 3 steps failed\nfirst: one reason\nthird: another reason");
    }
}
