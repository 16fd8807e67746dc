//! How much of what happens in a run is shown to the model (1.40).

use serde::{Deserialize, Serialize};

use super::Limits;

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

/// How much is shown of results, printed text and memory, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FormatOptions {
    /// How many changed definitions the feedback shows, and how many items of each.
    pub feedback_limit: usize,
    /// Characters of printed text and of errors in the feedback.
    pub feedback_max_chars: usize,
    /// Bytes of text that each of `*1 *2 *3` may be; 0 for whole values, so that a value that was too long to
    /// show is at hand in the next program.
    pub history_max_bytes: usize,
    /// Items of each collection in a result.
    pub result_limit: usize,
    /// Characters of a result in the answer to a native tool call.
    pub result_max_chars: usize,
    /// Characters of one printed line.
    pub max_print_length: usize,
    /// Characters of the preview of a result or definition in the feedback.
    pub preview_max_chars: usize,
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
            feedback_limit: 10,
            feedback_max_chars: 512,
            history_max_bytes: 0,
            result_limit: 50,
            result_max_chars: 500,
            max_print_length: 2000,
            preview_max_chars: 250,
            minimal_turn_info: false,
            mission_log_in: MissionLogIn::SystemPrompt,
            context_in_system: false,
        }
    }
}

impl FormatOptions {
    /// How much of a result the feedback shows.
    pub(crate) fn result(&self) -> Limits {
        Limits { items: self.result_limit, chars: self.preview_max_chars }
    }

    /// How much of a result the answer to a native tool call shows.
    pub(crate) fn answer(&self) -> Limits {
        Limits { items: self.result_limit, chars: self.result_max_chars }
    }

    /// How much of a changed definition the feedback shows.
    pub(crate) fn definition(&self) -> Limits {
        Limits { items: self.feedback_limit, chars: self.preview_max_chars }
    }
}
