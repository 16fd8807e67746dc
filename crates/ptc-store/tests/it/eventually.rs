//! Waiting for what is to happen. Tests wait for events, never for time: the times here only say when to look again and
//! when to give up. Tests of other crates take this file by its path.

use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nobody looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until something is so.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    found(what, || is_so().then_some(()));
}

/// Waits for something that is found sooner or later.
pub fn found<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    found_within(PATIENCE, what, look)
}

/// The same for what is known to take longer.
pub fn found_within<T>(limit: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < limit, "not so after a long time: {what}");
        std::thread::sleep(PAUSE);
    }
}
