//! The one way to walk a value.
//!
//! Values share their parts, so a few hundred bytes of memory may be a tree of 2^60 leaves once it is
//! written; and what can be set or realised later (arrays, cells, lazy sequences) may hold itself. So a walk
//! keeps its place on a stack of its own and not on the native one, and goes no deeper than its visitor says
//! ([`DEEPEST`] at most) whatever the parts hang behind. What it does with the parts is up to a [`Visitor`]: it counts, writes text,
//! makes JSON or copies, and ends the walk when it has no room or has taken as many steps as it may.

use std::rc::Rc;

use super::meter::address;
use super::print::{Printer, Style};
use super::{Items, MAX_DEPTH, Map, Shared, SortedObj, Value, VecObj};
use crate::error::{Error, ErrorKind, QUOTED, excerpt};
use crate::names::Names;

/// The levels that walks go into. The machine makes no value that nests deeper than [`MAX_DEPTH`]; arguments
/// of a call and metadata add a few levels.
pub const DEEPEST: u16 = MAX_DEPTH + 50;

/// What a walk does with the values it comes to.
pub trait Visitor {
    /// What it notes of a value while its parts are walked.
    type Mark;
    /// Why it ends a walk.
    type Stop;

    /// The levels that it goes into: [`MAX_DEPTH`] for what leaves the machine.
    const LEVELS: u16 = DEEPEST;

    /// A value: done with it, or to be walked part by part.
    fn enter(&mut self, value: &Value) -> Result<WalkStep<Self::Mark>, Self::Stop>;

    /// Before item number `at` of the value.
    fn item(&mut self, mark: &mut Self::Mark, at: usize) -> Result<(), Self::Stop> {
        let _ = (mark, at);
        Ok(())
    }

    /// Before entry number `at` of the value.
    fn entry(&mut self, mark: &mut Self::Mark, at: usize, key: &Value) -> Result<EntryStep, Self::Stop> {
        let _ = (mark, at, key);
        Ok(EntryStep::Both)
    }

    /// Between a key and its value; whether the value is walked.
    fn between(&mut self, mark: &mut Self::Mark, key: &Value) -> Result<bool, Self::Stop> {
        let _ = (mark, key);
        Ok(true)
    }

    /// After a part of the value: an item, a key, or what stands under a key.
    fn after(&mut self, mark: &mut Self::Mark) -> Result<(), Self::Stop> {
        let _ = mark;
        Ok(())
    }

    /// The rest of the value, from item number `at` on, is a lazy sequence that nobody has realised.
    fn unrealised(&mut self, mark: &mut Self::Mark, at: usize) -> Result<(), Self::Stop> {
        let _ = (mark, at);
        Ok(())
    }

    /// All parts of the value were walked.
    fn leave(&mut self, mark: Self::Mark) -> Result<(), Self::Stop>;

    /// A value lies so deep that its parts are not walked; it has been entered, and is not left.
    fn too_deep(&mut self, mark: Self::Mark, place: Place<'_>) -> Result<(), Self::Stop>;

    /// The visitor ended the walk when it came to this place: at a value, or at a map whose entry it refused.
    fn stopped(&mut self, place: Place<'_>) {
        let _ = place;
    }
}

/// How a walk goes on with a value.
#[derive(Debug)]
pub enum WalkStep<Mark> {
    /// There is no more to it.
    Done,
    /// With its parts.
    Into(Parts, Mark),
}

/// How a walk goes on with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStep {
    /// With the key, then with what stands under it.
    Both,
    /// With what stands under the key.
    Value,
}

/// The parts of a value, and how far a walk has come. It owns what it walks over, because a lazy sequence
/// or an array may change hands while somebody looks.
#[derive(Debug)]
pub struct Parts {
    source: PartSource,
    /// Parts that are done.
    at: usize,
    /// Whether the key of the entry is done.
    half: bool,
    /// The item that a sequence gave last.
    held: Value,
}

#[derive(Debug)]
enum PartSource {
    Slice(Shared<VecObj>, usize),
    Captures(Shared<[Value]>),
    Items(Items),
    Entries(Map, usize),
    Sorted(Shared<SortedObj>),
    Members(Vec<(Value, Value)>),
    Listed(Vec<Value>),
}

/// The next part.
enum NextPart<'p> {
    Item(&'p Value),
    Key(&'p Value),
    Value(&'p Value, &'p Value),
    Unrealised,
    End,
}

impl Parts {
    /// The parts of a collection: items, or entries of a map. Arrays are collections.
    pub fn of(value: &Value) -> Option<Parts> {
        Some(Parts::from(match value {
            Value::Vec(body) => PartSource::Slice(body.clone(), 0),
            Value::Seq(body) if body.is_tail() => PartSource::Slice(body.items.clone(), body.offset),
            Value::Map(body) => PartSource::Entries(body.clone(), 0),
            Value::Sorted(body) if !body.is_set => PartSource::Sorted(body.clone()),
            Value::Seq(_)
            | Value::Cons(_)
            | Value::Range(_)
            | Value::Lazy(_)
            | Value::Set(_)
            | Value::Sorted(_) => PartSource::Items(Items::over(value)?),
            Value::Cell(_) => match Items::over(value)? {
                Items::Slice(body, from) => PartSource::Slice(body, from),
                _ => return None,
            },
            _ => return None,
        }))
    }

    /// What a value that is no collection holds: an atom or another cell its contents, an exception its data and
    /// its cause, a function what it captured.
    pub fn held_by(value: &Value) -> Option<Parts> {
        Some(match value {
            Value::Cell(cell) => Parts::listed(vec![cell.state.borrow().value.clone()]),
            Value::Ex(ex) => Parts::listed(vec![ex.data.clone(), ex.cause.clone()]),
            Value::Reduced(value) => Parts::listed(vec![(**value).clone()]),
            Value::Fn(body) => Parts::from(PartSource::Captures(body.captures.clone())),
            _ => return None,
        })
    }

    /// Some values.
    pub fn listed(values: Vec<Value>) -> Parts {
        Parts::from(PartSource::Listed(values))
    }

    /// Entries in an order that is not the map's.
    pub fn members(members: Vec<(Value, Value)>) -> Parts {
        Parts::from(PartSource::Members(members))
    }

    fn from(source: PartSource) -> Parts {
        Parts { source, at: 0, half: false, held: Value::Nil }
    }

    /// How many parts there are in all, if that is known without walking.
    pub fn count(&self) -> Option<usize> {
        Some(match &self.source {
            PartSource::Slice(body, from) => body.items.len().saturating_sub(*from),
            PartSource::Captures(values) => values.len(),
            PartSource::Items(items) => items.len_hint()?,
            PartSource::Entries(map, _) => map.len(),
            PartSource::Sorted(body) => body.entries.len(),
            PartSource::Members(members) => members.len(),
            PartSource::Listed(values) => values.len(),
        })
    }

    /// Whether the parts are entries.
    fn has_entries(&self) -> bool {
        matches!(self.source, PartSource::Entries(..) | PartSource::Sorted(_) | PartSource::Members(_))
    }

    #[inline]
    fn current(&mut self) -> NextPart<'_> {
        if self.has_entries() {
            return match self.pair() {
                Some((key, value)) if self.half => NextPart::Value(key, value),
                Some((key, _)) => NextPart::Key(key),
                None => NextPart::End,
            };
        }
        let item = match &mut self.source {
            PartSource::Slice(body, from) => body.items.get(*from + self.at),
            PartSource::Captures(values) => values.get(self.at),
            PartSource::Listed(values) => values.get(self.at),
            PartSource::Items(items) => match items.next() {
                Ok(Some(item)) => {
                    self.held = item;
                    Some(&self.held)
                }
                Ok(None) => None,
                Err(_) => return NextPart::Unrealised,
            },
            PartSource::Entries(..) | PartSource::Sorted(_) | PartSource::Members(_) => None,
        };
        item.map_or(NextPart::End, NextPart::Item)
    }

    /// The entry that the walk has come to.
    fn pair(&self) -> Option<(&Value, &Value)> {
        match &self.source {
            PartSource::Entries(map, slot) => map.slot_from(*slot).map(|(entry, _)| entry),
            PartSource::Sorted(body) => body.entries.get(self.at).map(|(key, value)| (key, value)),
            PartSource::Members(members) => members.get(self.at).map(|(key, value)| (key, value)),
            _ => None,
        }
    }

    /// Goes to the next item or entry.
    #[inline]
    fn advance(&mut self) {
        if let PartSource::Entries(map, slot) = &mut self.source {
            *slot = map.slot_from(*slot).map_or(*slot, |(_, next)| next);
        }
        self.at += 1;
        self.half = false;
    }
}

struct WalkFrame<Mark> {
    parts: Parts,
    mark: Mark,
    /// Where the value is in memory; tells one that holds itself.
    address: Option<usize>,
}

/// Walks a value with all its parts, in order.
pub fn walk<V: Visitor>(value: &Value, visitor: &mut V) -> Result<(), V::Stop> {
    let mut frames: Vec<WalkFrame<V::Mark>> = Vec::new();
    match visitor.enter(value) {
        Ok(WalkStep::Done) => return Ok(()),
        Ok(WalkStep::Into(parts, mark)) => frames.push(WalkFrame { parts, mark, address: place_of(value) }),
        Err(stop) => {
            visitor.stopped(Place { frames: &Places(&frames), address: None });
            return Err(stop);
        }
    }
    while let Some(WalkFrame { parts, mark, .. }) = frames.last_mut() {
        let at = parts.at;
        let (value, is_key) = match parts.current() {
            NextPart::Item(value) => {
                visitor.item(mark, at)?;
                (value, false)
            }
            NextPart::Key(key) => match visitor.entry(mark, at, key) {
                Ok(EntryStep::Both) => (key, true),
                Ok(EntryStep::Value) => {
                    parts.half = true;
                    continue;
                }
                Err(stop) => {
                    let outer = frames.len() - 1;
                    visitor.stopped(Place { frames: &Places(&frames[..outer]), address: None });
                    return Err(stop);
                }
            },
            NextPart::Value(key, value) => match visitor.between(mark, key)? {
                true => (value, false),
                false => {
                    parts.advance();
                    continue;
                }
            },
            part @ (NextPart::Unrealised | NextPart::End) => {
                if let NextPart::Unrealised = part {
                    visitor.unrealised(mark, at)?;
                }
                if let Some(WalkFrame { mark, .. }) = frames.pop() {
                    visitor.leave(mark)?;
                }
                ended(&mut frames, visitor)?;
                continue;
            }
        };
        match visitor.enter(value) {
            Ok(WalkStep::Done) => {
                if is_key {
                    parts.half = true
                } else {
                    parts.advance()
                }
                visitor.after(mark)?;
            }
            Ok(WalkStep::Into(inner, inner_mark)) => {
                let address = place_of(value);
                if frames.len() < usize::from(V::LEVELS) {
                    frames.push(WalkFrame { parts: inner, mark: inner_mark, address });
                    continue;
                }
                visitor.too_deep(inner_mark, Place { frames: &Places(&frames), address })?;
                ended(&mut frames, visitor)?;
            }
            Err(stop) => {
                visitor.stopped(Place { frames: &Places(&frames), address: None });
                return Err(stop);
            }
        }
    }
    Ok(())
}

/// The part that the innermost value waits for is done.
fn ended<V: Visitor>(frames: &mut [WalkFrame<V::Mark>], visitor: &mut V) -> Result<(), V::Stop> {
    let Some(WalkFrame { parts, mark, .. }) = frames.last_mut() else { return Ok(()) };
    if parts.has_entries() && !parts.half {
        parts.half = true;
    } else {
        parts.advance();
    }
    visitor.after(mark)
}

fn place_of(value: &Value) -> Option<usize> {
    match value {
        Value::Cell(cell) => Some(Rc::as_ptr(cell).addr()),
        _ => address(value),
    }
}

/// Where in a value something lies: told in messages.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    frames: &'p dyn PathSteps,
    address: Option<usize>,
}

trait PathSteps {
    fn count(&self) -> usize;
    fn step(&self, at: usize, names: &Names) -> String;
    fn address(&self, at: usize) -> Option<usize>;
}

struct Places<'f, Mark>(&'f [WalkFrame<Mark>]);

impl<Mark> PathSteps for Places<'_, Mark> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn step(&self, at: usize, names: &Names) -> String {
        let Some(WalkFrame { parts, .. }) = self.0.get(at) else { return String::new() };
        match parts.pair() {
            Some((key, _)) => key_step(key, names),
            None => format!("[{}]", parts.at),
        }
    }

    fn address(&self, at: usize) -> Option<usize> {
        self.0.get(at)?.address
    }
}

/// A key as a step of a path: `.name`, or its text if it is short.
pub fn key_step(key: &Value, names: &Names) -> String {
    let cut = |text: &str| format!(".{}", excerpt(text));
    match key {
        Value::Str(text) => cut(text.as_str()),
        Value::Kw(name) | Value::Sym(name) => cut(names.text(*name)),
        other => {
            let mut printer = Printer::new(names, Style::Readable, 2 * QUOTED).with_fuel(1000);
            // What fits is all that is wanted.
            let _ = printer.value(other);
            cut(&printer.finish())
        }
    }
}

impl Place<'_> {
    /// The path from the outermost value, `[0].key`; a long one is cut.
    pub fn path(&self, names: &Names) -> String {
        const SHOWN: usize = 8;
        let steps = self.frames.count();
        let mut path: String = (0..steps.min(SHOWN)).map(|at| self.frames.step(at, names)).collect();
        if steps > SHOWN {
            path.push('…');
        }
        path
    }

    /// Why the value at this place is walked no further.
    pub fn too_deep(&self, names: &Names) -> TooDeep {
        let holds_itself = self.address.is_some()
            && (0..self.frames.count()).any(|at| self.frames.address(at) == self.address);
        TooDeep { path: self.path(names), holds_itself }
    }
}

/// A value nests too deeply to be walked to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooDeep {
    /// The way from the outermost value, `[0].key`, as far as it is worth telling.
    pub path: String,
    /// Whether something on the way holds itself.
    pub holds_itself: bool,
}

impl TooDeep {
    /// The error; `what` names the outermost value.
    pub fn error(&self, what: &str) -> Error {
        let path = &self.path;
        match self.holds_itself {
            true => Error::new(ErrorKind::NestingTooDeep, format!("{what} holds itself (at x{path})"))
                .hint("give a copy without the circle: (vec array) copies the items of an array"),
            false => {
                let message = format!("{what} nests deeper than {MAX_DEPTH} levels (at x{path})");
                Error::new(ErrorKind::NestingTooDeep, message)
                    .hint("give less of it: a part, or a flat collection")
            }
        }
    }
}

impl std::fmt::Debug for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} levels deep", self.frames.count())
    }
}
