//! Telling a program to stop. A token is a flag that drivers look at between slices of fuel, with hooks
//! for those who sleep when it is set.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

/// Stops programs that were started with it. Clones are the same token.
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Arc<CancelState>,
}

#[derive(Default)]
struct CancelState {
    set: AtomicBool,
    hooks: Mutex<CancelHooks>,
}

#[derive(Default)]
struct CancelHooks {
    next: u64,
    waiting: Vec<(u64, Action)>,
    /// What keeps a child's hook at its parent alive.
    parent: Option<Hook>,
}

impl Cancel {
    /// A token that nobody has set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every program that was started with this token or a child of it.
    pub fn cancel(&self) {
        let actions = {
            let mut hooks = self.hooks();
            self.shared.set.store(true, Ordering::Release);
            std::mem::take(&mut hooks.waiting)
        };
        actions.into_iter().for_each(|(_, action)| action());
    }

    /// Makes a token that was set as good as new, for the next program.
    pub fn reset(&self) {
        self.shared.set.store(false, Ordering::Release);
    }

    /// Whether somebody has set it.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.shared.set.load(Ordering::Relaxed)
    }

    /// A token that is set with this one, and can be set without it.
    #[must_use]
    pub fn child(&self) -> Cancel {
        let child = Cancel::new();
        let weak = Arc::downgrade(&child.shared);
        let hook = self.on_cancel(move || {
            if let Some(shared) = weak.upgrade() {
                Cancel { shared }.cancel();
            }
        });
        child.hooks().parent = Some(hook);
        child
    }

    /// Runs `action` when the token is set, at once if it is; not any more once the hook is dropped.
    pub(crate) fn on_cancel(&self, action: impl FnOnce() + Send + 'static) -> Hook {
        let mut hooks = self.hooks();
        if self.is_cancelled() {
            drop(hooks);
            action();
            return Hook { of: None };
        }
        let number = hooks.next;
        hooks.next += 1;
        // Nearly every token has one hook at most, and there may be a token per program that waits.
        if hooks.waiting.is_empty() {
            hooks.waiting.reserve_exact(1);
        }
        hooks.waiting.push((number, Box::new(action)));
        drop(hooks);
        Hook { of: Some((self.clone(), number)) }
    }

    fn hooks(&self) -> MutexGuard<'_, CancelHooks> {
        self.shared.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// An action that waits for a token to be set.
#[derive(Debug)]
pub(crate) struct Hook {
    of: Option<(Cancel, u64)>,
}

impl Drop for Hook {
    fn drop(&mut self) {
        if let Some((cancel, number)) = self.of.take() {
            let mut hooks = cancel.hooks();
            let at = hooks.waiting.binary_search_by_key(&number, |(number, _)| *number);
            let action = at.map(|at| hooks.waiting.remove(at));
            drop(hooks);
            drop(action);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    fn hooks_run_once_unless_dropped_before() {
        let (cancel, count) = (Cancel::new(), Arc::new(AtomicU32::new(0)));
        let add = |by: u32| {
            let count = count.clone();
            cancel.on_cancel(move || {
                count.fetch_add(by, Ordering::Relaxed);
            })
        };
        let _kept = add(1);
        drop(add(10));
        cancel.cancel();
        cancel.cancel();
        assert_eq!(count.load(Ordering::Relaxed), 1);
        let _late = add(100);
        assert_eq!(count.load(Ordering::Relaxed), 101, "a token that is set already runs the hook at once");
    }

    #[test]
    fn a_child_follows_its_parent_and_not_the_other_way() {
        let parent = Cancel::new();
        let (first, second) = (parent.child(), parent.child());
        first.cancel();
        assert!(first.is_cancelled() && !parent.is_cancelled() && !second.is_cancelled());
        parent.cancel();
        assert!(second.is_cancelled() && parent.child().is_cancelled());
    }

    #[test]
    fn children_that_are_gone_leave_nothing_behind() {
        let parent = Cancel::new();
        drop(parent.child());
        assert!(parent.hooks().waiting.is_empty());
    }
}
