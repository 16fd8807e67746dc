//! The run of an agent as a state machine.
//!
//! A run never waits. [`AgentRun::next`] goes on until every agent of the tree waits for something, and says
//! what is needed: replies of models, results of tools. The driver gets those in any order and brings each
//! with [`AgentRun::supply`]. What a run does depends on what it is supplied with and in which order, on
//! nothing else, so a run that is written down ([`AgentRun::save`]) goes on in another process as if nothing
//! had happened.
//!
//! Agents that agents call are nodes of the same run, in one flat list: a node waits for a call, the call
//! waits for another node. They share one tree of budgets.

mod asking;
mod calls;
mod carry;
mod children;
mod clock;
mod consent;
mod content;
mod eval;
mod events;
mod finish;
mod lent;
pub(crate) mod names;
mod node;
mod options;
mod program;
mod records;
mod round;
mod sandbox;
mod save;
mod sent;
mod setup;
mod text;
mod tool_call;
mod waiting;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value as Json;

pub use carry::Carried;
pub use clock::Now;
pub use options::{
    Admit, BudgetCheck, Context, Guard, LookUp, OnBudget, Price, Resolver, RunOptions, Spent, TraceMode,
};
pub use save::SaveError;
pub use waiting::{Waiting, WaitsOn, waiting};

use crate::agent::{Agent, Mode};
use crate::budget::Budget;
use crate::event::Event;
use crate::model::{Llm, ModelError, ModelErrorKind, Reply, Request};
use crate::reason::Reason;
use crate::step::{Fail, Step};
use crate::tool::{Decision, PendingCall, Tool, ToolResult};
use node::{Node, State};

/// What a run needs next.
#[derive(Debug)]
pub enum Need {
    /// Answers to these; more may be outstanding. Each is asked once.
    Asks(Vec<Ask>),
    /// Nothing: a program runs. Call [`AgentRun::next`] again.
    Busy,
    /// Answers to what was asked before. Look again at `until`, if that comes first.
    Wait {
        /// When a limit of time would be over, in milliseconds since 1970.
        until: Option<u64>,
    },
    /// Nothing more.
    Done(Box<Step>),
}

/// Something that only the outside can give.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Its number, for [`AgentRun::supply`].
    pub id: u64,
    /// The agent that asks.
    pub agent: Option<String>,
    /// What it is.
    pub kind: AskKind,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub enum AskKind {
    /// A model's reply.
    Model {
        /// The model.
        llm: Llm,
        /// The request.
        request: Arc<Request>,
        /// How long to wait before asking, after an attempt that failed.
        after_ms: u64,
    },
    /// A tool's result.
    Tool {
        /// The tool; its body is a function.
        tool: Arc<Tool>,
        /// Its arguments, checked.
        args: Json,
        /// How long it may take.
        timeout_ms: Option<u64>,
    },
    /// What a person decides about a call, before its tool is asked.
    Approval {
        /// The tool. Its `validation` says how strictly edited arguments are checked.
        tool: Arc<Tool>,
        /// Its arguments, checked.
        args: Json,
        /// What else there is to say about the call.
        about: Json,
    },
}

impl Ask {
    /// The call that waits for a person, if that is what is asked.
    pub fn into_pending(self) -> Option<PendingCall> {
        let AskKind::Approval { tool, args, about } = self.kind else { return None };
        Some(PendingCall { id: self.id, agent: self.agent, tool, args, about })
    }
}

/// An answer from outside.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Supply {
    /// A model's reply, or why there is none.
    Model(Result<Reply, ModelError>),
    /// A tool's result, or what went wrong.
    Tool(ToolResult),
    /// What a person decided.
    Approval(Decision),
    /// Why a tool gave neither: it took too long, broke, or could not be asked.
    Lost(String),
}

impl Supply {
    fn name(&self) -> &'static str {
        match self {
            Supply::Model(_) => "a model's reply",
            Supply::Tool(_) => "a tool's result",
            Supply::Approval(_) => "a person's decision",
            Supply::Lost(_) => "a tool that gave no result",
        }
    }

    /// What to say of an answer to another question.
    fn misplaced(&self) -> String {
        format!("the host answered with {}", self.name())
    }
}

/// What was asked and is not answered.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Asked {
    pub node: usize,
    pub what: What,
    /// The name of the agent, for whoever lists saved runs.
    #[serde(default)]
    pub agent: Option<String>,
}

impl Asked {
    fn by(node: &Node, what: What) -> Self {
        Asked { node: node.id, what, agent: node.agent.options().name.clone() }
    }
}

/// What was asked, as it is written down.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum What {
    Model {
        request: Arc<Request>,
        after_ms: u64,
    },
    Tool {
        slot: usize,
        tool: String,
        args: Json,
        timeout_ms: Option<u64>,
        /// Whether it may change something and only the run knows of it.
        #[serde(default)]
        once: bool,
    },
    Approval {
        slot: usize,
        tool: String,
        args: Json,
        about: Json,
    },
}

/// What all agents of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub options: Arc<RunOptions>,
    pub budget: Budget,
    pub now: u64,
    pub asks: BTreeMap<u64, Asked>,
    /// Asks that the driver has not seen.
    pub fresh: Vec<u64>,
    pub next_ask: u64,
    pub ready: VecDeque<usize>,
    pub events: Vec<Event>,
    pub next_span: u64,
    pub trace_id: String,
    /// Memory of what records keep whole.
    pub recorded_bytes: usize,
    /// What programs look at while they run.
    pub clock: clock::Clock,
    /// How often they did.
    pub looks: clock::Looks,
    /// What the prelude requires and upstreams no longer have, as the end of the run.
    pub lost: Option<Fail>,
}

/// The run of an agent.
#[derive(Debug)]
pub struct AgentRun {
    root: Arc<Agent>,
    nodes: Vec<Option<Box<Node>>>,
    shared: Shared,
    result: Option<Box<Step>>,
    carried: Option<Carried>,
}

/// How a node goes on.
pub(crate) enum Next {
    /// With the next turn.
    Turn,
    /// Not before something is supplied.
    Wait,
    /// With its program.
    Busy,
    /// At once, in the state that it has now.
    Again,
    /// Not at all.
    Over(Result<Json, Fail>),
}

impl AgentRun {
    /// Begins a run at a time, in milliseconds since 1970.
    pub fn new(agent: Arc<Agent>, options: RunOptions, now: u64) -> Self {
        setup::begin(agent, options, now)
    }

    /// Goes on until the run needs something from outside, or a program has used its slice.
    pub fn next(&mut self, now: u64) -> Need {
        self.tick(now);
        self.shared.looks = clock::Looks::default();
        self.expire();
        while let Some(id) = self.shared.ready.pop_front() {
            if self.advance(id) {
                self.shared.ready.push_back(id);
                return self.asks().unwrap_or(Need::Busy);
            }
        }
        if let Some(step) = self.result.take() {
            return Need::Done(step);
        }
        self.asks().unwrap_or_else(|| Need::Wait { until: self.deadline() })
    }

    /// Tells the time before an answer is brought, so that it counts as come now.
    pub fn at(&mut self, now: u64) {
        self.tick(now);
    }

    /// Brings the answer to an ask. Answers that nobody waits for any more are dropped.
    pub fn supply(&mut self, id: u64, supply: Supply) {
        let Some(asked) = self.shared.asks.remove(&id) else { return };
        let Some(node) = self.nodes.get_mut(asked.node).and_then(Option::as_deref_mut) else { return };
        let shared = &mut self.shared;
        match asked.what {
            What::Model { request, .. } => {
                let reply = match supply {
                    Supply::Model(reply) => reply,
                    other => Err(other.misplaced().into()),
                };
                asking::supplied(node, shared, request, reply);
            }
            What::Tool { slot, args, .. } => {
                let (result, own) = match supply {
                    Supply::Tool(result) => (result, true),
                    Supply::Lost(message) => (Err(message), false),
                    other => (Err(other.misplaced()), false),
                };
                calls::supplied(node, shared, slot, args, result, own);
            }
            What::Approval { slot, .. } => {
                let decision = match supply {
                    Supply::Approval(decision) => decision,
                    other => Decision::Reject(other.misplaced()),
                };
                consent::supplied(node, shared, slot, decision);
            }
        }
    }

    /// What is asked and not answered, the oldest first.
    pub fn outstanding(&self) -> Vec<Ask> {
        self.shared.asks.keys().filter_map(|id| self.ask(*id)).collect()
    }

    /// Whether an ask still wants its answer; the driver may drop what it does for others.
    pub fn wants(&self, id: u64) -> bool {
        self.shared.asks.contains_key(&id)
    }

    /// What happened since the last look.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.shared.events)
    }

    /// What the run left behind for the next one of the same chat, if it was told to keep it.
    pub fn take_carried(&mut self) -> Option<Carried> {
        self.carried.take()
    }

    /// Who takes text as it comes.
    pub fn on_chunk(&self) -> Option<crate::model::TextSink> {
        self.shared.options.on_chunk.clone()
    }

    /// Whether the run has come to its end, be it that its step was not handed out yet.
    pub fn is_over(&self) -> bool {
        !self
            .nodes
            .first()
            .is_some_and(|root| root.as_ref().is_some_and(|node| !matches!(node.state, State::Over)))
    }

    /// Ends the run from outside.
    pub fn cancel(&mut self, now: u64) {
        self.tick(now);
        if !self.is_over() {
            self.end(0, Err(Fail::new(Reason::CANCELLED, "the host cancelled the run")));
        }
    }

    /// Asks that the driver has not seen.
    fn asks(&mut self) -> Option<Need> {
        let fresh = std::mem::take(&mut self.shared.fresh);
        let asks: Vec<Ask> = fresh.into_iter().filter_map(|id| self.ask(id)).collect();
        (!asks.is_empty()).then_some(Need::Asks(asks))
    }

    fn ask(&self, id: u64) -> Option<Ask> {
        let asked = self.shared.asks.get(&id)?;
        let node = self.nodes.get(asked.node)?.as_ref()?;
        let kind = match &asked.what {
            What::Model { request, after_ms } => AskKind::Model {
                llm: asking::llm(node, &self.shared).ok()?,
                request: request.clone(),
                after_ms: *after_ms,
            },
            What::Tool { tool, args, timeout_ms, .. } => AskKind::Tool {
                tool: node.agent.tools().get(tool)?.clone(),
                args: args.clone(),
                timeout_ms: *timeout_ms,
            },
            What::Approval { tool, args, about, .. } => {
                let mut tool = (**node.agent.tools().get(tool)?).clone();
                tool.validation.get_or_insert(node.agent.options().signature_validation);
                AskKind::Approval { tool: Arc::new(tool), args: args.clone(), about: about.clone() }
            }
        };
        Some(Ask { id, agent: node.agent.options().name.clone(), kind })
    }

    /// Answers what nobody can be asked for any more: the model or the tool is not there in this process.
    fn answer_impossible(&mut self) {
        let lost: Vec<u64> = self.shared.asks.keys().copied().filter(|id| self.ask(*id).is_none()).collect();
        for id in lost {
            let supply = match self.shared.asks.get(&id).map(|asked| &asked.what) {
                Some(What::Tool { tool, .. }) => Supply::Lost(format!("there is no tool `{tool}` any more")),
                Some(What::Approval { tool, .. }) => {
                    Supply::Approval(Decision::Reject(format!("there is no tool `{tool}` any more")))
                }
                _ => Supply::Model(Err(ModelError::new(
                    ModelErrorKind::ConfigError,
                    "the model of this request is not known here; give the run the models it had",
                ))),
            };
            self.supply(id, supply);
        }
    }

    /// Lets a node go on until it waits; true if its program has more to do.
    fn advance(&mut self, id: usize) -> bool {
        let Some(mut node) = self.nodes.get_mut(id).and_then(Option::take) else { return false };
        let mut born = Vec::new();
        let next = loop {
            let next = step(&mut node, &mut self.shared, &mut born);
            match next {
                Next::Turn => node.state = State::Between,
                Next::Again => {}
                other => break other,
            }
        };
        self.nodes[id] = Some(node);
        for child in born {
            self.adopt(child);
        }
        match next {
            Next::Busy => return true,
            Next::Over(outcome) => self.end(id, outcome),
            Next::Turn | Next::Again | Next::Wait => {}
        }
        false
    }

    /// Takes in an agent that a call of another starts.
    fn adopt(&mut self, child: children::Birth) {
        let id = self.nodes.len();
        let caller = child.caller;
        match children::born(child, id, &self.nodes, &mut self.shared) {
            Ok(node) => {
                self.nodes.push(Some(Box::new(node)));
                self.shared.ready.push_back(id);
            }
            Err(fail) => self.deliver(caller, Step::failed(fail)),
        }
    }

    /// Ends a node and hands its step to who waits for it.
    fn end(&mut self, id: usize, outcome: Result<Json, Fail>) {
        self.abandon(id);
        let Some(mut node) = self.nodes.get_mut(id).and_then(Option::take) else { return };
        let mut step = finish::step(&mut node, &mut self.shared, outcome);
        match node.caller {
            Some(caller) => {
                if let Some(parent) = self.nodes.get_mut(caller.node).and_then(Option::as_deref_mut) {
                    if !parent.veil.join(&node.veil) {
                        let message = format!("its answer cannot be taken: {}", calls::TOO_MUCH_HIDDEN);
                        step.value = Json::Null;
                        step.fail = Some(Fail::new(Reason::VALIDATION_ERROR, message));
                    }
                    // What an agent was shown beyond what its own tools brought came from its caller.
                    let lent = node.book.shown.saturating_sub(node.book.brought);
                    parent.book.shown = parent.book.shown.saturating_add(lent);
                }
                self.deliver(caller, step);
            }
            None => {
                self.carried = self.shared.options.keep_state.then(|| carry::carried(&mut node));
                self.result = Some(Box::new(step));
            }
        }
    }

    /// Drops everything that a node and those below it wait for.
    fn abandon(&mut self, id: usize) {
        let mut gone = vec![id];
        let mut at = 0;
        while let Some(parent) = gone.get(at).copied() {
            at += 1;
            let below =
                self.nodes.iter().flatten().filter(|node| node.caller.is_some_and(|by| by.node == parent));
            gone.extend(below.map(|node| node.id).collect::<Vec<_>>());
        }
        self.shared.asks.retain(|_, asked| !gone.contains(&asked.node));
        self.shared.ready.retain(|ready| !gone.contains(ready));
        // Those below first, so that each counts for its caller.
        for below in gone.into_iter().skip(1).rev() {
            if let Some(node) = self.nodes[below].take() {
                self.drop_node(*node);
            }
        }
    }

    /// Drops an agent that nobody waits for: what it used counts for its caller, and a request that is on its
    /// way counts as it was reserved.
    fn drop_node(&mut self, mut node: Node) {
        let fail = Fail::new(Reason::CANCELLED, "the caller ended first");
        let step = finish::step(&mut node, &mut self.shared, Err(fail));
        if let Some(parent) =
            node.caller.and_then(|caller| self.nodes.get_mut(caller.node)).and_then(Option::as_deref_mut)
        {
            // Nothing of it is shown but what it used.
            let _ = parent.veil.join(&node.veil);
            children::note(parent, step);
        }
    }

    fn deliver(&mut self, caller: node::Caller, step: Step) {
        if let Some(node) = self.nodes.get_mut(caller.node).and_then(Option::as_deref_mut) {
            children::delivered(node, &mut self.shared, caller.slot, step);
        }
    }

    /// Ends what took too long.
    fn expire(&mut self) {
        let now = self.shared.now;
        let late: Vec<usize> =
            self.nodes.iter().flatten().filter(|node| node.is_late(now)).map(|node| node.id).collect();
        for id in late {
            let fail = Fail::new(Reason::MISSION_TIMEOUT, "the mission took longer than its limit of time");
            self.end(id, Err(fail));
        }
        let waiting: Vec<usize> = self.nodes.iter().flatten().map(|node| node.id).collect();
        for id in waiting {
            if let Some(node) = self.nodes[id].as_deref_mut()
                && program::expire(node, &mut self.shared)
            {
                self.abandon_below(id);
            }
        }
    }

    /// Drops the agents and tools that the program of a node waited for.
    fn abandon_below(&mut self, id: usize) {
        let children: Vec<usize> = self
            .nodes
            .iter()
            .flatten()
            .filter(|node| node.caller.is_some_and(|by| by.node == id))
            .map(|node| node.id)
            .collect();
        for child in children {
            self.abandon(child);
            if let Some(node) = self.nodes[child].take() {
                self.drop_node(*node);
            }
        }
        self.shared.asks.retain(|_, asked| asked.node != id);
    }

    /// When a limit of time is over next.
    fn deadline(&self) -> Option<u64> {
        if self.is_paused() {
            return None;
        }
        self.nodes
            .iter()
            .flatten()
            .flat_map(|node| node.deadline.into_iter().chain(program::deadline(node)))
            .min()
    }
}

/// One step of a node.
fn step(node: &mut Node, shared: &mut Shared, born: &mut Vec<children::Birth>) -> Next {
    match &node.state {
        State::New => setup::start(node, shared),
        State::Between => between(node, shared),
        State::Program(_) => program::go_on(node, shared, born),
        State::Calls(..) => program::answered(node, shared, born),
        State::Expired(..) => program::expired(node, shared),
        State::Native(_) => text::answered(node, shared, born),
        State::Replied(_) => asking::read(node, shared, born),
        State::Asking(_) | State::Over => Next::Wait,
    }
}

/// Before a turn: is there one left, and if so, ask for it.
fn between(node: &mut Node, shared: &mut Shared) -> Next {
    match finish::before_turn(node, shared) {
        Some(outcome) => Next::Over(outcome),
        None => asking::ask(node, shared),
    }
}

/// Reads a reply as the mode of the agent says.
fn read_reply(node: &mut Node, shared: &mut Shared, reply: Reply, born: &mut Vec<children::Birth>) -> Next {
    match node.agent.mode() {
        Mode::Content => content::read(node, shared, reply),
        Mode::ToolCall => tool_call::read(node, shared, reply),
        Mode::Text | Mode::Combined => text::read(node, shared, reply, born),
    }
}

/// What comes of a program, as the mode of the agent says.
fn program_ended(node: &mut Node, shared: &mut Shared, after: node::After, ended: sandbox::Ended) -> Next {
    match (after, node.agent.mode()) {
        (node::After::Whole, _) => eval::whole(node, ended),
        (node::After::Content, _) => content::ended(node, shared, ended),
        (node::After::Eval(id), Mode::Combined) => eval::combined(node, shared, &id, ended),
        (node::After::Eval(id), _) => tool_call::ended(node, shared, &id, ended),
    }
}
