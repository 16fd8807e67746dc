//! Requests that a client sends again under the same key: answered from what was kept, and nothing is written twice.

use std::sync::Arc;

use ptc_server::effects::StoreJournal;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{CallError, Caller, Engine, Parts, Profile, Reply, Signals, Transport};
use ptc_store::Store;
use ptc_upstream::Runtime;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::support::*;

const PUT: &str = "(:ok (tool/call {:server \"crm\" :tool \"put\" :args {:n 1}}))";

fn store() -> Arc<Store> {
    Arc::new(Store::open(":memory:").expect("a store"))
}

async fn over(store: &Arc<Store>) -> Arc<Engine> {
    over_runtime(store, crm().await).await
}

async fn over_runtime(store: &Arc<Store>, runtime: Arc<Runtime>) -> Arc<Engine> {
    let parts =
        Parts { runtime: Some(runtime), effects: Some(StoreJournal::new(store.clone())), ..Parts::default() };
    let settings = with_sessions(Profile::Debug, SessionSettings::default());
    Engine::with(settings, parts).await.expect("it starts")
}

fn keyed(key: &str) -> Signals {
    Signals { request_key: Some(key.to_owned()), ..Signals::default() }
}

async fn send(engine: &Engine, caller: &Caller, key: &str, program: &str) -> Reply {
    let call = engine.call(caller, "lisp_eval", args(json!({"program": program})), keyed(key));
    call.await.expect("it is answered")
}

/// Whether the upstream calls of a reply were recalled.
fn recalled(reply: &Reply) -> Vec<bool> {
    let calls = object(reply)["upstream_calls"].as_array().cloned().unwrap_or_default();
    calls.iter().map(|call| call["recalled"] == true).collect()
}

#[tokio::test]
async fn a_request_that_ended_is_answered_from_what_was_kept() {
    let store = store();
    let engine = over(&store).await;
    let first = send(&engine, &anna(), "k1", PUT).await;
    assert_eq!((first.recalled, recalled(&first)), (false, vec![false]));
    // Another process over the same store.
    for engine in [engine, over(&store).await] {
        let again = send(&engine, &anna(), "k1", PUT).await;
        // That it was kept stands beside the answer, whose schema does not have it.
        assert!(again.recalled && object(&again) == object(&first));
        assert_eq!((again.text(), again.is_error), (first.text(), false));
        assert_eq!(object(&again)["result"], object(&first)["result"]);
    }
    let bad = send(&*over(&store).await, &anna(), "k2", "(/ 1 0)").await;
    let again = send(&*over(&store).await, &anna(), "k2", "(/ 1 0)").await;
    assert!(bad.is_error && again.is_error && again.recalled, "failures are replies too");
}

#[tokio::test]
async fn keys_belong_to_one_request_of_one_caller() {
    let store = store();
    let engine = over(&store).await;
    send(&engine, &anna(), "k", PUT).await;
    let other = send(&engine, &anna(), "k", "(+ 1 2)").await;
    assert_eq!(object(&other)["reason"], "args_error");
    assert!(other.text().contains("belongs to another request"), "{}", other.text());
    let ben = Caller::new("ben", Transport::Http);
    assert_eq!(recalled(&send(&engine, &ben, "k", PUT).await), [false], "ben's key is another one");
    // The same person over another connection.
    let later = Caller { principal: "ben".into(), ..Caller::new("session-2", Transport::Http) };
    assert!(send(&engine, &later, "k", PUT).await.recalled);
    let length = "a text of 1 to 256 bytes";
    for (key, told) in [("", length), (&"x".repeat(300), length), ("a\0b", "U+0000")] {
        let refused = send(&engine, &anna(), key, PUT).await;
        assert_eq!(object(&refused)["reason"], "args_error", "{refused:?}");
        assert!(refused.text().contains(told), "{refused:?}");
    }
    let free = send(&engine, &anna(), "free", "").await;
    assert_eq!(object(&free)["reason"], "args_error");
    assert!(!send(&engine, &anna(), "free", PUT).await.is_error, "nothing was run, so the key is free");
}

#[tokio::test]
async fn without_a_store_there_are_no_keys() {
    let engine = aggregator(patient(Profile::Debug)).await;
    let reply = send(&engine, &anna(), "k", PUT).await;
    assert!(reply.text().contains("--store"), "{}", reply.text());
    assert!(!eval(&engine, PUT).await.is_error);
}

#[tokio::test]
async fn a_request_that_did_not_end_runs_again_without_writing_again() {
    let store = store();
    let (runtime, waiting) = crm_that_counts().await;
    let engine = over_runtime(&store, runtime).await;
    let program =
        |wait: &str| format!("(do {PUT} (tool/call {{:server \"crm\" :tool \"get\" :args {wait}}}) {PUT})");
    let cancel = CancellationToken::new();
    let signals = Signals { cancel: cancel.clone(), ..keyed("k") };
    let anna = anna();
    let program = program("(if data/wait {:wait 1} {})");
    let given = |wait: bool| args(json!({"program": program, "context": {"wait": wait}}));
    let (ended, ()) = tokio::join!(engine.call(&anna, "lisp_eval", given(true), signals), async {
        // The first write is answered, the second not begun.
        until_waiting(&waiting, 1).await;
        assert_eq!(StoreJournal::new(store.clone()).gaps().expect("a list"), []);
        cancel.cancel();
    });
    assert_eq!(ended, Err(CallError::Cancelled));
    let refused = engine.call(&anna, "lisp_eval", given(false), keyed("k")).await.expect("it is answered");
    assert_eq!(object(&refused)["reason"], "args_error", "other inputs are another request");
    let cancel = CancellationToken::new();
    let signals = Signals { cancel: cancel.clone(), ..keyed("k") };
    let (again, busy) = tokio::join!(engine.call(&anna, "lisp_eval", given(true), signals), async {
        until_waiting(&waiting, 2).await;
        let busy = engine.call(&anna, "lisp_eval", given(true), keyed("k")).await.expect("it is answered");
        cancel.cancel();
        busy
    });
    assert_eq!(again, Err(CallError::Cancelled));
    assert_eq!(object(&busy)["reason"], "busy");
    let journal = StoreJournal::new(store.clone());
    assert_eq!(journal.gaps().expect("a list"), [], "the write of both runs is one, and answered");
    // A retry that is not even run leaves what was written down alone.
    engine.drain();
    let refused = engine.call(&anna, "lisp_eval", given(true), keyed("k")).await.expect("it is answered");
    assert_eq!(object(&refused)["reason"], "shutting_down");
    assert!(journal.effects().has("request:anna:k").expect("it can be asked"));
}

#[tokio::test]
async fn a_request_goes_on_without_its_client_and_has_one_reply() {
    let store = store();
    let (runtime, waiting) = crm_that_counts().await;
    let engine = over_runtime(&store, runtime).await;
    let id = session(&engine).await;
    let put = |args: &str| format!("(:ok (tool/call {{:server \"crm\" :tool \"put\" :args {args}}}))");
    let requests = [
        ("lisp_eval", json!({"program": put("{:hold 1}")})),
        ("lisp_session_eval", json!({"session_id": id, "program": put("{:hold 2}")})),
    ];
    let anna = anna();
    for (tool, given) in &requests {
        waiting.send_replace(0);
        let gone = CancellationToken::new();
        let signals = Signals { gone: Some(gone.clone()), ..keyed(tool) };
        let (left, ()) = tokio::join!(engine.call(&anna, tool, args(given.clone()), signals), async {
            until_waiting(&waiting, 1).await;
            gone.cancel();
        });
        assert_eq!(left, Err(CallError::Cancelled), "{tool}: nobody waits");
        assert!(engine.is_busy(), "{tool}: the end of the server waits for it");
        let again = || engine.call(&anna, tool, args(given.clone()), keyed(tool));
        assert_eq!(object(&again().await.expect("a reply"))["reason"], "busy", "{tool}");
        waiting.send_replace(RELEASED);
        let reply = loop {
            let reply = again().await.expect("a reply");
            if object(&reply)["reason"] != "busy" {
                break reply;
            }
            tokio::task::yield_now().await;
        };
        assert!(reply.recalled && !reply.is_error, "{tool}: {reply:?}");
        assert_eq!(recalled(&reply), [false], "{tool}: it was made once");
    }
    assert_eq!(StoreJournal::new(store.clone()).gaps().expect("a list"), []);
    while engine.is_busy() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn calls_in_sessions_are_kept_too_and_gaps_are_told() {
    let store = store();
    let engine = over(&store).await;
    let id = session(&engine).await;
    let given = || args(json!({"session_id": id, "program": "(def n (inc (or (first [1]) 0))) n"}));
    let first = engine.call(&anna(), "lisp_session_eval", given(), keyed("k")).await.expect("a reply");
    let again = engine.call(&anna(), "lisp_session_eval", given(), keyed("k")).await.expect("a reply");
    assert!(!first.recalled && again.recalled);
    assert_eq!(object(&again)["session"], object(&first)["session"], "it was not evaluated again");

    let lost = json!({"n": 1});
    let call = ptc_store::effects::NewEffect { identity: "abc", server: "crm", tool: "put", args: &lost };
    StoreJournal::new(store.clone()).effects().begin("call:x", &call).expect("it is new");
    let debug = ptc_server::engine::settings::Debug { ring_size: 4, max_response_bytes: 100_000 };
    let parts = Parts { effects: Some(StoreJournal::new(store)), ..Parts::default() };
    let settings = ptc_server::engine::Settings { debug: Some(debug), ..patient(Profile::Debug) };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let stats: Json =
        object(&super::support::call(&engine, "lisp_debug", json!({"op": "stats"})).await).clone();
    let unknown = &stats["outcome_unknown"];
    assert_eq!((&unknown["count"], &unknown["calls"][0]["identity"]), (&json!(1), &json!("abc")), "{stats}");
}

#[tokio::test]
async fn calls_of_which_nobody_knows_are_told_to_those_who_made_them() {
    let store = store();
    let journal = StoreJournal::new(store.clone());
    let args = json!({});
    for (identity, scope) in [
        ("hers", ptc_server::effects::request_scope("anna", "k")),
        ("hers too", ptc_server::effects::call_scope("anna", "1")),
        ("his", ptc_server::effects::request_scope("ben", "anna:k")),
        ("nobody's", "plan:1".to_owned()),
    ] {
        let call = ptc_store::effects::NewEffect { identity, server: "crm", tool: "put", args: &args };
        journal.effects().begin(&scope, &call).expect("it is new");
    }
    let debug = ptc_server::engine::settings::Debug { ring_size: 4, max_response_bytes: 100_000 };
    let parts = Parts { effects: Some(journal), ..Parts::default() };
    let settings = ptc_server::engine::Settings { debug: Some(debug), ..patient(Profile::Debug) };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let in_session =
        |principal: &str| Caller { owner: "mcp_1".into(), ..Caller::new(principal, Transport::Http) };
    for (caller, expected) in [
        (anna(), vec!["hers", "hers too", "nobody's"]),
        (in_session("anna"), vec!["hers", "hers too"]),
        (in_session("ben"), vec!["his"]),
        (in_session("carl"), vec![]),
    ] {
        let stats = call_as(&caller, &engine, "lisp_debug", json!({"op": "stats"})).await;
        let calls = object(&stats)["outcome_unknown"]["calls"].as_array().cloned().expect("a list");
        let mut told: Vec<&str> = calls.iter().filter_map(|call| call["identity"].as_str()).collect();
        told.sort_unstable();
        assert_eq!(told, expected, "{caller:?}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_go_on_as_it_began_is_not_run_again_and_sends_nothing() {
    let store = store();
    let (runtime, waiting) = crm_that_counts().await;
    let planner = ptc_agent::model::Llm::function(|_: &ptc_agent::model::Request| {
        let program = format!("{PUT} (tool/call {{:server \"crm\" :tool \"get\" :args {{:wait 1}}}})");
        Ok::<_, String>(ptc_agent::model::Reply::text(format!("```clojure\n{program}\n```")))
    });
    let settings = ptc_server::engine::Settings {
        task: Some(ptc_server::engine::settings::Task { allow_writes: true, ..Default::default() }),
        ..with_sessions(Profile::Debug, SessionSettings::default())
    };
    let parts = Parts {
        runtime: Some(runtime),
        effects: Some(StoreJournal::new(store.clone())),
        planner: Some(planner),
        ..Parts::default()
    };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let id = session(&engine).await;
    let program = format!("(def x 1) {PUT} (tool/call {{:server \"crm\" :tool \"get\" :args {{:wait 1}}}})");
    let requests = [
        ("lisp_session_eval", json!({"session_id": id, "program": program})),
        ("lisp_task", json!({"task": "put it there"})),
    ];
    let anna = anna();
    for (count, (tool, given)) in (1..).zip(&requests) {
        let cancel = CancellationToken::new();
        let signals = Signals { cancel: cancel.clone(), ..keyed(tool) };
        let (ended, ()) = tokio::join!(engine.call(&anna, tool, args(given.clone()), signals), async {
            until_waiting(&waiting, count).await;
            cancel.cancel();
        });
        assert_eq!(ended, Err(CallError::Cancelled), "{tool}");
    }
    eval_in(&engine, &id, "(def y 2)").await;
    for (tool, given) in &requests {
        let refused = engine.call(&anna, tool, args(given.clone()), keyed(tool)).await.expect("a reply");
        assert_eq!(object(&refused)["reason"], "request_stale", "{tool}: {refused:?}");
        assert!(refused.text().contains("Nothing was sent now"), "{}", refused.text());
        assert_eq!(object(&refused)["calls_made"], json!(["crm/put"]), "{tool}: {refused:?}");
    }
    assert_eq!(*waiting.borrow(), 2, "nothing was called");
}

#[tokio::test]
async fn a_request_that_goes_on_reads_what_it_read_before() {
    let store = store();
    let (runtime, waiting) = crm_that_counts().await;
    let engine = over_runtime(&store, runtime).await;
    let get = |args: &str| format!("(tool/call {{:server \"crm\" :tool \"get\" :args {args}}})");
    let program = format!("(do {} {PUT} {} {PUT})", get("{:n 1}"), get("{:wait 1}"));
    let anna = anna();
    for count in 1..=2 {
        let cancel = CancellationToken::new();
        let signals = Signals { cancel: cancel.clone(), ..keyed("k") };
        let given = args(json!({"program": program}));
        let (ended, ()) = tokio::join!(engine.call(&anna, "lisp_eval", given, signals), async {
            until_waiting(&waiting, count).await;
            cancel.cancel();
        });
        assert_eq!(ended, Err(CallError::Cancelled));
    }
    let seen = StoreJournal::new(store).effects().seen("request:anna:k").expect("a list");
    let kinds: Vec<&str> = seen.iter().filter_map(|one| one.identity.split(' ').next()).collect();
    assert_eq!(kinds, ["begun", "read"], "what came after the last write is made again");
}

#[tokio::test]
async fn a_session_is_started_changed_and_closed_once_under_a_key() {
    for stored in [true, false] {
        let store = store();
        let server = async || {
            let effects = Some(StoreJournal::new(store.clone()));
            let parts = Parts { store: stored.then(|| store.clone()), effects, ..Parts::default() };
            Engine::with(with_sessions(Profile::Debug, SessionSettings::default()), parts)
                .await
                .expect("it starts")
        };
        let first = server().await;
        // Sessions that are not stored are those of one server.
        let second = if stored { server().await } else { first.clone() };
        let both = async |tool: &str, given: Json| {
            let call = |engine: &Arc<Engine>| {
                let (engine, tool, given) = (engine.clone(), tool.to_owned(), args(given.clone()));
                async move { engine.call(&anna(), &tool, given, keyed(&tool)).await.expect("a reply") }
            };
            let (one, other) = (call(&first).await, call(&second).await);
            assert_eq!((one.recalled, other.recalled, one.is_error), (false, true, false), "{tool}: {one:?}");
            assert_eq!(one.text().len(), other.text().len(), "{tool}: {other:?}");
            assert_eq!(object(&one), object(&other), "{tool}");
            object(&other).clone()
        };
        let started = both("lisp_session_start", json!({"title": "numbers"})).await;
        let id = started["session_id"].as_str().expect("an id");
        let listed = call(&second, "lisp_session_list", json!({})).await;
        assert_eq!(object(&listed)["count"], 1, "it was started once: {listed:?}");
        eval_in(&first, id, "(def x 1) (def y 2)").await;
        let forgotten = both("lisp_session_forget", json!({"session_id": id, "bindings": ["x"]})).await;
        assert_eq!(forgotten["removed_bindings"], json!(["x"]), "and not found missing");
        assert_eq!(forgotten["usage"]["binding_count"], 1);
        both("lisp_session_close", json!({"session_id": id})).await;
    }
}

#[tokio::test]
async fn a_prelude_is_written_once_by_a_request_that_runs_again() {
    let store = store();
    let preludes = ptc_store::preludes::Preludes::new(store.clone());
    let (runtime, waiting) = crm_that_counts().await;
    let parts = Parts {
        runtime: Some(runtime),
        store: Some(store.clone()),
        effects: Some(StoreJournal::new(store.clone())),
        preludes: Some(preludes.clone()),
        ..Parts::default()
    };
    let settings = SessionSettings { allow_prelude_write: true, ..SessionSettings::default() };
    let engine = Engine::with(with_sessions(Profile::Debug, settings), parts).await.expect("it starts");
    let started = call(&engine, "lisp_session_start", json!({"mode": "write_capable"})).await;
    let id = object(&started)["session_id"].as_str().expect("it starts").to_owned();
    let program = r#"(let [written (prelude/write {:id "new" :source "(ns new) (defn one [] 1)"})]
                       (tool/call {:server "crm" :tool "get" :args (if data/wait {:wait 1} {})})
                       (:version written))"#;
    let given = args(json!({"session_id": id, "program": program, "context": {"wait": true}}));
    let anna = anna();
    for count in 1..=3 {
        let cancel = CancellationToken::new();
        let signals = Signals { cancel: cancel.clone(), ..keyed("k") };
        let (ended, ()) =
            tokio::join!(engine.call(&anna, "lisp_session_eval", given.clone(), signals), async {
                until_waiting(&waiting, count).await;
                cancel.cancel();
            });
        assert_eq!(ended, Err(CallError::Cancelled));
        assert_eq!(preludes.history("new").expect("it is there").len(), 1, "after {count} runs");
    }
    assert_eq!(StoreJournal::new(store).gaps().expect("a list"), [], "it is known what became of it");
}
