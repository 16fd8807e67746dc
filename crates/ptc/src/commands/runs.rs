//! `ptc runs`: the runs that were kept, and what became of them.

use std::io::Write;

use ptc_store::runs::ListedRun;
use ptc_upstream::Redactor;
use serde_json::{Value, json};

use super::ignore_closed_pipe;
use crate::agents::{Checkpoints, RunsPlace, shown_call};
use crate::exit::Outcome;
use crate::terminal::{self, plain};

/// List the runs that were kept, the latest first: running, waiting for a person, interrupted, finished or failed.
///
/// Of runs that wait for a person, the calls to decide about stand below.
#[derive(Debug, clap::Args)]
pub struct RunsArgs {
    #[command(flatten)]
    place: RunsPlace,

    /// Print one JSON object per line instead of text
    #[arg(long)]
    json: bool,

    /// Forget this run instead: whatever was kept of it is deleted
    #[arg(long, value_name = "RUN")]
    forget: Option<String>,
}

/// Runs the command.
pub fn run(args: RunsArgs) -> anyhow::Result<Outcome> {
    let mut out = terminal::stdout();
    if args.place.is_empty()? {
        let nothing = "no runs are kept; `ptc run --checkpoint DIR` keeps one, and Ctrl-C does";
        return ignore_closed_pipe(writeln!(terminal::stderr(), "{nothing}")).map(|()| Outcome::Done);
    }
    let checkpoints = Checkpoints::existing(&args.place)?;
    if let Some(run) = &args.forget {
        let (id, _) = checkpoints.find(run)?;
        checkpoints.forget(&id)?;
        ignore_closed_pipe(writeln!(out, "run {id} is forgotten"))?;
        return Ok(Outcome::Done);
    }
    for (run, state, pending) in checkpoints.list()? {
        let unknown = checkpoints.unknown(&run.id)?;
        let line = match args.json {
            true => fields(&run, state, &pending, unknown).to_string(),
            false => line(&run, state, &pending, unknown),
        };
        if writeln!(out, "{line}").is_err() {
            break;
        }
    }
    Ok(Outcome::Done)
}

/// What calls stand behind.
const INDENT: &str = "  ";

fn line(run: &ListedRun, state: &str, pending: &[Value], unknown: usize) -> String {
    let answers = if run.answers == 1 { "answer" } else { "answers" };
    let mut line = format!(
        "{}  {state:11}  {}  {:>4} {answers:7}  {}",
        run.id,
        time(run.began_at),
        run.answers,
        plain(&run.title)
    );
    if unknown > 0 {
        line.push_str(&format!("  ({unknown} with unknown outcome, see `ptc effects`)"));
    }
    let columns = terminal::columns().saturating_sub(INDENT.len());
    for call in pending {
        let call = shown_call(call, &Redactor::none(), columns);
        line.extend(call.lines().map(|row| format!("\n{INDENT}{row}")));
    }
    line
}

fn fields(run: &ListedRun, state: &str, pending: &[Value], unknown: usize) -> Value {
    json!({
        "pending": pending,
        "run": run.id, "state": state, "title": run.title, "answers": run.answers,
        "began": time(run.began_at), "changed": time(run.changed_at), "outcome_unknown": unknown,
    })
}

/// A time for people, in UTC.
fn time(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
    time.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}
