//! What loops over collections do with registers: taking items, looking into them, filling vectors and groups.
//!
//! These are functions of their own, so that the instruction loop has less to keep in the registers of the processor. What
//! they do most often calls nothing, so that it needs no frame; whatever else there is to do is left to another function at
//! the end. Walks are reached without asking whether they are borrowed: no instruction keeps a borrow.
#![expect(unsafe_code, reason = "as in `window`")]

use std::rc::Rc;

use super::{CodePointer, Half, Window, read_words, write_words};
use crate::code::{Op, Reg};
use crate::value::{MAX_DEPTH, Shape, Text, Value};

impl Window {
    /// Puts the next item of a walk into a register. Whether there is one; nothing if a lazy sequence has to be realised first.
    #[inline(never)]
    pub fn next(mut self, dst: Reg, walk: Reg) -> Option<bool> {
        let item = match self.get(walk) {
            Value::Iter(items) => items.borrow_mut().next().ok()?,
            _ => None,
        };
        let is_there = item.is_some();
        if let Some(item) = item {
            self.put(dst, item);
        }
        Some(is_there)
    }

    /// The same, but an item that stands in a vector stays there; the register gets the walk itself.
    #[inline(never)]
    pub fn advance(self, dst: Reg, walk: Reg) -> Option<bool> {
        if let Value::Iter(items) = self.get(walk)
            // SAFETY: see above.
            && let Some(is_there) = unsafe { &mut *items.as_ptr() }.advance()
        {
            return match self.get(dst) {
                Value::Iter(_) => Some(is_there),
                _ if is_there => self.mark(dst, walk),
                _ => Some(false),
            };
        }
        self.next(dst, walk)
    }

    #[cold]
    #[inline(never)]
    fn mark(mut self, dst: Reg, walk: Reg) -> Option<bool> {
        self.copy(dst, walk);
        Some(true)
    }

    /// The item at which a walk over a vector is.
    #[inline(always)]
    fn here(&self, walk: Reg) -> Option<&Value> {
        match (self.get(walk + 1), self.get(walk)) {
            // SAFETY: see above; the walk owns the vector, which nobody changes while it has two owners or is walked.
            (Value::Iter(_), Value::Iter(items)) => unsafe { &*items.as_ptr() }.here(),
            _ => None,
        }
    }

    /// Puts the item at which a walk is into a register.
    #[inline(never)]
    pub fn item(mut self, dst: Reg, walk: Reg) {
        match self.here(walk) {
            Some(item) => {
                let item = item.clone();
                self.put(dst, item);
            }
            None => self.copy(dst, walk + 1),
        }
    }

    /// The item at which a walk is.
    #[inline(always)]
    pub fn item_at(&self, walk: Reg) -> &Value {
        self.here(walk).unwrap_or_else(|| self.get(walk + 1))
    }

    /// Puts what a map has for a keyword into a register: tried first at the slot where rows that are alike had it. False if
    /// that needs a closer look.
    #[inline(never)]
    pub fn look_up(self, op: &Op, code: CodePointer, hints: &mut Hints) -> bool {
        let Op::Lookup { dst, map, key } = *op else { return false };
        if let Value::Map(row) = self.get(map)
            && let Value::Kw(name) = code.constant(key)
            && let Some(value) = row.field_at(hints.fields[place(op)].into(), *name)
            && (value.is_plain() || value.is_short())
        {
            return self.store(dst, read_words(value));
        }
        self.search(op, code, hints)
    }

    /// The same for the item at which a walk is.
    #[inline(never)]
    pub fn field(self, op: &Op, code: CodePointer, hints: &mut Hints) -> bool {
        let Op::Field { dst, walk, key } = *op else { return false };
        if let Some(Value::Map(row)) = self.here(walk)
            && let Value::Kw(name) = code.constant(key)
            && let Some(value) = row.field_at(hints.fields[place(op)].into(), *name)
            && (value.is_plain() || value.is_short())
        {
            return self.store(dst, read_words(value));
        }
        self.search(op, code, hints)
    }

    /// Does either with any map.
    #[inline(never)]
    fn search(mut self, op: &Op, code: CodePointer, hints: &mut Hints) -> bool {
        let (dst, map, key) = match *op {
            Op::Lookup { dst, map, key } => (dst, self.get(map), key),
            Op::Field { dst, walk, key } => (dst, self.item_at(walk), key),
            _ => return false,
        };
        let Value::Map(row) = map else { return false };
        let Some(at) = row.position(code.constant(key)) else { return false };
        hints.fields[place(op)] = u16::try_from(at).unwrap_or(0);
        let Some(value) = row.slots().get(at).cloned() else { return false };
        self.put(dst, value);
        true
    }

    /// Puts a value that owns nothing into a register.
    #[inline(always)]
    fn store(self, dst: Reg, words: (Half, Half)) -> bool {
        let register = self.at(dst);
        let old = self.get(dst);
        if old.is_plain() || old.is_short() {
            // SAFETY: it points into the stack, and what was there owned nothing.
            unsafe { write_words(register, words) };
            true
        } else {
            self.overwrite(dst, words)
        }
    }

    #[cold]
    #[inline(never)]
    fn overwrite(mut self, dst: Reg, words: (Half, Half)) -> bool {
        self.put(dst, Value::Nil);
        // SAFETY: as in `store`.
        unsafe { write_words(self.at(dst), words) };
        true
    }

    /// Calls the map in a register with the key behind it. False if that needs a closer look: for keys that are spelled
    /// otherwise, and for those whose comparison is paid for.
    #[inline(never)]
    pub fn call_map(mut self, f: Reg, dst: Reg) -> bool {
        let (Value::Map(map), key) = (self.get(f), self.get(f + 1)) else { return false };
        let found = if is_glanced(key) { map.get(key).cloned() } else { None };
        let Some(value) = found else { return false };
        self.release(f);
        self.release(f + 1);
        self.put(dst, value);
        true
    }

    /// Moves the value of a register to the end of the vector in another one. Not if that is no vector, is shared or has
    /// no room, or if the value nests as deeply as values may.
    #[inline(never)]
    pub fn append(mut self, vec: Reg, item: Reg) -> bool {
        if let Some((Value::Vec(body), item)) = self.two(vec, item)
            && let Some(inner) = Rc::get_mut(body)
            && inner.items.len() < inner.items.capacity()
            && (item.is_scalar() || item.shape().depth < MAX_DEPTH)
        {
            inner.shape.include(item);
            push_in_place(&mut inner.items, std::mem::take(item));
            return true;
        }
        false
    }

    /// Adds an item to the vector that a map has for a key, which is looked for where it stood last. False if that needs a
    /// closer look, or room.
    #[inline(never)]
    pub fn group(self, op: &Op, hints: &Hints) -> bool {
        match *op {
            Op::Group { map, key, item } if item != map && item != key => {
                let mut registers = self;
                let shape = self.get(item).shape();
                let mut from = self;
                let Some(group) = registers.group_of(op, (map, key), shape, hints) else { return false };
                push_in_place(group, from.take(item));
                true
            }
            Op::GroupItem { map, key, walk }
                if ![walk, walk + 1].contains(&map) && ![walk, walk + 1].contains(&key) =>
            {
                let mut registers = self;
                let Value::Map(row) = self.item_at(walk) else { return false };
                let Some(group) = registers.group_of(op, (map, key), row.shape(), hints) else {
                    return false;
                };
                push_in_place(group, Value::Map(row.clone()));
                true
            }
            _ => false,
        }
    }

    /// The vector for a key, if it has room for an item and is seen to be there at a glance.
    #[inline(always)]
    fn group_of(
        &mut self,
        op: &Op,
        (map, key): (Reg, Reg),
        item: Shape,
        hints: &Hints,
    ) -> Option<&mut Vec<Value>> {
        let (Value::Map(groups), key) = self.two(map, key)? else { return None };
        if !is_glanced(key) {
            return None;
        }
        let at = hints.keys[key_place(op, key)].into();
        groups.glance(at, key)?;
        let Some(Value::Vec(body)) = groups.own_slot_at(at) else { return None };
        let inner = Rc::get_mut(body)?;
        (inner.items.len() < inner.items.capacity() && inner.shape.covers(item)).then_some(&mut inner.items)
    }
}

/// Adds to a vector that has room for it.
#[inline(always)]
fn push_in_place(items: &mut Vec<Value>, item: Value) {
    let count = items.len();
    assert!(count < items.capacity());
    // SAFETY: there is room behind the last item.
    unsafe {
        items.as_mut_ptr().add(count).write(item);
        items.set_len(count + 1);
    }
}

/// Whether a key can be told from others at a glance, which costs nothing.
#[inline(always)]
fn is_glanced(key: &Value) -> bool {
    matches!(key, Value::Kw(_) | Value::Int(_) | Value::Str(Text::Short(_)))
}

/// How many places in code are remembered at which keywords are looked up.
const FIELDS: usize = 64;

/// How many keys of groups are remembered.
const KEYS: usize = 256;

/// Slots at which keys were found last. Whoever follows one looks at the key that is there, so any number may be in it.
#[derive(Debug)]
pub(crate) struct Hints {
    /// By place in code.
    fields: [u16; FIELDS],
    /// By place in code and key.
    keys: [u16; KEYS],
}

impl Default for Hints {
    fn default() -> Hints {
        Hints { fields: [0; FIELDS], keys: [0; KEYS] }
    }
}

impl Hints {
    /// Where an instruction has found a key last.
    pub fn of_key(&mut self, op: &Op, key: &Value) -> &mut u16 {
        &mut self.keys[key_place(op, key)]
    }
}

/// Which of the hints is that of an instruction.
#[inline(always)]
fn place(op: &Op) -> usize {
    std::ptr::from_ref(op).addr() / size_of::<Op>() % FIELDS
}

/// Which of the hints remembers where a key stands that an instruction looks for; the same one is likely for the same key
/// only.
#[inline(always)]
fn key_place(op: &Op, key: &Value) -> usize {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let bits = match key {
        Value::Kw(name) => u64::from(name.0),
        Value::Int(int) => *int as u64,
        Value::Str(Text::Short(text)) => text.words().0,
        _ => 0,
    };
    let place = std::ptr::from_ref(op).addr() / size_of::<Op>();
    (place ^ (bits.wrapping_mul(SPREAD) >> 48) as usize) % KEYS
}
