//! Making `Instant`, `ZonedDateTime`, `OffsetDateTime`, `ZoneId` and `ZoneOffset`.

use jiff::Timestamp;

use super::super::java_lang::whole;
use super::super::{Builtin, args, constant, native};
use super::local::{local_parts, of_instant};
use super::{from, now, now_as, offset, parse, wanted, zone};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::{TimeKind, Zone, checked_instant, instant_at, offset_of};
use crate::value::{Time, Value};

pub(super) static INSTANTS: &[Builtin] = &[
    native(
        "Instant/now",
        "[]",
        |heap, _| Ok(Value::time(Time::Instant(now(heap)))),
        "The instant that the program's clock shows.",
        &[("(= (Instant/now) (Instant/now))", "true")],
    ),
    native(
        "Instant/parse",
        "[text]",
        |heap, args| parse(heap, args, TimeKind::Instant),
        "Reads an instant such as 2024-01-31T10:15:30Z.",
        &[("(Instant/parse \"2024-01-31T10:15:30Z\")", "\"2024-01-31T10:15:30Z\"")],
    ),
    native(
        "Instant/ofEpochMilli",
        "[millis]",
        |_, args| instant(i128::from(whole(args, 0)?) * 1_000_000),
        "The instant so many milliseconds after 1970.",
        &[("(Instant/ofEpochMilli 1000)", "\"1970-01-01T00:00:01Z\"")],
    ),
    native(
        "Instant/ofEpochSecond",
        "[second] [second nano]",
        |_, args| {
            let nano = if args.len() > 1 { whole(args, 1)? } else { 0 };
            instant(i128::from(whole(args, 0)?) * 1_000_000_000 + i128::from(nano))
        },
        "The instant so many seconds after 1970.",
        &[("(Instant/ofEpochSecond 60)", "\"1970-01-01T00:01:00Z\"")],
    ),
    native(
        "Instant/from",
        "[temporal]",
        |_, args| from(args, TimeKind::Instant),
        "The instant of another value.",
        &[("(Instant/from (ZonedDateTime/parse \"2024-01-31T10:15+01:00\"))", "\"2024-01-31T09:15:00Z\"")],
    ),
    constant(
        "Instant/EPOCH",
        |_| Value::time(Time::Instant(Timestamp::UNIX_EPOCH)),
        "The start of 1970.",
        &[("Instant/EPOCH", "\"1970-01-01T00:00:00Z\"")],
    ),
    constant(
        "Instant/MIN",
        |_| Value::time(Time::Instant(Timestamp::MIN)),
        "The first instant that can be represented.",
        &[("(.isBefore Instant/MIN Instant/EPOCH)", "true")],
    ),
    constant(
        "Instant/MAX",
        |_| Value::time(Time::Instant(Timestamp::MAX)),
        "The last instant that can be represented.",
        &[("(.isAfter Instant/MAX Instant/EPOCH)", "true")],
    ),
];

pub(super) static ZONED: &[Builtin] = &[
    native(
        "ZonedDateTime/of",
        "[date-time zone] [date time zone] [year month day hour minute second nano zone]",
        |_, args| {
            let (local, zone) = local_and_zone(args)?;
            Ok(Value::time(Time::Zoned(zone.resolve(local, None)?.into())))
        },
        "A date and time in a zone.",
        &[(
            "(ZonedDateTime/of 2024 7 1 10 0 0 0 (ZoneId/of \"Europe/Paris\"))",
            "\"2024-07-01T10:00+02:00[Europe/Paris]\"",
        )],
    ),
    native(
        "ZonedDateTime/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::ZonedDateTime),
        "Reads a date and time with a zone or offset, or one that follows a DateTimeFormatter.",
        &[("(ZonedDateTime/parse \"2024-01-31T10:15+01:00\")", "\"2024-01-31T10:15+01:00\"")],
    ),
    native(
        "ZonedDateTime/ofInstant",
        "[instant zone]",
        |_, args| of_instant(args, TimeKind::ZonedDateTime),
        "An instant as clocks in a zone show it.",
        &[("(ZonedDateTime/ofInstant Instant/EPOCH ZoneOffset/UTC)", "\"1970-01-01T00:00Z\"")],
    ),
    native(
        "ZonedDateTime/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::ZonedDateTime),
        "Date and time by the program's clock, in UTC or a zone.",
        &[("(= (ZonedDateTime/now) (ZonedDateTime/now ZoneOffset/UTC))", "true")],
    ),
    native(
        "ZonedDateTime/from",
        "[temporal]",
        |_, args| from(args, TimeKind::ZonedDateTime),
        "Another value as a ZonedDateTime.",
        &[("(ZonedDateTime/from (OffsetDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15Z\"")],
    ),
    native(
        "OffsetDateTime/of",
        "[date-time offset] [date time offset] [year month day hour minute second nano offset]",
        |_, args| {
            let (local, _) = local_and_zone(args)?;
            let offset = offset(args, args.len() - 1)?;
            checked_instant(local, offset)?;
            Ok(Value::time(Time::OffsetDateTime(local, offset)))
        },
        "A date and time at an offset.",
        &[(
            "(OffsetDateTime/of (LocalDateTime/of 2024 1 31 10 15) (ZoneOffset/ofHours 1))",
            "\"2024-01-31T10:15+01:00\"",
        )],
    ),
    native(
        "OffsetDateTime/parse",
        "[text] [text formatter]",
        |heap, args| parse(heap, args, TimeKind::OffsetDateTime),
        "Reads a date and time with an offset, or one that follows a DateTimeFormatter.",
        &[("(OffsetDateTime/parse \"2024-01-31T10:15:00Z\")", "\"2024-01-31T10:15Z\"")],
    ),
    native(
        "OffsetDateTime/ofInstant",
        "[instant zone]",
        |_, args| of_instant(args, TimeKind::OffsetDateTime),
        "An instant as clocks in a zone show it.",
        &[("(OffsetDateTime/ofInstant Instant/EPOCH ZoneOffset/UTC)", "\"1970-01-01T00:00Z\"")],
    ),
    native(
        "OffsetDateTime/now",
        "[] [zone]",
        |heap, args| now_as(heap, args, TimeKind::OffsetDateTime),
        "Date and time by the program's clock, in UTC or a zone.",
        &[("(= (OffsetDateTime/now) (OffsetDateTime/now ZoneOffset/UTC))", "true")],
    ),
    native(
        "OffsetDateTime/from",
        "[temporal]",
        |_, args| from(args, TimeKind::OffsetDateTime),
        "Another value as an OffsetDateTime.",
        &[("(OffsetDateTime/from (ZonedDateTime/parse \"2024-01-31T10:15Z\"))", "\"2024-01-31T10:15Z\"")],
    ),
];

pub(super) static ZONES: &[Builtin] = &[
    native(
        "ZoneId/of",
        "[id]",
        |heap, args| {
            heap.work(8)?;
            Ok(Value::time(Time::Zone(Zone::parse(args::text(args, 0)?)?)))
        },
        "The zone of an id such as Europe/Paris, UTC or +01:00.",
        &[("(str (ZoneId/of \"Europe/Paris\"))", "\"Europe/Paris\"")],
    ),
    native(
        "ZoneId/systemDefault",
        "[]",
        |_, _| Ok(Value::time(Time::Zone(Zone::parse("UTC")?))),
        "UTC: a program does not see the zone of the machine it runs on.",
        &[("(str (ZoneId/systemDefault))", "\"UTC\"")],
    ),
    native(
        "ZoneId/getAvailableZoneIds",
        "[]",
        zone_ids,
        "The ids of all zones as a set.",
        &[("(contains? (ZoneId/getAvailableZoneIds) \"Europe/Paris\")", "true")],
    ),
    constant(
        "ZoneOffset/UTC",
        |_| Value::time(Time::Zone(Zone::UTC)),
        "No offset.",
        &[("(str ZoneOffset/UTC)", "\"Z\"")],
    ),
    native(
        "ZoneOffset/of",
        "[id]",
        |_, args| {
            let offset = crate::value::time::parse_offset(args::text(args, 0)?)?;
            Ok(Value::time(Time::Zone(Zone::Fixed(offset))))
        },
        "The offset of an id such as +01:00 or Z.",
        &[("(str (ZoneOffset/of \"+01:00\"))", "\"+01:00\"")],
    ),
    native(
        "ZoneOffset/ofHours",
        "[hours]",
        |_, args| fixed(whole(args, 0)?.saturating_mul(3600)),
        "An offset of so many hours.",
        &[("(str (ZoneOffset/ofHours -5))", "\"-05:00\"")],
    ),
    native(
        "ZoneOffset/ofHoursMinutes",
        "[hours minutes]",
        |_, args| {
            fixed(whole(args, 0)?.saturating_mul(3600).saturating_add(whole(args, 1)?.saturating_mul(60)))
        },
        "An offset of so many hours and minutes.",
        &[("(str (ZoneOffset/ofHoursMinutes 5 30))", "\"+05:30\"")],
    ),
    native(
        "ZoneOffset/ofTotalSeconds",
        "[seconds]",
        |_, args| fixed(whole(args, 0)?),
        "An offset of so many seconds.",
        &[("(str (ZoneOffset/ofTotalSeconds 3600))", "\"+01:00\"")],
    ),
];

fn instant(nanos: i128) -> Res {
    Ok(Value::time(Time::Instant(instant_at(nanos)?)))
}

fn fixed(seconds: i64) -> Res {
    Ok(Value::time(Time::Zone(Zone::Fixed(offset_of(seconds)?))))
}

/// The arguments of `of`: the zone stands last, the date and time before it.
fn local_and_zone(args: &[Value]) -> Res<(jiff::civil::DateTime, Zone)> {
    let last = args.len() - 1;
    let local = match last {
        1 => wanted(args, 0, TimeKind::LocalDateTime)?.local().unwrap_or_default(),
        _ => local_parts(args, last)?,
    };
    Ok((local, zone(args, last)?))
}

fn zone_ids(heap: &mut Heap, _: &mut [Value]) -> Res {
    let names = Zone::names();
    heap.work(names.len())?;
    heap.reserve_values(names.len() * 4)?;
    Ok(Value::set_of(names.into_iter().map(Value::from)))
}
