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

use corpus::{Attack, Attacks, amount, attacks, generated};
use serde_json::{Value, json};

/// What programs run under. How much fuel and memory, the files say. The wall clock is no part of the test: it
/// may only tick so long because unoptimised builds on busy machines are slow.
struct Limits {
    fuel: String,
    memory: String,
    timeout: u64,
    /// Whether programs may end in other ways than the corpus says, because other limits hold.
    other: bool,
}

impl Limits {
    /// The limits of a file, unless `PTC_ATTACK_LIMITS` has others: fuel, memory, seconds. With
    /// `PTC_ATTACK_LIMITS="100m 64mb 2"` and a release build, time is tested too.
    fn of(fuel: &str, memory: &str) -> Limits {
        let given = std::env::var("PTC_ATTACK_LIMITS").unwrap_or_default();
        match given.split(' ').collect::<Vec<_>>().as_slice() {
            [fuel, memory, seconds] => Limits {
                fuel: (*fuel).to_owned(),
                memory: (*memory).to_owned(),
                timeout: seconds.parse().expect("seconds"),
                other: true,
            },
            _ => {
                let timeout = if is_optimised() { 10 } else { 60 };
                Limits { fuel: fuel.to_owned(), memory: memory.to_owned(), timeout, other: false }
            }
        }
    }

    fn args(&self) -> [String; 6] {
        let timeout = format!("{}s", self.timeout);
        ["--fuel", &self.fuel, "--memory", &self.memory, "--timeout", &timeout].map(str::to_owned)
    }

    /// What a program may add to what the command itself takes: twice the memory limit, and a little.
    fn most_memory(&self) -> u64 {
        2 * amount(&self.memory) + (10 << 20)
    }

    /// What the whole process may take: twice the memory limit, and 20 MB for the command.
    fn most_of_process(&self) -> u64 {
        2 * amount(&self.memory) + (20 << 20)
    }

    /// Twice the time limit.
    fn most_time(&self) -> Duration {
        Duration::from_secs(2 * self.timeout)
    }

    /// Whether a program may end so.
    fn allow(&self, end: &str, expected: &str) -> bool {
        end == expected || (self.other && end != "internal_error")
    }
}

/// Names a program that answers as the command does, in an optimised build.
const OPTIMISED: &str = "PTC_ATTACK_COMMAND";

/// What is attacked: the command, or the optimised program that stands for it (see `xtask/src/attacks.rs`).
fn attacked() -> Command {
    Command::new(std::env::var_os(OPTIMISED).unwrap_or_else(|| env!("CARGO_BIN_EXE_ptc").into()))
}

fn is_optimised() -> bool {
    !cfg!(debug_assertions) || std::env::var_os(OPTIMISED).is_some()
}

/// A `ptc eval --batch` that can be asked one program after the other.
struct Batch {
    child: Child,
    input: ChildStdin,
    answers: mpsc::Receiver<String>,
    most_time: Duration,
}

impl Batch {
    fn start(limits: &Limits) -> Batch {
        let mut command = attacked();
        command.args(["eval", "--batch"]).args(limits.args()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        let (send, answers) = mpsc::channel();
        std::thread::spawn(move || forward(output, &send));
        Batch { child, input, answers, most_time: limits.most_time() }
    }

    /// The memory that the command takes by itself: unoptimised code is large.
    fn own(&mut self) -> Result<Peak, String> {
        self.ask("(+ 1 2)")?;
        Ok(peak(self.child.id()))
    }

    /// The answer to a program, or what went wrong instead.
    fn ask(&mut self, source: &str) -> Result<Value, String> {
        let line = json!({"id": 0, "src": source}).to_string();
        writeln!(self.input, "{line}").map_err(|error| format!("the process is gone: {error}"))?;
        let answer = self.answers.recv_timeout(self.most_time).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => format!("no answer after {:?}", self.most_time),
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
#[derive(Clone, Copy)]
struct Peak {
    /// All of it.
    whole: u64,
    /// Without the pages of its own file.
    data: u64,
}

fn peak(process: u32) -> Peak {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    };
    let (whole, file) = (bytes("VmHWM:").unwrap_or(0), bytes("RssFile:").unwrap_or(0));
    Peak { whole, data: whole.saturating_sub(file) }
}

/// Why the memory that a program took is too much, or how much it added to the command's own. The whole process is
/// bounded where code is optimised; unoptimised, the command alone takes more than that bound leaves for it.
fn added(peak: Peak, own: Peak, limits: &Limits) -> Result<u64, String> {
    let (added, most) = (peak.data.saturating_sub(own.data), limits.most_memory());
    if added > most {
        return Err(format!("added {} MB, at most {} are allowed", added >> 20, most >> 20));
    }
    let whole = limits.most_of_process();
    match !is_optimised() || peak.whole <= whole {
        true => Ok(added),
        false => Err(format!("took {} MB, at most {} are allowed", peak.whole >> 20, whole >> 20)),
    }
}

/// Why an attack did not end as it must, or the memory it took.
fn fault(attack: &Attack, limits: &Limits) -> Result<u64, String> {
    let mut batch = Batch::start(limits);
    let own = batch.own()?;
    let answer = batch.ask(&attack.source)?;
    let end = match answer["ok"].as_bool() {
        Some(true) => format!("value {}", answer["value"].as_str().unwrap_or_default()),
        _ => answer["error"]["kind"].as_str().unwrap_or("nothing").to_owned(),
    };
    let peak = peak(batch.child.id());
    if !limits.allow(&end, &attack.end) {
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        let end: String = end.chars().take(100).collect();
        return Err(format!("ended with {end} {message}, expected {}", attack.end));
    }
    let added = added(peak, own, limits)?;
    let after = batch.ask("(+ 1 2)")?;
    if after["value"] != "3" {
        return Err(format!("the process is not well afterwards: {after}"));
    }
    Ok(added)
}

/// Runs all attacks of a file.
fn survive(file: &str) {
    let (mut most, mut longest, mut faults) = (0, Duration::ZERO, Vec::new());
    let Attacks { fuel, memory, programs } = attacks(file);
    let limits = Limits::of(&fuel, &memory);
    assert!(!programs.is_empty(), "{file} has no programs");
    for attack in &programs {
        let begun = Instant::now();
        match fault(attack, &limits) {
            Ok(added) => most = most.max(added),
            Err(fault) => faults.push(format!("{}: {fault}", attack.name)),
        }
        longest = longest.max(begun.elapsed());
    }
    eprintln!("{file}: {} programs, at most {} MB, at most {longest:.1?}", programs.len(), most >> 20);
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
fn memory_that_is_no_value() {
    survive("held.clj");
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
fn values_that_hold_themselves_on_every_way_out() {
    survive("walks.clj");
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
    let (mut most, mut longest, mut count, mut faults) = (0, Duration::ZERO, 0, Vec::new());
    let limits = Limits::of("2m", "32mb");
    let own = Batch::start(&limits).own().expect("the command works");
    for Attack { name, end, source } in generated() {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("generated.clj");
        fs::write(&file, source).expect("a temporary file");
        let begun = Instant::now();
        match run_file(&file, &end, &limits, own) {
            Ok(added) => most = most.max(added),
            Err(fault) => faults.push(format!("{name}: {fault}")),
        }
        (longest, count) = (longest.max(begun.elapsed()), count + 1);
    }
    eprintln!("generated: {count} programs, at most {} MB, at most {longest:.1?}", most >> 20);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// How often the memory of a command is measured until it ends.
const LOOK: Duration = Duration::from_millis(2);

fn run_file(file: &Path, expected: &str, limits: &Limits, own: Peak) -> Result<u64, String> {
    let mut command = attacked();
    command
        .arg("eval")
        .arg(file)
        .arg("--json")
        .args(limits.args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let output = child.stdout.take().expect("a pipe");
    let (send, answers) = mpsc::channel();
    std::thread::spawn(move || forward(output, &send));
    let (begun, mut most) = (Instant::now(), Peak { whole: 0, data: 0 });
    let mut answer = None;
    loop {
        let now = peak(child.id());
        most = Peak { whole: most.whole.max(now.whole), data: most.data.max(now.data) };
        match answers.recv_timeout(LOOK) {
            Ok(line) => answer = Some(line),
            // Its output ends with it.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) if begun.elapsed() > limits.most_time() => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("no answer after {:?}", limits.most_time()));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
    child.wait().map_err(|error| error.to_string())?;
    let answer = answer.ok_or_else(|| "no answer".to_owned())?;
    let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    let end = answer["error"]["kind"].as_str().unwrap_or("a value");
    if !limits.allow(end, expected) {
        return Err(format!("ended with {end}, expected {expected}"));
    }
    added(most, own, limits)
}
