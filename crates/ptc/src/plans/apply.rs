//! The calls of a plan, made in order and each at most once.
//!
//! The journal has the plan's id as its scope, so that a plan which is applied again goes on with what was never
//! begun. It goes no further than a call that failed or of which nobody knows, however often it is applied: what comes behind may
//! need it. Only a person who says what became of that call has it go on. What was read is compared before the first write only: afterwards the plan itself has changed the world.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ptc_lisp::machine::Answer;
use ptc_server::effects::StoreJournal;
use ptc_upstream::model::Reason;
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect};
use serde_json::{Value as Json, json};

use super::applying::Applying;
use super::{Plan, Read, make};
use crate::attached::AttachedUpstreams;

/// What became of one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Became {
    /// It was made now.
    Done(Json),
    /// It was made when the plan was applied before.
    DoneBefore,
    /// It was begun before, or now, and nobody knows what came of it; nothing after it is made.
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
pub fn drift(plan: &Plan, upstreams: &AttachedUpstreams) -> Vec<String> {
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

/// Makes the calls of a plan, for whoever is the one to apply it; `told` hears what became of each.
pub fn apply(
    plan: &Plan,
    upstreams: &AttachedUpstreams,
    applying: &Arc<Applying>,
    mut told: impl FnMut(usize, &Became),
) -> Vec<Became> {
    let scope = scope(plan);
    let calls: Vec<Json> = plan.writes.iter().map(|write| write.call.to_json()).collect();
    let mut became: Vec<Became> = Vec::new();
    for at in 0..calls.len() {
        let goes_on = became.last().is_none_or(|last| matches!(last, Became::Done(_) | Became::DoneBefore));
        let now = match goes_on {
            false => Became::Left,
            true => {
                let kept = Arc::new(PlanJournal {
                    journal: applying.journal().clone(),
                    applying: applying.clone(),
                    open: AtomicBool::default(),
                });
                let run = upstreams.begin_journalled(&scope, kept.clone(), &calls[..at]);
                // Applying a plan is approving its calls.
                let answer = run.make(&calls[at], PATIENCE);
                let recalled = run.finish().calls.first().is_some_and(|entry| entry.recalled);
                of(answer, recalled, kept.open.load(Ordering::Acquire))
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

/// The journal of one call of a plan. What was begun before is answered from it, whether or not its server can be reached
/// now.
struct PlanJournal {
    journal: StoreJournal,
    /// The right to apply the plan.
    applying: Arc<Applying>,
    /// Whether the call was begun and has no answer, so that it may have happened.
    open: AtomicBool,
}

impl EffectJournal for PlanJournal {
    fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.applying.check()?;
        let begun = self.journal.begin(scope, call)?;
        self.open.store(begun == Begun::Fresh, Ordering::Release);
        Ok(begun)
    }

    fn known(&self, scope: &str, identity: &str) -> Result<Option<Begun>, String> {
        self.journal.looked_up(scope, identity)
    }

    fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.journal.done(scope, identity, answer)?;
        self.open.store(false, Ordering::Release);
        Ok(())
    }

    fn begun_ms(&self, scope: &str, identity: &str) -> Option<i64> {
        self.journal.begun_ms(scope, identity)
    }

    fn under_way(&self, scope: &str, identity: &str, is: bool) {
        self.journal.under_way(scope, identity, is);
    }

    fn holds(&self) -> Option<Duration> {
        self.journal.holds()
    }

    fn unsent(&self, scope: &str, identity: &str) -> Result<(), String> {
        self.open.store(false, Ordering::Release);
        self.journal.unsent(scope, identity)
    }
}

/// What became of a call by its answer, which was known before or not, and whether the journal leaves it open.
fn of(answer: Option<Answer>, recalled: bool, open: bool) -> Became {
    // Whatever is open is listed by `ptc effects`, and waits for somebody who looks.
    let ended = |message: String| match open {
        true => Became::Unknown(format!("{message}; it may or may not have happened")),
        false => Became::Failed(format!("{message}; it was not made")),
    };
    match answer {
        Some(Answer::Upstream { .. }) if recalled => Became::DoneBefore,
        Some(Answer::Upstream { value, .. }) => Became::Done(value),
        Some(Answer::Fault { reason, message }) => {
            let before = if recalled { " when the plan was applied before" } else { "" };
            match Reason::named(&reason) {
                Some(Reason::OutcomeUnknown) => Became::Unknown(message),
                Some(Reason::Timeout | Reason::StreamClosedBeforeResponse | Reason::UpstreamUnavailable) => {
                    ended(format!("{reason}{before}: {message}"))
                }
                _ => Became::Failed(format!("{reason}{before}: {message}")),
            }
        }
        Some(Answer::Raise(error)) => Became::Failed(error.text()),
        Some(other) => Became::Failed(format!("an answer that no call gives: {other:?}")),
        None => ended("no answer in time".to_owned()),
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
