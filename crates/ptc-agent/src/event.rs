//! What happened in a run, for traces and telemetry: events with names, measurements and facts. A run
//! collects them; the driver takes them out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// An event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its name, `run.start` for instance.
    pub event: String,
    /// The run it belongs to: 32 hexadecimal digits.
    #[serde(default)]
    pub trace_id: String,
    /// When, in milliseconds since 1970.
    pub timestamp: u64,
    /// The span it belongs to: eight hexadecimal digits.
    pub span_id: String,
    /// The span around that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// The agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The agent's id.
    pub agent_id: String,
    /// Numbers: durations, tokens.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub measurements: Map<String, Json>,
    /// Facts.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Json>,
}

impl Event {
    /// The name with the prefix of the library.
    pub fn full_name(&self) -> String {
        match self.event.starts_with("lisp.") {
            true => format!("ptc_runner.{}", self.event),
            false => format!("ptc_runner.sub_agent.{}", self.event),
        }
    }

    /// The name that the first draft of the specification gave it, if it had one.
    pub fn draft_name(&self) -> Option<&'static str> {
        match self.event.as_str() {
            "run.start" => Some("ptc.subagent.mission_start"),
            "run.stop" => Some("ptc.subagent.mission_stop"),
            "turn.start" => Some("ptc.subagent.turn_start"),
            "turn.stop" => Some("ptc.subagent.turn_stop"),
            _ => None,
        }
    }
}
