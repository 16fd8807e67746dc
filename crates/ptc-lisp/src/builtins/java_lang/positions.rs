//! Positions in strings that methods of Java take: in characters, as everywhere, and an index outside the text raises.

use crate::error::ErrorKind;
use crate::signal::{Res, raise};
use crate::value::text::{byte_offset, char_count};

/// The byte at which character `index` begins.
pub(super) fn byte_at(text: &str, index: i64) -> Res<usize> {
    let count = char_count(text);
    match usize::try_from(index) {
        Ok(wanted) if wanted <= count => Ok(byte_offset(text, wanted)),
        _ => raise(
            ErrorKind::IndexOutOfBounds,
            format!("index {index} is outside the string of length {count}"),
        ),
    }
}

/// The byte at which character `index` begins, the ends of the text for indices beyond them.
pub(super) fn clamped_byte_at(text: &str, index: i64) -> usize {
    byte_offset(text, usize::try_from(index.max(0)).unwrap_or(usize::MAX))
}
