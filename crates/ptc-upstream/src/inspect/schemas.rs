//! What is wrong with the schemas of a tool, as far as it keeps programs from calling it well. Schemas come from
//! outside: every walk has a bound, and nothing is fetched.

use serde_json::{Map, Value as Json};

use crate::config::closest;
use crate::model::ToolDef;

/// The types of JSON Schema.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "object", "array", "null"];

/// Words for types that other languages use.
const OTHER_TYPES: &[(&str, &str)] = &[
    ("int", "integer"),
    ("float", "number"),
    ("double", "number"),
    ("bool", "boolean"),
    ("str", "string"),
    ("text", "string"),
    ("dict", "object"),
    ("map", "object"),
    ("list", "array"),
    ("none", "null"),
];

/// Keywords whose value is a schema, a list of schemas, or an object of schemas.
const ONE: &[&str] =
    &["items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"];
const MANY: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Bounds of a walk, and how many problems of a tool are told.
const DEEPEST: usize = 64;
const MOST_SCHEMAS: usize = 10_000;
const MOST_PROBLEMS: usize = 20;

/// No name that a client accepts is longer.
const LONGEST_NAME: usize = 128;

/// What is wrong with a tool, each with its place.
pub fn problems(tool: &ToolDef) -> Vec<String> {
    let mut problems = Vec::new();
    if tool.name.chars().any(|c| c.is_whitespace() || c.is_control() || c == '/') {
        problems
            .push("has white space or '/' in its name, so that `doc` and `meta` cannot name it".to_owned());
    }
    if tool.name.chars().count() > LONGEST_NAME {
        problems.push(format!("has a name of more than {LONGEST_NAME} characters"));
    }
    let hint = |name: &str| tool.annotations.get(name).and_then(Json::as_bool) == Some(true);
    if hint("readOnlyHint") && hint("destructiveHint") {
        problems.push("says that it only reads and that it destroys; it counts as unknown".to_owned());
    }
    if tool.input_schema.is_empty() {
        problems.push("declares no input schema, so arguments cannot be checked before a call".to_owned());
    } else {
        Walk::over("input schema", &tool.input_schema, &mut problems);
    }
    if let Some(schema) = &tool.output_schema {
        Walk::over("output schema", schema, &mut problems);
    }
    if problems.len() > MOST_PROBLEMS {
        let more = problems.len() - MOST_PROBLEMS;
        problems.truncate(MOST_PROBLEMS);
        problems.push(format!("and {more} more"));
    }
    problems
}

/// One schema being looked through.
struct Walk<'w> {
    what: &'static str,
    root: &'w Map<String, Json>,
    problems: &'w mut Vec<String>,
    left: usize,
}

impl Walk<'_> {
    fn over(what: &'static str, root: &Map<String, Json>, problems: &mut Vec<String>) {
        let mut walk = Walk { what, root, problems, left: MOST_SCHEMAS };
        match root.get("type") {
            Some(Json::String(kind)) if kind == "object" => {}
            None if root.contains_key("$ref") || MANY.iter().any(|key| root.contains_key(*key)) => {}
            None => walk.tell("", "has no \"type\": \"object\""),
            // Servers of the newest protocol may give results of any type.
            Some(_) if what == "output schema" => {}
            Some(kind) => walk.tell("", &format!("must have the type \"object\", not {kind}")),
        }
        walk.schema(root, "", 0);
        if walk.left == 0 {
            walk.tell("", &format!("has more than {MOST_SCHEMAS} parts; the rest was not looked at"));
        }
    }

    fn tell(&mut self, place: &str, fault: &str) {
        match place.is_empty() {
            true => self.problems.push(format!("{} {fault}", self.what)),
            false => self.problems.push(format!("{}, {}: {fault}", self.what, shown(place))),
        }
    }

    fn schema(&mut self, schema: &Map<String, Json>, place: &str, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if depth > DEEPEST {
            self.tell(place, &format!("nests deeper than {DEEPEST} levels; the rest was not looked at"));
            return;
        }
        self.types(schema, place);
        self.required(schema, place);
        self.reference(schema, place);
        if schema.get("enum").is_some_and(|values| values.as_array().is_none_or(Vec::is_empty)) {
            self.tell(place, "\"enum\" must be a list of at least one value");
        }
        for key in ONE {
            match schema.get(*key) {
                None | Some(Json::Bool(_)) => {}
                Some(Json::Object(inner)) => self.schema(inner, &format!("{place}/{key}"), depth + 1),
                Some(Json::Array(items)) if *key == "items" => self.list(items, key, place, depth),
                Some(_) => self.tell(place, &format!("\"{key}\" must be a schema")),
            }
        }
        for key in MANY {
            match schema.get(*key) {
                None => {}
                Some(Json::Array(items)) => self.list(items, key, place, depth),
                Some(_) => self.tell(place, &format!("\"{key}\" must be a list of schemas")),
            }
        }
        for key in NAMED {
            match schema.get(*key) {
                None => {}
                Some(Json::Object(inner)) => {
                    for (name, value) in inner {
                        self.value(value, &format!("{place}/{key}/{name}"), depth);
                    }
                }
                Some(_) => self.tell(place, &format!("\"{key}\" must be an object")),
            }
        }
    }

    fn list(&mut self, items: &[Json], key: &str, place: &str, depth: usize) {
        for (index, value) in items.iter().enumerate() {
            self.value(value, &format!("{place}/{key}/{index}"), depth);
        }
    }

    fn value(&mut self, value: &Json, place: &str, depth: usize) {
        match value {
            Json::Object(inner) => self.schema(inner, place, depth + 1),
            Json::Bool(_) => {}
            _ => self.tell(place, "must be a schema"),
        }
    }

    fn types(&mut self, schema: &Map<String, Json>, place: &str) {
        let words: Vec<&Json> = match schema.get("type") {
            None => return,
            Some(Json::Array(words)) => words.iter().collect(),
            Some(word) => vec![word],
        };
        for word in words {
            let Json::String(word) = word else {
                self.tell(place, "\"type\" must be a word or a list of words");
                continue;
            };
            if TYPES.contains(&word.as_str()) {
                continue;
            }
            let plain = word.to_ascii_lowercase();
            let other = OTHER_TYPES.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours);
            let meant = match other.or_else(|| closest(&plain, TYPES.iter().copied())) {
                Some(meant) => format!("; it probably means \"{meant}\""),
                None => String::new(),
            };
            let fault = format!("has the type {:?}, which JSON Schema does not know{meant}", shown(word));
            self.tell(place, &fault);
        }
    }

    fn required(&mut self, schema: &Map<String, Json>, place: &str) {
        let names = match schema.get("required") {
            None => return,
            Some(Json::Array(names)) => names,
            Some(_) => {
                self.tell(place, "\"required\" must be a list of names");
                return;
            }
        };
        // Where properties stand elsewhere, nothing can be said about them here.
        let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
        for name in names {
            match name.as_str() {
                Some(name) if properties.contains_key(name) => {}
                Some(name) => {
                    let fault = format!("requires {:?}, which is not among its properties", shown(name));
                    self.tell(place, &fault);
                }
                None => self.tell(place, "\"required\" must be a list of names"),
            }
        }
    }

    fn reference(&mut self, schema: &Map<String, Json>, place: &str) {
        let Some(reference) = schema.get("$ref") else { return };
        let Some(reference) = reference.as_str() else {
            self.tell(place, "\"$ref\" must be a text");
            return;
        };
        let inside = match reference.strip_prefix('#') {
            Some("") => true,
            Some(pointer) => pointer.starts_with('/') && self.finds(pointer),
            None => false,
        };
        if !inside {
            let fault = format!("refers to {:?}, which is not part of the schema", shown(reference));
            self.tell(place, &fault);
        }
    }

    fn finds(&self, pointer: &str) -> bool {
        let mut steps = pointer[1..].split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let Some(first) = steps.next() else { return true };
        let mut at = self.root.get(&first);
        for step in steps {
            at = match at {
                Some(Json::Object(fields)) => fields.get(&step),
                Some(Json::Array(items)) => step.parse().ok().and_then(|index: usize| items.get(index)),
                _ => None,
            };
        }
        at.is_some()
    }
}

/// A text from outside, short enough for one line.
fn shown(text: &str) -> String {
    crate::catalog::one_line(text, 120)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(input: Json) -> Vec<String> {
        let input_schema = input.as_object().cloned().unwrap_or_default();
        problems(&ToolDef { name: "t".to_owned(), input_schema, ..ToolDef::default() })
    }

    #[test]
    fn good_schemas_have_no_problems() {
        for schema in [
            json!({"type": "object"}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": true}, "required": ["a"]}),
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {"enum": [1]}}}),
            json!({"anyOf": [{"type": "object"}, {"type": "object", "required": ["elsewhere"]}]}),
            json!({"type": "object", "properties": {"type": {"type": "string"}, "required": {"type": "boolean"}}}),
            json!({"type": "object", "properties": {"tree": {"$ref": "#"}}}),
        ] {
            assert_eq!(of(schema.clone()), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn every_problem_has_its_place() {
        for (schema, problem) in [
            (json!({}), "declares no input schema, so arguments cannot be checked before a call"),
            (json!({"type": "array"}), "input schema must have the type \"object\", not \"array\""),
            (json!({"properties": {}}), "input schema has no \"type\": \"object\""),
            (
                json!({"type": "object", "properties": {"n": {"type": "int"}}}),
                "input schema, /properties/n: has the type \"int\", which JSON Schema does not know; it probably means \"integer\"",
            ),
            (
                json!({"type": "object", "properties": {"n": {"items": {"type": "strng"}}}}),
                "input schema, /properties/n/items: has the type \"strng\", which JSON Schema does not know; it probably means \"string\"",
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["b"]}),
                "input schema requires \"b\", which is not among its properties",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "https://example.com/x.json"}}}),
                "input schema, /properties/a: refers to \"https://example.com/x.json\", which is not part of the schema",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}}}),
                "input schema, /properties/a: refers to \"#/$defs/gone\", which is not part of the schema",
            ),
            (json!({"type": "object", "properties": []}), "input schema \"properties\" must be an object"),
            (
                json!({"type": "object", "anyOf": [{"enum": []}]}),
                "input schema, /anyOf/0: \"enum\" must be a list of at least one value",
            ),
        ] {
            assert_eq!(of(schema.clone()), [problem], "{schema}");
        }
    }

    #[test]
    fn hostile_schemas_end() {
        let mut deep = json!({"type": "int"});
        for _ in 0..100 {
            deep = json!({"items": deep});
        }
        let wide: Vec<Json> = (0..20_000).map(|_| json!({"type": "int"})).collect();
        let found = of(json!({"type": "object", "properties": {"deep": deep}, "anyOf": wide}));
        assert_eq!(found.len(), MOST_PROBLEMS + 1);
        assert!(found.last().is_some_and(|last| last.starts_with("and ")), "{found:?}");
    }

    #[test]
    fn names_and_hints_are_looked_at() {
        let tool = ToolDef {
            name: "a b".to_owned(),
            input_schema: Map::from_iter([("type".to_owned(), json!("object"))]),
            annotations: Map::from_iter([
                ("readOnlyHint".to_owned(), json!(true)),
                ("destructiveHint".to_owned(), json!(true)),
            ]),
            ..ToolDef::default()
        };
        assert_eq!(problems(&tool).len(), 2);
    }
}
