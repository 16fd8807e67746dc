//! Calls that wait for a person: how one is asked, and what becomes of what was decided.
//!
//! The person's time is nobody's: a program that waits for one has its clock stopped, and while a run waits for
//! nothing but people, all its limits of time stand still.
//!
//! A decision is an answer like any other: the call first becomes an ask of kind `AskKind::Approval` and only then the ask
//! of its tool, so it is saved, recorded and journalled in the same way and answered once. Native calls with side effects
//! are presented together and made in order.

use serde_json::{Value as Json, json};

use super::calls::{self, ARGS_CHARS, Batch, Consent, Layer};
use super::node::{Node, State};
use super::{AgentRun, Asked, Shared, What};
use crate::reason::Reason;
use crate::step::{Fail, Step};
use crate::tool::{Answers, Decision, PendingCall, Tool, ToolResult, Verdict};

/// Asks a person about a call, if its tool wants that; true if the call has to wait.
pub(super) fn ask(node: &Node, shared: &mut Shared, batch: &mut Batch, at: usize, tool: &Tool) -> bool {
    let slot = &mut batch.slots[at];
    let Some(about) = tool.asks(&slot.record.args) else { return false };
    slot.consent = Some(Consent::Asked(shared.now));
    batch.paused.get_or_insert(shared.now);
    let args = slot.record.args.clone();
    let facts = json!({
        "tool_name": tool.name, "call": shared.next_ask, "args": calls::summary(node, &args, ARGS_CHARS),
    });
    calls::slot_event(node, shared, slot, "approval.asked", json!({}), facts);
    let what = What::Approval { slot: at, tool: tool.name.clone(), args, about };
    shared.ask(Asked::by(node, what));
    true
}

/// Asks about calls that are made one after the other, all at once, so that a person decides about them together.
pub(super) fn ask_ahead(node: &Node, shared: &mut Shared, batch: &mut Batch) {
    for at in 0..batch.slots.len() {
        let mut slot = batch.slots[at].clone();
        let Some(tool) = node.agent.tools().get(&slot.record.name).filter(|_| slot.result.is_none()) else {
            continue;
        };
        if calls::checked(node, tool, &mut slot).is_err() {
            continue;
        }
        let args = &slot.record.args;
        if tool.asks(args).is_none() || calls::is_cached(node, tool, args, Layer::Native) {
            continue;
        }
        slot.span = (shared.span(), batch.span.clone());
        calls::announce(node, shared, &slot, Layer::Native);
        batch.slots[at] = slot;
        ask(node, shared, batch, at, tool);
    }
}

/// Takes what a person decided.
pub(super) fn supplied(node: &mut Node, shared: &mut Shared, at: usize, decision: Decision) {
    let (State::Calls(_, batch) | State::Native(batch)) = &mut node.state else { return };
    let Some(slot) = batch.slots.get_mut(at).filter(|slot| slot.result.is_none()) else { return };
    let Some(Consent::Asked(since)) = slot.consent else { return };
    let verdict = decision.verdict();
    slot.record.approval = Some(verdict);
    slot.consent = Some(Consent::Given(decision.clone()));
    let (slot, due) = (slot.clone(), batch.due().is_some());
    if !batch.slots.iter().any(calls::Slot::is_asked)
        && let Some(paused) = batch.paused.take()
    {
        let waited = shared.now.saturating_sub(paused);
        batch.waited = batch.waited.saturating_add(waited);
        if batch.layer == Layer::Program {
            node.sandbox.since = node.sandbox.since.saturating_add(waited);
        }
    }
    let mut facts = json!({"tool_name": slot.record.name, "decision": verdict.name()});
    match &decision {
        Decision::Approve => {}
        Decision::Edit(args) => facts["args"] = json!(calls::summary(node, args, ARGS_CHARS)),
        Decision::Reject(reason) => facts["reason"] = json!(&*node.veil.cover(reason)),
    }
    let measured = json!({"duration_ms": shared.now.saturating_sub(since)});
    calls::slot_event(node, shared, &slot, "approval.decided", measured, facts);
    if due && !shared.ready.contains(&node.id) {
        shared.ready.push_back(node.id);
    }
}

/// What a call gives that a person did not allow.
pub(super) fn rejected(tool: &Tool, reason: &str) -> ToolResult {
    let message = match reason.trim() {
        "" => "a person rejected this call".to_owned(),
        reason => format!("a person rejected this call: {reason}"),
    };
    match tool.answers {
        Answers::Upstream => {
            Ok(json!({"ok": false, "reason": Reason::APPROVAL_REJECTED.as_str(), "message": message}))
        }
        // Programs see nothing of an error but its message.
        Answers::Plain | Answers::Discovery => Err(format!("{}: {message}", Reason::APPROVAL_REJECTED)),
    }
}

/// Whether a call was not allowed.
pub(super) fn is_rejected(record: &crate::step::CallRecord) -> bool {
    record.approval == Some(Verdict::Rejected)
}

impl AgentRun {
    /// The calls that wait for a person, the oldest first.
    pub fn pending(&self) -> Vec<PendingCall> {
        self.outstanding().into_iter().filter_map(super::Ask::into_pending).collect()
    }

    /// Whether the run waits for people and for nothing else.
    pub fn is_paused(&self) -> bool {
        let asks = &self.shared.asks;
        self.result.is_none()
            && self.shared.ready.is_empty()
            && !asks.is_empty()
            && asks.values().all(|asked| matches!(asked.what, What::Approval { .. }))
    }

    /// What there is of a run that waits for people: it failed for now, with what it waits for and what it used.
    /// The run itself is as it was.
    pub fn paused(&self) -> Step {
        let pending = self.pending();
        let names: Vec<&str> = pending.iter().map(|call| call.tool.name.as_str()).collect();
        let message = match names.as_slice() {
            [name] => format!("a call of `{name}` waits for a person's approval"),
            names => format!("{} calls wait for a person's approval: {}", names.len(), names.join(", ")),
        };
        let details = json!({"pending": pending.iter().map(PendingCall::json).collect::<Vec<Json>>()});
        let mut step = Step::failed(Fail { details, ..Fail::new(Reason::APPROVAL_REQUIRED, message) });
        if let Some(Some(root)) = self.nodes.first() {
            step.usage = root.book.usage.clone();
            step.usage.turns = root.turn();
            step.usage.duration_ms = self.shared.now.saturating_sub(root.began);
            step.upstream_calls.clone_from(&root.book.upstream_calls);
            step.name.clone_from(&root.agent.options().name);
            step.trace_id = Some(self.shared.trace_id.clone());
        }
        step
    }

    /// Moves the clock. Time in which only people are waited for does not count.
    pub(super) fn tick(&mut self, now: u64) {
        let now = self.shared.now.max(now);
        let passed = now - self.shared.now;
        if passed > 0 && self.is_paused() {
            self.shared.budget.delay(passed);
            self.nodes.iter_mut().flatten().for_each(|node| node.delay(passed));
        }
        self.shared.now = now;
    }
}
