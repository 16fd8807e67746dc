//! Clients of child processes, against a server that misbehaves: every fault has its reason, and the client
//! goes on.

use std::time::Duration;

use ptc_upstream::model::{Allowance, Reason};
use serde_json::{Value as Json, json};

use crate::support::*;

#[tokio::test]
async fn tools_are_listed_and_called() {
    let client = client(faulty(&["--chatty"]));
    assert_eq!(client.about(), None, "nothing is started before it is needed");
    let tools = client.list(ALLOWANCE).await.unwrap();
    assert_eq!(tools[0].name, "echo");
    assert_eq!(tools[0].input_schema["required"], json!(["text"]));
    assert_eq!(tools[0].annotations["readOnlyHint"], json!(true));
    assert_eq!(tools[0].provenance["transport"], json!("mcp_stdio"));
    let about = client.about().unwrap();
    assert_eq!((about.name.as_str(), about.protocol.as_str()), ("faults", "2025-06-18"));
    assert_eq!(about.instructions.as_deref(), Some("Handle with care."));

    let payload = call(&*client, "echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(
        (payload.texts.as_slice(), payload.structured, payload.is_error),
        (&["hi".to_owned()][..], None, false)
    );
    for value in [json!({"n": 1.5}), json!("text"), json!(null), json!([1])] {
        let payload = call(&*client, "structured", json!({"value": value})).await.unwrap();
        assert_eq!(payload.structured, Some(value));
    }
    let failed = call(&*client, "fail", json!({})).await.unwrap();
    assert!(failed.is_error && failed.texts == ["it broke"]);
    assert!(call(&*client, "none", json!({})).await.unwrap().texts.is_empty());
}

#[tokio::test]
async fn a_bad_answer_fails_its_call_and_no_other() {
    let client = client(faulty(&[]));
    let small = Allowance { max_bytes: 10_000, ..ALLOWANCE };
    let cases: Vec<(&str, Json, Allowance, Reason, &str)> = vec![
        ("error", json!({}), ALLOWANCE, Reason::UpstreamError, "no such thing (JSON-RPC error -32602)"),
        ("invalid", json!({}), ALLOWANCE, Reason::UpstreamError, "no JSON-RPC message"),
        ("no_result", json!({}), ALLOWANCE, Reason::UpstreamError, "something that is no result"),
        ("huge", json!({"bytes": 20_000}), small, Reason::ResponseTooLarge, "more than the 10000 allowed"),
        (
            "huge",
            json!({"bytes": 5_000_000}),
            ALLOWANCE,
            Reason::ResponseTooLarge,
            "answer of at least 50000",
        ),
        (
            "huge_error",
            json!({"bytes": 5_000_000}),
            ALLOWANCE,
            Reason::ResponseTooLarge,
            "more than the 2097152 allowed",
        ),
        ("secret", json!({}), ALLOWANCE, Reason::UpstreamError, "bad token [REDACTED]"),
    ];
    for (tool, args, allowance, reason, message) in cases {
        let patient = call(&*client, "slow", json!({"ms": 50}));
        let (fault, slow) = tokio::join!(call_within(&*client, tool, args, allowance), patient);
        let fault = fault.expect_err(tool);
        assert_eq!(fault.reason, reason, "{tool}: {fault}");
        assert!(fault.message.contains(message), "{tool}: {fault}");
        assert_eq!(fault.bytes.is_some(), reason == Reason::ResponseTooLarge, "{tool}");
        assert_eq!(slow.unwrap().texts, ["at last"], "beside {tool}");
    }
    assert_eq!(client.generation(), 1, "it was never started again");
}

#[tokio::test]
async fn other_messages_between_do_not_confuse() {
    let client = client(faulty(&[]));
    assert_eq!(text(&*client, "interleaved", json!({})).await, "after all that");
    assert_eq!(text(&*client, "echo", json!({"text": "fine"})).await, "fine");
}

#[tokio::test]
async fn calls_run_side_by_side_on_one_connection() {
    let client = client(faulty(&[]));
    let calls = (0..50).map(|n| {
        let client = client.clone();
        async move { text(&*client, "echo", json!({"text": n.to_string()})).await }
    });
    let slow = call(&*client, "slow", json!({"ms": 300}));
    let (answers, slow) = tokio::join!(futures_util::future::join_all(calls), slow);
    let expected: Vec<String> = (0..50).map(|n: u32| n.to_string()).collect();
    assert_eq!(answers, expected);
    assert!(slow.is_ok());
    assert_eq!(client.generation(), 1, "one process answered them all");
}

#[tokio::test]
async fn a_late_answer_is_a_timeout_and_the_server_is_told() {
    let client = client(faulty(&[]));
    names(&*client).await;
    let short = Allowance { timeout: Duration::from_millis(100), ..ALLOWANCE };
    let fault = call_within(&*client, "slow", json!({"ms": 60_000}), short).await.unwrap_err();
    assert_eq!((fault.reason, fault.message.as_str()), (Reason::Timeout, "no answer within 100 ms"));
    until("the server hears of the timeout", async || text(&*client, "cancelled", json!({})).await == "1")
        .await;

    let dropped = client.call("slow", Default::default(), ALLOWANCE);
    let args = json!({"ms": 60_000}).as_object().cloned().unwrap();
    drop(dropped);
    let mut begun = Box::pin(client.call("slow", args, ALLOWANCE));
    tokio::select! {
        _ = &mut begun => panic!("it is slow"),
        () = tokio::time::sleep(Duration::from_millis(50)) => {}
    }
    drop(begun);
    until("the server hears of the dropped call", async || {
        text(&*client, "cancelled", json!({})).await == "2"
    })
    .await;
}

#[tokio::test]
async fn a_crash_is_recovered_from_after_a_window() {
    let client = client(faulty(&[]));
    let (crash, beside) =
        tokio::join!(call(&*client, "crash", json!({})), call(&*client, "slow", json!({"ms": 60_000})));
    for fault in [crash.unwrap_err(), beside.unwrap_err()] {
        assert_eq!(fault.reason, Reason::UpstreamUnavailable);
        assert_eq!(fault.message, "process exited with status 7; its last words: thread 'main' had enough");
    }
    let (reason, message) = fault(&*client, "echo", json!({})).await;
    assert_eq!(reason, Reason::UpstreamUnavailable);
    assert!(message.contains("status 7") && message.contains("; it is tried again in "), "{message}");
    until("the server is back", async || call(&*client, "echo", json!({"text": "back"})).await.is_ok()).await;
    assert_eq!(client.generation(), 2, "its tools have to be listed again");
}

#[tokio::test]
async fn an_idle_crash_is_noticed() {
    let client = client(faulty(&[]));
    let pid = text(&*client, "pid", json!({})).await;
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    until("the server is back", async || {
        call(&*client, "pid", json!({})).await.is_ok_and(|payload| payload.texts[0] != pid)
    })
    .await;
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let quick = |flags: &[&str]| {
        let mut upstream = faulty(flags);
        upstream["handshake_timeout_ms"] = json!(300);
        upstream
    };
    let missing = json!({"transport": "mcp_stdio", "command": "no-such-command-anywhere"});
    for (upstream, message) in [
        (faulty(&["--exit"]), "process exited with status 3; its last words: cannot open the database"),
        (faulty(&["--greeting-is-nonsense"]), "handshake failed: the answer is not as MCP wants it"),
        (quick(&["--silent"]), "no handshake within 300 ms"),
        (missing, "command not found: no-such-command-anywhere"),
    ] {
        let client = client(upstream);
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert_eq!((fault.reason, fault.message.as_str()), (Reason::UpstreamUnavailable, message));
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert!(fault.message.starts_with(message) && fault.message.contains("tried again in"), "{fault}");
    }
}

#[tokio::test]
async fn all_versions_of_the_handshake_are_understood() {
    for (flags, protocol) in
        [(&["--old"][..], "2024-11-05"), (&[], "2025-06-18"), (&["--modern"], "2026-07-28")]
    {
        let client = client(faulty(flags));
        assert_eq!(names(&*client).await, ["echo", "slow"], "{protocol}");
        assert_eq!(client.about().unwrap().protocol, protocol);
        assert_eq!(text(&*client, "echo", json!({"text": "hi"})).await, "hi");
    }
}

#[tokio::test]
async fn lists_come_in_pages_with_an_end() {
    assert_eq!(names(&*client(faulty(&["--pages"]))).await, ["echo", "slow"]);
    for (flag, message) in [
        ("--endless-pages", "lists tools in more than 100 pages"),
        ("--same-page", "lists tools in pages without end"),
        ("--no-tools", "answered tools/list with something that is no result"),
    ] {
        let client = client(faulty(&[flag]));
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert_eq!(fault.reason, Reason::UpstreamError);
        assert!(fault.message.starts_with(message), "{fault}");
    }
    let client = client(faulty(&[]));
    let fault = client.list(Allowance { max_bytes: 100, ..ALLOWANCE }).await.unwrap_err();
    assert_eq!(fault.reason, Reason::ResponseTooLarge);
}

#[tokio::test]
async fn a_changed_list_is_noticed() {
    let client = client(faulty(&[]));
    assert_eq!(names(&*client).await, ["echo", "slow"]);
    let before = client.generation();
    call(&*client, "change", json!({})).await.unwrap();
    until("the change is heard", async || client.generation() > before).await;
    assert_eq!(names(&*client).await, ["echo", "slow", "fresh"]);
}

#[tokio::test]
async fn only_a_small_environment_is_inherited() {
    let client = client(faulty(&[]));
    let names = text(&*client, "env", json!({})).await;
    let names: Vec<&str> = names.split(' ').collect();
    assert!(names.contains(&"PATH") && names.contains(&"FAULT_TOKEN"), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
}

#[tokio::test]
async fn closing_ends_the_process_and_what_it_started() {
    for flags in [&[][..], &["--stubborn"]] {
        let client = client(faulty(flags));
        let pid = text(&*client, "pid", json!({})).await;
        let grandchild = text(&*client, "grandchild", json!({})).await;
        assert!(alive(&pid) && alive(&grandchild));
        client.close().await;
        assert!(!alive(&pid), "{flags:?}");
        until("the grandchild ends", async || !alive(&grandchild)).await;
        assert_eq!(text(&*client, "echo", json!({"text": "again"})).await, "again");
        let pid = text(&*client, "pid", json!({})).await;
        drop(client);
        until("the process ends with its client", async || !alive(&pid)).await;
    }
}

#[tokio::test]
async fn servers_die_with_us_even_if_we_are_killed() {
    let folder = std::env::temp_dir().join(format!("ptc-hold-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = folder.join("upstreams.json");
    std::fs::write(&config, json!({"upstreams": {"x": faulty(&["--stubborn"])}}).to_string()).unwrap();
    let mut holder = std::process::Command::new(fault_server())
        .args(["hold".as_ref(), config.as_os_str()])
        .env("FAULT_TOKEN", SECRET)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let out = std::io::BufReader::new(holder.stdout.take().unwrap());
    let pids: Vec<String> = std::io::BufRead::lines(out).take(2).collect::<Result<_, _>>().unwrap();
    assert!(pids.iter().all(|pid| alive(pid)), "{pids:?}");
    holder.kill().unwrap();
    holder.wait().unwrap();
    until("server and grandchild end", async || !pids.iter().any(|pid| alive(pid))).await;
    std::fs::remove_dir_all(folder).unwrap();
}
