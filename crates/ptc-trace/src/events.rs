//! Every event that stands in traces, with its fields. `docs/trace-events.md` is made from this, and tests hold what is
//! written against it ([`differences`]).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::record::{Phase, Record};

/// What writes traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// `ptc run` and whatever else runs agents.
    Run,
    /// `ptc eval`.
    Eval,
    /// `ptc mcp`.
    Mcp,
}

impl Command {
    /// How it is called.
    pub fn name(self) -> &'static str {
        match self {
            Command::Run => "run",
            Command::Eval => "eval",
            Command::Mcp => "mcp",
        }
    }
}

/// A kind of event.
#[derive(Clone, Copy, Debug)]
pub struct EventKind {
    /// Its name, `tool.stop` for instance.
    pub name: &'static str,
    /// What it tells.
    pub tells: &'static str,
    /// In whose traces it stands.
    pub by: &'static [Command],
    /// Fields that it always has, besides those that every event has.
    pub has: &'static [&'static str],
    /// Fields that it may have.
    pub may_have: &'static [&'static str],
}

/// What every event may have: what it is, where it belongs, and at an end how long it took and how it went.
const EVERYWHERE: [&str; 12] = [
    "schema_version",
    "event",
    "trace_id",
    "timestamp",
    "seq",
    "span_id",
    "parent_span_id",
    "agent_name",
    "agent_id",
    "duration_ms",
    "status",
    "data",
];

/// What an event has that ends a span.
const AT_ENDS: [&str; 2] = ["duration_ms", "status"];

const ALL: &[Command] = &[Command::Run, Command::Eval, Command::Mcp];
const AGENTS: &[Command] = &[Command::Run, Command::Mcp];
const PROGRAMS: &[Command] = &[Command::Eval, Command::Mcp];
const SERVER: &[Command] = &[Command::Mcp];
const RUN: &[Command] = &[Command::Run];

/// What a reply used, as far as the provider said.
macro_rules! tokens {
    ($($more:literal),*) => {
        &["input_tokens", "output_tokens", "total_tokens", "cache_creation_tokens", "cache_read_tokens", $($more),*]
    };
}

const fn event(
    name: &'static str,
    by: &'static [Command],
    tells: &'static str,
    has: &'static [&'static str],
    may_have: &'static [&'static str],
) -> EventKind {
    EventKind { name, tells, by, has, may_have }
}

/// Every kind of event.
#[rustfmt::skip]
pub const EVENTS: &[EventKind] = &[
    event("trace.start", ALL, "The file begins: what it is of, and how much of payloads it keeps.",
        &["trace_kind", "producer", "payload_policy"], &["trace_label"]),
    event("trace.stop", ALL, "The file ends; it says how many events are missing from it.",
        &[], &["omitted", "shed"]),
    event("trace.event_omitted", ALL, "An event that was too long: its name and size.",
        &["event", "bytes"], &["turn"]),
    event("mcp.call.start", SERVER, "A tool of the server is called.",
        &["tool_name", "request_id", "transport"],
        &["protocol_version", "session_id", "program", "context"]),
    event("mcp.call.stop", SERVER, "The call was answered.",
        &["result_bytes", "prints_count", "calls_count", "upstream_calls"],
        &["ptc_metrics", "planner_prompts"]),
    event("mcp.call.exception", SERVER, "It was answered with an error, or nobody wanted the answer any more.",
        &["reason", "error", "result_bytes", "prints_count", "calls_count", "upstream_calls"],
        &["ptc_metrics", "planner_prompts"]),
    event("run.start", AGENTS, "An agent begins.",
        &["context", "depth", "mission", "mode", "tool_names", "max_turns"],
        &["signature", "model", "seed", "prelude"]),
    event("run.stop", AGENTS, "It ended, well or not.",
        &["turns", "llm_requests", "tool_calls", "fuel", "memory_bytes", "bytes_kept"],
        tokens!["cost_usd", "return", "reason", "error"]),
    event("turn.start", AGENTS, "A turn begins.",
        &["turn", "type", "tools_count"], &[]),
    event("turn.stop", AGENTS, "It is over.",
        &["turn", "type", "result_preview", "prints", "success", "fuel"],
        tokens!["program", "raw_response"]),
    event("llm.start", AGENTS,
        "A model is asked. `sent` are the messages behind the first `kept` of the request before; `system` and `tools` are told \
         when they change.",
        &["turn", "messages", "model", "kept"], &["system", "tools", "sent"]),
    event("llm.stop", AGENTS, "It replied.",
        &["turn", "response", "model", "input_tokens", "output_tokens"],
        &["total_tokens", "cache_creation_tokens", "cache_read_tokens", "cost_usd"]),
    event("llm.exception", AGENTS, "It did not, after all attempts.",
        &["turn", "reason", "error", "attempts"], &[]),
    event("compaction.triggered", RUN, "A request was shortened.",
        &["enabled", "triggered", "strategy", "messages_before", "messages_after", "estimated_tokens_before",
          "estimated_tokens_after", "kept_initial_user", "kept_recent_turns", "over_budget"], &["reason"]),
    event("lisp.execute.start", ALL, "A program begins.",
        &["caller", "program_bytes"], &["turn", "program", "seed"]),
    event("lisp.execute.stop", ALL, "It ended with a value.",
        &["fuel", "prints_count", "signal"],
        &["turn", "prints", "result", "result_bytes", "calls_count", "tool_calls"]),
    event("lisp.execute.exception", ALL, "It ended with an error, or waits for an approval.",
        &["reason", "error"],
        &["turn", "line", "column", "hint", "fuel", "prints", "prints_count", "result_bytes", "calls_count", "tool_calls"]),
    event("pmap.start", AGENTS, "A program of an agent makes several calls at once.",
        &["count"], &[]),
    event("pmap.stop", AGENTS, "They have all ended.",
        &["count", "success_count", "error_count"], &[]),
    event("tool.start", ALL, "A tool is called.",
        &["tool_name", "args"], &["exposure_layer"]),
    event("tool.stop", ALL, "It answered.",
        &["result", "result_bytes"], &["tool_name", "exposure_layer", "cached", "warnings"]),
    event("tool.exception", ALL, "It failed.",
        &["error"], &["reason", "tool_name", "exposure_layer", "cached", "refused", "warnings"]),
    event("tool.call", AGENTS,
        "Sums up a call of an agent, with `warnings` about its arguments and its result; one that was `refused` was not made.",
        &["tool_name", "exposure_layer", "cached", "duration_ms"],
        &["result_bytes", "error", "refused", "warnings", "cache_key_hash", "full_result_cached", "retained_bytes",
          "result_preview_truncated"]),
    event("approval.asked", RUN, "A call waits for a person.",
        &["tool_name", "call", "args"], &[]),
    event("approval.decided", RUN, "The person decided.",
        &["tool_name", "decision", "duration_ms"], &["args", "reason"]),
    event("upstream.call.start", PROGRAMS, "A tool of an upstream is called.",
        &["server", "tool_name", "args"], &[]),
    event("upstream.call.stop", PROGRAMS, "It answered.",
        &["result", "result_bytes"], &[]),
    event("upstream.call.exception", PROGRAMS, "It failed, or its program was over first.",
        &["reason", "error"], &[]),
    event("upstream.discover.start", PROGRAMS, "A program looks into the catalog of upstreams.",
        &["operation"], &["query", "ref"]),
    event("upstream.discover.stop", PROGRAMS, "It has what it looked for.",
        &["result", "result_bytes"], &[]),
    event("upstream.discover.exception", PROGRAMS, "There is no such thing.",
        &["reason", "error"], &[]),
    event("discover.start", AGENTS, "A program of an agent looks into the catalog of upstreams.",
        &["args"], &[]),
    event("discover.stop", AGENTS, "It has what it looked for.",
        &["result_bytes"], &[]),
    event("discover.exception", RUN, "There is no such thing.",
        &[], &[]),
];

/// The kind of an event.
pub fn kind(name: &str) -> Option<&'static EventKind> {
    EVENTS.iter().find(|kind| kind.name == name)
}

/// What an event has that its declaration does not say, or the other way round; nothing if they agree.
pub fn differences(record: &Record) -> Vec<String> {
    let name = &record.event;
    let Some(kind) = kind(name) else { return vec![format!("{name} is not declared")] };
    let Ok(Json::Object(line)) = serde_json::to_value(record) else { return Vec::new() };
    let named = line.keys().map(String::as_str);
    let fields: BTreeSet<&str> = named.chain(record.data.keys().map(String::as_str)).collect();
    let ends = matches!(record.phase(), Phase::Stop | Phase::Exception);
    let wanted = kind.has.iter().chain(AT_ENDS.iter().filter(|_| ends));
    let missing =
        wanted.filter(|field| !fields.contains(**field)).map(|field| format!("{name} has no {field}"));
    let known: BTreeSet<&str> =
        [&EVERYWHERE[..], kind.has, kind.may_have].into_iter().flatten().copied().collect();
    let more = fields.difference(&known);
    missing.chain(more.map(|field| format!("{name} has {field}, which is not declared"))).collect()
}

/// The page about events.
pub fn page() -> String {
    let mut out = String::from(
        "# Events of traces\n\nGenerated by `cargo xtask generate` from the declarations; do not edit.\n\n\
         Every line of a [trace](traces.md) is one of these events. `run` stands for agents: `ptc run`, `ptc resume`, and \
         agents in Rust; `eval` for `ptc eval`; `mcp` for `ptc mcp --trace-dir`, where events of agents tell of `lisp_task`. \
         Besides its own fields an event has those that say what it belongs to, and one that ends something \
         (`.stop`, `.exception`) has `duration_ms` and `status`. Fields that have no place of their own on the line stand \
         in its `data`.\n\n| event | in traces of | what it tells | fields | may have |\n|---|---|---|---|---|\n",
    );
    let listed = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    for kind in EVENTS {
        let by: Vec<&str> = kind.by.iter().map(|command| command.name()).collect();
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {} | {} |",
            kind.name,
            by.join(", "),
            kind.tells,
            listed(kind.has),
            listed(kind.may_have)
        );
    }
    out
}
