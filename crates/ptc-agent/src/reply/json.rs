//! Where JSON stands in a reply.

use ptc_lisp::json::strict_json;
use serde_json::Value as Json;

use super::blocks::{divided, unify_line_ends};
use super::thoughts::without_thoughts;

/// The JSON of a reply: blocks that are fenced as JSON or without a language, and objects and lists that stand in its prose. Which
/// of several is meant, only the type of the answer can say. The error says what is wrong where something was meant as JSON
/// and is none.
pub(crate) fn extract_json(reply: &str) -> Result<Vec<Json>, String> {
    let reply = unify_line_ends(reply);
    let reply = without_thoughts(&reply);
    let (blocks, prose) = divided(&reply);
    let (mut values, mut fault) = (Vec::new(), None);
    for block in &blocks {
        if block.text.is_empty() || !matches!(block.tag.as_str(), "json" | "") {
            continue;
        }
        match parse_exact(&block.text) {
            Ok(value) => values.push(value),
            // A block that was meant as JSON is not replaced by something else that is found.
            Err(error) if block.tag == "json" || block.text.starts_with(['{', '[']) => return Err(error),
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    values.extend(within(&prose, &mut fault)?);
    match values.is_empty() {
        true => Err(fault.unwrap_or_else(|| "there is no `{` or `[` in the reply".to_owned())),
        false => Ok(values),
    }
}

/// The whole text as JSON, of any kind.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    strict_json(text.trim()).map_err(|error| error.to_string())
}

/// The same, without an integer that would be rounded.
fn parse_exact(text: &str) -> Result<Json, String> {
    let value = parse(text)?;
    exact(text).map(|()| value)
}

/// Sees that a text of JSON has no integer that its reader rounded.
pub(super) fn exact(json: &str) -> Result<(), String> {
    ptc_lisp::json::exact(json).map_err(|rounded| rounded.to_string())
}

/// The objects and lists of prose. Brackets that begin no JSON, `[sic]`, are words; the first of them is the fault.
fn within(prose: &str, fault: &mut Option<String>) -> Result<Vec<Json>, String> {
    let (mut values, mut rest) = (Vec::new(), prose);
    while let Some(start) = rest.find(['{', '[']) {
        rest = &rest[start..];
        let mut read = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        match read.next() {
            Some(Ok(_)) => {
                let end = read.byte_offset();
                values.push(parse_exact(&rest[..end])?);
                rest = &rest[end..];
            }
            // What stands within a value that is cut or broken is a part of it, and no answer.
            Some(Err(error)) if is_cut(&error, rest) || is_meant_as_json(rest) => {
                return Err(error.to_string());
            }
            Some(Err(error)) => {
                fault.get_or_insert(error.to_string());
                rest = &rest[1..];
            }
            None => break,
        }
    }
    Ok(values)
}

/// Whether a value has begun and does not end. A bracket that nothing follows has begun none.
fn is_cut(error: &serde_json::Error, text: &str) -> bool {
    error.is_eof() && text.trim_end().len() > 1
}

/// Whether a text goes on behind its first bracket as only JSON does.
fn is_meant_as_json(text: &str) -> bool {
    let inner =
        |text: &str, bracket: char| text.strip_prefix(bracket).map(|inner| inner.trim_start().to_owned());
    let object = |text: &str| inner(text, '{').is_some_and(|inner| inner.starts_with('"'));
    object(text) || inner(text, '[').is_some_and(|inner| object(&inner) || inner.starts_with(['"', '[']))
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
            ("rows: [[1], [2]] and [sic], {x}", json!([[1], [2]])),
            ("```json\n{\"a\": 4}", json!({"a": 4})),
            ("```json\n42\n```", json!(42)),
        ] {
            assert_eq!(extract_json(reply), Ok(vec![value]), "{reply:?}");
        }
    }

    #[test]
    fn all_json_of_a_reply_is_found() {
        for (reply, values) in [
            ("rows: [[1], [2]] and [3]", json!([[[1], [2]], [3]])),
            (
                "```json\n{\"a\": 1}\n```\nor\n```\n{\"a\": 2}\n```\nor {\"a\": 3}",
                json!([{"a": 1}, {"a": 2}, {"a": 3}]),
            ),
            ("```\nplain\n```\n[1]", json!([[1]])),
        ] {
            assert_eq!(extract_json(reply).map(Json::from), Ok(values), "{reply:?}");
        }
    }

    #[test]
    fn integers_beyond_64_bits_are_refused_not_rounded() {
        for reply in ["{\"n\": 36893488147419103232123}", "```json\n[36893488147419103232123]\n```"] {
            let error = extract_json(reply).unwrap_err();
            assert!(
                error.contains("36893488147419103232123") && error.contains("would be rounded"),
                "{error}"
            );
        }
        assert!(extract_json("[\"36893488147419103232123\", 3.5e30, 18446744073709551615]").is_ok());
    }

    #[test]
    fn nothing_within_a_broken_value_is_an_answer() {
        for reply in
            ["{\"a\": {\"n\": 1}, oops}", "{\"n\": 1} then {\"n\": 4", "[{\"n\": 1}, oops]", "[[1], oops]"]
        {
            assert!(extract_json(reply).is_err(), "{reply}");
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
