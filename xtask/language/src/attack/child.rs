//! Processes that run jobs: started under a limit of their address space, watched, and known by their last words when
//! they are lost.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::job::{Job, Report};

/// The address space of a process in KiB: its stack, and far more than any program may have.
const ADDRESS_SPACE: usize = 2 << 20;

/// A program is given up when it has taken so many times what it may.
const PATIENCE: u64 = 12;

/// What came of a job.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The process said what it took.
    Told(Report),
    /// The process is gone: how, and where it was.
    Lost(String),
    /// It was stopped, because it did not come to an end; where it was.
    Stopped(String),
}

/// A process.
pub struct Child {
    process: Process,
    input: ChildStdin,
    reports: Receiver<String>,
    place: PathBuf,
    words: PathBuf,
    /// The jobs that it has run.
    pub history: Vec<u64>,
}

impl Child {
    /// Starts a process, with files in a folder.
    pub fn start(program: &Path, folder: &Path, planted: bool) -> Result<Child> {
        // The files of a process that is gone may be read when the next one has begun.
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let file = |kind: &str| folder.join(format!("{number}.{kind}"));
        let (place, words) = (file("place"), file("words"));
        let limited = format!("ulimit -c 0; ulimit -v {ADDRESS_SPACE} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited]).arg(program).arg("--place").arg(&place);
        if planted {
            command.arg("--planted");
        }
        let last_words = fs::File::create(&words)?;
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(last_words)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let input = process.stdin.take().context("no pipe")?;
        let output = process.stdout.take().context("no pipe")?;
        let (send, reports) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Child { process, input, reports, place, words, history: Vec::new() })
    }

    /// Runs a job. After anything but a report without a panic, the process is gone.
    pub fn run(&mut self, job: &Job) -> Result<Outcome> {
        self.history.push(job.number);
        let line = serde_json::to_string(job)?;
        let before = self.used();
        // A process that is gone is found when its answer does not come.
        let _ = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        let allowed = Duration::from_millis(job.allowed.millis) * PATIENCE as u32 * job.steps.len() as u32;
        let begun = Instant::now();
        loop {
            match self.reports.recv_timeout(Duration::from_millis(200)) {
                Ok(line) => return Ok(Outcome::Told(serde_json::from_str(&line)?)),
                Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::Lost(self.last_words())),
                Err(RecvTimeoutError::Timeout) => {
                    // On a busy computer only processor time says that a program does not end.
                    let idle = begun.elapsed() > allowed * 20;
                    if self.used().saturating_sub(before) > allowed || idle {
                        return Ok(Outcome::Stopped(self.at()));
                    }
                }
            }
        }
    }

    /// Where it was last.
    fn at(&self) -> String {
        fs::read_to_string(&self.place).unwrap_or_default().trim().to_owned()
    }

    fn last_words(&mut self) -> String {
        let status = self.process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = fs::read(&self.words).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\n', " ");
        let words: String = words.trim().chars().take(300).collect();
        format!("{status} at {}: {words}", self.at())
    }

    /// Processor time of the process, where the system says so.
    fn used(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
        let ticks: u64 = fields.take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        for file in [&self.place, &self.words] {
            let _ = fs::remove_file(file);
        }
    }
}
