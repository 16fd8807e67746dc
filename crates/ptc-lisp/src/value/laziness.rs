//! Looking for lazy sequences that nobody has realised yet.
//!
//! A [`Shape`](super::Shape) only says that one may be inside, so before a deep walk somebody has to look.
//! That look is a walk itself: over parts that are shared many times, and over chains that may lead back
//! to themselves. So it counts its steps, and a long one remembers where it has been.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::meter::address;
use super::{Items, MAX_DEPTH, Value};

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
    /// The look took more steps than allowed.
    TooLong,
}

/// Looks for unrealised lazy sequences inside of `value` for at most `limit` steps; also says how many it
/// took.
pub fn look(value: &Value, limit: u64) -> (Found, u64) {
    if !value.shape().lazy {
        return (Found::Realised, 0);
    }
    let mut look = Look { limit, steps: 0, clean: HashSet::with_hasher(FixedState::with_seed(5)) };
    let found = look.inside(value, MAX_DEPTH);
    (found, look.steps)
}

struct Look {
    limit: u64,
    steps: u64,
    /// Addresses of containers that hold nothing lazy.
    clean: HashSet<usize, FixedState>,
}

impl Look {
    fn inside(&mut self, value: &Value, depth: u16) -> Found {
        self.steps += 1;
        if self.steps > self.limit {
            return Found::TooLong;
        }
        if !value.shape().lazy {
            return Found::Realised;
        }
        let Some(depth) = depth.checked_sub(1) else { return Found::Lazy };
        let place = if self.steps > LONG { address(value) } else { None };
        if place.is_some_and(|place| self.clean.contains(&place)) {
            return Found::Realised;
        }
        let found = self.parts(value, depth);
        if let Some(place) = place
            && found == Found::Realised
        {
            self.clean.insert(place);
        }
        found
    }

    fn parts(&mut self, value: &Value, depth: u16) -> Found {
        match value {
            Value::Map(body) => self.all(body.iter().flat_map(|(key, value)| [key, value]), depth),
            Value::Set(body) => self.all(body.table.keys(), depth),
            Value::Sorted(body) => self.all(body.entries.iter().flat_map(|(key, value)| [key, value]), depth),
            Value::Reduced(value) => self.inside(value, depth),
            Value::Ex(body) => self.inside(&body.data, depth),
            Value::Fn(_) => Found::Realised,
            _ => self.items(value, depth),
        }
    }

    fn all<'v>(&mut self, values: impl Iterator<Item = &'v Value>, depth: u16) -> Found {
        for value in values {
            match self.inside(value, depth) {
                Found::Realised => {}
                found => return found,
            }
        }
        Found::Realised
    }

    fn items(&mut self, value: &Value, depth: u16) -> Found {
        let Some(mut items) = Items::over(value) else { return Found::Realised };
        loop {
            match items.next() {
                Ok(None) => return Found::Realised,
                Err(_) => return Found::Lazy,
                Ok(Some(item)) => match self.inside(&item, depth) {
                    Found::Realised => {}
                    found => return found,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::value::{ConsObj, LazyObj, LazyState};

    fn lazy(state: LazyState) -> Rc<LazyObj> {
        Rc::new(LazyObj { state: state.into() })
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
