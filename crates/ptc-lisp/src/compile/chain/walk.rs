//! The instructions of the loop for a chain.

use crate::analyze::node::{ChainNode, ChainStep, Exit, Local, Node, NodeKind, When};
use crate::builtins::registry;
use crate::code::{Const, Op, Reg};
use crate::compile::{Builder, Result};

/// Jumps that are made before it is known where they go.
#[derive(Default)]
struct Exits {
    /// To the next item.
    next: Vec<usize>,
    /// To the end of the loop.
    done: Vec<usize>,
}

impl Exits {
    fn to(&mut self, exit: Exit, jumps: impl IntoIterator<Item = usize>) {
        match exit {
            Exit::Next => self.next.extend(jumps),
            Exit::Done => self.done.extend(jumps),
        }
    }
}

/// A walk inside of the loop: where it begins again, and what ends its turns.
struct Inner {
    head: u32,
    next: Vec<usize>,
}

impl Builder<'_> {
    pub(in crate::compile) fn chain(&mut self, chain: &ChainNode, dst: Reg) -> Result {
        let mark = self.next;
        let outer = self.span;
        self.bindings(&chain.before)?;
        let mut to_calls = Vec::with_capacity(chain.fits.len());
        for (local, role) in &chain.fits {
            self.emit(Op::IfFits { src: self.register(*local), role: role.number() });
            to_calls.push(self.emit(Op::Jump { to: 0 }));
        }
        self.bindings(&chain.state)?;
        let walks = self.turns(chain)?;
        if let Some(begun) = chain.begun {
            // Without an item the calls say what that gives.
            let some = self.emit(Op::JumpIf { src: self.register(begun), to: 0 });
            let source = self.register(chain.source);
            self.emit(Op::Vector { dst: source, first: source, n: 0 });
            to_calls.push(self.emit(Op::Jump { to: 0 }));
            self.land(some);
        }
        self.expr(&chain.result, dst)?;
        // What is left behind would be a second owner of what it holds.
        let functions = chain.before.iter().filter(|(local, _)| *local != chain.source);
        let held = functions.map(|(local, _)| *local).chain([chain.item]).map(|local| self.register(local));
        for dst in held.chain(walks).collect::<Vec<_>>() {
            self.emit(Op::Nil { dst });
        }
        let end = self.emit(Op::Jump { to: 0 });
        to_calls.into_iter().for_each(|at| self.land(at));
        self.expr(&chain.calls, dst)?;
        self.land(end);
        self.span = outer;
        self.next = mark;
        Ok(())
    }

    /// The loop itself; the registers of its walks.
    fn turns(&mut self, chain: &ChainNode) -> Result<Vec<Reg>> {
        let outer = self.span;
        let mut walks = vec![self.alloc(2)?];
        let (walk, item) = (walks[0], walks[0] + 1);
        self.assign(chain.item, item);
        self.span = chain.source_span;
        // Only the walk may hold the source: what it has left behind is nobody's.
        self.emit(Op::Walk { dst: walk, src: self.register(chain.source) });
        if chain.begun.is_none() {
            self.skim(chain, walk);
        }
        let head = self.here();
        let mut exits = Exits::default();
        self.steps(&chain.ahead, &mut exits)?;
        self.emit(Op::Next { dst: item, walk });
        exits.done.push(self.emit(Op::Jump { to: 0 }));
        self.span = outer;
        let mut inner: Vec<Inner> = Vec::new();
        for step in &chain.steps {
            let ChainStep::Each(item, coll) = step else {
                if let ChainStep::Begin(begun, acc, value) = step {
                    self.begin((*begun, *acc), value, &mut exits, |this| this.skim(chain, walk))?;
                } else {
                    self.step(step, &mut exits)?;
                }
                continue;
            };
            let walk = self.alloc(2)?;
            walks.push(walk);
            self.expr(coll, walk + 1)?;
            self.span = coll.span;
            self.emit(Op::Walk { dst: walk, src: walk + 1 });
            self.assign(*item, walk + 1);
            let head = self.here();
            let mut ended = std::mem::take(&mut exits.next);
            self.steps(&chain.ahead, &mut exits)?;
            self.emit(Op::Next { dst: walk + 1, walk });
            ended.push(self.emit(Op::Jump { to: 0 }));
            inner.push(Inner { head, next: ended });
            self.span = outer;
        }
        // The innermost walk first: its end is a turn of the one around it.
        while let Some(walk) = inner.pop() {
            exits.next.drain(..).for_each(|at| self.land(at));
            self.emit(Op::Jump { to: walk.head });
            exits.next = walk.next;
        }
        exits.next.into_iter().for_each(|at| self.land(at));
        self.emit(Op::Jump { to: head });
        exits.done.into_iter().for_each(|at| self.land(at));
        Ok(walks)
    }

    /// What the first item does; `more` is done once behind it.
    fn begin(
        &mut self,
        (begun, acc): (Local, Local),
        value: &Node,
        exits: &mut Exits,
        more: impl FnOnce(&mut Self),
    ) -> Result {
        let (begun, acc) = (self.register(begun), self.register(acc));
        let later = self.emit(Op::JumpIf { src: begun, to: 0 });
        self.expr(value, acc)?;
        self.emit(Op::Bool { dst: begun, value: true });
        more(self);
        exits.next.push(self.emit(Op::Jump { to: 0 }));
        self.land(later);
        Ok(())
    }

    /// Small integers at once, if all functions are builtins that natives know.
    fn skim(&mut self, chain: &ChainNode, walk: Reg) {
        let Some((acc, builtins)) = &chain.skim else { return };
        // An item is added and the loop jumps back; without a first value it looks whether there was one.
        let price = 2 + i64::from(chain.begun.is_some());
        let mut plan: Vec<Const> = builtins.iter().map(|id| Const::Builtin(*id)).collect();
        plan.push(Const::Int(price));
        let plan = self.compiler.pool.constant(&Const::Vector(plan));
        if let Ok(plan) = u16::try_from(plan) {
            self.emit(Op::Skim { acc: self.register(*acc), walk, plan });
        }
    }

    fn steps(&mut self, steps: &[ChainStep], exits: &mut Exits) -> Result {
        steps.iter().try_for_each(|step| self.step(step, exits))
    }

    fn step(&mut self, step: &ChainStep, exits: &mut Exits) -> Result {
        match step {
            ChainStep::Bind(local, value) => self.rebind(*local, value)?,
            ChainStep::Leave(test, when, exit) => {
                let mark = self.next;
                let jumps = self.leave(test, *when)?;
                exits.to(*exit, jumps);
                self.next = mark;
            }
            ChainStep::Go(exit) => {
                let jump = self.emit(Op::Jump { to: 0 });
                exits.to(*exit, [jump]);
            }
            ChainStep::Unreduce(local) => {
                self.emit(Op::Unreduce { src: self.register(*local) });
                exits.done.push(self.emit(Op::Jump { to: 0 }));
            }
            ChainStep::Tally(map, key) => {
                let mark = self.next;
                let key = self.owned(key)?;
                self.emit(Op::Tally { map: self.register(*map), key });
                self.next = mark;
            }
            ChainStep::Group(map, key, item) => {
                let mark = self.next;
                let key = self.owned(key)?;
                let item = self.owned(item)?;
                self.emit(Op::Group { map: self.register(*map), key, item });
                self.next = mark;
            }
            ChainStep::Include(new, set, item) => {
                let dst = self.alloc(1)?;
                self.assign(*new, dst);
                let mark = self.next;
                let item = self.owned(item)?;
                self.emit(Op::Include { dst, set: self.register(*set), item });
                self.next = mark;
            }
            // Whoever goes through the steps does these.
            ChainStep::Each(..) | ChainStep::Begin(..) => {}
        }
        Ok(())
    }

    /// Gives a local its value for this turn, which may be made of the one before.
    fn rebind(&mut self, local: Local, value: &Node) -> Result {
        let register = match self.bound(local) {
            Some(register) => register,
            None => {
                let register = self.alloc(1)?;
                let mark = self.next;
                self.expr(value, register)?;
                self.next = mark;
                self.assign(local, register);
                return Ok(());
            }
        };
        if matches!(value.kind, NodeKind::Call(..) | NodeKind::Const(_) | NodeKind::Local(..)) {
            return self.expr(value, register);
        }
        let mark = self.next;
        let temp = self.alloc(1)?;
        self.expr(value, temp)?;
        self.emit(Op::Move { dst: register, src: temp });
        self.next = mark;
        Ok(())
    }

    /// A register with the value of `node` that may be emptied.
    pub(in crate::compile) fn owned(&mut self, node: &Node) -> Result<Reg> {
        if let NodeKind::Local(local, true) = node.kind {
            return Ok(self.register(local));
        }
        let register = self.alloc(1)?;
        self.expr(node, register)?;
        Ok(register)
    }

    /// Jumps that are taken when a test is so.
    fn leave(&mut self, test: &Node, when: When) -> Result<Vec<usize>> {
        match (&test.kind, when) {
            (NodeKind::And(nodes), When::False) | (NodeKind::Or(nodes), When::True) => {
                let mut jumps = Vec::new();
                for node in nodes {
                    jumps.extend(self.leave(node, when)?);
                }
                Ok(jumps)
            }
            (NodeKind::Let(bindings, body), _) => {
                self.bindings(bindings)?;
                self.leave(body, when)
            }
            (NodeKind::Call(function, args), When::True | When::False)
                if is_not(function) && args.len() == 1 =>
            {
                self.leave(&args[0], if when == When::True { When::False } else { When::True })
            }
            (_, When::Nil) => Ok(vec![self.branch(test, true)?]),
            (_, When::False) => Ok(vec![self.branch(test, false)?]),
            (_, When::True) => {
                if let Some(fails) = self.compare(test)? {
                    let jump = self.emit(Op::Jump { to: 0 });
                    self.land(fails);
                    return Ok(vec![jump]);
                }
                let src = match test.kind {
                    NodeKind::Local(local, _) => self.register(local),
                    _ => {
                        let register = self.alloc(1)?;
                        self.expr(test, register)?;
                        register
                    }
                };
                Ok(vec![self.emit(Op::JumpIf { src, to: 0 })])
            }
        }
    }
}

/// Whether a function is `not`.
fn is_not(function: &Node) -> bool {
    match function.kind {
        NodeKind::Builtin(id) => registry().get(id).name == "clojure.core/not",
        _ => false,
    }
}
