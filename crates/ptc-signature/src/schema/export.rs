//! Types as JSON Schema, for tool definitions and structured output.

use serde_json::{Map, Value, json};

use super::numbers;
use crate::signature::Signature;
use crate::types::{Literal, MapOf, Record, Type};

impl Signature {
    /// The parameters as the schema of one object, as providers want the arguments of a tool described.
    pub fn input_schema(&self) -> Value {
        record(&self.input)
    }

    /// The result as a schema. A list is wrapped in an object with the single field `items`, since providers
    /// only take objects at the top; [`Signature::unwrap_output`] undoes that.
    pub fn output_schema(&self) -> Value {
        let schema = self.output.to_json_schema();
        match self.output {
            Type::List(_) => json!({
                "type": "object",
                "properties": {"items": schema},
                "required": ["items"],
                "additionalProperties": false,
            }),
            _ => schema,
        }
    }

    /// A structured answer to [`Signature::output_schema`] as a value of the result type.
    pub fn unwrap_output(&self, answer: Value) -> Value {
        match (&self.output, answer) {
            (Type::List(_), Value::Object(mut map)) if map.len() == 1 && map.contains_key("items") => {
                map.remove("items").unwrap_or_default()
            }
            (_, other) => other,
        }
    }
}

impl Type {
    /// The type as a JSON Schema (draft 2020-12). Maps with named fields forbid others there, so that a model
    /// does not invent any.
    pub fn to_json_schema(&self) -> Value {
        match self {
            Type::Any => json!({}),
            Type::Nil => json!({"type": "null"}),
            Type::Bool => json!({"type": "boolean"}),
            Type::Keyword => json!({"type": "string"}),
            Type::DateTime => json!({"type": "string", "format": "date-time"}),
            Type::Map => json!({"type": "object"}),
            Type::String(range) => typed("string", |schema| numbers::write_lengths(range, schema)),
            Type::Int(range) => typed("integer", |schema| numbers::write_limits(range, schema)),
            Type::Float(range) => typed("number", |schema| numbers::write_limits(range, schema)),
            Type::Enum(literals) => enumeration(literals),
            Type::List(item) => json!({"type": "array", "items": item.to_json_schema()}),
            Type::Record(fields) => record(fields),
            Type::MapOf(map) => map_of(map),
            Type::Union(members) => {
                json!({"anyOf": members.iter().map(Type::to_json_schema).collect::<Vec<_>>()})
            }
            Type::Optional(inner) => nullable(inner.to_json_schema()),
        }
    }
}

fn typed(name: &str, limits: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!(name));
    limits(&mut schema);
    Value::Object(schema)
}

fn record(record: &Record) -> Value {
    let mut properties = Map::new();
    for field in &record.fields {
        // A field that may be absent needs no null: leaving it out says the same.
        let mut schema = field.ty.required().to_json_schema();
        if let (Some(text), Some(object)) = (&field.description, schema.as_object_mut()) {
            object.insert("description".to_owned(), json!(text));
        }
        properties.insert(field.name.clone(), schema);
    }
    let required: Vec<&str> = record
        .fields
        .iter()
        .filter(|field| !field.ty.is_optional())
        .map(|field| field.name.as_str())
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn map_of(map: &MapOf) -> Value {
    let mut schema = json!({"type": "object", "additionalProperties": map.value.to_json_schema()});
    let names = match &map.key {
        Type::Int(_) => Some(json!({"pattern": "^-?[0-9]+$"})),
        Type::Enum(literals) => {
            let text = |literal: &Literal| match literal {
                Literal::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some(json!({"enum": literals.iter().map(text).collect::<Vec<_>>()}))
        }
        _ => None,
    };
    if let (Some(names), Some(object)) = (names, schema.as_object_mut()) {
        object.insert("propertyNames".to_owned(), names);
    }
    schema
}

fn enumeration(literals: &[Literal]) -> Value {
    let values: Vec<Value> = literals.iter().map(literal).collect();
    let common = match literals {
        all if all.iter().all(|l| matches!(l, Literal::String(_))) => Some("string"),
        all if all.iter().all(|l| matches!(l, Literal::Int(_))) => Some("integer"),
        all if all.iter().all(|l| matches!(l, Literal::Bool(_))) => Some("boolean"),
        _ => None,
    };
    match common {
        Some(name) => json!({"type": name, "enum": values}),
        None => json!({"enum": values}),
    }
}

fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::String(text) => json!(text),
        Literal::Int(i) => numbers::to_json(crate::types::Number::Int(*i)),
        Literal::Float(f) => json!(f),
        Literal::Bool(b) => json!(b),
    }
}

/// The schema, or null.
fn nullable(mut schema: Value) -> Value {
    let simple = schema.get("type").and_then(Value::as_str).map(str::to_owned);
    match simple {
        Some(name) if schema.get("enum").is_none() => {
            schema["type"] = json!([name, "null"]);
            schema
        }
        _ if schema == json!({}) => schema,
        _ => json!({"anyOf": [schema, {"type": "null"}]}),
    }
}
