//! What is kept from one program to the next, and what a program that was typed does.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use ptc_host::{Bounds, Cancel, Ran, Tools, drive};
use ptc_lisp::analyze::Namespaces;
use ptc_lisp::machine::{Machine, ProgramEnd};
use ptc_lisp::reader::{ReadLimits, read_all};
use ptc_lisp::syntax::Form;
use ptc_lisp::{Error, ErrorKind};
use ptc_upstream::Account;
use serde_json::Value as Json;

use super::super::eval::{self, stats_text, upstream_text};
use super::lines::PROMPT;
use super::log::Log;
use super::{ReplArgs, colon, pretty};
use crate::agents::highlight::{self, Paint};
use crate::attached::AttachedUpstreams;
use crate::exit::Outcome;
use crate::terminal::errln;
use crate::{report, terminal, values};

/// Characters of a value that a terminal shows; `:full` shows the rest.
const SHOWN: usize = 8_000;
/// Programs that `:turns` remembers.
const REMEMBERED: usize = 1_000;
/// Bytes of definitions that `:save` remembers.
const SAVED: usize = 4 << 20;
/// What every session has required, as sessions of Clojure have.
const REQUIRED: &str = "(require '[clojure.pprint :refer [pprint]])";

/// A session.
pub struct Session {
    args: ReplArgs,
    /// The tools that are not upstreams.
    pub tools: Tools,
    /// The machine with all definitions.
    pub machine: Machine,
    /// The servers that programs may call.
    pub upstreams: Option<AttachedUpstreams>,
    /// What the programs were and what became of them.
    pub turns: Vec<Turn>,
    /// The last value, whole.
    pub whole: String,
    /// The text of all definitions, in order.
    pub definitions: String,
    /// Names that programs have given to namespaces.
    pub required: Arc<Namespaces>,
    /// What `log/` looks at, if programs have it.
    log: Option<Log>,
    /// Whether every program is followed by what it used.
    pub with_stats: bool,
    interrupt: Cancel,
    /// The last program was refused because what the prelude requires is not there.
    refused: bool,
    /// Somebody answers: mistakes are part of the talk and go where values go.
    talks: bool,
    /// What runs stands just above, behind the prompt, as it was typed.
    just_above: bool,
    coloured: bool,
}

/// A program that was run.
pub struct Turn {
    /// The first line of its text.
    pub program: String,
    /// `ok`, or the kind of the error.
    pub end: String,
    /// What it used.
    pub stats: String,
    /// How long it took.
    pub elapsed: Duration,
}

impl Session {
    /// A session as the command line wants it.
    pub fn new(mut args: ReplArgs) -> anyhow::Result<Session> {
        let mut tools = eval::tools(args.tools.as_deref())?;
        let log = args.log_prelude.then(|| Log::open(args.log_source.as_deref())).transpose()?;
        if let Some(log) = &log {
            tools = log.tools(tools);
            args.common.lend_own(log.prelude()?);
        }
        let required = first_required();
        let machine = fresh(&args, &tools, &required)?;
        let upstreams =
            args.upstreams.start(machine.prelude().map(|prelude| &**prelude), args.common.limits().memory)?;
        let interrupt = Cancel::new();
        let stop = interrupt.clone();
        let listen = ctrlc::set_handler(move || match stop.is_cancelled() {
            // Asked for the second time: what runs is no program.
            true => std::process::exit(Outcome::Cancelled as i32),
            false => stop.cancel(),
        });
        listen.context("cannot listen for Ctrl-C")?;
        Ok(Session {
            with_stats: args.stats,
            args,
            tools,
            machine,
            log,
            upstreams,
            turns: Vec::new(),
            whole: String::new(),
            definitions: String::new(),
            required,
            interrupt,
            refused: false,
            talks: false,
            just_above: false,
            coloured: terminal::colours(&terminal::stdout()),
        })
    }

    /// From now on somebody answers.
    pub fn talks(&mut self) {
        self.talks = true;
    }

    /// Whether Ctrl-C ended the last program.
    pub fn interrupted(&self) -> bool {
        self.interrupt.is_cancelled()
    }

    /// Whether no program runs, because what the prelude requires is not there.
    pub fn refused(&self) -> bool {
        self.refused
    }

    /// Does what the person typed; false to leave.
    pub fn obey(&mut self, text: &str) -> io::Result<bool> {
        let at_the_prompt = !text.starts_with(char::is_whitespace);
        let text = text.trim();
        let command = colon::find(text).filter(|_| !self.is_own(text));
        match (command, colon::misspelt(text)) {
            _ if text.is_empty() => Ok(true),
            (Some((command, rest)), _) => colon::run(command, self, rest),
            (None, Some(close)) => {
                self.say(&format!("there is no such command; did you mean {close}?"))?;
                Ok(true)
            }
            (None, None) => {
                self.just_above = at_the_prompt;
                self.evaluate("repl", text)?;
                self.just_above = false;
                let hint = colon::meant(text).map(|close| format!("; did you mean the command {close}?"));
                self.say(&hint.unwrap_or_default())?;
                Ok(true)
            }
        }
    }

    /// Whether a word that may be a command is a definition of the session.
    fn is_own(&self, text: &str) -> bool {
        let word = text.trim_start_matches('(').trim_end_matches(')');
        self.machine.definitions().iter().any(|name| name == word)
    }

    /// Runs a program and shows what it printed and its value.
    pub fn evaluate(&mut self, name: &str, text: &str) -> io::Result<Outcome> {
        self.run(name, text, true)
    }

    /// Runs a program for what it defines; what it prints is shown.
    pub fn load(&mut self, name: &str, text: &str) -> io::Result<Outcome> {
        self.run(name, text, false)
    }

    fn run(&mut self, name: &str, text: &str, with_value: bool) -> io::Result<Outcome> {
        let (ran, account) = self.drive(text);
        self.refused = matches!(&ran.result, Err(error) if error.kind == ErrorKind::PreludeAttach);
        let outcome = match self.interrupted() {
            true => Outcome::Cancelled,
            false => report::outcome(&ran.result),
        };
        let mut answer = self.machine.prints().to_vec();
        let mut problem = None;
        match &ran.result {
            Ok(ProgramEnd::Value | ProgramEnd::Return) => {
                self.whole = self.covered(&self.machine.value());
                answer.extend(with_value.then(|| self.documentation(text).unwrap_or_else(|| self.shown())));
                self.keep(text);
            }
            Ok(ProgramEnd::Fail) => problem = Some(format!("failed: {}", self.machine.value())),
            Err(error) => {
                let whole = || terminal::error_text(error, self.machine.source(), name, self.coloured);
                problem = Some(self.pointed_out(error, text).unwrap_or_else(whole));
            }
        }
        self.note(text, &ran, &account);
        self.say(&self.covered(&answer.join("\n")))?;
        if let Some(problem) = problem.map(|problem| self.covered(&problem)) {
            match self.talks {
                true => self.say(&problem)?,
                false => errln!("{problem}"),
            }
        }
        if let Some(turn) = self.turns.last().filter(|_| self.with_stats) {
            errln!("{}", turn.stats);
        }
        Ok(outcome)
    }

    /// An error of a program that stands just above on one line: its place is marked right there.
    fn pointed_out(&self, error: &Error, text: &str) -> Option<String> {
        let span = error.span.filter(|_| self.just_above && self.at_terminal())?;
        // A character of the others may take another width than one.
        let shown = text.is_ascii() && !text.contains('\n') && self.machine.source() == text;
        let simple = error.notes.is_empty() && error.repaired.is_none();
        let (start, end) = (span.start as usize, span.end as usize);
        if !shown || !simple || PROMPT.len() + text.len() >= terminal::columns() || end > text.len() {
            return None;
        }
        let place = (PROMPT.len() + start, end.saturating_sub(start).max(1));
        Some(terminal::error_below(error, place, self.coloured))
    }

    /// Keeps what the definitions of a program are and what it required.
    fn keep(&mut self, text: &str) {
        // Most programs do neither.
        if !["(def", "(require", "(use", "(ns"].iter().any(|begin| text.contains(begin)) {
            return;
        }
        self.required = Arc::new(self.required.after(text));
        self.machine.set_required(self.required.clone());
        let forms = read_all(text, &ReadLimits::default()).unwrap_or_default();
        for form in forms.iter().filter(|form| defines(form)) {
            let place = form.span.start as usize..form.span.end as usize;
            let definition = text.get(place).unwrap_or_default();
            if self.definitions.len() + definition.len() < SAVED {
                self.definitions.push_str(definition);
                self.definitions.push_str("\n\n");
            }
        }
    }

    /// What a program that asks for documentation gives, as text.
    fn documentation(&self, text: &str) -> Option<String> {
        if !(self.talks && text.trim_start().starts_with("(doc ")) {
            return None;
        }
        match self.machine.value_json() {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    fn drive(&mut self, text: &str) -> (Ran, Account) {
        self.interrupt.reset();
        let bounds = Bounds { cancel: Some(self.interrupt.clone()), ..self.args.common.bounds() };
        let run = self.upstreams.as_ref().map(AttachedUpstreams::begin);
        let ran = match &run {
            Some(run) => run.drive(&mut self.machine, text, &run.grant(&self.tools), &bounds),
            None => drive(&mut self.machine, text, &self.tools, &bounds),
        };
        (ran, run.map(|run| run.finish()).unwrap_or_default())
    }

    /// Remembers a program and what it used.
    fn note(&mut self, text: &str, ran: &Ran, account: &Account) {
        let mut stats = stats_text(&mut self.machine, ran);
        if self.upstreams.is_some() {
            stats = format!("{stats}\n{}", upstream_text(account));
        }
        let end = match &ran.result {
            Ok(ProgramEnd::Fail) => "failed".to_owned(),
            Ok(_) => "ok".to_owned(),
            Err(error) => error.kind.reason().to_owned(),
        };
        if self.log.is_some() {
            let (text, shown) = (self.covered(text), self.covered(&self.machine.value()));
            let prints: Vec<String> = self.machine.prints().iter().map(|line| self.covered(line)).collect();
            self.log.iter_mut().for_each(|log| log.add(&text, &shown, &prints, ran, account));
        }
        let program = self.covered(text.trim().lines().next().unwrap_or_default());
        self.turns.push(Turn { program, end, stats, elapsed: ran.elapsed });
        if self.turns.len() > REMEMBERED {
            self.turns.remove(0);
        }
    }

    /// Asks the language something for a command: the program leaves no trace in the session. Nothing if it fails.
    pub fn ask(&mut self, program: &str) -> Option<Json> {
        self.machine.set_takes_back(true);
        let (ran, _) = self.drive(program);
        let answer = ran.result.is_ok().then(|| self.machine.value_json());
        self.machine.take_back();
        self.machine.set_takes_back(false);
        answer
    }

    /// Forgets all definitions.
    pub fn reset(&mut self) -> anyhow::Result<()> {
        self.required = first_required();
        self.machine = fresh(&self.args, &self.tools, &self.required)?;
        self.definitions.clear();
        Ok(())
    }

    /// The last value as far as a terminal shows it.
    fn shown(&self) -> String {
        let cut = self.whole.char_indices().nth(SHOWN).map(|(at, _)| at);
        match cut.filter(|_| self.at_terminal()) {
            Some(at) => {
                let more = self.whole[at..].chars().count();
                format!("{}\n… {more} more characters; :full shows all", self.readable(&self.whole[..at]))
            }
            None => self.readable(&self.whole),
        }
    }

    /// A value as people read it: over lines and in colours at a terminal.
    pub fn readable(&self, value: &str) -> String {
        match self.at_terminal() {
            true => {
                let lines = pretty::broken(value, terminal::columns());
                highlight::program(&lines, Paint::for_stream(&terminal::stdout()))
            }
            false => value.to_owned(),
        }
    }

    fn at_terminal(&self) -> bool {
        self.talks && terminal::stdout().is_terminal()
    }

    /// A text without secrets.
    pub fn covered(&self, text: &str) -> String {
        match &self.upstreams {
            Some(upstreams) => upstreams.redactor().redact_str(text).into(),
            None => text.to_owned(),
        }
    }

    /// Shows a text.
    pub fn say(&self, text: &str) -> io::Result<()> {
        let mut out = terminal::stdout();
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
        out.flush()
    }
}

/// What a session begins with.
fn first_required() -> Arc<Namespaces> {
    Arc::new(Namespaces::default().after(REQUIRED))
}

/// Whether a form defines something, or names what the definitions behind it use.
fn defines(form: &Form) -> bool {
    let head = form.as_list().and_then(|items| items.first()).and_then(Form::as_symbol);
    head.is_some_and(|head| head.starts_with("def") || ["require", "use", "ns", "import"].contains(&head))
}

fn fresh(args: &ReplArgs, tools: &Tools, required: &Arc<Namespaces>) -> anyhow::Result<Machine> {
    let mut machine = args.common.machine()?;
    machine.set_required(required.clone());
    tools.grant(&mut machine);
    values::give(&mut machine, &args.data)?;
    Ok(machine)
}
