//! Control flow: branches, loops, walks, `try`, and tail positions.

use super::{Builder, Result, too_large};
use crate::analyze::node::{LetfnNode, Local, Node, NodeKind, ReduceNode, TryNode};
use crate::builtins::{Run, registry};
use crate::code::{Const, Op, Reg, Residue};

impl Builder<'_> {
    pub(super) fn control(&mut self, node: &Node, dst: Reg) -> Result {
        match &node.kind {
            NodeKind::If(test, then, other) => {
                let skip = self.branch(test, false)?;
                let outer = self.enter_way(skip, true);
                self.expr(then, dst)?;
                let end = self.emit(Op::Jump { to: 0 });
                self.land(skip);
                self.enter_way(skip, false);
                self.expr(other, dst)?;
                self.land(end);
                self.target.way = outer;
                Ok(())
            }
            NodeKind::IfNil(test, then, other) => {
                let skip = self.branch(test, true)?;
                self.expr(other, dst)?;
                let end = self.emit(Op::Jump { to: 0 });
                self.land(skip);
                self.expr(then, dst)?;
                self.land(end);
                Ok(())
            }
            NodeKind::Do(nodes) => {
                let Some((last, rest)) = nodes.split_last() else { return self.constant(&Const::Nil, dst) };
                for node in rest {
                    self.effect(node)?;
                }
                self.expr(last, dst)
            }
            NodeKind::And(nodes) => self.short_circuit(nodes, dst, |src, to| Op::JumpIfNot { src, to }),
            NodeKind::Or(nodes) => self.short_circuit(nodes, dst, |src, to| Op::JumpIf { src, to }),
            NodeKind::Let(bindings, body) => {
                let mark = self.next;
                self.bindings(bindings)?;
                self.expr(body, dst)?;
                self.next = mark;
                Ok(())
            }
            NodeKind::Loop(bindings, body) => {
                let mark = self.next;
                let outer = self.enter_loop(bindings)?;
                self.expr(body, dst)?;
                self.target = outer;
                self.next = mark;
                Ok(())
            }
            NodeKind::Recur(args) => self.recur(args),
            NodeKind::Letfn(letfn) => {
                let mark = self.next;
                self.letfn(letfn)?;
                self.expr(&letfn.body, dst)?;
                self.next = mark;
                Ok(())
            }
            NodeKind::Reduce(reduce) => self.reduce(reduce, dst),
            NodeKind::Try(node) => self.try_(node, dst),
            NodeKind::Chain(chain) => self.chain(chain, dst),
            _ => unreachable!("expr handles the rest"),
        }
    }

    /// Whether a call runs code of the machine, so that handing over saves a frame.
    fn is_tail_call(&self, function: &Node) -> bool {
        match &function.kind {
            NodeKind::Builtin(id) => self.compiler.library && matches!(registry().get(*id).run, Run::Core(_)),
            NodeKind::Const(_) => false,
            NodeKind::Export(_) => self.compiler.prelude && !self.top_level,
            _ => !self.top_level,
        }
    }

    /// Code whose value nobody wants.
    fn effect(&mut self, node: &Node) -> Result {
        let mark = self.next;
        let dst = self.alloc(1)?;
        self.expr(node, dst)?;
        // A value left behind would be a second owner: `(swap! a conj x)` in a loop would copy.
        if matches!(node.kind, NodeKind::Call(..)) {
            self.emit(Op::Nil { dst });
        }
        self.next = mark;
        Ok(())
    }

    /// A jump that is taken if `test` is false (or nil).
    pub(super) fn branch(&mut self, test: &Node, on_nil: bool) -> Result<usize> {
        if !on_nil && let Some(jump) = self.compare(test)? {
            return Ok(jump);
        }
        let mark = self.next;
        let src = match test.kind {
            NodeKind::Local(local, _) => self.register(local),
            _ => {
                let register = self.alloc(1)?;
                self.expr(test, register)?;
                register
            }
        };
        self.next = mark;
        Ok(self.emit(if on_nil { Op::JumpIfNil { src, to: 0 } } else { Op::JumpIfNot { src, to: 0 } }))
    }

    fn short_circuit(&mut self, nodes: &[Node], dst: Reg, jump: impl Fn(Reg, u32) -> Op) -> Result {
        // The value is built in a fresh register: `dst` may be a local that a later part reads.
        let mark = self.next;
        let temp = self.alloc(1)?;
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            self.expr(node, temp)?;
            if at + 1 < nodes.len() {
                jumps.push(self.emit(jump(temp, 0)));
            }
        }
        jumps.into_iter().for_each(|at| self.land(at));
        self.emit(Op::Move { dst, src: temp });
        self.next = mark;
        Ok(())
    }

    pub(super) fn bindings(&mut self, bindings: &[(Local, Node)]) -> Result<Vec<Reg>> {
        let mut registers = Vec::with_capacity(bindings.len());
        for (local, value) in bindings {
            let register = self.alloc(1)?;
            self.expr(value, register)?;
            self.assign(*local, register);
            registers.push(register);
        }
        Ok(registers)
    }

    fn letfn(&mut self, letfn: &LetfnNode) -> Result {
        let mark = self.next;
        let locals = self.alloc(letfn.functions.len())?;
        let first = self.alloc(letfn.captures.len())?;
        for (at, capture) in letfn.captures.iter().enumerate() {
            self.expr(capture, first + at as u16)?;
        }
        // All functions are numbered before any is compiled, so that they stand together.
        let captures = u16::try_from(letfn.captures.len()).map_err(|_| too_large())?;
        let mut numbers = Vec::new();
        for (_, function) in &letfn.functions {
            let at = self.compiler.reserve(function)?;
            let reserved = &mut self.compiler.unit.funcs[usize::from(at)];
            reserved.captures = captures;
            reserved.needs_self |= captures > 0;
            numbers.push(at);
        }
        let base = numbers.first().copied().unwrap_or_default();
        for (number, (_, function)) in numbers.iter().zip(&letfn.functions) {
            self.compiler.fill(*number, function, base)?;
        }
        for (at, ((local, _), func)) in letfn.functions.iter().zip(numbers).enumerate() {
            let dst = locals + at as u16;
            self.emit(match at {
                0 => Op::Function { dst, first, func },
                _ => Op::SiblingOf { dst, of: locals, func },
            });
            self.assign(*local, dst);
        }
        self.next = mark + letfn.functions.len() as u16;
        Ok(())
    }

    /// A walk over a collection with an accumulator.
    fn reduce(&mut self, reduce: &ReduceNode, dst: Reg) -> Result {
        let mark = self.next;
        let acc = self.alloc(3)?;
        let (item, walk) = (acc + 1, acc + 2);
        self.expr(&reduce.init, acc)?;
        self.expr(&reduce.coll, item)?;
        self.emit(Op::Walk { dst: walk, src: item });
        self.assign(reduce.acc, acc);
        self.assign(reduce.item, item);
        let start = self.here();
        self.emit(Op::Next { dst: item, walk });
        let done = self.emit(Op::Jump { to: 0 });
        match reduce.body.kind {
            NodeKind::Call(..) => self.expr(&reduce.body, acc)?,
            _ => {
                let temp = self.alloc(1)?;
                self.expr(&reduce.body, temp)?;
                self.emit(Op::Move { dst: acc, src: temp });
            }
        }
        self.emit(Op::Unreduce { src: acc });
        let stop = self.emit(Op::Jump { to: 0 });
        self.emit(Op::Jump { to: start });
        self.land(done);
        self.land(stop);
        self.emit(Op::Move { dst, src: acc });
        self.emit(Op::Nil { dst: walk });
        self.next = mark;
        Ok(())
    }

    fn try_(&mut self, node: &TryNode, dst: Reg) -> Result {
        let mark = self.next;
        let Some(finally) = &node.finally else {
            self.try_catch(node, dst)?;
            self.next = mark;
            return Ok(());
        };
        let thrown = self.alloc(2)?;
        let value = thrown + 1;
        let guard = self.emit(Op::Try { dst: thrown, to: 0 });
        self.try_catch(node, value)?;
        self.emit(Op::EndTry {});
        self.emit(Op::Nil { dst: thrown });
        self.land(guard);
        // Once for both ways: code that stood twice would double with each level of nesting.
        self.effect(finally)?;
        let end = self.emit(Op::JumpIfNot { src: thrown, to: 0 });
        self.emit(Op::Throw { src: thrown });
        self.land(end);
        self.emit(Op::Move { dst, src: value });
        self.next = mark;
        Ok(())
    }

    fn try_catch(&mut self, node: &TryNode, dst: Reg) -> Result {
        if node.catches.is_empty() {
            return self.expr(&node.body, dst);
        }
        let mark = self.next;
        let thrown = self.alloc(3)?;
        let (matches, value) = (thrown + 1, thrown + 2);
        let guard = self.emit(Op::Try { dst: thrown, to: 0 });
        self.expr(&node.body, value)?;
        self.emit(Op::EndTry {});
        let mut ends = vec![self.emit(Op::Jump { to: 0 })];
        self.land(guard);
        for (class, local, body) in &node.catches {
            let class = self.compiler.pool.constant(&Const::Str(class.clone()));
            let class = u16::try_from(class).map_err(|_| too_large())?;
            self.emit(Op::Catches { dst: matches, src: thrown, class });
            let next = self.emit(Op::JumpIfNot { src: matches, to: 0 });
            self.assign(*local, thrown);
            self.expr(body, value)?;
            ends.push(self.emit(Op::Jump { to: 0 }));
            self.land(next);
        }
        self.emit(Op::Throw { src: thrown });
        ends.into_iter().for_each(|at| self.land(at));
        self.emit(Op::Move { dst, src: value });
        self.next = mark;
        Ok(())
    }

    /// Code for the last expression of a function: it returns, or hands over to another function.
    pub(super) fn tail(&mut self, node: &Node) -> Result {
        let outer = std::mem::replace(&mut self.span, node.span);
        let result = self.tail_inner(node);
        self.span = outer;
        result
    }

    fn tail_inner(&mut self, node: &Node) -> Result {
        let mark = self.next;
        match &node.kind {
            NodeKind::Local(local, _) => {
                let src = self.register(*local);
                self.emit(Op::Return { src, residue: Residue::ALL });
            }
            NodeKind::If(test, then, other) => {
                let skip = self.branch(test, false)?;
                let outer = self.enter_way(skip, true);
                self.tail(then)?;
                self.land(skip);
                self.enter_way(skip, false);
                self.tail(other)?;
                self.target.way = outer;
            }
            NodeKind::IfNil(test, then, other) => {
                let skip = self.branch(test, true)?;
                self.tail(other)?;
                self.land(skip);
                self.tail(then)?;
            }
            NodeKind::Do(nodes) if !nodes.is_empty() => {
                let (last, rest) = nodes.split_at(nodes.len() - 1);
                for node in last {
                    self.effect(node)?;
                }
                self.tail(&rest[0])?;
            }
            NodeKind::Let(bindings, body) => {
                self.bindings(bindings)?;
                self.tail(body)?;
            }
            NodeKind::Loop(bindings, body) => {
                let outer = self.enter_loop(bindings)?;
                self.tail(body)?;
                self.target = outer;
            }
            NodeKind::Letfn(letfn) => {
                self.letfn(letfn)?;
                self.tail(&letfn.body)?;
            }
            NodeKind::Recur(args) => self.recur(args)?,
            NodeKind::Call(function, args) if self.is_tail_call(function) => {
                let f = self.alloc(args.len() + 1)?;
                self.expr(function, f)?;
                self.args(args, f)?;
                let n = u16::try_from(args.len()).map_err(|_| too_large())?;
                self.emit(Op::TailCall { f, n });
            }
            _ => {
                let src = self.alloc(1)?;
                self.expr(node, src)?;
                self.emit(Op::Return { src, residue: Residue::ALL });
            }
        }
        self.next = mark;
        Ok(())
    }
}
