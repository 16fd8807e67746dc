//! What transports and the engine say to each other: plain data, without any protocol library.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_trace::Span;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::receipt::RequestClaim;
use super::tickets::WrongAnswer;
use super::upstreams::GivenUpCalls;
use crate::effects::HeldJournal;

/// The arguments of a tool call.
pub type Args = Map<String, Json>;

/// How a caller reaches the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transport {
    /// The process that started the server.
    #[default]
    Stdio,
    /// A client over HTTP.
    Http,
}

impl Transport {
    /// Its name, for records.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Stdio => "stdio",
            Transport::Http => "http",
        }
    }
}

/// Who calls. Transports fill it from what they know of the connection, never from arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Whom sessions and kept results belong to: nobody else may use them.
    pub owner: Arc<str>,
    /// Who it is, the same over all its connections: everything that is limited is counted on its account, requests that
    /// are sent again are known by it, and sessions in a store belong to it.
    pub principal: Arc<str>,
    /// The roles that a role credential may take; `None` if the caller has no role credential.
    pub roles: Option<Arc<[String]>>,
    /// How the caller is connected.
    pub transport: Transport,
    /// The protocol version that was agreed on, for records.
    pub protocol: Option<Arc<str>>,
    /// What the client calls itself, for people. Nothing checks it.
    pub client: Option<Arc<str>>,
}

impl Caller {
    /// A caller without a role credential.
    pub fn new(owner: impl Into<Arc<str>>, transport: Transport) -> Self {
        let owner = owner.into();
        Caller { principal: owner.clone(), owner, roles: None, transport, protocol: None, client: None }
    }

    /// Whether nothing tells this client from others with its token: a request over HTTP that belongs to no MCP session.
    pub fn is_any_with_its_token(&self) -> bool {
        self.transport == Transport::Http && self.owner == self.principal
    }
}

/// How far a call is. There is no total: how much a program has to do shows only when it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Milliseconds since the call began; grows with every report.
    pub progress: f64,
    /// What it does at the moment.
    pub message: String,
}

/// Whether a call stands in the queue of its owner, or since when it does not. Its time does not count there.
#[derive(Clone, Debug)]
pub struct QueueState(Arc<watch::Sender<Option<Instant>>>);

impl Default for QueueState {
    fn default() -> Self {
        QueueState(Arc::new(watch::Sender::new(Some(Instant::now()))))
    }
}

impl QueueState {
    /// Stands in the queue until what is given is dropped.
    pub(crate) fn stand(&self) -> impl Drop + use<> {
        struct Stands(QueueState);
        impl Drop for Stands {
            fn drop(&mut self) {
                self.0.0.send_replace(Some(Instant::now()));
            }
        }
        self.0.send_replace(None);
        Stands(self.clone())
    }

    /// Ends when the call has had so much time outside of the queue.
    pub(crate) async fn over(&self, time: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let since = *changes.borrow_and_update();
            let spent = async {
                match since {
                    Some(since) => tokio::time::sleep_until((since + time).into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = spent => return,
                // There is a sender for as long as there is this line.
                _ = changes.changed() => {}
            }
        }
    }
}

/// What belongs to one call besides its arguments.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Set when the call is taken back: it stops.
    pub cancel: CancellationToken,
    /// Set when nobody waits for the answer any more, if the call has a key: it goes on all the same. Of any other call
    /// transports set `cancel` then.
    pub gone: Option<CancellationToken>,
    /// Where to report progress, if the client asked for it.
    pub progress: Option<UnboundedSender<Progress>>,
    /// Where the call stands in the queue of its owner.
    pub line: QueueState,
    /// The id of the request as text, for records.
    pub request_id: String,
    /// The key by which the client knows the request, should it send it again.
    pub request_key: Option<String>,
    /// What calls that may change something belong to; the engine sets it.
    pub scope: Option<Arc<str>>,
    /// The right to give the reply of a request that may come again, and its digest; the engine sets it.
    pub claim: Option<RequestClaim>,
    /// Where such calls are written down, if another server may take over what they belong to; the engine sets it.
    pub journal: Option<Arc<HeldJournal>>,
    /// The span of the call, if it is traced; the engine sets it.
    pub span: Option<Arc<Span>>,
    /// What its program had called when it was given up; the engine adds that.
    pub given_up: GivenUpCalls,
}

/// A piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Where to read the whole of something that did not fit.
    ResourceLink(ResourceLink),
}

/// A result that the engine keeps for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// Its address, for `resources/read`.
    pub uri: String,
    /// A short name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// The type of its text.
    pub mime_type: &'static str,
    /// Its size in bytes.
    pub size: u64,
}

/// The text of a kept result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// The type of the text.
    pub mime_type: &'static str,
    /// The text.
    pub text: Arc<str>,
}

/// The answer to a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// What models read.
    pub content: Vec<Content>,
    /// What programs read, if the profile has it.
    pub structured: Option<Json>,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether it was kept from an earlier request with the same key.
    pub recalled: bool,
    /// What waits for approval, if the program does.
    pub approval: Option<Approval>,
}

/// Calls that wait for approval.
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    /// The id of the ticket: names it, and decides nothing.
    pub id: String,
    /// The text by which the program goes on.
    pub ticket: String,
    /// The calls, whole, with secrets covered: `call`, `server`, `tool`, `args`, `effect`, `description`.
    pub pending: Vec<Json>,
    /// Until when, in milliseconds since 1970.
    pub expires_ms: i64,
    /// What was wrong with the answers to forms about them, which decided nothing.
    pub wrong: Option<WrongAnswer>,
}

impl Reply {
    /// The text of the answer, without links.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::ResourceLink(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Why a call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It was cancelled. Stdio stays silent; HTTP answers with `Engine::cancelled`.
    #[error("the call was cancelled")]
    Cancelled,
    /// The engine itself failed.
    #[error("internal error: {0}")]
    Internal(String),
}

/// Why a kept result cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// There is none at this address, or it belongs to somebody else, or it was dropped for newer ones.
    #[error("there is no result at this address; results are kept for a while only, run the program again")]
    NotFound,
}

/// What a tool promises, as hints for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only_hint: bool,
    /// It may destroy something.
    pub destructive_hint: bool,
    /// Calling it twice is like calling it once.
    pub idempotent_hint: bool,
    /// It reaches beyond the server.
    pub open_world_hint: bool,
}

impl Annotations {
    /// Hints in the order read-only, destructive, idempotent, open world.
    pub const fn new(read_only: bool, destructive: bool, idempotent: bool, open_world: bool) -> Self {
        Annotations {
            read_only_hint: read_only,
            destructive_hint: destructive,
            idempotent_hint: idempotent,
            open_world_hint: open_world,
        }
    }
}

/// A tool as clients list it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for models.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Json,
    /// The JSON Schema of its structured answer, if it has one.
    pub output_schema: Option<Json>,
    /// Hints.
    pub annotations: Option<Annotations>,
}

/// Counters for monitoring, a picture of one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Snapshot {
    /// Programs that run or wait for tools.
    pub in_flight: usize,
    /// Calls in the queues of their owners.
    pub queued: usize,
    /// Programs of one owner that may run at a time.
    pub permits: usize,
    /// Answers by tool and reason; `ok` for those that succeeded.
    pub calls: Vec<CallCount>,
    /// Decisions about calls that waited, by what was decided and in which way.
    pub decisions: Vec<DecisionCount>,
    /// Sessions that are open.
    pub sessions: usize,
    /// Results that are kept, and their bytes.
    pub resources: usize,
    /// Bytes of kept results.
    pub resource_bytes: usize,
    /// Upstream calls that programs made, and how many of them failed.
    pub upstream_calls: u64,
    /// Upstream calls that failed.
    pub upstream_errors: u64,
    /// Whether new calls are refused.
    pub draining: bool,
}

/// How often one thing was decided in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionCount {
    /// What: `approved`, `edited` or `rejected`.
    pub decision: &'static str,
    /// Where: `page`, `form` or `model`.
    pub by: &'static str,
    /// How often.
    pub count: u64,
}

/// How often a tool was answered in one way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallCount {
    /// The tool.
    pub tool: String,
    /// `ok`, or the reason of the error.
    pub reason: String,
    /// How often.
    pub count: u64,
}
