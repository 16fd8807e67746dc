//! Instructions in dumps: their number, then their operands, in the order of the table (`instructions.rs`).

use super::bytes::Read;
use super::{DumpError, read, write};
use crate::builtins::{BuiltinId, registry};
use crate::code::{Op, Residue};
use crate::instructions::instructions;

/// Something an instruction holds.
trait DumpedOperand: Sized {
    fn write(self, to: &mut write::Writer<'_>);
    fn read(from: &mut read::Reader<'_>) -> Read<Self>;
}

macro_rules! operands {
    ($($type:ty, $write:ident as $wide:ty, $read:ident;)*) => {
        $(impl DumpedOperand for $type {
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

impl DumpedOperand for BuiltinId {
    fn write(self, to: &mut write::Writer<'_>) {
        let name = registry().get(self).name;
        to.text(name);
    }

    fn read(from: &mut read::Reader<'_>) -> Read<Self> {
        from.builtin()
    }
}

impl DumpedOperand for Residue {
    // What a return has to empty is found out by whoever reads it.
    fn write(self, _: &mut write::Writer<'_>) {}

    fn read(_: &mut read::Reader<'_>) -> Read<Self> {
        Ok(Residue::ALL)
    }
}

macro_rules! numbered {
    ($($(#[$doc:meta])* $number:literal $op:ident {
        $($field:ident: $type:ty $(as $role:ident $(($with:ident))?)?),*
    } -> $flow:ident $(($to:ident))?;)*) => {
        /// Writes an instruction.
        pub(super) fn write_op(op: Op, to: &mut write::Writer<'_>) {
            match op {
                $(Op::$op { $($field),* } => {
                    to.out.byte($number);
                    $(DumpedOperand::write($field, to);)*
                })*
            }
        }

        /// Reads an instruction.
        pub(super) fn read_op(from: &mut read::Reader<'_>) -> Read<Op> {
            Ok(match from.input.byte()? {
                $($number => Op::$op { $($field: DumpedOperand::read(from)?),* },)*
                other => return Err(DumpError::unknown("instruction", other)),
            })
        }
    };
}

instructions!(numbered);
