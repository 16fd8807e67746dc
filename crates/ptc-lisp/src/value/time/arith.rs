//! Adding amounts of time, cutting off small units, and adjusters (`TemporalAdjusters`).

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Weekday};

use super::field::clamped_date;
use super::unit::Scale;
use super::{
    Field, NANOS_PER_DAY, Period, Time, TimeUnit, clock_at, epoch_day, from_epoch_day, in_range, instant_at,
    invalid, local_at, local_nanos, nano_of_day, out_of_range, zone,
};
use crate::error::Error;

/// A `TemporalAdjuster`: a way to get from one date to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adjuster {
    /// `firstDayOfMonth`
    FirstDayOfMonth,
    /// `lastDayOfMonth`
    LastDayOfMonth,
    /// `firstDayOfNextMonth`
    FirstDayOfNextMonth,
    /// `firstDayOfYear`
    FirstDayOfYear,
    /// `lastDayOfYear`
    LastDayOfYear,
    /// `firstDayOfNextYear`
    FirstDayOfNextYear,
    /// `next`
    Next(Weekday),
    /// `nextOrSame`
    NextOrSame(Weekday),
    /// `previous`
    Previous(Weekday),
    /// `previousOrSame`
    PreviousOrSame(Weekday),
    /// `dayOfWeekInMonth`, `firstInMonth` (1), `lastInMonth` (-1)
    InMonth(i64, Weekday),
}

impl Adjuster {
    /// The date it leads to.
    pub fn adjust(self, date: Date) -> Result<Date, Error> {
        let forward = |from: Date, to: Weekday| i64::from(from.weekday().until(to));
        let move_by = |from: Date, days: i64| from_epoch_day(epoch_day(from) + days);
        match self {
            Adjuster::FirstDayOfMonth => Ok(date.first_of_month()),
            Adjuster::LastDayOfMonth => Ok(date.last_of_month()),
            Adjuster::FirstDayOfNextMonth => add_months(date.first_of_month(), 1),
            Adjuster::FirstDayOfYear => Ok(date.first_of_year()),
            Adjuster::LastDayOfYear => Ok(date.last_of_year()),
            Adjuster::FirstDayOfNextYear => add_months(date.first_of_year(), 12),
            Adjuster::NextOrSame(day) => move_by(date, forward(date, day)),
            Adjuster::Next(day) if date.weekday() == day => move_by(date, 7),
            Adjuster::Next(day) => move_by(date, forward(date, day)),
            Adjuster::PreviousOrSame(day) => move_by(date, -i64::from(day.until(date.weekday()))),
            Adjuster::Previous(day) if date.weekday() == day => move_by(date, -7),
            Adjuster::Previous(day) => move_by(date, -i64::from(day.until(date.weekday()))),
            Adjuster::InMonth(nth, day) if nth >= 0 => {
                let first = date.first_of_month();
                move_by(first, forward(first, day) + (nth - 1) * 7)
            }
            Adjuster::InMonth(nth, day) => {
                let last = date.last_of_month();
                move_by(last, -i64::from(day.until(last.weekday())) + (nth + 1) * 7)
            }
        }
    }
}

/// A date some months later, on the same day or the last of the month.
pub(super) fn add_months(date: Date, months: i64) -> Result<Date, Error> {
    let total = i64::from(date.year()) * 12 + i64::from(date.month()) - 1;
    let total = total.checked_add(months).ok_or_else(out_of_range)?;
    if !(-9999 * 12..10_000 * 12).contains(&total) {
        return Err(out_of_range());
    }
    clamped_date(total.div_euclid(12), total.rem_euclid(12) + 1, i64::from(date.day()))
}

fn add_days(date: Date, days: i64) -> Result<Date, Error> {
    from_epoch_day(epoch_day(date).checked_add(days).ok_or_else(out_of_range)?)
}

fn times(amount: i64, each: i64) -> Result<i64, Error> {
    amount.checked_mul(each).ok_or_else(out_of_range)
}

fn add_to_local(local: DateTime, amount: i64, unit: TimeUnit) -> Result<DateTime, Error> {
    match unit.scale() {
        Scale::Nanos(each) => local_at(local_nanos(local) + i128::from(amount) * each),
        Scale::Days(each) => Ok(add_days(local.date(), times(amount, each)?)?.to_datetime(local.time())),
        Scale::Months(each) => Ok(add_months(local.date(), times(amount, each)?)?.to_datetime(local.time())),
    }
}

/// A duration of so many nanoseconds.
pub fn duration(nanos: i128) -> Result<SignedDuration, Error> {
    SignedDuration::try_from_nanos_i128(nanos).ok_or_else(|| invalid("the duration is too long"))
}

impl Time {
    /// The value `amount` units later.
    pub fn plus(&self, amount: i64, unit: TimeUnit) -> Result<Time, Error> {
        let scale = unit.scale();
        Ok(match (self, scale) {
            (Time::Date(date), Scale::Days(each)) => Time::Date(add_days(*date, times(amount, each)?)?),
            (Time::Date(date), Scale::Months(each)) => Time::Date(add_months(*date, times(amount, each)?)?),
            (Time::DateTime(local), _) => Time::DateTime(add_to_local(*local, amount, unit)?),
            (Time::Clock(time), Scale::Nanos(each)) => {
                Time::Clock(clock_at(nano_of_day(*time) + i128::from(amount) * each % NANOS_PER_DAY))
            }
            (Time::Instant(instant), _) => match unit.nanos() {
                Some(each) if unit <= TimeUnit::Days => {
                    Time::Instant(instant_at(instant.as_nanosecond() + i128::from(amount) * each)?)
                }
                _ => return Err(self.lacks_unit(unit)),
            },
            (Time::Zoned(zoned), Scale::Nanos(each)) => {
                let instant = instant_at(zoned.instant().as_nanosecond() + i128::from(amount) * each)?;
                Time::Zoned(zoned.zone.at(instant).into())
            }
            (Time::Zoned(zoned), _) => {
                let local = add_to_local(zoned.local, amount, unit)?;
                Time::Zoned(zoned.zone.resolve(local, Some(zoned.offset))?.into())
            }
            (Time::OffsetDateTime(local, offset), _) => {
                let local = add_to_local(*local, amount, unit)?;
                zone::checked_instant(local, *offset)?;
                Time::OffsetDateTime(local, *offset)
            }
            (Time::YearMonth(first), Scale::Months(each)) => {
                Time::YearMonth(add_months(*first, times(amount, each)?)?)
            }
            (Time::Year(year), Scale::Months(each)) if unit >= TimeUnit::Years => {
                let total =
                    times(amount, each / 12)?.checked_add(i64::from(*year)).ok_or_else(out_of_range)?;
                Time::Year(in_range(total, -9999..=9999, "year")? as i16)
            }
            (Time::Duration(length), _) => match unit.nanos() {
                Some(each) => Time::Duration(duration(length.as_nanos() + i128::from(amount) * each)?),
                None => return Err(self.lacks_unit(unit)),
            },
            (Time::Period(period), _) => Time::Period(period.plus(amount, unit)?),
            (Time::Constant(constant), _) => Time::Constant(constant.plus(amount)),
            _ => return Err(self.lacks_unit(unit)),
        })
    }

    /// The value an amount (`Duration` or `Period`) later, or earlier when `sign` is -1.
    pub fn plus_amount(&self, amount: &Time, sign: i64) -> Result<Time, Error> {
        match (self, amount) {
            (Time::Duration(a), Time::Duration(b)) => {
                Ok(Time::Duration(duration(a.as_nanos() + i128::from(sign) * b.as_nanos())?))
            }
            (Time::Period(a), Time::Period(b)) => {
                let sum = |x: i32, y: i32| int_part(i64::from(x) + sign * i64::from(y));
                let (years, months) = (sum(a.years, b.years)?, sum(a.months, b.months)?);
                Ok(Time::Period(Period { years, months, days: sum(a.days, b.days)? }))
            }
            (_, Time::Duration(length)) => {
                let whole = self.plus(times(length.as_secs(), sign)?, TimeUnit::Seconds)?;
                whole.plus(sign * i64::from(length.subsec_nanos()), TimeUnit::Nanos)
            }
            (_, Time::Period(period)) => {
                let months = period.total_months();
                let moved = match months {
                    0 => self.clone(),
                    _ => self.plus(sign * months, TimeUnit::Months)?,
                };
                match period.days {
                    0 => Ok(moved),
                    days => moved.plus(sign * i64::from(days), TimeUnit::Days),
                }
            }
            _ => Err(invalid(format!("{} is not an amount of time", amount.type_name()))
                .hint("add a Duration, a Period, or a number with a ChronoUnit")),
        }
    }

    /// The value without what is smaller than the unit.
    pub fn truncated_to(&self, unit: TimeUnit) -> Result<Time, Error> {
        let Some(each) = unit.nanos().filter(|_| unit <= TimeUnit::Days) else {
            return Err(invalid(format!("cannot truncate to {}, only to DAYS or smaller", unit.name())));
        };
        let cut_clock = |local: DateTime| {
            let nanos = nano_of_day(local.time());
            local.date().to_datetime(clock_at(nanos - nanos % each))
        };
        Ok(match self {
            Time::DateTime(local) => Time::DateTime(cut_clock(*local)),
            Time::Clock(time) => {
                let nanos = nano_of_day(*time);
                Time::Clock(clock_at(nanos - nanos % each))
            }
            Time::Instant(instant) => {
                let nanos = instant.as_nanosecond();
                Time::Instant(instant_at(nanos - nanos.rem_euclid(each))?)
            }
            Time::Zoned(zoned) => {
                Time::Zoned(zoned.zone.resolve(cut_clock(zoned.local), Some(zoned.offset))?.into())
            }
            Time::OffsetDateTime(local, offset) => Time::OffsetDateTime(cut_clock(*local), *offset),
            Time::Duration(length) => {
                let nanos = length.as_nanos();
                Time::Duration(duration(nanos - nanos % each)?)
            }
            _ => return Err(self.lacks_unit(unit)),
        })
    }

    /// The value with another date in it; the time of day stays.
    pub fn with_date(&self, date: Date) -> Result<Time, Error> {
        Ok(match self {
            Time::Date(_) => Time::Date(date),
            Time::DateTime(local) => Time::DateTime(date.to_datetime(local.time())),
            Time::Zoned(zoned) => {
                let local = date.to_datetime(zoned.local.time());
                Time::Zoned(zoned.zone.resolve(local, Some(zoned.offset))?.into())
            }
            Time::OffsetDateTime(local, offset) => {
                Time::OffsetDateTime(date.to_datetime(local.time()), *offset)
            }
            _ => return Err(self.lacks_field(Field::EpochDay)),
        })
    }

    /// The value with another time of day in it; the date stays.
    pub fn with_clock(&self, time: jiff::civil::Time) -> Result<Time, Error> {
        Ok(match self {
            Time::Clock(_) => Time::Clock(time),
            Time::DateTime(local) => Time::DateTime(local.date().to_datetime(time)),
            Time::Zoned(zoned) => {
                let local = zoned.local.date().to_datetime(time);
                Time::Zoned(zoned.zone.resolve(local, Some(zoned.offset))?.into())
            }
            Time::OffsetDateTime(local, offset) => {
                Time::OffsetDateTime(local.date().to_datetime(time), *offset)
            }
            _ => return Err(self.lacks_field(Field::NanoOfDay)),
        })
    }
}

impl super::Constant {
    /// A day or month some steps later, going around.
    fn plus(self, amount: i64) -> super::Constant {
        let count = self.class.names().len() as i64;
        let ordinal = (i64::from(self.ordinal) + amount.rem_euclid(count)).rem_euclid(count);
        super::Constant { ordinal: ordinal as u8, ..self }
    }
}

impl Period {
    fn plus(self, amount: i64, unit: TimeUnit) -> Result<Period, Error> {
        let add = |part: i32, more: i64| {
            i64::from(part).checked_add(more).ok_or_else(out_of_range).and_then(int_part)
        };
        Ok(match unit {
            TimeUnit::Days => Period { days: add(self.days, amount)?, ..self },
            TimeUnit::Weeks => Period { days: add(self.days, times(amount, 7)?)?, ..self },
            TimeUnit::Months => Period { months: add(self.months, amount)?, ..self },
            TimeUnit::Years => Period { years: add(self.years, amount)?, ..self },
            _ => return Err(Time::Period(self).lacks_unit(unit)),
        })
    }

    /// Each part times `factor`.
    pub fn times(self, factor: i64) -> Result<Period, Error> {
        let part = |value: i32| times(i64::from(value), factor).and_then(int_part);
        Ok(Period { years: part(self.years)?, months: part(self.months)?, days: part(self.days)? })
    }

    /// The same period with fewer than twelve months beside the years.
    pub fn normalized(self) -> Result<Period, Error> {
        let months = self.total_months();
        Ok(Period { years: int_part(months / 12)?, months: int_part(months % 12)?, days: self.days })
    }
}

/// A part of a period.
pub(super) fn int_part(value: i64) -> Result<i32, Error> {
    i32::try_from(value).map_err(|_| invalid("the period is too long"))
}
