//! How long a server that died keeps what it held in a store from others: sessions, tickets and requests.

use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// From the last sign of life on.
const LEASE: Duration = Duration::from_secs(10);

/// How long others wait for a server that gives no sign of life. Tests of servers that are killed one after the other
/// make it shorter with `PTC_LEASE_MS`; builds for users do not.
pub fn lease() -> Duration {
    #[cfg(debug_assertions)]
    if let Some(shorter) = std::env::var("PTC_LEASE_MS").ok().and_then(|text| text.parse().ok()) {
        return Duration::from_millis(shorter);
    }
    LEASE
}

/// The same in milliseconds.
pub fn lease_ms() -> i64 {
    i64::try_from(lease().as_millis()).unwrap_or(i64::MAX)
}

/// How often a server that lives says so.
pub fn renewal() -> Duration {
    lease() * 3 / 10
}

/// How long after the store failed something is given back once more.
const AGAIN: Duration = Duration::from_millis(100);

/// Gives something back that is held in a store; `give` says whether the store did so. Blocks. If it did not, it is asked again
/// and again, apart, until the lease is over by itself: a disk that was full for a moment keeps nobody out for longer.
pub fn give_back(runtime: &Handle, give: impl Fn() -> bool + Send + 'static) {
    if !give() {
        give_back_later(runtime, give);
    }
}

/// The same for what the store has just failed to give back. Returns at once.
pub fn give_back_later(runtime: &Handle, mut give: impl Fn() -> bool + Send + 'static) {
    let until = Instant::now() + lease();
    runtime.spawn(async move {
        while Instant::now() < until {
            tokio::time::sleep(AGAIN).await;
            let asked = tokio::task::spawn_blocking(move || (!give()).then_some(give));
            match asked.await {
                Ok(Some(not_yet)) => give = not_yet,
                // It is given back, or the server ends.
                Ok(None) | Err(_) => return,
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn what_a_store_does_not_take_back_is_given_back_when_it_can() {
        for failures in [0, 1, 3] {
            let asked = Arc::new(AtomicU32::new(0));
            let (given, taken) = tokio::sync::mpsc::unbounded_channel();
            let (count, given) = (asked.clone(), given);
            give_back(&Handle::current(), move || {
                let works = count.fetch_add(1, Ordering::SeqCst) >= failures;
                works && given.send(()).is_ok()
            });
            let mut taken = taken;
            taken.recv().await.expect("it is given back");
            assert_eq!(taken.recv().await, None, "once");
            assert_eq!(asked.load(Ordering::SeqCst), failures + 1);
        }
    }
}
