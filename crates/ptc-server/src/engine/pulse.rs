//! The store, and how long it is waited for. A store that hangs must not hang those who ask: they are told what is
//! known, and whatever was asked goes on without them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptc_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::events;

/// How long a call waits for the store. Those who hold something there have lost it by then, if others are quicker.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it is waited for now. Who has given up once, because the store did not answer, does not wait for as long again.
pub fn patience(store: &Store) -> Duration {
    patience_after(store.silent_for())
}

fn patience_after(silence: Duration) -> Duration {
    if silence < PATIENCE { PATIENCE } else { PROMPT }
}

/// What the store said to whoever asked on another thread; nothing if it did not answer in time, or the server stops.
pub async fn in_time<T>(store: &Store, asked: JoinHandle<T>) -> Option<T> {
    tokio::time::timeout(patience(store), asked).await.ok()?.ok()
}

/// What the store says to a thread that waits for it, asked on another one; nothing if it does not answer in time. What it says
/// later is for `late`.
pub fn said_in_time<T: Send + 'static>(
    store: &Store,
    ask: impl FnOnce() -> T + Send + 'static,
    late: impl FnOnce(T) + Send + 'static,
) -> Option<T> {
    // Nothing is kept between the two, so an answer is heard or it is late.
    let (tell, told) = sync_channel(0);
    let asking = std::thread::Builder::new().name("ptc-store".to_owned()).stack_size(ptc_host::STACK);
    let asked = asking.spawn(move || {
        if let Err(SendError(said)) = tell.send(ask()) {
            late(said);
        }
    });
    asked.ok()?;
    told.recv_timeout(patience(store)).ok()
}

/// Why there is no answer, for logs.
pub const SILENT: &str = "it did not answer in time";

/// Whether it was told that something fails which is done again and again.
#[derive(Debug, Default)]
pub struct ToldOnce(AtomicBool);

impl ToldOnce {
    /// It failed; whether that is to be told, because it went well before.
    pub fn failed(&self) -> bool {
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// It went well.
    pub fn went_well(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// How long it is believed that the store takes changes.
const FRESH: Duration = Duration::from_secs(1);
/// How long a store may take that answers.
const PROMPT: Duration = Duration::from_secs(2);

/// A question to the store, and what it said last. However many ask, it is asked once at a time.
#[derive(Clone, Debug)]
pub struct Pulse<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    store: Arc<Store>,
    question: fn(&Arc<Store>) -> Result<T, String>,
    /// How long an answer is good for.
    fresh: Duration,
    /// Since when it is being asked.
    asking: Mutex<Option<Instant>>,
    /// What is told of the store, if the question is whether it takes changes.
    health: Option<Arc<Health>>,
    /// When it was last asked to the end, and what it answered.
    last: watch::Sender<Option<(Instant, Option<T>)>>,
}

/// Whether a store takes changes, told once for each change of that. Only who asks for just that decides it: a store whose file is
/// gone can still be read.
#[derive(Debug, Default)]
pub struct Health {
    /// Since when it is away.
    away: Mutex<Option<Instant>>,
    /// When it answered last.
    answered: Mutex<Option<Instant>>,
}

impl Health {
    /// It did not answer.
    fn failed(&self, error: &str, since: Instant) {
        let mut away = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        if away.is_none() {
            *away = Some(since);
            events::store_down(error);
        }
    }

    /// It has not answered a question that was asked then. That says nothing if it has answered another one since: then it
    /// is there, and will come to this one too.
    fn silent(&self, since: Instant) {
        let answered = *self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if answered.is_none_or(|answered| answered < since) {
            self.failed(SILENT, since);
        }
    }

    /// It answered.
    fn answered(&self) {
        *self.answered.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        let away = self.away.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(since) = away {
            events::store_up(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
        }
    }

    /// Whether it did not answer when it was last asked.
    pub fn is_away(&self) -> bool {
        self.away.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Pulse<()> {
    /// Whether a store takes changes.
    pub fn of(store: Arc<Store>, health: Arc<Health>) -> Pulse<()> {
        Pulse::with(store, Some(health), FRESH, |store| store.answers().map_err(|error| error.to_string()))
    }
}

impl<T: Clone + Send + Sync + 'static> Pulse<T> {
    /// Of a store that is asked this, and not again for a while.
    pub fn asking(
        store: Arc<Store>,
        fresh: Duration,
        question: fn(&Arc<Store>) -> Result<T, String>,
    ) -> Pulse<T> {
        Pulse::with(store, None, fresh, question)
    }

    fn with(
        store: Arc<Store>,
        health: Option<Arc<Health>>,
        fresh: Duration,
        question: fn(&Arc<Store>) -> Result<T, String>,
    ) -> Pulse<T> {
        let (asking, last) = (Mutex::new(None), watch::Sender::new(None));
        Pulse(Arc::new(Inner { store, question, fresh, asking, health, last }))
    }

    /// What the store says; nothing if it does not answer.
    pub async fn answer(&self) -> Option<T> {
        let mut answers = self.0.last.subscribe();
        let known = answers.borrow_and_update().clone();
        if let Some((_, answered)) = known.filter(|(at, _)| at.elapsed() < self.0.fresh) {
            return answered;
        }
        let since = self.ask();
        let left = PROMPT.saturating_sub(since.elapsed());
        match tokio::time::timeout(left, answers.changed()).await {
            Ok(Ok(())) => answers.borrow().as_ref().and_then(|(_, answered)| answered.clone()),
            _ => {
                if let Some(health) = &self.0.health {
                    // What it has not done for longer tells when the silence began.
                    let silent = Instant::now().checked_sub(self.0.store.silent_for());
                    health.silent(silent.map_or(since, |begun| begun.min(since)));
                }
                None
            }
        }
    }

    /// Asks again whether a store is back that was away, and asks one whose file is not in its place, that did not do what it
    /// was asked, or that takes long; else nothing is asked.
    pub async fn look_again(&self) {
        let store = &self.0.store;
        let failed = store.take_failed();
        let away = self.0.health.as_ref().is_some_and(|health| health.is_away());
        if away || failed || store.is_in_place().is_err() || store.silent_for() >= PROMPT {
            self.answer().await;
        }
    }

    /// Has the store asked, unless it is being asked; since when it is.
    fn ask(&self) -> Instant {
        let mut asking = self.0.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = *asking {
            return since;
        }
        let now = Instant::now();
        *asking = Some(now);
        let inner = self.0.clone();
        tokio::task::spawn_blocking(move || {
            let answered = (inner.question)(&inner.store);
            match (&inner.health, &answered) {
                (None, _) => {}
                (Some(health), Ok(_)) => health.answered(),
                (Some(health), Err(error)) => health.failed(error, now),
            }
            *inner.asking.lock().unwrap_or_else(PoisonError::into_inner) = None;
            inner.last.send_replace(Some((Instant::now(), answered.ok())));
        });
        now
    }
}

/// A store that does not answer, for tests.
#[cfg(test)]
pub mod hung {
    use std::sync::mpsc::{Sender, channel};

    use ptc_store::requests::{Began, NewRequest, Requests};
    use ptc_store::sessions::{NewSession, SessionQuota, Sessions, Times};
    use serde_json::json;

    use super::*;

    /// Has a store in memory hang until what is given is dropped: whoever begins a session there takes that long.
    pub fn hang(store: &Arc<Store>) -> Sender<()> {
        let (free, freed) = channel();
        let (begun, hangs) = channel();
        let store = store.clone();
        std::thread::spawn(move || {
            let new = NewRequest { scope: "hang", tool: "hang", digest: b"hang" };
            let Ok(Began::Held { lease, .. }) = Requests::new(store.clone()).begin(&new, 0) else {
                panic!("nobody holds it")
            };
            let nothing = json!({});
            let reply = |_: &Times| {
                begun.send(()).expect("somebody waits");
                let _ = freed.recv();
                json!({})
            };
            let new = NewSession {
                id: "hang",
                owner: "hang",
                origin: &nothing,
                meta: &nothing,
                ttl_ms: 60_000,
                idle_ms: 60_000,
            };
            let room = SessionQuota { most: 9, per_owner: 9 };
            Sessions::new(store).create_along(&new, room, Some((&lease, &reply)))
        });
        hangs.recv().expect("it hangs");
        free
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_a_store_says_too_late_is_not_lost() {
        let store = Arc::new(Store::open(":memory:").expect("a store"));
        assert_eq!(said_in_time(&store, || 1, |_| panic!("it was heard")), Some(1));
        let held = hung::hang(&store);
        let ((tell, late), own) = (channel(), store.clone());
        let ask = move || own.answers();
        assert_eq!(said_in_time(&store, ask, move |said| tell.send(said).expect("somebody listens")), None);
        drop(held);
        assert_eq!(late.recv(), Ok(Ok(())));
    }

    #[test]
    fn what_fails_again_and_again_is_told_once_until_it_has_gone_well() {
        let told = ToldOnce::default();
        assert_eq!([told.failed(), told.failed(), told.failed()], [true, false, false]);
        told.went_well();
        assert_eq!([told.failed(), told.failed()], [true, false]);
    }

    #[tokio::test]
    async fn a_store_that_is_there_answers_and_is_not_asked_again_at_once() {
        let pulse = Pulse::of(Arc::new(Store::open(":memory:").expect("a store")), Arc::default());
        assert_eq!(pulse.answer().await, Some(()));
        let first = *pulse.0.last.borrow();
        assert_eq!(pulse.answer().await, Some(()));
        // On a busy machine a second may be over.
        let (at, _) = first.expect("it was asked");
        assert!(at.elapsed() >= FRESH || *pulse.0.last.borrow() == first);
    }

    #[tokio::test]
    async fn a_store_that_is_being_asked_for_too_long_does_not_answer() {
        let pulse = Pulse::of(Arc::new(Store::open(":memory:").expect("a store")), Arc::default());
        let long_ago = Instant::now().checked_sub(PROMPT).expect("the machine runs for longer");
        *pulse.0.asking.lock().expect("nobody panics") = Some(long_ago);
        assert_eq!(pulse.answer().await, None, "nobody waits for it once more");
        *pulse.0.asking.lock().expect("nobody panics") = None;
        assert_eq!(pulse.answer().await, Some(()), "until it answers again");
    }

    /// What can be read of a store whose file is gone says nothing of that.
    #[tokio::test]
    async fn only_the_question_whether_it_takes_changes_says_that_a_store_is_away_or_back() {
        let store = Arc::new(Store::open(":memory:").expect("a store"));
        let health = Arc::<Health>::default();
        let changes = |answer: fn(&Arc<Store>) -> Result<(), String>| {
            Pulse::with(store.clone(), Some(health.clone()), Duration::ZERO, answer)
        };
        let (gone, back) = (changes(|_| Err("its file is gone".to_owned())), changes(|_| Ok(())));
        let reads = Pulse::asking(store.clone(), Duration::ZERO, |_| Ok(1));
        let fails = Pulse::<()>::asking(store.clone(), Duration::ZERO, |_| Err("no such table".to_owned()));
        for (pulse, away) in [(&gone, true), (&back, false), (&gone, true)] {
            pulse.answer().await;
            for _ in 0..2 {
                assert_eq!((reads.answer().await, fails.answer().await), (Some(1), None));
                assert_eq!(health.is_away(), away);
            }
        }
    }

    #[tokio::test]
    async fn who_asks_is_answered_or_told_that_nobody_will() {
        let given_up = tokio::spawn(std::future::pending::<()>());
        given_up.abort();
        let store = Store::open(":memory:").expect("a store");
        assert_eq!(in_time(&store, given_up).await, None);
        assert_eq!(in_time(&store, tokio::spawn(async { 1 })).await, Some(1));
    }

    #[test]
    fn who_has_waited_in_vain_does_not_wait_for_as_long_again() {
        let seconds = Duration::from_secs;
        for (silence, waits) in [(0, PATIENCE), (9, PATIENCE), (10, PROMPT), (60, PROMPT)] {
            assert_eq!(patience_after(seconds(silence)), waits, "{silence}");
        }
        let store = Store::open(":memory:").expect("a store");
        assert_eq!(patience(&store), PATIENCE, "it has nothing to do");
    }
}
