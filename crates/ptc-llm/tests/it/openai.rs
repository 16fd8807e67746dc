//! OpenAI's wire format, and what differs between those who speak it.

use ptc_agent::model::{Message, Request, ToolCall, ToolSchema};
use ptc_llm::Provider;
use serde_json::{Value as Json, json};

use crate::server::{Act, KEY, Server, Setup, fine, stream};

fn tool() -> ToolSchema {
    ToolSchema {
        name: "orders".into(),
        description: "All orders".into(),
        parameters: json!({"type": "object"}),
    }
}

fn conversation() -> Request {
    let call = ToolCall { id: "c1".into(), name: "orders".into(), args: json!({"n": 1}), args_error: None };
    Request {
        system: "Rules.".into(),
        messages: vec![
            Message::user("How many?"),
            Message::calling("", vec![call]),
            Message::tool("c1", "[1,2]"),
            Message::assistant("Two."),
            Message::user("Sure?"),
        ],
        tools: vec![tool()],
        max_tokens: Some(99),
        llm_opts: json!({"temperature": 0.5, "provider_options": {"top_k": 3}}),
        ..Request::default()
    }
}

fn said(text: &str) -> Json {
    json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 40}},
    })
}

#[tokio::test]
async fn a_conversation_with_tools_goes_over_the_wire() {
    let server = Server::start([fine(said("Yes."))]).await;
    let setup = Setup::new(&server, Provider::OpenAi, "gpt-5-mini");
    let reply = setup.ask(conversation()).await.unwrap();

    assert_eq!(reply.content.as_deref(), Some("Yes."));
    let tokens = reply.tokens.unwrap();
    assert_eq!((tokens.input, tokens.output, tokens.cache_read), (100, 10, 40));
    assert_eq!(tokens.cost_usd, Some((60.0 * 0.25 + 40.0 * 0.025 + 10.0 * 2.0) / 1e6));

    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("post /v1/chat/completions"), "{}", asked.head);
    assert!(asked.head.contains(&format!("authorization: bearer {KEY}")), "{}", asked.head);
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "orders", "arguments": "{\"n\":1}"}});
    assert_eq!(
        asked.body,
        json!({
            "model": "gpt-5-mini",
            "messages": [
                {"role": "system", "content": "Rules."},
                {"role": "user", "content": "How many?"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "[1,2]"},
                {"role": "assistant", "content": "Two."},
                {"role": "user", "content": "Sure?"},
            ],
            "stream": false,
            "tools": [{"type": "function", "function": {
                "name": "orders", "parameters": {"type": "object"}, "description": "All orders",
            }}],
            "max_completion_tokens": 99,
            "temperature": 0.5,
            "top_k": 3,
        })
    );
}

#[tokio::test]
async fn tool_calls_come_back_and_arguments_that_cannot_be_read_are_told() {
    let calls = json!([
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"x\": "}},
    ]);
    let body = json!({"choices": [{"message": {"content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let server = Server::start([fine(body)]).await;
    let reply = Setup::new(&server, Provider::Groq, "m").ask(conversation()).await.unwrap();
    assert_eq!((reply.content, reply.tokens), (None, None));
    assert_eq!((&*reply.tool_calls[0].id, &reply.tool_calls[0].args), ("a", &json!({"x": 1})));
    assert_eq!(reply.tool_calls[1].args, json!({}));
    assert!(reply.tool_calls[1].args_error.as_ref().unwrap().contains("no JSON"));
    assert_eq!(server.asked()[0].body["max_tokens"], 99);
}

#[tokio::test]
async fn a_schema_is_sent_strictly_and_lists_come_back_out_of_their_object() {
    let server = Server::start([fine(said(r#"{"n": 1}"#)), fine(said(r#"{"value": [1, 2]}"#))]).await;
    let setup = Setup::new(&server, Provider::OpenAiCompat, "m");
    let with = |schema: Json| Request {
        messages: vec![Message::user("x")],
        schema: Some(schema),
        ..Request::default()
    };

    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    assert_eq!(setup.ask(with(object)).await.unwrap().content.as_deref(), Some(r#"{"n": 1}"#));
    let list = json!({"type": "array", "items": {"type": "integer"}});
    assert_eq!(setup.ask(with(list)).await.unwrap().content.as_deref(), Some("[1,2]"));

    let format = |at: usize| server.asked()[at].body["response_format"]["json_schema"].clone();
    assert_eq!(
        (&format(0)["strict"], &format(0)["schema"]["additionalProperties"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(format(1)["schema"]["required"], json!(["value"]));
    assert!(!server.asked()[0].head.contains("authorization"), "nobody asked for a key");
}

#[tokio::test]
async fn a_stream_comes_in_pieces_and_ends_whole() {
    let events = [
        r#"{"choices":[{"delta":{"role":"assistant","content":"Hel"}}]}"#,
        r#"{"choices":[{"delta":{"content":"lo"}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#,
        "[DONE]",
    ];
    let server = Server::start([Act::Hang(stream(&events))]).await;
    let setup = Setup::new(&server, Provider::OpenAi, "gpt-5");
    let reply = setup.ask_streaming(conversation()).await.unwrap();
    assert_eq!(setup.pieces(), ["Hel", "lo"]);
    assert_eq!(reply.content.as_deref(), Some("Hello"));
    assert_eq!(reply.tool_calls[0].args, json!({"x": 1}));
    assert_eq!(reply.tokens.map(|tokens| (tokens.input, tokens.output)), Some((5, 2)));
    assert_eq!(server.asked()[0].body["stream_options"], json!({"include_usage": true}));
}

#[tokio::test]
async fn calls_of_a_stream_keep_apart_without_numbers_and_with_ids_said_again() {
    let events = [
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{\"y\""}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":":2"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#,
    ];
    let server = Server::start([Act::Send(stream(&events))]).await;
    let reply = Setup::new(&server, Provider::Ollama, "m").ask_streaming(conversation()).await.unwrap();
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| (&*call.id, &*call.name, &call.args)).collect();
    assert_eq!(calls, [("a", "f", &json!({"x": 1})), ("b", "g", &json!({"y": 2}))]);
}

#[tokio::test]
async fn r10_11_arguments_that_are_no_json_reach_the_model_again_as_an_error() {
    let call = |id: &str, arguments: Json| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let calls = json!([call("a", json!("{\"x\": ")), call("b", json!({"x": 1})), call("c", json!(""))]);
    let body = json!({"choices": [{"message": {"content": null, "tool_calls": calls}, "finish_reason": "tool_calls"}]});
    let server = Server::start([fine(body)]).await;
    let reply = Setup::new(&server, Provider::Ollama, "m").ask(conversation()).await.unwrap();
    let calls: Vec<_> = reply.tool_calls.iter().map(|call| (&call.args, call.args_error.is_some())).collect();
    assert_eq!(calls, [(&json!({}), true), (&json!({"x": 1}), false), (&json!({}), false)]);
}

#[tokio::test]
async fn text_in_parts_and_refusals_are_text() {
    let server = Server::start([
        fine(json!({"choices": [{"message": {"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}}]})),
        fine(json!({"choices": [{"message": {"content": null, "refusal": "I will not."}}]})),
    ])
    .await;
    let setup = Setup::new(&server, Provider::OpenAi, "gpt-5");
    for said in ["in parts", "I will not."] {
        assert_eq!(setup.ask(conversation()).await.unwrap().content.as_deref(), Some(said));
    }
}

#[tokio::test]
async fn a_key_for_a_url_of_ones_own_may_be_given_and_is_asked_for_where_the_file_names_it() {
    let server = Server::start((0..2).map(|_| fine(said("x")))).await;
    let with_key = |settings: &mut ptc_llm::Settings| {
        settings.environment =
            std::sync::Arc::new(|name| (name == "OPENAI_COMPAT_API_KEY").then(|| KEY.into()));
    };
    Setup::with(&server, Provider::OpenAiCompat, "m", with_key).ask(conversation()).await.unwrap();
    Setup::new(&server, Provider::OpenAiCompat, "m").ask(conversation()).await.unwrap();
    let sent = |at: usize| server.asked()[at].head.contains(&format!("authorization: bearer {KEY}"));
    assert_eq!((sent(0), sent(1)), (true, false));
    let target = ptc_llm::Target {
        url: Some(server.url.clone()),
        key_env: Some("MINE".into()),
        ..ptc_llm::Target::new(Provider::OpenAiCompat, "m")
    };
    let none =
        ptc_llm::Settings { environment: std::sync::Arc::new(|_| None), ..ptc_llm::Settings::default() };
    let error = ptc_llm::Remote::new(&target, none).unwrap_err();
    assert_eq!(error, "`openai-compat:m` needs a key; put it into the variable MINE");
}

#[tokio::test]
async fn a_server_that_cannot_stream_answers_whole() {
    let server = Server::start([fine(said("whole"))]).await;
    let setup = Setup::new(&server, Provider::Ollama, "llama3");
    assert_eq!(setup.ask_streaming(conversation()).await.unwrap().content.as_deref(), Some("whole"));
    assert_eq!(setup.pieces(), ["whole"]);
}

#[tokio::test]
async fn r10_14_caching_is_told_to_each_in_its_way() {
    let request = || Request { cache: true, ..conversation() };
    let server = Server::start((0..3).map(|_| fine(said("x")))).await;
    for (provider, model) in [
        (Provider::OpenRouter, "anthropic/claude-haiku-4.5"),
        (Provider::OpenAi, "gpt-5"),
        (Provider::OpenRouter, "openai/gpt-5"),
    ] {
        Setup::new(&server, provider, model).ask(request()).await.unwrap();
    }
    let body = |at: usize| server.asked()[at].body.clone();
    assert_eq!(body(0)["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(body(0)["provider"], json!({"only": ["anthropic"]}));
    assert_eq!(body(1)["prompt_cache_key"].as_str().map(str::len), Some(12));
    assert_eq!(
        (&body(2)["messages"][0]["content"], &body(2)["usage"]),
        (&json!("Rules."), &json!({"include": true}))
    );
}

#[tokio::test]
async fn what_the_provider_says_it_cost_goes_before_our_table() {
    let mut body = said("x");
    body["usage"]["cost"] = json!(0.25);
    let server = Server::start([fine(body)]).await;
    let setup = Setup::new(&server, Provider::OpenRouter, "anthropic/claude-haiku-4.5");
    assert_eq!(setup.ask(conversation()).await.unwrap().tokens.unwrap().cost_usd, Some(0.25));
}
