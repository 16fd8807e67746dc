//! What somebody decides: about which ticket, which of its calls, and in which way.

use ptc_host::Decision;
use serde_json::Value as Json;

use super::super::api::Args;
use super::super::args::known;
use super::super::tools::Tool;
use super::parked::{Parked, edited};

/// A decision about some of the calls that wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Their numbers; all of them unless told.
    pub calls: Option<Vec<u64>>,
    /// What is to become of them. An edit holds the arguments of the tool alone.
    pub decision: Decision,
}

/// Which ticket is meant.
#[derive(Clone, Debug)]
pub enum Which {
    /// The one with this text.
    Text(String),
    /// The one with this id, for callers who were shown it.
    Id(String),
}

/// The way in which somebody decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// On the page of approvals.
    Page,
    /// In a form that the client showed.
    Form,
    /// With the tools that models have with `--approval-by model`.
    Model,
}

impl By {
    /// Its name in the log.
    pub fn name(self) -> &'static str {
        match self {
            By::Page => "page",
            By::Form => "form",
            By::Model => "model",
        }
    }

    /// What such decisions are counted, logged and remembered as, beside tools.
    pub fn counted(self) -> &'static str {
        match self {
            By::Page => "approval_page",
            By::Form => "approval_form",
            By::Model => Tool::Approve.name(),
        }
    }
}

/// What a caller decided.
#[derive(Clone, Debug)]
pub struct Decided {
    /// In which way.
    pub by: By,
    /// About which ticket.
    pub which: Which,
    /// What.
    pub choices: Vec<Choice>,
    /// The program that the caller believes it to be about.
    pub program: Option<String>,
}

/// Characters of a reason for rejecting.
const REASON_CHARS: usize = 2_000;

impl Decided {
    /// Reads the arguments of one of the three tools.
    pub(super) fn read(tool: Tool, mut args: Args) -> Result<Decided, String> {
        match tool {
            Tool::Approve => known(&args, &["ticket", "calls"], &["call"])?,
            Tool::Reject => known(&args, &["ticket", "calls", "reason"], &["call"])?,
            _ => known(&args, &["ticket", "call", "args"], &["calls"])?,
        }
        let Some(Json::String(ticket)) = args.remove("ticket") else {
            return Err("argument `ticket` is required: the text that came with approval_required".to_owned());
        };
        let calls = match (args.remove("calls"), args.remove("call")) {
            (Some(_), Some(_)) => return Err("give `call` or `calls`, not both".to_owned()),
            (None | Some(Json::Null), None | Some(Json::Null)) => None,
            (Some(Json::Array(calls)), _) => Some(calls),
            (_, Some(call)) => Some(vec![call]),
            (Some(_), None) => return Err("argument `calls` must be a list of numbers".to_owned()),
        };
        let numbers = |calls: Vec<Json>| calls.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>();
        let calls = match calls.map(numbers) {
            Some(None) => return Err("calls are named by the numbers in `pending`".to_owned()),
            Some(Some(calls)) => Some(calls),
            None => None,
        };
        let decision = match tool {
            Tool::Approve => Decision::Approve,
            Tool::Reject => match args.remove("reason") {
                None | Some(Json::Null) => Decision::Reject("rejected".to_owned()),
                Some(Json::String(why)) => Decision::Reject(why.chars().take(REASON_CHARS).collect()),
                Some(_) => return Err("argument `reason` must be a string".to_owned()),
            },
            _ => match args.remove("args") {
                Some(args @ Json::Object(_)) => Decision::Edit(args),
                _ => {
                    return Err("argument `args` must be an object: the new arguments of the call".to_owned());
                }
            },
        };
        let choices = vec![Choice { calls, decision }];
        Ok(Decided { by: By::Model, which: Which::Text(ticket), choices, program: None })
    }

    /// Decisions by the numbers of calls that wait.
    pub(super) fn decisions(&self, parked: &Parked) -> Result<Vec<(u64, Decision)>, String> {
        let pending = parked.held.pending();
        let mut decisions = Vec::new();
        for choice in &self.choices {
            let all = || pending.iter().map(|call| call.id).collect();
            let calls: Vec<u64> = choice.calls.clone().unwrap_or_else(all);
            if matches!(choice.decision, Decision::Edit(_)) && calls.len() != 1 {
                return Err("several calls wait; say with `call` whose arguments these are".to_owned());
            }
            for id in calls {
                let call = pending.iter().find(|call| call.id == id);
                let call = call.ok_or_else(|| format!("call {id} does not wait for a decision"))?;
                let decision = match &choice.decision {
                    Decision::Edit(args) => edited(call, args.clone())?,
                    other => other.clone(),
                };
                decisions.push((id, decision));
            }
        }
        match decisions.is_empty() {
            true => Err("nothing is decided; name at least one call that waits".to_owned()),
            false => Ok(decisions),
        }
    }
}
