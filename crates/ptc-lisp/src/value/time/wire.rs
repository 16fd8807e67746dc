//! Values as one line of text that reads back: what a saved machine keeps of them.

use super::show::adjuster_text;
use super::{Adjuster, Class, Formatter, Time, TimeKind, Zone, instant_at};
use crate::decimal::{Context, Rounding};

const CLASSES: [Class; 12] = [
    Class::DayOfWeek,
    Class::Month,
    Class::ChronoUnit,
    Class::ChronoField,
    Class::RoundingMode,
    Class::TextStyle,
    Class::FormatStyle,
    Class::Locale,
    Class::WeekFields,
    Class::Base64,
    Class::MessageDigest,
    Class::NormalizerForm,
];

/// The types whose own text reads back.
const PLAIN: [TimeKind; 11] = [
    TimeKind::LocalDate,
    TimeKind::LocalDateTime,
    TimeKind::LocalTime,
    TimeKind::Instant,
    TimeKind::ZonedDateTime,
    TimeKind::OffsetDateTime,
    TimeKind::Duration,
    TimeKind::Period,
    TimeKind::YearMonth,
    TimeKind::ZoneId,
    TimeKind::Uuid,
];

impl Time {
    /// The type's name, a space, and text that [`Time::from_wire`] reads.
    pub fn to_wire(&self) -> String {
        let name = self.type_name();
        match self {
            Time::Constant(constant) => format!("{name} {}", constant.name()),
            Time::Adjuster(adjuster) => format!("{name} {}", adjuster_text(*adjuster)),
            Time::JavaDate(instant) => format!("{name} {}", instant.as_nanosecond()),
            Time::Formatter(formatter) => {
                let zone = formatter.zone().map_or_else(|| "-".to_owned(), |zone| format!("@{}", zone.id()));
                let kind = if formatter.is_legacy() { "S" } else { "D" };
                format!("{name} {kind} {zone} {}", formatter.source())
            }
            _ => format!("{name} {self}"),
        }
    }

    /// Reads what [`Time::to_wire`] wrote.
    pub fn from_wire(line: &str) -> Option<Time> {
        let (name, text) = line.split_once(' ')?;
        if let Some(class) = CLASSES.iter().find(|class| class.kind().name() == name) {
            return class.constant(text).map(Time::Constant);
        }
        if let Some(kind) = PLAIN.iter().find(|kind| kind.name() == name) {
            return Time::parse(text, *kind).ok();
        }
        match name {
            "ZoneOffset" => super::parse_offset(text).ok().map(|offset| Time::Zone(Zone::Fixed(offset))),
            "Year" => text.parse().ok().map(Time::Year),
            "Date" => instant_at(text.parse().ok()?).ok().map(Time::JavaDate),
            "MathContext" => read_context(text).map(Time::MathContext),
            "TemporalAdjuster" => read_adjuster(text).map(Time::Adjuster),
            "DateTimeFormatter" => read_formatter(text).map(|made| Time::Formatter(made.into())),
            _ => None,
        }
    }
}

/// `precision=3 roundingMode=HALF_UP`
fn read_context(text: &str) -> Option<Context> {
    let (precision, mode) = text.strip_prefix("precision=")?.split_once(" roundingMode=")?;
    let mode = Class::RoundingMode.constant(mode)?;
    Some(Context { precision: precision.parse().ok()?, rounding: Rounding::at(mode.ordinal)? })
}

fn read_adjuster(text: &str) -> Option<Adjuster> {
    let mut words = text.split(' ');
    let name = words.next()?;
    let last = words.next_back().unwrap_or_default();
    let weekday = || {
        let day = Class::DayOfWeek.constant(last)?;
        jiff::civil::Weekday::from_monday_zero_offset(day.ordinal as i8).ok()
    };
    Some(match name {
        "firstDayOfMonth" => Adjuster::FirstDayOfMonth,
        "lastDayOfMonth" => Adjuster::LastDayOfMonth,
        "firstDayOfNextMonth" => Adjuster::FirstDayOfNextMonth,
        "firstDayOfYear" => Adjuster::FirstDayOfYear,
        "lastDayOfYear" => Adjuster::LastDayOfYear,
        "firstDayOfNextYear" => Adjuster::FirstDayOfNextYear,
        "next" => Adjuster::Next(weekday()?),
        "nextOrSame" => Adjuster::NextOrSame(weekday()?),
        "previous" => Adjuster::Previous(weekday()?),
        "previousOrSame" => Adjuster::PreviousOrSame(weekday()?),
        "dayOfWeekInMonth" => Adjuster::InMonth(words.next()?.parse().ok()?, weekday()?),
        _ => return None,
    })
}

fn read_formatter(text: &str) -> Option<Formatter> {
    let mut parts = text.splitn(3, ' ');
    let (kind, zone, source) = (parts.next()?, parts.next()?, parts.next()?);
    let made = match kind {
        "S" => Formatter::simple(source).ok()?,
        _ => Formatter::predefined(source).or_else(|| Formatter::of_pattern(source).ok())?,
    };
    match zone.strip_prefix('@') {
        Some(id) => Some(made.with_zone(Zone::parse(id).ok()?)),
        None => Some(made),
    }
}
