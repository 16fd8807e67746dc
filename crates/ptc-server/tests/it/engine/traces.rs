//! Trace files of calls and the log of turns: what they keep, by policy and without secrets.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_agent::model::{Llm, Reply, Request};
use ptc_server::engine::settings::{SessionSettings, Task};
use ptc_server::engine::{Engine, Parts, Payloads, Profile, Settings, Signals};
use ptc_trace::events::{Command, EVENTS, differences};
use ptc_trace::{ReadBounds, Record, Tree};
use serde_json::{Value as Json, json};

use super::support::{
    Folder, SECRET, aggregator, anna, args, call, crm, eval, eval_in, files, session, with_sessions,
};

/// A planner whose tasks look into the catalog and make calls at once, then call wrongly, then get no reply.
fn planner() -> Llm {
    let programs = [
        r#"(tool/servers) (pmap (fn [n] (tool/call {:server "crm" :tool "get" :args {:rows n}})) [1 2])"#,
        "(tool/call {:server 1})",
    ];
    let asked = AtomicUsize::new(0);
    Llm::function(move |_: &Request| match programs.get(asked.fetch_add(1, Ordering::Relaxed)) {
        Some(program) => Ok(Reply::text(format!("```clojure\n{program}\n```")).tokens(100, 20)),
        None => Err("the provider is gone".to_owned()),
    })
}

/// All events of a folder, file by file.
fn traced(folder: &Folder) -> Vec<Vec<Record>> {
    let entries = ptc_trace::list(&folder.0, 1_000);
    let read = |path| ptc_trace::read(path, ReadBounds::default()).expect("a trace").records;
    entries.iter().map(|entry| read(&entry.path)).collect()
}

#[tokio::test]
async fn every_event_that_is_declared_for_the_server_stands_in_its_traces_with_its_fields() {
    let folder = Folder::new("events");
    let settings = Settings {
        trace_dir: Some(folder.0.clone()),
        payloads: Payloads::Full,
        task: Some(Task { allow_writes: true, ..Task::default() }),
        ..with_sessions(Profile::Slim, SessionSettings::default())
    };
    let parts = Parts { runtime: Some(crm().await), planner: Some(planner()), ..Parts::default() };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    for program in [
        r#"(println 1) (tool/call {:server "crm" :tool "get" :args {}})"#,
        r#"(tool/call {:server "crm" :tool "get" :args {:fail true}})"#,
        "(tool/servers)",
        // More questions than a program may ask.
        "(doseq [_ (range 40)] (tool/servers))",
        "(nope)",
    ] {
        eval(&engine, program).await;
    }
    let long: Vec<String> = (0..30).map(|_| "x".repeat(60_000)).collect();
    call(&engine, "lisp_eval", json!({"program": "1", "context": {"long": long}})).await;
    let id = session(&engine).await;
    eval_in(&engine, &id, "(def x 1)").await;
    for task in ["look", "call", "ask"] {
        call(&engine, "lisp_task", json!({"task": task})).await;
    }
    engine.shutdown().await;
    drop(engine);

    let traces = traced(&folder);
    let all: Vec<&Record> = traces.iter().flatten().collect();
    let wrong: Vec<String> = all.iter().flat_map(|record| differences(record)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let found: BTreeSet<&str> = all.iter().map(|record| record.event.as_str()).collect();
    let declared: BTreeSet<&str> =
        EVENTS.iter().filter(|kind| kind.by.contains(&Command::Mcp)).map(|kind| kind.name).collect();
    assert_eq!(found, declared);
}

#[tokio::test]
async fn programs_and_their_calls_lie_inside_the_call_of_the_server() {
    let folder = Folder::new("nested");
    let settings = Settings {
        trace_dir: Some(folder.0.clone()),
        ..with_sessions(Profile::Slim, SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    let id = session(&engine).await;
    eval_in(&engine, &id, r#"(tool/call {:server "crm" :tool "get" :args {}})"#).await;
    engine.shutdown().await;
    drop(engine);
    let records = traced(&folder).into_iter().find(|records| records.len() > 4).expect("the program's");
    let tree = Tree::of(&ptc_trace::Trace { records, ..ptc_trace::Trace::default() });
    let shape: Vec<(&str, usize)> =
        tree.nodes.iter().map(|node| (node.subject.as_str(), node.depth)).collect();
    assert_eq!(shape, [("mcp.call", 0), ("lisp.execute", 1), ("upstream.call", 2)]);
    assert_eq!(tree.nodes[0].data["session_id"], json!(id));
    assert!(tree.summary.fuel > 0 && tree.summary.tool_calls == 1, "{:?}", tree.summary);
}

#[tokio::test]
async fn r12_1_every_call_has_a_file_without_secrets() {
    let folder = Folder::new("calls");
    let settings = Settings {
        trace_dir: Some(folder.0.clone()),
        payloads: Payloads::Full,
        ..with_sessions(Profile::Slim, SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    for program in ["(+ 1 2)", "(nope)", r#"(:value (tool/call {:server "crm" :tool "get" :args {}}))"#] {
        let signals = Signals { request_id: format!("id of {SECRET}"), ..Signals::default() };
        engine
            .call(&anna(), "lisp_eval", args(json!({"program": program})), signals)
            .await
            .expect("answered");
    }
    engine.shutdown().await;
    drop(engine);
    let found = files(&folder.0);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|(name, _)| name.ends_with(".jsonl")), "{found:?}");
    assert_eq!(found.iter().filter(|(name, _)| name.contains("error")).count(), 1, "{found:?}");
    let mark = format!("-{}", ptc_trace::file_mark("id of [REDACTED]"));
    assert!(found.iter().all(|(name, _)| name.contains(&mark)), "named by the request: {found:?}");
    let all: String = found.iter().map(|(_, text)| text.as_str()).collect();
    assert!(all.contains("mcp_call") && all.contains("(+ 1 2)") && !all.contains("tok-4711"), "{all}");
}

#[cfg(unix)]
#[tokio::test]
async fn traces_and_the_log_of_turns_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("modes");
    let (turns, calls) = (folder.0.join("a/turns"), folder.0.join("b/calls"));
    let settings = Settings {
        turn_log_dir: Some(turns.clone()),
        trace_dir: Some(calls.clone()),
        ..with_sessions(Profile::Slim, SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    let id = session(&engine).await;
    eval_in(&engine, &id, "1").await;
    engine.shutdown().await;
    drop(engine);
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    for dir in [&turns, &calls] {
        assert_eq!((mode(dir), mode(dir.parent().expect("a folder"))), (0o700, 0o700), "{}", dir.display());
        let files: Vec<_> = std::fs::read_dir(dir).expect("a folder").flatten().collect();
        assert!(!files.is_empty());
        assert!(files.iter().all(|file| mode(&file.path()) == 0o600), "{files:?}");
    }
}

#[tokio::test]
async fn every_program_has_a_seed_of_its_own_that_its_trace_tells() {
    let folder = Folder::new("seeds");
    let settings = Settings {
        trace_dir: Some(folder.0.clone()),
        ..with_sessions(Profile::Slim, SessionSettings::default())
    };
    let engine = aggregator(settings).await;
    let id = session(&engine).await;
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..2 {
        seen.insert(super::support::eval(&engine, "(str (random-uuid))").await.text());
        seen.insert(eval_in(&engine, &id, "(str (random-uuid))").await.text());
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    engine.shutdown().await;
    drop(engine);
    let all: String = files(&folder.0).into_iter().map(|(_, text)| text).collect();
    assert_eq!(all.matches("\"seed\":\"").count(), 4, "{all}");
    let told = aggregator(Settings { seed: Some(7), ..Settings::default() }).await;
    let first = super::support::eval(&told, "(str (random-uuid))").await.text();
    assert_eq!(first, super::support::eval(&told, "(str (random-uuid))").await.text());
}

#[tokio::test]
async fn r12_2_turns_are_logged_whether_they_were_kept_or_not() {
    let folder = Folder::new("turns");
    let settings = Settings {
        turn_log_dir: Some(folder.0.clone()),
        ..with_sessions(
            Profile::Slim,
            SessionSettings { boot_tags: args(json!({"env": "test"})), ..SessionSettings::default() },
        )
    };
    let engine = aggregator(settings).await;
    let id = session(&engine).await;
    eval_in(&engine, &id, r#"(def x (:value (tool/call {:server "crm" :tool "get" :args {}}))) 1"#).await;
    eval_in(&engine, &id, "(nope)").await;
    eval_in(&engine, "ptcs_other", "1").await;
    let found = files(&folder.0);
    assert!(found.len() == 1 && found[0].0.ends_with("-turns.jsonl"), "{found:?}");
    let lines: Vec<Json> = found[0].1.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "a session that is not there has no turn: {lines:?}");
    assert_eq!(lines[0]["trace_kind"], "mcp.turn_log");
    let (kept, failed) = (&lines[1], &lines[2]);
    assert_eq!((&kept["turn"], &kept["attempt"], &kept["committed"]), (&json!(1), &json!(1), &json!(true)));
    assert_eq!(kept["tags"], json!({"env": "test"}));
    assert_eq!(kept["data"]["memory_diff"]["changed_keys"], json!(["x"]));
    assert_eq!(kept["data"]["tool_calls"][0]["tool"], "get");
    // Of `{}`.
    let hash = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
    assert_eq!(kept["data"]["tool_calls"][0]["args_hash"], hash);
    assert_eq!(
        (&failed["turn"], &failed["attempt"], &failed["committed"]),
        (&json!(1), &json!(2), &json!(false))
    );
    assert_eq!(failed["data"]["fail"]["reason"], "unbound_var");
    assert!(!found[0].1.contains("tok-4711"));
}
