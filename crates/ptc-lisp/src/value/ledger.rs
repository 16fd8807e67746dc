//! What looking at keys costs.
//!
//! Tables compare and hash keys in many places that have no meter at hand, and a key may be as large as
//! the memory. So the work is noted here, once per thread, since a machine runs on one thread at a time;
//! the machine charges it after every native. Once the work is more than the fuel that was left, or the host says
//! that it shall not go on, walks end early and answer anything: the program is over, whatever they say.

use std::cell::{Cell, RefCell};

use crate::heap::METERED;
use crate::interrupt::Interrupt;

thread_local! {
    static USED: Cell<u64> = const { Cell::new(0) };
    static LIMIT: Cell<u64> = const { Cell::new(u64::MAX) };
    static INTERRUPT: RefCell<Interrupt> = const { RefCell::new(Interrupt::NONE) };
}

/// More work than any program has fuel for.
const OVER: u64 = u64::MAX / 4;

/// Begins to note work for a program that has `fuel` left, and asks `interrupt` where it takes long.
#[inline]
pub fn open(fuel: u64, interrupt: &Interrupt) {
    USED.set(0);
    LIMIT.set(fuel);
    if interrupt.is_set() {
        INTERRUPT.replace(interrupt.clone());
    }
}

/// Ends it: what hosts do with tables costs nothing.
#[inline]
pub fn close(interrupt: &Interrupt) {
    LIMIT.set(u64::MAX);
    if interrupt.is_set() {
        INTERRUPT.take();
    }
}

/// Whether a walk may go on; asked after every [`Interrupt::FUEL`] steps. If not, the program has used up its fuel.
pub fn goes_on() -> bool {
    let goes_on = INTERRUPT.with_borrow(|interrupt| interrupt.check().is_ok());
    if !goes_on {
        USED.set(OVER);
    }
    goes_on
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
