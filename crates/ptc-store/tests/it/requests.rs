//! Requests under a key. Each rule holds in memory, in a file and on a server alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ptc_store::effects::{Begun, Effects, Holder, NewEffect};
use ptc_store::requests::{Began, NewRequest, Reply, RequestError, Requests, Stands};
use ptc_store::{Lease, Store};
use serde_json::json;

use crate::support::{Rule, everywhere, next_moment};

const LONG: i64 = 3_600_000;

const RULES: &[Rule] = &[
    ("a request has one holder and one reply", once),
    ("a holder that gives no sign is replaced, and told", replaced),
    ("a request that is given back is free, and known if it did something", given_back),
    ("what is over for long is forgotten", forgotten),
    ("a request without a reply stays for as long as one of its calls has no answer", needed),
    ("of many threads that begin a request one carries it out", raced),
];

#[test]
fn requests_are_kept_in_every_place() {
    everywhere("requests", RULES);
}

const REQUEST: NewRequest<'static> = NewRequest { scope: "ann: k", tool: "eval", digest: b"d" };

/// Takes a request that nobody holds, and says whether it was begun before.
fn held(requests: &Requests, lease_ms: i64) -> (Lease, bool) {
    match requests.begin(&REQUEST, lease_ms) {
        Ok(Began::Held { lease, again }) => (lease, again),
        other => panic!("nobody holds it: {other:?}"),
    }
}

fn once(store: &Arc<Store>) {
    let requests = Requests::new(store.clone());
    let (lease, again) = held(&requests, LONG);
    assert!(!again);
    assert_eq!(requests.begin(&REQUEST, LONG), Ok(Began::Busy));
    let other = NewRequest { digest: b"other", ..REQUEST };
    assert_eq!(requests.begin(&other, LONG), Ok(Began::Another));
    let bens = NewRequest { scope: "ben: k", ..other };
    assert!(matches!(requests.begin(&bens, LONG), Ok(Began::Held { again: false, .. })));
    let (answer, late) = (json!([1, "two"]), json!("late"));
    assert_eq!(requests.stands(REQUEST.scope), Ok(Stands::UnderWay));
    assert_eq!(requests.stands("ann: another"), Ok(Stands::Free));
    requests.keep(&Reply { lease: &lease, answer: &answer }).expect("kept");
    assert_eq!(requests.stands(REQUEST.scope), Ok(Stands::Done(answer.clone())));
    for _ in 0..2 {
        assert_eq!(requests.begin(&REQUEST, LONG), Ok(Began::Done(answer.clone())));
    }
    assert_eq!(requests.begin(&other, LONG), Ok(Began::Another));
    assert_eq!(requests.keep(&Reply { lease: &lease, answer: &late }), Err(RequestError::Lost), "one reply");
    assert_eq!(requests.give_back(&lease), Ok(false), "it is left alone");
    assert_eq!(requests.begin(&REQUEST, LONG), Ok(Began::Done(answer)));
}

fn replaced(store: &Arc<Store>) {
    let requests = Requests::new(store.clone());
    let (dead, _) = held(&requests, 0);
    assert_eq!(requests.stands(REQUEST.scope), Ok(Stands::Free));
    let (alive, again) = held(&requests, 0);
    assert!(again);
    let answer = json!("of the dead");
    assert_eq!(requests.keep(&Reply { lease: &dead, answer: &answer }), Err(RequestError::Lost));
    assert_eq!(requests.renew(&dead, LONG), Err(RequestError::Lost));
    assert_eq!(requests.give_back(&dead), Ok(false), "it is left alone");
    requests.renew(&alive, LONG).expect("held for longer");
    assert_eq!(requests.begin(&REQUEST, LONG), Ok(Began::Busy));
    let answer = json!("of the living");
    requests.keep(&Reply { lease: &alive, answer: &answer }).expect("kept");
    assert_eq!(requests.begin(&REQUEST, LONG), Ok(Began::Done(answer)));
}

fn given_back(store: &Arc<Store>) {
    let (requests, effects) = (Requests::new(store.clone()), Effects::new(store.clone()));
    let other = NewRequest { digest: b"other", ..REQUEST };
    let (lease, _) = held(&requests, LONG);
    assert_eq!(requests.give_back(&lease), Ok(true));
    // Nothing was done, so the key is free.
    let Ok(Began::Held { lease: next, again: false }) = requests.begin(&other, LONG) else { panic!("free") };
    assert_ne!(next, lease, "a number is never given twice");
    assert_eq!(requests.give_back(&next), Ok(true));

    let (lease, _) = held(&requests, LONG);
    let args = json!({});
    let call = NewEffect { identity: "a", server: "mail", tool: "send", args: &args };
    assert_eq!(effects.begin(REQUEST.scope, &call), Ok(Begun::Fresh));
    assert_eq!(requests.give_back(&lease), Ok(true));
    assert_eq!(requests.begin(&other, LONG), Ok(Began::Another), "it did something");
    let (_, again) = held(&requests, LONG);
    assert!(again, "and is taken over at once");
}

fn forgotten(store: &Arc<Store>) {
    let requests = Requests::new(store.clone());
    let (lease, _) = held(&requests, LONG);
    assert_eq!(requests.sweep(0), Ok(0), "somebody carries it out");
    requests.keep(&Reply { lease: &lease, answer: &json!(1) }).expect("kept");
    assert_eq!(requests.sweep(LONG), Ok(0), "it may come again");
    assert_eq!(requests.sweep(0), Ok(1));
    held(&requests, 0);
    assert_eq!(requests.sweep(0), Ok(1), "its holder is gone");
}

/// Whoever takes a request up finds all of its calls, or none.
fn needed(store: &Arc<Store>) {
    let (requests, effects) = (Requests::new(store.clone()), Effects::new(store.clone()));
    let args = json!({});
    let call = |identity| NewEffect { identity, server: "mail", tool: "send", args: &args };
    let (first, _) = held(&requests, 0);
    for identity in ["answered", "open"] {
        let holder = Holder::Request(&first);
        assert_eq!(effects.begin_held(REQUEST.scope, &call(identity), holder, &[]), Ok(Begun::Fresh));
    }
    effects.done(REQUEST.scope, "answered", &json!("sent")).expect("its answer is kept");
    next_moment(store);
    // Neither a sweep nor whoever sends the request again forgets half of it.
    assert_eq!((requests.sweep(0), effects.sweep(0, "plan:")), (Ok(0), Ok(0)));
    let Ok(Began::Held { again, .. }) = requests.begin_within(&REQUEST, 0, 0) else { panic!("it is free") };
    assert!(again, "it goes on");
    assert_eq!(effects.known(REQUEST.scope, "answered"), Ok(Some(Begun::Done(json!("sent")))));
    assert_eq!(effects.known(REQUEST.scope, "open"), Ok(Some(Begun::Unknown)));
    // Once all are answered it is forgotten as a whole.
    effects.done(REQUEST.scope, "open", &json!("sent")).expect("its answer is kept");
    next_moment(store);
    assert_eq!(requests.sweep(0), Ok(1));
    for identity in ["answered", "open"] {
        assert_eq!(effects.known(REQUEST.scope, identity), Ok(None), "{identity}");
    }
}

fn raced(store: &Arc<Store>) {
    let requests = Requests::new(store.clone());
    let had = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| match requests.begin(&REQUEST, LONG) {
                Ok(Began::Held { .. }) => had.fetch_add(1, Ordering::SeqCst),
                Ok(Began::Busy) => 0,
                other => panic!("{other:?}"),
            });
        }
    });
    assert_eq!(had.load(Ordering::SeqCst), 1);
}
