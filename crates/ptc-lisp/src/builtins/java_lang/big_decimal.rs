//! `BigDecimal`: how decimals are made, what they are made of, and the methods that only they have.

use super::super::{Builtin, args, constant, native};
use super::numbers::sign;
use super::{no_method, whole};
use crate::arith;
use crate::decimal::{Context, Decimal, Rounding, ops};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::ratio;
use crate::signal::{Res, raise};
use crate::value::time::{Class, Constant};
use crate::value::{Time, Value};

/// The old numbers of rounding modes.
macro_rules! modes {
    ($($name:literal $number:literal;)*) => {
        &[$(constant(
            concat!("BigDecimal/ROUND_", $name),
            |_| Value::Int($number),
            "The old number of a rounding mode, for .setScale and .divide.",
            &[(concat!("BigDecimal/ROUND_", $name), stringify!($number))],
        )),*]
    };
}

pub(super) static MODES: &[Builtin] = modes! {
    "UP" 0; "DOWN" 1; "CEILING" 2; "FLOOR" 3; "HALF_UP" 4; "HALF_DOWN" 5; "HALF_EVEN" 6; "UNNECESSARY" 7;
};

/// Methods of one decimal: name, operation, doc, example.
macro_rules! parts {
    ($($name:literal $part:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[d]", |heap, args| {
            let part: fn(&mut Heap, &Decimal) -> Res = $part;
            heap.work(1 + arith::words(&args[0]))?;
            let decimal = args[0].as_decimal().ok_or_else(|| no_decimal(args))?;
            part(heap, decimal)
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static PARTS: &[Builtin] = &parts! {
    ".scale" |_, d| Ok(d.scale().into()), "How many decimal places a decimal has.", "(.scale 1.250M)" => "3";
    ".precision" |_, d| Ok(d.precision().into()), "How many digits a decimal has.", "(.precision 1.25M)" => "3";
    ".unscaledValue" |heap, d| integer(heap, d.unscaled().clone()), "The digits of a decimal as an integer.",
        "(.unscaledValue 1.25M)" => "125";
    ".stripTrailingZeros" |heap, d| made(heap, d.normal().kept()?),
        "The decimal without zeros at its end.", "(.stripTrailingZeros 2.50M)" => "2.5M";
    ".toPlainString" |heap, d| text(heap, d, d.plain_len(), Decimal::plain),
        "The decimal as text without an exponent.", "(.toPlainString 1E3M)" => "\"1000\"";
    ".toEngineeringString" |heap, d| text(heap, d, d.text_len() + 4, Decimal::engineering),
        "The decimal as text, with an exponent that is a multiple of three if it needs one.",
        "(.toEngineeringString 12E3M)" => "\"12E+3\"";
    ".toBigIntegerExact" |heap, d| exact(heap, d, None), "The decimal as an integer; raises if it has a fraction.",
        "(.toBigIntegerExact 2.0M)" => "2";
    ".longValueExact" |heap, d| exact(heap, d, Some((i64::MIN, i64::MAX))),
        "The decimal as a 64-bit integer; raises if it is none.", "(.longValueExact 2.0M)" => "2";
    ".intValueExact" |heap, d| exact(heap, d, Some((i32::MIN.into(), i32::MAX.into()))),
        "The decimal as a 32-bit integer; raises if it is none.", "(.intValueExact 2.0M)" => "2";
    ".ulp" |heap, d| made(heap, Decimal::new(1.into(), d.scale())?), "One in the last place of a decimal.",
        "(.ulp 1.50M)" => "0.01M";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "BigDecimal.",
        "[x] [x scale-or-context]",
        new_decimal,
        "A decimal from text or a number; of a float exactly what it is, so bigdec is better for floats.",
        &[
            (r#"(BigDecimal. "1.250")"#, "1.250M"),
            ("(BigDecimal. 0.5)", "0.5M"),
            ("(BigDecimal. 125 2)", "1.25M"),
        ],
    ),
    native(
        "BigDecimal/valueOf",
        "[x] [unscaled scale]",
        |heap, args| match (&args[0], args.len()) {
            (Value::Float(_), 1) => of_number(heap, args),
            (_, 1) => {
                let int = args::big(args, 0)?;
                made(heap, Decimal::of_int(int))
            }
            _ => {
                let decimal = Decimal::new(args::big(args, 0)?, places(args, 1)?)?;
                made(heap, decimal)
            }
        },
        "A decimal from a number, or from an integer and how many of its digits are places.",
        &[("(BigDecimal/valueOf 125 2)", "1.25M"), ("(BigDecimal/valueOf 0.1)", "0.1M")],
    ),
    constant("BigDecimal/ZERO", |_| whole_decimal(0), "Zero.", &[("BigDecimal/ZERO", "0M")]),
    constant("BigDecimal/ONE", |_| whole_decimal(1), "One.", &[("BigDecimal/ONE", "1M")]),
    constant("BigDecimal/TEN", |_| whole_decimal(10), "Ten.", &[("BigDecimal/TEN", "10M")]),
    native(
        ".setScale",
        "[d places] [d places rounding]",
        |heap, args| {
            let rounding = if args.len() > 2 { rounding(args, 2)? } else { Rounding::Unnecessary };
            let places = places(args, 1)?;
            let decimal = receiver(heap, args)?.rescaled(places, rounding)?;
            made(heap, decimal)
        },
        "The decimal rounded to so many places by a RoundingMode; without one it must fit exactly.",
        &[
            ("(.setScale 1.005M 2 RoundingMode/HALF_UP)", "1.01M"),
            ("(.setScale 2.5M 0 RoundingMode/HALF_EVEN)", "2M"),
        ],
    ),
    native(
        ".round",
        "[d context]",
        |heap, args| {
            let context = context(args, 1)?;
            let decimal = receiver(heap, args)?.clone().rounded(context)?;
            made(heap, decimal)
        },
        "The decimal rounded to the precision of a MathContext.",
        &[("(.round 1.2345M (MathContext. 3))", "1.23M")],
    ),
    native(
        ".movePointLeft",
        "[d places]",
        |heap, args| moved(heap, args, |decimal, places| ops::point_moved(decimal, places.saturating_neg())),
        "The decimal with its point moved to the left.",
        &[("(.movePointLeft 123M 2)", "1.23M")],
    ),
    native(
        ".movePointRight",
        "[d places]",
        |heap, args| moved(heap, args, ops::point_moved),
        "The decimal with its point moved to the right.",
        &[("(.movePointRight 1.5M 3)", "1500M")],
    ),
    native(
        ".scaleByPowerOfTen",
        "[d power]",
        |heap, args| moved(heap, args, ops::scaled_by),
        "The decimal times a power of ten, with the same digits.",
        &[("(.scaleByPowerOfTen 1.5M 3)", "1.5E+3M")],
    ),
    native(
        ".divideToIntegralValue",
        "[d divisor]",
        |heap, args| {
            let other = decimal(heap, args, 1)?;
            let quotient = ops::quot(receiver(heap, args)?, &other, None)?;
            made(heap, quotient)
        },
        "The quotient without its fraction.",
        &[("(.divideToIntegralValue 7.5M 2M)", "3.0M")],
    ),
    native(
        ".divideAndRemainder",
        "[d divisor]",
        |heap, args| {
            let other = decimal(heap, args, 1)?;
            let receiver = receiver(heap, args)?.clone();
            let quotient = made(heap, ops::quot(&receiver, &other, None)?)?;
            let rest = made(heap, ops::rem(&receiver, &other, None)?)?;
            heap.reserve_values(2)?;
            Ok(Value::vector(vec![quotient, rest]))
        },
        "The quotient without its fraction, and what is left.",
        &[("(.divideAndRemainder 7.5M 2M)", "[3.0M 1.5M]")],
    ),
    native(
        ".toBigInteger",
        "[d]",
        |heap, args| {
            let int = receiver(heap, args)?.to_int()?;
            integer(heap, int)
        },
        "The decimal cut off to an integer.",
        &[("(.toBigInteger 2.7M)", "2")],
    ),
    native(
        ".signum",
        "[n]",
        |_, args| match &args[0] {
            Value::Int(_) | Value::Big(_) => Ok(sign(arith::sign(&args[0])?)),
            value if value.as_decimal().is_some() => Ok(sign(arith::sign(value)?)),
            _ => Err(no_decimal(args)),
        },
        "-1, 0 or 1 by the sign.",
        &[("(.signum -2.5M)", "-1")],
    ),
];

fn whole_decimal(int: i64) -> Value {
    Value::decimal(Decimal::of_int(int.into()))
}

/// A decimal as a value, which pays for its memory.
pub(super) fn made(heap: &mut Heap, decimal: Decimal) -> Res {
    heap.allocated(64 + decimal.words() * size_of::<u64>());
    Ok(Value::decimal(decimal))
}

fn integer(heap: &mut Heap, int: num_bigint::BigInt) -> Res {
    heap.reserve(usize::try_from(int.bits() / 8).unwrap_or(usize::MAX))?;
    arith::sized(int)
}

/// The error for a method of decimals on something else.
pub(super) fn no_decimal(args: &[Value]) -> Box<crate::signal::Signal> {
    match args.first() {
        Some(Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Decimal(_)) => {
            let got = super::with_article(args[0].type_name());
            let error =
                Error::new(ErrorKind::Type, format!("{got} does not have this method, only a decimal"));
            error.hint("make it a decimal first: (bigdec x)").into()
        }
        _ => no_method(args, "a decimal"),
    }
}

pub(super) fn receiver<'a>(heap: &mut Heap, args: &'a [Value]) -> Res<&'a Decimal> {
    let decimal = args[0].as_decimal().ok_or_else(|| no_decimal(args))?;
    heap.work(1 + decimal.words())?;
    Ok(decimal)
}

/// An argument as a decimal; integers count.
pub(super) fn decimal(heap: &mut Heap, args: &[Value], at: usize) -> Res<Decimal> {
    heap.work(1 + arith::words(&args[at]))?;
    match &args[at] {
        Value::Int(_) | Value::Big(_) => Ok(Decimal::of_int(args::big(args, at)?)),
        Value::Float(_) => {
            let error = args::wrong(args, at, "a decimal");
            Err(error.hint("make the float a decimal first: (bigdec x)").into())
        }
        value if let Some(decimal) = value.as_decimal() => Ok(decimal.clone()),
        _ => args::fail(args, at, "a decimal"),
    }
}

/// A number of places: too large ones are refused where they would be used.
pub(super) fn places(args: &[Value], at: usize) -> Res<i64> {
    whole(args, at)
}

/// A RoundingMode, or its old number.
pub(super) fn rounding(args: &[Value], at: usize) -> Res<Rounding> {
    let ordinal = match &args[at] {
        Value::Time(time) => match **time {
            Time::Constant(Constant { class: Class::RoundingMode, ordinal }) => Some(ordinal),
            _ => None,
        },
        Value::Int(number) => u8::try_from(*number).ok(),
        _ => None,
    };
    match ordinal.and_then(Rounding::at) {
        Some(rounding) => Ok(rounding),
        None => args::fail(args, at, "a RoundingMode such as RoundingMode/HALF_UP"),
    }
}

/// A MathContext.
pub(super) fn context(args: &[Value], at: usize) -> Res<Context> {
    if let Some(Value::Time(time)) = args.get(at)
        && let Time::MathContext(context) = **time
    {
        return Ok(context);
    }
    args::fail(args, at, "a MathContext such as (MathContext. 10)")
}

/// The decimal that a text spells.
fn parse(heap: &mut Heap, source: &Value) -> Res<Decimal> {
    let text = source.as_str().unwrap_or_default();
    // Reading digits takes time in the square of their number.
    heap.work(1 + text.len() + (text.len() / 64).pow(2))?;
    heap.reserve(text.len())?;
    match Decimal::parse(text) {
        Some(decimal) => Ok(decimal),
        None if Decimal::is_form(text) => {
            let limit = crate::decimal::MAX_SCALE;
            let message = format!(
                "{} is out of the range of decimals: at most {limit} places or zeros",
                heap.brief(source)
            );
            raise(ErrorKind::Format, message)
        }
        None => {
            let error = Error::new(ErrorKind::Format, format!("{} is not a number", heap.brief(source)));
            Err(match Decimal::is_number_with_marks(text) {
                true => error.hint(r#"keep its digits alone first: (bigdec (str/replace s #"[^0-9.-]" ""))"#),
                false => error,
            }
            .into())
        }
    }
}

/// A number or text as a decimal; a float is the decimal that it prints as.
pub(crate) fn of_number(heap: &mut Heap, args: &mut [Value]) -> Res {
    let decimal = match &args[0] {
        Value::Decimal(exact) => match exact.ratio() {
            Some(ratio) => ratio::as_decimal(ratio)?,
            None => return Ok(args::take(args, 0)),
        },
        Value::Str(_) => parse(heap, &args[0].clone())?,
        Value::Float(float) => match Decimal::of_float(*float) {
            Some(decimal) => decimal,
            None => return raise(ErrorKind::Format, "NaN and infinite floats have no decimal"),
        },
        Value::Int(_) | Value::Big(_) => Decimal::of_int(args::big(args, 0)?),
        _ => return args::fail(args, 0, "a number or string"),
    };
    made(heap, decimal)
}

fn new_decimal(heap: &mut Heap, args: &mut [Value]) -> Res {
    let exact = match &args[0] {
        Value::Str(_) => parse(heap, &args[0].clone())?,
        Value::Float(float) => match Decimal::exactly(*float) {
            Some(decimal) => decimal,
            None => return raise(ErrorKind::Format, "NaN and infinite floats have no decimal"),
        },
        _ => decimal(heap, args, 0)?,
    };
    let decimal = match args.get(1) {
        None => exact,
        Some(Value::Int(_)) if matches!(args[0], Value::Int(_) | Value::Big(_)) => {
            Decimal::new(args::big(args, 0)?, places(args, 1)?)?
        }
        Some(_) => exact.rounded(context(args, 1)?)?,
    };
    made(heap, decimal)
}

fn moved(heap: &mut Heap, args: &[Value], by: fn(&Decimal, i64) -> Res<Decimal>) -> Res {
    let places = places(args, 1)?;
    let decimal = by(receiver(heap, args)?, places)?;
    made(heap, decimal)
}

fn text(heap: &mut Heap, decimal: &Decimal, length: usize, write: fn(&Decimal) -> String) -> Res {
    let words = decimal.words();
    heap.work(length + arith::digits_work(words))?;
    heap.reserve(length)?;
    Ok(write(decimal).into())
}

/// The integer that a decimal is, if it is one and in range.
fn exact(heap: &mut Heap, decimal: &Decimal, range: Option<(i64, i64)>) -> Res {
    let Some(int) = decimal.as_int() else {
        return raise(ErrorKind::Arithmetic, "Rounding necessary");
    };
    match (i64::try_from(&int), range) {
        (Ok(small), Some((low, high))) if (low..=high).contains(&small) => Ok(Value::Int(small)),
        (_, Some(_)) => raise(ErrorKind::Arithmetic, "Overflow"),
        (_, None) => integer(heap, int),
    }
}
