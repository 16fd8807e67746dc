//! Taking arguments apart, with one wording for what is wrong with them.
//!
//! Messages name the argument by its position; the machine puts the function's name before them.

use num_bigint::BigInt;

use crate::arith;
use crate::error::{Error, ErrorKind};
use crate::signal::{Res, type_error};
use crate::value::{Shared, Value, VecObj};

/// Takes argument `at` out of the slice.
pub fn take(args: &mut [Value], at: usize) -> Value {
    args.get_mut(at).map(std::mem::take).unwrap_or_default()
}

/// The error for an argument of the wrong type. A keyword where text is wanted is most often a key of a JSON object.
pub fn wrong(args: &[Value], at: usize, expected: &str) -> Error {
    let got = args.get(at).map_or("nothing", Value::type_name);
    let error = Error::new(ErrorKind::Type, format!("argument {} must be {expected}, got {got}", at + 1));
    match args.get(at) {
        Some(Value::Kw(_)) if expected.contains("string") => {
            error.hint("keys of JSON objects are keywords; (name k) is the text of one")
        }
        _ => error,
    }
}

/// A string argument.
pub fn text(args: &[Value], at: usize) -> Res<&str> {
    args.get(at).and_then(Value::as_str).ok_or_else(|| no_text(args, at).into())
}

/// The error for an argument that is no text, with what to do about it.
#[cold]
pub fn no_text(args: &[Value], at: usize) -> Error {
    let error = wrong(args, at, "a string");
    match args.get(at) {
        Some(Value::Nil) => error.hint("handle nil first: (or s \"\") or (when s …)"),
        Some(Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_)) => {
            error.hint("make it text with (str x)")
        }
        Some(Value::Time(_)) => error.hint(
            "(str date) is its text, (.format date (DateTimeFormatter/ofPattern \"yyyy-MM\")) the part that is wanted",
        ),
        _ => error,
    }
}

/// An integer argument that fits 64 bits; floats and decimals count without their fraction.
pub fn int(args: &[Value], at: usize) -> Res<i64> {
    match args.get(at) {
        Some(Value::Int(int)) => Ok(*int),
        Some(Value::Float(float)) if float.is_finite() => Ok(*float as i64),
        Some(large @ (Value::Big(_) | Value::Decimal(_))) => {
            narrowed(large).ok_or_else(|| wrong(args, at, "an integer of at most 64 bits").into())
        }
        _ => Err(wrong(args, at, "an integer").into()),
    }
}

/// A large integer or a decimal as an integer of 64 bits, if it fits.
#[cold]
fn narrowed(value: &Value) -> Option<i64> {
    match value {
        Value::Decimal(decimal) => i64::try_from(decimal.to_int().ok()?).ok(),
        _ => value.as_i64(),
    }
}

/// An index or count: an integer, negative ones clamped to zero.
pub fn count(args: &[Value], at: usize) -> Res<usize> {
    Ok(usize::try_from(int(args, at)?.max(0)).unwrap_or(usize::MAX))
}

/// A number argument as a float.
pub fn float(args: &[Value], at: usize) -> Res<f64> {
    match args.get(at) {
        Some(Value::Int(int)) => Ok(*int as f64),
        Some(Value::Float(float)) => Ok(*float),
        Some(Value::Big(big)) => Ok(arith::big_to_f64(big)),
        Some(Value::Decimal(decimal)) => Ok(decimal.to_f64()),
        _ => Err(wrong(args, at, "a number").into()),
    }
}

/// An integer argument of any size.
pub fn big(args: &[Value], at: usize) -> Res<BigInt> {
    match args.get(at) {
        Some(Value::Int(int)) => Ok(BigInt::from(*int)),
        Some(Value::Big(big)) => Ok((**big).clone()),
        _ => Err(wrong(args, at, "an integer").into()),
    }
}

/// A vector argument.
pub fn vector(args: &[Value], at: usize) -> Res<&Shared<VecObj>> {
    match args.get(at) {
        Some(Value::Vec(body)) => Ok(body),
        _ => Err(wrong(args, at, "a vector").into()),
    }
}

/// Fails if any argument from `from` on is not a string.
pub fn all_text(args: &[Value], from: usize) -> Res<()> {
    for at in from..args.len() {
        text(args, at)?;
    }
    Ok(())
}

/// Raises the error for argument `at`.
pub fn fail<T>(args: &[Value], at: usize, expected: &str) -> Res<T> {
    Err(wrong(args, at, expected).into())
}

/// Raises a type error with a hint.
pub fn fail_with_hint<T>(message: String, hint: &str) -> Res<T> {
    if hint.is_empty() {
        return type_error(message);
    }
    Err(Error::new(ErrorKind::Type, message).hint(hint).into())
}
