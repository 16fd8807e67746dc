//! The forms in which a secret may come back, and how a text is folded.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

/// Shorter secrets are not looked for inside longer texts in base64.
const SHORTEST_INSIDE: usize = 8;

/// What a text is looked through for as it is: the secret, percent-encoded, in base64, and escaped as in JSON.
pub fn exact(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned(), percent(secret, true), percent(secret, false)];
    forms.extend([STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|engine| engine.encode(secret)));
    if secret.len() >= SHORTEST_INSIDE {
        forms.extend(inside_base64(secret.as_bytes()));
    }
    let once = quoted(secret);
    // JSON within a text within JSON, as messages have it.
    forms.push(quoted(&once));
    forms.push(once);
    forms
}

/// As it stands in a text of JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text)
        .map_or_else(|_| text.to_owned(), |quoted| quoted[1..quoted.len() - 1].to_owned())
}

/// What a folded text is looked through for whatever the size of the secret: it takes no more memory than the secret.
pub fn folded(secret: &str) -> [String; 2] {
    [fold(secret), fold(&secret.chars().rev().collect::<String>())]
}

/// The codes that a folded text is looked through for; together they take many times the bytes of the secret.
pub fn coded(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let each = |code: &dyn Fn(char) -> String| secret.chars().map(code).collect::<String>();
    // Characters that texts in other formats may not hold as they are.
    let special = |code: &dyn Fn(char) -> String| {
        let coded = |c: char| if c.is_alphanumeric() && c.is_ascii() { c.to_string() } else { code(c) };
        secret.chars().map(coded).collect::<String>()
    };
    let codes: [&dyn Fn(char) -> String; 6] = [
        &|c| format!("{}", u32::from(c)),
        &|c| format!("x{:x}", u32::from(c)),
        &|c| format!("0x{:02x}", u32::from(c)),
        &|c| format!("u{:x}", u32::from(c)),
        &utf16,
        &named,
    ];
    let mut forms = vec![percent(secret, false)];
    forms.push(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
    forms.push(bytes.iter().map(|byte| format!("{byte}")).collect());
    forms.push(bytes.iter().map(|byte| format!("{byte:03o}")).collect());
    forms.extend(
        ["", "0", "0o"].map(|mark| bytes.iter().map(|byte| format!("{mark}{byte:o}")).collect::<String>()),
    );
    forms.extend(codes.iter().flat_map(|code| [each(code), special(code)]));
    if secret.len() >= SHORTEST_INSIDE {
        let once = inside_base64(bytes);
        forms.extend(once.iter().flat_map(|once| inside_base64(once.as_bytes())));
        forms.extend(once);
        forms.extend(inside_base32(bytes));
    }
    forms.iter().map(|form| fold(form)).collect()
}

/// Letters and digits in lower case, without anything that stands between them.
pub fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            'A'..='Z' => out.push(c.to_ascii_lowercase()),
            _ if c.is_ascii() || !c.is_alphanumeric() => {}
            _ => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// A text of the same length in which escapes of line breaks, tabs and the like (`\n`, or `\\n` where a text is quoted twice) are
/// blanks; nothing if it has none. Folding would leave their letters between those of a secret.
pub fn without_breaks(text: &str) -> Option<String> {
    let mut bytes = text.as_bytes().to_vec();
    let (mut slashes, mut found) = (0, false);
    for at in 0..bytes.len() {
        match bytes[at] {
            b'\\' => slashes += 1,
            b'n' | b'r' | b't' | b'b' | b'f' | b'v' if slashes > 0 => {
                bytes[at - slashes..=at].fill(b' ');
                (slashes, found) = (0, true);
            }
            _ => slashes = 0,
        }
    }
    // Only ASCII was put in the place of ASCII.
    String::from_utf8(bytes).ok().filter(|_| found)
}

/// For every byte of a folded text, where the character that it comes from stands.
pub fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for (at, c) in text.char_indices() {
        let place = at..at + c.len_utf8();
        let folded = fold(&text[place.clone()]).len();
        places.extend(std::iter::repeat_n(place, folded));
    }
    places
}

/// The units of UTF-16, as `\uXXXX` has them.
fn utf16(c: char) -> String {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().map(|unit| format!("u{unit:04x}")).collect()
}

/// The five characters that every dialect of HTML and XML has names for.
fn named(c: char) -> String {
    match c {
        '&' => "amp".to_owned(),
        '<' => "lt".to_owned(),
        '>' => "gt".to_owned(),
        '"' => "quot".to_owned(),
        '\'' => "apos".to_owned(),
        other => other.to_string(),
    }
}

/// How a longer text in base64 shows that the secret is in it: three bytes become four characters, so it looks
/// different by where it begins, and the characters that it shares with its neighbours are left out.
fn inside_base64(secret: &[u8]) -> Vec<String> {
    let shifted = (0..3).flat_map(|before| {
        let text = [&[0; 3][..before], secret].concat();
        let (first, last) = ((before * 4).div_ceil(3), text.len() * 4 / 3);
        [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(&text)[first..last].to_owned())
    });
    shifted.collect()
}

/// The same for base32, of which five bytes become eight characters.
fn inside_base32(secret: &[u8]) -> Vec<String> {
    let shifted = (0..5).map(|before| {
        let text = [&[0; 5][..before], secret].concat();
        let (first, last) = ((before * 8).div_ceil(5), text.len() * 8 / 5);
        base32(&text)[first..last].to_owned()
    });
    shifted.collect()
}

/// Base32 of RFC 4648 in lower case, without padding.
fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut out = String::new();
    for chunk in bytes.chunks(5) {
        let mut word = [0; 8];
        word[3..3 + chunk.len()].copy_from_slice(chunk);
        let word = u64::from_be_bytes(word);
        for at in 0..(chunk.len() * 8).div_ceil(5) {
            out.push(char::from(ALPHABET[(word >> (35 - 5 * at)) as usize & 31]));
        }
    }
    out
}

/// Percent-encoded, with everything encoded that is not unreserved; hexadecimal digits in either case.
fn percent(text: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ if upper => out.push_str(&format!("%{byte:02X}")),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_the_rfc() {
        for (text, coded) in
            [("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foob", "mzxw6yq"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(base32(text.as_bytes()), coded);
        }
    }

    #[test]
    fn escapes_of_line_breaks_are_blanks_of_the_same_length() {
        for (text, expected) in [
            ("a\\nb\\r\\nc", Some("a  b    c")),
            ("ü\\\\\\nb", Some("ü    b")),
            ("\\x68\\u0068", None),
            ("plain n", None),
        ] {
            assert_eq!(without_breaks(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn every_byte_of_a_folded_text_has_its_place() {
        let text = "Ü-İ\u{200b}x 1";
        let places = places(text);
        assert_eq!(places.len(), fold(text).len());
        assert_eq!(&text[places[places.len() - 2].clone()], "x");
        assert_eq!(&text[places[0].clone()], "Ü");
    }
}
