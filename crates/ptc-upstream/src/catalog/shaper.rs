//! The shapes of values in words, the way Clojure writes data: `{:old string :all boolean?}`. Schemas come from outside, so the
//! walk has a bound in depth and in parts; what it leaves out it tells.

use std::cell::Cell;

use serde_json::{Map, Value as Json};

use super::types::{FIELDS, Root, allowed, constrained, joined, key, kinds};

/// How deep a result shape goes.
pub const DEPTH: usize = 4;
/// How deep what is inside an argument is told at most, and of how many parts.
pub const DEEPEST: usize = 9;
const PARTS: usize = 400;

/// Writes the shapes of values. Of results it tells types, of arguments the values that they may have as well.
pub struct Shaper<'r, 's> {
    root: &'r Root<'s>,
    deepest: usize,
    values: bool,
    /// How many parts may still be told.
    parts: Cell<usize>,
    /// Whether something was left out.
    cut: Cell<bool>,
}

impl<'r, 's> Shaper<'r, 's> {
    /// One that tells types.
    pub fn of_results(root: &'r Root<'s>) -> Self {
        Shaper { root, deepest: DEPTH, values: false, parts: Cell::new(usize::MAX), cut: Cell::default() }
    }

    /// One that tells values, so deep.
    pub fn of_arguments(root: &'r Root<'s>, deepest: usize) -> Self {
        Shaper { root, deepest, values: true, parts: Cell::new(PARTS), cut: Cell::default() }
    }

    /// Whether something was left out.
    pub fn is_cut(&self) -> bool {
        self.cut.get()
    }

    /// Whether there were more parts than may be told.
    pub fn is_spent(&self) -> bool {
        self.parts.get() == 0
    }

    /// What stands for what is left out: a type among types, a mark among values.
    fn left_out(&self, kind: &str, mark: &str) -> String {
        self.cut.set(true);
        if self.values { mark.to_owned() } else { kind.to_owned() }
    }

    /// The shape of a value.
    pub fn shape(&self, schema: &Json, depth: usize) -> String {
        self.parts.set(self.parts.get().saturating_sub(1));
        let Some(fields) = self.root.resolve(schema).filter(|_| self.parts.get() > 0) else {
            return "any".to_owned();
        };
        if let Some(text) = self.constrained(fields) {
            return text;
        }
        let kinds = kinds(fields);
        if kinds.is_empty() {
            let choices = self.root.choices(fields);
            if choices.is_empty() {
                return "any".to_owned();
            }
            if depth >= self.deepest {
                return self.left_out("any", "…");
            }
            return joined(choices.iter().map(|choice| self.shape(choice, depth + 1)).collect());
        }
        joined(kinds.into_iter().map(|kind| self.shape_of(kind, fields, depth)).collect())
    }

    fn constrained(&self, fields: &Map<String, Json>) -> Option<String> {
        match fields.get("enum").and_then(Json::as_array).filter(|_| self.values) {
            Some(values) if !fields.contains_key("const") => {
                let text = allowed(values, "|");
                self.cut.set(self.cut.get() || text.ends_with('…'));
                Some(text)
            }
            _ => constrained(Some(fields)),
        }
    }

    fn shape_of(&self, kind: String, fields: &Map<String, Json>, depth: usize) -> String {
        match kind.as_str() {
            "array" => match fields.get("items").filter(|items| items.is_object()) {
                Some(items) if depth < self.deepest => format!("[{}]", self.shape(items, depth + 1)),
                Some(_) => self.left_out("[any]", "[…]"),
                None => "[any]".to_owned(),
            },
            "object" => match fields.get("properties").and_then(Json::as_object) {
                Some(properties) if depth < self.deepest && !properties.is_empty() => {
                    self.object(properties, fields.get("required").and_then(Json::as_array), depth)
                }
                Some(properties) if !properties.is_empty() => self.left_out("map", "{…}"),
                _ => "map".to_owned(),
            },
            _ => kind,
        }
    }

    fn object(&self, properties: &Map<String, Json>, required: Option<&Vec<Json>>, depth: usize) -> String {
        let optional = |name: &str| required.is_some_and(|names| !names.iter().any(|other| other == name));
        let field = |(name, schema): (&String, &Json)| {
            let mark = if optional(name) { "?" } else { "" };
            format!("{} {}{mark}", key(name), self.shape(schema, depth + 1))
        };
        let mut shown: Vec<String> = properties.iter().take(FIELDS).map(field).collect();
        if properties.len() > FIELDS {
            shown.push("…".to_owned());
            self.cut.set(true);
        }
        format!("{{{}}}", shown.join(" "))
    }
}
