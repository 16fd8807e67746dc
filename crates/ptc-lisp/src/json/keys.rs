//! Keys of maps as keys of JSON, which are texts: everything that writes JSON names keys in the same way.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::error::{QUOTED, excerpt_of_value};
use crate::names::Names;
use crate::value::Value;
use crate::value::print::{Printer, Style};

/// The text of a key that has one without quotes or brackets; others are written as they print.
pub(crate) fn text<'k>(key: &'k Value, names: &'k Names) -> Option<Cow<'k, str>> {
    Some(match key {
        Value::Str(text) => text.as_str().into(),
        Value::Kw(name) | Value::Sym(name) => names.text(*name).into(),
        Value::Int(int) => int.to_string().into(),
        Value::Decimal(decimal) => decimal.to_string().into(),
        Value::Time(time) => time.json_text().into(),
        _ => return None,
    })
}

/// The same where hosts and tools read it: a keyword that a program wrote as a key has underscores.
pub(crate) fn spelt<'k>(key: &'k Value, names: &'k Names) -> Option<Cow<'k, str>> {
    match key {
        Value::Kw(name) => Some(names.key(*name)),
        _ => text(key, names),
    }
}

/// Two keys of a map that are one key in JSON, as they print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SameKey {
    /// The key that comes first.
    pub first: String,
    /// The other one.
    pub second: String,
}

impl std::fmt::Display for SameKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a map with two keys that are one in JSON, {} and {}", self.first, self.second)
    }
}

impl SameKey {
    /// How to mend it.
    pub const HINT: &str = "rename one of the two keys, or make the keys alike where the map is made";

    /// The first two keys of a map that are one key in JSON. Keys that are longer than `room` altogether are not
    /// compared: nobody can write them either.
    pub(crate) fn of(map: &Value, names: &Names, room: usize) -> Option<SameKey> {
        if are_alike(map) { None } else { SameKey::among(keys(map), names, room, text) }
    }

    /// The same for keys as hosts and tools read them.
    pub(crate) fn of_spelt(map: &Value, names: &Names, room: usize) -> Option<SameKey> {
        let respelt = |key: &Value| matches!(key, Value::Kw(name) if names.is_written(*name));
        match are_alike(map) && !keys(map).any(respelt) {
            true => None,
            false => SameKey::among(keys(map), names, room, spelt),
        }
    }

    /// The first two of some keys that have the same text, which is what they print where `text` has none.
    pub(crate) fn among<'v>(
        keys: impl Iterator<Item = &'v Value>,
        names: &'v Names,
        room: usize,
        text: impl Fn(&'v Value, &'v Names) -> Option<Cow<'v, str>>,
    ) -> Option<SameKey> {
        let mut left = room;
        let mut seen: BTreeMap<Cow<'v, str>, &Value> = BTreeMap::new();
        for key in keys {
            let text = match text(key, names) {
                Some(text) => text,
                None => {
                    let mut printer = Printer::new(names, Style::Readable, left).with_fuel(left as u64);
                    printer.value(key).ok()?;
                    printer.finish().into()
                }
            };
            left = left.checked_sub(text.len())?;
            if let Some(first) = seen.insert(text, key) {
                let (one, other) = (shown(first, names), shown(key, names));
                // A date and its text print alike: then only their types tell them apart.
                let told = |text: String, key: &Value| format!("{text} ({})", key.type_name());
                return Some(match one == other {
                    true => SameKey { first: told(one, first), second: told(other, key) },
                    false => SameKey { first: one, second: other },
                });
            }
        }
        None
    }
}

/// The keys of a map.
pub(crate) fn keys(map: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match map {
        Value::Map(body) => Box::new(body.keys()),
        Value::Sorted(body) => Box::new(body.entries.iter().map(|(key, _)| key)),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether all keys are of one kind whose texts differ if they do.
fn are_alike(map: &Value) -> bool {
    let mut keys = keys(map);
    match keys.next() {
        Some(Value::Kw(_)) => keys.all(|key| matches!(key, Value::Kw(_))),
        Some(Value::Str(_)) => keys.all(|key| matches!(key, Value::Str(_))),
        Some(Value::Int(_)) => keys.all(|key| matches!(key, Value::Int(_))),
        Some(_) => false,
        None => true,
    }
}

/// A key in a message.
fn shown(key: &Value, names: &Names) -> String {
    let mut printer = Printer::new(names, Style::Readable, 2 * QUOTED).with_fuel(1000);
    // What fits is all that is wanted.
    let _ = printer.value(key);
    excerpt_of_value(&printer.finish())
}
