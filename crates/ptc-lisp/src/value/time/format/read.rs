//! Text to fields.

use super::{FormatItem, Formatter, OffsetShape, Parsed, Sign};
use crate::error::{Error, excerpt};
use crate::value::time::Field;
use crate::value::time::constant::TextWidth;
use crate::value::time::parse_iso::unreadable_with;
use crate::value::time::zone::{Zone, parse_offset};

/// What went wrong at a byte of the text.
struct ReadStop {
    at: usize,
    what: String,
}

type ReadStep<T> = Result<T, ReadStop>;

fn stop<T>(at: usize, what: impl Into<String>) -> ReadStep<T> {
    Err(ReadStop { at, what: what.into() })
}

impl Formatter {
    /// Reads a whole text.
    pub fn parse(&self, text: &str) -> Result<Parsed, Error> {
        /// More than any pattern can read.
        const LONGEST: usize = 8000;
        if text.len() > LONGEST {
            return Err(unreadable_with(text, &excerpt(self.source()), "it is too long"));
        }
        let mut reader = TimeReader { formatter: self, text, at: 0, parsed: Parsed::new(self, text) };
        let outcome = reader.items(0, 0).and_then(|_| match text.len() - reader.at {
            0 => Ok(()),
            _ => stop(reader.at, "the end of the text"),
        });
        if let Err(ReadStop { at, what }) = outcome {
            let found = excerpt(&text[at..]);
            let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
            return Err(unreadable_with(
                text,
                &excerpt(self.source()),
                &format!("expected {what}, found {found}"),
            ));
        }
        reader.parsed.resolved()
    }
}

struct TimeReader<'a> {
    formatter: &'a Formatter,
    text: &'a str,
    at: usize,
    parsed: Parsed,
}

impl TimeReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Reads from item `index` to the end of this optional part and returns where that is.
    fn items(&mut self, mut index: usize, depth: usize) -> ReadStep<usize> {
        while let Some(item) = self.formatter.items.get(index) {
            match item {
                FormatItem::OptionalStart => {
                    let kept = (self.at, self.parsed.clone());
                    index = match self.items(index + 1, depth + 1) {
                        Ok(end) => end,
                        Err(_) => {
                            (self.at, self.parsed) = kept;
                            self.formatter.after_optional(index)
                        }
                    };
                    continue;
                }
                FormatItem::OptionalEnd if depth > 0 => return Ok(index + 1),
                FormatItem::OptionalEnd => {}
                _ => self.item(item, index)?,
            }
            index += 1;
        }
        Ok(index)
    }

    fn item(&mut self, item: &FormatItem, index: usize) -> ReadStep<()> {
        match item {
            FormatItem::Literal(text) => self.literal(text),
            FormatItem::Number { field, min, max, sign } => {
                let later = self.width_after(index);
                self.number(*field, usize::from(*min), usize::from(*max), *sign, later)
            }
            FormatItem::TwoDigitYear(field) => {
                let year = 2000 + self.digits(2, 2, "a year of two digits")?;
                self.set(*field, year)
            }
            FormatItem::Fraction { min, max, point } => {
                self.fraction(usize::from(*min), usize::from(*max), *point)
            }
            FormatItem::Text(field, width) => self.name(*field, *width),
            FormatItem::Offset { shape, zero } => self.offset(*shape, zero),
            FormatItem::GmtOffset { .. } => {
                self.literal("GMT")?;
                match self.rest().starts_with(['+', '-']) {
                    true => self.offset(OffsetShape::SecondsColon, ""),
                    false => self.set(Field::OffsetSeconds, 0),
                }
            }
            FormatItem::ZoneId | FormatItem::ZoneName => self.zone(matches!(item, FormatItem::ZoneName)),
            FormatItem::BracketedZone => {
                self.literal("[")?;
                self.zone(false)?;
                self.literal("]")
            }
            FormatItem::Instant => self.instant(),
            FormatItem::OptionalStart | FormatItem::OptionalEnd => Ok(()),
        }
    }

    fn set(&mut self, field: Field, value: i64) -> ReadStep<()> {
        let at = self.at;
        self.parsed.set(field, value).map_err(|what| ReadStop { at, what })
    }

    fn literal(&mut self, text: &str) -> ReadStep<()> {
        let found = self.rest().get(..text.len());
        let same = found.is_some_and(|found| match self.formatter.ignore_case {
            true => found.eq_ignore_ascii_case(text),
            false => found == text,
        });
        if !same {
            return stop(self.at, format!("{:?}", excerpt(text)));
        }
        self.at += text.len();
        Ok(())
    }

    /// How many digits the fixed-width numbers directly behind an item take.
    fn width_after(&self, index: usize) -> usize {
        let behind = self.formatter.items[index + 1..].iter();
        behind
            .map_while(|item| match item {
                FormatItem::Number { min, max, sign: Sign::Never, .. } if min == max => {
                    Some(usize::from(*min))
                }
                FormatItem::Fraction { min, max, point: false } if min == max => Some(usize::from(*min)),
                FormatItem::TwoDigitYear(_) => Some(2),
                _ => None,
            })
            .sum()
    }

    fn number(&mut self, field: Field, min: usize, max: usize, sign: Sign, later: usize) -> ReadStep<()> {
        let label = || format!("a number for {}", field.label());
        let (negative, signed) = match self.rest().as_bytes().first() {
            Some(b'-') if sign != Sign::Never => (true, true),
            Some(b'+') if sign == Sign::ExceedsPad => (false, true),
            _ => (false, false),
        };
        let start = self.at + usize::from(signed);
        let run = self.text[start..].bytes().take_while(u8::is_ascii_digit).count();
        let width = if min == max { max } else { run.saturating_sub(later).max(min).min(max) };
        if width > run || width == 0 {
            return stop(self.at, label());
        }
        if sign == Sign::ExceedsPad && !negative && (width > min) != signed {
            return stop(self.at, format!("{} of {min} digits", label()));
        }
        let value: i64 = self.text[start..start + width].parse().or_else(|_| stop(self.at, label()))?;
        self.at = start + width;
        self.set(field, if negative { -value } else { value })
    }

    fn digits(&mut self, min: usize, max: usize, what: &str) -> ReadStep<i64> {
        let run = self.rest().bytes().take_while(u8::is_ascii_digit).count().min(max);
        if run < min {
            return stop(self.at, what);
        }
        let value = self.rest()[..run].parse().or_else(|_| stop(self.at, what))?;
        self.at += run;
        Ok(value)
    }

    fn fraction(&mut self, min: usize, max: usize, point: bool) -> ReadStep<()> {
        if point {
            if !self.rest().starts_with('.') {
                return if min == 0 { Ok(()) } else { stop(self.at, "a decimal point") };
            }
            self.at += 1;
        }
        let from = self.at;
        let needed = if point { min.max(1) } else { min };
        let value = self.digits(needed, max, "digits of a fraction of a second")?;
        let scale = 9 - (self.at - from);
        self.set(Field::NanoOfSecond, value * 10i64.pow(u32::try_from(scale).unwrap_or(0)))
    }

    fn name(&mut self, field: Field, width: TextWidth) -> ReadStep<()> {
        let range = match field {
            Field::DayOfWeek => 1..=7,
            Field::MonthOfYear => 1..=12,
            Field::QuarterOfYear => 1..=4,
            _ => 0..=1,
        };
        let fits = |text: &str| {
            self.rest().get(..text.len()).is_some_and(|found| match self.formatter.ignore_case {
                true => found.eq_ignore_ascii_case(text),
                false => found == text,
            })
        };
        for value in range {
            let text = super::write::field_text(field, value, width);
            if fits(&text) {
                self.at += text.len();
                return self.set(field, value);
            }
        }
        if field == Field::AmpmOfDay {
            return stop(self.at, "AM or PM");
        }
        let example = super::write::field_text(field, 1, width);
        stop(self.at, format!("a name of {} such as {example:?}", field.label()))
    }

    fn offset(&mut self, shape: OffsetShape, zero: &str) -> ReadStep<()> {
        if !zero.is_empty() && self.literal(zero).is_ok() {
            return self.set(Field::OffsetSeconds, 0);
        }
        let rest = self.rest().as_bytes();
        let pair = |at: usize| rest.get(at..at + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_digit));
        let colon = |at: usize| rest.get(at) == Some(&b':');
        let signed = matches!(rest.first(), Some(b'+' | b'-'));
        let length = match shape {
            _ if !signed || !pair(1) => 0,
            OffsetShape::Hours if pair(3) => 5,
            OffsetShape::Hours => 3,
            OffsetShape::Minutes if pair(3) => 5,
            OffsetShape::MinutesColon if colon(3) && pair(4) => 6,
            OffsetShape::Seconds if pair(3) && pair(5) => 7,
            OffsetShape::Seconds if pair(3) => 5,
            OffsetShape::SecondsColon if colon(3) && pair(4) && colon(6) && pair(7) => 9,
            OffsetShape::SecondsColon if colon(3) && pair(4) => 6,
            // The ISO formats of dates with offsets also take hours alone.
            OffsetShape::SecondsColon if self.formatter.takes_hours() && !pair(3) => 3,
            _ => 0,
        };
        let example = match shape {
            OffsetShape::Hours => "an offset such as +01 or Z",
            OffsetShape::Minutes | OffsetShape::Seconds => "an offset such as +0100",
            _ => "an offset such as +01:00",
        };
        if length == 0 {
            return stop(self.at, example);
        }
        let Ok(offset) = parse_offset(&self.rest()[..length]) else { return stop(self.at, example) };
        self.set(Field::OffsetSeconds, i64::from(offset.seconds()))?;
        self.at += length;
        Ok(())
    }

    fn zone(&mut self, short: bool) -> ReadStep<()> {
        let part = |c: char| c.is_ascii_alphanumeric() || "/_+-:".contains(c);
        /// Longer than any id of a zone.
        const LONGEST: usize = 64;
        let run = self.rest().find(|c| !part(c)).unwrap_or(self.rest().len()).min(LONGEST);
        for end in (1..=run).rev() {
            let id = &self.rest()[..end];
            let found = Zone::parse(id).ok().or_else(|| if short { Zone::by_short_name(id) } else { None });
            if let Some(zone) = found {
                self.at += end;
                self.parsed.zone = Some(zone);
                return Ok(());
            }
        }
        stop(self.at, "a time zone such as Europe/Paris")
    }

    fn instant(&mut self) -> ReadStep<()> {
        let Some(iso) = Formatter::predefined("INSTANT_TEXT") else { return stop(self.at, "an instant") };
        let mut inner =
            TimeReader { formatter: &iso, text: self.text, at: self.at, parsed: self.parsed.clone() };
        inner.items(0, 0)?;
        self.at = inner.at;
        self.parsed = inner.parsed;
        Ok(())
    }
}
