//! Tools of an agent: what a model is told about them, who may call them, and what they run.

mod approval;
mod config;
mod contract;
mod function;
mod judge;

use std::fmt;
use std::sync::Arc;

use ptc_signature::{Mode, ParseError, Signature};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::agent::{Agent, BuildError};
use crate::compile::Compiled;
use crate::model::{Llm, Pending};
pub use crate::preview::PreviewError;
use crate::typed::TypedFunction;
pub use approval::{Approval, ApprovalOf, Decision, PendingCall, Pick, Verdict};
pub use function::{Function, IntoToolResult, ToolResult};
pub use judge::LlmTool;

/// Which layer may call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expose {
    /// The model, by the provider's tool calls.
    Native,
    /// Programs, as `(tool/name …)`.
    PtcLisp,
    /// Both; with a cache, they share results.
    Both,
}

impl Expose {
    /// Whether the model may call it natively.
    pub fn native(self) -> bool {
        self != Expose::PtcLisp
    }

    /// Whether programs may call it.
    pub fn programs(self) -> bool {
        self != Expose::Native
    }
}

/// Whether models know of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// It stands in prompts.
    #[default]
    Public,
    /// Only preludes that declare it may call it; no prompt and no schema names it.
    Private,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing.
    Read,
    /// It changes something.
    Write,
    /// Nobody said.
    #[default]
    Unknown,
}

/// How programs see what a tool gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// As it is.
    #[default]
    Plain,
    /// As answers of upstreams: results are `{"ok": true, "value", "value_kind"}` or `{"ok": false, "reason",
    /// "message"}`, in which programs find the names as keywords.
    Upstream,
    /// As answers to questions about what there is (`dir`, `doc`, `apropos`, `tool/servers`). Programs do not call
    /// the tool by its name, which must be [`DISCOVER`](ptc_lisp::machine::DISCOVER).
    Discovery,
}

/// Says what a call with these arguments does to the world.
#[derive(Clone)]
pub struct EffectOf(pub Arc<dyn Fn(&Json) -> Effect + Send + Sync>);

impl fmt::Debug for EffectOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EffectOf")
    }
}

/// Makes the preview that stands for a result: a JSON object, or what went wrong.
pub type PreviewFunction = Arc<dyn Fn(&Json) -> Result<Json, PreviewError> + Send + Sync>;

/// What a model sees of a result that is kept for programs.
#[derive(Clone, Default)]
pub enum Preview {
    /// Its shape: count, types, keys. No value leaves.
    #[default]
    Metadata,
    /// Its first rows as they are, and its shape.
    Rows {
        /// How many rows.
        limit: usize,
    },
    /// What a function makes of it.
    Custom(PreviewFunction),
}

impl Preview {
    /// What a function makes of the result: anything that is a map as JSON.
    pub fn custom<T: Serialize>(function: impl Fn(&Json) -> T + Send + Sync + 'static) -> Self {
        Preview::Custom(Arc::new(move |result| {
            serde_json::to_value(function(result))
                .map_err(|error| PreviewError::NonEncodable(error.to_string()))
        }))
    }
}

impl fmt::Debug for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preview::Metadata => f.write_str("Metadata"),
            Preview::Rows { limit } => write!(f, "Rows({limit})"),
            Preview::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// A tool that the library brings along.
#[derive(Clone, Copy, Debug)]
pub enum Builtin {
    /// A function of its arguments alone.
    Pure(fn(&Json) -> Result<Json, String>),
    /// A question to a model, with a signature for its answer.
    LlmQuery,
}

/// An agent as a tool.
#[derive(Clone, Debug)]
pub struct AgentTool {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its model, unless the agent has one of its own.
    pub llm: Option<Llm>,
}

/// What a tool runs.
#[derive(Clone, Debug)]
pub enum Body {
    /// A function of the host.
    Function(Function),
    /// A question to a model.
    Judge(Box<LlmTool>),
    /// An agent.
    Agent(AgentTool),
    /// An agent whose program is written.
    Compiled(Arc<Compiled>),
    /// The agent that has the tool.
    This,
    /// One that the library brings along.
    Builtin(Builtin),
}

/// A tool.
#[derive(Clone, Debug)]
pub struct Tool {
    /// The name it is called by.
    pub name: String,
    /// What it takes and gives; `None` if nobody said.
    pub signature: Option<Signature>,
    /// What it does.
    pub description: Option<String>,
    /// What it runs.
    pub body: Body,
    /// Whether results may be used again for the same arguments.
    pub cache: bool,
    /// The most bytes of results that the cache keeps for it.
    pub max_cached_bytes: Option<usize>,
    /// Who may call it; by mode unless told.
    pub expose: Option<Expose>,
    /// What a model sees of a result that is kept for programs.
    pub native_result: Option<Preview>,
    /// Whether models know of it.
    pub visibility: Visibility,
    /// How strictly its contract holds; as the agent says unless told.
    pub validation: Option<Mode>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// What it does to the world.
    pub effect: Effect,
    /// What a call does to the world, where that depends on its arguments.
    pub effect_of: Option<EffectOf>,
    /// Whether a call that is made twice with the same arguments does the same as one that is made once.
    pub idempotent: bool,
    /// How programs see its results.
    pub answers: Answers,
    /// Which calls wait until a person has decided.
    pub approval: Approval,
}

impl Tool {
    /// A function as a tool. It gets its arguments as one JSON object.
    pub fn new<R: IntoToolResult>(
        name: impl Into<String>,
        function: impl Fn(Json) -> R + Send + Sync + 'static,
    ) -> Self {
        Tool::with_body(name, Body::Function(Function::sync(function)))
    }

    /// An async function as a tool.
    pub fn future<R: IntoToolResult, F: Future<Output = R> + Send + 'static>(
        name: impl Into<String>,
        function: impl Fn(Json) -> F + Send + Sync + 'static,
    ) -> Self {
        Tool::with_body(name, Body::Function(Function::later(function)))
    }

    /// A typed function as a tool: name, signature and description are its own.
    pub fn typed<T: TypedFunction>() -> Self {
        let description = T::describe();
        Tool {
            signature: Some(description.signature),
            description: description.description,
            approval: T::APPROVAL,
            ..Tool::with_body(description.name, Body::Function(Function::Typed(T::call)))
        }
    }

    /// A question to a model as a tool.
    pub fn llm(name: impl Into<String>, tool: LlmTool) -> Self {
        Tool {
            signature: Some(tool.signature().clone()),
            description: tool.description.clone(),
            ..Tool::with_body(name, Body::Judge(Box::new(tool)))
        }
    }

    /// An agent as a tool: its signature is the tool's.
    pub fn agent(name: impl Into<String>, agent: Arc<Agent>) -> Self {
        Tool {
            signature: agent.signature().cloned(),
            description: agent.options().description.clone(),
            ..Tool::with_body(name, Body::Agent(AgentTool { agent, llm: None }))
        }
    }

    /// An agent whose program is written, as a tool. One that asks models itself cannot be.
    pub fn compiled(name: impl Into<String>, compiled: Compiled) -> Result<Self, BuildError> {
        if compiled.needs_model() {
            return Err(BuildError::option("tools", "a compiled agent that asks models cannot be a tool"));
        }
        let agent = compiled.agent();
        Ok(Tool {
            signature: agent.signature().cloned(),
            description: agent.options().description.clone(),
            ..Tool::with_body(name, Body::Compiled(Arc::new(compiled)))
        })
    }

    /// The agent that has the tool, as a tool: recursion on a part of the work.
    pub fn this(name: impl Into<String>) -> Self {
        Tool::with_body(name, Body::This)
    }

    pub(crate) fn with_body(name: impl Into<String>, body: Body) -> Self {
        Tool {
            name: name.into(),
            signature: None,
            description: None,
            body,
            cache: false,
            max_cached_bytes: None,
            expose: None,
            native_result: None,
            visibility: Visibility::Public,
            validation: None,
            timeout_ms: None,
            effect: Effect::Unknown,
            effect_of: None,
            idempotent: false,
            answers: Answers::Plain,
            approval: Approval::Never,
        }
    }

    /// With a signature.
    pub fn signature(mut self, signature: &str) -> Result<Self, ParseError> {
        self.signature = Some(Signature::parse(signature)?);
        Ok(self)
    }

    /// With a description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// With results that may be used again for the same arguments.
    #[must_use]
    pub fn cached(mut self) -> Self {
        self.cache = true;
        self
    }

    /// With at most so many bytes of results kept.
    #[must_use]
    pub fn max_cached_bytes(mut self, bytes: usize) -> Self {
        self.max_cached_bytes = Some(bytes);
        self
    }

    /// For these callers.
    #[must_use]
    pub fn expose(mut self, expose: Expose) -> Self {
        self.expose = Some(expose);
        self
    }

    /// With this preview of results that are kept for programs.
    #[must_use]
    pub fn native_result(mut self, preview: Preview) -> Self {
        self.native_result = Some(preview);
        self
    }

    /// Known to preludes only.
    #[must_use]
    pub fn private(mut self) -> Self {
        self.visibility = Visibility::Private;
        self
    }

    /// With a contract that holds this strictly.
    #[must_use]
    pub fn validation(mut self, mode: Mode) -> Self {
        self.validation = Some(mode);
        self
    }

    /// With a limit of time for each call.
    #[must_use]
    pub fn timeout_ms(mut self, timeout: u64) -> Self {
        self.timeout_ms = Some(timeout);
        self
    }

    /// With what it does to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// With calls that may be made twice.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// With results that programs see like this.
    #[must_use]
    pub fn answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    /// Whether a call may be made again if nobody knows what came of it.
    pub fn may_repeat(&self, args: &Json) -> bool {
        let effect = self.effect_of.as_ref().map_or(self.effect, |effect| effect.0(args));
        self.idempotent || effect == Effect::Read
    }

    /// With a model for the agent that it is, unless that has one of its own.
    #[must_use]
    pub fn bound_llm(mut self, llm: Llm) -> Self {
        match &mut self.body {
            Body::Agent(tool) => tool.llm = Some(llm),
            Body::Judge(tool) => tool.llm = Some(llm),
            Body::Function(_) | Body::Compiled(_) | Body::This | Body::Builtin(_) => {}
        }
        self
    }

    /// Whether models know of it.
    pub fn is_public(&self) -> bool {
        self.visibility == Visibility::Public
    }
}

/// A call's result in time.
pub(crate) type Later = Pending<ToolResult>;
