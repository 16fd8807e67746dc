//! The calls of a plan, made in order and each at most once.
//!
//! The journal has the plan's id as its scope, so that a plan which is applied again goes on with what was never
//! begun. What was read is compared before the first write only: afterwards the plan itself has changed the world.

use std::sync::Arc;
use std::time::Duration;

use ptc_lisp::machine::Answer;
use ptc_upstream::model::Reason;
use ptc_upstream::runtime::EffectJournal;
use serde_json::{Value as Json, json};

use super::{Plan, Read, make};
use crate::attached::Upstreams;

/// What became of one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Became {
    /// It was made now.
    Done(Json),
    /// It was made when the plan was applied before.
    DoneBefore,
    /// It was begun before, or now, and nobody knows what came of it.
    Unknown(String),
    /// It failed now or before; nothing after it is made.
    Failed(String),
    /// It was not made, because of one before it.
    Left,
}

impl Became {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Became::Done(_) => "done",
            Became::DoneBefore => "done_before",
            Became::Unknown(_) => "outcome_unknown",
            Became::Failed(_) => "failed",
            Became::Left => "not_made",
        }
    }
}

/// How long comparing one read may take at most.
const PATIENCE: Duration = Duration::from_secs(600);

/// What is not as it was when the plan was made.
pub fn drift(plan: &Plan, upstreams: &Upstreams) -> Vec<String> {
    let run = upstreams.begin();
    let mut drifted = Vec::new();
    for (target, hash) in &plan.tools {
        let (server, tool) = target.split_once('/').unwrap_or((target, ""));
        match run.definition_hash(server, tool) {
            Some(now) if now == *hash => {}
            Some(_) => drifted.push(format!("the tool {target} is not defined as it was")),
            None => drifted.push(format!("the tool {target} is gone, or its server cannot be reached")),
        }
    }
    if !drifted.is_empty() {
        return drifted;
    }
    for (at, Read { asked, answer }) in plan.reads.iter().enumerate() {
        let now = run.ask_all(&[asked], PATIENCE).and_then(|answers| answers.into_iter().next());
        if now.map(|now| make::answer_hash(&now)).as_ref() != Some(answer) {
            drifted.push(format!("read {}, {asked}, has another answer than it had", at + 1));
        }
    }
    drifted
}

/// Makes the calls of a plan; `told` hears what became of each.
pub fn apply(
    plan: &Plan,
    upstreams: &Upstreams,
    journal: &Arc<dyn EffectJournal>,
    mut told: impl FnMut(usize, &Became),
) -> Vec<Became> {
    let scope = scope(plan);
    let calls: Vec<Json> = plan.writes.iter().map(|write| write.call.to_json()).collect();
    let mut became: Vec<Became> = Vec::new();
    for at in 0..calls.len() {
        let over = became.last().is_some_and(|last| matches!(last, Became::Failed(_) | Became::Left));
        let now = match over {
            true => Became::Left,
            false => {
                let run = upstreams.begin_journalled(&scope, journal.clone(), &calls[..at]);
                // Applying a plan is approving its calls.
                let answer = run.make(&calls[at], PATIENCE);
                let recalled = run.finish().calls.first().is_some_and(|entry| entry.recalled);
                of(answer, recalled)
            }
        };
        told(at, &now);
        became.push(now);
    }
    became
}

/// The scope of a plan in journals.
pub fn scope(plan: &Plan) -> String {
    format!("plan:{}", plan.id)
}

fn of(answer: Option<Answer>, recalled: bool) -> Became {
    match answer {
        Some(Answer::Upstream { .. }) if recalled => Became::DoneBefore,
        Some(Answer::Upstream { value, .. }) => Became::Done(value),
        Some(Answer::Fault { reason, message }) => {
            let before = if recalled { " when the plan was applied before" } else { "" };
            match Reason::named(&reason) {
                Some(Reason::OutcomeUnknown) if recalled => Became::Unknown(message),
                // Made now: what comes after it may depend on it.
                Some(Reason::OutcomeUnknown) => Became::Failed(message),
                _ => Became::Failed(format!("{reason}{before}: {message}")),
            }
        }
        Some(Answer::Raise(error)) => Became::Failed(error.text()),
        Some(other) => Became::Failed(format!("an answer that no call gives: {other:?}")),
        None => Became::Failed("no answer in time; whether it happened is not known".to_owned()),
    }
}

/// What became of all calls, as JSON.
pub fn report(plan: &Plan, became: &[Became]) -> Json {
    let writes = plan.writes.iter().zip(became).map(|(write, became)| {
        let mut line = json!({"call": write.call, "became": became.name()});
        match became {
            Became::Done(value) => line["value"] = value.clone(),
            Became::Unknown(message) | Became::Failed(message) => line["message"] = json!(message),
            Became::DoneBefore | Became::Left => {}
        }
        line
    });
    json!({"plan": plan.id, "ok": all_done(became), "writes": writes.collect::<Vec<_>>()})
}

/// Whether every call is known to have worked.
pub fn all_done(became: &[Became]) -> bool {
    became.iter().all(|became| matches!(became, Became::Done(_) | Became::DoneBefore))
}
