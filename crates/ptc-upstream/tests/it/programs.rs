//! The example programs of the contract, with the results that it states.

use ptc_upstream::metrics::Returned;
use ptc_upstream::model::{Fault, Reason};
use serde_json::{Value as Json, json};

use crate::fixture::*;

fn fs(files: &'static [(&'static str, &'static str)]) -> Fixture {
    let schema = json!({"properties": {"path": {"type": "string"}}, "required": ["path"]});
    Fixture::new("fs", &[("read_text_file", schema)], move |_, args| {
        let found = files.iter().find(|(path, _)| args["path"] == *path);
        let missing = || Fault::new(Reason::ToolError, format!("no such file: {}", args["path"]));
        found.map(|(_, body)| text(*body)).unwrap_or_else(|| Err(missing()))
    })
}

#[tokio::test]
async fn example_1_a_simple_read_gives_the_body_of_the_file() {
    let source = r#"
(let [r (tool/call {:server "fs"
                        :tool   "read_text_file"
                        :args   {:path "/tmp/sandbox/notes.md"}})]
  (if (:ok r)
    (:value r)
    (fail (:message r))))"#;
    let notes = "# Notes\n\n- buy \"milk\"\n";
    let runtime = start(&[&fs(&[("/tmp/sandbox/notes.md", "# Notes\n\n- buy \"milk\"\n")])]).await;
    let outcome = run(&open(&runtime), source).await;
    assert_eq!(outcome.json, json!(notes), "{:?}", outcome.result);
    let elsewhere = start(&[&fs(&[])]).await;
    let outcome = run(&open(&elsewhere), source).await;
    assert_eq!(outcome.value, r#""no such file: \"/tmp/sandbox/notes.md\"""#, "it fails with the message");
}

#[tokio::test]
async fn example_2_a_filter_across_servers_gives_only_numbers() {
    let source = r#"
(def unwrap
  (fn [r]
    (if (:ok r)
      (:value r)
      (fail (:message r)))))

(def open-prs
  (unwrap (tool/call {:server "github"
                          :tool   "list_prs"
                          :args   {:state "open" :limit 50}})))

(def watched-paths
  (unwrap (tool/call {:server "fs"
                          :tool   "read_text_file"
                          :args   {:path "/etc/watched-paths.txt"}})))

(def watch-set
  (set (clojure.string/split-lines watched-paths)))

(def hits
  (filter (fn [pr]
            (some watch-set (:files pr)))
          open-prs))

(map :number hits)"#;
    let github = Fixture::new("github", &[("list_prs", json!({}))], |_, args| {
        assert_eq!(*args, json!({"state": "open", "limit": 50}));
        let files = |n: u64| match n % 10 {
            3 => json!(["README.md", "src/auth.rs"]),
            7 => json!(["src/billing.rs"]),
            _ => json!(["docs/a.md"]),
        };
        let pr = |n: u64| json!({"number": n, "title": format!("PR {n}"), "files": files(n), "body": "x".repeat(300)});
        structured((1..=50).map(pr).collect())
    });
    let files = fs(&[("/etc/watched-paths.txt", "src/auth.rs\nsrc/billing.rs\n")]);
    let runtime = start(&[&github, &files]).await;
    let context = open(&runtime);
    let outcome = run(&context, source).await;
    assert_eq!(outcome.json, json!([3, 7, 13, 17, 23, 27, 33, 37, 43, 47]), "{:?}", outcome.result);
    let account = context.finish();
    let seen: Vec<(&str, &str)> =
        account.calls.iter().map(|call| (call.server.as_str(), call.tool.as_str())).collect();
    assert_eq!(seen, [("github", "list_prs"), ("fs", "read_text_file")]);
    let metrics = account
        .metrics(Returned { result_bytes: outcome.value.len(), prints_bytes: 0 })
        .expect("calls were made");
    assert!(metrics["payload_reduction_ratio"].as_f64().expect("a ratio") > 300.0, "{metrics}");
}

#[tokio::test]
async fn example_3_a_parallel_batch_drops_what_failed() {
    let source = r#"
(def ids [101 102 103 104 105 106 107 108 109 110])

(def items
  (pmap (fn [id]
          (tool/call {:server "store"
                          :tool   "get"
                          :args   {:id id}}))
        ids))

;; Drop world-fault failures (e.g. one ID was unknown):
(def good (map :value (filter :ok items)))

(map :name good)"#;
    // All ten wait for each other: one after the other they would never end.
    let store = Fixture::new("store", &[("get", json!({}))], |_, args| match args["id"].as_u64() {
        Some(104) => Err(Fault::new(Reason::ToolError, "no item 104")),
        Some(id) => structured(json!({"id": id, "name": format!("item-{id}")})),
        None => Err(Fault::new(Reason::ToolError, "no id")),
    })
    .meeting(10);
    let runtime = start(&[&store]).await;
    let context = open(&runtime);
    let outcome = run(&context, source).await;
    let names: Vec<Json> =
        (101..=110).filter(|id| *id != 104).map(|id| format!("item-{id}").into()).collect();
    assert_eq!(outcome.json, Json::Array(names), "{:?}", outcome.result);
    let account = context.finish();
    assert_eq!(account.calls.len(), 10);
    assert_eq!(account.upstream_calls()[3]["reason"], json!("tool_error"));
}

#[tokio::test]
async fn probe_15_the_metrics_of_the_contract() {
    // Three results of 48,122 bytes as compact JSON, an answer of 812.
    let sizes = [40_000, 8_000, 122];
    let github = Fixture::new("github", &[("search_issues", json!({}))], move |_, args| {
        let size = sizes[args["page"].as_u64().unwrap_or_default() as usize];
        text("x".repeat(size - 2))
    });
    let runtime = start(&[&github]).await;
    let context = open(&runtime);
    let source = "(let [pages (pmap #(tool/call {:server \"github\" :tool \"search_issues\" :args {:page %}}) (range 3))]
                    (subs (:value (first pages)) 0 810))";
    let outcome = run(&context, source).await;
    let returned = Returned { result_bytes: outcome.value.len(), prints_bytes: 0 };
    assert_eq!(returned.result_bytes, 812, "{:?}", outcome.result);
    let metrics = context.finish().metrics(returned).expect("calls were made");
    for (key, expected) in [
        ("upstream_call_count", json!(3)),
        ("upstream_ok_count", json!(3)),
        ("upstream_result_bytes", json!(48_122)),
        ("payload_reduction_ratio", json!(59.26)),
        ("estimated_upstream_result_tokens", json!(12_031)),
        ("estimated_final_result_tokens", json!(203)),
    ] {
        assert_eq!(metrics[key], expected, "{key}");
    }
}
