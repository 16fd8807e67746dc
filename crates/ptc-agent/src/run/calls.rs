//! Calls of tools, from programs and from the model alike: checked, looked up in the cache, started, and
//! gathered until all of a batch are there.

use std::collections::BTreeSet;

use ptc_signature::{Issue, Mode};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::children::{self, Birth};
use super::node::{Node, State};
use super::{Asked, Shared, What, consent, names, text};
use crate::budget::Unit;
use crate::cache::CacheKey;
use crate::render::{self, ViewLimits};
use crate::step::{CallRecord, UpstreamCall};
use crate::tool::{Answers, Body, Builtin, Decision, Tool, ToolResult};

/// How much of arguments events show.
pub(super) const ARGS_CHARS: usize = 1_000;
/// How much of a result events show.
const RESULT_CHARS: usize = 2_000;
/// How many warnings of a call events show.
const WARNINGS: usize = 10;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Layer {
    /// The model.
    Native,
    /// A program.
    Program,
}

impl Layer {
    /// Its name in events.
    fn name(self) -> &'static str {
        match self {
            Layer::Native => "native",
            Layer::Program => "ptc_lisp",
        }
    }
}

/// A call of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// The number that the machine knows the call by, or the place in the model's message.
    pub id: u64,
    /// The id that the model gave it.
    pub native_id: String,
    pub record: CallRecord,
    pub key: Option<CacheKey>,
    pub result: Option<ToolResult>,
    /// Whether the error is what the function of the tool gave itself: no refusal, no broken contract, no limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_error: bool,
    /// The failure of the agent that the call asked, for `ex-data` in the program.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub failure: Json,
    /// What the model sees in place of a result that is kept for programs.
    pub preview: Option<String>,
    /// Bytes of the result that the preview shows.
    #[serde(default)]
    pub shown: usize,
    /// Not started yet: calls that change the world wait for those before them.
    pub held: bool,
    /// Whether a branch of `pmap` or `pcalls` makes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_branch: bool,
    /// Its span and the one around it, for events; empty before it is told of.
    #[serde(default)]
    pub span: (String, String),
    /// Where it stands with the person who decides about it, until it is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
}

/// Where a call stands that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Consent {
    /// A person was asked at this time.
    Asked(u64),
    /// This was decided.
    Given(Decision),
}

/// Calls that are made and answered together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub layer: Layer,
    pub slots: Vec<Slot>,
    /// When they were made.
    pub since: u64,
    /// The span around them, for events.
    #[serde(default)]
    pub span: String,
    /// Since when a person is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<u64>,
    /// How long a person was waited for before.
    #[serde(default)]
    pub waited: u64,
}

impl Batch {
    pub fn new(layer: Layer, since: u64) -> Self {
        Batch { layer, slots: Vec::new(), since, span: String::new(), paused: None, waited: 0 }
    }

    /// Whether every call has its result.
    pub fn is_complete(&self) -> bool {
        self.slots.iter().all(|slot| slot.result.is_some())
    }

    /// The next call that can go on: one that a person has decided about, or one that is held back if everything
    /// before it is done.
    pub fn due(&self) -> Option<usize> {
        let open = |slot: &Slot| slot.result.is_none();
        let decided =
            |slot: &Slot| open(slot) && !slot.held && matches!(slot.consent, Some(Consent::Given(_)));
        self.slots.iter().position(decided).or_else(|| {
            let first = self.slots.iter().position(open)?;
            let slot = &self.slots[first];
            (slot.held && !slot.is_asked()).then_some(first)
        })
    }
}

impl Slot {
    /// Takes the call out of its batch for the moment; it must be put back.
    pub fn lend(&mut self) -> Slot {
        std::mem::replace(self, slot(0, "", "", Json::Null, 0))
    }

    /// Whether a person is asked and has not decided.
    pub fn is_asked(&self) -> bool {
        matches!(self.consent, Some(Consent::Asked(_)))
    }
}

/// Adds a call to a batch, not started.
pub(super) fn slot(id: u64, native_id: &str, name: &str, args: Json, now: u64) -> Slot {
    let record = CallRecord { name: name.to_owned(), args, timestamp: now, ..CallRecord::default() };
    Slot {
        id,
        native_id: native_id.to_owned(),
        record,
        key: None,
        result: None,
        own_error: false,
        failure: Json::Null,
        preview: None,
        shown: 0,
        held: true,
        in_branch: false,
        span: Default::default(),
        consent: None,
    }
}

/// Goes on with the calls of a node that can.
pub(super) fn go_on(node: &mut Node, shared: &mut Shared, born: &mut Vec<Birth>) {
    loop {
        let (State::Calls(_, batch) | State::Native(batch)) = &node.state else { return };
        let Some(at) = batch.due() else { return };
        let mut state = std::mem::replace(&mut node.state, State::Between);
        if let State::Calls(_, batch) | State::Native(batch) = &mut state {
            match batch.slots[at].held {
                true => start(node, shared, batch, at, born),
                false => decided(node, shared, batch, at, born),
            }
        }
        node.state = state;
    }
}

/// Starts a call of a batch. It may be answered at once, or wait for a person.
pub(super) fn start(
    node: &mut Node,
    shared: &mut Shared,
    batch: &mut Batch,
    at: usize,
    born: &mut Vec<Birth>,
) {
    let layer = batch.layer;
    let slot = &mut batch.slots[at];
    slot.held = false;
    slot.record.timestamp = shared.now;
    let name = slot.record.name.clone();
    let Some(tool) = node.agent.tools().get(&name).cloned() else {
        slot.span = (shared.span(), batch.span.clone());
        return refuse(node, shared, slot, layer, format!("there is no tool `{name}`"));
    };
    if slot.span.0.is_empty() {
        slot.span = (shared.span(), batch.span.clone());
        announce(node, shared, slot, layer);
    }
    if let Err(message) = checked(node, &tool, slot) {
        return refuse(node, shared, slot, layer, message);
    }
    if shares_cache(node, &tool, layer) {
        let key = CacheKey::new(&name, &slot.record.args);
        // What a person decided about this very call holds.
        let found = node.cache.get(&key).filter(|_| slot.consent.is_none()).map(|entry| entry.result.clone());
        slot.key = Some(key);
        if let Some(result) = found {
            slot.record.cached = true;
            return finish(node, shared, slot, layer, Ok(result));
        }
    }
    if tool.answers != Answers::Discovery {
        if let Err(stop) = shared.budget.spend(node.account, Unit::Calls, 1) {
            let message = match stop.limit {
                1 => "the one tool call of this run is used up".to_owned(),
                limit => format!("the {limit} tool calls of this run are used up"),
            };
            return refuse(node, shared, slot, layer, message);
        }
        node.book.usage.tool_calls = node.book.usage.tool_calls.saturating_add(1);
    }
    if slot.consent.is_some() {
        return decided(node, shared, batch, at, born);
    }
    if consent::ask(node, shared, batch, at, &tool) {
        return;
    }
    dispatch(node, shared, batch, at, &tool, born);
}

/// Goes on with a call that a person has decided about.
fn decided(node: &mut Node, shared: &mut Shared, batch: &mut Batch, at: usize, born: &mut Vec<Birth>) {
    let layer = batch.layer;
    let slot = &mut batch.slots[at];
    let Some(Consent::Given(decision)) = slot.consent.take() else { return };
    // The time of the person is not that of the tool.
    slot.record.timestamp = shared.now;
    let Some(tool) = node.agent.tools().get(&slot.record.name).cloned() else {
        let message = format!("there is no tool `{}` any more", slot.record.name);
        return finish(node, shared, slot, layer, Err(message));
    };
    match decision {
        Decision::Approve => {}
        Decision::Edit(args) => {
            slot.record.args = args;
            match checked(node, &tool, slot) {
                // The result belongs to these arguments.
                Ok(()) => slot.key = slot.key.take().map(|_| CacheKey::new(&tool.name, &slot.record.args)),
                Err(message) => {
                    let message = format!("{message}\nA person had changed the arguments.");
                    return finish(node, shared, slot, layer, Err(message));
                }
            }
        }
        Decision::Reject(reason) => {
            slot.key = None;
            let result = consent::rejected(&tool, &reason);
            return finish(node, shared, slot, layer, result);
        }
    }
    dispatch(node, shared, batch, at, &tool, born);
}

/// Makes a call with the arguments of its record, which are checked.
fn dispatch(
    node: &mut Node,
    shared: &mut Shared,
    batch: &mut Batch,
    at: usize,
    tool: &std::sync::Arc<Tool>,
    born: &mut Vec<Birth>,
) {
    let layer = batch.layer;
    let slot = &mut batch.slots[at];
    match &tool.body {
        Body::Function(_) => {
            // They are with what is asked until the answer comes: large ones are there once.
            let args = slot.record.args.take();
            let branch = slot.in_branch.then(|| node.agent.options().pmap_timeout_ms);
            let timeout_ms = tool.timeout_ms.or(branch);
            let once = tool.answers != Answers::Upstream && !tool.may_repeat(&args);
            let what = What::Tool { slot: at, tool: tool.name.clone(), args, timeout_ms, once };
            shared.ask(Asked::by(node, what));
        }
        Body::Builtin(Builtin::Pure(call)) => {
            let result = call(&slot.record.args);
            slot.own_error = result.is_err();
            finish(node, shared, slot, layer, result);
        }
        Body::Builtin(Builtin::LlmQuery)
        | Body::Judge(_)
        | Body::Agent(_)
        | Body::Compiled(_)
        | Body::This => match children::birth(node, tool, slot.record.args.clone(), at) {
            Ok(birth) => born.push(birth),
            Err(message) => finish(node, shared, slot, layer, Err(message)),
        },
    }
}

/// Whether the cache has the result of a call with checked arguments.
pub(super) fn is_cached(node: &Node, tool: &Tool, args: &Json, layer: Layer) -> bool {
    shares_cache(node, tool, layer) && node.cache.peek(&CacheKey::new(&tool.name, args)).is_some()
}

/// Native calls share results with programs only where a preview stands in for them; text agents without
/// programs call afresh each time.
fn shares_cache(node: &Node, tool: &Tool, layer: Layer) -> bool {
    tool.cache && (layer == Layer::Program || bridges(node, tool))
}

/// Whether a tool's native results are kept for programs, with a preview for the model.
pub(super) fn bridges(node: &Node, tool: &Tool) -> bool {
    tool.cache
        && node.agent.mode() == crate::agent::Mode::Combined
        && node.agent.exposure(tool) == crate::tool::Expose::Both
}

/// Whether a call asks what there is: it is none of the agent's calls.
pub(super) fn is_question(node: &Node, slot: &Slot) -> bool {
    let tool = node.agent.tools().get(&slot.record.name);
    tool.is_some_and(|tool| tool.answers == Answers::Discovery)
}

/// Tells that a call begins.
pub(super) fn announce(node: &Node, shared: &mut Shared, slot: &Slot, layer: Layer) {
    let args = summary(node, &slot.record.args, ARGS_CHARS);
    let called = || json!({"tool_name": slot.record.name, "exposure_layer": layer.name(), "args": args});
    let (name, facts) = match is_question(node, slot) {
        true => ("discover.start", json!({"args": args})),
        false => ("tool.start", called()),
    };
    slot_event(node, shared, slot, name, json!({}), facts);
}

pub(super) fn slot_event(
    node: &Node,
    shared: &mut Shared,
    slot: &Slot,
    name: &str,
    measured: Json,
    facts: Json,
) {
    shared.event_in(node, name, (&slot.span.0, &slot.span.1), measured, facts);
}

/// A value as events show it: bounded, nothing hidden in it.
pub(super) fn summary(node: &Node, value: &Json, chars: usize) -> String {
    let text = render::brief_json(value, ViewLimits { items: 50, chars }, node.agent.options().firewall);
    node.veil.cover(&text).into_owned()
}

/// Arguments as one map, and as the tool's signature wants them; notes what was converted.
pub(super) fn checked(node: &Node, tool: &Tool, slot: &mut Slot) -> Result<(), String> {
    let record = &mut slot.record;
    if !matches!(record.args, Json::Null | Json::Object(_)) {
        let given = render::brief_json(&record.args, ViewLimits::SAMPLE, node.agent.options().firewall);
        return Err(format!("Tool validation errors:\n- arguments must be one map, got {given}"));
    }
    let args = record.args.take();
    record.args = if args.is_null() { json!({}) } else { args };
    // Fields that the tool declares have its names; other keys are as the program or the model wrote them.
    if let Some(signature) = &tool.signature {
        let named = names::record_fields(record.args.clone(), &signature.input);
        record.args = named.map_err(|message| format!("Tool validation errors:\n- {message}"))?;
    }
    let args = record.args.clone();
    (record.args, record.warnings) = tool.take(args, strictness(node, tool))?;
    Ok(())
}

/// How strictly the contract of a tool holds.
fn strictness(node: &Node, tool: &Tool) -> Mode {
    tool.validation.unwrap_or(node.agent.options().signature_validation)
}

/// Said where more hidden values are brought than a run can keep from its models.
pub(super) const TOO_MUCH_HIDDEN: &str = "more values stand under names that begin with `_` than a run can keep from its \
                                          model: leave out what nobody needs, or set `firewall` to false";

/// A result held to the signature of its tool, with what is hidden in it remembered: nothing that could be shown gets into
/// a program. One from the cache was held to it when it came.
fn held(node: &mut Node, slot: &mut Slot, result: ToolResult) -> ToolResult {
    let (Ok(value), Some(tool)) = (&result, node.agent.tools().get(&slot.record.name)) else { return result };
    if slot.record.cached {
        return result;
    }
    let given = tool.gives(value, strictness(node, tool));
    let hidden = !node.agent.options().firewall || node.veil.learn(value);
    match given {
        _ if !hidden => Err(format!("the result cannot be taken: {TOO_MUCH_HIDDEN}")),
        Ok(warnings) => {
            slot.record.warnings.extend(warnings);
            result
        }
        Err(message) => Err(message),
    }
}

/// What the contracts of tools had to say about the calls of the turn, each once and not too many.
pub(super) fn notes(node: &Node) -> Vec<String> {
    const SHOWN: usize = 5;
    let (mut seen, mut notes, mut endless) = (BTreeSet::new(), Vec::new(), false);
    for call in &node.book.draft.tool_calls {
        for warning in &call.warnings {
            if Issue::tells_of_more(warning) {
                endless = true;
                continue;
            }
            let note = format!("tool/{}: {warning}", call.name);
            if notes.len() < SHOWN && !seen.contains(&note) {
                notes.push(note.clone());
            }
            seen.insert(note);
        }
    }
    let more = seen.len() - notes.len();
    match endless {
        // Nobody counted those that are not listed.
        true => notes.push(format!("and more than {more} more")),
        false if more > 0 => notes.push(format!("and {more} more")),
        false => {}
    }
    notes
}

/// Takes a result from outside, with the arguments that the tool was asked with; `own` says that the function of the tool
/// gave it.
pub(super) fn supplied(
    node: &mut Node,
    shared: &mut Shared,
    at: usize,
    args: Json,
    result: ToolResult,
    own: bool,
) {
    let (State::Calls(_, batch) | State::Native(batch)) = &mut node.state else { return };
    let layer = batch.layer;
    let Some(slot) = batch.slots.get_mut(at).filter(|slot| slot.result.is_none()) else { return };
    let mut slot = slot.lend();
    slot.record.args = args;
    slot.own_error = own && result.is_err();
    finish(node, shared, &mut slot, layer, result);
    put_back(node, shared, at, slot);
}

/// Puts a finished call back into the batch of a node, which goes on if it was the last.
pub(super) fn put_back(node: &mut Node, shared: &mut Shared, at: usize, slot: Slot) {
    let (State::Calls(_, batch) | State::Native(batch)) = &mut node.state else { return };
    batch.slots[at] = slot;
    if batch.is_complete() || batch.due().is_some() {
        shared.ready.push_back(node.id);
    }
}

/// Answers a call that is not made: nobody counts it.
pub(super) fn refuse(node: &mut Node, shared: &mut Shared, slot: &mut Slot, layer: Layer, message: String) {
    slot.record.refused = true;
    finish(node, shared, slot, layer, Err(message));
}

/// Gives a call its result: into the record, the cache, the veil, the preview and the events.
pub(super) fn finish(
    node: &mut Node,
    shared: &mut Shared,
    slot: &mut Slot,
    layer: Layer,
    result: ToolResult,
) {
    let result = held(node, slot, result);
    slot.record.duration_ms = shared.now.saturating_sub(slot.record.timestamp);
    let mut facts = json!({
        "tool_name": slot.record.name,
        "exposure_layer": layer.name(),
        "cached": slot.record.cached,
    });
    match &result {
        Ok(value) => succeeded(node, shared, slot, layer, value, &mut facts),
        Err(message) => {
            slot.record.error = Some(message.clone());
            facts["error"] = json!(&*node.veil.cover(message));
        }
    }
    for warning in &slot.record.warnings {
        node.book.warn(format!("tool/{}: {warning}", slot.record.name));
    }
    let mut measured = json!({"duration_ms": slot.record.duration_ms});
    if result.is_ok() {
        measured["result_bytes"] = json!(slot.record.result_bytes);
    }
    slot.result = Some(result);
    if is_question(node, slot) {
        let name = if slot.record.error.is_none() { "discover.stop" } else { "discover.exception" };
        return slot_event(node, shared, slot, name, measured, json!({}));
    }
    note_upstream(node, slot);
    let mut ended = json!({
        "tool_name": facts["tool_name"],
        "exposure_layer": facts["exposure_layer"],
        "cached": facts["cached"],
    });
    if slot.record.refused {
        facts["refused"] = json!(true);
        ended["refused"] = json!(true);
    }
    if !slot.record.warnings.is_empty() {
        let told =
            slot.record.warnings.iter().take(WARNINGS).map(|text| node.veil.cover(text)).collect::<Vec<_>>();
        facts["warnings"] = json!(told);
        ended["warnings"] = json!(told);
    }
    let name = match slot.result.as_ref() {
        Some(Ok(value)) => {
            ended["result"] = json!(summary(node, value, RESULT_CHARS));
            "tool.stop"
        }
        _ => {
            ended["error"] = facts["error"].clone();
            "tool.exception"
        }
    };
    slot_event(node, shared, slot, name, measured.clone(), ended);
    slot_event(node, shared, slot, "tool.call", measured, facts);
}

/// The name of a call as programs write it: of an upstream's, server and tool.
pub(super) fn shown(node: &Node, tool: &str, args: &Json) -> String {
    let is_upstream = node.agent.tools().get(tool).is_some_and(|tool| tool.answers == Answers::Upstream);
    match (args["server"].as_str(), args["tool"].as_str()) {
        (Some(server), Some(tool)) if is_upstream => format!("{server}/{tool}"),
        _ => format!("tool/{tool}"),
    }
}

/// Whether a call without an answer may have changed something outside.
pub(super) fn may_have_changed(node: &Node, tool: &str, args: &Json) -> bool {
    let tool = node.agent.tools().get(tool);
    tool.is_some_and(|tool| matches!(tool.body, Body::Function(_)) && !tool.may_repeat(args))
}

/// What is said of a call that may have changed something, and whose program ended first.
pub(super) fn ended_without(call: &str) -> String {
    const WHY: &str = "was sent, and the program ended before the answer came";
    ptc_lisp::outcome_unknown(call, None, WHY, "look before it is made again")
}

/// Notes in the record of a call that its program ended first.
pub(super) fn leave_unanswered(node: &Node, record: &mut CallRecord) {
    record.outcome_unknown = may_have_changed(node, &record.name, &record.args);
    record.error = Some(match record.outcome_unknown {
        true => ended_without(&shown(node, &record.name, &record.args)),
        false => "not answered before the end".to_owned(),
    });
}

/// Notes a call of an upstream for the step.
pub(super) fn note_upstream(node: &mut Node, slot: &Slot) {
    let tool = node.agent.tools().get(&slot.record.name);
    if tool.is_some_and(|tool| tool.answers == Answers::Upstream) {
        let call = UpstreamCall::of(&slot.record, slot.result.as_ref());
        node.book.upstream_calls.push(call);
    }
}

fn succeeded(
    node: &mut Node,
    shared: &mut Shared,
    slot: &mut Slot,
    layer: Layer,
    value: &Json,
    facts: &mut Json,
) {
    let record = &mut slot.record;
    shared.record_result(record, value);
    let bytes = record.result_bytes;
    facts["result_preview_truncated"] = json!(record.result_truncated);
    // What the cache has was brought, and what is hidden in it learned, before.
    if !record.cached {
        node.book.brought = node.book.brought.saturating_add(bytes as u64);
    }
    let Some(key) = slot.key.clone() else { return };
    let kept = record.cached || node.cache.insert(key.clone(), value.clone(), None).kept;
    facts["full_result_cached"] = json!(kept);
    facts["retained_bytes"] = json!(node.cache.bytes());
    facts["cache_key_hash"] = json!(key.hash());
    if layer == Layer::Native {
        facts["result_preview_truncated"] = json!(text::give_preview(node, shared, slot, value, kept));
    }
}
