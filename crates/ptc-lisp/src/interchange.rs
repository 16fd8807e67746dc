//! Values to and from JSON: as text, which is read straight into values, and as `serde_json`, the form in
//! which hosts hold data that they look at themselves.
//!
//! Objects from outside get keyword keys, since that is how programs read them; reading by string
//! finds them too. On the way out keywords become strings, sets become arrays, dates become text.

use std::collections::VecDeque;

use serde_json::{Number, Value as Json};

use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::json::{self, Duplicates, ReadOptions};
use crate::names::Names;
use crate::value::equal::same_key;
use crate::value::print::pr_str;
use crate::value::{Items, Layout, MAX_DEPTH, Map, Shared, Value};

/// How keys of objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// As keywords.
    Keywords,
    /// As strings.
    Strings,
}

/// JSON text as a value; of two members with the same key the last one counts. It must fit the memory that
/// is left.
pub fn from_json_text(heap: &mut Heap, text: &str, keys: Keys) -> Result<Value, Error> {
    let options = ReadOptions { keys, duplicates: Duplicates::Last, room: heap.room() };
    let (value, bytes) = json::read(text, &options, &mut heap.names).map_err(|fault| fault.error(text))?;
    heap.allocated(bytes);
    Ok(value)
}

/// JSON as a value. It must fit the memory that is left.
pub fn from_json(heap: &mut Heap, json: &Json, keys: Keys) -> Result<Value, Error> {
    Converter { heap, keys, layouts: VecDeque::new() }.value(json, 0)
}

/// How many of the latest layouts are tried for the next object.
const LAYOUTS: usize = 8;

struct Converter<'h> {
    heap: &'h mut Heap,
    keys: Keys,
    /// Keys of the latest objects, for those that have the same.
    layouts: VecDeque<Shared<Layout>>,
}

impl Converter<'_> {
    fn value(&mut self, json: &Json, depth: u16) -> Result<Value, Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::new(ErrorKind::NestingTooDeep, "the data nests too deeply"));
        }
        Ok(match json {
            Json::Null => Value::Nil,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => number_value(number),
            Json::String(text) => {
                self.heap.take_room(text.len())?;
                Value::str(text)
            }
            Json::Array(items) => {
                self.heap.take_room(64 + items.len() * size_of::<Value>())?;
                let items: Result<Vec<Value>, Error> =
                    items.iter().map(|item| self.value(item, depth + 1)).collect();
                Value::vector(items?)
            }
            Json::Object(fields) => {
                self.heap.take_room(Map::bytes_for(fields.len()))?;
                let keys: Vec<Value> = fields.keys().map(|key| self.key(key)).collect();
                let layout = self.layout(keys);
                let values = fields.values().map(|value| self.value(value, depth + 1));
                Value::Map(Map::try_row(layout, values)?.unwrap_or_default())
            }
        })
    }

    fn key(&mut self, text: &str) -> Value {
        match self.keys {
            Keys::Keywords => self.heap.keyword(text),
            Keys::Strings => Value::str(text),
        }
    }

    fn layout(&mut self, keys: Vec<Value>) -> Shared<Layout> {
        let same = |layout: &&Shared<Layout>| {
            layout.slots() == keys.len() && layout.keys().iter().zip(&keys).all(|(a, b)| same_key(a, b))
        };
        if let Some(layout) = self.layouts.iter().find(same) {
            return layout.clone();
        }
        let layout = Shared::new(Layout::of(keys));
        self.heap.allocated(layout.bytes());
        self.layouts.truncate(LAYOUTS - 1);
        self.layouts.push_front(layout.clone());
        layout
    }
}

fn number_value(number: &Number) -> Value {
    if let Some(int) = number.as_i64() {
        return Value::Int(int);
    }
    if let Some(int) = number.as_u64() {
        return Value::big(int.into());
    }
    Value::Float(number.as_f64().unwrap_or(f64::NAN))
}

/// A value as JSON. What JSON cannot say (functions, infinities) becomes text.
pub fn to_json(value: &Value, names: &Names) -> Json {
    match value {
        Value::Nil | Value::Unbound => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(int) => Json::from(*int),
        Value::Big(big) => match (value.as_i64(), u64::try_from(&**big)) {
            (Some(int), _) => Json::from(int),
            (None, Ok(int)) => Json::from(int),
            _ => text(value, names),
        },
        Value::Float(float) => Number::from_f64(*float).map_or_else(|| text(value, names), Json::Number),
        Value::Str(text) => Json::String(text.as_str().to_owned()),
        Value::Kw(name) | Value::Sym(name) | Value::Type(name) | Value::Tool(name) => {
            Json::String(names.text(*name).to_owned())
        }
        Value::Time(time) => Json::String(time.to_string()),
        Value::Map(body) => object(body.iter(), names),
        Value::Sorted(body) if !body.is_set => object(body.entries.iter().map(|(k, v)| (k, v)), names),
        _ => match Items::over(value) {
            Some(items) => array(items, names),
            None => text(value, names),
        },
    }
}

/// Where a value has no JSON form of its own and [`to_json`] would write text instead: functions, atoms, keys
/// that are no names, numbers beyond JSON. The path from the outermost value, `[0].key`; empty for itself.
pub fn without_json(value: &Value, names: &Names) -> Option<String> {
    match value {
        Value::Float(float) if !float.is_finite() => Some(String::new()),
        Value::Big(big) => (value.as_i64().is_none() && u64::try_from(&**big).is_err()).then(String::new),
        Value::Map(body) => in_entries(body.iter(), names),
        Value::Sorted(body) if !body.is_set => in_entries(body.entries.iter().map(|(k, v)| (k, v)), names),
        Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => None,
        Value::Kw(_) | Value::Sym(_) | Value::Time(_) => None,
        _ => {
            let Some(mut items) = Items::over(value) else { return Some(String::new()) };
            let mut index = 0;
            while let Ok(Some(item)) = items.next() {
                if let Some(path) = without_json(&item, names) {
                    return Some(format!("[{index}]{path}"));
                }
                index += 1;
            }
            None
        }
    }
}

fn in_entries<'v>(
    mut entries: impl Iterator<Item = (&'v Value, &'v Value)>,
    names: &Names,
) -> Option<String> {
    entries.find_map(|(key, value)| {
        let name = match key {
            Value::Str(text) => text.as_str(),
            Value::Kw(name) | Value::Sym(name) => names.text(*name),
            other => return Some(format!(".{}", pr_str(other, names))),
        };
        without_json(value, names).map(|path| format!(".{name}{path}"))
    })
}

fn text(value: &Value, names: &Names) -> Json {
    Json::String(pr_str(value, names))
}

fn array(mut items: Items, names: &Names) -> Json {
    let mut out = Vec::with_capacity(items.len_hint().unwrap_or(0));
    while let Ok(Some(item)) = items.next() {
        out.push(to_json(&item, names));
    }
    Json::Array(out)
}

fn object<'v>(entries: impl Iterator<Item = (&'v Value, &'v Value)>, names: &Names) -> Json {
    let mut out = serde_json::Map::new();
    for (key, value) in entries {
        let key = match key {
            Value::Str(text) => text.as_str().to_owned(),
            Value::Kw(name) | Value::Sym(name) => names.text(*name).to_owned(),
            other => pr_str(other, names),
        };
        out.insert(key, to_json(value, names));
    }
    Json::Object(out)
}
