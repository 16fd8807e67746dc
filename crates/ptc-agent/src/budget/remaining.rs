//! What `(budget/remaining)` gives a program: how the run stands and what is left.

use serde_json::{Value as Json, json};

use super::tree::{AccountId, Budget};
use super::unit::{Unit, usd};
use crate::model::Tokens;

/// How an agent stands, as far as the budget does not know it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// Work turns that are left.
    pub(crate) work_turns: u64,
    /// Retry turns that are left.
    pub(crate) retry_turns: u64,
    /// How deep the agent is nested, from 1.
    pub(crate) depth: u64,
    /// The deepest nesting that is allowed.
    pub(crate) max_depth: u64,
    /// Tokens that the agent used.
    pub(crate) tokens: Tokens,
    /// Requests that the agent made.
    pub(crate) llm_requests: u64,
}

/// The map of `(budget/remaining)`, with names as programs write them. What has no limit is null.
pub(crate) fn remaining_map(standing: &Standing, budget: &Budget, account: AccountId, now: u64) -> Json {
    let left = |unit| budget.remaining(account, unit);
    let spent = |unit| budget.spent(account, unit);
    let own_turns = standing.work_turns + standing.retry_turns;
    let tokens = &standing.tokens;
    json!({
        "turns": left(Unit::Turns).map_or(own_turns, |shared| shared.min(own_turns)),
        "work-turns": standing.work_turns,
        "retry-turns": standing.retry_turns,
        "depth": {"current": standing.depth, "max": standing.max_depth},
        "tokens": {
            "input": tokens.input,
            "output": tokens.output,
            "total": tokens.input + tokens.output,
            "cache-creation": tokens.cache_creation,
            "cache-read": tokens.cache_read,
            "left": left(Unit::Tokens),
        },
        "llm-requests": standing.llm_requests,
        "cost": {"spent-usd": usd(spent(Unit::Cost)), "left-usd": left(Unit::Cost).map(usd)},
        "calls": {"used": spent(Unit::Calls), "left": left(Unit::Calls)},
        "fuel": {"used": spent(Unit::Fuel), "left": left(Unit::Fuel)},
        "time": {"left-ms": budget.time_left(account, now)},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::AccountLimits;

    #[test]
    fn r2_59_what_a_program_learns_about_its_budget() {
        let mut budget = Budget::default();
        let limits =
            AccountLimits::NONE.most(Unit::Turns, 20).most(Unit::Cost, 500_000).most(Unit::Calls, 10);
        let root = budget.open(None, limits.until(60_000));
        budget.spend(root, Unit::Turns, 2).unwrap();
        budget.spend(root, Unit::Calls, 3).unwrap();
        budget.spend(root, Unit::Cost, 125_000).unwrap();
        let standing = Standing {
            work_turns: 3,
            retry_turns: 1,
            depth: 1,
            max_depth: 3,
            tokens: Tokens { input: 100, output: 20, cache_read: 50, ..Tokens::default() },
            llm_requests: 2,
        };
        let expected = json!({
            "turns": 4,
            "work-turns": 3,
            "retry-turns": 1,
            "depth": {"current": 1, "max": 3},
            "tokens": {
                "input": 100, "output": 20, "total": 120, "cache-creation": 0, "cache-read": 50, "left": null
            },
            "llm-requests": 2,
            "cost": {"spent-usd": 0.125, "left-usd": 0.375},
            "calls": {"used": 3, "left": 7},
            "fuel": {"used": 0, "left": null},
            "time": {"left-ms": 59_000},
        });
        assert_eq!(remaining_map(&standing, &budget, root, 1_000), expected);
    }

    #[test]
    fn r2_59_turns_are_those_that_the_whole_run_still_has() {
        let mut budget = Budget::default();
        let root = budget.open(None, AccountLimits::NONE.most(Unit::Turns, 2));
        let standing = Standing { work_turns: 5, ..Standing::default() };
        assert_eq!(remaining_map(&standing, &budget, root, 0)["turns"], 2);
    }
}
