//! Streamable HTTP: one endpoint for MCP, and a few for those who run the server.
//!
//! Requests pass Host, Origin, failure limit, token, method, content type and body, in this order; then `rmcp` serves
//! them, each for itself. What binds the requests of a client together, the MCP session, is kept here.

mod admin;
mod approvals;
mod dialogue;
mod endpoint;
mod guard;
mod limiter;
mod metrics;
mod refusal;
mod session_id;
mod sessions;
mod tokens;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use axum::{Json, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use ptc_store::preludes::Preludes;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use self::guard::Guard;
use self::limiter::{Door, Limiter};
use self::metrics::Counters;
use self::refusal::Refusal;
use self::sessions::Sessions;
use self::tokens::Identity;
pub use self::tokens::{Tokens, TokensError};
use super::adapter::{Adapter, Arrival};
use super::identity::{LOCAL, random};
use super::log::Log;
use crate::engine::{Caller, Engine, Transport};
use crate::options::{LogLevel, Options};

/// Connections at a time; further ones wait to be accepted.
const MOST_CONNECTIONS: usize = 4096;

/// How often sessions and failures that are over are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {source}")]
pub struct HttpError {
    address: String,
    source: std::io::Error,
}

/// The server over HTTP.
pub struct Http {
    engine: Arc<Engine>,
    options: Options,
    log: Log,
    tokens: Tokens,
    preludes: Option<Preludes>,
    guard: Guard,
    limiter: Limiter,
    sessions: Sessions,
    counters: Counters,
    adapter: Adapter,
    mcp: StreamableHttpService<Adapter, NeverSessionManager>,
    /// Whether clients of sessions are asked about calls.
    asks: bool,
    /// Set when the server ends.
    closing: CancellationToken,
}

/// Where a request came from.
#[derive(Clone, Copy)]
struct From(IpAddr);

impl Http {
    /// A server that does not listen yet.
    pub fn new(
        engine: Arc<Engine>,
        options: &Options,
        log: Log,
        tokens: Tokens,
        preludes: Option<Preludes>,
    ) -> Arc<Http> {
        let nobody = Arrival {
            caller: Caller::new("nobody", Transport::Http),
            cancel: CancellationToken::new(),
            streams: false,
            bounded: true,
            asks: false,
            closing: CancellationToken::new(),
            _held: None,
        };
        let adapter = Adapter::new(engine.clone(), log.clone(), options, nobody);
        let config = StreamableHttpServerConfig::default()
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX);
        let served = adapter.clone();
        Arc::new(Http {
            mcp: StreamableHttpService::new(move || Ok(served.clone()), Arc::default(), config),
            adapter,
            asks: engine.approves(),
            guard: Guard::new(options),
            limiter: Limiter::new(options),
            sessions: Sessions::new(options),
            counters: Counters::default(),
            closing: CancellationToken::new(),
            options: options.clone(),
            engine,
            log,
            tokens,
            preludes,
        })
    }

    /// Serves until a signal ends it, and then until calls under way are done or the time for that is over.
    pub async fn serve(self: Arc<Self>) -> Result<(), HttpError> {
        let (host, port) = (self.options.http_host.as_str(), self.options.http_port);
        let wrong = |source| HttpError { address: format!("{host}:{port}"), source };
        let listener = TcpListener::bind((host, port)).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        self.log.lifecycle(
            "http_listening",
            json!({"address": address.to_string(), "path": self.options.http_path}),
        );
        let stop = CancellationToken::new();
        let accepting = tokio::spawn(self.clone().accept(listener, stop.clone()));
        let sweeping = tokio::spawn(self.clone().sweep());
        signalled().await;
        self.closing.cancel();
        self.engine.drain();
        self.log.lifecycle("http_draining", json!({"in_flight": self.counters.in_flight()}));
        let idle = async {
            while self.counters.in_flight() > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let grace = Duration::from_millis(self.options.http_shutdown_grace_ms);
        let graceful = tokio::time::timeout(grace, idle).await.is_ok();
        self.engine.shutdown().await;
        stop.cancel();
        sweeping.abort();
        let _ = tokio::time::timeout(Duration::from_secs(1), accepting).await;
        self.log.lifecycle("application_stop", json!({"graceful": graceful}));
        Ok(())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, stop: CancellationToken) {
        let (router, room) = (self.clone().router(), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
        let connections = tokio_util::task::TaskTracker::new();
        loop {
            let Ok(place) = room.clone().acquire_owned().await else { break };
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => break,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let served = self.clone().connection(stream, peer, router.clone(), stop.clone());
                    connections.spawn(async move {
                        served.await;
                        drop(place);
                    });
                }
                // Out of file handles, or the client left at once: neither ends the server.
                Err(error) => {
                    self.log.write(LogLevel::Warn, "http_accept", None, json!({"error": error.to_string()}));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        connections.close();
        connections.wait().await;
    }

    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        peer: SocketAddr,
        router: Router,
        stop: CancellationToken,
    ) {
        let _ = stream.set_nodelay(true);
        let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(From(peer.ip()));
            router.clone().call(request)
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(self.options.http_request_timeout_ms))
            .serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        tokio::select! {
            // Clients that break off are no news.
            _ = connection.as_mut() => return,
            () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }

    fn router(self: Arc<Self>) -> Router {
        let mut router = Router::new()
            .route("/health", get(|| async { Json(json!({"status": "ok"})) }))
            .route("/ready", get(ready))
            .route(&self.options.http_path, any(mcp))
            .route("/admin/prelude-store/snapshot", get(admin::snapshot))
            .route("/admin/prelude-store/export", get(admin::export));
        if self.options.http_metrics {
            router = router.route(&self.options.http_metrics_path, get(metrics::metrics));
        }
        if self.engine.approves() {
            router = router.merge(approvals::routes());
        }
        router.fallback(|| async { Refusal::NOT_FOUND }).with_state(self)
    }

    async fn sweep(self: Arc<Self>) {
        loop {
            tokio::time::sleep(SWEEP).await;
            let now = Instant::now();
            for id in self.sessions.sweep(now) {
                self.engine.close_owner(&id);
                self.log.write(LogLevel::Info, "http_session_closed", None, json!({"why": "over"}));
            }
            self.limiter.sweep(now);
        }
    }

    /// Who sent the request, if its token is right or none is asked for.
    fn admit(&self, from: IpAddr, headers: &axum::http::HeaderMap) -> Result<Identity, Refusal> {
        self.guard.check(headers).inspect_err(|_| self.rejected(from, "host_or_origin"))?;
        if !self.tokens.wanted() {
            return Ok(Identity { owner: LOCAL.into(), roles: None });
        }
        self.token(Door::Mcp, from, headers, |token| self.tokens.find(token).cloned())
    }

    /// Looks at the token of a request, unless too many wrong ones came from there.
    fn token<T>(
        &self,
        door: Door,
        from: IpAddr,
        headers: &axum::http::HeaderMap,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Refusal> {
        let now = Instant::now();
        if let Some(seconds) = self.limiter.blocked(door, from, now) {
            self.counters.rate_limited();
            return Err(Refusal::blocked(seconds));
        }
        let shown = headers.get(axum::http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        if let Some(found) = shown.and_then(find) {
            self.limiter.succeeded(door, from);
            return Ok(found);
        }
        self.counters.auth_failed();
        self.rejected(from, "token");
        if self.limiter.failed(door, from, now) {
            self.log.write(
                LogLevel::Warn,
                "http_auth_rate_limited",
                None,
                json!({"remote": from.to_string()}),
            );
        }
        Err(match shown {
            None => Refusal::NO_TOKEN,
            Some(_) => Refusal::WRONG_TOKEN,
        })
    }

    fn rejected(&self, from: IpAddr, what: &str) {
        self.log.write(
            LogLevel::Warn,
            "http_rejected",
            None,
            json!({"remote": from.to_string(), "what": what}),
        );
    }

    fn is_draining(&self) -> bool {
        self.closing.is_cancelled()
    }
}

/// Ends when the process is asked to stop.
pub async fn signalled() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn ready(State(http): State<Arc<Http>>) -> Response {
    let label = &http.options.http_instance_label;
    match (http.is_draining(), http.engine.ready()) {
        (true, _) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "draining"}))).into_response(),
        (_, false) => (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "saturated"}))).into_response(),
        _ => Json(json!({"status": "ready", "instance": label})).into_response(),
    }
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The MCP endpoint, with the id of the request and a log line around it.
async fn mcp(
    State(http): State<Arc<Http>>,
    Extension(From(from)): Extension<From>,
    request: Request,
) -> Response {
    let began = Instant::now();
    let given = request.headers().get(REQUEST_ID).filter(|value| (1..=128).contains(&value.len()));
    let id = given.cloned().or_else(|| HeaderValue::from_str(&random::<12>()).ok());
    let method = request.method().clone();
    let counted = http.counters.begin();
    let mut response = http.answer(from, request).await.unwrap_or_else(Refusal::into_response);
    if let Some(id) = &id {
        response.headers_mut().insert(REQUEST_ID, id.clone());
    }
    http.counters.answered(response.status());
    let response = match dialogue::is_stream(&response) {
        // It goes on after its head.
        true => response.map(|body| counted.with(body)),
        false => response,
    };
    http.log.write(
        LogLevel::Debug,
        "http_request_stop",
        id.as_ref().and_then(|id| id.to_str().ok()),
        json!({
            "method": method.as_str(),
            "status": response.status().as_u16(),
            "duration_ms": began.elapsed().as_millis() as u64,
        }),
    );
    response
}
