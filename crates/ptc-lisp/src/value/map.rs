//! The body of a map or record: one block with a header of 16 bytes, a stamp in debug builds, and the values behind it.
//!
//! The keys are a [`Layout`], which rows of one JSON array, copies, and what `assoc` and `dissoc` make of
//! them share, so a row of n values takes 16 + 16 n bytes and one look at memory. The record type and
//! metadata, which few maps have, stand behind the values. Like every body a map is shared by a count
//! without atomics: whoever changes a map that others have too gets a copy first.
//!
//! What makes the unsafe code sound:
//!
//! - A block is a [`Header`], places for as many values as its room says, and an [`Extra`] if the header
//!   says so. The first of the places, as many as the layout has slots, hold a value.
//! - While someone else has the map, nothing of it changes but the count, which is a `Cell`. All changes
//!   take `&mut Map` and pass through [`Map::make_own`].
//! - While slots and values may not agree, the header has no layout: should anything panic there, values
//!   leak, and nobody sees them.
//! - Pointers to values come from the pointer to the whole block, never from a reference to its header.
#![expect(unsafe_code, reason = "a header and values in one block cannot be said in safe code")]

mod filling;
mod reading;
#[cfg(test)]
mod tests;

use std::alloc::{Layout as Block, alloc, dealloc, handle_alloc_error, realloc};
use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::ptr::NonNull;

use filling::Filling;

use super::room::Room;
use super::{Layout, Meta, Shape, Shared, Stamp, Table, Value};
use crate::names::Name;

/// A map or record, shared by count.
pub struct Map(NonNull<Header>);

/// What stands before the values.
#[repr(C)]
struct Header {
    owners: Cell<u32>,
    /// The depth of the map's [`Shape`].
    depth: u16,
    /// [`LAZY`], [`EXTRA`].
    flags: u8,
    /// For how many values there is room.
    room: Room,
    /// The keys; nothing while the map is empty and new.
    layout: Option<Shared<Layout>>,
    /// Whose it is.
    stamp: Stamp,
}

/// What a header takes without a stamp, which is not counted.
const HEADER: usize = 16;

/// An unrealised lazy sequence may be inside.
const LAZY: u8 = 1;
/// An [`Extra`] stands behind the room for values.
const EXTRA: u8 = 2;

/// What few maps have.
#[derive(Clone, Default)]
struct Extra {
    record: Option<Name>,
    meta: Meta,
}

const _: () = assert!(size_of::<Header>() == HEADER + size_of::<Stamp>().next_multiple_of(8));
const _: () = assert!(size_of::<Extra>() == size_of::<Value>());
const _: () =
    assert!(align_of::<Header>() == align_of::<Value>() && align_of::<Extra>() <= align_of::<Value>());

/// The block for so many values.
fn block(room: Room, extra: bool) -> Block {
    let places = room.places() + usize::from(extra);
    let bytes =
        places.checked_mul(size_of::<Value>()).and_then(|bytes| bytes.checked_add(size_of::<Header>()));
    let block = bytes.and_then(|bytes| Block::from_size_align(bytes, align_of::<Header>()).ok());
    block.expect("the memory limit keeps maps far below half of all addresses")
}

impl Map {
    /// An empty map with room for `count` entries.
    pub fn with_capacity(count: usize) -> Map {
        let room = Room::of(count);
        let block = block(room, false);
        // SAFETY: a block is never of no size.
        let Some(at) = NonNull::new(unsafe { alloc(block) }.cast::<Header>()) else {
            handle_alloc_error(block)
        };
        let Shape { depth, lazy: _ } = Shape::EMPTY;
        // SAFETY: the block begins with room for a header, and is aligned for it.
        unsafe {
            at.write(Header {
                owners: Cell::new(1),
                depth,
                flags: 0,
                room,
                layout: None,
                stamp: Stamp::new(),
            })
        };
        Map(at)
    }

    /// The map of the keys of a layout, all of them scalars, to values in the same order; `None` unless there
    /// is one for each.
    #[inline]
    pub fn row(layout: Shared<Layout>, values: impl IntoIterator<Item = Value>) -> Option<Map> {
        let Ok(map) = Map::try_row(layout, values.into_iter().map(Ok::<Value, Infallible>));
        map
    }

    /// The same with values that may fail.
    #[inline]
    pub fn try_row<E>(
        layout: Shared<Layout>,
        values: impl IntoIterator<Item = Result<Value, E>>,
    ) -> Result<Option<Map>, E> {
        let mut filling = Filling::new(layout.slots());
        for value in values {
            if !filling.push(value?) {
                return Ok(None);
            }
        }
        let whole = [layout.slots(), layout.len()] == [filling.count(); 2];
        Ok(whole.then(|| filling.with_keys(layout)))
    }

    /// The same of the last values of a stack, which leave it if they make a row.
    #[inline]
    pub fn row_of_last(layout: Shared<Layout>, stack: &mut Vec<Value>) -> Option<Map> {
        let whole = layout.len() == layout.slots() && layout.slots() <= stack.len();
        if !whole {
            return None;
        }
        let count = layout.slots();
        let left = stack.len() - count;
        let shape = Shape::of(&stack[left..]);
        let mut map = Map::with_capacity(count);
        // SAFETY: the block has room for these values, and the stack forgets them.
        unsafe {
            stack.set_len(left);
            map.first().copy_from_nonoverlapping(stack.as_ptr().add(left), count);
        }
        map.put_keys(Some(layout), count);
        map.set_shape(shape);
        Some(map)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: the block lives as long as one of its owners, and nobody changes what others see.
        unsafe { self.0.as_ref() }
    }

    /// The header of a map that nobody else has.
    #[inline]
    fn own_header(&mut self) -> &mut Header {
        debug_assert!(self.is_own());
        // SAFETY: all callers have made sure that nobody else has the map.
        unsafe { self.0.as_mut() }
    }

    /// The first place for a value.
    #[inline]
    fn first(&self) -> *mut Value {
        // SAFETY: what follows the header is in the block, or its end.
        unsafe { self.0.as_ptr().add(1).cast() }
    }

    fn extra_place(&self) -> *mut Extra {
        // SAFETY: the room for values is in the block, so what follows it is, or its end.
        unsafe { self.first().add(self.header().room.places()).cast() }
    }

    fn extra(&self) -> Option<&Extra> {
        // SAFETY: the flag says that there is one.
        (self.header().flags & EXTRA != 0).then(|| unsafe { &*self.extra_place() })
    }

    /// How many slots there are, those of removed keys too.
    #[inline]
    fn count(&self) -> usize {
        self.layout().map_or(0, |layout| layout.slots())
    }

    /// The keys, unless it is empty and new.
    #[inline]
    pub fn layout(&self) -> Option<&Shared<Layout>> {
        self.header().layout.as_ref()
    }

    /// The values by slot, those of removed keys too.
    #[inline]
    pub fn slots(&self) -> &[Value] {
        // SAFETY: there is a value for each slot, and nobody changes them while this borrow lasts.
        unsafe { std::slice::from_raw_parts(self.first(), self.count()) }
    }

    /// The value at a slot, if this keyword is the key there.
    #[inline(always)]
    pub fn field_at(&self, slot: usize, name: Name) -> Option<&Value> {
        match self.layout()?.keys().get(slot) {
            // SAFETY: there is a value for each slot.
            Some(Value::Kw(there)) if *there == name => Some(unsafe { &*self.first().add(slot) }),
            _ => None,
        }
    }

    /// The values by slot, of a map that nobody else has.
    #[inline]
    fn own_slots(&mut self) -> &mut [Value] {
        debug_assert!(self.is_own());
        // SAFETY: there is a value for each slot, and nobody else has the map, as all callers made sure.
        unsafe { std::slice::from_raw_parts_mut(self.first(), self.count()) }
    }

    /// How deep it nests and whether a lazy sequence may be inside.
    #[inline]
    pub fn shape(&self) -> Shape {
        let header = self.header();
        Shape { depth: header.depth, lazy: header.flags & LAZY != 0 }
    }

    /// The record type, if it is a record.
    pub fn record(&self) -> Option<Name> {
        self.extra()?.record
    }

    /// Metadata.
    pub fn meta(&self) -> &Meta {
        self.extra().map_or(&None, |extra| &extra.meta)
    }

    /// Whose it is.
    #[cfg(debug_assertions)]
    pub(super) fn stamp(&self) -> &Stamp {
        &self.header().stamp
    }

    /// Makes it one that machines may share; changes of copies leave nothing behind.
    pub(crate) fn freeze(&mut self) {
        self.make_own(0);
        if let Some(layout) = &mut self.own_header().layout {
            Shared::make_mut(layout).freeze();
        }
    }

    /// How many bytes it takes with room for `count` values, and what allocators lose by rounding.
    pub fn bytes_for(count: usize) -> usize {
        const ROUNDING: usize = 16;
        HEADER + ROUNDING + count * size_of::<Value>()
    }

    /// How many bytes it takes; the keys are the layout's to count.
    pub fn bytes(&self) -> usize {
        let extra = usize::from(self.extra().is_some());
        Map::bytes_for(crate::machine::room(self.count()) + extra)
    }

    /// How many owners there are.
    #[inline]
    pub fn owners(&self) -> usize {
        self.header().owners.get() as usize
    }

    /// Whether nobody else has it.
    #[inline]
    pub fn is_own(&self) -> bool {
        self.header().owners.get() == 1
    }

    /// Whether two are one and the same.
    #[inline]
    pub fn is(&self, other: &Map) -> bool {
        self.0 == other.0
    }

    /// Where it is.
    #[inline]
    pub fn address(&self) -> usize {
        self.0.addr().get()
    }

    /// The same entries, without record type and metadata.
    pub fn entries_only(&self) -> Map {
        let mut copy = self.copy(0);
        copy.look_again();
        copy
    }

    /// Finds out the shape of an own map.
    fn look_again(&mut self) {
        let shape = Shape::of(self.iter().flat_map(|(key, value)| [key, value]));
        self.set_shape(shape);
    }

    /// A copy of the values with the same keys and shape, and room for `more` entries.
    fn copy(&self, more: usize) -> Map {
        let Some(layout) = self.layout() else { return Map::with_capacity(more) };
        let mut filling = Filling::new(self.count() + more);
        self.slots().iter().for_each(|value| filling.put(value.clone()));
        let mut copy = filling.with_keys(layout.clone());
        copy.set_shape(self.shape());
        copy
    }

    /// Makes a copy unless nobody else has the map, with room for `more` entries.
    #[inline]
    fn make_own(&mut self, more: usize) {
        if !self.is_own() {
            self.leave(more);
        }
    }

    /// Goes on with a copy.
    #[inline(never)]
    fn leave(&mut self, more: usize) {
        let mut copy = self.copy(more);
        if let Some(extra) = self.extra() {
            copy.resize(copy.header().room, Some(extra.clone()));
        }
        *self = copy;
    }

    /// The value of `key` to change, if nobody else has the map. Only scalars may come in its place: for all
    /// others there is [`Map::change`], which takes note of their shape.
    pub fn own_slot(&mut self, key: &Value) -> Option<&mut Value> {
        if !self.is_own() {
            return None;
        }
        let at = self.position(key)?;
        self.own_slots().get_mut(at)
    }

    /// Sets the value of `key` and returns the old one; a new key goes to the end, an old one stays.
    pub fn insert(&mut self, key: Value, value: Value) -> Option<Value> {
        let Some(at) = self.position(&key) else {
            self.push(key, value);
            return None;
        };
        self.make_own(0);
        self.include(&value);
        Some(std::mem::replace(&mut self.own_slots()[at], value))
    }

    /// Sets the value of `key`, or of the slot that `elsewhere` finds for a key that is not there.
    pub fn insert_where(
        &mut self,
        key: Value,
        value: Value,
        elsewhere: impl FnOnce(&Map, &Value) -> Option<usize>,
    ) {
        let Some(at) = self.position(&key).or_else(|| elsewhere(self, &key)) else {
            return self.push(key, value);
        };
        self.make_own(0);
        self.include(&value);
        self.own_slots()[at] = value;
    }

    /// The value at a slot to change, if nobody else has the map. Only scalars may come in its place.
    pub fn own_slot_at(&mut self, at: usize) -> Option<&mut Value> {
        if self.is_own() { self.own_slots().get_mut(at) } else { None }
    }

    /// Changes the value of `key`, which is nil if the key is not there yet.
    pub fn change(&mut self, key: &Value, change: impl FnOnce(&mut Value)) {
        let at = self.position(key).unwrap_or_else(|| {
            self.push(key.clone(), Value::Nil);
            self.count() - 1
        });
        self.make_own(0);
        let slot = &mut self.own_slots()[at];
        change(slot);
        if !slot.is_scalar() {
            let inner = slot.shape();
            self.merge(inner);
        }
    }

    /// Adds a key that is not there yet.
    fn push(&mut self, key: Value, value: Value) {
        self.make_own(1);
        self.include(&key);
        self.include(&value);
        let count = self.count();
        let room = self.header().room;
        if count == room.places() {
            self.resize(room.for_one_more(), self.extra().cloned());
        }
        // SAFETY: there is room behind the values, in a block that nobody else has.
        unsafe { self.first().add(count).write(value) };
        let mut layout = self.own_header().layout.take();
        Layout::add(&mut layout, key, self.header().room.places());
        self.put_keys(layout, count + 1);
    }

    /// Removes `key` and returns its entry; the order of the rest stays.
    pub fn remove(&mut self, key: &Value) -> Option<(Value, Value)> {
        let at = self.position(key)?;
        self.make_own(0);
        let gone = std::mem::take(&mut self.own_slots()[at]);
        let mut count = self.count();
        let values = self.first();
        let mut layout = self.own_header().layout.take()?;
        let key = Layout::remove(&mut layout, at, |stays| {
            // SAFETY: so many values stand there, in a block that nobody else has.
            count = unsafe { close_up(values, count, stays) };
        });
        self.put_keys(Some(layout), count);
        if let Some(less) = self.header().room.released(count) {
            self.resize(less, self.extra().cloned());
        }
        Some((key, gone))
    }

    /// Gives an own map its keys back after a change, of which there must be as many as values.
    #[inline]
    fn put_keys(&mut self, layout: Option<Shared<Layout>>, count: usize) {
        assert!(layout.as_ref().is_some_and(|layout| layout.slots() == count), "a value for each key");
        self.own_header().layout = layout;
    }

    /// Takes over keys that are the same in the same order, so that maps with these keys share them, and
    /// gives back the room that is not needed.
    pub fn share_keys(&mut self, layout: &Shared<Layout>) {
        self.make_own(0);
        if layout.slots() == self.count() && layout.len() == self.len() {
            self.own_header().layout = Some(layout.clone());
        }
        self.resize(Room::of(self.count()), self.extra().cloned());
    }

    /// Sets the record type.
    pub fn set_record(&mut self, record: Option<Name>) {
        self.make_own(0);
        let extra = self.extra().cloned().unwrap_or_default();
        self.resize(self.header().room, Some(Extra { record, ..extra }));
    }

    /// Sets the metadata.
    pub fn set_meta(&mut self, meta: Meta) {
        self.make_own(0);
        if let Some(meta) = &meta {
            self.include(meta);
        }
        let extra = self.extra().cloned().unwrap_or_default();
        self.resize(self.header().room, Some(Extra { meta, ..extra }));
    }

    /// Sets the shape, which a loader knows better than what it has loaded so far.
    pub(crate) fn shape_as(&mut self, shape: Shape) {
        self.make_own(0);
        self.set_shape(shape);
    }

    fn set_shape(&mut self, shape: Shape) {
        let header = self.own_header();
        header.depth = shape.depth;
        header.flags = header.flags & !LAZY | if shape.lazy { LAZY } else { 0 };
    }

    /// Takes note of what an own map holds now.
    #[inline]
    fn include(&mut self, child: &Value) {
        if !child.is_scalar() {
            self.merge(child.shape());
        }
    }

    fn merge(&mut self, inner: Shape) {
        let before = self.shape();
        let mut shape = before;
        shape.merge(inner);
        if shape != before {
            self.set_shape(shape);
        }
    }

    /// Gives an own map other room, for no fewer values than it has, and another extra.
    fn resize(&mut self, room: Room, extra: Option<Extra>) {
        let extra = extra.filter(|extra| extra.record.is_some() || extra.meta.is_some());
        assert!(self.is_own() && self.count() <= room.places(), "room for all values");
        let header = self.header();
        let (from, to) = (block(header.room, header.flags & EXTRA != 0), block(room, extra.is_some()));
        // SAFETY: the flag says that there is one; nobody looks at it again before there is another.
        let _old = (header.flags & EXTRA != 0).then(|| unsafe { self.extra_place().read() });
        if from != to {
            // SAFETY: it was made with this size, is not made with none, and nobody else has a pointer to it.
            let moved = unsafe { realloc(self.0.as_ptr().cast(), from, to.size()) };
            let Some(moved) = NonNull::new(moved.cast()) else { handle_alloc_error(to) };
            self.0 = moved;
        }
        let header = self.own_header();
        header.room = room;
        header.flags &= !EXTRA;
        if let Some(extra) = extra {
            header.flags |= EXTRA;
            // SAFETY: the block has a place for it behind the room for values.
            unsafe { self.extra_place().write(extra) };
        }
    }

    /// Frees a map that nobody has any more.
    #[inline(never)]
    fn free(&mut self) {
        let (first, count) = (self.first(), self.count());
        let header = self.header();
        let block = block(header.room, header.flags & EXTRA != 0);
        // SAFETY: the last owner is going, so nobody sees values, extra, layout or block again.
        unsafe {
            if header.flags & EXTRA != 0 {
                self.extra_place().drop_in_place();
            }
            drop_all(first, count);
            std::ptr::drop_in_place(&raw mut (*self.0.as_ptr()).layout);
            dealloc(self.0.as_ptr().cast(), block);
        }
    }
}

/// Drops values in a block; the plain ones own nothing.
///
/// # Safety
/// There are so many, and nobody sees them again.
#[inline]
unsafe fn drop_all(first: *mut Value, count: usize) {
    for at in 0..count {
        // SAFETY: as the caller answers for.
        unsafe {
            let value = first.add(at);
            if !(*value).is_plain() {
                value.drop_in_place();
            }
        }
    }
}

/// Moves the values that stay to the front, drops the others, and returns how many stay.
///
/// # Safety
/// There are so many, and nobody else sees them.
unsafe fn close_up(first: *mut Value, count: usize, stays: &dyn Fn(usize) -> bool) -> usize {
    // SAFETY: as the caller answers for.
    let values = unsafe { std::slice::from_raw_parts_mut(first, count) };
    let mut kept = 0;
    for at in 0..count {
        if stays(at) {
            values.swap(kept, at);
            kept += 1;
        }
    }
    // SAFETY: the map gets keys for those before only.
    unsafe { drop_all(first.add(kept), count - kept) };
    kept
}

impl Default for Map {
    fn default() -> Map {
        Map::with_capacity(0)
    }
}

impl Clone for Map {
    #[inline]
    fn clone(&self) -> Map {
        let owners = &self.header().owners;
        owners.set(owners.get().checked_add(1).expect("fewer owners than fit the memory of any machine"));
        Map(self.0)
    }
}

impl Drop for Map {
    #[inline]
    fn drop(&mut self) {
        match self.header().owners.get() {
            1 => self.free(),
            owners => self.header().owners.set(owners - 1),
        }
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromIterator<(Value, Value)> for Map {
    /// A later pair wins.
    fn from_iter<T: IntoIterator<Item = (Value, Value)>>(pairs: T) -> Map {
        let pairs = pairs.into_iter();
        let mut map = Map::with_capacity(pairs.size_hint().0);
        for (key, value) in pairs {
            map.insert(key, value);
        }
        map
    }
}

impl From<Table<Value>> for Map {
    fn from(table: Table<Value>) -> Map {
        let (Some(layout), values) = table.into_parts() else { return Map::default() };
        let mut filling = Filling::new(values.len());
        values.into_iter().for_each(|value| filling.put(value));
        let mut map = filling.with_keys(layout);
        map.look_again();
        map
    }
}
