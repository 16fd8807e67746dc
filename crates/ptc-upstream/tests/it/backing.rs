//! What preludes require of upstreams is there before anything runs, in every way to list tools: for programs that Rust
//! hosts run on a pool or on their own thread.

use std::sync::Arc;
use std::time::Duration;

use ptc_host::{Outcome, Pool, Program, run_blocking};
use ptc_lisp::prelude::Prelude;
use ptc_upstream::model::{Fault, Reason};
use ptc_upstream::{RunContext, RuntimeOptions, SnapshotMode};
use serde_json::json;

use crate::fixture::{Fixture, config, open, structured, try_start};

/// Calls something that is there before the export is called.
const PROGRAM: &str = r#"(println (:ok (tool/call {:server "crm" :tool "other"}))) (:value (api/get))"#;

fn prelude() -> Arc<Prelude> {
    let source = r#"(ns api) (defn get [] (tool/call {:server "crm" :tool "get"}))"#;
    Arc::new(Prelude::compile_text(source).expect("it is right"))
}

fn crm(tools: &[&str]) -> Fixture {
    let tools: Vec<_> = tools.iter().map(|name| (*name, json!({"type": "object"}))).collect();
    Fixture::new("crm", &tools, |tool, _| structured(json!(tool)))
}

fn down() -> Option<Fault> {
    Some(Fault::new(Reason::UpstreamUnavailable, "connection refused\nby \u{1b}[31mnobody"))
}

/// The ways to list tools.
fn modes() -> [(&'static str, RuntimeOptions); 3] {
    let frozen =
        RuntimeOptions { snapshot: SnapshotMode::Frozen, keep_failing: true, ..RuntimeOptions::default() };
    [
        ("live", RuntimeOptions::default()),
        ("frozen", frozen.clone()),
        ("in the background", RuntimeOptions { in_background: true, ..frozen }),
    ]
}

/// Runs the program on a pool, or on this thread.
async fn run(context: &RunContext, prelude: &Arc<Prelude>, pooled: bool) -> Outcome {
    context.settle(prelude.required_servers()).await;
    let program = context.attach(Program::new(PROGRAM).prelude(prelude.clone()));
    match pooled {
        true => Pool::global().run(program).await,
        false => {
            let runtime = tokio::runtime::Handle::current();
            let ran = tokio::task::spawn_blocking(move || {
                let _inside = runtime.enter();
                run_blocking(&program)
            });
            ran.await.expect("it ends")
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_with_what_their_preludes_require_or_not_at_all() {
    for (mode, options) in modes() {
        for pooled in [true, false] {
            for (tools, fault, told) in [
                (&["get", "other"][..], None, None),
                (&["other"][..], None, Some("upstream `crm` has no tool `get`")),
                (
                    &["get", "other"][..],
                    down(),
                    Some("upstream `crm` cannot be reached (connection refused by \\u001b[31mnobody)"),
                ),
            ] {
                let server = crm(tools);
                server.broken(fault);
                let started = try_start(&config(&[&server], json!({})), &[&server], options.clone()).await;
                let context = open(&started.expect("it starts"));
                let ran = run(&context, &prelude(), pooled).await;
                let case = format!("{mode}, {tools:?}, {:?}", ran.result);
                match told {
                    None => assert_eq!((ran.value.as_str(), server.calls()), ("\"get\"", 2), "{case}"),
                    Some(told) => {
                        let error = ran.result.as_ref().expect_err(&case);
                        assert_eq!(error.kind.reason(), "prelude_attach_failed", "{case}");
                        assert!(
                            error.message.contains("`api/get` requires") && error.message.contains(told),
                            "{case}"
                        );
                        assert_eq!((ran.prints.len(), server.calls()), (0, 0), "{case}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_runtime_that_nobody_looked_at_offers_nothing() {
    let server = crm(&["get", "other"]);
    let started = try_start(&config(&[&server], json!({})), &[&server], RuntimeOptions::default()).await;
    let context = open(&started.expect("it starts"));
    let program = context.attach(Program::new(PROGRAM).prelude(prelude()));
    let error = Pool::global().run(program).await.result.expect_err("nobody knows its tools");
    assert!(error.message.contains("its tools have not been listed"), "{error}");
    assert_eq!((server.lists(), server.calls()), (0, 0));
}

#[tokio::test]
async fn servers_are_looked_at_again_when_they_change_or_end() {
    let server = crm(&["get", "other"]);
    let started = try_start(&config(&[&server], json!({})), &[&server], RuntimeOptions::default()).await;
    let (context, prelude) = (open(&started.expect("it starts")), prelude());
    let servers = prelude.required_servers();
    let end = async |context: &RunContext| match run(context, &prelude, true).await.result {
        Ok(_) => String::new(),
        Err(error) => error.message,
    };
    assert_eq!((end(&context).await.as_str(), server.lists()), ("", 1));
    assert!(context.is_settled(servers));
    context.settle(servers).await;
    assert_eq!(server.lists(), 1, "what is known is not listed again");
    server.change(|tools| tools.retain(|tool| tool.name != "get"));
    assert!(!context.is_settled(servers));
    assert!(end(&context).await.contains("has no tool `get`"), "it went away");
    let calls = server.calls();
    server.broken(down());
    server.change(|_| {});
    assert!(end(&context).await.contains("cannot be reached"), "it ended");
    assert!(context.is_settled(servers), "it was just tried");
    assert_eq!(server.calls(), calls, "nothing was called");
}

#[tokio::test]
async fn a_brief_absence_is_waited_for_and_a_long_one_is_told_without_when_it_ends() {
    let server = crm(&["get", "other"]);
    let started = try_start(&config(&[&server], json!({})), &[&server], RuntimeOptions::default()).await;
    let (context, prelude) = (open(&started.expect("it starts")), prelude());
    assert!(run(&context, &prelude, true).await.result.is_ok());
    server.end(Duration::from_millis(100));
    assert!(run(&context, &prelude, true).await.result.is_ok(), "it is soon back");
    let lists = server.lists();
    assert!(lists >= 2, "it was started again");
    server.end(Duration::from_secs(3_600));
    for _ in 0..2 {
        let error = run(&context, &prelude, true).await.result.expect_err("it is away");
        assert!(error.message.ends_with("cannot be reached (process exited with status 3)"), "{error}");
    }
    assert_eq!(server.lists(), lists, "it has its rest");
}

/// What nobody declares is what upstreams say, and the same wherever it is asked.
#[tokio::test(flavor = "multi_thread")]
async fn the_effect_of_an_export_is_that_of_the_operations_behind_it_wherever_it_is_told() {
    let tools = ["get", "write_row", "guess"].map(|name| (name, json!({})));
    let crm = Fixture::new("crm", &tools, |tool, _| structured(json!(tool)));
    let runtime = crate::fixture::start(&[&crm]).await;
    let source = r#"(ns api {:visibility :prompt})
        (defn reads "R." [] (crm/get {})) (defn writes "W." [] (crm/get {}) (crm/write-row {}))
        (defn nobody-knows "N." [] (crm/guess {})) (defn said "S." {:effect :read} [] (crm/write_row {}))"#;
    let prelude = Arc::new(Prelude::compile_text(source).expect("it is right"));
    let context = open(&runtime);
    let inventory = prelude.inventory(Some(&context)).expect("all are for prompts");
    for (name, effect) in
        [("reads", Some("read")), ("writes", Some("write")), ("nobody-knows", None), ("said", Some("read"))]
    {
        let program = format!("[(:effect (meta 'api/{name})) (doc 'api/{name}) (doc 'ptc/prelude)]");
        let program = context.attach(Program::new(program).prelude(prelude.clone()));
        let outcome = Pool::global().run(program).await;
        let told = &outcome.json;
        assert!(outcome.result.is_ok(), "{name}: {:?}", outcome.result);
        assert_eq!(told[0], effect.unwrap_or("unknown"), "{name}");
        let doc = told[1].as_str().unwrap_or_default();
        let line = effect.map(|effect| format!("Effect: {effect}"));
        assert!(line.as_ref().map_or(!doc.contains("Effect:"), |line| doc.contains(line)), "{doc}");
        assert_eq!(told[2], inventory, "{name}");
        let listed =
            effect.map_or_else(|| format!("({name}) — "), |effect| format!("({name}) [{effect}] — "));
        assert!(inventory.contains(&listed), "{inventory}");
    }
}
