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
    fn node(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Const(constant) => self.constant(constant),
            NodeKind::Map(pairs) => pairs.iter().for_each(|(key, _)| self.key(key)),
            NodeKind::Call(function, args) => self.call(function, args),
            // What stands inside of functions is no part of the function around them.
            NodeKind::Fn(function) => self.function(function),
            NodeKind::Letfn(group) => {
                group.functions.iter().for_each(|(_, function)| self.function(function))
            }
            _ => {}
        }
        node.each_part(&mut |part| self.node(part));
    }

    fn function(&mut self, function: &FnNode) {
        function.arities.iter().for_each(|arity| self.node(&arity.body));
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
