//! The parts of a JSON text, as the texts that they are.
//!
//! The feature `raw_value` of serde_json would do this. It also makes every object with a key of its own, wherever JSON is
//! read, the value that the text under that key spells, with a depth of its own: whoever sends JSON could then send values
//! that no limit has seen. No crate here may ask for that feature.

use std::borrow::Cow;

use ptc_lisp::json::parts;
use serde::de::{Error, IgnoredAny};

/// The fields of a JSON object with their texts; of more than `most`, one more than that.
pub fn fields(text: &str, most: usize) -> Result<Vec<(String, &str)>, serde_json::Error> {
    let read = |(name, value)| Ok((parts::name(name)?.into_owned(), value));
    parts::fields(begins(text, '{')?).take(most.saturating_add(1)).map(read).collect()
}

/// The items of a JSON list as texts.
pub fn items(text: &str) -> Result<impl Iterator<Item = &str>, serde_json::Error> {
    Ok(parts::items(begins(text, '[')?))
}

/// The same text, if it is JSON that begins so.
fn begins(text: &str, open: char) -> Result<&str, serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text)?;
    match text.trim_ascii_start().starts_with(open) {
        true => Ok(text),
        false => Err(serde_json::Error::custom(match open {
            '{' => "expected a JSON object",
            _ => "expected a JSON list",
        })),
    }
}

/// A JSON text in which escapes that are half of a surrogate pair are `\ufffd`, as [`ptc_lisp`] reads them. JavaScript writes
/// `\ud83d` for half of an emoji that was cut, which is no character, and decoders of JSON refuse all of the text for it.
pub fn paired(text: &str) -> Cow<'_, str> {
    let mut paired: Option<String> = None;
    let (mut at, mut taken) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| rest.find('\\')) {
        let escape = at + found;
        let first = unit(text, escape);
        let is_pair = matches!(first, Some(0xd800..=0xdbff))
            && matches!(unit(text, escape + ESCAPE), Some(0xdc00..=0xdfff));
        at = escape
            + match first {
                _ if is_pair => 2 * ESCAPE,
                Some(_) => ESCAPE,
                None => 2,
            };
        if !is_pair && matches!(first, Some(0xd800..=0xdfff)) {
            let paired = paired.get_or_insert_default();
            paired.push_str(&text[taken..escape]);
            paired.push_str("\\ufffd");
            taken = at;
        }
    }
    match paired {
        Some(paired) => Cow::Owned(paired + &text[taken..]),
        None => Cow::Borrowed(text),
    }
}

/// Bytes of an escape such as `\ud83d`.
const ESCAPE: usize = 6;

/// The code unit of the escape that stands there, if one does.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
    // A number would be read with a sign before it, too.
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

/// How much a JSON text holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// How many values are inside of its lists and objects.
    pub values: usize,
    /// How deep they nest.
    pub depth: usize,
}

/// What a value of a JSON text takes while it is decoded, with the list that grows around it.
const VALUE_BYTES: usize = 128;

/// How many values a JSON text may have that is decoded for a program with so much memory.
pub fn values_within(memory_bytes: usize) -> usize {
    memory_bytes / VALUE_BYTES
}

/// How much is inside of a JSON text. Values are told by what separates them, so nothing is built.
pub fn extent(bytes: &[u8]) -> Extent {
    let (mut values, mut first, mut quoted, mut escaped) = (0, false, false, false);
    let (mut open, mut depth) = (0_usize, 0);
    for byte in bytes {
        // A list or object has as many values as commas, and one more unless it is empty.
        if std::mem::take(&mut first) && !matches!(byte, b']' | b'}') {
            values += 1;
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                first = true;
                open += 1;
                depth = depth.max(open);
            }
            b']' | b'}' if !quoted => open = open.saturating_sub(1),
            b',' if !quoted => values += 1,
            _ => {}
        }
    }
    Extent { values, depth }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_are_replaced_and_nothing_else_is() {
        for (text, expected) in [
            (r#"["a", 1, "\n\"\\"]"#, r#"["a", 1, "\n\"\\"]"#),
            (r#""\ud83d\ude00 \uD83D\uDE00 \u00e4""#, r#""\ud83d\ude00 \uD83D\uDE00 \u00e4""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\ude00b \uD83Dc""#, r#""\ufffdb \ufffdc""#),
            (r#""\ud83d\ud83d\ude00\n""#, r#""\ufffd\ud83d\ude00\n""#),
            (r#""\ud83d\u00e4""#, r#""\ufffd\u00e4""#),
            (r#""\\ud83d \\\ud83d""#, r#""\\ud83d \\\ufffd""#),
            // What is no escape stays, for whoever reads the text to refuse.
            (r#""\ud8 \u+d83""#, r#""\ud8 \u+d83""#),
            ("\"\\ud83\u{1f600}\\", "\"\\ud83\u{1f600}\\"),
        ] {
            assert_eq!(paired(text), expected);
        }
    }

    #[test]
    fn parts_are_the_texts_that_they_are() {
        let text = r#" { "a" : [1, {"b": "]},"}] , "\u0062\"," :"x\\" ,"c":{ }, "d": -1.50 , "e":null } "#;
        let expected = [
            ("a", r#"[1, {"b": "]},"}]"#),
            ("b\",", r#""x\\""#),
            ("c", "{ }"),
            ("d", "-1.50"),
            ("e", "null"),
        ];
        let found = fields(text, 9).expect("it is an object");
        assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text)));
        assert_eq!(fields(text, 1).expect("it is an object").len(), 2);
        let list = |text| items(text).expect("a list").collect::<Vec<_>>();
        assert_eq!(list(r#"[ 1 ,[2, 3],"a,b" , {} ]"#), ["1", "[2, 3]", r#""a,b""#, "{}"]);
        assert_eq!((list(" [ ] ").len(), fields("{}", 1).expect("an object").len()), (0, 0));
        for wrong in ["", "{", "[1,]", "1", r#"{"a":}"#, r#"{"a":1}}"#] {
            assert!(fields(wrong, 9).is_err() && items(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_extent_of_a_text_is_counted_without_reading_it() {
        for (text, values, depth) in [
            ("1", 0, 0),
            ("[]", 0, 1),
            ("[1]", 1, 1),
            (r#"{"a,[": "]},\"{", "b": [1, {}, [2]]}"#, 6, 3),
            (r#"[[], [], "[[["]"#, 3, 2),
        ] {
            assert_eq!(extent(text.as_bytes()), Extent { values, depth }, "{text}");
        }
    }

    #[test]
    fn no_key_of_an_object_changes_how_it_is_read() {
        for key in ["$serde_json::private::RawValue", "$serde_json::private::Number"] {
            let text = json!({key: "[1]"}).to_string();
            let read: Json = serde_json::from_str(&text).expect("JSON");
            assert_eq!(
                read.to_string(),
                text,
                "a crate asks for a feature of serde_json that it must not have"
            );
        }
    }
}
