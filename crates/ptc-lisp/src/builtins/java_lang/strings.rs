//! The methods of strings. Positions count characters, which are code points.

use super::super::strings::{by_text, find_last_text, find_text, is_white};
use super::super::{Builtin, args, native, regexes};
use super::characters::character;
use super::positions::{byte_at, clamped_byte_at};
use super::{delegate, no_method, whole};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::text::{char_count, char_index, characters};
use crate::value::{Text, Value};

/// What a line that is long enough for the heap takes beside its text.
const LINE: usize = 40;

/// Methods that cut something off a string: name, cut, doc, example.
macro_rules! cuts {
    ($($name:literal $cut:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        [$(native($name, "[s]", |heap, args| {
            let cut: for<'a> fn(&'a str) -> &'a str = $cut;
            let whole = receiver(args)?;
            let part = cut(whole);
            if part.len() == whole.len() {
                return Ok(args[0].clone());
            }
            made(heap, part.len())?;
            Ok(part.into())
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static CUTS: &[Builtin] = &cuts! {
    ".trim" |text| text.trim_matches(|c| c <= ' '), "The string without spaces and control characters at its ends.",
        r#"(.trim "  x ")"# => r#""x""#;
    ".strip" |text| text.trim_matches(is_white), "The string without white space at its ends.",
        r#"(.strip " x ")"# => r#""x""#;
    ".stripLeading" |text| text.trim_start_matches(is_white), "The string without white space at its start.",
        r#"(.stripLeading " x ")"# => r#""x ""#;
    ".stripTrailing" |text| text.trim_end_matches(is_white), "The string without white space at its end.",
        r#"(.stripTrailing " x ")"# => r#"" x""#;
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        ".isBlank",
        "[s]",
        is_blank,
        "Whether a string is empty or only white space.",
        &[(r#"(.isBlank "  ")"#, "true")],
    ),
    native(
        ".charAt",
        "[s index]",
        char_at,
        "The character at an index, as a one-character string.",
        &[(r#"(.charAt "hello" 1)"#, r#""e""#)],
    ),
    native(
        ".codePointAt",
        "[s index]",
        |_, args| Ok(i64::from(u32::from(point_at(args)?)).into()),
        "The code point at an index.",
        &[(r#"(.codePointAt "a" 0)"#, "97")],
    ),
    native(
        ".substring",
        "[s start] [s start end]",
        substring,
        "The part of a string from start up to, but not including, end; raises outside the string.",
        &[(r#"(.substring "hello" 1 3)"#, r#""el""#), (r#"(.substring "hello" 2)"#, r#""llo""#)],
    ),
    native(
        ".startsWith",
        "[s prefix] [s prefix from]",
        starts_with,
        "Whether a string begins with another.",
        &[(r#"(.startsWith "abc" "ab")"#, "true")],
    ),
    native(
        ".endsWith",
        "[s suffix]",
        ends_with,
        "Whether a string ends with another.",
        &[(r#"(.endsWith "abc" "bc")"#, "true")],
    ),
    native(
        ".equalsIgnoreCase",
        "[s other]",
        |heap, args| {
            receiver(args)?;
            Ok((args[1].as_str().is_some() && compare_ignoring_case(heap, args)? == 0).into())
        },
        "Whether two strings are equal apart from case.",
        &[(r#"(.equalsIgnoreCase "Ab" "aB")"#, "true")],
    ),
    native(
        ".compareToIgnoreCase",
        "[s other]",
        |heap, args| {
            receiver(args)?;
            Ok(compare_ignoring_case(heap, args)?.into())
        },
        "How far two strings are apart in order, apart from case: negative, zero or positive.",
        &[(r#"(.compareToIgnoreCase "a" "B")"#, "-1")],
    ),
    native(
        ".toUpperCase",
        "[s] [s locale]",
        |heap, args| changed(heap, args, str::to_uppercase),
        "The string in upper case.",
        &[(r#"(.toUpperCase "straße")"#, r#""STRASSE""#)],
    ),
    native(
        ".toLowerCase",
        "[s] [s locale]",
        |heap, args| changed(heap, args, str::to_lowercase),
        "The string in lower case.",
        &[(r#"(.toLowerCase "ABC")"#, r#""abc""#)],
    ),
    native(
        ".replace",
        "[s target replacement]",
        replace,
        "The string with every target replaced; no regex.",
        &[(r#"(.replace "a.b.c" "." "-")"#, r#""a-b-c""#)],
    ),
    native(
        ".split",
        "[s regex] [s regex limit]",
        |heap, args| with_pattern(heap, args, "clojure.string/split"),
        "The parts of a string between matches of a regex, as a vector.",
        &[
            (r#"(.split "a,b,c" ",")"#, r#"["a" "b" "c"]"#),
            (r#"(.split "a1b22c" "\\d+")"#, r#"["a" "b" "c"]"#),
        ],
    ),
    native(
        ".replaceAll",
        "[s regex replacement]",
        |heap, args| with_pattern(heap, args, "clojure.string/replace"),
        "The string with every match of a regex replaced; $1 stands for a group.",
        &[(r#"(.replaceAll "a1b2" "\\d" "-")"#, r#""a-b-""#)],
    ),
    native(
        ".replaceFirst",
        "[s regex replacement]",
        |heap, args| with_pattern(heap, args, "clojure.string/replace-first"),
        "The string with the first match of a regex replaced.",
        &[(r#"(.replaceFirst "a1b2" "\\d" "-")"#, r#""a-b2""#)],
    ),
    native(
        ".matches",
        "[matcher] [s regex]",
        |heap, args| {
            if args.len() == 1 {
                return super::super::regexes::matches_whole(heap, args);
            }
            let mut call = vec![pattern(heap, args)?, args[0].clone()];
            Ok((!delegate(heap, "clojure.core/re-matches", &mut call)?.is_nil()).into())
        },
        "Whether the whole string matches a regex, or the whole text of a matcher its pattern.",
        &[(r#"(.matches "2024" "\\d{4}")"#, "true")],
    ),
    native(
        ".concat",
        "[s other]",
        concat,
        "Both strings one after the other.",
        &[(r#"(.concat "ab" "c")"#, r#""abc""#)],
    ),
    native(".repeat", "[s n]", repeat, "The string n times.", &[(r#"(.repeat "ab" 2)"#, r#""abab""#)]),
    native(
        ".lines",
        "[s]",
        |heap, args| {
            let text = receiver(args)?;
            made(heap, text.len())?;
            let count = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            heap.reserve(count.saturating_mul(size_of::<Value>() + LINE))?;
            Ok(Value::seq(text.lines().map(Value::from).collect()))
        },
        "The lines of a string as a sequence.",
        &[(r#"(.lines "a\nb")"#, r#"("a" "b")"#)],
    ),
    native(
        ".chars",
        "[s]",
        |heap, args| {
            let text = receiver(args)?;
            made(heap, text.len() * 16)?;
            Ok(Value::seq(text.chars().map(|c| Value::Int(u32::from(c).into())).collect()))
        },
        "The characters of a string as integers.",
        &[(r#"(.chars "ab")"#, "(97 98)")],
    ),
    native(
        ".codePoints",
        "[s]",
        |heap, args| {
            let text = receiver(args)?;
            made(heap, text.len() * 16)?;
            Ok(Value::seq(text.chars().map(|c| Value::Int(u32::from(c).into())).collect()))
        },
        "The code points of a string as integers.",
        &[(r#"(.codePoints "ab")"#, "(97 98)")],
    ),
    native(
        ".toCharArray",
        "[s]",
        |heap, args| {
            let text = receiver(args)?;
            made(heap, text.len() * 16)?;
            Ok(Value::vector(characters(text).map(Value::from).collect()))
        },
        "The characters of a string as a vector.",
        &[(r#"(.toCharArray "ab")"#, r#"["a" "b"]"#)],
    ),
    native(
        ".getBytes",
        "[s] [s charset]",
        |heap, args| {
            let text = receiver(args)?;
            made(heap, text.len() * 16)?;
            Ok(Value::vector(text.bytes().map(|byte| Value::Int((byte as i8).into())).collect()))
        },
        "The UTF-8 bytes of a string as a vector of integers from -128 to 127.",
        &[(r#"(.getBytes "ab")"#, "[97 98]")],
    ),
    native(
        ".intern",
        "[s]",
        |_, args| {
            receiver(args)?;
            Ok(args::take(args, 0))
        },
        "The string itself.",
        &[(r#"(.intern "a")"#, r#""a""#)],
    ),
];

/// The string that a method is called on.
pub(super) fn receiver(args: &[Value]) -> Res<&str> {
    args[0].as_str().ok_or_else(|| no_method(args, "a string"))
}

/// A string or, as in Java's overloads, a character given by its code.
pub(super) fn text_or_char(args: &[Value], at: usize) -> Res<Text> {
    match &args[at] {
        Value::Str(text) => Ok(text.clone()),
        Value::Int(_) => Ok(Text::from_string(character(args, at)?.to_string())),
        _ => Err(args::wrong(args, at, "a string").into()),
    }
}

/// The regex of argument 1, which Java takes as text.
fn pattern(heap: &mut Heap, args: &[Value]) -> Res {
    receiver(args)?;
    match &args[1] {
        Value::Regex(_) => Ok(args[1].clone()),
        _ => Ok(Value::Regex(regexes::compile(heap, args::text(args, 1)?)?)),
    }
}

/// Calls a function of the core library with the regex in place of its text.
fn with_pattern(heap: &mut Heap, args: &[Value], name: &str) -> Res {
    let mut call = args.to_vec();
    call[1] = pattern(heap, args)?;
    delegate(heap, name, &mut call)
}

/// Charges for a text of so many bytes that is about to be made.
pub(in super::super) fn made(heap: &mut Heap, bytes: usize) -> Res<()> {
    heap.work(1 + bytes / 8)?;
    heap.reserve(bytes)
}

fn changed(heap: &mut Heap, args: &mut [Value], change: fn(&str) -> String) -> Res {
    made(heap, receiver(args)?.len())?;
    let new = change(receiver(args)?);
    // A letter may become three.
    heap.allocated(new.len().saturating_sub(receiver(args)?.len()));
    Ok(new.into())
}

/// Both cases folded away, character by character as Java does it.
fn folded(text: &str) -> String {
    let fold = |c: char| {
        let upper = alone(c.to_uppercase()).unwrap_or(c);
        alone(upper.to_lowercase()).unwrap_or(upper)
    };
    text.chars().map(fold).collect()
}

/// The character of a change of case that gives one; Java leaves `ß`, which would become two, as it is.
fn alone(mut changed: impl Iterator<Item = char>) -> Option<char> {
    changed.next().filter(|_| changed.next().is_none())
}

/// The order of two strings apart from case.
pub(super) fn compare_ignoring_case(heap: &mut Heap, args: &[Value]) -> Res<i64> {
    let (a, b) = (args::text(args, 0)?, args::text(args, 1)?);
    made(heap, a.len() + b.len())?;
    text_distance(heap, &folded(a), &folded(b))
}

/// `compareTo`: the difference of the first units that differ, else of the lengths.
pub(super) fn text_distance(heap: &mut Heap, a: &str, b: &str) -> Res<i64> {
    let mut same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    heap.work(1 + same / 8)?;
    while !a.is_char_boundary(same) {
        same -= 1;
    }
    let (a, b) = (&a[same..], &b[same..]);
    let different = a.encode_utf16().zip(b.encode_utf16()).find(|(x, y)| x != y);
    if let Some((x, y)) = different {
        return Ok(i64::from(x) - i64::from(y));
    }
    // One of them has ended.
    heap.work((a.len() + b.len()) / 8)?;
    Ok(a.encode_utf16().count() as i64 - b.encode_utf16().count() as i64)
}

fn is_blank(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = receiver(args)?;
    heap.work(1 + text.len() / 8)?;
    Ok(text.chars().all(is_white).into())
}

fn point_at(args: &[Value]) -> Res<char> {
    let text = receiver(args)?;
    let index = whole(args, 1)?;
    let byte = byte_at(text, index)?;
    match text[byte..].chars().next() {
        Some(c) => Ok(c),
        None => byte_at(text, -1).and_then(|_| crate::signal::illegal("empty")),
    }
}

fn char_at(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(point_at(args)?.to_string().into())
}

fn substring(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = receiver(args)?;
    heap.work(1 + text.len() / 64)?;
    let from = byte_at(text, whole(args, 1)?)?;
    let to = if args.len() > 2 { byte_at(text, whole(args, 2)?)? } else { text.len() };
    let Some(part) = text.get(from..to) else {
        return crate::signal::raise(
            crate::error::ErrorKind::IndexOutOfBounds,
            format!("start {} is behind end {}", whole(args, 1)?, whole(args, 2)?),
        );
    };
    made(heap, part.len())?;
    Ok(part.into())
}

fn starts_with(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = receiver(args)?;
    let prefix = args::text(args, 1)?;
    heap.work(1 + prefix.len() / 8)?;
    if args.len() == 2 {
        return Ok(text.starts_with(prefix).into());
    }
    let from = whole(args, 2)?;
    let inside = (0..=char_count(text) as i64).contains(&from);
    Ok((inside && text[byte_at(text, from)?..].starts_with(prefix)).into())
}

fn ends_with(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.work(1 + args::text(args, 1)?.len() / 8)?;
    Ok(receiver(args)?.ends_with(args::text(args, 1)?).into())
}

fn replace(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = receiver(args)?;
    let (target, replacement) = (text_or_char(args, 1)?, text_or_char(args, 2)?);
    by_text(heap, &args[0], text, target.as_str(), replacement.as_str(), false)
}

fn concat(heap: &mut Heap, args: &mut [Value]) -> Res {
    let size = receiver(args)?.len() + args::text(args, 1)?.len();
    made(heap, size)?;
    Ok((receiver(args)?.to_owned() + args::text(args, 1)?).into())
}

fn repeat(heap: &mut Heap, args: &mut [Value]) -> Res {
    let text = receiver(args)?;
    let Ok(times) = usize::try_from(whole(args, 1)?) else {
        return crate::signal::illegal("the count must not be negative");
    };
    made(heap, text.len().saturating_mul(times))?;
    Ok(text.repeat(times).into())
}

/// `.indexOf` of a string.
pub(super) fn index_of(heap: &mut Heap, args: &[Value]) -> Res {
    let text = receiver(args)?;
    let wanted = text_or_char(args, 1)?;
    let from = if args.len() > 2 { clamped_byte_at(text, whole(args, 2)?) } else { 0 };
    let found = find_text(heap, &text[from..], wanted.as_str())?;
    Ok(found.map_or(Value::Int(-1), |at| Value::from(char_index(text, from + at))))
}

/// `.lastIndexOf` of a string.
pub(super) fn last_index_of(heap: &mut Heap, args: &[Value]) -> Res {
    let text = receiver(args)?;
    let wanted = text_or_char(args, 1)?;
    let end = match args.len() {
        2 => text.len(),
        _ if whole(args, 2)? < 0 => return Ok(Value::Int(-1)),
        _ => (clamped_byte_at(text, whole(args, 2)?) + wanted.byte_len()).min(text.len()),
    };
    let part = text.get(..end).unwrap_or(text);
    let found = find_last_text(heap, part, wanted.as_str())?;
    Ok(found.map_or(Value::Int(-1), |at| Value::from(char_index(text, at))))
}
