//! HTTP: the order of checks, sessions, cancellation, and what operators see.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value as Json, json};

use crate::support::{HttpServer, PATIENCE, SLOW, TOKEN, call, eventually, initialize, ptc, text};
use crate::world::World;

const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
const JSON: (&str, &str) = ("content-type", "application/json");

fn ping() -> Json {
    json!({"jsonrpc": "2.0", "id": 7, "method": "ping"})
}

#[test]
fn probe_23_r1_6_3_the_matrix_of_checks() {
    let server = HttpServer::start(&["--http-auth-token", TOKEN]);
    let body = ping().to_string();
    let post = |headers: &[(&str, &str)], body: &str| server.raw("POST", "/mcp", headers, body.as_bytes());
    let evil = ("host", "evil.example");
    assert_eq!(post(&[evil], &body).status, 403, "Host before the token");
    assert_eq!(post(&[("origin", "http://evil.example")], &body).status, 403, "Origin before the token");
    assert_eq!(post(&[("origin", "null"), BEARER], &body).status, 403);
    let missing = post(&[JSON], &body);
    assert_eq!((missing.status, missing.headers["www-authenticate"].as_str()), (401, "Bearer"));
    let wrong = post(&[JSON, ("authorization", "Bearer wrong")], &body);
    assert_eq!(
        (wrong.status, wrong.headers["www-authenticate"].as_str()),
        (401, "Bearer error=\"invalid_token\"")
    );
    let get = server.raw("GET", "/mcp", &[BEARER], b"");
    assert_eq!((get.status, get.headers["allow"].as_str()), (405, "POST, DELETE"));
    assert_eq!(post(&[BEARER, ("content-type", "text/plain")], &body).status, 415);
    assert_eq!(post(&[BEARER, JSON], "").status, 400);
    let broken = post(&[BEARER, JSON], "{");
    assert_eq!((broken.status, &broken.json()["error"]["code"]), (200, &json!(-32700)));
    let batch = post(&[BEARER, JSON], "[]");
    assert_eq!((batch.status, &batch.json()["error"]["code"]), (200, &json!(-32600)));
    let without = post(&[BEARER, JSON], &body);
    assert_eq!(without.status, 400);
    assert!(without.body.contains("missing MCP-Session-Id"), "{without:?}");
    assert_eq!(post(&[BEARER, JSON, ("mcp-session-id", "mcp_unknown")], &body).status, 404);
    assert_eq!(server.raw("DELETE", "/mcp", &[BEARER], b"").status, 400);
    assert_eq!(server.raw("DELETE", "/mcp", &[BEARER, ("mcp-session-id", "mcp_unknown")], b"").status, 404);
    assert_eq!(server.raw("GET", "/nowhere", &[], b"").status, 404);
}

#[test]
fn probe_23_r1_7_6_five_wrong_tokens_block_further_wrong_ones_of_the_address() {
    let server = HttpServer::start(&["--http-auth-token", TOKEN]);
    for _ in 0..5 {
        assert_eq!(server.post(&[("authorization", "Bearer wrong")], &ping()).status, 401);
    }
    let blocked = server.post(&[("authorization", "Bearer wrong")], &ping());
    assert_eq!(blocked.status, 429);
    assert!(!blocked.headers.contains_key("www-authenticate"));
    assert!(blocked.headers["retry-after"].parse::<u64>().unwrap() >= 1);
    assert_eq!(server.raw("GET", "/health", &[], b"").status, 200);
}

#[test]
fn r1_6_10_sessions_begin_with_initialize() {
    let server = HttpServer::start(&[]);
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-06-18")});
    let answer = server.post(&[], &message);
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.json()["result"]["protocolVersion"], "2025-06-18");
    let session = answer.headers["mcp-session-id"].clone();
    assert!(session.starts_with("mcp_") && session.len() == 36, "{session}");
    let with = ("mcp-session-id", session.as_str());
    assert_eq!(server.post(&[with], &message).status, 400, "initialize takes no session");
    let note = json!({"jsonrpc": "2.0", "method": "initialize", "params": initialize("2025-06-18")});
    assert_eq!(server.post(&[], &note).status, 400, "initialize needs an id");
    let old = json!({"jsonrpc": "1.0", "id": 1, "method": "initialize"});
    let refused = server.post(&[], &old);
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (200, &json!(-32600)));
    assert!(!refused.headers.contains_key("mcp-session-id"));
    let version = ("mcp-protocol-version", "2025-11-25");
    assert_eq!(server.post(&[with, version], &ping()).status, 400, "another version than agreed on");
    let version = ("mcp-protocol-version", "2025-06-18");
    assert_eq!(server.post(&[with, version], &ping()).json()["result"], json!({}));
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let noted = server.post(&[with], &note);
    assert_eq!((noted.status, noted.body.as_str()), (202, ""));
    assert_eq!(server.raw("DELETE", "/mcp", &[with], b"").status, 204);
    assert_eq!(server.post(&[with], &ping()).status, 404, "closed");
}

#[test]
fn r1_6_13_calls_are_answered_with_one_json_document() {
    let server = HttpServer::start(&[]);
    let session = server.open(&[]);
    let result = server.call(&session, 2, "lisp_eval", json!({"program": "(+ 1 2)"}));
    assert_eq!(result, json!({"content": [{"type": "text", "text": "user=> 3"}], "isError": false}));
    let plain = [JSON, ("mcp-session-id", session.as_str())];
    let answer = server.raw(
        "POST",
        "/mcp",
        &plain,
        call(3, "lisp_eval", json!({"program": "1"})).to_string().as_bytes(),
    );
    assert_eq!(answer.status, 200, "no Accept header is needed for plain answers: {answer:?}");
    assert_eq!(server.call(&session, 4, "nope", json!({}))["structuredContent"]["reason"], "unknown_tool");
}

#[test]
fn stateless_requests_need_no_session() {
    let server = HttpServer::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let version = ("mcp-protocol-version", "2026-07-28");
    let discover = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}});
    let found = server.post(&[version, ("mcp-method", "server/discover")], &discover);
    assert_eq!(found.status, 200, "{found:?}");
    assert_eq!(found.json()["result"]["supportedVersions"][2], "2026-07-28");
    let params = json!({"_meta": meta, "name": "lisp_eval", "arguments": {"program": "(+ 1 2)"}});
    let message = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    let headers = [version, ("mcp-method", "tools/call"), ("mcp-name", "lisp_eval")];
    let answer = server.post(&headers, &message);
    assert_eq!(text(&answer.json()["result"]), "user=> 3", "{answer:?}");
    assert!(!answer.headers.contains_key("mcp-session-id"));
    let lying = server.post(&[version, ("mcp-method", "tools/list"), ("mcp-name", "lisp_eval")], &message);
    assert_eq!(lying.status, 400, "headers must agree with the body: {lying:?}");
    let bare = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    assert_eq!(
        server.post(&[version, ("mcp-method", "tools/list")], &bare).status,
        400,
        "metadata are required"
    );
}

#[test]
fn progress_turns_the_answer_into_a_stream() {
    let server = HttpServer::start(&["--program-timeout-ms", "3000"]);
    let session = server.open(&[]);
    let mut message = call(2, "lisp_eval", json!({"program": SLOW}));
    message["params"]["_meta"] = json!({"progressToken": 5});
    let answer = server.post(&[("mcp-session-id", &session)], &message);
    assert_eq!(answer.headers["content-type"], "text/event-stream", "{answer:?}");
    let events: Vec<Json> = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    assert_eq!(events[0]["method"], "notifications/progress");
    assert_eq!(events.last().unwrap()["id"], 2);
}

#[test]
fn r1_6_17_cancelled_calls_are_answered_as_cancelled() {
    let server = HttpServer::start(&["--program-timeout-ms", "30000"]);
    let session = server.open(&[]);
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.call(&session, 2, "lisp_eval", json!({"program": SLOW})));
        eventually("it is cancelled", || {
            assert_eq!(server.post(&[("mcp-session-id", &session)], &note).status, 202);
            call.is_finished()
        });
        let result = call.join().unwrap();
        assert_eq!(result["structuredContent"]["reason"], "cancelled", "{result}");
    });
}

/// Sends a program without an end in a session, and waits for no answer.
fn begin(server: &HttpServer, session: &str) -> TcpStream {
    let body = call(2, "lisp_eval", json!({"program": SLOW})).to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

#[test]
fn r1_6_17_a_client_that_leaves_takes_its_call_with_it() {
    let server = HttpServer::start(&[
        "--program-timeout-ms",
        "60000",
        "--max-concurrent-calls",
        "1",
        "--max-queued-calls",
        "0",
    ]);
    let session = server.open(&[]);
    let stream = begin(&server, &session);
    let ready = || server.raw("GET", "/ready", &[], b"").status;
    eventually("the call holds the permit", || ready() == 503);
    drop(stream);
    eventually("the permit is free", || ready() == 200);
}

#[test]
fn r1_6_16_calls_of_a_session_are_bounded() {
    let server = HttpServer::start(&[
        "--program-timeout-ms",
        "60000",
        "--max-concurrent-calls",
        "8",
        "--http-max-in-flight-per-session",
        "1",
    ]);
    let session = server.open(&[]);
    std::thread::scope(|scope| {
        // Whichever of the two comes second is the busy one.
        let slow = scope.spawn(|| {
            let begin = || server.call(&session, 2, "lisp_eval", json!({"program": SLOW}));
            while text(&begin()).starts_with("busy") {}
        });
        eventually("busy", || {
            let result = server.call(&session, 3, "lisp_eval", json!({"program": "1"}));
            assert!(result.get("resultType").is_none());
            text(&result).starts_with("busy")
        });
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        server.post(&[("mcp-session-id", &session)], &note);
        slow.join().unwrap();
    });
}

#[test]
fn r1_6_11_sessions_are_capped() {
    let server = HttpServer::start(&["--http-max-sessions", "2", "--http-max-sessions-per-owner", "2"]);
    server.open(&[]);
    server.open(&[]);
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")});
    let refused = server.post(&[], &message);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"], json!({"code": -32000, "message": "session owner limit exceeded"}));
    let server = HttpServer::start(&["--http-max-sessions", "1"]);
    server.open(&[]);
    let refused = server.post(&[], &message);
    assert_eq!((refused.status, &refused.json()["error"]["message"]), (503, &json!("server saturated")));
}

#[test]
fn r1_6_18_sessions_end_when_they_are_idle_or_old() {
    let server = HttpServer::start(&["--http-session-ttl-ms", "300"]);
    let session = server.open(&[]);
    eventually("its time is over", || server.post(&[("mcp-session-id", &session)], &ping()).status == 404);
}

#[test]
fn r1_6_18_a_session_that_works_outlives_one_that_is_idle() {
    // There is room for a third session when one of two has ended.
    let server = HttpServer::start(&[
        "--http-session-idle-timeout-ms",
        "300",
        "--http-max-sessions",
        "2",
        "--program-timeout-ms",
        "600000",
        "--max-concurrent-calls",
        "1",
        "--max-queued-calls",
        "0",
    ]);
    let message =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")});
    let open = || server.post(&[], &message).headers.get("mcp-session-id").cloned();
    let lives = |session: &str| server.post(&[("mcp-session-id", session)], &ping()).status == 200;
    let runs = || server.raw("GET", "/ready", &[], b"").status == 503;
    let mut busy = None;
    // On a machine that does other things, its time may be over before its program begins.
    eventually("a program runs", || {
        let Some(session) = open() else { return false };
        let stream = begin(&server, &session);
        stream.set_nonblocking(true).unwrap();
        let refused = || stream.peek(&mut [0]).is_ok();
        eventually("it runs or is refused", || runs() || refused());
        busy = Some((session, stream));
        runs()
    });
    let (busy, _stream) = busy.unwrap();
    let mut idle = None;
    eventually("there is room for another", || {
        idle = open();
        idle.is_some()
    });
    eventually("one of the two has ended", || open().is_some());
    assert!(!lives(&idle.unwrap()), "nobody used it");
    assert!(lives(&busy) && runs(), "its program runs");
}

#[test]
fn r1_6_8_bodies_are_bounded() {
    let server = HttpServer::start(&["--http-max-body-bytes", "2000", "--http-request-timeout-ms", "500"]);
    let answer = server.raw("POST", "/mcp", &[JSON], &vec![b' '; 4000]);
    assert_eq!(answer.status, 413);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 408"), "a body that does not come: {text:?}");
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: local").unwrap();
    assert_eq!(server.raw("GET", "/health", &[], b"").status, 200, "half a head holds nobody up");
    // The server ends the connection by itself: whoever waits for that does not wait in vain.
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    let gone = matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset);
    assert!(ended.is_ok() || gone, "half a head is kept open: {ended:?}");
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{:?}", String::from_utf8_lossy(&rest));
}

#[test]
fn r1_6_19_ids_of_requests_are_echoed() {
    let server = HttpServer::start(&[]);
    let echoed = server.post(&[("x-request-id", "abc-1")], &ping());
    assert_eq!(echoed.headers["x-request-id"], "abc-1");
    let long = "x".repeat(129);
    assert_eq!(server.post(&[("x-request-id", &long)], &ping()).headers["x-request-id"].len(), 16);
}

#[test]
fn r1_6_2_health_ready_and_metrics() {
    let server =
        HttpServer::start(&["--http-metrics", "--http-instance-label", "one", "--http-auth-token", TOKEN]);
    assert_eq!(server.raw("GET", "/health", &[], b"").json(), json!({"status": "ok"}));
    assert_eq!(
        server.raw("GET", "/ready", &[BEARER], b"").json(),
        json!({"status": "ready", "instance": "one"})
    );
    let session = server.open(&[BEARER]);
    server.post(&[BEARER, ("mcp-session-id", &session)], &call(2, "lisp_eval", json!({"program": "1"})));
    assert_eq!(server.raw("GET", "/metrics", &[], b"").status, 401);
    let page = server.raw("GET", "/metrics", &[BEARER], b"");
    assert_eq!(page.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(
        page.body.contains("ptc_calls_total{instance=\"one\",tool=\"lisp_eval\",reason=\"ok\"} 1"),
        "{}",
        page.body
    );
    assert!(page.body.contains("ptc_http_sessions{instance=\"one\"} 1"), "{}", page.body);
    for line in page.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("ptc_") && name.ends_with('}') && value.parse::<u64>().is_ok(), "{line}");
    }
    let server = HttpServer::start(&[]);
    assert_eq!(server.raw("GET", "/metrics", &[], b"").status, 404, "off unless asked for");
}

#[test]
fn r1_6_20_a_signal_drains_and_then_ends() {
    let world = World::start("draining");
    let flags = ["mcp", "--http", "127.0.0.1:0", "--upstreams-config", "upstreams.json"];
    let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
    let mut server = HttpServer::spawn(world.command(&[&flags[..], &patient].concat()));
    let session = server.open(&[]);
    world.hold(&["came k"]);
    let program = r#"(:ok (tool/call {:server "world" :tool "put" :args {:key "k" :value 1}}))"#;
    let result = std::thread::scope(|scope| {
        let slow = scope.spawn(|| server.call(&session, 2, "lisp_eval", json!({"program": program})));
        // The call is under way until the world goes on.
        world.wait_for("came k");
        server.terminate();
        eventually("draining", || server.raw("GET", "/ready", &[], b"").json()["status"] == "draining");
        let refused = server.post(&[("mcp-session-id", &session)], &ping());
        assert_eq!((refused.status, &refused.json()["error"]["message"]), (503, &json!("server draining")));
        assert!(!slow.is_finished(), "nobody has answered it");
        world.hold(&[]);
        slow.join().unwrap()
    });
    assert_eq!(text(&result), "user=> true", "the call under way was finished");
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn r1_8_admin_endpoints() {
    const ADMIN: &str = "adminadminadminadminadminadminad";
    let bearer = ("authorization", "Bearer adminadminadminadminadminadminad");
    let paths = ["/admin/prelude-store/snapshot", "/admin/prelude-store/export"];
    let server = HttpServer::start(&[]);
    assert_eq!(server.raw("GET", paths[0], &[bearer], b"").status, 404, "no admin token");
    let server = HttpServer::start(&["--http-admin-token", ADMIN]);
    for path in paths {
        assert_eq!(server.raw("GET", path, &[("host", "evil.example"), bearer], b"").status, 403);
        assert_eq!(server.raw("GET", path, &[], b"").status, 401);
        let answer = server.raw("GET", path, &[bearer], b"");
        assert_eq!((answer.status, &answer.json()["reason"]), (503, &json!("prelude_store_unavailable")));
    }
    let folder = crate::support::Folder::new();
    let source = "(ns calc \"Sums.\")\n(defn twice [x] (* 2 x))\n";
    let seed = folder.file("calc.clj", source);
    let server = HttpServer::start(&["--http-admin-token", ADMIN, "--prelude-store-seed", &seed]);
    let snapshot = server.raw("GET", paths[0], &[bearer], b"").json();
    assert_eq!((&snapshot["status"], &snapshot["schema_version"]), (&json!("ok"), &json!(1)), "{snapshot}");
    assert!(snapshot["store_fingerprint"].as_str().unwrap().starts_with("sha256:"));
    assert!(snapshot["snapshot"].to_string().contains("twice"));
    let export = server.raw("GET", paths[1], &[bearer], b"").json();
    assert_eq!(export["files"]["calc.clj"], source, "{export}");
    assert_eq!(export["manifest"][0]["id"], "calc");
}

#[test]
fn servers_that_cannot_listen_say_so() {
    let server = HttpServer::start(&[]);
    let output = ptc(&["--http", &server.address.to_string()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(err.contains("cannot listen at"), "{err}");
    assert_eq!(err.matches("os error").count(), 1, "the reason is told once: {err}");
}
