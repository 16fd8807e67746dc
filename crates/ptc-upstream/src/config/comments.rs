//! JSON as clients write it: with comments, and with commas after the last entry. Both become spaces, so that what is wrong with
//! the rest is told with its own line and column, and everything else is as strict as JSON is.

use std::ops::Range;

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

/// The text without comments and commas at the end of lists and objects.
pub fn blanked(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in left_out(text) {
        bytes[range].iter_mut().filter(|byte| !byte.is_ascii_whitespace()).for_each(|byte| *byte = b' ');
    }
    // Whole characters became spaces, so it is text still.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Where comments and such commas are. What cannot be read as JSON ends the search: reading it says what is wrong.
fn left_out(text: &str) -> Vec<Range<usize>> {
    let mut scanner = Scanner::new(text, &strict());
    let mut out = Vec::new();
    // A comma that follows a value, until it is known what comes after it.
    let mut comma: Option<Range<usize>> = None;
    let mut after_value = false;
    while let Ok(Some(token)) = scanner.scan() {
        let range = scanner.token_start()..scanner.token_end();
        match token {
            Token::CommentLine(_) | Token::CommentBlock(_) => out.push(range),
            Token::Comma => {
                comma = after_value.then_some(range);
                after_value = false;
            }
            Token::CloseBrace | Token::CloseBracket => {
                out.extend(comma.take());
                after_value = true;
            }
            Token::OpenBrace | Token::OpenBracket | Token::Colon => {
                comma = None;
                after_value = false;
            }
            Token::String(_) | Token::Word(_) | Token::Boolean(_) | Token::Number(_) | Token::Null => {
                comma = None;
                after_value = true;
            }
        }
    }
    out
}

/// Nothing that JSON does not have.
fn strict() -> ScannerOptions {
    ScannerOptions {
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    fn read(text: &str) -> Result<Json, String> {
        ptc_host::strict_json(&blanked(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn comments_and_commas_at_the_end_are_left_out() {
        for (text, expected) in [
            ("{} // end", json!({})),
            ("// first\n{\"a\": /* é, \"b\" */ 1}", json!({"a": 1})),
            ("{\"a\": [1, 2, /* last */ ], }", json!({"a": [1, 2]})),
            ("{\"a\": {\"b\": true,},\r\n}", json!({"a": {"b": true}})),
            ("{\"a\": \"// no, comment /* */ ,]\"}", json!({"a": "// no, comment /* */ ,]"})),
            ("{\"a\": \"\\\"//\",}", json!({"a": "\"//"})),
        ] {
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn all_else_is_as_strict_as_json_and_told_where_it_stands() {
        for (text, expected) in [
            ("[,]", "at line 1 column 2"),
            ("[1,,]", "at line 1 column 4"),
            ("{\"a\":,}", "at line 1 column 6"),
            ("{\"a\": 1,,}", "at line 1 column 9"),
            ("{'a': 1}", "at line 1 column 2"),
            ("{a: 1}", "at line 1 column 2"),
            ("[0x10]", "at line 1 column 3"),
            ("{\"a\": 1 \"b\": 2}", "at line 1 column 9"),
            ("/* é\n*/ {\"a\": 1, // one\n  \"b\" 2}", "at line 3 column 7"),
            ("{\"a\": 1, /* open", "at line 1 column"),
            ("", "at line 1 column 0"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(read("{\"a\": 1, \"a\": 2,}").is_err(), "a key that comes twice");
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(read(&deep).is_err());
    }
}
