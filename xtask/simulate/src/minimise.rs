//! Makes a schedule in which something is wrong smaller: whatever went wrong and is not needed for it does not happen.

use anyhow::Result;

use crate::schedule::{self, Kit, Outcome, Plan};

/// Attempts that are made at most.
const TRIALS: usize = 400;

/// The same violation with as few faults as can be found by leaving out one after the other, from the last on.
pub fn smaller(kit: &Kit, plan: &Plan, found: &Outcome) -> Result<Outcome> {
    let rule = rule(found);
    let mut plan = Plan { logs: false, ..plan.clone() };
    let (mut trials, mut at, mut fewest) = (0, found.faults, found.faults);
    while at > 0 && trials < TRIALS {
        trials += 1;
        let mut trial = plan.clone();
        trial.spared.faults.insert(at);
        let outcome = schedule::run(kit, &trial)?;
        let happened = happened(&trial, &outcome);
        // Without one of them a schedule may go on for longer and meet others.
        if self::rule(&outcome) == rule && happened < fewest {
            (plan, fewest) = (trial, happened);
        }
        at -= 1;
    }
    let mut smallest = schedule::run(kit, &Plan { logs: true, ..plan.clone() })?;
    smallest.faults = happened(&plan, &smallest);
    Ok(smallest)
}

/// How many faults happened: those that came up, without the ones that were spared.
fn happened(plan: &Plan, outcome: &Outcome) -> u64 {
    outcome.faults - plan.spared.faults.iter().filter(|fault| **fault <= outcome.faults).count() as u64
}

/// Which rule was broken.
fn rule(outcome: &Outcome) -> Option<String> {
    let violation = outcome.violation.as_deref()?;
    violation.split(':').next().map(str::to_owned)
}
