//! Programs that wait for approval on two servers that share one PostgreSQL, and stores that fail under a server.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::keys::{self, put, value};
use crate::postgres::Server as Postgres;
use crate::support::{HttpServer, StdioServer, eventually, found, insist, reason, text, ticket};
use crate::world::World;

/// A world whose writes are asked about, and keys for tickets that servers share.
fn world(name: &str) -> World {
    let world = World::start(name);
    world.ask_about("writes".into());
    world.share_keys();
    world
}

/// One of the servers on a store, and a client of it.
struct Replica {
    server: HttpServer,
    session: String,
}

impl Replica {
    fn start(world: &World, place: &str) -> Replica {
        let flags = ["mcp", "--http", "127.0.0.1:0", "--sessions", "--upstreams-config", "upstreams.json"];
        let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
        let kept = ["--store", place, "--ticket-keys", "keys", "--approval-by", "model"];
        let mut command = world.command(&[&flags[..], &patient, &kept].concat());
        command.env("PTC_STORE_HALT", world.folder.join("halt"));
        let server = HttpServer::spawn(command);
        let session = server.open(&[]);
        Replica { server, session }
    }

    fn call(&self, tool: &str, arguments: Json) -> Json {
        self.server.call(&self.session, 7, tool, arguments)
    }

    /// Runs a program that waits; its ticket.
    fn park(&self, key: &str) -> String {
        ticket(&self.call("lisp_eval", json!({"program": put(key)})))
    }

    /// Approves without waiting for the answer, which never comes if the server dies.
    fn approve_and_leave(&self, id: i64, ticket: &str) {
        let message = crate::support::call(id, "lisp_approve", json!({"ticket": ticket}));
        let (address, session) = (self.server.address, self.session.clone());
        std::thread::spawn(move || {
            let headers = [
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
                ("mcp-session-id", &session),
            ];
            let body = message.to_string();
            let _ = crate::support::try_exchange(address, "POST", "/mcp", &headers, body.as_bytes());
        });
    }
}

/// Waits until a server stands at the point where it is to stop.
fn until_halted(world: &World) {
    eventually("it stops", || world.folder.join("halt.reached").exists());
}

#[test]
fn two_replicas_on_postgresql_decide_once_and_go_on_for_each_other() {
    let Some(postgres) = Postgres::start("tickets") else { return };
    let world = world("replicas");
    let place = postgres.place("shared");
    let (first, second) = (Replica::start(&world, &place), Replica::start(&world, &place));

    let ticket = first.park("there");
    assert_eq!(text(&second.call("lisp_approve", json!({"ticket": ticket}))), "user=> :ok");
    assert_eq!(reason(&first.call("lisp_approve", json!({"ticket": ticket}))), "ticket_used");

    for round in 0..6 {
        let key = format!("both{round}");
        let ticket = [&first, &second][round % 2].park(&key);
        let decide = |replica: &Replica| replica.call("lisp_approve", json!({"ticket": ticket}));
        let results: Vec<Json> = std::thread::scope(|scope| {
            let one = scope.spawn(|| decide(&first));
            let other = decide(&second);
            vec![one.join().unwrap(), other]
        });
        let won = results.iter().filter(|result| text(result) == "user=> :ok").count();
        let lost = results.iter().filter(|result| ["ticket_busy", "ticket_used"].contains(&reason(result)));
        assert_eq!((won, lost.count()), (1, 1), "{results:?}");
        assert_eq!(world.count(&format!("came {key}")), 1);
    }

    // Killed when it has the ticket and has done nothing, and killed while the world works.
    let (taken, sent) = (first.park("taken"), first.park("sent"));
    world.hold(&["did sent"]);
    first.approve_and_leave(8, &sent);
    world.wait_for("did sent");
    world.write("halt", "1");
    first.approve_and_leave(9, &taken);
    until_halted(&world);
    // Dropping it is kill -9.
    drop(first);
    let _ = std::fs::remove_file(world.folder.join("halt"));
    world.hold(&[]);
    for (ticket, key, ending) in [(&taken, "taken", ":ok"), (&sent, "sent", ":outcome_unknown")] {
        let result = insist(|| second.call("lisp_approve", json!({"ticket": ticket})));
        assert_eq!(text(&result), format!("user=> {ending}"), "{key}");
        assert_eq!(world.count(&format!("came {key}")), 1, "{key}");
    }
    let gaps = world.gaps(&["--store", &place]);
    assert_eq!(gaps.iter().map(|gap| gap["args"]["key"].as_str().unwrap()).collect::<Vec<_>>(), ["sent"]);
}

#[test]
fn a_postgresql_that_goes_away_and_comes_back_loses_nothing_and_nothing_is_sent_meanwhile() {
    let Some(mut postgres) = Postgres::start("away") else { return };
    let world = world("away");
    let replica = Replica::start(&world, &postgres.place("shared"));
    let started = replica.call("lisp_session_start", json!({}));
    let id = started["structuredContent"]["session_id"].as_str().unwrap();
    let in_session =
        |program: &str| replica.call("lisp_session_eval", json!({"session_id": id, "program": program}));
    assert_eq!(value(&in_session("(def x 1) x")), "user=> 1");
    let ticket = replica.park("k");
    let ready = || {
        let answer = replica.server.raw("GET", "/ready", &[], b"");
        (answer.status, answer.json()["status"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(ready(), (200, "ready".to_owned()));
    postgres.stop();
    eventually("the server is not ready", || ready() == (503, "store_unavailable".to_owned()));
    for (result, expected) in [
        (replica.call("lisp_approve", json!({"ticket": ticket})), "store_unavailable"),
        (replica.call("lisp_eval", json!({"program": put("lost")})), "store_unavailable"),
        (in_session("(def x 2) x"), "sessions_unavailable"),
    ] {
        assert_eq!(reason(&result), expected, "{result}");
        assert!(!result.to_string().contains("postgres"), "where it is, is nothing for clients: {result}");
    }
    let message = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "lisp_eval", "arguments": {"program": "1"}, "_meta": {"ptc/requestKey": "k"}}});
    let keyed = || replica.server.post(&[("mcp-session-id", &replica.session)], &message).json();
    assert_eq!(reason(&keyed()["result"]), "store_unavailable");
    assert_eq!(value(&replica.call("lisp_eval", json!({"program": "(+ 1 2)"}))), "user=> 3", "it lives on");
    assert_eq!(world.read("log"), "", "nothing was sent");
    postgres.again();
    eventually("the server is ready again", || ready() == (200, "ready".to_owned()));
    assert_eq!(value(&replica.call("lisp_approve", json!({"ticket": ticket}))), "user=> :ok");
    assert_eq!(value(&in_session("(inc x)")), "user=> 2");
    assert_eq!(value(&keyed()["result"]), "user=> 1");
    assert_eq!((world.count("came k"), world.count("came lost")), (1, 0));
}

/// Who was told one reply must not be told another when the request comes again.
#[test]
fn a_reply_that_the_store_did_not_keep_is_not_told_so_a_key_has_one() {
    let Some(mut postgres) = Postgres::start("unkept") else { return };
    let world = keys::world("unkept");
    let place = postgres.place("shared");
    let (first, second) = (keys::Replica::start(&world, &place), keys::Replica::start(&world, &place));
    let request = keys::keyed("k", "lisp_eval", json!({"program": keys::put("a")}));
    world.hold(&["did a"]);
    let left = first.send_and_leave(&request);
    world.wait_for("did a");
    postgres.stop();
    world.hold(&[]);
    let told = left.join().unwrap().expect("it is answered");
    assert_eq!(reason(&told), "outcome_unknown", "{told}");
    assert!(text(&told).contains("same key"), "{told}");
    postgres.again();
    let reply = found("the store answers again", || {
        Some(second.send(&request)).filter(|reply| !["busy", "store_unavailable"].contains(&reason(reply)))
    });
    // The answer of the call could not be written down either.
    assert_eq!([&reply, &first.send(&request)].map(value), ["user=> :outcome_unknown"; 2]);
    assert_eq!(world.count("came a"), 1);
}

/// Has a store fail at the end of requests, and work again. What was held of it is free then, long before any lease is over.
fn given_back(world: &World, place: &str, mut works: impl FnMut(&keys::Replica, bool)) {
    const HOUR: &str = "3600000";
    let start = || keys::Replica::start_holding(world, place, HOUR);
    let (first, second) = (start(), start());
    let id = first.start_session();
    let in_session = |program: &str| json!({"session_id": id, "program": program});
    let poke = r#"(def asked 1) (let [r (tool/call {:server "world" :tool "poke" :args {:n 7}})] (if (:ok r) :ok (:reason r)))"#;
    let cases = [
        ("s", "lisp_session_eval", in_session(&format!("(def n 1) {}", put("s")))),
        ("e", "lisp_eval", json!({"program": put("e")})),
        ("7", "lisp_approve", Json::Null),
    ];
    for (key, tool, given) in cases {
        let given = match given {
            Json::Null => {
                // The store may not be back for everybody yet.
                let waits = found("it waits", || {
                    Some(first.call("lisp_session_eval", in_session(poke)))
                        .filter(|told| reason(told) != "sessions_unavailable")
                });
                json!({"ticket": ticket(&waits)})
            }
            given => given,
        };
        let request = keys::keyed(key, tool, given);
        let left = first.send_until(world, &format!("did {key}"), &request);
        works(&first, false);
        world.hold(&[]);
        let told = left.join().unwrap().expect("it is answered");
        assert!(told["isError"] == true && !is_busy(&told), "{key}: {told}");
        // The answer of the call could not be written down either, and whoever sends the request again is told the same.
        if tool != "lisp_eval" {
            let told = &told["structuredContent"];
            assert_eq!(
                (told["calls_unknown"].as_array().map(Vec::len), &told["calls_made"]),
                (Some(1), &Json::Null),
                "{told}"
            );
        }
        works(&first, true);
        let reply = found("it is given back", || Some(second.send(&request)).filter(|reply| !is_busy(reply)));
        assert_eq!(value(&reply), "user=> :outcome_unknown", "{key}: {reply}");
        assert_eq!(world.count(&format!("came {key}")), 1, "{key}");
    }
    assert_eq!(value(&second.call("lisp_session_eval", in_session("[n asked]"))), "user=> [1 1]");
}

/// Whether a request was not carried out, because of others or because the store is not back yet.
fn is_busy(result: &Json) -> bool {
    let away = ["store_unavailable", "sessions_unavailable"];
    // A program that ended is told of its calls.
    let made = &result["structuredContent"]["calls_unknown"];
    ["busy", "session_busy", "ticket_busy"].contains(&reason(result))
        || (away.contains(&reason(result)) && made.is_null())
}

#[test]
fn what_a_full_disk_did_not_keep_is_given_back_as_soon_as_there_is_room() {
    let world = keys::world("given-back-file");
    given_back(&world, "server.db", |server, works| {
        server.limit_files(if works { "unlimited" } else { "4096" })
    });
}

#[test]
fn what_a_database_that_was_away_did_not_keep_is_given_back_as_soon_as_it_is_there() {
    let Some(mut postgres) = Postgres::start("given-back") else { return };
    let world = keys::world("given-back-postgres");
    let place = postgres.place("shared");
    given_back(&world, &place, |_, works| if works { postgres.again() } else { postgres.stop() });
}

/// A session of a server, with the programs that run in it.
struct Session<'r> {
    replica: &'r Replica,
    id: String,
}

impl Session<'_> {
    fn start(replica: &Replica) -> Session<'_> {
        let started = replica.call("lisp_session_start", json!({}));
        let id = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
        Session { replica, id }
    }

    fn eval(&self, program: &str) -> Json {
        self.replica.call("lisp_session_eval", json!({"session_id": self.id, "program": program}))
    }
}

/// Lets servers go on that stop at a point.
fn no_halt(world: &World) {
    for name in ["halt", "halt.reached"] {
        let _ = std::fs::remove_file(world.folder.join(name));
    }
}

/// Holds a rule on a file and on PostgreSQL, each in a world of its own.
fn everywhere(name: &str, holds: impl Fn(&World, &str, bool)) {
    holds(&world(&format!("{name}-file")), "server.db", true);
    if let Some(postgres) = Postgres::start(name) {
        holds(&world(&format!("{name}-postgres")), &postgres.place("shared"), false);
    }
}

/// What a server was doing when its commit did not come back, and what another finds.
#[test]
fn a_commit_that_nobody_acknowledges_is_told_as_open_and_may_be_there_or_not() {
    for (at, points, then) in [("before", "2", "user=> 1"), ("after", "3", "user=> 2")] {
        everywhere(&format!("unacknowledged-{at}"), |world, place, is_file| {
            let first = Replica::start(world, place);
            let session = Session::start(&first);
            assert_eq!(value(&session.eval("(def n 1) n")), "user=> 1");
            // The session is taken, and then stored: the server stops right before that is final, or right after.
            world.write("halt", points);
            let told = session.eval("(def n (inc n)) n");
            assert!(world.folder.join("halt.reached").exists(), "{at}");
            assert_eq!(reason(&told), "outcome_unknown", "{at}: {told}");
            let feedback = told["structuredContent"]["feedback"].as_str().unwrap();
            assert!(feedback.contains("same key") && feedback.contains("lisp_session_inspect"), "{feedback}");
            // A file has one writer, and it hangs; a database has others.
            if at == "before" && is_file {
                let answer = first.server.raw("GET", "/ready", &[], b"");
                assert_eq!((answer.status, &answer.json()["status"]), (503, &json!("store_unavailable")));
            }
            let id = session.id.clone();
            drop(first);
            no_halt(world);
            let second = Replica::start(world, place);
            let session = Session { replica: &second, id };
            eventually("the lease of the first is over", || {
                let found = session.eval("n");
                assert!(["none", "session_busy"].contains(&reason(&found)), "{at}: {found}");
                reason(&found) == "none" && value(&found) == then
            });
        });
    }
}

/// A file has one writer at a time, whichever process it is in; a database goes on.
#[test]
fn a_server_that_stops_within_a_change_keeps_others_of_a_file_from_writing_and_they_say_so() {
    everywhere("stopped", |world, place, is_file| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let (stopped, other) = (Session::start(&first), Session::start(&second));
        assert_eq!(value(&other.eval("(def n 1) n")), "user=> 1");
        world.write("halt", "2");
        let _ = stopped.eval("(def n 1)");
        until_halted(world);
        no_halt(world);
        let told = other.eval("(def n (inc n)) n");
        match is_file {
            true => assert_eq!(reason(&told), "sessions_unavailable", "{told}"),
            false => assert_eq!(value(&told), "user=> 2", "{told}"),
        }
        drop(first);
        let then = if is_file { "user=> 1" } else { "user=> 2" };
        eventually("it goes on when the other is gone", || value(&other.eval("n")) == then);
    });
}

#[test]
fn a_disk_without_room_is_told_and_nothing_that_was_answered_is_lost() {
    let world = world("full");
    let kept = ["mcp", "--sessions", "--upstreams-config", "upstreams.json", "--store", "server.db"];
    let flags = [&kept[..], &["--approval-by", "model"]].concat();
    let mut server = StdioServer::spawn(world.command(&flags));
    let started = server.call(1, "lisp_session_start", json!({}));
    let id = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
    let waits = server.call(2, "lisp_eval", json!({"program": put("k")}));
    let ticket = waits["structuredContent"]["ticket"].as_str().unwrap().to_owned();
    let counts =
        json!({"session_id": id, "program": "(def n (inc (count trail))) (def trail (conj trail n)) n"});
    server.call(3, "lisp_session_eval", json!({"session_id": id, "program": "(def trail [])"}));
    assert_eq!(value(&server.call(4, "lisp_session_eval", counts.clone())), "user=> 1");
    let pid = server.pid().to_string();
    let room = |bytes: &str| {
        let limit = format!("--fsize={bytes}:");
        assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap().success());
    };
    room("4096");
    for id in 5..8 {
        let refused = server.call(id, "lisp_session_eval", counts.clone());
        assert_eq!(reason(&refused), "sessions_unavailable", "{refused}");
    }
    let approve = json!({"ticket": ticket});
    assert_eq!(reason(&server.call(8, "lisp_approve", approve.clone())), "store_unavailable");
    assert_eq!(reason(&server.call(9, "lisp_eval", json!({"program": put("lost")}))), "store_unavailable");
    assert_eq!(server.eval(10, "(+ 1 2)"), "user=> 3", "it lives on");
    assert_eq!(world.read("log"), "", "nothing was sent");
    room("unlimited");
    assert_eq!(value(&server.call(11, "lisp_approve", approve)), "user=> :ok");
    assert_eq!(value(&server.call(12, "lisp_session_eval", counts.clone())), "user=> 2");
    drop(server);
    let mut next = StdioServer::spawn(world.command(&flags));
    assert_eq!(value(&next.call(1, "lisp_session_eval", counts)), "user=> 3");
    assert_eq!((world.count("came k"), world.count("came lost")), (1, 0));
}
