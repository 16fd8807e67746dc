//! The rules of the prelude store, by number. Each holds in memory, in a file and on a server alike.

mod edits;
mod files;
mod models;
mod room;
mod versions;

use ptc_store::preludes::{Metadata, Preludes};
use serde_json::json;

use crate::postgres::Server;
use crate::support::{Folder, at, notes, preludes, reason, source};

/// A rule with its name.
pub type Rule = (&'static str, fn(&Preludes));

/// All of them, by topic.
fn rules() -> impl Iterator<Item = &'static Rule> {
    let topics = [versions::RULES, room::RULES, edits::RULES, models::RULES, files::RULES];
    topics.into_iter().flatten()
}

#[test]
fn the_rules_hold_in_memory() {
    for (name, rule) in rules() {
        eprintln!("{name}");
        rule(&preludes(":memory:"));
    }
}

#[test]
fn the_rules_hold_in_a_file() {
    let folder = Folder::new("rules");
    for (number, (name, rule)) in rules().enumerate() {
        eprintln!("{name}");
        rule(&preludes(&folder.place(&format!("{number}.db"))));
    }
}

#[test]
fn the_rules_hold_in_postgresql() {
    let Some(server) = Server::start("rules") else { return };
    for (number, (name, rule)) in rules().enumerate() {
        eprintln!("{name}");
        rule(&preludes(&server.place(&format!("r{number}"))));
    }
}

/// 10.11.13, between all kinds of places.
#[test]
fn a_snapshot_restores_byte_for_byte_in_every_place() {
    let original = preludes(":memory:");
    let text = "(ns tools \"Ünïcode\\tand \\\"quotes\\\"\")\r\n;; a comment\n(def nul \"a\0b\")\n";
    original
        .write("tools", text, &notes(json!({"reason": "first", "private": [1, 2.5, null]})))
        .expect("writes");
    original.write("tools", &source("tools", "2"), &Metadata::new()).expect("writes");
    original.set_default(&at("tools@1"), &notes(json!({"reason": "better"}))).expect("selects");
    original
        .write("users", &source("users", "1"), &notes(json!({"requires_preludes": ["tools"]})))
        .expect("writes");
    let snapshot = original.snapshot().expect("a snapshot");

    let folder = Folder::new("snapshot");
    let server = Server::start("snapshot");
    let mut places = vec![":memory:".to_owned(), folder.place("restored.db")];
    places.extend(server.as_ref().map(|server| server.place("restored")));
    for place in places {
        let restored = preludes(&place);
        restored.restore(&snapshot).expect("restores");
        assert_eq!(restored.snapshot().expect("a snapshot"), snapshot, "{place}");
        assert_eq!(restored.read(&at("tools@1")).expect("reads").source, text);
        assert_eq!(restored.fingerprint(), original.fingerprint());
        let next = restored.write("tools", &source("tools", "3"), &Metadata::new()).expect("writes");
        assert_eq!(next.version.version, 3, "numbers go on where they were");
        assert_eq!(reason(restored.restore(&snapshot)), "restore_mismatch");
    }
    for (pointer, value, expected) in [
        ("/format", json!(2), "invalid_snapshot"),
        ("/fingerprint", json!("sha256:0"), "restore_mismatch"),
        ("/preludes/0/versions/0/source", json!("(ns tools)"), "restore_mismatch"),
        ("/preludes/0/current_version", json!(7), "restore_mismatch"),
        ("/preludes/0/latest_version", json!(1), "restore_mismatch"),
        ("/preludes/1/versions/0/pins/0/version", json!(2), "restore_mismatch"),
        ("/preludes/0/id", json!("no id"), "invalid_snapshot"),
        ("/preludes/0/versions/1/version", json!(1), "invalid_snapshot"),
        ("/preludes/0/versions/0/created_at", json!("now"), "invalid_snapshot"),
    ] {
        let mut changed = snapshot.clone();
        *changed.pointer_mut(pointer).expect("a part of the snapshot") = value;
        let fresh = preludes(":memory:");
        assert_eq!(reason(fresh.restore(&changed)), expected, "{pointer}");
        assert_eq!(fresh.list(), Ok(vec![]), "{pointer} leaves nothing behind");
    }
}

/// Writes a prelude with one function; the number of its version.
pub fn write(preludes: &Preludes, id: &str, body: &str) -> i64 {
    preludes.write(id, &source(id, body), &Metadata::new()).expect("writes").version.version
}
