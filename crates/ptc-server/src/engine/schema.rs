//! The part of JSON Schema that callers may ask results to fit: types, items and properties. What is not
//! understood is refused, so that nobody believes a result was checked when it was not.

use std::collections::BTreeMap;
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
    Array(Box<Shape>),
    Object {
        properties: BTreeMap<String, Shape>,
        required: Vec<String>,
        open: bool,
    },
}

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

fn shape(json: &Json, at: &str, depth: usize) -> Result<Shape, String> {
    let Json::Object(fields) = json else { return Err(format!("{at} must be an object")) };
    if depth > MAX_DEPTH {
        return Err(format!("{at} nests deeper than {MAX_DEPTH} levels"));
    }
    let named = match fields.get("type") {
        None if fields.keys().all(|key| key == "description") => return Ok(Shape::Any),
        None => return Err(format!("{at} needs a type")),
        Some(Json::String(name)) => name.as_str(),
        Some(_) => return Err(format!("{at}.type must be a string")),
    };
    let allowed: &[&str] = match named {
        "array" => &["type", "description", "items"],
        "object" => &["type", "description", "properties", "required", "additionalProperties"],
        _ => &["type", "description"],
    };
    let known = ["string", "integer", "number", "boolean", "array", "object"];
    if !known.contains(&named) {
        return Err(format!("{at}.type must be one of {}", known.join(", ")));
    }
    let unknown: Vec<&str> =
        fields.keys().map(String::as_str).filter(|key| !allowed.contains(key)).take(8).collect();
    if !unknown.is_empty() {
        let unknown: Vec<&str> = unknown.into_iter().map(|key| super::text::cut(key, 40)).collect();
        return Err(format!("{at} has unsupported JSON Schema key(s): {}", unknown.join(", ")));
    }
    Ok(match named {
        "string" => Shape::String,
        "integer" => Shape::Integer,
        "number" => Shape::Number,
        "boolean" => Shape::Boolean,
        "array" => Shape::Array(Box::new(match fields.get("items") {
            None => Shape::Any,
            Some(items) => shape(items, &format!("{at}.items"), depth + 1)?,
        })),
        _ => object(fields, at, depth)?,
    })
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
    let open = match fields.get("additionalProperties") {
        None => true,
        Some(Json::Bool(open)) => *open,
        Some(_) => return Err(format!("{at}.additionalProperties must be a boolean")),
    };
    Ok(Shape::Object { properties, required, open })
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
            (Shape::String, Json::String(_)) | (Shape::Boolean, Json::Bool(_)) => true,
            (Shape::Number, Json::Number(_)) => true,
            (Shape::Integer, Json::Number(number)) => {
                !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
            }
            (Shape::Array(item), Json::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.part(Step::Item(index), item, value)?;
                }
                true
            }
            (Shape::Object { properties, required, open }, Json::Object(fields)) => {
                for name in required.iter().filter(|name| !fields.contains_key(*name)) {
                    self.issue(Some(name), "is required")?;
                }
                for (name, value) in fields {
                    match properties.get(name) {
                        Some(inner) => self.part(Step::Field(name), inner, value)?,
                        None if *open => {}
                        None => self.issue(Some(name), "is not declared")?,
                    }
                }
                true
            }
            _ => false,
        };
        match fits {
            true => Ok(()),
            false => {
                let got = super::text::json_type(value);
                self.issue(None, format_args!("expected {}, got {got}", name(shape)))
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

fn name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Any => "anything",
        Shape::String => "string",
        Shape::Integer => "integer",
        Shape::Number => "number",
        Shape::Boolean => "boolean",
        Shape::Array(_) => "array",
        Shape::Object { .. } => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn r2_1_5_only_the_subset_is_understood() {
        for (schema, expected) in [
            (json!(5), "output_schema must be an object"),
            (
                json!({"type": "null"}),
                "output_schema.type must be one of string, integer, number, boolean, array, object",
            ),
            (json!({"type": ["string", "null"]}), "output_schema.type must be a string"),
            (json!({"$ref": "#/x"}), "output_schema needs a type"),
            (
                json!({"type": "string", "enum": ["a"]}),
                "output_schema has unsupported JSON Schema key(s): enum",
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
                json!({"type": "object", "additionalProperties": {}}),
                "output_schema.additionalProperties must be a boolean",
            ),
        ] {
            assert_eq!(OutputSchema::parse(&schema).expect_err("it is outside"), expected, "{schema}");
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
