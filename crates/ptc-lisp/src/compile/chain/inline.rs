//! Functions that loops call: what a literal function does is put in the place of its call.
//!
//! The parameters of a literal function become locals of the function around it, and what it captures is read where it
//! stands. A function that looks at itself stays a function. What is made of other functions (`comp`, `juxt`, `partial`,
//! `complement`, `constantly`, `fnil`) is what these do, if all of them are known.

use super::Rewriter;
use crate::analyze::node::{ArityNode, FnNode, Local, Node, NodeKind};
use crate::builtins::chain_part::ChainPart;
use crate::builtins::{BuiltinId, Run, registry};
use crate::code::Const;
use crate::span::Span;

/// A function that a loop calls.
pub(super) enum Called {
    /// One that is written here, with one arity.
    Literal(ArityNode, Vec<Node>),
    /// A builtin.
    Builtin(BuiltinId),
    /// A keyword, a set or a map.
    Const(Node),
    /// Whatever a local holds.
    Local(Local),
    /// The last one first, the others with its result.
    Comp(Vec<Called>),
    /// A vector of what they give.
    Juxt(Vec<Called>),
    /// The opposite.
    Complement(Box<Called>),
    /// With first arguments.
    Partial(Box<Called>, Vec<Node>),
    /// Always the same.
    Constantly(Node),
    /// With values in place of first arguments that are nil.
    Fnil(Box<Called>, Vec<Node>),
}

impl Called {
    /// The function that a node stands for, if calls of it with `count` arguments can be put in their place.
    pub(super) fn of(node: &Node, count: usize) -> Option<Called> {
        match &node.kind {
            NodeKind::Fn(function) => literal(function, count),
            NodeKind::Builtin(id) => {
                let entry = registry().get(*id);
                let is_function = !matches!(entry.run, Run::Const(_));
                (is_function && entry.arity().accepts(count)).then_some(Called::Builtin(*id))
            }
            NodeKind::Const(Const::Keyword(_) | Const::Set(_) | Const::Map(_)) if count == 1 => {
                Some(Called::Const(node.clone()))
            }
            NodeKind::Call(function, args) => {
                let NodeKind::Builtin(id) = function.kind else { return None };
                made(registry().get(id).part()?, args, count)
            }
            _ => None,
        }
    }

    /// Whether it is a builtin.
    pub(super) fn builtin(&self) -> Option<BuiltinId> {
        match self {
            Called::Builtin(id) => Some(*id),
            _ => None,
        }
    }
}

/// A function that is made of others.
fn made(part: ChainPart, args: &[Node], count: usize) -> Option<Called> {
    let all =
        |args: &[Node], count| args.iter().map(|arg| Called::of(arg, count)).collect::<Option<Vec<_>>>();
    match (part, args) {
        (ChainPart::Comp, [others @ .., first]) => {
            let mut functions = all(others, 1)?;
            functions.push(Called::of(first, count)?);
            Some(Called::Comp(functions))
        }
        (ChainPart::Juxt, [_, ..]) => Some(Called::Juxt(all(args, count)?)),
        (ChainPart::Complement, [function]) => Some(Called::Complement(Called::of(function, count)?.into())),
        (ChainPart::Partial, [function, given @ ..]) if given.iter().all(is_simple) => {
            Some(Called::Partial(Called::of(function, count + given.len())?.into(), given.to_vec()))
        }
        (ChainPart::Constantly, [value]) if is_simple(value) => Some(Called::Constantly(value.clone())),
        (ChainPart::Fnil, [function, given @ ..]) if (1..=count).contains(&given.len()) => {
            let simple = given.len() <= 3 && given.iter().all(is_simple);
            let function = Called::of(function, count).filter(|_| simple)?;
            Some(Called::Fnil(function.into(), given.to_vec()))
        }
        _ => None,
    }
}

/// Whether a node can be evaluated any number of times.
pub(super) fn is_simple(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Const(_) | NodeKind::Local(..) | NodeKind::Capture(_) | NodeKind::Builtin(_)
    )
}

/// A literal function, if it can do without being one.
fn literal(function: &FnNode, count: usize) -> Option<Called> {
    let arity =
        function.arities.iter().find(|arity| !arity.variadic && usize::from(arity.params) == count)?;
    (!looks_at_self(&arity.body)).then(|| Called::Literal(arity.clone(), function.captures.clone()))
}

/// Whether a function's code asks which function it is; functions in it do that by what they capture.
fn looks_at_self(node: &Node) -> bool {
    let mut looks = matches!(node.kind, NodeKind::SelfFn | NodeKind::Sibling(_));
    node.each_part(&mut |part| looks = looks || looks_at_self(part));
    looks
}

/// Whether a function's code begins again; loops in it begin themselves again.
fn recurs(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Recur(_) => true,
        NodeKind::Loop(bindings, _) => bindings.iter().any(|(_, value)| recurs(value)),
        _ => {
            let mut found = false;
            node.each_part(&mut |part| found = found || recurs(part));
            found
        }
    }
}

/// Calls `each` with every place where a node of the same function names a local.
fn each_local(node: &mut Node, each: &mut dyn FnMut(&mut Local)) {
    match &mut node.kind {
        NodeKind::Local(local, _) | NodeKind::TakeSlot(local, _) => each(local),
        NodeKind::Let(bindings, _) | NodeKind::Loop(bindings, _) => {
            bindings.iter_mut().for_each(|(local, _)| each(local));
        }
        NodeKind::Reduce(reduce) => {
            each(&mut reduce.acc);
            each(&mut reduce.item);
        }
        NodeKind::Letfn(letfn) => letfn.functions.iter_mut().for_each(|(local, _)| each(local)),
        NodeKind::Try(node) => node.catches.iter_mut().for_each(|(_, local, _)| each(local)),
        _ => {}
    }
    node.each_part_mut(&mut |part| each_local(part, each));
}

/// The first local that no node of an arity names.
pub(super) fn first_free(arity: &mut ArityNode) -> Local {
    let mut free = Local::from(arity.params) + Local::from(arity.variadic);
    each_local(&mut arity.body, &mut |local| free = free.max(*local + 1));
    free
}

/// Puts what a function captured in the place of its captures.
fn uncapture(node: &mut Node, captures: &[Node]) {
    if let NodeKind::Capture(at) = node.kind {
        if let Some(capture) = captures.get(usize::from(at)) {
            node.kind = capture.kind.clone();
        }
        return;
    }
    node.each_part_mut(&mut |part| uncapture(part, captures));
}

impl Rewriter {
    /// What a call gives.
    pub(super) fn apply(&mut self, called: Called, args: Vec<Node>, span: Span) -> Node {
        let node = |kind| Node::new(kind, span);
        match called {
            Called::Literal(arity, captures) => self.inlined(arity, &captures, args, span),
            Called::Builtin(id) => node(NodeKind::Call(node(NodeKind::Builtin(id)).into(), args)),
            Called::Const(function) => node(NodeKind::Call(function.into(), args)),
            Called::Local(local) => node(NodeKind::Call(node(NodeKind::Local(local, false)).into(), args)),
            Called::Comp(mut functions) => {
                let Some(first) = functions.pop() else { return Node::nil(span) };
                let value = self.apply(first, args, span);
                functions.into_iter().rev().fold(value, |value, next| self.apply(next, vec![value], span))
            }
            Called::Juxt(functions) => self.with_locals(args, span, |this, args| {
                let values = functions.into_iter().map(|function| this.apply(function, args.clone(), span));
                node(NodeKind::Vector(values.collect()))
            }),
            Called::Complement(function) => {
                let value = self.apply(*function, args, span);
                super::call("clojure.core/not", vec![value], span)
            }
            Called::Partial(function, mut given) => {
                given.extend(args);
                self.apply(*function, given, span)
            }
            Called::Constantly(value) => node(NodeKind::Do(args.into_iter().chain([value]).collect())),
            Called::Fnil(function, given) => self.with_locals(args, span, |this, mut args| {
                for (arg, given) in args.iter_mut().zip(given) {
                    let own = arg.clone();
                    *arg = node(NodeKind::IfNil(own.clone().into(), given.into(), own.into()));
                }
                this.apply(*function, args, span)
            }),
        }
    }

    /// Makes something of arguments that can be named more than once.
    fn with_locals(
        &mut self,
        args: Vec<Node>,
        span: Span,
        make: impl FnOnce(&mut Rewriter, Vec<Node>) -> Node,
    ) -> Node {
        let mut bindings = Vec::new();
        let mut locals = Vec::with_capacity(args.len());
        for arg in args {
            if is_simple(&arg) {
                locals.push(arg);
                continue;
            }
            let local = self.fresh();
            locals.push(Node::new(NodeKind::Local(local, false), arg.span));
            bindings.push((local, arg));
        }
        let value = make(self, locals);
        match bindings.is_empty() {
            true => value,
            false => Node::new(NodeKind::Let(bindings, value.into()), span),
        }
    }

    /// The body of a literal function with arguments for its parameters.
    fn inlined(&mut self, mut arity: ArityNode, captures: &[Node], args: Vec<Node>, span: Span) -> Node {
        let count = first_free(&mut arity);
        let begins_again = recurs(&arity.body);
        let base = self.fresh_row(count);
        let mut bindings = Vec::new();
        // Parameters that are locals already need no others, unless the function changes them.
        let mut own: Vec<Option<Local>> = Vec::with_capacity(args.len());
        for (at, arg) in args.into_iter().enumerate() {
            match arg.kind {
                NodeKind::Local(local, _) if !begins_again => own.push(Some(local)),
                _ => {
                    own.push(None);
                    bindings.push((base + at as Local, arg));
                }
            }
        }
        each_local(&mut arity.body, &mut |local| {
            *local = own.get(*local as usize).copied().flatten().unwrap_or(base + *local);
        });
        uncapture(&mut arity.body, captures);
        match (begins_again, bindings.is_empty()) {
            (true, _) => Node::new(NodeKind::Loop(bindings, arity.body.into()), span),
            (false, true) => arity.body,
            (false, false) => Node::new(NodeKind::Let(bindings, arity.body.into()), span),
        }
    }
}
