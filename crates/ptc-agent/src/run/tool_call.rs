//! PTC-Lisp by tool call: the model runs programs with the one tool `lisp_eval`, or answers directly.

use ptc_lisp::machine::ProgramEnd;
use ptc_signature::Type;
use serde_json::Value as Json;

use super::eval::{self, Oversize};
use super::node::{After, Node};
use super::sandbox::Ended;
use super::{Next, Shared, content, finish, program};
use crate::agent::Completion;
use crate::feedback::{self, Invalid};
use crate::model::{Message, Reply, Request, ToolCall};
use crate::prompt::{self, EvalProfile};
use crate::reason::Reason;
use crate::render::{self, ViewLimits};
use crate::reply::{self, FinalError};
use crate::step::{Fail, TurnType};

/// Why several calls are refused.
const ONE_CALL: &str = "call lisp_eval once per turn, alone; nothing of this turn was run";

/// Why a call is refused.
pub(super) fn unknown_tool(name: &str, known: &[&str]) -> String {
    format!("there is no tool `{name}` to call here; there is {}", known.join(", "))
}

/// The request of a turn: that of the content transport with one native tool.
pub(super) fn request(node: &mut Node, shared: &mut Shared, kind: TurnType) -> Request {
    let tools = vec![prompt::lisp_eval(EvalProfile::WithAppTools)];
    Request { tools, ..content::request(node, shared, kind) }
}

/// Reads a reply: one call of `lisp_eval`, or a direct answer.
pub(super) fn read(node: &mut Node, shared: &mut Shared, reply: Reply) -> Next {
    let text = reply.content.unwrap_or_default();
    let calls = with_ids(node, reply.tool_calls, reply.cut);
    match calls.as_slice() {
        [] => direct(node, shared, text),
        [call] if call.name == "lisp_eval" => {
            node.messages.push(Message::calling(text, calls.clone()));
            evaluate(node, shared, call)
        }
        [call] => {
            let message = unknown_tool(&call.name, &["lisp_eval"]);
            let fail = Fail::new(Reason::UNKNOWN_TOOL, message);
            node.messages.push(Message::calling(text, calls.clone()));
            eval::refuse(node, shared, &calls, &fail)
        }
        _ => {
            let fail = Fail::new(Reason::MULTIPLE_TOOL_CALLS, ONE_CALL);
            node.messages.push(Message::calling(text, calls.clone()));
            eval::refuse(node, shared, &calls, &fail)
        }
    }
}

/// Calls with the ids that they lack: numbers that no call before them has.
pub(super) fn with_ids(node: &Node, mut calls: Vec<ToolCall>, cut: bool) -> Vec<ToolCall> {
    let before: usize = node.messages.iter().map(|message| message.tool_calls.len()).sum();
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("tc_{}", before + at + 1);
        }
        if let Some(error) = call.args_error.as_mut().filter(|_| cut) {
            error.push_str("; ");
            error.push_str(content::CUT);
        }
    }
    calls
}

/// Runs the program of a call, if it has one.
pub(super) fn evaluate(node: &mut Node, shared: &mut Shared, call: &ToolCall) -> Next {
    match reply::program_argument(&call.args, call.args_error.as_deref()) {
        Ok(source) => {
            let repaired = reply::repair(source);
            node.book.draft.fixes = repaired.fixes.iter().map(|fix| fix.note.clone()).collect();
            program::begin(node, shared, &repaired.code, After::Eval(call.id.clone()))
        }
        Err(message) => {
            let fail = Fail::new(Reason::ARGS_ERROR, message.to_string());
            let (body, _) = eval::error_body(node, &fail, None);
            eval::answer(node, shared, &call.id, &body);
            node.close_failed(&fail);
            shared.turn_stop(node);
            Next::Turn
        }
    }
}

/// A reply without calls is the final answer.
fn direct(node: &mut Node, shared: &mut Shared, text: String) -> Next {
    node.messages.push(Message::assistant(text.clone()));
    let info = content::turn_info(node);
    if text.trim().is_empty() {
        let told = feedback::complaint(feedback::EMPTY_REPLY, &info);
        let fail = Fail::new(Reason::EMPTY_RESPONSE, "the reply is empty");
        return content::told_failed(node, shared, &fail, told);
    }
    if reply::holds_code(&text) {
        let told = feedback::complaint(feedback::FENCED_PROGRAM, &info);
        let fail = Fail::new(Reason::DIRECT_FINAL_INVALID, "the reply has a program outside of lisp_eval");
        return content::told_failed(node, shared, &fail, told);
    }
    match final_answer(node, &text) {
        Ok(value) => {
            node.close_turn(value.clone(), true);
            shared.turn_stop(node);
            Next::Over(Ok(value))
        }
        Err((fail, errors)) => {
            let received = render::brief_json(&Json::from(text), ViewLimits::RECEIVED, false);
            let expected = content::expected(node);
            let invalid = Invalid { expected: &expected, received: &received, errors: &errors };
            let told =
                feedback::direct_final_invalid(&invalid, &content::turn_info(node), &content::lens(node));
            let fail = Fail { reason: Reason::DIRECT_FINAL_INVALID, ..fail };
            content::told_failed(node, shared, &fail, told)
        }
    }
}

/// Text as the final answer: raw, or as JSON that fits the signature.
pub(super) fn final_answer(node: &mut Node, text: &str) -> Result<Json, (Fail, Vec<String>)> {
    match node.agent.output_type().cloned() {
        Some(output) => typed_answer(node, text, &output),
        None => Ok(Json::from(reply::spoken(text))),
    }
}

/// The same for the type that is wanted of it.
pub(super) fn typed_answer(node: &mut Node, text: &str, output: &Type) -> Result<Json, (Fail, Vec<String>)> {
    let mode = node.agent.options().signature_validation;
    match reply::final_value(text, output, mode) {
        Ok(found) => {
            node.book.warnings.extend(found.warnings.iter().map(ToString::to_string));
            content::public(node, found.value).map_err(|wrong| {
                (Fail::new(Reason::VALIDATION_ERROR, wrong.clone()), vec![format!("root: {wrong}")])
            })
        }
        Err(error) => {
            let message = node.veil.cover(&error.to_string()).into_owned();
            Err(match error {
                FinalError::JsonParse(wrong) => {
                    (Fail::new(Reason::JSON_PARSE_ERROR, message), vec![format!("root: {wrong}")])
                }
                FinalError::Validation(issues) => {
                    (Fail::new(Reason::VALIDATION_ERROR, message), content::placed(&issues))
                }
            })
        }
    }
}

/// What comes of a program that was run by tool call.
pub(super) fn ended(node: &mut Node, shared: &mut Shared, id: &str, ended: Ended) -> Next {
    match ended {
        Ended::Failed(error) => {
            let (fail, trouble) = eval::failure(node, &error);
            let body = eval::trouble_body(node, &fail, &trouble, None);
            eval::answer(node, shared, id, &body);
            node.close_failed(&fail);
            shared.turn_stop(node);
            Next::Turn
        }
        Ended::Value(ProgramEnd::Fail) => {
            let fail = eval::failed(node);
            let body = eval::declared_body(node, &fail);
            eval::answer(node, shared, id, &body);
            node.close_failed(&fail);
            shared.turn_stop(node);
            Next::Over(Err(fail))
        }
        Ended::Value(ProgramEnd::Return) => returned(node, shared, id),
        Ended::Value(ProgramEnd::Value) if node.answers_by_value() => returned(node, shared, id),
        Ended::Value(ProgramEnd::Value) => go_on(node, shared, id),
    }
}

fn answer_error(node: &mut Node, shared: &mut Shared, id: &str, fail: &Fail, result: Option<String>) {
    let (body, _) = eval::error_body(node, fail, result);
    eval::answer(node, shared, id, &body);
    node.close_failed(fail);
    shared.turn_stop(node);
}

fn returned(node: &mut Node, shared: &mut Shared, id: &str) -> Next {
    match content::answer(node, Reason::VALIDATION_ERROR) {
        Ok(value) => {
            let body = eval::success_body(node);
            eval::answer(node, shared, id, &body);
            content::commit_steps(node);
            node.close_turn(value.clone(), true);
            shared.turn_stop(node);
            Next::Over(Ok(value))
        }
        Err(rejected) => {
            let over = node.book.tally.is_exhausted();
            let reason = if over { Reason::VALIDATION_ERROR } else { Reason::RETURN_VALIDATION_FAILED };
            let fail = Fail { reason, ..rejected.fail };
            eval::answer(node, shared, id, &rejected.body);
            node.close_failed(&fail);
            shared.turn_stop(node);
            if over { Next::Over(finish::fallback(node).ok_or(fail)) } else { Next::Turn }
        }
    }
}

fn go_on(node: &mut Node, shared: &mut Shared, id: &str) -> Next {
    let last = node.book.draft.kind != TurnType::Normal;
    if node.agent.options().completion_mode == Completion::Explicit && last {
        let body = eval::success_body(node);
        eval::answer(node, shared, id, &body);
        return Next::Over(Err(finish::unreturned(node, shared)));
    }
    match eval::memory_checked(node) {
        Ok(()) => {
            let body = eval::success_body(node);
            eval::answer(node, shared, id, &body);
            eval::close(node, shared, Ok(()));
            Next::Turn
        }
        Err(Oversize::Rollback(message)) => {
            answer_error(node, shared, id, &Fail::new(Reason::MEMORY_LIMIT_EXCEEDED, message), None);
            Next::Turn
        }
        Err(Oversize::Strict(fail)) => {
            answer_error(node, shared, id, &fail, None);
            Next::Over(Err(fail))
        }
    }
}
