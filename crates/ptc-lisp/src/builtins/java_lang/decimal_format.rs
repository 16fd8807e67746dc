//! `java.text.DecimalFormat`: numbers by patterns such as `#,##0.00`, and `NumberFormat`, which knows some patterns. A formatter
//! is a cell, because its setters change it: a vector of its pattern, its rounding mode and, once a setter changed them, its
//! numbers of digits.

use super::super::{Builtin, args, native};
use super::big_decimal::rounding;
use super::math_context::rounding_mode;
use super::no_method;
use crate::decimal::format::{Digits, MOST_PLACES, Pattern};
use crate::decimal::{Context, Decimal, Rounding};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant};
use crate::value::{CellKind, CellObj, Shared, Time, Value};

/// A setter of a number of digits. The least and the most give way to each other.
macro_rules! count_setter {
    ($name:expr, $field:ident with $other:ident.$bound:ident, $doc:expr, $example:expr, $value:expr) => {
        native(
            $name,
            "[format n]",
            |heap, args| {
                count_of(heap, args, |digits, n| {
                    digits.$field = n;
                    digits.$other = digits.$other.$bound(n);
                })
            },
            $doc,
            &[($example, $value)],
        )
    };
}

/// What tells a number of digits.
macro_rules! count_getter {
    ($name:expr, $field:ident, $doc:expr, $example:expr, $value:expr) => {
        native(
            $name,
            "[format]",
            |_, args| Ok(told(parts(receiver(args)?).pattern()?.digits().$field)),
            $doc,
            &[($example, $value)],
        )
    };
}

pub(super) static TABLE: &[Builtin] = &[
    native(
        "DecimalFormat.",
        "[] [pattern]",
        |heap, args| {
            let pattern = if args.is_empty() {
                Value::str("#,##0.###")
            } else {
                args::text(args, 0).map(|_| args[0].clone())?
            };
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
            let rounding = rounding(args, 1)?;
            let cell = receiver(args)?;
            set(cell, Settings { rounding, ..parts(cell) });
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
                let Settings { rounding, .. } = parts(receiver(args)?);
                Ok(rounding_mode(Context { precision: 0, rounding }))
            }
        },
        "How a MathContext or DecimalFormat rounds.",
        &[("(str (.getRoundingMode (MathContext. 3)))", "\"HALF_UP\"")],
    ),
    count_setter!(
        ".setMaximumFractionDigits",
        most_places with least_places.min,
        "Sets how many digits behind the point a DecimalFormat shows at most.",
        r#"(let [f (NumberFormat/getInstance)] (.setMaximumFractionDigits f 1) (.format f 1234.56))"#,
        r#""1,234.6""#
    ),
    count_setter!(
        ".setMinimumFractionDigits",
        least_places with most_places.max,
        "Sets how many digits behind the point a DecimalFormat shows at least.",
        r#"(let [f (NumberFormat/getInstance)] (.setMinimumFractionDigits f 2) (.format f 1234.5))"#,
        r#""1,234.50""#
    ),
    count_setter!(
        ".setMaximumIntegerDigits",
        most_whole with least_whole.min,
        "Sets how many digits before the point a DecimalFormat shows at most; it leaves out those in front.",
        r#"(let [f (DecimalFormat. "0")] (.setMaximumIntegerDigits f 2) (.format f 1234))"#,
        r#""34""#
    ),
    count_setter!(
        ".setMinimumIntegerDigits",
        least_whole with most_whole.max,
        "Sets how many digits before the point a DecimalFormat shows at least.",
        r#"(let [f (DecimalFormat. "0")] (.setMinimumIntegerDigits f 3) (.format f 7))"#,
        r#""007""#
    ),
    count_getter!(
        ".getMaximumFractionDigits",
        most_places,
        "How many digits behind the point a DecimalFormat shows at most.",
        r#"(.getMaximumFractionDigits (DecimalFormat. "0.0#"))"#,
        "2"
    ),
    count_getter!(
        ".getMinimumFractionDigits",
        least_places,
        "How many digits behind the point a DecimalFormat shows at least.",
        r#"(.getMinimumFractionDigits (DecimalFormat. "0.0#"))"#,
        "1"
    ),
    count_getter!(
        ".getMaximumIntegerDigits",
        most_whole,
        "How many digits before the point a DecimalFormat shows at most.",
        r#"(.getMaximumIntegerDigits (DecimalFormat. "0"))"#,
        "2147483647"
    ),
    count_getter!(
        ".getMinimumIntegerDigits",
        least_whole,
        "How many digits before the point a DecimalFormat shows at least.",
        r#"(.getMinimumIntegerDigits (DecimalFormat. "00"))"#,
        "2"
    ),
    count_getter!(
        ".getGroupingSize",
        group,
        "How many digits a DecimalFormat puts between separators; 0 for no separators.",
        r##"(.getGroupingSize (DecimalFormat. "#,##0"))"##,
        "3"
    ),
    native(
        ".isGroupingUsed",
        "[format]",
        |_, args| Ok(Value::Bool(parts(receiver(args)?).pattern()?.digits().grouped)),
        "Whether a DecimalFormat separates groups of digits.",
        &[(r##"(.isGroupingUsed (DecimalFormat. "#,##0"))"##, "true")],
    ),
    native(
        ".toPattern",
        "[format]",
        |heap, args| {
            let text = parts(receiver(args)?).pattern()?.source();
            heap.work(1 + text.len())?;
            heap.reserve(text.len())?;
            Ok(text.into())
        },
        "The pattern of a DecimalFormat, as it is after its setters.",
        &[(
            r##"(let [f (DecimalFormat. "#,##0.00")] (.setMaximumFractionDigits f 1) (.toPattern f))"##,
            r##""#,##0.0""##,
        )],
    ),
    native(
        ".setGroupingUsed",
        "[format wanted]",
        |heap, args| {
            let grouped = args[1].truthy();
            changed(heap, args, |digits| digits.grouped = grouped)
        },
        "Sets whether a DecimalFormat separates groups of digits; how long they are says its pattern or .setGroupingSize.",
        &[(
            r##"(let [f (DecimalFormat. "#,##0.00")] (.setGroupingUsed f false) (.format f 1234.5))"##,
            r#""1234.50""#,
        )],
    ),
    native(
        ".setGroupingSize",
        "[format n]",
        |heap, args| {
            let Ok(group @ 0..=127) = usize::try_from(args::int(args, 1)?) else {
                return args::fail(args, 1, "a number from 0 to 127");
            };
            changed(heap, args, |digits| digits.group = group)
        },
        "Sets how many digits a DecimalFormat puts between separators.",
        &[(
            r##"(let [f (DecimalFormat. "#,##0")] (.setGroupingSize f 2) (.format f 12345))"##,
            r#""1,23,45""#,
        )],
    ),
];

/// Changes a number of digits. As in Java no number is below zero, and 340 is the most.
fn count_of(heap: &mut Heap, args: &[Value], change: impl FnOnce(&mut Digits, usize)) -> Res {
    let count = usize::try_from(args::int(args, 1)?.max(0)).map_or(MOST_PLACES, |n| n.min(MOST_PLACES));
    changed(heap, args, |digits| change(digits, count))
}

/// A number of digits as Java tells it, where no limit is the largest int.
fn told(count: usize) -> Value {
    Value::Int(i32::try_from(count).unwrap_or(i32::MAX).into())
}

fn changed(heap: &mut Heap, args: &[Value], change: impl FnOnce(&mut Digits)) -> Res {
    let cell = receiver(args)?;
    let before = parts(cell);
    heap.work(before.source.as_str().map_or(0, str::len))?;
    let mut digits = before.pattern()?.digits().clone();
    change(&mut digits);
    heap.reserve(256)?;
    set(cell, Settings { digits: Some(digits), ..before });
    Ok(Value::Nil)
}

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

fn state(heap: &mut Heap, pattern: Value, rounding: Rounding) -> Value {
    let parts = Settings { source: pattern, rounding, digits: None };
    heap.cell(CellKind::Format, parts.value(), true)
}

/// Replaces what a formatter holds. The old value is dropped after the borrow has ended.
fn set(cell: &CellObj, parts: Settings) {
    let old = std::mem::replace(&mut cell.state.borrow_mut().value, parts.value());
    drop(old);
}

fn receiver(args: &[Value]) -> Res<&Shared<CellObj>> {
    match &args[0] {
        Value::Cell(cell) if cell.kind == CellKind::Format => Ok(cell),
        _ => Err(no_method(args, "a DecimalFormat")),
    }
}

/// What a formatter holds.
struct Settings {
    source: Value,
    rounding: Rounding,
    /// The numbers of digits, where setters changed those of the pattern.
    digits: Option<Digits>,
}

impl Settings {
    fn value(self) -> Value {
        let mode = rounding_mode(Context { precision: 0, rounding: self.rounding });
        let mut items = vec![self.source, mode];
        items.extend(self.digits.as_ref().map(digits_value));
        Value::vector(items)
    }

    fn pattern(&self) -> Res<Pattern> {
        let pattern = Pattern::parse(self.source.as_str().unwrap_or_default())?;
        Ok(match &self.digits {
            Some(digits) => pattern.with_digits(digits.clone()),
            None => pattern,
        })
    }
}

fn digits_value(digits: &Digits) -> Value {
    // Nil is no limit.
    let number = |n: usize| i64::try_from(n).map_or(Value::Nil, Value::Int);
    let numbers =
        [digits.least_whole, digits.most_whole, digits.least_places, digits.most_places, digits.group];
    let mut items: Vec<Value> = numbers.into_iter().map(number).collect();
    items.push(Value::Bool(digits.grouped));
    Value::vector(items)
}

/// The numbers of digits of a cell, none of them larger than a setter takes.
fn digits_of(value: &Value) -> Option<Digits> {
    let Value::Vec(body) = value else { return None };
    let [least_whole, most_whole, least_places, most_places, group, grouped] = body.items.as_slice() else {
        return None;
    };
    let number = |value: &Value| value.as_i64().and_then(|n| usize::try_from(n).ok());
    let few = |value: &Value| number(value).unwrap_or(0).min(MOST_PLACES);
    Some(Digits {
        least_whole: few(least_whole),
        most_whole: number(most_whole).unwrap_or(usize::MAX),
        least_places: few(least_places),
        most_places: number(most_places).unwrap_or(usize::MAX),
        group: few(group),
        grouped: grouped.truthy(),
    })
}

/// The parts of a formatter; a damaged dump may have left anything there.
fn parts(cell: &CellObj) -> Settings {
    let Value::Vec(body) = cell.state.borrow().value.clone() else {
        return Settings { source: Value::str(""), rounding: Rounding::HalfEven, digits: None };
    };
    let ordinal = match body.items.get(1) {
        Some(Value::Time(time)) => match **time {
            Time::Constant(Constant { class: Class::RoundingMode, ordinal }) => ordinal,
            _ => Rounding::HalfEven as u8,
        },
        _ => Rounding::HalfEven as u8,
    };
    Settings {
        source: body.items.first().cloned().unwrap_or_default(),
        rounding: Rounding::at(ordinal).unwrap_or(Rounding::HalfEven),
        digits: body.items.get(2).and_then(digits_of),
    }
}

/// `(.format decimal-format number)`
pub(crate) fn format_number(heap: &mut Heap, args: &[Value]) -> Res {
    let held = parts(receiver(args)?);
    let beside = held.source.as_str().map_or(0, str::len);
    heap.work(beside)?;
    heap.reserve(beside)?;
    let (pattern, rounding) = (held.pattern()?, held.rounding);
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
