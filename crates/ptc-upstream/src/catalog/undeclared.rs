//! Arguments that a tool does not declare: those that its schema forbids, and those that are one of its own, misspelt.

use ptc_lisp::analyze::closest;
use serde_json::{Map, Value as Json};

use super::types::Root;
use super::{CatalogTool, together};

/// Schemas that nest deeper are looked at no further.
const DEEPEST: usize = 32;
/// What lets names in that are not among the properties.
const OPEN: [&str; 4] = ["patternProperties", "oneOf", "anyOf", "if"];

impl CatalogTool {
    /// The first argument, or field of one, that the tool does not declare, and what may have been meant. A schema that says
    /// nothing of other names takes them, unless one looks like a name of its own that is not given.
    pub fn undeclared(&self, args: &Map<String, Json>) -> Option<String> {
        let schema = together::arguments(&self.def.input_schema);
        Root(&self.def.input_schema).undeclared(&schema, args, "", 0)
    }
}

impl CatalogTool {
    /// What stands behind the names of arguments that are missing: those that it takes, if others were given in their place.
    pub(crate) fn instead(&self, args: &Map<String, Json>) -> String {
        /// So many names are told, and characters of each.
        const NAMED: (usize, usize) = (12, 60);
        let schema = together::arguments(&self.def.input_schema);
        let Some(declared) = schema.get("properties").and_then(Json::as_object) else { return String::new() };
        let told = |names: Vec<&String>| {
            let mut told: Vec<String> =
                names.iter().take(NAMED.0).map(|name| super::one_line(name, NAMED.1)).collect();
            told.extend((names.len() > NAMED.0).then(|| "…".to_owned()));
            told.join(", ")
        };
        let strange: Vec<&String> = args.keys().filter(|name| !declared.contains_key(*name)).collect();
        match strange.is_empty() {
            true => String::new(),
            false => format!("; it takes {}, not {}", told(declared.keys().collect()), told(strange)),
        }
    }
}

impl Root<'_> {
    fn undeclared(
        &self,
        schema: &Map<String, Json>,
        fields: &Map<String, Json>,
        at: &str,
        depth: usize,
    ) -> Option<String> {
        let none = Map::new();
        let declared = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
        let rest = schema.get("additionalProperties");
        let (closed, unsaid) = (rest == Some(&Json::Bool(false)), rest.is_none() && !declared.is_empty());
        let open = OPEN.iter().any(|keyword| schema.contains_key(*keyword));
        for (name, value) in fields {
            let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            if let Some(own) = declared.get(name) {
                if let Some(wrong) = self.undeclared_in(own, value, &path, depth + 1) {
                    return Some(wrong);
                }
                continue;
            }
            let free = declared.keys().map(String::as_str).filter(|other| !fields.contains_key(*other));
            match closest(name, free).filter(|_| !open && (closed || unsaid)) {
                Some(meant) => return Some(format!("{path}: is not declared; did you mean {meant}?")),
                None if closed && !open => return Some(format!("{path}: is not declared")),
                None => {}
            }
        }
        None
    }

    fn undeclared_in(&self, schema: &Json, value: &Json, at: &str, depth: usize) -> Option<String> {
        let schema = self.resolve(schema).filter(|_| depth <= DEEPEST)?;
        match value {
            Json::Array(items) => {
                let each = schema.get("items")?;
                let mut items = items.iter().enumerate();
                items.find_map(|(index, item)| {
                    self.undeclared_in(each, item, &format!("{at}[{index}]"), depth + 1)
                })
            }
            Json::Object(fields) => self.undeclared(schema, fields, at, depth),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::EffectClass;
    use crate::model::ToolDef;

    fn undeclared(schema: Json, args: Json) -> Option<String> {
        let object = |json: Json| json.as_object().cloned().unwrap_or_default();
        let def = ToolDef { input_schema: object(schema), ..ToolDef::default() };
        CatalogTool { def, effect: EffectClass::Write, place: 0 }.undeclared(&object(args))
    }

    #[test]
    fn names_that_a_schema_forbids_or_that_are_misspelt_are_told() {
        let open = json!({"type": "object", "properties": {"recipient": {}, "subject": {}}});
        let closed =
            json!({"type": "object", "additionalProperties": false, "properties": {"recipient": {}}});
        let free = json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {"recipient": {}}});
        let nested = json!({"type": "object", "properties": {"rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}},
                            "$defs": {"row": closed}});
        let cases = [
            (&open, json!({"recipient": 1, "other": 2}), None),
            (&open, json!({"recipeint": 1}), Some("recipeint: is not declared; did you mean recipient?")),
            (&open, json!({"recipient": 1, "recipeint": 1}), None),
            (&closed, json!({"recipient": 1, "other": 2}), Some("other: is not declared")),
            (&closed, json!({"recipeint": 1}), Some("recipeint: is not declared; did you mean recipient?")),
            (&free, json!({"recipeint": "a map may have it"}), None),
            (&nested, json!({"rows": [{"recipient": 1}, {"x": 1}]}), Some("rows[1].x: is not declared")),
            (&json!({"type": "object"}), json!({"any": 1}), None),
        ];
        for (schema, args, expected) in cases {
            assert_eq!(undeclared(schema.clone(), args.clone()).as_deref(), expected, "{schema} {args}");
        }
        let chosen =
            json!({"type": "object", "additionalProperties": false, "oneOf": [{"properties": {"a": {}}}]});
        assert_eq!(undeclared(chosen, json!({"a": 1})), None, "what may be chosen is the server's business");
    }
}
