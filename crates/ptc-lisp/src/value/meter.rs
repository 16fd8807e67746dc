//! Counting what a walk over values looks at.
//!
//! Equality and order look at every part of two values, and parts may be shared: forty vectors that each
//! hold the next one twice are a tree of 2^40 leaves. So a walk counts its steps against a limit, and a
//! long one remembers which shared parts it has found equal, which makes it as long as the values are
//! large in memory.

use hashbrown::{HashMap, HashSet};

use super::walk::DEEPEST;
use super::{Counted, Value, ledger};
use crate::interrupt::Interrupt;
use crate::seed::Unseeded;

/// Where a walk ends: after so many steps, or when the host says that it shall not go on.
#[derive(Debug)]
pub(super) struct Bound {
    limit: u64,
    /// The limit, or where the host is asked.
    looks_up_at: u64,
}

impl Bound {
    pub fn new(limit: u64) -> Bound {
        Bound { limit, looks_up_at: limit.min(Interrupt::FUEL) }
    }

    /// Whether a walk that has taken so many steps may go on.
    #[inline]
    pub fn allows(&mut self, steps: u64) -> bool {
        steps <= self.looks_up_at || self.look_up(steps)
    }

    #[cold]
    fn look_up(&mut self, steps: u64) -> bool {
        if steps > self.limit || !ledger::goes_on() {
            // A walk that was stopped does not begin again.
            self.limit = self.limit.min(self.looks_up_at);
            return false;
        }
        self.looks_up_at = self.limit.min(steps.saturating_add(Interrupt::FUEL));
        true
    }
}

/// The steps of one walk over a pair of values.
#[derive(Debug)]
pub struct Meter {
    bound: Bound,
    used: u64,
    depth: u16,
    equal: HashSet<AddressPair, Unseeded>,
}

/// The addresses of two containers that stay alive during the walk, and whether numbers were strict.
pub(super) type AddressPair = (usize, usize, bool);

/// Walks shorter than this remember nothing.
const LONG: u64 = 4096;

impl Meter {
    /// A meter that ends the walk after `limit` steps.
    pub fn new(limit: u64) -> Meter {
        let bound = Bound::new(limit);
        Meter { bound, used: 0, depth: 0, equal: HashSet::with_hasher(Unseeded::with_seed(3)) }
    }

    /// Counts `steps`; false once there are more than allowed.
    #[inline]
    pub fn step(&mut self, steps: usize) -> bool {
        self.used = self.used.saturating_add(steps as u64);
        self.bound.allows(self.used)
    }

    /// Goes a level deeper; false where walks go no deeper. The machine lets no program compare such values.
    #[inline]
    pub(super) fn enter(&mut self) -> bool {
        self.depth += 1;
        self.depth <= DEEPEST
    }

    /// Comes back from a level, also from one that was refused.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// The steps so far; more than the limit if the walk was cut short.
    pub fn used(&self) -> usize {
        usize::try_from(self.used).unwrap_or(usize::MAX)
    }

    /// The pair to remember, once the walk has become long enough to bother.
    #[inline]
    pub(super) fn pair(&self, a: &Value, b: &Value, strict: bool) -> Option<AddressPair> {
        if self.used < LONG {
            return None;
        }
        Some((lasting_address(a)?, lasting_address(b)?, strict))
    }

    /// Whether the pair was found equal before.
    pub(super) fn is_known(&self, pair: AddressPair) -> bool {
        self.equal.contains(&pair)
    }

    /// Notes that the pair is equal.
    pub(super) fn remember(&mut self, pair: AddressPair) {
        self.equal.insert(pair);
    }
}

/// Steps of a walk that cost one unit of fuel where a native takes many walks and nobody else counts them.
const STEPS_PER_FUEL: u64 = 8;

/// Walks at the cost of the program that runs, which its machine charges after the native (see [`ledger`]). Nothing once the
/// fuel is used up: the program is over, whatever the walk would say.
pub(super) fn noted<R>(walk: impl FnOnce(&mut Meter) -> R) -> Option<R> {
    let left = ledger::left();
    if left == 0 {
        ledger::note(1);
        return None;
    }
    let mut meter = Meter::new(left.saturating_mul(STEPS_PER_FUEL));
    let answer = walk(&mut meter);
    if meter.used >= STEPS_PER_FUEL {
        ledger::note(meter.used / STEPS_PER_FUEL);
    }
    Some(answer)
}

/// Where a container is in memory.
pub(crate) fn address(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Vec(body) => body.address(),
        Value::Seq(body) => body.address(),
        Value::Cons(body) => body.address(),
        Value::Lazy(body) => body.address(),
        Value::Map(body) => body.address(),
        Value::Set(body) => body.address(),
        Value::Sorted(body) => body.address(),
        Value::Reduced(body) => body.address(),
        _ => return None,
    })
}

/// Where a container is that a walk may remember. An entry that is made while a map is walked as a sequence is gone
/// after its step, and the next one may lie in its place.
pub(crate) fn lasting_address(value: &Value) -> Option<usize> {
    match value {
        Value::Vec(body) if body.entry && body.owners() == 1 => None,
        _ => address(value),
    }
}

/// Sizes of containers, which a long walk counts once however often they are shared.
#[derive(Debug)]
pub(super) struct Sizes<Size> {
    steps: u64,
    known: HashMap<usize, Size, Unseeded>,
}

impl<Size: Copy> Sizes<Size> {
    pub fn new() -> Sizes<Size> {
        Sizes { steps: 0, known: HashMap::with_hasher(Unseeded::with_seed(5)) }
    }

    /// Where a container is that is to be remembered, and its size if it is known.
    pub fn look(&mut self, value: &Value) -> (Option<usize>, Option<Size>) {
        self.steps += 1;
        if self.steps < LONG {
            return (None, None);
        }
        let place = lasting_address(value);
        (place, place.and_then(|place| self.known.get(&place).copied()))
    }

    /// Remembers the size of a container.
    pub fn remember(&mut self, place: Option<usize>, size: Size) {
        self.known.extend(place.map(|place| (place, size)));
    }
}
