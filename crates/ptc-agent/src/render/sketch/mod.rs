//! Sketches: what data is like, without any of it.
//!
//! A model has to know the columns of a table before it writes a program, and no row of it may reach the model for
//! that. A sketch tells all keys with the types under them, the share of rows that have them, and what the values
//! look like: `string "9999-99-99" (4 distinct)`, `int 0 … 5,000`. Letters and digits of texts are never copied,
//! and the ends of ranges are rounded.
//!
//! | file | what it knows |
//! |---|---|
//! | `column` | what values in the same place have in common |
//! | `record` | the same of maps: their fields |
//! | `rows` | the items and fields of JSON, built or not |
//! | `keys` | which keys are data |
//! | `texts` | the pattern of texts |
//! | `numbers` | ranges and shares in round numbers |

mod column;
mod keys;
mod numbers;
mod record;
mod rows;
mod texts;

use ptc_lisp::view::View;
use serde_json::Value as Json;

use column::{Column, LookBudget};
pub(super) use keys::looks_like_data;
pub use numbers::grouped;
pub(super) use numbers::share;
use record::FIELDS;

use super::FIREWALLED;
use super::clojure::{atom, quoted};
use crate::written::Datum;

/// Texts and names that are shorter than this many bytes may stand for themselves where they are all of a value: they
/// are what somebody set, not a row of anything.
const SHORT: usize = 32;

/// Most bytes of the sketches of all inputs, unless there are very many.
const ALL: usize = 16_384;

/// Most bytes of one sketch. Keys are told before what is known about them, and what does not fit is counted.
const MOST: usize = 4_096;

/// Most bytes of one in the middle of other things.
const BRIEF: usize = 400;

/// What a value is like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sketch {
    /// All of it on one line.
    pub line: String,
    /// The keys of a map, or of the rows of a table, one on each line. Then `line` only says what they are keys of.
    pub keys: Vec<String>,
    /// Bytes of keys of the value that stand in it.
    pub key_bytes: usize,
}

impl Sketch {
    /// The sketch of JSON in at most about so many bytes. Short scalars stand for themselves.
    pub fn of(datum: Datum<'_>, firewall: bool, most: usize) -> Sketch {
        let short = match datum {
            Datum::Built(json) => short_json(json),
            Datum::Written(_) => {
                datum.long().is_none().then(|| datum.json()).and_then(|json| short_json(&json))
            }
        };
        match short {
            Some(line) => Sketch { line, ..Sketch::default() },
            None => Sketch::of_column(&column_of(datum, firewall), most.min(MOST)),
        }
    }

    /// How many bytes each of so many sketches may have.
    pub fn share(count: usize) -> usize {
        (ALL / count.max(1)).max(BRIEF)
    }

    /// The sketch of a view, in brief. The bounds of the view say how much of the value is looked at.
    pub fn of_view(view: &View) -> Sketch {
        match short(view) {
            Some(line) => Sketch { line, ..Sketch::default() },
            None => Sketch::of_column(&column_of_view(view), BRIEF),
        }
    }

    fn of_column(column: &Column, most: usize) -> Sketch {
        let (line, keys) = column.told(most);
        Sketch { line, keys, key_bytes: column.key_bytes() }
    }

    /// All of it on one line.
    pub fn on_a_line(&self) -> String {
        match self.keys.as_slice() {
            [] => self.line.clone(),
            keys => format!("{}: {{{}}}", self.line, keys.join(", ")),
        }
    }
}

/// What a result is like, as JSON Schema tells it: nothing of its values.
pub(crate) struct Schema {
    /// The schema. Types of fields are words, with the share of rows that have them if not all do.
    pub json: Json,
    /// The keys of the result, or of its rows.
    pub keys: Option<Vec<String>>,
    /// Whether fields are left out.
    pub truncated: bool,
    /// Bytes of keys of the result that stand in the schema.
    pub key_bytes: usize,
}

impl Schema {
    /// The schema of a result.
    pub fn of(result: &Json, firewall: bool) -> Schema {
        let column = column_of(Datum::Built(result), firewall);
        let (json, truncated) = column.schema();
        let keys = column.keys().map(|keys| keys.into_iter().take(FIELDS).map(str::to_owned).collect());
        Schema { json, keys, truncated, key_bytes: column.key_bytes() }
    }
}

fn column_of(datum: Datum<'_>, firewall: bool) -> Column {
    let mut column = Column::default();
    column.note(datum, &mut LookBudget::new(firewall), 0);
    column
}

fn column_of_view(view: &View) -> Column {
    let mut column = Column::default();
    column.note_view(view, false, 0);
    column
}

fn short_json(json: &Json) -> Option<String> {
    match json {
        Json::Array(_) | Json::Object(_) => None,
        Json::String(text) => (text.len() < SHORT).then(|| quoted(text)),
        scalar => Some(scalar.to_string()).map(|text| if text == "null" { "nil".to_owned() } else { text }),
    }
    .filter(|text| text.len() < SHORT + 2)
}

fn short(view: &View) -> Option<String> {
    match view {
        View::Vector(_) | View::List(_) | View::Set(_) | View::Map { .. } => None,
        View::Hidden => Some(FIREWALLED.to_owned()),
        View::Opaque(text) => Some(opaque(text)),
        View::Str { text, .. } => (text.len() < SHORT && view.is_whole()).then(|| quoted(text)),
        scalar => Some(atom(scalar)).filter(|text| text.len() < SHORT + 2),
    }
}

/// What a value is that is no data: a function with its parameters, an atom without what it holds.
fn opaque(text: &str) -> String {
    if text.starts_with("#fn[") || text.len() < SHORT {
        return text.to_owned();
    }
    let head = text.split([' ', '"', '{', '[', ':']).next().unwrap_or_default();
    let head = &head[..head.floor_char_boundary(SHORT / 2)];
    if head.starts_with("#<") { format!("{head} …>") } else { format!("{head} …") }
}

#[cfg(test)]
mod tests;
