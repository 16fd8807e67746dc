//! `System` and `Thread`: the given clock, and refusals for what a program cannot reach.

use super::super::{Builtin, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

macro_rules! refusals {
    ($($name:literal $params:literal $why:literal, $hint:literal;)*) => {
        [$(native($name, $params, |_, _| {
            Err(Error::new(ErrorKind::Unsupported, $why).hint($hint).into())
        }, concat!("Not available: ", $why, "."), &[]),)*]
    };
}

pub(super) static REFUSALS: &[Builtin] = &refusals! {
    "System/getenv" "[] [name]" "a program cannot see the environment of the machine it runs on",
        "pass what you need in as data";
    "System/exit" "[status]" "a program cannot end its host", "use (return value) or (fail reason)";
    "Thread/sleep" "[millis]" "a program has no time to wait in", "leave the waiting out";
    "Runtime/getRuntime" "[]" "a program cannot see the machine it runs on", "leave it out";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "System/getProperty",
        "[name] [name default]",
        get_property,
        "The separators of lines, files and paths, which are the same everywhere; refuses to say more.",
        &[("(System/getProperty \"line.separator\")", "\"\\n\"")],
    ),
    native(
        "System/currentTimeMillis",
        "[]",
        |heap, _| Ok(heap.now_ms.into()),
        "Milliseconds since 1970, as given to the program when it started.",
        &[("(integer? (System/currentTimeMillis))", "true")],
    ),
    native(
        "System/nanoTime",
        "[]",
        |heap, _| Ok(heap.now_ms.saturating_mul(1_000_000).into()),
        "Nanoseconds of the program's clock, which stands still while it runs.",
        &[("(integer? (System/nanoTime))", "true")],
    ),
    native(
        "System/lineSeparator",
        "[]",
        line_separator,
        "The newline.",
        &[("(System/lineSeparator)", r#""\n""#)],
    ),
    native(
        "System/identityHashCode",
        "[x]",
        |heap, args| Ok(i64::from(super::objects::hash_code(heap, &args[0].clone())?).into()),
        "A hash of the value.",
        &[("(System/identityHashCode nil)", "0")],
    ),
];

fn line_separator(_: &mut Heap, _: &mut [Value]) -> Res {
    Ok("\n".into())
}

fn get_property(_: &mut Heap, args: &mut [Value]) -> Res {
    match args[0].as_str() {
        Some("line.separator") => Ok(Value::str("\n")),
        Some("file.separator") => Ok(Value::str("/")),
        Some("path.separator") => Ok(Value::str(":")),
        _ => Err(Error::new(ErrorKind::Unsupported, "a program cannot see the machine it runs on")
            .hint("pass what you need in as data")
            .into()),
    }
}
