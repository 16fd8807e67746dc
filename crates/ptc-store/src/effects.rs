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

use std::sync::Arc;

use serde_json::Value as Json;

use crate::cell::{Row, cells};
use crate::lease::json;
use crate::tx::Tx;
use crate::{Store, StoreError};

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

/// An answer to keep.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The scope of the call.
    pub scope: &'a str,
    /// Which call of it.
    pub identity: &'a str,
    /// Its answer.
    pub answer: &'a Json,
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
}

/// What a person found out about a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// The call took effect; this is its answer for those who retry.
    Happened(Json),
    /// It did not, so a retry sends it.
    DidNotHappen,
    /// It does not matter any more; a retry is still told that nobody knows.
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
}

/// Rows that one transaction of a sweep removes.
const SWEPT: i64 = 1_000;

impl Effects {
    /// The journal of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Effects { store }
    }

    /// Begins a call, once.
    pub fn begin(&self, scope: &str, call: &NewEffect<'_>) -> Result<Begun, EffectError> {
        self.store.write(&subject(scope), |tx| Ok(begin(tx, scope, call)?))
    }

    /// Keeps the answer of a call that was begun. The first answer stays.
    pub fn done(&self, scope: &str, identity: &str, answer: &Json) -> Result<(), EffectError> {
        let kept = Kept { scope, identity, answer };
        self.store.note(&subject(scope), |tx| done(tx, &kept))
    }

    /// Keeps the answer of a call that was begun, for good: it is on the disk when this returns.
    pub fn keep(&self, kept: &Kept<'_>) -> Result<(), EffectError> {
        self.store.write(&subject(kept.scope), |tx| done(tx, kept))
    }

    /// Calls that were begun and have no answer, the oldest first; of all scopes, or of one. A call that is under way
    /// right now is one of them.
    pub fn gaps(&self, scope: Option<&str>) -> Result<Vec<Gap>, EffectError> {
        self.store.read(|tx| {
            Ok(match scope {
                None => tx.list(
                    "SELECT scope, identity, server, tool, args, begun_at FROM ptc_effects
                     WHERE state = ?1 ORDER BY begun_at, scope, identity",
                    cells![BEGUN],
                    gap,
                )?,
                Some(scope) => tx.list(
                    "SELECT scope, identity, server, tool, args, begun_at FROM ptc_effects
                     WHERE state = ?1 AND scope = ?2 ORDER BY begun_at, identity",
                    cells![BEGUN, scope],
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

    /// Notes what a person found out about a gap. A call that has its answer is left alone.
    pub fn settle(
        &self,
        scope: &str,
        identity: &str,
        finding: &Finding,
        note: &str,
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
            let settled = tx.run(
                "UPDATE ptc_effects SET state = ?3, answer = ?4, note = ?5, ended_at = ?6
                 WHERE scope = ?1 AND identity = ?2 AND state <> ?7",
                cells![scope, identity, to, answer.clone(), &note, now, DONE],
            )?;
            if settled == 0 && state(tx, scope, identity)?.is_none() {
                return Err(missing(scope, identity));
            }
            Ok(())
        })
    }

    /// Forgets a scope that nobody will retry, with its gaps.
    pub fn forget_scope(&self, scope: &str) -> Result<(), EffectError> {
        self.store.note(&subject(scope), |tx| {
            tx.run("DELETE FROM ptc_effects WHERE scope = ?1", cells![scope])?;
            Ok(())
        })
    }

    /// Forgets a call that was begun and did not come to anything, if it is all that there is of its scope.
    pub fn abandon(&self, scope: &str, identity: &str) -> Result<(), EffectError> {
        self.store.note(&subject(scope), |tx| {
            tx.run(
                "DELETE FROM ptc_effects WHERE scope = ?1 AND identity = ?2 AND state = ?3
                     AND NOT EXISTS (SELECT 1 FROM ptc_effects o WHERE o.scope = ?1 AND o.identity <> ?2)",
                cells![scope, identity, BEGUN],
            )?;
            Ok(())
        })
    }

    /// Forgets calls that ended so long ago that nobody retries them, and says how many. Gaps stay until they are
    /// settled, and so do scopes that begin with `lasting`: those that can be retried at any time.
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
                    gone += tx.run(
                        "DELETE FROM ptc_effects WHERE scope = ?1 AND identity = ?2 AND state <> ?3",
                        cells![scope, identity, BEGUN],
                    )?;
                }
                Ok::<_, EffectError>(gone)
            })?;
        }
    }
}

/// Calls that ended so long ago and are not of a lasting scope.
fn over(
    tx: &mut Tx<'_>,
    older_than_ms: i64,
    lasting: &str,
    most: i64,
) -> Result<Vec<(String, String)>, StoreError> {
    let before = tx.now_ms()?.saturating_sub(older_than_ms);
    tx.list(
        "SELECT scope, identity FROM ptc_effects WHERE state IN (?1, ?2, ?3) AND ended_at <= ?4
             AND substr(scope, 1, ?6) <> ?5 LIMIT ?7",
        cells![DONE, VOID, DISMISSED, before, lasting, lasting.chars().count() as i64, most],
        |row| Ok((row.text(0)?, row.text(1)?)),
    )
}

/// Keeps an answer. The first one stays.
pub(crate) fn done(tx: &mut Tx<'_>, kept: &Kept<'_>) -> Result<(), EffectError> {
    let (now, answer) = (tx.now_ms()?, kept.answer.to_string().into_bytes());
    let added = tx.run(
        "UPDATE ptc_effects SET state = ?3, answer = ?4, ended_at = ?5
         WHERE scope = ?1 AND identity = ?2 AND state <> ?3",
        cells![kept.scope, kept.identity, DONE, answer, now],
    )?;
    if added == 0 && state(tx, kept.scope, kept.identity)?.is_none() {
        return Err(missing(kept.scope, kept.identity));
    }
    Ok(())
}

fn begin(tx: &mut Tx<'_>, scope: &str, call: &NewEffect<'_>) -> Result<Begun, StoreError> {
    let now = tx.now_ms()?;
    let added = tx.run(
        "INSERT INTO ptc_effects (scope, identity, server, tool, args, state, begun_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (scope, identity) DO NOTHING",
        cells![scope, call.identity, call.server, call.tool, call.args.to_string().into_bytes(), BEGUN, now],
    )?;
    if added > 0 {
        return Ok(Begun::Fresh);
    }
    // Somebody looked and found that it did not happen.
    let again = tx.run(
        "UPDATE ptc_effects SET state = ?3, begun_at = ?4, ended_at = NULL
         WHERE scope = ?1 AND identity = ?2 AND state = ?5",
        cells![scope, call.identity, BEGUN, now, VOID],
    )?;
    if again > 0 {
        return Ok(Begun::Fresh);
    }
    let found = state(tx, scope, call.identity)?;
    // An answer that cannot be read is as good as none.
    let answer = found.filter(|(state, _)| state == DONE).and_then(|(_, answer)| json(&answer?).ok());
    Ok(answer.map_or(Begun::Unknown, Begun::Done))
}

/// The state of a call, and its answer as it was stored.
type State = (String, Option<Vec<u8>>);

fn state(tx: &mut Tx<'_>, scope: &str, identity: &str) -> Result<Option<State>, StoreError> {
    tx.first(
        "SELECT state, answer FROM ptc_effects WHERE scope = ?1 AND identity = ?2",
        cells![scope, identity],
        |row| Ok((row.text(0)?, row.maybe_bytes(1)?)),
    )
}

fn gap(row: &Row) -> Result<Gap, String> {
    Ok(Gap {
        scope: row.text(0)?,
        identity: row.text(1)?,
        server: row.text(2)?,
        tool: row.text(3)?,
        args: json(&row.bytes(4)?)?,
        begun_ms: row.int(5)?,
    })
}

fn missing(scope: &str, identity: &str) -> EffectError {
    EffectError::Missing { scope: scope.to_owned(), identity: identity.to_owned() }
}

fn subject(scope: &str) -> String {
    format!("effects {scope}")
}

/// Begun, without an answer.
const BEGUN: &str = "begun";
/// Answered.
const DONE: &str = "done";
/// Found not to have happened.
const VOID: &str = "void";
/// A gap that nobody asks about any more.
const DISMISSED: &str = "dismissed";

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
