//! Shortens conversations: what is sent keeps the beginning and the latest turns; what is stored stays whole.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::model::{Message, Role};

/// Counts the tokens of a text.
pub type TokenCounter = Arc<dyn Fn(&str) -> u64 + Send + Sync>;

/// When and how a conversation is shortened.
#[derive(Clone)]
pub struct Compaction {
    /// Shorten from the turn after this one.
    pub trigger_turns: Option<u32>,
    /// Shorten from this many tokens.
    pub trigger_tokens: Option<u64>,
    /// How many of the latest turns stay.
    pub keep_recent_turns: u32,
    /// Whether the first message of the host stays.
    pub keep_initial_user: bool,
    /// Counts tokens; without it four characters are one.
    pub token_counter: Option<TokenCounter>,
}

impl Default for Compaction {
    fn default() -> Self {
        Compaction {
            trigger_turns: Some(8),
            trigger_tokens: None,
            keep_recent_turns: 3,
            keep_initial_user: true,
            token_counter: None,
        }
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction")
            .field("trigger_turns", &self.trigger_turns)
            .field("trigger_tokens", &self.trigger_tokens)
            .field("keep_recent_turns", &self.keep_recent_turns)
            .field("keep_initial_user", &self.keep_initial_user)
            .field("token_counter", &self.token_counter.is_some())
            .finish()
    }
}

/// Why options of compaction cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// It is something else.
    #[error("compaction: expected true, false or options, got {0}")]
    NotOptions(String),
    /// It says nothing.
    #[error("compaction: the options are empty; write true for the defaults")]
    Empty,
    /// An option that does not exist.
    #[error(
        "compaction: there is no option `{0}`; known are strategy, trigger, keep_recent_turns, keep_initial_user"
    )]
    UnknownOption(String),
    /// A strategy that does not exist.
    #[error("compaction: strategy {0} is not known; the only one is \"trim\"")]
    Strategy(String),
    /// A strategy of the host's own.
    #[error("compaction: strategies of your own are not supported yet; use \"trim\"")]
    CustomStrategy,
    /// A trigger that is no trigger.
    #[error("compaction: trigger {0}; write {{\"turns\": 8}}, {{\"tokens\": 4000}} or both")]
    Trigger(String),
    /// An option with a value it cannot have.
    #[error("compaction: {option} must be {wanted}, got {got}")]
    Value {
        /// The option.
        option: &'static str,
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        got: String,
    },
}

impl Compaction {
    /// Reads options: nothing for `null` and `false`, the defaults for `true`, else what an object says.
    pub fn from_json(json: &Json) -> Result<Option<Compaction>, CompactionError> {
        match json {
            Json::Null | Json::Bool(false) => Ok(None),
            Json::Bool(true) => Ok(Some(Compaction::default())),
            Json::Array(items) if items.is_empty() => Err(CompactionError::Empty),
            Json::Object(options) if options.is_empty() => Err(CompactionError::Empty),
            Json::Object(options) => {
                let mut compaction = Compaction::default();
                options.iter().try_for_each(|(key, value)| compaction.set(key, value))?;
                Ok(Some(compaction))
            }
            other => Err(CompactionError::NotOptions(other.to_string())),
        }
    }

    fn set(&mut self, key: &str, value: &Json) -> Result<(), CompactionError> {
        match key {
            "strategy" => match value {
                Json::String(name) if name == "trim" => Ok(()),
                Json::Object(_) | Json::Array(_) => Err(CompactionError::CustomStrategy),
                other => Err(CompactionError::Strategy(other.to_string())),
            },
            "trigger" => self.set_trigger(value),
            "keep_recent_turns" => {
                self.keep_recent_turns = small(value, "keep_recent_turns")?;
                Ok(())
            }
            "keep_initial_user" => {
                let wrong = |got| CompactionError::Value {
                    option: "keep_initial_user",
                    wanted: "true or false",
                    got,
                };
                self.keep_initial_user = value.as_bool().ok_or_else(|| wrong(value.to_string()))?;
                Ok(())
            }
            other => Err(CompactionError::UnknownOption(other.to_owned())),
        }
    }

    fn set_trigger(&mut self, value: &Json) -> Result<(), CompactionError> {
        let Some(triggers) = value.as_object() else {
            return Err(CompactionError::Trigger(format!("is {value}")));
        };
        if triggers.is_empty() {
            return Err(CompactionError::Trigger("is empty".to_owned()));
        }
        (self.trigger_turns, self.trigger_tokens) = (None, None);
        for (key, value) in triggers {
            match key.as_str() {
                "turns" => self.trigger_turns = Some(small(value, "trigger.turns")?),
                "tokens" => self.trigger_tokens = Some(positive(value, "trigger.tokens")?),
                other => return Err(CompactionError::Trigger(format!("has no `{other}`"))),
            }
        }
        Ok(())
    }

    /// Checks options that were set as fields.
    pub fn check(&self) -> Result<(), CompactionError> {
        let zero = |option| CompactionError::Value {
            option,
            wanted: "a positive whole number",
            got: "0".to_owned(),
        };
        match self {
            Compaction { trigger_turns: None, trigger_tokens: None, .. } => {
                Err(CompactionError::Trigger("is empty".to_owned()))
            }
            Compaction { trigger_turns: Some(0), .. } => Err(zero("trigger.turns")),
            Compaction { trigger_tokens: Some(0), .. } => Err(zero("trigger.tokens")),
            Compaction { keep_recent_turns: 0, .. } => Err(zero("keep_recent_turns")),
            _ => Ok(()),
        }
    }

    /// What is sent of the messages before this turn, and what was done to them.
    pub(crate) fn apply(&self, messages: &[Message], turn: u32) -> (Vec<Message>, CompactionStats) {
        let before: u64 = messages.iter().map(|message| self.tokens(message)).sum();
        let reason = self.reason(turn, before);
        let kept = reason.and_then(|_| self.trim(messages));
        let triggered = kept.is_some();
        let initial = triggered && self.initial(messages);
        let sent = kept.unwrap_or_else(|| messages.to_vec());
        let over = |limit: u64| sent.iter().any(|message| self.tokens(message) > limit);
        let stats = CompactionStats {
            enabled: true,
            triggered,
            strategy: "trim".to_owned(),
            reason: reason.filter(|_| triggered),
            messages_before: messages.len(),
            messages_after: sent.len(),
            estimated_tokens_before: before,
            estimated_tokens_after: sent.iter().map(|message| self.tokens(message)).sum(),
            kept_initial_user: initial,
            kept_recent_turns: if triggered { self.keep_recent_turns } else { 0 },
            over_budget: triggered && self.trigger_tokens.is_some_and(over),
        };
        (sent, stats)
    }

    fn reason(&self, turn: u32, tokens: u64) -> Option<CompactionReason> {
        if self.trigger_turns.is_some_and(|turns| turn > turns) {
            Some(CompactionReason::TurnPressure)
        } else if self.trigger_tokens.is_some_and(|most| tokens >= most) {
            Some(CompactionReason::TokenPressure)
        } else {
            None
        }
    }

    fn initial(&self, messages: &[Message]) -> bool {
        self.keep_initial_user && messages.first().is_some_and(|message| message.role == Role::User)
    }

    /// The first message and the latest ones; `None` if that is all of them.
    fn trim(&self, messages: &[Message]) -> Option<Vec<Message>> {
        let recent = 2 * self.keep_recent_turns as usize;
        let initial = usize::from(self.initial(messages));
        if messages.len() <= recent + initial {
            return None;
        }
        let from = messages.len() - recent;
        // Where nothing can begin, because one call has more results than are kept, its whole group stays.
        let begins = |at: &usize| begins_whole(messages, *at);
        let start = (from..messages.len()).find(begins).or_else(|| (initial..from).rev().find(begins))?;
        let kept = messages[..initial].iter().chain(&messages[start..]).cloned().collect::<Vec<_>>();
        (kept.len() < messages.len()).then_some(kept)
    }

    fn tokens(&self, message: &Message) -> u64 {
        let calls = message.tool_calls.iter().map(|call| self.text_tokens(&call.args.to_string()));
        self.text_tokens(&message.content) + calls.sum::<u64>()
    }

    fn text_tokens(&self, text: &str) -> u64 {
        match &self.token_counter {
            Some(count) => count(text),
            None => estimate(text),
        }
    }
}

/// About how many tokens a text has: a token for four characters, at least one.
pub(crate) fn estimate(text: &str) -> u64 {
    if text.is_empty() { 0 } else { (text.chars().count() as u64 / 4).max(1) }
}

/// Whether a conversation can begin here: with the host, or with calls whose results all follow.
fn begins_whole(messages: &[Message], at: usize) -> bool {
    let message = &messages[at];
    match message.role {
        Role::User => true,
        Role::System | Role::Tool => false,
        Role::Assistant => {
            let answers = messages[at + 1..].iter().take_while(|answer| answer.role == Role::Tool);
            let answered: Vec<_> = answers.filter_map(|answer| answer.tool_call_id.as_deref()).collect();
            !message.tool_calls.is_empty()
                && message.tool_calls.iter().all(|call| answered.contains(&call.id.as_str()))
        }
    }
}

fn positive(value: &Json, option: &'static str) -> Result<u64, CompactionError> {
    let wrong =
        || CompactionError::Value { option, wanted: "a positive whole number", got: value.to_string() };
    value.as_u64().filter(|number| *number > 0).ok_or_else(wrong)
}

fn small(value: &Json, option: &'static str) -> Result<u32, CompactionError> {
    let number = positive(value, option)?;
    let wrong = |_| CompactionError::Value { option, wanted: "a number of turns", got: value.to_string() };
    u32::try_from(number).map_err(wrong)
}

/// Why a conversation was shortened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// Many turns.
    TurnPressure,
    /// Many tokens.
    TokenPressure,
}

/// What was done to a conversation. All fields are always there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionStats {
    /// Whether the agent has compaction.
    pub enabled: bool,
    /// Whether anything was left out.
    pub triggered: bool,
    /// How.
    pub strategy: String,
    /// Why.
    pub reason: Option<CompactionReason>,
    /// Messages that there are.
    pub messages_before: usize,
    /// Messages that were sent.
    pub messages_after: usize,
    /// About their tokens.
    pub estimated_tokens_before: u64,
    /// About the tokens of what was sent.
    pub estimated_tokens_after: u64,
    /// Whether the first message of the host was kept.
    pub kept_initial_user: bool,
    /// How many of the latest turns were kept.
    pub kept_recent_turns: u32,
    /// Whether a message that was kept is by itself over the limit of tokens.
    pub over_budget: bool,
}

#[cfg(test)]
#[path = "compact_tests.rs"]
mod tests;
