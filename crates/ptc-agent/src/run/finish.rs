//! The end of a run: when it comes, the fallback to the last value, and the step.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::node::{After, Node, State};
use super::{Next, OnBudget, Shared, TraceMode, content, events, lent, names, program};
use crate::agent::{Completion, Mode};
use crate::budget::Unit;
use crate::feedback::{TurnInfo, protocol_error};
use crate::model::Message;
use crate::reason::Reason;
use crate::step::{CallRecord, Fail, Step, ToolInfo};

/// What is said of an answer that no program returned.
const FALLBACK: &str = "no program returned an answer: this is the last value that fits the signature";

/// Before a turn: the outcome, if there is none left.
pub(super) fn before_turn(node: &mut Node, shared: &mut Shared) -> Option<Result<Json, Fail>> {
    let options = node.agent.options();
    if let (Some(guard), Some(turn)) = (&shared.options.guard, node.book.turns.last())
        && let Some(stop) = guard(turn)
    {
        return Some(Err(stop));
    }
    if let Err(fail) = lent::admit(node, shared) {
        return Some(Err(fail));
    }
    if shared.options.guard.is_none()
        && let Some(stop) = lent::side_effects(node, shared)
    {
        return Some(Err(stop));
    }
    if let Some(most) = options.max_consecutive_failures
        && node.book.tally.failures_in_row >= most
    {
        let message = format!("{most} turns in a row failed; the last: {}", last_message(node));
        return Some(Err(Fail::new(Reason::CONSECUTIVE_FAILURES, message)));
    }
    if shared.budget.remaining(node.account, Unit::Fuel) == Some(0) {
        let message = "the fuel that all agents of this run share is used up";
        return Some(fallback(node).ok_or_else(|| Fail::new(Reason::FUEL_EXHAUSTED, message)));
    }
    let options = node.agent.options();
    if node.book.tally.is_exhausted() {
        let (turns, retries) = (options.max_turns, super::children::tally(&node.agent).retry_left);
        if let Some(value) = fallback(node) {
            return Some(Ok(value));
        }
        let turns = format!("{turns} turn{}", if turns == 1 { "" } else { "s" });
        let fail = match retries {
            0 => Fail::new(Reason::MAX_TURNS_EXCEEDED, format!("no answer within {turns}")),
            _ => {
                Fail::new(Reason::BUDGET_EXHAUSTED, format!("no answer within {turns} and {retries} retries"))
            }
        };
        return Some(Err(Fail { details: last_values(node, None), ..fail }));
    }
    None
}

/// The end of a run whose last turn gave a value and did not return it.
pub(super) fn unreturned(node: &mut Node, shared: &mut Shared) -> Fail {
    let fail = Fail::new(Reason::MUST_RETURN_MISSING, "the last turn ended without (return …) or (fail …)");
    let given = node.sandbox.result_json();
    let given = node.book.kept(given);
    node.close_failed(&fail);
    shared.turn_stop(node);
    Fail { details: last_values(node, Some(given)), ..fail }
}

fn last_message(node: &Node) -> String {
    let message = node.book.turns.last().and_then(|turn| turn.result.get("message")).and_then(Json::as_str);
    message.unwrap_or("unknown").to_owned()
}

/// The values of the last turns that gave one, the newest first: nobody said that one of them is the answer. `no_fallback`
/// stands beside them where the option `fallback` would not make one of them the answer. `given` is newer than all of them.
fn last_values(node: &Node, given: Option<Json>) -> Json {
    /// How many.
    const VALUES: usize = 3;
    let turns = node.book.turns.iter().rev().filter(|turn| turn.success && turn.program.is_some());
    let results = given.into_iter().chain(turns.map(|turn| turn.result.clone()));
    let values: Vec<Json> = results.filter(|value| !value.is_null()).take(VALUES).collect();
    match (values.is_empty(), may_fall_back(node) && !node.agent.options().fallback) {
        (true, _) => Json::Null,
        (false, true) => json!({"last_values": values}),
        (false, false) => json!({"last_values": values, "no_fallback": true}),
    }
}

/// Whether a value that no program returned may stand in for an answer.
fn may_fall_back(node: &Node) -> bool {
    let programs = matches!(node.agent.mode(), Mode::Content | Mode::ToolCall);
    programs && node.agent.options().completion_mode == Completion::Implicit
}

/// The newest value that fits, where the agent wants it to stand in for an answer.
pub(super) fn fallback(node: &mut Node) -> Option<Json> {
    let wanted = node.agent.options().fallback && may_fall_back(node);
    if wanted { newest_fitting(node) } else { None }
}

/// The newest value of a turn that went well and fits the signature.
fn newest_fitting(node: &mut Node) -> Option<Json> {
    if !matches!(node.agent.mode(), Mode::Content | Mode::ToolCall) {
        return None;
    }
    let values: Vec<Json> = node
        .book
        .turns
        .iter()
        .rev()
        .filter(|turn| turn.success && !turn.result.is_null())
        .map(|turn| turn.result.clone())
        .collect();
    let mut fits = None;
    for value in values {
        let value = names::respelt(node, value).and_then(|value| content::public(node, value));
        match value {
            Ok(value) if content::check(node, &value).is_ok() => {
                fits = Some(value);
                break;
            }
            Ok(_) => {}
            Err(message) => node.book.warn(format!("a value cannot stand in for the answer: {message}")),
        }
    }
    let fits = fits?;
    node.book.usage.fallback_used = true;
    node.book.warnings.push(FALLBACK.to_owned());
    Some(fits)
}

/// Cached calls and the bytes of their results.
fn cached(node: &Node) -> BTreeMap<String, usize> {
    let size =
        |key| node.cache.peek(key).map_or(0, |entry| usize::try_from(entry.bytes).unwrap_or(usize::MAX));
    node.cache.keys().map(|key| (key.as_str().to_owned(), size(key))).collect()
}

/// The budget of tokens is used up.
pub(super) fn over_budget(node: &mut Node, shared: &mut Shared, message: &str) -> Next {
    if shared.options.on_budget_exceeded == OnBudget::ReturnPartial
        && let Some(value) = newest_fitting(node)
    {
        return Next::Over(Ok(value));
    }
    Next::Over(Err(Fail::new(Reason::BUDGET_CALLBACK_EXCEEDED, message)))
}

/// A run that ends in the middle of a turn: calls of the model get an answer, and the turn its record.
fn close_open_turn(node: &mut Node, shared: &mut Shared, outcome: &Result<Json, Fail>) {
    let Err(fail) = outcome else { return };
    if node.book.draft.number == 0 {
        return;
    }
    let body =
        |reason: &str| protocol_error(reason, "the run ended before this was done", &TurnInfo::default());
    let body = body(&node.veil.cover(fail.reason.as_str())).to_string();
    let state = std::mem::replace(&mut node.state, State::Over);
    let ids: Vec<String> = match state {
        State::Native(batch) => {
            let ids = batch.slots.iter().map(|slot| slot.native_id.clone()).collect();
            program::keep_records(node, shared, batch);
            ids
        }
        State::Calls(After::Eval(id), batch) => {
            program::keep_records(node, shared, batch);
            vec![id]
        }
        State::Calls(_, batch) => {
            program::keep_records(node, shared, batch);
            Vec::new()
        }
        State::Program(After::Eval(id)) | State::Expired(After::Eval(id), _) => vec![id],
        State::Asking(asking) => {
            // The request is on its way, and nobody will say what it used.
            for reservation in [asking.tokens, asking.cost].into_iter().flatten() {
                shared.budget.forfeit(reservation);
            }
            Vec::new()
        }
        _ => Vec::new(),
    };
    node.messages.extend(ids.into_iter().map(|id| Message::tool(id, body.clone())));
    node.close_failed(fail);
    shared.turn_stop(node);
}

/// The calls that the step lists: of the last program, or in text and combined mode of the whole run.
fn listed_calls(node: &mut Node) -> Vec<CallRecord> {
    match node.agent.mode() {
        Mode::Text | Mode::Combined => std::mem::take(&mut node.book.calls),
        Mode::Content | Mode::ToolCall => {
            let last = node.book.turns.iter().rev().find(|turn| turn.program.is_some());
            last.map(|turn| turn.tool_calls.clone()).unwrap_or_default()
        }
    }
}

/// The step of a node that is over.
pub(super) fn step(node: &mut Node, shared: &mut Shared, outcome: Result<Json, Fail>) -> Step {
    close_open_turn(node, shared, &outcome);
    program::settle_fuel(node, shared);
    node.sandbox.cancel();
    node.state = State::Over;
    shared.budget.close(node.account);
    let calls = listed_calls(node);
    let options = node.agent.options();
    let mut usage = std::mem::take(&mut node.book.usage);
    usage.duration_ms = shared.now.saturating_sub(node.began);
    usage.turns = node.book.tally.turn;
    usage.bytes_kept = usage.bytes_kept.saturating_add(node.book.brought.saturating_sub(node.book.shown));
    usage.memory_bytes = node.sandbox.memory_bytes();
    let keep_turns = match shared.options.trace {
        TraceMode::On => true,
        TraceMode::Off => false,
        TraceMode::OnError => outcome.is_err(),
    };
    let messages = shared.options.collect_messages.then(|| {
        let system = crate::model::Message::system(node.system.clone());
        std::iter::once(system).chain(node.messages.iter().cloned()).collect()
    });
    let tools = node.agent.tools().values().filter(|tool| tool.is_public()).map(|tool| {
        let signature = tool.signature.as_ref().map(ToString::to_string);
        (tool.name.clone(), ToolInfo { signature, description: tool.description.clone() })
    });
    let (value, fail) = match outcome {
        Ok(value) => (value, None),
        Err(fail) => (Json::Null, Some(fail)),
    };
    let step = Step {
        value,
        fail,
        memory: node.sandbox.memory_json(),
        journal: node.sandbox.journal(),
        summaries: std::mem::take(&mut node.book.summaries).into_iter().collect(),
        signature: options.signature.clone(),
        usage,
        turns: keep_turns.then(|| std::mem::take(&mut node.book.turns)),
        prints: std::mem::take(&mut node.book.prints),
        tool_calls: calls,
        upstream_calls: std::mem::take(&mut node.book.upstream_calls),
        child_steps: std::mem::take(&mut node.book.child_steps),
        messages,
        prompt: Some(node.mission.clone()),
        original_prompt: Some(options.prompt.clone()),
        tools: tools.collect(),
        field_descriptions: options.field_descriptions.clone(),
        name: options.name.clone(),
        trace_id: Some(shared.trace_id.clone()),
        parent_trace_id: shared.options.parent_trace_id.clone(),
        tool_cache: cached(node),
        warnings: std::mem::take(&mut node.book.warnings),
        prelude_trace: options.prelude.as_ref().map(|prelude| prelude.trace_summary()),
    };
    let (measured, facts) = events::ended(node, &step);
    shared.event(node, "run.stop", measured, facts);
    step
}
