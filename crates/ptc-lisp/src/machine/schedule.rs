//! Which fiber runs next. The order depends on nothing but the program and the order of answers, so a
//! run can be repeated exactly.
//!
//! `pmap` and `pcalls` fork fibers. One fiber runs at a time; the tool calls of all fibers that wait are handed to the host
//! together. A fiber that fails makes its parent fail.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::answer::Answer;
use super::asked::{Asked, Pause};
use super::census::bytes_of;
use super::fiber::{Fiber, State};
use super::run::Go;
use super::{Call, Machine, ProgramEnd, Step, Stop};
use crate::builtins::exceptions::from_error;
use crate::code::Reg;
use crate::decimal::context;
use crate::error::{Error, ErrorKind};
use crate::heap::METERED;
use crate::signal::Signal;
use crate::value::{ExObj, Shared, Value, ledger};

/// The most fuel of a slice: the loop keeps what is left as a place in its code.
const LONGEST_SLICE: u64 = 1 << 40;

impl Machine {
    /// Runs the loaded program for about `slice` units of fuel.
    pub fn run(&mut self, slice: u64) -> Step {
        match self.run_native(slice) {
            Pause::Calls => {
                let mut calls = Vec::new();
                while let Some((call, bytes)) = self.asked().map(|asked| asked.call_counted()) {
                    self.count_given(bytes);
                    calls.push(call);
                }
                Step::Calls(calls)
            }
            Pause::Done(signal) => Step::Done(signal),
            Pause::Failed(error) => Step::Failed(error),
            Pause::Yield => Step::Yield,
        }
    }

    /// Counts arguments that the host was given and keeps: logs, traces and recordings have them until the program
    /// ends. A host that goes on with a dump says what it still has of the calls before.
    pub fn count_given(&mut self, bytes: usize) {
        self.given_bytes = self.given_bytes.saturating_add(bytes);
        self.heap.allocated(bytes);
        if self.heap.fresh_bytes >= self.census_at {
            self.census();
        }
    }

    /// Like [`Machine::run`], for hosts that answer without JSON: the calls stay in the machine, where
    /// [`Machine::asked`] shows them.
    pub fn run_native(&mut self, slice: u64) -> Pause {
        if !self.running {
            return Pause::Failed(Error::new(ErrorKind::Runtime, "no program is running"));
        }
        let limit = self.heap.limits.fuel;
        self.stop_at = self.heap.fuel_used.saturating_add(slice.min(LONGEST_SLICE)).min(limit);
        let _making = self.id.makes();
        self.heap.look_up_later();
        ledger::open(self.heap.fuel_left(), &self.heap.interrupt);
        context::set(None);
        self.heap.globals.show_context();
        let step = self.advance();
        let keys = ledger::take();
        if keys > 0 {
            self.charge_keys(keys, limit);
        }
        ledger::close(&self.heap.interrupt);
        context::set(None);
        step
    }

    /// Charges work with keys that nobody has charged yet. A walk that was interrupted says more than there is fuel for.
    #[cold]
    fn charge_keys(&mut self, keys: u64, limit: u64) {
        let used = self.heap.fuel_used.saturating_add(keys);
        self.heap.fuel_used = if self.running { used } else { used.min(limit) };
    }

    /// Runs fibers until the host must act.
    fn advance(&mut self) -> Pause {
        loop {
            if self.late.is_none() && !matches!(self.fiber.state, State::Ready) && !self.switch() {
                return Pause::Calls;
            }
            let stop = match self.late.take() {
                Some(stop) => *stop,
                None => self.execute(),
            };
            if let Some(step) = self.stopped(stop) {
                return step;
            }
        }
    }

    /// Lets the next fiber that can run take its turn.
    fn switch(&mut self) -> bool {
        let Some(next) = self.ready.pop_front() else { return false };
        if next != self.current
            && let Some(mut fiber) = self.fibers[next].take()
        {
            // Its place on the heap goes to the one that ran.
            std::mem::swap(&mut self.fiber, &mut *fiber);
            fiber.bindings = self.heap.globals.park();
            self.fibers[self.current] = Some(fiber);
            self.current = next;
            self.heap.globals.unpark(std::mem::take(&mut self.fiber.bindings));
        }
        if matches!(self.fiber.state, State::Answered { .. }) {
            self.take_answer();
        }
        true
    }

    /// Gives the current fiber the answer that it waited for.
    fn take_answer(&mut self) {
        let state = std::mem::replace(&mut self.fiber.state, State::Ready);
        let State::Answered { answer, give } = state else { return };
        let go = match answer {
            Ok(value) => self.deliver(value, give),
            Err(ex) if ex.data.is_nil() => self.raise(ex.error.clone()),
            Err(ex) => self.throw(Value::Ex(ex)),
        };
        self.later(go);
    }

    /// Keeps what came up outside of the instruction loop for the next turn.
    fn later(&mut self, go: Go) {
        match go {
            Go::On | Go::Frame => {}
            Go::Blocked => self.late = Some(Box::new(Stop::Blocked)),
            Go::Stop(stop) => self.late = Some(stop),
        }
    }

    /// The next call that has not been handed out.
    pub fn asked(&mut self) -> Option<Asked<'_>> {
        let call = self.pending.iter_mut().find(|call| !call.handed_out)?;
        call.handed_out = true;
        Some(call.shown(&self.heap))
    }

    /// All calls that wait for an answer, handed out or not: what a host that loads a dump must answer.
    pub fn outstanding(&self) -> Vec<Call> {
        self.pending.iter().map(|call| call.shown(&self.heap).call()).collect()
    }

    /// What follows when a fiber stops; a pause if the host must act.
    fn stopped(&mut self, stop: Stop) -> Option<Pause> {
        match stop {
            Stop::Yield => Some(Pause::Yield),
            Stop::Blocked => self.spawn_children(),
            Stop::Failed(error) => Some(self.fail(error)),
            Stop::Ended(value) if self.fiber.parent.is_none() => Some(self.done(value, ProgramEnd::Value)),
            Stop::Ended(value) => {
                self.child_ended(value);
                None
            }
            Stop::Return(value) if self.fiber.parent.is_none() => Some(self.done(value, ProgramEnd::Return)),
            Stop::Fail(value) if self.fiber.parent.is_none() => Some(self.done(value, ProgramEnd::Fail)),
            Stop::Return(_) => self.child_failed(&from_error(left_branch("return"))),
            Stop::Fail(_) => self.child_failed(&from_error(left_branch("fail"))),
            Stop::Thrown(ex) if self.fiber.parent.is_none() => Some(self.fail(ex.error.clone())),
            Stop::Thrown(ex) => self.child_failed(&ex),
        }
    }

    fn done(&mut self, value: Value, signal: ProgramEnd) -> Pause {
        // What leaves the machine is realised throughout; lazy sequences are made to run first.
        if let Err(request) = self.heap.realised(&value) {
            return match *request {
                Signal::Raise(error) => self.fail(error),
                _ => self.realise_result(value, signal),
            };
        }
        if let Err(error) = self.check_output(&value, 0, "the result").and_then(|_| self.charge_rest()) {
            return self.fail(error);
        }
        #[cfg(debug_assertions)]
        super::census::meet_all(&value);
        self.result = value.clone();
        let keep = signal != ProgramEnd::Fail;
        self.end(keep);
        if keep && signal == ProgramEnd::Value {
            self.remember(value);
        }
        Pause::Done(signal)
    }

    /// Charges what is noted and not charged yet. Code that goes straight on meets no other look at the meter, so a program
    /// that used more than its fuel there ends here.
    fn charge_rest(&mut self) -> Result<(), Error> {
        let keys = ledger::take();
        self.heap.fuel_used = self.heap.fuel_used.saturating_add(keys);
        if METERED && self.heap.fuel_used > self.heap.limits.fuel {
            self.heap.look_up().map_err(|signal| match *signal {
                Signal::Raise(error) => error,
                _ => self.heap.fuel_exceeded(),
            })?;
        }
        Ok(())
    }

    /// Runs what is left of lazy sequences in a result, then ends again.
    fn realise_result(&mut self, value: Value, signal: ProgramEnd) -> Pause {
        // All of it in one call, which goes on until nothing is left: each end costs a unit.
        let ends_with = match signal {
            ProgramEnd::Value => None,
            ProgramEnd::Return => Some("prim/return"),
            ProgramEnd::Fail => Some("prim/fail"),
        };
        // What the first call gives is the argument of the second.
        let calls = std::iter::once("prim/realised").chain(ends_with).zip([1, 0]).map(|(name, f)| {
            let id = crate::builtins::registry().qualified(name)?;
            Some(crate::code::Op::CallBuiltin { dst: f, f, n: 1, id })
        });
        let Some(mut ops) = calls.collect::<Option<Vec<_>>>() else {
            return self.fail(Error::new(ErrorKind::Runtime, "the result cannot be realised"));
        };
        ops.push(crate::code::Op::Return { src: 1, residue: crate::code::Residue::ALL });
        self.fiber = Fiber::new();
        let unit = std::sync::Arc::new(crate::code::Unit {
            spans: vec![crate::span::Span::default(); ops.len()],
            ops,
            funcs: vec![crate::code::Func {
                arities: vec![crate::code::Arity { params: 0, variadic: false, registers: 4, entry: 0 }],
                ..crate::code::Func::default()
            }],
            ..crate::code::Unit::default()
        });
        let linked = match self.link(unit) {
            Ok(linked) => linked,
            Err(error) => return self.fail(error),
        };
        self.fiber.regs = vec![Value::Nil, Value::Nil, Value::Nil, value, Value::Nil];
        self.fiber.frames.push(super::fiber::Frame {
            unit: linked.id,
            pc: 0,
            base: 1,
            registers: 4,
            give: super::fiber::Give::into(0),
        });
        Pause::Yield
    }

    fn fail(&mut self, error: Error) -> Pause {
        // How far a native went beyond the end of the fuel depends on where slices ended.
        let limit = self.heap.limits.fuel;
        let over = error.kind == ErrorKind::FuelExceeded || self.heap.fuel_used > limit;
        if over {
            self.heap.fuel_used = limit;
        }
        let error = if error.kind == ErrorKind::MemoryExceeded { self.blame_inputs(error) } else { error };
        self.end(false);
        Pause::Failed(error)
    }

    /// Says so if inputs hold most of the memory: then no other program would help much.
    fn blame_inputs(&self, mut error: Error) -> Error {
        let (bytes, limit) = (bytes_of(&self.data), self.heap.limits.memory);
        if bytes > limit / 2 {
            let advice = error.hint.take().map_or_else(String::new, |hint| format!("; or {hint}"));
            error.hint =
                Some(format!("its inputs hold {bytes} of them: give smaller inputs or more memory{advice}"));
        }
        error
    }

    /// Makes a fiber for each function that a fork asked for.
    fn spawn_children(&mut self) -> Option<Pause> {
        if !matches!(self.fiber.state, State::Joining { .. }) {
            self.children.clear();
            return None;
        }
        if self.children.is_empty() {
            self.join();
            return None;
        }
        let parent = self.current;
        // To enter a function may be the time for a census, which counts what it finds in the machine. So the parent
        // waits in its place, and the functions where they are.
        self.fibers[parent] = Some(Box::new(std::mem::replace(&mut self.fiber, Fiber::new())));
        let begun = self.begin_children(parent);
        self.children.clear();
        if let Some(fiber) = self.fibers[parent].take() {
            self.fiber = *fiber;
        }
        match begun {
            Ok(()) => None,
            // A limit ends the program; it is no error of the branch.
            Err((_, error)) if !error.kind.is_catchable() => Some(self.fail(error)),
            Err((place, error)) => self.raise_in_parent(place, &from_error(error)),
        }
    }

    /// Lets each function begin in a fiber of its own; the error says which one could not.
    fn begin_children(&mut self, parent: usize) -> Result<(), (usize, Error)> {
        // Finding free places takes one look at all of them.
        self.heap.fuel_used += (self.children.len() + self.fibers.len() / 16) as u64;
        let mut places = 0..;
        let inherited = self.heap.globals.park();
        self.heap.globals.unpark(inherited.clone());
        for place in 0..self.children.len() {
            self.fiber.parent = Some((parent, place));
            self.fiber.bindings.clone_from(&inherited);
            let is_free = |&at: &usize| self.fibers.get(at).is_none_or(Option::is_none);
            let id = places.find(is_free).unwrap_or(self.fibers.len());
            self.heap.allocated(256 + size_of_val(inherited.as_slice()));
            self.enter_thunk(self.children[place].clone()).map_err(|error| (place, error))?;
            let child = Some(Box::new(std::mem::replace(&mut self.fiber, Fiber::new())));
            match self.fibers.get_mut(id) {
                Some(place) => *place = child,
                None => self.fibers.push(child),
            }
            self.ready.push_back(id);
        }
        Ok(())
    }

    /// Makes the current (new) fiber begin with a call of `thunk`.
    fn enter_thunk(&mut self, thunk: Value) -> Result<(), Error> {
        self.place(0, thunk, Vec::new());
        match self.invoke(0, 0, Some(0)) {
            Ok(Go::Frame) => Ok(()),
            Ok(Go::Stop(stop)) if matches!(*stop, Stop::Yield) => Ok(()),
            Ok(_) => Err(Error::new(ErrorKind::NotCallable, "a parallel branch must be a function")),
            Err(signal) => match *signal {
                Signal::Raise(error) => Err(error),
                _ => Err(Error::new(ErrorKind::Runtime, "a parallel branch could not begin")),
            },
        }
    }

    fn child_ended(&mut self, value: Value) {
        let Some((parent, place)) = self.fiber.parent else { return };
        self.fiber.state = State::Over;
        self.become_fiber(parent);
        if let State::Joining { results, left, .. } = &mut self.fiber.state {
            results[place] = value;
            *left -= 1;
            if *left == 0 {
                self.join();
            }
        }
    }

    /// The parent of the current fiber gets the exception; its other children are given up.
    fn child_failed(&mut self, ex: &ExObj) -> Option<Pause> {
        let (parent, place) = self.fiber.parent?;
        self.fiber.state = State::Over;
        self.become_fiber(parent);
        self.raise_in_parent(place, ex)
    }

    /// Raises what a branch threw, with its class, message and data, and says which branch it was.
    fn raise_in_parent(&mut self, place: usize, ex: &ExObj) -> Option<Pause> {
        self.drop_children_of(self.current);
        let kind = match &self.fiber.state {
            State::Joining { kind, .. } => *kind,
            _ => ErrorKind::Runtime,
        };
        self.fiber.state = State::Ready;
        let error = self.located(of_branch(kind, place, &ex.error));
        self.heap.allocated(super::account::error_bytes(&error));
        match self.unwind(Rc::new(ExObj { error, ..ex.clone() })) {
            Go::Stop(stop) => self.stopped(*stop),
            Go::On | Go::Frame | Go::Blocked => None,
        }
    }

    /// Gives up the children of a fiber, and theirs.
    fn drop_children_of(&mut self, parent: usize) {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.fibers.len()];
        for (at, fiber) in self.fibers.iter().enumerate() {
            if let Some((of, _)) = fiber.as_ref().and_then(|fiber| fiber.parent) {
                children[of].push(at);
            }
        }
        let (mut parents, mut calls) = (vec![parent], BTreeSet::new());
        while let Some(parent) = parents.pop() {
            for at in std::mem::take(&mut children[parent]) {
                if let Some(State::Waiting { call, .. }) = self.fibers[at].take().map(|child| child.state) {
                    calls.insert(call);
                }
                parents.push(at);
            }
        }
        self.pending.retain(|pending| !calls.contains(&pending.id));
        let fibers = &self.fibers;
        self.ready.retain(|&ready| ready == self.current || fibers[ready].is_some());
    }

    /// Makes another fiber the current one; the current one is over.
    fn become_fiber(&mut self, id: usize) {
        if let Some(fiber) = self.fibers[id].take() {
            // What the fiber that is over left in front goes with it.
            drop(self.heap.globals.park());
            self.fiber = *fiber;
            self.current = id;
            self.heap.globals.unpark(std::mem::take(&mut self.fiber.bindings));
        }
    }

    /// All children are done: the parent goes on with their results.
    fn join(&mut self) {
        let state = std::mem::replace(&mut self.fiber.state, State::Ready);
        let State::Joining { results, give, .. } = state else { return };
        self.deliver_to_current(Value::vector(results), give);
    }

    fn deliver_to_current(&mut self, value: Value, give: Option<Reg>) {
        let go = self.deliver(value, give);
        self.later(go);
    }

    /// Answers a tool call. An error becomes an exception at the place of the call.
    pub fn resume(&mut self, id: u64, answer: Result<serde_json::Value, Error>) -> Result<(), Error> {
        self.answer(id, answer.map_or_else(Answer::Raise, Answer::Value))
    }

    /// Lets the fiber that waits for call `id` go on with a value or an exception. Fibers go on in the
    /// order of their answers.
    pub(super) fn resume_with(&mut self, id: u64, answer: Result<Value, Shared<ExObj>>) -> Result<(), Error> {
        let waits = |fiber: &Fiber| matches!(fiber.state, State::Waiting { call, .. } if call == id);
        let (at, fiber) = if waits(&self.fiber) {
            (self.current, &mut self.fiber)
        } else {
            let mut others = self.fibers.iter_mut().enumerate();
            others
                .find_map(|(at, fiber)| {
                    fiber.as_deref_mut().filter(|fiber| waits(fiber)).map(|fiber| (at, fiber))
                })
                .ok_or_else(|| Error::new(ErrorKind::Runtime, format!("no call {id} is waiting")))?
        };
        if let State::Waiting { give, .. } = fiber.state {
            fiber.state = State::Answered { answer, give };
            self.pending.retain(|pending| pending.id != id);
            self.ready.push_back(at);
        }
        Ok(())
    }
}

/// The error of a branch that wanted to end the program.
fn left_branch(by: &str) -> Error {
    Error::new(ErrorKind::Runtime, format!("{by} called inside a parallel branch"))
        .hint(format!("let the function give its value, and call {by} with the results"))
}

/// The error of the whole for the error of a branch: the name of the branch stands before it, once.
fn of_branch(kind: ErrorKind, place: usize, inner: &Error) -> Error {
    let name = if kind == ErrorKind::Pmap { "pmap" } else { "pcalls" };
    let branch = format!("{name}: item {place}");
    let (function, message) = match (&inner.function, inner.kind) {
        (Some(deeper), ErrorKind::Pmap | ErrorKind::Pcalls) => {
            (format!("{branch}: {deeper}"), inner.message.clone())
        }
        (Some(_), _) => (branch, inner.text()),
        (None, _) => (branch, inner.message.clone()),
    };
    let hint = match (&inner.hint, inner.kind) {
        (Some(hint), ErrorKind::Pmap | ErrorKind::Pcalls) => hint.clone(),
        // What the data says and what we say must not become one text.
        (Some(data), _) if inner.tells_data() => data.clone(),
        (Some(hint), _) => format!("{hint}; or catch it inside the function: (try … (catch Exception e …))"),
        (None, _) => "to keep the results of the other items, catch it inside the function: \
                      (try … (catch Exception e …)); items count from 0"
            .to_owned(),
    };
    let hint = Some(hint);
    Error { kind, message, function: Some(function), hint, ..inner.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    /// Runs a program in slices, on a machine that is dumped and loaded after each if asked to be.
    fn in_slices(source: &str, slice: u64, dumped: bool) -> (Step, Machine, u64) {
        let limits = Limits { fuel: 100_000, ..Limits::default() };
        let mut machine = Machine::new(limits.clone());
        machine.load(source).expect("it compiles");
        for slices in 1.. {
            let step = machine.run(slice);
            if !matches!(step, Step::Yield) {
                return (step, machine, slices);
            }
            if dumped {
                machine = Machine::load_dump(&machine.dump().expect("a dump"), &limits).expect("it loads");
            }
        }
        unreachable!("there is always a next slice")
    }

    #[test]
    fn a_slice_ends_while_a_sequence_is_walked_that_goes_on_with_itself() {
        for source in [
            "(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))))",
            "(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) (vec @a))",
            "(let [a (atom nil)] (reset! a (lazy-seq (cons 1 @a))) {:a [@a]})",
        ] {
            let (step, _, slices) = in_slices(source, 1_000, false);
            assert!(
                matches!(&step, Step::Failed(error) if error.kind == ErrorKind::FuelExceeded),
                "{step:?}"
            );
            assert!(slices >= 90, "{source}: {slices}");
        }
    }

    #[test]
    fn slices_and_dumps_in_the_middle_of_a_walk_change_neither_value_nor_fuel() {
        let source =
            "(let [s (map inc (range 3000))] [(count s) (reduce + (vec s)) (doall s) {:s (map list s)}])";
        let (_, whole, _) = in_slices(source, u64::MAX, false);
        for dumped in [false, true] {
            let (step, machine, slices) = in_slices(source, 500, dumped);
            assert!(matches!(step, Step::Done(_)) && slices > 10, "{step:?} {slices}");
            assert_eq!(machine.fuel_used(), whole.fuel_used());
            assert_eq!(machine.value(), whole.value());
        }
    }
}
