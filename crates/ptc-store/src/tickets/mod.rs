//! Tickets: programs that wait for a decision, sealed, each to be used once.
//!
//! A ticket is put with what is sealed in it and what may be shown about it. Who goes on with it reads it, decides, and
//! takes it with the decision, which nobody else can at the same time; and says in the end what came of it: from then on
//! the ticket is used, and what was sealed is gone. If the program waits again, its next ticket is put in the same
//! transaction.
//!
//! A holder that died is replaced when its lease is over: the ticket can be taken again, with the same decision, and the
//! program goes on from where it waited. That nothing is sent twice then is the business of [`crate::effects`]. Such a
//! ticket does not expire any more, because its decision was made in time. Which decisions mean the same, and which count
//! instead of an earlier one, is for the caller to say ([`Ruling`]); of several who decide at once one has the ticket.
//!
//! Taking a ticket, holding it for longer and giving it back are notes (see the crate): a machine that ends suddenly
//! may forget them. What was taken is then free at once. Whatever the holder did to the world began with a change in the
//! journal of effects, which is on the disk, and so was the decision before it.

mod all;
mod model;
mod rows;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::effects::Effects;
use crate::lease::{self, HasLease, Owed, is_key};
use crate::requests::{self, Reply};
use crate::tx::Tx;
use crate::{Lease, Store, StoreError, sessions};
pub use model::{
    ListedTicket, NewTicket, Ruling, TakenTicket, TicketError, TicketQuota, TicketReader, Waiting,
};
pub(crate) use rows::{TicketRow, WHOLE};

/// How long a ticket is known after its time, to tell those who come late.
pub const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1_000;
/// How the scope of the calls of a ticket begins in the journal of effects; the id follows. They are known for as long as
/// the ticket is open.
pub const SCOPE: &str = "ticket:";
/// Tickets that one transaction of a sweep forgets.
const SWEPT: i64 = 500;

/// The tickets of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::tickets::{NewTicket, TicketQuota, TicketError, Tickets};
/// use serde_json::json;
///
/// let tickets = Tickets::new(Arc::new(Store::open(":memory:")?));
/// let about = json!({"tool": "mail/send"});
/// let new =
///     NewTicket { id: "t1", owner: "ann", kind: "eval", session: None, expires_ms: i64::MAX, sealed: b"sealed", about: &about };
/// tickets.put(&new, TicketQuota { tickets: 100, bytes: 1 << 20 }, None)?;
/// assert_eq!(tickets.read("t1", "ann")?.sealed, b"sealed");
/// let taken = tickets.take("t1", "ann", &json!("approve"), 10_000)?;
/// tickets.done(&taken.lease, &json!({"status": "ok"}), None)?;
/// let ended = json!({"status": "ok"});
/// assert_eq!(tickets.read("t1", "ann"), Err(TicketError::Used { ended }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tickets {
    store: Arc<Store>,
    owed: Owed<TakenTicket>,
    reads: TicketReader,
}

impl Tickets {
    /// The store that they are in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The tickets of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Tickets { store, owed: Owed::default(), reads: |_, _| None }
    }

    /// The same for a caller who says what is kept of tickets, so that what cannot be theirs is told as damaged.
    #[must_use]
    pub fn read_by(self, reads: TicketReader) -> Self {
        Tickets { reads, ..self }
    }

    /// Whether the journal is in the same store: then it knows who holds a ticket.
    pub fn is_beside(&self, effects: &Effects) -> bool {
        Arc::ptr_eq(&self.store, effects.store())
    }

    /// Keeps a ticket, if its owner has room for it among those that are open, and the reply to the request that it came
    /// from: both or none.
    pub fn put(
        &self,
        new: &NewTicket<'_>,
        room: TicketQuota,
        reply: Option<&Reply<'_>>,
    ) -> Result<(), TicketError> {
        // Tickets of one owner come one after the other, so that they are counted right.
        self.store.write(&format!("tickets of {}", new.owner), |tx| {
            if rows::count_of(tx, new.owner, room.tickets)? >= room.tickets {
                return Err(TicketError::Full);
            }
            let about = new.about.to_string().into_bytes();
            let bytes = (about.len() + new.sealed.len()) as u64;
            if rows::bytes_of(tx, new.owner)?.saturating_add(bytes) > room.bytes {
                return Err(TicketError::TooLarge { bytes });
            }
            if new.session.map(|session| sessions::is_over(tx, session)).transpose()? == Some(true) {
                return Err(TicketError::Gone);
            }
            rows::insert(tx, new, about)?;
            if requests::kept_if_any(tx, reply)? { Ok(()) } else { Err(TicketError::Lost) }
        })
    }

    /// Looks at a ticket that is open, and takes it from nobody.
    pub fn read(&self, id: &str, owner: &str) -> Result<Waiting, TicketError> {
        if !is_key(id) {
            return Err(TicketError::Missing);
        }
        self.told(self.store.read(|tx| {
            let now = tx.now_ms()?;
            // What is damaged cannot be gone on with, but it can be rejected.
            let found = rows::open(tx, (id, owner), now, self.reads)?;
            Ok(Waiting {
                busy: found.is_held(now),
                kind: found.kind,
                about: found.about,
                sealed: found.sealed.unwrap_or_default(),
                expires_ms: found.expires_at.unwrap_or_default(),
                decided: found.decided,
                damaged: found.wrong,
            })
        }))
    }

    /// Takes a ticket to go on with it as decided, for so long at first. If somebody took it before and did not come to
    /// an end, the same must be decided again.
    pub fn take(
        &self,
        id: &str,
        owner: &str,
        decided: &Json,
        lease_ms: i64,
    ) -> Result<TakenTicket, TicketError> {
        let same = |before: &Json| if before == decided { Ruling::Same } else { Ruling::Otherwise };
        self.take_over(id, owner, decided, lease_ms, same)
    }

    /// Takes a ticket like [`Tickets::take`]. If somebody took it before and did not come to an end, `rule` says what the
    /// decision is beside the earlier one.
    pub fn take_over(
        &self,
        id: &str,
        owner: &str,
        decided: &Json,
        lease_ms: i64,
        rule: impl Fn(&Json) -> Ruling,
    ) -> Result<TakenTicket, TicketError> {
        if !is_key(id) {
            return Err(TicketError::Missing);
        }
        let release = |tx: &mut Tx<'_>, taken: &TakenTicket| Ok(rows::release(tx, taken)?);
        let taken = self.owed.take(&self.store, (&subject(id), id), release, |tx| {
            let now = tx.now_ms()?;
            let found = rows::open(tx, (id, owner), now, self.reads)?;
            if found.is_held(now) {
                return Err(TicketError::Busy);
            }
            // What nobody can be shown, nobody can have decided about.
            if let Some(why) = &found.wrong {
                return Err(tx.damaged(why).into());
            }
            let decided = match &found.decided {
                None => decided.clone(),
                Some(before) => match rule(before) {
                    Ruling::Same => before.clone(),
                    Ruling::Instead(decided) => decided,
                    Ruling::Otherwise => return Err(TicketError::Decided { before: before.clone() }),
                },
            };
            let lease = Lease { id: id.to_owned(), number: lease::next(found.lease) };
            if !rows::take(tx, &lease, found.lease, decided.to_string().as_bytes(), now, lease_ms)? {
                return Err(TicketError::Busy);
            }
            let taken = TakenTicket { lease, again: found.began, decided };
            Ok((taken.clone(), Some(taken)))
        });
        self.told(taken)
    }

    /// What was found. What came of a ticket is told when it is on the disk, whoever wrote it.
    fn told<T>(&self, found: Result<T, TicketError>) -> Result<T, TicketError> {
        if matches!(found, Err(TicketError::Used { .. })) {
            self.store.settle()?;
        }
        found
    }

    /// Holds a ticket for so long from now.
    pub fn renew(&self, lease: &Lease, lease_ms: i64) -> Result<(), TicketError> {
        self.store.upkeep(&subject(&lease.id), |tx| match rows::renew(tx, lease, lease_ms)? {
            true => Ok(()),
            false => Err(TicketError::Lost),
        })
    }

    /// Says what came of a ticket, which is used from then on, and keeps the next one of the same program.
    pub fn done(&self, lease: &Lease, ended: &Json, next: Option<&NewTicket<'_>>) -> Result<(), TicketError> {
        self.done_along(lease, ended, next, None)
    }

    /// Says what came of a ticket like [`Tickets::done`], and keeps the reply of the request that decided about it: both or
    /// none. Without the right to reply the ticket is as it was, and its holder has it.
    pub fn done_along(
        &self,
        lease: &Lease,
        ended: &Json,
        next: Option<&NewTicket<'_>>,
        reply: Option<&Reply<'_>>,
    ) -> Result<(), TicketError> {
        self.store.write(&subject(&lease.id), |tx| {
            if !rows::done(tx, lease, ended)? || !requests::kept_if_any(tx, reply)? {
                return Err(TicketError::Lost);
            }
            next.map_or(Ok(()), |next| rows::insert(tx, next, next.about.to_string().into_bytes()))
        })
    }

    /// Ends a ticket that cannot be opened any more, such as one whose key is gone or that is damaged: whoever it belongs to says what came of it,
    /// and nothing of what is sealed in it is looked at. Says whether somebody went on with it before, so that calls may have
    /// been made.
    pub fn end(&self, id: &str, owner: &str, ended: &Json) -> Result<bool, TicketError> {
        self.end_along(id, owner, ended, None)
    }

    /// Ends a ticket like [`Tickets::end`], and keeps the reply of the request that asked for it: both or none.
    pub fn end_along(
        &self,
        id: &str,
        owner: &str,
        ended: &Json,
        reply: Option<&Reply<'_>>,
    ) -> Result<bool, TicketError> {
        if !is_key(id) {
            return Err(TicketError::Missing);
        }
        self.told(self.store.write(&subject(id), |tx| {
            let now = tx.now_ms()?;
            let found = rows::open(tx, (id, owner), now, self.reads)?;
            // One step, so that nobody is in between who was told that it is taken.
            match !found.is_held(now) && rows::end(tx, &found, ended, now)? {
                true if !requests::kept_if_any(tx, reply)? => Err(TicketError::Lost),
                true => Ok(found.began),
                false => Err(TicketError::Busy),
            }
        }))
    }

    /// Gives a ticket back as it was when it was taken: nothing was done since. One that was lost is left alone.
    pub fn release(&self, taken: &TakenTicket) -> Result<(), TicketError> {
        let given = self.store.note(&subject(&taken.lease.id), |tx| Ok(rows::release(tx, taken)?));
        self.owed.note(taken, given.is_err());
        given
    }

    /// Gives back what this process may hold of a ticket, since the store failed when it was taken or given back.
    pub fn release_owed(&self, id: &str) -> Result<(), TicketError> {
        self.owed.of(id).iter().try_for_each(|taken| self.release(taken))
    }

    /// Drops the tickets of programs of a session that is over or has changed, unless somebody goes on with them; for
    /// sessions that are not in the store.
    pub fn session_gone(&self, session: &str) -> Result<(), TicketError> {
        self.store.note(&subject(session), |tx| Ok(rows::session_gone(tx, session)?))
    }

    /// The open tickets of an owner, the oldest first.
    pub fn list_open(&self, owner: &str) -> Result<Vec<ListedTicket>, TicketError> {
        self.store.read(|tx| Ok(rows::list_open(tx, owner, self.reads)?))
    }

    /// Drops what is sealed in tickets that expired and forgets tickets whose time is over for long; says how many
    /// were forgotten.
    pub fn sweep(&self) -> Result<u64, TicketError> {
        self.sweep_telling(|_, _| {})
    }

    /// The same, and tells of each ticket that expired: its owner and its id. Of several servers on the store, one is told.
    pub fn sweep_telling(&self, mut tell: impl FnMut(&str, &str)) -> Result<u64, TicketError> {
        let mut forgotten = 0;
        loop {
            // Looking costs no write, and mostly there is nothing.
            if self.store.read(rows::nothing_to_sweep)? {
                return Ok(forgotten);
            }
            let (expired, gone) = self.store.upkeep("tickets", |tx| rows::sweep(tx, SWEPT))?;
            forgotten += gone;
            expired.iter().for_each(|(id, owner)| tell(owner, id));
            if expired.is_empty() && gone == 0 {
                return Ok(forgotten);
            }
        }
    }
}

/// Ends a ticket as part of another change; false if it is not held by this lease.
pub(crate) fn ended(tx: &mut Tx<'_>, lease: &Lease, ended: &Json) -> Result<bool, StoreError> {
    rows::done(tx, lease, ended)
}

/// Drops the tickets of a session that is over or has changed, as part of that.
pub(crate) fn session_gone(tx: &mut Tx<'_>, session: &str) -> Result<(), StoreError> {
    rows::session_gone(tx, session)
}

/// Whether a ticket is held by this lease.
pub(crate) fn is_held(tx: &mut Tx<'_>, lease: &Lease) -> Result<bool, StoreError> {
    rows::is_held(tx, lease)
}

impl HasLease for TakenTicket {
    fn lease(&self) -> &Lease {
        &self.lease
    }
}

fn subject(id: &str) -> String {
    format!("ticket {id}")
}

/// The tables of tickets. `began_at` is set while somebody who took the ticket may have done something.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_tickets (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    lease INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    began_at INTEGER,
    used INTEGER NOT NULL,
    about BLOB NOT NULL,
    ended BLOB
);
CREATE INDEX ptc_tickets_by_owner ON ptc_tickets (owner, used);
CREATE INDEX ptc_tickets_by_end ON ptc_tickets (expires_at);
CREATE TABLE ptc_ticket_seals (
    ticket TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
);
";

/// What was decided when a ticket was taken.
pub(crate) const DECIDED: &str = "ALTER TABLE ptc_tickets ADD COLUMN decided BLOB;";

/// Which session a program waits in. Tickets of sessions that are gone have 3 in `used`, and nothing is sealed in them.
pub(crate) const SESSIONS: &str = "
ALTER TABLE ptc_tickets ADD COLUMN session TEXT;
CREATE INDEX ptc_tickets_by_session ON ptc_tickets (session, used);
";

/// Tickets that are swept have 2 in `used`: they expired, and nothing is sealed in them any more.
pub(crate) const INDEXES: &str = "
DROP INDEX ptc_tickets_by_owner;
CREATE INDEX ptc_tickets_by_owner ON ptc_tickets (owner, used, expires_at);
CREATE INDEX ptc_tickets_by_use ON ptc_tickets (used, expires_at);
";
