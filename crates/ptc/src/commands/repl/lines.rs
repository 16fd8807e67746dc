//! Where programs come from: the line editor at a terminal, plain lines otherwise.

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use anyhow::Context;
use ptc_lisp::reader::is_incomplete;

use super::names::Names;
use super::session::Session;
use super::{brackets, colon};
use crate::terminal::{self, Editor};

/// What stands before the first line of a program.
pub const PROMPT: &str = "ptc> ";
/// What stands before its other lines. It is as wide, and drawn over spaces that are taken off again.
pub const CONTINUED: &str = "  .. ";

/// A source of programs.
pub enum Lines {
    /// The line editor.
    Terminal(Box<Editor<Names>>),
    /// Standard input.
    Plain,
}

impl Lines {
    /// The line editor if standard input is a terminal.
    pub fn open() -> anyhow::Result<Lines> {
        if !io::stdin().is_terminal() {
            return Ok(Lines::Plain);
        }
        Ok(Lines::Terminal(Box::new(Editor::open(Names::default(), history_file())?)))
    }

    /// Whether somebody types.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Lines::Terminal(_))
    }

    /// Tells completion which names there are now.
    pub fn learn(&mut self, session: &Session) {
        if let Lines::Terminal(editor) = self
            && let Some(names) = editor.assistant()
        {
            names.learn(session);
        }
    }

    /// The next whole program; nothing at the end of input.
    pub fn next(&mut self) -> anyhow::Result<Option<String>> {
        match self {
            Lines::Terminal(editor) => {
                let text = editor.read(PROMPT)?;
                Ok(text.map(|text| brackets::without_margins(&text, PROMPT.len())))
            }
            Lines::Plain => plain_program(&mut io::stdin().lock()).context("cannot read standard input"),
        }
    }
}

/// Lines up to the end of a form. What the input ends with is given as it is, to be answered with an
/// error that says what is missing.
fn plain_program(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut text = String::new();
    while input.read_line(&mut text)? > 0 {
        if is_whole(&text) {
            return Ok(Some(text));
        }
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Whether a text can be obeyed: a command is one line, a program ends where its forms end.
pub fn is_whole(text: &str) -> bool {
    match colon::find(text.trim()) {
        Some((command, rest)) => !command.takes_program() || !is_incomplete(rest),
        None => !is_incomplete(text),
    }
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
        let mut input =
            "(+ 1\n   2) 3\n:doc (\n\"a\nb\"\n[\\( ; )\n#\"]\"]\n:time (+ 1\n2)\n(open".as_bytes();
        let mut programs = Vec::new();
        while let Some(text) = plain_program(&mut input).unwrap() {
            programs.push(text);
        }
        assert_eq!(
            programs,
            ["(+ 1\n   2) 3\n", ":doc (\n", "\"a\nb\"\n", "[\\( ; )\n#\"]\"]\n", ":time (+ 1\n2)\n", "(open"]
        );
        assert_eq!(PROMPT.len(), CONTINUED.len(), "both are as wide");
    }
}
