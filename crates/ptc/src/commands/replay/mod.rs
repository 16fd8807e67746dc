//! `ptc replay`: plays recordings back, and says where they part.

mod placeless;
mod subject;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{anyhow, bail};
use ptc_lisp::Limits;
use ptc_runner::Decision;
use ptc_runner::tape::{Given, Of};
use ptc_trace::recording::{
    Against, Allowance, Call, Difference, Parting, Place, Proof, Recording, Shelf, Verdict, first_difference,
};
use serde_json::Value as Json;

use super::ignore_closed_pipe;
use crate::agents::{grouped, several};
use crate::exit::Outcome;
use crate::{terminal, values};

/// Play a recorded run back, offline, and prove that it does the same.
///
/// `ptc run --record FILE`, `ptc resume`, `ptc eval` and `ptc mcp --record-dir DIR` write everything that comes into a run
/// or a program: replies of models, results of tools, the clock and the seed. Playing it back asks nobody and calls
/// nothing.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ReplayArgs {
    /// The recording, or a directory of recordings: then the newest are played, or held against a file
    #[arg(value_name = "RUN")]
    run: PathBuf,

    /// Show call after call; on a terminal, Enter goes on
    #[arg(long)]
    step: bool,

    /// Show one call in full
    #[arg(long, value_names = ["call", "N"], num_args = 1..=2)]
    at: Vec<String>,

    /// Compare with another recording and show the first difference
    #[arg(long, value_name = "OTHER", conflicts_with_all = ["step", "at", "times"])]
    diff: Option<PathBuf>,

    /// Say whether the answer would be another with this file of an agent, or with this prelude or program (.clj)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["step", "at", "times", "diff"])]
    against: Option<PathBuf>,

    /// So many recordings of a directory, the newest
    #[arg(long, value_name = "N", default_value_t = 20)]
    last: usize,

    /// Most units of work that a program of a recording may use, whatever the recording says: 50m, 20g
    #[arg(long, value_name = "N", value_parser = values::count, default_value = "20g")]
    fuel: u64,

    /// Most live memory, whatever the recording says: 64mb, 1gb
    #[arg(long, value_name = "BYTES", value_parser = values::bytes, default_value = "256mb")]
    memory: usize,

    /// Most time of a recording: 500ms, 10s
    #[arg(long, value_name = "TIME", value_parser = values::duration, default_value = "60s")]
    timeout: Duration,

    /// Play it so often
    #[arg(long, value_name = "N", default_value_t = 1)]
    times: u32,
}

const AFTER_HELP: &str = "\
Exit codes:
  0   the run does the same again, or as far as its recording goes; with --diff, there is no difference as far as
      both go; with --against, no answer changes
  1   it does not, there is one, or one does
  2   the command line or a file makes no sense, or with --against nothing could be compared

Examples:
  ptc run agent.toml --input data.json --record run.recording
  ptc replay run.recording
  ptc eval report.clj --data orders=@orders.json --record eval.recording && ptc replay eval.recording
  ptc replay run.recording --step
  ptc replay run.recording --at call 3
  ptc replay run.recording --diff other.recording
  ptc replay recordings --last 100
  ptc replay traces --against agent.toml --last 10
  ptc replay traces --against crm.clj";

impl ReplayArgs {
    /// What playing one recording may use.
    fn allowance(&self) -> Allowance {
        // A server allows more calls than other hosts.
        let limits =
            Limits { fuel: self.fuel, memory: self.memory, tool_calls: 1_000_000, ..Limits::default() };
        Allowance::new(limits, self.timeout)
    }
}

/// Characters of a value that one line shows.
const SHOWN: usize = 100;

/// Runs the command.
pub fn run(args: ReplayArgs) -> anyhow::Result<Outcome> {
    if let Some(file) = &args.against {
        return would_change(&args, file);
    }
    if args.run.is_dir() {
        return play_all(&args);
    }
    let recording = open(&args.run)?;
    let mut out = terminal::stdout();
    if let Some(other) = &args.diff {
        let (left, right) = (comparable(recording), comparable(open(other)?));
        let found = first_difference(&left, &right);
        let written = match &found {
            Some(difference) => told_difference(&mut out, difference),
            None => writeln!(out, "{}", alike([(&args.run, &left), (other, &right)])),
        };
        ignore_closed_pipe(written)?;
        return Ok(if found.is_none() { Outcome::Done } else { Outcome::Failed });
    }
    if !args.at.is_empty() {
        let written = at(&mut out, &recording, &args.at)?;
        ignore_closed_pipe(written)?;
        return Ok(Outcome::Done);
    }
    if args.step {
        ignore_closed_pipe(step(&mut out, &recording))?;
    }
    let proof = play(&recording, &args).map_err(|error| anyhow!("{}: {error:#}", args.run.display()))?;
    let mut show = || {
        told(&mut out, &recording, &proof, args.times)?;
        writeln!(out, "not on record:")?;
        recording.not_captured().iter().try_for_each(|missing| writeln!(out, "  {missing}"))?;
        out.flush()
    };
    ignore_closed_pipe(show())?;
    Ok(outcome(&proof))
}

/// Plays a recording so often, or until it differs.
fn play(recording: &Recording, args: &ReplayArgs) -> anyhow::Result<Proof> {
    let mut proof = subject::prove(recording, &args.allowance())?;
    for _ in 1..args.times {
        if !matches!(proof.verdict, Verdict::Equal) || proof.changed.is_some() {
            break;
        }
        proof = subject::prove(recording, &args.allowance())?;
    }
    Ok(proof)
}

fn outcome(proof: &Proof) -> Outcome {
    match (&proof.verdict, proof.changed) {
        (Verdict::Equal | Verdict::Unfinished, None) => Outcome::Done,
        _ => Outcome::Failed,
    }
}

/// Plays the newest recordings of a directory.
fn play_all(args: &ReplayArgs) -> anyhow::Result<Outcome> {
    if args.step || !args.at.is_empty() || args.diff.is_some() {
        bail!("{} is a directory; name one of its recordings", args.run.display());
    }
    let mut out = terminal::stdout();
    let mut all = Outcome::Done;
    for path in recordings(&args.run, args.last)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let played = open(&path).and_then(|recording| Ok((play(&recording, args)?, recording)));
        let written = match &played {
            Ok((proof, recording)) => {
                write!(out, "{name}: ").and_then(|()| told(&mut out, recording, proof, args.times))
            }
            Err(error) => writeln!(out, "{name}: cannot be played: {error:#}"),
        };
        ignore_closed_pipe(written)?;
        if !played.is_ok_and(|(proof, _)| matches!(outcome(&proof), Outcome::Done)) {
            all = Outcome::Failed;
        }
    }
    Ok(all)
}

fn open(path: &Path) -> anyhow::Result<Recording> {
    Recording::read(path).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// A recording as it is compared with another.
fn comparable(mut recording: Recording) -> Recording {
    recording.head.subject = placeless::placeless(recording.head.subject);
    recording
}

/// Says which answers would be others with an agent or a prelude that changed.
fn would_change(args: &ReplayArgs, file: &Path) -> anyhow::Result<Outcome> {
    let mut out = terminal::stdout();
    let (mut outcome, mut compared) = (Outcome::Done, false);
    for path in recordings(&args.run, args.last)? {
        let recording = open(&path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(verdict) = subject::hold_against(&recording, file, &args.allowance())? else {
            ignore_closed_pipe(writeln!(out, "{name}: {}", subject::irreplaceable(&recording, file)))?;
            continue;
        };
        let mut show = || match &verdict {
            Against::Same => writeln!(out, "{name}: the same answer"),
            Against::Unfinished => writeln!(out, "{name}: was cut off, there is no answer to compare"),
            Against::Unknown(missing) => {
                writeln!(out, "{name}: cannot be told, {}", short(missing, SHOWN))
            }
            Against::Changes { path, recorded, now } => {
                writeln!(out, "{name}: another answer")?;
                values(&mut out, path, recorded, now)
            }
        };
        ignore_closed_pipe(show())?;
        compared |= matches!(verdict, Against::Same | Against::Changes { .. });
        if matches!(verdict, Against::Changes { .. }) {
            outcome = Outcome::Failed;
        }
    }
    if !compared {
        bail!("--against: nothing was compared with {}", file.display());
    }
    Ok(outcome)
}

/// A recording, or the newest of a directory, the newest first.
fn recordings(run: &Path, last: usize) -> anyhow::Result<Vec<PathBuf>> {
    if !run.is_dir() {
        return Ok(vec![run.to_owned()]);
    }
    let mut found = Shelf::list(run).map_err(|error| anyhow!("{}: {error}", run.display()))?;
    if found.is_empty() {
        bail!(
            "{} has no recordings; `ptc run --trace {} --record` writes them",
            run.display(),
            run.display()
        );
    }
    found.sort();
    Ok(found.into_iter().rev().take(last).collect())
}

/// What playing back gave.
fn told(out: &mut impl Write, recording: &Recording, proof: &Proof, times: u32) -> io::Result<()> {
    let name = |number: usize| {
        let call = recording.calls().find(|call| call.number == number);
        call.map_or_else(String::new, |call| format!(", {}", title(&call)))
    };
    if let Some(number) = proof.changed {
        writeln!(
            out,
            "changed at call {number}{}: its answer is not the one that was recorded",
            name(number)
        )?;
    }
    match &proof.verdict {
        Verdict::Equal => {
            let often = if times > 1 { format!(", {times} times") } else { String::new() };
            let (turns, same) = match proof.turns {
                Some(turns) => (format!(" {},", several(turns.into(), "turn")), "outcome and events"),
                None => (String::new(), "value, prints and definitions"),
            };
            writeln!(
                out,
                "equal{often}: {},{turns} {} fuel, {same} to the byte",
                several(proof.calls as u64, "call"),
                grouped(proof.fuel),
            )?;
        }
        Verdict::Unfinished => {
            let calls = several(proof.calls as u64, "call");
            writeln!(out, "equal so far: {calls}; the recording was cut off before the end")?;
        }
        Verdict::Differs(parting) => {
            let Parting { call, what, path, recorded, now } = &**parting;
            match call {
                Some(number) => writeln!(out, "differs at call {number}{}: {what}", name(*number))?,
                None => writeln!(out, "differs: {what}")?,
            }
            values(out, path, recorded, now)?;
        }
    }
    Ok(())
}

/// Says of recordings without a difference how far they were compared.
fn alike(both: [(&Path, &Recording); 2]) -> String {
    let calls = both.map(|(_, recording)| recording.calls().count()).into_iter().min().unwrap_or_default();
    let cut: Vec<&Path> =
        both.iter().filter(|(_, recording)| recording.is_cut_off()).map(|(path, _)| *path).collect();
    let far = match cut.as_slice() {
        [] => String::new(),
        [one] => format!(", as far as {} goes: it was cut off before the end", one.display()),
        _ => ", as far as both go: they were cut off before the end".to_owned(),
    };
    format!("no difference in {}{far}", several(calls as u64, "call"))
}

fn told_difference(out: &mut impl Write, difference: &Difference) -> io::Result<()> {
    let place = match difference.place {
        Place::Beginning => "what the runs were begun from".to_owned(),
        Place::Asked(call) => format!("call {call}, what was asked"),
        Place::Answered(call) => format!("call {call}, what was answered"),
        Place::Missing(call) => format!("call {call}, which only one of them has"),
        Place::End => "the outcome; all calls are the same".to_owned(),
    };
    writeln!(out, "first difference: {place}")?;
    values(out, &difference.path, &difference.left, &difference.right)
}

fn values(out: &mut impl Write, path: &str, left: &Json, right: &Json) -> io::Result<()> {
    if left == right {
        return Ok(());
    }
    if !path.is_empty() {
        writeln!(out, "  at {path}")?;
    }
    writeln!(out, "  - {}", short(&left.to_string(), 2_000))?;
    writeln!(out, "  + {}", short(&right.to_string(), 2_000))
}

/// Call after call.
fn step(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let asks = io::stdin().is_terminal() && terminal::stdout().is_terminal();
    for call in recording.calls() {
        writeln!(out, "call {}, {}", call.number, title(&call))?;
        writeln!(out, "  {}", call.given.as_ref().map_or_else(|| "no answer".to_owned(), answer))?;
        if asks {
            out.flush()?;
            let mut line = String::new();
            io::stdin().lock().read_line(&mut line)?;
            if line.trim() == "q" {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One call in full.
fn at(out: &mut impl Write, recording: &Recording, words: &[String]) -> anyhow::Result<io::Result<()>> {
    let number = match words {
        [number] => number,
        [what, number] if what == "call" => number,
        _ => bail!("--at: write the number of a call: --at call 3"),
    };
    let number: usize =
        number.parse().map_err(|_| anyhow!("--at: `{number}` is no number of a call; write --at call 3"))?;
    let Some(call) = recording.calls().find(|call| call.number == number) else {
        bail!("--at: there is no call {number}; the recording has {}", recording.calls().count());
    };
    let mut show = || {
        writeln!(out, "call {number}, {}", title(&call))?;
        writeln!(out, "asked:\n{:#}", serde_json::to_value(&call.question)?)?;
        writeln!(out, "answered:\n{:#}", serde_json::to_value(&call.given)?)?;
        out.flush()
    };
    Ok(show())
}

/// A call in a few words.
fn title(call: &Call) -> String {
    let of = match &call.question.of {
        Of::Model { model, request } => format!("model {model}, turn {}", request.turn),
        Of::Tool { tool, args } => format!("tool {tool} {}", short(&args.to_string(), SHOWN)),
        Of::Approval { tool, args, .. } => {
            format!("approval of tool {tool} {}", short(&args.to_string(), SHOWN))
        }
    };
    match &call.question.agent {
        Some(agent) => format!("{of} ({agent})"),
        None => of,
    }
}

fn answer(given: &Given) -> String {
    let text = match given {
        Given::Reply(reply) => {
            let said = reply.content.as_deref().unwrap_or_default();
            let calls: Vec<&str> = reply.tool_calls.iter().map(|call| call.name.as_str()).collect();
            if calls.is_empty() { said.to_owned() } else { format!("{said} calls {}", calls.join(", ")) }
        }
        Given::Refusal(error) => format!("failed: {error}"),
        Given::Value(value) | Given::Answer(value) => value.to_string(),
        Given::Error(message) | Given::Lost(message) => format!("failed: {message}"),
        Given::Decision(decision) => match decision {
            Decision::Approve => "approved".to_owned(),
            Decision::Edit(args) => format!("approved with {args}"),
            Decision::Reject(reason) => format!("rejected: {reason}"),
        },
    };
    short(&text, SHOWN)
}

/// A text on one line, as long as that.
fn short(text: &str, chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
