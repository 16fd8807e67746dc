//! Dates, times and the other values behind the Java-shaped surface (`java.time`, `java.util.UUID`).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use jiff::civil;
use jiff::{SignedDuration, Timestamp, Zoned};

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
    Zoned(Box<Zoned>),
    /// `Duration`
    Duration(SignedDuration),
    /// `java.util.Date`
    JavaDate(Timestamp),
    /// `java.util.UUID`
    Uuid(u128),
}

impl Time {
    /// The name of its type as messages use it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Time::Date(_) => "LocalDate",
            Time::DateTime(_) => "LocalDateTime",
            Time::Clock(_) => "LocalTime",
            Time::Instant(_) => "Instant",
            Time::Zoned(_) => "ZonedDateTime",
            Time::Duration(_) => "Duration",
            Time::JavaDate(_) => "Date",
            Time::Uuid(_) => "UUID",
        }
    }

    /// The order of two values of one type.
    pub fn compare(&self, other: &Time) -> Option<Ordering> {
        Some(match (self, other) {
            (Time::Date(a), Time::Date(b)) => a.cmp(b),
            (Time::DateTime(a), Time::DateTime(b)) => a.cmp(b),
            (Time::Clock(a), Time::Clock(b)) => a.cmp(b),
            (Time::Instant(a), Time::Instant(b)) | (Time::JavaDate(a), Time::JavaDate(b)) => a.cmp(b),
            (Time::Zoned(a), Time::Zoned(b)) => a.cmp(b),
            (Time::Duration(a), Time::Duration(b)) => a.cmp(b),
            (Time::Uuid(a), Time::Uuid(b)) => a.cmp(b),
            _ => return None,
        })
    }

    /// The text that `pr-str` shows.
    pub fn readable(&self) -> String {
        match self {
            Time::Uuid(_) => format!("#uuid \"{self}\""),
            Time::JavaDate(_) => format!("#inst \"{self}\""),
            _ => format!("\"{self}\""),
        }
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Time::Date(value) => write!(f, "{value}"),
            Time::DateTime(value) => write!(f, "{value}"),
            Time::Clock(value) => write!(f, "{value}"),
            Time::Instant(value) | Time::JavaDate(value) => write!(f, "{value}"),
            Time::Zoned(value) => write!(f, "{value}"),
            Time::Duration(value) => write!(f, "{value}"),
            Time::Uuid(value) => {
                let hex = format!("{value:032x}");
                write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
            }
        }
    }
}
