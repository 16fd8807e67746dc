//! What time does to sessions and tickets. Nobody waits here: rows are told another time instead.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::cell::cells;
use crate::effects::{Begun, EffectError, Effects, Finding, NewEffect};
use crate::requests::{Began, NewRequest, Reply, Requests, Stands};
use crate::sessions::{Along, NewSession, SessionError, SessionQuota, Sessions};
use crate::tickets::{NewTicket, TicketError, Tickets};

const HOUR: i64 = 3_600_000;

fn store() -> Arc<Store> {
    Arc::new(Store::open(":memory:").expect("opens"))
}

fn now(store: &Store) -> i64 {
    store.read(|tx| tx.now_ms()).expect("the time")
}

/// A session `s` of ann that lasts ten hours and may be idle for one.
fn session(store: &Arc<Store>) -> Sessions {
    let sessions = Sessions::new(store.clone());
    let nothing = json!({});
    let new = NewSession {
        id: "s",
        owner: "ann",
        origin: &nothing,
        meta: &nothing,
        ttl_ms: 10 * HOUR,
        idle_ms: HOUR,
    };
    sessions.create(&new, SessionQuota { most: 10, per_owner: 10 }).expect("begins");
    sessions
}

/// Sets a time of the session to so many milliseconds from now.
fn set(store: &Store, sql: &'static str, from_now: i64) {
    let at = now(store) + from_now;
    let changed = store.note("test", |tx| tx.run(sql, cells![at])).expect("changed");
    assert_eq!(changed, 1, "{sql}");
}

const ENDS: &str = "UPDATE ptc_sessions SET ends_at = ?1 WHERE id = 's'";
const EXPIRES: &str = "UPDATE ptc_sessions SET expires_at = ?1 WHERE id = 's'";
const LEASE: &str = "UPDATE ptc_sessions SET lease_until = ?1 WHERE id = 's'";

/// In how many minutes the session ends if nobody uses it.
fn minutes_left(store: &Store) -> i64 {
    let ends = store.read(|tx| tx.number("SELECT ends_at FROM ptc_sessions", &[])).expect("a time");
    (ends - now(store) + 30_000) / 60_000
}

#[test]
fn every_use_of_a_session_begins_its_idle_time_anew() {
    let store = store();
    let sessions = session(&store);
    assert_eq!(minutes_left(&store), 60);
    let used: [(&str, &dyn Fn()); 4] = [
        ("touch", &|| sessions.touch("s", "ann").expect("open")),
        ("take", &|| {
            let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
            sessions.release(&taken.lease).expect("given back");
        }),
        ("renew", &|| {
            let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
            set(&store, ENDS, 60_000);
            sessions.renew(&taken.lease, HOUR).expect("held");
            sessions.release(&taken.lease).expect("given back");
        }),
        ("commit", &|| {
            let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
            set(&store, ENDS, 60_000);
            sessions.commit(&taken.lease, taken.version, &json!({}), None).expect("kept");
        }),
    ];
    for (how, used) in used {
        set(&store, ENDS, 60_000);
        assert_eq!(minutes_left(&store), 1);
        used();
        assert_eq!(minutes_left(&store), 60, "{how}");
    }
    // Looking is no use.
    set(&store, ENDS, 60_000);
    sessions.read("s", "ann", None).expect("open");
    sessions.list("ann").expect("a list");
    assert_eq!(minutes_left(&store), 1);
}

#[test]
fn no_use_makes_a_session_last_longer_than_its_life() {
    let store = store();
    let sessions = session(&store);
    set(&store, EXPIRES, HOUR / 2);
    set(&store, ENDS, 60_000);
    sessions.touch("s", "ann").expect("open");
    assert_eq!(minutes_left(&store), 30);
    set(&store, ENDS, 60_000);
    let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
    assert_eq!(minutes_left(&store), 30);
    // Its life is over while a program runs in it.
    set(&store, EXPIRES, -1);
    assert_eq!(sessions.renew(&taken.lease, HOUR), Err(SessionError::Closed));
    assert_eq!(sessions.commit(&taken.lease, 0, &json!({}), None), Err(SessionError::Closed));
    // No idle time ends later than the life.
    set(&store, ENDS, -1);
    assert_eq!((sessions.list("ann"), sessions.sweep()), (Ok(vec![]), Ok(1)));
}

#[test]
fn a_session_in_which_a_program_runs_is_not_idle() {
    let store = store();
    let sessions = session(&store);
    let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
    set(&store, ENDS, -1);
    assert!(sessions.read("s", "ann", None).expect("open").busy);
    assert_eq!(sessions.list("ann").expect("a list").len(), 1);
    assert_eq!(sessions.sweep(), Ok(0), "somebody holds it");
    assert_eq!(sessions.commit(&taken.lease, 0, &json!({}), None), Ok(1));
    // Whoever held it has died, and nobody came since.
    let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
    set(&store, ENDS, -1);
    set(&store, LEASE, -1);
    assert_eq!(sessions.take("s", "ann", HOUR, None).err(), Some(SessionError::Closed));
    assert_eq!(sessions.sweep(), Ok(1));
    assert_eq!(sessions.commit(&taken.lease, 1, &json!({}), None), Err(SessionError::Closed));
}

#[test]
fn sessions_that_are_over_are_remembered_for_a_while_and_keep_nothing() {
    let store = store();
    let sessions = session(&store);
    let taken = sessions.take("s", "ann", HOUR, None).expect("taken");
    sessions.commit(&taken.lease, 0, &json!({}), Some(b"machine")).expect("kept");
    sessions.close("s", "ann").expect("closed");
    for table in [
        "SELECT COUNT(*) FROM ptc_session_states",
        "SELECT COUNT(*) FROM ptc_session_metas",
        "SELECT COUNT(*) FROM ptc_session_origins",
    ] {
        assert_eq!(store.read(|tx| tx.number(table, &[])), Ok(0), "{table}");
    }
    assert_eq!(sessions.sweep(), Ok(0));
    assert_eq!(sessions.read("s", "ann", None).err(), Some(SessionError::Closed));
    set(&store, ENDS, -1);
    assert_eq!(sessions.sweep(), Ok(0), "it was over before");
    assert_eq!(sessions.read("s", "ann", None).err(), Some(SessionError::Missing));
}

#[test]
fn tickets_that_were_taken_in_time_outlast_their_time() {
    let store = store();
    let tickets = Tickets::new(store.clone());
    let nothing = json!({});
    let expires_ms = now(&store) + HOUR;
    for id in ["taken", "open"] {
        let new = NewTicket {
            id,
            owner: "ann",
            kind: "eval",
            session: None,
            expires_ms,
            sealed: b"sealed",
            about: &nothing,
        };
        tickets.put(&new, crate::tickets::TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    }
    let decided = json!("approve");
    let taken = tickets.take("taken", "ann", &decided, HOUR).expect("taken");
    let late = "UPDATE ptc_tickets SET expires_at = ?1";
    let at = now(&store) - 1;
    store.note("test", |tx| tx.run(late, cells![at])).expect("changed");
    assert_eq!(tickets.take("open", "ann", &decided, HOUR), Err(TicketError::Expired));
    assert_eq!(tickets.list_open("ann").expect("a list").len(), 1, "only the one that goes on");
    assert_eq!(tickets.sweep(), Ok(0), "both are remembered");
    let sealed = "SELECT COUNT(*) FROM ptc_ticket_seals";
    assert_eq!(store.read(|tx| tx.number(sealed, &[])), Ok(1), "nothing is sealed in the one that expired");
    tickets.renew(&taken.lease, HOUR).expect("still held");
    tickets.done(&taken.lease, &json!(1), None).expect("it went to its end");
    assert_eq!(store.read(|tx| tx.number(sealed, &[])), Ok(0));
}

/// A ticket that somebody goes on with is not forgotten under their hands, however late it is.
#[test]
fn tickets_that_are_held_are_not_forgotten() {
    let store = store();
    let tickets = Tickets::new(store.clone());
    let nothing = json!({});
    let expires_ms = now(&store) + HOUR;
    let new = NewTicket {
        id: "t",
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms,
        sealed: b"sealed",
        about: &nothing,
    };
    tickets.put(&new, crate::tickets::TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    let taken = tickets.take("t", "ann", &json!("approve"), HOUR).expect("taken");
    let long_ago = now(&store) - 1_000 * HOUR;
    store
        .note("test", |tx| tx.run("UPDATE ptc_tickets SET expires_at = ?1", cells![long_ago]))
        .expect("changed");
    assert_eq!(tickets.sweep(), Ok(0));
    tickets.done(&taken.lease, &json!(1), None).expect("it is there");
    assert_eq!(tickets.sweep(), Ok(1), "and now it is forgotten");
}

/// A ticket of ann.
fn put(tickets: &Tickets, id: &str, session: Option<&str>, expires_ms: i64) {
    let (nothing, room) = (json!({}), crate::tickets::TicketQuota { tickets: 9, bytes: 1 << 20 });
    let new =
        NewTicket { id, owner: "ann", kind: "eval", session, expires_ms, sealed: b"sealed", about: &nothing };
    tickets.put(&new, room, None).expect("kept");
}

/// A program that was approved in the last moment, and one whose holder was killed and that is taken up again.
#[test]
fn a_session_outlasts_a_ticket_whose_decision_was_made_in_time() {
    let store = store();
    let (sessions, tickets) = (session(&store), Tickets::new(store.clone()));
    put(&tickets, "t", Some("s"), now(&store) + HOUR);
    let ticket = tickets.take("t", "ann", &json!("approve"), HOUR).expect("in time");
    for of in ["UPDATE ptc_tickets SET expires_at = ?1 WHERE id = 't'", ENDS, EXPIRES] {
        set(&store, of, -60_000);
    }
    assert_eq!(sessions.sweep(), Ok(0), "its program goes on");
    assert_eq!(sessions.list("ann").expect("a list").len(), 1);
    let held = sessions.take("s", "ann", HOUR, None).expect("it is there");
    let ended = json!(1);
    let along = Along::Ticket(&ticket.lease, &ended, None);
    sessions.commit_along(&held.lease, held.version, &json!({}), None, Some(&along)).expect("kept");
    assert_eq!(minutes_left(&store), 60, "for another idle time");
    set(&store, ENDS, -60_000);
    set(&store, EXPIRES, -60_000);
    assert_eq!(sessions.sweep(), Ok(1), "and then it ends as any other");
}

#[test]
fn a_ticket_that_ends_after_the_life_of_its_session_leaves_it_an_idle_time() {
    let store = store();
    let (sessions, tickets) = (session(&store), Tickets::new(store.clone()));
    put(&tickets, "t", Some("s"), now(&store) + 20 * HOUR);
    set(&store, EXPIRES, -1);
    set(&store, ENDS, -1);
    let ticket = tickets.take("t", "ann", &json!("approve"), HOUR).expect("taken");
    let taken = sessions.take("s", "ann", HOUR, None).expect("the ticket keeps it");
    let ended = json!(1);
    let along = Along::Ticket(&ticket.lease, &ended, None);
    let kept = sessions.commit_along(&taken.lease, taken.version, &json!({}), Some(b"x"), Some(&along));
    assert_eq!((kept, minutes_left(&store)), (Ok(1), 60));
    assert!(sessions.read("s", "ann", None).is_ok(), "what was stored can be used");
    assert_eq!(sessions.sweep(), Ok(0));
}

#[test]
fn a_ticket_that_expires_is_told_once_with_its_owner_and_one_that_goes_on_does_not_wait() {
    let store = store();
    let tickets = Tickets::new(store.clone());
    ["open", "taken"].iter().for_each(|id| put(&tickets, id, None, now(&store) + HOUR));
    assert_eq!(tickets.count_waiting(), Ok(2));
    let taken = tickets.take("taken", "ann", &json!("approve"), HOUR).expect("taken");
    assert_eq!((tickets.count_waiting(), tickets.count_all()), (Ok(1), Ok(2)));
    let given_up = crate::tickets::TakenTicket { again: true, ..taken };
    tickets.release(&given_up).expect("given back");
    assert_eq!(tickets.count_waiting(), Ok(2), "the same must be decided again");
    let at = now(&store) - 1;
    store.note("test", |tx| tx.run("UPDATE ptc_tickets SET expires_at = ?1", cells![at])).expect("changed");
    let mut told = Vec::new();
    for _ in 0..2 {
        tickets.sweep_telling(|owner, id| told.push((owner.to_owned(), id.to_owned()))).expect("swept");
    }
    assert_eq!(told, [("ann".to_owned(), "open".to_owned())]);
    assert_eq!((tickets.owner("open"), tickets.owner("none")), (Ok(Some("ann".to_owned())), Ok(None)));
}

#[test]
fn a_request_that_is_over_for_longer_than_it_is_kept_begins_anew_whether_or_not_it_was_swept() {
    let store = store();
    let (requests, effects) = (Requests::new(store.clone()), Effects::new(store.clone()));
    let request = NewRequest { scope: "k", tool: "eval", digest: b"one" };
    let Ok(Began::Held { lease, .. }) = requests.begin_within(&request, HOUR, HOUR) else { panic!("new") };
    let args = json!({});
    let call = |identity| NewEffect { identity, server: "crm", tool: "put", args: &args };
    for identity in ["answered", "open"] {
        assert_eq!(effects.begin("k", &call(identity)), Ok(Begun::Fresh));
    }
    effects.done("k", "answered", &json!(1)).expect("kept");
    requests.keep(&Reply { lease: &lease, answer: &json!("done") }).expect("kept");
    let at = now(&store) - HOUR - 1;
    for sql in ["UPDATE ptc_requests SET begun_at = ?1", "UPDATE ptc_requests SET ended_at = ?1"] {
        assert!(matches!(requests.begin_within(&request, HOUR, HOUR), Ok(Began::Done(_))), "{sql}");
        store.note("test", |tx| tx.run(sql, cells![at])).expect("changed");
    }
    assert!(matches!(requests.begin(&request, HOUR), Ok(Began::Done(_))), "it is still there");
    let other = NewRequest { digest: b"two", ..request };
    assert!(matches!(requests.begin_within(&other, HOUR, HOUR), Ok(Began::Held { again: false, .. })));
    assert_eq!(effects.begin("k", &call("answered")), Ok(Begun::Fresh), "it is another request");
    assert_eq!(effects.begin("k", &call("open")), Ok(Begun::Unknown), "nobody has looked at it");
}

/// A clock that was set back by an hour: what was held ends so much later.
const AHEAD: i64 = HOUR + 10_000;

#[test]
fn a_request_whose_lease_ends_further_ahead_than_any_lasts_is_free_and_its_holder_is_fenced_off() {
    const UNTIL: &str = "UPDATE ptc_requests SET lease_until = ?1";
    let store = store();
    let requests = Requests::new(store.clone());
    let new = NewRequest { scope: "k", tool: "lisp_eval", digest: b"1" };
    let begin = || requests.begin(&new, 10_000).expect("an answer");
    let Began::Held { lease: first, .. } = begin() else { panic!("it is new") };
    Effects::new(store.clone())
        .begin("k", &NewEffect { identity: "a", server: "crm", tool: "put", args: &json!({}) })
        .expect("begun");
    // A small step takes nothing from a holder that lives, and neither does a large one after which it renewed.
    set(&store, UNTIL, 25_000);
    assert_eq!(begin(), Began::Busy);
    set(&store, UNTIL, AHEAD);
    requests.renew(&first, 10_000).expect("held");
    assert_eq!((begin(), requests.stands("k")), (Began::Busy, Ok(Stands::UnderWay)));
    set(&store, UNTIL, AHEAD);
    assert_eq!(requests.stands("k"), Ok(Stands::Free));
    let Began::Held { lease: second, again: true } = begin() else { panic!("it is taken over") };
    let reply = |lease| requests.keep(&Reply { lease, answer: &json!(1) });
    assert!(reply(&first).is_err() && requests.renew(&first, 10_000).is_err());
    assert_eq!(reply(&second), Ok(()));
}

#[test]
fn a_session_whose_lease_ends_further_ahead_than_any_lasts_is_free() {
    let store = store();
    let sessions = session(&store);
    let first = sessions.take("s", "ann", 10_000, None).expect("taken");
    set(&store, LEASE, 25_000);
    assert_eq!(sessions.take("s", "ann", 10_000, None).err(), Some(SessionError::Busy));
    set(&store, LEASE, AHEAD);
    assert!(!sessions.read("s", "ann", None).expect("open").busy);
    assert!(!sessions.list("ann").expect("a list")[0].busy);
    let second = sessions.take("s", "ann", 10_000, None).expect("taken over");
    assert_eq!(sessions.commit(&first.lease, 0, &json!({}), None), Err(SessionError::Lost));
    assert_eq!(sessions.commit(&second.lease, 0, &json!({}), None), Ok(1));
    // Nor does it keep one from ending.
    sessions.take("s", "ann", 10_000, None).expect("taken");
    set(&store, LEASE, AHEAD);
    set(&store, ENDS, -1);
    assert_eq!(sessions.sweep(), Ok(1));
}

#[test]
fn the_mark_of_a_call_that_ends_further_ahead_than_any_lasts_is_not_believed() {
    const UNTIL: &str = "UPDATE ptc_effects SET made_until = ?1";
    let store = store();
    let effects = Effects::new(store.clone()).made_by("dead", 10_000);
    let new = NewEffect { identity: "a", server: "crm", tool: "put", args: &json!({}) };
    effects.begin("k", &new).expect("begun");
    let of_all = || effects.gaps(None).expect("a list").remove(0);
    let of_one = || effects.gaps(Some("k")).expect("a list").remove(0);
    let left = || effects.left_open(|_| true).expect("a list").len();
    for (until, lately) in [(10_000, true), (25_000, true), (AHEAD, false), (-1, false)] {
        set(&store, UNTIL, until);
        for gap in [of_all(), of_one()] {
            let made = gap.made_by().expect("a process began it");
            assert_eq!((made.process.as_str(), made.lately), ("dead", lately), "{until}");
        }
        assert_eq!(left(), usize::from(!lately), "{until}");
        let looked = effects.settle_unless_made("k", "a", &Finding::DidNotHappen, "looked", |made| {
            assert_eq!(made.lately, lately, "{until}");
            true
        });
        assert_eq!(looked, Err(EffectError::UnderWay));
    }
}

#[test]
fn a_ticket_whose_lease_ends_further_ahead_than_any_lasts_is_free() {
    const UNTIL: &str = "UPDATE ptc_tickets SET lease_until = ?1";
    let store = store();
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t", None, now(&store) + HOUR);
    let take = || tickets.take("t", "ann", &json!("yes"), 10_000);
    let first = take().expect("taken");
    set(&store, UNTIL, 25_000);
    assert_eq!((take().err(), tickets.count_waiting()), (Some(TicketError::Busy), Ok(0)));
    set(&store, UNTIL, AHEAD);
    assert_eq!(tickets.count_waiting(), Ok(1));
    assert!(!tickets.read("t", "ann").expect("open").busy);
    let second = take().expect("taken over");
    assert!(second.again);
    assert_eq!(tickets.done(&first.lease, &json!(1), None), Err(TicketError::Lost));
    assert_eq!(tickets.done(&second.lease, &json!(2), None), Ok(()));
}

#[test]
fn calls_that_are_being_made_are_not_left_open() {
    let store = store();
    let effects = Effects::new(store.clone());
    let args = json!({});
    let call = |identity, tool| NewEffect { identity, server: "crm", tool, args: &args };
    for (maker, identity) in [("lives", "a"), ("gone", "b"), ("gone", "c")] {
        effects.clone().made_by(maker, HOUR).begin("k", &call(identity, "put")).expect("begun");
    }
    effects.begin("k", &call("d", "put")).expect("begun");
    effects.clone().made_by("lives", HOUR).begin("k", &call("e", "send")).expect("begun");
    let left = effects.left_open(|maker| maker == "lives").expect("a list");
    let left: Vec<(&str, u64)> = left.iter().map(|open| (open.tool.as_str(), open.calls)).collect();
    assert_eq!(left, [("put", 3)]);
}

/// What a machine that ends suddenly leaves behind depends on these.
#[test]
fn a_file_is_written_by_way_of_its_log_and_synced_when_the_log_is_copied() {
    let folder = std::env::temp_dir().join(format!("ptc-store-settings-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let store = Store::open(&folder.join("store.db").to_string_lossy()).expect("opens");
    let settings = |tx: &mut Tx<'_>| {
        let mode = tx.first("PRAGMA journal_mode", &[], |row| row.text(0))?;
        let [synchronous, fully, keys] =
            ["PRAGMA synchronous", "PRAGMA fullfsync", "PRAGMA foreign_keys"].map(|sql| tx.number(sql, &[]));
        Ok::<_, StoreError>((mode, synchronous?, fully?, keys?))
    };
    let expected = (Some("wal".to_owned()), 1, 1, 1);
    assert_eq!(store.read(settings), Ok(expected.clone()));
    assert_eq!(store.note("test", settings), Ok(expected), "the connection that writes");
    drop(store);
    std::fs::remove_dir_all(folder).expect("it was made");
}
