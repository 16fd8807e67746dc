//! Preludes of sessions: frozen at the start, narrowed by roles, written by those who may.

use std::sync::Arc;

use ptc_lisp::prelude::Prelude;
use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Engine, Parts, Profile, Settings};
use ptc_store::Store;
use ptc_store::preludes::{Metadata, Preludes};
use serde_json::{Value as Json, json};

use super::support::{call, crm, eval, eval_in, object, patient, with_sessions};

/// A store with `base`, and `crm` on top of it.
fn store() -> Preludes {
    let preludes = Preludes::new(Arc::new(Store::open(":memory:").expect("it opens")));
    let write = |id: &str, source: &str, needs: Json| {
        let metadata: Metadata = match needs {
            Json::Null => Metadata::new(),
            needs => [("requires_preludes".to_owned(), needs)].into_iter().collect(),
        };
        preludes.write(id, source, &metadata).expect("it is right")
    };
    write("base", "(ns base \"Small things.\") (defn twice [n] (* 2 n))", Json::Null);
    write(
        "sales",
        "(ns sales \"Customers.\")
         (defn rows \"Rows of the CRM.\" [n] (:value (tool/call {:server \"crm\" :tool \"get\" :args {:rows n}})))
         (defn store! [row] (tool/call {:server \"crm\" :tool \"put\" :args row}))
         (defn double-count [n] (base/twice (count (rows n))))",
        json!(["base"]),
    );
    preludes
}

async fn start(sessions: SessionSettings, preludes: Preludes) -> Arc<Engine> {
    let parts = Parts { runtime: Some(crm().await), preludes: Some(preludes), ..Parts::default() };
    Engine::with(with_sessions(Profile::Structured, sessions), parts).await.expect("it starts")
}

async fn session_with(engine: &Engine, arguments: Json) -> Json {
    object(&call(engine, "lisp_session_start", arguments).await).clone()
}

#[tokio::test]
async fn r9_6_preludes_are_frozen_when_a_session_starts() {
    let preludes = store();
    let engine = start(SessionSettings::default(), preludes.clone()).await;
    let started = session_with(&engine, json!({"preludes": ["sales"]})).await;
    assert_eq!(started["status"], "ok", "{started}");
    let refs: Vec<&str> = started["prelude_refs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    assert_eq!(refs, ["base", "sales"]);
    assert_eq!(started["prelude_refs"][0]["required_by"], json!(["sales"]));
    assert_eq!(started["preludes"][1]["discover"], "(ns-publics 'sales)");
    let id = started["session_id"].as_str().expect("it starts");
    assert_eq!(object(&eval_in(&engine, id, "(sales/double-count 5)").await)["result"], "user=> 10");
    preludes.write("base", "(ns base) (defn twice [n] (* 20 n))", &Metadata::new()).expect("it is right");
    assert_eq!(
        object(&eval_in(&engine, id, "(def x 1) (sales/double-count 5)").await)["result"],
        "user=> 10"
    );
    assert_eq!(object(&eval_in(&engine, id, "[x (base/twice 4)]").await)["result"], "user=> [1 8]");
    let listed = call(&engine, "lisp_session_list_preludes", json!({"session_id": id})).await;
    assert_eq!(object(&listed)["prelude_refs"], started["prelude_refs"]);
    let protected = eval_in(&engine, id, "(def sales/rows 1)").await;
    assert!(protected.is_error);
}

#[tokio::test]
async fn a_session_tells_of_a_server_whose_name_its_prelude_uses() {
    let preludes = store();
    preludes.write("crm", "(ns crm \"Ours.\") (defn hi [] 1)", &Metadata::new()).expect("it is right");
    let engine = start(SessionSettings::default(), preludes).await;
    let started = session_with(&engine, json!({"preludes": ["crm"]})).await;
    assert_eq!(started["warnings"][0]["reason"], "hidden_server", "{started}");
    let message = started["warnings"][0]["message"].as_str().expect("it says which");
    assert!(message.contains("upstream 'crm': crm/ is a namespace of the prelude"), "{message}");
    let other = session_with(&engine, json!({"preludes": ["sales"]})).await;
    assert_eq!((&other["status"], other.get("warnings")), (&json!("ok"), None), "{other}");
}

#[tokio::test]
async fn r9_6_3_bad_references_are_not_repeated() {
    let engine = start(SessionSettings::default(), store()).await;
    for (preludes, message) in [
        (json!("sales"), "preludes must be an array when supplied"),
        (json!(["no such!"]), "preludes[0] must be a valid prelude id or id@version ref"),
        (json!(["base", {"id": "base", "version": 0}]), "preludes[1].version must be a positive integer"),
        (
            json!(["base", "base@9"]),
            "preludes[1] does not exist, or not in that version; (prelude/list) of a write_capable session or \
             `ptc prelude store list` shows what there is",
        ),
    ] {
        let refused = session_with(&engine, json!({"preludes": preludes})).await;
        assert_eq!(
            (&refused["reason"], &refused["message"]),
            (&json!("session_args_error"), &json!(message))
        );
    }
    let without = Engine::with(with_sessions(Profile::Slim, SessionSettings::default()), Parts::default())
        .await
        .expect("it starts");
    let refused = session_with(&without, json!({"preludes": ["base"]})).await;
    assert!(refused["message"].as_str().expect("it says why").contains("prelude store"));
}

#[tokio::test]
async fn r9_5_5_roles_take_exports_away_that_they_do_not_grant() {
    let policy = r#"{"roles": {
        "reader": {"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]},
        "picky": {"upstream_tools": "all", "credentials": ["token"], "preludes": ["base@1"]}}}"#;
    let roles = Some(Arc::new(Policy::parse(policy).expect("it is right")));
    let engine = start(SessionSettings { roles, ..SessionSettings::default() }, store()).await;
    let started = session_with(&engine, json!({"role": "reader", "preludes": ["sales"]})).await;
    let projection = &started["prelude_projection"];
    assert_eq!(projection["filtered_export_count"], 1, "{started}");
    assert_eq!(
        projection["filtered_exports"],
        json!([{"ref": "sales/store!", "namespace": "sales", "name": "store!", "reason": "upstream_tool_denied"}])
    );
    let id = started["session_id"].as_str().expect("it starts");
    assert_eq!(object(&eval_in(&engine, id, "(sales/double-count 3)").await)["result"], "user=> 6");
    assert!(eval_in(&engine, id, "(sales/store! {:id 1})").await.is_error);
    let refused = session_with(&engine, json!({"role": "picky", "preludes": ["sales"]})).await;
    assert_eq!(refused["message"], "preludes[0] is not granted for this role");
    let exact = session_with(&engine, json!({"role": "picky", "preludes": ["base@1"]})).await;
    assert_eq!(exact["status"], "ok", "{exact}");
}

#[tokio::test]
async fn r9_6_5_write_capable_sessions_write_preludes_if_everything_allows_it() {
    let preludes = store();
    let refused = start(SessionSettings::default(), preludes.clone()).await;
    let refused = session_with(&refused, json!({"mode": "write_capable"})).await;
    assert!(refused["message"].as_str().expect("it says why").contains("--sessions-allow-prelude-write"));
    let engine =
        start(SessionSettings { allow_prelude_write: true, ..SessionSettings::default() }, preludes.clone())
            .await;
    let both = session_with(&engine, json!({"mode": "write_capable", "preludes": ["base"]})).await;
    assert_eq!(both["reason"], "session_args_error");
    let started = session_with(&engine, json!({"mode": "write_capable"})).await;
    let id = started["session_id"].as_str().expect("it starts");
    let program = r#"(:version (prelude/write {:id "new" :source "(ns new) (defn one [] 1)"}))"#;
    assert_eq!(object(&eval_in(&engine, id, program).await)["result"], "user=> 1");
    let bad = eval_in(
        &engine,
        id,
        r#"(select-keys (prelude/write {:id "new" :source "(ns new) (defn"}) [:status])"#,
    )
    .await;
    assert_eq!(object(&bad)["result"], "user=> {:status \"error\"}");
    let direct = eval_in(&engine, id, "(tool/prelude_store_list {})").await;
    assert!(direct.is_error, "only the exports may call it: {:?}", direct.structured);
    let seen = call(&engine, "lisp_session_inspect", json!({"session_id": id, "view": "tool_calls"})).await;
    assert!(!seen.text().contains("defn one"), "sources are not in the log");
    assert_eq!(object(&seen)["tool_calls"].as_array().map(Vec::len), Some(2));
    let reading = session_with(&engine, json!({})).await;
    let id = reading["session_id"].as_str().expect("it starts");
    assert!(
        eval_in(&engine, id, "(prelude/list)").await.is_error,
        "sessions that may not write see nothing of it"
    );
    let used = session_with(&engine, json!({"preludes": ["new"]})).await;
    let id = used["session_id"].as_str().expect("it starts");
    assert_eq!(object(&eval_in(&engine, id, "(new/one)").await)["result"], "user=> 1");
}

#[tokio::test]
async fn r10_14_2_the_prelude_of_the_server_is_everywhere() {
    let prelude = Prelude::compile_text("(ns tax \"Taxes.\") (defn vat \"With VAT.\" [n] (* n 1.25))")
        .expect("it is right");
    let parts = Parts { prelude: Some(Arc::new(prelude)), preludes: Some(store()), ..Parts::default() };
    let engine = Engine::with(with_sessions(Profile::Slim, SessionSettings::default()), parts)
        .await
        .expect("it starts");
    assert_eq!(eval(&engine, "(tax/vat 100)").await.text(), "user=> 125.0");
    let spec = &engine.tools(&super::support::anna())[0];
    assert!(spec.description.contains("tax/vat"), "{}", spec.description);
    let started = session_with(&engine, json!({})).await;
    let id = started["session_id"].as_str().expect("it starts");
    assert_eq!(eval_in(&engine, id, "(tax/vat 4)").await.text(), "user=> 5.0");
    let both = session_with(&engine, json!({"preludes": ["base"]})).await;
    assert!(both["message"].as_str().expect("it says why").contains("--prelude"));
    let needy = Prelude::compile_text("(ns x) (defn f [] (tool/call {:server \"none\" :tool \"t\"}))")
        .expect("it is right");
    let parts = Parts { prelude: Some(Arc::new(needy)), runtime: Some(crm().await), ..Parts::default() };
    let refused = Engine::with(Settings { ..patient(Profile::Slim) }, parts).await;
    assert!(refused.expect_err("it needs what is not there").to_string().contains("none"));
}

#[tokio::test]
async fn read_only_servers_look_into_preludes_too() {
    let parts = Parts { runtime: Some(crm().await), preludes: Some(store()), ..Parts::default() };
    let settings =
        Settings { read_only: true, ..with_sessions(Profile::Structured, SessionSettings::default()) };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let started = session_with(&engine, json!({"preludes": ["sales"]})).await;
    let id = started["session_id"].as_str().expect("it starts");
    assert_eq!(object(&eval_in(&engine, id, "(count (sales/rows 3))").await)["result"], "user=> 3");
    let refused = eval_in(&engine, id, "(println 1) (sales/store! {:id 1})").await;
    assert!(refused.text().contains("read-only"), "{}", refused.text());
    assert_eq!(engine.metrics().upstream_errors, 0);
}

/// A program that fails leaves its session as it was, and what it wrote to the store stays there.
#[tokio::test]
async fn what_the_store_keeps_is_never_called_rolled_back() {
    let sessions = SessionSettings { allow_prelude_write: true, ..SessionSettings::default() };
    let parts = Parts { preludes: Some(store()), ..Parts::default() };
    let engine = Engine::with(with_sessions(Profile::Slim, sessions), parts).await.expect("it starts");
    let started = call(&engine, "lisp_session_start", json!({"mode": "write_capable"})).await;
    let started: Json = serde_json::from_str(&started.text()).expect("JSON");
    let id = started["session_id"].as_str().expect("it starts");
    let write = |source: &str| format!("(prelude/write {{:id \"base\" :source \"{source}\"}})");
    let right = write("(ns base) (defn twice [n] n)");
    for (program, end) in [
        ("(/ 1 0)".to_owned(), "[rolled back]"),
        (format!("(do {} (/ 1 0))", write("(ns base")), "[rolled back]"),
        (format!("(do {right} (/ 1 0))"), "[session unchanged, but the prelude store keeps base@2]"),
        (right.clone(), "[prelude store: base@3]"),
        (
            "(do (prelude/set-default {:id \"base\" :version 1}) (fail 1))".to_owned(),
            "[session unchanged, but the prelude store keeps base@1]",
        ),
    ] {
        let reply = eval_in(&engine, id, &program).await;
        assert!(reply.text().ends_with(end), "{program}: {}", reply.text());
    }
}
