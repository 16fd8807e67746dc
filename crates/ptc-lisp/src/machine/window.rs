//! The running frame's registers and code as the loop sees them: without bounds checks.
//!
//! With what `run.rs` does on top of it, this is the unsafe code of the machine. The loop reads and writes two or three registers per
//! instruction; checking each against the length of the stack made it half as fast again. What makes
//! it sound:
//!
//! - Code names only registers below its arity's count and jumps only inside its unit. The compiler
//!   makes such code, and `verify` holds code that comes from outside to it before it is linked.
//! - A window is made from the stack after it has grown to hold the whole window, and made anew
//!   whenever the stack may have moved or another frame has become the running one.
//! - Debug builds, which all tests use, check every access.
#![expect(unsafe_code, reason = "bounds checks cost the loop a third of its speed")]

pub mod walks;

use std::mem::MaybeUninit;

use crate::code::{Linked, Op, Reg, Residue};
use crate::value::{Value, stamp};

/// The registers of a frame, and the function it runs in the register before them.
#[derive(Clone, Copy)]
pub(super) struct Window {
    first: *mut Value,
    #[cfg(debug_assertions)]
    count: usize,
}

impl Window {
    /// The window of `count` registers from `base` on, which the stack must hold.
    ///
    /// # Safety
    /// The window is used only while the stack is neither moved nor reached by another way, and only
    /// with registers of code that was compiled for `count` registers.
    #[inline(always)]
    pub unsafe fn new(stack: &mut [Value], base: usize, count: u16) -> Window {
        assert!(base > 0 && base + usize::from(count) <= stack.len(), "the window is on the stack");
        // SAFETY: as was just checked, and as the caller answers for.
        unsafe { Window::inside(stack, base, count) }
    }

    /// The same where it is known that the stack holds the window: for a frame that was just made room for,
    /// and for one that ran before, since the stack never gets shorter.
    ///
    /// # Safety
    /// As for [`Window::new`], and the window is on the stack.
    #[inline(always)]
    pub unsafe fn inside(stack: &mut [Value], base: usize, count: u16) -> Window {
        let count = usize::from(count);
        debug_assert!(base > 0 && base + count <= stack.len(), "the window is on the stack");
        let _ = count;
        Window {
            // SAFETY: `base` is inside of the stack.
            first: unsafe { stack.as_mut_ptr().add(base) },
            #[cfg(debug_assertions)]
            count,
        }
    }

    /// The window of `count` registers that begins after register `f`.
    ///
    /// # Safety
    /// As for [`Window::inside`].
    #[inline(always)]
    pub unsafe fn above(self, f: Reg, count: u16) -> Window {
        let _ = count;
        Window {
            // SAFETY: it is on the stack, which the caller answers for.
            first: unsafe { self.first.add(usize::from(f) + 1) },
            #[cfg(debug_assertions)]
            count: usize::from(count),
        }
    }

    /// The window of `count` registers that begins `apart` registers before this one. It is made from this one and not
    /// from the stack, because a new borrow of the stack would end this one, and results go from one to the other.
    ///
    /// # Safety
    /// As for [`Window::inside`].
    #[inline(always)]
    pub unsafe fn below(self, apart: usize, count: u16) -> Window {
        let _ = count;
        Window {
            // SAFETY: it is on the stack, which the caller answers for.
            first: unsafe { self.first.sub(apart) },
            #[cfg(debug_assertions)]
            count: usize::from(count),
        }
    }

    #[inline(always)]
    fn check(&self, end: usize) {
        #[cfg(debug_assertions)]
        assert!(end <= self.count, "register {end} of {}", self.count);
        let _ = end;
    }

    #[inline(always)]
    fn at(&self, at: Reg) -> *mut Value {
        self.check(usize::from(at) + 1);
        // SAFETY: the register is in the window, which the maker of the window answers for.
        unsafe { self.first.add(usize::from(at)) }
    }

    /// Two registers to be changed in place; nothing if they are the same.
    #[inline(always)]
    pub fn two(&mut self, a: Reg, b: Reg) -> Option<(&mut Value, &mut Value)> {
        // SAFETY: they point into the stack, to different values.
        (a != b).then(|| unsafe { (&mut *self.at(a), &mut *self.at(b)) })
    }

    /// A register.
    #[inline(always)]
    pub fn get(&self, at: Reg) -> &Value {
        // SAFETY: it points into the stack, to a value.
        unsafe { &*self.at(at) }
    }

    /// Puts a value into a register. Plain values, by far the most common, are not dropped.
    #[inline(always)]
    pub fn put(&mut self, at: Reg, value: Value) {
        stamp::meet(&value);
        let register = self.emptied(at);
        // SAFETY: it points into the stack, and what was there needs no drop any more.
        unsafe { std::ptr::write(register, value) }
    }

    /// Puts an integer into a register; where one was before, only the number changes.
    #[inline(always)]
    pub fn put_int(&mut self, at: Reg, int: i64) {
        // SAFETY: it points into the stack, to a value.
        match unsafe { &mut *self.at(at) } {
            Value::Int(slot) => *slot = int,
            other => replace(other, Value::Int(int)),
        }
    }

    /// Puts a float into a register; where one was before, only the number changes.
    #[inline(always)]
    pub fn put_float(&mut self, at: Reg, float: f64) {
        // SAFETY: it points into the stack, to a value.
        match unsafe { &mut *self.at(at) } {
            Value::Float(slot) => *slot = float,
            other => replace(other, Value::Float(float)),
        }
    }

    /// Puts a boolean into a register.
    #[inline(always)]
    pub fn put_bool(&mut self, at: Reg, bool: bool) {
        // SAFETY: it points into the stack, to a value.
        match unsafe { &mut *self.at(at) } {
            Value::Bool(slot) => *slot = bool,
            other => replace(other, Value::Bool(bool)),
        }
    }

    /// Puts a copy of `value` into a register.
    #[inline(always)]
    pub fn load(&mut self, at: Reg, value: &Value) {
        let register = self.at(at);
        stamp::meet(value);
        if value.is_plain() {
            let register = self.emptied(at);
            // SAFETY: both point to values; copying a plain value counts nothing.
            unsafe { copy_words(value, register) }
        } else {
            // SAFETY: it points into the stack, to a value.
            replace(unsafe { &mut *register }, value.clone());
        }
    }

    /// Puts a copy of another register into a register.
    #[inline(always)]
    pub fn copy(&mut self, dst: Reg, src: Reg) {
        // SAFETY: it points into the stack, to a value that is read before anything is written.
        let value = unsafe { &*self.at(src) };
        self.load(dst, value);
    }

    /// Moves the value of another register into a register; a plain value stays in both.
    #[inline(always)]
    pub fn shift(&mut self, dst: Reg, src: Reg) {
        let (to, from) = (self.at(dst), self.at(src));
        stamp::meet(self.get(src));
        // SAFETY: both point into the stack, to values; copying a plain value over another counts nothing.
        unsafe {
            if (*to).is_plain() && (*from).is_plain() {
                copy_words(from, to);
            } else {
                shift_counted(to, from);
            }
        }
    }

    /// A register whose value has been dropped: it must be written before anything else happens.
    #[inline(always)]
    fn emptied(&mut self, at: Reg) -> *mut Value {
        let register = self.at(at);
        // SAFETY: it points into the stack, to a value; what is left owns nothing.
        let value = unsafe { &*register };
        if !value.is_plain() && !value.is_short() {
            replace(unsafe { &mut *register }, Value::Nil);
        }
        register
    }

    /// Takes the value out of a register.
    #[inline(always)]
    pub fn take(&mut self, at: Reg) -> Value {
        // SAFETY: it points into the stack, to a value.
        std::mem::take(unsafe { &mut *self.at(at) })
    }

    /// Makes sure that a register holds nothing that is counted.
    #[inline(always)]
    pub fn release(&mut self, at: Reg) {
        // SAFETY: it points into the stack, to a value.
        let value = unsafe { &mut *self.at(at) };
        if !value.is_plain() {
            replace(value, Value::Nil);
        }
    }

    /// Moves the value of a register into a register of the caller's window.
    #[inline(always)]
    pub fn give(&mut self, src: Reg, caller: &mut Window, dst: Reg) {
        stamp::meet(self.get(src));
        let (from, to) = (self.at(src), caller.emptied(dst));
        // SAFETY: both point into the stack; the value moves, and its place is overwritten without drop.
        unsafe {
            let plain = (*from).is_plain();
            copy_words(from, to);
            if !plain {
                std::ptr::write(from, Value::Nil);
            }
        }
    }

    /// `count` registers in a row.
    #[inline(always)]
    pub fn row(&mut self, first: usize, count: usize) -> &mut [Value] {
        self.check(first + count);
        // SAFETY: all of them are in the window.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(first), count) }
    }

    /// Puts a captured value of the function that runs into a register. Not inlined: the loop would keep the place of
    /// the function at hand all the time.
    #[inline(never)]
    pub fn capture(mut self, dst: Reg, at: u16) {
        // SAFETY: a window never begins at the bottom of the stack.
        let value = match unsafe { &*self.first.sub(1) } {
            Value::Fn(body) => body.captures[usize::from(at)].clone(),
            _ => Value::Nil,
        };
        self.put(dst, value);
    }

    /// Computes with two floats; false if they are not. Not inlined: so the loop has the least to do for integers,
    /// its most common case.
    #[inline(never)]
    pub fn floats(mut self, dst: Reg, a: Reg, b: Reg, compute: impl FnOnce(f64, f64) -> f64) -> bool {
        let (Value::Float(a), Value::Float(b)) = (self.get(a), self.get(b)) else { return false };
        let result = compute(*a, *b);
        self.put_float(dst, result);
        true
    }

    /// Compares two floats, if they are.
    #[inline(never)]
    pub fn compare_floats(self, a: Reg, b: Reg, compare: impl FnOnce(f64, f64) -> bool) -> Option<bool> {
        match (self.get(a), self.get(b)) {
            (Value::Float(a), Value::Float(b)) => Some(compare(*a, *b)),
            _ => None,
        }
    }

    /// Compares a float with an integer, if it is one.
    #[inline(never)]
    pub fn compare_float(self, a: Reg, value: i32, compare: impl FnOnce(f64, f64) -> bool) -> Option<bool> {
        match self.get(a) {
            Value::Float(a) => Some(compare(*a, f64::from(value))),
            _ => None,
        }
    }

    /// Empties the registers of `residue` and that of the function: nothing above the caller's window may hold
    /// what is counted.
    #[inline(always)]
    pub fn clear(&mut self, count: u16, residue: Residue) {
        if residue == Residue::ALL {
            return self.clear_all(count);
        }
        // SAFETY: it points into the stack, to a value.
        let callee = unsafe { &mut *self.first.sub(1) };
        if !callee.is_plain() {
            replace(callee, Value::Nil);
        }
        let mut left = residue.0;
        while left != 0 {
            self.release(left.trailing_zeros() as Reg);
            left &= left - 1;
        }
    }

    /// Empties those of the window's `count` registers that hold a large integer or a decimal.
    #[inline(never)]
    pub fn clear_large(&mut self, count: u16) {
        let large = |register: &&mut Value| matches!(register, Value::Big(_) | Value::Decimal(_));
        self.row(0, usize::from(count)).iter_mut().filter(large).for_each(|register| *register = Value::Nil);
    }

    /// Empties the window's `count` registers and that of the function.
    #[inline(never)]
    fn clear_all(&mut self, count: u16) {
        self.check(usize::from(count));
        // SAFETY: from the function's register to the last of the window.
        let window = unsafe { std::slice::from_raw_parts_mut(self.first.sub(1), usize::from(count) + 1) };
        window.iter_mut().filter(|register| !register.is_plain()).for_each(|register| *register = Value::Nil);
    }
}

/// Copies a value word by word. Arithmetic has often just written one word of it, and a processor that then
/// reads both at once waits until that write has reached its cache; so the words must not become one.
///
/// # Safety
/// Both point to values; one of the two must be forgotten unless it is plain.
#[inline(always)]
unsafe fn copy_words(from: *const Value, to: *mut Value) {
    // SAFETY: as the caller answers for.
    unsafe { write_words(to, read_words(&*from)) }
}

/// Half of a value, some of whose bytes may be nothing.
type Half = MaybeUninit<u64>;

/// The words of a value.
#[inline(always)]
fn read_words(from: &Value) -> (Half, Half) {
    let from = std::ptr::from_ref(from).cast::<Half>();
    // SAFETY: a value is two words.
    unsafe { (from.read_volatile(), from.add(1).read_volatile()) }
}

/// Makes a value of words.
///
/// # Safety
/// They are those of a value, and `to` is where one was that needs no drop.
#[inline(always)]
unsafe fn write_words(to: *mut Value, (kind, content): (Half, Half)) {
    let to = to.cast::<Half>();
    // SAFETY: a value is two words.
    unsafe {
        to.write_volatile(kind);
        to.add(1).write_volatile(content);
    }
}

const _: () = assert!(size_of::<Value>() == 16 && align_of::<Value>() == 8);

/// Moves a value that may be counted to where one may be.
///
/// # Safety
/// Both point to values.
#[inline(never)]
unsafe fn shift_counted(to: *mut Value, from: *mut Value) {
    // SAFETY: the value is taken out of its place before the other place is written.
    unsafe {
        let value = std::mem::take(&mut *from);
        *to = value;
    }
}

/// Drops what is there. Not inlined: it is rare, and the loop needs its registers for other things.
#[cold]
#[inline(never)]
fn replace(register: &mut Value, value: Value) {
    *register = value;
}

/// The code of a unit.
#[derive(Clone, Copy)]
pub(super) struct CodePointer {
    first: *const Op,
    linked: *const Linked,
}

impl CodePointer {
    /// The code of a unit.
    ///
    /// # Safety
    /// The code is used only while the unit lives, and only with places that the unit's own
    /// instructions lead to.
    pub unsafe fn new(linked: &Linked) -> CodePointer {
        CodePointer { first: linked.unit.ops.as_ptr(), linked }
    }

    /// The unit.
    #[inline(always)]
    pub fn linked(&self) -> &Linked {
        // SAFETY: the maker of the code answers for the unit's life.
        unsafe { &*self.linked }
    }

    /// A constant that the code names.
    #[inline(always)]
    pub fn constant<'a>(self, at: u16) -> &'a Value {
        // SAFETY: the unit lives on, as for `linked`.
        let consts = unsafe { &(*self.linked).consts };
        debug_assert!(usize::from(at) < consts.len(), "constant {at} of {}", consts.len());
        // SAFETY: code names only constants that its unit has; `verify` holds code from outside to it.
        unsafe { consts.get_unchecked(usize::from(at)) }
    }

    /// The slot of a definition that the code names.
    #[inline(always)]
    pub fn slot(&self, at: u16) -> u32 {
        let slots = &self.linked().globals;
        debug_assert!(usize::from(at) < slots.len(), "definition {at} of {}", slots.len());
        // SAFETY: code names only definitions that its unit lists, and linking makes a slot for each.
        unsafe { *slots.get_unchecked(usize::from(at)) }
    }

    /// The place with a number.
    #[inline(always)]
    pub fn place(&self, at: u32) -> CodePosition {
        debug_assert!((at as usize) < self.linked().unit.ops.len(), "instruction {at}");
        CodePosition(self.first.wrapping_add(at as usize))
    }

    /// The number of a place.
    #[inline(always)]
    pub fn number(&self, place: CodePosition) -> u32 {
        ((place.0.addr().wrapping_sub(self.first.addr())) / size_of::<Op>()) as u32
    }

    /// The instruction at a place. By reference: its parts are read where they are used, which leaves
    /// the loop's registers to the loop.
    #[inline(always)]
    pub fn get<'a>(self, place: CodePosition) -> &'a Op {
        debug_assert!((self.number(place) as usize) < self.linked().unit.ops.len(), "a place of the unit");
        // SAFETY: code ends with a return or a jump, and jumps stay inside the unit, which lives on.
        unsafe { &*place.0 }
    }

    /// Where the jump at a place goes that stands behind a comparison or a count.
    #[inline(always)]
    pub fn jump_at(self, place: CodePosition) -> u32 {
        match *self.get(place) {
            Op::Jump { to } => to,
            op => {
                debug_assert!(false, "{op:?} is no jump");
                // SAFETY: the compiler emits a jump there, and `verify` refuses code without one.
                unsafe { std::hint::unreachable_unchecked() }
            }
        }
    }
}

/// Where an instruction stands.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(super) struct CodePosition(*const Op);

impl CodePosition {
    /// The place after it.
    #[inline(always)]
    pub fn next(self) -> CodePosition {
        CodePosition(self.0.wrapping_add(1))
    }

    /// The place before it.
    #[inline(always)]
    pub fn previous(self) -> CodePosition {
        CodePosition(self.0.wrapping_sub(1))
    }

    /// Where the code would be after so many more instructions straight on. Only to compare with: it may be
    /// anywhere.
    #[inline(always)]
    pub fn far(self, instructions: i64) -> i64 {
        (self.0.addr() as i64).wrapping_add(instructions.wrapping_mul(size_of::<Op>() as i64))
    }

    /// How many instructions there are until a place that [`Place::far`] gave.
    #[inline(always)]
    pub fn distance(self, far: i64) -> i64 {
        far.wrapping_sub(self.0.addr() as i64) >> size_of::<Op>().trailing_zeros()
    }
}
