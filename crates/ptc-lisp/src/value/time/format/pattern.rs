//! Reading Java's pattern letters.

use super::{FormatItem, Formatter, OffsetShape, Sign};
use crate::error::{Error, ErrorKind, excerpt};
use crate::value::time::Field;
use crate::value::time::constant::TextWidth;

/// Longer patterns are refused: nobody writes them, and each formatter keeps its items.
const LONGEST: usize = 1000;

fn wrong(pattern: &str, what: String) -> Error {
    let shown = excerpt(pattern);
    Error::new(ErrorKind::IllegalArgument, format!("{what} in the pattern {shown:?}"))
}

impl Formatter {
    /// `DateTimeFormatter/ofPattern`.
    pub fn of_pattern(pattern: &str) -> Result<Formatter, Error> {
        if pattern.len() > LONGEST {
            return Err(wrong(pattern, format!("more than {LONGEST} bytes")));
        }
        let mut items = Vec::new();
        let mut open = 0;
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            let run = rest.len() - rest.trim_start_matches(first).len();
            match first {
                'a'..='z' | 'A'..='Z' => {
                    items.push(letters(pattern, first, run)?);
                    rest = &rest[run..];
                    continue;
                }
                '\'' => {
                    let (text, after) = quoted(&rest[1..])
                        .ok_or_else(|| wrong(pattern, "a quoted text without its end".into()))?;
                    push_literal(&mut items, &text);
                    rest = after;
                    continue;
                }
                '[' => {
                    open += 1;
                    items.push(FormatItem::OptionalStart);
                }
                ']' if open > 0 => {
                    open -= 1;
                    items.push(FormatItem::OptionalEnd);
                }
                ']' => return Err(wrong(pattern, "a ] without its [".into())),
                '{' | '}' | '#' => return Err(wrong(pattern, format!("the reserved character {first}"))),
                _ => push_literal(&mut items, first.encode_utf8(&mut [0; 4])),
            }
            rest = &rest[first.len_utf8()..];
        }
        items.extend((0..open).map(|_| FormatItem::OptionalEnd));
        items.shrink_to_fit();
        Ok(Formatter {
            source: pattern.into(),
            items,
            strict: false,
            ignore_case: false,
            zone: None,
            legacy: false,
        })
    }
}

fn push_literal(items: &mut Vec<FormatItem>, text: &str) {
    match items.last_mut() {
        Some(FormatItem::Literal(before)) => before.push_str(text),
        _ => items.push(FormatItem::Literal(text.into())),
    }
}

/// The text up to the closing quote, two quotes standing for one; and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix('\'') {
        return Some(("'".into(), rest));
    }
    let mut out = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('\'')?;
        out.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('\'') {
            Some(after) => {
                out.push('\'');
                rest = after;
            }
            None => return Some((out, rest)),
        }
    }
}

fn letters(pattern: &str, letter: char, count: usize) -> Result<FormatItem, Error> {
    let too_many = || wrong(pattern, format!("too many letters {letter} ({count})"));
    let width = u8::try_from(count).map_err(|_| too_many())?;
    let number = |field: Field, most: u8| match width {
        1 => Ok(FormatItem::Number { field, min: 1, max: 19, sign: Sign::Normal }),
        _ if width <= most => Ok(FormatItem::Number { field, min: width, max: width, sign: Sign::Never }),
        _ => Err(too_many()),
    };
    let text = |field: Field, letters: u8| match letters {
        3 => Ok(FormatItem::Text(field, TextWidth::Short)),
        4 => Ok(FormatItem::Text(field, TextWidth::Full)),
        5 => Ok(FormatItem::Text(field, TextWidth::Narrow)),
        _ => Err(too_many()),
    };
    let year = |field: Field| match width {
        2 => Ok(FormatItem::TwoDigitYear(field)),
        1..4 => Ok(FormatItem::Number { field, min: width, max: 19, sign: Sign::Normal }),
        4..=19 => Ok(FormatItem::Number { field, min: width, max: 19, sign: Sign::ExceedsPad }),
        _ => Err(too_many()),
    };
    let offset = |shape: OffsetShape, zero: &'static str| Ok(FormatItem::Offset { shape, zero });
    let shapes = [
        OffsetShape::Hours,
        OffsetShape::Minutes,
        OffsetShape::MinutesColon,
        OffsetShape::Seconds,
        OffsetShape::SecondsColon,
    ];
    match (letter, width) {
        ('y', _) => year(Field::YearOfEra),
        ('u', _) => year(Field::Year),
        ('Y', _) => year(Field::SundayWeekYear),
        ('M' | 'L', 1..=2) => number(Field::MonthOfYear, 2),
        ('M' | 'L', _) => text(Field::MonthOfYear, width),
        ('Q' | 'q', 1..=2) => number(Field::QuarterOfYear, 2),
        ('Q' | 'q', _) => text(Field::QuarterOfYear, width),
        ('d', _) => number(Field::DayOfMonth, 2),
        ('D', _) => number(Field::DayOfYear, 3),
        ('E', 1..=3) => text(Field::DayOfWeek, 3),
        ('E', _) => text(Field::DayOfWeek, width),
        ('e', 1..=2) | ('c', 1) => number(Field::SundayDayOfWeek, 2),
        ('e' | 'c', 3..) => text(Field::DayOfWeek, width),
        ('w', _) => number(Field::SundayWeekOfYear, 2),
        ('W', 1) => number(Field::SundayWeekOfMonth, 1),
        ('F', 1) => number(Field::AlignedDayOfWeekInMonth, 1),
        ('G', 1..=3) => text(Field::Era, 3),
        ('G', _) => text(Field::Era, width),
        ('a', 1) => text(Field::AmpmOfDay, 3),
        ('H', _) => number(Field::HourOfDay, 2),
        ('k', _) => number(Field::ClockHourOfDay, 2),
        ('K', _) => number(Field::HourOfAmpm, 2),
        ('h', _) => number(Field::ClockHourOfAmpm, 2),
        ('m', _) => number(Field::MinuteOfHour, 2),
        ('s', _) => number(Field::SecondOfMinute, 2),
        ('S', 1..=9) => Ok(FormatItem::Fraction { min: width, max: width, point: false }),
        ('n', _) => {
            Ok(FormatItem::Number { field: Field::NanoOfSecond, min: width, max: 19, sign: Sign::Never })
        }
        ('N', _) => {
            Ok(FormatItem::Number { field: Field::NanoOfDay, min: width, max: 19, sign: Sign::Never })
        }
        ('A', _) => {
            Ok(FormatItem::Number { field: Field::MilliOfDay, min: width, max: 19, sign: Sign::Never })
        }
        ('X', 1..=5) => offset(shapes[usize::from(width) - 1], "Z"),
        ('x', 1..=5) => offset(
            shapes[usize::from(width) - 1],
            ["+00", "+0000", "+00:00", "+0000", "+00:00"][usize::from(width) - 1],
        ),
        ('Z', 1..=3) => offset(OffsetShape::Minutes, "+0000"),
        ('Z', 4) | ('O', 4) => Ok(FormatItem::GmtOffset { full: true }),
        ('O', 1) => Ok(FormatItem::GmtOffset { full: false }),
        ('Z', 5) => offset(OffsetShape::SecondsColon, "Z"),
        ('V', 2) => Ok(FormatItem::ZoneId),
        ('V', _) => Err(wrong(pattern, "a zone id that is not written VV".into())),
        ('z' | 'v', 1..=3) => Ok(FormatItem::ZoneName),
        ('z' | 'v', 4) => Err(wrong(pattern, format!("full zone names ({letter} four times)"))
            .hint("use z for a short name like CET, or VV for a zone id like Europe/Paris")),
        _ if "yuYMLQqdDEecwWFGaHkKhmsSXxZOVzv".contains(letter) => Err(too_many()),
        _ => Err(wrong(pattern, format!("the unknown letter {letter}"))
            .hint("put plain text in single quotes: \"yyyy-MM-dd'T'HH:mm\"")),
    }
}
