//! Traces of the server: a file per call, and one log of the turns of all sessions. Nothing here can fail a call;
//! what cannot be written is lost.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ptc_host::{Outcome, Program};
use ptc_system::private;
use ptc_trace::{Entry, Files, Keep, Options, ReadBounds, Span, Tracer, subject};
use ptc_upstream::Redactor;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::api::{Args, Caller, Reply, Signals};
use super::context::text_of;
use super::debug::{CallFacts, request_id};
use super::resources::random_id;
use super::settings::{Payloads, Settings};
use super::text::{cut_chars, hex, json_bytes, moment};

/// Where calls and turns are written.
pub struct Traces {
    calls: Option<(Tracer, PathBuf)>,
    most: usize,
    turns: Option<Mutex<File>>,
    redactor: Redactor,
}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Traces({}, {})", self.calls.is_some(), self.turns.is_some())
    }
}

/// Bytes of one turn in the log; a larger one is only mentioned.
const TURN_BYTES: usize = 1 << 20;
/// Bytes of a trace file that are read for an answer, which may be smaller still.
const INLINED: u64 = 4 << 20;

impl Traces {
    /// Opens what the settings name; a folder that cannot be written keeps the server from starting.
    pub fn open(settings: &Settings, redactor: &Redactor) -> Result<Traces, String> {
        let calls = match &settings.trace_dir {
            None => None,
            Some(dir) => {
                let tracer = tracer(dir, settings, redactor.clone()).map_err(at("--trace-dir", dir))?;
                Some((tracer, dir.clone()))
            }
        };
        let turns = match &settings.turn_log_dir {
            None => None,
            Some(dir) => Some(Mutex::new(turn_file(dir).map_err(at("--turn-log-dir", dir))?)),
        };
        Ok(Traces { calls, most: settings.trace_max_files, turns, redactor: redactor.clone() })
    }

    /// Begins the trace of a call.
    pub fn begin(&self, tool: &str, caller: &Caller, args: &Args, signals: &Signals) -> Option<Arc<Span>> {
        let (tracer, _) = self.calls.as_ref()?;
        let context = args.get("context").map(|given| match text_of(given) {
            Some(text) => text.into(),
            None => given.clone(),
        });
        let id = request_id(&signals.request_id);
        let facts = json!({
            "tool_name": tool,
            "request_id": id,
            "transport": caller.transport.name(),
            "protocol_version": caller.protocol,
            "session_id": args.get("session_id"),
            "program": args.get("program").or_else(|| args.get("task")),
            "context": context,
        });
        Some(Arc::new(tracer.begin("mcp_call", subject::MCP_CALL, &id, facts)))
    }

    /// Ends the trace of a call.
    pub fn end(span: &Span, reply: Option<&Reply>, reason: Option<&str>, facts: &CallFacts) {
        let mut told = json!({
            "result_bytes": facts.result_bytes,
            "prints_count": facts.prints,
            "calls_count": facts.calls.len(),
            "upstream_calls": facts.calls,
            "ptc_metrics": facts.metrics,
        });
        if !facts.prompts.is_empty() {
            told["planner_prompts"] = facts.prompts.clone().into();
        }
        match reason {
            None => span.stop(told),
            Some(reason) => {
                let text = reply.map(Reply::text).unwrap_or_default();
                span.fail(reason, cut_chars(&text, 2_000).0, told);
            }
        }
    }

    /// Something that looks for the newest trace file of a request, by blocking; nothing if there are no files.
    pub fn finder(&self, request_id: &str) -> Option<impl FnOnce() -> Option<(String, Json)> + Send + use<>> {
        let (tracer, dir) = self.calls.clone()?;
        let label = self.redactor.redact_str(request_id).into_owned();
        let (most, mark) = (self.most, format!("-{}", ptc_trace::file_mark(&label)));
        Some(move || {
            tracer.flush();
            let head = ReadBounds { events: 1, ..ReadBounds::default() };
            let is_it = |entry: &Entry| {
                if !entry.name.contains(&mark) {
                    return false;
                }
                let first = ptc_trace::read(&entry.path, head)
                    .ok()
                    .and_then(|trace| trace.records.into_iter().next());
                first.is_some_and(|first| {
                    first.data.get("trace_label").and_then(Json::as_str) == Some(label.as_str())
                })
            };
            let entry = ptc_trace::list(&dir, most).into_iter().find(is_it)?;
            let trace =
                ptc_trace::read(&entry.path, ReadBounds { bytes: INLINED, ..ReadBounds::default() }).ok()?;
            Some((entry.name, serde_json::to_value(trace.records).ok()?))
        })
    }

    /// Whether turns are logged.
    pub fn logs_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Writes a turn into the log.
    pub fn turn(&self, mut event: Json) {
        let Some(file) = &self.turns else { return };
        self.redactor.redact_json(&mut event);
        let bytes = json_bytes(&event);
        if bytes > TURN_BYTES {
            event = json!({"event": "trace.event_omitted", "session_id": event["session_id"],
                           "turn": event["turn"], "bytes": bytes});
        }
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written is no reason to fail a call that went well.
        let _ = writeln!(file, "{event}");
    }
}

/// A program inside a call, in the trace of the call.
#[derive(Debug, Default)]
pub struct Execution(Option<Arc<Span>>);

impl Execution {
    /// Begins the span of a program, inside which its calls stand.
    pub fn begin(program: Program, source: &str, signals: &Signals) -> (Program, Execution) {
        let Some(call) = &signals.span else { return (program, Execution::default()) };
        // A program that goes on has the seed that it began with. As text: readers that know only floating-point numbers
        // would round it.
        let seed = program.resumption.is_none().then(|| program.seed.to_string());
        let facts = json!({"program": source, "program_bytes": source.len(), "caller": "mcp", "seed": seed});
        let span = Arc::new(call.child(subject::EXECUTE, facts));
        let tools = span.watch(&program.tools);
        (program.tools(tools), Execution(Some(span)))
    }

    /// Ends it with what came of the program.
    pub fn end(self, outcome: &Outcome) {
        self.0.iter().for_each(|span| span.outcome(outcome));
    }
}

/// A call that nobody waits for any more ends before its program has noticed.
impl Drop for Execution {
    fn drop(&mut self) {
        self.0.iter().for_each(|span| span.give_up());
    }
}

/// A text as the policy on payloads allows it.
pub fn text_by(payloads: Payloads, text: &str) -> Json {
    const CHARS: usize = 256;
    let hash = hex(&Sha256::digest(text.as_bytes()));
    match payloads {
        Payloads::None => json!({"sha256": hash, "bytes": text.len()}),
        Payloads::Summary => {
            json!({"sha256": hash, "bytes": text.len(), "preview": cut_chars(text, CHARS).0})
        }
        Payloads::Full => text.into(),
    }
}

fn at<'a>(flag: &'a str, dir: &'a Path) -> impl Fn(std::io::Error) -> String + 'a {
    move |error| format!("{flag} {}: {error}", dir.display())
}

fn tracer(dir: &Path, settings: &Settings, redactor: Redactor) -> std::io::Result<Tracer> {
    let keep = Keep { max_files: settings.trace_max_files, ..Keep::default() };
    let files = Files::open(dir, keep)?;
    let scrub = move |text: &str| match redactor.redact_str(text) {
        Cow::Owned(covered) => Some(covered),
        Cow::Borrowed(_) => None,
    };
    let options = Options { policy: settings.payloads, scrub: Some(Arc::new(scrub)), ..Options::default() };
    Ok(Tracer::new(options, vec![Box::new(files)]))
}

fn turn_file(dir: &Path) -> std::io::Result<File> {
    private::folder(dir)?;
    let time = moment(ptc_host::now_ms()).replace(':', "-");
    let id = hex(&Sha256::digest(random_id::<16>().as_bytes()));
    let path = dir.join(format!("{time}-{}-turns.jsonl", &id[..8]));
    let mut file = private::create_new(&path)?;
    writeln!(file, "{}", json!({"event": "trace.start", "trace_kind": "mcp.turn_log", "schema_version": 2}))?;
    Ok(file)
}
