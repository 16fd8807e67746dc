//! Whoever knocks without a token: nothing of them is read, they cost next to nothing, and nobody is kept out by them.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;

use crate::approval::World;
use crate::flood::{peak_kib, withstands};
use crate::support::{Answer, HttpServer, PATIENCE, StdioServer, TOKEN, answer, call, eventually};

const BEARER: (&str, &str) = ("authorization", "Bearer 0123456789abcdef0123456789abcdef");
const ADMIN: &str = "adminadminadminadminadminadminad";

fn guarded(world: &World, more: &[&str]) -> HttpServer {
    let flags = world.flags("writes");
    let own = ["--http-auth-token", TOKEN, "--http-admin-token", ADMIN, "--http-metrics"];
    HttpServer::start(&[&flags.iter().map(String::as_str).collect::<Vec<_>>(), &own[..], more].concat())
}

/// Sends bytes as they are, and reads until the server closes or has answered.
fn sent(server: &HttpServer, bytes: &str) -> Answer {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let (mut read, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer).unwrap();
        read.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&read);
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
            let length = head.to_lowercase().lines().find_map(|line| {
                line.strip_prefix("content-length: ").and_then(|length| length.parse::<usize>().ok())
            });
            length.is_some_and(|length| body.len() >= length)
        });
        if count == 0 || whole {
            return answer(&text);
        }
    }
}

#[test]
fn unfinished_requests_without_a_token_keep_nobody_out_and_take_no_memory() {
    let world = World::new();
    let server = guarded(&world, &[]);
    let doors =
        ["/mcp", "/approvals/decide", "/approvals/list", "/metrics", "/admin/prelude-store/export", "/ready"];
    withstands(server.address, server.pid(), "/health", &doors);
    let session = server.open(&[BEARER]);
    let headers = [BEARER, ("mcp-session-id", session.as_str())];
    let reply = server.post(&headers, &call(1, "lisp_eval", json!({"program": "(+ 1 2)"})));
    assert_eq!(reply.json()["result"]["content"][0]["text"], "user=> 3", "{reply:?}");
}

#[test]
fn a_server_without_tokens_withstands_the_same() {
    let world = World::new();
    let flags = world.flags("writes");
    let server = HttpServer::start(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    withstands(server.address, server.pid(), "/health", &["/mcp", "/approvals/decide"]);
}

#[test]
fn every_door_refuses_before_it_reads_the_body() {
    let world = World::new();
    let server = guarded(&world, &[]);
    for (path, status) in [
        ("/mcp", 401),
        ("/approvals/decide", 401),
        ("/approvals/list", 405),
        ("/metrics", 405),
        ("/admin/prelude-store/snapshot", 405),
        ("/nowhere", 404),
    ] {
        // The body never comes, the answer does.
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{{",
            server.address
        );
        assert_eq!(sent(&server, &head).status, status, "{path}");
    }
    let foreign = "POST /approvals/decide HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 100000\r\n\r\n{";
    assert_eq!(sent(&server, foreign).status, 403);
}

#[test]
fn a_body_that_does_not_arrive_is_given_up() {
    let world = World::new();
    let server = guarded(&world, &["--http-request-timeout-ms", "200"]);
    for path in ["/mcp", "/approvals/decide"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\n{}: {}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{",
            server.address, BEARER.0, BEARER.1
        );
        assert_eq!(sent(&server, &head).status, 408, "{path}");
    }
    let mut head = TcpStream::connect(server.address).unwrap();
    head.set_read_timeout(Some(PATIENCE)).unwrap();
    head.write_all(b"GET /health HTTP/1.1\r\nhost:").unwrap();
    let ended = head.read_to_end(&mut Vec::new());
    // It is closed; what is said before that does not matter, nor whether the rest of the head was on its way.
    assert!(!ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "it is given up");
}

#[test]
fn a_right_token_is_admitted_whatever_wrong_ones_came_from_its_address() {
    let world = World::new();
    let server = guarded(&world, &[]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for path in ["/approvals/list", "/metrics"] {
        assert_eq!(server.raw("GET", path, &[("authorization", "Bearer wrong")], b"").status, 401);
    }
    for _ in 0..3 {
        assert_eq!(server.post(&[("authorization", "Bearer wrong")], &ping).status, 401);
    }
    let blocked = server.post(&[("authorization", "Bearer wrong")], &ping);
    assert_eq!(blocked.status, 429, "{blocked:?}");
    assert!(blocked.headers["retry-after"].parse::<u64>().unwrap() >= 1);
    let session = server.open(&[BEARER]);
    assert!(!session.is_empty());
    for path in ["/approvals/list", "/metrics"] {
        assert_eq!(server.raw("GET", path, &[BEARER], b"").status, 200, "{path}");
    }
    assert_eq!(server.post(&[("authorization", "Bearer wrong")], &ping).status, 429, "wrong ones wait on");
}

#[test]
fn two_of_a_header_that_decides_are_refused_at_every_door() {
    let world = World::new();
    let server = guarded(&world, &[]);
    let own = server.address.to_string();
    let origin = format!("http://{own}");
    for path in ["/mcp", "/approvals", "/approvals/list", "/metrics", "/ready", "/health"] {
        let twice = [("host", own.as_str()), ("host", "evil.example"), BEARER];
        assert_eq!(server.raw("GET", path, &twice, b"").status, 400, "{path}");
        let twice = [("origin", origin.as_str()), ("origin", "http://evil.example"), BEARER];
        let refused = server.raw("GET", path, &twice, b"");
        assert_eq!(refused.status, 400, "{path}");
        assert!(refused.body.contains("origin"), "{refused:?}");
    }
    let tokens = [BEARER, ("authorization", "Bearer wrong")];
    assert_eq!(server.raw("GET", "/metrics", &tokens, b"").status, 400);
}

#[test]
fn the_instance_is_named_only_to_those_who_may_call() {
    let world = World::new();
    let server = guarded(&world, &["--http-instance-label", "secret-host"]);
    let ready = |headers: &[(&str, &str)]| server.raw("GET", "/ready", headers, b"").json();
    let named = json!({"status": "ready", "instance": "secret-host"});
    let plain = json!({"status": "ready"});
    assert_eq!(ready(&[]), plain);
    assert_eq!(ready(&[BEARER]), named);
    assert_eq!(ready(&[("authorization", &format!("Bearer {ADMIN}"))]), named);
    assert_eq!(ready(&[("authorization", "Bearer wrong")]), plain, "and it counts for nothing");
    assert_eq!(ready(&[BEARER, ("host", "evil.example")]), plain);
    let open = HttpServer::start(&["--http-instance-label", "secret-host"]);
    assert_eq!(open.raw("GET", "/ready", &[("host", "evil.example")], b"").json(), plain);
    assert_eq!(open.raw("GET", "/ready", &[], b"").json(), named);
}

#[test]
fn an_address_has_so_many_connections_and_the_oldest_idle_one_goes() {
    let server = HttpServer::start(&["--http-max-connections-per-address", "2"]);
    let open = || {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let (mut first, mut second, mut third) = (open(), open(), open());
    let mut rest = Vec::new();
    let ended = first.read_to_end(&mut rest);
    assert!(rest.is_empty() && ended.is_ok_and(|count| count == 0), "the first one was closed");
    for stream in [&mut second, &mut third] {
        let head = format!("GET /health HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    }
}

#[test]
fn all_bodies_together_have_a_bound_that_small_ones_do_not_feel() {
    // What of a body needs no room, and the room of all others: two of them at most.
    const SMALL: usize = 64 << 10;
    let most = (2 * SMALL).to_string();
    let server = HttpServer::start(&[
        "--http-auth-token",
        TOKEN,
        "--http-max-body-bytes",
        &most,
        "--http-max-bodies-bytes",
        &most,
    ]);
    let unfinished = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\n{}: {}\r\ncontent-type: application/json\r\ncontent-length: {most}\r\n\r\n",
            server.address, BEARER.0, BEARER.1
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&vec![b' '; 2 * SMALL - 1]).unwrap();
        stream
    };
    let large = || {
        let json = ("content-type", "application/json");
        server.raw("POST", "/mcp", &[BEARER, json], &vec![b' '; SMALL + 3])
    };
    // One that comes while another is still being read can take what that needs, and has it refused: then they are
    // sent again.
    let (mut held, mut refused) = (None, None);
    eventually("there is no room", || {
        held = Some([unfinished(), unfinished()]);
        refused = (0..20).map(|_| large()).find(|answer| answer.status == 503);
        refused.is_some()
    });
    let refused = refused.expect("one was refused");
    assert_eq!(refused.headers["retry-after"], "1", "{refused:?}");
    assert!(!server.open(&[BEARER]).is_empty(), "a small request is served");
    drop(held);
    eventually("there is room again", || large().status != 503);
}

/// Inputs of very many small values, as text: as many bytes as numbers of one digit with their commas.
fn small_values() -> (String, usize) {
    let count = 2_000_000;
    (format!(r#"{{"rows":[{}]}}"#, vec!["1"; count].join(",")), count)
}

/// Inputs may take their share of memory as values of a program, which counts them, but not on the way to it.
const TIMES_THE_BYTES: u64 = 40;

#[test]
fn inputs_of_many_values_are_read_by_the_program_that_counts_them() {
    let (inputs, count) = small_values();
    let flags = ["--program-memory-limit-bytes", "256000000", "--program-timeout-ms", "300000"];
    let arguments = |program: &str| format!(r#"{{"program":"{program}","context":{inputs}}}"#);
    let request = |id: u8, program: &str, meta: &str| {
        let params = format!(r#"{{"name":"lisp_eval","arguments":{}{meta}}}"#, arguments(program));
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let most = |before: u64| before + (inputs.len() as u64 * TIMES_THE_BYTES) / 1024;
    let counted = format!("user=> {count}");

    let mut stdio = StdioServer::ready(&flags);
    let before = peak_kib(stdio.pid());
    stdio.raw(format!("{}\n", request(2, "(count data/rows)", "")).as_bytes());
    let reply = stdio.receive();
    assert_eq!(reply["result"]["content"][0]["text"], counted.as_str(), "{reply}");
    let after = peak_kib(stdio.pid());
    eprintln!("stdio: {} KiB of inputs, {before} KiB before, {after} after", inputs.len() >> 10);
    assert!(after < most(before), "{before} KiB before, {after} after");

    let http = HttpServer::start(&flags);
    let session = http.open(&[]);
    let headers = [("mcp-session-id", session.as_str()), ("content-type", "application/json")];
    let before = peak_kib(http.pid());
    // With something beside the call, it goes through the library of the protocol.
    for (id, meta) in [(2, ""), (3, r#","_meta":{"progressToken":7}"#)] {
        let sent = request(id, "(count data/rows)", meta);
        let reply = http.raw("POST", "/mcp", &headers, sent.as_bytes()).json();
        assert_eq!(reply["result"]["content"][0]["text"], counted.as_str(), "{reply}");
    }
    let after = peak_kib(http.pid());
    eprintln!("http: {} KiB of inputs, {before} KiB before, {after} after", inputs.len() >> 10);
    assert!(after < most(before), "{before} KiB before, {after} after");
}

#[test]
fn inputs_that_do_not_fit_the_memory_of_a_program_fail_that_program() {
    let (inputs, _) = small_values();
    let mut server = StdioServer::ready(&["--program-memory-limit-bytes", "8000000"]);
    let arguments = format!(r#"{{"program":"1","context":{inputs}}}"#);
    let params = format!(r#"{{"name":"lisp_eval","arguments":{arguments}}}"#);
    server.raw(
        format!("{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{params}}}\n")
            .as_bytes(),
    );
    let reply = server.receive();
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("memory"), "{reply}");
    assert_eq!(server.eval(3, "(+ 1 2)"), "user=> 3");
}
