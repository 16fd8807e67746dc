//! Reading fields of dates and times, and questions about them.

use super::super::java_lang::no_method;
use super::super::{Builtin, args, native};
use super::{CLOCKS, DATES, any_time, constant_of, field, receiver, unit, wanted};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Field, TimeKind, TimeUnit, Zone, make_date};
use crate::value::{Time, Value};

/// `.getX`: name, field, types, doc, example.
macro_rules! fields {
    ($($name:literal $field:ident $types:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        &[$(native($name, "[temporal]", |_, args| read(args, Field::$field, $types),
            $doc, &[($source, $shown)])),*]
    };
}

pub(super) static FIELDS: &[Builtin] = fields! {
    ".getYear" Year "LocalDate, LocalDateTime, ZonedDateTime, OffsetDateTime or YearMonth", "The year.",
        "(.getYear (LocalDate/of 2024 1 31))" => "2024";
    ".getMonthValue" MonthOfYear "LocalDate, LocalDateTime, ZonedDateTime, OffsetDateTime or YearMonth",
        "The number of the month.", "(.getMonthValue (LocalDate/of 2024 1 31))" => "1";
    ".getDayOfMonth" DayOfMonth DATES, "The day of the month.",
        "(.getDayOfMonth (LocalDate/of 2024 1 31))" => "31";
    ".getDayOfYear" DayOfYear DATES, "The day of the year.", "(.getDayOfYear (LocalDate/of 2024 2 1))" => "32";
    ".getHour" HourOfDay CLOCKS, "The hour of the day.", "(.getHour (LocalTime/of 10 15))" => "10";
    ".getMinute" MinuteOfHour CLOCKS, "The minute of the hour.", "(.getMinute (LocalTime/of 10 15))" => "15";
    ".getSecond" SecondOfMinute CLOCKS, "The second of the minute.",
        "(.getSecond (LocalTime/of 10 15 30))" => "30";
    ".getEpochSecond" InstantSeconds "Instant", "Seconds since 1970.",
        "(.getEpochSecond (Instant/ofEpochMilli 5000))" => "5";
    ".toEpochDay" EpochDay "LocalDate", "Days since 1970-01-01.",
        "(.toEpochDay (LocalDate/of 1970 1 2))" => "1";
    ".toSecondOfDay" SecondOfDay "LocalTime", "Seconds since midnight.",
        "(.toSecondOfDay (LocalTime/of 1 0))" => "3600";
    ".toNanoOfDay" NanoOfDay "LocalTime", "Nanoseconds since midnight.",
        "(.toNanoOfDay (LocalTime/of 0 0))" => "0";
    ".getTotalSeconds" OffsetSeconds "ZoneOffset", "The seconds of an offset.",
        "(.getTotalSeconds (ZoneOffset/ofHours 1))" => "3600";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".getNano",
        "[x]",
        |_, args| match receiver(args, "LocalTime, LocalDateTime, Instant or Duration")? {
            Time::Duration(length) => Ok((length.as_nanos().rem_euclid(1_000_000_000) as i64).into()),
            _ => read(args, Field::NanoOfSecond, CLOCKS),
        },
        "The nanoseconds beside the seconds.",
        &[("(.getNano (Duration/ofMillis 1500))", "500000000")],
    ),
    native(
        ".getDayOfWeek",
        "[date]",
        |_, args| part(args, TimeKind::DayOfWeek, DATES),
        "The day of the week.",
        &[("(str (.getDayOfWeek (LocalDate/of 2024 1 31)))", "\"WEDNESDAY\"")],
    ),
    native(
        ".getMonth",
        "[date]",
        |_, args| part(args, TimeKind::Month, DATES),
        "The month.",
        &[("(str (.getMonth (LocalDate/of 2024 1 31)))", "\"JANUARY\"")],
    ),
    native(
        ".getZone",
        "[zoned]",
        |_, args| match receiver(args, "ZonedDateTime")? {
            Time::Zoned(zoned) => Ok(Value::time(Time::Zone(zoned.zone.clone()))),
            _ => Err(no_method(args, "ZonedDateTime")),
        },
        "The zone of a ZonedDateTime.",
        &[("(str (.getZone (ZonedDateTime/parse \"2024-01-31T10:15Z\")))", "\"Z\"")],
    ),
    native(
        ".getOffset",
        "[temporal] [rules instant]",
        get_offset,
        "The offset that holds at a date and time, or by the rules of a zone at an instant.",
        &[
            ("(str (.getOffset (ZonedDateTime/parse \"2024-01-31T10:15+01:00\")))", "\"+01:00\""),
            (
                "(str (.getOffset (.getRules (ZoneId/of \"Asia/Tokyo\")) (Instant/parse \"2024-01-31T10:15:00Z\")))",
                "\"+09:00\"",
            ),
        ],
    ),
    native(
        ".getRules",
        "[zone]",
        |_, args| match receiver(args, "ZoneId or ZoneOffset")? {
            Time::Zone(_) => Ok(args::take(args, 0)),
            _ => Err(no_method(args, "ZoneId or ZoneOffset")),
        },
        "The rules of a zone, for .getOffset and .isDaylightSavings: the zone itself.",
        &[("(str (.getRules (ZoneId/of \"Asia/Tokyo\")))", "\"Asia/Tokyo\"")],
    ),
    native(
        ".isDaylightSavings",
        "[rules instant]",
        |_, args| match (receiver(args, RULES)?, wanted(args, 1, TimeKind::Instant)?) {
            (Time::Zone(zone), Time::Instant(instant)) => Ok(Value::Bool(zone.is_summer(*instant))),
            _ => Err(no_method(args, RULES)),
        },
        "Whether daylight saving time holds at an instant.",
        &[(
            "(.isDaylightSavings (.getRules (ZoneId/of \"Europe/Paris\")) (Instant/parse \"2024-07-01T00:00:00Z\"))",
            "true",
        )],
    ),
    native(
        ".getId",
        "[zone]",
        |_, args| match receiver(args, "ZoneId or ZoneOffset")? {
            Time::Zone(zone) => Ok(zone.id().into()),
            _ => Err(no_method(args, "ZoneId or ZoneOffset")),
        },
        "The id of a zone.",
        &[("(.getId (ZoneId/of \"Europe/Paris\"))", "\"Europe/Paris\"")],
    ),
    native(
        ".getLong",
        "[temporal field]",
        |_, args| get(args),
        "The value of a ChronoField or ChronoUnit.",
        &[("(.getLong (LocalDate/of 2024 1 31) ChronoField/EPOCH_DAY)", "19753")],
    ),
    native(
        ".isSupported",
        "[temporal field]",
        is_supported,
        "Whether a value has a ChronoField or ChronoUnit.",
        &[("(.isSupported (LocalDate/of 2024 1 31) ChronoField/HOUR_OF_DAY)", "false")],
    ),
    native(
        ".lengthOfMonth",
        "[date]",
        length_of_month,
        "How many days the month has.",
        &[("(.lengthOfMonth (LocalDate/of 2024 2 1))", "29")],
    ),
    native(
        ".lengthOfYear",
        "[date]",
        |_, args| Ok(i64::from(first_of(args)?.days_in_year()).into()),
        "How many days the year has.",
        &[("(.lengthOfYear (LocalDate/of 2024 2 1))", "366")],
    ),
    native(
        ".isLeapYear",
        "[date]",
        |_, args| Ok(first_of(args)?.in_leap_year().into()),
        "Whether the year has 366 days.",
        &[("(.isLeapYear (LocalDate/of 2024 2 1))", "true")],
    ),
    native(
        ".isLeap",
        "[year]",
        |_, args| Ok(first_of(args)?.in_leap_year().into()),
        "Whether the year has 366 days.",
        &[("(.isLeap (Year/of 2024))", "true")],
    ),
    native(
        ".isBefore",
        "[a b]",
        |_, args| Ok(order(args)?.is_lt().into()),
        "Whether a date or time comes before another of its type.",
        &[("(.isBefore (LocalDate/of 2024 1 1) (LocalDate/of 2024 1 2))", "true")],
    ),
    native(
        ".isAfter",
        "[a b]",
        |_, args| Ok(order(args)?.is_gt().into()),
        "Whether a date or time comes after another of its type.",
        &[("(.isAfter (LocalDate/of 2024 1 1) (LocalDate/of 2024 1 2))", "false")],
    ),
    native(
        ".isEqual",
        "[a b]",
        |_, args| Ok(order(args)?.is_eq().into()),
        "Whether two dates or times are the same day or instant.",
        &[("(.isEqual (LocalDate/of 2024 1 1) (LocalDate/of 2024 1 1))", "true")],
    ),
    native(
        ".weekOfWeekBasedYear",
        "[week-fields]",
        |_, args| week_field(args, Field::WeekOfWeekBasedYear, Field::SundayWeekOfYear),
        "The field of the week of a year.",
        &[("(.get (LocalDate/of 2024 1 31) (.weekOfWeekBasedYear WeekFields/ISO))", "5")],
    ),
    native(
        ".weekBasedYear",
        "[week-fields]",
        |_, args| week_field(args, Field::WeekBasedYear, Field::SundayWeekYear),
        "The field of the year that weeks belong to.",
        &[("(.get (LocalDate/of 2024 12 31) (.weekBasedYear WeekFields/ISO))", "2025")],
    ),
    native(
        ".dayOfWeek",
        "[week-fields]",
        |_, args| week_field(args, Field::DayOfWeek, Field::SundayDayOfWeek),
        "The field of the day of the week, as the weeks begin.",
        &[("(.get (LocalDate/of 2024 1 31) (.dayOfWeek WeekFields/ISO))", "3")],
    ),
    native(
        "WeekFields/of",
        "[locale]",
        |_, args| match constant_of(args, 0, Class::Locale).map(|locale| locale.name()) {
            Some("US" | "CANADA") => Ok(Value::time(Time::constant(Class::WeekFields, 1))),
            Some("UK") => Ok(Value::time(Time::constant(Class::WeekFields, 0))),
            _ => args::fail(args, 0, "a Locale with a country: Locale/US or Locale/UK"),
        },
        "How weeks are counted in a country.",
        &[("(.get (LocalDate/of 2024 1 31) (.dayOfWeek (WeekFields/of Locale/US)))", "4")],
    ),
];

/// What has the methods of a zone's rules.
const RULES: &str = "the rules of a zone";

fn get_offset(_: &mut Heap, args: &mut [Value]) -> Res {
    const TYPES: &str = "ZonedDateTime, OffsetDateTime or the rules of a zone";
    let found = match (receiver(args, TYPES)?, args.len()) {
        (Time::Zone(zone), 2) => match any_time(args, 1)? {
            Time::Instant(instant) => Some(zone.offset_at(*instant)),
            Time::DateTime(local) => Some(zone.resolve(*local, None)?.offset),
            _ => return args::fail(args, 1, "an Instant or LocalDateTime"),
        },
        (time, 1) => time.offset(),
        _ => None,
    };
    found.map(|offset| Value::time(Time::Zone(Zone::Fixed(offset)))).ok_or_else(|| no_method(args, TYPES))
}

fn read(args: &[Value], field: Field, types: &str) -> Res {
    let time = receiver(args, types)?;
    match time.field(field) {
        Some(value) => Ok(value.into()),
        None => Err(no_method(args, types)),
    }
}

fn part(args: &[Value], kind: TimeKind, types: &str) -> Res {
    match receiver(args, types)?.to_kind(kind) {
        Some(part) => Ok(Value::time(part)),
        None => Err(no_method(args, types)),
    }
}

fn week_field(args: &[Value], iso: Field, sunday: Field) -> Res {
    match constant_of(args, 0, Class::WeekFields) {
        Some(fields) => {
            let field = if fields.ordinal == 0 { iso } else { sunday };
            Ok(Value::time(Time::constant(Class::ChronoField, field as u8)))
        }
        None => Err(no_method(args, "WeekFields")),
    }
}

/// The first day of the month or year that the receiver names.
fn first_of(args: &[Value]) -> Res<jiff::civil::Date> {
    const YEARS: &str = "LocalDate, YearMonth or Year";
    match receiver(args, YEARS)? {
        Time::YearMonth(first) => Ok(*first),
        Time::Year(year) => Ok(make_date((*year).into(), 1, 1)?),
        time => time.date().ok_or_else(|| no_method(args, YEARS)),
    }
}

fn length_of_month(_: &mut Heap, args: &mut [Value]) -> Res {
    match receiver(args, "LocalDate or YearMonth")? {
        Time::Year(_) => Err(no_method(args, "LocalDate or YearMonth")),
        _ => Ok(i64::from(first_of(args)?.days_in_month()).into()),
    }
}

/// `.length` of a month or year.
pub(in super::super) fn length(args: &[Value]) -> Res {
    const LENGTHS: &str = "a string, Month or Year";
    match (receiver(args, LENGTHS)?, args.get(1)) {
        (Time::Year(_), None) => Ok(i64::from(first_of(args)?.days_in_year()).into()),
        (Time::Constant(constant), Some(leap)) if constant.class == Class::Month => {
            let year = if leap.truthy() { 2024 } else { 2023 };
            let first = make_date(year, i64::from(constant.ordinal) + 1, 1)?;
            Ok(i64::from(first.days_in_month()).into())
        }
        _ => Err(no_method(args, LENGTHS)),
    }
}

/// `.getValue` of a day, month or year.
pub(in super::super) fn get_value(args: &[Value]) -> Res {
    const VALUES: &str = "DayOfWeek, Month, Year or a map entry";
    match receiver(args, VALUES)? {
        Time::Constant(constant) if matches!(constant.class, Class::DayOfWeek | Class::Month) => {
            Ok((i64::from(constant.ordinal) + 1).into())
        }
        Time::Year(year) => Ok(i64::from(*year).into()),
        _ => Err(no_method(args, VALUES)),
    }
}

/// `.get` and `.getLong`: the value of a field, or the part of an amount.
pub(in super::super) fn get(args: &[Value]) -> Res {
    let time = any_time(args, 0)?;
    let (amount, unit) = match time {
        Time::Period(period) => (*period, unit(args, 1)?),
        Time::Duration(length) => {
            let nanos = length.as_nanos();
            return match unit(args, 1)? {
                TimeUnit::Seconds => Ok((nanos.div_euclid(1_000_000_000) as i64).into()),
                TimeUnit::Nanos => Ok((nanos.rem_euclid(1_000_000_000) as i64).into()),
                other => Err(time.lacks_unit(other).into()),
            };
        }
        _ => {
            let field = field(args, 1)?;
            return time.field(field).map(Value::Int).ok_or_else(|| time.lacks_field(field).into());
        }
    };
    Ok(i64::from(match unit {
        TimeUnit::Years => amount.years,
        TimeUnit::Months => amount.months,
        TimeUnit::Days => amount.days,
        other => return Err(time.lacks_unit(other).into()),
    })
    .into())
}

fn is_supported(_: &mut Heap, args: &mut [Value]) -> Res {
    let time = any_time(args, 0)?;
    match constant_of(args, 1, Class::ChronoUnit) {
        Some(_) => Ok(time.plus(1, unit(args, 1)?).is_ok().into()),
        None => Ok(time.field(field(args, 1)?).is_some().into()),
    }
}

/// How two values of one type are ordered; zoned values by their instants.
fn order(args: &[Value]) -> Res<std::cmp::Ordering> {
    const ORDERED: &str =
        "LocalDate, LocalDateTime, LocalTime, Instant, ZonedDateTime, OffsetDateTime, YearMonth or Year";
    let a = receiver(args, ORDERED)?;
    let b = any_time(args, 1)?;
    match (a, b) {
        (Time::Zoned(_), Time::Zoned(_)) | (Time::OffsetDateTime(..), Time::OffsetDateTime(..)) => {
            Ok(a.instant().cmp(&b.instant()))
        }
        (Time::JavaDate(_) | Time::Duration(_) | Time::Constant(_) | Time::Uuid(_), _) => {
            Err(no_method(args, ORDERED))
        }
        _ => a.compare(b).ok_or_else(|| a.mismatch(b).into()),
    }
}
