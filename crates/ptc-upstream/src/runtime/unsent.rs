//! Calls that were begun and are not sent after all: because their beginning was not acknowledged, or because that took so
//! long that others may have settled the call meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::journal::{EffectJournal, Marked, apart};

/// How long a program waits at most until it is written down that its call was not sent.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often that is tried, at times that grow apart up to a minute: for about a quarter of an hour.
const TRIES: u32 = 20;
/// The longest time between two of them.
const LONGEST: Duration = Duration::from_secs(60);

/// A moment before a call was begun. The row of the call is not older.
pub(super) struct Before {
    at: Instant,
    /// Also counts while the machine sleeps, and may be set.
    by_the_wall: SystemTime,
}

impl Before {
    pub fn now() -> Before {
        Before { at: Instant::now(), by_the_wall: SystemTime::now() }
    }

    /// The time since then, by the clock that says more: one stands still with the machine, the other may be set back.
    fn elapsed(&self) -> Duration {
        // A clock that was set back says nothing.
        self.at.elapsed().max(self.by_the_wall.elapsed().unwrap_or_default())
    }

    /// How long ago it is, if that is too long for a call to be sent whose row is believed for so long. The other half of the
    /// time is for sending it.
    pub fn too_long_ago(&self, holds: Option<Duration>) -> Option<Duration> {
        let elapsed = self.elapsed();
        holds.filter(|holds| elapsed >= *holds / 2).map(|_| elapsed)
    }
}

/// Writes down that a call was not sent, now or as soon as the journal can be written. It counts as under way until then, and
/// the program does not wait for long.
pub(super) async fn note(call: Marked) {
    if !call.journal.blocks() {
        // What never waits does not fail for a while either.
        let _ = call.journal.unsent(&call.scope, &call.identity);
        return;
    }
    let _ = tokio::time::timeout(PATIENCE, tokio::spawn(noted(call))).await;
}

async fn noted(call: Marked) {
    let Marked { identity, server, tool, .. } = &call;
    for tried in 0..TRIES {
        let (journal, scope, unsent): (Arc<dyn EffectJournal>, _, _) =
            (call.journal.clone(), call.scope.clone(), identity.clone());
        match apart(true, move || journal.unsent(&scope, &unsent)).await {
            Ok(()) => return,
            Err(why) if tried == 0 => {
                tracing::warn!(
                    upstream = %server,
                    tool = %tool,
                    identity = %identity,
                    "it cannot be written down yet that a call was not sent; that is tried for a while: {why}"
                );
            }
            Err(_) => {}
        }
        tokio::time::sleep(LONGEST.min(Duration::from_millis(200 << tried.min(10)))).await;
    }
    tracing::error!(
        upstream = %server,
        tool = %tool,
        identity = %identity,
        "it cannot be written down that a call was not sent; it counts as unknown"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_too_late_after_half_the_time_by_the_clock_that_says_more() {
        let hour = Duration::from_secs(3_600);
        let ago = |clock: SystemTime| Before { at: Instant::now(), by_the_wall: clock };
        let slept = SystemTime::now().checked_sub(hour).expect("a time");
        let set_back = SystemTime::now().checked_add(hour).expect("a time");
        assert_eq!(ago(slept).too_long_ago(None), None, "nobody settles it");
        assert!(ago(slept).too_long_ago(Some(hour)).is_some_and(|took| took >= hour));
        assert_eq!(ago(slept).too_long_ago(Some(hour * 3)), None);
        assert_eq!(ago(set_back).too_long_ago(Some(hour)), None);
        assert!(ago(set_back).too_long_ago(Some(Duration::ZERO)).is_some());
    }
}
