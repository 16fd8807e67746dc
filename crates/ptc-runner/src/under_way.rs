//! What a run has asked for and waits for: who is to answer, and of calls that may change something whether they were made and
//! answered.

use std::sync::{Arc, OnceLock};

use ptc_agent::{Supply, Tool};
use serde_json::Value as Json;
use tokio::task::AbortHandle;

use crate::journal::{Answerer, LostCall, is_own_and_once};
use crate::outside::NoResult;

/// What comes back.
pub(crate) enum Mail {
    /// An answer.
    Answer(Supply),
    /// A tool gave no result.
    NoResult(NoResult),
    /// A person did not decide: there is no answer for now.
    Undecided,
}

/// Something that was asked for.
pub(crate) struct UnderWay {
    /// Stops it.
    pub handle: AbortHandle,
    /// Who is to answer.
    pub of: (Answerer, String),
    /// The call, if nobody knows what it did unless it is answered.
    pub own: Option<Arc<OwnCall>>,
}

/// A call of one of the agent's own tools that may change something.
pub(crate) struct OwnCall {
    ask: u64,
    tool: String,
    /// Its arguments, if anybody writes them down.
    args: Json,
    /// When it was made: not before there is room for it.
    called_ms: OnceLock<i64>,
    answered: OnceLock<()>,
}

impl OwnCall {
    /// The call, unless it changes nothing or may be made again.
    pub fn of(ask: u64, tool: &Tool, args: &Json, is_kept: bool) -> Option<Arc<OwnCall>> {
        is_own_and_once(tool, args).then(|| {
            let args = if is_kept { args.clone() } else { Json::Null };
            let (called_ms, answered) = (OnceLock::new(), OnceLock::new());
            Arc::new(OwnCall { ask, tool: tool.name.clone(), args, called_ms, answered })
        })
    }

    /// The call is made now.
    pub fn begins(&self, now_ms: i64) {
        // It is made once.
        let _ = self.called_ms.set(now_ms);
    }

    /// Its answer is there, whether or not anybody wants it.
    pub fn has_answer(&self) {
        let _ = self.answered.set(());
    }

    /// Whether it is known what came of it.
    pub fn is_answered(&self) -> bool {
        self.answered.get().is_some()
    }

    /// The name of the tool.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// When it was made, if it was.
    pub fn called_ms(&self) -> Option<i64> {
        self.called_ms.get().copied()
    }

    /// The same for a journal, if it was made.
    pub fn lost(&self) -> Option<LostCall> {
        let (ask, tool, args) = (self.ask, self.tool.clone(), self.args.clone());
        self.called_ms().map(|called_ms| LostCall { ask, tool, args, called_ms })
    }
}
