//! Waiting inside of a runtime for what nobody tells of. Tests wait for events, never for time: the times here only say
//! when to look again and when to give up. Tests of other crates take this file by its path.

use std::time::Duration;

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long nobody looks.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until something is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let looks = async {
        while !is_so().await {
            tokio::time::sleep(PAUSE).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, looks).await;
    in_time.unwrap_or_else(|_| panic!("not so after a long time: {what}"));
}
