//! The server's own namespaces: `evidence/` over a bundle, and `log/` over the turns of one's sessions.

use std::path::Path;
use std::sync::Arc;

use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Engine, Parts, Profile, Settings};
use ptc_store::Store;
use ptc_store::preludes::{Metadata, Preludes};
use serde_json::{Value as Json, json};

use super::support::{Folder, call, call_as, crm, eval_in, files, object, session, with_sessions};

/// A folder with a bundle, whose manifest has these items.
fn bundle(items: Json) -> Folder {
    let folder = Folder::new("evidence");
    let root = folder.0.join("bundle");
    std::fs::create_dir_all(root.join("sub")).expect("it can be made");
    let put = |name: &str, text: &str| std::fs::write(root.join(name), text).expect("it can be written");
    put("facts.md", "# Facts\none\ntwo\nthree\n");
    put("sub/rows.json", &json!([{"n": 1}, {"n": 2}, {"n": 3}]).to_string());
    put("key.txt", "the answer is 42");
    let turn = json!({"event": "turn", "session_id": "s", "turn": 1, "attempt": 1, "committed": false, "status": "error",
                      "tags": {"env": "x"}, "data": {"program": "(private)", "catalog_ops": [{}], "tool_calls": [{}, {}],
                      "fail": {"reason": "unbound_var", "message": "private"}}});
    put("turns.jsonl", &format!("{}\n{turn}\nnot json\n", json!({"event": "trace.start"})));
    std::fs::write(folder.0.join("outside.txt"), "outside").expect("it can be written");
    let manifest = json!({"schema_version": 1, "bundle_id": "demo", "max_item_bytes": 16, "items": items});
    put("manifest.json", &manifest.to_string());
    folder
}

fn manifest(folder: &Folder) -> std::path::PathBuf {
    folder.0.join("bundle/manifest.json")
}

fn items() -> Json {
    json!([
        {"id": "facts", "kind": "markdown", "path": "facts.md", "title": "Facts"},
        {"id": "rows", "kind": "json", "path": "sub/rows.json"},
        {"id": "turns", "kind": "log_turns", "path": "turns.jsonl"},
        {"id": "counts", "kind": "log_counters", "path": "turns.jsonl"},
        {"id": "key", "kind": "answer_key", "path": "key.txt"},
        {"id": "notes", "kind": "text", "path": "key.txt", "model_visible": false},
    ])
}

async fn engine(
    evidence: Option<&Path>,
    turns: Option<&Path>,
    roles: Option<Json>,
    parts: Parts,
) -> Arc<Engine> {
    let roles = roles.map(|roles| Arc::new(Policy::parse(&roles.to_string()).expect("it is right")));
    let settings = Settings {
        evidence: evidence.map(Path::to_owned),
        turn_log_dir: turns.map(Path::to_owned),
        ..with_sessions(Profile::Structured, SessionSettings { roles, ..SessionSettings::default() })
    };
    Engine::with(settings, parts).await.expect("it starts")
}

async fn value(engine: &Engine, session: &str, program: &str) -> String {
    let reply = eval_in(engine, session, program).await;
    object(&reply)["result"]
        .as_str()
        .unwrap_or_else(|| panic!("{program}: {}", reply.text()))
        .replace("user=> ", "")
}

#[tokio::test]
async fn r12_4_programs_read_a_bundle_and_every_read_is_told() {
    let (folder, log) = (bundle(items()), Folder::new("evidence-turns"));
    let engine = engine(Some(&manifest(&folder)), Some(&log.0), None, Parts::default()).await;
    let id = session(&engine).await;
    for (program, expected) in [
        ("(mapv :id (:items (evidence/bundle)))", r#"["facts" "rows" "turns" "counts"]"#),
        ("(:bundle_id (evidence/bundle))", r#""demo""#),
        (
            "(select-keys (evidence/read \"facts\") [:content :truncated :bytes])",
            r##"{:content "# Facts\none\ntwo\n", :truncated true, :bytes 22}"##,
        ),
        ("(:items (evidence/page \"facts\" {:limit 2 :cursor \"1\"}))", r#"["one" "two"]"#),
        ("(:reason (evidence/page \"rows\" {:limit 101}))", r#""invalid_argument""#),
        (
            "(let [p (evidence/page \"rows\")] [(count (:items p)) (:has_more p) (:next_cursor p)])",
            r#"[1 true "1"]"#,
        ),
        (
            "(mapv :reason [(evidence/read \"key\") (evidence/read \"notes\") (evidence/read \"../outside.txt\")])",
            r#"["not_found" "not_found" "not_found"]"#,
        ),
        ("(:truncated (evidence/read \"turns\"))", "true"),
    ] {
        assert_eq!(value(&engine, &id, program).await, expected, "{program}");
    }
    assert!(
        eval_in(&engine, &id, "(tool/evidence_read {:id \"facts\"})").await.is_error,
        "only through the exports"
    );
    let turns = files(&log.0);
    let events: Vec<Json> =
        turns[0].1.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let reads: Vec<&Json> =
        events.iter().flat_map(|event| event["data"]["evidence_reads"].as_array()).flatten().collect();
    let first = reads.first().expect("reads are told");
    assert_eq!(
        (&first["bundle_id"], &first["item_id"], &first["source_ref"], &first["truncated"]),
        (&json!("demo"), &json!("facts"), &json!("facts.md"), &json!(true))
    );
    assert!(
        first["checksum"].as_str().is_some_and(|sum| sum.starts_with("sha256:") && sum.len() == 71),
        "{first}"
    );
    assert_eq!(reads.len(), 4, "what was refused is no read: {reads:?}");
    assert!(!turns[0].1.contains("answer is 42"));
}

#[tokio::test]
async fn r12_4_4_turns_as_evidence_say_how_they_went_and_nothing_of_their_content() {
    let folder = bundle(items());
    let text = std::fs::read_to_string(manifest(&folder)).expect("it is there");
    std::fs::write(manifest(&folder), text.replace("\"max_item_bytes\":16", "\"max_item_bytes\":60000"))
        .expect("it is written");
    let engine = engine(Some(&manifest(&folder)), None, None, Parts::default()).await;
    let id = session(&engine).await;
    let seen = value(&engine, &id, "(json/generate-string (first (:value (evidence/read \"turns\"))))").await;
    assert!(
        seen.contains("unbound_var") && seen.contains("tool_calls_count") && !seen.contains("private"),
        "{seen}"
    );
    assert_eq!(value(&engine, &id, "(:failed (:value (evidence/read \"counts\")))").await, "1");
}

#[cfg(unix)]
#[tokio::test]
async fn r14_4_6_bundles_that_reach_outside_are_not_loaded() {
    let item = |path: &str| json!([{"id": "x", "kind": "text", "path": path}]);
    for (items, message) in [
        (item("../outside.txt"), "must be relative and without `..`"),
        (item("/etc/hostname"), "must be relative and without `..`"),
        (item("sub/../../outside.txt"), "must be relative and without `..`"),
        (item("link.txt"), "leads out of the bundle"),
        (item("folder/outside.txt"), "leads out of the bundle"),
        (item("sub"), "is no file"),
        (item("nothing.txt"), "nothing.txt"),
        (json!([{"id": "x", "kind": "answer_key", "path": "link.txt"}]), "leads out of the bundle"),
        (
            json!([{"id": "x", "kind": "answer_key", "path": "key.txt", "model_visible": true}]),
            "can never be model_visible",
        ),
        (
            json!([{"id": "x", "kind": "operator_only", "path": "key.txt", "model_visible": true}]),
            "can never be model_visible",
        ),
        (json!([{"id": "x", "kind": "secret", "path": "key.txt"}]), "is no manifest"),
        (
            json!([{"id": "x", "kind": "text", "path": "key.txt"}, {"id": "x", "kind": "text", "path": "key.txt"}]),
            "used twice",
        ),
        (json!([{"id": "x", "kind": "json", "path": "key.txt"}]), "is no JSON"),
    ] {
        let folder = bundle(items.clone());
        let root = folder.0.join("bundle");
        std::os::unix::fs::symlink(folder.0.join("outside.txt"), root.join("link.txt"))
            .expect("it can be made");
        std::os::unix::fs::symlink(&folder.0, root.join("folder")).expect("it can be made");
        std::os::unix::fs::symlink("key.txt", root.join("inner.txt")).expect("it can be made");
        let settings = Settings {
            evidence: Some(manifest(&folder)),
            ..with_sessions(Profile::Slim, SessionSettings::default())
        };
        let refused = Engine::with(settings, Parts::default()).await.expect_err("it is refused").to_string();
        assert!(refused.starts_with("--evidence-bundle ") && refused.contains(message), "{items}: {refused}");
        assert!(!refused.contains("answer is 42"));
    }
}

#[tokio::test]
async fn r9_5_8_roles_may_take_evidence_away_and_are_warned_about() {
    let folder = bundle(items());
    let policy = json!({"roles": {
        "blind": {"ptc_tools": []},
        "lists": {"ptc_tools": ["evidence_bundle"]},
        "all": {},
    }});
    let engine = engine(Some(&manifest(&folder)), None, Some(policy), Parts::default()).await;
    let [warning] = engine.warnings() else { panic!("{:?}", engine.warnings()) };
    assert!(warning.starts_with("role_evidence_tools_unreachable: role blind "), "{warning}");
    for (role, list, read) in [("blind", false, false), ("lists", true, false), ("all", true, true)] {
        let started = call(&engine, "lisp_session_start", json!({"role": role})).await;
        let id = object(&started)["session_id"].as_str().expect("it starts").to_owned();
        for (program, granted) in [("(evidence/bundle)", list), ("(evidence/read \"facts\")", read)] {
            let reply = eval_in(&engine, &id, program).await;
            assert_eq!(reply.is_error, !granted, "{role}: {}", reply.text());
            assert!(granted || reply.text().contains("(ptc_tool_denied)"), "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn r9_6_2_evidence_stands_beside_preludes_that_a_session_chooses() {
    let folder = bundle(items());
    let preludes = Preludes::new(Arc::new(Store::open(":memory:").expect("it opens")));
    preludes.write("base", "(ns base) (defn twice [n] (* 2 n))", &Metadata::new()).expect("it is right");
    let parts = Parts { preludes: Some(preludes), ..Parts::default() };
    let engine = engine(Some(&manifest(&folder)), None, None, parts).await;
    let started = call(&engine, "lisp_session_start", json!({"preludes": ["base"]})).await;
    let id = object(&started)["session_id"].as_str().expect("it starts").to_owned();
    assert_eq!(value(&engine, &id, "(base/twice (count (:items (evidence/bundle))))").await, "8");
}

#[tokio::test]
async fn r12_3_programs_look_at_the_turns_of_their_owner() {
    let log = Folder::new("log-turns");
    let parts = Parts { runtime: Some(crm().await), ..Parts::default() };
    let engine = engine(None, Some(&log.0), None, parts).await;
    let bob = ptc_server::engine::Caller::new("bob", ptc_server::engine::Transport::Stdio);
    let other = call_as(&bob, &engine, "lisp_session_start", json!({})).await;
    let other = object(&other)["session_id"].as_str().expect("it starts").to_owned();
    call_as(&bob, &engine, "lisp_session_eval", json!({"session_id": other, "program": "(def of-bob 1)"}))
        .await;
    let id = session(&engine).await;
    eval_in(&engine, &id, "(def x 1)").await;
    eval_in(&engine, &id, "(nope)").await;
    eval_in(&engine, &id, r#"(tool/call {:server "crm" :tool "get" :args {}}) (dir 'crm) 1"#).await;
    for (program, expected) in [
        (
            "(mapv (juxt :turn :attempt :status) (:items (log/turns)))",
            r#"[[1 1 "ok"] [1 2 "error"] [2 3 "ok"]]"#,
        ),
        ("(let [p (log/turns {:limit 2})] [(count (:items p)) (:has_more p) (:limit p)])", "[2 true 2]"),
        ("(count (log/turns-all {:limit 1}))", "5"),
        ("(mapv :attempt (log/turns-all {:status \"error\"}))", "[2]"),
        ("(count (log/turns-all {:from \"2999-01-01T00:00:00Z\"}))", "0"),
        ("(:reason (log/turns {:to \"soon\"}))", r#""invalid_argument""#),
        ("(count (log/turns-all {:tags {:env \"x\"}}))", "0"),
        ("(:reason (log/turns {:colour 1}))", r#""invalid_argument""#),
        ("(:reason (log/turns-all {:limit 0}))", r#""invalid_argument""#),
        ("(mapv (juxt :server :tool :outcome) (log/tool-calls-all))", r#"[["crm" "get" "ok"]]"#),
        ("(get-in (first (:items (log/programs))) [:program :preview])", r#""(def x 1)""#),
        (
            "(select-keys (log/counters {:status \"error\"}) [:turns :by_reason])",
            "{:turns 1, :by_reason {:unbound_var 1}}",
        ),
        ("(count (log/sessions-all))", "1"),
        ("(:catalog_ops_count (nth (log/turns-all) 2))", "1"),
    ] {
        assert_eq!(value(&engine, &id, program).await, expected, "{program}");
    }
}

#[tokio::test]
async fn a_stored_session_goes_on_whether_or_not_a_server_keeps_the_log_of_turns() {
    let log = Folder::new("log-or-not");
    for (began, goes_on) in [(None, Some(log.0.as_path())), (Some(log.0.as_path()), None)] {
        let store = Arc::new(ptc_store::Store::open(":memory:").expect("a store"));
        let parts = || Parts { store: Some(store.clone()), ..Parts::default() };
        let first = engine(None, began, None, parts()).await;
        let id = session(&first).await;
        assert_eq!(value(&first, &id, "(def n 1) n").await, "1");
        let second = engine(None, goes_on, None, parts()).await;
        assert_eq!(value(&second, &id, "(inc n)").await, "2");
        if began.is_some() {
            let told = value(&second, &id, "(:reason (log/turns))").await;
            assert_eq!(told, "\"not_available\"", "this server keeps none");
        }
        assert_eq!(value(&first, &id, "(inc n)").await, "2", "and back");
    }
}
