//! What a deployment lends an agent: its prelude, held against the grants of the run before every turn, and the
//! guard that stops a run after upstream calls that may have changed something.

use std::sync::Arc;

use ptc_lisp::analyze::Servers;
use ptc_lisp::prelude::{Effect, Grants, Upstreams};
use serde_json::{Value as Json, json};

use super::Shared;
use super::node::Node;
use super::program;
use crate::reason::Reason;
use crate::step::{CallRecord, Fail};

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
    let tools = program::machine_tools(node);
    let missing = |error: ptc_lisp::Error| {
        let grants = Grants { tools: &tools, upstreams: upstreams(node, shared) };
        let ids: Vec<Json> = prelude
            .missing(&grants)
            .iter()
            .map(|missing| json!({"export": missing.export, "operation": missing.operation.to_string()}))
            .collect();
        Fail { details: json!({"missing": ids}), ..Fail::new(Reason::PRELUDE_ATTACH_FAILED, error.message) }
    };
    prelude.admit(&Grants { tools: &tools, upstreams: upstreams(node, shared) }).map_err(missing)
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
