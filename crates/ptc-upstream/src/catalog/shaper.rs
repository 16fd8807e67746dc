//! The shapes of values in words, the way Clojure writes data: `{:old string :all boolean?}`. Schemas come from outside, so the
//! walk has a bound in depth and in parts; what it leaves out it tells.

use std::cell::{Cell, RefCell};

use serde_json::{Map, Value as Json};

use super::bounds::like;
use super::keys::{Keys, key};
use super::together::Together;
use super::types::{FIELDS, Root, allowed, constrained, joined, kinds};

/// How deep a result shape goes.
pub const DEPTH: usize = 4;
/// How deep what is inside an argument is told at most, and of how many parts.
pub const DEEPEST: usize = 9;
const PARTS: usize = 400;

/// What stands for a name that the schema leaves open.
pub const ANY_NAME: &str = "\"…\"";

/// The names that a schema leaves open, in words, with the schemas of their values: those that a pattern matches, then all
/// others.
pub fn open_names(fields: &Map<String, Json>) -> impl Iterator<Item = (String, &Json)> {
    let patterns = fields.get("patternProperties").and_then(Json::as_object).into_iter().flatten();
    let by_pattern = patterns.map(|(pattern, schema)| (like(pattern), schema));
    let others = fields.get("additionalProperties").filter(|values| values.is_object());
    by_pattern.chain(others.map(|values| (ANY_NAME.to_owned(), values)))
}

fn has_open_names(fields: &Map<String, Json>) -> bool {
    open_names(fields).next().is_some()
}

/// Writes the shapes of values. Of results it tells types, of arguments the values that they may have as well.
pub struct Shaper<'r, 's> {
    root: &'r Root<'s>,
    /// How names are written; those of results as they are.
    keys: Option<&'r Keys>,
    deepest: usize,
    values: bool,
    /// How many parts may still be told.
    parts: Cell<usize>,
    /// Whether something was left out.
    cut: Cell<bool>,
    /// The references that lead to where it is.
    open: RefCell<Vec<String>>,
}

impl<'r, 's> Shaper<'r, 's> {
    /// One that tells types.
    pub fn of_results(root: &'r Root<'s>) -> Self {
        let parts = Cell::new(usize::MAX);
        Shaper {
            root,
            keys: None,
            deepest: DEPTH,
            values: false,
            parts,
            cut: Cell::default(),
            open: RefCell::default(),
        }
    }

    /// One that tells values, so deep.
    pub fn of_arguments(root: &'r Root<'s>, keys: &'r Keys, deepest: usize) -> Self {
        let (keys, parts) = (Some(keys), Cell::new(PARTS));
        Shaper { root, keys, deepest, values: true, parts, cut: Cell::default(), open: RefCell::default() }
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

    /// The shape of a value. One that contains itself is told once.
    pub fn shape(&self, schema: &Json, depth: usize) -> String {
        let Some(target) = schema.get("$ref").and_then(Json::as_str).filter(|_| self.values) else {
            return self.shape_inside(schema, depth);
        };
        if self.open.borrow().iter().any(|open| open == target) {
            return self.left_out("any", "…");
        }
        self.open.borrow_mut().push(target.to_owned());
        let shape = self.shape_inside(schema, depth);
        self.open.borrow_mut().pop();
        shape
    }

    fn shape_inside(&self, schema: &Json, depth: usize) -> String {
        self.parts.set(self.parts.get().saturating_sub(1));
        let Some(fields) = self.root.resolve(schema).filter(|_| self.parts.get() > 0) else {
            return "any".to_owned();
        };
        let together;
        let fields = match fields.contains_key("allOf") {
            true => {
                together = Together::of(self.root, schema).fields;
                &together
            }
            false => fields,
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
            return self.either(choices.iter().map(|choice| self.shape(choice, depth + 1)).collect());
        }
        self.either(kinds.into_iter().map(|kind| self.shape_of(kind, fields, depth)).collect())
    }

    /// Shapes side by side. An argument may be nil where the schema says so; a result that is nil is one that is missing.
    fn either(&self, shapes: Vec<String>) -> String {
        let may_be_nil = self.values && shapes.len() > 1 && shapes.iter().any(|shape| shape == "null");
        let text = joined(shapes);
        if may_be_nil && !text.ends_with("nil") { format!("{text}|nil") } else { text }
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
            "array" if self.values && fields.contains_key("prefixItems") => self.tuple(fields, depth),
            "array" => match fields.get("items").filter(|items| items.is_object()) {
                Some(items) if depth < self.deepest => format!("[{}]", self.shape(items, depth + 1)),
                Some(_) => self.left_out("[any]", "[…]"),
                None => "[any]".to_owned(),
            },
            "object" => match fields.get("properties").and_then(Json::as_object) {
                Some(properties) if depth < self.deepest && !properties.is_empty() => {
                    self.object(properties, fields, depth)
                }
                Some(properties) if !properties.is_empty() => self.left_out("map", "{…}"),
                _ if self.values && depth >= self.deepest && has_open_names(fields) => {
                    self.left_out("map", "{…}")
                }
                _ => match self.open(fields, depth) {
                    values if values.is_empty() => "map".to_owned(),
                    values => format!("{{{}}}", values.join(" ")),
                },
            },
            _ => kind,
        }
    }

    /// A list whose first items have a type each.
    fn tuple(&self, fields: &Map<String, Json>, depth: usize) -> String {
        if depth >= self.deepest {
            return self.left_out("[any]", "[…]");
        }
        let first = fields.get("prefixItems").and_then(Json::as_array).into_iter().flatten().take(FIELDS);
        let mut shapes: Vec<String> = first.map(|item| self.shape(item, depth + 1)).collect();
        let others = fields.get("items").filter(|items| items.is_object());
        shapes.extend(others.map(|items| format!("{} …", self.shape(items, depth + 1))));
        format!("[{}]", shapes.join(" "))
    }

    /// What stands under names that the schema leaves open, if it says so of an argument: `#"^x-" string`, `"…" integer`.
    fn open(&self, fields: &Map<String, Json>, depth: usize) -> Vec<String> {
        if !self.values || depth >= self.deepest {
            return Vec::new();
        }
        let shown = |(name, schema): (String, &Json)| match self.shape(schema, depth + 1) {
            shape if name == ANY_NAME && shape == "any" => None,
            shape => Some(format!("{name} {shape}")),
        };
        let mut values: Vec<String> = open_names(fields).take(FIELDS).filter_map(shown).collect();
        if open_names(fields).count() > FIELDS {
            values.push("…".to_owned());
            self.cut.set(true);
        }
        values
    }

    fn object(&self, properties: &Map<String, Json>, fields: &Map<String, Json>, depth: usize) -> String {
        let required = fields.get("required").and_then(Json::as_array);
        // Where a schema says of none that it is required, all may be left out of an argument. Of results that is mostly said by
        // servers which say nothing of the kind.
        let optional =
            |name: &str| required.map_or(self.values, |names| !names.iter().any(|other| other == name));
        let field = |(name, schema): (&String, &Json)| {
            let mark = if optional(name) { "?" } else { "" };
            let key = self.keys.map_or_else(|| key(name), |keys| keys.key(name));
            format!("{key} {}{mark}", self.shape(schema, depth + 1))
        };
        let mut shown: Vec<String> = properties.iter().take(FIELDS).map(field).collect();
        if properties.len() > FIELDS {
            shown.push("…".to_owned());
            self.cut.set(true);
        }
        shown.extend(self.open(fields, depth));
        format!("{{{}}}", shown.join(" "))
    }
}
