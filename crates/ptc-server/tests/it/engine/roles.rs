//! Roles: grants that must exist, exports that they take away, lists that show less, and what nobody gets around.

use std::sync::Arc;

use ptc_lisp::prelude::Prelude;
use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Caller, Engine, Parts, Profile, StartError, Transport};
use ptc_store::Store;
use ptc_store::preludes::{Metadata, Preludes};
use serde_json::{Value as Json, json};

use super::support::{call, call_as, crm, eval_in, object, with_sessions};

const BASE: &str = "(ns base \"Small things.\") (defn- secret-of-base [] 42) (defn twice [n] (* 2 n))";

const SALES: &str = r#"(ns sales "Customers.")
    (defn- dead [] "nobody calls this")
    (defn- put [row] (tool/call {:server "crm" :tool "put" :args row}))
    (defn rows "Rows of the CRM." [n] (:value (tool/call {:server "crm" :tool "get" :args {:rows n}})))
    (defn store! "Keeps a row." [row] (put row))
    (defn store-all! "Keeps rows." [rows] (mapv store! rows))
    (defn ask "Asks any tool." [tool] (tool/call {:server "crm" :tool tool :args {}}))
    (defn double-count "Twice as many." [n] (base/twice (count (rows n))))"#;

fn store() -> Preludes {
    let preludes = Preludes::new(Arc::new(Store::open(":memory:").expect("it opens")));
    let needs: Metadata = [("requires_preludes".to_owned(), json!(["base"]))].into_iter().collect();
    preludes.write("base", BASE, &Metadata::new()).expect("it is right");
    preludes.write("sales", SALES, &needs).expect("it is right");
    preludes
}

async fn try_start(policy: Json, parts: Parts) -> Result<Arc<Engine>, StartError> {
    let policy = Policy::parse(&policy.to_string()).expect("it is right");
    let sessions = SessionSettings {
        roles: Some(Arc::new(policy)),
        allow_prelude_write: true,
        ..SessionSettings::default()
    };
    let parts = Parts { runtime: Some(crm().await), ..parts };
    Engine::with(with_sessions(Profile::Structured, sessions), parts).await
}

/// An engine with the store and one role, which is the default.
async fn with_role(role: Json) -> Arc<Engine> {
    let policy = json!({"default_role": "one", "roles": {"one": role}});
    try_start(policy, Parts { preludes: Some(store()), ..Parts::default() }).await.expect("it starts")
}

async fn started(engine: &Engine, arguments: Json) -> (String, Json) {
    let started = object(&call(engine, "lisp_session_start", arguments).await).clone();
    let id = started["session_id"].as_str().unwrap_or_else(|| panic!("it does not start: {started}"));
    (id.to_owned(), started)
}

async fn result(engine: &Engine, session: &str, program: &str) -> Json {
    object(&eval_in(engine, session, program).await)["result"].clone()
}

async fn refused(engine: &Engine, session: &str, program: &str) -> String {
    let reply = eval_in(engine, session, program).await;
    assert!(reply.is_error, "{program}: {}", reply.text());
    reply.text()
}

/// The names of exports that were taken away, with the reasons.
fn taken(started: &Json) -> Vec<(&str, &str)> {
    let all = started["prelude_projection"]["filtered_exports"].as_array().expect("a list");
    all.iter()
        .map(|one| (one["ref"].as_str().unwrap_or_default(), one["reason"].as_str().unwrap_or_default()))
        .collect()
}

#[tokio::test]
async fn r9_5_2_grants_of_what_does_not_exist_keep_the_server_from_starting() {
    for (role, message) in [
        (
            json!({"credentials": ["token", "nope", "other"]}),
            "--session-roles: role one grants unknown credential(s): nope, other",
        ),
        (
            json!({"upstream_tools": ["upstream:crm/get", "upstream:crm/nope", "upstream:erp/get"]}),
            "--session-roles: role one grants unknown upstream operation(s): upstream:crm/nope, upstream:erp/get",
        ),
        (
            json!({"ptc_tools": ["prelude_store_list", "launch"]}),
            "--session-roles: role one grants unknown tool(s): launch",
        ),
        (
            json!({"preludes": ["base@1", "base@7", "nosuch@1"]}),
            "--session-roles: role one grants unknown prelude(s): base@7, nosuch@1",
        ),
    ] {
        let parts = Parts { preludes: Some(store()), ..Parts::default() };
        let refused = try_start(json!({"roles": {"one": role}}), parts).await;
        assert_eq!(refused.expect_err("it is refused").to_string(), message);
    }
    let all = json!({"upstream_tools": ["upstream:crm/*"], "credentials": ["token"], "ptc_tools": []});
    assert!(try_start(json!({"roles": {"one": all}}), Parts::default()).await.is_ok());
}

#[tokio::test]
async fn r9_5_5_exports_without_grants_are_taken_away_with_a_reason() {
    let engine = with_role(json!({"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]})).await;
    let (id, started) = started(&engine, json!({"preludes": ["sales"]})).await;
    assert_eq!(
        taken(&started),
        [
            ("sales/ask", "dynamic_upstream_requires_broad_grant"),
            ("sales/store!", "upstream_tool_denied"),
            ("sales/store-all!", "upstream_tool_denied"),
        ]
    );
    assert_eq!(result(&engine, &id, "(sales/double-count 3)").await, "user=> 6");
    for (program, reason) in [
        ("(sales/store! {:id 1})", "(upstream_tool_denied)"),
        ("(map sales/store! [{:id 1}])", "(upstream_tool_denied)"),
        ("(sales/ask \"get\")", "(dynamic_upstream_requires_broad_grant)"),
    ] {
        let text = refused(&engine, &id, program).await;
        assert!(text.contains(reason) && text.contains("prelude_projection"), "{text}");
    }
    let blind = with_role(json!({"upstream_tools": "all"})).await;
    let (_, started) = self::started(&blind, json!({"preludes": ["sales"]})).await;
    assert!(
        taken(&started).contains(&("sales/rows", "upstream_tool_denied")),
        "an upstream whose credential is not granted cannot be relied on: {started}"
    );
}

#[tokio::test]
async fn r9_5_5_the_prelude_of_the_server_is_narrowed_too() {
    let prelude = Arc::new(Prelude::compile_text(&SALES.replace("base/twice", "inc")).expect("it is right"));
    let policy = json!({"roles": {
        "reader": {"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]},
        "writer": {"upstream_tools": "all", "credentials": ["token"]},
    }});
    let engine =
        try_start(policy, Parts { prelude: Some(prelude), ..Parts::default() }).await.expect("it starts");
    let (reader, started) = started(&engine, json!({"role": "reader"})).await;
    assert_eq!(taken(&started).len(), 3, "{started}");
    refused(&engine, &reader, "(sales/store! {:id 1})").await;
    let (writer, started) = self::started(&engine, json!({"role": "writer"})).await;
    assert_eq!(taken(&started), []);
    assert_eq!(result(&engine, &writer, "(:ok (sales/store! {:id 1}))").await, "user=> true");
}

#[tokio::test]
async fn r9_5_4_roles_bound_the_servers_own_tools() {
    let role = json!({"prelude_store": "write", "modes": ["write_capable"],
                      "ptc_tools": ["prelude_store_list", "prelude_store_read"]});
    let engine = with_role(role).await;
    let (id, started) = started(&engine, json!({"mode": "write_capable"})).await;
    let gone = taken(&started);
    assert!(gone.contains(&("prelude/write", "ptc_tool_denied")), "{started}");
    assert!(!gone.iter().any(|(name, _)| *name == "prelude/list"), "{started}");
    assert_eq!(result(&engine, &id, "(:status (prelude/list))").await, "user=> \"ok\"");
    let text = refused(&engine, &id, r#"(prelude/write {:id "x" :source "(ns x)"})"#).await;
    assert!(text.contains("(ptc_tool_denied)"), "{text}");
    refused(&engine, &id, r#"(tool/prelude_store_write {:request {}})"#).await;
}

#[tokio::test]
async fn r9_5_6_strict_roles_call_only_what_was_chosen() {
    let grants = |strict: bool| json!({"upstream_tools": "all", "credentials": ["token"], "strict_transitive_calls": strict});
    let strict = with_role(grants(true)).await;
    let (id, _) = started(&strict, json!({"preludes": ["sales"]})).await;
    assert_eq!(result(&strict, &id, "(sales/double-count 2)").await, "user=> 4", "preludes may");
    let text = refused(&strict, &id, "(base/twice 2)").await;
    assert!(text.contains("because sales needs it") && text.contains("attach base itself"), "{text}");
    let (both, _) = started(&strict, json!({"preludes": ["sales", "base"]})).await;
    assert_eq!(result(&strict, &both, "(base/twice 2)").await, "user=> 4");
    let relaxed = with_role(grants(false)).await;
    let (id, _) = started(&relaxed, json!({"preludes": ["sales"]})).await;
    assert_eq!(result(&relaxed, &id, "(base/twice 2)").await, "user=> 4");
}

#[tokio::test]
async fn r9_5_7_a_scoped_surface_masks_what_is_only_needed() {
    let engine = with_role(json!({"upstream_tools": "all", "credentials": ["token"]})).await;
    let (id, started) = started(&engine, json!({"preludes": ["sales"], "scoped_base_surface": true})).await;
    let presentation = &started["prelude_presentation"];
    assert_eq!(
        *presentation,
        json!({"scoped_base_surface": true, "masked_namespaces": ["base"], "fallback_warnings": []})
    );
    let namespaces: Vec<&Json> =
        started["preludes"].as_array().into_iter().flatten().map(|one| &one["namespace"]).collect();
    assert_eq!(namespaces, [&json!("sales")]);
    for (program, expected) in [
        ("(dir 'base)", "[]"),
        ("(dir 'base {:full true})", "[\"twice\"]"),
        ("(count (ns-publics 'base))", "0"),
        ("(count (ns-publics 'base {:full true}))", "1"),
        ("(some #(clojure.string/includes? % \"base/twice\") (apropos \"twice\" {:limit 50}))", "nil"),
        (
            "(some #(clojure.string/includes? % \"base/twice\") (apropos \"twice\" {:limit 50 :full true}))",
            "true",
        ),
        ("(empty? (dir 'sales))", "false"),
        ("(base/twice 4)", "8"),
    ] {
        let shown = result(&engine, &id, program).await;
        assert_eq!(shown.as_str().unwrap_or("user=> nil"), format!("user=> {expected}"), "{program}");
    }
    let text = refused(&engine, &id, "(dir 'base {:full 1})").await;
    assert!(text.contains("dir :full must be a boolean, got 1"), "{text}");
    let (open, started) =
        self::started(&engine, json!({"preludes": ["base"], "scoped_base_surface": true})).await;
    assert_eq!(started["prelude_presentation"]["fallback_warnings"].as_array().map(Vec::len), Some(1));
    assert_eq!(result(&engine, &open, "(dir 'base)").await, "user=> [\"twice\"]");
}

#[tokio::test]
async fn r14_4_7_private_tools_answer_to_their_exports_only() {
    let engine = with_role(json!({"prelude_store": "write", "modes": ["write_capable"]})).await;
    let (id, _) = started(&engine, json!({"mode": "write_capable"})).await;
    for program in [
        "(tool/prelude_store_list {})",
        "(let [f tool/prelude_store_list] (f {}))",
        "(map tool/prelude_store_list [{}])",
        "((fn [g] (g {})) tool/prelude_store_list)",
        "(defn helper [] (tool/prelude_store_list {})) (helper)",
        "(def prelude/list 1)",
        "(defn prelude/list [] (tool/prelude_store_list {}))",
        "(ns prelude) (defn mine [] (tool/prelude_store_list {}))",
        "(tool/prelude-store-list {})",
    ] {
        refused(&engine, &id, program).await;
    }
    assert_eq!(result(&engine, &id, "(:status (prelude/list))").await, "user=> \"ok\"");
    for reserved in ["tool", "data", "budget", "ptc.core"] {
        let program = format!(
            r#"(:status (prelude/write {{:id "{reserved}" :source "(ns {reserved}) (defn f [] 1)"}}))"#
        );
        assert_eq!(result(&engine, &id, &program).await, "user=> \"error\"", "{reserved}");
    }
}

#[tokio::test]
async fn r14_4_7_what_is_taken_away_cannot_be_reached_or_read() {
    let engine = with_role(json!({"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]})).await;
    let (id, _) = started(&engine, json!({"preludes": ["sales"]})).await;
    for program in [
        "(sales/store-all! [{:id 1}])",
        "(let [f sales/store!] (f {:id 1}))",
        "(sales/put {:id 1})",
        "(sales/dead)",
        "(base/secret-of-base)",
        "(def sales/store! (fn [row] row))",
    ] {
        refused(&engine, &id, program).await;
    }
    for hidden in ["sales/store!", "sales/put", "sales/dead", "base/secret-of-base"] {
        let text = eval_in(&engine, &id, &format!("(source {hidden})")).await.text();
        assert!(text.contains("no source available") && !text.contains("defn"), "{hidden}: {text}");
        let listed =
            result(&engine, &id, &format!("(contains? (ns-publics 'sales) '{})", &hidden[6..])).await;
        assert_eq!(listed, "user=> false");
    }
    let direct = r#"(:reason (tool/call {:server "crm" :tool "put" :args {:id 1}}))"#;
    assert_eq!(result(&engine, &id, direct).await, "user=> :upstream_tool_denied");
}

#[tokio::test]
async fn stored_sessions_stay_as_their_role_left_them() {
    let kept = Arc::new(Store::open(":memory:").expect("it opens"));
    let preludes = store();
    let policy = json!({"roles": {
        "reader": {"upstream_tools": ["upstream:crm/get"], "credentials": ["token"], "strict_transitive_calls": true},
        "author": {"prelude_store": "write", "modes": ["write_capable"], "ptc_tools": ["prelude_store_list"]},
    }});
    let parts = Parts { preludes: Some(preludes), store: Some(kept), ..Parts::default() };
    let first = try_start(policy.clone(), parts.clone()).await.expect("it starts");
    let reading = json!({"role": "reader", "preludes": ["sales"], "scoped_base_surface": true});
    let (reader, _) = started(&first, reading).await;
    let (author, _) = started(&first, json!({"role": "author", "mode": "write_capable"})).await;
    for session in [&reader, &author] {
        eval_in(&first, session, "(def x 1)").await;
    }
    first.shutdown().await;
    drop(first);
    let second = try_start(policy, parts).await.expect("it starts");
    assert_eq!(result(&second, &reader, "[x (sales/double-count 2) (dir 'base)]").await, "user=> [1 4 []]");
    for (program, reason) in
        [("(sales/store! {})", "(upstream_tool_denied)"), ("(base/twice 2)", "because sales needs it")]
    {
        let text = refused(&second, &reader, program).await;
        assert!(text.contains(reason), "{text}");
    }
    assert_eq!(result(&second, &author, "[x (:status (prelude/list))]").await, "user=> [1 \"ok\"]");
    assert!(refused(&second, &author, "(prelude/read \"base\")").await.contains("(ptc_tool_denied)"));
    refused(&second, &author, "(tool/prelude_store_list {})").await;
}

#[tokio::test]
async fn what_a_role_takes_away_is_not_told_to_its_token() {
    let policy = json!({"roles": {
        "reader": {"upstream_tools": ["upstream:crm/get"], "credentials": ["token"]},
        "guesser": {"upstream_tools": ["upstream:crm/guess"], "credentials": ["token"]},
        "blind": {"upstream_tools": ["upstream:crm/get"]},
        "nobody": {"credentials": ["token"]},
    }});
    let engine = try_start(policy, Parts::default()).await.expect("it starts");
    let cases: [(&[&str], &[&str]); 5] = [
        (&["reader"], &["get"]),
        (&["reader", "guesser"], &["get", "guess"]),
        (&["blind"], &[]),
        (&["nobody"], &[]),
        (&["nobody", "reader"], &["get"]),
    ];
    for (roles, told) in cases {
        let names: Vec<String> = roles.iter().map(|role| (*role).to_owned()).collect();
        let caller = Caller { roles: Some(names.into()), ..Caller::new("token", Transport::Http) };
        let mut texts: Vec<String> = engine.tools(&caller).into_iter().map(|tool| tool.description).collect();
        texts.extend(engine.instructions(&caller));
        for tool in ["get", "put", "guess"] {
            let is_told = texts.iter().any(|text| text.contains(&format!("The tool {tool} of")));
            assert_eq!(is_told, told.contains(&tool), "{roles:?} {tool}: {texts:?}");
            let check = async |program: String| {
                object(&call_as(&caller, &engine, "lisp_check", json!({"program": program})).await).clone()
            };
            let direct = check(format!("(crm/{tool} {{:id 1}})")).await;
            let called = check(format!("(tool/call {{:server \"crm\" :tool \"{tool}\" :args {{}}}})")).await;
            match told.contains(&tool) {
                true => {
                    assert_eq!(direct["allowed"], true, "{roles:?} {direct}");
                    assert_eq!(called["tools"], json!([format!("crm/{tool}")]), "{roles:?} {called}");
                }
                false => {
                    assert_eq!(direct["valid"], false, "{roles:?} {direct}");
                    assert_eq!(called["allowed"], false, "{roles:?} {called}");
                    assert_eq!(called["tools"], json!([]), "{roles:?} {called}");
                    assert!(called["refusal"].as_str().is_some_and(|why| why.contains("is not granted")));
                }
            }
            let computed = check("(tool/call {:server \"crm\" :tool data/t :args {}})".to_owned()).await;
            assert_eq!(computed["tools"].to_string().contains(tool), told.contains(&tool), "{computed}");
        }
        assert!(told.is_empty() != texts.iter().any(|text| text.contains("- crm:")), "{roles:?}: {texts:?}");
    }
}
