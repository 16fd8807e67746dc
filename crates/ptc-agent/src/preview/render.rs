//! The preview itself.

use ptc_signature::mask;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::call::call_text;
use super::shape::shape;
use crate::cache::json_bytes;

/// Longest call that a hint repeats, in characters.
const MAX_CALL: usize = 2_000;

/// How a result is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PreviewKind {
    /// Its shape only.
    Metadata,
    /// Its first rows, so many of them.
    Rows(usize),
    /// What the host's function made of it.
    Custom(Result<Json, CustomError>),
}

/// Why the host's function gave no preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomError {
    /// It failed.
    Raised(String),
    /// What it gave has no JSON form.
    NonEncodable(String),
}

/// What is wrong with the preview of a host's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WarningCategory {
    /// The function failed.
    Raised,
    /// It gave something other than a map.
    NonMap,
    /// It gave something without a JSON form.
    NonEncodable,
}

/// A warning for the host: its function was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "the preview function of tool `{tool}` is not used: {message}; the model sees the shape of the result"
)]
pub(crate) struct PreviewWarning {
    /// The tool.
    pub(crate) tool: String,
    /// What is wrong.
    pub(crate) category: WarningCategory,
    /// What happened, in words.
    pub(crate) message: String,
}

/// The result of a call, and what became of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultOf<'a> {
    /// The tool.
    pub(crate) tool: &'a str,
    /// Its arguments.
    pub(crate) args: &'a Json,
    /// The whole result.
    pub(crate) result: &'a Json,
    /// Whether the result is kept, so that a program gets it without running the tool again.
    pub(crate) cached: bool,
    /// Whether values under hidden names are masked.
    pub(crate) firewall: bool,
}

/// What a model sees of a result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResultPreview {
    /// The content of the tool's message.
    pub(crate) json: Json,
    /// Whether rows or fields were left out.
    pub(crate) truncated: bool,
    /// Bytes of the result that it shows.
    pub(crate) shown: usize,
    /// What the host should know.
    pub(crate) warning: Option<PreviewWarning>,
}

/// The preview of a result. A host's function that gives no map is replaced by the shape of the result.
pub(crate) fn preview(of: &ResultOf<'_>, kind: &PreviewKind) -> ResultPreview {
    let parts = match kind {
        PreviewKind::Metadata => metadata(of),
        PreviewKind::Rows(limit) => rows(of, *limit),
        PreviewKind::Custom(Ok(Json::Object(fields))) => custom(of, fields),
        PreviewKind::Custom(outcome) => Parts { warning: Some(warning(of.tool, outcome)), ..metadata(of) },
    };
    let Parts { fields, truncated, shown, warning } = parts;
    let mut json = universal(of);
    for (name, value) in fields {
        json.entry(name).or_insert(value);
    }
    ResultPreview { json: Json::Object(json), truncated, shown, warning }
}

/// A preview without what every preview says.
struct Parts {
    fields: Map<String, Json>,
    truncated: bool,
    shown: usize,
    warning: Option<PreviewWarning>,
}

/// What every preview says; no preview can say otherwise.
fn universal(of: &ResultOf<'_>) -> Map<String, Json> {
    let mut fields = Map::new();
    fields.insert("status".to_owned(), json!("ok"));
    fields.insert("full_result_cached".to_owned(), json!(of.cached));
    fields.insert("cache_hint".to_owned(), json!(hint(of)));
    fields
}

/// How a program gets at the whole result.
fn hint(of: &ResultOf<'_>) -> String {
    let call = call_text(of.tool, of.args, of.firewall);
    let call = match call.chars().nth(MAX_CALL) {
        None => call,
        Some(_) => format!("(tool/{} …) with the same arguments", of.tool),
    };
    match of.cached {
        true => format!(
            "The whole result is kept for programs. To work on it, run a program with lisp_eval that calls {call}."
        ),
        false => format!(
            "The whole result is too large to keep. A program that calls {call} runs the tool again and gets all \
             of it."
        ),
    }
}

fn metadata(of: &ResultOf<'_>) -> Parts {
    let shape = shape(of.result, of.firewall);
    Parts { fields: shape.fields, truncated: shape.truncated, shown: shape.key_bytes, warning: None }
}

fn rows(of: &ResultOf<'_>, limit: usize) -> Parts {
    let mut parts = metadata(of);
    let Json::Array(items) = of.result else { return parts };
    let first: Json =
        items.iter().take(limit).map(|row| if of.firewall { mask(row) } else { row.clone() }).collect();
    parts.truncated |= limit < items.len();
    parts.shown += json_bytes(&first) as usize;
    parts.fields.insert("rows".to_owned(), first);
    parts
}

/// The fields of the host as a model may see them.
fn custom(of: &ResultOf<'_>, fields: &Map<String, Json>) -> Parts {
    let fields = match of.firewall {
        true => mask(&Json::Object(fields.clone())),
        false => Json::Object(fields.clone()),
    };
    let shown = json_bytes(&fields) as usize;
    let fields = if let Json::Object(fields) = fields { fields } else { Map::new() };
    Parts { fields, truncated: false, shown, warning: None }
}

fn warning(tool: &str, outcome: &Result<Json, CustomError>) -> PreviewWarning {
    let (category, message) = match outcome {
        Ok(_) => (WarningCategory::NonMap, "it gave something other than a map".to_owned()),
        Err(CustomError::Raised(text)) => (WarningCategory::Raised, format!("it failed: {text}")),
        Err(CustomError::NonEncodable(text)) => {
            (WarningCategory::NonEncodable, format!("what it gave has no JSON form: {text}"))
        }
    };
    PreviewWarning { tool: tool.to_owned(), category, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs() -> Json {
        json!([{"id": 1, "msg": "a", "_raw": "s1"}, {"id": 2, "msg": "b", "_raw": "s2"}, {"id": 3, "msg": "c", "_raw": "s3"}])
    }

    fn of<'a>(result: &'a Json, args: &'a Json) -> ResultOf<'a> {
        ResultOf { tool: "search_logs", args, result, cached: true, firewall: true }
    }

    fn show(result: &Json, kind: PreviewKind) -> ResultPreview {
        preview(&of(result, &json!({"query": "x"})), &kind)
    }

    #[test]
    fn r6_22_every_preview_says_how_to_get_the_whole() {
        let custom = PreviewKind::Custom(Ok(json!({"status": "no", "cache_hint": 1, "top": 1})));
        for kind in [PreviewKind::Metadata, PreviewKind::Rows(2), custom] {
            let json = show(&logs(), kind).json;
            assert_eq!(
                (json["status"].as_str(), json["full_result_cached"].as_bool()),
                (Some("ok"), Some(true))
            );
            let hint = json["cache_hint"].as_str().unwrap();
            assert!(
                hint.contains("lisp_eval") && hint.contains("(tool/search_logs {:query \"x\"})"),
                "{hint}"
            );
        }
    }

    #[test]
    fn r6_22_a_result_that_is_not_kept_is_not_said_to_be() {
        let (result, args) = (logs(), json!({"query": "x"}));
        let json = preview(&ResultOf { cached: false, ..of(&result, &args) }, &PreviewKind::Metadata).json;
        assert_eq!(json["full_result_cached"], false);
        assert!(json["cache_hint"].as_str().unwrap().contains("runs the tool again"));
    }

    #[test]
    fn r6_22_a_very_long_call_is_not_repeated() {
        let (result, args) = (json!([]), json!({"text": "x".repeat(10_000)}));
        let json = preview(&of(&result, &args), &PreviewKind::Metadata).json;
        assert!(json["cache_hint"].as_str().unwrap().contains("with the same arguments"));
    }

    #[test]
    fn r6_23_metadata_shows_the_shape_and_no_content() {
        let preview = show(&json!([{"id": 1, "msg": "a"}, {"id": 2, "msg": "b"}]), PreviewKind::Metadata);
        let mut json = preview.json;
        json.as_object_mut().unwrap().remove("cache_hint");
        let expected = json!({
            "status": "ok",
            "full_result_cached": true,
            "result_count": 2,
            "schema": {"type": "array", "items": {
                "type": "object", "properties": {"id": "integer", "msg": "string"}
            }},
            "sample_keys": ["id", "msg"],
        });
        assert_eq!(json, expected);
        assert!(!preview.truncated);
    }

    #[test]
    fn r6_25_rows_come_with_the_count_of_all() {
        let preview = show(&json!([{"a": 1}, {"a": 2}, {"a": 3}]), PreviewKind::Rows(2));
        assert_eq!(preview.json["rows"], json!([{"a": 1}, {"a": 2}]));
        assert_eq!((preview.json["result_count"].as_u64(), preview.truncated), (Some(3), true));
        assert_eq!(preview.json["sample_keys"], json!(["a"]));
        assert!(!show(&json!([1]), PreviewKind::Rows(20)).truncated);
    }

    #[test]
    fn r6_25_what_is_no_list_has_no_rows() {
        let json = show(&json!({"a": 1}), PreviewKind::Rows(5)).json;
        assert_eq!((json.get("rows"), &json["sample_keys"]), (None, &json!(["a"])));
    }

    #[test]
    fn r6_26_the_hosts_function_is_merged_in() {
        let preview = show(&logs(), PreviewKind::Custom(Ok(json!({"top": [3, 2], "_raw": "s1"}))));
        assert_eq!((&preview.json["top"], &preview.json["_raw"]), (&json!([3, 2]), &json!("<Firewalled>")));
        assert_eq!(preview.json.get("schema"), None);
        assert_eq!(preview.warning, None);
    }

    #[test]
    fn r6_26_a_function_that_gives_no_map_is_replaced_with_a_warning() {
        for (outcome, category) in [
            (Err(CustomError::Raised("boom".to_owned())), WarningCategory::Raised),
            (Ok(json!([1])), WarningCategory::NonMap),
            (
                Err(CustomError::NonEncodable("key must be a string".to_owned())),
                WarningCategory::NonEncodable,
            ),
        ] {
            let preview = show(&logs(), PreviewKind::Custom(outcome));
            let warning = preview.warning.unwrap();
            assert_eq!((warning.category, warning.tool.as_str()), (category, "search_logs"));
            assert!(warning.to_string().contains("search_logs"));
            assert_eq!(preview.json["result_count"], 3);
        }
    }

    #[test]
    fn no_preview_shows_what_is_hidden() {
        let custom = PreviewKind::Custom(Ok(json!({"first": logs()[0]})));
        for kind in [PreviewKind::Metadata, PreviewKind::Rows(3), custom] {
            let text = show(&logs(), kind.clone()).json.to_string();
            assert!(!text.contains("s1") && !text.contains("s3"), "{kind:?}: {text}");
        }
    }
}
