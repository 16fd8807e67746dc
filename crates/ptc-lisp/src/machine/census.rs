//! The census: what is live, and how much room it takes. What a machine owns is listed in `account.rs`; here values are
//! walked.
//!
//! Counts free almost everything at once. What they cannot free are cycles, and those can only go
//! through lazy sequences and mutable cells; the census finds the unreachable ones and empties them.

use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

use super::Machine;
use super::fiber::{Cont, Frame, Handler};
use crate::limits::Limits;
use crate::seed::Unseeded;
use crate::signal::Signal;
use crate::value::seq::SEQ_BYTES;
use crate::value::{
    CellObj, CellState, Closure, ConsObj, Counted, Layout, LazyObj, LazyState, Meta, Ordering, RegexObj,
    SeqObj, SetObj, Shared, SortedObj, Value, VecObj, stamp,
};

/// Bytes of a shared body beyond its contents: counts, header, and what allocators lose by rounding.
pub(super) const BODY: usize = 80;

/// How much room is counted for a vector of `len` items. Not its capacity: that says how it was made, and a
/// machine that was dumped and loaded must count the same. A long vector has doubled to become so long.
pub(crate) fn room(len: usize) -> usize {
    const SHORT: usize = 16;
    if len <= SHORT { len } else { len.next_power_of_two() }
}

/// Walks everything reachable and adds up its size.
pub(super) struct Census {
    pub(super) bytes: usize,
    /// Beyond so many bytes it ends: more is all that somebody wants to know.
    pub(super) most: usize,
    /// Values looked at, which is what a census takes time for.
    visits: usize,
    bodies: usize,
    seen: HashSet<usize, Unseeded>,
    /// What cells held before the program, by where the cell is: a program that fails leaves it to those that reach the
    /// cell, and to nobody else.
    saved: HashMap<usize, Value, Unseeded>,
    pub(super) pending: Vec<Value>,
}

/// How much may be fresh before the next census. It costs time in proportion to what is live, so it waits
/// for twice as much; but never for more than a quarter of what is left, so that garbage cannot pass for
/// data that a native makes. Where little is left it waits for a sixteenth of the memory all the same, or a program near
/// the limit would count more than it works: that much is fresh, not live, and natives may go further still (see
/// `Heap::work`).
pub(super) fn next_census(limits: &Limits, live: usize) -> usize {
    let room = limits.memory.saturating_sub(live);
    (room / 4).min(live.saturating_mul(2).max(16 << 20)).max(limits.memory / 16).max(1 << 16)
}

/// Bytes of a value by itself, with everything that it holds.
pub(super) fn bytes_of(value: &Value) -> usize {
    let mut census = Census::new();
    census.visit(value);
    census.run();
    census.bytes
}

impl Machine {
    /// Counts what is live and frees unreachable cycles.
    pub(super) fn census(&mut self) {
        let mut census = Census::new();
        census.machine(self);
        census.run();
        let bytes = census.bytes;
        let seen = &census.seen;
        // Nobody asks what a cell held that nobody reaches.
        self.heap.globals.undo_cells.retain(|(cell, _)| seen.contains(&cell.address()));
        self.heap.lazies.retain(|lazy| {
            let reached = seen.contains(&(Rc::as_ptr(lazy) as usize));
            if !reached && Rc::strong_count(lazy) > 1 {
                // Unreachable but held: part of a cycle. Emptying it lets the counts do the rest.
                let state = lazy.state.try_borrow_mut().map(|mut state| std::mem::take(&mut *state));
                drop(state);
            }
            reached
        });
        self.heap.cells.retain(|cell| {
            let reached = seen.contains(&(Rc::as_ptr(cell) as usize));
            if !reached && Rc::strong_count(cell) > 1 {
                cell.empty();
            }
            reached
        });
        self.heap.live_bytes = bytes;
        self.heap.fresh_bytes = 0;
        self.census_at = next_census(&self.heap.limits, bytes);
        self.heap.fuel_used += (census.bodies + census.visits / 16) as u64;
    }

    /// Counts what is live if enough was made since the last time.
    pub(super) fn census_if_due(&mut self) {
        if self.heap.fresh_bytes >= self.census_at {
            self.census();
        }
    }

    /// Counts what is live for a native that was short of memory; an error if what it wants at once does not fit.
    pub(super) fn census_for(&mut self, signal: &Signal) -> Result<(), Box<Signal>> {
        self.census();
        match *signal {
            Signal::Reclaim(bytes) if bytes > self.heap.room() => Err(self.out_of_memory().into()),
            _ => Ok(()),
        }
    }

    /// Makes sure that `bytes` more fit, after a census if need be. Everything live must be where the
    /// census finds it.
    pub(super) fn claim(&mut self, bytes: usize) -> Result<(), Box<Signal>> {
        if self.heap.reserve(bytes).is_ok() {
            return Ok(());
        }
        self.census();
        self.heap.reserve(bytes).map_err(|_| self.out_of_memory().into())
    }

    /// Makes the stack of registers large enough. It doubles: allocators keep what it grew out of for a
    /// while, and so all of that together is no more than what it grows into.
    #[cold]
    pub(super) fn grow_registers(&mut self, needed: usize) -> Result<(), Box<Signal>> {
        let count = self.fiber.regs.len();
        let wanted = needed.max(count * 2).max(16);
        self.claim((wanted - count) * size_of::<Value>())?;
        let regs = &mut self.fiber.regs;
        regs.reserve_exact(wanted - count);
        regs.resize(wanted, Value::Nil);
        Ok(())
    }

    /// Claims room for as many things again as there are, and says how many that is.
    fn claim_as_many(&mut self, count: usize, size: usize) -> Result<usize, Box<Signal>> {
        let more = count.max(16);
        self.claim(more * size)?;
        Ok(more)
    }

    /// Makes room for more frames.
    #[cold]
    pub(super) fn grow_frames(&mut self) -> Result<(), Box<Signal>> {
        let more = self.claim_as_many(self.fiber.frames.len(), size_of::<Frame>())?;
        self.fiber.frames.reserve_exact(more);
        Ok(())
    }

    /// Makes room for more open `try`s.
    #[cold]
    pub(super) fn grow_handlers(&mut self) -> Result<(), Box<Signal>> {
        let more = self.claim_as_many(self.fiber.handlers.len(), size_of::<Handler>())?;
        self.fiber.handlers.reserve_exact(more);
        Ok(())
    }

    /// Makes room for more continuations.
    #[cold]
    pub(super) fn grow_conts(&mut self) -> Result<(), Box<Signal>> {
        let more = self.claim_as_many(self.fiber.conts.len(), size_of::<Cont>())?;
        self.fiber.conts.reserve_exact(more);
        Ok(())
    }
}

/// Meets everything that a value leads to, which debug builds do with results; see [`stamp`].
#[cfg(debug_assertions)]
pub(super) fn meet_all(value: &Value) {
    let mut census = Census::new();
    census.visit(value);
    census.run();
}

impl Census {
    /// Bytes of a lazy sequence, with its place in the heap's list and in this census.
    pub(super) const LAZY: usize = BODY + 32;

    pub(super) fn new() -> Census {
        let (seen, saved) = (HashSet::default(), HashMap::default());
        Census { bytes: 0, most: usize::MAX, visits: 0, bodies: 0, seen, saved, pending: Vec::new() }
    }

    /// Has what cells held before the program met with the cells, which comes before anything is walked. Garbage of an
    /// earlier program is among them; it is none of this one's.
    pub(super) fn saved_cells(&mut self, cells: &[(Shared<CellObj>, Value)]) {
        self.saved.extend(cells.iter().map(|(cell, value)| (cell.address(), value.clone())));
    }

    /// Notes a value; shared bodies are visited once.
    pub(super) fn visit(&mut self, value: &Value) {
        self.visits += 1;
        match value {
            Value::Str(crate::value::Text::Long(text)) => {
                if Rc::strong_count(text) == 1 || self.seen.insert(Rc::as_ptr(text) as usize) {
                    self.bytes += BODY + room(text.len());
                }
            }
            Value::Big(int) => {
                if Rc::strong_count(int) == 1 || self.seen.insert(Rc::as_ptr(int) as usize) {
                    self.bytes += BODY + 32 + usize::try_from(int.bits() / 8).unwrap_or(usize::MAX);
                }
            }
            Value::Decimal(decimal) => {
                if Rc::strong_count(decimal) == 1 || self.seen.insert(Rc::as_ptr(decimal) as usize) {
                    self.bytes += BODY + 40 + decimal.words() * 8;
                }
            }
            _ if value.is_scalar() => {}
            _ => self.meet(value),
        }
    }

    /// Has a body walked, unless it was met before. That is found out before it waits: a vector with one body in it a
    /// million times would otherwise make a million wait.
    fn meet(&mut self, value: &Value) {
        self.bodies += 1;
        let new = match value {
            // The heap lists these and asks afterwards which were met.
            Value::Lazy(body) => self.seen.insert(body.address()),
            Value::Cell(body) => self.seen.insert(body.address()),
            Value::Vec(body) => self.alone_or_new(body),
            Value::Seq(body) => self.alone_or_new(body),
            Value::Cons(body) => self.alone_or_new(body),
            Value::Range(body) => self.alone_or_new(body),
            Value::Map(body) => self.alone_or_new(body),
            Value::Set(body) => self.alone_or_new(body),
            Value::Sorted(body) => self.alone_or_new(body),
            Value::Fn(body) => self.alone_or_new(body),
            Value::Regex(body) => self.alone_or_new(body),
            Value::Ex(body) => self.alone_or_new(body),
            Value::Time(body) => self.alone_or_new(body),
            Value::Reduced(body) => self.alone_or_new(body),
            Value::Iter(body) => self.alone_or_new(body),
            // Counted with what holds them, or by `visit`.
            Value::Unbound | Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => false,
            Value::Kw(_) | Value::Sym(_) | Value::Builtin(_) | Value::Tool(_) | Value::Var(_) => false,
            Value::Type(_) | Value::Str(_) | Value::Big(_) | Value::Decimal(_) => false,
        };
        if new {
            self.pending.push(value.clone());
        }
    }

    /// Whether a body is met for the first time. One with one owner cannot be met again, so it need not be remembered.
    pub(super) fn alone_or_new(&mut self, body: &impl Counted) -> bool {
        body.owners() == 1 || self.seen.insert(body.address())
    }

    /// Whether a body is met for the first time by its address alone.
    pub(super) fn is_new(&mut self, body: &impl Counted) -> bool {
        self.seen.insert(body.address())
    }

    pub(super) fn meta(&mut self, meta: &Meta) {
        if let Some(meta) = meta
            && self.alone_or_new(meta)
        {
            self.bytes += BODY;
            self.visit(meta);
        }
    }

    /// Whether many values wait to be walked.
    pub(super) fn is_crowded(&self) -> bool {
        self.pending.len() > 1024
    }

    /// Walks the values that wait.
    pub(super) fn run(&mut self) {
        while self.bytes <= self.most
            && let Some(value) = self.pending.pop()
        {
            self.body(&value);
        }
    }

    /// Notes the parts of something that has been counted.
    pub(super) fn all<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        if self.bytes <= self.most {
            values.into_iter().for_each(|value| self.visit(value));
        }
    }

    /// Keys that tables share count once.
    fn layout(&mut self, layout: Option<&Shared<Layout>>) {
        let mut next = layout;
        while let Some(layout) = next {
            let alone = Rc::strong_count(layout) == 1 && Rc::weak_count(layout) == 0;
            if !alone && !self.seen.insert(Rc::as_ptr(layout) as usize) {
                return;
            }
            self.bytes += layout.bytes();
            self.all(layout.keys());
            next = layout.origin();
        }
    }

    /// Bodies are taken apart without `..`: a new part is counted, or named here.
    fn body(&mut self, value: &Value) {
        stamp::meet(value);
        match value {
            Value::Vec(body) => {
                let VecObj { items, entry: _, shape: _, meta, stamp: _ } = &**body;
                self.bytes += BODY + room(items.len()) * size_of::<Value>();
                self.all(items);
                self.meta(meta);
            }
            Value::Seq(body) => {
                let SeqObj { items, offset: _, end: _, list: _, queue: _, meta, stamp: _ } = &**body;
                self.bytes += SEQ_BYTES;
                self.bodies += 1;
                if self.alone_or_new(items) {
                    self.pending.push(Value::Vec(items.clone()));
                }
                self.meta(meta);
            }
            Value::Cons(body) => {
                let ConsObj { first, rest, list: _, shape: _, meta, stamp: _ } = &**body;
                self.bytes += BODY + 2 * size_of::<Value>();
                self.all([first, rest]);
                self.meta(meta);
            }
            Value::Lazy(body) => {
                let LazyObj { state, stamp: _ } = &**body;
                self.bytes += Census::LAZY;
                if let LazyState::Thunk(value) | LazyState::Done(value) = &*state.borrow() {
                    self.visit(value);
                }
            }
            Value::Map(body) => {
                self.bytes += body.bytes();
                self.layout(body.layout());
                self.all(body.slots());
                self.meta(body.meta());
            }
            Value::Set(body) => {
                let SetObj { table, shape: _, meta, stamp: _ } = &**body;
                self.bytes += BODY;
                self.layout(table.layout());
                self.meta(meta);
            }
            Value::Sorted(body) => {
                let SortedObj { entries, ordering, is_set: _, shape: _, meta, stamp: _ } = &**body;
                self.bytes += BODY + room(entries.len()) * 2 * size_of::<Value>();
                self.all(entries.iter().flat_map(|(key, value)| [key, value]));
                self.meta(meta);
                if let Ordering::By(function) = ordering {
                    self.visit(function);
                }
            }
            Value::Fn(body) => {
                // Its unit is counted among those of the machine, or belongs to all.
                let Closure { unit: _, func: _, simple: _, captures, shape: _, meta, stamp: _ } = &**body;
                // With the header of its captures.
                self.bytes += BODY + 32;
                if self.alone_or_new(captures) {
                    self.bytes += captures.len() * size_of::<Value>();
                    self.all(&**captures);
                }
                self.meta(meta);
            }
            Value::Cell(body) => {
                let CellObj { kind: _, state, stamp: _ } = &**body;
                self.bytes += BODY + 64;
                let CellState { value, ready: _, validator, watches, meta } = &*state.borrow();
                self.all([value, validator, watches]);
                self.meta(meta);
                if let Some(value) = self.saved.remove(&body.address()) {
                    self.bytes += size_of::<(Shared<CellObj>, Value)>();
                    self.visit(&value);
                }
            }
            Value::Regex(body) => {
                let RegexObj { source, matcher, stamp: _ } = &**body;
                self.bytes += BODY + source.len() + matcher.bytes();
            }
            Value::Ex(body) => self.exception(body),
            Value::Time(body) => self.bytes += BODY + body.bytes(),
            Value::Range(_) => self.bytes += BODY,
            Value::Reduced(body) => {
                self.bytes += BODY;
                self.visit(body);
            }
            Value::Iter(body) => {
                self.bytes += BODY;
                let items = body.borrow().clone();
                self.items(&items);
            }
            // Counted with what holds them, or by `visit`.
            Value::Unbound | Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_) => {}
            Value::Kw(_) | Value::Sym(_) | Value::Builtin(_) | Value::Tool(_) | Value::Var(_) => {}
            Value::Type(_) | Value::Str(_) | Value::Big(_) | Value::Decimal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use crate::limits::Limits;
    use crate::machine::{Machine, Step};

    /// Atoms that refer to themselves in every way they can.
    const CYCLES: &[&str] = &[
        "(let [a (atom nil)] (reset! a [a]) nil)",
        "(let [a (atom nil)] (add-watch a :k (fn [k r o n] a)) nil)",
        "(let [a (atom nil)] (set-validator! a (fn [x] (not= x a))) nil)",
        "(let [a (atom nil)] (alter-meta! a assoc :self a) nil)",
    ];

    #[test]
    fn cycles_through_an_atom_go_with_a_census_or_with_the_machine() {
        for (source, counted) in CYCLES.iter().flat_map(|source| [(source, true), (source, false)]) {
            let mut machine = Machine::new(Limits::default());
            machine.load(source).expect("it loads");
            assert!(matches!(machine.run(u64::MAX), Step::Done(_)), "{source}");
            let cell = Rc::downgrade(machine.heap.cells.first().expect("an atom"));
            assert!(cell.upgrade().is_some(), "{source} makes a cycle");
            if counted {
                machine.live_bytes();
                assert!(cell.upgrade().is_none(), "{source} after a census");
            }
            drop(machine);
            assert!(cell.upgrade().is_none(), "{source} after the machine");
        }
    }
}
