//! Bedrock's Converse.

mod frames;
mod sign;

use ptc_agent::model::{Message, Request, Role, Tokens};
use serde_json::{Value as Json, json};

use super::anthropic::{system, turns};
use super::draft::Draft;
use super::fault::{Class, Fault};
use super::genai::schema;
use super::options::Options;
use sign::encoded;

pub(super) use frames::{Frame, Frames};
pub(super) use sign::Credentials;

/// The type of a stream's body.
pub(super) const STREAM: &str = "application/vnd.amazon.eventstream";

/// Converse takes no schema for an answer; a tool of this name that must be called takes its place.
const ANSWER: &str = "answer";

/// The path behind the provider's URL.
pub(super) fn path(model: &str, stream: bool) -> String {
    format!("model/{}/{}", encoded(model, ""), if stream { "converse-stream" } else { "converse" })
}

/// Whether the answer comes as the arguments of a tool.
pub(super) fn answers_by_tool(request: &Request) -> bool {
    request.schema.is_some() && request.tools.is_empty()
}

/// The body of a request, and whether the answer comes wrapped.
pub(super) fn body(request: &Request, model: &str, options: Options) -> (Json, bool) {
    // Other models refuse the marks.
    let cache =
        request.cache && ["anthropic.claude", "amazon.nova"].iter().any(|known| model.contains(known));
    let mark = cache.then(|| json!({"cachePoint": {"type": "default"}}));
    let mut messages = turns(request, blocks);
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut()) {
        last.extend(mark.clone());
    }
    let mut body = json!({"messages": messages, "inferenceConfig": inference(&options)});
    let rules = system(request);
    if !rules.is_empty() {
        body["system"] = std::iter::once(json!({"text": rules})).chain(mark).collect();
    }
    let mut wrapped = false;
    if let Some(given) = request.schema.as_ref().filter(|_| answers_by_tool(request)) {
        let (schema, outer) = schema::object(given);
        wrapped = outer;
        body["toolConfig"] = json!({
            "tools": [spec(ANSWER, "Takes the answer", &schema)],
            "toolChoice": {"tool": {"name": ANSWER}},
        });
    } else if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| spec(&tool.name, &tool.description, &tool.parameters));
        body["toolConfig"] = json!({"tools": tools.collect::<Vec<_>>()});
    }
    options.over(&mut body);
    (body, wrapped)
}

fn inference(options: &Options) -> Json {
    let mut config = json!({});
    for (name, value) in [
        ("maxTokens", options.max_tokens.map(Json::from)),
        ("temperature", options.temperature.map(Json::from)),
        ("topP", options.top_p.map(Json::from)),
        ("stopSequences", (!options.stop.is_empty()).then(|| json!(options.stop))),
    ] {
        if let Some(value) = value {
            config[name] = value;
        }
    }
    config
}

fn spec(name: &str, description: &str, parameters: &Json) -> Json {
    let mut spec = json!({"name": name, "inputSchema": {"json": parameters}});
    if !description.is_empty() {
        spec["description"] = json!(description);
    }
    json!({"toolSpec": spec})
}

fn blocks(message: &Message) -> Vec<Json> {
    if message.role == Role::Tool {
        let content = json!([{"text": message.content}]);
        return vec![json!({"toolResult": {"toolUseId": message.tool_call_id, "content": content}})];
    }
    // Empty text is refused.
    let text = (!message.content.trim().is_empty()).then(|| json!({"text": message.content}));
    let used = message.tool_calls.iter();
    let used =
        used.map(|call| json!({"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.args}}));
    text.into_iter().chain(used).collect()
}

/// Reads a whole reply.
pub(super) fn read(reply: &Json, draft: &mut Draft) -> Result<(), Fault> {
    let Some(content) = reply.pointer("/output/message/content").and_then(Json::as_array) else {
        return Err(Fault::new(Class::Malformed, "the reply has no message"));
    };
    for block in content {
        let text = |pointer| block.pointer(pointer).and_then(Json::as_str);
        draft.say(text("/text").unwrap_or_default());
        if let Some(input) = block.pointer("/toolUse/input") {
            let (id, name) = (text("/toolUse/toolUseId"), text("/toolUse/name"));
            draft.call(draft.calls(), id, name, &input.to_string())?;
        }
    }
    draft.tokens = reply.get("usage").map(tokens);
    draft.cut = reply.get("stopReason").and_then(Json::as_str) == Some("max_tokens");
    draft.ended = true;
    Ok(())
}

/// Reads a frame of a stream; says whether there may be more.
pub(super) fn frame(frame: &Frame, draft: &mut Draft) -> Result<bool, Fault> {
    let payload: Json = serde_json::from_slice(&frame.payload).map_err(|error| {
        Fault::new(Class::Malformed, format!("a frame of the reply is no JSON ({error})"))
    })?;
    let text = |pointer| payload.pointer(pointer).and_then(Json::as_str);
    if let Some(kind) = &frame.exception {
        return Err(Fault::of_event(&json!({"type": kind, "message": text("/message")})));
    }
    match frame.event.as_str() {
        "contentBlockStart" if payload.pointer("/start/toolUse").is_some() => {
            let (id, name) = (text("/start/toolUse/toolUseId"), text("/start/toolUse/name"));
            draft.call(draft.calls(), id, name, "")?;
        }
        "contentBlockDelta" => {
            draft.say(text("/delta/text").unwrap_or_default());
            if let (Some(args), Some(last)) = (text("/delta/toolUse/input"), draft.calls().checked_sub(1)) {
                draft.call(last, None, None, args)?;
            }
        }
        "messageStop" => {
            draft.cut = text("/stopReason") == Some("max_tokens");
            draft.ended = true;
        }
        // Usage comes last.
        "metadata" => {
            draft.tokens = payload.get("usage").map(tokens);
            return Ok(false);
        }
        _ => {}
    }
    Ok(true)
}

/// What was used. Tokens from and for the cache are not in `inputTokens`.
fn tokens(usage: &Json) -> Tokens {
    let count = |name: &str| usage.get(name).and_then(Json::as_u64).unwrap_or(0);
    let (cache_read, cache_creation) = (count("cacheReadInputTokens"), count("cacheWriteInputTokens"));
    Tokens {
        input: count("inputTokens").saturating_add(cache_read).saturating_add(cache_creation),
        output: count("outputTokens"),
        cache_creation,
        cache_read,
        cost_usd: None,
    }
}
