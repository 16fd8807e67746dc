//! Permits for calls that run programs. Nobody waits for one: a full gate says so at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many calls at once and no more.
#[derive(Clone, Debug)]
pub struct Gate {
    most: usize,
    taken: Arc<AtomicUsize>,
}

/// The right to run a program. Dropping it, in whichever way a call ends, gives it back.
#[derive(Debug)]
pub struct Permit(Arc<AtomicUsize>);

impl Gate {
    /// A gate with so many permits.
    pub fn new(most: usize) -> Self {
        Gate { most: most.max(1), taken: Arc::default() }
    }

    /// A permit, unless all are taken.
    pub fn enter(&self) -> Option<Permit> {
        let take = |taken: usize| (taken < self.most).then_some(taken + 1);
        self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()?;
        Some(Permit(self.taken.clone()))
    }

    /// How many permits there are.
    pub fn most(&self) -> usize {
        self.most
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Acquire)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_4_permits_come_back_however_a_call_ends() {
        let gate = Gate::new(2);
        let (first, second) = (gate.enter(), gate.enter());
        assert!(first.is_some() && second.is_some() && gate.enter().is_none());
        drop(first);
        assert_eq!((gate.taken(), gate.enter().is_some()), (1, true));
        let crashed = std::thread::spawn({
            let gate = gate.clone();
            move || {
                let _permit = gate.enter();
                panic!("a call crashed");
            }
        });
        assert!(crashed.join().is_err());
        drop(second);
        assert_eq!(gate.taken(), 0);
    }
}
