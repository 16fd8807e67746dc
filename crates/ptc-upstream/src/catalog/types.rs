//! Schemas in words: the type of an argument, and the shape of a result. Schemas come from outside, so every
//! walk has a bound.

use std::fmt;

use serde_json::{Map, Value as Json};

use super::bounds::bounds;
use super::keys::Keys;
use super::nested;
use super::shaper::{ANY_NAME, DEEPEST, DEPTH, Shaper, open_names};
use super::together::{self, Together, Variants};

/// How many fields of one object are shown.
pub(super) const FIELDS: usize = 24;
/// How many references lead from one to the next.
const HOPS: usize = 16;
/// The most characters of a constant or a result shape.
const LONGEST: usize = 1_500;
/// The most bytes of all that is told of arguments beside their types, of what is inside one, and of what it is for.
const DETAILS: usize = 8_000;
const INSIDE: usize = 1_500;
const PURPOSE: usize = 400;
/// The most bytes of the values that an argument may have.
const ALLOWED: usize = 400;
/// How many variants of arguments are told.
const VARIANTS: usize = 12;

/// An argument of a tool, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name, as a program writes it: `:path`, or a string where a keyword cannot say it.
    pub key: String,
    /// Its type: `string`, `enum<string>`, `const<42>` …
    pub kind: String,
    /// Whether it must be given.
    pub required: bool,
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.key, self.kind, if self.required { "" } else { "?" })
    }
}

/// The arguments of a schema: required ones in the order of the schema, then the others by name.
pub fn arguments(schema: &Map<String, Json>) -> Vec<Argument> {
    Root(schema).arguments(&together::offered(schema), &Keys::of(schema))
}

/// The names of arguments with their schemas, and whether they are required.
fn ordered(schema: &Map<String, Json>) -> Vec<(&str, Option<&Json>, bool)> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let schema_of = |name: &str| properties.and_then(|properties| properties.get(name));
    let listed = schema.get("required").and_then(Json::as_array).into_iter().flatten();
    let mut required: Vec<&str> = Vec::new();
    for name in listed.filter_map(Json::as_str) {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    let names = properties.into_iter().flat_map(Map::keys).map(String::as_str);
    let mut optional: Vec<&str> = names.filter(|name| !required.contains(name)).collect();
    optional.sort_unstable();
    let required = required.into_iter().map(|name| (name, schema_of(name), true));
    required.chain(optional.into_iter().map(|name| (name, schema_of(name), false))).collect()
}

/// The arguments whose names a schema leaves open, in words: `#"^x-" integer`, `"…" string`.
pub fn open_arguments(schema: &Map<String, Json>) -> Vec<String> {
    let (root, all) = (Root(schema), together::offered(schema));
    let named = |(name, schema): (String, &Json)| format!("{name} {}", root.type_name(schema, 0));
    let any = all.get("additionalProperties") == Some(&Json::Bool(true));
    let any = any.then(|| format!("{ANY_NAME} any"));
    open_names(&all).take(FIELDS).map(named).chain(any).collect()
}

/// What more there is to know of arguments than their types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// A line for each that has something: what is inside, the values that it may have, what it is if it is left out, and
    /// what it is for.
    pub lines: Vec<String>,
    /// Whether something of it had no room, or no words.
    pub cut: bool,
}

/// What more there is to know of the arguments of a schema.
pub fn details(schema: &Map<String, Json>) -> Details {
    let (root, all, keys) = (Root(schema), together::offered(schema), Keys::of(schema));
    let mut details = Details::default();
    let mut left = DETAILS;
    let named = ordered(&all).into_iter().filter_map(|(name, schema, _)| Some((keys.key(name), schema?)));
    for (name, schema) in named.chain(open_names(&all)) {
        let Some((line, cut)) = root.detail(&name, schema, &keys) else { continue };
        if line.len() > left {
            details.lines.push("  …".to_owned());
            details.cut = true;
            break;
        }
        left -= line.len();
        details.lines.push(line);
        details.cut |= cut;
    }
    if let Some(variants) = together::variants(schema) {
        details.add_variants(&root, &variants, &keys);
    }
    let parts = nested::parts(&root, &all, &keys);
    details.lines.extend(parts.lines);
    details.cut |= parts.cut || nested::has_conditions(schema);
    details
}

impl Details {
    /// Adds a line for each way to call a tool whose arguments depend on the value of one of them.
    fn add_variants(&mut self, root: &Root<'_>, variants: &Variants, keys: &Keys) {
        let by = keys.key(&variants.by);
        for (value, way) in variants.ways.iter().take(VARIANTS) {
            let value = crate::ledger::shortened(&value.to_string(), ALLOWED);
            let args: Vec<Argument> = root.arguments(way, keys);
            let args = args.iter().filter(|arg| arg.key != by).map(ToString::to_string);
            let args: Vec<String> = args.collect();
            let args = if args.is_empty() { "nothing else".to_owned() } else { args.join(", ") };
            let line = format!("  with {by} {value}: {args}");
            self.cut |= line.len() > INSIDE;
            self.lines.push(crate::ledger::shortened(&line, INSIDE));
        }
        if variants.ways.len() > VARIANTS {
            self.lines.push(format!("  … {} more", variants.ways.len() - VARIANTS));
            self.cut = true;
        }
    }
}

/// The type of a schema that stands alone.
pub fn type_name(schema: &Json) -> String {
    match schema {
        Json::Object(fields) => Root(fields).type_name(schema, 0),
        _ => "any".to_owned(),
    }
}

/// The payload shape of an output schema, the way Clojure writes data.
pub fn result_type(schema: Option<&Map<String, Json>>) -> String {
    let Some(fields) = schema else { return "any".to_owned() };
    let text = Shaper::of_results(&Root(fields)).shape(&Json::Object(fields.clone()), 0);
    crate::ledger::shortened(&text, LONGEST)
}

/// The document in which references point.
pub(super) struct Root<'s>(pub(super) &'s Map<String, Json>);

impl<'s> Root<'s> {
    /// What a schema means after its references; `None` if they lead nowhere.
    pub(super) fn resolve(&self, schema: &'s Json) -> Option<&'s Map<String, Json>> {
        let mut schema = schema.as_object()?;
        for _ in 0..HOPS {
            let Some(target) = schema.get("$ref") else { return Some(schema) };
            schema = self.target(target.as_str()?)?;
        }
        None
    }

    /// The schema that a reference points at.
    pub(super) fn target(&self, pointer: &str) -> Option<&'s Map<String, Json>> {
        if pointer == "#" { Some(self.0) } else { self.find(pointer)?.as_object() }
    }

    fn find(&self, pointer: &str) -> Option<&'s Json> {
        let mut parts = pointer.strip_prefix("#/")?.split('/');
        let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let mut at = self.0.get(&unescaped(parts.next()?))?;
        for part in parts {
            at = at.get(unescaped(part))?;
        }
        Some(at)
    }
}

impl<'s> Root<'s> {
    /// The arguments that an object of this document has.
    fn arguments(&self, fields: &Map<String, Json>, keys: &Keys) -> Vec<Argument> {
        let argument = |(name, schema, required): (&str, Option<&Json>, bool)| {
            let kind = schema.map_or_else(|| "any".to_owned(), |schema| self.type_name(schema, 0));
            Argument { key: keys.key(name), kind, required }
        };
        ordered(fields).into_iter().map(argument).collect()
    }

    /// The line of an argument, and whether something of it had no room.
    fn detail(&self, name: &str, schema: &Json, keys: &Keys) -> Option<(String, bool)> {
        self.resolve(schema)?;
        let Together { fields, choices } = &Together::of(self, schema);
        let mut told = Vec::new();
        let mut cut = false;
        match fields.get("enum").and_then(Json::as_array) {
            Some(values) => {
                let values = allowed(values, ", ");
                cut = values.ends_with('…');
                told.push(format!("one of {values}"));
            }
            None => {
                let (inside, left_out) = self.inside(schema, keys);
                let nests =
                    inside != self.type_name(schema, 0) && !matches!(inside.as_str(), "map" | "[any]");
                cut |= nests && left_out;
                told.extend(nests.then_some(inside));
            }
        }
        told.extend(bounds(fields));
        told.extend(self.bounds_of(choices.iter().flatten()));
        told.extend(default_of(schema, fields));
        let (told, is_short) = told_of(told, schema, fields, PURPOSE)?;
        Some((format!("  {name}{told}"), cut || is_short))
    }

    /// The bounds of each way that a value may be, behind its type.
    pub(super) fn bounds_of<'f>(&self, choices: impl Iterator<Item = &'f Json>) -> Vec<String> {
        let told = |choice: &Json| {
            let own = Together::of(self, choice).fields;
            let own = bounds(&own);
            (!own.is_empty()).then(|| format!("{}: {}", self.type_name(choice, 0), own.join(", ")))
        };
        choices.take(VARIANTS).filter_map(told).collect()
    }

    /// What is inside an argument, as deep as there is room for; and whether something was left out.
    fn inside(&self, schema: &Json, keys: &Keys) -> (String, bool) {
        let shaped = |depth: usize| {
            let shaper = Shaper::of_arguments(self, keys, depth);
            (shaper.shape(schema, 0), shaper.is_cut(), shaper.is_spent())
        };
        let fits = |(text, _, spent): &(String, bool, bool)| text.len() <= INSIDE && !spent;
        let deepest = (2..=DEEPEST).rev().map(shaped).find(fits);
        let (text, cut, spent) = deepest.unwrap_or_else(|| shaped(1));
        (crate::ledger::shortened(&text, INSIDE), cut || spent || text.len() > INSIDE)
    }
}

/// What a value is where it is left out.
pub(super) fn default_of(schema: &Json, fields: &Map<String, Json>) -> Option<String> {
    let default = fields.get("default").or_else(|| schema.get("default")).filter(|value| !value.is_null());
    default.map(|value| format!("default {}", crate::ledger::shortened(&value.to_string(), ALLOWED)))
}

/// What is told of a value behind its name, with what it is for in so many characters, and whether that is not all; nothing
/// if there is nothing.
pub(super) fn told_of(
    told: Vec<String>,
    schema: &Json,
    fields: &Map<String, Json>,
    most: usize,
) -> Option<(String, bool)> {
    let purpose = schema.get("description").or_else(|| fields.get("description")).and_then(Json::as_str);
    let purpose = purpose.map(|text| super::cut_line(text, most)).filter(|(text, _)| !text.is_empty());
    if told.is_empty() && purpose.is_none() {
        return None;
    }
    let told = if told.is_empty() { String::new() } else { format!(" {}", told.join("; ")) };
    let (purpose, is_cut) = purpose.map(|(text, cut)| (format!(" - {text}"), cut)).unwrap_or_default();
    Some((told + &purpose, is_cut))
}

/// Values as a program writes them, as many as fit.
pub(super) fn allowed(values: &[Json], by: &str) -> String {
    let mut text = String::new();
    for value in values {
        let shown = if value.is_null() { "nil".to_owned() } else { value.to_string() };
        if text.len() + shown.len() > ALLOWED {
            text.push_str(by);
            text.push('…');
            break;
        }
        if !text.is_empty() {
            text.push_str(by);
        }
        text.push_str(&shown);
    }
    text
}

impl Root<'_> {
    /// The type of an argument. Constraints say more than types and come first.
    fn type_name(&self, schema: &Json, depth: usize) -> String {
        let fixed = match constrained(schema.as_object()) {
            Some(text) => return text,
            None => self.resolve(schema),
        };
        let Some(fields) = fixed else { return "any".to_owned() };
        if let Some(text) = constrained(Some(fields)) {
            return text;
        }
        let mut kinds = kinds(fields);
        if kinds.is_empty() && depth < DEPTH {
            kinds = self.choices(fields).iter().map(|choice| self.type_name(choice, depth + 1)).collect();
            kinds.dedup();
        }
        joined(kinds)
    }

    /// The schemas of which one must fit.
    pub(super) fn choices<'f>(&self, fields: &'f Map<String, Json>) -> Vec<&'f Json> {
        let lists = ["anyOf", "oneOf"].iter().filter_map(|key| fields.get(*key)?.as_array());
        lists.flatten().take(FIELDS).collect()
    }
}

/// `const<…>` and `enum<…>`. A constant counts where its key is there, whatever its value.
pub(super) fn constrained(fields: Option<&Map<String, Json>>) -> Option<String> {
    let fields = fields?;
    if let Some(value) = fields.get("const") {
        return Some(format!("const<{}>", crate::ledger::shortened(&value.to_string(), LONGEST)));
    }
    let values = fields.get("enum")?.as_array()?;
    let mut kinds = values.iter().map(primitive);
    let first = kinds.next().flatten();
    Some(match first {
        Some(kind) if kinds.all(|other| other == Some(kind)) => format!("enum<{kind}>"),
        _ => "enum".to_owned(),
    })
}

/// The primitive type of a value.
fn primitive(value: &Json) -> Option<&'static str> {
    match value {
        Json::Null => Some("null"),
        Json::Bool(_) => Some("boolean"),
        Json::Number(number) if number.is_f64() => Some("number"),
        Json::Number(_) => Some("integer"),
        Json::String(_) => Some("string"),
        Json::Array(_) | Json::Object(_) => None,
    }
}

/// The types that a schema names, or that its keys imply.
pub(super) fn kinds(fields: &Map<String, Json>) -> Vec<String> {
    match fields.get("type") {
        Some(Json::String(kind)) => vec![known(kind)],
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).take(8).map(known).collect(),
        _ if fields.contains_key("properties") => vec!["object".to_owned()],
        _ if fields.contains_key("items") => vec!["array".to_owned()],
        _ => Vec::new(),
    }
}

fn known(kind: &str) -> String {
    const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "object", "array", "null"];
    if TYPES.contains(&kind) { kind.to_owned() } else { "any".to_owned() }
}

/// Types side by side; null beside another type only says that the value may be missing.
pub(super) fn joined(mut kinds: Vec<String>) -> String {
    if kinds.len() > 1 {
        kinds.retain(|kind| kind != "null");
    }
    let mut seen: Vec<String> = Vec::new();
    for kind in kinds {
        if !seen.contains(&kind) {
            seen.push(kind);
        }
    }
    if seen.is_empty() { "any".to_owned() } else { seen.join("|") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_and_constraints_of_the_contract() {
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": "integer"}), "integer"),
            (json!({"type": "number"}), "number"),
            (json!({"type": "boolean"}), "boolean"),
            (json!({"type": "null"}), "null"),
            (json!({"type": "object", "properties": {"a": {"type": "string"}}}), "object"),
            (json!({"type": "array", "items": {"type": "string"}}), "array"),
            (json!({"type": "string", "enum": ["open", "closed"]}), "enum<string>"),
            (json!({"enum": [1, 2]}), "enum<integer>"),
            (json!({"enum": [1, "a"]}), "enum"),
            (json!({"enum": [1, 1.5]}), "enum"),
            (json!({"enum": [["a"], ["b"]]}), "enum"),
            (json!({"enum": [true, false]}), "enum<boolean>"),
            (json!({"type": "string", "const": "fixed"}), "const<\"fixed\">"),
            (json!({"const": 42}), "const<42>"),
            (json!({"const": true}), "const<true>"),
            (json!({"type": "boolean", "const": false}), "const<false>"),
            (json!({"const": null}), "const<null>"),
            (json!({"type": "integer", "const": 0}), "const<0>"),
            (json!({"const": ""}), "const<\"\">"),
            (json!({"type": ["string", "null"]}), "string"),
            (json!({"type": ["string", "integer"]}), "string|integer"),
            (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "string"),
            (json!({"properties": {}}), "object"),
            (json!({"items": {}}), "array"),
            (json!({}), "any"),
            (json!({"type": "date"}), "any"),
        ] {
            assert_eq!(type_name(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn required_arguments_come_first_in_their_order() {
        let schema = json!({
            "properties": {"zeta": {"type": "string"}, "b": {"type": "integer"}, "a": {"enum": ["x"]},
                           "y z": {"type": "null"}, "kept": {"$ref": "#/$defs/kept"}},
            "required": ["zeta", "kept", "b", "zeta", "undeclared"],
            "$defs": {"kept": {"type": "boolean"}},
        });
        let shown: Vec<String> = arguments(schema.as_object().expect("an object"))
            .into_iter()
            .map(|argument| {
                format!("{} {}{}", argument.key, argument.kind, if argument.required { "" } else { "?" })
            })
            .collect();
        assert_eq!(
            shown.join(", "),
            ":zeta string, :kept boolean, :b integer, :undeclared any, :a enum<string>?, \"y z\" null?"
        );
    }

    #[test]
    fn result_shapes_look_like_data() {
        for (schema, expected) in [
            (
                json!({"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}),
                "[{:n integer}]",
            ),
            (
                json!({"properties": {"items": {"items": {"$ref": "#/$defs/i"}}, "next": {"type": ["string", "null"]}},
                       "required": ["items"], "$defs": {"i": {"type": "string"}}}),
                "{:items [string] :next string?}",
            ),
            (json!({"type": "object"}), "map"),
            (json!({"type": "array"}), "[any]"),
            (json!({"type": "null"}), "null"),
            (
                json!({"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}),
                "string|[number]",
            ),
            (json!({"$ref": "#/$defs/gone"}), "any"),
            (json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}), "any"),
        ] {
            assert_eq!(result_type(schema.as_object()), expected, "{schema}");
        }
        assert_eq!(result_type(None), "any");
    }

    #[test]
    fn schemas_that_contain_themselves_end() {
        let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}, "kids": {"type": "array", "items": {"$ref": "#/properties/kids"}}}});
        let shown = result_type(tree.as_object());
        assert!(shown.len() < LONGEST && shown.contains(":kids [[[[any]]]"), "{shown}");
        let mut deep = json!({"type": "string"});
        for _ in 0..200 {
            deep = json!({"anyOf": [deep.clone(), {"type": "array", "items": deep}]});
            if crate::ledger::json_bytes(&deep) > 1 << 20 {
                break;
            }
        }
        assert!(result_type(deep.as_object()).len() <= LONGEST);
    }
}
