//! Holes for the test of the parent: programs with these keywords bring them about.

use std::time::Duration;

use crate::meter::used;

/// Falls into the hole that a program names.
pub fn fall(source: &str) {
    if source.contains(":planted/abort") {
        std::process::abort();
    }
    if source.contains(":planted/panic") {
        std::panic::panic_any("planted");
    }
    if source.contains(":planted/memory") {
        std::hint::black_box(vec![1u8; 256 << 20]);
    }
    if source.contains(":planted/time") {
        let begun = used();
        while used().saturating_sub(begun) < Duration::from_millis(1_500) {
            std::hint::spin_loop();
        }
    }
}
