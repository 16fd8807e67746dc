//! The verifier: whether code does only what the instruction loop can take.
//!
//! The compiler makes such code and debug builds check that; code from a dump is checked before it is
//! linked. [`verify`] says yes only if all of this holds, so the loop need not look:
//!
//! - Every instruction belongs to one arity of one function, and execution cannot leave it except by
//!   `Return`, `TailCall` or `Throw`: jumps stay inside, nothing runs off the end, the instruction that
//!   `Next` and `Unreduce` skip is there, and so are the calls that `Pipe` and `Fuse` do.
//! - Every register an instruction names, also as part of a row, is below the arity's `registers`;
//!   parameters fit into them.
//! - The result of a call goes to a register below the ones of the called function.
//! - Constants, definitions, functions and captures that are named exist; a keyword lookup names a
//!   keyword; a function and its siblings have equally many captures.
//! - Every cycle goes through a `Jump` back, where the meters are looked at, the jump after a count
//!   included: conditional jumps and handlers only go forward, and so does the jump after a comparison.
//! - `Try` and `EndTry` match on every path, and none is open at `Return` and `TailCall`, so a handler
//!   never outlives its frame.
//!
//! It says nothing about the values in registers: what the loop takes from a register (a function, a
//! walk, captures of a sibling) it looks at.

use crate::code::{Const, Op, Reg, Unit};
use crate::instructions::{Flow, Operand};
use crate::residue::ArityBody;

/// What is wrong with code: the instruction and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The instruction.
    pub at: usize,
    /// What is wrong with it.
    pub what: &'static str,
}

/// The code of one arity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first instruction.
    pub start: u32,
    /// One past the last.
    pub end: u32,
    /// How many registers a frame has there.
    pub registers: u16,
    /// How many of them are parameters, the one for the rest included.
    pub params: u16,
    /// The function.
    pub func: u32,
    /// How many values the function captures.
    pub captures: u16,
}

impl Region {
    /// What following its registers needs to know.
    pub fn body(&self) -> ArityBody {
        ArityBody { start: self.start, params: self.params, registers: self.registers }
    }
}

/// What is known of verified code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLayout {
    regions: Vec<Region>,
    /// Open `Try`s before each instruction; [`UNREACHED`] where execution never comes.
    open: Vec<u16>,
}

const UNREACHED: u16 = u16::MAX;

/// A function's registers are cleared when it returns, after its result has been handed over.
const INSIDE: &str = "the result of a call goes where the called function's registers are";

impl CodeLayout {
    /// All arities in the order of their code.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The arity that the instruction at `pc` belongs to.
    pub fn region(&self, pc: u32) -> Option<&Region> {
        let after = self.regions.partition_point(|region| region.start <= pc);
        self.regions.get(after.checked_sub(1)?).filter(|region| pc < region.end)
    }

    /// How many `Try`s are open before the instruction at `pc`, if execution can come there.
    pub fn open_tries(&self, pc: u32) -> Option<u16> {
        self.open.get(pc as usize).copied().filter(|open| *open != UNREACHED)
    }
}

/// Checks all code of a unit.
pub fn verify(unit: &Unit) -> Result<CodeLayout, Fault> {
    let regions = regions(unit)?;
    let mut layout = CodeLayout { open: vec![UNREACHED; unit.ops.len()], regions: Vec::new() };
    for region in &regions {
        let check = Check { unit, region };
        for at in region.start..region.end {
            check.operands(at)?;
        }
        check.flow(&mut layout.open)?;
    }
    layout.regions = regions;
    Ok(layout)
}

/// The arities of all functions in the order of their code, which they share out completely.
fn regions(unit: &Unit) -> Result<Vec<Region>, Fault> {
    let fault = |at: u32, what| Err(Fault { at: at as usize, what });
    if unit.funcs.len() > usize::from(u16::MAX) {
        return fault(0, "there are too many functions");
    }
    let mut regions = Vec::with_capacity(unit.funcs.len());
    for (func, function) in unit.funcs.iter().enumerate() {
        for arity in &function.arities {
            if u32::from(arity.params) + u32::from(arity.variadic) > u32::from(arity.registers) {
                return fault(arity.entry, "the parameters do not fit into the registers");
            }
            let (start, registers) = (arity.entry, arity.registers);
            let params = arity.params + u16::from(arity.variadic);
            let captures = function.captures;
            regions.push(Region { start, end: start, registers, params, func: func as u32, captures });
        }
    }
    regions.sort_by_key(|region| region.start);
    let end = u32::try_from(unit.ops.len()).unwrap_or(u32::MAX);
    if regions.first().map_or(end, |region| region.start) != 0 {
        return fault(0, "the code belongs to no function");
    }
    for at in 0..regions.len() {
        let next = regions.get(at + 1).map_or(end, |region| region.start);
        regions[at].end = next;
        if next <= regions[at].start {
            return fault(next, "an arity has no code");
        }
    }
    Ok(regions)
}

/// One arity being checked.
struct Check<'u> {
    unit: &'u Unit,
    region: &'u Region,
}

type Checked = Result<(), &'static str>;

impl Check<'_> {
    fn row(&self, first: Reg, count: usize) -> Checked {
        let fits = usize::from(first) + count <= usize::from(self.region.registers);
        fits.then_some(()).ok_or("a register is outside of the frame")
    }

    fn constant(&self, at: u32) -> Result<&Const, &'static str> {
        self.unit.consts.get(at as usize).ok_or("a constant is missing")
    }

    fn global(&self, at: u32) -> Checked {
        self.unit.globals.get(at as usize).map(|_| ()).ok_or("the name of a definition is missing")
    }

    fn captures_of(&self, func: u16) -> Result<u16, &'static str> {
        self.unit.funcs.get(usize::from(func)).map(|func| func.captures).ok_or("a function is missing")
    }

    fn target(&self, to: u32) -> Checked {
        (self.region.start..self.region.end).contains(&to).then_some(()).ok_or("a jump leaves the function")
    }

    fn forward(&self, at: u32, to: u32) -> Checked {
        self.target(to)?;
        (to > at).then_some(()).ok_or("only plain jumps may go back")
    }

    /// The loop takes the jump after a comparison without a look at the meters.
    fn forward_jump_after(&self, at: u32) -> Checked {
        match self.unit.ops.get(at as usize + 1) {
            Some(Op::Jump { to }) => self.forward(at, *to),
            _ => Err("a comparison has no jump after it"),
        }
    }

    /// The jump of a loop that counts may go back: there the loop looks at the meters.
    fn jump_after(&self, at: u32) -> Checked {
        match self.unit.ops.get(at as usize + 1) {
            Some(Op::Jump { to }) => self.target(*to),
            _ => Err("a count has no jump after it"),
        }
    }

    /// Calls from `at` on, each of which is the last argument of the next one.
    fn chain(&self, at: u32, count: u8) -> Checked {
        let calls = at.checked_add(count.into()).filter(|end| *end <= self.region.end);
        let calls = calls.and_then(|end| self.unit.ops.get(at as usize..end as usize));
        let is_last = |inner: &Op, outer: &Op| match (*inner, *outer) {
            (Op::CallBuiltin { dst, f: inner, .. }, Op::CallBuiltin { f, n, .. }) => {
                n > 0 && usize::from(dst) == usize::from(f) + usize::from(n) && dst < inner
            }
            _ => false,
        };
        let are_calls = |calls: &[Op]| {
            matches!(calls.last(), Some(Op::CallBuiltin { .. })) && calls.is_sorted_by(is_last)
        };
        calls.is_some_and(are_calls).then_some(()).ok_or("the calls of a pipe are missing")
    }

    fn operands(&self, at: u32) -> Result<(), Fault> {
        let op = self.unit.ops[at as usize];
        self.operand(at, op).map_err(|what| Fault { at: at as usize, what })
    }

    fn operand(&self, at: u32, op: Op) -> Checked {
        let mut checked = self.destination(at, op.flow());
        op.operands(|operand| checked = checked.and_then(|()| self.role(operand)));
        checked
    }

    /// Whether execution may go where an instruction sends it.
    fn destination(&self, at: u32, flow: Flow) -> Checked {
        match flow {
            Flow::Jump(to) => self.target(to),
            Flow::Branch(to) | Flow::Open(to) => self.forward(at, to),
            Flow::Compare => self.forward_jump_after(at),
            Flow::Count => self.jump_after(at),
            Flow::Pipe(calls) | Flow::Fuse(calls) => self.chain(at + 1, calls),
            Flow::Next | Flow::Skip | Flow::Close | Flow::Leave | Flow::Raise => Ok(()),
        }
    }

    /// Whether there is what an operand names, as its role wants it.
    fn role(&self, operand: Operand) -> Checked {
        let holds = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        match operand {
            Operand::OutCall(reg, f) => {
                holds(reg <= f, INSIDE)?;
                self.row(reg, 1)
            }
            Operand::Out(reg)
            | Operand::OutPlain(reg)
            | Operand::OutNumber(reg)
            | Operand::OutSelf(reg)
            | Operand::OutConst(reg, _)
            | Operand::OutSkip(reg)
            | Operand::OutCaught(reg)
            | Operand::Copy(reg, _)
            | Operand::Move(reg, _)
            | Operand::Source(reg)
            | Operand::In(reg)
            | Operand::InNumber(reg)
            | Operand::InCounter(reg)
            | Operand::InOut(reg) => self.row(reg, 1),
            Operand::CallRow(f, n) | Operand::GlobalRow(f, n) | Operand::BuiltinRow(f, n) => {
                self.row(f, usize::from(n) + 1)
            }
            Operand::Row(first, n) => self.row(first, usize::from(n)),
            Operand::WalkRow(walk) => self.row(walk, 2),
            Operand::Pairs(first, n) => self.row(first, 2 * usize::from(n)),
            Operand::CaptureRow(first, func) => self.row(first, usize::from(self.captures_of(func)?)),
            Operand::Const(at) => self.constant(at).map(|_| ()),
            Operand::Keyword(at) => {
                holds(matches!(self.constant(at)?, Const::Keyword(_)), "a lookup is not by keyword")
            }
            Operand::Global(at) => self.global(at),
            Operand::Captured(at) => holds(at < self.region.captures, "a captured value is missing"),
            Operand::Func(func) => self.captures_of(func).map(|_| ()),
            Operand::Sibling(func) => {
                holds(self.captures_of(func)? == self.region.captures, "a sibling captures something else")
            }
            Operand::Nth(nth) => holds(nth > 0, "results are counted from one"),
        }
    }

    /// Follows every path and counts open `Try`s, which must agree where paths meet.
    fn flow(&self, open: &mut [u16]) -> Result<(), Fault> {
        let mut pending = vec![self.region.start];
        open[self.region.start as usize] = 0;
        while let Some(at) = pending.pop() {
            let here = open[at as usize];
            let fault = |what| Fault { at: at as usize, what };
            for (to, tries) in self.paths(at, here).map_err(fault)?.into_iter().flatten() {
                if !(self.region.start..self.region.end).contains(&to) {
                    return Err(fault("the code runs off its end"));
                }
                let known = &mut open[to as usize];
                if *known == UNREACHED {
                    *known = tries;
                    pending.push(to);
                } else if *known != tries {
                    return Err(fault("a try is open on one path and not on another"));
                }
            }
        }
        Ok(())
    }

    /// Where execution can go from an instruction, with how many `Try`s open.
    fn paths(&self, at: u32, open: u16) -> Result<[Option<(u32, u16)>; 2], &'static str> {
        let flow = self.unit.ops[at as usize].flow();
        let after = match flow {
            Flow::Open(_) => {
                let more = open.checked_add(1).filter(|more| *more != UNREACHED);
                more.ok_or("too many tries are open")?
            }
            Flow::Close => open.checked_sub(1).ok_or("no try is open")?,
            Flow::Leave if open > 0 => return Err("a try is left open"),
            _ => open,
        };
        let [next, other] = flow.paths(at);
        Ok([next.map(|to| (to, after)), other.map(|to| (to, open))])
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
