//! How much of programs, arguments, results and messages a trace keeps.
//!
//! Whatever is not known to be a plain fact is a payload, so that nothing gets past the policy under a new
//! name or in the text of an error.

use std::borrow::Cow;

use ptc_host::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

/// How much of a payload is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Its hash and its size.
    None,
    /// Also the beginning, and kinds and counts of inputs.
    #[default]
    Summary,
    /// All of it, within the bounds of events.
    Full,
}

impl std::str::FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Policy::None),
            "summary" => Ok(Policy::Summary),
            "full" => Ok(Policy::Full),
            _ => Err(format!("`{text}` is no policy for payloads; there are none, summary and full")),
        }
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Policy::None => "none",
            Policy::Summary => "summary",
            Policy::Full => "full",
        })
    }
}

/// Characters of a payload that a summary shows.
const PREVIEW_CHARS: usize = 256;
/// Characters of a printed line that a summary shows.
const PRINT_CHARS: usize = 80;
/// Printed lines that a summary shows.
const PRINT_LINES: usize = 50;
/// Inputs whose kinds a summary shows.
const CONTEXT_KEYS: usize = 100;
/// Bytes of the text of inputs that are kept whole; an event is not longer.
const INPUT_BYTES: usize = 1 << 20;

/// Facts that no policy hides: names, kinds, ids, counts.
const FACTS: [&str; 46] = [
    "agent_name",
    "attempts",
    "batch",
    "cache_key_hash",
    "cached",
    "caller",
    "catalog_ops",
    "category",
    "committed",
    "count",
    "depth",
    "driver",
    "effect",
    "error_count",
    "exposure_layer",
    "full_result_cached",
    "kind",
    "max_turns",
    "messages",
    "method",
    "mode",
    "operation",
    "outcome",
    "parent_trace_id",
    "payload_policy",
    "producer",
    "profile",
    "protocol_version",
    "reason",
    "refused",
    "request_id",
    "result_preview_truncated",
    "seed",
    "server",
    "session_id",
    "signal",
    "signature",
    "strategy",
    "success",
    "success_count",
    "tool_names",
    "trace_kind",
    "trace_label",
    "transport",
    "truncated",
    "type",
];
/// The longest text that still passes as a fact.
const FACT_BYTES: usize = 256;

/// Applies a policy to the data of an event. `scrub` sees every text first.
pub(crate) fn apply(data: &mut Map<String, Json>, policy: Policy, scrub: &dyn Fn(&str) -> Option<String>) {
    for (name, value) in data.iter_mut() {
        let read = match &*value {
            Json::String(text) if name == "context" => inputs(text, policy),
            _ => None,
        };
        let is_read = read.is_some();
        if let Some(read) = read {
            *value = read;
        }
        scrub_all(value, scrub);
        if is_read || policy == Policy::Full || is_fact(name, value) {
            continue;
        }
        *value = match (name.as_str(), &*value) {
            ("prints", Json::Array(lines)) => prints(lines, policy),
            ("context", Json::Object(inputs)) if policy == Policy::Summary => kinds(inputs),
            (_, value) => summary(value, policy),
        };
    }
}

/// Texts nest no deeper here than in JSON that was read or in what agents bound.
fn scrub_all(value: &mut Json, scrub: &dyn Fn(&str) -> Option<String>) {
    match value {
        Json::String(text) => {
            if let Some(clean) = scrub(text) {
                *text = clean;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(|item| scrub_all(item, scrub)),
        Json::Object(fields) => {
            if fields.keys().any(|name| scrub(name).is_some()) {
                let named = std::mem::take(fields).into_iter();
                *fields = named.map(|(name, field)| (scrub(&name).unwrap_or(name), field)).collect();
            }
            fields.values_mut().for_each(|field| scrub_all(field, scrub));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// Whether a field says nothing of what programs work on.
fn is_fact(name: &str, value: &Json) -> bool {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::String(text) => text.len() <= FACT_BYTES && FACTS.contains(&name),
        Json::Array(items) => {
            // The inputs of an agent come as a list of names.
            (FACTS.contains(&name) || name == "context")
                && items.iter().all(|item| item.as_str().is_some_and(|text| text.len() <= FACT_BYTES))
        }
        Json::Object(_) => false,
    }
}

fn prints(lines: &[Json], policy: Policy) -> Json {
    if policy == Policy::None {
        return summary(&Json::Array(lines.to_vec()), policy);
    }
    let line = |line: &Json| line.as_str().map_or_else(|| line.to_string(), |text| cut(text, PRINT_CHARS));
    let mut shown: Vec<Json> = lines.iter().take(PRINT_LINES).map(|text| Json::from(line(text))).collect();
    if lines.len() > PRINT_LINES {
        shown.push(json!(format!("… {} more lines", lines.len() - PRINT_LINES)));
    }
    Json::Array(shown)
}

/// Inputs that come as the text of a JSON object, as a policy shows them: all of them where they may be short enough
/// for an event, else kind and count of each. They are never built if they are not shown.
fn inputs(text: &str, policy: Policy) -> Option<Json> {
    match policy {
        Policy::None => None,
        Policy::Full if text.len() <= INPUT_BYTES => serde_json::from_str(text).ok(),
        Policy::Full | Policy::Summary => {
            let mut shown = Map::new();
            let each = |name: &str, kind| {
                if shown.len() < CONTEXT_KEYS {
                    shown.insert(cut(name, PRINT_CHARS), counted(kind));
                }
            };
            ptc_host::outline(text, each).ok()?;
            Some(Json::Object(shown))
        }
    }
}

fn counted(kind: Kind) -> Json {
    match kind {
        Kind::Text(bytes) => json!({"type": kind.name(), "bytes": bytes}),
        Kind::List(count) | Kind::Object(count) => json!({"type": kind.name(), "count": count}),
        Kind::Null | Kind::Bool | Kind::Number => json!({"type": kind.name()}),
    }
}

/// Kind and count of every input.
fn kinds(inputs: &Map<String, Json>) -> Json {
    let kind = |value: &Json| match value {
        Json::Null => Kind::Null,
        Json::Bool(_) => Kind::Bool,
        Json::Number(_) => Kind::Number,
        Json::String(text) => Kind::Text(text.len()),
        Json::Array(items) => Kind::List(items.len()),
        Json::Object(fields) => Kind::Object(fields.len()),
    };
    let shown =
        inputs.iter().take(CONTEXT_KEYS).map(|(name, value)| (cut(name, PRINT_CHARS), counted(kind(value))));
    Json::Object(shown.collect())
}

/// A payload as its hash and size, and its beginning where the policy says so.
fn summary(value: &Json, policy: Policy) -> Json {
    let text = text_of(value);
    let mut summary = json!({"bytes": text.len(), "sha256": sha256(&text)});
    if policy == Policy::Summary {
        summary["preview"] = Json::from(cut(&text, PREVIEW_CHARS));
    }
    summary
}

fn text_of(value: &Json) -> Cow<'_, str> {
    value.as_str().map_or_else(|| value.to_string().into(), Cow::Borrowed)
}

/// The hash of a text in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend([digit(byte >> 4), digit(*byte)]);
    }
    text
}

/// The first characters of a text.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(data: Json, policy: Policy) -> Json {
        let Json::Object(mut data) = data else { panic!("data is an object") };
        apply(&mut data, policy, &|text| text.contains("s3cret").then(|| text.replace("s3cret", "***")));
        Json::Object(data)
    }

    #[test]
    fn r12_1_3_each_policy_keeps_what_it_says() {
        let long = "x".repeat(300);
        let data = json!({"program": long, "prints": ["y".repeat(100)], "context": {"rows": [1, 2], "name": "n"},
            "reason": "timeout", "cached": true});
        let full = applied(data.clone(), Policy::Full);
        assert_eq!(full, data);
        let summary = applied(data.clone(), Policy::Summary);
        assert_eq!(summary["program"]["bytes"], 300);
        assert_eq!(summary["program"]["preview"].as_str().unwrap().chars().count(), 257);
        assert_eq!(summary["prints"][0].as_str().unwrap().chars().count(), 81);
        assert_eq!(
            summary["context"],
            json!({"rows": {"type": "array", "count": 2}, "name": {"type": "string", "bytes": 1}})
        );
        let none = applied(data, Policy::None);
        assert_eq!(none["program"], json!({"bytes": 300, "sha256": sha256(&long)}));
        assert!(none["prints"].get("sha256").is_some() && none["context"].get("sha256").is_some());
        assert_eq!((&none["reason"], &none["cached"]), (&json!("timeout"), &json!(true)));
    }

    #[test]
    fn inputs_that_come_as_text_are_shown_as_others() {
        let context = json!({"rows": [1, 2], "name": "n", "s3cret": {"a": null}});
        for policy in [Policy::Summary, Policy::Full] {
            let shown = applied(json!({"context": context.to_string()}), policy);
            assert_eq!(shown, applied(json!({"context": context}), policy));
        }
        let long = json!({"name": "x".repeat(INPUT_BYTES)});
        let shown = applied(json!({"context": long.to_string()}), Policy::Full);
        assert_eq!(shown["context"], json!({"name": {"type": "string", "bytes": INPUT_BYTES}}));
        assert!(applied(json!({"context": "{}"}), Policy::None)["context"].get("sha256").is_some());
    }

    #[test]
    fn r14_4_4_nothing_gets_past_the_policy_under_another_name() {
        let data = json!({"error": "row 7 is bad", "surprise": {"deep": ["a secret"]}, "reason": "r".repeat(300),
            "messages": ["z".repeat(300)]});
        let text = applied(data, Policy::None).to_string();
        for hidden in ["row 7", "a secret", "rrr", "zzz"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }

    #[test]
    fn texts_are_scrubbed_before_they_are_hashed_or_shown() {
        for policy in [Policy::None, Policy::Summary, Policy::Full] {
            let data = json!({"error": "the key is s3cret", "reason": "s3cret"});
            let text = applied(data, policy).to_string();
            assert!(!text.contains("s3cret"), "{policy}: {text}");
            assert!(!text.contains(&sha256("the key is s3cret")), "{policy}: {text}");
        }
    }
}
