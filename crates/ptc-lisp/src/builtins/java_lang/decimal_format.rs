//! `java.text.DecimalFormat`: numbers by patterns such as `#,##0.00`, and `NumberFormat`, which knows some patterns. A formatter is a cell that holds its pattern
//! and its rounding mode, because `.setRoundingMode` changes it.

use super::super::{Builtin, args, native};
use super::big_decimal::rounding;
use super::math_context::rounding_mode;
use super::no_method;
use crate::decimal::format::Pattern;
use crate::decimal::{Context, Decimal, Rounding};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{CellKind, CellObj, Shared, Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "DecimalFormat.",
        "[] [pattern]",
        |heap, args| {
            let pattern =
                if args.is_empty() { Value::str("#,##0.###") } else { Value::str(args::text(args, 0)?) };
            let text = pattern.as_str().unwrap_or_default();
            heap.work(1 + text.len())?;
            Pattern::parse(text)?;
            heap.reserve(256 + text.len())?;
            Ok(state(heap, pattern, Rounding::HalfEven))
        },
        "A formatter of numbers for .format; 0 and # stand for digits, HALF_EVEN rounds.",
        &[(r##"(.format (DecimalFormat. "#,##0.00") 1234.5M)"##, r#""1,234.50""#)],
    ),
    native(
        "NumberFormat/getInstance",
        "[] [locale]",
        |heap, args| american(heap, args, "#,##0.###"),
        "A DecimalFormat with three places at most.",
        &[("(.format (NumberFormat/getInstance) 1234567.891)", r#""1,234,567.891""#)],
    ),
    native(
        "NumberFormat/getIntegerInstance",
        "[] [locale]",
        |heap, args| american(heap, args, "#,##0"),
        "A DecimalFormat without places.",
        &[("(.format (NumberFormat/getIntegerInstance) 1234.5)", r#""1,234""#)],
    ),
    native(
        "NumberFormat/getCurrencyInstance",
        "[] [locale]",
        |heap, args| american(heap, args, "$#,##0.00"),
        "A DecimalFormat for amounts of dollars.",
        &[("(.format (NumberFormat/getCurrencyInstance Locale/US) -1234.5M)", r#""-$1,234.50""#)],
    ),
    native(
        "NumberFormat/getPercentInstance",
        "[] [locale]",
        |heap, args| american(heap, args, "#,##0%"),
        "A DecimalFormat for shares as percentages.",
        &[("(.format (NumberFormat/getPercentInstance) 0.256)", r#""26%""#)],
    ),
    native(
        ".setRoundingMode",
        "[format mode]",
        |_, args| {
            let mode = rounding(args, 1)?;
            let cell = receiver(args)?;
            let pattern = cell.state.borrow().value.clone();
            if let Value::Vec(body) = pattern
                && let Some(pattern) = body.items.first()
            {
                cell.state.borrow_mut().value = pair(pattern.clone(), mode);
            }
            Ok(Value::Nil)
        },
        "Sets how a DecimalFormat rounds.",
        &[(
            r#"(let [f (DecimalFormat. "0.0")] (.setRoundingMode f RoundingMode/UP) (.format f 1.21M))"#,
            r#""1.3""#,
        )],
    ),
    native(
        ".getRoundingMode",
        "[x]",
        |_, args| match &args[0] {
            Value::Time(time) => match **time {
                Time::MathContext(context) => Ok(rounding_mode(context)),
                _ => Err(no_method(args, "a MathContext or DecimalFormat")),
            },
            _ => {
                let (_, rounding) = parts(receiver(args)?);
                Ok(rounding_mode(Context { precision: 0, rounding }))
            }
        },
        "How a MathContext or DecimalFormat rounds.",
        &[("(str (.getRoundingMode (MathContext. 3)))", "\"HALF_UP\"")],
    ),
];

/// A formatter of `NumberFormat`, which knows the United States only.
fn american(heap: &mut Heap, args: &[Value], pattern: &str) -> Res {
    if let Some(locale) = args.first() {
        let known = matches!(locale, Value::Time(time) if matches!(
            **time,
            Time::Constant(constant) if constant.class == Class::Locale && matches!(constant.name(), "US" | "ENGLISH")
        ));
        if !known {
            return args::fail(
                args,
                0,
                "Locale/US; for others write the pattern, as in (DecimalFormat. \"#,##0.00 €\")",
            );
        }
    }
    heap.reserve(256)?;
    Ok(state(heap, Value::str(pattern), Rounding::HalfEven))
}

fn pair(pattern: Value, rounding: Rounding) -> Value {
    Value::vector(vec![pattern, rounding_mode(Context { precision: 0, rounding })])
}

fn state(heap: &mut Heap, pattern: Value, rounding: Rounding) -> Value {
    heap.cell(CellKind::Format, pair(pattern, rounding), true)
}

fn receiver(args: &[Value]) -> Res<&Shared<CellObj>> {
    match &args[0] {
        Value::Cell(cell) if cell.kind == CellKind::Format => Ok(cell),
        _ => Err(no_method(args, "a DecimalFormat")),
    }
}

/// The pattern and the rounding mode that a cell holds; a damaged dump may have left anything there.
fn parts(cell: &CellObj) -> (Value, Rounding) {
    let Value::Vec(body) = cell.state.borrow().value.clone() else {
        return (Value::str(""), Rounding::HalfEven);
    };
    let ordinal = match body.items.get(1) {
        Some(Value::Time(time)) => match **time {
            Time::Constant(Constant { class: Class::RoundingMode, ordinal }) => ordinal,
            _ => Rounding::HalfEven as u8,
        },
        _ => Rounding::HalfEven as u8,
    };
    (body.items.first().cloned().unwrap_or_default(), Rounding::at(ordinal).unwrap_or(Rounding::HalfEven))
}

/// `(.format decimal-format number)`
pub(crate) fn format_number(heap: &mut Heap, args: &[Value]) -> Res {
    let (source, rounding) = parts(receiver(args)?);
    let pattern = Pattern::parse(source.as_str().unwrap_or_default())?;
    let words = crate::arith::words(&args[1]);
    heap.work(64 + crate::arith::digits_work(words))?;
    let decimal = match &args[1] {
        Value::Int(_) | Value::Big(_) => Decimal::of_int(args::big(args, 1)?),
        Value::Decimal(exact) => match exact.decimal() {
            Some(decimal) => decimal.clone(),
            // As Java formats any other kind of number.
            None => Decimal::standing_for(exact.to_f64()).unwrap_or_else(|| Decimal::of_int(0.into())),
        },
        Value::Float(float) => match pattern.of_float(*float) {
            Some(shown) => {
                let text = pattern.text(&shown, float.is_sign_negative(), rounding)?;
                return Ok(text.into());
            }
            None => return Ok(pattern.endless(*float).into()),
        },
        _ => return args::fail(args, 1, "a number"),
    };
    let decimal = pattern.scaled_decimal(&decimal)?;
    heap.reserve(decimal.plain_len() * 2)?;
    heap.work(decimal.plain_len())?;
    Ok(pattern.text(&decimal, decimal.sign().is_lt(), rounding)?.into())
}
