//! Anthropic's messages.

use ptc_agent::model::{Message, Request, Role, Tokens};
use serde_json::{Value as Json, json};

use super::draft::Draft;
use super::fault::{Class, Fault};
use super::genai::schema;
use super::options::Options;

/// The path behind the provider's URL.
pub(super) const PATH: &str = "messages";

/// The header of the key, and the version of the interface.
pub(super) const KEY_HEADER: &str = "x-api-key";
pub(super) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

/// The interface wants a limit; this is more than any program needs.
const MAX_TOKENS: u64 = 8_192;

/// The body of a request, and whether the answer comes wrapped.
pub(super) fn body(request: &Request, model: &str, options: Options, stream: bool) -> (Json, bool) {
    let mut messages = turns(request, blocks);
    if request.cache {
        mark_last(&mut messages);
    }
    let mut body = json!({
        "model": model,
        "max_tokens": options.max_tokens.unwrap_or(MAX_TOKENS),
        "messages": messages,
        "stream": stream,
    });
    let system = system(request);
    if !system.is_empty() {
        body["system"] = match request.cache {
            true => json!([{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]),
            false => json!(system),
        };
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ptc_agent::model::ToolSchema| {
            let mut json = json!({"name": tool.name, "input_schema": tool.parameters});
            if !tool.description.is_empty() {
                json["description"] = json!(tool.description);
            }
            json
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let mut wrapped = false;
    if let Some(schema) = &request.schema {
        let (schema, outer) = schema::for_anthropic(schema);
        wrapped = outer;
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    }
    for (name, value) in [("temperature", options.temperature), ("top_p", options.top_p)] {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    if !options.stop.is_empty() {
        body["stop_sequences"] = json!(options.stop);
    }
    options.over(&mut body);
    (body, wrapped)
}

/// All rules for the model in one text.
pub(super) fn system(request: &Request) -> String {
    let inside = request.messages.iter().filter(|message| message.role == Role::System);
    let all = std::iter::once(&request.system).chain(inside.map(|message| &message.content));
    all.filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n\n")
}

/// The conversation: messages of one side behind each other become one, and results of tools are the user's.
/// `blocks` makes the parts of a message.
pub(super) fn turns(request: &Request, blocks: fn(&Message) -> Vec<Json>) -> Vec<Json> {
    let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
    for message in request.messages.iter().filter(|message| message.role != Role::System) {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let blocks = blocks(message);
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let said = turns.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    said.map(|(role, blocks)| json!({"role": role, "content": blocks})).collect()
}

fn blocks(message: &Message) -> Vec<Json> {
    if message.role == Role::Tool {
        let id = &message.tool_call_id;
        return vec![json!({"type": "tool_result", "tool_use_id": id, "content": message.content})];
    }
    // Empty text is refused.
    let text = (!message.content.trim().is_empty()).then(|| json!({"type": "text", "text": message.content}));
    let calls = message
        .tool_calls
        .iter()
        .map(|call| json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args}));
    text.into_iter().chain(calls).collect()
}

/// Marks the end of the conversation, so that the next turn finds all of this one in the cache.
fn mark_last(messages: &mut [Json]) {
    let blocks = messages.last_mut().and_then(|message| message.get_mut("content")?.as_array_mut());
    if let Some(block) = blocks.and_then(|blocks| blocks.last_mut()) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

/// Reads a whole reply.
pub(super) fn read(reply: &Json, draft: &mut Draft) -> Result<(), Fault> {
    if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
        return Err(Fault::of_event(error));
    }
    let Some(content) = reply.get("content").and_then(Json::as_array) else {
        return Err(Fault::new(Class::Malformed, "the reply has no content"));
    };
    for block in content {
        begin(block, draft)?;
    }
    draft.tokens = reply.get("usage").map(|usage| tokens(usage, Tokens::default()));
    draft.cut = reply.get("stop_reason").and_then(Json::as_str) == Some("max_tokens");
    draft.ended = true;
    Ok(())
}

/// Reads an event of a stream; says whether there may be more.
pub(super) fn event(data: &str, draft: &mut Draft) -> Result<bool, Fault> {
    let event: Json = serde_json::from_str(data).map_err(|error| {
        Fault::new(Class::Malformed, format!("an event of the reply is no JSON ({error})"))
    })?;
    let text = |pointer| event.pointer(pointer).and_then(Json::as_str);
    match text("/type").unwrap_or_default() {
        "message_start" => {
            draft.tokens = event.pointer("/message/usage").map(|usage| tokens(usage, Tokens::default()));
        }
        "content_block_start" => {
            if let Some(block) = event.get("content_block") {
                begin(block, draft)?;
            }
        }
        "content_block_delta" => {
            draft.say(text("/delta/text").unwrap_or_default());
            if let (Some(args), Some(last)) = (text("/delta/partial_json"), draft.calls().checked_sub(1)) {
                draft.call(last, None, None, args)?;
            }
        }
        "message_delta" => {
            draft.cut |= text("/delta/stop_reason") == Some("max_tokens");
            if let Some(usage) = event.get("usage") {
                draft.tokens = Some(tokens(usage, draft.tokens.unwrap_or_default()));
            }
        }
        "message_stop" => {
            draft.ended = true;
            return Ok(false);
        }
        "error" => return Err(Fault::of_event(event.get("error").unwrap_or(&event))),
        _ => {}
    }
    Ok(true)
}

/// A block, whole or at its beginning; thoughts of the model are not for us.
fn begin(block: &Json, draft: &mut Draft) -> Result<(), Fault> {
    let text = |name| block.get(name).and_then(Json::as_str);
    match text("type") {
        Some("text") => draft.say(text("text").unwrap_or_default()),
        Some("tool_use") => {
            let whole =
                block.get("input").filter(|input| input.as_object().is_none_or(|input| !input.is_empty()));
            let args = whole.map(Json::to_string).unwrap_or_default();
            draft.call(draft.calls(), text("id"), text("name"), &args)?;
        }
        _ => {}
    }
    Ok(())
}

/// What was used, over what was known. Tokens from and for the cache are not in `input_tokens` here.
fn tokens(usage: &Json, before: Tokens) -> Tokens {
    let count = |name: &str| usage.get(name).and_then(Json::as_u64);
    let cache_creation = count("cache_creation_input_tokens").unwrap_or(before.cache_creation);
    let cache_read = count("cache_read_input_tokens").unwrap_or(before.cache_read);
    let fresh = count("input_tokens")
        .unwrap_or(before.input.saturating_sub(before.cache_creation.saturating_add(before.cache_read)));
    Tokens {
        input: fresh.saturating_add(cache_creation).saturating_add(cache_read),
        output: count("output_tokens").unwrap_or(before.output),
        cache_creation,
        cache_read,
        cost_usd: None,
    }
}
