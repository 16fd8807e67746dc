//! The table behind maps and sets: keys in insertion order, and a value beside each.
//!
//! The keys are a [`Layout`] of their own. Copies of a map, rows of one JSON array and what `assoc` and
//! `dissoc` make of such rows share it, so a row costs little more than its values.

use std::rc::Rc;

use super::layout::{Change, Layout};
use super::{Shared, Value};
use crate::machine::room;

/// Keys with values in insertion order.
#[derive(Clone, Debug)]
pub struct Table<V> {
    /// The keys; nothing while the table is empty and new.
    layout: Option<Shared<Layout>>,
    /// As many as the layout has slots; the value of a removed key means nothing.
    values: Vec<V>,
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Table { layout: None, values: Vec::new() }
    }
}

impl<V> Table<V> {
    /// An empty table with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Table { layout: None, values: Vec::with_capacity(capacity) }
    }

    /// A table with the keys of `layout`, which has no removed ones; `None` unless there is a value for
    /// each.
    pub fn with_layout(layout: Shared<Layout>, values: Vec<V>) -> Option<Self> {
        (layout.len() == values.len() && layout.slots() == values.len())
            .then_some(Table { layout: Some(layout), values })
    }

    /// The keys, unless it is empty.
    #[inline]
    pub fn layout(&self) -> Option<&Shared<Layout>> {
        self.layout.as_ref()
    }

    /// The values by slot, those of removed keys too.
    #[inline]
    pub fn slots(&self) -> &[V] {
        &self.values
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.layout.as_deref().map_or(0, Layout::len)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where `key` stands.
    #[inline]
    pub fn position(&self, key: &Value) -> Option<usize> {
        self.layout.as_deref()?.position(key)
    }

    /// The value of `key`, by a caller's way of telling keys apart that counts its steps.
    pub(super) fn get_by(&self, key: &Value, same: impl FnMut(&Value, &Value) -> bool) -> Option<&V> {
        self.values.get(self.layout.as_deref()?.position_by(key, same)?)
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &Value) -> Option<&V> {
        self.values.get(self.position(key)?)
    }

    /// The value of `key`, tried first at the slot where a table like this had it last. The hint is
    /// checked against the key that stands there, so any hint is safe.
    #[inline]
    pub fn get_near(&self, key: &Value, hint: &mut usize) -> Option<&V> {
        let layout = self.layout.as_deref()?;
        if !layout.is_at(*hint, key) {
            *hint = layout.position(key)?;
        }
        self.values.get(*hint)
    }

    /// The entry of `key`, with the key as it is stored.
    pub fn get_entry(&self, key: &Value) -> Option<(&Value, &V)> {
        let layout = self.layout.as_deref()?;
        let at = layout.position(key)?;
        Some((&layout.keys()[at], &self.values[at]))
    }

    /// The value of `key`, to change.
    pub fn get_mut(&mut self, key: &Value) -> Option<&mut V> {
        let at = self.position(key)?;
        self.values.get_mut(at)
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &Value) -> bool {
        self.position(key).is_some()
    }

    /// Sets the value of `key` and returns the old one; a new key goes to the end, an old one stays.
    pub fn insert(&mut self, key: Value, value: V) -> Option<V> {
        if let Some(at) = self.position(&key) {
            return Some(std::mem::replace(&mut self.values[at], value));
        }
        // Values of no size have room for any number.
        let room = if size_of::<V>() == 0 { 1 } else { self.values.capacity() };
        match &mut self.layout {
            None => self.layout = Some(Rc::new(Layout::first(key, room))),
            Some(layout) => match Rc::get_mut(layout) {
                Some(own) => own.push(key),
                None => *layout = layout.changed(Change::Add(key)),
            },
        }
        self.values.push(value);
        None
    }

    /// The value of `key` to change, made by `new` if the key is not there yet.
    pub fn entry_or(&mut self, key: Value, new: impl FnOnce() -> V) -> &mut V {
        let at = self.position(&key).unwrap_or_else(|| {
            self.insert(key, new());
            self.values.len() - 1
        });
        &mut self.values[at]
    }

    /// Removes `key` and returns its entry; the order of the rest stays.
    pub fn remove(&mut self, key: &Value) -> Option<(Value, V)>
    where
        V: Default,
    {
        let at = self.position(key)?;
        let layout = self.layout.as_mut()?;
        let key = layout.keys()[at].clone();
        let Some(own) = Rc::get_mut(layout) else {
            // The layout that follows has no holes, so the values must have none either.
            let keys = layout.keys();
            let mut slot = 0..;
            let gone = std::mem::take(&mut self.values[at]);
            self.values.retain(|_| {
                slot.next().is_some_and(|slot: usize| slot != at && !matches!(keys[slot], Value::Unbound))
            });
            super::room::release(&mut self.values);
            *layout = layout.changed(Change::Remove(at));
            return Some((key, gone));
        };
        if !own.is_indexed() {
            own.take_out(at);
            let gone = self.values.remove(at);
            super::room::release(&mut self.values);
            return Some((key, gone));
        }
        let gone = std::mem::take(&mut self.values[at]);
        if own.punch(at) {
            let keys = own.keys();
            let mut slot = 0..;
            self.values
                .retain(|_| slot.next().is_some_and(|slot: usize| !matches!(keys[slot], Value::Unbound)));
            own.compact();
            super::room::release(&mut self.values);
        }
        Some((key, gone))
    }

    /// All entries in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &V)> {
        let keys = self.layout.as_deref().map_or(&[][..], Layout::keys);
        keys.iter().zip(&self.values).filter(|(key, _)| !matches!(key, Value::Unbound))
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
    pub fn slot_from(&self, at: usize) -> Option<((&Value, &V), usize)> {
        let keys = self.layout.as_deref()?.keys().get(at..)?;
        let skip = keys.iter().position(|key| !matches!(key, Value::Unbound))?;
        Some(((&keys[skip], &self.values[at + skip]), at + skip + 1))
    }

    /// How many bytes its values take; the keys are the layout's to count.
    pub fn bytes(&self) -> usize {
        room(self.values.len()) * size_of::<V>()
    }

    /// The table with other values for the same keys.
    pub fn map_values<W>(self, change: impl FnMut(V) -> W) -> Table<W> {
        Table { layout: self.layout, values: self.values.into_iter().map(change).collect() }
    }
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
    type IntoIter = std::iter::Filter<
        std::iter::Zip<std::vec::IntoIter<Value>, std::vec::IntoIter<V>>,
        fn(&(Value, V)) -> bool,
    >;

    fn into_iter(self) -> Self::IntoIter {
        let keys = match self.layout.map(Rc::try_unwrap) {
            None => Vec::new(),
            Some(Ok(own)) => own.into_keys(),
            Some(Err(shared)) => shared.keys().to_vec(),
        };
        keys.into_iter().zip(self.values).filter(|(key, _)| !matches!(key, Value::Unbound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: i64) -> Table<i64> {
        (0..count).map(|n| (Value::Int(n), n)).collect()
    }

    fn left(table: &Table<i64>) -> Vec<i64> {
        table.values().copied().collect()
    }

    #[test]
    fn order_of_insertion_survives_growth_and_removal() {
        let mut table = numbers(100);
        for n in (0..100).filter(|n| n % 3 != 0) {
            assert_eq!(table.remove(&Value::Int(n)).map(|(_, value)| value), Some(n));
        }
        assert_eq!(left(&table), (0..100).filter(|n| n % 3 == 0).collect::<Vec<_>>());
        assert_eq!(table.get(&Value::Int(33)), Some(&33));
        assert_eq!(table.get(&Value::Int(34)), None);
        table.insert(Value::Int(0), -1);
        assert_eq!(table.values().next(), Some(&-1));
        assert_eq!(table.len(), 34);
    }

    #[test]
    fn a_copy_keeps_its_keys_when_the_other_changes() {
        for size in [0, 1, 5, 8, 9, 40, 100] {
            let table = numbers(size);
            let mut holed = table.clone();
            holed.remove(&Value::Int(0));
            let mut copies = vec![table.clone(); 8];
            for copy in &mut copies {
                copy.insert(Value::str("new"), -1);
                copy.insert(Value::str("more"), -2);
                copy.remove(&Value::Int(3));
                assert_eq!(copy.get(&Value::str("more")), Some(&-2));
                assert_eq!(copy.get(&Value::Int(3)), None);
                let expected: Vec<i64> = (0..size).filter(|n| *n != 3).chain([-1, -2]).collect();
                assert_eq!(left(copy), expected);
            }
            assert_eq!(left(&table), (0..size).collect::<Vec<_>>());
            let mut refilled = holed.clone();
            refilled.insert(Value::Int(0), 7);
            assert_eq!(left(&holed), (1..size).collect::<Vec<_>>());
            assert_eq!(left(&refilled), (1..size).chain([7]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_that_change_alike_share_their_keys_again() {
        let row = numbers(5);
        let mut rows = vec![row; 10];
        for row in &mut rows {
            row.insert(Value::str("a"), 1);
            row.insert(Value::str("b"), 2);
            row.remove(&Value::Int(2));
        }
        let layout = rows[0].layout().expect("keys").clone();
        assert!(rows.iter().all(|row| row.layout().is_some_and(|other| Rc::ptr_eq(&layout, other))));
    }

    #[test]
    fn a_hint_is_only_a_hint() {
        let table = numbers(20);
        let mut hint = 99;
        assert_eq!(table.get_near(&Value::Int(7), &mut hint), Some(&7));
        assert_eq!(hint, 7);
        assert_eq!(table.get_near(&Value::Int(9), &mut hint), Some(&9));
        assert_eq!(table.get_near(&Value::Int(20), &mut hint), None);
    }
}
