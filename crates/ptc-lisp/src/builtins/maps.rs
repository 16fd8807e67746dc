//! Maps: reading, adding, removing and merging entries.
//!
//! A map with one owner is changed in place. Reading goes through [`lookup`], and so does writing, in `writing`.

mod writing;

use super::access::items;
use super::vectors::{BODY, take_from};
use super::{Builtin, args, lookup, native, sorted, transients};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::equal::same_key;
use crate::value::order::compare;
use crate::value::text::char_count;
use crate::value::{CellKind, Map, Value};

pub(super) use self::writing::{assoc, conj_map, dissoc, entries_of, pairs, set_item};
use self::writing::{assoc_exact, dissoc_exact, merge, old};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/get",
        "[coll key] [coll key not-found]",
        get,
        "The value of a key, the item at an index, or the member of a set; nil or not-found if missing. \
         A keyword also finds a string key and the other way round.",
        &[("(get {:a 1} :a)", "1"), ("(get {\"a\" 1} :a)", "1"), ("(get [7 8] 5 :none)", ":none")],
    ),
    native(
        "clojure.core/contains?",
        "[coll key]",
        contains,
        "Whether a map has a key, a set a member, or a vector an item.",
        &[("(contains? {:a nil} :a)", "true"), ("(contains? #{1 2} 3)", "false")],
    ),
    native(
        "clojure.core/find",
        "[coll key]",
        find,
        "The entry of a key as [key value]; nil if it is missing.",
        &[("(find {:a 1} :a)", "[:a 1]"), ("(find {:a 1} :b)", "nil")],
    ),
    native("clojure.core/key", "[entry]", key, "The key of a map entry.", &[("(key (first {:a 1}))", ":a")]),
    native("clojure.core/val", "[entry]", val, "The value of a map entry.", &[("(val (first {:a 1}))", "1")]),
    native(
        "clojure.core/keys",
        "[map]",
        keys,
        "The keys of a map in its order; nil if it is empty.",
        &[("(keys {:a 1 :b 2})", "(:a :b)")],
    ),
    native(
        "clojure.core/vals",
        "[map]",
        vals,
        "The values of a map in its order; nil if it is empty.",
        &[("(vals {:a 1 :b 2})", "(1 2)")],
    ),
    native(
        "ptc/entries",
        "[map]",
        entries,
        "The entries of a map as a vector of [key value], sorted by key.",
        &[("(entries {:b 1 :a 2})", "[[:a 2] [:b 1]]")],
    ),
    native(
        "clojure.core/assoc",
        "[coll key value & kvs]",
        assoc,
        "A map with keys set to values, or a vector with items replaced; the index after the last appends.",
        &[("(assoc {:a 1} :b 2)", "{:a 1, :b 2}"), ("(assoc [1 2] 0 9)", "[9 2]")],
    ),
    native(
        "clojure.core/dissoc",
        "[map & keys]",
        dissoc,
        "A map without some keys.",
        &[("(dissoc {:a 1 :b 2} :a)", "{:b 2}")],
    ),
    native(
        "clojure.core/merge",
        "[& maps]",
        merge,
        "One map of all entries; later maps win, nil counts as empty.",
        &[("(merge {:a 1} {:a 2 :b 3})", "{:a 2, :b 3}"), ("(merge)", "nil")],
    ),
    native(
        "clojure.core/select-keys",
        "[map keys]",
        select_keys,
        "A map of only the given keys, as far as they are there.",
        &[("(select-keys {:a 1 :b 2} [:a :z])", "{:a 1}")],
    ),
    native(
        "clojure.core/zipmap",
        "[keys vals]",
        zipmap,
        "A map of keys to values, pair by pair, until one runs out.",
        &[("(zipmap [:a :b] [1 2])", "{:a 1, :b 2}")],
    ),
    native(
        "clojure.core/hash-map",
        "[& kvs]",
        hash_map,
        "A map of alternating keys and values.",
        &[("(hash-map :a 1)", "{:a 1}")],
    ),
    native(
        "clojure.core/array-map",
        "[& kvs]",
        hash_map,
        "A map of alternating keys and values, in that order.",
        &[("(array-map :b 1 :a 2)", "{:b 1, :a 2}")],
    ),
    native(
        "MapEntry/create",
        "[key value]",
        map_entry,
        "A map entry of a key and a value.",
        &[("(clojure.lang.MapEntry/create :a 1)", "[:a 1]")],
    ),
    native(
        "MapEntry.",
        "[key value]",
        map_entry,
        "A map entry of a key and a value.",
        &[("(key (MapEntry. :a 1))", ":a")],
    ),
    native("prim/get-exact", "[coll key default]", get_exact, "The value of exactly this key.", &[]),
    native("prim/old", "[coll key]", old, "The value that assoc with this key replaces.", &[]),
    native("prim/assoc", "[map key value]", assoc_exact, "The map with exactly this key set.", &[]),
    native("prim/dissoc", "[map key]", dissoc_exact, "The map without exactly this key.", &[]),
    native("prim/has?", "[coll key]", has_exact, "Whether exactly this key is there.", &[]),
    native("prim/index-vals", "[keys vals]", zipmap, "Same as zipmap.", &[]),
];

/// Bytes counted for one more entry.
pub(super) const ENTRY: usize = 64;

fn get(heap: &mut Heap, args: &mut [Value]) -> Res {
    let default = args.get(2).cloned().unwrap_or_default();
    if let (Value::Map(body), Value::Vec(path)) = (&args[0], &args[1]) {
        heap.realised(&args[1])?;
        return match body.get(&args[1]) {
            Some(value) => Ok(value.clone()),
            None => lookup::get_in(heap, &args[0], &path.items, &default),
        };
    }
    if let Some(error) = lookup::swapped("get", args) {
        return Err(error.into());
    }
    lookup::get_or(heap, &args[0], &args[1], &default)
}

fn get_exact(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Sorted(body) = &args[0]
        && sorted::has_function(body)
    {
        return Err(sorted::call("ptc.impl/sorted-get", take_from(args, 0)));
    }
    Ok(lookup::find_exact(heap, &args[0], &args[1])?.unwrap_or_else(|| args::take(args, 2)))
}

fn has_exact(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Set(_) => contains(heap, args),
        Value::Sorted(body) if sorted::has_function(body) => contains(heap, args),
        _ => Ok(Value::Bool(lookup::find_exact(heap, &args[0], &args[1])?.is_some())),
    }
}

fn contains(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[1])?;
    let key = &args[1];
    Ok(Value::Bool(match &args[0] {
        Value::Nil => false,
        Value::Map(body) => lookup::map_has(body, key, &heap.names),
        Value::Set(body) => body.table.contains(key),
        Value::Sorted(body) if sorted::has_function(body) => {
            return Err(sorted::call("ptc.impl/sorted-contains", take_from(args, 0)));
        }
        Value::Sorted(_) => lookup::in_sorted(heap, &args[0], key)?.is_some(),
        Value::Vec(body) if body.entry => lookup::index(key).is_some_and(|at| at < 2),
        Value::Cell(cell) if cell.kind == CellKind::Transient => {
            args[0] = transients::inside(cell)?;
            return contains(heap, args);
        }
        Value::Cell(cell) if cell.kind == CellKind::Array => match key {
            Value::Int(_) => lookup::array_item(cell, key).is_some(),
            _ => return args::fail(args, 1, "an index"),
        },
        Value::Vec(body) => {
            heap.work(body.items.len())?;
            heap.realised(&args[0])?;
            body.items.iter().any(|item| same_key(item, key))
        }
        Value::Str(text) if matches!(key, Value::Int(_)) => {
            lookup::index(key).is_some_and(|at| at < char_count(text.as_str()))
        }
        Value::Str(_) => {
            let error = args::wrong(args, 0, "a map, set or vector");
            return Err(error.hint("use (clojure.string/includes? text part) for text").into());
        }
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => {
            let error = args::wrong(args, 0, "a map, set or vector");
            return Err(error.hint("use (some #{x} coll) to search a sequence").into());
        }
        _ => return args::fail(args, 0, "a map, set or vector"),
    }))
}

fn find(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated(BODY);
    heap.realised(&args[1])?;
    let found = match &args[0] {
        Value::Nil => return Ok(Value::Nil),
        Value::Map(body) => {
            if let Some((key, value)) = body.get_entry(&args[1]) {
                return Ok(Value::entry(key.clone(), value.clone()));
            }
            lookup::find(heap, &args[0], &args[1])?
        }
        Value::Vec(_) => lookup::find(heap, &args[0], &args[1])?,
        Value::Sorted(body) if !body.is_set => {
            if sorted::has_function(body) {
                return Err(sorted::call("ptc.impl/sorted-find", take_from(args, 0)));
            }
            lookup::find(heap, &args[0], &args[1])?
        }
        _ => return args::fail(args, 0, "a map or vector"),
    };
    Ok(found.map_or(Value::Nil, |value| Value::entry(args::take(args, 1), value)))
}

fn entry_part(args: &[Value], at: usize, part: &str) -> Res {
    match &args[0] {
        Value::Vec(body) if body.entry => Ok(body.items[at].clone()),
        other => {
            let mut error = args::wrong(args, 0, "a map entry");
            // It is most often passed to `map`, which would be blamed.
            error.function = Some(if at == 0 { "key" } else { "val" }.to_owned());
            Err(match other {
                Value::Vec(body) if body.items.len() == 2 => {
                    error.hint(format!("use ({part} pair) for a vector of two")).into()
                }
                _ => error.into(),
            })
        }
    }
}

fn key(_: &mut Heap, args: &mut [Value]) -> Res {
    entry_part(args, 0, "first")
}

fn val(_: &mut Heap, args: &mut [Value]) -> Res {
    entry_part(args, 1, "second")
}

fn keys(heap: &mut Heap, args: &mut [Value]) -> Res {
    parts(heap, &args[0], 0)
}

fn vals(heap: &mut Heap, args: &mut [Value]) -> Res {
    parts(heap, &args[0], 1)
}

/// The keys or values of a map, or of a sequence of map entries.
fn parts(heap: &mut Heap, value: &Value, at: usize) -> Res {
    let count = match value {
        Value::Map(body) => body.len(),
        Value::Sorted(body) => body.entries.len(),
        _ => 0,
    };
    heap.work(count)?;
    heap.reserve_values(count)?;
    let items: Vec<Value> = match value {
        Value::Map(body) if at == 0 => body.keys().cloned().collect(),
        Value::Map(body) => body.values().cloned().collect(),
        Value::Sorted(body) if !body.is_set => {
            body.entries.iter().map(|(key, value)| if at == 0 { key } else { value }).cloned().collect()
        }
        _ => heap.collect(value)?.iter().map(|item| part_of_entry(item, at)).collect::<Res<_>>()?,
    };
    Ok(if items.is_empty() { Value::Nil } else { Value::seq(items) })
}

fn part_of_entry(item: &Value, at: usize) -> Res {
    match item {
        Value::Vec(body) if body.entry => Ok(body.items[at].clone()),
        _ => {
            let error =
                Error::new(ErrorKind::Type, format!("expected a map, got items of {}", item.type_name()));
            Err(error
                .hint(match (item, at) {
                    (Value::Map(_), 0) => "of a list of maps write (keys (first rows)), or (map keys rows)",
                    (Value::Map(_), _) => "of a list of maps write (vals (first rows)), or (map vals rows)",
                    _ => "for pairs that are not map entries use (map first pairs) or (into {} pairs)",
                })
                .into())
        }
    }
}

fn entries(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !matches!(&args[0], Value::Map(_)) && !matches!(&args[0], Value::Sorted(body) if !body.is_set) {
        return args::fail(args, 0, "a map");
    }
    let mut items = heap.collect(&args[0])?;
    heap.allocated(items.len() * BODY);
    if matches!(args[0], Value::Map(_)) {
        let names = &heap.names;
        let first = |entry: &Value| match entry {
            Value::Vec(body) => body.items.first().cloned().unwrap_or_default(),
            _ => Value::Nil,
        };
        items.sort_by(|a, b| {
            let (a, b) = (first(a), first(b));
            let by_kind = rank(&a).cmp(&rank(&b));
            by_kind.then_with(|| compare(&a, &b, names).unwrap_or(std::cmp::Ordering::Equal))
        });
    }
    Ok(Value::vector(items))
}

/// Keys of different kinds have no order of their own; this gives them one.
fn rank(key: &Value) -> u8 {
    match key {
        Value::Nil => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Decimal(_) => 2,
        Value::Kw(_) => 3,
        Value::Sym(_) => 4,
        Value::Str(_) => 5,
        _ => 6,
    }
}

fn select_keys(heap: &mut Heap, args: &mut [Value]) -> Res {
    let keys = heap.collect(&args[1])?;
    let mut table = Map::default();
    for key in keys {
        heap.realised(&key)?;
        heap.allocated(ENTRY);
        if let Some(value) = find_anywhere(heap, &args[0], &key)? {
            // Found by another spelling, the entry keeps the key it has.
            let own = lookup::found_key(&args[0], &key, &heap.names);
            table.insert(own.unwrap_or(key), value);
        }
    }
    let meta = args[0].meta();
    Ok(Value::Map(table).with_meta(meta).unwrap_or_default())
}

/// Like [`lookup::find`], but compares keys directly where the collection has its own comparator.
pub(super) fn find_anywhere(heap: &mut Heap, coll: &Value, key: &Value) -> Res<Option<Value>> {
    match coll {
        Value::Nil | Value::Map(_) | Value::Vec(_) => lookup::find(heap, coll, key),
        Value::Sorted(body) if sorted::has_function(body) => {
            heap.work(body.entries.len())?;
            Ok(body.entries.iter().find(|(other, _)| same_key(other, key)).map(|(_, value)| value.clone()))
        }
        Value::Sorted(body) if !body.is_set => lookup::find(heap, coll, key),
        _ => Err(Error::new(ErrorKind::Type, format!("expected a map, got {}", coll.type_name())).into()),
    }
}

fn zipmap(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (mut keys, mut vals) = (items(&args[0])?, items(&args[1])?);
    let mut table = Map::default();
    // The shorter one says how much it can be, if both are counted.
    let count = keys.len_hint().zip(vals.len_hint()).map(|(keys, vals)| keys.min(vals));
    heap.reserve(count.unwrap_or(0).saturating_mul(ENTRY))?;
    // Every realised step would begin the walk anew, so lazy sources are left to the core library.
    let lazy = |_| sorted::call("ptc.impl/zip-lazy", args.to_vec());
    while let Some(key) = keys.next().map_err(lazy)? {
        let Some(value) = vals.next().map_err(lazy)? else { break };
        heap.realised(&key)?;
        heap.work(1)?;
        heap.allocated(if count.is_none() { ENTRY } else { 0 });
        table.insert(key, value);
    }
    Ok(Value::Map(table))
}

fn hash_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() % 2 == 1 {
        return raise(ErrorKind::IllegalArgument, "the last key has no value: keys and values come in pairs");
    }
    for at in (0..args.len()).step_by(2) {
        heap.realised(&args[at])?;
    }
    heap.work(args.len())?;
    heap.allocated(BODY + args.len() * ENTRY / 2);
    Ok(Value::map_of(pairs(take_from(args, 0))))
}

fn map_entry(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated(BODY);
    let value = args::take(args, 1);
    Ok(Value::entry(args::take(args, 0), value))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    #[test]
    fn reading_is_flexible_and_writing_finds_the_same() {
        let heap = &mut heap();
        let [a, hyphen, low] = ["a", "foo-bar", "foo_bar"].map(|text| heap.keyword(text));
        let text = |text: &str| Value::str(text);
        let one = |key: Value| Value::map_of([(key, Value::Int(1))]);
        let cases = [
            ("get", vec![one(text("a")), a.clone()], "1"),
            ("get", vec![one(a.clone()), text("a")], "1"),
            ("get", vec![one(text("foo_bar")), hyphen.clone()], "1"),
            ("get", vec![one(text("foo-bar")), low.clone()], "nil"),
            ("get", vec![one(low.clone()), hyphen.clone()], "1"),
            ("get", vec![one(low), text("foo-bar")], "nil"),
            ("get", vec![one(hyphen), text("foo_bar")], "nil"),
            ("get", vec![a.clone(), one(a.clone())], "type_error"),
            ("get", vec![Value::Int(5), a.clone()], "nil"),
            ("get", vec![text("abc"), Value::Int(1)], "\"b\""),
            ("contains?", vec![one(text("a")), a.clone()], "true"),
            ("find", vec![one(text("a")), a.clone()], "[:a 1]"),
            ("select-keys", vec![one(text("a")), Value::vector(vec![a.clone()])], "{\"a\" 1}"),
            ("assoc", vec![one(text("a")), a.clone(), Value::Int(2)], "{\"a\" 2}"),
            ("dissoc", vec![one(text("a")), a.clone()], "{}"),
            ("contains?", vec![ints([5, 6]), Value::Int(5)], "true"),
            ("contains?", vec![ints([1]), Value::Float(1.0)], "false"),
            ("contains?", vec![text("abc"), text("b")], "type_error"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(answer(heap, &format!("clojure.core/{name}"), args), expected, "{name}");
        }
    }

    #[test]
    fn a_vector_key_is_a_path_unless_it_is_a_key() {
        let heap = &mut heap();
        let [a, b] = ["a", "b"].map(|text| heap.keyword(text));
        let path = Value::vector(vec![a.clone(), b.clone()]);
        let nested = Value::map_of([(a, Value::map_of([(b, Value::Int(2))]))]);
        assert_eq!(answer(heap, "clojure.core/get", [nested, path.clone()]), "2");
        let keyed = Value::map_of([(path.clone(), Value::Int(3))]);
        assert_eq!(answer(heap, "clojure.core/get", [keyed, path]), "3");
    }

    #[test]
    fn a_map_with_one_owner_is_changed_in_place() {
        let heap = &mut heap();
        let map = Value::map_of((0..100).map(|n| (Value::Int(n), Value::Nil)));
        let Value::Map(body) = &map else { panic!("a map") };
        let before = body.address();
        let changed = call(heap, "clojure.core/assoc", [map, Value::Int(5), Value::Int(1)]).map_err(|_| ());
        let Ok(Value::Map(body)) = changed else { panic!("a map") };
        assert_eq!(body.address(), before);
        let kept = Value::Map(body.clone());
        let copy = call(heap, "clojure.core/dissoc", [kept, Value::Int(5)]).map_err(|_| ());
        let Ok(Value::Map(copy)) = copy else { panic!("a map") };
        assert_eq!((body.len(), copy.len()), (100, 99));
    }

    #[test]
    fn maps_merge_and_refuse_what_is_no_entry() {
        let heap = &mut heap();
        let one = |key: i64, value: i64| Value::map_of([(Value::Int(key), Value::Int(value))]);
        let cases = [
            ("merge", vec![], "nil"),
            ("merge", vec![Value::Nil, one(1, 2)], "{1 2}"),
            ("merge", vec![one(1, 2), Value::Nil, one(1, 3)], "{1 3}"),
            ("merge", vec![one(1, 2), ints([3, 4])], "{1 2, 3 4}"),
            ("merge", vec![one(1, 2), ints([3])], "type_error"),
            ("conj", vec![one(1, 2), ints([1, 2, 3])], "type_error"),
            ("hash-map", vec![Value::Int(1)], "illegal_argument"),
            ("keys", vec![Value::map_of([])], "nil"),
            ("key", vec![ints([1, 2])], "type_error"),
            ("zipmap", vec![ints([1, 2]), ints([3])], "{1 3}"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(answer(heap, &format!("clojure.core/{name}"), args), expected, "{name}");
        }
    }
}
