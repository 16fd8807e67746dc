//! What operators rely on: the journal is forgotten in the time that they set, and a log that is damaged is told.

use serde_json::{Value as Json, json};

use crate::keys::{Replica, everywhere, keyed, put, reason, value};
use crate::support::{StdioServer, eventually};
use crate::world::World;

/// A server on a store, with these flags besides.
fn server(world: &World, place: &str, more: &[&str]) -> StdioServer {
    let flags = ["mcp", "--upstreams-config", "upstreams.json", "--store", place, "--ticket-keys", "keys"];
    StdioServer::spawn(world.command(&[&flags[..], more].concat()))
}

#[test]
fn replies_are_forgotten_after_the_time_that_was_set_and_open_calls_are_not() {
    everywhere("retention", |world, place| {
        let first = Replica::start(world, place);
        let reply = first.send(&keyed("k", "lisp_eval", json!({"program": put("a")})));
        assert_eq!(value(&reply), "user=> :ok");
        world.hold(&["did b"]);
        let left = first.send_and_leave(&keyed("open", "lisp_eval", json!({"program": put("b")})));
        world.wait_for("did b");
        // Dropping it is kill -9.
        drop(first);
        let _ = left.join();
        world.hold(&[]);
        let another = json!({"name": "lisp_eval", "arguments": {"program": "(+ 1 2)"},
                             "_meta": {"ptc/requestKey": "k"}});
        let mut kept = server(world, place, &[]);
        let taken = kept.ask(1, "tools/call", another.clone())["result"].clone();
        assert_eq!(reason(&taken), "args_error", "the key belongs to its request: {taken}");
        drop(kept);
        let mut forgetful = server(world, place, &["--journal-retention-ms", "1"]);
        eventually("the key is free again", || {
            let reply: Json = forgetful.ask(1, "tools/call", another.clone())["result"].clone();
            reason(&reply) == "none" && value(&reply) == "user=> 3"
        });
        let gaps = world.gaps(&["--store", place]);
        assert_eq!(gaps.iter().map(|gap| &gap["args"]["key"]).collect::<Vec<_>>(), ["b"]);
    });
}

#[test]
fn a_server_whose_log_is_damaged_starts_and_says_so() {
    let world = crate::keys::world("damaged-server-log");
    let mut first = server(&world, "server.db", &[]);
    for number in 0..8 {
        let key = format!("k{number}");
        let request = json!({"name": "lisp_eval", "arguments": {"program": put(&key)},
                             "_meta": {"ptc/requestKey": key}});
        assert_eq!(value(&first.ask(1, "tools/call", request)["result"]), "user=> :ok");
    }
    // Dropping it is kill -9.
    drop(first);
    let log = world.folder.join("server.db-wal");
    let mut bytes = std::fs::read(&log).expect("the log of a killed process");
    // Behind the tables, and before the last commits.
    let at = bytes.len() / 4 * 3;
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).expect("changed");
    let mut second = server(&world, "server.db", &[]);
    second.log.wait_for("that its log is damaged", |line| line.contains("store_log_damaged"));
    assert_eq!(second.eval(1, "(+ 1 2)"), "user=> 3", "it serves all the same");
}
