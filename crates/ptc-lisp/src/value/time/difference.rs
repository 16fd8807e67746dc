//! How far two values are apart.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use super::arith::{add_months, duration, int_part};
use super::unit::Scale;
use super::{Period, Time, TimeKind, TimeUnit, Zone, epoch_day, invalid, local_nanos, nano_of_day};
use crate::error::{Error, ErrorKind};

/// Whole months from `a` to `b`.
fn months_between(a: Date, b: Date) -> i64 {
    // Months and days packed into one number count whole months when divided, also backwards.
    let packed =
        |date: Date| (i64::from(date.year()) * 12 + i64::from(date.month()) - 1) * 32 + i64::from(date.day());
    (packed(b) - packed(a)) / 32
}

fn dates_apart(a: Date, b: Date, unit: TimeUnit) -> Option<i64> {
    match unit.scale() {
        Scale::Nanos(_) => None,
        Scale::Days(each) => Some((epoch_day(b) - epoch_day(a)) / each),
        Scale::Months(each) => Some(months_between(a, b) / each),
    }
}

fn locals_apart(a: DateTime, b: DateTime, unit: TimeUnit) -> Result<i64, Error> {
    if let Scale::Nanos(each) = unit.scale() {
        return whole((local_nanos(b) - local_nanos(a)) / each);
    }
    // A day counts only when the time of day has been reached again.
    let (ahead, behind) = (b.date() > a.date(), b.date() < a.date());
    let mut end = epoch_day(b.date());
    if ahead && b.time() < a.time() {
        end -= 1;
    } else if behind && b.time() > a.time() {
        end += 1;
    }
    let end = super::from_epoch_day(end)?;
    Ok(dates_apart(a.date(), end, unit).unwrap_or_default())
}

fn whole(count: i128) -> Result<i64, Error> {
    i64::try_from(count).map_err(|_| invalid("the distance is too large for this unit, use a longer one"))
}

impl Time {
    /// Whole units from this value to `end`, which is converted to this value's type.
    pub fn until(&self, end: &Time, unit: TimeUnit) -> Result<i64, Error> {
        let end = end.to_kind(self.kind()).ok_or_else(|| self.mismatch(end))?;
        match (self, &end) {
            (Time::Date(a), Time::Date(b)) => dates_apart(*a, *b, unit).ok_or_else(|| self.lacks_unit(unit)),
            (Time::DateTime(a), Time::DateTime(b)) => locals_apart(*a, *b, unit),
            (Time::Clock(a), Time::Clock(b)) => match unit.scale() {
                Scale::Nanos(each) => whole((nano_of_day(*b) - nano_of_day(*a)) / each),
                _ => Err(self.lacks_unit(unit)),
            },
            (Time::Instant(a), Time::Instant(b)) => match unit.nanos().filter(|_| unit <= TimeUnit::Days) {
                Some(each) => whole((b.as_nanosecond() - a.as_nanosecond()) / each),
                None => Err(self.lacks_unit(unit)),
            },
            (Time::Zoned(a), Time::Zoned(b)) => match unit.scale() {
                Scale::Nanos(each) => {
                    whole((b.instant().as_nanosecond() - a.instant().as_nanosecond()) / each)
                }
                _ => locals_apart(a.local, a.zone.at(b.instant()).local, unit),
            },
            (Time::OffsetDateTime(a, offset), Time::OffsetDateTime(..)) => {
                let there = Zone::Fixed(*offset).at(end.instant().unwrap_or_default());
                locals_apart(*a, there.local, unit)
            }
            (Time::YearMonth(a), Time::YearMonth(b)) => match unit.scale() {
                Scale::Months(each) => Ok(months_between(*a, *b) / each),
                _ => Err(self.lacks_unit(unit)),
            },
            (Time::Year(a), Time::Year(b)) => match unit.scale() {
                Scale::Months(each) if each >= 12 => Ok((i64::from(*b) - i64::from(*a)) / (each / 12)),
                _ => Err(self.lacks_unit(unit)),
            },
            _ => Err(self.lacks_unit(unit)),
        }
    }

    /// The exact time from this value to `end`: `Duration/between`.
    pub fn duration_until(&self, end: &Time) -> Result<SignedDuration, Error> {
        if matches!(self, Time::Date(_)) {
            let error = Error::new(ErrorKind::Type, "a LocalDate has no time of day to measure");
            return Err(error.hint(
                "use (.between ChronoUnit/DAYS a b), or (Period/between a b), or .atStartOfDay on both",
            ));
        }
        let other = end.to_kind(self.kind()).ok_or_else(|| self.mismatch(end))?;
        let nanos = match (self, &other) {
            (Time::DateTime(a), Time::DateTime(b)) => local_nanos(*b) - local_nanos(*a),
            (Time::Clock(a), Time::Clock(b)) => nano_of_day(*b) - nano_of_day(*a),
            _ => match (self.instant(), other.instant()) {
                (Some(a), Some(b)) => b.as_nanosecond() - a.as_nanosecond(),
                _ => return Err(self.mismatch(end)),
            },
        };
        duration(nanos)
    }

    /// The years, months and days between two dates: `Period/between`.
    pub fn period_until(&self, end: &Time) -> Result<Period, Error> {
        let (Some(a), Some(Time::Date(b))) = (self.date(), end.to_kind(TimeKind::LocalDate)) else {
            return Err(self.mismatch(end));
        };
        let month = |date: Date| i64::from(date.year()) * 12 + i64::from(date.month());
        let mut months = month(b) - month(a);
        let mut days = i64::from(b.day()) - i64::from(a.day());
        if months > 0 && days < 0 {
            months -= 1;
            days = epoch_day(b) - epoch_day(add_months(a, months)?);
        } else if months < 0 && days > 0 {
            months += 1;
            days -= i64::from(b.days_in_month());
        }
        Ok(Period { years: int_part(months / 12)?, months: int_part(months % 12)?, days: int_part(days)? })
    }

    /// The error for two values that cannot be compared or measured against each other.
    pub fn mismatch(&self, other: &Time) -> Error {
        Error::new(
            ErrorKind::Type,
            format!("cannot put a {} together with a {}", self.type_name(), other.type_name()),
        )
        .hint("convert both to one type first, for example with .toLocalDate or .toInstant")
    }
}
