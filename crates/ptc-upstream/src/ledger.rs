//! The account of upstream calls: one entry per call, without arguments and without results. What a result
//! looked like is kept as a bounded overview.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use ptc_lisp::machine::ValueKind;

use crate::config::EffectClass;
use crate::model::Reason;

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It gave a result.
    Ok,
    /// It failed.
    Error,
}

/// One upstream call, as `upstream_calls` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerEntry {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// How it went.
    pub status: Status,
    /// How long it took.
    pub duration_ms: u64,
    /// The size of the result as compact JSON; of an answer that was too large, the bytes that were seen.
    pub result_bytes: Option<usize>,
    /// Whether the answer was too large.
    pub oversize: bool,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "reason_name")]
    pub reason: Option<Reason>,
    /// What happened, with secrets covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the call was made before and this is the answer that was kept.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recalled: bool,
    /// What it does to the world: `read`, `write` or `unknown`.
    #[serde(skip)]
    pub effect: &'static str,
    /// Whether it is certain that it was not sent now.
    #[serde(skip)]
    pub unsent: bool,
    /// What tells its arguments from others without telling them.
    #[serde(skip)]
    pub args_hash: String,
    /// What the result looked like.
    #[serde(skip)]
    pub overview: Option<Overview>,
}

fn reason_name<S: serde::Serializer>(reason: &Option<Reason>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(reason.map_or("", Reason::name))
}

impl LedgerEntry {
    /// Whether it may have changed something, now or when the program ran before: not if it only reads, was never sent or was
    /// not let in.
    pub fn may_have_changed(&self) -> bool {
        let open = self.reason == Some(Reason::OutcomeUnknown);
        let not_made = self.unsent || self.reason.is_some_and(Reason::is_refusal);
        self.effect != EffectClass::Read.name() && (open || !not_made)
    }

    /// Whether nobody knows what came of it.
    pub fn is_open(&self) -> bool {
        match self.reason {
            Some(Reason::OutcomeUnknown) => true,
            Some(reason) => reason.is_silent() && !self.unsent,
            None => false,
        }
    }

    /// The entry as JSON.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// The overview of its result as an entry of `upstream_results`.
    pub fn result_json(&self) -> Option<Json> {
        let Overview { value_kind, shape, preview } = self.overview.as_ref()?;
        Some(json!({
            "server": self.server,
            "tool": self.tool,
            "result_overview": {"value_kind": value_kind.name(), "shape": shape, "preview": preview},
        }))
    }
}

/// A bounded picture of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// What kind of payload it was.
    pub value_kind: ValueKind,
    /// What it is, in a few words: `map keys=[a,b] count=2`.
    pub shape: String,
    /// Its beginning.
    pub preview: String,
}

/// The most bytes of a preview.
const PREVIEW: usize = 240;
/// The most bytes of a text inside one.
const LEAF: usize = 120;
/// The most keys of a map that are shown.
const KEYS: usize = 8;
/// The most items of a list that are shown.
const ITEMS: usize = 5;
/// How deep a preview looks.
const DEPTH: usize = 4;

impl Overview {
    /// The overview of a value.
    pub fn of(value: &Json, value_kind: ValueKind) -> Overview {
        let shape = match value {
            Json::Null => "nil".to_owned(),
            Json::Bool(_) => "boolean".to_owned(),
            Json::Number(number) if number.is_f64() => "number".to_owned(),
            Json::Number(_) => "integer".to_owned(),
            Json::String(text) => format!("string bytes={}", text.len()),
            Json::Array(items) => format!("list count={}", items.len()),
            Json::Object(fields) => {
                let keys: Vec<&str> = fields.keys().take(KEYS).map(|key| cut(key, LEAF)).collect();
                format!("map keys=[{}] count={}", keys.join(","), fields.len())
            }
        };
        let preview = match value {
            Json::String(text) => text.clone(),
            other => sample(other, 0).to_string(),
        };
        Overview { value_kind, shape, preview: shortened(&preview, PREVIEW) }
    }
}

/// A value with few keys, items and characters.
fn sample(value: &Json, depth: usize) -> Json {
    match value {
        Json::String(text) => shortened(text, LEAF).into(),
        Json::Array(_) | Json::Object(_) if depth == DEPTH => "…".into(),
        Json::Array(items) => items.iter().take(ITEMS).map(|item| sample(item, depth + 1)).collect(),
        Json::Object(fields) => {
            let few = fields.iter().take(KEYS);
            few.map(|(key, value)| (shortened(key, LEAF), sample(value, depth + 1)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

/// The beginning of a text in at most so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A text in at most so many bytes, with `…` if something is missing.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => text.to_owned(),
        false => format!("{}…", cut(text, most.saturating_sub('…'.len_utf8()))),
    }
}

/// The size of a value as compact JSON.
pub fn json_bytes(value: &Json) -> usize {
    struct ByteCount(usize);
    impl std::io::Write for ByteCount {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = ByteCount(0);
    // Writing into a counter cannot fail.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_have_changed_something_if_it_was_sent_or_was_begun_before() {
        let call = |effect, reason: Option<Reason>, unsent| LedgerEntry {
            server: "crm".to_owned(),
            tool: "put".to_owned(),
            status: if reason.is_none() { Status::Ok } else { Status::Error },
            duration_ms: 1,
            result_bytes: None,
            oversize: false,
            reason,
            error: None,
            recalled: false,
            unsent,
            effect,
            args_hash: String::new(),
            overview: None,
        };
        for (effect, reason, unsent, may) in [
            ("write", None, false, true),
            ("unknown", None, false, true),
            ("read", None, false, false),
            ("write", Some(Reason::Timeout), false, true),
            ("read", Some(Reason::Timeout), false, false),
            ("unknown", Some(Reason::UpstreamUnavailable), true, false),
            ("write", Some(Reason::ApprovalRejected), false, false),
            // What may have been begun before, and cannot be looked up, is not sent now.
            ("unknown", Some(Reason::OutcomeUnknown), true, true),
        ] {
            let entry = call(effect, reason, unsent);
            assert_eq!(entry.may_have_changed(), may, "{effect} {reason:?}, unsent: {unsent}");
        }
        for (reason, unsent, is_open) in [
            (None, false, false),
            (Some(Reason::Timeout), false, true),
            (Some(Reason::UpstreamUnavailable), false, true),
            (Some(Reason::UpstreamUnavailable), true, false),
            (Some(Reason::OutcomeUnknown), true, true),
            (Some(Reason::ApprovalRejected), false, false),
        ] {
            assert_eq!(call("write", reason, unsent).is_open(), is_open, "{reason:?}, unsent: {unsent}");
        }
    }

    #[test]
    fn overviews_say_what_a_result_is() {
        let cases = [
            (json!(null), "nil", "null"),
            (json!(true), "boolean", "true"),
            (json!(3), "integer", "3"),
            (json!(1.5), "number", "1.5"),
            (json!("é"), "string bytes=2", "é"),
            (json!([1, 2, 3, 4, 5, 6]), "list count=6", "[1,2,3,4,5]"),
            (
                json!({"a": 1, "b": {"c": [[[[1]]]]}}),
                "map keys=[a,b] count=2",
                r#"{"a":1,"b":{"c":[["…"]]}}"#,
            ),
        ];
        for (value, shape, preview) in cases {
            let seen = Overview::of(&value, ValueKind::Json);
            assert_eq!((seen.shape.as_str(), seen.preview.as_str()), (shape, preview), "{value}");
        }
    }

    #[test]
    fn overviews_are_bounded() {
        let wide: Map<String, Json> = (0..50).map(|n| (format!("k{n}"), "é".repeat(500).into())).collect();
        let seen = Overview::of(&Json::Object(wide), ValueKind::Json);
        assert_eq!(seen.shape, "map keys=[k0,k1,k2,k3,k4,k5,k6,k7] count=50");
        assert!(seen.preview.len() <= PREVIEW, "{}", seen.preview.len());
        assert!(Overview::of(&json!("é".repeat(500)), ValueKind::Text).preview.len() <= PREVIEW);
    }

    #[test]
    fn entries_show_the_fields_of_the_account() {
        let ok = LedgerEntry {
            server: "github".to_owned(),
            tool: "search_issues".to_owned(),
            status: Status::Ok,
            duration_ms: 142,
            result_bytes: Some(48_122),
            oversize: false,
            reason: None,
            error: None,
            recalled: false,
            unsent: false,
            effect: "read",
            args_hash: String::new(),
            overview: None,
        };
        assert_eq!(
            ok.to_json(),
            json!({"server": "github", "tool": "search_issues", "status": "ok", "duration_ms": 142,
                   "result_bytes": 48122, "oversize": false})
        );
        let late = LedgerEntry {
            status: Status::Error,
            result_bytes: None,
            reason: Some(Reason::Timeout),
            error: Some("no answer in 5 s".to_owned()),
            ..ok
        };
        assert_eq!(
            late.to_json(),
            json!({"server": "github", "tool": "search_issues", "status": "error", "duration_ms": 142,
                   "result_bytes": null, "oversize": false, "reason": "timeout", "error": "no answer in 5 s"})
        );
    }

    #[test]
    fn sizes_are_those_of_compact_json() {
        for value in [json!(null), json!({"a": [1, "é\n", {}]}), json!("x")] {
            assert_eq!(json_bytes(&value), value.to_string().len(), "{value}");
        }
    }
}
