//! Calls that wait for a person: which do, and what a person can decide.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{Effect, Tool};

/// Which calls of a tool wait until a person has decided.
#[derive(Clone, Debug, Default)]
pub enum Approval {
    /// None.
    #[default]
    Never,
    /// All.
    Ask,
    /// Those that change something, or may.
    Writes,
    /// Those that a function picks.
    Of(ApprovalOf),
}

/// Says whether a call with these arguments waits for a person: if so, what the person is told about it beside the
/// tool and the arguments.
pub type Pick = dyn Fn(&Json) -> Option<Json> + Send + Sync;

/// Picks the calls that wait.
#[derive(Clone)]
pub struct ApprovalOf(pub Arc<Pick>);

impl fmt::Debug for ApprovalOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApprovalOf")
    }
}

impl Approval {
    /// The names that files use.
    pub const NAMES: [&'static str; 3] = ["ask", "writes", "never"];

    /// The approval of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ask" => Some(Approval::Ask),
            "writes" => Some(Approval::Writes),
            "never" => Some(Approval::Never),
            _ => None,
        }
    }

    /// Calls that a function picks.
    pub fn of(pick: impl Fn(&Json) -> Option<Json> + Send + Sync + 'static) -> Self {
        Approval::Of(ApprovalOf(Arc::new(pick)))
    }
}

/// What a person decides about a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call is made as it is.
    Approve,
    /// The call is made with these arguments.
    Edit(Json),
    /// The call is not made, for this reason.
    Reject(String),
}

impl Decision {
    /// What it comes to, without arguments and reasons.
    pub fn verdict(&self) -> Verdict {
        match self {
            Decision::Approve => Verdict::Approved,
            Decision::Edit(_) => Verdict::Edited,
            Decision::Reject(_) => Verdict::Rejected,
        }
    }
}

/// What was decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was made as it was.
    Approved,
    /// It was made with other arguments.
    Edited,
    /// It was not made.
    Rejected,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Approved => "approved",
            Verdict::Edited => "edited",
            Verdict::Rejected => "rejected",
        }
    }
}

/// A call that waits for a person.
#[derive(Clone, Debug)]
pub struct PendingCall {
    /// Its number in the run, for the decision.
    pub id: u64,
    /// The agent that calls.
    pub agent: Option<String>,
    /// The tool. Its `validation` says how strictly edited arguments are checked.
    pub tool: Arc<Tool>,
    /// The arguments, checked.
    pub args: Json,
    /// What else there is to say: what the call does to the world, and for upstreams the server.
    pub about: Json,
}

impl PendingCall {
    /// The call as JSON.
    pub fn json(&self) -> Json {
        json!({
            "call": self.id, "agent": self.agent, "tool": self.tool.name, "args": self.args,
            "about": self.about,
        })
    }

    /// Whether the tool takes these arguments in place of its own; if not, why.
    pub fn accepts(&self, args: &Json) -> Result<(), String> {
        self.tool.take(args.clone(), self.tool.validation.unwrap_or_default()).map(drop)
    }
}

impl Tool {
    /// Whose calls wait for a person.
    #[must_use]
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// Whether a call waits for a person: if so, what to tell about it. A function that cannot say means yes.
    pub fn asks(&self, args: &Json) -> Option<Json> {
        let effect = || self.effect_of.as_ref().map_or(self.effect, |effect| effect.0(args));
        let look = || match &self.approval {
            Approval::Never => None,
            Approval::Ask => Some(json!({"effect": effect()})),
            Approval::Writes => {
                let effect = effect();
                (effect != Effect::Read).then(|| json!({"effect": effect}))
            }
            Approval::Of(pick) => pick.0(args),
        };
        catch_unwind(AssertUnwindSafe(look)).unwrap_or_else(|_| Some(json!({"effect": Effect::Unknown})))
    }

    /// What models are told about waiting.
    pub(crate) fn waits(&self) -> Option<&'static str> {
        match &self.approval {
            Approval::Never => None,
            Approval::Ask => Some("Each call waits for a person's approval"),
            Approval::Writes if self.effect_of.is_none() && self.effect == Effect::Read => None,
            Approval::Writes if self.effect_of.is_none() => Some("Each call waits for a person's approval"),
            Approval::Writes => Some("Calls that may change something wait for a person's approval"),
            Approval::Of(_) => Some("Some calls wait for a person's approval"),
        }
    }
}
