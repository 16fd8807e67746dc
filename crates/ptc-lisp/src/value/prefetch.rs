//! Fetching rows before they are needed. A walk over many maps waits for memory at every one of them unless
//! the processor is told in time where it goes on; it cannot guess that, because maps lie anywhere.
#![expect(unsafe_code, reason = "there is no safe way to ask for a line of memory")]

use super::Value;

/// How many items a walk looks ahead.
pub const AHEAD: usize = 12;

/// Begins to fetch what a value points to, if it is a map.
#[inline(always)]
pub fn fetch(value: &Value) {
    if let Value::Map(map) = value {
        // Most rows take two lines.
        line(map.address());
        line(map.address().wrapping_add(64));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn line(address: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: every processor of this kind has the instruction, and it is a hint: whatever the address, it
    // reads nothing that the program could see, and it never faults.
    unsafe { _mm_prefetch(std::ptr::without_provenance(address), _MM_HINT_T0) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn line(_: usize) {}
