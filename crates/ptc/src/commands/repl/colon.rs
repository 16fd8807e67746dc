//! What begins with a colon and is no program: one table of commands. Help, completion and suggestions come from it.

use std::io::{self, Write as _};
use std::path::Path;

use ptc_lisp::analyze::{SPECIALS, closest};
use serde_json::{Value as Json, json};

use super::session::Session;
use super::{file_text, names};

/// A command.
pub struct ColonCommand {
    /// What is typed.
    pub name: &'static str,
    /// Other names.
    aliases: &'static [&'static str],
    /// What it takes.
    takes: &'static str,
    /// What it does.
    about: &'static str,
    run: fn(&mut Session, &str) -> io::Result<bool>,
}

const fn command(
    name: &'static str,
    aliases: &'static [&'static str],
    takes: &'static str,
    about: &'static str,
    run: fn(&mut Session, &str) -> io::Result<bool>,
) -> ColonCommand {
    ColonCommand { name, aliases, takes, about, run }
}

/// All commands, as `:help` lists them.
pub const COMMANDS: &[ColonCommand] = &[
    command(":help", &["help", "(help)", "?"], "", "this list", help),
    command(":doc", &[], "NAME", "what a function, a tool or an input is", doc),
    command(":find", &[":apropos"], "TEXT", "functions and tools that have to do with it", find_names),
    command(":defs", &[], "", "your definitions", definitions),
    command(":data", &[], "", "the inputs, and what they are", inputs),
    command(":tools", &[], "", "the tools that programs may call", tools),
    command(":load", &[], "FILE", "run a file, for its definitions", load),
    command(":save", &[], "FILE", "write your definitions to a file, for :load", save),
    command(":time", &[], PROGRAM, "run a program, and say what it used", time),
    command(":turns", &[], "", "the programs so far, and how they ended", turns),
    command(":stats", &[], "[on|off]", "what the last program used; `on` shows it each time", stats),
    command(":full", &[], "", "the last value, whole", full),
    command(":reset", &[], "", "forget all definitions", reset),
    command(
        ":quit",
        &[":exit", ":q", "exit", "quit", "(exit)", "(quit)"],
        "",
        "leave (or Ctrl-D)",
        |_, _| Ok(false),
    ),
];

/// What a command takes that may span lines.
const PROGRAM: &str = "PROGRAM";

impl ColonCommand {
    /// Whether it takes a program.
    pub fn takes_program(&self) -> bool {
        self.takes == PROGRAM
    }
}

/// The command that a text is, with what follows its name. A lone keyword that is no command is a program.
pub fn find(text: &str) -> Option<(&'static ColonCommand, &str)> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    // Words without a colon are programs if anything stands beside them.
    let alone = rest.trim().is_empty() || name.starts_with(':');
    let named = |command: &&ColonCommand| command.name == name || command.aliases.contains(&name);
    COMMANDS.iter().find(named).filter(|_| alone).map(|command| (command, rest.trim()))
}

/// Does what a command says; false to leave.
pub fn run(command: &ColonCommand, session: &mut Session, rest: &str) -> io::Result<bool> {
    (command.run)(session, rest)
}

/// What was meant by a keyword that looks like a command.
pub fn meant(text: &str) -> Option<&'static str> {
    let lone = text.starts_with(':') && !text.contains(char::is_whitespace);
    closest(text, COMMANDS.iter().map(|command| command.name)).filter(|_| lone)
}

/// The command that was meant by a keyword with something behind it, which is hardly a program: `:docs map`.
pub fn misspelt(text: &str) -> Option<&'static str> {
    let (name, rest) = text.split_once(char::is_whitespace)?;
    if !name.starts_with(':') || rest.contains('\n') {
        return None;
    }
    let names = || COMMANDS.iter().map(|command| command.name);
    let longer = || names().find(|known| name.starts_with(known) || known.starts_with(name));
    closest(name, names()).or_else(|| longer().filter(|_| name.len() > 2))
}

fn help(session: &mut Session, _: &str) -> io::Result<bool> {
    let line = |command: &ColonCommand| {
        format!("{:<18}{}", format!("{} {}", command.name, command.takes), command.about)
    };
    let lines: Vec<String> = COMMANDS.iter().map(line).collect();
    session.say(&format!(
        "{}\nAnything else is a program; it may span lines. *1 *2 *3 are the last values. Tab completes, Ctrl-C stops.",
        lines.join("\n")
    ))?;
    Ok(true)
}

fn doc(session: &mut Session, name: &str) -> io::Result<bool> {
    let text = if name.is_empty() {
        "write :doc NAME, for instance :doc map".to_owned()
    } else if let Some(input) = name.strip_prefix("data/") {
        input_doc(session, input)
    } else if SPECIALS.contains(&name) {
        format!("{name} is a special form; `ptc docs language` shows how it is used")
    } else {
        let found = session.ask(&format!("(doc {})", json!(name)));
        let text = found.as_ref().and_then(Json::as_str).filter(|text| !text.is_empty());
        text.map(str::to_owned).unwrap_or_else(|| unknown(session, name))
    };
    session.say(&session.covered(&text))?;
    Ok(true)
}

/// An input by its shape.
fn input_doc(session: &mut Session, name: &str) -> String {
    if !session.machine.data_names().iter().any(|known| known == name) {
        return format!("there is no input {name}; :data lists them");
    }
    match shape(session, name) {
        Some(shape) => format!("data/{name}\n  {shape}"),
        None => format!("data/{name}\n  An input."),
    }
}

/// What an input is.
fn shape(session: &mut Session, name: &str) -> Option<String> {
    match session.ask(&format!("(str (describe data/{name}))")) {
        Some(Json::String(shape)) => Some(shape),
        _ => None,
    }
}

/// The answer for a name without documentation.
fn unknown(session: &Session, name: &str) -> String {
    if let Some(tool) =
        name.strip_prefix("tool/").filter(|tool| session.tools.names().any(|own| own == *tool))
    {
        return format!("tool/{tool}\n  A canned tool: (tool/{tool} {{…}})");
    }
    let known = names::all(session);
    match closest(name, known.iter().map(String::as_str)) {
        Some(close) => format!("nothing is called {name}; did you mean {close}?"),
        None => format!("nothing is called {name}; :find TEXT looks for names"),
    }
}

fn find_names(session: &mut Session, text: &str) -> io::Result<bool> {
    if text.is_empty() {
        session.say("write :find TEXT, for instance :find join")?;
        return Ok(true);
    }
    let found = session.ask(&format!("(apropos {} {{:limit 30}})", json!(text)));
    let lines: Vec<String> = match found {
        Some(Json::Array(found)) => {
            // Whether something is in the language or elsewhere, its name says.
            let found = found.iter().filter_map(Json::as_str);
            found.map(|line| line.strip_prefix("local: ").unwrap_or(line).to_owned()).collect()
        }
        _ => Vec::new(),
    };
    match lines.is_empty() {
        true => session.say(&format!("nothing has to do with {text}"))?,
        false => session.say(&session.covered(&lines.join("\n")))?,
    }
    Ok(true)
}

fn definitions(session: &mut Session, _: &str) -> io::Result<bool> {
    session.say(&session.machine.definitions().join("\n"))?;
    Ok(true)
}

fn inputs(session: &mut Session, _: &str) -> io::Result<bool> {
    let names = session.machine.data_names();
    let line = |name: &String| match shape(session, name) {
        Some(shape) => format!("data/{name}  {shape}"),
        None => format!("data/{name}"),
    };
    let lines: Vec<String> = names.iter().map(line).collect();
    session.say(if lines.is_empty() { "no inputs; give some with --data NAME=JSON" } else { "" })?;
    session.say(&lines.join("\n"))?;
    Ok(true)
}

fn tools(session: &mut Session, _: &str) -> io::Result<bool> {
    let mut lines: Vec<String> = session.tools.names().map(|name| format!("tool/{name}")).collect();
    if let Some(upstreams) = &session.upstreams {
        for server in upstreams.catalog(true).servers() {
            lines.extend(server.listed().iter().map(|tool| format!("{}/{}", server.name, tool.entry())));
            if server.tools.is_none() {
                lines.push(format!("{} cannot be listed", server.name));
            }
        }
    }
    if lines.is_empty() {
        lines.push("no tools; give some with --tools FILE or --upstreams-config FILE".to_owned());
    }
    session.say(&session.covered(&lines.join("\n")))?;
    Ok(true)
}

fn load(session: &mut Session, path: &str) -> io::Result<bool> {
    match file_text(path) {
        _ if path.is_empty() => session.say("write :load FILE")?,
        Ok(text) => drop(session.load(path, &text)?),
        Err(message) => session.say(&message)?,
    }
    Ok(true)
}

fn save(session: &mut Session, path: &str) -> io::Result<bool> {
    let message = match session.definitions.trim_end() {
        _ if path.is_empty() => "write :save FILE".to_owned(),
        "" => "there are no definitions yet".to_owned(),
        text => match write_new(path, text) {
            Ok(()) => format!("your definitions are in {path}; `ptc repl -l {path}` begins with them"),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                format!("{path} is there already; name another file")
            }
            Err(error) => format!("cannot write {path}: {error}"),
        },
    };
    session.say(&message)?;
    Ok(true)
}

fn write_new(path: &str, text: &str) -> io::Result<()> {
    let mut file = ptc_system::project::create_new(Path::new(path))?;
    writeln!(file, "{text}")
}

fn time(session: &mut Session, program: &str) -> io::Result<bool> {
    if program.is_empty() {
        session.say("write :time PROGRAM, for instance :time (reduce + (range 1000))")?;
        return Ok(true);
    }
    session.evaluate("repl", program)?;
    if let Some(turn) = session.turns.last().filter(|_| !session.with_stats) {
        session.say(&turn.stats)?;
    }
    Ok(true)
}

fn turns(session: &mut Session, _: &str) -> io::Result<bool> {
    let line = |(at, turn): (usize, &super::session::Turn)| {
        let program: String = turn.program.chars().take(60).collect();
        format!("{:>4}  {:<16} {:>9.3?}  {program}", at + 1, turn.end, turn.elapsed)
    };
    let lines: Vec<String> = session.turns.iter().enumerate().map(line).collect();
    session.say(if lines.is_empty() { "nothing has run yet" } else { "" })?;
    session.say(&lines.join("\n"))?;
    Ok(true)
}

fn stats(session: &mut Session, wanted: &str) -> io::Result<bool> {
    match wanted {
        "on" | "off" => {
            session.with_stats = wanted == "on";
            session.say(&format!(
                "what programs use is {}",
                if wanted == "on" { "shown" } else { "not shown" }
            ))?;
        }
        "" => match session.turns.last() {
            Some(turn) => session.say(&turn.stats)?,
            None => session.say("nothing has run yet")?,
        },
        _ => session.say("write :stats, :stats on or :stats off")?,
    }
    Ok(true)
}

fn full(session: &mut Session, _: &str) -> io::Result<bool> {
    session.say(&session.readable(&session.whole))?;
    Ok(true)
}

fn reset(session: &mut Session, _: &str) -> io::Result<bool> {
    if let Err(error) = session.reset() {
        session.say(&format!("{error:#}"))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_table_is_a_command() {
        let name = |text: &str| find(text).map(|(command, rest)| (command.name, rest.to_owned()));
        assert_eq!(name(":doc  map "), Some((":doc", "map".to_owned())));
        assert_eq!(name(":q"), Some((":quit", String::new())));
        for word in ["exit", "quit", "(exit)", "(quit)"] {
            assert_eq!(name(word), Some((":quit", String::new())), "{word}");
        }
        assert_eq!(name("help"), Some((":help", String::new())));
        for program in [":name", "(f :doc)", ":docs", "", "quit 1", "help me"] {
            assert_eq!(name(program), None, "{program}");
        }
    }

    #[test]
    fn a_keyword_with_something_behind_it_is_pointed_at_a_command() {
        for (text, expected) in [
            (":docs map", Some(":doc")),
            (":hlep me", Some(":help")),
            (":name x", None),
            (":a 1", None),
            (":docs", None),
            ("docs map", None),
        ] {
            assert_eq!(misspelt(text), expected, "{text}");
        }
    }

    #[test]
    fn a_keyword_that_looks_like_a_command_is_pointed_at_it() {
        for (text, expected) in
            [(":hlep", Some(":help")), (":quti", Some(":quit")), (":name", None), ("hlep", None)]
        {
            assert_eq!(meant(text), expected, "{text}");
        }
    }
}
