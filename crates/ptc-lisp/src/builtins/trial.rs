//! Programs as tests of natives: source text and what it prints, run by a machine of their own.

use crate::error::Error;
use crate::limits::Limits;
use crate::machine::{Machine, Step};

/// What `source` evaluates to, printed.
pub(crate) fn eval(source: &str) -> Result<String, Error> {
    let mut machine = Machine::new(Limits::default());
    machine.load(source)?;
    loop {
        match machine.run(u64::MAX) {
            Step::Done(_) => return Ok(machine.value()),
            Step::Failed(error) => return Err(error),
            // Fuel that is used up to the last unit ends a slice before it is an error.
            Step::Yield => {}
            step @ Step::Calls(_) => panic!("{source} stops at {step:?}"),
        }
    }
}

/// Checks that every program gives what stands beside it; an error shows as `error: kind`.
pub(crate) fn check(cases: &[(&str, &str)]) {
    let shown = |source: &str| eval(source).unwrap_or_else(|error| format!("error: {}", error.kind.reason()));
    let wrong: Vec<String> = cases
        .iter()
        .filter_map(|(source, expected)| {
            let got = shown(source);
            (got != *expected).then(|| format!("{source}\n  gives {got}\n  not   {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
