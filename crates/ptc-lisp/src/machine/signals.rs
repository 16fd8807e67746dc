//! What happens when an instruction has no value: errors, exceptions, lazy sequences, tools.

use std::rc::Rc;

use super::advice;
use super::fiber::{Cont, Fiber, Frame, Give, State};
use super::library::is_foreign;
use super::run::Go;
use super::{Machine, Pending, Stop};
use crate::builtins::exceptions::from_error;
use crate::builtins::{BuiltinId, registry};
use crate::code::{Op, Reg};
use crate::error::{Error, ErrorKind};
use crate::heap::not_seqable;
use crate::interchange::Unfit;
use crate::json::tree_bytes;
use crate::names::Name;
use crate::prelude::granted_as;
use crate::signal::{Signal, ToolRequest};
use crate::span::Span;
use crate::value::extent::extent;
use crate::value::{ExObj, Items, LazyObj, LazyState, MAX_DEPTH, Shared, Value};

impl Machine {
    /// Does what a signal asks for. `dst` is where a late result goes, `None` for a tail call; the
    /// frame's next instruction has been saved.
    #[expect(clippy::boxed_local, reason = "signals come boxed, so that results stay small")]
    pub(super) fn signal(&mut self, signal: Box<Signal>, dst: Option<Reg>) -> Go {
        match *signal {
            Signal::Raise(error) => self.raise(error),
            Signal::Throw(value) => self.throw(value),
            Signal::Return(value) => Go::stop(Stop::Return(value)),
            Signal::Fail(value) => Go::stop(Stop::Fail(value)),
            Signal::Force(lazy) => {
                self.again();
                self.force(lazy)
            }
            Signal::Realise(value) => {
                self.again();
                self.start_realise(&value)
            }
            Signal::RealiseDeep(value) => {
                self.again();
                self.fiber.conts.push(Cont::RealiseDeep(inside(&value).into_iter().collect()));
                self.resume_conts()
            }
            Signal::Reclaim(bytes) => {
                self.again();
                self.census();
                // Asked twice in a row, a census does not help.
                let again = std::mem::replace(&mut self.reclaimed, true);
                if again || bytes > self.heap.room() {
                    return self.raise(self.out_of_memory());
                }
                Go::Frame
            }
            Signal::Call(function, args) => self.late_call(function, args, dst),
            Signal::Tool(request) => self.suspend(request, dst),
            Signal::Parallel(thunks, kind) => self.fork(thunks, kind, dst),
        }
    }

    /// Makes the frame run its last instruction again.
    fn again(&mut self) {
        if let Some(frame) = self.fiber.frames.last_mut() {
            frame.pc -= 1;
        }
    }

    /// A call asked for by an instruction that is not a call (a lookup in a sorted collection).
    fn late_call(&mut self, function: Value, args: Vec<Value>, dst: Option<Reg>) -> Go {
        let top = self.fiber.top();
        let n = args.len();
        self.place(top, function, args);
        match self.invoke(top, n, dst) {
            Ok(go) => go,
            Err(signal) => {
                self.fiber.clear(top, top + n + 1);
                self.signal(signal, dst)
            }
        }
    }

    /// Raises an error: the innermost `try` gets it as an exception, if it may.
    pub(super) fn raise(&mut self, error: Error) -> Go {
        let error = self.located(error);
        if !error.kind.is_catchable() {
            return Go::stop(Stop::Failed(error));
        }
        self.heap.allocated(super::account::error_bytes(&error));
        self.unwind(from_error(error))
    }

    /// Throws an exception made by the program or given by the host.
    pub(super) fn throw(&mut self, value: Value) -> Go {
        match value {
            Value::Ex(ex) if ex.error.span.is_some() => self.unwind(ex),
            Value::Ex(ex) => {
                let error = self.located(ex.error.clone());
                self.unwind(Rc::new(ExObj { error, ..(*ex).clone() }))
            }
            other => {
                let message = format!("only exceptions can be thrown, got {}", other.type_name());
                self.raise(Error::new(ErrorKind::Type, message).hint("throw (ex-info \"message\" {:data …})"))
            }
        }
    }

    /// The error with the place in the program where it happened.
    pub(super) fn located(&self, mut error: Error) -> Error {
        if error.span.is_none()
            && let Some(frame) = self.fiber.frames.iter().rev().find(|frame| !is_foreign(frame.unit))
        {
            let unit = &self.unit(frame.unit).unit;
            let at = (frame.pc as usize).saturating_sub(1);
            error.span = unit.spans.get(at).copied();
            if error.kind == ErrorKind::Type && unit.ops.get(at).is_some_and(|op| op.is_arithmetic()) {
                let operator = operator(unit.text(error.span)).or_else(|| self.passed(unit.ops[at]));
                error.hint = error.hint.or_else(|| advice::for_operator(operator?, &error.message));
                error.function = error.function.or_else(|| operator.map(str::to_owned));
            }
        }
        match self.blamed() {
            Some(id) => self.named(error, id),
            None => match self.inlined() {
                Some(id) if error.function.is_none() => self.named(error, id),
                _ => error,
            },
        }
    }

    /// The operator that an instruction is of which stands for a function that was passed.
    fn passed(&self, op: Op) -> Option<&'static str> {
        let candidates: &[&str] = match op {
            Op::Add { .. } => &["+"],
            Op::Sub { .. } => &["-"],
            Op::Mul { .. } => &["*"],
            Op::AddInt { value: 1, .. } => &["inc", "+", "-"],
            Op::AddInt { value: -1, .. } => &["dec", "-", "+"],
            Op::AddInt { .. } => &["+", "-"],
            _ => &[],
        };
        candidates.iter().find(|name| self.is_named_here(name)).copied()
    }

    /// The function that an instruction stands for which only loops and other code have that stands in place of calls.
    fn inlined(&self) -> Option<BuiltinId> {
        let frame = self.fiber.frames.last().filter(|frame| !is_foreign(frame.unit))?;
        let op = self.unit(frame.unit).unit.ops.get((frame.pc as usize).checked_sub(1)?)?;
        let is_inlined = matches!(
            op,
            Op::TakeSlot { .. }
                | Op::Push { .. }
                | Op::Group { .. }
                | Op::GroupItem { .. }
                | Op::Tally { .. }
                | Op::Include { .. }
        );
        if is_inlined { self.called_here() } else { None }
    }

    /// The function that the program's text calls where it is.
    pub(super) fn called_here(&self) -> Option<BuiltinId> {
        let frame = self.fiber.frames.last().filter(|frame| !is_foreign(frame.unit))?;
        let unit = &self.unit(frame.unit).unit;
        let at = (frame.pc as usize).checked_sub(1)?;
        // What a local holds is the program's own.
        if matches!(unit.ops.get(at)?, Op::Call { .. } | Op::CallGlobal { .. }) {
            return None;
        }
        let text = unit.text(unit.spans.get(at).copied());
        let inside = text.trim_start_matches('#').strip_prefix('(')?.trim_start();
        let head = inside.split(|c: char| c.is_whitespace() || c == ')').next()?;
        let name = head.rsplit_once('/').map_or(head, |(_, name)| if name.is_empty() { head } else { name });
        let id = registry().unqualified(name)?;
        registry().get(id).part().map(|_| id)
    }

    /// Whether the program's text names a builtin where it is.
    pub(super) fn is_named_here(&self, local: &str) -> bool {
        let Some(frame) = self.fiber.frames.last() else { return false };
        let unit = &self.unit(frame.unit).unit;
        let span = (frame.pc as usize).checked_sub(1).and_then(|at| unit.spans.get(at)).copied();
        let is_part = |c: char| !c.is_whitespace() && !"()[]{}#'\"".contains(c);
        unit.text(span)
            .split(|c| !is_part(c))
            .any(|word| word.rsplit('/').next() == Some(local) || word == local)
    }

    /// Where the program that runs or waits is: the innermost form of its own text that it has begun.
    pub fn whereabouts(&self) -> Option<Span> {
        let place = |fiber: &Fiber| {
            // Functions of earlier programs have texts of their own.
            let is_own =
                |frame: &&Frame| !is_foreign(frame.unit) && self.unit(frame.unit).unit.source == self.source;
            let frame = fiber.frames.iter().rev().find(is_own)?;
            let at = (frame.pc as usize).saturating_sub(1);
            self.unit(frame.unit).unit.spans.get(at).copied()
        };
        let others = self.fibers.iter().flatten().map(|fiber| &**fiber);
        std::iter::once(&self.fiber).chain(others).find_map(place)
    }

    pub(super) fn unwind(&mut self, ex: Rc<ExObj>) -> Go {
        self.reclaimed = false;
        let Some(handler) = self.fiber.handlers.pop() else {
            return Go::stop(Stop::Thrown(ex));
        };
        let end = self.fiber.top();
        self.fiber.frames.truncate(handler.frames);
        self.fiber.clear(self.fiber.top(), end);
        while self.fiber.conts.len() > handler.conts {
            if let Some(cont) = self.fiber.conts.pop() {
                cont.undo();
            }
        }
        if let Some(frame) = self.fiber.frames.last_mut() {
            frame.pc = handler.to;
            let base = frame.base as usize;
            self.fiber.regs[base + usize::from(handler.dst)] = Value::Ex(ex);
        }
        Go::Frame
    }

    /// Begins to realise one lazy sequence.
    fn force(&mut self, lazy: Shared<LazyObj>) -> Go {
        let state = std::mem::take(&mut *lazy.state.borrow_mut());
        match state {
            LazyState::Thunk(thunk) => {
                self.fiber.conts.push(Cont::Force(vec![lazy], thunk.clone()));
                if self.fiber.conts.len() == self.fiber.conts.capacity()
                    && let Err(signal) = self.grow_conts()
                {
                    return self.signal(signal, None);
                }
                self.run_thunk(thunk)
            }
            LazyState::Done(value) => {
                *lazy.state.borrow_mut() = LazyState::Done(value);
                Go::Frame
            }
            LazyState::Running => self.raise(
                Error::new(ErrorKind::Runtime, "a lazy sequence needs itself to be realised")
                    .hint("its first element must not depend on the sequence"),
            ),
        }
    }

    /// Calls a function without arguments; the continuation on top gets the result.
    fn run_thunk(&mut self, thunk: Value) -> Go {
        let top = self.fiber.top();
        self.place(top, thunk, Vec::new());
        // The frame gives its result to the continuation, which `Into` could not say.
        match self.invoke(top, 0, Some(Reg::MAX)) {
            Ok(go) => {
                // Also when the slice of fuel ended just now: the frame is there.
                if let Some(frame) = self.fiber.frames.last_mut() {
                    frame.give = Give::CONTINUE;
                }
                go
            }
            Err(signal) => {
                self.fiber.clear(top, top + 1);
                self.signal(signal, None)
            }
        }
    }

    /// The function that a continuation waited for has returned.
    pub(super) fn continue_with(&mut self, value: Value) -> Go {
        match self.fiber.conts.pop() {
            Some(Cont::Force(mut lazies, thunk)) => {
                if let Value::Lazy(inner) = &value {
                    let realised = inner.realised();
                    match realised {
                        Some(value) => return self.settle(lazies, value),
                        None => {
                            // One lazy sequence gave another: both are what that one turns out to be.
                            let state = std::mem::take(&mut *inner.state.borrow_mut());
                            let LazyState::Thunk(next) = state else {
                                self.fiber.conts.push(Cont::Force(lazies, thunk));
                                return self.raise(Error::new(
                                    ErrorKind::Runtime,
                                    "a lazy sequence needs itself to be realised",
                                ));
                            };
                            lazies.push(inner.clone());
                            self.heap.allocated(size_of::<usize>() * 2);
                            self.fiber.conts.push(Cont::Force(lazies, next.clone()));
                            return self.run_thunk(next);
                        }
                    }
                }
                self.settle(lazies, value)
            }
            Some(other) => {
                self.fiber.conts.push(other);
                self.resume_conts()
            }
            None => Go::stop(Stop::Ended(value)),
        }
    }

    /// Gives lazy sequences their value.
    fn settle(&mut self, lazies: Vec<Shared<LazyObj>>, value: Value) -> Go {
        let mut seq = self.heap.seq(&value);
        if matches!(seq.as_ref().map_err(|signal| &**signal), Err(Signal::Reclaim(_))) {
            // The value must be where the census finds it.
            let top = self.fiber.top();
            self.place(top, value.clone(), Vec::new());
            self.census();
            self.fiber.clear(top, top + 1);
            seq = self.heap.seq(&value);
        }
        let seq = match seq {
            Ok(seq) => seq,
            Err(signal) => {
                for lazy in &lazies {
                    *lazy.state.borrow_mut() = LazyState::Done(Value::Nil);
                }
                return match *signal {
                    Signal::Raise(_) => {
                        self.raise(not_seqable(&value).hint("lazy-seq must give a sequence or nil"))
                    }
                    Signal::Reclaim(_) => self.raise(self.out_of_memory()),
                    other => self.signal(Box::new(other), None),
                };
            }
        };
        for lazy in &lazies {
            *lazy.state.borrow_mut() = LazyState::Done(seq.clone());
        }
        self.resume_conts()
    }

    fn start_realise(&mut self, value: &Value) -> Go {
        if let Some(items) = Items::over(value) {
            self.fiber.conts.push(Cont::Realise(items));
        }
        self.resume_conts()
    }

    /// Goes on with realising a whole sequence or value, if that is what waits; else with the frame. What is realised
    /// already is walked too, and may have no end: a slice can be over in between.
    pub(super) fn resume_conts(&mut self) -> Go {
        loop {
            match self.fiber.conts.last_mut() {
                Some(Cont::Realise(items)) => match items.next() {
                    Ok(Some(_)) => {
                        if let Some(go) = self.walked() {
                            return go;
                        }
                    }
                    Ok(None) => {
                        self.fiber.conts.pop();
                        return Go::Frame;
                    }
                    Err(lazy) => return self.force(lazy),
                },
                Some(Cont::RealiseDeep(stack)) => {
                    if stack.len() > usize::from(MAX_DEPTH) {
                        let message = format!("a value nests deeper than {MAX_DEPTH} levels");
                        return self.raise(Error::new(ErrorKind::NestingTooDeep, message));
                    }
                    let Some(items) = stack.last_mut() else {
                        self.fiber.conts.pop();
                        return Go::Frame;
                    };
                    match items.next() {
                        Ok(Some(item)) => {
                            if item.shape().lazy
                                && let Some(inner) = inside(&item)
                            {
                                stack.push(inner);
                            }
                            if let Some(go) = self.walked() {
                                return go;
                            }
                        }
                        Ok(None) => {
                            stack.pop();
                        }
                        Err(lazy) => return self.force(lazy),
                    }
                }
                _ => return Go::Frame,
            }
        }
    }

    /// Charges for an item that was walked over; says where to go if fuel or slice are used up.
    fn walked(&mut self) -> Option<Go> {
        match self.heap.work(1) {
            Err(signal) => Some(self.signal(signal, None)),
            Ok(()) => (self.heap.fuel_used >= self.stop_at).then(|| Go::stop(Stop::Yield)),
        }
    }

    /// Leaves the machine for a tool call.
    pub(super) fn suspend(&mut self, mut request: ToolRequest, dst: Option<Reg>) -> Go {
        if !request.discovery {
            match self.permit(request.tool) {
                Ok(tool) => request.tool = tool,
                Err(error) => return self.raise(error),
            }
        }
        let waits = self.pending.iter().filter(|call| !call.handed_out);
        let (waiting, trees) = waits.fold((0, 0), |(text, tree), call| (text + call.bytes, tree + call.tree));
        let what = "what the tools are given";
        let bytes = match request.bytes {
            Some(bytes) => self.charge_output(bytes, waiting, what),
            None => self.check_output(&request.args, waiting, what),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) => return self.raise(error),
        };
        let room = self.heap.room_for_json().tree.saturating_sub(trees);
        let Some(tree) = tree_bytes(&request.args, &self.heap.names, bytes, room) else {
            return self.raise(Unfit::TooLarge.error(what));
        };
        let discovery = request.discovery;
        *(if discovery { &mut self.discoveries } else { &mut self.tool_calls }) += 1;
        let id = self.tool_calls + self.discoveries;
        self.fiber.state = State::Waiting { call: id, give: dst };
        // Most programs wait for one call at a time.
        self.pending.reserve_exact(usize::from(self.pending.is_empty()));
        let (tool, args) = (request.tool, request.args);
        self.pending.push(Pending { id, tool, args, handed_out: false, bytes, tree, discovery });
        Go::Blocked
    }

    /// Whether the program may call a tool now, and by which name it is granted: preludes are compiled
    /// before anybody knows whether a name has hyphens or underscores.
    fn permit(&mut self, mut tool: Name) -> Result<Name, Error> {
        if self.allowed != Some(tool) {
            let name = self.heap.names.text(tool);
            let Some(granted) = granted_as(&self.tools, name) else {
                let message = format!("tool {name} is no longer granted");
                return Err(Error::new(ErrorKind::UnknownTool, message));
            };
            if !self.manifest.allows(granted) {
                let message = format!("tool {name} is not in the program's manifest");
                return Err(Error::new(ErrorKind::UnknownTool, message));
            }
            tool = self.heap.names.intern(granted);
            self.allowed = Some(tool);
        }
        if self.tool_calls >= self.heap.limits.tool_calls {
            let limit = self.heap.limits.tool_calls;
            let message = format!("the program made more than its {limit} tool calls");
            return Err(Error::new(ErrorKind::ToolCallLimit, message));
        }
        Ok(tool)
    }

    /// Measures what is about to leave the machine beside what waits already.
    pub(super) fn check_output(&mut self, value: &Value, waiting: usize, what: &str) -> Result<usize, Error> {
        let room = self.heap.limits.output_bytes.saturating_sub(waiting);
        let bytes = extent(value, &self.heap.names, room).map_err(|found| found.error(what))?;
        self.charge_output(bytes, waiting, what)
    }

    fn charge_output(&mut self, bytes: usize, waiting: usize, what: &str) -> Result<usize, Error> {
        let limit = self.heap.limits.output_bytes;
        self.heap.fuel_used += (bytes / 64) as u64;
        if bytes.saturating_add(waiting) <= limit {
            return Ok(bytes);
        }
        let message = format!("{what} would be more than {limit} bytes of text");
        Err(Error::new(ErrorKind::OutputExceeded, message)
            .hint("give less: a count, a summary, or the first few with take"))
    }

    /// Splits into fibers, one per function.
    fn fork(&mut self, thunks: Vec<Value>, kind: ErrorKind, dst: Option<Reg>) -> Go {
        let left = thunks.len();
        self.fiber.state = State::Joining { results: vec![Value::Nil; left], left, kind, give: dst };
        self.children = thunks;
        Go::Blocked
    }

    /// Gives a value that came late to where the call stands.
    pub(super) fn deliver(&mut self, value: Value, dst: Option<Reg>) -> Go {
        match self.finish(value, dst) {
            Ok(go) => go,
            Err(signal) => self.signal(signal, dst),
        }
    }
}

/// What is realised of a value: its items, or what an exception or a `reduced` holds.
fn inside(value: &Value) -> Option<Items> {
    let held = match value {
        Value::Ex(ex) => &ex.data,
        Value::Reduced(value) => &**value,
        _ => return Items::over(value),
    };
    Items::over(&Value::list(vec![held.clone()]))
}

/// The operator at the head of a call. Expansions have arithmetic too, but their text begins otherwise.
fn operator(text: &str) -> Option<&str> {
    const OPERATORS: &[&str] = &["+", "-", "*", "<", ">", "<=", ">=", "inc", "dec", "+'", "-'", "*'"];
    let inside = text.trim_start_matches('#').strip_prefix('(')?.trim_start();
    let head = inside.split(|c: char| c.is_whitespace() || c == ')').next()?;
    OPERATORS.contains(&head).then_some(head)
}
