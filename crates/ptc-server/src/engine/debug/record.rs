//! What is remembered of a call.

use ptc_host::Kind;
use ptc_upstream::Redactor;
use ptc_upstream::ledger::LedgerEntry;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest as _, Sha256};

use super::super::args::EvalArgs;
use super::super::context::Context;
use super::super::depth::too_deep;
use super::super::payload::Payload;
use super::super::settings::Payloads;
use super::super::text::{cut, cut_chars, hex};
use super::super::tickets::Made;
use super::super::trace::text_by;
use super::ring::LARGEST;

/// What a handler tells about a call, besides how it ended.
#[derive(Clone, Debug, Default)]
pub struct CallFacts {
    /// The program, if one was run.
    pub program: Option<String>,
    /// Its inputs.
    pub context: Option<Context>,
    /// Whether its result had to fit a schema.
    pub schema: bool,
    /// Bytes of the answer.
    pub result_bytes: usize,
    /// Printed lines.
    pub prints: usize,
    /// Upstream calls.
    pub calls: Vec<Json>,
    /// Those of them that may have changed something.
    pub made: Made,
    /// Sizes before and after.
    pub metrics: Option<Json>,
    /// What planning took.
    pub agentic: Option<Json>,
    /// What the planner was sent, for trace files only.
    pub prompts: Vec<Json>,
}

impl CallFacts {
    /// A program that is about to run.
    pub fn of(args: &EvalArgs) -> CallFacts {
        CallFacts {
            program: Some(args.program.clone()),
            context: Some(args.context.clone()),
            schema: args.schema.is_some(),
            ..CallFacts::default()
        }
    }

    /// Adds what came of it.
    pub fn seen(&mut self, payload: &Payload, ledger: Option<&[LedgerEntry]>) {
        self.result_bytes = payload.returned().result_bytes;
        self.prints = payload.prints.len();
        self.calls = ledger.unwrap_or_default().iter().map(call_entry).collect();
        self.made = Made::of(ledger.unwrap_or_default(), Vec::new());
        self.metrics = payload.upstream.as_ref().and_then(|upstream| upstream.metrics.clone());
    }
}

/// An upstream call as it is remembered.
pub fn call_entry(entry: &LedgerEntry) -> Json {
    let mut entry = entry.to_json();
    if let Json::Object(fields) = &mut entry {
        // Why a call failed may quote what it was sent.
        fields.remove("error");
    }
    entry
}

/// A call that is over.
#[derive(Debug)]
pub struct Call<'a> {
    /// The id of the request.
    pub request_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Why it failed, if it did.
    pub reason: Option<&'a str>,
    /// When it ended.
    pub ts: String,
    /// How long it took.
    pub duration_ms: u64,
    /// The protocol version.
    pub protocol: Option<&'a str>,
    /// What its handler told.
    pub facts: CallFacts,
}

/// The longest id that is kept whole.
const ID_BYTES: usize = 256;

impl Call<'_> {
    /// The record of the call.
    pub fn record(mut self, payloads: Payloads, redactor: &Redactor) -> Json {
        if matches!(self.reason, Some("args_error" | "busy")) {
            self.facts.program = None;
            self.facts.context = None;
        }
        let facts = self.facts;
        let mut record = json!({
            "request_id": request_id(self.request_id),
            "ts": self.ts,
            "tool": self.tool,
            "status": if self.reason.is_none() { "ok" } else { "error" },
            "reason": self.reason,
            "duration_ms": self.duration_ms,
            "result_bytes": facts.result_bytes,
            "prints_count": facts.prints,
            "signature_present": facts.schema,
            "protocol_version": self.protocol,
            "upstream_calls": facts.calls,
            "ptc_metrics": facts.metrics,
        });
        if let Some(program) = facts.program {
            record["program"] = text_by(payloads, &redactor.redact_string(program));
        }
        if let Some(context) = facts.context {
            record["context"] = context_by(payloads, context.text(), redactor);
        }
        if let Some(agentic) = facts.agentic {
            record["agentic"] = agentic;
        }
        redactor.redact_json(&mut record);
        record
    }
}

/// An id as it is kept and asked for.
pub fn request_id(id: &str) -> String {
    match id.len() <= ID_BYTES {
        true => id.to_owned(),
        false => format!("{}… ({} bytes)", cut_chars(id, 64).0, id.len()),
    }
}

/// Inputs as the policy on payloads allows them, from their text.
fn context_by(payloads: Payloads, text: &str, redactor: &Redactor) -> Json {
    const KEYS: usize = 100;
    let covered = redactor.redact_str(text);
    let hash = json!({"sha256": hex(&Sha256::digest(covered.as_bytes())), "bytes": covered.len()});
    match payloads {
        Payloads::None => hash,
        // A record that is longer would not be kept, and one that nests deep could not be shown.
        Payloads::Full if text.len() <= LARGEST => match serde_json::from_str::<Json>(text) {
            Ok(context) if too_deep(&context, "context").is_none() => context,
            _ => hash,
        },
        Payloads::Full | Payloads::Summary => {
            let mut kinds = Map::new();
            let outlined = ptc_host::outline(text, |name, kind| {
                let count = match kind {
                    Kind::Text(count) | Kind::List(count) | Kind::Object(count) => json!(count),
                    Kind::Null | Kind::Bool | Kind::Number => Json::Null,
                };
                if kinds.len() < KEYS {
                    kinds.insert(cut(name, 80).to_owned(), json!({"type": kind.name(), "count": count}));
                }
            });
            let mut summary = hash;
            if outlined.is_ok() {
                summary["keys"] = kinds.into();
            }
            summary
        }
    }
}
