//! Sessions that survive: servers are killed with -9 in the middle of load, and every answer that a client got is kept.
//!
//! `PTC_RESTART_SESSIONS=1000 cargo nextest run --workspace --test mcp --no-capture -E 'test(killed_servers)'` runs it
//! with that many sessions and prints what happened.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use serde_json::{Value as Json, json};

use crate::postgres::Server as Postgres;
use crate::support::{
    Folder, HttpServer, PATIENCE, StdioServer, TOKEN, answer, eventually, found, ptc, text,
};

/// Clients at a time.
const CLIENTS: usize = 6;
/// Programs that change each session.
const CHANGES: usize = 4;

fn sessions() -> usize {
    std::env::var("PTC_RESTART_SESSIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(30)
}

/// A server on a store that many sessions fit into.
fn server(place: &str, sessions: usize) -> HttpServer {
    let most = sessions.to_string();
    let mut command = ptc(&["--http", "127.0.0.1:0", "--sessions", "--response-profile", "structured"]);
    command
        .args(["--max-sessions", &most, "--max-sessions-per-owner", &most, "--max-live-sessions", "16"])
        .args([
            "--max-concurrent-calls",
            "16",
            "--program-timeout-ms",
            "60000",
            "--http-shutdown-grace-ms",
            "200",
        ])
        .args(["--session-ttl-ms", "86400000", "--session-idle-timeout-ms", "86400000"])
        .env("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", TOKEN)
        .env("PTC_RUNNER_MCP_STORE", place);
    HttpServer::spawn(command)
}

/// Sends every connection to the next server, or to the one after it if that is dead.
struct Balancer {
    address: SocketAddr,
    servers: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Balancer {
    fn new() -> Balancer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, servers) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let known: Arc<Mutex<Vec<SocketAddr>>> = servers.clone();
        std::thread::spawn(move || {
            for (turn, client) in listener.incoming().enumerate() {
                let servers = known.lock().unwrap().clone();
                let next = (0..servers.len()).map(|step| servers[(turn + step) % servers.len()]);
                let server = next.into_iter().find_map(|address| TcpStream::connect(address).ok());
                if let (Ok(client), Some(server)) = (client, server) {
                    copy(client.try_clone().unwrap(), server.try_clone().unwrap());
                    copy(server, client);
                }
            }
        });
        Balancer { address, servers }
    }

    fn serve(&self, servers: &[Option<HttpServer>]) {
        *self.servers.lock().unwrap() = servers.iter().flatten().map(|server| server.address).collect();
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// Calls a tool with a request that stands for itself. `None` if there was no whole answer.
fn call(to: SocketAddr, tool: &str, arguments: Json) -> Option<Json> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"_meta": meta, "name": tool, "arguments": arguments});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-length: {}\r\n\
         authorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\naccept: application/json\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n\r\n",
        body.len(),
    );
    let mut stream = TcpStream::connect(to).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let answer = text.contains("\r\n\r\n").then(|| answer(&text)).filter(|answer| answer.status == 200)?;
    let reply: Json = serde_json::from_str(&answer.body).ok()?;
    reply.get("result").map(|result| result["structuredContent"].clone())
}

/// The same, until a server is there and has room for it.
fn insist(to: SocketAddr, tool: &str, arguments: &Json) -> Json {
    found(&format!("{tool} is answered"), || {
        let told = call(to, tool, arguments.clone());
        told.filter(|told| !matches!(told["reason"].as_str(), Some("busy" | "session_busy")))
    })
}

/// How far a session has come, by all three of its definitions.
fn reached(to: SocketAddr, id: &str) -> usize {
    let program = "[(count trail) (= trail (vec (range 1 (inc (count trail))))) total @seen]";
    let told = insist(to, "lisp_session_eval", &json!({"session_id": id, "program": program}));
    let result = told["result"].as_str().unwrap_or_else(|| panic!("{told}"));
    let count: usize = result.trim_start_matches("user=> [").split(' ').next().unwrap().parse().unwrap();
    assert_eq!(result, format!("user=> [{count} true {} {count}]", count * (count + 1) / 2), "half applied");
    count
}

/// What clients saw.
#[derive(Default)]
struct Seen {
    acknowledged: Progress,
    cut_off: AtomicUsize,
    cut_off_but_kept: AtomicUsize,
}

/// Brings a session one program further.
fn change(to: SocketAddr, id: &str, number: usize, seen: &Seen) {
    let program = format!(
        "(def trail (conj trail {number})) (def total (+ total {number})) (swap! seen inc) (count trail)"
    );
    let arguments = json!({"session_id": id, "program": program});
    eventually(&format!("{number} is there"), || match call(to, "lisp_session_eval", arguments.clone()) {
        Some(told) if told["status"] == "ok" => {
            assert_eq!(told["result"], format!("user=> {number}"), "an answer was forgotten: {told}");
            seen.acknowledged.one_more();
            true
        }
        Some(told) if told["reason"] != "outcome_unknown" => {
            let reason = told["reason"].as_str();
            assert!(matches!(reason, Some("busy" | "session_busy" | "sessions_unavailable")), "{told}");
            false
        }
        // Nobody knows whether it was kept: the session says so.
        _ => {
            seen.cut_off.fetch_add(1, Ordering::SeqCst);
            let there = reached(to, id);
            assert!(there == number || there == number - 1, "an answer was forgotten: {there} of {number}");
            seen.cut_off_but_kept.fetch_add(usize::from(there == number), Ordering::SeqCst);
            there == number
        }
    });
}

/// Runs load on as many servers as there are, and kills them in its middle.
fn killed_in_the_middle(place: &str, servers: usize) {
    let (count, begun) = (sessions(), Instant::now());
    let start = || Some(server(place, count));
    let mut running: Vec<Option<HttpServer>> = (0..servers).map(|_| start()).collect();
    let balancer = Balancer::new();
    balancer.serve(&running);
    let (to, seen, ids) = (balancer.address, Seen::default(), Mutex::new(Vec::new()));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    let mut own = Vec::new();
                    while next.fetch_add(1, Ordering::SeqCst) < count {
                        let told = insist(to, "lisp_session_start", &json!({"title": "load"}));
                        let id = told["session_id"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
                        let program = "(def trail []) (def total 0) (def seen (atom 0)) :begun";
                        let told =
                            insist(to, "lisp_session_eval", &json!({"session_id": id, "program": program}));
                        assert_eq!(told["status"], "ok", "{told}");
                        own.push(id);
                    }
                    for number in 1..=CHANGES {
                        own.iter().for_each(|id| change(to, id, number, &seen));
                    }
                    ids.lock().unwrap().extend(own);
                })
            })
            .collect();
        // One server at first, so that the others go on alone, then all of them.
        scope.spawn(|| {
            for (share, killed) in [(1, 1), (2, servers), (3, servers)] {
                let due = count * CHANGES * share / 4;
                seen.acknowledged.wait_for(due);
                running.iter_mut().take(killed).for_each(|server| *server = None);
                running.iter_mut().take(killed).for_each(|server| *server = start());
                balancer.serve(&running);
            }
        });
        let ended: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        seen.acknowledged.end();
        assert!(ended.iter().all(Result::is_ok), "a client found something wrong");
    });
    let load = begun.elapsed();
    // Once more, and then with servers that have never seen any of it.
    running.clear();
    running.extend((0..servers).map(|_| start()));
    balancer.serve(&running);
    let ids = ids.into_inner().unwrap();
    assert_eq!(ids.len(), count);
    for id in &ids {
        assert_eq!(reached(to, id), CHANGES, "{id}");
    }
    let listed = insist(to, "lisp_session_list", &json!({}));
    assert_eq!(listed["count"], count);
    let all = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    eprintln!(
        "{count} sessions on {servers} server(s): {} changes acknowledged and there, {} cut off by kills (of those {} \
         kept whole, the others not at all), load took {} s, all {} s",
        seen.acknowledged.count(),
        all(&seen.cut_off),
        all(&seen.cut_off_but_kept),
        load.as_secs(),
        begun.elapsed().as_secs(),
    );
}

/// How much was done, for whoever waits for more.
#[derive(Default)]
struct Progress {
    /// How much, and whether that is all.
    state: Mutex<(usize, bool)>,
    moved: Condvar,
}

impl Progress {
    fn one_more(&self) {
        self.state.lock().unwrap().0 += 1;
        self.moved.notify_all();
    }

    fn end(&self) {
        self.state.lock().unwrap().1 = true;
        self.moved.notify_all();
    }

    fn count(&self) -> usize {
        self.state.lock().unwrap().0
    }

    /// Waits for so much, or the end, without a bound of its own: how long all of the load takes depends on its size, and each
    /// of its steps has one.
    fn wait_for(&self, due: usize) {
        let is_short = |(count, is_over): &mut (usize, bool)| *count < due && !*is_over;
        drop(self.moved.wait_while(self.state.lock().unwrap(), is_short).unwrap());
    }
}

#[test]
fn killed_servers_lose_nothing_that_was_answered_with_a_file() {
    let folder = Folder::new();
    let place = folder.path().join("store.db").display().to_string();
    killed_in_the_middle(&place, 1);
    let store = ptc_store::Store::open(&place).unwrap();
    assert_eq!(store.check(), Ok(vec![]), "the file is whole");
}

#[test]
fn killed_servers_lose_nothing_that_was_answered_with_postgresql_and_two_of_them() {
    let Some(postgres) = Postgres::start("mcp") else { return };
    killed_in_the_middle(&postgres.place("shared"), 2);
}

#[test]
fn over_stdio_a_client_finds_its_sessions_again() {
    let folder = Folder::new();
    let place = folder.path().join("store.db").display().to_string();
    let flags = ["--sessions", "--store", &place];
    let mut first = StdioServer::ready(&flags);
    let started = first.call(1, "lisp_session_start", json!({"title": "mine"}));
    let id = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    first.call(2, "lisp_session_eval", json!({"session_id": id, "program": "(def x 41)"}));
    drop(first);
    let mut second = StdioServer::ready(&flags);
    let listed = second.call(1, "lisp_session_list", json!({}));
    assert_eq!(listed["structuredContent"]["sessions"][0]["title"], "mine");
    let told = second.call(2, "lisp_session_eval", json!({"session_id": id, "program": "(inc x)"}));
    assert_eq!(text(&told), "user=> 42");
    // Two at once on one file, which is what two windows of an editor are.
    let mut third = StdioServer::ready(&flags);
    third.call(1, "lisp_session_eval", json!({"session_id": id, "program": "(def x 1)"}));
    let told = second.call(3, "lisp_session_eval", json!({"session_id": id, "program": "x"}));
    assert_eq!(text(&told), "user=> 1");
}

#[test]
fn sessions_of_a_token_outlive_its_mcp_sessions_and_are_nobody_elses() {
    let folder = Folder::new();
    let place = folder.path().join("store.db").display().to_string();
    let server = server(&place, 10);
    let bearer = format!("Bearer {TOKEN}");
    let auth = ("authorization", bearer.as_str());
    let open = || server.open(&[auth]);
    let ask = |session: &str, tool: &str, arguments: Json| {
        let message = crate::support::call(7, tool, arguments);
        let answer = server.post(&[auth, ("mcp-session-id", session)], &message);
        answer.json()["result"]["structuredContent"].clone()
    };
    let first = open();
    let id = ask(&first, "lisp_session_start", json!({}))["session_id"].as_str().unwrap().to_owned();
    assert_eq!(
        ask(&first, "lisp_session_eval", json!({"session_id": id, "program": "(def x 5)"}))["status"],
        "ok"
    );
    let ended = server.raw("DELETE", "/mcp", &[auth, ("mcp-session-id", &first)], b"");
    assert_eq!(ended.status, 204);
    let second = open();
    let told = ask(&second, "lisp_session_eval", json!({"session_id": id, "program": "x"}));
    assert_eq!(told["result"], "user=> 5");
    // Another server on the store knows both sessions, and so does this one when it is started anew.
    let replica = self::server(&place, 10);
    let message =
        crate::support::call(8, "lisp_session_eval", json!({"session_id": id, "program": "(inc x)"}));
    let answer = replica.post(&[auth, ("mcp-session-id", &second)], &message);
    assert_eq!(answer.json()["result"]["structuredContent"]["result"], "user=> 6", "{answer:?}");
    assert_eq!(replica.raw("DELETE", "/mcp", &[auth, ("mcp-session-id", &second)], b"").status, 204);
    assert_eq!(replica.post(&[auth, ("mcp-session-id", &second)], &message).status, 404, "it is over there");
    drop((server, replica));
    // With another token there is nothing.
    let mut command = ptc(&["--http", "127.0.0.1:0", "--sessions", "--response-profile", "structured"]);
    let other = "fedcba9876543210fedcba9876543210";
    command.env("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", other).env("PTC_RUNNER_MCP_STORE", &place);
    let server = HttpServer::spawn(command);
    let bearer = format!("Bearer {other}");
    let auth = ("authorization", bearer.as_str());
    let session = server.open(&[auth]);
    let message = crate::support::call(1, "lisp_session_eval", json!({"session_id": id, "program": "x"}));
    let answer = server.post(&[auth, ("mcp-session-id", &session)], &message);
    assert_eq!(answer.json()["result"]["structuredContent"]["reason"], "session_owner_mismatch");
}

#[test]
fn a_server_that_is_stopped_gives_its_sessions_back_at_once() {
    let folder = Folder::new();
    let place = folder.path().join("store.db").display().to_string();
    let mut first = server(&place, 10);
    let told = insist(first.address, "lisp_session_start", &json!({}));
    let id = told["session_id"].as_str().unwrap().to_owned();
    let to = first.address;
    let slow = json!({"session_id": id, "program": crate::support::SLOW});
    let running = std::thread::spawn(move || call(to, "lisp_session_eval", slow));
    eventually("the program runs", || {
        let seen = insist(to, "lisp_session_inspect", &json!({"session_id": id}));
        seen["session"]["eval_status"] == "running"
    });
    first.terminate();
    first.end();
    let _ = running.join();
    let second = server(&place, 10);
    let told = call(second.address, "lisp_session_eval", json!({"session_id": id, "program": "1"}));
    let told = told.expect("an answer");
    assert_eq!(told["result"], "user=> 1", "{told}");
}

#[test]
fn a_store_that_is_gone_is_told_to_clients_and_operators() {
    let Some(postgres) = Postgres::start("gone") else { return };
    let server = server(&postgres.place("shared"), 10);
    let told = insist(server.address, "lisp_session_start", &json!({}));
    let id = told["session_id"].as_str().unwrap().to_owned();
    let program = json!({"session_id": id, "program": "(def x 1)"});
    assert_eq!(insist(server.address, "lisp_session_eval", &program)["status"], "ok");
    drop(postgres);
    let told = insist(server.address, "lisp_session_eval", &program);
    assert_eq!(told["reason"], "sessions_unavailable", "{told}");
    assert!(!told.to_string().contains("postgres"), "where it is, is nothing for clients: {told}");
    server.logged("what is wrong with the store", |line| {
        line.contains("sessions cannot be stored") && line.contains("postgres://")
    });
}

#[test]
fn r9_1_3_sessions_unavailable_over_stdio_and_http_when_the_store_is_broken() {
    let folder = Folder::new();
    let place = folder.path().join("store.db").display().to_string();
    let http = server(&place, 10);
    let mut stdio = StdioServer::ready(&["--sessions", "--store", &place]);
    let started = stdio.call(1, "lisp_session_start", json!({}));
    let id = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    let breaking = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('DROP TABLE ptc_sessions')";
    let broke = std::process::Command::new("python3").args(["-c", breaking, &place]).status().unwrap();
    assert!(broke.success());
    let program = json!({"session_id": id, "program": "1"});
    for (number, (tool, arguments)) in
        [("lisp_session_start", json!({})), ("lisp_session_eval", program)].into_iter().enumerate()
    {
        let told = stdio.call(2 + number as i64, tool, arguments.clone());
        assert_eq!(told["isError"], true, "{told}");
        assert_eq!(told["structuredContent"]["reason"], "sessions_unavailable", "{tool}: {told}");
        let told = insist(http.address, tool, &arguments);
        assert_eq!(told["reason"], "sessions_unavailable", "{tool}: {told}");
        assert!(!told.to_string().contains("store.db"), "where it is, is nothing for clients: {told}");
    }
}
