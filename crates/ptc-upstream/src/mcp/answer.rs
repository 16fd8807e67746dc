//! Results of `tools/list` and `tools/call`, read leniently: what a server adds is ignored, what it leaves out
//! is filled in, and only what makes no sense at all is an error.

use ptc_host::parts;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value as Json, json};

use super::content;
use crate::call;
use crate::catalog::one_line;
use crate::model::{Fault, Payload, Reason, ToolDef};

/// One page of a list of tools.
#[derive(Debug, Default)]
pub struct Page {
    tools: Vec<Json>,
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
    /// Tools that cannot be read, with the reason.
    pub left_out: Vec<String>,
    /// Those of them that have a name, with the reason.
    pub unreadable: Vec<(String, String)>,
}

impl Page {
    /// Reads the text of a result. Each tool is read by itself, so that one whose schema cannot be read takes no other away.
    pub fn read(text: &str) -> Result<Page, Fault> {
        let wrong = |error: serde_json::Error| nonsense("tools/list", &error);
        let (mut page, mut tools) = (Page::default(), None);
        for (name, value) in parts::fields(text, usize::MAX - 1).map_err(wrong)? {
            match name.as_str() {
                "tools" => tools = Some(parts::items(value).map_err(wrong)?),
                "nextCursor" => page.next_cursor = serde_json::from_str(value).map_err(wrong)?,
                _ => {}
            }
        }
        // Some servers say so that there is no further page.
        page.next_cursor = page.next_cursor.filter(|cursor| !cursor.is_empty());
        for tool in tools.ok_or_else(|| wrong(serde_json::Error::custom("missing field `tools`")))? {
            match serde_json::from_str::<Json>(tool) {
                Ok(tool) if has_name(&tool) => page.tools.push(tool),
                Ok(_) => page.left_out.push(format!("an entry without a name: {}", one_line(tool, SHOWN))),
                Err(error) => page.leave_out(name_of(tool), &error),
            }
        }
        Ok(page)
    }

    /// Leaves a tool out that cannot be read; its name is as it stands in the text.
    fn leave_out(&mut self, name: &str, error: &serde_json::Error) {
        let why = match error.to_string() {
            why if why.starts_with("recursion limit exceeded") => {
                format!("its definition nests deeper than the {} levels that are read", call::DEEPEST)
            }
            why => format!("its definition cannot be read: {why}"),
        };
        self.left_out.push(format!("tool {name}: {why}"));
        self.unreadable.extend(serde_json::from_str(name).ok().map(|name: String| (name, why)));
    }

    /// Its tools; those without a name are left out, since nobody could call them.
    pub fn tools(&mut self, transport: &str) -> impl Iterator<Item = ToolDef> {
        std::mem::take(&mut self.tools).into_iter().filter_map(move |tool| read_tool(tool, transport))
    }
}

/// How many characters of an entry are shown that is no tool.
const SHOWN: usize = 80;

fn has_name(tool: &Json) -> bool {
    tool.get("name").and_then(Json::as_str).is_some_and(|name| !name.is_empty())
}

/// The name in the text of a tool, as it stands there.
fn name_of(tool: &str) -> &str {
    let fields = parts::fields(tool, usize::MAX - 1).unwrap_or_default();
    fields.into_iter().find(|(name, _)| name == "name").map_or("without a name", |(_, value)| value)
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
    #[serde(default)]
    structured_content: Option<Json>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default)]
    result_type: Option<String>,
}

/// Reads the text of the result of a call that has at most so many values.
pub fn payload(text: &str, max_values: usize) -> Result<Payload, Fault> {
    call::fits(text.as_bytes(), max_values)?;
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
    Fault::unreadable(format!("answered {method} with something that is no result: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_decoded_as_deep_as_it_is_told() {
        let nested = |levels: usize| {
            format!("{{\"structuredContent\": {}1{}}}", "[".repeat(levels), "]".repeat(levels))
        };
        assert!(payload(&nested(126), 1_000).is_ok_and(|payload| payload.structured.is_some()));
        let told = payload(&nested(127), 1_000).expect_err("it is too deep").message;
        assert_eq!(
            told,
            "the answer nests 128 levels deep, and at most 127 are decoded; ask for a part of it, or for fewer levels"
        );
    }

    #[test]
    fn results_of_calls() {
        let read = |value: Json| payload(&value.to_string(), 1_000);
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
        let text =
            json!({"content": [{"type": "text", "text": "a"}], "structuredContent": null, "isError": null});
        let null = read(text).expect("null is absent");
        assert_eq!((null.texts(), &null.structured), (vec!["a"], &None));
        let rounded = payload("{\"structuredContent\": {\"id\": 18446744073709551617}}", 1_000)
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
        assert_eq!(page.left_out, ["an entry without a name: {\"name\":\"\"}", "an entry without a name: 3"]);
        assert_eq!(Page::read("{}").expect_err("no tools").reason, Reason::UpstreamError);
        let last = Page::read("{\"tools\": [], \"nextCursor\": \"\"}").expect("a page");
        assert_eq!(last.next_cursor, None, "an empty cursor is none");
    }

    #[test]
    fn a_tool_that_is_nested_too_deep_takes_no_other_away() {
        let deep = format!("{}1{}", "{\"items\":".repeat(200), "}".repeat(200));
        let text = format!(
            "{{\"tools\": [{{\"name\": \"a\"}}, {{\"inputSchema\": {deep}, \"name\": \"deep\"}}, {{\"name\": \"b\"}}]}}"
        );
        let mut page = Page::read(&text).expect("a page");
        let names: Vec<String> = page.tools("mcp_stdio").map(|tool| tool.name).collect();
        assert_eq!(names, ["a", "b"]);
        let [told] = page.left_out.as_slice() else { panic!("{:?}", page.left_out) };
        assert_eq!(told, "tool \"deep\": its definition nests deeper than the 127 levels that are read");
        assert_eq!(page.unreadable.first().map(|(name, _)| name.as_str()), Some("deep"));
    }
}
