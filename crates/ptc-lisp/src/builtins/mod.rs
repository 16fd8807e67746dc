//! The core library: one declaration per function, and the registry made from them.
//!
//! A family of functions is a file with a `TABLE` of declarations. Documentation, `doc`, `apropos`,
//! arity checks, completion and the coverage report are derived from the declarations; the examples
//! run as tests. Functions that call other functions cannot be native: they are written in the
//! language itself, in `core/*.clj`, and declared there by their docstrings.

mod access;
pub mod args;
mod arrays;
mod registry;

mod binding;
mod bits;
mod casts;
mod cells;
pub(crate) mod chain_part;
mod classes;
pub(crate) mod comparing;
mod discovery;
mod eager;
pub(crate) mod exceptions;
mod formatting;
pub(crate) mod gather;
mod java_lang;
mod java_time;
mod java_util;
mod json;
pub(crate) mod lookup;
mod maps;
mod math;
mod metadata;
mod naming;
mod numbers;
mod numeric;
mod parsing;
mod paths;
mod pprint;
mod predicates;
mod prims;
mod printing;
mod queues;
mod random;
mod regexes;
mod relations;
mod seqs;
mod session;
mod sets;
mod shapes;
mod shown;
pub(crate) mod skim;
mod sort_keys;
mod sorted;
mod sorting;
mod strings;
#[cfg(test)]
pub(crate) mod testing;
mod transients;
#[cfg(test)]
pub(crate) mod trial;
pub(crate) mod vars;
mod vectors;

use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

use chain_part::ChainPart;
pub(crate) use classes::{full_name, instead_of_calling};
pub use registry::{ArgCount, Entry, Registry, registry};

/// A native function. Arguments may be taken out of the slice; the machine has checked their number.
/// A native that answers [`Signal::Force`](crate::signal::Signal) or another "run again" signal must
/// not have taken any of them before.
pub type NativeFn = fn(&mut Heap, &mut [Value]) -> Res;

/// The number of a builtin in the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BuiltinId(pub(crate) u16);

/// An example for documentation and tests: source text and what it prints.
pub type Example = (&'static str, &'static str);

/// The declaration of a builtin.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The qualified name: `clojure.string/trim`, `Math/sqrt`, `.length`.
    pub name: &'static str,
    /// Parameter vectors, one per arity: `[coll] [n coll]`, `[f & more]`. Empty for a constant.
    pub params: &'static str,
    /// How many arguments it takes, read from `params`.
    pub arity: ArgCount,
    /// What it does, in a sentence or two.
    pub doc: &'static str,
    /// Examples that run as tests.
    pub examples: &'static [Example],
    /// What runs.
    pub run: Run,
    /// How much of its value is shown.
    pub shown: Shown,
    /// What it is in a chain of calls.
    pub(crate) part: Option<ChainPart>,
}

/// How much hosts show of the value of a builtin where it is the result of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// As much as of any value.
    #[default]
    Result,
    /// It tells what there is: more than of other values, page by page.
    Discovery,
    /// It gives a part of this argument, of which as much is shown.
    PartOf(u8),
    /// It gives this argument on.
    Passes(u8),
}

impl Builtin {
    /// The same, of a function that can end a chain of calls.
    pub(crate) const fn in_chains(self, part: ChainPart) -> Builtin {
        Builtin { part: Some(part), ..self }
    }

    /// The same, of a function that tells what there is.
    pub const fn discovers(self) -> Builtin {
        Builtin { shown: Shown::Discovery, ..self }
    }

    /// The same, of a function that gives a part of an argument.
    pub const fn part_of(self, argument: u8) -> Builtin {
        Builtin { shown: Shown::PartOf(argument), ..self }
    }

    /// The same, of a function that gives an argument on.
    pub const fn passes(self, argument: u8) -> Builtin {
        Builtin { shown: Shown::Passes(argument), ..self }
    }
}

/// What a builtin is made of.
#[derive(Clone, Copy, Debug)]
pub enum Run {
    /// A native function.
    Native(NativeFn),
    /// A constant.
    Const(fn(&mut Heap) -> Value),
    /// A function of the core library's own source; the number is its place there.
    Core(u32),
}

/// Declares a native function.
pub const fn native(
    name: &'static str,
    params: &'static str,
    run: NativeFn,
    doc: &'static str,
    examples: &'static [Example],
) -> Builtin {
    let (arity, run) = (ArgCount::parse(params), Run::Native(run));
    Builtin { name, params, arity, doc, examples, run, shown: Shown::Result, part: None }
}

/// Declares a constant.
pub const fn constant(
    name: &'static str,
    value: fn(&mut Heap) -> Value,
    doc: &'static str,
    examples: &'static [Example],
) -> Builtin {
    let (arity, run) = (ArgCount::NONE, Run::Const(value));
    Builtin { name, params: "", arity, doc, examples, run, shown: Shown::Result, part: None }
}

/// All families of natives.
pub(crate) static FAMILIES: &[&[Builtin]] = &[
    access::TABLE,
    arrays::CONSTRUCTORS,
    arrays::TABLE,
    binding::TABLE,
    bits::TABLE,
    casts::TABLE,
    cells::TABLE,
    comparing::TABLE,
    eager::TABLE,
    exceptions::CONSTRUCTORS,
    discovery::TABLE,
    exceptions::TABLE,
    formatting::TABLE,
    json::TABLE,
    maps::TABLE,
    math::TABLE,
    metadata::TABLE,
    naming::TABLE,
    numbers::TABLE,
    parsing::TABLE,
    paths::TABLE,
    pprint::TABLE,
    predicates::TABLE,
    prims::TABLE,
    printing::TABLE,
    queues::TABLE,
    random::TABLE,
    regexes::TABLE,
    relations::TABLE,
    seqs::TABLE,
    session::TABLE,
    sets::TABLE,
    shapes::TABLE,
    shown::TABLE,
    sorted::TABLE,
    sorting::TABLE,
    strings::TABLE,
    transients::TABLE,
    vars::TABLE,
    vectors::TABLE,
];

/// The families of the Java-shaped surface, which are made of many small tables.
pub(crate) static JAVA_FAMILIES: &[&[&[Builtin]]] =
    &[java_lang::TABLES, java_time::TABLES, java_util::TABLES];
