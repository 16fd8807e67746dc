//! Keys in a dump: whole, because their table is made again before lazy sequences get what they held.
//!
//! A key may share its parts, so parts are looked at and copied once each, and copies share theirs.

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

use crate::value::meter::lasting_address;
use crate::value::walk::{Parts, Place, Visitor, WalkStep, walk};
use crate::value::{Shared, Value};

/// A key that is the same to equality and hash, without the lazy sequences that are inside; `None` if there are
/// none. Metadata of the parts that held one is dropped.
pub(super) fn without_lazy(key: &Value) -> Option<Value> {
    let mut search = LazySearch::default();
    if !search.finds(key) {
        return None;
    }
    let mut copy = Copy { search, known: HashMap::default(), done: Value::Nil };
    walk(key, &mut copy).ok()?;
    Some(copy.done)
}

/// What equality looks into. Everything else is the same only as itself.
fn parts(value: &Value) -> Option<Parts> {
    match value {
        Value::Cell(_) => None,
        Value::Reduced(_) => Parts::held_by(value),
        _ => Parts::of(value),
    }
}

/// Looks for lazy sequences.
#[derive(Default)]
struct LazySearch {
    /// Where the containers are that hold none.
    clean: HashSet<usize, FixedState>,
}

/// A lazy sequence.
struct Lazy;

impl LazySearch {
    fn finds(&mut self, value: &Value) -> bool {
        walk(value, self).is_err()
    }
}

impl Visitor for LazySearch {
    type Mark = Option<usize>;
    type Stop = Lazy;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<Option<usize>>, Lazy> {
        let place = lasting_address(value);
        match value {
            Value::Lazy(_) => Err(Lazy),
            _ if place.is_some_and(|place| self.clean.contains(&place)) => Ok(WalkStep::Done),
            _ => Ok(parts(value).map_or(WalkStep::Done, |parts| WalkStep::Into(parts, place))),
        }
    }

    fn leave(&mut self, place: Option<usize>) -> Result<(), Lazy> {
        self.clean.extend(place);
        Ok(())
    }

    /// The machine hashes no key that nests so deeply.
    fn too_deep(&mut self, _: Option<usize>, _: Place<'_>) -> Result<(), Lazy> {
        Ok(())
    }
}

/// Copies what holds a lazy sequence.
struct Copy {
    search: LazySearch,
    /// Copies by where the original is.
    known: HashMap<usize, Value, FixedState>,
    /// What was copied last.
    done: Value,
}

/// A container, and copies of its parts: items, or keys and values in turn.
struct Original {
    value: Value,
    parts: Vec<Value>,
}

impl Visitor for Copy {
    type Mark = Original;
    type Stop = std::convert::Infallible;

    fn enter(&mut self, value: &Value) -> Result<WalkStep<Original>, Self::Stop> {
        if let Some(copy) = lasting_address(value).and_then(|place| self.known.get(&place)) {
            self.done = copy.clone();
            return Ok(WalkStep::Done);
        }
        let inner = if self.search.finds(value) { parts(value) } else { None };
        let Some(inner) = inner else {
            self.done = value.clone();
            return Ok(WalkStep::Done);
        };
        let parts = Vec::with_capacity(inner.count().unwrap_or(0));
        Ok(WalkStep::Into(inner, Original { value: value.clone(), parts }))
    }

    fn after(&mut self, original: &mut Original) -> Result<(), Self::Stop> {
        original.parts.push(std::mem::take(&mut self.done));
        Ok(())
    }

    fn leave(&mut self, original: Original) -> Result<(), Self::Stop> {
        let Original { value, parts } = original;
        self.done = rebuilt(&value, parts);
        if let Some(place) = lasting_address(&value) {
            self.known.insert(place, self.done.clone());
        }
        Ok(())
    }

    fn too_deep(&mut self, original: Original, _: Place<'_>) -> Result<(), Self::Stop> {
        self.done = original.value;
        Ok(())
    }
}

/// A container of the same kind with other parts.
fn rebuilt(value: &Value, parts: Vec<Value>) -> Value {
    let pairs = |parts: &[Value]| -> Vec<(Value, Value)> {
        parts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    match value {
        Value::Vec(_) => Value::vector(parts),
        Value::Map(body) => match Value::map_of(pairs(&parts)) {
            Value::Map(mut copy) if body.record().is_some() => {
                copy.set_record(body.record());
                Value::Map(copy)
            }
            copy => copy,
        },
        Value::Set(_) => Value::set_of(parts),
        Value::Sorted(body) => {
            let entries = match body.is_set {
                true => parts.into_iter().map(|member| (member, Value::Nil)).collect(),
                false => pairs(&parts),
            };
            Value::sorted(entries, body.ordering.clone(), body.is_set)
        }
        Value::Reduced(_) => Value::Reduced(Shared::new(parts.into_iter().next().unwrap_or_default())),
        _ => Value::seq(parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::equal::same_key;
    use crate::value::{LazyObj, LazyState, Stamp};

    #[test]
    fn a_key_that_shares_its_parts_is_copied_once() {
        let lazy =
            LazyObj { state: LazyState::Done(Value::list(vec![Value::Int(1)])).into(), stamp: Stamp::new() };
        let leaf = Value::Lazy(Shared::new(lazy));
        let tower = |leaf: Value| (0..200).fold(leaf, |inner, _| Value::vector(vec![inner.clone(), inner]));
        let key = tower(leaf);
        let copy = without_lazy(&key).expect("it holds a lazy sequence");
        assert!(same_key(&key, &copy) && without_lazy(&copy).is_none());
        assert!(without_lazy(&tower(Value::Int(1))).is_none());
    }
}
