//! `Duration` and `Period`: making them, taking them apart, counting with them.

use jiff::SignedDuration;

use super::super::java_lang::{no_method, whole};
use super::super::{Builtin, args, constant, native};
use super::{any_time, from, parse, receiver, unit};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, raise};
use crate::value::time::{Period, TimeKind, TimeUnit, duration};
use crate::value::{Time, Value};

/// `Duration/ofX` and `Period/ofX`: name, unit, doc, example.
macro_rules! statics {
    ($($name:literal $start:expr, $unit:ident, $doc:literal, $source:literal => $shown:literal;)*) => {
        &[$(native($name, "[amount]", |_, args| {
            let start: Time = $start;
            Ok(Value::time(start.plus(whole(args, 0)?, TimeUnit::$unit)?))
        }, $doc, &[($source, $shown)])),*]
    };
}

const NO_TIME: Time = Time::Duration(SignedDuration::ZERO);
const NO_DAYS: Time = Time::Period(Period { years: 0, months: 0, days: 0 });

pub(super) static STATICS: &[Builtin] = statics! {
    "Duration/ofDays" NO_TIME, Days, "A duration of days of 24 hours.", "(Duration/ofDays 2)" => "\"PT48H\"";
    "Duration/ofHours" NO_TIME, Hours, "A duration of hours.", "(Duration/ofHours 2)" => "\"PT2H\"";
    "Duration/ofMinutes" NO_TIME, Minutes, "A duration of minutes.", "(Duration/ofMinutes 90)" => "\"PT1H30M\"";
    "Duration/ofMillis" NO_TIME, Millis, "A duration of milliseconds.", "(Duration/ofMillis 1500)" => "\"PT1.5S\"";
    "Duration/ofNanos" NO_TIME, Nanos, "A duration of nanoseconds.", "(Duration/ofNanos 1)" => "\"PT0.000000001S\"";
    "Period/ofDays" NO_DAYS, Days, "A period of days.", "(Period/ofDays 3)" => "\"P3D\"";
    "Period/ofWeeks" NO_DAYS, Weeks, "A period of weeks.", "(Period/ofWeeks 2)" => "\"P14D\"";
    "Period/ofMonths" NO_DAYS, Months, "A period of months.", "(Period/ofMonths 3)" => "\"P3M\"";
    "Period/ofYears" NO_DAYS, Years, "A period of years.", "(Period/ofYears 1)" => "\"P1Y\"";
};

/// Readings of a duration: name, function of seconds rounded down and nanoseconds, doc, example.
macro_rules! parts {
    ($($name:literal $read:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        &[$(native($name, "[duration]", |_, args| {
            let read: fn(i64, i64) -> i128 = $read;
            let Time::Duration(length) = receiver(args, "Duration")? else {
                return Err(no_method(args, "Duration"));
            };
            let nanos = length.as_nanos();
            let second = nanos.div_euclid(1_000_000_000) as i64;
            Ok(Value::big(read(second, nanos.rem_euclid(1_000_000_000) as i64).into()))
        }, $doc, &[($source, $shown)])),*]
    };
}

fn total(second: i64, nano: i64) -> i128 {
    i128::from(second) * 1_000_000_000 + i128::from(nano)
}

pub(super) static PARTS: &[Builtin] = parts! {
    ".toHours" |second, _| (second / 3600).into(), "The whole hours of a duration.",
        "(.toHours (Duration/ofMinutes 150))" => "2";
    ".toMinutes" |second, _| (second / 60).into(), "The whole minutes of a duration.",
        "(.toMinutes (Duration/ofSeconds 150))" => "2";
    ".toSeconds" |second, _| second.into(), "The whole seconds of a duration.",
        "(.toSeconds (Duration/ofMillis 2500))" => "2";
    ".getSeconds" |second, _| second.into(), "The whole seconds of a duration.",
        "(.getSeconds (Duration/ofMinutes 2))" => "120";
    ".toMillis" |second, nano| total(second, nano) / 1_000_000, "The milliseconds of a duration.",
        "(.toMillis (Duration/ofSeconds 2))" => "2000";
    ".toNanos" total, "The nanoseconds of a duration.", "(.toNanos (Duration/ofMillis 1))" => "1000000";
    ".toDaysPart" |second, _| (second / 86_400).into(), "The days of a duration.",
        "(.toDaysPart (Duration/ofHours 49))" => "2";
    ".toHoursPart" |second, _| (second / 3600 % 24).into(), "The hours of a duration beside its days.",
        "(.toHoursPart (Duration/ofHours 49))" => "1";
    ".toMinutesPart" |second, _| (second / 60 % 60).into(), "The minutes of a duration beside its hours.",
        "(.toMinutesPart (Duration/ofMinutes 90))" => "30";
    ".toSecondsPart" |second, _| (second % 60).into(), "The seconds of a duration beside its minutes.",
        "(.toSecondsPart (Duration/ofSeconds 90))" => "30";
    ".toMillisPart" |_, nano| (nano / 1_000_000).into(), "The milliseconds of a duration beside its seconds.",
        "(.toMillisPart (Duration/ofMillis 1250))" => "250";
    ".toNanosPart" |_, nano| nano.into(), "The nanoseconds of a duration beside its seconds.",
        "(.toNanosPart (Duration/ofMillis 1250))" => "250000000";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Duration/between",
        "[start end]",
        |_, args| Ok(Value::time(Time::Duration(any_time(args, 0)?.duration_until(any_time(args, 1)?)?))),
        "The exact time from start to end; both must have a time of day.",
        &[("(Duration/between (LocalTime/of 10 0) (LocalTime/of 11 30))", "\"PT1H30M\"")],
    ),
    native(
        "Duration/parse",
        "[text]",
        |heap, args| parse(heap, args, TimeKind::Duration),
        "Reads a duration such as PT1H30M.",
        &[("(Duration/parse \"PT90M\")", "\"PT1H30M\"")],
    ),
    native(
        "Duration/ofSeconds",
        "[seconds] [seconds nanos]",
        |_, args| {
            let nanos = if args.len() > 1 { whole(args, 1)? } else { 0 };
            let seconds = NO_TIME.plus(whole(args, 0)?, TimeUnit::Seconds)?;
            Ok(Value::time(seconds.plus(nanos, TimeUnit::Nanos)?))
        },
        "A duration of seconds, and nanoseconds if they are given.",
        &[("(Duration/ofSeconds 5)", "\"PT5S\"")],
    ),
    native(
        "Duration/of",
        "[amount unit]",
        |_, args| Ok(Value::time(NO_TIME.plus(whole(args, 0)?, unit(args, 1)?)?)),
        "A duration of so many units.",
        &[("(Duration/of 3 ChronoUnit/MINUTES)", "\"PT3M\"")],
    ),
    native(
        "Duration/from",
        "[duration]",
        |_, args| from(args, TimeKind::Duration),
        "The duration itself.",
        &[("(Duration/from (Duration/ofHours 1))", "\"PT1H\"")],
    ),
    constant("Duration/ZERO", |_| Value::time(NO_TIME), "No time at all.", &[("Duration/ZERO", "\"PT0S\"")]),
    native(
        "Period/of",
        "[years months days]",
        |_, args| {
            let years = NO_DAYS.plus(whole(args, 0)?, TimeUnit::Years)?;
            let months = years.plus(whole(args, 1)?, TimeUnit::Months)?;
            Ok(Value::time(months.plus(whole(args, 2)?, TimeUnit::Days)?))
        },
        "A period of years, months and days.",
        &[("(Period/of 1 2 3)", "\"P1Y2M3D\"")],
    ),
    native(
        "Period/between",
        "[start end]",
        |_, args| Ok(Value::time(Time::Period(any_time(args, 0)?.period_until(any_time(args, 1)?)?))),
        "The years, months and days from one date to another.",
        &[("(Period/between (LocalDate/of 2024 1 31) (LocalDate/of 2025 3 1))", "\"P1Y1M1D\"")],
    ),
    native(
        "Period/parse",
        "[text]",
        |heap, args| parse(heap, args, TimeKind::Period),
        "Reads a period such as P1Y2M3D or P2W.",
        &[("(Period/parse \"P1Y2M\")", "\"P1Y2M\"")],
    ),
    constant("Period/ZERO", |_| Value::time(NO_DAYS), "No days at all.", &[("Period/ZERO", "\"P0D\"")]),
    native(
        ".toDays",
        "[duration]",
        to_days,
        "The whole days of 24 hours in a duration.",
        &[("(.toDays (Duration/ofHours 49))", "2")],
    ),
    native(
        ".getYears",
        "[period]",
        |_, args| of_period(args, |p| p.years),
        "The years of a period.",
        &[("(.getYears (Period/of 1 2 3))", "1")],
    ),
    native(
        ".getMonths",
        "[period]",
        |_, args| of_period(args, |p| p.months),
        "The months of a period.",
        &[("(.getMonths (Period/of 1 2 3))", "2")],
    ),
    native(
        ".getDays",
        "[period]",
        |_, args| of_period(args, |p| p.days),
        "The days of a period.",
        &[("(.getDays (Period/of 1 2 3))", "3")],
    ),
    native(
        ".toTotalMonths",
        "[period]",
        |_, args| Ok(period(args)?.total_months().into()),
        "Years and months of a period, all in months.",
        &[("(.toTotalMonths (Period/of 1 2 3))", "14")],
    ),
    native(
        ".normalized",
        "[period]",
        |_, args| Ok(Value::time(Time::Period(period(args)?.normalized()?))),
        "The period with twelve months made a year.",
        &[("(.normalized (Period/ofMonths 14))", "\"P1Y2M\"")],
    ),
    native(
        ".isZero",
        "[amount]",
        |_, args| question(args, |n| n == 0, true),
        "Whether an amount is nothing.",
        &[("(.isZero Duration/ZERO)", "true")],
    ),
    native(
        ".isNegative",
        "[amount]",
        |_, args| question(args, |n| n < 0, false),
        "Whether a duration, or any part of a period, is negative.",
        &[("(.isNegative (Duration/ofHours -1))", "true")],
    ),
    native(
        ".isPositive",
        "[duration]",
        |_, args| question(args, |n| n > 0, false),
        "Whether a duration is positive.",
        &[("(.isPositive (Duration/ofHours 1))", "true")],
    ),
    native(
        ".negated",
        "[amount]",
        |_, args| times(args, -1),
        "The amount with the other sign.",
        &[("(.negated (Duration/ofHours 1))", "\"PT-1H\"")],
    ),
    native(
        ".multipliedBy",
        "[amount factor]",
        |_, args| times(args, whole(args, 1)?),
        "The amount so many times.",
        &[("(.multipliedBy (Duration/ofMinutes 30) 3)", "\"PT1H30M\"")],
    ),
    native(
        ".dividedBy",
        "[duration divisor]",
        divided_by,
        "A duration divided by a number, or how many times another duration fits in it.",
        &[
            ("(.dividedBy (Duration/ofMinutes 90) 3)", "\"PT30M\""),
            ("(.dividedBy (Duration/ofMinutes 90) (Duration/ofMinutes 20))", "4"),
        ],
    ),
];

const AMOUNTS: &str = "Duration or Period";

fn period(args: &[Value]) -> Res<Period> {
    match receiver(args, "Period")? {
        Time::Period(period) => Ok(*period),
        Time::Duration(_) => Err(no_method(args, "Period (a Duration has .toDays, .toHours, …)")),
        _ => Err(no_method(args, "Period")),
    }
}

fn of_period(args: &[Value], part: fn(Period) -> i32) -> Res {
    Ok(i64::from(part(period(args)?)).into())
}

fn to_days(_: &mut Heap, args: &mut [Value]) -> Res {
    match receiver(args, "Duration")? {
        Time::Duration(length) => Ok((length.as_nanos().div_euclid(1_000_000_000) as i64 / 86_400).into()),
        Time::Period(_) => {
            Err(no_method(args, "Duration (a Period has .getDays; ChronoUnit/DAYS counts days)"))
        }
        _ => Err(no_method(args, "Duration")),
    }
}

/// Whether all or any of the parts of an amount answer a question.
fn question(args: &[Value], test: fn(i128) -> bool, all: bool) -> Res {
    Ok(match receiver(args, AMOUNTS)? {
        Time::Duration(length) => test(length.as_nanos()),
        Time::Period(period) => {
            let mut parts = [period.years, period.months, period.days].into_iter().map(i128::from);
            if all { parts.all(test) } else { parts.any(test) }
        }
        _ => return Err(no_method(args, AMOUNTS)),
    }
    .into())
}

fn times(args: &[Value], factor: i64) -> Res {
    Ok(Value::time(match receiver(args, AMOUNTS)? {
        Time::Duration(length) => {
            let nanos = length.as_nanos().checked_mul(factor.into());
            Time::Duration(duration(nanos.unwrap_or(i128::MAX))?)
        }
        Time::Period(period) => Time::Period(period.times(factor)?),
        _ => return Err(no_method(args, AMOUNTS)),
    }))
}

fn divided_by(_: &mut Heap, args: &mut [Value]) -> Res {
    let Time::Duration(length) = receiver(args, "Duration")? else {
        return Err(no_method(args, "Duration"));
    };
    let divisor = match &args[1] {
        Value::Time(time) => match **time {
            Time::Duration(divisor) => divisor.as_nanos(),
            _ => return args::fail(args, 1, "a number or Duration"),
        },
        _ => whole(args, 1)?.into(),
    };
    if divisor == 0 {
        return raise(ErrorKind::Arithmetic, "cannot divide by zero");
    }
    let quotient = length.as_nanos() / divisor;
    match &args[1] {
        Value::Time(_) => Ok(Value::big(quotient.into())),
        _ => Ok(Value::time(Time::Duration(duration(quotient)?))),
    }
}

/// `.abs` of a duration.
pub(in super::super) fn abs(args: &[Value]) -> Res {
    match receiver(args, "Duration")? {
        Time::Duration(length) => Ok(Value::time(Time::Duration(duration(length.as_nanos().abs())?))),
        _ => Err(no_method(args, "a number or Duration")),
    }
}
