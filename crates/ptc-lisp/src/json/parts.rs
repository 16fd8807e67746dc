//! The parts of a text that is known to be JSON, as the texts that they are. They come one after the other and nothing is
//! collected, as a list may have millions. Of what is no JSON some parts come, and none is looked for behind its end.

use std::borrow::Cow;

/// The items of a list.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = Parts::inside(text);
    std::iter::from_fn(move || parts.begin().then(|| parts.value()))
}

/// The fields of an object: the text of the name, of which [`name`] says what it is, and that of the value.
pub fn fields(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut parts = Parts::inside(text);
    std::iter::from_fn(move || {
        if !parts.begin() {
            return None;
        }
        let name = parts.string();
        while parts.byte().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b':') {
            parts.at += 1;
        }
        Some((name, parts.value()))
    })
}

/// The name of a field by its text.
pub fn name(text: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(plain) if !plain.contains('\\') => Ok(Cow::Borrowed(plain)),
        _ => serde_json::from_str(text).map(Cow::Owned),
    }
}

/// A walk over the parts of a list or an object.
struct Parts<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parts<'t> {
    fn inside(text: &'t str) -> Parts<'t> {
        Parts { text: text.trim_ascii(), at: 1 }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes to where the next part begins; whether there is one.
    fn begin(&mut self) -> bool {
        while self.byte().is_some_and(|byte| byte.is_ascii_whitespace() || byte == b',') {
            self.at += 1;
        }
        !matches!(self.byte(), None | Some(b']' | b'}'))
    }

    /// The string that begins here.
    fn string(&mut self) -> &'t str {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.byte() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The value that begins here, without blanks around it.
    fn value(&mut self) -> &'t str {
        let (start, mut depth) = (self.at, 0_usize);
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => {
                    self.string();
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
