//! Bedrock's Converse: frames, answers by a tool, marks for the cache, and requests that are signed.

use ptc_agent::model::{Message, ModelErrorKind, Request, ToolCall, ToolSchema};
use ptc_llm::{Provider, Settings};
use serde_json::json;

use crate::server::{Act, KEY, Server, Setup, answer, fine};

const MODEL: &str = "amazon.nova-lite-v1:0";

fn conversation() -> Request {
    let call = ToolCall { id: "c1".into(), name: "f".into(), args: json!({"n": 1}), args_error: None };
    Request {
        system: "Rules.".into(),
        messages: vec![
            Message::user("How many?"),
            Message::calling("", vec![call]),
            Message::tool("c1", "2"),
            Message::user("Go on."),
        ],
        tools: vec![ToolSchema {
            name: "f".into(),
            description: "counts".into(),
            parameters: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        }],
        ..Request::default()
    }
}

/// The checksum of Bedrock's frames.
fn crc32(bytes: &[u8]) -> [u8; 4] {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
        }
    }
    (!crc).to_be_bytes()
}

/// A frame of the binary stream that Bedrock sends.
fn frame(event: &str, payload: &str) -> Vec<u8> {
    framed([(":event-type", event), (":message-type", "event")], payload)
}

/// A frame that says what went wrong.
fn exception(kind: &str, payload: &str) -> Vec<u8> {
    framed([(":exception-type", kind), (":message-type", "exception")], payload)
}

fn framed(named: [(&str, &str); 2], payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in named {
        headers.push(name.len() as u8);
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&(value.len() as u16).to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let total = (16 + headers.len() + payload.len()) as u32;
    let mut frame = [total.to_be_bytes(), (headers.len() as u32).to_be_bytes()].concat();
    frame.extend(crc32(&frame));
    frame.extend(headers);
    frame.extend_from_slice(payload.as_bytes());
    frame.extend(crc32(&frame));
    frame
}

#[tokio::test]
async fn bedrock_answers_in_frames() {
    let frames = [
        frame("messageStart", r#"{"role":"assistant"}"#),
        frame("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Let me look."}}"#),
        frame("contentBlockStop", r#"{"contentBlockIndex":0}"#),
        frame(
            "contentBlockStart",
            r#"{"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t","name":"f"}}}"#,
        ),
        frame("contentBlockDelta", r#"{"contentBlockIndex":1,"delta":{"toolUse":{"input":"{\"n\":2}"}}}"#),
        frame("contentBlockStop", r#"{"contentBlockIndex":1}"#),
        frame("messageStop", r#"{"stopReason":"tool_use"}"#),
        frame("metadata", r#"{"usage":{"inputTokens":11,"outputTokens":3,"totalTokens":14}}"#),
    ];
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nConnection: close\r\n\r\n";
    let bytes = [head.as_bytes(), &frames.concat()].concat();
    let server = Server::start([Act::Drip(bytes, 50)]).await;
    let setup = Setup::new(&server, Provider::Bedrock, MODEL);
    let reply = setup.ask_streaming(conversation()).await.unwrap();
    assert_eq!(
        (reply.content.as_deref(), setup.pieces()),
        (Some("Let me look."), vec!["Let me look.".to_owned()])
    );
    assert_eq!((&*reply.tool_calls[0].name, &reply.tool_calls[0].args), ("f", &json!({"n": 2})));
    assert_eq!(reply.tokens.map(|tokens| (tokens.input, tokens.output)), Some((11, 3)));
}

#[tokio::test]
async fn bedrock_is_asked_with_its_token() {
    let server = Server::start([answer("403 Forbidden", "", r#"{"message":"not allowed"}"#)]).await;
    let setup = Setup::new(&server, Provider::Bedrock, MODEL);
    let error = setup.ask(conversation()).await.unwrap_err();
    let wanted =
        "bedrock:amazon.nova-lite-v1:0: status 403: not allowed; set AWS_BEARER_TOKEN_BEDROCK to a valid key";
    assert_eq!((error.kind, &*error.message), (ModelErrorKind::ConfigError, wanted));
    let asked = &server.asked()[0];
    assert!(asked.head.contains("/converse ") && asked.head.contains(&format!("bearer {KEY}")), "{asked:?}");
    assert!(asked.body["toolConfig"].is_object() && asked.body["system"].is_array(), "{}", asked.body);
}

#[tokio::test]
async fn a_conversation_with_tools_goes_over_the_wire() {
    let body = json!({
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "hm"}}},
            {"text": "So be it."},
            {"toolUse": {"toolUseId": "c2", "name": "f", "input": {"n": 2}}},
        ]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 70, "cacheWriteInputTokens": 20},
    });
    let server = Server::start([fine(body)]).await;
    let setup = Setup::new(&server, Provider::Bedrock, MODEL);
    let request = Request {
        cache: true,
        max_tokens: Some(99),
        llm_opts: json!({"temperature": 0.5}),
        ..conversation()
    };
    let reply = setup.ask(request).await.unwrap();
    assert_eq!(reply.content.as_deref(), Some("So be it."));
    assert_eq!((&*reply.tool_calls[0].id, &reply.tool_calls[0].args), ("c2", &json!({"n": 2})));
    let tokens = reply.tokens.unwrap();
    assert_eq!((tokens.input, tokens.cache_read, tokens.cache_creation, tokens.output), (100, 70, 20, 5));

    let asked = &server.asked()[0];
    assert!(asked.head.starts_with("post /v1/model/amazon.nova-lite-v1%3a0/converse http"), "{}", asked.head);
    assert!(asked.head.contains(&format!("authorization: bearer {KEY}")), "{}", asked.head);
    let mark = json!({"cachePoint": {"type": "default"}});
    let parameters = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!(
        asked.body,
        json!({
            "messages": [
                {"role": "user", "content": [{"text": "How many?"}]},
                {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {"n": 1}}}]},
                {"role": "user", "content": [
                    {"toolResult": {"toolUseId": "c1", "content": [{"text": "2"}]}}, {"text": "Go on."}, mark,
                ]},
            ],
            "inferenceConfig": {"maxTokens": 99, "temperature": 0.5},
            "system": [{"text": "Rules."}, mark],
            "toolConfig": {"tools": [
                {"toolSpec": {"name": "f", "inputSchema": {"json": parameters}, "description": "counts"}},
            ]},
        })
    );
}

#[tokio::test]
async fn an_answer_with_a_schema_is_what_a_tool_is_given() {
    let answer = json!({"toolUse": {"toolUseId": "a", "name": "answer", "input": {"value": [1, 2]}}});
    let server = Server::start([fine(json!({"output": {"message": {"content": [answer]}}}))]).await;
    let setup = Setup::new(&server, Provider::Bedrock, MODEL);
    let schema = json!({"type": "array", "items": {"type": "integer"}});
    let request = Request { messages: vec![Message::user("x")], schema: Some(schema), ..Request::default() };
    let reply = setup.ask(request).await.unwrap();
    assert_eq!((reply.content.as_deref(), reply.tool_calls.len()), (Some("[1,2]"), 0));
    assert_eq!(server.asked()[0].body["toolConfig"]["toolChoice"], json!({"tool": {"name": "answer"}}));
}

#[tokio::test]
async fn exceptions_in_a_stream_have_classes_and_damage_is_told() {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nConnection: close\r\n\r\n";
    let send = |bytes: Vec<u8>| Act::Drip([head.as_bytes(), &bytes].concat(), 64);
    let busy = || send(exception("throttlingException", r#"{"message":"slow down"}"#));
    let mut damaged = frame("messageStart", "{}");
    damaged[20] ^= 1;
    let cut = frame("contentBlockDelta", r#"{"delta":{"text":"par"}}"#);
    let server = Server::start([busy(), busy(), busy(), send(damaged), send(cut)]).await;
    let setup = Setup::new(&server, Provider::Bedrock, MODEL);
    let error = setup.ask_streaming(conversation()).await.unwrap_err();
    assert_eq!((error.kind, setup.delays()), (ModelErrorKind::RateLimit, vec![500, 1_000]), "{error}");
    let error = setup.ask_streaming(conversation()).await.unwrap_err();
    assert!(error.message.contains("a frame of the reply is damaged: its checksum is wrong"), "{error}");
    let error = setup.ask_streaming(conversation()).await.unwrap_err();
    assert!(error.message.contains("ended in the middle of the reply"), "{error}");
}

#[tokio::test]
async fn without_a_token_requests_are_signed_with_the_keys_of_the_account() {
    let with_keys = |settings: &mut Settings| {
        settings.environment = std::sync::Arc::new(|name| {
            let value = match name {
                "AWS_ACCESS_KEY_ID" => "AKIDEXAMPLE",
                "AWS_SECRET_ACCESS_KEY" => KEY,
                "AWS_SESSION_TOKEN" => "for-a-while",
                "AWS_REGION" => "eu-north-1",
                _ => return None,
            };
            Some(value.to_owned())
        });
    };
    let server =
        Server::start([answer("403 Forbidden", "", r#"{"message":"for-a-while has expired"}"#)]).await;
    let setup = Setup::with(&server, Provider::Bedrock, MODEL, with_keys);
    let error = setup.ask(conversation()).await.unwrap_err();
    assert!(error.message.contains("[key] has expired"), "{error}");
    let head = &server.asked()[0].head;
    for part in [
        "authorization: aws4-hmac-sha256 credential=akidexample/",
        "/eu-north-1/bedrock/aws4_request, signedheaders=host;x-amz-date;x-amz-security-token, signature=",
        "x-amz-security-token: for-a-while",
        "x-amz-date: 20",
    ] {
        assert!(head.contains(part), "{part}: {head}");
    }
    assert!(!head.contains(KEY), "{head}");
}
