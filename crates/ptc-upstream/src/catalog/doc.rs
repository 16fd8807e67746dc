//! One tool in full, as `doc` gives it: what it is, its arguments, a call to copy, and what comes back.

use serde_json::Value as Json;

use super::types::{Argument, arguments, key, result_type};
use super::{CatalogTool, one_line};

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
    lines.push(format!("Required: {}", required(&args)));
    lines.push(format!("Call: {}", call(server, tool, &args)));
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

/// A call with the required arguments, to be edited.
fn call(server: &str, tool: &CatalogTool, args: &[Argument]) -> String {
    let properties = tool.def.input_schema.get("properties");
    let required = tool.def.input_schema.get("required").and_then(Json::as_array).into_iter().flatten();
    let mut pairs: Vec<String> = Vec::new();
    for name in required.filter_map(Json::as_str) {
        let schema = properties.and_then(|properties| properties.get(name));
        let kind = args.iter().find(|arg| arg.key == key(name)).map_or("any", |arg| arg.kind.as_str());
        let pair = format!("{} {}", key(name), example(schema, kind));
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let (server, name) = (Json::from(server), Json::from(tool.def.name.as_str()));
    format!("(tool/call {{:server {server} :tool {name} :args {{{}}}}})", pairs.join(" "))
}

/// A value that fits a schema, as a program writes it.
fn example(schema: Option<&Json>, kind: &str) -> String {
    let given = schema.and_then(|schema| schema.get("const").or_else(|| schema.get("enum")?.get(0)));
    if let Some(value) = given {
        return match value {
            Json::Null => "nil".to_owned(),
            Json::String(_) | Json::Bool(_) | Json::Number(_) => value.to_string(),
            Json::Array(_) | Json::Object(_) => "...".to_owned(),
        };
    }
    match kind.split('|').next().unwrap_or_default() {
        "integer" => "0",
        "number" => "0.0",
        "boolean" => "true",
        "object" => "{}",
        "array" => "[]",
        "null" => "nil",
        _ => "\"...\"",
    }
    .to_owned()
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
             Required: :path, :mode\n\
             Call: (tool/call {:server \"fs\" :tool \"read_text_file\" :args {:path \"...\" :mode \"r\"}})\n\
             Result<{:content string}>\n\
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
