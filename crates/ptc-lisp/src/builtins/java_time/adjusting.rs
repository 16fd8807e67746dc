//! Changing one part of a date or time: `.with`, `.withYear` and their like, and `TemporalAdjusters`.

use jiff::civil::Weekday;

use super::super::java_lang::{no_method, whole};
use super::super::{Builtin, args, native};
use super::{CLOCKS, DATES, TEMPORALS, any_time, constant_of, field, offset, receiver, zone};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Adjuster, Class, Field, TimeKind, Zone, ZonedTime, checked_instant};
use crate::value::{Time, Value};

macro_rules! adjusters {
    ($($name:literal $params:literal $make:expr, $doc:literal, $call:literal => $shown:literal;)*) => {
        &[$(native(concat!("TemporalAdjusters/", $name), $params, |_, args| {
            let make: fn(&[Value]) -> Res<Adjuster> = $make;
            Ok(Value::time(Time::Adjuster(make(args)?)))
        }, $doc, &[(
            concat!("(.with (LocalDate/of 2024 1 31) (TemporalAdjusters/", $name, $call, "))"), $shown,
        )])),*]
    };
}

pub(super) static ADJUSTERS: &[Builtin] = adjusters! {
    "firstDayOfMonth" "[]" |_| Ok(Adjuster::FirstDayOfMonth), "To the first day of the month.",
        "" => "\"2024-01-01\"";
    "lastDayOfMonth" "[]" |_| Ok(Adjuster::LastDayOfMonth), "To the last day of the month.",
        "" => "\"2024-01-31\"";
    "firstDayOfNextMonth" "[]" |_| Ok(Adjuster::FirstDayOfNextMonth), "To the first day of the next month.",
        "" => "\"2024-02-01\"";
    "firstDayOfYear" "[]" |_| Ok(Adjuster::FirstDayOfYear), "To the first day of the year.",
        "" => "\"2024-01-01\"";
    "lastDayOfYear" "[]" |_| Ok(Adjuster::LastDayOfYear), "To the last day of the year.",
        "" => "\"2024-12-31\"";
    "firstDayOfNextYear" "[]" |_| Ok(Adjuster::FirstDayOfNextYear), "To the first day of the next year.",
        "" => "\"2025-01-01\"";
    "next" "[day-of-week]" |args| Ok(Adjuster::Next(weekday(args, 0)?)), "To the next such day.",
        " DayOfWeek/WEDNESDAY" => "\"2024-02-07\"";
    "nextOrSame" "[day-of-week]" |args| Ok(Adjuster::NextOrSame(weekday(args, 0)?)),
        "To the next such day, or no move if it is one.", " DayOfWeek/WEDNESDAY" => "\"2024-01-31\"";
    "previous" "[day-of-week]" |args| Ok(Adjuster::Previous(weekday(args, 0)?)), "To the last such day before.",
        " DayOfWeek/MONDAY" => "\"2024-01-29\"";
    "previousOrSame" "[day-of-week]" |args| Ok(Adjuster::PreviousOrSame(weekday(args, 0)?)),
        "To the last such day, or no move if it is one.", " DayOfWeek/MONDAY" => "\"2024-01-29\"";
    "firstInMonth" "[day-of-week]" |args| Ok(Adjuster::InMonth(1, weekday(args, 0)?)),
        "To the first such day of the month.", " DayOfWeek/MONDAY" => "\"2024-01-01\"";
    "lastInMonth" "[day-of-week]" |args| Ok(Adjuster::InMonth(-1, weekday(args, 0)?)),
        "To the last such day of the month.", " DayOfWeek/MONDAY" => "\"2024-01-29\"";
    "dayOfWeekInMonth" "[ordinal day-of-week]" |args| in_month(args),
        "To the day of the week with this number in the month; negative numbers count from its end.",
        " 2 DayOfWeek/MONDAY" => "\"2024-01-08\"";
};

/// `.withX`: name, field, types, doc, example.
macro_rules! withs {
    ($($name:literal $field:ident $types:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        &[$(native($name, "[temporal value]", |_, args| with_field(args, Field::$field, $types),
            $doc, &[($source, $shown)])),*]
    };
}

pub(super) static WITH: &[Builtin] = withs! {
    ".withYear" Year DATES, "The value with another year.",
        "(.withYear (LocalDate/of 2024 2 29) 2023)" => "\"2023-02-28\"";
    ".withMonth" MonthOfYear DATES, "The value with another month; the day is cut to its length.",
        "(.withMonth (LocalDate/of 2024 1 31) 4)" => "\"2024-04-30\"";
    ".withDayOfMonth" DayOfMonth DATES, "The value with another day of the month.",
        "(.withDayOfMonth (LocalDate/of 2024 1 31) 1)" => "\"2024-01-01\"";
    ".withDayOfYear" DayOfYear DATES, "The value with another day of the year.",
        "(.withDayOfYear (LocalDate/of 2024 1 31) 366)" => "\"2024-12-31\"";
    ".withHour" HourOfDay CLOCKS, "The value with another hour.",
        "(.withHour (LocalTime/of 10 15) 8)" => "\"08:15\"";
    ".withMinute" MinuteOfHour CLOCKS, "The value with another minute.",
        "(.withMinute (LocalTime/of 10 15) 0)" => "\"10:00\"";
    ".withSecond" SecondOfMinute CLOCKS, "The value with another second.",
        "(.withSecond (LocalTime/of 10 15) 30)" => "\"10:15:30\"";
    ".withNano" NanoOfSecond CLOCKS, "The value with another nanosecond.",
        "(.withNano (LocalTime/of 10 15) 0)" => "\"10:15\"";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".with",
        "[temporal adjuster] [temporal field value]",
        with,
        "The value adjusted: by a TemporalAdjuster, with another date or time in it, or with another field.",
        &[
            ("(.with (LocalDate/of 2024 1 31) (TemporalAdjusters/firstDayOfMonth))", "\"2024-01-01\""),
            ("(.with (LocalDate/of 2024 1 31) ChronoField/DAY_OF_WEEK 1)", "\"2024-01-29\""),
        ],
    ),
    native(
        ".adjustInto",
        "[adjuster temporal]",
        |heap, args| {
            args.swap(0, 1);
            with(heap, args)
        },
        "The value adjusted by a TemporalAdjuster.",
        &[("(.adjustInto (TemporalAdjusters/lastDayOfMonth) (LocalDate/of 2024 2 1))", "\"2024-02-29\"")],
    ),
    native(
        ".withZoneSameInstant",
        "[zoned zone]",
        |_, args| {
            let Time::Zoned(zoned) = receiver(args, "ZonedDateTime")? else {
                return Err(no_method(args, "ZonedDateTime"));
            };
            Ok(Value::time(Time::Zoned(zone(args, 1)?.at(zoned.instant()).into())))
        },
        "The same instant as clocks in another zone show it.",
        &[(
            "(.withZoneSameInstant (ZonedDateTime/parse \"2024-07-01T10:00Z\") (ZoneId/of \"Asia/Tokyo\"))",
            "\"2024-07-01T19:00+09:00[Asia/Tokyo]\"",
        )],
    ),
    native(
        ".withZoneSameLocal",
        "[zoned zone]",
        |_, args| {
            let Time::Zoned(zoned) = receiver(args, "ZonedDateTime")? else {
                return Err(no_method(args, "ZonedDateTime"));
            };
            let moved = zone(args, 1)?.resolve(zoned.local, Some(zoned.offset))?;
            Ok(Value::time(Time::Zoned(moved.into())))
        },
        "The same time on the clocks of another zone.",
        &[(
            "(.withZoneSameLocal (ZonedDateTime/parse \"2024-07-01T10:00Z\") (ZoneId/of \"Asia/Tokyo\"))",
            "\"2024-07-01T10:00+09:00[Asia/Tokyo]\"",
        )],
    ),
    native(
        ".atZoneSameInstant",
        "[offset-date-time zone]",
        |_, args| {
            let time @ Time::OffsetDateTime(..) = receiver(args, "OffsetDateTime")? else {
                return Err(no_method(args, "OffsetDateTime"));
            };
            Ok(Value::time(Time::Zoned(zone(args, 1)?.at(time.instant().unwrap_or_default()).into())))
        },
        "The same instant as clocks in a zone show it.",
        &[(
            "(.atZoneSameInstant (OffsetDateTime/parse \"2024-07-01T10:00Z\") (ZoneId/of \"Asia/Tokyo\"))",
            "\"2024-07-01T19:00+09:00[Asia/Tokyo]\"",
        )],
    ),
    native(
        ".atZoneSimilarLocal",
        "[offset-date-time zone]",
        |_, args| {
            let Time::OffsetDateTime(local, offset) = receiver(args, "OffsetDateTime")? else {
                return Err(no_method(args, "OffsetDateTime"));
            };
            let moved = zone(args, 1)?.resolve(*local, Some(*offset))?;
            Ok(Value::time(Time::Zoned(moved.into())))
        },
        "The same time on the clocks of a zone.",
        &[(
            "(.atZoneSimilarLocal (OffsetDateTime/parse \"2024-07-01T10:00Z\") (ZoneId/of \"Asia/Tokyo\"))",
            "\"2024-07-01T10:00+09:00[Asia/Tokyo]\"",
        )],
    ),
    native(
        ".withOffsetSameInstant",
        "[offset-date-time offset]",
        |_, args| {
            let Time::OffsetDateTime(..) = receiver(args, "OffsetDateTime")? else {
                return Err(no_method(args, "OffsetDateTime"));
            };
            let there = Zone::Fixed(offset(args, 1)?).at(receiver(args, "")?.instant().unwrap_or_default());
            Ok(Value::time(Time::OffsetDateTime(there.local, there.offset)))
        },
        "The same instant at another offset.",
        &[(
            "(.withOffsetSameInstant (OffsetDateTime/parse \"2024-07-01T10:00Z\") (ZoneOffset/ofHours 2))",
            "\"2024-07-01T12:00+02:00\"",
        )],
    ),
    native(
        ".withOffsetSameLocal",
        "[offset-date-time offset]",
        |_, args| {
            let Time::OffsetDateTime(local, _) = receiver(args, "OffsetDateTime")? else {
                return Err(no_method(args, "OffsetDateTime"));
            };
            let offset = offset(args, 1)?;
            checked_instant(*local, offset)?;
            Ok(Value::time(Time::OffsetDateTime(*local, offset)))
        },
        "The same time on the clock at another offset.",
        &[(
            "(.withOffsetSameLocal (OffsetDateTime/parse \"2024-07-01T10:00Z\") (ZoneOffset/ofHours 2))",
            "\"2024-07-01T10:00+02:00\"",
        )],
    ),
    native(
        ".withLaterOffsetAtOverlap",
        "[zoned]",
        later_offset,
        "Where clocks show a time twice, the later of the two.",
        &[(
            "(.withLaterOffsetAtOverlap (ZonedDateTime/parse \"2024-07-01T10:00Z\"))",
            "\"2024-07-01T10:00Z\"",
        )],
    ),
];

fn weekday(args: &[Value], at: usize) -> Res<Weekday> {
    let day = constant_of(args, at, Class::DayOfWeek);
    let day = day.and_then(|day| Weekday::from_monday_zero_offset(day.ordinal as i8).ok());
    day.ok_or_else(|| args::wrong(args, at, "a DayOfWeek such as DayOfWeek/MONDAY").into())
}

fn in_month(args: &[Value]) -> Res<Adjuster> {
    let nth = whole(args, 0)?;
    if !(-100..=100).contains(&nth) {
        return crate::signal::illegal("the ordinal must be between -100 and 100");
    }
    Ok(Adjuster::InMonth(nth, weekday(args, 1)?))
}

fn with_field(args: &[Value], field: Field, types: &str) -> Res {
    let time = receiver(args, types)?;
    let value = match (field, super::constant_of(args, 1, Class::Month)) {
        (Field::MonthOfYear, Some(month)) => i64::from(month.ordinal) + 1,
        _ => whole(args, 1)?,
    };
    Ok(Value::time(time.with_field(field, value)?))
}

fn with(_: &mut Heap, args: &mut [Value]) -> Res {
    let time = receiver(args, TEMPORALS)?;
    if args.len() == 3 {
        return Ok(Value::time(time.with_field(field(args, 1)?, whole(args, 2)?)?));
    }
    Ok(Value::time(match any_time(args, 1)? {
        Time::Adjuster(adjuster) => match time.date() {
            Some(date) => time.with_date(adjuster.adjust(date)?)?,
            None => return Err(no_method(args, DATES)),
        },
        Time::Date(date) => time.with_date(*date)?,
        Time::Clock(clock) => time.with_clock(*clock)?,
        Time::DateTime(local) => time.with_date(local.date())?.with_clock(local.time())?,
        Time::YearMonth(first) => {
            time.with_field(Field::ProlepticMonth, Field::ProlepticMonth.of_date(*first).unwrap_or(0))?
        }
        Time::Year(year) => time.with_field(Field::Year, i64::from(*year))?,
        other => match other.kind() {
            TimeKind::DayOfWeek => {
                time.with_field(Field::DayOfWeek, other.field(Field::DayOfWeek).unwrap_or(1))?
            }
            TimeKind::Month => {
                time.with_field(Field::MonthOfYear, other.field(Field::MonthOfYear).unwrap_or(1))?
            }
            _ => return args::fail(args, 1, "a TemporalAdjuster, date, time, DayOfWeek or Month"),
        },
    }))
}

fn later_offset(_: &mut Heap, args: &mut [Value]) -> Res {
    let Time::Zoned(zoned) = receiver(args, "ZonedDateTime")? else {
        return Err(no_method(args, "ZonedDateTime"));
    };
    // An hour later the later offset holds; resolving with it keeps the time on the clock.
    let hour = std::time::Duration::from_secs(3600);
    let after = zoned.instant().checked_add(hour).map(|instant| zoned.zone.offset_at(instant));
    let moved: ZonedTime = zoned.zone.resolve(zoned.local, after.ok())?;
    Ok(Value::time(Time::Zoned(moved.into())))
}
