//! The child process of a stdio upstream: started in a group of its own with a small environment, its error
//! stream kept in part, and ended with everything that it started.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptc_system::environment;
use tokio::io::BufReader;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::guard::Guarded;
use super::lines::{Line, Lines};
use crate::catalog::one_line;
use crate::config::{StdioConfig, UpstreamConfig};
use crate::credentials::{Secrets, find_program};
use crate::model::{Fault, Reason};
use crate::redact::Redactor;

/// How many lines of the error stream are kept, and how long each may be.
const KEPT_LINES: usize = 20;
const LINE_BYTES: usize = 8 * 1024;

/// The most characters of a line that is told.
const TOLD: usize = 200;

/// How long a server may take to end by itself, and again after it was asked to.
const GRACE: Duration = Duration::from_millis(1_000);

/// How long output that is still in the pipe may take to arrive after the process ended.
const DRAIN: Duration = Duration::from_millis(50);

/// How long its last words may take, which are whole when the stream ends: a process outside of its group may hold that open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// A child that runs, or ran.
#[derive(Debug)]
pub struct Process {
    ended: watch::Receiver<Option<String>>,
    errors: Arc<Words>,
    /// What it printed among its messages, for those that print their errors there.
    pub asides: Arc<Words>,
    /// Cancelled when all of these have been read.
    pub drained: CancellationToken,
    stop: CancellationToken,
    /// Cancelled when nothing more will come from the child.
    pub gone: CancellationToken,
}

/// The last lines that a child wrote for people, with secrets covered.
#[derive(Debug)]
pub struct Words {
    upstream: String,
    redactor: Redactor,
    lines: Mutex<VecDeque<String>>,
}

impl Words {
    fn new(upstream: &UpstreamConfig, secrets: &Secrets) -> Arc<Words> {
        let (upstream, redactor) = (upstream.name.clone(), secrets.redactor());
        Arc::new(Words { upstream, redactor, lines: Mutex::default() })
    }

    /// Keeps one more line.
    pub fn keep(&self, line: &[u8]) {
        match line.len() <= LINE_BYTES {
            true => self.push(self.redactor.redact_str(&String::from_utf8_lossy(line)).into_owned()),
            false => self.push(format!("(a line of {} bytes)", line.len())),
        }
    }

    fn push(&self, text: String) {
        tracing::debug!(upstream = self.upstream, "{text}");
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }

    /// The last line that says something, as it may be told: without colours, cut.
    fn last(&self) -> Option<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().rev().map(|line| one_line(&colourless(line), TOLD)).find(|line| !line.is_empty())
    }
}

/// The streams that messages go through.
pub struct Pipes {
    /// What the child reads.
    pub stdin: ChildStdin,
    /// What the child writes.
    pub stdout: ChildStdout,
}

impl Process {
    /// Starts the command of an upstream.
    pub fn spawn(
        upstream: &UpstreamConfig,
        stdio: &StdioConfig,
        secrets: &Secrets,
    ) -> Result<(Process, Pipes), Fault> {
        let unavailable = |message: String| Fault::new(Reason::UpstreamUnavailable, message);
        let path = std::env::var("PATH").ok();
        let (name, args) = secrets
            .command(&upstream.name)
            .ok_or_else(|| unavailable(format!("the command {} has no value", stdio.command)))?;
        if name.trim().is_empty() {
            let why =
                format!("\"command\" of upstream '{}' is empty: name the program to start", upstream.name);
            return Err(unavailable(why));
        }
        if let Some(folder) = stdio.directory.as_deref().filter(|folder| !folder.is_dir()) {
            let why = format!("the folder {} to start {} in does not exist", folder.display(), stdio.command);
            return Err(unavailable(why));
        }
        let program = find_program(name, stdio.directory.as_deref(), path.as_deref())
            .ok_or_else(|| unavailable(format!("command not found: {}", stdio.command)))?;
        let mut command = Command::new(program);
        command.args(args);
        match stdio.inherit_env {
            // What is set for this program itself is no matter of its children.
            true => own_settings().for_each(|name| _ = command.env_remove(name)),
            false => _ = command.env_clear().envs(environment::inherited()),
        }
        command.envs(secrets.environment(&upstream.name));
        if let Some(directory) = &stdio.directory {
            command.current_dir(directory);
        }
        #[cfg(unix)]
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command
            .spawn()
            .map_err(|error| unavailable(format!("{} cannot be started: {error}", stdio.command)))?;
        let group = Group::of(&child);
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(unavailable(format!("{} has no streams", stdio.command)));
        };
        let (errors, asides) = (Words::new(upstream, secrets), Words::new(upstream, secrets));
        let words = tokio::spawn(keep_errors(stderr, Arc::clone(&errors)));
        let (tell, ended) = watch::channel(None);
        let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
        let process = Process { ended, errors, asides, drained: CancellationToken::new(), stop, gone };
        tokio::spawn(tend(child, group, words, tell, process.stop.clone(), process.gone.clone()));
        Ok((process, Pipes { stdin, stdout }))
    }

    /// Ends the process, if it has not ended: its input is closed by the transport, then it is asked, then
    /// killed. Does not wait.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the process is gone.
    pub async fn ended(&self) {
        let _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// What became of the process, with its last words: waits a moment for it to end.
    pub async fn obituary(&self) -> String {
        let _ = tokio::time::timeout(Duration::from_millis(500), self.ended()).await;
        let _ = tokio::time::timeout(LAST_WORDS, self.drained.cancelled()).await;
        let status = self.ended.borrow().clone().unwrap_or_else(|| "closed its output".to_owned());
        match self.last_line() {
            Some(line) => format!("process {status}; its last words: {line}"),
            None => format!("process {status}"),
        }
    }

    /// The last line that it wrote to its error stream, else the last that it printed among its messages.
    pub fn last_line(&self) -> Option<String> {
        self.errors.last().or_else(|| self.asides.last())
    }
}

/// The variables that are settings of this program; keys and tokens are among them.
fn own_settings() -> impl Iterator<Item = OsString> {
    let is_own = |name: &OsString| name.to_string_lossy().starts_with("PTC_RUNNER_");
    std::env::vars_os().map(|(name, _)| name).filter(is_own)
}

/// A line without the sequences that colour it or move a cursor, which say nothing to whoever reads it as text.
fn colourless(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            text.push(c);
            continue;
        }
        if chars.as_str().starts_with('[') {
            chars.find(|c| ('@'..='~').contains(c) && *c != '[');
        }
    }
    text
}

/// The process group of a child. Dropping it kills what is left of it.
struct Group {
    leader: Option<u32>,
    _guarded: Option<Guarded>,
}

impl Group {
    fn of(child: &Child) -> Group {
        let leader = child.id();
        Group { leader, _guarded: leader.map(Guarded::new) }
    }

    #[cfg(unix)]
    fn signal(&self, signal: nix::sys::signal::Signal) {
        if let Some(leader) = self.leader.and_then(|leader| i32::try_from(leader).ok()) {
            // The group may be gone already, which is what we want.
            let _ = nix::sys::signal::killpg(nix::unistd::Pid::from_raw(leader), signal);
        }
    }

    #[cfg(unix)]
    fn ask(&self) {
        self.signal(nix::sys::signal::Signal::SIGTERM);
    }

    #[cfg(not(unix))]
    fn ask(&self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.signal(nix::sys::signal::Signal::SIGKILL);
        #[cfg(not(unix))]
        let _ = self.leader;
    }
}

/// Waits for the child, or ends it when told to.
async fn tend(
    mut child: Child,
    group: Group,
    words: JoinHandle<()>,
    ended: watch::Sender<Option<String>>,
    stop: CancellationToken,
    gone: CancellationToken,
) {
    let status = tokio::select! {
        status = child.wait() => Some(status),
        () = stop.cancelled() => None,
    };
    let status = match status {
        Some(status) => status,
        None => match tokio::time::timeout(GRACE, child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                group.ask();
                match tokio::time::timeout(GRACE, child.wait()).await {
                    Ok(status) => status,
                    Err(_) => {
                        let _ = child.start_kill();
                        child.wait().await
                    }
                }
            }
        },
    };
    drop(group);
    let _ = tokio::join!(tokio::time::sleep(DRAIN), tokio::time::timeout(LAST_WORDS, words));
    ended.send_replace(Some(told(status)));
    gone.cancel();
}

fn told(status: std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => match status.code() {
            Some(code) => format!("exited with status {code}"),
            None => format!("was ended by {status}"),
        },
        Err(error) => format!("cannot be waited for: {error}"),
    }
}

/// Keeps the last lines of the error stream.
async fn keep_errors(stderr: ChildStderr, errors: Arc<Words>) {
    let mut lines = Lines::new(BufReader::new(stderr), LINE_BYTES);
    loop {
        // Programs that die need not end their last line.
        let next = lines.next().await.ok().flatten().or_else(|| lines.rest().map(Line::Whole));
        match next {
            Some(Line::Whole(line)) => errors.keep(&line),
            Some(Line::TooLong { bytes, .. }) => errors.push(format!("(a line of {bytes} bytes)")),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_without_their_colours() {
        for (line, expected) in [
            ("\u{1b}[31mError:\u{1b}[0m no \u{1b}[1;4mkey", "Error: no key"),
            ("plain [text]", "plain [text]"),
            ("cut off \u{1b}[31", "cut off "),
            ("\u{1b}", ""),
        ] {
            assert_eq!(colourless(line), expected, "{line:?}");
        }
    }
}
