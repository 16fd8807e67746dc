//! Calls: everything that can stand at the head of a list.

use std::rc::Rc;

use super::Machine;
use super::advice;
use super::fiber::Frame;
use super::library::is_core;
use super::run::{Done, Go};
use super::tools::request;
use crate::analyze::operator_first;
use crate::builtins::lookup::get_or;
use crate::builtins::vars;
use crate::builtins::{BuiltinId, NativeFn, Run, instead_of_calling, registry};
use crate::code::{Const, Func, Linked, Op, Reg};
use crate::error::{Error, ErrorKind};
use crate::names::Name;
use crate::signal::{Res, Signal};
use crate::value::{CellKind, MAX_DEPTH, Value, ledger, stamp};

impl Machine {
    /// Calls the function in register `f` (counted from the bottom) with the `n` arguments after it.
    /// Without `dst` the running function is replaced.
    pub(super) fn invoke(&mut self, f: usize, n: usize, dst: Option<Reg>) -> Result<Go, Box<Signal>> {
        match &self.fiber.regs[f] {
            Value::Fn(body) => {
                let unit = Rc::clone(&body.unit);
                let func = body.func;
                self.enter(&unit, func, f, n, dst)
            }
            Value::Builtin(id) => {
                let id = *id;
                self.call_builtin(id, f, n, dst)
            }
            Value::Tool(tool) => {
                let tool = *tool;
                let request = request(&mut self.heap, tool, &mut self.fiber.regs[f + 1..f + 1 + n])?;
                self.fiber.clear(f, f + n + 1);
                Err(Box::new(Signal::Tool(request)))
            }
            Value::Var(name) => {
                self.fiber.regs[f] = vars::callee(&self.heap, *name)?;
                self.invoke(f, n, dst)
            }
            _ => {
                let value = self.call_data(f, n).map_err(|signal| self.leave(signal, f, n))?;
                self.heap.work(usize::try_from(ledger::take()).unwrap_or(usize::MAX))?;
                self.fiber.clear(f, f + n + 1);
                self.finish(value, dst)
            }
        }
    }

    /// Calls a tool for the running function: what [`Machine::invoke`] does by a signal, without one.
    pub(super) fn call_tool(&mut self, tool: Name, f: usize, n: usize, dst: Option<Reg>) -> Done {
        let request = request(&mut self.heap, tool, &mut self.fiber.regs[f + 1..f + 1 + n])?;
        self.fiber.clear(f, f + n + 1);
        Ok(self.suspend(request, dst))
    }

    /// Keywords, symbols, maps, sets and vectors look themselves up.
    fn call_data(&mut self, f: usize, n: usize) -> Res {
        let (function, args) = self.fiber.regs[f..=f + n].split_first().expect("the function is there");
        let wrong = |what: &str| {
            let message = format!("{what} takes 1 or 2 arguments as a function, got {n}");
            Err(Error::new(ErrorKind::Arity, message).into())
        };
        let default = args.get(1).cloned().unwrap_or_default();
        match function {
            Value::Kw(_) | Value::Sym(_) => match args {
                [map] | [map, _] => {
                    let (map, key) = (map.clone(), function.clone());
                    get_or(&mut self.heap, &map, &key, &default)
                }
                _ => wrong("a keyword"),
            },
            Value::Map(_) | Value::Set(_) | Value::Sorted(_) => match args {
                [key] | [key, _] => {
                    let (map, key) = (function.clone(), key.clone());
                    get_or(&mut self.heap, &map, &key, &default)
                }
                _ => wrong(&format!("a {}", function.type_name())),
            },
            Value::Vec(body) => match args {
                [index @ (Value::Int(_) | Value::Big(_))] => {
                    let index = index.as_i64().unwrap_or(-1);
                    let item = usize::try_from(index).ok().and_then(|index| body.items.get(index));
                    item.cloned().ok_or_else(|| {
                        let message = format!("index {index} is outside of a vector of {}", body.items.len());
                        Error::new(ErrorKind::IndexOutOfBounds, message).into()
                    })
                }
                [_] => Err(Error::new(ErrorKind::Type, "a vector as a function takes an index").into()),
                _ => wrong("a vector"),
            },
            Value::Cell(cell) if cell.kind == CellKind::Transient => match args {
                [key] | [key, _] => {
                    let (coll, key) = (function.clone(), key.clone());
                    get_or(&mut self.heap, &coll, &key, &default)
                }
                _ => wrong("a transient"),
            },
            Value::Cell(cell) if cell.kind == CellKind::Promise && n == 1 => {
                let mut state = cell.state.borrow_mut();
                if !state.ready {
                    state.value = args[0].clone();
                    state.ready = true;
                }
                drop(state);
                Ok(function.clone())
            }
            _ => Err(not_callable(function, args, &self.heap).into()),
        }
    }

    /// Calls a builtin with the `n` arguments after register `f`.
    pub(super) fn call_builtin(
        &mut self,
        id: BuiltinId,
        f: usize,
        n: usize,
        dst: Option<Reg>,
    ) -> Result<Go, Box<Signal>> {
        let entry = registry().get(id);
        match entry.run {
            Run::Native(native) => {
                if !entry.arity().accepts(n) {
                    let error = Error::wrong_arity(&entry.call_name(), &entry.arity().describe(), n);
                    return Err(Error { hint: advice::for_arity(entry, n), ..error }.into());
                }
                match self.call_native(native, f, n)? {
                    Ok(value) => self.native_answer(value, f, n, dst),
                    Err(signal) => self.native_signal(*signal, id, f, n, dst),
                }
            }
            Run::Core(place) => {
                self.fiber.regs[f] = Value::Builtin(id);
                let unit = Rc::clone(self.library.function(place));
                self.enter(&unit, 0, f, n, dst)
            }
            Run::Const(value) => {
                let value = value(&mut self.heap);
                // `(Math/PI)` is the constant; with arguments it is called like any other value.
                if n == 0 {
                    return self.finish(value, dst);
                }
                stamp::meet(&value);
                self.fiber.regs[f] = value;
                self.invoke(f, n, dst)
            }
        }
    }

    /// What a native says to the `n` arguments after register `f`, and fuel for the keys it looked at.
    #[inline]
    fn call_native(&mut self, native: NativeFn, f: usize, n: usize) -> Res<Res> {
        let answer = native(&mut self.heap, &mut self.fiber.regs[f + 1..f + 1 + n]);
        let keys = ledger::take();
        if keys > 0 {
            self.heap.spend(keys)?;
        }
        Ok(answer)
    }

    /// A native that did answer with a value.
    #[inline]
    pub(super) fn native_answer(&mut self, value: Value, f: usize, n: usize, dst: Option<Reg>) -> Done {
        self.reclaimed = false;
        // Dates are made in many places; here and in the loop all of them pass.
        if matches!(value, Value::Time(_)) {
            self.heap.allocated(size_of::<crate::value::Time>() + 16);
        }
        // An argument left behind would be a second owner of what it holds.
        self.fiber.clear(f, f + n + 1);
        self.finish(value, dst)
    }

    /// A native that did not answer with a value.
    pub(super) fn native_signal(
        &mut self,
        signal: Signal,
        id: BuiltinId,
        f: usize,
        n: usize,
        dst: Option<Reg>,
    ) -> Result<Go, Box<Signal>> {
        match signal {
            Signal::Call(function, args) => {
                // A native in its place may ask to be run again, but what runs again is this call.
                let asked = match function {
                    Value::Builtin(id) if registry().is_native(id) => {
                        Some(self.fiber.regs[f + 1..f + 1 + n].to_vec())
                    }
                    _ => None,
                };
                let count = args.len();
                self.fiber.clear(f, f + n + 1);
                self.place(f, function, args);
                self.heap.work(count)?;
                match (self.invoke(f, count, dst), asked) {
                    (Err(signal), asked) => {
                        self.fiber.clear(f, f + count + 1);
                        if let Some(asked) = asked
                            && signal.runs_again()
                        {
                            self.fiber.regs[f + 1..f + 1 + n].clone_from_slice(&asked);
                        }
                        Err(signal)
                    }
                    (done, _) => done,
                }
            }
            Signal::Raise(error) => Err(Box::new(Signal::Raise(self.named(error, id)))),
            other => Err(self.leave(Box::new(other), f, n)),
        }
    }

    /// Leaves a call whose result comes later: unless the call runs again, nobody looks at its arguments any more.
    fn leave(&mut self, signal: Box<Signal>, f: usize, n: usize) -> Box<Signal> {
        if !signal.runs_again() {
            self.fiber.clear(f, f + n + 1);
        }
        signal
    }

    /// Puts the name of the function the program called before the message.
    pub(super) fn named(&self, mut error: Error, id: BuiltinId) -> Error {
        if !error.kind.is_catchable() {
            return error;
        }
        let id = match self.blamed() {
            // What the program passed is its own; what a core function uses itself is nothing that the program knows of.
            Some(core) if core != id && !self.is_passed(id) => core,
            Some(_) => id,
            // The same for code that stands in place of a call.
            None => match self.called_here() {
                Some(core) if core != id && !self.is_named_here(registry().get(id).local) => core,
                _ => id,
            },
        };
        let entry = registry().get(id);
        let entry = advice::public_name(entry).unwrap_or(entry);
        if !matches!(entry.ns, "prim" | "ptc.impl") {
            error.function.get_or_insert_with(|| entry.call_name().into_owned());
        }
        if error.kind == ErrorKind::NotCallable {
            let looks = entry.params().contains("pred");
            let value = if looks { "; the set #{x} finds the value x" } else { "" };
            error.hint = Some(format!("pass a function, for example inc, :key or #(…){value}"));
        }
        if error.kind == ErrorKind::Type && error.hint.is_none() {
            error.hint = advice::for_type_error(entry, &error.message);
        }
        error
    }

    /// Whether the call of the program that runs was given a builtin, as in `(map parse-long …)`: by itself, or in a function
    /// that was made of it, as in `(map (comp parse-long :n) …)`.
    #[cold]
    fn is_passed(&self, id: BuiltinId) -> bool {
        let frames = &self.fiber.frames;
        let Some(own) = frames.iter().rposition(|frame| !is_core(frame.unit)) else { return false };
        let has = frames.get(own + 1).is_some_and(|callee| self.has_argument(callee, id));
        has || self.loads_argument(&frames[own], id)
    }

    /// Whether a builtin is among the arguments that a core function has, or captured by a function among them.
    fn has_argument(&self, callee: &Frame, id: BuiltinId) -> bool {
        /// How many values are looked at.
        const LOOKED_AT: usize = 64;
        let unit = &self.unit(callee.unit).unit;
        let arities = unit.funcs.first().map_or(&[][..], |function| function.arities.as_slice());
        let begun = arities.iter().filter(|arity| arity.entry <= callee.pc);
        let Some(arity) = begun.max_by_key(|arity| arity.entry) else { return false };
        let (base, params) = (callee.base as usize, usize::from(arity.params));
        let mut open: Vec<&Value> = self.fiber.regs.iter().skip(base).take(params).collect();
        if let (true, Some(Value::Seq(rest))) = (arity.variadic, self.fiber.regs.get(base + params)) {
            open.extend(rest.as_slice().iter().take(LOOKED_AT));
        }
        for _ in 0..LOOKED_AT {
            match open.pop() {
                Some(Value::Builtin(passed)) if *passed == id => return true,
                Some(Value::Fn(function)) => open.extend(function.captures.iter()),
                Some(_) => {}
                None => break,
            }
        }
        false
    }

    /// Whether the instructions load a builtin that make the arguments of the call that a function of the program waits for.
    /// Where a core function uses an argument last, it takes it out of its register.
    fn loads_argument(&self, caller: &Frame, id: BuiltinId) -> bool {
        /// How many instructions are looked at.
        const LOOKED_AT: usize = 256;
        let unit = &self.unit(caller.unit).unit;
        let at = (caller.pc as usize).saturating_sub(1);
        let Some(call) = unit.spans.get(at) else { return false };
        let before = unit.ops.iter().zip(&unit.spans).take(at);
        before.rev().take(LOOKED_AT).any(|(op, span)| {
            let Op::Const { at, .. } = op else { return false };
            let is_inside = call.start <= span.start && span.end <= call.end;
            is_inside && unit.consts.get(*at as usize) == Some(&Const::Builtin(id))
        })
    }

    /// The core function that the program's own code called, if one is running.
    pub(super) fn blamed(&self) -> Option<BuiltinId> {
        let frames = &self.fiber.frames;
        let own = frames.iter().rposition(|frame| !is_core(frame.unit))?;
        match self.fiber.regs.get(frames.get(own + 1)?.base as usize - 1)? {
            Value::Builtin(id) => Some(*id),
            _ => None,
        }
    }

    /// Puts a function and its arguments into registers from `f` on.
    pub(super) fn place(&mut self, f: usize, function: Value, args: Vec<Value>) {
        self.reach(f + 1 + args.len());
        args.iter().chain([&function]).for_each(stamp::meet);
        self.fiber.regs[f] = function;
        for (register, arg) in self.fiber.regs[f + 1..].iter_mut().zip(args) {
            *register = arg;
        }
    }

    /// Makes sure that registers up to `end` exist.
    fn reach(&mut self, end: usize) {
        let bytes = self.fiber.ensure(end);
        self.heap.allocated(bytes);
    }

    /// Stores the result of a call that is over, or returns it for a tail call.
    pub(super) fn finish(&mut self, value: Value, dst: Option<Reg>) -> Result<Go, Box<Signal>> {
        stamp::meet(&value);
        check_depth(&value)?;
        let Some(dst) = dst else { return Ok(self.give_back(value)) };
        let base = self.fiber.frames.last().map_or(0, |frame| frame.base as usize);
        if let Some(slot) = self.fiber.regs.get_mut(base + usize::from(dst)) {
            *slot = value;
        }
        // The value is in its register by now, so a census finds it.
        if self.heap.fresh_bytes >= self.census_at {
            self.census();
            if self.heap.live_bytes > self.heap.limits.memory {
                return Err(self.out_of_memory().into());
            }
        }
        Ok(Go::On)
    }

    /// Makes a frame for a function of a unit.
    fn enter(
        &mut self,
        unit: &Rc<Linked>,
        func: u32,
        f: usize,
        n: usize,
        dst: Option<Reg>,
    ) -> Result<Go, Box<Signal>> {
        let function = &unit.unit.funcs[func as usize];
        let Some(arity) = function.arity(n) else {
            return Err(self.closure_arity(function, f, n).into());
        };
        let (params, registers) = (usize::from(arity.params), arity.registers);
        let (variadic, entry) = (arity.variadic, arity.entry);
        let mut f = f;
        let mut give = super::run::give(dst);
        if dst.is_none() {
            // A tail call: the function and its arguments take the place of the running frame.
            let end = self.fiber.top().max(f + n + 1);
            if let Some(frame) = self.fiber.frames.pop() {
                let start = frame.base as usize - 1;
                for at in 0..=n {
                    self.fiber.regs.swap(start + at, f + at);
                }
                self.fiber.clear(start + n + 1, end);
                f = start;
                give = frame.give;
            }
        }
        let base = f + 1;
        let end = base + usize::from(registers);
        if end > self.fiber.regs.len() {
            self.grow_registers(end)?;
        }
        if variadic {
            let rest: Vec<Value> =
                self.fiber.regs[base + params..base + n].iter_mut().map(std::mem::take).collect();
            self.heap.allocated(64 + rest.len() * size_of::<Value>());
            self.fiber.regs[base + params] = if rest.is_empty() { Value::Nil } else { Value::seq(rest) };
        }
        if self.fiber.frames.len() == self.fiber.frames.capacity() {
            self.grow_frames()?;
        }
        self.fiber.frames.push(Frame { unit: unit.id, pc: entry, base: base as u32, registers, give });
        if self.due()
            && let Some(stop) = self.service()?
        {
            return Ok(Go::stop(stop));
        }
        Ok(Go::Frame)
    }

    /// Leaves the register of a function that was entered the way the loop leaves it. A census, and with it
    /// the fuel, must not depend on where slices ended.
    pub(super) fn forget_callee(&mut self, f: usize) {
        if matches!(&self.fiber.regs[f], Value::Fn(body) if !body.simple.needs_self) {
            self.fiber.regs[f] = Value::Nil;
        }
    }

    /// Ends the running function with a value.
    pub(super) fn give_back(&mut self, value: Value) -> Go {
        stamp::meet(&value);
        let end = self.fiber.top();
        let Some(frame) = self.fiber.frames.pop() else { return Go::stop(super::Stop::Ended(value)) };
        self.fiber.clear(frame.base as usize - 1, end);
        match (frame.give.register(), self.fiber.frames.last()) {
            (Some(dst), Some(caller)) => {
                let base = caller.base as usize;
                self.fiber.regs[base + usize::from(dst)] = value;
                Go::Frame
            }
            (None, _) if !self.fiber.conts.is_empty() => self.continue_with(value),
            _ => Go::stop(super::Stop::Ended(value)),
        }
    }

    #[cold]
    fn closure_arity(&self, function: &Func, f: usize, n: usize) -> Error {
        let name = match &self.fiber.regs[f] {
            Value::Builtin(id) => registry().get(*id).local.to_owned(),
            _ => function.name.clone().unwrap_or_else(|| "this function".to_owned()),
        };
        let words: Vec<String> = function
            .arities
            .iter()
            .map(|arity| match arity.variadic {
                true => format!("at least {}", arity.params),
                false => arity.params.to_string(),
            })
            .collect();
        let error = Error::wrong_arity(&name, &words.join(" or "), n);
        match self.blamed() {
            Some(id) => {
                let plural = if n == 1 { "" } else { "s" };
                let calls = format!("{} calls it with {n} argument{plural}", registry().get(id).local);
                let takes_none = function.name.is_none() && words == ["0"];
                let placed =
                    if takes_none { ", which is % in #(… % …) and x in (fn [x] …)" } else { "" };
                error.hint(calls + placed)
            }
            None => error,
        }
    }
}

fn not_callable(value: &Value, args: &[Value], heap: &crate::heap::Heap) -> Error {
    let error = Error::new(ErrorKind::NotCallable, format!("{} is not a function", heap.brief(value)));
    if let [Value::Builtin(id), _, ..] = args
        && let Some(hint) = operator_first(registry().get(*id).local)
    {
        return error.hint(hint);
    }
    match value {
        Value::Nil => {
            error.hint("the name in front may be nil, or there is one pair of parentheses too many")
        }
        Value::Seq(_) | Value::Cons(_) | Value::Lazy(_) | Value::Range(_) => {
            error.hint("use (nth coll index), or make it a vector with vec")
        }
        Value::Str(_) => error.hint(
            "there may be one pair of parentheses too many; text that is a key is looked up with (get m \"key\")",
        ),
        Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
            error.hint("there may be one pair of parentheses too many")
        }
        Value::Type(name) if heap.names.text(*name).ends_with("Exception") => {
            error.hint("write (ex-info \"message\" {}), or (Exception. \"message\") with a point")
        }
        Value::Type(name) => error.hint(instead_of_calling(heap.names.text(*name))),
        Value::Time(time) if time.type_name() == "ChronoUnit" => {
            error.hint("write (.between ChronoUnit/DAYS a b)")
        }
        _ => error,
    }
}

/// Refuses values that nest too deeply.
#[inline]
pub(super) fn check_depth(value: &Value) -> Result<(), Box<Signal>> {
    if value.is_scalar() || value.shape().depth <= MAX_DEPTH {
        return Ok(());
    }
    Err(Error::new(ErrorKind::NestingTooDeep, format!("a value nests deeper than {MAX_DEPTH} levels"))
        .hint("keep a flat collection instead of one inside the other")
        .into())
}
