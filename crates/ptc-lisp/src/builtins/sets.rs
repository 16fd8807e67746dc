//! Sets and relations.

use std::rc::Rc;

use super::vectors::{BODY, charge_copy, take_from};
use super::{Builtin, args, native, sorted};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{SetObj, Table, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/hash-set",
        "[& items]",
        hash_set,
        "A set of the arguments.",
        &[("(hash-set 1 2 1)", "#{1 2}")],
    ),
    native(
        "clojure.core/set",
        "[coll]",
        set,
        "The different items of a collection or string as a set.",
        &[("(set [1 2 1])", "#{1 2}"), ("(set nil)", "#{}")],
    ),
    native(
        "clojure.core/disj",
        "[set & items]",
        disj,
        "A set without some members.",
        &[("(disj #{1 2} 1)", "#{2}")],
    ),
    native(
        "clojure.core/disj!",
        "[set & items]",
        disj,
        "Same as disj.",
        &[("(persistent! (disj! (transient #{1 2}) 1))", "#{2}")],
    ),
];

/// Bytes counted for one more member.
const MEMBER: usize = 48;

fn hash_set(heap: &mut Heap, args: &mut [Value]) -> Res {
    for item in args.iter() {
        heap.realised(item)?;
    }
    heap.work(args.len())?;
    heap.allocated(BODY + args.len() * MEMBER);
    Ok(Value::set_of(take_from(args, 0)))
}

fn set(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Set(body) = &args[0] {
        if body.meta.is_none() {
            return Ok(args::take(args, 0));
        }
        charge_copy(heap, &args[0])?;
        return Ok(args::take(args, 0).with_meta(None).unwrap_or_default());
    }
    heap.realised(&args[0])?;
    let items = heap.collect(&args[0])?;
    heap.reserve(items.len() * MEMBER)?;
    Ok(Value::set_of(items))
}

/// Adds members to a set.
pub(super) fn conj_set(heap: &mut Heap, args: &mut [Value]) -> Res {
    for item in &args[1..] {
        heap.realised(item)?;
    }
    charge_copy(heap, &args[0])?;
    let Value::Set(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let inner = Rc::make_mut(&mut body);
    for item in take_from(args, 1) {
        heap.allocated(MEMBER);
        insert(inner, item);
    }
    Ok(Value::Set(body))
}

/// Adds a member, keeping the shape right; a member that is there stays as it is.
pub(super) fn insert(set: &mut SetObj, item: Value) {
    set.shape.include(&item);
    set.table.insert(item, ());
}

fn disj(heap: &mut Heap, args: &mut [Value]) -> Res {
    for item in &args[1..] {
        heap.realised(item)?;
    }
    heap.work(args.len())?;
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Set(body) => {
            if !args[1..].iter().any(|item| body.table.contains(item)) {
                return Ok(args::take(args, 0));
            }
            charge_copy(heap, &args[0])?;
            let Value::Set(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
            let table: &mut Table<()> = &mut Rc::make_mut(&mut body).table;
            for item in &args[1..] {
                table.remove(item);
            }
            Ok(Value::Set(body))
        }
        Value::Sorted(body) if body.is_set => sorted::remove(heap, args),
        _ => args::fail(args, 0, "a set or nil"),
    }
}
