//! What begins with a colon and is no program: one table of commands. Help, completion and suggestions come from it.

use std::io;

use ptc_lisp::analyze::{SPECIALS, closest};
use serde_json::{Value as Json, json};

use super::session::Session;
use super::{file_text, names};

/// A command.
pub struct Command {
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
) -> Command {
    Command { name, aliases, takes, about, run }
}

/// All commands, as `:help` lists them.
pub const COMMANDS: &[Command] = &[
    command(":help", &[], "", "this list", help),
    command(":doc", &[], "NAME", "what a function, a tool or an input is", doc),
    command(":find", &[":apropos"], "TEXT", "functions and tools that have to do with it", find_names),
    command(":defs", &[], "", "your definitions", definitions),
    command(":data", &[], "", "the inputs", inputs),
    command(":tools", &[], "", "the tools that programs may call", tools),
    command(":load", &[], "FILE", "run a file, for its definitions", load),
    command(":turns", &[], "", "the programs so far, and how they ended", turns),
    command(":stats", &[], "[on|off]", "what the last program used; `on` shows it each time", stats),
    command(":full", &[], "", "the last value, whole", full),
    command(":reset", &[], "", "forget all definitions", reset),
    command(":quit", &[":exit", ":q"], "", "leave (or Ctrl-D)", |_, _| Ok(false)),
];

/// The command that a text is, with what follows its name. A lone keyword that is no command is a program.
pub fn find(text: &str) -> Option<(&'static Command, &str)> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let named = |command: &&Command| command.name == name || command.aliases.contains(&name);
    COMMANDS.iter().find(named).map(|command| (command, rest.trim()))
}

/// Does what a command says; false to leave.
pub fn run(command: &Command, session: &mut Session, rest: &str) -> io::Result<bool> {
    (command.run)(session, rest)
}

/// What was meant by a keyword that looks like a command.
pub fn meant(text: &str) -> Option<&'static str> {
    let lone = text.starts_with(':') && !text.contains(char::is_whitespace);
    closest(text, COMMANDS.iter().map(|command| command.name)).filter(|_| lone)
}

fn help(session: &mut Session, _: &str) -> io::Result<bool> {
    let line =
        |command: &Command| format!("{:<18}{}", format!("{} {}", command.name, command.takes), command.about);
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
    match session.ask(&format!("(str (describe data/{name}))")) {
        Some(Json::String(shape)) => format!("data/{name}\n  {shape}"),
        _ => format!("data/{name}\n  An input."),
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
        Some(Json::Array(found)) => found.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
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
    let lines: Vec<String> = names.iter().map(|name| format!("data/{name}")).collect();
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
    session.say(&session.whole)?;
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
        for program in [":name", "(f :doc)", ":docs", ""] {
            assert_eq!(name(program), None, "{program}");
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
