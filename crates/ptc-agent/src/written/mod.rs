//! Inputs that stay the text they came as. Built of `serde_json`'s values, a table takes about twenty times the bytes of
//! its text, and the machine that counts it holds it once more; so what is long is read where it is needed, a part at a
//! time, and straight into the machine. Each walk goes over a text once, however deep it is: where its long lists and
//! objects end is known from when it came in ([`TextOutline`]).
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
pub(crate) use scan::{Passage, TextOutline, fields, items, text_parts};
use scan::{tally, weight};

/// Bytes of a JSON text from which on it is not built as a whole.
pub(crate) const LONG: usize = 64 << 10;

/// Bytes of the lists and objects that are built of all inputs together.
const BUILT: usize = 4 * LONG;
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

/// Those by name of which no more than the beginning is built.
type Long = BTreeMap<String, LongText>;

/// The text of an input with its outline.
#[derive(Clone, Debug)]
pub(crate) struct LongText {
    text: Arc<str>,
    outline: TextOutline,
}

impl LongText {
    pub fn new(text: Arc<str>) -> LongText {
        LongText { outline: TextOutline::of(&text, LONG), text }
    }

    /// All of it without the blanks around it, as its first character tells what it is.
    pub fn passage(&self) -> Passage<'_> {
        self.outline.passage(&self.text)
    }
}

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
        let mut left = BUILT;
        for (name, text) in fields {
            if let Err(error) = check_strictly(&text) {
                return Err(InputError { name, error });
            }
            let text = LongText::new(text);
            let is_built = fits(text.passage(), left);
            brief.insert(name.clone(), beginning(text.passage(), &mut left));
            match is_built {
                true => drop(long.remove(&name)),
                false => drop(long.insert(name, text)),
            }
        }
        Ok(WrittenInputs { brief: Arc::new(Json::Object(brief)), long: Arc::new(long) })
    }

    /// The fields of the text of an object, in which no object names a key twice, by name; nothing if it is no object.
    pub fn fields(text: &str) -> Result<Option<InputTexts>, serde_json::Error> {
        check_strictly(text)?;
        let is_object = text.trim_ascii_start().starts_with('{');
        let field = |(name, value): (Cow<'_, str>, Passage<'_>)| (name.into_owned(), Arc::from(value.text()));
        Ok(is_object.then(|| fields(Passage::alone(text)).map(field).collect()))
    }

    /// Whether any of them is not built; the others are as well built.
    pub fn is_long(&self) -> bool {
        !self.long.is_empty()
    }

    /// The inputs by name, with no more than the beginning of those that are not built.
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
                Some(long) => all.extend([comma, &name_text.to_string(), ":", &long.text]),
                None => all.extend([comma, &name_text.to_string(), ":", &value.to_string()]),
            }
        }
        all.push('}');
        all
    }

    /// The text of an input, if it is not built.
    pub(crate) fn long(&self, name: &str) -> Option<&str> {
        self.long.get(name).map(|long| long.passage().text())
    }

    /// An input of this name, of which this much is known; whole.
    pub(crate) fn datum<'d>(&'d self, name: &str, brief: &'d Json) -> Datum<'d> {
        self.long.get(name).map_or(Datum::Built(brief), |long| Datum::Written(long.passage()))
    }

    /// Whether the beginning of a long input is not enough to know what a placeholder stands for: sections go through all
    /// of it, and names may stand further behind.
    pub(crate) fn stands_for_less(&self, brief: &Json, place: &Placeholder) -> bool {
        place.section || place.path.split('.').try_fold(brief, keys::lookup).is_none()
    }

    /// Puts the whole of what a placeholder names in the place of its beginning, and nothing of what is around it.
    pub(crate) fn build(&self, brief: &mut Json, place: &Placeholder) {
        let (first, path) = place.path.split_once('.').unwrap_or((&place.path, ""));
        for (name, long) in self.long.iter().filter(|(name, _)| keys::same(name, first)) {
            if let Some(value) = brief.get_mut(name) {
                put(long.passage(), path, value);
            }
        }
    }

    /// What is written down of them beside their beginnings.
    pub(crate) fn parts(&self) -> SavedInputs {
        let texts = self.long.iter().map(|(name, long)| (name.clone(), long.text.clone()));
        SavedInputs(texts.collect())
    }

    /// The inputs that were written down.
    pub(crate) fn of_parts(brief: Arc<Json>, saved: SavedInputs) -> Self {
        let long = saved.0.into_iter().map(|(name, text)| (name, LongText::new(text)));
        WrittenInputs { brief, long: Arc::new(long.collect()) }
    }
}

/// Long inputs as they are written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedInputs(BTreeMap<String, Arc<str>>);

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
    Written(Passage<'d>),
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
            Datum::Written(passage) => match passage.text().bytes().next() {
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
            Datum::Written(passage) => weight(passage.text()),
        }
    }

    /// Its text, if that is too long to be built as a whole.
    pub fn long(self) -> Option<Passage<'d>> {
        match self {
            Datum::Written(passage) if passage.text().len() > LONG => Some(passage),
            _ => None,
        }
    }

    /// The value, built if it was not.
    pub fn json(self) -> Cow<'d, Json> {
        match self {
            Datum::Built(json) => Cow::Borrowed(json),
            Datum::Written(passage) => {
                tally::built(passage.text());
                // Texts that are no JSON are refused where they come in.
                Cow::Owned(serde_json::from_str(passage.text()).unwrap_or_default())
            }
        }
    }
}

/// Whether all of a value is built where so many bytes are left. Scalars take no more room than their texts.
fn fits(passage: Passage<'_>, left: usize) -> bool {
    let is_scalar = !passage.text().starts_with(['[', '{']);
    passage.text().len() <= LONG && (is_scalar || passage.text().len() <= left)
}

/// A value with no more than the beginning of what is long in it, and with no more parts than are left.
fn beginning(passage: Passage<'_>, left: &mut usize) -> Json {
    let datum = Datum::Written(passage);
    match datum.kind() {
        "string" if !fits(passage, *left) => {
            *left = left.saturating_sub(BEGINNING);
            text_parts(passage.text(), BEGINNING).0.into()
        }
        "list" if !fits(passage, *left) => {
            let (mut list, mut room) = (Vec::new(), BEGINNING);
            for item in items(passage) {
                if room == 0 || *left == 0 {
                    break;
                }
                room = room.saturating_sub(item.text().len());
                list.push(beginning(item, left));
            }
            list.into()
        }
        "map" if !fits(passage, *left) => {
            let mut map = Map::new();
            for (name, value) in fields(passage).take(FIELDS) {
                if *left == 0 {
                    break;
                }
                *left = left.saturating_sub(name.len());
                map.insert(name.into_owned(), beginning(value, left));
            }
            Json::Object(map)
        }
        _ => {
            *left = left.saturating_sub(passage.text().len());
            datum.json().into_owned()
        }
    }
}

/// Puts what a path leads to in a text into what is built of that.
fn put(passage: Passage<'_>, path: &str, place: &mut Json) {
    let (name, path) = path.split_once('.').unwrap_or((path, ""));
    match place {
        _ if name.is_empty() => *place = Datum::Written(passage).json().into_owned(),
        Json::Object(built) => {
            if let Some((name, value)) = field(passage, name) {
                put(value, path, built.entry(name.into_owned()).or_insert_with(|| stub(value)));
            }
        }
        _ => {}
    }
}

/// What a path goes on from where nothing is built yet.
fn stub(passage: Passage<'_>) -> Json {
    if passage.text().starts_with('{') { Json::Object(Map::new()) } else { Json::Null }
}

/// The field of this name, in the spelling that [`keys::lookup`] finds.
fn field<'t>(passage: Passage<'t>, name: &str) -> Option<(Cow<'t, str>, Passage<'t>)> {
    let spelt = |other: &str| (other != name, other.contains('-'));
    fields(passage).filter(|(other, _)| keys::same(other, name)).min_by_key(|(other, _)| spelt(other))
}

#[cfg(test)]
mod tests;
