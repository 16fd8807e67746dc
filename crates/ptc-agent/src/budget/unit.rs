//! What budgets count, and limits on it.

use serde::{Deserialize, Serialize};

/// A thing that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Turns of models.
    Turns,
    /// Tokens of requests and replies.
    Tokens,
    /// Millionths of a US dollar.
    Cost,
    /// Calls of tools.
    Calls,
    /// Steps of programs.
    Fuel,
}

impl Unit {
    /// Every unit.
    pub(crate) const ALL: [Unit; 5] = [Unit::Turns, Unit::Tokens, Unit::Cost, Unit::Calls, Unit::Fuel];

    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unit::Turns => "turns",
            Unit::Tokens => "tokens",
            Unit::Cost => "micro-USD",
            Unit::Calls => "tool calls",
            Unit::Fuel => "fuel",
        }
    }

    fn place(self) -> usize {
        self as usize
    }
}

/// An amount of every unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Amounts([u64; Unit::ALL.len()]);

impl Amounts {
    pub(super) fn get(&self, unit: Unit) -> u64 {
        self.0[unit.place()]
    }

    pub(super) fn add(&mut self, unit: Unit, amount: u64) {
        let slot = &mut self.0[unit.place()];
        *slot = slot.saturating_add(amount);
    }

    pub(super) fn subtract(&mut self, unit: Unit, amount: u64) {
        let slot = &mut self.0[unit.place()];
        *slot = slot.saturating_sub(amount);
    }
}

/// The most that an account may spend. What has no limit here may still have one above.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AccountLimits {
    most: [Option<u64>; Unit::ALL.len()],
    /// When time is up, in milliseconds of the host's clock.
    pub(crate) deadline: Option<u64>,
}

impl AccountLimits {
    /// No limits.
    pub(crate) const NONE: AccountLimits = AccountLimits { most: [None; Unit::ALL.len()], deadline: None };

    /// The same with a limit on one unit.
    #[must_use]
    pub(crate) fn most(mut self, unit: Unit, amount: impl Into<Option<u64>>) -> Self {
        self.most[unit.place()] = amount.into();
        self
    }

    /// The same with the time when all must be done.
    #[must_use]
    pub(crate) fn until(mut self, deadline: impl Into<Option<u64>>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// The limit on a unit.
    pub(crate) fn of(&self, unit: Unit) -> Option<u64> {
        self.most[unit.place()]
    }
}

/// Dollars as the unit that budgets count, rounded up so that no cost is free.
pub(crate) fn micro_usd(usd: f64) -> u64 {
    // The small difference takes away what the product itself adds. Casting saturates, and gives zero for
    // what is negative or not a number.
    (usd * 1e6 - 1e-6).ceil() as u64
}

/// The unit that budgets count as dollars.
pub(crate) fn usd(micros: u64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_counted_in_millionths_and_never_rounded_to_nothing() {
        let cases =
            [(0.0, 0), (0.000_000_1, 1), (1.1, 1_100_000), (-1.0, 0), (f64::NAN, 0), (1e300, u64::MAX)];
        for (dollars, micros) in cases {
            assert_eq!(micro_usd(dollars), micros, "{dollars}");
        }
        assert_eq!(usd(1_250_000), 1.25);
    }
}
