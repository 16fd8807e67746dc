//! The definition of an agent: options, checked once, with everything that is derived from them.

mod builder;
mod check;
mod error;
mod kind;
mod named;
mod options;
mod retry;

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_signature::{Signature, Template, Type};

pub use builder::Builder;
pub use error::BuildError;
pub use kind::Kind;
pub use named::{OPTIONS, OptionInfo};
pub use options::{Completion, MemoryStrategy, Options, Profile, PromptLimit, Transport};
pub use retry::{Backoff, Retry};

use crate::model::Output;
use crate::tool::{Expose, Tool};

/// How an agent talks with its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Programs in the text of replies.
    Content,
    /// Programs as the argument of `lisp_eval`.
    ToolCall,
    /// Text, with native tools if there are any.
    Text,
    /// Text with native tools and `lisp_eval`.
    Combined,
}

/// An agent that can run.
#[derive(Clone, Debug)]
pub struct Agent {
    options: Options,
    template: Template,
    signature: Option<Signature>,
    context_types: Option<Type>,
    tools: BTreeMap<String, Arc<Tool>>,
    id: String,
}

impl Agent {
    /// Begins an agent with this mission.
    pub fn builder(prompt: impl Into<String>) -> Builder {
        Builder::new(prompt.into())
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The mission, with its placeholders.
    pub fn prompt(&self) -> &str {
        &self.options.prompt
    }

    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    /// What it takes and gives, if it says.
    pub fn signature(&self) -> Option<&Signature> {
        self.signature.as_ref()
    }

    /// The type of its answer, if it says anything about it.
    pub(crate) fn output_type(&self) -> Option<&Type> {
        self.signature.as_ref().map(|signature| &signature.output).filter(|output| **output != Type::Any)
    }

    /// The types of inputs that the signature of the context gives.
    pub(crate) fn context_types(&self) -> Option<&Type> {
        self.context_types.as_ref()
    }

    /// The type of an input, as the signature or the signature of the context gives it.
    pub(crate) fn input_type(&self, name: &str) -> Option<&Type> {
        let own = self.signature.as_ref().and_then(|signature| signature.input.field(name));
        let found = own.or_else(|| match &self.context_types {
            Some(Type::Record(record)) => record.field(name),
            _ => None,
        });
        found.map(|field| &field.ty)
    }

    /// All tools by name, those of the library included.
    pub fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.tools
    }

    /// Eight hexadecimal digits that tell agents apart.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it talks with its model.
    pub fn mode(&self) -> Mode {
        match (self.options.output, self.options.ptc_transport) {
            (Output::PtcLisp, Some(Transport::ToolCall)) => Mode::ToolCall,
            (Output::PtcLisp, _) => Mode::Content,
            (Output::Text, Some(Transport::ToolCall)) => Mode::Combined,
            (Output::Text, _) => Mode::Text,
        }
    }

    /// Who may call a tool of this agent.
    pub fn exposure(&self, tool: &Tool) -> Expose {
        tool.expose.unwrap_or(match self.options.output {
            Output::PtcLisp => Expose::PtcLisp,
            Output::Text => Expose::Native,
        })
    }

    /// Whether the value of a program is the answer without `return`: there is one turn, and retries only correct it.
    pub(crate) fn answers_by_value(&self) -> bool {
        self.options.completion_mode == Completion::Implicit && self.options.max_turns == 1
    }

    /// Whether one turn is all there is, so that nothing can be corrected.
    pub(crate) fn is_single_shot(&self) -> bool {
        self.answers_by_value() && self.options.retry_turns == 0
    }

    /// The same agent with a message of a chat in place of its mission. The message is taken as it is; text
    /// agents answer it in text.
    pub fn with_message(&self, message: &str) -> Result<Agent, BuildError> {
        let text = self.options.output == Output::Text;
        self.rebuilt(|options| {
            options.prompt = message.to_owned();
            options.literal_prompt = true;
            if text {
                options.signature = None;
            }
        })
    }

    /// The same agent with other options.
    pub(crate) fn rebuilt(&self, change: impl FnOnce(&mut Options)) -> Result<Agent, BuildError> {
        let mut options = self.options.clone();
        change(&mut options);
        Builder::over(options).build()
    }
}
