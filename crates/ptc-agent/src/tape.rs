//! Tapes of runs: everything that came into a run from outside, in order, and what it asked for. What a run does
//! depends on nothing else, so a tape played back gives the same run to the byte, without models, tools or a clock.

use std::borrow::Borrow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::agent::Agent;
use crate::event::Event;
use crate::model::{Llm, Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};
use crate::run::{AgentRun, Ask, AskKind, Need, RunOptions, Supply};
use crate::step::{Fail, Step};
use crate::tool::Decision;

/// One thing that happened between a run and the outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The run began at a time.
    Begin {
        /// In milliseconds since 1970.
        now: u64,
    },
    /// A run that was saved goes on at a time.
    Load {
        /// In milliseconds since 1970.
        now: u64,
        /// The run as bytes.
        #[serde(with = "as_base64")]
        state: Vec<u8>,
    },
    /// It was told to go on.
    Next {
        /// When.
        now: u64,
        /// So often in a row.
        times: u64,
    },
    /// A program that ran since was stopped by the clock, when it looked at it for that time.
    Stopped {
        /// From 1.
        look: u64,
    },
    /// It asked for something.
    Ask(Question),
    /// What it had asked for before it was saved is asked for again.
    Again(Question),
    /// It got an answer.
    Answer {
        /// To which question.
        id: u64,
        /// When.
        now: u64,
        /// What.
        given: Given,
    },
    /// It was cancelled.
    Cancel {
        /// When.
        now: u64,
    },
    /// It was told that something is gone which its prelude requires.
    Lost {
        /// How it ends because of that.
        fail: Fail,
    },
    /// It was left because it waits for people and for nothing else.
    Pause,
}

/// Bytes as text.
mod as_base64 {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// What a run asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its number, in the order of asking.
    pub id: u64,
    /// The agent that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What it asks.
    #[serde(flatten)]
    pub of: Of,
}

/// Who is asked, and what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// A model, by the name that traces show.
    Model {
        /// Its name.
        model: String,
        /// The request.
        request: Arc<Request>,
    },
    /// A tool.
    Tool {
        /// Its name.
        tool: String,
        /// Its arguments.
        args: Json,
    },
    /// A person, about a call.
    Approval {
        /// The tool.
        tool: String,
        /// Its arguments.
        args: Json,
        /// What else there is to say.
        about: Json,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// A model's reply.
    Reply(Reply),
    /// Why there is none.
    Refusal(ModelError),
    /// A tool's result.
    Value(Json),
    /// What went wrong with a tool.
    Error(String),
    /// What a person decided.
    Decision(Decision),
    /// Why a tool gave neither a result nor an error.
    Lost(String),
    /// What a program without an agent got, in the form that its driver writes answers in.
    Answer(Json),
}

/// Takes entries as they happen.
pub type Taper = Arc<dyn Fn(Entry) + Send + Sync>;

impl From<&Ask> for Question {
    fn from(ask: &Ask) -> Self {
        let of = match &ask.kind {
            AskKind::Model { llm, request, .. } => {
                Of::Model { model: llm.label().to_owned(), request: request.clone() }
            }
            AskKind::Tool { tool, args, .. } => Of::Tool { tool: tool.name.clone(), args: args.clone() },
            AskKind::Approval { tool, args, about } => {
                Of::Approval { tool: tool.name.clone(), args: args.clone(), about: about.clone() }
            }
        };
        Question { id: ask.id, agent: ask.agent.clone(), of }
    }
}

impl From<&Supply> for Given {
    fn from(supply: &Supply) -> Self {
        match supply {
            Supply::Model(Ok(reply)) => Given::Reply(reply.clone()),
            Supply::Model(Err(error)) => Given::Refusal(error.clone()),
            Supply::Tool(Ok(value)) => Given::Value(value.clone()),
            Supply::Tool(Err(message)) => Given::Error(message.clone()),
            Supply::Approval(decision) => Given::Decision(decision.clone()),
            Supply::Lost(message) => Given::Lost(message.clone()),
        }
    }
}

impl From<Given> for Supply {
    fn from(given: Given) -> Self {
        match given {
            Given::Reply(reply) => Supply::Model(Ok(reply)),
            Given::Refusal(error) => Supply::Model(Err(error)),
            Given::Value(value) | Given::Answer(value) => Supply::Tool(Ok(value)),
            Given::Error(message) => Supply::Tool(Err(message)),
            Given::Decision(decision) => Supply::Approval(decision),
            Given::Lost(message) => Supply::Lost(message),
        }
    }
}

/// A model that has a name and nothing to say, for runs that are played: the tape answers.
pub fn silent(label: &str) -> Llm {
    Llm::Model(Arc::new(Silent(label.to_owned())))
}

struct Silent(String);

impl Model for Silent {
    fn reply(&self, _: Arc<Request>, _: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        let error = ModelError::new(ModelErrorKind::ConfigError, "a recording is played; nobody is asked");
        Box::pin(std::future::ready(Err(error)))
    }

    fn name(&self) -> &str {
        &self.0
    }
}

/// Where a run leaves its tape.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Divergence {
    /// It asks for something else, or at another moment.
    #[error("the run asks something else than on the tape")]
    Asked {
        /// What is on the tape; nothing if the run should not ask.
        taped: Option<Box<Question>>,
        /// What the run asks; nothing if it does not.
        asks: Option<Box<Question>>,
    },
    /// It asks for something, and there the tape is over.
    #[error("the run asks for something where its tape is over")]
    Beyond {
        /// What the run asks.
        asks: Box<Question>,
    },
    /// It does not wait for an answer that the tape has.
    #[error("the run does not wait for answer {id}")]
    Unwanted {
        /// The answer.
        id: u64,
    },
    /// None of its programs is stopped by the clock where one was.
    #[error("no program is stopped where one looked at the clock for the {look}. time")]
    NotStopped {
        /// From 1.
        look: u64,
    },
    /// It is over before its tape is.
    #[error("the run is over before its tape")]
    Early,
    /// The tape is over before the run.
    #[error("the tape is over before the run")]
    Short,
    /// The run was left waiting for people, and now it does not wait.
    #[error("the run no longer waits for people here")]
    NotPaused,
    /// The run that it goes on with cannot be read.
    #[error("the saved run that it begins with: {0}")]
    NotLoaded(String),
    /// It was stopped while it was played.
    #[error("it takes longer than it may")]
    Stopped,
    /// The tape begins in another way than runs do.
    #[error("the tape does not begin with a beginning")]
    NoBeginning,
}

/// What a tape gave when it was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// What came of the run.
    pub step: Box<Step>,
    /// Everything it told.
    pub events: Vec<Event>,
}

/// Plays a tape. `watch` sees every entry before it is played, and what the run told since the last one; `goes_on` is
/// asked before each step, since a tape may be anybody's.
pub fn play(
    agent: Arc<Agent>,
    options: RunOptions,
    tape: impl IntoIterator<Item = impl Borrow<Entry>>,
    mut watch: impl FnMut(&Entry, &[Event]),
    mut goes_on: impl FnMut() -> bool,
) -> Result<Played, Divergence> {
    let mut tape = tape.into_iter().peekable();
    let first = tape.next();
    let mut run = match first.as_ref().map(Borrow::borrow) {
        Some(Entry::Begin { now }) => AgentRun::new(agent, options, *now),
        Some(Entry::Load { now, state }) => AgentRun::load(agent, options, state, *now)
            .map_err(|error| Divergence::NotLoaded(error.to_string()))?,
        _ => return Err(Divergence::NoBeginning),
    };
    let mut asked: VecDeque<Question> = VecDeque::new();
    let (mut events, mut seen, mut over) = (Vec::new(), 0, None);
    while let Some(entry) = tape.next() {
        let entry = entry.borrow();
        let early = |asked: &mut VecDeque<Question>| {
            let asks = asked.pop_front().map(Box::new);
            asks.map_or(Ok(()), |asks| Err(Divergence::Asked { taped: None, asks: Some(asks) }))
        };
        watch(entry, &events[seen..]);
        seen = events.len();
        if over.is_some() {
            return Err(Divergence::Early);
        }
        match entry {
            Entry::Begin { .. } | Entry::Load { .. } => return Err(Divergence::NoBeginning),
            Entry::Again(taped) => {
                let asks = run.outstanding().iter().map(Question::from).find(|asks| asks.id == taped.id);
                if asks.as_ref() != Some(taped) {
                    let taped = Some(Box::new(taped.clone()));
                    return Err(Divergence::Asked { taped, asks: asks.map(Box::new) });
                }
            }
            Entry::Pause => {
                early(&mut asked)?;
                if !run.is_paused() {
                    return Err(Divergence::NotPaused);
                }
                over = Some(Box::new(run.paused()));
            }
            Entry::Ask(taped) => {
                let asks = asked.pop_front();
                if asks.as_ref() != Some(taped) {
                    let taped = Some(Box::new(taped.clone()));
                    return Err(Divergence::Asked { taped, asks: asks.map(Box::new) });
                }
            }
            Entry::Next { now, times } => {
                early(&mut asked)?;
                let stopped = tape.peek().and_then(|next| match next.borrow() {
                    Entry::Stopped { look } => Some(*look),
                    _ => None,
                });
                for time in 1..=*times {
                    if !goes_on() {
                        return Err(Divergence::Stopped);
                    }
                    if let Some(look) = stopped.filter(|_| time == *times) {
                        run.stop_after(look);
                    }
                    match run.next(*now) {
                        Need::Done(step) => over = Some(step),
                        Need::Asks(asks) => asked.extend(asks.iter().map(Question::from)),
                        Need::Busy | Need::Wait { .. } => {}
                    }
                    events.extend(run.take_events());
                }
            }
            Entry::Stopped { look } => {
                let stopped = run.stopped();
                run.look_at_nothing();
                if stopped != Some(*look) {
                    return Err(Divergence::NotStopped { look: *look });
                }
            }
            Entry::Answer { id, now, given } => {
                early(&mut asked)?;
                if !run.wants(*id) {
                    return Err(Divergence::Unwanted { id: *id });
                }
                run.at(*now);
                run.supply(*id, given.clone().into());
            }
            Entry::Cancel { now } => {
                early(&mut asked)?;
                run.cancel(*now);
            }
            Entry::Lost { fail } => {
                early(&mut asked)?;
                run.lose(fail.clone());
            }
        }
    }
    match (over, asked.pop_front()) {
        (Some(step), None) => Ok(Played { step, events }),
        (None, Some(asks)) => Err(Divergence::Beyond { asks: Box::new(asks) }),
        _ => Err(Divergence::Short),
    }
}
