//! Chains of calls that make no collection in between: `(reduce + (map :amount (filter paid? orders)))`.
//!
//! The arguments are evaluated in the usual order into the usual registers: the collection is the last
//! argument of each call, so all calls come after all arguments. Before the calls stands `Op::Fuse`, which lets natives
//! do them all at once if they can. Behind the calls stands a loop that takes one item after the other through all
//! functions of the chain, and no more of them than its end needs: `(first (map f xs))` calls `f` once. The calls
//! themselves are for sources that are lazy where the result has to be lazy too, and for whatever is wrong: they say so.

use super::{Builder, Result};
use crate::analyze::node::{Node, NodeKind};
use crate::builtins::pipeline::PipelinePart;
use crate::builtins::{BuiltinId, Run, registry};
use crate::code::{Op, Reg};
use crate::span::Span;

/// Most calls in one chain.
const LONGEST: usize = 16;

/// The builtin that a call is of, if it can be inside of a chain.
fn stage(node: &Node) -> Option<(BuiltinId, &[Node])> {
    let NodeKind::Call(function, args) = &node.kind else { return None };
    let NodeKind::Builtin(id) = function.kind else { return None };
    registry().get(id).part.filter(|part| part.is_stage(args.len())).map(|_| (id, args.as_slice()))
}

/// One call of a chain.
#[derive(Clone, Copy)]
struct Link {
    part: PipelinePart,
    call: Op,
    span: Span,
    /// The register before its arguments.
    f: Reg,
    /// How many arguments it has.
    n: u16,
    /// Its function, if it is a builtin by name.
    function: Option<BuiltinId>,
}

impl Link {
    fn of(part: PipelinePart, call: Op, span: Span, args: &[Node]) -> Option<Link> {
        let Op::CallBuiltin { f, n, .. } = call else { return None };
        let function = args.first().and_then(|arg| match arg.kind {
            NodeKind::Builtin(id) if !matches!(registry().get(id).run, Run::Const(_)) => Some(id),
            _ => None,
        });
        Some(Link { part, call, span, f, n: n.into(), function })
    }
}

/// The registers of a loop.
#[derive(Clone, Copy)]
struct Loop {
    /// What the end of the chain has so far.
    acc: Reg,
    item: Reg,
    walk: Reg,
    /// What a test said.
    flag: Reg,
    /// Whether there was an item.
    begun: Reg,
    /// Where calls are made.
    window: Reg,
}

/// Jumps that are made before it is known where they go.
#[derive(Default)]
struct Exits {
    /// To the next item.
    next: Vec<usize>,
    /// To the end of the loop.
    done: Vec<usize>,
}

impl Builder<'_> {
    /// The code for a chain that ends with this call, if it is one.
    pub(super) fn pipeline(&mut self, function: &Node, args: &[Node], dst: Reg) -> Option<Result> {
        let NodeKind::Builtin(id) = function.kind else { return None };
        registry().get(id).part.filter(|part| part.is_end(args.len()))?;
        // The library itself calls what natives do not know.
        let is_chain = !self.compiler.library && args.last().and_then(stage).is_some();
        is_chain.then(|| self.chain(id, args, dst))
    }

    fn chain(&mut self, id: BuiltinId, args: &[Node], dst: Reg) -> Result {
        let (mark, outer) = (self.next, self.span);
        let links = self.links(id, args, dst)?;
        self.span = outer;
        let n = links.len() as u8;
        let fused = links.iter().skip(1).all(|link| link.part.is_lazy_stage());
        self.emit(if fused { Op::Fuse { n } } else { Op::Pipe { n } });
        for link in links.iter().rev() {
            self.span = link.span;
            self.emit(link.call);
        }
        self.span = outer;
        if fused {
            let end = self.emit(Op::Jump { to: 0 });
            self.one_by_one(&links, dst)?;
            self.land(end);
        }
        self.span = outer;
        self.next = mark;
        Ok(())
    }

    /// Evaluates all arguments of the calls of a chain; the calls, outermost first.
    fn links(&mut self, id: BuiltinId, args: &[Node], dst: Reg) -> Result<Vec<Link>> {
        let (mut id, mut args, mut dst) = (id, args, dst);
        let mut links = Vec::new();
        loop {
            let f = self.alloc(args.len() + 1)?;
            let n = args.len() as u8;
            let call = Op::CallBuiltin { dst, f, n, id };
            links.extend(registry().get(id).part.and_then(|part| Link::of(part, call, self.span, args)));
            let Some((coll, before)) = args.split_last() else { break };
            self.args(before, f)?;
            dst = f + u16::from(n);
            match stage(coll).filter(|_| links.len() < LONGEST) {
                Some((next, inner)) => {
                    self.span = coll.span;
                    (id, args) = (next, inner);
                }
                None => {
                    self.expr(coll, dst)?;
                    break;
                }
            }
        }
        Ok(links)
    }

    /// The loop that does the calls of a chain item by item.
    fn one_by_one(&mut self, links: &[Link], dst: Reg) -> Result {
        let [end, inner @ ..] = links else { return Ok(()) };
        let Some(source) = inner.last() else { return Ok(()) };
        let acc = self.alloc(8)?;
        let registers =
            Loop { acc, item: acc + 1, walk: acc + 2, flag: acc + 3, begun: acc + 4, window: acc + 5 };
        let Loop { item, walk, .. } = registers;
        self.begin(end, registers);
        // Only the walk may hold the source: what it has left behind is nobody's.
        self.emit(Op::Move { dst: item, src: source.f + source.n });
        self.span = source.span;
        self.emit(Op::Walk { dst: walk, src: item });
        let start = self.here();
        let mut exits = Exits::default();
        if end.part == PipelinePart::Take {
            self.emit(Op::IfMoreInt { a: end.f + 1, value: 0 });
            exits.done.push(self.emit(Op::Jump { to: 0 }));
        }
        self.emit(Op::Next { dst: item, walk });
        exits.done.push(self.emit(Op::Jump { to: 0 }));
        let is_stage = end.part.is_stage(end.n.into());
        for link in inner.iter().rev().chain(is_stage.then_some(end)) {
            self.span = link.span;
            self.stage(link, registers, &mut exits);
        }
        self.span = end.span;
        self.take(end, registers, &mut exits);
        exits.next.into_iter().for_each(|at| self.land(at));
        self.emit(Op::Jump { to: start });
        exits.done.into_iter().for_each(|at| self.land(at));
        self.finish(end, registers, dst);
        // What is left behind would be a second owner of what it holds.
        self.emit(Op::Nil { dst: item });
        self.emit(Op::Nil { dst: walk });
        for link in links.iter().filter(|link| link.function.is_none()) {
            (1..link.n).for_each(|at| {
                self.emit(Op::Nil { dst: link.f + at });
            });
        }
        Ok(())
    }

    /// Calls the function of a link with registers that are emptied by that, but for those that are kept.
    fn apply(&mut self, link: &Link, args: &[Op], window: Reg, dst: Reg) {
        let n = args.len() as u8;
        if link.function.is_none() {
            self.emit(Op::Copy { dst: window, src: link.f + 1 });
        }
        args.iter().for_each(|arg| {
            self.emit(*arg);
        });
        self.emit(match link.function {
            Some(id) => Op::CallBuiltin { dst, f: window, n, id },
            None => Op::Call { dst, f: window, n: n.into() },
        });
    }

    /// Takes an item through one function.
    fn stage(&mut self, link: &Link, registers: Loop, exits: &mut Exits) {
        let Loop { item, flag, window, .. } = registers;
        let moved = Op::Move { dst: window + 1, src: item };
        let copied = Op::Copy { dst: window + 1, src: item };
        match link.part {
            PipelinePart::Filter | PipelinePart::Filterv | PipelinePart::Remove | PipelinePart::TakeWhile => {
                self.apply(link, &[copied], window, flag);
                let to_next = match link.part {
                    PipelinePart::Remove => Op::JumpIf { src: flag, to: 0 },
                    _ => Op::JumpIfNot { src: flag, to: 0 },
                };
                let jump = self.emit(to_next);
                match link.part {
                    PipelinePart::TakeWhile => exits.done.push(jump),
                    _ => exits.next.push(jump),
                }
            }
            PipelinePart::Keep => {
                self.apply(link, &[moved], window, item);
                exits.next.push(self.emit(Op::JumpIfNil { src: item, to: 0 }));
            }
            _ => self.apply(link, &[moved], window, item),
        }
    }

    /// What the end of a chain has before the first item.
    fn begin(&mut self, end: &Link, registers: Loop) {
        let Loop { acc, begun, .. } = registers;
        match end.part {
            PipelinePart::Count => self.emit(Op::Int { dst: acc, value: 0 }),
            PipelinePart::First | PipelinePart::Some => self.emit(Op::Nil { dst: acc }),
            PipelinePart::Empty | PipelinePart::Every | PipelinePart::NotAny => {
                self.emit(Op::Bool { dst: acc, value: true })
            }
            PipelinePart::Second => {
                self.emit(Op::Nil { dst: acc });
                self.emit(Op::Bool { dst: begun, value: false })
            }
            PipelinePart::Reduce if end.n == 3 => self.emit(Op::Move { dst: acc, src: end.f + 2 }),
            PipelinePart::Reduce => self.emit(Op::Bool { dst: begun, value: false }),
            _ => self.emit(Op::Vector { dst: acc, first: acc, n: 0 }),
        };
    }

    /// What the end of a chain does with an item.
    fn take(&mut self, end: &Link, registers: Loop, exits: &mut Exits) {
        let Loop { acc, item, flag, begun, window, .. } = registers;
        let moved = Op::Move { dst: window + 1, src: item };
        match end.part {
            PipelinePart::Empty => {
                self.emit(Op::Bool { dst: acc, value: false });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            PipelinePart::Second => {
                let second = self.emit(Op::JumpIf { src: begun, to: 0 });
                self.emit(Op::Bool { dst: begun, value: true });
                exits.next.push(self.emit(Op::Jump { to: 0 }));
                self.land(second);
                self.emit(Op::Move { dst: acc, src: item });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            PipelinePart::Count => {
                self.emit(Op::AddInt { dst: acc, a: acc, value: 1 });
            }
            PipelinePart::First => {
                self.emit(Op::Move { dst: acc, src: item });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            PipelinePart::Some => {
                self.apply(end, &[moved], window, flag);
                exits.next.push(self.emit(Op::JumpIfNot { src: flag, to: 0 }));
                self.emit(Op::Move { dst: acc, src: flag });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            PipelinePart::Every | PipelinePart::NotAny => {
                self.apply(end, &[moved], window, flag);
                exits.next.push(match end.part {
                    PipelinePart::Every => self.emit(Op::JumpIf { src: flag, to: 0 }),
                    _ => self.emit(Op::JumpIfNot { src: flag, to: 0 }),
                });
                self.emit(Op::Bool { dst: acc, value: false });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            PipelinePart::Reduce => self.fold(end, registers, exits),
            _ => {
                self.emit(Op::Move { dst: window + 1, src: acc });
                self.emit(Op::Move { dst: window + 2, src: item });
                self.primitive("prim/push", acc, window, 2);
                if end.part == PipelinePart::Take {
                    self.emit(Op::AddInt { dst: end.f + 1, a: end.f + 1, value: -1 });
                }
            }
        }
    }

    fn fold(&mut self, end: &Link, registers: Loop, exits: &mut Exits) {
        let Loop { acc, item, begun, window, .. } = registers;
        if end.n == 2 {
            // The first item is what there is before the second.
            let second = self.emit(Op::JumpIf { src: begun, to: 0 });
            self.emit(Op::Move { dst: acc, src: item });
            self.emit(Op::Bool { dst: begun, value: true });
            exits.next.push(self.emit(Op::Jump { to: 0 }));
            self.land(second);
        }
        let args = [Op::Move { dst: window + 1, src: acc }, Op::Move { dst: window + 2, src: item }];
        self.apply(end, &args, window, acc);
        self.emit(Op::Unreduce { src: acc });
        exits.done.push(self.emit(Op::Jump { to: 0 }));
    }

    /// What the end of a chain gives.
    fn finish(&mut self, end: &Link, registers: Loop, dst: Reg) {
        let Loop { acc, begun, window, .. } = registers;
        match end.part {
            PipelinePart::Reduce if end.n == 2 => {
                // Without an item the call itself says what that gives.
                let some = self.emit(Op::JumpIf { src: begun, to: 0 });
                self.emit(Op::Vector { dst: end.f + 2, first: acc, n: 0 });
                self.emit(end.call);
                let end = self.emit(Op::Jump { to: 0 });
                self.land(some);
                self.emit(Op::Move { dst, src: acc });
                self.land(end);
            }
            PipelinePart::Count
            | PipelinePart::Empty
            | PipelinePart::Every
            | PipelinePart::First
            | PipelinePart::NotAny => {
                self.emit(Op::Move { dst, src: acc });
            }
            PipelinePart::Reduce | PipelinePart::Second | PipelinePart::Some => {
                self.emit(Op::Move { dst, src: acc });
            }
            PipelinePart::Filterv | PipelinePart::Mapv | PipelinePart::Vec => {
                self.emit(Op::Move { dst, src: acc });
            }
            part => {
                self.emit(Op::Move { dst: window + 1, src: acc });
                if part.is_lazy_stage() || part == PipelinePart::Take {
                    self.primitive("prim/as-seq", dst, window, 1);
                } else {
                    self.primitive("prim/as-seq", end.f + end.n, window, 1);
                    self.emit(end.call);
                }
            }
        }
    }

    fn primitive(&mut self, name: &str, dst: Reg, f: Reg, n: u8) {
        if let Some(id) = registry().qualified(name) {
            self.emit(Op::CallBuiltin { dst, f, n, id });
        }
    }
}
