//! `Math`: floating point functions and exact integer arithmetic, as Java computes them.

use std::cmp::Ordering;

use num_traits::Signed;

use super::super::numeric::counted;
use super::super::{Builtin, args, constant, native};
use crate::arith;
use crate::error::ErrorKind;
use crate::float;
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::Value;

/// Functions of one float: name, function, doc, example argument and result.
macro_rules! floats {
    ($($name:literal $function:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[a]", |_, args| {
            let function: fn(f64) -> f64 = $function;
            Ok(Value::Float(function(arith::to_f64(&args[0])?)))
        }, $doc, &[($source, $shown)])),*]
    };
}

/// Functions of two floats.
macro_rules! float_pairs {
    ($($name:literal $params:literal $function:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, $params, |_, args| {
            let function: fn(f64, f64) -> f64 = $function;
            Ok(Value::Float(function(arith::to_f64(&args[0])?, arith::to_f64(&args[1])?)))
        }, $doc, &[($source, $shown)])),*]
    };
}

/// Integer arithmetic that refuses results beyond 64 bits.
macro_rules! exact {
    ($($name:literal $params:literal $function:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, $params, |_, args| {
            let function: fn(i64, i64) -> Option<i64> = $function;
            exact(args, function)
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static FLOATS: &[Builtin] = &floats! {
    "Math/sqrt" f64::sqrt, "The square root.", "(Math/sqrt 16)" => "4.0";
    "Math/cbrt" pxfm::f_cbrt, "The cube root.", "(Math/cbrt 27)" => "3.0";
    "Math/exp" pxfm::f_exp, "e to a power.", "(Math/exp 0)" => "1.0";
    "Math/expm1" pxfm::f_expm1, "e to a power, minus 1, exact near zero.", "(Math/expm1 0)" => "0.0";
    "Math/log" pxfm::f_log, "The natural logarithm.", "(Math/log 1)" => "0.0";
    "Math/log10" pxfm::f_log10, "The logarithm to base 10.", "(Math/log10 1000)" => "3.0";
    "Math/log1p" pxfm::f_log1p, "The natural logarithm of 1 + a, exact near zero.", "(Math/log1p 0)" => "0.0";
    "Math/sin" pxfm::f_sin, "The sine of an angle in radians.", "(Math/sin 0)" => "0.0";
    "Math/cos" pxfm::f_cos, "The cosine of an angle in radians.", "(Math/cos 0)" => "1.0";
    "Math/tan" pxfm::f_tan, "The tangent of an angle in radians.", "(Math/tan 0)" => "0.0";
    "Math/asin" pxfm::f_asin, "The angle of a sine.", "(Math/asin 0)" => "0.0";
    "Math/acos" pxfm::f_acos, "The angle of a cosine.", "(Math/acos 1)" => "0.0";
    "Math/atan" pxfm::f_atan, "The angle of a tangent.", "(Math/atan 0)" => "0.0";
    "Math/sinh" float::sinh, "The hyperbolic sine.", "(Math/sinh 0)" => "0.0";
    "Math/cosh" pxfm::f_cosh, "The hyperbolic cosine.", "(Math/cosh 0)" => "1.0";
    "Math/tanh" pxfm::f_tanh, "The hyperbolic tangent.", "(Math/tanh 0)" => "0.0";
    "Math/floor" f64::floor, "The greatest whole float not above a.", "(Math/floor -1.5)" => "-2.0";
    "Math/ceil" f64::ceil, "The least whole float not below a.", "(Math/ceil 1.2)" => "2.0";
    "Math/rint" f64::round_ties_even, "The nearest whole float, halves to the even one.",
        "(Math/rint 2.5)" => "2.0";
    "Math/signum" float::signum, "-1.0, 0.0 or 1.0 by the sign.", "(Math/signum -7)" => "-1.0";
    "Math/toRadians" f64::to_radians, "Degrees as radians.",
        "(Math/toRadians 180)" => "3.141592653589793";
    "Math/toDegrees" f64::to_degrees, "Radians as degrees.",
        "(Math/toDegrees Math/PI)" => "180.0";
};

pub(super) static FLOAT_PAIRS: &[Builtin] = &float_pairs! {
    "Math/pow" "[a b]" float::pow, "a to the power of b, as a float.", "(Math/pow 2 10)" => "1024.0";
    "Math/atan2" "[y x]" float::atan2, "The angle of the point (x, y).", "(Math/atan2 0 1)" => "0.0";
    "Math/hypot" "[x y]" float::hypot, "The length of the vector (x, y).", "(Math/hypot 3 4)" => "5.0";
    "Math/copySign" "[magnitude sign]" f64::copysign, "A magnitude with the sign of another number.",
        "(Math/copySign 2.0 -1.0)" => "-2.0";
    "Math/IEEEremainder" "[a b]" float::nearest_remainder, "What is left when the quotient is rounded to nearest.",
        "(Math/IEEEremainder 5 3)" => "-1.0";
};

pub(super) static EXACT: &[Builtin] = &exact! {
    "Math/addExact" "[x y]" i64::checked_add, "The sum; raises if it does not fit 64 bits.",
        "(Math/addExact 1 2)" => "3";
    "Math/subtractExact" "[x y]" i64::checked_sub, "The difference; raises if it does not fit 64 bits.",
        "(Math/subtractExact 1 2)" => "-1";
    "Math/multiplyExact" "[x y]" i64::checked_mul, "The product; raises if it does not fit 64 bits.",
        "(Math/multiplyExact 3 4)" => "12";
    "Math/incrementExact" "[x]" |x, _| x.checked_add(1), "One more; raises if it does not fit 64 bits.",
        "(Math/incrementExact 1)" => "2";
    "Math/decrementExact" "[x]" |x, _| x.checked_sub(1), "One less; raises if it does not fit 64 bits.",
        "(Math/decrementExact 1)" => "0";
    "Math/negateExact" "[x]" |x, _| x.checked_neg(), "The negated integer; raises if it does not fit.",
        "(Math/negateExact 5)" => "-5";
    "Math/toIntExact" "[x]" |x, _| i32::try_from(x).ok().map(i64::from),
        "The integer itself; raises if it does not fit 32 bits.", "(Math/toIntExact 7)" => "7";
};

pub(super) static TABLE: &[Builtin] = &[
    constant(
        "Math/PI",
        |_| Value::Float(std::f64::consts::PI),
        "The ratio of circumference to diameter.",
        &[("Math/PI", "3.141592653589793")],
    ),
    constant(
        "Math/E",
        |_| Value::Float(std::f64::consts::E),
        "The base of natural logarithms.",
        &[("Math/E", "2.718281828459045")],
    ),
    native(
        "Math/abs",
        "[a]",
        abs,
        "The absolute value; an integer stays one.",
        &[("(Math/abs -3)", "3"), ("(Math/abs -2.5)", "2.5")],
    ),
    native(
        "Math/round",
        "[a]",
        round,
        "The nearest integer; halves go up.",
        &[("(Math/round 2.5)", "3"), ("(Math/round -2.5)", "-2")],
    ),
    native(
        "Math/max",
        "[a & more]",
        |_, args| extreme(args, Ordering::Greater),
        "The greater number; with a float among them the result is a float.",
        &[("(Math/max 1 2)", "2"), ("(Math/max 1 0.5)", "1.0")],
    ),
    native(
        "Math/min",
        "[a & more]",
        |_, args| extreme(args, Ordering::Less),
        "The smaller number; with a float among them the result is a float.",
        &[("(Math/min 1 2)", "1")],
    ),
    native(
        "Math/floorDiv",
        "[x y]",
        floor_div,
        "The quotient of two integers rounded down.",
        &[("(Math/floorDiv -7 2)", "-4")],
    ),
    native(
        "Math/floorMod",
        "[x y]",
        floor_mod,
        "The remainder of Math/floorDiv; it has the sign of y.",
        &[("(Math/floorMod -7 3)", "2")],
    ),
    native(
        "Math/random",
        "[]",
        |heap, _| Ok(Value::Float(heap.random_f64())),
        "A random float from 0 to below 1.",
        &[("(< -1 (Math/random) 1)", "true")],
    ),
];

fn abs(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Float(float) => Ok(Value::Float(float.abs())),
        Value::Int(int) if *int < 0 => arith::negate(&args[0]),
        Value::Big(big) => counted(heap, Value::big(big.abs())),
        Value::Decimal(decimal) if decimal.sign().is_lt() => counted(heap, arith::negate(&args[0])?),
        Value::Int(_) | Value::Decimal(_) => Ok(args::take(args, 0)),
        _ => args::fail(args, 0, "a number"),
    }
}

fn round(_: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(args::take(args, 0)),
        Value::Float(float) => Ok(Value::Int(float::round_half_up(*float))),
        Value::Decimal(decimal) => Ok(Value::Int(float::round_half_up(decimal.to_f64()))),
        _ => args::fail(args, 0, "a number"),
    }
}

fn extreme(args: &mut [Value], wanted: Ordering) -> Res {
    let mut floats = false;
    for at in 0..args.len() {
        let value = args::float(args, at)?;
        if value.is_nan() {
            return Ok(Value::Float(f64::NAN));
        }
        floats |= matches!(args[at], Value::Float(_));
    }
    let mut best = 0;
    for at in 1..args.len() {
        let order = crate::value::order::compare_numbers(&args[at], &args[best]);
        // Zeros are told apart: -0.0 is the smaller one.
        let negative = |value: &Value| matches!(value, Value::Float(float) if float.is_sign_negative());
        let zeros = order == Some(Ordering::Equal) && negative(&args[at]) != negative(&args[best]);
        let smaller = negative(&args[at]) == (wanted == Ordering::Less);
        if order == Some(wanted) || (zeros && smaller) {
            best = at;
        }
    }
    if floats { Ok(Value::Float(args::float(args, best)?)) } else { Ok(args::take(args, best)) }
}

fn exact(args: &[Value], function: fn(i64, i64) -> Option<i64>) -> Res {
    let second = if args.len() > 1 { args::int(args, 1)? } else { 0 };
    match function(args::int(args, 0)?, second) {
        Some(int) => Ok(Value::Int(int)),
        None => raise(ErrorKind::Arithmetic, "the result does not fit the integer type"),
    }
}

fn floor_div(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(arith::quotient_cost(&args[0], &args[1]))?;
    let (x, y) = (args::big(args, 0)?, args::big(args, 1)?);
    if y == num_bigint::BigInt::ZERO {
        return arith::zero_divisor();
    }
    counted(heap, Value::big(num_integer::Integer::div_floor(&x, &y)))
}

fn floor_mod(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(arith::quotient_cost(&args[0], &args[1]))?;
    args::big(args, 0)?;
    args::big(args, 1)?;
    counted(heap, arith::modulo(&args[0], &args[1])?)
}
