//! What the prelude of a server or of a session requires is there before anything runs, or nothing runs: `lisp_eval`,
//! sessions and `lisp_task`, in every way to list tools, with an upstream that counts its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use ptc_agent::model::{Llm, Reply as Said, Request};
use ptc_lisp::prelude::Prelude;
use ptc_server::engine::settings::{SessionSettings, Task};
use ptc_server::engine::{Engine, Parts, Profile, Settings};
use ptc_store::Store;
use ptc_store::preludes::{Metadata, Preludes};
use ptc_upstream::model::{Fault, Reason};
use ptc_upstream::{Runtime, RuntimeOptions};
use serde_json::json;

use super::support::{call, eval_in, object, tool, with_sessions};
use super::upstream::{Upstream, frozen, start, structured};

/// The call of a tool, and the function that it is.
const SOURCES: [&str; 2] = [
    r#"(ns api "Rows.") (defn rows [] (tool/call {:server "crm" :tool "get" :args {}}))"#,
    r#"(ns api "Rows.") (defn rows [] {:value (crm/get {})})"#,
];
/// Calls something that is there before the export is called.
const PROGRAM: &str =
    r#"(println (:ok (tool/call {:server "crm" :tool "other" :args {}}))) (:value (api/rows))"#;

/// The ways to list tools.
fn modes() -> [(&'static str, RuntimeOptions); 3] {
    let frozen = RuntimeOptions { keep_failing: true, ..frozen() };
    [
        ("live", RuntimeOptions::default()),
        ("frozen", frozen.clone()),
        ("in the background", RuntimeOptions { in_background: true, ..frozen }),
    ]
}

/// The names of tools; an upstream without any cannot be reached.
type Tools = Option<&'static [&'static str]>;

/// The states of the upstream, with what is told of it.
const STATES: [(Tools, &str); 3] = [
    (Some(&["get", "other"]), ""),
    (Some(&["other"]), "upstream `crm` has no tool `get`"),
    (None, "upstream `crm` cannot be reached (connection refused)"),
];

async fn runtime(tools: Tools, options: RuntimeOptions) -> (Arc<Runtime>, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let config = json!({"upstreams": {"crm": {"transport": "mcp_stdio", "command": "fixture"}}});
    let listed =
        tools.map(|names| names.iter().map(|name| tool(name, json!({"readOnlyHint": true}))).collect());
    let listed = listed.ok_or_else(|| Fault::new(Reason::UpstreamUnavailable, "connection refused"));
    let counted = calls.clone();
    let upstream = Upstream::new(listed).answering(move |tool, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { structured(json!(tool)) }
    });
    (start(config, options, |_| upstream.clone()).await, calls)
}

/// A server with the prelude of all programs, and one whose sessions choose it from a store.
async fn engines(
    source: &str,
    runtime: &Arc<Runtime>,
    asked: &Arc<AtomicU32>,
) -> [Result<Arc<Engine>, String>; 2] {
    let asked = asked.clone();
    let planner = Llm::function(move |_: &Request| {
        asked.fetch_add(1, Ordering::SeqCst);
        Ok::<_, String>(Said::text(format!("```clojure\n{PROGRAM}\n```").replace("(:value (api/rows))", "1")))
    });
    let settings = || Settings {
        task: Some(Task::default()),
        ..with_sessions(Profile::Structured, SessionSettings::default())
    };
    let prelude = Some(Arc::new(Prelude::compile_text(source).expect("it is right")));
    let runtime = Some(runtime.clone());
    let parts = Parts { runtime: runtime.clone(), prelude, planner: Some(planner), ..Parts::default() };
    let of_server = Engine::with(settings(), parts).await.map_err(|error| error.to_string());
    let store = Preludes::new(Arc::new(Store::open(":memory:").expect("it opens")));
    store.write("api", source, &Metadata::new()).expect("it is right");
    let parts = Parts { runtime, preludes: Some(store), ..Parts::default() };
    [of_server, Engine::with(settings(), parts).await.map_err(|error| error.to_string())]
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_without_what_a_prelude_requires() {
    for source in SOURCES {
        held_to_its_backing(source).await;
    }
}

async fn held_to_its_backing(source: &str) {
    for (mode, options) in modes() {
        for (tools, told) in STATES {
            let (runtime, calls) = runtime(tools, options.clone()).await;
            let asked = Arc::new(AtomicU32::new(0));
            let [of_server, of_store] = engines(source, &runtime, &asked).await;
            let mut answers = Vec::new();
            match of_server {
                // What is known to be missing keeps the server from starting.
                Err(error) => {
                    assert!(!told.is_empty() && error.contains(told), "{mode}: {error}");
                }
                Ok(engine) => {
                    let checked = call(&engine, "lisp_check", json!({"program": PROGRAM})).await;
                    let checked = object(&checked);
                    assert_eq!(checked["allowed"], told.is_empty(), "{mode}: {checked}");
                    let refusal = checked.get("refusal").and_then(|refusal| refusal.as_str());
                    assert!(refusal.unwrap_or_default().contains(told), "{mode}: {checked}");
                    let warned = checked["warnings"][0]["message"].as_str().unwrap_or_default();
                    assert_eq!(warned.contains("'crm' is down"), tools.is_none(), "{mode}: {checked}");
                    for tool in ["lisp_eval", "lisp_session_start", "lisp_task"] {
                        let arguments = match tool {
                            "lisp_eval" => json!({"program": PROGRAM}),
                            "lisp_task" => json!({"task": "Count the rows"}),
                            _ => json!({}),
                        };
                        let reply = call(&engine, tool, arguments).await;
                        answers.push((tool, reply.is_error, object(&reply).to_string()));
                        if let Some(id) = object(&reply)["session_id"].as_str() {
                            let reply = eval_in(&engine, id, PROGRAM).await;
                            answers.push(("lisp_session_eval", reply.is_error, object(&reply).to_string()));
                        }
                    }
                }
            }
            let engine = of_store.expect("it starts");
            let reply = call(&engine, "lisp_session_start", json!({"preludes": ["api"]})).await;
            answers.push(("chosen", reply.is_error, object(&reply).to_string()));
            for (surface, is_error, answer) in answers {
                let case = format!("{mode} {tools:?} {surface}: {answer}");
                assert_eq!(is_error, !told.is_empty(), "{case}");
                for part in ["prelude attach failed", "api/rows", told].iter().filter(|_| is_error) {
                    assert!(answer.contains(part), "{part}: {case}");
                }
            }
            let expected = if told.is_empty() { (5, 1) } else { (0, 0) };
            let counted = (calls.load(Ordering::SeqCst), asked.load(Ordering::SeqCst));
            assert_eq!(counted, expected, "{mode} {tools:?}: calls of the upstream and of the model");
        }
    }
}
