//! What is promised to be on the disk waits for the disk. These tests take the disk away between two changes: whoever
//! returns `Ok` then has not waited.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::cell::cells;
use crate::effects::{EffectError, Effects, Finding, Holder, NewEffect, Seen};
use crate::preludes::{Metadata, PreludeError, Preludes, Ref};
use crate::requests::{Began, NewRequest, Reply, RequestError, Requests};
use crate::runs::{Ending, NewAnswer, RunError, Runs};
use crate::sessions::{NewSession, SessionError, SessionQuota, Sessions};
use crate::tickets::{NewTicket, TicketError, Tickets};

/// A store in a file that goes with the test.
struct Disk {
    folder: PathBuf,
    store: Arc<Store>,
}

impl Disk {
    fn new(name: &str) -> Disk {
        let folder = std::env::temp_dir().join(format!("ptc-store-disk-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let store = Store::open(&folder.join("store.db").to_string_lossy()).expect("opens");
        Disk { folder, store: Arc::new(store) }
    }

    /// From now on nothing can be synced. Connections for reading are open by then: a new one would find the log again.
    fn lose(&self) {
        self.store.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_effects", &[])).expect("reads");
        self.store.wal.as_ref().expect("a file has a log").lose_disk();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The error of the store, whatever part of it was asked.
trait FromStore {
    fn of_store(self) -> Option<StoreError>;
}

macro_rules! from_store {
    ($($error:ident),*) => {$(
        impl FromStore for $error {
            fn of_store(self) -> Option<StoreError> {
                match self {
                    $error::Store(error) => Some(error),
                    _ => None,
                }
            }
        }
    )*};
}
from_store!(EffectError, PreludeError, RequestError, RunError, SessionError, TicketError);

/// Whether something failed because the disk did.
#[track_caller]
fn waits_for_the_disk<T: std::fmt::Debug, E: FromStore + std::fmt::Debug>(what: &str, done: Result<T, E>) {
    let error = done.err().unwrap_or_else(|| panic!("{what} returned before it was on the disk"));
    let shown = format!("{error:?}");
    assert!(matches!(error.of_store(), Some(StoreError::Unacknowledged { .. })), "{what}: {shown}");
}

fn insert(tx: &mut Tx<'_>, id: &str) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO ptc_preludes (id, current_version, latest_version) VALUES (?1, ?2, ?3)",
        cells![id, 1_i64, 1_i64],
    )
    .map(|_| ())
}

#[test]
fn a_write_returns_when_the_disk_has_it_and_a_note_before() {
    let disk = Disk::new("write");
    disk.store.write("preludes", |tx| insert(tx, "a")).expect("there is a disk");
    disk.lose();
    disk.store.note("preludes", |tx| insert(tx, "b")).expect("notes do not wait");
    let failed = disk.store.write("preludes", |tx| insert(tx, "c"));
    assert!(matches!(failed, Err(StoreError::Unacknowledged { .. })), "{failed:?}");
}

#[test]
fn a_store_whose_disk_failed_promises_nothing_until_its_log_is_in_the_file() {
    let disk = Disk::new("sticky");
    let count = "SELECT COUNT(*) FROM ptc_preludes";
    disk.lose();
    let failed = disk.store.write("preludes", |tx| insert(tx, "a"));
    assert!(matches!(failed, Err(StoreError::Unacknowledged { .. })), "{failed:?}");
    // Another connection opens the log, whose sync would succeed: what the system dropped meanwhile was told to the first.
    let wal = disk.store.wal.as_ref().expect("a log");
    drop(wal.opened(true).expect("the log is there"));
    let failed = disk.store.write("preludes", |tx| insert(tx, "b"));
    assert!(matches!(failed, Err(StoreError::Unacknowledged { .. })), "{failed:?}");
    wal.find_disk();
    disk.store.write("preludes", |tx| insert(tx, "c")).expect("a store whose disk is back");
    disk.store.answers().expect("it goes on");
    let alone = disk.folder.join("alone.db");
    std::fs::copy(disk.folder.join("store.db"), &alone).expect("a copy without its log");
    let alone = Store::open(&alone.to_string_lossy()).expect("opens");
    assert_eq!(
        alone.read(|tx| tx.number(count, &[])),
        Ok(3),
        "nothing of it is in a log that was not synced"
    );
}

#[test]
fn a_log_that_others_left_is_copied_before_anything_is_acknowledged() {
    let disk = Disk::new("left");
    disk.store.write("preludes", |tx| insert(tx, "a")).expect("written");
    // As a process leaves it that is killed.
    let left = disk.folder.join("left.db");
    for ending in ["", "-wal"] {
        let beside = |path: &std::path::Path| crate::sqlite::beside(path, ending);
        std::fs::copy(beside(&disk.folder.join("store.db")), beside(&left)).expect("a copy");
    }
    let store = Store::open(&left.to_string_lossy()).expect("opens");
    let alone = disk.folder.join("alone.db");
    std::fs::copy(&left, &alone).expect("a copy without its log");
    let alone = Store::open(&alone.to_string_lossy()).expect("opens");
    assert_eq!(alone.read(|tx| tx.number("SELECT COUNT(*) FROM ptc_preludes", &[])), Ok(1));
    drop(store);
}

#[cfg(unix)]
#[test]
fn a_log_is_not_emptied_between_its_sync_and_the_note_of_it() {
    let disk = Disk::new("between");
    let place = disk.folder.join("store.db").to_string_lossy().into_owned();
    let damage = || crate::log_check::damage(&place).expect("it can be looked at");
    disk.store.write("preludes", |tx| insert(tx, "a")).expect("on the disk");
    let (wal, at) = (disk.store.wal.as_ref().expect("a file has a log"), place.clone());
    // Another server starts at this moment, and finds a log.
    wal.between_sync_and_note(move || drop(Store::open(&at).expect("opens")));
    disk.store.write("preludes", |tx| insert(tx, "b")).expect("on the disk");
    assert_eq!(damage(), None);
    let other = Store::open(&place).expect("opens when nobody syncs");
    assert!(!disk.store.wal.as_ref().expect("a file has a log").is_there(), "what was left is in the file");
    assert_eq!(damage(), None, "that the log is empty is noted");
    drop(other);
    disk.store.write("preludes", |tx| insert(tx, "c")).expect("on the disk");
    assert_eq!(damage(), None);
}

#[test]
fn a_store_whose_disk_fails_does_not_answer() {
    let disk = Disk::new("answers");
    disk.store.answers().expect("there is a disk");
    disk.lose();
    let failed = disk.store.answers();
    assert!(matches!(failed, Err(StoreError::Unacknowledged { .. })), "{failed:?}");
}

/// Nobody knows whether the row is there; but everybody knows that nothing was sent.
#[test]
fn a_beginning_that_was_not_acknowledged_is_taken_back_and_no_other() {
    let disk = Disk::new("unsent");
    let args = json!({});
    let call = |identity| NewEffect { identity, server: "mail", tool: "send", args: &args };
    let effects = Effects::new(disk.store.clone()).made_by("this one", 60_000);
    effects.begin("run", &call("sent")).expect("begun");
    disk.lose();
    waits_for_the_disk("beginning a call", effects.begin("run", &call("a")));
    let listed = || {
        let gaps = effects.gaps(None).expect("a list");
        let mut identities: Vec<_> = gaps.into_iter().map(|gap| gap.identity).collect();
        identities.sort();
        identities
    };
    assert_eq!(listed(), ["a", "sent"], "it is there, but nobody was told");
    let another = Effects::new(disk.store.clone()).made_by("another", 60_000);
    another.unsent("run", "a").expect("it began nothing");
    assert_eq!(listed().len(), 2, "nobody takes back what others began");
    effects.unsent("run", "a").expect("taken back");
    assert_eq!(listed(), ["sent"]);
    // Whoever settles one and begins it again has another beginning.
    effects.settle("run", "sent", &Finding::DidNotHappen, "looked").expect_err("there is no disk");
    waits_for_the_disk("beginning it again", another.begin("run", &call("sent")));
    effects.unsent("run", "sent").expect("it is not its own any more");
    assert_eq!(listed(), ["sent"]);
}

#[test]
fn a_call_is_on_the_disk_before_it_is_sent() {
    let args = json!({});
    let call = |identity| NewEffect { identity, server: "mail", tool: "send", args: &args };
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let effects = Effects::new(disk.store.clone());
        effects.begin("run", &call("a")).expect("begun");
        disk.lose();
        (disk, effects)
    };
    let (_disk, effects) = prepared("begin");
    waits_for_the_disk("beginning a call", effects.begin("run", &call("b")));
    let answer = json!(1);
    let (_disk, effects) = prepared("settle");
    waits_for_the_disk("settling a gap", effects.settle("run", "a", &Finding::DidNotHappen, ""));
    let (_disk, effects) = prepared("done");
    effects.done("run", "a", &answer).expect("a note: losing it makes a gap, not a second call");
}

#[test]
fn replies_of_requests_and_what_their_programs_saw_are_on_the_disk_before_anything_follows_from_them() {
    let (args, answer) = (json!({}), json!(1));
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let requests = Requests::new(disk.store.clone());
        let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
        let Ok(Began::Held { lease, .. }) = requests.begin(&request, 10_000) else { panic!("it is new") };
        disk.lose();
        (disk, requests, lease)
    };
    let (_disk, requests, lease) = prepared("reply");
    waits_for_the_disk("a reply", requests.keep(&Reply { lease: &lease, answer: &answer }));
    let (_disk, requests, lease) = prepared("recalled");
    let _ = requests.keep(&Reply { lease: &lease, answer: &answer });
    let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
    waits_for_the_disk("a reply that another may have kept", requests.begin(&request, 10_000));
    let (disk, _, lease) = prepared("seen");
    let call = NewEffect { identity: "a", server: "mail", tool: "send", args: &args };
    let seen = [Seen { identity: "read".to_owned(), answer: answer.clone() }];
    let effects = Effects::new(disk.store.clone());
    waits_for_the_disk("a call of a request", effects.begin_held("k", &call, Holder::Request(&lease), &seen));
    let (_disk, requests, lease) = prepared("give-back");
    requests.give_back(&lease).expect("a note: its lease ends by itself");
}

#[test]
fn sessions_are_on_the_disk_when_their_owner_is_told() {
    const LONG: i64 = 3_600_000;
    let nothing = json!({});
    let new =
        |id| NewSession { id, owner: "ann", origin: &nothing, meta: &nothing, ttl_ms: LONG, idle_ms: LONG };
    let room = SessionQuota { most: 10, per_owner: 10 };
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let sessions = Sessions::new(disk.store.clone());
        sessions.create(&new("s"), room).expect("begins");
        let taken = sessions.take("s", "ann", LONG, None).expect("taken");
        disk.lose();
        (disk, sessions, taken)
    };
    let (_disk, sessions, _) = prepared("create");
    waits_for_the_disk("beginning a session", sessions.create(&new("t"), room));
    let (_disk, sessions, taken) = prepared("commit");
    waits_for_the_disk("a turn", sessions.commit(&taken.lease, 0, &nothing, Some(b"machine")));
    let (_disk, sessions, _) = prepared("close");
    waits_for_the_disk("closing a session", sessions.close("s", "ann"));
    let (_disk, sessions, _) = prepared("close-owner");
    waits_for_the_disk("closing all sessions", sessions.close_owner("ann"));
}

#[test]
fn tickets_are_on_the_disk_when_somebody_is_asked_and_when_they_are_used() {
    let nothing = json!({});
    let new = |id| NewTicket {
        id,
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms: i64::MAX,
        sealed: b"sealed",
        about: &nothing,
    };
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let tickets = Tickets::new(disk.store.clone());
        tickets
            .put(&new("t"), crate::tickets::TicketQuota { tickets: 10, bytes: 1 << 20 }, None)
            .expect("kept");
        let taken = tickets.take("t", "ann", &json!("approve"), 10_000).expect("taken");
        disk.lose();
        (disk, tickets, taken)
    };
    let (_disk, tickets, _) = prepared("put");
    waits_for_the_disk(
        "a ticket",
        tickets.put(&new("u"), crate::tickets::TicketQuota { tickets: 10, bytes: 1 << 20 }, None),
    );
    let (_disk, tickets, taken) = prepared("ticket-done");
    waits_for_the_disk("what came of a ticket", tickets.done(&taken.lease, &nothing, None));
    waits_for_the_disk("what another may have noted of a ticket", tickets.read("t", "ann"));
    waits_for_the_disk("the same", tickets.take("t", "ann", &json!("approve"), 10_000));
}

#[test]
fn runs_are_on_the_disk_step_by_step() {
    let nothing = json!({});
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let runs = Runs::new(disk.store.clone());
        let run = runs.begin("mission", &nothing).expect("begins");
        disk.lose();
        (disk, runs, run)
    };
    let (_disk, runs, _) = prepared("begin-run");
    waits_for_the_disk("beginning a run", runs.begin("another", &nothing));
    let (_disk, runs, run) = prepared("go-on");
    waits_for_the_disk("taking a run over", runs.go_on(run.id()));
    let (_disk, _, run) = prepared("state");
    waits_for_the_disk("the state of a run", run.state(b"state"));
    let (_disk, _, run) = prepared("answers");
    let answer = NewAnswer { ask: 1, kind: "tool", name: "send", bytes: b"1" };
    waits_for_the_disk("an answer", run.answers(&[answer]));
    let (_disk, _, run) = prepared("end");
    waits_for_the_disk("the end of a run", run.end(Ending::Finished, &nothing));
    let (_disk, runs, run) = prepared("remove");
    waits_for_the_disk("forgetting a run", runs.remove(run.id()));
}

#[test]
fn preludes_are_on_the_disk_when_their_writer_is_told() {
    let source = |body: &str| format!("(ns p \"For tests.\")\n\n(defn size \"How many.\" [] {body})\n");
    let prepared = |name: &str| {
        let disk = Disk::new(name);
        let preludes = Preludes::new(disk.store.clone());
        preludes.write("p", &source("1"), &Metadata::new()).expect("written");
        disk.lose();
        (disk, preludes)
    };
    let (_disk, preludes) = prepared("write-prelude");
    waits_for_the_disk("a version", preludes.write("p", &source("2"), &Metadata::new()));
    let (_disk, preludes) = prepared("default");
    let first = Ref::parse("p@1").expect("a reference");
    waits_for_the_disk("another default", preludes.set_default(&first, &Metadata::new()));
    let (_disk, preludes) = prepared("snapshot");
    let snapshot = preludes.snapshot().expect("reads");
    let empty = Disk::new("restore");
    empty.lose();
    waits_for_the_disk("a snapshot", Preludes::new(empty.store.clone()).restore(&snapshot));
}
