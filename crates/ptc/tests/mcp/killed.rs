//! Servers that are killed with -9 at every step of a decision, of a program in a session and of a request that comes
//! again: each write comes at most once, what is not known is told, and state and answer are kept together or not at all.
//!
//! Servers stop at points of their store (`PTC_STORE_HALT`, debug builds only): before and after each change.

use serde_json::{Value as Json, json};

use crate::keys::put;
use crate::support::{StdioServer, eventually, found, insist, text, ticket};
use crate::world::World;

/// Where a server is killed.
#[derive(Clone, Copy)]
enum At {
    /// After so many points of the store: two for each change, before and after it.
    Point(u64),
    /// When the world has come so far with the call.
    World(&'static str),
}
use At::{Point, World as In};

/// A world whose writes are asked about, or not.
fn world(name: &str, approval: &str) -> World {
    let world = World::start(name);
    world.ask_about(approval.into());
    world
}

fn server(world: &World) -> StdioServer {
    let flags = ["mcp", "--sessions", "--upstreams-config", "upstreams.json", "--store", "server.db"];
    let decides = ["--approval-by", "model"];
    let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
    let mut command = world.command(&[&flags[..], &patient, &decides].concat());
    command.env("PTC_STORE_HALT", world.folder.join("halt"));
    StdioServer::spawn(command)
}

/// Sends a request to a server and kills it where it is told to; false if it answered before.
fn killed(world: &World, mut server: StdioServer, params: &Json, key: &str, at: At) -> bool {
    let reached = world.folder.join("halt.reached");
    let line = match at {
        Point(points) => {
            world.write("halt", &points.to_string());
            String::new()
        }
        In(moment) => format!("{moment} {key}"),
    };
    world.hold(&[&line]);
    server.request(9, "tools/call", params.clone());
    let there = || reached.exists() || (!line.is_empty() && world.count(&line) > 0);
    eventually(&format!("{key} comes somewhere"), || there() || server.received().is_some());
    let there = there();
    // Dropping it is kill -9.
    drop(server);
    for name in ["halt", "halt.reached"] {
        let _ = std::fs::remove_file(world.folder.join(name));
    }
    world.hold(&[]);
    there
}

/// The result of a request when nobody who died is in the way.
fn told(server: &mut StdioServer, params: &Json) -> Json {
    insist(|| server.ask(1, "tools/call", params.clone())["result"].clone())
}

fn approve(ticket: &str) -> Json {
    json!({"name": "lisp_approve", "arguments": {"ticket": ticket}})
}

/// The keys of writes without an answer.
fn gaps(world: &World) -> Vec<String> {
    let gaps = world.gaps(&["--store", "server.db"]);
    gaps.iter().filter_map(|gap| gap["args"]["key"].as_str().map(str::to_owned)).collect()
}

#[test]
fn killed_at_every_step_of_a_decision_the_write_comes_at_most_once_and_gaps_are_told() {
    let world = world("killed-decisions", "writes");
    // Where, how the program ends after all, and how often the write came.
    let cases = [
        ("before the ticket is taken", Point(0), ":ok", 1),
        ("when it is taken", Point(1), ":ok", 1),
        ("before the call is begun", Point(2), ":ok", 1),
        ("when it is begun", Point(3), ":outcome_unknown", 0),
        ("when the world has the call", In("came"), ":outcome_unknown", 1),
        ("when the world has done it", In("did"), ":outcome_unknown", 1),
        ("before its answer is written down", Point(4), ":outcome_unknown", 1),
        ("when its answer is written down", Point(5), ":ok", 1),
        ("before the ticket is used up", Point(6), ":ok", 1),
        ("when it is used up and nobody is told", Point(7), "used", 1),
        ("not at all", Point(8), "used", 1),
    ];
    let mut waiting = Vec::new();
    for (number, (place, at, ending, came)) in cases.into_iter().enumerate() {
        let key = format!("k{number}");
        let mut server = server(&world);
        let asked = json!({"name": "lisp_eval", "arguments": {"program": put(&key)}});
        let ticket = ticket(&server.ask(1, "tools/call", asked)["result"]);
        let stopped = killed(&world, server, &approve(&ticket), &key, at);
        assert_eq!(stopped, place != "not at all", "{place}");
        waiting.push((place, key, ticket, ending, came));
    }
    let mut last = server(&world);
    for (place, key, ticket, ending, came) in &waiting {
        let result = told(&mut last, &approve(ticket));
        match *ending {
            "used" => assert_eq!(result["structuredContent"]["reason"], "ticket_used", "{place}: {result}"),
            ending => assert_eq!(text(&result), format!("user=> {ending}"), "{place}"),
        }
        let again = told(&mut last, &approve(ticket));
        assert_eq!(again["structuredContent"]["reason"], "ticket_used", "{place}: {again}");
        assert_eq!(world.count(&format!("came {key}")), *came, "{place}");
        assert_eq!(gaps(&world).contains(key), *ending == ":outcome_unknown", "{place}");
    }
}

#[test]
fn a_decision_that_was_made_before_the_kill_stays_made() {
    let world = world("killed-then-rejected", "writes");
    let mut first = server(&world);
    let asked = json!({"name": "lisp_eval", "arguments": {"program": put("k")}});
    let ticket = ticket(&first.ask(1, "tools/call", asked)["result"]);
    assert!(killed(&world, first, &approve(&ticket), "k", Point(1)));
    let mut second = server(&world);
    let edit =
        json!({"name": "lisp_edit", "arguments": {"ticket": ticket, "args": {"key": "other", "value": 1}}});
    let refused = found("it is told what was decided", || {
        let told = second.ask(1, "tools/call", edit.clone())["result"]["structuredContent"].clone();
        (!told["decided"].is_null()).then_some(told)
    });
    assert_eq!(
        (&refused["reason"], &refused["decided"]),
        (&json!("ticket_busy"), &json!([[1, "approve"]])),
        "{refused}"
    );
    assert_eq!(text(&told(&mut second, &approve(&ticket))), "user=> :ok");
    assert_eq!(world.count("came k"), 1);
}

/// What is sent last of a program in a session, and again.
#[derive(Clone, Copy, PartialEq)]
enum Sent {
    /// The program itself, under a key.
    Program,
    /// A decision about its call.
    Decision,
    /// The same under a key.
    KeyedDecision,
}

/// Runs a program in a session that counts its runs, kills the server at every point in turn, and sends the last
/// request again to another. Says at how many points it was killed.
fn killed_in_sessions(world: &World, sent: Sent) -> usize {
    let mut open = Vec::new();
    let mut point = 0;
    loop {
        let key = format!("k{point}");
        let mut server = server(world);
        let started = server.call(1, "lisp_session_start", json!({}));
        let id = started["structuredContent"]["session_id"].as_str().unwrap().to_owned();
        server.call(2, "lisp_session_eval", json!({"session_id": id, "program": "(def runs 0)"}));
        let program = format!("(def runs (inc runs)) {}", put(&key));
        let mut params = json!({"name": "lisp_session_eval", "arguments": {"session_id": id, "program": program},
                                "_meta": {"ptc/requestKey": format!("key of {key}")}});
        if sent != Sent::Program {
            params = approve(&ticket(&server.ask(3, "tools/call", params)["result"]));
        }
        if sent == Sent::KeyedDecision {
            params["_meta"] = json!({"ptc/requestKey": format!("decision about {key}")});
        }
        let stopped = killed(world, server, &params, &key, Point(point));
        open.push((key, id, params));
        if !stopped {
            break;
        }
        point += 1;
    }
    let mut last = server(world);
    for (key, id, params) in &open {
        let result = told(&mut last, params);
        let reason = result["structuredContent"]["reason"].as_str().unwrap_or("none");
        assert!(reason == "none" || (sent == Sent::Decision && reason == "ticket_used"), "{key}: {result}");
        if sent != Sent::Decision {
            assert_eq!(text(&told(&mut last, params)), text(&result), "{key} has one reply");
        }
        let runs = json!({"name": "lisp_session_eval", "arguments": {"session_id": id, "program": "runs"}});
        assert_eq!(text(&told(&mut last, &runs)), "user=> 1", "{key} was applied once");
        assert!(world.count(&format!("came {key}")) <= 1, "{key}");
        let known = text(&result).contains(":ok") || reason == "ticket_used";
        assert_eq!(gaps(world).contains(key), !known, "{key}: {result}");
    }
    usize::try_from(point).unwrap()
}

#[test]
fn a_request_in_a_session_that_is_sent_again_is_applied_once_wherever_the_server_was_killed() {
    let world = world("killed-session-requests", "never");
    // The request, the session, the call, its answer, and last the session together with the reply.
    assert_eq!(killed_in_sessions(&world, Sent::Program), 2 * 5);
}

#[test]
fn a_program_of_a_session_that_was_approved_is_applied_once_wherever_the_server_was_killed() {
    let world = world("killed-session-decisions", "writes");
    // The ticket, the session, the call, its answer, and last the session together with the end of the ticket.
    assert_eq!(killed_in_sessions(&world, Sent::Decision), 2 * 5);
}

#[test]
fn a_decision_under_a_key_has_one_reply_wherever_the_server_was_killed() {
    let world = world("killed-keyed-decisions", "writes");
    // The request, the ticket, the session, the call, its answer, and last the session, the end of the ticket and the reply.
    assert_eq!(killed_in_sessions(&world, Sent::KeyedDecision), 2 * 6);
}
