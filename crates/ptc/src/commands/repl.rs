//! `ptc repl`: programs typed at a terminal, one after the other, in one session.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;
use ptc_host::{Bounds, Cancel, Ran, Tools, drive};
use ptc_lisp::machine::{Machine, Signal};
use ptc_lisp::reader::is_incomplete;
use ptc_upstream::Account;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{ColorMode, CompletionType, Config, Editor};

use super::eval::{Common, ignore_closed_pipe, stats_text, upstream_text};
use super::{complete, eval};
use crate::attached::{self, Upstreams};
use crate::exit::Outcome;
use crate::{terminal, values};

/// Type programs and see their values; definitions stay.
///
/// A form may span several lines. *1, *2 and *3 are the last values. Tab completes names, Ctrl-C stops
/// the program that runs, Ctrl-D leaves. Lines typed before come back with the arrow keys, also in
/// later sessions.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An input, read as data/NAME; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input)]
    data: Vec<values::Input>,

    /// Canned tools that programs may call, as for `ptc eval`
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,

    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    upstreams: attached::UpstreamArgs,
}

const PROMPT: &str = "ptc> ";

const HELP: &str = "\
:doc NAME   what a function does
:defs       your definitions
:stats      what the last program used
:reset      forget all definitions
:quit       leave (or Ctrl-D)
Anything else is a program. *1 *2 *3 are the last values.";

/// Runs the command.
pub fn run(mut args: Args) -> anyhow::Result<Outcome> {
    let lent = args.common.lend()?.cloned();
    if let Some(prelude) = lent.filter(|_| args.common.show_prompt_inventory) {
        return super::prelude::show_inventory(&prelude);
    }
    let mut session = Session::new(args)?;
    let mut lines = Lines::open(session.interrupt.clone())?;
    if lines.is_terminal() {
        session.say(&format!("ptc {}, :help for help", env!("CARGO_PKG_VERSION")))?;
    }
    loop {
        lines.learn(&session);
        let Some(text) = lines.next()? else { break };
        match session.obey(&text) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => break,
            Err(error) => return Err(error).context("cannot write"),
        }
    }
    ignore_closed_pipe(io::stdout().flush())?;
    Ok(Outcome::Done)
}

/// What is kept from one program to the next.
pub struct Session {
    args: Args,
    tools: Tools,
    /// The machine with all definitions.
    pub machine: Machine,
    last: Option<Ran>,
    upstreams: Option<Upstreams>,
    account: Account,
    interrupt: Cancel,
    coloured: bool,
}

impl Session {
    fn new(args: Args) -> anyhow::Result<Session> {
        let tools = eval::tools(args.tools.as_deref())?;
        let machine = fresh(&args, &tools)?;
        let coloured = terminal::colours(&io::stdout());
        let upstreams = args.upstreams.start()?;
        let (account, interrupt) = (Account::default(), Cancel::new());
        Ok(Session { args, tools, machine, last: None, upstreams, account, interrupt, coloured })
    }

    /// The names of granted tools.
    pub fn tools(&self) -> Vec<String> {
        self.tools.names().map(str::to_owned).collect()
    }

    /// Does what the person typed; false to leave.
    fn obey(&mut self, text: &str) -> io::Result<bool> {
        let text = text.trim();
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match command {
            "" => {}
            ":quit" | ":exit" | ":q" => return Ok(false),
            ":help" => self.say(HELP)?,
            ":defs" => self.say(&self.machine.definitions().join("\n"))?,
            ":stats" => match &self.last {
                Some(ran) => {
                    let mut stats = stats_text(&mut self.machine, ran);
                    if self.upstreams.is_some() {
                        stats = format!("{stats}\n{}", upstream_text(&self.account));
                    }
                    self.say(&stats)?;
                }
                None => self.say("nothing has run yet")?,
            },
            ":reset" => match fresh(&self.args, &self.tools) {
                Ok(machine) => self.machine = machine,
                Err(error) => self.say(&format!("{error:#}"))?,
            },
            ":doc" => self.say(&complete::doc(rest.trim()))?,
            _ => self.evaluate(text)?,
        }
        Ok(true)
    }

    fn evaluate(&mut self, text: &str) -> io::Result<()> {
        self.interrupt.reset();
        let bounds = Bounds { cancel: Some(self.interrupt.clone()), ..self.args.common.bounds() };
        let run = self.upstreams.as_ref().map(Upstreams::begin);
        let ran = match &run {
            Some(run) => run.drive(&mut self.machine, text, &run.grant(&self.tools), &bounds),
            None => drive(&mut self.machine, text, &self.tools, &bounds),
        };
        self.account = run.map(|run| run.finish()).unwrap_or_default();
        let mut answer: Vec<String> = self.machine.prints().to_vec();
        answer.push(match &ran.result {
            Ok(Signal::Value | Signal::Return) => self.machine.value(),
            Ok(Signal::Fail) => format!("failed: {}", self.machine.value()),
            Err(error) => terminal::error_text(error, self.machine.source(), "repl", self.coloured),
        });
        self.last = Some(ran);
        let answer = answer.join("\n");
        match &self.upstreams {
            Some(upstreams) => self.say(&upstreams.redactor().redact_str(&answer)),
            None => self.say(&answer),
        }
    }

    fn say(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
        out.flush()
    }
}

fn fresh(args: &Args, tools: &Tools) -> anyhow::Result<Machine> {
    let mut machine = args.common.machine()?;
    machine.set_tools(tools.names().map(str::to_owned));
    values::give(&mut machine, &args.data)?;
    Ok(machine)
}

/// Where programs come from: the line editor at a terminal, plain lines otherwise.
enum Lines {
    Terminal { editor: Box<Editor<complete::Names, FileHistory>>, history: Option<PathBuf> },
    Plain,
}

impl Lines {
    fn open(interrupt: Cancel) -> anyhow::Result<Lines> {
        if !io::stdin().is_terminal() {
            return Ok(Lines::Plain);
        }
        ctrlc::set_handler(move || interrupt.cancel()).context("cannot listen for Ctrl-C")?;
        let colours = match terminal::colours(&io::stdout()) {
            true => ColorMode::Enabled,
            false => ColorMode::Disabled,
        };
        let config = Config::builder()
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .auto_add_history(true)
            .color_mode(colours)
            .build();
        let mut editor: Editor<complete::Names, FileHistory> = Editor::with_config(config)?;
        editor.set_helper(Some(complete::Names::default()));
        let history = history_file();
        if let Some(path) = &history {
            // No history yet is how every history begins; without a folder for it there will be none.
            let _ = path.parent().map(fs::create_dir_all);
            let _ = editor.load_history(path);
        }
        Ok(Lines::Terminal { editor: Box::new(editor), history })
    }

    fn is_terminal(&self) -> bool {
        matches!(self, Lines::Terminal { .. })
    }

    /// Tells completion which names there are now.
    fn learn(&mut self, session: &Session) {
        if let Lines::Terminal { editor, .. } = self
            && let Some(names) = editor.helper_mut()
        {
            names.learn(&session.machine.definitions(), &session.tools());
        }
    }

    /// The next whole program; nothing at the end of input.
    fn next(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Lines::Terminal { editor, history } => loop {
                match editor.readline(PROMPT) {
                    Ok(text) => {
                        // At once, so that nothing is lost whatever the program does.
                        let _ = history.as_ref().map(|path| editor.append_history(path));
                        return Ok(Some(text));
                    }
                    Err(ReadlineError::Interrupted) => {}
                    Err(ReadlineError::Eof) => return Ok(None),
                    Err(error) => return Err(error).context("cannot read the terminal"),
                }
            },
            Lines::Plain => plain_program(&mut io::stdin().lock()).context("cannot read standard input"),
        }
    }
}

/// Lines up to the end of a form. What the input ends with is given as it is, to be answered with an
/// error that says what is missing.
fn plain_program(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    while input.read_line(&mut text)? > 0 {
        if !is_incomplete(&text) {
            return Ok(Some(text));
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Where history is kept, if the environment says where such things belong.
fn history_file() -> Option<PathBuf> {
    Some(terminal::state_folder()?.join("history"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_span_lines() {
        let mut input = "(+ 1\n   2) 3\n\"a\nb\"\n(open".as_bytes();
        let mut programs = Vec::new();
        while let Some(text) = plain_program(&mut input).unwrap() {
            programs.push(text);
        }
        assert_eq!(programs, ["(+ 1\n   2) 3\n", "\"a\nb\"\n", "(open"]);
    }
}
