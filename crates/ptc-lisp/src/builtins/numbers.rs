//! Arithmetic, rounding and the sums of data work.
//!
//! What the operations mean is in [`crate::arith`]; here are the functions of the language over it, with
//! any number of arguments and with fuel and memory for big integers.

use num_bigint::BigInt;
use num_traits::{FromPrimitive, Signed};

use super::chain_part::ChainPart;
use super::numeric::{self, counted, pay};
use super::{Builtin, args, native};
use crate::arith;
use crate::decimal::{Context, Decimal, Rounding, context, ops};
use crate::error::{Error, ErrorKind};
use crate::exact::Exact;
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::{Items, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/+",
        "[] [x] [x y] [x y & more]",
        plus,
        "The sum of its arguments; integers grow as needed, a float makes the result a float.",
        &[("(+ 1 2 3)", "6"), ("(+ 1 0.5)", "1.5"), ("(+)", "0")],
    )
    .in_chains(ChainPart::Add),
    native(
        "clojure.core/-",
        "[x] [x y] [x y & more]",
        minus,
        "Takes the other arguments away from the first; negates a single argument.",
        &[("(- 10 3 2)", "5"), ("(- 5)", "-5")],
    ),
    native(
        "clojure.core/*",
        "[] [x] [x y] [x y & more]",
        times,
        "The product of its arguments; integers grow as needed.",
        &[("(* 2 3 4)", "24"), ("(* 99999999999 99999999999)", "9999999999800000000001"), ("(*)", "1")],
    ),
    native(
        "clojure.core//",
        "[x] [x y] [x y & more]",
        divide,
        "Divides the first argument by the others; integers that do not divide evenly give a float. A \
         single argument gives its reciprocal.",
        &[("(/ 6 3)", "2"), ("(/ 7 2)", "3.5"), ("(/ 4)", "0.25")],
    ),
    native(
        "clojure.core/+'",
        "[] [x] [x y] [x y & more]",
        plus,
        "The same as `+`: integers always grow as needed.",
        &[("(+' 9223372036854775807 1)", "9223372036854775808")],
    ),
    native(
        "clojure.core/-'",
        "[x] [x y] [x y & more]",
        minus,
        "The same as `-`: integers always grow as needed.",
        &[("(-' -9223372036854775808 1)", "-9223372036854775809")],
    ),
    native(
        "clojure.core/*'",
        "[] [x] [x y] [x y & more]",
        times,
        "The same as `*`: integers always grow as needed.",
        &[("(*' 9223372036854775807 2)", "18446744073709551614")],
    ),
    native(
        "clojure.core/inc",
        "[x]",
        inc,
        "One more than a number.",
        &[("(inc 41)", "42"), ("(inc 1.5)", "2.5")],
    )
    .in_chains(ChainPart::Inc),
    native(
        "clojure.core/dec",
        "[x]",
        dec,
        "One less than a number.",
        &[("(dec 43)", "42"), ("(dec 0.5)", "-0.5")],
    )
    .in_chains(ChainPart::Dec),
    native(
        "clojure.core/inc'",
        "[x]",
        inc,
        "The same as `inc`: integers always grow as needed.",
        &[("(inc' 9223372036854775807)", "9223372036854775808")],
    ),
    native(
        "clojure.core/dec'",
        "[x]",
        dec,
        "The same as `dec`: integers always grow as needed.",
        &[("(dec' 1)", "0")],
    ),
    native(
        "clojure.core/quot",
        "[num div]",
        quot,
        "The quotient of two numbers without its fraction.",
        &[("(quot 7 2)", "3"), ("(quot -7 2)", "-3"), ("(quot 7.5 2)", "3.0")],
    ),
    native(
        "clojure.core/rem",
        "[num div]",
        rem,
        "What `quot` leaves over; it has the sign of the first argument.",
        &[("(rem 7 2)", "1"), ("(rem -7 2)", "-1")],
    ),
    native(
        "clojure.core/mod",
        "[num div]",
        modulo,
        "What is left over when the quotient is rounded down; it has the sign of the second argument.",
        &[("(mod 7 2)", "1"), ("(mod -7 2)", "1")],
    ),
    native(
        "clojure.core/abs",
        "[x]",
        abs,
        "A number without its sign.",
        &[("(abs -5)", "5"), ("(abs -1.5)", "1.5")],
    ),
    native(
        "clojure.core/max",
        "[x] [x y] [x y & more]",
        max,
        "The greatest of its arguments; NaN if one of them is NaN. Use `apply` for a collection.",
        &[("(max 3 1 2)", "3"), ("(apply max [4 9 2])", "9")],
    ),
    native(
        "clojure.core/min",
        "[x] [x y] [x y & more]",
        min,
        "The least of its arguments; NaN if one of them is NaN. Use `apply` for a collection.",
        &[("(min 3 1 2)", "1"), ("(apply min [4 9 2])", "2")],
    ),
    native(
        "ptc/floor",
        "[x]",
        |heap, args| rounded(heap, args, f64::floor, Rounding::Floor),
        "The greatest integer that is not above a number. `clojure.math/floor` gives a float.",
        &[("(floor 1.7)", "1"), ("(floor -1.2)", "-2")],
    ),
    native(
        "ptc/ceil",
        "[x]",
        |heap, args| rounded(heap, args, f64::ceil, Rounding::Ceiling),
        "The least integer that is not below a number. `clojure.math/ceil` gives a float.",
        &[("(ceil 1.2)", "2"), ("(ceil -1.7)", "-1")],
    ),
    native(
        "ptc/round",
        "[x]",
        |heap, args| rounded(heap, args, f64::round, Rounding::HalfUp),
        "The integer nearest to a number; halves go away from zero.",
        &[("(round 2.5)", "3"), ("(round -2.5)", "-3")],
    ),
    native(
        "ptc/trunc",
        "[x]",
        |heap, args| rounded(heap, args, f64::trunc, Rounding::Down),
        "A number without its fraction, as an integer.",
        &[("(trunc 1.9)", "1"), ("(trunc -1.9)", "-1")],
    ),
    native(
        "ptc/sum",
        "[coll]",
        sum,
        "The sum of the numbers in a collection; nil items are skipped.",
        &[("(sum [1 2 3])", "6"), ("(sum [1 nil 2.5])", "3.5"), ("(sum [])", "0")],
    ),
    native(
        "ptc/avg",
        "[coll]",
        avg,
        "The mean of the numbers in a collection as a float; of decimals a decimal, to 34 digits if need be. \
         Nil items are skipped. Nil if there are none.",
        &[
            ("(avg [1 2 3])", "2.0"),
            ("(avg [1 nil 4])", "2.5"),
            ("(avg [1.10M 2.25M])", "1.675M"),
            ("(avg [])", "nil"),
        ],
    ),
];

type BinaryOperation = fn(&Value, &Value) -> Res;

/// Pays for an operation on big integers; all others are free.
fn charge(heap: &mut Heap, cost: usize, a: &Value, b: &Value) -> Res<()> {
    if cost > 0 {
        heap.work(cost)?;
        heap.reserve((arith::words(a) + arith::words(b)) * size_of::<u64>())?;
    }
    Ok(())
}

/// A result; a decimal pays for its memory, for which large integers have paid before, and for its scale.
#[inline]
fn paid(heap: &mut Heap, result: Value) -> Res {
    if let Value::Decimal(_) = result {
        pay(heap, &result)?;
    }
    Ok(result)
}

/// Folds two or more arguments from the left.
fn fold(
    heap: &mut Heap,
    args: &[Value],
    cost: fn(&Value, &Value) -> usize,
    operation: BinaryOperation,
) -> Res {
    let (mut result, rest) = match args {
        [a, b, rest @ ..] => {
            charge(heap, cost(a, b), a, b)?;
            (paid(heap, operation(a, b)?)?, rest)
        }
        _ => return Ok(Value::Nil),
    };
    heap.work(rest.len())?;
    for x in rest {
        charge(heap, cost(&result, x), &result, x)?;
        result = paid(heap, operation(&result, x)?)?;
    }
    Ok(result)
}

fn number(value: &Value) -> Res {
    arith::check_number(value)?;
    Ok(value.clone())
}

fn plus(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args {
        [] => Ok(Value::Int(0)),
        [x] => number(x),
        _ => fold(heap, args, arith::sum_cost, arith::add),
    }
}

fn minus(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args {
        [x] => {
            heap.work(arith::words(x))?;
            paid(heap, arith::negate(x)?)
        }
        _ => fold(heap, args, arith::sum_cost, arith::sub),
    }
}

fn times(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args {
        [] => Ok(Value::Int(1)),
        [x] => number(x),
        _ => fold(heap, args, arith::product_cost, arith::mul),
    }
}

fn divide(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args {
        [x] => paid(heap, arith::div(&Value::Int(1), x)?),
        _ => fold(heap, args, arith::quotient_cost, arith::div),
    }
}

fn inc(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(arith::words(&args[0]))?;
    paid(heap, arith::inc(&args[0])?)
}

fn dec(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(arith::words(&args[0]))?;
    paid(heap, arith::dec(&args[0])?)
}

fn quot(heap: &mut Heap, args: &mut [Value]) -> Res {
    fold(heap, args, arith::quotient_cost, arith::quot)
}

fn rem(heap: &mut Heap, args: &mut [Value]) -> Res {
    fold(heap, args, arith::quotient_cost, arith::rem)
}

fn modulo(heap: &mut Heap, args: &mut [Value]) -> Res {
    fold(heap, args, arith::quotient_cost, arith::modulo)
}

/// A number without its sign.
pub(super) fn abs(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Int(int) => match int.checked_abs() {
            Some(size) => Ok(Value::Int(size)),
            None => arith::negate(&args[0]),
        },
        Value::Float(float) => Ok(Value::Float(float.abs())),
        Value::Big(big) => counted(heap, Value::wide(big.abs())),
        Value::Decimal(decimal) => {
            heap.work(arith::words(&args[0]))?;
            if decimal.sign().is_lt() {
                paid(heap, arith::negate(&args[0])?)
            } else if context::current().is_some() {
                // Rounded as every result is.
                numeric::add(heap, &args[0], &Value::Int(0))
            } else {
                Ok(args::take(args, 0))
            }
        }
        other => Err(arith::not_a_number(other)),
    }
}

/// The greatest argument. Of equal ones the last is taken, as Clojure does.
pub(super) fn max(heap: &mut Heap, args: &mut [Value]) -> Res {
    extreme(heap, args, |best, x| arith::less(x, best))
}

/// The least argument. Of equal ones the last is taken, as Clojure does.
pub(super) fn min(heap: &mut Heap, args: &mut [Value]) -> Res {
    extreme(heap, args, arith::less)
}

fn extreme(heap: &mut Heap, args: &mut [Value], better: fn(&Value, &Value) -> Res<bool>) -> Res {
    let is_nan = |value: &Value| matches!(value, Value::Float(float) if float.is_nan());
    if let [only] = args
        && Items::over(only).is_some()
        && !matches!(only, Value::Nil | Value::Str(_))
    {
        let message = format!("expected a number, got {}", only.type_name());
        let error = Error::new(ErrorKind::Type, message);
        return Err(error
            .hint(
                "for the elements of a collection write (apply max coll) or (apply min coll), for rows (max-by :key rows) or \
                 (min-by :key rows)",
            )
            .into());
    }
    heap.work(args.len() + args.iter().map(arith::words).sum::<usize>())?;
    let mut best = 0;
    for at in 1..args.len() {
        let keep = better(&args[best], &args[at])?;
        if !is_nan(&args[best]) && (is_nan(&args[at]) || !keep) {
            best = at;
        }
    }
    Ok(args::take(args, best))
}

/// A number rounded to an integer; NaN and the infinities stay.
fn rounded(heap: &mut Heap, args: &[Value], round: fn(f64) -> f64, rounding: Rounding) -> Res {
    let int = match &args[0] {
        Value::Float(float) => return Ok(integer(round(*float)).unwrap_or(Value::Float(*float))),
        Value::Decimal(exact) => match &**exact {
            Exact::Decimal(decimal) => decimal.rescaled(0, rounding)?.unscaled().clone(),
            Exact::Ratio(ratio) => ratio.rounded(rounding)?,
        },
        other => return number(other),
    };
    counted(heap, arith::sized(int)?)
}

/// A whole float as an integer of whatever size; `None` for NaN and the infinities.
pub(super) fn integer(whole: f64) -> Option<Value> {
    /// 2^63: floats from here on do not fit 64 bits.
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    if (-BOUND..BOUND).contains(&whole) {
        return Some(Value::Int(whole as i64));
    }
    BigInt::from_f64(whole).map(Value::big)
}

/// The sum of all items that are not nil, and how many they are.
fn total(heap: &mut Heap, coll: &Value) -> Res<(Value, u64)> {
    let Some(mut items) = Items::over(coll) else {
        return Err(crate::heap::not_seqable(coll).into());
    };
    let (mut total, mut count) = (Value::Int(0), 0);
    loop {
        match items.next() {
            Ok(None) => return Ok((total, count)),
            Ok(Some(Value::Nil)) => heap.work(1)?,
            Ok(Some(item)) => {
                heap.work(1)?;
                total = numeric::add(heap, &total, &item)?;
                count += 1;
            }
            Err(_) => return Err(Signal::Realise(coll.clone()).into()),
        }
    }
}

fn sum(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(total(heap, &args[0])?.0)
}

/// What a mean of decimals is rounded to, as `MathContext/DECIMAL128`.
const MEAN: Context = Context { precision: 34, rounding: Rounding::HalfEven };

fn avg(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (total, count) = total(heap, &args[0])?;
    match total.as_decimal() {
        _ if count == 0 => Ok(Value::Nil),
        Some(total) => {
            let context = context::current().unwrap_or(MEAN);
            let mean = ops::div(total, &Decimal::of_int(count.into()), Some(context))?;
            Ok(Value::decimal(mean))
        }
        None => Ok(Value::Float(arith::to_f64(&total)? / count as f64)),
    }
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
