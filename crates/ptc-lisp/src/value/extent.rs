//! How much text a value would be, without writing it.
//!
//! Values share their parts, so a few hundred bytes of memory may be a tree of 2^60 leaves once written.
//! Whatever leaves the machine is measured first.

use super::print::{Printer, Style};
use super::{Items, Value};
use crate::names::Names;

/// An element of a collection counts at least this much: hosts hold it in a tree of their own.
pub(crate) const ELEMENT: usize = 16;

/// About how many bytes of text a realised value is, or a number beyond `limit` as soon as it is more.
pub fn extent(value: &Value, names: &Names, limit: usize) -> usize {
    let mut count = Count { names, limit, bytes: 0 };
    count.value(value);
    count.bytes
}

struct Count<'a> {
    names: &'a Names,
    limit: usize,
    bytes: usize,
}

impl Count<'_> {
    fn add(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= self.limit
    }

    /// Counts an element; false once there is too much. Values nest at most
    /// [`MAX_DEPTH`](super::MAX_DEPTH) levels, and so deep it recurses.
    fn element(&mut self, value: &Value) -> bool {
        let before = self.bytes;
        let goes_on = self.value(value);
        self.bytes = self.bytes.max(before + ELEMENT);
        goes_on && self.bytes <= self.limit
    }

    fn value(&mut self, value: &Value) -> bool {
        match value {
            Value::Unbound | Value::Nil | Value::Bool(_) => self.add(4),
            Value::Int(_) | Value::Float(_) => self.add(8),
            Value::Str(text) => self.add(2 + text.byte_len()),
            Value::Kw(name) | Value::Sym(name) => self.add(1 + self.names.text(*name).len()),
            // A digit is a bit more than three bits.
            Value::Big(int) => self.add(1 + usize::try_from(int.bits() / 3).unwrap_or(usize::MAX)),
            Value::Vec(body) => self.add(2) && body.items.iter().all(|item| self.element(item)),
            Value::Map(body) => {
                self.add(2) && body.iter().all(|(key, value)| self.element(key) && self.element(value))
            }
            Value::Sorted(body) => {
                self.add(2)
                    && body.entries.iter().all(|(key, value)| self.element(key) && self.element(value))
            }
            Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) | Value::Set(_) => {
                self.walked(value)
            }
            _ => self.opaque(value),
        }
    }

    fn walked(&mut self, value: &Value) -> bool {
        let mut items = Items::over(value).unwrap_or(Items::Empty);
        if !self.add(2) {
            return false;
        }
        while let Ok(Some(item)) = items.next() {
            if !self.element(&item) {
                return false;
            }
        }
        true
    }

    /// Rare kinds are written after all, as far as there is room.
    fn opaque(&mut self, value: &Value) -> bool {
        let room = self.limit.saturating_sub(self.bytes);
        let mut printer = Printer::new(self.names, Style::Readable, room);
        let fits = printer.value(value).is_ok();
        let bytes = printer.finish().len();
        self.add(bytes) && fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_value_counts_as_often_as_it_would_be_written() {
        let pair = |inner: Value| Value::vector(vec![inner.clone(), inner]);
        let names = Names::default();
        assert_eq!(extent(&Value::str("abc"), &names, 100), 5);
        assert_eq!(extent(&pair(Value::Int(1)), &names, 100), 34);
        let huge = (0..200).fold(Value::Int(1), |inner, _| pair(inner));
        assert!(extent(&huge, &names, 1 << 20) > 1 << 20);
        let empty = (0..200).fold(Value::vector(Vec::new()), |inner, _| pair(inner));
        assert!(extent(&empty, &names, 1 << 20) > 1 << 20);
    }
}
