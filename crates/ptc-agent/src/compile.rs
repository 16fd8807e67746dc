//! Agents whose program is written once: a model writes it, and from then on it runs without a model.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use crate::agent::{Agent, BuildError};
use crate::model::Output;
use crate::run::RunOptions;
use crate::step::Step;
use crate::tool::{Body, Builtin};

/// An agent with its program.
#[derive(Clone, Debug)]
pub struct Compiled {
    agent: Arc<Agent>,
    source: String,
    /// Tokens that writing it took.
    pub tokens_used: u64,
    /// Turns that writing it took.
    pub turns: u32,
    /// The model that wrote it.
    pub llm_model: Option<String>,
}

impl Agent {
    /// The agent that writes the program, if this one can be compiled: it has one turn of programs.
    pub fn to_compile(&self) -> Result<Agent, BuildError> {
        let options = self.options();
        if options.max_turns != 1 || options.output != Output::PtcLisp {
            return Err(BuildError::option(
                "max_turns",
                "only agents with one turn of programs can be compiled",
            ));
        }
        for tool in self.tools().values() {
            if let Body::Agent(child) = &tool.body
                && child.agent.options().mission_timeout_ms.is_some()
            {
                let message =
                    format!("`{}` has a mission_timeout, which compiled agents cannot keep", tool.name);
                return Err(BuildError::option("tools", message));
            }
        }
        let retries =
            if self.tools().is_empty() || options.retry_turns > 0 { options.retry_turns } else { 2 };
        self.rebuilt(|options| {
            options.retry_turns = retries;
            options.made_up = true;
        })
    }

    /// Inputs to write the program with: made up from the signature, which they fit, with the host's own in front.
    pub fn sample_context(&self, sample: &Json) -> Json {
        let mut context = Map::new();
        for field in self.signature().map(|signature| signature.input.fields.as_slice()).unwrap_or_default() {
            context.extend(field.ty.sample().map(|value| (field.name.clone(), value)));
        }
        context.extend(sample.as_object().cloned().unwrap_or_default());
        Json::Object(context)
    }
}

impl Compiled {
    /// The agent with the program that its run wrote; the step itself if that failed.
    pub fn from_step(agent: Arc<Agent>, step: Step, llm_model: Option<String>) -> Result<Self, Box<Step>> {
        let program =
            step.trace().iter().rev().find(|turn| turn.success).and_then(|turn| turn.program.clone());
        match (step.is_ok(), program) {
            (true, Some(source)) => Ok(Compiled {
                agent,
                source,
                tokens_used: step.usage.total_tokens,
                turns: step.usage.turns,
                llm_model,
            }),
            _ => Err(Box::new(step)),
        }
    }

    /// An agent with a program that was written before.
    pub fn from_source(agent: Arc<Agent>, source: impl Into<String>) -> Self {
        Compiled { agent, source: source.into(), tokens_used: 0, turns: 0, llm_model: None }
    }

    /// The program.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The agent.
    pub fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    /// Whether a run asks a model: some tool of the program is an agent or a question.
    pub fn needs_model(&self) -> bool {
        self.agent.tools().values().any(|tool| match &tool.body {
            Body::Judge(_) | Body::Agent(_) | Body::This | Body::Builtin(Builtin::LlmQuery) => true,
            Body::Function(_) | Body::Compiled(_) | Body::Builtin(_) => false,
        })
    }

    /// The options of a run of the program.
    pub fn options(&self, options: RunOptions) -> RunOptions {
        RunOptions { program: Some(self.source.clone()), ..options }
    }
}
