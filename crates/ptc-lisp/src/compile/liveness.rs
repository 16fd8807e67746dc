//! Finds the last use of every local, so that the machine can move it instead of sharing it: a value
//! with one owner is updated in place.
//!
//! The tree is walked against the order of evaluation with the set of locals that are still needed.
//! The first time a local is met, nothing after that place reads it.

use super::loops::step;
use crate::analyze::node::{ChainNode, ChainStep, Exit, FnNode, Local, Node, NodeKind};

/// A set of locals.
#[derive(Clone, Debug, Default)]
pub struct Live(Vec<u64>);

impl Live {
    fn insert(&mut self, local: Local) -> bool {
        let (word, bit) = (local as usize / 64, 1u64 << (local % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    fn remove(&mut self, local: Local) {
        if let Some(word) = self.0.get_mut(local as usize / 64) {
            *word &= !(1 << (local % 64));
        }
    }

    fn merge(&mut self, other: &Live) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }
}

/// Marks last uses in a function and in those that are written in it.
pub fn mark_function(function: &mut FnNode) {
    function.arities.iter_mut().for_each(|arity| mark(&mut arity.body, &mut Live::default()));
}

fn mark_all(nodes: &mut [Node], live: &mut Live) {
    nodes.iter_mut().rev().for_each(|node| mark(node, live));
}

fn mark(node: &mut Node, live: &mut Live) {
    match &mut node.kind {
        NodeKind::Local(local, last) => *last = live.insert(*local),
        NodeKind::If(test, then, other) | NodeKind::IfNil(test, then, other) => {
            let mut after = live.clone();
            mark(then, live);
            mark(other, &mut after);
            live.merge(&after);
            mark(test, live);
        }
        NodeKind::Do(nodes) | NodeKind::Vector(nodes) | NodeKind::Set(nodes) => mark_all(nodes, live),
        NodeKind::Recur(nodes) => {
            // What counts may be computed last, and then reads its local last.
            nodes.iter_mut().filter(|node| step(node).is_some()).for_each(|node| mark(node, live));
            nodes.iter_mut().rev().filter(|node| step(node).is_none()).for_each(|node| mark(node, live));
        }
        NodeKind::And(nodes) | NodeKind::Or(nodes) => mark_all(nodes, live),
        NodeKind::Map(pairs) => {
            for (key, value) in pairs.iter_mut().rev() {
                mark(value, live);
                mark(key, live);
            }
        }
        NodeKind::Call(function, args) => {
            mark_all(args, live);
            mark(function, live);
        }
        NodeKind::Let(bindings, body) => {
            mark(body, live);
            for (local, value) in bindings.iter_mut().rev() {
                live.remove(*local);
                mark(value, live);
            }
        }
        NodeKind::Loop(bindings, body) => {
            uses(body, live);
            bindings.iter().for_each(|(local, _)| live.remove(*local));
            mark(body, live);
            for (local, value) in bindings.iter_mut().rev() {
                live.remove(*local);
                mark(value, live);
            }
        }
        NodeKind::Reduce(reduce) => {
            uses(&reduce.body, live);
            live.remove(reduce.acc);
            live.remove(reduce.item);
            mark(&mut reduce.body, live);
            live.remove(reduce.acc);
            live.remove(reduce.item);
            mark(&mut reduce.coll, live);
            mark(&mut reduce.init, live);
        }
        NodeKind::Chain(chain) => mark_chain(chain, live),
        NodeKind::Fn(function) => {
            mark_function(function);
            mark_all(&mut function.captures, live);
        }
        NodeKind::Letfn(letfn) => {
            mark(&mut letfn.body, live);
            for (local, function) in &mut letfn.functions {
                live.remove(*local);
                mark_function(function);
            }
            mark_all(&mut letfn.captures, live);
        }
        NodeKind::Define(_, value) => mark(value, live),
        NodeKind::TakeSlot(local, key) => {
            live.insert(*local);
            mark(key, live);
        }
        NodeKind::Try(node) => {
            // Whatever the clauses read must survive the body, wherever it stops.
            if let Some(finally) = &mut node.finally {
                mark(finally, live);
            }
            let mut during = live.clone();
            for (local, body) in node.catches.iter_mut().rev().map(|(_, local, body)| (local, body)) {
                let mut clause = live.clone();
                mark(body, &mut clause);
                clause.remove(*local);
                during.merge(&clause);
            }
            *live = during;
            mark(&mut node.body, live);
        }
        NodeKind::Const(_)
        | NodeKind::Capture(_)
        | NodeKind::SelfFn
        | NodeKind::Sibling(_)
        | NodeKind::Global(_)
        | NodeKind::GlobalOrNil(_)
        | NodeKind::HasGlobal(_)
        | NodeKind::Builtin(_)
        | NodeKind::Export(_)
        | NodeKind::Data(_)
        | NodeKind::Context(_)
        | NodeKind::History(_) => {}
    }
}

/// A loop in place of calls: what is read in one turn and not bound in it is needed for the next one, too.
fn mark_chain(chain: &mut ChainNode, live: &mut Live) {
    let mut calls = live.clone();
    mark(&mut chain.calls, &mut calls);
    let mut done = live.clone();
    mark(&mut chain.result, &mut done);
    if let Some(begun) = chain.begun {
        done.merge(&calls);
        done.insert(begun);
    }
    let mut head = done.clone();
    for step in chain.ahead.iter().chain(&chain.steps) {
        step.each_part(&mut |part| uses(part, &mut head));
    }
    chain.steps.iter().filter_map(ChainStep::bound).chain([chain.item]).for_each(|local| head.remove(local));
    chain.state.iter().for_each(|(local, _)| {
        head.insert(*local);
    });
    *live = head.clone();
    chain.steps.iter_mut().rev().for_each(|step| mark_step(step, live, &head, &done));
    live.merge(&head);
    chain.ahead.iter_mut().rev().for_each(|step| mark_step(step, live, &head, &done));
    live.remove(chain.item);
    for (local, value) in chain.state.iter_mut().rev() {
        live.remove(*local);
        mark(value, live);
    }
    live.merge(&calls);
    live.insert(chain.source);
    for (local, value) in chain.before.iter_mut().rev() {
        live.remove(*local);
        mark(value, live);
    }
}

/// One step; `head` is what is needed at the beginning of a turn, `done` what is behind the loop.
fn mark_step(step: &mut ChainStep, live: &mut Live, head: &Live, done: &Live) {
    let at = |exit: &Exit| if *exit == Exit::Next { head } else { done };
    match step {
        ChainStep::Bind(local, value) => {
            live.remove(*local);
            mark(value, live);
        }
        ChainStep::Leave(test, _, exit) => {
            live.merge(at(exit));
            mark(test, live);
        }
        ChainStep::Go(exit) => *live = at(exit).clone(),
        ChainStep::Unreduce(local) => {
            live.merge(done);
            live.insert(*local);
        }
        ChainStep::Begin(begun, _, value) => {
            live.merge(head);
            live.insert(*begun);
            mark(value, live);
        }
        ChainStep::Tally(into, value) => {
            live.insert(*into);
            mark(value, live);
        }
        ChainStep::Group(into, key, item) => {
            live.insert(*into);
            mark(item, live);
            mark(key, live);
        }
        ChainStep::Include(new, into, item) => {
            live.remove(*new);
            live.insert(*into);
            mark(item, live);
        }
        ChainStep::Each(item, coll) => {
            live.remove(*item);
            live.merge(head);
            mark(coll, live);
        }
    }
}

/// Adds every local that `node` reads. Locals bound inside have numbers of their own, so adding them
/// too only forgoes a move, and the binding removes them again.
fn uses(node: &Node, live: &mut Live) {
    let mut bound = Vec::new();
    collect(node, live, &mut bound);
    bound.into_iter().for_each(|local| live.remove(local));
}

fn collect(node: &Node, live: &mut Live, bound: &mut Vec<Local>) {
    match &node.kind {
        NodeKind::Local(local, _) | NodeKind::TakeSlot(local, _) => {
            live.insert(*local);
        }
        NodeKind::Let(bindings, _) | NodeKind::Loop(bindings, _) => {
            bound.extend(bindings.iter().map(|(local, _)| *local));
        }
        NodeKind::Reduce(reduce) => bound.extend([reduce.acc, reduce.item]),
        NodeKind::Chain(chain) => {
            live.insert(chain.source);
            bound.extend(chain.locals());
        }
        NodeKind::Letfn(letfn) => bound.extend(letfn.functions.iter().map(|(local, _)| *local)),
        NodeKind::Try(node) => bound.extend(node.catches.iter().map(|(_, local, _)| *local)),
        _ => {}
    }
    node.each_part(&mut |part| collect(part, live, bound));
}
