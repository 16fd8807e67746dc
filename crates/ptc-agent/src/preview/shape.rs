//! The shape of a result: counts, types and names of fields, but nothing of its content.

use serde_json::{Map, Value as Json, json};

use crate::render::Schema;

/// The shape of a result.
pub(super) struct ResultShape {
    /// `result_count`, `schema` and `sample_keys`, as far as they apply.
    pub(super) fields: Map<String, Json>,
    /// Whether fields were left out.
    pub(super) truncated: bool,
    /// Bytes of keys of the result that stand in it.
    pub(super) key_bytes: usize,
}

/// The shape of a result. With the firewall on, the types of hidden fields are hidden too.
pub(super) fn shape(result: &Json, firewall: bool) -> ResultShape {
    let schema = Schema::of(result, firewall);
    let mut fields = Map::new();
    if let Json::Array(items) = result {
        fields.insert("result_count".to_owned(), json!(items.len()));
    }
    fields.insert("schema".to_owned(), schema.json);
    let mut key_bytes = schema.key_bytes;
    if let Some(keys) = schema.keys {
        key_bytes += keys.iter().map(|key| key.len() + 2).sum::<usize>();
        fields.insert("sample_keys".to_owned(), json!(keys));
    }
    ResultShape { fields, truncated: schema.truncated, key_bytes }
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
                json!({
                    "result_count": 2,
                    "schema": {"type": "array", "items": {
                        "type": "object", "properties": {"a": "integer (in 50%)", "b": "integer (in 50%)"}
                    }},
                    "sample_keys": ["a", "b"],
                }),
            ),
            (json!([]), json!({"result_count": 0, "schema": {"type": "array", "items": {}}})),
            (
                json!([1, 2]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "integer"}}}),
            ),
            (
                json!([1, "x"]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "integer or string"}}}),
            ),
            (
                json!([1, 2.5]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "number"}}}),
            ),
            (
                json!([[1], []]),
                json!({"result_count": 2, "schema": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}}),
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
    fn r6_23_keys_of_all_rows_are_told() {
        let row = json!({"a": 1});
        let mut rows = vec![row; 2_000];
        rows.push(json!({"b": {"c": 1}}));
        let shape = of(json!(rows));
        assert_eq!(shape["sample_keys"], json!(["a", "b"]));
        let properties = &shape["schema"]["items"]["properties"];
        assert_eq!(properties["a"], "integer (in 99%)");
        assert_eq!(properties["b"], json!({"type": "object", "properties": {"c": "integer"}}));
    }

    #[test]
    fn r6_23_many_fields_are_cut_and_that_is_said() {
        let row: Map<String, Json> = (0..130).map(|n| (format!("k{n:03}"), json!(n))).collect();
        let shape = shape(&json!([row]), true);
        assert!(shape.truncated);
        let items = &shape.fields["schema"]["items"];
        assert_eq!(items["properties"].as_object().unwrap().len(), 100);
        assert_eq!(items["truncated"], true);
        assert_eq!(shape.fields["sample_keys"].as_array().unwrap().len(), 100);
        assert_eq!(shape.fields["sample_keys"][99], "k099");
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
        assert_eq!(properties(false), json!({"_ids": "array of integer", "n": "integer"}));
    }
}
