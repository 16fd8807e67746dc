//! Values between Rust and both databases: four kinds, which is all that the tables have.

use bytes::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde_json::Value as Json;

/// What a parameter or a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// What a person can read of it.
    pub fn shown(&self) -> String {
        match self {
            Cell::Null => "(nothing)".to_owned(),
            Cell::Int(number) => number.to_string(),
            Cell::Text(text) => text.clone(),
            Cell::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

/// Parameters of a statement: `cells![id, version]`.
macro_rules! cells {
    ($($value:expr),* $(,)?) => { &[$($crate::cell::Cell::from($value)),*] };
}
pub(crate) use cells;

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Cell::Int(i64::from(value))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl From<&String> for Cell {
    fn from(value: &String) -> Self {
        Cell::Text(value.clone())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

impl From<&[u8]> for Cell {
    fn from(value: &[u8]) -> Self {
        Cell::Bytes(value.to_vec())
    }
}

impl From<Vec<u8>> for Cell {
    fn from(value: Vec<u8>) -> Self {
        Cell::Bytes(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl rusqlite::ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Int(value) => ValueRef::Integer(*value),
            Cell::Text(value) => ValueRef::Text(value.as_bytes()),
            Cell::Bytes(value) => ValueRef::Blob(value),
        }))
    }
}

impl ToSql for Cell {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Int(value) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Cell::Int(value) => value.to_sql_checked(ty, out),
            Cell::Text(value) => value.to_sql_checked(ty, out),
            Cell::Bytes(value) => value.to_sql_checked(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One row of an answer. A column of another kind than asked for is a mistake in this crate or damage; it
/// reads as the message of `Err`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row(pub Vec<Cell>);

impl Row {
    /// A column that holds a number.
    pub fn int(&self, column: usize) -> Result<i64, String> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            other => Err(unexpected("a number", &numbered(column), other)),
        }
    }

    /// A column that holds a number or nothing.
    pub fn maybe_int(&self, column: usize) -> Result<Option<i64>, String> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.int(column).map(Some),
        }
    }

    /// A column that holds text.
    pub fn text(&self, column: usize) -> Result<String, String> {
        match self.0.get(column) {
            Some(Cell::Text(value)) => Ok(value.clone()),
            other => Err(unexpected("text", &numbered(column), other)),
        }
    }

    /// A column that holds text or nothing.
    pub fn maybe_text(&self, column: usize) -> Result<Option<String>, String> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.text(column).map(Some),
        }
    }

    /// A column that holds bytes.
    pub fn bytes(&self, column: usize) -> Result<Vec<u8>, String> {
        match self.0.get(column) {
            Some(Cell::Bytes(value)) => Ok(value.clone()),
            other => Err(unexpected("bytes", &numbered(column), other)),
        }
    }

    /// A column that holds bytes or nothing.
    pub fn maybe_bytes(&self, column: usize) -> Result<Option<Vec<u8>>, String> {
        match self.0.get(column) {
            Some(Cell::Null) => Ok(None),
            _ => self.bytes(column).map(Some),
        }
    }
}

/// Reads a row that may be damaged, by the names of its columns: what cannot be read is nothing meanwhile, and is told at the end.
/// So a row with one value of another kind is still a row of lists.
pub(crate) struct Reading<'r> {
    row: &'r Row,
    /// The columns, as the statement names them, with `, ` between them. Others may follow.
    columns: &'static str,
    wrong: Vec<String>,
}

impl<'r> Reading<'r> {
    /// Of a row with these columns.
    pub fn of(row: &'r Row, columns: &'static str) -> Self {
        Reading { row, columns, wrong: Vec::new() }
    }

    /// A number.
    pub fn int(&mut self, name: &str) -> Option<i64> {
        match self.cell(name) {
            Some(Cell::Int(value)) => Some(*value),
            other => self.expected("a number", name, other),
        }
    }

    /// A number or nothing.
    pub fn maybe_int(&mut self, name: &str) -> Option<i64> {
        self.is_something(name).then(|| self.int(name)).flatten()
    }

    /// Text. Of anything else, what a person can read of it.
    pub fn text(&mut self, name: &str) -> String {
        match self.cell(name) {
            Some(Cell::Text(text)) => text.clone(),
            other => {
                self.expected::<()>("text", name, other);
                other.map(Cell::shown).unwrap_or_default()
            }
        }
    }

    /// Text or nothing.
    pub fn maybe_text(&mut self, name: &str) -> Option<String> {
        self.is_something(name).then(|| self.text(name))
    }

    /// Bytes.
    pub fn bytes(&mut self, name: &str) -> Option<&'r [u8]> {
        match self.cell(name) {
            Some(Cell::Bytes(bytes)) => Some(bytes),
            other => self.expected("bytes", name, other),
        }
    }

    /// Bytes or nothing.
    pub fn maybe_bytes(&mut self, name: &str) -> Option<&'r [u8]> {
        self.is_something(name).then(|| self.bytes(name)).flatten()
    }

    /// JSON, kept as bytes; `called` is how people call it.
    pub fn json(&mut self, name: &str, called: &str) -> Option<Json> {
        let read = serde_json::from_slice(self.bytes(name)?);
        read.map_err(|error| self.tell(format!("{called} cannot be read: it is no JSON: {error}"))).ok()
    }

    /// The same, or nothing.
    pub fn maybe_json(&mut self, name: &str, called: &str) -> Option<Json> {
        self.is_something(name).then(|| self.json(name, called)).flatten()
    }

    /// Tells something else that is wrong with it.
    pub fn tell(&mut self, what: String) {
        self.wrong.push(what);
    }

    /// What is wrong with it, if something is.
    pub fn wrong(self) -> Option<String> {
        (!self.wrong.is_empty()).then(|| self.wrong.join(", and "))
    }

    fn cell(&self, name: &str) -> Option<&'r Cell> {
        let is_it = |column: &str| column.rsplit('.').next() == Some(name);
        self.row.0.get(self.columns.split(", ").position(is_it)?)
    }

    /// Whether there is anything.
    pub fn is_something(&self, name: &str) -> bool {
        self.cell(name) != Some(&Cell::Null)
    }

    fn expected<T>(&mut self, kind: &str, name: &str, found: Option<&Cell>) -> Option<T> {
        self.tell(unexpected(kind, &format!("its column {name}"), found));
        None
    }
}

fn numbered(column: usize) -> String {
    format!("column {}", column + 1)
}

fn unexpected(kind: &str, column: &str, found: Option<&Cell>) -> String {
    let found = match found {
        None => "no column",
        Some(Cell::Null) => "nothing",
        Some(Cell::Int(_)) => "a number",
        Some(Cell::Text(_)) => "text",
        Some(Cell::Bytes(_)) => "bytes",
    };
    format!("{column} holds {found} instead of {kind}")
}
