//! Upstreams for agents that are made in Rust, with a real server behind them.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_runner::upstreams::{Caps, Policy, Runtime, Upstreams};
use ptc_runner::{Agent, Decision, Outcome, RunOptions, Step, Surroundings, begin, go_on, run, run_in};
use ptc_upstream::config::Config;
use ptc_upstream::credentials::Secrets;
use ptc_upstream::runtime::{RuntimeOptions, SnapshotMode};
use serde_json::{Value as Json, json};

use crate::{code, reason, script};

/// A server that looks and puts; it writes down every call, and does not answer those with the argument `wait`.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  name=$(printf '%s' "$line" | sed -n 's/.*"name":"\([a-z]*\)".*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"script","version":"7"},"capabilities":{"tools":{}}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"look","description":"Looks.","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}},{"name":"put","description":"Puts.","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"wait"'*) echo "$name" >> "$LOG" ;;
    *'"tools/call"'*) echo "$name" >> "$LOG"; printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"did":"%s"}}}\n' "$id" "$name" ;;
  esac
done
"#;

/// A runtime with the server, and the file with its calls.
async fn runtime(name: &str, approval: &str) -> (Arc<Runtime>, PathBuf) {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("upstreams-{name}.log"));
    let server = json!({
        "transport": "mcp_stdio", "command": "sh", "args": ["-c", SERVER], "approval": approval,
        "env": {"LOG": log.display().to_string()},
    });
    let config = Config::from_value(json!({"upstreams": {"things": server}}), Path::new("")).unwrap();
    let secrets = Secrets::resolve(&config).unwrap();
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    (Runtime::start(&config, secrets, options).await.unwrap(), log)
}

fn called(log: &Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

fn lent(runtime: &Arc<Runtime>, policy: Policy) -> (Arc<Agent>, Upstreams) {
    let upstreams = Upstreams::new(runtime.clone(), Caps::default(), policy);
    (Arc::new(upstreams.lend(Agent::builder("Look around")).build().unwrap()), upstreams)
}

fn put(programs: &[&str]) -> RunOptions {
    let programs: Vec<String> = programs.iter().map(|program| code(program)).collect();
    RunOptions::new(script(&programs.iter().map(String::as_str).collect::<Vec<_>>()))
}

fn statuses(step: &Step) -> Vec<(&str, &str)> {
    step.upstream_calls.iter().map(|call| (call.tool.as_str(), call.status.as_str())).collect()
}

#[tokio::test]
async fn calls_stand_in_the_step_and_questions_are_no_calls() {
    let (runtime, log) = runtime("calls", "never").await;
    drop(std::fs::remove_file(&log));
    let (agent, upstreams) = lent(&runtime, Policy::open());
    let options = put(&["(def names (dir 'things)) (doc 'things/look)
         (def seen (tool/call {:server \"things\" :tool \"look\" :args {}}))
         (def gone (try (tool/call {:server \"things\" :tool \"nothing\"}) (catch Exception e :raised)))
         (return [(count names) (count (tool/servers)) (:did (:value seen)) gone])"]);
    let step = run(agent, upstreams.options(options)).await;
    assert_eq!(step.value, json!([2, 1, "look", "raised"]), "{step:#?}");
    assert_eq!(statuses(&step), [("look", "ok"), ("nothing", "error")]);
    assert!(step.upstream_calls[1].error.is_some(), "{:?}", step.upstream_calls);
    assert_eq!(step.usage.tool_calls, 2, "questions are not counted");
    assert_eq!(step.tool_calls.len(), 2);
    let written: Json = serde_json::to_value(&step).unwrap();
    assert_eq!(written["upstream_calls"][0]["server"], "things");
    assert_eq!(upstreams.finish().calls.len(), 1, "the server was called once");
    upstreams.close().await;
}

#[tokio::test]
async fn a_write_that_the_time_of_a_branch_cuts_off_has_an_unknown_outcome() {
    let (runtime, log) = runtime("cut-off", "never").await;
    drop(std::fs::remove_file(&log));
    let upstreams = Upstreams::new(runtime, Caps::default(), Policy::open());
    let builder = upstreams.lend(Agent::builder("Put")).set("pmap_timeout", &json!(3_000));
    let options =
        put(&["(return (pmap #(select-keys (tool/call {:server \"things\" :tool % :args {:wait 1}})
                                                [:reason :message])
                              [\"put\" \"look\"]))"]);
    let step = run(builder.set("timeout", &json!(60_000)).build().unwrap(), upstreams.options(options)).await;
    let text = |at: usize, key: &str| step.value[at][key].as_str().unwrap_or_default();
    assert_eq!((text(0, "reason"), text(1, "reason")), ("outcome_unknown", "timeout"), "{step:#?}");
    assert!(text(0, "message").starts_with("outcome unknown: things/put, called at "), "{}", step.value);
    let mut sent = called(&log);
    sent.sort();
    assert_eq!(sent, ["look", "put"]);
    upstreams.close().await;
}

#[tokio::test]
async fn questions_do_not_use_up_the_calls_of_a_run() {
    let (runtime, _) = runtime("questions", "never").await;
    let upstreams = Upstreams::new(runtime, Caps::default(), Policy::open());
    let agent = upstreams.lend(Agent::builder("Look")).set("tool_call_budget", &json!(1)).build().unwrap();
    let options = put(&["(dir 'things) (doc 'things/look) (tool/servers)
         (return (:ok (tool/call {:server \"things\" :tool \"look\" :args {}})))"]);
    let step = run(agent, upstreams.options(options)).await;
    assert_eq!(step.value, json!(true), "{step:#?}");
    upstreams.close().await;
}

#[tokio::test]
async fn a_program_that_may_write_is_refused_before_anything_of_it_runs() {
    let (runtime, log) = runtime("read-only", "never").await;
    drop(std::fs::remove_file(&log));
    let (agent, upstreams) = lent(&runtime, Policy::read_only());
    let options = put(&[
        "(tool/call {:server \"things\" :tool \"look\" :args {}})
         (when false (tool/call {:server \"things\" :tool \"put\" :args {}}))",
        "(return [(:did (:value (tool/call {:server \"things\" :tool \"look\" :args {}}))) (:message data/fail)])",
    ]);
    let step = run(agent, upstreams.options(options)).await;
    assert_eq!(step.value[0], "look", "{step:#?}");
    assert!(step.value[1].to_string().contains("put"), "the model is told what was refused: {}", step.value);
    assert_eq!(called(&log), ["look"], "of the first program nothing ran");
    upstreams.close().await;
}

#[tokio::test]
async fn calls_that_the_configuration_says_somebody_must_approve_wait_for_a_person() {
    let program = "(return (map #(or (:did (:value %)) (:reason %))
                     [(tool/call {:server \"things\" :tool \"look\" :args {}})
                      (tool/call {:server \"things\" :tool \"put\" :args {:n 1}})]))";
    for (decision, answer, calls) in [
        (Decision::Approve, json!(["look", "put"]), &["look", "put"][..]),
        (
            Decision::Edit(json!({"server": "things", "tool": "look", "args": {}})),
            json!(["look", "look"]),
            &["look", "look"],
        ),
        (Decision::Reject("no".into()), json!(["look", "approval_rejected"]), &["look"]),
    ] {
        let (first, log) = runtime("approval", "writes").await;
        drop(std::fs::remove_file(&log));
        let (agent, upstreams) = lent(&first, Policy::open());
        let Outcome::Paused(paused) =
            begin(agent, upstreams.options(put(&[program])), Surroundings::default()).await
        else {
            panic!("nobody was asked")
        };
        upstreams.close().await;
        let [call] = paused.pending.as_slice() else { panic!("{:?}", paused.pending) };
        assert_eq!(call.args, json!({"server": "things", "tool": "put", "args": {"n": 1}}));
        assert_eq!(call.about, json!({"effect": "unknown", "approval": "writes"}));
        assert_eq!(called(&log), ["look"]);
        // Another process has a server of its own.
        let id = call.id;
        let (second, _) = runtime("approval", "writes").await;
        let (agent, upstreams) = lent(&second, Policy::open());
        let saved = paused.decided([(id, decision.clone())]);
        let step = go_on(agent, upstreams.options(RunOptions::default()), saved, Surroundings::default())
            .await
            .step();
        assert_eq!(step.value, answer, "{decision:?}: {step:#?}");
        assert_eq!(called(&log), calls, "{decision:?}");
        assert_eq!(step.upstream_calls[1].approval, Some(decision.verdict()));
        upstreams.close().await;
    }
}

#[tokio::test]
async fn what_a_person_approved_does_not_stop_the_run() {
    for (approval, expected) in [("never", "partial_side_effects"), ("ask", "ok")] {
        let (runtime, _) = runtime("guard", approval).await;
        let (agent, upstreams) = lent(&runtime, Policy::open());
        let options = put(&["(tool/call {:server \"things\" :tool \"put\" :args {}})", "(return 1)"]);
        let approver = |_| async { Some(Decision::Approve) };
        let around = Surroundings { approver: Some(Arc::new(approver)), ..Surroundings::default() };
        let step = run_in(agent, upstreams.options(options), around).await;
        assert_eq!(reason(&step), expected, "{step:#?}");
        upstreams.close().await;
    }
}

/// A runtime of the server, or of one that cannot be started, that lists tools in one of the ways there are.
async fn listing(name: &str, is_there: bool, options: RuntimeOptions) -> (Arc<Runtime>, PathBuf) {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("upstreams-{name}.log"));
    drop(std::fs::remove_file(&log));
    let env = json!({"LOG": log.display().to_string()});
    let server = match is_there {
        true => json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", SERVER], "env": env}),
        false => json!({"transport": "mcp_stdio", "command": "/no/such/server"}),
    };
    let config = Config::from_value(json!({"upstreams": {"things": server}}), Path::new("")).unwrap();
    let secrets = Secrets::resolve(&config).unwrap();
    (Runtime::start(&config, secrets, options).await.unwrap(), log)
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_run_with_what_their_preludes_require_or_not_at_all() {
    let frozen =
        RuntimeOptions { snapshot: SnapshotMode::Frozen, keep_failing: true, ..RuntimeOptions::default() };
    let modes = [
        ("live", RuntimeOptions::default()),
        ("frozen", frozen.clone()),
        ("background", RuntimeOptions { in_background: true, ..frozen }),
    ];
    for (mode, listed) in modes {
        for (tool, is_there, told) in [
            ("look", true, ""),
            ("nothing", true, "upstream `things` has no tool `nothing`"),
            ("look", false, "upstream `things` cannot be reached"),
        ] {
            let name = format!("backing-{mode}-{tool}-{is_there}");
            let (runtime, log) = listing(&name, is_there, listed.clone()).await;
            let call = match mode {
                "background" => format!("{{:value (things/{tool} {{}})}}"),
                _ => format!("(tool/call {{:server \"things\" :tool \"{tool}\" :args {{}}}})"),
            };
            let source = format!("(ns api) (defn seen [] {call})");
            let prelude = Arc::new(ptc_lisp::prelude::Prelude::compile_text(&source).unwrap());
            let upstreams = Upstreams::new(runtime.clone(), Caps::default(), Policy::open());
            let agent = upstreams.lend(Agent::builder("Look around").prelude(prelude)).build().unwrap();
            let program =
                "(tool/call {:server \"things\" :tool \"put\" :args {}}) (return (:did (:value (api/seen))))";
            let step = run(Arc::new(agent), upstreams.options(put(&[program]))).await;
            let case = format!("{name}: {step:?}");
            if told.is_empty() {
                assert_eq!(
                    (&step.value, called(&log)),
                    (&json!("look"), vec!["put".into(), "look".into()]),
                    "{case}"
                );
            } else {
                let fail = step.fail.as_ref().expect(&case);
                assert_eq!(
                    (fail.reason.as_str(), called(&log)),
                    ("prelude_attach_failed", Vec::new()),
                    "{case}"
                );
                assert!(
                    fail.message.contains("`api/seen` requires") && fail.message.contains(told),
                    "{case}"
                );
                assert_eq!(step.usage.llm_requests, 0, "no model was asked: {case}");
            }
            upstreams.close().await;
        }
    }
}
