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
    /// The work after which the host is asked again.
    static LOOKS_UP_AT: Cell<u64> = const { Cell::new(Interrupt::FUEL) };
    static INTERRUPT: RefCell<Interrupt> = const { RefCell::new(Interrupt::NONE) };
}

/// More work than any program has fuel for.
const OVER: u64 = u64::MAX / 4;

/// Begins to note work for a program that has `fuel` left, and asks `interrupt` where it takes long.
#[inline]
pub fn open(fuel: u64, interrupt: &Interrupt) {
    USED.set(0);
    LOOKS_UP_AT.set(Interrupt::FUEL);
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

/// Notes work. One native may look at keys a billion times, so the host is asked here, too.
#[inline]
pub fn note(steps: u64) {
    if !METERED {
        return;
    }
    let used = USED.get().saturating_add(steps);
    USED.set(used);
    if used > LOOKS_UP_AT.get() {
        look_up(used);
    }
}

#[cold]
fn look_up(used: u64) {
    LOOKS_UP_AT.set(used.saturating_add(Interrupt::FUEL));
    goes_on();
}

/// How many parts of a value are walked between two questions.
const STRETCH: u64 = 1 << 16;

/// Whether a walk that makes something of so many parts may go on. What it makes is paid when it is there, so that it is
/// asked more often than one that pays by the step.
#[inline]
pub fn lets_walk(parts: u64) -> bool {
    !parts.is_multiple_of(STRETCH) || goes_on()
}

/// Whether a walk that only looks at values may go on after so many parts. It pays little, for nothing is made.
#[inline]
pub fn lets_look(parts: u64) -> bool {
    const PARTS_PER_STEP: u64 = 64;
    if parts.is_multiple_of(PARTS_PER_STEP) {
        note(1);
        if left() == 0 {
            return false;
        }
    }
    lets_walk(parts)
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
        LOOKS_UP_AT.set(Interrupt::FUEL);
        LIMIT.set(LIMIT.get().saturating_sub(used));
    }
    used
}
