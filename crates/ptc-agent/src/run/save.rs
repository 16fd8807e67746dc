//! Runs as bytes: everything that a run knows at a stop, so that it goes on in another process and asks for
//! nothing twice. Functions (models, tools, previews) are not in it; the agent that reads it brings them.
//!
//! The format is `PTCR`, a version, a checksum, and CBOR with named fields, so that fields can be added. The
//! checksum finds damage; it is no signature. Bytes from strangers are refused with an error, not a crash.
//! Answers that came after a run was written are written the same way, as `PTCA` ([`Supply::to_bytes`]).

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use minicbor::data::Type;
use ptc_lisp::Limits;
use ptc_lisp::machine::Machine;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::calls::Batch;
use super::clock::{Clock, Looks};
use super::node::{After, Asking, Book, Caller, Node, Origin, State};
use super::sandbox::Sandbox;
use super::{AgentRun, Asked, RunOptions, Shared, Supply, children};
use crate::agent::Agent;
use crate::budget::{AccountId, Budget};
use crate::cache::ToolCache;
use crate::model::{Message, ModelError, Reply};
use crate::render::Veil;
use crate::step::Step;
use crate::written::{SavedInputs, WrittenInputs};

/// A run.
pub(super) const RUN: &[u8; 4] = b"PTCR";
/// An answer.
const ANSWER: &[u8; 4] = b"PTCA";
/// The newest version. It is written where inputs are texts, which readers of version 2 would not look for.
const VERSION: u16 = 3;
/// The version of what waits for a person, which readers of version 1 know nothing of.
const WAITING: u16 = 2;
/// The version of everything else.
const PLAIN: u16 = 1;
/// Magic, version, checksum.
const HEAD: usize = 4 + 2 + 8;
/// Levels of nesting that are read. Values of programs that nest deeper than a quarter of it are kept as text.
const MAX_DEPTH: usize = 512;
/// Said of a run that has its step: there is nothing to go on with.
const OVER: &str = "the run is over, and its step was handed out";

/// Why a run cannot be written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SaveError {
    /// These are not the bytes of a run.
    #[error("these bytes are no saved run: {0}")]
    NotARun(String),
    /// They were written by a later version.
    #[error("the run was saved by version {0} of the format; this library reads up to {VERSION}")]
    TooNew(u16),
    /// The agent is not the one that ran.
    #[error("the run is of agent {saved}, not of {given}; load it with the agent it was begun with")]
    OtherAgent {
        /// The agent that ran.
        saved: String,
        /// The agent that was given.
        given: String,
    },
    /// A machine cannot be written or read.
    #[error("the program's machine: {0}")]
    Machine(String),
}

/// A run as it is written. What can be large is borrowed from the run, not copied.
#[derive(Serialize, Deserialize)]
struct SavedRun<'r> {
    agent: String,
    trace_id: String,
    now: u64,
    next_ask: u64,
    next_span: u64,
    asks: Cow<'r, BTreeMap<u64, Asked>>,
    ready: VecDeque<usize>,
    budget: Cow<'r, Budget>,
    nodes: Vec<Option<SavedNode<'r>>>,
    #[serde(default)]
    result: Cow<'r, Option<Box<Step>>>,
    /// Memory of what records keep whole.
    #[serde(default)]
    recorded_bytes: usize,
}

#[derive(Serialize, Deserialize)]
struct SavedNode<'r> {
    id: usize,
    caller: Option<Caller>,
    origin: Origin,
    depth: u32,
    depth_limit: u32,
    account: AccountId,
    began: u64,
    deadline: Option<u64>,
    span: String,
    #[serde(default)]
    parent_span: Option<String>,
    context: Arc<Json>,
    /// Long inputs, of which `context` has only the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    written: Option<SavedInputs>,
    #[serde(default)]
    context_signature: Option<String>,
    #[serde(default)]
    program: Option<String>,
    descriptions: BTreeMap<String, String>,
    machine: Option<Bytes>,
    since: u64,
    cache: Cow<'r, ToolCache>,
    veil: Cow<'r, Veil>,
    messages: Cow<'r, [Message]>,
    system: Cow<'r, str>,
    mission: Cow<'r, str>,
    inventory: Cow<'r, str>,
    state: SavedState<'r>,
    book: Cow<'r, Book>,
}

#[derive(Serialize, Deserialize)]
enum SavedState<'r> {
    New,
    Between,
    Asking(Cow<'r, Asking>),
    Replied(Option<Cow<'r, Reply>>, Option<Cow<'r, ModelError>>),
    Program(After),
    Calls(After, Cow<'r, Batch>),
    Expired(After, u64),
    Native(Cow<'r, Batch>),
    Over,
}

/// Bytes that are written as bytes, not as a list of numbers.
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

impl AgentRun {
    /// The run as bytes. Call it between [`AgentRun::next`] and [`AgentRun::supply`], whenever that is.
    pub fn save(&self) -> Result<Vec<u8>, SaveError> {
        if !matches!(self.nodes.first(), Some(Some(_))) {
            return Err(SaveError::NotARun(OVER.to_owned()));
        }
        let nodes: Result<Vec<_>, _> =
            self.nodes.iter().map(|node| node.as_deref().map(saved).transpose()).collect();
        let shared = &self.shared;
        let run = SavedRun {
            agent: self.root.id().to_owned(),
            trace_id: shared.trace_id.clone(),
            now: shared.now,
            next_ask: shared.next_ask,
            next_span: shared.next_span,
            asks: Cow::Borrowed(&shared.asks),
            ready: shared.ready.clone(),
            budget: Cow::Borrowed(&shared.budget),
            nodes: nodes?,
            result: Cow::Borrowed(&self.result),
            recorded_bytes: shared.recorded_bytes,
        };
        let consent = |node: &Node| match &node.state {
            State::Calls(_, batch) | State::Native(batch) => {
                batch.slots.iter().any(|slot| slot.consent.is_some())
            }
            _ => false,
        };
        let waits = self.nodes.iter().flatten().any(|node| consent(node));
        let has_texts = self.nodes.iter().flatten().any(|node| node.written.is_some());
        let version = match (has_texts, waits) {
            (true, _) => VERSION,
            (false, true) => WAITING,
            (false, false) => PLAIN,
        };
        encode(RUN, version, &run)
    }

    /// The run that [`AgentRun::save`] wrote, with the agent it was begun with. What was asked and is not
    /// answered is in [`AgentRun::outstanding`]; whether to ask again is for the host to say. Limits of time
    /// go on from `now`: the time in between does not count.
    pub fn load(agent: Arc<Agent>, options: RunOptions, bytes: &[u8], now: u64) -> Result<Self, SaveError> {
        let saved: SavedRun<'static> = decode(RUN, bytes)?;
        if saved.agent != agent.id() {
            return Err(SaveError::OtherAgent { saved: saved.agent, given: agent.id().to_owned() });
        }
        let wrong = |what: &str| SaveError::NotARun(what.to_owned());
        let (mut budget, asks) = (saved.budget.into_owned(), saved.asks.into_owned());
        if !budget.is_sound() || saved.next_ask > u64::MAX / 2 || saved.next_span > u64::MAX / 2 {
            return Err(wrong("its counts make no sense"));
        }
        let pause = now.saturating_sub(saved.now);
        budget.delay(pause);
        let mut nodes: Vec<Option<Box<Node>>> = Vec::with_capacity(saved.nodes.len());
        for (id, node) in saved.nodes.into_iter().enumerate() {
            let mut node = node.map(|node| restored(node, id, &nodes, &agent, &options)).transpose()?;
            node.iter_mut().for_each(|node| node.delay(pause));
            nodes.push(node.map(Box::new));
        }
        if !matches!(nodes.first(), Some(Some(root)) if root.caller.is_none()) {
            return Err(wrong(OVER));
        }
        let alive = |id: &usize| nodes.get(*id).is_some_and(Option::is_some);
        if !asks.values().all(|asked| alive(&asked.node)) || !saved.ready.iter().all(alive) {
            return Err(wrong("something waits for an agent that is not there"));
        }
        if !nodes.iter().flatten().all(|node| budget.has(node.account)) {
            return Err(wrong("an agent has no budget"));
        }
        let shared = Shared {
            options: Arc::new(options),
            budget,
            now: saved.now.max(now),
            asks,
            // Drivers begin with what is outstanding, which this is part of.
            fresh: Vec::new(),
            next_ask: saved.next_ask,
            ready: saved.ready,
            events: Vec::new(),
            next_span: saved.next_span,
            trace_id: saved.trace_id,
            recorded_bytes: saved.recorded_bytes,
            clock: Clock::default(),
            looks: Looks::default(),
            // Drivers look again.
            lost: None,
        };
        let result = saved.result.into_owned();
        let mut run = AgentRun { root: agent, nodes, shared, result, carried: None };
        run.answer_impossible();
        Ok(run)
    }
}

impl Supply {
    /// The answer as bytes, so that it can be kept beside the run that waits for it.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SaveError> {
        let version = if matches!(self, Supply::Approval(_) | Supply::Lost(_)) { WAITING } else { PLAIN };
        encode(ANSWER, version, self)
    }

    /// The answer that [`Supply::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SaveError> {
        decode(ANSWER, bytes)
    }
}

fn saved(node: &Node) -> Result<SavedNode<'_>, SaveError> {
    let machine = node.sandbox.machine.as_deref().map(Machine::dump).transpose();
    let machine = machine.map_err(|error| SaveError::Machine(error.to_string()))?;
    Ok(SavedNode {
        id: node.id,
        caller: node.caller,
        origin: node.origin.clone(),
        depth: node.depth,
        depth_limit: node.depth_limit,
        account: node.account,
        began: node.began,
        deadline: node.deadline,
        span: node.span.clone(),
        parent_span: node.parent_span.clone(),
        context: node.context.clone(),
        written: node.written.as_ref().map(WrittenInputs::parts),
        context_signature: node.context_signature.clone(),
        program: node.program.clone(),
        descriptions: node.descriptions.clone(),
        machine: machine.map(Bytes),
        since: node.sandbox.since,
        cache: Cow::Borrowed(&node.cache),
        veil: Cow::Borrowed(&node.veil),
        messages: Cow::Borrowed(&node.messages),
        system: Cow::Borrowed(&node.system),
        mission: Cow::Borrowed(&node.mission),
        inventory: Cow::Borrowed(&node.inventory),
        state: match &node.state {
            State::New => SavedState::New,
            State::Between => SavedState::Between,
            State::Asking(asking) => SavedState::Asking(Cow::Borrowed(asking)),
            State::Replied(Ok(reply)) => SavedState::Replied(Some(Cow::Borrowed(reply)), None),
            State::Replied(Err(error)) => SavedState::Replied(None, Some(Cow::Borrowed(error))),
            State::Program(after) => SavedState::Program(after.clone()),
            State::Calls(after, batch) => SavedState::Calls(after.clone(), Cow::Borrowed(batch)),
            State::Expired(after, limit) => SavedState::Expired(after.clone(), *limit),
            State::Native(batch) => SavedState::Native(Cow::Borrowed(batch)),
            State::Over => SavedState::Over,
        },
        book: Cow::Borrowed(&node.book),
    })
}

fn restored(
    saved: SavedNode<'_>,
    id: usize,
    before: &[Option<Box<Node>>],
    root: &Arc<Agent>,
    options: &RunOptions,
) -> Result<Node, SaveError> {
    let wrong = |what: &str| SaveError::NotARun(what.to_owned());
    if saved.id != id {
        return Err(wrong("agents are out of order"));
    }
    let parent = match saved.caller {
        None => None,
        Some(caller) => Some(
            before
                .get(caller.node)
                .and_then(Option::as_deref)
                .ok_or_else(|| wrong("an agent has lost its caller"))?,
        ),
    };
    let agent = children::of_origin(parent.map(|node| &node.agent), root, &saved.origin)
        .ok_or_else(|| wrong("an agent is not among the tools of its caller"))?;
    let llm = match parent {
        Some(parent) => children::llm_of_origin(parent, &agent, &saved.origin),
        None => options.llm.clone().or_else(|| agent.options().llm.clone()),
    };
    let limits = Limits {
        memory: options.max_heap.or(agent.options().max_heap).unwrap_or(Limits::default().memory),
        fuel: agent.options().fuel.unwrap_or(Limits::default().fuel),
        tool_calls: agent.options().max_tool_calls.unwrap_or(Limits::default().tool_calls),
        ..Limits::default()
    };
    let limits = options.within_ceiling(limits);
    let machine = saved.machine.map(|bytes| {
        Machine::load_dump_for(&bytes.0, &limits, agent.options().prelude.as_slice(), &options.owner)
    });
    let machine = machine.transpose();
    let mut machine = machine.map_err(|error| SaveError::Machine(error.to_string()))?;
    if let Some(machine) = &mut machine {
        machine.set_discovery(super::program::answers_questions(&agent));
    }
    if saved.written.as_ref().is_some_and(|written| !written.are_sound()) {
        return Err(wrong("an input is no JSON"));
    }
    let context = saved.context.clone();
    let mut node = Node {
        id,
        caller: saved.caller,
        origin: saved.origin,
        agent,
        llm,
        depth: saved.depth,
        depth_limit: saved.depth_limit,
        account: saved.account,
        began: saved.began,
        deadline: saved.deadline,
        span: saved.span,
        parent_span: saved.parent_span,
        context: saved.context,
        written: saved.written.map(|written| WrittenInputs::of_parts(context, written)),
        context_signature: saved.context_signature,
        program: saved.program,
        descriptions: saved.descriptions,
        sandbox: Sandbox { machine: machine.map(Box::new), since: saved.since },
        cache: saved.cache.into_owned(),
        veil: saved.veil.into_owned(),
        messages: saved.messages.into_owned(),
        system: saved.system.into_owned(),
        mission: saved.mission.into_owned(),
        inventory: saved.inventory.into_owned(),
        state: state(saved.state)?,
        book: saved.book.into_owned(),
    };
    super::setup::spare_names(&mut node);
    Ok(node)
}

fn state(saved: SavedState<'_>) -> Result<State, SaveError> {
    Ok(match saved {
        SavedState::New => State::New,
        SavedState::Between => State::Between,
        SavedState::Asking(asking) => State::Asking(asking.into_owned()),
        SavedState::Replied(Some(reply), _) => State::Replied(Ok(reply.into_owned())),
        SavedState::Replied(None, Some(error)) => State::Replied(Err(error.into_owned())),
        SavedState::Replied(None, None) => return Err(SaveError::NotARun("a reply is missing".to_owned())),
        SavedState::Program(after) => State::Program(after),
        SavedState::Calls(after, batch) => State::Calls(after, batch.into_owned()),
        SavedState::Expired(after, limit) => State::Expired(after, limit),
        SavedState::Native(batch) => State::Native(batch.into_owned()),
        SavedState::Over => State::Over,
    })
}

/// How many bytes there will be: a run may be large, and bytes that grow are there twice.
struct Count(usize);

impl minicbor::encode::Write for Count {
    type Error = std::convert::Infallible;

    fn write_all(&mut self, more: &[u8]) -> Result<(), Self::Error> {
        self.0 += more.len();
        Ok(())
    }
}

fn encode(magic: &[u8; 4], version: u16, value: &impl Serialize) -> Result<Vec<u8>, SaveError> {
    let mut count = Count(HEAD);
    write(&mut count, value)?;
    let mut bytes = Vec::with_capacity(count.0);
    bytes.extend_from_slice(magic);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    write(&mut bytes, value)?;
    let sum = crate::hash::fnv(&bytes[HEAD..]);
    bytes[HEAD - 8..HEAD].copy_from_slice(&sum.to_le_bytes());
    Ok(bytes)
}

fn write<W: minicbor::encode::Write>(to: &mut W, value: &impl Serialize) -> Result<(), SaveError>
where
    W::Error: std::error::Error + 'static,
{
    let mut serializer = minicbor_serde::Serializer::new(to);
    serializer.serialize_unit_as_null(true);
    value.serialize(&mut serializer).map_err(|error| SaveError::NotARun(error.to_string()))
}

pub(super) fn decode<T: serde::de::DeserializeOwned>(magic: &[u8; 4], bytes: &[u8]) -> Result<T, SaveError> {
    let wrong = |what: &str| SaveError::NotARun(what.to_owned());
    let (head, body) = bytes.split_at_checked(HEAD).ok_or_else(|| wrong("too short"))?;
    let (begin, rest) = head.split_at(4);
    let (version, sum) = rest.split_at(2);
    if begin != magic {
        return Err(wrong(&format!("they do not begin with {}", String::from_utf8_lossy(magic))));
    }
    let version = u16::from_le_bytes([version[0], version[1]]);
    if version > VERSION {
        return Err(SaveError::TooNew(version));
    }
    if sum != crate::hash::fnv(body).to_le_bytes() {
        return Err(wrong("the checksum is wrong, so they are damaged"));
    }
    if !is_shallow(body) {
        return Err(wrong("nested too deeply"));
    }
    minicbor_serde::from_slice(body).map_err(|error| wrong(&error.to_string()))
}

/// Whether CBOR nests no deeper than it may, so that reading it cannot use up the stack.
fn is_shallow(body: &[u8]) -> bool {
    let mut decoder = minicbor::Decoder::new(body);
    // Items that each open container still wants; `None` ends with a break.
    let mut open: Vec<Option<u64>> = Vec::new();
    while decoder.position() < body.len() {
        let Ok(kind) = decoder.datatype() else { return false };
        let opened = match kind {
            Type::Array | Type::ArrayIndef => decoder.array().map(Some),
            Type::Map | Type::MapIndef => {
                decoder.map().map(|pairs| Some(pairs.map(|count| count.saturating_mul(2))))
            }
            Type::Tag => decoder.tag().map(|_| Some(Some(1))),
            _ => decoder.skip().map(|()| None),
        };
        match opened {
            Err(_) => return false,
            Ok(None) if kind == Type::Break => drop(open.pop()),
            Ok(None) => {}
            Ok(Some(wanted)) => {
                open.push(wanted);
                if open.len() > MAX_DEPTH {
                    return false;
                }
                if wanted != Some(0) {
                    continue;
                }
            }
        }
        close(&mut open);
    }
    true
}

/// An item is complete: so may be the containers around it.
fn close(open: &mut Vec<Option<u64>>) {
    while let Some(Some(wanted)) = open.last_mut() {
        if *wanted > 1 {
            *wanted -= 1;
            return;
        }
        open.pop();
    }
}
