//! `Pattern`: other names for the functions on regular expressions.

use super::super::java_lang::{delegate, made, no_method};
use super::super::{Builtin, args, native, regexes};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Pattern/compile",
        "[regex]",
        |heap, args| delegate(heap, "clojure.core/re-pattern", args),
        "The pattern that a text spells. Flags stand in the pattern itself: (?i), (?m), (?s), (?x).",
        &[(r#"(Pattern/compile "a+")"#, r##"#"a+""##)],
    ),
    native(
        "Pattern/quote",
        "[text]",
        |heap, args| {
            let text = args::text(args, 0)?;
            let ends = text.matches("\\E").count();
            // What stands between the quotes is made first, and copied.
            made(heap, 2 * (text.len() + 5 * ends + 4))?;
            Ok(format!("\\Q{}\\E", text.replace("\\E", "\\E\\\\E\\Q")).into())
        },
        "The regex that matches a text as it stands.",
        &[(r#"(re-find (re-pattern (Pattern/quote "a.b")) "a.b")"#, r#""a.b""#)],
    ),
    native(
        "Pattern/matches",
        "[regex text]",
        |heap, args| {
            let regex = Value::Regex(regexes::compile(heap, args::text(args, 0)?)?);
            let found = delegate(heap, "clojure.core/re-matches", &mut [regex, args[1].clone()])?;
            Ok((!found.is_nil()).into())
        },
        "Whether a whole text matches a regex.",
        &[(r#"(Pattern/matches "\\d+" "2024")"#, "true")],
    ),
    native(
        ".matcher",
        "[pattern text]",
        |heap, args| match &args[0] {
            Value::Regex(_) => delegate(heap, "clojure.core/re-matcher", args),
            _ => Err(no_method(args, "a pattern")),
        },
        "A matcher of a pattern over a text, for .find and .group.",
        &[(r##"(.matches (.matcher #"\d+" "2024"))"##, "true")],
    ),
    native(
        ".pattern",
        "[pattern]",
        source,
        "The text of a pattern.",
        &[(r##"(.pattern #"a+")"##, r#""a+""#)],
    ),
];

fn source(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Regex(body) => {
            made(heap, body.source.len())?;
            Ok(body.source.as_str().into())
        }
        _ => Err(no_method(args, "a pattern")),
    }
}
