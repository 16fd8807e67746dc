//! The part of JSON Schema that callers may ask results to fit: types and lists of them, values by name, items and
//! properties. What is not understood is refused, so that nobody believes a result was checked when it was not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value as Json};

/// What a result must be.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSchema(Shape);

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Anything.
    Any,
    String,
    Integer,
    Number,
    Boolean,
    Null,
    Array(Box<Shape>),
    Object {
        properties: BTreeMap<String, Shape>,
        required: Vec<String>,
        /// What fields are that `properties` does not name; none may be there without it.
        rest: Option<Box<Shape>>,
    },
    /// One of these types.
    Either(Vec<Shape>),
    /// One of these values.
    Enum(Vec<Json>),
}

/// Types by name.
const TYPES: [&str; 7] = ["string", "integer", "number", "boolean", "null", "array", "object"];
/// Keys that say something to readers and nothing about values.
const NOTES: [&str; 5] = ["title", "description", "default", "examples", "$schema"];
/// Values of one `enum`.
const MAX_VALUES: usize = 200;

/// How deep schemas nest.
const MAX_DEPTH: usize = 32;
/// Mismatches that a message lists. The check ends with them: a program chooses how many there are.
const MAX_ISSUES: usize = 8;
/// How much of the name of a field a path shows.
const NAME_CHARS: usize = 80;

impl OutputSchema {
    /// Reads a schema; the error says where it is not understood, without what it says.
    pub fn parse(json: &Json) -> Result<OutputSchema, String> {
        shape(json, "output_schema", 0).map(OutputSchema)
    }

    /// The value with keys as the schema spells them: a program writes `:total-amount` where it says `total_amount`.
    pub fn spelt(&self, mut value: Json) -> Json {
        spell(&self.0, &mut value);
        value
    }

    /// Checks a value; the error lists what does not fit, with paths.
    pub fn check(&self, value: &Json) -> Result<(), String> {
        let mut check = Check::default();
        let ended = check.value(&self.0, value);
        if check.issues.is_empty() {
            return Ok(());
        }
        if ended.is_err() {
            check.issues.push("and more".to_owned());
        }
        Err(check.issues.join("; "))
    }
}

/// Spells keys as a shape has them, where it has a field that the value does not have by that name.
fn spell(shape: &Shape, value: &mut Json) {
    match (shape, value) {
        (Shape::Array(items), Json::Array(values)) => values.iter_mut().for_each(|value| spell(items, value)),
        (Shape::Either(shapes), value) => shapes.iter().for_each(|shape| spell(shape, value)),
        // By the fields of the value: a schema may have far more.
        (Shape::Object { properties, .. }, Json::Object(fields)) => {
            let named = |key: &String| {
                let name = key.replace('-', "_");
                let wanted = name != *key && properties.contains_key(&name) && !fields.contains_key(&name);
                (wanted && !properties.contains_key(key)).then_some((key.clone(), name))
            };
            // Of two keys that would be one field, the second stays as it is: nothing is lost.
            let mut taken = BTreeSet::new();
            let names: BTreeMap<String, String> =
                fields.keys().filter_map(named).filter(|(_, name)| taken.insert(name.clone())).collect();
            if !names.is_empty() {
                let spelt = |(key, value)| (names.get(&key).cloned().unwrap_or(key), value);
                *fields = std::mem::take(fields).into_iter().map(spelt).collect();
            }
            for (name, value) in fields {
                properties.get(name).into_iter().for_each(|shape| spell(shape, value));
            }
        }
        _ => {}
    }
}

fn shape(json: &Json, at: &str, depth: usize) -> Result<Shape, String> {
    let Json::Object(fields) = json else { return Err(format!("{at} must be an object")) };
    if depth > MAX_DEPTH {
        return Err(format!("{at} nests deeper than {MAX_DEPTH} levels"));
    }
    let types = types(fields, at)?;
    let allowed = |key: &str| match key {
        "type" | "enum" => true,
        "items" => types.contains(&"array"),
        "properties" | "required" | "additionalProperties" => types.contains(&"object"),
        _ => NOTES.contains(&key),
    };
    let unknown: Vec<&str> = fields.keys().map(String::as_str).filter(|key| !allowed(key)).take(8).collect();
    match (types.is_empty(), unknown.is_empty()) {
        (true, true) if !fields.contains_key("enum") => return Ok(Shape::Any),
        (true, false) => return Err(format!("{at} needs a type; {}", understood(&unknown))),
        (false, false) => {
            let advice = understood(&unknown);
            let unknown: Vec<&str> = unknown.into_iter().map(|key| super::text::cut(key, 40)).collect();
            return Err(format!("{at} has unsupported JSON Schema key(s): {}; {advice}", unknown.join(", ")));
        }
        _ => {}
    }
    let mut shapes = Vec::with_capacity(types.len());
    for name in types {
        shapes.push(typed(name, fields, at, depth)?);
    }
    let typed = match shapes.len() {
        0 => Shape::Any,
        1 => shapes.swap_remove(0),
        _ => Shape::Either(shapes),
    };
    match fields.get("enum") {
        None => Ok(typed),
        Some(values) => listed(values, &typed, at),
    }
}

/// What may stand in place of keys that are not understood.
fn understood(unknown: &[&str]) -> String {
    let allowed = format!(
        "a schema has type, enum, items (of array), properties, required and additionalProperties (of object), and {}",
        NOTES.join(", ")
    );
    match unknown.iter().any(|key| ["anyOf", "oneOf"].contains(key)) {
        true => format!("use a list of types, such as {{\"type\": [\"string\", \"null\"]}}; {allowed}"),
        false => allowed,
    }
}

/// The types that a schema names; none if it names none.
fn types<'a>(fields: &'a Map<String, Json>, at: &str) -> Result<Vec<&'a str>, String> {
    let named: Option<Vec<&str>> = match fields.get("type") {
        None => return Ok(Vec::new()),
        Some(Json::String(name)) => Some(vec![name]),
        Some(Json::Array(names)) => names.iter().map(Json::as_str).collect(),
        Some(_) => None,
    };
    match named.filter(|names| !names.is_empty() && names.len() <= TYPES.len()) {
        None => Err(format!("{at}.type must be a string or a list of strings")),
        Some(names) if names.iter().all(|name| TYPES.contains(name)) => Ok(names),
        Some(_) => Err(format!("{at}.type must be one of {}", TYPES.join(", "))),
    }
}

fn typed(name: &str, fields: &Map<String, Json>, at: &str, depth: usize) -> Result<Shape, String> {
    Ok(match name {
        "string" => Shape::String,
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        "null" => Shape::Null,
        "array" => Shape::Array(Box::new(match fields.get("items") {
            None => Shape::Any,
            Some(items) => shape(items, &format!("{at}.items"), depth + 1)?,
        })),
        _ => object(fields, at, depth)?,
    })
}

/// One of some values, each of which fits the type.
fn listed(values: &Json, typed: &Shape, at: &str) -> Result<Shape, String> {
    let typed = OutputSchema(typed.clone());
    match values.as_array().filter(|values| (1..=MAX_VALUES).contains(&values.len())) {
        None => Err(format!("{at}.enum must be a list of 1 to {MAX_VALUES} values")),
        Some(values) if values.iter().all(|value| typed.check(value).is_ok()) => {
            Ok(Shape::Enum(values.clone()))
        }
        Some(_) => Err(format!("{at}.enum has a value that is not of its type")),
    }
}

fn object(fields: &Map<String, Json>, at: &str, depth: usize) -> Result<Shape, String> {
    let properties = match fields.get("properties") {
        None => BTreeMap::new(),
        Some(Json::Object(properties)) => properties
            .iter()
            .map(|(name, inner)| {
                let at = format!("{at}.properties.{}", super::text::cut(name, 40));
                Ok((name.clone(), shape(inner, &at, depth + 1)?))
            })
            .collect::<Result<_, String>>()?,
        Some(_) => return Err(format!("{at}.properties must be an object")),
    };
    let required = match fields.get("required") {
        None => Vec::new(),
        Some(Json::Array(names)) => names
            .iter()
            .map(|name| match name.as_str() {
                Some(name) if properties.contains_key(name) => Ok(name.to_owned()),
                Some(name) => Err(format!(
                    "{at}.required names `{}`, which is not declared",
                    super::text::cut(name, 40)
                )),
                None => Err(format!("{at}.required must be a list of strings")),
            })
            .collect::<Result<_, String>>()?,
        Some(_) => return Err(format!("{at}.required must be a list of strings")),
    };
    let rest = match fields.get("additionalProperties") {
        None | Some(Json::Bool(true)) => Some(Shape::Any),
        Some(Json::Bool(false)) => None,
        Some(rest) => Some(shape(rest, &format!("{at}.additionalProperties"), depth + 1)?),
    };
    Ok(Shape::Object { properties, required, rest: rest.map(Box::new) })
}

/// A check under way.
#[derive(Default)]
struct Check<'v> {
    /// Where it is. It becomes text for what does not fit.
    path: Vec<Step<'v>>,
    issues: Vec<String>,
}

enum Step<'v> {
    Field(&'v str),
    Item(usize),
}

/// There are more mismatches than are listed.
struct Enough;

impl<'v> Check<'v> {
    /// Checks a value. Recurses as deep as the schema does.
    fn value(&mut self, shape: &'v Shape, value: &'v Json) -> Result<(), Enough> {
        let fits = match (shape, value) {
            (Shape::Any, _) => true,
            (Shape::Array(item), Json::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.part(Step::Item(index), item, value)?;
                }
                true
            }
            // At most one of the types is that of the value, so what is wrong inside of it is told.
            (Shape::Either(shapes), _) => match shapes.iter().find(|shape| is_of(shape, value)) {
                Some(shape) => return self.value(shape, value),
                None => false,
            },
            (Shape::Enum(values), _) => values.contains(value),
            (Shape::Object { properties, required, rest }, Json::Object(fields)) => {
                for name in required.iter().filter(|name| !fields.contains_key(*name)) {
                    self.issue(Some(name), "is required")?;
                }
                for (name, value) in fields {
                    match properties.get(name).or(rest.as_deref()) {
                        Some(inner) => self.part(Step::Field(name), inner, value)?,
                        None => self.issue(Some(name), "is not declared")?,
                    }
                }
                true
            }
            _ => is_of(shape, value),
        };
        match fits {
            true => Ok(()),
            false => {
                let got = super::text::json_type(value);
                let why = if is_large(shape, value) { TOO_LARGE } else { "" };
                self.issue(None, format_args!("expected {}, got {got}{why}", name(shape)))
            }
        }
    }

    fn part(&mut self, step: Step<'v>, shape: &'v Shape, value: &'v Json) -> Result<(), Enough> {
        self.path.push(step);
        self.value(shape, value)?;
        self.path.pop();
        Ok(())
    }

    /// Lists what does not fit here, or in a field of this.
    fn issue(&mut self, field: Option<&str>, what: impl fmt::Display) -> Result<(), Enough> {
        if self.issues.len() == MAX_ISSUES {
            return Err(Enough);
        }
        let mut at = "return".to_owned();
        for step in self.path.iter().chain(field.map(Step::Field).as_ref()) {
            match step {
                Step::Field(name) => at.extend([".", super::text::cut(name, NAME_CHARS)]),
                Step::Item(index) => at.push_str(&format!("[{index}]")),
            }
        }
        self.issues.push(format!("{at}: {what}"));
        Ok(())
    }
}

/// Why a large integer is no number.
const TOO_LARGE: &str =
    " (an integer beyond 64 bits is a text in JSON: ask for a string, or give a smaller number)";

/// Whether a value is a text only because it is too large for the number that is wanted.
fn is_large(shape: &Shape, value: &Json) -> bool {
    let numeric = |shape: &Shape| matches!(shape, Shape::Integer | Shape::Number);
    let wanted = match shape {
        Shape::Either(shapes) => shapes.iter().any(numeric),
        shape => numeric(shape),
    };
    let digits = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    wanted && value.as_str().is_some_and(|text| digits(text) && text.parse::<i64>().is_err())
}

/// Whether a value is of a type, whatever is in it.
fn is_of(shape: &Shape, value: &Json) -> bool {
    match (shape, value) {
        (Shape::Any, _) | (Shape::Null, Json::Null) => true,
        (Shape::String, Json::String(_)) | (Shape::Boolean, Json::Bool(_)) => true,
        (Shape::Array(_), Json::Array(_)) | (Shape::Object { .. }, Json::Object(_)) => true,
        (Shape::Number, Json::Number(_)) => true,
        (Shape::Integer, Json::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        _ => false,
    }
}

fn name(shape: &Shape) -> String {
    match shape {
        Shape::Any => "anything".to_owned(),
        Shape::String => "string".to_owned(),
        Shape::Integer => "integer".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Array(_) => "array".to_owned(),
        Shape::Object { .. } => "object".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(name).collect::<Vec<_>>().join(" or "),
        Shape::Enum(values) => {
            const SHOWN: usize = 10;
            let shown: Vec<String> = values
                .iter()
                .take(SHOWN)
                .map(|value| super::text::cut(&value.to_string(), 40).to_owned())
                .collect();
            let more = if values.len() > SHOWN { ", …" } else { "" };
            format!("one of {}{more}", shown.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r2_1_5_only_the_subset_is_understood() {
        const ALLOWED: &str = "; a schema has type, enum, items (of array), properties, required and additionalProperties (of \
                               object), and title, description, default, examples, $schema";
        let list = "; use a list of types, such as {\"type\": [\"string\", \"null\"]}";
        for (schema, expected) in [
            (json!(5), "output_schema must be an object"),
            (
                json!({"type": "date"}),
                "output_schema.type must be one of string, integer, number, boolean, null, array, object",
            ),
            (json!({"type": 5}), "output_schema.type must be a string or a list of strings"),
            (json!({"type": []}), "output_schema.type must be a string or a list of strings"),
            (json!({"$ref": "#/x"}), "output_schema needs a type"),
            (
                json!({"type": "integer", "anyOf": [{"type": "null"}]}),
                "output_schema has unsupported JSON Schema key(s): anyOf",
            ),
            (
                json!({"type": "string", "format": "date"}),
                "output_schema has unsupported JSON Schema key(s): format",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string", "oneOf": []}}}),
                "output_schema.properties.a has unsupported JSON Schema key(s): oneOf",
            ),
            (
                json!({"type": "object", "required": ["a"]}),
                "output_schema.required names `a`, which is not declared",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "x"}}),
                "output_schema.additionalProperties.type must be one of string, integer, number, boolean, null, array, object",
            ),
            (
                json!({"type": "string", "items": {}}),
                "output_schema has unsupported JSON Schema key(s): items",
            ),
            (
                json!({"type": "string", "enum": [1]}),
                "output_schema.enum has a value that is not of its type",
            ),
            (json!({"enum": []}), "output_schema.enum must be a list of 1 to 200 values"),
        ] {
            let error = OutputSchema::parse(&schema).expect_err("it is outside");
            assert_eq!(error.replace(ALLOWED, "").replace(list, ""), expected, "{schema}");
            assert_eq!(error.contains(list), expected.contains("Of"), "{schema}: {error}");
        }
    }

    #[test]
    fn r2_3_3_mismatches_say_where_they_are() {
        let schema = json!({"type": "object", "required": ["n", "rows"], "additionalProperties": false,
            "properties": {"n": {"type": "integer"}, "rows": {"type": "array", "items": {"type": "string"}},
                           "any": {"description": "whatever"}}});
        let schema = OutputSchema::parse(&schema).expect("it is inside");
        let check = |value: Json| schema.check(&value);
        assert_eq!(check(json!({"n": 3, "rows": ["a"], "any": null})), Ok(()));
        assert_eq!(check(json!({"n": 3.0, "rows": []})), Ok(()));
        assert_eq!(
            check(json!({"n": 1.5, "rows": ["a", 2], "x": 1})),
            Err("return.n: expected integer, got number; return.rows[1]: expected string, got number; \
                 return.x: is not declared"
                .to_owned())
        );
        assert_eq!(check(json!({"rows": []})), Err("return.n: is required".to_owned()));
        assert_eq!(check(json!([])), Err("return: expected object, got array".to_owned()));
        let many: Vec<Json> = (0..50).map(|_| json!(1)).collect();
        let text = check(json!({"n": 1, "rows": many})).expect_err("it does not fit");
        assert!(text.ends_with("; return.rows[7]: expected string, got number; and more"), "{text}");
        assert!(!check(json!({"n": 1, "rows": vec![1; 8]})).expect_err("it does not fit").contains("more"));
    }

    #[test]
    fn maps_of_counts_values_by_name_and_null_can_be_asked_for() {
        let check =
            |schema: Json, value: Json| OutputSchema::parse(&schema).expect("it is inside").check(&value);
        let counts =
            json!({"type": "object", "additionalProperties": {"type": "integer"}, "title": "Counts"});
        assert_eq!(check(counts.clone(), json!({"2026-01": 3, "a b": 0})), Ok(()));
        assert_eq!(
            check(counts, json!({"a": 1.5})),
            Err("return.a: expected integer, got number".to_owned())
        );
        let maybe = json!({"type": ["array", "null"], "items": {"enum": ["low", "high", null]}});
        for fits in [json!(null), json!([]), json!(["low", null])] {
            assert_eq!(check(maybe.clone(), fits), Ok(()));
        }
        let wrong = check(maybe.clone(), json!(["low", "mid"]));
        assert_eq!(wrong, Err("return[1]: expected one of \"low\", \"high\", null, got string".to_owned()));
        assert_eq!(check(maybe, json!(5)), Err("return: expected array or null, got number".to_owned()));
        let large = check(json!({"type": "integer"}), json!("123456789012345678901234"));
        assert_eq!(large, Err(format!("return: expected integer, got string{TOO_LARGE}")));
        assert_eq!(
            check(json!({"type": "integer"}), json!("12")),
            Err("return: expected integer, got string".to_owned())
        );
        let either = json!({"type": ["number", "string"]});
        assert_eq!(check(either.clone(), json!("n/a")), Ok(()));
        assert_eq!(check(either, json!(1.5)), Ok(()));
    }

    #[test]
    fn keys_are_spelt_as_the_schema_has_them() {
        let row = json!({"type": "object", "properties": {"total_amount": {"type": "number"}, "a-b": {}}});
        let schema =
            OutputSchema::parse(&json!({"type": ["array", "null"], "items": row})).expect("it is inside");
        for (value, expected) in [
            (json!([{"total-amount": 3}]), json!([{"total_amount": 3}])),
            (
                json!([{"total-amount": 3, "total_amount": 4}]),
                json!([{"total-amount": 3, "total_amount": 4}]),
            ),
            (json!([{"a-b": 1, "x-y": 2}]), json!([{"a-b": 1, "x-y": 2}])),
            (json!(null), json!(null)),
        ] {
            assert_eq!(schema.spelt(value), expected);
        }
    }

    #[test]
    fn what_does_not_fit_costs_no_more_than_what_does() {
        let names: Vec<String> = (0..20_000).map(|n| format!("k{n}")).collect();
        let properties: Map<String, Json> = names.iter().map(|name| (name.clone(), json!({}))).collect();
        let object = json!({"type": "object", "properties": properties, "required": names});
        let schema = OutputSchema::parse(&json!({"type": "array", "items": object})).expect("it is inside");
        // A billion fields are missing; each of them would be a text.
        let text = schema.check(&json!(vec![json!({}); 50_000])).expect_err("it does not fit");
        assert!(text.starts_with("return[0].k0: is required; "), "{text}");
        assert!(text.len() < 1_000, "{text}");
    }
}
