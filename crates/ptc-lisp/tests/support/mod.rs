//! What several tests share: random programs, and running a program to its end.

pub mod programs;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

/// What a program did: its value or error, what it printed, the fuel it used.
#[derive(Debug, PartialEq)]
pub struct Trace {
    /// The value as text, or the error.
    pub outcome: String,
    /// Printed lines.
    pub prints: Vec<String>,
    /// Fuel used.
    pub fuel: u64,
}

/// Runs a program on a fresh machine in slices of fuel.
pub fn trace(source: &str, limits: &Limits, slice: u64) -> Trace {
    let mut machine = Machine::new(limits.clone());
    machine.set_clock(1_700_000_000_000);
    let outcome = match machine.load(source) {
        Err(error) => error.to_string(),
        Ok(_) => loop {
            match machine.run(slice) {
                Step::Yield => {}
                Step::Done(_) => break machine.value(),
                Step::Failed(error) => break error.to_string(),
                Step::Calls(calls) => panic!("{source} calls {calls:?}"),
            }
        },
    };
    Trace { outcome, prints: machine.prints().to_vec(), fuel: machine.fuel_used() }
}
