//! Subscriptions that are open. A client needs one; an owner has as many as it may have sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The method that opens one.
pub const LISTEN: &str = "subscriptions/listen";

/// Counts subscriptions by owner.
#[derive(Debug)]
pub struct Subscriptions {
    most_of_owner: usize,
    open: Arc<Mutex<OpenSubscriptions>>,
}

type OpenSubscriptions = HashMap<Arc<str>, usize>;

/// An open subscription; dropped when it is over.
#[derive(Debug)]
pub struct Subscription {
    owner: Arc<str>,
    open: Arc<Mutex<OpenSubscriptions>>,
}

fn locked(open: &Mutex<OpenSubscriptions>) -> MutexGuard<'_, OpenSubscriptions> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriptions {
    /// None yet.
    pub fn new(most_of_owner: usize) -> Subscriptions {
        Subscriptions { most_of_owner, open: Arc::default() }
    }

    /// Opens one, unless its owner has as many as it may.
    pub fn open(&self, owner: &Arc<str>) -> Option<Subscription> {
        let mut open = locked(&self.open);
        let count = open.get(owner).copied().unwrap_or_default();
        if count >= self.most_of_owner {
            return None;
        }
        open.insert(owner.clone(), count + 1);
        Some(Subscription { owner: owner.clone(), open: self.open.clone() })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut open = locked(&self.open);
        match open.get_mut(&self.owner) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                open.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_so_many_subscriptions_at_a_time() {
        let (subscriptions, a, b): (_, Arc<str>, Arc<str>) = (Subscriptions::new(2), "a".into(), "b".into());
        let first = subscriptions.open(&a);
        let second = subscriptions.open(&a);
        assert!(first.is_some() && second.is_some() && subscriptions.open(&a).is_none());
        assert!(subscriptions.open(&b).is_some(), "another owner has its own");
        drop(first);
        assert!(subscriptions.open(&a).is_some());
        drop(second);
        assert!(locked(&subscriptions.open).is_empty());
    }
}
