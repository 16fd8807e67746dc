//! Accounts, reservations and what is left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::unit::{AccountLimits, Amounts, Unit};

/// An account of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct AccountId(u32);

/// An amount that is held until it is settled. It is a handle: the tree knows what it stands for, and one
/// that was settled stands for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Reservation(u64);

/// An account cannot give what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{used} of {limit} {} are used or promised", unit.name())]
pub(crate) struct Exhausted {
    /// What there is not enough of.
    pub(crate) unit: Unit,
    /// The account whose limit it is: the one asked, or one above it.
    pub(crate) account: AccountId,
    /// Its limit.
    pub(crate) limit: u64,
    /// What it and all below it have spent and hold.
    pub(crate) used: u64,
}

/// The tree of accounts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Budget {
    accounts: Vec<Account>,
    held: BTreeMap<Reservation, Held>,
    reservations: u64,
}

/// Amounts count what the account and all below it spend and hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Account {
    parent: Option<AccountId>,
    limits: AccountLimits,
    spent: Amounts,
    held: Amounts,
}

impl Account {
    fn used(&self, unit: Unit) -> u64 {
        self.spent.get(unit).saturating_add(self.held.get(unit))
    }

    fn left(&self, unit: Unit) -> Option<u64> {
        self.limits.of(unit).map(|limit| limit.saturating_sub(self.used(unit)))
    }
}

/// What a reservation stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    account: AccountId,
    unit: Unit,
    amount: u64,
}

impl Budget {
    /// A new account below `parent`, or at the top.
    pub(crate) fn open(&mut self, parent: Option<AccountId>, limits: AccountLimits) -> AccountId {
        let id = AccountId(u32::try_from(self.accounts.len()).expect("fewer than 2^32 agents in a run"));
        let none = Amounts::default();
        self.accounts.push(Account { parent, limits, spent: none, held: none });
        id
    }

    /// Holds an amount in the account and in all above it, or says which of them has not enough.
    pub(crate) fn reserve(
        &mut self,
        account: AccountId,
        unit: Unit,
        amount: u64,
    ) -> Result<Reservation, Exhausted> {
        self.check(account, unit, amount)?;
        Ok(self.hold(account, unit, amount))
    }

    /// Holds as much as there is, at most `wanted`; fails if that is less than `least`.
    pub(crate) fn reserve_up_to(
        &mut self,
        account: AccountId,
        unit: Unit,
        least: u64,
        wanted: u64,
    ) -> Result<(Reservation, u64), Exhausted> {
        let granted = self.remaining(account, unit).map_or(wanted, |left| left.min(wanted)).max(least);
        self.check(account, unit, granted)?;
        Ok((self.hold(account, unit, granted), granted))
    }

    /// Spends at once what needs no waiting.
    pub(crate) fn spend(&mut self, account: AccountId, unit: Unit, amount: u64) -> Result<(), Exhausted> {
        let reservation = self.reserve(account, unit, amount)?;
        self.settle(reservation, amount);
        Ok(())
    }

    /// Counts what has been spent already, be it more than there was or not.
    pub(crate) fn record(&mut self, account: AccountId, unit: Unit, amount: u64) {
        self.for_each_above(account, |each| each.spent.add(unit, amount));
    }

    /// Whether an account, or one above it, has spent more than it had.
    pub(crate) fn is_overdrawn(&self, account: AccountId, unit: Unit) -> bool {
        self.path(account)
            .any(|(_, each)| each.limits.of(unit).is_some_and(|limit| each.spent.get(unit) > limit))
    }

    /// Whether there is such an account, for handles that were read from bytes.
    pub(crate) fn has(&self, account: AccountId) -> bool {
        (account.0 as usize) < self.accounts.len()
    }

    /// Ends a reservation with what was really spent, and gives by how much that is more than was held.
    /// More than was held is counted too: it is spent, and nothing is left then.
    pub(crate) fn settle(&mut self, reservation: Reservation, actual: u64) -> u64 {
        let Some(Held { account, unit, amount }) = self.held.remove(&reservation) else { return 0 };
        self.for_each_above(account, |each| {
            each.held.subtract(unit, amount);
            each.spent.add(unit, actual);
        });
        actual.saturating_sub(amount)
    }

    /// Ends a reservation of which nothing was spent.
    pub(crate) fn release(&mut self, reservation: Reservation) {
        self.settle(reservation, 0);
    }

    /// Ends a reservation as if all of it was spent, because nobody can say what was.
    pub(crate) fn forfeit(&mut self, reservation: Reservation) {
        if let Some(held) = self.held.get(&reservation) {
            let amount = held.amount;
            self.settle(reservation, amount);
        }
    }

    /// Whether everything points to accounts that are there, for trees that were read from bytes.
    pub(crate) fn is_sound(&self) -> bool {
        let parents = self
            .accounts
            .iter()
            .enumerate()
            .all(|(at, account)| account.parent.is_none_or(|parent| (parent.0 as usize) < at));
        parents && self.held.values().all(|held| self.has(held.account)) && self.reservations < u64::MAX / 2
    }

    /// Moves all times by so many milliseconds.
    pub(crate) fn delay(&mut self, ms: u64) {
        for account in &mut self.accounts {
            account.limits.deadline = account.limits.deadline.map(|deadline| deadline.saturating_add(ms));
        }
    }

    /// Ends all reservations of an account and of those below it; what they held is free again.
    pub(crate) fn close(&mut self, account: AccountId) {
        let open = self.held.iter().filter(|(_, held)| self.path(held.account).any(|(id, _)| id == account));
        let open: Vec<Reservation> = open.map(|(reservation, _)| *reservation).collect();
        open.into_iter().for_each(|reservation| self.release(reservation));
    }

    /// What an account can still reserve; nothing if no limit holds for it.
    pub(crate) fn remaining(&self, account: AccountId, unit: Unit) -> Option<u64> {
        self.path(account).filter_map(|(_, each)| each.left(unit)).min()
    }

    /// What an account and all below it have spent.
    pub(crate) fn spent(&self, account: AccountId, unit: Unit) -> u64 {
        self.account(account).spent.get(unit)
    }

    /// What an account and all below it hold.
    #[cfg(test)]
    pub(crate) fn held(&self, account: AccountId, unit: Unit) -> u64 {
        self.account(account).held.get(unit)
    }

    /// When time is up for an account: its own time, or that of one above if it is earlier.
    pub(crate) fn deadline(&self, account: AccountId) -> Option<u64> {
        self.path(account).filter_map(|(_, each)| each.limits.deadline).min()
    }

    /// The milliseconds that an account has left.
    pub(crate) fn time_left(&self, account: AccountId, now: u64) -> Option<u64> {
        self.deadline(account).map(|deadline| deadline.saturating_sub(now))
    }

    fn check(&self, account: AccountId, unit: Unit, amount: u64) -> Result<(), Exhausted> {
        let short = self.path(account).find(|(_, each)| each.left(unit).is_some_and(|left| left < amount));
        match short {
            None => Ok(()),
            Some((account, each)) => {
                let (limit, used) = (each.limits.of(unit).unwrap_or(u64::MAX), each.used(unit));
                Err(Exhausted { unit, account, limit, used })
            }
        }
    }

    fn hold(&mut self, account: AccountId, unit: Unit, amount: u64) -> Reservation {
        let reservation = Reservation(self.reservations);
        self.reservations = self.reservations.wrapping_add(1);
        self.for_each_above(account, |each| each.held.add(unit, amount));
        self.held.insert(reservation, Held { account, unit, amount });
        reservation
    }

    fn account(&self, id: AccountId) -> &Account {
        &self.accounts[id.0 as usize]
    }

    /// The account and all above it.
    fn path(&self, account: AccountId) -> impl Iterator<Item = (AccountId, &Account)> {
        let mut next = Some(account);
        std::iter::from_fn(move || {
            let id = next?;
            let account = self.account(id);
            // Parents come before their children, so the way up ends whatever was loaded.
            next = account.parent.filter(|parent| *parent < id);
            Some((id, account))
        })
    }

    fn for_each_above(&mut self, account: AccountId, change: impl Fn(&mut Account)) {
        let ids: Vec<AccountId> = self.path(account).map(|(id, _)| id).collect();
        for id in ids {
            change(&mut self.accounts[id.0 as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of 10 turns with two agents below it, each with up to 8.
    fn family() -> (Budget, AccountId, AccountId, AccountId) {
        let mut budget = Budget::default();
        let root = budget.open(None, AccountLimits::NONE.most(Unit::Turns, 10));
        let one = budget.open(Some(root), AccountLimits::NONE.most(Unit::Turns, 8));
        let two = budget.open(Some(root), AccountLimits::NONE.most(Unit::Turns, 8));
        (budget, root, one, two)
    }

    #[test]
    fn r2_56_children_spend_from_the_same_budget() {
        let (mut budget, root, one, two) = family();
        budget.spend(one, Unit::Turns, 6).unwrap();
        assert_eq!(budget.remaining(two, Unit::Turns), Some(4));
        budget.spend(two, Unit::Turns, 4).unwrap();
        let error = budget.spend(one, Unit::Turns, 1).unwrap_err();
        assert_eq!(error, Exhausted { unit: Unit::Turns, account: root, limit: 10, used: 10 });
        assert_eq!(error.to_string(), "10 of 10 turns are used or promised");
        assert_eq!(budget.spent(root, Unit::Turns), 10);
    }

    #[test]
    fn what_is_held_cannot_be_promised_twice() {
        let (mut budget, root, one, two) = family();
        let first = budget.reserve(one, Unit::Turns, 7).unwrap();
        assert!(budget.reserve(two, Unit::Turns, 4).is_err());
        let second = budget.reserve(two, Unit::Turns, 3).unwrap();
        assert_eq!(budget.settle(first, 2), 0);
        budget.release(second);
        assert_eq!(budget.remaining(root, Unit::Turns), Some(8));
        assert_eq!((budget.spent(one, Unit::Turns), budget.spent(two, Unit::Turns)), (2, 0));
    }

    #[test]
    fn the_account_that_is_short_is_named() {
        let (mut budget, _, one, _) = family();
        let error = budget.reserve(one, Unit::Turns, 9).unwrap_err();
        assert_eq!((error.account, error.limit, error.used), (one, 8, 0));
    }

    #[test]
    fn as_much_as_there_is() {
        let (mut budget, _, one, two) = family();
        let (held, granted) = budget.reserve_up_to(one, Unit::Turns, 1, 100).unwrap();
        assert_eq!(granted, 8);
        assert_eq!(budget.reserve_up_to(two, Unit::Turns, 1, 1).unwrap().1, 1);
        assert!(budget.reserve_up_to(two, Unit::Turns, 2, 5).is_err());
        budget.settle(held, 3);
        assert_eq!(budget.reserve_up_to(two, Unit::Turns, 2, 5).unwrap().1, 5);
        assert_eq!(budget.reserve_up_to(two, Unit::Fuel, 0, 1000).unwrap().1, 1000);
    }

    #[test]
    fn a_reservation_ends_once() {
        let (mut budget, root, one, _) = family();
        let held = budget.reserve(one, Unit::Turns, 5).unwrap();
        budget.settle(held, 5);
        assert_eq!(budget.settle(held, 5), 0);
        assert_eq!(budget.spent(root, Unit::Turns), 5);
    }

    #[test]
    fn more_than_was_held_is_counted_and_reported() {
        let (mut budget, root, one, _) = family();
        let held = budget.reserve(one, Unit::Turns, 8).unwrap();
        assert_eq!(budget.settle(held, 12), 4);
        assert_eq!(budget.spent(root, Unit::Turns), 12);
        assert_eq!(budget.remaining(root, Unit::Turns), Some(0));
        assert!(budget.reserve(root, Unit::Turns, 1).is_err());
    }

    #[test]
    fn an_agent_that_ends_leaves_nothing_held() {
        let (mut budget, root, one, two) = family();
        let below = budget.open(Some(one), AccountLimits::NONE);
        budget.reserve(below, Unit::Turns, 3).unwrap();
        budget.reserve(two, Unit::Turns, 2).unwrap();
        budget.close(one);
        assert_eq!((budget.held(one, Unit::Turns), budget.held(root, Unit::Turns)), (0, 2));
    }

    #[test]
    fn r2_57_the_earliest_deadline_counts() {
        let mut budget = Budget::default();
        let root = budget.open(None, AccountLimits::NONE.until(5_000));
        let child = budget.open(Some(root), AccountLimits::NONE.until(9_000));
        assert_eq!(budget.deadline(child), Some(5_000));
        assert_eq!((budget.time_left(child, 1_500), budget.time_left(child, 7_000)), (Some(3_500), Some(0)));
        assert_eq!(Budget::default().open(None, AccountLimits::NONE), root);
    }

    #[test]
    fn a_budget_survives_being_saved() {
        let (mut budget, root, one, _) = family();
        let held = budget.reserve(one, Unit::Turns, 5).unwrap();
        let saved = serde_json::to_string(&budget).unwrap();
        let mut loaded: Budget = serde_json::from_str(&saved).unwrap();
        assert_eq!(loaded, budget);
        loaded.settle(held, 4);
        assert_eq!(loaded.spent(root, Unit::Turns), 4);
    }
}
