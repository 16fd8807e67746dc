//! Whoever takes something and is not told so: a connection to the store breaks when the change is made, or before.

use std::sync::{Arc, Mutex};

use ptc_store::requests::{Began, NewRequest, RequestError, Requests};
use ptc_store::sessions::{NewSession, SessionError, SessionQuota, Sessions};
use ptc_store::simulation::{Commits, Disk, Process, Syncs, World};
use ptc_store::tickets::{NewTicket, TicketError, TicketQuota, Tickets};
use ptc_store::{Store, StoreError};
use serde_json::json;

/// A process whose next commits come to this, the last of them first, and all later ones are made.
#[derive(Default)]
struct Fated(Mutex<Vec<Commits>>);

impl World for Fated {
    fn now_ms(&self) -> i64 {
        1_800_000_000_000
    }

    fn begins(&self, _: Option<&str>) -> bool {
        true
    }

    fn commits(&self) -> Commits {
        self.0.lock().expect("nobody panics").pop().unwrap_or(Commits::Made)
    }

    fn syncs(&self, _: &str) -> Syncs {
        Syncs::Done
    }
}

/// A process, with all that it can take.
struct Taker {
    fated: Arc<Fated>,
    requests: Requests,
    sessions: Sessions,
    tickets: Tickets,
}

/// What can be taken.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Request,
    Session,
    Ticket,
}

impl Taker {
    fn on(disk: &Disk) -> Taker {
        let fated = Arc::<Fated>::default();
        let store = Arc::new(Store::simulated(Process::new(disk, fated.clone())));
        let (requests, sessions) = (Requests::new(store.clone()), Sessions::new(store.clone()));
        Taker { fated, requests, sessions, tickets: Tickets::new(store) }
    }

    /// Makes a session and a ticket that nobody holds.
    fn prepare(&self) {
        let nothing = json!({});
        let session = NewSession {
            id: "s",
            owner: "anna",
            origin: &nothing,
            meta: &nothing,
            ttl_ms: 60_000,
            idle_ms: 60_000,
        };
        self.sessions.create(&session, SessionQuota { most: 9, per_owner: 9 }).expect("it begins");
        let ticket = NewTicket {
            id: "t",
            owner: "anna",
            kind: "eval",
            session: None,
            expires_ms: i64::MAX,
            sealed: b"x",
            about: &nothing,
        };
        self.tickets.put(&ticket, TicketQuota { tickets: 9, bytes: 1 << 20 }, None).expect("it is kept");
    }

    /// Whether it takes something that others do not hold; nothing if it is not told.
    fn takes(&self, kind: Kind) -> Option<bool> {
        match kind {
            Kind::Request => {
                let new = NewRequest { scope: "r", tool: "lisp_eval", digest: b"d" };
                match self.requests.begin(&new, 10_000) {
                    Ok(Began::Held { again, .. }) => {
                        assert!(!again, "what was given back was not begun");
                        Some(true)
                    }
                    Ok(Began::Busy) => Some(false),
                    Err(RequestError::Store(StoreError::Unacknowledged { .. })) => None,
                    other => panic!("{other:?}"),
                }
            }
            Kind::Session => match self.sessions.take("s", "anna", 10_000, None) {
                Ok(_) => Some(true),
                Err(SessionError::Busy) => Some(false),
                Err(SessionError::Store(StoreError::Unacknowledged { .. })) => None,
                other => panic!("{other:?}"),
            },
            Kind::Ticket => match self.tickets.take("t", "anna", &json!("approve"), 10_000) {
                Ok(taken) => {
                    assert!(!taken.again, "what was given back was not begun");
                    Some(true)
                }
                Err(TicketError::Busy) => Some(false),
                Err(TicketError::Store(StoreError::Unacknowledged { .. })) => None,
                other => panic!("{other:?}"),
            },
        }
    }

    /// Gives back what it may hold without having been told so.
    fn gives_back(&self, kind: Kind) {
        let given = match kind {
            Kind::Request => self.requests.give_back_owed("r").is_ok(),
            Kind::Session => self.sessions.release_owed("s").is_ok(),
            Kind::Ticket => self.tickets.release_owed("t").is_ok(),
        };
        assert!(given, "{kind:?}");
    }
}

#[test]
fn an_acknowledgement_that_is_lost_keeps_nobody_out() {
    use Commits::{LostAfter, LostBefore, Made};
    let disk = Disk::new().expect("a disk");
    for kind in [Kind::Request, Kind::Session, Kind::Ticket] {
        for (fates, told) in [
            ([Made, Made], Some(true)),
            ([LostAfter, Made], Some(true)),
            ([LostBefore, Made], Some(true)),
            ([LostAfter, LostAfter], None),
            ([LostAfter, LostBefore], None),
            ([LostBefore, LostAfter], None),
        ] {
            for gives_back in [false, true] {
                let place = format!("{kind:?} {fates:?}, gives back: {gives_back}");
                disk.clear().expect("it is empty");
                let (own, other) = (Taker::on(&disk), Taker::on(&disk));
                own.prepare();
                *own.fated.0.lock().expect("nobody panics") = fates.into_iter().rev().collect();
                assert_eq!(own.takes(kind), told, "{place}");
                own.fated.0.lock().expect("nobody panics").clear();
                match told {
                    // It is held, by one.
                    Some(_) => {
                        own.gives_back(kind);
                        assert_eq!([other.takes(kind), own.takes(kind)], [Some(false); 2], "{place}");
                    }
                    None if gives_back => {
                        own.gives_back(kind);
                        assert_eq!(other.takes(kind), Some(true), "{place}");
                        own.gives_back(kind);
                        assert_eq!(own.takes(kind), Some(false), "what somebody else holds stays: {place}");
                    }
                    // Whoever comes next in this process is not told that somebody holds it.
                    None => assert_eq!(own.takes(kind), Some(true), "{place}"),
                }
            }
        }
    }
}
