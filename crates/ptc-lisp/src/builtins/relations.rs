//! Relations: sets of maps, joined, projected and indexed, and maps with their keys renamed.

use super::maps::{ENTRY, entries_of, find_anywhere};
use super::vectors::{BODY, charge_copy};
use super::{Builtin, args, lookup, native};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Map, Table, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.set/rename-keys",
        "[map renames]",
        rename_keys,
        "A map with keys renamed by a map from old to new.",
        &[("(clojure.set/rename-keys {:a 1 :b 2} {:a :x})", "{:b 2, :x 1}")],
    ),
    native(
        "clojure.set/map-invert",
        "[map]",
        map_invert,
        "A map from values to keys.",
        &[("(clojure.set/map-invert {:a 1 :b 2})", "{1 :a, 2 :b}")],
    ),
    native(
        "clojure.set/project",
        "[maps keys]",
        project,
        "The set of maps with only the given keys.",
        &[("(clojure.set/project #{{:a 1 :b 2}} [:a])", "#{{:a 1}}")],
    ),
    native(
        "clojure.set/rename",
        "[maps renames]",
        rename,
        "The set of maps with their keys renamed.",
        &[("(clojure.set/rename #{{:a 1}} {:a :x})", "#{{:x 1}}")],
    ),
    native(
        "clojure.set/index",
        "[maps keys]",
        index,
        "A map from each combination of the keys' values to the set of maps that have it.",
        &[("(clojure.set/index #{{:a 1 :b 2}} [:a])", "{{:a 1} #{{:a 1, :b 2}}}")],
    ),
    native(
        "clojure.set/join",
        "[a b] [a b keys]",
        join,
        "Merges each map of a with the maps of b that agree with it: in all common keys, or in the keys \
         that the map from keys of a to keys of b names.",
        &[("(clojure.set/join #{{:id 1 :n 2}} #{{:id 1 :m 3}})", "#{{:id 1, :n 2, :m 3}}")],
    ),
];

/// The entries of a map argument.
fn pairs(heap: &mut Heap, args: &[Value], at: usize) -> Res<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    match &args[at] {
        Value::Nil | Value::Map(_) => entries_of(heap, &args[at], &mut pairs)?,
        Value::Sorted(body) if !body.is_set => entries_of(heap, &args[at], &mut pairs)?,
        _ => return args::fail(args, at, "a map"),
    }
    Ok(pairs)
}

fn rename_keys(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args[0].is_nil() {
        return Ok(Value::Nil);
    }
    let renames = pairs(heap, args, 1)?;
    if !matches!(args[0], Value::Map(_)) {
        let plain = pairs(heap, args, 0)?;
        args[0] = Value::map_of(plain);
    }
    charge_copy(heap, &args[0])?;
    let map = args::take(args, 0);
    renamed(heap, map, &renames)
}

/// A map with keys renamed; all old keys are gone before the new ones come, so that swaps work.
fn renamed(heap: &mut Heap, map: Value, renames: &[(Value, Value)]) -> Res {
    let Value::Map(mut body) = map else { return Ok(map) };
    heap.work(renames.len())?;
    let mut moved: Vec<(Value, Value)> = Vec::with_capacity(renames.len());
    for (old, new) in renames {
        let whole = Value::Map(body);
        let other = lookup::other_key(&whole, old, &heap.names);
        let Value::Map(own) = whole else { return Ok(Value::Nil) };
        body = own;
        if let Some((_, value)) = body.remove(other.as_ref().unwrap_or(old)) {
            moved.push((new.clone(), value));
        }
    }
    for (key, value) in moved {
        heap.allocated(ENTRY);
        body.insert(key, value);
    }
    Ok(Value::Map(body))
}

fn map_invert(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let pairs = pairs(heap, args, 0)?;
    heap.allocated(BODY + pairs.len() * ENTRY);
    Ok(Value::map_of(pairs.into_iter().map(|(key, value)| (value, key))))
}

/// The maps of a relation.
fn rows(heap: &mut Heap, args: &[Value], at: usize) -> Res<Vec<Value>> {
    heap.realised(&args[at])?;
    heap.collect(&args[at])
}

/// A map with only some keys.
fn selected(heap: &mut Heap, row: &Value, keys: &[Value]) -> Res {
    heap.work(keys.len())?;
    heap.allocated(BODY + keys.len() * ENTRY);
    let mut table = Map::default();
    for key in keys {
        if let Some(value) = find_anywhere(heap, row, key)? {
            table.insert(key.clone(), value);
        }
    }
    Ok(Value::Map(table))
}

fn project(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (rows, keys) = (rows(heap, args, 0)?, heap.collect(&args[1])?);
    let rows = rows.iter().map(|row| selected(heap, row, &keys)).collect::<Res<Vec<_>>>()?;
    Ok(Value::set_of(rows))
}

fn rename(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (rows, renames) = (rows(heap, args, 0)?, pairs(heap, args, 1)?);
    let mut out = Table::default();
    for row in rows {
        heap.work(1)?;
        heap.allocated(BODY);
        out.insert(renamed(heap, row, &renames)?, ());
    }
    Ok(Value::set(out))
}

/// Rows by the values of some keys.
fn indexed(heap: &mut Heap, rows: &[Value], keys: &[Value]) -> Res<Table<Vec<Value>>> {
    let mut table: Table<Vec<Value>> = Table::default();
    for row in rows {
        let key = selected(heap, row, keys)?;
        match table.get_mut(&key) {
            Some(group) => group.push(row.clone()),
            None => {
                table.insert(key, vec![row.clone()]);
            }
        }
    }
    Ok(table)
}

fn index(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (rows, keys) = (rows(heap, args, 0)?, heap.collect(&args[1])?);
    let table = indexed(heap, &rows, &keys)?;
    Ok(Value::map_of(table.into_iter().map(|(key, group)| (key, Value::set_of(group)))))
}

fn keys_of(row: &Value) -> Vec<Value> {
    match row {
        Value::Map(body) => body.keys().cloned().collect(),
        Value::Sorted(body) => body.entries.iter().map(|(key, _)| key.clone()).collect(),
        _ => Vec::new(),
    }
}

fn join(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (left, right) = (rows(heap, args, 0)?, rows(heap, args, 1)?);
    let (Some(first), Some(second)) = (left.first(), right.first()) else {
        return Ok(Value::set(Table::default()));
    };
    let keys: Vec<(Value, Value)> = if args.len() > 2 {
        pairs(heap, args, 2)?
    } else {
        let common = keys_of(first).into_iter().filter(|key| match second {
            Value::Map(body) => lookup::map_has(body, key, &heap.names),
            _ => keys_of(second).iter().any(|other| crate::value::equal::same_key(other, key)),
        });
        common.map(|key| (key.clone(), key)).collect()
    };
    let (left_keys, right_keys): (Vec<Value>, Vec<Value>) = keys.into_iter().unzip();
    let by_left = indexed(heap, &left, &left_keys)?;
    let mut out = Table::default();
    for row in &right {
        // The same combination of values, under the names of the left side.
        let mut key = Map::default();
        for (name, other) in left_keys.iter().zip(&right_keys) {
            if let Some(value) = find_anywhere(heap, row, other)? {
                key.insert(name.clone(), value);
            }
        }
        for partner in by_left.get(&Value::Map(key)).into_iter().flatten() {
            heap.work(1)?;
            let merged = super::vectors::conj(heap, &mut [partner.clone(), row.clone()])?;
            heap.allocated(ENTRY);
            out.insert(merged, ());
        }
    }
    Ok(Value::set(out))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, heap};
    use super::*;

    #[test]
    fn a_join_merges_rows_that_agree() {
        let heap = &mut heap();
        let [id, owner, name] = ["id", "owner", "name"].map(|text| heap.keyword(text));
        let row = |pairs: &[(&Value, i64)]| {
            Value::map_of(pairs.iter().map(|(key, value)| ((*key).clone(), Value::Int(*value))))
        };
        let people = Value::set_of([row(&[(&id, 1), (&name, 10)]), row(&[(&id, 2), (&name, 20)])]);
        let pets = Value::set_of([row(&[(&owner, 2), (&name, 5)])]);
        let keys = Value::map_of([(id, owner)]);
        let joined = "#{{:id 2, :name 5, :owner 2}}";
        assert_eq!(answer(heap, "clojure.set/join", [people.clone(), pets.clone(), keys]), joined);
        assert_eq!(answer(heap, "clojure.set/join", [people, pets]), "#{}");
    }

    #[test]
    fn keys_can_be_swapped() {
        let heap = &mut heap();
        let [a, b] = ["a", "b"].map(|text| heap.keyword(text));
        let map = Value::map_of([(a.clone(), Value::Int(1)), (b.clone(), Value::Int(2))]);
        let swap = Value::map_of([(a.clone(), b.clone()), (b, a)]);
        assert_eq!(answer(heap, "clojure.set/rename-keys", [map, swap]), "{:b 1, :a 2}");
    }
}
