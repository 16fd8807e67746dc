//! Equality.
//!
//! `=` is loose about numbers: 1 equals 1.0 and 1/2 equals 0.5, also inside vectors and map values. Keys of maps and
//! members of sets are matched strictly, so `{1 :a 1.0 :b}` has two entries.

use std::cmp::Ordering;
use std::rc::Rc;

use num_traits::ToPrimitive;

use super::meter::{address, noted};
use super::order::{big_with_float, words};
use super::{Items, Map, Meter, SortedObj, Table, Text, Value, ledger};
use crate::exact::Exact;

/// `=`: structural, numbers by value.
pub fn equals(a: &Value, b: &Value) -> bool {
    noted(|meter| equals_within(a, b, meter)).unwrap_or(true)
}

/// `=` as far as the meter goes; the answer means nothing once the meter is used up.
pub fn equals_within(a: &Value, b: &Value, meter: &mut Meter) -> bool {
    same(a, b, false, meter)
}

/// Whether two values are the same key: structural, numbers by type and value.
#[inline]
pub fn same_key(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Kw(a), Value::Kw(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => same_text(a, b),
        _ if a.is_scalar() != b.is_scalar() => false,
        _ => same_parts_of_keys(a, b),
    }
}

/// Whether two values are one and the same, or scalars that no program can tell apart.
pub fn is_same(a: &Value, b: &Value) -> bool {
    match (address(a), address(b)) {
        (None, None) => same_key(a, b),
        (a, b) => a == b,
    }
}

#[inline]
fn same_text(a: &Text, b: &Text) -> bool {
    if let (Text::Long(x), Text::Long(y)) = (a, b)
        && x.len() == y.len()
    {
        ledger::note((x.len() / 64) as u64);
    }
    a.is(b)
}

fn same_parts_of_keys(a: &Value, b: &Value) -> bool {
    let left = ledger::left();
    if left == 0 {
        // The program is over, and whoever looks for a key among many has found it: NaN is unlike all others of its hash.
        ledger::note(1);
        return true;
    }
    let mut meter = Meter::new(left);
    let same = same(a, b, true, &mut meter);
    ledger::note(meter.used() as u64);
    same
}

fn same(a: &Value, b: &Value, strict: bool, meter: &mut Meter) -> bool {
    if !meter.step(1) {
        return false;
    }
    let pair = meter.pair(a, b, strict);
    if pair.is_some_and(|pair| meter.is_known(pair)) {
        return true;
    }
    let same = meter.enter() && same_parts(a, b, strict, meter);
    meter.leave();
    if let Some(pair) = pair
        && same
    {
        meter.remember(pair);
    }
    same
}

/// Decimals are equal by value, ratios in lowest terms by their parts, and one never equals the other.
fn same_exact(a: &Exact, b: &Exact) -> bool {
    match (a, b) {
        (Exact::Decimal(a), Exact::Decimal(b)) => a.compare(b).is_eq(),
        (Exact::Ratio(a), Exact::Ratio(b)) => a == b,
        _ => false,
    }
}

fn same_parts(a: &Value, b: &Value, strict: bool, meter: &mut Meter) -> bool {
    match (a, b) {
        (Value::Nil, Value::Nil) | (Value::Unbound, Value::Unbound) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            !strict && int_equals_float(*int, *float)
        }
        (Value::Big(a), Value::Big(b)) => meter.step(words(a)) && a == b,
        (Value::Big(_), Value::Int(_)) | (Value::Int(_), Value::Big(_)) => a.as_i64() == b.as_i64(),
        (Value::Big(big), Value::Float(float)) | (Value::Float(float), Value::Big(big)) => {
            !strict && big_with_float(big, *float) == Some(Ordering::Equal)
        }
        (Value::Decimal(a), Value::Decimal(b)) => meter.step(a.words()) && same_exact(a, b),
        (Value::Decimal(exact), Value::Float(float)) | (Value::Float(float), Value::Decimal(exact)) => {
            !strict && exact.ratio().is_some_and(|ratio| ratio.to_f64() == *float)
        }
        (Value::Kw(a), Value::Kw(b)) | (Value::Sym(a), Value::Sym(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => meter.step(a.byte_len() / 8) && a.is(b),
        (Value::Map(a), Value::Map(b)) => {
            a.is(b) || (a.record() == b.record() && same_maps(a, b, strict, meter))
        }
        (Value::Map(map), Value::Sorted(sorted)) | (Value::Sorted(sorted), Value::Map(map)) => {
            !sorted.is_set && map.record().is_none() && same_sorted_map(sorted, map, strict, meter)
        }
        (Value::Set(a), Value::Set(b)) => {
            Rc::ptr_eq(a, b)
                || (a.table.len() == b.table.len() && a.table.keys().all(|key| has(&b.table, key, meter)))
        }
        (Value::Set(set), Value::Sorted(sorted)) | (Value::Sorted(sorted), Value::Set(set)) => {
            sorted.is_set
                && set.table.len() == sorted.entries.len()
                && sorted.entries.iter().all(|(key, _)| has(&set.table, key, meter))
        }
        (Value::Sorted(a), Value::Sorted(b)) => a.is_set == b.is_set && same_sorted(a, b, strict, meter),
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Tool(a), Value::Tool(b))
        | (Value::Var(a), Value::Var(b))
        | (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Fn(a), Value::Fn(b)) => Rc::ptr_eq(a, b),
        (Value::Cell(a), Value::Cell(b)) => Rc::ptr_eq(a, b),
        (Value::Ex(a), Value::Ex(b)) => Rc::ptr_eq(a, b),
        (Value::Regex(a), Value::Regex(b)) => a.source == b.source,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::Reduced(a), Value::Reduced(b)) => same(a, b, strict, meter),
        _ => a.is_sequential() && b.is_sequential() && same_items(a, b, strict, meter),
    }
}

fn int_equals_float(int: i64, float: f64) -> bool {
    float == int as f64 && float.to_i128() == Some(i128::from(int))
}

fn same_maps(a: &Map, b: &Map, strict: bool, meter: &mut Meter) -> bool {
    a.len() == b.len()
        && a.iter().all(|(key, x)| find(b, key, meter).is_some_and(|y| same(x, y, strict, meter)))
}

fn same_sorted_map(sorted: &SortedObj, map: &Map, strict: bool, meter: &mut Meter) -> bool {
    sorted.entries.len() == map.len()
        && sorted
            .entries
            .iter()
            .all(|(key, x)| find(map, key, meter).is_some_and(|y| same(x, y, strict, meter)))
}

fn find<'m>(map: &'m Map, key: &Value, meter: &mut Meter) -> Option<&'m Value> {
    map.get_by(key, |a, b| same(a, b, true, meter))
}

fn has(table: &Table<()>, key: &Value, meter: &mut Meter) -> bool {
    table.get_by(key, |a, b| same(a, b, true, meter)).is_some()
}

/// Two sorted collections mostly have the same order, so the same position is tried before a search.
fn same_sorted(a: &SortedObj, b: &SortedObj, strict: bool, meter: &mut Meter) -> bool {
    if a.entries.len() != b.entries.len() {
        return false;
    }
    a.entries.iter().zip(&b.entries).all(|((key, x), across)| {
        let mut candidates = std::iter::once(across).chain(&b.entries);
        let found = candidates.find(|(other, _)| same(key, other, true, meter));
        found.is_some_and(|(_, y)| same(x, y, strict, meter))
    })
}

/// Element by element. Lazy sequences inside must be realised; what is not counts as the end.
fn same_items(a: &Value, b: &Value, strict: bool, meter: &mut Meter) -> bool {
    if let (Value::Vec(a), Value::Vec(b)) = (a, b) {
        return Rc::ptr_eq(a, b)
            || (a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(x, y)| same(x, y, strict, meter)));
    }
    let (Some(mut a), Some(mut b)) = (Items::over(a), Items::over(b)) else { return false };
    loop {
        match (a.next().ok().flatten(), b.next().ok().flatten()) {
            (None, None) => return true,
            (Some(x), Some(y)) if same(&x, &y, strict, meter) => {}
            _ => return false,
        }
    }
}

impl Value {
    /// Whether it is an ordered collection: vector, list or other sequence.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use crate::value::hash::stable_hash;
    use crate::value::order;

    fn hash(value: &Value) -> i64 {
        stable_hash(value, u64::MAX).0
    }

    /// A value that is a tree of 2^`levels` leaves, though its parts are shared.
    fn doubled(levels: usize, wrap: fn(Value) -> Value) -> Value {
        (0..levels).fold(Value::Int(1), |inner, _| wrap(inner))
    }

    fn pair(inner: Value) -> Value {
        Value::vector(vec![inner.clone(), inner])
    }

    #[test]
    fn shared_parts_are_walked_once() {
        let wraps: [fn(Value) -> Value; 5] = [
            pair,
            |inner| Value::list(vec![inner.clone(), inner]),
            |inner| Value::map_of([(Value::Int(1), inner.clone()), (Value::Int(2), inner)]),
            |inner| Value::map_of([(inner.clone(), Value::Nil), (pair(inner), Value::Nil)]),
            |inner| Value::set_of([inner.clone(), pair(inner)]),
        ];
        for wrap in wraps {
            let (a, b) = (doubled(200, wrap), doubled(200, wrap));
            let mut meter = Meter::new(100_000);
            assert!(equals_within(&a, &b, &mut meter));
            assert!(meter.used() < 100_000);
            assert!(same_key(&a, &b));
            assert_eq!(hash(&a), hash(&b));
        }
        let (a, b) = (doubled(200, pair), doubled(200, pair));
        assert!(order::compare(&a, &b, &Names::default()).is_ok_and(Ordering::is_eq));
    }

    #[test]
    fn a_walk_ends_at_its_limit() {
        let long = |last: i64| Value::vector((0..1000).chain([last]).map(Value::Int).collect());
        let mut meter = Meter::new(100);
        assert!(!equals_within(&long(1), &long(1), &mut meter));
        assert!(meter.used() > 100);
        assert!(equals(&long(1), &long(1)) && !equals(&long(1), &long(2)));
    }

    #[test]
    fn equal_values_of_different_types_hash_alike() {
        let items = || (0..100).map(Value::Int);
        let sequences = [
            Value::vector(items().collect()),
            Value::list(items().collect()),
            crate::value::RangeObj::value(0, 1, 100),
        ];
        for other in &sequences {
            assert!(same_key(&sequences[0], other));
            assert_eq!(hash(&sequences[0]), hash(other));
        }
        let entries = |order: [i64; 3]| Value::map_of(order.map(|n| (Value::Int(n), pair(Value::Int(n)))));
        let maps = [entries([1, 2, 3]), entries([3, 1, 2])];
        assert!(same_key(&maps[0], &maps[1]));
        assert_eq!(hash(&maps[0]), hash(&maps[1]));
    }

    #[test]
    fn integers_equal_only_the_floats_that_are_exactly_them() {
        let big = |text: &str| Value::big(text.parse().expect("an integer"));
        let cases = [
            (Value::Int(1), 1.0, true),
            (Value::Int(9_007_199_254_740_993), 9_007_199_254_740_992.0, false),
            (big("18446744073709551616"), 18_446_744_073_709_551_616.0, true),
            (big("18446744073709551617"), 18_446_744_073_709_551_616.0, false),
            (big("18446744073709551616"), f64::INFINITY, false),
            (big("18446744073709551616"), f64::NAN, false),
        ];
        for (int, float, expected) in cases {
            assert_eq!(equals(&int, &Value::Float(float)), expected, "{int:?} {float}");
            assert!(!same_key(&int, &Value::Float(float)));
        }
    }
}
