//! The time while a program runs. A run is told the time between slices of its programs; but one native of a program can
//! take longer than a slice, so it may also look at a clock, if its driver has given it one. When a clock has ended a
//! program is on the tape, as the number of times that it was looked at, which depends on the program alone.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ptc_lisp::{Error, ErrorKind, Interrupt};

use super::AgentRun;

/// Says the time, in milliseconds since 1970.
pub type Now = Arc<dyn Fn() -> u64 + Send + Sync>;

/// When programs are stopped in the middle of a slice.
#[derive(Clone, Default)]
pub(crate) enum Clock {
    /// Never.
    #[default]
    None,
    /// When their time is over.
    Ticks(Now),
    /// When so many looks at the clock have been taken; once.
    After(u64),
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Clock::None => "None",
            Clock::Ticks(_) => "Ticks",
            Clock::After(_) => "After",
        })
    }
}

/// The looks at a clock of all slices of one [`AgentRun::next`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks(Arc<AtomicU64>);

/// Set beside the number of looks when the last of them stopped a program.
const STOPPED: u64 = 1 << 63;

impl Looks {
    /// What stops a program at its deadline. Only one is stopped at a time: the others are found late by the next
    /// [`AgentRun::next`].
    pub fn interrupt(&self, clock: &Clock, deadline: u64, limit: u64) -> Interrupt {
        let (looks, clock, mine) = (self.clone(), clock.clone(), AtomicBool::new(false));
        if matches!(clock, Clock::None) {
            return Interrupt::default();
        }
        Interrupt::new(move || {
            // It may be asked again on its way out.
            if mine.load(Ordering::Relaxed) {
                return Err(late(limit));
            }
            if looks.stopped().is_some() {
                return Ok(());
            }
            let look = looks.0.fetch_add(1, Ordering::Relaxed) + 1;
            let over = match &clock {
                Clock::None => false,
                Clock::Ticks(now) => now() >= deadline,
                Clock::After(most) => look >= *most,
            };
            if !over {
                return Ok(());
            }
            looks.0.fetch_or(STOPPED, Ordering::Relaxed);
            mine.store(true, Ordering::Relaxed);
            Err(late(limit))
        })
    }

    /// The look that stopped a program, if one did.
    fn stopped(&self) -> Option<u64> {
        let looks = self.0.load(Ordering::Relaxed);
        (looks & STOPPED != 0).then_some(looks & !STOPPED)
    }
}

/// The error of a program that took too long.
pub(super) fn late(limit: u64) -> Error {
    late_for(limit, &[], &[])
}

/// The same for one that waited for calls when its time was over, some of which may have changed something.
pub(super) fn late_for(limit: u64, awaited: &[String], lost: &[String]) -> Error {
    /// How many calls are named.
    const NAMED: usize = 3;
    let mut waited: Vec<String> = awaited.iter().take(NAMED).cloned().collect();
    if awaited.len() > NAMED {
        waited.push(format!("{} more", awaited.len() - NAMED));
    }
    let waited = match waited.as_slice() {
        [] => String::new(),
        waited => format!(", and waited for {}", waited.join(", ")),
    };
    let mut message =
        format!("the program took longer than the {limit} ms that the option timeout gives it{waited}");
    // The end of a program does not take back what it sent.
    for call in lost.iter().take(NAMED) {
        message.push_str(&format!("; {}", super::calls::ended_without(call)));
    }
    if lost.len() > NAMED {
        message.push_str(&format!("; the same holds for {} more", lost.len() - NAMED));
    }
    Error::new(ErrorKind::Timeout, message).hint("do less per turn, or call fewer tools at once")
}

impl AgentRun {
    /// Lets programs look at a clock while they run, so that none goes far beyond its time. Tapes of the run need
    /// [`AgentRun::stopped`] then.
    pub fn set_clock(&mut self, now: Now) {
        self.shared.clock = Clock::Ticks(now);
    }

    /// Stops the program of the next slice when it looks at the clock for the `looks`th time, as it was taped.
    pub(crate) fn stop_after(&mut self, looks: u64) {
        self.shared.clock = Clock::After(looks);
    }

    /// Takes the clock away again.
    pub(crate) fn look_at_nothing(&mut self) {
        self.shared.clock = Clock::None;
    }

    /// Which look at the clock has stopped a program in the last [`AgentRun::next`], if one has.
    pub fn stopped(&self) -> Option<u64> {
        self.shared.looks.stopped()
    }
}
