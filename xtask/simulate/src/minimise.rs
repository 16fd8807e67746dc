//! Makes a schedule in which something is wrong smaller: whatever went wrong and is not needed for it does not happen.

use anyhow::Result;

use crate::schedule::{self, Kit, Outcome, Plan};

/// Attempts that are made at most.
const TRIALS: usize = 400;

/// The same violation with as few faults as can be found by leaving out one after the other, from the last on.
pub fn smaller(kit: &Kit, plan: &Plan, found: &Outcome) -> Result<Outcome> {
    let rule = rule(found);
    let mut plan = Plan { logs: false, ..plan.clone() };
    let (mut trials, mut at) = (0, found.faults);
    while at > 0 && trials < TRIALS {
        trials += 1;
        let mut spared = plan.spared.clone();
        spared.faults.insert(at);
        let trial = Plan { spared: spared.clone(), ..plan.clone() };
        if self::rule(&schedule::run(kit, &trial)?) == rule {
            plan.spared = spared;
        }
        at -= 1;
    }
    let mut smallest = schedule::run(kit, &Plan { logs: true, ..plan.clone() })?;
    smallest.faults -= plan.spared.faults.iter().filter(|fault| **fault <= smallest.faults).count() as u64;
    Ok(smallest)
}

/// Which rule was broken.
fn rule(outcome: &Outcome) -> Option<String> {
    let violation = outcome.violation.as_deref()?;
    violation.split(':').next().map(str::to_owned)
}
