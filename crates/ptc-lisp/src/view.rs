//! Views: bounded pictures of values, for whoever shows them to people or models.
//!
//! A view keeps the kinds of Clojure and says how much there is in all, but copies no more than its
//! [`Bounds`] allow, however large the value. Values of the machine and JSON of the host give the same
//! views, so one renderer does for both. With `firewall`, whatever stands under a name that begins with
//! `_` is left out here already: a renderer cannot show what it never had.

use std::borrow::Cow;

use hashbrown::HashMap;
use serde_json::Value as Json;

use crate::decimal::Decimal;
use crate::names::Names;
use crate::seed::Unseeded;
use crate::value::print::{Printer, Style};
use crate::value::written::written;
use crate::value::{Items, Text, Value};

/// How much of a value a view may show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Items of each collection.
    pub items: usize,
    /// Characters of each string.
    pub string_chars: usize,
    /// Levels of nesting; deeper collections show their size only.
    pub depth: usize,
    /// Items from the end of the outermost sequence, for a [`Glimpse`].
    pub tail: usize,
    /// Whether the entries of maps stand, and are chosen, in the order of their keys.
    pub sorted: bool,
    /// Whether what stands under a name that begins with `_` is hidden.
    pub firewall: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { items: 50, string_chars: 1000, depth: 12, tail: 0, sorted: false, firewall: true }
    }
}

/// A bounded picture of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A larger integer, as text.
    Big(String),
    /// A float.
    Float(f64),
    /// An exact decimal, as text.
    Decimal(String),
    /// A string, cut.
    Str {
        /// Its beginning.
        text: String,
        /// How many characters all of it has.
        chars: usize,
    },
    /// A keyword, without its colon.
    Keyword(String),
    /// A symbol.
    Symbol(String),
    /// A date, a time, an amount of time.
    Time {
        /// Its ISO 8601 text.
        text: String,
        /// Its class: `LocalDate`, `Instant`, …
        class: &'static str,
    },
    /// A vector.
    Vector(Part),
    /// A list or other sequence.
    List(Part),
    /// A set.
    Set(Part),
    /// A map or record.
    Map {
        /// The entries shown.
        entries: Vec<(View, View)>,
        /// How many there are.
        total: usize,
    },
    /// What has no literal form: `#fn[x y]`, `#'x`, `#<builtin>`.
    Opaque(String),
    /// What must not be shown.
    Hidden,
}

/// The items of a sequence or set that are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// The first items.
    pub items: Vec<View>,
    /// How many there are.
    pub total: usize,
    /// Whether there may be more than `total`: the rest of a lazy sequence, or a very long list.
    pub open: bool,
}

/// A view with what a handle on a large value says besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Glimpse {
    /// The value.
    pub view: View,
    /// The last items of the outermost sequence that `view` does not show, at most [`Bounds::tail`]; of a
    /// string that `view` does not show whole, its last characters.
    pub tail: Vec<View>,
    /// How many bytes all of it is, written as text.
    pub bytes: usize,
}

/// A view shows no more values than this, all levels together.
const NODES: usize = 4096;

/// Items of a list are counted up to here.
const COUNTED: usize = 10_000;

/// Items and keys that a view looks at without showing them, all levels together.
const LOOKS: usize = 100_000;

/// Keys are sorted up to here; a larger map shows its entries as they come.
const SORTED: usize = 4096;

/// The text of what has no literal form is not longer than this.
const OPAQUE: usize = 120;

/// Bytes of a value are counted up to here.
const BYTES: usize = 16 << 20;

/// Whether a name is one that the firewall hides.
pub fn is_hidden_name(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|local| local.starts_with('_'))
}

impl View {
    /// The view of a value.
    pub fn of(value: &Value, names: &Names, bounds: &Bounds) -> View {
        Painter::new(names, bounds).value(value, 0)
    }

    /// The view of JSON. Keys are keywords, and strings where they have a slash, as programs see them.
    pub fn of_json(json: &Json, bounds: &Bounds) -> View {
        JsonPainter { bounds, left: NODES }.value(json, 0)
    }

    /// Whether everything is shown, hidden values aside.
    pub fn is_whole(&self) -> bool {
        match self {
            View::Str { text, chars } => text.chars().count() == *chars,
            View::Vector(part) | View::List(part) | View::Set(part) => part.is_whole(),
            View::Map { entries, total } => {
                entries.len() == *total
                    && entries.iter().all(|(key, value)| key.is_whole() && value.is_whole())
            }
            _ => true,
        }
    }
}

impl Part {
    fn is_whole(&self) -> bool {
        !self.open && self.items.len() == self.total && self.items.iter().all(View::is_whole)
    }
}

impl Glimpse {
    /// A glimpse of a value.
    pub fn of(value: &Value, names: &Names, bounds: &Bounds) -> Glimpse {
        let view = View::of(value, names, bounds);
        if let (Some(text), false, true) = (value.as_str(), view.is_whole(), bounds.tail > 0) {
            return Glimpse { view, tail: vec![end_of(text)], bytes: written(value, names, BYTES) };
        }
        let tail = last_items(value, shown(&view), bounds.tail)
            .iter()
            .map(|item| Painter::new(names, bounds).value(item, 1))
            .collect();
        Glimpse { view, tail, bytes: written(value, names, BYTES) }
    }

    /// A glimpse of JSON.
    pub fn of_json(json: &Json, bounds: &Bounds) -> Glimpse {
        let view = View::of_json(json, bounds);
        if let (Some(text), false, true) = (json.as_str(), view.is_whole(), bounds.tail > 0) {
            return Glimpse { view, tail: vec![end_of(text)], bytes: json_bytes(json, BYTES) };
        }
        let items = json.as_array().map_or(&[][..], Vec::as_slice);
        let from = items.len().saturating_sub(bounds.tail).max(shown(&view)).min(items.len());
        let tail =
            items[from..].iter().map(|item| JsonPainter { bounds, left: NODES }.value(item, 1)).collect();
        Glimpse { view, tail, bytes: json_bytes(json, BYTES) }
    }

    /// A glimpse that shows nothing.
    pub fn hidden() -> Glimpse {
        Glimpse { view: View::Hidden, tail: Vec::new(), bytes: 0 }
    }
}

/// The last characters of a string.
fn end_of(text: &str) -> View {
    const CHARS: usize = 40;
    let from = text.char_indices().rev().nth(CHARS - 1).map_or(0, |(at, _)| at);
    let text = text[from..].to_owned();
    View::Str { chars: text.chars().count(), text }
}

fn shown(view: &View) -> usize {
    match view {
        View::Vector(part) | View::List(part) => part.items.len(),
        _ => 0,
    }
}

/// The last `count` items of a sequence whose end can be reached without walking, the first `shown` left out.
fn last_items(value: &Value, shown: usize, count: usize) -> Vec<Value> {
    let from = |total: usize| total.saturating_sub(count).max(shown).min(total);
    match value {
        Value::Vec(body) => body.items[from(body.items.len())..].to_vec(),
        Value::Seq(body) => {
            let items = body.as_slice();
            items[from(items.len())..].to_vec()
        }
        _ => Vec::new(),
    }
}

/// How many bytes JSON is as compact text, or a number beyond `limit` as soon as it is more. JSON of hosts
/// nests no deeper than its reader allowed.
pub fn json_bytes(json: &Json, limit: usize) -> usize {
    struct ByteCount(usize, usize);
    impl std::io::Write for ByteCount {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len());
            if self.0 > self.1 { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(bytes.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCount(0, limit);
    // The error only says that the count is complete enough.
    let _ = serde_json::to_writer(&mut count, json);
    count.0
}

/// At most `limit` characters of a text.
fn beginning(text: &str, limit: usize) -> &str {
    let end = text.char_indices().nth(limit).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

struct Painter<'a> {
    names: &'a Names,
    bounds: &'a Bounds,
    /// Values that may still be shown.
    left: usize,
    /// Items and keys that may still be looked at.
    looks: usize,
    /// The characters of long texts by where they are: one may stand in many places.
    counted: HashMap<usize, usize, Unseeded>,
}

impl<'a> Painter<'a> {
    fn new(names: &'a Names, bounds: &'a Bounds) -> Self {
        Painter {
            names,
            bounds,
            left: NODES,
            looks: LOOKS,
            counted: HashMap::with_hasher(Unseeded::with_seed(3)),
        }
    }

    /// How many items of a collection at this depth may be shown.
    fn room(&self, depth: usize) -> usize {
        if depth >= self.bounds.depth { 0 } else { self.bounds.items.min(self.left) }
    }

    /// Recurses as deep as the bounds allow.
    fn value(&mut self, value: &Value, depth: usize) -> View {
        self.left = self.left.saturating_sub(1);
        match value {
            Value::Nil | Value::Unbound => View::Nil,
            Value::Bool(value) => View::Bool(*value),
            Value::Int(int) => View::Int(*int),
            Value::Float(float) => View::Float(*float),
            Value::Big(int) if int.bits() / 4 <= self.bounds.string_chars as u64 => {
                View::Big(int.to_string())
            }
            Value::Decimal(exact) if exact.ratio().is_some() => View::Float(exact.to_f64()),
            Value::Decimal(decimal) if decimal.text_len() <= self.bounds.string_chars => {
                View::Decimal(decimal.to_string())
            }
            Value::Decimal(exact) => {
                let digits = exact.decimal().map_or(0, Decimal::precision);
                View::Opaque(format!("#<decimal of {digits} digits>"))
            }
            Value::Big(int) => View::Opaque(format!("#<integer of about {} digits>", int.bits() * 3 / 10)),
            Value::Str(text) => {
                let shown = beginning(text.as_str(), self.bounds.string_chars).to_owned();
                View::Str { text: shown, chars: self.chars(text) }
            }
            Value::Kw(name) => View::Keyword(self.names.text(*name).to_owned()),
            Value::Sym(name) => View::Symbol(self.names.text(*name).to_owned()),
            Value::Time(time) => View::Time { text: time.to_string(), class: time.type_name() },
            Value::Map(body) => self.map(body.iter(), body.len(), depth),
            Value::Sorted(body) if !body.is_set => {
                let entries = body.entries.iter().map(|(key, value)| (key, value));
                self.map(entries, body.entries.len(), depth)
            }
            Value::Set(_) | Value::Sorted(_) => View::Set(self.part(value, depth)),
            Value::Vec(_) => View::Vector(self.part(value, depth)),
            _ if value.is_array() => View::Vector(self.part(value, depth)),
            Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => {
                View::List(self.part(value, depth))
            }
            _ => View::Opaque(self.opaque(value)),
        }
    }

    fn chars(&mut self, text: &Text) -> usize {
        const LONG: usize = 4096;
        let count = || text.as_str().chars().count();
        match text {
            Text::Long(body) if body.len() > LONG => {
                *self.counted.entry(body.as_ptr().addr()).or_insert_with(count)
            }
            _ => count(),
        }
    }

    /// Looks at `count` items or keys; false if that would be too many.
    fn look(&mut self, count: usize) -> bool {
        let left = self.looks.checked_sub(count);
        self.looks = left.unwrap_or(self.looks);
        left.is_some()
    }

    fn part(&mut self, value: &Value, depth: usize) -> Part {
        let mut items = Items::over(value).unwrap_or(Items::Empty);
        let known = items.len_hint();
        let mut part = Part { total: known.unwrap_or(0), ..Part::default() };
        let room = self.room(depth);
        while known.is_none() || part.items.len() < room {
            match items.next() {
                Ok(Some(item)) if part.items.len() < room => part.items.push(self.value(&item, depth + 1)),
                Ok(Some(_)) => {}
                Ok(None) => return part,
                Err(_) => {
                    part.open = true;
                    return part;
                }
            }
            if known.is_none() {
                part.total += 1;
                if part.total >= COUNTED || !self.look(1) {
                    part.open = true;
                    return part;
                }
            }
        }
        part
    }

    fn map<'v>(
        &mut self,
        entries: impl Iterator<Item = (&'v Value, &'v Value)>,
        total: usize,
        depth: usize,
    ) -> View {
        let room = self.room(depth);
        let chosen: Vec<(&Value, &Value)> =
            if self.bounds.sorted && room > 0 && total <= SORTED && self.look(total) {
                let mut all: Vec<(Cow<'_, str>, (&Value, &Value))> =
                    entries.map(|entry| (self.key_text(entry.0), entry)).collect();
                all.sort_by(|(a, _), (b, _)| a.cmp(b));
                all.into_iter().take(room).map(|(_, entry)| entry).collect()
            } else {
                entries.take(room).collect()
            };
        let entries = chosen.into_iter().map(|(key, value)| self.entry(key, value, depth)).collect();
        View::Map { entries, total }
    }

    fn entry(&mut self, key: &Value, value: &Value, depth: usize) -> (View, View) {
        let shown = self.value(key, depth + 1);
        let name = match key {
            Value::Str(text) => text.as_str(),
            Value::Kw(name) | Value::Sym(name) => self.names.text(*name),
            _ => "",
        };
        let hidden = self.bounds.firewall && is_hidden_name(name);
        (shown, if hidden { View::Hidden } else { self.value(value, depth + 1) })
    }

    fn key_text<'v>(&self, key: &'v Value) -> Cow<'v, str>
    where
        Self: 'v,
    {
        match key {
            Value::Str(text) => Cow::Borrowed(text.as_str()),
            Value::Kw(name) | Value::Sym(name) => Cow::Owned(self.names.text(*name).to_owned()),
            Value::Int(int) => Cow::Owned(format!("{:020}", i128::from(*int) - i128::from(i64::MIN))),
            other => Cow::Owned(self.text(other).unwrap_or_default()),
        }
    }

    /// The text of a value, if it is short.
    fn text(&self, value: &Value) -> Option<String> {
        let mut printer =
            Printer::new(self.names, Style::Readable, OPAQUE).with_fuel(1000).masked(self.bounds.firewall);
        printer.value(value).ok().map(|()| printer.finish())
    }

    fn opaque(&self, value: &Value) -> String {
        match value {
            Value::Fn(body) => {
                let arities = body.unit.unit.funcs.get(body.func as usize).map(|func| &func.arities);
                let params = arities.into_iter().flatten().map(|arity| {
                    let fixed = (1..=arity.params).map(|at| format!("%{at}"));
                    fixed.chain(arity.variadic.then(|| "& %&".to_owned())).collect::<Vec<_>>().join(" ")
                });
                let params: Vec<String> = params.collect();
                match params.as_slice() {
                    [only] => format!("#fn[{only}]"),
                    many => format!("#fn[{}]", many.join(" | ")),
                }
            }
            other => self.text(other).unwrap_or_else(|| format!("#<{}>", other.type_name())),
        }
    }
}

struct JsonPainter<'a> {
    bounds: &'a Bounds,
    left: usize,
}

impl JsonPainter<'_> {
    fn room(&self, depth: usize) -> usize {
        if depth >= self.bounds.depth { 0 } else { self.bounds.items.min(self.left) }
    }

    /// A key as programs see it: a keyword, or a string where it has a slash.
    fn key(&self, key: &str) -> View {
        let shown = beginning(key, self.bounds.string_chars).to_owned();
        match key.contains('/') {
            true => View::Str { text: shown, chars: key.chars().count() },
            false => View::Keyword(shown),
        }
    }

    fn value(&mut self, json: &Json, depth: usize) -> View {
        self.left = self.left.saturating_sub(1);
        match json {
            Json::Null => View::Nil,
            Json::Bool(value) => View::Bool(*value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => View::Int(int),
                (None, Some(int)) => View::Big(int.to_string()),
                _ => View::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => {
                let shown = beginning(text, self.bounds.string_chars).to_owned();
                View::Str { text: shown, chars: text.chars().count() }
            }
            Json::Array(items) => {
                let room = self.room(depth);
                let shown = items.iter().take(room).map(|item| self.value(item, depth + 1)).collect();
                View::Vector(Part { items: shown, total: items.len(), open: false })
            }
            Json::Object(fields) => {
                let room = self.room(depth);
                let mut all: Vec<(&String, &Json)> = if self.bounds.sorted && fields.len() <= SORTED {
                    fields.iter().collect()
                } else {
                    fields.iter().take(room).collect()
                };
                if self.bounds.sorted {
                    all.sort_by_key(|(key, _)| *key);
                }
                all.truncate(room);
                let entries = all.into_iter().map(|(key, value)| {
                    let hidden = self.bounds.firewall && is_hidden_name(key);
                    let value = if hidden { View::Hidden } else { self.value(value, depth + 1) };
                    (self.key(key), value)
                });
                View::Map { entries: entries.collect(), total: fields.len() }
            }
        }
    }
}
