//! `UUID` and `random-uuid`.

use super::super::java_lang::{no_method, whole};
use super::super::{Builtin, args, native};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::time::TimeKind;
use crate::value::{Time, Value};

pub(super) static TABLE: &[Builtin] = &[
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
        |_, args| Ok(Value::time(Time::parse(args::text(args, 0)?, TimeKind::Uuid)?)),
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
