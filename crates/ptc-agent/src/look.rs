//! A look at what a model would be sent, without asking one.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::agent::{Agent, Mode};
use crate::model::{Llm, ModelError, Reply, Request};
use crate::prompt::{self, PromptPreview, ToolLine};
use crate::run::{AgentRun, AskKind, Context, Need, RunOptions};
use crate::step::Fail;

impl Agent {
    /// The prompts of the first turn with these inputs, or why there is none.
    pub fn preview_prompt(self: &Arc<Self>, context: &Json) -> Result<PromptPreview, Fail> {
        self.preview_context(context.clone())
    }

    /// The same with inputs that may be texts.
    pub fn preview_context(self: &Arc<Self>, context: impl Into<Context>) -> Result<PromptPreview, Fail> {
        let nobody = Llm::function(|_: &Request| Err::<Reply, ModelError>("nobody is asked".into()));
        let mut run = AgentRun::new(self.clone(), RunOptions::new(nobody).context(context), 0);
        match run.next(0) {
            Need::Asks(asks) => match asks.into_iter().next().map(|ask| ask.kind) {
                Some(AskKind::Model { request, .. }) => Ok(self.preview_of(&request)),
                _ => Ok(PromptPreview::default()),
            },
            Need::Done(step) => Err(step.fail.unwrap_or_else(|| {
                Fail::new(crate::Reason::custom("no_prompt"), "the run is over before a model is asked")
            })),
            Need::Busy | Need::Wait { .. } => Ok(PromptPreview::default()),
        }
    }

    fn preview_of(&self, request: &Request) -> PromptPreview {
        let user = request.messages.last().map(|message| message.content.clone()).unwrap_or_default();
        let system = request.system.clone();
        match self.mode() {
            Mode::Text | Mode::Combined => {
                prompt::preview_text(system, user, &request.tools, request.schema.clone())
            }
            Mode::Content | Mode::ToolCall => {
                let tools = self.tools().values().filter(|tool| tool.is_public());
                let lines: Vec<ToolLine> = tools
                    .map(|tool| ToolLine {
                        name: tool.name.clone(),
                        signature: tool.signature.clone(),
                        description: tool.description.clone(),
                    })
                    .collect();
                prompt::preview_ptc(system, user, &lines, self.options().firewall)
            }
        }
    }
}
