//! What a request is known by in recordings: a hash over everything that a model reads of it.

use std::fmt;

use ptc_agent::model::Request;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

/// The hash of a request: 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(String);

impl Digest {
    /// The digest of a request. Hints for the host (streaming, caching, the number of the turn) do not count;
    /// the order of keys does not either.
    pub fn of(request: &Request) -> Self {
        let read = json!({
            "system": request.system,
            "messages": request.messages,
            "tools": request.tools,
            "schema": request.schema,
            "output": request.output,
            "max_tokens": request.max_tokens,
            "llm_opts": request.llm_opts,
        });
        let mut text = String::new();
        canonical(&read, &mut text);
        let hash = Sha256::digest(text.as_bytes());
        Digest(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The first digits, for messages.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// JSON text with sorted keys. Requests nest no deeper than JSON that was read.
fn canonical(value: &Json, out: &mut String) {
    match value {
        Json::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Json::Object(fields) => {
            let mut sorted: Vec<(&String, &Json)> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (key, field) in sorted {
                canonical(&Json::from(key.as_str()), out);
                out.push(':');
                canonical(field, out);
                out.push(',');
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use ptc_agent::model::Message;

    use super::*;

    fn request(text: &str) -> Request {
        Request { system: "s".into(), messages: vec![Message::user(text)], ..Request::default() }
    }

    #[test]
    fn what_a_model_reads_decides_and_nothing_else() {
        let one = Digest::of(&request("a"));
        assert_eq!(one, Digest::of(&Request { turn: 7, stream: true, cache: true, ..request("a") }));
        assert_ne!(one, Digest::of(&request("b")));
        let ordered = |text: &str| Request { llm_opts: serde_json::from_str(text).unwrap(), ..request("a") };
        assert_eq!(
            Digest::of(&ordered(r#"{"a": 1, "b": {"c": 2, "d": 3}}"#)),
            Digest::of(&ordered(r#"{"b": {"d": 3, "c": 2}, "a": 1}"#))
        );
        assert_eq!(one.to_string().len(), 64);
    }
}
