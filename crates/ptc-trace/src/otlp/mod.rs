//! OpenTelemetry: every span of a trace, sent to a collector over OTLP (HTTP, protobuf).
//!
//! Everything that knows the `opentelemetry` crates is in this module. Spans are sent when they end, in batches,
//! from a thread of their own: a collector that does not answer holds up neither runs nor other sinks.

mod convention;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use opentelemetry::trace::{Event, SpanContext, SpanId, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};

use crate::payload::sha256;
use crate::record::{Phase, Record};
use crate::sink::Sink;

/// Spans that are open at once; further ones are not sent.
const MAX_OPEN: usize = 10_000;
/// Events of a span that are sent with it.
const MAX_EVENTS: usize = 64;
/// Spans that wait to be sent; further ones are dropped.
const QUEUE: usize = 4_096;
/// Spans of one request.
const BATCH: usize = 512;
/// How long spans gather before they are sent.
const GATHER: Duration = Duration::from_millis(200);
/// How long a collector may take to answer.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Why spans cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The address makes no sense.
    #[error("`{0}` is no address of a collector; write one like http://127.0.0.1:4318")]
    Address(String),
    /// The exporter cannot be made.
    #[error("cannot send spans to {0}: {1}")]
    Exporter(String, String),
}

/// Is told, once for each row of failures, why spans could not be sent.
pub type Complain = Arc<dyn Fn(&str) + Send + Sync>;

/// Sends spans to a collector.
pub struct Otlp {
    open: BTreeMap<(String, String), OpenSpan>,
    out: Option<SyncSender<SpanData>>,
    thread: Option<JoinHandle<()>>,
}

/// A span that has not ended.
struct OpenSpan {
    start: Record,
    events: Vec<Event>,
}

impl Otlp {
    /// Sends to a collector at an address such as `http://127.0.0.1:4318`, as a service of a name. Headers
    /// come from `OTEL_EXPORTER_OTLP_HEADERS`.
    pub fn new(address: &str, service: &str, complain: Complain) -> Result<Self, OtlpError> {
        let endpoint = endpoint(address)?;
        let (shown, hidden) = shown(address);
        let failed = |error: String| OtlpError::Exporter(shown.clone(), hidden.cover(error));
        // Whoever installed a provider before is right.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(TIMEOUT)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|error| failed(error.to_string()))?;
        exporter.set_resource(&Resource::builder().with_service_name(service.to_owned()).build());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let (out, inbox) = sync_channel(QUEUE);
        let (address, covered) = (shown.clone(), hidden.clone());
        let send = move |batch| {
            let sent = runtime.block_on(exporter.export(batch));
            sent.map_err(|error| {
                format!("cannot send spans to {address}: {}", covered.cover(error.to_string()))
            })
        };
        let thread = std::thread::Builder::new()
            .name("ptc-otlp".to_owned())
            .spawn(move || send_all(&inbox, send, &complain))
            .map_err(|error| failed(error.to_string()))?;
        Ok(Otlp { open: BTreeMap::new(), out: Some(out), thread: Some(thread) })
    }

    fn end(&mut self, key: &(String, String), record: &Record) {
        let Some(open) = self.open.remove(key) else { return };
        let span = span(open, record);
        if let Some(out) = &self.out {
            // What does not fit is lost; the trace on disk has it.
            let _ = out.try_send(span);
        }
    }
}

impl Sink for Otlp {
    fn take(&mut self, record: &Record) {
        let Some(id) = &record.span_id else { return };
        let key = (record.trace_id.clone(), id.clone());
        match record.phase() {
            Phase::Start if self.open.len() < MAX_OPEN => {
                self.open.insert(key, OpenSpan { start: record.clone(), events: Vec::new() });
            }
            Phase::Start => {}
            // Its span tells the same.
            Phase::Point if record.event == "tool.call" => {}
            Phase::Point => {
                if let Some(open) = self.open.get_mut(&key).filter(|open| open.events.len() < MAX_EVENTS) {
                    open.events.push(event(record));
                }
            }
            Phase::Stop | Phase::Exception => {
                if record.parent_span_id.is_none() {
                    self.end_rest(&key, record);
                }
                self.end(&key, record);
            }
        }
    }

    fn close(&mut self) {
        self.out = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Otlp {
    /// What a run that ended left open is over too.
    fn end_rest(&mut self, root: &(String, String), record: &Record) {
        let rest: Vec<(String, String)> =
            self.open.keys().filter(|key| key.0 == root.0 && *key != root).cloned().collect();
        for key in rest {
            let Some(subject) = self.open.get(&key).map(|open| open.start.subject().to_owned()) else {
                continue;
            };
            let mut ended = Record::new(format!("{subject}.exception"), key.0.clone(), record.timestamp);
            ended.status = Some("error".to_owned());
            ended.data.insert("reason".to_owned(), "cancelled".into());
            self.end(&key, &ended);
        }
    }
}

/// Where spans go below an address.
fn endpoint(address: &str) -> Result<String, OtlpError> {
    let wrong = || OtlpError::Address(shown(address).0);
    let url = reqwest::Url::parse(address).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong());
    }
    let base = address.trim_end_matches('/');
    Ok(if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") })
}

/// The parts of an address that may hold a password or a token.
#[derive(Clone)]
struct Hidden(Vec<String>);

impl Hidden {
    /// A text without them.
    fn cover(&self, mut text: String) -> String {
        for part in &self.0 {
            text = text.replace(part, "");
        }
        text
    }
}

/// An address without its user, password and query, and what was left out of it, in each spelling.
fn shown(address: &str) -> (String, Hidden) {
    let mut hidden = Vec::new();
    if let Ok(url) = reqwest::Url::parse(address) {
        hidden.extend(parts(url.as_str()));
    }
    hidden.extend(parts(address));
    let hidden = Hidden(hidden);
    (hidden.cover(address.to_owned()), hidden)
}

/// `USER:PASSWORD@` and `?QUERY`.
fn parts(address: &str) -> Vec<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (before, query) = rest.find(['?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    let user = before.rfind('@').map_or("", |at| &before[..=at]);
    [user, query].into_iter().filter(|part| part.len() > 1).map(str::to_owned).collect()
}

/// Sends what comes until nothing more can come.
fn send_all(
    inbox: &Receiver<SpanData>,
    send: impl Fn(Vec<SpanData>) -> Result<(), String>,
    complain: &Complain,
) {
    let mut failing = false;
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        let until = Instant::now() + GATHER;
        while batch.len() < BATCH {
            match inbox.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(span) => batch.push(span),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        let sent = send(batch);
        if let Err(message) = &sent
            && !failing
        {
            complain(message);
        }
        failing = sent.is_err();
    }
}

fn time(ms: u64) -> SystemTime {
    // Times of files are not to be trusted; one that cannot be is the beginning of 1970.
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Ids as OpenTelemetry has them. Ours of spans are half as long, so the trace gives the other half.
fn trace_id(text: &str) -> TraceId {
    let given = u128::from_str_radix(text, 16).ok().filter(|id| text.len() == 32 && *id != 0);
    TraceId::from(given.unwrap_or_else(|| u128::from_str_radix(&sha256(text)[..32], 16).unwrap_or(1)))
}

fn span_id(trace: &str, span: &str) -> SpanId {
    let half = |text: &str| u32::from_str_radix(&sha256(text)[..8], 16).unwrap_or(1);
    let own = u32::from_str_radix(span, 16).ok().filter(|_| span.len() == 8).unwrap_or_else(|| half(span));
    SpanId::from((u64::from(half(trace)) << 32) | u64::from(own))
}

fn event(record: &Record) -> Event {
    let facts: Vec<KeyValue> = convention::facts("", &record.data).collect();
    Event::new(record.event.clone(), time(record.timestamp), facts, 0)
}

/// A span from its first and its last event.
fn span(open: OpenSpan, end: &Record) -> SpanData {
    let OpenSpan { start, events } = open;
    let mut whole = start.clone();
    let Record { status, data, input_tokens, output_tokens, model, .. } = end.clone();
    whole.status = status;
    whole.input_tokens = input_tokens.or(whole.input_tokens);
    whole.output_tokens = output_tokens.or(whole.output_tokens);
    whole.cache_creation_tokens = end.cache_creation_tokens;
    whole.cache_read_tokens = end.cache_read_tokens;
    whole.model = model.or(whole.model);
    whole.data.extend(data);
    let (span_kind, name) = convention::named(&start);
    let status = match whole.status.as_deref() {
        Some("error") => Status::error(convention::reason(&whole).to_owned()),
        _ => Status::Unset,
    };
    let context = SpanContext::new(
        trace_id(&start.trace_id),
        span_id(&start.trace_id, start.span_id.as_deref().unwrap_or_default()),
        TraceFlags::SAMPLED,
        false,
        TraceState::default(),
    );
    let mut all = SpanEvents::default();
    all.events = events;
    SpanData {
        span_context: context,
        parent_span_id: start
            .parent_span_id
            .as_deref()
            .map_or(SpanId::INVALID, |parent| span_id(&start.trace_id, parent)),
        parent_span_is_remote: false,
        span_kind,
        name: Cow::Owned(name),
        start_time: time(start.timestamp),
        end_time: time(end.timestamp.max(start.timestamp)),
        attributes: convention::attributes(&whole),
        dropped_attributes_count: 0,
        events: all,
        links: SpanLinks::default(),
        status,
        instrumentation_scope: InstrumentationScope::builder("ptc_runner")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_a_secret() {
        for (address, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318"),
            ("http://me:p@ss@a.example/v1", "http://a.example/v1"),
            ("https://token@a.example/?key=hunter2", "https://a.example/"),
            ("ftp://me:hunter2@a.example", "ftp://a.example"),
            ("me:hunter2@a b", "a b"),
        ] {
            let (text, hidden) = shown(address);
            assert_eq!(text, expected);
            let told = hidden.cover(format!("no answer from ({address}/v1/traces)"));
            assert!(!told.contains("hunter2") && !told.contains("ss@"), "{told}");
        }
        assert_eq!(endpoint("ftp://me:hunter2@a").unwrap_err().to_string().matches("hunter2").count(), 0);
    }
}
