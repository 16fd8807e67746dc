//! What the store holds that operators watch: programs that wait for people, and calls of which nobody knows what became.

use std::sync::Arc;
use std::time::Duration;

use ptc_store::Store;
use ptc_store::effects::Effects;
use ptc_store::tickets::Tickets;

use super::pulse::Pulse;
use super::reason::Reason;
use super::{Engine, Snapshot};

/// The store of an engine, as operators watch it.
pub type Watched = Pulse<StoreCounts>;

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Programs that wait for a decision, without those that go on.
    pub tickets: u64,
    /// Calls that were begun and have no answer, those under way among them.
    pub unknown: u64,
}

/// Watches a store. It is asked for each scrape; those that come at the same time share a question.
pub fn watched(store: Arc<Store>) -> Watched {
    Pulse::asking(store, Duration::ZERO, counted)
}

fn counted(store: &Arc<Store>) -> Result<StoreCounts, String> {
    let tickets = Tickets::new(store.clone()).count_waiting().map_err(|error| error.to_string())?;
    let open = Effects::new(store.clone()).open().map_err(|error| error.to_string())?;
    Ok(StoreCounts { tickets, unknown: open.iter().map(|open| open.calls).sum() })
}

impl Engine {
    /// What the store holds: nothing if there is no store, or if it does not answer.
    pub async fn stored(&self) -> Option<Option<StoreCounts>> {
        match &self.watched {
            Some(watched) => Some(watched.answer().await),
            None => None,
        }
    }
}

impl Snapshot {
    /// How many calls were answered with a failure of the store.
    pub fn store_failures(&self) -> u64 {
        // What is open is so because the store did not say whether it kept it.
        let of_store = [Reason::STORE, Reason::SESSIONS_UNAVAILABLE, Reason::OUTCOME_UNKNOWN];
        let of_store = of_store.map(|reason| reason.name);
        self.calls.iter().filter(|call| of_store.contains(&call.reason.as_str())).map(|call| call.count).sum()
    }
}
