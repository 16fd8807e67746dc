//! What operators rely on: the journal is forgotten in the time that they set, and damage of a log is found before anything
//! is repeated.

use serde_json::{Value as Json, json};

use crate::keys::{Replica, everywhere, keyed, put, value};
use crate::support::{HttpServer, StdioServer, eventually, reason};
use crate::world::World;

/// A server on a store, with these flags besides.
fn flags(place: &str) -> [&str; 7] {
    ["mcp", "--upstreams-config", "upstreams.json", "--store", place, "--ticket-keys", "keys"]
}

fn server(world: &World, place: &str, more: &[&str]) -> StdioServer {
    StdioServer::spawn(world.command(&[&flags(place)[..], more].concat()))
}

/// One that keeps replies for a moment only, which nobody can ask for with an option.
fn forgetful_server(world: &World, place: &str) -> StdioServer {
    let mut command = world.command(&flags(place));
    command.env("PTC_RETENTION_MS", "1");
    StdioServer::spawn(command)
}

#[test]
fn a_time_shorter_than_a_retry_may_take_is_refused_at_start() {
    let world = crate::keys::world("short-retention");
    let (code, out, err) =
        world.run(&[&flags("server.db")[..], &["--journal-retention-ms", "1500"]].concat());
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    assert!(err.contains("--journal-retention-ms must be at least 600000 (ten minutes), got: 1500"), "{err}");
}

/// A request that was killed in its last write, and that comes again when its time is over long ago.
#[test]
fn a_request_without_a_reply_is_taken_up_as_a_whole_however_short_replies_are_kept() {
    everywhere("retention-open", |world, place| {
        let program = format!("[{} {} {}]", put("a"), put("b"), put("c"));
        let first = Replica::start(world, place);
        world.hold(&["did c"]);
        let left = first.send_and_leave(&keyed("k", "lisp_eval", json!({"program": program})));
        world.wait_for("did c");
        // Dropping it is kill -9.
        drop(first);
        let _ = left.join();
        world.hold(&[]);
        let again =
            json!({"name": "lisp_eval", "arguments": {"program": program}, "_meta": {"ptc/requestKey": "k"}});
        let mut forgetful = forgetful_server(world, place);
        let reply =
            crate::support::insist(|| forgetful.ask(1, "tools/call", again.clone())["result"].clone());
        assert_eq!(value(&reply), "user=> [:ok :ok :outcome_unknown]", "{reply}");
        assert_eq!(["came a", "came b", "came c"].map(|line| world.count(line)), [1, 1, 1]);
    });
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
        let mut forgetful = forgetful_server(world, place);
        eventually("the key is free again", || {
            let reply: Json = forgetful.ask(1, "tools/call", another.clone())["result"].clone();
            reason(&reply) == "none" && value(&reply) == "user=> 3"
        });
        let gaps = world.gaps(&["--store", place]);
        assert_eq!(gaps.iter().map(|gap| &gap["args"]["key"]).collect::<Vec<_>>(), ["b"]);
    });
}

/// Requests under a key, each with a write that is made once.
fn requests(server: &mut StdioServer, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let key = format!("k{number}");
        let request = json!({"name": "lisp_eval", "arguments": {"program": put(&key)},
                             "_meta": {"ptc/requestKey": key}});
        assert_eq!(value(&server.ask(1, "tools/call", request)["result"]), "user=> :ok");
    }
}

/// Changes a byte of the log behind the tables and before the last commits.
fn damage(world: &World) {
    let log = world.folder.join("server.db-wal");
    let mut bytes = std::fs::read(&log).expect("the log of a killed process");
    let at = bytes.len() / 8 * 7;
    bytes[at] ^= 1;
    std::fs::write(&log, bytes).expect("changed");
}

#[test]
fn a_server_whose_log_lost_what_was_acknowledged_does_not_start_unless_somebody_accepts_that() {
    let world = crate::keys::world("damaged-server-log");
    let mut first = server(&world, "server.db", &[]);
    requests(&mut first, 0..8);
    // Dropping it is kill -9.
    drop(first);
    damage(&world);
    let before = std::fs::read(world.folder.join("server.db-wal")).expect("the log");
    let refused =
        ["mcp", "--upstreams-config", "upstreams.json", "--store", "server.db", "--ticket-keys", "keys"];
    let (code, out, err) = world.run(&refused);
    assert_eq!((code, out.as_str()), (2, ""), "{err}");
    for part in [
        "of its log is broken",
        "acknowledged",
        "restore a backup",
        "ptc store check server.db --accept-loss",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    assert_eq!(
        std::fs::read(world.folder.join("server.db-wal")).expect("the log"),
        before,
        "it is left as it is"
    );
    let (code, out, err) = world.run(&["store", "check", "server.db", "--accept-loss"]);
    assert_eq!(code, 0, "{out}{err}");
    let mut second = server(&world, "server.db", &[]);
    assert_eq!(second.eval(1, "(+ 1 2)"), "user=> 3");
}

/// A disk writes parts of a log in any order until it is asked to write all of them. What it was not asked for was told to
/// nobody.
#[test]
fn a_server_whose_log_was_torn_by_a_loss_of_power_starts_and_says_so() {
    let world = crate::keys::world("torn-server-log");
    let mut first = server(&world, "server.db", &[]);
    requests(&mut first, 0..2);
    let noted = world.folder.join("server.db-synced");
    let synced = std::fs::read(&noted).expect("how far the log is on the disk");
    requests(&mut first, 2..16);
    drop(first);
    // As if the disk had not been asked since.
    std::fs::write(&noted, synced).expect("changed");
    damage(&world);
    for ending in ["", "-wal", "-synced"] {
        let file = |name: &str| world.folder.join(format!("{name}{ending}"));
        std::fs::copy(file("server.db"), file("looked-at.db")).expect("copied");
    }
    let mut second = server(&world, "server.db", &[]);
    second.log.wait_for("that its log is torn", |line| {
        line.contains("store_log_torn") && line.contains("nothing else is lost")
    });
    assert_eq!(second.eval(1, "(+ 1 2)"), "user=> 3");
    let (code, out, err) = world.run(&["store", "check", "looked-at.db"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("as after a loss of power") && out.ends_with("nothing is wrong\n"), "{out}");
}

#[test]
fn a_server_whose_file_is_gone_is_not_ready_makes_no_calls_and_says_so_once() {
    let world = crate::keys::world("file-gone");
    let flags = ["mcp", "--http", "127.0.0.1:0", "--http-metrics", "--upstreams-config", "upstreams.json"];
    let kept = ["--store", "server.db", "--ticket-keys", "keys", "--http-instance-label", "i"];
    let mut server = HttpServer::spawn(world.command(&[&flags[..], &kept].concat()));
    let session = server.open(&[]);
    let made = |key: &str| value(&server.call(&session, 7, "lisp_eval", json!({"program": put(key)})));
    let ready = || server.raw("GET", "/ready", &[], b"").status;
    let is_up = || server.raw("GET", "/metrics", &[], b"").body.contains("ptc_store_up{instance=\"i\"} 1");
    let file = |name: &str| world.folder.join(name);
    assert_eq!((made("a").as_str(), ready(), is_up()), ("user=> :ok", 200, true));
    std::fs::rename(file("server.db"), file("away.db")).expect("it moves");
    eventually("the store is away", || ready() == 503);
    // What can be read does not bring it back, however often somebody asks.
    assert!((0..20).all(|_| !is_up() && ready() == 503));
    assert_ne!(made("b"), "user=> :ok");
    std::fs::rename(file("away.db"), file("server.db")).expect("it moves");
    eventually("the store is back", || ready() == 200);
    assert_eq!((made("c").as_str(), is_up()), ("user=> :ok", true));
    for ending in ["", "-wal", "-shm", "-synced"] {
        std::fs::remove_file(file(&format!("server.db{ending}"))).expect("it goes");
    }
    eventually("the store is away for good", || ready() == 503);
    assert_ne!(made("d"), "user=> :ok");
    assert_eq!(["a", "b", "c", "d"].map(|key| world.count(&format!("came {key}"))), [1, 0, 1, 0]);
    assert!(!file("server.db").exists(), "no other store is made in its place");
    let log = server.whole_log();
    let told = |event: &str| log.iter().filter(|line| line.contains(event)).count();
    assert_eq!((told("store_down"), told("store_up")), (2, 1), "{log:?}");
    assert!(log.iter().any(|line| line.contains("its file is gone")), "{log:?}");
    assert!(told("tickets cannot be swept") <= 2, "once for each time that it was away: {log:?}");
}

#[test]
fn an_answer_that_cannot_be_written_down_is_told_with_its_server_tool_and_identity() {
    let world = crate::keys::world("answer-lost");
    let flags = ["mcp", "--http", "127.0.0.1:0", "--upstreams-config", "upstreams.json"];
    let kept = ["--store", "server.db", "--ticket-keys", "keys"];
    let mut server = HttpServer::spawn(world.command(&[&flags[..], &kept].concat()));
    let session = server.open(&[]);
    let file = |name: &str| world.folder.join(name);
    world.hold(&["did a"]);
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.call(&session, 7, "lisp_eval", json!({"program": put("a")})));
        world.wait_for("did a");
        std::fs::rename(file("server.db"), file("away.db")).expect("it moves");
        world.hold(&[]);
        call.join().expect("it is answered");
    });
    std::fs::rename(file("away.db"), file("server.db")).expect("it moves");
    let log = server.whole_log();
    let lost = log.iter().find(|line| line.contains("cannot be written down, it counts as unknown"));
    let line: Json = serde_json::from_str(lost.expect("it is told")).expect("JSON");
    assert_eq!((&line["event"], &line["level"]), (&json!("upstream"), &json!("error")), "{line}");
    let open = world.gaps(&["--store", "server.db"]);
    assert_eq!(open.len(), 1, "{open:?}");
    let (told, open) = (&line["fields"], &open[0]);
    assert_eq!(
        [&told["upstream"], &told["tool"], &told["identity"]],
        [&open["server"], &open["tool"], &open["identity"]],
        "{line}"
    );
}
