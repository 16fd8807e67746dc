//! What becomes of an answer that a program waits for: whether anything will ever look at it.
//!
//! A host that holds a call back may let the program go on only if the answer cannot matter. That is read off the
//! code: from the place where the answer goes, every path is followed until the register is written again (it does
//! not matter on this path), read (it does), or given back to the caller, where the same question is asked again.

use std::collections::BTreeSet;

use super::Machine;
use super::fiber::{Fiber, State};
use super::library::is_foreign;
use crate::code::{Op, Reg, Unit};
use crate::instructions::Operand;
use crate::span::Span;

/// What a program does with the answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerUse {
    /// Nothing: it goes on in the same way whatever the answer is.
    Nothing,
    /// It is the value of the program, and nothing comes after it.
    Result,
    /// It may look at it.
    Used,
}

/// What becomes of a register on the paths of one function.
struct Fate {
    /// Something reads it.
    read: bool,
    /// It is given back.
    returned: bool,
}

/// What an instruction does to one register.
#[derive(Default)]
struct Touch {
    /// It reads it.
    reads: bool,
    /// It writes it, or leaves it empty.
    writes: bool,
    /// It writes it where it does not go on with the next instruction.
    writes_beside: bool,
    /// It puts what is in it there too.
    copies_to: Option<Reg>,
}

impl Machine {
    /// What the program will do with the answer to a call that it waits for; `None` if it waits for no such call.
    ///
    /// The answer is taken to be a value of a tool: a raise or a `reduced` would change where the program goes.
    pub fn answer_use(&self, id: u64) -> Option<AnswerUse> {
        let (fiber, give) = self.waiting_for(id)?;
        let mut give = give;
        for (at, frame) in fiber.frames.iter().enumerate().rev() {
            if let Some(reg) = give {
                let unit = &self.unit(frame.unit).unit;
                let handlers = fiber.handlers.iter().filter(|handler| handler.frames == at + 1);
                let handlers = handlers.filter(|handler| handler.dst != reg).map(|handler| handler.to);
                let fate = follow(unit, std::iter::once(frame.pc).chain(handlers), reg);
                if fate.read {
                    return Some(AnswerUse::Used);
                }
                if !fate.returned {
                    return Some(AnswerUse::Nothing);
                }
            }
            // It is what this function gives back.
            match frame.give.register() {
                Some(reg) => give = Some(reg),
                None => return Some(AnswerUse::Used),
            }
        }
        Some(if fiber.parent.is_none() { AnswerUse::Result } else { AnswerUse::Used })
    }

    /// Where in the program a call stands that it waits for.
    pub fn call_span(&self, id: u64) -> Option<Span> {
        let (fiber, _) = self.waiting_for(id)?;
        let frame = fiber.frames.iter().rev().find(|frame| !is_foreign(frame.unit))?;
        let unit = &self.unit(frame.unit).unit;
        unit.spans.get((frame.pc as usize).checked_sub(1)?).copied()
    }

    fn waiting_for(&self, id: u64) -> Option<(&Fiber, Option<Reg>)> {
        let others = self.fibers.iter().flatten().map(|fiber| &**fiber);
        std::iter::once(&self.fiber).chain(others).find_map(|fiber| match fiber.state {
            State::Waiting { call, give } if call == id => Some((fiber, give)),
            _ => None,
        })
    }
}

/// Follows a register from these instructions on.
fn follow(unit: &Unit, from: impl Iterator<Item = u32>, reg: Reg) -> Fate {
    let mut fate = Fate { read: false, returned: false };
    let mut open: Vec<(u32, Reg)> = from.map(|pc| (pc, reg)).collect();
    let mut seen: BTreeSet<(u32, Reg)> = BTreeSet::new();
    while let Some((pc, reg)) = open.pop() {
        if !seen.insert((pc, reg)) {
            continue;
        }
        // Code that runs off its end is not made; whoever made it may do anything.
        let Some(op) = unit.ops.get(pc as usize).copied() else {
            fate.read = true;
            continue;
        };
        match op {
            Op::Return { src, .. } => fate.returned |= src == reg,
            // An answer is never `reduced`.
            Op::Unreduce { src } => {
                open.push((pc + 2, reg));
                open.extend((src != reg).then_some((pc + 1, reg)));
            }
            op => {
                let touch = touch(unit, op, reg);
                fate.read |= touch.reads;
                let [next, beside] = op.flow().paths(pc);
                for to in next.into_iter().chain(beside) {
                    let is_written = touch.writes || touch.writes_beside && Some(to) == beside;
                    open.extend((!is_written).then_some((to, reg)));
                    open.extend(touch.copies_to.map(|copy| (to, copy)));
                }
            }
        }
        if fate.read {
            break;
        }
    }
    fate
}

fn in_row(reg: Reg, first: Reg, count: usize) -> bool {
    let (reg, first) = (usize::from(reg), usize::from(first));
    (first..first + count).contains(&reg)
}

/// What an instruction does to a register.
fn touch(unit: &Unit, op: Op, reg: Reg) -> Touch {
    let mut touch = Touch::default();
    op.operands(|operand| match operand {
        Operand::Out(dst)
        | Operand::OutPlain(dst)
        | Operand::OutNumber(dst)
        | Operand::OutSelf(dst)
        | Operand::OutConst(dst, _)
        | Operand::OutCall(dst, _) => touch.writes |= dst == reg,
        Operand::OutSkip(dst) | Operand::OutCaught(dst) => touch.writes_beside |= dst == reg,
        Operand::Copy(dst, src) | Operand::Move(dst, src) if src == reg => {
            touch.copies_to = Some(dst);
            touch.writes |= matches!(operand, Operand::Move(..));
        }
        Operand::Copy(dst, _) | Operand::Move(dst, _) => touch.writes |= dst == reg,
        Operand::In(src) | Operand::InNumber(src) | Operand::InCounter(src) | Operand::InOut(src) => {
            touch.reads |= src == reg;
        }
        // Arguments are gone after a call, and so is what calls it.
        Operand::CallRow(f, n) => touch.reads |= in_row(reg, f, usize::from(n) + 1),
        Operand::GlobalRow(f, n) => {
            touch.writes |= reg == f;
            touch.reads |= reg != f && in_row(reg, f, usize::from(n) + 1);
        }
        Operand::BuiltinRow(f, n) => touch.reads |= reg != f && in_row(reg, f, usize::from(n) + 1),
        Operand::Row(first, n) => touch.reads |= in_row(reg, first, usize::from(n)),
        Operand::WalkRow(walk) => touch.reads |= in_row(reg, walk, 2),
        Operand::Pairs(first, n) => touch.reads |= in_row(reg, first, 2 * usize::from(n)),
        Operand::CaptureRow(first, func) => {
            let captures = unit.funcs.get(usize::from(func)).map_or(usize::MAX / 2, |f| f.captures.into());
            touch.reads |= in_row(reg, first, captures);
        }
        Operand::Source(_)
        | Operand::Const(_)
        | Operand::Keyword(_)
        | Operand::Global(_)
        | Operand::Captured(_)
        | Operand::Func(_)
        | Operand::Sibling(_)
        | Operand::Nth(_) => {}
    });
    touch
}
