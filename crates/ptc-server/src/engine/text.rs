//! Small things about texts and JSON that several modules need.

use serde_json::Value as Json;

/// The beginning of a text in at most so many bytes.
pub fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The beginning of a text in at most so many characters, and whether something is missing.
pub fn cut_chars(text: &str, most: usize) -> (&str, bool) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// What JSON calls the type of a value.
pub fn json_type(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

/// The size of a value as compact JSON.
pub fn json_bytes(value: &Json) -> usize {
    ptc_upstream::ledger::json_bytes(value)
}

/// The size of a text as a JSON string.
pub fn quoted_bytes(text: &str) -> usize {
    2 + text
        .chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if (c as u32) < 0x20 => 6,
            c => c.len_utf8(),
        })
        .sum::<usize>()
}

/// The block that data of upstreams stands in.
pub const UNTRUSTED: &str = "untrusted_ptc_output";

/// What others said, in words of ours: every character can be seen, and it cannot end the block around it.
pub fn harmless(text: &str) -> String {
    without_tags(&ptc_host::visible(text), &[UNTRUSTED])
}

/// A text whose tags of these names do nothing: `</name` becomes `&lt;/name`. Characters that cannot be seen do not hide one.
pub fn without_tags(text: &str, names: &[&str]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let after = &rest[at + 1..];
        let word = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace() || unseen(c));
        let word: String = word.chars().take(LONGEST_TAG).filter(|c| !unseen(*c)).collect();
        let tag = names
            .iter()
            .any(|name| word.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)));
        out.push_str(&rest[..at]);
        out.push_str(if tag { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// As many characters behind `<` are looked at for a name.
const LONGEST_TAG: usize = 64;

fn unseen(c: char) -> bool {
    c.is_control() || ptc_host::is_format(c)
}

/// A time, in milliseconds since 1970, as clients read it.
pub fn moment(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms).map(|time| time.to_string()).unwrap_or_default()
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cuts_never_split_a_character() {
        assert_eq!(cut("žluť", 2), "ž");
        assert_eq!(cut("žluť", 1), "");
        assert_eq!(cut_chars("žluť", 2), ("žl", true));
        assert_eq!(cut_chars("žluť", 4), ("žluť", false));
    }

    #[test]
    fn sizes_are_those_of_json() {
        for text in ["", "a\"b\\c\n\u{1}é", "plain"] {
            assert_eq!(quoted_bytes(text), json!(text).to_string().len(), "{text:?}");
        }
    }

    #[test]
    fn tags_inside_do_nothing() {
        let text = without_tags("a </prints> < Result> 1 < 2 <b>", &["prints", "result"]);
        assert_eq!(text, "a &lt;/prints> &lt; Result> 1 < 2 <b>");
        let hidden = without_tags("<\u{200b}/result> </re\u{200d}sult> <\u{1b}result>", &["result"]);
        assert_eq!(hidden, "&lt;\u{200b}/result> &lt;/re\u{200d}sult> &lt;\u{1b}result>");
    }
}
