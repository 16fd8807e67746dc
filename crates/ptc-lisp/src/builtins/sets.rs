//! Sets and their operations.

use std::rc::Rc;

use super::chain_part::ChainPart;
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
    )
    .in_chains(ChainPart::Set),
    native(
        "clojure.core/disj",
        "[set & items]",
        disj,
        "A set without some members.",
        &[("(disj #{1 2} 1)", "#{2}")],
    ),
    native(
        "clojure.set/union",
        "[& sets]",
        union,
        "The members of any of the sets.",
        &[("(clojure.set/union #{1 2} #{2 3})", "#{1 2 3}")],
    ),
    native(
        "clojure.set/intersection",
        "[set & sets]",
        intersection,
        "The members that all sets have.",
        &[("(clojure.set/intersection #{1 2} #{2 3})", "#{2}")],
    ),
    native(
        "clojure.set/difference",
        "[set & sets]",
        difference,
        "The members of the first set that no other has.",
        &[("(clojure.set/difference #{1 2 3} #{2})", "#{1 3}")],
    ),
    native(
        "clojure.set/subset?",
        "[a b]",
        is_subset,
        "Whether all members of a are in b.",
        &[("(clojure.set/subset? #{1} #{1 2})", "true")],
    ),
    native(
        "clojure.set/superset?",
        "[a b]",
        is_superset,
        "Whether all members of b are in a.",
        &[("(clojure.set/superset? #{1 2} #{1})", "true")],
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

/// Removes members of a set.
pub(super) fn disj(heap: &mut Heap, args: &mut [Value]) -> Res {
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

/// The members of any collection, to look things up in; a set is borrowed, anything else collected.
fn members(heap: &mut Heap, value: &Value) -> Res<Rc<SetObj>> {
    if let Value::Set(body) = value {
        return Ok(body.clone());
    }
    heap.realised(value)?;
    let items = heap.collect(value)?;
    heap.reserve(items.len() * MEMBER)?;
    match Value::set_of(items) {
        Value::Set(body) => Ok(body),
        _ => args::fail(std::slice::from_ref(value), 0, "a set"),
    }
}

fn union(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.is_empty() {
        return Ok(Value::set(Table::default()));
    }
    let Some(first) = args.iter().position(|arg| !arg.is_nil()) else { return Ok(Value::Nil) };
    let mut all = vec![Value::Nil];
    for other in &args[first + 1..] {
        heap.realised(other)?;
        all.extend(heap.collect(other)?);
    }
    heap.reserve(all.len() * MEMBER)?;
    if !matches!(args[first], Value::Set(_) | Value::Sorted(_)) {
        heap.realised(&args[first])?;
        let set = heap.collect(&args[first])?;
        args[first] = Value::set_of(set);
    }
    all[0] = args::take(args, first);
    let done = super::vectors::conj(heap, &mut all);
    if done.is_err() {
        args[first] = std::mem::take(&mut all[0]);
    }
    done
}

/// The first set with only the members that pass.
fn keep(heap: &mut Heap, args: &mut [Value], pass: impl Fn(&Value) -> bool) -> Res {
    if let Value::Sorted(body) = &args[0]
        && body.is_set
    {
        heap.work(body.entries.len())?;
        let entries = body.entries.iter().filter(|(member, _)| pass(member)).cloned().collect();
        return Ok(Value::sorted(entries, body.ordering.clone(), true));
    }
    let members = members(heap, &args[0])?;
    heap.work(members.table.len())?;
    heap.reserve(members.table.len() * MEMBER)?;
    Ok(Value::set_of(members.table.keys().filter(|member| pass(member)).cloned()))
}

fn intersection(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.iter().any(Value::is_nil) {
        return Ok(Value::Nil);
    }
    if args.len() == 1 {
        return Ok(args::take(args, 0));
    }
    let others = args[1..].iter().map(|other| members(heap, other)).collect::<Res<Vec<_>>>()?;
    keep(heap, args, |member| others.iter().all(|other| other.table.contains(member)))
}

fn difference(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() == 1 || args[0].is_nil() {
        return Ok(args::take(args, 0));
    }
    let others = args[1..].iter().map(|other| members(heap, other)).collect::<Res<Vec<_>>>()?;
    keep(heap, args, |member| !others.iter().any(|other| other.table.contains(member)))
}

fn all_in(heap: &mut Heap, inner: &Value, outer: &Value) -> Res {
    let (inner, outer) = (members(heap, inner)?, members(heap, outer)?);
    heap.work(inner.table.len())?;
    let inside = inner.table.len() <= outer.table.len()
        && inner.table.keys().all(|member| outer.table.contains(member));
    Ok(Value::Bool(inside))
}

fn is_subset(heap: &mut Heap, args: &mut [Value]) -> Res {
    all_in(heap, &args[0], &args[1])
}

fn is_superset(heap: &mut Heap, args: &mut [Value]) -> Res {
    all_in(heap, &args[1], &args[0])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, heap, ints};
    use super::*;

    fn set_of(members: impl IntoIterator<Item = i64>) -> Value {
        Value::set_of(members.into_iter().map(Value::Int))
    }

    #[test]
    fn set_operations_take_nil_and_other_collections() {
        let heap = &mut heap();
        let cases = [
            ("union", vec![set_of([1]), Value::Nil, ints([2])], "#{1 2}"),
            ("union", vec![Value::Nil, set_of([1])], "#{1}"),
            ("union", vec![], "#{}"),
            ("intersection", vec![set_of([1, 2, 3]), set_of([2, 3]), set_of([3])], "#{3}"),
            ("intersection", vec![Value::Nil, set_of([1])], "nil"),
            ("difference", vec![set_of([1, 2]), ints([2])], "#{1}"),
            ("difference", vec![set_of([1]), Value::Nil], "#{1}"),
            ("subset?", vec![Value::Nil, set_of([1])], "true"),
            ("superset?", vec![set_of([1, 2]), set_of([3])], "false"),
            ("union", vec![set_of([1]), Value::Int(5)], "type_error"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(answer(heap, &format!("clojure.set/{name}"), args), expected, "{name}");
        }
    }
}
