//! The types of the Java-shaped surface, for dispatch and for messages.

use super::{Time, Zone};

/// The type of a [`Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
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

impl Kind {
    /// The simple class name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::LocalDate => "LocalDate",
            Kind::LocalDateTime => "LocalDateTime",
            Kind::LocalTime => "LocalTime",
            Kind::Instant => "Instant",
            Kind::ZonedDateTime => "ZonedDateTime",
            Kind::OffsetDateTime => "OffsetDateTime",
            Kind::Duration => "Duration",
            Kind::Period => "Period",
            Kind::YearMonth => "YearMonth",
            Kind::Year => "Year",
            Kind::ZoneId => "ZoneId",
            Kind::ZoneOffset => "ZoneOffset",
            Kind::DateTimeFormatter => "DateTimeFormatter",
            Kind::TemporalAdjuster => "TemporalAdjuster",
            Kind::DayOfWeek => "DayOfWeek",
            Kind::Month => "Month",
            Kind::ChronoUnit => "ChronoUnit",
            Kind::ChronoField => "ChronoField",
            Kind::RoundingMode => "RoundingMode",
            Kind::TextStyle => "TextStyle",
            Kind::FormatStyle => "FormatStyle",
            Kind::Locale => "Locale",
            Kind::WeekFields => "WeekFields",
            Kind::Base64 => "Base64",
            Kind::MessageDigest => "MessageDigest",
            Kind::NormalizerForm => "Normalizer$Form",
            Kind::Date => "Date",
            Kind::Uuid => "UUID",
            Kind::MathContext => "MathContext",
        }
    }
}

impl Time {
    /// Its type.
    pub fn kind(&self) -> Kind {
        match self {
            Time::Date(_) => Kind::LocalDate,
            Time::DateTime(_) => Kind::LocalDateTime,
            Time::Clock(_) => Kind::LocalTime,
            Time::Instant(_) => Kind::Instant,
            Time::Zoned(_) => Kind::ZonedDateTime,
            Time::OffsetDateTime(..) => Kind::OffsetDateTime,
            Time::Duration(_) => Kind::Duration,
            Time::Period(_) => Kind::Period,
            Time::YearMonth(_) => Kind::YearMonth,
            Time::Year(_) => Kind::Year,
            Time::Zone(Zone::Fixed(_)) => Kind::ZoneOffset,
            Time::Zone(Zone::Region(_)) => Kind::ZoneId,
            Time::Formatter(_) => Kind::DateTimeFormatter,
            Time::Adjuster(_) => Kind::TemporalAdjuster,
            Time::Constant(constant) => constant.class.kind(),
            Time::JavaDate(_) => Kind::Date,
            Time::Uuid(_) => Kind::Uuid,
            Time::MathContext(_) => Kind::MathContext,
        }
    }
}
