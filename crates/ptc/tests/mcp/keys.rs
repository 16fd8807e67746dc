//! Requests under a key that reach two servers of one store, in files and on PostgreSQL: one of them carries a request
//! out, and its reply is the one for all.

use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value as Json, json};

use crate::postgres::Server as Postgres;
use crate::support::{self, HttpServer, eventually, insist, reason, text, ticket, try_exchange};
use crate::world::World;

/// One of the servers on a store, and a client of it.
pub struct Replica {
    server: HttpServer,
    session: String,
}

impl Replica {
    pub fn start(world: &World, place: &str) -> Replica {
        Replica::with(world, place, &[])
    }

    /// One with more options.
    pub fn with(world: &World, place: &str, more: &[&str]) -> Replica {
        Replica::holding(world, place, "2000", more)
    }

    /// One that holds what it holds for so many milliseconds.
    pub fn start_holding(world: &World, place: &str, lease_ms: &str) -> Replica {
        Replica::holding(world, place, lease_ms, &[])
    }

    fn holding(world: &World, place: &str, lease_ms: &str, more: &[&str]) -> Replica {
        let flags = ["mcp", "--http", "127.0.0.1:0", "--sessions", "--upstreams-config", "upstreams.json"];
        let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
        let kept = ["--store", place, "--ticket-keys", "keys", "--approval-by", "model", "--http-metrics"];
        let mut command = world.command(&[&flags[..], &patient, &kept, more].concat());
        command.env("PTC_LEASE_MS", lease_ms);
        let server = HttpServer::spawn(command);
        let session = server.open(&[]);
        Replica { server, session }
    }

    pub fn call(&self, tool: &str, arguments: Json) -> Json {
        self.server.call(&self.session, 7, tool, arguments)
    }

    pub fn send(&self, request: &Json) -> Json {
        post(self.server.address, &self.session, request).expect("it is answered")
    }

    /// Starts a session; its id.
    pub fn start_session(&self) -> String {
        let started = self.call("lisp_session_start", json!({}));
        started["structuredContent"]["session_id"].as_str().expect("an id").to_owned()
    }

    /// Sends a request, and returns when the world has come so far with it, where it stays.
    pub fn send_until(&self, world: &World, moment: &str, request: &Json) -> JoinHandle<Option<Json>> {
        world.hold(&[moment]);
        let left = self.send_and_leave(request);
        world.wait_for(moment);
        left
    }

    /// Checks that a request has this reply from now on.
    fn recalls(&self, request: &Json, reply: &Json) {
        let again = self.send(request);
        assert_eq!((text(&again), is_recalled(&again)), (text(reply), true), "{request}");
    }

    /// Sends a request without waiting for the answer, which never comes if the server dies.
    pub fn send_and_leave(&self, request: &Json) -> JoinHandle<Option<Json>> {
        let (address, session, request) = (self.server.address, self.session.clone(), request.clone());
        std::thread::spawn(move || post(address, &session, &request))
    }

    /// Sends a request, and hangs up when something has happened. Returns when the server knows that nobody waits.
    fn hang_up(&self, request: &Json, happened: impl FnOnce()) {
        let waiting = sent(self.server.address, &self.session, request).expect("it is sent");
        happened();
        drop(waiting);
        eventually("the server knows that nobody waits", || {
            let page = self.server.raw("GET", "/metrics", &[], b"").body;
            page.lines().any(|line| line.starts_with("ptc_http_in_flight{") && line.ends_with(" 0"))
        });
    }

    /// Sends a request until nobody who is gone is in the way.
    pub fn insist(&self, request: &Json) -> Json {
        insist(|| self.send(request))
    }

    /// How large files may become that it writes.
    pub fn limit_files(&self, bytes: &str) {
        let (pid, limit) = (self.server.pid().to_string(), format!("--fsize={bytes}:"));
        let limited = Command::new("prlimit").args(["--pid", &pid, &limit]).status();
        assert!(limited.expect("prlimit runs").success());
    }

    /// Sends its process a signal.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.server.pid().to_string()]).status();
        assert!(sent.expect("kill runs").success());
    }
}

fn headers(session: &str) -> [(&str, &str); 3] {
    [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-session-id", session),
    ]
}

/// A request that is sent again is another one to the protocol; only its key is the same.
fn numbered(request: &Json) -> Vec<u8> {
    static IDS: AtomicU64 = AtomicU64::new(100);
    let mut request = request.clone();
    request["id"] = IDS.fetch_add(1, Ordering::Relaxed).into();
    request.to_string().into_bytes()
}

fn post(address: SocketAddr, session: &str, request: &Json) -> Option<Json> {
    let answer = try_exchange(address, "POST", "/mcp", &headers(session), &numbered(request))?;
    Some(answer.json()["result"].clone())
}

fn sent(address: SocketAddr, session: &str, request: &Json) -> Option<TcpStream> {
    support::send(address, "POST", "/mcp", &headers(session), &numbered(request))
}

/// A request under a key.
pub fn keyed(key: &str, tool: &str, arguments: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
           "params": {"name": tool, "arguments": arguments, "_meta": {"ptc/requestKey": key}}})
}

/// A write whose outcome is the value.
pub fn put(key: &str) -> String {
    format!(
        "(let [r (tool/call {{:server \"world\" :tool \"put\" :args {{:key \"{key}\" :value 1}}}})] \
         (if (:ok r) :ok (:reason r)))"
    )
}

/// The value of a program, without what it stored.
pub fn value(result: &Json) -> String {
    text(result).lines().next().unwrap_or_default().to_owned()
}

fn is_recalled(result: &Json) -> bool {
    result["_meta"]["ptc/recalled"] == true
}

/// Holds a rule on a file and on PostgreSQL, each in a world of its own.
pub fn everywhere(name: &str, holds: impl Fn(&World, &str)) {
    holds(&world(&format!("{name}-file")), "server.db");
    if let Some(postgres) = Postgres::start(name) {
        holds(&world(&format!("{name}-postgres")), &postgres.place("shared"));
    }
}

/// A world in which somebody is asked about `poke`, and keys for tickets that servers share.
pub fn world(name: &str) -> World {
    let world = World::start(name);
    world.ask_about(json!({"*": "never", "poke": "ask"}));
    world.share_keys();
    world
}

/// Writes whose arguments come from a read, from the clock and from random numbers, and a last one.
const ORDERS: &str = r#"
(defn put [key]
  (let [r (tool/call {:server "world" :tool "put" :args {:key key :value 1}})] (if (:ok r) :ok (:reason r))))
(let [n (get-in (tool/call {:server "world" :tool "get" :args {:key "n"}}) [:value :value])]
  [(put (str "order-" n)) (put (str "time-" (java.time.Instant/now))) (put (str "random-" (rand-int 1000000000)))
   (put "last")])"#;

/// How many writes of each kind there were, whatever their arguments were.
fn orders(world: &World) -> [usize; 4] {
    let log = world.read("log");
    ["order-", "time-", "random-", "last"]
        .map(|kind| log.lines().filter(|line| line.starts_with(&format!("came {kind}"))).count())
}

#[test]
fn a_request_that_reaches_a_second_server_is_one_run_with_one_reply() {
    everywhere("keys", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let id = first.start_session();
        let in_session = |program: &str| json!({"session_id": id, "program": program});
        first.call("lisp_session_eval", in_session("(def n 0)"));
        let cases = [
            ("lisp_session_eval", "s", in_session(&format!("(def n (inc n)) {}", put("s")))),
            ("lisp_eval", "e", json!({"program": format!("[{} {}]", put("e"), put("e2"))})),
        ];
        for (tool, key, arguments) in cases {
            let request = keyed(key, tool, arguments);
            let carried_out = first.send_until(world, &format!("did {key}"), &request);
            for other in [&second, &first, &second] {
                let busy = other.send(&request);
                assert_eq!(reason(&busy), "busy", "{tool}: {busy}");
            }
            world.hold(&[]);
            let reply = carried_out.join().expect("it ends").expect("it is answered");
            assert!(value(&reply).contains(":ok") && !is_recalled(&reply), "{tool}: {reply}");
            [&second, &first].into_iter().for_each(|other| other.recalls(&request, &reply));
            assert_eq!(world.count(&format!("came {key}")), 1, "{tool}");
        }
        for replica in [&second, &first] {
            assert_eq!(value(&replica.call("lisp_session_eval", in_session("n"))), "user=> 1");
        }
    });
}

#[test]
fn a_request_whose_client_hangs_up_goes_on_and_has_one_reply() {
    everywhere("keys-hung-up", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let id = first.start_session();
        let in_session =
            json!({"session_id": id, "program": format!("(def n 1) [{} {}]", put("s"), put("s2"))});
        let alone = json!({"program": format!("[{} {}]", put("e"), put("e2"))});
        for (tool, key, arguments) in [("lisp_eval", "e", alone), ("lisp_session_eval", "s", in_session)] {
            let request = keyed(key, tool, arguments);
            let did = format!("did {key}");
            world.hold(&[&did]);
            first.hang_up(&request, || world.wait_for(&did));
            for other in [&second, &first] {
                assert_eq!(reason(&other.send(&request)), "busy", "{tool}");
            }
            world.hold(&[]);
            let reply = second.insist(&request);
            assert_eq!(value(&reply), "user=> [:ok :ok]", "{tool}: {reply}");
            first.recalls(&request, &reply);
            assert_eq!(world.count(&format!("came {key}")), 1, "{tool}");
        }
        assert_eq!(world.gaps(&["--store", place]), Vec::<Json>::new());
    });
}

#[test]
fn a_request_goes_on_when_its_client_ends_its_session() {
    let world = world("keys-session-ended");
    let (first, second) = (Replica::start(&world, "server.db"), Replica::start(&world, "server.db"));
    let request = keyed("k", "lisp_eval", json!({"program": format!("[{} {}]", put("a"), put("b"))}));
    let left = first.send_until(&world, "did a", &request);
    let ended = first.server.raw("DELETE", "/mcp", &[("mcp-session-id", &first.session)], b"");
    assert_eq!(ended.status, 204, "{ended:?}");
    let told = left.join().expect("it ends").expect("it is answered");
    assert_eq!(reason(&told), "cancelled", "nobody waits for it: {told}");
    assert_eq!(reason(&second.send(&request)), "busy");
    world.hold(&[]);
    assert_eq!(value(&second.insist(&request)), "user=> [:ok :ok]");
    assert_eq!((world.count("came a"), world.count("came b")), (1, 1));
}

#[test]
fn a_request_that_its_client_takes_back_is_stopped_and_goes_on_when_it_comes_again() {
    everywhere("keys-taken-back", |world, place| {
        let server = Replica::start(world, place);
        let request = keyed("k", "lisp_eval", json!({"program": format!("[{} {}]", put("a"), put("b"))}));
        world.hold(&["did a"]);
        let (address, session) = (server.server.address, server.session.clone());
        let body = request.to_string().into_bytes();
        let sent = std::thread::spawn(move || {
            try_exchange(address, "POST", "/mcp", &headers(&session), &body).expect("it is answered")
        });
        world.wait_for("did a");
        let back = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                          "params": {"requestId": request["id"]}});
        assert_eq!(server.server.post(&[("mcp-session-id", &server.session)], &back).status, 202);
        let told = sent.join().expect("it ends").json()["result"].clone();
        assert_eq!(reason(&told), "cancelled", "{told}");
        world.hold(&[]);
        let reply = server.insist(&request);
        assert_eq!(value(&reply), "user=> [:outcome_unknown :ok]", "{reply}");
        assert_eq!((world.count("came a"), world.count("came b")), (1, 1));
    });
}

#[test]
fn a_request_whose_server_died_is_taken_over_and_has_one_reply_from_then_on() {
    everywhere("keys-killed", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let request = keyed("k", "lisp_eval", json!({"program": format!("[{} {}]", put("a"), put("b"))}));
        let left = first.send_until(world, "did b", &request);
        // Dropping it is kill -9.
        drop(first);
        assert_eq!(left.join().expect("it ends"), None);
        world.hold(&[]);
        let reply = second.insist(&request);
        assert_eq!(value(&reply), "user=> [:ok :outcome_unknown]", "{reply}");
        Replica::start(world, place).recalls(&request, &reply);
        assert_eq!((world.count("came a"), world.count("came b")), (1, 1));
    });
}

/// Sends a request with the writes `a` and `b` to a server that stands still in the first of them until another one has
/// carried the request out. What it is told when it goes on.
fn replaced(world: &World, [first, second]: [&Replica; 2], request: &Json) -> Json {
    let left = first.send_until(world, "did a", request);
    first.signal("-STOP");
    let reply = second.insist(request);
    first.signal("-CONT");
    let told = left.join().expect("it ends").expect("it is answered");
    world.hold(&[]);
    assert_eq!(value(&reply), "user=> [:outcome_unknown :ok]", "{reply}");
    assert_eq!(reason(&told), "busy", "{told}");
    [first, second].into_iter().for_each(|replica| replica.recalls(request, &reply));
    assert_eq!((world.count("came a"), world.count("came b")), (1, 1));
    told
}

#[test]
fn a_server_that_was_replaced_is_told_and_keeps_nothing() {
    everywhere("keys-stopped", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let request = keyed("k", "lisp_eval", json!({"program": format!("[{} {}]", put("a"), put("b"))}));
        replaced(world, [&first, &second], &request);
    });
}

#[test]
fn a_server_that_was_replaced_in_a_session_is_told_that_too() {
    everywhere("keys-session-stopped", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let id = first.start_session();
        let in_session = |program: &str| json!({"session_id": id, "program": program});
        first.call("lisp_session_eval", in_session("(def n 0)"));
        let program = format!("(def n (inc n)) [{} {}]", put("a"), put("b"));
        let request = keyed("k", "lisp_session_eval", in_session(&program));
        let told = replaced(world, [&first, &second], &request);
        assert!(text(&told).contains("under the same key"), "{told}");
        for replica in [&first, &second] {
            assert_eq!(value(&replica.call("lisp_session_eval", in_session("n"))), "user=> 1");
        }
    });
}

/// Has a server carry out [`ORDERS`] until it dies in the last of them, and another one go on in a world that has changed.
fn taken_over(world: &World, first: Replica, second: &Replica, request: &Json) {
    world.write("state.json", r#"{"n": 0}"#);
    let left = first.send_until(world, "did last", request);
    drop(first);
    let _ = left.join();
    world.hold(&[]);
    world.write("state.json", r#"{"n": 1}"#);
    let reply = second.insist(request);
    assert_eq!(value(&reply), "user=> [:ok :ok :ok :outcome_unknown]", "{reply}");
    assert_eq!((orders(world), world.count("came order-0")), ([1; 4], 1), "{}", world.read("log"));
    second.recalls(request, &reply);
}

#[test]
fn a_request_that_is_taken_over_sees_what_it_saw_and_makes_the_calls_that_it_made() {
    everywhere("keys-reads", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        taken_over(world, first, &second, &keyed("k", "lisp_eval", json!({"program": ORDERS})));
    });
}

#[test]
fn a_ticket_that_is_taken_over_sees_what_it_saw_and_makes_the_calls_that_it_made() {
    everywhere("tickets-reads", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let program = format!("(tool/call {{:server \"world\" :tool \"poke\" :args {{:n 7}}}}) {ORDERS}");
        let waiting = ticket(&first.call("lisp_eval", json!({"program": program})));
        let approve = keyed("approve", "lisp_approve", json!({"ticket": waiting}));
        taken_over(world, first, &second, &approve);
        assert_eq!(world.count("came 7"), 1, "{}", world.read("log"));
    });
}

#[test]
fn a_tool_that_is_not_what_was_shown_is_not_called_and_can_be_rejected() {
    everywhere("tickets-shown", |world, place| {
        let first = Replica::start(world, place);
        let program = r#"(:reason (tool/call {:server "world" :tool "poke" :args {:n 7}}))"#;
        let park = || ticket(&first.call("lisp_eval", json!({"program": program})));
        let (defined, configured) = (park(), park());
        drop(first);
        world.write("changed", "");
        let second = Replica::start(world, place);
        let refused = second.call("lisp_approve", json!({"ticket": defined}));
        assert_eq!(reason(&refused), "ticket_stale", "{refused}");
        assert!(text(&refused).contains("world/poke"), "{refused}");
        let rejected = second.call("lisp_reject", json!({"ticket": defined}));
        assert_eq!(value(&rejected), "user=> :approval_rejected");
        drop(second);
        std::fs::remove_file(world.folder.join("changed")).expect("it goes");
        world.ask_about(json!({"*": "never", "poke": "ask", "get": "ask"}));
        let third = Replica::start(world, place);
        assert_eq!(reason(&third.call("lisp_approve", json!({"ticket": configured}))), "ticket_stale");
        assert_eq!(world.count("came 7"), 0);
    });
}
