//! Acceptance probes that need tools of a certain kind or a prelude store, through the whole engine.

use std::sync::Arc;

use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Engine, Parts, Profile};
use ptc_store::Store;
use ptc_store::preludes::Preludes;
use ptc_upstream::model::ToolDef;
use serde_json::{Value as Json, json};

use super::support::{args, call, eval, eval_in, object, patient, with_sessions};
use super::upstream::{Upstream, frozen, start};

fn tool(name: &str, description: &str, input_schema: Json) -> ToolDef {
    ToolDef {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: args(input_schema),
        ..ToolDef::default()
    }
}

/// An engine over an upstream `x` with these tools.
async fn over(tools: Vec<ToolDef>) -> Arc<Engine> {
    let config = json!({"upstreams": {"x": {"transport": "mcp_http", "url": "https://x.example/mcp"}}});
    let upstream = Upstream::new(Ok(tools));
    let runtime = start(config, frozen(), |_| upstream.clone()).await;
    let parts = Parts { runtime: Some(runtime), ..Parts::default() };
    Engine::with(patient(Profile::Structured), parts).await.expect("it starts")
}

#[tokio::test]
async fn probe_9_r6_4_apropos_ranks_exact_then_prefix_then_substring() {
    let names = ["superuser", "listUsers", "getUser", "get-user-list", "user", "audit", "unrelated"];
    let about = |name: &str| if name == "audit" { "Tells who the user was." } else { "A tool." };
    let any = json!({"type": "object"});
    let engine = over(names.iter().map(|name| tool(name, about(name), any.clone())).collect()).await;
    let program = |query: &str| {
        format!(
            "(mapv #(first (clojure.string/split % #\" \")) \
             (filter #(clojure.string/starts-with? % \"x/\") (apropos \"{query}\" {{:limit 50}})))"
        )
    };
    // A word in a short name counts most, then in a longer one, then another form of it; then come descriptions, then parts
    // of words. A rare word counts more than a common one.
    for (query, expected) in [
        ("user", r#"["x/user" "x/getUser" "x/get-user-list" "x/listUsers" "x/audit" "x/superuser"]"#),
        ("list user", r#"["x/listUsers" "x/get-user-list" "x/getUser" "x/user" "x/audit" "x/superuser"]"#),
        ("getUser", r#"["x/getUser" "x/get-user-list" "x/listUsers" "x/user" "x/audit" "x/superuser"]"#),
        ("zzz", "[]"),
    ] {
        let reply = eval(&engine, &program(query)).await;
        assert_eq!(reply.text(), format!("user=> {expected}"), "{query}");
    }
}

/// Results have 8,192 bytes, what tells what there is twice as many, and the end of a page says how to get the next.
#[tokio::test]
async fn discovery_is_told_whole_or_by_page_with_the_call_for_the_next() {
    let names: Vec<String> = (0..200).map(|n| format!("tool_{n:03}")).collect();
    let long = "does a thing that takes many words to say ".repeat(4);
    let engine = over(names.iter().map(|name| tool(name, &long, json!({"type": "object"}))).collect()).await;
    let mut next = Some("(dir 'x {:limit 200})".to_owned());
    let (mut told, mut pages) = (Vec::new(), Vec::new());
    while let Some(program) = next {
        let text = eval(&engine, &program).await.text();
        let is_told = |name: &&String| text.contains(&format!("\"{name} - "));
        told.extend(names.iter().filter(is_told).cloned());
        next = text.split_once("; next page: ").and_then(|(_, rest)| rest.lines().next()).map(str::to_owned);
        pages.push(text);
    }
    assert_eq!(told, names);
    assert_eq!(pages.len(), 2, "{pages:#?}");
    assert!(pages[0].len() > 12 << 10 && pages[0].ends_with("\n\n[truncated]"), "{}", pages[0]);
    assert!(pages[1].starts_with("user=> [\""), "{}", pages[1]);

    let whole = eval(&engine, "(dir clojure.core {:limit 200})").await.text();
    assert!(whole.len() > 8_192 && whole.starts_with("user=> [\""), "{whole}");
    let other = eval(&engine, "(vec (map str (dir clojure.core {:limit 200})))").await.text();
    assert!(other.starts_with(";; vector of 200 items"), "{other}");
}

#[tokio::test]
async fn probe_10_r6_2_doc_shows_required_order_enums_and_falsy_constants() {
    let schema = json!({
        "type": "object",
        "required": ["zulu", "alpha"],
        "properties": {
            "alpha": {"type": "string"},
            "zulu": {"type": "integer"},
            "no": {"type": "boolean", "const": false},
            "nil": {"const": null},
            "zero": {"type": "integer", "const": 0},
            "empty": {"type": "string", "const": ""},
            "mode": {"enum": ["a", "b"]},
            "mixed": {"enum": ["a", 1, null]},
            "deep": {"type": "object", "properties": {"x": {"type": "string"}}},
        },
    });
    let engine = over(vec![tool("make", "Makes it.", schema)]).await;
    let reply = call(&engine, "lisp_eval", json!({"program": "(println (doc 'x/make))"})).await;
    let text = reply.text();
    let args =
        text.lines().find(|line| line.trim_start().starts_with("Args:")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(
        args.trim(),
        "Args: :zulu integer, :alpha string, :deep object?, :empty const<\"\">?, :mixed enum?, :mode enum<string>?, \
         :nil const<null>?, :no const<false>?, :zero const<0>?"
    );
    assert!(text.contains("Makes it.") && text.contains("(tool/call") && text.contains("Result<"), "{text}");
}

#[tokio::test]
async fn probe_20_r10_11_versions_of_a_prelude_from_a_session() {
    let preludes = Preludes::new(Arc::new(Store::open(":memory:").expect("it opens")));
    let sessions = SessionSettings { allow_prelude_write: true, ..SessionSettings::default() };
    let parts = Parts { preludes: Some(preludes), ..Parts::default() };
    let engine = Engine::with(with_sessions(Profile::Structured, sessions), parts).await.expect("it starts");
    let started = call(&engine, "lisp_session_start", json!({"mode": "write_capable"})).await;
    let id = object(&started)["session_id"].as_str().expect("it starts").to_owned();
    for (program, expected) in [
        (r#"(:version (prelude/write {:id "p" :source "(ns p) (defn one [] 1)"}))"#, "1"),
        (r#"(:version (prelude/write {:id "p" :source "(ns p) (defn one [] 2)"}))"#, "2"),
        (r#"(:status (prelude/set-default {:id "p" :version 1}))"#, r#""ok""#),
        (r#"(:version (prelude/read "p"))"#, "1"),
        (r#"(clojure.string/includes? (:source (prelude/source "p")) "[] 1")"#, "true"),
        ("(mapv (juxt :id :current_version :latest_version) (:preludes (prelude/list)))", r#"[["p" 1 2]]"#),
        (r#"(sort (map :version (:versions (prelude/history "p"))))"#, "(1 2)"),
    ] {
        let reply = eval_in(&engine, &id, program).await;
        assert_eq!(object(&reply)["result"], format!("user=> {expected}"), "{program}: {}", reply.text());
    }
    let used = call(&engine, "lisp_session_start", json!({"preludes": ["p"]})).await;
    let id = object(&used)["session_id"].as_str().expect("it starts").to_owned();
    assert_eq!(object(&eval_in(&engine, &id, "(p/one)").await)["result"], "user=> 1");
}
