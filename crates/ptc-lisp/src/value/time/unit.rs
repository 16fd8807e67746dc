//! Units of time (`ChronoUnit`).

use super::{NANOS_PER_DAY, NANOS_PER_SECOND};

/// A unit; the order is that of Java.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Unit {
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

impl Unit {
    /// All units in order.
    pub const ALL: [Unit; 14] = [
        Unit::Nanos,
        Unit::Micros,
        Unit::Millis,
        Unit::Seconds,
        Unit::Minutes,
        Unit::Hours,
        Unit::HalfDays,
        Unit::Days,
        Unit::Weeks,
        Unit::Months,
        Unit::Years,
        Unit::Decades,
        Unit::Centuries,
        Unit::Millennia,
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
        Unit::NAMES[self as usize]
    }

    /// What it is counted in.
    pub fn scale(self) -> Scale {
        match self {
            Unit::Nanos => Scale::Nanos(1),
            Unit::Micros => Scale::Nanos(1_000),
            Unit::Millis => Scale::Nanos(1_000_000),
            Unit::Seconds => Scale::Nanos(NANOS_PER_SECOND),
            Unit::Minutes => Scale::Nanos(60 * NANOS_PER_SECOND),
            Unit::Hours => Scale::Nanos(3600 * NANOS_PER_SECOND),
            Unit::HalfDays => Scale::Nanos(NANOS_PER_DAY / 2),
            Unit::Days => Scale::Days(1),
            Unit::Weeks => Scale::Days(7),
            Unit::Months => Scale::Months(1),
            Unit::Years => Scale::Months(12),
            Unit::Decades => Scale::Months(120),
            Unit::Centuries => Scale::Months(1_200),
            Unit::Millennia => Scale::Months(12_000),
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
