//! Numbers for those who watch the server, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use ptc_http::{Hold, Peer};

use super::Http;
use super::limiter::Door;
use super::refusal::Refusal;
use crate::engine::StoreCounts;

/// What is counted about requests.
#[derive(Debug, Default)]
pub struct Counters {
    in_flight: Arc<AtomicUsize>,
    by_status: Mutex<BTreeMap<u16, u64>>,
    auth_failures: AtomicU64,
    rate_limited: AtomicU64,
}

/// A request under way.
#[derive(Debug)]
pub struct Counted {
    in_flight: Arc<AtomicUsize>,
    hold: Option<Hold>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Counted {
    /// The request was admitted and has arrived: its connection stays until it is over.
    pub fn hold(&mut self, peer: &Peer) {
        self.hold.get_or_insert_with(|| peer.hold());
    }

    /// Goes on until the end of that body.
    pub fn with(self, body: Body) -> Body {
        Body::from_stream(body.into_data_stream().inspect(move |_| {
            let _ = &self;
        }))
    }
}

impl Counters {
    /// A request begins. It ends when what is given is dropped, also with a client that breaks off.
    pub fn begin(&self) -> Counted {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        Counted { in_flight: self.in_flight.clone(), hold: None }
    }

    /// One was answered, or its answer began.
    pub fn answered(&self, status: StatusCode) {
        *self.by_status.lock().unwrap_or_else(PoisonError::into_inner).entry(status.as_u16()).or_default() +=
            1;
    }

    /// Requests under way.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    /// A token was wrong or missing.
    pub fn auth_failed(&self) {
        self.auth_failures.fetch_add(1, Ordering::Relaxed);
    }

    /// An address was blocked.
    pub fn rate_limited(&self) {
        self.rate_limited.fetch_add(1, Ordering::Relaxed);
    }
}

/// The page. Whoever may call tools or administer may read it.
pub async fn metrics(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    http.guard.check(&headers)?;
    if http.tokens.wanted() {
        let known =
            |token: &str| (http.tokens.find(token).is_some() || http.tokens.is_admin(token)).then_some(());
        http.token(Door::Mcp, &peer, &headers, known)?;
    }
    // A store that can be read and takes no changes is not up.
    let (stored, is_up) = tokio::join!(http.engine.stored(), http.engine.store_answers());
    let page = page(&http, stored, is_up);
    Ok(([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], page).into_response())
}

fn page(http: &Http, stored: Option<Option<StoreCounts>>, is_up: bool) -> String {
    let engine = http.engine.metrics();
    let mut page = MetricsPage { text: String::new(), instance: escaped(&http.options.http_instance_label) };
    let (in_flight, queued) = (engine.in_flight as u64, engine.queued as u64);
    page.one("ptc_calls_in_flight", "gauge", "Programs that run or wait for tools.", in_flight);
    page.one("ptc_calls_queued", "gauge", "Calls that wait for their turn.", queued);
    page.one("ptc_call_permits", "gauge", "Programs of one owner that may run.", engine.permits as u64);
    page.one("ptc_draining", "gauge", "1 while no new calls are taken.", u64::from(engine.draining));
    page.one("ptc_sessions", "gauge", "Lisp sessions that are open.", engine.sessions as u64);
    page.one("ptc_resources", "gauge", "Results that are kept for reading.", engine.resources as u64);
    page.one("ptc_resource_bytes", "gauge", "Their bytes.", engine.resource_bytes as u64);
    if stored.is_some() {
        page.one("ptc_store_up", "gauge", "1 if the store takes changes.", u64::from(is_up));
    }
    if let Some(StoreCounts { tickets, unknown }) = stored.flatten() {
        page.one("ptc_tickets_waiting", "gauge", "Programs of the store that wait for a person.", tickets);
        page.one("ptc_outcomes_unknown", "gauge", "Calls of the store without an answer.", unknown);
    }
    let failures = engine.store_failures();
    page.one("ptc_store_failures_total", "counter", "Answers that failed for the store.", failures);
    page.one("ptc_upstream_calls_total", "counter", "Upstream calls of programs.", engine.upstream_calls);
    page.one("ptc_upstream_errors_total", "counter", "Upstream calls that failed.", engine.upstream_errors);
    let calls = engine.calls.iter().map(|call| {
        (format!(",tool=\"{}\",reason=\"{}\"", escaped(&call.tool), escaped(&call.reason)), call.count)
    });
    page.many("ptc_calls_total", "counter", "Answers by tool and reason.", calls.collect());
    page.one("ptc_http_sessions", "gauge", "MCP sessions that are open.", http.sessions.count() as u64);
    let connections = http.connections.stats();
    page.one("ptc_http_connections", "gauge", "Connections that are open.", connections.open as u64);
    let displaced = connections.displaced;
    page.one("ptc_http_displaced_total", "counter", "Connections closed to make room.", displaced);
    page.one("ptc_http_refused_total", "counter", "Connections without room.", connections.refused);
    page.one("ptc_http_in_flight", "gauge", "Requests under way.", http.counters.in_flight() as u64);
    let failures = http.counters.auth_failures.load(Ordering::Relaxed);
    page.one("ptc_http_auth_failures_total", "counter", "Requests without a right token.", failures);
    let limited = http.counters.rate_limited.load(Ordering::Relaxed);
    page.one("ptc_http_rate_limited_total", "counter", "Requests of blocked addresses.", limited);
    let by_status = http.counters.by_status.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let statuses = by_status.into_iter().map(|(status, count)| (format!(",status=\"{status}\""), count));
    page.many(
        "ptc_http_requests_total",
        "counter",
        "Answers of the MCP endpoint by status.",
        statuses.collect(),
    );
    page.text
}

struct MetricsPage {
    text: String,
    instance: String,
}

impl MetricsPage {
    fn one(&mut self, name: &str, kind: &str, help: &str, value: u64) {
        self.many(name, kind, help, vec![(String::new(), value)]);
    }

    fn many(&mut self, name: &str, kind: &str, help: &str, rows: Vec<(String, u64)>) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in rows {
            let _ = writeln!(self.text, "{name}{{instance=\"{}\"{labels}}} {value}", self.instance);
        }
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
