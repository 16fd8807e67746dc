//! From a payload to what the client gets: profiles, their bounds, and the guard that keeps an envelope
//! within its size whatever programs and upstreams say.

use serde_json::{Map, Value as Json, json};

use super::api::{Content, Reply};
use super::depth::flattened;
use super::payload::{Payload, handle_parts, too_long};
use super::settings::{Profile, Settings};
use super::text::{cut, json_bytes, quoted_bytes, without_tags};

/// How much of an answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerBounds {
    /// Bytes of a result that is shown whole.
    pub result_bytes: usize,
    /// Bytes of printed lines.
    pub prints_bytes: usize,
    /// Bytes of the whole envelope.
    pub envelope_bytes: usize,
}

/// Bytes of feedback.
const FEEDBACK_BYTES: usize = 8 << 10;

impl AnswerBounds {
    /// The bounds of a server's answers. What is shown is in them once or twice, with quotes that may double it.
    pub const fn of(settings: &Settings) -> AnswerBounds {
        let Settings { result_bytes, prints_bytes, .. } = *settings;
        let shown = result_bytes.saturating_add(prints_bytes);
        let envelope_bytes = match settings.profile {
            Profile::Slim => (16_usize << 10).saturating_add(shown.saturating_mul(2)),
            Profile::Structured => (32_usize << 10).saturating_add(shown.saturating_mul(4)),
            Profile::Debug => (448_usize << 10).saturating_add(shown.saturating_mul(4)),
        };
        AnswerBounds { result_bytes, prints_bytes, envelope_bytes }
    }
}

/// Which tool answers: the compact object of sessions has other fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `lisp_eval`.
    Eval,
    /// `lisp_session_eval`.
    Session,
}

impl Family {
    /// The fields of the compact object.
    fn compact_keys(self, is_error: bool) -> &'static [&'static str] {
        match (self, is_error) {
            (Family::Eval, false) => &[
                "status",
                "result",
                "validated",
                "validated_preview",
                "validated_preview_truncated",
                "validated_bytes",
                "upstream_results",
                "resource",
                "truncated",
                "output_truncated",
            ],
            (Family::Eval, true) => &[
                "status",
                "reason",
                "message",
                "feedback",
                "result",
                "prints",
                "detail",
                "prints_truncated",
                "truncated",
                "output_truncated",
                "upstream_calls",
            ],
            (Family::Session, false) => &[
                "status",
                "result",
                "prints",
                "feedback",
                "validated",
                "validated_preview",
                "validated_preview_truncated",
                "validated_bytes",
                "session",
                "memory",
                "history_notices",
                "resource",
                "prints_truncated",
                "truncated",
                "output_truncated",
            ],
            (Family::Session, true) => &[
                "status",
                "reason",
                "message",
                "feedback",
                "result",
                "prints",
                "detail",
                "session",
                "memory",
                "history_notices",
                "upstream_errors",
                "prints_truncated",
                "truncated",
                "output_truncated",
            ],
        }
    }
}

/// What the guard leaves out first.
const DROPPED: &[&str] =
    &["prints", "feedback", "validated_preview", "upstream_results", "upstream_calls", "ptc_metrics"];

/// Text of the slim profile is cut here when nothing else helps.
const SLIM_TEXT_BYTES: usize = 16 << 10;

/// The envelope of a payload.
pub fn envelope(payload: &Payload, settings: &Settings, family: Family) -> Reply {
    let (bounds, profile) = (AnswerBounds::of(settings), settings.profile);
    let mut full = full(payload, &bounds);
    let is_error = payload.error.is_some();
    let view = |full: &Map<String, Json>| match profile {
        Profile::Slim => (text(full, payload, &bounds), None),
        Profile::Structured => {
            let compact = compact(full, family, is_error, payload);
            (text(full, payload, &bounds), Some(Json::Object(compact)))
        }
        Profile::Debug => {
            let object = Json::Object(full.clone());
            (object.to_string(), Some(object))
        }
    };
    let size = |(text, structured): &(String, Option<Json>)| {
        let link = payload.resource.as_ref().map_or(0, |link| 256 + link.uri.len() + link.description.len());
        64 + quoted_bytes(text) + structured.as_ref().map_or(0, json_bytes) + link
    };
    let mut shown = view(&full);
    let mut dropped = DROPPED.iter();
    while size(&shown) > bounds.envelope_bytes {
        match dropped.next() {
            Some(key) if full.remove(*key).is_none() => continue,
            Some(_) => {}
            None => {
                full = minimal(&full, bounds.envelope_bytes);
                shown = view(&full);
                break;
            }
        }
        full.insert("truncated".to_owned(), true.into());
        full.insert("output_truncated".to_owned(), true.into());
        shown = view(&full);
    }
    let (mut text, structured) = shown;
    if profile == Profile::Slim && quoted_bytes(&text) > bounds.envelope_bytes {
        text = format!("{}\n\n[truncated]", cut(&text, SLIM_TEXT_BYTES));
    }
    let mut content = vec![Content::Text(text)];
    content.extend(payload.resource.clone().map(Content::ResourceLink));
    Reply { content, structured, is_error, approval: None, recalled: false }
}

/// An answer that is the same in every profile: the object, and its text.
pub fn plain(object: Json, is_error: bool) -> Reply {
    let object = flattened(object);
    let content = vec![Content::Text(object.to_string())];
    Reply { content, structured: Some(object), is_error, approval: None, recalled: false }
}

/// A fixed error: the same in every profile.
pub fn fixed(reason: &str, message: &str, feedback: &str) -> Reply {
    plain(json!({"status": "error", "reason": reason, "message": message, "feedback": feedback}), true)
}

/// All fields within the bounds of a profile.
fn full(payload: &Payload, bounds: &AnswerBounds) -> Map<String, Json> {
    let mut full = Map::new();
    let mut put = |key: &str, value: Json| {
        full.insert(key.to_owned(), value);
    };
    let (prints, missing) = fitting(&payload.prints, bounds);
    let feedback = cut(&payload.feedback, FEEDBACK_BYTES);
    let feedback_cut = feedback.len() < payload.feedback.len();
    match &payload.error {
        None => put("status", "ok".into()),
        Some((reason, message)) => {
            put("status", "error".into());
            put("reason", reason.as_str().into());
            put("message", message.as_str().into());
        }
    }
    if let Some(result) = &payload.result {
        put("result", result.as_str().into());
    }
    if payload.error.is_none() || !prints.is_empty() {
        put("prints", prints.into());
    }
    put("feedback", feedback.into());
    if let Some(validated) = &payload.validated {
        put_validated(validated, payload.result.as_deref(), bounds, &mut put);
    }
    for (key, value) in &payload.session {
        put(key, value.clone());
    }
    if let Some(upstream) = &payload.upstream {
        put("upstream_calls", upstream.calls.clone().into());
        put("upstream_results", upstream.results.clone().into());
        put("ptc_metrics", upstream.metrics.clone().unwrap_or_default());
    }
    if let Some(link) = &payload.resource {
        put("resource", json!({"uri": link.uri, "mime_type": link.mime_type, "bytes": link.size}));
    }
    if payload.error.is_none() || payload.truncated {
        put("truncated", payload.truncated.into());
    }
    for (key, is_cut) in [("prints_truncated", missing.is_some()), ("feedback_truncated", feedback_cut)] {
        if is_cut {
            put(key, true.into());
            put("output_truncated", true.into());
        }
    }
    full
}

/// A validated value is exact or absent; what it is stands in its place, as its line says if that does.
fn put_validated(value: &Json, line: Option<&str>, bounds: &AnswerBounds, put: &mut impl FnMut(&str, Json)) {
    let bytes = json_bytes(value);
    if bytes <= bounds.result_bytes {
        return put("validated", value.clone());
    }
    let preview = match line.filter(|line| handle_parts(line).is_some()) {
        Some(handle) => handle.to_owned(),
        None => too_long(value, bounds.result_bytes, false),
    };
    put("validated_preview", preview.into());
    put("validated_bytes", bytes.into());
    put("validated_preview_truncated", true.into());
}

/// The first printed lines that fit, the last of them cut if it is the only one; and in our words how much is missing, if
/// anything is.
fn fitting(prints: &[String], bounds: &AnswerBounds) -> (Vec<Json>, Option<String>) {
    let mut left = bounds.prints_bytes;
    let mut kept = Vec::new();
    let mut missing = Vec::new();
    for line in prints {
        match left.checked_sub(line.len() + 1) {
            Some(rest) => {
                left = rest;
                kept.push(Json::from(line.as_str()));
            }
            None => {
                if kept.is_empty() {
                    let head = cut(line, left);
                    let rest = line.len() - head.len();
                    missing.extend((rest > 0).then(|| format!("{rest} bytes of the first line")));
                    kept.push(head.into());
                }
                break;
            }
        }
    }
    if kept.len() < prints.len() {
        missing.push(format!("{} of {} lines", prints.len() - kept.len(), prints.len()));
    }
    let told = (!missing.is_empty()).then(|| format!("… ({} are missing here)", missing.join(" and ")));
    (kept, told)
}

/// The compact object of the structured profile: nothing that is empty, flags only when they are set.
fn compact(full: &Map<String, Json>, family: Family, is_error: bool, payload: &Payload) -> Map<String, Json> {
    let failed = || -> Json {
        let calls = full.get("upstream_calls").and_then(Json::as_array).into_iter().flatten();
        let failed = calls.filter(|call| call["status"] == "error");
        failed.map(|call| picked(call, &["server", "tool", "status", "reason"])).collect()
    };
    let mut compact = Map::new();
    for key in family.compact_keys(is_error) {
        let value = match (*key, family, is_error) {
            ("upstream_calls", ..) | ("upstream_errors", ..) => Some(failed()),
            ("feedback", Family::Session, false) => Some(payload.guidance.join("\n").into()),
            ("memory", ..) => {
                full.get("memory").map(|memory| picked(memory, &["changed_keys", "stored_keys"]))
            }
            _ => full.get(*key).cloned(),
        };
        let Some(value) = value else { continue };
        let empty = match &value {
            Json::Null | Json::Bool(false) => *key != "validated",
            Json::Array(items) => items.is_empty() && *key != "validated",
            Json::String(text) => text.is_empty() && *key != "validated",
            _ => false,
        };
        if !empty {
            compact.insert((*key).to_owned(), value);
        }
    }
    compact
}

fn picked(object: &Json, keys: &[&str]) -> Json {
    let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), object.get(*key)?.clone())));
    Json::Object(fields.collect())
}

/// What is left when nothing fits.
fn minimal(full: &Map<String, Json>, envelope_bytes: usize) -> Map<String, Json> {
    let most = (envelope_bytes / 8).clamp(256, 4 << 10);
    let mut left = Map::new();
    for key in ["status", "reason", "message", "validated_bytes", "session"] {
        match full.get(key) {
            Some(Json::String(text)) => left.insert(key.to_owned(), cut(text, most).into()),
            Some(value) if json_bytes(value) <= most => left.insert(key.to_owned(), value.clone()),
            _ => None,
        };
    }
    for key in ["truncated", "output_truncated"] {
        left.insert(key.to_owned(), true.into());
    }
    left
}

/// What a model reads of an answer. Beside prints the result stands in tags, and nothing of ours between them.
fn text(full: &Map<String, Json>, payload: &Payload, bounds: &AnswerBounds) -> String {
    let field = |key: &str| full.get(key).and_then(Json::as_str);
    let (name, end) = match full.get("status") == Some(&json!("error")) {
        true => ("error", error_text(full)),
        false => {
            let result = match (full.get("validated"), field("validated_preview"), field("result")) {
                (Some(validated), ..) => validated.to_string(),
                (None, Some(preview), _) => preview.to_owned(),
                (None, None, Some(result)) => result.to_owned(),
                (None, None, None) => "user=> nil".to_owned(),
            };
            ("result", result)
        }
    };
    let prints = full.get("prints").and_then(Json::as_array).filter(|prints| !prints.is_empty());
    let mut text = match prints {
        None => end,
        Some(prints) => {
            let lines: Vec<&str> = prints.iter().filter_map(Json::as_str).collect();
            let inside = |text: &str| without_tags(text, &["prints", "result", "error"]);
            let is_handle = payload.error.is_none() && full.get("validated").is_none();
            let parts = handle_parts(&end).filter(|_| is_handle);
            let (about, end) = parts.unwrap_or(("", end.as_str()));
            let line = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
            let missing = fitting(&payload.prints, bounds).1.unwrap_or_default();
            let (lines, end) = (inside(&lines.join("\n")), inside(end));
            format!(
                "<prints>\n{lines}\n</prints>\n{}\n{}<{name}>\n{end}\n</{name}>",
                line(&missing),
                line(about)
            )
        }
    };
    let is_set = |key: &str| full.get(key) == Some(&Json::Bool(true));
    if is_set("truncated") || is_set("validated_preview_truncated") || is_set("output_truncated") {
        text.push_str("\n\n[truncated]");
    }
    for line in &payload.guidance {
        text.push_str(&format!("\n{line}"));
    }
    if !payload.notes.is_empty() {
        text.push_str(&format!("\n[{}]", payload.notes.join("; ")));
    }
    text
}

/// `reason: message`, then advice that says more, then the first upstream call that failed.
fn error_text(full: &Map<String, Json>) -> String {
    let field = |key: &str| full.get(key).and_then(Json::as_str).unwrap_or_default();
    let (reason, message, feedback) = (field("reason"), field("message"), field("feedback"));
    let named = |text: &str| match text.starts_with(reason) {
        true => text.to_owned(),
        false => format!("{reason}: {text}"),
    };
    let mut text = match feedback {
        "" => named(message),
        feedback if feedback == message => named(message),
        feedback if feedback.contains(message.trim_end_matches('.')) => named(feedback),
        feedback => format!("{}\n{feedback}", named(message)),
    };
    let calls = full.get("upstream_calls").and_then(Json::as_array).into_iter().flatten();
    if let Some(call) = calls.into_iter().find(|call| call["status"] == "error") {
        let part = |key: &str| call[key].as_str().unwrap_or_default();
        text.push_str(&format!("\nupstream {}.{} failed: {}", part("server"), part("tool"), part("reason")));
    }
    text
}
