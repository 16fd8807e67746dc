//! Looking for lazy sequences that nobody has realised yet.
//!
//! A [`Shape`](super::Shape) only says that one may be inside, so before a deep walk somebody has to look.
//! That look is a walk itself: over parts that are shared many times, and over chains that may lead back
//! to themselves. So it counts its steps, and a long one remembers where it has been.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::Value;
use super::meter::{Bound, lasting_address};
use super::walk::{Parts, Place, Visitor, WalkStep, walk};

/// Walks shorter than this remember nothing.
const LONG: u64 = 4096;

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Everything inside is there.
    Realised,
    /// A lazy sequence waits, or the value nests so deeply behind realised ones that realising it must
    /// find out.
    Lazy,
    /// The look took more steps or time than allowed.
    TooLong,
}

/// Looks for unrealised lazy sequences inside of `value` for at most `limit` steps; also says how many it
/// took.
pub fn look(value: &Value, limit: u64) -> (Found, u64) {
    if !value.shape().lazy {
        return (Found::Realised, 0);
    }
    let mut look =
        Look { bound: Bound::new(limit), steps: 0, clean: HashSet::with_hasher(FixedState::with_seed(5)) };
    let found = walk(value, &mut look).err().unwrap_or(Found::Realised);
    (found, look.steps)
}

struct Look {
    bound: Bound,
    steps: u64,
    /// Addresses of containers that hold nothing lazy.
    clean: HashSet<usize, FixedState>,
}

impl Visitor for Look {
    /// Where a container is that is worth remembering.
    type Mark = Option<usize>;
    type Stop = Found;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<Option<usize>>, Found> {
        self.steps += 1;
        if !self.bound.allows(self.steps) {
            return Err(Found::TooLong);
        }
        if !value.shape().lazy {
            return Ok(WalkStep::Done);
        }
        let place = if self.steps > LONG { lasting_address(value) } else { None };
        if place.is_some_and(|place| self.clean.contains(&place)) {
            return Ok(WalkStep::Done);
        }
        // What a function captured is its own business.
        let parts = match value {
            Value::Fn(_) => None,
            Value::Ex(body) => Some(Parts::listed(vec![body.data.clone()])),
            Value::Reduced(_) => Parts::held_by(value),
            _ => Parts::of(value),
        };
        Ok(parts.map_or(WalkStep::Done, |parts| WalkStep::Into(parts, place)))
    }

    fn unrealised(&mut self, _: &mut Option<usize>, _: usize) -> Result<(), Found> {
        Err(Found::Lazy)
    }

    fn leave(&mut self, place: Option<usize>) -> Result<(), Found> {
        self.clean.extend(place);
        Ok(())
    }

    fn too_deep(&mut self, _: Option<usize>, _: Place<'_>) -> Result<(), Found> {
        Err(Found::Lazy)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::value::{ConsObj, LazyObj, LazyState, Stamp};

    fn lazy(state: LazyState) -> Rc<LazyObj> {
        Rc::new(LazyObj { state: state.into(), stamp: Stamp::new() })
    }

    #[test]
    fn shared_parts_are_looked_at_once_and_circles_end() {
        let waiting = lazy(LazyState::Thunk(Value::Nil));
        let chain = ConsObj::cell(Value::Int(1), Value::Lazy(waiting.clone()), false);
        let tree = |leaf: Value| (0..200).fold(leaf, |inner, _| Value::vector(vec![inner.clone(), inner]));
        let shared = tree(chain.clone());
        assert_eq!(look(&shared, 1_000_000).0, Found::Lazy);
        *waiting.state.borrow_mut() = LazyState::Done(Value::Nil);
        let (found, steps) = look(&shared, 1_000_000);
        assert!(found == Found::Realised && steps < 10_000, "{found:?} {steps}");
        *waiting.state.borrow_mut() = LazyState::Done(chain.clone());
        assert_eq!(look(&chain, 1_000).0, Found::TooLong);
        *waiting.state.borrow_mut() = LazyState::Done(Value::Nil);
    }
}
