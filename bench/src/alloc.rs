//! An allocator that counts live bytes while it is asked to.
//!
//! Counting costs an atomic addition per allocation, so it is off while times are measured.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering::Relaxed};

use ptc_alloc::Allocator;

/// The allocator of the process.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    if ON.load(Relaxed) {
        LIVE.fetch_add(bytes, Relaxed);
    }
}

// SAFETY: every call is handed on to the allocator of the command unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { Allocator.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size().cast_signed());
        unsafe { Allocator.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-layout.size().cast_signed());
        unsafe { Allocator.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size.cast_signed() - layout.size().cast_signed());
        unsafe { Allocator.realloc(at, layout, size) }
    }
}

/// Bytes that `make` leaves allocated, with what it made.
pub fn live_after<T>(make: impl FnOnce() -> T) -> (isize, T) {
    LIVE.store(0, Relaxed);
    ON.store(true, Relaxed);
    let made = make();
    ON.store(false, Relaxed);
    (LIVE.load(Relaxed), made)
}
