//! Tickets in a store. Each rule holds in memory, in a file and on a server alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_store::Store;
use ptc_store::effects::{Effects, Holder, NewEffect, Seen};
use ptc_store::requests::{Began, NewRequest, Reply, Requests};
use ptc_store::tickets::{
    NewTicket, REMEMBERED_MS, Ruling, SCOPE, TakenTicket, TicketError, TicketQuota, Tickets,
};
use serde_json::{Value as Json, json};

use crate::eventually::eventually;
use crate::support::{Rule, everywhere};

const RULES: &[Rule] = &[
    ("a ticket is used once, and says what came of it", used),
    ("a ticket is held by one at a time, and who was replaced cannot end it", fenced),
    ("what was decided stays decided", decided),
    (
        "a decision that means the same keeps the first, and one that counts instead replaces it for good",
        ruled,
    ),
    ("lists and whoever looks see what was decided", listed),
    ("of those who approve and reject what was left one has it", raced_over),
    ("a program that waits again has its next ticket at the same moment", chained),
    ("a ticket belongs to its owner", owned),
    ("an owner has so many tickets and no more", limited),
    ("a ticket and the answer of its request are kept together", replied),
    ("the end of a ticket and the answer of the request that decided are kept together", ended_along),
    ("a ticket expires, unless it was taken in time", expired),
    ("of many threads that take a ticket one has it", raced),
    ("what a program was told goes when its ticket is over, and its calls stay", told),
    ("whoever runs the servers sees what waits for all", all),
    ("a ticket that nobody can open is ended by its owner, unless somebody holds it", ended_unopened),
];

#[test]
fn tickets_are_kept_in_every_place() {
    everywhere("tickets", RULES);
}

const LONG: i64 = 3_600_000;

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_millis()).expect("a number")
}

fn room(tickets: u64) -> TicketQuota {
    TicketQuota { tickets, bytes: 1 << 20 }
}

fn put_until(tickets: &Tickets, id: &str, expires_ms: i64) {
    let about = json!({"calls": [id]});
    let new = NewTicket {
        id,
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms,
        sealed: id.as_bytes(),
        about: &about,
    };
    tickets.put(&new, room(100), None).expect("kept");
}

fn put(tickets: &Tickets, id: &str) {
    put_until(tickets, id, now() + LONG);
}

fn take(tickets: &Tickets, id: &str, owner: &str, lease_ms: i64) -> Result<TakenTicket, TicketError> {
    tickets.take(id, owner, &json!({"approve": [1, 0.1]}), lease_ms)
}

fn used(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    let listed = tickets.list_open("ann").expect("a list");
    assert_eq!((listed.len(), listed[0].busy, &listed[0].about), (1, false, &json!({"calls": ["t"]})));
    let waiting = tickets.read("t", "ann").expect("open");
    assert_eq!((waiting.sealed.as_slice(), waiting.kind.as_str(), waiting.busy), (&b"t"[..], "eval", false));
    let taken = take(&tickets, "t", "ann", LONG).expect("taken");
    assert!(!taken.again);
    tickets.renew(&taken.lease, LONG).expect("still held");
    tickets.done(&taken.lease, &json!({"value": 42}), None).expect("done");
    let ended = TicketError::Used { ended: json!({"value": 42}) };
    assert_eq!(take(&tickets, "t", "ann", LONG), Err(ended.clone()));
    assert_eq!(tickets.read("t", "ann"), Err(ended));
    assert_eq!(tickets.done(&taken.lease, &json!("other"), None), Err(TicketError::Lost));
    assert_eq!(tickets.list_open("ann"), Ok(vec![]));
}

fn ended_unopened(store: &Arc<Store>) {
    let (tickets, ended) = (Tickets::new(store.clone()), json!({"status": "ok", "text": "rejected"}));
    put(&tickets, "t");
    assert_eq!(tickets.end("t", "bob", &ended), Err(TicketError::Owner));
    assert_eq!(tickets.end("nothing", "ann", &ended), Err(TicketError::Missing));
    assert_eq!(tickets.end("t", "ann", &ended), Ok(false));
    assert_eq!(tickets.read("t", "ann"), Err(TicketError::Used { ended: ended.clone() }));
    assert_eq!(tickets.end("t", "ann", &ended), Err(TicketError::Used { ended: ended.clone() }));
    assert_eq!(tickets.list_open("ann"), Ok(vec![]));
    // Somebody goes on with it, or did and was lost.
    put(&tickets, "held");
    let taken = take(&tickets, "held", "ann", LONG).expect("taken");
    assert_eq!(tickets.end("held", "ann", &ended), Err(TicketError::Busy));
    tickets.release(&TakenTicket { again: true, ..taken.clone() }).expect("given back");
    assert_eq!(tickets.end("held", "ann", &ended), Ok(true), "calls may have been made");
    assert_eq!(tickets.done(&taken.lease, &json!("late"), None), Err(TicketError::Lost));
}

fn ended_along(store: &Arc<Store>) {
    let (tickets, requests) = (Tickets::new(store.clone()), Requests::new(store.clone()));
    let (ended, answer) = (json!({"status": "ok"}), json!({"result": 1}));
    // By whoever goes on with it, and by whoever ends one that nobody can open.
    type End = fn(&Tickets, &str, &Json, &Reply<'_>) -> Result<(), TicketError>;
    let ways: [(&str, End); 2] = [
        ("done", |tickets, id, ended, reply| {
            let taken = take(tickets, id, "ann", 0).expect("nobody holds it");
            tickets.done_along(&taken.lease, ended, None, Some(reply))
        }),
        ("end", |tickets, id, ended, reply| tickets.end_along(id, "ann", ended, Some(reply)).map(drop)),
    ];
    for (id, end) in ways {
        put(&tickets, id);
        let request = NewRequest { scope: id, tool: "approve", digest: b"d" };
        let hold = || match requests.begin(&request, 0) {
            Ok(Began::Held { lease, .. }) => lease,
            other => panic!("{id}: nobody holds it: {other:?}"),
        };
        let (replaced, held) = (hold(), hold());
        let by = |lease| end(&tickets, id, &ended, &Reply { lease, answer: &answer });
        assert_eq!(by(&replaced), Err(TicketError::Lost), "{id}: another has the request");
        assert!(tickets.read(id, "ann").is_ok(), "{id}: the ticket is open");
        assert_eq!(by(&held), Ok(()), "{id}");
        assert_eq!(tickets.read(id, "ann"), Err(TicketError::Used { ended: ended.clone() }), "{id}");
        assert_eq!(requests.begin(&request, LONG), Ok(Began::Done(answer.clone())), "{id}");
    }
}

fn all(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    let about = json!({});
    for (id, owner, expires_ms) in
        [("a", "ann", now() + LONG), ("b", "bob", now() + LONG), ("c", "bob", 1), ("d", "ann", now() + LONG)]
    {
        let new =
            NewTicket { id, owner, kind: "eval", session: None, expires_ms, sealed: b"x", about: &about };
        tickets.put(&new, room(100), None).expect("kept");
    }
    let taken = take(&tickets, "d", "ann", LONG).expect("taken");
    tickets.done(&taken.lease, &json!(1), None).expect("used");
    let mut listed: Vec<(String, String)> =
        tickets.list_all().expect("a list").into_iter().map(|(owner, ticket)| (owner, ticket.id)).collect();
    listed.sort();
    let pair = |owner: &str, id: &str| (owner.to_owned(), id.to_owned());
    assert_eq!(listed, [pair("ann", "a"), pair("bob", "b")]);
    assert_eq!(tickets.count_all(), Ok(2));
}

/// The name of an end, and what brings it about.
type Ending = (&'static str, fn(&Tickets, &TakenTicket));

/// How a ticket that somebody took and left comes to its end.
const ENDINGS: &[Ending] = &[
    ("used", |tickets, taken| tickets.done(&taken.lease, &json!("ok"), None).expect("it is held")),
    ("its session is gone", |tickets, taken| {
        // Its holder died.
        tickets.renew(&taken.lease, 0).expect("it is held");
        tickets.session_gone(SESSION).expect("it is dropped");
    }),
];
const SESSION: &str = "the session of a program";

fn told(store: &Arc<Store>) {
    let (tickets, effects) = (Tickets::new(store.clone()), Effects::new(store.clone()));
    for (end, over) in ENDINGS {
        let (about, scope) = (json!({}), format!("{SCOPE}{end}"));
        let new = NewTicket {
            id: end,
            owner: "ann",
            kind: "session",
            session: Some(SESSION),
            expires_ms: now() + LONG,
            sealed: b"sealed",
            about: &about,
        };
        tickets.put(&new, room(100), None).expect("kept");
        let taken = take(&tickets, end, "ann", LONG).expect("it is free");
        let seen = [Seen { identity: "read 1".to_owned(), answer: json!({"n": 1}) }];
        let call = NewEffect { identity: "w", server: "crm", tool: "put", args: &about };
        effects.begin_held(&scope, &call, Holder::Ticket(&taken.lease), &seen).expect("it is begun");
        assert_eq!(effects.seen(&scope).as_deref(), Ok(&seen[..]), "{end}: whoever takes it over needs it");
        over(&tickets, &taken);
        assert_eq!(effects.seen(&scope), Ok(vec![]), "{end}");
        assert_eq!(effects.gaps(Some(&scope)).expect("a list").len(), 1, "{end}: what nobody knows stays");
    }
}

fn fenced(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    let dead = take(&tickets, "t", "ann", 0).expect("taken");
    let taken = take(&tickets, "t", "ann", LONG).expect("its lease was over");
    assert!(taken.again, "somebody may have begun");
    assert_eq!(take(&tickets, "t", "ann", LONG), Err(TicketError::Busy));
    assert!(tickets.read("t", "ann").expect("open").busy);
    assert_eq!(tickets.renew(&dead.lease, LONG), Err(TicketError::Lost));
    assert_eq!(tickets.done(&dead.lease, &json!("late"), None), Err(TicketError::Lost));
    tickets.release(&taken).expect("given back");
    let taken = take(&tickets, "t", "ann", LONG).expect("taken");
    assert!(taken.again, "whoever died had begun");
    put(&tickets, "u");
    let fresh = take(&tickets, "u", "ann", LONG).expect("taken");
    tickets.release(&fresh).expect("given back");
    let again = tickets.take("u", "ann", &json!("reject"), LONG).expect("nothing was decided");
    assert!(!again.again, "given back as if nothing was done");
}

fn decided(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    take(&tickets, "t", "ann", 0).expect("taken by one who died");
    let before = json!({"approve": [1, 0.1]});
    let otherwise = tickets.take("t", "ann", &json!("reject"), LONG);
    assert_eq!(otherwise, Err(TicketError::Decided { before: before.clone() }));
    let taken = tickets.take("t", "ann", &before, LONG).expect("the same");
    tickets.release(&taken).expect("given back");
    assert_eq!(tickets.take("t", "ann", &json!("reject"), LONG), Err(TicketError::Decided { before }));
}

fn ruled(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    let first = json!({"reject": "first", "keys": {"a": 1, "b": 2}});
    let dead = tickets.take("t", "ann", &first, 0).expect("taken by one who died");
    assert_eq!(dead.decided, first);
    // The same in another order, and what the caller says is the same.
    let turned = json!({"keys": {"b": 2, "a": 1}, "reject": "first"});
    tickets.take("t", "ann", &turned, 0).expect("the same");
    let second = json!({"reject": "second"});
    let same = tickets.take_over("t", "ann", &second, 0, |_| Ruling::Same).expect("the same");
    assert_eq!((same.decided, same.again), (first.clone(), true), "the first stays");
    let rule = |before: &Json| Ruling::Instead(json!({"over": before}));
    let taken = tickets.take_over("t", "ann", &second, LONG, rule).expect("it counts instead");
    assert_eq!(taken.decided, json!({"over": first}));
    assert_eq!(tickets.renew(&dead.lease, LONG), Err(TicketError::Lost));
    assert_eq!(tickets.take_over("t", "ann", &second, LONG, rule), Err(TicketError::Busy), "it is held");
    tickets.release(&taken).expect("given back");
    let before = json!({"over": first});
    assert_eq!(tickets.take("t", "ann", &first, LONG), Err(TicketError::Decided { before }));
}

fn listed(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    let seen = || {
        let (own, all) = (tickets.list_open("ann").expect("a list"), tickets.list_all().expect("a list"));
        assert_eq!(own[0], all[0].1);
        let read = tickets.read("t", "ann").expect("open");
        assert_eq!((read.busy, &read.decided), (own[0].busy, &own[0].decided));
        (own[0].busy, own[0].decided.clone())
    };
    assert_eq!(seen(), (false, None));
    let taken = tickets.take("t", "ann", &json!("approve"), LONG).expect("taken");
    assert_eq!(seen(), (true, Some(json!("approve"))));
    tickets.release(&TakenTicket { again: true, ..taken }).expect("left with its decision");
    assert_eq!(seen(), (false, Some(json!("approve"))));
}

fn raced_over(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    for round in 0..5 {
        let id = format!("left{round}");
        put(&tickets, &id);
        tickets.take(&id, "ann", &json!("approve"), 0).expect("taken by one who died");
        let take = |decided: &str| {
            let rule = |before: &Json| match (before.as_str(), decided) {
                (Some("approve"), "reject") => Ruling::Instead(json!("reject")),
                (before, decided) if before == Some(decided) => Ruling::Same,
                _ => Ruling::Otherwise,
            };
            tickets.take_over(&id, "ann", &json!(decided), LONG, rule)
        };
        let had = std::thread::scope(|scope| {
            let threads: Vec<_> = ["approve", "reject", "approve", "reject"]
                .map(|decided| scope.spawn(move || (decided, take(decided))))
                .into_iter()
                .collect();
            let took = threads.into_iter().map(|thread| thread.join().expect("it ends"));
            took.filter_map(|(decided, taken)| match taken {
                Ok(taken) => Some((decided, taken.decided)),
                Err(TicketError::Busy) => None,
                Err(error) => panic!("{error}"),
            })
            .collect::<Vec<_>>()
        });
        assert_eq!(had.len(), 1, "{had:?}");
        assert_eq!(had[0].1, json!(had[0].0));
        assert_eq!(tickets.read(&id, "ann").expect("open").decided, Some(json!(had[0].0)));
    }
}

fn chained(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "first");
    let taken = take(&tickets, "first", "ann", LONG).expect("taken");
    let about = json!({});
    let mut next = NewTicket {
        id: "first",
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms: now() + LONG,
        sealed: b"next",
        about: &about,
    };
    assert_eq!(tickets.done(&taken.lease, &json!(1), Some(&next)), Err(TicketError::Exists));
    assert!(tickets.read("first", "ann").is_ok(), "both or none");
    next.id = "second";
    tickets.done(&taken.lease, &json!(1), Some(&next)).expect("done");
    assert_eq!(tickets.read("second", "ann").expect("open").sealed, b"next");
}

fn owned(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put(&tickets, "t");
    assert_eq!(take(&tickets, "t", "bob", LONG), Err(TicketError::Owner));
    assert_eq!(tickets.read("t", "bob"), Err(TicketError::Owner));
    assert_eq!(tickets.list_open("bob"), Ok(vec![]));
    assert_eq!(take(&tickets, "u", "ann", LONG), Err(TicketError::Missing));
    assert_eq!(take(&tickets, "t\0", "ann", LONG), Err(TicketError::Missing));
}

fn limited(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    let about = json!({});
    let put = |id: &str, owner: &str, expires_ms: i64| {
        let new =
            NewTicket { id, owner, kind: "eval", session: None, expires_ms, sealed: b"x", about: &about };
        tickets.put(&new, room(2), None)
    };
    put("late", "ann", now() - 1_000).expect("it counts for nothing");
    put("a", "ann", now() + LONG).expect("kept");
    put("b", "ann", now() + LONG).expect("kept");
    assert_eq!(put("c", "ann", now() + LONG), Err(TicketError::Full));
    put("c", "bob", now() + LONG).expect("another owner");
    let taken = take(&tickets, "a", "ann", LONG).expect("taken");
    tickets.done(&taken.lease, &json!(1), None).expect("done");
    put("d", "ann", now() + LONG).expect("there is room again");
    // What is sealed and what is shown count.
    let large = vec![7; 900_000];
    let put_large = |id: &str| {
        let new = NewTicket {
            id,
            owner: "zoe",
            kind: "eval",
            session: None,
            expires_ms: now() + LONG,
            sealed: &large,
            about: &about,
        };
        tickets.put(&new, room(9), None)
    };
    put_large("l1").expect("kept");
    assert_eq!(put_large("l2"), Err(TicketError::TooLarge { bytes: 900_002 }));
    let taken = take(&tickets, "l1", "zoe", LONG).expect("taken");
    tickets.done(&taken.lease, &json!(1), None).expect("done");
    put_large("l2").expect("there is room again");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let put = &put;
                scope.spawn(move || put(&format!("t{thread}"), "eve", now() + LONG).is_ok())
            })
            .collect();
        let kept = threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|kept| *kept).count();
        assert_eq!(kept, 2, "also if they come at once");
    });
}

fn replied(store: &Arc<Store>) {
    let (tickets, requests) = (Tickets::new(store.clone()), Requests::new(store.clone()));
    let (about, answer) = (json!({}), json!({"ticket": "t"}));
    let new = NewTicket {
        id: "t",
        owner: "ann",
        kind: "eval",
        session: None,
        expires_ms: now() + LONG,
        sealed: b"x",
        about: &about,
    };
    let request = NewRequest { scope: "k", tool: "eval", digest: b"d" };
    let hold = || match requests.begin(&request, 0) {
        Ok(Began::Held { lease, .. }) => lease,
        other => panic!("nobody holds it: {other:?}"),
    };
    let (lost, held) = (hold(), hold());
    let put = |lease| tickets.put(&new, room(9), Some(&Reply { lease, answer: &answer }));
    assert_eq!(put(&lost), Err(TicketError::Lost), "another has taken the request over");
    assert_eq!(tickets.list_open("ann"), Ok(vec![]), "both or none");
    put(&held).expect("kept");
    assert_eq!(requests.begin(&request, LONG), Ok(Began::Done(answer.clone())));
}

fn expired(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    put_until(&tickets, "late", now() - 1_000);
    assert_eq!(take(&tickets, "late", "ann", LONG), Err(TicketError::Expired));
    assert_eq!(tickets.list_open("ann"), Ok(vec![]));
    put_until(&tickets, "long over", now() - REMEMBERED_MS - 1_000);
    assert_eq!(tickets.sweep(), Ok(1));
    assert_eq!(take(&tickets, "long over", "ann", LONG), Err(TicketError::Missing));
    assert_eq!(take(&tickets, "late", "ann", LONG), Err(TicketError::Expired), "it is remembered");
    // Taken in time, its holder died, and then its time was over.
    // On a busy machine the time must be longer for that.
    let begun = (0..).find_map(|round| {
        let (id, beside, until) =
            (format!("begun {round}"), format!("beside {round}"), now() + (400 << round));
        put_until(&tickets, &id, until);
        put_until(&tickets, &beside, until);
        take(&tickets, &id, "ann", 0).ok().map(|_| (id, beside))
    });
    let (id, beside) = begun.expect("one was taken in time");
    eventually("the time of both is over", || tickets.read(&beside, "ann") == Err(TicketError::Expired));
    assert_eq!(tickets.sweep(), Ok(0));
    assert_eq!(tickets.read(&id, "ann").expect("open").sealed, id.as_bytes());
    assert!(take(&tickets, &id, "ann", LONG).expect("goes on").again);
}

fn raced(store: &Arc<Store>) {
    let tickets = Tickets::new(store.clone());
    let had = AtomicUsize::new(0);
    for round in 0..5 {
        let id = format!("t{round}");
        put(&tickets, &id);
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| match take(&tickets, &id, "ann", LONG) {
                    Ok(_) => had.fetch_add(1, Ordering::SeqCst),
                    Err(TicketError::Busy) => 0,
                    Err(error) => panic!("{error}"),
                });
            }
        });
        assert_eq!(had.load(Ordering::SeqCst), round + 1);
    }
}
