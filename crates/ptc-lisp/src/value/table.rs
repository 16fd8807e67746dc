//! Keys in insertion order, and something beside each: what is behind sets, and what natives collect in.
//!
//! Maps ([`super::Map`]) are the same thing in another form. What changes make of the keys is said once, in
//! [`Layout`].

use std::rc::Rc;

use super::{Layout, Shared, Value};

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

    /// The keys, unless it is empty.
    #[inline]
    pub fn layout(&self) -> Option<&Shared<Layout>> {
        self.layout.as_ref()
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
        Layout::add(&mut self.layout, key, room);
        self.values.push(value);
        None
    }

    /// Removes `key` and returns its entry; the order of the rest stays.
    pub fn remove(&mut self, key: &Value) -> Option<(Value, V)>
    where
        V: Default,
    {
        let at = self.position(key)?;
        let gone = std::mem::take(&mut self.values[at]);
        let key = Layout::remove(self.layout.as_mut()?, at, |stays| {
            let mut slot = 0..;
            self.values.retain(|_| slot.next().is_some_and(stays));
            super::room::release(&mut self.values);
        });
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
        let layout = self.layout.as_deref()?;
        let at = layout.used_from(at)?;
        Some(((&layout.keys()[at], &self.values[at]), at + 1))
    }

    /// The keys, and the values by slot.
    pub(super) fn into_parts(self) -> (Option<Shared<Layout>>, Vec<V>) {
        (self.layout, self.values)
    }

    /// The table with other values for the same keys.
    pub fn map_values<W>(self, change: impl FnMut(V) -> W) -> Table<W> {
        Table { layout: self.layout, values: self.values.into_iter().map(change).collect() }
    }
}

impl Table<()> {
    /// Makes it one that machines may share; changes of copies leave nothing behind.
    pub(crate) fn freeze(&mut self) {
        if let Some(layout) = &mut self.layout {
            Rc::make_mut(layout).freeze();
        }
    }

    /// The keys of a layout.
    pub fn of_keys(layout: Shared<Layout>) -> Self {
        let values = vec![(); layout.slots()];
        Table { layout: Some(layout), values }
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
}
