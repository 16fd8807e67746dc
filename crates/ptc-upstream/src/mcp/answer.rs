//! Results of `tools/list` and `tools/call`, read leniently: what a server adds is ignored, what it leaves out
//! is filled in, and only what makes no sense at all is an error.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json, json};

use super::content;
use crate::call;
use crate::model::{Fault, Payload, Reason, ToolDef};

/// One page of a list of tools.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    tools: Vec<Json>,
    /// Where the next page begins, if there is one.
    #[serde(default)]
    pub next_cursor: Option<String>,
}

impl Page {
    /// Reads the text of a result.
    pub fn read(text: &str) -> Result<Page, Fault> {
        serde_json::from_str(text).map_err(|error| nonsense("tools/list", &error))
    }

    /// Its tools; those without a name are left out, since nobody could call them.
    pub fn tools(&mut self, transport: &str) -> impl Iterator<Item = ToolDef> {
        std::mem::take(&mut self.tools).into_iter().filter_map(move |tool| read_tool(tool, transport))
    }
}

fn read_tool(tool: Json, transport: &str) -> Option<ToolDef> {
    let Json::Object(mut fields) = tool else { return None };
    let text = |fields: &mut Map<String, Json>, key: &str| match fields.shift_remove(key) {
        Some(Json::String(text)) => text,
        _ => String::new(),
    };
    let object = |fields: &mut Map<String, Json>, key: &str| match fields.shift_remove(key) {
        Some(Json::Object(object)) => Some(object),
        _ => None,
    };
    let name = text(&mut fields, "name");
    if name.is_empty() {
        return None;
    }
    Some(ToolDef {
        name,
        description: text(&mut fields, "description"),
        input_schema: object(&mut fields, "inputSchema").unwrap_or_default(),
        output_schema: object(&mut fields, "outputSchema"),
        annotations: object(&mut fields, "annotations").unwrap_or_default(),
        provenance: Map::from_iter([("transport".to_owned(), json!(transport))]),
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(default)]
    content: Vec<Json>,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Json>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    result_type: Option<String>,
}

/// An explicit `null` is a value too.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(deserializer).map(Some)
}

/// Reads the text of the result of a call.
pub fn payload(text: &str) -> Result<Payload, Fault> {
    let called: Called = serde_json::from_str(text).map_err(|error| nonsense("tools/call", &error))?;
    call::exact(text)?;
    if let Some(kind) = called.result_type.filter(|kind| kind != "complete") {
        let message =
            format!("the server wants something before it answers ({kind}), which programs cannot give");
        return Err(Fault::new(Reason::UpstreamError, message));
    }
    Ok(Payload {
        structured: called.structured_content,
        content: called.content.into_iter().filter_map(content::block).collect(),
        is_error: called.is_error.unwrap_or(false),
        bytes: text.len(),
    })
}

fn nonsense(method: &str, error: &serde_json::Error) -> Fault {
    Fault::new(Reason::UpstreamError, format!("answered {method} with something that is no result: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_calls() {
        let read = |value: Json| payload(&value.to_string());
        let full = read(json!({
            "content": [{"type": "image", "data": ""}, {"type": "text", "text": "a"}, {"type": "new", "text": "x"}],
            "structuredContent": {"n": 1}, "isError": true, "resultType": "complete",
        }));
        let full = full.expect("a result");
        assert_eq!(
            (full.texts(), full.structured.as_ref(), full.is_error),
            (vec!["a"], Some(&json!({"n": 1})), true)
        );
        assert_eq!(full.content.len(), 3, "{full:?}");
        assert_eq!(read(json!({})).expect("an empty result"), Payload { bytes: 2, ..Payload::default() });
        assert_eq!(read(json!({"structuredContent": null})).expect("null").structured, Some(Json::Null));
        let rounded = payload("{\"structuredContent\": {\"id\": 18446744073709551617}}")
            .expect_err("it would be rounded");
        assert!(
            rounded.message.contains("18446744073709551617, which does not fit 64 bits"),
            "{}",
            rounded.message
        );
        for bad in [json!(1), json!({"content": 1}), json!({"resultType": "input_required"})] {
            assert_eq!(read(bad.clone()).expect_err(&bad.to_string()).reason, Reason::UpstreamError);
        }
    }

    #[test]
    fn tools_are_filled_in_and_nameless_ones_left_out() {
        let text = json!({"tools": [{"name": "a"}, {"name": ""}, 3, {"name": "b", "inputSchema": {"type": "object"}}],
                          "nextCursor": "2", "extra": true});
        let mut page = Page::read(&text.to_string()).expect("a page");
        let names: Vec<String> = page.tools("mcp_stdio").map(|tool| tool.name).collect();
        assert_eq!((names, page.next_cursor.as_deref()), (vec!["a".to_owned(), "b".to_owned()], Some("2")));
        assert_eq!(Page::read("{}").expect_err("no tools").reason, Reason::UpstreamError);
    }
}
