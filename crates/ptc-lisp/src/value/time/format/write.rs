//! Values to text.

use jiff::tz::Offset;

use super::{FormatItem, Formatter, OffsetShape, Sign};
use crate::error::{Error, ErrorKind};
use crate::value::time::constant::{DAYS_FULL, MONTHS_FULL, TextWidth};
use crate::value::time::show::instant_text;
use crate::value::time::{Field, Time, Zone};

impl Formatter {
    /// The text of a value.
    pub fn format(&self, value: &Time) -> Result<String, Error> {
        let zoned;
        let value = match (&self.zone, value) {
            (Some(zone), Time::Instant(instant) | Time::JavaDate(instant)) => {
                zoned = Time::Zoned(zone.at(*instant).into());
                &zoned
            }
            (Some(zone), Time::Zoned(_) | Time::OffsetDateTime(..)) => {
                zoned = Time::Zoned(zone.at(value.instant().unwrap_or_default()).into());
                &zoned
            }
            _ => value,
        };
        let mut out = String::new();
        let end = self.write_items(0, value, &mut out, 0)?;
        debug_assert_eq!(end, self.items.len());
        Ok(out)
    }

    /// Writes from item `at` to the end of this optional part and returns where that is.
    fn write_items(
        &self,
        mut at: usize,
        value: &Time,
        out: &mut String,
        depth: usize,
    ) -> Result<usize, Error> {
        while let Some(item) = self.items.get(at) {
            match item {
                FormatItem::OptionalStart => {
                    let kept = out.len();
                    match self.write_items(at + 1, value, out, depth + 1) {
                        Ok(end) => at = end,
                        Err(_) => {
                            out.truncate(kept);
                            at = self.after_optional(at);
                        }
                    }
                    continue;
                }
                FormatItem::OptionalEnd if depth > 0 => return Ok(at + 1),
                FormatItem::OptionalEnd => {}
                _ => write_item(item, value, out)?,
            }
            at += 1;
        }
        Ok(at)
    }

    /// The place behind the end that matches the optional start at `at`.
    pub(super) fn after_optional(&self, at: usize) -> usize {
        let mut depth = 0;
        for (offset, item) in self.items[at..].iter().enumerate() {
            match item {
                FormatItem::OptionalStart => depth += 1,
                FormatItem::OptionalEnd => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at + offset + 1;
            }
        }
        self.items.len()
    }
}

fn field_of(value: &Time, field: Field) -> Result<i64, Error> {
    value.field(field).ok_or_else(|| value.lacks_field(field))
}

fn write_item(item: &FormatItem, value: &Time, out: &mut String) -> Result<(), Error> {
    match item {
        FormatItem::Literal(text) => out.push_str(text),
        FormatItem::Number { field, min, max, sign } => {
            write_number(field_of(value, *field)?, usize::from(*min), usize::from(*max), *sign, *field, out)?;
        }
        FormatItem::TwoDigitYear(field) => {
            out.push_str(&format!("{:02}", field_of(value, *field)?.rem_euclid(100)));
        }
        FormatItem::Fraction { min, max, point } => {
            let digits = format!("{:09}", field_of(value, Field::NanoOfSecond)?);
            let mut digits = &digits[..usize::from(*max)];
            while digits.len() > usize::from(*min) && digits.ends_with('0') {
                digits = &digits[..digits.len() - 1];
            }
            if *point && !digits.is_empty() {
                out.push('.');
            }
            out.push_str(digits);
        }
        FormatItem::Text(field, width) => out.push_str(&field_text(*field, field_of(value, *field)?, *width)),
        FormatItem::Offset { shape, zero } => {
            let offset = value.offset().ok_or_else(|| value.lacks_field(Field::OffsetSeconds))?;
            out.push_str(&offset_text(offset, *shape, zero));
        }
        FormatItem::GmtOffset { full } => {
            let offset = value.offset().ok_or_else(|| value.lacks_field(Field::OffsetSeconds))?;
            out.push_str(&gmt_text(offset, *full));
        }
        FormatItem::ZoneId => out.push_str(&zone_of(value)?.id()),
        FormatItem::BracketedZone => match zone_of(value)? {
            zone @ Zone::Region(_) => out.push_str(&format!("[{}]", zone.id())),
            Zone::Fixed(_) => {}
        },
        FormatItem::ZoneName => {
            let instant = value.instant().unwrap_or_default();
            out.push_str(&zone_of(value)?.abbreviation(instant));
        }
        FormatItem::Instant => {
            let instant = value.instant().ok_or_else(|| value.lacks_field(Field::InstantSeconds))?;
            out.push_str(&instant_text(instant));
        }
        FormatItem::OptionalStart | FormatItem::OptionalEnd => {}
    }
    Ok(())
}

fn zone_of(value: &Time) -> Result<Zone, Error> {
    value.zone().ok_or_else(|| {
        Error::new(ErrorKind::IllegalArgument, format!("{} has no time zone", value.type_name()))
            .hint("give it one with .atZone, or leave the zone letters out of the pattern")
    })
}

fn write_number(
    value: i64,
    min: usize,
    max: usize,
    sign: Sign,
    field: Field,
    out: &mut String,
) -> Result<(), Error> {
    let digits = value.unsigned_abs().to_string();
    if digits.len() > max || (value < 0 && sign == Sign::Never) {
        let message = format!("the {} {value} does not fit {max} digits", field.label());
        return Err(Error::new(ErrorKind::IllegalArgument, message));
    }
    if value < 0 {
        out.push('-');
    } else if sign == Sign::ExceedsPad && digits.len() > min {
        out.push('+');
    }
    out.push_str(&format!("{digits:0>min$}"));
    Ok(())
}

/// The English text of a field's value.
pub(super) fn field_text(field: Field, value: i64, width: TextWidth) -> String {
    let at = usize::try_from(value).unwrap_or_default();
    let name =
        |names: &[&'static str], at: usize| names.get(at).map_or("", |name| width.cut(name)).to_owned();
    match field {
        Field::DayOfWeek => name(&DAYS_FULL, at.wrapping_sub(1)),
        Field::MonthOfYear => name(&MONTHS_FULL, at.wrapping_sub(1)),
        Field::AmpmOfDay => if value == 0 { "AM" } else { "PM" }.to_owned(),
        Field::Era => match (width, value) {
            (TextWidth::Full, 1) => "Anno Domini".into(),
            (TextWidth::Full, _) => "Before Christ".into(),
            (TextWidth::Short, 1) => "AD".into(),
            (TextWidth::Short, _) => "BC".into(),
            (TextWidth::Narrow, 1) => "A".into(),
            (TextWidth::Narrow, _) => "B".into(),
        },
        Field::QuarterOfYear => match width {
            TextWidth::Full => {
                let ending = ["st", "nd", "rd", "th"].get(at.wrapping_sub(1)).copied().unwrap_or("th");
                format!("{value}{ending} quarter")
            }
            TextWidth::Short => format!("Q{value}"),
            TextWidth::Narrow => value.to_string(),
        },
        _ => value.to_string(),
    }
}

fn offset_text(offset: Offset, shape: OffsetShape, zero: &str) -> String {
    let total = offset.seconds();
    if total == 0 {
        return zero.to_owned();
    }
    let sign = if total < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (total.abs() / 3600, total.abs() / 60 % 60, total.abs() % 60);
    match shape {
        OffsetShape::Hours if minutes == 0 => format!("{sign}{hours:02}"),
        OffsetShape::Hours | OffsetShape::Minutes => format!("{sign}{hours:02}{minutes:02}"),
        OffsetShape::MinutesColon => format!("{sign}{hours:02}:{minutes:02}"),
        OffsetShape::Seconds if seconds == 0 => format!("{sign}{hours:02}{minutes:02}"),
        OffsetShape::Seconds => format!("{sign}{hours:02}{minutes:02}{seconds:02}"),
        OffsetShape::SecondsColon if seconds == 0 => format!("{sign}{hours:02}:{minutes:02}"),
        OffsetShape::SecondsColon => format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

fn gmt_text(offset: Offset, full: bool) -> String {
    let total = offset.seconds();
    if total == 0 {
        return "GMT".into();
    }
    let sign = if total < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (total.abs() / 3600, total.abs() / 60 % 60, total.abs() % 60);
    let mut text = match full {
        true => format!("GMT{sign}{hours:02}:{minutes:02}"),
        false if minutes == 0 && seconds == 0 => format!("GMT{sign}{hours}"),
        false => format!("GMT{sign}{hours}:{minutes:02}"),
    };
    if seconds != 0 {
        text += &format!(":{seconds:02}");
    }
    text
}
