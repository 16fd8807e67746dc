//! `DateTimeFormatter`: patterns and the predefined ISO formats, for writing and for reading.
//!
//! A formatter is a flat list of items; writing walks the list over the fields of a value, reading
//! walks it over text and collects fields, which are then resolved to a date, a time and a zone.

mod pattern;
mod predefined;
mod read;
mod resolve;
mod write;

use super::constant::TextWidth;
use super::{Field, TimeKind, Zone};
use crate::error::Error;

pub use resolve::Parsed;

/// A `DateTimeFormatter`.
#[derive(Clone, Debug)]
pub struct Formatter {
    /// The pattern, or the name of a predefined formatter.
    source: String,
    items: Vec<FormatItem>,
    /// Whether a day beyond the end of its month is refused when reading; patterns clamp it.
    strict: bool,
    /// Whether letters match in either case when reading, as the predefined formats do.
    ignore_case: bool,
    /// The zone set by `withZone`.
    zone: Option<Zone>,
    /// Whether it is a `SimpleDateFormat`, which works on `java.util.Date`.
    legacy: bool,
}

impl PartialEq for Formatter {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.zone == other.zone && self.legacy == other.legacy
    }
}

/// When a number is written with a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// Only if negative.
    Normal,
    /// If negative, or wider than its field.
    ExceedsPad,
    /// Never.
    Never,
}

/// One piece of a formatter.
#[derive(Clone, Debug, PartialEq)]
enum FormatItem {
    /// Text as it is.
    Literal(String),
    /// A number.
    Number { field: Field, min: u8, max: u8, sign: Sign },
    /// The last two digits of a year, 2000 to 2099.
    TwoDigitYear(Field),
    /// The fraction of a second; with a decimal point of its own or without.
    Fraction { min: u8, max: u8, point: bool },
    /// The English name of a field's value.
    Text(Field, TextWidth),
    /// `+HH:MM` in one of several shapes, and what stands for no offset.
    Offset { shape: OffsetShape, zero: &'static str },
    /// `GMT+1` or `GMT+01:00`.
    GmtOffset { full: bool },
    /// `Europe/Paris`
    ZoneId,
    /// `CET`
    ZoneName,
    /// A zone in brackets, present only if the value has a region.
    BracketedZone,
    /// An instant in UTC: `2024-01-01T00:00:00Z`.
    Instant,
    /// What follows may be missing, up to the matching end.
    OptionalStart,
    /// The end of an optional part.
    OptionalEnd,
}

/// Shapes of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetShape {
    /// `+HH`, minutes only if there are any: `+HHmm`.
    Hours,
    /// `+HHMM`
    Minutes,
    /// `+HH:MM`
    MinutesColon,
    /// `+HHMM`, seconds only if there are any.
    Seconds,
    /// `+HH:MM`, seconds only if there are any.
    SecondsColon,
}

impl Formatter {
    /// The pattern or name it was made from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let Formatter { source, items, strict: _, ignore_case: _, zone: _, legacy: _ } = self;
        // Zones are kept once per process.
        let texts = items.iter().map(|item| match item {
            FormatItem::Literal(text) => text.len(),
            FormatItem::Number { .. }
            | FormatItem::TwoDigitYear(_)
            | FormatItem::Fraction { .. }
            | FormatItem::Text(..)
            | FormatItem::Offset { .. }
            | FormatItem::GmtOffset { .. }
            | FormatItem::ZoneId
            | FormatItem::ZoneName
            | FormatItem::BracketedZone
            | FormatItem::Instant
            | FormatItem::OptionalStart
            | FormatItem::OptionalEnd => 0,
        });
        size_of::<Formatter>() + source.len() + size_of_val(items.as_slice()) + texts.sum::<usize>()
    }

    /// The zone that `withZone` gave it.
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// The same formatter with a zone: used for values and texts that have none.
    #[must_use]
    pub fn with_zone(mut self, zone: Zone) -> Formatter {
        self.zone = Some(zone);
        self
    }

    /// A `SimpleDateFormat`: the same letters, for `java.util.Date` in UTC.
    pub fn simple(pattern: &str) -> Result<Formatter, Error> {
        let formatter = Formatter::of_pattern(pattern)?;
        Ok(Formatter { zone: Some(Zone::UTC), legacy: true, ..formatter })
    }

    /// Whether it is a `SimpleDateFormat`.
    pub fn is_legacy(&self) -> bool {
        self.legacy
    }

    /// The formatter behind `Type/parse` without one.
    pub fn iso_for(kind: TimeKind) -> Formatter {
        let name = match kind {
            TimeKind::LocalDate => "ISO_LOCAL_DATE",
            TimeKind::LocalDateTime => "ISO_LOCAL_DATE_TIME",
            TimeKind::LocalTime => "ISO_LOCAL_TIME",
            TimeKind::Instant => "ISO_INSTANT",
            TimeKind::OffsetDateTime => "ISO_OFFSET_DATE_TIME",
            TimeKind::YearMonth => "YEAR_MONTH",
            TimeKind::Year => "YEAR",
            _ => "ISO_ZONED_DATE_TIME",
        };
        Formatter::predefined(name).unwrap_or_else(|| Formatter::literal(name))
    }

    /// Whether an offset of hours without minutes may be read.
    fn takes_hours(&self) -> bool {
        self.ignore_case && self.source != "INSTANT_TEXT"
    }

    fn literal(source: &str) -> Formatter {
        Formatter {
            source: source.into(),
            items: Vec::new(),
            strict: true,
            ignore_case: true,
            zone: None,
            legacy: false,
        }
    }
}
