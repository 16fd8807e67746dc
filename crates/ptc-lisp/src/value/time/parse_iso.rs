//! Reading the texts that Java's `parse` methods take without a formatter: durations, periods, and
//! dates and times through the ISO formatters.

use jiff::SignedDuration;

use super::arith::{duration, int_part};
use super::{Formatter, NANOS_PER_DAY, NANOS_PER_SECOND, Period, Time, TimeKind, Zone};
use crate::error::{Error, ErrorKind, excerpt};

/// The error for text that cannot be read as a type.
pub(super) fn unreadable(text: &str, kind: TimeKind, why: &str) -> Error {
    let shown = excerpt(text);
    let message = format!("{shown:?} is not a valid {}{why}", kind.name());
    let error = Error::new(ErrorKind::Format, message);
    match kind {
        TimeKind::LocalDate => error.hint("write the date like \"2024-01-31\", or pass a DateTimeFormatter"),
        TimeKind::LocalDateTime => {
            error.hint("write it like \"2024-01-31T10:15:30\" without a zone, or pass a DateTimeFormatter")
        }
        TimeKind::LocalTime => error.hint("write the time like \"10:15\" or \"10:15:30\""),
        TimeKind::Instant => error.hint("write it like \"2024-01-31T10:15:30Z\""),
        TimeKind::ZonedDateTime => error.hint("write it like \"2024-01-31T10:15:30+01:00[Europe/Paris]\""),
        TimeKind::OffsetDateTime => error.hint("write it like \"2024-01-31T10:15:30+01:00\""),
        TimeKind::Duration => error.hint("write it like \"PT1H30M\" or \"P2DT3H\""),
        TimeKind::Period => error.hint("write it like \"P1Y2M10D\" or \"P2W\""),
        TimeKind::YearMonth => error.hint("write it like \"2024-01\""),
        _ => error,
    }
}

/// The error for text that does not follow a pattern.
pub(super) fn unreadable_with(text: &str, pattern: &str, why: &str) -> Error {
    let shown = excerpt(text);
    let message = format!("{shown:?} does not fit {pattern}: {why}");
    let error = Error::new(ErrorKind::Format, message);
    let has_time = text.get(10..11).is_some_and(|part| part == "T" || part == " ");
    match pattern {
        "ISO_LOCAL_DATE" if has_time => error
            .hint("the text has a time too: use LocalDateTime/parse or Instant/parse, or (subs text 0 10)"),
        "ISO_LOCAL_DATE" => error.hint("write the date like \"2024-01-31\", or pass a DateTimeFormatter"),
        "ISO_LOCAL_DATE_TIME" if text.get(10..).is_some_and(|time| time.contains(['Z', '+', '-'])) => error
            .hint("the text has a zone too: use Instant/parse, OffsetDateTime/parse or ZonedDateTime/parse"),
        "ISO_LOCAL_DATE_TIME" if text.len() == 10 => {
            error.hint("the text has no time: use (.atStartOfDay (LocalDate/parse text))")
        }
        "ISO_LOCAL_DATE_TIME" => {
            error.hint("write it like \"2024-01-31T10:15:30\" with a T, or pass a DateTimeFormatter")
        }
        "ISO_INSTANT" if text.len() == 10 => error.hint(
            "the text has no time: use (.toInstant (.atStartOfDay (LocalDate/parse text) ZoneOffset/UTC))",
        ),
        "ISO_INSTANT" if has_time && !text.ends_with('Z') => {
            error.hint("without a zone use (.toInstant (LocalDateTime/parse text) ZoneOffset/UTC)")
        }
        "ISO_INSTANT" => error.hint("write it like \"2024-01-31T10:15:30Z\""),
        _ => error,
    }
}

impl Time {
    /// Reads ISO text as a type, as `Type/parse` does.
    pub fn parse(text: &str, kind: TimeKind) -> Result<Time, Error> {
        match kind {
            TimeKind::Duration => {
                let found = parse_duration(text).ok_or_else(|| unreadable(text, kind, ""))?;
                found.map(Time::Duration)
            }
            TimeKind::Period => {
                let found = parse_period(text).ok_or_else(|| unreadable(text, kind, ""))?;
                found.map(Time::Period)
            }
            TimeKind::ZoneId => Zone::parse(text).map(Time::Zone),
            TimeKind::Uuid => {
                crate::edn::uuid(text).map(Time::Uuid).ok_or_else(|| unreadable(text, kind, ""))
            }
            _ => Formatter::iso_for(kind).parse(text)?.to_kind(kind),
        }
    }
}

/// A signed run of digits and the letter behind it, taken off the front.
fn amount(text: &mut &str) -> Option<(i64, String, char)> {
    let body = text.trim_start_matches(['+', '-']);
    if text.len() - body.len() > 1 {
        return None;
    }
    let negative = text.starts_with('-');
    let end = body.find(|c: char| !c.is_ascii_digit())?;
    let whole: i64 = body.get(..end)?.parse().ok()?;
    let mut rest = &body[end..];
    let mut fraction = String::new();
    if let Some(digits) = rest.strip_prefix(['.', ',']) {
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        fraction = format!("{}{}", if negative { "-" } else { "" }, &digits[..end]);
        rest = &digits[end..];
    }
    let letter = rest.chars().next()?.to_ascii_uppercase();
    *text = &rest[letter.len_utf8()..];
    Some((if negative { -whole } else { whole }, fraction, letter))
}

fn signed_body(text: &str) -> Option<(i64, &str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let rest = rest.strip_prefix(['P', 'p'])?;
    (!rest.is_empty()).then_some((sign, rest))
}

fn parse_duration(text: &str) -> Option<Result<SignedDuration, Error>> {
    let (sign, body) = signed_body(text)?;
    let (mut days, time) = match body.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (body, ""),
    };
    let mut nanos = 0i128;
    if !days.is_empty() {
        let (count, fraction, letter) = amount(&mut days)?;
        if letter != 'D' || !fraction.is_empty() || !days.is_empty() {
            return None;
        }
        nanos += i128::from(count) * NANOS_PER_DAY;
    }
    let (mut time, mut last) = (time, 0);
    while !time.is_empty() {
        let (count, fraction, letter) = amount(&mut time)?;
        let place = ['H', 'M', 'S'].iter().position(|known| *known == letter)? + 1;
        if place <= last || (letter != 'S' && !fraction.is_empty()) || fraction.len() > 10 {
            return None;
        }
        last = place;
        nanos += i128::from(count) * [3600, 60, 1][place - 1] * NANOS_PER_SECOND;
        let digits = fraction.trim_start_matches('-');
        if !digits.is_empty() {
            let part: i128 = format!("{digits:0<9}").parse().ok()?;
            nanos += if fraction.starts_with('-') { -part } else { part };
        }
    }
    Some(duration(i128::from(sign) * nanos))
}

fn parse_period(text: &str) -> Option<Result<Period, Error>> {
    let (sign, mut body) = signed_body(text)?;
    let (mut parts, mut last) = ([0i64; 4], 0);
    while !body.is_empty() {
        let (count, fraction, letter) = amount(&mut body)?;
        let place = ['Y', 'M', 'W', 'D'].iter().position(|known| *known == letter)? + 1;
        if place <= last || !fraction.is_empty() {
            return None;
        }
        last = place;
        parts[place - 1] = count.checked_mul(sign)?;
    }
    let [years, months, weeks, days] = parts;
    let days = weeks.checked_mul(7)?.checked_add(days)?;
    let make = || Ok(Period { years: int_part(years)?, months: int_part(months)?, days: int_part(days)? });
    Some(make())
}
