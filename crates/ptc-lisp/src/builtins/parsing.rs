//! Text to values: `parse-long` and its like, `char`, `read-string`.
//!
//! The functions that the reference language has answer nil for what spells nothing, so that a missing field
//! needs no check, and take a number for what it is: a column of JSON may hold 512 and "1024". A keyword spells what its
//! name does, because keys of JSON objects are keywords. A collection raises, and so do the others, as in Clojure.

use super::{Builtin, args, native, registry};
use crate::arith;
use crate::edn;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::reader::{ReadLimits, read_data, read_one};
use crate::signal::{Res, Signal, illegal, raise};
use crate::value::walk::Parts;
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/parse-long",
        "[s]",
        parse_long,
        "The integer that s spells, or is; nil if it is none.",
        &[
            (r#"(parse-long "42")"#, "42"),
            (r#"(parse-long "4.2")"#, "nil"),
            ("(parse-long 42)", "42"),
            ("(parse-long :2024)", "2024"),
        ],
    ),
    native(
        "ptc/parse-int",
        "[s]",
        parse_long,
        "The integer that s spells, or is; nil if it is none.",
        &[(r#"(parse-int "-7")"#, "-7")],
    ),
    native(
        "clojure.core/parse-double",
        "[s]",
        parse_double,
        "The float that s spells, or the number s as a float; nil if it is none.",
        &[(r#"(parse-double "1e3")"#, "1000.0"), (r#"(parse-double "x")"#, "nil")],
    ),
    native(
        "clojure.core/parse-boolean",
        "[s]",
        parse_boolean,
        "The boolean that s spells, or is; nil if it is none.",
        &[
            (r#"(parse-boolean "true")"#, "true"),
            (r#"(parse-boolean "yes")"#, "nil"),
            ("(parse-boolean false)", "false"),
        ],
    ),
    native(
        "clojure.core/parse-uuid",
        "[s]",
        parse_uuid,
        "The UUID that s spells; nil if it spells none.",
        &[(
            r#"(parse-uuid "b6883c0a-0342-4007-9966-bc2dfa6b109e")"#,
            r##"#uuid "b6883c0a-0342-4007-9966-bc2dfa6b109e""##,
        )],
    ),
    native(
        "clojure.core/char",
        "[n]",
        char,
        "The character with code n, as a one-character string.",
        &[("(char 97)", r#""a""#)],
    ),
    native(
        "clojure.core/read-string",
        "[s]",
        read_string,
        "The first form in s as data; nothing is evaluated.",
        &[(r#"(read-string "[1 :a (+ 1 2)]")"#, "[1 :a (+ 1 2)]")],
    ),
    native(
        "clojure.edn/read-string",
        "[s] [opts s]",
        edn_read_string,
        "The first EDN value in s; nil, or the :eof of opts, if there is none. Tags other than #inst and \
         #uuid need a function in the :readers of opts, or its :default.",
        &[
            (r##"(clojure.edn/read-string "{:a [1 #{2}]}")"##, "{:a [1 #{2}]}"),
            (r#"(clojure.edn/read-string {:eof :end} "")"#, ":end"),
        ],
    ),
];

/// The size beyond which a float is no integer of 64 bits.
const LONGS: f64 = 9_223_372_036_854_775_808.0;

fn parse_long(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(match &args[0] {
        Value::Str(text) => long(text.as_str()).map_or(Value::Nil, Value::Int),
        Value::Kw(name) => long(heap.names.text(*name)).map_or(Value::Nil, Value::Int),
        Value::Int(_) | Value::Big(_) => args::take(args, 0),
        // Only a float that is a whole number is an integer; nothing is cut off.
        Value::Float(float) if float.fract() == 0.0 && float.abs() < LONGS => Value::Int(*float as i64),
        Value::Decimal(decimal) => {
            heap.work(arith::words(&args[0]))?;
            decimal.as_int().map_or(Value::Nil, Value::big)
        }
        other => spells_nothing(args, other, NUMBER)?,
    })
}

/// What spells a number.
const NUMBER: &str = "a string or a number";
/// What spells a boolean.
const BOOLEAN: &str = "a string or a boolean";

/// The answer for what is neither text nor what the text may spell: nothing for a single value, which a column of JSON may
/// hold, and an error for a collection, which is always a mistake.
fn spells_nothing(args: &[Value], value: &Value, expected: &str) -> Res {
    match Parts::of(value) {
        Some(_) => args::fail(args, 0, expected),
        None => Ok(Value::Nil),
    }
}

/// An integer of 64 bits: digits with an optional sign.
pub(super) fn long(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn parse_double(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(args[0].as_str().map_or(0, str::len) / 8)?;
    Ok(match &args[0] {
        Value::Str(text) => double(text.as_str()).map_or(Value::Nil, Value::Float),
        Value::Kw(name) => double(heap.names.text(*name)).map_or(Value::Nil, Value::Float),
        other => match arith::to_f64(other) {
            Ok(float) => Value::Float(float),
            Err(_) => spells_nothing(args, other, NUMBER)?,
        },
    })
}

/// A float as Java reads it: spaces around it, a point at either end, a type letter and hexadecimal
/// floats are all right.
pub(super) fn double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c| c <= ' ');
    let (negative, size) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let size = match size {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        _ if size.starts_with("0x") || size.starts_with("0X") => hex_float(&size[2..])?,
        _ => {
            let size = size.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(size);
            if !size.starts_with(|c: char| c.is_ascii_digit() || c == '.') || size.contains(['n', 'N']) {
                return None;
            }
            size.parse().ok()?
        }
    };
    Some(if negative { -size } else { size })
}

/// `1.8p3`: hexadecimal digits, and a power of two that must be there.
fn hex_float(text: &str) -> Option<f64> {
    let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let (digits, power) = text.split_once(['p', 'P'])?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + part.len() == 0 || power.is_empty() {
        return None;
    }
    let mut value = 0.0f64;
    for digit in whole.chars().chain(part.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let power: i32 = power.parse().ok()?;
    let shift = i32::try_from(part.len()).ok()?.checked_mul(4)?;
    Some(value * 2f64.powi(power.saturating_sub(shift)))
}

fn parse_boolean(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = match &args[0] {
        Value::Str(text) => text.as_str(),
        Value::Kw(name) => heap.names.text(*name),
        Value::Bool(_) => return Ok(args::take(args, 0)),
        Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_) => {
            let error = args::wrong(args, 0, BOOLEAN);
            return Err(error.hint("(= 1 x), (pos? x) and their like make a boolean of a number").into());
        }
        other => return spells_nothing(args, other, BOOLEAN),
    };
    Ok(match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => Value::Nil,
    })
}

fn parse_uuid(_: &mut Heap, args: &mut [Value]) -> Res {
    let text = args::text(args, 0)?;
    Ok(edn::uuid(text).map_or(Value::Nil, |uuid| Value::time(Time::Uuid(uuid))))
}

fn char(_: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Str(text) if crate::value::text::is_character(text.as_str()) => Ok(args[0].clone()),
        Value::Int(_) | Value::Float(_) => {
            let code = args::int(args, 0)?;
            let found = u16::try_from(code).ok().and_then(|code| char::from_u32(u32::from(code)));
            match found {
                Some(c) => Ok(Value::str(c.encode_utf8(&mut [0; 4]))),
                None => illegal(format!("{code} is not the code of a character (0 to 65535)")),
            }
        }
        _ => args::fail(args, 0, "an integer or a one-character string"),
    }
}

fn read_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    let source = readable(heap, args, 0)?;
    match read_one(source, &limits(heap)).map_err(unplaced)? {
        Some((form, _)) => Ok(edn::value_of(&form, heap).map_err(unplaced)?),
        None => raise(ErrorKind::Format, "the text ends before a form was read"),
    }
}

fn edn_read_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [options, _] = args else {
        if args[0].is_nil() {
            return Ok(Value::Nil);
        }
        return Ok(read_edn(heap, args, 0, &|_| false)?.unwrap_or(Value::Nil));
    };
    let Value::Map(options) = options else {
        return args::fail(args, 0, "a map of options");
    };
    let mut option = |name: &str| options.get(&heap.keyword(name)).cloned();
    let (eof, readers, default) = (option("eof"), option("readers"), option("default"));
    let Some(known) = known_tags(heap, readers.as_ref()) else {
        return illegal("the option :readers must be a map from tags, as symbols, to functions");
    };
    // `#inst` and `#uuid` are read here unless the program reads them itself.
    let kept = |tag: &str| {
        known.iter().any(|own| own == tag) || (default.is_some() && !matches!(tag, "inst" | "uuid"))
    };
    let value = match (read_edn(heap, args, 1, &kept)?, eof) {
        (Some(value), _) => value,
        (None, Some(eof)) => return Ok(eof),
        (None, None) => return raise(ErrorKind::Format, "the text ends before a value was read"),
    };
    match registry().qualified("ptc.impl/read-tagged") {
        Some(id) if !known.is_empty() || default.is_some() => {
            let args = vec![value, readers.unwrap_or_default(), default.unwrap_or_default()];
            Err(Signal::Call(Value::Builtin(id), args).into())
        }
        _ => Ok(value),
    }
}

/// The tags that the program's reader functions are for; `None` if they are not in a map by symbol.
fn known_tags(heap: &Heap, readers: Option<&Value>) -> Option<Vec<String>> {
    let symbol = |key: &Value| match key {
        Value::Sym(name) => Some(heap.names.text(*name).to_owned()),
        _ => None,
    };
    match readers {
        None | Some(Value::Nil) => Some(Vec::new()),
        Some(Value::Map(readers)) => readers.keys().map(symbol).collect(),
        Some(_) => None,
    }
}

/// How much text may be read: the meters bound it.
fn limits(heap: &Heap) -> ReadLimits {
    /// Bytes that a form takes until it is a value.
    const FORM: usize = 160;
    let max_forms = ReadLimits::default().max_forms.min(heap.limits.memory / FORM);
    ReadLimits { max_bytes: usize::MAX, max_forms, ..ReadLimits::default() }
}

/// A text argument that is going to be read.
fn readable<'a>(heap: &mut Heap, args: &'a [Value], at: usize) -> Res<&'a str> {
    let source = args::text(args, at)?;
    heap.work(1 + source.len())?;
    heap.reserve(source.len().saturating_mul(4))?;
    Ok(source)
}

/// The place is one in the text that was read, not one in the program.
fn unplaced(mut error: Error) -> Error {
    error.span = None;
    error
}

/// Reads the first value of a text argument. What it discards is read too, as Clojure does.
fn read_edn(heap: &mut Heap, args: &[Value], at: usize, kept: &dyn Fn(&str) -> bool) -> Res<Option<Value>> {
    let source = readable(heap, args, at)?;
    let (form, discarded) = read_data(source, &limits(heap)).map_err(unplaced)?;
    for form in &discarded {
        edn::value_with_tags(form, heap, kept).map_err(unplaced)?;
    }
    let value = form.map(|form| edn::value_with_tags(&form, heap, kept)).transpose();
    Ok(value.map_err(unplaced)?)
}
