//! Sessions in a store. Each rule holds in memory, in a file and on a server alike.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ptc_store::Store;
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use ptc_store::sessions::{Along, NewSession, SessionError, SessionQuota, Sessions, Times};
use ptc_store::tickets::{NewTicket, TicketError, Tickets};
use serde_json::{Value as Json, json};

use crate::support::{Rule, everywhere, next_moment};

const RULES: &[Rule] = &[
    ("a commit changes meta and state at once", committed),
    ("a change and the answer of its request are kept together", replied),
    ("a session begins and ends together with the answer of its request", replied_at_both_ends),
    ("a change and the end of its ticket are kept together", ticketed),
    ("a session is held by one at a time", held),
    ("who was replaced cannot write", fenced),
    ("a session belongs to its owner", owned),
    ("sessions end by being closed, by their time and by not being used", ended),
    ("there is room for so many sessions", room),
    ("sessions are listed, the last changed first", listed),
    ("what is large or strange is kept as it is", kept_exactly),
    ("of many threads that take a session one has it", raced),
    ("a session in which a program waits lives as long as its ticket", waiting),
    ("tickets of sessions that are over or have changed are gone", gone),
];

#[test]
fn sessions_are_kept_in_every_place() {
    everywhere("sessions", RULES);
}

const LONG: i64 = 3_600_000;
const ROOM: SessionQuota = SessionQuota { most: 1_000, per_owner: 1_000 };

fn of(store: &Arc<Store>) -> Sessions {
    Sessions::new(store.clone())
}

fn begin(sessions: &Sessions, id: &str, owner: &str) {
    begin_for(sessions, id, owner, LONG, LONG).expect("begins");
}

fn begin_for(
    sessions: &Sessions,
    id: &str,
    owner: &str,
    ttl_ms: i64,
    idle_ms: i64,
) -> Result<(), SessionError> {
    let (origin, meta) = (json!({"of": id}), json!({"turn": 0}));
    let new = NewSession { id, owner, origin: &origin, meta: &meta, ttl_ms, idle_ms };
    sessions.create(&new, ROOM).map(|_| ())
}

/// Meta and state after the last commit.
fn last(sessions: &Sessions, id: &str, owner: &str) -> (Json, Option<Vec<u8>>) {
    let kept = sessions.read(id, owner, None).expect("reads").kept.expect("all of it");
    (kept.meta, kept.state)
}

fn committed(store: &Arc<Store>) {
    let sessions = of(store);
    begin(&sessions, "a", "ann");
    assert_eq!(begin_for(&sessions, "a", "ann", LONG, LONG), Err(SessionError::Exists));
    let taken = sessions.take("a", "ann", LONG, None).expect("taken");
    let kept = taken.kept.expect("nothing was known");
    assert_eq!((taken.version, kept.origin, kept.state), (0, json!({"of": "a"}), None));
    assert_eq!(sessions.commit(&taken.lease, 0, &json!({"turn": 1}), Some(b"one")), Ok(1));
    assert_eq!(last(&sessions, "a", "ann"), (json!({"turn": 1}), Some(b"one".to_vec())));
    // A commit gives the session back; without a state the last one stays.
    let taken = sessions.take("a", "ann", LONG, Some(1)).expect("taken");
    assert_eq!((taken.version, taken.kept), (1, None), "what is known is not read again");
    assert_eq!(sessions.commit(&taken.lease, 1, &json!({"turn": 1, "attempts": 2}), None), Ok(2));
    assert_eq!(last(&sessions, "a", "ann").1, Some(b"one".to_vec()));
    let taken = sessions.take("a", "ann", LONG, Some(1)).expect("taken");
    assert_eq!(taken.kept.expect("version 1 is not the last").meta["attempts"], 2);
    // Whoever takes it and gives it back leaves it as it was.
    sessions.release(&taken.lease).expect("given back");
    assert_eq!(sessions.read("a", "ann", Some(2)).expect("reads").kept, None);
    assert_eq!(sessions.read("a\0", "ann", None), Err(SessionError::Missing));
}

fn replied(store: &Arc<Store>) {
    let (sessions, requests) = (of(store), Requests::new(store.clone()));
    begin(&sessions, "a", "ann");
    let answer = json!({"result": 1});
    let request = NewRequest { scope: "k", tool: "session eval", digest: b"d" };
    let hold = || match requests.begin(&request, 0) {
        Ok(Began::Held { lease, .. }) => lease,
        other => panic!("nobody holds it: {other:?}"),
    };
    let commit = |lease, version, holder| {
        let reply = Along::Reply(Reply { lease: holder, answer: &answer });
        sessions.commit_along(lease, version, &json!({"turn": 1}), Some(b"one"), Some(&reply))
    };
    let taken = sessions.take("a", "ann", LONG, None).expect("taken");
    let (lost, held) = (hold(), hold());
    assert_eq!(commit(&taken.lease, 0, &lost), Err(SessionError::Lost), "another has taken the request over");
    assert_eq!(last(&sessions, "a", "ann"), (json!({"turn": 0}), None), "both or none");
    assert_eq!(commit(&taken.lease, 7, &held), Err(SessionError::Lost), "another version");
    let held = hold();
    assert_eq!(commit(&taken.lease, 0, &held), Ok(1), "nobody had ended it");
    assert_eq!(requests.begin(&request, LONG), Ok(Began::Done(answer.clone())));
    assert_eq!(last(&sessions, "a", "ann"), (json!({"turn": 1}), Some(b"one".to_vec())));
}

fn replied_at_both_ends(store: &Arc<Store>) {
    let (sessions, requests) = (of(store), Requests::new(store.clone()));
    let request = |scope: &str| match requests.begin(&NewRequest { scope, tool: "start", digest: b"d" }, LONG)
    {
        Ok(Began::Held { lease, .. }) => lease,
        other => panic!("nobody holds {scope}: {other:?}"),
    };
    let (origin, meta) = (json!({}), json!({"turn": 0}));
    let new = |id: &'static str| NewSession {
        id,
        owner: "ann",
        origin: &origin,
        meta: &meta,
        ttl_ms: LONG,
        idle_ms: LONG,
    };
    let lease = request("k1");
    let told = |times: &Times| json!({"expires": times.expires_ms});
    let times = sessions.create_along(&new("s1"), ROOM, Some((&lease, &told))).expect("begins");
    let again = NewRequest { scope: "k1", tool: "start", digest: b"d" };
    assert_eq!(requests.begin(&again, LONG), Ok(Began::Done(json!({"expires": times.expires_ms}))));
    // Who has no right to reply begins nothing and ends nothing.
    let refused = sessions.create_along(&new("s2"), ROOM, Some((&lease, &told)));
    assert_eq!(refused, Err(SessionError::Lost));
    assert_eq!(sessions.read("s2", "ann", None).err(), Some(SessionError::Missing));
    let reply = Reply { lease: &lease, answer: &json!("closed") };
    assert_eq!(sessions.close_along("s1", "ann", Some(&reply)), Err(SessionError::Lost));
    assert!(sessions.read("s1", "ann", None).is_ok(), "it is open");
    let lease = request("k2");
    let reply = Reply { lease: &lease, answer: &json!("closed") };
    sessions.close_along("s1", "ann", Some(&reply)).expect("closes");
    assert_eq!(sessions.read("s1", "ann", None).err(), Some(SessionError::Closed));
    let again = NewRequest { scope: "k2", tool: "start", digest: b"d" };
    assert_eq!(requests.begin(&again, LONG), Ok(Began::Done(json!("closed"))));
}

fn ticketed(store: &Arc<Store>) {
    let (sessions, tickets) = (of(store), Tickets::new(store.clone()));
    begin(&sessions, "a", "ann");
    let about = json!({});
    let new = NewTicket {
        id: "t",
        owner: "ann",
        kind: "session",
        session: None,
        expires_ms: i64::MAX,
        sealed: b"x",
        about: &about,
    };
    tickets.put(&new, ptc_store::tickets::TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("kept");
    let dead = tickets.take("t", "ann", &json!("approve"), 0).expect("taken");
    let alive = tickets.take("t", "ann", &json!("approve"), LONG).expect("taken again");
    let taken = sessions.take("a", "ann", LONG, None).expect("taken");
    let (meta, ended) = (json!({"turn": 1}), json!({"status": "ok"}));
    let (requests, answer) = (Requests::new(store.clone()), json!({"result": 1}));
    let request = NewRequest { scope: "k", tool: "approve", digest: b"d" };
    let decides = || match requests.begin(&request, 0) {
        Ok(Began::Held { lease, .. }) => lease,
        other => panic!("nobody holds it: {other:?}"),
    };
    let commit = |ticket, lease| {
        let along = Along::Ticket(ticket, &ended, Some(Reply { lease, answer: &answer }));
        sessions.commit_along(&taken.lease, 0, &meta, None, Some(&along))
    };
    let (replaced, held) = (decides(), decides());
    for (ticket, request, who) in
        [(&dead, &held, "who lost the ticket"), (&alive, &replaced, "who lost the request that decided")]
    {
        assert_eq!(commit(&ticket.lease, request), Err(SessionError::Lost), "{who} changes nothing");
        assert_eq!(last(&sessions, "a", "ann"), (json!({"turn": 0}), None), "{who}");
        assert!(tickets.read("t", "ann").is_ok_and(|waits| waits.busy), "{who} leaves the ticket as it was");
    }
    assert_eq!(commit(&alive.lease, &held), Ok(1));
    assert_eq!(tickets.read("t", "ann"), Err(TicketError::Used { ended: ended.clone() }));
    assert_eq!(requests.begin(&request, LONG), Ok(Began::Done(answer.clone())), "all three or none");
}

/// A ticket of a program that waits in a session.
fn wait_in(store: &Arc<Store>, id: &str, session: &str, ttl_ms: i64) -> Result<(), TicketError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_millis() as i64;
    let about = json!({});
    let new = NewTicket {
        id,
        owner: "ann",
        kind: "session",
        session: Some(session),
        expires_ms: now + ttl_ms,
        sealed: b"x",
        about: &about,
    };
    Tickets::new(store.clone()).put(
        &new,
        ptc_store::tickets::TicketQuota { tickets: 9, bytes: 1 << 20 },
        None,
    )
}

fn waiting(store: &Arc<Store>) {
    let (sessions, tickets) = (of(store), Tickets::new(store.clone()));
    // Neither used nor held from the start, and its time is over, too.
    begin_for(&sessions, "a", "ann", 0, 0).expect("begins");
    wait_in(store, "t", "a", LONG).expect("kept");
    begin_for(&sessions, "b", "ann", 0, 0).expect("begins");
    assert_eq!(sessions.sweep(), Ok(1), "only that in which nothing waits");
    assert_eq!(sessions.read("b", "ann", None), Err(SessionError::Closed));
    let seen = sessions.read("a", "ann", None).expect("it lives as long as its ticket");
    assert!(seen.times.expires_ms - seen.times.created_ms > LONG / 2);
    assert_eq!(sessions.list("ann").expect("a list").len(), 1);
    // The program goes on: session and ticket end together.
    let ticket = tickets.take("t", "ann", &json!("approve"), LONG).expect("taken");
    let taken = sessions.take("a", "ann", LONG, None).expect("taken");
    let (meta, ended) = (json!({"turn": 1}), json!({"status": "ok"}));
    let along = Along::Ticket(&ticket.lease, &ended, None);
    assert_eq!(sessions.commit_along(&taken.lease, 0, &meta, Some(b"one"), Some(&along)), Ok(1));
    assert_eq!(sessions.sweep(), Ok(1), "nothing waits any more");
}

fn gone(store: &Arc<Store>) {
    let (sessions, tickets) = (of(store), Tickets::new(store.clone()));
    for id in ["changed", "tried", "closed"] {
        begin(&sessions, id, "ann");
        wait_in(store, &format!("in {id}"), id, LONG).expect("kept");
    }
    let open = || {
        let listed = tickets.list_open("ann").expect("a list");
        listed.into_iter().map(|one| one.id).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(open(), ["in changed", "in closed", "in tried"]);
    // A program that was not kept changes nothing that others depend on.
    let taken = sessions.take("tried", "ann", LONG, None).expect("taken");
    assert_eq!(sessions.commit(&taken.lease, 0, &json!({"attempts": 1}), None), Ok(1));
    let taken = sessions.take("changed", "ann", LONG, None).expect("taken");
    assert_eq!(sessions.commit(&taken.lease, 0, &json!({"turn": 1}), Some(b"one")), Ok(1));
    sessions.close("closed", "ann").expect("closed");
    assert_eq!(open(), ["in tried"], "the others count for nothing");
    for id in ["in changed", "in closed"] {
        assert_eq!(tickets.read(id, "ann"), Err(TicketError::Gone), "{id}");
        assert_eq!(tickets.take(id, "ann", &json!("reject"), LONG), Err(TicketError::Gone), "{id}");
    }
    assert_eq!(
        wait_in(store, "late", "closed", LONG),
        Err(TicketError::Gone),
        "nor does one that comes late"
    );
    // Whoever goes on with a program ends its ticket, whatever became of the session.
    let held = tickets.take("in tried", "ann", &json!("approve"), LONG).expect("taken");
    sessions.close("tried", "ann").expect("closed");
    tickets.done(&held.lease, &json!({"status": "error"}), None).expect("it is told");
    tickets.session_gone("elsewhere").expect("there are none");
}

fn held(store: &Arc<Store>) {
    let sessions = of(store);
    begin(&sessions, "a", "ann");
    let taken = sessions.take("a", "ann", LONG, None).expect("taken");
    assert_eq!(sessions.take("a", "ann", LONG, None).err(), Some(SessionError::Busy));
    assert!(sessions.read("a", "ann", None).expect("looking is free").busy);
    sessions.renew(&taken.lease, LONG).expect("still held");
    sessions.release(&taken.lease).expect("given back");
    assert!(!sessions.read("a", "ann", None).expect("reads").busy);
    assert_eq!(
        sessions.renew(&taken.lease, LONG),
        Err(SessionError::Lost),
        "what was given back is not held"
    );
    sessions.take("a", "ann", LONG, None).expect("taken again");
}

fn fenced(store: &Arc<Store>) {
    let sessions = of(store);
    begin(&sessions, "a", "ann");
    // Leases of no length are over at once.
    let slow = sessions.take("a", "ann", 0, None).expect("taken");
    let quick = sessions.take("a", "ann", 0, None).expect("taken over");
    assert_eq!(sessions.renew(&slow.lease, LONG), Err(SessionError::Lost));
    assert_eq!(sessions.commit(&slow.lease, 0, &json!("slow"), Some(b"slow")), Err(SessionError::Lost));
    sessions.release(&slow.lease).expect("nothing to give back");
    // Nobody replaced this one, so that its lease is over does no harm.
    assert_eq!(sessions.commit(&quick.lease, 0, &json!("quick"), Some(b"quick")), Ok(1));
    // The same lease cannot write twice.
    assert_eq!(sessions.commit(&quick.lease, 0, &json!("again"), None), Err(SessionError::Lost));
    assert_eq!(last(&sessions, "a", "ann"), (json!("quick"), Some(b"quick".to_vec())));
    // Even if who replaced it changed nothing.
    let slow = sessions.take("a", "ann", 0, None).expect("taken");
    let idle = sessions.take("a", "ann", 0, None).expect("taken over");
    sessions.release(&idle.lease).expect("given back");
    assert_eq!(sessions.commit(&slow.lease, 1, &json!("slow"), None), Err(SessionError::Lost));
}

fn owned(store: &Arc<Store>) {
    let sessions = of(store);
    begin(&sessions, "a", "ann");
    assert_eq!(sessions.take("a", "bob", LONG, None).err(), Some(SessionError::Owner));
    assert_eq!(sessions.read("a", "bob", None).err(), Some(SessionError::Owner));
    assert_eq!(sessions.touch("a", "bob"), Err(SessionError::Owner));
    assert_eq!(sessions.close("a", "bob"), Err(SessionError::Owner));
    sessions.close("a", "ann").expect("closed");
    assert_eq!(sessions.read("a", "bob", None).err(), Some(SessionError::Owner), "over, and still hers");
    assert_eq!(sessions.take("b", "ann", LONG, None).err(), Some(SessionError::Missing));
}

fn ended(store: &Arc<Store>) {
    let sessions = of(store);
    begin(&sessions, "closed", "ann");
    let taken = sessions.take("closed", "ann", LONG, None).expect("taken");
    sessions.close("closed", "ann").expect("closed, although it is held");
    assert_eq!(sessions.commit(&taken.lease, 0, &json!(1), Some(b"1")), Err(SessionError::Closed));
    assert_eq!(sessions.renew(&taken.lease, LONG), Err(SessionError::Closed));
    assert_eq!(sessions.close("closed", "ann"), Err(SessionError::Closed));
    begin_for(&sessions, "old", "ann", 0, LONG).expect("begins");
    begin_for(&sessions, "idle", "ann", LONG, 0).expect("begins");
    for id in ["old", "idle", "closed"] {
        assert_eq!(sessions.take(id, "ann", LONG, None).err(), Some(SessionError::Closed), "{id}");
    }
    begin(&sessions, "open", "ann");
    assert_eq!(sessions.list("ann").expect("a list").len(), 1);
    // Beginning a session has swept before.
    assert_eq!((sessions.count(), sessions.sweep()), (Ok(1), Ok(0)));
    begin_for(&sessions, "late", "ann", 0, LONG).expect("begins");
    assert_eq!((sessions.sweep(), sessions.sweep()), (Ok(1), Ok(0)));
    assert_eq!(sessions.read("late", "ann", None).err(), Some(SessionError::Closed), "it is remembered");
    sessions.touch("open", "ann").expect("open");
    let mut gone = sessions.close_owner("ann").expect("closed");
    gone.sort();
    assert_eq!((gone.as_slice(), sessions.count()), (["open".to_owned()].as_slice(), Ok(0)));
}

fn room(store: &Arc<Store>) {
    let sessions = of(store);
    let create = |id: &str, owner: &str| {
        let nothing = json!({});
        let new = NewSession { id, owner, origin: &nothing, meta: &nothing, ttl_ms: LONG, idle_ms: LONG };
        sessions.create(&new, SessionQuota { most: 3, per_owner: 2 }).map(|_| ())
    };
    assert_eq!((create("1", "ann"), create("2", "ann")), (Ok(()), Ok(())));
    assert_eq!(create("3", "ann"), Err(SessionError::OwnerFull));
    assert_eq!(create("3", "bob"), Ok(()));
    assert_eq!(create("4", "bob"), Err(SessionError::Full));
    sessions.close("1", "ann").expect("closed");
    assert_eq!(create("4", "bob"), Ok(()));
}

fn listed(store: &Arc<Store>) {
    let sessions = of(store);
    for id in ["a", "b", "c"] {
        begin(&sessions, id, "ann");
    }
    begin(&sessions, "d", "bob");
    next_moment(store);
    let taken = sessions.take("b", "ann", LONG, None).expect("taken");
    sessions.commit(&taken.lease, 0, &json!({"turn": 1}), None).expect("committed");
    let taken = sessions.take("c", "ann", LONG, None).expect("taken");
    let list = sessions.list("ann").expect("a list");
    let seen: Vec<(&str, i64, bool)> =
        list.iter().map(|one| (one.id.as_str(), one.version, one.busy)).collect();
    assert_eq!(seen[0], ("b", 1, false));
    assert_eq!((seen.len(), seen.contains(&("c", 0, true))), (3, true));
    assert!(list[0].times.changed_ms > list[0].times.created_ms);
    sessions.release(&taken.lease).expect("given back");
}

fn kept_exactly(store: &Arc<Store>) {
    let sessions = of(store);
    let large: Vec<u8> = (0..2_000_000_u32).map(|number| (number % 251) as u8).collect();
    let strange = json!({"text": "\u{0} ?1 \u{1f600} '", "deep": [[[[{"n": 1e300}]]]]});
    let new = NewSession {
        id: "ü ?1 '",
        owner: "ann\n",
        origin: &strange,
        meta: &strange,
        ttl_ms: i64::MAX,
        idle_ms: i64::MAX,
    };
    sessions.create(&new, ROOM).expect("begins");
    let taken = sessions.take(new.id, new.owner, i64::MAX, None).expect("taken");
    assert_eq!(taken.kept.expect("all").origin, strange);
    sessions.commit(&taken.lease, 0, &strange, Some(&large)).expect("committed");
    assert_eq!(last(&sessions, new.id, new.owner), (strange, Some(large)));
}

fn raced(store: &Arc<Store>) {
    const THREADS: usize = 6;
    const EACH: usize = 10;
    let sessions = of(store);
    begin(&sessions, "a", "ann");
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut done = 0;
                while done < EACH {
                    match sessions.take("a", "ann", LONG, None) {
                        Ok(taken) => {
                            let turn = taken.kept.expect("all").meta["turn"].as_i64().expect("a number") + 1;
                            let state = turn.to_string();
                            let kept = sessions.commit(
                                &taken.lease,
                                taken.version,
                                &json!({"turn": turn}),
                                Some(state.as_bytes()),
                            );
                            assert_eq!(kept, Ok(turn), "nobody else can have written");
                            done += 1;
                        }
                        Err(SessionError::Busy) => std::thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let all = THREADS * EACH;
    assert_eq!(last(&sessions, "a", "ann"), (json!({"turn": all}), Some(all.to_string().into_bytes())));
}
