//! Programs over upstreams: the account, metrics, read-only mode, and secrets that stay inside.

use std::sync::Arc;
use std::time::Duration;

use ptc_server::engine::settings::{Debug, SessionSettings};
use ptc_server::engine::{Engine, Parts, Profile, Settings, Signals};
use ptc_upstream::model::{Fault, Reason};
use ptc_upstream::{Caps, RuntimeOptions};
use serde_json::{Value as Json, json};
use tokio::sync::watch;

use super::support::{
    SECRET, Seen, aggregator, anna, args, call, crm_that_counts, engine, eval, eval_in, object, patient,
    session, tool, until_waiting, with_sessions,
};
use super::upstream::{Upstream, frozen, start, structured};

const FETCH: &str = r#"(count (:value (tool/call {:server "crm" :tool "get" :args {:rows 100}})))"#;

#[tokio::test]
async fn r2_3_6_debug_answers_carry_the_account_and_metrics() {
    let engine = aggregator(patient(Profile::Debug)).await;
    let reply = eval(&engine, FETCH).await;
    let shown = object(&reply);
    assert_eq!(shown["result"], "user=> 100", "{shown}");
    let entry = &shown["upstream_calls"][0];
    assert_eq!(
        (&entry["server"], &entry["tool"], &entry["status"]),
        (&json!("crm"), &json!("get"), &json!("ok"))
    );
    let metrics = &shown["ptc_metrics"];
    assert_eq!(metrics["final_result_bytes"], "100".len(), "the prompt is ours");
    assert_eq!(metrics["upstream_result_bytes"], entry["result_bytes"]);
    let bytes = entry["result_bytes"].as_f64().expect("a size");
    assert_eq!(metrics["payload_reduction_ratio"], json!((bytes / 3.0 * 100.0).round() / 100.0));
    assert_eq!(shown["upstream_results"][0]["result_overview"]["shape"], "list count=100");
    assert_eq!(engine.metrics().upstream_calls, 1);
}

#[tokio::test]
async fn a_program_that_returns_all_that_it_fetched_reduces_nothing_however_little_is_shown() {
    let settings = Settings {
        debug: Some(Debug { ring_size: 50, max_response_bytes: 1 << 20 }),
        ..with_sessions(Profile::Debug, SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    let session = session(&engine).await;
    let program = r#"(:value (tool/call {:server "crm" :tool "get" :args {:rows 5000}}))"#;
    let schema = json!({"type": "array"});
    for (tool, arguments) in [
        ("lisp_eval", json!({"program": program})),
        ("lisp_eval", json!({"program": program, "output_schema": schema})),
        ("lisp_session_eval", json!({"program": program, "session_id": session})),
        ("lisp_session_eval", json!({"program": program, "session_id": session, "output_schema": schema})),
    ] {
        let reply = call(&engine, tool, arguments.clone()).await;
        let shown = object(&reply);
        assert!(reply.text().len() < 50_000 && shown["status"] == "ok", "{arguments}: {shown}");
        let metrics = &shown["ptc_metrics"];
        let ratio = metrics["payload_reduction_ratio"].as_f64().expect("a ratio");
        assert!((0.9..1.1).contains(&ratio), "{arguments}: {metrics}");
    }
    let stats = call(&engine, "lisp_debug", json!({"op": "stats"})).await;
    let reduction = &object(&stats)["payload_reduction"];
    for ratio in [&reduction["reduction_ratio"]["weighted"], &reduction["top_reducers"][0]["ratio"]] {
        assert!((0.9..1.1).contains(&ratio.as_f64().expect("a ratio")), "{reduction}");
    }
}

#[tokio::test]
async fn r8_1_8_slim_and_structured_keep_the_account_to_themselves() {
    for profile in [Profile::Slim, Profile::Structured] {
        let engine = aggregator(patient(profile)).await;
        let reply = eval(&engine, FETCH).await;
        assert_eq!(reply.text(), "user=> 100");
        let shown = reply.structured.unwrap_or_default();
        assert!(shown.get("ptc_metrics").is_none() && shown.get("upstream_calls").is_none(), "{shown}");
    }
}

#[tokio::test]
async fn p16_errors_report_what_was_fetched_and_no_ratio() {
    let engine = aggregator(patient(Profile::Debug)).await;
    let reply = eval(
        &engine,
        &format!("{FETCH} (tool/call {{:server \"crm\" :tool \"get\" :args {{}}}}) (fail :no)"),
    )
    .await;
    let metrics = &object(&reply)["ptc_metrics"];
    assert_eq!(
        (&metrics["final_result_bytes"], &metrics["payload_reduction_ratio"]),
        (&json!(0), &Json::Null)
    );
    assert!(metrics["upstream_result_bytes"].as_u64() > Some(100));
    let feedback = object(&reply)["feedback"].as_str().expect("there is feedback");
    assert!(feedback.contains("Tool results before the error (untrusted)"), "{feedback}");
    assert_eq!(feedback.matches("</untrusted_ptc_output>").count(), 1, "{feedback}");
    assert!(feedback.len() < 1_000);
}

#[tokio::test]
async fn r2_5_4_the_first_failed_call_is_named() {
    let engine = aggregator(patient(Profile::Structured)).await;
    let program = r#"(let [r (tool/call {:server "crm" :tool "get" :args {:fail 1}})] (fail (:message r)))"#;
    let reply = eval(&engine, program).await;
    assert!(reply.text().contains("upstream crm.get failed: upstream_error"), "{}", reply.text());
    assert_eq!(
        object(&reply)["upstream_calls"],
        json!([{"server": "crm", "tool": "get", "status": "error", "reason": "upstream_error"}])
    );
}

#[tokio::test]
async fn read_only_servers_refuse_programs_that_may_write_before_they_run() {
    let engine = aggregator(Settings { read_only: true, ..patient(Profile::Debug) }).await;
    for program in [
        r#"(println "ran") (tool/call {:server "crm" :tool "put"})"#,
        r#"(println "ran") (tool/call {:server "crm" :tool "guess"})"#,
        r#"(println "ran") (if false (tool/call {:server "crm" :tool data/tool}) 1)"#,
        r#"(println "ran") (map tool/call [])"#,
    ] {
        let reply = call(&engine, "lisp_eval", json!({"program": program, "context": {"tool": "get"}})).await;
        let shown = object(&reply);
        assert_eq!(shown["reason"], "runtime_error", "{program}: {shown}");
        assert!(shown["message"].as_str().expect("it says why").contains("read-only"), "{shown}");
        assert!(shown.get("prints").is_none() && shown["upstream_calls"] == json!([]), "{shown}");
    }
    assert_eq!(object(&eval(&engine, FETCH).await)["result"], "user=> 100");
}

#[tokio::test]
async fn a_program_of_a_session_that_is_refused_before_it_runs_has_printed_nothing() {
    let sessions = with_sessions(Profile::Debug, SessionSettings::default());
    let engine = aggregator(Settings { read_only: true, ..sessions }).await;
    let id = session(&engine).await;
    let reply = eval_in(&engine, &id, r#"(println "earlier") 1"#).await;
    assert!(reply.text().contains("earlier"), "{reply:?}");
    let refused = eval_in(&engine, &id, r#"(println "ran") (crm/put {})"#).await;
    assert!(refused.is_error && refused.text().contains("read-only"), "{refused:?}");
    let shown = object(&refused);
    assert!(!shown.to_string().contains("earlier") && shown.get("prints").is_none(), "{shown}");
    assert_eq!(object(&eval_in(&engine, &id, "*1").await)["result"], "user=> 1", "the session is as it was");
}

#[tokio::test]
async fn p6_the_cap_on_calls_is_told_to_the_program() {
    let caps = Caps { calls: 2, ..Caps::default() };
    let engine = aggregator(Settings { caps, ..patient(Profile::Debug) }).await;
    let program = r#"(mapv :reason (pmap tool/call (repeat 3 {:server "crm" :tool "get" :args {}})))"#;
    let reply = eval(&engine, program).await;
    assert_eq!(object(&reply)["result"], "user=> [nil nil :cap_exhausted]");
    assert_eq!(object(&reply)["ptc_metrics"]["upstream_call_count"], 3);
}

#[tokio::test]
async fn r4_7_and_p14_secrets_are_covered_wherever_they_leave() {
    for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
        let settings = Settings {
            debug: Some(ptc_server::engine::settings::Debug { ring_size: 50, max_response_bytes: 1 << 20 }),
            payloads: ptc_server::engine::Payloads::Full,
            ..patient(profile)
        };
        let engine = aggregator(settings).await;
        let call_it = r#"(tool/call {:server "crm" :tool "get" :args {}})"#;
        let mut texts = Vec::new();
        for program in [
            call_it.to_owned(),
            format!("(println (:value {call_it})) (fail (:token (:value {call_it})))"),
            format!("(throw (ex-info (:token (:value {call_it})) {{}}))"),
            format!(
                "(str (apply str (repeat 230 \"x\")) (:token (:value {call_it})) (apply str (repeat 999 \"y\")))"
            ),
            "(doc 'crm/get)".to_owned(),
            format!("(str \"{SECRET}\")"),
        ] {
            let reply = eval(&engine, &program).await;
            texts.push(reply.text());
            texts.push(reply.structured.unwrap_or_default().to_string());
        }
        for link in engine.resources(&anna()).await {
            texts.push(engine.read_resource(&anna(), &link.uri).await.expect("it is kept").text.to_string());
        }
        texts.extend(engine.tools(&anna()).into_iter().map(|tool| tool.description));
        for op in ["recent", "stats"] {
            texts.push(call(&engine, "lisp_debug", json!({"op": op, "limit": 200})).await.text());
        }
        assert!(texts.iter().any(|text| text.contains("[REDACTED]")));
        for text in texts {
            assert!(!text.contains("tok-4711") && !text.contains("do-not-show"), "{text}");
        }
    }
}

#[tokio::test]
async fn progress_names_the_call_that_is_waited_for_and_how_many_are_done() {
    let engine = aggregator(with_sessions(Profile::Slim, SessionSettings::default())).await;
    let session = session(&engine).await;
    let get = r#"{:server "crm" :tool "get" :args {:rows 1}}"#;
    let wait = r#"{:server "crm" :tool "guess" :args {:wait 1}}"#;
    let program = format!("(tool/call {get}) (pmap tool/call [{get} {wait} {get} {wait}])");
    for (tool, arguments) in [
        ("lisp_eval", json!({"program": program})),
        ("lisp_session_eval", json!({"program": program, "session_id": session})),
    ] {
        let (progress, mut reports) = tokio::sync::mpsc::unbounded_channel();
        let signals = ptc_server::engine::Signals {
            progress: Some(progress),
            ..ptc_server::engine::Signals::default()
        };
        let cancel = signals.cancel.clone();
        let calling = tokio::spawn({
            let (engine, arguments) = (engine.clone(), super::support::args(arguments));
            async move { engine.call(&anna(), tool, arguments, signals).await }
        });
        while reports.recv().await.expect("it goes on").message != "crm/guess (3 done, 2 under way)" {}
        cancel.cancel();
        assert!(calling.await.expect("it ends").is_err());
    }
}

#[tokio::test]
async fn cancelling_gives_up_calls_that_are_under_way() {
    let engine = aggregator(patient(Profile::Slim)).await;
    let signals = ptc_server::engine::Signals::default();
    let waiting = tokio::spawn({
        let (engine, signals) = (engine.clone(), signals.clone());
        let program = r#"(tool/call {:server "crm" :tool "get" :args {:wait 1}})"#;
        let arguments = super::support::args(json!({"program": program}));
        async move { engine.call(&anna(), "lisp_eval", arguments, signals).await }
    });
    while engine.metrics().in_flight == 0 {
        tokio::task::yield_now().await;
    }
    signals.cancel.cancel();
    assert!(waiting.await.expect("it ends").is_err());
    assert_eq!(engine.metrics().in_flight, 0);
}

#[tokio::test]
async fn r2_2_6_without_upstreams_there_is_no_call() {
    let engine = engine(patient(Profile::Structured)).await;
    let reply = eval(&engine, r#"(println 1) (tool/call {:server "crm" :tool "get"})"#).await;
    assert_eq!(object(&reply)["reason"], "runtime_error");
    assert!(reply.text().contains("call"), "{}", reply.text());
}

/// Servers by name; what a call of them gives is its tool.
async fn servers(upstreams: &[(&str, Upstream)], settings: Settings) -> (Arc<Engine>, Seen) {
    let entry = json!({"transport": "mcp_stdio", "command": "fixture"});
    let named: serde_json::Map<String, Json> =
        upstreams.iter().map(|(name, _)| ((*name).to_owned(), entry.clone())).collect();
    let seen = Seen::default();
    let options = RuntimeOptions { in_background: true, ..frozen() };
    let find = |name: &str| {
        let (_, upstream) = upstreams.iter().find(|(known, _)| *known == name).expect("it is configured");
        let seen = seen.clone();
        upstream.clone().answering(move |tool, args| {
            seen.note(&tool, &Json::Object(args));
            async move { structured(json!(tool)) }
        })
    };
    let runtime = start(json!({"upstreams": named}), options, find).await;
    let parts = Parts { runtime: Some(runtime), ..Parts::default() };
    (Engine::with(settings, parts).await.expect("it starts"), seen)
}

fn reads(name: &str) -> Upstream {
    Upstream::new(Ok(vec![tool(name, json!({"readOnlyHint": true})), tool("put", json!({}))]))
}

fn waiting_for(call_timeout: Duration, read_only: bool) -> Settings {
    let caps = Caps { call_timeout, start_wait: Some(call_timeout), ..Caps::default() };
    Settings { caps, read_only, ..patient(Profile::Structured) }
}

#[tokio::test]
async fn tools_that_a_server_does_not_have_are_told_before_anything_runs_while_it_is_starting() {
    for wrong in ["(crm/nope {})", "(tool/call {:server \"crm\" :tool \"nope\"})"] {
        let (up, is_up) = watch::channel(false);
        let hour = Duration::from_secs(3_600);
        let (engine, seen) =
            servers(&[("crm", reads("get").starting(is_up))], waiting_for(hour, false)).await;
        let program = format!("(crm/put {{}}) {wrong}");
        let (reply, _) = tokio::join!(eval(&engine, &program), async { up.send(true) });
        assert!(reply.is_error && reply.text().contains("no tool"), "{}", reply.text());
        assert_eq!(seen.calls(""), [""; 0], "{wrong}");
    }
}

#[tokio::test]
async fn programs_wait_for_the_servers_that_they_name_and_for_no_others() {
    let (_starting, is_up) = watch::channel(false);
    for read_only in [false, true] {
        // Whoever waits for the other one waits for an hour.
        let upstreams = [("crm", reads("get")), ("slow", reads("get").starting(is_up.clone()))];
        let (engine, _) = servers(&upstreams, waiting_for(Duration::from_secs(3_600), read_only)).await;
        let reply = tokio::time::timeout(Duration::from_secs(60), eval(&engine, "(crm/get {})")).await;
        assert_eq!(reply.expect("it does not wait").text(), "user=> \"get\"");
    }
}

#[tokio::test]
async fn a_read_only_server_says_of_which_server_it_does_not_know_what_it_does_and_why() {
    let (_starting, is_up) = watch::channel(false);
    let dead = Upstream::new(Err(Fault::new(Reason::UpstreamUnavailable, "connection refused")));
    let upstreams = [("crm", reads("get")), ("dead", dead), ("slow", reads("get").starting(is_up))];
    let (engine, seen) = servers(&upstreams, waiting_for(Duration::from_millis(50), true)).await;
    for (program, told) in [
        ("(dead/get {})", "What tools of dead do is not known: it is down (connection refused)"),
        ("(slow/get {})", "What tools of slow do is not known: it is still starting: try again in a moment"),
    ] {
        let reply = eval(&engine, program).await;
        assert!(reply.is_error && reply.text().contains(told), "{}", reply.text());
    }
    let reply = eval(&engine, "(crm/put {})").await;
    assert!(!reply.text().contains("is not known"), "{}", reply.text());
    assert_eq!(seen.calls(""), [""; 0]);
}

/// Whoever stops a server is not told less of what its programs did than whoever lets them end.
#[tokio::test]
async fn a_call_that_is_stopped_tells_what_its_program_had_called() {
    let (runtime, waiting) = crm_that_counts().await;
    let engine =
        Engine::with(patient(Profile::Structured), Parts { runtime: Some(runtime), ..Parts::default() });
    let engine = engine.await.expect("it starts");
    let program = r#"(tool/call {:server "crm" :tool "get" :args {}})
                     (tool/call {:server "crm" :tool "put" :args {:n 1}})
                     (tool/call {:server "crm" :tool "guess" :args {:wait true}})"#;
    let signals = Signals::default();
    let (cancel, given_up, caller) = (signals.cancel.clone(), signals.given_up.clone(), anna());
    let called = engine.call(&caller, "lisp_eval", args(json!({"program": program})), signals);
    let stops = async {
        until_waiting(&waiting, 1).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(called, stops);
    assert!(answer.is_err(), "{answer:?}");
    let told = engine.cancelled(&given_up);
    let told = object(&told);
    assert_eq!((&told["reason"], &told["calls_made"]), (&json!("cancelled"), &json!(["crm/put"])), "{told}");
    assert_eq!(told["calls_unknown"], json!(["crm/guess"]), "{told}");
}
