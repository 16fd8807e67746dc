//! Values between Rust and both databases: four kinds, which is all that the tables have.

use bytes::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use rusqlite::types::{ToSqlOutput, ValueRef};

/// What a parameter or a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
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
            other => Err(unexpected("a number", column, other)),
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
            other => Err(unexpected("text", column, other)),
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
            other => Err(unexpected("bytes", column, other)),
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

fn unexpected(kind: &str, column: usize, found: Option<&Cell>) -> String {
    let found = match found {
        None => "no column",
        Some(Cell::Null) => "nothing",
        Some(Cell::Int(_)) => "a number",
        Some(Cell::Text(_)) => "text",
        Some(Cell::Bytes(_)) => "bytes",
    };
    format!("column {} holds {found} instead of {kind}", column + 1)
}
