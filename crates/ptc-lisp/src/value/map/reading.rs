//! Looking into a map.

use super::Map;
use crate::names::Name;
use crate::value::Value;

impl Map {
    /// How many entries it has.
    #[inline]
    pub fn len(&self) -> usize {
        self.layout().map_or(0, |layout| layout.len())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where `key` stands.
    #[inline]
    pub fn position(&self, key: &Value) -> Option<usize> {
        self.layout()?.position(key)
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &Value) -> Option<&Value> {
        self.slots().get(self.position(key)?)
    }

    /// The value of `key`, by a caller's way of telling keys apart that counts its steps.
    pub(in crate::value) fn get_by(
        &self,
        key: &Value,
        same: impl FnMut(&Value, &Value) -> bool,
    ) -> Option<&Value> {
        self.slots().get(self.layout()?.position_by(key, same)?)
    }

    /// The value of `key`, tried first at the slot where a map like this had it last. The hint is
    /// checked against the key that stands there, so any hint is safe.
    #[inline]
    pub fn get_near(&self, key: &Value, hint: &mut usize) -> Option<&Value> {
        let layout = self.layout()?;
        if !layout.is_at(*hint, key) {
            *hint = layout.position(key)?;
        }
        self.slots().get(*hint)
    }

    /// The value of a keyword, tried first at the hint.
    #[inline(always)]
    pub fn field_near(&self, name: Name, hint: &mut usize) -> Option<&Value> {
        match self.field_at(*hint, name) {
            Some(value) => Some(value),
            None => self.get_near(&Value::Kw(name), hint),
        }
    }

    /// The value at a slot, if the key there is seen to be this one at a glance.
    #[inline(always)]
    pub fn glance(&self, slot: usize, key: &Value) -> Option<&Value> {
        if self.layout()?.is_at(slot, key) { self.slots().get(slot) } else { None }
    }

    /// The entry of `key`, with the key as it is stored.
    pub fn get_entry(&self, key: &Value) -> Option<(&Value, &Value)> {
        let at = self.position(key)?;
        self.layout()?.keys().get(at).zip(self.slots().get(at))
    }

    /// Whether `key` is there.
    pub fn contains(&self, key: &Value) -> bool {
        self.position(key).is_some()
    }

    /// All entries in insertion order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Value, &Value)> {
        let keys = self.layout().map_or(&[][..], |layout| layout.keys());
        keys.iter().zip(self.slots()).filter(|(key, _)| !matches!(key, Value::Unbound))
    }

    /// All keys in insertion order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.iter().map(|(key, _)| key)
    }

    /// All values in insertion order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> {
        self.iter().map(|(_, value)| value)
    }

    /// The first entry at or after slot `at`, and the slot after it: a cursor for walks that cannot
    /// hold a borrow.
    pub fn slot_from(&self, at: usize) -> Option<((&Value, &Value), usize)> {
        let layout = self.layout()?;
        let at = layout.used_from(at)?;
        Some(((&layout.keys()[at], &self.slots()[at]), at + 1))
    }
}
