//! The text of a file with the place of every field: TOML, or JSON if it looks like that. Whoever finds
//! something wrong with a field can point at it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use toml::de::{DeTable, DeValue};

use super::error::{FileError, Place};

/// A file, read.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub path: PathBuf,
    pub text: String,
    /// The fields, in the order of the file.
    pub fields: Map<String, Json>,
    /// Where each key stands, by its path: `tools.stock.command`.
    keys: BTreeMap<String, Range<usize>>,
}

impl Document {
    /// Reads the fields of a text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        let mut document = Document {
            path: path.to_owned(),
            text: text.to_owned(),
            fields: Map::new(),
            keys: BTreeMap::new(),
        };
        let is_json = path.extension().is_some_and(|extension| extension == "json")
            || text.trim_start().starts_with('{');
        let json = if is_json { document.json()? } else { document.toml()? };
        match json {
            Json::Object(fields) => document.fields = fields,
            _ => return Err(document.wrong_at(0..0, "a file of an agent is a table of options")),
        }
        Ok(document)
    }

    fn toml(&mut self) -> Result<Json, FileError> {
        let text = self.text.clone();
        let wrong = |error: toml::de::Error| {
            let message = format!("this is not TOML: {}", error.message().trim().replace('\n', ", "));
            self.wrong_at(error.span().unwrap_or(0..0), message)
        };
        let (table, errors) = DeTable::parse_recoverable(&text);
        // The first in the text is the cause of those behind it.
        let first = errors.into_iter().min_by_key(|error| error.span().map_or(0, |span| span.start));
        first.map_or(Ok(()), |error| Err(wrong(error)))?;
        let json = toml::from_str(&text).map_err(wrong)?;
        note_toml(table.get_ref(), "", &mut self.keys);
        Ok(json)
    }

    fn json(&mut self) -> Result<Json, FileError> {
        let json = serde_json::from_str(&self.text).map_err(|error| {
            let line = self.text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
            let before: usize =
                self.text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
            let at = before + error.column().saturating_sub(1).min(line.len());
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            self.wrong_at(at..at, format!("this is not JSON: {message}"))
        })?;
        // What serde_json has read nests at most 128 levels deep.
        Scan { text: self.text.as_bytes(), at: 0 }.value("", &mut self.keys);
        Ok(json)
    }

    /// Something is wrong with a field, or with the whole file if there is no such field.
    pub fn wrong(&self, field: &str, message: impl Into<String>) -> FileError {
        // A field that is not there is looked for in the table that should have it.
        let mut shown = field;
        while !self.keys.contains_key(shown) {
            match shown.rsplit_once('.') {
                Some((table, _)) => shown = table,
                None => return FileError::new(&self.path, message).field(field),
            }
        }
        let place = self.keys.get(shown).map(|span| Place::of(&self.text, span.clone()));
        FileError { place, ..FileError::new(&self.path, message).field(field) }
    }

    /// Whether there is such a field.
    pub fn has(&self, field: &str) -> bool {
        self.keys.contains_key(field)
    }

    fn wrong_at(&self, span: Range<usize>, message: impl Into<String>) -> FileError {
        FileError { place: Some(Place::of(&self.text, span)), ..FileError::new(&self.path, message) }
    }
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

/// TOML that was parsed is not deeper than the parser allows.
fn note_toml(table: &DeTable<'_>, prefix: &str, keys: &mut BTreeMap<String, Range<usize>>) {
    for (key, value) in table {
        let path = joined(prefix, key.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            note_toml(inner, &path, keys);
        }
        keys.insert(path, key.span());
    }
}

/// Finds the keys of JSON that is known to be right.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scan<'_> {
    fn value(&mut self, path: &str, keys: &mut BTreeMap<String, Range<usize>>) {
        match self.token() {
            b'{' => self.object(path, keys),
            b'[' => {
                self.at += 1;
                while !matches!(self.token(), b']' | 0) {
                    // Nobody is pointed at inside a list.
                    self.value(path, &mut BTreeMap::new());
                    self.comma();
                }
                self.at += 1;
            }
            b'"' => drop(self.string()),
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let rest = &self.text[self.at..];
                self.at += rest.iter().position(ends).unwrap_or(rest.len());
            }
        }
    }

    fn object(&mut self, path: &str, keys: &mut BTreeMap<String, Range<usize>>) {
        self.at += 1;
        while !matches!(self.token(), b'}' | 0) {
            let span = self.string();
            let key: String = serde_json::from_slice(&self.text[span.clone()]).unwrap_or_default();
            self.token();
            self.at += 1;
            let path = joined(path, &key);
            self.value(&path, keys);
            keys.insert(path, span);
            self.comma();
        }
        self.at += 1;
    }

    /// The next byte that is no space; 0 at the end.
    fn token(&mut self) -> u8 {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn comma(&mut self) {
        if self.token() == b',' {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Range<usize> {
        let from = self.at;
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                break;
            }
        }
        self.at = self.at.min(self.text.len());
        from..self.at
    }
}
