//! A small JSON Schema of its own for tests: makes values for a schema and checks values against it,
//! independently of the reader under test. Where it does not understand a keyword it says "not valid", so
//! that only values it is sure of are used.
#![allow(dead_code)]

use serde_json::{Map, Value, json};

/// A small deterministic source of choices.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n.max(1)
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// Schemas and the document their references point into.
pub struct Document<'d>(pub &'d Value);

impl Document<'_> {
    fn target(&self, pointer: &Value) -> &Value {
        let path = pointer.as_str().and_then(|p| p.strip_prefix('#')).expect("a local reference");
        self.0.pointer(path).expect("a reference that leads somewhere")
    }

    /// A value that should be valid; check it with [`Document::accepts`].
    pub fn make(&self, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
        let Some(map) = schema.as_object() else { return json!(7) };
        if let Some(pointer) = map.get("$ref") {
            return self.make(self.target(pointer), dice, depth + 1);
        }
        if map.get("nullable") == Some(&json!(true)) && (dice.below(4) == 0 || depth > 12) {
            return Value::Null;
        }
        if let Some(value) = map.get("const") {
            return value.clone();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            return values[dice.below(values.len())].clone();
        }
        let mut value = self.typed(map, dice, depth);
        if let Some(Value::Array(parts)) = map.get("allOf") {
            parts.iter().for_each(|part| overlay(&mut value, self.make(part, dice, depth + 1)));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = map.get(keyword) {
                let member = &members[dice.below(members.len())];
                overlay(&mut value, self.make(member, dice, depth + 1));
            }
        }
        value
    }

    fn typed(&self, map: &Map<String, Value>, dice: &mut Dice, depth: usize) -> Value {
        let name = match map.get("type") {
            Some(Value::String(name)) => name.as_str(),
            Some(Value::Array(names)) => names[dice.below(names.len())].as_str().unwrap_or("null"),
            _ if implied(map).is_some() => implied(map).unwrap_or_default(),
            _ => return if depth > 6 || dice.coin() { json!({}) } else { json!({"free": [1, "x"]}) },
        };
        match name {
            "string" => self.string(map, dice),
            "integer" => json!(whole(map, dice)),
            "number" if dice.coin() => json!(whole(map, dice)),
            "number" => json!(whole(map, dice) as f64),
            "boolean" => json!(dice.coin()),
            "array" => {
                let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0) as usize;
                let count = if depth > 10 { least } else { least + dice.below(3) };
                let items = map.get("items").unwrap_or(&Value::Bool(true));
                Value::Array((0..count).map(|_| self.make(items, dice, depth + 1)).collect())
            }
            "object" => self.object(map, dice, depth),
            _ => Value::Null,
        }
    }

    fn string(&self, map: &Map<String, Value>, dice: &mut Dice) -> Value {
        let least = map.get("minLength").and_then(Value::as_u64).unwrap_or(0) as usize;
        let most = map.get("maxLength").and_then(Value::as_u64).unwrap_or(least as u64 + 9) as usize;
        let length = least + dice.below(most.saturating_sub(least).min(9) + 1);
        json!("aZ é-_\"5".chars().cycle().skip(dice.below(8)).take(length).collect::<String>())
    }

    fn object(&self, map: &Map<String, Value>, dice: &mut Dice, depth: usize) -> Value {
        let mut out = Map::new();
        let required = strings(map.get("required"));
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let needed = required.contains(&name.as_str());
            if needed || (depth < 8 && dice.coin()) {
                out.insert(name.clone(), self.make(schema, dice, depth + 1));
            }
        }
        for name in required {
            if !out.contains_key(name) {
                out.insert(name.to_owned(), json!(1));
            }
        }
        match map.get("additionalProperties") {
            Some(Value::Bool(false)) => {}
            Some(schema @ Value::Object(_)) if depth < 8 => {
                out.insert("extra-key".to_owned(), self.make(schema, dice, depth + 1));
            }
            _ if dice.coin() => {
                out.insert("extra".to_owned(), json!(["anything"]));
            }
            _ => {}
        }
        Value::Object(out)
    }

    /// Whether the value is valid for sure. Of `oneOf` only "at least one" is asked.
    pub fn accepts(&self, schema: &Value, value: &Value) -> bool {
        let map = match schema {
            Value::Bool(answer) => return *answer,
            Value::Object(map) => map,
            _ => return false,
        };
        if map.get("nullable") == Some(&json!(true)) && value.is_null() {
            return true;
        }
        // A missing type is taken as meant: properties make an object, items a list.
        let meant = map.contains_key("type") || implied(map).is_none_or(|name| is_type(name, value));
        meant && map.iter().all(|(keyword, rule)| self.rule(keyword, rule, map, value))
    }

    fn rule(&self, keyword: &str, rule: &Value, map: &Map<String, Value>, value: &Value) -> bool {
        let all = |f: &dyn Fn(&Value) -> bool| rule.as_array().is_some_and(|rules| rules.iter().all(f));
        let any = |f: &dyn Fn(&Value) -> bool| rule.as_array().is_some_and(|rules| rules.iter().any(f));
        let number = |f: &dyn Fn(f64, f64) -> bool| match (value.as_f64(), rule.as_f64()) {
            (Some(v), Some(r)) => f(v, r),
            (None, _) => true,
            _ => rule.is_boolean(),
        };
        let count = |n: Option<usize>, f: &dyn Fn(usize, usize) -> bool| match (n, rule.as_u64()) {
            (Some(n), Some(r)) => f(n, r as usize),
            _ => true,
        };
        let length = value.as_str().map(|s| s.chars().count());
        match keyword {
            "$ref" => self.accepts(self.target(rule), value),
            "type" => match rule {
                Value::String(name) => is_type(name, value),
                _ => any(&|name| is_type(name.as_str().unwrap_or_default(), value)),
            },
            "const" => rule == value,
            "enum" => any(&|option| option == value),
            "allOf" => all(&|part| self.accepts(part, value)),
            "anyOf" | "oneOf" => any(&|member| self.accepts(member, value)),
            "minimum" => number(&|v, r| v >= r),
            "maximum" => number(&|v, r| v <= r),
            "exclusiveMinimum" => number(&|v, r| v > r),
            "exclusiveMaximum" => number(&|v, r| v < r),
            "minLength" => count(length, &|n, r| n >= r),
            "maxLength" => count(length, &|n, r| n <= r),
            "minItems" => count(value.as_array().map(Vec::len), &|n, r| n >= r),
            "maxItems" => count(value.as_array().map(Vec::len), &|n, r| n <= r),
            "items" => value.as_array().is_none_or(|items| items.iter().all(|item| self.accepts(rule, item))),
            "required" => {
                value.as_object().is_none_or(|o| strings(Some(rule)).iter().all(|name| o.contains_key(*name)))
            }
            "properties" => value.as_object().is_none_or(|o| {
                o.iter().all(|(name, inner)| rule.get(name).is_none_or(|schema| self.accepts(schema, inner)))
            }),
            "additionalProperties" => value.as_object().is_none_or(|o| {
                let known = map.get("properties").and_then(Value::as_object);
                let others = o.iter().filter(|(name, _)| known.is_none_or(|k| !k.contains_key(*name)));
                others.into_iter().all(|(_, inner)| self.accepts(rule, inner))
            }),
            "propertyNames" => {
                value.as_object().is_none_or(|o| o.keys().all(|name| self.accepts(rule, &json!(name))))
            }
            "pattern" | "uniqueItems" | "maxProperties" | "minProperties" | "not" | "if"
            | "patternProperties" => false,
            _ => true,
        }
    }
}

/// The type that the keywords of a schema without `type` are about.
fn implied(map: &Map<String, Value>) -> Option<&'static str> {
    let has = |keywords: [&str; 2]| keywords.iter().any(|keyword| map.contains_key(*keyword));
    match () {
        () if has(["properties", "additionalProperties"]) => Some("object"),
        () if has(["items", "prefixItems"]) => Some("array"),
        () => None,
    }
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// A whole number between the limits, if they leave room.
fn whole(map: &Map<String, Value>, dice: &mut Dice) -> i64 {
    let limit = |names: [&str; 2]| names.iter().find_map(|name| map.get(*name).and_then(Value::as_f64));
    let low = limit(["minimum", "exclusiveMinimum"]).map(|v| v.ceil() as i64);
    let high = limit(["maximum", "exclusiveMaximum"]).map(|v| v.floor() as i64);
    match (low, high) {
        (Some(low), Some(high)) => {
            low.saturating_add(dice.below((high.saturating_sub(low)).clamp(0, 1000) as usize + 1) as i64)
        }
        (Some(low), None) => low.saturating_add(dice.below(1000) as i64),
        (None, Some(high)) => high.saturating_sub(dice.below(1000) as i64),
        (None, None) => dice.below(2000) as i64 - 1000,
    }
}

/// Puts `top` over `base`: maps are joined, anything else replaces it.
fn overlay(base: &mut Value, top: Value) {
    match (base, top) {
        (Value::Object(base), Value::Object(top)) => base.extend(top),
        (base, top) => *base = top,
    }
}
