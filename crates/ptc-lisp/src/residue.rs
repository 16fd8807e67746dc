//! What a function leaves in its registers: which ones a `Return` has to empty.
//!
//! Nothing above the caller's window may hold what is counted, or values would live longer than the program
//! sees them. Looking at every register at each return is a good part of what a small call costs, so the code
//! is followed once: a register needs a look only if something that may be counted has been put there and has
//! not been taken away again on every path.
//!
//! Large integers and decimals are counted and can come out of any addition, but they are rare. So arithmetic is taken to leave nothing,
//! and once it has met one (`Machine::large`) returns look for those in all registers.
//!
//! This is computed wherever code comes from, the compiler or a dump, and is never part of a dump: code from outside
//! must not say what need not be looked at.

use crate::code::{Const, Op, Reg, Residue};
use crate::instructions::{Flow, Operand};

/// What is to be known of an arity besides its instructions.
#[derive(Clone, Copy)]
pub struct ArityBody {
    /// The number of its first instruction, which jumps count from.
    pub start: u32,
    /// How many registers are parameters, the one for the rest included.
    pub params: u16,
    /// How many registers there are.
    pub registers: u16,
}

/// The registers that may hold what is counted before each instruction; nothing where execution never comes.
pub type CountedBefore = Vec<Option<u32>>;

/// Tells every `Return` of an arity which registers it has to empty.
pub fn settle(ops: &mut [Op], body: ArityBody, consts: &[Const]) {
    let Some(before) = follow(ops, body, consts) else { return };
    for (op, before) in ops.iter_mut().zip(before) {
        if let Op::Return { src, residue } = op {
            // What is given back is moved away.
            *residue = Residue(before.unwrap_or(0) & !bit(*src));
        }
    }
}

fn bit(reg: Reg) -> u32 {
    1 << reg
}

fn row(first: Reg, count: usize) -> u32 {
    (0..count).fold(0, |bits, at| bits | bit(first + at as Reg))
}

/// Follows the registers of an arity. No answer for functions that are not followed: those with very many registers, and those that catch exceptions, which come from
/// anywhere.
pub fn follow(ops: &[Op], body: ArityBody, consts: &[Const]) -> Option<CountedBefore> {
    if u32::from(body.registers) >= u32::BITS || ops.iter().any(|op| matches!(op, Op::Try { .. })) {
        return None;
    }
    let mut before: CountedBefore = vec![None; ops.len()];
    *before.first_mut()? = Some(row(0, usize::from(body.params)));
    loop {
        // Most jumps go forward, so one round is enough but for loops.
        let mut changed_behind = false;
        for at in 0..ops.len() {
            let Some(here) = before[at] else { continue };
            let op = ops[at];
            let after = step(op, here, consts);
            let mut meet = |to: usize, after: u32| {
                let known = before.get_mut(to)?;
                let all = known.unwrap_or(0) | after;
                changed_behind |= to <= at && *known != Some(all);
                *known = Some(all);
                Some(())
            };
            match op.flow() {
                Flow::Leave | Flow::Raise => {}
                Flow::Next | Flow::Close => meet(at + 1, after)?,
                Flow::Jump(to) => meet((to - body.start) as usize, after)?,
                // What is made in one pass goes where the last of the calls would put it, and a loop stands behind those
                // and a jump.
                flow @ (Flow::Pipe(calls) | Flow::Fuse(calls)) => {
                    let last = at + usize::from(calls);
                    meet(at + 1, after)?;
                    if let Op::CallBuiltin { dst, .. } = *ops.get(last)? {
                        meet(last + 1, after | bit(dst))?;
                    }
                    if matches!(flow, Flow::Fuse(_)) {
                        meet(last + 2, after)?;
                    }
                }
                Flow::Skip | Flow::Compare | Flow::Count => {
                    meet(at + 1, after)?;
                    meet(at + 2, after)?;
                }
                Flow::Branch(to) | Flow::Open(to) => {
                    meet(at + 1, after)?;
                    meet((to - body.start) as usize, after)?;
                }
            }
        }
        if !changed_behind {
            return Some(before);
        }
    }
}

/// Whether a constant is something that is counted.
fn is_counted(constant: Option<&Const>) -> bool {
    !matches!(
        constant,
        Some(Const::Keyword(_) | Const::Symbol(_) | Const::Builtin(_) | Const::Int(_) | Const::Float(_))
    )
}

/// Which registers may hold what is counted after an instruction.
fn step(op: Op, before: u32, consts: &[Const]) -> u32 {
    let (mut emptied, mut filled) = (0, 0);
    op.operands(|operand| match operand {
        Operand::Out(reg)
        | Operand::OutSelf(reg)
        | Operand::OutCall(reg, _)
        | Operand::OutSkip(reg)
        | Operand::OutCaught(reg)
        | Operand::InOut(reg) => filled |= bit(reg),
        // Whatever went through arithmetic is a number, and not counted unless it is a large one or a decimal.
        Operand::OutPlain(reg) | Operand::OutNumber(reg) | Operand::InNumber(reg) => emptied |= bit(reg),
        Operand::OutConst(reg, at) if is_counted(consts.get(at as usize)) => filled |= bit(reg),
        Operand::OutConst(reg, _) => emptied |= bit(reg),
        Operand::Copy(reg, from) | Operand::Move(reg, from) if before & bit(from) != 0 => {
            filled |= bit(reg);
            let is_moved = matches!(operand, Operand::Move(..));
            emptied |= if is_moved { bit(from) } else { 0 };
        }
        Operand::Copy(reg, _) | Operand::Move(reg, _) => emptied |= bit(reg),
        Operand::CallRow(f, n) | Operand::GlobalRow(f, n) => emptied |= row(f, usize::from(n) + 1),
        Operand::BuiltinRow(f, n) => emptied |= row(f + 1, usize::from(n)),
        // What these leave in registers that they read is not looked into.
        Operand::Source(_)
        | Operand::In(_)
        | Operand::InCounter(_)
        | Operand::Row(..)
        | Operand::Pairs(..)
        | Operand::WalkRow(_)
        | Operand::CaptureRow(..)
        | Operand::Const(_)
        | Operand::Keyword(_)
        | Operand::Global(_)
        | Operand::Captured(_)
        | Operand::Func(_)
        | Operand::Sibling(_)
        | Operand::Nth(_) => {}
    });
    before & !emptied | filled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the returns of an arity with one parameter have to empty.
    fn residues(ops: &[Op]) -> Vec<u32> {
        let mut ops = ops.to_vec();
        settle(&mut ops, ArityBody { start: 0, params: 1, registers: 8 }, &[]);
        let residue = |op: &Op| match op {
            Op::Return { residue, .. } => Some(residue.0),
            _ => None,
        };
        ops.iter().filter_map(residue).collect()
    }

    const fn done(src: Reg) -> Op {
        Op::Return { src, residue: Residue::ALL }
    }

    #[test]
    fn a_return_empties_what_may_be_left() {
        let cases: &[(&[Op], &[u32])] = &[
            (&[done(0)], &[0]),
            (&[Op::Int { dst: 1, value: 1 }, done(1)], &[0b1]),
            (&[Op::Move { dst: 1, src: 0 }, Op::Call { dst: 2, f: 3, n: 2 }, done(1)], &[0b100]),
            (&[Op::Copy { dst: 4, src: 0 }, Op::Call { dst: 2, f: 3, n: 1 }, done(2)], &[0b1]),
            (&[Op::JumpIf { src: 0, to: 2 }, Op::Vector { dst: 1, first: 2, n: 0 }, done(0)], &[0b10]),
            (&[Op::JumpIf { src: 0, to: 3 }, Op::Global { dst: 1, at: 0 }, done(0), done(0)], &[0b10, 0]),
            (
                &[Op::JumpIf { src: 0, to: 3 }, Op::Global { dst: 1, at: 0 }, Op::Jump { to: 0 }, done(0)],
                &[0b10],
            ),
            (
                &[
                    Op::IfLessInt { a: 0, value: 2 },
                    Op::Jump { to: 2 },
                    Op::Int { dst: 1, value: 1 },
                    done(1),
                ],
                &[0],
            ),
            (&[Op::Call { dst: 1, f: 2, n: 0 }, Op::Add { dst: 2, a: 1, b: 0 }, done(2)], &[0]),
            (&[Op::Try { dst: 1, to: 2 }, Op::EndTry {}, done(0)], &[u32::MAX]),
        ];
        for (ops, expected) in cases {
            assert_eq!(residues(ops), *expected, "{ops:?}");
        }
    }
}
