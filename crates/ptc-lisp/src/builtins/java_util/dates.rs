//! `Date`, the functions on instants, and `SimpleDateFormat`.

use super::super::java_lang::{no_method, whole};
use super::super::java_time::formatter_value;
use super::super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Formatter, TimeKind, instant_at};
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Date.",
        "[] [x]",
        new_date,
        "A point in time: now, so many milliseconds after 1970, or read from ISO text.",
        &[
            ("(.getTime (Date. 1000))", "1000"),
            ("(Date. \"2024-01-31\")", "#inst \"2024-01-31T00:00:00.000-00:00\""),
        ],
    ),
    native(
        "Date/from",
        "[instant]",
        |_, args| match &args[0] {
            Value::Time(time) if matches!(**time, Time::Instant(_)) => {
                Ok(date(time.instant().unwrap_or_default().as_nanosecond())?)
            }
            _ => args::fail(args, 0, "an Instant"),
        },
        "The Date of an instant.",
        &[("(.getTime (Date/from (Instant/ofEpochMilli 5)))", "5")],
    ),
    native(
        "SimpleDateFormat.",
        "[pattern] [pattern locale]",
        |heap, args| {
            let pattern = args::text(args, 0)?;
            heap.work(8 + pattern.len())?;
            let made = Formatter::simple(pattern)?;
            Ok(formatter_value(heap, made))
        },
        "A format for Date in UTC, with the letters of DateTimeFormatter.",
        &[
            ("(.format (SimpleDateFormat. \"yyyy-MM-dd\") (Date. 0))", "\"1970-01-01\""),
            ("(.getTime (.parse (SimpleDateFormat. \"yyyy-MM-dd\") \"1970-01-02\"))", "86400000"),
        ],
    ),
    native(
        ".setTimeZone",
        "[format zone]",
        set_time_zone,
        "Accepts UTC, in which a SimpleDateFormat works here; gives nil.",
        &[("(.setTimeZone (SimpleDateFormat. \"yyyy\") (TimeZone/getTimeZone \"UTC\"))", "nil")],
    ),
    native(
        "TimeZone/getTimeZone",
        "[id]",
        |heap, args| super::super::java_lang::delegate(heap, "ZoneId/of", args),
        "A time zone by its name.",
        &[("(str (TimeZone/getTimeZone \"UTC\"))", "\"UTC\"")],
    ),
    native(
        ".getTime",
        "[date]",
        |_, args| match &args[0] {
            Value::Time(time) => match &**time {
                Time::JavaDate(instant) => Ok(millis(*instant).into()),
                Time::Instant(_) => Err(no_method(args, "Date (an Instant has .toEpochMilli)")),
                _ => Err(no_method(args, "Date")),
            },
            _ => Err(no_method(args, "Date")),
        },
        "Milliseconds since 1970.",
        &[("(.getTime (Date. 1000))", "1000")],
    ),
    native(
        ".before",
        "[date other]",
        |_, args| Ok((in_order(args)?.is_lt()).into()),
        "Whether it comes before.",
        &[("(.before (Date. 1) (Date. 2))", "true")],
    ),
    native(
        ".after",
        "[date other]",
        |_, args| Ok((in_order(args)?.is_gt()).into()),
        "Whether it comes after.",
        &[("(.after (Date. 1) (Date. 2))", "false")],
    ),
    native(
        "clojure.core/inst?",
        "[x]",
        |_, args| Ok(is_inst(&args[0]).into()),
        "Whether x is a Date or an Instant.",
        &[("(inst? #inst \"2024-01-31\")", "true"), ("(inst? 5)", "false")],
    ),
    native(
        "clojure.core/inst-ms",
        "[inst]",
        |_, args| match &args[0] {
            Value::Time(time) if is_inst(&args[0]) => Ok(millis(time.instant().unwrap_or_default()).into()),
            _ => args::fail(args, 0, "a Date or Instant"),
        },
        "Milliseconds since 1970 of a Date or Instant.",
        &[("(inst-ms #inst \"1970-01-01T00:00:01Z\")", "1000")],
    ),
];

/// A format is a value here and cannot change; most programs ask for what it does anyway.
fn set_time_zone(_: &mut Heap, args: &mut [Value]) -> Res {
    let is_utc = match &args[1] {
        Value::Time(time) => {
            time.zone().is_some_and(|zone| matches!(zone.id().as_str(), "UTC" | "GMT" | "Z"))
        }
        _ => return args::fail(args, 1, "a TimeZone such as (TimeZone/getTimeZone \"UTC\")"),
    };
    if !is_utc {
        return Err(Error::new(ErrorKind::Unsupported, "a SimpleDateFormat works in UTC here")
            .hint("use (.withZone (DateTimeFormatter/ofPattern \"…\") (ZoneId/of \"…\")) on an Instant")
            .into());
    }
    Ok(Value::Nil)
}

fn is_inst(value: &Value) -> bool {
    matches!(value, Value::Time(time) if matches!(**time, Time::JavaDate(_) | Time::Instant(_)))
}

/// Milliseconds since 1970, rounded down as in Java.
fn millis(instant: jiff::Timestamp) -> i64 {
    instant.as_nanosecond().div_euclid(1_000_000) as i64
}

/// A date at so many nanoseconds after 1970; it keeps only milliseconds.
fn date(nanos: i128) -> Res {
    Ok(Value::time(Time::JavaDate(instant_at(nanos.div_euclid(1_000_000) * 1_000_000)?)))
}

fn new_date(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args.first() {
        None => date(i128::from(heap.now_ms) * 1_000_000),
        Some(Value::Str(text)) => {
            heap.work(8 + text.byte_len())?;
            let text = text.as_str();
            let rfc = || {
                let read = Formatter::predefined("RFC_1123_DATE_TIME")?.parse(text).ok()?;
                read.to_kind(TimeKind::Instant).ok()?.instant()
            };
            match crate::edn::instant(text).or_else(rfc) {
                Some(instant) => date(instant.as_nanosecond()),
                None => {
                    let shown = heap.brief(&args[0]);
                    Err(Error::new(ErrorKind::Format, format!("{shown} is not a date"))
                        .hint("write it like \"2024-01-31\" or \"2024-01-31T10:15:30Z\"")
                        .into())
                }
            }
        }
        Some(Value::Time(time)) if time.instant().is_some() => {
            date(time.instant().unwrap_or_default().as_nanosecond())
        }
        Some(Value::Int(_) | Value::Float(_)) => date(i128::from(whole(args, 0)?) * 1_000_000),
        Some(_) => args::fail(args, 0, "milliseconds or text"),
    }
}

fn in_order(args: &[Value]) -> Res<std::cmp::Ordering> {
    let instant = |at: usize| match &args[at] {
        Value::Time(time) => match &**time {
            Time::JavaDate(instant) => Some(*instant),
            _ => None,
        },
        _ => None,
    };
    match (instant(0), instant(1)) {
        (Some(a), Some(b)) => Ok(a.cmp(&b)),
        (None, _) => Err(no_method(args, "Date (java.time values have .isBefore and .isAfter)")),
        (_, None) => args::fail(args, 1, "a Date"),
    }
}

/// `.parse` of a `SimpleDateFormat`: a date whose missing parts are those of the start of 1970.
pub(in super::super) fn parse_legacy(formatter: &Formatter, text: &str) -> Res {
    let read = formatter.parse(text)?;
    let zoned = read.to_kind(TimeKind::Instant).ok().and_then(|instant| instant.instant());
    let midnight = || match read.to_kind(TimeKind::LocalDate).ok()? {
        Time::Date(day) => {
            jiff::tz::Offset::UTC.to_timestamp(day.to_datetime(jiff::civil::Time::midnight())).ok()
        }
        _ => None,
    };
    match zoned.or_else(midnight) {
        Some(instant) => date(instant.as_nanosecond()),
        None => Err(read
            .to_kind(TimeKind::LocalDate)
            .err()
            .unwrap_or_else(crate::value::time::out_of_range)
            .into()),
    }
}
