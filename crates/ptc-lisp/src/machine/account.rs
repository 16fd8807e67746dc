//! What a machine owns outside of its values: each field is either counted by the census or bounded by something
//! else, and the reason stands beside it.
//!
//! Everything is taken apart without `..`, so that a new field does not build before that is decided.

use std::rc::Rc;

use super::census::{BODY, Census, room};
use super::fiber::{Cont, Fiber, Frame, Handler, State};
use super::memory::{Lasting, RollbackState};
use super::{Machine, Pending, Stop};
use crate::code::{Arity, Const, Func, Linked, Op, Unit};
use crate::error::Error;
use crate::globals::{Facts, Globals, Undo};
use crate::heap::Heap;
use crate::span::Span;
use crate::value::{CellObj, ExObj, Items, Shared, Value};

/// A list of things, their parts not counted.
fn list<T>(items: &[T]) -> usize {
    room(items.len()) * size_of::<T>()
}

/// Texts, each on its own.
fn texts<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    texts.into_iter().map(|text| room(text.len()) + BODY).sum()
}

/// The texts of an error.
pub(super) fn error_bytes(error: &Error) -> usize {
    let Error { kind: _, message, function, hint, span: _, notes, repaired } = error;
    let optional = [function, hint, repaired].into_iter().flatten().map(String::len).sum::<usize>();
    let notes = list(notes) + notes.iter().map(|(_, note)| note.len()).sum::<usize>();
    size_of::<Error>() + message.len() + optional + notes
}

/// The code of a program and its text. Constants repeat what stands in the text.
pub(super) fn unit_bytes(unit: &Unit) -> usize {
    let Unit { ops, spans, funcs, consts, globals, source } = unit;
    let funcs: usize = funcs
        .iter()
        .map(|Func { name, arities, captures: _, needs_self: _ }| {
            size_of::<Func>() + name.as_ref().map_or(0, String::len) + arities.len() * size_of::<Arity>()
        })
        .sum();
    size_of::<Unit>()
        + ops.len() * size_of::<Op>()
        + spans.len() * size_of::<Span>()
        + funcs
        + consts.len() * size_of::<Const>()
        + globals.iter().map(|name| size_of::<String>() + name.len()).sum::<usize>()
        + 2 * source.len()
}

impl Census {
    /// All that a machine owns.
    pub(super) fn machine(&mut self, machine: &Machine) {
        let Machine {
            heap,
            units,
            data,
            history,
            carried,
            fiber,
            fibers,
            ready,
            pending,
            children,
            result,
            late,
            lasting,
            given_bytes,
            // Shared by the machines of a thread; no program can add to it.
            library: _,
            // Granted by the host.
            tools: _,
            private: _,
            servers: _,
            required: _,
            allowed: _,
            // The text of a unit, or one that was refused and is no longer than texts may be.
            source: _,
            // Made from the text, and no larger than a few times its length.
            manifest: _,
            // Its unit is among the units.
            prepared: _,
            // So many of so few bytes: see `Machine::carry`.
            carried_uses: _,
            // Numbers and flags.
            current: _,
            tool_calls: _,
            discoveries: _,
            running: _,
            stop_at: _,
            census_at: _,
            reclaimed: _,
            large: _,
            #[cfg(debug_assertions)]
                loaded: _,
            // What debug builds tell machines apart by; takes no room otherwise.
            id: _,
            // Named by the host.
            owner: _,
        } = machine;
        self.heap(heap);
        self.bytes += given_bytes;
        self.bytes += list(units) + texts(carried) + ready.len() * size_of::<usize>();
        units.iter().flatten().for_each(|linked| self.linked(linked));
        self.all(history.iter().chain(children).chain([data, result]));
        self.fiber(fiber);
        self.bytes += list(fibers) + fibers.iter().flatten().count() * size_of::<Fiber>();
        fibers.iter().flatten().for_each(|fiber| self.fiber(fiber));
        pending.iter().for_each(|call| self.pending(call));
        if let Some(stop) = late {
            self.stop(stop);
        }
        self.lasting(lasting);
    }

    fn heap(&mut self, heap: &Heap) {
        let Heap {
            names,
            captures,
            journal,
            steps,
            budget,
            hierarchy,
            object_methods,
            globals,
            // No more than `Limits::print_bytes`.
            prints: _,
            partial_line: _,
            printed_bytes: _,
            // Shared by the machines of a thread, and as large as the host's prelude.
            attached: _,
            // A few layouts of a few keys.
            layouts: _,
            // A place each, which counts with the value.
            lazies: _,
            cells: _,
            // The host's own.
            interrupt: _,
            limits: _,
            // Numbers and flags.
            fuel_used: _,
            looks_up_at: _,
            fresh_bytes: _,
            live_bytes: _,
            now_ms: _,
            firewall: _,
            discovery: _,
            // Granted by the host.
            servers: _,
            random: _,
            gensym: _,
        } = heap;
        self.bytes += names.bytes() + texts(captures) + steps.room();
        self.globals(globals);
        self.all([&Value::Map(journal.clone()), budget, hierarchy, object_methods]);
    }

    fn globals(&mut self, globals: &Globals) {
        let Globals { values, facts, index, undo, undo_cells, bound, context: _ } = globals;
        self.bytes +=
            list(values) + list(facts) + room(index.len()) * 2 * size_of::<(u32, u32)>() + list(bound);
        self.all(values.iter().chain(bound.iter().map(|(_, value)| value)));
        facts.iter().for_each(|facts| self.facts(facts));
        self.undo(undo, undo_cells);
    }

    fn undo(&mut self, slots: &[(u32, Value, Facts)], cells: &[(Shared<CellObj>, Value)]) {
        self.bytes += list(slots);
        for (_, value, facts) in slots {
            self.visit(value);
            self.facts(facts);
        }
        self.saved_cells(cells);
    }

    fn facts(&mut self, facts: &Facts) {
        let Facts { name: _, origin, meta, watches, changed: _ } = facts;
        self.bytes += origin.as_ref().map_or(0, |origin| origin.text().len());
        self.meta(meta);
        self.visit(watches);
    }

    fn lasting(&mut self, lasting: &Lasting) {
        let Lasting {
            overlay,
            changed,
            before,
            history_bytes: _,
            history_cut: _,
            takes_back: _,
            overlays: _,
            strict_inputs: _,
        } = lasting;
        self.bytes += texts(changed);
        self.visit(overlay);
        if let Some(before) = before {
            let RollbackState { undo: Undo { slots, cells }, history, history_cut: _, overlay } = &**before;
            self.undo(slots, cells);
            self.all(history.iter().chain([overlay]));
        }
    }

    fn linked(&mut self, linked: &Rc<Linked>) {
        let Linked { unit, id: _, consts, globals } = &**linked;
        self.bytes += unit_bytes(unit) + list(consts) + list(globals);
        self.all(consts);
    }

    fn pending(&mut self, call: &Pending) {
        let Pending { id: _, tool: _, args, handed_out: _, bytes: _, tree: _, discovery: _ } = call;
        self.bytes += size_of::<Pending>();
        self.visit(args);
    }

    fn stop(&mut self, stop: &Stop) {
        match stop {
            Stop::Ended(value) | Stop::Return(value) | Stop::Fail(value) => self.visit(value),
            Stop::Thrown(ex) => self.visit(&Value::Ex(ex.clone())),
            Stop::Failed(error) => self.bytes += error_bytes(error),
            Stop::Blocked | Stop::Yield => {}
        }
    }

    fn fiber(&mut self, fiber: &Fiber) {
        // Room that fibers have is kept by dumps; see `Fiber::rooms`.
        let [regs_room, frames_room, handlers_room, conts_room] = fiber.rooms();
        let Fiber { regs, frames: _, handlers: _, conts, bindings, state, parent: _ } = fiber;
        self.bytes += regs_room * size_of::<Value>()
            + frames_room * size_of::<Frame>()
            + handlers_room * size_of::<Handler>()
            + conts_room * size_of::<Cont>()
            + list(bindings);
        for value in regs {
            self.visit(value);
            // A deep stack holds many values; they need not all wait at once.
            if self.is_crowded() {
                self.run();
            }
        }
        self.all(bindings.iter().map(|(_, value)| value));
        conts.iter().for_each(|cont| self.cont(cont));
        match state {
            State::Joining { results, left: _, kind: _, give: _ } => {
                self.bytes += list(results);
                self.all(results);
            }
            State::Answered { answer: Ok(value), give: _ } => self.visit(value),
            State::Answered { answer: Err(ex), give: _ } => self.visit(&Value::Ex(ex.clone())),
            State::Ready | State::Waiting { call: _, give: _ } | State::Over => {}
        }
    }

    fn cont(&mut self, cont: &Cont) {
        match cont {
            Cont::Force(lazies, thunk) => {
                self.bytes += list(lazies);
                self.visit(thunk);
                lazies.iter().for_each(|lazy| self.visit(&Value::Lazy(lazy.clone())));
            }
            Cont::Realise(items) => self.items(items),
            Cont::RealiseDeep(stack) => {
                self.bytes += list(stack);
                stack.iter().for_each(|items| self.items(items));
            }
        }
    }

    /// What a walk over a sequence holds.
    pub(super) fn items(&mut self, items: &Items) {
        match items {
            Items::Slice(body, _) | Items::Part(body, ..) => self.visit(&Value::Vec(body.clone())),
            Items::Map(body, _) => self.visit(&Value::Map(body.clone())),
            Items::Set(body, _) => self.visit(&Value::Set(body.clone())),
            Items::Sorted(body, _) => self.visit(&Value::Sorted(body.clone())),
            Items::Chain(value) => self.visit(value),
            Items::Text(..) | Items::Range(_) | Items::Empty => {}
        }
    }

    /// An exception.
    pub(super) fn exception(&mut self, body: &ExObj) {
        let ExObj { error, data, cause, class: _, shape: _, stamp: _ } = body;
        self.bytes += BODY + size_of::<ExObj>() + error_bytes(error);
        self.all([data, cause]);
    }
}
