//! Trace files of calls and the log of turns: what they keep, by policy and without secrets.

use ptc_server::engine::settings::Sessions;
use ptc_server::engine::{Payloads, Profile, Settings, Signals};
use serde_json::{Value as Json, json};

use super::support::{Folder, SECRET, aggregator, anna, args, eval_in, files, session, with_sessions};

#[tokio::test]
async fn r12_1_every_call_has_a_file_without_secrets() {
    let folder = Folder::new("calls");
    let settings = Settings {
        trace_dir: Some(folder.0.clone()),
        payloads: Payloads::Full,
        ..with_sessions(Profile::Slim, Sessions::default())
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
        ..with_sessions(Profile::Slim, Sessions::default())
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
    let settings =
        Settings { trace_dir: Some(folder.0.clone()), ..with_sessions(Profile::Slim, Sessions::default()) };
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
            Sessions { boot_tags: args(json!({"env": "test"})), ..Sessions::default() },
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
