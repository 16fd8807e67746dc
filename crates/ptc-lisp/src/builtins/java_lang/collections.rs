//! The methods of collections and map entries, and those that strings share with them.

use super::super::strings::find_text;
use super::super::{Builtin, java_time, lookup, native};
use super::{delegate, no_method, strings};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::equal::equals;
use crate::value::text::char_count;
use crate::value::{Items, Value};

/// Methods that are functions of the core library under another name.
macro_rules! delegates {
    ($($name:literal $params:literal $core:literal, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, $params, |heap, args| {
            if !is_collection(&args[0]) {
                return Err(no_method(args, "a collection"));
            }
            delegate(heap, $core, args)
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static DELEGATES: &[Builtin] = &delegates! {
    ".size" "[coll]" "clojure.core/count", "How many items a collection has.", "(.size [1 2])" => "2";
    ".count" "[coll]" "clojure.core/count", "How many items a collection has.", "(.count [1 2])" => "2";
    ".nth" "[coll index] [coll index not-found]" "clojure.core/nth", "The item at an index.",
        "(.nth [1 2] 1)" => "2";
    ".valAt" "[coll key] [coll key not-found]" "clojure.core/get", "The value of a key.",
        "(.valAt {:a 1} :a)" => "1";
    ".containsKey" "[coll key]" "clojure.core/contains?", "Whether a map has a key.",
        "(.containsKey {:a 1} :a)" => "true";
    ".first" "[coll]" "clojure.core/first", "The first item.", "(.first [1 2])" => "1";
    ".getFirst" "[coll]" "clojure.core/first", "The first item.", "(.getFirst [1 2])" => "1";
    ".next" "[coll]" "clojure.core/next", "What follows the first item; nil if nothing does.",
        "(.next [1 2])" => "(2)";
    ".getLast" "[coll]" "clojure.core/last", "The last item.", "(.getLast [1 2])" => "2";
    ".seq" "[coll]" "clojure.core/seq", "The items as a sequence; nil if there are none.",
        "(.seq [1 2])" => "(1 2)";
    ".toArray" "[coll]" "clojure.core/vec", "The items as a vector.", "(.toArray [1 2])" => "[1 2]";
    ".assoc" "[coll key value]" "clojure.core/assoc", "The map with a key set.",
        "(.assoc {} :a 1)" => "{:a 1}";
    ".subList" "[list start end]" "clojure.core/subvec", "The part of a vector from start to before end.",
        "(.subList [1 2 3] 0 2)" => "[1 2]";
    ".containsAll" "[coll items]" "clojure.set/superset?", "Whether a set has all items of another.",
        "(.containsAll #{1 2} #{1})" => "true";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".isEmpty",
        "[x]",
        |heap, args| match &args[0] {
            Value::Str(text) => Ok((text.byte_len() == 0).into()),
            value if is_collection(value) => delegate(heap, "clojure.core/empty?", args),
            _ => Err(no_method(args, "a string or collection")),
        },
        "Whether a string or collection has nothing in it.",
        &[(r#"(.isEmpty "")"#, "true"), ("(.isEmpty [1])", "false")],
    ),
    native(
        ".length",
        "[s] [month leap-year?]",
        |heap, args| match &args[0] {
            Value::Str(text) => Ok(char_count(text.as_str()).into()),
            Value::Cell(_) => Ok(char_count(&heap.display(&args[0].clone())?).into()),
            Value::Time(_) => java_time::length(args),
            _ => Err(no_method(args, "a string, StringBuilder, Month or Year")),
        },
        "How many characters a string has, or days a month.",
        &[(r#"(.length "abc")"#, "3"), ("(.length Month/FEBRUARY true)", "29")],
    ),
    native(
        ".get",
        "[coll key]",
        |heap, args| match &args[0] {
            Value::Time(_) => java_time::get(args),
            Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => {
                delegate(heap, "clojure.core/nth", args)
            }
            value if is_collection(value) => delegate(heap, "clojure.core/get", args),
            _ => Err(no_method(args, "a collection, date or time")),
        },
        "The value of a key, the item at an index, or the value of a ChronoField.",
        &[("(.get {:a 1} :a)", "1"), ("(.get [1 2] 0)", "1")],
    ),
    native(
        ".getOrDefault",
        "[map key default]",
        |heap, args| match &args[0] {
            value if is_collection(value) => lookup::get_or(heap, value, &args[1], &args[2]),
            _ => Err(no_method(args, "a map")),
        },
        "The value of a key, or a default if the map does not have it.",
        &[("(.getOrDefault {:a 1} :b 0)", "0")],
    ),
    native(
        ".contains",
        "[s x]",
        contains,
        "Whether a string has a part, or a collection an item.",
        &[(r#"(.contains "abc" "b")"#, "true"), ("(.contains [1 2] 3)", "false")],
    ),
    native(
        ".containsValue",
        "[map value]",
        |heap, args| {
            let (Some(items), Value::Map(_) | Value::Sorted(_)) = (Items::over(&args[0]), &args[0]) else {
                return Err(no_method(args, "a map"));
            };
            heap.realised(&args[0])?;
            heap.work(items.len_hint().unwrap_or(1))?;
            let values = values_of(&args[0]);
            Ok(values.iter().any(|value| equals(value, &args[1])).into())
        },
        "Whether a map has a value.",
        &[("(.containsValue {:a 1} 1)", "true")],
    ),
    native(
        ".indexOf",
        "[s x] [s x from]",
        |heap, args| match &args[0] {
            Value::Str(_) => strings::index_of(heap, args),
            Value::Cell(_) => {
                let text = heap.display(&args[0].clone())?.into();
                strings::index_of(heap, &[&[text], &args[1..]].concat())
            }
            value if is_collection(value) => position(heap, args, false),
            _ => Err(no_method(args, "a string or list")),
        },
        "Where a part begins in a string or an item stands in a list; -1 if nowhere.",
        &[(r#"(.indexOf "hello" "l")"#, "2"), ("(.indexOf [1 2] 2)", "1")],
    ),
    native(
        ".lastIndexOf",
        "[s x] [s x from]",
        |heap, args| match &args[0] {
            Value::Str(_) => strings::last_index_of(heap, args),
            value if is_collection(value) => position(heap, args, true),
            _ => Err(no_method(args, "a string or list")),
        },
        "Where a part begins last in a string or an item stands last in a list; -1 if nowhere.",
        &[(r#"(.lastIndexOf "hello" "l")"#, "3")],
    ),
    native(
        ".keySet",
        "[map]",
        |heap, args| {
            let keys = pairs(heap, args)?.into_iter().map(|(key, _)| key);
            Ok(Value::set_of(keys))
        },
        "The keys of a map as a set.",
        &[("(.keySet {:a 1})", "#{:a}")],
    ),
    native(
        ".values",
        "[map]",
        |heap, args| Ok(Value::seq(pairs(heap, args)?.into_iter().map(|(_, value)| value).collect())),
        "The values of a map as a sequence.",
        &[("(.values {:a 1})", "(1)")],
    ),
    native(
        ".entrySet",
        "[map]",
        |heap, args| {
            heap.realised(&args[0])?;
            let entries = pairs(heap, args)?.into_iter().map(|(key, value)| Value::entry(key, value));
            Ok(Value::set_of(entries))
        },
        "The entries of a map as a set.",
        &[("(.entrySet {:a 1})", "#{[:a 1]}")],
    ),
    native(
        ".getKey",
        "[entry]",
        |_, args| entry_part(args, 0),
        "The key of a map entry.",
        &[("(.getKey (first {:a 1}))", ":a")],
    ),
    native(
        ".key",
        "[entry]",
        |_, args| entry_part(args, 0),
        "The key of a map entry.",
        &[("(.key (first {:a 1}))", ":a")],
    ),
    native(
        ".val",
        "[entry]",
        |_, args| entry_part(args, 1),
        "The value of a map entry.",
        &[("(.val (first {:a 1}))", "1")],
    ),
    native(
        ".getValue",
        "[x]",
        |_, args| match &args[0] {
            Value::Time(_) => java_time::get_value(args),
            _ => entry_part(args, 1),
        },
        "The value of a map entry, or the number of a DayOfWeek, Month or Year.",
        &[("(.getValue (first {:a 1}))", "1"), ("(.getValue DayOfWeek/FRIDAY)", "5")],
    ),
];

/// Whether the value is a collection (a string is not).
fn is_collection(value: &Value) -> bool {
    value.is_sequential() || matches!(value, Value::Map(_) | Value::Set(_) | Value::Sorted(_))
}

fn values_of(map: &Value) -> Vec<Value> {
    match map {
        Value::Map(body) => body.values().cloned().collect(),
        Value::Sorted(body) => body.entries.iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}

fn pairs(heap: &mut Heap, args: &[Value]) -> Res<Vec<(Value, Value)>> {
    let pairs: Vec<(Value, Value)> = match &args[0] {
        Value::Map(body) => body.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        Value::Sorted(body) if !body.is_set => body.entries.clone(),
        _ => return Err(no_method(args, "a map")),
    };
    heap.work(pairs.len())?;
    heap.reserve_values(pairs.len() * 4)?;
    Ok(pairs)
}

fn entry_part(args: &[Value], part: usize) -> Res {
    match &args[0] {
        Value::Vec(body) if body.items.len() == 2 => Ok(body.items[part].clone()),
        _ => Err(no_method(args, "a map entry")),
    }
}

fn contains(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Str(text) => {
            let wanted = strings::text_or_char(args, 1)?;
            Ok(find_text(heap, text.as_str(), wanted.as_str())?.is_some().into())
        }
        Value::Set(_) => delegate(heap, "clojure.core/contains?", args),
        Value::Sorted(body) if body.is_set => delegate(heap, "clojure.core/contains?", args),
        value if value.is_sequential() => {
            let at = position(heap, args, false)?;
            Ok(matches!(at, Value::Int(0..)).into())
        }
        _ => Err(no_method(args, "a string, set or list")),
    }
}

/// Where an item stands in a sequence, from the front or the back; -1 if nowhere.
fn position(heap: &mut Heap, args: &[Value], last: bool) -> Res {
    let items = heap.collect(&args[0])?;
    heap.realised(&args[0])?;
    heap.realised(&args[1])?;
    let same = |item: &Value| equals(item, &args[1]);
    let found = if last { items.iter().rposition(same) } else { items.iter().position(same) };
    Ok(found.map_or(Value::Int(-1), Value::from))
}
