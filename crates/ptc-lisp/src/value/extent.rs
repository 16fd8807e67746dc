//! How much text a value would be, without writing it.
//!
//! Values share their parts, so a few hundred bytes of memory may be a tree of 2^60 leaves once written.
//! Whatever leaves the machine is measured first.

use super::Value;
use super::print::{Printer, Style};
use super::walk::{Entry, Parts, Place, Step, TooDeep, Visitor, walk};
use crate::names::Names;

/// An element of a collection counts at least this much: hosts hold it in a tree of their own.
pub(crate) const ELEMENT: usize = 16;

/// About how many bytes of text a realised value is, or a number beyond `limit` as soon as it is more.
pub fn extent(value: &Value, names: &Names, limit: usize) -> Result<usize, TooDeep> {
    let mut count = Count { names, limit, bytes: 0 };
    match walk(value, &mut count) {
        Ok(()) | Err(Stop::TooLarge) => Ok(count.bytes),
        Err(Stop::TooDeep(found)) => Err(found),
    }
}

struct Count<'a> {
    names: &'a Names,
    limit: usize,
    bytes: usize,
}

enum Stop {
    TooLarge,
    TooDeep(TooDeep),
}

impl Count<'_> {
    fn add(&mut self, bytes: usize) -> Result<(), Stop> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.limit { Ok(()) } else { Err(Stop::TooLarge) }
    }

    /// A record is written with the name of its type, which only counts where it is long.
    fn record_name(&self, value: &Value) -> usize {
        let Value::Map(body) = value else { return 0 };
        body.record().map_or(0, |name| self.names.text(name).len().saturating_sub(ELEMENT))
    }

    /// Rare kinds are written after all, as far as there is room.
    fn opaque(&mut self, value: &Value) -> Result<(), Stop> {
        let room = self.limit.saturating_sub(self.bytes);
        let mut printer = Printer::new(self.names, Style::Readable, room);
        match printer.value(value) {
            Ok(()) => self.add(printer.finish().len()),
            // What was written so far may be as long as the limit and no longer.
            Err(_) => self.add(room.saturating_add(1)),
        }
    }
}

impl Visitor for Count<'_> {
    /// The bytes before the part that is counted.
    type Mark = usize;
    type Stop = Stop;

    fn enter(&mut self, value: &Value) -> Result<Step<usize>, Stop> {
        match value {
            Value::Unbound | Value::Nil | Value::Bool(_) => self.add(4)?,
            Value::Int(_) | Value::Float(_) => self.add(8)?,
            Value::Str(text) => self.add(2 + text.byte_len())?,
            Value::Kw(name) | Value::Sym(name) => self.add(1 + self.names.text(*name).len())?,
            // A digit is a bit more than three bits.
            Value::Big(int) => self.add(1 + usize::try_from(int.bits() / 3).unwrap_or(usize::MAX))?,
            _ => match Parts::of(value) {
                Some(parts) => {
                    self.add(2 + self.record_name(value))?;
                    return Ok(Step::Into(parts, self.bytes));
                }
                None => self.opaque(value)?,
            },
        }
        Ok(Step::Done)
    }

    fn item(&mut self, before: &mut usize, _: usize) -> Result<(), Stop> {
        *before = self.bytes;
        Ok(())
    }

    fn entry(&mut self, before: &mut usize, _: usize, _: &Value) -> Result<Entry, Stop> {
        *before = self.bytes;
        Ok(Entry::Both)
    }

    fn between(&mut self, before: &mut usize, _: &Value) -> Result<bool, Stop> {
        *before = self.bytes;
        Ok(true)
    }

    fn after(&mut self, before: &mut usize) -> Result<(), Stop> {
        self.bytes = self.bytes.max(before.saturating_add(ELEMENT));
        self.add(0)
    }

    fn leave(&mut self, _: usize) -> Result<(), Stop> {
        Ok(())
    }

    fn too_deep(&mut self, _: usize, place: Place<'_>) -> Result<(), Stop> {
        Err(Stop::TooDeep(place.too_deep(self.names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_value_counts_as_often_as_it_would_be_written() {
        let pair = |inner: Value| Value::vector(vec![inner.clone(), inner]);
        let names = Names::default();
        assert_eq!(extent(&Value::str("abc"), &names, 100), Ok(5));
        assert_eq!(extent(&pair(Value::Int(1)), &names, 100), Ok(34));
        let huge = (0..200).fold(Value::Int(1), |inner, _| pair(inner));
        assert!(extent(&huge, &names, 1 << 20).is_ok_and(|bytes| bytes > 1 << 20));
        let empty = (0..200).fold(Value::vector(Vec::new()), |inner, _| pair(inner));
        let held = Value::Reduced(std::rc::Rc::new(huge));
        assert!(extent(&held, &names, 1 << 20).is_ok_and(|bytes| bytes > 1 << 20));
        assert!(extent(&empty, &names, 1 << 20).is_ok_and(|bytes| bytes > 1 << 20));
    }
}
