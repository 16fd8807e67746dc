//! What a model is told beside the result of a program of its session.

use ptc_upstream::ledger::LedgerEntry;
use serde_json::{Value as Json, json};

use super::super::payload::Payload;
use super::super::settings;
use super::eval::Verdict;

/// What a model should do next.
pub fn guidance(settings: &settings::SessionSettings, payload: &Payload, verdict: &Verdict) -> Vec<String> {
    if payload.error.is_some() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    let hinted = verdict.collections.iter().any(|(name, _)| name == "*1");
    if payload.truncated && !hinted {
        lines.push("The result is cut; (describe *1) shows its shape.".to_owned());
    }
    for (name, count) in &verdict.collections {
        lines.push(format!(
            "{name} has {count} maps; work on it with (count {name}), (take 3 {name}), (filter … {name})."
        ));
    }
    if verdict.history_cut {
        lines.push(format!(
            "The result is larger than {} bytes, so *1 is only its beginning; def what you need.",
            settings.history_entry_bytes
        ));
    }
    lines
}

/// What became of `*1`.
pub fn history_notices(settings: &settings::SessionSettings, verdict: &Verdict, committed: bool) -> Json {
    match committed && verdict.history_cut {
        true => {
            json!([{"name": "*1", "reason": "max_history_entry_bytes", "max": settings.history_entry_bytes}])
        }
        false => json!([]),
    }
}

/// Versions that are named.
const NAMED: usize = 5;

/// The first part of the last line of the text: what became of the program, and of what it left in the store of preludes,
/// which stays whatever becomes of it.
pub fn kept_note(committed: bool, versions: &[String]) -> Option<String> {
    let mut named: Vec<&str> = versions.iter().take(NAMED).map(String::as_str).collect();
    if versions.len() > NAMED {
        named.push("…");
    }
    match (committed, named.as_slice()) {
        (true, []) => None,
        (false, []) => Some("rolled back".to_owned()),
        (true, named) => Some(format!("prelude store: {}", named.join(", "))),
        (false, named) => {
            Some(format!("session unchanged, but the prelude store keeps {}", named.join(", ")))
        }
    }
}

/// The other parts.
pub fn notes(changed: &[String], ledger: Option<&[LedgerEntry]>) -> Vec<String> {
    let mut notes = Vec::new();
    if !changed.is_empty() {
        notes.push(format!("stored: {}", changed.join(", ")));
    }
    if let Some(calls) = ledger.filter(|calls| !calls.is_empty()) {
        notes.push(format!("turn upstream calls: {}", calls.len()));
    }
    notes
}
