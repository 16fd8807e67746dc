//! What a deployment lends an agent: its prelude, held against the grants of the run before every turn, and the
//! guard that stops a run after upstream calls that may have changed something.

use std::sync::Arc;

use ptc_lisp::analyze::Servers;
use ptc_lisp::prelude::{Effect, Grants, Missing, Operation, Upstreams};
use serde_json::{Value as Json, json};

use super::node::Node;
use super::{AgentRun, Shared, program};
use crate::agent::Agent;
use crate::model::Pending;
use crate::reason::Reason;
use crate::step::{CallRecord, Fail};
use crate::tool::Body;

/// The tool that calls upstreams.
const CALL: &str = "call";

/// The upstream runtime of a node: only the agent that the run was begun with has it.
fn upstreams<'s>(node: &Node, shared: &'s Shared) -> Option<&'s dyn Upstreams> {
    shared.options.upstreams.as_deref().filter(|_| node.caller.is_none())
}

/// The upstream servers whose tools the node's programs may call as functions.
pub(super) fn servers(node: &Node, shared: &Shared) -> Arc<Servers> {
    upstreams(node, shared).map(|upstreams| upstreams.servers()).unwrap_or_default()
}

/// Refuses to go on without what the prelude requires.
pub(super) fn admit(node: &Node, shared: &Shared) -> Result<(), Fail> {
    let Some(prelude) = &node.agent.options().prelude else { return Ok(()) };
    if let Some(lost) = shared.lost.as_ref().filter(|_| node.caller.is_none()) {
        return Err(lost.clone());
    }
    let tools = program::machine_tools(&node.agent);
    let grants = Grants { tools: &tools, upstreams: upstreams(node, shared) };
    refused(&prelude.missing(&grants)).map_or(Ok(()), Err)
}

/// The end of a run without these operations; nothing if there are none.
fn refused(missing: &[Missing]) -> Option<Fail> {
    if missing.is_empty() {
        return None;
    }
    let named = |one: &Missing| json!({"export": one.export, "operation": one.operation.to_string()});
    let details = json!({"missing": missing.iter().map(named).collect::<Vec<_>>()});
    let message = Missing::refusal(missing).message;
    Some(Fail { details, ..Fail::new(Reason::PRELUDE_ATTACH_FAILED, message) })
}

/// What prompts say about the prelude of an agent.
pub(super) fn inventory(node: &Node, shared: &Shared) -> Option<String> {
    let prelude = node.agent.options().prelude.as_ref()?;
    let tools = program::machine_tools(&node.agent);
    prelude.inventory_for(&Grants { tools: &tools, upstreams: upstreams(node, shared) })
}

impl Agent {
    /// What its prelude, and those of agents that are its tools, require and a run with these upstreams would not have. Only
    /// the agent itself has upstreams.
    pub fn unbacked(&self, upstreams: Option<&dyn Upstreams>) -> Vec<Missing> {
        let tools = program::machine_tools(self);
        let own = self.options().prelude.as_ref();
        let own =
            own.map(|prelude| prelude.missing(&Grants { tools: &tools, upstreams })).unwrap_or_default();
        let called = self.tools().values().filter_map(|tool| match &tool.body {
            Body::Agent(called) => Some(called.agent.unbacked(None)),
            _ => None,
        });
        own.into_iter().chain(called.flatten()).collect()
    }
}

impl AgentRun {
    /// A look at the servers behind the prelude, if what they have is not known for certain. Whoever waits for it asks
    /// [`AgentRun::lost`] then.
    pub fn look_up(&self) -> Option<Pending<()>> {
        let look_up = self.shared.options.look_up.as_ref().filter(|_| self.shared.lost.is_none())?;
        look_up(self.root.options().prelude.as_ref()?.required_servers())
    }

    /// What upstreams do not offer of what the prelude requires, as the end of the run.
    pub fn lost(&self) -> Option<Fail> {
        let grants = Grants { tools: &[], upstreams: self.shared.options.upstreams.as_deref() };
        let mut missing = self.root.options().prelude.as_ref()?.missing(&grants);
        missing.retain(|one| matches!(one.operation, Operation::Upstream { .. }));
        refused(&missing)
    }

    /// Tells the run that something is gone which its prelude requires. It ends before its next turn or program,
    /// whatever upstreams say by then.
    pub fn lose(&mut self, lost: Fail) {
        self.shared.lost.get_or_insert(lost);
    }
}

/// Before the next request: whether the last turn called upstreams in a way that may have changed something.
/// What is told names operations, never arguments or results.
pub(super) fn side_effects(node: &Node, shared: &Shared) -> Option<Fail> {
    let upstreams = upstreams(node, shared)?;
    let turn = node.book.turns.last()?;
    let matched: Vec<Json> = turn
        .tool_calls
        .iter()
        .filter(|call| call.name == CALL && !call.cached)
        // What a person decided about surprises nobody.
        .filter(|call| call.approval.is_none())
        .filter_map(|call| matched(call, upstreams))
        .collect();
    let first = matched.first()?;
    let text = |key: &str| first[key].as_str().unwrap_or_default();
    let message = format!(
        "the run was stopped before the next request: {}/{} was called, which {}",
        text("server"),
        text("tool"),
        match text("effect") {
            "write" => "changes something",
            _ => "may change something",
        }
    );
    Some(Fail {
        details: json!({"matched_calls": matched}),
        ..Fail::new(Reason::PARTIAL_SIDE_EFFECTS, message)
    })
}

fn matched(call: &CallRecord, upstreams: &dyn Upstreams) -> Option<Json> {
    let text = |key: &str| call.args.get(key).and_then(Json::as_str).unwrap_or("?");
    let (server, tool) = (text("server"), text("tool"));
    let effect = upstreams.effect(server, tool);
    (effect != Effect::Read).then(|| json!({"server": server, "tool": tool, "effect": effect.name()}))
}
