//! Making `LocalDate`, `LocalDateTime` and `LocalTime`.

use super::super::java_lang::whole;
use super::super::{Builtin, args, constant, native};
use super::{any_time, from, month, now_as, offset, parse, wanted, zone};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Field, TimeKind, clock_at, from_epoch_day, make_clock, make_date};
use crate::value::{Time, Value};

pub(super) static DATES: &[Builtin] = &[
    native(
        "LocalDate/of",
        "[year month day]",
        |_, args| {
            let date = make_date(whole(args, 0)?, month(args, 1)?, whole(args, 2)?)?;
            Ok(Value::time(Time::Date(date)))
        },
        "The date of a year, month (number or Month) and day.",
        &[("(LocalDate/of 2024 1 31)", "\"2024-01-31\"")],
    ),
    native(
        "LocalDate/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::LocalDate),
        "Reads a date such as 2024-01-31, or one that follows a DateTimeFormatter.",
        &[("(LocalDate/parse \"2024-01-31\")", "\"2024-01-31\"")],
    ),
    native(
        "LocalDate/ofEpochDay",
        "[day]",
        |_, args| Ok(Value::time(Time::Date(from_epoch_day(whole(args, 0)?)?))),
        "The date so many days after 1970-01-01.",
        &[("(LocalDate/ofEpochDay 1)", "\"1970-01-02\"")],
    ),
    native(
        "LocalDate/ofYearDay",
        "[year day-of-year]",
        |_, args| {
            let first = make_date(whole(args, 0)?, 1, 1)?;
            let date = Field::DayOfYear.replace_in_date(first, whole(args, 1)?)?;
            Ok(Value::time(Time::Date(date.unwrap_or(first))))
        },
        "The date of a year and a day counted from its start.",
        &[("(LocalDate/ofYearDay 2024 60)", "\"2024-02-29\"")],
    ),
    native(
        "LocalDate/ofInstant",
        "[instant zone]",
        |_, args| of_instant(args, TimeKind::LocalDate),
        "The date of an instant in a zone.",
        &[("(LocalDate/ofInstant (Instant/ofEpochMilli 0) ZoneOffset/UTC)", "\"1970-01-01\"")],
    ),
    native(
        "LocalDate/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::LocalDate),
        "Today by the program's clock, in UTC or a zone.",
        &[("(= (LocalDate/now) (LocalDate/now ZoneOffset/UTC))", "true")],
    ),
    native(
        "LocalDate/from",
        "[temporal]",
        |_, args| from(args, TimeKind::LocalDate),
        "The date in another value.",
        &[("(LocalDate/from (LocalDateTime/of 2024 1 31 10 0))", "\"2024-01-31\"")],
    ),
    constant(
        "LocalDate/EPOCH",
        |_| Value::time(Time::Date(jiff::civil::Date::constant(1970, 1, 1))),
        "The first day of 1970.",
        &[("LocalDate/EPOCH", "\"1970-01-01\"")],
    ),
    constant(
        "LocalDate/MIN",
        |_| Value::time(Time::Date(jiff::civil::Date::MIN)),
        "The first date that can be represented.",
        &[("LocalDate/MIN", "\"-9999-01-01\"")],
    ),
    constant(
        "LocalDate/MAX",
        |_| Value::time(Time::Date(jiff::civil::Date::MAX)),
        "The last date that can be represented.",
        &[("LocalDate/MAX", "\"9999-12-31\"")],
    ),
];

pub(super) static DATE_TIMES: &[Builtin] = &[
    native(
        "LocalDateTime/of",
        "[date time] [year month day hour minute] [year month day hour minute second] \
         [year month day hour minute second nano]",
        |_, args| Ok(Value::time(Time::DateTime(local_parts(args, args.len())?))),
        "A date with a time of day.",
        &[
            ("(LocalDateTime/of 2024 1 31 10 15)", "\"2024-01-31T10:15\""),
            ("(LocalDateTime/of (LocalDate/of 2024 1 31) (LocalTime/of 10 15))", "\"2024-01-31T10:15\""),
        ],
    ),
    native(
        "LocalDateTime/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::LocalDateTime),
        "Reads a date and time such as 2024-01-31T10:15, or one that follows a DateTimeFormatter.",
        &[("(LocalDateTime/parse \"2024-01-31T10:15:30\")", "\"2024-01-31T10:15:30\"")],
    ),
    native(
        "LocalDateTime/ofInstant",
        "[instant zone]",
        |_, args| of_instant(args, TimeKind::LocalDateTime),
        "What clocks in a zone show at an instant.",
        &[("(LocalDateTime/ofInstant (Instant/ofEpochMilli 0) ZoneOffset/UTC)", "\"1970-01-01T00:00\"")],
    ),
    native(
        "LocalDateTime/ofEpochSecond",
        "[second nano offset]",
        of_epoch_second,
        "What clocks at an offset show.",
        &[("(LocalDateTime/ofEpochSecond 60 0 ZoneOffset/UTC)", "\"1970-01-01T00:01\"")],
    ),
    native(
        "LocalDateTime/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::LocalDateTime),
        "Date and time by the program's clock, in UTC or a zone.",
        &[("(= (LocalDateTime/now) (LocalDateTime/now ZoneOffset/UTC))", "true")],
    ),
    native(
        "LocalDateTime/from",
        "[temporal]",
        |_, args| from(args, TimeKind::LocalDateTime),
        "The date and time in another value.",
        &[("(LocalDateTime/from (ZonedDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15\"")],
    ),
    constant(
        "LocalDateTime/MIN",
        |_| Value::time(Time::DateTime(jiff::civil::DateTime::MIN)),
        "The first date and time that can be represented.",
        &[("LocalDateTime/MIN", "\"-9999-01-01T00:00\"")],
    ),
    constant(
        "LocalDateTime/MAX",
        |_| Value::time(Time::DateTime(jiff::civil::DateTime::MAX)),
        "The last date and time that can be represented.",
        &[("LocalDateTime/MAX", "\"9999-12-31T23:59:59.999999999\"")],
    ),
];

pub(super) static CLOCKS: &[Builtin] = &[
    native(
        "LocalTime/of",
        "[hour minute] [hour minute second] [hour minute second nano]",
        |_, args| Ok(Value::time(Time::Clock(clock_parts(args, 0, args.len())?))),
        "A time of day.",
        &[("(LocalTime/of 10 15)", "\"10:15\""), ("(LocalTime/of 10 15 30)", "\"10:15:30\"")],
    ),
    native(
        "LocalTime/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::LocalTime),
        "Reads a time such as 10:15 or 10:15:30, or one that follows a DateTimeFormatter.",
        &[("(LocalTime/parse \"10:15\")", "\"10:15\"")],
    ),
    native(
        "LocalTime/ofSecondOfDay",
        "[second]",
        |_, args| {
            let second = Field::SecondOfDay.check(whole(args, 0)?)?;
            Ok(Value::time(Time::Clock(clock_at(i128::from(second) * 1_000_000_000))))
        },
        "The time so many seconds after midnight.",
        &[("(LocalTime/ofSecondOfDay 3600)", "\"01:00\"")],
    ),
    native(
        "LocalTime/ofNanoOfDay",
        "[nano]",
        |_, args| {
            let nano = Field::NanoOfDay.check(whole(args, 0)?)?;
            Ok(Value::time(Time::Clock(clock_at(nano.into()))))
        },
        "The time so many nanoseconds after midnight.",
        &[("(LocalTime/ofNanoOfDay 0)", "\"00:00\"")],
    ),
    native(
        "LocalTime/ofInstant",
        "[instant zone]",
        |_, args| of_instant(args, TimeKind::LocalTime),
        "The time of day of an instant in a zone.",
        &[("(LocalTime/ofInstant (Instant/ofEpochMilli 0) ZoneOffset/UTC)", "\"00:00\"")],
    ),
    native(
        "LocalTime/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::LocalTime),
        "The time of day by the program's clock, in UTC or a zone.",
        &[("(= (LocalTime/now) (LocalTime/now ZoneOffset/UTC))", "true")],
    ),
    native(
        "LocalTime/from",
        "[temporal]",
        |_, args| from(args, TimeKind::LocalTime),
        "The time of day in another value.",
        &[("(LocalTime/from (LocalDateTime/of 2024 1 31 10 15))", "\"10:15\"")],
    ),
    constant(
        "LocalTime/MIDNIGHT",
        |_| clock(0),
        "The start of the day.",
        &[("LocalTime/MIDNIGHT", "\"00:00\"")],
    ),
    constant("LocalTime/MIN", |_| clock(0), "The start of the day.", &[("LocalTime/MIN", "\"00:00\"")]),
    constant("LocalTime/NOON", |_| clock(12), "The middle of the day.", &[("LocalTime/NOON", "\"12:00\"")]),
    constant(
        "LocalTime/MAX",
        |_| Value::time(Time::Clock(jiff::civil::Time::MAX)),
        "The last nanosecond of the day.",
        &[("LocalTime/MAX", "\"23:59:59.999999999\"")],
    ),
];

fn clock(hour: i8) -> Value {
    Value::time(Time::Clock(jiff::civil::Time::constant(hour, 0, 0, 0)))
}

/// Hour, minute and, if they are given, second and nanosecond from argument `from` up to `to`.
pub(super) fn clock_parts(args: &[Value], from: usize, to: usize) -> Res<jiff::civil::Time> {
    let part = |at: usize| if at < to { whole(args, at) } else { Ok(0) };
    Ok(make_clock(whole(args, from)?, part(from + 1)?, part(from + 2)?, part(from + 3)?)?)
}

/// A date and time from the first `count` arguments: both as values, or number by number.
pub(super) fn local_parts(args: &[Value], count: usize) -> Res<jiff::civil::DateTime> {
    if count == 2 {
        let date = wanted(args, 0, TimeKind::LocalDate)?.date();
        let time = wanted(args, 1, TimeKind::LocalTime)?.clock();
        return Ok(date.unwrap_or_default().to_datetime(time.unwrap_or_default()));
    }
    let date = make_date(whole(args, 0)?, month(args, 1)?, whole(args, 2)?)?;
    Ok(date.to_datetime(clock_parts(args, 3, count)?))
}

/// A value as it is at the instant of argument 0 in the zone of argument 1.
pub(super) fn of_instant(args: &[Value], kind: TimeKind) -> Res {
    let Some(instant) = any_time(args, 0)?.to_kind(TimeKind::Instant).and_then(|time| time.instant()) else {
        return args::fail(args, 0, "an Instant");
    };
    let zoned = Time::Zoned(zone(args, 1)?.at(instant).into());
    Ok(zoned.to_kind(kind).map_or(Value::Nil, Value::time))
}

fn of_epoch_second(_: &mut Heap, args: &mut [Value]) -> Res {
    let nanos = i128::from(whole(args, 0)?) * 1_000_000_000 + i128::from(whole(args, 1)?);
    let shift = i128::from(offset(args, 2)?.seconds()) * 1_000_000_000;
    Ok(Value::time(Time::DateTime(crate::value::time::local_at(nanos + shift)?)))
}
