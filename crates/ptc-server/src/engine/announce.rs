//! When clients are told that the descriptions of tools changed: when they would be given other ones, not whenever something
//! changes behind them. A server that comes up as it was remembered changes nothing that a client has read.

use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Caller, Engine, ToolSpec, Transport};

impl Engine {
    /// Whether descriptions of tools can change.
    pub fn announces(&self) -> bool {
        self.upstreams.is_some()
    }

    /// Tells when the descriptions of tools change for this caller; nothing if they never do. What a role sees is not
    /// compared: it hears of every change behind it.
    pub fn changes(&self, caller: &Caller) -> Option<watch::Receiver<u64>> {
        let upstreams = self.upstreams.as_ref()?;
        Some(match caller.roles {
            None => self.described.subscribe(),
            Some(_) => upstreams.runtime.changes(),
        })
    }

    /// What clients without a role are given.
    fn seen(&self) -> Vec<ToolSpec> {
        self.tools(&Caller::new("", Transport::Stdio))
    }
}

/// Begins to compare what clients are given with what they were given before.
pub(super) fn begin(engine: &Arc<Engine>) {
    let Some(upstreams) = &engine.upstreams else { return };
    // First the ear, then the look: what changes in between is heard.
    let behind = upstreams.runtime.changes();
    let seen = engine.seen();
    tokio::spawn(compare(Arc::downgrade(engine), behind, seen, engine.stop.clone()));
}

async fn compare(
    engine: Weak<Engine>,
    mut behind: watch::Receiver<u64>,
    mut before: Vec<ToolSpec>,
    stop: CancellationToken,
) {
    loop {
        let changed = tokio::select! {
            () = stop.cancelled() => return,
            changed = behind.changed() => changed,
        };
        let Some(engine) = engine.upgrade().filter(|_| changed.is_ok()) else { return };
        let now = engine.seen();
        if now != before {
            before = now;
            engine.described.send_modify(|count| *count += 1);
        }
    }
}
