//! What spans are called in OpenTelemetry: the conventions for generative models and for MCP where they have a
//! word, names under `ptc.` where they have none.

use opentelemetry::KeyValue;
use opentelemetry::trace::SpanKind;
use serde_json::{Map, Value as Json};

use crate::record::Record;

/// The kind and name of a span, known when it begins.
pub fn named(record: &Record) -> (SpanKind, String) {
    let tool = record.tool_name.as_deref().unwrap_or("tool");
    let subject = record.subject();
    let with = |verb: &str, name: Option<&str>| match name {
        Some(name) => format!("{verb} {name}"),
        None => verb.to_owned(),
    };
    match subject {
        "run" => (SpanKind::Internal, with("invoke_agent", record.agent_name.as_deref())),
        "turn" => (SpanKind::Internal, with("turn", record.turn.map(|turn| turn.to_string()).as_deref())),
        "llm" => (SpanKind::Client, with("chat", record.model.as_deref())),
        "lisp.execute" => (SpanKind::Internal, "execute_program".to_owned()),
        "tool" => (SpanKind::Internal, with("execute_tool", Some(tool))),
        "upstream.call" => (SpanKind::Client, with("tools/call", Some(tool))),
        "mcp.call" => (SpanKind::Server, with("tools/call", record.tool_name.as_deref())),
        other => (SpanKind::Internal, other.to_owned()),
    }
}

/// What is fixed for a kind of span.
fn fixed(subject: &str) -> &'static [(&'static str, &'static str)] {
    match subject {
        "run" => &[("gen_ai.operation.name", "invoke_agent")],
        "llm" => &[("gen_ai.operation.name", "chat")],
        "tool" => &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.type", "function")],
        "upstream.call" => &[
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.type", "extension"),
            ("mcp.method.name", "tools/call"),
        ],
        "mcp.call" => &[("mcp.method.name", "tools/call")],
        _ => &[],
    }
}

/// Names of data that OpenTelemetry knows by other names.
const DATA: [(&str, &str, &str); 9] = [
    ("mcp.call", "session_id", "mcp.session.id"),
    ("mcp.call", "request_id", "jsonrpc.request.id"),
    ("mcp.call", "protocol_version", "mcp.protocol.version"),
    ("upstream.call", "protocol_version", "mcp.protocol.version"),
    ("tool", "args", "gen_ai.tool.call.arguments"),
    ("tool", "result", "gen_ai.tool.call.result"),
    ("upstream.call", "args", "gen_ai.tool.call.arguments"),
    ("upstream.call", "result", "gen_ai.tool.call.result"),
    ("run", "tool_names", "gen_ai.tool.definitions"),
];

/// Attributes of a span: what its first and its last event say.
pub fn attributes(record: &Record) -> Vec<KeyValue> {
    let subject = record.subject();
    let mut all: Vec<KeyValue> =
        fixed(subject).iter().map(|(name, value)| KeyValue::new(*name, *value)).collect();
    let texts = [
        ("gen_ai.agent.name", &record.agent_name),
        ("gen_ai.agent.id", &record.agent_id),
        ("gen_ai.tool.name", &record.tool_name),
        ("gen_ai.request.model", &record.model),
    ];
    all.extend(
        texts.into_iter().filter_map(|(name, text)| text.clone().map(|text| KeyValue::new(name, text))),
    );
    if let Some((provider, _)) = record.model.as_deref().and_then(|model| model.split_once(':')) {
        all.push(KeyValue::new("gen_ai.provider.name", provider.to_owned()));
    }
    let numbers = [
        ("ptc.turn", record.turn),
        ("gen_ai.usage.input_tokens", record.input_tokens),
        ("gen_ai.usage.output_tokens", record.output_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", record.cache_creation_tokens),
        ("gen_ai.usage.cache_read.input_tokens", record.cache_read_tokens),
    ];
    let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    all.extend(numbers.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, number(value?)))));
    all.extend(facts(subject, &record.data));
    if record.status.as_deref() == Some("error") {
        all.push(KeyValue::new("error.type", reason(record).to_owned()));
    }
    all
}

/// Why a span failed, as one word.
pub fn reason(record: &Record) -> &str {
    record.data.get("reason").and_then(Json::as_str).unwrap_or("error")
}

/// Data as attributes, under `ptc.` unless the conventions have a name.
pub fn facts(subject: &str, data: &Map<String, Json>) -> impl Iterator<Item = KeyValue> {
    data.iter().filter_map(move |(name, value)| {
        let known = DATA.iter().find(|(of, own, _)| *of == subject && own == name);
        let key = known.map_or_else(|| format!("ptc.{name}"), |(_, _, key)| (*key).to_owned());
        Some(match value {
            Json::Null => return None,
            Json::Bool(value) => KeyValue::new(key, *value),
            Json::Number(value) => match value.as_i64() {
                Some(whole) => KeyValue::new(key, whole),
                None => KeyValue::new(key, value.as_f64()?),
            },
            Json::String(text) => KeyValue::new(key, text.clone()),
            Json::Array(_) | Json::Object(_) => KeyValue::new(key, value.to_string()),
        })
    })
}
