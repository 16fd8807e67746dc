//! What a signature that cannot be read says: where, what, and how to write it instead.

use std::fmt;

/// Longest piece of a source line shown in a message.
const SNIPPET: usize = 76;

/// A signature, type, Malli form or template that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// How to fix it, when there is a likely guess.
    pub hint: Option<String>,
    /// Line of the offending text, from 1.
    pub line: usize,
    /// Column of the offending text in characters, from 1.
    pub column: usize,
    /// The source line (or the part of it around the error) and a caret line below it.
    pub snippet: String,
}

impl ParseError {
    /// An error about `source[start..end]`; the span is clamped to the source.
    pub(crate) fn new(source: &str, start: usize, end: usize, message: impl Into<String>) -> ParseError {
        let start = floor(source, start);
        let before = &source[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let column = source[line_start..start].chars().count();
        let text = source[line_start..].lines().next().unwrap_or("");
        let width = source[start..floor(source, end).max(start)].lines().next().unwrap_or("").chars().count();
        ParseError {
            message: message.into(),
            hint: None,
            line: before.matches('\n').count() + 1,
            column: column + 1,
            snippet: snippet(text, column, width.max(1)),
        }
    }

    /// The same error with advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> ParseError {
        self.hint = Some(hint.into());
        self
    }
}

/// The nearest character boundary at or below `at`.
fn floor(source: &str, at: usize) -> usize {
    (0..=at.min(source.len())).rev().find(|i| source.is_char_boundary(*i)).unwrap_or(0)
}

/// The line cut to a window around the error, with carets below.
fn snippet(line: &str, column: usize, width: usize) -> String {
    let skip = if column < SNIPPET * 2 / 3 { 0 } else { column - SNIPPET / 3 };
    let shown: String =
        line.chars().skip(skip).take(SNIPPET).map(|c| if c == '\t' { ' ' } else { c }).collect();
    let lead = if skip > 0 { "…" } else { "" };
    let tail = if line.chars().count() > skip + SNIPPET { "…" } else { "" };
    let room = SNIPPET.saturating_sub(column - skip).max(1);
    let pad = " ".repeat(column - skip + lead.chars().count());
    format!("  {lead}{shown}{tail}\n  {pad}{}", "^".repeat(width.min(room)))
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}\n{}", self.message, self.line, self.column, self.snippet)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ParseError {}
