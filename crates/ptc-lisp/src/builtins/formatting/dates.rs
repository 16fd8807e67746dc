//! `%t…`: a part of a date or time, written by the pattern that means the same.

use super::directive::Directive;
use crate::error::{Error, ErrorKind};
use crate::signal::Res;
use crate::value::time::{Formatter, instant_at};
use crate::value::{Time, Value};

/// The letter after `%t` and the pattern of a `DateTimeFormatter` that writes the same.
const PATTERNS: &[(char, &str)] = &[
    ('Y', "uuuu"),
    ('y', "uu"),
    ('m', "MM"),
    ('d', "dd"),
    ('e', "d"),
    ('j', "DDD"),
    ('B', "MMMM"),
    ('b', "MMM"),
    ('h', "MMM"),
    ('A', "EEEE"),
    ('a', "EEE"),
    ('H', "HH"),
    ('k', "H"),
    ('I', "hh"),
    ('l', "h"),
    ('M', "mm"),
    ('S', "ss"),
    ('L', "SSS"),
    ('N', "SSSSSSSSS"),
    ('p', "a"),
    ('z', "xx"),
    ('Z', "z"),
    ('F', "uuuu-MM-dd"),
    ('D', "MM/dd/uu"),
    ('T', "HH:mm:ss"),
    ('R', "HH:mm"),
    ('r', "hh:mm:ss a"),
    ('c', "EEE MMM dd HH:mm:ss z uuuu"),
];

/// Whether there is such a letter.
pub(super) fn is_known(letter: char) -> bool {
    matches!(letter, 's' | 'Q' | 'C') || PATTERNS.iter().any(|(known, _)| *known == letter)
}

/// The part of a date, time, `Date` or count of milliseconds that a directive asks for.
pub(super) fn part(directive: &Directive<'_>, value: &Value) -> Res<String> {
    let made;
    let time = match value {
        Value::Time(time) => match &**time {
            // These have no fields of their own; Java shows them in the default zone.
            Time::JavaDate(instant) => {
                made = in_utc(instant.as_nanosecond())?;
                &made
            }
            time => time,
        },
        Value::Int(millis) => {
            made = in_utc(i128::from(*millis) * 1_000_000)?;
            &made
        }
        _ => return Err(super::unfit(directive, value, "%t… shows dates and times").into()),
    };
    let letter = directive.part.unwrap_or_default();
    let instant = || time.instant().ok_or_else(|| lacking(directive, time));
    match letter {
        's' => Ok(instant()?.as_second().to_string()),
        'Q' => Ok(instant()?.as_millisecond().to_string()),
        'C' => {
            let year = time.date().ok_or_else(|| lacking(directive, time))?.year();
            Ok(format!("{:02}", year / 100))
        }
        _ => {
            let pattern =
                PATTERNS.iter().find(|(known, _)| *known == letter).map_or("", |(_, pattern)| *pattern);
            let text = Formatter::of_pattern(pattern)?.format(time)?;
            Ok(if letter == 'p' { text.to_lowercase() } else { text })
        }
    }
}

fn in_utc(nanos: i128) -> Result<Time, Error> {
    Ok(Time::Zoned(crate::value::time::Zone::UTC.at(instant_at(nanos)?).into()))
}

fn lacking(directive: &Directive<'_>, time: &Time) -> Error {
    let message = format!("`{}` needs more than a {} says", directive.source, time.type_name());
    Error::new(ErrorKind::IllegalArgument, message)
}
