//! Instructions that need the machine, or that are too rare to be worth a place in the loop.

use std::rc::Rc;

use super::Machine;
use super::fiber::Handler;
use super::run::{Done, Go};
use crate::arith;
use crate::builtins::comparing::equals;
use crate::builtins::gather::{append, fits, may_push};
use crate::builtins::lookup::{check_updates_no_rows, find_exact, get_or, take_slot};
use crate::builtins::skim::skim;
use crate::code::{Op, Reg};
use crate::error::{Error, ErrorKind};
use crate::globals::Origin;
use crate::instructions::Operand;
use crate::signal::{Res, Signal};
use crate::value::{Closure, Items, Map, Shape, Stamp, Value, ledger, stamp};

impl Machine {
    /// The first register of the running frame.
    pub(super) fn base(&self) -> usize {
        self.fiber.frames.last().map_or(0, |frame| frame.base as usize)
    }

    /// Runs one instruction. The frame's next instruction is the one after it.
    pub(super) fn slow(&mut self, op: Op) -> Done {
        let Some(frame) = self.fiber.frames.last() else { return Ok(Go::Frame) };
        let (base, number, pc) = (frame.base as usize, frame.unit, frame.pc as usize);
        let unit = Rc::clone(self.unit(number));
        match op {
            Op::Add { dst, a, b } => {
                let sum = arith::add(self.at(base, a), self.at(base, b));
                self.put_number(base, dst, sum, (a, b), arith::sum_cost)
            }
            Op::AddInt { dst, a, value } => {
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
                let less = arith::less(self.at(base, a), self.at(base, b)).map(Value::Bool);
                self.put_result(base, dst, less)
            }
            Op::LessEq { dst, a, b } => {
                let less = arith::less_eq(self.at(base, a), self.at(base, b)).map(Value::Bool);
                self.put_result(base, dst, less)
            }
            Op::Equal { dst, a, b } => {
                let equal = self.equal(base, a, b).map(Value::Bool);
                self.put_result(base, dst, equal)
            }
            Op::IfLess { .. }
            | Op::IfLessEq { .. }
            | Op::IfEqual { .. }
            | Op::IfLessInt { .. }
            | Op::IfLessEqInt { .. }
            | Op::IfMoreInt { .. }
            | Op::IfMoreEqInt { .. }
            | Op::IfEqualInt { .. } => self.compare(op, base),
            Op::Lookup { dst, map, key } => {
                let map = self.at(base, map).clone();
                let found = get_or(&mut self.heap, &map, &unit.consts[usize::from(key)], &Value::Nil);
                self.put_result(base, dst, found)
            }
            // The loop does these, but for what has to be realised first.
            Op::Next { walk, .. } | Op::Take { walk, .. } | Op::Advance { walk, .. } => {
                match self.at(base, walk) {
                    Value::Iter(items) => match items.borrow_mut().next() {
                        Err(lazy) => Err(Signal::Force(lazy).into()),
                        Ok(_) => Ok(Go::On),
                    },
                    _ => Ok(Go::On),
                }
            }
            Op::Field { dst, walk, key } => {
                let item = self.item(base, walk);
                let found = get_or(&mut self.heap, &item, &unit.consts[usize::from(key)], &Value::Nil);
                self.put_result(base, dst, found)
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
                let captures = self.window(base, first, count).iter_mut().map(std::mem::take).collect();
                let value = self.make_closure(unit, u32::from(func), captures);
                self.put_deep(base, dst, value)
            }
            Op::Global { at, .. } => Err(self.unbound(unit.globals[at as usize])),
            Op::CallGlobal { at, .. } => Err(self.unbound(unit.globals[usize::from(at)])),
            Op::GlobalOrNil { dst, at } => {
                let value = match self.heap.globals.get(unit.globals[at as usize]) {
                    Value::Unbound => Value::Nil,
                    value => value.clone(),
                };
                self.put(base, dst, value)
            }
            Op::HasGlobal { dst, at } => {
                let known = !matches!(self.heap.globals.get(unit.globals[at as usize]), Value::Unbound);
                self.put(base, dst, Value::Bool(known))
            }
            Op::Export { dst, at } => {
                let value = self.exported(at)?;
                self.put(base, dst, value)
            }
            Op::Define { src, at } => {
                let value = std::mem::take(self.at_mut(base, src));
                let origin = Origin::new(unit.unit.source.clone(), unit.unit.spans[pc - 1]);
                self.heap.globals.define(unit.globals[at as usize], value, origin);
                Ok(Go::On)
            }
            Op::Data { dst, at } => {
                let value = self.input(&unit.consts[at as usize])?;
                self.put(base, dst, value)
            }
            Op::History { dst, nth } => {
                let value = self.history.get(usize::from(nth) - 1).cloned().unwrap_or_default();
                self.put(base, dst, value)
            }
            Op::Vector { dst, first, n } => {
                let items = self.window(base, first, usize::from(n)).iter_mut().map(std::mem::take).collect();
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
            Op::TakeSlot { dst, map, key } => {
                check_updates_no_rows(self.at(base, map), self.at(base, key))?;
                let value = self.take_slot(base, map, key);
                self.put(base, dst, value)
            }
            Op::Try { dst, to } => {
                let (frames, conts) = (self.fiber.frames.len(), self.fiber.conts.len());
                let grown = match self.fiber.handlers.len() == self.fiber.handlers.capacity() {
                    true => self.grow_handlers(),
                    false => Ok(()),
                };
                self.fiber.handlers.push(Handler { frames, conts, dst, to });
                grown.map(|()| Go::On)
            }
            Op::EndTry {} => {
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
            Op::IfFits { src, role } => {
                let value = self.at(base, src).clone();
                let fits = fits(&mut self.heap, &value, role)?;
                self.skip_if(fits)
            }
            Op::Push { vec, item } => self.push(base, vec, item),
            Op::Skim { acc, walk, plan } => {
                let mut sum = std::mem::take(self.at_mut(base, acc));
                let walk = self.at(base, walk).clone();
                let done = skim(&mut self.heap, &mut sum, &walk, &unit.consts[usize::from(plan)]);
                self.put(base, acc, sum)?;
                done.map(|()| Go::On)
            }
            Op::Throw { src } => {
                let value = std::mem::take(self.at_mut(base, src));
                Err(Box::new(Signal::Throw(value)))
            }
            // The loop does these itself, always.
            Op::Nil { .. }
            | Op::Bool { .. }
            | Op::Int { .. }
            | Op::Const { .. }
            | Op::Copy { .. }
            | Op::Move { .. }
            | Op::Capture { .. }
            | Op::Jump { .. }
            | Op::JumpIf { .. }
            | Op::JumpIfNot { .. }
            | Op::JumpIfNil { .. }
            | Op::Call { .. }
            | Op::CallBuiltin { .. }
            | Op::TailCall { .. }
            | Op::Return { .. }
            | Op::Not { .. }
            | Op::Item { .. }
            | Op::Unreduce { .. }
            | Op::CountBelowInt { .. }
            | Op::CountAboveInt { .. }
            | Op::CountBelow { .. }
            | Op::CountAbove { .. }
            | Op::Tally { .. }
            | Op::Group { .. }
            | Op::GroupItem { .. }
            | Op::Include { .. }
            | Op::Pipe { .. }
            | Op::Fuse { .. } => Ok(Go::On),
        }
    }

    /// Whether nothing that is counted, which large integers are, is in the registers of an arithmetic instruction.
    pub(super) fn operands_are_plain(&self, op: Op) -> bool {
        let base = self.base();
        !op.has(|operand| match operand {
            Operand::OutNumber(reg) | Operand::InNumber(reg) => !self.at(base, reg).is_plain(),
            _ => false,
        })
    }

    /// A comparison that skips the next instruction if it holds.
    fn compare(&mut self, op: Op, base: usize) -> Done {
        let holds = match op {
            Op::IfLess { a, b } => arith::less(self.at(base, a), self.at(base, b))?,
            Op::IfLessEq { a, b } => arith::less_eq(self.at(base, a), self.at(base, b))?,
            Op::IfEqual { a, b } => self.equal(base, a, b)?,
            Op::IfLessInt { a, value } => arith::less(self.at(base, a), &Value::Int(value.into()))?,
            Op::IfLessEqInt { a, value } => arith::less_eq(self.at(base, a), &Value::Int(value.into()))?,
            Op::IfMoreInt { a, value } => arith::less(&Value::Int(value.into()), self.at(base, a))?,
            Op::IfMoreEqInt { a, value } => arith::less_eq(&Value::Int(value.into()), self.at(base, a))?,
            Op::IfEqualInt { a, value } => {
                let a = self.at(base, a).clone();
                equals(&mut self.heap, &a, &Value::Int(value.into()))?
            }
            _ => false,
        };
        self.skip_if(holds)
    }

    /// Skips the next instruction if a test holds.
    fn skip_if(&mut self, holds: bool) -> Done {
        if let Some(frame) = self.fiber.frames.last_mut()
            && holds
        {
            frame.pc += 1;
        }
        Ok(Go::On)
    }

    /// Adds to a vector that has no room, is shared or nests deeply.
    fn push(&mut self, base: usize, vec: Reg, item: Reg) -> Done {
        may_push(&mut self.heap, &self.fiber.regs[base + usize::from(vec)])?;
        let item = std::mem::take(self.at_mut(base, item));
        let mut items = std::mem::take(self.at_mut(base, vec));
        append(&mut items, item)?;
        self.put_deep(base, vec, items)
    }

    /// The item at which a walk is.
    fn item(&self, base: usize, walk: Reg) -> Value {
        match (self.at(base, walk + 1), self.at(base, walk)) {
            (Value::Iter(_), Value::Iter(items)) => items.borrow().here().cloned().unwrap_or_default(),
            (item, _) => item.clone(),
        }
    }

    fn equal(&mut self, base: usize, a: Reg, b: Reg) -> Res<bool> {
        let (a, b) = (self.at(base, a).clone(), self.at(base, b).clone());
        equals(&mut self.heap, &a, &b)
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
        stamp::meet(&value);
        self.fiber.regs[base + usize::from(dst)] = value;
        Ok(Go::On)
    }

    /// Stores a result that may be an error.
    #[inline]
    fn put_result(&mut self, base: usize, dst: Reg, value: Res) -> Done {
        self.put(base, dst, value?)
    }

    /// Stores a number. A big integer or decimal pays for the time and memory it took.
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
        if !value.is_plain() {
            let cost = cost(self.at(base, a), self.at(base, b));
            self.heap.work(cost)?;
            self.heap.allocated(64 + arith::words(&value) * size_of::<u64>());
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

    fn make_closure(&mut self, unit: Rc<crate::code::Linked>, func: u32, captures: Rc<[Value]>) -> Value {
        let simple = unit.unit.funcs[func as usize].simple();
        let shape = Shape::of(captures.iter());
        // What a function captured does not show when it is looked at, so it may be lazy.
        let shape = Shape { lazy: false, ..shape };
        self.heap.allocated(96 + captures.len() * size_of::<Value>());
        Value::Fn(Rc::new(Closure { unit, func, simple, captures, shape, meta: None, stamp: Stamp::new() }))
    }

    fn make_map(&mut self, base: usize, dst: Reg, first: Reg, pairs: usize) -> Done {
        let at = base + usize::from(first);
        let keys = self.fiber.regs[at..at + pairs * 2].iter().step_by(2);
        if let Some(layout) = self.heap.layouts.of(keys) {
            let pairs = self.fiber.regs[at..at + pairs * 2].chunks_exact_mut(2);
            self.heap.allocated(Map::bytes_for(pairs.len()));
            let row = Value::row(layout, pairs.map(|pair| std::mem::take(&mut pair[1])));
            return self.put_deep(base, dst, row);
        }
        for key in self.window(base, first, pairs * 2).iter().step_by(2).cloned().collect::<Vec<_>>() {
            self.heap.realised(&key)?;
        }
        let mut map = Map::with_capacity(pairs);
        for pair in self.window(base, first, pairs * 2).chunks_exact_mut(2) {
            map.insert(std::mem::take(&mut pair[0]), std::mem::take(&mut pair[1]));
        }
        self.heap.allocated(Map::bytes_for(pairs) + 16 * pairs);
        self.heap.fuel_used += ledger::take();
        self.put_deep(base, dst, Value::Map(map))
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

    /// Takes the value that writing a key replaces out of a map; if others see the map, a copy.
    // Out of line: in the loop it would cost every instruction.
    #[inline(never)]
    fn take_value(&mut self, base: usize, map: Reg, key: &Value) -> Value {
        let mut whole = std::mem::take(self.at_mut(base, map));
        let taken = take_slot(&mut self.heap, &mut whole, key);
        *self.at_mut(base, map) = whole;
        taken.ok().flatten().unwrap_or_default()
    }

    /// Takes the value at a key out of a map or vector that nobody else sees.
    fn take_slot(&mut self, base: usize, map: Reg, key: Reg) -> Value {
        let key = self.at(base, key).clone();
        if let Value::Map(_) = self.at(base, map) {
            return self.take_value(base, map, &key);
        }
        match self.at_mut(base, map) {
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
}

/// Another function of the group that `function` belongs to.
fn sibling(function: &Value, func: u16) -> Value {
    match function {
        Value::Fn(body) if body.fits(func) => Value::Fn(Rc::new(Closure {
            unit: body.unit.clone(),
            func: u32::from(func),
            simple: body.unit.unit.funcs[usize::from(func)].simple(),
            captures: body.captures.clone(),
            shape: body.shape,
            meta: None,
            stamp: Stamp::new(),
        })),
        _ => Value::Nil,
    }
}
