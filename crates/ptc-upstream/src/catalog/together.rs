//! All that must hold of a value, in one schema: references are followed, and what stands beside them and in `allOf` is taken
//! together. What may be chosen (`oneOf`, `anyOf`) is kept apart, since it takes a choice. Schemas come from outside, so
//! every walk has a bound; what is beyond it is left out.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use super::types::Root;

/// How deep parts of a schema stand inside each other.
const DEPTH: usize = 12;
/// How many parts of one list are looked at.
const PARTS: usize = 64;
/// How many choices one schema may ask for.
const CHOICES: usize = 8;

/// A schema without references and `allOf` at its top, and the choices that it leaves.
#[derive(Clone, Debug, Default)]
pub struct Together {
    /// What holds in any case.
    pub fields: Map<String, Json>,
    /// Lists of schemas, of each of which one must hold too.
    pub choices: Vec<Vec<Json>>,
}

impl Together {
    /// What a schema says in all its parts.
    pub fn of(root: &Root<'_>, schema: &Json) -> Together {
        let mut all = Together::default();
        all.take(root, schema, 0);
        all
    }

    /// The same, and this schema besides.
    pub fn with(&self, root: &Root<'_>, schema: &Json) -> Together {
        let mut all = self.clone();
        all.take(root, schema, 0);
        all
    }

    fn take(&mut self, root: &Root<'_>, schema: &Json, depth: usize) {
        let Some(own) = schema.as_object().filter(|_| depth < DEPTH) else { return };
        if let Some(target) = own.get("$ref").and_then(Json::as_str).and_then(|target| root.target(target)) {
            self.take_fields(root, target, depth + 1);
        }
        self.take_fields(root, own, depth);
    }

    fn take_fields(&mut self, root: &Root<'_>, own: &Map<String, Json>, depth: usize) {
        if depth >= DEPTH {
            return;
        }
        // A reference that leads to another one.
        if depth > 0
            && let Some(target) =
                own.get("$ref").and_then(Json::as_str).and_then(|target| root.target(target))
        {
            self.take_fields(root, target, depth + 1);
        }
        for (key, value) in own {
            match (key.as_str(), value) {
                ("$ref" | "allOf" | "$defs" | "definitions", _) => {}
                ("oneOf" | "anyOf", Json::Array(ways)) => {
                    if self.choices.len() < CHOICES && !ways.is_empty() {
                        self.choices.push(ways.iter().take(PARTS).cloned().collect());
                    }
                }
                _ => add(&mut self.fields, key, value),
            }
        }
        for part in own.get("allOf").and_then(Json::as_array).into_iter().flatten().take(PARTS) {
            self.take(root, part, depth + 1);
        }
    }
}

/// Adds what one more schema says under a key.
fn add(fields: &mut Map<String, Json>, key: &str, value: &Json) {
    let Some(before) = fields.get_mut(key) else {
        fields.insert(key.to_owned(), value.clone());
        return;
    };
    if before == value {
        return;
    }
    match key {
        "properties" | "patternProperties" => {
            let (Json::Object(before), Json::Object(more)) = (before, value) else { return };
            for (name, schema) in more {
                match before.get_mut(name) {
                    Some(known) => both(known, schema),
                    None => drop(before.insert(name.clone(), schema.clone())),
                }
            }
        }
        "items" | "contains" | "propertyNames" => both(before, value),
        "additionalProperties" => match (&*before, value) {
            (Json::Bool(false), _) | (_, Json::Bool(true)) => {}
            (_, Json::Bool(false)) | (Json::Bool(true), _) => *before = value.clone(),
            _ => both(before, value),
        },
        "required" => {
            let (Json::Array(before), Json::Array(more)) = (before, value) else { return };
            let more: Vec<Json> = more.iter().filter(|name| !before.contains(name)).cloned().collect();
            before.extend(more);
        }
        "enum" => {
            if let (Json::Array(before), Json::Array(more)) = (before, value) {
                before.retain(|value| more.contains(value));
            }
        }
        "type" => *before = kinds(before, value),
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            stricter(before, value, value.as_f64() > before.as_f64());
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" | "maxContains" => {
            stricter(before, value, value.as_f64() < before.as_f64());
        }
        "multipleOf" => {
            if let (Some(one), Some(other)) = (before.as_u64(), value.as_u64()) {
                *before = json!(multiple(one, other));
            }
        }
        "const" => *before = value.clone(),
        "uniqueItems" => *before = json!(*before == Json::Bool(true) || *value == Json::Bool(true)),
        // Notes for readers, and what nothing can be made of: the first word counts.
        _ => {}
    }
}

/// Both of two schemas.
fn both(known: &mut Json, more: &Json) {
    if known != more {
        *known = json!({"allOf": [known.take(), more]});
    }
}

/// The types that both of two schemas allow.
fn kinds(one: &Json, other: &Json) -> Json {
    let list = |value: &Json| match value {
        Json::Array(kinds) => kinds.clone(),
        kind => vec![kind.clone()],
    };
    let (one, other) = (list(one), list(other));
    let has = |kinds: &[Json], kind: &str| kinds.iter().any(|known| known == kind);
    let allowed =
        one.iter().filter(|kind| other.contains(kind) || (*kind == "integer" && has(&other, "number")));
    let mut allowed: Vec<Json> = allowed.cloned().collect();
    if has(&one, "number") && !has(&one, "integer") && has(&other, "integer") && !has(&other, "number") {
        allowed.push("integer".into());
    }
    match allowed.len() {
        1 => allowed.swap_remove(0),
        _ => Json::Array(allowed),
    }
}

/// The least common multiple, or the first number where that is too large.
fn multiple(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    one.checked_div(a).and_then(|share| share.checked_mul(other)).unwrap_or(one)
}

/// Takes the other bound if it is the stricter one.
fn stricter(before: &mut Json, value: &Json, is_stricter: bool) {
    if is_stricter {
        *before = value.clone();
    }
}

/// The arguments of a tool in one schema: `properties` has all that any part or choice names, `required` what every one of
/// them requires. Most schemas are that already.
pub fn arguments(schema: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    if !["$ref", "allOf", "oneOf", "anyOf"].iter().any(|key| schema.contains_key(*key)) {
        return Cow::Borrowed(schema);
    }
    let root = Root(schema);
    let mut all = Together::default();
    all.take_fields(&root, schema, 1);
    let Together { mut fields, choices } = all;
    for ways in &choices {
        for way in ways {
            let way = Together::of(&root, way);
            let Some(Json::Object(named)) = way.fields.get("properties") else { continue };
            let known = fields.entry("properties").or_insert_with(|| json!({}));
            let Json::Object(known) = known else { continue };
            for (name, schema) in named {
                known.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
    }
    Cow::Owned(fields)
}

/// What the ways of a choice require beyond what is required in any case: a list of names for each way, nothing where
/// there is no choice or a way requires nothing more.
pub fn ways(schema: &Map<String, Json>) -> Vec<Vec<String>> {
    let root = Root(schema);
    let mut all = Together::default();
    all.take_fields(&root, schema, 1);
    let [ways] = all.choices.as_slice() else { return Vec::new() };
    let names = |fields: &Map<String, Json>| -> Vec<String> {
        let names = fields.get("required").and_then(Json::as_array).into_iter().flatten();
        names.filter_map(Json::as_str).map(str::to_owned).collect()
    };
    let always = names(&all.fields);
    let more = ways.iter().map(|way| {
        let mut more = names(&Together::of(&root, way).fields);
        more.retain(|name| !always.contains(name));
        more
    });
    let more: Vec<Vec<String>> = more.collect();
    if more.iter().any(Vec::is_empty) { Vec::new() } else { more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_taken_together() {
        let schema = json!({
            "$ref": "#/$defs/a", "minProperties": 1,
            "allOf": [{"properties": {"n": {"minimum": 5}, "b": {}}, "required": ["b", "n"]}, {"minProperties": 3}],
            "$defs": {"a": {"$ref": "#/$defs/c"},
                      "c": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        });
        let fields = schema.as_object().expect("an object");
        let all = arguments(fields).into_owned();
        let expected = json!({
            "type": "object", "minProperties": 3, "required": ["n", "b"],
            "properties": {"n": {"allOf": [{"type": "integer"}, {"minimum": 5}]}, "b": {}},
        });
        assert_eq!(Json::Object(all), expected);
    }

    #[test]
    fn choices_name_arguments_and_require_none_of_them_alone() {
        let schema = json!({"properties": {"x": {}}, "required": ["x"], "oneOf": [
            {"properties": {"id": {}}, "required": ["id"]},
            {"properties": {"owner": {}, "repo": {}}, "required": ["owner", "repo", "x"]}]});
        let fields = schema.as_object().expect("an object");
        let all = arguments(fields);
        let names: Vec<&String> = all["properties"].as_object().expect("named").keys().collect();
        assert_eq!(
            (names, &all["required"]),
            (
                vec!["x", "id", "owner", "repo"]
                    .into_iter()
                    .map(|name| name.to_owned())
                    .collect::<Vec<_>>()
                    .iter()
                    .collect(),
                &json!(["x"])
            )
        );
        assert_eq!(ways(fields), [vec!["id".to_owned()], vec!["owner".to_owned(), "repo".to_owned()]]);
    }

    #[test]
    fn schemas_that_lead_in_circles_end() {
        let schema = json!({"$ref": "#", "allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}],
                            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#"}]}}});
        arguments(schema.as_object().expect("an object"));
    }
}
