//! What is wrong with a file: the place, the field, what, and how to put it right.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A place in a text, with the line that stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// How many characters are meant.
    pub width: usize,
    /// The line itself.
    pub text: String,
}

impl Place {
    pub(super) fn of(text: &str, span: Range<usize>) -> Self {
        let mut at = span.start.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[begin..].lines().next().unwrap_or_default();
        let end = span.end.clamp(at, begin + line.len().max(at - begin));
        let width = text.get(at..end).map_or(1, |meant| meant.chars().count()).max(1);
        Place {
            line: text[..begin].matches('\n').count() + 1,
            column: text[begin..at].chars().count() + 1,
            width,
            text: line.to_owned(),
        }
    }
}

/// Why a file is no agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub place: Option<Place>,
    /// The field that is wrong: `tools.stock.command`.
    pub field: Option<String>,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl FileError {
    pub(super) fn new(path: &Path, message: impl Into<String>) -> Self {
        FileError { path: path.to_owned(), place: None, field: None, message: message.into() }
    }

    pub(super) fn field(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        if let Some(field) = &self.field {
            write!(f, ": `{field}`")?;
        }
        write!(f, ": {}", self.message)?;
        let Some(place) = &self.place else { return Ok(()) };
        let number = place.line.to_string();
        let blank = " ".repeat(number.len());
        let indent = " ".repeat(place.column - 1);
        write!(f, "\n {blank} |\n {number} | {}\n {blank} | {indent}{}", place.text, "^".repeat(place.width))
    }
}

impl std::error::Error for FileError {}
