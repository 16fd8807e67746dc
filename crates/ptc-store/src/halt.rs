//! Points at which tests stop a process to kill it there: right before a change becomes final and right after. Builds for
//! users have none.

/// Passes a point. The file that `PTC_STORE_HALT` names has the number of points to pass; who comes to the last one
/// says so in a file beside it and waits to be killed.
#[cfg(debug_assertions)]
pub(crate) fn point() {
    use std::sync::{Mutex, PoisonError};
    static TURN: Mutex<()> = Mutex::new(());
    let Some(path) = std::env::var_os("PTC_STORE_HALT") else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let left = std::fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u64>().ok());
    match left {
        None => {}
        Some(0) => {
            let mut reached = path;
            reached.push(".reached");
            let _ = std::fs::write(reached, "");
            loop {
                std::thread::park();
            }
        }
        Some(left) => {
            let _ = std::fs::write(&path, (left - 1).to_string());
        }
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn point() {}
