//! Which keywords a program writes as keys of maps. They are names that the program chose, so JSON has them with
//! underscores; a keyword that it only looks up, compares or passes on may be data, which stays as it is.

use std::collections::BTreeSet;

use super::node::{FnNode, Node, NodeKind};
use crate::builtins::registry;
use crate::code::Const;

/// Where a function that writes into a map has the keys.
#[derive(Clone, Copy)]
enum KeyPosition {
    /// In turn with the values, from this argument on.
    Pairs(usize),
    /// One argument.
    One(usize),
    /// The items of one argument: a path, or a list of keys.
    Items(usize),
    /// The values of one argument, a map from old names to new ones.
    Values(usize),
}

/// The functions that write into maps by keys that they are given.
fn keys_of(function: &str) -> Option<KeyPosition> {
    Some(match function {
        "hash-map" | "array-map" | "sorted-map" => KeyPosition::Pairs(0),
        "assoc" | "assoc!" | "sorted-map-by" => KeyPosition::Pairs(1),
        "update" => KeyPosition::One(1),
        "assoc-in" | "update-in" => KeyPosition::Items(1),
        "zipmap" => KeyPosition::Items(0),
        "rename-keys" => KeyPosition::Values(1),
        _ => return None,
    })
}

/// The keywords with hyphens that an expression writes as keys, in order.
pub(crate) fn written(body: &Node) -> Vec<String> {
    let mut found = BTreeSet::new();
    KeyWalk { found: &mut found }.node(body);
    found.into_iter().collect()
}

struct KeyWalk<'f> {
    found: &'f mut BTreeSet<String>,
}

/// Trees nest no deeper than source text.
impl KeyWalk<'_> {
    fn all<'n>(&mut self, nodes: impl IntoIterator<Item = &'n Node>) {
        nodes.into_iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Const(constant) => self.constant(constant),
            NodeKind::Map(pairs) => {
                for (key, value) in pairs {
                    self.key(key);
                    self.all([key, value]);
                }
            }
            NodeKind::Call(function, args) => {
                self.call(function, args);
                self.node(function);
                self.all(args);
            }
            NodeKind::If(a, b, c) | NodeKind::IfNil(a, b, c) => self.all([&**a, &**b, &**c]),
            NodeKind::Do(nodes)
            | NodeKind::And(nodes)
            | NodeKind::Or(nodes)
            | NodeKind::Recur(nodes)
            | NodeKind::Vector(nodes)
            | NodeKind::Set(nodes) => self.all(nodes),
            NodeKind::Let(bindings, body) | NodeKind::Loop(bindings, body) => {
                self.all(bindings.iter().map(|(_, node)| node));
                self.node(body);
            }
            NodeKind::Fn(function) => self.function(function),
            NodeKind::Letfn(group) => {
                group.functions.iter().for_each(|(_, function)| self.function(function));
                self.node(&group.body);
            }
            NodeKind::Define(_, value) | NodeKind::TakeSlot(_, value) => self.node(value),
            NodeKind::Try(parts) => {
                self.node(&parts.body);
                self.all(parts.catches.iter().map(|(_, _, node)| node).chain(&parts.finally));
            }
            NodeKind::Reduce(parts) => self.all([&parts.init, &parts.coll, &parts.body]),
            NodeKind::Local(..)
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

    fn function(&mut self, function: &FnNode) {
        self.all(function.arities.iter().map(|arity| &arity.body));
    }

    fn call(&mut self, function: &Node, args: &[Node]) {
        match &function.kind {
            // Keyword arguments of a tool; a map as its only argument is a map.
            NodeKind::Const(Const::Tool(_)) => {
                let symbol = matches!(args, [Node { kind: NodeKind::Const(Const::Symbol(_)), .. }, ..]);
                self.keys(&args[usize::from(symbol)..], KeyPosition::Pairs(0));
            }
            NodeKind::Builtin(id) => {
                if let Some(keys) = keys_of(registry().get(*id).local) {
                    self.keys(args, keys);
                }
            }
            _ => {}
        }
        // `(swap! state assoc :key 1)`: the function gets what it changes, then the rest.
        for (at, arg) in args.iter().enumerate() {
            let NodeKind::Builtin(id) = &arg.kind else { continue };
            match keys_of(registry().get(*id).local) {
                Some(KeyPosition::Pairs(1)) => self.keys(&args[at + 1..], KeyPosition::Pairs(0)),
                Some(KeyPosition::One(1)) => self.keys(&args[at + 1..], KeyPosition::One(0)),
                Some(KeyPosition::Items(1)) => self.keys(&args[at + 1..], KeyPosition::Items(0)),
                _ => {}
            }
        }
    }

    fn keys(&mut self, args: &[Node], keys: KeyPosition) {
        match keys {
            KeyPosition::Pairs(from) => args.iter().skip(from).step_by(2).for_each(|key| self.key(key)),
            KeyPosition::One(at) => args.get(at).into_iter().for_each(|key| self.key(key)),
            KeyPosition::Items(at) => match args.get(at).map(|node| &node.kind) {
                Some(NodeKind::Vector(items)) => items.iter().for_each(|item| self.key(item)),
                Some(NodeKind::Const(Const::Vector(items) | Const::List(items))) => {
                    items.iter().for_each(|item| self.key_constant(item));
                }
                _ => {}
            },
            KeyPosition::Values(at) => match args.get(at).map(|node| &node.kind) {
                Some(NodeKind::Map(pairs)) => pairs.iter().for_each(|(_, value)| self.key(value)),
                Some(NodeKind::Const(Const::Map(pairs))) => {
                    pairs.iter().for_each(|(_, value)| self.key_constant(value));
                }
                _ => {}
            },
        }
    }

    fn key(&mut self, node: &Node) {
        if let NodeKind::Const(constant) = &node.kind {
            self.key_constant(constant);
        }
    }

    fn key_constant(&mut self, constant: &Const) {
        if let Const::Keyword(name) = constant
            && name.contains('-')
        {
            self.found.insert(name.clone());
        }
    }

    /// Constants nest no deeper than source text.
    fn constant(&mut self, constant: &Const) {
        match constant {
            Const::Map(pairs) => {
                for (key, value) in pairs {
                    self.key_constant(key);
                    self.constant(key);
                    self.constant(value);
                }
            }
            Const::Vector(items) | Const::List(items) | Const::Set(items) => {
                items.iter().for_each(|item| self.constant(item));
            }
            _ => {}
        }
    }
}
