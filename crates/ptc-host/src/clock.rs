//! The time of one program, as it can be asked for in the middle of a turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ptc_lisp::{Error, ErrorKind, Interrupt};

use crate::cancel::Cancel;
use crate::program::cancelled;

/// When a turn must end at the latest, and the token that ends it earlier.
#[derive(Debug)]
pub(crate) struct Clock {
    timeout: Option<Duration>,
    cancel: Option<Cancel>,
    began: Instant,
    /// Nanoseconds after the beginning at which the time is up.
    up_at: AtomicU64,
}

impl Clock {
    pub fn new(timeout: Option<Duration>, cancel: Option<Cancel>) -> Arc<Self> {
        Arc::new(Clock { timeout, cancel, began: Instant::now(), up_at: AtomicU64::new(u64::MAX) })
    }

    /// Notes when the time is up for a program that has `spent` so much of it and goes on now.
    pub fn go_on(&self, now: Instant, spent: Duration) {
        let Some(timeout) = self.timeout else { return };
        let up_at = now.saturating_duration_since(self.began) + timeout.saturating_sub(spent);
        self.up_at.store(u64::try_from(up_at.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Stops what the machine reads when the time is up or the token is set.
    pub fn interrupt(self: &Arc<Self>) -> Interrupt {
        let clock = self.clone();
        Interrupt::new(move || clock.check())
    }

    fn check(&self) -> Result<(), Error> {
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            return Err(cancelled("the program was cancelled"));
        }
        match self.timeout {
            Some(timeout)
                if self.began.elapsed().as_nanos() >= u128::from(self.up_at.load(Ordering::Relaxed)) =>
            {
                Err(late(timeout))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a program that took too long.
pub(crate) fn late(timeout: Duration) -> Error {
    Error::new(ErrorKind::Timeout, format!("the program took longer than {timeout:?}"))
}
