//! Agents that agents call: how they are born, what they inherit, and what their step gives the caller.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Owner, Step as MachineStep};
use ptc_signature::{OnMissing, Template};
use serde_json::{Value as Json, json};

use super::Shared;
use super::calls::{self, Slot};
use super::node::{Book, Caller, Node, Origin, State, Tally};
use super::sandbox::Sandbox;
use crate::agent::{Agent, BuildError};
use crate::budget::{self, Unit};
use crate::cache::{CacheLimits, ToolCache};
use crate::model::{Llm, Output};
use crate::reason::Reason;
use crate::step::{Fail, Step};
use crate::tool::{Body, Builtin, LlmTool, Tool, ToolResult};

/// Arguments of `llm-query` that are not for the prompt.
const CONTROL: [&str; 4] = ["prompt", "signature", "llm", "response_template"];

/// An agent that is about to be.
#[derive(Debug)]
pub(crate) struct Birth {
    pub caller: Caller,
    pub origin: Origin,
    pub agent: Arc<Agent>,
    /// Its model in place of the caller's.
    pub llm: Option<Llm>,
    pub context: Json,
    /// Its program, if it is written.
    pub program: Option<String>,
    /// How long the call may take.
    pub timeout_ms: Option<u64>,
}

/// The agent that a call starts.
pub(super) fn birth(node: &Node, tool: &Arc<Tool>, args: Json, slot: usize) -> Result<Birth, String> {
    let caller = Caller { node: node.id, slot };
    let (agent, bound) = resolve(&node.agent, tool, &args)?;
    let llm = agent.options().llm.clone().or(bound).or_else(|| node.llm.clone());
    let (origin, context) = match &tool.body {
        Body::Builtin(Builtin::LlmQuery) => (Origin::Query(args.clone()), without_control(&args)),
        _ => (Origin::Tool(tool.name.clone()), args),
    };
    let program = match &tool.body {
        Body::Compiled(compiled) => Some(compiled.source().to_owned()),
        _ => None,
    };
    Ok(Birth { caller, origin, agent, llm, context, program, timeout_ms: tool.timeout_ms })
}

/// The agent behind a tool, and the model bound to it.
fn resolve(parent: &Arc<Agent>, tool: &Tool, args: &Json) -> Result<(Arc<Agent>, Option<Llm>), String> {
    match &tool.body {
        Body::Agent(tool) => Ok((tool.agent.clone(), tool.llm.clone())),
        Body::Judge(tool) => Ok((tool.agent.clone(), tool.llm.clone())),
        Body::This => Ok((parent.clone(), None)),
        Body::Compiled(compiled) => Ok((compiled.agent().clone(), None)),
        Body::Builtin(Builtin::LlmQuery) => {
            let llm = args.get("llm").and_then(Json::as_str).map(Llm::named);
            Ok((Arc::new(query(args).map_err(|error| error.to_string())?), llm))
        }
        Body::Function(_) | Body::Builtin(_) => Err(format!("`{}` is no agent", tool.name)),
    }
}

/// The agent of an origin, for a run that is read from bytes.
pub(super) fn of_origin(
    parent: Option<&Arc<Agent>>,
    root: &Arc<Agent>,
    origin: &Origin,
) -> Option<Arc<Agent>> {
    match (origin, parent) {
        (Origin::Root, _) => Some(root.clone()),
        (Origin::Tool(name), Some(parent)) => {
            let tool = parent.tools().get(name)?;
            resolve(parent, tool, &Json::Null).ok().map(|(agent, _)| agent)
        }
        (Origin::Query(args), Some(_)) => query(args).ok().map(Arc::new),
        _ => None,
    }
}

/// The model of an origin.
pub(super) fn llm_of_origin(parent: &Node, agent: &Agent, origin: &Origin) -> Option<Llm> {
    let bound = match origin {
        Origin::Tool(name) => match &parent.agent.tools().get(name)?.body {
            Body::Agent(tool) => tool.llm.clone(),
            Body::Judge(tool) => tool.llm.clone(),
            Body::Function(_) | Body::Compiled(_) | Body::This | Body::Builtin(_) => None,
        },
        Origin::Query(args) => args.get("llm").and_then(Json::as_str).map(Llm::named),
        Origin::Root => None,
    };
    agent.options().llm.clone().or(bound).or_else(|| parent.llm.clone())
}

/// The agent that asks a question of `llm-query`: its parameters are the placeholders of the prompt.
fn query(args: &Json) -> Result<Agent, BuildError> {
    let Some(prompt) = args.get("prompt").and_then(Json::as_str) else {
        return Err(BuildError::option("prompt", "llm-query needs a :prompt, a text"));
    };
    let wanted = args.get("signature").and_then(Json::as_str).unwrap_or(":string");
    let output = ptc_signature::Signature::return_spec(wanted)
        .map_err(|error| BuildError::option("signature", error.to_string()))?;
    let template =
        Template::parse(prompt).map_err(|error| BuildError::option("prompt", error.to_string()))?;
    let mut names: Vec<String> = Vec::new();
    for placeholder in template.placeholders() {
        let name = placeholder.path.split('.').next().unwrap_or_default().to_owned();
        if !name.is_empty() && args.get(&name).is_some() && !names.contains(&name) {
            names.push(name);
        }
    }
    let parameters: Vec<String> = names.iter().map(|name| format!("{name} :any")).collect();
    let signature = format!("({}) -> {output}", parameters.join(", "));
    Agent::builder(prompt).signature(&signature).output(Output::Text).max_turns(1).name("llm-query").build()
}

fn without_control(args: &Json) -> Json {
    let fields = args.as_object().cloned().unwrap_or_default();
    Json::Object(fields.into_iter().filter(|(name, _)| !CONTROL.contains(&name.as_str())).collect())
}

/// Makes the node of an agent that a call starts.
pub(super) fn born(
    birth: Birth,
    id: usize,
    nodes: &[Option<Box<Node>>],
    shared: &mut Shared,
) -> Result<Node, Fail> {
    let gone = || Fail::new(Reason::CANCELLED, "the caller is gone");
    let parent = nodes.get(birth.caller.node).and_then(Option::as_deref).ok_or_else(gone)?;
    let options = birth.agent.options();
    let mut context = birth.context;
    birth.agent.complete(&mut context);
    let depth = parent.depth.saturating_add(1);
    let depth_limit = parent.depth_limit.min(depth_limit(&birth.agent));
    if depth >= depth_limit {
        return Err(Fail::new(
            Reason::MAX_DEPTH_EXCEEDED,
            format!(
                "agents may nest {depth_limit} levels deep, and this would be level {}",
                depth.saturating_add(1)
            ),
        ));
    }
    let timeout = options.mission_timeout_ms.into_iter().chain(birth.timeout_ms).min();
    let own = timeout.map(|timeout| shared.now.saturating_add(timeout));
    let account = shared.budget.open(Some(parent.account), limits(&birth.agent).until(own));
    Ok(Node {
        id,
        caller: Some(birth.caller),
        origin: birth.origin,
        llm: birth.llm,
        depth,
        depth_limit,
        account,
        began: shared.now,
        deadline: shared.budget.deadline(account),
        span: String::new(),
        parent_span: Some(call_span(parent, birth.caller.slot)),
        context: Arc::new(context),
        written: None,
        context_signature: None,
        program: birth.program,
        descriptions: birth.agent.options().context_descriptions.clone(),
        sandbox: Sandbox::default(),
        cache: cache(&birth.agent),
        // What is hidden from one model of the run is hidden from all.
        veil: parent.veil.clone(),
        messages: Vec::new(),
        system: String::new(),
        mission: String::new(),
        inventory: String::new(),
        state: State::New,
        book: Book { tally: tally(&birth.agent), ..Book::default() },
        agent: birth.agent,
    })
}

/// The span of the call that an agent answers.
fn call_span(parent: &Node, slot: usize) -> String {
    let (State::Calls(_, batch) | State::Native(batch)) = &parent.state else { return parent.span.clone() };
    batch.slots.get(slot).map_or_else(|| parent.span.clone(), |slot| slot.span.0.clone())
}

/// An empty cache with the agent's limits.
pub(super) fn cache(agent: &Agent) -> ToolCache {
    let bytes = |limit: usize| limit as u64;
    let own =
        agent.tools().values().filter_map(|tool| Some((tool.name.clone(), bytes(tool.max_cached_bytes?))));
    ToolCache::new(CacheLimits {
        total: agent.options().tool_cache_limit.map(bytes),
        per_tool: None,
        tools: own.collect(),
    })
}

/// How many levels of agents there may be, the root included.
pub(super) fn depth_limit(agent: &Agent) -> u32 {
    let options = agent.options();
    options.max_depth.saturating_add(u32::from(options.depth_inclusive))
}

/// The turns of an agent.
pub(super) fn tally(agent: &Agent) -> Tally {
    let options = agent.options();
    // Text agents correct answers within their turns.
    let retry_left = if options.output == Output::Text { 0 } else { options.retry_turns };
    Tally { turn: 0, work_left: options.max_turns, retry_left, failures_in_row: 0 }
}

/// What an agent and all below it may spend.
pub(super) fn limits(agent: &Agent) -> budget::AccountLimits {
    let options = agent.options();
    budget::AccountLimits::NONE
        .most(Unit::Turns, options.turn_budget)
        .most(Unit::Tokens, options.token_limit)
        .most(Unit::Cost, options.max_cost_usd.map(budget::micro_usd))
        .most(Unit::Calls, options.tool_call_budget)
        .most(Unit::Fuel, options.fuel_budget)
}

/// Takes the step of an agent that a call of this node started.
pub(super) fn delivered(node: &mut Node, shared: &mut Shared, at: usize, step: Step) {
    let (State::Calls(_, batch) | State::Native(batch)) = &mut node.state else { return };
    let layer = batch.layer;
    let Some(slot) = batch.slots.get_mut(at).filter(|slot| slot.result.is_none()) else { return };
    let mut slot = slot.lend();
    let result = answer(node, &shared.options.owner, &slot, &step);
    if let Some(fail) = &step.fail {
        slot.failure = fail.json();
        if node.agent.options().firewall && !node.veil.learn(&slot.failure) {
            slot.failure = Json::Null;
        }
    }
    note(node, step);
    calls::finish(node, shared, &mut slot, layer, result);
    calls::put_back(node, shared, at, slot);
}

/// Keeps the step of an agent below, and counts what it used.
pub(super) fn note(node: &mut Node, step: Step) {
    add_usage(node, &step);
    for warning in &step.warnings {
        node.book.warn(match &step.name {
            Some(name) => format!("{name}: {warning}"),
            None => warning.clone(),
        });
    }
    node.book.child_steps.push(Step { messages: None, prompt: None, tools: BTreeMap::new(), ..step });
}

/// Tokens and dollars of those below count for those above.
fn add_usage(node: &mut Node, step: &Step) {
    let (own, child) = (&mut node.book.usage, &step.usage);
    own.llm_requests = own.llm_requests.saturating_add(child.llm_requests);
    own.input_tokens = own.input_tokens.saturating_add(child.input_tokens);
    own.output_tokens = own.output_tokens.saturating_add(child.output_tokens);
    own.total_tokens = own.total_tokens.saturating_add(child.total_tokens);
    own.cache_creation_tokens = own.cache_creation_tokens.saturating_add(child.cache_creation_tokens);
    own.cache_read_tokens = own.cache_read_tokens.saturating_add(child.cache_read_tokens);
    if let Some(cost) = child.cost_usd {
        own.cost_usd = Some(own.cost_usd.unwrap_or(0.0) + cost);
    }
    own.fuel = own.fuel.saturating_add(child.fuel);
    own.tool_calls = own.tool_calls.saturating_add(child.tool_calls);
    own.bytes_kept = own.bytes_kept.saturating_add(child.bytes_kept);
}

/// What the step of an agent gives its caller.
fn answer(node: &Node, owner: &Owner, slot: &Slot, step: &Step) -> ToolResult {
    if let Some(fail) = &step.fail {
        return Err(format!("{}: {}", fail.reason, fail.message));
    }
    let Some(tool) = node.agent.tools().get(&slot.record.name) else { return Ok(step.value.clone()) };
    match &tool.body {
        Body::Judge(tool) => judged(tool, owner, &step.value),
        Body::Builtin(Builtin::LlmQuery) => {
            match slot.record.args.get("response_template").and_then(Json::as_str) {
                Some(template) => filled(template, owner, &step.value),
                None => Ok(step.value.clone()),
            }
        }
        _ => Ok(step.value.clone()),
    }
}

fn judged(tool: &LlmTool, owner: &Owner, value: &Json) -> ToolResult {
    if let Some(validator) = &tool.validator {
        validator(value)?;
    }
    match &tool.response_template {
        Some(template) => filled(template, owner, value),
        None => Ok(value.clone()),
    }
}

/// The value of a program that a template makes from JSON. It has no tools and little fuel.
fn filled(template: &str, owner: &Owner, value: &Json) -> ToolResult {
    let wrong = |error: &dyn std::fmt::Display| format!("response_template: {error}");
    let template = Template::parse(template).map_err(|error| wrong(&error))?;
    let source = template.render(value, OnMissing::Error).map_err(|error| wrong(&error))?;
    let mut machine =
        Machine::new(Limits { fuel: 1_000_000, memory: 8 << 20, tool_calls: 0, ..Limits::default() });
    machine.set_owner(owner.clone());
    machine.set_data(&json!({})).map_err(|error| wrong(&error))?;
    machine.load(&source).map_err(|error| wrong(&error))?;
    match machine.run(u64::MAX) {
        MachineStep::Done(_) => Ok(machine.value_json()),
        MachineStep::Failed(error) => Err(wrong(&error)),
        MachineStep::Calls(_) | MachineStep::Yield => Err(wrong(&"the program did not end")),
    }
}
