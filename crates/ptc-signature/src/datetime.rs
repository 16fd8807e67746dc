//! Points in time as text: ISO 8601 with an offset, brought to UTC.

use jiff::Timestamp;
use jiff::fmt::temporal::{Pieces, PiecesOffset};

/// A point in time read from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Utc {
    /// The same instant in UTC, ending in `Z`.
    pub text: String,
    /// Whether the text had an offset other than zero.
    pub shifted: bool,
}

/// Why a text is no point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInstant {
    /// A date and time, but without saying where.
    NoOffset,
    /// No date and time at all.
    Unreadable,
}

/// Reads ISO 8601 with an offset (`2026-01-31T12:00:00Z`, `…+02:00`).
pub fn to_utc(text: &str) -> Result<Utc, NotInstant> {
    // Cheap refusal first: every instant starts with a year and holds a time.
    if text.len() < 11 || !text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') {
        return Err(NotInstant::Unreadable);
    }
    let pieces = Pieces::parse(text).map_err(|_| NotInstant::Unreadable)?;
    if pieces.time().is_none() {
        return Err(NotInstant::Unreadable);
    }
    let shifted = match pieces.offset() {
        None => return Err(NotInstant::NoOffset),
        Some(PiecesOffset::Numeric(offset)) => offset.offset().seconds() != 0,
        Some(_) => false,
    };
    let instant: Timestamp = text.parse().map_err(|_| NotInstant::Unreadable)?;
    Ok(Utc { text: instant.to_string(), shifted })
}
