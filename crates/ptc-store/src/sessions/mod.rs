//! Sessions of a server: who owns them, what they are made of, and their state after the last program that was kept.
//!
//! A session has an *origin*, which never changes, and a *meta* and a *state*, which change together in one commit.
//! What they mean is for the caller. The version of a session counts its commits, so whoever has a state in memory
//! knows whether it is still the last one.
//!
//! To change a session it is taken. Who finds it taken is refused at once ([`SessionError::Busy`]); who held it too
//! long and was replaced cannot write any more ([`SessionError::Lost`]). So a session has one history, whatever
//! number of processes serve it.
//!
//! Taking a session, holding it for longer, using it and giving it back are notes (see the crate): a machine that ends
//! suddenly may forget them, and then the session is free. A commit is on the disk when it returns.
//!
//! A session ends at its time, or when it was not used for its idle time, or when it is closed. Nothing of it is kept
//! then but that it was there, for [`REMEMBERED_MS`]. A program of it that waits for a decision keeps it for as long as
//! its ticket can be used; with the end of the session, or a change of its state, such tickets are gone.
//!
//! Origin, meta and the dump are in tables of their own, so that a commit writes only what changed. Expiry goes by the
//! clock of the store, not by those of servers.

mod model;
mod rows;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::lease::{self, Owed, is_key};
use crate::requests::Reply;
use crate::tx::Tx;
use crate::{Lease, Store, StoreError, requests, tickets};
pub use model::{
    Along, KeptSession, ListedSession, NewSession, SeenSession, SessionError, SessionQuota, TakenSession,
    Times,
};
pub(crate) use rows::{HEAD, SessionHead};

/// How long a session that is over is known to have been there.
pub const REMEMBERED_MS: i64 = 24 * 60 * 60 * 1_000;
/// Sessions that one transaction of a sweep ends or forgets.
const SWEPT: i64 = 500;

/// The right to reply to the request that begins a session, and the reply, which depends on the times of the session.
pub type ReplyOfStart<'r> = (&'r Lease, &'r dyn Fn(&Times) -> Json);

/// The sessions of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::sessions::{NewSession, SessionQuota, SessionError, Sessions};
/// use serde_json::json;
///
/// let sessions = Sessions::new(Arc::new(Store::open(":memory:")?));
/// let (origin, meta) = (json!({"mode": "read_only"}), json!({"turn": 0}));
/// let new = NewSession { id: "s1", owner: "ann", origin: &origin, meta: &meta, ttl_ms: 60_000, idle_ms: 60_000 };
/// sessions.create(&new, SessionQuota { most: 100, per_owner: 10 })?;
/// let taken = sessions.take("s1", "ann", 10_000, None)?;
/// assert_eq!(sessions.take("s1", "ann", 10_000, None).err(), Some(SessionError::Busy));
/// let version = sessions.commit(&taken.lease, taken.version, &json!({"turn": 1}), Some(b"a machine"))?;
/// let seen = sessions.read("s1", "ann", Some(version))?;
/// assert!(seen.kept.is_none(), "whoever has this version needs nothing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sessions {
    store: Arc<Store>,
    owed: Owed<Lease>,
}

impl Sessions {
    /// The store that they are in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The sessions of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Sessions { store, owed: Owed::default() }
    }

    /// Where the sessions are, without a password.
    pub fn place(&self) -> &str {
        self.store.place()
    }

    /// Begins a session, if there is room for one more.
    pub fn create(&self, new: &NewSession<'_>, room: SessionQuota) -> Result<Times, SessionError> {
        self.create_along(new, room, None)
    }

    /// Begins a session like [`Sessions::create`], and keeps the reply of the request that asked for it: both or none.
    /// Without the right to reply there is no session.
    pub fn create_along(
        &self,
        new: &NewSession<'_>,
        room: SessionQuota,
        along: Option<ReplyOfStart<'_>>,
    ) -> Result<Times, SessionError> {
        // Sessions begin one after the other, so that they are counted right.
        self.store.write("sessions", |tx| {
            rows::sweep(tx, SWEPT)?;
            if rows::count(tx, room.most)? >= room.most {
                return Err(SessionError::Full);
            }
            if rows::count_of(tx, new.owner)? >= room.per_owner {
                return Err(SessionError::OwnerFull);
            }
            let times = rows::insert(tx, new)?;
            if let Some((lease, reply)) = along
                && !requests::kept(tx, &Reply { lease, answer: &reply(&times) })?
            {
                return Err(SessionError::Lost);
            }
            Ok(times)
        })
    }

    /// Takes a session to change it, for so long at first. What is kept comes with it, unless `known` is its version.
    pub fn take(
        &self,
        id: &str,
        owner: &str,
        lease_ms: i64,
        known: Option<i64>,
    ) -> Result<TakenSession, SessionError> {
        if !is_key(id) {
            return Err(SessionError::Missing);
        }
        let release = |tx: &mut Tx<'_>, lease: &Lease| Ok(rows::release(tx, lease)?);
        self.owed.take(&self.store, (&subject(id), id), release, |tx| {
            let now = tx.now_ms()?;
            let head = rows::open(tx, id, owner, now)?;
            if lease::holds(head.lease_until, now) {
                return Err(SessionError::Busy);
            }
            let lease = Lease { id: id.to_owned(), number: lease::next(head.lease) };
            if !rows::take(tx, &lease, &head, now, lease_ms)? {
                return Err(SessionError::Closed);
            }
            let kept = rows::kept(tx, id, head.version, known)?;
            let held = Some(lease.clone());
            Ok((TakenSession { lease, version: head.version, times: head.times, kept }, held))
        })
    }

    /// Looks at a session and takes it from nobody. What is kept comes with it, unless `known` is its version.
    pub fn read(&self, id: &str, owner: &str, known: Option<i64>) -> Result<SeenSession, SessionError> {
        if !is_key(id) {
            return Err(SessionError::Missing);
        }
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            let head = rows::open(tx, id, owner, now)?;
            let kept = rows::kept(tx, id, head.version, known)?;
            Ok(SeenSession {
                version: head.version,
                busy: lease::holds(head.lease_until, now),
                times: head.times,
                kept,
            })
        })
    }

    /// Notes that a session was used, so that its idle time begins anew.
    pub fn touch(&self, id: &str, owner: &str) -> Result<(), SessionError> {
        // A note that is nearly as good as a new one is left: a write costs more than a look.
        let fresh = self.store.read(|tx| {
            let now = tx.now_ms()?;
            let head = rows::open(tx, id, owner, now)?;
            Ok::<_, SessionError>(head.ends_at - now > head.idle_ms - head.idle_ms / 16)
        })?;
        match fresh {
            true => Ok(()),
            false => self.store.note(&subject(id), |tx| Ok(rows::touch(tx, id)?)),
        }
    }

    /// Holds a session for so long from now.
    pub fn renew(&self, lease: &Lease, lease_ms: i64) -> Result<(), SessionError> {
        self.store.upkeep(&subject(&lease.id), |tx| {
            rows::held(tx, lease)?;
            Ok(rows::renew(tx, lease, lease_ms)?)
        })
    }

    /// Keeps a change and gives the session back, and says its new version. Without a state, the last one stays.
    /// `version` is the one that was taken.
    pub fn commit(
        &self,
        lease: &Lease,
        version: i64,
        meta: &Json,
        state: Option<&[u8]>,
    ) -> Result<i64, SessionError> {
        self.commit_along(lease, version, meta, state, None)
    }

    /// Keeps a change like [`Sessions::commit`], and the answer to whoever asked for it: both or none. Without the right
    /// to give that answer nothing is kept.
    pub fn commit_along(
        &self,
        lease: &Lease,
        version: i64,
        meta: &Json,
        state: Option<&[u8]>,
        along: Option<&Along<'_>>,
    ) -> Result<i64, SessionError> {
        let kept = self.store.write(&subject(&lease.id), |tx| {
            if rows::held(tx, lease)? != version {
                return Err(SessionError::Lost);
            }
            let version = rows::commit(tx, lease, meta, state)?;
            let answered = match along {
                Some(Along::Reply(reply)) => requests::kept(tx, reply)?,
                Some(Along::Ticket(ticket, ended, reply)) => {
                    // The ticket kept the session; without it what is stored here could be over at once.
                    rows::grant_idle_time(tx, &lease.id)?;
                    tickets::ended(tx, ticket, ended)? && requests::kept_if_any(tx, reply.as_ref())?
                }
                None => true,
            };
            if !answered {
                return Err(SessionError::Lost);
            }
            if state.is_some() {
                tickets::session_gone(tx, &lease.id)?;
            }
            Ok(version)
        });
        // Whoever held it gives it back then, and whoever comes before that does so too.
        self.owed.note(lease, matches!(kept, Err(SessionError::Store(_))));
        kept
    }

    /// Gives a session back as it was. One that was lost meanwhile is left alone.
    pub fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        let given = self.store.note(&subject(&lease.id), |tx| Ok(rows::release(tx, lease)?));
        self.owed.note(lease, given.is_err());
        given
    }

    /// Gives back what this process may hold of a session, since the store failed when it was taken or given back.
    pub fn release_owed(&self, id: &str) -> Result<(), SessionError> {
        self.owed.of(id).iter().try_for_each(|lease| self.release(lease))
    }

    /// Ends a session, whoever holds it, also one that is damaged.
    pub fn close(&self, id: &str, owner: &str) -> Result<(), SessionError> {
        self.close_along(id, owner, None)
    }

    /// Ends a session like [`Sessions::close`], and keeps the reply of the request that asked for it: both or none.
    pub fn close_along(&self, id: &str, owner: &str, reply: Option<&Reply<'_>>) -> Result<(), SessionError> {
        if !is_key(id) {
            return Err(SessionError::Missing);
        }
        self.store.write(&subject(id), |tx| {
            let now = tx.now_ms()?;
            rows::found(tx, id, owner, now)?;
            rows::close(tx, id, now)?;
            match requests::kept_if_any(tx, reply)? {
                true => Ok(()),
                false => Err(SessionError::Lost),
            }
        })
    }

    /// Ends all sessions of an owner and says which.
    pub fn close_owner(&self, owner: &str) -> Result<Vec<String>, SessionError> {
        self.store.write("sessions", |tx| {
            let (now, ids) = (tx.now_ms()?, rows::of(tx, owner)?);
            for id in &ids {
                rows::close(tx, id, now)?;
            }
            Ok(ids)
        })
    }

    /// The open sessions of an owner, the last changed first.
    pub fn list(&self, owner: &str) -> Result<Vec<ListedSession>, SessionError> {
        self.store.read(|tx| Ok(rows::list(tx, owner)?))
    }

    /// How many sessions are open.
    pub fn count(&self) -> Result<u64, SessionError> {
        self.store.read(|tx| Ok(rows::count(tx, u64::MAX)?))
    }

    /// Ends sessions whose time is over, forgets those that are over for long, and says how many it ended.
    pub fn sweep(&self) -> Result<u64, SessionError> {
        let mut ended = 0;
        loop {
            // Looking costs no write, and mostly there is nothing.
            if self.store.read(rows::nothing_to_sweep)? {
                return Ok(ended);
            }
            let (over, forgotten) = self.store.upkeep("sessions", |tx| rows::sweep(tx, SWEPT))?;
            ended += over;
            if over == 0 && forgotten == 0 {
                return Ok(ended);
            }
        }
    }
}

/// Whether a session was there and is over.
pub(crate) fn is_over(tx: &mut Tx<'_>, id: &str) -> Result<bool, StoreError> {
    rows::is_over(tx, id)
}

fn subject(id: &str) -> String {
    format!("session {id}")
}

/// The tables of sessions. What is large stands apart from what changes often. `ends_at` is when an open session
/// ends unless it is used, and when one that is over is forgotten.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_sessions (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    closed INTEGER NOT NULL,
    version INTEGER NOT NULL,
    lease INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    idle_ms INTEGER NOT NULL,
    ends_at INTEGER NOT NULL
);
CREATE INDEX ptc_sessions_by_end ON ptc_sessions (closed, ends_at);
CREATE INDEX ptc_sessions_by_owner ON ptc_sessions (owner, closed);
CREATE TABLE ptc_session_origins (
    session TEXT PRIMARY KEY,
    origin BLOB NOT NULL
);
CREATE TABLE ptc_session_metas (
    session TEXT PRIMARY KEY,
    meta BLOB NOT NULL
);
CREATE TABLE ptc_session_states (
    session TEXT PRIMARY KEY,
    state BLOB NOT NULL
);
";
