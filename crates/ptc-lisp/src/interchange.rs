//! Values to and from JSON: as text, which is read straight into values, and as `serde_json`, the form in
//! which hosts hold data that they look at themselves.
//!
//! Objects from outside get keyword keys, since that is how programs read them; reading by string
//! finds them too. On the way out keywords become strings, sets become arrays, dates become text.

use std::collections::VecDeque;

use serde_json::{Number, Value as Json};

use crate::decimal::{Decimal, Rounding};
use crate::error::{Error, ErrorKind};
use crate::exact::Exact;
use crate::heap::Heap;
use crate::interrupt::Interrupt;
use crate::json::{self, ALLOCATION, FIELD, OBJECT, ReadOptions, SameKey};
use crate::names::Names;
use crate::value::equal::same_key;
use crate::value::extent::ELEMENT;
use crate::value::print::{Looks, Printer, Style};
use crate::value::walk::{EntryStep, Parts, Place, TooDeep, Visitor, WalkStep, walk};
use crate::value::{CellKind, Layout, MAX_DEPTH, Map, Shared, Value, ledger};

/// How keys of objects are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// As keywords.
    Keywords,
    /// As keywords, and those with a slash as strings: `name` would give only what stands behind the slash.
    Names,
    /// As strings.
    Strings,
}

/// JSON text as a value; of two members with the same key the last one counts. It must fit the memory that
/// is left.
pub fn from_json_text(heap: &mut Heap, text: &str, keys: Keys) -> Result<Value, Error> {
    let options = ReadOptions { keys, room: heap.room(), interrupt: &heap.interrupt };
    let (value, bytes) = json::read(text, &options, &mut heap.names).map_err(|fault| fault.error(text))?;
    heap.allocated(bytes);
    Ok(value)
}

/// JSON as a value. It must fit the memory that is left.
pub fn from_json(heap: &mut Heap, json: &Json, keys: Keys) -> Result<Value, Error> {
    Converter { heap, keys, layouts: VecDeque::new(), unasked: 0 }.value(json, 0)
}

/// How many of the latest layouts are tried for the next object.
const LAYOUTS: usize = 8;

/// Bytes of text that a part of a tree stands for.
const NODE: usize = 8;

struct Converter<'h> {
    heap: &'h mut Heap,
    keys: Keys,
    /// Keys of the latest objects, for those that have the same.
    layouts: VecDeque<Shared<Layout>>,
    /// Bytes read since the host was asked.
    unasked: usize,
}

impl Converter<'_> {
    fn value(&mut self, json: &Json, depth: u16) -> Result<Value, Error> {
        if depth >= MAX_DEPTH {
            return Err(Error::new(ErrorKind::NestingTooDeep, "the data nests too deeply"));
        }
        self.unasked += NODE + json.as_str().map_or(0, str::len);
        if self.unasked >= Interrupt::STRETCH {
            self.unasked = 0;
            self.heap.interrupt.check()?;
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
            Keys::Names if text.contains('/') => Value::str(text),
            Keys::Keywords | Keys::Names => self.heap.keyword(text),
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

/// How large JSON may be that is made of a value.
#[derive(Clone, Copy, Debug)]
pub struct JsonRoom {
    /// Bytes of its text, in which an element counts [`ELEMENT`] at least.
    pub text: usize,
    /// Bytes that it takes in memory: many times as many for small maps.
    pub tree: usize,
}

impl JsonRoom {
    /// The same for arguments of calls, of which text and tree were measured before the program came to wait.
    pub(crate) fn for_arguments(self) -> JsonRoom {
        JsonRoom { tree: usize::MAX, ..self }
    }
}

/// A value as JSON that has room. What JSON cannot say (functions, infinities) becomes text.
pub fn to_json(value: &Value, names: &Names, room: JsonRoom) -> Result<Json, Unfit> {
    to_json_counted(value, names, room).map(|(json, _)| json)
}

/// The same for hosts: keywords that programs wrote as keys have underscores.
pub fn to_json_spelt(value: &Value, names: &Names, room: JsonRoom) -> Result<Json, Unfit> {
    made(value, names, room, true).map(|(json, _)| json)
}

/// The same as [`to_json`], with about how many bytes it takes.
pub(crate) fn to_json_counted(value: &Value, names: &Names, room: JsonRoom) -> Result<(Json, usize), Unfit> {
    made(value, names, room, false)
}

fn made(value: &Value, names: &Names, room: JsonRoom, spelt: bool) -> Result<(Json, usize), Unfit> {
    let (looks, done, path) = (Looks::default(), Json::Null, String::new());
    let JsonRoom { text, tree } = room;
    let mut maker = Maker { names, room: text, tree, looks, parts: 0, done, path, spelt };
    match walk(value, &mut maker) {
        Err(Unfit::SameKey { keys, .. }) => return Err(Unfit::SameKey { path: maker.path, keys }),
        done => done?,
    }
    // A part counted as text until here.
    let more = maker.parts * size_of::<Json>().saturating_sub(ELEMENT);
    Ok((maker.done, text - maker.room + more))
}

/// Why a value was not made into JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It would be larger than allowed.
    TooLarge,
    /// It nests too deeply, or holds itself.
    TooDeep(TooDeep),
    /// Two keys of a map are one in JSON.
    SameKey {
        /// The way to the map, `[0].key`.
        path: String,
        /// The keys.
        keys: SameKey,
    },
}

impl Unfit {
    /// The error; `what` names the value.
    pub fn error(&self, what: &str) -> Error {
        match self {
            Unfit::TooLarge => Error::new(ErrorKind::OutputExceeded, format!("{what} is too large for JSON")),
            Unfit::TooDeep(found) => found.error(what),
            Unfit::SameKey { path, keys } => {
                Error::new(ErrorKind::Type, format!("{what} is no JSON: it has {keys}{}", place(path)))
                    .hint(SameKey::HINT)
            }
        }
    }
}

/// A path in a message; nothing for the outermost value.
fn place(path: &str) -> String {
    let path = path.strip_prefix('.').unwrap_or(path);
    if path.is_empty() { String::new() } else { format!(" (at {path})") }
}

struct Maker<'a> {
    names: &'a Names,
    /// Bytes that are left of the text, and of the tree.
    room: usize,
    tree: usize,
    looks: Looks,
    /// How many parts it has, keys among them.
    parts: usize,
    /// What was made last.
    done: Json,
    /// The way to the value at which the walk ended.
    path: String,
    /// Whether keywords that programs wrote as keys have underscores.
    spelt: bool,
}

/// A collection of which parts are still to come.
enum PartialCollection {
    Array(Vec<Json>),
    /// Its fields, and the key of the one that comes.
    Object(serde_json::Map<String, Json>, String),
}

impl Maker<'_> {
    fn take(&mut self, bytes: usize) -> Result<(), Unfit> {
        self.room = self.room.checked_sub(bytes).ok_or(Unfit::TooLarge)?;
        Ok(())
    }

    fn take_tree(&mut self, bytes: usize) -> Result<(), Unfit> {
        self.tree = self.tree.checked_sub(bytes).ok_or(Unfit::TooLarge)?;
        Ok(())
    }

    fn copy(&mut self, text: &str) -> Result<String, Unfit> {
        self.take(text.len())?;
        self.take_tree(text.len() + ALLOCATION)?;
        Ok(text.to_owned())
    }

    /// The text of a value that JSON has no form for.
    fn text(&mut self, value: &Value) -> Result<String, Unfit> {
        let mut printer = Printer::new(self.names, Style::Readable, self.room);
        printer.swap_looks(&mut self.looks);
        let done = printer.value(value);
        printer.swap_looks(&mut self.looks);
        done.map_err(|_| Unfit::TooLarge)?;
        let text = printer.finish();
        self.take(text.len())?;
        self.take_tree(text.len() + ALLOCATION)?;
        Ok(text)
    }

    fn scalar(&mut self, value: &Value) -> Result<Json, Unfit> {
        Ok(match value {
            Value::Nil | Value::Unbound => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(int) => Json::from(*int),
            Value::Big(big) => match (value.as_i64(), u64::try_from(&**big)) {
                (Some(int), _) => Json::from(int),
                (None, Ok(int)) => Json::from(int),
                _ => Json::String(self.text(value)?),
            },
            Value::Decimal(decimal) => match decimal_number(decimal) {
                Some(number) => Json::Number(number),
                None => {
                    let text = self.text(value)?;
                    Json::String(text.trim_end_matches('M').to_owned())
                }
            },
            Value::Float(float) => match Number::from_f64(*float) {
                Some(number) => Json::Number(number),
                None => Json::String(self.text(value)?),
            },
            Value::Str(text) => Json::String(self.copy(text.as_str())?),
            Value::Kw(name) | Value::Sym(name) | Value::Type(name) | Value::Tool(name) => {
                Json::String(self.copy(self.names.text(*name))?)
            }
            Value::Time(time) => Json::String(self.copy(&time.json_text())?),
            _ => Json::String(self.text(value)?),
        })
    }
}

impl Visitor for Maker<'_> {
    type Mark = PartialCollection;
    type Stop = Unfit;

    const LEVELS: u16 = MAX_DEPTH;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<PartialCollection>, Unfit> {
        let Some(parts) = Parts::of(value) else {
            self.done = self.scalar(value)?;
            return Ok(WalkStep::Done);
        };
        self.take(2)?;
        let same = if self.spelt { SameKey::of_spelt } else { SameKey::of };
        if let Some(keys) = value.is_map().then(|| same(value, self.names, self.room)).flatten() {
            return Err(Unfit::SameKey { path: String::new(), keys });
        }
        // A range may say that it has more than anybody can hold.
        let count = parts.count().unwrap_or(0).min(self.room / ELEMENT);
        let made = match value.is_map() {
            true => {
                self.take_tree(OBJECT)?;
                let fields = serde_json::Map::with_capacity(count.min(self.tree / FIELD));
                PartialCollection::Object(fields, String::new())
            }
            false => {
                self.take_tree(ALLOCATION)?;
                PartialCollection::Array(Vec::with_capacity(count.min(self.tree / size_of::<Json>())))
            }
        };
        Ok(WalkStep::Into(parts, made))
    }

    fn item(&mut self, _: &mut PartialCollection, _: usize) -> Result<(), Unfit> {
        self.parts += 1;
        self.take_tree(size_of::<Json>())?;
        self.take(ELEMENT)
    }

    fn entry(&mut self, made: &mut PartialCollection, _: usize, key: &Value) -> Result<EntryStep, Unfit> {
        self.parts += 2;
        self.take_tree(FIELD)?;
        self.take(2 * ELEMENT)?;
        let named = if self.spelt { json::keys::spelt } else { json::keys::text };
        let text = match named(key, self.names) {
            Some(text) => self.copy(&text)?,
            None => self.text(key)?,
        };
        if let PartialCollection::Object(_, next) = made {
            *next = text;
        }
        Ok(EntryStep::Value)
    }

    fn after(&mut self, made: &mut PartialCollection) -> Result<(), Unfit> {
        let done = std::mem::take(&mut self.done);
        match made {
            PartialCollection::Array(items) => items.push(done),
            PartialCollection::Object(fields, next) => {
                fields.insert(std::mem::take(next), done);
            }
        }
        Ok(())
    }

    /// Only an array, of which nobody can say what is in it until it is looked at, still has such a part.
    fn unrealised(&mut self, made: &mut PartialCollection, _: usize) -> Result<(), Unfit> {
        self.done = Json::String("...".to_owned());
        self.after(made)
    }

    fn leave(&mut self, made: PartialCollection) -> Result<(), Unfit> {
        self.done = match made {
            PartialCollection::Array(items) => Json::Array(items),
            PartialCollection::Object(fields, ..) => Json::Object(fields),
        };
        Ok(())
    }

    fn too_deep(&mut self, _: PartialCollection, place: Place<'_>) -> Result<(), Unfit> {
        Err(Unfit::TooDeep(place.too_deep(self.names)))
    }

    fn stopped(&mut self, place: Place<'_>) {
        self.path = place.path(self.names);
    }
}

/// Where a value has no JSON form of its own and [`to_json`] would write text instead: functions, atoms, infinities,
/// and maps with keys that are one in JSON. The path from the outermost value, `[0].key`; empty for
/// itself.
pub fn without_json(value: &Value, names: &Names) -> Option<String> {
    let mut search = JsonSearch { names, path: String::new(), parts: 0, texts: false };
    match walk(value, &mut search).err()? {
        WithoutJson::Value(_) => Some(search.path),
        WithoutJson::SameKey(keys) => Some(format!("{}: {keys}", search.path)),
    }
}

/// Refuses a value that has a number, a function or a cell in it for which JSON has no form: its text would be taken for data.
/// `what` names the value.
pub(crate) fn sayable(value: &Value, names: &Names, kind: ErrorKind, what: &str) -> Result<(), Error> {
    let mut search = JsonSearch { names, path: String::new(), parts: 0, texts: true };
    let Err(WithoutJson::Value(Some(odd))) = walk(value, &mut search) else { return Ok(()) };
    let (shown, hint) = match odd {
        Value::Float(float) if float.is_nan() => ("##NaN", NO_NUMBER),
        Value::Float(float) if float > 0.0 => ("##Inf", NO_NUMBER),
        Value::Float(_) => ("##-Inf", NO_NUMBER),
        Value::Cell(cell) => of_cell(cell.kind),
        _ => ("a function", "call it and give what it returns"),
    };
    let message = format!("{what} is no JSON: JSON cannot hold {shown}{}", place(&search.path));
    Err(Error::new(kind, message).hint(hint))
}

/// What a cell is called, and what to give in place of it.
fn of_cell(kind: CellKind) -> (&'static str, &'static str) {
    /// The hint for what `deref` takes.
    const VALUE: &str = "give what it holds: @x";
    /// The hint for the rest.
    const TEXT: &str = "give its text: (str x)";
    match kind {
        CellKind::Atom => ("an atom", VALUE),
        CellKind::Volatile => ("a volatile", VALUE),
        CellKind::Delay => ("a delay", VALUE),
        CellKind::Promise => ("a promise", VALUE),
        CellKind::Builder => ("a StringBuilder", TEXT),
        CellKind::Matcher => ("a matcher", "give what it finds: (re-find x)"),
        CellKind::Transient => ("a transient", "give what becomes of it: (persistent! x)"),
        CellKind::Array => ("an array", "give its items: (vec x)"),
        CellKind::Format => ("a DecimalFormat", "give what it writes: (.format x number)"),
    }
}

/// What to do about an infinity or what is no number.
const NO_NUMBER: &str = "give nil or another number for it, or its text: (str x)";

fn is_function(value: &Value) -> bool {
    matches!(value, Value::Fn(_) | Value::Builtin(_) | Value::Tool(_))
}

/// A decimal or ratio as a number of JSON, which is an integer of 64 bits or a float: nothing if a float has not its digits up to
/// the eighth place, or is whole where it is not. An average has as many places as its precision allows, and is a number all the
/// same.
fn decimal_number(exact: &Exact) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    const PLACES: i64 = 8;
    let Some(decimal) = exact.decimal() else {
        return Number::from_f64(exact.to_f64());
    };
    if decimal.scale() <= 0
        && let Some(int) = decimal.to_int().ok().and_then(|int| i64::try_from(int).ok())
    {
        return Some(Number::from(int));
    }
    let nearest = || {
        let float = Some(decimal.to_f64()).filter(|float| float.abs() < EXACT && float.fract() != 0.0)?;
        let rounded = |decimal: &Decimal| decimal.rescaled(PLACES, Rounding::HalfEven).ok();
        (rounded(decimal)? == rounded(&Decimal::of_float(float)?)?).then_some(float)
    };
    decimal.as_f64().or_else(nearest).and_then(Number::from_f64)
}

/// Parts that [`without_json`] looks at. The largest result that leaves a machine has fewer.
const MOST_SEARCHED: u64 = 1 << 24;

struct JsonSearch<'a> {
    names: &'a Names,
    path: String,
    /// Parts that were looked at.
    parts: u64,
    /// Whether the texts of exceptions, regexes and the like do for them.
    texts: bool,
}

/// What has no JSON form.
enum WithoutJson {
    /// A value; nothing if there is too much to look at, or it nests too deeply.
    Value(Option<Value>),
    SameKey(SameKey),
}

impl Visitor for JsonSearch<'_> {
    type Mark = ();
    type Stop = WithoutJson;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<()>, WithoutJson> {
        self.parts += 1;
        if self.parts > MOST_SEARCHED || !ledger::lets_look(self.parts) {
            return Err(WithoutJson::Value(None));
        }
        if let Some(keys) =
            value.is_map().then(|| SameKey::of(value, self.names, MOST_SEARCHED as usize)).flatten()
        {
            return Err(WithoutJson::SameKey(keys));
        }
        let has_form = match value {
            Value::Float(float) => float.is_finite(),
            // A number that JSON values cannot hold is text with all its digits.
            Value::Big(_) | Value::Decimal(_) => true,
            Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Str(_) => true,
            Value::Kw(_) | Value::Sym(_) | Value::Time(_) => true,
            _ => match Parts::of(value) {
                Some(parts) => return Ok(WalkStep::Into(parts, ())),
                None => self.texts && !is_function(value) && !matches!(value, Value::Cell(_)),
            },
        };
        if has_form { Ok(WalkStep::Done) } else { Err(WithoutJson::Value(Some(value.clone()))) }
    }

    fn entry(&mut self, (): &mut (), _: usize, key: &Value) -> Result<EntryStep, WithoutJson> {
        // The text of a key that is data says what it is; that of a function does not.
        let has_text = json::keys::text(key, self.names).is_some();
        Ok(if has_text { EntryStep::Value } else { EntryStep::Both })
    }

    fn leave(&mut self, (): ()) -> Result<(), WithoutJson> {
        Ok(())
    }

    fn too_deep(&mut self, (): (), place: Place<'_>) -> Result<(), WithoutJson> {
        self.stopped(place);
        Err(WithoutJson::Value(None))
    }

    fn stopped(&mut self, place: Place<'_>) {
        self.path = place.path(self.names);
    }
}
