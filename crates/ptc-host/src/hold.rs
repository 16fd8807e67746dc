//! Programs that stop at a call until somebody has decided about it, as bytes.
//!
//! A program is never run again to go on. It stops at a step; what is kept is the dump of its machine, the
//! answers that its step has already, and the calls that wait for a decision. Going on is: load the machine,
//! make the calls that were approved, and answer the whole step together and in order. So value, prints and
//! fuel are what they would have been without stopping.
//!
//! ```text
//! "PTCH" version   length of head   head (JSON)   dump   checksum
//! ```
//!
//! What was approved is what is sent: the calls of a held program are compared with those that its machine waits for.
//! Approved calls are judged once more before they are made, so that one which is forbidden by then is refused. The machine
//! of a session takes the program back and is as it was before.

use std::collections::BTreeMap;
use std::time::Duration;

use ptc_lisp::dump::checksum;
use ptc_lisp::machine::{Answer, Machine};
use ptc_lisp::{DumpError, Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::flight::{Answered, Called};
use crate::program::Program;
use crate::tape::Landed;

/// What is to become of a call before it is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It is made.
    Go,
    /// Somebody must decide. What to show them beside the tool and its arguments.
    Ask(Json),
    /// It is not made; this is its answer.
    Answer(Answer),
}

/// Looks at calls before they are made. Functions of the tool and its arguments are judges.
pub trait Judge: Send + Sync {
    /// What is to become of a call.
    fn judge(&self, tool: &str, args: &Json) -> Judgement;

    /// The answer to a call that somebody rejected: an exception at its place, unless told.
    fn rejected(&self, tool: &str, args: &Json, why: &str) -> Answer {
        let _ = args;
        rejected(tool, why)
    }
}

impl<F: Fn(&str, &Json) -> Judgement + Send + Sync> Judge for F {
    fn judge(&self, tool: &str, args: &Json) -> Judgement {
        self(tool, args)
    }
}

/// The exception of a call that was rejected.
pub(crate) fn rejected(tool: &str, why: &str) -> Answer {
    Answer::Raise(Error::new(ErrorKind::Rejected, format!("tool {tool} failed: approval_rejected: {why}")))
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It is made as it is.
    Approve,
    /// It is made with other arguments.
    Edit(Json),
    /// It is not made, for this reason.
    Reject(String),
}

impl Decision {
    /// What is decided, in a word.
    pub fn name(&self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Edit(_) => "edit",
            Decision::Reject(_) => "reject",
        }
    }
}

/// A call that waits for a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// Its number in the program.
    pub id: u64,
    /// The tool.
    pub tool: String,
    /// Its arguments, whole.
    pub args: Json,
    /// What the judge wants shown besides.
    pub about: Json,
}

/// The most characters of the name of a call in messages.
const NAME_CHARS: usize = 100;

impl PendingCall {
    /// What is called, for messages: the tool, or server and tool of a call of an upstream.
    fn name(&self) -> String {
        let name = match (self.tool.as_str(), self.args["server"].as_str(), self.args["tool"].as_str()) {
            ("call", Some(server), Some(tool)) => format!("{server}/{tool}"),
            (tool, ..) => tool.to_owned(),
        };
        crate::visible(&name).chars().take(NAME_CHARS).collect()
    }
}

/// Why a held program cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HeldError {
    /// The first bytes are wrong.
    #[error("this is no held program")]
    NotHeld,
    /// A version that this build does not know.
    #[error("the held program has version {0}, this build reads version {VERSION}: go on with a newer build")]
    Version(u8),
    /// The bytes are not those that were written.
    #[error("the held program is damaged: {0}")]
    Damaged(String),
    /// Its machine does not load.
    #[error("the held program cannot be loaded: {0}")]
    Machine(#[from] DumpError),
    /// A decision about a call that waits for none.
    #[error("call {0} does not wait for a decision")]
    NotPending(u64),
    /// Two decisions about one call.
    #[error("there are two decisions about call {0}")]
    Twice(u64),
    /// Arguments that are no object.
    #[error("the new arguments of call {0} are no JSON object")]
    Arguments(u64),
}

/// The first bytes of every held program.
const MAGIC: &[u8; 4] = b"PTCH";
/// The version of the format.
const VERSION: u8 = 1;

/// No program has run longer; bytes that say so could make sums of times overflow.
const LONGEST: Duration = Duration::from_secs(1 << 32);
/// How deep arguments and answers of a held program may nest, so that every reader of JSON takes them.
pub(crate) const DEEPEST: usize = 100;

/// A program that stopped at calls that somebody must decide about.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub(crate) dump: Vec<u8>,
    pub(crate) answered: Answered,
    pub(crate) pending: Vec<PendingCall>,
    pub(crate) calls: Vec<Called>,
    /// Time spent running and waiting for tools. Waiting for decisions does not count.
    pub(crate) spent: Duration,
    pub(crate) elapsed: Duration,
    pub(crate) turns: u64,
}

impl Held {
    /// A machine that waits, as it stands.
    pub(crate) fn of(
        machine: &Machine,
        pending: Vec<PendingCall>,
        answered: Answered,
    ) -> Result<Held, Error> {
        let dump = machine.dump().map_err(|error| {
            Error::new(ErrorKind::Internal, format!("the program cannot be held for approval: {error}"))
        })?;
        let (spent, elapsed) = (Duration::ZERO, Duration::ZERO);
        Ok(Held { dump, answered, pending, calls: Vec::new(), spent, elapsed, turns: 0 })
    }

    /// The calls that wait for a decision, in the order of the program.
    pub fn pending(&self) -> &[PendingCall] {
        &self.pending
    }

    /// The calls that were made before it stopped.
    pub fn calls(&self) -> &[Called] {
        &self.calls
    }

    /// Refuses what could not be read again.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let args = self.pending.iter().map(|call| &call.args).chain(self.calls.iter().map(|call| &call.args));
        let answers = self.answered.iter().filter_map(|(_, answer)| match answer {
            Answer::Value(value) | Answer::Upstream { value, .. } => Some(value),
            _ => None,
        });
        if args.chain(answers).all(|json| nests_within(json, DEEPEST)) {
            return Ok(());
        }
        let message =
            format!("a program whose calls nest deeper than {DEEPEST} levels cannot wait for approval");
        Err(Error::new(ErrorKind::NestingTooDeep, message))
    }

    /// How the program looks while it waits.
    pub(crate) fn error(&self) -> Error {
        let count = self.pending.len();
        let calls = if count == 1 { "a call".to_owned() } else { format!("{count} calls") };
        let tools: Vec<String> = self.pending.iter().take(5).map(PendingCall::name).collect();
        let more = if count > tools.len() { ", …" } else { "" };
        let message =
            format!("{calls} must be approved before the program goes on: {}{more}", tools.join(", "));
        Error::new(ErrorKind::ApprovalRequired, message)
    }

    /// The program as bytes. The checksum finds damage, it is no signature.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            answered: self.answered.iter().map(|(id, answer)| (*id, Landed::from(answer))).collect(),
            pending: self.pending.clone(),
            calls: self.calls.clone(),
            spent: self.spent,
            elapsed: self.elapsed,
            turns: self.turns,
        };
        // Numbers, texts and JSON can always be written.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut bytes = Vec::with_capacity(head.len() + self.dump.len() + 24);
        bytes.extend_from_slice(MAGIC);
        bytes.push(VERSION);
        bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.dump);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The program that [`Held::to_bytes`] wrote. The machine is looked at when it goes on.
    pub fn from_bytes(bytes: &[u8]) -> Result<Held, HeldError> {
        let damaged = |what: &str| HeldError::Damaged(what.to_owned());
        let rest = bytes.strip_prefix(MAGIC).ok_or(HeldError::NotHeld)?;
        let (&version, _) = rest.split_first().ok_or_else(|| damaged("it ends too early"))?;
        if version != VERSION {
            return Err(HeldError::Version(version));
        }
        let (whole, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it ends too early"))?;
        if checksum(whole) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum does not match"));
        }
        let rest = whole.get(MAGIC.len() + 1..).unwrap_or_default();
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(|| damaged("it ends too early"))?;
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let (head, dump) = rest.split_at_checked(length).ok_or_else(|| damaged("it ends too early"))?;
        let head: Head = serde_json::from_slice(head).map_err(|error| damaged(&error.to_string()))?;
        let answered = head
            .answered
            .into_iter()
            .map(|(id, landed)| Ok((id, landed.answer().map_err(HeldError::Damaged)?)));
        Ok(Held {
            dump: dump.to_vec(),
            answered: answered.collect::<Result<_, HeldError>>()?,
            pending: head.pending,
            calls: head.calls,
            spent: head.spent.min(LONGEST),
            elapsed: head.elapsed.min(LONGEST),
            turns: head.turns.min(u64::MAX / 2),
        })
    }
}

/// A held program with decisions. Calls that are not decided about keep waiting: the program is held again,
/// with the answers to those that were.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumption {
    pub(crate) held: Held,
    decisions: BTreeMap<u64, Decision>,
}

impl Resumption {
    /// Decides about calls of a held program by their numbers.
    pub fn new(
        held: Held,
        decisions: impl IntoIterator<Item = (u64, Decision)>,
    ) -> Result<Resumption, HeldError> {
        let mut by_id = BTreeMap::new();
        for (id, decision) in decisions {
            if !held.pending.iter().any(|call| call.id == id) {
                return Err(HeldError::NotPending(id));
            }
            if matches!(&decision, Decision::Edit(args) if !args.is_object()) {
                return Err(HeldError::Arguments(id));
            }
            if by_id.insert(id, decision).is_some() {
                return Err(HeldError::Twice(id));
            }
        }
        Ok(Resumption { held, decisions: by_id })
    }

    /// The decisions by the numbers of their calls, in order.
    pub fn decisions(&self) -> impl Iterator<Item = (u64, &Decision)> {
        self.decisions.iter().map(|(id, decision)| (*id, decision))
    }

    /// How many calls of a tool were made before the program was held.
    pub fn calls_made(&self, tool: &str) -> usize {
        self.held.calls.iter().filter(|call| call.tool == tool).count()
    }

    pub(crate) fn decision(&self, id: u64) -> Option<&Decision> {
        self.decisions.get(&id)
    }

    /// The machine as it stood. What it waits for must be what the decisions are about, or somebody approved
    /// another call than the one that would be made.
    pub(crate) fn machine(&self, program: &Program) -> Result<Machine, Error> {
        let failed = |error: HeldError| Error::new(ErrorKind::Internal, error.to_string());
        let preludes = program.prelude.as_slice();
        let machine = Machine::load_dump_for(&self.held.dump, &program.limits, preludes, &program.owner)
            .map_err(|error| failed(error.into()))?;
        let waiting = machine.outstanding();
        let known = waiting.len() == self.held.pending.len() + self.held.answered.len()
            && waiting.iter().all(|call| {
                let pending = self.held.pending.iter().find(|pending| pending.id == call.id);
                match pending {
                    Some(pending) => {
                        !call.discovery && pending.tool == call.tool && pending.args == call.args
                    }
                    None => self.held.answered.iter().any(|(id, _)| *id == call.id),
                }
            });
        if !known {
            let what = "its machine waits for other calls than those that were shown";
            return Err(failed(HeldError::Damaged(what.to_owned())));
        }
        Ok(machine)
    }
}

pub(crate) fn nests_within(json: &Json, levels: usize) -> bool {
    let Some(inside) = levels.checked_sub(1) else { return false };
    match json {
        Json::Array(items) => items.iter().all(|item| nests_within(item, inside)),
        Json::Object(fields) => fields.values().all(|value| nests_within(value, inside)),
        _ => true,
    }
}

/// What stands before the dump.
#[derive(Serialize, Deserialize)]
struct Head {
    answered: Vec<(u64, Landed)>,
    pending: Vec<PendingCall>,
    calls: Vec<Called>,
    spent: Duration,
    elapsed: Duration,
    turns: u64,
}
