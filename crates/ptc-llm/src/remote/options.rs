//! Options of the host for the provider (`llm_opts`), and what they come to for one request.

use ptc_agent::model::Request;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::fault::{Class, Fault};

/// Options that every provider has. What only one has goes into `provider_options` and is sent as it is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) max_tokens: Option<u64>,
    pub(super) seed: Option<u64>,
    pub(super) stop: Vec<String>,
    /// Milliseconds between two pieces of a reply.
    pub(super) receive_timeout: Option<u64>,
    /// Attempts in all.
    pub(super) max_attempts: Option<u32>,
    pub(super) provider_options: Map<String, Json>,
}

impl Options {
    /// The options of a request; those of the model's entry in a file stand behind them.
    pub(super) fn of(request: &Request, entry: &Map<String, Json>) -> Result<Options, Fault> {
        let mut fields = entry.clone();
        match &request.llm_opts {
            Json::Null => {}
            Json::Object(own) => fields.extend(own.clone()),
            other => {
                return Err(Fault::new(Class::BadRequest, format!("llm_opts must be a map, not {other}")));
            }
        }
        let mut options =
            read(fields).map_err(|message| Fault::new(Class::BadRequest, format!("llm_opts: {message}")))?;
        options.max_tokens = match (options.max_tokens, request.max_tokens) {
            (Some(own), Some(budget)) => Some(own.min(budget)),
            (own, budget) => own.or(budget),
        };
        Ok(options)
    }

    /// Puts what the provider alone knows over the body.
    pub(super) fn over(self, body: &mut Json) {
        if let Json::Object(fields) = body {
            fields.extend(self.provider_options);
        }
    }
}

fn read(fields: Map<String, Json>) -> Result<Options, String> {
    serde_json::from_value(Json::Object(fields))
        .map_err(|error| format!("{error}; keys come from the environment only"))
}

/// What is wrong with options of a model, if anything.
pub(crate) fn check_options(fields: &Map<String, Json>) -> Result<(), String> {
    read(fields.clone()).map(drop)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn options(llm_opts: Json, entry: Json) -> Result<Options, String> {
        let request = Request { llm_opts, max_tokens: Some(100), ..Request::default() };
        let entry = entry.as_object().cloned().unwrap_or_default();
        Options::of(&request, &entry).map_err(|fault| fault.message)
    }

    #[test]
    fn a_request_goes_before_the_entry_and_the_budget_before_both() {
        let found =
            options(json!({"temperature": 0.5}), json!({"temperature": 1.0, "max_tokens": 50})).unwrap();
        assert_eq!((found.temperature, found.max_tokens), (Some(0.5), Some(50)));
        assert_eq!(options(json!({"max_tokens": 500}), Json::Null).unwrap().max_tokens, Some(100));
    }

    #[test]
    fn unknown_options_are_named() {
        let error = options(json!({"api_key": "sk"}), Json::Null).unwrap_err();
        assert!(error.contains("unknown field `api_key`") && error.contains("environment only"), "{error}");
        assert!(options(json!([]), Json::Null).is_err());
    }
}
