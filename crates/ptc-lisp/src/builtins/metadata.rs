//! Metadata, types and records. What class a value is of is told by the tables in [`classes`].

use std::rc::Rc;

use super::classes::names;
use super::{Builtin, args, classes, native};
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/meta",
        "[x]",
        meta,
        "The metadata map of a value, or of what a symbol or text names; nil if it has none.",
        &[("(meta (with-meta [1] {:a 1}))", "{:a 1}")],
    )
    .discovers(),
    native(
        "clojure.core/with-meta",
        "[x metadata]",
        with_meta,
        "The same value with another metadata map.",
        &[("(meta (with-meta {} {:a 1}))", "{:a 1}"), ("(with-meta [1] {:a 1})", "[1]")],
    ),
    native(
        "clojure.core/type",
        "[x]",
        type_of,
        "The :type in the metadata of a value, or else its class; nil for nil.",
        &[("(= String (type \"a\"))", "true"), ("(type nil)", "nil")],
    ),
    native(
        "clojure.core/class",
        "[x]",
        class,
        "The class a value would have on the JVM; nil for nil.",
        &[("(= String (class \"a\"))", "true"), ("(class nil)", "nil")],
    ),
    native(
        "clojure.core/instance?",
        "[class x]",
        is_instance,
        "Whether a value is of a class, record type or interface.",
        &[("(instance? String \"a\")", "true"), ("(instance? Number \"a\")", "false")],
    ),
    native(
        "clojure.core/class?",
        "[x]",
        is_class,
        "Whether x is a class or record type.",
        &[("(class? String)", "true")],
    ),
    native("clojure.core/record?", "[x]", is_record, "Whether x is a record.", &[("(record? {})", "false")]),
    native("prim/type", "[name]", make_type, "The type of this name.", &[]),
    native("prim/type-of", "[x]", class, "The class or record type of a value.", &[]),
    native("prim/type-chain", "[x]", type_chain, "All types of a value, the most specific first.", &[]),
    native("prim/supertypes", "[type]", supertypes, "The types above a type.", &[]),
    native("prim/record", "[type fields]", record, "A record of this type.", &[]),
    native("prim/record?", "[x]", is_record, "Whether x is a record.", &[]),
];

fn meta(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Var(name) = args[0] {
        return super::vars::meta(heap, name);
    }
    let named = match &args[0] {
        Value::Sym(name) => heap.names.text(*name).to_owned(),
        Value::Str(text) => text.as_str().to_owned(),
        other => return Ok(other.meta().map_or(Value::Nil, |meta| (*meta).clone())),
    };
    super::discovery::meta(heap, &named)
}

fn with_meta(heap: &mut Heap, args: &mut [Value]) -> Res {
    let meta = match &args[1] {
        Value::Nil => None,
        Value::Map(_) => Some(Rc::new(args[1].clone())),
        Value::Sorted(body) if !body.is_set => Some(Rc::new(args[1].clone())),
        _ => return args::fail(args, 1, "a map or nil"),
    };
    super::vectors::charge_copy(heap, &args[0])?;
    heap.allocated(96);
    match &args[0] {
        Value::Range(_) => {
            let items = heap.collect(&args[0])?;
            Ok(Value::seq(items).with_meta(meta).unwrap_or_default())
        }
        // They have no place for metadata; the value matters more than its notes.
        Value::Lazy(_) | Value::Sym(_) | Value::Builtin(_) | Value::Var(_) => Ok(args::take(args, 0)),
        Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Map(_) | Value::Set(_) => {
            Ok(args::take(args, 0).with_meta(meta).unwrap_or_default())
        }
        Value::Sorted(_) | Value::Fn(_) => Ok(args::take(args, 0).with_meta(meta).unwrap_or_default()),
        _ => args::fail(args, 0, "a collection or function"),
    }
}

fn type_of(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Some(meta) = args[0].meta()
        && let Value::Map(body) = &*meta
        && let Some(tag) = body.get(&heap.keyword("type"))
    {
        return Ok(tag.clone());
    }
    class(heap, args)
}

fn class(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Map(body) = &args[0]
        && let Some(record) = body.record()
    {
        return Ok(Value::Type(record));
    }
    Ok(match names(&args[0]).first() {
        Some(name) => Value::Type(heap.intern(name)),
        None => Value::Nil,
    })
}

fn type_chain(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut chain = Vec::new();
    if let Value::Map(body) = &args[0]
        && let Some(record) = body.record()
    {
        chain.push(Value::Type(record));
    }
    for name in names(&args[0]) {
        chain.push(Value::Type(heap.intern(name)));
    }
    heap.allocated(96 + chain.len() * size_of::<Value>());
    Ok(Value::vector(chain))
}

fn is_instance(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Type(class) = &args[0] else {
        let error = args::wrong(args, 0, "a class");
        return Err(error.hint("the class comes first: (instance? String x)").into());
    };
    if let Value::Map(body) = &args[1]
        && body.record() == Some(*class)
    {
        return Ok(Value::Bool(true));
    }
    let wanted = heap.names.text(*class);
    Ok(Value::Bool(names(&args[1]).contains(&wanted)))
}

fn is_class(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(args[0], Value::Type(_))))
}

fn is_record(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(&args[0], Value::Map(body) if body.record().is_some())))
}

fn supertypes(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Type(class) = &args[0] else { return args::fail(args, 0, "a class") };
    let above = classes::supertypes(heap.names.text(*class));
    let types: Vec<Value> = above.into_iter().map(|name| Value::Type(heap.intern(name))).collect();
    heap.allocated(96 + types.len() * size_of::<Value>());
    Ok(Value::vector(types))
}

fn make_type(_: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Sym(name) | Value::Kw(name) | Value::Type(name) => Ok(Value::Type(*name)),
        _ => illegal("expected a symbol"),
    }
}

fn record(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Type(name) = args[0] else { return args::fail(args, 0, "a record type") };
    if !matches!(args[1], Value::Map(_)) {
        return args::fail(args, 1, "a map of fields");
    }
    super::vectors::charge_copy(heap, &args[1])?;
    let Value::Map(mut body) = args::take(args, 1) else { return Ok(Value::Nil) };
    body.set_record(Some(name));
    Ok(Value::Map(body))
}
