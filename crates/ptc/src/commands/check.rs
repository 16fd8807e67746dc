//! `ptc check`: what a program may call, before it runs.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use ptc_lisp::analyze::Manifest;
use ptc_lisp::{Error, Limits};
use ptc_upstream::catalog::Catalog;
use ptc_upstream::effects::{self, PlannedUse, Policy, Refusal, reached};
use serde_json::{Value, json};

use super::eval::{self, ignore_closed_pipe};
use super::prelude;
use crate::exit::Outcome;
use crate::terminal::errln;
use crate::{attached, report, terminal, values};

/// Say what a program may call, how often, and with what; run nothing.
///
/// There is no eval in programs and no name is made up at run time, so the list may hold too much but never too
/// little. With --read-only a program that may call a tool that writes, or one of which nobody knows, is refused.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct CheckArgs {
    /// The program's text
    #[arg(short, long, value_name = "PROGRAM", conflicts_with = "file", allow_hyphen_values = true)]
    expr: Option<String>,

    /// A file with the program; `-` or nothing reads standard input
    file: Option<PathBuf>,

    /// An input that the program will have, read as data/NAME; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input)]
    data: Vec<values::Input>,

    /// Canned tools that the program may call, as for `ptc eval`
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,

    /// A prelude whose exports the program may call; may be repeated, later ones may use earlier ones
    #[arg(short, long, value_name = "FILE")]
    prelude: Vec<PathBuf>,

    #[command(flatten)]
    upstreams: attached::UpstreamArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  the program may run
  1  the program has a mistake, names a tool or server that is not there, or may do more than it is allowed to
  2  the command line or a file makes no sense

Examples:
  ptc check report.clj --upstreams-config upstreams.json
  ptc check report.clj --prelude crm.clj --upstreams-config upstreams.json
  ptc check report.clj --upstreams-config upstreams.json --read-only --json";

/// Runs the command.
pub fn run(args: CheckArgs) -> anyhow::Result<Outcome> {
    let (name, source) = eval::program(args.expr.as_deref(), args.file.as_deref())?;
    let tools = eval::tools(args.tools.as_deref())?;
    let mut machine = ptc_lisp::machine::Machine::new(ptc_lisp::Limits::default());
    if !args.prelude.is_empty() {
        let compiled = prelude::compile(&args.prelude).map_err(|refused| anyhow!(refused.line()))?;
        machine.attach(&Arc::new(compiled))?;
    }
    let upstreams =
        args.upstreams.start(machine.prelude().map(|prelude| &**prelude), Limits::default().memory)?;
    let run = upstreams.as_ref().map(|upstreams| upstreams.begin());
    let tools = run.as_ref().map_or_else(|| tools.clone(), |run| run.grant(&tools));
    tools.grant(&mut machine);
    values::give(&mut machine, &args.data)?;
    // Without any, nobody has said which inputs there will be.
    machine.set_strict_inputs(!args.data.is_empty());
    let admitted = attached::admit(&machine, &tools, run.as_ref());
    let mut note = |note: String| errln!("ptc: {note}");
    let checked = admitted.map_err(|error| vec![error]).and_then(|()| match &upstreams {
        Some(upstreams) => upstreams.check(&mut machine, &source, &tools, &mut note),
        None => machine.check_all(&source),
    });
    let manifest = match checked {
        Ok(manifest) => manifest,
        Err(errors) => {
            let written = match args.json {
                true => say(&mistakes(&errors, &source).to_string()),
                false => {
                    let colours = terminal::colours(&terminal::stderr());
                    for error in &errors {
                        errln!("{}", terminal::error_text(error, &source, &name, colours));
                    }
                    Ok(())
                }
            };
            ignore_closed_pipe(written)?;
            return Ok(Outcome::Failed);
        }
    };
    let planned = match &upstreams {
        Some(upstreams) => upstreams.plan(&manifest),
        None => effects::enforce(&manifest, &Catalog::default(), &Policy::open()),
    };
    let text = match args.json {
        true => as_json(&manifest, &planned).to_string(),
        false => as_text(&manifest, &planned),
    };
    ignore_closed_pipe(match (&planned, args.json) {
        (Err(_), false) => {
            errln!("{text}");
            Ok(())
        }
        _ => say(&text),
    })?;
    Ok(if planned.is_ok() { Outcome::Done } else { Outcome::Failed })
}

fn say(text: &str) -> io::Result<()> {
    let mut out = terminal::stdout();
    writeln!(out, "{text}")?;
    out.flush()
}

/// All mistakes, and the first one where it always stood.
fn mistakes(errors: &[Error], source: &str) -> Value {
    let errors: Vec<_> = errors.iter().map(|error| report::error_fields(error, source)).collect();
    json!({"ok": false, "error": errors.first(), "errors": errors})
}

pub(super) fn as_json(manifest: &Manifest, planned: &Result<Vec<PlannedUse>, Refusal>) -> Value {
    match planned {
        Ok(uses) => json!({
            "ok": true,
            "tools": reached(uses),
            "max_calls": manifest.max_calls(),
            "uses": uses.iter().map(PlannedUse::to_json).collect::<Vec<_>>(),
        }),
        Err(refusal) => json!({
            "ok": false,
            "error": {"kind": "read_only", "message": refusal.to_string(), "details": refusal.details()},
        }),
    }
}

/// The tools in one line, then a line per place that calls one, and below it where its arguments come from.
pub(super) fn as_text(manifest: &Manifest, planned: &Result<Vec<PlannedUse>, Refusal>) -> String {
    let uses = match planned {
        Ok(uses) => uses,
        Err(refusal) => return format!("refused: {refusal}"),
    };
    let tools: Vec<&str> = reached(uses).into_iter().collect();
    let mut lines = vec![match (uses.is_empty(), manifest.max_calls()) {
        (true, _) => "ok, calls no tools".to_owned(),
        (false, Some(1)) => format!("ok, may call {} once", tools.join(", ")),
        (false, Some(most)) => format!("ok, may call {}, at most {most} times in all", tools.join(", ")),
        (false, None) => format!("ok, may call {}", tools.join(", ")),
    }];
    for each in uses {
        let often = match each.at_most {
            Some(1) => "once".to_owned(),
            Some(most) => format!("at most {most} times"),
            None => "any number of times".to_owned(),
        };
        lines.push(format!("  {} ({}), {often}", each.target, each.effect.name()));
        if !each.fixed {
            let reaches = each.reaches.iter().map(|(tool, effect)| format!("{tool} ({})", effect.name()));
            lines.push(format!("    reaches {}", reaches.collect::<Vec<_>>().join(", ")));
        }
        if !each.asks.is_empty() {
            lines.push(format!("    asks before {}", each.asks.join(", ")));
        }
        for (name, source) in &each.sources {
            let literal = each.literal.get(name).map(|value| format!(" {value}")).unwrap_or_default();
            lines.push(format!("    :{name} {}{literal}", source.name()));
        }
    }
    lines.join("\n")
}
