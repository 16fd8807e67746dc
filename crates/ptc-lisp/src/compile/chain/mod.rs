//! Chains of calls that become one loop: `(reduce + (map :amount (filter paid? orders)))`.
//!
//! Before code is made, every call of a sequence function with what it is called with is looked at. What its declaration
//! says it is in a chain ([`ChainPart`]) makes it a stage, through which items come one by one, or an end. Instead of the
//! calls there is a loop of ordinary instructions then ([`ChainNode`]): it takes one item after the other through all
//! stages to the end, and no more of them than the end needs. No collection in between is made. What a literal function
//! does stands in the loop itself (`inline`); other functions are called as anywhere else.
//!
//! The arguments are evaluated once and in their order. Then the loop looks at the values: functions that cannot be called
//! so, a source that cannot be walked, and a source that is lazy where the result has to be lazy too, are left to the calls
//! themselves, which say what is wrong. So what a program costs depends on the program and its data alone.

mod build;
mod inline;
mod update;
mod walk;

use crate::analyze::node::{FnNode, Local, Node, NodeKind};
use crate::builtins::chain_part::ChainPart;
use crate::builtins::registry;
use crate::span::Span;

/// Calls in one chain at most.
const LONGEST: usize = 16;

/// Functions around each other that stand in a program twice, in a loop and for the calls, at most: each level could double
/// it. Deeper ones have no loops where they stand for the calls.
const DEEPEST: usize = 2;

/// Puts loops in the place of chains in a function and in those that are written in it.
pub(super) fn rewrite(function: &mut FnNode) {
    if has_parts(function) {
        rewrite_at(function, 0);
    }
}

/// Whether there is anything in a function that could be in a chain.
fn has_parts(function: &FnNode) -> bool {
    function.arities.iter().any(|arity| is_or_has_part(&arity.body))
}

fn is_or_has_part(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Builtin(id) => registry().get(*id).part().is_some_and(ChainPart::is_rewritten),
        NodeKind::Const(_) | NodeKind::Local(..) | NodeKind::Global(_) | NodeKind::Data(_) => false,
        NodeKind::Call(function, args) => is_or_has_part(function) || args.iter().any(is_or_has_part),
        NodeKind::Fn(function) => has_parts(function),
        NodeKind::Letfn(letfn) if letfn.functions.iter().any(|(_, function)| has_parts(function)) => true,
        _ => {
            let mut found = false;
            node.each_part(&mut |part| found = found || is_or_has_part(part));
            found
        }
    }
}

fn rewrite_at(function: &mut FnNode, depth: usize) {
    for arity in &mut function.arities {
        let mut rewriter = Rewriter { next: inline::first_free(arity), depth };
        rewriter.node(&mut arity.body);
    }
}

/// Goes through one arity of a function.
struct Rewriter {
    /// The first local that is free.
    next: Local,
    /// In how many functions it is that also stand elsewhere.
    depth: usize,
}

impl Rewriter {
    fn fresh(&mut self) -> Local {
        self.fresh_row(1)
    }

    fn fresh_row(&mut self, count: u32) -> Local {
        let first = self.next;
        self.next += count;
        first
    }

    fn node(&mut self, node: &mut Node) {
        if is_chain(node) && self.chain(node) {
            return;
        }
        self.update(node);
        match &mut node.kind {
            NodeKind::Fn(function) => rewrite_at(function, self.depth),
            NodeKind::Letfn(letfn) => {
                letfn.functions.iter_mut().for_each(|(_, function)| rewrite_at(function, self.depth));
            }
            _ => {}
        }
        node.each_part_mut(&mut |part| self.node(part));
    }
}

/// What a call is in a chain, with its arguments.
fn part_of(node: &Node) -> Option<(ChainPart, &[Node])> {
    let NodeKind::Call(function, args) = &node.kind else { return None };
    let NodeKind::Builtin(id) = function.kind else { return None };
    Some((registry().get(id).part()?, args))
}

/// Whether a call is a stage. What drops the first items of a whole collection is none: that is a view of the rest.
fn is_stage(node: &Node) -> bool {
    let Some((part, args)) = part_of(node) else { return false };
    let is_view = part == ChainPart::Drop && !args.last().is_some_and(is_stage);
    part.is_stage(args.len()) && !is_view
}

/// Whether a node gives a function from items to items, as `into` takes them: one stage, or `comp` of some.
fn is_transducer(node: &Node) -> bool {
    match part_of(node) {
        Some((ChainPart::Comp, args)) => {
            !args.is_empty() && args.len() <= LONGEST && args.iter().all(is_transducer)
        }
        Some((part, args)) => part.is_stage(args.len() + 1),
        None => false,
    }
}

/// Whether a node is the end of a chain for which there is a loop.
fn is_chain(node: &Node) -> bool {
    let Some((part, args)) = part_of(node) else { return false };
    let Some(coll) = args.last().filter(|_| part.is_end(args.len())) else { return false };
    let is_known = |node: &Node, names: &[&str]| match node.kind {
        NodeKind::Builtin(id) => names.contains(&registry().get(id).name),
        _ => false,
    };
    let fits = match part {
        ChainPart::Apply => {
            is_known(&args[0], &["clojure.core/+", "clojure.core/*", "clojure.core/max", "clojure.core/min"])
        }
        ChainPart::SortBy if args.len() == 3 => is_known(
            &args[1],
            &[
                "clojure.core/<",
                "clojure.core/<=",
                "clojure.core/>",
                "clojure.core/>=",
                "clojure.core/compare",
            ],
        ),
        ChainPart::Into if args.len() == 3 => is_transducer(&args[1]),
        ChainPart::Transduce => is_transducer(&args[0]) && matches!(args[1].kind, NodeKind::Builtin(_)),
        _ => true,
    };
    fits && (part.is_loop_alone(args.len()) || is_stage(coll))
}

/// A call of a builtin by name.
fn call(name: &str, args: Vec<Node>, span: Span) -> Node {
    match registry().qualified(name) {
        Some(id) => {
            let function = Node::new(NodeKind::Builtin(id), span);
            Node::new(NodeKind::Call(function.into(), args), span)
        }
        None => Node::nil(span),
    }
}

#[cfg(test)]
mod cost_tests;
#[cfg(test)]
mod tests;
