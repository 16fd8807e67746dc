//! A conversation of several messages: definitions, history, journal and cached results last from one to the
//! next.

use std::sync::Arc;

use ptc_agent::model::Output;
use ptc_agent::{Agent, BuildError, Carried, Fail, Mode, RunOptions, Step};
use serde_json::Value as Json;

use crate::Surroundings;
use crate::drive::{Begin, Ended, drive};

/// A conversation with an agent. Cloning it branches off.
#[derive(Clone, Debug)]
pub struct Chat {
    agent: Arc<Agent>,
    carried: Option<Arc<Carried>>,
}

impl Chat {
    /// A conversation that has not begun.
    pub fn new(agent: impl Into<Arc<Agent>>) -> Self {
        Chat { agent: agent.into(), carried: None }
    }

    /// Says something, which takes the place of the agent's mission. Gives the answer and keeps the state; a
    /// message that failed leaves the conversation as it was.
    pub async fn say(&mut self, message: &str, options: RunOptions) -> Result<Json, Fail> {
        let step = self.step(message, options, Surroundings::default()).await;
        let step = step.map_err(|error| Fail::new(ptc_agent::Reason::TEMPLATE_ERROR, error.to_string()))?;
        match step.fail {
            None => Ok(step.value),
            Some(fail) => Err(fail),
        }
    }

    /// The same with the whole step, and with somebody around.
    pub async fn step(
        &mut self,
        message: &str,
        options: RunOptions,
        around: Surroundings,
    ) -> Result<Step, BuildError> {
        let agent = self.agent.with_message(message)?;
        let options = RunOptions { keep_state: true, carried: self.carried.clone(), ..options };
        let Ended { step, carried, .. } = drive(Arc::new(agent), options, Begin::New, around).await;
        if step.is_ok() {
            self.carried = carried.map(Arc::new);
        }
        Ok(step)
    }

    /// Whether the agent answers in text.
    pub fn is_text(&self) -> bool {
        matches!(self.agent.mode(), Mode::Text | Mode::Combined)
            && self.agent.options().output == Output::Text
    }
}
