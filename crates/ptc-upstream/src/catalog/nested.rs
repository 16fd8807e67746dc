//! What `doc` tells of the parts inside arguments: a line for each that has bounds, a default or a purpose. Schemas come from
//! outside, so the walk has a bound; what is beyond it is told to be missing.

use serde_json::{Map, Value as Json};

use super::bounds::bounds;
use super::keys::Keys;
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
        walk.inside(&[keys.key(name)], schema, 0);
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

struct PartWalk<'r, 's> {
    root: &'r Root<'s>,
    keys: &'r Keys,
    told: Details,
    bytes: usize,
    steps: usize,
}

impl PartWalk<'_, '_> {
    /// Tells what is inside the part that this path leads to. A list of lists of lists has no longer path than a list.
    fn inside(&mut self, path: &[String], schema: &Json, level: usize) {
        self.steps += 1;
        if self.steps > STEPS || level > LEVELS {
            self.told.cut = true;
            return;
        }
        let Together { fields, choices } = Together::of(self.root, schema);
        for (name, schema) in properties(&fields) {
            let mut path = path.to_vec();
            path.push(self.keys.key(name));
            if path.len() > DEPTH {
                // Deeper ones are in the shape of the argument, as far as that goes.
                self.told.cut |= schema.get("description").is_some();
                continue;
            }
            self.tell(&path, schema);
            self.inside(&path, schema, level + 1);
        }
        let values = ["items", "additionalProperties"].into_iter().filter_map(|key| fields.get(key));
        let first = fields.get("prefixItems").and_then(Json::as_array).into_iter().flatten();
        for schema in values.chain(first).chain(choices.iter().flatten()).filter(|schema| schema.is_object())
        {
            self.inside(path, schema, level + 1);
        }
    }

    fn tell(&mut self, path: &[String], schema: &Json) {
        let Together { fields, choices } = Together::of(self.root, schema);
        let mut told = bounds(&fields);
        told.extend(self.root.bounds_of(choices.iter().flatten()));
        told.extend(default_of(schema, &fields));
        let Some(told) = told_of(told, schema, &fields, PURPOSE) else { return };
        let line = format!("  [{}]{told}", path.join(" "));
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
