//! Streamable HTTP: one endpoint for MCP, and a few for those who run the server.
//!
//! Requests pass Host, Origin, token, method, content type and body, in this order: nothing of a body is read before the
//! request is admitted. Then `rmcp` serves them, each for itself. What binds the requests of a client together, the MCP
//! session, is kept here.

mod admin;
mod approvals;
mod dialogue;
mod endpoint;
mod guard;
mod limiter;
mod metrics;
mod page;
mod refusal;
mod session_id;
mod sessions;
mod subscriptions;
mod tokens;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Extension, Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use ptc_http::{Bodies, Bounds, Connections, Json, Peer, Protocol};
use ptc_store::preludes::Preludes;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::guard::Guard;
use self::limiter::{Door, Limiter};
use self::metrics::Counters;
pub use self::page::Page;
use self::refusal::Refusal;
use self::sessions::HttpSessions;
use self::subscriptions::Subscriptions;
use self::tokens::Identity;
pub use self::tokens::{Tokens, TokensError};
use super::adapter::{Adapter, Arrival, Stop};
use super::identity::{LOCAL, random};
use super::log::Log;
use super::outgoing::Outgoing;
use crate::engine::{Caller, Engine, Transport};
use crate::options::{ApprovalPage, LogLevel, Options};

/// How often sessions and failures that are over are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// Why HTTP cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {address}: {fault}")]
pub struct HttpError {
    address: String,
    // Not the source of the error: it stands in the message, and whoever prints sources would tell it twice.
    fault: std::io::Error,
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
    sessions: HttpSessions,
    subscriptions: Subscriptions,
    connections: Arc<Connections>,
    bodies: Bodies,
    counters: Counters,
    outgoing: Outgoing,
    adapter: Adapter,
    mcp: StreamableHttpService<Adapter, NeverSessionManager>,
    /// Whether clients of sessions are asked about calls.
    asks: bool,
    /// Set when the server ends.
    closing: CancellationToken,
}

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
            stop: Stop::default(),
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
            sessions: HttpSessions::new(options),
            subscriptions: Subscriptions::new(count(options.http_max_sessions_per_owner)),
            connections: Connections::new(bounds(options)),
            bodies: bodies(options),
            counters: Counters::default(),
            outgoing: Outgoing::new(engine.redactor().clone()),
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
        let wrong = |fault| HttpError { address: format!("{host}:{port}"), fault };
        let listener = TcpListener::bind((host, port)).await.map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        if self.has_page() {
            self.engine.decided_at(format!("http://{address}/approvals"), "");
        }
        // Before anybody can know of it, and stop it.
        let asked_to_stop = signalled();
        self.log.lifecycle(
            "http_listening",
            json!({"address": address.to_string(), "path": self.options.http_path}),
        );
        let stop = CancellationToken::new();
        let accepting = tokio::spawn(self.clone().accept(listener, self.clone().router(), stop.clone()));
        let sweeping = tokio::spawn(self.clone().sweep());
        asked_to_stop.await;
        self.closing.cancel();
        self.engine.drain();
        self.log.lifecycle("http_draining", json!({"in_flight": self.counters.in_flight()}));
        let idle = async {
            while self.counters.in_flight() > 0 || self.engine.is_busy() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let grace = Duration::from_millis(self.options.http_shutdown_grace_ms);
        let graceful = tokio::select! {
            () = idle => true,
            () = tokio::time::sleep(grace) => false,
            // Whoever asks again does not want to wait for calls.
            () = signalled() => false,
        };
        self.engine.shutdown().await;
        stop.cancel();
        sweeping.abort();
        let _ = tokio::time::timeout(Duration::from_secs(1), accepting).await;
        self.log.lifecycle("application_stop", json!({"graceful": graceful}));
        Ok(())
    }

    async fn accept(self: Arc<Self>, listener: TcpListener, router: Router, stop: CancellationToken) {
        let failed = |error: &std::io::Error| {
            self.log.write(LogLevel::Warn, "http_accept", None, json!({"error": error.to_string()}));
        };
        self.connections.clone().serve(listener, Protocol::Http1, router, stop, failed).await;
    }

    /// Whether people decide about calls here.
    fn has_page(&self) -> bool {
        self.engine.approves() && self.options.approval_page != ApprovalPage::Off
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
        if self.has_page() {
            router = router.merge(approvals::routes());
        }
        router.fallback(|| async { Refusal::NOT_FOUND }).with_state(self)
    }

    async fn sweep(self: Arc<Self>) {
        let mut before = self.connections.stats();
        loop {
            tokio::time::sleep(SWEEP).await;
            let now = Instant::now();
            for id in self.sessions.sweep(now) {
                self.engine.close_owner(&id);
                self.log.write(LogLevel::Info, "http_session_closed", None, json!({"why": "over"}));
            }
            self.limiter.sweep(now);
            let stats = self.connections.stats();
            let (displaced, refused) = (stats.displaced - before.displaced, stats.refused - before.refused);
            if displaced + refused > 0 {
                let fields = json!({"open": stats.open, "displaced": displaced, "refused": refused});
                self.log.write(LogLevel::Warn, "http_connections_full", None, fields);
            }
            before = stats;
        }
    }

    /// Who sent the request, if its token is right or none is asked for.
    fn admit(&self, peer: &Peer, headers: &HeaderMap) -> Result<Identity, Refusal> {
        self.guard.check(headers).inspect_err(|_| self.rejected(peer.address, "host_or_origin"))?;
        if !self.tokens.wanted() {
            return Ok(Identity { owner: LOCAL.into(), roles: None });
        }
        self.token(Door::Mcp, peer, headers, |token| self.tokens.find(token).cloned())
    }

    /// Looks at the token of a request. A right one is admitted wherever it comes from; wrong ones are counted by
    /// address, and are not even told that they are wrong once too many came from there.
    fn token<T>(
        &self,
        door: Door,
        peer: &Peer,
        headers: &HeaderMap,
        find: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Refusal> {
        let shown = shown(headers);
        if let Some(found) = shown.and_then(find) {
            return Ok(found);
        }
        let (from, now) = (peer.address, Instant::now());
        if let Some(seconds) = self.limiter.blocked(door, from, now) {
            self.counters.rate_limited();
            return Err(Refusal::blocked(seconds));
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

    /// Whether a request may see what is not for everybody. Says nothing about requests that may not.
    fn knows(&self, headers: &HeaderMap) -> bool {
        let known = |token| self.tokens.find(token).is_some() || self.tokens.is_admin(token);
        self.guard.check(headers).is_ok() && (!self.tokens.wanted() || shown(headers).is_some_and(known))
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

/// The token that a request shows.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn bodies(options: &Options) -> Bodies {
    let time = Duration::from_millis(options.http_request_timeout_ms);
    Bodies::new(count(options.http_max_body_bytes), time, count(options.http_max_bodies_bytes))
}

fn bounds(options: &Options) -> Bounds {
    Bounds {
        total: count(options.http_max_connections),
        per_address: count(options.http_max_connections_per_address),
        head_time: Duration::from_millis(options.http_request_timeout_ms),
    }
}

/// Ends when the process is asked to stop. From the call on, and not only once it is waited for, being asked no longer
/// kills the process.
pub fn signalled() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let handlers = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    };
    async move {
        #[cfg(unix)]
        if let (Ok(mut terminate), Ok(mut interrupt)) = handlers {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            return;
        }
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Whether calls are taken, for whoever asks; which instance this is, for those who may call.
async fn ready(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    let unready = match (http.is_draining(), http.engine.ready(http.tokens.owners())) {
        (true, _) => Some("draining"),
        (_, false) => Some("saturated"),
        _ => (!http.engine.store_answers().await).then_some("store_unavailable"),
    };
    let status = unready.map_or(StatusCode::OK, |_| StatusCode::SERVICE_UNAVAILABLE);
    let word = unready.unwrap_or("ready");
    let mut told = json!({"status": word});
    if http.knows(&headers) {
        told["instance"] = http.options.http_instance_label.as_str().into();
    }
    (status, Json(told)).into_response()
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The MCP endpoint, with the id of the request and a log line around it.
async fn mcp(State(http): State<Arc<Http>>, Extension(peer): Extension<Peer>, request: Request) -> Response {
    let began = Instant::now();
    let given = request.headers().get(REQUEST_ID).filter(|value| (1..=128).contains(&value.len()));
    let id = given.cloned().or_else(|| HeaderValue::from_str(&random::<12>()).ok());
    let method = request.method().clone();
    let mut counted = http.counters.begin(peer);
    let response = http.answer(request, &mut counted).await.unwrap_or_else(Refusal::into_response);
    let is_stream = dialogue::is_stream(&response);
    let response = http.outgoing.response(response, is_stream).await;
    let mut response = match is_stream {
        true => response,
        false => counted.whole(response).await.unwrap_or_else(Refusal::into_response),
    };
    if let Some(id) = &id {
        response.headers_mut().insert(REQUEST_ID, id.clone());
    }
    http.counters.answered(response.status());
    let response = match is_stream {
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
