//! A conversation of several messages: definitions, history, journal and cached results last from one to the
//! next. A message may wait for a person and go on later.

use std::sync::Arc;

use ptc_agent::model::Output;
use ptc_agent::{Agent, BuildError, Carried, Decision, Fail, Mode, PendingCall, RunOptions, Step};
use serde_json::Value as Json;

use crate::Surroundings;
use crate::drive::{Begin, Ended, RESUME_ERROR, drive, failed};
use crate::journal::Saved;

/// A conversation with an agent. Cloning it branches off.
#[derive(Clone, Debug)]
pub struct Chat {
    agent: Arc<Agent>,
    carried: Option<Arc<Carried>>,
    waiting: Option<Waiting>,
}

/// A message that waits for people.
#[derive(Clone, Debug)]
struct Waiting {
    /// The agent with the message.
    agent: Arc<Agent>,
    state: Vec<u8>,
    pending: Vec<PendingCall>,
}

impl Chat {
    /// A conversation that has not begun.
    pub fn new(agent: impl Into<Arc<Agent>>) -> Self {
        Chat { agent: agent.into(), carried: None, waiting: None }
    }

    /// Says something, which takes the place of the agent's mission. Gives the answer and keeps the state; a
    /// message that failed leaves the conversation as it was. One that waits for a person fails for now, with the
    /// reason `approval_required`: [`Chat::pending`] has its calls, and [`Chat::go_on`] goes on with it.
    pub async fn say(&mut self, message: &str, options: RunOptions) -> Result<Json, Fail> {
        let step = self.step(message, options, Surroundings::default()).await;
        let step = step.map_err(|error| Fail::new(ptc_agent::Reason::TEMPLATE_ERROR, error.to_string()))?;
        match step.fail {
            None => Ok(step.value),
            Some(fail) => Err(fail),
        }
    }

    /// The same with the whole step, and with somebody around. A message that waited is given up: nothing more of
    /// it happens.
    pub async fn step(
        &mut self,
        message: &str,
        options: RunOptions,
        around: Surroundings,
    ) -> Result<Step, BuildError> {
        let agent = Arc::new(self.agent.with_message(message)?);
        self.waiting = None;
        let options = RunOptions { keep_state: true, carried: self.carried.clone(), ..options };
        let ended = drive(agent.clone(), options, Begin::New, around).await;
        Ok(self.ended(agent, ended))
    }

    /// The calls that the last message waits for, the oldest first; none if it does not wait.
    pub fn pending(&self) -> &[PendingCall] {
        self.waiting.as_ref().map_or(&[], |waiting| &waiting.pending)
    }

    /// Goes on with the message that waits, with what was decided about its calls, by their numbers. The approver is
    /// asked about the others; without one the message waits again. Decisions that make no sense change nothing.
    pub async fn go_on(
        &mut self,
        decisions: impl IntoIterator<Item = (u64, Decision)>,
        options: RunOptions,
        around: Surroundings,
    ) -> Step {
        let Some(Waiting { agent, state, .. }) = self.waiting.clone() else {
            return failed(RESUME_ERROR, "no message of this chat waits for a person".to_owned());
        };
        let saved = Saved { decisions: decisions.into_iter().collect(), ..Saved::from(state) };
        let options = RunOptions { keep_state: true, ..options };
        let ended = drive(agent.clone(), options, Begin::Saved(saved), around).await;
        if ended.step.fail.as_ref().is_some_and(|fail| fail.reason.as_str() == RESUME_ERROR) {
            return ended.step;
        }
        self.ended(agent, ended)
    }

    /// Keeps what a message left behind.
    fn ended(&mut self, agent: Arc<Agent>, ended: Ended) -> Step {
        let Ended { step, carried, paused } = ended;
        self.waiting = paused.map(|(state, pending)| Waiting { agent, state, pending });
        if step.is_ok() {
            self.carried = carried.map(Arc::new);
        }
        step
    }

    /// Whether the agent answers in text.
    pub fn is_text(&self) -> bool {
        matches!(self.agent.mode(), Mode::Text | Mode::Combined)
            && self.agent.options().output == Output::Text
    }
}
