//! Gemini, whose wire format another crate speaks for us.

use ptc_agent::model::{Message, ModelErrorKind, Request, ToolCall, ToolSchema};
use ptc_llm::{Provider, Settings};
use serde_json::json;

use crate::server::{Act, KEY, Server, Setup, answer, stream};

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

#[tokio::test]
async fn a_conversation_with_tools_goes_over_the_wire_in_pieces() {
    let events = [
        r#"{"candidates":[{"content":{"parts":[{"text":"Let me "}],"role":"model"}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"look."}],"role":"model"}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"n":2}}}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":7,"cachedContentTokenCount":60,"totalTokenCount":107}}"#,
    ];
    let server = Server::start([Act::Send(stream(&events)), Act::Send(stream(&events))]).await;
    let setup = Setup::new(&server, Provider::Google, "gemini-2.5-flash");
    for streaming in [false, true] {
        let reply = match streaming {
            true => setup.ask_streaming(conversation()).await.unwrap(),
            false => setup.ask(conversation()).await.unwrap(),
        };
        assert_eq!(reply.content.as_deref(), Some("Let me look."));
        assert_eq!((&*reply.tool_calls[0].name, &reply.tool_calls[0].args), ("f", &json!({"n": 2})));
        let tokens = reply.tokens.unwrap();
        assert_eq!((tokens.input, tokens.output, tokens.cache_read), (100, 7, 60));
        assert_eq!(tokens.cost_usd, Some((40.0 * 0.3 + 60.0 * 0.03 + 7.0 * 2.5) / 1e6));
    }
    assert_eq!(setup.pieces(), ["Let me ", "look."]);
    let asked = &server.asked()[0];
    assert!(
        asked.head.starts_with("post /v1/models/gemini-2.5-flash:streamgeneratecontent"),
        "{}",
        asked.head
    );
    assert!(asked.head.contains(KEY), "{}", asked.head);
    let text = asked.body.to_string();
    for part in ["Rules.", "functionDeclarations", "functionCall", "functionResponse", "Go on."] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[tokio::test]
async fn failures_are_told_and_tried_again_like_everybody_elses() {
    let server = Server::start([
        answer("503 Service Unavailable", "Retry-After: 3\r\n", "{}"),
        answer("400 Bad Request", "", r#"{"error":{"message":"The input is too long"}}"#),
        Act::Hang(stream(&[])),
    ])
    .await;
    let short = |settings: &mut Settings| settings.idle_timeout = std::time::Duration::from_millis(50);
    let setup = Setup::with(&server, Provider::Google, "gemini-2.5-flash", short);
    let error = setup.ask(conversation()).await.unwrap_err();
    assert_eq!((setup.delays(), error.kind), (vec![3_000], ModelErrorKind::ClientError), "{error}");
    assert!(error.message.contains("turn on compaction") && !format!("{error:?}").contains(KEY), "{error}");
    let once = Request { llm_opts: json!({"max_attempts": 1}), ..conversation() };
    assert_eq!(setup.ask(once).await.unwrap_err().kind, ModelErrorKind::Timeout);
}
