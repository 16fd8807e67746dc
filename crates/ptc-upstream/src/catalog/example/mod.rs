//! A value that fits a schema, so that a call can be copied and edited. Schemas come from outside, so every walk has a
//! bound; where it is reached, a value is left out or empty.
//!
//! What a schema says is taken together first (`together.rs`), then a value is made of it, and where there is a choice the
//! first way counts whose value fits all that is said (`fit.rs`). `text.rs` and `number.rs` make texts and numbers.

mod fit;
mod number;
mod text;

use serde_json::{Map, Value as Json, json};

use self::fit::Fit;
use super::together::Together;
use super::types::Root;

/// How deep examples nest.
const DEPTH: usize = 8;
/// How many values an example has at most.
const VALUES: usize = 200;
/// How many values are made at most until one fits.
const TRIES: usize = 2_000;
/// How many ways through the choices of one schema are tried.
const WAYS: usize = 16;
/// The longest text that a schema can ask for.
const LONGEST: usize = 400;
/// What stands for a text of which nothing is known.
const ANY_TEXT: &str = "...";

/// Arguments for a tool: those that it requires.
pub fn arguments(schema: &Map<String, Json>) -> Map<String, Json> {
    let mut making = Making { root: Root(schema), left: VALUES, tries: TRIES };
    // Arguments are an object, whether the schema says so or not.
    let mut whole = schema.clone();
    whole.entry("type").or_insert_with(|| "object".into());
    match making.value(&Json::Object(whole), 0) {
        Json::Object(made) => made,
        _ => Map::new(),
    }
}

/// Why an example of arguments may not fit their schema; nothing if it does.
pub fn doubt(schema: &Map<String, Json>, example: &Map<String, Json>) -> Option<&'static str> {
    let whole = Json::Object(schema.clone());
    Fit::new(&Root(schema)).doubt(&whole, &Json::Object(example.clone()))
}

struct Making<'s> {
    root: Root<'s>,
    /// Values that the example may still have.
    left: usize,
    /// Values that may still be made.
    tries: usize,
}

impl Making<'_> {
    /// A value that fits; nothing is known of what is no schema.
    fn value(&mut self, schema: &Json, depth: usize) -> Json {
        if !schema.is_object() {
            return Json::String(ANY_TEXT.to_owned());
        }
        if depth >= DEPTH || self.left == 0 || self.tries == 0 {
            return self.least(schema);
        }
        self.left -= 1;
        self.tries -= 1;
        let all = Together::of(&self.root, schema);
        if all.choices.is_empty() {
            let made = self.plain(&all.fields, depth);
            let made = self.with_consequence(&all.fields, made, depth);
            return if all.fields.contains_key("not") { self.mended(schema, made) } else { made };
        }
        let (before, mut first) = (self.left, None);
        for way in ways(&self.root, all) {
            self.left = before;
            let made = self.plain(&way, depth);
            if self.tries == 0 || self.fits(schema, &made) {
                return made;
            }
            first.get_or_insert(made);
        }
        self.mended(schema, first.unwrap_or_default())
    }

    /// The value, or one near it that fits where it does not: a schema may say what a value is not, or take a number that
    /// is no integer.
    fn mended(&self, schema: &Json, made: Json) -> Json {
        if self.fits(schema, &made) {
            return made;
        }
        let half = made.as_f64().map(|number| json!(number + 0.5));
        let near = [1, -1].into_iter().filter_map(|sign| shifted(&made, sign, 1));
        let longer = made.is_string().then(|| another(&made, 1));
        let others: Vec<Json> = near.chain(half).chain(longer).collect();
        others.into_iter().find(|other| self.fits(schema, other)).unwrap_or(made)
    }

    /// The value, or one that has what `then` or `else` of its schema wants too, where it does not fit that.
    fn with_consequence(&mut self, fields: &Map<String, Json>, made: Json, depth: usize) -> Json {
        let Some(condition) = fields.get("if") else { return made };
        let branch = if self.fits(condition, &made) { "then" } else { "else" };
        let Some(wanted) = fields.get(branch).filter(|wanted| !self.fits(wanted, &made)) else { return made };
        let mut rest = fields.clone();
        ["if", "then", "else"].into_iter().for_each(|key| drop(rest.shift_remove(key)));
        let fuller = self.value(&json!({"allOf": [rest, wanted]}), depth);
        match self.fits(&Json::Object(fields.clone()), &fuller) {
            true => fuller,
            false => made,
        }
    }

    /// A value that says no more than of which kind it is, where there is no room for more.
    fn least(&self, schema: &Json) -> Json {
        let fields = Together::of(&self.root, schema).fields;
        match kind(&fields) {
            Some("object") => json!({}),
            Some("array") => json!([]),
            _ => match self.given(&fields) {
                Some(given) => given,
                None => scalar(&fields),
            },
        }
    }

    fn fits(&self, schema: &Json, value: &Json) -> bool {
        Fit::new(&self.root).value(schema, value)
    }

    /// A value for a schema without choices.
    fn plain(&mut self, fields: &Map<String, Json>, depth: usize) -> Json {
        if let Some(given) = self.given(fields) {
            return given;
        }
        match kind(fields) {
            Some("object") => Json::Object(self.object(fields, depth)),
            Some("array") => Json::Array(self.array(fields, depth)),
            _ => scalar(fields),
        }
    }

    /// What the schema itself gives.
    fn given(&self, fields: &Map<String, Json>) -> Option<Json> {
        if let Some(value) = fields.get("const") {
            return Some(value.clone());
        }
        let whole = Json::Object(fields.clone());
        let default = fields.get("default").filter(|default| is_short(default) && self.fits(&whole, default));
        let allowed = fields.get("enum").and_then(Json::as_array).into_iter().flatten();
        let fitting = |allowed: &&Json| !allowed.is_null() && self.fits(&whole, allowed);
        let first = || fields.get("enum").and_then(Json::as_array)?.iter().find(|value| !value.is_null());
        let examples = fields.get("examples").and_then(Json::as_array).into_iter().flatten().take(VALUES);
        let mut examples = examples.chain(fields.get("example"));
        let example = examples.find(|example| is_short(example) && self.fits(&whole, example));
        default.or(example).or_else(|| allowed.take(VALUES).find(fitting)).or_else(first).cloned()
    }

    fn object(&mut self, fields: &Map<String, Json>, depth: usize) -> Map<String, Json> {
        let mut made = Map::new();
        let properties = fields.get("properties").and_then(Json::as_object);
        let required = fields.get("required").and_then(Json::as_array).into_iter().flatten();
        for name in required.filter_map(Json::as_str).take(VALUES) {
            let value = self.field(fields, name, depth);
            made.insert(name.to_owned(), value);
        }
        let wanted = whole(fields, "minProperties").unwrap_or(0).min(VALUES);
        for name in properties.into_iter().flat_map(Map::keys) {
            if made.len() >= wanted {
                break;
            }
            if !made.contains_key(name) {
                let value = self.field(fields, name, depth);
                made.insert(name.clone(), value);
            }
        }
        // Names that nobody gave are made up, where the schema takes any.
        for number in 1..=VALUES {
            if made.len() >= wanted {
                break;
            }
            let name = made_up(fields, number);
            let closed = fields.get("additionalProperties") == Some(&Json::Bool(false));
            if !made.contains_key(&name) && (!closed || by_pattern(fields, &name).is_some()) {
                let value = self.field(fields, &name, depth);
                made.insert(name, value);
            }
        }
        self.dependent(fields, &mut made, depth);
        made
    }

    /// Adds what fields that are there require.
    fn dependent(&mut self, fields: &Map<String, Json>, made: &mut Map<String, Json>, depth: usize) {
        let rules = fields.get("dependentRequired").and_then(Json::as_object).into_iter().flatten();
        for (_, names) in rules.filter(|(name, _)| made.contains_key(*name)).collect::<Vec<_>>() {
            for name in names.as_array().into_iter().flatten().filter_map(Json::as_str).take(VALUES) {
                if !made.contains_key(name) {
                    let value = self.field(fields, name, depth);
                    made.insert(name.to_owned(), value);
                }
            }
        }
    }

    /// The value of a field: of its own schema, else of the one for names that have none.
    fn field(&mut self, fields: &Map<String, Json>, name: &str, depth: usize) -> Json {
        let own = fields.get("properties").and_then(|properties| properties.get(name));
        let schema = own.or_else(|| by_pattern(fields, name)).or_else(|| fields.get("additionalProperties"));
        schema.map_or_else(|| Json::String(ANY_TEXT.to_owned()), |schema| self.value(schema, depth + 1))
    }

    fn array(&mut self, fields: &Map<String, Json>, depth: usize) -> Vec<Json> {
        let listed = |key: &str| fields.get(key).and_then(Json::as_array);
        // A list of schemas is what `prefixItems` was called before.
        let first = listed("prefixItems").or_else(|| listed("items")).into_iter().flatten();
        let mut made: Vec<Json> = first.take(VALUES).map(|schema| self.value(schema, depth + 1)).collect();
        let items = fields.get("items").filter(|items| items.is_object());
        let most = whole(fields, "maxItems").unwrap_or(usize::MAX);
        if let Some(contained) = fields.get("contains").filter(|_| made.len() < most) {
            for _ in 0..whole(fields, "minContains").unwrap_or(1).min(VALUES) {
                let item = self.value(contained, depth + 1);
                made.push(self.unlike(contained, item, &made));
            }
        }
        // One item shows what they look like.
        let wanted = whole(fields, "minItems").unwrap_or(usize::from(items.is_some() && made.is_empty()));
        let only_shown = !fields.contains_key("minItems");
        while made.len() < wanted.min(most) && self.left > 0 {
            self.left -= 1;
            let item = match items {
                Some(items) => {
                    let item = self.item(items, depth + 1);
                    self.unlike(items, item, &made)
                }
                None => another(&json!(ANY_TEXT), made.len()),
            };
            // Within a schema that contains itself, an item that there is no room for is better left out.
            if only_shown && items.is_some_and(|items| !self.fits(items, &item)) {
                break;
            }
            made.push(item);
        }
        made
    }

    /// An item of a list. An empty map fits where nothing is required, and shows nothing: it has a field, if that fits too.
    fn item(&mut self, schema: &Json, depth: usize) -> Json {
        let item = self.value(schema, depth);
        if item.as_object().is_none_or(|fields| !fields.is_empty()) {
            return item;
        }
        let fuller = self.value(&json!({"allOf": [schema, {"minProperties": 1}]}), depth);
        let shows = |fields: &Map<String, Json>| !fields.is_empty() && !fields.contains_key("key1");
        match fuller.as_object().is_some_and(shows) && self.fits(schema, &fuller) {
            true => fuller,
            false => item,
        }
    }

    /// The item, or another one that fits where it stands in the list already.
    fn unlike(&self, schema: &Json, item: Json, made: &[Json]) -> Json {
        if !made.contains(&item) {
            return item;
        }
        let fields = Together::of(&self.root, schema).fields;
        let listed = fields.get("enum").and_then(Json::as_array).into_iter().flatten().take(VALUES).cloned();
        let step = fields.get("multipleOf").and_then(Json::as_u64).unwrap_or(1) as usize;
        let near =
            [1, -1].into_iter().flat_map(|sign: i64| (1..=made.len() + 1).map(move |number| (sign, number)));
        let near = near.filter_map(|(sign, number)| shifted(&item, sign, number * step));
        let longer = (item.is_string()).then(|| another(&item, made.len()));
        let mut others = longer.into_iter().chain(listed).chain(near);
        others.find(|other| !made.contains(other) && self.fits(schema, other)).unwrap_or(item)
    }
}

/// The schemas that the choices of one can lead to, best first: ways that are only `null` come last.
fn ways(root: &Root<'_>, all: Together) -> Vec<Map<String, Json>> {
    let is_null = |way: &Json| way.get("type").and_then(Json::as_str) == Some("null");
    let mut done = Vec::new();
    let mut open = vec![all];
    // Depth first, so that the first way of every choice is tried first.
    while let Some(mut next) = open.pop() {
        if done.len() >= WAYS || open.len() > WAYS * 8 {
            break;
        }
        let Some(mut choice) = next.choices.pop() else {
            done.push(next.fields);
            continue;
        };
        choice.sort_by_key(is_null);
        open.extend(choice.iter().rev().map(|way| next.with(root, way)));
    }
    done
}

fn is_short(value: &Json) -> bool {
    crate::ledger::json_bytes(value) <= LONGEST
}

/// The type that a schema names first, or that its keys imply.
fn kind(fields: &Map<String, Json>) -> Option<&str> {
    const IMPLIED: [(&str, &[&str]); 4] = [
        ("object", &["properties", "required", "additionalProperties", "minProperties", "patternProperties"]),
        ("array", &["items", "prefixItems", "minItems", "contains"]),
        ("string", &["pattern", "minLength", "maxLength", "format"]),
        ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ];
    match fields.get("type") {
        Some(Json::String(kind)) => Some(kind),
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null").or(Some("null"))
        }
        _ => {
            let mut implied =
                IMPLIED.iter().filter(|(_, keys)| keys.iter().any(|key| fields.contains_key(*key)));
            implied.next().map(|(kind, _)| *kind)
        }
    }
}

fn whole(fields: &Map<String, Json>, key: &str) -> Option<usize> {
    let number = fields.get(key)?;
    let exact = number.as_u64().or_else(|| number.as_f64().map(|number| number as u64))?;
    Some(usize::try_from(exact).unwrap_or(usize::MAX))
}

/// A value that has no others in it.
fn scalar(fields: &Map<String, Json>) -> Json {
    match kind(fields) {
        Some("string") => Json::String(text::text(fields)),
        Some(kind @ ("integer" | "number")) => number::number(fields, kind == "integer"),
        Some("boolean") => Json::Bool(true),
        Some("null") => Json::Null,
        _ => Json::String(ANY_TEXT.to_owned()),
    }
}

/// The schema for a name by the patterns of an object.
fn by_pattern<'f>(fields: &'f Map<String, Json>, name: &str) -> Option<&'f Json> {
    let patterns = fields.get("patternProperties")?.as_object()?;
    patterns.iter().find(|(pattern, _)| fit::matches(pattern, name)).map(|(_, schema)| schema)
}

/// A name that the schema does not give.
fn made_up(fields: &Map<String, Json>, number: usize) -> String {
    let patterns = fields.get("patternProperties").and_then(Json::as_object);
    if let Some(pattern) = patterns.and_then(|patterns| patterns.keys().nth(number - 1)) {
        let name = json!({"pattern": pattern});
        return name.as_object().map(text::text).unwrap_or_default();
    }
    let names = fields.get("propertyNames").and_then(Json::as_object);
    let Some(names) = names else { return format!("key{number}") };
    let listed = names.get("enum").and_then(Json::as_array).and_then(|names| names.get(number - 1)?.as_str());
    match (listed, text::text(names)) {
        (Some(name), _) => name.to_owned(),
        (None, name) if number == 1 => name,
        (None, name) => format!("{name}{number}"),
    }
}

/// Another value of the same kind, where one may not stand twice.
fn another(value: &Json, number: usize) -> Json {
    match value {
        Json::String(text) if number > 0 => json!(format!("{text}{number}")),
        other => other.clone(),
    }
}

/// A number so much further up or down, and the other of the two truths.
fn shifted(value: &Json, sign: i64, by: usize) -> Option<Json> {
    let by = sign.saturating_mul(i64::try_from(by).ok()?);
    match value {
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.checked_add(by).map(Json::from),
            None => Some(json!(number.as_f64()? + by as f64)),
        },
        Json::Bool(truth) => Some(Json::Bool(!truth)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_schemas() {
        for (schema, expected) in [
            (json!({"type": "string"}), json!("...")),
            (json!({"type": "string", "minLength": 5}), json!(".....")),
            (json!({"type": "string", "maxLength": 2}), json!("..")),
            (json!({"type": "string", "format": "date"}), json!("2026-01-31")),
            (json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{2,}$"}), json!("AAA-00")),
            (json!({"type": "string", "pattern": "^(sha256|md5):[0-9a-f]+$"}), json!("sha256:a")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
            (json!({"enum": [null, "a"]}), json!("a")),
            (json!({"type": "string", "enum": ["a", "b"], "default": "b"}), json!("b")),
            (json!({"type": "integer", "default": "b"}), json!(0)),
            (json!({"const": null}), json!(null)),
            (json!({"type": ["null", "integer"]}), json!(0)),
            (json!({"type": "integer", "minimum": 1}), json!(1)),
            (json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 100}), json!(2)),
            (json!({"type": "integer", "maximum": -3}), json!(-3)),
            (json!({"type": "integer", "minimum": 7, "multipleOf": 5}), json!(10)),
            (json!({"type": "number"}), json!(0.0)),
            (json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}), json!(0.5)),
            (json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}), json!(0.5)),
            (json!({"type": "integer", "not": {"const": 0}}), json!(1)),
            (json!({"type": "string", "not": {"const": "..."}}), json!("...1")),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"type": "array"}), json!([])),
            (json!({"type": "array", "items": {"type": "integer"}}), json!([0])),
            (json!({"type": "array", "items": {"type": "integer"}, "minItems": 3}), json!([0, 1, 2])),
            (json!({"type": "array", "items": {"type": "integer"}, "maxItems": 0}), json!([])),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
                json!(["...", 0]),
            ),
            (json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}), json!(true)),
            (
                json!({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                                 {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}),
                json!({"a": 0, "b": "..."}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}},
                       "required": ["b"]}, "c": {"type": "string"}}, "required": ["a"]}),
                json!({"a": {"b": 0}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "minProperties": 1}),
                json!({"a": "..."}),
            ),
        ] {
            let arguments = arguments(
                json!({"properties": {"x": schema}, "required": ["x"]}).as_object().expect("an object"),
            );
            assert_eq!(arguments["x"], expected, "{schema}");
        }
    }

    #[test]
    fn calls_fit_what_a_schema_says_beside_its_properties() {
        let node = json!({"type": "object", "properties": {"name": {"type": "string"},
                          "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["name", "children"]});
        for (schema, expected) in [
            (
                json!({"properties": {"kind": {"const": "a"}, "size": {"type": "integer"}}, "required": ["kind"],
                       "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["size"]}}),
                Some(json!({"kind": "a", "size": 0})),
            ),
            (
                json!({"patternProperties": {"^x-[a-z]+$": {"type": "integer"}}, "minProperties": 1,
                       "additionalProperties": false}),
                Some(json!({"x-a": 0})),
            ),
            (
                json!({"properties": {"city": {"type": "string", "examples": [7, "Oslo"]}}, "required": ["city"]}),
                Some(json!({"city": "Oslo"})),
            ),
            (
                json!({"$defs": {"node": node}, "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"]}),
                None,
            ),
        ] {
            let fields = schema.as_object().expect("an object");
            let made = Json::Object(arguments(fields));
            assert!(Fit::new(&Root(fields)).value(&schema, &made), "{schema}: {made}");
            assert_eq!(expected.as_ref().unwrap_or(&made), &made, "{schema}");
        }
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        let tree = json!({"properties": {"kids": {"type": "array", "items": {"$ref": "#"}}, "next": {"$ref": "#"}},
                          "required": ["kids", "next"]});
        let made = arguments(tree.as_object().expect("an object"));
        assert!(crate::ledger::json_bytes(&Json::Object(made)) < 10_000);
        let wide = json!({"properties": {"x": {"type": "array", "items": {"type": "array", "items": {"type": "string"},
                          "minItems": 1_000_000_000}, "minItems": 1_000_000_000}}, "required": ["x"]});
        let made = arguments(wide.as_object().expect("an object"));
        assert!(crate::ledger::json_bytes(&Json::Object(made)) < 10_000);
    }
}
