//! `BigDecimal` and `BigInteger` as far as programs use them to round.
//!
//! The language has no decimals: a decimal is a float, or an integer if it has no places. Every
//! operation goes through the exact decimal that a float prints as, so `(.setScale 1.005 2 HALF_UP)`
//! gives 1.01 and `(.add 0.1 0.2)` gives 0.3.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Pow, Signed, Zero};

use super::super::{Builtin, args, constant, java_time, native};
use super::decimal::{Decimal, MOST_PLACES, Rounding, aligned, exact_quotient, of_number, stripped, ten_to};
use super::numbers::sign;
use super::{no_method, whole};
use crate::arith::{self, check_bits, sized, zero_divisor};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, illegal, raise};
use crate::value::Value;

/// Methods of two numbers: name, operation on integers, operation on decimals, doc, example.
macro_rules! operations {
    ($($name:literal $integers:expr, $decimals:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[n other]", |heap, args| {
            let integers: fn(&Value, &Value) -> Res = $integers;
            let decimals: fn(Decimal, Decimal) -> Res<Decimal> = $decimals;
            if is_integer(&args[0]) && is_integer(&args[1]) {
                let (a, b) = (&args[0], &args[1]);
                heap.work(1 + arith::product_cost(a, b).max(arith::quotient_cost(a, b)))?;
                return integers(a, b);
            }
            let (a, b) = (receiver(heap, args)?, decimal(heap, args, 1)?);
            decimals(a, b)?.value(args)
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static OPERATIONS: &[Builtin] = &operations! {
    ".add" arith::add, |a, b| aligned(a, b, |x, y| Ok(x + y)),
        "The exact decimal sum.", "(.add 0.1 0.2)" => "0.3";
    ".subtract" arith::sub, |a, b| aligned(a, b, |x, y| Ok(x - y)),
        "The exact decimal difference.", "(.subtract 0.3 0.1)" => "0.2";
    ".multiply" arith::mul, |a, b| {
        Ok(Decimal { unscaled: a.unscaled * b.unscaled, scale: a.scale + b.scale })
    }, "The exact decimal product.", "(.multiply 1.1 1.1)" => "1.21";
    ".remainder" arith::rem, |a, b| aligned(a, b, |x, y| divisor(y).map(|y| x % y)),
        "What division leaves over; it has the sign of the first number.", "(.remainder 7 3)" => "1";
    ".mod" arith::modulo, |a, b| aligned(a, b, |x, y| divisor(y).map(|y| x.mod_floor(&y))),
        "What division rounded down leaves over.", "(.mod -7 3)" => "2";
    ".max" |a, b| Ok(if arith::less(a, b)? { b } else { a }.clone()), |a, b| aligned(a, b, |x, y| Ok(x.max(y))),
        "The greater number.", "(.max 1 2)" => "2";
    ".min" |a, b| Ok(if arith::less(b, a)? { b } else { a }.clone()), |a, b| aligned(a, b, |x, y| Ok(x.min(y))),
        "The smaller number.", "(.min 1 2)" => "1";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "BigDecimal.",
        "[x]",
        new_decimal,
        "A decimal from text or a number.",
        &[(r#"(BigDecimal. "1.25")"#, "1.25"), ("(BigDecimal. 3)", "3")],
    ),
    native(
        "BigDecimal/valueOf",
        "[x] [unscaled scale]",
        |heap, args| match args.len() {
            1 => new_decimal(heap, args),
            _ => Decimal { unscaled: args::big(args, 0)?, scale: places(args, 1)? }.value(args),
        },
        "A decimal from a number, or from an integer and how many of its digits are places.",
        &[("(BigDecimal/valueOf 125 2)", "1.25")],
    ),
    constant("BigDecimal/ZERO", |_| Value::Int(0), "Zero.", &[("BigDecimal/ZERO", "0")]),
    constant("BigDecimal/ONE", |_| Value::Int(1), "One.", &[("BigDecimal/ONE", "1")]),
    constant("BigDecimal/TEN", |_| Value::Int(10), "Ten.", &[("BigDecimal/TEN", "10")]),
    native(
        "BigInteger.",
        "[s] [s radix]",
        new_integer,
        "An integer of any size from its digits.",
        &[
            (r#"(BigInteger. "123456789012345678901234567890")"#, "123456789012345678901234567890"),
            (r#"(BigInteger. "ff" 16)"#, "255"),
        ],
    ),
    native(
        "BigInteger/valueOf",
        "[n]",
        |_, args| Ok(Value::big(args::big(args, 0)?)),
        "The integer itself.",
        &[("(BigInteger/valueOf 5)", "5")],
    ),
    constant("BigInteger/ZERO", |_| Value::Int(0), "Zero.", &[("BigInteger/ZERO", "0")]),
    constant("BigInteger/ONE", |_| Value::Int(1), "One.", &[("BigInteger/ONE", "1")]),
    constant("BigInteger/TWO", |_| Value::Int(2), "Two.", &[("BigInteger/TWO", "2")]),
    constant("BigInteger/TEN", |_| Value::Int(10), "Ten.", &[("BigInteger/TEN", "10")]),
    native(
        "prim/to-precision",
        "[x digits rounding]",
        to_precision,
        "A number rounded to so many digits.",
        &[],
    ),
    native(
        ".setScale",
        "[n places] [n places rounding]",
        set_scale,
        "The number rounded to so many decimal places by a RoundingMode; without one it must fit exactly.",
        &[
            ("(.setScale 1.005 2 RoundingMode/HALF_UP)", "1.01"),
            ("(.setScale 2.5 0 RoundingMode/HALF_EVEN)", "2"),
        ],
    ),
    native(
        ".divide",
        "[n divisor] [n divisor rounding] [n divisor places rounding]",
        divide,
        "The decimal quotient, exact or rounded to so many places by a RoundingMode.",
        &[("(.divide 10 4)", "2.5"), ("(.divide 10 3 2 RoundingMode/HALF_UP)", "3.33")],
    ),
    native(
        ".negate",
        "[n]",
        |heap, args| match is_integer(&args[0]) {
            true => arith::negate(&args[0]),
            false => receiver(heap, args)?.with(|x| -x).value(args),
        },
        "The negated number.",
        &[("(.negate 1.5)", "-1.5")],
    ),
    native(
        ".abs",
        "[n]",
        |heap, args| match &args[0] {
            Value::Time(_) => java_time::abs(args),
            value if is_integer(value) => Ok(Value::big(args::big(args, 0)?.abs())),
            _ => receiver(heap, args)?.with(|x| x.abs()).value(args),
        },
        "The absolute value of a number or Duration.",
        &[("(.abs -1.5)", "1.5")],
    ),
    native(
        ".pow",
        "[n exponent]",
        pow,
        "The number to a whole, non-negative power.",
        &[("(.pow 2 10)", "1024")],
    ),
    native(
        ".signum",
        "[n]",
        |_, args| match &args[0] {
            Value::Float(float) if float.is_nan() => args::fail(args, 0, "a finite number"),
            Value::Int(_) | Value::Big(_) | Value::Float(_) => Ok(sign(arith::sign(&args[0])?)),
            _ => Err(no_method(args, "a number")),
        },
        "-1, 0 or 1 by the sign.",
        &[("(.signum -2.5)", "-1")],
    ),
    native(
        ".scale",
        "[n]",
        |heap, args| Ok(receiver(heap, args)?.scale.into()),
        "How many decimal places a number has.",
        &[("(.scale 1.25)", "2")],
    ),
    native(
        ".precision",
        "[n]",
        |heap, args| Ok(receiver(heap, args)?.unscaled.magnitude().to_string().len().into()),
        "How many digits a number has.",
        &[("(.precision 1.25)", "3")],
    ),
    native(
        ".stripTrailingZeros",
        "[n]",
        |heap, args| stripped(receiver(heap, args)?).value(args),
        "The number without zeros behind its last decimal place.",
        &[("(.stripTrailingZeros 2.0)", "2")],
    ),
    native(
        ".toPlainString",
        "[n]",
        |heap, args| {
            let number = receiver(heap, args)?;
            // A float that prints with an exponent has no decimal places of its own.
            let whole = matches!(args[0], Value::Float(float) if float.abs() >= 1e7);
            let text = if whole { stripped(number).plain() } else { number.plain() };
            heap.reserve(text.len())?;
            Ok(text.into())
        },
        "The number as text without an exponent.",
        &[("(.toPlainString 1.0E10)", r#""10000000000""#)],
    ),
    native(
        ".toBigInteger",
        "[n]",
        |heap, args| Ok(Value::big(receiver(heap, args)?.rescaled(0, Rounding::Down)?.unscaled)),
        "The number cut off to an integer.",
        &[("(.toBigInteger 2.7)", "2")],
    ),
    native(
        ".gcd",
        "[n other]",
        |heap, args| {
            integer_receiver(args)?;
            let words = arith::words(&args[0]).max(arith::words(&args[1]));
            heap.work(1 + words.saturating_mul(words))?;
            Ok(Value::big(args::big(args, 0)?.gcd(&args::big(args, 1)?)))
        },
        "The greatest common divisor of two integers.",
        &[("(.gcd 12 18)", "6")],
    ),
    native(
        ".modPow",
        "[n exponent modulus]",
        mod_pow,
        "n to a power, modulo a third integer.",
        &[("(.modPow 3 4 5)", "1")],
    ),
    native(
        ".bitLength",
        "[n]",
        |_, args| {
            integer_receiver(args)?;
            let n = args::big(args, 0)?;
            // A negative number is written in two's complement: -8 takes three bits, -9 four.
            let n = if n.is_negative() { -n - 1u8 } else { n };
            Ok(Value::big(n.bits().into()))
        },
        "How many bits an integer needs.",
        &[("(.bitLength 255)", "8")],
    ),
];

fn is_integer(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Big(_))
}

fn divisor(number: BigInt) -> Res<BigInt> {
    if number.is_zero() { zero_divisor() } else { Ok(number) }
}

/// A number as a decimal. Decimals are kept small enough that every operation on them is quick.
fn decimal(heap: &mut Heap, args: &[Value], at: usize) -> Res<Decimal> {
    heap.work(1 + arith::words(&args[at]) * 64)?;
    of_number(&args[at])
        .ok_or_else(|| args::wrong(args, at, "a finite number of at most 4,900 digits").into())
}

fn receiver(heap: &mut Heap, args: &[Value]) -> Res<Decimal> {
    match &args[0] {
        Value::Int(_) | Value::Big(_) | Value::Float(_) => decimal(heap, args, 0),
        _ => Err(no_method(args, "a number")),
    }
}

fn integer_receiver(args: &[Value]) -> Res<()> {
    match &args[0] {
        Value::Int(_) | Value::Big(_) => Ok(()),
        _ => Err(no_method(args, "an integer")),
    }
}

fn places(args: &[Value], at: usize) -> Res<i64> {
    match whole(args, at)? {
        places if (-MOST_PLACES..=MOST_PLACES).contains(&places) => Ok(places),
        _ => illegal(format!("the number of places must be at most {MOST_PLACES}")),
    }
}

fn new_decimal(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Str(text) => {
            heap.work(1 + text.byte_len())?;
            match Decimal::parse(text.as_str()) {
                Some(number) => number.value(args),
                None => raise(ErrorKind::Format, format!("{} is not a number", heap.brief(&args[0]))),
            }
        }
        value if is_integer(value) => Ok(args::take(args, 0)),
        _ => {
            decimal(heap, args, 0)?;
            Ok(args::take(args, 0))
        }
    }
}

fn new_integer(heap: &mut Heap, args: &mut [Value]) -> Res {
    let radix = if args.len() > 1 { whole(args, 1)? } else { 10 };
    let text = args::text(args, 0)?;
    // Reading digits takes time in the square of their number.
    heap.work(1 + text.len() + (text.len() / 64).pow(2))?;
    heap.reserve(text.len())?;
    let radix = u32::try_from(radix).ok().filter(|radix| (2..=36).contains(radix));
    let parsed = radix.and_then(|radix| BigInt::parse_bytes(text.as_bytes(), radix));
    match parsed {
        Some(int) => sized(int),
        None => raise(ErrorKind::Format, format!("{} is not an integer", heap.brief(&args[0]))),
    }
}

fn set_scale(heap: &mut Heap, args: &mut [Value]) -> Res {
    let rounding = if args.len() > 2 { Rounding::argument(args, 2)? } else { Rounding::Unnecessary };
    receiver(heap, args)?.rescaled(places(args, 1)?, rounding)?.value(args)
}

/// A number rounded to so many digits that count; zero asks for all of them.
fn to_precision(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (digits, rounding) = (places(args, 1)?, Rounding::argument(args, 2)?);
    let Some(number) = of_number(&args[0]).filter(|_| digits > 0) else { return Ok(args::take(args, 0)) };
    heap.work(1 + arith::words(&args[0]) * 64)?;
    let number = stripped(number);
    let surplus = number.unscaled.magnitude().to_string().len() as i64 - digits;
    if surplus <= 0 {
        return Ok(args::take(args, 0));
    }
    number.rescaled(number.scale - surplus, rounding)?.value(args)
}

fn divide(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (a, b) = (receiver(heap, args)?, decimal(heap, args, 1)?);
    if b.unscaled.is_zero() {
        return zero_divisor();
    }
    let (scale, rounding) = match args.len() {
        2 => return exact_quotient(&a, &b)?.value(args),
        3 => (a.scale, Rounding::argument(args, 2)?),
        _ => (places(args, 2)?, Rounding::argument(args, 3)?),
    };
    // a / b = (a.unscaled / b.unscaled) * 10^(b.scale - a.scale)
    let power = scale + b.scale - a.scale;
    let unscaled = match power >= 0 {
        true => rounding.divide(&(a.unscaled * ten_to(power)), &b.unscaled)?,
        false => rounding.divide(&a.unscaled, &(b.unscaled * ten_to(-power)))?,
    };
    Decimal { unscaled, scale }.value(args)
}

fn pow(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !is_integer(&args[0]) {
        receiver(heap, args)?;
    }
    let Ok(power) = u32::try_from(whole(args, 1)?) else {
        return illegal("the exponent must not be negative");
    };
    let base = match of_number(&args[0]) {
        Some(base) if is_integer(&args[0]) || base.scale * i64::from(power) <= MOST_PLACES => base,
        // More places than can be kept: a float has no more than seventeen digits anyway.
        _ => return Ok(Value::Float(crate::float::pow(args::float(args, 0)?, power.into()))),
    };
    let bits = base.unscaled.bits().saturating_mul(power.into());
    check_bits(bits)?;
    let words = usize::try_from(bits / 64 + 1).unwrap_or(usize::MAX);
    heap.work(words.saturating_mul(words.isqrt()))?;
    Decimal { unscaled: base.unscaled.pow(power), scale: base.scale * i64::from(power) }.value(args)
}

fn mod_pow(heap: &mut Heap, args: &mut [Value]) -> Res {
    /// Beyond this the work would be out of proportion to its price.
    const MOST_BITS: u64 = 8192;
    integer_receiver(args)?;
    let (base, power, modulus) = (args::big(args, 0)?, args::big(args, 1)?, args::big(args, 2)?);
    if power.is_negative() || !modulus.is_positive() {
        return illegal("the exponent must not be negative and the modulus must be positive");
    }
    if base.bits().max(power.bits()).max(modulus.bits()) > MOST_BITS {
        return illegal(format!("the numbers must have at most {MOST_BITS} bits"));
    }
    let words = usize::try_from(modulus.bits() / 64 + 1).unwrap_or(usize::MAX);
    heap.work(usize::try_from(power.bits()).unwrap_or(usize::MAX).saturating_mul(words * words))?;
    Ok(Value::big(base.modpow(&power, &modulus)))
}
