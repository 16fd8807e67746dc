//! `DateTimeFormatter`, and the text of values through one.

use super::super::java_lang::{delegate, format_number, no_method};
use super::super::java_util::parse_legacy;
use super::super::{Builtin, args, constant, native};
use super::{any_time, constant_of, receiver, zone};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Class, Formatter, Zone};
use crate::value::{Time, Value};

macro_rules! predefined {
    ($($name:literal $source:literal => $shown:literal;)*) => {
        &[$(constant(
            concat!("DateTimeFormatter/", $name),
            |heap| Formatter::predefined($name).map_or(Value::Nil, |made| formatter_value(heap, made)),
            "A predefined format for .format and parse.",
            &[(concat!("(.format ", $source, " DateTimeFormatter/", $name, ")"), $shown)],
        )),*]
    };
}

pub(super) static PREDEFINED: &[Builtin] = predefined! {
    "ISO_LOCAL_DATE" "(LocalDate/of 2024 1 31)" => "\"2024-01-31\"";
    "ISO_DATE" "(LocalDate/of 2024 1 31)" => "\"2024-01-31\"";
    "BASIC_ISO_DATE" "(LocalDate/of 2024 1 31)" => "\"20240131\"";
    "ISO_WEEK_DATE" "(LocalDate/of 2024 1 31)" => "\"2024-W05-3\"";
    "ISO_ORDINAL_DATE" "(LocalDate/of 2024 1 31)" => "\"2024-031\"";
    "ISO_LOCAL_TIME" "(LocalTime/of 10 15)" => "\"10:15:00\"";
    "ISO_TIME" "(LocalTime/of 10 15)" => "\"10:15:00\"";
    "ISO_LOCAL_DATE_TIME" "(LocalDateTime/of 2024 1 31 10 15)" => "\"2024-01-31T10:15:00\"";
    "ISO_DATE_TIME" "(LocalDateTime/of 2024 1 31 10 15)" => "\"2024-01-31T10:15:00\"";
    "ISO_OFFSET_DATE" "(ZonedDateTime/parse \"2024-01-31T10:15+01:00\")" => "\"2024-01-31+01:00\"";
    "ISO_OFFSET_TIME" "(ZonedDateTime/parse \"2024-01-31T10:15+01:00\")" => "\"10:15:00+01:00\"";
    "ISO_OFFSET_DATE_TIME" "(ZonedDateTime/parse \"2024-01-31T10:15+01:00\")" => "\"2024-01-31T10:15:00+01:00\"";
    "ISO_ZONED_DATE_TIME" "(ZonedDateTime/parse \"2024-01-31T10:15Z\")" => "\"2024-01-31T10:15:00Z\"";
    "ISO_INSTANT" "(ZonedDateTime/parse \"2024-01-31T10:15+01:00\")" => "\"2024-01-31T09:15:00Z\"";
    "RFC_1123_DATE_TIME" "(ZonedDateTime/parse \"2024-01-31T10:15Z\")" => "\"Wed, 31 Jan 2024 10:15:00 GMT\"";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "DateTimeFormatter/ofPattern",
        "[pattern] [pattern locale]",
        |heap, args| {
            let pattern = args::text(args, 0)?;
            heap.work(8 + pattern.len())?;
            let made = Formatter::of_pattern(pattern)?;
            Ok(formatter_value(heap, made))
        },
        "A format from letters: yyyy MM dd HH mm ss, MMM and EEE for names, a for AM or PM, \
         XXX for an offset, VV for a zone; other text in single quotes, optional parts in brackets.",
        &[(
            "(.format (LocalDate/of 2024 1 31) (DateTimeFormatter/ofPattern \"EEE d MMM yyyy\"))",
            "\"Wed 31 Jan 2024\"",
        )],
    ),
    native(
        "DateTimeFormatter/ofLocalizedDate",
        "[style]",
        localized_date,
        "The American way to write a date.",
        &[(
            "(.format (LocalDate/of 2024 1 31) (DateTimeFormatter/ofLocalizedDate FormatStyle/LONG))",
            "\"January 31, 2024\"",
        )],
    ),
    native(
        ".format",
        "[temporal formatter]",
        |heap, args| match &args[0] {
            Value::Str(_) => delegate(heap, "clojure.core/format", args),
            Value::Cell(_) => format_number(heap, args),
            _ => format(heap, args),
        },
        "The text of a date or time through a DateTimeFormatter; either may come first.",
        &[(
            "(.format (LocalDate/of 2024 1 31) (DateTimeFormatter/ofPattern \"dd.MM.yyyy\"))",
            "\"31.01.2024\"",
        )],
    ),
    native(
        ".parse",
        "[formatter text]",
        parse,
        "Reads text as the richest date or time that it holds.",
        &[("(.parse (DateTimeFormatter/ofPattern \"dd.MM.yyyy\") \"31.01.2024\")", "\"2024-01-31\"")],
    ),
    native(
        ".withZone",
        "[formatter zone]",
        |heap, args| {
            let made = formatter(args, 0)?.clone().with_zone(zone(args, 1)?);
            heap.work(8 + made.source().len())?;
            Ok(formatter_value(heap, made))
        },
        "The formatter with a zone for values and texts that have none.",
        &[(
            "(.format (.withZone (DateTimeFormatter/ofPattern \"HH:mm\") ZoneOffset/UTC) Instant/EPOCH)",
            "\"00:00\"",
        )],
    ),
    native(
        ".withLocale",
        "[formatter locale]",
        |_, args| {
            formatter(args, 0)?;
            Ok(args::take(args, 0))
        },
        "The formatter itself: names are always English.",
        &[("(= DateTimeFormatter/ISO_DATE (.withLocale DateTimeFormatter/ISO_DATE Locale/US))", "true")],
    ),
    native(
        ".getDisplayName",
        "[x style] [x style locale]",
        display_name,
        "The English name of a day or month.",
        &[
            ("(.getDisplayName DayOfWeek/MONDAY TextStyle/SHORT Locale/ENGLISH)", "\"Mon\""),
            ("(.getDisplayName Month/MAY TextStyle/FULL Locale/US)", "\"May\""),
        ],
    ),
];

fn formatter(args: &[Value], at: usize) -> Res<&Formatter> {
    match &args[at] {
        Value::Time(time) => match &**time {
            Time::Formatter(formatter) => Ok(formatter),
            _ => args::fail(args, at, "a DateTimeFormatter"),
        },
        _ if at == 0 => Err(no_method(args, "DateTimeFormatter")),
        _ => args::fail(args, at, "a DateTimeFormatter such as (DateTimeFormatter/ofPattern \"yyyy-MM-dd\")"),
    }
}

fn format(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (made, value) = match receiver(args, "a date, time or DateTimeFormatter")? {
        Time::Formatter(made) => (&**made, any_time(args, 1)?),
        value => (formatter(args, 1)?, value),
    };
    let text = made.format(value)?;
    heap.work(8 + text.len())?;
    heap.reserve(text.len())?;
    Ok(text.into())
}

fn parse(heap: &mut Heap, args: &mut [Value]) -> Res {
    let made = formatter(args, 0)?;
    let text = args::text(args, 1)?;
    heap.work(8 + text.len())?;
    if made.is_legacy() {
        return parse_legacy(made, text);
    }
    Ok(Value::time(made.parse(text)?.best()?))
}

fn localized_date(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(style) = constant_of(args, 0, Class::FormatStyle) else {
        return args::fail(args, 0, "a FormatStyle such as FormatStyle/MEDIUM");
    };
    let pattern = match style.name() {
        "FULL" => "EEEE, MMMM d, y",
        "LONG" => "MMMM d, y",
        "MEDIUM" => "MMM d, y",
        _ => "M/d/yy",
    };
    Ok(formatter_value(heap, Formatter::of_pattern(pattern)?))
}

/// A new formatter as a value. Its pattern is short, but there may be many.
pub(in super::super) fn formatter_value(heap: &mut Heap, made: Formatter) -> Value {
    heap.allocated(made.bytes());
    Value::time(Time::Formatter(made.into()))
}

fn display_name(_: &mut Heap, args: &mut [Value]) -> Res {
    const NAMED: &str = "DayOfWeek, Month or ZoneId";
    let Some(width) = constant_of(args, 1, Class::TextStyle).and_then(|style| style.text_width()) else {
        return args::fail(args, 1, "a TextStyle such as TextStyle/SHORT");
    };
    match receiver(args, NAMED)? {
        Time::Constant(constant) => match constant.display_name(width) {
            Some(name) => Ok(name.into()),
            None => Err(no_method(args, NAMED)),
        },
        Time::Zone(zone @ (Zone::Fixed(_) | Zone::Region(_))) => Ok(zone.id().into()),
        _ => Err(no_method(args, NAMED)),
    }
}
