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
enum Touch {
    Reads,
    Writes,
    CopiesTo(Reg, Keeps),
    Leaves,
}

/// Whether the register that is copied keeps its value.
type Keeps = bool;

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
            Op::TailCall { f, n } => fate.read |= in_row(reg, f, usize::from(n) + 1),
            Op::Throw { src } => fate.read |= src == reg,
            Op::Jump { to } => open.push((to, reg)),
            Op::JumpIfNot { src, to } | Op::JumpIf { src, to } | Op::JumpIfNil { src, to } => {
                fate.read |= src == reg;
                open.extend([(pc + 1, reg), (to, reg)]);
            }
            Op::IfLess { a, b } | Op::IfLessEq { a, b } | Op::IfEqual { a, b } => {
                fate.read |= a == reg || b == reg;
                open.extend([(pc + 1, reg), (pc + 2, reg)]);
            }
            Op::IfLessInt { a, .. }
            | Op::IfLessEqInt { a, .. }
            | Op::IfMoreInt { a, .. }
            | Op::IfMoreEqInt { a, .. }
            | Op::IfEqualInt { a, .. } => {
                fate.read |= a == reg;
                open.extend([(pc + 1, reg), (pc + 2, reg)]);
            }
            Op::CountBelowInt { a, .. } | Op::CountAboveInt { a, .. } => {
                fate.read |= a == reg;
                open.extend([(pc + 1, reg), (pc + 2, reg)]);
            }
            Op::CountBelow { a, b, .. } | Op::CountAbove { a, b, .. } => {
                fate.read |= a == reg || b == reg;
                open.extend([(pc + 1, reg), (pc + 2, reg)]);
            }
            Op::Next { dst, walk } => {
                fate.read |= walk == reg;
                open.push((pc + 1, reg));
                open.extend((dst != reg).then_some((pc + 2, reg)));
            }
            // An answer is never `reduced`.
            Op::Unreduce { src } => {
                open.push((pc + 2, reg));
                open.extend((src != reg).then_some((pc + 1, reg)));
            }
            Op::Try { dst, to } => {
                open.push((pc + 1, reg));
                open.extend((dst != reg).then_some((to, reg)));
            }
            // The calls touch what the one pass touches; the loop stands behind them and a jump.
            Op::Fuse { n } => open.extend([(pc + 1, reg), (pc + 2 + u32::from(n), reg)]),
            op => match touch(unit, op, reg) {
                Touch::Reads => fate.read = true,
                Touch::Writes => {}
                Touch::Leaves => open.push((pc + 1, reg)),
                Touch::CopiesTo(to, keeps) => {
                    open.push((pc + 1, to));
                    open.extend(keeps.then_some((pc + 1, reg)));
                }
            },
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

/// What an instruction that goes on with the next one does to a register.
fn touch(unit: &Unit, op: Op, reg: Reg) -> Touch {
    let plain = |reads: bool, dst: Option<Reg>| match (reads, dst == Some(reg)) {
        (true, _) => Touch::Reads,
        (false, true) => Touch::Writes,
        (false, false) => Touch::Leaves,
    };
    // Arguments are gone after a call.
    let called = |reads: bool, dst: Reg, f: Reg, n: usize| match reads {
        true => Touch::Reads,
        false if dst == reg || in_row(reg, f, n + 1) => Touch::Writes,
        false => Touch::Leaves,
    };
    match op {
        Op::Copy { dst, src } if src == reg && dst != reg => Touch::CopiesTo(dst, true),
        Op::Move { dst, src } if src == reg && dst != reg => Touch::CopiesTo(dst, false),
        Op::Copy { dst, .. } | Op::Move { dst, .. } => plain(false, Some(dst)),
        Op::Nil { dst }
        | Op::Bool { dst, .. }
        | Op::Int { dst, .. }
        | Op::Const { dst, .. }
        | Op::Capture { dst, .. }
        | Op::SelfFn { dst }
        | Op::Sibling { dst, .. }
        | Op::Global { dst, .. }
        | Op::GlobalOrNil { dst, .. }
        | Op::HasGlobal { dst, .. }
        | Op::Export { dst, .. }
        | Op::Data { dst, .. }
        | Op::History { dst, .. } => plain(false, Some(dst)),
        Op::SiblingOf { dst, of: src, .. }
        | Op::Not { dst, src }
        | Op::Walk { dst, src }
        | Op::Lookup { dst, map: src, .. }
        | Op::Catches { dst, src, .. }
        | Op::AddInt { dst, a: src, .. } => plain(src == reg, Some(dst)),
        Op::Define { src, .. } => plain(src == reg, None),
        Op::Function { dst, first, func } => {
            let captures = unit.funcs.get(usize::from(func)).map_or(usize::MAX / 2, |f| f.captures.into());
            plain(in_row(reg, first, captures), Some(dst))
        }
        Op::Call { dst, f, n } => called(in_row(reg, f, usize::from(n) + 1), dst, f, usize::from(n)),
        // The register before the arguments is only room.
        Op::CallGlobal { dst, f, n, .. } | Op::CallBuiltin { dst, f, n, .. } => {
            called(reg != f && in_row(reg, f, usize::from(n) + 1), dst, f, usize::from(n))
        }
        Op::Add { dst, a, b }
        | Op::Sub { dst, a, b }
        | Op::Mul { dst, a, b }
        | Op::Less { dst, a, b }
        | Op::LessEq { dst, a, b }
        | Op::Equal { dst, a, b } => plain(a == reg || b == reg, Some(dst)),
        Op::Vector { dst, first, n } | Op::Set { dst, first, n } => {
            plain(in_row(reg, first, usize::from(n)), Some(dst))
        }
        Op::Map { dst, first, n } => plain(in_row(reg, first, 2 * usize::from(n)), Some(dst)),
        Op::TakeSlot { dst, map, key } => plain(map == reg || key == reg, Some(dst)),
        // What a pipe touches, the calls after it touch in the same way.
        Op::EndTry | Op::Pipe { .. } => Touch::Leaves,
        // These do not simply go on; they are looked at where paths are followed.
        Op::Jump { .. }
        | Op::Fuse { .. }
        | Op::JumpIfNot { .. }
        | Op::JumpIf { .. }
        | Op::JumpIfNil { .. }
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
        | Op::TailCall { .. }
        | Op::Return { .. }
        | Op::Next { .. }
        | Op::Unreduce { .. }
        | Op::Try { .. }
        | Op::Throw { .. } => Touch::Reads,
    }
}
