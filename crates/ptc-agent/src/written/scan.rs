//! The parts of a text that is known to be JSON, and how long they are.

use std::borrow::Cow;

pub(crate) use parts::{Passage, TextOutline};
use ptc_lisp::json::parts;

/// The items of a list.
pub(crate) fn items(passage: Passage<'_>) -> impl Iterator<Item = Passage<'_>> {
    passage.items().inspect(|item| tally::read_over(*item))
}

/// The fields of an object.
pub(crate) fn fields(passage: Passage<'_>) -> impl Iterator<Item = (Cow<'_, str>, Passage<'_>)> {
    let fields = passage.fields().inspect(|(_, value)| tally::read_over(*value));
    // Names that cannot be read are refused where a text comes in.
    fields.map(|(name, value)| (parts::name(name).unwrap_or_default(), value))
}

/// What walks cost is counted in tests.
#[cfg(not(test))]
pub(super) mod tally {
    use super::Passage;

    /// A part was found, which the walk had to read over unless its end was known.
    pub fn read_over(_: Passage<'_>) {}

    /// A value was built of a text.
    pub fn built(_: &str) {}
}

/// So many characters of a string, with how many characters and bytes all of it has.
pub(crate) fn text_parts(text: &str, most: usize) -> (String, usize, usize) {
    let text = text.trim_ascii();
    let inner = text.get(1..text.len().saturating_sub(1)).unwrap_or_default();
    let (mut chars, mut bytes, mut cut) = (0, 0, inner.len());
    let mut rest = inner.char_indices();
    while let Some((at, char)) = rest.next() {
        if chars == most {
            cut = cut.min(at);
        }
        chars += 1;
        bytes += if char == '\\' { escaped(inner, &mut rest) } else { char.len_utf8() };
    }
    let begun = inner.get(..cut).unwrap_or_default();
    (serde_json::from_str(&format!("\"{begun}\"")).unwrap_or_default(), chars, bytes)
}

/// Goes behind an escape whose backslash is read; how many bytes its character has.
fn escaped(inner: &str, rest: &mut std::str::CharIndices<'_>) -> usize {
    let unit = |at: usize| inner.get(at..at + 4).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let Some((at, 'u')) = rest.next() else { return 1 };
    let unit = unit(at + 1).unwrap_or_default();
    // What is no character itself is half of one, and the other half follows.
    let digits = if char::from_u32(unit).is_some() { 4 } else { 10 };
    rest.nth(digits - 1);
    char::from_u32(unit).map_or(4, char::len_utf8)
}

/// The bytes of a text without the white space between its parts.
pub(crate) fn weight(text: &str) -> u64 {
    let (mut quoted, mut escaped, mut bytes) = (false, false, 0);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        bytes += u64::from(quoted || !byte.is_ascii_whitespace());
    }
    bytes
}

#[cfg(test)]
pub(super) mod tally {
    use std::cell::Cell;

    use super::Passage;

    thread_local! {
        static READ: Cell<usize> = const { Cell::new(0) };
        static BUILT: Cell<usize> = const { Cell::new(0) };
    }

    pub fn read_over(part: Passage<'_>) {
        READ.set(READ.get() + if part.is_outlined() { 1 } else { part.text().len() });
    }

    pub fn built(text: &str) {
        BUILT.set(BUILT.get() + text.len());
    }

    /// How many bytes a walk read over, and of how many it built values.
    pub fn of(walk: impl FnOnce()) -> (usize, usize) {
        READ.set(0);
        BUILT.set(0);
        walk();
        (READ.get(), BUILT.get())
    }
}
