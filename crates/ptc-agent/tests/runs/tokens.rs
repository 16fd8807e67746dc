//! Tokens of requests and replies, counted by the tokenizer o200k_base: all that a model is given to read and all that it
//! writes. What a provider puts around messages and tools is its own and not counted.

use crate::model::{Reply, Request, ToolCall};

/// Tokens of a text.
pub fn of(text: &str) -> u64 {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as u64
}

/// Tokens of a request: the system prompt, messages with their calls, and tools with their schemas.
pub fn of_request(request: &Request) -> u64 {
    let messages =
        request.messages.iter().map(|message| of(&message.content) + of_calls(&message.tool_calls));
    let tools = request
        .tools
        .iter()
        .map(|tool| of(&tool.name) + of(&tool.description) + of(&tool.parameters.to_string()));
    let schema = request.schema.iter().map(|schema| of(&schema.to_string()));
    of(&request.system) + messages.chain(tools).chain(schema).sum::<u64>()
}

/// Tokens of a reply.
#[allow(dead_code)] // Not everybody who counts has replies.
pub fn of_reply(reply: &Reply) -> u64 {
    reply.content.as_deref().map_or(0, of) + of_calls(&reply.tool_calls)
}

fn of_calls(calls: &[ToolCall]) -> u64 {
    calls.iter().map(|call| of(&call.name) + of(&call.args.to_string())).sum()
}
