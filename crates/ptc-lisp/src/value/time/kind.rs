//! The types of the Java-shaped surface, for dispatch and for messages.

use super::{Time, Zone};

/// The type of a [`Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TimeKind {
    LocalDate,
    LocalDateTime,
    LocalTime,
    Instant,
    ZonedDateTime,
    OffsetDateTime,
    Duration,
    Period,
    YearMonth,
    Year,
    ZoneId,
    ZoneOffset,
    DateTimeFormatter,
    TemporalAdjuster,
    DayOfWeek,
    Month,
    ChronoUnit,
    ChronoField,
    RoundingMode,
    TextStyle,
    FormatStyle,
    Locale,
    WeekFields,
    Base64,
    MessageDigest,
    NormalizerForm,
    Date,
    Uuid,
    MathContext,
}

impl TimeKind {
    /// The simple class name.
    pub fn name(self) -> &'static str {
        match self {
            TimeKind::LocalDate => "LocalDate",
            TimeKind::LocalDateTime => "LocalDateTime",
            TimeKind::LocalTime => "LocalTime",
            TimeKind::Instant => "Instant",
            TimeKind::ZonedDateTime => "ZonedDateTime",
            TimeKind::OffsetDateTime => "OffsetDateTime",
            TimeKind::Duration => "Duration",
            TimeKind::Period => "Period",
            TimeKind::YearMonth => "YearMonth",
            TimeKind::Year => "Year",
            TimeKind::ZoneId => "ZoneId",
            TimeKind::ZoneOffset => "ZoneOffset",
            TimeKind::DateTimeFormatter => "DateTimeFormatter",
            TimeKind::TemporalAdjuster => "TemporalAdjuster",
            TimeKind::DayOfWeek => "DayOfWeek",
            TimeKind::Month => "Month",
            TimeKind::ChronoUnit => "ChronoUnit",
            TimeKind::ChronoField => "ChronoField",
            TimeKind::RoundingMode => "RoundingMode",
            TimeKind::TextStyle => "TextStyle",
            TimeKind::FormatStyle => "FormatStyle",
            TimeKind::Locale => "Locale",
            TimeKind::WeekFields => "WeekFields",
            TimeKind::Base64 => "Base64",
            TimeKind::MessageDigest => "MessageDigest",
            TimeKind::NormalizerForm => "Normalizer$Form",
            TimeKind::Date => "Date",
            TimeKind::Uuid => "UUID",
            TimeKind::MathContext => "MathContext",
        }
    }
}

impl Time {
    /// Its type.
    pub fn kind(&self) -> TimeKind {
        match self {
            Time::Date(_) => TimeKind::LocalDate,
            Time::DateTime(_) => TimeKind::LocalDateTime,
            Time::Clock(_) => TimeKind::LocalTime,
            Time::Instant(_) => TimeKind::Instant,
            Time::Zoned(_) => TimeKind::ZonedDateTime,
            Time::OffsetDateTime(..) => TimeKind::OffsetDateTime,
            Time::Duration(_) => TimeKind::Duration,
            Time::Period(_) => TimeKind::Period,
            Time::YearMonth(_) => TimeKind::YearMonth,
            Time::Year(_) => TimeKind::Year,
            Time::Zone(Zone::Fixed(_)) => TimeKind::ZoneOffset,
            Time::Zone(Zone::Region(_)) => TimeKind::ZoneId,
            Time::Formatter(_) => TimeKind::DateTimeFormatter,
            Time::Adjuster(_) => TimeKind::TemporalAdjuster,
            Time::Constant(constant) => constant.class.kind(),
            Time::JavaDate(_) => TimeKind::Date,
            Time::Uuid(_) => TimeKind::Uuid,
            Time::MathContext(_) => TimeKind::MathContext,
        }
    }
}
