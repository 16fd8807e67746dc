//! Methods that every value has, and those of numbers, keywords, classes and exceptions.

use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

use super::super::classes::full_name;
use super::super::{Builtin, args, native, shown};
use super::numbers::{integer_text, sign};
use super::strings::{made, text_distance};
use super::{delegate, no_method};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::equal::same_key;
use crate::value::hash::stable_hash;
use crate::value::order::{compare, compare_numbers};
use crate::value::{CellKind, Time, Value};

/// Conversions of numbers: name, function, doc, example.
macro_rules! conversions {
    ($($name:literal $convert:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[n]", |_, args| {
            let convert: fn(&Value) -> Option<Value> = $convert;
            convert(&args[0]).ok_or_else(|| no_method(args, "a number"))
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static NUMBERS: &[Builtin] = &conversions! {
    ".intValue" |n| Some(Value::Int((long(n)? as i32).into())), "A number as a 32-bit integer, cut off.",
        "(.intValue 3.7)" => "3";
    ".longValue" |n| Some(Value::Int(long(n)?)), "A number as a 64-bit integer, cut off.",
        "(.longValue 3.7)" => "3";
    ".shortValue" |n| Some(Value::Int((long(n)? as i16).into())), "A number as a 16-bit integer, cut off.",
        "(.shortValue 3.7)" => "3";
    ".byteValue" |n| Some(Value::Int((long(n)? as i8).into())), "A number as an 8-bit integer, cut off.",
        "(.byteValue 3.7)" => "3";
    ".doubleValue" |n| float(n).map(Value::Float), "A number as a float.", "(.doubleValue 3)" => "3.0";
    ".floatValue" |n| float(n).map(Value::Float), "A number as a float.", "(.floatValue 3)" => "3.0";
    ".isNaN" |n| Some(float(n)?.is_nan().into()), "Whether a number is NaN.", "(.isNaN 1.0)" => "false";
    ".isInfinite" |n| Some(float(n)?.is_infinite().into()), "Whether a number is infinite.",
        "(.isInfinite ##Inf)" => "true";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Object.",
        "[]",
        |heap, _| Ok(heap.cell(CellKind::Volatile, Value::Nil, true)),
        "Something that is equal to nothing else, as a mark for what is missing.",
        &[("(let [none (Object.)] [(= none none) (= none (Object.))])", "[true false]")],
    ),
    native(
        ".toString",
        "[x] [n radix]",
        to_string,
        "The value as text, as str gives it; an integer with the digits of a radix.",
        &[("(.toString 1.5)", r#""1.5""#), ("(.toString (BigInteger. \"255\") 16)", r#""ff""#)],
    ),
    native(
        ".equals",
        "[x other]",
        equals,
        "Whether two values are equal; 1 and 1.0 are not.",
        &[("(.equals [1 2] [1 2])", "true"), ("(.equals 1 1.0)", "false")],
    ),
    native(
        ".hashCode",
        "[x]",
        |heap, args| match &args[0] {
            Value::Nil => Err(no_method(args, "any value but nil")),
            value => Ok(i64::from(hash_code(heap, &value.clone())?).into()),
        },
        "A hash of the value; strings hash as in Java.",
        &[(r#"(.hashCode "abc")"#, "96354")],
    ),
    native(
        ".compareTo",
        "[x other]",
        compare_to,
        "Negative, zero or positive as the value comes before, with or after another.",
        &[(r#"(.compareTo "a" "c")"#, "-2"), ("(.compareTo 2 1)", "1")],
    ),
    native(
        ".getName",
        "[x]",
        get_name,
        "The name of a class, keyword or symbol.",
        &[("(.getName :a/b)", r#""b""#)],
    ),
    native(
        ".getClass",
        "[x]",
        |heap, args| match &args[0] {
            Value::Nil => Err(no_method(args, "any value but nil")),
            _ => delegate(heap, "clojure.core/class", args),
        },
        "The class of a value.",
        &[(r#"(= (.getClass "a") (class "b"))"#, "true")],
    ),
    native(
        ".getSimpleName",
        "[class]",
        |heap, args| match &args[0] {
            Value::Type(name) => {
                made(heap, heap.names.text(*name).len())?;
                let full = heap.names.text(*name);
                Ok(full.rsplit(['.', '$']).next().unwrap_or(full).into())
            }
            _ => Err(no_method(args, "a class")),
        },
        "The name of a class without its package.",
        &[(r#"(.getSimpleName (.getClass "a"))"#, r#""String""#)],
    ),
    native(
        ".getMessage",
        "[exception]",
        |heap, args| of_exception(heap, args, "clojure.core/ex-message"),
        "The message of an exception.",
        &[(r#"(.getMessage (ex-info "no" {}))"#, r#""no""#)],
    ),
    native(
        ".getLocalizedMessage",
        "[exception]",
        |heap, args| of_exception(heap, args, "clojure.core/ex-message"),
        "The message of an exception.",
        &[(r#"(.getLocalizedMessage (ex-info "no" {}))"#, r#""no""#)],
    ),
    native(
        ".getCause",
        "[exception]",
        |heap, args| of_exception(heap, args, "clojure.core/ex-cause"),
        "The cause of an exception; nil if it has none.",
        &[(r#"(.getCause (ex-info "no" {}))"#, "nil")],
    ),
    native(
        ".getData",
        "[exception]",
        |heap, args| of_exception(heap, args, "clojure.core/ex-data"),
        "The data of an exception made with ex-info.",
        &[(r#"(.getData (ex-info "no" {:a 1}))"#, "{:a 1}")],
    ),
    native(
        ".getNamespace",
        "[x]",
        |heap, args| match &args[0] {
            Value::Kw(_) | Value::Sym(_) => delegate(heap, "clojure.core/namespace", args),
            _ => Err(no_method(args, "a keyword or symbol")),
        },
        "The namespace of a keyword or symbol; nil if it has none.",
        &[("(.getNamespace :a/b)", r#""a""#)],
    ),
];

fn of_exception(heap: &mut Heap, args: &mut [Value], name: &str) -> Res {
    match &args[0] {
        Value::Ex(_) => delegate(heap, name, args),
        _ => Err(no_method(args, "an exception")),
    }
}

fn float(value: &Value) -> Option<f64> {
    crate::arith::to_f64(value).ok()
}

/// The low 64 bits of a number; a float is cut off and stays within range.
fn long(value: &Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        Value::Float(float) => Some(*float as i64),
        Value::Big(big) => Some(low_bits(big)),
        Value::Decimal(decimal) => Some(low_bits(&decimal.to_int().ok()?)),
        _ => None,
    }
}

fn low_bits(int: &BigInt) -> i64 {
    let low = int.iter_u64_digits().next().unwrap_or(0).cast_signed();
    if int.sign() == Sign::Minus { low.wrapping_neg() } else { low }
}

fn to_string(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() == 2 {
        return integer_text(heap, args);
    }
    match &args[0] {
        Value::Nil => Err(no_method(args, "any value but nil")),
        Value::Str(_) => Ok(args::take(args, 0)),
        value => {
            let value = value.clone();
            shown::of_value(heap, &value)?;
            Ok(heap.display(&value)?.into())
        }
    }
}

fn equals(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args[0].is_nil() {
        return Err(no_method(args, "any value but nil"));
    }
    if let (Value::Decimal(a), Value::Decimal(b)) = (&args[0], &args[1]) {
        // Java tells 1.0 and 1.00 apart here.
        return Ok((a == b).into());
    }
    heap.realised(&args[0])?;
    heap.realised(&args[1])?;
    Ok(same_key(&args[0], &args[1]).into())
}

/// Java's hash of strings, numbers and booleans; the language's own of all else.
pub(super) fn hash_code(heap: &mut Heap, value: &Value) -> Res<i32> {
    let fold = |bits: i64| (bits ^ ((bits as u64) >> 32) as i64) as i32;
    Ok(match value {
        Value::Nil => 0,
        Value::Bool(value) => {
            if *value {
                1231
            } else {
                1237
            }
        }
        Value::Int(int) => fold(*int),
        Value::Float(float) => fold(float.to_bits() as i64),
        Value::Decimal(exact) if let Some(decimal) = exact.decimal() => {
            heap.work(1 + decimal.words())?;
            decimal.hash_code()
        }
        Value::Str(text) => {
            heap.work(1 + text.byte_len() / 8)?;
            let step = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(unit.into());
            text.as_str().encode_utf16().fold(0, step)
        }
        _ => {
            heap.realised(value)?;
            let (hash, steps) = stable_hash(value, heap.fuel_left());
            heap.work(usize::try_from(steps).unwrap_or(usize::MAX))?;
            hash.to_i32().unwrap_or_default()
        }
    })
}

fn compare_to(heap: &mut Heap, args: &mut [Value]) -> Res {
    match (&args[0], &args[1]) {
        (Value::Nil, _) => Err(no_method(args, "any value but nil")),
        (Value::Str(a), Value::Str(b)) => Ok(text_distance(heap, a.as_str(), b.as_str())?.into()),
        (Value::Time(a), Value::Time(b)) => date_distance(a, b).map_or_else(
            || a.compare(b).map(sign).ok_or_else(|| a.mismatch(b).into()),
            |distance| Ok(distance.into()),
        ),
        (a, b) => {
            heap.realised(a)?;
            heap.realised(b)?;
            match compare_numbers(a, b) {
                Some(order) => Ok(sign(order)),
                None => Ok(sign(compare(a, b, &heap.names)?)),
            }
        }
    }
}

/// `LocalDate.compareTo` answers by how much the first part differs that does.
fn date_distance(a: &Time, b: &Time) -> Option<i64> {
    let (a, b, days) = match (a, b) {
        (Time::DateTime(a), Time::DateTime(b)) if a.date() != b.date() => (a.date(), b.date(), true),
        (Time::Date(a), Time::Date(b)) => (*a, *b, true),
        (Time::YearMonth(a), Time::YearMonth(b)) => (*a, *b, false),
        _ => {
            let (a, b) = match (a, b) {
                (Time::Year(a), Time::Year(b)) => (i64::from(*a), i64::from(*b)),
                (Time::Constant(a), Time::Constant(b)) if a.class == b.class => {
                    (i64::from(a.ordinal), i64::from(b.ordinal))
                }
                _ => return None,
            };
            return Some(a - b);
        }
    };
    let parts = [
        i64::from(a.year()) - i64::from(b.year()),
        i64::from(a.month()) - i64::from(b.month()),
        if days { i64::from(a.day()) - i64::from(b.day()) } else { 0 },
    ];
    Some(parts.into_iter().find(|part| *part != 0).unwrap_or(0))
}

fn get_name(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Type(name) => {
            made(heap, heap.names.text(*name).len())?;
            Ok(full_name(heap.names.text(*name)).into())
        }
        Value::Kw(_) | Value::Sym(_) => delegate(heap, "clojure.core/name", args),
        _ => Err(no_method(args, "a class, keyword or symbol")),
    }
}
