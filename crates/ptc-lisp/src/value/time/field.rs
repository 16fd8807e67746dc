//! Fields of dates and times (`ChronoField`, `IsoFields`): reading and replacing them.

use jiff::civil::{Date, DateTime, ISOWeekDate, Time as Clock, Weekday};

use super::unit::TimeUnit;
use super::{
    Class, NANOS_PER_SECOND, Time, Zone, clock_at, epoch_day, from_epoch_day, in_range, instant_at, invalid,
    make_date, nano_of_day, zone,
};
use crate::error::Error;

/// A field; the order of the first thirty is that of `ChronoField`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Field {
    NanoOfSecond,
    NanoOfDay,
    MicroOfSecond,
    MicroOfDay,
    MilliOfSecond,
    MilliOfDay,
    SecondOfMinute,
    SecondOfDay,
    MinuteOfHour,
    MinuteOfDay,
    HourOfAmpm,
    ClockHourOfAmpm,
    HourOfDay,
    ClockHourOfDay,
    AmpmOfDay,
    DayOfWeek,
    AlignedDayOfWeekInMonth,
    AlignedDayOfWeekInYear,
    DayOfMonth,
    DayOfYear,
    EpochDay,
    AlignedWeekOfMonth,
    AlignedWeekOfYear,
    MonthOfYear,
    ProlepticMonth,
    YearOfEra,
    Year,
    Era,
    InstantSeconds,
    OffsetSeconds,
    DayOfQuarter,
    QuarterOfYear,
    WeekOfWeekBasedYear,
    WeekBasedYear,
    /// The day of a week that begins on Sunday.
    SundayDayOfWeek,
    /// The week of a year whose weeks begin on Sunday and whose first week holds January 1.
    SundayWeekOfYear,
    /// The year that [`Field::SundayWeekOfYear`] counts in.
    SundayWeekYear,
    /// The week of a month, weeks beginning on Sunday.
    SundayWeekOfMonth,
}

use Field::*;

impl Field {
    /// All fields in order.
    pub const ALL: [Field; 38] = [
        NanoOfSecond,
        NanoOfDay,
        MicroOfSecond,
        MicroOfDay,
        MilliOfSecond,
        MilliOfDay,
        SecondOfMinute,
        SecondOfDay,
        MinuteOfHour,
        MinuteOfDay,
        HourOfAmpm,
        ClockHourOfAmpm,
        HourOfDay,
        ClockHourOfDay,
        AmpmOfDay,
        DayOfWeek,
        AlignedDayOfWeekInMonth,
        AlignedDayOfWeekInYear,
        DayOfMonth,
        DayOfYear,
        EpochDay,
        AlignedWeekOfMonth,
        AlignedWeekOfYear,
        MonthOfYear,
        ProlepticMonth,
        YearOfEra,
        Year,
        Era,
        InstantSeconds,
        OffsetSeconds,
        DayOfQuarter,
        QuarterOfYear,
        WeekOfWeekBasedYear,
        WeekBasedYear,
        SundayDayOfWeek,
        SundayWeekOfYear,
        SundayWeekYear,
        SundayWeekOfMonth,
    ];

    /// Their names in source.
    pub const NAMES: &'static [&'static str] = &[
        "NANO_OF_SECOND",
        "NANO_OF_DAY",
        "MICRO_OF_SECOND",
        "MICRO_OF_DAY",
        "MILLI_OF_SECOND",
        "MILLI_OF_DAY",
        "SECOND_OF_MINUTE",
        "SECOND_OF_DAY",
        "MINUTE_OF_HOUR",
        "MINUTE_OF_DAY",
        "HOUR_OF_AMPM",
        "CLOCK_HOUR_OF_AMPM",
        "HOUR_OF_DAY",
        "CLOCK_HOUR_OF_DAY",
        "AMPM_OF_DAY",
        "DAY_OF_WEEK",
        "ALIGNED_DAY_OF_WEEK_IN_MONTH",
        "ALIGNED_DAY_OF_WEEK_IN_YEAR",
        "DAY_OF_MONTH",
        "DAY_OF_YEAR",
        "EPOCH_DAY",
        "ALIGNED_WEEK_OF_MONTH",
        "ALIGNED_WEEK_OF_YEAR",
        "MONTH_OF_YEAR",
        "PROLEPTIC_MONTH",
        "YEAR_OF_ERA",
        "YEAR",
        "ERA",
        "INSTANT_SECONDS",
        "OFFSET_SECONDS",
        "DAY_OF_QUARTER",
        "QUARTER_OF_YEAR",
        "WEEK_OF_WEEK_BASED_YEAR",
        "WEEK_BASED_YEAR",
        "SUNDAY_DAY_OF_WEEK",
        "SUNDAY_WEEK_OF_YEAR",
        "SUNDAY_WEEK_YEAR",
        "SUNDAY_WEEK_OF_MONTH",
    ];

    /// Its name in source.
    pub fn name(self) -> &'static str {
        Field::NAMES[self as usize]
    }

    /// The place of a time-of-day field within the day: its length in nanoseconds and how many of it
    /// make the next larger one.
    fn clock_part(self) -> Option<(i128, i128)> {
        let second = NANOS_PER_SECOND;
        Some(match self {
            NanoOfSecond => (1, second),
            NanoOfDay => (1, 86_400 * second),
            MicroOfSecond => (1_000, 1_000_000),
            MicroOfDay => (1_000, 86_400 * 1_000_000),
            MilliOfSecond => (1_000_000, 1_000),
            MilliOfDay => (1_000_000, 86_400 * 1_000),
            SecondOfMinute => (second, 60),
            SecondOfDay => (second, 86_400),
            MinuteOfHour => (60 * second, 60),
            MinuteOfDay => (60 * second, 1_440),
            HourOfAmpm | ClockHourOfAmpm => (3600 * second, 12),
            HourOfDay | ClockHourOfDay => (3600 * second, 24),
            AmpmOfDay => (12 * 3600 * second, 2),
            _ => return None,
        })
    }

    fn is_clock_hour(self) -> bool {
        matches!(self, ClockHourOfAmpm | ClockHourOfDay)
    }

    /// Checks a value against the widest range of the field.
    pub fn check(self, value: i64) -> Result<i64, Error> {
        let range = match self {
            DayOfWeek | AlignedDayOfWeekInMonth | AlignedDayOfWeekInYear | SundayDayOfWeek => 1..=7,
            DayOfMonth => 1..=31,
            DayOfYear => 1..=366,
            MonthOfYear => 1..=12,
            QuarterOfYear => 1..=4,
            DayOfQuarter => 1..=92,
            WeekOfWeekBasedYear | SundayWeekOfYear | AlignedWeekOfYear => 1..=53,
            AlignedWeekOfMonth => 1..=5,
            SundayWeekOfMonth => 0..=6,
            Year | WeekBasedYear | SundayWeekYear => -9999..=9999,
            YearOfEra => 1..=9999,
            Era => 0..=1,
            _ => match self.clock_part() {
                Some((_, count)) if self.is_clock_hour() => 1..=count as i64,
                Some((_, count)) => 0..=(count - 1) as i64,
                None => i64::MIN..=i64::MAX,
            },
        };
        in_range(value, range, &self.label())
    }

    /// Its name in messages: `hour of day`.
    pub fn label(self) -> String {
        self.name().to_lowercase().replace('_', " ")
    }

    /// The field of a time of day.
    pub fn of_clock(self, time: Clock) -> Option<i64> {
        let (length, count) = self.clock_part()?;
        let value = (nano_of_day(time) / length % count) as i64;
        Some(if self.is_clock_hour() && value == 0 { count as i64 } else { value })
    }

    /// The field of a date.
    pub fn of_date(self, date: Date) -> Option<i64> {
        let (year, month, day) = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
        let day_of_year = i64::from(date.day_of_year());
        Some(match self {
            DayOfWeek => i64::from(date.weekday().to_monday_one_offset()),
            AlignedDayOfWeekInMonth => (day - 1) % 7 + 1,
            AlignedDayOfWeekInYear => (day_of_year - 1) % 7 + 1,
            DayOfMonth => day,
            DayOfYear => day_of_year,
            EpochDay => epoch_day(date),
            AlignedWeekOfMonth => (day - 1) / 7 + 1,
            AlignedWeekOfYear => (day_of_year - 1) / 7 + 1,
            MonthOfYear => month,
            ProlepticMonth => year * 12 + month - 1,
            YearOfEra => {
                if year > 0 {
                    year
                } else {
                    1 - year
                }
            }
            Year => year,
            Era => i64::from(year > 0),
            QuarterOfYear => (month - 1) / 3 + 1,
            DayOfQuarter => {
                let first = Date::new(date.year(), ((date.month() - 1) / 3) * 3 + 1, 1).ok()?;
                day_of_year - i64::from(first.day_of_year()) + 1
            }
            WeekOfWeekBasedYear => i64::from(date.iso_week_date().week()),
            WeekBasedYear => i64::from(date.iso_week_date().year()),
            SundayDayOfWeek => i64::from(date.weekday().to_sunday_one_offset()),
            SundayWeekOfYear => sunday_week(date).1,
            SundayWeekYear => sunday_week(date).0,
            SundayWeekOfMonth => week_from(date, date.first_of_month()),
            _ => return None,
        })
    }

    /// The date with this field replaced, as `.with` does it.
    pub fn replace_in_date(self, date: Date, value: i64) -> Result<Option<Date>, Error> {
        let value = self.check(value)?;
        let (year, month, day) = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
        let days_from = |now: Option<i64>| from_epoch_day(epoch_day(date) + value - now.unwrap_or(value));
        Ok(Some(match self {
            DayOfMonth => make_date(year, month, value)?,
            MonthOfYear => clamped_date(year, value, day)?,
            Year => clamped_date(value, month, day)?,
            YearOfEra => clamped_date(if year > 0 { value } else { 1 - value }, month, day)?,
            Era if value == Era.of_date(date).unwrap_or(value) => date,
            Era => clamped_date(1 - year, month, day)?,
            ProlepticMonth => clamped_date(value.div_euclid(12), value.rem_euclid(12) + 1, day)?,
            DayOfYear => {
                if value > i64::from(date.days_in_year()) {
                    return Err(invalid(format!("{year} is not a leap year, it has no day {value}")));
                }
                days_from(self.of_date(date))?
            }
            EpochDay => from_epoch_day(value)?,
            QuarterOfYear => clamped_date(year, (value - 1) * 3 + (month - 1) % 3 + 1, day)?,
            DayOfWeek | AlignedDayOfWeekInMonth | AlignedDayOfWeekInYear | DayOfQuarter | SundayDayOfWeek => {
                days_from(self.of_date(date))?
            }
            AlignedWeekOfMonth | AlignedWeekOfYear | WeekOfWeekBasedYear | SundayWeekOfYear
            | SundayWeekOfMonth => {
                let now = self.of_date(date).unwrap_or(value);
                from_epoch_day(epoch_day(date) + (value - now) * 7)?
            }
            WeekBasedYear => iso_date(value, i64::from(date.iso_week_date().week()), date.weekday())?,
            _ => return Ok(None),
        }))
    }

    /// The time of day with this field replaced.
    pub fn replace_in_clock(self, time: Clock, value: i64) -> Result<Option<Clock>, Error> {
        let Some((length, count)) = self.clock_part() else { return Ok(None) };
        let value = self.check(value)?;
        let wanted = if self.is_clock_hour() { value % count as i64 } else { value };
        let nanos = nano_of_day(time);
        let now = nanos / length % count;
        let changed = nanos + (i128::from(wanted) - now) * length;
        // Java's coarse sub-second fields drop what is finer than they are.
        let drops = matches!(self, MicroOfSecond | MicroOfDay | MilliOfSecond | MilliOfDay);
        Ok(Some(clock_at(if drops { changed - changed.rem_euclid(length) } else { changed })))
    }
}

/// A date whose day is at most the last of the month.
pub(super) fn clamped_date(year: i64, month: i64, day: i64) -> Result<Date, Error> {
    let first = make_date(year, month, 1)?;
    make_date(year, month, day.min(i64::from(first.days_in_month())))
}

/// The date of an ISO week; week 53 of a year without one becomes its last week.
pub(super) fn iso_date(year: i64, week: i64, weekday: Weekday) -> Result<Date, Error> {
    let year = in_range(year, -9999..=9999, "week-based year")? as i16;
    let week = in_range(week, 1..=53, "week")? as i8;
    let made = ISOWeekDate::new(year, week, weekday).or_else(|_| ISOWeekDate::new(year, week - 1, weekday));
    made.map(Date::from_iso_week_date).map_err(|_| super::out_of_range())
}

/// Which week `date` lies in, counted from the week of `first`, weeks beginning on Sunday.
fn week_from(date: Date, first: Date) -> i64 {
    let lead = i64::from(first.weekday().to_sunday_zero_offset());
    (epoch_day(date) - epoch_day(first) + lead) / 7 + 1
}

/// Year and week where weeks begin on Sunday and the week of January 1 is the first.
fn sunday_week(date: Date) -> (i64, i64) {
    let days_left = epoch_day(date.last_of_year()) - epoch_day(date);
    let to_saturday = 6 - i64::from(date.weekday().to_sunday_zero_offset());
    if to_saturday > days_left {
        return (i64::from(date.year()) + 1, 1);
    }
    (i64::from(date.year()), week_from(date, date.first_of_year()))
}

impl Time {
    /// The value of a field, if this type has it.
    pub fn field(&self, field: Field) -> Option<i64> {
        match self {
            Time::Instant(instant) => {
                let nanos = instant.as_nanosecond();
                match field {
                    InstantSeconds => i64::try_from(nanos.div_euclid(NANOS_PER_SECOND)).ok(),
                    NanoOfSecond | MicroOfSecond | MilliOfSecond => field.of_clock(clock_at(nanos)),
                    _ => None,
                }
            }
            Time::YearMonth(first) => match field {
                Year | YearOfEra | Era | MonthOfYear | ProlepticMonth => field.of_date(*first),
                _ => None,
            },
            Time::Year(year) => match field {
                Year | YearOfEra | Era => field.of_date(Date::new(*year, 1, 1).ok()?),
                _ => None,
            },
            Time::Constant(constant) => match (constant.class, field) {
                (Class::DayOfWeek, DayOfWeek) | (Class::Month, MonthOfYear) => {
                    Some(i64::from(constant.ordinal) + 1)
                }
                (Class::Month, QuarterOfYear) => Some(i64::from(constant.ordinal) / 3 + 1),
                _ => None,
            },
            Time::Zone(Zone::Fixed(offset)) if field == OffsetSeconds => Some(i64::from(offset.seconds())),
            _ => match field {
                InstantSeconds => {
                    self.instant()?.as_nanosecond().div_euclid(NANOS_PER_SECOND).try_into().ok()
                }
                OffsetSeconds => Some(i64::from(self.offset()?.seconds())),
                _ => match field.clock_part() {
                    Some(_) => field.of_clock(self.clock()?),
                    None => field.of_date(self.date()?),
                },
            },
        }
    }

    /// The same value with a field replaced, as `.with` does it.
    pub fn with_field(&self, field: Field, value: i64) -> Result<Time, Error> {
        let unsupported = || self.lacks_field(field);
        Ok(match self {
            Time::Date(date) => Time::Date(field.replace_in_date(*date, value)?.ok_or_else(unsupported)?),
            Time::Clock(time) => Time::Clock(field.replace_in_clock(*time, value)?.ok_or_else(unsupported)?),
            Time::DateTime(local) => {
                Time::DateTime(replace_in_local(field, *local, value)?.ok_or_else(unsupported)?)
            }
            Time::Zoned(zoned) => match field {
                InstantSeconds => {
                    let part = zoned.instant().as_nanosecond().rem_euclid(NANOS_PER_SECOND);
                    let instant = instant_at(i128::from(value) * NANOS_PER_SECOND + part)?;
                    Time::Zoned(zoned.zone.at(instant).into())
                }
                _ => {
                    let local = replace_in_local(field, zoned.local, value)?.ok_or_else(unsupported)?;
                    Time::Zoned(zoned.zone.resolve(local, Some(zoned.offset))?.into())
                }
            },
            Time::OffsetDateTime(local, offset) => match field {
                OffsetSeconds => Time::OffsetDateTime(*local, zone::offset_of(value)?),
                _ => {
                    let local = replace_in_local(field, *local, value)?.ok_or_else(unsupported)?;
                    Time::OffsetDateTime(local, *offset)
                }
            },
            Time::YearMonth(first) if self.field(field).is_some() => {
                let date = field.replace_in_date(*first, value)?.ok_or_else(unsupported)?;
                Time::YearMonth(date.first_of_month())
            }
            Time::Year(_) if field == Year => Time::Year(field.check(value)? as i16),
            Time::Instant(instant) => match field {
                InstantSeconds => {
                    let part = instant.as_nanosecond().rem_euclid(NANOS_PER_SECOND);
                    Time::Instant(instant_at(i128::from(value) * NANOS_PER_SECOND + part)?)
                }
                NanoOfSecond | MicroOfSecond | MilliOfSecond => {
                    let nanos = instant.as_nanosecond();
                    let clock = field.replace_in_clock(clock_at(nanos), value)?.ok_or_else(unsupported)?;
                    let midnight = nanos.div_euclid(super::NANOS_PER_DAY) * super::NANOS_PER_DAY;
                    Time::Instant(instant_at(midnight + nano_of_day(clock))?)
                }
                _ => return Err(unsupported()),
            },
            _ => return Err(unsupported()),
        })
    }

    /// The error for a field that this type does not have.
    pub fn lacks_field(&self, field: Field) -> Error {
        let error = invalid(format!("{} has no {}", self.type_name(), field.label()));
        match self {
            Time::Instant(_) => error.hint("give it a zone first: (.atZone instant ZoneOffset/UTC)"),
            Time::Date(_) => error.hint("use a LocalDateTime for fields of the time of day"),
            _ => error,
        }
    }

    /// The error for a unit that this type cannot be counted in.
    pub fn lacks_unit(&self, unit: TimeUnit) -> Error {
        let error = invalid(format!("{} cannot be counted in {}", self.type_name(), unit.name()));
        match self {
            Time::Instant(_) => error.hint("give it a zone first: (.atZone instant ZoneOffset/UTC)"),
            Time::Date(_) => error.hint("use DAYS or longer, or make it a LocalDateTime with .atStartOfDay"),
            Time::Clock(_) => error.hint("use HOURS or shorter, or make it a LocalDateTime with .atDate"),
            _ => error,
        }
    }
}

fn replace_in_local(field: Field, local: DateTime, value: i64) -> Result<Option<DateTime>, Error> {
    if let Some(time) = field.replace_in_clock(local.time(), value)? {
        return Ok(Some(local.date().to_datetime(time)));
    }
    Ok(field.replace_in_date(local.date(), value)?.map(|date| date.to_datetime(local.time())))
}
