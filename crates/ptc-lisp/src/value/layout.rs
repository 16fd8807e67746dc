//! The keys of a table, shared by all tables that have the same ones in the same order.
//!
//! Tables up to a small size are searched from the front, larger ones through an index of hashes.
//! Iteration order never depends on hashes, so they are seeded per process, which keeps hand-made
//! collisions harmless without making any result vary.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::equal::same_key;
use super::hash::hash_key;
use super::text::Text;
use super::{Shared, Stamp, Table, Value};
use crate::machine::room;

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// Layouts up to this size are searched from the front.
const LINEAR: usize = 8;

/// Layouts up to this size remember what a change makes of them, for the next table that changes alike.
const REMEMBERED: usize = 64;

/// Chains of remembered changes end after this many.
const LONGEST_WAY: u8 = 16;

/// A layout that at least this many tables share is likely to see the same change again.
const MANY: usize = 4;

/// Keys in insertion order.
///
/// A layout that machines share is frozen: it remembers nothing, so none of them can leave anything there.
#[derive(Debug, Default)]
pub struct Layout {
    /// A removed key leaves [`Value::Unbound`] in its slot until the next compaction.
    keys: Vec<Value>,
    /// Slots by hash; empty while the layout is small.
    index: HashTable<Slot>,
    removed: usize,
    /// The last change of a table with this layout, and the layout that it led to.
    next: RefCell<Option<(Change, Weak<Layout>)>>,
    /// The layout that a remembered change started from, kept so that the way there stays known.
    origin: Option<Shared<Layout>>,
    /// How many remembered changes led here.
    steps: u8,
    /// Whether machines share it.
    frozen: bool,
    /// What kinds of keys there are, if somebody has asked.
    kinds: Cell<u8>,
    /// Whose it is.
    #[cfg_attr(not(debug_assertions), expect(dead_code, reason = "only debug builds look at stamps"))]
    stamp: Stamp,
}

// A stamp stands where there was nothing before: meters count the same in all builds.
const _: () = assert!(
    size_of::<Layout>()
        == size_of::<Vec<Value>>()
            + size_of::<HashTable<Slot>>()
            + size_of::<RefCell<Option<(Change, Weak<Layout>)>>>()
            + 3 * size_of::<usize>()
);

/// A place in the index: the hash saves looking at keys that differ, and hashing again when it grows.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    at: u32,
}

/// The kinds of keys of a layout, each a bit: that they are known, that there are keywords, and strings. A key that was
/// removed may still count.
const KNOWN: u8 = 1;
const KEYWORDS: u8 = 2;
const TEXTS: u8 = 4;

fn kind(key: &Value) -> u8 {
    match key {
        Value::Kw(_) => KEYWORDS,
        Value::Str(_) => TEXTS,
        _ => 0,
    }
}

/// How one layout becomes another.
#[derive(Clone, Debug)]
enum Change {
    /// A key that is not there yet goes to the end. Only keys that are the same wherever they are equal are
    /// remembered: the next table gets this one in place of its own.
    Add(Value),
    /// The key at a slot goes.
    Remove(usize),
}

impl Change {
    fn is(&self, other: &Change) -> bool {
        match (self, other) {
            (Change::Add(a), Change::Add(b)) => is_atomic(a) && is_atomic(b) && same_key(a, b),
            (Change::Remove(a), Change::Remove(b)) => a == b,
            _ => false,
        }
    }

    /// Whether no program can tell an equal change from it.
    fn is_exact(&self) -> bool {
        match self {
            Change::Add(key) => is_atomic(key),
            Change::Remove(_) => true,
        }
    }
}

impl Clone for Layout {
    fn clone(&self) -> Self {
        let (keys, index) = (self.keys.clone(), self.index.clone());
        Layout { keys, index, removed: self.removed, ..Layout::default() }
    }
}

fn hash(key: &Value) -> u32 {
    (hash_key(key, &*SEED) >> 32) as u32
}

/// Spreads a hash over the 64 bits that the index wants.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Layout {
    /// The layout of different keys.
    pub fn of(keys: Vec<Value>) -> Layout {
        let mut layout = Layout { keys, ..Layout::default() };
        layout.reindex();
        layout
    }

    /// Makes it one that machines may share.
    pub(super) fn freeze(&mut self) {
        self.frozen = true;
    }

    /// Whether machines may share it.
    #[cfg(test)]
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Whose it is.
    #[cfg(debug_assertions)]
    pub(super) fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    /// Adds a key that is not there yet to the keys of a table with room for so many entries.
    pub(super) fn add(keys: &mut Option<Shared<Layout>>, key: Value, room: usize) {
        match keys {
            None => {
                let mut first = Vec::with_capacity(room.max(1));
                first.push(key);
                *keys = Some(Rc::new(Layout { keys: first, ..Layout::default() }));
            }
            Some(keys) => match Rc::get_mut(keys) {
                Some(own) => own.push(key),
                None => *keys = keys.changed(Change::Add(key)),
            },
        }
    }

    /// Removes the key at a slot from the keys of a table and returns it. If slots move, `close` is told
    /// first which of them stay, and moves the values.
    pub(super) fn remove(
        keys: &mut Shared<Layout>,
        at: usize,
        close: impl FnOnce(&dyn Fn(usize) -> bool),
    ) -> Value {
        let key = keys.keys[at].clone();
        match Rc::get_mut(keys) {
            // What follows a layout that others share has no holes.
            None => {
                close(&|slot| slot != at && !keys.is_hole(slot));
                *keys = keys.changed(Change::Remove(at));
            }
            Some(own) if own.is_indexed() => {
                if own.punch(at) {
                    close(&|slot| !own.is_hole(slot));
                    own.compact();
                }
            }
            Some(own) => {
                close(&|slot| slot != at);
                own.take_out(at);
            }
        }
        key
    }

    fn is_hole(&self, slot: usize) -> bool {
        matches!(self.keys[slot], Value::Unbound)
    }

    /// The first slot at or after `at` that has a key.
    pub(super) fn used_from(&self, at: usize) -> Option<usize> {
        let keys = self.keys.get(at..)?;
        Some(at + keys.iter().position(|key| !matches!(key, Value::Unbound))?)
    }

    /// The keys by slot, [`Value::Unbound`] where one was removed.
    #[inline]
    pub fn keys(&self) -> &[Value] {
        &self.keys
    }

    pub(super) fn into_keys(self) -> Vec<Value> {
        self.keys
    }

    /// How many keys there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.keys.len() - self.removed
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots there are, those of removed keys too.
    pub fn slots(&self) -> usize {
        self.keys.len()
    }

    /// How many bytes the keys and their index take.
    pub fn bytes(&self) -> usize {
        size_of::<Layout>()
            + room(self.keys.len()) * size_of::<Value>()
            + room(self.index.len() * 8 / 7) * (size_of::<Slot>() + 1)
    }

    /// The layout that this one came from, which it keeps alive.
    pub fn origin(&self) -> Option<&Shared<Layout>> {
        self.origin.as_ref()
    }

    /// Whether a key may be a keyword.
    pub fn has_keywords(&self) -> bool {
        self.kinds() & KEYWORDS != 0
    }

    /// Whether a key may be a string.
    pub fn has_texts(&self) -> bool {
        self.kinds() & TEXTS != 0
    }

    fn kinds(&self) -> u8 {
        if self.kinds.get() != 0 {
            return self.kinds.get();
        }
        let kinds = self.keys.iter().fold(KNOWN, |kinds, key| kinds | kind(key));
        if !self.frozen {
            self.kinds.set(kinds);
        }
        kinds
    }

    fn is_indexed(&self) -> bool {
        !self.index.is_empty()
    }

    /// Whether `key` stands at a slot, told at a glance: false may only mean that a look is needed.
    #[inline(always)]
    pub fn is_at(&self, slot: usize, key: &Value) -> bool {
        match (self.keys.get(slot), key) {
            (Some(Value::Kw(there)), Value::Kw(name)) => there == name,
            (Some(Value::Int(there)), Value::Int(int)) => there == int,
            (Some(Value::Str(there)), Value::Str(text)) => there.is(text),
            _ => false,
        }
    }

    /// The slot of `key`.
    #[inline]
    pub fn position(&self, key: &Value) -> Option<usize> {
        if self.is_indexed() {
            return self.position_by(key, same_key);
        }
        match key {
            Value::Kw(name) => {
                self.keys.iter().position(|other| matches!(other, Value::Kw(other) if other == name))
            }
            Value::Str(text @ Text::Short(_)) => {
                self.keys.iter().position(|other| matches!(other, Value::Str(other) if other.is(text)))
            }
            _ => self.position_by(key, same_key),
        }
    }

    /// The slot of `key`, by a caller's way of telling keys apart that counts its steps.
    pub(super) fn position_by(
        &self,
        key: &Value,
        mut same: impl FnMut(&Value, &Value) -> bool,
    ) -> Option<usize> {
        if !self.is_indexed() {
            return self.keys.iter().position(|other| same(other, key));
        }
        let hash = hash(key);
        let same = |slot: &Slot| slot.hash == hash && same(&self.keys[slot.at as usize], key);
        self.index.find(spread(hash), same).map(|slot| slot.at as usize)
    }

    /// Adds a key that is not there yet.
    fn push(&mut self, key: Value) {
        if self.is_indexed() {
            let slot = Slot { hash: hash(&key), at: position_id(self.keys.len()) };
            self.index.insert_unique(spread(slot.hash), slot, |slot| spread(slot.hash));
        }
        if self.kinds.get() != 0 {
            self.kinds.set(self.kinds.get() | kind(&key));
        }
        self.keys.push(key);
        if self.keys.len() == LINEAR + 1 && !self.is_indexed() {
            self.reindex();
        }
    }

    fn reindex(&mut self) {
        // A new one: the old one may have room for many more.
        self.index = HashTable::new();
        if self.keys.len() <= LINEAR {
            return;
        }
        self.index.reserve(self.keys.len(), |slot| spread(slot.hash));
        for (at, key) in self.keys.iter().enumerate() {
            let slot = Slot { hash: hash(key), at: position_id(at) };
            self.index.insert_unique(spread(slot.hash), slot, |slot| spread(slot.hash));
        }
    }

    /// Removes the key at a slot of a layout that is not indexed.
    fn take_out(&mut self, at: usize) {
        self.keys.remove(at);
        super::room::release(&mut self.keys);
    }

    /// Leaves a hole at a slot of an indexed layout; true says there are so many that
    /// [`Layout::compact`] is due.
    fn punch(&mut self, at: usize) -> bool {
        let hash = hash(&self.keys[at]);
        if let Ok(found) = self.index.find_entry(spread(hash), |slot| slot.at as usize == at) {
            found.remove();
        }
        self.keys[at] = Value::Unbound;
        self.removed += 1;
        self.removed > self.len() + LINEAR || self.index.is_empty()
    }

    /// Closes all holes.
    fn compact(&mut self) {
        self.keys.retain(|key| !matches!(key, Value::Unbound));
        super::room::release(&mut self.keys);
        self.removed = 0;
        self.reindex();
    }

    /// What a change makes of a layout that others share: for small ones the layout that the same change
    /// led to before, if it is still around.
    fn changed(self: &Shared<Self>, change: Change) -> Shared<Layout> {
        if let Some((known, to)) = &*self.next.borrow()
            && known.is(&change)
            && let Some(to) = to.upgrade()
        {
            return to;
        }
        let mut new = Layout::clone(self);
        match &change {
            Change::Add(key) => new.push(key.clone()),
            Change::Remove(at) => {
                new.keys[*at] = Value::Unbound;
                new.compact();
            }
        }
        let repeats = Rc::strong_count(self) >= MANY || Rc::weak_count(self) > 0;
        if self.keys.len() > REMEMBERED
            || self.steps == LONGEST_WAY
            || self.frozen
            || !repeats
            || !change.is_exact()
        {
            return Rc::new(new);
        }
        #[cfg(debug_assertions)]
        assert!(!self.stamp.is_everybodys(), "what machines share is frozen");
        new.origin = Some(self.clone());
        new.steps = self.steps + 1;
        let new = Rc::new(new);
        *self.next.borrow_mut() = Some((change, Rc::downgrade(&new)));
        new
    }
}

/// Whether keys of its kind are one and the same wherever they are equal. Most are not: `[1 2]` equals `(1 2)`
/// and a vector with metadata, and `1` equals `1N`.
fn is_atomic(key: &Value) -> bool {
    matches!(key, Value::Kw(_) | Value::Str(_) | Value::Int(_))
}

/// Layouts of the maps that programs write, so that maps written in one place share their keys.
#[derive(Debug, Default)]
pub struct Layouts {
    latest: Vec<Shared<Layout>>,
}

impl Layouts {
    /// How many places there are; a layout takes that of another with the same number.
    const PLACES: usize = 16;
    /// Maps with more keys than this are not written often.
    const MOST_KEYS: usize = 16;

    /// The layout of these keys in this order, if they are different keywords and not too many.
    pub fn of<'k>(
        &mut self,
        keys: impl ExactSizeIterator<Item = &'k Value> + Clone,
    ) -> Option<Shared<Layout>> {
        if keys.len() == 0 || keys.len() > Self::MOST_KEYS {
            return None;
        }
        let mut place = 0;
        for key in keys.clone() {
            let Value::Kw(name) = key else { return None };
            place = place * 7 + name.0 as usize;
        }
        if self.latest.is_empty() {
            self.latest.resize_with(Self::PLACES, Shared::default);
        }
        let latest = &mut self.latest[place % Self::PLACES];
        let same = |layout: &Layout| {
            layout.slots() == keys.len()
                && layout.keys().iter().zip(keys.clone()).all(|(own, key)| same_name(own, key))
        };
        if !same(latest) {
            let different: Table<()> = keys.clone().map(|key| (key.clone(), ())).collect();
            if different.len() < keys.len() {
                return None;
            }
            *latest = Rc::new(Layout::of(keys.cloned().collect()));
        }
        Some(latest.clone())
    }
}

/// Whether two keys are the same keyword.
#[inline]
fn same_name(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Kw(a), Value::Kw(b)) if a == b)
}

fn position_id(at: usize) -> u32 {
    u32::try_from(at).expect("the memory limit keeps tables far below 2^32 entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;

    /// Ten tables that share a layout, which remembers what they become.
    fn alike(layout: Layout) -> Vec<Table<()>> {
        vec![Table::of_keys(Rc::new(layout)); 10]
    }

    fn shares(a: &Table<()>, b: &Table<()>) -> bool {
        a.layout().zip(b.layout()).is_some_and(|(a, b)| Rc::ptr_eq(a, b))
    }

    #[test]
    fn a_frozen_layout_remembers_nothing() {
        for frozen in [false, true] {
            let mut layout = Layout::of(vec![Value::Int(1), Value::Int(2)]);
            if frozen {
                layout.freeze();
            }
            let mut tables = alike(layout);
            for table in &mut tables[..2] {
                table.insert(Value::str("a"), ());
            }
            for table in &mut tables[2..4] {
                table.remove(&Value::Int(1));
            }
            assert_eq!(shares(&tables[0], &tables[1]), !frozen);
            assert_eq!(shares(&tables[2], &tables[3]), !frozen);
            // The copy that a change made is the machine's own.
            assert!(tables[0].layout().is_some_and(|layout| !layout.is_frozen()));
        }
    }

    #[test]
    fn a_table_keeps_the_key_it_was_given_though_another_added_an_equal_one() {
        let pair = || vec![Value::Int(1), Value::Int(2)];
        let keys = [
            (Value::list(pair()), Value::vector(pair())),
            (Value::entry(Value::Int(1), Value::Int(2)), Value::vector(pair())),
            (Value::wide(1.into()), Value::Int(1)),
            (Value::Float(-0.0), Value::Float(0.0)),
        ];
        for (first, second) in keys {
            let mut tables = alike(Layout::of(vec![Value::str("a")]));
            tables[0].insert(first.clone(), ());
            tables[1].insert(second.clone(), ());
            let given = format!("{second:?}");
            assert_eq!(tables[1].keys().last().map(|key| format!("{key:?}")), Some(given), "{first:?}");
        }
    }

    #[test]
    fn maps_written_alike_share_their_keys() {
        let mut names = Names::default();
        let [a, b] = ["a", "b"].map(|name| Value::Kw(names.intern(name)));
        let mut layouts = Layouts::default();
        let mut of = |keys: &[&Value]| layouts.of(keys.iter().copied());
        let first = of(&[&a, &b]).expect("two keywords");
        assert!(of(&[&a, &b]).is_some_and(|again| Rc::ptr_eq(&first, &again)));
        assert!(of(&[&b, &a]).is_some_and(|other| other.position(&a) == Some(1)));
        assert!(of(&[&a, &a]).is_none());
        assert!(of(&[&a, &Value::Int(1)]).is_none());
        assert!(of(&[]).is_none());
    }
}
