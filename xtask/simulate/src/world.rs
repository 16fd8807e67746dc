//! What all parts of a simulation share: the clock, the dice, the machines, what waits for a time, and the log. Every
//! decision is made here, from one source of numbers, so a seed decides everything that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use ptc_store::simulation::{self, Commits, Syncs, World};

use crate::fault::Fault;
use crate::random::Random;
use crate::rates::Rates;
use crate::upstream::Upstream;

/// What happens at most, so that a schedule that failed can be made smaller.
#[derive(Clone, Debug, Default)]
pub struct Spared {
    /// Faults that do not happen, by their numbers in the order in which they would.
    pub faults: BTreeSet<u64>,
}

/// Counts of what happened.
pub type Counts = BTreeMap<&'static str, u64>;

/// One simulated machine process.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Whether it runs.
    pub alive: bool,
    /// How often it was started.
    pub incarnation: u64,
    /// How far its clock is off.
    pub skew: i64,
    /// Until when it is stopped.
    pub stopped_until: i64,
    /// Its disk failed: it promises nothing any more until it is started again.
    pub disk_failed: bool,
}

/// Everything that is shared.
pub struct State {
    pub random: Random,
    pub rates: Rates,
    /// Whether anything goes wrong at all.
    pub chaos: bool,
    spared: Spared,
    faults: u64,
    pub fault: Option<Fault>,
    pub now: i64,
    /// What waits for a time.
    pub timers: BTreeMap<(i64, u64), Waker>,
    next: u64,
    pub nodes: Vec<Node>,
    /// Who does something at this moment.
    pub acting: u64,
    /// What the clock said to who does something.
    pub acting_now: i64,
    pub upstream: Upstream,
    pub counts: Counts,
    /// What calls do not use any more that they may still hold: another call of the same server may give it back.
    pub given_up: BTreeSet<(u64, String)>,
    /// The leases under which tickets were decided last.
    pub decided_by: BTreeMap<String, i64>,
    /// What happened, if somebody wants to read it.
    pub log: Option<Vec<String>>,
    pub violation: Option<String>,
}

/// The state, shared.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<State>>);

/// When simulations begin, in milliseconds since 1970.
const BEGIN: i64 = 1_800_000_000_000;

impl Shared {
    /// The world of one schedule.
    pub fn new(mut random: Random, fault: Option<Fault>, spared: Spared, logs: bool, nodes: usize) -> Shared {
        let rates = Rates::of(&mut random);
        Shared(Arc::new(Mutex::new(State {
            random,
            rates,
            chaos: true,
            spared,
            faults: 0,
            fault,
            now: BEGIN,
            timers: BTreeMap::new(),
            next: 0,
            nodes: vec![Node::default(); nodes],
            acting: 0,
            acting_now: BEGIN,
            upstream: Upstream::default(),
            counts: Counts::new(),
            given_up: BTreeSet::new(),
            decided_by: BTreeMap::new(),
            log: logs.then(Vec::new),
            violation: None,
        })))
    }

    /// The state.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a mistake is planted.
    pub fn has(&self, fault: Fault) -> bool {
        self.lock().fault == Some(fault)
    }

    /// Notes what happens.
    pub fn note(&self, what: impl FnOnce() -> String) {
        self.lock().note(what);
    }
}

impl State {
    /// Whether something goes wrong that does so at this rate.
    pub fn strikes(&mut self, what: &'static str, rate: impl Fn(&Rates) -> u32) -> bool {
        let rate = rate(&self.rates);
        if !self.chaos || rate == 0 || !self.random.per_mille(rate) {
            return false;
        }
        self.faults += 1;
        if self.spared.faults.contains(&self.faults) {
            return false;
        }
        *self.counts.entry(what).or_default() += 1;
        let number = self.faults;
        self.note(|| format!("fault {number}: {what}"));
        true
    }

    /// How many faults there were.
    pub fn faults(&self) -> u64 {
        self.faults
    }

    /// Notes what happens.
    pub fn note(&mut self, what: impl FnOnce() -> String) {
        let at = self.now - BEGIN;
        if let Some(log) = &mut self.log {
            log.push(format!("{:>9.3} s  {}", at as f64 / 1_000.0, what()));
        }
    }

    /// Something is wrong; what is found first stays.
    pub fn violated(&mut self, what: impl FnOnce() -> String) {
        if self.violation.is_none() {
            let what = what();
            self.note(|| format!("VIOLATION: {what}"));
            self.violation = Some(what);
        }
    }

    /// A number that nobody has.
    pub fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Wakes whoever waits for a time that has come.
    pub fn wake_due(&mut self) {
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= self.now
        {
            entry.remove().wake();
        }
    }

    /// How long a message takes; nothing if it is lost.
    pub fn travels(&mut self) -> Option<i64> {
        if self.strikes("message lost", |rates| rates.lost) {
            return None;
        }
        Some(match self.strikes("message late", |rates| rates.late) {
            true => self.random.between(500, 20_000),
            false => self.random.between(1, 40),
        })
    }
}

/// The world as one process sees it.
pub struct Seen {
    pub shared: Shared,
    pub node: usize,
}

impl Seen {
    /// A process dies at this very moment.
    fn dies(&self, state: &mut State, when: &str) {
        let node = self.node;
        state.note(|| format!("server {node} is killed {when}"));
        state.nodes[node].alive = false;
    }
}

impl World for Seen {
    fn now_ms(&self) -> i64 {
        let mut state = self.shared.lock();
        state.acting_now = state.now + state.nodes[self.node].skew;
        state.acting_now
    }

    fn begins(&self, _: Option<&str>) -> bool {
        let mut state = self.shared.lock();
        // Who was killed in a commit does not try again.
        state.nodes[self.node].alive && !state.strikes("store busy", |rates| rates.busy)
    }

    fn commits(&self) -> Commits {
        let mut state = self.shared.lock();
        if state.strikes("killed in a commit", |rates| rates.killed_in_commit) {
            let after = state.random.below(2) == 0;
            self.dies(&mut state, if after { "right after a commit" } else { "right before a commit" });
            return if after { Commits::LostAfter } else { Commits::LostBefore };
        }
        if state.strikes("connection broken", |rates| rates.broken) {
            return if state.random.below(2) == 0 { Commits::LostAfter } else { Commits::LostBefore };
        }
        match state.strikes("disk full", |rates| rates.full) {
            true => Commits::Full,
            false => Commits::Made,
        }
    }

    fn syncs(&self, subject: &str) -> Syncs {
        let mut state = self.shared.lock();
        let left_out = match state.fault {
            Some(Fault::SyncLeftOut) => subject.starts_with("effects "),
            Some(Fault::RecalledUnsynced) => subject == simulation::ALL,
            _ => false,
        };
        if left_out {
            return Syncs::LeftOut;
        }
        if state.strikes("sync failed", |rates| rates.unsynced) {
            state.nodes[self.node].disk_failed = true;
        }
        if state.nodes[self.node].disk_failed {
            return Syncs::Failed;
        }
        match state.strikes("sync lied", |rates| rates.lied) {
            true => Syncs::Lied,
            false => Syncs::Done,
        }
    }

    fn statement(&self, sql: &'static str) -> &'static str {
        match self.shared.lock().fault {
            Some(fault) => fault.statement(sql),
            None => sql,
        }
    }
}
