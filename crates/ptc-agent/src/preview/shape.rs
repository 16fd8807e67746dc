//! The shape of a result: counts, types and names of fields, but nothing of its content.

use ptc_signature::{FIREWALLED, is_firewalled};
use serde_json::{Map, Value as Json, json};

/// How many fields a shape lists.
const MAX_FIELDS: usize = 20;
/// How many rows are looked at to say what all rows are like.
const WINDOW: usize = 5;

/// The shape of a result.
pub(super) struct Shape {
    /// `result_count`, `schema` and `sample_keys`, as far as they apply.
    pub(super) fields: Map<String, Json>,
    /// Whether fields were left out.
    pub(super) truncated: bool,
}

/// The shape of a result. With the firewall on, the types of hidden fields are hidden too.
pub(super) fn shape(result: &Json, firewall: bool) -> Shape {
    match result {
        Json::Array(items) => list(items, firewall),
        Json::Object(fields) => {
            let record = Record::of(&[fields], firewall);
            let mut shape = Map::new();
            shape.insert("schema".to_owned(), record.schema);
            shape.insert("sample_keys".to_owned(), record.keys);
            Shape { fields: shape, truncated: record.truncated }
        }
        scalar => plain([("schema".to_owned(), json!({"type": type_name(scalar)}))]),
    }
}

fn plain<const N: usize>(fields: [(String, Json); N]) -> Shape {
    Shape { fields: fields.into_iter().collect(), truncated: false }
}

fn list(items: &[Json], firewall: bool) -> Shape {
    let mut fields = Map::new();
    fields.insert("result_count".to_owned(), json!(items.len()));
    let window = &items[..items.len().min(WINDOW)];
    let rows: Option<Vec<&Map<String, Json>>> = window.iter().map(Json::as_object).collect();
    let (schema, keys, truncated) = match rows {
        _ if items.is_empty() => (json!({}), None, false),
        Some(rows) if same_keys(&rows) => {
            let record = Record::of(&rows, firewall);
            (record.schema, Some(record.keys), record.truncated)
        }
        Some(_) => (json!({"type": "object"}), None, false),
        None => (json!({"type": common_type(window)}), None, false),
    };
    fields.insert("schema".to_owned(), json!({"type": "array", "items": schema}));
    fields.extend(keys.map(|keys| ("sample_keys".to_owned(), keys)));
    Shape { fields, truncated }
}

fn same_keys(rows: &[&Map<String, Json>]) -> bool {
    let Some((first, others)) = rows.split_first() else { return true };
    others.iter().all(|row| row.len() == first.len() && first.keys().all(|key| row.contains_key(key)))
}

/// The fields that all rows have.
struct Record {
    schema: Json,
    keys: Json,
    truncated: bool,
}

impl Record {
    fn of(rows: &[&Map<String, Json>], firewall: bool) -> Record {
        let mut names: Vec<&String> = rows.first().map_or_else(Vec::new, |row| row.keys().collect());
        names.sort();
        let truncated = names.len() > MAX_FIELDS;
        names.truncate(MAX_FIELDS);
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        if !names.is_empty() {
            let properties: Map<String, Json> =
                names.iter().map(|name| ((*name).clone(), json!(field_type(rows, name, firewall)))).collect();
            schema.insert("properties".to_owned(), Json::Object(properties));
        }
        if truncated {
            schema.insert("truncated".to_owned(), json!(true));
        }
        Record { schema: Json::Object(schema), keys: json!(names), truncated }
    }
}

/// The type of a field: that of the first row where it is not null.
fn field_type(rows: &[&Map<String, Json>], name: &str, firewall: bool) -> &'static str {
    if firewall && is_firewalled(name) {
        return FIREWALLED;
    }
    let mut values = rows.iter().filter_map(|row| row.get(name));
    values.find(|value| !value.is_null()).map_or("null", type_name)
}

/// The one type of all values, or `any`.
fn common_type(values: &[Json]) -> &'static str {
    let mut types = values.iter().map(type_name);
    let first = types.next().unwrap_or("any");
    types.fold(first, |common, next| match (common, next) {
        (common, next) if common == next => common,
        ("integer" | "number", "integer" | "number") => "number",
        _ => "any",
    })
}

/// The name of a value's type.
fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.is_f64() => "number",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(result: Json) -> Json {
        Json::Object(shape(&result, true).fields)
    }

    #[test]
    fn r6_23_shapes_of_results() {
        for (result, expected) in [
            (
                json!([{"msg": "a", "id": 1}, {"id": 2, "msg": "b"}]),
                json!({
                    "result_count": 2,
                    "schema": {"type": "array", "items": {
                        "type": "object", "properties": {"id": "integer", "msg": "string"}
                    }},
                    "sample_keys": ["id", "msg"],
                }),
            ),
            (
                json!([{"a": 1}, {"b": 1}]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "object"}}}),
            ),
            (json!([]), json!({"result_count": 0, "schema": {"type": "array", "items": {}}})),
            (
                json!([1, 2]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "integer"}}}),
            ),
            (
                json!([1, "x"]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "any"}}}),
            ),
            (
                json!([1, 2.5]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "number"}}}),
            ),
            (
                json!([[1], []]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "array"}}}),
            ),
            (
                json!({"n": 1, "list": []}),
                json!({
                    "schema": {"type": "object", "properties": {"list": "array", "n": "integer"}},
                    "sample_keys": ["list", "n"],
                }),
            ),
            (json!({}), json!({"schema": {"type": "object"}, "sample_keys": []})),
            (json!("text"), json!({"schema": {"type": "string"}})),
            (json!(null), json!({"schema": {"type": "null"}})),
        ] {
            assert_eq!(of(result.clone()), expected, "{result}");
        }
    }

    #[test]
    fn r6_23_keys_are_compared_over_the_first_five_rows() {
        let row = json!({"a": 1});
        let odd = json!({"b": 1});
        let late = of(json!([row, row, row, row, row, odd]));
        assert_eq!(late["sample_keys"], json!(["a"]));
        let early = of(json!([row, row, row, row, odd]));
        assert_eq!(early.get("sample_keys"), None);
    }

    #[test]
    fn r6_23_many_fields_are_cut_and_that_is_said() {
        let row: Map<String, Json> = (0..30).map(|n| (format!("k{n:02}"), json!(n))).collect();
        let shape = shape(&json!([row]), true);
        assert!(shape.truncated);
        let items = &shape.fields["schema"]["items"];
        assert_eq!(items["properties"].as_object().unwrap().len(), 20);
        assert_eq!(items["truncated"], true);
        assert_eq!(shape.fields["sample_keys"].as_array().unwrap().len(), 20);
        assert_eq!(shape.fields["sample_keys"][19], "k19");
    }

    #[test]
    fn r6_24_r6_27_names_of_types() {
        let row = json!({"b": false, "f": 1.0, "i": 1, "n": null, "o": {}, "s": "", "l": []});
        let properties = of(json!([row]))["schema"]["items"]["properties"].clone();
        let expected = json!({
            "b": "boolean", "f": "number", "i": "integer", "l": "array", "n": "null", "o": "object", "s": "string"
        });
        assert_eq!(properties, expected);
    }

    #[test]
    fn a_field_that_is_null_at_first_has_the_type_of_a_later_row() {
        let properties = of(json!([{"a": null}, {"a": 2}]))["schema"]["items"]["properties"].clone();
        assert_eq!(properties, json!({"a": "integer"}));
    }

    #[test]
    fn the_type_of_a_hidden_field_is_hidden() {
        let result = json!([{"_ids": [1], "n": 1}]);
        let properties = |firewall| shape(&result, firewall).fields["schema"]["items"]["properties"].clone();
        assert_eq!(properties(true), json!({"_ids": "<Firewalled>", "n": "integer"}));
        assert_eq!(properties(false), json!({"_ids": "array", "n": "integer"}));
    }
}
