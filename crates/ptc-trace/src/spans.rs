//! Spans of the `tracing` crate: what a trace tells, for programs that watch themselves with it. Names and fields
//! follow the conventions of OpenTelemetry for generative models.

use std::collections::BTreeMap;

use tracing::{Span, field, info_span};

use crate::record::{Phase, Record};
use crate::sink::Sink;

/// Makes a span of `tracing` for every span of a trace, inside the one around it.
#[derive(Default)]
pub struct Spans {
    open: BTreeMap<(String, String), Span>,
}

/// Spans that are open at once; further ones are not made.
const MAX_OPEN: usize = 10_000;

impl Sink for Spans {
    fn take(&mut self, record: &Record) {
        let Some(id) = &record.span_id else { return };
        let key = (record.trace_id.clone(), id.clone());
        match record.phase() {
            Phase::Start if self.open.len() < MAX_OPEN => {
                let around = record.parent_span_id.clone().map(|id| (record.trace_id.clone(), id));
                let parent = around.and_then(|key| self.open.get(&key)).cloned().unwrap_or_else(Span::none);
                let span = opened(record, &parent);
                self.open.insert(key, span);
            }
            Phase::Start | Phase::Point => {}
            Phase::Stop | Phase::Exception => {
                let Some(span) = self.open.remove(&key) else { return };
                fill(&span, record);
                if record.parent_span_id.is_none() {
                    // What a cancelled run left open is over too.
                    self.open.retain(|(trace_id, _), _| *trace_id != record.trace_id);
                }
            }
        }
    }
}

fn opened(record: &Record, parent: &Span) -> Span {
    let empty = field::Empty;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let agent = text(&record.agent_name);
    let span = match record.subject() {
        "run" => info_span!(parent: parent, "invoke_agent", gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = agent, gen_ai.agent.id = text(&record.agent_id), error.type = empty,
            gen_ai.usage.input_tokens = empty, gen_ai.usage.output_tokens = empty, ptc.trace_id = record.trace_id),
        "turn" => info_span!(parent: parent, "turn", ptc.turn = empty, ptc.fuel = empty, error.type = empty),
        "llm" => {
            info_span!(parent: parent, "chat", gen_ai.operation.name = "chat", gen_ai.request.model = empty,
            gen_ai.usage.input_tokens = empty, gen_ai.usage.output_tokens = empty, error.type = empty)
        }
        "lisp.execute" => info_span!(parent: parent, "program", ptc.fuel = empty, error.type = empty),
        "pmap" => info_span!(parent: parent, "pmap", error.type = empty),
        "tool" => info_span!(parent: parent, "execute_tool", gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = text(&record.tool_name), error.type = empty),
        "upstream.call" => info_span!(parent: parent, "tools/call", mcp.method.name = "tools/call",
            gen_ai.tool.name = text(&record.tool_name), error.type = empty),
        other => info_span!(parent: parent, "span", ptc.subject = other, error.type = empty),
    };
    fill(&span, record);
    span
}

fn fill(span: &Span, record: &Record) {
    for (name, value) in [
        ("ptc.turn", record.turn),
        ("ptc.fuel", record.data.get("fuel").and_then(serde_json::Value::as_u64)),
        ("gen_ai.usage.input_tokens", record.input_tokens),
        ("gen_ai.usage.output_tokens", record.output_tokens),
    ] {
        if let Some(value) = value {
            span.record(name, value);
        }
    }
    if let Some(model) = &record.model {
        span.record("gen_ai.request.model", model.as_str());
    }
    if record.status.as_deref() == Some("error") {
        let reason = record.data.get("reason").and_then(serde_json::Value::as_str).unwrap_or("error");
        span.record("error.type", reason);
    }
}
