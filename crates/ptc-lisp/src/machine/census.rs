//! The census: what is live, and how much room it takes.
//!
//! Counts free almost everything at once. What they cannot free are cycles, and those can only go
//! through lazy sequences and mutable cells; the census finds the unreachable ones and empties them.

use std::rc::Rc;

use foldhash::fast::FixedState;
use hashbrown::HashSet;

use super::Machine;
use super::fiber::{Cont, Fiber, State};
use crate::value::{Items, Layout, LazyState, Shared, Value};

/// Bytes of a shared body beyond its contents: counts and header.
const BODY: usize = 64;

/// Walks everything reachable and adds up its size.
#[derive(Default)]
struct Census {
    bytes: usize,
    seen: HashSet<usize, FixedState>,
    pending: Vec<Value>,
}

impl Machine {
    /// Counts what is live and frees unreachable cycles.
    pub(super) fn census(&mut self) {
        let mut census = Census::default();
        for value in self.heap.globals.roots().chain(&self.history).chain([&self.data]) {
            census.visit(value);
        }
        for unit in self.units.iter().flatten() {
            unit.consts.iter().for_each(|value| census.visit(value));
        }
        self.heap.roots().for_each(|value| census.visit(value));
        self.pending.iter().for_each(|call| census.visit(&call.args));
        census.visit(&self.result);
        census.fiber(&self.fiber);
        self.fibers.iter().flatten().for_each(|fiber| census.fiber(fiber));
        census.run();
        let bytes = census.bytes
            + self.heap.names.bytes()
            + self.heap.globals.text_bytes()
            + self.heap.captures.iter().map(String::len).sum::<usize>();
        let seen = census.seen;
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
                let value = cell.state.try_borrow_mut().map(|mut state| std::mem::take(&mut state.value));
                drop(value);
            }
            reached
        });
        self.heap.live_bytes = bytes;
        self.heap.fresh_bytes = 0;
        // A census costs time in proportion to what is live, so the next one waits for as much again.
        let room = self.heap.limits.memory.saturating_sub(bytes);
        self.census_at = (room / 2).min(bytes.max(16 << 20)).max(1 << 16);
        self.heap.fuel_used += (bytes / 4096) as u64;
    }
}

impl Census {
    fn fiber(&mut self, fiber: &Fiber) {
        self.bytes += fiber.regs.capacity() * size_of::<Value>() + fiber.frames.capacity() * 24;
        fiber.regs.iter().for_each(|value| self.visit(value));
        for cont in &fiber.conts {
            match cont {
                Cont::Force(lazies, thunk) => {
                    self.visit(thunk);
                    lazies.iter().for_each(|lazy| self.visit(&Value::Lazy(lazy.clone())));
                }
                Cont::Realise(items) => self.items(items),
                Cont::RealiseDeep(stack) => stack.iter().for_each(|items| self.items(items)),
            }
        }
        match &fiber.state {
            State::Joining { results, .. } => results.iter().for_each(|value| self.visit(value)),
            State::Answered { answer: Ok(value), .. } => self.visit(value),
            _ => {}
        }
    }

    fn items(&mut self, items: &Items) {
        match items {
            Items::Slice(body, _) => self.visit(&Value::Vec(body.clone())),
            Items::Map(body, _) => self.visit(&Value::Map(body.clone())),
            Items::Set(body, _) => self.visit(&Value::Set(body.clone())),
            Items::Sorted(body, _) => self.visit(&Value::Sorted(body.clone())),
            Items::Chain(value) => self.visit(value),
            Items::Text(..) | Items::Range(_) | Items::Empty => {}
        }
    }

    /// Notes a value; shared bodies are visited once.
    fn visit(&mut self, value: &Value) {
        match value {
            Value::Str(crate::value::Text::Long(text)) => {
                if Rc::strong_count(text) == 1 || self.seen.insert(Rc::as_ptr(text) as usize) {
                    self.bytes += BODY + text.capacity();
                }
            }
            _ if value.is_scalar() => {}
            _ => self.pending.push(value.clone()),
        }
    }

    fn first(&mut self, at: usize) -> bool {
        self.seen.insert(at)
    }

    fn run(&mut self) {
        while let Some(value) = self.pending.pop() {
            self.body(&value);
        }
    }

    fn all<'v>(&mut self, values: impl IntoIterator<Item = &'v Value>) {
        values.into_iter().for_each(|value| self.visit(value));
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

    fn body(&mut self, value: &Value) {
        match value {
            Value::Vec(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + body.items.capacity() * size_of::<Value>();
                self.all(body.items.iter().chain(body.meta.as_deref()));
            }
            Value::Seq(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY;
                self.pending.push(Value::Vec(body.items.clone()));
                self.all(body.meta.as_deref());
            }
            Value::Cons(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + 2 * size_of::<Value>();
                self.all([&body.first, &body.rest].into_iter().chain(body.meta.as_deref()));
            }
            Value::Lazy(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY;
                if let LazyState::Thunk(value) | LazyState::Done(value) = &*body.state.borrow() {
                    self.visit(value);
                }
            }
            Value::Map(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + body.table.bytes();
                self.layout(body.table.layout());
                self.all(body.table.slots().iter().chain(body.meta.as_deref()));
            }
            Value::Set(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY;
                self.layout(body.table.layout());
                self.all(body.meta.as_deref());
            }
            Value::Sorted(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + body.entries.capacity() * 2 * size_of::<Value>();
                self.all(body.entries.iter().flat_map(|(key, value)| [key, value]));
                if let crate::value::Ordering::By(function) = &body.ordering {
                    self.visit(function);
                }
            }
            Value::Fn(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY;
                if self.first(Rc::as_ptr(&body.captures) as *const u8 as usize) {
                    self.bytes += body.captures.len() * size_of::<Value>();
                }
                self.all(body.captures.iter().chain(body.meta.as_deref()));
            }
            Value::Cell(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + 64;
                let state = body.state.borrow();
                self.all([&state.value, &state.validator, &state.watches]);
            }
            Value::Ex(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + body.error.message.len();
                self.all([&body.data, &body.cause]);
            }
            Value::Reduced(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY;
                self.visit(body);
            }
            Value::Big(body) => self.bytes += BODY + body.bits() as usize / 8,
            Value::Iter(items) => {
                let items = items.borrow().clone();
                self.items(&items);
            }
            Value::Regex(body) if self.first(Rc::as_ptr(body) as usize) => {
                self.bytes += BODY + 16 * body.source.len() + 1024;
            }
            Value::Range(_) | Value::Time(_) => self.bytes += BODY,
            _ => {}
        }
    }
}
