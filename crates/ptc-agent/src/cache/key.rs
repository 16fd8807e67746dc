//! When two calls are the same.
//!
//! Keys of maps are in order of name; floats that are whole numbers are integers. Arguments come here as the tool gets
//! them, with the names that its signature declares, so a call that a model makes natively and one that a program makes
//! meet. Keys that differ are different calls: they may be data.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value as Json, json};

/// A tool and its arguments in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct CacheKey {
    tool: String,
    text: String,
}

impl CacheKey {
    /// The key of a call.
    pub(crate) fn new(tool: &str, args: &Json) -> CacheKey {
        let args = canonical(args.clone());
        let call = match args {
            Json::Object(_) => json!([tool, args]),
            // Arguments are a map; whatever else somebody keeps here can never be mistaken for one.
            other => json!([tool, "value", other]),
        };
        CacheKey { tool: tool.to_owned(), text: call.to_string() }
    }

    /// The tool that is called.
    pub(crate) fn tool(&self) -> &str {
        &self.tool
    }

    /// The canonical text: JSON that names the tool and its arguments.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The arguments in canonical form.
    pub(crate) fn args(&self) -> Json {
        match serde_json::from_str(&self.text) {
            Ok(Json::Array(mut parts)) => parts.pop().unwrap_or_default(),
            _ => Json::Null,
        }
    }

    /// A short name of the key: 16 hexadecimal digits that are the same in every process.
    pub(crate) fn hash(&self) -> String {
        format!("{:016x}", fnv1a(self.text.as_bytes()))
    }
}

impl fmt::Display for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The FNV-1a hash of 64 bits. It names keys in traces; nothing is looked up by it.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Walks with an explicit stack, so the depth of the value does not matter.
fn canonical(mut value: Json) -> Json {
    let mut pending = vec![&mut value];
    while let Some(next) = pending.pop() {
        match next {
            Json::Number(number) => {
                if let Some(whole) = number.as_f64().filter(|_| number.is_f64()).and_then(whole) {
                    *number = whole;
                }
            }
            Json::Array(items) => pending.extend(items.iter_mut()),
            Json::Object(fields) => {
                fields.sort_keys();
                pending.extend(fields.values_mut());
            }
            _ => {}
        }
    }
    value
}

/// The integer that a float is, where integers reach.
fn whole(float: f64) -> Option<Number> {
    const LOWEST: f64 = i64::MIN as f64;
    const BEYOND: f64 = u64::MAX as f64;
    if float.fract() != 0.0 || !(LOWEST..BEYOND).contains(&float) {
        None
    } else if float < 0.0 {
        Some((float as i64).into())
    } else {
        Some((float as u64).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(args: Json) -> CacheKey {
        CacheKey::new("search", &args)
    }

    #[test]
    fn r6_18_calls_that_are_the_same() {
        for (one, other) in [
            (json!({"was_improved": 1.0}), json!({"was_improved": 1})),
            (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1})),
            (json!({"x": {"p": 1, "q": 2}}), json!({"x": {"q": 2, "p": 1}})),
            (json!({"n": -0.0}), json!({"n": 0})),
            (json!({"n": [1.0, {"k-v": 2.0}]}), json!({"n": [1, {"k-v": 2}]})),
            (json!({"n": -3.0}), json!({"n": -3})),
            (json!({"n": 1e15}), json!({"n": 1_000_000_000_000_000_u64})),
            (json!({"n": 1.8e19}), json!({"n": 18_000_000_000_000_000_000_u64})),
        ] {
            assert_eq!(key(one.clone()), key(other.clone()), "{one} and {other}");
            assert_eq!(key(one).hash(), key(other).hash());
        }
    }

    #[test]
    fn r6_18_calls_that_differ() {
        for (one, other) in [
            (json!({"n": 1.5}), json!({"n": 1})),
            (json!({"n": "1"}), json!({"n": 1})),
            (json!({"n": true}), json!({"n": 1})),
            (json!({"n": null}), json!({})),
            (json!({"n": [1, 2]}), json!({"n": [2, 1]})),
            (json!({"s": "a-b"}), json!({"s": "a_b"})),
            (json!({"by": {"web-1": 1}}), json!({"by": {"web_1": 1}})),
            (json!({"a-b": 1, "a_b": 2}), json!({"a_b": 2})),
            (json!({"n": 1e300}), json!({"n": 1e299})),
            (json!({"t": "2026-01-01T00:00:00Z"}), json!({"t": "2026-01-01T00:00:00+00:00"})),
            (json!([1]), json!({"0": 1})),
            (json!(null), json!({})),
        ] {
            assert_ne!(key(one.clone()), key(other.clone()), "{one} and {other}");
        }
        assert_ne!(CacheKey::new("a", &json!({})), CacheKey::new("b", &json!({})));
        assert_ne!(CacheKey::new("a", &json!([{}])), CacheKey::new("a", &json!({})));
    }

    #[test]
    fn r6_18_text_and_hash_are_stable() {
        let key = key(json!({"query": "x", "limit": 5.0}));
        assert_eq!(key.as_str(), r#"["search",{"limit":5,"query":"x"}]"#);
        assert_eq!(key.hash(), "bad8ad00a1f3fcbd");
        assert_eq!((key.tool(), key.args()), ("search", json!({"limit": 5, "query": "x"})));
        assert_eq!(CacheKey::new("t", &json!([1.0])).to_string(), r#"["t","value",[1]]"#);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn a_key_survives_being_saved() {
        let key = key(json!({"q": 1}));
        let saved = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<CacheKey>(&saved).unwrap(), key);
    }
}
