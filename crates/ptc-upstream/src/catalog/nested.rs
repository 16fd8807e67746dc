//! What `doc` tells of the parts inside arguments: a line for each that has bounds, a default or a purpose. Schemas come from
//! outside, so the walk has a bound; what is beyond it is told to be missing.

use serde_json::{Map, Value as Json};

use super::bounds::bounds;
use super::keys::Keys;
use super::shaper::{ANY_NAME, open_names};
use super::together::Together;
use super::types::{Details, Root, default_of, told_of};

/// How deep parts stand inside an argument, how deep schemas stand inside each other, how many parts are told, and in how many
/// bytes.
const DEPTH: usize = 4;
const LEVELS: usize = 16;
const PARTS: usize = 40;
const BYTES: usize = 3_000;
/// How many schemas are looked at.
const STEPS: usize = 1_000;
/// Characters of what a part is for.
const PURPOSE: usize = 160;

/// A line for each part inside the arguments of an object that has more to tell than its type: `  [:edits :old] - The text`.
pub fn parts(root: &Root<'_>, arguments: &Map<String, Json>, keys: &Keys) -> Details {
    let mut walk = PartWalk { root, keys, told: Details::default(), bytes: 0, steps: 0 };
    for (name, schema) in properties(arguments) {
        let name = keys.key(name);
        walk.inside(&PartPlace { label: name.clone(), path: vec![name] }, schema, 0);
    }
    for (name, schema) in open_names(arguments) {
        walk.inside(&PartPlace { label: name.clone(), path: vec![name] }, schema, 0);
    }
    walk.told
}

/// Whether a schema has conditions that no line tells: those between its parts, and what a value must not be.
pub fn has_conditions(schema: &Map<String, Json>) -> bool {
    const CONDITIONS: [&str; 8] = [
        "if",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "not",
        "contains",
        "unevaluatedProperties",
        "unevaluatedItems",
    ];
    let mut open = vec![schema];
    for _ in 0..STEPS {
        let Some(fields) = open.pop() else { return false };
        if fields.keys().any(|key| CONDITIONS.contains(&key.as_str())) {
            return true;
        }
        open.extend(fields.iter().flat_map(|(key, value)| schemas(key, value)));
    }
    // What was not looked at may have some.
    !open.is_empty()
}

/// The schemas that stand under a keyword.
fn schemas<'s>(keyword: &str, value: &'s Json) -> Vec<&'s Map<String, Json>> {
    match (keyword, value) {
        // These have values, which are no schemas.
        ("default" | "examples" | "example" | "const" | "enum", _) => Vec::new(),
        // Names of properties are no keywords.
        ("properties" | "patternProperties" | "$defs" | "definitions", Json::Object(named)) => {
            named.values().filter_map(Json::as_object).collect()
        }
        (_, Json::Object(schema)) => vec![schema],
        (_, Json::Array(items)) => items.iter().filter_map(Json::as_object).collect(),
        _ => Vec::new(),
    }
}

/// Where a part stands.
struct PartPlace {
    /// The names that lead to it. A list of lists of lists has no longer path than a list.
    path: Vec<String>,
    /// How it is called in its line: `[:edits :old]`, `each item of :tags`.
    label: String,
}

impl PartPlace {
    /// A value inside it that has no name of its own.
    fn inner(&self, what: &str) -> PartPlace {
        PartPlace { path: self.path.clone(), label: format!("{what} of {}", self.label) }
    }
}

/// The values inside a list or a map that have no names of their own, each with what it is called.
fn unnamed(fields: &Map<String, Json>) -> Vec<(String, &Json)> {
    let first = fields.get("prefixItems").and_then(Json::as_array).into_iter().flatten();
    let first: Vec<(String, &Json)> =
        first.enumerate().map(|(at, schema)| (format!("item {at}"), schema)).collect();
    let other = if first.is_empty() { "each item" } else { "each other item" };
    let rest = fields.get("items").map(|schema| (other.to_owned(), schema));
    let is_other = properties(fields).next().is_some() || fields.contains_key("patternProperties");
    let values = open_names(fields).map(|(name, schema)| match (name == ANY_NAME, is_other) {
        (false, _) => (format!("each value under {name}"), schema),
        (true, false) => ("each value".to_owned(), schema),
        (true, true) => ("each other value".to_owned(), schema),
    });
    first.into_iter().chain(rest).chain(values).filter(|(_, schema)| schema.is_object()).collect()
}

struct PartWalk<'r, 's> {
    root: &'r Root<'s>,
    keys: &'r Keys,
    told: Details,
    bytes: usize,
    steps: usize,
}

impl PartWalk<'_, '_> {
    /// Tells what is inside the part that stands there.
    fn inside(&mut self, place: &PartPlace, schema: &Json, level: usize) {
        self.steps += 1;
        if self.steps > STEPS || level > LEVELS {
            self.told.cut = true;
            return;
        }
        let Together { fields, choices } = Together::of(self.root, schema);
        for (name, schema) in properties(&fields) {
            let mut path = place.path.clone();
            path.push(self.keys.key(name));
            let part = PartPlace { label: format!("[{}]", path.join(" ")), path };
            if part.path.len() > DEPTH {
                // Deeper ones are in the shape of the argument, as far as that goes.
                self.told.cut |= schema.get("description").is_some();
                continue;
            }
            self.tell(&part, schema);
            self.inside(&part, schema, level + 1);
        }
        for (what, schema) in unnamed(&fields) {
            let part = place.inner(&what);
            self.tell(&part, schema);
            self.inside(&part, schema, level + 1);
        }
        for schema in choices.iter().flatten().filter(|schema| schema.is_object()) {
            self.inside(place, schema, level + 1);
        }
    }

    fn tell(&mut self, place: &PartPlace, schema: &Json) {
        let Together { fields, choices } = Together::of(self.root, schema);
        let mut told = bounds(&fields);
        told.extend(self.root.bounds_of(choices.iter().flatten()));
        told.extend(default_of(schema, &fields));
        let Some((told, is_short)) = told_of(told, schema, &fields, PURPOSE) else { return };
        self.told.cut |= is_short;
        let line = format!("  {}{told}", place.label);
        if self.told.lines.contains(&line) {
            return;
        }
        if self.told.lines.len() >= PARTS || self.bytes + line.len() > BYTES {
            self.told.cut = true;
            return;
        }
        self.bytes += line.len();
        self.told.lines.push(line);
    }
}

fn properties(fields: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    fields.get("properties").and_then(Json::as_object).into_iter().flatten()
}
