//! Programs that are over before anybody could wait for them, run where they are wanted.
//!
//! Handing a program to another thread and back costs more than `(+ 1 2)` does. What is tried here has so little fuel
//! that it cannot hold up the thread of an async runtime; whatever does not end with a value in it goes to a pool, from
//! its beginning, as if it had never been tried. Its limit of memory is its own: when live data is counted, which takes
//! fuel, depends on it, and the fuel must be what it is anywhere else.

use std::panic::{self, AssertUnwindSafe};
use std::time::Instant;

use ptc_lisp::machine::Step;
use ptc_lisp::{Interrupt, Limits};

use crate::program::{Outcome, Program, Ran, cancelled};

/// Fuel of a try: some microseconds of work.
const FUEL: u64 = 1_000;
/// Bytes of source that are worth a try.
const SOURCE_BYTES: usize = 1 << 10;
/// Levels of nesting in source: little stack in any build.
const SOURCE_DEPTH: usize = 32;

/// The outcome of a program that ends with a value at once, without a call of a tool; the same outcome as anywhere
/// else. `None` says nothing of the program: run it in a [`Pool`](crate::Pool). Its hooks may then be called again.
pub fn run_at_once(program: &Program) -> Option<Outcome> {
    if program.source.len() > SOURCE_BYTES || program.resumption.is_some() || program.tools.tape().is_some() {
        return None;
    }
    // What panics here panics again in the pool, where it is told.
    panic::catch_unwind(AssertUnwindSafe(|| tried(program))).ok().flatten()
}

fn tried(program: &Program) -> Option<Outcome> {
    let started = Instant::now();
    let limits = Limits {
        fuel: FUEL.min(program.limits.fuel),
        source_depth: SOURCE_DEPTH.min(program.limits.source_depth),
        tool_calls: 0,
        ..program.limits.clone()
    };
    let program = Program { limits, ..program.clone() };
    let mut machine = program.machine();
    // Inputs of more than some kilobytes are none that are read at once.
    machine.set_interrupt(Interrupt::new(|| Err(cancelled("there is too much to read for a try"))));
    program.furnish(&mut machine).ok()?;
    machine.load(&program.source).ok()?;
    let Step::Done(signal) = machine.run(FUEL) else { return None };
    let ran = Ran {
        result: Ok(signal),
        calls: Vec::new(),
        manifest: machine.manifest().clone(),
        elapsed: started.elapsed(),
        turns: 1,
        held: None,
    };
    Some(Outcome::of(&mut machine, ran, &program.hooks))
}
