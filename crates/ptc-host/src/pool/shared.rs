//! What workers and callers share: new programs, mail for workers, and how much room is left.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use ptc_lisp::machine::Machine;

use super::PoolStats;
use super::fair::Fair;
use super::running::Slot;
use super::task::Parked;
use crate::cancel::Cancel;
use crate::program::{Outcome, Program, cancelled};
use crate::tools::Reply;

/// A program that was admitted.
#[derive(Debug)]
pub(super) struct Job {
    pub program: Program,
    pub slot: Arc<Slot>,
    pub cancel: Cancel,
    pub session: Option<u64>,
    #[cfg(feature = "tokio")]
    pub runtime: Option<tokio::runtime::Handle>,
}

/// Something a worker must know.
#[derive(Debug)]
pub(super) enum Mail {
    /// A program for a session that lives on this worker.
    Job(Box<Job>),
    /// A tool call of a program was answered.
    Reply(u64, u64, Reply),
    /// A program that waits was cancelled.
    Cancelled(u64),
    /// A session begins with a machine that has been somewhere before.
    Begin(u64, Make),
    /// The owner of a session wants to see its machine.
    Visit(u64, Visit),
    /// A session is not needed any more.
    Forget(u64),
}

/// Makes the first machine of a session, on its own thread.
pub(super) struct Make(pub Box<dyn FnOnce() -> Option<Machine> + Send>);

impl std::fmt::Debug for Make {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Make")
    }
}

/// What is done with the machine of a session.
pub(super) struct Visit(pub Box<dyn FnOnce(&mut Machine) + Send>);

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Visit")
    }
}

/// Where a program is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    /// To whoever has time.
    Anyone,
    /// To the worker of a session.
    Session { worker: usize, id: u64 },
}

/// A caller that waits for room: its place in the line, once it has one, and how to tell it.
pub(super) struct Waiter<'a> {
    pub place: &'a mut Option<u64>,
    pub waker: &'a Waker,
}

/// The state under one lock: everybody holds it for a moment only.
#[derive(Debug)]
struct State {
    /// Parked programs that have their answers: they go before new ones.
    awake: VecDeque<Box<Parked>>,
    fresh: Fair<Box<Job>>,
    mail: Vec<Vec<Mail>>,
    asleep: Vec<bool>,
    closing: bool,
    unfinished: usize,
    /// Callers that wait for room, in order.
    waiters: BTreeMap<u64, Waker>,
    next_waiter: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    wake: Vec<Condvar>,
    most: usize,
    pub turns: AtomicU64,
    pub parked: AtomicU64,
    next_session: AtomicU64,
}

/// A program that no worker has.
#[derive(Debug)]
pub(super) enum Fresh {
    /// A new one.
    New(Box<Job>),
    /// One that was parked and has its answers.
    Awake(Box<Parked>),
}

/// What a worker finds when it looks for work.
#[derive(Debug)]
pub(super) struct Found {
    pub mail: Vec<Mail>,
    pub fresh: Option<Fresh>,
    pub closing: bool,
}

impl Shared {
    pub fn new(workers: usize, most: usize) -> Self {
        let state = State {
            awake: VecDeque::new(),
            fresh: Fair::default(),
            mail: (0..workers).map(|_| Vec::new()).collect(),
            asleep: vec![false; workers],
            closing: false,
            unfinished: 0,
            waiters: BTreeMap::new(),
            next_waiter: 0,
        };
        Shared {
            state: Mutex::new(state),
            wake: (0..workers).map(|_| Condvar::new()).collect(),
            most: most.max(1),
            turns: AtomicU64::new(0),
            parked: AtomicU64::new(0),
            next_session: AtomicU64::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has been done so far.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            unfinished: self.state().unfinished,
            turns: self.turns.load(Ordering::Relaxed),
            parked: self.parked.load(Ordering::Relaxed),
        }
    }

    /// A new session: its number and its worker, in rotation.
    pub fn new_session(&self) -> (u64, usize) {
        let id = self.next_session.fetch_add(1, Ordering::Relaxed);
        (id, id as usize % self.wake.len())
    }

    /// Takes a program in if there is room. Otherwise it comes back, and `waiter` keeps its place in the
    /// line, woken when its turn has come.
    pub fn admit(&self, job: Box<Job>, to: To, waiter: Option<Waiter<'_>>) -> Result<(), Box<Job>> {
        let mut state = self.state();
        if state.closing {
            drop(state);
            job.slot.fill(Outcome::failed(cancelled("the pool is shut down")));
            return Ok(());
        }
        if state.unfinished >= self.most {
            if let Some(waiter) = waiter {
                let number = *waiter.place.get_or_insert_with(|| {
                    state.next_waiter += 1;
                    state.next_waiter
                });
                state.waiters.insert(number, waiter.waker.clone());
            }
            return Err(job);
        }
        if let Some(number) = waiter.and_then(|waiter| waiter.place.take()) {
            state.waiters.remove(&number);
        }
        state.unfinished += 1;
        match to {
            To::Anyone => {
                let lane = job.program.lane.clone();
                state.fresh.push(&lane, job);
                self.rouse_any(&mut state);
            }
            To::Session { worker, .. } => {
                state.mail[worker].push(Mail::Job(job));
                self.rouse(&mut state, worker);
            }
        }
        Ok(())
    }

    /// Gives a parked program that has its answers to whoever has time.
    pub fn hand_on(&self, parked: Box<Parked>) {
        let mut state = self.state();
        state.awake.push_back(parked);
        self.rouse_any(&mut state);
    }

    /// A caller that waited for room has gone. If its turn had come, the next one's has.
    pub fn leave_line(&self, place: u64) {
        let mut state = self.state();
        if state.waiters.remove(&place).is_none() {
            let next = state.next_in_line(self.most);
            drop(state);
            next.into_iter().for_each(Waker::wake);
        }
    }

    /// A program is over.
    pub fn finished(&self) {
        let mut state = self.state();
        state.unfinished -= 1;
        let next = state.next_in_line(self.most);
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }

    /// Puts mail into a worker's box.
    pub fn post(&self, worker: usize, mail: Mail) {
        let mut state = self.state();
        state.mail[worker].push(mail);
        self.rouse(&mut state, worker);
    }

    fn rouse_any(&self, state: &mut State) {
        if let Some(worker) = state.asleep.iter().position(|asleep| *asleep) {
            self.rouse(state, worker);
        }
    }

    fn rouse(&self, state: &mut State, worker: usize) {
        if std::mem::take(&mut state.asleep[worker]) {
            self.wake[worker].notify_one();
        }
    }

    /// What there is to do for a worker. One that has nothing else to do waits for something to come,
    /// until `deadline` at most. `mail` lends its room.
    pub fn find(
        &self,
        worker: usize,
        idle: bool,
        deadline: impl Fn() -> Option<Instant>,
        mut mail: Vec<Mail>,
    ) -> Found {
        let mut state = self.state();
        loop {
            let fresh = state.next_fresh();
            if !idle || fresh.is_some() || state.closing || !state.mail[worker].is_empty() {
                std::mem::swap(&mut mail, &mut state.mail[worker]);
                return Found { mail, fresh, closing: state.closing };
            }
            let wait = deadline().map(|at| at.saturating_duration_since(Instant::now()));
            if wait.is_some_and(|wait| wait.is_zero()) {
                return Found { mail, fresh: None, closing: false };
            }
            state.asleep[worker] = true;
            let wake = &self.wake[worker];
            state = match wait {
                Some(wait) => wake
                    .wait_timeout(state, wait)
                    .map(|(state, _)| state)
                    .unwrap_or_else(|error| error.into_inner().0),
                None => wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
            state.asleep[worker] = false;
        }
    }

    /// Takes no more programs in, and tells every worker to end.
    pub fn close(&self) {
        let mut state = self.state();
        state.closing = true;
        let waiters = std::mem::take(&mut state.waiters);
        let fresh = state.fresh.take();
        let awake = std::mem::take(&mut state.awake);
        drop(state);
        let new = fresh.into_iter().map(|job| job.slot);
        for slot in new.chain(awake.into_iter().map(|parked| parked.rest.slot)) {
            slot.fill(Outcome::failed(cancelled("the pool is shut down")));
        }
        self.wake.iter().for_each(Condvar::notify_all);
        waiters.into_values().for_each(Waker::wake);
    }
}

impl State {
    fn next_fresh(&mut self) -> Option<Fresh> {
        let awake = self.awake.pop_front().map(Fresh::Awake);
        awake.or_else(|| self.fresh.pop().map(Fresh::New))
    }

    /// The caller whose turn it is, if there is room for it.
    fn next_in_line(&mut self, most: usize) -> Option<Waker> {
        if self.unfinished >= most {
            return None;
        }
        self.waiters.pop_first().map(|(_, waker)| waker)
    }
}
