//! Programs that wait and of which something is damaged in the store, in files and on PostgreSQL: nobody can go on with them, and
//! everybody who could decide about them can reject them.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::keys::{everywhere, put};
use crate::support::{HttpServer, reason, text, ticket};
use crate::world::World;

/// Bytes that are written over others: half of a value, one of another shape, and a program with another call.
const BYTES: [(&str, &str); 3] = [
    ("TORN", r#"{"n":"#),
    ("EMPTY", "{}"),
    (
        "OTHER",
        r#"{"program":"(x)","tool":"lisp_eval","pending":[{"call":1,"server":"world","tool":"poke","args":{"n":"q"}}]}"#,
    ),
];

/// Changes a store behind the back of its servers. The names of [`BYTES`] in the statement stand for them.
fn change(world: &World, place: &str, statement: &str) {
    let (open, is_file) = if place.starts_with("postgres") { ("'\\x", false) } else { ("x'", true) };
    let mut statement = statement.to_owned();
    for (name, bytes) in BYTES {
        let hex: String = bytes.bytes().map(|byte| format!("{byte:02x}")).collect();
        statement = statement.replace(name, &format!("{open}{hex}'"));
    }
    if !is_file {
        let mut client = ::postgres::Client::connect(place, ::postgres::NoTls).expect("connects");
        client.batch_execute(&statement).expect("it is changed");
        return;
    }
    let script = "import sqlite3, sys\nstore = sqlite3.connect(sys.argv[1], timeout=30)\n\
                  store.create_function('flipped', 1, lambda all: all[:-1] + bytes([all[-1] ^ 1]))\nstore.execute(sys.argv[2])\nstore.commit()";
    let changed =
        Command::new("python3").args(["-c", script, place, &statement]).current_dir(&world.folder).status();
    assert!(changed.expect("python3 runs").success(), "{statement}");
}

/// What may be damaged of a ticket, and how.
const DAMAGES: [(&str, &str); 8] = [
    ("about", "UPDATE ptc_tickets SET about = TORN WHERE id = 'ID'"),
    ("shape of about", "UPDATE ptc_tickets SET about = EMPTY WHERE id = 'ID'"),
    ("shape of decided", "UPDATE ptc_tickets SET decided = EMPTY, began_at = 1 WHERE id = 'ID'"),
    ("ended", "UPDATE ptc_tickets SET ended = TORN WHERE id = 'ID'"),
    ("decided", "UPDATE ptc_tickets SET decided = TORN, began_at = 1 WHERE id = 'ID'"),
    ("seal", "UPDATE ptc_ticket_seals SET sealed = TORN WHERE ticket = 'ID'"),
    ("one byte", "ONE BYTE"),
    ("no seal", "DELETE FROM ptc_ticket_seals WHERE ticket = 'ID'"),
];

/// Changes the last byte of what is sealed, in a file and on PostgreSQL: the id of its key stays whole.
const FLIPS: [&str; 2] = [
    "UPDATE ptc_ticket_seals SET sealed = flipped(sealed) WHERE ticket = 'ID'",
    "UPDATE ptc_ticket_seals SET sealed = set_byte(sealed, length(sealed) - 1, 255 - get_byte(sealed, length(sealed) - 1))
     WHERE ticket = 'ID'",
];

#[test]
fn a_ticket_that_is_damaged_can_be_rejected_by_its_owner_and_by_whoever_runs_the_server() {
    everywhere("damaged-tickets", |world, place| {
        let flags =
            ["mcp", "--http", "127.0.0.1:0", "--upstreams-config", "upstreams.json", "--store", place];
        let decides = ["--ticket-keys", "keys", "--approval-by", "model"];
        let mut server = HttpServer::spawn(world.command(&[&flags[..], &decides].concat()));
        let session = server.open(&[]);
        let call = |tool: &str, arguments: Json| server.call(&session, 7, tool, arguments);
        let poke = r#"(:ok (tool/call {:server "world" :tool "poke" :args {:n "p"}}))"#;
        let waits = |damage: &str| {
            let waits = call("lisp_eval", json!({"program": format!("[{} {poke}]", put("a"))}));
            let id = waits["structuredContent"]["id"].as_str().expect("it waits").to_owned();
            let flip = if place.starts_with("postgres") { FLIPS[1] } else { FLIPS[0] };
            change(world, place, &damage.replace("ONE BYTE", flip).replace("ID", &id));
            (id, ticket(&waits))
        };
        let listed = |id: &str| {
            let (_, lines, _) = world.run(&["tickets", "--json", "--store", place, "--ticket-keys", "keys"]);
            let lines = lines.lines().map(|line| serde_json::from_str::<Json>(line).expect("JSON"));
            lines.filter(|line| line["id"] == id).collect::<Vec<_>>()
        };
        for (what, damage) in DAMAGES {
            // By its owner.
            let (id, text_of) = waits(damage);
            let refused = call("lisp_approve", json!({"ticket": text_of}));
            assert!(refused["isError"] == true && text(&refused).contains("eject "), "{what}: {refused}");
            let asked = call("lisp_result", json!({"id": id}));
            assert_eq!(asked["structuredContent"]["status"], "approval_required", "{what}: {asked}");
            let is_told = asked.to_string().contains("it can only be rejected");
            assert_eq!(is_told, !["seal", "one byte"].contains(&what), "{what}: {asked}");
            assert!(!text(&refused).contains("on the server it came from"), "{what}: {refused}");
            let over = call("lisp_reject", json!({"ticket": text_of, "reason": "no"}));
            assert!(over["isError"] != true && text(&over).contains("the program is over"), "{what}: {over}");
            match what {
                "about" | "shape of about" => assert!(text(&over).contains("is not known either"), "{over}"),
                _ => assert_eq!(
                    over["structuredContent"]["calls_made"],
                    json!(["world/put"]),
                    "{what}: {over}"
                ),
            }
            assert_eq!(reason(&call("lisp_reject", json!({"ticket": text_of}))), "ticket_used", "{what}");
            let told = call("lisp_result", json!({"id": id}));
            assert!(text(&told).contains("the program is over"), "{what}: {told}");
            assert!(listed(&id).is_empty(), "{what}");

            // By whoever runs the server.
            let (id, _) = waits(damage);
            let [line] = &listed(&id)[..] else { panic!("{what}: it is listed") };
            let (code, out, err) = world.run(&["store", "check", place, "--ticket-keys", "keys"]);
            assert!(code == 1 && out.contains("ptc tickets reject"), "{what}: {out}{err}");
            assert!(line["damaged"].is_string() && line["lacks_key"].is_null(), "{what}: {line}");
            assert!(!out.contains("Put the file of keys back"), "{what}: {out}");
            let reject =
                ["tickets", "reject", &id, "--note", "the disk", "--store", place, "--ticket-keys", "keys"];
            let (code, out, err) = world.run(&reject);
            assert!(code == 0 && out.starts_with(&format!("rejected {id} of ")), "{what}: {out}{err}");
            let (code, _, err) = world.run(&reject);
            assert!(code == 2 && err.contains("was used already"), "{what}: {err}");
            let told = call("lisp_result", json!({"id": id}));
            assert!(text(&told).contains("notes: the disk"), "{what}: {told}");
        }
        // On the page, which shows no calls of one of which nobody can read which wait.
        let (id, _) = waits(DAMAGES[0].1);
        let shown = server.raw("GET", "/approvals/list", &[], b"").json();
        let shown = shown["tickets"].as_array().into_iter().flatten().find(|one| one["id"] == id.as_str());
        assert!(shown.is_some_and(|one| one["damaged"].is_string() && one["pending"].is_null()), "{shown:?}");
        let headers = [("content-type", "application/json")];
        for (decision, part) in [("approve", "cannot be read"), ("reject", "the program is over")] {
            let body = json!({"id": id, "calls": [], "decision": decision}).to_string();
            let told = server.raw("POST", "/approvals/decide", &headers, body.as_bytes()).json();
            assert!(told["text"].as_str().is_some_and(|told| told.contains(part)), "{decision}: {told}");
        }
        // Another call is shown than waits: what is approved is what was shown.
        let (id, text_of) = waits("UPDATE ptc_tickets SET about = OTHER WHERE id = 'ID'");
        let refused = call("lisp_approve", json!({"ticket": text_of}));
        assert_eq!(reason(&refused), "store_unavailable", "{refused}");
        let over = call("lisp_reject", json!({"ticket": text_of}));
        assert!(text(&over).contains("is not what is sealed in it"), "{id}: {over}");
        // One that is whole is nobody else's to decide.
        let (id, _) = waits("UPDATE ptc_tickets SET used = 0 WHERE id = 'ID'");
        let (code, _, err) =
            world.run(&["tickets", "reject", &id, "--store", place, "--ticket-keys", "keys"]);
        assert!(code == 2 && err.contains("the program can go on"), "{err}");
        assert_eq!(world.count("came p"), 0, "nothing of them is run");
        let log = server.whole_log();
        let decided =
            |line: &&String| line.contains("\"event\":\"decision\"") && line.contains("\"rejected\"");
        assert_eq!(log.iter().filter(decided).count(), DAMAGES.len() + 2, "{log:?}");
    });
}
