//! The instructions of the loop for a chain.

use crate::analyze::node::{ChainNode, ChainStep, Exit, Local, Node, NodeKind, When};
use crate::builtins::registry;
use crate::code::{Const, Op, Reg};
use crate::compile::{Builder, Result};
use crate::span::Span;

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

/// A walk whose turns are being made.
struct Turns<'a> {
    walk: Reg,
    item: Local,
    /// Whether its items stay where they stand until they are needed.
    stays: bool,
    /// Where it is said to be.
    span: Span,
    /// The jump to where the first item is taken.
    enter: usize,
    /// Where a turn begins.
    head: u32,
    /// What ends the turns of the walk around it.
    next: Vec<usize>,
    /// What is done before an item is taken.
    ahead: &'a [ChainStep],
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
        let walks = if chain.steps.is_empty() { Vec::new() } else { self.turns(chain)? };
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
        let item = (!chain.steps.is_empty()).then_some(chain.item);
        let held = functions.map(|(local, _)| *local).chain(item).map(|local| self.register(local));
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
        let walked = self.walked.len();
        let mut walks = vec![self.alloc(2)?];
        let (walk, item) = (walks[0], walks[0] + 1);
        self.assign(chain.item, item);
        self.span = chain.source_span;
        // Only the walk may hold the source: what it has left behind is nobody's.
        self.emit(Op::Walk { dst: walk, src: self.register(chain.source) });
        if chain.begun.is_none() {
            self.skim(chain, walk);
        }
        let mut exits = Exits::default();
        let mut turns = vec![self.enter(chain, (chain.item, walk), 0, &mut exits)];
        self.span = outer;
        for (at, step) in chain.steps.iter().enumerate() {
            self.bring_items(step);
            match step {
                ChainStep::Each(item, coll) => {
                    let walk = self.alloc(2)?;
                    walks.push(walk);
                    self.expr(coll, walk + 1)?;
                    self.span = coll.span;
                    self.emit(Op::Walk { dst: walk, src: walk + 1 });
                    self.assign(*item, walk + 1);
                    turns.push(self.enter(chain, (*item, walk), at + 1, &mut exits));
                    self.span = outer;
                }
                ChainStep::Begin(begun, acc, value) => {
                    self.begin((*begun, *acc), value, &mut exits, |this| this.skim(chain, walk))?;
                }
                _ => self.step(step, &mut exits)?,
            }
        }
        // The innermost walk first: its end is a turn of the one around it.
        while let Some(turn) = turns.pop() {
            self.turn(turn, &mut exits)?;
        }
        exits.done.into_iter().for_each(|at| self.land(at));
        self.walked.truncate(walked);
        self.span = outer;
        Ok(walks)
    }

    /// Begins the turns of a walk, which are the steps from `at` on. Items are taken behind them: so each takes one jump.
    fn enter<'a>(
        &mut self,
        chain: &'a ChainNode,
        (item, walk): (Local, Reg),
        at: usize,
        exits: &mut Exits,
    ) -> Turns<'a> {
        let stays = chain.steps.get(at).is_some_and(|first| !needs(first, item));
        if stays {
            self.walked.push((item, walk));
        }
        let enter = self.emit(Op::Jump { to: 0 });
        let next = std::mem::take(&mut exits.next);
        Turns { walk, item, stays, span: self.span, enter, head: self.here(), next, ahead: &chain.ahead }
    }

    /// Takes the next item of a walk, for another turn.
    fn turn(&mut self, turn: Turns<'_>, exits: &mut Exits) -> Result {
        let Turns { walk, item, stays, span, enter, head, next, ahead } = turn;
        self.walked.retain(|(local, _)| *local != item);
        exits.next.drain(..).chain([enter]).for_each(|at| self.land(at));
        self.span = span;
        self.steps(ahead, exits)?;
        let dst = walk + 1;
        self.emit(if stays { Op::Advance { dst, walk } } else { Op::Take { dst, walk } });
        self.emit(Op::Jump { to: head });
        exits.next = next;
        Ok(())
    }

    /// Puts those items into their registers that a step needs there.
    fn bring_items(&mut self, step: &ChainStep) {
        let mut walked = std::mem::take(&mut self.walked);
        walked.retain(|(item, walk)| {
            let is_needed = needs(step, *item);
            if is_needed {
                self.emit(Op::Item { dst: *walk + 1, walk: *walk });
            }
            !is_needed
        });
        self.walked = walked;
    }

    /// The walk at which an item is that is nowhere else.
    pub(in crate::compile) fn walk_of(&self, item: Local) -> Option<Reg> {
        self.walked.iter().find(|(local, _)| *local == item).map(|(_, walk)| *walk)
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

    /// Plain numbers at once, if all functions are keywords and builtins that `skim` knows.
    fn skim(&mut self, chain: &ChainNode, walk: Reg) {
        let Some((acc, through)) = &chain.skim else { return };
        // An item is added; without a first value the loop looks whether there was one.
        let price = 1 + i64::from(chain.begun.is_some());
        let mut plan = through.clone();
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
                let (map, key) = (self.register(*map), self.owned(key)?);
                let walk = match item.kind {
                    NodeKind::Local(local, _) => self.walk_of(local),
                    _ => None,
                };
                if let Some(walk) = walk {
                    self.emit(Op::GroupItem { map, key, walk });
                } else {
                    let item = self.owned(item)?;
                    self.emit(Op::Group { map, key, item });
                }
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
        if let NodeKind::Local(local, true) = node.kind
            && self.walk_of(local).is_none()
        {
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

/// Whether a step needs an item in its register: for more than its fields, and not only to hand it on.
fn needs(step: &ChainStep, item: Local) -> bool {
    let handed = |node: &Node| matches!(node.kind, NodeKind::Local(local, _) if local == item);
    let uses = |node: &Node| !handed(node) && reads(node, item);
    match step {
        ChainStep::Tally(_, key) | ChainStep::Include(_, _, key) => uses(key),
        ChainStep::Group(_, key, item) => uses(key) || uses(item),
        ChainStep::Bind(_, Node { kind: NodeKind::Call(function, args), .. })
            if let (NodeKind::Builtin(id), [_, pushed]) = (&function.kind, args.as_slice())
                && registry().get(*id).name == "prim/push" =>
        {
            uses(pushed)
        }
        _ => {
            let mut found = false;
            step.each_part(&mut |part| found = found || reads(part, item));
            found
        }
    }
}

/// Whether a node reads a local for more than what it has for a keyword.
fn reads(node: &Node, item: Local) -> bool {
    match &node.kind {
        NodeKind::Local(local, _) => *local == item,
        NodeKind::TakeSlot(local, key) => *local == item || reads(key, item),
        NodeKind::Call(function, args) => {
            let is_item = |node: &Node| matches!(node.kind, NodeKind::Local(local, _) if local == item);
            let is_field = match (&function.kind, args.as_slice()) {
                (NodeKind::Const(Const::Keyword(_)), [map]) => is_item(map),
                (NodeKind::Builtin(id), [map, Node { kind: NodeKind::Const(Const::Keyword(_)), .. }]) => {
                    is_item(map) && registry().get(*id).name == "clojure.core/get"
                }
                _ => false,
            };
            !is_field && (reads(function, item) || args.iter().any(|arg| reads(arg, item)))
        }
        _ => {
            let mut found = false;
            node.each_part(&mut |part| found = found || reads(part, item));
            found
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
