//! Time zones, offsets, and the date-times that carry them.

use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use super::{invalid, local_at, local_nanos, out_of_range};
use crate::error::{Error, ErrorKind, excerpt};

/// A `ZoneId`: a fixed offset or a region with its rules.
#[derive(Clone, Debug, PartialEq)]
pub enum Zone {
    /// `+01:00`
    Fixed(Offset),
    /// `Europe/Paris`
    Region(TimeZone),
}

/// A `ZonedDateTime`.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonedTime {
    /// The date and time on the wall.
    pub local: DateTime,
    /// The offset that holds there.
    pub offset: Offset,
    /// The zone.
    pub zone: Zone,
}

/// The time zones shipped with the program: what the machine it runs on has installed plays no part.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Java's short zone names that `ZoneId/of` does not know, with what was meant.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("EST", "America/New_York"),
    ("PST", "America/Los_Angeles"),
    ("CST", "America/Chicago"),
    ("MST", "America/Denver"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
];

impl Zone {
    /// UTC as an offset.
    pub const UTC: Zone = Zone::Fixed(Offset::UTC);

    /// `ZoneId/of`: `Z`, `+02:00`, `UTC+2`, `UTC`, `Europe/Paris`.
    pub fn parse(text: &str) -> Result<Zone, Error> {
        if text == "Z" {
            return Ok(Zone::UTC);
        }
        if text.starts_with(['+', '-']) {
            return parse_offset(text).map(Zone::Fixed);
        }
        for prefix in ["UTC", "GMT", "UT"] {
            match text.strip_prefix(prefix) {
                Some(rest) if rest.starts_with(['+', '-']) => return parse_offset(rest).map(Zone::Fixed),
                _ => {}
            }
        }
        let found = ZONES.get(text).map(Zone::Region);
        found.map_err(|_| {
            let meant =
                SHORT_NAMES.iter().find(|(short, _)| *short == text).map_or("Europe/Paris", |pair| pair.1);
            Error::new(ErrorKind::IllegalArgument, format!("unknown time zone {:?}", excerpt(text)))
                .hint(format!("use a region such as {meant:?}, \"UTC\", or an offset such as \"+01:00\""))
        })
    }

    /// The zone that an abbreviation in a text such as `PST` stands for.
    pub(super) fn by_short_name(name: &str) -> Option<Zone> {
        let base = name.strip_suffix("DT").map(|area| format!("{area}ST"));
        let base = base.as_deref().unwrap_or(name);
        let (_, region) = SHORT_NAMES.iter().find(|(short, _)| *short == base)?;
        Zone::parse(region).ok()
    }

    /// The names of all regions.
    pub fn names() -> Vec<String> {
        ZONES.available().map(|name| name.as_str().to_owned()).collect()
    }

    /// Its id: `Europe/Paris`, `+01:00`, `Z`.
    pub fn id(&self) -> String {
        match self {
            Zone::Fixed(offset) => offset_id(*offset),
            Zone::Region(zone) => zone.iana_name().unwrap_or("UTC").to_owned(),
        }
    }

    /// The offset at an instant.
    pub fn offset_at(&self, instant: Timestamp) -> Offset {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Region(zone) => zone.to_offset(instant),
        }
    }

    /// The short name of the zone at an instant: `CET`, `CEST`.
    pub fn abbreviation(&self, instant: Timestamp) -> String {
        match self {
            Zone::Fixed(offset) => offset_id(*offset),
            Zone::Region(zone) => zone.to_offset_info(instant).abbreviation().to_owned(),
        }
    }

    /// Whether daylight saving time holds at an instant.
    pub fn is_summer(&self, instant: Timestamp) -> bool {
        match self {
            Zone::Fixed(_) => false,
            Zone::Region(zone) => zone.to_offset_info(instant).dst().is_dst(),
        }
    }

    /// The date-time in this zone at an instant.
    pub fn at(&self, instant: Timestamp) -> ZonedTime {
        let offset = self.offset_at(instant);
        ZonedTime { local: offset.to_datetime(instant), offset, zone: self.clone() }
    }

    /// The date-time in this zone that shows `local`. A time skipped by a change of the clock moves on
    /// by what was skipped; of two possible offsets the preferred one is taken, else the earlier.
    pub fn resolve(&self, local: DateTime, preferred: Option<Offset>) -> Result<ZonedTime, Error> {
        let (local, offset) = match self {
            Zone::Fixed(offset) => (local, *offset),
            Zone::Region(zone) => match zone.to_ambiguous_timestamp(local).offset() {
                AmbiguousOffset::Unambiguous { offset } => (local, offset),
                AmbiguousOffset::Gap { before, after } => {
                    let skipped = i128::from(after.seconds() - before.seconds());
                    (local_at(local_nanos(local) + skipped * super::NANOS_PER_SECOND)?, after)
                }
                AmbiguousOffset::Fold { before, after } => {
                    (local, if preferred == Some(after) { after } else { before })
                }
            },
        };
        checked_instant(local, offset)?;
        Ok(ZonedTime { local, offset, zone: self.clone() })
    }
}

impl ZonedTime {
    /// The point on the time line.
    pub fn instant(&self) -> Timestamp {
        local_instant(self.local, self.offset)
    }
}

/// The instant of a local date-time at an offset that is known to be in range.
pub fn local_instant(local: DateTime, offset: Offset) -> Timestamp {
    checked_instant(local, offset).unwrap_or(if local.year() < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// The instant of a local date-time at an offset.
pub fn checked_instant(local: DateTime, offset: Offset) -> Result<Timestamp, Error> {
    offset.to_timestamp(local).map_err(|_| out_of_range())
}

/// An offset of this many seconds.
pub fn offset_of(seconds: i64) -> Result<Offset, Error> {
    const MOST: i64 = 18 * 3600;
    if !(-MOST..=MOST).contains(&seconds) {
        return Err(invalid("a zone offset must be between -18:00 and +18:00"));
    }
    Offset::from_seconds(seconds as i32).map_err(|_| out_of_range())
}

/// Java's id of an offset: `Z`, `+01:00`, `-05:30:15`.
pub fn offset_id(offset: Offset) -> String {
    let total = offset.seconds();
    if total == 0 {
        return "Z".into();
    }
    let sign = if total < 0 { '-' } else { '+' };
    let (total, second) = (total.abs(), total.abs() % 60);
    let text = format!("{sign}{:02}:{:02}", total / 3600, total / 60 % 60);
    if second == 0 { text } else { format!("{text}:{second:02}") }
}

/// Reads `Z`, `+h`, `+hh`, `+hh:mm`, `+hhmm`, `+hh:mm:ss`, `+hhmmss`.
pub fn parse_offset(text: &str) -> Result<Offset, Error> {
    let wrong = || {
        Error::new(ErrorKind::Format, format!("{:?} is not a zone offset", excerpt(text)))
            .hint("write an offset such as \"+02:00\" or \"Z\"")
    };
    if text == "Z" {
        return Ok(Offset::UTC);
    }
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return Err(wrong()),
    };
    let digits: String = rest.chars().filter(|c| *c != ':').collect();
    let colons_fit = match rest.len() {
        1 | 2 | 4 => !rest.contains(':'),
        5 => rest.find(':') == Some(2),
        6 => !rest.contains(':'),
        8 => rest.find(':') == Some(2) && rest.rfind(':') == Some(5),
        _ => false,
    };
    if !colons_fit || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let digits = if digits.len() == 1 { format!("0{digits}") } else { digits };
    let part = |at: usize| digits.get(at..at + 2).and_then(|part| part.parse::<i64>().ok()).unwrap_or(0);
    if part(2) > 59 || part(4) > 59 {
        return Err(wrong());
    }
    offset_of(sign * (part(0) * 3600 + part(2) * 60 + part(4)))
}
