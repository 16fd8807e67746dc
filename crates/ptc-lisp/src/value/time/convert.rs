//! Parts of values and conversion between types, as the `from` methods of Java do it.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time as Clock};
use jiff::tz::Offset;

use super::{Time, TimeKind, Zone, ZonedTime, zone};

impl Time {
    /// The date in it.
    pub fn date(&self) -> Option<Date> {
        match self {
            Time::Date(date) => Some(*date),
            _ => self.local().map(DateTime::date),
        }
    }

    /// The time of day in it.
    pub fn clock(&self) -> Option<Clock> {
        match self {
            Time::Clock(time) => Some(*time),
            _ => self.local().map(DateTime::time),
        }
    }

    /// The date and time on the wall in it.
    pub fn local(&self) -> Option<DateTime> {
        match self {
            Time::DateTime(local) | Time::OffsetDateTime(local, _) => Some(*local),
            Time::Zoned(zoned) => Some(zoned.local),
            _ => None,
        }
    }

    /// The offset in it.
    pub fn offset(&self) -> Option<Offset> {
        match self {
            Time::OffsetDateTime(_, offset) | Time::Zone(Zone::Fixed(offset)) => Some(*offset),
            Time::Zoned(zoned) => Some(zoned.offset),
            _ => None,
        }
    }

    /// The zone in it.
    pub fn zone(&self) -> Option<Zone> {
        match self {
            Time::OffsetDateTime(_, offset) => Some(Zone::Fixed(*offset)),
            Time::Zoned(zoned) => Some(zoned.zone.clone()),
            Time::Zone(zone) => Some(zone.clone()),
            _ => None,
        }
    }

    /// The point on the time line, if it names one.
    pub fn instant(&self) -> Option<Timestamp> {
        match self {
            Time::Instant(instant) | Time::JavaDate(instant) => Some(*instant),
            Time::Zoned(zoned) => Some(zoned.instant()),
            Time::OffsetDateTime(local, offset) => Some(zone::local_instant(*local, *offset)),
            _ => None,
        }
    }

    /// The value as another type, if it holds what that type needs.
    pub fn to_kind(&self, kind: TimeKind) -> Option<Time> {
        if self.kind() == kind {
            return Some(self.clone());
        }
        Some(match kind {
            TimeKind::LocalDate => Time::Date(self.date()?),
            TimeKind::LocalDateTime => Time::DateTime(self.local()?),
            TimeKind::LocalTime => Time::Clock(self.clock()?),
            TimeKind::Instant if !matches!(self, Time::JavaDate(_)) => Time::Instant(self.instant()?),
            TimeKind::ZonedDateTime => {
                let offset = self.offset()?;
                Time::Zoned(ZonedTime { local: self.local()?, offset, zone: self.zone()? }.into())
            }
            TimeKind::OffsetDateTime => Time::OffsetDateTime(self.local()?, self.offset()?),
            TimeKind::YearMonth => Time::YearMonth(self.date()?.first_of_month()),
            TimeKind::Year => match self {
                Time::YearMonth(first) => Time::Year(first.year()),
                _ => Time::Year(self.date()?.year()),
            },
            TimeKind::DayOfWeek => Time::weekday(self.date()?.weekday()),
            TimeKind::Month => match self {
                Time::YearMonth(first) => Time::month(first.month()),
                _ => Time::month(self.date()?.month()),
            },
            TimeKind::ZoneOffset => Time::Zone(Zone::Fixed(self.offset()?)),
            TimeKind::ZoneId => Time::Zone(self.zone()?),
            _ => return None,
        })
    }

    /// A month, January being 1.
    pub fn month(month: i8) -> Time {
        Time::constant(super::Class::Month, u8::try_from(month - 1).unwrap_or_default())
    }
}
