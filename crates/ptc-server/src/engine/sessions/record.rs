//! What a store keeps of a session: what it is made of, and what changes with programs. The dump of its machine stands
//! beside it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::super::text::moment;
use super::preludes::Recipe;
use super::{SessionFacts, SessionState};

/// The form of what is stored. A form that this server cannot read takes the next number.
pub const FORMAT: u32 = 1;

/// What a session is made of; never changes.
#[derive(Debug, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// The form.
    pub format: u32,
    /// Its preludes, by content.
    pub preludes: Recipe,
}

/// What changes with programs, and what lists say.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Meta {
    /// Its title.
    pub title: Option<String>,
    /// What it may do with the prelude store.
    pub mode: String,
    /// Its tags.
    pub tags: Map<String, Json>,
    /// Its role, and the checksum of what that grants.
    pub role: Option<(String, String)>,
    /// Programs that were kept.
    pub turn: u64,
    /// How often its definitions were changed.
    #[serde(default)]
    pub changes: u64,
    /// Programs that were tried.
    pub attempts: u64,
    /// When it was last changed.
    pub updated_ms: i64,
    /// Bytes of its bindings.
    pub memory_bytes: usize,
    /// The names of its bindings.
    pub stored: Vec<String>,
    /// Printed lines.
    pub prints: Vec<Json>,
    /// Calls of the server's own tools.
    pub tool_calls: Vec<Json>,
    /// Upstream calls.
    pub upstream_calls: Vec<Json>,
}

/// Whether a dump of its machine belongs to a session of which this is said in a store.
pub fn has_definitions(stored: &[u8]) -> bool {
    serde_json::from_slice::<Meta>(stored).is_ok_and(|meta| meta.has_definitions())
}

impl Meta {
    /// Of a session in this state.
    pub fn of(facts: &SessionFacts, state: &SessionState) -> Meta {
        Meta {
            prints: state.prints.entries(),
            tool_calls: state.tool_calls.entries(),
            upstream_calls: state.upstream_calls.entries(),
            ..Meta::without_logs(facts, state)
        }
    }

    /// The same without what it remembers of its past.
    pub fn without_logs(facts: &SessionFacts, state: &SessionState) -> Meta {
        Meta {
            title: facts.title.clone(),
            mode: facts.mode.name().to_owned(),
            tags: facts.tags.clone(),
            role: facts.role.clone(),
            turn: state.turn,
            changes: state.changes,
            attempts: state.attempts,
            updated_ms: state.updated_ms,
            memory_bytes: state.memory_bytes,
            stored: state.stored.clone(),
            ..Meta::default()
        }
    }

    /// Whether a dump of its machine belongs to it.
    pub fn has_definitions(&self) -> bool {
        self.changes > 0 || !self.stored.is_empty()
    }

    /// As it is stored.
    pub fn to_json(&self) -> Json {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// What lists and inspections say about it.
    pub fn summary(&self, id: &str, created_ms: i64, expires_ms: i64, runs: bool) -> Json {
        let mut summary = json!({
            "session_id": id,
            "title": self.title,
            "mode": self.mode,
            "turn": self.turn,
            "created_at": moment(created_ms),
            "updated_at": moment(self.updated_ms),
            "expires_at": moment(expires_ms),
            "eval_status": if runs { "running" } else { "idle" },
            "memory_bytes": self.memory_bytes,
            "binding_count": self.stored.len(),
        });
        if let Some((role, fingerprint)) = &self.role {
            summary["role"] = role.as_str().into();
            summary["grant_fingerprint"] = fingerprint.as_str().into();
        }
        if !self.tags.is_empty() {
            summary["tags"] = self.tags.clone().into();
        }
        summary
    }
}
