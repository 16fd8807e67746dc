//! Sorting by the natural order, as primitives of `sort` and `sort-by`.
//!
//! The sort is stable, and a pair without an order is an error, not a panic: the standard library's
//! sort may panic on comparators that contradict themselves, so mixed items go through a merge sort.

use std::cmp::Ordering;

use super::eager::item_shape;
use super::lookup::get_or;
use super::{Builtin, native, registry, sort_keys};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Names;
use crate::signal::{Res, illegal};
use crate::value::order::{compare, compare_numbers};
use crate::value::{Shape, Value, prefetch};

pub(super) static TABLE: &[Builtin] = &[
    native("prim/sort", "[coll]", sort, "The items in natural order.", &[]),
    native(
        "prim/sort-known",
        "[cmp coll]",
        sort_known,
        "The items sorted by a comparator that is built in (< > <= >= compare); nil for others.",
        &[],
    ),
    native("prim/sort-by-keys", "[keys items]", sort_by_keys, "Items in the order of their keys.", &[]),
    native(
        "prim/sort-by-columns",
        "[columns items]",
        sort_by_columns,
        "Items in the order of several keys each, all first keys in the first column.",
        &[],
    ),
    native(
        "prim/sort-by-fields",
        "[cmp keys items]",
        sort_by_fields,
        "Items in the order of what keywords find in them, by a comparator that is built in if there is one keyword.",
        &[],
    ),
    native(
        "prim/sort-by-keys-known",
        "[cmp keys items]",
        sort_by_keys_known,
        "Items in the order that a built-in comparator gives their keys; nil for other comparators.",
        &[],
    ),
];

/// A comparator that natives know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownComparator {
    /// `compare`
    Natural,
    /// `<` and `<=`
    Less,
    /// `>` and `>=`
    Greater,
}

/// Recognises a comparator of the core library.
pub(super) fn known(comparator: &Value) -> Option<KnownComparator> {
    let Value::Builtin(id) = comparator else { return None };
    match registry().get(*id).name {
        "clojure.core/compare" => Some(KnownComparator::Natural),
        "clojure.core/<" | "clojure.core/<=" => Some(KnownComparator::Less),
        "clojure.core/>" | "clojure.core/>=" => Some(KnownComparator::Greater),
        _ => None,
    }
}

impl KnownComparator {
    fn order(self, a: &Value, b: &Value, names: &Names) -> Result<Ordering, Error> {
        match self {
            KnownComparator::Natural => compare(a, b, names),
            KnownComparator::Less => by_number(a, b),
            KnownComparator::Greater => by_number(b, a),
        }
    }
}

/// Like `<`: only numbers have an order, and NaN stands beside every number.
fn by_number(a: &Value, b: &Value) -> Result<Ordering, Error> {
    for value in [a, b] {
        if !matches!(value, Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_)) {
            let error = Error::new(ErrorKind::Type, format!("expected numbers, got {}", value.type_name()));
            return Err(error.hint(
                "sort other values without a comparator, or with compare; #(compare %2 %1) is the descending order",
            ));
        }
    }
    Ok(compare_numbers(a, b).unwrap_or(Ordering::Equal))
}

fn sort(heap: &mut Heap, args: &mut [Value]) -> Res {
    sorted(heap, &args[0], KnownComparator::Natural)
}

fn sort_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    match known(&args[0]) {
        Some(order) => sorted(heap, &args[1], order),
        None => Ok(Value::Nil),
    }
}

fn sorted(heap: &mut Heap, coll: &Value, order: KnownComparator) -> Res {
    heap.realised(coll)?;
    let items = heap.collect(coll)?;
    charge(heap, items.len())?;
    let items = if items.iter().all(|item| matches!(item, Value::Int(_))) {
        sort_ints(items, order)
    } else {
        let keys = items.clone();
        arranged(heap, keys, items, order)?
    };
    heap.allocated(96);
    Ok(Value::seq_from(items, item_shape(coll)))
}

fn charge(heap: &mut Heap, count: usize) -> Res<()> {
    let levels = usize::BITS - count.leading_zeros();
    heap.work(count.saturating_mul(levels as usize) / 4)
}

fn sort_ints(mut items: Vec<Value>, order: KnownComparator) -> Vec<Value> {
    let int = |value: &Value| if let Value::Int(int) = value { *int } else { 0 };
    match order {
        KnownComparator::Greater => items.sort_by_key(|item| std::cmp::Reverse(int(item))),
        _ => items.sort_by_key(int),
    }
    items
}

/// The items in the order of their keys.
fn arranged(heap: &mut Heap, keys: Vec<Value>, items: Vec<Value>, order: KnownComparator) -> Res<Vec<Value>> {
    // Keys once more, as columns of numbers, and positions.
    heap.reserve_values(keys.len() * 6)?;
    let as_numbers = match sort_keys::columns(&keys) {
        Some(columns) if order == KnownComparator::Natural => sort_keys::order(&columns, order),
        Some(_) => None,
        None => {
            let column = [keys];
            let positions = sort_keys::order(&column, order);
            let [keys] = column;
            return match positions {
                Some(positions) => Ok(picked(items, &positions)),
                None => compared(heap, &keys, items, order),
            };
        }
    };
    match as_numbers {
        Some(positions) => Ok(picked(items, &positions)),
        None => compared(heap, &keys, items, order),
    }
}

fn compared(heap: &Heap, keys: &[Value], items: Vec<Value>, order: KnownComparator) -> Res<Vec<Value>> {
    let names = &heap.names;
    let positions: Vec<u32> = (0..).take(items.len()).collect();
    let key = |at: &u32| &keys[*at as usize];
    let positions = merge_sort(positions, |a, b| order.order(key(a), key(b), names))?;
    Ok(picked(items, &positions))
}

fn picked(mut items: Vec<Value>, positions: &[u32]) -> Vec<Value> {
    positions.iter().map(|at| std::mem::take(&mut items[*at as usize])).collect()
}

fn sort_by_keys(heap: &mut Heap, args: &mut [Value]) -> Res {
    by_keys(heap, &args[0], &args[1], KnownComparator::Natural)
}

fn sort_by_keys_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    match known(&args[0]) {
        Some(order) => by_keys(heap, &args[1], &args[2], order),
        None => Ok(Value::Nil),
    }
}

fn by_keys(heap: &mut Heap, keys: &Value, items: &Value, order: KnownComparator) -> Res {
    let shape = item_shape(items);
    heap.realised(keys)?;
    let keys = heap.collect(keys)?;
    let items = heap.collect(items)?;
    if keys.len() != items.len() {
        return illegal("every item needs one key");
    }
    charge(heap, items.len())?;
    Ok(Value::seq_from(arranged(heap, keys, items, order)?, shape))
}

/// The keys need no vectors if they are numbers and short strings.
fn sort_by_columns(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let columns = heap.collect(&args[0])?;
    let columns = columns.iter().map(|column| heap.collect(column)).collect::<Res<Vec<_>>>()?;
    let items = heap.collect(&args[1])?;
    if columns.iter().any(|column| column.len() != items.len()) {
        return illegal("every item needs one key of each");
    }
    let shape = item_shape(&args[1]);
    in_columns(heap, &columns, items, shape)
}

fn in_columns(heap: &mut Heap, columns: &[Vec<Value>], items: Vec<Value>, shape: Shape) -> Res {
    charge(heap, items.len())?;
    heap.reserve_values(items.len() * 2 * columns.len())?;
    if let Some(positions) = sort_keys::order(columns, KnownComparator::Natural) {
        return Ok(Value::seq_from(picked(items, &positions), shape));
    }
    let key = |at: usize| Value::vector(columns.iter().map(|column| column[at].clone()).collect());
    let keys = (0..items.len()).map(key).collect::<Vec<_>>();
    Ok(Value::seq_from(compared(heap, &keys, items, KnownComparator::Natural)?, shape))
}

/// The same with what a keyword finds in each item, or several of them do, as keys.
fn sort_by_fields(heap: &mut Heap, args: &mut [Value]) -> Res {
    let order = match &args[0] {
        Value::Nil => KnownComparator::Natural,
        comparator => known(comparator).unwrap_or(KnownComparator::Natural),
    };
    let shape = item_shape(&args[2]);
    let keys = heap.collect(&args[1])?;
    let items = heap.collect(&args[2])?;
    heap.reserve_values(items.len() * keys.len())?;
    let columns = keys.iter().map(|key| column(heap, &items, key)).collect::<Res<Vec<_>>>()?;
    match <[Vec<Value>; 1]>::try_from(columns) {
        Ok([keys]) => {
            charge(heap, items.len())?;
            Ok(Value::seq_from(arranged(heap, keys, items, order)?, shape))
        }
        Err(columns) => in_columns(heap, &columns, items, shape),
    }
}

/// What a keyword finds in each item.
fn column(heap: &mut Heap, items: &[Value], key: &Value) -> Res<Vec<Value>> {
    heap.work(items.len())?;
    let mut slot = 0;
    let mut found = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        items.get(at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
        let value = match (item, key) {
            (Value::Map(row), Value::Kw(name)) => row.field_near(*name, &mut slot).cloned(),
            _ => None,
        };
        let value = match value {
            Some(value) => value,
            None => get_or(heap, item, key, &Value::Nil)?,
        };
        heap.realised(&value)?;
        found.push(value);
    }
    Ok(found)
}

/// A stable merge sort that ends at the first pair without an order.
pub(super) fn merge_sort<T: Default>(
    mut items: Vec<T>,
    order: impl Fn(&T, &T) -> Result<Ordering, Error>,
) -> Result<Vec<T>, Error> {
    let count = items.len();
    let mut width = 1;
    while width < count {
        let mut merged = Vec::with_capacity(count);
        for start in (0..count).step_by(2 * width) {
            let middle = (start + width).min(count);
            let end = (start + 2 * width).min(count);
            let (mut left, mut right) = (start, middle);
            while left < middle && right < end {
                let from = if order(&items[right], &items[left])?.is_lt() { &mut right } else { &mut left };
                merged.push(std::mem::take(&mut items[*from]));
                *from += 1;
            }
            merged.extend(items[left..middle].iter_mut().map(std::mem::take));
            merged.extend(items[right..end].iter_mut().map(std::mem::take));
        }
        items = merged;
        width *= 2;
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, heap, ints};
    use super::*;

    #[test]
    fn the_natural_order_is_stable_and_says_what_has_none() {
        let heap = &mut heap();
        let mixed = Value::vector(vec![Value::Float(2.5), Value::Nil, Value::Int(1), Value::Int(3)]);
        assert_eq!(answer(heap, "prim/sort", [mixed]), "(nil 1 2.5 3)");
        let keys = ints([2, 1, 2, 1]);
        let items = Value::vector(["a", "b", "c", "d"].map(Value::str).to_vec());
        assert_eq!(answer(heap, "prim/sort-by-keys", [keys, items]), "(\"b\" \"d\" \"a\" \"c\")");
        let no_order = Value::vector(vec![Value::Int(1), Value::str("a")]);
        assert_eq!(answer(heap, "prim/sort", [no_order]), "type_error");
    }

    #[test]
    fn a_contradicting_order_ends_without_a_panic() {
        let order =
            |a: &i64, b: &i64| Ok(if (a * 7 + b * 13) % 3 == 0 { Ordering::Less } else { Ordering::Greater });
        let sorted = merge_sort((0..1000).collect(), order).expect("every pair has an answer");
        assert_eq!(sorted.iter().sum::<i64>(), 499_500);
    }
}
