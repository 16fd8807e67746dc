//! Whether a machine that was read can run: frames fit their code and their registers, handlers fit
//! their frames, fibers wait for each other and for calls that exist.

use super::DumpError;
use super::bytes::Read;
use super::read::Reader;
use crate::code::{Op, Reg};
use crate::machine::fiber::{Fiber, Frame, State};
use crate::residue::{CountedBefore, follow};
use crate::value::Value;
use crate::verify::Region;

fn demand(holds: bool, what: &'static str) -> Read {
    if holds { Ok(()) } else { Err(DumpError::damaged(what)) }
}

impl Reader<'_> {
    /// The code that a frame is in. One that waits for the result of its last call may stand behind it.
    pub(super) fn region(&self, unit: usize, pc: u32) -> Read<&Region> {
        let layout = self.layouts.get(unit).ok_or(DumpError::damaged("a unit is missing"))?;
        let behind_tail_call = || {
            let last = pc.checked_sub(1)?;
            let call = matches!(self.units[unit].unit.ops.get(last as usize), Some(Op::TailCall { .. }));
            layout.open_tries(last).filter(|_| call).and_then(|_| layout.region(last))
        };
        let running = || layout.open_tries(pc).and_then(|_| layout.region(pc));
        behind_tail_call()
            .filter(|_| running().is_none())
            .or_else(running)
            .ok_or(DumpError::damaged("a function runs outside of its code"))
    }

    /// Looks at everything that running relies on.
    pub(super) fn check(&self) -> Read {
        let machine = &self.machine;
        demand(machine.history.len() <= 3, "there are too many results")?;
        if !machine.running {
            return Ok(());
        }
        let places = machine.fibers.len();
        demand(machine.current < places, "the running fiber has no place")?;
        demand(machine.fibers[machine.current].is_none(), "two fibers have one place")?;
        let branches = self.branches()?;
        for (at, branches) in branches.iter().enumerate() {
            if let Some(fiber) = self.at(at) {
                self.fiber_fits(fiber)?;
                waits_well(fiber, branches)?;
            }
        }
        demand(self.turns_fit(), "a fiber that can run has no turn, or one that cannot has one")?;
        self.calls_fit()
    }

    /// Empties the registers in which the code of the frames has nothing that is counted: dumps of earlier versions
    /// have arguments of calls there, damaged ones anything, and returns would not look.
    pub(super) fn sweep(&mut self) {
        for at in 0..self.machine.fibers.len() {
            let kept = self.at(at).map(|fiber| self.kept(fiber)).unwrap_or_default();
            let fiber = if at == self.machine.current {
                Some(&mut self.machine.fiber)
            } else {
                self.machine.fibers[at].as_deref_mut()
            };
            for (register, kept) in fiber.into_iter().flat_map(|fiber| &mut fiber.regs).zip(kept) {
                // As a key it would be one that was removed.
                if matches!(register, Value::Unbound) {
                    *register = Value::Nil;
                }
                // Large integers and decimals stand where numbers are expected.
                if !kept && !register.is_plain() && !matches!(register, Value::Big(_) | Value::Decimal(_)) {
                    *register = Value::Nil;
                }
            }
        }
    }

    /// Which registers of a fiber may hold what is counted.
    fn kept(&self, fiber: &Fiber) -> Vec<bool> {
        // The machine itself puts something into the first frame, and that frame is emptied as a whole.
        let first = fiber.first_end();
        let mut kept: Vec<bool> = (0..fiber.regs.len()).map(|at| at < first).collect();
        // Frames of one function often stand on each other.
        let mut latest: Option<(u32, u32, Option<CountedBefore>)> = None;
        for frame in &fiber.frames {
            let base = frame.base as usize;
            kept[base - 1] = true;
            let window = &mut kept[base..base + usize::from(frame.registers)];
            let code = self.number_of(frame.unit).and_then(|number| self.region(number, frame.pc).ok());
            let Some(region) = code else { continue };
            if latest.as_ref().is_none_or(|(unit, start, _)| (*unit, *start) != (frame.unit, region.start)) {
                let unit = &self.machine.unit(frame.unit).unit;
                let ops = &unit.ops[region.start as usize..region.end as usize];
                latest = Some((frame.unit, region.start, follow(ops, region.body(), &unit.consts)));
            }
            let followed = latest.as_ref().and_then(|(.., followed)| followed.as_ref());
            let here =
                followed.and_then(|before| before.get((frame.pc - region.start) as usize).copied().flatten());
            for (at, kept) in window.iter_mut().enumerate() {
                *kept |= here.is_none_or(|here| here & (1 << at) != 0);
            }
        }
        kept
    }

    /// The fiber with a number.
    fn at(&self, at: usize) -> Option<&Fiber> {
        if at == self.machine.current {
            Some(&self.machine.fiber)
        } else {
            self.machine.fibers.get(at)?.as_deref()
        }
    }

    /// Whether exactly those fibers wait for their turn that can run, the running one left out.
    fn turns_fit(&self) -> bool {
        let machine = &self.machine;
        let wants = |at: usize| match self.at(at).map(|fiber| &fiber.state) {
            Some(State::Ready) => at != machine.current,
            Some(State::Answered { .. }) => true,
            _ => false,
        };
        let mut turns: Vec<usize> = machine.ready.iter().copied().collect();
        turns.sort_unstable();
        turns.into_iter().eq((0..machine.fibers.len()).filter(|at| wants(*at)))
    }

    fn fiber_fits(&self, fiber: &Fiber) -> Read {
        let mut caller: Option<&Frame> = None;
        let mut handlers = 0;
        for (at, frame) in fiber.frames.iter().enumerate() {
            let top = at + 1 == fiber.frames.len();
            let open = self.frame_fits(fiber, frame, caller, top)?;
            for level in 0..open {
                let handler = fiber.handlers.get(handlers);
                let handler = handler.ok_or(DumpError::damaged("a handler is missing"))?;
                demand(handler.frames == at + 1, "a handler belongs to another function")?;
                demand(handler.conts <= fiber.conts.len(), "a handler is older than its function")?;
                demand(handler.dst < frame.registers, "a handler has no register")?;
                self.handler_fits(frame, handler.to, level)?;
                handlers += 1;
            }
            caller = Some(frame);
        }
        demand(handlers == fiber.handlers.len(), "there is a handler too many")
    }

    /// Checks a frame and tells how many handlers it has.
    fn frame_fits(&self, fiber: &Fiber, frame: &Frame, caller: Option<&Frame>, top: bool) -> Read<u16> {
        let number = self.number_of(frame.unit).ok_or(DumpError::damaged("a unit is missing"))?;
        let region = self.region(number, frame.pc)?;
        let base = frame.base as usize;
        demand(base > caller.map_or(0, |caller| caller.base as usize), "a frame begins before its caller")?;
        demand(base <= fiber.regs.len(), "a frame begins beyond the registers")?;
        let room = base + usize::from(frame.registers) <= fiber.regs.len();
        demand(room, "a frame has too few registers")?;
        if let (Some(register), Some(caller)) = (frame.give.register(), caller) {
            demand(register < caller.registers, "a result has no register")?;
        }
        if region.captures > 0 {
            let fits = match &fiber.regs[base - 1] {
                Value::Fn(body) => {
                    body.unit.id == frame.unit && body.captures.len() == usize::from(region.captures)
                }
                _ => false,
            };
            demand(fits, "a function has lost what it captured")?;
        }
        match self.layouts[number]
            .open_tries(frame.pc)
            .filter(|_| region.start <= frame.pc && frame.pc < region.end)
        {
            Some(open) => Ok(open),
            None => {
                // Behind its last call: only the answer to that call can come now.
                let answered = matches!(
                    fiber.state,
                    State::Waiting { give: None, .. }
                        | State::Answered { give: None, .. }
                        | State::Joining { give: None, .. }
                );
                demand(top && answered, "a function runs outside of its code")?;
                Ok(0)
            }
        }
    }

    fn handler_fits(&self, frame: &Frame, to: u32, level: u16) -> Read {
        let number = self.number_of(frame.unit).ok_or(DumpError::damaged("a unit is missing"))?;
        let (own, target) = (self.region(number, frame.pc)?, self.region(number, to)?);
        let open = self.layouts[number].open_tries(to);
        demand(own == target && open == Some(level), "a handler leads out of its function")
    }

    /// The branches of every fiber: their numbers and their places among the results. All of them hang
    /// together with the program itself.
    fn branches(&self) -> Read<Vec<Vec<(usize, usize)>>> {
        let mut branches = vec![Vec::new(); self.machine.fibers.len()];
        let (mut reached, mut count) = (Vec::new(), 0);
        for at in 0..branches.len() {
            let Some(fiber) = self.at(at) else { continue };
            count += 1;
            match fiber.parent {
                None => reached.push(at),
                Some((parent, place)) => match branches.get_mut(parent) {
                    Some(siblings) => siblings.push((at, place)),
                    None => return Err(DumpError::damaged("a branch has no parent")),
                },
            }
        }
        demand(reached.len() == 1, "there is not one program")?;
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            reached.extend(branches[at].iter().map(|(branch, _)| branch));
            next += 1;
        }
        demand(reached.len() == count, "a branch is its own parent")?;
        Ok(branches)
    }

    /// Calls that wait are waited for, each by one fiber.
    fn calls_fit(&self) -> Read {
        let machine = &self.machine;
        let waiting = |at: usize| match self.at(at)?.state {
            State::Waiting { call, .. } => Some(call),
            _ => None,
        };
        let mut waiting: Vec<u64> = (0..machine.fibers.len()).filter_map(waiting).collect();
        let mut made: Vec<u64> = machine.pending.iter().map(|call| call.id).collect();
        waiting.sort_unstable();
        made.sort_unstable();
        demand(waiting == made, "a fiber waits for a call that nobody made")?;
        demand(made.windows(2).all(|pair| pair[0] != pair[1]), "two calls have one number")?;
        demand(
            made.last().is_none_or(|last| *last <= machine.tool_calls + machine.discoveries),
            "a call has a number to come",
        )
    }
}

/// Whether what a fiber waits for will come, and has a place to go.
fn waits_well(fiber: &Fiber, branches: &[(usize, usize)]) -> Read {
    let registers = fiber.frames.last().map_or(0, |frame| frame.registers);
    let lands =
        |give: Option<Reg>| demand(give.is_none_or(|give| give < registers), "a result has no register");
    if !matches!(fiber.state, State::Joining { .. }) {
        demand(branches.is_empty(), "a branch has no parent that waits")?;
    }
    match &fiber.state {
        State::Ready => Ok(()),
        State::Answered { give, .. } | State::Waiting { give, .. } => lands(*give),
        State::Joining { results, left, give, .. } => {
            let mut taken = vec![false; results.len()];
            for (_, place) in branches {
                let free = taken.get_mut(*place).is_some_and(|taken| !std::mem::replace(taken, true));
                demand(free, "a branch has no place for its result")?;
            }
            demand(*left == branches.len() && *left > 0, "a branch is missing")?;
            lands(*give)
        }
        State::Over => demand(false, "a fiber that is over is still there"),
    }
}
