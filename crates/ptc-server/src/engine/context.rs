//! The inputs of a program: one JSON object, kept as its text until the machine that counts them reads it. Built of
//! `serde_json`'s values it would take many times its bytes, before anything is counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::settings::Settings;
use super::text::json_type;

/// Inputs, as the text of a JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    text: Arc<str>,
    values: usize,
}

/// Values of a context that somebody wants built.
const BUILT: usize = 600_000;

/// The inputs of a call as text, among its arguments: an object whose only field has no name. No context of a client
/// looks like that, because names of inputs are not empty.
pub fn as_text(text: &str) -> Json {
    json!({ "": text })
}

/// The text of inputs that came as text.
pub fn text_of(given: &Json) -> Option<&str> {
    match given {
        Json::Object(fields) if fields.len() == 1 => fields.get("")?.as_str(),
        _ => None,
    }
}

impl Context {
    /// Takes the inputs out of the arguments of a call.
    pub fn read(given: Option<Json>, settings: &Settings) -> Result<Context, String> {
        let text: Arc<str> = match given {
            None | Some(Json::Null) => return Ok(Context::default()),
            Some(object @ Json::Object(_)) => match text_of(&object) {
                Some(text) => text.into(),
                None => object.to_string().into(),
            },
            Some(other) => {
                return Err(format!("argument `context` must be a JSON object, got {}", json_type(&other)));
            }
        };
        let (mut unnamed, mut divided) = (false, false);
        let weight = ptc_host::outline(&text, |name, _| {
            unnamed |= name.is_empty();
            divided |= name.contains('/');
        });
        let weight =
            weight.map_err(|error| format!("argument `context` is no JSON that can be read: {error}"))?;
        let (bytes, most) = (weight.bytes, settings.max_context_bytes);
        if bytes > most {
            return Err(format!(
                "argument `context` exceeds max_context_bytes ({bytes} > {most}); send less, or start the server \
                 with a higher --max-context-bytes"
            ));
        }
        if unnamed {
            return Err("argument `context` keys must be non-empty".to_owned());
        }
        if divided {
            return Err("argument `context` keys must not contain `/`, which separates namespaces".to_owned());
        }
        Ok(Context { text, values: weight.values })
    }

    /// The object as text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether there are no inputs.
    pub fn is_empty(&self) -> bool {
        self.values == 1
    }

    /// The object, for those that cannot do with its text.
    pub fn built(&self) -> Result<Map<String, Json>, String> {
        if self.values > BUILT {
            return Err(format!(
                "argument `context` has more than {BUILT} values; send less, or texts in place of lists"
            ));
        }
        serde_json::from_str(&self.text).map_err(|error| format!("argument `context` is no JSON: {error}"))
    }

    /// The text of each input by its name.
    pub fn texts(&self) -> Map<String, Json> {
        let fields = ptc_host::parts::fields(&self.text, usize::MAX - 1).unwrap_or_default();
        let fields: BTreeMap<String, &str> = fields.into_iter().collect();
        fields.into_iter().map(|(name, value)| (name, value.into())).collect()
    }
}

impl Default for Context {
    fn default() -> Self {
        Context { text: "{}".into(), values: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: Json) -> Result<Context, String> {
        Context::read(Some(given), &Settings { max_context_bytes: 40, ..Settings::default() })
    }

    #[test]
    fn inputs_are_the_same_as_text_and_as_an_object() {
        for json in [json!({}), json!({"a": 1, "b": ["x", null]}), json!({"k": {"": "text"}})] {
            let (object, text) = (read(json.clone()).expect("inputs"), read(as_text(&json.to_string())));
            assert_eq!(object, text.expect("inputs"));
            assert_eq!(Json::Object(object.built().expect("few")), json);
            assert_eq!(object.is_empty(), json == json!({}));
        }
        let texts = read(json!({"a": 1, "b": ["x"]})).expect("inputs").texts();
        assert_eq!(Json::Object(texts), json!({"a": "1", "b": "[\"x\"]"}));
    }

    #[test]
    fn inputs_that_are_none_are_refused_in_either_way() {
        for (text, says) in [
            (r#"{"": "{}"}"#, "keys must be non-empty"),
            (r#"{"a/b": 1}"#, "must not contain `/`"),
            (r#"{"a": "12345678901234567890123456789012345"}"#, "exceeds max_context_bytes (43 > 40)"),
        ] {
            let error = read(as_text(text)).expect_err(text);
            assert!(error.contains(says), "{error}");
        }
        assert!(read(json!([1])).expect_err("a list").contains("must be a JSON object, got array"));
        assert!(read(as_text(r#"{"a":"\ud83d"}"#)).expect_err("half a pair").contains("no JSON"));
        // White space and escapes do not count.
        assert!(read(as_text(&format!("{{{}\"a\": \"\\u0041\"}}", " ".repeat(100)))).is_ok());
    }
}
