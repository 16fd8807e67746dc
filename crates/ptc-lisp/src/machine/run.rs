//! The instruction loop.
//!
//! The loop works on the running frame's registers and on what natives may touch, and nothing else; so
//! the compiler keeps its state in processor registers. Whatever needs more of the machine (growing the
//! stack, errors, tools, rare instructions) leaves the inner loop with an [`Exit`] and is done by
//! methods of the machine, after which the loop picks up the topmost frame again.
#![expect(unsafe_code, reason = "makes the windows that `window` has the reasons for")]

use super::call::check_depth;
use super::fiber::{Frame, Give};
use super::window::{Code, Window};
use super::{Machine, Stop};
use crate::builtins::{BuiltinId, Run, registry};
use crate::code::{Op, Reg};
use crate::error::Error;
use crate::signal::Signal;
use crate::value::{Value, ledger};

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
pub(super) type Done = Result<Go, Box<Signal>>;

/// Why the inner loop was left. The frame's next instruction has been saved.
enum Exit {
    /// This instruction needs the machine.
    Slow(Op),
    /// A call that is not one of a simple function: the function's register, arguments, result.
    Call(Reg, u16, Option<Reg>),
    /// The call of a definition that is a simple function, when a meter needs a look or room is made.
    Enter(Reg, u16, Reg),
    /// A native did not answer with a value.
    Native(Box<Signal>, BuiltinId, Reg, u16, Reg),
    /// A function ended whose caller is not waiting in a register.
    Return(Value),
    /// An instruction that is done did not leave a valid value.
    Signal(Box<Signal>),
    /// The meters need a look.
    Due,
}

impl Machine {
    /// Runs the current fiber until it ends, waits, or the slice of fuel is used up.
    pub(super) fn execute(&mut self) -> Stop {
        loop {
            if self.fiber.frames.is_empty() {
                return Stop::Ended(Value::Nil);
            }
            let (exit, dst) = self.run_frames();
            let done = match exit {
                Exit::Slow(op) => self.slow(op),
                Exit::Call(f, n, dst) => {
                    let f = self.base() + usize::from(f);
                    self.invoke(f, usize::from(n), dst)
                }
                Exit::Enter(f, n, dst) => {
                    let f = self.base() + usize::from(f);
                    let done = self.invoke(f, usize::from(n), Some(dst));
                    self.forget_callee(f);
                    done
                }
                Exit::Native(signal, id, f, n, dst) => {
                    let f = self.base() + usize::from(f);
                    self.native_signal(*signal, id, f, usize::from(n), Some(dst))
                }
                Exit::Return(value) => Ok(self.give_back(value)),
                Exit::Signal(signal) => Err(signal),
                Exit::Due => match self.service() {
                    Ok(None) => Ok(Go::On),
                    Ok(Some(stop)) => return stop,
                    Err(signal) => Err(signal),
                },
            };
            match done {
                Ok(Go::On | Go::Frame) => {}
                Ok(Go::Stop(stop)) => return *stop,
                Err(signal) => {
                    if let Go::Stop(stop) = self.signal(signal, dst) {
                        return *stop;
                    }
                }
            }
        }
    }

    /// Runs instructions until one needs the machine; also says where that one's result goes.
    #[inline(never)]
    #[expect(
        clippy::too_many_lines,
        reason = "the loop is one function so that its state stays in registers"
    )]
    fn run_frames(&mut self) -> (Exit, Option<Reg>) {
        let Some(frame) = self.fiber.frames.last() else { return (Exit::Return(Value::Nil), None) };
        let Frame { unit, mut base, registers, .. } = *frame;
        let mut pc = frame.pc as usize;
        // Fuel is one per instruction: what was used before, and how far straight on the code went.
        let mut used_before = self.heap.fuel_used.wrapping_sub(pc as u64);
        // SAFETY: the frame's code was compiled or verified for its number of registers; while `regs` is
        // in use the stack is reached by it alone; units are not dropped while a program runs.
        let (mut code, mut regs) = unsafe {
            (Code::new(self.unit(unit)), Window::new(&mut self.fiber.regs, base as usize, registers))
        };

        // Leaves the loop; the frame remembers where it stands.
        macro_rules! leave {
            ($exit:expr, $dst:expr) => {{
                let exit = $exit;
                self.heap.fuel_used = used_before.wrapping_add(pc as u64);
                if let Some(frame) = self.fiber.frames.last_mut() {
                    frame.pc = pc as u32;
                }
                return (exit, $dst);
            }};
        }
        macro_rules! jump {
            ($to:expr) => {{
                used_before = used_before.wrapping_add(pc as u64).wrapping_sub(u64::from($to));
                pc = $to as usize;
            }};
        }
        // What follows a comparison: the next instruction is skipped if it holds. It is a jump.
        macro_rules! branch {
            ($holds:expr) => {{
                if $holds {
                    pc += 1;
                } else if let Op::Jump { to } = *code.get(pc) {
                    jump!(to);
                }
                continue;
            }};
        }
        macro_rules! compare_int {
            ($op:expr, $a:expr, $value:expr, $compare:tt) => {{
                if let Value::Int(a) = regs.get($a) {
                    branch!(*a $compare i64::from($value));
                }
                leave!(Exit::Slow(*$op), None);
            }};
        }
        macro_rules! compare {
            ($op:expr, $a:expr, $b:expr, $compare:tt) => {{
                let (a, b) = (regs.get($a), regs.get($b));
                if let Value::Int(a) = a && let Value::Int(b) = b {
                    branch!(a $compare b);
                }
                if let Value::Float(a) = a && let Value::Float(b) = b {
                    branch!(a $compare b);
                }
                leave!(Exit::Slow(*$op), None);
            }};
        }
        // An operation on two small numbers of the same kind.
        macro_rules! arithmetic {
            ($op:expr, $dst:expr, $a:expr, $b:expr, $ints:expr, $floats:tt) => {{
                let (a, b) = (regs.get($a), regs.get($b));
                if let Value::Int(a) = a && let Value::Int(b) = b && let Some(int) = $ints(*a, *b) {
                    regs.put_int($dst, int);
                    continue;
                }
                if let Value::Float(a) = a && let Value::Float(b) = b {
                    let float = a $floats b;
                    regs.put_float($dst, float);
                    continue;
                }
                leave!(Exit::Slow(*$op), None);
            }};
        }
        macro_rules! call_native {
            ($native:expr, $id:expr, $f:expr, $n:expr, $dst:expr) => {{
                self.heap.fuel_used = used_before.wrapping_add(pc as u64);
                let args = regs.row(usize::from($f) + 1, usize::from($n));
                let result = $native(&mut self.heap, args);
                let keys = ledger::take();
                used_before = self.heap.fuel_used.wrapping_add(keys).wrapping_sub(pc as u64);
                if keys > 0 && used_before.wrapping_add(pc as u64) > self.heap.limits.fuel {
                    leave!(Exit::Due, None);
                }
                match result {
                    Ok(value) => {
                        self.reclaimed = false;
                        // An argument left behind would be a second owner of what it holds.
                        args.iter_mut().filter(|arg| !arg.is_plain()).for_each(|arg| *arg = Value::Nil);
                        if !value.is_scalar()
                            && let Err(signal) = self.admit(&value)
                        {
                            leave!(Exit::Signal(signal), Some($dst));
                        }
                        regs.put($dst, value);
                        if self.heap.fresh_bytes >= self.census_at {
                            leave!(Exit::Due, None);
                        }
                    }
                    Err(signal) => leave!(Exit::Native(signal, $id, $f, u16::from($n), $dst), Some($dst)),
                }
            }};
        }
        // Makes the frame of a function with one fixed arity, if there is room and no meter needs a look.
        macro_rules! enter {
            ($body:expr, $f:expr, $dst:expr, $otherwise:expr) => {{
                let simple = $body.simple;
                let frames = &mut self.fiber.frames;
                let new_base = base + u32::from($f) + 1;
                if frames.len() == frames.capacity()
                    || self.fiber.regs.len() < new_base as usize + usize::from(simple.registers)
                    || used_before.wrapping_add(pc as u64) >= self.stop_at
                    || self.heap.fresh_bytes >= self.census_at
                {
                    leave!($otherwise, Some($dst));
                }
                if let Some(frame) = frames.last_mut() {
                    frame.pc = pc as u32;
                }
                base = new_base;
                let (unit, give) = ($body.unit.id, Give::Into($dst));
                frames.push(Frame { unit, pc: simple.entry, base, registers: simple.registers, give });
                // SAFETY: as above; the closure's code and registers belong together.
                unsafe {
                    if unit != code.linked().id {
                        code = Code::new(&$body.unit);
                    }
                    regs = Window::new(&mut self.fiber.regs, base as usize, simple.registers);
                }
                jump!(simple.entry);
            }};
        }

        loop {
            let op = code.get(pc);
            pc += 1;
            match *op {
                Op::Nil { dst } => regs.put(dst, Value::Nil),
                Op::Bool { dst, value } => regs.put_bool(dst, value),
                Op::Int { dst, value } => regs.put_int(dst, i64::from(value)),
                Op::Const { dst, at } => regs.load(dst, &code.linked().consts[at as usize]),
                Op::Copy { dst, src } => regs.copy(dst, src),
                Op::Move { dst, src } => regs.shift(dst, src),
                Op::Jump { to } => {
                    // Only jumps back can make a loop, so only they look at the meters.
                    let back = (to as usize) < pc;
                    jump!(to);
                    if back
                        && (used_before.wrapping_add(pc as u64) >= self.stop_at
                            || self.heap.fresh_bytes >= self.census_at)
                    {
                        leave!(Exit::Due, None);
                    }
                }
                Op::JumpIfNot { src, to } => {
                    if !regs.get(src).truthy() {
                        jump!(to);
                    }
                }
                Op::JumpIf { src, to } => {
                    if regs.get(src).truthy() {
                        jump!(to);
                    }
                }
                Op::JumpIfNil { src, to } => {
                    if regs.get(src).is_nil() {
                        jump!(to);
                    }
                }
                Op::IfLess { a, b } => compare!(op, a, b, <),
                Op::IfLessEq { a, b } => compare!(op, a, b, <=),
                Op::IfEqual { a, b } => match same(regs.get(a), regs.get(b)) {
                    Some(same) => branch!(same),
                    None => leave!(Exit::Slow(*op), None),
                },
                Op::IfLessInt { a, value } => compare_int!(op, a, value, <),
                Op::IfLessEqInt { a, value } => compare_int!(op, a, value, <=),
                Op::IfMoreInt { a, value } => compare_int!(op, a, value, >),
                Op::IfMoreEqInt { a, value } => compare_int!(op, a, value, >=),
                Op::IfEqualInt { a, value } => compare_int!(op, a, value, ==),
                Op::Add { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_add, +),
                Op::AddInt { dst, a, value } => {
                    if let Value::Int(int) = regs.get(a)
                        && let Some(sum) = int.checked_add(i64::from(value))
                    {
                        regs.put_int(dst, sum);
                        continue;
                    }
                    leave!(Exit::Slow(*op), None);
                }
                Op::Sub { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_sub, -),
                Op::Mul { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_mul, *),
                Op::Less { dst, a, b } => match less(regs.get(a), regs.get(b)) {
                    Some(less) => regs.put_bool(dst, less),
                    None => leave!(Exit::Slow(*op), None),
                },
                Op::LessEq { dst, a, b } => match less_eq(regs.get(a), regs.get(b)) {
                    Some(less) => regs.put_bool(dst, less),
                    None => leave!(Exit::Slow(*op), None),
                },
                Op::Equal { dst, a, b } => match same(regs.get(a), regs.get(b)) {
                    Some(equal) => regs.put_bool(dst, equal),
                    None => leave!(Exit::Slow(*op), None),
                },
                Op::Not { dst, src } => {
                    let not = !regs.get(src).truthy();
                    regs.put_bool(dst, not);
                }
                Op::Lookup { dst, map, key } => {
                    if let Value::Map(body) = regs.get(map)
                        && let Some(value) = body.table.get(&code.linked().consts[usize::from(key)]).cloned()
                    {
                        regs.put(dst, value);
                        continue;
                    }
                    leave!(Exit::Slow(*op), Some(dst));
                }
                Op::Capture { dst, at } => {
                    let value = match regs.callee() {
                        Value::Fn(body) => body.captures[usize::from(at)].clone(),
                        _ => Value::Nil,
                    };
                    regs.put(dst, value);
                }
                Op::Global { dst, at } => match self.heap.globals.get(code.linked().globals[at as usize]) {
                    Value::Unbound => leave!(Exit::Slow(*op), None),
                    value => regs.load(dst, value),
                },
                Op::CallGlobal { dst, f, n, at } => {
                    match self.heap.globals.get(code.linked().globals[usize::from(at)]) {
                        value @ Value::Fn(body) if body.simple.params == u16::from(n) => {
                            match body.simple.needs_self {
                                true => regs.load(f, value),
                                false => regs.release(f),
                            }
                            enter!(body, f, dst, {
                                regs.put(f, value.clone());
                                Exit::Enter(f, u16::from(n), dst)
                            });
                        }
                        Value::Unbound => leave!(Exit::Slow(*op), None),
                        value => {
                            regs.put(f, value.clone());
                            leave!(Exit::Call(f, u16::from(n), Some(dst)), Some(dst));
                        }
                    }
                }
                Op::Call { dst, f, n } => match regs.get(f) {
                    Value::Fn(body) if body.simple.params == n => {
                        enter!(body, f, dst, Exit::Call(f, n, Some(dst)));
                    }
                    Value::Builtin(id) => {
                        let id = *id;
                        let entry = registry().get(id);
                        match entry.run {
                            Run::Native(native) if entry.arity().accepts(usize::from(n)) => {
                                call_native!(native, id, f, n, dst);
                            }
                            _ => leave!(Exit::Call(f, n, Some(dst)), Some(dst)),
                        }
                    }
                    _ => leave!(Exit::Call(f, n, Some(dst)), Some(dst)),
                },
                Op::CallBuiltin { dst, f, n, id } => {
                    let entry = registry().get(id);
                    match entry.run {
                        Run::Native(native) if entry.arity().accepts(usize::from(n)) => {
                            call_native!(native, id, f, n, dst);
                        }
                        _ => {
                            regs.put(f, Value::Builtin(id));
                            leave!(Exit::Call(f, u16::from(n), Some(dst)), Some(dst));
                        }
                    }
                }
                Op::TailCall { f, n } => leave!(Exit::Call(f, n, None), None),
                Op::Return { src } => {
                    let [.., caller, frame] = self.fiber.frames.as_slice() else {
                        let value = regs.take(src);
                        leave!(Exit::Return(value), None);
                    };
                    let Give::Into(dst) = frame.give else {
                        let value = regs.take(src);
                        leave!(Exit::Return(value), None);
                    };
                    let (registers, back) = (frame.registers, caller.pc);
                    let unit = caller.unit;
                    base = caller.base;
                    // SAFETY: as above; of the callee's window only what is moved and cleared is touched.
                    unsafe {
                        let mut below = Window::new(&mut self.fiber.regs, base as usize, caller.registers);
                        regs.give(src, &mut below, dst);
                        regs.clear(registers);
                        regs = below;
                        if unit != code.linked().id {
                            code = Code::new(self.unit(unit));
                        }
                    }
                    self.fiber.frames.pop();
                    jump!(back);
                }
                Op::Next { dst, walk } => {
                    let next = match regs.get(walk) {
                        Value::Iter(items) => items.borrow_mut().next(),
                        _ => Ok(None),
                    };
                    match next {
                        Ok(None) => {}
                        Ok(Some(item)) => {
                            pc += 1;
                            regs.put(dst, item);
                        }
                        Err(lazy) => leave!(Exit::Signal(Box::new(Signal::Force(lazy))), None),
                    }
                }
                Op::Unreduce { src } => match regs.get(src) {
                    Value::Reduced(value) => {
                        let value = (**value).clone();
                        regs.put(src, value);
                    }
                    _ => pc += 1,
                },
                Op::SelfFn { .. }
                | Op::Sibling { .. }
                | Op::SiblingOf { .. }
                | Op::Function { .. }
                | Op::GlobalOrNil { .. }
                | Op::HasGlobal { .. }
                | Op::Define { .. }
                | Op::Data { .. }
                | Op::History { .. }
                | Op::Vector { .. }
                | Op::Map { .. }
                | Op::Set { .. }
                | Op::Walk { .. }
                | Op::TakeSlot { .. }
                | Op::Try { .. }
                | Op::EndTry
                | Op::Catches { .. }
                | Op::Throw { .. } => leave!(Exit::Slow(*op), None),
            }
        }
    }

    /// Looks at a value that a native made before it goes into a register.
    #[inline(never)]
    fn admit(&mut self, value: &Value) -> Result<(), Box<Signal>> {
        if matches!(value, Value::Time(_)) {
            // Dates are made in many places; here all of them pass.
            self.heap.allocated(size_of::<crate::value::Time>() + 16);
        }
        check_depth(value)
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

/// Whether one small number is below another; other kinds are left to `arith`.
#[inline(always)]
fn less(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a < b),
        (Value::Float(a), Value::Float(b)) => Some(a < b),
        _ => None,
    }
}

/// Like [`less`], or equal.
#[inline(always)]
fn less_eq(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a <= b),
        (Value::Float(a), Value::Float(b)) => Some(a <= b),
        _ => None,
    }
}

/// Whether two values are equal, if that takes no walk.
#[inline(always)]
fn same(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a == b),
        (Value::Float(a), Value::Float(b)) => Some(a == b),
        (Value::Kw(a), Value::Kw(b)) => Some(a == b),
        (Value::Str(a), Value::Str(b)) if a.byte_len() <= 64 => Some(a.as_bytes() == b.as_bytes()),
        (Value::Nil, b) => Some(b.is_nil()),
        (a, Value::Nil) => Some(a.is_nil()),
        _ => None,
    }
}

/// Where the result of a call goes, as the frame remembers it.
pub(super) fn give(dst: Option<Reg>) -> Give {
    dst.map_or(Give::Continue, Give::Into)
}
