//! Runs tests, keeps all that they print, and counts those that were skipped because a program is missing.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// What becomes of tests that need a program which is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Skips {
    /// They fail.
    Fail,
    /// They pass, and it is told how many there were.
    Told,
}

/// A run of tests.
pub struct Ran {
    output: String,
    passed: bool,
    skips: Skips,
}

/// Builds all tests.
pub fn build(root: &Path) -> Result<()> {
    let mut command = Command::new(crate::packages::cargo_nextest(root)?);
    let status = command.args(["nextest", "run", "--no-run", "--workspace"]).current_dir(root).status()?;
    match status.success() {
        true => Ok(()),
        false => bail!("tests do not build; see above"),
    }
}

/// Runs all tests, or those that `which` says to cargo.
pub fn run(root: &Path, which: &[String], skips: Skips) -> Result<Ran> {
    let files = crate::secrets::files(root);
    let _ = std::fs::remove_dir_all(&files);
    std::fs::create_dir_all(&files)?;
    let mut command = Command::new(crate::packages::cargo_nextest(root)?);
    command.env("TMPDIR", &files).current_dir(root);
    if skips == Skips::Fail {
        command.env("PTC_SKIPS", "fail");
    }
    let (output, passed) = with_nextest(root, command, which)?;
    Ok(Ran { output, passed, skips })
}

impl Ran {
    /// All that tests printed.
    pub fn output(&self) -> &str {
        &self.output
    }

    /// Whether all passed, and none was skipped that must not be. Says how many were skipped, and why.
    pub fn verdict(&self) -> Result<()> {
        let skipped = skipped(&self.output);
        let count: usize = skipped.values().sum();
        for (why, times) in &skipped {
            eprintln!("{times} skipped: {why}");
        }
        if !self.passed {
            bail!("tests failed");
        }
        if self.skips == Skips::Fail && count > 0 {
            bail!("{count} tests were skipped");
        }
        Ok(())
    }
}

/// How often tests were skipped for each reason. In nextest's report the first line of an output stands behind its tag.
fn skipped(output: &str) -> BTreeMap<&str, usize> {
    const TAGS: [&str; 2] = ["<system-out>", "<system-err>"];
    let mut reasons = BTreeMap::new();
    for line in output.lines().map(str::trim) {
        let line = TAGS.iter().find_map(|tag| line.strip_prefix(tag)).unwrap_or(line);
        let Some(why) = line.strip_prefix("skipped: ") else { continue };
        *reasons.entry(why).or_default() += 1;
    }
    reasons
}

/// What tests print, by nextest's report, which has the output of those that passed too.
fn with_nextest(root: &Path, mut command: Command, which: &[String]) -> Result<(String, bool)> {
    let report = root.join("target/nextest/ci/junit.xml");
    let _ = std::fs::remove_file(&report);
    let run = ["nextest", "run", "--no-fail-fast", "--profile", "ci"];
    let status = command.args(run).args(chosen(which)).status()?;
    let text = std::fs::read_to_string(&report).context("there is no report of tests: they do not build")?;
    Ok((unescaped(&text), status.success()))
}

fn chosen(which: &[String]) -> Vec<&str> {
    match which {
        [] => vec!["--workspace"],
        which => which.iter().map(String::as_str).collect(),
    }
}

/// XML text as it was.
pub fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod unit {
    use super::*;

    fn ran(output: &str, passed: bool, skips: Skips) -> Result<(), String> {
        let ran = Ran { output: output.to_owned(), passed, skips };
        ran.verdict().map_err(|error| error.to_string())
    }

    #[test]
    fn a_skipped_test_fails_unless_that_is_allowed() {
        let output = "running\n  skipped: node is missing; x\n<system-err>skipped: node is missing; x\nnot skipped: y\n";
        assert_eq!(skipped(output).into_iter().collect::<Vec<_>>(), [("node is missing; x", 2)]);
        assert_eq!(ran(output, true, Skips::Fail), Err("2 tests were skipped".to_owned()));
        assert_eq!(ran(output, true, Skips::Told), Ok(()));
        assert_eq!(ran("all is well", true, Skips::Fail), Ok(()));
        assert_eq!(ran("all is well", false, Skips::Told), Err("tests failed".to_owned()));
    }
}
