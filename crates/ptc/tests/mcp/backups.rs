//! Stores that are copied while clients write, and go on elsewhere: whatever was acknowledged before the copy began is
//! there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value as Json, json};

use crate::fleet::{Fleet, Over, lock};
use crate::keys::world;
use crate::postgres::Server as Postgres;
use crate::retrying::{Client, Ledger, as_told, came, plain, request, words};
use crate::support::{self, eventually};
use crate::world::World;

/// Clients at a time.
const CLIENTS: u64 = 4;
/// Requests that are answered before the copy begins, and programs that wait by then.
const BEFORE: (usize, usize) = (40, 3);

/// What a client sends that the world keeps waiting: begun before the copy, and without an answer in it.
const HELD: &str = "held.a";

fn held() -> Json {
    let program = format!(
        "(let [r (tool/call {{:server \"world\" :tool \"put\" :args {{:key \"{HELD}\" :value 1}}}})] \
         [(if (:ok r) :ok (:reason r))])"
    );
    request("lisp_eval", json!({"program": program}), Some("held"))
}

/// Has clients at work on a server while a copy is made; what they knew when it began.
fn copied_under_load(world: &World, fleet: &Fleet<'_>, copy: impl FnOnce()) -> Vec<Ledger> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut ledgers = Vec::new();
        for number in 0..CLIENTS {
            let mut client = Client::new(fleet, &format!("c{number}"), number);
            ledgers.push(client.ledger.clone());
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    client.act();
                }
            });
        }
        let known = || ledgers.iter().map(|ledger| lock(ledger).clone()).collect::<Vec<Ledger>>();
        let answered = |known: &[Ledger]| known.iter().map(|ledger| ledger.answered.len()).sum::<usize>();
        let waiting = |known: &[Ledger]| known.iter().map(|ledger| ledger.waiting.len()).sum::<usize>();
        let _over = Over(&over);
        world.hold(&[&format!("did {HELD}")]);
        let target = fleet.target(0);
        scope.spawn(move || target.post(&held()));
        world.wait_for(&format!("did {HELD}"));
        eventually("there is something to copy", || {
            let known = known();
            answered(&known) >= BEFORE.0 && waiting(&known) >= BEFORE.1
        });
        let before = known();
        copy();
        let then = answered(&known());
        eventually("clients go on", || answered(&known()) > then);
        world.hold(&[]);
        before
    })
}

/// Sends a request until nobody who is gone is in the way.
fn insist(fleet: &Fleet<'_>, request: &Json) -> Json {
    support::insist(|| fleet.target(0).post(request).expect("it is answered"))
}

/// Checks that a copy has all that clients knew when it began, and that all of it goes on.
fn goes_on(world: &World, flags: &[&str], ledgers: &[Ledger]) {
    let fleet = Fleet::start(world, 1, flags);
    let mut writes: BTreeMap<String, String> = BTreeMap::new();
    for ledger in ledgers {
        for (request, reply) in &ledger.answered {
            let again = insist(&fleet, request);
            assert_eq!((&plain(&again), &again["_meta"]["ptc/recalled"]), (reply, &json!(true)), "{request}");
        }
        let more = |program: &str| {
            let arguments = json!({"session_id": ledger.session, "program": program});
            let result = insist(&fleet, &request("lisp_session_eval", arguments, None));
            words(&result)[0].parse::<u64>().unwrap_or_else(|_| panic!("a number: {result}"))
        };
        let applied = more("n");
        assert!(applied >= ledger.applied, "{applied} of {} programs are there", ledger.applied);
        assert_eq!(more("(def n (inc n)) n"), applied + 1, "the session goes on");
        writes.extend(ledger.writes.clone());
        for (ticket, keys) in &ledger.waiting {
            let result = insist(&fleet, &request("lisp_approve", json!({"ticket": ticket}), None));
            writes.extend(keys.iter().cloned().zip(words(&result)));
        }
    }
    // The answer of this call came after the copy.
    let result = insist(&fleet, &held());
    assert_eq!(words(&result), [":outcome_unknown"], "{result}");
    writes.insert(HELD.to_owned(), ":outcome_unknown".to_owned());
    as_told(&writes, &came(world));
    let store = flags[1];
    let gaps = world.gaps(&["--store", store]);
    assert!(gaps.iter().any(|gap| gap["args"]["key"] == HELD), "{gaps:?}");
    let answered: usize = ledgers.iter().map(|ledger| ledger.answered.len()).sum();
    let waiting: usize = ledgers.iter().map(|ledger| ledger.waiting.len()).sum();
    eprintln!(
        "{answered} replies, {} sessions, {waiting} programs that waited and {} writes went on",
        ledgers.len(),
        writes.len()
    );
}

#[test]
fn a_file_that_is_copied_under_load_goes_on_elsewhere_with_all_that_was_acknowledged() {
    let world = world("backup-file");
    let fleet = Fleet::start(&world, 1, &["--store", "server.db", "--ticket-keys", "keys"]);
    let done = |args: &[&str]| {
        let (code, out, err) = world.run(args);
        assert_eq!(code, 0, "{args:?}: {out}{err}");
    };
    let ledgers = copied_under_load(&world, &fleet, || {
        done(&["store", "backup", "server.db", "copies/one.db", "--ticket-keys", "keys"]);
    });
    fleet.kill(0);
    // Nothing but the copy is left.
    for name in ["server.db", "server.db-wal", "server.db-shm", "keys"] {
        let _ = std::fs::remove_file(world.folder.join(name));
    }
    done(&["store", "restore", "copies/one.db", "elsewhere/store.db"]);
    done(&["store", "check", "elsewhere/store.db"]);
    assert!(Path::new(&world.folder.join("elsewhere/store.db.keys")).exists());
    goes_on(&world, &["--store", "elsewhere/store.db"], &ledgers);
}

#[test]
fn a_postgresql_that_is_copied_under_load_goes_on_elsewhere_with_all_that_was_acknowledged() {
    let Some(postgres) = Postgres::start("backup") else { return };
    let world = world("backup-postgres");
    let (place, mut dump) = (postgres.place("shared"), Vec::new());
    let fleet = Fleet::start(&world, 1, &["--store", &place, "--ticket-keys", "keys"]);
    let ledgers = copied_under_load(&world, &fleet, || dump = postgres.dump("shared"));
    fleet.kill(0);
    drop(postgres);
    let elsewhere = Postgres::start("elsewhere").expect("it was there before");
    let place = elsewhere.load("shared", &dump);
    goes_on(&world, &["--store", &place, "--ticket-keys", "keys"], &ledgers);
}
