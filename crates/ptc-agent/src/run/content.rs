//! PTC-Lisp by content: the program stands in the text of the reply.

use ptc_lisp::machine::ProgramEnd;
use ptc_signature::{Issue, Style};
use serde_json::{Value as Json, json};

use super::eval::{self, Oversize};
use super::node::{After, Node};
use super::sandbox::Ended;
use super::{Next, Shared, finish, names, program, round, setup};
use crate::agent::{Completion, Mode};
use crate::feedback::{self, Ending, Failed, Invalid, Lens, Trouble, TurnInfo};
use crate::model::{Message, Output, Reply, Request};
use crate::reason::Reason;
use crate::render::{self, ViewLimits};
use crate::reply::{self, Found};
use crate::step::{Fail, TurnType};

/// The request of a turn.
pub(super) fn request(node: &mut Node, shared: &mut Shared, kind: TurnType) -> Request {
    let hints = kind == TurnType::Normal || node.agent.options().max_turns == 1;
    let names = program::program_tools(node).map(str::to_owned).collect();
    Request {
        system: setup::system_prompt(node, shared),
        messages: setup::sent_messages(node, shared),
        turn: node.turn(),
        output: Output::PtcLisp,
        tool_names: if hints { names } else { Vec::new() },
        ..Request::default()
    }
}

/// Reads a reply: finds the program and runs it.
pub(super) fn read(node: &mut Node, shared: &mut Shared, reply: Reply) -> Next {
    let text = reply.content.unwrap_or_default();
    // The rest of a program could be mended to something that was never meant.
    if reply.cut && !has_whole_block(&text) {
        let fail = Fail::new(Reason::REPLY_CUT, CUT);
        let told = feedback::complaint(CUT, &turn_info(node));
        node.messages.push(Message::assistant(text));
        return reminded(node, shared, fail, told);
    }
    let options = node.agent.options();
    match reply::read_program(&text, options.multiple_blocks, options.thinking) {
        Found::Program(found) => {
            node.messages.push(Message::assistant(found.history_text));
            node.book.draft.fixes = found.fixes.iter().map(|fix| fix.note.clone()).collect();
            node.book.draft.fixes.extend(found.leaves_out.then(|| feedback::LEFT_OUT.to_owned()));
            program::begin(node, shared, &found.code, After::Content)
        }
        Found::None => {
            let told = feedback::complaint(feedback::NO_PROGRAM, &turn_info(node));
            node.messages.push(Message::assistant(text));
            reminded(node, shared, Fail::new(Reason::NO_CODE_FOUND, "the reply has no program"), told)
        }
        Found::Multiple(count) => {
            let told = feedback::complaint(&feedback::multiple_blocks(count), &turn_info(node));
            node.messages.push(Message::assistant(text));
            let reason =
                if node.is_single_shot() { Reason::NO_CODE_FOUND } else { Reason::MULTIPLE_CODE_BLOCKS };
            let fail = Fail::new(reason, format!("the reply has {count} programs, and one is wanted"));
            reminded(node, shared, fail, told)
        }
    }
}

/// What is said of a reply that was cut.
pub(super) const CUT: &str = "the reply was cut at its limit of tokens, so nothing of it was run; write less, in several turns if need be";

/// Whether all code blocks of a text are closed, and there is one.
fn has_whole_block(text: &str) -> bool {
    let fences = text.matches("```").count();
    fences > 0 && fences.is_multiple_of(2)
}

/// A reply without one program: the model is reminded, unless this was its only turn.
fn reminded(node: &mut Node, shared: &mut Shared, fail: Fail, told: String) -> Next {
    if node.is_single_shot() {
        node.close_failed(&fail);
        shared.turn_stop(node);
        return Next::Over(Err(fail));
    }
    told_failed(node, shared, &fail, told)
}

/// What comes of a program.
pub(super) fn ended(node: &mut Node, shared: &mut Shared, ended: Ended) -> Next {
    match ended {
        Ended::Failed(error) => {
            let (fail, trouble) = eval::failure(node, &error);
            if node.is_single_shot() {
                node.close_failed(&fail);
                shared.turn_stop(node);
                return Next::Over(Err(fail));
            }
            turn_failed(node, shared, &fail, &trouble)
        }
        Ended::Value(ProgramEnd::Fail) => {
            let fail = eval::failed(node);
            node.close_failed(&fail);
            shared.turn_stop(node);
            Next::Over(Err(fail))
        }
        Ended::Value(ProgramEnd::Return) => returned(node, shared),
        Ended::Value(ProgramEnd::Value) if node.answers_by_value() => returned(node, shared),
        Ended::Value(ProgramEnd::Value) => go_on(node, shared),
    }
}

/// A value that is meant as the answer.
fn returned(node: &mut Node, shared: &mut Shared) -> Next {
    match answer(node, Reason::VALIDATION_ERROR) {
        Ok(value) => {
            commit_steps(node);
            node.close_turn(value.clone(), true);
            shared.turn_stop(node);
            Next::Over(Ok(value))
        }
        Err(rejected) if node.book.tally.is_exhausted() => {
            node.close_failed(&rejected.fail);
            shared.turn_stop(node);
            Next::Over(finish::fallback(node).ok_or(rejected.fail))
        }
        Err(rejected) => {
            let fail = Fail { reason: Reason::RETURN_VALIDATION_FAILED, ..rejected.fail };
            told_failed(node, shared, &fail, rejected.feedback)
        }
    }
}

/// A value on the way: shown to the model, and on.
fn go_on(node: &mut Node, shared: &mut Shared) -> Next {
    let kind = node.book.draft.kind;
    if node.agent.options().completion_mode == Completion::Explicit && kind != TurnType::Normal {
        return Next::Over(Err(finish::unreturned(node, shared)));
    }
    match eval::memory_checked(node) {
        Ok(()) => {}
        Err(Oversize::Strict(fail)) => {
            node.close_failed(&fail);
            shared.turn_stop(node);
            return Next::Over(Err(fail));
        }
        Err(Oversize::Rollback(message)) => {
            let told = feedback::taken_back(&message, &node.book.prints, &turn_info(node), &lens(node));
            node.book.tell(render::framed_bytes(&told));
            node.messages.push(Message::user(told));
            node.close_failed(&Fail::new(Reason::MEMORY_LIMIT_EXCEEDED, message));
            shared.turn_stop(node);
            return Next::Turn;
        }
    }
    commit_steps(node);
    let progress = setup::progress(node, node.turn());
    let progress = node.veil.cover(&progress).into_owned();
    let given = eval::execution(node);
    let mut text = feedback::success(&given, &turn_info(node), &progress, &lens(node));
    node.book.tell(render::framed_bytes(&text).saturating_add(progress.len()));
    if let Some(note) = eval::evicted(node) {
        node.book.tell(note.len());
        text = format!("{}\n\n{text}", render::block("evicted", &note));
    }
    node.messages.push(Message::user(with_left_out(node, text)));
    let value = node.sandbox.result_json();
    node.close_turn(value, true);
    shared.turn_stop(node);
    Next::Turn
}

/// A turn that failed: the model is told what, and on.
fn turn_failed(node: &mut Node, shared: &mut Shared, fail: &Fail, trouble: &Trouble) -> Next {
    let told = feedback::error(trouble, &node.book.prints, Some(&turn_info(node)), &lens(node));
    told_failed(node, shared, fail, told)
}

/// A turn that failed, with the message for the model.
pub(super) fn told_failed(node: &mut Node, shared: &mut Shared, fail: &Fail, told: String) -> Next {
    node.book.tell(render::framed_bytes(&told));
    node.messages.push(Message::user(with_left_out(node, told)));
    node.close_failed(fail);
    shared.turn_stop(node);
    Next::Turn
}

/// What a model is told, and before it that a part of its reply was not run.
fn with_left_out(node: &Node, told: String) -> String {
    match node.book.draft.fixes.iter().any(|fix| fix == feedback::LEFT_OUT) {
        true => format!("{}\n\n{told}", feedback::LEFT_OUT),
        false => told,
    }
}

/// Keeps the summaries of steps that a turn which went well has done.
pub(super) fn commit_steps(node: &mut Node) {
    if let Some(machine) = node.sandbox.machine.as_deref_mut() {
        node.book.summaries.extend(machine.take_steps());
    }
}

/// Where the run stands, for feedback.
pub(super) fn turn_info(node: &Node) -> TurnInfo {
    let (options, tally) = (node.agent.options(), &node.book.tally);
    TurnInfo {
        turn: tally.turn.saturating_add(1),
        max_turns: options.max_turns,
        work_left: tally.work_left,
        retry_left: tally.retry_left,
        retry_total: options.retry_turns,
        minimal: options.format.minimal_turn_info,
        ending: match node.agent.mode() {
            Mode::Content | Mode::ToolCall if node.answers_by_value() => Ending::Value,
            Mode::Content | Mode::ToolCall => Ending::Return,
            Mode::Text | Mode::Combined => Ending::Reply,
        },
    }
}

/// How things are shown to the model of this node.
pub(super) fn lens(node: &Node) -> Lens<'_> {
    Lens { options: &node.agent.options().format, veil: &node.veil }
}

/// An answer that breaks the signature.
pub(super) struct Rejected {
    pub fail: Fail,
    /// What the model is told in a message.
    pub feedback: String,
    /// What it is told as the result of `lisp_eval`.
    pub body: Json,
}

/// The value of the program as the answer: names with underscores, floats rounded if the agent wants that, checked.
pub(super) fn answer(node: &mut Node, reason: Reason) -> Result<Json, Rejected> {
    let unsaid = |error: ptc_lisp::Error| match &error.hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message.clone(),
    };
    let value = names::answer(node).map_err(unsaid).and_then(|value| public(node, value));
    let value = match value {
        Ok(value) => value,
        Err(message) => {
            let fail = Fail::new(reason, node.veil.cover(&message).into_owned());
            let (info, lens) = (turn_info(node), lens(node));
            let feedback = feedback::return_refused(&fail.message, &node.book.prints, &info, &lens);
            let trouble =
                Trouble { advice: info.ending.correct().to_owned(), ..Trouble::report(&fail.message) };
            let body = eval::trouble_body(node, &fail, &trouble, None);
            return Err(Rejected { fail, feedback, body });
        }
    };
    match check(node, &value) {
        Ok(()) => Ok(value),
        Err(issues) => Err(rejected(node, &value, &issues, reason)),
    }
}

/// A value as hosts see it: fields named as the signature names them, floats rounded if the agent wants that.
pub(super) fn public(node: &Node, value: Json) -> Result<Json, String> {
    let value = match node.agent.output_type() {
        Some(ty) => names::fields(value, ty)?,
        None => value,
    };
    Ok(match node.agent.options().float_precision {
        Some(decimals) => round::floats(value, decimals),
        None => value,
    })
}

/// Checks a value against the signature; what only warns is noted.
pub(super) fn check(node: &mut Node, value: &Json) -> Result<(), Vec<Issue>> {
    let Some(signature) = node.agent.signature().cloned() else { return Ok(()) };
    match signature.validate_output(value, node.agent.options().signature_validation) {
        Ok(warnings) => {
            node.book.warnings.extend(warnings.iter().map(ToString::to_string));
            Ok(())
        }
        Err(rejection) => Err(rejection.errors),
    }
}

fn rejected(node: &Node, value: &Json, issues: &[Issue], reason: Reason) -> Rejected {
    let expected = expected(node);
    let issues = &as_written(node, issues);
    let limits = ViewLimits::RECEIVED;
    let view = node.sandbox.result(&limits.bounds(node.agent.options().firewall));
    let received = view.map(|view| render::brief(&node.veil.cover_view(view), limits)).unwrap_or_default();
    let errors = placed(issues);
    let invalid = Invalid { expected: &expected, received: &received, errors: &errors };
    let (info, lens) = (turn_info(node), lens(node));
    let feedback = feedback::return_invalid(&invalid, &node.book.prints, &info, &lens);
    let failed = Failed {
        reason: "validation_error",
        message: &invalid.message(&lens),
        prints: &node.book.prints,
        result: Some(&received),
        advice: info.ending.correct(),
        notes: &[],
    };
    let body = feedback::eval_error(&failed, &info, &lens);
    let listed: Vec<Json> = issues
        .iter()
        .map(|issue| json!({"path": issue.path.to_string(), "message": issue.message}))
        .collect();
    let message = issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let details = json!({"actual_value": value, "errors": listed});
    let message = node.veil.cover(&message).into_owned();
    Rejected { fail: Fail { details, ..Fail::new(reason, message) }, feedback, body }
}

/// Issues with the numbers that the program gave, in place of what JSON makes of them: a text of an integer or decimal that is
/// too large for it, a float of another decimal.
fn as_written(node: &Node, issues: &[Issue]) -> Vec<Issue> {
    /// As many values as a view has at most.
    const LIMITS: ViewLimits = ViewLimits { items: 4096, chars: 200 };
    let view = node.sandbox.result(&LIMITS.bounds(node.agent.options().firewall));
    let reworded = |issue: &Issue| {
        let number = render::at_path(view.as_ref()?, &issue.path)?;
        let told = render::number_text(number).filter(|_| !issue.path.is_firewalled())?;
        let text = issue.message.contains(", got string ") && issue.message.contains("expected float");
        let advice = if text { " (JSON has no number with all of its digits: give (double x))" } else { "" };
        Some(issue.clone().got(&format!("{told}{advice}")))
    };
    issues.iter().map(|issue| reworded(issue).unwrap_or_else(|| issue.clone())).collect()
}

/// The type of the answer, as models read it: with the hidden fields, which the model has to fill as well.
pub(super) fn expected(node: &Node) -> String {
    let signature = node.agent.signature();
    signature.map_or_else(|| ":any".to_owned(), |signature| signature.output.render(Style::Prompt))
}

/// Issues with their places, as models read them.
pub(super) fn placed(issues: &[Issue]) -> Vec<String> {
    issues.iter().map(|issue| issue.kebab().to_string()).collect()
}

/// The value of the last program as text of at most so many characters.
pub(super) fn show_result(node: &Node, chars: usize) -> String {
    let limits = ViewLimits { items: 50, chars };
    let view = node.sandbox.result(&limits.bounds(node.agent.options().firewall));
    view.map(|view| render::brief(&node.veil.cover_view(view), limits)).unwrap_or_default()
}
