//! `lisp_debug`: what is remembered, summed up and shown.

use ptc_server::engine::settings::Debug;
use ptc_server::engine::{Caller, Payloads, Profile, Settings, Signals, Transport};
use serde_json::{Value as Json, json};

use super::support::{Folder, SECRET, aggregator, anna, args, call, call_as, eval, object, patient};

fn debugging(payloads: Payloads) -> Settings {
    let debug = Some(Debug { ring_size: 100, max_response_bytes: 64 << 10 });
    Settings { debug, payloads, ..patient(Profile::Slim) }
}

#[tokio::test]
async fn p22_stats_recent_and_get() {
    let engine = aggregator(debugging(Payloads::Summary)).await;
    let fetch = r#"(count (:value (tool/call {:server "crm" :tool "get" :args {:rows 50}})))"#;
    let signals = Signals { request_id: "req-1".to_owned(), ..Signals::default() };
    engine
        .call(&anna(), "lisp_eval", args(json!({"program": fetch})), signals)
        .await
        .expect("it is answered");
    eval(&engine, "(nope)").await;
    call(&engine, "lisp_eval", json!({"program": 5, "context": {"a": "hidden-value"}})).await;
    call(&engine, "lisp_nothing", json!({})).await;
    let stats = call(&engine, "lisp_debug", json!({"op": "stats"})).await;
    let stats = object(&stats);
    assert_eq!(stats["window"]["calls"], 3, "unknown tools and its own calls do not count: {stats}");
    let by_tool = &stats["by_tool"]["lisp_eval"];
    assert_eq!(
        (&by_tool["ok"], &by_tool["error"], &by_tool["error_rate"]),
        (&json!(1), &json!(2), &json!(0.667))
    );
    assert_eq!(stats["errors"]["by_reason"], json!({"args_error": 1, "runtime_error": 1}));
    assert_eq!(stats["upstream_calls"]["by_server"], json!({"crm": {"calls": 1, "error": 0}}));
    let reduction = &stats["payload_reduction"];
    assert_eq!(
        (&reduction["calls_with_metrics"], &reduction["top_reducers"][0]["request_id"]),
        (&json!(1), &json!("req-1"))
    );
    let recent = call(&engine, "lisp_debug", json!({"op": "recent", "errors_only": true})).await;
    assert_eq!(object(&recent)["count"], 2);
    assert_eq!(object(&recent)["calls"][0]["reason"], "args_error", "newest first");
    assert!(object(&recent)["calls"][0].get("program").is_none());
    assert!(!recent.text().contains("hidden-value"));
    let got = call(&engine, "lisp_debug", json!({"op": "get", "request_id": "req-1"})).await;
    let record = &object(&got)["record"];
    assert_eq!(
        (&object(&got)["found"], &record["ptc_metrics"]["upstream_call_count"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(record["program"]["preview"], fetch);
    let unknown = call(&engine, "lisp_debug", json!({"op": "get", "request_id": "req-9"})).await;
    assert_eq!((&object(&unknown)["found"], unknown.is_error), (&json!(false), false));
}

#[tokio::test]
async fn r8_2_1_arguments_are_checked() {
    let engine = aggregator(debugging(Payloads::None)).await;
    for arguments in [
        json!({}),
        json!({"op": "x".repeat(9_000)}),
        json!({"op": "recent", "limit": 0}),
        json!({"op": "recent", "limit": 201}),
        json!({"op": "stats", "since_seconds": 86_401}),
        json!({"op": "get"}),
        json!({"op": "get", "request_id": "x".repeat(257)}),
        json!({"op": "stats", "errors_only": "yes"}),
    ] {
        let reply = call(&engine, "lisp_debug", arguments).await;
        assert_eq!(object(&reply)["reason"], "args_error");
        assert!(reply.text().len() < 400);
    }
}

#[tokio::test]
async fn r14_4_4_the_policy_on_payloads_cannot_be_got_around() {
    let secret = "customer-data-4711";
    for (payloads, shows) in [(Payloads::None, false), (Payloads::Summary, false), (Payloads::Full, true)] {
        let engine = aggregator(debugging(payloads)).await;
        let long = format!("{} \"{secret}\"", " ".repeat(400));
        for program in [
            long.clone(),
            format!("{long} (throw (ex-info \"{secret}\" {{}}))"),
            format!("{long} (fail \"{secret}\")"),
        ] {
            call(&engine, "lisp_eval", json!({"program": program, "context": {"who": secret}})).await;
        }
        let recent = call(&engine, "lisp_debug", json!({"op": "recent"})).await;
        assert_eq!(recent.text().contains(secret), shows, "{payloads}");
    }
}

#[tokio::test]
async fn r14_4_5_answers_and_ids_are_bounded() {
    let engine = aggregator(Settings {
        debug: Some(Debug { ring_size: 100, max_response_bytes: 4096 }),
        ..debugging(Payloads::Full)
    })
    .await;
    let id = "é".repeat(5_000);
    for n in 0..30 {
        let signals = Signals { request_id: format!("{id}{n}"), ..Signals::default() };
        let program = format!("(str \"{}\")", "x".repeat(2_000));
        engine
            .call(&anna(), "lisp_eval", args(json!({"program": program})), signals)
            .await
            .expect("answered");
    }
    for op in ["recent", "stats"] {
        let reply = call(&engine, "lisp_debug", json!({"op": op, "limit": 200})).await;
        let frame = json!({"text": reply.text(), "structured": reply.structured});
        assert!(frame.to_string().len() <= 4096, "{op}: {}", frame.to_string().len());
        let parsed: Json = serde_json::from_str(&reply.text()).expect("it is JSON");
        assert!(op != "recent" || parsed["truncated"] == true);
    }
}

#[tokio::test]
async fn r8_2_9_calls_that_are_forgotten_are_found_in_trace_files() {
    for (payloads, inlined) in [(Payloads::Summary, false), (Payloads::Full, true)] {
        let folder = Folder::new("forgotten");
        let debug = Some(Debug { ring_size: 1, max_response_bytes: 64 << 10 });
        let settings = Settings { debug, trace_dir: Some(folder.0.clone()), ..debugging(payloads) };
        let engine = aggregator(settings).await;
        for (id, program) in [("first", format!("(str \"{SECRET}\" 1)")), ("second", "2".to_owned())] {
            let signals = Signals { request_id: id.to_owned(), ..Signals::default() };
            engine
                .call(&anna(), "lisp_eval", args(json!({"program": program})), signals)
                .await
                .expect("answered");
        }
        let get = async |id: &str| call(&engine, "lisp_debug", json!({"op": "get", "request_id": id})).await;
        let remembered = get("second").await;
        assert_eq!(object(&remembered)["source"], "ring_buffer");
        let reply = get("first").await;
        let found = object(&reply);
        assert_eq!((&found["found"], &found["source"]), (&json!(true), &json!("trace_file")), "{found}");
        assert!(found["record"]["file"].as_str().expect("a name").ends_with("-ok.jsonl"), "{found}");
        assert_eq!(found["record"].get("events").is_some(), inlined, "{found}");
        assert_eq!(reply.text().contains("(str"), inlined, "{found}");
        assert!(!reply.text().contains(SECRET));
        assert_eq!(object(&get("third").await)["found"], false);
        let small = Debug { ring_size: 1, max_response_bytes: 4096 };
        let settings =
            Settings { debug: Some(small), trace_dir: Some(folder.0.clone()), ..debugging(payloads) };
        let engine = aggregator(settings).await;
        let long = json!({"program": format!("(count \"{}\")", "x".repeat(9_000))});
        let signals = Signals { request_id: "long".to_owned(), ..Signals::default() };
        engine.call(&anna(), "lisp_eval", args(long), signals).await.expect("answered");
        eval(&engine, "1").await;
        let reply = call(&engine, "lisp_debug", json!({"op": "get", "request_id": "long"})).await;
        assert_eq!(object(&reply)["truncated"], inlined, "{reply:?}");
        assert!(reply.text().len() < 4096);
    }
}

#[tokio::test]
async fn a_client_sees_its_own_calls_and_not_those_of_others_with_the_same_token() {
    let engine = aggregator(debugging(Payloads::Full)).await;
    let client = |session: &str| ptc_server::engine::Caller {
        principal: "the token".into(),
        ..ptc_server::engine::Caller::new(session, ptc_server::engine::Transport::Http)
    };
    let (first, second) = (client("mcp_1"), client("mcp_2"));
    let signals = || Signals { request_id: "7".to_owned(), ..Signals::default() };
    let program = args(json!({"program": "(str \"mine alone\")"}));
    engine.call(&first, "lisp_eval", program, signals()).await.expect("it is answered");
    for (op, own) in [("stats", "lisp_eval"), ("recent", "mine alone"), ("get", "mine alone")] {
        let question = json!({"op": op, "request_id": "7"});
        let told = |caller: ptc_server::engine::Caller| {
            let (engine, question) = (engine.clone(), question.clone());
            async move { super::support::call_as(&caller, &engine, "lisp_debug", question).await.text() }
        };
        assert!(told(first.clone()).await.contains(own), "{op}");
        let other = told(second.clone()).await;
        assert!(!other.contains("mine alone") && !other.contains("lisp_eval"), "{op}: {other}");
    }
}

#[tokio::test]
async fn requests_that_nothing_tells_from_those_of_others_see_no_calls() {
    let engine = aggregator(debugging(Payloads::Full)).await;
    let stateless = Caller::new("the token", Transport::Http);
    let in_session = Caller { owner: "mcp_1".into(), ..stateless.clone() };
    let signals = Signals { request_id: "7".to_owned(), ..Signals::default() };
    let program = args(json!({"program": "(str \"mine alone\")", "context": {"x": "hidden-value"}}));
    engine.call(&stateless, "lisp_eval", program, signals).await.expect("it is answered");
    let offered = |caller: &Caller| engine.tools(caller).iter().any(|tool| tool.name == "lisp_debug");
    assert_eq!([offered(&stateless), offered(&in_session), offered(&anna())], [false, true, true]);
    for op in ["stats", "recent", "get"] {
        let question = json!({"op": op, "request_id": "7"});
        let refused = call_as(&stateless, &engine, "lisp_debug", question.clone()).await;
        assert_eq!((&object(&refused)["reason"], refused.is_error), (&json!("unknown_tool"), true));
        assert!(refused.text().contains("others with the same token"), "{}", refused.text());
        assert!(refused.text().contains("`initialize`"), "{}", refused.text());
        let other = call_as(&in_session, &engine, "lisp_debug", question).await.text();
        for told in [refused.text(), other] {
            assert!(!told.contains("mine alone") && !told.contains("hidden-value"), "{op}: {told}");
        }
    }
}
