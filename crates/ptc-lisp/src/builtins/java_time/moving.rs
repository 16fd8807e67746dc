//! Moving in time and measuring distances: `.plusDays`, `.minus`, `.until`, `.between`, `.truncatedTo`.

use super::super::java_lang::{no_method, whole};
use super::super::{Builtin, args, native};
use super::{TEMPORALS, any_time, receiver, unit};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::time::{Class, TimeKind, TimeUnit};
use crate::value::{Time, Value};

/// `.plusX` and `.minusX` for a unit: names, unit, doc, example receiver and results.
macro_rules! units {
    ($($plus:literal $minus:literal $unit:ident $word:literal $start:literal => $later:literal $earlier:literal;)*) => {
        &[$(
            native($plus, "[temporal amount]", |_, args| moved(args, TimeUnit::$unit, 1),
                concat!("The value so many ", $word, " later."),
                &[(concat!("(", $plus, " ", $start, " 1)"), $later)]),
            native($minus, "[temporal amount]", |_, args| moved(args, TimeUnit::$unit, -1),
                concat!("The value so many ", $word, " earlier."),
                &[(concat!("(", $minus, " ", $start, " 1)"), $earlier)]),
        )*]
    };
}

pub(super) static PLUS: &[Builtin] = units! {
    ".plusDays" ".minusDays" Days "days" "(LocalDate/of 2024 2 29)" => "\"2024-03-01\"" "\"2024-02-28\"";
    ".plusWeeks" ".minusWeeks" Weeks "weeks" "(LocalDate/of 2024 2 29)" => "\"2024-03-07\"" "\"2024-02-22\"";
    ".plusMonths" ".minusMonths" Months "months" "(LocalDate/of 2024 3 31)" => "\"2024-04-30\"" "\"2024-02-29\"";
    ".plusYears" ".minusYears" Years "years" "(LocalDate/of 2024 2 29)" => "\"2025-02-28\"" "\"2023-02-28\"";
    ".plusHours" ".minusHours" Hours "hours" "(LocalTime/of 10 15)" => "\"11:15\"" "\"09:15\"";
    ".plusMinutes" ".minusMinutes" Minutes "minutes" "(LocalTime/of 10 15)" => "\"10:16\"" "\"10:14\"";
    ".plusSeconds" ".minusSeconds" Seconds "seconds" "(LocalTime/of 10 15)" => "\"10:15:01\"" "\"10:14:59\"";
    ".plusMillis" ".minusMillis" Millis "milliseconds" "Instant/EPOCH"
        => "\"1970-01-01T00:00:00.001Z\"" "\"1969-12-31T23:59:59.999Z\"";
    ".plusNanos" ".minusNanos" Nanos "nanoseconds" "(LocalTime/of 10 15)"
        => "\"10:15:00.000000001\"" "\"10:14:59.999999999\"";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".plus",
        "[temporal amount] [temporal number unit]",
        |heap, args| shifted(heap, args, 1),
        "The value later by a Duration, a Period, or a number of ChronoUnits.",
        &[
            ("(.plus (LocalDate/of 2024 1 31) (Period/ofMonths 1))", "\"2024-02-29\""),
            ("(.plus (LocalDate/of 2024 1 31) 2 ChronoUnit/WEEKS)", "\"2024-02-14\""),
            ("(str (.plus DayOfWeek/SUNDAY 1))", "\"MONDAY\""),
        ],
    ),
    native(
        ".minus",
        "[temporal amount] [temporal number unit]",
        |heap, args| shifted(heap, args, -1),
        "The value earlier by a Duration, a Period, or a number of ChronoUnits.",
        &[("(.minus (LocalTime/of 10 15) (Duration/ofMinutes 30))", "\"09:45\"")],
    ),
    native(
        ".until",
        "[start end] [start end unit]",
        until,
        "How many units from one value to another; the Period between two dates without a unit.",
        &[
            ("(.until (LocalDate/of 2024 1 1) (LocalDate/of 2024 3 1) ChronoUnit/DAYS)", "60"),
            ("(.until (LocalDate/of 2024 1 1) (LocalDate/of 2024 3 2))", "\"P2M1D\""),
        ],
    ),
    native(
        ".between",
        "[unit start end]",
        |_, args| match super::constant_of(args, 0, Class::ChronoUnit) {
            Some(_) => Ok(any_time(args, 1)?.until(any_time(args, 2)?, unit(args, 0)?)?.into()),
            None => Err(no_method(args, "ChronoUnit")),
        },
        "How many whole units from start to end.",
        &[("(.between ChronoUnit/DAYS (LocalDate/of 2024 1 1) (LocalDate/of 2024 3 1))", "60")],
    ),
    native(
        ".truncatedTo",
        "[temporal unit]",
        |_, args| Ok(Value::time(receiver(args, CUT)?.truncated_to(unit(args, 1)?)?)),
        "The value without what is smaller than a unit.",
        &[("(.truncatedTo (LocalTime/of 10 15 30) ChronoUnit/HOURS)", "\"10:00\"")],
    ),
    native(
        ".getDuration",
        "[unit]",
        |_, args| {
            let unit = unit(args, 0)?;
            match unit.nanos() {
                Some(nanos) => Ok(Value::time(Time::Duration(crate::value::time::duration(nanos)?))),
                None => raise(ErrorKind::IllegalArgument, "months and longer units have no exact length"),
            }
        },
        "The length of a unit.",
        &[("(.getDuration ChronoUnit/HOURS)", "\"PT1H\"")],
    ),
    native(
        ".datesUntil",
        "[start end] [start end step]",
        dates_until,
        "The dates from start to before end.",
        &[(
            "(map str (.datesUntil (LocalDate/of 2024 2 28) (LocalDate/of 2024 3 1)))",
            "(\"2024-02-28\" \"2024-02-29\")",
        )],
    ),
];

const CUT: &str = "LocalDateTime, LocalTime, Instant, ZonedDateTime, OffsetDateTime or Duration";

fn moved(args: &[Value], unit: TimeUnit, sign: i64) -> Res {
    let time = receiver(args, TEMPORALS)?;
    let amount = whole(args, 1)?.checked_mul(sign).ok_or_else(crate::value::time::out_of_range)?;
    match time {
        Time::Uuid(_) | Time::JavaDate(_) | Time::Zone(_) | Time::Formatter(_) | Time::Constant(_) => {
            Err(no_method(args, TEMPORALS))
        }
        _ => Ok(Value::time(time.plus(amount, unit)?)),
    }
}

fn shifted(_: &mut Heap, args: &mut [Value], sign: i64) -> Res {
    let time = receiver(args, TEMPORALS)?;
    if args.len() == 3 {
        return Ok(Value::time(time.plus(whole(args, 1)?.saturating_mul(sign), unit(args, 2)?)?));
    }
    match (time, &args[1]) {
        (Time::Constant(constant), _) if matches!(constant.class, Class::DayOfWeek | Class::Month) => {
            Ok(Value::time(time.plus(whole(args, 1)?.saturating_mul(sign), TimeUnit::Days)?))
        }
        (_, Value::Time(amount)) => Ok(Value::time(time.plus_amount(amount, sign)?)),
        _ => args::fail(args, 1, "a Duration or Period, or a number followed by a ChronoUnit"),
    }
}

fn until(_: &mut Heap, args: &mut [Value]) -> Res {
    let start = receiver(args, TEMPORALS)?;
    let end = any_time(args, 1)?;
    if args.len() == 3 {
        return Ok(start.until(end, unit(args, 2)?)?.into());
    }
    match start {
        Time::Date(_) => Ok(Value::time(Time::Period(start.period_until(end)?))),
        _ => Err(no_method(args, "LocalDate (others need a ChronoUnit as third argument)")),
    }
}

fn dates_until(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (Time::Date(start), Some(Time::Date(end))) =
        (receiver(args, "LocalDate")?, any_time(args, 1)?.to_kind(TimeKind::LocalDate))
    else {
        return Err(no_method(args, "LocalDate"));
    };
    let step = match args.get(2) {
        None => Time::Period(crate::value::time::Period { years: 0, months: 0, days: 1 }),
        Some(_) => super::wanted(args, 2, TimeKind::Period)?.clone(),
    };
    let mut dates = Vec::new();
    let mut next = Time::Date(*start);
    while next.date().is_some_and(|date| date < end) {
        heap.work(2)?;
        heap.reserve(96)?;
        let after = next.plus_amount(&step, 1)?;
        if after.date() <= next.date() {
            return raise(ErrorKind::IllegalArgument, "the step must lead forward");
        }
        dates.push(Value::time(std::mem::replace(&mut next, after)));
    }
    Ok(Value::seq(dates))
}
