//! Walking anything that can be walked: collections, strings, ranges, lists, realised lazy parts.

use std::rc::Rc;

use super::prefetch;
use super::seq::{ConsObj, RangeObj, SeqObj};
use super::text::{Text, char_count, first_character};
use super::{CellKind, LazyObj, Map, SetObj, Shared, SortedObj, Value, VecObj};

/// A position in a sequence. It owns what it walks over, so it can live in a register.
#[derive(Clone, Debug)]
pub enum Items {
    /// Nothing left.
    Empty,
    /// The rest of an array.
    Slice(Shared<VecObj>, usize),
    /// The rest of a part of an array, which ends before the array does.
    Part(Shared<VecObj>, usize, usize),
    /// The rest of a range.
    Range(RangeObj),
    /// The rest of a map, by slot.
    Map(Map, usize),
    /// The rest of a set, by slot.
    Set(Shared<SetObj>, usize),
    /// The rest of a sorted collection.
    Sorted(Shared<SortedObj>, usize),
    /// The rest of a string, by byte.
    Text(Text, usize),
    /// A chain of cons cells and lazy sequences.
    Chain(Value),
}

/// A lazy sequence that must be realised before the walk can go on.
pub type PendingSeq = Shared<LazyObj>;

impl Items {
    /// The items of a value, or `None` if it cannot be walked.
    pub fn over(value: &Value) -> Option<Items> {
        Some(match value {
            Value::Nil => Items::Empty,
            Value::Vec(body) => Items::Slice(body.clone(), 0),
            Value::Seq(body) if body.is_tail() => Items::Slice(body.items.clone(), body.offset),
            Value::Seq(body) => Items::Part(body.items.clone(), body.offset, body.end),
            Value::Range(body) => Items::Range((**body).clone()),
            Value::Cons(_) | Value::Lazy(_) => Items::Chain(value.clone()),
            Value::Map(body) => Items::Map(body.clone(), 0),
            Value::Set(body) => Items::Set(body.clone(), 0),
            Value::Sorted(body) => Items::Sorted(body.clone(), 0),
            Value::Str(text) => Items::Text(text.clone(), 0),
            Value::Cell(cell) => match (cell.kind, &cell.state.borrow().value) {
                (CellKind::Array, Value::Vec(body)) => Items::Slice(body.clone(), 0),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The next item. The error is the lazy sequence the walk waits for; after it is realised the
    /// same call goes on.
    #[expect(
        clippy::should_implement_trait,
        reason = "it may wait for a lazy sequence, which no iterator can"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Value>, PendingSeq> {
        match self {
            Items::Slice(body, at) => {
                body.items.get(*at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
                let item = body.items.get(*at).cloned();
                *at += 1;
                Ok(item)
            }
            Items::Chain(_) => self.next_in_chain(),
            _ => Ok(self.next_counted()),
        }
    }

    /// Goes on to the next item of a vector, and leaves it where it stands. Whether there is one; nothing in walks over
    /// anything else.
    #[inline]
    pub fn advance(&mut self) -> Option<bool> {
        let Items::Slice(body, at) = self else { return None };
        body.items.get(*at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
        let is_there = *at < body.items.len();
        *at += usize::from(is_there);
        Some(is_there)
    }

    /// The item that the walk has come to, if it stands in a vector.
    #[inline]
    pub fn here(&self) -> Option<&Value> {
        match self {
            Items::Slice(body, at) => body.items.get(at.wrapping_sub(1)),
            _ => None,
        }
    }

    fn next_counted(&mut self) -> Option<Value> {
        match self {
            Items::Part(body, at, end) => {
                let item = body.items.get(*at..*end)?.first().cloned()?;
                *at += 1;
                Some(item)
            }
            Items::Range(range) => {
                if range.count == 0 {
                    return None;
                }
                let item = Value::Int(range.start);
                range.start = range.start.wrapping_add(range.step);
                range.count -= 1;
                Some(item)
            }
            Items::Map(body, at) => {
                let ((key, value), next) = body.slot_from(*at)?;
                *at = next;
                Some(Value::entry(key.clone(), value.clone()))
            }
            Items::Set(body, at) => {
                let ((key, ()), next) = body.table.slot_from(*at)?;
                *at = next;
                Some(key.clone())
            }
            Items::Sorted(body, at) => {
                let (key, value) = body.entries.get(*at)?;
                *at += 1;
                Some(if body.is_set { key.clone() } else { Value::entry(key.clone(), value.clone()) })
            }
            Items::Text(text, at) => {
                let first = first_character(text.as_str().get(*at..)?)?;
                *at += first.len();
                Some(Value::str(first))
            }
            Items::Empty | Items::Slice(..) | Items::Chain(_) => None,
        }
    }

    fn next_in_chain(&mut self) -> Result<Option<Value>, PendingSeq> {
        loop {
            let Items::Chain(value) = self else { return self.next() };
            match value {
                Value::Cons(cell) => {
                    let item = cell.first.clone();
                    let rest = cell.rest.clone();
                    *self = Items::over(&rest).unwrap_or(Items::Empty);
                    return Ok(Some(item));
                }
                Value::Lazy(lazy) => match lazy.realised() {
                    Some(realised) => *self = Items::over(&realised).unwrap_or(Items::Empty),
                    None => return Err(lazy.clone()),
                },
                _ => *self = Items::Empty,
            }
        }
    }

    /// How many items are left, if that is known without walking.
    pub fn len_hint(&self) -> Option<usize> {
        Some(match self {
            Items::Empty => 0,
            Items::Slice(body, at) => body.items.len().saturating_sub(*at),
            Items::Part(_, at, end) => end.saturating_sub(*at),
            Items::Range(range) => usize::try_from(range.count).unwrap_or(usize::MAX),
            Items::Map(body, 0) => body.len(),
            Items::Set(body, 0) => body.table.len(),
            Items::Sorted(body, at) => body.entries.len().saturating_sub(*at),
            _ => return None,
        })
    }

    /// How many items [`Items::into_seq`] copies, and about how many bytes they take.
    pub(crate) fn copied_by_seq(&self) -> (usize, usize) {
        /// An entry of a map is a vector of its own.
        const ENTRY: usize = size_of::<Value>() + size_of::<VecObj>() + 64;
        let (count, each) = match self {
            Items::Text(text, at) => {
                (char_count(text.as_str().get(*at..).unwrap_or_default()), size_of::<Value>())
            }
            // Slots may be empty, so how many are left is not known.
            Items::Map(body, _) => (body.len(), ENTRY),
            Items::Set(body, _) => (body.table.len(), size_of::<Value>()),
            Items::Sorted(body, at) => {
                (body.entries.len().saturating_sub(*at), if body.is_set { size_of::<Value>() } else { ENTRY })
            }
            Items::Empty | Items::Slice(..) | Items::Part(..) | Items::Range(_) | Items::Chain(_) => (0, 0),
        };
        (count, count.saturating_mul(each))
    }

    /// What is left as a sequence, nil if nothing is. Copies only what has no sequence form yet: who calls it has charged
    /// for that ([`crate::heap::Heap::rest_of_walk`]).
    pub(crate) fn into_seq(mut self) -> Result<Value, PendingSeq> {
        match self {
            Items::Slice(items, offset) if offset < items.items.len() => {
                return Ok(SeqObj::tail(items, offset, false));
            }
            Items::Part(items, at, end) if at < end => return Ok(SeqObj::part(items, at, end, false)),
            Items::Range(range) if range.count > 0 => return Ok(Value::Range(Rc::new(range))),
            Items::Chain(value @ Value::Cons(_)) => return Ok(value),
            _ => {}
        }
        let mut items = Vec::with_capacity(self.copied_by_seq().0);
        let mut chain = None;
        while let Some(item) = self.next()? {
            items.push(item);
            // A chain stays a chain: hand out one cell and leave the rest as it is.
            if let Items::Chain(rest) = &self {
                chain = Some(rest.clone());
                break;
            }
        }
        Ok(match chain {
            Some(rest) => items.into_iter().rev().fold(rest, |rest, item| ConsObj::cell(item, rest, false)),
            None if items.is_empty() => Value::Nil,
            None => Value::seq(items),
        })
    }
}
