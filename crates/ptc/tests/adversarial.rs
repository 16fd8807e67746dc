//! Programs that attack the machine, run by the real command: each ends as it must, in time and memory,
//! and the process lives on.
//!
//! The programs are in `conformance/adversarial`: `.clj` files of many programs each, and descriptions of
//! programs too large to keep in `generated.jsonl`. Each program gets a process of its own, so that its
//! peak memory can be told.

#[path = "adversarial/corpus.rs"]
mod corpus;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use corpus::{Attack, attacks, generated};
use serde_json::{Value, json};

/// Limits of every program; how much fuel, the files say. The wall clock is no part of the test: it may
/// only tick so long because unoptimised builds on busy machines are slow.
const LIMITS: [&str; 4] = ["--memory", "32mb", "--timeout", "60s"];
/// Twice the memory limit, and what the command itself takes.
const MOST_MEMORY: u64 = 2 * (32 << 20) + (20 << 20);
/// Twice the time limit.
const MOST_TIME: Duration = Duration::from_secs(120);

/// A `ptc eval --batch` that can be asked one program after the other.
struct Batch {
    child: Child,
    input: ChildStdin,
    answers: mpsc::Receiver<String>,
}

impl Batch {
    fn start(fuel: &str) -> Batch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        command
            .args(["eval", "--batch", "--fuel", fuel])
            .args(LIMITS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let (send, answers) = mpsc::channel();
        std::thread::spawn(move || forward(output, &send));
        Batch { child, input, answers }
    }

    /// The answer to a program, or what went wrong instead.
    fn ask(&mut self, source: &str) -> Result<Value, String> {
        let line = json!({"id": 0, "src": source}).to_string();
        writeln!(self.input, "{line}").map_err(|error| format!("the process is gone: {error}"))?;
        let answer = self.answers.recv_timeout(MOST_TIME).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => format!("no answer after {MOST_TIME:?}"),
            mpsc::RecvTimeoutError::Disconnected => "the process died".to_owned(),
        })?;
        serde_json::from_str(&answer).map_err(|error| error.to_string())
    }
}

fn forward(output: ChildStdout, send: &mpsc::Sender<String>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if send.send(line).is_err() {
            return;
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The most memory a process has had, where the system says so.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// Why an attack did not end as it must, or the memory it took.
fn fault(attack: &Attack, fuel: &str) -> Result<u64, String> {
    let mut batch = Batch::start(fuel);
    let answer = batch.ask(&attack.source)?;
    let end = match answer["ok"].as_bool() {
        Some(true) => format!("value {}", answer["value"].as_str().unwrap_or_default()),
        _ => answer["error"]["kind"].as_str().unwrap_or("nothing").to_owned(),
    };
    let peak = peak(batch.child.id()).unwrap_or_default();
    if !attack.ends.contains(&end) {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        let end: String = end.chars().take(100).collect();
        return Err(format!("ended with {end} {message}, expected {}", attack.ends.join(" or ")));
    }
    if peak > MOST_MEMORY {
        return Err(format!("took {} MB, at most {} are allowed", peak >> 20, MOST_MEMORY >> 20));
    }
    let after = batch.ask("(+ 1 2)")?;
    if after["value"] != "3" {
        return Err(format!("the process is not well afterwards: {after}"));
    }
    Ok(peak)
}

/// Runs all attacks of a file.
fn survive(file: &str) {
    let (mut most, mut longest, mut faults) = (0, Duration::ZERO, Vec::new());
    let (fuel, attacks) = attacks(file);
    assert!(!attacks.is_empty(), "{file} has no programs");
    for attack in &attacks {
        let begun = Instant::now();
        match fault(attack, &fuel) {
            Ok(peak) => most = most.max(peak),
            Err(fault) => faults.push(format!("{}: {fault}", attack.name)),
        }
        longest = longest.max(begun.elapsed());
    }
    eprintln!("{file}: {} programs, at most {} MB, at most {longest:.1?}", attacks.len(), most >> 20);
    assert!(faults.is_empty(), "{file}:\n{}", faults.join("\n"));
}

#[test]
fn programs_that_never_end() {
    survive("loops.clj");
}

#[test]
fn limits_that_programs_try_to_catch() {
    survive("catching.clj");
}

#[test]
fn memory_in_every_place() {
    survive("memory.clj");
}

#[test]
fn values_that_nest_deeply() {
    survive("nesting.clj");
}

#[test]
fn values_that_share_their_parts() {
    survive("shared.clj");
}

#[test]
fn strings_and_formats() {
    survive("strings.clj");
}

#[test]
fn regular_expressions() {
    survive("regex.clj");
}

#[test]
fn numbers_that_grow() {
    survive("numbers.clj");
}

#[test]
fn collections_json_dates_and_branches() {
    survive("data.clj");
}

/// Programs too large to keep: run as files, and watched while they run.
#[test]
fn sources_that_are_large_or_nest_deeply() {
    let mut faults = Vec::new();
    for Attack { name, ends, source } in generated() {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("generated.clj");
        fs::write(&file, source).expect("a temporary file");
        if let Err(fault) = run_file(&file, &ends) {
            faults.push(format!("{name}: {fault}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn run_file(file: &Path, ends: &[String]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command
        .arg("eval")
        .arg(file)
        .args(["--json", "--fuel", "2m"])
        .args(LIMITS)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let output = child.stdout.take().expect("a pipe");
    let (send, answers) = mpsc::channel();
    std::thread::spawn(move || forward(output, &send));
    let (begun, mut most) = (Instant::now(), 0);
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        most = most.max(peak(child.id()).unwrap_or_default());
        if begun.elapsed() > MOST_TIME {
            let _ = child.kill();
            return Err(format!("no answer after {MOST_TIME:?}"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let answer = answers.recv_timeout(Duration::from_secs(1)).map_err(|_| "no answer".to_owned())?;
    let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    let end = answer["error"]["kind"].as_str().unwrap_or("a value");
    if !ends.iter().any(|expected| expected == end) {
        return Err(format!("ended with {end}, expected {}", ends.join(" or ")));
    }
    if most > MOST_MEMORY {
        return Err(format!("took {} MB, at most {} are allowed", most >> 20, MOST_MEMORY >> 20));
    }
    Ok(())
}
