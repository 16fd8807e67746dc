//! Sorted maps and sets: arrays kept in order.
//!
//! Collections ordered by `compare` (or its reverse) are handled here. One with a comparator function
//! of the program is left to the core library: natives cannot call functions, so they ask the machine
//! to call `ptc.impl/sorted-…` in their place.

use std::cmp;
use std::rc::Rc;

use super::maps::{ENTRY, entries_of, pairs};
use super::sorting::{KnownComparator, known};
use super::vectors::{BODY, charge_copy, take_from};
use super::{Builtin, args, native, registry};
use crate::ErrorKind;
use crate::error::Error;
use crate::heap::Heap;
use crate::names::Names;
use crate::signal::{Res, Signal, illegal, raise};
use crate::value::order::compare;
use crate::value::{Ordering, SortedObj, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/sorted-map",
        "[& kvs]",
        sorted_map,
        "A map of alternating keys and values, kept in the order of its keys.",
        &[("(sorted-map :b 1 :a 2)", "{:a 2, :b 1}")],
    ),
    native(
        "clojure.core/sorted-set",
        "[& items]",
        sorted_set,
        "A set of the arguments, kept in order.",
        &[("(sorted-set 3 1 2)", "#{1 2 3}")],
    ),
    native("prim/sorted-entries", "[s]", entries, "The entries of a sorted collection as a vector.", &[]),
    native("prim/sorted-comparator", "[s]", comparator, "The comparator of a sorted collection.", &[]),
    native("prim/sorted-from", "[entries cmp set?]", from, "A sorted collection of ordered entries.", &[]),
    native("prim/sorted-by?", "[s]", is_by, "Whether only its comparator can search a collection.", &[]),
    native("prim/sorted-set?", "[s]", is_set, "Whether a sorted collection is a set.", &[]),
];

/// Whether only the core library can search it.
pub(super) fn has_function(body: &SortedObj) -> bool {
    matches!(body.ordering, Ordering::By(_))
}

/// The request to call a function of the core library.
pub(super) fn call(name: &str, args: Vec<Value>) -> Box<Signal> {
    match registry().qualified(name) {
        Some(id) => Signal::Call(Value::Builtin(id), args).into(),
        None => Error::new(ErrorKind::Runtime, format!("{name} is missing from the core library")).into(),
    }
}

/// Where `key` is, or where it belongs.
fn position(body: &SortedObj, key: &Value, names: &Names) -> Result<Result<usize, usize>, Error> {
    let mut failed = None;
    let found = body.entries.binary_search_by(|(other, _)| {
        let order = compare(other, key, names).unwrap_or_else(|error| {
            failed = Some(error);
            cmp::Ordering::Equal
        });
        if matches!(body.ordering, Ordering::Reverse) { order.reverse() } else { order }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// The entry of exactly this key.
pub(super) fn entry<'b>(body: &'b SortedObj, key: &Value, names: &Names) -> Option<&'b (Value, Value)> {
    let at = position(body, key, names).ok()?.ok()?;
    body.entries.get(at)
}

/// Sets a key; a key that is there stays as it is.
fn insert(body: &mut SortedObj, key: Value, value: Value, heap: &mut Heap) -> Res<()> {
    // An empty collection has nothing to compare the key with, but it must be comparable.
    if body.entries.is_empty() {
        compare(&key, &key, &heap.names)?;
    }
    body.shape.include(&key);
    body.shape.include(&value);
    match position(body, &key, &heap.names)? {
        Ok(at) => body.entries[at].1 = value,
        Err(at) => {
            heap.work((body.entries.len() - at) / 16)?;
            heap.allocated(ENTRY);
            body.entries.insert(at, (key, value));
        }
    }
    Ok(())
}

fn insert_all(heap: &mut Heap, args: &mut [Value], new: Vec<(Value, Value)>) -> Res {
    for (key, _) in &new {
        heap.realised(key)?;
    }
    charge_copy(heap, &args[0])?;
    if let Value::Sorted(body) = &args[0] {
        heap.may_take(&body.entries, new.len())?;
    }
    let Value::Sorted(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let inner = Rc::make_mut(&mut body);
    heap.work(new.len() * 4)?;
    if inner.entries.is_empty() {
        // Most are small, and room for four would take twice what is counted.
        inner.entries.reserve_exact(new.len());
    }
    for (key, value) in new {
        insert(inner, key, value, heap)?;
    }
    Ok(Value::Sorted(body))
}

fn ask_core(args: &mut [Value], new: Vec<(Value, Value)>) -> Res {
    if new.is_empty() {
        return Ok(args::take(args, 0));
    }
    let mut call_args = vec![args::take(args, 0)];
    call_args.extend(new.into_iter().flat_map(|(key, value)| [key, value]));
    Err(call("ptc.impl/sorted-assoc", call_args))
}

/// `assoc` to a sorted map.
pub(super) fn assoc(heap: &mut Heap, args: &mut [Value]) -> Res {
    if matches!(&args[0], Value::Sorted(body) if has_function(body)) {
        return Err(call("ptc.impl/sorted-assoc", take_from(args, 0)));
    }
    let new = pairs(args[1..].to_vec()).collect();
    insert_all(heap, args, new)
}

/// `conj` to a sorted map or set.
pub(super) fn conj_sorted(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Sorted(body) = &args[0] else { return Ok(Value::Nil) };
    let by_function = has_function(body);
    let mut new = Vec::with_capacity(args.len());
    if body.is_set {
        new.extend(args[1..].iter().map(|item| (item.clone(), Value::Nil)));
    } else {
        for item in &args[1..] {
            entries_of(heap, item, &mut new)?;
        }
    }
    if by_function { ask_core(args, new) } else { insert_all(heap, args, new) }
}

/// `dissoc` from a sorted map, `disj` from a sorted set.
pub(super) fn remove(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() == 1 {
        return Ok(args::take(args, 0));
    }
    if matches!(&args[0], Value::Sorted(body) if has_function(body)) {
        return Err(call("ptc.impl/sorted-dissoc", take_from(args, 0)));
    }
    charge_copy(heap, &args[0])?;
    let Value::Sorted(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let inner = Rc::make_mut(&mut body);
    for key in &args[1..] {
        if let Ok(at) = position(inner, key, &heap.names)? {
            heap.work((inner.entries.len() - at) / 16)?;
            inner.entries.remove(at);
        }
    }
    Ok(Value::Sorted(body))
}

fn need(args: &[Value]) -> Res<&Rc<SortedObj>> {
    match &args[0] {
        Value::Sorted(body) => Ok(body),
        _ => args::fail(args, 0, "a sorted map or set"),
    }
}

fn entries(heap: &mut Heap, args: &mut [Value]) -> Res {
    let count = need(args)?.entries.len();
    heap.work(count)?;
    heap.reserve(count * BODY)?;
    let entries = need(args)?.entries.iter().map(|(key, value)| Value::entry(key.clone(), value.clone()));
    Ok(Value::vector(entries.collect()))
}

fn comparator(_: &mut Heap, args: &mut [Value]) -> Res {
    let name = match &need(args)?.ordering {
        Ordering::By(function) => return Ok(function.clone()),
        Ordering::Natural => "clojure.core/compare",
        Ordering::Reverse => "clojure.core/>",
    };
    Ok(registry().qualified(name).map_or(Value::Nil, Value::Builtin))
}

fn from(heap: &mut Heap, args: &mut [Value]) -> Res {
    let ordering = match known(&args[1]) {
        Some(KnownComparator::Natural | KnownComparator::Less) => Ordering::Natural,
        Some(KnownComparator::Greater) => Ordering::Reverse,
        None => Ordering::By(args[1].clone()),
    };
    let mut entries = Vec::new();
    for entry in heap.collect(&args[0])? {
        let Value::Vec(body) = &entry else { return illegal("expected entries") };
        let [key, value] = &*body.items else { return illegal("expected entries") };
        entries.push((key.clone(), value.clone()));
    }
    heap.allocated(BODY + entries.len() * ENTRY);
    Ok(Value::sorted(entries, ordering, args[2].truthy()))
}

fn is_by(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(&args[0], Value::Sorted(body) if has_function(body))))
}

fn is_set(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(&args[0], Value::Sorted(body) if body.is_set)))
}

fn sorted_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() % 2 == 1 {
        return raise(ErrorKind::IllegalArgument, "the last key has no value: keys and values come in pairs");
    }
    build(heap, pairs(args.to_vec()).collect(), false)
}

fn sorted_set(heap: &mut Heap, args: &mut [Value]) -> Res {
    build(heap, args.iter().map(|item| (item.clone(), Value::Nil)).collect(), true)
}

/// A sorted collection of entries in any order, by the natural one.
fn build(heap: &mut Heap, entries: Vec<(Value, Value)>, is_set: bool) -> Res {
    let mut empty = [Value::sorted(Vec::new(), Ordering::Natural, is_set)];
    insert_all(heap, &mut empty, entries)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call as run, heap};
    use super::*;

    #[test]
    fn sorted_collections_keep_their_order_and_refuse_what_has_none() {
        let heap = &mut heap();
        let ints = |ints: &[i64]| ints.iter().copied().map(Value::Int).collect::<Vec<_>>();
        let set = run(heap, "clojure.core/sorted-set", ints(&[3, 1, 2, 3])).map_err(|_| ()).expect("a set");
        assert_eq!(heap.show(&set), "#{1 2 3}");
        assert_eq!(answer(heap, "clojure.core/conj", [set.clone(), Value::Int(0)]), "#{0 1 2 3}");
        assert_eq!(answer(heap, "clojure.core/disj", [set.clone(), Value::Int(2)]), "#{1 3}");
        assert_eq!(answer(heap, "clojure.core/get", [set.clone(), Value::Int(2)]), "2");
        assert_eq!(answer(heap, "clojure.core/contains?", [set.clone(), Value::str("a")]), "false");
        assert_eq!(answer(heap, "clojure.core/conj", [set.clone(), Value::str("a")]), "type_error");
        let key = heap.keyword("k");
        let map = run(heap, "clojure.core/sorted-map", [key.clone(), Value::Int(1)])
            .map_err(|_| ())
            .expect("a map");
        assert_eq!(answer(heap, "clojure.core/get", [map.clone(), Value::str("k")]), "1");
        assert_eq!(answer(heap, "clojure.core/dissoc", [map, key]), "{}");
    }
}
