//! Paths: reading and writing deep inside nested collections.

use super::maps::{ENTRY, assoc, set_item};
use super::vectors::{BODY, charge_copy, take_from};
use super::{Builtin, args, lookup, native, sorted};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/get-in",
        "[coll path] [coll path not-found]",
        get_in,
        "The value at the end of a path of keys; nil or not-found if a step is missing.",
        &[("(get-in {:a {:b 2}} [:a :b])", "2"), ("(get-in {} [:a :b] 0)", "0")],
    ),
    native(
        "clojure.core/assoc-in",
        "[coll path value]",
        assoc_in,
        "Sets the value at the end of a path of keys; missing steps become maps.",
        &[("(assoc-in {:a {:b 1}} [:a :c] 2)", "{:a {:b 1, :c 2}}")],
    ),
];

fn get_in(heap: &mut Heap, args: &mut [Value]) -> Res {
    let path = heap.collect(&args[1])?;
    let default = args.get(2).cloned().unwrap_or_default();
    lookup::get_in(heap, &args[0], &path, &default)
}

/// `assoc-in`: goes down taking each step out of its slot, so that what has one owner keeps it, and
/// comes back up putting the pieces together.
fn assoc_in(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut path = heap.collect(&args[1])?;
    for key in &path {
        heap.realised(key)?;
    }
    if path.is_empty() {
        path.push(Value::Nil);
    }
    if crosses_function_order(heap, &args[0], &path)? {
        return Err(sorted::call("ptc.impl/assoc-in", take_from(args, 0)));
    }
    charge_path(heap, &args[0], &path)?;
    let mut here = args::take(args, 0);
    let last = path.pop().unwrap_or_default();
    let mut above = Vec::with_capacity(path.len());
    for key in path {
        let next = step_into(heap, &mut here, &key)?;
        above.push((std::mem::replace(&mut here, next), key));
    }
    here = put(heap, here, last, args::take(args, 2))?;
    while let Some((container, key)) = above.pop() {
        here = put(heap, container, key, here)?;
    }
    Ok(here)
}

/// Whether a collection with a comparator of its own lies on the path.
fn crosses_function_order(heap: &mut Heap, coll: &Value, path: &[Value]) -> Res<bool> {
    let mut here = coll.clone();
    for key in path {
        if matches!(&here, Value::Sorted(body) if sorted::has_function(body)) {
            return Ok(true);
        }
        here = lookup::find(heap, &here, key)?.unwrap_or_default();
    }
    Ok(false)
}

/// Charges for all copies that a change along the path will make.
fn charge_path(heap: &mut Heap, coll: &Value, path: &[Value]) -> Res<()> {
    charge_copy(heap, coll)?;
    let mut here = coll.clone();
    for key in path {
        heap.work(1)?;
        heap.allocated(BODY + ENTRY);
        if let Value::Vec(body) = &here {
            heap.may_take(&body.items, 1)?;
        }
        here = lookup::find(heap, &here, key)?.unwrap_or_default();
        // The handle in `here` is one owner, its slot the other.
        if let Value::Map(body) = &here
            && body.owners() > 2
        {
            heap.reserve(body.bytes())?;
        }
    }
    Ok(())
}

fn step_into(heap: &mut Heap, here: &mut Value, key: &Value) -> Res {
    if let Some(value) = lookup::take_slot(heap, here, key)? {
        return Ok(value);
    }
    Ok(lookup::find(heap, here, key)?.unwrap_or_default())
}

fn put(heap: &mut Heap, container: Value, key: Value, value: Value) -> Res {
    match container {
        Value::Nil => Ok(Value::map_of([(key, value)])),
        Value::Map(mut body) => {
            body.insert_where(key, value, |map, key| lookup::other_slot(map, key, &heap.names));
            Ok(Value::Map(body))
        }
        Value::Vec(mut body) => {
            set_item(&mut body, &key, value)?;
            Ok(Value::Vec(body))
        }
        other => assoc(heap, &mut [other, key, value]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, heap, ints};
    use super::*;

    #[test]
    fn assoc_in_makes_maps_on_the_way_and_reads_flexibly() {
        let heap = &mut heap();
        let [a, b, c] = ["a", "b", "c"].map(|text| heap.keyword(text));
        let path = |keys: &[&Value]| Value::vector(keys.iter().map(|key| (*key).clone()).collect());
        let nested = Value::map_of([(Value::str("a"), Value::map_of([(Value::str("b"), Value::Int(1))]))]);
        let cases = [
            (vec![Value::Nil, path(&[&a, &b]), Value::Int(1)], "{:a {:b 1}}"),
            (vec![nested, path(&[&a, &c]), Value::Int(2)], "{\"a\" {\"b\" 1, :c 2}}"),
            (vec![ints([1, 2]), path(&[&Value::Int(0)]), Value::Int(9)], "[9 2]"),
            (vec![ints([1]), path(&[&Value::Int(7)]), Value::Int(9)], "index_out_of_bounds"),
            (vec![Value::Int(1), path(&[&a]), Value::Nil], "type_error"),
        ];
        for (args, expected) in cases {
            assert_eq!(answer(heap, "clojure.core/assoc-in", args), expected);
        }
    }
}
