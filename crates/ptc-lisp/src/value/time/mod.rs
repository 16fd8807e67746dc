//! Dates, times and the other values behind the Java-shaped surface (`java.time`, `java.util`).
//!
//! The values are plain data over `jiff`'s civil types. Everything here is pure: arithmetic, fields
//! and text follow Java, and nothing reads a clock. Years run from -9999 to 9999.

mod arith;
mod constant;
mod convert;
mod difference;
mod field;
mod format;
mod kind;
mod parse_iso;
mod show;
mod unit;
mod wire;
mod zone;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use jiff::civil;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

pub use arith::{Adjuster, duration};
pub use constant::{Class, Constant};
pub use field::Field;
pub use format::{Formatter, Parsed};
pub use kind::TimeKind;
pub use unit::TimeUnit;
pub use zone::{Zone, ZonedTime, checked_instant, offset_of, parse_offset};

use crate::decimal::Context;
use crate::error::{Error, ErrorKind};

/// A value of the Java-shaped surface. Equality and order are by value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Time {
    /// `LocalDate`
    Date(civil::Date),
    /// `LocalDateTime`
    DateTime(civil::DateTime),
    /// `LocalTime`
    Clock(civil::Time),
    /// `Instant`
    Instant(Timestamp),
    /// `ZonedDateTime`
    Zoned(Box<ZonedTime>),
    /// `OffsetDateTime`
    OffsetDateTime(civil::DateTime, Offset),
    /// `Duration`
    Duration(SignedDuration),
    /// `Period`
    Period(Period),
    /// `YearMonth`, as the first day of the month
    YearMonth(civil::Date),
    /// `Year`
    Year(i16),
    /// `ZoneId` or `ZoneOffset`
    Zone(Zone),
    /// `DateTimeFormatter`
    Formatter(Box<Formatter>),
    /// `TemporalAdjuster`
    Adjuster(Adjuster),
    /// A constant of an enumeration: `DayOfWeek/MONDAY`, `ChronoUnit/DAYS`, …
    Constant(Constant),
    /// `java.util.Date`
    JavaDate(Timestamp),
    /// `java.util.UUID`
    Uuid(u128),
    /// `java.math.MathContext`
    MathContext(Context),
}

/// An amount of calendar time; the parts are independent, as in Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Period {
    /// Years.
    pub years: i32,
    /// Months; 14 months stay 14 months until normalised.
    pub months: i32,
    /// Days.
    pub days: i32,
}

impl Period {
    /// All months of years and months together.
    pub fn total_months(self) -> i64 {
        i64::from(self.years) * 12 + i64::from(self.months)
    }
}

pub(crate) const NANOS_PER_SECOND: i128 = 1_000_000_000;
pub(crate) const NANOS_PER_DAY: i128 = 86_400 * NANOS_PER_SECOND;

impl Time {
    /// The name of its type as messages use it.
    pub fn type_name(&self) -> &'static str {
        self.kind().name()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let behind = match self {
            Time::Formatter(formatter) => formatter.bytes(),
            Time::Zoned(zoned) => {
                let ZonedTime { local: _, offset: _, zone: _ } = &**zoned;
                size_of::<ZonedTime>()
            }
            // Rules of zones are kept once per process.
            Time::Zone(_)
            | Time::Date(_)
            | Time::DateTime(_)
            | Time::Clock(_)
            | Time::Instant(_)
            | Time::OffsetDateTime(..)
            | Time::Duration(_)
            | Time::Period(_)
            | Time::YearMonth(_)
            | Time::Year(_)
            | Time::Adjuster(_)
            | Time::Constant(_)
            | Time::JavaDate(_)
            | Time::Uuid(_)
            | Time::MathContext(_) => 0,
        };
        size_of::<Time>() + behind
    }

    /// A constant of an enumeration.
    pub fn constant(class: Class, ordinal: u8) -> Time {
        Time::Constant(Constant { class, ordinal })
    }

    /// A day of the week, Monday first.
    pub fn weekday(weekday: civil::Weekday) -> Time {
        Time::constant(Class::DayOfWeek, weekday.to_monday_zero_offset().unsigned_abs())
    }

    /// The order of two values of one type.
    pub fn compare(&self, other: &Time) -> Option<Ordering> {
        Some(match (self, other) {
            (Time::Date(a), Time::Date(b)) | (Time::YearMonth(a), Time::YearMonth(b)) => a.cmp(b),
            (Time::DateTime(a), Time::DateTime(b)) => a.cmp(b),
            (Time::Clock(a), Time::Clock(b)) => a.cmp(b),
            (Time::Instant(a), Time::Instant(b)) | (Time::JavaDate(a), Time::JavaDate(b)) => a.cmp(b),
            (Time::Zoned(a), Time::Zoned(b)) => {
                let by_local = || a.local.cmp(&b.local);
                a.instant().cmp(&b.instant()).then_with(by_local).then_with(|| a.zone.id().cmp(&b.zone.id()))
            }
            (Time::OffsetDateTime(a, ao), Time::OffsetDateTime(b, bo)) => {
                zone::local_instant(*a, *ao).cmp(&zone::local_instant(*b, *bo)).then_with(|| a.cmp(b))
            }
            (Time::Duration(a), Time::Duration(b)) => a.cmp(b),
            (Time::Year(a), Time::Year(b)) => a.cmp(b),
            // Java puts the larger offset first.
            (Time::Zone(Zone::Fixed(a)), Time::Zone(Zone::Fixed(b))) => b.cmp(a),
            (Time::Constant(a), Time::Constant(b)) if a.class == b.class => a.ordinal.cmp(&b.ordinal),
            (Time::Uuid(a), Time::Uuid(b)) => a.cmp(b),
            _ => return None,
        })
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Time::Date(date) | Time::YearMonth(date) => date.hash(state),
            Time::DateTime(local) => local.hash(state),
            Time::Clock(time) => time.hash(state),
            Time::Instant(instant) | Time::JavaDate(instant) => instant.hash(state),
            Time::Uuid(bits) => bits.hash(state),
            _ => self.to_string().hash(state),
        }
    }
}

/// The error for a result outside what can be represented.
pub fn out_of_range() -> Error {
    Error::new(ErrorKind::IllegalArgument, "the result is outside the supported years -9999 to 9999")
}

/// The error for something that has a valid form but no valid meaning.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::IllegalArgument, message)
}

/// Days since 1970-01-01.
pub fn epoch_day(date: civil::Date) -> i64 {
    date.duration_since(EPOCH).as_hours() / 24
}

/// The date this many days after 1970-01-01.
pub fn from_epoch_day(days: i64) -> Result<civil::Date, Error> {
    /// More than all supported years.
    const MOST: i64 = 5_000_000;
    if !(-MOST..=MOST).contains(&days) {
        return Err(out_of_range());
    }
    EPOCH.checked_add(SignedDuration::from_hours(days * 24)).map_err(|_| out_of_range())
}

pub(crate) const EPOCH: civil::Date = civil::Date::constant(1970, 1, 1);

/// Nanoseconds since midnight.
pub fn nano_of_day(time: civil::Time) -> i128 {
    let seconds = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    i128::from(seconds) * NANOS_PER_SECOND + i128::from(time.subsec_nanosecond())
}

/// The time of day this many nanoseconds after midnight, which wrap around.
pub fn clock_at(nanos: i128) -> civil::Time {
    let nanos = nanos.rem_euclid(NANOS_PER_DAY);
    let seconds = (nanos / NANOS_PER_SECOND) as i32;
    let part = |value: i32| i8::try_from(value).unwrap_or_default();
    civil::Time::new(
        part(seconds / 3600),
        part(seconds / 60 % 60),
        part(seconds % 60),
        (nanos % NANOS_PER_SECOND) as i32,
    )
    .unwrap_or(civil::Time::MIN)
}

/// A date and time as nanoseconds on a line without zones.
pub fn local_nanos(local: civil::DateTime) -> i128 {
    i128::from(epoch_day(local.date())) * NANOS_PER_DAY + nano_of_day(local.time())
}

/// The date and time at a point of the line of [`local_nanos`].
pub fn local_at(nanos: i128) -> Result<civil::DateTime, Error> {
    let days = i64::try_from(nanos.div_euclid(NANOS_PER_DAY)).map_err(|_| out_of_range())?;
    Ok(from_epoch_day(days)?.to_datetime(clock_at(nanos)))
}

/// The instant this many nanoseconds after 1970.
pub fn instant_at(nanos: i128) -> Result<Timestamp, Error> {
    Timestamp::from_nanosecond(nanos).map_err(|_| out_of_range())
}

/// A date from parts that may be out of range.
pub fn make_date(year: i64, month: i64, day: i64) -> Result<civil::Date, Error> {
    let year = in_range(year, -9999..=9999, "year")? as i16;
    let month = in_range(month, 1..=12, "month")? as i8;
    let day = in_range(day, 1..=31, "day of month")? as i8;
    civil::Date::new(year, month, day).map_err(|_| {
        let why = if day == 29 { format!(" because {year} is not a leap year") } else { String::new() };
        invalid(format!("{} {day} does not exist{why}", constant::MONTHS_FULL[month as usize - 1]))
    })
}

/// A time of day from parts that may be out of range.
pub fn make_clock(hour: i64, minute: i64, second: i64, nano: i64) -> Result<civil::Time, Error> {
    let hour = in_range(hour, 0..=23, "hour")? as i8;
    let minute = in_range(minute, 0..=59, "minute")? as i8;
    let second = in_range(second, 0..=59, "second")? as i8;
    let nano = in_range(nano, 0..=999_999_999, "nanosecond")? as i32;
    civil::Time::new(hour, minute, second, nano).map_err(|_| out_of_range())
}

/// `value` if it lies in `range`, else an error that names the part.
pub(crate) fn in_range(value: i64, range: std::ops::RangeInclusive<i64>, what: &str) -> Result<i64, Error> {
    if range.contains(&value) {
        return Ok(value);
    }
    Err(invalid(format!("{what} must be {} to {}, got {value}", range.start(), range.end())))
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
