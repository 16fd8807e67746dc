//! How many bytes a value is as readable text: the one measure of size that hosts see.
//!
//! It is the length of what `pr-str` writes, with three differences: a function counts a fixed amount and
//! what it captured, a cell counts what it holds, and both count only once; the rest of a lazy sequence
//! that nobody has realised counts as `...`. Shared parts count as often as they would be written, so the
//! count has a limit.

use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::print::float_text;
use super::{Items, Value};
use crate::names::Names;

/// What the code of a function counts where its text is not known.
const FUNCTION: usize = 64;

/// The bytes of a value's text, or a number beyond `limit` as soon as it is more.
pub fn written(value: &Value, names: &Names, limit: usize) -> usize {
    let mut count = Count { names, limit, bytes: 0, seen: HashSet::with_hasher(FixedState::with_seed(7)) };
    count.value(value);
    count.bytes
}

struct Count<'a> {
    names: &'a Names,
    limit: usize,
    bytes: usize,
    /// Functions and cells, which may lead back to themselves.
    seen: HashSet<usize, FixedState>,
}

impl Count<'_> {
    fn add(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= self.limit
    }

    /// Counts a value; false once there is too much. Values nest at most
    /// [`MAX_DEPTH`](super::MAX_DEPTH) levels, and so deep it recurses.
    fn value(&mut self, value: &Value) -> bool {
        match value {
            Value::Unbound | Value::Nil => self.add(3),
            Value::Bool(value) => self.add(if *value { 4 } else { 5 }),
            Value::Int(int) => self.add(digits(*int)),
            Value::Float(float) => self.add(float_text(*float, ["##NaN", "##Inf", "##-Inf"]).len()),
            // A digit is a bit more than three bits.
            Value::Big(int) => self.add(1 + usize::try_from(int.bits() * 3 / 10).unwrap_or(usize::MAX)),
            Value::Str(text) => self.add(quoted(text.as_str())),
            Value::Kw(name) => self.add(1 + self.names.text(*name).len()),
            Value::Sym(name) | Value::Type(name) | Value::Tool(name) => {
                self.add(self.names.text(*name).len())
            }
            Value::Var(name) => self.add(2 + self.names.text(*name).len()),
            Value::Builtin(_) => self.add("#<builtin>".len()),
            Value::Time(time) => self.add(time.readable().len()),
            Value::Map(body) => self.entries(body.iter()),
            Value::Sorted(body) if !body.is_set => self.entries(body.entries.iter().map(|(k, v)| (k, v))),
            Value::Set(_) | Value::Sorted(_) => self.add(1) && self.items(value),
            Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => {
                self.items(value)
            }
            _ => self.rare(value),
        }
    }

    fn entries<'v>(&mut self, entries: impl Iterator<Item = (&'v Value, &'v Value)>) -> bool {
        let mut between = 0;
        for (key, value) in entries {
            if !(self.add(between) && self.value(key) && self.add(1) && self.value(value)) {
                return false;
            }
            between = 2;
        }
        self.add(2)
    }

    fn items(&mut self, value: &Value) -> bool {
        let mut items = Items::over(value).unwrap_or(Items::Empty);
        let mut between = 0;
        loop {
            match items.next() {
                Ok(Some(item)) => {
                    if !(self.add(between) && self.value(&item)) {
                        return false;
                    }
                }
                Ok(None) => return self.add(2),
                Err(_) => return self.add(between + "...".len() + 2),
            }
            between = 1;
        }
    }

    fn rare(&mut self, value: &Value) -> bool {
        match value {
            Value::Fn(body) => {
                self.add(FUNCTION)
                    && (!self.seen.insert(Rc::as_ptr(body) as usize)
                        || body.captures.iter().all(|captured| self.value(captured)))
            }
            Value::Cell(body) => {
                if !self.seen.insert(Rc::as_ptr(body) as usize) {
                    return self.add(2);
                }
                let held = body.state.borrow().value.clone();
                self.add(value.type_name().len() + 4) && self.value(&held)
            }
            Value::Regex(body) => self.add(3 + body.source.len()),
            Value::Ex(body) => {
                self.add(20 + body.error.message.len()) && (body.data.is_nil() || self.value(&body.data))
            }
            Value::Reduced(body) => self.add(11) && self.value(body),
            _ => self.add("#<iterator>".len()),
        }
    }
}

fn digits(int: i64) -> usize {
    let sign = usize::from(int < 0);
    sign + int.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// A string with its quotes and escapes.
fn quoted(text: &str) -> usize {
    let escaped = |byte: &u8| matches!(byte, b'"' | b'\\' | b'\n' | b'\t' | b'\r' | 0x8 | 0xc);
    2 + text.len() + text.as_bytes().iter().filter(|byte| escaped(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::print::pr_str;

    #[test]
    fn data_counts_as_many_bytes_as_its_text() {
        let names = Names::default();
        let texts =
            Value::vector(vec![Value::str("a\"b\n"), Value::str("žluť"), Value::Nil, Value::Bool(true)]);
        let numbers = Value::list([0, -1, 10, i64::MIN, i64::MAX].map(Value::Int).to_vec());
        let floats = Value::set_of([1.5, 1e30, -0.0].map(Value::Float));
        let map = Value::map_of([(Value::Int(1), texts.clone()), (Value::Int(2), numbers.clone())]);
        for value in [texts, numbers, floats, map, Value::vector(Vec::new()), Value::map_of([])] {
            assert_eq!(written(&value, &names, usize::MAX), pr_str(&value, &names).len());
        }
    }

    #[test]
    fn a_shared_value_is_counted_no_further_than_the_limit() {
        let names = Names::default();
        let huge = (0..200).fold(Value::Int(1), |inner, _| Value::vector(vec![inner.clone(), inner]));
        assert!(written(&huge, &names, 1 << 16) > 1 << 16);
    }
}
