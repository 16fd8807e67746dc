//! The instructions: one table, from which everything else that is known of them is derived.
//!
//! A row is the number an instruction has in dumps, its name, its operands and where execution goes from it. An operand
//! has a name, a type and a role: what the instruction does with the register, constant or definition it names (see
//! [`Operand`]); immediate values have none. The verifier, the registers that returns empty, the use of answers, and
//! reading and writing dumps all follow the table. A new instruction is its row here, the place that emits it
//! (`compile/`), and its arm in the loop (`machine/run.rs` or `machine/ops.rs`).
//!
//! A number is never used again for something else; when the operands of an instruction change, it takes a new number
//! and the old one stays readable.

use crate::builtins::BuiltinId;

/// A register of the running function.
pub type Reg = u16;

/// The registers that a `Return` has to empty, as bits (see `residue.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residue(pub u32);

impl Residue {
    /// All registers of the frame, for functions that are not followed.
    pub const ALL: Residue = Residue(u32::MAX);
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The register is written.
    Out(Reg),
    /// The register is written with a value that is never reference-counted.
    OutPlain(Reg),
    /// The register is written with a number, which is reference-counted only if it is a large one.
    OutNumber(Reg),
    /// The register is written with the running function.
    OutSelf(Reg),
    /// The register is written with this constant.
    OutConst(Reg, u32),
    /// The register is written with the result of the call whose row begins at the second one.
    OutCall(Reg, Reg),
    /// The register is written where the next instruction is skipped.
    OutSkip(Reg),
    /// The register is written where the handler begins.
    OutCaught(Reg),
    /// The first register is written with what is in the second, which keeps it.
    Copy(Reg, Reg),
    /// The first register is written with what is in the second, which is empty afterwards.
    Move(Reg, Reg),
    /// The register that a copy or a move names.
    Source(Reg),
    /// The register is read.
    In(Reg),
    /// The register is read as a number; anything else raises.
    InNumber(Reg),
    /// The register is read; if it holds a small integer, it may hold another one afterwards.
    InCounter(Reg),
    /// The register is read and written.
    InOut(Reg),
    /// The row of a call: the function, and so many arguments, which are gone afterwards.
    CallRow(Reg, u16),
    /// The row of a call of a definition: room for the function, and so many arguments. All are gone afterwards.
    GlobalRow(Reg, u16),
    /// The row of a call of a builtin: a register that stays as it is, and so many arguments, which are gone afterwards.
    BuiltinRow(Reg, u16),
    /// So many registers are read.
    Row(Reg, u16),
    /// So many pairs of registers are read.
    Pairs(Reg, u16),
    /// A walk in a register and its item in the next one are read.
    WalkRow(Reg),
    /// As many registers are read as the function with this number captures.
    CaptureRow(Reg, u16),
    /// A constant.
    Const(u32),
    /// A constant that is a keyword.
    Keyword(u32),
    /// The name of a definition.
    Global(u32),
    /// A value that the running function captured.
    Captured(u16),
    /// A function.
    Func(u16),
    /// A function that captures what the running one does.
    Sibling(u16),
    /// An earlier result, counted from one.
    Nth(u16),
}

/// Where execution goes from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// There.
    Jump(u32),
    /// To the next instruction, or there, which is further on.
    Branch(u32),
    /// To the next instruction, or to the one behind it.
    Skip,
    /// The same; the next instruction is a jump forward.
    Compare,
    /// The same; the next instruction is a jump, which may go back.
    Count,
    /// To the next instruction, or behind the so many calls that follow.
    Pipe(u8),
    /// The same, or behind the instruction after those calls.
    Fuse(u8),
    /// To the next instruction; exceptions go there, which is further on, until the matching `Close`.
    Open(u32),
    /// To the next instruction; the innermost handler is gone.
    Close,
    /// To the caller or another function.
    Leave,
    /// To a handler.
    Raise,
}

impl Flow {
    /// Where execution can go from an instruction at `at` when it does not return or raise. The second place is that of
    /// who skips, branches or catches.
    #[inline(always)]
    pub fn paths(self, at: u32) -> [Option<u32>; 2] {
        let next = Some(at + 1);
        match self {
            Flow::Next | Flow::Close => [next, None],
            Flow::Jump(to) => [Some(to), None],
            Flow::Branch(to) | Flow::Open(to) => [next, Some(to)],
            Flow::Skip | Flow::Compare | Flow::Count => [next, Some(at + 2)],
            Flow::Pipe(calls) => [next, Some(at + 1 + u32::from(calls))],
            // Behind the calls it goes on as they do.
            Flow::Fuse(calls) => [next, Some(at + 2 + u32::from(calls))],
            Flow::Leave | Flow::Raise => [None, None],
        }
    }
}

/// Hands the table to a macro.
macro_rules! instructions {
    ($made:ident) => {
        $made! {
            /// `dst = nil`
            0 Nil { dst: Reg as OutPlain } -> Next;
            /// `dst = value`
            1 Bool { dst: Reg as OutPlain, value: bool } -> Next;
            /// `dst = value`
            2 Int { dst: Reg as OutPlain, value: i32 } -> Next;
            /// `dst = constant`
            3 Const { dst: Reg as OutConst(at), at: u32 as Const } -> Next;
            /// `dst = src`
            4 Copy { dst: Reg as Copy(src), src: Reg as Source } -> Next;
            /// `dst = src`, and `src` is empty afterwards
            5 Move { dst: Reg as Move(src), src: Reg as Source } -> Next;
            /// `dst = captured value`
            6 Capture { dst: Reg as Out, at: u16 as Captured } -> Next;
            /// `dst = the running function`
            7 SelfFn { dst: Reg as OutSelf } -> Next;
            /// `dst = another function of the running function's letfn`
            8 Sibling { dst: Reg as Out, func: u16 as Sibling } -> Next;
            /// `dst = another function of the letfn that made the function in of`
            9 SiblingOf { dst: Reg as Out, of: Reg as In, func: u16 as Func } -> Next;
            /// `dst = a new function`; its captures stand in registers from `first` on
            10 Function { dst: Reg as Out, first: Reg as CaptureRow(func), func: u16 as Func } -> Next;
            /// `dst = definition`
            11 Global { dst: Reg as Out, at: u32 as Global } -> Next;
            /// `dst = definition, or nil if there is none`
            12 GlobalOrNil { dst: Reg as Out, at: u32 as Global } -> Next;
            /// `dst = whether the definition exists`
            13 HasGlobal { dst: Reg as OutPlain, at: u32 as Global } -> Next;
            /// definition `= src`
            14 Define { src: Reg as In, at: u32 as Global } -> Next;
            /// `dst = input named by the constant`: a string, or a keyword where earlier results come first
            15 Data { dst: Reg as Out, at: u32 as Const } -> Next;
            /// `dst = result of an earlier program (1 is the latest)`
            16 History { dst: Reg as Out, nth: u16 as Nth } -> Next;
            /// go on at `to`
            17 Jump { to: u32 } -> Jump(to);
            /// go on at `to` if `src` is nil or false
            18 JumpIfNot { src: Reg as In, to: u32 } -> Branch(to);
            /// go on at `to` unless `src` is nil or false
            19 JumpIf { src: Reg as In, to: u32 } -> Branch(to);
            /// go on at `to` if `src` is nil
            20 JumpIfNil { src: Reg as In, to: u32 } -> Branch(to);
            /// call the function in `f` with `n` arguments that follow it
            21 Call { dst: Reg as OutCall(f), f: Reg as CallRow(n), n: u16 } -> Next;
            /// call a builtin with `n` arguments that follow register `f`
            22 CallBuiltin { dst: Reg as OutCall(f), f: Reg as BuiltinRow(n), n: u8, id: BuiltinId } -> Next;
            /// call the function in `f` in place of the running one
            23 TailCall { f: Reg as CallRow(n), n: u16 } -> Leave;
            /// give `src` back to the caller
            24 Return { src: Reg as In, residue: Residue } -> Leave;
            /// `dst = a + b`
            25 Add { dst: Reg as OutNumber, a: Reg as InNumber, b: Reg as InNumber } -> Next;
            /// `dst = a + value`
            26 AddInt { dst: Reg as OutNumber, a: Reg as InNumber, value: i16 } -> Next;
            /// `dst = a - b`
            27 Sub { dst: Reg as OutNumber, a: Reg as InNumber, b: Reg as InNumber } -> Next;
            /// `dst = a * b`
            28 Mul { dst: Reg as OutNumber, a: Reg as InNumber, b: Reg as InNumber } -> Next;
            /// `dst = a < b`
            29 Less { dst: Reg as OutPlain, a: Reg as InNumber, b: Reg as InNumber } -> Next;
            /// `dst = a <= b`
            30 LessEq { dst: Reg as OutPlain, a: Reg as InNumber, b: Reg as InNumber } -> Next;
            /// `dst = a = b`
            31 Equal { dst: Reg as OutPlain, a: Reg as In, b: Reg as In } -> Next;
            /// `dst = (not src)`
            32 Not { dst: Reg as OutPlain, src: Reg as In } -> Next;
            /// `dst = (get map keyword)` with the keyword a constant
            33 Lookup { dst: Reg as Out, map: Reg as In, key: u16 as Keyword } -> Next;
            /// `dst = [n registers from first on]`
            34 Vector { dst: Reg as Out, first: Reg as Row(n), n: u16 } -> Next;
            /// `dst = {n pairs of registers from first on}`
            35 Map { dst: Reg as Out, first: Reg as Pairs(n), n: u16 } -> Next;
            /// `dst = #{n registers from first on}`
            36 Set { dst: Reg as Out, first: Reg as Row(n), n: u16 } -> Next;
            /// `dst = a walk over src`
            37 Walk { dst: Reg as Out, src: Reg as In } -> Next;
            /// `dst = the next item of the walk`, skipping the next instruction; at the end go on with it
            38 Next { dst: Reg as OutSkip, walk: Reg as In } -> Skip;
            /// if `src` is `(reduced x)`, make it `x` and go on; else skip the next instruction
            39 Unreduce { src: Reg as InOut } -> Skip;
            /// `dst = the value at key`, taken out of `map` if nobody else sees it
            40 TakeSlot { dst: Reg as Out, map: Reg as In, key: Reg as In } -> Next;
            /// from here on an exception goes to `to`, with the exception in `dst`
            41 Try { dst: Reg as OutCaught, to: u32 } -> Open(to);
            /// the innermost `Try` ends
            42 EndTry {} -> Close;
            /// `dst = whether the exception in src is of the class named by the constant`
            43 Catches { dst: Reg as OutPlain, src: Reg as In, class: u16 as Const } -> Next;
            /// throw what is in `src` again
            44 Throw { src: Reg as In } -> Raise;
            /// skip the next instruction (a jump) if `a < b`
            45 IfLess { a: Reg as InNumber, b: Reg as InNumber } -> Compare;
            /// skip the next instruction if `a <= b`
            46 IfLessEq { a: Reg as InNumber, b: Reg as InNumber } -> Compare;
            /// skip the next instruction if `a = b`
            47 IfEqual { a: Reg as In, b: Reg as In } -> Compare;
            /// skip the next instruction if `a < value`
            48 IfLessInt { a: Reg as InNumber, value: i32 } -> Compare;
            /// skip the next instruction if `a <= value`
            49 IfLessEqInt { a: Reg as InNumber, value: i32 } -> Compare;
            /// skip the next instruction if `a > value`
            50 IfMoreInt { a: Reg as InNumber, value: i32 } -> Compare;
            /// skip the next instruction if `a >= value`
            51 IfMoreEqInt { a: Reg as InNumber, value: i32 } -> Compare;
            /// skip the next instruction if `a = value`
            52 IfEqualInt { a: Reg as In, value: i32 } -> Compare;
            /// call the definition with `n` arguments that follow register `f`
            53 CallGlobal { dst: Reg as OutCall(f), f: Reg as GlobalRow(n), n: u8, at: u16 as Global } -> Next;
            /// `dst = definition of the attached prelude`, which the machine looks up
            54 Export { dst: Reg as Out, at: u32 } -> Next;
            /// `a += step` and take the jump that follows if `a` is a small integer that stays below `value`;
            /// otherwise change nothing and skip the jump
            55 CountBelowInt { a: Reg as InCounter, step: i8, value: i32 } -> Count;
            /// the same if `a` stays above `value`
            56 CountAboveInt { a: Reg as InCounter, step: i8, value: i32 } -> Count;
            /// the same if `b` is a small integer and `a` stays below it, or at it if `equal`
            57 CountBelow { a: Reg as InCounter, b: Reg as In, step: i8, equal: bool } -> Count;
            /// the same if `a` stays above `b`, or at it if `equal`
            58 CountAbove { a: Reg as InCounter, b: Reg as In, step: i8, equal: bool } -> Count;
            /// nothing: in code of earlier versions, the next `n` calls of builtins, each the last argument of the next,
            /// could be done in one pass
            59 Pipe { n: u8 } -> Pipe(n);
            /// nothing: the same, with a loop behind the calls and the jump that follows them
            60 Fuse { n: u8 } -> Fuse(n);
            /// skip the next instruction (a jump) if `src` is what a loop takes it for (see `builtins/gather.rs`)
            61 IfFits { src: Reg as In, role: u8 } -> Compare;
            /// `vec` with `item` at its end; `item` is empty afterwards
            62 Push { vec: Reg as InOut, item: Reg as In } -> Next;
            /// `map` with one more for `key`; `key` is empty afterwards
            63 Tally { map: Reg as InOut, key: Reg as In } -> Next;
            /// `map` with `item` at the end of its vector for `key`; both are empty afterwards
            64 Group { map: Reg as InOut, key: Reg as In, item: Reg as In } -> Next;
            /// `set` with `item`, which is empty afterwards; `dst = whether it is new there`
            65 Include { dst: Reg as OutPlain, set: Reg as InOut, item: Reg as In } -> Next;
            /// add what comes of plain numbers through builtins to `acc`, and go on behind them (see `builtins/skim.rs`)
            66 Skim { acc: Reg as InOut, walk: Reg as In, plan: u16 as Const } -> Next;
            /// `dst = the next item of the walk`, and take the jump that follows; at the end skip it
            67 Take { dst: Reg as InOut, walk: Reg as In } -> Count;
            /// the same, but an item that stands in a vector stays there, and `dst`, which is the register behind the walk, gets
            /// the walk
            68 Advance { dst: Reg as InOut, walk: Reg as In } -> Count;
            /// `dst = the item at which the walk is`
            69 Item { dst: Reg as Out, walk: Reg as WalkRow } -> Next;
            /// `dst = (get item keyword)` of the item at which the walk is, with the keyword a constant
            70 Field { dst: Reg as Out, walk: Reg as WalkRow, key: u16 as Keyword } -> Next;
            /// `map` with the item at which the walk is at the end of its vector for `key`, which is empty afterwards
            71 GroupItem { map: Reg as InOut, key: Reg as In, walk: Reg as WalkRow } -> Next;
        }
    };
}

pub(crate) use instructions;

/// What a [`Flow`] names: an instruction, or so many of those that follow.
trait Destination {
    /// The instruction, if it names one.
    fn instruction(&mut self) -> Option<&mut u32>;
}

impl Destination for u32 {
    fn instruction(&mut self) -> Option<&mut u32> {
        Some(self)
    }
}

impl Destination for u8 {
    fn instruction(&mut self) -> Option<&mut u32> {
        None
    }
}

macro_rules! declare {
    ($($(#[$doc:meta])* $number:literal $op:ident {
        $($field:ident: $type:ty $(as $role:ident $(($with:ident))?)?),*
    } -> $flow:ident $(($to:ident))?;)*) => {
        /// An instruction. Registers are relative to the frame; jumps are absolute in the unit.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[allow(missing_docs, reason = "an instruction says what its operands are")]
        pub enum Op {
            $($(#[$doc])* $op { $($field: $type),* },)*
        }

        impl Op {
            /// Tells of every operand what the instruction does with it.
            #[inline(always)]
            #[allow(unused_variables, reason = "immediate values have no role")]
            pub fn operands(self, mut told: impl FnMut(Operand)) {
                match self {
                    $(Op::$op { $($field),* } => {
                        $($(told(Operand::$role($field.into() $(, $with.into())?));)?)*
                    })*
                }
            }

            /// Where execution goes from it.
            #[inline(always)]
            pub fn flow(self) -> Flow {
                match self {
                    $(Op::$op { $($to,)? .. } => Flow::$flow $(($to))?,)*
                }
            }

            /// The instruction that it names to go on at.
            #[allow(unreachable_code, reason = "those that name one are done with it")]
            pub fn target_mut(&mut self) -> Option<&mut u32> {
                match self {
                    $(Op::$op { $($to,)? .. } => {
                        $(return Destination::instruction($to);)?
                        None
                    })*
                }
            }
        }
    };
}

instructions!(declare);

impl Op {
    /// Whether it computes with numbers or compares them.
    pub fn is_arithmetic(self) -> bool {
        self.has(|operand| matches!(operand, Operand::InNumber(_)))
    }

    /// Whether it reads the function that is running.
    pub fn looks_at_self(&self) -> bool {
        use Operand::{Captured, OutSelf, Sibling};
        self.has(|operand| matches!(operand, Captured(_) | OutSelf(_) | Sibling(_)))
    }

    /// Whether any of its operands is such a one.
    #[inline(always)]
    pub fn has(self, mut is: impl FnMut(Operand) -> bool) -> bool {
        let mut found = false;
        self.operands(|operand| found |= is(operand));
        found
    }
}

const _: () = assert!(size_of::<Op>() == 8);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    macro_rules! numbers {
        ($($(#[$doc:meta])* $number:literal $op:ident { $($rest:tt)* } -> $flow:ident $(($to:ident))?;)*) => {
            [$($number),*]
        };
    }

    #[test]
    fn every_instruction_has_a_number_of_its_own() {
        let numbers: [u8; _] = instructions!(numbers);
        assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len());
    }
}
