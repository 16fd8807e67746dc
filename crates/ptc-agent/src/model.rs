//! What a run asks of a model and what it gets back: our own types, apart from any provider.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Rules for the model.
    System,
    /// The host, or what a program gave.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said. May be empty where the model only calls tools.
    pub content: String,
    /// Calls that the model makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// The call that a tool's message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// A message of the host.
    pub fn user(content: impl Into<String>) -> Self {
        Message::plain(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<String>) -> Self {
        Message::plain(Role::Assistant, content)
    }

    /// A message of the system.
    pub fn system(content: impl Into<String>) -> Self {
        Message::plain(Role::System, content)
    }

    /// A tool's answer.
    pub fn tool(id: impl Into<String>, content: impl Into<String>) -> Self {
        Message { tool_call_id: Some(id.into()), ..Message::plain(Role::Tool, content) }
    }

    /// A message of the model with calls.
    pub fn calling(content: impl Into<String>, tool_calls: Vec<ToolCall>) -> Self {
        Message { tool_calls, ..Message::plain(Role::Assistant, content) }
    }

    fn plain(role: Role, content: impl Into<String>) -> Self {
        Message { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// A call that a model makes natively.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id; the run gives one where it is missing.
    #[serde(default)]
    pub id: String,
    /// The tool, as the provider knows it.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Json,
    /// Why the arguments could not be read, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_error: Option<String>,
}

/// A tool as a provider is told about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSchema {
    /// Its name; letters, digits and underscores.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Json,
}

/// What sort of answer is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// A program.
    #[default]
    PtcLisp,
    /// Text, or JSON in text.
    Text,
}

/// A request to a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Rules for the model.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The turn, from 1.
    pub turn: u32,
    /// What sort of answer is wanted.
    pub output: Output,
    /// Names of the tools that programs may call this turn, as a hint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_names: Vec<String>,
    /// Tools that the model may call natively.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSchema>,
    /// JSON Schema of the answer, where the provider is to hold the model to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
    /// Whether the provider may cache the prompt.
    #[serde(default)]
    pub cache: bool,
    /// Whether the reply may be streamed to the host.
    #[serde(default)]
    pub stream: bool,
    /// The most tokens that the reply may have, where the budget says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Options of the host for the provider, handed on as they are.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub llm_opts: Json,
}

/// What a reply used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens of the request.
    #[serde(default)]
    pub input: u64,
    /// Tokens of the reply.
    #[serde(default)]
    pub output: u64,
    /// Tokens written to the provider's cache.
    #[serde(default)]
    pub cache_creation: u64,
    /// Tokens read from the provider's cache.
    #[serde(default)]
    pub cache_read: u64,
    /// What it cost, in US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// A model's reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What it says, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Calls that it makes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// What it used, if the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Whether it was cut at the limit of tokens.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

impl Reply {
    /// A reply that only says something.
    pub fn text(content: impl Into<String>) -> Self {
        Reply { content: Some(content.into()), ..Reply::default() }
    }

    /// A reply that calls tools.
    pub fn calls(tool_calls: Vec<ToolCall>) -> Self {
        Reply { tool_calls, ..Reply::default() }
    }

    /// The same with usage.
    #[must_use]
    pub fn tokens(mut self, input: u64, output: u64) -> Self {
        self.tokens = Some(Tokens { input, output, ..Tokens::default() });
        self
    }
}

impl From<&str> for Reply {
    fn from(content: &str) -> Self {
        Reply::text(content)
    }
}

impl From<String> for Reply {
    fn from(content: String) -> Self {
        Reply::text(content)
    }
}

/// The classes of failure that retries tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelErrorKind {
    /// Too many requests.
    RateLimit,
    /// No answer in time.
    Timeout,
    /// The provider failed.
    ServerError,
    /// The request is wrong.
    ClientError,
    /// No such model, or no way to reach it.
    ConfigError,
    /// Anything else.
    Unknown,
}

impl ModelErrorKind {
    /// Every kind with its name.
    pub const ALL: [(ModelErrorKind, &'static str); 6] = [
        (ModelErrorKind::RateLimit, "rate_limit"),
        (ModelErrorKind::Timeout, "timeout"),
        (ModelErrorKind::ServerError, "server_error"),
        (ModelErrorKind::ClientError, "client_error"),
        (ModelErrorKind::ConfigError, "config_error"),
        (ModelErrorKind::Unknown, "unknown"),
    ];

    /// The class of an HTTP status.
    pub fn of_status(status: u16) -> Self {
        match status {
            429 => ModelErrorKind::RateLimit,
            408 | 504 => ModelErrorKind::Timeout,
            500.. => ModelErrorKind::ServerError,
            400.. => ModelErrorKind::ClientError,
            _ => ModelErrorKind::Unknown,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("unknown", |(_, name)| name)
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", kind.name())]
pub struct ModelError {
    /// Its class.
    pub kind: ModelErrorKind,
    /// What happened.
    pub message: String,
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ModelError {
    /// An error of this class.
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        ModelError { kind, message: message.into(), retry_after_ms: None }
    }
}

impl From<&str> for ModelError {
    fn from(message: &str) -> Self {
        ModelError::new(ModelErrorKind::Unknown, message)
    }
}

impl From<String> for ModelError {
    fn from(message: String) -> Self {
        ModelError::new(ModelErrorKind::Unknown, message)
    }
}

/// A future that a driver waits for.
pub type Pending<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

/// A model that answers requests.
pub trait Model: Send + Sync {
    /// The reply to a request. `chunk` takes pieces of text as they come, where the request streams.
    fn reply(&self, request: Arc<Request>, chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>>;

    /// The name that traces show.
    fn name(&self) -> &str {
        "model"
    }
}

/// Takes pieces of text as they come.
pub type TextSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A model that is a function.
pub type ModelFunction = Arc<dyn Fn(&Request) -> Result<Reply, ModelError> + Send + Sync>;

/// The model of an agent: itself, or a name that the registry of the run knows.
#[derive(Clone)]
pub enum Llm {
    /// A model.
    Model(Arc<dyn Model>),
    /// A function that answers at once, or blocks.
    Function(ModelFunction),
    /// A name.
    Named(String),
}

impl Llm {
    /// A function as a model.
    pub fn function<R: Into<Reply>, E: Into<ModelError>>(
        function: impl Fn(&Request) -> Result<R, E> + Send + Sync + 'static,
    ) -> Self {
        Llm::Function(Arc::new(move |request| function(request).map(Into::into).map_err(Into::into)))
    }

    /// A model by name.
    pub fn named(name: impl Into<String>) -> Self {
        Llm::Named(name.into())
    }

    /// The name that traces show.
    pub fn label(&self) -> &str {
        match self {
            Llm::Model(model) => model.name(),
            Llm::Function(_) => "function",
            Llm::Named(name) => name,
        }
    }
}

impl fmt::Debug for Llm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Llm({})", self.label())
    }
}
