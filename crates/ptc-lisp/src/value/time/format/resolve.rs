//! Fields that were read, resolved to a date, a time of day and a zone.

use jiff::civil::{Date, Time as Clock, Weekday};

use super::Formatter;
use crate::error::{Error, excerpt};
use crate::value::time::field::{clamped_date, iso_date};
use crate::value::time::parse_iso::{unreadable, unreadable_with};
use crate::value::time::zone::offset_of;
use crate::value::time::{
    Field, Time, TimeKind, Zone, clock_at, epoch_day, from_epoch_day, invalid, make_clock, make_date, zone,
};

/// What a formatter read from a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    text: String,
    source: String,
    strict: bool,
    default_zone: Option<Zone>,
    fields: Vec<(Field, i64)>,
    pub(super) zone: Option<Zone>,
    date: Option<Date>,
    clock: Option<Clock>,
}

impl Parsed {
    pub(super) fn new(formatter: &Formatter, text: &str) -> Parsed {
        Parsed {
            text: text.to_owned(),
            source: formatter.source.clone(),
            strict: formatter.strict,
            default_zone: formatter.zone.clone(),
            fields: Vec::new(),
            zone: None,
            date: None,
            clock: None,
        }
    }

    pub(super) fn set(&mut self, field: Field, value: i64) -> Result<(), String> {
        match self.get(field) {
            Some(before) if before != value => {
                Err(format!("the same {} in both places ({before} and {value})", field.label()))
            }
            _ => {
                self.fields.push((field, value));
                Ok(())
            }
        }
    }

    fn get(&self, field: Field) -> Option<i64> {
        self.fields.iter().find(|(known, _)| *known == field).map(|(_, value)| *value)
    }

    fn year(&self) -> Option<i64> {
        self.get(Field::Year).or_else(|| {
            let year = self.get(Field::YearOfEra)?;
            Some(if self.get(Field::Era) == Some(0) { 1 - year } else { year })
        })
    }

    /// Works out date and time of day, and checks what was read against them.
    pub(super) fn resolved(mut self) -> Result<Parsed, Error> {
        let why =
            |parsed: &Parsed, error: Error| unreadable_with(&parsed.text, &parsed.source, &error.message);
        self.date = self.resolve_date().map_err(|error| why(&self, error))?;
        let (clock, days) = self.resolve_clock().map_err(|error| why(&self, error))?;
        self.clock = clock;
        if let (Some(date), 1..) = (self.date, days) {
            self.date = Some(from_epoch_day(epoch_day(date) + days).map_err(|error| why(&self, error))?);
        } else if let Some(date) = self.date {
            let differs =
                |(field, value): &&(Field, i64)| field.of_date(date).is_some_and(|real| real != *value);
            // A day beyond the end of its month was clamped, and says so by differing.
            let wrong = self.fields.iter().filter(|(field, _)| *field != Field::DayOfMonth).find(differs);
            if let Some((field, value)) = wrong {
                let real = field.of_date(date).unwrap_or_default();
                let what = format!(
                    "{} {value} does not fit the date {}, which has {real}",
                    field.label(),
                    Time::Date(date)
                );
                return Err(unreadable_with(&self.text, &self.source, &what));
            }
        }
        Ok(self)
    }

    fn resolve_date(&self) -> Result<Option<Date>, Error> {
        for (field, value) in &self.fields {
            // An hour of 24 means the end of the day, which the time of day looks after.
            if !matches!(field, Field::HourOfDay | Field::OffsetSeconds | Field::InstantSeconds) {
                field.check(*value)?;
            }
        }
        let get = |field| self.get(field);
        if let (Some(year), Some(month), Some(day)) =
            (self.year(), get(Field::MonthOfYear), get(Field::DayOfMonth))
        {
            let date = if self.strict { make_date(year, month, day) } else { clamped_date(year, month, day) };
            return date.map(Some);
        }
        if let (Some(year), Some(day)) = (self.year(), get(Field::DayOfYear)) {
            let first = make_date(year, 1, 1)?;
            return Field::DayOfYear.replace_in_date(first, day);
        }
        if let (Some(year), Some(week), Some(day)) =
            (get(Field::WeekBasedYear), get(Field::WeekOfWeekBasedYear), get(Field::DayOfWeek))
        {
            let weekday = weekday(day)?;
            return iso_date(year, week, weekday).map(Some);
        }
        let sunday_day = get(Field::SundayDayOfWeek).or_else(|| get(Field::DayOfWeek).map(|day| day % 7 + 1));
        if let (Some(year), Some(week), Some(day)) =
            (get(Field::SundayWeekYear), get(Field::SundayWeekOfYear), sunday_day)
        {
            let first = make_date(year, 1, 1)?;
            let lead = i64::from(first.weekday().to_sunday_zero_offset());
            return from_epoch_day(epoch_day(first) - lead + (week - 1) * 7 + day - 1).map(Some);
        }
        Ok(None)
    }

    /// The time of day, and how many days an hour of 24 adds.
    fn resolve_clock(&self) -> Result<(Option<Clock>, i64), Error> {
        let get = |field| self.get(field);
        if let Some(nanos) = get(Field::NanoOfDay) {
            return Ok((Some(clock_at(i128::from(nanos))), 0));
        }
        if let Some(millis) = get(Field::MilliOfDay) {
            return Ok((Some(clock_at(i128::from(millis) * 1_000_000)), 0));
        }
        let half_hour = get(Field::HourOfAmpm).or_else(|| get(Field::ClockHourOfAmpm).map(|hour| hour % 12));
        let hour = get(Field::HourOfDay)
            .or_else(|| get(Field::ClockHourOfDay).map(|hour| hour % 24))
            .or_else(|| Some(half_hour? + 12 * get(Field::AmpmOfDay)?));
        let Some(hour) = hour else { return Ok((None, 0)) };
        let minute = get(Field::MinuteOfHour);
        let second = get(Field::SecondOfMinute);
        let nano = get(Field::NanoOfSecond);
        if (minute.is_none() && (second.is_some() || nano.is_some())) || (second.is_none() && nano.is_some())
        {
            return Ok((None, 0));
        }
        let [minute, second, nano] = [minute, second, nano].map(Option::unwrap_or_default);
        if hour == 24 && [minute, second, nano] == [0; 3] && !self.strict {
            return Ok((Some(Clock::midnight()), 1));
        }
        Ok((Some(make_clock(hour, minute, second, nano)?), 0))
    }

    fn offset(&self) -> Option<jiff::tz::Offset> {
        self.get(Field::OffsetSeconds).and_then(|seconds| offset_of(seconds).ok())
    }

    /// The zone of the text, its offset, or the formatter's zone.
    fn any_zone(&self) -> Option<Zone> {
        let from_offset = || self.offset().map(Zone::Fixed);
        self.zone.clone().or_else(from_offset).or_else(|| self.default_zone.clone())
    }

    fn zoned(&self) -> Option<Time> {
        let local = self.date?.to_datetime(self.clock?);
        let zone = self.any_zone()?;
        let zoned = match self.offset() {
            Some(offset) => zone.at(zone::checked_instant(local, offset).ok()?),
            None => zone.resolve(local, None).ok()?,
        };
        Some(Time::Zoned(zoned.into()))
    }

    /// The richest value that was read.
    pub fn best(&self) -> Result<Time, Error> {
        let found = self.zoned().or_else(|| match (self.date, self.clock) {
            (Some(date), Some(clock)) => Some(Time::DateTime(date.to_datetime(clock))),
            (Some(date), None) => Some(Time::Date(date)),
            (None, Some(clock)) => Some(Time::Clock(clock)),
            (None, None) => None,
        });
        match found {
            Some(found) => Ok(found),
            None => self.to_kind(TimeKind::YearMonth),
        }
    }

    /// What was read as a type.
    pub fn to_kind(&self, kind: TimeKind) -> Result<Time, Error> {
        let year = || self.year().and_then(|year| i16::try_from(year).ok());
        let found = match kind {
            TimeKind::LocalDate => self.date.map(Time::Date),
            TimeKind::LocalTime => self.clock.map(Time::Clock),
            TimeKind::LocalDateTime => {
                self.date.zip(self.clock).map(|(date, clock)| Time::DateTime(date.to_datetime(clock)))
            }
            TimeKind::ZonedDateTime => self.zoned(),
            TimeKind::Instant | TimeKind::OffsetDateTime => {
                self.zoned().and_then(|zoned| zoned.to_kind(kind))
            }
            TimeKind::YearMonth => {
                let month = self.get(Field::MonthOfYear);
                self.year()
                    .zip(month)
                    .and_then(|(year, month)| make_date(year, month, 1).ok())
                    .map(Time::YearMonth)
            }
            TimeKind::Year => year().map(Time::Year),
            _ => None,
        };
        found.ok_or_else(|| self.cannot_be(kind))
    }

    fn cannot_be(&self, kind: TimeKind) -> Error {
        let half_day = self.get(Field::ClockHourOfAmpm).is_some() && self.get(Field::AmpmOfDay).is_none();
        if half_day && self.clock.is_none() {
            return unreadable(&self.text, kind, ", because h counts to 12 and there is no a for AM or PM")
                .hint("use HH for hours of the day, or add the letter a");
        }
        let has: Vec<&str> = [
            (self.date.is_some(), "a date"),
            (self.clock.is_some(), "a time"),
            (self.any_zone().is_some(), "a zone"),
        ]
        .iter()
        .filter_map(|(present, what)| present.then_some(*what))
        .collect();
        let has = if has.is_empty() {
            "no whole date or time".into()
        } else {
            format!("only {}", has.join(" and "))
        };
        let hint = match (kind, self.date, self.clock) {
            (TimeKind::LocalDateTime, Some(_), None) => "parse it as LocalDate and call .atStartOfDay",
            (TimeKind::LocalDate, None, _) => "the pattern needs year, month and day",
            (TimeKind::Instant | TimeKind::ZonedDateTime, Some(_), Some(_)) => {
                "parse it as LocalDateTime and call .atZone, or use .withZone on the formatter"
            }
            _ => "choose the type that fits the text",
        };
        unreadable(&self.text, kind, &format!(": the pattern {:?} gives {has}", excerpt(&self.source)))
            .hint(hint)
    }
}

fn weekday(day: i64) -> Result<Weekday, Error> {
    let day = i8::try_from(day).map_err(|_| invalid("the day of the week must be 1 to 7"))?;
    Weekday::from_monday_one_offset(day).map_err(|_| invalid("the day of the week must be 1 to 7"))
}
