//! Compiled code: what the compiler makes, the machine runs, and machines share.
//!
//! A [`Unit`] is plain data without pointers into any machine, so any number of machines can run it
//! at once. Binding it to a machine ([`Linked`]) turns its constants into values and its global names
//! into slots.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::builtins::BuiltinId;
use crate::exact::Exact;
pub use crate::instructions::{Op, Reg, Residue};
use crate::span::Span;
use crate::value::Value;

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
    /// An exact decimal or a ratio.
    Decimal(Exact),
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
pub struct SimpleArity {
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
    pub fn simple(&self) -> SimpleArity {
        match self.arities.as_slice() {
            [only] if !only.variadic => SimpleArity {
                entry: only.entry,
                params: only.params,
                params_alone: if self.needs_self { u16::MAX } else { only.params },
                registers: only.registers,
                needs_self: self.needs_self,
            },
            _ => SimpleArity {
                entry: 0,
                params: u16::MAX,
                params_alone: u16::MAX,
                registers: 0,
                needs_self: true,
            },
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
