//! Writing: `assoc`, `dissoc`, `conj` to maps and `merge`.
//!
//! A key writes the entry that reading it finds ([`lookup::other_slot`]); functions that copy entries, whose keys are
//! data, write exactly.

use std::rc::Rc;

use super::{ENTRY, part_of_entry};
use crate::builtins::access::{first_of, out_of_bounds};
use crate::builtins::vectors::{BODY, charge_copy, conj, may_append, take_from};
use crate::builtins::{args, lookup, sorted};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Names;
use crate::signal::Res;
use crate::value::{Map, Shared, Value, VecObj};

/// Sets keys of a map or indexes of a vector.
pub(in crate::builtins) fn assoc(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len().is_multiple_of(2) {
        let hint = "write (assoc coll key value …): every key needs a value";
        let error = Error::new(ErrorKind::IllegalArgument, "the last key has no value");
        return Err(error.hint(hint).into());
    }
    heap.work(args.len() / 2)?;
    for at in (1..args.len()).step_by(2) {
        heap.realised(&args[at])?;
    }
    match &args[0] {
        Value::Nil => {
            heap.allocated(BODY + args.len() * ENTRY);
            Ok(Value::map_of(pairs(take_from(args, 1))))
        }
        Value::Map(_) => assoc_map(heap, args, lookup::other_slot),
        Value::Vec(_) => assoc_vector(heap, args),
        Value::Sorted(body) if !body.is_set => {
            for at in (1..args.len()).step_by(2) {
                if let Some(other) = lookup::other_key(&args[0], &args[at], &heap.names) {
                    args[at] = other;
                }
            }
            sorted::assoc(heap, args)
        }
        _ => args::fail(args, 0, "a map, vector or nil"),
    }
}

/// The value that [`assoc`] with a key replaces.
pub(super) fn old(heap: &mut Heap, args: &mut [Value]) -> Res {
    let other = lookup::other_key(&args[0], &args[1], &heap.names);
    let found = lookup::find_exact(heap, &args[0], other.as_ref().unwrap_or(&args[1]))?;
    Ok(found.unwrap_or_default())
}

/// Sets exactly this key of a map: for functions that copy entries, whose keys are data.
pub(super) fn assoc_exact(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Map(_) => {
            heap.work(1)?;
            heap.realised(&args[1])?;
            assoc_map(heap, args, |_, _, _| None)
        }
        _ => assoc(heap, args),
    }
}

/// The items two by two.
pub(in crate::builtins) fn pairs(items: Vec<Value>) -> impl Iterator<Item = (Value, Value)> {
    let mut items = items.into_iter();
    std::iter::from_fn(move || Some((items.next()?, items.next()?)))
}

fn assoc_map(
    heap: &mut Heap,
    args: &mut [Value],
    elsewhere: impl Fn(&Map, &Value, &Names) -> Option<usize>,
) -> Res {
    charge_copy(heap, &args[0])?;
    heap.allocated(args.len() / 2 * ENTRY);
    let Value::Map(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    for at in (1..args.len()).step_by(2) {
        let key = args::take(args, at);
        body.insert_where(key, args::take(args, at + 1), |map, key| elsewhere(map, key, &heap.names));
    }
    Ok(Value::Map(body))
}

fn insert_all(heap: &mut Heap, args: &mut [Value], new: Vec<(Value, Value)>) -> Res {
    charge_copy(heap, &args[0])?;
    heap.allocated(new.len() * ENTRY);
    let Value::Map(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    for (key, value) in new {
        body.insert(key, value);
    }
    Ok(Value::Map(body))
}

fn assoc_vector(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Vec(body) = &args[0] else { return Ok(Value::Nil) };
    // All indexes are checked before anything is taken: a transient must survive a wrong one.
    let mut count = body.items.len();
    for key in args[1..].iter().step_by(2) {
        let at = index_of(body, key, count)?;
        count = count.max(at + 1);
    }
    charge_copy(heap, &args[0])?;
    may_append(heap, &args[0], count - body.items.len())?;
    heap.allocated(size_of_val(args));
    let Value::Vec(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    for (key, value) in pairs(take_from(args, 1)) {
        set_item(&mut body, &key, value)?;
    }
    Ok(Value::Vec(body))
}

/// An index up to `count`, where one more item can be appended.
fn index_of(body: &Shared<VecObj>, key: &Value, count: usize) -> Res<usize> {
    let Value::Int(index) = key else {
        let message = format!("the index of a vector must be an integer, got {}", key.type_name());
        let error = Error::new(ErrorKind::IllegalArgument, message);
        let rows = matches!((key, body.items.first()), (Value::Kw(_), Some(Value::Map(_))));
        return Err(if rows {
            error.hint("to change every row write (map #(assoc % :key x) rows)")
        } else {
            error
        }
        .into());
    };
    match usize::try_from(*index) {
        Ok(at) if at <= count => Ok(at),
        _ => {
            let error = out_of_bounds(*index, &Value::Vec(body.clone()));
            Err(error.hint("(conj coll x) adds at the end").into())
        }
    }
}

/// Replaces the item of a vector, or appends at the index after the last.
pub(in crate::builtins) fn set_item(body: &mut Shared<VecObj>, key: &Value, value: Value) -> Res<()> {
    let at = index_of(body, key, body.items.len())?;
    let inner = Rc::make_mut(body);
    inner.entry = false;
    inner.shape.include(&value);
    match inner.items.get_mut(at) {
        Some(slot) => *slot = value,
        None => inner.items.push(value),
    }
    Ok(())
}

/// Removes keys of a map.
pub(in crate::builtins) fn dissoc(heap: &mut Heap, args: &mut [Value]) -> Res {
    for key in &args[1..] {
        heap.realised(key)?;
    }
    heap.work(args.len())?;
    for at in 1..args.len() {
        if let Some(other) = lookup::other_key(&args[0], &args[at], &heap.names) {
            args[at] = other;
        }
    }
    dissoc_exact(heap, args)
}

pub(super) fn dissoc_exact(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Map(body) => {
            if !args[1..].iter().any(|key| body.contains(key)) {
                return Ok(args::take(args, 0));
            }
            charge_copy(heap, &args[0])?;
            let Value::Map(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
            for key in &args[1..] {
                body.remove(key);
            }
            // A record without one of its fields is a plain map.
            if body.record().is_some() {
                body.set_record(None);
            }
            Ok(Value::Map(body))
        }
        Value::Sorted(body) if !body.is_set => sorted::remove(heap, args),
        Value::Vec(body) => {
            let error = args::wrong(args, 0, "a map");
            let of_rows = matches!(body.items.first(), Some(Value::Map(_)));
            let hint =
                match of_rows && args[1..].iter().any(|key| matches!(key, Value::Kw(_) | Value::Str(_))) {
                    true => "to drop a key of every row write (map #(dissoc % :key) rows)",
                    false => "to drop an item of a vector use subvec or filterv",
                };
            Err(error.hint(hint).into())
        }
        Value::Set(_) | Value::Sorted(_) => {
            Err(args::wrong(args, 0, "a map").hint("use disj for sets").into())
        }
        Value::Seq(body) if matches!(body.as_slice().first(), Some(Value::Map(_))) => {
            let hint = "to drop a key of every row write (map #(dissoc % :key) rows)";
            Err(args::wrong(args, 0, "a map or nil").hint(hint).into())
        }
        _ => args::fail(args, 0, "a map or nil"),
    }
}

/// `conj` to a map: entries, maps and nil.
pub(in crate::builtins) fn conj_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut new = Vec::with_capacity(args.len());
    for item in &args[1..] {
        entries_of(heap, item, &mut new)?;
    }
    for (key, _) in &new {
        heap.realised(key)?;
    }
    insert_all(heap, args, new)
}

/// The entries that `conj` adds to a map for one item.
pub(in crate::builtins) fn entries_of(
    heap: &mut Heap,
    item: &Value,
    out: &mut Vec<(Value, Value)>,
) -> Res<()> {
    let cloned = |(key, value): (&Value, &Value)| (key.clone(), value.clone());
    match item {
        Value::Nil => {}
        Value::Vec(body) if body.items.len() == 2 => out.push((body.items[0].clone(), body.items[1].clone())),
        Value::Map(body) => {
            heap.work(body.len())?;
            heap.reserve(body.len() * 2 * size_of::<Value>())?;
            out.extend(body.iter().map(cloned));
        }
        Value::Sorted(body) if !body.is_set => {
            heap.work(body.entries.len())?;
            out.extend(body.entries.iter().cloned());
        }
        Value::Seq(_) | Value::Cons(_) | Value::Lazy(_) => {
            // An endless sequence is no map either, so the first item decides.
            part_of_entry(&first_of(item)?, 0)?;
            for entry in heap.collect(item)? {
                out.push((part_of_entry(&entry, 0)?, part_of_entry(&entry, 1)?));
            }
        }
        _ => {
            let what = match item {
                Value::Vec(body) => format!("a vector of {} items", body.items.len()),
                _ => heap.brief(item),
            };
            let error =
                Error::new(ErrorKind::Type, format!("expected a [key value] entry or a map, got {what}"));
            return Err(error.into());
        }
    }
    Ok(())
}

pub(super) fn merge(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !args.iter().any(Value::truthy) {
        return Ok(Value::Nil);
    }
    if !args[0].truthy() {
        args[0] = Value::Map(Map::default());
    }
    if !matches!(args[0], Value::Map(_)) {
        return conj(heap, args);
    }
    let (mut new, mut ends) = (Vec::with_capacity(args.len()), Vec::with_capacity(args.len()));
    for item in &args[1..] {
        entries_of(heap, item, &mut new)?;
        ends.push(new.len());
    }
    for (key, _) in &new {
        heap.realised(key)?;
    }
    charge_copy(heap, &args[0])?;
    heap.allocated(new.len() * ENTRY);
    let Value::Map(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let mut new = new.into_iter().enumerate().peekable();
    for end in ends {
        // Keys of one map are different keys, however they are spelled.
        let before = body.slots().len();
        while let Some((_, (key, value))) = new.next_if(|(at, _)| *at < end) {
            body.insert_where(key, value, |map, key| {
                lookup::other_slot(map, key, &heap.names).filter(|at| *at < before)
            });
        }
    }
    Ok(Value::Map(body))
}
