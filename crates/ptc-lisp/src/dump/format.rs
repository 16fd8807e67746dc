//! The numbers of the format. They have been there since version 1 and never change: a new thing takes a new
//! number, an old number is never used for something else.

use super::DumpError;
use super::bytes::Read;
use crate::error::ErrorKind;
use crate::value::CellKind;

/// The first bytes of every dump.
pub(super) const MAGIC: &[u8; 4] = b"PTCM";

/// The version of a machine whose host has set nothing that version 1 does not know.
pub(super) const PLAIN: u64 = 1;

/// The version that adds what hosts set for the programs to come.
pub(super) const LASTING: u64 = 2;

/// The version that adds questions about what there is, and the prelude.
pub(super) const ASKING: u64 = 3;

/// The latest version, which adds the keys that programs wrote. Each is written where it is needed; this build reads all
/// up to this one.
pub(super) const VERSION: u64 = 4;

/// Gives every variant of an enumeration its number, both ways. A variant without one does not compile.
macro_rules! numbered {
    ($to:ident, $from:ident, $type:ident { $($number:literal $variant:ident),* $(,)? }) => {
        pub(super) fn $to(of: $type) -> u8 {
            match of { $($type::$variant => $number,)* }
        }

        pub(super) fn $from(number: u8) -> Read<$type> {
            Ok(match number {
                $($number => $type::$variant,)*
                _ => return Err(DumpError::unknown(stringify!($type), number)),
            })
        }
    };
}

/// The kinds of values. Small integers have no number: they are a byte from [`SMALL_INT`] on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Unbound,
    Nil,
    False,
    True,
    Int,
    Float,
    Kw,
    Sym,
    Str,
    Big,
    Vec,
    Seq,
    Cons,
    Range,
    Lazy,
    Map,
    Set,
    Sorted,
    Fn,
    Builtin,
    Tool,
    Cell,
    Var,
    Type,
    Regex,
    Ex,
    Time,
    Reduced,
    Iter,
    /// A body written before.
    Again,
    /// A lazy sequence that is realised to its end.
    Realised,
    Decimal,
    Ratio,
}

numbered!(tag_number, tag_of, Tag {
    0 Unbound, 1 Nil, 2 False, 3 True, 4 Int, 5 Float, 6 Kw, 7 Sym, 8 Str, 9 Big, 10 Vec, 11 Seq, 12 Cons,
    13 Range, 14 Lazy, 15 Map, 16 Set, 17 Sorted, 18 Fn, 19 Builtin, 20 Tool, 21 Cell, 22 Var, 23 Type,
    24 Regex, 25 Ex, 26 Time, 27 Reduced, 28 Iter, 29 Again, 30 Realised, 31 Decimal, 32 Ratio,
});

/// Added to the tag of a body that something else refers to again later.
pub(super) const SHARED: u8 = 0x40;

/// A byte from here on is an integer from 0 to 127.
pub(super) const SMALL_INT: u8 = 0x80;

/// What a container has beyond its contents, as bits of one byte.
pub(super) mod flag {
    /// It carries metadata.
    pub const META: u8 = 1;
    /// It is deeper than its parts show, because a part was realised later. The depth follows.
    pub const DEEP: u8 = 2;
    /// A map entry; a list.
    pub const ENTRY: u8 = 4;
    /// A queue; a record; a sorted set.
    pub const SPECIAL: u8 = 8;
    /// A sorted collection backwards.
    pub const REVERSE: u8 = 16;
    /// A sequence that ends before its array does; the end follows.
    pub const PART: u8 = 16;
    /// A sorted collection by a function of the program.
    pub const BY: u8 = 32;
    /// A function whose captures others share; a number follows.
    pub const GROUP: u8 = 64;
    /// It counts as lazy, though its parts do not show why.
    pub const LAZY: u8 = 128;
}

numbered!(cell_number, cell_kind, CellKind {
    0 Atom, 1 Volatile, 2 Delay, 3 Promise, 4 Matcher, 5 Builder, 6 Transient, 7 Array, 8 Format,
});

numbered!(kind_number, error_kind, ErrorKind {
    0 Parse, 1 InvalidForm, 2 InvalidArity, 3 DuplicateKey, 4 UnboundVar, 5 Unsupported, 6 Type,
    7 IllegalArgument, 8 Arithmetic, 9 Arity, 10 NotCallable, 11 IndexOutOfBounds, 12 Format,
    13 Destructure, 14 Exception, 15 Runtime, 16 UnknownTool, 17 InvalidToolArgs, 18 Tool, 19 Pmap,
    20 Pcalls, 21 FuelExceeded, 22 MemoryExceeded, 23 Timeout, 24 Cancelled, 25 ToolCallLimit,
    26 ProgramTooLarge, 27 NestingTooDeep, 28 OutputExceeded, 29 Internal, 30 PreludeAttach,
    31 ApprovalRequired, 32 Rejected,
});

impl ErrorKind {
    /// The kind with this [`ErrorKind::reason`].
    pub fn named(reason: &str) -> Option<ErrorKind> {
        (0..).map_while(|number| error_kind(number).ok()).find(|kind| kind.reason() == reason)
    }
}

/// Where a lazy sequence stands.
pub(super) mod lazy {
    pub const THUNK: u8 = 0;
    pub const RUNNING: u8 = 1;
    pub const DONE: u8 = 2;
}

/// A position in a sequence.
pub(super) mod items {
    pub const EMPTY: u8 = 0;
    pub const SLICE: u8 = 1;
    pub const RANGE: u8 = 2;
    pub const MAP: u8 = 3;
    pub const SET: u8 = 4;
    pub const SORTED: u8 = 5;
    pub const TEXT: u8 = 6;
    pub const CHAIN: u8 = 7;
    pub const PART: u8 = 8;
}

/// Work that waits for a function.
pub(super) mod cont {
    pub const FORCE: u8 = 0;
    pub const REALISE: u8 = 1;
    pub const REALISE_DEEP: u8 = 2;
}

/// Where the text of a definition stands; from `UNITS` on in the source of a unit.
pub(super) mod origin {
    pub const NONE: u64 = 0;
    pub const TEXT: u64 = 1;
    pub const UNITS: u64 = 2;
}

/// What a fiber is doing.
pub(super) mod state {
    pub const READY: u8 = 0;
    pub const WAITING: u8 = 1;
    pub const JOINING: u8 = 2;
    pub const OVER: u8 = 3;
    pub const ANSWERED: u8 = 4;
    pub const REFUSED: u8 = 5;
    /// Stands before the state of a fiber inside of `binding`: what it put in front follows.
    pub const BOUND: u8 = 6;
    /// Answered with an exception that has data.
    pub const THROWN: u8 = 7;
}

/// What hosts set for the programs to come, as bits of one byte.
pub(super) mod lasting {
    /// Printed lines leave out what is behind the firewall.
    pub const FIREWALL: u8 = 1;
    /// The host may take back a program.
    pub const TAKES_BACK: u8 = 2;
    /// Results show through `ctx/`.
    pub const OVERLAYS: u8 = 4;
    /// The latest value is only a beginning.
    pub const HISTORY_CUT: u8 = 8;
}

/// JSON values.
pub(super) mod json {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const UNSIGNED: u8 = 4;
    pub const FLOAT: u8 = 5;
    pub const TEXT: u8 = 6;
    pub const ARRAY: u8 = 7;
    pub const OBJECT: u8 = 8;
}

/// Constants of code. Their numbers are those of the values they become where there is one.
pub(super) mod constant {
    pub const UNBOUND: u8 = 0;
    pub const NIL: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const TRUE: u8 = 3;
    pub const INT: u8 = 4;
    pub const FLOAT: u8 = 5;
    pub const KEYWORD: u8 = 6;
    pub const SYMBOL: u8 = 7;
    pub const STR: u8 = 8;
    pub const BIG: u8 = 9;
    pub const VECTOR: u8 = 10;
    pub const LIST: u8 = 11;
    pub const MAP: u8 = 15;
    pub const SET: u8 = 16;
    pub const BUILTIN: u8 = 19;
    pub const TOOL: u8 = 20;
    pub const VAR: u8 = 22;
    pub const TYPE: u8 = 23;
    pub const REGEX: u8 = 24;
    pub const TAGGED: u8 = 26;
    pub const DECIMAL: u8 = 31;
    pub const RATIO: u8 = 32;
}
