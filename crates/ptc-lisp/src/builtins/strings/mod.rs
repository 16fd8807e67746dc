//! Strings: `clojure.string` and the string functions of `clojure.core`.
//!
//! Positions count characters, which are code points. Whatever gives back its argument unchanged shares it instead of copying.

mod cases;
mod joining;
#[cfg(test)]
mod pattern_tests;
mod replacing;
mod search;
mod splitting;
#[cfg(test)]
mod tests;
mod trimming;

use std::borrow::Cow;

use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

pub(super) use replacing::by_text;
pub(super) use search::{find_last_text, find_text};
pub(super) use splitting::pieces;
pub(super) use trimming::is_white;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/str",
        "[& xs]",
        joining::str,
        "Joins the texts of its arguments; nil is the empty text.",
        &[(r#"(str "a" 1 :b nil [1 "x"])"#, r#""a1:b[1 \"x\"]""#), ("(str)", r#""""#)],
    ),
    native(
        "clojure.core/subs",
        "[s start] [s start end]",
        search::subs,
        "The part of s from position start up to, not including, end.",
        &[(r#"(subs "hello" 1)"#, r#""ello""#), (r#"(subs "hello" 1 3)"#, r#""el""#)],
    )
    .part_of(0),
    native(
        "clojure.string/join",
        "[coll] [separator coll]",
        joining::join,
        "Joins the texts of the items of coll, with separator between them.",
        &[
            (r#"(clojure.string/join ", " [1 2 3])"#, r#""1, 2, 3""#),
            (r#"(clojure.string/join "ab")"#, r#""ab""#),
        ],
    ),
    native(
        "clojure.string/escape",
        "[s cmap]",
        joining::escape,
        "Replaces each character of s that is a key of cmap by its text there.",
        &[(r#"(clojure.string/escape "a<b" {"<" "&lt;"})"#, r#""a&lt;b""#)],
    ),
    native(
        "clojure.string/upper-case",
        "[s]",
        cases::upper_case,
        "s in upper case.",
        &[(r#"(clojure.string/upper-case "aßc")"#, r#""ASSC""#)],
    ),
    native(
        "clojure.string/lower-case",
        "[s]",
        cases::lower_case,
        "s in lower case.",
        &[(r#"(clojure.string/lower-case "aBC")"#, r#""abc""#)],
    ),
    native("ptc/upcase", "[s]", cases::upper_case, "s in upper case.", &[(r#"(upcase "ab")"#, r#""AB""#)]),
    native(
        "ptc/downcase",
        "[s]",
        cases::lower_case,
        "s in lower case.",
        &[(r#"(downcase "AB")"#, r#""ab""#)],
    ),
    native(
        "clojure.string/capitalize",
        "[s]",
        cases::capitalize,
        "s with its first character in upper case and the rest in lower case.",
        &[(r#"(clojure.string/capitalize "hELLO wORLD")"#, r#""Hello world""#)],
    ),
    native(
        "clojure.string/reverse",
        "[s]",
        cases::reverse,
        "The characters of s in reverse order.",
        &[(r#"(clojure.string/reverse "abc")"#, r#""cba""#)],
    ),
    native(
        "clojure.string/trim",
        "[s]",
        trimming::trim,
        "s without white space at both ends.",
        &[(r#"(clojure.string/trim "  a b\n")"#, r#""a b""#)],
    ),
    native(
        "clojure.string/triml",
        "[s]",
        trimming::triml,
        "s without white space at its start.",
        &[(r#"(clojure.string/triml "  a ")"#, r#""a ""#)],
    ),
    native(
        "clojure.string/trimr",
        "[s]",
        trimming::trimr,
        "s without white space at its end.",
        &[(r#"(clojure.string/trimr " a  ")"#, r#"" a""#)],
    ),
    native(
        "clojure.string/trim-newline",
        "[s]",
        trimming::trim_newline,
        "s without newlines and carriage returns at its end.",
        &[(r#"(clojure.string/trim-newline "a\r\n")"#, r#""a""#)],
    ),
    native(
        "clojure.string/blank?",
        "[s]",
        trimming::is_blank,
        "Whether s is nil, empty or only white space.",
        &[(r#"(clojure.string/blank? " \n")"#, "true"), (r#"(clojure.string/blank? "a")"#, "false")],
    ),
    native(
        "clojure.string/starts-with?",
        "[s prefix]",
        search::starts_with,
        "Whether s starts with prefix.",
        &[(r#"(clojure.string/starts-with? "hello" "he")"#, "true")],
    ),
    native(
        "clojure.string/ends-with?",
        "[s suffix]",
        search::ends_with,
        "Whether s ends with suffix.",
        &[(r#"(clojure.string/ends-with? "hello" "lo")"#, "true")],
    ),
    native(
        "clojure.string/includes?",
        "[s part]",
        search::includes,
        "Whether part occurs in s.",
        &[(r#"(clojure.string/includes? "hello" "ell")"#, "true")],
    ),
    native(
        "clojure.string/index-of",
        "[s part] [s part from]",
        search::index_of,
        "The position of the first part in s, looking from position from on; nil if there is none.",
        &[
            (r#"(clojure.string/index-of "hello" "l")"#, "2"),
            (r#"(clojure.string/index-of "hello" "z")"#, "nil"),
        ],
    ),
    native(
        "clojure.string/last-index-of",
        "[s part] [s part from]",
        search::last_index_of,
        "The position of the last part in s, looking backwards from position from; nil if there is none.",
        &[(r#"(clojure.string/last-index-of "hello" "l")"#, "3")],
    ),
    native(
        "clojure.string/split-lines",
        "[s]",
        search::split_lines,
        "The lines of s, without empty ones at the end.",
        &[(r#"(clojure.string/split-lines "a\nb\r\n")"#, r#"["a" "b"]"#)],
    ),
    native(
        "clojure.string/split",
        "[s separator] [s separator limit]",
        splitting::split,
        "The parts of s between the matches of separator, a regex or one character. A regex leaves out \
         empty parts at the end unless limit is negative; a positive limit is the most parts.",
        &[
            (r##"(clojure.string/split "a,b,,c,," #",")"##, r#"["a" "b" "" "c"]"#),
            (r##"(clojure.string/split "a b c" #" " 2)"##, r#"["a" "b c"]"#),
        ],
    ),
    native(
        "ptc/split",
        "[s separator] [s separator limit]",
        splitting::split_keeping_groups,
        "Like clojure.string/split, but also keeps what the groups of a regex matched.",
        &[(r#"(split "a,b" ",")"#, r#"["a" "b"]"#), (r##"(split "a1b" #"(\d)")"##, r#"["a" "1" "b"]"#)],
    ),
    native(
        "clojure.string/replace",
        "[s match replacement]",
        replacing::replace,
        "s with every match (a string or regex) replaced. For a regex, $1 in the replacement stands for a \
         group, and the replacement may be a function or map of the match.",
        &[
            (r#"(clojure.string/replace "a.b.c" "." "-")"#, r#""a-b-c""#),
            (r##"(clojure.string/replace "John Smith" #"(\w+) (\w+)" "$2, $1")"##, r#""Smith, John""#),
        ],
    ),
    native(
        "clojure.string/replace-first",
        "[s match replacement]",
        replacing::replace_first,
        "Like replace, but only the first match.",
        &[(r##"(clojure.string/replace-first "a1b2" #"\d" "#")"##, r##""a#b2""##)],
    ),
    native(
        "clojure.string/re-quote-replacement",
        "[replacement]",
        replacing::re_quote_replacement,
        "A replacement text that stands for itself, whatever it holds.",
        &[(r#"(clojure.string/re-quote-replacement "$1")"#, r#""\\$1""#)],
    ),
    native(
        "prim/re-pieces",
        "[re s limit]",
        replacing::re_pieces,
        "s as a vector of the text before, between and after the matches of re, with the matches.",
        &[],
    ),
];

/// The text of argument `at` for functions that also take names: a string, keyword or symbol. Of a name, which may be
/// long, it is a copy.
fn named<'a>(heap: &mut Heap, args: &'a [Value], at: usize) -> Res<Cow<'a, str>> {
    let (name, before) = match args.get(at) {
        Some(Value::Str(text)) => return Ok(Cow::Borrowed(text.as_str())),
        Some(Value::Kw(name)) => (*name, ":"),
        Some(Value::Sym(name)) => (*name, ""),
        _ => return Err(not_text(args, at).into()),
    };
    let bytes = heap.names.text(name).len();
    heap.work(bytes / 8)?;
    heap.reserve(string_bytes(bytes))?;
    Ok(Cow::Owned(format!("{before}{}", heap.names.text(name))))
}

/// The error for an argument that is not text. Collections are most often met through swapped
/// arguments or a missing `map`, so the hint speaks of those.
fn not_text(args: &[Value], at: usize) -> Error {
    let error = args::no_text(args, at);
    match args.get(at) {
        Some(Value::Regex(_)) => error.hint("the text comes first, then the pattern"),
        Some(value) if value.shape().depth > 0 => {
            error.hint("use (map f coll) to work on each string, or (str x) for the text of the whole")
        }
        _ => error,
    }
}

/// Charges for reading `bytes` of text.
fn read(heap: &mut Heap, bytes: usize) -> Res<()> {
    heap.work(1 + bytes / 8)
}

/// Charges for reading and writing `bytes` of text, before the result is made.
fn write(heap: &mut Heap, bytes: usize) -> Res<()> {
    heap.work(1 + bytes / 8)?;
    heap.reserve(string_bytes(bytes))
}

/// What a string of `len` bytes takes beyond its value.
pub(super) fn string_bytes(len: usize) -> usize {
    const HEADER: usize = 40;
    if len <= crate::value::text::Short::CAPACITY { 0 } else { len + HEADER }
}

/// The error for a position outside the text.
fn out_of_range(message: String, hint: &str) -> Error {
    Error::new(ErrorKind::IndexOutOfBounds, message).hint(hint)
}
