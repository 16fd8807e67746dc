//! The instruction loop.
//!
//! The loop works on the running frame's registers and on what natives may touch, and nothing else; so
//! the compiler keeps its state in processor registers. Whatever needs more of the machine (growing the
//! stack, errors, tools, rare instructions) is done by methods of the machine, after which the loop picks up
//! the topmost frame again.
#![expect(unsafe_code, reason = "makes the windows that `window` has the reasons for")]

use super::call::check_depth;
use super::fiber::{Cont, Frame, Give};
use super::window::{CodePointer, Window};
use super::{Machine, Stop};
use crate::builtins::gather::PUSHED;
use crate::builtins::{Run, registry};
use crate::code::{Op, Reg};
use crate::error::Error;
use crate::heap::METERED;
use crate::signal::Signal;
use crate::value::{Value, ledger};

/// What the loop does after an instruction.
pub(super) enum Go {
    /// The next instruction.
    On,
    /// The topmost frame has changed: look there.
    Frame,
    /// The fiber waits for a tool.
    Blocked,
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

impl Machine {
    /// Runs the current fiber until it ends, waits, or the slice of fuel is used up.
    pub(super) fn execute(&mut self) -> Stop {
        // The last slice may have ended while a sequence was realised.
        let mut go = self.resume_conts();
        loop {
            match go {
                Go::On | Go::Frame => {}
                Go::Blocked => return Stop::Blocked,
                Go::Stop(stop) => return *stop,
            }
            let (done, dst) = self.run_frames();
            go = done.unwrap_or_else(|signal| self.signal(signal, dst));
        }
    }

    /// A call that is not one of a simple function: the function's register in the running frame, the
    /// number of arguments, the register for the result.
    #[inline(never)]
    fn call(&mut self, f: Reg, n: u16, dst: Option<Reg>) -> Done {
        let f = self.base() + usize::from(f);
        match self.fiber.regs[f] {
            Value::Tool(tool) => self.call_tool(tool, f, usize::from(n), dst),
            _ => self.invoke(f, usize::from(n), dst),
        }
    }

    /// The call of a definition that is a simple function, when a meter needs a look or room is made.
    #[inline(never)]
    fn call_definition(&mut self, f: Reg, n: u16, dst: Reg) -> Done {
        let f = self.base() + usize::from(f);
        let done = self.invoke(f, usize::from(n), Some(dst));
        self.forget_callee(f);
        done
    }

    /// An instruction that needs the machine. What it made may call for a census.
    #[inline(never)]
    fn by_hand(&mut self, op: Op) -> Done {
        let done = self.slow(op)?;
        if op.is_arithmetic() && !self.operands_are_plain(op) {
            self.large = true;
            // Bringing decimals to one scale.
            self.heap.work(usize::try_from(ledger::take()).unwrap_or(usize::MAX))?;
        }
        if self.heap.fresh_bytes >= self.census_at {
            return self.look();
        }
        Ok(done)
    }

    /// Looks at the meters.
    #[inline(never)]
    fn look(&mut self) -> Done {
        Ok(self.service()?.map_or(Go::On, Go::stop))
    }

    /// Runs instructions until one needs the machine; also says where that one's result goes.
    #[inline(never)]
    #[expect(
        clippy::too_many_lines,
        reason = "the loop is one function so that its state stays in registers"
    )]
    fn run_frames(&mut self) -> (Done, Option<Reg>) {
        'frame: loop {
            let Some(frame) = self.fiber.frames.last() else {
                return (Ok(Go::stop(Stop::Ended(Value::Nil))), None);
            };
            let Frame { unit, base, registers, .. } = *frame;
            let next = frame.pc;
            // SAFETY: the frame's code was compiled or verified for its number of registers; while `regs` is
            // in use the stack is reached by it alone; units are not dropped while a program runs.
            let (mut code, mut regs) = unsafe {
                (
                    CodePointer::new(self.unit(unit)),
                    Window::new(&mut self.fiber.regs, base as usize, registers),
                )
            };

            let mut pc = code.place(next);
            // Fuel is one per instruction: instead of counting, the loop knows the place at which the slice
            // would end if the code went straight on until there.
            let mut until = pc.far(left(self.stop_at, self.heap.fuel_used));
            // Fuel used so far. `pc` stays at an instruction while it runs; what it costs is used by then.
            macro_rules! used {
                () => {
                    if METERED {
                        self.stop_at.wrapping_sub(pc.next().distance(until).cast_unsigned())
                    } else {
                        0
                    }
                };
            }
            // Leaves the frame to the machine; it remembers where it stands.
            macro_rules! ask {
                ($answer:expr, $dst:expr) => {{
                    self.heap.fuel_used = used!();
                    if let Some(frame) = self.fiber.frames.last_mut() {
                        frame.pc = code.number(pc.next());
                    }
                    match $answer {
                        Ok(Go::On | Go::Frame) => continue 'frame,
                        done => return (done, $dst),
                    }
                }};
            }
            macro_rules! jump {
                ($to:expr) => {{
                    let to = code.place($to);
                    if METERED {
                        until = until.wrapping_add(to.far(0)).wrapping_sub(pc.next().far(0));
                    }
                    pc = to;
                    continue;
                }};
            }
            // The same, back or perhaps back: only there a loop can be, so there the meters are looked at.
            macro_rules! jump_metered {
                ($to:expr) => {{
                    let to = code.place($to);
                    if METERED {
                        until = until.wrapping_add(to.far(0)).wrapping_sub(pc.next().far(0));
                        if to.far(0) >= until {
                            pc = to.previous();
                            ask!(self.look(), None);
                        }
                    }
                    pc = to;
                    continue;
                }};
            }
            // What follows a comparison: the next instruction is skipped if it holds. It is a jump.
            macro_rules! branch {
                ($holds:expr) => {{
                    if $holds {
                        pc = pc.next().next();
                        continue;
                    }
                    jump!(code.jump_at(pc.next()));
                }};
            }
            macro_rules! compare_int {
            ($op:expr, $a:expr, $value:expr, $compare:tt) => {{
                if let Value::Int(a) = regs.get($a) {
                    branch!(*a $compare i64::from($value));
                }
                if let Some(holds) = regs.compare_float($a, $value, |a, b| a $compare b) {
                    branch!(holds);
                }
                ask!(self.by_hand(*$op), None);
            }};
        }
            macro_rules! compare {
            ($op:expr, $a:expr, $b:expr, $compare:tt) => {{
                if let Value::Int(a) = regs.get($a) && let Value::Int(b) = regs.get($b) {
                    branch!(a $compare b);
                }
                if let Some(holds) = regs.compare_floats($a, $b, |a, b| a $compare b) {
                    branch!(holds);
                }
                ask!(self.by_hand(*$op), None);
            }};
        }
            // One more turn of a loop that counts, if what it counts to is not reached; otherwise the code behind
            // the jump does it the ordinary way.
            macro_rules! count {
                ($a:expr, $step:expr, $goes_on:expr) => {{
                    if let Value::Int(int) = *regs.get($a)
                        && let Some(sum) = int.checked_add(i64::from($step))
                        && $goes_on(sum)
                    {
                        regs.put_int($a, sum);
                        jump_metered!(code.jump_at(pc.next()));
                    }
                    pc = pc.next();
                }};
            }
            // An operation on two small numbers of the same kind.
            macro_rules! arithmetic {
            ($op:expr, $dst:expr, $a:expr, $b:expr, $ints:expr, $floats:tt) => {{
                if let Value::Int(a) = regs.get($a)
                    && let Value::Int(b) = regs.get($b)
                    && let Some(int) = $ints(*a, *b)
                {
                    regs.put_int($dst, int);
                } else if !regs.floats($dst, $a, $b, |a, b| a $floats b) {
                    ask!(self.by_hand(*$op), None);
                }
            }};
        }
            macro_rules! call_native {
                ($native:expr, $id:expr, $f:expr, $n:expr, $dst:expr) => {{
                    self.heap.fuel_used = used!();
                    let args = regs.row(usize::from($f) + 1, usize::from($n));
                    let result = $native(&mut self.heap, args);
                    let keys = ledger::take();
                    until = pc.next().far(left(self.stop_at, self.heap.fuel_used.saturating_add(keys)));
                    if keys > 0 && used!() > self.heap.limits.fuel {
                        ask!(self.look(), None);
                    }
                    match result {
                        Ok(value) => {
                            self.reclaimed = false;
                            // An argument left behind would be a second owner of what it holds.
                            args.iter_mut().filter(|arg| !arg.is_plain()).for_each(|arg| *arg = Value::Nil);
                            if !value.is_scalar()
                                && let Err(signal) = self.admit(&value)
                            {
                                ask!(Done::Err(signal), Some($dst));
                            }
                            regs.put($dst, value);
                            if self.heap.fresh_bytes >= self.census_at {
                                ask!(self.look(), None);
                            }
                        }
                        Err(signal) => {
                            let (f, n) = (self.base() + usize::from($f), usize::from($n));
                            ask!(self.native_signal(*signal, $id, f, n, Some($dst)), Some($dst))
                        }
                    }
                }};
            }
            // Makes the frame of a function with one fixed arity, if there is room and no meter needs a look.
            macro_rules! enter {
                ($body:expr, $f:expr, $dst:expr, $otherwise:expr) => {{
                    let simple = $body.simple;
                    let frames = &mut self.fiber.frames;
                    let depth = frames.len();
                    // SAFETY: there is a running frame.
                    let caller = unsafe { frames.as_mut_ptr().add(depth - 1) };
                    // SAFETY: as above.
                    let base = unsafe { (*caller).base } + u32::from($f) + 1;
                    if depth == frames.capacity()
                        || self.fiber.regs.len() < base as usize + usize::from(simple.registers)
                        || (METERED && pc.next().far(0) >= until)
                    {
                        ask!($otherwise, Some($dst));
                    }
                    let (unit, give) = ($body.unit.id, Give::into($dst));
                    // SAFETY: there is room for another frame and for its registers, as was just checked; the
                    // closure's code and registers belong together; the rest as above.
                    unsafe {
                        (*caller).pc = code.number(pc.next());
                        let frame = Frame { unit, pc: simple.entry, base, registers: simple.registers, give };
                        caller.add(1).write(frame);
                        frames.set_len(depth + 1);
                        if unit != code.linked().id {
                            code = CodePointer::new(&$body.unit);
                        }
                        regs = regs.above($f, simple.registers);
                    }
                    jump!(simple.entry);
                }};
            }

            loop {
                let op = code.get(pc);
                match *op {
                    Op::Nil { dst } => regs.put(dst, Value::Nil),
                    Op::Bool { dst, value } => regs.put_bool(dst, value),
                    Op::Int { dst, value } => regs.put_int(dst, i64::from(value)),
                    Op::Const { dst, at } => regs.load(dst, &code.linked().consts[at as usize]),
                    Op::Copy { dst, src } => regs.copy(dst, src),
                    Op::Move { dst, src } => regs.shift(dst, src),
                    Op::Jump { to } => jump_metered!(to),
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
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::IfLessInt { a, value } => compare_int!(op, a, value, <),
                    Op::IfLessEqInt { a, value } => compare_int!(op, a, value, <=),
                    Op::IfMoreInt { a, value } => compare_int!(op, a, value, >),
                    Op::IfMoreEqInt { a, value } => compare_int!(op, a, value, >=),
                    Op::IfEqualInt { a, value } => match regs.get(a) {
                        Value::Int(a) => branch!(*a == i64::from(value)),
                        _ => ask!(self.by_hand(*op), None),
                    },
                    Op::CountBelowInt { a, step, value } => count!(a, step, |sum| sum < i64::from(value)),
                    Op::CountAboveInt { a, step, value } => count!(a, step, |sum| sum > i64::from(value)),
                    Op::CountBelow { a, b, step, equal } => match *regs.get(b) {
                        Value::Int(limit) => {
                            count!(a, step, |sum| sum < limit || (equal && sum == limit));
                        }
                        _ => pc = pc.next(),
                    },
                    Op::CountAbove { a, b, step, equal } => match *regs.get(b) {
                        Value::Int(limit) => {
                            count!(a, step, |sum| sum > limit || (equal && sum == limit));
                        }
                        _ => pc = pc.next(),
                    },
                    Op::Add { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_add, +),
                    Op::AddInt { dst, a, value } => {
                        if let Value::Int(int) = regs.get(a)
                            && let Some(sum) = int.checked_add(i64::from(value))
                        {
                            regs.put_int(dst, sum);
                        } else {
                            ask!(self.by_hand(*op), None);
                        }
                    }
                    Op::Sub { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_sub, -),
                    Op::Mul { dst, a, b } => arithmetic!(op, dst, a, b, i64::checked_mul, *),
                    Op::Less { dst, a, b } => match less(regs.get(a), regs.get(b)) {
                        Some(less) => regs.put_bool(dst, less),
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::LessEq { dst, a, b } => match less_eq(regs.get(a), regs.get(b)) {
                        Some(less) => regs.put_bool(dst, less),
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::Equal { dst, a, b } => match same(regs.get(a), regs.get(b)) {
                        Some(equal) => regs.put_bool(dst, equal),
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::Not { dst, src } => {
                        let not = !regs.get(src).truthy();
                        regs.put_bool(dst, not);
                    }
                    Op::Lookup { dst, .. } => {
                        if !regs.look_up(op, code, &mut self.hints) {
                            ask!(self.by_hand(*op), Some(dst));
                        }
                    }
                    Op::Field { dst, .. } => {
                        if !regs.field(op, code, &mut self.hints) {
                            ask!(self.by_hand(*op), Some(dst));
                        }
                    }
                    Op::Capture { dst, at } => regs.capture(dst, at),
                    Op::Global { dst, at } => match self.heap.globals.get(code.linked().globals[at as usize])
                    {
                        Value::Unbound => ask!(self.by_hand(*op), None),
                        value => regs.load(dst, value),
                    },
                    Op::CallGlobal { dst, f, n, at } => match self.heap.globals.get(code.slot(at)) {
                        value @ Value::Fn(body) if body.simple.params_alone == u16::from(n) => {
                            regs.release(f);
                            enter!(body, f, dst, {
                                regs.put(f, value.clone());
                                self.call_definition(f, u16::from(n), dst)
                            });
                        }
                        value @ Value::Fn(body) if body.simple.params == u16::from(n) => {
                            regs.load(f, value);
                            enter!(body, f, dst, {
                                regs.put(f, value.clone());
                                self.call_definition(f, u16::from(n), dst)
                            });
                        }
                        Value::Unbound => ask!(self.by_hand(*op), None),
                        value => {
                            regs.put(f, value.clone());
                            ask!(self.call(f, u16::from(n), Some(dst)), Some(dst));
                        }
                    },
                    Op::Call { dst, f, n } => match regs.get(f) {
                        Value::Fn(body) if body.simple.params == n => {
                            enter!(body, f, dst, self.call(f, n, Some(dst)));
                        }
                        Value::Builtin(id) => {
                            let id = *id;
                            let entry = registry().get(id);
                            match entry.run {
                                Run::Native(native) if entry.arity().accepts(usize::from(n)) => {
                                    call_native!(native, id, f, n, dst);
                                }
                                _ => ask!(self.call(f, n, Some(dst)), Some(dst)),
                            }
                        }
                        Value::Map(_) if n == 1 && regs.call_map(f, dst) => {}
                        _ => ask!(self.call(f, n, Some(dst)), Some(dst)),
                    },
                    Op::CallBuiltin { dst, f, n, id } => {
                        let entry = registry().get(id);
                        match entry.run {
                            Run::Native(native) if entry.arity().accepts(usize::from(n)) => {
                                call_native!(native, id, f, n, dst);
                            }
                            _ => {
                                regs.put(f, Value::Builtin(id));
                                ask!(self.call(f, u16::from(n), Some(dst)), Some(dst));
                            }
                        }
                    }
                    Op::TailCall { f, n } => ask!(self.call(f, n, None), None),
                    Op::Return { src, residue } => {
                        let [.., caller, frame] = self.fiber.frames.as_slice() else {
                            let value = regs.take(src);
                            ask!(Done::Ok(self.give_back(value)), None);
                        };
                        let Some(dst) = frame.give.register() else {
                            let value = regs.take(src);
                            ask!(Done::Ok(self.give_back(value)), None);
                        };
                        let (registers, back) = (frame.registers, caller.pc);
                        let unit = caller.unit;
                        // SAFETY: as above; the caller's window was on the stack when it ran; of the callee's window
                        // only what is moved and cleared is touched; there are two frames.
                        unsafe {
                            let (below, apart) = (caller.registers, (frame.base - caller.base) as usize);
                            #[cfg(debug_assertions)]
                            let end = frame.base as usize + usize::from(registers);
                            self.fiber.frames.set_len(self.fiber.frames.len() - 1);
                            let mut below = regs.below(apart, below);
                            regs.give(src, &mut below, dst);
                            regs.clear(registers, residue);
                            if self.large {
                                regs.clear_large(registers);
                            }
                            #[cfg(debug_assertions)]
                            assert!(self.loaded || self.fiber.is_clear_above(end), "what is left is emptied");
                            regs = below;
                            if unit != code.linked().id {
                                code = CodePointer::new(self.unit(unit));
                            }
                        }
                        jump!(back);
                    }
                    Op::Next { dst, walk } => match regs.next(dst, walk) {
                        Some(true) => pc = pc.next(),
                        Some(false) => {}
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::Take { dst, walk } => match regs.next(dst, walk) {
                        Some(true) => jump_metered!(code.jump_at(pc.next())),
                        Some(false) => pc = pc.next(),
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::Advance { dst, walk } => match regs.advance(dst, walk) {
                        Some(true) => jump_metered!(code.jump_at(pc.next())),
                        Some(false) => pc = pc.next(),
                        None => ask!(self.by_hand(*op), None),
                    },
                    Op::Item { dst, walk } => regs.item(dst, walk),
                    Op::Push { vec, item } => {
                        if !regs.append(vec, item) {
                            ask!(self.by_hand(*op), None);
                        }
                        self.heap.allocated(PUSHED);
                        if self.heap.fresh_bytes >= self.census_at {
                            ask!(self.look(), None);
                        }
                    }
                    Op::Group { .. } | Op::GroupItem { .. } if regs.group(op, &self.hints) => {
                        self.heap.allocated(PUSHED);
                        if self.heap.fresh_bytes >= self.census_at {
                            ask!(self.look(), None);
                        }
                    }
                    Op::Tally { .. } | Op::Group { .. } | Op::GroupItem { .. } | Op::Include { .. } => {
                        self.heap.fuel_used = used!();
                        let filled = self.fill(regs, op);
                        until = pc.next().far(left(self.stop_at, self.heap.fuel_used));
                        match filled {
                            Ok(false) => {}
                            Ok(true) => ask!(self.look(), None),
                            Err(signal) => ask!(Done::Err(signal), None),
                        }
                    }
                    Op::Pipe { .. } | Op::Fuse { .. } => {}
                    Op::Unreduce { src } => match regs.get(src) {
                        Value::Reduced(value) => {
                            let value = (**value).clone();
                            regs.put(src, value);
                        }
                        _ => pc = pc.next(),
                    },
                    Op::SelfFn { .. }
                    | Op::Sibling { .. }
                    | Op::SiblingOf { .. }
                    | Op::Function { .. }
                    | Op::GlobalOrNil { .. }
                    | Op::HasGlobal { .. }
                    | Op::Export { .. }
                    | Op::Define { .. }
                    | Op::Data { .. }
                    | Op::History { .. }
                    | Op::Vector { .. }
                    | Op::Map { .. }
                    | Op::Set { .. }
                    | Op::Walk { .. }
                    | Op::TakeSlot { .. }
                    | Op::Try { .. }
                    | Op::EndTry {}
                    | Op::Catches { .. }
                    | Op::IfFits { .. }
                    | Op::Skim { .. }
                    | Op::Throw { .. } => ask!(self.by_hand(*op), None),
                }
                pc = pc.next();
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

    /// The error for a program that needs too much memory, with what helps where a sequence is being realised: it may have
    /// no end.
    pub(super) fn out_of_memory(&self) -> Error {
        let error = self.heap.out_of_memory();
        let realises = |cont: &Cont| matches!(cont, Cont::Realise(_) | Cont::RealiseDeep(_));
        match (&error.hint, self.fiber.conts.iter().any(realises)) {
            (Some(hint), true) => {
                let endless = "a sequence without end, such as (range) or (iterate f x), is only as long as (take n coll) \
                               makes it";
                Error { hint: Some(format!("{endless}; or {hint}")), ..error }
            }
            _ => error,
        }
    }
}

/// How much fuel is left until `stop_at`; less than nothing if more was used.
#[inline(always)]
fn left(stop_at: u64, used: u64) -> i64 {
    // What is used may be far too much, but not so much that it could not be told any more.
    stop_at.cast_signed().wrapping_sub(used.min(1 << 58).cast_signed())
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
    dst.map_or(Give::CONTINUE, Give::into)
}
