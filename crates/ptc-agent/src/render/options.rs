//! How much of what happens in a run is shown to the model (1.40).

use serde::{Deserialize, Serialize};

/// Where the mission log stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissionLogIn {
    /// In the system prompt.
    #[default]
    SystemPrompt,
    /// Before the first user message, so that the system prompt stays the same.
    UserMessage,
}

/// Bytes of a result that a model is shown whole. What is longer becomes a handle.
pub const RESULT_BYTES: usize = 8_192;

/// Bytes of printed text that a model is shown.
pub const PRINT_BYTES: usize = 8_192;

/// How much is shown of results, printed text and memory, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FormatOptions {
    /// Bytes of a result, or of the error in its place.
    pub result_max_bytes: usize,
    /// Bytes of all that a program printed.
    pub print_max_bytes: usize,
    /// How many changed definitions the feedback shows.
    pub feedback_limit: usize,
    /// Bytes of text that each of `*1 *2 *3` may be; 0 for whole values, so that a value that was too long to
    /// show is at hand in the next program.
    pub history_max_bytes: usize,
    /// Whether the feedback only counts turns when few are left.
    pub minimal_turn_info: bool,
    /// Where the mission log stands.
    pub mission_log_in: MissionLogIn,
    /// Whether the inventory stands in the system prompt.
    pub context_in_system: bool,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions {
            result_max_bytes: RESULT_BYTES,
            print_max_bytes: PRINT_BYTES,
            feedback_limit: 10,
            history_max_bytes: 0,
            minimal_turn_info: false,
            mission_log_in: MissionLogIn::SystemPrompt,
            context_in_system: false,
        }
    }
}
