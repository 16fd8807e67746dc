//! The journal of calls that may change the world, so that none is ever sent twice.
//!
//! A call is begun before it is sent, which is on the disk before it returns, and done when its answer is there. That is
//! a note (see the crate): a machine that ends suddenly may forget it, and then nobody knows any more what became of the
//! call, which is said, and not that it was never begun. Beginning a call adds a row that can be added only once, so of all processes that begin the same call of the same scope one is
//! told [`Begun::Fresh`] and sends it. Who comes later is told the answer, or that nobody knows what became of the
//! call: whoever began it has died, or is still waiting. Then it is for a person to look and to settle it.
//!
//! A scope is whatever may be retried: a run, a ticket, a request. The identity of a call within it is made by the
//! caller from server, tool, arguments and how many equal calls came before.
//!
//! Where a scope has a holder, calls are begun by the holder alone ([`Effects::begin_held`]), together with what its
//! program was told before: whoever takes the scope over tells the program the same, so that it makes the same calls.
//!
//! A row says from its beginning which process makes the call ([`Effects::made_by`], `under_way.rs`), so that nobody
//! settles a call that is being made.

mod looked;
mod row;
mod settled;
mod unsent;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cell::{Row, cells};
use crate::lease::json;
use crate::tx::Tx;
pub use crate::under_way::MadeBy;
use crate::under_way::{self, Maker};
use crate::{Lease, Store, StoreError, requests, tickets};
pub use looked::{Became, Known, Open, OverCall, WasFound};
pub(crate) use row::{CallRow, ONE};
pub(crate) use settled::TABLES as SETTLED;
use unsent::Beginnings;

/// A call that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct NewEffect<'a> {
    /// What tells it from all other calls of its scope.
    pub identity: &'a str,
    /// The server it goes to.
    pub server: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, for people who look into what became of it.
    pub args: &'a Json,
}

/// Who holds the scope of a call.
#[derive(Clone, Copy, Debug)]
pub enum Holder<'a> {
    /// Who carries out a request.
    Request(&'a Lease),
    /// Who goes on with a ticket.
    Ticket(&'a Lease),
}

/// Something that a program was told and that changed nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What tells it from everything else that the scope was told.
    pub identity: String,
    /// What it was told.
    pub answer: Json,
}

/// What is known of a call that is about to be sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Begun {
    /// Nobody has begun it: send it.
    Fresh,
    /// It was answered.
    Done(Json),
    /// It was begun, and nobody knows what became of it.
    Unknown,
    /// It was begun, and a person settled it without finding out what became of it.
    Dismissed,
}

/// A call that was begun and has no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// What was being done.
    pub scope: String,
    /// Which call of it.
    pub identity: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Json,
    /// When it was begun, in milliseconds since 1970.
    pub begun_ms: i64,
    /// The process that makes it, as it says itself, if it has said so lately. It may have ended since.
    pub maker: Option<String>,
    /// The process that began it, if it has said nothing lately and never that it does not make it any more: it has ended, or
    /// it stands still and may go on.
    pub silent_maker: Option<String>,
}

impl Gap {
    /// Who makes it, as far as its row says.
    pub fn made_by(&self) -> Option<MadeBy> {
        let made = |process: &String, lately| MadeBy { process: process.clone(), lately };
        let lately = self.maker.as_ref().map(|process| made(process, true));
        lately.or_else(|| self.silent_maker.as_ref().map(|process| made(process, false)))
    }
}

/// What a person found out about a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The call took effect; this is its answer for those who retry.
    Happened(Json),
    /// It did not, so a retry sends it.
    DidNotHappen,
    /// It does not matter any more; a retry is told that, and sends nothing.
    Dismissed,
}

/// Why something cannot be done with a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EffectError {
    /// The call was never begun.
    #[error("no call `{identity}` of `{scope}` was begun")]
    Missing {
        /// The scope.
        scope: String,
        /// The call.
        identity: String,
    },
    /// Another holds the scope by now, so nothing was begun.
    #[error("another server has taken over what the call belongs to")]
    Lost,
    /// A process is making the call, so nothing was noted about it.
    #[error("the call is under way in a process that goes on")]
    UnderWay,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The journal of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::effects::{Begun, Effects, NewEffect};
/// use serde_json::json;
///
/// let effects = Effects::new(Arc::new(Store::open(":memory:")?));
/// let args = json!({"to": "ann@example.com"});
/// let call = NewEffect { identity: "c0ffee", server: "mail", tool: "send", args: &args };
/// assert_eq!(effects.begin("run 1", &call)?, Begun::Fresh);
/// // The process dies here; the next one does not know whether the mail went out.
/// assert_eq!(effects.begin("run 1", &call)?, Begun::Unknown);
/// assert_eq!(effects.gaps(None)?.len(), 1);
/// effects.done("run 1", "c0ffee", &json!({"sent": true}))?;
/// assert_eq!(effects.begin("run 1", &call)?, Begun::Done(json!({"sent": true})));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Effects {
    store: Arc<Store>,
    /// Who makes the calls that are begun here.
    maker: Option<Maker>,
    /// When they were begun.
    begun: Arc<Beginnings>,
}

/// Rows that one transaction of a sweep removes.
const SWEPT: i64 = 1_000;

impl Effects {
    /// The journal of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Effects { store, maker: None, begun: Arc::default() }
    }

    /// The same for a process that makes calls: those that it begins count as under way from their beginning on, for so
    /// long unless it says more ([`Effects::hold`]).
    #[must_use]
    pub fn made_by(self, process: &str, holds_ms: i64) -> Self {
        Effects { maker: Some(Maker { process: process.into(), holds_ms }), ..self }
    }

    /// The store that it is in.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Who makes the calls that are begun here.
    pub(crate) fn maker(&self) -> Option<&Maker> {
        self.maker.as_ref()
    }

    /// When the calls that are begun here were begun.
    pub(crate) fn beginnings(&self) -> &Beginnings {
        &self.begun
    }

    /// Begins a call, once.
    pub fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, EffectError> {
        self.store.write(&subject(scope), |tx| Ok(self.added(tx, scope, call)?))
    }

    /// Writes down a call that was made without a row, as somebody finds out now: it was begun then and has no answer. One that
    /// has a row is left as it is.
    pub fn found_open(&self, scope: &str, call: &NewEffect<'_>, begun_ms: i64) -> Result<(), EffectError> {
        let args = call.args.to_string().into_bytes();
        self.store.write(&subject(scope), |tx| {
            tx.run(
                "INSERT INTO ptc_effects (scope, identity, server, tool, args, state, begun_at, made_until)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0) ON CONFLICT (scope, identity) DO NOTHING",
                cells![scope, call.identity, call.server, call.tool, args.clone(), BEGUN, begun_ms],
            )?;
            Ok(())
        })
    }

    /// Begins a call, once, for who holds its scope, and keeps what its program was told before, all or nothing.
    pub fn begin_held(
        &self,
        scope: &str,
        call: &NewEffect<'_>,
        holder: Holder<'_>,
        seen: &[Seen],
    ) -> Result<Begun, EffectError> {
        self.store.write(&subject(scope), |tx| {
            let held = match holder {
                Holder::Request(lease) => requests::is_held(tx, lease)?,
                Holder::Ticket(lease) => tickets::is_held(tx, lease)?,
            };
            if !held {
                return Err(EffectError::Lost);
            }
            for one in seen {
                see(tx, scope, one)?;
            }
            Ok(self.added(tx, scope, call)?)
        })
    }

    fn added(&self, tx: &mut Tx<'_>, scope: &str, call: &NewEffect<'_>) -> Result<Begun, StoreError> {
        let (begun, now) = begin(tx, scope, call, self.maker())?;
        if begun == Begun::Fresh && self.maker.is_some() {
            self.begun.note(scope, call.identity, now);
        }
        Ok(begun)
    }

    /// What is known of a call that somebody began; nothing if nobody did, or if it is known not to have happened. An answer is
    /// told when it is on the disk, whoever wrote it.
    pub fn known(&self, scope: &str, identity: &str) -> Result<Option<Begun>, EffectError> {
        let found = self.store.read(|tx| Ok::<_, EffectError>(state(tx, scope, identity)?))?;
        let known = found.and_then(known);
        if known.is_some() {
            self.store.settle()?;
        }
        Ok(known)
    }

    /// What programs of a scope were told before their last call was begun.
    pub fn seen(&self, scope: &str) -> Result<Vec<Seen>, EffectError> {
        self.store.read(|tx| {
            Ok(tx.list(
                "SELECT identity, answer FROM ptc_effects WHERE scope = ?1 AND state = ?2 ORDER BY identity",
                cells![scope, SEEN],
                |row| Ok(Seen { identity: row.text(0)?, answer: json(&row.bytes(1)?)? }),
            )?)
        })
    }

    /// Keeps the answer of a call that was begun. The first answer stays.
    pub fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), EffectError> {
        self.store.note(&subject(scope), |tx| done(tx, scope, identity, answer))?;
        self.begun.forget(scope, identity);
        Ok(())
    }

    /// Calls that were begun and have no answer, the oldest first; of all scopes, or of one. A call that is under way
    /// right now is one of them.
    pub fn gaps(&self, scope: Option<&str>) -> Result<Vec<Gap>, EffectError> {
        self.store.read(|tx| {
            let now = tx.now_ms()?;
            let gap = |row: &Row| Ok(CallRow::read(row).gap(now));
            Ok(match scope {
                None => tx.list(
                    concat!(
                        "SELECT ",
                        row::columns!(),
                        " FROM ptc_effects WHERE ",
                        row::is_open!(),
                        " ORDER BY begun_at, scope, identity"
                    ),
                    cells![],
                    gap,
                )?,
                Some(scope) => tx.list(
                    concat!(
                        "SELECT ",
                        row::columns!(),
                        " FROM ptc_effects WHERE scope = ?1 AND ",
                        row::is_open!(),
                        " ORDER BY begun_at, identity"
                    ),
                    cells![scope],
                    gap,
                )?,
            })
        })
    }

    /// Whether any call of a scope was begun.
    pub fn has(&self, scope: &str) -> Result<bool, EffectError> {
        self.store.read(|tx| {
            let found =
                tx.first("SELECT 1 FROM ptc_effects WHERE scope = ?1 LIMIT 1", cells![scope], |_| Ok(()))?;
            Ok(found.is_some())
        })
    }

    /// Notes what somebody found out about a gap who knows that nobody is making the call any more. A call that has its
    /// answer is left alone.
    pub fn settle(
        &self,
        scope: &str,
        identity: &str,
        finding: &Finding,
        note: &str,
    ) -> Result<(), EffectError> {
        self.settle_unless_made(scope, identity, finding, note, |_| false)
    }

    /// Notes what a person found out about a gap, unless a process lives that has said lately that it makes the call. A call
    /// that has its answer is left alone.
    pub fn settle_unless(
        &self,
        scope: &str,
        identity: &str,
        finding: &Finding,
        note: &str,
        lives: impl Fn(&str) -> bool,
    ) -> Result<(), EffectError> {
        self.settle_unless_made(scope, identity, finding, note, |made| made.lately && lives(&made.process))
    }

    /// The same, where the caller also judges processes that have said nothing lately: one that stands still sends what it
    /// began when it goes on.
    pub fn settle_unless_made(
        &self,
        scope: &str,
        identity: &str,
        finding: &Finding,
        note: &str,
        makes: impl Fn(&MadeBy) -> bool,
    ) -> Result<(), EffectError> {
        self.noted(scope, identity, finding, note, |tx, made| match made.is_some_and(|made| makes(&made)) {
            true => Err(EffectError::UnderWay),
            false => Ok(settled::note(tx, scope, identity)?),
        })
    }

    /// Notes that a call is made again under another identity, by a run that has seen what was found about it. That is no
    /// finding, and what people found stays.
    pub fn set_aside(&self, scope: &str, identity: &str, note: &str) -> Result<(), EffectError> {
        self.noted(scope, identity, &Finding::Dismissed, note, |_, _| Ok(()))
    }

    fn noted(
        &self,
        scope: &str,
        identity: &str,
        finding: &Finding,
        note: &str,
        then: impl Fn(&mut Tx<'_>, Option<MadeBy>) -> Result<(), EffectError>,
    ) -> Result<(), EffectError> {
        let (to, answer) = match finding {
            Finding::Happened(answer) => (DONE, Some(answer.to_string().into_bytes())),
            Finding::DidNotHappen => (VOID, None),
            Finding::Dismissed => (DISMISSED, None),
        };
        // PostgreSQL has no texts with a zero byte.
        let note = note.replace('\0', "");
        self.store.write(&subject(scope), |tx| {
            let now = tx.now_ms()?;
            let made = under_way::maker(tx, scope, identity, BEGUN)?;
            let changed = tx.run(
                "UPDATE ptc_effects SET state = ?3, answer = ?4, note = ?5, ended_at = ?6, maker = NULL
                 WHERE scope = ?1 AND identity = ?2 AND state <> ?7",
                cells![scope, identity, to, answer.clone(), &note, now, DONE],
            )?;
            match changed {
                0 if state(tx, scope, identity)?.is_none() => Err(missing(scope, identity)),
                0 => Ok(()),
                _ => then(tx, made),
            }
        })
    }

    /// Writes other arguments into what is noted under an identity, in whichever scopes: rows without a server, which are no calls.
    pub fn renote(&self, identity: &str, args: &Json) -> Result<(), EffectError> {
        let args = args.to_string().into_bytes();
        self.store.write(&subject(identity), |tx| {
            tx.run(
                "UPDATE ptc_effects SET args = ?2 WHERE identity = ?1 AND server = '' AND state = ?3 AND args <> ?2",
                cells![identity, args.clone(), BEGUN],
            )?;
            Ok(())
        })
    }

    /// Forgets a scope that nobody will retry, with its gaps.
    pub fn forget_scope(&self, scope: &str) -> Result<(), EffectError> {
        self.store.note(&subject(scope), |tx| {
            tx.run("DELETE FROM ptc_effects WHERE scope = ?1", cells![scope])?;
            Ok(settled::forget_gone(tx, scope)?)
        })
    }

    /// Forgets calls that ended so long ago that nobody retries them, and says how many. Gaps stay until they are
    /// settled, and so do scopes that begin with `lasting`: those that can be retried at any time. Nothing is forgotten of
    /// a request that is held, a ticket that is open or a run that is kept: whoever takes it over needs all of it, and takes a
    /// call without a row for one that was never made.
    pub fn sweep(&self, older_than_ms: i64, lasting: &str) -> Result<u64, EffectError> {
        let mut forgotten = 0;
        loop {
            // Looking costs no write, and mostly there is nothing.
            if self.store.read(|tx| over(tx, older_than_ms, lasting, 1))?.is_empty() {
                return Ok(forgotten);
            }
            forgotten += self.store.upkeep("effects", |tx| {
                let mut gone = 0;
                for (scope, identity) in over(tx, older_than_ms, lasting, SWEPT)? {
                    let deleted = tx.run(
                        "DELETE FROM ptc_effects WHERE scope = ?1 AND identity = ?2 AND state <> ?3",
                        cells![&scope, &identity, BEGUN],
                    )?;
                    if deleted > 0 {
                        settled::forget(tx, &scope, &identity)?;
                    }
                    gone += deleted;
                }
                Ok::<_, EffectError>(gone)
            })?;
        }
    }
}

/// Calls that ended so long ago and are not of a lasting scope, nor of a request without a reply, nor of a ticket that is
/// open, nor of a run that is kept. Scopes of tickets begin with [`tickets::SCOPE`].
fn over(
    tx: &mut Tx<'_>,
    older_than_ms: i64,
    lasting: &str,
    most: i64,
) -> Result<Vec<(String, String)>, StoreError> {
    let now = tx.now_ms()?;
    let before = now.saturating_sub(older_than_ms);
    tx.list(
        "SELECT e.scope, e.identity FROM ptc_effects e WHERE e.state IN (?1, ?2, ?3, ?8) AND e.ended_at <= ?4
             AND substr(e.scope, 1, ?6) <> ?5
             AND NOT EXISTS (SELECT 1 FROM ptc_requests r WHERE r.scope = e.scope AND r.reply IS NULL)
             AND NOT EXISTS (SELECT 1 FROM ptc_tickets t
                 WHERE substr(e.scope, 1, 7) = 'ticket:' AND t.id = substr(e.scope, 8) AND t.used = 0)
             AND NOT EXISTS (SELECT 1 FROM ptc_runs r
                 WHERE substr(e.scope, 1, 4) = 'run:' AND r.id = substr(e.scope, 5))
         LIMIT ?7",
        cells![DONE, VOID, DISMISSED, before, lasting, lasting.chars().count() as i64, most, SEEN],
        |row| Ok((row.text(0)?, row.text(1)?)),
    )
}

/// Keeps an answer. The first one stays.
fn done(tx: &mut Tx<'_>, scope: &str, identity: &str, answer: &Json) -> Result<(), EffectError> {
    let (now, answer) = (tx.now_ms()?, answer.to_string().into_bytes());
    let added = tx.run(
        "UPDATE ptc_effects SET state = ?3, answer = ?4, ended_at = ?5, maker = NULL
         WHERE scope = ?1 AND identity = ?2 AND state <> ?3",
        cells![scope, identity, DONE, answer, now],
    )?;
    if added == 0 && state(tx, scope, identity)?.is_none() {
        return Err(missing(scope, identity));
    }
    Ok(())
}

/// Begins a call, and says at which moment.
fn begin(
    tx: &mut Tx<'_>,
    scope: &str,
    call: &NewEffect<'_>,
    maker: Option<&Maker>,
) -> Result<(Begun, i64), StoreError> {
    let now = tx.now_ms()?;
    let (process, until) = Maker::mark(maker, now);
    let args = call.args.to_string().into_bytes();
    let added = tx.run(
        "INSERT INTO ptc_effects (scope, identity, server, tool, args, state, begun_at, maker, made_until)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (scope, identity) DO NOTHING",
        cells![scope, call.identity, call.server, call.tool, args, BEGUN, now, process.clone(), until],
    )?;
    if added > 0 {
        return Ok((Begun::Fresh, now));
    }
    // Somebody looked and found that it did not happen, or it was never sent.
    let again = tx.run(
        "UPDATE ptc_effects SET state = ?3, begun_at = ?4, ended_at = NULL, note = NULL, maker = ?6, made_until = ?7
         WHERE scope = ?1 AND identity = ?2 AND state = ?5",
        cells![scope, call.identity, BEGUN, now, VOID, process, until],
    )?;
    if again > 0 {
        return Ok((Begun::Fresh, now));
    }
    Ok((state(tx, scope, call.identity)?.and_then(known).unwrap_or(Begun::Unknown), now))
}

/// What the state of a call says of it.
fn known((state, answer): EffectState) -> Option<Begun> {
    // Somebody looked and found that it did not happen.
    if state == VOID {
        return None;
    }
    if state == DISMISSED {
        return Some(Begun::Dismissed);
    }
    // An answer that cannot be read is as good as none.
    let answer = answer.filter(|_| state == DONE).and_then(|answer| json(&answer).ok());
    Some(answer.map_or(Begun::Unknown, Begun::Done))
}

/// Keeps what a program was told. What it was told first stays.
fn see(tx: &mut Tx<'_>, scope: &str, seen: &Seen) -> Result<(), StoreError> {
    let (now, answer) = (tx.now_ms()?, seen.answer.to_string().into_bytes());
    tx.run(
        "INSERT INTO ptc_effects (scope, identity, server, tool, args, state, begun_at, ended_at, answer)
         VALUES (?1, ?2, '', '', ?3, ?4, ?5, ?5, ?6) ON CONFLICT (scope, identity) DO NOTHING",
        cells![scope, &seen.identity, b"null".to_vec(), SEEN, now, answer],
    )?;
    Ok(())
}

/// Forgets what programs of a scope were told, once nobody runs them again.
pub(crate) fn forget_seen(tx: &mut Tx<'_>, scope: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM ptc_effects WHERE scope = ?1 AND state = ?2", cells![scope, SEEN])?;
    Ok(())
}

/// Forgets the calls of a scope that ended, and what its programs were told, once a new request may come under its name. Calls
/// without an answer stay until they are settled.
pub(crate) fn forget_ended(tx: &mut Tx<'_>, scope: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM ptc_effects WHERE scope = ?1 AND state <> ?2", cells![scope, BEGUN])?;
    settled::forget_gone(tx, scope)
}

/// The state of a call, and its answer as it was stored.
type EffectState = (String, Option<Vec<u8>>);

fn state(tx: &mut Tx<'_>, scope: &str, identity: &str) -> Result<Option<EffectState>, StoreError> {
    tx.first(
        "SELECT state, answer FROM ptc_effects WHERE scope = ?1 AND identity = ?2",
        cells![scope, identity],
        // Of a word or an answer that cannot be read nobody knows what became of the call.
        |row| Ok((row.text(0).unwrap_or_default(), row.maybe_bytes(1).unwrap_or_default())),
    )
}

fn missing(scope: &str, identity: &str) -> EffectError {
    EffectError::Missing { scope: scope.to_owned(), identity: identity.to_owned() }
}

/// Whatever belongs to a scope changes one after the other.
pub(crate) fn subject(scope: &str) -> String {
    format!("effects {scope}")
}

/// Begun, without an answer.
pub(crate) const BEGUN: &str = "begun";
/// Answered.
const DONE: &str = "done";
/// Found not to have happened, or known not to have been sent.
const VOID: &str = "void";
/// A gap that nobody asks about any more.
const DISMISSED: &str = "dismissed";
/// No call, but something that a program was told.
const SEEN: &str = "seen";

/// The table of the journal.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_effects (
    scope TEXT NOT NULL,
    identity TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    args BLOB NOT NULL,
    state TEXT NOT NULL,
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    answer BLOB,
    note TEXT,
    PRIMARY KEY (scope, identity)
);
CREATE INDEX ptc_effects_by_state ON ptc_effects (state, ended_at);
";
