//! One connection to a server: the handshake, requests, and the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult, ErrorCode, ErrorData,
    Implementation, ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, Peer, PeerRequestOptions,
    RequestContext, RequestHandle, RunningService, ServiceError, serve_client_with_lifecycle,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use tokio_util::sync::CancellationToken;

use super::http::{HttpClient, Resume};
use super::inbox::{Inbox, Slot, Ticket, UNREAD};
use super::legacy::SseTransport;
use super::process::Process;
use super::stdio::StdioTransport;
use crate::client::About;
use crate::config::{HttpConfig, StdioConfig, TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::model::{Allowance, Fault, Reason};
use crate::wire;

/// How long to wait before a broken stream of changes is asked for again, at first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Which way of shaking hands a server understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// `initialize`, protocols up to 2025-11-25.
    Initialize,
    /// `server/discover`, protocol 2026-07-28.
    Discover,
    /// The new way, then the old one if the server says that it does not know it.
    Either,
    /// `initialize` over HTTP with server-sent events.
    Legacy,
}

impl Handshake {
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions =
            vec![ProtocolVersion::V_2026_07_28, ProtocolVersion::V_2025_11_25, ProtocolVersion::V_2025_06_18];
        match self {
            Handshake::Initialize | Handshake::Legacy => ClientLifecycleMode::Initialize,
            Handshake::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Handshake::Either => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        }
    }
}

/// Hears what the server says by itself.
#[derive(Clone, Debug)]
struct Ear {
    /// Grows when the tools change.
    generation: Arc<AtomicU64>,
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("ptc-runner", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    /// Nobody can be asked here, and the capabilities say so. Rmcp would answer that somebody was, and declined.
    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let message = "elicitation is not supported: nobody can be asked here";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }
}

/// A server that has been reached.
pub struct Connection {
    peer: Peer<RoleClient>,
    inbox: Arc<Inbox>,
    process: Option<Process>,
    /// Cancelled to end the connection, and when it has ended.
    stop: CancellationToken,
    ended: CancellationToken,
    /// Cancelled when hands should be shaken again.
    doubt: CancellationToken,
    /// How long a request may take, and how large an answer may be.
    limits: Allowance,
    over_http: bool,
    /// What the server said about itself.
    pub about: About,
    /// How hands were shaken.
    pub handshake: Handshake,
}

type Service = RunningService<RoleClient, Ear>;

impl Connection {
    /// Reaches the server of an upstream. `generation` grows when it says that its tools changed.
    pub async fn open(
        upstream: &UpstreamConfig,
        secrets: &Secrets,
        handshake: Option<Handshake>,
        generation: Arc<AtomicU64>,
    ) -> Result<Connection, Fault> {
        let ear = Ear { generation };
        match &upstream.transport {
            TransportConfig::Stdio(stdio) => {
                Self::open_process(upstream, stdio, secrets, handshake.unwrap_or(Handshake::Initialize), ear)
                    .await
            }
            TransportConfig::Http(http) if http.legacy_sse || handshake == Some(Handshake::Legacy) => {
                Self::open_legacy(upstream, http, secrets, ear).await
            }
            TransportConfig::Http(http) => {
                Self::open_http(upstream, http, secrets, handshake.unwrap_or(Handshake::Either), ear).await
            }
            TransportConfig::OpenApi(_) => {
                Err(Fault::new(Reason::UpstreamUnavailable, "the upstream does not speak MCP"))
            }
        }
    }

    async fn open_process(
        upstream: &UpstreamConfig,
        stdio: &StdioConfig,
        secrets: &Secrets,
        handshake: Handshake,
        ear: Ear,
    ) -> Result<Connection, Fault> {
        let (process, pipes) = Process::spawn(upstream, stdio, secrets)?;
        let inbox = Inbox::of(&upstream.name);
        let cap = upstream.max_response_bytes;
        let transport = StdioTransport::new(pipes, inbox.clone(), cap, &process);
        let served = serve_client_with_lifecycle(ear, transport, handshake.lifecycle());
        let served = match tokio::time::timeout(stdio.handshake_timeout, served).await {
            Ok(served) => served,
            Err(_) => {
                process.stop();
                let slow = slow(stdio.handshake_timeout);
                let said = process.last_line().map(|line| format!("; it said last: {line}"));
                return Err(Fault { message: slow.message + &said.unwrap_or_default(), ..slow });
            }
        };
        match served {
            Ok(service) => {
                let limits =
                    Allowance { timeout: Duration::MAX, max_bytes: cap, max_values: usize::MAX, once: false };
                Connection::new(service, inbox, Some(process), limits, CancellationToken::new())
            }
            Err(ClientInitializeError::JsonRpcError(error)) => {
                process.stop();
                Err(Fault::new(Reason::UpstreamUnavailable, format!("handshake refused: {}", error.message)))
            }
            Err(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. },
            ) => {
                let told = process.obituary().await;
                process.stop();
                Err(Fault::new(Reason::UpstreamUnavailable, told))
            }
            Err(_) => {
                process.stop();
                Err(Fault::new(
                    Reason::UpstreamUnavailable,
                    "handshake failed: the answer is not as MCP wants it",
                ))
            }
        }
    }

    async fn open_http(
        upstream: &UpstreamConfig,
        http: &HttpConfig,
        secrets: &Secrets,
        handshake: Handshake,
        ear: Ear,
    ) -> Result<Connection, Fault> {
        let headers = secrets
            .headers(&http.endpoint)
            .map_err(|fault| Fault::new(Reason::UpstreamUnavailable, fault))?;
        let inbox = Inbox::of(&upstream.name);
        let cap = upstream.max_response_bytes;
        let client = HttpClient::new(wire::client(&http.endpoint)?, headers, inbox.clone(), cap);
        let mut settings = StreamableHttpClientTransportConfig::with_uri(http.endpoint.url.as_str())
            .max_sse_event_size(cap)
            .max_concurrent_requests(64)
            .reinit_on_expired_session(true);
        settings.retry_config = Arc::new(Resume);
        let transport = StreamableHttpClientTransport::with_client(client.clone(), settings);
        let served = serve_client_with_lifecycle(ear, transport, handshake.lifecycle());
        let limits = Allowance {
            timeout: http.endpoint.request_timeout,
            max_bytes: cap,
            max_values: usize::MAX,
            once: false,
        };
        match tokio::time::timeout(http.handshake_timeout, served).await {
            Ok(Ok(service)) => Connection::new(service, inbox, None, limits, client.doubt()),
            Ok(Err(error)) => Err(client.last_fault().unwrap_or_else(|| refused(&error))),
            Err(_) => Err(slow(http.handshake_timeout)),
        }
    }

    async fn open_legacy(
        upstream: &UpstreamConfig,
        http: &HttpConfig,
        secrets: &Secrets,
        ear: Ear,
    ) -> Result<Connection, Fault> {
        let headers = secrets
            .headers(&http.endpoint)
            .map_err(|fault| Fault::new(Reason::UpstreamUnavailable, fault))?;
        let inbox = Inbox::of(&upstream.name);
        let cap = upstream.max_response_bytes;
        let client = wire::client(&http.endpoint)?;
        let served = async {
            let url = &http.endpoint.url;
            let transport = SseTransport::open(client, headers, url, inbox.clone(), cap).await?;
            let lifecycle = Handshake::Legacy.lifecycle();
            serve_client_with_lifecycle(ear, transport, lifecycle).await.map_err(|error| refused(&error))
        };
        let limits = Allowance {
            timeout: http.endpoint.request_timeout,
            max_bytes: cap,
            max_values: usize::MAX,
            once: false,
        };
        let service = tokio::time::timeout(http.handshake_timeout, served)
            .await
            .map_err(|_| slow(http.handshake_timeout))??;
        let connection = Connection::new(service, inbox, None, limits, CancellationToken::new())?;
        Ok(Connection { handshake: Handshake::Legacy, ..connection })
    }

    fn new(
        service: Service,
        inbox: Arc<Inbox>,
        process: Option<Process>,
        limits: Allowance,
        doubt: CancellationToken,
    ) -> Result<Connection, Fault> {
        let info = service.peer().peer_info();
        let protocol = info.as_ref().map(|info| info.protocol_version.clone()).unwrap_or_default();
        let stop = CancellationToken::new();
        let ended = CancellationToken::new();
        let peer = service.peer().clone();
        let says_changes = info
            .as_ref()
            .and_then(|info| info.capabilities.tools.as_ref())
            .is_some_and(|tools| tools.list_changed == Some(true));
        let modern = !protocol.has_initialize();
        if modern && says_changes {
            tokio::spawn(listen(peer.clone(), service.service().generation.clone(), ended.clone()));
        }
        tokio::spawn(tend(service, stop.clone(), ended.clone()));
        let handshake = if modern { Handshake::Discover } else { Handshake::Initialize };
        let connection = Connection {
            peer,
            inbox,
            over_http: process.is_none(),
            process,
            stop,
            ended,
            doubt,
            limits,
            about: about(info.as_deref(), &protocol),
            handshake,
        };
        if !ProtocolVersion::KNOWN_VERSIONS.contains(&protocol) {
            connection.stop();
            let message = format!("speaks the protocol version {protocol}, which is not known here");
            return Err(Fault::new(Reason::UpstreamUnavailable, message));
        }
        Ok(connection)
    }

    /// Sends a request and gives the text of its result. Dropping the future tells the server to stop.
    pub async fn request(&self, mut request: ClientRequest, allowance: Allowance) -> Result<String, Fault> {
        use rmcp::model::GetExtensions as _;
        let shown = self.over_http && matches!(request, ClientRequest::ListToolsRequest(_));
        let slot = Slot::new(allowance.max_bytes.min(self.limits.max_bytes), shown, allowance.once);
        request.extensions_mut().insert(Ticket(slot.clone()));
        let timeout = allowance.timeout.min(self.limits.timeout);
        let answered = tokio::time::timeout(timeout, async {
            let options = PeerRequestOptions::no_options();
            let handle = self.peer.send_request_with_option(request, options).await?;
            let mut waiting = Waiting { handle: Some(handle), inbox: self.inbox.clone() };
            waiting.answer().await
        });
        let answered = match answered.await {
            Ok(answered) => answered,
            Err(_) => return Err(late(timeout)),
        };
        match slot.take() {
            Some(kept) => kept,
            None => Err(self.fault(answered.err()).await),
        }
    }

    async fn fault(&self, error: Option<ServiceError>) -> Fault {
        match &error {
            Some(ServiceError::McpError(error)) => Fault::new(
                Reason::UpstreamError,
                format!("{} (JSON-RPC error {})", error.message, error.code.0),
            ),
            Some(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => match &self.process {
                Some(process) => Fault::new(Reason::UpstreamUnavailable, process.obituary().await),
                None if self.ended.is_cancelled() => {
                    Fault::new(Reason::UpstreamUnavailable, "the connection was closed")
                }
                None if matches!(error, Some(ServiceError::TransportSend(_))) => {
                    self.doubt.cancel();
                    Fault::new(Reason::UpstreamUnavailable, "the session ended and none could be begun again")
                }
                None => {
                    Fault::new(Reason::StreamClosedBeforeResponse, "the stream ended before the answer came")
                }
            },
            Some(ServiceError::Cancelled { .. } | ServiceError::Timeout { .. }) => {
                Fault::new(Reason::Timeout, "the request was given up")
            }
            _ => Fault::unreadable("answered with something that is no answer to the request"),
        }
    }

    /// Begins to end the connection; does not wait.
    pub fn stop(&self) {
        self.stop.cancel();
        if let Some(process) = &self.process {
            process.stop();
        }
    }

    /// Waits until the connection and the process have ended, for whatever reason.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
        if let Some(process) = &self.process {
            process.stop();
            process.ended().await;
        }
    }

    /// Waits until hands should be shaken again, and how long requests that are under way may still take.
    pub async fn doubted(&self) -> Duration {
        self.doubt.cancelled().await;
        self.limits.timeout
    }

    /// What became of the server, for those who come later.
    pub async fn obituary(&self) -> String {
        match &self.process {
            Some(process) => process.obituary().await,
            None => "the connection was closed".to_owned(),
        }
    }
}

/// Runs the connection until it ends or is stopped.
async fn tend(service: Service, stop: CancellationToken, ended: CancellationToken) {
    let cancel = service.cancellation_token();
    let mut waiting = std::pin::pin!(service.waiting());
    tokio::select! {
        _ = &mut waiting => {}
        () = stop.cancelled() => {
            cancel.cancel();
            // Long enough for the end of a session over HTTP.
            let _ = tokio::time::timeout(Duration::from_secs(6), waiting).await;
        }
    }
    ended.cancel();
}

/// Servers of the newest protocol say that tools changed only to those who ask. A stream that breaks is asked for
/// again, and what happened meanwhile counts as a change.
async fn listen(peer: Peer<RoleClient>, generation: Arc<AtomicU64>, ended: CancellationToken) {
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let listening = async {
        let mut pause = FIRST_PAUSE;
        let mut missed = false;
        loop {
            match peer.listen(filter.clone()).await {
                Ok(mut subscription) => {
                    if std::mem::replace(&mut missed, true) {
                        generation.fetch_add(1, Ordering::Relaxed);
                    }
                    pause = FIRST_PAUSE;
                    while let Ok(Some(_)) = subscription.next().await {
                        generation.fetch_add(1, Ordering::Relaxed);
                    }
                }
                // It said that it tells changes, but does not.
                Err(ServiceError::McpError(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    tokio::select! {
        () = listening => {}
        () = ended.cancelled() => {}
    }
}

/// A request that somebody waits for; dropped before the answer, it is cancelled.
struct Waiting {
    handle: Option<RequestHandle<RoleClient>>,
    inbox: Arc<Inbox>,
}

impl Waiting {
    async fn answer(&mut self) -> Result<(), ServiceError> {
        let Some(handle) = self.handle.as_mut() else { return Err(ServiceError::TransportClosed) };
        let answer = (&mut handle.rx).await.unwrap_or(Err(ServiceError::TransportClosed));
        self.handle = None;
        answer.map(drop)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.inbox.forget(&handle.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = handle.cancel(Some("nobody waits for the answer any more".to_owned())).await;
            });
        }
    }
}

fn about(info: Option<&rmcp::model::ServerPeerInfo>, protocol: &ProtocolVersion) -> About {
    let server = info.and_then(|info| info.server_info.as_ref());
    About {
        name: server.map(|server| server.name.clone()).unwrap_or_default(),
        title: server.and_then(|server| server.title.clone()),
        version: server.map(|server| server.version.clone()).unwrap_or_default(),
        protocol: protocol.to_string(),
        description: server.and_then(|server| server.description.clone()),
        instructions: info.and_then(|info| info.instructions.clone()),
    }
}

fn slow(timeout: Duration) -> Fault {
    let message = format!("no handshake within {} ms", timeout.as_millis());
    Fault::new(Reason::UpstreamUnavailable, message)
}

/// No answer within this time.
pub fn late(timeout: Duration) -> Fault {
    Fault::new(Reason::Timeout, format!("no answer within {} ms", timeout.as_millis()))
}

fn refused(error: &ClientInitializeError) -> Fault {
    let message = match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            let [new, old] = [discover, fallback].map(|error| refused(error));
            return if new.message.contains(UNREAD) { new } else { old };
        }
        ClientInitializeError::JsonRpcError(error) => format!("handshake refused: {}", error.message),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let versions: Vec<&str> = server_supported.iter().map(ProtocolVersion::as_str).collect();
            format!("no common protocol version; the server has {}", versions.join(", "))
        }
        _ => "handshake failed: the answer is not as MCP wants it".to_owned(),
    };
    Fault::new(Reason::UpstreamUnavailable, message)
}
