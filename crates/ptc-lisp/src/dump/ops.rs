//! The numbers of instructions: one table, from which both writing and reading are made.
//!
//! Each line is a number, an instruction and its operands in the order they are written. An instruction
//! of `code.rs` that is not in the table does not compile. A number is never used again for something
//! else; when the operands of an instruction change, it takes a new number and the old one stays
//! readable by hand.

use super::bytes::Read;
use super::{DumpError, read, write};
use crate::builtins::{BuiltinId, registry};
use crate::code::Op;
use crate::residue::ALL;

/// Something an instruction holds.
trait Operand: Sized {
    fn write(self, to: &mut write::Writer<'_>);
    fn read(from: &mut read::Reader<'_>) -> Read<Self>;
}

macro_rules! operands {
    ($($type:ty, $write:ident as $wide:ty, $read:ident;)*) => {
        $(impl Operand for $type {
            fn write(self, to: &mut write::Writer<'_>) {
                to.out.$write(<$wide>::from(self));
            }

            fn read(from: &mut read::Reader<'_>) -> Read<Self> {
                from.input.$read()
            }
        })*
    };
}

operands! {
    u8, int as u64, small;
    u16, int as u64, small;
    u32, int as u64, small;
    i8, signed as i64, small_signed;
    i16, signed as i64, small_signed;
    i32, signed as i64, small_signed;
    bool, bool as bool, bool;
}

impl Operand for BuiltinId {
    fn write(self, to: &mut write::Writer<'_>) {
        let name = registry().get(self).name;
        to.text(name);
    }

    fn read(from: &mut read::Reader<'_>) -> Read<Self> {
        from.builtin()
    }
}

/// The number of `Return`.
const RETURN: u8 = 24;

macro_rules! ops {
    ($($number:literal $op:ident { $($field:ident),* })*) => {
        /// Writes an instruction.
        pub(super) fn write_op(op: Op, to: &mut write::Writer<'_>) {
            match op {
                // What it has to empty is found out by whoever reads it.
                Op::Return { src, .. } => {
                    to.out.byte(RETURN);
                    Operand::write(src, to);
                }
                $(Op::$op { $($field),* } => {
                    to.out.byte($number);
                    $(Operand::write($field, to);)*
                })*
            }
        }

        /// Reads an instruction.
        pub(super) fn read_op(from: &mut read::Reader<'_>) -> Read<Op> {
            Ok(match from.input.byte()? {
                RETURN => Op::Return { src: Operand::read(from)?, residue: ALL },
                $($number => Op::$op { $($field: Operand::read(from)?),* },)*
                other => return Err(DumpError::unknown("instruction", other)),
            })
        }
    };
}

ops! {
    0 Nil { dst }
    1 Bool { dst, value }
    2 Int { dst, value }
    3 Const { dst, at }
    4 Copy { dst, src }
    5 Move { dst, src }
    6 Capture { dst, at }
    7 SelfFn { dst }
    8 Sibling { dst, func }
    9 SiblingOf { dst, of, func }
    10 Function { dst, first, func }
    11 Global { dst, at }
    12 GlobalOrNil { dst, at }
    13 HasGlobal { dst, at }
    14 Define { src, at }
    15 Data { dst, at }
    16 History { dst, nth }
    17 Jump { to }
    18 JumpIfNot { src, to }
    19 JumpIf { src, to }
    20 JumpIfNil { src, to }
    21 Call { dst, f, n }
    22 CallBuiltin { dst, f, n, id }
    23 TailCall { f, n }
    25 Add { dst, a, b }
    26 AddInt { dst, a, value }
    27 Sub { dst, a, b }
    28 Mul { dst, a, b }
    29 Less { dst, a, b }
    30 LessEq { dst, a, b }
    31 Equal { dst, a, b }
    32 Not { dst, src }
    33 Lookup { dst, map, key }
    34 Vector { dst, first, n }
    35 Map { dst, first, n }
    36 Set { dst, first, n }
    37 Walk { dst, src }
    38 Next { dst, walk }
    39 Unreduce { src }
    40 TakeSlot { dst, map, key }
    41 Try { dst, to }
    42 EndTry {}
    43 Catches { dst, src, class }
    44 Throw { src }
    45 IfLess { a, b }
    46 IfLessEq { a, b }
    47 IfEqual { a, b }
    48 IfLessInt { a, value }
    49 IfLessEqInt { a, value }
    50 IfMoreInt { a, value }
    51 IfMoreEqInt { a, value }
    52 IfEqualInt { a, value }
    53 CallGlobal { dst, f, n, at }
    54 Export { dst, at }
    55 CountBelowInt { a, step, value }
    56 CountAboveInt { a, step, value }
    57 CountBelow { a, b, step, equal }
    58 CountAbove { a, b, step, equal }
    59 Pipe { n }
    60 Fuse { n }
}
