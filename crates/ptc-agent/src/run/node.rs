//! One agent of a run: its conversation, its machine, and where it stands.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::calls::Batch;
use super::sandbox::Sandbox;
use super::sent::Sent;
use crate::agent::Agent;
use crate::budget::{AccountId, Reservation};
use crate::cache::ToolCache;
use crate::model::{Llm, Message, ModelError, Reply, Tokens};
use crate::render::Veil;
use crate::step::{CallRecord, Fail, Step, Turn, TurnType, UpstreamCall, Usage};
use crate::written::{Datum, WrittenInputs};

/// Who waits for a node: a call of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Caller {
    pub node: usize,
    pub slot: usize,
}

/// Where the agent of a node is written down, so that a saved run finds it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// The agent that the run is of.
    Root,
    /// A tool of the caller's agent.
    Tool(String),
    /// The arguments of `llm-query`.
    Query(Json),
}

/// What happens with the value of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum After {
    /// The turn goes on as the content transport says.
    Content,
    /// It answers the call of `lisp_eval` with this id.
    Eval(String),
    /// It is the answer: the program is all there is.
    Whole,
}

/// Where a node stands.
#[derive(Debug)]
pub(crate) enum State {
    /// Before the first turn.
    New,
    /// Between two turns.
    Between,
    /// Waits for a model.
    Asking(Asking),
    /// Has the model's reply, or why there is none.
    Replied(Result<Reply, ModelError>),
    /// Runs a program.
    Program(After),
    /// A program waits for tools.
    Calls(After, Batch),
    /// The program took longer than so many milliseconds.
    Expired(After, u64),
    /// The model waits for tools.
    Native(Batch),
    /// Has its outcome.
    Over,
}

/// A question to the model that is on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Asking {
    pub attempt: u32,
    pub since: u64,
    pub tokens: Option<Reservation>,
    pub cost: Option<Reservation>,
}

/// How many turns there were and are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub turn: u32,
    pub work_left: u32,
    pub retry_left: u32,
    pub failures_in_row: u32,
}

impl Tally {
    /// What the next turn is for.
    pub fn kind(&self) -> TurnType {
        match self.work_left {
            0 => TurnType::Retry,
            1 => TurnType::MustReturn,
            _ => TurnType::Normal,
        }
    }

    /// Begins a turn.
    pub fn begin(&mut self) {
        self.turn = self.turn.saturating_add(1);
        match self.work_left {
            0 => self.retry_left = self.retry_left.saturating_sub(1),
            _ => self.work_left -= 1,
        }
    }

    pub fn is_exhausted(&self) -> bool {
        self.work_left == 0 && self.retry_left == 0
    }
}

/// The spans of what is under way, for events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Spans {
    pub turn: String,
    pub llm: String,
    pub program: String,
    /// What the reply of this turn used.
    pub tokens: Tokens,
}

/// What a run collects on its way, apart from where it stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Book {
    pub tally: Tally,
    /// The turn under way.
    pub draft: Turn,
    pub turn_began: u64,
    pub turns: Vec<Turn>,
    /// Memory of what the records of turns keep whole.
    #[serde(default)]
    pub kept_bytes: usize,
    pub usage: Usage,
    /// Bytes that inputs and tools brought, each result once.
    #[serde(default)]
    pub brought: u64,
    /// Bytes of values, samples, results, prints and reports that stood in some request: at most so many of those that
    /// were brought.
    #[serde(default)]
    pub shown: u64,
    /// The same of messages that the next request will hold.
    #[serde(default)]
    pub told: u64,
    /// Tools that the program waited for when its time was over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaited: Vec<String>,
    /// Those of them that may have changed something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    pub summaries: Vec<(String, String)>,
    pub child_steps: Vec<Step>,
    /// Calls of the last program; in text mode, of the run.
    pub calls: Vec<CallRecord>,
    pub prints: Vec<String>,
    /// Calls of upstreams, of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream_calls: Vec<UpstreamCall>,
    /// Native calls, which `max_tool_calls` limits over the whole run.
    pub native_calls: u64,
    /// What the turn before failed with, for `data/fail`.
    pub last_fail: Json,
    pub progress_state: Json,
    pub warnings: Vec<String>,
    /// Fuel that is held for the program that runs.
    pub fuel_held: Option<Reservation>,
    /// Fuel that the program may have used by now, where it is held.
    pub fuel_limit: Option<u64>,
    /// Fuel of the program that is counted already.
    pub fuel_counted: u64,
    /// Whether the answer went out piece by piece.
    pub streamed: bool,
    #[serde(default)]
    pub spans: Spans,
    /// What events told of requests. A run that was saved tells all of it again, in the trace that begins then.
    #[serde(skip)]
    pub sent: Sent,
}

/// How many warnings a step lists: whoever calls a tool chooses how many there are.
const WARNINGS: usize = 100;

impl Book {
    /// Notes that the next request holds so many bytes of what programs gave.
    pub fn tell(&mut self, bytes: usize) {
        self.told = self.told.saturating_add(bytes as u64);
    }

    /// A request is made: what was told is shown, and so are these bytes.
    pub fn show(&mut self, bytes: usize) {
        let told = std::mem::take(&mut self.told);
        self.shown = self.shown.saturating_add(told).saturating_add(bytes as u64);
    }

    /// Notes a warning for the step, each once. The one after the last says that there are more.
    pub fn warn(&mut self, warning: String) {
        match self.warnings.len() {
            _ if self.warnings.contains(&warning) => {}
            WARNINGS => self.warnings.push(format!("there were more warnings than these {WARNINGS}")),
            listed if listed < WARNINGS => self.warnings.push(warning),
            _ => {}
        }
    }
}

/// One agent of a run.
#[derive(Debug)]
pub(crate) struct Node {
    pub id: usize,
    pub caller: Option<Caller>,
    pub origin: Origin,
    pub agent: Arc<Agent>,
    pub llm: Option<Llm>,
    pub depth: u32,
    pub depth_limit: u32,
    pub account: AccountId,
    pub began: u64,
    pub deadline: Option<u64>,
    pub span: String,
    pub parent_span: Option<String>,
    /// The inputs, with no more than the beginning of those that are `written`.
    pub context: Arc<Json>,
    /// Long inputs of the run, as texts.
    pub written: Option<WrittenInputs>,
    /// The signature of the step that gave the inputs.
    pub context_signature: Option<String>,
    /// The program that is all there is, in place of asking a model.
    pub program: Option<String>,
    /// What inputs mean, by name.
    pub descriptions: BTreeMap<String, String>,
    pub sandbox: Sandbox,
    pub cache: ToolCache,
    pub veil: Veil,
    /// The conversation without the system prompt.
    pub messages: Vec<Message>,
    /// The system prompt of the last request.
    pub system: String,
    /// The mission with its values.
    pub mission: String,
    /// Tools, inputs and definitions, as prompts show them.
    pub inventory: String,
    pub state: State,
    pub book: Book,
}

impl Node {
    /// The inputs by name, whole.
    pub fn inputs(&self) -> impl Iterator<Item = (&String, Datum<'_>)> {
        let whole = |name: &str, value| match &self.written {
            Some(written) => written.datum(name, value),
            None => Datum::Built(value),
        };
        let inputs = self.context.as_object().into_iter().flatten();
        inputs.map(move |(name, value)| (name, whole(name, value)))
    }

    /// Whether the value of a program is the answer without `return`.
    pub fn answers_by_value(&self) -> bool {
        self.agent.answers_by_value()
    }

    /// Whether one turn of programs is all there is.
    pub fn is_single_shot(&self) -> bool {
        self.agent.is_single_shot()
    }

    /// The number of the turn.
    pub fn turn(&self) -> u32 {
        self.book.tally.turn
    }

    /// Moves all its times, after a pause that does not count.
    pub fn delay(&mut self, ms: u64) {
        let later = |time: &mut u64| *time = time.saturating_add(ms);
        later(&mut self.began);
        later(&mut self.sandbox.since);
        later(&mut self.book.turn_began);
        self.deadline.iter_mut().for_each(later);
        match &mut self.state {
            State::Asking(asking) => later(&mut asking.since),
            State::Calls(_, batch) | State::Native(batch) => {
                later(&mut batch.since);
                batch.paused.iter_mut().for_each(later);
            }
            _ => {}
        }
    }

    /// Whether the mission's time is over.
    pub fn is_late(&self, now: u64) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline) && !matches!(self.state, State::Over)
    }

    /// Ends the turn under way.
    pub fn close_turn(&mut self, result: Json, success: bool) {
        let mut turn = std::mem::take(&mut self.book.draft);
        turn.result = self.book.kept(result);
        turn.success = success;
        if success {
            self.book.last_fail = Json::Null;
        }
        // A turn without a program leaves the changes of the one before it alone.
        let changes = success && turn.program.is_some();
        if changes {
            let changed = self.sandbox.changed_json().into_iter();
            turn.memory = changed.map(|(name, value)| (name, self.book.kept(value))).collect();
        }
        self.book.tally.failures_in_row =
            if success { 0 } else { self.book.tally.failures_in_row.saturating_add(1) };
        self.book.turns.push(turn);
    }

    /// Ends the turn under way as a failure that the next program can look at.
    pub fn close_failed(&mut self, fail: &Fail) {
        let info = fail.json();
        self.book.last_fail = info.clone();
        self.close_turn(info, false);
    }
}

/// Levels of values that traces keep as they are.
const TRACED_DEPTH: usize = 128;

/// A value as traces keep it: what nests too deeply for JSON readers becomes text.
pub(super) fn bounded(value: Json) -> Json {
    if is_deeper(&value, TRACED_DEPTH) { brief(&value) } else { value }
}

/// A value that traces do not keep, as text.
pub(super) fn brief(value: &Json) -> Json {
    let limits = crate::render::ViewLimits { items: 20, chars: 1_000 };
    Json::from(crate::render::brief_json(value, limits, true))
}

fn is_deeper(value: &Json, levels: usize) -> bool {
    match value {
        Json::Array(_) | Json::Object(_) if levels == 0 => true,
        Json::Array(items) => items.iter().any(|item| is_deeper(item, levels - 1)),
        Json::Object(fields) => fields.values().any(|field| is_deeper(field, levels - 1)),
        _ => false,
    }
}
