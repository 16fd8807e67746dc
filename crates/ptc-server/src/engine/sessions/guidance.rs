//! What a model is told beside the result of a program of its session.

use ptc_upstream::ledger::LedgerEntry;
use serde_json::{Value as Json, json};

use super::super::payload::Payload;
use super::super::settings;
use super::eval::Verdict;

/// What a model should do next.
pub fn guidance(settings: &settings::Sessions, payload: &Payload, verdict: &Verdict) -> Vec<String> {
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
pub fn history_notices(settings: &settings::Sessions, verdict: &Verdict, committed: bool) -> Json {
    match committed && verdict.history_cut {
        true => {
            json!([{"name": "*1", "reason": "max_history_entry_bytes", "max": settings.history_entry_bytes}])
        }
        false => json!([]),
    }
}

/// The parts of the last line of the text.
pub fn notes(committed: bool, changed: &[String], ledger: Option<&[LedgerEntry]>) -> Vec<String> {
    let mut notes = Vec::new();
    if !committed {
        notes.push("rolled back".to_owned());
    }
    if !changed.is_empty() {
        notes.push(format!("stored: {}", changed.join(", ")));
    }
    if let Some(calls) = ledger.filter(|calls| !calls.is_empty()) {
        notes.push(format!("turn upstream calls: {}", calls.len()));
    }
    notes
}
