//! How many bytes a value is as readable text: the one measure of size that hosts see.
//!
//! It is the length of what `pr-str` writes, with three differences: a function counts a fixed amount and
//! what it captured, a cell counts what it holds, and both count only once; the rest of a lazy sequence
//! that nobody has realised counts as `...`. Shared parts count as often as they would be written, but are
//! looked at twice at most, and a sequence that goes on with itself counts as endless at once, as does what nests deeper
//! than walks go: hosts look at sizes between programs, when no fuel pays for it.

use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::Value;
use super::meter::Sizes;
use super::print::{float_text, is_readable_keyword};
use super::seq::{RangeObj, Spine, spine};
use super::walk::{EntryStep, Parts, Place, Visitor, WalkStep, walk};
use crate::names::Names;

/// What the code of a function counts where its text is not known.
const FUNCTION: usize = 64;

/// The bytes of a value's text, or a number beyond `limit` as soon as it is more.
pub fn written(value: &Value, names: &Names, limit: usize) -> usize {
    let seen = HashSet::with_hasher(FixedState::with_seed(7));
    let mut count = TextCount { names, limit, bytes: 0, seen, sizes: Sizes::new() };
    // Ending early only says that it is more than the limit.
    let _ = walk(value, &mut count);
    count.bytes
}

struct TextCount<'a> {
    names: &'a Names,
    limit: usize,
    bytes: usize,
    /// Functions and cells, which may lead back to themselves.
    seen: HashSet<usize, FixedState>,
    /// What containers count in which all functions and cells have been seen.
    sizes: Sizes<usize>,
}

/// There is more than the limit.
struct TooLarge;

/// What parts add to their own text.
#[derive(Clone, Copy)]
struct Overhead {
    between: usize,
    inside: usize,
    end: usize,
}

const ITEMS: Overhead = Overhead { between: 1, inside: 0, end: 2 };
const ENTRIES: Overhead = Overhead { between: 2, inside: 1, end: 2 };
const HELD: Overhead = Overhead { between: 0, inside: 0, end: 0 };

/// A container of which parts are still to come.
struct OpenText {
    around: Overhead,
    /// Where it is, if its size is to be remembered.
    place: Option<usize>,
    /// The bytes before it, and the functions and cells that had been seen.
    before: (usize, usize),
}

impl TextCount<'_> {
    fn add(&mut self, bytes: usize) -> Result<(), TooLarge> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.limit { Ok(()) } else { Err(TooLarge) }
    }

    fn open(
        &mut self,
        value: &Value,
        parts: Parts,
        around: Overhead,
    ) -> Result<WalkStep<OpenText>, TooLarge> {
        let (place, known) = self.sizes.look(value);
        if let Some(bytes) = known {
            return self.add(bytes).map(|()| WalkStep::Done);
        }
        Ok(WalkStep::Into(parts, OpenText { around, place, before: (self.bytes, self.seen.len()) }))
    }

    /// Values that are no data.
    fn rare(&mut self, value: &Value) -> Result<WalkStep<OpenText>, TooLarge> {
        let known = match value {
            Value::Fn(body) => {
                self.add(FUNCTION)?;
                !self.seen.insert(Rc::as_ptr(body).addr())
            }
            Value::Cell(body) if !self.seen.insert(Rc::as_ptr(body).addr()) => {
                self.add(2)?;
                true
            }
            Value::Cell(_) => {
                self.add(value.type_name().len() + 4)?;
                false
            }
            Value::Regex(body) => {
                self.add(3 + body.source.len())?;
                true
            }
            Value::Ex(body) => {
                self.add(20 + body.error.message.len())?;
                if body.data.is_nil() {
                    return Ok(WalkStep::Done);
                }
                return self.open(value, Parts::listed(vec![body.data.clone()]), HELD);
            }
            Value::Reduced(_) => {
                self.add(11)?;
                false
            }
            _ => {
                self.add("#<iterator>".len())?;
                true
            }
        };
        match Parts::held_by(value) {
            Some(parts) if !known => self.open(value, parts, HELD),
            _ => Ok(WalkStep::Done),
        }
    }
}

impl Visitor for TextCount<'_> {
    type Mark = OpenText;
    type Stop = TooLarge;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<OpenText>, TooLarge> {
        match value {
            Value::Unbound | Value::Nil => self.add(3)?,
            Value::Bool(value) => self.add(if *value { 4 } else { 5 })?,
            Value::Int(int) => self.add(digits(*int))?,
            Value::Float(float) => self.add(float_text(*float, ["##NaN", "##Inf", "##-Inf"]).len())?,
            // A digit is a bit more than three bits.
            Value::Big(int) => self.add(1 + usize::try_from(int.bits() * 3 / 10).unwrap_or(usize::MAX))?,
            Value::Decimal(decimal) => self.add(decimal.text_len() + "M".len())?,
            Value::Str(text) => self.add(quoted(text.as_str()))?,
            Value::Kw(name) => {
                let text = self.names.text(*name);
                self.add(if is_readable_keyword(text) { 1 + text.len() } else { quoted(text) })?;
            }
            Value::Sym(name) | Value::Type(name) | Value::Tool(name) => {
                self.add(self.names.text(*name).len())?;
            }
            Value::Var(name) => self.add(2 + self.names.text(*name).len())?,
            Value::Builtin(_) => self.add("#<builtin>".len())?,
            Value::Time(time) => self.add(time.readable().len())?,
            Value::Cell(_) => return self.rare(value),
            // Its text has no end, and no limit has to be counted up to.
            Value::Lazy(_) | Value::Cons(_) if matches!(spine(value).0, Spine::Circular) => {
                self.add(self.limit.saturating_add(1))?
            }
            // Any number of integers in a few bytes of memory: counted, not walked.
            Value::Range(range) => {
                let between = usize::try_from(range.count).unwrap_or(usize::MAX);
                self.add(range_digits(range).saturating_add(between).saturating_add(1))?;
            }
            _ => match Parts::of(value) {
                Some(parts) => {
                    let is_set =
                        matches!(value, Value::Set(_)) || matches!(value, Value::Sorted(body) if body.is_set);
                    self.add(usize::from(is_set))?;
                    return self.open(value, parts, if value.is_map() { ENTRIES } else { ITEMS });
                }
                None => return self.rare(value),
            },
        }
        Ok(WalkStep::Done)
    }

    fn item(&mut self, open: &mut OpenText, at: usize) -> Result<(), TooLarge> {
        self.add(if at > 0 { open.around.between } else { 0 })
    }

    fn entry(&mut self, open: &mut OpenText, at: usize, _: &Value) -> Result<EntryStep, TooLarge> {
        self.item(open, at)?;
        Ok(EntryStep::Both)
    }

    fn between(&mut self, open: &mut OpenText, _: &Value) -> Result<bool, TooLarge> {
        self.add(open.around.inside)?;
        Ok(true)
    }

    fn unrealised(&mut self, open: &mut OpenText, at: usize) -> Result<(), TooLarge> {
        self.item(open, at)?;
        self.add("...".len())
    }

    fn leave(&mut self, open: OpenText) -> Result<(), TooLarge> {
        self.add(open.around.end)?;
        let (bytes, seen) = open.before;
        // What was seen here for the first time counts less from now on.
        if seen == self.seen.len() {
            self.sizes.remember(open.place, self.bytes - bytes);
        }
        Ok(())
    }

    /// Nobody counts what lies so deep, so it is more than there may be.
    fn too_deep(&mut self, _: OpenText, _: Place<'_>) -> Result<(), TooLarge> {
        self.add(self.limit.saturating_add(1))
    }
}

fn digits(int: i64) -> usize {
    let sign = usize::from(int < 0);
    sign + int.unsigned_abs().checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// The digits and signs of all integers of a range.
fn range_digits(range: &RangeObj) -> usize {
    let count = i128::from(range.count);
    // How many of them are at least `bound`, if that is positive, or at most, if it is negative.
    let beyond = |bound: i128| {
        let sign = bound.signum();
        let (start, step) = (sign * i128::from(range.start), sign * i128::from(range.step));
        let distance = bound.abs() - start;
        match (distance <= 0, step > 0) {
            (true, true) => count,
            (false, false) => 0,
            // Those from here on.
            (false, true) => (count - (distance + step - 1) / step).max(0),
            // Those up to here.
            (true, false) => (distance / step + 1).min(count),
        }
    };
    let powers = std::iter::successors(Some(10_i128), |power| power.checked_mul(10)).take(18);
    let digits: i128 = powers.map(|power| beyond(power) + beyond(-power)).sum();
    usize::try_from(count + digits + beyond(-1)).unwrap_or(usize::MAX)
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
    use crate::value::{CellKind, CellObj, CellState, Stamp};

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
    fn a_range_counts_as_many_bytes_as_its_text_without_a_walk() {
        let names = Names::default();
        for start in [-1_001, -100, -99, -9, -1, 0, 1, 9, 10, 99, 100, 12_345, i64::MAX / 2] {
            for step in [-1_000, -99, -10, -3, -1, 1, 2, 7, 90, 1_000, 123_456_789] {
                for count in [1, 2, 3, 10, 11, 100, 101, 250] {
                    let range = RangeObj::value(start, step, count);
                    let text = pr_str(&range, &names);
                    assert_eq!(written(&range, &names, usize::MAX), text.len(), "{start} {step} {count}");
                }
            }
        }
        // All integers: as many nobody could walk.
        let all = RangeObj::value(i64::MIN, 1, u64::MAX);
        assert_eq!(written(&all, &names, usize::MAX), usize::MAX);
        let some = RangeObj::value(0, 1, 1_000_000_000);
        assert_eq!(written(&some, &names, usize::MAX), 9_888_888_891);
    }

    #[test]
    fn a_shared_value_is_counted_no_further_than_the_limit() {
        let names = Names::default();
        let huge = (0..200).fold(Value::Int(1), |inner, _| Value::vector(vec![inner.clone(), inner]));
        assert!(written(&huge, &names, 1 << 16) > 1 << 16);
    }

    #[test]
    fn shared_parts_are_looked_at_a_few_times_whatever_they_hold() {
        let names = Names::default();
        let pair = |inner: Value, _| Value::vector(vec![inner.clone(), inner]);
        let cell = |value: Value| {
            let (validator, watches) = (Value::Nil, Value::Nil);
            let state = CellState { value, ready: true, validator, watches, meta: None };
            Value::Cell(Rc::new(CellObj { kind: CellKind::Atom, state: state.into(), stamp: Stamp::new() }))
        };
        for leaf in [Value::Int(1), cell(Value::Int(1)), cell((0..20).fold(Value::Int(1), pair))] {
            let short = (0..16).fold(leaf.clone(), pair);
            // A walk that is not long remembers nothing, and counts the same.
            let twice = written(&Value::vector(vec![short.clone(), short.clone()]), &names, usize::MAX);
            let rest = written(&Value::vector(vec![leaf.clone(), short.clone()]), &names, usize::MAX);
            assert!(twice > rest && twice < 2 * rest + 10, "{twice} {rest}");
            assert_eq!(written(&(0..200).fold(leaf, pair), &names, usize::MAX - 1), usize::MAX);
        }
    }
}
