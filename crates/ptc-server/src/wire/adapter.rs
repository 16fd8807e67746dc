//! The engine behind `rmcp`'s handler: what a client asks becomes a call of the engine, and its plain answers become
//! the protocol's.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use ptc_http::Answer;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, ErrorData, Extensions, Implementation, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourcesCapability,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, ToolAnnotations, ToolsCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::approval::{self, Entered, Way};
use super::changes;
use super::identity::{BUILD, NAME};
use super::incoming;
use super::log::Log;
use crate::engine::{
    Args, By, CallError, Caller, Content, Decided, Engine, Progress, QueueState, Reply, ResourceLink,
    Signals, ToolSpec, Transport, Which,
};
use crate::options::{LogLevel, Options};

/// What a transport knows about a request.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Who sent it.
    pub caller: Caller,
    /// What the transport learns of it before it is answered.
    pub stop: Stop,
    /// Whether messages can be sent before the answer.
    pub streams: bool,
    /// Whether an answer has to come in a bounded time.
    pub bounded: bool,
    /// Whether what the client answers to a question finds its way back.
    pub asks: bool,
    /// Set when the server ends: calls may go on for a moment, people are not waited for.
    pub closing: CancellationToken,
    /// Kept until the request is done.
    pub _held: Option<Arc<dyn Send + Sync + std::fmt::Debug>>,
}

/// What may end a request before it is answered.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Set when the transport learns that nobody wants the answer.
    pub token: CancellationToken,
    /// Whether that is because its client is not there any more. Else it took the request back.
    pub left: Option<Arc<AtomicBool>>,
}

impl Stop {
    fn is_left(&self) -> bool {
        self.left.as_ref().is_some_and(|left| left.load(Ordering::Acquire))
    }
}

/// The tokens of a call: one to stop it, and one that says that nobody waits, for a call with a key, which goes on then.
/// `token` is that of `rmcp`. Over stdio it is set when the client takes its request back; over HTTP, where that comes with a
/// request of its own, when the connection ends.
fn tokens(
    token: CancellationToken,
    transport: Transport,
    keyed: bool,
) -> (CancellationToken, Option<CancellationToken>) {
    match (keyed, transport) {
        (false, _) | (true, Transport::Stdio) => (token, None),
        (true, Transport::Http) => (CancellationToken::new(), Some(token)),
    }
}

/// How long calls may take before they are given up.
#[derive(Clone, Copy, Debug)]
struct Patience {
    program: Duration,
    task: Duration,
}

/// Where a request over HTTP comes from.
fn carried(extensions: &Extensions) -> Option<&Arrival> {
    extensions.get::<axum::http::request::Parts>()?.extensions.get::<Arrival>()
}

/// Longer than a call may take, by so much: programs end by their own timeout, and say so, also where the processor is
/// busy with something else. This is for what never answers.
const SLACK: Duration = Duration::from_secs(30);

/// Takes room for an answer of so many bytes, over HTTP.
fn has_room(extensions: &Extensions, bytes: usize) -> Result<(), ErrorData> {
    let answer =
        extensions.get::<axum::http::request::Parts>().and_then(|parts| parts.extensions.get::<Answer>());
    let full = |_| ErrorData::new(ErrorCode(-32000), "too many large answers at once", None);
    answer.map_or(Ok(()), |answer| answer.expect(bytes).map_err(full))
}

/// Results that are read at a time.
const READ_AT_ONCE: usize = 4;

/// The handler. One for all connections over HTTP, where requests carry their [`Arrival`]; one for stdio.
#[derive(Clone)]
pub struct Adapter {
    engine: Arc<Engine>,
    log: Log,
    patience: Patience,
    arrival: Arrival,
    /// Made once: over HTTP it is asked for in every request.
    info: Arc<ServerConfig>,
    /// Results that are read at a time, before it is known whether there is room for them.
    reading: Arc<Semaphore>,
}

impl Adapter {
    /// A handler whose requests come from `arrival` unless they carry another.
    pub fn new(engine: Arc<Engine>, log: Log, options: &Options, arrival: Arrival) -> Adapter {
        let patience = Patience {
            program: Duration::from_millis(options.program_timeout_ms) + SLACK,
            task: Duration::from_millis(options.agentic_task_timeout_ms) + SLACK,
        };
        let info = Arc::new(info(engine.announces()));
        let reading = Arc::new(Semaphore::new(READ_AT_ONCE));
        Adapter { engine, log, patience, arrival, info, reading }
    }

    fn arrival(&self, context: &RequestContext<RoleServer>) -> Arrival {
        let mut arrival = carried(&context.extensions).unwrap_or(&self.arrival).clone();
        arrival.caller.protocol = context.protocol_version().map(|version| version.as_str().into());
        let named = || context.client_info().and_then(|info| incoming::named(&info.name, &info.version));
        arrival.caller.client = arrival.caller.client.take().or_else(named);
        arrival
    }

    /// Asks about calls that wait, as the client can be asked, until the program is over or nobody decides.
    async fn asked(
        &self,
        mut reply: Reply,
        mut entered: Entered,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arrival = self.arrival(&context);
        let way = Way::of(&context, arrival.asks);
        let mut repeats = 0;
        while let Some(approval) = &reply.approval {
            let asks = way != Way::Answer && reply.recalled;
            if asks && let Some(told) = self.engine.no_longer_waits(&arrival.caller, approval).await {
                reply = told;
                continue;
            }
            repeats += usize::from(approval.wrong.is_some());
            let choices = match way {
                Way::Answer => break,
                Way::InputRequired => {
                    let asked = approval::input_required(approval, &entered);
                    return Ok(CallToolResponse::InputRequired(asked));
                }
                Way::Elicitation if repeats > approval::REPEATS => break,
                // Whatever ends the question, the ticket stays as it is.
                Way::Elicitation => tokio::select! {
                    choices = approval::elicit(&context.peer, approval, &mut entered) => choices,
                    () = context.ct.cancelled() => None,
                    () = arrival.stop.token.cancelled() => None,
                    () = arrival.closing.cancelled() => None,
                    () = tokio::time::sleep(approval::left(approval)) => None,
                },
            };
            let Some(choices) = choices else { break };
            let which = Which::Text(approval.ticket.clone());
            let decided = Decided { by: By::Form, which, choices, program: None, wrong: None };
            reply = Box::pin(self.call(Work::Decide(decided), &context)).await?;
        }
        Ok(CallToolResponse::Complete(result(reply)))
    }

    /// Does something for a client and reports its progress until it is done.
    async fn call(&self, work: Work, context: &RequestContext<RoleServer>) -> Result<Reply, ErrorData> {
        let arrival = self.arrival(context);
        let (progress, reports) = match context.meta.get_progress_token().filter(|_| arrival.streams) {
            Some(token) => {
                let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
                (Some(sender), Some(tokio::spawn(report(receiver, token, context.peer.clone()))))
            }
            None => (None, None),
        };
        let request_key = context.meta.get(REQUEST_KEY).map(key);
        let token = context.ct.child_token();
        let (cancel, gone) = tokens(token, arrival.caller.transport, request_key.is_some());
        let signals = Signals {
            cancel,
            gone: gone.clone(),
            progress,
            request_id: context.id.to_string(),
            request_key,
            ..Signals::default()
        };
        let answer = self.answer(work, &arrival, signals).await;
        if let Some(reports) = reports {
            // Reports must not come after the answer, and nobody reads those of a request that goes on alone.
            if gone.is_some_and(|gone| gone.is_cancelled()) {
                reports.abort();
            }
            let _ = reports.await;
        }
        answer
    }

    /// Calls a tool for a client that wants its result and nothing else, of a version of the protocol in which results
    /// have no type. `gone` is set when nobody waits for it.
    pub async fn plain(
        &self,
        arrival: Arrival,
        request_id: String,
        (tool, args): (String, Args),
        gone: CancellationToken,
    ) -> Result<CallToolResult, ErrorData> {
        let signals = Signals { cancel: gone, request_id, ..Signals::default() };
        let reply = self.answer(Work::Tool(tool, args), &arrival, signals).await?;
        let mut result = result(reply);
        result.result_type = None;
        Ok(result)
    }

    /// Does something for a client.
    async fn answer(&self, work: Work, arrival: &Arrival, signals: Signals) -> Result<Reply, ErrorData> {
        let began = Instant::now();
        let own = (signals.cancel.clone(), signals.gone.clone());
        let given_up = signals.given_up.clone();
        let request_id = signals.request_id.clone();
        let line = signals.line.clone();
        let name = work.name().to_owned();
        let called = async {
            match work {
                Work::Tool(name, args) => self.engine.call(&arrival.caller, &name, args, signals).await,
                Work::Decide(decided) => {
                    Box::pin(self.engine.decide(&arrival.caller, decided, signals)).await
                }
            }
        };
        let called = AssertUnwindSafe(called).catch_unwind();
        let patience = match (arrival.bounded, name.as_str()) {
            (false, _) => None,
            (true, "lisp_task") => Some(self.patience.task),
            (true, _) => Some(self.patience.program),
        };
        let patience = patience.map(|time| (line, time));
        let answer = match until(called, &arrival.stop, own, patience).await {
            None => {
                let (reason, message) = self.engine.given_up();
                Err(ErrorData::new(ErrorCode(-32000), message, Some(json!({"reason": reason}))))
            }
            Some(Ok(Ok(reply))) => Ok(reply),
            Some(Ok(Err(CallError::Cancelled))) => Ok(self.engine.cancelled(&given_up)),
            Some(Ok(Err(CallError::Internal(_))) | Err(_)) => {
                Err(ErrorData::internal_error("Internal error", None))
            }
        };
        self.log.write(
            LogLevel::Info,
            "tools_call_stop",
            Some(&request_id),
            json!({
                "tool": name.chars().take(64).collect::<String>(),
                "duration_ms": began.elapsed().as_millis() as u64,
                "ok": answer.as_ref().is_ok_and(|reply| !reply.is_error),
            }),
        );
        answer
    }
}

/// What a client wants done.
enum Work {
    /// A tool by name, with arguments.
    Tool(String, Args),
    /// Decisions about calls that wait.
    Decide(Decided),
}

impl Work {
    fn name(&self) -> &str {
        match self {
            Work::Tool(name, _) => name,
            Work::Decide(decided) => decided.by.counted(),
        }
    }
}

/// Waits for a call, and hands on what stops it; after so much time outside of the queue it is given up.
async fn until<T>(
    called: impl Future<Output = T>,
    stop: &Stop,
    (cancel, gone): (CancellationToken, Option<CancellationToken>),
    patience: Option<(QueueState, Duration)>,
) -> Option<T> {
    let timeout = async {
        match patience {
            Some((line, time)) => line.over(time).await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(called, timeout);
    tokio::select! {
        outcome = &mut called => return Some(outcome),
        () = stop.token.cancelled() => match gone {
            Some(gone) if stop.is_left() => gone.cancel(),
            _ => cancel.cancel(),
        },
        () = &mut timeout => {
            cancel.cancel();
            return None;
        }
    }
    Some(called.await)
}

/// Sends progress to the client until the call is over. Every report says more than the one before.
async fn report(
    mut reports: tokio::sync::mpsc::UnboundedReceiver<Progress>,
    token: rmcp::model::ProgressToken,
    peer: rmcp::Peer<RoleServer>,
) {
    let mut last = f64::NEG_INFINITY;
    while let Some(Progress { progress, message }) = reports.recv().await {
        if progress <= last {
            continue;
        }
        last = progress;
        let param = ProgressNotificationParam::new(token.clone(), progress).with_message(message);
        if peer.notify_progress(param).await.is_err() {
            return;
        }
    }
}

/// Versions of the protocol, oldest first.
const VERSIONS: &[ProtocolVersion] =
    &[ProtocolVersion::V_2025_06_18, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2026_07_28];

/// What the server says of itself.
fn info(changes: bool) -> ServerConfig {
    let mut capabilities = ServerCapabilities::default();
    let mut tools = ToolsCapability::default();
    tools.list_changed = Some(changes);
    capabilities.tools = Some(tools);
    capabilities.resources = Some(ResourcesCapability::default());
    let mut info = InitializeResult::new(capabilities)
        .with_protocol_version(ProtocolVersion::V_2025_11_25)
        .with_server_info(Implementation::new(NAME, BUILD.version.as_str()).with_title("PTC-Lisp"));
    let build =
        json!({"package_version": BUILD.package, "git_commit": BUILD.commit, "git_dirty": BUILD.dirty});
    info.meta = serde_json::from_value(json!({"build": build})).ok();
    info
}

impl ServerHandler for Adapter {
    fn get_info(&self) -> ServerConfig {
        self.info.as_ref().clone()
    }
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut info = self.negotiate_initialize(&request)?;
        info.instructions = self.engine.instructions(&self.arrival(&context).caller);
        request.protocol_version = info.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(info)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = self.engine.instructions(&self.arrival(&context).caller);
        Ok(DiscoverResult::from_server_info(VERSIONS.to_vec(), info))
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.engine.announces().then(changes::accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let arrival = self.arrival(subscription.request_context());
        if let Some(changes) = self.engine.changes(&arrival.caller) {
            changes::listen(changes, &subscription, &arrival.closing).await;
        }
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let caller = &carried(&context.extensions).unwrap_or(&self.arrival).caller;
        if let Some(changes) = self.engine.changes(caller) {
            tokio::spawn(changes::notify(changes, context.peer));
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.engine.tools(&self.arrival(&context).caller);
        self.engine.start_upstreams();
        Ok(ListToolsResult { tools: tools.into_iter().map(tool).collect(), ..Default::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let mut entered = Entered::default();
        let work = match request.request_state {
            None => Work::Tool(request.name.into_owned(), arguments),
            // The answers to what was asked about this very request.
            Some(ticket) => {
                let answers = approval::answers(&request.input_responses.unwrap_or_default())
                    .map_err(|why| ErrorData::invalid_params(why, None))?;
                let (choices, wrong) = approval::choices(&answers);
                entered = approval::entered(&answers);
                let program = arguments.get("program").and_then(Json::as_str).map(str::to_owned);
                let which = Which::Text(ticket);
                Work::Decide(Decided { by: By::Form, which, choices, program, wrong })
            }
        };
        // Kept apart, because layers around this one move what they wait for.
        let reply = Box::pin(self.call(work, &context)).await?;
        match reply.approval {
            None => Ok(CallToolResponse::Complete(result(reply))),
            Some(_) => Box::pin(self.asked(reply, entered, context)).await,
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let links = self.engine.resources(&self.arrival(&context).caller).await;
        Ok(ListResourcesResult { resources: links.into_iter().map(resource).collect(), ..Default::default() })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.arrival(&context).caller;
        let _turn = self.reading.acquire().await;
        match self.engine.read_resource(&caller, &request.uri).await {
            Ok(found) => {
                has_room(&context.extensions, found.text.len())?;
                let text =
                    ResourceContents::text(found.text.as_ref(), found.uri).with_mime_type(found.mime_type);
                Ok(ReadResourceResult::new(vec![text]).into())
            }
            Err(error) => {
                Err(ErrorData::resource_not_found(error.to_string(), Some(json!({"uri": request.uri}))))
            }
        }
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(method_not_found())
    }

    async fn complete(
        &self,
        _request: rmcp::model::CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::CompleteResult, ErrorData> {
        Err(method_not_found())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match request.method.as_str() {
            "shutdown" => {
                self.engine.drain();
                Ok(CustomResult::new(Json::Null))
            }
            // Methods that exist come here when their parameters make no sense.
            "initialize"
            | "server/discover"
            | "subscriptions/listen"
            | "tools/call"
            | "tools/list"
            | "resources/list"
            | "resources/read"
            | "resources/templates/list" => Err(ErrorData::invalid_params("Invalid params", None)),
            _ => Err(method_not_found()),
        }
    }
}

fn method_not_found() -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "Method not found", None)
}

fn tool(spec: ToolSpec) -> Tool {
    let object = |json: Json| match json {
        Json::Object(object) => Arc::new(object),
        _ => Arc::new(JsonObject::new()),
    };
    let mut tool = Tool::new(spec.name, spec.description, object(spec.input_schema)).with_title(spec.title);
    tool.output_schema = spec.output_schema.map(object);
    tool.annotations = spec.annotations.map(|hints| {
        let mut annotations = ToolAnnotations::new();
        annotations.read_only_hint = Some(hints.read_only_hint);
        annotations.destructive_hint = Some(hints.destructive_hint);
        annotations.idempotent_hint = Some(hints.idempotent_hint);
        annotations.open_world_hint = Some(hints.open_world_hint);
        annotations
    });
    tool
}

/// The protocol's form of an answer.
pub fn result(reply: Reply) -> CallToolResult {
    let content = reply.content.into_iter().map(|content| match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::ResourceLink(link) => ContentBlock::ResourceLink(resource(link)),
    });
    let mut result = CallToolResult::success(content.collect());
    result.is_error = Some(reply.is_error);
    result.structured_content = reply.structured;
    if reply.recalled {
        result.meta = serde_json::from_value(json!({RECALLED: true})).ok();
    }
    result
}

/// The entry of `_meta` with the key of a request that may be sent again.
const REQUEST_KEY: &str = "ptc/requestKey";
/// The entry of `_meta` that marks a reply which was kept.
const RECALLED: &str = "ptc/recalled";

/// A key as text; what is no text is no key, and refused as an empty one.
fn key(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn resource(link: ResourceLink) -> Resource {
    Resource::new(link.uri, link.name)
        .with_description(link.description)
        .with_mime_type(link.mime_type)
        .with_size(link.size)
}
