//! The options of an agent: every one with its default, and what the two profiles change.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ptc_lisp::prelude::Prelude;
use ptc_signature::{Mode, OnMissing};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::retry::Retry;
use crate::compact::Compaction;
use crate::journal::{PlanItem, ProgressFn};
use crate::model::{Llm, Output};
use crate::prompt::SystemPrompt;
use crate::render::FormatOptions;
use crate::reply::Multiple;
use crate::tool::Tool;

/// Which set of defaults an agent starts from. Every one of them can be set on its own, and programs may
/// use the spellings of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Today's.
    #[default]
    Current,
    /// Those of the first draft of the specification.
    Draft,
}

/// How a program comes from the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// In the text of the reply.
    Content,
    /// As the argument of the tool `lisp_eval`.
    ToolCall,
}

/// When a run of several turns is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// `(return …)`, or at the end of the turns the last value.
    #[default]
    Implicit,
    /// `(return …)` only.
    Explicit,
}

/// What happens when definitions outgrow their limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryStrategy {
    /// The run fails.
    Strict,
    /// The definitions of the turn are taken back, the model is told, and the run goes on.
    #[default]
    Rollback,
}

/// Limits of what prompts show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptLimit {
    /// Characters of the system prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<usize>,
    /// Rows of each input that the prompt shows, where `samples` does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<usize>,
    /// Characters of a text in samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<usize>,
}

/// All options of an agent.
#[derive(Clone)]
#[allow(missing_docs)] // The table in `named.rs` documents each.
pub struct Options {
    pub profile: Profile,
    pub prompt: String,
    /// Whether the prompt is taken as it is, without placeholders.
    pub literal_prompt: bool,
    /// Whether the inputs are made up, so that nothing of them may be shown.
    pub made_up: bool,
    pub signature: Option<String>,
    pub tools: Vec<Tool>,
    pub tool_catalog: Vec<Tool>,
    pub prelude: Option<Arc<Prelude>>,
    pub output: Output,
    pub ptc_transport: Option<Transport>,
    pub llm: Option<Llm>,
    pub llm_retry: Option<Retry>,
    pub llm_opts: Json,
    pub max_turns: u32,
    pub retry_turns: u32,
    pub max_tool_calls: Option<u64>,
    pub max_consecutive_failures: Option<u32>,
    pub completion_mode: Completion,
    pub timeout_ms: u64,
    pub mission_timeout_ms: Option<u64>,
    pub max_heap: Option<usize>,
    pub fuel: Option<u64>,
    pub memory_limit: Option<usize>,
    pub memory_strategy: MemoryStrategy,
    pub pmap_timeout_ms: u64,
    pub pmap_max_concurrency: Option<usize>,
    pub max_depth: u32,
    pub turn_budget: u64,
    pub tool_call_budget: Option<u64>,
    pub fuel_budget: Option<u64>,
    pub token_limit: Option<u64>,
    pub max_cost_usd: Option<f64>,
    pub name: Option<String>,
    pub description: Option<String>,
    pub field_descriptions: BTreeMap<String, String>,
    pub context_descriptions: BTreeMap<String, String>,
    pub context_signature: Option<String>,
    pub signature_validation: Mode,
    pub schema: Option<Json>,
    pub system_prompt: SystemPrompt,
    pub prompt_limit: PromptLimit,
    pub samples: Option<usize>,
    pub format: FormatOptions,
    pub float_precision: Option<u32>,
    pub thinking: bool,
    pub compaction: Option<Compaction>,
    pub llm_query: bool,
    pub builtin_tools: Vec<String>,
    pub plan: Vec<PlanItem>,
    pub progress: Option<ProgressFn>,
    pub journaling: bool,
    pub firewall: bool,
    pub fallback: bool,
    pub multiple_blocks: Multiple,
    pub on_missing: OnMissing,
    pub depth_inclusive: bool,
    pub tool_errors_as_data: bool,
    pub tool_cache_limit: Option<usize>,
}

impl Options {
    /// The defaults of a profile.
    pub fn of(profile: Profile) -> Self {
        let current = Options {
            profile,
            prompt: String::new(),
            literal_prompt: false,
            made_up: false,
            signature: None,
            tools: Vec::new(),
            tool_catalog: Vec::new(),
            prelude: None,
            output: Output::PtcLisp,
            ptc_transport: None,
            llm: None,
            llm_retry: None,
            llm_opts: Json::Null,
            max_turns: 5,
            retry_turns: 0,
            max_tool_calls: None,
            max_consecutive_failures: None,
            completion_mode: Completion::Implicit,
            timeout_ms: 5_000,
            mission_timeout_ms: None,
            max_heap: None,
            fuel: None,
            memory_limit: None,
            memory_strategy: MemoryStrategy::Rollback,
            pmap_timeout_ms: 5_000,
            pmap_max_concurrency: None,
            max_depth: 3,
            turn_budget: 20,
            tool_call_budget: None,
            fuel_budget: None,
            token_limit: None,
            max_cost_usd: None,
            name: None,
            description: None,
            field_descriptions: BTreeMap::new(),
            context_descriptions: BTreeMap::new(),
            context_signature: None,
            signature_validation: Mode::Enabled,
            schema: None,
            system_prompt: SystemPrompt::Standard,
            prompt_limit: PromptLimit::default(),
            samples: None,
            format: FormatOptions::default(),
            float_precision: None,
            thinking: false,
            compaction: None,
            llm_query: false,
            builtin_tools: Vec::new(),
            plan: Vec::new(),
            progress: None,
            journaling: false,
            firewall: true,
            fallback: false,
            multiple_blocks: Multiple::Reject,
            on_missing: OnMissing::Keep,
            depth_inclusive: false,
            tool_errors_as_data: false,
            tool_cache_limit: None,
        };
        match profile {
            Profile::Current => current,
            Profile::Draft => Options {
                llm_retry: Some(Retry::draft()),
                mission_timeout_ms: Some(60_000),
                prompt_limit: PromptLimit { max_chars: None, list: Some(5), string: Some(1_000) },
                format: FormatOptions { context_in_system: true, ..FormatOptions::default() },
                multiple_blocks: Multiple::Sequence,
                on_missing: OnMissing::Error,
                depth_inclusive: true,
                ..current
            },
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("name", &self.name)
            .field("prompt", &self.prompt)
            .field("signature", &self.signature)
            .field("output", &self.output)
            .field("ptc_transport", &self.ptc_transport)
            .finish_non_exhaustive()
    }
}
