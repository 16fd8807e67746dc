//! Positions in strings as Java counts them: in UTF-16 units.

use crate::error::ErrorKind;
use crate::signal::{Res, illegal, raise};
use crate::value::ledger;

/// Notes the work of walking over a long text.
fn note(text: &str) {
    if text.len() >= 64 {
        ledger::note((text.len() / 16) as u64);
    }
}

/// How many UTF-16 units a text has.
pub(super) fn len(text: &str) -> usize {
    note(text);
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

/// The byte at which unit `index` begins. An index outside the text raises; so does one between the
/// two halves of a character, because the halves alone are no text.
pub(super) fn byte_at(text: &str, index: i64) -> Res<usize> {
    note(text);
    let outside = || {
        raise(
            ErrorKind::IndexOutOfBounds,
            format!("index {index} is outside the string of length {}", len(text)),
        )
    };
    let Ok(wanted) = usize::try_from(index) else { return outside() };
    if text.is_ascii() {
        return if wanted <= text.len() { Ok(wanted) } else { outside() };
    }
    let mut units = 0;
    for (byte, c) in text.char_indices() {
        if units == wanted {
            return Ok(byte);
        }
        if units > wanted {
            return illegal(format!("index {index} lies inside a character of two UTF-16 units"));
        }
        units += c.len_utf16();
    }
    if units == wanted { Ok(text.len()) } else { outside() }
}

/// The byte at which unit `index` begins, the ends of the text for indices beyond them.
pub(super) fn clamped_byte_at(text: &str, index: i64) -> Res<usize> {
    let last = i64::try_from(len(text)).unwrap_or(i64::MAX);
    byte_at(text, index.clamp(0, last))
}

/// How many units come before a byte.
pub(super) fn index_of(text: &str, byte: usize) -> i64 {
    i64::try_from(len(&text[..byte])).unwrap_or(i64::MAX)
}
