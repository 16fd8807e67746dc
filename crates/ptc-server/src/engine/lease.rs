//! How long a server that died keeps what it held in a store from others: sessions, tickets and requests.

use std::time::Duration;

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
