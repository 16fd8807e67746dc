//! From one type to another: `.toX` and `.atX`.

use super::super::java_lang::{no_method, whole};
use super::super::{Builtin, native};
use super::local::clock_parts;
use super::{month, offset, receiver, wanted, zone};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Field, TimeKind, Zone, checked_instant, make_date};
use crate::value::{Time, Value};

/// The types that name an instant.
const INSTANTS: &str = "Instant, ZonedDateTime, OffsetDateTime, LocalDateTime (with an offset) or Date";

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".toLocalDate",
        "[temporal]",
        |_, args| converted(args, TimeKind::LocalDate, "LocalDateTime, ZonedDateTime or OffsetDateTime"),
        "The date in a date and time.",
        &[("(.toLocalDate (LocalDateTime/of 2024 1 31 10 15))", "\"2024-01-31\"")],
    ),
    native(
        ".toLocalTime",
        "[temporal]",
        |_, args| converted(args, TimeKind::LocalTime, "LocalDateTime, ZonedDateTime or OffsetDateTime"),
        "The time of day in a date and time.",
        &[("(.toLocalTime (LocalDateTime/of 2024 1 31 10 15))", "\"10:15\"")],
    ),
    native(
        ".toLocalDateTime",
        "[temporal]",
        |_, args| converted(args, TimeKind::LocalDateTime, "ZonedDateTime or OffsetDateTime"),
        "The date and time without the zone.",
        &[("(.toLocalDateTime (ZonedDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15\"")],
    ),
    native(
        ".toOffsetDateTime",
        "[zoned]",
        |_, args| converted(args, TimeKind::OffsetDateTime, "ZonedDateTime"),
        "The date and time with only the offset of its zone.",
        &[("(.toOffsetDateTime (ZonedDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15Z\"")],
    ),
    native(
        ".toZonedDateTime",
        "[offset-date-time]",
        |_, args| converted(args, TimeKind::ZonedDateTime, "OffsetDateTime"),
        "The date and time with its offset as the zone.",
        &[("(.toZonedDateTime (OffsetDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15Z\"")],
    ),
    native(
        ".toInstant",
        "[temporal] [date-time offset]",
        to_instant,
        "The instant of a date and time.",
        &[
            ("(.toInstant (ZonedDateTime/parse \"2024-01-31T10:15+01:00\"))", "\"2024-01-31T09:15:00Z\""),
            ("(.toInstant (LocalDateTime/of 2024 1 31 10 15) ZoneOffset/UTC)", "\"2024-01-31T10:15:00Z\""),
        ],
    ),
    native(
        ".toEpochMilli",
        "[instant]",
        |_, args| match receiver(args, "Instant")? {
            Time::Instant(instant) => Ok(millis(*instant).into()),
            time if time.instant().is_some() => Err(no_method(args, "Instant: call .toInstant first")),
            _ => Err(no_method(args, "Instant")),
        },
        "Milliseconds since 1970.",
        &[("(.toEpochMilli (Instant/parse \"1970-01-01T00:00:01Z\"))", "1000")],
    ),
    native(
        ".toEpochSecond",
        "[temporal] [date-time offset]",
        |heap, args| {
            if matches!(&args[0], Value::Time(time) if matches!(**time, Time::Instant(_))) {
                let types = "ZonedDateTime or OffsetDateTime (an Instant has .getEpochSecond)";
                return Err(no_method(args, types));
            }
            match to_instant(heap, args)? {
                Value::Time(time) => Ok(time.field(Field::InstantSeconds).map_or(Value::Nil, Value::Int)),
                other => Ok(other),
            }
        },
        "Seconds since 1970.",
        &[("(.toEpochSecond (ZonedDateTime/parse \"1970-01-01T00:01Z\"))", "60")],
    ),
    native(
        ".atStartOfDay",
        "[date] [date zone]",
        at_start_of_day,
        "The first moment of a date, in a zone if one is given.",
        &[("(.atStartOfDay (LocalDate/of 2024 1 31))", "\"2024-01-31T00:00\"")],
    ),
    native(
        ".atTime",
        "[date time] [date hour minute] [date hour minute second] [date hour minute second nano]",
        at_time,
        "A date with a time of day.",
        &[("(.atTime (LocalDate/of 2024 1 31) 10 15)", "\"2024-01-31T10:15\"")],
    ),
    native(
        ".atDate",
        "[time date]",
        |_, args| match receiver(args, "LocalTime")? {
            Time::Clock(time) => {
                let date = wanted(args, 1, TimeKind::LocalDate)?.date().unwrap_or_default();
                Ok(Value::time(Time::DateTime(date.to_datetime(*time))))
            }
            _ => Err(no_method(args, "LocalTime")),
        },
        "A time of day on a date.",
        &[("(.atDate (LocalTime/of 10 15) (LocalDate/of 2024 1 31))", "\"2024-01-31T10:15\"")],
    ),
    native(
        ".atZone",
        "[temporal zone]",
        at_zone,
        "A date and time, or an instant, in a zone.",
        &[(
            "(.atZone (LocalDateTime/of 2024 7 1 10 0) (ZoneId/of \"Europe/Paris\"))",
            "\"2024-07-01T10:00+02:00[Europe/Paris]\"",
        )],
    ),
    native(
        ".atOffset",
        "[temporal offset]",
        at_offset,
        "A date and time, or an instant, at an offset.",
        &[("(.atOffset (LocalDateTime/of 2024 7 1 10 0) ZoneOffset/UTC)", "\"2024-07-01T10:00Z\"")],
    ),
    native(
        ".atDay",
        "[month day]",
        |_, args| {
            let day = whole(args, 1)?;
            Ok(Value::time(Time::Date(match receiver(args, "YearMonth or Year")? {
                Time::YearMonth(first) => make_date(first.year().into(), first.month().into(), day)?,
                Time::Year(year) => {
                    let first = make_date((*year).into(), 1, 1)?;
                    Field::DayOfYear.replace_in_date(first, day)?.unwrap_or(first)
                }
                _ => return Err(no_method(args, "YearMonth or Year")),
            })))
        },
        "The date of a day of a month, or of a year.",
        &[("(.atDay (YearMonth/of 2024 2) 29)", "\"2024-02-29\"")],
    ),
    native(
        ".atEndOfMonth",
        "[month]",
        |_, args| match receiver(args, "YearMonth")? {
            Time::YearMonth(first) => Ok(Value::time(Time::Date(first.last_of_month()))),
            _ => Err(no_method(args, "YearMonth")),
        },
        "The last date of a month.",
        &[("(.atEndOfMonth (YearMonth/of 2024 2))", "\"2024-02-29\"")],
    ),
    native(
        ".atMonth",
        "[year month]",
        |_, args| match receiver(args, "Year")? {
            Time::Year(year) => {
                Ok(Value::time(Time::YearMonth(make_date((*year).into(), month(args, 1)?, 1)?)))
            }
            _ => Err(no_method(args, "Year")),
        },
        "A month of a year.",
        &[("(.atMonth (Year/of 2024) 2)", "\"2024-02\"")],
    ),
];

/// Milliseconds since 1970, rounded down as in Java.
pub(in super::super) fn millis(instant: jiff::Timestamp) -> i64 {
    instant.as_nanosecond().div_euclid(1_000_000) as i64
}

fn converted(args: &[Value], kind: TimeKind, types: &str) -> Res {
    match receiver(args, types)?.to_kind(kind) {
        Some(converted) => Ok(Value::time(converted)),
        None => Err(no_method(args, types)),
    }
}

fn to_instant(_: &mut Heap, args: &mut [Value]) -> Res {
    let time = receiver(args, INSTANTS)?;
    let instant = match (time, args.len()) {
        (Time::DateTime(local), 2) => Some(checked_instant(*local, offset(args, 1)?)?),
        (_, 1) => time.instant(),
        _ => None,
    };
    match instant {
        Some(instant) => Ok(Value::time(Time::Instant(instant))),
        None => Err(no_method(args, INSTANTS)),
    }
}

fn at_start_of_day(_: &mut Heap, args: &mut [Value]) -> Res {
    let Time::Date(date) = receiver(args, "LocalDate")? else {
        return Err(no_method(args, "LocalDate"));
    };
    let local = date.to_datetime(jiff::civil::Time::midnight());
    if args.len() == 1 {
        return Ok(Value::time(Time::DateTime(local)));
    }
    Ok(Value::time(Time::Zoned(zone(args, 1)?.resolve(local, None)?.into())))
}

fn at_time(_: &mut Heap, args: &mut [Value]) -> Res {
    let Time::Date(date) = receiver(args, "LocalDate")? else {
        return Err(no_method(args, "LocalDate"));
    };
    let time = match args.len() {
        2 => wanted(args, 1, TimeKind::LocalTime)?.clock().unwrap_or_default(),
        count => clock_parts(args, 1, count)?,
    };
    Ok(Value::time(Time::DateTime(date.to_datetime(time))))
}

fn at_zone(_: &mut Heap, args: &mut [Value]) -> Res {
    const PLACED: &str = "LocalDateTime or Instant";
    let zoned = match receiver(args, PLACED)? {
        Time::DateTime(local) => zone(args, 1)?.resolve(*local, None)?,
        Time::Instant(instant) => zone(args, 1)?.at(*instant),
        Time::Date(_) => {
            return Err(no_method(args, "LocalDateTime or Instant (a LocalDate has .atStartOfDay)"));
        }
        _ => return Err(no_method(args, PLACED)),
    };
    Ok(Value::time(Time::Zoned(zoned.into())))
}

fn at_offset(_: &mut Heap, args: &mut [Value]) -> Res {
    let offset = offset(args, 1)?;
    Ok(Value::time(match receiver(args, "LocalDateTime or Instant")? {
        Time::DateTime(local) => {
            checked_instant(*local, offset)?;
            Time::OffsetDateTime(*local, offset)
        }
        Time::Instant(instant) => Time::OffsetDateTime(Zone::Fixed(offset).at(*instant).local, offset),
        _ => return Err(no_method(args, "LocalDateTime or Instant")),
    }))
}
