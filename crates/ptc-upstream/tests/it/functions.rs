//! Tools of upstreams as functions of programs: `(server/tool {…})` gives the value or raises.

use ptc_upstream::model::{Block, Fault, Payload, Reason};
use serde_json::{Value as Json, json};

use crate::fixture::*;

fn github() -> Fixture {
    let tools =
        [("search_issues", json!({"required": ["q"]})), ("get-issue", json!({})), ("write_issue", json!({}))];
    Fixture::new("github", &tools, |tool, args| match (tool, args["n"].as_i64()) {
        ("get-issue", Some(13)) => Err(Fault::new(Reason::ToolError, "no issue 13")),
        ("get-issue", n) => structured(json!({"number": n, "title": "T"})),
        (_, _) => structured(json!({"asked": args, "items": [1, 2]})),
    })
}

#[tokio::test]
async fn tools_of_servers_are_functions_that_give_the_value_or_raise() {
    let runtime =
        start(&[&github(), &Fixture::new("memory", &[("read_graph", json!({}))], |_, _| text("all"))]).await;
    for (source, expected) in [
        (r#"(github/search_issues {:q "x"})"#, json!({"asked": {"q": "x"}, "items": [1, 2]})),
        (
            r#"(github/search_issues :q "x" :page 2)"#,
            json!({"asked": {"q": "x", "page": 2}, "items": [1, 2]}),
        ),
        ("(:title (github/get-issue {:n 1}))", json!("T")),
        // Hyphens and underscores, as everywhere.
        ("(:number (github/get_issue {:n 2}))", json!(2)),
        (r#"(count (:items (github/search-issues (assoc {} :q "x"))))"#, json!(2)),
        ("(:number (github/get-issue))", json!(null)),
        ("(:number (github/get-issue nil))", json!(null)),
        ("(map :number (pmap github/get-issue [{:n 1} {:n 2}]))", json!([1, 2])),
        ("(mapv #(:number (github/get-issue {:n %})) (range 3))", json!([0, 1, 2])),
        ("(->> {:n 5} github/get-issue :number)", json!(5)),
        ("(require '[github :as gh]) (:number (gh/get-issue {:n 4}))", json!(4)),
        (
            "(try (github/get-issue {:n 13}) (catch Exception e [(ex-message e) (ex-data e)]))",
            json!(["github/get-issue failed (tool_error): no issue 13",
                   {"ok": false, "reason": "tool_error", "message": "no issue 13", "server": "github", "tool": "get-issue"}]),
        ),
        (
            "(try (github/get-issue {:n 13}) (catch ExceptionInfo e (:reason (ex-data e))))",
            json!("tool_error"),
        ),
        // A name of the program's own comes first.
        ("(let [get-issue (fn [_] 7)] (get-issue 1))", json!(7)),
        // The language has a namespace of this name.
        (r#"(:value (tool/call {:server "memory" :tool "read_graph"}))"#, json!("all")),
    ] {
        let outcome = run(&open(&runtime), source).await;
        assert_eq!(outcome.json, expected, "{source}: {:?}", outcome.result);
    }
}

#[tokio::test]
async fn an_answer_of_several_blocks_is_a_vector_in_both_spellings() {
    let block = |row: u64| Block::Text(json!({"id": row}).to_string());
    let link = json!({"uri": "file:///a", "mime_type": "text/plain"});
    let linked = link.clone();
    let fixture = Fixture::new("s", &[("rows", json!({})), ("link", json!({}))], move |tool, _| {
        let content = match tool {
            "rows" => (0..5).map(block).collect(),
            _ => vec![Block::Data(linked.clone())],
        };
        Ok(Payload { content, ..Payload::default() })
    });
    let runtime = start(&[&fixture]).await;
    let rows: Vec<Json> = (0..5).map(|id| json!({"id": id})).collect();
    for (source, expected) in [
        ("(s/rows {})", json!(rows)),
        ("(tool/call 's/rows {})", json!({"ok": true, "value": rows, "value_kind": "json"})),
        ("(map :id (s/rows))", json!([0, 1, 2, 3, 4])),
        ("(:mime_type (s/link))", json!("text/plain")),
        ("(tool/call 's/link {})", json!({"ok": true, "value": link, "value_kind": "json"})),
    ] {
        let outcome = run(&open(&runtime), source).await;
        assert_eq!(outcome.json, expected, "{source}: {:?}", outcome.result);
    }
}

#[tokio::test]
async fn what_no_server_has_is_told_before_anything_runs() {
    let github = github();
    let runtime =
        start(&[&github, &Fixture::new("memory", &[("read_graph", json!({}))], |_, _| text("all"))]).await;
    for (source, message, hint) in [
        (
            "(github/serch_issues {})",
            "the server github has no tool serch_issues",
            "did you mean github/search_issues?",
        ),
        ("(map github/nothing_like_it [])", "has no tool nothing_like_it", "(dir 'github) lists its tools"),
        ("(githib/get-issue {})", "unknown namespace githib/", "did you mean github/get-issue?"),
        (
            "(jira/find {})",
            "unknown namespace jira/",
            "there is no upstream server jira; there are github, memory",
        ),
        (
            "(tool/github/search_issues {})",
            "unknown tool: github/search_issues",
            r#"write (github/search_issues {…}) or (tool/call {:server "github" :tool "search_issues""#,
        ),
        (r#"(github/search_issues "x")"#, "takes named arguments", "(github/search_issues {:name value})"),
        (r#"(github/search_issues "x" 10)"#, "takes named arguments", "(doc 'github/search_issues)"),
        (
            r#"(tool/call {:server "githib" :tool "get-issue"})"#,
            "no upstream 'githib' configured. Configured upstreams: github, memory",
            "did you mean :server \"github\"?",
        ),
        (
            "(tool/call 'github/serch_issues {})",
            "no tool 'serch_issues' in upstream 'github'. Known tools: get-issue, search_issues, write_issue",
            "did you mean :tool \"search_issues\"?",
        ),
        (
            "(memory/read_graph {})",
            "(memory/put :key value)",
            r#"(tool/call {:server "memory" :tool "read_graph""#,
        ),
    ] {
        let source = format!("(tool/call {{:server \"github\" :tool \"write_issue\"}}) {source}");
        let outcome = run(&open(&runtime), &source).await;
        let error = outcome.result.expect_err(&source);
        assert!(error.text().contains(message), "{source}: {error:?}");
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{source}: {error:?}");
    }
    assert_eq!(github.calls(), 0, "nothing ran");
}

#[tokio::test]
async fn functions_are_calls_in_manifests_policies_and_accounts() {
    let github = github();
    let runtime = start(&[&github]).await;
    let context = open(&runtime);
    run(&context, "(github/get-issue {:n 1})").await;
    assert_eq!(context.finish().upstream_calls()[0]["tool"], json!("get-issue"));
    let only_reads = reading(&runtime);
    let outcome = run(&only_reads, r#"(github/search_issues {:q "x"}) (github/write_issue {})"#).await;
    let error = outcome.result.expect_err("it writes");
    assert!(error.text().contains("github/write_issue"), "{error:?}");
    assert_eq!(github.calls(), 1, "nothing of it ran");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_server_all_the_same() {
    let github = github();
    github.broken(Some(Fault::new(Reason::UpstreamUnavailable, "it is down")));
    let runtime = start_live(&[&github]).await;
    let outcome =
        run(&open(&runtime), "(try (github/any_tool {}) (catch Exception e (:reason (ex-data e))))").await;
    assert_eq!(outcome.json, json!("upstream_unavailable"), "{:?}", outcome.result);
}
