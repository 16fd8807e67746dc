//! `ptc eval`: runs one program, or with `--batch` many.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ptc_host::{Bounds, Ran, Tools, drive, now_ms, random_seed};
use ptc_lisp::analyze::{Manifest, ToolUse};
use ptc_lisp::machine::{Machine, ProgramEnd};
use ptc_lisp::prelude::Prelude;
use ptc_lisp::{Error, ErrorKind, Limits};
use ptc_trace::recording::{Begun, Lent, Taped, effects, named};
use ptc_upstream::ledger::Status;
use ptc_upstream::metrics::Returned;
use ptc_upstream::{Account, Redactor};
use serde_json::{Value, json};

use super::{batch, prelude};
use crate::exit::{Outcome, program_codes};
use crate::terminal::{errln, plain};
use crate::traces::{RecordArgs, Traced};
use crate::values::NotGiven;
use crate::{attached, report, stubs, terminal, values};

/// Run a program and print its value.
///
/// The program comes from -e, from FILE, or from standard input. What it prints comes first, its value
/// last. It can reach nothing but its inputs and the tools it is given, and runs within its limits.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct EvalArgs {
    /// The program's text
    #[arg(short, long, value_name = "PROGRAM", conflicts_with_all = ["file", "batch"], allow_hyphen_values = true)]
    expr: Option<String>,

    /// A file with the program; `-` or nothing reads standard input
    #[arg(conflicts_with = "batch")]
    file: Option<PathBuf>,

    /// An input, read as data/NAME; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input, conflicts_with = "batch")]
    data: Vec<values::Input>,

    /// Canned tools that the program may call, see below
    #[arg(long, value_name = "FILE", conflicts_with = "batch")]
    tools: Option<String>,

    #[command(flatten)]
    pub(super) common: Common,

    #[command(flatten)]
    upstreams: attached::UpstreamArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// Report fuel, memory, time and tool calls on standard error
    #[arg(long)]
    stats: bool,

    /// Only look for mistakes and list the tools that the program may call; run nothing
    #[arg(long, conflicts_with = "batch")]
    check: bool,

    /// Read programs as JSON lines and answer each with a JSON line, see below
    #[arg(long, conflicts_with_all = ["trace", "record"])]
    batch: bool,

    #[command(flatten)]
    record: RecordArgs,
}

/// What help lists below one heading.
const LIMITS: &str = "Limits";
const REPEATING: &str = "To repeat a run exactly";
const PRELUDES: &str = "Preludes";

/// What every way to run programs has in common.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// Most units of work, about one per instruction: 1000000, 50m
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = LIMITS)]
    fuel: Option<u64>,

    /// Most live memory: 65536, 64mb
    #[arg(long, value_name = "BYTES", value_parser = values::bytes, help_heading = LIMITS)]
    memory: Option<usize>,

    /// Most time by the wall clock: 500ms, 10s
    #[arg(long, value_name = "DURATION", value_parser = values::duration, default_value = "10s", help_heading = LIMITS)]
    timeout: Duration,

    /// Where the program's random numbers begin; at random by default
    #[arg(long, value_name = "N", help_heading = REPEATING)]
    seed: Option<u64>,

    /// What the program's clock says, in milliseconds since 1970 or like 2026-01-31T10:00:00Z
    #[arg(long, value_name = "TIME", value_parser = values::moment, allow_hyphen_values = true, help_heading = REPEATING)]
    now: Option<i64>,

    /// A prelude whose exports programs may call; may be repeated, later ones may use earlier ones
    #[arg(short, long, value_name = "FILE", help_heading = PRELUDES)]
    prelude: Vec<PathBuf>,

    /// Print what a prompt would say about the prelude, and run nothing
    #[arg(long, requires = "prelude", help_heading = PRELUDES)]
    pub(super) show_prompt_inventory: bool,

    /// The preludes, compiled.
    #[arg(skip)]
    lent: Option<Arc<Prelude>>,
}

impl Common {
    /// Compiles the preludes; machines have them from then on.
    pub fn lend(&mut self) -> anyhow::Result<Option<&Arc<Prelude>>> {
        if !self.prelude.is_empty() {
            self.lent =
                Some(Arc::new(prelude::compile(&self.prelude).map_err(|refused| anyhow!(refused.line()))?));
        }
        Ok(self.lent.as_ref())
    }

    /// Whether preludes were named.
    pub fn has_prelude(&self) -> bool {
        !self.prelude.is_empty()
    }

    /// Gives machines a prelude that is no file.
    pub fn lend_own(&mut self, prelude: Option<Arc<Prelude>>) {
        self.lent = prelude;
    }

    /// A machine with these limits, clock, seed and preludes.
    pub fn machine(&self) -> Result<Machine, Error> {
        let mut machine = Machine::new(self.limits());
        if let Some(prelude) = &self.lent {
            machine.attach(prelude)?;
        }
        machine.set_clock(self.now.unwrap_or_else(now_ms));
        machine.set_seed(self.seed.unwrap_or_else(random_seed));
        Ok(machine)
    }

    /// What a program may use.
    pub fn limits(&self) -> Limits {
        let defaults = Limits::default();
        let fuel = self.fuel.unwrap_or(defaults.fuel);
        let memory = self.memory.unwrap_or(defaults.memory);
        Limits { fuel, memory, ..defaults }
    }

    /// How long a program may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// What ends a program from outside.
    pub fn bounds(&self) -> Bounds {
        Bounds { timeout: Some(self.timeout), cancel: None }
    }

    /// Reads the clock, unless it was given, so that all programs of this run see the same time.
    pub fn fix_clock(&mut self) {
        self.now.get_or_insert_with(now_ms);
    }

    /// Picks a seed, unless it was given, so that whoever records the program knows it.
    fn fix_seed(&mut self) -> u64 {
        *self.seed.get_or_insert_with(random_seed)
    }
}

const AFTER_HELP: &str = concat!(
    program_codes!(),
    r#"
Canned tools (--tools FILE):
  {"search": {"cases": [[{"q": "a"}, [1, 2]]], "default": []},
   "github/get_pr": {"default": {"$fail": {"reason": "timeout", "message": "no answer"}}}}
  answers (tool/search {:q "a"}) with [1 2], every other search with [], and
  (tool/call {:server "github" :tool "get_pr" :args {…}}) with {:ok false :reason :timeout …}.
  Calls with equal arguments are answered in order, the last answer repeats.
  {"$raise": "text"} as a result raises an error.

Batch (--batch): one JSON object per line on standard input,
  {"id": 1, "src": "(+ 1 data/x)", "data": {"x": 2}, "tools": {…}, "upstream": {…}}
  and one per line on standard output, in the same order,
  {"id": 1, "ok": true, "value": "3", "json": 3}
  {"id": 2, "ok": false, "error": {"kind": "type_error", "message": …, "line": 1, "column": 4, "hint": …}}
  with "signal" when (return …) or (fail …) ended the program, "prints" when it printed, and
  "calls" when it had tools. Every program has a machine and limits of its own. With
  --upstreams-config programs call those servers, and lines have "upstream_calls"; a line with
  an "upstream" of its own has nothing but that.

Examples:
  ptc eval -e '(map inc [1 2 3])'
  ptc eval report.clj --data orders=@orders.json --data 'region="north"' --stats
  echo '(count data/xs)' | ptc eval --data xs='[1, 2]' --json
  ptc eval --check plan.clj --tools tools.json
  ptc eval report.clj --upstreams-config upstreams.json --read-only
  ptc eval report.clj --data orders=@orders.json --record run.recording && ptc replay run.recording
  ptc eval --batch --fuel 5m --timeout 2s < programs.jsonl > answers.jsonl"#
);

/// Runs the command.
pub fn run(mut args: EvalArgs) -> anyhow::Result<Outcome> {
    let lent = args.common.lend()?.cloned();
    if let Some(prelude) = lent.filter(|_| args.common.show_prompt_inventory) {
        return prelude::show_inventory(&prelude, &args.upstreams);
    }
    if args.batch {
        let upstreams = args.upstreams.start(args.common.lent.as_deref(), args.common.limits().memory)?;
        return batch::run(args.common, upstreams.as_ref(), io::stdin().lock(), &mut terminal::stdout());
    }
    let (name, source) = program(args.expr.as_deref(), args.file.as_deref())?;
    let tools = tools(args.tools.as_deref())?;
    args.common.fix_clock();
    let seed = args.common.fix_seed();
    let mut machine = args.common.machine()?;
    tools.grant(&mut machine);
    machine.set_interrupt(args.common.bounds().interrupt());
    if let Err(refused) = values::give(&mut machine, &args.data) {
        return not_given(refused, args.json);
    }
    let upstreams = args.upstreams.start(args.common.lent.as_deref(), args.common.limits().memory)?;
    let run = upstreams.as_ref().map(|upstreams| upstreams.begin());
    let tools = run.as_ref().map_or_else(|| tools.clone(), |run| run.grant(&tools));
    if args.check {
        tools.grant(&mut machine);
        // Without any, nobody has said which inputs there will be.
        machine.set_strict_inputs(!args.data.is_empty());
        let checked = attached::admit(&machine, &tools, run.as_ref()).and_then(|()| match &upstreams {
            Some(upstreams) => checked_with(upstreams, &mut machine, &source, &tools, args.json),
            None => machine.check(&source).map(|manifest| match args.json {
                true => manifest_json(&manifest).to_string(),
                false => manifest_text(&manifest),
            }),
        });
        return check(checked, &name, &source, args.json);
    }
    let redactor = upstreams.as_ref().map(|upstreams| upstreams.redactor().clone()).unwrap_or_default();
    let traced = args.record.tracer(&redactor)?;
    let traced = traced.map(|tracer| Traced::begin(tracer, &name, &source, seed));
    let tools = traced.as_ref().map_or_else(|| tools.clone(), |traced| traced.watch(&tools));
    // A recording has the tools that the program is held against.
    run.iter().for_each(|run| run.look_up(&mut machine, &source, &tools));
    let taped = args.record.program(|| args.begun(&name, &source, &tools), &redactor)?;
    let tools = taped.iter().fold(tools, |tools, taped| tools.taped(Arc::new(taped.clone())));
    let bounds = args.common.bounds();
    let ran = match &run {
        Some(run) => run.drive(&mut machine, &source, &tools, &bounds),
        None => drive(&mut machine, &source, &tools, &bounds),
    };
    let account = run.map(|run| run.finish()).unwrap_or_default();
    let recorded = match traced.is_some() || taped.is_some() {
        false => Ok(()),
        true => {
            let outcome = ran.clone().outcome(&mut machine);
            traced.into_iter().for_each(|traced| traced.end(&outcome));
            taped.map_or(Ok(()), |taped| end_recording(&taped, &machine, &outcome))
        }
    };
    let (ended, written) = match args.json {
        true => print_json(&mut machine, &ran, &args, &account, &redactor),
        false => (report::outcome(&ran.result), print_text(&machine, &ran, &name, &redactor)),
    };
    if !args.json {
        tell_open(&account);
    }
    if args.stats && !args.json {
        errln!("{}", stats_text(&mut machine, &ran));
        if upstreams.is_some() {
            errln!("{}", upstream_text(&account));
        }
    }
    ignore_closed_pipe(written)?;
    recorded?;
    Ok(ended)
}

/// Ends a command whose inputs do not fit: that is a limit like others.
fn not_given(refused: NotGiven, json: bool) -> anyhow::Result<Outcome> {
    let error = match refused {
        NotGiven::Usage(error) => return Err(error),
        NotGiven::Limit(error) => error,
    };
    if json {
        let answer = json!({"ok": false, "error": report::error_fields(&error, "")});
        ignore_closed_pipe(writeln!(terminal::stdout(), "{answer}"))?;
    } else {
        errln!("ptc: {}", values::one_line(&error));
    }
    Ok(Outcome::Limit)
}

impl EvalArgs {
    /// What the program is begun from, for a recording.
    fn begun(&self, name: &str, source: &str, tools: &Tools) -> Begun {
        let common = &self.common;
        let begun = Begun {
            by: "eval".to_owned(),
            name: name.to_owned(),
            source: source.to_owned(),
            inputs: values::texts(&self.data),
            seed: common.seed.unwrap_or_default(),
            clock_ms: common.now.unwrap_or_default(),
            tools: tools.names().map(str::to_owned).collect(),
            servers: named(&tools.servers()),
            effects: effects(&tools.servers()),
            held: tools.servers().held().clone(),
            closed: tools.servers().is_closed(),
            discovery: tools.has_discovery(),
            strict_inputs: true,
            prelude: common.lent.as_deref().map(Lent::of),
            ..Begun::default()
        };
        begun.limits(&common.limits())
    }
}

fn end_recording(taped: &Taped, machine: &Machine, outcome: &ptc_host::Outcome) -> anyhow::Result<()> {
    taped.look(machine);
    match taped.finish(outcome) {
        Ok(true) => Ok(()),
        Ok(false) => {
            errln!("ptc: --record: nothing is recorded, the program was refused before it ran");
            Ok(())
        }
        Err(error) => Err(anyhow!("--record: the recording is not whole: {error}")),
    }
}

/// The canned tools of a file.
pub fn tools(path: Option<&str>) -> anyhow::Result<Tools> {
    let Some(path) = path else { return Ok(Tools::new()) };
    values::json_file(path)
        .and_then(|json| stubs::from_file(&json).map_err(|error| format!("{path}: {error}")))
        .map_err(|error| anyhow!("--tools: {error}"))
}

/// The program and what to call it in messages.
pub fn program(expr: Option<&str>, file: Option<&Path>) -> anyhow::Result<(String, String)> {
    if let Some(text) = expr {
        return Ok(("-e".to_owned(), text.to_owned()));
    }
    match file.filter(|path| path.as_os_str() != "-") {
        Some(path) => {
            let name = path.display().to_string();
            let file = fs::File::open(path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound if is_like_a_program(&name) => {
                    anyhow!(
                        "there is no file {0}; a program is given with -e: -e '{0}'",
                        values::shorten(&name)
                    )
                }
                _ => anyhow::Error::new(error).context(format!("cannot read {name}")),
            })?;
            let text = source_text(file, &name)?;
            Ok((name, text))
        }
        None if file.is_none() && io::stdin().is_terminal() => {
            bail!("no program; give -e PROGRAM, a FILE, or `-` to read standard input")
        }
        None => {
            let text = source_text(io::stdin().lock(), "standard input")?;
            Ok(("stdin".to_owned(), text))
        }
    }
}

/// Whether the name of a file looks like a program that was meant to be run.
fn is_like_a_program(name: &str) -> bool {
    name.starts_with(['(', '[', '{', '"', '\'', '#', ':', '@'])
        || name.contains(char::is_whitespace)
        || name.parse::<f64>().is_ok()
}

/// The text of a program. Of one that is too long only so much is read that the machine will say so.
fn source_text(from: impl Read, name: &str) -> anyhow::Result<String> {
    let most = Limits::default().source_bytes as u64 + 1;
    let mut text = Vec::new();
    from.take(most).read_to_end(&mut text).with_context(|| format!("cannot read {name}"))?;
    if text.len() as u64 == most {
        return Ok(String::from_utf8_lossy(&text).into_owned());
    }
    String::from_utf8(text).map_err(|_| anyhow!("{name} is not UTF-8 text"))
}

/// What a program may call where there are upstreams, as `ptc check` tells it, or the first thing that is wrong with it.
fn checked_with(
    upstreams: &attached::AttachedUpstreams,
    machine: &mut Machine,
    source: &str,
    tools: &Tools,
    as_json: bool,
) -> Result<String, Error> {
    let mut note = |note: String| errln!("ptc: {note}");
    let checked = upstreams.check(machine, source, tools, &mut note);
    let manifest = checked.map_err(|mut errors| errors.swap_remove(0))?;
    let planned = upstreams.plan(&manifest);
    match &planned {
        Err(refusal) => Err(Error::new(ErrorKind::Runtime, refusal.to_string())),
        Ok(_) if as_json => Ok(super::check::as_json(&manifest, &planned).to_string()),
        Ok(_) => Ok(super::check::as_text(&manifest, &planned)),
    }
}

fn check(checked: Result<String, Error>, name: &str, source: &str, as_json: bool) -> anyhow::Result<Outcome> {
    let mut out = terminal::stdout();
    let written = match (&checked, as_json) {
        (Ok(told), _) => writeln!(out, "{told}"),
        (Err(error), true) => {
            writeln!(out, "{}", json!({"ok": false, "error": report::error_fields(error, source)}))
        }
        (Err(error), false) => {
            errln!("{}", error_text(error, source, name));
            Ok(())
        }
    };
    ignore_closed_pipe(written)?;
    Ok(report::outcome(&checked.map(|_| ProgramEnd::Value)))
}

fn manifest_json(manifest: &Manifest) -> Value {
    let tool_use = |tool_use: &ToolUse| {
        json!({
            "tool": tool_use.tool,
            "args": tool_use.args,
            "complete": tool_use.complete,
            "at_most": tool_use.at_most,
        })
    };
    let uses: Vec<Value> = manifest.uses.iter().map(tool_use).collect();
    json!({"ok": true, "tools": manifest.tools(), "max_calls": manifest.max_calls(), "uses": uses})
}

/// The tools in one line, then one line per place that uses one.
fn manifest_text(manifest: &Manifest) -> String {
    let mut lines = vec![match (manifest.tools().as_slice(), manifest.max_calls()) {
        ([], _) => "ok, calls no tools".to_owned(),
        (tools, Some(1)) => format!("ok, may call {} once", tools.join(", ")),
        (tools, Some(most)) => format!("ok, may call {}, at most {most} times in all", tools.join(", ")),
        (tools, None) => format!("ok, may call {}", tools.join(", ")),
    }];
    for tool_use in &manifest.uses {
        let args = match &tool_use.args {
            Some(args) if tool_use.complete => format!(" {}", Value::Object(args.clone())),
            Some(args) if !args.is_empty() => format!(" {} and more", Value::Object(args.clone())),
            _ => String::new(),
        };
        let often = if tool_use.at_most == Some(1) { "once" } else { "any number of times" };
        lines.push(format!("  {}{args}, {often}", tool_use.tool));
    }
    lines.join("\n")
}

fn print_text(machine: &Machine, ran: &Ran, name: &str, redactor: &Redactor) -> io::Result<()> {
    let mut out = terminal::stdout();
    for line in redactor.redact_lines(machine.prints().to_vec()) {
        writeln!(out, "{line}")?;
    }
    let value = || redactor.redact_string(machine.value());
    match &ran.result {
        Ok(ProgramEnd::Value | ProgramEnd::Return) => writeln!(out, "{}", value())?,
        Ok(ProgramEnd::Fail) => errln!("failed: {}", value()),
        Err(error) => {
            errln!("{}", redactor.redact_string(error_text(error, machine.source(), name)));
        }
    }
    out.flush()
}

fn error_text(error: &Error, source: &str, name: &str) -> String {
    terminal::error_text(error, source, name, terminal::colours(&terminal::stderr()))
}

/// Prints the answer, and says how the program ended: one whose value has no JSON has failed.
fn print_json(
    machine: &mut Machine,
    ran: &Ran,
    args: &EvalArgs,
    account: &Account,
    redactor: &Redactor,
) -> (Outcome, io::Result<()>) {
    let mut answer = report::answer(machine, ran, args.tools.is_some());
    let ended = match (&ran.result, answer.get("ok")) {
        (Ok(_), Some(Value::Bool(false))) => Outcome::Failed,
        (result, _) => report::outcome(result),
    };
    if args.upstreams.upstreams_config.is_some() {
        let returned = Returned {
            result_bytes: ran.result.as_ref().map_or(0, |_| machine.value().len()),
            prints_bytes: machine.prints().iter().map(String::len).sum(),
        };
        answer.insert("upstream_calls".to_owned(), account.upstream_calls());
        answer.extend(account.metrics(returned).map(|metrics| ("ptc_metrics".to_owned(), metrics)));
    }
    if args.stats {
        answer.insert(
            "stats".to_owned(),
            json!({
                "fuel": machine.fuel_used(),
                "bytes": machine.live_bytes(),
                "ms": ran.elapsed.as_secs_f64() * 1e3,
                "tool_calls": machine.tool_calls(),
            }),
        );
    }
    if let Some(prints) = answer.get_mut("prints") {
        *prints = redactor.redact_lines(machine.prints().to_vec()).into();
    }
    redactor.redact_map(&mut answer);
    let mut out = terminal::stdout();
    let written = writeln!(out, "{}", Value::Object(answer)).and_then(|()| out.flush());
    (ended, written)
}

/// What a program used, in one line.
pub fn stats_text(machine: &mut Machine, ran: &Ran) -> String {
    format!(
        "fuel {}, live bytes {}, time {:.3?}, tool calls {}",
        machine.fuel_used(),
        machine.live_bytes(),
        ran.elapsed,
        machine.tool_calls()
    )
}

/// Names calls that may have changed something and of which nobody knows whether they were made: a program may not say so.
fn tell_open(account: &Account) {
    for call in account.calls.iter().filter(|call| call.may_have_changed() && call.is_open()) {
        let why = call.error.as_deref().unwrap_or("it was not answered");
        errln!(
            "ptc: nobody knows whether {} was called: {}; look there before you run the program again",
            plain(&format!("{}/{}", call.server, call.tool)),
            plain(why)
        );
    }
}

/// What a program used of upstreams, in one line.
pub fn upstream_text(account: &Account) -> String {
    let failed = account.calls.iter().filter(|call| call.status == Status::Error).count();
    let bytes: usize = account.calls.iter().filter_map(|call| call.result_bytes).sum();
    format!("upstream calls {}, failed {failed}, result bytes {bytes}", account.calls.len())
}

/// A reader that has seen enough (`ptc eval … | head`) is no failure.
pub fn ignore_closed_pipe(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write the answer"),
    }
}
