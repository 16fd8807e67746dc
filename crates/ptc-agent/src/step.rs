//! What comes of a run: a step, with its turns, calls and usage. It can be written as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::compact::CompactionStats;
use crate::model::Message;
use crate::reason::Reason;

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fail {
    /// The reason, from the table or the program's own.
    pub reason: Reason,
    /// What happened.
    pub message: String,
    /// The operation that failed, if the program said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub details: Json,
}

impl Fail {
    /// A failure without details.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Fail { reason, message: message.into(), op: None, details: Json::Null }
    }

    /// As programs see it: `{reason, message}`, and `op` and `details` if there are any.
    pub(crate) fn json(&self) -> Json {
        let mut fields = Map::new();
        fields.insert("reason".into(), Json::from(self.reason.as_str()));
        fields.insert("message".into(), Json::from(self.message.as_str()));
        fields.extend(self.op.as_ref().map(|op| ("op".to_owned(), Json::from(op.as_str()))));
        if !self.details.is_null() {
            fields.insert("details".into(), self.details.clone());
        }
        Json::Object(fields)
    }
}

impl fmt::Display for Fail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.message)
    }
}

impl std::error::Error for Fail {}

/// Why there is no answer of the wanted type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The run failed.
    #[error(transparent)]
    Failed(#[from] Fail),
    /// The answer is not what the type wants; the signature of the agent decides what it may be.
    #[error("the answer does not fit the Rust type: {0}")]
    Shape(#[from] serde_json::Error),
}

/// What a turn was for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnType {
    /// Work.
    #[default]
    Normal,
    /// The last turn of work.
    MustReturn,
    /// A correction.
    Retry,
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The tool.
    pub name: String,
    /// Its arguments, or the beginning of their text.
    pub args: Json,
    /// Whether `args` is only the beginning of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub args_truncated: bool,
    /// What it gave, or a preview of that; null if it failed.
    pub result: Json,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub timestamp: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether the result came from the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Whether it was refused before the tool was asked: by its contract, by a limit, or because there is no such tool.
    /// Calls that were refused or came from the cache are not among `Usage::tool_calls`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Whether nobody knows what it did: it may have changed something, and its program ended before the answer came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outcome_unknown: bool,
    /// Whether `result` is a preview of something longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub result_truncated: bool,
    /// Bytes of the result.
    #[serde(default)]
    pub result_bytes: usize,
    /// Notes of what was converted in the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What a person decided, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<crate::tool::Verdict>,
}

/// A call of a tool of an upstream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamCall {
    /// The server.
    pub server: String,
    /// Its tool.
    pub tool: String,
    /// `ok` or `error`.
    pub status: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Bytes of the result, if there was one.
    pub result_bytes: Option<usize>,
    /// Why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether the result came from the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What a person decided, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<crate::tool::Verdict>,
}

impl UpstreamCall {
    /// The call of a record and what it gave.
    pub(crate) fn of(record: &CallRecord, result: Option<&crate::tool::ToolResult>) -> Self {
        let text = |value: &Json, key: &str| value[key].as_str().map(str::to_owned);
        let call = UpstreamCall {
            server: text(&record.args, "server").unwrap_or_default(),
            tool: text(&record.args, "tool").unwrap_or_default(),
            duration_ms: record.duration_ms,
            cached: record.cached,
            approval: record.approval,
            ..UpstreamCall::default()
        };
        let failed =
            |reason, error| UpstreamCall { status: "error".to_owned(), reason, error, ..call.clone() };
        match result {
            Some(Ok(value)) if value["ok"] == true => {
                let bytes = crate::cache::json_bytes(&value["value"]);
                let result_bytes = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
                UpstreamCall { status: "ok".to_owned(), result_bytes, ..call }
            }
            Some(Ok(fault)) => failed(text(fault, "reason"), text(fault, "message")),
            Some(Err(message)) => failed(None, Some(message.clone())),
            None => {
                let unknown = record.outcome_unknown.then(|| "outcome_unknown".to_owned());
                failed(unknown, record.error.clone())
            }
        }
    }
}

/// A turn: what the model answered and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its number, from 1.
    pub number: u32,
    /// What it was for.
    #[serde(rename = "type")]
    pub kind: TurnType,
    /// The whole reply.
    pub raw_response: String,
    /// The program, if there was one.
    pub program: Option<String>,
    /// What was repaired in the program before it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<String>,
    /// The value, or `{reason, message, …}` if the turn failed.
    pub result: Json,
    /// Whether it went well.
    #[serde(rename = "success?")]
    pub success: bool,
    /// Lines that the program printed.
    pub prints: Vec<String>,
    /// Calls of tools.
    pub tool_calls: Vec<CallRecord>,
    /// Definitions that the turn made or changed; the step has all of them at the end.
    pub memory: Map<String, Json>,
    /// Work that the program did.
    #[serde(default)]
    pub fuel: u64,
    /// The messages that the model was sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<Message>,
}

/// What a run used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// How long it took.
    pub duration_ms: u64,
    /// Bytes of all definitions at the end.
    pub memory_bytes: usize,
    /// Turns.
    pub turns: u32,
    /// Requests to models, retries included.
    pub llm_requests: u32,
    /// Tokens of requests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub input_tokens: u64,
    /// Tokens of replies.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_tokens: u64,
    /// Tokens of both.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub total_tokens: u64,
    /// About how many tokens the system prompt has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub system_prompt_tokens: u64,
    /// Tokens written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_creation_tokens: u64,
    /// Tokens read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_read_tokens: u64,
    /// Dollars, where providers say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Whether the answer is the last value instead of a returned one.
    #[serde(default)]
    pub fallback_used: bool,
    /// Whether the provider was given a schema.
    #[serde(default)]
    pub schema_used: bool,
    /// Bytes of that schema.
    #[serde(default)]
    pub schema_bytes: usize,
    /// Work of all programs.
    pub fuel: u64,
    /// Calls of tools that were made, natively and in programs, by this agent and those that it called.
    pub tool_calls: u64,
    /// Bytes that inputs and results of tools brought, as JSON, less all bytes of values, samples, results, prints and
    /// reports of errors that requests showed, each time that they did; never below zero. At least so much no model saw.
    pub bytes_kept: u64,
    /// What the last compaction did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionStats>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A tool as the step remembers it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolInfo {
    /// Its signature, if it has one.
    pub signature: Option<String>,
    /// What it does.
    pub description: Option<String>,
}

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The answer; null if it failed.
    #[serde(rename = "return")]
    pub value: Json,
    /// Why it failed.
    pub fail: Option<Fail>,
    /// Definitions at the end, as JSON.
    pub memory: Map<String, Json>,
    /// Results of tasks, by id.
    pub journal: Map<String, Json>,
    /// Summaries of plan steps.
    pub summaries: BTreeMap<String, String>,
    /// The signature of the agent.
    pub signature: Option<String>,
    /// What was used.
    pub usage: Usage,
    /// Every turn, unless the run was told to drop them.
    pub turns: Option<Vec<Turn>>,
    /// Lines that the last program printed.
    pub prints: Vec<String>,
    /// Calls of the last program; of the whole run in text mode.
    pub tool_calls: Vec<CallRecord>,
    /// Calls of tools of upstreams, of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream_calls: Vec<UpstreamCall>,
    /// Steps of agents that this one called.
    pub child_steps: Vec<Step>,
    /// The conversation, if the run was told to collect it.
    pub messages: Option<Vec<Message>>,
    /// The mission with its values.
    pub prompt: Option<String>,
    /// The mission with its placeholders.
    pub original_prompt: Option<String>,
    /// The tools it had.
    pub tools: BTreeMap<String, ToolInfo>,
    /// What fields of the answer mean.
    pub field_descriptions: BTreeMap<String, String>,
    /// The agent's name.
    pub name: Option<String>,
    /// The trace of the run.
    pub trace_id: Option<String>,
    /// The trace of the run that called it.
    pub parent_trace_id: Option<String>,
    /// Keys of cached results: tool and arguments, with their bytes.
    pub tool_cache: BTreeMap<String, usize>,
    /// Warnings of the run: failed previews, validation that only warns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The prelude of the agent: hashes, namespaces and exports, nothing of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prelude_trace: Option<Json>,
}

impl Step {
    /// A step that failed before it began.
    pub fn failed(fail: Fail) -> Self {
        Step { fail: Some(fail), ..Step::default() }
    }

    /// Whether it went well.
    pub fn is_ok(&self) -> bool {
        self.fail.is_none()
    }

    /// The answer, or why there is none.
    pub fn result(&self) -> Result<&Json, Fail> {
        self.fail.clone().map_or(Ok(&self.value), Err)
    }

    /// The answer as a Rust type. [`Builder::returns`](crate::Builder::returns) has the agent answer with it.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, AnswerError> {
        Ok(T::deserialize(self.result()?)?)
    }

    /// The turns, or nothing if the run was told to drop them.
    pub fn trace(&self) -> &[Turn] {
        self.turns.as_deref().unwrap_or_default()
    }
}
