//! What looking at keys costs.
//!
//! Tables compare and hash keys in many places that have no meter at hand, and a key may be as large as
//! the memory. So the work is noted here, once per thread, since a machine runs on one thread at a time;
//! the machine charges it after every native. Once the work is more than the fuel that was left, walks end
//! early and answer anything: the program is over, whatever they say.

use std::cell::Cell;

use crate::heap::METERED;

thread_local! {
    static USED: Cell<u64> = const { Cell::new(0) };
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Begins to note work for a program that has `fuel` left.
pub fn open(fuel: u64) {
    USED.set(0);
    LIMIT.set(fuel);
}

/// Ends it: what hosts do with tables costs nothing.
pub fn close() {
    open(u64::MAX);
}

/// Notes work.
#[inline]
pub fn note(steps: u64) {
    if !METERED {
        return;
    }
    USED.set(USED.get().saturating_add(steps));
}

/// How much more work there may be.
pub fn left() -> u64 {
    LIMIT.get().saturating_sub(USED.get())
}

/// The work since the last call; what is left stays as much less.
#[inline]
pub fn take() -> u64 {
    if !METERED {
        return 0;
    }
    let used = USED.get();
    if used > 0 {
        USED.set(0);
        LIMIT.set(LIMIT.get().saturating_sub(used));
    }
    used
}
