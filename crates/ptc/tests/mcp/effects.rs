//! Requests under a key, with the server killed at every step of their program: the world is changed at most once by
//! each write, and every write without an answer is reported.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::fleet::Random;
use crate::keys::{Replica, everywhere, keyed, put, value};
use crate::support::{HttpServer, StdioServer, TOKEN, eventually, insist, reason, text};
use crate::world::World;

/// How many times servers are killed; more with `PTC_KILLS`.
fn kills() -> usize {
    std::env::var("PTC_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

const WRITES: usize = 5;
/// Points of the store (`PTC_STORE_HALT`, debug builds only) that a server passes before it is killed, at most.
const POINTS: u64 = 6;

const PROGRAM: &str = "(mapv (fn [i]
  (let [r (tool/call {:server \"world\" :tool \"put\" :args {:key (str data/run \"-\" i) :value i}})]
    (if (:ok r) :ok (:reason r))))
  [1 2 3 4 5])";

/// The server over the store of the world's folder.
fn server(world: &World) -> StdioServer {
    let flags = ["mcp", "--upstreams-config", "upstreams.json", "--store", "server.db"];
    let patient = ["--program-timeout-ms", "120000", "--upstream-call-timeout-ms", "100000"];
    let mut command = world.command(&[&flags[..], &patient].concat());
    // Servers are killed one after the other, and each waits for the lease of the one before.
    command.env("PTC_LEASE_MS", "300").env("PTC_STORE_HALT", world.folder.join("halt"));
    StdioServer::spawn(command)
}

fn request(run: &str) -> Json {
    json!({"name": "lisp_eval", "arguments": {"program": PROGRAM, "context": {"run": run}},
           "_meta": {"ptc/requestKey": format!("key of {run}")}})
}

/// Waits until something is so, or the request was answered. While a server that died is in the way, the request is
/// sent again.
fn until(server: &mut StdioServer, run: &str, what: &str, is_so: impl Fn() -> bool) {
    eventually(what, || match server.received() {
        Some(reply) if reason(&reply["result"]) == "busy" => {
            server.request(1, "tools/call", request(run));
            false
        }
        Some(_) => true,
        None => is_so(),
    });
}

/// Kills the server somewhere around a write.
fn kill_at(world: &World, run: &str, write: usize, moment: usize, random: &mut Random) {
    let (came, did) = (format!("came {run}-{write}"), format!("did {run}-{write}"));
    let noted = |server: &mut StdioServer, line: &str| until(server, run, line, || world.count(line) > 0);
    match moment {
        0 => world.hold(&[&came]),
        1 => world.hold(&[&did]),
        _ => world.hold(&[]),
    }
    let mut server = server(world);
    server.request(1, "tools/call", request(run));
    match moment {
        // It has the call and has done nothing; it will, when it is let go.
        0 => noted(&mut server, &came),
        // It has done it and not answered.
        1 => noted(&mut server, &did),
        // It has answered: the answer may be anywhere on its way into the journal.
        2 => noted(&mut server, &format!("said {run}-{write}")),
        // Somewhere between the answer before and this call.
        _ => {
            if write > 1 {
                noted(&mut server, &format!("said {run}-{}", write - 1));
            }
            world.write("halt", &random.below(POINTS).to_string());
            let reached = world.folder.join("halt.reached");
            until(&mut server, run, "a point of the store", || reached.exists());
        }
    }
    // Dropping it is kill -9.
    drop(server);
    for name in ["halt", "halt.reached"] {
        let _ = std::fs::remove_file(world.folder.join(name));
    }
    world.hold(&[]);
}

#[test]
fn killed_at_every_step_of_five_writes_none_is_made_twice_and_every_gap_is_told() {
    let world = World::start("killed-requests");
    let chains = kills().div_ceil(WRITES);
    let mut random = Random(1);
    for chain in 0..chains {
        let run = format!("r{chain}");
        for write in 1..=WRITES {
            kill_at(&world, &run, write, (chain + write) % 4, &mut random);
        }
        let mut last = server(&world);
        let told = text(&insist(|| last.ask(1, "tools/call", request(&run))["result"].clone()));
        let outcomes: Vec<&str> =
            told.trim_start_matches("user=> ").trim_matches(['[', ']']).split(' ').collect();
        assert_eq!(outcomes.len(), WRITES, "{told}");
        drop(last);

        let gaps = world.gaps(&["--store", "server.db"]);
        let open: BTreeSet<&str> = gaps.iter().filter_map(|gap| gap["args"]["key"].as_str()).collect();
        for (at, outcome) in outcomes.iter().enumerate() {
            let key = format!("{run}-{}", at + 1);
            let came = world.count(&format!("came {key}"));
            assert!(came <= 1, "{key} came {came} times");
            match *outcome {
                ":ok" => assert_eq!(world.count(&format!("did {key}")), 1, "{key}"),
                ":outcome_unknown" => {
                    assert!(open.contains(key.as_str()), "{key} is a gap that nobody tells of")
                }
                other => panic!("{key} gave {other}"),
            }
            assert_eq!(open.contains(key.as_str()), *outcome == ":outcome_unknown", "{key}: {outcome}");
        }
        // Sent once more, it is the reply that was kept.
        let mut again = server(&world);
        let reply = again.ask(1, "tools/call", request(&run));
        assert_eq!((&reply["result"]["_meta"]["ptc/recalled"], text(&reply["result"])), (&json!(true), told));
    }
    let mut last = server(&world);
    last.ask(1, "ping", json!({}));
    let gaps = world.gaps(&["--store", "server.db"]);
    let told: Vec<String> =
        last.whole_log().into_iter().filter(|line| line.contains("effect_outcome_unknown")).collect();
    let few = [format!("unknown: {} calls begun", gaps.len()), format!("(world/put {})", gaps.len())];
    match gaps.len() {
        0 => assert!(told.is_empty(), "{told:?}"),
        1 => assert!(told.len() == 1 && told[0].contains("unknown: 1 call begun"), "{told:?}"),
        _ => {
            assert!(told.len() == 1 && few.iter().all(|part| told[0].contains(part)), "one line: {told:?}");
        }
    }
    eprintln!("{} kills, {} writes, {} gaps", chains * WRITES, chains * WRITES, gaps.len());
}

#[test]
fn a_key_belongs_to_the_holder_of_a_token_over_all_connections_and_restarts() {
    let world = World::start("keys-over-http");
    let flags =
        ["mcp", "--http", "127.0.0.1:0", "--upstreams-config", "upstreams.json", "--store", "server.db"];
    let bearer = format!("Bearer {TOKEN}");
    let auth = ("authorization", bearer.as_str());
    let message = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": request("h")});
    let mut replies = Vec::new();
    for _ in 0..2 {
        let mut command = world.command(&flags);
        command.env("PTC_RUNNER_MCP_HTTP_AUTH_TOKEN", TOKEN);
        let server = HttpServer::spawn(command);
        for _ in 0..2 {
            let session = server.open(&[auth]);
            let answer = server.post(&[auth, ("mcp-session-id", &session)], &message);
            assert_eq!(answer.status, 200, "{answer:?}");
            replies.push(answer.json()["result"].clone());
        }
        // Dropping it is kill -9.
    }
    let recalled: Vec<bool> = replies.iter().map(|reply| reply["_meta"]["ptc/recalled"] == true).collect();
    assert_eq!(recalled, [false, true, true, true]);
    assert!(replies.iter().all(|reply| text(reply) == "user=> [:ok :ok :ok :ok :ok]"), "{replies:?}");
    assert_eq!(world.count("came h-1"), 1);
}

#[test]
fn a_call_that_a_server_is_making_is_marked_cannot_be_settled_and_is_made_by_no_other() {
    everywhere("settled", |world, place| {
        let (first, second) = (Replica::start(world, place), Replica::start(world, place));
        let request = keyed("k", "lisp_eval", json!({"program": put("a")}));
        world.hold(&["did a"]);
        let carried_out = first.send_and_leave(&request);
        world.wait_for("did a");
        let store = ["--store", place];
        // From its row on, which was there before the call was sent.
        let gaps = world.gaps(&store);
        assert_eq!(gaps[0]["under_way"], true, "{gaps:?}");
        let identity = gaps[0]["identity"].as_str().expect("text");
        let settle = ["effects", "settle", identity, "looked", "--did-not-happen"];
        let (code, _, err) = world.run(&[&settle[..], &store].concat());
        assert!(code == 2 && err.contains("world/put is under way"), "{err}");
        assert_eq!(reason(&second.send(&request)), "busy");
        world.hold(&[]);
        let reply = carried_out.join().expect("it ends").expect("it is answered");
        assert_eq!(value(&reply), "user=> :ok");
        assert_eq!(text(&second.send(&request)), text(&reply));
        assert_eq!((world.count("came a"), world.gaps(&store).len()), (1, 0));
    });
}
