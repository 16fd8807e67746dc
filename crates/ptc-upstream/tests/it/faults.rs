//! Faults that happen over every transport: each has its reason, and the client goes on. What belongs to one
//! transport only is in `stdio.rs` and `http.rs`.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::{Pool, Program};
use ptc_upstream::effects::Policy;
use ptc_upstream::model::{Allowance, Reason};
use ptc_upstream::{Caps, Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Value as Json, json};

use crate::support::*;

/// A client of the fault server, and the server where it does not end by itself.
struct Reached {
    how: String,
    client: Arc<dyn Client>,
    _server: Option<HttpServer>,
}

/// The fault server by every way there is: pipes, HTTP with JSON and with events, old and new protocol.
fn every_way(flags: &[&str]) -> Vec<Reached> {
    let with = |more: &[&'static str]| [flags, more].concat();
    let mut ways = Vec::new();
    for more in [&[][..], &["--modern"]] {
        let client = client(faulty(&with(more)));
        ways.push(Reached { how: format!("stdio {more:?}"), client, _server: None });
    }
    for more in [&[][..], &["--sse"], &["--modern"], &["--modern", "--sse"], &["--stateless", "--no-stream"]]
    {
        let server = HttpServer::start(&with(more));
        let client = client(server.upstream());
        ways.push(Reached { how: format!("http {more:?}"), client, _server: Some(server) });
    }
    ways
}

#[tokio::test]
async fn a_bad_answer_fails_its_call_and_no_other() {
    let small = Allowance { max_bytes: 10_000, ..ALLOWANCE };
    let cases: Vec<(&str, Json, Allowance, Reason, &str)> = vec![
        ("error", json!({}), ALLOWANCE, Reason::UpstreamError, "no such thing (JSON-RPC error -32602)"),
        ("invalid", json!({}), ALLOWANCE, Reason::UpstreamError, "no JSON-RPC message"),
        ("no_result", json!({}), ALLOWANCE, Reason::UpstreamError, "something that is no result"),
        ("plain_error", json!({}), ALLOWANCE, Reason::UpstreamError, "out of stock"),
        ("nothing", json!({}), ALLOWANCE, Reason::UpstreamError, "answered without a result or an error"),
        ("huge", json!({"bytes": 20_000}), small, Reason::ResponseTooLarge, "more than the 10000 allowed"),
        ("huge", json!({"bytes": 5_000_000}), ALLOWANCE, Reason::ResponseTooLarge, "allowed"),
        ("huge_error", json!({"bytes": 5_000_000}), ALLOWANCE, Reason::ResponseTooLarge, "allowed"),
        ("secret", json!({}), ALLOWANCE, Reason::UpstreamError, "bad token [REDACTED], Basic [REDACTED]"),
        ("unheard_of", json!({}), ALLOWANCE, Reason::UpstreamError, "unknown tool"),
    ];
    for Reached { how, client, _server } in every_way(&[]) {
        for (tool, args, allowance, reason, message) in &cases {
            let patient = call(&*client, "slow", json!({"ms": 50}));
            let (fault, slow) = tokio::join!(call_within(&*client, tool, args.clone(), *allowance), patient);
            let fault = fault.expect_err(tool);
            assert_eq!(fault.reason, *reason, "{how}, {tool}: {fault}");
            assert!(fault.message.contains(message), "{how}, {tool}: {fault}");
            let says_nothing = ["invalid", "no_result", "nothing"].contains(tool);
            assert_eq!(fault.unread, says_nothing, "{how}, {tool}: {fault}");
            assert_eq!(fault.bytes.is_some(), *reason == Reason::ResponseTooLarge, "{how}, {tool}");
            assert_eq!(slow.expect(&how).texts(), ["at last"], "{how}, beside {tool}");
        }
        assert_eq!(client.generation(), 1, "{how}: it was never started again");
    }
}

#[tokio::test]
async fn answers_are_the_same_over_every_transport() {
    for Reached { how, client, _server } in every_way(&[]) {
        assert_eq!(client.about(), None, "{how}: nothing is started before it is needed");
        let tools = client.list(ALLOWANCE).await.expect(&how);
        assert_eq!(tools[0].name, "echo", "{how}");
        assert_eq!(tools[0].input_schema["required"], json!(["text"]), "{how}");
        assert_eq!(tools[0].annotations["readOnlyHint"], json!(true), "{how}");
        let transport = if how.starts_with("stdio") { "mcp_stdio" } else { "mcp_http" };
        assert_eq!(tools[0].provenance["transport"], json!(transport), "{how}");
        let protocol = if how.contains("modern") { "2026-07-28" } else { "2025-11-25" };
        let about = client.about().expect(&how);
        assert_eq!((about.name.as_str(), about.protocol.as_str()), ("faults", protocol), "{how}");

        let payload = call(&*client, "echo", json!({"text": "hi"})).await.expect(&how);
        assert_eq!((payload.texts().as_slice(), &payload.structured), (&["hi"][..], &None), "{how}");
        for value in [json!({"n": 1.5}), json!("text"), json!([1])] {
            let payload = call(&*client, "structured", json!({"value": value})).await.expect(&how);
            assert_eq!(payload.structured, Some(value), "{how}");
        }
        let failed = call(&*client, "fail", json!({})).await.expect(&how);
        assert!(failed.is_error && failed.texts() == ["it broke"], "{how}");
        assert!(call(&*client, "none", json!({})).await.expect(&how).texts().is_empty(), "{how}");
        assert_eq!(text(&*client, "interleaved", json!({})).await, "after all that", "{how}");
        assert_eq!(text(&*client, "echo", json!({"text": "fine"})).await, "fine", "{how}");
        client.close().await;
    }
}

/// A server that is told `decline` believes that a person was asked.
#[tokio::test]
async fn a_server_that_asks_for_input_is_told_that_nobody_can_be_asked() {
    // Servers of the newest protocol ask in their results.
    for Reached { how, client, _server } in
        every_way(&[]).into_iter().filter(|way| !way.how.contains("modern"))
    {
        assert_eq!(text(&*client, "elicit", json!({})).await, "asked", "{how}");
        let heard = async || {
            call(&*client, "heard", json!({})).await.expect(&how).structured.expect("what the server heard")
        };
        until("the server has an answer", async || heard().await["replies"] != json!([])).await;
        let heard = heard().await;
        assert_eq!(heard["capabilities"].get("elicitation"), None, "{how}: {heard}");
        let reply = &heard["replies"][0];
        assert_eq!(
            (&reply["id"], &reply["error"]["code"]),
            (&json!("who"), &json!(-32601)),
            "{how}: {heard}"
        );
        assert_eq!(reply.get("result"), None, "{how}: {heard}");
    }
}

#[tokio::test]
async fn calls_run_side_by_side_on_one_connection() {
    for Reached { how, client, _server } in every_way(&[]) {
        let calls = (0..50).map(|n| {
            let client = client.clone();
            async move { text(&*client, "echo", json!({"text": n.to_string()})).await }
        });
        let slow = call(&*client, "slow", json!({"ms": 300}));
        let (answers, slow) = tokio::join!(futures_util::future::join_all(calls), slow);
        let expected: Vec<String> = (0..50).map(|n: u32| n.to_string()).collect();
        assert_eq!(answers, expected, "{how}");
        assert!(slow.is_ok(), "{how}");
        assert_eq!(client.generation(), 1, "{how}: one connection answered them all");
    }
}

#[tokio::test]
async fn a_late_answer_is_a_timeout_and_the_server_is_told() {
    for Reached { how, client, _server } in every_way(&[]) {
        names(&*client).await;
        let count =
            async |what: &str| text(&*client, what, json!({})).await.parse::<u32>().expect("a number");
        // On a busy machine the time may be over before the server has the call.
        for ms in [100, 1_000, 10_000] {
            let short = Allowance { timeout: Duration::from_millis(ms), ..ALLOWANCE };
            let fault = call_within(&*client, "slow", json!({"ms": 60_000}), short).await.expect_err(&how);
            let expected = (Reason::Timeout, format!("no answer within {ms} ms"));
            assert_eq!((fault.reason, fault.message), expected, "{how}");
            if count("begun").await > 0 {
                break;
            }
        }
        until("the server hears of the timeout", async || count("cancelled").await > 0).await;

        drop(client.call("slow", Default::default(), ALLOWANCE));
        let (begun_before, cancelled_before) = (count("begun").await, count("cancelled").await);
        let args = json!({"ms": 60_000}).as_object().cloned().expect("an object");
        let mut begun = Box::pin(client.call("slow", args, ALLOWANCE));
        tokio::select! {
            _ = &mut begun => panic!("{how}: it is slow"),
            () = until("the server has the call", async || count("begun").await > begun_before) => {}
        }
        drop(begun);
        until("the server hears of the dropped call", async || count("cancelled").await > cancelled_before)
            .await;
    }
}

#[tokio::test]
async fn lists_come_in_pages_with_an_end() {
    for Reached { how, client, _server } in every_way(&["--pages"]) {
        assert_eq!(names(&*client).await, ["echo", "slow"], "{how}");
    }
    for (flag, message) in [
        ("--endless-pages", "lists tools in more than 100 pages"),
        ("--same-page", "lists tools in pages without end"),
        ("--no-tools", "answered tools/list with something that is no result"),
    ] {
        for Reached { how, client, _server } in every_way(&[flag]) {
            let fault = client.list(ALLOWANCE).await.expect_err(&how);
            assert_eq!(fault.reason, Reason::UpstreamError, "{how}, {flag}");
            assert!(fault.message.starts_with(message), "{how}, {flag}: {fault}");
        }
    }
    for Reached { how, client, _server } in every_way(&[]) {
        let fault = client.list(Allowance { max_bytes: 100, ..ALLOWANCE }).await.expect_err(&how);
        assert_eq!(fault.reason, Reason::ResponseTooLarge, "{how}");
    }
}

#[tokio::test]
async fn what_has_too_many_values_is_read_neither_in_definitions_nor_beside_answers() {
    let much = "values, more than the 100000 that are read of what no program called for";
    for (flag, message) in [
        ("--much-in-greeting", much),
        ("--much-in-list", "lists tools with more than 100000 values in their definitions"),
    ] {
        for Reached { how, client, _server } in every_way(&[flag]) {
            let fault = client.list(ALLOWANCE).await.expect_err(&how);
            assert!(fault.message.contains(message), "{how}, {flag}: {fault}");
        }
    }
    for Reached { how, client, _server } in every_way(&[]) {
        assert_eq!(text(&*client, "much", json!({})).await, "after all that", "{how}");
        // Servers of the newest protocol ask in their results.
        if !how.contains("modern") {
            let heard = async || {
                let heard = call(&*client, "heard", json!({})).await.expect(&how).structured;
                heard.expect("what the server heard")["replies"][0]["error"]["message"].clone()
            };
            until("the server has an answer", async || !heard().await.is_null()).await;
            assert!(heard().await.as_str().is_some_and(|message| message.contains(much)), "{how}");
        }
        let fault = call(&*client, "much_error", json!({})).await.expect_err(&how);
        assert_eq!(fault.message, "out of stock (JSON-RPC error -7)", "{how}");
        assert_eq!(text(&*client, "echo", json!({"text": "fine"})).await, "fine", "{how}");
    }
}

#[tokio::test]
async fn a_changed_list_is_noticed() {
    for Reached { how, client, _server } in every_way(&[]) {
        assert_eq!(names(&*client).await, ["echo", "slow"], "{how}");
        if how.contains("--no-stream") {
            continue;
        }
        let before = client.generation();
        until("the change is heard", async || {
            call(&*client, "change", json!({})).await.expect(&how);
            client.generation() > before
        })
        .await;
        assert_eq!(names(&*client).await, ["echo", "slow", "fresh"], "{how}");
    }
}

/// Every fault by its reason, in one program that goes on after each; only the last call is well.
const FAULTS: &str = r#"
(defn reason [tool args] (:reason (tool/call {:server "x" :tool tool :args args})))
[(reason "error" {}) (reason "invalid" {}) (reason "no_result" {}) (reason "huge" {:bytes 5000000})
 (reason "fail" {}) (reason "slow" {:ms 60000}) OVER_HTTP
 (:value (tool/call {:server "x" :tool "interleaved"}))
 (:value (tool/call {:server "x" :tool "echo" :args {:text "on"}}))]"#;

#[tokio::test(flavor = "multi_thread")]
async fn programs_see_the_documented_reasons_and_go_on() {
    let common = ":upstream_error :upstream_error :upstream_error :response_too_large :tool_error :timeout";
    let http = r#"(reason "status" {:code 401}) (reason "status" {:code 429}) (reason "status" {:code 503})
                  (reason "cut" {}) (reason "no_answer" {})"#;
    let told = ":auth_failed :rate_limited :upstream_unavailable :stream_closed_before_response :stream_closed_before_response";
    let plain = HttpServer::start(&["--all-tools"]);
    let modern = HttpServer::start(&["--all-tools", "--modern", "--sse"]);
    for (mut upstream, only, reasons) in [
        (faulty(&["--all-tools"]), "", ""),
        (faulty(&["--all-tools", "--modern"]), "", ""),
        (plain.upstream(), http, told),
        (modern.upstream(), http, told),
    ] {
        // Calls of tools that may write are told otherwise.
        upstream["effects"] = json!({"*": "read"});
        let value = json!({"credentials": {"token": {"source": "literal", "value": SECRET}}, "upstreams": {"x": upstream}});
        let config = Config::from_value(value, std::path::Path::new("")).unwrap();
        let lookup = |name: &str| {
            (name == "FAULT_TOKEN").then(|| SECRET.to_owned()).or_else(|| std::env::var(name).ok())
        };
        let secrets = Secrets::resolve_with(&config, &lookup, None).unwrap();
        let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
        let runtime = Runtime::start(&config, secrets, options).await.unwrap();
        let caps = Caps { call_timeout: Duration::from_secs(3), ..Caps::default() };
        let run = async |source: String| {
            let context = runtime.context(caps, Policy::open());
            let program = context.attach(Program::new(source).timeout(Duration::from_secs(120)));
            Pool::global().run(program).await.value
        };
        let expected = format!("[{common} {reasons} \"after all that\" \"on\"]").replace("  ", " ");
        assert_eq!(run(FAULTS.replace("OVER_HTTP", only)).await, expected);

        // What ends the server ends neither the program nor the runtime.
        let crash = r#"(mapv :reason [(tool/call {:server "x" :tool "crash"}) (tool/call {:server "x" :tool "echo" :args {:text "x"}})])"#;
        let crashed = run(crash.to_owned()).await;
        assert!(crashed.ends_with(":upstream_unavailable]"), "{crashed}");
        if only.is_empty() {
            let echo = r#"(:ok (tool/call {:server "x" :tool "echo" :args {:text "x"}}))"#;
            until("the server is back", async || run(echo.to_owned()).await == "true").await;
        }
        runtime.close().await;
    }
}
