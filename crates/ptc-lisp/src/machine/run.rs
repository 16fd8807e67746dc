//! The instruction loop.

use std::rc::Rc;

use super::fiber::{Give, Handler};
use super::{Machine, Stop};
use crate::arith;
use crate::builtins::comparing::equals;
use crate::builtins::lookup::{find_exact, get_or};
use crate::code::{Op, Reg};
use crate::error::{Error, ErrorKind};
use crate::globals::Origin;
use crate::signal::{Res, Signal};
use crate::value::{Closure, Items, MapObj, Shape, Table, Value, ledger};

/// What the loop does after an instruction.
pub(super) enum Go {
    /// The next instruction.
    On,
    /// The topmost frame has changed: look there.
    Frame,
    /// The fiber cannot go on for now. Boxed, so that every instruction returns in two words.
    Stop(Box<Stop>),
}

impl Go {
    /// The fiber cannot go on for now.
    pub(super) fn stop(stop: Stop) -> Go {
        Go::Stop(Box::new(stop))
    }
}

/// Whether an instruction that needs more than the loop's own state is done.
type Done = Result<Go, Box<Signal>>;

impl Machine {
    /// Runs the current fiber until it ends, waits, or the slice of fuel is used up.
    pub(super) fn execute(&mut self) -> Stop {
        loop {
            let Some(frame) = self.fiber.frames.last() else { return Stop::Ended(Value::Nil) };
            let (mut pc, base) = (frame.pc as usize, frame.base as usize);
            let unit = Rc::clone(self.unit(frame.unit));
            let ops = unit.unit.ops.as_slice();
            loop {
                let op = ops[pc];
                pc += 1;
                self.heap.fuel_used += 1;
                let done: Done = match op {
                    Op::Nil { dst } => self.put(base, dst, Value::Nil),
                    Op::Bool { dst, value } => self.put(base, dst, Value::Bool(value)),
                    Op::Int { dst, value } => self.put(base, dst, Value::Int(i64::from(value))),
                    Op::Const { dst, at } => self.put(base, dst, unit.consts[at as usize].clone()),
                    Op::Copy { dst, src } => {
                        let value = self.at(base, src).clone();
                        self.put(base, dst, value)
                    }
                    Op::Move { dst, src } => {
                        let value = std::mem::take(self.at_mut(base, src));
                        self.put(base, dst, value)
                    }
                    Op::Jump { to } => {
                        // Only jumps back can make a loop, so only they look at the meters.
                        if (to as usize) < pc && self.due() {
                            self.save(pc);
                            self.fiber.frames.last_mut().expect("a frame is running").pc = to;
                            match self.service() {
                                Ok(None) => {}
                                Ok(Some(stop)) => return stop,
                                Err(signal) => match self.signal(signal, None) {
                                    Go::Stop(stop) => return *stop,
                                    Go::On | Go::Frame => break,
                                },
                            }
                        }
                        pc = to as usize;
                        continue;
                    }
                    Op::JumpIfNot { src, to } => {
                        if !self.at(base, src).truthy() {
                            pc = to as usize;
                        }
                        continue;
                    }
                    Op::JumpIf { src, to } => {
                        if self.at(base, src).truthy() {
                            pc = to as usize;
                        }
                        continue;
                    }
                    Op::JumpIfNil { src, to } => {
                        if self.at(base, src).is_nil() {
                            pc = to as usize;
                        }
                        continue;
                    }
                    Op::Add { dst, a, b } => {
                        if let (Value::Int(x), Value::Int(y)) = (self.at(base, a), self.at(base, b))
                            && let Some(sum) = x.checked_add(*y)
                        {
                            *self.at_mut(base, dst) = Value::Int(sum);
                            continue;
                        }
                        let sum = arith::add(self.at(base, a), self.at(base, b));
                        self.put_number(base, dst, sum, (a, b), arith::sum_cost)
                    }
                    Op::AddInt { dst, a, value } => {
                        if let Value::Int(int) = self.at(base, a)
                            && let Some(sum) = int.checked_add(i64::from(value))
                        {
                            *self.at_mut(base, dst) = Value::Int(sum);
                            continue;
                        }
                        let sum = arith::add(self.at(base, a), &Value::Int(i64::from(value)));
                        self.put_number(base, dst, sum, (a, a), arith::sum_cost)
                    }
                    Op::Sub { dst, a, b } => {
                        let difference = arith::sub(self.at(base, a), self.at(base, b));
                        self.put_number(base, dst, difference, (a, b), arith::sum_cost)
                    }
                    Op::Mul { dst, a, b } => {
                        let product = arith::mul(self.at(base, a), self.at(base, b));
                        self.put_number(base, dst, product, (a, b), arith::product_cost)
                    }
                    Op::Less { dst, a, b } => {
                        if let (Value::Int(x), Value::Int(y)) = (self.at(base, a), self.at(base, b)) {
                            let less = x < y;
                            *self.at_mut(base, dst) = Value::Bool(less);
                            continue;
                        }
                        let less = arith::less(self.at(base, a), self.at(base, b)).map(Value::Bool);
                        self.put_result(base, dst, less)
                    }
                    Op::LessEq { dst, a, b } => {
                        let less = arith::less_eq(self.at(base, a), self.at(base, b)).map(Value::Bool);
                        self.put_result(base, dst, less)
                    }
                    Op::Equal { dst, a, b } => {
                        let (x, y) = (self.at(base, a), self.at(base, b));
                        let equal = match (x, y) {
                            (Value::Int(x), Value::Int(y)) => Ok(x == y),
                            (Value::Kw(x), Value::Kw(y)) => Ok(x == y),
                            _ => {
                                let (x, y) = (x.clone(), y.clone());
                                equals(&mut self.heap, &x, &y)
                            }
                        };
                        self.put_result(base, dst, equal.map(Value::Bool))
                    }
                    Op::Not { dst, src } => {
                        let not = !self.at(base, src).truthy();
                        self.put(base, dst, Value::Bool(not))
                    }
                    Op::Lookup { dst, map, key } => {
                        let key = &unit.consts[usize::from(key)];
                        let found = self.lookup(base, map, key);
                        self.put_result(base, dst, found)
                    }
                    Op::Capture { dst, at } => {
                        let value = match self.callee(base) {
                            Value::Fn(body) => body.captures[usize::from(at)].clone(),
                            _ => Value::Nil,
                        };
                        self.put(base, dst, value)
                    }
                    Op::SelfFn { dst } => {
                        let value = self.callee(base).clone();
                        self.put(base, dst, value)
                    }
                    Op::Sibling { dst, func } => {
                        let value = sibling(self.callee(base), func);
                        self.put(base, dst, value)
                    }
                    Op::SiblingOf { dst, of, func } => {
                        let value = sibling(self.at(base, of), func);
                        self.put(base, dst, value)
                    }
                    Op::Function { dst, first, func } => {
                        let count = usize::from(unit.unit.funcs[usize::from(func)].captures);
                        let captures =
                            self.window(base, first, count).iter_mut().map(std::mem::take).collect();
                        let value = self.make_closure(unit.clone(), u32::from(func), captures);
                        self.put_deep(base, dst, value)
                    }
                    Op::Global { dst, at } => {
                        let slot = unit.globals[at as usize];
                        match self.heap.globals.get(slot) {
                            Value::Unbound => Err(self.unbound(slot)),
                            value => {
                                let value = value.clone();
                                self.put(base, dst, value)
                            }
                        }
                    }
                    Op::GlobalOrNil { dst, at } => {
                        let value = match self.heap.globals.get(unit.globals[at as usize]) {
                            Value::Unbound => Value::Nil,
                            value => value.clone(),
                        };
                        self.put(base, dst, value)
                    }
                    Op::HasGlobal { dst, at } => {
                        let known =
                            !matches!(self.heap.globals.get(unit.globals[at as usize]), Value::Unbound);
                        self.put(base, dst, Value::Bool(known))
                    }
                    Op::Define { src, at } => {
                        let value = std::mem::take(self.at_mut(base, src));
                        let origin = Origin::new(unit.unit.source.clone(), unit.unit.spans[pc - 1]);
                        self.heap.globals.define(unit.globals[at as usize], value, origin);
                        Ok(Go::On)
                    }
                    Op::Data { dst, at } => {
                        let value = self.input(&unit.consts[at as usize]);
                        self.put(base, dst, value)
                    }
                    Op::History { dst, nth } => {
                        let value = self.history.get(usize::from(nth) - 1).cloned().unwrap_or_default();
                        self.put(base, dst, value)
                    }
                    Op::Call { dst, f, n } => {
                        self.save(pc);
                        self.invoke(base + usize::from(f), usize::from(n), Some(dst))
                    }
                    Op::CallBuiltin { dst, f, n, id } => {
                        self.save(pc);
                        self.call_builtin(id, base + usize::from(f), usize::from(n), Some(dst))
                    }
                    Op::TailCall { f, n } => {
                        self.save(pc);
                        self.invoke(base + usize::from(f), usize::from(n), None)
                    }
                    Op::Return { src } => {
                        let value = std::mem::take(self.at_mut(base, src));
                        Ok(self.give_back(value))
                    }
                    Op::Vector { dst, first, n } => {
                        let items =
                            self.window(base, first, usize::from(n)).iter_mut().map(std::mem::take).collect();
                        self.heap.allocated(64 + 16 * usize::from(n));
                        self.put_deep(base, dst, Value::vector(items))
                    }
                    Op::Map { dst, first, n } => self.make_map(base, dst, first, usize::from(n)),
                    Op::Set { dst, first, n } => self.make_set(base, dst, first, usize::from(n)),
                    Op::Walk { dst, src } => match Items::over(self.at(base, src)) {
                        Some(items) => {
                            *self.at_mut(base, src) = Value::Nil;
                            self.put(base, dst, Value::Iter(Rc::new(items.into())))
                        }
                        None => Err(crate::heap::not_seqable(self.at(base, src)).into()),
                    },
                    Op::Next { dst, walk } => {
                        let next = match self.at(base, walk) {
                            Value::Iter(items) => items.borrow_mut().next(),
                            _ => Ok(None),
                        };
                        match next {
                            Ok(None) => continue,
                            Ok(Some(item)) => {
                                pc += 1;
                                self.put(base, dst, item)
                            }
                            Err(lazy) => Err(Box::new(Signal::Force(lazy))),
                        }
                    }
                    Op::Unreduce { src } => {
                        match self.at(base, src) {
                            Value::Reduced(value) => {
                                let value = (**value).clone();
                                *self.at_mut(base, src) = value;
                            }
                            _ => pc += 1,
                        }
                        continue;
                    }
                    Op::TakeSlot { dst, map, key } => {
                        let value = self.take_slot(base, map, key);
                        self.put(base, dst, value)
                    }
                    Op::Try { dst, to } => {
                        let frames = self.fiber.frames.len();
                        let conts = self.fiber.conts.len();
                        let grown = match self.fiber.handlers.len() == self.fiber.handlers.capacity() {
                            true => self.grow_handlers(),
                            false => Ok(()),
                        };
                        self.fiber.handlers.push(Handler { frames, conts, dst, to });
                        grown.map(|()| Go::On)
                    }
                    Op::EndTry => {
                        self.fiber.handlers.pop();
                        Ok(Go::On)
                    }
                    Op::Catches { dst, src, class } => {
                        let class = unit.consts[usize::from(class)].as_str().unwrap_or_default();
                        let catches = match self.at(base, src) {
                            Value::Ex(ex) => crate::builtins::exceptions::catches(class, ex),
                            _ => true,
                        };
                        self.put(base, dst, Value::Bool(catches))
                    }
                    Op::Throw { src } => {
                        let value = std::mem::take(self.at_mut(base, src));
                        Err(Box::new(Signal::Throw(value)))
                    }
                };
                match done {
                    Ok(Go::On) => {}
                    Ok(Go::Frame) => break,
                    Ok(Go::Stop(stop)) => return *stop,
                    Err(signal) => {
                        self.save(pc);
                        let dst = result_register(op);
                        match self.signal(signal, dst) {
                            Go::Stop(stop) => return *stop,
                            Go::On | Go::Frame => break,
                        }
                    }
                }
            }
        }
    }

    #[inline]
    fn at(&self, base: usize, reg: Reg) -> &Value {
        &self.fiber.regs[base + usize::from(reg)]
    }

    #[inline]
    fn at_mut(&mut self, base: usize, reg: Reg) -> &mut Value {
        &mut self.fiber.regs[base + usize::from(reg)]
    }

    fn window(&mut self, base: usize, first: Reg, count: usize) -> &mut [Value] {
        let first = base + usize::from(first);
        &mut self.fiber.regs[first..first + count]
    }

    #[inline]
    fn put(&mut self, base: usize, dst: Reg, value: Value) -> Done {
        self.fiber.regs[base + usize::from(dst)] = value;
        Ok(Go::On)
    }

    /// Stores a result that may be an error.
    #[inline]
    fn put_result(&mut self, base: usize, dst: Reg, value: Res) -> Done {
        self.fiber.regs[base + usize::from(dst)] = value?;
        Ok(Go::On)
    }

    /// Stores a number. A big integer pays for the time and memory it took.
    #[inline]
    fn put_number(
        &mut self,
        base: usize,
        dst: Reg,
        value: Res,
        (a, b): (Reg, Reg),
        cost: fn(&Value, &Value) -> usize,
    ) -> Done {
        let value = value?;
        if let Value::Big(_) = value {
            let cost = cost(self.at(base, a), self.at(base, b));
            self.heap.work(cost)?;
            self.heap.allocated(arith::words(&value) * size_of::<u64>());
        }
        self.put(base, dst, value)
    }

    /// Stores a container after looking at how deep it nests.
    fn put_deep(&mut self, base: usize, dst: Reg, value: Value) -> Done {
        super::call::check_depth(&value)?;
        self.put(base, dst, value)
    }

    /// The function that is running.
    fn callee(&self, base: usize) -> &Value {
        &self.fiber.regs[base - 1]
    }

    /// Writes the next instruction back to the frame.
    #[inline]
    pub(super) fn save(&mut self, pc: usize) {
        if let Some(frame) = self.fiber.frames.last_mut() {
            frame.pc = pc as u32;
        }
    }

    fn make_closure(&mut self, unit: Rc<crate::code::Linked>, func: u32, captures: Rc<[Value]>) -> Value {
        let shape = Shape::of(captures.iter());
        // What a function captured does not show when it is looked at, so it may be lazy.
        let shape = Shape { lazy: false, ..shape };
        self.heap.allocated(96 + captures.len() * size_of::<Value>());
        Value::Fn(Rc::new(Closure { unit, func, captures, shape, meta: None }))
    }

    fn make_map(&mut self, base: usize, dst: Reg, first: Reg, pairs: usize) -> Done {
        for key in self.window(base, first, pairs * 2).iter().step_by(2).cloned().collect::<Vec<_>>() {
            self.heap.realised(&key)?;
        }
        let mut table = Table::with_capacity(pairs);
        for pair in self.window(base, first, pairs * 2).chunks_exact_mut(2) {
            table.insert(std::mem::take(&mut pair[0]), std::mem::take(&mut pair[1]));
        }
        self.heap.allocated(64 + 32 * pairs);
        self.heap.fuel_used += ledger::take();
        self.put_deep(base, dst, Value::map(table))
    }

    fn make_set(&mut self, base: usize, dst: Reg, first: Reg, count: usize) -> Done {
        for member in self.window(base, first, count).to_vec() {
            self.heap.realised(&member)?;
        }
        let members: Vec<Value> = self.window(base, first, count).iter_mut().map(std::mem::take).collect();
        self.heap.allocated(64 + 16 * count);
        let set = Value::set_of(members);
        self.heap.fuel_used += ledger::take();
        self.put_deep(base, dst, set)
    }

    /// `(get map :key)`
    fn lookup(&mut self, base: usize, map: Reg, key: &Value) -> Res {
        if let Value::Map(body) = self.at(base, map)
            && let Some(value) = body.table.get(key)
        {
            return Ok(value.clone());
        }
        let map = self.at(base, map).clone();
        get_or(&mut self.heap, &map, key, &Value::Nil)
    }

    /// Takes the value at a key out of a map or vector that nobody else sees.
    fn take_slot(&mut self, base: usize, map: Reg, key: Reg) -> Value {
        let key = self.at(base, key).clone();
        match self.at_mut(base, map) {
            Value::Map(body) => match Rc::get_mut(body) {
                Some(MapObj { table, .. }) => table.get_mut(&key).map(std::mem::take).unwrap_or_default(),
                None => body.table.get(&key).cloned().unwrap_or_default(),
            },
            Value::Vec(body) => {
                let Value::Int(index) = key else { return Value::Nil };
                let Ok(index) = usize::try_from(index) else { return Value::Nil };
                match Rc::get_mut(body) {
                    Some(body) => body.items.get_mut(index).map(std::mem::take).unwrap_or_default(),
                    None => body.items.get(index).cloned().unwrap_or_default(),
                }
            }
            other => {
                let other = other.clone();
                find_exact(&mut self.heap, &other, &key).ok().flatten().unwrap_or_default()
            }
        }
    }

    #[cold]
    fn unbound(&self, slot: u32) -> Box<Signal> {
        let name = self.heap.names.text(self.heap.globals.name(slot));
        Error::new(ErrorKind::UnboundVar, format!("{name} has no value yet"))
            .hint(format!("move (def {name} …) before its first use"))
            .into()
    }

    /// Whether fuel, memory or the time slice need a look.
    #[inline]
    pub(super) fn due(&self) -> bool {
        self.heap.fuel_used >= self.stop_at || self.heap.fresh_bytes >= self.census_at
    }

    /// Looks at the meters: the end of the slice, the end of the fuel, or a census.
    #[cold]
    pub(super) fn service(&mut self) -> Result<Option<Stop>, Box<Signal>> {
        if self.heap.fresh_bytes >= self.census_at {
            self.census();
            if self.heap.live_bytes > self.heap.limits.memory {
                return Err(self.out_of_memory().into());
            }
        }
        self.heap.work(0)?;
        Ok((self.heap.fuel_used >= self.stop_at).then_some(Stop::Yield))
    }

    pub(super) fn out_of_memory(&self) -> Error {
        self.heap.out_of_memory()
    }
}

/// Another function of the group that `function` belongs to.
fn sibling(function: &Value, func: u16) -> Value {
    match function {
        Value::Fn(body) if body.fits(func) => Value::Fn(Rc::new(Closure {
            unit: body.unit.clone(),
            func: u32::from(func),
            captures: body.captures.clone(),
            shape: body.shape,
            meta: None,
        })),
        _ => Value::Nil,
    }
}

/// Where the result of an instruction goes; `None` for a tail call.
fn result_register(op: Op) -> Option<Reg> {
    match op {
        Op::Call { dst, .. } | Op::CallBuiltin { dst, .. } => Some(dst),
        _ => None,
    }
}

/// Where the result of a call goes, as the frame remembers it.
pub(super) fn give(dst: Option<Reg>) -> Give {
    dst.map_or(Give::Continue, Give::Into)
}
