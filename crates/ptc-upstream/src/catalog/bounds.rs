//! What a schema says of a value beside its type, in words.

use serde_json::{Map, Value as Json};

/// The most characters of a pattern.
const PATTERN: usize = 200;

/// A pattern as programs write it.
pub fn like(pattern: &str) -> String {
    format!("#\"{}\"", super::one_line(pattern, PATTERN))
}

/// The bounds of a number, of a text, of a list or of a map, the step of numbers, the pattern and the format of texts.
pub fn bounds(fields: &Map<String, Json>) -> Vec<String> {
    let mut told: Vec<String> = range(fields).into_iter().collect();
    let step = fields.get("multipleOf").filter(|step| step.is_number());
    told.extend(step.map(|step| format!("a multiple of {step}")));
    let pattern = fields.get("pattern").and_then(Json::as_str).filter(|pattern| !pattern.is_empty());
    told.extend(pattern.map(|pattern| format!("matches {}", like(pattern))));
    told.extend(fields.get("propertyNames").and_then(Json::as_object).into_iter().flat_map(names));
    let unlike = fields.get("uniqueItems") == Some(&Json::Bool(true));
    told.extend(unlike.then(|| "no item twice".to_owned()));
    let format = fields.get("format").and_then(Json::as_str).filter(|format| !format.is_empty());
    told.extend(format.map(|format| format!("format {}", super::one_line(format, PATTERN))));
    let text = |key: &str| fields.get(key).and_then(Json::as_str).map(|text| super::one_line(text, PATTERN));
    told.extend(text("contentEncoding").map(|encoding| format!("encoded as {encoding}")));
    told.extend(text("contentMediaType").map(|media| format!("content of type {media}")));
    told
}

/// What a schema says of the keys of a map.
fn names(fields: &Map<String, Json>) -> Vec<String> {
    let allowed = fields.get("enum").and_then(Json::as_array);
    let allowed = allowed.map(|allowed| format!("keys are of {}", super::types::allowed(allowed, ", ")));
    let own = bounds(fields).into_iter().map(|told| match told.strip_prefix("matches ") {
        Some(pattern) => format!("keys match {pattern}"),
        None => format!("keys: {told}"),
    });
    allowed.into_iter().chain(own).collect()
}

fn range(fields: &Map<String, Json>) -> Option<String> {
    let number = |key: &str| fields.get(key).filter(|bound| bound.is_number());
    let least = bound(fields, "minimum", "exclusiveMinimum", |own, other| own > other);
    let most = bound(fields, "maximum", "exclusiveMaximum", |own, other| own < other);
    if least.is_some() || most.is_some() {
        return Some(between(least, most, ""));
    }
    for (least, most, unit) in [
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " items"),
        ("minProperties", "maxProperties", " keys"),
    ] {
        let (least, most) = (number(least), number(most));
        if least.is_some() || most.is_some() {
            let inclusive = |bound: &Json| (bound.clone(), false);
            return Some(between(least.map(inclusive), most.map(inclusive), unit));
        }
    }
    None
}

/// A bound of a number, and whether it is excluded itself. Older schemas say that with a flag beside the bound.
fn bound(
    fields: &Map<String, Json>,
    inclusive: &str,
    exclusive: &str,
    stricter: fn(f64, f64) -> bool,
) -> Option<(Json, bool)> {
    let number = |key: &str| fields.get(key).filter(|bound| bound.is_number());
    match (number(inclusive), number(exclusive)) {
        (Some(own), Some(other)) => {
            let own_counts = stricter(own.as_f64()?, other.as_f64()?);
            Some(if own_counts { (own.clone(), false) } else { (other.clone(), true) })
        }
        (Some(own), None) => Some((own.clone(), fields.get(exclusive) == Some(&Json::Bool(true)))),
        (None, Some(other)) => Some((other.clone(), true)),
        (None, None) => None,
    }
}

fn between(least: Option<(Json, bool)>, most: Option<(Json, bool)>, unit: &str) -> String {
    if let (Some((least, false)), Some((most, false))) = (&least, &most) {
        return format!("{least} to {most}{unit}");
    }
    let least =
        least.map(|(bound, out)| format!("{} {bound}{unit}", if out { "more than" } else { "at least" }));
    let most =
        most.map(|(bound, out)| format!("{} {bound}{unit}", if out { "less than" } else { "at most" }));
    least.into_iter().chain(most).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bounds_are_told_as_they_hold() {
        for (schema, told) in [
            (json!({"minimum": 1, "maximum": 100}), "1 to 100"),
            (json!({"exclusiveMinimum": 0}), "more than 0"),
            (json!({"minimum": 0, "exclusiveMaximum": 1}), "at least 0 and less than 1"),
            (json!({"minimum": 5, "exclusiveMinimum": 2}), "at least 5"),
            (json!({"minimum": 0, "exclusiveMinimum": true, "maximum": 9}), "more than 0 and at most 9"),
            (json!({"multipleOf": 5, "maximum": 20}), "at most 20; a multiple of 5"),
            (json!({"minLength": 1, "pattern": "^\\d+\n$"}), "at least 1 characters; matches #\"^\\d+ $\""),
            (json!({"maxItems": 3, "uniqueItems": true}), "at most 3 items; no item twice"),
            (json!({"minProperties": 2}), "at least 2 keys"),
            (json!({"propertyNames": {"pattern": "^x-"}}), "keys match #\"^x-\""),
            (
                json!({"propertyNames": {"enum": ["a", "b"], "maxLength": 4}}),
                "keys are of \"a\", \"b\"; keys: at most 4 characters",
            ),
            (
                json!({"contentEncoding": "base64", "contentMediaType": "image/png"}),
                "encoded as base64; content of type image/png",
            ),
            (json!({"type": "string", "format": "date"}), "format date"),
            (json!({"type": "string", "minimum": "1"}), ""),
        ] {
            assert_eq!(bounds(schema.as_object().expect("an object")).join("; "), told, "{schema}");
        }
    }
}
