//! Budgets: one tree of accounts for a run and all agents below it.
//!
//! Whoever is about to spend reserves first. A reservation holds its amount in the account and in every
//! account above it, so that what all children together have spent and hold never exceeds a limit, however
//! many of them are open at once. When the true amount is known, the reservation is settled and what was
//! not needed is free again.
//!
//! | file | what it knows |
//! |---|---|
//! | `unit` | what is counted, and limits on it |
//! | `tree` | accounts, reservations and what is left |
//! | `remaining` | what `(budget/remaining)` gives a program |

mod remaining;
mod tree;
mod unit;

#[cfg(test)]
mod properties;

pub(crate) use remaining::{Standing, remaining_map};
pub(crate) use tree::{AccountId, Budget, Reservation};
pub(crate) use unit::{AccountLimits, Unit, micro_usd};
