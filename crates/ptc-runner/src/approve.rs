//! People who decide about calls: who asks them, and runs that wait for them.

use ptc_agent::model::Pending;
use ptc_agent::{Agent, AgentRun, Decision, PendingCall, RunOptions, SaveError, Step};
use ptc_host::now_ms;
use std::sync::Arc;

use crate::journal::Saved;

/// Asks a person about calls that wait for one. Functions from a call to a future are approvers.
pub trait Approver: Send + Sync {
    /// What a person decides about a call; nothing if nobody does now, and then the run pauses as soon as it waits
    /// for nothing else. Calls that are made at once are asked about at once.
    fn decide(&self, call: PendingCall) -> Pending<Option<Decision>>;
}

impl<F, D> Approver for F
where
    F: Fn(PendingCall) -> D + Send + Sync,
    D: Future<Output = Option<Decision>> + Send + 'static,
{
    fn decide(&self, call: PendingCall) -> Pending<Option<Decision>> {
        Box::pin(self(call))
    }
}

/// How driving a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// The run is over.
    Over(Step),
    /// It waits for people and for nothing else.
    Paused(Paused),
}

impl Outcome {
    /// The step: of a run that waits, one that failed for now, with what it waits for.
    pub fn step(self) -> Step {
        match self {
            Outcome::Over(step) => step,
            Outcome::Paused(paused) => paused.step,
        }
    }
}

/// A run that waits for people. [`crate::go_on`] continues it, in any process.
#[derive(Debug)]
pub struct Paused {
    /// The run as bytes.
    pub state: Vec<u8>,
    /// The calls that wait.
    pub pending: Vec<PendingCall>,
    /// What there is of it.
    pub step: Step,
}

impl Paused {
    /// The run with what was decided about its calls, by their numbers. Others are asked about again.
    pub fn decided(self, decisions: impl IntoIterator<Item = (u64, Decision)>) -> Saved {
        Saved { decisions: decisions.into_iter().collect(), ..Saved::from(self.state) }
    }
}

/// The calls of a saved run that wait for a person.
pub fn pending(agent: Arc<Agent>, options: RunOptions, saved: &Saved) -> Result<Vec<PendingCall>, SaveError> {
    let mut run = AgentRun::load(agent, options, &saved.state, u64::try_from(now_ms()).unwrap_or(0))?;
    for (id, supply) in saved.supplies()? {
        run.supply(id, supply);
    }
    Ok(run.pending())
}

/// Whether decisions are about calls that wait, and edited arguments fit.
pub(crate) fn check(run: &AgentRun, decisions: &[(u64, Decision)]) -> Result<(), String> {
    let pending = run.pending();
    let mut seen = Vec::new();
    for (id, decision) in decisions {
        let Some(call) = pending.iter().find(|call| call.id == *id) else {
            let waiting: Vec<String> = pending.iter().map(|call| call.id.to_string()).collect();
            return Err(match waiting.as_slice() {
                [] => format!("no call {id} waits for a decision; none does"),
                waiting => format!("no call {id} waits for a decision; there are {}", waiting.join(", ")),
            });
        };
        if seen.contains(id) {
            return Err(format!("call {id} is decided twice"));
        }
        seen.push(*id);
        if let Decision::Edit(args) = decision {
            let wrong = |message| format!("the new arguments of call {id}, `{}`: {message}", call.tool.name);
            call.accepts(args).map_err(wrong)?;
        }
    }
    Ok(())
}
