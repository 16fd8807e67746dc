//! `Character`: questions about characters, which are one-character strings or code points.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, HirKind};

use super::super::strings::is_white;
use super::super::{Builtin, args, native};
use super::whole;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

/// Questions: name, test, doc, true example.
macro_rules! questions {
    ($($name:literal $test:expr, $doc:literal, $source:literal => $shown:literal;)*) => {
        &[$(native($name, "[c]", |_, args| {
            let test: fn(char) -> bool = $test;
            Ok(test(character(args, 0)?).into())
        }, $doc, &[($source, $shown)])),*]
    };
}

pub(super) static QUESTIONS: &[Builtin] = questions! {
    "Character/isDigit" is_digit, "Whether a character is a decimal digit.",
        r#"(Character/isDigit "7")"# => "true";
    "Character/isLetter" is_letter, "Whether a character is a letter.",
        r#"(Character/isLetter "é")"# => "true";
    "Character/isLetterOrDigit" |c| is_letter(c) || is_digit(c), "Whether a character is a letter or digit.",
        r#"(Character/isLetterOrDigit "_")"# => "false";
    "Character/isAlphabetic" char::is_alphabetic, "Whether a character is alphabetic.",
        r#"(Character/isAlphabetic "a")"# => "true";
    "Character/isUpperCase" char::is_uppercase, "Whether a character is an upper-case letter.",
        r#"(Character/isUpperCase "A")"# => "true";
    "Character/isLowerCase" char::is_lowercase, "Whether a character is a lower-case letter.",
        r#"(Character/isLowerCase "A")"# => "false";
    "Character/isWhitespace" is_white, "Whether a character is white space.",
        r#"(Character/isWhitespace " ")"# => "true";
    "Character/isSpaceChar" |c| c == ' ' || (c.is_whitespace() && !c.is_control()),
        "Whether a character is a Unicode space.", r#"(Character/isSpaceChar " ")"# => "true";
};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "Character/toUpperCase",
        "[c]",
        |_, args| mapped(args, |c| one(c.to_uppercase(), c)),
        "The upper-case character.",
        &[(r#"(Character/toUpperCase "a")"#, r#""A""#)],
    ),
    native(
        "Character/toLowerCase",
        "[c]",
        |_, args| mapped(args, |c| one(c.to_lowercase(), c)),
        "The lower-case character.",
        &[(r#"(Character/toLowerCase "A")"#, r#""a""#)],
    ),
    native(
        "Character/digit",
        "[c radix]",
        digit,
        "The value of a digit in a radix; -1 if it is none.",
        &[(r#"(Character/digit "f" 16)"#, "15"), (r#"(Character/digit "x" 10)"#, "-1")],
    ),
    native(
        "Character/getNumericValue",
        "[c]",
        |_, args| Ok(digit_value(character(args, 0)?, 36).into()),
        "The value of a digit, letters counting from 10; -1 if it has none.",
        &[(r#"(Character/getNumericValue "7")"#, "7")],
    ),
    native(
        "Character/forDigit",
        "[digit radix]",
        for_digit,
        "The digit for a value in a radix.",
        &[("(Character/forDigit 11 16)", r#""b""#)],
    ),
    native(
        "Character/toString",
        "[c]",
        |_, args| Ok(character(args, 0)?.to_string().into()),
        "The character as a string.",
        &[(r#"(Character/toString 97)"#, r#""a""#)],
    ),
    native(
        "Character/valueOf",
        "[c]",
        |_, args| Ok(character(args, 0)?.to_string().into()),
        "The character itself.",
        &[(r#"(Character/valueOf "a")"#, r#""a""#)],
    ),
    native(
        "Character/toChars",
        "[code-point]",
        |_, args| Ok(Value::vector(vec![character(args, 0)?.to_string().into()])),
        "A vector of the character with a code point.",
        &[("(Character/toChars 97)", r#"["a"]"#)],
    ),
    native(
        "Character/compare",
        "[x y]",
        |_, args| {
            Ok((i64::from(u32::from(character(args, 0)?)) - i64::from(u32::from(character(args, 1)?))).into())
        },
        "The distance between two characters.",
        &[(r#"(Character/compare "c" "a")"#, "2")],
    ),
];

/// A character argument: a string of one character, or a code point.
pub(super) fn character(args: &[Value], at: usize) -> Res<char> {
    match &args[at] {
        Value::Str(text) => {
            let text = text.as_str();
            let first = text.chars().next();
            first.filter(|_| crate::value::text::is_character(text))
        }
        Value::Int(code) => u32::try_from(*code).ok().and_then(char::from_u32),
        _ => None,
    }
    .ok_or_else(|| args::wrong(args, at, "a character (a one-character string)").into())
}

/// The first character of a mapping that gives one; the character itself if it gives several.
fn one(mut mapping: impl Iterator<Item = char>, c: char) -> char {
    match (mapping.next(), mapping.next()) {
        (Some(single), None) => single,
        _ => c,
    }
}

/// Maps a character; a code point gives a code point.
fn mapped(args: &[Value], map: fn(char) -> char) -> Res {
    let c = map(character(args, 0)?);
    Ok(match args[0] {
        Value::Int(_) => i64::from(u32::from(c)).into(),
        _ => c.to_string().into(),
    })
}

/// The characters of a Unicode category, as ranges in order.
fn category(pattern: &str) -> Vec<(char, char)> {
    match regex_syntax::parse(pattern).map(|parsed| parsed.into_kind()) {
        Ok(HirKind::Class(Class::Unicode(class))) => {
            class.ranges().iter().map(|range| (range.start(), range.end())).collect()
        }
        _ => Vec::new(),
    }
}

fn within(ranges: &[(char, char)], c: char) -> bool {
    let at = ranges.partition_point(|(_, end)| *end < c);
    ranges.get(at).is_some_and(|(start, _)| *start <= c)
}

fn is_letter(c: char) -> bool {
    static LETTERS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| category(r"\p{L}"));
    if c.is_ascii() { c.is_ascii_alphabetic() } else { within(&LETTERS, c) }
}

fn is_digit(c: char) -> bool {
    static DIGITS: LazyLock<Vec<(char, char)>> = LazyLock::new(|| category(r"\p{Nd}"));
    if c.is_ascii() { c.is_ascii_digit() } else { within(&DIGITS, c) }
}

fn digit_value(c: char, radix: u32) -> i64 {
    c.to_digit(radix).map_or(-1, i64::from)
}

fn digit(_: &mut Heap, args: &mut [Value]) -> Res {
    let c = character(args, 0)?;
    Ok(match u32::try_from(whole(args, 1)?) {
        Ok(radix @ 2..=36) => digit_value(c, radix),
        _ => -1,
    }
    .into())
}

fn for_digit(_: &mut Heap, args: &mut [Value]) -> Res {
    let (digit, radix) = (u32::try_from(whole(args, 0)?), u32::try_from(whole(args, 1)?));
    match (digit, radix) {
        (Ok(digit), Ok(radix @ 2..=36)) if digit < radix => {
            Ok(char::from_digit(digit, radix).map_or(Value::Nil, |c| c.to_string().into()))
        }
        _ => crate::signal::illegal("the radix must be 2 to 36 and the digit below it"),
    }
}
