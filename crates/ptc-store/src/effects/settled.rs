//! What people found out about calls: each finding for itself, for as long as the journal knows the call.
//!
//! The row of a call says what became of it. One that did not happen is made again, and then its row says what came of that. So
//! findings are written down beside the rows.

use super::{EffectError, Effects, OverCall, looked};
use crate::StoreError;
use crate::cell::cells;
use crate::tx::Tx;

/// The table of findings, with those that rows had before there was one. What a run noted itself is none.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_settled (
    scope TEXT NOT NULL,
    identity TEXT NOT NULL,
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    args BLOB NOT NULL,
    begun_at INTEGER NOT NULL,
    settled_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    bytes INTEGER,
    note TEXT NOT NULL
);
CREATE INDEX ptc_settled_by_call ON ptc_settled (scope, identity);
INSERT INTO ptc_settled (scope, identity, server, tool, args, begun_at, settled_at, state, bytes, note)
    SELECT scope, identity, server, tool, args, begun_at, COALESCE(ended_at, begun_at), state, LENGTH(answer), note
    FROM ptc_effects
    WHERE note IS NOT NULL AND server <> '' AND state <> 'begun' AND substr(note, 1, 19) <> 'made again, because';
";

impl Effects {
    /// Every call that a person settled, with what was found, the earliest finding first; also if it was made again since.
    pub fn settled(&self) -> Result<Vec<OverCall>, EffectError> {
        self.store.read(|tx| {
            Ok(tx.list(
                "SELECT s.scope, s.identity, s.server, s.tool, s.args, s.begun_at, s.settled_at, s.state, s.bytes, s.note,
                     t.owner
                 FROM ptc_settled s LEFT JOIN ptc_tickets t ON s.scope = 'ticket:' || t.id
                 ORDER BY s.settled_at, s.scope, s.identity",
                cells![],
                |row| Ok(looked::over(row)),
            )?)
        })
    }
}

/// Writes down what was just found about a call.
pub(super) fn note(tx: &mut Tx<'_>, scope: &str, identity: &str) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO ptc_settled (scope, identity, server, tool, args, begun_at, settled_at, state, bytes, note)
         SELECT scope, identity, server, tool, args, begun_at, ended_at, state, LENGTH(answer), note FROM ptc_effects
         WHERE scope = ?1 AND identity = ?2 AND server <> ''",
        cells![scope, identity],
    )?;
    Ok(())
}

/// Forgets what was found about a call that the journal forgets.
pub(super) fn forget(tx: &mut Tx<'_>, scope: &str, identity: &str) -> Result<(), StoreError> {
    tx.run("DELETE FROM ptc_settled WHERE scope = ?1 AND identity = ?2", cells![scope, identity])?;
    Ok(())
}

/// The same for all calls of a scope that the journal does not know any more.
pub(super) fn forget_gone(tx: &mut Tx<'_>, scope: &str) -> Result<(), StoreError> {
    tx.run(
        "DELETE FROM ptc_settled WHERE scope = ?1 AND NOT EXISTS (SELECT 1 FROM ptc_effects e
             WHERE e.scope = ptc_settled.scope AND e.identity = ptc_settled.identity)",
        cells![scope],
    )?;
    Ok(())
}
