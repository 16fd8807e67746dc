//! Whether a value fits a schema, as far as examples need to know: with it the right way through a choice is found, and a
//! default that does not fit its own schema is not shown. What is not understood fits.

use std::cell::Cell;

use serde_json::{Map, Value as Json};

use super::whole;
use crate::catalog::types::Root;

/// How deep values and schemas are followed.
const DEPTH: usize = 24;
/// How many schemas are looked at until everything fits.
const WORK: usize = 4_000;
/// How large a compiled pattern may be.
const PATTERN_BYTES: usize = 1 << 18;

/// One comparison.
pub struct Fit<'r> {
    root: &'r Root<'r>,
    left: Cell<usize>,
    /// Whether something fitted because its pattern cannot be read.
    unread: Cell<bool>,
}

impl<'r> Fit<'r> {
    pub fn new(root: &'r Root<'r>) -> Fit<'r> {
        Fit { root, left: Cell::new(WORK), unread: Cell::new(false) }
    }

    /// Why it is not certain that a value fits; nothing if it is.
    pub fn doubt(&self, schema: &Json, value: &Json) -> Option<&'static str> {
        if !self.value(schema, value) {
            return Some("no value was found that fits all of the schema; edit it by what stands above");
        }
        if self.unread.get() {
            return Some("a pattern of the schema cannot be checked here; edit it by what stands above");
        }
        (self.left.get() == 0).then_some("the schema is too large to be checked here in full")
    }

    /// Whether a pattern is found in a text.
    fn matches(&self, pattern: &str, text: &str) -> bool {
        let found = found(pattern, text);
        self.unread.set(self.unread.get() || found.is_none());
        found.unwrap_or(true)
    }

    /// Whether a value fits.
    pub fn value(&self, schema: &Json, value: &Json) -> bool {
        self.at(schema, value, 0)
    }

    fn at(&self, schema: &Json, value: &Json, depth: usize) -> bool {
        let fields = match schema {
            Json::Bool(all) => return *all,
            Json::Object(fields) => fields,
            _ => return true,
        };
        if depth > DEPTH || self.left.get() == 0 {
            return true;
        }
        self.left.set(self.left.get() - 1);
        let target = fields.get("$ref").and_then(Json::as_str).and_then(|target| self.root.target(target));
        target.is_none_or(|target| self.all(target, value, depth + 1)) && self.all(fields, value, depth)
    }

    fn all(&self, fields: &Map<String, Json>, value: &Json, depth: usize) -> bool {
        if depth > DEPTH {
            return true;
        }
        // References lead from one to the next.
        let onward = fields.get("$ref").and_then(Json::as_str).and_then(|target| self.root.target(target));
        onward.filter(|_| depth > 0).is_none_or(|target| self.all(target, value, depth + 1))
            && is_of_type(fields, value)
            && fields.get("const").is_none_or(|only| same(only, value))
            && fields
                .get("enum")
                .and_then(Json::as_array)
                .is_none_or(|all| all.iter().any(|each| same(each, value)))
            && self.combined(fields, value, depth)
            && match value {
                Json::Number(number) => number.as_f64().is_none_or(|number| is_within(fields, number)),
                Json::String(text) => self.is_text(fields, text),
                Json::Array(items) => self.items(fields, items, depth),
                Json::Object(named) => self.named(fields, named, depth),
                Json::Null | Json::Bool(_) => true,
            }
    }

    fn combined(&self, fields: &Map<String, Json>, value: &Json, depth: usize) -> bool {
        let fits = |schema: &Json| self.at(schema, value, depth + 1);
        let parts = |key: &str| fields.get(key).and_then(Json::as_array);
        parts("allOf").is_none_or(|parts| parts.iter().all(fits))
            && parts("anyOf").is_none_or(|ways| ways.iter().any(fits))
            && parts("oneOf").is_none_or(|ways| ways.iter().filter(|way| fits(way)).count() == 1)
            && fields.get("not").is_none_or(|not| !fits(not))
            && fields.get("if").is_none_or(|condition| {
                let then = fields.get(if fits(condition) { "then" } else { "else" });
                then.is_none_or(fits)
            })
    }

    fn items(&self, fields: &Map<String, Json>, items: &[Json], depth: usize) -> bool {
        let listed = |key: &str| fields.get(key).and_then(Json::as_array);
        let first = listed("prefixItems").or_else(|| listed("items"));
        let rest = fields.get("items").filter(|items| !items.is_array());
        let count = first.map_or(0, Vec::len);
        let contained = |schema: &Json| {
            let found = items.iter().filter(|item| self.at(schema, item, depth + 1)).count();
            found >= whole(fields, "minContains").unwrap_or(1)
        };
        let is_unique = || items.iter().enumerate().all(|(at, item)| !items[..at].contains(item));
        (whole(fields, "minItems").unwrap_or(0)..=whole(fields, "maxItems").unwrap_or(usize::MAX))
            .contains(&items.len())
            && first.is_none_or(|first| {
                first.iter().zip(items).all(|(schema, item)| self.at(schema, item, depth + 1))
            })
            && rest.is_none_or(|schema| items.iter().skip(count).all(|item| self.at(schema, item, depth + 1)))
            && fields.get("contains").is_none_or(contained)
            && (fields.get("uniqueItems") != Some(&Json::Bool(true)) || is_unique())
    }

    fn named(&self, fields: &Map<String, Json>, named: &Map<String, Json>, depth: usize) -> bool {
        let names = |value: &Json| -> Vec<String> {
            let names = value.as_array().into_iter().flatten();
            names.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let has_all = |value: &Json| names(value).iter().all(|name| named.contains_key(name));
        let object = |key: &str| fields.get(key).and_then(Json::as_object);
        let patterns: Vec<(&String, &Json)> = object("patternProperties").into_iter().flatten().collect();
        let each = |(name, value): (&String, &Json)| {
            let own = object("properties").and_then(|properties| properties.get(name));
            let by_pattern: Vec<&Json> = patterns
                .iter()
                .filter(|(pattern, _)| self.matches(pattern, name))
                .map(|(_, schema)| *schema)
                .collect();
            let rest = fields.get("additionalProperties").filter(|_| own.is_none() && by_pattern.is_empty());
            own.into_iter().chain(by_pattern).chain(rest).all(|schema| self.at(schema, value, depth + 1))
        };
        (whole(fields, "minProperties").unwrap_or(0)..=whole(fields, "maxProperties").unwrap_or(usize::MAX))
            .contains(&named.len())
            && fields.get("required").is_none_or(has_all)
            && object("dependentRequired").is_none_or(|rules| {
                rules.iter().all(|(name, more)| !named.contains_key(name) || has_all(more))
            })
            && fields.get("propertyNames").is_none_or(|schema| {
                named.keys().all(|name| self.at(schema, &Json::String(name.clone()), depth + 1))
            })
            && named.iter().all(each)
    }

    fn is_text(&self, fields: &Map<String, Json>, text: &str) -> bool {
        let length = text.chars().count();
        (whole(fields, "minLength").unwrap_or(0)..=whole(fields, "maxLength").unwrap_or(usize::MAX))
            .contains(&length)
            && fields.get("pattern").and_then(Json::as_str).is_none_or(|pattern| self.matches(pattern, text))
    }
}

/// Whether a pattern is found in a text; one that cannot be read is.
pub fn matches(pattern: &str, text: &str) -> bool {
    found(pattern, text).unwrap_or(true)
}

/// The same; nothing of one that cannot be read.
fn found(pattern: &str, text: &str) -> Option<bool> {
    let compiled = regex::RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    compiled.ok().map(|pattern| pattern.is_match(text))
}

/// Numbers are equal by value: 1 is 1.0.
fn same(one: &Json, other: &Json) -> bool {
    one == other || (one.is_number() && other.is_number() && one.as_f64() == other.as_f64())
}

fn is_of_type(fields: &Map<String, Json>, value: &Json) -> bool {
    let is_of = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    };
    match fields.get("type") {
        Some(Json::String(kind)) => is_of(kind),
        Some(Json::Array(kinds)) => kinds.iter().filter_map(Json::as_str).any(is_of),
        _ => true,
    }
}

fn is_within(fields: &Map<String, Json>, number: f64) -> bool {
    let bound = |key: &str| fields.get(key).and_then(Json::as_f64);
    bound("minimum").is_none_or(|least| number >= least)
        && bound("exclusiveMinimum").is_none_or(|least| number > least)
        && bound("maximum").is_none_or(|most| number <= most)
        && bound("exclusiveMaximum").is_none_or(|most| number < most)
        && bound("multipleOf").is_none_or(|step| step <= 0.0 || (number / step).fract() == 0.0)
}
