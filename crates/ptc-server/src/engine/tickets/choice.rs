//! What somebody decides: about which ticket, which of its calls, and in which way.

use ptc_host::Decision;
use ptc_upstream::Redactor;
use serde_json::Value as Json;

use super::super::api::Args;
use super::super::args::known;
use super::super::tools::Tool;
use super::parked::{Parked, edited, shown};

/// A decision about some of the calls that wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Their numbers; all of them unless told.
    pub calls: Option<Vec<u64>>,
    /// What is to become of them. An edit holds the arguments of the tool alone.
    pub decision: Decision,
}

/// An answer that cannot be used, such as arguments that are no JSON: nothing is decided then, and the forms are shown again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongAnswer {
    /// The number of the call that it is about; none if it is about none.
    pub call: Option<u64>,
    /// What is wrong with it.
    pub why: String,
}

impl WrongAnswer {
    fn of(call: u64, why: String) -> WrongAnswer {
        WrongAnswer { call: Some(call), why }
    }

    fn of_none(why: &str) -> WrongAnswer {
        WrongAnswer { call: None, why: why.to_owned() }
    }
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
    /// What keeps all of it from being used.
    pub wrong: Option<WrongAnswer>,
}

/// Characters of a reason for rejecting.
const REASON_CHARS: usize = 2_000;

impl Decided {
    /// Whether nobody wanted to decide.
    pub fn is_dismissed(&self) -> bool {
        self.choices.is_empty() && self.wrong.is_none()
    }

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
        Ok(Decided { by: By::Model, which: Which::Text(ticket), choices, program: None, wrong: None })
    }

    /// Decisions by the numbers of calls that wait, which were shown with secrets covered.
    pub(super) fn decisions(
        &self,
        parked: &Parked,
        redactor: &Redactor,
    ) -> Result<Vec<(u64, Decision)>, WrongAnswer> {
        if let Some(wrong) = &self.wrong {
            return Err(wrong.clone());
        }
        let pending = parked.held.pending();
        let all_shown = shown(pending, redactor);
        let mut decisions = Vec::new();
        for choice in &self.choices {
            let all = || pending.iter().map(|call| call.id).collect();
            let calls: Vec<u64> = choice.calls.clone().unwrap_or_else(all);
            if matches!(choice.decision, Decision::Edit(_)) && calls.len() != 1 {
                let why = "several calls wait; say with `call` whose arguments these are";
                return Err(WrongAnswer::of_none(why));
            }
            for id in calls {
                let call = pending.iter().zip(&all_shown).find(|(call, _)| call.id == id);
                let (call, shown) = call
                    .ok_or_else(|| WrongAnswer::of(id, format!("call {id} does not wait for a decision")))?;
                let decision = match &choice.decision {
                    // Whoever leaves the arguments as they were shown means those of the call.
                    Decision::Edit(args) if *args == shown["args"] => Decision::Approve,
                    Decision::Edit(args) => {
                        edited(call, args.clone()).map_err(|why| WrongAnswer::of(id, why))?
                    }
                    other => other.clone(),
                };
                decisions.push((id, decision));
            }
        }
        match decisions.is_empty() {
            true => Err(WrongAnswer::of_none("nothing is decided; name at least one call that waits")),
            false => Ok(decisions),
        }
    }
}
