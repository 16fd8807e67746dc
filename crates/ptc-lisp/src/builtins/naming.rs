//! Keywords and symbols: making them, taking them apart.

use super::{Builtin, args, native, registry};
use crate::error::Error;
use crate::heap::Heap;
use crate::names::Name;
use crate::signal::Res;
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/name",
        "[x]",
        name,
        "The name of a keyword, symbol or string as a string, without namespace.",
        &[("(name :user/id)", r#""id""#), (r#"(name "a")"#, r#""a""#)],
    ),
    native(
        "clojure.core/namespace",
        "[x]",
        namespace,
        "The namespace of a keyword or symbol as a string; nil if it has none.",
        &[("(namespace :user/id)", r#""user""#), ("(namespace :id)", "nil")],
    ),
    native(
        "clojure.core/keyword",
        "[name] [ns name]",
        keyword,
        "The keyword with a name; nil if name is not a string, symbol or keyword.",
        &[(r#"(keyword "a")"#, ":a"), (r#"(keyword "user" "id")"#, ":user/id")],
    ),
    native(
        "clojure.core/find-keyword",
        "[name] [ns name]",
        find_keyword,
        "The keyword with a name if the program has used it before, else nil.",
        &[(r#"(find-keyword "never-used-before")"#, "nil")],
    ),
    native(
        "clojure.core/symbol",
        "[name] [ns name]",
        symbol,
        "The symbol with a name.",
        &[(r#"(symbol "a")"#, "a"), (r#"(symbol "user" "id")"#, "user/id")],
    ),
    native(
        "clojure.core/gensym",
        "[] [prefix]",
        gensym,
        "A symbol that no earlier call has given.",
        &[("(= (gensym) (gensym))", "false")],
    ),
];

fn name(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Str(_) => Ok(args[0].clone()),
        Value::Kw(name) | Value::Sym(name) => {
            let name = *name;
            charge(heap, name)?;
            Ok(Value::str(heap.names.parts(name).1))
        }
        _ => Err(not_named(args, "a keyword, symbol or string").into()),
    }
}

fn namespace(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Kw(name) | Value::Sym(name) => {
            let name = *name;
            charge(heap, name)?;
            Ok(heap.names.parts(name).0.map_or(Value::Nil, Value::str))
        }
        _ => Err(not_named(args, "a keyword or symbol").into()),
    }
}

/// Charges for copying a name, which may be long.
fn charge(heap: &mut Heap, name: Name) -> Res<()> {
    let bytes = heap.names.text(name).len();
    if bytes < 64 {
        return Ok(());
    }
    heap.work(bytes / 8)?;
    heap.reserve(bytes)
}

fn not_named(args: &[Value], expected: &str) -> Error {
    let error = args::wrong(args, 0, expected);
    if args[0].is_nil() { error } else { error.hint("for the text of any value use (str x)") }
}

/// The full text of the name that the arguments spell, or `None` if they spell none.
fn spelled(heap: &Heap, args: &[Value]) -> Res<Option<String>> {
    if let [ns, _] = args {
        let local = args::text(args, 1)?;
        return Ok(Some(match ns {
            Value::Nil => local.to_owned(),
            _ => format!("{}/{local}", args::text(args, 0)?),
        }));
    }
    Ok(match &args[0] {
        Value::Str(text) => Some(text.as_str().to_owned()),
        Value::Kw(name) | Value::Sym(name) => Some(heap.names.text(*name).to_owned()),
        _ => None,
    })
}

fn keyword(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args {
        [Value::Kw(_)] => return Ok(args[0].clone()),
        [Value::Sym(name)] => return Ok(Value::Kw(*name)),
        _ => {}
    }
    let Some(text) = spelled(heap, args)? else { return Ok(Value::Nil) };
    heap.work(1 + text.len() / 8)?;
    heap.reserve(text.len())?;
    Ok(heap.keyword(&text))
}

fn find_keyword(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(text) = spelled(heap, args)? else { return Ok(Value::Nil) };
    Ok(heap.names.find(&text).map_or(Value::Nil, Value::Kw))
}

fn symbol(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let [Value::Kw(name) | Value::Sym(name) | Value::Var(name)] = args {
        return Ok(Value::Sym(*name));
    }
    // A function of the core library has one name.
    if let [Value::Builtin(id)] = args {
        return Ok(Value::Sym(heap.intern(registry().get(*id).name)));
    }
    let Some(text) = spelled(heap, args)? else {
        return Err(args::wrong(args, 0, "a string, keyword or symbol").into());
    };
    heap.work(1 + text.len() / 8)?;
    heap.reserve(text.len())?;
    Ok(Value::Sym(heap.intern(&text)))
}

fn gensym(heap: &mut Heap, args: &mut [Value]) -> Res {
    let prefix = match args.first() {
        None => "G__".to_owned(),
        Some(prefix) => heap.display(prefix)?,
    };
    let number = heap.gensym();
    let text = format!("{prefix}{number}");
    Ok(Value::Sym(heap.intern(&text)))
}
