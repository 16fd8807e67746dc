//! Strings: up to 14 bytes inline, longer ones shared.
//!
//! A character is a Unicode code point, and every function that counts, indexes or walks a text means these. ASCII
//! text, by far the most common, is indexed without a look at what comes before.

use std::rc::Rc;

use super::ledger;

/// A string value.
///
/// Its kinds have numbers above those of all other kinds of [`super::Value`], which therefore begin with zero:
/// asking whether a value is plain, which the machine does for every register it writes, is one comparison.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Text {
    /// Up to [`Short::CAPACITY`] bytes, held in place.
    Short(Short) = 29,
    /// Any length.
    Long(Rc<String>) = 30,
}

/// A short string; the bytes after its end are zero.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    len: u8,
    bytes: [u8; Short::CAPACITY],
}

impl Short {
    /// The longest text that is held in place.
    pub const CAPACITY: usize = 14;

    /// Bytes and length as two numbers that no other text has.
    #[inline]
    pub(crate) fn words(&self) -> (u64, u64) {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.bytes;
        let [i, j, k, l, m, n] = rest;
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u64::from_le_bytes([i, j, k, l, m, n, 0, self.len]))
    }

    /// All its bytes, zeros after the end, and the length.
    pub(crate) fn parts(&self) -> (&[u8; Short::CAPACITY], u8) {
        (&self.bytes, self.len)
    }
}

impl Text {
    /// A copy of `text`.
    #[inline]
    pub fn new(text: &str) -> Self {
        Self::short(text).unwrap_or_else(|| Self::long(text))
    }

    fn long(text: &str) -> Self {
        Text::Long(Rc::new(text.to_owned()))
    }

    /// Takes over a buffer.
    pub fn from_string(text: String) -> Self {
        Self::short(&text).unwrap_or_else(|| Text::Long(Rc::new(super::room::fitted_text(text))))
    }

    /// Takes over a buffer that is likely to be appended to, with its spare room.
    pub fn growing(text: String) -> Self {
        Self::short(&text).unwrap_or_else(|| Text::Long(Rc::new(text)))
    }

    /// A copy of `text` that is held in place, if it is short enough.
    #[inline]
    pub(crate) fn short(text: &str) -> Option<Self> {
        let (text, len) = (text.as_bytes(), text.len());
        // Two numbers from bytes that may overlap: less work than a copy of any size, and none of it in memory.
        let (low, high) = match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
            _ if len > Short::CAPACITY => return None,
            (Some(front), Some(back)) => {
                let behind = u64::from_le_bytes(*back).checked_shr(8 * (16 - len as u32));
                (u64::from_le_bytes(*front), behind.unwrap_or(0))
            }
            _ => match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
                (Some(front), Some(back)) => {
                    let back = u64::from(u32::from_le_bytes(*back)) << (8 * (len - 4));
                    (u64::from(u32::from_le_bytes(*front)) | back, 0)
                }
                _ => (text.iter().rev().fold(0, |low, byte| low << 8 | u64::from(*byte)), 0),
            },
        };
        let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, ..]) = (low.to_le_bytes(), high.to_le_bytes());
        let bytes = [a, b, c, d, e, f, g, h, i, j, k, l, m, n];
        Some(Text::Short(Short { len: len as u8, bytes }))
    }

    /// The bytes, which are UTF-8.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Text::Short(short) => &short.bytes[..usize::from(short.len)],
            Text::Long(text) => text.as_bytes(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        match self {
            Text::Short(short) => {
                std::str::from_utf8(&short.bytes[..usize::from(short.len)]).unwrap_or_default()
            }
            Text::Long(text) => text,
        }
    }

    /// Whether two texts are the same.
    #[inline(always)]
    pub fn is(&self, other: &Text) -> bool {
        match (self, other) {
            (Text::Short(a), Text::Short(b)) => a.len == b.len && a.bytes == b.bytes,
            (Text::Long(a), Text::Long(b)) => Rc::ptr_eq(a, b) || *a == *b,
            // A text is long only if it does not fit a short one.
            _ => false,
        }
    }

    /// Its length in bytes.
    pub fn byte_len(&self) -> usize {
        self.as_bytes().len()
    }

    /// The buffer for appending: taken over if this is the only owner, copied otherwise.
    pub fn into_string(self) -> String {
        match self {
            Text::Short(_) => self.as_str().to_owned(),
            Text::Long(text) => Rc::try_unwrap(text).unwrap_or_else(|shared| (*shared).clone()),
        }
    }
}

/// The characters of a text, each as a text of its own.
pub fn characters(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let (ascii, other) = if is_ascii(text) { (text, "") } else { ("", text) };
    note(other, DECODED);
    let ascii = (0..ascii.len()).map(move |at| &ascii[at..=at]);
    ascii.chain(other.char_indices().map(move |(at, c)| &other[at..at + c.len_utf8()]))
}

/// The first character of a text, found without looking at the rest.
pub fn first_character(text: &str) -> Option<&str> {
    let first = text.chars().next()?;
    text.get(..first.len_utf8())
}

/// Whether a text is exactly one character, found without looking further than its second.
pub fn is_character(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some() && chars.next().is_none()
}

/// Bytes per unit of work: a quick look, and finding where characters end.
const LOOKED_AT: usize = 64;
const DECODED: usize = 8;

/// Notes work on a long text; a short one costs no more than the call.
#[inline]
fn note(text: &str, bytes_per_unit: usize) {
    if text.len() >= LOOKED_AT {
        ledger::note((text.len() / bytes_per_unit) as u64);
    }
}

/// Whether every byte is a character of its own.
fn is_ascii(text: &str) -> bool {
    note(text, LOOKED_AT);
    text.is_ascii()
}

/// How many characters `text` has.
pub fn char_count(text: &str) -> usize {
    if is_ascii(text) {
        return text.len();
    }
    note(text, DECODED);
    text.chars().count()
}

/// The byte offset of character `index`; the end of the text when it has fewer.
pub fn byte_offset(text: &str, index: usize) -> usize {
    if is_ascii(text) {
        return index.min(text.len());
    }
    note(text, DECODED);
    text.char_indices().nth(index).map_or(text.len(), |(offset, _)| offset)
}

/// How many characters come before byte `offset`.
pub fn char_index(text: &str, offset: usize) -> usize {
    char_count(text.get(..offset).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_read_back() {
        for text in ["", "a", "fourteen bytes", "more than fourteen bytes", "žluťoučký kůň"] {
            assert_eq!(Text::new(text).as_str(), text);
            assert_eq!(Text::from_string(text.to_owned()).into_string(), text);
        }
    }

    /// A new kind of value needs numbers of texts that are one higher, or programs take a twentieth more instructions.
    #[test]
    #[expect(unsafe_code, reason = "what is asked for is how a value lies in memory")]
    fn kinds_of_values_that_are_no_texts_have_numbers_from_zero() {
        // SAFETY: the number of a kind is its first byte, which is always there.
        let number = |value: &crate::value::Value| unsafe { *std::ptr::from_ref(value).cast::<u8>() };
        assert_eq!((number(&crate::value::Value::Unbound), number(&crate::value::Value::Nil)), (0, 1));
    }

    #[test]
    fn characters_are_code_points() {
        for (text, count) in [("abc", 3), ("e\u{301}x", 3), ("👩‍👩‍👧", 5), ("a\r\nb", 4), ("", 0)]
        {
            assert_eq!(char_count(text), count, "{text:?}");
            assert_eq!(characters(text).count(), count, "{text:?}");
            assert_eq!(characters(text).next(), first_character(text), "{text:?}");
            assert_eq!(is_character(text), count == 1, "{text:?}");
            let back: Vec<&str> = characters(text).rev().collect();
            assert_eq!(back.into_iter().rev().collect::<String>(), text);
        }
        assert_eq!(byte_offset("ežx", 2), 3);
        assert_eq!(byte_offset("abc", 9), 3);
        assert_eq!(byte_offset("a\r\nb", 2), 2);
        assert_eq!(char_index("ežx", 3), 2);
    }
}
