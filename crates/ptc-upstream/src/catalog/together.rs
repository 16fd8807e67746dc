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
/// them requires. Most schemas are that already. Of an argument that several choices name, the first one counts.
pub fn arguments(schema: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    in_one(schema, |mut schemas| schemas.swap_remove(0))
}

/// The same for readers: an argument is what any of the choices says of it.
pub fn offered(schema: &Map<String, Json>) -> Cow<'_, Map<String, Json>> {
    in_one(schema, either)
}

fn in_one(schema: &Map<String, Json>, merged: fn(Vec<Json>) -> Json) -> Cow<'_, Map<String, Json>> {
    if !["$ref", "allOf", "oneOf", "anyOf"].iter().any(|key| schema.contains_key(*key)) {
        return Cow::Borrowed(schema);
    }
    let root = Root(schema);
    let mut all = Together::default();
    all.take_fields(&root, schema, 1);
    let Together { mut fields, choices } = all;
    for ways in &choices {
        let ways: Vec<Map<String, Json>> = ways.iter().map(|way| Together::of(&root, way).fields).collect();
        let mut named: Map<String, Json> = Map::new();
        for (name, schema) in ways.iter().filter_map(properties).flatten() {
            let schemas = named.entry(name.clone()).or_insert_with(|| json!([]));
            schemas.as_array_mut().into_iter().for_each(|schemas| schemas.push(schema.clone()));
        }
        if let Json::Object(known) = fields.entry("properties").or_insert_with(|| json!({})) {
            for (name, schemas) in named {
                let Json::Array(schemas) = schemas else { continue };
                known.entry(name).or_insert_with(|| merged(schemas));
            }
        }
        let always = required_by_all(&ways);
        if !always.is_empty() {
            add(&mut fields, "required", &json!(always));
        }
    }
    Cow::Owned(fields)
}

fn properties(fields: &Map<String, Json>) -> Option<&Map<String, Json>> {
    fields.get("properties")?.as_object()
}

/// The names that a schema requires.
fn required(fields: &Map<String, Json>) -> Vec<String> {
    let names = fields.get("required").and_then(Json::as_array).into_iter().flatten();
    names.filter_map(Json::as_str).map(str::to_owned).collect()
}

/// The names that each of several ways requires.
fn required_by_all(ways: &[Map<String, Json>]) -> Vec<String> {
    let Some((first, others)) = ways.split_first() else { return Vec::new() };
    let mut names = required(first);
    others.iter().map(required).for_each(|other| names.retain(|name| other.contains(name)));
    names
}

/// A schema that holds where one of these does: the values that they allow, where they name all of them.
fn either(schemas: Vec<Json>) -> Json {
    let mut different: Vec<Json> = Vec::new();
    for schema in schemas {
        if !different.contains(&schema) {
            different.push(schema);
        }
    }
    let listed: Option<Vec<Vec<Json>>> = different.iter().map(|schema| values(schema.as_object()?)).collect();
    match (different.as_slice(), listed) {
        ([_], _) => different.swap_remove(0),
        (_, Some(values)) => json!({"enum": values.concat()}),
        _ => {
            let purpose = different.iter().find_map(|schema| schema.get("description")).cloned();
            let mut schema = json!({"anyOf": different});
            if let (Some(purpose), Some(fields)) = (purpose, schema.as_object_mut()) {
                fields.insert("description".to_owned(), purpose);
            }
            schema
        }
    }
}

/// All values that a schema allows, where it names them.
fn values(fields: &Map<String, Json>) -> Option<Vec<Json>> {
    match fields.get("const") {
        Some(only) => Some(vec![only.clone()]),
        None => fields.get("enum")?.as_array().cloned(),
    }
}

/// Arguments that depend on the value of one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Variants {
    /// The name of that one.
    pub by: String,
    /// Its value in each way, and what the way says of all arguments.
    pub ways: Vec<(Json, Map<String, Json>)>,
}

/// The ways to call a tool that the value of one argument tells apart, if it has such an argument.
pub fn variants(schema: &Map<String, Json>) -> Option<Variants> {
    let root = Root(schema);
    let mut all = Together::default();
    all.take_fields(&root, schema, 1);
    let [choice] = all.choices.as_slice() else { return None };
    let ways: Vec<Map<String, Json>> = choice.iter().map(|way| Together::of(&root, way).fields).collect();
    let named = schema.get("discriminator").and_then(|by| by.get("propertyName")).and_then(Json::as_str);
    let mut names = named.into_iter().chain(properties(ways.first()?)?.keys().map(String::as_str));
    let (by, values) = names.find_map(|name| {
        let only = |way: &Map<String, Json>| {
            let allowed = values(root.resolve(properties(way)?.get(name)?)?)?;
            <[Json; 1]>::try_from(allowed).ok().map(|[only]| only)
        };
        let values: Vec<Json> = ways.iter().map(only).collect::<Option<_>>()?;
        let is_new = |(at, value): (usize, &Json)| !values[..at].contains(value);
        (values.len() > 1 && values.iter().enumerate().all(is_new)).then(|| (name.to_owned(), values))
    })?;
    Some(Variants { by, ways: values.into_iter().zip(ways).collect() })
}

/// What the ways of a choice require beyond what is required in any case: a list of names for each way, nothing where
/// there is no choice or a way requires nothing more.
pub fn ways(schema: &Map<String, Json>) -> Vec<Vec<String>> {
    let root = Root(schema);
    let mut all = Together::default();
    all.take_fields(&root, schema, 1);
    let [ways] = all.choices.as_slice() else { return Vec::new() };
    let ways: Vec<Map<String, Json>> = ways.iter().map(|way| Together::of(&root, way).fields).collect();
    let always = [required(&all.fields), required_by_all(&ways)].concat();
    let more = ways.iter().map(|way| {
        let mut more = required(way);
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
