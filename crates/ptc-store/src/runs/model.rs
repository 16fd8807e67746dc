//! What there is to know of a run, and what can go wrong with it.

use serde::Serialize;
use serde_json::Value as Json;

use crate::StoreError;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It goes on, or its process ended without a word.
    Open,
    /// It was stopped.
    Interrupted,
    /// It gave its answer.
    Finished,
    /// It failed.
    Failed,
}

impl Status {
    const ALL: [Status; 4] = [Status::Open, Status::Interrupted, Status::Finished, Status::Failed];

    /// The name that is stored and shown.
    pub fn name(self) -> &'static str {
        match self {
            Status::Open => "open",
            Status::Interrupted => "interrupted",
            Status::Finished => "finished",
            Status::Failed => "failed",
        }
    }

    pub(super) fn named(name: &str) -> Result<Self, String> {
        let found = Status::ALL.into_iter().find(|status| status.name() == name);
        found.ok_or_else(|| format!("a run has the status `{name}`, which there is not"))
    }
}

/// How a run ended, or why it goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It was stopped.
    Interrupted,
    /// It gave its answer.
    Finished,
    /// It failed.
    Failed,
}

impl From<Ending> for Status {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Interrupted => Status::Interrupted,
            Ending::Finished => Status::Finished,
            Ending::Failed => Status::Failed,
        }
    }
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedRun {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// How far it has come.
    pub status: Status,
    /// Answers that were kept.
    pub answers: i64,
    /// When it began, in milliseconds since 1970.
    pub began_at: i64,
    /// When something of it was last kept.
    pub changed_at: i64,
}

/// An answer to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewAnswer<'a> {
    /// The number of what was asked.
    pub ask: u64,
    /// What answered: `model`, `tool`.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// The answer.
    pub bytes: &'a [u8],
}

/// An answer that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its place in the order of answers, from 1.
    pub number: i64,
    /// The number of what was asked.
    pub ask: u64,
    /// What answered: `model`, `tool`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The answer.
    pub bytes: Vec<u8>,
}

/// All that was kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptRun {
    /// What it was begun from.
    pub origin: Json,
    /// How far it came.
    pub status: Status,
    /// When something of it was last kept, in milliseconds since 1970.
    pub changed_at: i64,
    /// Its last state; `None` if it ended before it had one.
    pub state: Option<Vec<u8>>,
    /// How many answers the state knows.
    pub state_answers: i64,
    /// All answers, in order.
    pub answers: Vec<Answer>,
    /// What came of it, if it ended.
    pub step: Option<Json>,
}

impl KeptRun {
    /// The answers that the state does not know.
    pub fn answers_after_state(&self) -> impl Iterator<Item = &Answer> {
        self.answers.iter().filter(|answer| answer.number > self.state_answers)
    }
}

/// Why something cannot be done with a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// There is no such run.
    #[error("there is no run `{id}` in {place}; `ptc runs` lists them")]
    Missing {
        /// The id.
        id: String,
        /// Where it was looked for.
        place: String,
    },
    /// Several ids begin like this.
    #[error("`{beginning}` is the beginning of several runs: {ids}; write more of the one you mean")]
    Ambiguous {
        /// What was given.
        beginning: String,
        /// The runs.
        ids: String,
    },
    /// Another process went on with the run.
    #[error("another process went on with run {id}, so this one leaves it alone")]
    TakenOver {
        /// The run.
        id: String,
    },
    /// The system gives no random numbers.
    #[error("a run needs a random id, and the system gives none: {0}")]
    NoId(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
