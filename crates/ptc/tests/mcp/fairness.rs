//! Two owners at one server over HTTP: what one of them runs keeps no call of the other from being answered.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::support::{Folder, HttpServer, SLOW, call, eventually, text};

const GREEDY: &str = "greedy-greedy-greedy-greedy-greed";
const OTHER: &str = "other-other-other-other-other-oth";
const CALLS: usize = 40;

/// A server with two tokens, on which each owner runs two programs at a time.
fn server(folder: &Folder, more: &[&str]) -> HttpServer {
    let entry = |id: &str, token: &str| json!({"id": id, "token_literal": token, "roles": ["all"]});
    let tokens = json!({"tokens": [entry("greedy", GREEDY), entry("other", OTHER)]});
    let policy = json!({
        "default_role": "all",
        "outer_policy": {"mcp_tools": ["lisp_session_start", "lisp_session_eval"]},
        "roles": {"all": {}},
    });
    let tokens = folder.file("tokens.json", &tokens.to_string());
    let policy = folder.file("policy.json", &policy.to_string());
    let flags = [
        "--sessions",
        "--http-role-tokens",
        &tokens,
        "--session-roles",
        &policy,
        "--http-metrics",
        "--max-concurrent-calls",
        "2",
        "--http-max-in-flight-per-session",
        "8",
        "--program-timeout-ms",
        "600000",
    ];
    HttpServer::start(&[&flags, more].concat())
}

/// A connection to a server, with a token.
struct Client<'s> {
    server: &'s HttpServer,
    bearer: String,
    connection: String,
}

impl Client<'_> {
    fn of<'s>(server: &'s HttpServer, token: &str) -> Client<'s> {
        let bearer = format!("Bearer {token}");
        let connection = server.open(&[("authorization", &bearer)]);
        Client { server, bearer, connection }
    }

    fn call(&self, id: i64, tool: &str, arguments: Json) -> Json {
        let headers = [("authorization", self.bearer.as_str()), ("mcp-session-id", &self.connection)];
        self.server.post(&headers, &call(id, tool, arguments)).json()["result"].clone()
    }

    /// The id of a new session for programs.
    fn session(&self) -> String {
        let started = self.call(0, "lisp_session_start", json!({}));
        let id = started["structuredContent"]["session_id"].as_str();
        id.unwrap_or_else(|| panic!("no session: {started}")).to_owned()
    }

    /// Sends the beginning of a body of so many bytes, and nothing more.
    fn unfinished(&self, sent: usize, bytes: usize) -> TcpStream {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\ncontent-type: application/json\r\n\
             content-length: {bytes}\r\n\r\n{}",
            self.server.address,
            self.bearer,
            " ".repeat(sent)
        );
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        // A connection that made room for another is closed while it sends.
        let _ = stream.write_all(head.as_bytes());
        stream
    }

    /// The status of the answer to a body of that many bytes with nothing in it.
    fn status(&self, bytes: usize) -> u16 {
        let headers = [("authorization", self.bearer.as_str()), ("content-type", "application/json")];
        self.server.raw("POST", "/mcp", &headers, &vec![b' '; bytes]).status
    }

    /// How many programs of all owners run, and how many calls wait for their turn.
    fn load(&self) -> (Option<u64>, Option<u64>) {
        let metrics = self.server.raw("GET", "/metrics", &[("authorization", &self.bearer)], b"").body;
        let gauge = |name: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        };
        (gauge("ptc_calls_in_flight"), gauge("ptc_calls_queued"))
    }

    /// Sends a program, and waits for no answer.
    fn begin(&self, id: i64) -> TcpStream {
        let arguments = json!({"program": SLOW, "session_id": self.session()});
        let body = call(id, "lisp_session_eval", arguments).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\nmcp-session-id: {}\r\n\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
             content-length: {}\r\n\r\n{body}",
            self.server.address,
            self.bearer,
            self.connection,
            body.len()
        );
        let mut stream = TcpStream::connect(self.server.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }
}

/// The median time of calls, one after the other; all of them are answered.
fn median(client: &Client<'_>, session: &str) -> Duration {
    let program = "(reduce + (map (fn [i] (* i i)) (range 500)))";
    let one = |id| {
        let began = Instant::now();
        let arguments = json!({"program": program, "session_id": session});
        let reply = client.call(id, "lisp_session_eval", arguments);
        assert!(text(&reply).contains("41541750"), "{reply}");
        began.elapsed()
    };
    let mut times: Vec<Duration> = (1..).take(CALLS).map(one).collect();
    times.sort();
    times[CALLS / 2]
}

#[test]
fn six_endless_loops_of_one_token_leave_all_calls_of_another_answered() {
    let folder = Folder::new();
    let server = server(&folder, &[]);
    let (greedy, other) = (Client::of(&server, GREEDY), Client::of(&server, OTHER));
    let session = other.session();
    let alone = median(&other, &session);
    let _loops: Vec<TcpStream> = (1..=6).map(|id| greedy.begin(id)).collect();
    let running = || other.load() == (Some(2), Some(4));
    eventually("two loops run and four wait", running);
    let beside = median(&other, &session);
    let ratio = beside.as_secs_f64() / alone.as_secs_f64();
    eprintln!(
        "over HTTP: {CALLS} of {CALLS} answered, median {alone:?} alone, {beside:?} beside loops: {ratio:.1} x"
    );
    assert!(running(), "the loops go on");
}

#[test]
fn unfinished_requests_of_one_token_leave_connections_and_room_to_another() {
    const SMALL: usize = 64 << 10;
    let most = (2 * SMALL).to_string();
    let flags = ["--http-max-connections-per-address", "8", "--http-max-body-bytes", &most];
    let (folder, mut held) = (Folder::new(), Vec::new());
    let server = server(&folder, &[&flags[..], &["--http-max-bodies-bytes", &most]].concat());
    let (greedy, other) = (Client::of(&server, GREEDY), Client::of(&server, OTHER));
    eventually("the room of one owner is full", || {
        held = vec![greedy.unfinished(2 * SMALL - 1, 2 * SMALL), greedy.unfinished(2 * SMALL - 1, 2 * SMALL)];
        (0..20).any(|_| greedy.status(SMALL + 3) == 503)
    });
    assert_ne!(other.status(SMALL + 3), 503, "there is room for the other");
    for _ in 0..3 {
        held.extend((0..16).map(|_| greedy.unfinished(1, SMALL)));
        let session = other.session();
        let reply = other.call(1, "lisp_session_eval", json!({"program": "(+ 1 2)", "session_id": session}));
        assert!(text(&reply).contains('3'), "{reply}");
    }
}

#[test]
fn a_server_is_ready_until_no_owner_may_call() {
    let folder = Folder::new();
    let server = server(&folder, &["--max-queued-calls", "1"]);
    let (greedy, other) = (Client::of(&server, GREEDY), Client::of(&server, OTHER));
    let ready = || {
        let reply = server.raw("GET", "/ready", &[], b"");
        (reply.status, reply.json()["status"].as_str().unwrap_or_default().to_owned())
    };
    let _loops: Vec<TcpStream> = (1..=3).map(|id| greedy.begin(id)).collect();
    eventually("the queue of one owner is full", || other.load() == (Some(2), Some(1)));
    let busy = greedy.call(9, "lisp_session_eval", json!({"program": "1", "session_id": greedy.session()}));
    assert!(text(&busy).starts_with("busy"), "{busy}");
    assert_eq!(ready(), (200, "ready".to_owned()), "the other may call");
    let others: Vec<TcpStream> = (1..=3).map(|id| other.begin(id)).collect();
    eventually("both queues are full", || other.load() == (Some(4), Some(2)));
    assert_eq!(ready(), (503, "saturated".to_owned()));
    drop(others);
    eventually("the other may call again", || ready().0 == 200);
}
