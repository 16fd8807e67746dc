//! What a program came to, told to the model as the result of `lisp_eval`: shared by the transports that run
//! programs by tool call.

use ptc_lisp::ErrorKind;
use ptc_lisp::machine::ProgramEnd;
use serde_json::{Map, Value as Json, json};

use super::node::Node;
use super::sandbox::Ended;
use super::{Next, Shared, calls, content};
use crate::agent::{MemoryStrategy, Mode};
use crate::cache::{evictions_note, json_bytes};
use crate::feedback::{self, Execution, Failed, Trouble, TurnInfo};
use crate::model::{Message, ToolCall};
use crate::reason::Reason;
use crate::render::{DISCOVERY_BYTES, Reach, ViewLimits, bytes_as_json};
use crate::step::{CallRecord, Fail};

/// The reason of a language error as runs report it.
pub(super) fn reason(error: &ptc_lisp::Error) -> Reason {
    match error.kind {
        ErrorKind::Timeout => Reason::TIMEOUT,
        ErrorKind::MemoryExceeded => Reason::MEMORY_EXCEEDED,
        kind => Reason::named(kind.reason()),
    }
}

/// The failure of a program, and what its model reads of it.
pub(super) fn failure(node: &Node, error: &ptc_lisp::Error) -> (Fail, Trouble) {
    let source = node.book.draft.program.as_deref().unwrap_or_default();
    let mut text = ptc_lisp::render::for_models(error, source);
    let mut trouble = divided(error, source, &text);
    if error.kind == ErrorKind::MemoryExceeded
        && let Some(held) = held(node)
    {
        text.push_str(&format!("\n{held}"));
        trouble.advice = format!("{}\n{held}", trouble.advice).trim_start().to_owned();
    }
    trouble.notes = calls::notes(node);
    for note in &trouble.notes {
        text.push_str(&format!("\n- {note}"));
    }
    (Fail::new(reason(error), node.veil.cover(&text).into_owned()), trouble)
}

/// The advice for an exception in a parallel branch, whose hint is its data.
const CATCH_INSIDE: &str = "to keep the results of the other items, catch it inside the function: \
                            (try … (catch Exception e …)); items count from 0";

/// An error as models read it, divided into what quotes the program and its data, and advice in our words.
fn divided(error: &ptc_lisp::Error, source: &str, whole: &str) -> Trouble {
    if error.tells_data() {
        let branch = matches!(error.kind, ErrorKind::Pmap | ErrorKind::Pcalls);
        let advice = if branch { format!("Fix: {CATCH_INSIDE}") } else { String::new() };
        return Trouble { kind: error.kind.reason(), advice, ..Trouble::report(whole) };
    }
    if !error.advises() {
        return Trouble { kind: error.kind.reason(), ..Trouble::report(whole) };
    }
    let mut bare = error.clone();
    bare.hint = None;
    let report = ptc_lisp::render::for_models(&bare, source);
    // Advice stands at the end of the first line.
    let at = report.find('\n').unwrap_or(report.len());
    let advice = whole.get(at..whole.len().saturating_sub(report.len() - at)).unwrap_or_default();
    Trouble { advice: advice.trim().to_owned(), report, kind: error.kind.reason(), notes: Vec::new() }
}

/// What definitions of earlier turns hold of the memory, if that is much of it: a program that does not fit then is not
/// what has to become smaller.
fn held(node: &Node) -> Option<String> {
    /// How many definitions are named.
    const NAMED: usize = 3;
    let machine = node.sandbox.machine.as_deref()?;
    let (sizes, limit) = (machine.definition_memory(), machine.limits().memory);
    let total: usize = sizes.iter().map(|(_, bytes)| bytes).sum();
    let named: Vec<String> =
        sizes.iter().take(NAMED).map(|(name, bytes)| format!("{name} {bytes} bytes")).collect();
    let (largest, _) = sizes.first().filter(|_| total > limit / 4)?;
    Some(format!(
        "Definitions of earlier turns hold {total} of the {limit} bytes: {}. Keep less of them, or free one: \
         (def {largest} nil).",
        named.join(", ")
    ))
}

/// What `(fail v)` says: fields of a map, or the value itself.
pub(super) fn failed(node: &Node) -> Fail {
    let value = node.sandbox.result_json();
    let text = |key: &str| value.get(key).and_then(Json::as_str).map(str::to_owned);
    Fail {
        reason: text("reason").map_or(Reason::FAILED, Reason::custom),
        message: text("message").unwrap_or_else(|| content::show_result(node, 2_000)),
        op: text("op"),
        details: details(value),
    }
}

/// The details of a declared failure: the map that the program gave as `:details`, and beside its keys the fields that
/// have no place of their own. A value that says nothing by these names is kept whole.
fn details(value: Json) -> Json {
    /// Fields of a failure.
    const FIELDS: [&str; 4] = ["reason", "message", "op", "details"];
    let fields = match value {
        Json::Object(fields) if FIELDS.iter().any(|name| fields.contains_key(*name)) => fields,
        other => return json!({"value": other}),
    };
    let mut details = match fields.get("details") {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(given)) => given.clone(),
        Some(other) => Map::from_iter([("value".to_owned(), other.clone())]),
    };
    for (name, field) in fields.into_iter().filter(|(name, _)| !FIELDS.contains(&name.as_str())) {
        details.entry(name).or_insert(field);
    }
    if details.is_empty() { Json::Null } else { Json::Object(details) }
}

/// What the last program did, as feedback shows it.
pub(super) fn execution(node: &Node) -> Execution {
    let options = node.agent.options();
    let Some(machine) = node.sandbox.machine.as_deref() else { return Execution::default() };
    let most = options.format.result_max_bytes;
    let glimpse = |bytes: usize| machine.glimpse_result(&ViewLimits::bytes(bytes).bounds(options.firewall));
    let mut result = glimpse(most);
    let told = if result.bytes > most { machine.discovered() } else { None };
    if told.is_some() {
        result = glimpse(most.max(DISCOVERY_BYTES));
    }
    let definition = ViewLimits::SKETCHED.sample_bounds(options.firewall);
    let changed = machine.changed().iter();
    Execution {
        result: Some(result),
        told,
        reach: if machine.history_is_whole() { Reach::Latest } else { Reach::Lost },
        prints: node.book.prints.clone(),
        changed: changed
            .filter_map(|name| machine.view_definition(name, &definition).map(|view| (name.clone(), view)))
            .collect(),
        stored: machine.definitions(),
        notes: calls::notes(node),
    }
}

/// Bytes of an answer that may be data, or quote it: everything but our words.
fn data_bytes(body: &Json) -> usize {
    let text = |value: &Json| value.as_str().map_or(0, bytes_as_json);
    let texts = |value: &Json| match value {
        Json::Array(items) => items.iter().map(text).sum(),
        Json::Object(fields) => fields.values().map(text).sum(),
        _ => 0,
    };
    let single: usize = ["result", "message", "evicted"].iter().map(|key| text(&body[*key])).sum();
    let several = [&body["prints"], &body["memory"]["changed"], &body["warnings"]];
    let several: usize = several.into_iter().map(texts).sum();
    single + several
}

/// Definitions within their limit? If not: taken back, or the run is over.
pub(super) fn memory_checked(node: &mut Node) -> Result<(), Oversize> {
    let Some(limit) = node.agent.options().memory_limit else { return Ok(()) };
    let bytes = node.sandbox.memory_bytes();
    if bytes <= limit {
        return Ok(());
    }
    match node.agent.options().memory_strategy {
        MemoryStrategy::Strict => Err(Oversize::Strict(Fail::new(
            Reason::MEMORY_LIMIT_EXCEEDED,
            format!(
                "definitions take {bytes} bytes of the {limit} that memory_limit allows; keep less between turns, or take \
                 such a program back with memory_strategy = \"rollback\""
            ),
        ))),
        MemoryStrategy::Rollback => {
            if let Some(machine) = node.sandbox.machine.as_deref_mut() {
                machine.take_back();
            }
            Err(Oversize::Rollback(feedback::rolled_back(bytes, limit)))
        }
    }
}

/// What to do about definitions that are too large.
pub(super) enum Oversize {
    /// The run is over.
    Strict(Fail),
    /// The model is told.
    Rollback(String),
}

/// The result of `lisp_eval` in combined mode: nothing ends the run, the model answers in text.
pub(super) fn combined(node: &mut Node, shared: &mut Shared, id: &str, ended: Ended) -> Next {
    let (body, outcome) = match ended {
        Ended::Failed(error) => {
            let (fail, trouble) = failure(node, &error);
            (trouble_body(node, &fail, &trouble, None), Err(fail))
        }
        Ended::Value(ProgramEnd::Fail) => {
            let fail = failed(node);
            (declared_body(node, &fail), Err(fail))
        }
        Ended::Value(_) => match memory_checked(node) {
            Ok(()) => (success_body(node), Ok(())),
            Err(Oversize::Rollback(message)) => {
                error_body(node, &Fail::new(Reason::MEMORY_LIMIT_EXCEEDED, message), None)
            }
            Err(Oversize::Strict(fail)) => {
                let (body, _) = error_body(node, &fail, None);
                answer(node, shared, id, &body);
                node.close_failed(&fail);
                shared.turn_stop(node);
                return Next::Over(Err(fail));
            }
        },
    };
    answer(node, shared, id, &body);
    close(node, shared, outcome);
    Next::Turn
}

/// Refuses all calls of a turn: every id gets its answer, and the last one says how many turns are left.
pub(super) fn refuse(node: &mut Node, shared: &mut Shared, calls: &[ToolCall], fail: &Fail) -> Next {
    let info = content::turn_info(node);
    for (at, call) in calls.iter().enumerate() {
        let info = if at + 1 == calls.len() { info } else { TurnInfo::default() };
        let body = feedback::protocol_error(fail.reason.as_str(), &fail.message, &info);
        answer(node, shared, &call.id, &body);
    }
    node.close_failed(fail);
    shared.turn_stop(node);
    Next::Turn
}

/// Ends the turn of a program that was run by tool call.
pub(super) fn close(node: &mut Node, shared: &mut Shared, outcome: Result<(), Fail>) {
    match outcome {
        Ok(()) => {
            content::commit_steps(node);
            let value = node.sandbox.result_json();
            node.close_turn(value, true);
        }
        Err(fail) => node.close_failed(&fail),
    }
    shared.turn_stop(node);
}

/// Answers a call that the model made: its message, the event, and in combined mode the record, beside
/// those of native calls.
pub(super) fn answer(node: &mut Node, shared: &mut Shared, id: &str, body: &Json) {
    let body = with_evictions(node, body.clone());
    let made = node.messages.iter().rev().flat_map(|message| &message.tool_calls).find(|call| call.id == id);
    let (name, args) = made.map_or_else(Default::default, |call| (call.name.clone(), call.args.clone()));
    let error = body.get("message").and_then(Json::as_str).map(str::to_owned);
    let began = node.book.turn_began.max(node.sandbox.since);
    let duration_ms = shared.now.saturating_sub(began);
    let mut facts = json!({"tool_name": name, "exposure_layer": "native", "cached": false});
    if let Some(error) = &error {
        facts["error"] = json!(error);
    }
    shared.turn_event(node, "tool.call", json!({"duration_ms": duration_ms}), facts);
    node.book.tell(data_bytes(&body));
    node.messages.push(Message::tool(id, body.to_string()));
    if node.agent.mode() == Mode::Combined {
        let result_bytes = usize::try_from(json_bytes(&body)).unwrap_or(usize::MAX);
        let record = CallRecord {
            name,
            args,
            error,
            timestamp: began,
            duration_ms,
            result_bytes,
            ..CallRecord::default()
        };
        node.book.calls.push(CallRecord { result: body, ..record });
    }
}

/// An answer, with a word about results that the cache had to drop.
pub(super) fn with_evictions(node: &mut Node, mut body: Json) -> Json {
    if let Some(note) = evicted(node) {
        body["evicted"] = Json::from(note);
    }
    body
}

/// A word about results that the cache had to drop, said once.
pub(super) fn evicted(node: &mut Node) -> Option<String> {
    let gone = node.cache.take_evictions();
    let note = evictions_note(&gone, node.agent.options().firewall)?;
    Some(node.veil.cover(&note).into_owned())
}

pub(super) fn success_body(node: &Node) -> Json {
    feedback::eval_ok(&execution(node), &content::turn_info(node), &content::lens(node))
}

/// The error object, and the failure for the turn.
pub(super) fn error_body(node: &Node, fail: &Fail, result: Option<String>) -> (Json, Result<(), Fail>) {
    (trouble_body(node, fail, &Trouble::report(&fail.message), result.as_deref()), Err(fail.clone()))
}

/// The error object of a failure that the program declared with `(fail …)`.
pub(super) fn declared_body(node: &Node, fail: &Fail) -> Json {
    let shown = content::show_result(node, 500);
    answered(node, "fail", &Trouble::report(&fail.message), Some(&shown))
}

/// The error object of a failure, in the words for its model.
pub(super) fn trouble_body(node: &Node, fail: &Fail, trouble: &Trouble, result: Option<&str>) -> Json {
    answered(node, eval_reason(&fail.reason), trouble, result)
}

fn answered(node: &Node, reason: &str, trouble: &Trouble, result: Option<&str>) -> Json {
    // One error has one name in one answer.
    let message = match trouble.report.strip_prefix(trouble.kind).filter(|_| !trouble.kind.is_empty()) {
        Some(rest) => format!("{reason}{rest}"),
        None => trouble.report.clone(),
    };
    let failed = Failed {
        reason,
        message: &message,
        prints: &node.book.prints,
        result,
        advice: &trouble.advice,
        notes: &trouble.notes,
    };
    feedback::eval_error(&failed, &content::turn_info(node), &content::lens(node))
}

/// The few reasons that `lisp_eval` answers with.
fn eval_reason(reason: &Reason) -> &'static str {
    match reason.as_str() {
        "args_error" => "args_error",
        "validation_error" => "validation_error",
        text if text.contains("parse") => "parse_error",
        text if text.contains("timeout") => "timeout",
        text if text.contains("memory") => "memory_limit",
        _ => "runtime_error",
    }
}

/// A program that is all there is: its value is the answer.
pub(super) fn whole(node: &mut Node, ended: Ended) -> Next {
    match ended {
        Ended::Failed(error) => {
            let (fail, _) = failure(node, &error);
            node.close_failed(&fail);
            Next::Over(Err(fail))
        }
        Ended::Value(ProgramEnd::Fail) => {
            let fail = failed(node);
            node.close_failed(&fail);
            Next::Over(Err(fail))
        }
        Ended::Value(_) => content::answer(node, Reason::VALIDATION_ERROR).map_or_else(
            |rejected| Next::Over(Err(rejected.fail)),
            |value| {
                node.close_turn(value.clone(), true);
                Next::Over(Ok(value))
            },
        ),
    }
}
