//! One tool in full, as `doc` gives it: what it is, its arguments, a call to copy, and what comes back.

use serde_json::Value as Json;

use super::types::{Argument, arguments, details, key, result_type};
use super::{CatalogTool, example, one_line};

/// The most characters of a description.
const DESCRIPTION: usize = 2_000;

/// The description of a tool; `observed` is the shape that its results had so far, with how many there were.
pub fn doc(server: &str, tool: &CatalogTool, observed: Option<(&str, u64)>) -> String {
    let def = &tool.def;
    let args = arguments(&def.input_schema);
    let mut lines = vec![format!("{server}/{}", def.name)];
    let description = one_line(&def.description, DESCRIPTION);
    lines.extend((!description.is_empty()).then_some(description));
    lines.push(format!("Args: {}", shown(&args)));
    lines.extend(details(&def.input_schema));
    lines.push(format!("Required: {}", required(&args)));
    lines.push(format!("Call: {}", call(server, tool)));
    lines.push(format!("Result<{}>", result_type(def.output_schema.as_ref())));
    if let Some((shape, results)) = observed {
        let times = if results == 1 { "1 result".to_owned() } else { format!("{results} results") };
        lines.push(format!("Observed, not declared, in {times} (names are data): {shape}"));
    }
    lines.push(format!("Effect: {}", tool.effect.name()));
    lines.extend(pages(tool));
    lines.join("\n")
}

fn shown(args: &[Argument]) -> String {
    let each = args.iter().map(|arg| {
        let mark = if arg.required { "" } else { "?" };
        format!("{} {}{mark}", arg.key, arg.kind)
    });
    match args {
        [] => "none".to_owned(),
        _ => each.collect::<Vec<_>>().join(", "),
    }
}

fn required(args: &[Argument]) -> String {
    let names: Vec<&str> = args.iter().filter(|arg| arg.required).map(|arg| arg.key.as_str()).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// A call with the required arguments, which fits the schema, to be edited.
fn call(server: &str, tool: &CatalogTool) -> String {
    let args = example::arguments(&tool.def.input_schema);
    let (server, name) = (Json::from(server), Json::from(tool.def.name.as_str()));
    format!("(tool/call {{:server {server} :tool {name} :args {}}})", literal(&Json::Object(args)))
}

/// JSON as a program writes it. It nests no deeper than examples do.
fn literal(value: &Json) -> String {
    match value {
        Json::Null => "nil".to_owned(),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
        Json::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(" ")),
        Json::Object(fields) => {
            let pair = |(name, value): (&String, &Json)| format!("{} {}", key(name), literal(value));
            format!("{{{}}}", fields.iter().map(pair).collect::<Vec<_>>().join(" "))
        }
    }
}

/// How to get the next page, where the operation says how.
fn pages(tool: &CatalogTool) -> Option<String> {
    let hint = tool.def.provenance.get("pagination")?;
    let arg = hint.get("arg")?.as_str()?;
    Some(match hint.get("next").and_then(Json::as_str) {
        Some(next) => {
            format!("Pages: pass {} from {} of the result before, until there is none", key(arg), key(next))
        }
        None => format!("Pages: count {} up until a result is empty", key(arg)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::tool;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_is_described_with_a_call_to_copy() {
        let schema = json!({
            "properties": {"path": {"type": "string"}, "head": {"type": "integer"}, "mode": {"enum": ["r", "w"]}},
            "required": ["path", "mode"],
        });
        let mut read = tool("read_text_file", "Read the\ncontents", schema);
        read.def.output_schema = json!({"properties": {"content": {"type": "string"}}}).as_object().cloned();
        assert_eq!(
            doc("fs", &read, None),
            "fs/read_text_file\n\
             Read the contents\n\
             Args: :path string, :mode enum<string>, :head integer?\n\
             \x20 :mode one of \"r\", \"w\"\n\
             Required: :path, :mode\n\
             Call: (tool/call {:server \"fs\" :tool \"read_text_file\" :args {:path \"...\" :mode \"r\"}})\n\
             Result<{:content string}>\n\
             Effect: unknown"
        );
    }

    #[test]
    fn arguments_are_described_so_that_a_call_can_be_written() {
        let schema = json!({
            "properties": {
                "path": {"type": "string", "description": "The file\nto change"},
                "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}, "minItems": 1},
                "mode": {"type": "string", "enum": ["safe", "fast"], "default": "safe"},
                "dry-run": {"type": "boolean"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "How many"},
            },
            "required": ["path", "edits"],
            "$defs": {"edit": {"type": "object", "required": ["old", "new"], "properties": {
                "old": {"type": "string"}, "new": {"type": "string"}, "all": {"type": "boolean"}}}},
        });
        let text = doc("fs", &tool("edit_file", "", schema), None);
        assert_eq!(
            text,
            "fs/edit_file\n\
             Args: :path string, :edits array, :dry-run boolean?, :limit integer?, :mode enum<string>?\n\
             \x20 :path - The file to change\n\
             \x20 :edits [{:old string :new string :all boolean?}]; at least 1 items\n\
             \x20 :limit 1 to 100; default 20 - How many\n\
             \x20 :mode one of \"safe\", \"fast\"; default \"safe\"\n\
             Required: :path, :edits\n\
             Call: (tool/call {:server \"fs\" :tool \"edit_file\" :args {:path \"...\" :edits [{:old \"...\" :new \"...\"}]}})\n\
             Result<any>\n\
             Effect: unknown"
        );
    }

    #[test]
    fn what_was_seen_is_told_apart_from_what_was_declared() {
        let text = doc("s", &tool("t", "", json!({})), Some(("[{:n integer}]", 3)));
        assert!(text.contains("Args: none\nRequired: none\n"), "{text}");
        assert!(
            text.contains(
                "Result<any>\nObserved, not declared, in 3 results (names are data): [{:n integer}]"
            ),
            "{text}"
        );
    }

    #[test]
    fn pages_are_explained_where_they_are_known() {
        let mut list = tool("t", "", json!({}));
        list.def.provenance.insert("pagination".to_owned(), json!({"arg": "cursor", "next": "next_cursor"}));
        assert!(
            doc("s", &list, None)
                .ends_with("Pages: pass :cursor from :next_cursor of the result before, until there is none")
        );
    }
}
