//! Calls that processes have under way right now.
//!
//! Without more, the journal of effects could not tell a call that was lost from one that is being made, and whoever
//! settles the latter could have it made twice. So the row of a call says from its first moment which process makes it,
//! and until when that is to be believed: the row is the mark, and no call is sent before there is one. A process
//! that makes a call for longer says so again from time to time; what one that was killed said is over by itself, after no longer
//! than the longest lease, also where the clock was set back since. One that
//! stands still says nothing either, and goes on with its call when it wakes up: whoever can look for the process does so.

use std::sync::Arc;

use crate::cell::{Reading, cells};
use crate::effects::{BEGUN, Effects};
use crate::tx::Tx;
use crate::{StoreError, lease};

/// A process that makes calls.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    /// Which process, as it says itself.
    pub process: Arc<str>,
    /// How long its word holds.
    pub holds_ms: i64,
}

impl Maker {
    /// What a row says of who makes its call.
    pub fn mark(maker: Option<&Maker>, now_ms: i64) -> (Option<String>, i64) {
        match maker {
            Some(Maker { process, holds_ms }) => (Some(process.to_string()), lease::until(now_ms, *holds_ms)),
            None => (None, 0),
        }
    }
}

/// A process that makes a call, as the row of the call says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeBy {
    /// Which process, as it says itself.
    pub process: String,
    /// Whether it has said so lately. Else it has ended, or stands still.
    pub lately: bool,
}

/// What transactions are about.
const SUBJECT: &str = "under way";

impl Effects {
    /// Says that this process still makes calls, each given by its scope and its identity. Calls that another process
    /// began are left alone, and so are those that have their answer.
    pub fn hold(&self, calls: &[(String, String)]) -> Result<(), StoreError> {
        let Some(maker) = self.maker() else { return Ok(()) };
        self.marked(calls, maker, |now| lease::until(now, maker.holds_ms))
    }

    /// Says that this process does not make calls any more, whatever came of them.
    pub fn let_go(&self, calls: &[(String, String)]) -> Result<(), StoreError> {
        let Some(maker) = self.maker() else { return Ok(()) };
        self.marked(calls, maker, |_| 0)?;
        calls.iter().for_each(|(scope, identity)| self.beginnings().forget(scope, identity));
        Ok(())
    }

    fn marked(
        &self,
        calls: &[(String, String)],
        maker: &Maker,
        until: impl Fn(i64) -> i64,
    ) -> Result<(), StoreError> {
        self.store().upkeep(SUBJECT, |tx| {
            let until = until(tx.now_ms()?);
            for (scope, identity) in calls {
                tx.run(
                    "UPDATE ptc_effects SET made_until = ?5
                     WHERE scope = ?1 AND identity = ?2 AND state = ?3 AND maker = ?4",
                    cells![scope, identity, BEGUN, &*maker.process, until],
                )?;
            }
            Ok(())
        })
    }
}

/// Who makes a call of this state, unless that process has said that it does not any more.
pub(crate) fn maker(
    tx: &mut Tx<'_>,
    scope: &str,
    identity: &str,
    state: &str,
) -> Result<Option<MadeBy>, StoreError> {
    let now = tx.now_ms()?;
    tx.first(
        "SELECT maker, made_until FROM ptc_effects
         WHERE scope = ?1 AND identity = ?2 AND state = ?3 AND made_until <> 0 AND maker IS NOT NULL",
        cells![scope, identity, state],
        |row| {
            // Whoever settles a call of which this is damaged is not refused for that.
            let mut reading = Reading::of(row, "maker, made_until");
            let until = reading.int("made_until").unwrap_or_default();
            Ok(MadeBy { process: reading.text("maker"), lately: lease::holds(until, now) })
        },
    )
}

/// Who makes a call, and until when that is to be believed.
pub(crate) const COLUMNS: &str = "
ALTER TABLE ptc_effects ADD COLUMN maker TEXT;
ALTER TABLE ptc_effects ADD COLUMN made_until INTEGER NOT NULL DEFAULT 0;
";
