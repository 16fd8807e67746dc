//! The promise of budgets: whatever agents do, in whatever order, no limit is ever exceeded.

use proptest::prelude::*;

use super::{AccountId, AccountLimits, Budget, Reservation, Unit};

/// What a spender does next; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Act {
    /// A new agent below some agent, with limits on some units.
    Open { parent: usize, limits: Vec<Option<u64>> },
    /// Some agent reserves.
    Reserve { account: usize, unit: usize, amount: u64 },
    /// Some agent takes what it can get.
    ReserveUpTo { account: usize, unit: usize, least: u64, wanted: u64 },
    /// Some reservation ends, with a part of it spent.
    Settle { which: usize, part: u64 },
    /// Some agent ends with all below it.
    Close { account: usize },
    /// The run is saved and loaded.
    Save,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let limits = proptest::collection::vec(proptest::option::of(0..200u64), Unit::ALL.len());
    let act = prop_oneof![
        3 => (any::<usize>(), limits).prop_map(|(parent, limits)| Act::Open { parent, limits }),
        8 => (any::<usize>(), 0..Unit::ALL.len(), 0..60u64)
            .prop_map(|(account, unit, amount)| Act::Reserve { account, unit, amount }),
        4 => (any::<usize>(), 0..Unit::ALL.len(), 0..20u64, 0..90u64)
            .prop_map(|(account, unit, least, wanted)| Act::ReserveUpTo { account, unit, least, wanted }),
        8 => (any::<usize>(), 0..=100u64).prop_map(|(which, part)| Act::Settle { which, part }),
        1 => any::<usize>().prop_map(|account| Act::Close { account }),
        1 => Just(Act::Save),
    ];
    proptest::collection::vec(act, 20..120)
}

/// The same bookkeeping in the plainest way: every amount with its account, summed up anew each time.
#[derive(Default)]
struct Ledger {
    accounts: Vec<(AccountId, Option<usize>, AccountLimits)>,
    open: Vec<(Reservation, usize, Unit, u64)>,
    spent: Vec<(usize, Unit, u64)>,
}

impl Ledger {
    fn is_below(&self, mut account: usize, top: usize) -> bool {
        loop {
            match self.accounts[account].1 {
                _ if account == top => return true,
                Some(parent) => account = parent,
                None => return false,
            }
        }
    }

    fn spent(&self, top: usize, unit: Unit) -> u64 {
        let below = self.spent.iter().filter(|(account, of, _)| *of == unit && self.is_below(*account, top));
        below.map(|(.., amount)| amount).sum()
    }

    fn used(&self, top: usize, unit: Unit) -> u64 {
        let below =
            self.open.iter().filter(|(_, account, of, _)| *of == unit && self.is_below(*account, top));
        self.spent(top, unit) + below.map(|(.., amount)| amount).sum::<u64>()
    }

    fn left(&self, account: usize, unit: Unit) -> Option<u64> {
        let above = (0..self.accounts.len()).filter(|top| self.is_below(account, *top));
        above.filter_map(|top| Some(self.accounts[top].2.of(unit)? - self.used(top, unit))).min()
    }

    fn check(&self, budget: &Budget) {
        for (place, (id, _, limits)) in self.accounts.iter().enumerate() {
            for unit in Unit::ALL {
                let used = self.used(place, unit);
                assert!(limits.of(unit).is_none_or(|limit| used <= limit), "{unit:?} of account {place}");
                assert_eq!(budget.spent(*id, unit), self.spent(place, unit));
                assert_eq!(budget.remaining(*id, unit), self.left(place, unit));
            }
        }
    }
}

fn run(acts: Vec<Act>) {
    let mut budget = Budget::default();
    let mut ledger = Ledger::default();
    let root = Unit::ALL.iter().fold(AccountLimits::NONE, |limits, unit| limits.most(*unit, 300));
    ledger.accounts.push((budget.open(None, root), None, root));
    for act in acts {
        step(&mut budget, &mut ledger, act);
        ledger.check(&budget);
    }
    for (reservation, account, unit, amount) in std::mem::take(&mut ledger.open) {
        assert_eq!(budget.settle(reservation, amount), 0);
        ledger.spent.push((account, unit, amount));
    }
    ledger.check(&budget);
}

fn step(budget: &mut Budget, ledger: &mut Ledger, act: Act) {
    let accounts = ledger.accounts.len();
    match act {
        Act::Open { parent, limits } => {
            let parent = parent % accounts;
            let limits = Unit::ALL
                .iter()
                .zip(limits)
                .fold(AccountLimits::NONE, |all, (unit, most)| all.most(*unit, most));
            let id = budget.open(Some(ledger.accounts[parent].0), limits);
            ledger.accounts.push((id, Some(parent), limits));
        }
        Act::Reserve { account, unit, amount } => {
            let (account, unit) = (account % accounts, Unit::ALL[unit]);
            let enough = ledger.left(account, unit).is_none_or(|left| left >= amount);
            let reserved = budget.reserve(ledger.accounts[account].0, unit, amount);
            assert_eq!(reserved.is_ok(), enough, "refused exactly if there is not enough");
            ledger.open.extend(reserved.ok().map(|reservation| (reservation, account, unit, amount)));
        }
        Act::ReserveUpTo { account, unit, least, wanted } => {
            let (account, unit) = (account % accounts, Unit::ALL[unit]);
            let wanted = wanted.max(least);
            let left = ledger.left(account, unit).unwrap_or(u64::MAX);
            let reserved = budget.reserve_up_to(ledger.accounts[account].0, unit, least, wanted);
            assert_eq!(reserved.map(|(_, granted)| granted).ok(), (left >= least).then(|| left.min(wanted)));
            ledger
                .open
                .extend(reserved.ok().map(|(reservation, granted)| (reservation, account, unit, granted)));
        }
        Act::Settle { which, part } if !ledger.open.is_empty() => {
            let (reservation, account, unit, amount) = ledger.open.swap_remove(which % ledger.open.len());
            let actual = amount * part / 100;
            assert_eq!(budget.settle(reservation, actual), 0);
            ledger.spent.push((account, unit, actual));
        }
        Act::Close { account } => {
            let top = account % accounts;
            budget.close(ledger.accounts[top].0);
            let open = std::mem::take(&mut ledger.open);
            ledger.open =
                open.into_iter().filter(|(_, account, ..)| !ledger.is_below(*account, top)).collect();
        }
        Act::Save => {
            let saved = serde_json::to_vec(budget).expect("it is written");
            *budget = serde_json::from_slice(&saved).expect("it is read");
        }
        Act::Settle { .. } => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// 200 random trees of nested and parallel spenders.
    #[test]
    fn no_budget_is_exceeded_and_all_that_is_spent_is_counted(acts in acts()) {
        run(acts);
    }
}
