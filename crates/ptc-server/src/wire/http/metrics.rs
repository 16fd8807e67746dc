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
use http_body_util::BodyExt;
use ptc_http::{Answer, Bodies, Full, Hold, Peer, Rest};

use super::Http;
use super::limiter::Door;
use super::refusal::Refusal;
use super::subscriptions::Subscription;
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
    peer: Peer,
    keeps: Option<Keeps>,
    answer: Option<Answer>,
}

/// How a request keeps its connection.
#[derive(Debug)]
enum Keeps {
    /// It is worked on.
    _Held(Hold),
    /// It waits for something to be told.
    _Rests(Rest, Subscription),
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Counted {
    /// The request of an owner was admitted and has arrived: its connection stays until it is over, and its answer takes
    /// room.
    pub fn hold(&mut self, owner: &Arc<str>, bodies: &Bodies) -> Result<Answer, Full> {
        self.keeps = Some(Keeps::_Held(self.peer.hold_for(owner)?));
        Ok(self.answer.insert(bodies.answer(owner)).clone())
    }

    /// Where it came from.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Its answer tells of something that happened.
    pub fn is_certain(&self) {
        self.answer.iter().for_each(Answer::is_certain);
    }

    /// The request only waits from now on.
    pub fn rest(&mut self, owner: &Arc<str>, subscription: Subscription) {
        self.keeps = Some(Keeps::_Rests(self.peer.rest(owner), subscription));
    }

    /// The answer, which keeps its room until it is written.
    pub async fn whole(&self, response: Response) -> Result<Response, Refusal> {
        let Some(answer) = &self.answer else { return Ok(response) };
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let bytes = answer.whole(bytes).map_err(|_| Refusal::FULL)?;
        Ok(Response::from_parts(head, Body::from(bytes)))
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
    pub fn begin(&self, peer: Peer) -> Counted {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        Counted { in_flight: self.in_flight.clone(), peer, keeps: None, answer: None }
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

/// A number on the page.
#[derive(Debug)]
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
}

/// Declares the numbers of the page: for each a name for the code here, and its row in the list of the documentation.
macro_rules! metrics {
    ($($key:ident $kind:ident $name:literal: $help:literal;)*) => {
        $(const $key: Metric = Metric { name: $name, kind: stringify!($kind), help: $help };)*

        #[cfg(test)]
        const METRICS: &[Metric] = &[$($key),*];
    };
}

metrics! {
    CALLS_IN_FLIGHT gauge "ptc_calls_in_flight": "Programs that run or wait for tools.";
    CALLS_QUEUED gauge "ptc_calls_queued": "Calls that wait for their turn.";
    CALL_PERMITS gauge "ptc_call_permits": "Programs of one owner that may run.";
    DRAINING gauge "ptc_draining": "1 while no new calls are taken.";
    SESSIONS gauge "ptc_sessions": "Lisp sessions that are open.";
    RESOURCES gauge "ptc_resources": "Results that are kept for reading.";
    RESOURCE_BYTES gauge "ptc_resource_bytes": "Their bytes.";
    STORE_UP gauge "ptc_store_up": "1 if the store takes changes.";
    TICKETS_WAITING gauge "ptc_tickets_waiting": "Programs of the store that wait for a person.";
    OUTCOMES_UNKNOWN gauge "ptc_outcomes_unknown": "Calls of the store without an answer.";
    STORE_FAILURES counter "ptc_store_failures_total": "Answers that failed for the store.";
    UPSTREAM_CALLS counter "ptc_upstream_calls_total": "Upstream calls of programs.";
    UPSTREAM_ERRORS counter "ptc_upstream_errors_total": "Upstream calls that failed.";
    CALLS counter "ptc_calls_total": "Answers by tool and reason.";
    DECISIONS counter "ptc_decisions_total": "Decisions about calls by what was decided and where.";
    HTTP_SESSIONS gauge "ptc_http_sessions": "MCP sessions that are open.";
    HTTP_CONNECTIONS gauge "ptc_http_connections": "Connections that are open.";
    HTTP_DISPLACED counter "ptc_http_displaced_total": "Connections closed to make room.";
    HTTP_REFUSED counter "ptc_http_refused_total": "Connections without room.";
    HTTP_IN_FLIGHT gauge "ptc_http_in_flight": "Requests under way.";
    HTTP_AUTH_FAILURES counter "ptc_http_auth_failures_total": "Requests without a right token.";
    HTTP_RATE_LIMITED counter "ptc_http_rate_limited_total": "Requests of blocked addresses.";
    HTTP_REQUESTS counter "ptc_http_requests_total": "Answers of the MCP endpoint by status.";
}

fn page(http: &Http, stored: Option<Option<StoreCounts>>, is_up: bool) -> String {
    let engine = http.engine.metrics();
    let mut page = MetricsPage { text: String::new(), instance: escaped(&http.options.http_instance_label) };
    page.one(&CALLS_IN_FLIGHT, engine.in_flight as u64);
    page.one(&CALLS_QUEUED, engine.queued as u64);
    page.one(&CALL_PERMITS, engine.permits as u64);
    page.one(&DRAINING, u64::from(engine.draining));
    page.one(&SESSIONS, engine.sessions as u64);
    page.one(&RESOURCES, engine.resources as u64);
    page.one(&RESOURCE_BYTES, engine.resource_bytes as u64);
    if stored.is_some() {
        page.one(&STORE_UP, u64::from(is_up));
    }
    if let Some(StoreCounts { tickets, unknown }) = stored.flatten() {
        page.one(&TICKETS_WAITING, tickets);
        page.one(&OUTCOMES_UNKNOWN, unknown);
    }
    page.one(&STORE_FAILURES, engine.store_failures());
    page.one(&UPSTREAM_CALLS, engine.upstream_calls);
    page.one(&UPSTREAM_ERRORS, engine.upstream_errors);
    let calls = engine.calls.iter().map(|call| {
        (format!(",tool=\"{}\",reason=\"{}\"", escaped(&call.tool), escaped(&call.reason)), call.count)
    });
    page.many(&CALLS, calls.collect());
    let decisions = engine
        .decisions
        .iter()
        .map(|decided| (format!(",decision=\"{}\",by=\"{}\"", decided.decision, decided.by), decided.count));
    page.many(&DECISIONS, decisions.collect());
    page.one(&HTTP_SESSIONS, http.sessions.count() as u64);
    let connections = http.connections.stats();
    page.one(&HTTP_CONNECTIONS, connections.open as u64);
    page.one(&HTTP_DISPLACED, connections.displaced);
    page.one(&HTTP_REFUSED, connections.refused);
    page.one(&HTTP_IN_FLIGHT, http.counters.in_flight() as u64);
    page.one(&HTTP_AUTH_FAILURES, http.counters.auth_failures.load(Ordering::Relaxed));
    page.one(&HTTP_RATE_LIMITED, http.counters.rate_limited.load(Ordering::Relaxed));
    let by_status = http.counters.by_status.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let statuses = by_status.into_iter().map(|(status, count)| (format!(",status=\"{status}\""), count));
    page.many(&HTTP_REQUESTS, statuses.collect());
    page.text
}

struct MetricsPage {
    text: String,
    instance: String,
}

impl MetricsPage {
    fn one(&mut self, metric: &Metric, value: u64) {
        self.many(metric, vec![(String::new(), value)]);
    }

    fn many(&mut self, Metric { name, kind, help }: &Metric, rows: Vec<(String, u64)>) {
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in rows {
            let _ = writeln!(self.text, "{name}{{instance=\"{}\"{labels}}} {value}", self.instance);
        }
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::Reason;
    use crate::events;

    const PAGE: &str = include_str!("../../../../../docs/operations.md");

    /// What stands in backquotes on the page and has a `_`, as names of lines and numbers have.
    fn names() -> BTreeSet<&'static str> {
        let is_name = |text: &&str| {
            text.contains('_')
                && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        PAGE.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_name).collect()
    }

    #[test]
    fn every_log_line_and_number_that_operators_read_of_is_there() {
        /// What else is named there.
        const OTHERS: [&str; 3] = ["lisp_task", "pg_amcheck", "pg_dump"];
        let is_known = |name: &str| {
            METRICS.iter().any(|metric| metric.name == name)
                || events::all().any(|event| event.name == name || event.has(name))
                || name == Reason::STORE.name
                || OTHERS.contains(&name)
        };
        let names = names();
        assert!(names.contains("ptc_store_up") && names.contains("store_down"), "{names:?}");
        let unknown: Vec<_> = names.iter().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "docs/operations.md names {unknown:?}, which are not there");
    }

    #[test]
    fn operators_read_of_every_number() {
        let untold: Vec<_> = METRICS.iter().filter(|metric| !names().contains(metric.name)).collect();
        assert!(untold.is_empty(), "docs/operations.md lacks {untold:?}");
    }
}
