//! `java.util`: `UUID` and `Date`, and the core functions about them.

use super::java_lang::{no_method, whole};
use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{Formatter, Kind, instant_at};
use crate::value::{Time, Value};

pub(super) static TABLES: &[&[Builtin]] = &[UUIDS, DATES];

static UUIDS: &[Builtin] = &[
    native(
        "clojure.core/random-uuid",
        "[]",
        random_uuid,
        "A random UUID from the program's seeded stream.",
        &[("(uuid? (random-uuid))", "true")],
    ),
    native(
        "UUID/randomUUID",
        "[]",
        random_uuid,
        "A random UUID from the program's seeded stream.",
        &[("(uuid? (UUID/randomUUID))", "true")],
    ),
    native(
        "UUID/fromString",
        "[text]",
        |_, args| Ok(Value::time(Time::parse(args::text(args, 0)?, Kind::Uuid)?)),
        "Reads a UUID; raises if the text is none.",
        &[(
            "(str (UUID/fromString \"550e8400-e29b-41d4-a716-446655440000\"))",
            "\"550e8400-e29b-41d4-a716-446655440000\"",
        )],
    ),
    native(
        "UUID.",
        "[high low]",
        |_, args| {
            let half = |at: usize| whole(args, at).map(|half| u128::from(half as u64));
            Ok(Value::time(Time::Uuid(half(0)? << 64 | half(1)?)))
        },
        "A UUID from two integers of 64 bits.",
        &[("(str (UUID. 0 1))", "\"00000000-0000-0000-0000-000000000001\"")],
    ),
    native(
        ".getMostSignificantBits",
        "[uuid]",
        |_, args| Ok(((uuid(args)? >> 64) as i64).into()),
        "The first half of a UUID.",
        &[("(.getMostSignificantBits (UUID. 7 1))", "7")],
    ),
    native(
        ".getLeastSignificantBits",
        "[uuid]",
        |_, args| Ok((uuid(args)? as i64).into()),
        "The second half of a UUID.",
        &[("(.getLeastSignificantBits (UUID. 7 1))", "1")],
    ),
    native(
        ".version",
        "[uuid]",
        |_, args| Ok(((uuid(args)? >> 76 & 15) as i64).into()),
        "The version of a UUID; 4 for random ones.",
        &[("(.version (random-uuid))", "4")],
    ),
];

static DATES: &[Builtin] = &[
    native(
        "Date.",
        "[] [x]",
        new_date,
        "A point in time: now, so many milliseconds after 1970, or read from ISO text.",
        &[
            ("(.getTime (Date. 1000))", "1000"),
            ("(Date. \"2024-01-31\")", "#inst \"2024-01-31T00:00:00.000-00:00\""),
        ],
    ),
    native(
        "Date/from",
        "[instant]",
        |_, args| match &args[0] {
            Value::Time(time) if matches!(**time, Time::Instant(_)) => {
                Ok(date(time.instant().unwrap_or_default().as_nanosecond())?)
            }
            _ => args::fail(args, 0, "an Instant"),
        },
        "The Date of an instant.",
        &[("(.getTime (Date/from (Instant/ofEpochMilli 5)))", "5")],
    ),
    native(
        ".getTime",
        "[date]",
        |_, args| match &args[0] {
            Value::Time(time) => match &**time {
                Time::JavaDate(instant) => Ok(millis(*instant).into()),
                Time::Instant(_) => Err(no_method(args, "Date (an Instant has .toEpochMilli)")),
                _ => Err(no_method(args, "Date")),
            },
            _ => Err(no_method(args, "Date")),
        },
        "Milliseconds since 1970.",
        &[("(.getTime (Date. 1000))", "1000")],
    ),
    native(
        ".before",
        "[date other]",
        |_, args| Ok((in_order(args)?.is_lt()).into()),
        "Whether it comes before.",
        &[("(.before (Date. 1) (Date. 2))", "true")],
    ),
    native(
        ".after",
        "[date other]",
        |_, args| Ok((in_order(args)?.is_gt()).into()),
        "Whether it comes after.",
        &[("(.after (Date. 1) (Date. 2))", "false")],
    ),
    native(
        "clojure.core/inst?",
        "[x]",
        |_, args| Ok(is_inst(&args[0]).into()),
        "Whether x is a Date or an Instant.",
        &[("(inst? #inst \"2024-01-31\")", "true"), ("(inst? 5)", "false")],
    ),
    native(
        "clojure.core/inst-ms",
        "[inst]",
        |_, args| match &args[0] {
            Value::Time(time) if is_inst(&args[0]) => Ok(millis(time.instant().unwrap_or_default()).into()),
            _ => args::fail(args, 0, "a Date or Instant"),
        },
        "Milliseconds since 1970 of a Date or Instant.",
        &[("(inst-ms #inst \"1970-01-01T00:00:01Z\")", "1000")],
    ),
];

fn is_inst(value: &Value) -> bool {
    matches!(value, Value::Time(time) if matches!(**time, Time::JavaDate(_) | Time::Instant(_)))
}

/// Milliseconds since 1970, rounded down as in Java.
fn millis(instant: jiff::Timestamp) -> i64 {
    instant.as_nanosecond().div_euclid(1_000_000) as i64
}

fn random_uuid(heap: &mut Heap, _: &mut [Value]) -> Res {
    let bits = u128::from(heap.random_u64()) << 64 | u128::from(heap.random_u64());
    // Version 4, variant 1: the bits that say "random".
    let bits = bits & !(0xf << 76) | 4 << 76;
    let bits = bits & !(0x3 << 62) | 2 << 62;
    Ok(Value::time(Time::Uuid(bits)))
}

fn uuid(args: &[Value]) -> Res<u128> {
    match &args[0] {
        Value::Time(time) => match **time {
            Time::Uuid(bits) => Ok(bits),
            _ => Err(no_method(args, "UUID")),
        },
        _ => Err(no_method(args, "UUID")),
    }
}

/// A date at so many nanoseconds after 1970; it keeps only milliseconds.
fn date(nanos: i128) -> Res {
    Ok(Value::time(Time::JavaDate(instant_at(nanos.div_euclid(1_000_000) * 1_000_000)?)))
}

fn new_date(heap: &mut Heap, args: &mut [Value]) -> Res {
    match args.first() {
        None => date(i128::from(heap.now_ms) * 1_000_000),
        Some(Value::Str(text)) => {
            heap.work(8 + text.byte_len())?;
            let text = text.as_str();
            let rfc = || {
                let read = Formatter::predefined("RFC_1123_DATE_TIME")?.parse(text).ok()?;
                read.to_kind(Kind::Instant).ok()?.instant()
            };
            match crate::edn::instant(text).or_else(rfc) {
                Some(instant) => date(instant.as_nanosecond()),
                None => {
                    let shown = heap.brief(&args[0]);
                    Err(Error::new(ErrorKind::Format, format!("{shown} is not a date"))
                        .hint("write it like \"2024-01-31\" or \"2024-01-31T10:15:30Z\"")
                        .into())
                }
            }
        }
        Some(Value::Time(time)) if time.instant().is_some() => {
            date(time.instant().unwrap_or_default().as_nanosecond())
        }
        Some(Value::Int(_) | Value::Float(_)) => date(i128::from(whole(args, 0)?) * 1_000_000),
        Some(_) => args::fail(args, 0, "milliseconds or text"),
    }
}

fn in_order(args: &[Value]) -> Res<std::cmp::Ordering> {
    let instant = |at: usize| match &args[at] {
        Value::Time(time) => match &**time {
            Time::JavaDate(instant) => Some(*instant),
            _ => None,
        },
        _ => None,
    };
    match (instant(0), instant(1)) {
        (Some(a), Some(b)) => Ok(a.cmp(&b)),
        (None, _) => Err(no_method(args, "Date (java.time values have .isBefore and .isAfter)")),
        (_, None) => args::fail(args, 1, "a Date"),
    }
}

#[cfg(test)]
mod tests {
    use crate::builtins::trial::check_examples;

    #[test]
    fn examples_hold() {
        super::TABLES.iter().for_each(|table| check_examples(table));
    }
}
