//! Conversions between kinds of numbers, and the `unchecked-` family.
//!
//! There are integers of any size and 64-bit floats. `int`, `long`, `short` and `byte` give the same
//! integers and check the range their names promise. The `unchecked-` functions wrap around as on the
//! JVM, which is what hash computations want of them.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::numbers::integer;
use super::numeric::counted;
use super::{Builtin, args, java_lang, native};
use crate::arith;
use crate::decimal::Decimal;
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::ratio::{self, Ratio};
use crate::signal::{Res, raise};
use crate::value::Value;
use crate::value::print::float_text;

/// An `unchecked-` function of two integers: 64 bits, and its 32-bit sibling.
macro_rules! wrapping {
    ($name:literal, $bits:ty, $method:ident, $plain:path, $doc:literal, $example:expr) => {
        native(
            $name,
            "[x y]",
            |heap, args| match (&args[0], &args[1]) {
                (Value::Int(a), Value::Int(b)) => Ok(Value::Int((*a as $bits).$method(*b as $bits).into())),
                (a, b) => {
                    heap.work(arith::product_cost(a, b) + arith::quotient_cost(a, b))?;
                    counted(heap, $plain(a, b)?)
                }
            },
            $doc,
            &[$example],
        )
    };
}

/// An `unchecked-` function of one integer.
macro_rules! wrapping_one {
    ($name:literal, $bits:ty, $method:ident, [$($operand:literal)?], $plain:path, $doc:literal, $example:expr) => {
        native(
            $name,
            "[x]",
            |heap, args| match &args[0] {
                Value::Int(a) => Ok(Value::Int((*a as $bits).$method($($operand)?).into())),
                a => counted(heap, $plain(a)?),
            },
            $doc,
            &[$example],
        )
    };
}

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/double",
        "[x]",
        |_, args| Ok(Value::Float(arith::to_f64(&args[0])?)),
        "A number as a float.",
        &[("(double 3)", "3.0")],
    ),
    native(
        "clojure.core/float",
        "[x]",
        float,
        "A number as a float. The precision is that of `double`, the range that of a 32-bit float.",
        &[("(float 3)", "3.0")],
    ),
    native(
        "clojure.core/int",
        "[x]",
        int,
        "A number without its fraction, checked to fit 32 bits. A one-character string gives its code point; a digit is refused.",
        &[("(int 3.9)", "3"), ("(int -3.9)", "-3"), ("(int \"A\")", "65")],
    ),
    native("prim/code", "[x]", code, "The same as int, digits too.", &[]),
    native(
        "clojure.core/long",
        "[x]",
        |_, args| Ok(Value::Int(within(args, 0, i64::MIN, i64::MAX)?)),
        "A number without its fraction, checked to fit 64 bits.",
        &[("(long 3.9)", "3"), ("(long 1e10)", "10000000000")],
    ),
    native(
        "clojure.core/short",
        "[x]",
        |_, args| Ok(Value::Int(within(args, 0, i16::MIN.into(), i16::MAX.into())?)),
        "A number without its fraction, checked to fit 16 bits.",
        &[("(short 12.5)", "12")],
    ),
    native(
        "clojure.core/byte",
        "[x]",
        |_, args| Ok(Value::Int(within(args, 0, i8::MIN.into(), i8::MAX.into())?)),
        "A number without its fraction, checked to fit 8 bits.",
        &[("(byte 12.5)", "12")],
    ),
    native(
        "clojure.core/num",
        "[x]",
        |_, args| match &args[0] {
            Value::Nil => Ok(Value::Nil),
            x => arith::check_number(x).map(|()| x.clone()),
        },
        "Its argument, which must be a number or nil.",
        &[("(num 1.5)", "1.5")],
    ),
    native(
        "clojure.core/bigint",
        "[x]",
        bigint,
        "A number without its fraction, or the integer that a string spells, of any size.",
        &[("(bigint 3.7)", "3"), ("(bigint \"12345678901234567890\")", "12345678901234567890")],
    ),
    native("clojure.core/biginteger", "[x]", bigint, "The same as `bigint`.", &[("(biginteger 3.7)", "3")]),
    native(
        "clojure.core/bigdec",
        "[x]",
        java_lang::bigdec,
        "An exact decimal from a number or the text of one, for money; a float is the decimal that it prints as.",
        &[("(bigdec 3)", "3M"), ("(bigdec \"1.50\")", "1.50M"), ("(bigdec 0.1)", "0.1M")],
    ),
    native(
        "clojure.core/rationalize",
        "[x]",
        rationalize,
        "The integer or ratio that a float prints as or a decimal is; exact numbers as they are.",
        &[("(rationalize 2.0)", "2"), ("(rationalize 1.5)", "3/2"), ("(rationalize 0.1)", "1/10")],
    ),
    native(
        "clojure.core/numerator",
        "[r]",
        |heap, args| part(heap, args, Ratio::numerator),
        "What stands above the line of a ratio. Other numbers are refused.",
        &[("(numerator 2/3)", "2")],
    ),
    native(
        "clojure.core/denominator",
        "[r]",
        |heap, args| part(heap, args, Ratio::denominator),
        "What stands below the line of a ratio. Other numbers are refused.",
        &[("(denominator 2/3)", "3")],
    ),
    wrapping!(
        "clojure.core/unchecked-add",
        i64,
        wrapping_add,
        arith::add,
        "The sum; integers wrap around at 64 bits.",
        ("(unchecked-add 9223372036854775807 1)", "-9223372036854775808")
    ),
    wrapping!(
        "clojure.core/unchecked-subtract",
        i64,
        wrapping_sub,
        arith::sub,
        "The difference; integers wrap around at 64 bits.",
        ("(unchecked-subtract -9223372036854775808 1)", "9223372036854775807")
    ),
    wrapping!(
        "clojure.core/unchecked-multiply",
        i64,
        wrapping_mul,
        arith::mul,
        "The product; integers wrap around at 64 bits.",
        ("(unchecked-multiply 9223372036854775807 2)", "-2")
    ),
    wrapping_one!(
        "clojure.core/unchecked-negate",
        i64,
        wrapping_neg,
        [],
        arith::negate,
        "The number with the other sign; integers wrap around at 64 bits.",
        ("(unchecked-negate 5)", "-5")
    ),
    wrapping_one!(
        "clojure.core/unchecked-inc",
        i64,
        wrapping_add,
        [1],
        arith::inc,
        "One more; integers wrap around at 64 bits.",
        ("(unchecked-inc 9223372036854775807)", "-9223372036854775808")
    ),
    wrapping_one!(
        "clojure.core/unchecked-dec",
        i64,
        wrapping_sub,
        [1],
        arith::dec,
        "One less; integers wrap around at 64 bits.",
        ("(unchecked-dec -9223372036854775808)", "9223372036854775807")
    ),
    wrapping!(
        "clojure.core/unchecked-add-int",
        i32,
        wrapping_add,
        arith::add,
        "The sum; integers wrap around at 32 bits.",
        ("(unchecked-add-int 2147483647 1)", "-2147483648")
    ),
    wrapping!(
        "clojure.core/unchecked-subtract-int",
        i32,
        wrapping_sub,
        arith::sub,
        "The difference; integers wrap around at 32 bits.",
        ("(unchecked-subtract-int -2147483648 1)", "2147483647")
    ),
    wrapping!(
        "clojure.core/unchecked-multiply-int",
        i32,
        wrapping_mul,
        arith::mul,
        "The product; integers wrap around at 32 bits.",
        ("(unchecked-multiply-int 2147483647 2)", "-2")
    ),
    wrapping_one!(
        "clojure.core/unchecked-negate-int",
        i32,
        wrapping_neg,
        [],
        arith::negate,
        "The number with the other sign; integers wrap around at 32 bits.",
        ("(unchecked-negate-int 5)", "-5")
    ),
    wrapping_one!(
        "clojure.core/unchecked-inc-int",
        i32,
        wrapping_add,
        [1],
        arith::inc,
        "One more; integers wrap around at 32 bits.",
        ("(unchecked-inc-int 2147483647)", "-2147483648")
    ),
    wrapping_one!(
        "clojure.core/unchecked-dec-int",
        i32,
        wrapping_sub,
        [1],
        arith::dec,
        "One less; integers wrap around at 32 bits.",
        ("(unchecked-dec-int -2147483648)", "2147483647")
    ),
    native(
        "clojure.core/unchecked-divide-int",
        "[x y]",
        |_, args| arith::quot(&args[0], &args[1]),
        "The quotient without its fraction.",
        &[("(unchecked-divide-int 7 2)", "3")],
    ),
    native(
        "clojure.core/unchecked-remainder-int",
        "[x y]",
        |_, args| arith::rem(&args[0], &args[1]),
        "What `quot` leaves over.",
        &[("(unchecked-remainder-int 7 2)", "1")],
    ),
    native(
        "clojure.core/unchecked-byte",
        "[x]",
        |_, args| Ok(Value::Int((low_word(args)? as i8).into())),
        "The low 8 bits of a number as a signed integer.",
        &[("(unchecked-byte 200)", "-56")],
    ),
    native(
        "clojure.core/unchecked-short",
        "[x]",
        |_, args| Ok(Value::Int((low_word(args)? as i16).into())),
        "The low 16 bits of a number as a signed integer.",
        &[("(unchecked-short 40000)", "-25536")],
    ),
    native(
        "clojure.core/unchecked-int",
        "[x]",
        |_, args| Ok(Value::Int(low_word(args)?.into())),
        "The low 32 bits of a number as a signed integer.",
        &[("(unchecked-int 4294967295)", "-1")],
    ),
    native(
        "clojure.core/unchecked-long",
        "[x]",
        |_, args| Ok(Value::Int(low_bits(args)?)),
        "The low 64 bits of a number as a signed integer.",
        &[("(unchecked-long 18446744073709551615)", "-1"), ("(unchecked-long 3.9)", "3")],
    ),
    native(
        "clojure.core/unchecked-float",
        "[x]",
        |_, args| Ok(Value::Float(arith::to_f64(&args[0])?)),
        "A number as a float.",
        &[("(unchecked-float 3)", "3.0")],
    ),
    native(
        "clojure.core/unchecked-double",
        "[x]",
        |_, args| Ok(Value::Float(arith::to_f64(&args[0])?)),
        "A number as a float.",
        &[("(unchecked-double 3)", "3.0")],
    ),
];

fn out_of_range<T>(at: usize, shown: &str, low: i64, high: i64) -> Res<T> {
    Err(Error::new(
        ErrorKind::IllegalArgument,
        format!("argument {} must be from {low} to {high}, got {shown}", at + 1),
    )
    .hint("use trunc or bigint for an integer of any size")
    .into())
}

/// An argument without its fraction, if it is in range. NaN counts as 0, as on the JVM.
pub(super) fn within(args: &[Value], at: usize, low: i64, high: i64) -> Res<i64> {
    /// 2^63: the range of 64 bits ends before it, but the nearest float is this one.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    match &args[at] {
        Value::Int(int) if (low..=high).contains(int) => Ok(*int),
        Value::Int(int) => out_of_range(at, &int.to_string(), low, high),
        Value::Float(float) => {
            let fits = *float >= low as f64 && *float <= high as f64 && *float < BOUND;
            if float.is_nan() || fits {
                Ok(*float as i64)
            } else {
                out_of_range(at, &float_text(*float, ["NaN", "##Inf", "##-Inf"]), low, high)
            }
        }
        Value::Big(_) => match args[at].as_i64().filter(|int| (low..=high).contains(int)) {
            Some(int) => Ok(int),
            None => out_of_range(at, "a larger integer", low, high),
        },
        Value::Decimal(decimal) => match decimal.to_int().ok().and_then(|int| i64::try_from(int).ok()) {
            Some(int) if (low..=high).contains(&int) => Ok(int),
            _ => out_of_range(at, "a number beyond it", low, high),
        },
        Value::Str(_) => {
            Err(args::wrong(args, at, "a number").hint("parse-long reads a number from text").into())
        }
        _ => args::fail(args, at, "a number"),
    }
}

fn int(_: &mut Heap, args: &mut [Value]) -> Res {
    if let Some(text) = args[0].as_str() {
        return code_point(text);
    }
    Ok(Value::Int(within(args, 0, i32::MIN.into(), i32::MAX.into())?))
}

fn code(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args[0].as_str().map(str::as_bytes) {
        Some([digit @ b'0'..=b'9']) => Ok(Value::Int(i64::from(*digit))),
        _ => int(heap, args),
    }
}

/// The code of a character. A digit is refused, because a string that spells a number looks the same: its code
/// in place of the number would be a wrong answer that nobody notices.
fn code_point(text: &str) -> Res {
    let mut chars = text.chars();
    let (message, hint) = match (chars.next(), chars.next()) {
        (Some(digit @ '0'..='9'), None) => (
            format!("argument 1 must be a number or a character, got the string \"{digit}\""),
            "parse-long reads the number that it spells, (.codePointAt s 0) gives the code of its character",
        ),
        (Some(first), None) => return Ok(Value::Int(u32::from(first).into())),
        _ => (
            "argument 1 must be a number or one character, got string".to_owned(),
            "parse-long reads a number from text",
        ),
    };
    Err(Error::new(ErrorKind::Type, message).hint(hint).into())
}

fn float(_: &mut Heap, args: &mut [Value]) -> Res {
    let float = arith::to_f64(&args[0])?;
    if float.abs() > f32::MAX.into() {
        return raise(ErrorKind::IllegalArgument, "argument 1 is out of the range of a 32-bit float");
    }
    // What a 32-bit float cannot tell from zero is zero.
    Ok(Value::Float(if float as f32 == 0.0 { 0f64.copysign(float) } else { float }))
}

fn bad_number<T>(text: &str) -> Res<T> {
    raise(ErrorKind::Format, format!("{:?} does not spell a number", excerpt(text)))
}

fn bigint(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Int(int) => Ok(Value::wide(BigInt::from(*int))),
        Value::Big(_) => Ok(args::take(args, 0)),
        Value::Decimal(decimal) => {
            let int = decimal.to_int()?;
            heap.work(arith::words(&args[0]))?;
            arith::check_bits(int.bits())?;
            counted(heap, Value::wide(int))
        }
        Value::Float(float) => match whole_decimal(float.trunc()) {
            Some(Value::Int(int)) => Ok(Value::wide(BigInt::from(int))),
            Some(int) => Ok(int),
            None => raise(ErrorKind::Format, "NaN and infinite floats have no integer"),
        },
        Value::Str(text) => {
            let text = text.as_str();
            // A decimal digit is more than three bits; reading digits takes quadratic time.
            arith::check_bits(text.len() as u64 * 3)?;
            heap.work(text.len() + (text.len() / 20).saturating_mul(text.len() / 20) / 8)?;
            heap.reserve(text.len())?;
            match text.parse::<BigInt>() {
                Ok(int) if !text.contains('_') => Ok(Value::wide(int)),
                _ => bad_number(text),
            }
        }
        _ => args::fail(args, 0, "a number or string"),
    }
}

/// A whole float as an integer. Beyond 2^63 the digits are the float's shortest decimal ones followed by
/// zeros, which is how Clojure converts it.
fn whole_decimal(whole: f64) -> Option<Value> {
    match integer(whole)? {
        Value::Big(_) => {
            let text = format!("{whole}");
            text.parse::<BigInt>().ok().map(Value::big)
        }
        small => Some(small),
    }
}

fn rationalize(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Float(float) if float.is_finite() && float.fract() == 0.0 => {
            Ok(whole_decimal(*float).unwrap_or(Value::Float(*float)))
        }
        Value::Float(float) => match Decimal::of_float(*float) {
            Some(decimal) => counted(heap, ratio::of_decimal(&decimal)?),
            None => raise(ErrorKind::Format, "NaN and infinite floats are not rational"),
        },
        Value::Decimal(exact) => {
            heap.work(arith::words(&args[0]))?;
            let number = exact.decimal().map_or_else(|| Ok(args[0].clone()), ratio::of_decimal)?;
            counted(heap, number)
        }
        other => arith::check_number(other).map(|()| other.clone()),
    }
}

/// A part of a ratio. Integers have none, as in Clojure.
fn part(heap: &mut Heap, args: &[Value], of: fn(&Ratio) -> &BigInt) -> Res {
    let Value::Decimal(exact) = &args[0] else { return args::fail(args, 0, "a ratio") };
    let Some(ratio) = exact.ratio() else { return args::fail(args, 0, "a ratio") };
    counted(heap, Value::wide(of(ratio).clone()))
}

/// The low 64 bits of a number in two's complement; floats are cut off at the range of 64 bits.
fn low_bits(args: &[Value]) -> Res<i64> {
    match &args[0] {
        Value::Int(int) => Ok(*int),
        Value::Float(float) => Ok(*float as i64),
        Value::Big(big) => {
            let low = (&**big) & BigInt::from(u64::MAX);
            Ok(low.to_u64().unwrap_or_default().cast_signed())
        }
        Value::Decimal(decimal) => {
            let low = decimal.to_int()? & BigInt::from(u64::MAX);
            Ok(low.to_u64().unwrap_or_default().cast_signed())
        }
        other => Err(arith::not_a_number(other)),
    }
}

/// The low 32 bits of a number, of which floats are cut off at the range of 32 bits.
fn low_word(args: &[Value]) -> Res<i32> {
    match &args[0] {
        Value::Float(float) => Ok(*float as i32),
        _ => Ok(low_bits(args)? as i32),
    }
}
