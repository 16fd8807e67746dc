//! Inputs that stay the text they came as. Built of `serde_json`'s values, a table takes about twenty times the bytes of
//! its text, and the machine that counts it holds it once more; so what is long is read where it is needed, a part at a
//! time, and straight into the machine.
//!
//! | file | what it does |
//! |---|---|
//! | `scan` | the parts of a text, and how long they are |
//! | `check` | holds a text to a type |
//! | `look` | views of a text |

mod check;
mod look;
mod scan;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_lisp::json::check_strictly;
use ptc_signature::{Placeholder, keys};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub(crate) use check::issues;
pub(crate) use look::view;
use scan::weight;
pub(crate) use scan::{fields, items, text_parts};

/// Bytes of a JSON text from which on it is not built as a whole.
pub(crate) const LONG: usize = 64 << 10;

/// Bytes of a list, and characters of a text, that stand for all of it where only its beginning is built.
const BEGINNING: usize = 4_096;
/// Fields of an object there.
const FIELDS: usize = 4_096;

/// The inputs of a run as JSON texts, for inputs that are large. Cheap to clone.
#[derive(Clone, Debug)]
pub struct WrittenInputs {
    brief: Arc<Json>,
    long: Arc<Long>,
}

/// Inputs by name, each as JSON text.
pub type InputTexts = Vec<(String, Arc<str>)>;

/// The long ones by name.
type Long = BTreeMap<String, Arc<str>>;

/// Why inputs are not taken.
#[derive(Debug, thiserror::Error)]
#[error("input `{name}`: {error}")]
pub struct InputError {
    /// Which one.
    pub name: String,
    /// What is wrong with its text.
    pub error: serde_json::Error,
}

impl WrittenInputs {
    /// Inputs by name, each as JSON text in which no object names a key twice; of two of one name the later one counts.
    pub fn new(fields: impl IntoIterator<Item = (String, Arc<str>)>) -> Result<Self, InputError> {
        let (mut brief, mut long) = (Map::new(), Long::new());
        for (name, text) in fields {
            if let Err(error) = check_strictly(&text) {
                return Err(InputError { name, error });
            }
            brief.insert(name.clone(), beginning(&text));
            match text.len() > LONG {
                true => drop(long.insert(name, text)),
                false => drop(long.remove(&name)),
            }
        }
        Ok(WrittenInputs { brief: Arc::new(Json::Object(brief)), long: Arc::new(long) })
    }

    /// The fields of the text of an object, in which no object names a key twice, by name; nothing if it is no object.
    pub fn fields(text: &str) -> Result<Option<InputTexts>, serde_json::Error> {
        check_strictly(text)?;
        let is_object = text.trim_ascii_start().starts_with('{');
        let field = |(name, value): (Cow<'_, str>, &str)| (name.into_owned(), Arc::from(value));
        Ok(is_object.then(|| fields(text).map(field).collect()))
    }

    /// Whether any of them is long; others are as well built.
    pub fn is_long(&self) -> bool {
        !self.long.is_empty()
    }

    /// The inputs by name, with no more than the beginning of long ones.
    pub fn brief(&self) -> &Arc<Json> {
        &self.brief
    }

    /// All of them as the text of one object.
    pub fn text(&self) -> String {
        let mut all = String::from("{");
        for (name, value) in self.brief.as_object().into_iter().flatten() {
            let comma = if all.len() > 1 { "," } else { "" };
            let name_text = Json::from(name.as_str());
            match self.long.get(name) {
                Some(text) => all.extend([comma, &name_text.to_string(), ":", text]),
                None => all.extend([comma, &name_text.to_string(), ":", &value.to_string()]),
            }
        }
        all.push('}');
        all
    }

    /// The text of an input, if it is long; without the blanks around it, as its first character tells what it is.
    pub(crate) fn long(&self, name: &str) -> Option<&str> {
        self.long.get(name).map(|text| text.trim_ascii())
    }

    /// An input of this name, of which this much is known; whole.
    pub(crate) fn datum<'d>(&'d self, name: &str, brief: &'d Json) -> Datum<'d> {
        self.long(name).map_or(Datum::Built(brief), Datum::Written)
    }

    /// Whether the beginning of a long input is not enough to know what a placeholder stands for: sections go through all
    /// of it, and names may stand further behind.
    pub(crate) fn stands_for_less(&self, brief: &Json, place: &Placeholder) -> bool {
        place.section || place.path.split('.').try_fold(brief, keys::lookup).is_none()
    }

    /// Puts the whole of what a placeholder names in the place of its beginning.
    pub(crate) fn build(&self, brief: &mut Json, place: &Placeholder) {
        let first = place.path.split('.').next().unwrap_or_default();
        for (name, text) in self.long.iter().filter(|(name, _)| keys::same(name, first)) {
            if let Some(value) = brief.get_mut(name) {
                *value = Datum::Written(text).json().into_owned();
            }
        }
    }

    /// What is written down of them beside their beginnings.
    pub(crate) fn parts(&self) -> SavedInputs {
        SavedInputs(self.long.clone())
    }

    /// The inputs that were written down.
    pub(crate) fn of_parts(brief: Arc<Json>, saved: SavedInputs) -> Self {
        WrittenInputs { brief, long: saved.0 }
    }
}

/// Long inputs as they are written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedInputs(Arc<Long>);

impl SavedInputs {
    /// Whether all of them are JSON, which bytes of strangers need not be.
    pub fn are_sound(&self) -> bool {
        self.0.values().all(|text| check_strictly(text).is_ok())
    }
}

/// JSON, built or as its text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Datum<'d> {
    /// Built.
    Built(&'d Json),
    /// As text.
    Written(&'d str),
}

impl<'d> Datum<'d> {
    /// What it is, as sketches call it.
    pub fn kind(self) -> &'static str {
        match self {
            Datum::Built(Json::Null) => "nil",
            Datum::Built(Json::Bool(_)) => "bool",
            Datum::Built(Json::Number(_)) => "number",
            Datum::Built(Json::String(_)) => "string",
            Datum::Built(Json::Array(_)) => "list",
            Datum::Built(Json::Object(_)) => "map",
            Datum::Written(text) => match text.bytes().next() {
                Some(b'n') => "nil",
                Some(b't' | b'f') => "bool",
                Some(b'"') => "string",
                Some(b'[') => "list",
                Some(b'{') => "map",
                _ => "number",
            },
        }
    }

    /// How long it is as JSON, without white space.
    pub fn bytes(self) -> u64 {
        match self {
            Datum::Built(json) => crate::cache::json_bytes(json),
            Datum::Written(text) => weight(text),
        }
    }

    /// The value, built if it was not.
    pub fn json(self) -> Cow<'d, Json> {
        match self {
            Datum::Built(json) => Cow::Borrowed(json),
            // Texts that are no JSON are refused where they come in.
            Datum::Written(text) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
        }
    }
}

/// A value with no more than the beginning of what is long in it.
fn beginning(text: &str) -> Json {
    let datum = Datum::Written(text.trim_ascii());
    match datum.kind() {
        _ if text.len() <= LONG => datum.json().into_owned(),
        "string" => text_parts(text, BEGINNING).0.into(),
        "list" => {
            let mut left = BEGINNING;
            let first = items(text).take_while(|item| {
                let is_taken = left > 0;
                left = left.saturating_sub(item.len());
                is_taken
            });
            first.map(beginning).collect()
        }
        "map" => {
            let first = fields(text).take(FIELDS);
            Json::Object(first.map(|(name, value)| (name.into_owned(), beginning(value))).collect())
        }
        _ => datum.json().into_owned(),
    }
}

#[cfg(test)]
mod tests;
