//! Typed tools from plain Rust functions (rules 8.3 and 8.3b).
#![cfg(feature = "schemars")]

use std::collections::BTreeMap;

use ptc_signature::{Style, ToolDescription, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(dead_code)]
enum Status {
    /// Still to do.
    Pending,
    Done,
}

/// What to look for.
///
/// This part is for people only.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct FindArgs {
    /// Text to search.
    query: String,
    limit: Option<i64>,
    status: Option<Status>,
    weights: BTreeMap<String, f64>,
    tags: Vec<String>,
    raw: serde_json::Value,
    page: u8,
    nested: Nested,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Nested {
    deep: bool,
    parent: Option<Box<Nested>>,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    id: i64,
    score: f32,
}

ptc_signature::tool! {
    /// Finds things,
    /// one page at a time.
    ///
    /// Not shown to models.
    fn find(args: FindArgs) -> Result<Vec<Found>, std::num::ParseIntError> {
        let id = args.query.parse()?;
        Ok(vec![Found { id, score: 1.0 }])
    }
}

ptc_signature::tool! {
    fn ping(_args: Nothing) -> String {
        "pong".to_owned()
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[test]
fn r8_3_types_come_from_the_argument_struct() {
    let signature = find::describe().signature;
    assert_eq!(
        signature.render(Style::Canonical),
        "(query :string, limit :int?, status :enum[done pending]?, weights :map[:float], tags [:string], raw :any, \
         page :int[0..255], nested {deep :bool, parent :map?}) -> [{id :int, score :float}]"
    );
    assert_eq!(signature.input.fields[0].description.as_deref(), Some("Text to search."));
}

#[test]
fn r8_3b_the_doc_comment_is_the_description() {
    assert_eq!(find::describe().description.as_deref(), Some("Finds things, one page at a time."));
    assert_eq!(
        ToolDescription::of::<FindArgs, Vec<Found>>("find").description.as_deref(),
        Some("What to look for.")
    );
    assert_eq!(ping::describe().description, None);
    assert_eq!(ping::describe().render(Style::Prompt), "ping() -> :string");
    let function = find::describe().to_function();
    assert_eq!(function["name"], "find");
    assert_eq!(
        function["parameters"]["properties"]["query"],
        json!({"type": "string", "description": "Text to search."})
    );
}

#[test]
fn a_typed_tool_is_called_with_what_a_model_wrote() {
    let args = json!({"query": "12", "limit": "5", "weights": {"a": 1}, "tags": [], "raw": null, "page": 3, "nested": {"deep": "true"}, "status": "done"});
    assert_eq!(find::call(&args), Ok(json!([{"id": 12, "score": 1.0}])));
    let mut wrong = args.clone();
    wrong["page"] = json!(300);
    assert_eq!(
        find::call(&wrong).expect_err("out of range").to_string(),
        "Tool validation errors:\n- page: expected int between 0 and 255, got int 300\n\nTool validation warnings:\n\
         - limit: coerced string \"5\" to int\n- nested.deep: coerced string \"true\" to bool"
    );
    let mut failing = args;
    failing["query"] = json!("x");
    assert_eq!(find::call(&failing).expect_err("no number").to_string(), "invalid digit found in string");
    assert_eq!(ping::call(&json!({})), Ok(json!("pong")));
}
