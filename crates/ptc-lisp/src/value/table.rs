//! The table behind maps and sets: entries in insertion order, indexed by hash once there are many.
//!
//! Iteration order never depends on hashes, so they may be seeded per process, which is what keeps
//! hand-made collisions harmless, without making any result vary.

use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Value;
use super::equal::{hash_key, same_key};

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Tables up to this size are searched from the front.
const LINEAR: usize = 8;

/// Keys with values in insertion order.
#[derive(Clone, Debug)]
pub struct Table<V> {
    /// A removed entry leaves [`Value::Unbound`] as its key until the next compaction.
    entries: Vec<(Value, V)>,
    /// Positions in `entries`; empty while the table is small.
    index: HashTable<u32>,
    removed: usize,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { entries: Vec::new(), index: HashTable::new(), removed: 0 }
    }
}

fn hash(key: &Value) -> u64 {
    let mut hasher = SEED.build_hasher();
    hash_key(key, &mut hasher);
    std::hash::Hasher::finish(&hasher)
}

impl<V> Table<V> {
    /// An empty table with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Table { entries: Vec::with_capacity(capacity), ..Table::default() }
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.entries.len() - self.removed
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_indexed(&self) -> bool {
        !self.index.is_empty()
    }

    /// Where `key` stands.
    pub fn position(&self, key: &Value) -> Option<usize> {
        self.position_by(key, same_key)
    }

    /// Where `key` stands, by a caller's way of telling keys apart that counts its steps.
    fn position_by(&self, key: &Value, mut same: impl FnMut(&Value, &Value) -> bool) -> Option<usize> {
        if !self.is_indexed() {
            return self.entries.iter().position(|(other, _)| same(other, key));
        }
        let same = |&at: &u32| same(&self.entries[at as usize].0, key);
        self.index.find(hash(key), same).map(|&at| at as usize)
    }

    /// The value of `key`, by a caller's way of telling keys apart that counts its steps.
    pub(super) fn get_by(&self, key: &Value, same: impl FnMut(&Value, &Value) -> bool) -> Option<&V> {
        self.position_by(key, same).map(|at| &self.entries[at].1)
    }

    /// The value of `key`.
    pub fn get(&self, key: &Value) -> Option<&V> {
        self.position(key).map(|at| &self.entries[at].1)
    }

    /// The entry of `key`, with the key as it is stored.
    pub fn get_entry(&self, key: &Value) -> Option<&(Value, V)> {
        self.position(key).map(|at| &self.entries[at])
    }

    /// The value of `key`, to change.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        self.position(key).map(|at| &mut self.entries[at].1)
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &Value) -> bool {
        self.position(key).is_some()
    }

    /// Sets the value of `key` and returns the old one; a new key goes to the end, an old one stays.
    pub fn insert(&mut self, key: Value, value: V) -> Option<V> {
        if let Some(at) = self.position(&key) {
            return Some(std::mem::replace(&mut self.entries[at].1, value));
        }
        self.push(key, value);
        None
    }

    fn push(&mut self, key: Value, value: V) {
        if self.is_indexed() {
            let (entries, at) = (&self.entries, self.entries.len());
            let rehash = |&at: &u32| hash(&entries[at as usize].0);
            self.index.insert_unique(hash(&key), position_id(at), rehash);
            self.entries.push((key, value));
        } else {
            self.entries.push((key, value));
            if self.entries.len() > LINEAR {
                self.reindex();
            }
        }
    }

    fn reindex(&mut self) {
        self.index.clear();
        let entries = &self.entries;
        let rehash = |&at: &u32| hash(&entries[at as usize].0);
        self.index.reserve(entries.len(), rehash);
        for (at, (key, _)) in entries.iter().enumerate() {
            self.index.insert_unique(hash(key), position_id(at), rehash);
        }
    }

    /// Removes `key` and returns its value; the order of the rest stays.
    pub fn remove(&mut self, key: &Value) -> Option<(Value, V)>
    where
        V: Default,
    {
        let at = self.position(key)?;
        if !self.is_indexed() {
            return Some(self.entries.remove(at));
        }
        if let Ok(found) = self.index.find_entry(hash(key), |&other| other as usize == at) {
            found.remove();
        }
        let entry = std::mem::replace(&mut self.entries[at], (Value::Unbound, V::default()));
        self.removed += 1;
        if self.removed > self.len() + LINEAR {
            self.entries.retain(|(key, _)| !matches!(key, Value::Unbound));
            self.removed = 0;
            self.index.clear();
            if self.entries.len() > LINEAR {
                self.reindex();
            }
        }
        Some(entry)
    }

    /// All entries in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &V)> {
        self.entries.iter().filter(|(key, _)| !matches!(key, Value::Unbound)).map(|(key, value)| (key, value))
    }

    /// All keys in insertion order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.iter().map(|(key, _)| key)
    }

    /// All values in insertion order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The first entry at or after slot `at`, and the slot after it: a cursor for walks that cannot
    /// hold a borrow.
    pub fn slot_from(&self, at: usize) -> Option<(&(Value, V), usize)> {
        let rest = self.entries.get(at..)?;
        let skip = rest.iter().position(|(key, _)| !matches!(key, Value::Unbound))?;
        Some((&rest[skip], at + skip + 1))
    }

    /// How many bytes its entries and index take.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(Value, V)>() + self.index.capacity() * 5
    }
}

fn position_id(at: usize) -> u32 {
    u32::try_from(at).expect("the memory limit keeps tables far below 2^32 entries")
}

impl<V> FromIterator<(Value, V)> for Table<V> {
    fn from_iter<T: IntoIterator<Item = (Value, V)>>(pairs: T) -> Self {
        let pairs = pairs.into_iter();
        let mut table = Table::with_capacity(pairs.size_hint().0);
        for (key, value) in pairs {
            table.insert(key, value);
        }
        table
    }
}

impl<V> IntoIterator for Table<V> {
    type Item = (Value, V);
    type IntoIter = std::iter::Filter<std::vec::IntoIter<(Value, V)>, fn(&(Value, V)) -> bool>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter().filter(|(key, _)| !matches!(key, Value::Unbound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_insertion_survives_growth_and_removal() {
        let mut table: Table<i64> = (0..100).map(|n| (Value::Int(n), n)).collect();
        for n in (0..100).filter(|n| n % 3 != 0) {
            assert_eq!(table.remove(&Value::Int(n)).map(|(_, value)| value), Some(n));
        }
        let left: Vec<i64> = table.values().copied().collect();
        assert_eq!(left, (0..100).filter(|n| n % 3 == 0).collect::<Vec<_>>());
        assert_eq!(table.get(&Value::Int(33)), Some(&33));
        assert_eq!(table.get(&Value::Int(34)), None);
        table.insert(Value::Int(0), -1);
        assert_eq!(table.values().next(), Some(&-1));
        assert_eq!(table.len(), 34);
    }
}
