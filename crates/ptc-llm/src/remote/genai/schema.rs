//! JSON Schemas as providers want them where they hold a model to one: genai knows their dialects.

use ::genai::chat::{JsonSchemaDialect, sanitize_json_schema};
use serde_json::{Value as Json, json};

use crate::remote::draft::WRAPPED;

/// The schema for OpenAI, and whether it had to be wrapped.
pub(in crate::remote) fn for_openai(schema: &Json) -> (Json, bool) {
    let (schema, wrapped) = object(schema);
    (sanitize_json_schema(&schema, JsonSchemaDialect::OpenAiStrict), wrapped)
}

/// The schema for Anthropic, and whether it had to be wrapped.
pub(in crate::remote) fn for_anthropic(schema: &Json) -> (Json, bool) {
    let (schema, wrapped) = object(schema);
    (sanitize_json_schema(&schema, JsonSchemaDialect::AnthropicStructured), wrapped)
}

/// The schema of an object: what is none stands in a field of one, because providers take nothing else.
pub(in crate::remote) fn object(schema: &Json) -> (Json, bool) {
    if schema.get("type").and_then(Json::as_str) == Some("object") {
        return (schema.clone(), false);
    }
    let outer = json!({
        "type": "object",
        "properties": {WRAPPED: schema},
        "required": [WRAPPED],
        "additionalProperties": false,
    });
    (outer, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_strict_and_everything_else_stands_in_one() {
        let given = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let (schema, wrapped) = for_openai(&given);
        assert_eq!(
            (schema["required"].clone(), schema["additionalProperties"].clone()),
            (json!(["a"]), json!(false))
        );
        assert!(!wrapped);
        let (schema, wrapped) = for_anthropic(&json!({"type": "array", "items": {"type": "integer"}}));
        assert_eq!(schema["properties"]["value"]["type"], "array");
        assert!(wrapped);
    }
}
