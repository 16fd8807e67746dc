//! Questions to a model as tools: a prompt with placeholders and a signature for the answer.

use std::fmt;
use std::sync::Arc;

use ptc_signature::Signature;
use serde_json::Value as Json;

use super::Tool;
use crate::agent::{Agent, BuildError};
use crate::model::{Llm, Output};

/// Looks at an answer; what it complains of becomes the tool's error.
pub type Validator = Arc<dyn Fn(&Json) -> Result<(), String> + Send + Sync>;

/// A question to a model. Without tools it is asked once; with tools it is an agent of several turns.
#[derive(Clone)]
pub struct LlmTool {
    /// The agent that asks.
    pub(crate) agent: Arc<Agent>,
    pub(crate) signature: Signature,
    /// What it does.
    pub description: Option<String>,
    /// Its model; the caller's unless told.
    pub llm: Option<Llm>,
    /// A template of a program that makes the answer from the model's JSON.
    pub(crate) response_template: Option<String>,
    pub(crate) validator: Option<Validator>,
}

impl LlmTool {
    /// A question with `{{placeholders}}` that the parameters of the signature fill.
    pub fn new(prompt: impl Into<String>, signature: &str) -> Result<Self, BuildError> {
        Self::with_tools(prompt, signature, [])
    }

    /// A task of several turns with tools of its own.
    pub fn with_tools(
        prompt: impl Into<String>,
        signature: &str,
        tools: impl IntoIterator<Item = Tool>,
    ) -> Result<Self, BuildError> {
        let prompt = prompt.into();
        if prompt.trim().is_empty() {
            return Err(BuildError::option("prompt", "must not be empty"));
        }
        let tools: Vec<Tool> = tools.into_iter().collect();
        let builder = Agent::builder(prompt).signature(signature);
        let builder = match tools.is_empty() {
            true => builder.output(Output::Text).max_turns(1),
            false => tools.into_iter().fold(builder, |builder, tool| builder.tool(tool)),
        };
        Ok(Self::asking(builder.build()?))
    }

    /// The question that an agent asks.
    pub(super) fn asking(agent: Agent) -> Self {
        let signature =
            agent.signature().cloned().unwrap_or_else(|| Signature::returning(ptc_signature::Type::Any));
        LlmTool {
            agent: Arc::new(agent),
            signature,
            description: None,
            llm: None,
            response_template: None,
            validator: None,
        }
    }

    /// With a description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// With a model of its own.
    #[must_use]
    pub fn llm(mut self, llm: Llm) -> Self {
        self.llm = Some(llm);
        self
    }

    /// With a template of a program: the model's JSON fills it, and its value is the answer.
    /// `json_signature` says what the model gives; the tool's own signature says what callers get.
    pub fn response_template(
        mut self,
        template: impl Into<String>,
        json_signature: &str,
    ) -> Result<Self, BuildError> {
        let template = template.into();
        ptc_signature::Template::parse(&template)
            .map_err(|error| BuildError::option("response_template", error.to_string()))?;
        let contract = self.json_contract(json_signature)?;
        self.agent = Arc::new(self.agent.rebuilt(|options| options.signature = Some(contract))?);
        self.response_template = Some(template);
        Ok(self)
    }

    /// With a look at each answer.
    #[must_use]
    pub fn validator(
        mut self,
        validator: impl Fn(&Json) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.validator = Some(Arc::new(validator));
        self
    }

    /// What it takes and gives.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The parameters of this tool with the answer that the model gives.
    fn json_contract(&self, json_signature: &str) -> Result<String, BuildError> {
        let given = Signature::parse(json_signature)
            .map_err(|error| BuildError::option("json_signature", error.to_string()))?;
        let both = Signature { input: self.signature.input.clone(), output: given.output };
        Ok(both.render(ptc_signature::Style::Canonical))
    }
}

impl fmt::Debug for LlmTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LlmTool").field("prompt", &self.agent.prompt()).finish_non_exhaustive()
    }
}
