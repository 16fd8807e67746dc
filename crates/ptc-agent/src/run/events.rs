//! Events of a run, and the numbers of asks and spans.

use serde_json::{Map, Value as Json, json};

use super::node::Node;
use super::{Asked, Shared};
use crate::event::Event;
use crate::model::Tokens;
use crate::render::{self, ViewLimits};
use crate::step::Step;

/// How much of a value events show.
const PREVIEW: ViewLimits = ViewLimits { items: 50, chars: 4_096 };
/// Odd, so that no two spans of a run are alike before all are used.
const SPREAD: u32 = 0x9E37_79B1;

impl Shared {
    /// Puts something on the list of what is needed.
    pub fn ask(&mut self, asked: Asked) -> u64 {
        let id = self.next_ask;
        self.next_ask = self.next_ask.wrapping_add(1);
        self.asks.insert(id, asked);
        self.fresh.push(id);
        id
    }

    /// A new span: eight hexadecimal digits, the same in every run, and no two alike in one.
    pub fn span(&mut self) -> String {
        self.next_span = self.next_span.wrapping_add(1);
        let first = crate::hash::fnv(self.trace_id.as_bytes()) as u32;
        format!("{:08x}", first.wrapping_add((self.next_span as u32).wrapping_mul(SPREAD)))
    }

    /// Notes that something happened to an agent.
    pub fn event(&mut self, node: &Node, name: &str, measurements: Json, metadata: Json) {
        self.push(node, name, &node.span, node.parent_span.as_deref(), measurements, metadata);
    }

    /// Notes that something happened in a turn.
    pub fn turn_event(&mut self, node: &Node, name: &str, measurements: Json, metadata: Json) {
        self.push(node, name, &node.book.spans.turn, Some(&node.span), measurements, metadata);
    }

    /// Notes that something happened to a part of a turn, which has a span of its own.
    pub fn event_in(
        &mut self,
        node: &Node,
        name: &str,
        span: (&str, &str),
        measurements: Json,
        metadata: Json,
    ) {
        self.push(node, name, span.0, Some(span.1), measurements, metadata);
    }

    fn push(
        &mut self,
        node: &Node,
        name: &str,
        span: &str,
        parent: Option<&str>,
        measurements: Json,
        metadata: Json,
    ) {
        // Runs that were saved before parts had spans go on without them.
        let or_run = |span: &str| if span.is_empty() { node.span.clone() } else { span.to_owned() };
        self.events.push(Event {
            event: name.to_owned(),
            trace_id: self.trace_id.clone(),
            timestamp: self.now,
            span_id: or_run(span),
            parent_span_id: parent.map(or_run),
            agent_name: node.agent.options().name.clone(),
            agent_id: node.agent.id().to_owned(),
            measurements: fields(measurements),
            metadata: fields(metadata),
        });
    }

    /// Notes the end of the turn that was closed last.
    pub fn turn_stop(&mut self, node: &Node) {
        let Some(turn) = node.book.turns.last() else { return };
        let preview = render::brief_json(&turn.result, PREVIEW, node.agent.options().firewall);
        let mut facts = json!({
            "turn": turn.number,
            "type": turn.kind,
            "program": turn.program.as_deref().map(|program| node.veil.cover(program).into_owned()),
            "result_preview": &*node.veil.cover(&preview),
            "prints": turn.prints,
            "success": turn.success,
        });
        if turn.program.is_none() {
            facts["raw_response"] = json!(&*node.veil.cover(&turn.raw_response));
        }
        let mut measured =
            json!({"duration": self.now.saturating_sub(node.book.turn_began), "fuel": turn.fuel});
        add_tokens(&mut measured, &node.book.spans.tokens);
        self.turn_event(node, "turn.stop", measured, facts);
    }
}

/// Adds what a reply used, as far as the provider said.
pub(super) fn add_tokens(measured: &mut Json, tokens: &Tokens) {
    let counts = [
        ("input_tokens", tokens.input),
        ("output_tokens", tokens.output),
        ("tokens", tokens.input.saturating_add(tokens.output)),
        ("cache_creation_tokens", tokens.cache_creation),
        ("cache_read_tokens", tokens.cache_read),
    ];
    for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
        measured[name] = json!(count);
    }
}

/// What `run.start` tells of an agent.
pub(super) fn config(node: &Node, keys: &[&String], seed: Option<u64>) -> Json {
    let options = node.agent.options();
    let tools: Vec<&str> = node.agent.tools().values().map(|tool| tool.name.as_str()).collect();
    let mut facts = json!({
        "context": keys,
        "depth": node.depth,
        "mission": options.prompt,
        "signature": options.signature,
        "mode": format!("{:?}", node.agent.mode()).to_lowercase(),
        "model": node.llm.as_ref().map(crate::model::Llm::label),
        "tool_names": tools,
        "max_turns": options.max_turns,
    });
    if let Some(seed) = seed.filter(|seed| *seed != 0) {
        // As text: readers of traces that know only floating-point numbers would round it.
        facts["seed"] = seed.to_string().into();
    }
    if let Some(prelude) = &options.prelude {
        facts["prelude"] = prelude.trace_summary();
    }
    facts
}

/// What `run.stop` tells of a step: numbers and facts.
pub(super) fn ended(node: &Node, step: &Step) -> (Json, Json) {
    let usage = &step.usage;
    let mut measured = json!({
        "duration": usage.duration_ms,
        "turns": usage.turns,
        "llm_requests": usage.llm_requests,
        "tool_calls": usage.tool_calls,
        "fuel": usage.fuel,
        "memory_bytes": usage.memory_bytes,
        "bytes_kept": usage.bytes_kept,
    });
    let tokens = Tokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_creation: usage.cache_creation_tokens,
        cache_read: usage.cache_read_tokens,
        cost_usd: usage.cost_usd,
    };
    add_tokens(&mut measured, &tokens);
    if let Some(cost) = usage.cost_usd {
        measured["cost_usd"] = json!(cost);
    }
    let mut facts = json!({"status": if step.is_ok() { "ok" } else { "error" }, "turns": usage.turns});
    match &step.fail {
        Some(fail) => {
            facts["reason"] = json!(&*node.veil.cover(fail.reason.as_str()));
            facts["error"] = json!(&*node.veil.cover(&fail.message));
        }
        None => {
            let text = render::brief_json(&step.value, PREVIEW, node.agent.options().firewall);
            facts["return"] = json!(&*node.veil.cover(&text));
        }
    }
    (measured, facts)
}

fn fields(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}
