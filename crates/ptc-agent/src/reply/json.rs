//! Where JSON stands in a reply.

use serde_json::Value as Json;

use super::blocks::{fenced, unify_line_ends};
use super::thoughts::without_thoughts;

/// The JSON of a reply: the first block that is fenced as JSON or without a language, else what begins
/// with the first `{` or `[`. The error says what is wrong with it.
pub(crate) fn extract_json(reply: &str) -> Result<Json, String> {
    let reply = unify_line_ends(reply);
    let reply = without_thoughts(&reply);
    let block = fenced(&reply)
        .into_iter()
        .find(|block| matches!(block.tag.as_str(), "json" | "") && !block.text.is_empty());
    match block {
        // A block that was meant as JSON is not replaced by something else that is found.
        Some(block) => parse(&block.text),
        None => parse_within(&reply),
    }
}

/// The whole text as JSON, of any kind.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    serde_json::from_str(text.trim()).map_err(|error| error.to_string())
}

/// The object or list that begins first; what follows it is prose.
fn parse_within(reply: &str) -> Result<Json, String> {
    let Some(start) = reply.find(['{', '[']) else {
        return Err("there is no `{` or `[` in the reply".to_owned());
    };
    let mut values = serde_json::Deserializer::from_str(&reply[start..]).into_iter();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(error)) => Err(error.to_string()),
        None => Err("there is no JSON in the reply".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r5_5_where_the_json_is() {
        for (reply, value) in [
            (r#"{"a": 1}"#, json!({"a": 1})),
            ("  [1, 2]\n", json!([1, 2])),
            ("Sure:\n```json\n{\"a\": 1}\n```\nDone {x}", json!({"a": 1})),
            ("```\n[1]\n```", json!([1])),
            // An empty block is no answer.
            ("```json\n```\n{\"a\": 2}", json!({"a": 2})),
            // Blocks in other languages are not looked at.
            ("```python\nprint({})\n```\n```json\n{\"a\": 3}\n```", json!({"a": 3})),
            (r#"The result is {"a": "}\" {"} as asked."#, json!({"a": "}\" {"})),
            ("rows: [[1], [2]] and [3]", json!([[1], [2]])),
            ("```json\n42\n```", json!(42)),
        ] {
            assert_eq!(extract_json(reply), Ok(value), "{reply:?}");
        }
    }

    #[test]
    fn r5_5_a_malformed_block_is_an_error_even_if_there_is_other_json() {
        assert!(extract_json("```json\n{\"a\": }\n```\n{\"a\": 1}").is_err());
        assert!(extract_json("{\"a\": 1, \"b\": [1, 2]").is_err());
        assert!(extract_json("no JSON here").unwrap_err().contains("no `{` or `[`"));
    }

    #[test]
    fn hostile_nesting_is_an_error() {
        assert!(extract_json(&"[".repeat(100_000)).is_err());
    }
}
