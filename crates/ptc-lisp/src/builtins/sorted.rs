//! Sorted maps and sets: arrays kept in order.
//!
//! Collections ordered by `compare` (or its reverse) are handled here. One with a comparator function
//! of the program is left to the core library: natives cannot call functions, so they ask the machine
//! to call `ptc.impl/sorted-…` in their place.

use std::cmp;
use std::rc::Rc;

use super::maps::{ENTRY, entries_of, pairs};
use super::vectors::{charge_copy, take_from};
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
    let Value::Sorted(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let inner = Rc::make_mut(&mut body);
    heap.work(new.len() * 4)?;
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

fn sorted_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() % 2 == 1 {
        return raise(ErrorKind::IllegalArgument, "the last key has no value: keys and values come in pairs");
    }
    build(heap, pairs(args.to_vec()).collect(), Ordering::Natural, false)
}

fn sorted_set(heap: &mut Heap, args: &mut [Value]) -> Res {
    build(heap, args.iter().map(|item| (item.clone(), Value::Nil)).collect(), Ordering::Natural, true)
}

/// A sorted collection of entries in any order, by a native ordering.
pub(super) fn build(heap: &mut Heap, entries: Vec<(Value, Value)>, ordering: Ordering, is_set: bool) -> Res {
    if matches!(ordering, Ordering::By(_)) {
        return illegal("a comparator function must be applied by the core library");
    }
    let mut all = [Value::sorted(Vec::new(), ordering, is_set)];
    insert_all(heap, &mut all, entries)
}
