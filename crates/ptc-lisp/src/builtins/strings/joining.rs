//! Making strings out of values: `str`, `join`, `escape`.

use std::rc::Rc;

use super::super::args::{self, text};
use super::super::{registry, shown};
use super::replacing::is_callable;
use super::{string_bytes, write};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::text::characters;
use crate::value::{Items, Text, Value};

pub(super) fn str(heap: &mut Heap, args: &mut [Value]) -> Res {
    shown::of_arguments(heap, "clojure.core/str", args)?;
    let mut bytes = 0usize;
    for arg in args.iter_mut() {
        bytes = bytes.saturating_add(match &*arg {
            Value::Str(text) => text.byte_len(),
            Value::Nil => 0,
            Value::Int(_) | Value::Bool(_) => 20,
            other => {
                // The text of a value stands for the value if the call is made again.
                let text = heap.display(other)?;
                let len = text.len();
                *arg = Value::string(text);
                len
            }
        });
    }
    if let [Value::Str(only)] = args {
        return Ok(Value::Str(only.clone()));
    }
    // The first string's buffer grows in place if nobody else holds it, so that building a text up
    // piece by piece takes linear time, and costs as much.
    match args.first() {
        Some(Value::Str(Text::Long(text))) if Rc::strong_count(text) == 1 => {
            heap.work(1 + (bytes - text.len()) / 8)?;
            if bytes > text.capacity() {
                heap.reserve(bytes.max(2 * text.capacity()))?;
            }
        }
        _ => write(heap, bytes)?,
    }
    let mut out = match args.first_mut() {
        Some(first @ Value::Str(_)) => match std::mem::replace(first, Value::Nil) {
            Value::Str(text) => text.into_string(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    for value in args.iter() {
        push_scalar(&mut out, value);
    }
    Ok(Value::Str(Text::growing(out)))
}

/// Appends a string, integer, boolean or nil as `str` shows it; whether it was one of those.
fn push_scalar(out: &mut String, value: &Value) -> bool {
    use std::fmt::Write;
    match value {
        Value::Str(text) => out.push_str(text.as_str()),
        Value::Nil => {}
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(int) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{int}");
        }
        _ => return false,
    }
    true
}

pub(super) fn join(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let [separator, Value::Str(_)] = args
        && matches!(
            separator,
            Value::Vec(_) | Value::Seq(_) | Value::Lazy(_) | Value::Set(_) | Value::Range(_)
        )
    {
        let wrong = args::wrong(args, 1, "a collection");
        return args::fail_with_hint(wrong.message, "the separator comes first: (join \", \" coll)");
    }
    let (separator, coll) = match args {
        [coll] => (String::new(), &*coll),
        [separator, coll] => (heap.display(separator)?, &*coll),
        _ => return args::fail(args, 0, "a collection"),
    };
    let Some(mut items) = Items::over(coll) else {
        let hint = if matches!(args[0], Value::Vec(_) | Value::Seq(_) | Value::Lazy(_) | Value::Set(_)) {
            "the separator comes first: (join \", \" coll)"
        } else {
            ""
        };
        let at = args.len() - 1;
        return args::fail_with_hint(args::wrong(args, at, "a collection").message, hint);
    };
    heap.realised(coll)?;
    let mut out = String::new();
    let mut reserved = 0;
    let mut first = true;
    while let Ok(Some(item)) = items.next() {
        if !std::mem::take(&mut first) {
            out.push_str(&separator);
        }
        if !push_scalar(&mut out, &item) {
            shown::of_items(heap, args, &item)?;
            out.push_str(&heap.display(&item)?);
        }
        heap.work(1)?;
        if out.len() > reserved {
            reserved = out.len() * 2;
            write(heap, out.len())?;
        }
    }
    Ok(Value::string(out))
}

pub(super) fn escape(heap: &mut Heap, args: &mut [Value]) -> Res {
    let whole = text(args, 0)?;
    let Value::Map(table) = &args[1] else {
        return escape_by_function(args);
    };
    write(heap, whole.len())?;
    let mut out = String::with_capacity(whole.len());
    for character in characters(whole) {
        match table.get(&Value::str(character)) {
            None | Some(Value::Nil) => out.push_str(character),
            Some(replacement) => {
                if !push_scalar(&mut out, replacement) {
                    out.push_str(&heap.display(replacement)?);
                }
                heap.reserve(string_bytes(out.len()) / 8)?;
            }
        }
    }
    Ok(Value::string(out))
}

/// Natives call no functions: the core library goes on with the same arguments.
fn escape_by_function(args: &mut [Value]) -> Res {
    match registry().qualified("ptc.impl/escape-by") {
        Some(id) if is_callable(&args[1]) => {
            let args = args.iter_mut().map(std::mem::take).collect();
            Err(Signal::Call(Value::Builtin(id), args).into())
        }
        _ => args::fail(args, 1, "a map or function from characters to their replacements"),
    }
}
