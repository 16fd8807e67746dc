//! Maps that are being made.

use std::mem::ManuallyDrop;

use super::{Map, drop_all};
use crate::value::{Layout, Shape, Shared, Value};

/// A map that has values but no keys yet.
pub(super) struct Filling {
    map: Map,
    /// How many values it is to have at most.
    places: usize,
    count: usize,
    shape: Shape,
}

impl Filling {
    #[inline]
    pub(super) fn new(places: usize) -> Filling {
        Filling { map: Map::with_capacity(places), places, count: 0, shape: Shape::EMPTY }
    }

    #[inline]
    pub(super) fn put(&mut self, value: Value) {
        assert!(self.count < self.places, "room for a value");
        // SAFETY: the block has so many places, and nobody else has it.
        unsafe { self.map.first().add(self.count).write(value) };
        self.count += 1;
    }

    /// Puts a value, taking note of its shape, unless there are enough.
    #[inline]
    pub(super) fn push(&mut self, value: Value) -> bool {
        let fits = self.count < self.places;
        if fits {
            self.shape.include(&value);
            self.put(value);
        }
        fits
    }

    /// How many values there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The map, of keys as many as there are values.
    #[inline]
    pub(super) fn with_keys(self, layout: Shared<Layout>) -> Map {
        let (count, shape) = (self.count, self.shape);
        let this = ManuallyDrop::new(self);
        // SAFETY: it is not used or dropped after this.
        let mut map = unsafe { std::ptr::read(&raw const this.map) };
        map.put_keys(Some(layout), count);
        map.set_shape(shape);
        map
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        // SAFETY: so many were put there, and the map, which has no keys, does not know of them.
        unsafe { drop_all(self.map.first(), self.count) };
    }
}
