//! `java.time`: dates, times, zones, durations and formats.
//!
//! The values and what Java says about them are in `value::time`; here they get their names. The only
//! clock is the one given to the program, and it does not move while the program runs.

mod adjusting;
mod amounts;
mod constants;
mod conversions;
mod formatters;
mod getters;
mod local;
mod months;
mod moving;
mod zoned;

use jiff::Timestamp;

use super::java_lang::{no_method, whole, with_article};
use super::{Builtin, args};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Constant, Field, TimeKind, TimeUnit, Zone};
use crate::value::{Time, Value};

pub(super) use amounts::abs;
pub(super) use formatters::formatter_value;
pub(super) use getters::{get, get_value, length};

pub(super) static TABLES: &[&[Builtin]] = &[
    adjusting::ADJUSTERS,
    adjusting::WITH,
    adjusting::TABLE,
    amounts::STATICS,
    amounts::PARTS,
    amounts::TABLE,
    constants::DAYS,
    constants::MONTHS,
    constants::UNITS,
    constants::FIELDS,
    constants::STYLES,
    constants::ENUMERATIONS,
    constants::TABLE,
    conversions::TABLE,
    formatters::PREDEFINED,
    formatters::TABLE,
    getters::FIELDS,
    getters::TABLE,
    local::DATES,
    local::DATE_TIMES,
    local::CLOCKS,
    months::TABLE,
    moving::PLUS,
    moving::TABLE,
    zoned::INSTANTS,
    zoned::ZONED,
    zoned::ZONES,
];

/// The types that have a date in them.
const DATES: &str = "LocalDate, LocalDateTime, ZonedDateTime or OffsetDateTime";
/// The types that have a time of day in them.
const CLOCKS: &str = "LocalTime, LocalDateTime, ZonedDateTime or OffsetDateTime";
/// The types that can be moved in time.
const TEMPORALS: &str =
    "LocalDate, LocalDateTime, LocalTime, Instant, ZonedDateTime, OffsetDateTime, YearMonth or Year";

/// The date or time that a method is called on.
fn receiver<'a>(args: &'a [Value], types: &str) -> Res<&'a Time> {
    match &args[0] {
        Value::Time(time) => Ok(time),
        _ => Err(no_method(args, types)),
    }
}

/// An argument of a type.
fn wanted(args: &[Value], at: usize, kind: TimeKind) -> Res<&Time> {
    match args.get(at) {
        Some(Value::Time(time)) if time.kind() == kind => Ok(time),
        _ => Err(args::wrong(args, at, &with_article(kind.name())).into()),
    }
}

/// Any date, time or amount.
fn any_time(args: &[Value], at: usize) -> Res<&Time> {
    match args.get(at) {
        Some(Value::Time(time)) => Ok(time),
        _ => Err(args::wrong(args, at, "a date or time").into()),
    }
}

/// A zone argument: a `ZoneId` or `ZoneOffset`.
fn zone(args: &[Value], at: usize) -> Res<Zone> {
    match args.get(at) {
        Some(Value::Time(time)) => match &**time {
            Time::Zone(zone) => Ok(zone.clone()),
            _ => args::fail(args, at, "a ZoneId such as (ZoneId/of \"UTC\")"),
        },
        _ => args::fail(args, at, "a ZoneId such as (ZoneId/of \"UTC\")"),
    }
}

fn offset(args: &[Value], at: usize) -> Res<jiff::tz::Offset> {
    match zone(args, at)? {
        Zone::Fixed(offset) => Ok(offset),
        Zone::Region(_) => args::fail(args, at, "a ZoneOffset such as ZoneOffset/UTC"),
    }
}

/// A constant of an enumeration.
fn constant_of(args: &[Value], at: usize, class: Class) -> Option<Constant> {
    match args.get(at) {
        Some(Value::Time(time)) => match **time {
            Time::Constant(constant) if constant.class == class => Some(constant),
            _ => None,
        },
        _ => None,
    }
}

fn unit(args: &[Value], at: usize) -> Res<TimeUnit> {
    match constant_of(args, at, Class::ChronoUnit) {
        Some(constant) => Ok(TimeUnit::ALL[usize::from(constant.ordinal)]),
        None => args::fail(args, at, "a ChronoUnit such as ChronoUnit/DAYS"),
    }
}

fn field(args: &[Value], at: usize) -> Res<Field> {
    match constant_of(args, at, Class::ChronoField) {
        Some(constant) => Ok(Field::ALL[usize::from(constant.ordinal)]),
        None => args::fail(args, at, "a ChronoField such as ChronoField/DAY_OF_MONTH"),
    }
}

/// A month by number or as a `Month`.
fn month(args: &[Value], at: usize) -> Res<i64> {
    match constant_of(args, at, Class::Month) {
        Some(constant) => Ok(i64::from(constant.ordinal) + 1),
        None => whole(args, at),
    }
}

/// The instant that the program's clock shows.
fn now(heap: &Heap) -> Timestamp {
    Timestamp::from_millisecond(heap.now_ms).unwrap_or_default()
}

/// What the clock shows in the zone of the first argument, or in UTC.
fn now_as(heap: &Heap, args: &[Value], kind: TimeKind) -> Res {
    let zone = if args.is_empty() { Zone::UTC } else { zone(args, 0)? };
    let zoned = Time::Zoned(zone.at(now(heap)).into());
    Ok(zoned.to_kind(kind).map_or(Value::Nil, Value::time))
}

/// `Type/parse`: ISO text, or text that follows a formatter.
fn parse(heap: &mut Heap, args: &[Value], kind: TimeKind) -> Res {
    let text = args::text(args, 0)?;
    heap.work(8 + text.len())?;
    if args.len() == 1 {
        return Ok(Value::time(Time::parse(text, kind)?));
    }
    match wanted(args, 1, TimeKind::DateTimeFormatter)? {
        Time::Formatter(formatter) => Ok(Value::time(formatter.parse(text)?.to_kind(kind)?)),
        _ => args::fail(args, 1, "a DateTimeFormatter"),
    }
}

/// `Type/from`: another value as this type.
fn from(args: &[Value], kind: TimeKind) -> Res {
    let time = any_time(args, 0)?;
    match time.to_kind(kind) {
        Some(converted) => Ok(Value::time(converted)),
        None => crate::signal::type_error(format!(
            "a {} does not hold what a {} needs",
            time.type_name(),
            kind.name()
        )),
    }
}
