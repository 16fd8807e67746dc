//! OpenAI's chat completions, the wire format that most servers speak.

use ptc_agent::model::{Message, Request, Role, Tokens, ToolSchema};
use serde_json::{Value as Json, json};

use super::draft::Draft;
use super::fault::{Class, Fault};
use super::genai::schema;
use super::options::Options;
use crate::provider::Provider;
use crate::registry::Target;

/// The path behind the provider's URL.
pub(super) const PATH: &str = "chat/completions";

/// The body of a request, and whether the answer comes wrapped.
pub(super) fn body(request: &Request, target: &Target, options: Options, stream: bool) -> (Json, bool) {
    let mut body = json!({"model": target.model, "messages": messages(request, target), "stream": stream});
    if stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    let mut wrapped = false;
    if let Some(schema) = &request.schema {
        let (schema, outer) = schema::for_openai(schema);
        wrapped = outer;
        body["response_format"] = json!({"type": "json_schema", "json_schema": {"name": "answer", "strict": true, "schema": schema}});
    }
    if let Some(most) = options.max_tokens {
        // OpenAI has a name of its own for its newer models; nobody else has.
        let name = if target.provider == Provider::OpenAi { "max_completion_tokens" } else { "max_tokens" };
        body[name] = json!(most);
    }
    if target.provider == Provider::OpenRouter {
        body["usage"] = json!({"include": true});
    }
    if request.cache {
        cache(&mut body, request, target);
    }
    for (name, value) in [("temperature", options.temperature), ("top_p", options.top_p)] {
        if let Some(value) = value {
            body[name] = json!(value);
        }
    }
    if let Some(seed) = options.seed {
        body["seed"] = json!(seed);
    }
    if !options.stop.is_empty() {
        body["stop"] = json!(options.stop);
    }
    options.over(&mut body);
    (body, wrapped)
}

/// OpenAI caches by itself and only wants to know what belongs together; OpenRouter hands the marks of
/// Anthropic on, and its caches are the provider's own, so the provider stays the same.
fn cache(body: &mut Json, request: &Request, target: &Target) {
    match target.provider {
        Provider::OpenAi => {
            let digest =
                crate::offline::Digest::of(&Request { system: request.system.clone(), ..Request::default() });
            body["prompt_cache_key"] = json!(digest.short());
        }
        Provider::OpenRouter if marks(target) => body["provider"] = json!({"only": ["anthropic"]}),
        _ => {}
    }
}

fn marks(target: &Target) -> bool {
    target.provider == Provider::OpenRouter && target.model.starts_with("anthropic/")
}

fn messages(request: &Request, target: &Target) -> Vec<Json> {
    let system = match request.cache && marks(target) {
        true => json!([{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}]),
        false => json!(request.system),
    };
    let first = (!request.system.is_empty()).then(|| json!({"role": "system", "content": system}));
    first.into_iter().chain(request.messages.iter().map(message)).collect()
}

fn tool(tool: &ToolSchema) -> Json {
    let mut function = json!({"name": tool.name, "parameters": tool.parameters});
    if !tool.description.is_empty() {
        function["description"] = json!(tool.description);
    }
    json!({"type": "function", "function": function})
}

fn message(message: &Message) -> Json {
    match message.role {
        Role::System => json!({"role": "system", "content": message.content}),
        Role::User => json!({"role": "user", "content": message.content}),
        Role::Tool => json!({
            "role": "tool", "tool_call_id": message.tool_call_id, "content": message.content,
        }),
        Role::Assistant if message.tool_calls.is_empty() => {
            json!({"role": "assistant", "content": message.content})
        }
        Role::Assistant => {
            let calls = message.tool_calls.iter().map(|call| {
                let function = json!({"name": call.name, "arguments": call.args.to_string()});
                json!({"id": call.id, "type": "function", "function": function})
            });
            let content = (!message.content.is_empty()).then_some(&message.content);
            json!({"role": "assistant", "content": content, "tool_calls": calls.collect::<Vec<_>>()})
        }
    }
}

/// Reads a whole reply.
pub(super) fn read(reply: &Json, draft: &mut Draft) -> Result<(), Fault> {
    if let Some(error) = reply.get("error").filter(|error| !error.is_null()) {
        return Err(Fault::of_event(error));
    }
    let Some(message) = reply.pointer("/choices/0/message") else {
        return Err(Fault::new(Class::Malformed, "the reply has no choices"));
    };
    take(message, true, draft)?;
    draft.tokens = usage(reply);
    draft.cut = is_cut(reply.pointer("/choices/0/finish_reason"));
    draft.ended = true;
    Ok(())
}

/// Reads an event of a stream; says whether there may be more.
pub(super) fn event(data: &str, draft: &mut Draft) -> Result<bool, Fault> {
    if data.trim() == "[DONE]" {
        draft.ended = true;
        return Ok(false);
    }
    let event: Json = serde_json::from_str(data).map_err(|error| {
        Fault::new(Class::Malformed, format!("an event of the reply is no JSON ({error})"))
    })?;
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Err(Fault::of_event(error));
    }
    if let Some(tokens) = usage(&event) {
        draft.tokens = Some(tokens);
    }
    let Some(choice) = event.pointer("/choices/0") else { return Ok(true) };
    if let Some(delta) = choice.get("delta") {
        take(delta, false, draft)?;
    }
    // Usage comes behind the end, so this is not the last event.
    draft.ended |= choice.get("finish_reason").is_some_and(|reason| !reason.is_null());
    draft.cut |= is_cut(choice.get("finish_reason"));
    Ok(true)
}

fn is_cut(reason: Option<&Json>) -> bool {
    reason.and_then(Json::as_str) == Some("length")
}

/// Text and calls of a message or of a piece of one.
fn take(message: &Json, whole: bool, draft: &mut Draft) -> Result<(), Fault> {
    match message.get("content") {
        Some(Json::String(text)) => draft.say(text),
        // Some servers send parts.
        Some(Json::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text")?.as_str()).for_each(|text| draft.say(text));
        }
        _ => {}
    }
    // A model that refuses says why, and that is all it says.
    draft.say(message.get("refusal").and_then(Json::as_str).unwrap_or_default());
    let calls = message.get("tool_calls").and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
    for (number, call) in calls.iter().enumerate() {
        let at = match (call.get("index").and_then(Json::as_u64), whole) {
            (Some(at), _) => usize::try_from(at).unwrap_or(usize::MAX),
            (None, true) => number,
            // Not everybody numbers the pieces of a stream.
            (None, false) => draft.place(call.get("id").and_then(Json::as_str)),
        };
        let args = match call.pointer("/function/arguments") {
            Some(Json::String(text)) => text.clone(),
            Some(args @ Json::Object(_)) => args.to_string(),
            _ => String::new(),
        };
        let text = |pointer| call.pointer(pointer).and_then(Json::as_str);
        draft.call(at, text("/id"), text("/function/name"), &args)?;
    }
    Ok(())
}

fn usage(reply: &Json) -> Option<Tokens> {
    let usage = reply.get("usage").filter(|usage| usage.is_object())?;
    let count = |pointer| usage.pointer(pointer).and_then(Json::as_u64).unwrap_or(0);
    Some(Tokens {
        input: count("/prompt_tokens"),
        output: count("/completion_tokens"),
        cache_creation: count("/prompt_tokens_details/cache_write_tokens"),
        cache_read: count("/prompt_tokens_details/cached_tokens"),
        cost_usd: usage.get("cost").and_then(Json::as_f64).filter(|cost| *cost >= 0.0),
    })
}
