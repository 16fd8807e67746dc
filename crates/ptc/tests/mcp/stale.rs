//! Requests under a key that cannot go on as they began, on two servers of one store, in files and on PostgreSQL: they send
//! nothing, tell what they did, and have one reply.

use serde_json::{Value as Json, json};

use crate::keys::{Replica, everywhere, keyed, put, value};
use crate::support::{call, reason, text, ticket};
use crate::world::World;

/// Lease of servers that are to learn soon what others did, in milliseconds.
const SOON: &str = "900";
/// The same of those that learn it from what they change themselves.
const NEVER: &str = "3600000";

/// A program that makes two writes, with two tools.
fn two_writes([a, b]: [&str; 2]) -> String {
    let b = format!("(tool/call {{:server \"world\" :tool \"put_once\" :args {{:key \"{b}\" :value 1}}}})");
    format!("(def n 1) [{} (let [r {b}] (if (:ok r) :ok (:reason r)))]", put(a))
}

/// Calls that an answer tells: those that were made, and those of which nobody knows.
fn told(answer: &Json) -> [Vec<&str>; 2] {
    ["calls_made", "calls_unknown"].map(|field| {
        let names = answer["structuredContent"][field].as_array();
        names.into_iter().flatten().filter_map(Json::as_str).collect()
    })
}

const ONE_OPEN: [&[&str]; 2] = [&["world/put"], &["world/put_once"]];
const BOTH_MADE: [&[&str]; 2] = [&["world/put", "world/put_once"], &[]];

/// Checks that a request has one reply on these servers from now on, which tells what it did, and that nothing is sent.
fn has_one_reply(world: &World, servers: &[&Replica], request: &Json, calls: [&[&str]; 2]) {
    let (first, others) = servers.split_first().expect("a server");
    let reply = first.insist(request);
    assert_eq!(reason(&reply), "request_stale", "{reply}");
    assert!(text(&reply).contains("its session is over"), "{reply}");
    assert_eq!(told(&reply), calls, "{reply}");
    for server in others.iter().chain([first]) {
        let again = server.send(request);
        assert_eq!((text(&again), again["_meta"]["ptc/recalled"] == true), (text(&reply), true), "{again}");
    }
    assert_eq!((world.count("came a"), world.count("came b")), (1, 1), "{}", world.read("log"));
}

fn in_session(id: &str) -> Json {
    keyed("k", "lisp_session_eval", json!({"session_id": id, "program": two_writes(["a", "b"])}))
}

fn close(server: &Replica, id: &str) {
    let closed = server.call("lisp_session_close", json!({"session_id": id}));
    assert_ne!(closed["isError"], true, "{closed}");
}

#[test]
fn a_request_whose_session_is_closed_while_it_runs_tells_what_it_did() {
    for (by, name) in [(0, "here"), (1, "elsewhere")] {
        everywhere(&format!("stale-closed-{name}"), |world, place| {
            let servers = [0, 1].map(|_| Replica::start_holding(world, place, SOON));
            let id = servers[0].start_session();
            let left = servers[0].send_until(world, "did b", &in_session(&id));
            close(&servers[by], &id);
            let answer = left.join().expect("it ends").expect("it is answered");
            assert_eq!(
                (reason(&answer), told(&answer)),
                ("session_not_found", ONE_OPEN.map(<[_]>::to_vec)),
                "{answer}"
            );
            world.hold(&[]);
            has_one_reply(world, &[&servers[1], &servers[0]], &in_session(&id), ONE_OPEN);
        });
    }
}

#[test]
fn a_request_whose_session_was_closed_before_its_end_is_kept_tells_what_it_did() {
    everywhere("stale-commit", |world, place| {
        let servers = [0, 1].map(|_| Replica::start_holding(world, place, NEVER));
        let id = servers[0].start_session();
        let left = servers[0].send_until(world, "did b", &in_session(&id));
        close(&servers[1], &id);
        world.hold(&[]);
        let answer = left.join().expect("it ends").expect("it is answered");
        assert_eq!(
            (reason(&answer), told(&answer)),
            ("session_closed", BOTH_MADE.map(<[_]>::to_vec)),
            "{answer}"
        );
        has_one_reply(world, &[&servers[1], &servers[0]], &in_session(&id), BOTH_MADE);
    });
}

#[test]
fn a_request_whose_session_ends_by_its_time_while_it_runs_tells_what_it_did() {
    everywhere("stale-time", |world, place| {
        let servers = [0, 1].map(|_| Replica::start_holding(world, place, SOON));
        let started = servers[0].call("lisp_session_start", json!({"ttl_ms": 4000}));
        let id = started["structuredContent"]["session_id"].as_str().expect("an id").to_owned();
        let left = servers[0].send_until(world, "did b", &in_session(&id));
        let answer = left.join().expect("it ends").expect("it is answered");
        assert_eq!(
            (reason(&answer), told(&answer)),
            ("session_not_found", ONE_OPEN.map(<[_]>::to_vec)),
            "{answer}"
        );
        world.hold(&[]);
        has_one_reply(world, &[&servers[1], &servers[0]], &in_session(&id), ONE_OPEN);
    });
}

#[test]
fn a_request_whose_server_died_and_whose_session_is_over_since_tells_what_it_did() {
    everywhere("stale-killed", |world, place| {
        let [first, second] = [0, 1].map(|_| Replica::start_holding(world, place, SOON));
        let id = first.start_session();
        let left = first.send_until(world, "did b", &in_session(&id));
        // Dropping it is kill -9.
        drop(first);
        assert_eq!(left.join().expect("it ends"), None);
        world.hold(&[]);
        close(&second, &id);
        let third = Replica::start_holding(world, place, SOON);
        has_one_reply(world, &[&second, &third], &in_session(&id), ONE_OPEN);
    });
}

/// A key without calls is free: nothing was done under it.
#[test]
fn a_request_that_changed_nothing_before_its_session_was_over_leaves_its_key_free() {
    everywhere("stale-free", |world, place| {
        let servers = [0, 1].map(|_| Replica::start_holding(world, place, SOON));
        let id = servers[0].start_session();
        close(&servers[1], &id);
        for server in &servers {
            assert_eq!(reason(&server.send(&in_session(&id))), "session_closed");
        }
        let other = servers[1].start_session();
        assert_eq!(value(&servers[1].insist(&in_session(&other))), "user=> [:ok :ok]");
    });
}

#[test]
fn a_server_that_may_not_go_on_decides_nothing_and_another_one_goes_on() {
    everywhere("stale-grants", |world, place| {
        let id = Replica::start(world, place).start_session();
        for (tool, key, [a, b]) in [("lisp_eval", "e", ["a", "b"]), ("lisp_session_eval", "s", ["c", "d"])] {
            let program = two_writes([a, b]);
            let given = match tool {
                "lisp_eval" => json!({"program": program}),
                _ => json!({"session_id": id, "program": program}),
            };
            let (first, request) = (Replica::start_holding(world, place, SOON), keyed(key, tool, given));
            let left = first.send_until(world, &format!("did {b}"), &request);
            drop(first);
            assert_eq!(left.join().expect("it ends"), None);
            world.hold(&[]);
            let reads = Replica::with(world, place, &["--aggregator-read-only"]);
            for _ in 0..2 {
                let refused = reads.insist(&request);
                assert_eq!(
                    (reason(&refused), told(&refused)),
                    ("request_stale", ONE_OPEN.map(<[_]>::to_vec)),
                    "{refused}"
                );
                assert!(text(&refused).contains("nothing is decided under its key"), "{refused}");
                assert!(text(&refused).contains("Send it again under the same key"), "{refused}");
                assert!(refused["_meta"]["ptc/recalled"].is_null(), "{refused}");
            }
            let writes = Replica::start(world, place);
            let reply = writes.insist(&request);
            assert_eq!(value(&reply), "user=> [:ok :outcome_unknown]", "{tool}: {reply}");
            let again = reads.send(&request);
            assert_eq!(
                (text(&again), again["_meta"]["ptc/recalled"] == true),
                (text(&reply), true),
                "{again}"
            );
            let came = [a, b].map(|key| world.count(&format!("came {key}")));
            assert_eq!(came, [1, 1], "{tool}");
        }
    });
}

/// Its session is there, as it was: nothing is over.
#[test]
fn a_program_that_went_on_and_lost_its_session_waits_with_its_decision() {
    everywhere("stale-ticket", |world, place| {
        let [first, second] = [0, 1].map(|_| Replica::start_holding(world, place, SOON));
        let id = first.start_session();
        let poke = r#"(let [r (tool/call {:server "world" :tool "poke" :args {:n 7}})] (if (:ok r) :ok (:reason r)))"#;
        let program = format!("(def n 1) [{poke} {}]", put("a"));
        let waiting = ticket(&first.call("lisp_session_eval", json!({"session_id": id, "program": program})));
        let approve = call(3, "lisp_approve", json!({"ticket": waiting}));
        let left = first.send_until(world, "did a", &approve);
        first.signal("-STOP");
        // It changes nothing, and takes the session.
        let failed = call(4, "lisp_session_eval", json!({"session_id": id, "program": "(fail 1)"}));
        assert_eq!(second.insist(&failed)["isError"], true);
        first.signal("-CONT");
        let told = left.join().expect("it ends").expect("it is answered");
        world.hold(&[]);
        assert_eq!(reason(&told), "session_busy", "{told}");
        assert!(text(&told).contains("Decide the same again in a moment"), "{told}");
        assert_eq!(value(&second.insist(&approve)), "user=> [:ok :outcome_unknown]");
        assert_eq!((world.count("came 7"), world.count("came a")), (1, 1), "{}", world.read("log"));
    });
}
