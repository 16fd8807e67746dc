//! What is under way for missions in this process.
//!
//! Restate begins a workflow again whenever its connection to the worker is lost, be it that the worker lives on.
//! Calls therefore belong to the process and not to an attempt: an attempt that comes later finds what an earlier
//! one began, and waits for it. Only what another process began is lost, and every mission in a process has a mark
//! by which that is told.
//!
//! Calls that must not be made twice are announced in the journal with that mark. An announcement with another mark and
//! without an answer is a call with an unknown outcome (`ptc_runner::unanswered` decides, as for runs in a folder). Only as
//! many calls are announced as may run at once, so a crash leaves no more outcomes unknown than calls were in flight.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ptc_runner::{Ask, AskKind, Supply};
use tokio::sync::{Notify, Semaphore};
use tokio::task::AbortHandle;

use crate::entry::Came;
use crate::mission::now;

/// How long calls are kept for a mission that no attempt works on. Whoever comes later finds another mark.
const KEPT: Duration = Duration::from_secs(3_600);

/// The missions of this process by their invocation.
#[derive(Default)]
pub(crate) struct Missions {
    open: Mutex<BTreeMap<String, (Arc<Calls>, Instant)>>,
}

impl Missions {
    /// The calls of a mission, for one more attempt.
    pub(crate) fn join(&self, invocation: &str, at_once: usize) -> Arc<Calls> {
        let mut open = lock(&self.open);
        open.retain(|_, (calls, seen)| Arc::strong_count(calls) > 1 || seen.elapsed() < KEPT);
        let (calls, seen) = open
            .entry(invocation.to_owned())
            .or_insert_with(|| (Arc::new(Calls::new(at_once)), Instant::now()));
        *seen = Instant::now();
        calls.clone()
    }

    /// The mission is over.
    pub(crate) fn over(&self, invocation: &str) {
        lock(&self.open).remove(invocation);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a call.
enum Call {
    UnderWay(AbortHandle),
    Came(Supply),
    /// The run has its answer, or nobody wants it any more. It stays known, so that nothing is begun twice.
    Over,
}

/// The calls of one mission.
pub(crate) struct Calls {
    mark: String,
    /// How many tools run at once.
    slots: Semaphore,
    begun: Mutex<BTreeMap<u64, Call>>,
    came: Notify,
}

/// Something that a run waits for.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub ask: Arc<Ask>,
    /// It must be announced before it is begun.
    pub due: bool,
    /// It was begun by another process, and this is what the run is told in place of an answer.
    pub lost: Option<Supply>,
}

impl Calls {
    fn new(at_once: usize) -> Self {
        let mut random = [0; 16];
        // Without randomness the address and the time still tell processes apart.
        if getrandom::fill(&mut random).is_err() {
            random = (u128::from(now()) << 64 | u128::from(std::process::id())).to_be_bytes();
        }
        let mark = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Calls { mark, slots: Semaphore::new(at_once), begun: Mutex::default(), came: Notify::new() }
    }

    /// Tells the calls of this process from those of others.
    pub(crate) fn mark(&self) -> &str {
        &self.mark
    }

    /// The next answer to any of these, or the time when none came until then. What is not under way is begun.
    pub(crate) async fn next(self: Arc<Self>, waiting: Vec<Waiting>, until: Option<u64>) -> Came {
        let lost = waiting.iter().find_map(|wait| Some((wait.ask.id, wait.lost.clone()?)));
        for wait in waiting.iter().filter(|wait| wait.lost.is_none()) {
            self.begin(&wait.ask);
        }
        if lost.is_some() {
            return Came { now: now(), answer: lost };
        }
        loop {
            let came = self.came.notified();
            tokio::pin!(came);
            // Whatever comes from here on is heard.
            came.as_mut().enable();
            if let Some(answer) = self.answer(&waiting) {
                return Came { now: now(), answer: Some(answer) };
            }
            let Some(until) = until else {
                came.await;
                continue;
            };
            let left = until.saturating_sub(now());
            if left == 0 {
                return Came { now: now().max(until), answer: None };
            }
            let _ = tokio::time::timeout(Duration::from_millis(left), came).await;
        }
    }

    /// Takes note that the run has an answer.
    pub(crate) fn settle(&self, id: u64) {
        lock(&self.begun).insert(id, Call::Over);
    }

    /// Stops what the run does not want any more.
    pub(crate) fn drop_all_but(&self, wanted: impl Fn(u64) -> bool) {
        for (id, call) in lock(&self.begun).iter_mut() {
            if wanted(*id) {
                continue;
            }
            if let Call::UnderWay(task) = call {
                task.abort();
            }
            *call = Call::Over;
        }
    }

    fn answer(&self, waiting: &[Waiting]) -> Option<(u64, Supply)> {
        let begun = lock(&self.begun);
        waiting.iter().find_map(|wait| match begun.get(&wait.ask.id) {
            Some(Call::Came(supply)) => Some((wait.ask.id, supply.clone())),
            _ => None,
        })
    }

    /// Begins a call unless it was begun before.
    fn begin(self: &Arc<Self>, ask: &Arc<Ask>) {
        let mut begun = lock(&self.begun);
        if begun.contains_key(&ask.id) {
            return;
        }
        let (calls, ask, id) = (self.clone(), ask.clone(), ask.id);
        let task = tokio::spawn(async move {
            let _slot = match &ask.kind {
                AskKind::Tool { .. } => calls.slots.acquire().await.ok(),
                AskKind::Model { .. } | AskKind::Approval { .. } => None,
            };
            let supply = ptc_runner::answer(&ask).await;
            if let Some(call @ Call::UnderWay(_)) = lock(&calls.begun).get_mut(&id) {
                *call = Call::Came(supply);
            }
            calls.came.notify_waiters();
        });
        begun.insert(id, Call::UnderWay(task.abort_handle()));
    }
}
