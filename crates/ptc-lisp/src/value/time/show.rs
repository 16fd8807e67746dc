//! Values as text, exactly as Java's `toString` writes them.

use std::fmt;

use jiff::civil::{Date, Time as Clock};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use super::constant::TextWidth;
use super::zone::offset_id;
use super::{Adjuster, Class, Constant, Period, Time, Zone};

impl Time {
    /// The text that `pr-str` shows.
    pub fn readable(&self) -> String {
        match self {
            Time::Uuid(_) => format!("#uuid \"{self}\""),
            Time::JavaDate(instant) => {
                let local = Offset::UTC.to_datetime(*instant);
                let millis = instant.as_nanosecond().rem_euclid(1_000_000_000) / 1_000_000;
                let (date, time) = (local.date(), local.time());
                let clock = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
                format!("#inst \"{}T{clock}.{millis:03}-00:00\"", date_text(date))
            }
            _ => format!("\"{self}\""),
        }
    }

    /// The text in JSON: that of `str`, and for a `java.util.Date`, which `str` shows as people say it, that of its instant.
    pub fn json_text(&self) -> String {
        match self {
            Time::JavaDate(instant) => instant_text(*instant),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Time::Date(date) => f.write_str(&date_text(*date)),
            Time::DateTime(local) => write!(f, "{}T{}", date_text(local.date()), clock_text(local.time())),
            Time::Clock(time) => f.write_str(&clock_text(*time)),
            Time::Instant(instant) => f.write_str(&instant_text(*instant)),
            Time::Zoned(zoned) => {
                let (date, time) = (date_text(zoned.local.date()), clock_text(zoned.local.time()));
                write!(f, "{date}T{time}{}", offset_id(zoned.offset))?;
                match &zoned.zone {
                    Zone::Fixed(_) => Ok(()),
                    Zone::Region(_) => write!(f, "[{}]", zoned.zone.id()),
                }
            }
            Time::OffsetDateTime(local, offset) => {
                let (date, time) = (date_text(local.date()), clock_text(local.time()));
                write!(f, "{date}T{time}{}", offset_id(*offset))
            }
            Time::Duration(length) => f.write_str(&duration_text(*length)),
            Time::Period(period) => f.write_str(&period_text(*period)),
            Time::YearMonth(first) => {
                write!(f, "{}-{:02}", year_text(i64::from(first.year())), first.month())
            }
            Time::Year(year) => write!(f, "{year}"),
            Time::Zone(zone) => f.write_str(&zone.id()),
            Time::Formatter(formatter) => {
                let class = if formatter.is_legacy() { "SimpleDateFormat" } else { "DateTimeFormatter" };
                write!(f, "{class}[{}]", formatter.source())
            }
            Time::Adjuster(adjuster) => write!(f, "TemporalAdjuster[{}]", adjuster_text(*adjuster)),
            Time::Constant(constant) => f.write_str(&constant.text()),
            Time::JavaDate(instant) => f.write_str(&java_date_text(*instant)),
            Time::MathContext(context) => {
                let mode = Constant { class: Class::RoundingMode, ordinal: context.rounding as u8 };
                write!(f, "precision={} roundingMode={}", context.precision, mode.name())
            }
            Time::Uuid(value) => {
                let hex = format!("{value:032x}");
                write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
            }
        }
    }
}

/// A year with at least four digits.
pub(super) fn year_text(year: i64) -> String {
    if year < 0 { format!("-{:04}", -year) } else { format!("{year:04}") }
}

/// `2024-01-05`
pub(super) fn date_text(date: Date) -> String {
    format!("{}-{:02}-{:02}", year_text(i64::from(date.year())), date.month(), date.day())
}

/// `10:15`, `10:15:30`, `10:15:30.250`: seconds and their parts only if there are any.
fn clock_text(time: Clock) -> String {
    let mut text = format!("{:02}:{:02}", time.hour(), time.minute());
    let nanos = time.subsec_nanosecond();
    if time.second() != 0 || nanos != 0 {
        text += &format!(":{:02}{}", time.second(), grouped_fraction(nanos));
    }
    text
}

/// `2024-01-01T00:00:00Z`
pub(super) fn instant_text(instant: Timestamp) -> String {
    let local = Offset::UTC.to_datetime(instant);
    let time = local.time();
    let clock = format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second());
    format!("{}T{clock}{}Z", date_text(local.date()), grouped_fraction(time.subsec_nanosecond()))
}

/// The fraction of a second in as few groups of three digits as hold it.
fn grouped_fraction(nanos: i32) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
        _ if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
        _ => format!(".{nanos:09}"),
    }
}

/// `PT26H30M0.5S`
fn duration_text(length: SignedDuration) -> String {
    if length.is_zero() {
        return "PT0S".into();
    }
    let (total, nanos) = (length.as_secs(), length.subsec_nanos());
    let (hours, minutes, seconds) = (total / 3600, total % 3600 / 60, total % 60);
    let mut text = String::from("PT");
    if hours != 0 {
        text += &format!("{hours}H");
    }
    if minutes != 0 {
        text += &format!("{minutes}M");
    }
    if seconds == 0 && nanos == 0 {
        return text;
    }
    if seconds == 0 && nanos < 0 {
        text.push('-');
    }
    text += &seconds.to_string();
    if nanos != 0 {
        let digits = format!("{:09}", nanos.abs());
        text += &format!(".{}", digits.trim_end_matches('0'));
    }
    text + "S"
}

/// `P1Y2M3D`
fn period_text(period: Period) -> String {
    let part = |value: i32, unit: char| if value == 0 { String::new() } else { format!("{value}{unit}") };
    let text = part(period.years, 'Y') + &part(period.months, 'M') + &part(period.days, 'D');
    if text.is_empty() { "P0D".into() } else { format!("P{text}") }
}

/// `Mon Jan 01 00:00:00 UTC 2024`
fn java_date_text(instant: Timestamp) -> String {
    let local = Offset::UTC.to_datetime(instant);
    let text = |name: Time| match name {
        Time::Constant(constant) => constant.display_name(TextWidth::Short).unwrap_or_default(),
        _ => "",
    };
    let (day, month) = (text(Time::weekday(local.weekday())), text(Time::month(local.month())));
    let clock = format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second());
    format!("{day} {month} {:02} {clock} UTC {}", local.day(), local.year())
}

/// How an adjuster was made.
pub(super) fn adjuster_text(adjuster: Adjuster) -> String {
    let named = |name: &str, day: jiff::civil::Weekday| format!("{name} {}", Time::weekday(day));
    match adjuster {
        Adjuster::FirstDayOfMonth => "firstDayOfMonth".into(),
        Adjuster::LastDayOfMonth => "lastDayOfMonth".into(),
        Adjuster::FirstDayOfNextMonth => "firstDayOfNextMonth".into(),
        Adjuster::FirstDayOfYear => "firstDayOfYear".into(),
        Adjuster::LastDayOfYear => "lastDayOfYear".into(),
        Adjuster::FirstDayOfNextYear => "firstDayOfNextYear".into(),
        Adjuster::Next(day) => named("next", day),
        Adjuster::NextOrSame(day) => named("nextOrSame", day),
        Adjuster::Previous(day) => named("previous", day),
        Adjuster::PreviousOrSame(day) => named("previousOrSame", day),
        Adjuster::InMonth(nth, day) => named(&format!("dayOfWeekInMonth {nth}"), day),
    }
}
