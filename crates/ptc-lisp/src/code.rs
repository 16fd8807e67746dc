//! Compiled code: what the compiler makes, the machine runs, and machines share.
//!
//! A [`Unit`] is plain data without pointers into any machine, so any number of machines can run it
//! at once. Binding it to a machine ([`Linked`]) turns its constants into values and its global names
//! into slots.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::builtins::BuiltinId;
use crate::decimal::Decimal;
use crate::span::Span;
use crate::value::Value;

/// A register of the running function.
pub type Reg = u16;

/// An instruction. Registers are relative to the frame; jumps are absolute in the unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// `dst = nil`
    Nil { dst: Reg },
    /// `dst = value`
    Bool { dst: Reg, value: bool },
    /// `dst = value`
    Int { dst: Reg, value: i32 },
    /// `dst = constant`
    Const { dst: Reg, at: u32 },
    /// `dst = src`
    Copy { dst: Reg, src: Reg },
    /// `dst = src`, and `src` is empty afterwards
    Move { dst: Reg, src: Reg },
    /// `dst = captured value`
    Capture { dst: Reg, at: u16 },
    /// `dst = the running function`
    SelfFn { dst: Reg },
    /// `dst = another function of the running function's letfn`
    Sibling { dst: Reg, func: u16 },
    /// `dst = another function of the letfn that made the function in of`
    SiblingOf { dst: Reg, of: Reg, func: u16 },
    /// `dst = a new function`; its captures stand in registers from `first` on
    Function { dst: Reg, first: Reg, func: u16 },
    /// `dst = definition`
    Global { dst: Reg, at: u32 },
    /// `dst = definition, or nil if there is none`
    GlobalOrNil { dst: Reg, at: u32 },
    /// `dst = whether the definition exists`
    HasGlobal { dst: Reg, at: u32 },
    /// `dst = definition of the attached prelude`
    Export { dst: Reg, at: u32 },
    /// definition `= src`
    Define { src: Reg, at: u32 },
    /// `dst = input named by the constant`: a string, or a keyword where earlier results come first
    Data { dst: Reg, at: u32 },
    /// `dst = result of an earlier program (1 is the latest)`
    History { dst: Reg, nth: u16 },
    /// go on at `to`
    Jump { to: u32 },
    /// go on at `to` if `src` is nil or false
    JumpIfNot { src: Reg, to: u32 },
    /// go on at `to` unless `src` is nil or false
    JumpIf { src: Reg, to: u32 },
    /// go on at `to` if `src` is nil
    JumpIfNil { src: Reg, to: u32 },
    /// skip the next instruction (a jump) if `a < b`
    IfLess { a: Reg, b: Reg },
    /// skip the next instruction if `a <= b`
    IfLessEq { a: Reg, b: Reg },
    /// skip the next instruction if `a = b`
    IfEqual { a: Reg, b: Reg },
    /// skip the next instruction if `a < value`
    IfLessInt { a: Reg, value: i32 },
    /// skip the next instruction if `a <= value`
    IfLessEqInt { a: Reg, value: i32 },
    /// skip the next instruction if `a > value`
    IfMoreInt { a: Reg, value: i32 },
    /// skip the next instruction if `a >= value`
    IfMoreEqInt { a: Reg, value: i32 },
    /// skip the next instruction if `a = value`
    IfEqualInt { a: Reg, value: i32 },
    /// `a += step` and take the jump that follows if `a` is a small integer that stays below `value`;
    /// otherwise change nothing and skip the jump
    CountBelowInt { a: Reg, step: i8, value: i32 },
    /// the same if `a` stays above `value`
    CountAboveInt { a: Reg, step: i8, value: i32 },
    /// the same if `b` is a small integer and `a` stays below it, or at it if `equal`
    CountBelow { a: Reg, b: Reg, step: i8, equal: bool },
    /// the same if `a` stays above `b`, or at it if `equal`
    CountAbove { a: Reg, b: Reg, step: i8, equal: bool },
    /// call the function in `f` with `n` arguments that follow it
    Call { dst: Reg, f: Reg, n: u16 },
    /// call the definition with `n` arguments that follow register `f`
    CallGlobal { dst: Reg, f: Reg, n: u8, at: u16 },
    /// call a builtin with `n` arguments that follow register `f`
    CallBuiltin { dst: Reg, f: Reg, n: u8, id: BuiltinId },
    /// do the next `n` instructions in one pass and skip them, if natives can: they are calls of builtins, each
    /// the last argument of the next
    Pipe { n: u8 },
    /// the same, with a loop behind the calls and the jump that follows them: go on there if natives cannot, unless the
    /// loop is not for these values
    Fuse { n: u8 },
    /// call the function in `f` in place of the running one
    TailCall { f: Reg, n: u16 },
    /// give `src` back to the caller; `residue` are the registers to empty (see `residue.rs`)
    Return { src: Reg, residue: u32 },
    /// `dst = a + b`
    Add { dst: Reg, a: Reg, b: Reg },
    /// `dst = a + value`
    AddInt { dst: Reg, a: Reg, value: i16 },
    /// `dst = a - b`
    Sub { dst: Reg, a: Reg, b: Reg },
    /// `dst = a * b`
    Mul { dst: Reg, a: Reg, b: Reg },
    /// `dst = a < b`
    Less { dst: Reg, a: Reg, b: Reg },
    /// `dst = a <= b`
    LessEq { dst: Reg, a: Reg, b: Reg },
    /// `dst = a = b`
    Equal { dst: Reg, a: Reg, b: Reg },
    /// `dst = (not src)`
    Not { dst: Reg, src: Reg },
    /// `dst = (get map keyword)` with the keyword a constant
    Lookup { dst: Reg, map: Reg, key: u16 },
    /// `dst = [n registers from first on]`
    Vector { dst: Reg, first: Reg, n: u16 },
    /// `dst = {n pairs of registers from first on}`
    Map { dst: Reg, first: Reg, n: u16 },
    /// `dst = #{n registers from first on}`
    Set { dst: Reg, first: Reg, n: u16 },
    /// `dst = a walk over src`
    Walk { dst: Reg, src: Reg },
    /// `dst = the next item of the walk`, skipping the next instruction; at the end go on with it
    Next { dst: Reg, walk: Reg },
    /// if `src` is `(reduced x)`, make it `x` and go on; else skip the next instruction
    Unreduce { src: Reg },
    /// `dst = the value at key`, taken out of `map` if nobody else sees it
    TakeSlot { dst: Reg, map: Reg, key: Reg },
    /// from here on an exception goes to `to`, with the exception in `dst`
    Try { dst: Reg, to: u32 },
    /// the innermost `Try` ends
    EndTry,
    /// `dst = whether the exception in src is of the class named by the constant`
    Catches { dst: Reg, src: Reg, class: u16 },
    /// throw what is in `src` again
    Throw { src: Reg },
}

impl Op {
    /// Whether it computes with numbers or compares them.
    pub fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Op::Add { .. }
                | Op::AddInt { .. }
                | Op::Sub { .. }
                | Op::Mul { .. }
                | Op::Less { .. }
                | Op::LessEq { .. }
                | Op::IfLess { .. }
                | Op::IfLessEq { .. }
                | Op::IfLessInt { .. }
                | Op::IfLessEqInt { .. }
                | Op::IfMoreInt { .. }
                | Op::IfMoreEqInt { .. }
        )
    }

    /// Whether it goes on with the next instruction or with the one after that.
    pub fn may_skip(self) -> bool {
        matches!(
            self,
            Op::Next { .. }
                | Op::Unreduce { .. }
                | Op::IfLess { .. }
                | Op::IfLessEq { .. }
                | Op::IfEqual { .. }
                | Op::IfLessInt { .. }
                | Op::IfLessEqInt { .. }
                | Op::IfMoreInt { .. }
                | Op::IfMoreEqInt { .. }
                | Op::IfEqualInt { .. }
                | Op::CountBelowInt { .. }
                | Op::CountAboveInt { .. }
                | Op::CountBelow { .. }
                | Op::CountAbove { .. }
        )
    }

    /// Whether it reads the function that is running.
    pub fn looks_at_self(&self) -> bool {
        matches!(self, Op::Capture { .. } | Op::SelfFn { .. } | Op::Sibling { .. })
    }
}

const _: () = assert!(size_of::<Op>() == 8);

/// A constant, as data.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// The value that marks "nothing there".
    Unbound,
    /// `nil`
    Nil,
    /// A boolean.
    Bool(bool),
    /// A small integer.
    Int(i64),
    /// A large integer.
    Big(BigInt),
    /// An exact decimal.
    Decimal(Decimal),
    /// A float.
    Float(f64),
    /// A string.
    Str(String),
    /// A keyword.
    Keyword(String),
    /// A symbol.
    Symbol(String),
    /// A class or record type.
    Type(String),
    /// A tool.
    Tool(String),
    /// The name of a definition.
    Var(String),
    /// A builtin.
    Builtin(BuiltinId),
    /// A regular expression.
    Regex(String),
    /// `#inst`, `#uuid`.
    Tagged(String, String),
    /// A list.
    List(Vec<Const>),
    /// A vector.
    Vector(Vec<Const>),
    /// A map.
    Map(Vec<(Const, Const)>),
    /// A set.
    Set(Vec<Const>),
}

impl Const {
    /// Whether it refers to a definition, itself or inside. Constants nest no deeper than source text.
    pub fn refers(&self) -> bool {
        match self {
            // Vars of the core library have qualified names.
            Const::Var(name) => !name.contains('/') || name == "/",
            Const::List(items) | Const::Vector(items) | Const::Set(items) => items.iter().any(Const::refers),
            Const::Map(pairs) => pairs.iter().any(|(key, value)| key.refers() || value.refers()),
            _ => false,
        }
    }
}

/// One arity of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Arity {
    /// How many parameters are fixed.
    pub params: u16,
    /// Whether another parameter takes the rest.
    pub variadic: bool,
    /// How many registers it needs.
    pub registers: u16,
    /// Where its code begins in the unit.
    pub entry: u32,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Func {
    /// The name it was defined with.
    pub name: Option<String>,
    /// Its arities.
    pub arities: Vec<Arity>,
    /// How many values it captures.
    pub captures: u16,
    /// Whether its code looks at the function it runs as: its captures, itself, its siblings.
    pub needs_self: bool,
}

/// What a call of a function with one fixed arity needs to know, kept beside the function.
#[derive(Clone, Copy, Debug)]
pub struct Simple {
    /// Where its code begins.
    pub entry: u32,
    /// How many parameters it has; `u16::MAX` if it is not that simple.
    pub params: u16,
    /// How many parameters it has if it also does not look at itself; `u16::MAX` otherwise.
    pub params_alone: u16,
    /// How many registers it needs.
    pub registers: u16,
    /// See [`Func::needs_self`].
    pub needs_self: bool,
}

impl Func {
    /// See [`Simple`].
    pub fn simple(&self) -> Simple {
        match self.arities.as_slice() {
            [only] if !only.variadic => Simple {
                entry: only.entry,
                params: only.params,
                params_alone: if self.needs_self { u16::MAX } else { only.params },
                registers: only.registers,
                needs_self: self.needs_self,
            },
            _ => {
                Simple { entry: 0, params: u16::MAX, params_alone: u16::MAX, registers: 0, needs_self: true }
            }
        }
    }

    /// The arity for a call with `count` arguments: an exact one before the variadic one.
    #[inline]
    pub fn arity(&self, count: usize) -> Option<&Arity> {
        let fits = |arity: &&Arity| {
            usize::from(arity.params) == count || (arity.variadic && count >= usize::from(arity.params))
        };
        match self.arities.as_slice() {
            [only] => Some(only).filter(fits),
            many => many
                .iter()
                .find(|arity| !arity.variadic && usize::from(arity.params) == count)
                .or_else(|| many.iter().find(fits)),
        }
    }
}

/// A compiled source text.
#[derive(Debug, Default)]
pub struct Unit {
    /// All instructions.
    pub ops: Vec<Op>,
    /// Where each instruction comes from.
    pub spans: Vec<Span>,
    /// All functions; the first is the program itself.
    pub funcs: Vec<Func>,
    /// All constants.
    pub consts: Vec<Const>,
    /// Names of definitions the code refers to.
    pub globals: Vec<String>,
    /// The text it was compiled from.
    pub source: Arc<str>,
}

impl Unit {
    /// The text at a place.
    pub fn text(&self, span: Option<Span>) -> &str {
        span.and_then(|span| self.source.get(span.start as usize..span.end as usize)).unwrap_or_default()
    }
}

/// A unit bound to one machine, or frozen for all machines of a thread (see `machine/frozen.rs`).
#[derive(Debug)]
pub struct Linked {
    /// The code, shared by all machines.
    pub unit: Arc<Unit>,
    /// Its number in the machine, or in all of them.
    pub id: u32,
    /// Constants as values.
    pub consts: Vec<Value>,
    /// Slots of the definitions it refers to.
    pub globals: Vec<u32>,
}

impl Linked {
    /// The name a function was defined with.
    pub fn function_name(&self, func: u32) -> Option<&str> {
        self.unit.funcs.get(func as usize)?.name.as_deref()
    }
}
