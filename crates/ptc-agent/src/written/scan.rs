//! The parts of a text that is known to be JSON, one after the other; nothing is collected, as a list may have millions.

use std::borrow::Cow;

/// The items of a list.
pub(crate) fn items(text: &str) -> impl Iterator<Item = &str> {
    let mut scan = Scan::inside(text);
    std::iter::from_fn(move || scan.begin().then(|| scan.value()))
}

/// The fields of an object.
pub(crate) fn fields(text: &str) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
    let mut scan = Scan::inside(text);
    std::iter::from_fn(move || {
        if !scan.begin() {
            return None;
        }
        let name = scan.text.get(scan.at..scan.after_string(scan.at)).unwrap_or_default();
        scan.at += name.len();
        while scan.byte(scan.at).is_some_and(|byte| byte.is_ascii_whitespace() || byte == b':') {
            scan.at += 1;
        }
        let plain = name.get(1..name.len().saturating_sub(1)).unwrap_or_default();
        let name = match plain.contains('\\') {
            true => Cow::Owned(serde_json::from_str(name).unwrap_or_default()),
            false => Cow::Borrowed(plain),
        };
        Some((name, scan.value()))
    })
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

/// A walk over the parts of a list or an object.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    fn inside(text: &'t str) -> Scan<'t> {
        Scan { text: text.trim_ascii(), at: 1 }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Goes to where the next part begins; whether there is one.
    fn begin(&mut self) -> bool {
        while self.byte(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') {
            self.at += 1;
        }
        !matches!(self.byte(self.at), None | Some(b']' | b'}'))
    }

    /// The place behind the string that begins at `at`.
    fn after_string(&self, at: usize) -> usize {
        let mut at = at + 1;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\\' => at += 2,
                b'"' => return at + 1,
                _ => at += 1,
            }
        }
        self.text.len()
    }

    /// The value that begins here, without blanks around it.
    fn value(&mut self) -> &'t str {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'"' => {
                    self.at = self.after_string(self.at);
                    continue;
                }
                b'[' | b'{' => depth += 1,
                b']' | b'}' | b',' if depth == 0 => break,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default().trim_ascii()
    }
}
