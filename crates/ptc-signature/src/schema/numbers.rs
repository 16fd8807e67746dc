//! Limits of numbers and lengths, between [`Range`] and the keywords of JSON Schema.

use serde_json::{Map, Value, json};

use crate::intersect::whole;
use crate::types::{Bound, Number, Range};

/// A number as JSON; what does not fit 64 bits becomes a float.
pub(super) fn to_json(number: Number) -> Value {
    match number {
        Number::Int(i) => match (i64::try_from(i), u64::try_from(i)) {
            (Ok(small), _) => json!(small),
            (_, Ok(large)) => json!(large),
            _ => json!(i as f64),
        },
        Number::Float(f) => json!(f),
    }
}

fn from_json(value: &Value) -> Option<Number> {
    let number = value.as_number()?;
    number.as_i128().map(Number::Int).or_else(|| number.as_f64().map(Number::Float))
}

/// Writes the limits of a number.
pub(super) fn write_limits(range: &Range, schema: &mut Map<String, Value>) {
    if let Some(min) = range.min {
        let keyword = if min.exclusive { "exclusiveMinimum" } else { "minimum" };
        schema.insert(keyword.to_owned(), to_json(min.value));
    }
    if let Some(max) = range.max {
        let keyword = if max.exclusive { "exclusiveMaximum" } else { "maximum" };
        schema.insert(keyword.to_owned(), to_json(max.value));
    }
}

/// Writes the limits of a length, which are always inclusive there.
pub(super) fn write_lengths(range: &Range, schema: &mut Map<String, Value>) {
    let inclusive = |bound: Bound, step: i128| match bound.value {
        Number::Int(i) if bound.exclusive => to_json(Number::Int(i.saturating_add(step).max(0))),
        Number::Int(i) => to_json(Number::Int(i.max(0))),
        other => to_json(other),
    };
    if let Some(min) = range.min {
        schema.insert("minLength".to_owned(), inclusive(min, 1));
    }
    if let Some(max) = range.max {
        schema.insert("maxLength".to_owned(), inclusive(max, -1));
    }
}

/// Reads the limits of a number. Old drafts mark exclusive limits with `true`.
pub(super) fn read_limits(schema: &Map<String, Value>) -> Range {
    let old_style = |keyword: &str| schema.get(keyword).and_then(Value::as_bool) == Some(true);
    let limit = |keyword: &str| schema.get(keyword).and_then(from_json);
    let mut range = Range::UNBOUNDED;
    if let Some(value) = limit("minimum") {
        range = range.with_min(Bound { value, exclusive: old_style("exclusiveMinimum") });
    }
    if let Some(value) = limit("maximum") {
        range = range.with_max(Bound { value, exclusive: old_style("exclusiveMaximum") });
    }
    if let Some(value) = limit("exclusiveMinimum") {
        range = range.with_min(Bound { value, exclusive: true });
    }
    if let Some(value) = limit("exclusiveMaximum") {
        range = range.with_max(Bound { value, exclusive: true });
    }
    range
}

/// Reads the limits of a number that must be whole; limits beyond all ints are dropped.
pub(super) fn read_whole_limits(schema: &Map<String, Value>) -> Range {
    whole(read_limits(schema)).unwrap_or_default()
}

/// Reads the limits of a length.
pub(super) fn read_lengths(schema: &Map<String, Value>) -> Range {
    let limit = |keyword: &str| schema.get(keyword).and_then(from_json);
    let mut range = Range::UNBOUNDED;
    if let Some(min) = limit("minLength").filter(|min| *min > Number::Int(0)) {
        range = range.at_least(min);
    }
    if let Some(max) = limit("maxLength") {
        range = range.at_most(max);
    }
    whole(range).unwrap_or_default()
}
