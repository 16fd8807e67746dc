//! Tapes: everything that comes into a program, at the moment its machine gets it. What a program does depends on
//! nothing else, so whoever keeps a tape can play it back.

use ptc_lisp::machine::{Answer, Call, Machine, ValueKind};
use ptc_lisp::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::hold::{DEEPEST, nests_within};

/// Takes down what comes into a program. Methods are called on the thread that runs it, in order.
pub trait Tape: Send + Sync {
    /// The machine as it stands when the program begins, with inputs, tools, clock and seed; without a source it goes
    /// on with a program that was held. A program that is refused before it is loaded does not begin.
    fn begin(&self, machine: &Machine, source: Option<&str>);

    /// The calls of a step, in the order of the program.
    fn asked(&self, calls: &[Call]);

    /// What the machine is answered.
    fn answered(&self, id: u64, answer: &Answer);
}

/// An answer as it is written. Values that nest too deeply for readers of JSON are written as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landed {
    /// A value.
    Value(Json),
    /// A value as JSON text.
    Json(String),
    /// A value from an upstream.
    Upstream {
        /// The value.
        value: Json,
        /// The name of its kind.
        kind: String,
    },
    /// A failure of the world outside.
    Fault {
        /// Its name.
        reason: String,
        /// What happened.
        message: String,
    },
    /// An exception.
    Raise {
        /// The name of its kind.
        kind: String,
        /// What happened.
        message: String,
        /// The function that found fault.
        function: Option<String>,
        /// How to fix it.
        hint: Option<String>,
    },
}

/// The kinds of payloads, to find them by name.
const KINDS: [ValueKind; 3] = [ValueKind::Json, ValueKind::Text, ValueKind::None];

impl From<&Answer> for Landed {
    fn from(answer: &Answer) -> Self {
        match answer.clone() {
            Answer::Value(value) if !nests_within(&value, DEEPEST) => Landed::Json(value.to_string()),
            Answer::Value(value) => Landed::Value(value),
            Answer::Json(text) => Landed::Json(text),
            Answer::Upstream { value, kind } => Landed::Upstream { value, kind: kind.name().to_owned() },
            Answer::Fault { reason, message } => Landed::Fault { reason, message },
            // Errors of tools have no place in the program before it gets them.
            Answer::Raise(Error { kind, message, function, hint, .. }) => {
                Landed::Raise { kind: kind.reason().to_owned(), message, function, hint }
            }
        }
    }
}

impl Landed {
    /// The answer again, or what is wrong with it.
    pub fn answer(self) -> Result<Answer, String> {
        Ok(match self {
            Landed::Value(value) => Answer::Value(value),
            Landed::Json(text) => Answer::Json(text),
            Landed::Upstream { value, kind } => {
                let known = KINDS.into_iter().find(|known| known.name() == kind);
                Answer::Upstream { value, kind: known.ok_or("an answer is of no kind")? }
            }
            Landed::Fault { reason, message } => Answer::Fault { reason, message },
            Landed::Raise { kind, message, function, hint } => {
                let kind = ErrorKind::named(&kind).ok_or_else(|| format!("there is no error {kind}"))?;
                Answer::Raise(Error { function, hint, ..Error::new(kind, message) })
            }
        })
    }
}
