//! A look at the rows of a store, in a file and on a server: each that cannot be read is told, with what to do about it, and it
//! keeps nobody from the others.

use std::sync::Arc;

use ptc_store::Store;
use ptc_store::check::{Readers, WrongSeal, rows};
use ptc_store::effects::{Begun, Effects, NewEffect};
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use ptc_store::sessions::{NewSession, SessionQuota, Sessions};
use ptc_store::tickets::Tickets;
use serde_json::json;

use crate::damaged::put;
use crate::postgres::Server;
use crate::support::Folder;

/// Half a value, as the bytes of a statement in each database.
const TORN: [&str; 2] = ["x'7b226e223a'", "'\\x7b226e223a'"];

/// What is done to a store behind the back of its servers. `TORN` stands for half a value.
const DAMAGE: [&str; 9] = [
    "UPDATE ptc_tickets SET about = TORN WHERE id = 'a'",
    "UPDATE ptc_tickets SET decided = TORN WHERE id = 'b'",
    "DELETE FROM ptc_ticket_seals WHERE ticket = 'c'",
    "UPDATE ptc_requests SET reply = TORN WHERE scope = 'one'",
    "UPDATE ptc_effects SET answer = TORN WHERE identity = 'done'",
    "UPDATE ptc_effects SET args = TORN WHERE identity = 'open'",
    "UPDATE ptc_session_metas SET meta = TORN WHERE session = 's1'",
    "DELETE FROM ptc_session_states WHERE session = 's3'",
    "DELETE FROM ptc_session_origins WHERE session = 's4'",
];

/// What is told of that, in order.
const TOLD: [&str; 11] = [
    "ticket a is damaged: what is shown of it cannot be read: it is no JSON",
    "ticket b is damaged: what was decided cannot be read: it is no JSON",
    "ticket c is damaged: what is sealed in it is missing",
    "ticket e is damaged: what is sealed in it is damaged",
    "request one is damaged: its reply cannot be read: it is no JSON",
    "call run done is damaged: its answer cannot be read: it is no JSON",
    "call run open is damaged: its arguments cannot be read: it is no JSON",
    "what session s1 says of itself cannot be read: it is no JSON",
    "what session s2 has defined cannot be loaded: it is torn",
    "what session s3 has defined is missing",
    "what session s4 is made of is missing",
];

fn fill(store: &Arc<Store>) {
    let (tickets, effects) = (Tickets::new(store.clone()), Effects::new(store.clone()));
    let (requests, sessions) = (Requests::new(store.clone()), Sessions::new(store.clone()));
    let nothing = json!({});
    for id in ["a", "b", "c", "d", "e"] {
        put(&tickets, id);
    }
    for scope in ["one", "two"] {
        let new = NewRequest { scope, tool: "eval", digest: b"d" };
        let Ok(Began::Held { lease, .. }) = requests.begin(&new, 10_000) else { panic!("nobody holds it") };
        requests.keep(&Reply { lease: &lease, answer: &nothing }).expect("kept");
    }
    for identity in ["done", "open", "whole"] {
        let call = NewEffect { identity, server: "mail", tool: "send", args: &nothing };
        assert_eq!(effects.begin("run", &call), Ok(Begun::Fresh));
    }
    effects.done("run", "done", &nothing).expect("answered");
    for id in ["s1", "s2", "s3", "s4", "s5"] {
        let new = NewSession {
            id,
            owner: "ann",
            origin: &nothing,
            meta: &nothing,
            ttl_ms: 600_000,
            idle_ms: 600_000,
        };
        sessions.create(&new, SessionQuota { most: 9, per_owner: 9 }).expect("it begins");
        let taken = sessions.take(id, "ann", 10_000, None).expect("it is free");
        let state: &[u8] = if id == "s2" { b"torn" } else { b"whole" };
        sessions.commit(&taken.lease, taken.version, &nothing, Some(state)).expect("it is kept");
    }
}

/// What is found, with what to do about it; the keys that are missing; and how many programs wait.
fn look(place: &str) -> (Vec<String>, Vec<String>, u64) {
    let readers = Readers {
        state: &|state| (state == b"torn").then(|| "it is torn".to_owned()),
        defines: &|_| true,
        ticket: |_, _| None,
        seal: &|id, owner, sealed| {
            assert_eq!((owner, sealed), ("ann", id.as_bytes()));
            match id {
                "d" => Some(WrongSeal::NoKey("k1".to_owned())),
                "e" => Some(WrongSeal::Damaged("is damaged".to_owned())),
                _ => None,
            }
        },
    };
    let looked = rows(place, &readers).expect("it can be looked at");
    assert!(
        looked.found.iter().all(|one| one.then.contains("restore a backup") || one.then.contains("ptc "))
    );
    (looked.found.into_iter().map(|one| one.what).collect(), looked.lacking, looked.waiting)
}

#[test]
fn each_row_is_looked_at_and_one_that_is_damaged_keeps_nobody_from_the_others() {
    let (folder, server) = (Folder::new("looked"), Server::start("looked-rows"));
    let file = folder.place("store.db");
    let in_database = server.as_ref().map(|server| server.place("looked"));
    for place in [Some(file.clone()), in_database].into_iter().flatten() {
        let store = Arc::new(Store::open(&place).expect("the store opens"));
        fill(&store);
        let (found, lacking, waiting) = look(&place);
        let told = [
            "ticket e is damaged: what is sealed in it is damaged",
            "what session s2 has defined cannot be loaded: it is torn",
        ];
        assert_eq!(found, told, "{place}");
        assert_eq!((lacking.as_slice(), waiting), (["k1".to_owned()].as_slice(), 5));
        let is_file = place == file;
        let damage = DAMAGE.map(|change| change.replace("TORN", TORN[usize::from(!is_file)])).join(";");
        match is_file {
            true => rusqlite::Connection::open(&file)
                .and_then(|sqlite| sqlite.execute_batch(&damage))
                .expect("changed"),
            false => {
                let mut client = ::postgres::Client::connect(&place, ::postgres::NoTls).expect("connects");
                client.batch_execute(&damage).expect("changed");
            }
        }
        let (found, lacking, waiting) = look(&place);
        assert_eq!(found.len(), TOLD.len(), "{found:?}");
        for (found, told) in found.iter().zip(TOLD) {
            assert!(found.starts_with(told), "{found}");
        }
        assert_eq!((lacking.as_slice(), waiting), (["k1".to_owned()].as_slice(), 4));
        drop(store);
    }
}

/// SQLite keeps whatever it is given in every column.
#[test]
fn a_value_of_another_kind_is_told_and_keeps_nobody_from_the_others() {
    let folder = Folder::new("looked-kinds");
    let place = folder.place("store.db");
    fill(&Arc::new(Store::open(&place).expect("the store opens")));
    let damage = "UPDATE ptc_session_states SET state = 5 WHERE session = 's1';
        UPDATE ptc_tickets SET used = 'x' WHERE id = 'a';
        UPDATE ptc_ticket_seals SET sealed = 'text' WHERE ticket = 'b'";
    rusqlite::Connection::open(&place).and_then(|sqlite| sqlite.execute_batch(damage)).expect("changed");
    let (found, _, waiting) = look(&place);
    let told = [
        "ticket a is damaged: its column used holds text instead of a number",
        "ticket b is damaged: its column sealed holds text instead of bytes",
        "ticket e is damaged: what is sealed in it is damaged",
        "what session s1 has defined cannot be read: column 1 holds a number instead of bytes",
        "what session s2 has defined cannot be loaded: it is torn",
    ];
    assert_eq!(found, told);
    assert_eq!(waiting, 4, "what is sealed in the first may be whole");
}
