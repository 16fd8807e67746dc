//! `lisp_debug`: stats, recent and get.

use ptc_host::now_ms;
use serde_json::{Map, Value as Json, json};

use super::super::api::{Args, Caller, Transport};
use super::super::args::known;
use super::super::reason::Reason;
use super::super::settings::{self, Payloads};
use super::super::text::{cut, json_bytes, quoted_bytes};
use super::super::{Answered, Engine, envelope, fixed};
use super::record::request_id;
use super::ring::{Ring, RingEntry};
use super::stats::stats;

/// What is asked.
struct Question {
    op: Op,
    limit: usize,
    since_seconds: Option<u64>,
    errors_only: bool,
}

enum Op {
    Stats,
    Recent,
    Get(String),
}

impl Question {
    fn read(args: &Args) -> Result<Question, String> {
        known(args, &["op", "limit", "since_seconds", "errors_only", "request_id"], &[])?;
        let number = |key: &str, most: u64| match args.get(key) {
            None | Some(Json::Null) => Ok(None),
            Some(number) => match number.as_u64().filter(|number| (1..=most).contains(number)) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("argument `{key}` must be an integer from 1 to {most}")),
            },
        };
        let limit = number("limit", 200)?.unwrap_or(20) as usize;
        let since_seconds = number("since_seconds", 86_400)?;
        let errors_only = match args.get("errors_only") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(only)) => *only,
            Some(_) => return Err("argument `errors_only` must be a boolean".to_owned()),
        };
        let op = match args.get("op").and_then(Json::as_str) {
            Some("stats") => Op::Stats,
            Some("recent") => Op::Recent,
            Some("get") => match args.get("request_id") {
                Some(Json::String(id)) if !id.is_empty() && id.len() <= 256 => Op::Get(id.clone()),
                Some(Json::Number(id)) => Op::Get(id.to_string()),
                _ => return Err("argument `request_id` must be a string of 1 to 256 bytes".to_owned()),
            },
            Some(other) => {
                return Err(format!("argument `op` must be stats, recent or get, got {}", cut(other, 40)));
            }
            None => return Err("argument `op` is required: stats, recent or get".to_owned()),
        };
        Ok(Question { op, limit, since_seconds, errors_only })
    }

    fn chosen(&self, entries: &[RingEntry]) -> Vec<RingEntry> {
        let since = self.since_seconds.map(|seconds| now_ms() - seconds as i64 * 1_000);
        let wanted = |entry: &RingEntry| {
            since.is_none_or(|since| entry.ms >= since)
                && (!self.errors_only || entry.record["status"] == "error")
        };
        entries.iter().filter(|entry| wanted(entry)).cloned().collect()
    }
}

impl Engine {
    /// Answers about the calls of one client: those of others are not its business, whoever's token it has.
    pub(in super::super) async fn debug(
        &self,
        ring: &Ring,
        settings: &settings::Debug,
        caller: &Caller,
        args: &Args,
    ) -> Answered {
        if caller.is_any_with_its_token() {
            return fixed(Reason::UNKNOWN_TOOL, STRANGER, BEGIN);
        }
        let question = match Question::read(args) {
            Ok(question) => question,
            Err(message) => return fixed(Reason::ARGS, &message, "Mend the arguments and call again."),
        };
        let own = ring.of(&caller.owner);
        let entries = question.chosen(&own);
        let mut object = json!({
            "status": "ok",
            "op": match &question.op { Op::Stats => "stats", Op::Recent => "recent", Op::Get(_) => "get" },
            "payload_policy": self.settings.payloads.to_string(),
            "redaction_applied": true,
            "debug_source": "ring_buffer",
            "ring_size": ring.size(),
            "ring_count": own.len(),
            "trace_dir_enabled": self.settings.trace_dir.is_some(),
        });
        let told = match &question.op {
            Op::Stats => stats(&entries),
            Op::Recent => recent(&entries, question.limit),
            Op::Get(id) => match (got(&own, id), caller.transport) {
                (Some(found), _) => found,
                (None, Transport::Stdio) => self.traced(id).await,
                // Trace files do not say whose calls they are.
                (None, Transport::Http) => forgotten(FORGOTTEN),
            },
        };
        if let (Json::Object(object), Json::Object(told)) = (&mut object, told) {
            object.extend(told);
        }
        if let (Op::Stats, Some(once)) = (&question.op, &self.once)
            && let Ok(Json::Array(gaps)) = once.gaps(caller).await
        {
            let mut few: Vec<Json> = gaps.iter().take(GAPS).cloned().collect();
            if caller.transport == Transport::Http {
                // They are of all clients with the same token: what was sent is for whoever runs the server.
                few.iter_mut().filter_map(Json::as_object_mut).for_each(|gap| drop(gap.remove("args")));
            }
            object["outcome_unknown"] = json!({"count": gaps.len(), "calls": few});
        }
        fit(&mut object, settings.max_response_bytes);
        Answered::new(envelope::plain(object, false), None)
    }

    /// The trace file of a call that is not remembered any more.
    async fn traced(&self, id: &str) -> Json {
        let Some(find) = self.traces.finder(id) else { return forgotten(FORGOTTEN) };
        let found = tokio::task::spawn_blocking(find).await.ok().flatten();
        let Some((file, records)) = found else {
            return forgotten("No call with this request_id is remembered, and no trace file has it.");
        };
        let whole = self.settings.payloads == Payloads::Full;
        let mut record = json!({"request_id": request_id(id), "file": file});
        if whole {
            record["events"] = records;
        }
        self.redactor.redact_json(&mut record);
        let note = match whole {
            true => "The call is not remembered any more; this is its trace file.",
            false => {
                "The call is not remembered any more. Its trace file is only shown with --trace-payloads full."
            }
        };
        json!({"found": true, "source": "trace_file", "record": record, "note": note, "truncated": false})
    }
}

const STRANGER: &str = "lisp_debug shows a client its own calls, and this request came without an MCP session: nothing tells its client from \
                        others with the same token";
const BEGIN: &str = "Begin an MCP session with `initialize` (protocol 2025-11-25 or older) and send its Mcp-Session-Id with the calls to be \
                     looked at and with this one, or use the server over stdio.";
const FORGOTTEN: &str = "No call of yours with this request_id is remembered; old ones are dropped.";

fn forgotten(note: &str) -> Json {
    json!({"found": false, "note": note, "truncated": false})
}

/// Calls whose outcome is not known that are shown.
const GAPS: usize = 20;

/// The last calls, newest first, upstream calls as a count.
fn recent(entries: &[RingEntry], limit: usize) -> Json {
    let calls: Vec<Json> = entries
        .iter()
        .rev()
        .take(limit)
        .map(|entry| {
            let mut record = (*entry.record).clone();
            let count = record["upstream_calls"].as_array().map_or(0, Vec::len);
            record["upstream_calls"] = count.into();
            record
        })
        .collect();
    json!({"count": calls.len(), "calls": calls})
}

fn got(entries: &[RingEntry], id: &str) -> Option<Json> {
    let id = request_id(id);
    let entry = entries.iter().rev().find(|entry| entry.record["request_id"] == id.as_str())?;
    Some(json!({"found": true, "source": "ring_buffer", "record": *entry.record, "truncated": false}))
}

/// Leaves out what matters least until the whole answer fits.
fn fit(object: &mut Json, most: usize) {
    // The text repeats the object inside a frame.
    let size = |object: &Json| 256 + json_bytes(object) + quoted_bytes(&object.to_string());
    const STATS: &[&[&str]] = &[
        &["outcome_unknown", "calls"],
        &["payload_reduction", "top_reducers"],
        &["payload_reduction"],
        &["upstream_calls", "by_server"],
        &["by_tool", "*", "duration_ms"],
        &["by_tool"],
        &["upstream_calls"],
    ];
    let mut steps = STATS.iter();
    while size(object) > most {
        object["truncated"] = true.into();
        match object["op"].as_str() {
            Some("recent") => {
                let Some(calls) = object["calls"].as_array_mut() else { return };
                if calls.pop().is_none() {
                    return;
                }
                object["count"] = object["calls"].as_array().map_or(0, Vec::len).into();
            }
            Some("get") => {
                object["record"] = Json::Null;
                object["note"] = "The record is larger than an answer may be.".into();
                return;
            }
            _ => match (steps.next(), object.as_object_mut()) {
                (Some(path), Some(fields)) => remove(fields, path),
                _ => return,
            },
        }
    }
}

fn remove(fields: &mut Map<String, Json>, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            fields.remove(*last);
        }
        ["*", rest @ ..] => {
            fields.values_mut().filter_map(Json::as_object_mut).for_each(|inner| remove(inner, rest));
        }
        [first, rest @ ..] => {
            if let Some(inner) = fields.get_mut(*first).and_then(Json::as_object_mut) {
                remove(inner, rest);
            }
        }
    }
}
