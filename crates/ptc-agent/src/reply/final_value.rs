//! The text of a final answer as a value of the declared type.
//!
//! | declared | read as |
//! |---|---|
//! | nothing, `:string`, `:any` | the text itself |
//! | maps and lists | the JSON in the text, its scalars converted as arguments are where it does not fit otherwise; a list also as `{"items": […]}`; of several the only one that fits |
//! | `:keyword`, enums | the word, bare or as a JSON string |
//! | `:datetime` | ISO 8601, bare or as a JSON string; a date alone is its midnight in UTC |
//! | other scalars, optionals, unions | JSON, converted as arguments are |

use ptc_signature::{Coerced, Issue, Mode, Style, Type};
use serde_json::Value as Json;

use super::json::{exact, extract_json};
use super::scalar::scalar;
use super::thoughts::spoken;
use crate::run::names::fields;

/// Why a final answer is not what was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FinalError {
    /// It is not the JSON that was asked for.
    JsonParse(String),
    /// It breaks the type.
    Validation(Vec<Issue>),
}

impl std::fmt::Display for FinalError {
    /// Issues as `path: message`, joined with `; `.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FinalError::JsonParse(message) => f.write_str(message),
            FinalError::Validation(issues) => {
                let lines: Vec<String> = issues.iter().map(Issue::to_string).collect();
                f.write_str(&lines.join("; "))
            }
        }
    }
}

/// Whether answers of this type are the text itself.
pub(crate) fn is_raw_text(ty: &Type) -> bool {
    matches!(ty, Type::Any | Type::String(_))
}

/// Reads a final answer. Warnings say what was converted, or what only [`Mode::WarnOnly`] lets pass.
pub(crate) fn final_value(text: &str, ty: &Type, mode: Mode) -> Result<Coerced<Json>, FinalError> {
    if is_raw_text(ty) {
        return check(ty, Json::String(spoken(text).into_owned()), mode);
    }
    if is_structured(ty) {
        return the_one_meant(ty, extract_json(text).map_err(not_json)?, mode);
    }
    let value = scalar(ty, text).map_err(|_| not_scalar(ty))?;
    if value.is_array() || value.is_object() {
        exact(text).map_err(not_json)?;
    }
    // With validation off there is still a value to give, and it should be of the kind that was asked for.
    let coerced = ty.coerce(&value, if mode == Mode::Disabled { Mode::WarnOnly } else { mode });
    let coerced = coerced.map_err(|rejection| FinalError::Validation(rejection.errors))?;
    Ok(coerced)
}

fn not_json(message: String) -> FinalError {
    FinalError::JsonParse(format!("the answer is not the JSON that was asked for: {message}"))
}

/// The value that is meant of those in an answer: the only one that fits. Several that differ are nobody's to choose from.
fn the_one_meant(ty: &Type, values: Vec<Json>, mode: Mode) -> Result<Coerced<Json>, FinalError> {
    let strictness = if mode == Mode::Strict { Mode::Strict } else { Mode::Enabled };
    let (mut others, mut converted, mut fitting) = (Vec::new(), Vec::new(), Vec::new());
    let mut fault = None;
    for value in values {
        match as_declared(ty, value) {
            Ok(value) => {
                let kept = if ty.validate(&value, strictness).is_ok() {
                    &mut fitting
                } else if ty.convert(&value, strictness).is_ok() {
                    &mut converted
                } else {
                    &mut others
                };
                // A second one that differs says all there is to know.
                if kept.len() < 2 && !kept.contains(&value) {
                    kept.push(value);
                }
            }
            Err(error) => fault = fault.or(Some(error)),
        }
    }
    let only = [fitting, converted, others].into_iter().find(|kept| !kept.is_empty()).unwrap_or_default();
    let differ = only.len() > 1;
    let Some(first) = only.into_iter().next() else {
        return Err(fault.unwrap_or_else(|| not_json("there is none".to_owned())));
    };
    match check(ty, first, mode) {
        Ok(_) if differ => Err(FinalError::JsonParse(format!(
            "the answer has several values of the type {} that differ, and only one can be meant. Answer with that one \
             alone: no example, no value from the way to it",
            ty.render(Style::Prompt)
        ))),
        checked => checked,
    }
}

/// JSON as the type names and writes it.
fn as_declared(ty: &Type, value: Json) -> Result<Json, FinalError> {
    let value = fields(structured(ty, value)?, ty).map_err(not_json)?;
    Ok(to_utc(ty, value, 0))
}

/// What was expected, and how to answer: what a parser of JSON has to say about `$42` helps nobody.
fn not_scalar(ty: &Type) -> FinalError {
    FinalError::JsonParse(format!(
        "expected a value of the type {}, and the answer is other text. Answer with nothing but the value, such as {}: no \
         unit, no sign of a currency or percent, no words",
        ty.render(Style::Prompt),
        ty.sample().unwrap_or_default()
    ))
}

/// Checks an answer. What does not fit as it stands is converted where that makes it fit: models write `"42"` and `42.0`
/// where an integer is wanted.
fn check(ty: &Type, value: Json, mode: Mode) -> Result<Coerced<Json>, FinalError> {
    let strictness = if mode == Mode::Strict { Mode::Strict } else { Mode::Enabled };
    if mode != Mode::Disabled
        && ty.validate(&value, strictness).is_err()
        && let Ok(converted) = ty.convert(&value, strictness)
    {
        return Ok(converted);
    }
    match ty.validate(&value, mode) {
        Ok(warnings) => Ok(Coerced { value, warnings }),
        Err(rejection) => Err(FinalError::Validation(rejection.errors)),
    }
}

/// Whether the answer must be an object or a list.
fn is_structured(ty: &Type) -> bool {
    matches!(ty, Type::List(_) | Type::Record(_) | Type::Map | Type::MapOf(_))
}

/// The JSON as the list or the object that the type wants.
fn structured(ty: &Type, value: Json) -> Result<Json, FinalError> {
    match (matches!(ty, Type::List(_)), value) {
        (true, list @ Json::Array(_)) | (false, list @ Json::Object(_)) => Ok(list),
        (true, Json::Object(mut fields)) => match fields.remove("items") {
            Some(items @ Json::Array(_)) => Ok(items),
            _ => Err(not_json("expected an array, got an object without a list `items`".to_owned())),
        },
        (true, other) => Err(not_json(format!("expected an array, got {}", kind(&other)))),
        (false, other) => Err(not_json(format!("expected an object, got {}", kind(&other)))),
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

/// A date without a time as the midnight in UTC with which it begins: models write dates where a point in time is wanted.
pub(super) fn midnight(text: &str) -> Option<String> {
    let bytes = text.trim().as_bytes();
    let is_date = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_date.then(|| format!("{}T00:00:00Z", text.trim()))
}

/// Points in time brought to UTC, wherever the type has them. Nothing else is converted.
fn to_utc(ty: &Type, value: Json, depth: usize) -> Json {
    if depth > ptc_signature::MAX_DEPTH {
        return value;
    }
    let inner = |ty: &Type, value: Json| to_utc(ty, value, depth + 1);
    match (ty, value) {
        (Type::DateTime, Json::String(text)) => {
            let utc = |value: &Json| ty.coerce(value, Mode::Enabled).ok().map(|coerced| coerced.value);
            let midnight = || midnight(&text).and_then(|text| utc(&text.into()));
            let read = utc(&text.as_str().into()).or_else(midnight);
            read.unwrap_or(Json::String(text))
        }
        (Type::Optional(ty), value) => inner(ty, value),
        (Type::List(ty), Json::Array(items)) => items.into_iter().map(|item| inner(ty, item)).collect(),
        (Type::MapOf(map), Json::Object(fields)) => {
            fields.into_iter().map(|(name, value)| (name, inner(&map.value, value))).collect()
        }
        (Type::Record(record), Json::Object(fields)) => {
            let field = |(name, value): (String, Json)| match record.field(&name) {
                Some(field) => (name, inner(&field.ty, value)),
                None => (name, value),
            };
            fields.into_iter().map(field).collect()
        }
        (_, value) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str, ty: &str) -> Result<Json, String> {
        let ty = Type::parse(ty).unwrap();
        final_value(text, &ty, Mode::Enabled).map(|coerced| coerced.value).map_err(|error| match error {
            FinalError::JsonParse(message) => format!("parse: {message}"),
            invalid => format!("invalid: {invalid}"),
        })
    }

    #[test]
    fn r6_30_r4_11_text_is_the_answer_where_text_is_wanted() {
        for ty in [":string", ":any"] {
            assert_eq!(read(" 42\n", ty), Ok(json!(" 42\n")), "{ty}");
            assert_eq!(read(r#"{"a": 1}"#, ty), Ok(json!(r#"{"a": 1}"#)), "{ty}");
        }
    }

    #[test]
    fn r5_9_r6_30_scalars_are_coerced() {
        for (text, ty, value) in [
            ("42", ":int", json!(42)),
            (" 42\n", ":int", json!(42)),
            ("\"42\"", ":int", json!(42)),
            ("```\n42\n```", ":int", json!(42)),
            ("`42`", ":int", json!(42)),
            ("3", ":float", json!(3.0)),
            ("3.5", ":float", json!(3.5)),
            ("true", ":bool", json!(true)),
            ("\"false\"", ":bool", json!(false)),
            ("null", ":int?", json!(null)),
            ("7", ":int?", json!(7)),
            ("open", ":enum[open closed]", json!("open")),
            ("\"open\"", ":enum[open closed]", json!("open")),
            ("2", ":enum[1 2 3]", json!(2)),
            ("done", ":keyword", json!("done")),
            ("null", ":string?", json!(null)),
            ("some text", ":string?", json!("some text")),
            ("42", ":string?", json!("42")),
            ("12", ":int|:string", json!(12)),
            ("twelve", ":int|:string", json!("twelve")),
        ] {
            assert_eq!(read(text, ty), Ok(value), "{text:?} as {ty}");
        }
    }

    #[test]
    fn r4_11_r7_33_points_in_time_bare_or_quoted() {
        for text in ["2026-01-31T12:00:00Z", "\"2026-01-31T12:00:00Z\"", "2026-01-31T14:00:00+02:00"] {
            assert_eq!(read(text, ":datetime"), Ok(json!("2026-01-31T12:00:00Z")), "{text}");
        }
        for text in ["2024-01-02", "\"2024-01-02\"", "**2024-01-02**", "Answer: 2024-01-02."] {
            for ty in [":datetime", ":datetime?"] {
                assert_eq!(read(text, ty), Ok(json!("2024-01-02T00:00:00Z")), "{text}");
            }
        }
        let rows = read(r#"{"at": ["2024-01-02", "2024-01-02T01:00:00+01:00"]}"#, "{at [:datetime]}");
        assert_eq!(rows, Ok(json!({"at": ["2024-01-02T00:00:00Z", "2024-01-02T00:00:00Z"]})));
        for (text, ty) in [
            ("January 2, 2024", ":datetime"),
            ("2024-13-02", ":datetime"),
            (r#"{"at": "January 2, 2024"}"#, "{at :datetime}"),
        ] {
            let error = read(text, ty).unwrap_err();
            assert!(error.contains("(write it as 2026-01-31T12:00:00Z)"), "{text}: {error}");
        }
        let naive = read("2026-01-31T12:00:00", ":datetime").unwrap_err();
        assert!(naive.starts_with("invalid: ") && naive.contains("add an offset"), "{naive}");
    }

    #[test]
    fn r7_33_points_in_time_within_structures_are_brought_to_utc() {
        let text = r#"{"rows": [{"at": "2026-01-31T14:00:00+02:00", "n": 1}], "extra": true}"#;
        let value = read(text, "{rows [{at :datetime, n :int}]}");
        assert_eq!(value, Ok(json!({"rows": [{"at": "2026-01-31T12:00:00Z", "n": 1}], "extra": true})));
    }

    #[test]
    fn numbers_come_as_people_write_them() {
        for text in ["42.0", "**42**", "Answer: 42", "42.", "$42", "+42"] {
            assert_eq!(read(text, ":int"), Ok(json!(42)), "{text}");
        }
        for (text, number) in [(".5", 0.5), ("$1,842.50", 1842.5), ("\u{2212}2.5", -2.5)] {
            assert_eq!(read(text, ":float"), Ok(json!(number)), "{text}");
        }
    }

    #[test]
    fn r6_30_what_is_no_scalar_of_the_type_is_an_error() {
        for (text, ty, start) in [
            ("It may be 42", ":int", "parse: "),
            ("", ":int", "parse: "),
            ("42.5", ":int", "invalid: root: expected int"),
            ("\"x\"", ":int", "invalid: root: expected int"),
            ("maybe", ":bool", "parse: "),
            ("opened", ":enum[open closed]", "invalid: root: expected one of open, closed"),
        ] {
            let error = read(text, ty).unwrap_err();
            assert!(error.starts_with(start), "{text:?} as {ty}: {error}");
        }
    }

    #[test]
    fn text_around_a_scalar_is_told_in_words_of_answers_not_of_json() {
        for (text, ty, like) in [
            ("42 items", ":int", "such as 42"),
            ("50%", ":float", "such as 2.5"),
            ("January 2, 2025", ":int", "such as 42"),
            ("perhaps", ":bool", "such as true"),
        ] {
            let error = read(text, ty).unwrap_err();
            assert!(
                error.starts_with(&format!("parse: expected a value of the type {ty}, ")),
                "{text}: {error}"
            );
            assert!(error.contains(like) && !error.contains("column"), "{text}: {error}");
        }
    }

    #[test]
    fn r5_6_lists_come_bare_or_as_items() {
        assert_eq!(read("[1, 2]", "[:int]"), Ok(json!([1, 2])));
        assert_eq!(read(r#"{"items": [1, 2]}"#, "[:int]"), Ok(json!([1, 2])));
        for (text, ty) in
            [(r#"{"rows": [1]}"#, "[:int]"), ("[1]", "{a :int}"), ("```json\n42\n```", "{a :int}")]
        {
            let error = read(text, ty).unwrap_err();
            assert!(error.starts_with("parse: "), "{text} as {ty}: {error}");
        }
    }

    #[test]
    fn r5_5_scalars_of_structures_are_converted_where_they_do_not_fit_otherwise() {
        assert_eq!(read(r#"Here: {"total-sum": 3}"#, "{total_sum :int}"), Ok(json!({"total_sum": 3})));
        let ty = Type::parse("{a :int, b [{c :int}]}").unwrap();
        let text = r#"{"a": "3", "b": [{"c": 42.0, "more": "7"}]}"#;
        for mode in [Mode::Enabled, Mode::WarnOnly] {
            let found = final_value(text, &ty, mode).unwrap();
            assert_eq!(found.value, json!({"a": 3, "b": [{"c": 42, "more": "7"}]}), "{mode:?}");
            let places: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
            assert!(
                places.len() == 2 && places[0].starts_with("a: ") && places[1].starts_with("b[0].c: "),
                "{places:?}"
            );
        }
        assert!(final_value(text, &ty, Mode::Strict).is_err(), "a strict contract forbids the other field");
        let error = read(r#"{"a": "x", "b": [{"c": null}]}"#, "{a :int, b [{c :int}]}").unwrap_err();
        assert_eq!(error, r#"invalid: a: expected int, got string "x"; b[0].c: expected int, got nil"#);
        assert_eq!(read("{\"n\": \"x\"} {\"n\": \"42\"}", "{n :int}"), Ok(json!({"n": 42})));
        assert!(read("{\"n\": \"1\"} {\"n\": \"2\"}", "{n :int}").unwrap_err().contains("several values"));
    }

    #[test]
    fn of_several_values_the_only_one_that_fits_is_meant() {
        for (text, ty, value) in [
            ("I saw [3] rows. {\"n\": 42}", "{n :int}", json!({"n": 42})),
            ("Not {\"n\": \"x\"} but {\"n\": 42}", "{n :int}", json!({"n": 42})),
            ("{\"n\": 42}, that is {\"n\": 42}", "{n :int}", json!({"n": 42})),
            ("[1, 2], or {\"items\": [1, 2]}", "[:int]", json!([1, 2])),
            ("The list [\"a\"] and then [1,2]", "[:int]", json!([1, 2])),
        ] {
            assert_eq!(read(text, ty), Ok(value), "{text}");
        }
        for (text, ty) in [
            ("For example {\"n\": 1} is the format. The answer: {\"n\": 42}", "{n :int}"),
            ("```json\n{\"n\": 1}\n```\n```json\n{\"n\": 2}\n```", "{n :int}"),
            ("```json\n{\"n\": 1}\n```\nis the format: {\"n\": 2}", "{n :int}"),
            ("I used {\"n\": 0} first; final {\"n\": 3}", "{n :int}"),
            ("The list [1] and then [1,2]", "[:int]"),
            ("{\"a\": 1} {\"b\": 2}", ":map"),
        ] {
            let error = read(text, ty).unwrap_err();
            assert!(
                error.contains("several values of the type") && error.contains("alone"),
                "{text}: {error}"
            );
        }
        let error = read("{\"n\": \"x\"} {\"n\": \"y\"}", "{n :int}").unwrap_err();
        assert!(error.starts_with("invalid: n: expected int"), "{error}");
        let ty = Type::parse("{n :int}").unwrap();
        assert!(final_value("{\"n\": \"x\"} {\"n\": \"y\"}", &ty, Mode::WarnOnly).is_err());
        let one = final_value("{\"n\": \"x\"} {\"n\": 1}", &ty, Mode::WarnOnly).unwrap();
        assert_eq!(one.value, json!({"n": 1}));
    }

    #[test]
    fn numbers_beyond_64_bits_say_why_they_do_not_fit() {
        for (text, ty) in
            [("\"123456789012345678901234\"", ":int"), (r#"{"n": "123456789012345678901234"}"#, "{n :int}")]
        {
            let error = read(text, ty).unwrap_err();
            assert!(error.contains("beyond 64 bits") && error.contains(":string"), "{text}: {error}");
        }
    }

    #[test]
    fn modes_decide_what_an_issue_leads_to() {
        let ty = Type::parse("{a :int}").unwrap();
        let warned = final_value(r#"{"a": "x"}"#, &ty, Mode::WarnOnly).unwrap();
        assert_eq!((warned.value, warned.warnings.len()), (json!({"a": "x"}), 1));
        assert!(final_value(r#"{"a": 1, "b": 2}"#, &ty, Mode::Strict).is_err());
        assert!(final_value(r#"{"a": "x"}"#, &ty, Mode::Disabled).is_ok());
    }
}
