//! What a run must not lose when its process ends: its state before it asks for something, and every answer as
//! it comes.
//!
//! The two are enough, whatever happens in between. Nothing is asked for that the last state does not know of,
//! so each answer behind it belongs to something that this state waits for. Whoever goes on loads the state and
//! brings it the answers; nothing that was answered is asked again, and no time or order has to be the same.
//!
//! The state is written at every stop, not now and then: that is what makes replaying programs unnecessary. A state costs
//! as much as the inputs are large; tool calls that are requested together (`pmap`) share one.
//!
//! A decision of a person is written before the run has it, and the state that contains the approved call before its tool
//! is called. A process that is killed in between either asks the person again, makes the call, or reports that its outcome
//! is unknown; it never makes the call twice.

use std::collections::{BTreeMap, BTreeSet};

use ptc_agent::{Answers, Ask, AskKind, Decision, SaveError, Supply, Tool};
use serde_json::{Value as Json, json};

/// Keeps a run. Every method returns when what it was given is durable; an error ends the run.
pub trait Journal: Send + Sync {
    /// The run as bytes, which take the place of those before.
    fn state(&self, bytes: &[u8]) -> Result<(), String>;

    /// Answers that came, in order.
    fn answers(&self, answers: &[Answer]) -> Result<(), String>;

    /// A call without which the run goes on. What people find it by, if it is written down for them.
    fn lost(&self, _call: &LostCall) -> Result<Option<String>, String> {
        Ok(None)
    }
}

/// A call of one of the agent's own tools that may have changed something, and of which nobody knows whether it did: it took too
/// long, it panicked, or its program ended first.
#[derive(Clone, Debug, PartialEq)]
pub struct LostCall {
    /// The number of the ask.
    pub ask: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Json,
    /// When it was made, in milliseconds since 1970.
    pub called_ms: i64,
}

/// An answer as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The number of what was asked.
    pub ask: u64,
    /// What answered.
    pub by: Answerer,
    /// Its name.
    pub name: String,
    /// The answer: [`Supply::from_bytes`] reads it.
    pub bytes: Vec<u8>,
}

/// What an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answerer {
    /// A model.
    Model,
    /// A tool.
    Tool,
    /// A person who decided about a call of a tool.
    Person,
}

impl Answerer {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Answerer::Model => "model",
            Answerer::Tool => "tool",
            Answerer::Person => "person",
        }
    }
}

/// A run as a journal kept it.
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The run as bytes.
    pub state: Vec<u8>,
    /// Answers that came after that: the number of what was asked, and what [`Supply::from_bytes`] reads.
    pub answers: Vec<(u64, Vec<u8>)>,
    /// What people decided about calls that wait for them, by the numbers of the calls.
    pub decisions: Vec<(u64, Decision)>,
    /// Whether calls are made again although they may have changed something.
    pub repeat: bool,
    /// Calls that are made again because somebody found that they did not happen, by their numbers.
    pub did_not_happen: BTreeSet<u64>,
    /// Calls that are written down elsewhere and of which nobody knows, by their numbers.
    pub open: BTreeMap<u64, OpenCall>,
}

/// A call without an answer, as people find it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCall {
    /// What it is listed and settled by, if it is written down for people.
    pub identity: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub begun_ms: i64,
    /// Whether somebody settled it without finding out what came of it.
    pub is_dismissed: bool,
}

impl From<Vec<u8>> for Saved {
    fn from(state: Vec<u8>) -> Self {
        Saved { state, ..Saved::default() }
    }
}

impl Saved {
    /// The answers, read.
    pub(crate) fn supplies(&self) -> Result<Vec<(u64, Supply)>, SaveError> {
        self.answers.iter().map(|(ask, bytes)| Ok((*ask, Supply::from_bytes(bytes)?))).collect()
    }
}

/// Who is asked.
pub(crate) fn answerer(ask: &Ask) -> (Answerer, String) {
    match &ask.kind {
        AskKind::Model { llm, .. } => (Answerer::Model, llm.label().to_owned()),
        AskKind::Tool { tool, .. } => (Answerer::Tool, tool.name.clone()),
        AskKind::Approval { tool, .. } => (Answerer::Person, tool.name.clone()),
    }
}

/// An answer for the journal. A model that gave no reply did not answer: it is asked again.
pub(crate) fn answer(
    ask: u64,
    of: &(Answerer, String),
    supply: &Supply,
) -> Result<Option<Answer>, SaveError> {
    if matches!(supply, Supply::Model(Err(_))) {
        return Ok(None);
    }
    Ok(Some(Answer { ask, by: of.0, name: of.1.clone(), bytes: supply.to_bytes()? }))
}

/// What becomes of something that was asked for and not answered when the process ended: `None` if it is asked
/// for again, else what the run is told in place of an answer, in the words that programs of servers are told too. This is
/// the only place that decides it.
pub fn unanswered(ask: &Ask, repeat: bool, open: Option<&OpenCall>) -> Option<Supply> {
    match &ask.kind {
        // Nothing has happened yet: a person who was asked and did not decide is asked again.
        AskKind::Model { .. } | AskKind::Approval { .. } => None,
        AskKind::Tool { tool, args, .. } if repeat || tool.may_repeat(args) => None,
        // As tools of servers fail: the program looks at the answer and nothing is raised.
        AskKind::Tool { tool, args, .. } if tool.answers == Answers::Upstream => {
            let text = |key: &str| args[key].as_str().unwrap_or_default();
            let message = unknown(&format!("{}/{}", text("server"), text("tool")), open);
            Some(Supply::Tool(Ok(
                json!({"ok": false, "reason": ptc_host::OUTCOME_UNKNOWN, "message": message}),
            )))
        }
        AskKind::Tool { tool, .. } => Some(Supply::Lost(unknown(&own_call(&tool.name), open))),
    }
}

/// A call of one of the agent's own tools, as programs write it and as `ptc effects` lists it.
pub(crate) fn own_call(tool: &str) -> String {
    format!("tool/{tool}")
}

/// Whether a call is one of the agent's own tools that may change something and is not made again. Calls of upstreams have a
/// journal of their own.
pub(crate) fn is_own_and_once(tool: &Tool, args: &Json) -> bool {
    tool.answers != Answers::Upstream && !tool.may_repeat(args)
}

fn unknown(call: &str, open: Option<&OpenCall>) -> String {
    let (why, then) = match open {
        Some(OpenCall { identity: Some(identity), is_dismissed: true, .. }) => {
            (ptc_host::DISMISSED, format!("it is not made again. Its identity is {identity}"))
        }
        _ => (
            ptc_host::BEGUN_BEFORE,
            ptc_host::look_and_settle(open.and_then(|open| open.identity.as_deref())),
        ),
    };
    ptc_host::outcome_unknown(call, open.map(|open| open.begun_ms), why, &then)
}
