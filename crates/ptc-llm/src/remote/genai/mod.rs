//! Gemini, through the crate genai, and what that crate knows of JSON Schema. This folder is the only place that
//! knows it.
//!
//! The other formats are spoken directly (`openai.rs`, `anthropic.rs`, `bedrock/`), because through genai a body
//! cannot be bounded before it is read, arguments of a tool that are no JSON fail the whole reply, ids of models
//! that end in `-low` or `-none` are changed, OpenRouter and Bedrock get no marks for the cache, and Bedrock no
//! schema. Here the parts of a stream are counted, and the time of the whole is limited.

pub(super) mod schema;

use std::collections::BTreeMap;

use ::genai::adapter::AdapterKind;
use ::genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, JsonSpec,
    MessageContent, Tool, ToolCall, ToolResponse,
};
use ::genai::resolver::{AuthData, Endpoint};
use ::genai::webc::StreamTimeout;
use ::genai::{Client, Error, ModelIden, ServiceTarget};
use futures_util::StreamExt;
use ptc_agent::model::{Message, Request, Role, Tokens};
use reqwest::header::HeaderMap;
use serde_json::Value as Json;

use super::draft::Draft;
use super::fault::{Class, Fault};
use super::http::Bounds;
use super::options::Options;

/// A model behind genai.
pub(super) struct Through {
    client: Client,
    place: ServiceTarget,
}

impl Through {
    /// A model of a provider at a URL.
    pub(super) fn new(http: reqwest::Client, model: &str, url: &str, key: &str) -> Result<Self, String> {
        let client = Client::builder().with_reqwest(http).build();
        Ok(Through {
            client: client.map_err(|error| format!("no client: {error}"))?,
            place: ServiceTarget {
                endpoint: Endpoint::from_owned(format!("{}/", url.trim_end_matches('/'))),
                auth: AuthData::from_single(key),
                model: ModelIden::new(AdapterKind::Gemini, model.to_owned()),
            },
        })
    }

    /// Asks, and takes the reply in pieces.
    pub(super) async fn ask(
        &self,
        request: &Request,
        options: Options,
        bounds: Bounds,
        draft: &mut Draft,
    ) -> Result<(), Fault> {
        let (options, wrapped) = chat_options(request, options, bounds);
        draft.wrapped = wrapped;
        let asked = self.client.exec_chat_stream(self.place.clone(), chat_request(request), Some(&options));
        let mut stream = asked.await.map_err(fault)?.stream;
        let mut read = 0usize;
        while let Some(event) = stream.next().await {
            match event.map_err(fault)? {
                ChatStreamEvent::Chunk(chunk) => {
                    read = read.saturating_add(chunk.content.len());
                    draft.say(&chunk.content);
                }
                ChatStreamEvent::ReasoningChunk(chunk) => read = read.saturating_add(chunk.content.len()),
                ChatStreamEvent::End(end) => {
                    for call in end.captured_content.iter().flat_map(MessageContent::tool_calls) {
                        take_call(call, draft)?;
                    }
                    draft.tokens = end.captured_usage.map(tokens);
                    draft.ended = true;
                }
                _ => {}
            }
            if read > bounds.bytes {
                let message = format!("the reply is larger than {} bytes", bounds.bytes);
                return Err(Fault::new(Class::TooLarge, message));
            }
        }
        Ok(())
    }
}

fn take_call(call: &ToolCall, draft: &mut Draft) -> Result<(), Fault> {
    let args = match &call.fn_arguments {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        args => args.to_string(),
    };
    draft.call(draft.calls(), Some(&call.call_id), Some(&call.fn_name), &args)
}

fn chat_request(request: &Request) -> ChatRequest {
    // Gemini wants the name of the tool with its result.
    let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
    let names: BTreeMap<&str, &str> = calls.map(|call| (&*call.id, &*call.name)).collect();
    let messages = request.messages.iter().map(|message| chat_message(message, &names)).collect();
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(&request.system);
    }
    if !request.tools.is_empty() {
        let tool = |tool: &ptc_agent::model::ToolSchema| {
            let described = Tool::new(&tool.name).with_schema(tool.parameters.clone());
            if tool.description.is_empty() {
                described
            } else {
                described.with_description(&tool.description)
            }
        };
        chat = chat.with_tools(request.tools.iter().map(tool));
    }
    chat
}

fn chat_message(message: &Message, names: &BTreeMap<&str, &str>) -> ChatMessage {
    match message.role {
        Role::System => ChatMessage::system(&message.content),
        Role::User => ChatMessage::user(&message.content),
        Role::Tool => {
            let id = message.tool_call_id.clone().unwrap_or_default();
            let name = names.get(&*id).copied().unwrap_or_default().to_owned();
            ChatMessage::tool(MessageContent::from_tool_responses(vec![
                ToolResponse::new(id, &message.content).with_fn_name(name),
            ]))
        }
        Role::Assistant => {
            let text = (!message.content.is_empty()).then(|| ContentPart::Text(message.content.clone()));
            let calls = message.tool_calls.iter().map(|call| {
                ContentPart::ToolCall(ToolCall {
                    call_id: call.id.clone(),
                    fn_name: call.name.clone(),
                    fn_arguments: call.args.clone(),
                    thought_signatures: None,
                })
            });
            ChatMessage::assistant(MessageContent::from_parts(
                text.into_iter().chain(calls).collect::<Vec<_>>(),
            ))
        }
    }
}

fn chat_options(request: &Request, options: Options, bounds: Bounds) -> (ChatOptions, bool) {
    let mut chat = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_stream_header_timeout(bounds.idle)
        .with_stream_read_timeout(bounds.idle)
        .with_stop_sequences(options.stop);
    chat.temperature = options.temperature;
    chat.top_p = options.top_p;
    chat.seed = options.seed;
    chat.max_tokens = options.max_tokens.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
    chat.cache_control = request.cache.then_some(CacheControl::Ephemeral);
    if !options.provider_options.is_empty() {
        chat.extra_body = Some(Json::Object(options.provider_options));
    }
    let mut wrapped = false;
    if let Some(given) = &request.schema {
        let (object, outer) = schema::object(given);
        wrapped = outer;
        chat = chat.with_response_format(JsonSpec::new("answer", object));
    }
    (chat, wrapped)
}

fn tokens(usage: ::genai::chat::Usage) -> Tokens {
    let count = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    let details = usage.prompt_tokens_details.unwrap_or_default();
    Tokens {
        input: count(usage.prompt_tokens),
        output: count(usage.completion_tokens),
        cache_creation: count(details.cache_creation_tokens),
        cache_read: count(details.cached_tokens),
        cost_usd: None,
    }
}

/// What an error of genai means; its own text may hold the whole request, so it is never shown.
fn fault(error: Error) -> Fault {
    match error {
        Error::HttpError { status, body, headers, .. } => Fault::of_status(status.as_u16(), &headers, &body),
        Error::ChatResponse { body, .. } => Fault::of_event(body.get("error").unwrap_or(&body)),
        Error::WebStream { error, .. } => {
            if error.is::<StreamTimeout>() {
                return Fault::new(Class::Timeout, error.to_string());
            }
            if let Some(error) = error.downcast_ref::<reqwest::Error>() {
                return Fault::of_transport(error);
            }
            match error.downcast::<Error>() {
                Ok(inner) => fault(*inner),
                Err(_) => Fault::new(Class::Unavailable, "the connection was cut"),
            }
        }
        Error::AdapterNotSupported { feature, .. } => {
            Fault::new(Class::BadRequest, format!("the provider has no {feature}"))
        }
        other => match other.status() {
            Some(status) => {
                let headers = other.headers().cloned().unwrap_or_else(HeaderMap::new);
                Fault::of_status(status.as_u16(), &headers, "")
            }
            None => Fault::new(Class::Malformed, "the reply is not what this provider sends"),
        },
    }
}
