//! Requests that may come again under a key: who carries one out, and the one reply that is kept for all who send it.
//!
//! Beginning a request adds a row that can be added only once, and whoever added it holds it by a lease. Who sends the
//! same request meanwhile, to whichever process, is told [`Began::Busy`] and changes nothing. A holder whose lease ran
//! out is replaced; from then on it can neither keep a reply nor begin calls ([`crate::effects`]), and is told
//! [`RequestError::Lost`]. The reply is kept once, alone or with what the request changed, and everybody who comes
//! later gets it.
//!
//! Beginning a request, holding it for longer and giving it back are notes (see the crate): whatever a request did to
//! the world began with a change in the journal of effects, and nothing is there without the notes before it. A reply is
//! on the disk when it is kept, and when it is told to whoever comes later.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cell::{Reading, Row, cells};
use crate::lease::{self, Owed};
use crate::tx::Tx;
use crate::{Lease, Store, StoreError, effects};

/// A request that came.
#[derive(Clone, Copy, Debug)]
pub struct NewRequest<'a> {
    /// Its key, with whom it belongs to. Calls of its program are journalled under the same name.
    pub scope: &'a str,
    /// What is asked for.
    pub tool: &'a str,
    /// What tells it from another request under the same key.
    pub digest: &'a [u8],
}

/// What is known of a request that came.
#[derive(Clone, Debug, PartialEq)]
pub enum Began {
    /// The caller carries it out from now on.
    Held {
        /// The right to do so.
        lease: Lease,
        /// Whether somebody began it before and did not come to an end.
        again: bool,
    },
    /// It ended with this reply.
    Done(Json),
    /// Somebody carries it out right now.
    Busy,
    /// The key belongs to another request.
    Another,
}

/// How far a request is.
#[derive(Clone, Debug, PartialEq)]
pub enum Stands {
    /// Nobody carries it out.
    Free,
    /// Somebody carries it out right now.
    UnderWay,
    /// It ended with this reply.
    Done(Json),
}

/// A reply to keep.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// The right to give it.
    pub lease: &'a Lease,
    /// What it is.
    pub answer: &'a Json,
}

/// Why something cannot be done with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// Another took it over, because it was held too long without a sign of life.
    #[error("the request was taken over by another server")]
    Lost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The requests of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::requests::{Began, NewRequest, Reply, Requests};
/// use serde_json::json;
///
/// let requests = Requests::new(Arc::new(Store::open(":memory:")?));
/// let request = NewRequest { scope: "ann: order 7", tool: "eval", digest: b"c0ffee" };
/// let Began::Held { lease, again: false } = requests.begin(&request, 10_000)? else { panic!("nobody was here") };
/// assert_eq!(requests.begin(&request, 10_000)?, Began::Busy);
/// requests.keep(&Reply { lease: &lease, answer: &json!("done") })?;
/// assert_eq!(requests.begin(&request, 10_000)?, Began::Done(json!("done")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Requests {
    store: Arc<Store>,
    owed: Owed<Lease>,
}

/// Rows that one transaction of a sweep removes.
const SWEPT: i64 = 1_000;

/// What a request says of itself.
macro_rules! columns {
    () => {
        "scope, tool, digest, lease, lease_until, begun_at, ended_at, reply"
    };
}

/// One request, by its scope.
pub(crate) const ONE: &str = concat!("SELECT ", columns!(), " FROM ptc_requests WHERE scope = ?1");

/// A request as far as it can be read.
pub(crate) struct RequestRow {
    digest: Vec<u8>,
    reply: Option<Json>,
    lease: i64,
    lease_until: i64,
    /// What of it cannot be read.
    pub wrong: Option<String>,
}

impl RequestRow {
    pub fn read(row: &Row) -> RequestRow {
        let mut reading = Reading::of(row, columns!());
        let mut found = RequestRow {
            digest: reading.bytes("digest").map(<[u8]>::to_vec).unwrap_or_default(),
            reply: reading.maybe_json("reply", "its reply"),
            lease: reading.int("lease").unwrap_or_default(),
            lease_until: reading.int("lease_until").unwrap_or_default(),
            wrong: None,
        };
        // What nobody asks for here is looked at all the same: a row with one damaged value may have others.
        reading.text("scope");
        reading.text("tool");
        reading.int("begun_at");
        reading.maybe_int("ended_at");
        found.wrong = reading.wrong();
        found
    }
}

impl Requests {
    /// The requests of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Requests { store, owed: Owed::default() }
    }

    /// Begins a request, or takes it over from a holder whose lease ran out, for so long at first.
    pub fn begin(&self, new: &NewRequest<'_>, lease_ms: i64) -> Result<Began, RequestError> {
        self.begin_within(new, lease_ms, i64::MAX)
    }

    /// Begins a request like [`Requests::begin`]. One that ended, or was given up, longer ago than `kept_ms` is forgotten, with
    /// the answers of its calls: it begins anew, whether or not a sweep has come by.
    pub fn begin_within(
        &self,
        new: &NewRequest<'_>,
        lease_ms: i64,
        kept_ms: i64,
    ) -> Result<Began, RequestError> {
        let began = self.added(new, lease_ms, kept_ms)?;
        if matches!(began, Began::Done(_)) {
            self.store.settle()?;
        }
        Ok(began)
    }

    fn added(&self, new: &NewRequest<'_>, lease_ms: i64, kept_ms: i64) -> Result<Began, RequestError> {
        let given_back = |tx: &mut Tx<'_>, lease: &Lease| given_back(tx, lease).map(drop);
        let subject = subject(new.scope);
        self.owed.take(&self.store, (&subject, new.scope), given_back, |tx| {
            let began = began(tx, new, lease_ms, kept_ms)?;
            let held = match &began {
                Began::Held { lease, .. } => Some(lease.clone()),
                _ => None,
            };
            Ok((began, held))
        })
    }

    /// Holds a request for so long from now.
    pub fn renew(&self, lease: &Lease, lease_ms: i64) -> Result<(), RequestError> {
        self.store.upkeep(&subject(&lease.id), |tx| {
            let until = lease::until(tx.now_ms()?, lease_ms);
            let held = tx.run(
                "UPDATE ptc_requests SET lease_until = ?3
                 WHERE scope = ?1 AND lease = ?2 AND reply IS NULL AND lease_until <> 0",
                cells![&lease.id, lease.number, until],
            )?;
            if held == 0 { Err(RequestError::Lost) } else { Ok(()) }
        })
    }

    /// Keeps the reply of a request, for good: it is on the disk when this returns.
    pub fn keep(&self, reply: &Reply<'_>) -> Result<(), RequestError> {
        self.store.write(&subject(&reply.lease.id), |tx| match kept(tx, reply)? {
            true => Ok(()),
            false => Err(RequestError::Lost),
        })
    }

    /// How far the request of a scope is, without beginning it.
    pub fn stands(&self, scope: &str) -> Result<Stands, RequestError> {
        let stands = self.store.read(|tx| {
            let now = tx.now_ms()?;
            let found = tx.first(ONE, cells![scope], |row| match RequestRow::read(row) {
                RequestRow { wrong: Some(why), .. } => Err(why),
                RequestRow { reply: Some(reply), .. } => Ok(Stands::Done(reply)),
                found if lease::holds(found.lease_until, now) => Ok(Stands::UnderWay),
                _ => Ok(Stands::Free),
            })?;
            Ok::<_, RequestError>(found.unwrap_or(Stands::Free))
        })?;
        if matches!(stands, Stands::Done(_)) {
            self.store.settle()?;
        }
        Ok(stands)
    }

    /// Gives a request back without a reply: whoever sends it next carries it out. One of which no call was begun is
    /// forgotten, so its key is free. One that was lost meanwhile is left alone; says whether it was held.
    pub fn give_back(&self, lease: &Lease) -> Result<bool, RequestError> {
        let given = self.store.note(&subject(&lease.id), |tx| given_back(tx, lease));
        self.owed.note(lease, given.is_err());
        given
    }

    /// Gives back what this process may hold of a request, since the store failed when it was begun or given back.
    pub fn give_back_owed(&self, scope: &str) -> Result<(), RequestError> {
        self.owed.of(scope).iter().try_for_each(|lease| self.give_back(lease).map(drop))
    }

    /// Forgets requests that ended, or were given up, so long ago that nobody sends them again; says how many.
    pub fn sweep(&self, older_than_ms: i64) -> Result<u64, RequestError> {
        let mut forgotten = 0;
        loop {
            // Looking costs no write, and mostly there is nothing.
            if self.store.read(|tx| over(tx, older_than_ms, 1))?.is_empty() {
                return Ok(forgotten);
            }
            forgotten += self.store.upkeep("requests", |tx| {
                let now = tx.now_ms()?;
                let mut gone = 0;
                for scope in over(tx, older_than_ms, SWEPT)? {
                    // Somebody may have taken it over since.
                    gone += forget_over(tx, &scope, now, now.saturating_sub(older_than_ms))?;
                }
                Ok::<_, RequestError>(gone)
            })?;
        }
    }
}

/// Requests that were begun so long ago, that nobody holds, and of which no more is needed: one without a reply whose calls
/// are not all answered stays, with the answers of the others, until somebody has settled them. Whoever took it up otherwise
/// would make some calls again and be told that nobody knows of the others.
fn over(tx: &mut Tx<'_>, older_than_ms: i64, most: i64) -> Result<Vec<String>, StoreError> {
    let now = tx.now_ms()?;
    tx.list(
        "SELECT scope FROM ptc_requests
         WHERE begun_at <= ?1 AND COALESCE(ended_at, begun_at) <= ?1
             AND NOT (lease_until > ?2 AND lease_until <= ?4)
             AND (reply IS NOT NULL OR NOT EXISTS (SELECT 1 FROM ptc_effects e
                 WHERE e.scope = ptc_requests.scope AND e.state = 'begun'))
         LIMIT ?3",
        cells![now.saturating_sub(older_than_ms), now, most, lease::last(now)],
        |row| row.text(0),
    )
}

/// Forgets the request of a scope if it was over by then, nobody holds it and no more of it is needed, with what its calls
/// were answered; says how many that are.
fn forget_over(tx: &mut Tx<'_>, scope: &str, now: i64, by: i64) -> Result<u64, StoreError> {
    let gone = tx.run(
        "DELETE FROM ptc_requests
         WHERE scope = ?1 AND begun_at <= ?2 AND COALESCE(ended_at, begun_at) <= ?2
             AND NOT (lease_until > ?3 AND lease_until <= ?4)
             AND (reply IS NOT NULL OR NOT EXISTS (SELECT 1 FROM ptc_effects e
                 WHERE e.scope = ?1 AND e.state = 'begun'))",
        cells![scope, by, now, lease::last(now)],
    )?;
    if gone > 0 {
        effects::forget_ended(tx, scope)?;
    }
    Ok(gone)
}

/// Begins a request as part of a change, or says why not.
fn began(tx: &mut Tx<'_>, new: &NewRequest<'_>, lease_ms: i64, kept_ms: i64) -> Result<Began, RequestError> {
    let now = tx.now_ms()?;
    forget_over(tx, new.scope, now, now.saturating_sub(kept_ms))?;
    let until = lease::until(now, lease_ms);
    let lease = |number| Lease { id: new.scope.to_owned(), number };
    let number = first_number(now);
    let added = tx.run(
        "INSERT INTO ptc_requests (scope, tool, digest, lease, lease_until, begun_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (scope) DO NOTHING",
        cells![new.scope, new.tool, new.digest, number, until, now],
    )?;
    if added > 0 {
        return Ok(Began::Held { lease: lease(number), again: false });
    }
    // It was forgotten a moment ago.
    let Some(found) = tx.first(ONE, cells![new.scope], |row| Ok(RequestRow::read(row)))? else {
        return Ok(Began::Busy);
    };
    if let Some(why) = found.wrong {
        return Err(tx.damaged(format!("request {}: {why}", new.scope)).into());
    }
    if found.digest != new.digest {
        return Ok(Began::Another);
    }
    if let Some(reply) = found.reply {
        return Ok(Began::Done(reply));
    }
    if lease::holds(found.lease_until, now) {
        return Ok(Began::Busy);
    }
    let next = lease(lease::next(found.lease));
    let taken = tx.run(
        "UPDATE ptc_requests SET lease = ?4, lease_until = ?3
         WHERE scope = ?1 AND lease = ?2 AND reply IS NULL",
        cells![new.scope, found.lease, until, next.number],
    )?;
    Ok(match taken {
        0 => Began::Busy,
        _ => Began::Held { lease: next, again: true },
    })
}

/// Gives a request back as part of a change; whether it was held.
fn given_back(tx: &mut Tx<'_>, lease: &Lease) -> Result<bool, RequestError> {
    let forgotten = tx.run(
        "DELETE FROM ptc_requests WHERE scope = ?1 AND lease = ?2 AND reply IS NULL
             AND NOT EXISTS (SELECT 1 FROM ptc_effects e WHERE e.scope = ?1)",
        cells![&lease.id, lease.number],
    )?;
    if forgotten > 0 {
        return Ok(true);
    }
    let freed = tx.run(
        "UPDATE ptc_requests SET lease_until = 0 WHERE scope = ?1 AND lease = ?2 AND reply IS NULL",
        cells![&lease.id, lease.number],
    )?;
    Ok(freed > 0)
}

/// Keeps a reply as part of a change; false if its request is not held by this lease.
pub(crate) fn kept(tx: &mut Tx<'_>, reply: &Reply<'_>) -> Result<bool, StoreError> {
    let now = tx.now_ms()?;
    let kept = tx.run(
        "UPDATE ptc_requests SET reply = ?3, ended_at = ?4, lease_until = 0
         WHERE scope = ?1 AND lease = ?2 AND reply IS NULL AND lease_until <> 0",
        cells![&reply.lease.id, reply.lease.number, reply.answer.to_string().into_bytes(), now],
    )?;
    if kept > 0 {
        effects::forget_seen(tx, &reply.lease.id)?;
    }
    Ok(kept > 0)
}

/// Keeps a reply as part of a change, if there is one to keep; false if its request is not held by its lease.
pub(crate) fn kept_if_any(tx: &mut Tx<'_>, reply: Option<&Reply<'_>>) -> Result<bool, StoreError> {
    reply.map_or(Ok(true), |reply| kept(tx, reply))
}

/// Whether a request is held by this lease.
pub(crate) fn is_held(tx: &mut Tx<'_>, lease: &Lease) -> Result<bool, StoreError> {
    let held = tx.first(
        "SELECT 1 FROM ptc_requests WHERE scope = ?1 AND lease = ?2 AND reply IS NULL AND lease_until <> 0",
        cells![&lease.id, lease.number],
        |_| Ok(()),
    )?;
    Ok(held.is_some())
}

/// Requests and the calls of their programs change one after the other.
fn subject(scope: &str) -> String {
    effects::subject(scope)
}

/// The number of the first lease of a row: the time, and something random, because a row may be forgotten and added
/// again within a millisecond, and who held it before holds nothing then.
fn first_number(now_ms: i64) -> i64 {
    let mut random = [0_u8; 2];
    // Without randomness the time alone tells them apart.
    let _ = getrandom::fill(&mut random);
    (now_ms << 20) | (i64::from(u16::from_le_bytes(random)) << 4)
}

/// The table of requests. Earlier versions kept them among the calls of their programs.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_requests (
    scope TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    digest BLOB NOT NULL,
    lease INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    reply BLOB
);
CREATE INDEX ptc_requests_by_beginning ON ptc_requests (begun_at);
INSERT INTO ptc_requests (scope, tool, digest, lease, lease_until, begun_at, ended_at, reply)
    SELECT scope, tool, args, 0, 0, begun_at, ended_at, answer FROM ptc_effects
    WHERE identity = 'request' AND server = '' AND state IN ('begun', 'done');
DELETE FROM ptc_effects WHERE identity = 'request' AND server = '';
";
