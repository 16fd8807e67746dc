//! Programs that made calls, or were decided about, before a server was killed or its store failed: on two servers of one
//! store, in files and on PostgreSQL.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::keys::{Replica, everywhere, keyed, put, value};
use crate::retrying::request;
use crate::support::{eventually, reason, text, ticket};
use crate::world::World;

fn decision(tool: &str, ticket: &str) -> Json {
    request(tool, json!({"ticket": ticket}), None)
}

/// Names in a list, whatever came first within a millisecond.
fn sorted(names: &Json) -> Vec<&str> {
    let mut names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    names.sort_unstable();
    names
}

fn came(world: &World, key: &str) -> usize {
    world.count(&format!("came {key}"))
}

#[test]
fn a_call_that_was_made_is_not_made_again_although_the_configuration_asks_about_it_by_now() {
    everywhere("asked-by-now", |world, place| {
        let first = Replica::start(world, place);
        let program = format!("[{} {} {}]", put("a"), put("b"), put("c"));
        let asked = keyed("k", "lisp_eval", json!({"program": program}));
        world.hold(&["did b"]);
        first.send_and_leave(&asked);
        world.wait_for("did b");
        // Dropping it is kill -9.
        drop(first);
        world.hold(&[]);
        world.ask_about(json!("writes"));
        let second = Replica::start(world, place);
        let waits = second.insist(&asked);
        let pending = waits["structuredContent"]["pending"].as_array().map(Vec::as_slice);
        let keys: Vec<&Json> = pending.unwrap_or_default().iter().map(|call| &call["args"]["key"]).collect();
        assert_eq!(keys, [&json!("c")], "only the call that nobody made is asked about: {waits}");
        let over = second.send(&decision("lisp_approve", &ticket(&waits)));
        assert_eq!(value(&over), "user=> [:ok :outcome_unknown :ok]", "{over}");
        assert_eq!(["a", "b", "c"].map(|key| came(world, key)), [1, 1, 1]);
    });
}

#[test]
fn what_a_killed_server_had_approved_can_be_rejected_and_what_was_made_is_told() {
    everywhere("rejected-after-kill", |world, place| {
        world.ask_about(json!({"*": "never", "poke": "ask"}));
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let poke = r#"(:ok (tool/call {:server "world" :tool "poke" :args {:n "p"}}))"#;
        let program = format!("[{poke} {} {}]", put("a"), put("b"));
        let waiting = ticket(&first.call("lisp_eval", json!({"program": program})));
        world.hold(&["did b"]);
        first.send_and_leave(&decision("lisp_approve", &waiting));
        world.wait_for("did b");
        drop(first);
        world.hold(&[]);
        let over = second.insist(&decision("lisp_reject", &waiting));
        let told = &over["structuredContent"];
        assert!(text(&over).contains("the program is over"), "{over}");
        assert_eq!(sorted(&told["calls_made"]), ["world/poke", "world/put"], "{over}");
        assert_eq!(told["calls_unknown"], json!(["world/put"]), "{over}");
        for tool in ["lisp_approve", "lisp_reject"] {
            assert_eq!(reason(&second.send(&decision(tool, &waiting))), "ticket_used", "{tool}");
        }
        assert_eq!(["p", "a", "b"].map(|key| came(world, key)), [1, 1, 1]);
    });
}

#[test]
fn of_two_servers_that_approve_and_reject_what_a_killed_one_left_one_has_it() {
    everywhere("raced-after-kill", |world, place| {
        world.ask_about(json!("writes"));
        let (first, second, third) =
            (Replica::start(world, place), Replica::start(world, place), Replica::start(world, place));
        let program = format!("[{} {}]", put("a"), put("b"));
        let waiting = ticket(&first.call("lisp_eval", json!({"program": program})));
        world.hold(&["did a"]);
        first.send_and_leave(&decision("lisp_approve", &waiting));
        world.wait_for("did a");
        drop(first);
        world.hold(&[]);
        let (approve, reject) = (decision("lisp_approve", &waiting), decision("lisp_reject", &waiting));
        let (approved, rejected) = std::thread::scope(|scope| {
            let rejecting = scope.spawn(|| third.insist(&reject));
            (second.insist(&approve), rejecting.join().expect("it is answered"))
        });
        let reasons = [reason(&approved), reason(&rejected)];
        let goes_on = !approved["structuredContent"]["pending"].is_null();
        let is_over = text(&rejected).contains("the program is over");
        assert_eq!((goes_on, is_over), (!is_over, !goes_on), "one of both: {approved} {rejected}");
        assert_eq!(
            reasons.iter().filter(|reason| **reason == "ticket_used").count(),
            1,
            "{approved} {rejected}"
        );
        assert_eq!(["a", "b"].map(|key| came(world, key)), [1, 0]);
    });
}

/// Has the store refuse changes of sessions from now on, or not any more.
fn refuse_sessions(world: &World, place: &str, refuse: bool) {
    if place.starts_with("postgres") {
        let mut client = ::postgres::Client::connect(place, ::postgres::NoTls).expect("connects");
        let sql = match refuse {
            true => {
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
                 CREATE TRIGGER refuses BEFORE UPDATE OF version ON ptc_sessions FOR EACH ROW EXECUTE FUNCTION refuse();"
            }
            false => "DROP TRIGGER refuses ON ptc_sessions; DROP FUNCTION refuse();",
        };
        return client.batch_execute(sql).expect("it is changed");
    }
    let sql = match refuse {
        true => {
            "CREATE TRIGGER refuses BEFORE UPDATE OF version ON ptc_sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
        }
        false => "DROP TRIGGER refuses",
    };
    let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=60).executescript(sys.argv[2])";
    let file = world.folder.join(place);
    let changed = Command::new("python3").args(["-c", script]).arg(file).arg(sql).status();
    assert!(changed.expect("python3 starts").success());
}

#[test]
fn a_ticket_whose_session_cannot_be_stored_stays_open_with_its_decision_and_is_free_at_once() {
    everywhere("unkept-session", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let started = first.call("lisp_session_start", json!({}));
        let id = started["structuredContent"]["session_id"].as_str().expect("an id").to_owned();
        let in_session = |program: &str| json!({"session_id": id, "program": program});
        first.call("lisp_session_eval", in_session("(def n 1)"));
        let poke = r#"(tool/call {:server "world" :tool "poke" :args {:n "p"}})"#;
        let program = format!("(def n (inc n)) {poke} {} n", put("a"));
        let waiting = ticket(&first.call("lisp_session_eval", in_session(&program)));
        world.hold(&["did a"]);
        let deciding = first.send_and_leave(&decision("lisp_approve", &waiting));
        world.wait_for("did a");
        refuse_sessions(world, place, true);
        world.hold(&[]);
        let told = deciding.join().expect("it ends").expect("it is answered");
        assert_eq!(reason(&told), "sessions_unavailable", "{told}");
        let told = &told["structuredContent"];
        assert_eq!(sorted(&told["calls_made"]), ["world/poke", "world/put"], "{told}");
        assert!(
            told["feedback"].as_str().is_some_and(|text| text.contains("Decide the same again")),
            "{told}"
        );
        refuse_sessions(world, place, false);
        let (code, listed, _) = world.run(&["tickets", "--store", place, "--json"]);
        let listed: Json = serde_json::from_str(listed.trim()).unwrap_or_else(|_| panic!("{code}: {listed}"));
        assert_eq!(
            (&listed["going_on"], &listed["decided"]),
            (&json!(false), &json!([{"call": 1, "decision": "approve"}])),
            "{listed}"
        );
        // Not after a lease.
        let over = second.send(&decision("lisp_approve", &waiting));
        assert_eq!(value(&over), "user=> 2", "{over}");
        assert_eq!(value(&second.call("lisp_session_eval", in_session("n"))), "user=> 2");
        assert_eq!(["p", "a"].map(|key| came(world, key)), [1, 1]);
    });
}

#[test]
fn whoever_is_told_that_a_ticket_is_over_is_told_what_its_program_has_made() {
    everywhere("over-with-made", |world, place| {
        let poke = r#"(:ok (tool/call {:server "world" :tool "poke" :args {:n "p"}}))"#;
        let program = format!("[{} {poke}]", put("a"));
        let brief = Replica::with(world, place, &["--ticket-ttl-ms", "1"]);
        let expired = brief.call("lisp_eval", json!({"program": program}));
        let other = Replica::start(world, place);
        let session = other.start_session();
        let closed = other.call("lisp_session_eval", json!({"session_id": session, "program": program}));
        other.call("lisp_session_close", json!({"session_id": session}));
        for (waited, why) in [(expired, "ticket_expired"), (closed, "ticket_stale")] {
            let id = json!({"id": waited["structuredContent"]["id"]});
            eventually("it is over", || reason(&other.call("lisp_result", id.clone())) == why);
            for (replica, asked) in [
                (&other, request("lisp_result", id.clone(), None)),
                (&brief, decision("lisp_approve", &ticket(&waited))),
                (&other, decision("lisp_reject", &ticket(&waited))),
            ] {
                let told = replica.send(&asked);
                assert_eq!(reason(&told), why, "{told}");
                let object = &told["structuredContent"];
                assert_eq!(object["calls_made"], json!(["world/put"]), "{told}");
                assert_eq!(object["calls_unknown"], json!([]), "{told}");
                assert!(text(&told).contains("makes those calls again"), "{told}");
            }
        }
        assert_eq!(["a", "p"].map(|key| came(world, key)), [2, 0], "once for each program");
    });
}
