//! Methods that `BigDecimal` and `BigInteger` share: arithmetic.

use num_traits::Signed;

use super::super::numeric::counted;
use super::super::{Builtin, args, java_time, native};
use super::big_decimal::{context, decimal, made, no_decimal, places, rounding};
use super::{no_method, whole};
use crate::arith::{self, check_bits};
use crate::decimal::{Context, Decimal, ops};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, illegal, raise};
use crate::value::{Time, Value};

type OnDecimals = fn(&Decimal, &Decimal, Option<Context>) -> Res<Decimal>;

/// Methods of two numbers: name, operation on integers, operation on decimals, doc, example.
macro_rules! operations {
    ($($name:literal $integers:expr, $decimals:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[n other] [n other context]", |heap, args| {
            let (a, b) = (&args[0], &args[1]);
            heap.work(1 + arith::product_cost(a, b).max(arith::quotient_cost(a, b)))?;
            if is_integer(a) && is_integer(b) && args.len() == 2 {
                let integers: fn(&Value, &Value) -> Res = $integers;
                return integers(a, b);
            }
            on_decimals(heap, args, $decimals)
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static OPERATIONS: &[Builtin] = &operations! {
    ".add" arith::add, ops::add, "The sum, exact or to the precision of a MathContext.",
        "(.add 0.1M 0.2M)" => "0.3M";
    ".subtract" arith::sub, ops::sub, "The difference, exact or to the precision of a MathContext.",
        "(.subtract 0.3M 0.10M)" => "0.20M";
    ".multiply" arith::mul, ops::mul, "The product, exact or to the precision of a MathContext.",
        "(.multiply 1.1M 1.1M)" => "1.21M";
    ".remainder" arith::rem, ops::rem, "What division leaves over; it has the sign of the first number.",
        "(.remainder 7.5M 2M)" => "1.5M";
};

/// The same for integers alone, or without a context.
pub(super) static TABLE: &[Builtin] = &[
    native(
        ".mod",
        "[n other]",
        |heap, args| {
            heap.work(1 + arith::quotient_cost(&args[0], &args[1]))?;
            args::big(args, 1)?;
            match is_integer(&args[0]) {
                true => arith::modulo(&args[0], &args[1]),
                false => Err(no_method(args, "an integer")),
            }
        },
        "What division rounded down leaves over.",
        &[("(.mod -7 3)", "2")],
    ),
    native(
        ".max",
        "[n other]",
        |heap, args| greater(heap, args, arith::less),
        "The greater number; the first of equal ones.",
        &[("(.max 1.5M 2M)", "2M")],
    ),
    native(
        ".min",
        "[n other]",
        |heap, args| greater(heap, args, |a, b| arith::less(b, a)),
        "The smaller number; the first of equal ones.",
        &[("(.min 1.5M 2M)", "1.5M")],
    ),
    native(
        ".divide",
        "[n divisor] [n divisor rounding-or-context] [n divisor places rounding]",
        divide,
        "The quotient: of decimals exact, or rounded to so many places or to a MathContext; of integers cut off.",
        &[
            ("(.divide 10M 4M)", "2.5M"),
            ("(.divide 10M 3M 2 RoundingMode/HALF_UP)", "3.33M"),
            ("(.divide 10M 3M (MathContext. 5))", "3.3333M"),
        ],
    ),
    native(
        ".negate",
        "[n] [n context]",
        |heap, args| match &args[0] {
            value if is_integer(value) => counted(heap, arith::negate(value)?),
            _ => unary(heap, args, ops::negate),
        },
        "The negated number.",
        &[("(.negate 1.5M)", "-1.5M")],
    ),
    native(
        ".abs",
        "[n] [n context]",
        |heap, args| match &args[0] {
            Value::Time(_) => java_time::abs(args),
            value if is_integer(value) => counted(heap, Value::big(args::big(args, 0)?.abs())),
            Value::Decimal(decimal) if decimal.sign().is_lt() => unary(heap, args, ops::negate),
            _ => unary(heap, args, |decimal, context| decimal.clone().within(context)),
        },
        "The absolute value of a number or Duration.",
        &[("(.abs -1.5M)", "1.5M")],
    ),
    native(
        ".pow",
        "[n exponent] [n exponent context]",
        pow,
        "The number to a whole, non-negative power.",
        &[("(.pow 2 10)", "1024"), ("(.pow 1.1M 2)", "1.21M")],
    ),
];

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_))
}

/// The context at the end of the arguments, if there is one.
fn context_at(args: &[Value], at: usize) -> Res<Option<Context>> {
    if args.len() > at { context(args, at).map(Some) } else { Ok(None) }
}

/// The receiver as a decimal: an integer counts beside one.
fn receiver(heap: &mut Heap, args: &[Value]) -> Res<Decimal> {
    match &args[0] {
        value if is_integer(value) || value.as_decimal().is_some() => decimal(heap, args, 0),
        _ => Err(no_decimal(args)),
    }
}

fn on_decimals(heap: &mut Heap, args: &[Value], operation: OnDecimals) -> Res {
    let (a, b) = (receiver(heap, args)?, decimal(heap, args, 1)?);
    let result = operation(&a, &b, context_at(args, 2)?)?;
    made(heap, result)
}

fn unary(heap: &mut Heap, args: &[Value], operation: fn(&Decimal, Option<Context>) -> Res<Decimal>) -> Res {
    let decimal = args[0].as_decimal().ok_or_else(|| no_decimal(args))?;
    heap.work(1 + decimal.words())?;
    let result = operation(decimal, context_at(args, 1)?)?;
    made(heap, result)
}

fn greater(heap: &mut Heap, args: &mut [Value], other_wins: fn(&Value, &Value) -> Res<bool>) -> Res {
    if !is_integer(&args[0]) && args[0].as_decimal().is_none() {
        return Err(no_decimal(args));
    }
    heap.work(1 + arith::sum_cost(&args[0], &args[1]))?;
    let second = other_wins(&args[0], &args[1])?;
    Ok(args::take(args, usize::from(second)))
}

fn divide(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(1 + arith::quotient_cost(&args[0], &args[1]))?;
    if args.len() == 2 && is_integer(&args[0]) && is_integer(&args[1]) {
        return arith::quot(&args[0], &args[1]);
    }
    let (a, b) = (receiver(heap, args)?, decimal(heap, args, 1)?);
    let is_context =
        |value: &Value| matches!(value, Value::Time(time) if matches!(**time, Time::MathContext(_)));
    let quotient = match args.len() {
        2 => ops::div(&a, &b, None)?,
        3 if is_context(&args[2]) => ops::div(&a, &b, Some(context(args, 2)?))?,
        3 => ops::div_to_scale(&a, &b, a.scale(), rounding(args, 2)?)?,
        _ => ops::div_to_scale(&a, &b, places(args, 2)?, rounding(args, 3)?)?,
    };
    made(heap, quotient)
}

fn pow(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !is_integer(&args[0]) && args[0].as_decimal().is_none() {
        return Err(no_decimal(args));
    }
    let base = decimal(heap, args, 0)?;
    let Ok(power) = u32::try_from(whole(args, 1)?) else {
        return match is_integer(&args[0]) {
            true => illegal("the exponent must not be negative"),
            false => raise(ErrorKind::Arithmetic, "Invalid operation: the exponent must not be negative"),
        };
    };
    let (bits, times) = (base.unscaled().bits(), u64::from(power));
    // As many as it has at least: what is too large all the same is refused once it is there, and what fits never.
    check_bits(bits.saturating_sub(1).saturating_mul(times))?;
    let bits = bits.saturating_mul(times);
    let words = usize::try_from(bits / 64 + 1).unwrap_or(usize::MAX);
    heap.work(words.saturating_mul(words.isqrt()))?;
    heap.reserve(words.saturating_mul(size_of::<u64>()))?;
    let result = ops::pow(&base, power)?;
    match context_at(args, 2)? {
        Some(context) => made(heap, result.rounded(context)?),
        None if is_integer(&args[0]) => counted(heap, arith::sized(result.unscaled().clone())?),
        None => made(heap, result),
    }
}
