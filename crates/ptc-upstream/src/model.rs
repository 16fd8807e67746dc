//! The words that transports and the runtime share: tools as servers describe them, what a call gave, and
//! the ways in which the world can fail.

use serde_json::{Map, Value as Json};

/// A tool as its server describes it. Texts come from outside and are untrusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDef {
    /// The name by which it is called.
    pub name: String,
    /// What it does, in the server's words; empty if it says nothing.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Json>,
    /// The JSON Schema of its structured result, if it declares one.
    pub output_schema: Option<Map<String, Json>>,
    /// Hints such as `readOnlyHint`, as they came.
    pub annotations: Map<String, Json>,
    /// Where it comes from, shown by `meta` under `_ptc`: the transport, and for OpenAPI the operation.
    pub provenance: Map<String, Json>,
}

/// What a server answered to a call that it did not refuse.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    /// The structured result, if there is one.
    pub structured: Option<Json>,
    /// The blocks of the answer, in order.
    pub content: Vec<Block>,
    /// Whether the server says that the tool failed.
    pub is_error: bool,
    /// The size of the answer as it came, in bytes.
    pub bytes: usize,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A text.
    Text(String),
    /// Anything else, as programs get it.
    Data(Json),
}

impl Payload {
    /// The texts among its blocks, in order.
    pub fn texts(&self) -> Vec<&str> {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text(text) => Some(text.as_str()),
            Block::Data(_) => None,
        });
        texts.collect()
    }
}

/// What stands between why a server is down and when it is tried again.
const AGAIN: &str = "; it is tried again in ";

/// A failure of the world outside: a program sees it as data and goes on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Fault {
    /// Which kind of failure.
    pub reason: Reason,
    /// What happened, with secrets covered.
    pub message: String,
    /// How many bytes were seen, where an answer was too large.
    pub bytes: Option<usize>,
    /// Whether it is certain that nothing was sent.
    pub unsent: bool,
    /// Whether an answer came that nobody can read: it does not say what became of the call.
    pub unread: bool,
}

impl Fault {
    /// A failure of this kind.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Fault { reason, message: message.into(), bytes: None, unsent: false, unread: false }
    }

    /// The same, of a server that is not tried for so many milliseconds.
    pub(crate) fn recovering(&self, left: u128) -> Self {
        Fault { message: format!("{}{AGAIN}{left} ms", self.message), ..self.clone() }
    }

    /// What happened, without when it is tried again.
    pub(crate) fn cause(&self) -> &str {
        self.message.rsplit_once(AGAIN).map_or(&self.message, |(cause, _)| cause)
    }

    /// An answer that nobody can read.
    pub fn unreadable(message: impl Into<String>) -> Self {
        Fault { unread: true, ..Fault::new(Reason::UpstreamError, message) }
    }

    /// The same, of a request that was never sent.
    #[must_use]
    pub fn before_sending(self) -> Self {
        Fault { unsent: true, ..self }
    }
}

/// The kinds of failure, by the names that programs see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The server cannot be reached, is starting again, or answered with a server error.
    UpstreamUnavailable,
    /// The server answered with a protocol error or with something that cannot be read.
    UpstreamError,
    /// The tool itself failed.
    ToolError,
    /// No answer in time.
    Timeout,
    /// The answer was larger than allowed.
    ResponseTooLarge,
    /// The program has used up its calls.
    CapExhausted,
    /// The server did not accept our credentials.
    AuthFailed,
    /// The server asks us to slow down.
    RateLimited,
    /// This run was not granted the operation.
    UpstreamToolDenied,
    /// The program has ended.
    RunContextClosed,
    /// A stream ended before the answer came.
    StreamClosedBeforeResponse,
    /// Somebody must approve the call, and nobody can be asked here.
    ApprovalRequired,
    /// Somebody was asked and said no.
    ApprovalRejected,
    /// The call may have changed something, and nobody knows whether it happened.
    OutcomeUnknown,
}

impl Reason {
    /// Every kind.
    pub const ALL: &[Reason] = &[
        Reason::UpstreamUnavailable,
        Reason::UpstreamError,
        Reason::ToolError,
        Reason::Timeout,
        Reason::ResponseTooLarge,
        Reason::CapExhausted,
        Reason::AuthFailed,
        Reason::RateLimited,
        Reason::UpstreamToolDenied,
        Reason::RunContextClosed,
        Reason::StreamClosedBeforeResponse,
        Reason::ApprovalRequired,
        Reason::ApprovalRejected,
        Reason::OutcomeUnknown,
    ];

    /// The name that programs and records use.
    pub fn name(self) -> &'static str {
        match self {
            Reason::UpstreamUnavailable => "upstream_unavailable",
            Reason::UpstreamError => "upstream_error",
            Reason::ToolError => "tool_error",
            Reason::Timeout => "timeout",
            Reason::ResponseTooLarge => "response_too_large",
            Reason::CapExhausted => "cap_exhausted",
            Reason::AuthFailed => "auth_failed",
            Reason::RateLimited => "rate_limited",
            Reason::UpstreamToolDenied => "upstream_tool_denied",
            Reason::RunContextClosed => "run_context_closed",
            Reason::StreamClosedBeforeResponse => "stream_closed_before_response",
            Reason::ApprovalRequired => "approval_required",
            Reason::ApprovalRejected => "approval_rejected",
            Reason::OutcomeUnknown => ptc_host::OUTCOME_UNKNOWN,
        }
    }

    /// Whether a failure does not say if the call was made, if it was sent.
    pub fn is_silent(self) -> bool {
        use Reason::*;
        matches!(self, Timeout | StreamClosedBeforeResponse | UpstreamUnavailable | OutcomeUnknown)
    }

    /// Whether a call that failed so was not made: nobody sent it, or the server did not let it in.
    pub fn is_refusal(self) -> bool {
        self.is_held_back() || matches!(self, Reason::AuthFailed | Reason::RateLimited)
    }

    /// Whether a call that failed so was not let through to its server at all.
    pub fn is_held_back(self) -> bool {
        use Reason::*;
        matches!(
            self,
            ApprovalRejected | ApprovalRequired | CapExhausted | RunContextClosed | UpstreamToolDenied
        )
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Reason> {
        Reason::ALL.iter().copied().find(|reason| reason.name() == name)
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Most values of what an upstream sends and no program called for: what it says about itself, its list of tools with all
/// pages together, notifications, and requests of its own. They take what would be too much memory for several of them at
/// once, whatever the bytes of their text.
pub const UNCALLED_VALUES: usize = 100_000;

/// What a call or listing may cost.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// How long it may take.
    pub timeout: std::time::Duration,
    /// How large the answer may be, before it is decoded.
    pub max_bytes: usize,
    /// How many values may be in it, before it is decoded.
    pub max_values: usize,
    /// Whether it may change the world: it is not sent again unless the server plainly refused it.
    pub once: bool,
}
