//! The values a program works on: 16 bytes each, immutable to the program, shared by count.
//!
//! Counts are not atomic: a machine owns all values it can reach, but for frozen ones that it shares with other
//! machines of its thread, and stays on the thread where it was made. A value with one owner is updated in place, which is what makes `(reduce assoc {} …)` as
//! cheap as a mutable map. Every container knows its [`Shape`]: how deep it nests and whether an
//! unrealised lazy sequence may hide inside. The machine refuses values deeper than [`MAX_DEPTH`], but
//! cells and lazy sequences do not count what they hold, so values are walked by [`walk`] only.

pub mod counted;
pub mod equal;
pub mod extent;
pub mod hash;
pub mod items;
pub mod layout;
pub mod laziness;
pub mod ledger;
pub mod map;
pub mod meter;
pub mod order;
pub mod prefetch;
pub mod print;
pub mod room;
pub mod seq;
pub mod stamp;
pub mod table;
pub mod text;
pub mod time;
pub mod walk;
pub mod written;

use std::cell::RefCell;
use std::rc::Rc;

use num_bigint::BigInt;

use crate::builtins::BuiltinId;
use crate::code::{Linked, SimpleArity};
use crate::decimal::Decimal;
use crate::error::Error;
use crate::exact::Exact;
use crate::names::Name;
pub use counted::Counted;
pub use items::Items;
pub use layout::{Layout, Layouts};
pub use map::Map;
pub use meter::Meter;
pub use seq::{ConsObj, LazyObj, LazyState, RangeObj, SeqObj};
pub use stamp::Stamp;
pub use table::Table;
pub use text::Text;
pub use time::Time;

/// The pointer that shares values inside one machine.
pub type Shared<T> = Rc<T>;

/// Values nested deeper than this are refused by the machine.
pub const MAX_DEPTH: u16 = 1000;

/// A value of the language. Plain ones (see [`Value::is_plain`]) come first: that makes it one comparison.
#[derive(Debug, Default)]
pub enum Value {
    /// No value at all: a dead table entry, a register not yet written, an undefined global. A
    /// program never sees it.
    Unbound,
    /// `nil`
    #[default]
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// A float.
    Float(f64),
    /// A keyword.
    Kw(Name),
    /// A symbol.
    Sym(Name),
    /// A function of the core library.
    Builtin(BuiltinId),
    /// A tool in value position.
    Tool(Name),
    /// The name of a definition, as `def` returns it.
    Var(Name),
    /// A class or record type in value position.
    Type(Name),
    /// A string; characters are one-character strings.
    Str(Text),
    /// An integer that does not fit 64 bits.
    Big(Shared<BigInt>),
    /// An exact decimal or a ratio.
    Decimal(Shared<Exact>),
    /// A vector.
    Vec(Shared<VecObj>),
    /// A list or realised sequence: a tail of a shared array.
    Seq(Shared<SeqObj>),
    /// An element before another sequence.
    Cons(Shared<ConsObj>),
    /// A sequence of integers at equal distance.
    Range(Shared<RangeObj>),
    /// A lazy sequence.
    Lazy(Shared<LazyObj>),
    /// A map in insertion order, or a record.
    Map(Map),
    /// A set in insertion order.
    Set(Shared<SetObj>),
    /// A sorted map or sorted set.
    Sorted(Shared<SortedObj>),
    /// A compiled function with what it captured.
    Fn(Shared<Closure>),
    /// An atom, volatile, delay, promise, transient or array.
    Cell(Shared<CellObj>),
    /// A compiled regular expression.
    Regex(Shared<RegexObj>),
    /// An exception.
    Ex(Shared<ExObj>),
    /// A date, time, duration or other value of the Java-shaped surface.
    Time(Shared<Time>),
    /// `(reduced x)`
    Reduced(Shared<Value>),
    /// A position in a sequence being walked by the core library. A program never sees it.
    Iter(Shared<RefCell<Items>>),
}

const _: () = assert!(size_of::<Value>() == 16);

impl Clone for Value {
    /// Most values that are copied are plain, so those are copied in place.
    #[inline]
    #[expect(unsafe_code, reason = "a call and a jump for every copied number made walks a fifth slower")]
    fn clone(&self) -> Value {
        if self.is_plain() {
            // SAFETY: it points to a value that owns nothing, so there may be any number of it.
            return unsafe { std::ptr::read(self) };
        }
        self.shared()
    }
}

/// Metadata of a collection or function: nothing, or a map.
pub type Meta = Option<Shared<Value>>;

/// What a container knows of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Levels of nesting; a scalar has none.
    pub depth: u16,
    /// Whether an unrealised lazy sequence may be inside.
    pub lazy: bool,
}

impl Shape {
    /// A container with nothing in it.
    pub const EMPTY: Shape = Shape { depth: 1, lazy: false };
    /// A scalar.
    pub const FLAT: Shape = Shape { depth: 0, lazy: false };

    /// Takes note of a child.
    #[inline]
    pub fn include(&mut self, child: &Value) {
        if child.is_scalar() {
            return;
        }
        self.merge(child.shape());
    }

    /// Whether a container of this shape has the same one with another child.
    #[inline(always)]
    pub fn has(self, child: &Value) -> bool {
        match child {
            Value::Map(map) => self.covers(map.shape()),
            child if child.is_scalar() => true,
            child => self.covers(child.shape()),
        }
    }

    /// Whether a container of this shape has the same one with a child of that one.
    #[inline(always)]
    pub fn covers(self, child: Shape) -> bool {
        child.depth < self.depth && (self.lazy || !child.lazy)
    }

    fn merge(&mut self, child: Shape) {
        self.depth = self.depth.max(child.depth.saturating_add(1));
        self.lazy |= child.lazy;
    }

    /// The shape of a container of `children`, all of which come from a container with this shape. Looking
    /// at every child again is only worth it where too much would add up: when it nests deeply.
    pub fn for_some<'a>(self, children: impl IntoIterator<Item = &'a Value>) -> Shape {
        const SHALLOW: u16 = 16;
        if self.depth <= SHALLOW && !self.lazy { self } else { Shape::of(children) }
    }

    /// The shape of a container of `children`.
    pub fn of<'a>(children: impl IntoIterator<Item = &'a Value>) -> Shape {
        let mut shape = Shape::EMPTY;
        children.into_iter().for_each(|child| shape.include(child));
        shape
    }
}

/// The body of a vector.
#[derive(Clone, Debug)]
pub struct VecObj {
    /// The elements.
    pub items: Vec<Value>,
    /// Whether it is a map entry, which `map-entry?` tells apart.
    pub entry: bool,
    /// See [`Shape`].
    pub shape: Shape,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

impl Drop for VecObj {
    /// Long vectors of plain values, as walks over numbers make them, go at once.
    #[expect(unsafe_code, reason = "a call for each number cost a pipeline over them a sixth of its time")]
    fn drop(&mut self) {
        const LONG: usize = 8;
        if self.items.len() >= LONG && self.items.iter().all(Value::is_plain) {
            // SAFETY: no item owns anything, and nobody sees the vector again.
            unsafe { self.items.set_len(0) };
        } else if self.items.len() >= LONG && matches!(self.items[0], Value::Map(_)) {
            // One owner less for each row, and rows lie anywhere.
            for at in 0..self.items.len() {
                self.items.get(at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
                self.items[at] = Value::Nil;
            }
        }
    }
}

/// The body of a set.
#[derive(Clone, Debug)]
pub struct SetObj {
    /// Members in insertion order.
    pub table: Table<()>,
    /// See [`Shape`].
    pub shape: Shape,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

/// How a sorted collection orders its keys.
#[derive(Clone, Debug)]
pub enum Ordering {
    /// By `compare`.
    Natural,
    /// By `compare`, backwards (`>` and its like).
    Reverse,
    /// By a function of the program; natives leave such a collection to the core library.
    By(Value),
}

/// The body of a sorted map or set: entries kept in order.
#[derive(Clone, Debug)]
pub struct SortedObj {
    /// Keys with values; a set's values are nil.
    pub entries: Vec<(Value, Value)>,
    /// The order of keys.
    pub ordering: Ordering,
    /// Whether it is a set.
    pub is_set: bool,
    /// See [`Shape`].
    pub shape: Shape,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

/// A function of a program: its code and what it captured.
#[derive(Clone, Debug)]
pub struct Closure {
    /// The unit that holds the code.
    pub unit: Shared<Linked>,
    /// The function's index in the unit.
    pub func: u32,
    /// How to call it quickly.
    pub simple: SimpleArity,
    /// Captured values, shared with the other functions of a `letfn`.
    pub captures: Shared<[Value]>,
    /// See [`Shape`].
    pub shape: Shape,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

impl Closure {
    /// Whether its captures are those of another function of its unit, as they are among siblings.
    pub(crate) fn fits(&self, func: u16) -> bool {
        let other = self.unit.unit.funcs.get(usize::from(func));
        other.is_some_and(|other| usize::from(other.captures) == self.captures.len())
    }
}

/// What a mutable cell is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// `atom`
    Atom,
    /// `volatile!`
    Volatile,
    /// `delay`, whose thunk has not run while `ready` is false.
    Delay,
    /// `promise`
    Promise,
    /// `re-matcher`
    Matcher,
    /// `StringBuilder`, which holds a string.
    Builder,
    /// `transient`: a collection that is changed in place until `persistent!` takes it out.
    Transient,
    /// A Java array: a vector whose items can be set.
    Array,
    /// `DecimalFormat`: a vector of its pattern and its rounding mode.
    Format,
}

/// The body of an atom or of another cell.
#[derive(Debug)]
pub struct CellObj {
    /// What it is for.
    pub kind: CellKind,
    /// Its contents.
    pub state: RefCell<CellState>,
    /// Whose it is.
    pub stamp: Stamp,
}

// A stamp stands where there was nothing before: meters count the same in all builds.
const _: () = assert!(size_of::<CellObj>() == size_of::<RefCell<CellState>>() + 8);
const _: () = assert!(size_of::<ExObj>() == size_of::<Error>() + 2 * size_of::<Value>() + 24);

impl CellObj {
    /// Empties it, which breaks the cycles that go through it. Its watches and its validator may refer to it as
    /// well as its value may.
    pub fn empty(&self) {
        let contents = self.state.try_borrow_mut().map(|mut state| {
            let state = &mut *state;
            let values = [&mut state.value, &mut state.validator, &mut state.watches].map(std::mem::take);
            (values, state.meta.take())
        });
        // Only now: what is dropped may lead back here.
        drop(contents);
    }
}

/// What a mutable cell holds.
#[derive(Clone, Debug)]
pub struct CellState {
    /// The value, or the thunk of a delay that has not run.
    pub value: Value,
    /// False for a delay or promise without a value.
    pub ready: bool,
    /// The validator of an atom, or nil.
    pub validator: Value,
    /// Watches of an atom: a map from key to function, or nil.
    pub watches: Value,
    /// Metadata.
    pub meta: Meta,
}

/// The body of a regular expression.
#[derive(Debug)]
pub struct RegexObj {
    /// The text as written.
    pub source: String,
    /// The compiled form.
    pub matcher: crate::regex::Matcher,
    /// Whose it is.
    pub stamp: Stamp,
}

/// The body of an exception.
#[derive(Clone, Debug)]
pub struct ExObj {
    /// What was raised: kind, message, place.
    pub error: Error,
    /// The data of `ex-info`; nil for errors of the machine.
    pub data: Value,
    /// The cause, or nil.
    pub cause: Value,
    /// The class name that the program gave it (`ExceptionInfo`, `IllegalArgumentException`, …).
    pub class: &'static str,
    /// See [`Shape`].
    pub shape: Shape,
    /// Whose it is.
    pub stamp: Stamp,
}

impl Value {
    /// A copy of a value that is not plain, of which there is one more then.
    #[inline(never)]
    #[expect(unsafe_code, reason = "short texts and rows are copied most")]
    fn shared(&self) -> Value {
        if self.is_short() {
            // SAFETY: as in `clone`.
            return unsafe { std::ptr::read(self) };
        }
        match self {
            Value::Str(text) => Value::Str(text.clone()),
            Value::Big(body) => Value::Big(Rc::clone(body)),
            Value::Decimal(body) => Value::Decimal(Rc::clone(body)),
            Value::Vec(body) => Value::Vec(Rc::clone(body)),
            Value::Seq(body) => Value::Seq(Rc::clone(body)),
            Value::Cons(body) => Value::Cons(Rc::clone(body)),
            Value::Range(body) => Value::Range(Rc::clone(body)),
            Value::Lazy(body) => Value::Lazy(Rc::clone(body)),
            Value::Map(body) => Value::Map(body.clone()),
            Value::Set(body) => Value::Set(Rc::clone(body)),
            Value::Sorted(body) => Value::Sorted(Rc::clone(body)),
            Value::Fn(body) => Value::Fn(Rc::clone(body)),
            Value::Cell(body) => Value::Cell(Rc::clone(body)),
            Value::Regex(body) => Value::Regex(Rc::clone(body)),
            Value::Ex(body) => Value::Ex(Rc::clone(body)),
            Value::Time(body) => Value::Time(Rc::clone(body)),
            Value::Reduced(body) => Value::Reduced(Rc::clone(body)),
            Value::Iter(body) => Value::Iter(Rc::clone(body)),
            Value::Unbound
            | Value::Nil
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Kw(_)
            | Value::Sym(_)
            | Value::Builtin(_)
            | Value::Tool(_)
            | Value::Var(_)
            | Value::Type(_) => Value::Unbound,
        }
    }

    /// A vector.
    pub fn vector(items: Vec<Value>) -> Value {
        let items = room::fitted(items);
        let shape = Shape::of(&items);
        Value::Vec(Rc::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() }))
    }

    /// A vector of items that all come from a container of the shape `source`.
    pub fn vector_from(items: Vec<Value>, source: Shape) -> Value {
        let items = room::fitted(items);
        let shape = source.for_some(&items);
        Value::Vec(Rc::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() }))
    }

    /// A realised sequence of items that all come from a container of the shape `source`.
    pub fn seq_from(items: Vec<Value>, source: Shape) -> Value {
        let items = room::fitted(items);
        let shape = source.for_some(&items);
        let items = Rc::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() });
        SeqObj::tail(items, 0, false)
    }

    /// A map entry: a vector of key and value.
    pub fn entry(key: Value, value: Value) -> Value {
        let items = vec![key, value];
        let shape = Shape::of(&items);
        Value::Vec(Rc::new(VecObj { items, entry: true, shape, meta: None, stamp: Stamp::new() }))
    }

    /// A list.
    pub fn list(items: Vec<Value>) -> Value {
        seq::SeqObj::over(items, true)
    }

    /// A realised sequence (what `map` gives): prints like a list, `seq?` but not `list?`.
    pub fn seq(items: Vec<Value>) -> Value {
        seq::SeqObj::over(items, false)
    }

    /// A map with the keys of a layout, all of them scalars; empty unless there is a value for each.
    #[inline]
    pub fn row(layout: Shared<Layout>, values: impl IntoIterator<Item = Value>) -> Value {
        Value::Map(Map::row(layout, values).unwrap_or_default())
    }

    /// A map of pairs; a later pair wins.
    pub fn map_of(pairs: impl IntoIterator<Item = (Value, Value)>) -> Value {
        Value::Map(pairs.into_iter().collect())
    }

    /// A set in the order of the table.
    pub fn set(table: Table<()>) -> Value {
        let shape = Shape::of(table.keys());
        Value::Set(Rc::new(SetObj { table, shape, meta: None, stamp: Stamp::new() }))
    }

    /// A set of members.
    pub fn set_of(members: impl IntoIterator<Item = Value>) -> Value {
        Value::set(members.into_iter().map(|member| (member, ())).collect())
    }

    /// A sorted map or set of entries that are in order already.
    pub fn sorted(entries: Vec<(Value, Value)>, ordering: Ordering, is_set: bool) -> Value {
        let mut shape = Shape::of(entries.iter().flat_map(|(key, value)| [key, value]));
        if let Ordering::By(function) = &ordering {
            shape.include(function);
        }
        Value::Sorted(Rc::new(SortedObj {
            entries,
            ordering,
            is_set,
            shape,
            meta: None,
            stamp: Stamp::new(),
        }))
    }

    /// A string.
    pub fn str(text: impl AsRef<str>) -> Value {
        Value::Str(Text::new(text.as_ref()))
    }

    /// A string that takes over its buffer.
    pub fn string(text: String) -> Value {
        Value::Str(Text::from_string(text))
    }

    /// An integer, as small as it fits.
    pub fn big(int: BigInt) -> Value {
        match i64::try_from(&int) {
            Ok(small) => Value::Int(small),
            Err(_) => Value::Big(Rc::new(int)),
        }
    }

    /// A big integer of whatever size, as `1N` and `bigint` make it. A result that has a small one among
    /// its operands stays big; all others are as small as they fit.
    pub fn wide(int: BigInt) -> Value {
        Value::Big(Rc::new(int))
    }

    /// An exact decimal or a ratio.
    pub fn decimal(exact: impl Into<Exact>) -> Value {
        Value::Decimal(Rc::new(exact.into()))
    }

    /// The decimal of a value, if it is one.
    pub fn as_decimal(&self) -> Option<&Decimal> {
        match self {
            Value::Decimal(exact) => exact.decimal(),
            _ => None,
        }
    }

    /// The integer of a value, if it fits 64 bits.
    #[inline]
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int(int) => Some(*int),
            Value::Big(big) => i64::try_from(&**big).ok(),
            _ => None,
        }
    }

    /// A date, time or other value of the Java-shaped surface.
    pub fn time(time: Time) -> Value {
        Value::Time(Rc::new(time))
    }

    /// Everything but `nil` and `false` counts as true.
    #[inline]
    pub fn truthy(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// Whether it is a Java array.
    pub fn is_array(&self) -> bool {
        matches!(self, Value::Cell(cell) if cell.kind == CellKind::Array)
    }

    /// Whether it has entries: a map, record or sorted map.
    pub fn is_map(&self) -> bool {
        matches!(self, Value::Map(_)) || matches!(self, Value::Sorted(body) if !body.is_set)
    }

    /// Whether it is `nil`.
    pub fn is_nil(&self) -> bool {
        matches!(self, Value::Nil)
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text.as_str()),
            _ => None,
        }
    }

    /// Whether copying it counts nothing and dropping it frees nothing.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(
            self,
            Value::Unbound
                | Value::Nil
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Kw(_)
                | Value::Sym(_)
                | Value::Builtin(_)
                | Value::Tool(_)
                | Value::Var(_)
                | Value::Type(_)
        )
    }

    /// Whether it is a text that is held in place. Then, too, copying it counts nothing and dropping it frees nothing.
    #[inline]
    pub fn is_short(&self) -> bool {
        matches!(self, Value::Str(Text::Short(_)))
    }

    /// Whether nothing can nest in it.
    #[inline]
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Value::Nil
                | Value::Int(_)
                | Value::Float(_)
                | Value::Str(_)
                | Value::Kw(_)
                | Value::Bool(_)
                | Value::Sym(_)
                | Value::Big(_)
                | Value::Decimal(_)
                | Value::Builtin(_)
        )
    }

    /// How deep it nests and whether a lazy sequence may be inside.
    pub fn shape(&self) -> Shape {
        match self {
            Value::Vec(body) => body.shape,
            Value::Seq(body) => body.items.shape,
            Value::Cons(body) => body.shape,
            Value::Lazy(body) => body.shape(),
            Value::Map(body) => body.shape(),
            Value::Set(body) => body.shape,
            Value::Sorted(body) => body.shape,
            Value::Fn(body) => body.shape,
            Value::Ex(body) => body.shape,
            Value::Reduced(body) => {
                let mut shape = Shape::EMPTY;
                shape.include(body);
                shape
            }
            Value::Range(_) | Value::Cell(_) => Shape::EMPTY,
            _ => Shape::FLAT,
        }
    }

    /// The name of its type as messages use it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Unbound => "unbound",
            Value::Nil => "nil",
            Value::Bool(_) => "boolean",
            Value::Int(_) | Value::Big(_) => "integer",
            Value::Float(_) => "float",
            Value::Decimal(exact) if exact.ratio().is_some() => "ratio",
            Value::Decimal(_) => "decimal",
            Value::Kw(_) => "keyword",
            Value::Sym(_) => "symbol",
            Value::Str(_) => "string",
            Value::Vec(_) => "vector",
            Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => "list",
            Value::Map(body) if body.record().is_some() => "record",
            Value::Map(_) => "map",
            Value::Set(_) => "set",
            Value::Sorted(body) if body.is_set => "sorted set",
            Value::Sorted(_) => "sorted map",
            Value::Fn(_) | Value::Builtin(_) => "function",
            Value::Tool(_) => "tool",
            Value::Cell(cell) => match cell.kind {
                CellKind::Atom => "atom",
                CellKind::Volatile => "volatile",
                CellKind::Delay => "delay",
                CellKind::Promise => "promise",
                CellKind::Matcher => "matcher",
                CellKind::Builder => "StringBuilder",
                CellKind::Transient => "transient",
                CellKind::Array => "array",
                CellKind::Format => "DecimalFormat",
            },
            Value::Var(_) => "var",
            Value::Type(_) => "class",
            Value::Regex(_) => "regex",
            Value::Ex(_) => "exception",
            Value::Time(time) => time.type_name(),
            Value::Reduced(_) => "reduced",
            Value::Iter(_) => "iterator",
        }
    }

    /// The metadata it carries.
    pub fn meta(&self) -> Meta {
        match self {
            Value::Vec(body) => body.meta.clone(),
            Value::Seq(body) => body.meta.clone(),
            Value::Cons(body) => body.meta.clone(),
            Value::Map(body) => body.meta().clone(),
            Value::Set(body) => body.meta.clone(),
            Value::Sorted(body) => body.meta.clone(),
            Value::Fn(body) => body.meta.clone(),
            Value::Cell(body) => body.state.borrow().meta.clone(),
            _ => None,
        }
    }

    /// The same value with other metadata, or `None` if it cannot carry any.
    pub fn with_meta(self, meta: Meta) -> Option<Value> {
        let deepen = |shape: &mut Shape| {
            if let Some(meta) = &meta {
                shape.include(meta);
            }
        };
        Some(match self {
            Value::Vec(mut body) => {
                let inner = Rc::make_mut(&mut body);
                deepen(&mut inner.shape);
                inner.meta = meta;
                Value::Vec(body)
            }
            Value::Seq(mut body) => {
                Rc::make_mut(&mut body).meta = meta;
                Value::Seq(body)
            }
            Value::Cons(body) => {
                let mut copy = body.copy();
                deepen(&mut copy.shape);
                copy.meta = meta;
                Value::Cons(Rc::new(copy))
            }
            Value::Map(mut body) => {
                body.set_meta(meta);
                Value::Map(body)
            }
            Value::Set(mut body) => {
                let inner = Rc::make_mut(&mut body);
                deepen(&mut inner.shape);
                inner.meta = meta;
                Value::Set(body)
            }
            Value::Sorted(mut body) => {
                let inner = Rc::make_mut(&mut body);
                deepen(&mut inner.shape);
                inner.meta = meta;
                Value::Sorted(body)
            }
            Value::Fn(mut body) => {
                let inner = Rc::make_mut(&mut body);
                deepen(&mut inner.shape);
                inner.meta = meta;
                Value::Fn(body)
            }
            _ => return None,
        })
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        i64::try_from(value).map_or_else(|_| Value::big(BigInt::from(value)), Value::Int)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::str(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::string(value)
    }
}
