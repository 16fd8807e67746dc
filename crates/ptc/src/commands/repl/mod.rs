//! `ptc repl`: programs typed at a terminal, one after the other, in one session. The same session runs scripts.

mod brackets;
mod colon;
mod lines;
mod log;
mod names;
mod pretty;
mod session;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::eval::{self, Common, ignore_closed_pipe};
use crate::exit::Outcome;
use crate::terminal;
use crate::{attached, values};
use lines::Lines;
use session::Session;

/// Type programs and see their values; definitions stay.
///
/// A form may span several lines. *1, *2 and *3 are the last values. Tab completes names, Ctrl-C stops the program
/// that runs, Ctrl-D leaves, :help lists the commands. Lines typed before come back with the arrow keys, also in later
/// sessions. With a script or -e, nothing is asked: the programs run one after the other, and the first that fails ends
/// the command.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ReplArgs {
    /// A file whose text is run as one program; `-` is standard input
    #[arg(value_name = "SCRIPT", conflicts_with = "expr")]
    script: Option<PathBuf>,

    /// A program; may be repeated, later ones see what earlier ones defined
    #[arg(short, long = "eval", value_name = "PROGRAM", allow_hyphen_values = true)]
    expr: Vec<String>,

    /// A file that is run first, for its definitions; may be repeated
    #[arg(short, long, value_name = "FILE")]
    load: Vec<PathBuf>,

    /// An input, read as data/NAME; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input)]
    data: Vec<values::Input>,

    /// Canned tools that programs may call, as for `ptc eval`
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,

    /// Report fuel, memory, time and tool calls after each program, on standard error
    #[arg(long)]
    stats: bool,

    /// Give programs the namespace log/, which looks at the turns of this session
    #[arg(long)]
    log_prelude: bool,

    /// A file of turns, or a folder of them, that log/ looks at instead
    #[arg(long, value_name = "PATH")]
    log_source: Option<PathBuf>,

    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    upstreams: attached::UpstreamArgs,
}

const AFTER_HELP: &str = concat!(
    crate::exit::program_codes!(),
    "\
Scripts and -e end with these codes; a session ends with 0 whatever its programs did, unless the last one was refused
because what the prelude requires is not there: that is 1.

Examples:
  ptc repl
  ptc repl -e '(def x 1)' -e '(* x 2)'
  ptc repl -l helpers.clj --data orders=@orders.json
  ptc repl report.clj --upstreams-config upstreams.json"
);

/// Runs the command.
pub fn run(mut args: ReplArgs) -> anyhow::Result<Outcome> {
    if args.log_source.is_some() && !args.log_prelude {
        anyhow::bail!("--log-source requires --log-prelude");
    }
    if args.log_prelude && args.common.has_prelude() {
        anyhow::bail!("--log-prelude is mutually exclusive with --prelude");
    }
    let lent = args.common.lend()?.cloned();
    if let Some(prelude) = lent.filter(|_| args.common.show_prompt_inventory) {
        return super::prelude::show_inventory(&prelude, &args.upstreams);
    }
    let script = args.script.as_deref().map(|path| eval::program(None, Some(path))).transpose()?;
    let expressions = std::mem::take(&mut args.expr);
    let loads = read(&args.load)?;
    let mut session = Session::new(args)?;
    let programs: Vec<(String, String)> = match script {
        Some(program) => vec![program],
        None => expressions.into_iter().map(|text| ("-e".to_owned(), text)).collect(),
    };
    let outcome = match batch(&mut session, &loads, &programs) {
        Ok(Outcome::Done) if programs.is_empty() => converse(&mut session)?,
        Ok(outcome) => outcome,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Outcome::Done,
        Err(error) => return Err(error).context("cannot write"),
    };
    ignore_closed_pipe(terminal::stdout().flush())?;
    Ok(outcome)
}

fn read(files: &[PathBuf]) -> anyhow::Result<Vec<(String, String)>> {
    files.iter().map(|path| eval::program(None, Some(path))).collect()
}

/// Runs programs until one fails: those that are only there for their definitions, then those whose values count.
fn batch(
    session: &mut Session,
    loads: &[(String, String)],
    programs: &[(String, String)],
) -> io::Result<Outcome> {
    for (name, text) in loads {
        let outcome = session.load(name, text)?;
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
    }
    for (name, text) in programs {
        let outcome = session.evaluate(name, text)?;
        if outcome != Outcome::Done {
            return Ok(outcome);
        }
    }
    Ok(Outcome::Done)
}

/// Reads programs and commands until there are no more. Mistakes are part of the talk, but a session in which the prelude could
/// not be attached at the end was none.
fn converse(session: &mut Session) -> anyhow::Result<Outcome> {
    let outcome = talk(session)?;
    Ok(if outcome == Outcome::Done && session.refused() { Outcome::Failed } else { outcome })
}

fn talk(session: &mut Session) -> anyhow::Result<Outcome> {
    session.talks();
    let mut lines = Lines::open()?;
    if lines.is_terminal() {
        session.say(&format!("ptc {}, :help for help", env!("CARGO_PKG_VERSION"))).context("cannot write")?;
    }
    loop {
        lines.learn(session);
        let Some(text) = lines.next()? else { return Ok(Outcome::Done) };
        match session.obey(&text) {
            // Ctrl-C ends what a pipe or a file tells; at a terminal it ends the program only.
            Ok(true) if session.interrupted() && !lines.is_terminal() => return Ok(Outcome::Cancelled),
            Ok(true) => {}
            Ok(false) => return Ok(Outcome::Done),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Outcome::Done),
            Err(error) => return Err(error).context("cannot write"),
        }
    }
}

/// The text of a file that `:load` names.
fn file_text(path: &str) -> Result<String, String> {
    fs::read_to_string(Path::new(path)).map_err(|error| format!("cannot read {path}: {error}"))
}
