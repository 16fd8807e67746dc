//! `clojure.math`, and `sqrt` and `pow` for programs that do not name a namespace.
//!
//! Functions that have no exact result come from `pxfm`, which rounds correctly, and not from the system's
//! library: a program gives the same digits on every machine.

use super::casts::within;
use super::{Builtin, args, constant, native};
use crate::arith;
use crate::error::ErrorKind;
use crate::float;
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::Value;

/// Declares a function from float to float.
macro_rules! unary {
    ($name:literal, $function:expr, $doc:literal, $examples:expr $(,)?) => {
        native($name, "[a]", |_, args| unary(args, $function), $doc, $examples)
    };
}

/// Declares a function from two floats to a float.
macro_rules! binary {
    ($name:literal, $params:literal, $function:expr, $doc:literal, $examples:expr $(,)?) => {
        native($name, $params, |_, args| binary(args, $function), $doc, $examples)
    };
}

/// Declares a function of integers that raises where 64 bits do not hold the result.
macro_rules! exact {
    ($name:literal, $params:literal, $operation:expr, $doc:literal, $examples:expr $(,)?) => {
        native($name, $params, |_, args| exact(args, $operation), $doc, $examples)
    };
}

pub(super) static TABLE: &[Builtin] = &[
    constant(
        "clojure.math/PI",
        |_| Value::Float(std::f64::consts::PI),
        "The ratio of a circle's circumference to its diameter.",
        &[("clojure.math/PI", "3.141592653589793")],
    ),
    constant(
        "clojure.math/E",
        |_| Value::Float(std::f64::consts::E),
        "The base of natural logarithms.",
        &[("clojure.math/E", "2.718281828459045")],
    ),
    unary!(
        "ptc/sqrt",
        f64::sqrt,
        "The square root as a float; NaN for negative numbers.",
        &[("(sqrt 9)", "3.0")]
    ),
    binary!(
        "ptc/pow",
        "[a b]",
        float::pow,
        "`a` to the power of `b` as a float.",
        &[("(pow 2 10)", "1024.0"), ("(pow 10 -2)", "0.01")]
    ),
    unary!(
        "clojure.math/sqrt",
        f64::sqrt,
        "The square root.",
        &[("(clojure.math/sqrt 2)", "1.4142135623730951")]
    ),
    unary!("clojure.math/cbrt", pxfm::f_cbrt, "The cube root.", &[("(clojure.math/cbrt 27)", "3.0")]),
    binary!(
        "clojure.math/pow",
        "[a b]",
        float::pow,
        "`a` to the power of `b`.",
        &[("(clojure.math/pow 2 3)", "8.0")]
    ),
    unary!(
        "clojure.math/exp",
        pxfm::f_exp,
        "e to the power of a number.",
        &[("(clojure.math/exp 0)", "1.0")]
    ),
    unary!(
        "clojure.math/expm1",
        pxfm::f_expm1,
        "e to the power of a number, minus one, exact near zero.",
        &[("(clojure.math/expm1 0)", "0.0")]
    ),
    unary!("clojure.math/log", pxfm::f_log, "The natural logarithm.", &[("(clojure.math/log 1)", "0.0")]),
    unary!(
        "clojure.math/log10",
        pxfm::f_log10,
        "The logarithm to base 10.",
        &[("(clojure.math/log10 1000)", "3.0")]
    ),
    unary!(
        "clojure.math/log1p",
        pxfm::f_log1p,
        "The natural logarithm of one plus a number, exact near zero.",
        &[("(clojure.math/log1p 0)", "0.0")]
    ),
    unary!(
        "clojure.math/sin",
        pxfm::f_sin,
        "The sine of an angle in radians.",
        &[("(clojure.math/sin 0)", "0.0")]
    ),
    unary!(
        "clojure.math/cos",
        pxfm::f_cos,
        "The cosine of an angle in radians.",
        &[("(clojure.math/cos 0)", "1.0")]
    ),
    unary!(
        "clojure.math/tan",
        pxfm::f_tan,
        "The tangent of an angle in radians.",
        &[("(clojure.math/tan 0)", "0.0")]
    ),
    unary!(
        "clojure.math/asin",
        pxfm::f_asin,
        "The angle whose sine is a number.",
        &[("(clojure.math/asin 1)", "1.5707963267948966")]
    ),
    unary!(
        "clojure.math/acos",
        pxfm::f_acos,
        "The angle whose cosine is a number.",
        &[("(clojure.math/acos 1)", "0.0")]
    ),
    unary!(
        "clojure.math/atan",
        pxfm::f_atan,
        "The angle whose tangent is a number.",
        &[("(clojure.math/atan 1)", "0.7853981633974483")]
    ),
    binary!(
        "clojure.math/atan2",
        "[y x]",
        float::atan2,
        "The angle of the point (x, y) as seen from the origin.",
        &[("(clojure.math/atan2 1 -1)", "2.356194490192345")]
    ),
    unary!("clojure.math/sinh", float::sinh, "The hyperbolic sine.", &[("(clojure.math/sinh 0)", "0.0")]),
    unary!("clojure.math/cosh", pxfm::f_cosh, "The hyperbolic cosine.", &[("(clojure.math/cosh 0)", "1.0")]),
    unary!("clojure.math/tanh", pxfm::f_tanh, "The hyperbolic tangent.", &[("(clojure.math/tanh 0)", "0.0")]),
    binary!(
        "clojure.math/hypot",
        "[x y]",
        float::hypot,
        "The length of the vector (x, y).",
        &[("(clojure.math/hypot 3 4)", "5.0")]
    ),
    unary!(
        "clojure.math/to-radians",
        f64::to_radians,
        "Degrees as radians.",
        &[("(clojure.math/to-radians 180)", "3.141592653589793")]
    ),
    unary!(
        "clojure.math/to-degrees",
        f64::to_degrees,
        "Radians as degrees.",
        &[("(clojure.math/to-degrees clojure.math/PI)", "180.0")]
    ),
    unary!(
        "clojure.math/floor",
        f64::floor,
        "The greatest whole float that is not above a number.",
        &[("(clojure.math/floor -1.5)", "-2.0")]
    ),
    unary!(
        "clojure.math/ceil",
        f64::ceil,
        "The least whole float that is not below a number.",
        &[("(clojure.math/ceil 1.2)", "2.0")]
    ),
    unary!(
        "clojure.math/rint",
        f64::round_ties_even,
        "The nearest whole float; halves go to the even one.",
        &[("(clojure.math/rint 2.5)", "2.0"), ("(clojure.math/rint 3.5)", "4.0")]
    ),
    native(
        "clojure.math/round",
        "[a]",
        round,
        "The nearest integer; halves go up. `round` without a namespace takes them away from zero.",
        &[("(clojure.math/round 2.5)", "3"), ("(clojure.math/round -2.5)", "-2")],
    ),
    unary!(
        "clojure.math/signum",
        float::signum,
        "-1.0, 0.0 or 1.0 by the sign of a number.",
        &[("(clojure.math/signum -3)", "-1.0"), ("(clojure.math/signum 0)", "0.0")]
    ),
    binary!(
        "clojure.math/copy-sign",
        "[magnitude sign]",
        f64::copysign,
        "The first number with the sign of the second.",
        &[("(clojure.math/copy-sign 1 -2)", "-1.0")]
    ),
    binary!(
        "clojure.math/IEEE-remainder",
        "[dividend divisor]",
        float::nearest_remainder,
        "What is left when the quotient is rounded to the nearest integer.",
        &[("(clojure.math/IEEE-remainder 5 3)", "-1.0")]
    ),
    unary!(
        "clojure.math/next-up",
        f64::next_up,
        "The next greater float.",
        &[("(clojure.math/next-up 1)", "1.0000000000000002")]
    ),
    unary!(
        "clojure.math/next-down",
        f64::next_down,
        "The next smaller float.",
        &[("(clojure.math/next-down 1)", "0.9999999999999999")]
    ),
    binary!(
        "clojure.math/next-after",
        "[start direction]",
        float::next_after,
        "The float next to the first number in the direction of the second.",
        &[("(clojure.math/next-after 1 2)", "1.0000000000000002")]
    ),
    unary!(
        "clojure.math/ulp",
        float::ulp,
        "The distance from a number to the next float further from zero.",
        &[("(clojure.math/ulp 1)", "2.220446049250313E-16")]
    ),
    native(
        "clojure.math/get-exponent",
        "[d]",
        |_, args| Ok(Value::Int(float::exponent(arith::to_f64(&args[0])?))),
        "The exponent in the binary form of a number.",
        &[("(clojure.math/get-exponent 10)", "3")],
    ),
    native(
        "clojure.math/scalb",
        "[d scaleFactor]",
        scalb,
        "A number times a power of two.",
        &[("(clojure.math/scalb 1.5 4)", "24.0")],
    ),
    native(
        "clojure.math/random",
        "[]",
        |heap, _| Ok(Value::Float(heap.random_f64())),
        "A random float from 0 up to, but not including, 1.",
        &[("(< (clojure.math/random) 1)", "true")],
    ),
    exact!(
        "clojure.math/add-exact",
        "[x y]",
        |xs| xs[0].checked_add(xs[1]),
        "The sum of two integers; raises if it does not fit 64 bits.",
        &[("(clojure.math/add-exact 1 2)", "3")]
    ),
    exact!(
        "clojure.math/subtract-exact",
        "[x y]",
        |xs| xs[0].checked_sub(xs[1]),
        "The difference of two integers; raises if it does not fit 64 bits.",
        &[("(clojure.math/subtract-exact 3 2)", "1")]
    ),
    exact!(
        "clojure.math/multiply-exact",
        "[x y]",
        |xs| xs[0].checked_mul(xs[1]),
        "The product of two integers; raises if it does not fit 64 bits.",
        &[("(clojure.math/multiply-exact 3 2)", "6")]
    ),
    exact!(
        "clojure.math/increment-exact",
        "[a]",
        |xs| xs[0].checked_add(1),
        "One more than an integer; raises if it does not fit 64 bits.",
        &[("(clojure.math/increment-exact 1)", "2")]
    ),
    exact!(
        "clojure.math/decrement-exact",
        "[a]",
        |xs| xs[0].checked_sub(1),
        "One less than an integer; raises if it does not fit 64 bits.",
        &[("(clojure.math/decrement-exact 1)", "0")]
    ),
    exact!(
        "clojure.math/negate-exact",
        "[a]",
        |xs| xs[0].checked_neg(),
        "An integer with the other sign; raises if it does not fit 64 bits.",
        &[("(clojure.math/negate-exact 5)", "-5")]
    ),
    native(
        "clojure.math/floor-div",
        "[x y]",
        floor_div,
        "The quotient of two integers rounded down.",
        &[("(clojure.math/floor-div -7 2)", "-4")],
    ),
    native(
        "clojure.math/floor-mod",
        "[x y]",
        |_, args| arith::modulo(&Value::Int(integer(args, 0)?), &Value::Int(integer(args, 1)?)),
        "What `floor-div` leaves over; it has the sign of the second argument.",
        &[("(clojure.math/floor-mod -7 2)", "1")],
    ),
];

fn integer(args: &[Value], at: usize) -> Res<i64> {
    within(args, at, i64::MIN, i64::MAX)
}

fn unary(args: &[Value], function: fn(f64) -> f64) -> Res {
    Ok(Value::Float(function(arith::to_f64(&args[0])?)))
}

fn binary(args: &[Value], function: fn(f64, f64) -> f64) -> Res {
    Ok(Value::Float(function(arith::to_f64(&args[0])?, arith::to_f64(&args[1])?)))
}

fn round(_: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(args::take(args, 0)),
        other => Ok(Value::Int(float::round_half_up(arith::to_f64(other)?))),
    }
}

fn scalb(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Float(float::scale(arith::to_f64(&args[0])?, integer(args, 1)?)))
}

fn exact(args: &[Value], operation: fn([i64; 2]) -> Option<i64>) -> Res {
    let operands = [integer(args, 0)?, if args.len() > 1 { integer(args, 1)? } else { 0 }];
    match operation(operands) {
        Some(int) => Ok(Value::Int(int)),
        None => raise(ErrorKind::Arithmetic, "the result does not fit 64 bits"),
    }
}

fn floor_div(_: &mut Heap, args: &mut [Value]) -> Res {
    let (x, y) = (integer(args, 0)?, integer(args, 1)?);
    let quotient = arith::quot(&Value::Int(x), &Value::Int(y))?;
    let uneven = x.checked_rem(y).is_some_and(|rest| rest != 0);
    if uneven && (x < 0) != (y < 0) { arith::dec(&quotient) } else { Ok(quotient) }
}
