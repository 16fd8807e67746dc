//! Hashes of values.
//!
//! Every part of a key takes part in its hash, so keys that collide cannot be made by hand: the seed of
//! tables differs from process to process. Parts that are shared are hashed once in a long walk, which
//! makes a hash cost what the key takes in memory.

use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::ledger;
use super::meter::{Bound, address, lasting_address};
use super::text::Text;
use super::walk::DEEPEST;
use super::{Items, Value};

/// Walks shorter than this remember nothing.
const LONG: u64 = 4096;

/// Bytes of text that count as a step.
pub(crate) const STEP_BYTES: usize = 64;

/// The hash of a key; keys that are the same have the same. Long ones are noted in the [`ledger`].
#[inline]
pub fn hash_key<S: BuildHasher>(key: &Value, seed: &S) -> u64 {
    match key {
        Value::Kw(name) => {
            let mut hasher = seed.build_hasher();
            hasher.write_u32(name.0);
            hasher.finish()
        }
        Value::Int(int) => {
            let mut hasher = seed.build_hasher();
            hasher.write_i64(*int);
            hasher.finish()
        }
        // The bytes of a short string come with its length, so two numbers are all of it.
        Value::Str(Text::Short(text)) => {
            let (low, high) = text.words();
            let mut hasher = seed.build_hasher();
            hasher.write_u64(low);
            hasher.write_u64(high);
            hasher.finish()
        }
        Value::Str(text) => {
            if text.byte_len() >= STEP_BYTES {
                ledger::note((text.byte_len() / STEP_BYTES) as u64);
            }
            let mut hasher = seed.build_hasher();
            hasher.write(text.as_bytes());
            hasher.finish()
        }
        _ => {
            let mut walk = HashWalk::new(seed, ledger::left(), false);
            let hash = walk.of(key);
            ledger::note(walk.steps);
            hash
        }
    }
}

/// A hash for programs (`hash`), the same in every process, and the steps it took, which are more than
/// `limit` if it means nothing.
pub fn stable_hash(value: &Value, limit: u64) -> (i64, u64) {
    let seed = FixedState::with_seed(7);
    let mut walk = HashWalk::new(&seed, limit, true);
    let hash = walk.of(value);
    (i64::from((hash >> 16) as i32), walk.steps)
}

struct HashWalk<'s, S> {
    seed: &'s S,
    bound: Bound,
    steps: u64,
    depth: u16,
    /// Whether the hash must not depend on where things are in memory.
    stable: bool,
    /// Hashes of containers by address.
    known: HashMap<usize, u64, FixedState>,
}

impl<'s, S: BuildHasher> HashWalk<'s, S> {
    fn new(seed: &'s S, limit: u64, stable: bool) -> Self {
        HashWalk {
            seed,
            bound: Bound::new(limit),
            steps: 0,
            depth: 0,
            stable,
            known: HashMap::with_hasher(FixedState::with_seed(5)),
        }
    }

    fn of(&mut self, value: &Value) -> u64 {
        let mut hasher = self.seed.build_hasher();
        self.feed(value, &mut hasher);
        hasher.finish()
    }

    /// Feeds a scalar itself, a container by its hash.
    fn feed(&mut self, value: &Value, state: &mut S::Hasher) {
        self.steps += 1;
        match value {
            Value::Unbound | Value::Nil => state.write_u8(0),
            Value::Bool(value) => value.hash(state),
            Value::Int(value) => state.write_i64(*value),
            Value::Float(value) => state.write_u64(if *value == 0.0 { 0 } else { value.to_bits() }),
            Value::Kw(name) => state.write_u32(name.0),
            Value::Sym(name) => {
                state.write_u8(1);
                state.write_u32(name.0);
            }
            Value::Tool(name) | Value::Var(name) | Value::Type(name) => state.write_u32(name.0),
            Value::Str(text) => {
                self.steps += (text.byte_len() / STEP_BYTES) as u64;
                state.write(text.as_bytes());
            }
            Value::Big(value) => {
                self.steps += value.bits() / 512;
                match i64::try_from(&**value) {
                    Ok(small) => state.write_i64(small),
                    Err(_) => value.hash(state),
                }
            }
            Value::Decimal(value) => {
                self.steps += value.words() as u64;
                value.hash(state);
            }
            Value::Builtin(id) => id.hash(state),
            Value::Regex(body) => body.source.hash(state),
            Value::Time(body) => body.hash(state),
            Value::Fn(body) => self.place(Rc::as_ptr(body).addr(), state),
            Value::Cell(body) => self.place(Rc::as_ptr(body).addr(), state),
            Value::Ex(body) => self.place(Rc::as_ptr(body).addr(), state),
            Value::Iter(_) => {}
            _ => state.write_u64(self.container(value)),
        }
    }

    fn place(&self, address: usize, state: &mut S::Hasher) {
        state.write_usize(if self.stable { 0 } else { address });
    }

    fn container(&mut self, value: &Value) -> u64 {
        if !self.bound.allows(self.steps) || self.depth >= DEEPEST {
            // The answer means nothing any more, but must not make everything collide.
            return (address(value).unwrap_or_default() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        let place = if self.steps > LONG { lasting_address(value) } else { None };
        if let Some(hash) = place.and_then(|place| self.known.get(&place)) {
            return *hash;
        }
        self.depth += 1;
        let hash = self.parts(value);
        self.depth -= 1;
        if let Some(place) = place {
            self.known.insert(place, hash);
        }
        hash
    }

    fn parts(&mut self, value: &Value) -> u64 {
        match value {
            Value::Map(body) => self.entries(body.len(), body.iter()),
            Value::Sorted(body) if !body.is_set => {
                self.entries(body.entries.len(), body.entries.iter().map(|(key, value)| (key, value)))
            }
            Value::Set(body) => self.members(body.table.len(), body.table.keys()),
            Value::Sorted(body) => self.members(body.entries.len(), body.entries.iter().map(|(key, _)| key)),
            Value::Reduced(body) => self.of(body),
            _ => self.items(value),
        }
    }

    /// Vectors and all other sequences alike.
    fn items(&mut self, value: &Value) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write_u8(4);
        if let Value::Vec(body) = value {
            for item in &body.items {
                self.feed(item, &mut hasher);
            }
            return hasher.finish();
        }
        let mut items = Items::over(value).unwrap_or(Items::Empty);
        while let Ok(Some(item)) = items.next() {
            self.feed(&item, &mut hasher);
            if !self.bound.allows(self.steps) {
                break;
            }
        }
        hasher.finish()
    }

    /// The order of entries does not count, so their hashes are added up.
    fn entries<'v>(&mut self, count: usize, entries: impl Iterator<Item = (&'v Value, &'v Value)>) -> u64 {
        let mut sum = 2u64.wrapping_add(count as u64);
        for (key, value) in entries {
            let mut hasher = self.seed.build_hasher();
            self.feed(key, &mut hasher);
            self.feed(value, &mut hasher);
            sum = sum.wrapping_add(hasher.finish());
        }
        sum
    }

    fn members<'v>(&mut self, count: usize, members: impl Iterator<Item = &'v Value>) -> u64 {
        let mut sum = 3u64.wrapping_add(count as u64);
        for member in members {
            sum = sum.wrapping_add(self.of(member));
        }
        sum
    }
}
