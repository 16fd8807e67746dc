//! Sessions in a store: what another server finds, who may change one, and what is never found.

use std::sync::Arc;
use std::time::Duration;

use ptc_lisp::prelude::Prelude;
use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Caller, Engine, Parts, Profile, Signals, Transport};
use ptc_store::Store;
use ptc_store::preludes::{Metadata, Preludes};
use ptc_store::sessions::Sessions as Rows;
use serde_json::{Value as Json, json};

use super::support::{
    anna, args, call, call_as, crm, eval_in, object, session, until, until_none_is_listed, with_sessions,
};

fn memory() -> Arc<Store> {
    Arc::new(Store::open(":memory:").expect("it opens"))
}

/// A server on a store.
async fn server(store: &Arc<Store>) -> Arc<Engine> {
    server_with(store, SessionSettings::default(), Parts::default()).await
}

async fn server_with(store: &Arc<Store>, sessions: SessionSettings, parts: Parts) -> Arc<Engine> {
    let parts = Parts { store: Some(store.clone()), ..parts };
    Engine::with(with_sessions(Profile::Structured, sessions), parts).await.expect("it starts")
}

/// The result, or the reason why there is none.
async fn result(engine: &Engine, session: &str, program: &str) -> String {
    let reply = eval_in(engine, session, program).await;
    let shown = object(&reply);
    shown["result"].as_str().or(shown["reason"].as_str()).unwrap_or_default().to_owned()
}

async fn inspect(engine: &Engine, session: &str, view: &str) -> Json {
    object(&call(engine, "lisp_session_inspect", json!({"session_id": session, "view": view})).await).clone()
}

#[tokio::test]
async fn another_server_finds_all_of_a_session() {
    let store = memory();
    let first = server(&store).await;
    let arguments = json!({"title": "numbers", "tags": {"team": "a"}});
    let started = object(&call(&first, "lisp_session_start", arguments).await).clone();
    let id = started["session_id"].as_str().expect("an id").to_owned();
    result(&first, &id, "(def x 1) (defn twice [n] (* 2 n)) (def seen (atom [])) (println \"hello\") :a")
        .await;
    assert_eq!(result(&first, &id, "(swap! seen conj (twice x)) @seen").await, "user=> [2]");
    let before = [
        inspect(&first, &id, "overview").await,
        inspect(&first, &id, "memory").await,
        inspect(&first, &id, "prints").await,
        inspect(&first, &id, "history").await,
        inspect(&first, &id, "limits").await,
    ];
    first.shutdown().await;
    drop(first);
    let second = server(&store).await;
    let list = object(&call(&second, "lisp_session_list", json!({})).await).clone();
    assert_eq!(list["sessions"][0]["title"], "numbers");
    assert_eq!((&list["count"], &list["sessions"][0]["turn"]), (&json!(1), &json!(2)));
    let after = [
        inspect(&second, &id, "overview").await,
        inspect(&second, &id, "memory").await,
        inspect(&second, &id, "prints").await,
        inspect(&second, &id, "history").await,
        inspect(&second, &id, "limits").await,
    ];
    assert_eq!(before, after);
    assert_eq!(
        result(&second, &id, "(swap! seen conj (twice 21)) [@seen *1 *2]").await,
        "user=> [[2 42] [2] :a]"
    );
    assert_eq!(inspect(&second, &id, "overview").await["session"]["tags"], json!({"team": "a"}));
}

#[tokio::test]
async fn a_program_that_is_rolled_back_leaves_only_its_attempt() {
    let store = memory();
    let first = server_with(
        &store,
        SessionSettings::default(),
        Parts { runtime: Some(crm().await), ..Parts::default() },
    )
    .await;
    let id = session(&first).await;
    result(&first, &id, "(def x 1)").await;
    assert_eq!(result(&first, &id, "(def x 2) (/ 1 0)").await, "arithmetic_error");
    let call = "(def x 3) (tool/call {:server \"crm\" :tool \"get\" :args {:n 1}}) (fail :no)";
    result(&first, &id, call).await;
    let second = server(&store).await;
    let usage = inspect(&second, &id, "overview").await["usage"].clone();
    assert_eq!((&usage["turns"], &usage["attempts"]), (&json!(1), &json!(3)));
    assert_eq!(usage["upstream_call_entries"], 1, "what happened to the world is remembered");
    assert_eq!(result(&second, &id, "x").await, "user=> 1");
}

#[tokio::test]
async fn servers_that_share_a_session_see_each_others_changes() {
    let store = memory();
    let (first, second) = (server(&store).await, server(&store).await);
    let id = session(&first).await;
    for n in 1..=6 {
        let engine = if n % 2 == 0 { &first } else { &second };
        let program = format!("(def trail (conj (if (= {n} 1) [] trail) {n})) (count trail)");
        assert_eq!(result(engine, &id, &program).await, format!("user=> {n}"));
    }
    assert_eq!(result(&first, &id, "trail").await, "user=> [1 2 3 4 5 6]");
    let forget = json!({"session_id": id, "bindings": ["trail"], "clear": ["history"]});
    assert_eq!(
        object(&call(&second, "lisp_session_forget", forget).await)["removed_bindings"],
        json!(["trail"])
    );
    assert_eq!(result(&first, &id, "trail").await, "unbound_var");
    call(&second, "lisp_session_close", json!({"session_id": id})).await;
    assert_eq!(result(&first, &id, "1").await, "session_closed");
}

#[tokio::test]
async fn of_two_servers_that_evaluate_at_once_one_is_told_that_the_session_is_busy() {
    let store = memory();
    let parts = || async { Parts { runtime: Some(crm().await), ..Parts::default() } };
    let first = server_with(&store, SessionSettings::default(), parts().await).await;
    let second = server_with(&store, SessionSettings::default(), parts().await).await;
    let id = session(&first).await;
    let waits = json!({"session_id": id, "program": "(def x 1) (tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})"});
    let signals = Signals::default();
    let cancel = signals.cancel.clone();
    let running = tokio::spawn({
        let first = first.clone();
        async move { first.call(&anna(), "lisp_session_eval", args(waits), signals).await }
    });
    let status = async || inspect(&second, &id, "overview").await["session"]["eval_status"].clone();
    until("it runs", async || status().await == "running").await;
    assert_eq!(result(&second, &id, "(def x 2)").await, "session_busy");
    assert_eq!(result(&first, &id, "(def x 2)").await, "session_busy");
    cancel.cancel();
    assert!(running.await.expect("it ends").is_err(), "nobody waits for it");
    // Given up, it is given back, and nothing of it was kept.
    until("it is given back", async || result(&second, &id, "(def y 1)").await != "session_busy").await;
    assert_eq!(result(&first, &id, "x").await, "unbound_var");
    assert_eq!(result(&first, &id, "y").await, "user=> 1");
}

#[tokio::test]
async fn who_was_replaced_keeps_nothing() {
    let store = memory();
    let parts = Parts { runtime: Some(crm().await), ..Parts::default() };
    let engine = server_with(&store, SessionSettings::default(), parts).await;
    let id = session(&engine).await;
    result(&engine, &id, "(def x 1)").await;
    // Another server, to which this one seems dead.
    let rows = Rows::new(store.clone());
    let slow = json!({"session_id": id, "program": "(def x 2) (tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})"});
    let running = tokio::spawn({
        let engine = engine.clone();
        async move { engine.call(&anna(), "lisp_session_eval", args(slow), Signals::default()).await }
    });
    until("it runs", async || rows.read(&id, "anna", None).expect("it is there").busy).await;
    rows.close(&id, "anna").expect("closed by another");
    let reply =
        tokio::time::timeout(Duration::from_secs(60), running).await.expect("it notices").expect("ends");
    let reason = object(&reply.expect("an answer"))["reason"].clone();
    assert_eq!(reason, "session_not_found", "eval request is no longer active");
    assert_eq!(result(&engine, &id, "x").await, "session_closed");
}

#[tokio::test]
async fn a_session_whose_definitions_are_missing_is_refused() {
    let store = memory();
    let id = session(&server(&store).await as &Engine).await;
    // As `ptc store rescue` leaves one whose definitions stood on a damaged page.
    let rows = Rows::new(store.clone());
    let taken = rows.take(&id, "anna", 10_000, None).expect("it is free");
    let mut meta = taken.kept.expect("what is kept").meta;
    (meta["changes"], meta["stored"]) = (json!(1), json!(["x"]));
    rows.commit(&taken.lease, taken.version, &meta, None).expect("it is kept");
    let engine = server(&store).await;
    for program in ["x", "(def x 2)"] {
        let reply = eval_in(&engine, &id, program).await;
        let refused = object(&reply);
        assert_eq!(refused["reason"], "sessions_unavailable", "{refused}");
        let message = refused["message"].as_str().expect("a message");
        assert!(message.contains("close it with lisp_session_close"), "{message}");
    }
}

#[tokio::test]
async fn limits_count_what_is_in_the_store() {
    let store = memory();
    let few = || SessionSettings { most: 3, per_owner: 2, ..SessionSettings::default() };
    let (first, second) = (
        server_with(&store, few(), Parts::default()).await,
        server_with(&store, few(), Parts::default()).await,
    );
    let start = |engine: Arc<Engine>, owner: &'static str| async move {
        let caller = Caller::new(owner, Transport::Http);
        object(&call_as(&caller, &engine, "lisp_session_start", json!({})).await)["message"].clone()
    };
    assert_eq!(start(first.clone(), "anna").await, Json::Null);
    assert_eq!(start(second.clone(), "anna").await, Json::Null);
    assert_eq!(start(first.clone(), "anna").await, "maximum number of sessions for this owner reached");
    assert_eq!(start(second.clone(), "bert").await, Json::Null);
    assert_eq!(start(first.clone(), "cleo").await, "maximum number of sessions reached");
}

#[tokio::test]
async fn sessions_belong_to_who_is_behind_the_connection() {
    let store = memory();
    let engine = server(&store).await;
    let connection = |name: &str, account: Option<&str>| Caller {
        principal: account.unwrap_or(name).into(),
        ..Caller::new(name, Transport::Http)
    };
    let id = {
        let reply = call_as(&connection("c1", Some("ann")), &engine, "lisp_session_start", json!({})).await;
        object(&reply)["session_id"].as_str().expect("an id").to_owned()
    };
    let passing = {
        let reply = call_as(&connection("c2", None), &engine, "lisp_session_start", json!({})).await;
        object(&reply)["session_id"].as_str().expect("an id").to_owned()
    };
    engine.close_owner("c1");
    engine.close_owner("c2");
    let eval = |caller: Caller, id: String| {
        let engine = engine.clone();
        async move {
            let arguments = json!({"session_id": id, "program": "1"});
            object(&call_as(&caller, &engine, "lisp_session_eval", arguments).await).clone()
        }
    };
    assert_eq!(eval(connection("c3", Some("ann")), id.clone()).await["status"], "ok", "she comes again");
    assert_eq!(eval(connection("c4", Some("bob")), id.clone()).await["reason"], "session_owner_mismatch");
    until("who is known by the connection alone is gone with it", async || {
        eval(connection("c2", None), passing.clone()).await["reason"] == "session_closed"
    })
    .await;
}

#[tokio::test]
async fn copies_in_memory_are_few_and_make_no_difference() {
    let store = memory();
    let sessions = SessionSettings { live: 2, most: 100, per_owner: 100, ..SessionSettings::default() };
    let engine = server_with(&store, sessions, Parts::default()).await;
    let mut ids = Vec::new();
    for n in 0..10 {
        let id = session(&engine).await;
        assert_eq!(
            result(&engine, &id, &format!("(def n {n}) (defn add [k] (+ n k)) n")).await,
            format!("user=> {n}")
        );
        ids.push(id);
    }
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(result(&engine, id, "(add *1)").await, format!("user=> {}", 2 * n));
    }
}

#[tokio::test]
async fn preludes_stay_those_that_a_session_began_with() {
    let store = memory();
    let preludes = Preludes::new(store.clone());
    preludes.write("base", "(ns base) (defn twice [n] (* 2 n))", &Metadata::new()).expect("it is right");
    let parts = || Parts { preludes: Some(preludes.clone()), ..Parts::default() };
    let first = server_with(&store, SessionSettings::default(), parts()).await;
    let started = call(&first, "lisp_session_start", json!({"preludes": ["base"]})).await;
    let id = object(&started)["session_id"].as_str().expect("an id").to_owned();
    assert_eq!(result(&first, &id, "(defn four [] (base/twice 2)) (four)").await, "user=> 4");
    preludes.write("base", "(ns base) (defn twice [n] (* 3 n))", &Metadata::new()).expect("it is right");
    let second = server_with(&store, SessionSettings::default(), parts()).await;
    assert_eq!(result(&second, &id, "[(four) (base/twice 5)]").await, "user=> [4 10]");
    let listed = call(&second, "lisp_session_list_preludes", json!({"session_id": id})).await;
    assert_eq!(object(&listed)["prelude_refs"], object(&started)["prelude_refs"]);
    // The same without the versions in the store: a session has its own copy.
    let third = server(&store).await;
    assert_eq!(result(&third, &id, "(base/twice 6)").await, "user=> 12");
}

#[tokio::test]
async fn a_server_with_another_prelude_or_policy_refuses_the_session() {
    let store = memory();
    let prelude = |body: &str| {
        let text = format!("(ns lib) (defn f [n] {body})");
        Some(Arc::new(Prelude::compile_text(&text).expect("it is right")))
    };
    let with = |body: &str| Parts { prelude: prelude(body), ..Parts::default() };
    let first = server_with(&store, SessionSettings::default(), with("(+ n 1)")).await;
    let id = session(&first).await;
    assert_eq!(result(&first, &id, "(def a (lib/f 1)) a").await, "user=> 2");
    let same = server_with(&store, SessionSettings::default(), with("(+ n 1)")).await;
    assert_eq!(result(&same, &id, "(lib/f a)").await, "user=> 3");
    let other = server_with(&store, SessionSettings::default(), with("(+ n 2)")).await;
    let refused = eval_in(&other, &id, "a").await;
    assert_eq!(object(&refused)["reason"], "prelude_attach_failed");
    assert!(object(&refused)["message"].as_str().is_some_and(|text| text.contains("start a new session")));
    assert_eq!(result(&same, &id, "(lib/f 5)").await, "user=> 6", "it is still there for those who can");

    let policy = |grants: &str| {
        let text = format!(r#"{{"default_role": "r", "roles": {{"r": {{"upstream_tools": {grants}}}}}}}"#);
        SessionSettings {
            roles: Some(Arc::new(Policy::parse(&text).expect("it is right"))),
            ..SessionSettings::default()
        }
    };
    let narrow = server_with(&store, policy("[]"), Parts::default()).await;
    let id = session(&narrow).await;
    assert_eq!(result(&narrow, &id, "1").await, "user=> 1");
    let same = server_with(&store, policy("[]"), Parts::default()).await;
    assert_eq!(result(&same, &id, "2").await, "user=> 2");
    for changed in [policy("\"all\""), SessionSettings::default()] {
        let other = server_with(&store, changed, Parts::default()).await;
        assert_eq!(result(&other, &id, "3").await, "session_closed");
    }
}

#[tokio::test]
async fn sessions_in_a_store_end_by_their_time() {
    let store = memory();
    let engine = server(&store).await;
    let started = call(&engine, "lisp_session_start", json!({"ttl_ms": 300})).await;
    let id = object(&started)["session_id"].as_str().expect("an id").to_owned();
    until_none_is_listed(&engine).await;
    assert_eq!(result(&engine, &id, "1").await, "session_closed");
    let idle = SessionSettings { idle: Duration::from_millis(200), ..SessionSettings::default() };
    let engine = server_with(&store, idle, Parts::default()).await;
    let id = session(&engine).await;
    until_none_is_listed(&engine).await;
    assert_eq!(result(&engine, &id, "1").await, "session_closed");
    for strange in ["ptcs_nothing", "a\0b", "'; --"] {
        assert_eq!(result(&engine, strange, "1").await, "session_not_found");
    }
}

/// On one thread nothing but the stop itself gives calls time to end, as on a machine that is busy.
#[tokio::test(flavor = "current_thread")]
async fn a_stop_gives_back_the_sessions_of_programs_that_run() {
    let store = memory();
    let parts = Parts { runtime: Some(crm().await), ..Parts::default() };
    let engine = server_with(&store, SessionSettings::default(), parts).await;
    let rows = Rows::new(store.clone());
    let waits = "(tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})";
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = session(&engine).await;
        let (engine, arguments) = (engine.clone(), json!({"session_id": id, "program": waits}));
        tokio::spawn(async move {
            engine.call(&anna(), "lisp_session_eval", args(arguments), Signals::default()).await
        });
        ids.push(id);
    }
    let busy = |id: &String| rows.read(id, "anna", None).expect("it is there").busy;
    until("all of them run", async || ids.iter().all(busy)).await;
    engine.shutdown().await;
    let still: Vec<&String> = ids.iter().filter(|id| busy(id)).collect();
    assert!(still.is_empty(), "the server has stopped and still holds {still:?}");
    let second = server(&store).await;
    assert_eq!(result(&second, &ids[0], "1").await, "user=> 1");
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_gives_a_session_back_wherever_its_call_is() {
    let store = memory();
    let rows = Rows::new(store.clone());
    for turns in 0..60 {
        let engine = server(&store).await;
        let id = session(&engine).await;
        let calling = tokio::spawn({
            let (engine, arguments) = (engine.clone(), json!({"session_id": id, "program": "(def x 1)"}));
            async move { engine.call(&anna(), "lisp_session_eval", args(arguments), Signals::default()).await }
        });
        // The call is somewhere between not begun, taking, running, committing and answered.
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        engine.shutdown().await;
        assert!(!rows.read(&id, "anna", None).expect("it is there").busy, "after {turns} turns");
        let _ = calling.await.expect("it ends");
        assert!(!rows.read(&id, "anna", None).expect("it is there").busy, "{turns} turns and the call's end");
        rows.close(&id, "anna").expect("it is closed");
    }
}
