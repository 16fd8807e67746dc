//! Calls that were begun and never sent: whoever began one takes the beginning back, so that it does not stand there as a
//! call of which nobody knows what became of it.
//!
//! A beginning is known by its moment. The connection may break before it is acknowledged, and then the row may be there or
//! not; it may also be of an earlier beginning, which was sent. So a process remembers when it began a call, and takes back
//! that beginning alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{BEGUN, EffectError, Effects, VOID, subject};
use crate::cell::cells;

/// When this process began the calls that have no answer yet, by scope and identity.
#[derive(Debug, Default)]
pub(crate) struct Beginnings(Mutex<BTreeMap<(String, String), i64>>);

impl Beginnings {
    /// A call is begun, if the transaction is made final.
    pub fn note(&self, scope: &str, identity: &str, begun_ms: i64) {
        self.locked().insert(key(scope, identity), begun_ms);
    }

    /// A call is over, whatever came of it.
    pub fn forget(&self, scope: &str, identity: &str) {
        self.locked().remove(&key(scope, identity));
    }

    fn of(&self, scope: &str, identity: &str) -> Option<i64> {
        self.locked().get(&key(scope, identity)).copied()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<(String, String), i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(scope: &str, identity: &str) -> (String, String) {
    (scope.to_owned(), identity.to_owned())
}

impl Effects {
    /// When a call was begun last, in milliseconds since 1970; nothing if nobody began it. One that this process has begun is not
    /// looked up.
    pub fn begun_ms(&self, scope: &str, identity: &str) -> Result<Option<i64>, EffectError> {
        if let Some(begun) = self.begun.of(scope, identity) {
            return Ok(Some(begun));
        }
        self.store.read(|tx| {
            let row = "SELECT begun_at FROM ptc_effects WHERE scope = ?1 AND identity = ?2";
            Ok(tx.first(row, cells![scope, identity], |row| row.int(0))?)
        })
    }

    /// Takes back that this process began a call, because it was not sent and never will be: whoever tries again makes it. Also
    /// for a beginning that was not acknowledged. What anybody else began, or this process at another time, is left alone.
    pub fn unsent(&self, scope: &str, identity: &str) -> Result<(), EffectError> {
        let begun = self.begun.of(scope, identity);
        let (Some(maker), Some(begun)) = (self.maker(), begun) else { return Ok(()) };
        // One that is still being made final holds the subject, so this comes after it.
        self.store.note(&subject(scope), |tx| {
            let now = tx.now_ms()?;
            tx.run(
                "UPDATE ptc_effects SET state = ?3, ended_at = ?4, maker = NULL
                 WHERE scope = ?1 AND identity = ?2 AND state = ?5 AND maker = ?6 AND begun_at = ?7",
                cells![scope, identity, VOID, now, BEGUN, &*maker.process, begun],
            )?;
            Ok::<_, EffectError>(())
        })?;
        self.begun.forget(scope, identity);
        Ok(())
    }
}
