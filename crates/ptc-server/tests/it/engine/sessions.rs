//! Sessions: what stays, what is rolled back, whose they are, and when they end.

use std::time::Duration;

use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::{LogRetention, SessionSettings};
use ptc_server::engine::{Caller, Content, Profile, Signals, Transport};
use serde_json::json;

use super::support::{
    aggregator, anna, args, call, call_as, engine, eval_in, object, session, until_none_is_listed,
    with_sessions,
};

fn structured() -> ptc_server::engine::Settings {
    with_sessions(Profile::Structured, SessionSettings::default())
}

#[tokio::test]
async fn p17_definitions_stay_and_failures_change_nothing() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    assert_eq!(object(&eval_in(&engine, &id, "(def x 1) (defn twice [n] (* 2 n))").await)["status"], "ok");
    assert_eq!(object(&eval_in(&engine, &id, "(twice x)").await)["result"], "user=> 2");
    for (program, reason) in [
        ("(def x 99) (nope)", "unbound_var"),
        ("(def x 99) (/ 1 0)", "arithmetic_error"),
        ("(def x 99) (fail :no)", "fail"),
        ("(def x", "parse_error"),
    ] {
        let reply = eval_in(&engine, &id, program).await;
        assert_eq!(object(&reply)["reason"], reason, "{program}");
        assert!(reply.text().ends_with("\n[rolled back]"), "{}", reply.text());
    }
    let mismatch = json!({"session_id": id, "program": "(def x 99) x", "output_schema": {"type": "string"}});
    assert_eq!(object(&call(&engine, "lisp_session_eval", mismatch).await)["reason"], "validation_error");
    let after = eval_in(&engine, &id, "[x *1]").await;
    assert_eq!(object(&after)["result"], "user=> [1 2]");
    assert_eq!(object(&after)["session"]["turn"], 3, "only what was kept counts");
    assert_eq!(object(&after)["memory"]["stored_keys"], json!(["x", "twice"]));
}

#[tokio::test]
async fn r9_3_4_the_fourth_result_is_forgotten() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    for n in 1..=4 {
        eval_in(&engine, &id, &format!("{n}")).await;
    }
    assert_eq!(object(&eval_in(&engine, &id, "[*1 *2 *3]").await)["result"], "user=> [4 3 2]");
    let small = with_sessions(
        Profile::Structured,
        SessionSettings { history_entry_bytes: 100, ..SessionSettings::default() },
    );
    let engine = super::support::engine(small).await;
    let id = session(&engine).await;
    let long = eval_in(&engine, &id, "(vec (range 3000))").await;
    assert_eq!(object(&long)["history_notices"][0]["reason"], "max_history_entry_bytes");
    assert!(matches!(long.content.get(1), Some(Content::ResourceLink(_))));
    assert!(!long.text().contains("all of it: *1"), "it is not kept: {}", long.text());
}

#[tokio::test]
async fn r9_3_5_answers_say_what_was_stored() {
    let engine = engine(with_sessions(Profile::Debug, SessionSettings::default())).await;
    let id = session(&engine).await;
    let reply = eval_in(&engine, &id, "(println 5) (def rows [1 2 3]) (count rows)").await;
    let shown = object(&reply);
    assert_eq!(shown["memory"]["changed"], json!([{"name": "rows", "preview": "[1 2 3]"}]));
    assert_eq!((&shown["result"], &shown["prints"]), (&json!("user=> 3"), &json!(["5"])));
    let slim = super::support::engine(with_sessions(Profile::Slim, SessionSettings::default())).await;
    let id = session(&slim).await;
    let reply = eval_in(&slim, &id, "(def a 1) (def b 2) 7").await;
    assert_eq!(reply.text(), "user=> 7\n[stored: a, b]");
}

#[tokio::test]
async fn r9_3_8_limits_hold_and_the_eval_is_not_committed() {
    let limits = SessionSettings {
        memory_bytes: 2_000,
        binding_bytes: 1_000,
        bindings: 3,
        ..SessionSettings::default()
    };
    let engine = engine(with_sessions(Profile::Structured, limits)).await;
    let id = session(&engine).await;
    for (program, field) in [
        ("(def a (apply str (repeat 1500 \"x\"))) 1", "max_session_binding_bytes"),
        ("(def a 1) (def b 1) (def c 1) (def d 1)", "max_session_bindings"),
        ("(def a (apply str (repeat 900 \"x\"))) (def b a) (def c a) 1", "max_session_memory_bytes"),
    ] {
        let reply = eval_in(&engine, &id, program).await;
        let shown = object(&reply);
        assert_eq!(shown["reason"], "session_limit_exceeded", "{program}: {shown}");
        assert_eq!(shown["detail"]["field"], field);
        assert_eq!(shown["memory"]["stored_keys"], json!([]));
    }
    assert_eq!(object(&eval_in(&engine, &id, "a").await)["reason"], "unbound_var");
}

#[tokio::test]
async fn limits_count_what_definitions_and_results_hold_and_do_not_show() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    for program in [
        "(def l (let [s (apply str (repeat 1000000 \"abcdefghij\"))] (lazy-seq [s]))) 1",
        "(def c (with-meta [1] {:s (apply str (repeat 500000 \"x\"))})) 1",
        "(def y (reduce (fn [a i] (atom a)) (vec (range 100000)) (range 1100))) 1",
        "(def t (subvec (vec (range 100000)) 0 1)) 1",
    ] {
        let reply = eval_in(&engine, &id, program).await;
        assert_eq!(object(&reply)["reason"], "session_limit_exceeded", "{program}: {}", reply.text());
        assert_eq!(object(&reply)["detail"]["field"], "max_session_binding_bytes", "{program}");
    }
    let plain = eval_in(
        &engine,
        &id,
        "(def x (vec (range 40000))) (def rows (mapv #(hash-map :id %) (range 20000))) 1",
    );
    assert_eq!(object(&plain.await)["status"], "ok", "its text fits");
    let result = "(with-meta [1] {:s (apply str (repeat 500000 \"x\"))})";
    let notices = object(&eval_in(&engine, &id, result).await)["history_notices"].clone();
    assert_eq!(notices[0]["reason"], "max_history_entry_bytes");
    let kept = eval_in(&engine, &id, "[*1 (count (:s (meta *1)))]").await;
    assert_eq!(object(&kept)["result"], "user=> [[1] 0]");
}

#[tokio::test]
async fn programs_that_keep_nothing_take_no_memory_from_later_ones() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    for _ in 0..8 {
        let reply = eval_in(&engine, &id, "(do (reduce (fn [a _] (atom a)) nil (range 100000)) nil)").await;
        assert_eq!(object(&reply)["status"], "ok", "{}", reply.text());
    }
    assert_eq!(object(&eval_in(&engine, &id, "(+ 1 1)").await)["result"], "user=> 2");
}

#[tokio::test]
async fn p18_one_program_at_a_time_and_only_for_the_owner() {
    let engine = engine(ptc_server::engine::Settings { max_concurrent_calls: 4, ..structured() }).await;
    let id = session(&engine).await;
    let signals = Signals::default();
    let (progress, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let slow = tokio::spawn({
        let (engine, id) = (engine.clone(), id.clone());
        let signals = Signals { progress: Some(progress), ..signals.clone() };
        let arguments = args(json!({"session_id": id, "program": "(def x 1) (loop [] (recur))"}));
        async move { engine.call(&anna(), "lisp_session_eval", arguments, signals).await }
    });
    reports.recv().await.expect("it runs");
    let second = eval_in(&engine, &id, "1").await;
    assert_eq!(object(&second)["reason"], "session_busy");
    assert_eq!(object(&second)["message"], "an eval is already running for this session");
    let forget = call(&engine, "lisp_session_forget", json!({"session_id": id, "clear": ["memory"]})).await;
    assert_eq!(object(&forget)["reason"], "session_busy");
    let ben = Caller::new("ben", Transport::Stdio);
    for tool in ["lisp_session_eval", "lisp_session_inspect", "lisp_session_forget", "lisp_session_close"] {
        let mut arguments = json!({"session_id": id, "owner": "anna", "_owner": "anna"});
        if tool == "lisp_session_eval" {
            arguments["program"] = "x".into();
        }
        let reply = call_as(&ben, &engine, tool, arguments).await;
        assert_eq!(object(&reply)["reason"], "session_owner_mismatch", "{tool}");
    }
    let listed = call_as(&ben, &engine, "lisp_session_list", json!({})).await;
    assert_eq!(object(&listed)["count"], 0);
    signals.cancel.cancel();
    assert!(slow.await.expect("it ends").is_err());
    assert_eq!(object(&eval_in(&engine, &id, "x").await)["reason"], "unbound_var", "it was given up");
    assert_eq!(engine.metrics().in_flight, 0);
}

#[tokio::test]
async fn r9_4_5_closing_stops_what_runs() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    let (progress, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let slow = tokio::spawn({
        let engine = engine.clone();
        let signals = Signals { progress: Some(progress), ..Signals::default() };
        let arguments = args(json!({"session_id": id, "program": "(loop [] (recur))"}));
        async move { engine.call(&anna(), "lisp_session_eval", arguments, signals).await }
    });
    reports.recv().await.expect("it runs");
    let closed = call(&engine, "lisp_session_close", json!({"session_id": id, "reason": "done"})).await;
    assert_eq!((&object(&closed)["closed"], &object(&closed)["reason"]), (&json!(true), &json!("done")));
    let ended = slow.await.expect("it ends").expect("it is answered");
    assert_eq!(object(&ended)["message"], "eval request is no longer active");
    let late = eval_in(&engine, &id, "1").await;
    assert_eq!(object(&late)["reason"], "session_closed");
    assert_eq!((engine.metrics().sessions, engine.metrics().in_flight), (0, 0));
    assert_eq!(object(&eval_in(&engine, "ptcs_nothing", "1").await)["reason"], "session_not_found");
}

#[tokio::test]
async fn r9_1_4_there_are_quotas() {
    let limits = SessionSettings { most: 3, per_owner: 2, ..SessionSettings::default() };
    let engine = engine(with_sessions(Profile::Slim, limits)).await;
    session(&engine).await;
    session(&engine).await;
    let third = call(&engine, "lisp_session_start", json!({})).await;
    assert_eq!(object(&third)["message"], "maximum number of sessions for this owner reached");
    let ben = Caller::new("ben", Transport::Stdio);
    call_as(&ben, &engine, "lisp_session_start", json!({})).await;
    let fourth = call_as(&ben, &engine, "lisp_session_start", json!({})).await;
    assert_eq!(object(&fourth)["message"], "maximum number of sessions reached");
    engine.close_owner("anna");
    assert_eq!(engine.metrics().sessions, 1);
}

#[tokio::test]
async fn quotas_are_of_whoever_is_behind_all_connections_and_access_is_of_each() {
    let limits = SessionSettings { most: 9, per_owner: 2, ..SessionSettings::default() };
    let engine = engine(with_sessions(Profile::Structured, limits)).await;
    let over = |connection: &str, principal: &str| Caller {
        principal: principal.into(),
        ..Caller::new(connection, Transport::Http)
    };
    let start = async |caller: &Caller| {
        let reply = call_as(caller, &engine, "lisp_session_start", json!({})).await;
        object(&reply)["session_id"].as_str().map(str::to_owned).ok_or(object(&reply)["message"].clone())
    };
    let (first, second, third) = (over("mcp_1", "anna"), over("mcp_2", "anna"), over("mcp_3", "anna"));
    let annas = start(&first).await.expect("there is room");
    start(&second).await.expect("there is room");
    for connection in [&first, &second, &third] {
        let refused = start(connection).await.expect_err("anna has two");
        assert_eq!(refused, "maximum number of sessions for this owner reached");
    }
    start(&over("mcp_4", "ben")).await.expect("ben has his own");
    let program = json!({"session_id": annas, "program": "1"});
    let other = call_as(&second, &engine, "lisp_session_eval", program).await;
    assert_eq!(object(&other)["reason"], "session_owner_mismatch");
    engine.close_owner("mcp_1");
    start(&third).await.expect("there is room again");
}

#[tokio::test]
async fn r9_4_6_sessions_end_after_their_time() {
    let engine = engine(structured()).await;
    let reply = call(&engine, "lisp_session_start", json!({"ttl_ms": 1})).await;
    let id = object(&reply)["session_id"].as_str().expect("it starts").to_owned();
    until_none_is_listed(&engine).await;
    assert_eq!(object(&eval_in(&engine, &id, "1").await)["reason"], "session_closed");
    let idle = SessionSettings { idle: Duration::from_millis(1), ..SessionSettings::default() };
    let engine = super::support::engine(with_sessions(Profile::Structured, idle)).await;
    let id = session(&engine).await;
    until_none_is_listed(&engine).await;
    assert_eq!(object(&eval_in(&engine, &id, "1").await)["reason"], "session_closed");
}

#[tokio::test]
async fn r9_4_6_the_end_of_its_time_stops_a_program() {
    let engine = engine(structured()).await;
    let reply = call(&engine, "lisp_session_start", json!({"ttl_ms": 300})).await;
    let id = object(&reply)["session_id"].as_str().expect("it starts").to_owned();
    let ended = eval_in(&engine, &id, "(loop [] (recur))").await;
    assert!(["session_not_found", "session_closed"].iter().any(|one| object(&ended)["reason"] == *one));
    assert_eq!(engine.metrics().sessions, 0);
}

#[tokio::test]
async fn r9_1_5_arguments_are_strict() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    for (tool, arguments, message) in [
        ("lisp_session_eval", json!({"program": "1"}), "session_id must be a non-empty string"),
        (
            "lisp_session_eval",
            json!({"session_id": "", "program": "1"}),
            "session_id must be a non-empty string",
        ),
        ("lisp_session_eval", json!({"session_id": id}), "argument `program` is required"),
        (
            "lisp_session_eval",
            json!({"session_id": id, "program": "1", "signature": "() -> :int"}),
            "argument `signature` is no longer supported; use `output_schema`",
        ),
        (
            "lisp_session_eval",
            json!({"session_id": id, "program": "1", "extra": 1}),
            "unknown argument `extra`; there are session_id, program, context, output_schema",
        ),
        ("lisp_session_list", json!({"x": 1}), "lisp_session_list takes no arguments"),
        ("lisp_session_start", json!({"ttl_ms": 0}), "ttl_ms must be a positive integer"),
        (
            "lisp_session_start",
            json!({"mode": "admin"}),
            "mode must be \"read_only\" or \"write_capable\", got: admin",
        ),
        (
            "lisp_session_start",
            json!({"scoped_base_surface": 1}),
            "scoped_base_surface must be a boolean when supplied",
        ),
        (
            "lisp_session_start",
            json!({"role": "x"}),
            "role requires --session-roles, which this server was started without",
        ),
        (
            "lisp_session_start",
            json!({"tags": {"a": []}}),
            "tags has strings, numbers, booleans and null as values",
        ),
        ("lisp_session_forget", json!({"session_id": id, "clear": ["all"]}), "invalid clear target"),
        (
            "lisp_session_inspect",
            json!({"session_id": id, "view": "bogus"}),
            "view must be one of overview, memory, prints, tool_calls, history, limits; got `bogus`",
        ),
        (
            "lisp_session_inspect",
            json!({"session_id": id, "view": 7}),
            "view must be one of overview, memory, prints, tool_calls, history, limits; got no text",
        ),
    ] {
        let reply = call(&engine, tool, arguments.clone()).await;
        assert_eq!(object(&reply)["reason"], "session_args_error", "{arguments}");
        assert_eq!(object(&reply)["message"], message, "{arguments}");
    }
}

#[tokio::test]
async fn r9_2_2_tags_of_the_server_win() {
    let boot = args(json!({"env": "test"}));
    let settings = SessionSettings { boot_tags: boot, ..SessionSettings::default() };
    let engine = engine(with_sessions(Profile::Slim, settings)).await;
    let reply = call(&engine, "lisp_session_start", json!({"tags": {"who": "anna"}})).await;
    assert_eq!(object(&reply)["tags"], json!({"who": "anna", "env": "test"}));
    let reply = call(&engine, "lisp_session_start", json!({"tags": {"env": "live"}})).await;
    assert_eq!(object(&reply)["reason"], "session_args_error");
}

#[tokio::test]
async fn r9_4_1_inspection_and_forgetting() {
    let engine = engine(structured()).await;
    let id = session(&engine).await;
    let inspect = async |view: &str| {
        let reply = call(&engine, "lisp_session_inspect", json!({"session_id": id, "view": view})).await;
        object(&reply).clone()
    };
    assert_eq!(inspect("memory").await["text"], "", "nothing has run yet");
    eval_in(&engine, &id, "(println \"seen\") (def rows [1 2]) (defn f [x] x) 7").await;
    let memory = inspect("memory").await;
    assert_eq!(memory["stored_keys"], json!(["rows", "f"]));
    assert_eq!(memory["text"], "rows = [1 2]\nf = #fn[x]");
    assert_eq!(inspect("prints").await["prints"], json!(["seen"]));
    let history = inspect("history").await;
    assert_eq!(history["history"], json!([{"name": "*1", "preview": "7", "truncated": false}]));
    let limits = inspect("limits").await;
    assert_eq!(limits["limits"]["max_bindings"], 200);
    assert_eq!(limits["top_bindings"].as_array().map(Vec::len), Some(2));
    assert_eq!(inspect("overview").await["view"], "overview");
    assert_eq!(inspect("tool_calls").await["upstream_calls"], json!([]));
    let forgotten = call(
        &engine,
        "lisp_session_forget",
        json!({"session_id": id, "bindings": ["rows", "nothing"], "clear": ["prints", "history"]}),
    )
    .await;
    assert_eq!(object(&forgotten)["removed_bindings"], json!(["rows"]));
    assert_eq!(object(&forgotten)["stored_keys"], json!(["f"]));
    assert_eq!(inspect("prints").await["prints"], json!([]));
    assert_eq!(inspect("history").await["history"], json!([]));
    assert_eq!(object(&eval_in(&engine, &id, "rows").await)["reason"], "unbound_var");
    let listed = call(&engine, "lisp_session_list", json!({})).await;
    assert_eq!(object(&listed)["sessions"][0]["session_id"], id.as_str());
    assert!(!listed.text().contains("seen"), "no values are listed");
}

#[tokio::test]
async fn r9_3_10_long_lists_are_pointed_out() {
    let settings = SessionSettings { collection_hint: true, ..SessionSettings::default() };
    let engine = engine(with_sessions(Profile::Slim, settings)).await;
    let id = session(&engine).await;
    let reply = eval_in(&engine, &id, "(def rows (mapv (fn [n] {:n n}) (range 25))) (count rows)").await;
    assert!(reply.text().contains("rows has 25 maps"), "{}", reply.text());
    let engine = super::support::engine(with_sessions(Profile::Slim, SessionSettings::default())).await;
    let id = session(&engine).await;
    let reply = eval_in(&engine, &id, "(vec (range 3000))").await;
    assert!(reply.text().contains("(describe *1)"), "{}", reply.text());
    assert!(reply.text().contains(";; all of it: *1"), "{}", reply.text());
}

#[tokio::test]
async fn r9_3_2_and_r9_5_4_upstream_calls_of_sessions() {
    let policy = r#"{"default_role": "reader", "roles": {
        "reader": {"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]},
        "blind": {"upstream_tools": ["upstream:crm/get"]}}}"#;
    let settings = SessionSettings {
        roles: Some(std::sync::Arc::new(Policy::parse(policy).expect("it is right"))),
        upstream_calls: LogRetention { entries: 2, bytes: 10_000 },
        ..SessionSettings::default()
    };
    let engine = aggregator(with_sessions(Profile::Structured, settings)).await;
    let id = session(&engine).await;
    let get = r#"(:ok (tool/call {:server "crm" :tool "get" :args {}}))"#;
    let failed = eval_in(&engine, &id, &format!("{get} (nope)")).await;
    assert_eq!(object(&failed)["reason"], "unbound_var");
    let failed = eval_in(&engine, &id, &format!("{get} (/ 1 0)")).await;
    assert!(failed.text().ends_with("[rolled back; turn upstream calls: 1]"), "{}", failed.text());
    let denied = eval_in(&engine, &id, r#"(:reason (tool/call {:server "crm" :tool "put" :args {}}))"#).await;
    assert_eq!(object(&denied)["result"], "user=> :upstream_tool_denied", "{:?}", denied.structured);
    let inspect =
        call(&engine, "lisp_session_inspect", json!({"session_id": id, "view": "tool_calls"})).await;
    assert_eq!(object(&inspect)["upstream_calls"].as_array().map(Vec::len), Some(2), "what happened stays");
    assert_eq!(object(&inspect)["session"]["role"], "reader");
    let blind = call(&engine, "lisp_session_start", json!({"role": "blind"})).await;
    let id = object(&blind)["session_id"].as_str().expect("it starts").to_owned();
    let reply = eval_in(&engine, &id, r#"(:reason (tool/call {:server "crm" :tool "get" :args {}}))"#).await;
    assert_eq!(object(&reply)["result"], "user=> :upstream_unavailable", "{:?}", reply.structured);
}

#[tokio::test]
async fn r1_7_8_and_r14_4_1_role_credentials_stay_within_their_roles() {
    let policy = r#"{"roles": {"a": {}, "b": {"modes": ["write_capable"]}},
        "outer_policy": {"mcp_tools": ["lisp_eval", "lisp_session_start", "lisp_session_eval"]}}"#;
    let settings = SessionSettings {
        roles: Some(std::sync::Arc::new(Policy::parse(policy).expect("it is right"))),
        ..SessionSettings::default()
    };
    let engine = engine(with_sessions(Profile::Slim, settings)).await;
    let caller = Caller { roles: Some(["a".to_owned()].into()), ..Caller::new("token", Transport::Http) };
    let eval = call_as(&caller, &engine, "lisp_eval", json!({"program": "1"})).await;
    assert_eq!(object(&eval)["message"], "lisp_eval is not available to role-token credentials");
    assert_eq!(object(&eval)["reason"], "role_credential_denied");
    let offered: Vec<&str> = engine.tools(&caller).into_iter().map(|tool| tool.name).collect();
    assert_eq!(offered, ["lisp_session_start", "lisp_session_eval"]);
    let other = call_as(&caller, &engine, "lisp_session_start", json!({"role": "b"})).await;
    assert_eq!(object(&other)["message"], "role is not allowed for this credential");
    let own = call_as(&caller, &engine, "lisp_session_start", json!({})).await;
    assert_eq!(object(&own)["role"], "a");
    let mode = call(&engine, "lisp_session_start", json!({"role": "a", "mode": "write_capable"})).await;
    assert_eq!(object(&mode)["message"], "mode write_capable is not granted for role a");
    let unnamed = call(&engine, "lisp_session_start", json!({})).await;
    assert_eq!(object(&unnamed)["message"], "role is required when session roles are configured");
    let hidden = call(&engine, "lisp_session_list", json!({})).await;
    assert_eq!(object(&hidden)["reason"], "unknown_tool", "the outer policy does not name it");
    assert_eq!(engine.tools(&anna()).len(), 3);
}
