//! Clients of child processes: starting, crashing, ending, and what a child sees of us.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use ptc_upstream::model::Reason;
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::*;

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
async fn a_flood_of_errors_holds_up_nothing_and_is_not_kept() {
    let client = client(faulty(&[]));
    for _ in 0..3 {
        assert_eq!(text(&*client, "chatter", json!({"bytes": 20_000_000})).await, "said");
    }
    let (_, message) = fault(&*client, "crash", json!({})).await;
    assert_eq!(message, "process exited with status 7; its last words: thread 'main' had enough");
}

#[tokio::test]
async fn what_a_server_logs_among_its_messages_fails_no_call() {
    let client = client(faulty(&[]));
    for line in ["[INFO] started", "{ id: 7, name: 'x' }", "[ 'a', 'b' ]", "{\"id\":ID,\"msg\":\"hi\"}", "[]"]
    {
        assert_eq!(text(&*client, "log", json!({"line": line})).await, "logged", "{line}");
    }
    // A server that says nothing to its error stream may say why it ends here.
    let script = "read asked; echo '[FATAL] no licence'; exit 4";
    let dying = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", script]});
    let fault = crate::support::client(dying).list(ALLOWANCE).await.unwrap_err();
    assert_eq!(fault.message, "process exited with status 4; its last words: [FATAL] no licence");
}

#[tokio::test]
async fn an_idle_crash_is_noticed() {
    let client = client(faulty(&[]));
    let pid = text(&*client, "pid", json!({})).await;
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    until("the server is back", async || {
        call(&*client, "pid", json!({})).await.is_ok_and(|payload| payload.texts()[0] != pid)
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
    let shell = |script: &str| json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", script]});
    let mut homeless = shell("exit 0");
    homeless["cd"] = json!("/no/such/folder");
    for (upstream, message) in [
        (faulty(&["--exit"]), "process exited with status 3; its last words: cannot open the database"),
        (faulty(&["--greeting-is-nonsense"]), "handshake failed: the answer is not as MCP wants it"),
        (missing, "command not found: no-such-command-anywhere"),
        (shell("printf 'no key' >&2; exit 3"), "process exited with status 3; its last words: no key"),
        // Some print among their messages why they end, with or without the end of the line.
        (shell("echo no key; exit 3"), "process exited with status 3; its last words: no key"),
        (shell("printf 'no key'; exit 3"), "process exited with status 3; its last words: no key"),
        (shell("echo '{}'; echo why >&2; exit 3"), "process exited with status 3; its last words: why"),
        (homeless, "the folder /no/such/folder to start sh in does not exist"),
    ] {
        let client = client(upstream);
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert_eq!((fault.reason, fault.message.as_str()), (Reason::UpstreamUnavailable, message));
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert!(fault.message.starts_with(message) && fault.message.contains("tried again in"), "{fault}");
    }
    // One that says nothing to us may have said something to people.
    let fault = client(quick(&["--silent"])).list(ALLOWANCE).await.unwrap_err();
    let said =
        fault.message.strip_prefix("no handshake within 300 ms; it said last: fault server of process ");
    assert!(said.is_some_and(|pid| pid.parse::<u32>().is_ok()), "{fault}");
}

#[tokio::test]
async fn all_versions_of_the_handshake_are_understood() {
    for (flags, protocol) in [
        (&["--version", "2024-11-05"][..], "2024-11-05"),
        (&["--version", "2025-06-18"], "2025-06-18"),
        (&[], "2025-11-25"),
        (&["--modern"], "2026-07-28"),
    ] {
        let client = client(faulty(flags));
        assert_eq!(names(&*client).await, ["echo", "slow"], "{protocol}");
        assert_eq!(client.about().unwrap().protocol, protocol);
        assert_eq!(text(&*client, "echo", json!({"text": "hi"})).await, "hi");
    }
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

/// Keeps every field of whatever this crate logs. Libraries trace messages as they are.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().expect("nobody panics").push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("ptc_upstream")
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn what_a_server_says_of_its_secrets_is_covered_in_logs() {
    let log = Log::default();
    let _logs = tracing::subscriber::set_default(log.clone());
    let client = client(faulty(&[]));
    // On a busy machine it may take several attempts to start the server, and those fail otherwise.
    let refuses = async || fault(&*client, "secret", json!({})).await.1.starts_with("bad token ");
    until("the server is there and refuses the call", refuses).await;
    let lines = || log.0.lock().expect("nobody panics").clone();
    until("its words are logged", async || lines().iter().any(|line| line.contains("my token is"))).await;
    let open: Vec<String> =
        lines().iter().filter(|line| line.contains(SECRET)).map(|line| line.replace(SECRET, "…")).collect();
    assert_eq!(open, [] as [&str; 0], "lines with the secret");
    assert!(lines().contains(&"message=my token is [REDACTED]".to_owned()));
}
