//! `String`, `Objects`, `Collections` and `Arrays`: static members and constructors.

use super::super::{Builtin, args, native};
use super::strings::{compare_ignoring_case, made};
use super::{delegate, objects};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "String.",
        "[] [x]",
        new_string,
        "A string: empty, a copy, or made of characters.",
        &[(r#"(String. "a")"#, r#""a""#)],
    ),
    native(
        "String/valueOf",
        "[x]",
        |heap, args| match &args[0] {
            Value::Nil => Ok("null".into()),
            Value::Vec(_) => new_string(heap, args),
            value if value.is_array() => new_string(heap, args),
            value => Ok(heap.display(&value.clone())?.into()),
        },
        "Any value as text.",
        &[("(String/valueOf 42)", r#""42""#)],
    ),
    native(
        "String/join",
        "[separator strings] [separator s & more]",
        join,
        "Strings with a separator between.",
        &[(r#"(String/join ", " ["a" "b"])"#, r#""a, b""#)],
    ),
    native(
        "String/format",
        "[format & args]",
        format,
        "Text with values filled into the places that start with %, as format does.",
        &[(r#"(String/format "%d-%s" 1 "a")"#, r#""1-a""#)],
    ),
    native(
        "String/copyValueOf",
        "[chars]",
        new_string,
        "A string made of characters.",
        &[(r#"(String/copyValueOf ["a" "b"])"#, r#""ab""#)],
    ),
    native(
        "String/CASE_INSENSITIVE_ORDER",
        "[a b]",
        |heap, args| Ok(compare_ignoring_case(heap, args)?.into()),
        "A comparator of strings that takes no notice of case.",
        &[(r#"(sort String/CASE_INSENSITIVE_ORDER ["b" "C" "a"])"#, r#"("a" "b" "C")"#)],
    ),
    native(
        "Objects/equals",
        "[a b]",
        |heap, args| {
            heap.realised(&args[0])?;
            heap.realised(&args[1])?;
            Ok(crate::value::equal::same_key(&args[0], &args[1]).into())
        },
        "Whether two values are equal; nil equals nil.",
        &[("(Objects/equals nil nil)", "true")],
    ),
    native(
        "Objects/hash",
        "[& values]",
        |heap, args| {
            let values = match &*args {
                // Java's variable arguments arrive as one array when the caller made it.
                [items] if items.is_sequential() || items.is_array() => heap.collect(&items.clone())?,
                values => values.to_vec(),
            };
            let mut total = 1i32;
            for value in &values {
                total = total.wrapping_mul(31).wrapping_add(objects::hash_code(heap, value)?);
            }
            Ok(i64::from(total).into())
        },
        "A hash of several values.",
        &[("(= (Objects/hash 1 2) (Objects/hash 1 2))", "true")],
    ),
    native(
        "Objects/hashCode",
        "[x]",
        |heap, args| Ok(i64::from(objects::hash_code(heap, &args[0].clone())?).into()),
        "The hash of a value; 0 for nil.",
        &[("(Objects/hashCode nil)", "0")],
    ),
    native(
        "Objects/isNull",
        "[x]",
        |_, args| Ok(args[0].is_nil().into()),
        "Whether a value is nil.",
        &[("(Objects/isNull nil)", "true")],
    ),
    native(
        "Objects/nonNull",
        "[x]",
        |_, args| Ok((!args[0].is_nil()).into()),
        "Whether a value is not nil.",
        &[("(Objects/nonNull nil)", "false")],
    ),
    native(
        "Objects/requireNonNull",
        "[x] [x message]",
        |_, args| match &args[0] {
            Value::Nil => crate::signal::illegal(
                args.get(1).and_then(Value::as_str).unwrap_or("the value must not be nil"),
            ),
            _ => Ok(args::take(args, 0)),
        },
        "The value itself; raises if it is nil.",
        &[("(Objects/requireNonNull 1)", "1")],
    ),
    native(
        "Objects/toString",
        "[x] [x default]",
        |heap, args| match (&args[0], args.get(1)) {
            (Value::Nil, Some(default)) => Ok(default.clone()),
            (Value::Nil, None) => Ok("null".into()),
            (value, _) => Ok(heap.display(&value.clone())?.into()),
        },
        "A value as text, or a default for nil.",
        &[(r#"(Objects/toString nil "none")"#, r#""none""#)],
    ),
    native(
        "Arrays/asList",
        "[& items]",
        |heap, args| {
            if args.len() == 1 && (args[0].is_sequential() || args[0].is_array()) {
                let items = heap.collect(&args[0])?;
                return Ok(Value::vector(items));
            }
            Ok(Value::vector(args.to_vec()))
        },
        "The items as a vector.",
        &[("(Arrays/asList 1 2)", "[1 2]")],
    ),
    native(
        "Arrays/toString",
        "[items]",
        |heap, args| {
            let items = heap.collect(&args[0])?;
            let mut text = String::from("[");
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                let shown = heap.display(item)?;
                text.push_str(if item.is_nil() { "null" } else { &shown });
            }
            Ok((text + "]").into())
        },
        "The items as text between brackets.",
        &[("(Arrays/toString [1 2])", r#""[1, 2]""#)],
    ),
    native(
        "Collections/max",
        "[coll]",
        |heap, args| extreme(heap, args, std::cmp::Ordering::Greater),
        "The greatest item by compare.",
        &[("(Collections/max [1 3 2])", "3")],
    ),
    native(
        "Collections/min",
        "[coll]",
        |heap, args| extreme(heap, args, std::cmp::Ordering::Less),
        "The smallest item by compare.",
        &[("(Collections/min [1 3 2])", "1")],
    ),
    native(
        "Collections/frequency",
        "[coll x]",
        |heap, args| {
            let items = heap.collect(&args[0])?;
            heap.realised(&args[0])?;
            let same = |item: &&Value| crate::value::equal::equals(item, &args[1]);
            Ok(items.iter().filter(same).count().into())
        },
        "How often a value is in a collection.",
        &[("(Collections/frequency [1 2 1] 1)", "2")],
    ),
];

fn extreme(heap: &mut Heap, args: &mut [Value], wanted: std::cmp::Ordering) -> Res {
    heap.realised(&args[0])?;
    let items = heap.collect(&args[0])?;
    let mut best: Option<&Value> = None;
    for item in &items {
        let better = match best {
            Some(best) => crate::value::order::compare(item, best, &heap.names)? == wanted,
            None => true,
        };
        if better {
            best = Some(item);
        }
    }
    match best {
        Some(best) => Ok(best.clone()),
        None => crate::signal::illegal("the collection is empty"),
    }
}

fn new_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args.first() {
        None => Ok("".into()),
        Some(Value::Str(_)) => Ok(args::take(args, 0)),
        Some(Value::Nil) => args::fail(args, 0, "a string or characters"),
        Some(cell @ Value::Cell(_)) if !cell.is_array() => Ok(heap.display(&args[0].clone())?.into()),
        Some(items) => {
            let items = heap.collect(&items.clone())?;
            match items.iter().all(|item| matches!(item, Value::Int(_))) {
                true => from_bytes(&items),
                false => joined(heap, "", &items),
            }
        }
    }
}

/// A string of UTF-8 bytes, as `.getBytes` gives them.
fn from_bytes(items: &[Value]) -> Res {
    let byte = |item: &Value| match item {
        Value::Int(int @ -128..=255) => Some(*int as u8),
        _ => None,
    };
    match items.iter().map(byte).collect::<Option<Vec<u8>>>() {
        Some(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned().into()),
        None => crate::signal::illegal("bytes must be integers from -128 to 255"),
    }
}

fn joined(heap: &mut Heap, separator: &str, items: &[Value]) -> Res {
    let mut text = String::new();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push_str(separator);
        }
        match item {
            Value::Nil => text.push_str("null"),
            item => text.push_str(&heap.display(item)?),
        }
    }
    made(heap, text.len())?;
    Ok(text.into())
}

fn join(heap: &mut Heap, args: &mut [Value]) -> Res {
    let separator = args::text(args, 0)?.to_owned();
    let items = match &args[1..] {
        [Value::Str(_)] => args[1..].to_vec(),
        [items] => heap.collect(&items.clone())?,
        more => more.to_vec(),
    };
    joined(heap, &separator, &items)
}

fn format(heap: &mut Heap, args: &mut [Value]) -> Res {
    let is_locale = |value: &Value| match value {
        Value::Time(time) => matches!(**time, Time::Constant(Constant { class: Class::Locale, .. })),
        _ => false,
    };
    let rest = if is_locale(&args[0]) && args.len() > 1 { &args[1..] } else { &args[..] };
    // Java's variable arguments arrive as one array when the caller made it.
    let mut call = match rest {
        [pattern, items] if items.is_sequential() || items.is_array() => {
            let mut call = vec![pattern.clone()];
            call.extend(heap.collect(&items.clone())?);
            call
        }
        _ => rest.to_vec(),
    };
    delegate(heap, "clojure.core/format", &mut call)
}
