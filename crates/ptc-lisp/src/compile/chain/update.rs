//! `update` and `update-in` with functions that can be put in the place of their calls.
//!
//! What the core functions do is done where the call stands: the value is taken out of the map, so that what nobody else
//! sees is changed in place, and put back as the function makes it.

use super::inline::{Called, is_simple};
use super::{Rewriter, call, part_of};
use crate::analyze::node::{Local, Node, NodeKind};
use crate::builtins::chain_part::ChainPart;
use crate::code::Const;
use crate::span::Span;

/// Keys in a path at most.
const LONGEST: usize = 8;

impl Rewriter {
    /// Puts what a call of `update` or `update-in` does in its place.
    pub(super) fn update(&mut self, node: &mut Node) {
        let span = node.span;
        let Some((part @ (ChainPart::Update | ChainPart::UpdateIn), args)) = part_of(node) else { return };
        let [_, path, function, more @ ..] = args else { return };
        let Some(called) = Called::of(function, 1 + more.len()) else { return };
        let keys = match part {
            ChainPart::Update => vec![path.clone()],
            _ => match keys(path) {
                Some(keys) => keys,
                None => return,
            },
        };
        let NodeKind::Call(_, args) = std::mem::replace(&mut node.kind, NodeKind::Const(Const::Nil)) else {
            return;
        };
        let mut args = args.into_iter();
        let Some(map) = args.next() else { return };
        let mut bindings = Vec::new();
        let whole = self.fresh();
        bindings.push((whole, map));
        let keys = keys.into_iter().map(|key| self.named(key, &mut bindings)).collect::<Vec<_>>();
        let more = args.skip(2).map(|arg| self.named(arg, &mut bindings)).collect::<Vec<_>>();
        let changed = self.changed(whole, &keys, called, more, span);
        node.kind = NodeKind::Let(bindings, changed.into());
    }

    /// A node that can be evaluated where it is needed.
    fn named(&mut self, value: Node, bindings: &mut Vec<(Local, Node)>) -> Node {
        if matches!(value.kind, NodeKind::Const(_) | NodeKind::Builtin(_))
            || (is_simple(&value) && bindings.is_empty())
        {
            return value;
        }
        let (local, span) = (self.fresh(), value.span);
        bindings.push((local, value));
        Node::new(NodeKind::Local(local, false), span)
    }

    /// The map in a local with what a function makes of the value at a path.
    fn changed(&mut self, map: Local, keys: &[Node], called: Called, more: Vec<Node>, span: Span) -> Node {
        let local = |local| Node::new(NodeKind::Local(local, false), span);
        let Some((key, rest)) = keys.split_first() else { return local(map) };
        let taken = self.fresh();
        let mut bindings = vec![(taken, Node::new(NodeKind::TakeSlot(map, key.clone().into()), span))];
        let value = match rest {
            [] => {
                let args = [local(taken)].into_iter().chain(more).collect();
                self.apply(called, args, span)
            }
            _ => {
                // Nothing there may be there under another spelling.
                let found = self.fresh();
                let other = call("clojure.core/get", vec![local(map), key.clone()], span);
                let exact = NodeKind::IfNil(local(taken).into(), other.into(), local(taken).into());
                bindings.push((found, Node::new(exact, span)));
                self.changed(found, rest, called, more, span)
            }
        };
        let put = call("clojure.core/assoc", vec![local(map), key.clone(), value], span);
        Node::new(NodeKind::Let(bindings, put.into()), span)
    }
}

/// The keys of a path that is written as a vector.
fn keys(path: &Node) -> Option<Vec<Node>> {
    let keys = match &path.kind {
        NodeKind::Vector(keys) => keys.clone(),
        NodeKind::Const(Const::Vector(keys)) => {
            keys.iter().map(|key| Node::new(NodeKind::Const(key.clone()), path.span)).collect()
        }
        _ => return None,
    };
    (1..=LONGEST).contains(&keys.len()).then_some(keys)
}
