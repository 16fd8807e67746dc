//! How much text a value would be, without writing it.
//!
//! Values share their parts, so a few hundred bytes of memory may be a tree of 2^60 leaves once written.
//! Whatever leaves the machine is measured first; parts that are shared are looked at once.

use super::meter::Sizes;
use super::print::{Looks, Printer, Style, WORK_PER_BYTE};
use super::walk::{EntryStep, Parts, Place, TooDeep, Visitor, WalkStep, walk};
use super::{MAX_DEPTH, Value};
use crate::arith::digits_work;
use crate::names::Names;

/// An element of a collection counts at least this much: hosts hold it in a tree of their own.
pub(crate) const ELEMENT: usize = 16;

/// About how many bytes of text a realised value is, or a number beyond `limit` as soon as it is more.
pub fn extent(value: &Value, names: &Names, limit: usize) -> Result<usize, TooDeep> {
    let mut count = ExtentCount {
        names,
        limit,
        bytes: 0,
        sizes: [Sizes::new(), Sizes::new()],
        level: 0,
        deepest: 0,
        texts: 0,
        looks: Looks::default(),
    };
    match walk(value, &mut count) {
        Ok(()) => Ok(count.bytes),
        // Shared parts may add up to any number.
        Err(ExtentStop::TooLarge) => Ok(limit.saturating_add(1)),
        Err(ExtentStop::TooDeep(found)) => Err(found),
    }
}

struct ExtentCount<'a> {
    names: &'a Names,
    limit: usize,
    bytes: usize,
    /// Sizes of collections, and of those inside of text.
    sizes: [Sizes<Measured>; 2],
    /// How many collections are open.
    level: u16,
    /// The deepest level that the innermost open collection has, as far as it was walked.
    deepest: u16,
    /// How many values that are written as text, with all their parts, are being counted.
    texts: usize,
    looks: Looks,
}

/// What is remembered of a container.
#[derive(Clone, Copy, Debug)]
struct Measured {
    bytes: usize,
    /// Levels that it has, its own included.
    levels: u16,
}

/// A container of which parts are still to come.
struct OpenExtent {
    /// Where it is, if its size is to be remembered.
    place: Option<usize>,
    /// The bytes before it.
    outside: usize,
    /// The deepest level around it, as far as that was walked.
    deepest: u16,
    /// The bytes before the part that is counted.
    before: usize,
    /// Whether it is written as text.
    is_text: bool,
}

enum ExtentStop {
    TooLarge,
    TooDeep(TooDeep),
}

impl ExtentCount<'_> {
    fn add(&mut self, bytes: usize) -> Result<(), ExtentStop> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.limit { Ok(()) } else { Err(ExtentStop::TooLarge) }
    }

    /// A record is written with the name of its type, which only counts where it is long.
    fn record_name(&self, value: &Value) -> usize {
        let Value::Map(body) = value else { return 0 };
        body.record().map_or(0, |name| self.names.text(name).len().saturating_sub(ELEMENT))
    }

    fn sizes(&mut self) -> &mut Sizes<Measured> {
        &mut self.sizes[usize::from(self.texts > 0)]
    }

    /// A container with parts that are counted, and `bytes` around them.
    fn open(
        &mut self,
        value: &Value,
        parts: Parts,
        bytes: usize,
    ) -> Result<WalkStep<OpenExtent>, ExtentStop> {
        let (place, known) = self.sizes().look(value);
        // One that lies too deep here is walked once more, to the place that is told.
        if let Some(known) = known.filter(|known| self.level + known.levels <= MAX_DEPTH) {
            self.deepest = self.deepest.max(self.level + known.levels);
            return self.add(known.bytes).map(|()| WalkStep::Done);
        }
        let (outside, deepest) = (self.bytes, self.deepest);
        self.add(bytes)?;
        self.level += 1;
        self.deepest = self.level;
        Ok(WalkStep::Into(parts, OpenExtent { place, outside, deepest, before: self.bytes, is_text: false }))
    }

    /// A value that is written as text around the one that it holds.
    fn text(
        &mut self,
        value: &Value,
        held: &Value,
        bytes: usize,
    ) -> Result<WalkStep<OpenExtent>, ExtentStop> {
        let mut step = self.open(value, Parts::listed(vec![held.clone()]), bytes)?;
        if let WalkStep::Into(_, open) = &mut step {
            open.is_text = true;
            self.texts += 1;
        }
        Ok(step)
    }

    /// Rare kinds are written after all, as far as there is room. Looking through a cell counts as text too.
    fn opaque(&mut self, value: &Value) -> Result<(), ExtentStop> {
        let room = self.limit.saturating_sub(self.bytes);
        let mut printer = Printer::new(self.names, Style::Readable, room);
        printer.swap_looks(&mut self.looks);
        let whole = printer.value(value).is_ok();
        printer.swap_looks(&mut self.looks);
        let work = printer.work() / WORK_PER_BYTE;
        match whole {
            true => self.add(printer.finish().len().max(work)),
            // What was written so far may be as long as the limit and no longer.
            false => self.add(room.saturating_add(1)),
        }
    }
}

/// A digit is a bit more than three bits; the digits of a large integer take longer to find than to write.
fn big(bits: u64) -> usize {
    let bits = usize::try_from(bits).unwrap_or(usize::MAX);
    (1 + bits / 3).max(digits_work(bits / 64) / WORK_PER_BYTE)
}

impl Visitor for ExtentCount<'_> {
    type Mark = OpenExtent;
    type Stop = ExtentStop;

    const LEVELS: u16 = MAX_DEPTH;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<OpenExtent>, ExtentStop> {
        match value {
            Value::Unbound | Value::Nil | Value::Bool(_) => self.add(4)?,
            Value::Int(_) | Value::Float(_) => self.add(8)?,
            Value::Str(text) => self.add(2 + text.byte_len())?,
            Value::Kw(name) | Value::Sym(name) => self.add(1 + self.names.text(*name).len())?,
            Value::Big(int) => self.add(big(int.bits()))?,
            Value::Decimal(exact) => match exact.decimal() {
                Some(decimal) => self.add(big(decimal.unscaled().bits()) + 16)?,
                // JSON has it as a float.
                None => self.add(8 + exact.text_len())?,
            },
            Value::Reduced(held) => return self.text(value, held, "#<reduced >".len()),
            Value::Ex(body) if !body.data.is_nil() => {
                let around = "#error {:message \"\", :data }".len() + 2 * body.error.message.len();
                return self.text(value, &body.data, around);
            }
            // Any number of integers in a few bytes of memory: counted, not walked.
            Value::Range(range) => {
                let items = usize::try_from(range.count).unwrap_or(usize::MAX);
                self.add(items.saturating_mul(ELEMENT).saturating_add(2))?;
            }
            // Text shows an array like other cells.
            Value::Cell(_) if self.texts > 0 => self.opaque(value)?,
            _ => match Parts::of(value) {
                Some(parts) => return self.open(value, parts, 2 + self.record_name(value)),
                None => self.opaque(value)?,
            },
        }
        Ok(WalkStep::Done)
    }

    fn item(&mut self, open: &mut OpenExtent, _: usize) -> Result<(), ExtentStop> {
        open.before = self.bytes;
        Ok(())
    }

    fn entry(&mut self, open: &mut OpenExtent, _: usize, _: &Value) -> Result<EntryStep, ExtentStop> {
        open.before = self.bytes;
        Ok(EntryStep::Both)
    }

    fn between(&mut self, open: &mut OpenExtent, _: &Value) -> Result<bool, ExtentStop> {
        open.before = self.bytes;
        Ok(true)
    }

    fn after(&mut self, open: &mut OpenExtent) -> Result<(), ExtentStop> {
        self.bytes = self.bytes.max(open.before.saturating_add(ELEMENT));
        self.add(0)
    }

    fn leave(&mut self, open: OpenExtent) -> Result<(), ExtentStop> {
        self.texts -= usize::from(open.is_text);
        self.level -= 1;
        let measured = Measured { bytes: self.bytes - open.outside, levels: self.deepest - self.level };
        self.deepest = self.deepest.max(open.deepest);
        self.sizes().remember(open.place, measured);
        Ok(())
    }

    fn too_deep(&mut self, _: OpenExtent, place: Place<'_>) -> Result<(), ExtentStop> {
        Err(ExtentStop::TooDeep(place.too_deep(self.names)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_take_long_to_find_count_more_than_their_text() {
        let count = |digits: u32| {
            let int = num_bigint::BigInt::from(10).pow(digits);
            extent(&Value::big(int), &Names::default(), usize::MAX).unwrap_or_default()
        };
        assert!((30..60).contains(&count(40)));
        assert!(count(20_000) > 3 * 20_000);
        assert!(count(100_000) > 10 * 100_000);
    }

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
