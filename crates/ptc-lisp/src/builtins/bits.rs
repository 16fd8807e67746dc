//! Bits of integers.
//!
//! Integers are two's complement without an end, so shifting left and setting a high bit make them grow
//! instead of wrapping. Only `unsigned-bit-shift-right`, which needs a width, works on 64 bits.

use std::ops::{BitAnd, BitOr, BitXor};

use num_bigint::BigInt;

use super::numeric::counted;
use super::{Builtin, args, native};
use crate::arith;
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/bit-and",
        "[x y] [x y & more]",
        |heap, args| combine(heap, args, |a, b| a & b, |a, b| a.bitand(b)),
        "The bits set in all of its arguments.",
        &[("(bit-and 12 10)", "8"), ("(bit-and 7 3 1)", "1")],
    ),
    native(
        "clojure.core/bit-or",
        "[x y] [x y & more]",
        |heap, args| combine(heap, args, |a, b| a | b, |a, b| a.bitor(b)),
        "The bits set in any of its arguments.",
        &[("(bit-or 12 10)", "14")],
    ),
    native(
        "clojure.core/bit-xor",
        "[x y] [x y & more]",
        |heap, args| combine(heap, args, |a, b| a ^ b, |a, b| a.bitxor(b)),
        "The bits set in an odd number of its arguments.",
        &[("(bit-xor 12 10)", "6")],
    ),
    native(
        "clojure.core/bit-and-not",
        "[x y] [x y & more]",
        |heap, args| combine(heap, args, |a, b| a & !b, |a, b| a.bitand(!b)),
        "The bits of the first argument that no other has.",
        &[("(bit-and-not 12 10)", "4")],
    ),
    native("clojure.core/bit-not", "[x]", bit_not, "All bits turned over.", &[("(bit-not 5)", "-6")]),
    native(
        "clojure.core/bit-shift-left",
        "[x n]",
        shift_left,
        "Moves the bits n places to the left; the integer grows as needed.",
        &[("(bit-shift-left 1 10)", "1024"), ("(bit-shift-left 1 64)", "18446744073709551616")],
    ),
    native(
        "clojure.core/bit-shift-right",
        "[x n]",
        shift_right,
        "Moves the bits n places to the right and keeps the sign.",
        &[("(bit-shift-right 8 1)", "4"), ("(bit-shift-right -8 1)", "-4")],
    ),
    native(
        "clojure.core/unsigned-bit-shift-right",
        "[x n]",
        unsigned_shift_right,
        "Moves the 64 bits of an integer n places to the right and fills with zeros.",
        &[("(unsigned-bit-shift-right -1 10)", "18014398509481983")],
    ),
    native(
        "clojure.core/bit-set",
        "[x n]",
        |heap, args| with_bit(heap, args, |_| true),
        "The integer with bit n set.",
        &[("(bit-set 5 1)", "7")],
    ),
    native(
        "clojure.core/bit-clear",
        "[x n]",
        |heap, args| with_bit(heap, args, |_| false),
        "The integer with bit n cleared.",
        &[("(bit-clear 5 0)", "4")],
    ),
    native(
        "clojure.core/bit-flip",
        "[x n]",
        |heap, args| with_bit(heap, args, |old| !old),
        "The integer with bit n turned over.",
        &[("(bit-flip 5 1)", "7"), ("(bit-flip 7 1)", "5")],
    ),
    native(
        "clojure.core/bit-test",
        "[x n]",
        |_, args| Ok(Value::Bool(bit(args)?)),
        "Whether bit n is set.",
        &[("(bit-test 5 0)", "true"), ("(bit-test 5 1)", "false")],
    ),
];

/// An integer argument. Whole floats do not count: bits of a float are not what anybody means.
fn check_integer(args: &[Value], at: usize) -> Res<()> {
    match args.get(at) {
        Some(Value::Int(_) | Value::Big(_)) => Ok(()),
        _ => args::fail(args, at, "an integer"),
    }
}

fn combine(
    heap: &mut Heap,
    args: &[Value],
    small: fn(i64, i64) -> i64,
    big: fn(BigInt, BigInt) -> BigInt,
) -> Res {
    heap.work(args.len() + args.iter().map(arith::words).sum::<usize>())?;
    (0..args.len()).try_for_each(|at| check_integer(args, at))?;
    let mut result = args[0].clone();
    for x in &args[1..] {
        let pair = [result, x.clone()];
        result = match pair {
            [Value::Int(a), Value::Int(b)] => Value::Int(small(a, b)),
            _ => {
                heap.reserve(pair.iter().map(arith::words).sum::<usize>() * size_of::<u64>())?;
                Value::big(big(args::big(&pair, 0)?, args::big(&pair, 1)?))
            }
        };
    }
    Ok(result)
}

fn bit_not(heap: &mut Heap, args: &mut [Value]) -> Res {
    check_integer(args, 0)?;
    match &args[0] {
        Value::Int(int) => Ok(Value::Int(!int)),
        _ => counted(heap, Value::big(!args::big(args, 0)?)),
    }
}

/// The number of places: an integer that is not negative.
fn places(args: &[Value]) -> Res<u64> {
    check_integer(args, 1)?;
    match &args[1] {
        Value::Int(int) => match u64::try_from(*int) {
            Ok(places) => Ok(places),
            Err(_) => illegal(format!("argument 2 must not be negative, got {int}")),
        },
        _ => args::fail(args, 1, "an integer of at most 64 bits"),
    }
}

fn shift_left(heap: &mut Heap, args: &mut [Value]) -> Res {
    check_integer(args, 0)?;
    let by = places(args)?;
    if let (Value::Int(int), Ok(by)) = (&args[0], u32::try_from(by)) {
        let lost = if *int < 0 { int.leading_ones() } else { int.leading_zeros() };
        if by < lost || *int == 0 {
            return Ok(Value::Int(int.checked_shl(by).unwrap_or(0)));
        }
    }
    let int = args::big(args, 0)?;
    let bits = int.bits().saturating_add(by);
    arith::check_bits(bits)?;
    let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
    heap.work(bytes / 8)?;
    heap.reserve(bytes)?;
    Ok(Value::big(int << by))
}

fn shift_right(heap: &mut Heap, args: &mut [Value]) -> Res {
    check_integer(args, 0)?;
    let by = places(args)?;
    match &args[0] {
        Value::Int(int) => Ok(Value::Int(int >> by.min(63))),
        _ => {
            heap.work(arith::words(&args[0]))?;
            counted(heap, Value::big(args::big(args, 0)? >> by))
        }
    }
}

fn unsigned_shift_right(_: &mut Heap, args: &mut [Value]) -> Res {
    check_integer(args, 0)?;
    let by = places(args)?;
    match &args[0] {
        Value::Int(int) => {
            // As on the JVM the number of places counts modulo 64.
            Ok(Value::Int((int.cast_unsigned() >> (by & 63)).cast_signed()))
        }
        _ => args::fail(args, 0, "an integer of at most 64 bits"),
    }
}

fn bit(args: &[Value]) -> Res<bool> {
    check_integer(args, 0)?;
    let at = places(args)?;
    match &args[0] {
        Value::Int(int) => Ok((int >> at.min(63)) & 1 == 1),
        _ => Ok(args::big(args, 0)?.bit(at)),
    }
}

fn with_bit(heap: &mut Heap, args: &[Value], change: fn(bool) -> bool) -> Res {
    let (old, at) = (bit(args)?, places(args)?);
    let new = change(old);
    if new == old {
        return Ok(args[0].clone());
    }
    if let (Value::Int(int), 0..63) = (&args[0], at) {
        return Ok(Value::Int(int ^ (1 << at)));
    }
    arith::check_bits(at.saturating_add(1))?;
    heap.work(arith::words(&args[0]) + usize::try_from(at / 64).unwrap_or(usize::MAX))?;
    let mut int = args::big(args, 0)?;
    int.set_bit(at, new);
    counted(heap, Value::big(int))
}
