//! `ptc plan`: what a program would change, without changing it.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use ptc_lisp::Error;
use ptc_lisp::machine::ProgramEnd;
use ptc_upstream::Redactor;
use ptc_upstream::pins::digest;
use serde_json::{Value as Json, json};

use super::eval::{self, ignore_closed_pipe};
use crate::exit::{Outcome, program_codes};
use crate::plans::make::{Made, Maker};
use crate::plans::store::Bound;
use crate::plans::{Hashed, Plan, PlanOrigin};
use crate::terminal::{errln, plain};
use crate::{attached, report, terminal, values};

/// Say what a program would change, and change nothing.
///
/// Calls that read are made. Calls that may change something are held back and listed, with all their arguments, in the
/// order in which the program would make them. `ptc apply` makes exactly these. Where the program needs the answer of
/// such a call to go on, the plan ends and says so.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct PlanArgs {
    /// The program's text
    #[arg(short, long, value_name = "PROGRAM", conflicts_with = "file", allow_hyphen_values = true)]
    expr: Option<String>,

    /// A file with the program; `-` or nothing reads standard input
    file: Option<PathBuf>,

    /// An input, read as data/NAME; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input)]
    data: Vec<values::Input>,

    /// Where the plan goes
    #[arg(short, long, value_name = "PLAN")]
    output: Option<PathBuf>,

    /// The store that the plan is to be applied with, and no other: an SQLite file or a PostgreSQL URL; what
    /// PTC_RUNNER_MCP_STORE names, unless told. It is made if it is not there
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,

    /// End the plan at a read of a server to which a write is held back
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    common: eval::Common,

    #[command(flatten)]
    upstreams: attached::UpstreamArgs,

    /// Print the plan itself, as JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = concat!(
    program_codes!(),
    "
Examples:
  ptc plan close.clj --upstreams-config upstreams.json
  ptc plan close.clj --upstreams-config upstreams.json --data 'days=30' -o plan.json
  ptc apply plan.json"
);

/// Runs the command.
pub fn run(mut args: PlanArgs) -> anyhow::Result<Outcome> {
    let lent = args.common.lend()?.cloned();
    if let Some(prelude) = lent.as_ref().filter(|_| args.common.show_prompt_inventory) {
        return super::prelude::show_inventory(prelude, &args.upstreams);
    }
    let (name, source) = eval::program(args.expr.as_deref(), args.file.as_deref())?;
    let Some(config) = args.upstreams.upstreams_config.clone() else {
        bail!("a plan is about upstreams; name their configuration with --upstreams-config FILE");
    };
    let text =
        std::fs::read_to_string(&config).with_context(|| format!("cannot read {}", config.display()))?;
    let mut inputs = BTreeMap::new();
    for input in &args.data {
        let (name, value) = input.json()?;
        inputs.insert(name.to_owned(), digest(&value));
    }
    let origin = PlanOrigin {
        program: Hashed::new(&name, &source),
        prelude: lent.map(|prelude| prelude.artifact_hash().to_owned()),
        inputs,
        upstreams: Hashed::new(std::path::absolute(&config)?, &text),
        store: super::asked_store(args.store.as_deref()).as_deref().map(Bound::to).transpose()?,
    };
    let mut machine = args.common.machine()?;
    values::give(&mut machine, &args.data)?;
    let upstreams =
        args.upstreams.start(machine.prelude().map(|prelude| &**prelude), args.common.limits().memory)?;
    let upstreams = upstreams.ok_or_else(|| anyhow!("there are no upstreams"))?;
    let run = upstreams.begin();
    run.furnish(&mut machine)?;
    let redactor = upstreams.redactor();
    let mut maker = Maker {
        machine: &mut machine,
        run: &run,
        timeout: args.common.timeout(),
        strict: args.strict,
        made: Made::default(),
    };
    let ended = maker.make(&source);
    let made = std::mem::take(&mut maker.made);
    if let Some(failed) = failure(&ended, &machine, &name, &source, redactor, args.json)? {
        return Ok(failed);
    }
    refuse_secrets(&made, redactor)?;
    let plan = Plan::new(origin, made);
    if let Some(path) = &args.output {
        ptc_system::private::replace(path, plan.text()?.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut out = terminal::stdout();
    let shown = match args.json {
        true => redactor.redact_string(plan.text()?),
        false => as_text(&plan, args.output.as_deref(), |line| {
            let line = redactor.redact_string(line);
            // A call cannot look like several.
            match out.is_terminal() {
                true => terminal::quoting(&plain(&line), terminal::columns()),
                false => line,
            }
        }),
    };
    ignore_closed_pipe(write!(out, "{shown}").and_then(|()| out.flush()))?;
    Ok(Outcome::Done)
}

/// A program that fails has no plan.
fn failure(
    ended: &Result<Option<ProgramEnd>, Error>,
    machine: &ptc_lisp::machine::Machine,
    name: &str,
    source: &str,
    redactor: &Redactor,
    as_json: bool,
) -> anyhow::Result<Option<Outcome>> {
    let (fields, text) = match ended {
        Ok(Some(ProgramEnd::Fail)) => {
            let value = redactor.redact_string(machine.value());
            (json!({"kind": "fail", "message": value}), format!("failed: {value}"))
        }
        Ok(_) => return Ok(None),
        Err(error) => {
            let mut fields = report::error_fields(error, source);
            redactor.redact_json(&mut fields);
            let colours = terminal::colours(&terminal::stderr());
            (fields, redactor.redact_string(terminal::error_text(error, source, name, colours)))
        }
    };
    if as_json {
        ignore_closed_pipe(writeln!(terminal::stdout(), "{}", json!({"ok": false, "error": fields})))?;
    } else {
        errln!("{text}\nthere is no plan: the program did not come to its end");
    }
    let result = ended.as_ref().map(|signal| signal.unwrap_or(ProgramEnd::Value)).map_err(Clone::clone);
    Ok(Some(report::outcome(&result)))
}

/// A plan is a file that people pass on.
fn refuse_secrets(made: &Made, redactor: &Redactor) -> anyhow::Result<()> {
    let writes = made.writes.iter().enumerate().map(|(at, write)| ("write", at, json!(write.call)));
    let reads = made.reads.iter().enumerate().map(|(at, read)| ("read", at, json!(read.asked)));
    for (what, at, call) in writes.chain(reads) {
        let mut covered: Json = call.clone();
        redactor.redact_json(&mut covered);
        if covered != call {
            bail!(
                "{what} {} has a secret of the configuration among its arguments, which no plan may hold; \
                 let the server have it by its credentials instead",
                at + 1
            );
        }
    }
    Ok(())
}

fn as_text(plan: &Plan, kept: Option<&std::path::Path>, shown: impl Fn(String) -> String) -> String {
    let mut lines = Vec::new();
    let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    lines.push(format!("{}, {}", count(plan.reads.len(), "read"), count(plan.writes.len(), "write")));
    for (at, write) in plan.writes.iter().enumerate() {
        let unknown = if write.effect == "unknown" { "  (may write)" } else { "" };
        let place = write.at.as_deref().map(|at| format!("  at {at}")).unwrap_or_default();
        lines.push(format!("{:>3}  {}{unknown}{place}", at + 1, write.call));
    }
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    if let Some(why) = &plan.stopped {
        lines.push(format!("the plan ends here: {why}"));
    }
    if let Some(path) = kept {
        lines.push(format!("`ptc apply {}` makes these calls", path.display()));
    }
    lines.into_iter().map(shown).collect::<Vec<_>>().join("\n") + "\n"
}
