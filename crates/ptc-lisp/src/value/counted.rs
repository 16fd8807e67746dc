//! What all pointers that share a body have in common.

use std::rc::Rc;

use super::Map;

/// A pointer to a body that counts its owners.
pub trait Counted {
    /// How many owners the body has.
    fn owners(&self) -> usize;

    /// Where the body is: what tells it from all others while it lives.
    fn address(&self) -> usize;
}

impl<T: ?Sized> Counted for Rc<T> {
    #[inline]
    fn owners(&self) -> usize {
        Rc::strong_count(self)
    }

    #[inline]
    fn address(&self) -> usize {
        Rc::as_ptr(self).cast::<()>().addr()
    }
}

impl Counted for Map {
    #[inline]
    fn owners(&self) -> usize {
        Map::owners(self)
    }

    #[inline]
    fn address(&self) -> usize {
        Map::address(self)
    }
}
