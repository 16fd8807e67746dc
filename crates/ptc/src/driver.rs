//! Drives a machine: runs it in slices, answers its calls from canned tools, watches the wall clock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ptc_lisp::machine::{Call, Machine, Signal, Step};
use ptc_lisp::{Error, ErrorKind};

use crate::stubs::Stubs;

/// Fuel between two looks at the clock: a few milliseconds of work.
const SLICE: u64 = 100_000;

/// What may end a program from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds<'a> {
    /// Wall-clock time it may take.
    pub timeout: Option<Duration>,
    /// Set when the person at the terminal has had enough.
    pub interrupt: Option<&'a AtomicBool>,
}

/// A program that has been driven to its end.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub result: Result<Signal, Error>,
    /// The tool calls it made, in order.
    pub calls: Vec<Call>,
    /// How long it took, all told.
    pub elapsed: Duration,
}

/// Loads a program and drives it to its end.
pub fn drive(machine: &mut Machine, source: &str, stubs: &mut Stubs, bounds: Bounds<'_>) -> Ran {
    let started = Instant::now();
    let mut calls = Vec::new();
    let result = match machine.load(source) {
        Ok(_) => steps(machine, stubs, bounds, started, &mut calls),
        Err(error) => Err(error),
    };
    if result.is_err() {
        machine.cancel();
    }
    Ran { result, calls, elapsed: started.elapsed() }
}

fn steps(
    machine: &mut Machine,
    stubs: &mut Stubs,
    bounds: Bounds<'_>,
    started: Instant,
    made: &mut Vec<Call>,
) -> Result<Signal, Error> {
    loop {
        match machine.run(SLICE) {
            Step::Done(signal) => return Ok(signal),
            Step::Failed(error) => return Err(error),
            Step::Yield => {}
            Step::Calls(calls) if calls.is_empty() => {
                return Err(Error::new(
                    ErrorKind::Runtime,
                    "the program waits for something that cannot come",
                ));
            }
            Step::Calls(calls) => {
                for call in calls {
                    let answer = stubs.answer(&call);
                    machine.answer(call.id, answer)?;
                    made.push(call);
                }
            }
        }
        if let Some(timeout) = bounds.timeout.filter(|timeout| started.elapsed() > *timeout) {
            return Err(Error::new(ErrorKind::Timeout, format!("the program took longer than {timeout:?}")));
        }
        if bounds.interrupt.is_some_and(|interrupt| interrupt.swap(false, Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Cancelled, "interrupted"));
        }
    }
}

/// The real time in milliseconds since 1970.
pub fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}
