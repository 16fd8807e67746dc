//! Units of time (`ChronoUnit`).

use super::{NANOS_PER_DAY, NANOS_PER_SECOND};

/// A unit; the order is that of Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum TimeUnit {
    Nanos,
    Micros,
    Millis,
    Seconds,
    Minutes,
    Hours,
    HalfDays,
    Days,
    Weeks,
    Months,
    Years,
    Decades,
    Centuries,
    Millennia,
}

/// What a unit is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Exact time.
    Nanos(i128),
    /// Calendar days.
    Days(i64),
    /// Calendar months.
    Months(i64),
}

impl TimeUnit {
    /// All units in order.
    pub const ALL: [TimeUnit; 14] = [
        TimeUnit::Nanos,
        TimeUnit::Micros,
        TimeUnit::Millis,
        TimeUnit::Seconds,
        TimeUnit::Minutes,
        TimeUnit::Hours,
        TimeUnit::HalfDays,
        TimeUnit::Days,
        TimeUnit::Weeks,
        TimeUnit::Months,
        TimeUnit::Years,
        TimeUnit::Decades,
        TimeUnit::Centuries,
        TimeUnit::Millennia,
    ];

    /// Their names in source.
    pub const NAMES: &'static [&'static str] = &[
        "NANOS",
        "MICROS",
        "MILLIS",
        "SECONDS",
        "MINUTES",
        "HOURS",
        "HALF_DAYS",
        "DAYS",
        "WEEKS",
        "MONTHS",
        "YEARS",
        "DECADES",
        "CENTURIES",
        "MILLENNIA",
    ];

    /// Its name in source.
    pub fn name(self) -> &'static str {
        TimeUnit::NAMES[self as usize]
    }

    /// What it is counted in.
    pub fn scale(self) -> Scale {
        match self {
            TimeUnit::Nanos => Scale::Nanos(1),
            TimeUnit::Micros => Scale::Nanos(1_000),
            TimeUnit::Millis => Scale::Nanos(1_000_000),
            TimeUnit::Seconds => Scale::Nanos(NANOS_PER_SECOND),
            TimeUnit::Minutes => Scale::Nanos(60 * NANOS_PER_SECOND),
            TimeUnit::Hours => Scale::Nanos(3600 * NANOS_PER_SECOND),
            TimeUnit::HalfDays => Scale::Nanos(NANOS_PER_DAY / 2),
            TimeUnit::Days => Scale::Days(1),
            TimeUnit::Weeks => Scale::Days(7),
            TimeUnit::Months => Scale::Months(1),
            TimeUnit::Years => Scale::Months(12),
            TimeUnit::Decades => Scale::Months(120),
            TimeUnit::Centuries => Scale::Months(1_200),
            TimeUnit::Millennia => Scale::Months(12_000),
        }
    }

    /// Its length where a day always has 24 hours; nothing for months and longer.
    pub fn nanos(self) -> Option<i128> {
        match self.scale() {
            Scale::Nanos(nanos) => Some(nanos),
            Scale::Days(days) => Some(i128::from(days) * NANOS_PER_DAY),
            Scale::Months(_) => None,
        }
    }
}
