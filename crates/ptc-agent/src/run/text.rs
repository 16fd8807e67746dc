//! Text mode and combined mode: the model answers in text and calls tools natively; in combined mode one of
//! them is `lisp_eval`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ptc_signature::{Type, keys};
use serde_json::{Value as Json, json};

use super::calls::{self, Batch, Layer, Slot};
use super::children::Birth;
use super::node::{Node, State};
use super::tool_call::{evaluate, final_answer, typed_answer, unknown_tool, with_ids};
use super::{Next, Shared, consent, content, eval, setup};
use crate::agent::Mode;
use crate::feedback::{self, TurnInfo};
use crate::model::{Message, Output, Reply, Request, ToolCall, ToolSchema};
use crate::preview::{self, PreviewError, PreviewKind, ResultOf};
use crate::prompt::{self, EvalProfile, NameMap, TextVariant, ToolLine};
use crate::reason::Reason;
use crate::render;
use crate::reply;
use crate::step::Fail;
use crate::tool::{Effect, Preview, Tool};

/// Why calls beside `lisp_eval` are refused.
const EVAL_ALONE: &str = "lisp_eval must be the only call of its turn; nothing of this turn was run";

/// Why several programs are refused.
const ONE_EVAL: &str =
    "one lisp_eval per turn; put everything into one program. Nothing of this turn was run";

/// Tools that the model may call natively, sorted by name.
pub(super) fn native_tools(node: &Node) -> Vec<Arc<Tool>> {
    let granted = |tool: &&Arc<Tool>| node.agent.exposure(tool).native() && tool.is_public();
    node.agent.tools().values().filter(granted).cloned().collect()
}

/// The tools as the provider is told about them, with the way back from its names.
fn schemas(node: &Node) -> (Vec<ToolSchema>, NameMap) {
    let lines: Vec<ToolLine> = native_tools(node).iter().map(|tool| setup::tool_line(tool)).collect();
    prompt::native_tools(&lines)
}

/// Which of the four kinds of text agents this is.
pub(super) fn variant(node: &Node) -> TextVariant {
    let tools = node.agent.mode() == Mode::Combined || !native_tools(node).is_empty();
    TextVariant::of(tools, node.agent.output_type())
}

/// Whether the answer is text as it is.
fn is_text_return(node: &Node) -> bool {
    matches!(variant(node), TextVariant::Plain | TextVariant::Tools)
}

/// The type that a text answer is held to: only a length can be wrong about it.
fn bounded_text(node: &Node) -> Option<Type> {
    let ty = node.agent.output_type()?.required();
    matches!(ty, Type::String(range) if !range.is_unbounded()).then(|| ty.clone())
}

/// The request of a turn.
pub(super) fn request(node: &mut Node, shared: &mut Shared) -> Request {
    let (mut tools, _) = schemas(node);
    if node.agent.mode() == Mode::Combined {
        tools.push(prompt::lisp_eval(EvalProfile::TextMode));
    }
    let variant = variant(node);
    let schema = (variant == TextVariant::Json).then(|| answer_schema(node)).flatten();
    // What may yet be refused is not shown before it is read.
    let plain = variant == TextVariant::Plain && bounded_text(node).is_none();
    let stream = plain && shared.options.on_chunk.is_some() && node.caller.is_none();
    node.book.streamed = stream;
    Request {
        system: setup::system_prompt(node, shared),
        messages: setup::sent_messages(node, shared),
        turn: node.turn(),
        output: Output::Text,
        tools,
        schema,
        stream,
        ..Request::default()
    }
}

/// The schema that the provider holds the answer to.
pub(super) fn answer_schema(node: &Node) -> Option<Json> {
    let own = node.agent.options().schema.clone();
    own.or_else(|| node.agent.signature().map(|signature| signature.output_schema()))
}

/// Reads a reply: tool calls, or the answer.
pub(super) fn read(node: &mut Node, shared: &mut Shared, reply: Reply, born: &mut Vec<Birth>) -> Next {
    let calls = with_ids(node, reply.tool_calls, reply.cut);
    let text = reply.content.unwrap_or_default();
    // A reply that is nothing but a program is a call in the wrong place, and the history shows the right one.
    let program = if node.agent.mode() == Mode::Combined { reply::only_program(&text) } else { None };
    if let (true, false, Some(program)) = (calls.is_empty(), reply.cut, program) {
        let (id, name) = (String::new(), "lisp_eval".to_owned());
        let call = ToolCall { id, name, args: json!({"program": program}), args_error: None };
        let calls = with_ids(node, vec![call], false);
        node.messages.push(Message::calling("", calls.clone()));
        return evaluate(node, shared, &calls[0]);
    }
    if calls.is_empty() {
        return finals(node, shared, text, reply.cut);
    }
    node.messages.push(Message::calling(text, calls.clone()));
    if node.agent.mode() == Mode::Combined {
        let evals = calls.iter().filter(|call| call.name == "lisp_eval").count();
        let fault = match (evals, calls.len()) {
            (0, _) => None,
            (1, 1) => return evaluate(node, shared, &calls[0]),
            (1, _) => Some(Fail::new(Reason::MIXED_WITH_LISP_EVAL, EVAL_ALONE)),
            _ => Some(Fail::new(Reason::MULTIPLE_TOOL_CALLS, ONE_EVAL)),
        };
        if let Some(fail) = fault {
            return eval::refuse(node, shared, &calls, &fail);
        }
    }
    call_natively(node, shared, &calls, born)
}

/// Starts native calls: at once, unless one of them changes something or waits for a person; then one after the other.
fn call_natively(node: &mut Node, shared: &mut Shared, calls: &[ToolCall], born: &mut Vec<Birth>) -> Next {
    let tools = native_tools(node);
    let (_, names) = schemas(node);
    let find = |name: &str| names.original(name).and_then(|name| tools.iter().find(|tool| tool.name == name));
    let mut batch = Batch::new(Layer::Native, shared.now);
    batch.span.clone_from(&node.book.spans.turn);
    let mut at_once = true;
    for (at, call) in calls.iter().enumerate() {
        let found = find(&call.name);
        let name = found.map_or(call.name.as_str(), |tool| tool.name.as_str());
        let mut slot = calls::slot(at as u64, &call.id, name, call.args.clone(), shared.now);
        node.book.native_calls = node.book.native_calls.saturating_add(1);
        let limit = node.agent.options().max_tool_calls;
        let refused = match (found, &call.args_error, limit) {
            (None, ..) => Some(unknown(node, &call.name)),
            (_, _, Some(limit)) if node.book.native_calls > limit => {
                Some(format!("Tool call limit of {limit} reached; answer with what you have"))
            }
            (_, Some(error), _) => Some(error.clone()),
            _ => None,
        };
        if let Some(message) = refused {
            slot.held = false;
            slot.span = (shared.span(), batch.span.clone());
            calls::announce(node, shared, &slot, Layer::Native);
            calls::refuse(node, shared, &mut slot, Layer::Native, message);
        }
        at_once &= found.is_none_or(|tool| may_run_beside_others(tool));
        batch.slots.push(slot);
    }
    let open: Vec<usize> = (0..batch.slots.len()).filter(|at| batch.slots[*at].result.is_none()).collect();
    if !at_once {
        consent::ask_ahead(node, shared, &mut batch);
    } else {
        for at in open {
            calls::start(node, shared, &mut batch, at, born);
        }
    }
    node.state = State::Native(batch);
    answered(node, shared, born)
}

/// Whether the order of calls cannot matter as far as anybody said. Models put calls into one turn that do not depend on
/// each other, as programs do with `pmap`.
fn may_run_beside_others(tool: &Tool) -> bool {
    match tool.effect {
        Effect::Read => true,
        Effect::Unknown => tool.waits().is_none(),
        Effect::Write => false,
    }
}

fn unknown(node: &Node, name: &str) -> String {
    let planned = node.agent.options().tool_catalog.iter().any(|tool| keys::same(&tool.name, name));
    match node.agent.mode() {
        _ if planned => {
            format!("Tool '{name}' not found: tools of the catalog are for planning, nobody can call them")
        }
        Mode::Combined => {
            let tools = native_tools(node);
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).chain(["lisp_eval"]).collect();
            unknown_tool(name, &names)
        }
        _ => format!("Tool '{name}' not found"),
    }
}

/// Goes on with native calls: starts the next that was held back, or tells the model the results.
pub(super) fn answered(node: &mut Node, shared: &mut Shared, born: &mut Vec<Birth>) -> Next {
    calls::go_on(node, shared, born);
    let State::Native(batch) = &node.state else { return Next::Wait };
    if !batch.is_complete() {
        return Next::Wait;
    }
    let State::Native(batch) = std::mem::replace(&mut node.state, State::Between) else { return Next::Wait };
    let (mut failed, mut warnings) = (None, Vec::new());
    for slot in &batch.slots {
        let body = told(node, slot);
        warnings
            .extend(slot.record.warnings.iter().map(|warning| format!("{}: {warning}", slot.record.name)));
        let shown = if slot.preview.is_some() { slot.shown } else { body.len() };
        node.book.shown = node.book.shown.saturating_add(shown as u64);
        // A result is no place for the blocks of the library: it could end one that comes later.
        let body = node.veil.cover(&render::neutralise(&body)).into_owned();
        node.messages.push(Message::tool(slot.native_id.clone(), body));
        if let Some(Err(message)) = &slot.result {
            let reason = match consent::is_rejected(&slot.record) {
                true => Reason::APPROVAL_REJECTED,
                false => Reason::TOOL_ERROR,
            };
            failed = Some(Fail::new(reason, message.clone()));
        }
    }
    // A message of its own: what tools give is theirs.
    let last = feedback::last_turns(&content::turn_info(node)).unwrap_or_default();
    let ours = prompt::blocks([feedback::warned(&warnings, &content::lens(node)), last]);
    node.book.tell(render::framed_bytes(&ours));
    node.messages.extend((!ours.is_empty()).then(|| Message::user(ours)));
    let records: Vec<_> = batch.slots.into_iter().map(|slot| shared.recorded(slot.record)).collect();
    node.book.draft.tool_calls.extend(records.clone());
    node.book.calls.extend(records);
    match failed {
        Some(fail) => node.close_failed(&fail),
        None => node.close_turn(Json::Null, true),
    }
    shared.turn_stop(node);
    Next::Turn
}

/// The text that answers a native call.
fn told(node: &Node, slot: &Slot) -> String {
    let name = &slot.record.name;
    let is_known = native_tools(node).iter().any(|tool| tool.name == *name);
    match slot.result.as_ref().unwrap_or(&Ok(Json::Null)) {
        Ok(value) => slot
            .preview
            .clone()
            .unwrap_or_else(|| render::masked_json(value, node.agent.options().firewall).to_string()),
        Err(message) if node.agent.mode() == Mode::Combined && !is_known => {
            feedback::protocol_error(Reason::UNKNOWN_TOOL.as_str(), message, &TurnInfo::default()).to_string()
        }
        Err(message) if is_known => {
            let mut told = json!({"error": message, "tool": name, "args_received": slot.record.args});
            if consent::is_rejected(&slot.record) {
                told["reason"] = json!(Reason::APPROVAL_REJECTED.as_str());
            }
            told.to_string()
        }
        Err(message) => json!({"error": message}).to_string(),
    }
}

/// Makes the preview that stands for a native result which is kept for programs; true if it leaves out
/// something.
pub(super) fn give_preview(
    node: &mut Node,
    shared: &mut Shared,
    slot: &mut Slot,
    value: &Json,
    cached: bool,
) -> bool {
    let Some(tool) = node.agent.tools().get(&slot.record.name).cloned() else { return false };
    let firewall = node.agent.options().firewall;
    let of = ResultOf { tool: &tool.name, args: &slot.record.args, result: value, cached, firewall };
    let made = preview::preview(&of, &preview_kind(&tool, value));
    if let Some(warning) = made.warning {
        node.book.warnings.push(warning.to_string());
        let facts = json!({"tool_name": tool.name, "category": warning.category});
        shared.event(node, "preview.fallback", json!({}), facts);
    }
    slot.shown = made.shown;
    slot.preview = Some(eval::with_evictions(node, made.json).to_string());
    made.truncated
}

/// How the result of a tool is shown. The host's function runs here; what it breaks stays here.
fn preview_kind(tool: &Tool, value: &Json) -> PreviewKind {
    match tool.native_result.clone().unwrap_or_default() {
        Preview::Metadata => PreviewKind::Metadata,
        Preview::Rows { limit } => PreviewKind::Rows(limit),
        Preview::Custom(function) => {
            let made = catch_unwind(AssertUnwindSafe(|| function(value)));
            PreviewKind::Custom(made.unwrap_or_else(|_| Err(PreviewError::Raised("it panicked".to_owned()))))
        }
    }
}

/// A reply without calls: the answer, or a word about what is wrong with it.
fn finals(node: &mut Node, shared: &mut Shared, text: String, cut: bool) -> Next {
    if cut {
        node.book.warnings.push(format!("the answer of turn {} was cut at its limit of tokens", node.turn()));
    }
    let last = node.book.tally.is_exhausted();
    // What was thought before the answer is none of it.
    let text = if is_text_return(node) { reply::spoken(&text).into_owned() } else { text };
    // Plain text may be empty.
    if variant(node) != TextVariant::Plain && text.trim().is_empty() {
        let told = feedback::complaint(feedback::EMPTY_REPLY, &TurnInfo::default());
        let fail = Fail::new(Reason::EMPTY_RESPONSE, "the reply is empty");
        return again(node, shared, text, fail, told, last);
    }
    let outcome = match (is_text_return(node), bounded_text(node)) {
        (true, None) => Ok(Json::from(text.clone())),
        (true, Some(ty)) => typed_answer(node, &text, &ty),
        (false, _) => final_answer(node, &text),
    };
    if let Some(chunk) = shared.options.on_chunk.clone()
        && node.caller.is_none()
        && is_text_return(node)
        && !node.book.streamed
        && outcome.is_ok()
    {
        // Whoever listens cannot end the run.
        let _ = catch_unwind(AssertUnwindSafe(|| chunk(&text)));
    }
    match outcome {
        Ok(value) => {
            node.messages.push(Message::assistant(text));
            node.close_turn(value.clone(), true);
            shared.turn_stop(node);
            Next::Over(Ok(value))
        }
        Err((fail, _)) => {
            let mut told = told_invalid(node, &fail, &text);
            if cut {
                told.push_str("\n\nThe answer was cut at its limit of tokens; give a shorter one.");
            }
            again(node, shared, text, fail, told, last)
        }
    }
}

/// What is wrong with an answer, in words.
fn told_invalid(node: &Node, fail: &Fail, text: &str) -> String {
    let lens = content::lens(node);
    match (variant(node), node.agent.output_type()) {
        (TextVariant::Json, Some(output)) => {
            feedback::json_invalid(&fail.message, text, &prompt::json_example(output), &lens)
        }
        _ => {
            let what = if is_text_return(node) { "text" } else { "JSON" };
            feedback::json_invalid_line(&fail.message, what, &content::expected(node), &lens)
        }
    }
}

/// An answer that will not do: the model is told, unless this was the last turn.
fn again(node: &mut Node, shared: &mut Shared, text: String, fail: Fail, told: String, last: bool) -> Next {
    node.messages.push(Message::assistant(text));
    if last {
        node.close_failed(&fail);
        shared.turn_stop(node);
        return Next::Over(Err(fail));
    }
    let last = feedback::last_turns(&content::turn_info(node)).unwrap_or_default();
    content::told_failed(node, shared, &fail, prompt::blocks([told, last]))
}
