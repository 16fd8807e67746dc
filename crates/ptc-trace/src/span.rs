//! Spans for whoever is no agent: servers, evaluations, calls of upstreams, sessions. A trace begins with an
//! outermost span; spans inside it tell what was done, and each says at its end how it went.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use ptc_host::Outcome;
use serde_json::{Map, Value as Json, json};

use crate::record::Record;
use crate::tracer::Tracer;

/// An id for a trace: 32 hexadecimal digits that nobody can guess.
pub fn new_trace_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        let seed = format!("{}/{}/{}", now_ms(), std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        return crate::payload::sha256(&seed)[..32].to_owned();
    }
    crate::payload::hex(&bytes)
}

pub(crate) fn now_ms() -> u64 {
    u64::try_from(ptc_host::now_ms()).unwrap_or(0)
}

/// Names of spans, so that readers know what they see.
pub mod subject {
    /// A request that a server answers.
    pub const MCP_CALL: &str = "mcp.call";
    /// A program.
    pub const EXECUTE: &str = "lisp.execute";
    /// A call of a tool of an upstream.
    pub const UPSTREAM_CALL: &str = "upstream.call";
    /// A look into the catalog of upstreams.
    pub const UPSTREAM_DISCOVER: &str = "upstream.discover";
    /// A call of a tool.
    pub const TOOL: &str = "tool";
}

/// Something that goes on. Ending it says how it went; one that is dropped before has failed.
pub struct Span {
    tracer: Tracer,
    trace: Arc<Of>,
    subject: String,
    span_id: String,
    parent: Option<String>,
    began: (u64, Instant),
    ended: AtomicBool,
}

struct Of {
    id: String,
    first: u32,
    next: AtomicU32,
}

impl Of {
    fn span(&self) -> String {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{:08x}", self.first.wrapping_add(n.wrapping_mul(0x9E37_79B1)))
    }
}

impl Tracer {
    /// Begins a trace of a kind (`mcp_call`, `eval`) with its outermost span. Facts go by name, as
    /// in [`Record`]; texts among them are payloads unless their names say otherwise.
    pub fn begin(&self, kind: &str, subject: &str, label: &str, facts: Json) -> Span {
        let id = new_trace_id();
        let first = u32::from_str_radix(&id[..8], 16).unwrap_or(1);
        let mut header = Record::new("trace.start", id.clone(), now_ms());
        header.absorb(fields(json!({"trace_kind": kind, "producer": "ptc_runner", "trace_label": label})));
        self.record(header);
        let trace = Arc::new(Of { id, first, next: AtomicU32::new(0) });
        Span::start(self, trace, subject, None, facts)
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Span({} of {})", self.span_id, self.trace.id)
    }
}

impl Span {
    fn start(tracer: &Tracer, trace: Arc<Of>, subject: &str, parent: Option<String>, facts: Json) -> Self {
        let span = Span {
            tracer: tracer.clone(),
            span_id: trace.span(),
            trace,
            subject: subject.to_owned(),
            parent,
            began: (now_ms(), Instant::now()),
            ended: AtomicBool::new(false),
        };
        span.tell("start", None, facts);
        span
    }

    /// The trace that it belongs to.
    pub fn trace_id(&self) -> &str {
        &self.trace.id
    }

    /// A span inside this one.
    pub fn child(&self, subject: &str, facts: Json) -> Span {
        Span::start(&self.tracer, self.trace.clone(), subject, Some(self.span_id.clone()), facts)
    }

    /// Takes an event of an agent that runs inside this span, as part of this trace.
    pub fn agent_event(&self, event: ptc_agent::Event) {
        let mut record = Record::from(event);
        record.trace_id.clone_from(&self.trace.id);
        record.parent_span_id.get_or_insert_with(|| self.span_id.clone());
        self.tracer.record(record);
    }

    /// It went well. What ended already stays as it ended.
    pub fn stop(&self, facts: Json) {
        if self.ends() {
            self.tell("stop", Some("ok"), facts);
        }
    }

    /// It failed, for a reason that is a name, with a message that is a payload.
    pub fn fail(&self, reason: &str, message: &str, facts: Json) {
        if self.ends() {
            self.tell("exception", Some("error"), failure(reason, message, facts));
        }
    }

    /// Nobody waits for it any more. Calls inside it may still hold it.
    pub fn give_up(&self) {
        self.fail("cancelled", "dropped before its end", json!({}));
    }

    /// Whether it ends now, and not before.
    fn ends(&self) -> bool {
        !self.ended.swap(true, Ordering::Relaxed)
    }

    /// Ends the span of a program with what came of it. Calls inside it may still hold it.
    pub fn outcome(&self, outcome: &Outcome) {
        if !self.ends() {
            return;
        }
        let calls: Vec<Json> = outcome.calls.iter().map(call).collect();
        let facts = json!({
            "fuel": outcome.fuel,
            "prints": outcome.prints,
            "prints_count": outcome.prints.len(),
            "result_bytes": outcome.value.len(),
            "calls_count": calls.len(),
            "tool_calls": calls,
        });
        match &outcome.result {
            Ok(signal) => {
                let mut facts = fields(facts);
                facts.insert("signal".into(), json!(format!("{signal:?}").to_lowercase()));
                facts.insert("result".into(), json!(outcome.value));
                self.tell("stop", Some("ok"), Json::Object(facts));
            }
            Err(error) => {
                let facts = failure(error.kind.reason(), &error.message, facts);
                self.tell("exception", Some("error"), facts);
            }
        }
    }

    fn tell(&self, phase: &str, status: Option<&str>, facts: Json) {
        let took = self.began.1.elapsed().as_millis();
        let took = (phase != "start").then(|| u64::try_from(took).unwrap_or(u64::MAX));
        self.send(format!("{}.{phase}", self.subject), status, took, facts);
    }

    fn send(&self, event: String, status: Option<&str>, took: Option<u64>, facts: Json) {
        let at = self.began.0.saturating_add(took.unwrap_or(0));
        let at = if took.is_some() { at } else { now_ms() };
        let mut record = Record {
            span_id: Some(self.span_id.clone()),
            parent_span_id: self.parent.clone(),
            ..Record::new(event, self.trace.id.clone(), at)
        };
        record.absorb(fields(facts));
        record.duration_ms = took.or(record.duration_ms);
        record.status = status.map(str::to_owned).or(record.status);
        self.tracer.record(record);
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn call(called: &ptc_host::Called) -> Json {
    let outcome = format!("{:?}", called.end).to_lowercase();
    let took = u64::try_from(called.elapsed.as_millis()).unwrap_or(u64::MAX);
    json!({
        "tool": called.tool,
        "args_hash": crate::payload::sha256(&called.args.to_string()),
        "outcome": outcome,
        "duration_ms": took,
    })
}

fn failure(reason: &str, message: &str, facts: Json) -> Json {
    let mut facts = fields(facts);
    facts.insert("reason".into(), json!(reason));
    facts.insert("error".into(), json!(message));
    Json::Object(facts)
}

fn fields(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}
