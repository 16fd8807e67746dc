//! Which names mean what at a place in the program: locals, captures, the functions around.

use std::cell::Cell;
use std::rc::Rc;

use super::node::{Local, Node, NodeKind};
use crate::span::Span;

/// A function being analysed.
#[derive(Debug, Default)]
pub struct FnScope {
    /// Visible locals, innermost last.
    pub(super) names: Vec<(String, Local)>,
    pub(super) next: Local,
    /// The function's own name, as `(fn name …)` gives it.
    pub self_name: Option<String>,
    /// Names of the `letfn` the function belongs to.
    pub group: Rc<[String]>,
    /// What the function captures: the name and how the function around refers to it.
    pub captures: Vec<(String, Node)>,
    /// How many values the innermost `recur` target takes; nothing outside of loops and functions.
    pub recur: Option<usize>,
}

/// The functions around a place, innermost last.
#[derive(Debug)]
pub struct Scopes {
    functions: Vec<FnScope>,
    /// Names looked at so far. Most programs have few; one with very many pays for the search.
    steps: Cell<u64>,
}

/// Where analysis was: in which function, with which names and which target of `recur`.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    functions: usize,
    names: usize,
    recur: Option<usize>,
}

impl Scopes {
    /// The scope of a whole program.
    pub fn new() -> Self {
        Scopes { functions: vec![FnScope::default()], steps: Cell::new(0) }
    }

    /// The function being analysed.
    pub fn current(&mut self) -> &mut FnScope {
        self.functions.last_mut().expect("the program itself is always there")
    }

    /// Enters a function.
    pub fn enter(&mut self, scope: FnScope) {
        self.functions.push(scope);
    }

    /// Leaves a function.
    pub fn leave(&mut self) -> FnScope {
        self.functions.pop().expect("every leave follows an enter")
    }

    /// A mark to return to with [`Scopes::reset`].
    pub fn mark(&mut self) -> Mark {
        let functions = self.functions.len();
        let current = self.current();
        Mark { functions, names: current.open(), recur: current.recur }
    }

    /// Leaves what was entered since the mark and forgets what was declared since.
    pub fn reset(&mut self, mark: Mark) {
        self.functions.truncate(mark.functions);
        let current = self.current();
        current.close(mark.names);
        current.recur = mark.recur;
    }

    /// Counts names that somebody looks at.
    pub fn count(&self, steps: usize) {
        self.steps.set(self.steps.get() + steps as u64);
    }

    /// How many names were looked at.
    pub fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// Whether `name` is a local here.
    pub fn is_local(&self, name: &str) -> bool {
        self.functions.iter().any(|scope| {
            self.count(scope.names.len() + scope.group.len());
            scope.names.iter().any(|(known, _)| known == name)
                || scope.self_name.as_deref() == Some(name)
                || scope.group.iter().any(|known| known == name)
        })
    }

    /// The names of all locals here, innermost first. Names that expansions made up are left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let all = self.functions.iter().rev().flat_map(|scope| {
            let locals = scope.names.iter().rev().map(|(name, _)| name.as_str());
            locals.chain(scope.self_name.as_deref()).chain(scope.group.iter().map(String::as_str))
        });
        all.filter(|name| !name.contains(super::build::INTERNAL))
    }

    /// How the current function refers to the local `name`, captured from further out if need be.
    pub fn resolve(&mut self, name: &str, span: Span) -> Option<Node> {
        let depth = self.functions.len() - 1;
        self.resolve_at(depth, name, span)
    }

    fn resolve_at(&mut self, depth: usize, name: &str, span: Span) -> Option<Node> {
        let scope = self.functions.get(depth)?;
        self.count(scope.names.len() + scope.captures.len() + scope.group.len());
        if let Some((_, local)) = scope.names.iter().rev().find(|(known, _)| known == name) {
            return Some(Node::new(NodeKind::Local(*local, false), span));
        }
        if scope.self_name.as_deref() == Some(name) {
            return Some(Node::new(NodeKind::SelfFn, span));
        }
        if let Some(at) = scope.group.iter().position(|known| known == name) {
            return Some(Node::new(NodeKind::Sibling(at as u16), span));
        }
        if let Some(at) = scope.captures.iter().position(|(known, _)| known == name) {
            return Some(Node::new(NodeKind::Capture(at as u16), span));
        }
        let outer = self.resolve_at(depth.checked_sub(1)?, name, span)?;
        let captures = &mut self.functions[depth].captures;
        captures.push((name.to_owned(), outer));
        Some(Node::new(NodeKind::Capture((captures.len() - 1) as u16), span))
    }
}

impl FnScope {
    /// A new local without a name.
    pub fn fresh(&mut self) -> Local {
        self.next += 1;
        self.next - 1
    }

    /// A new local that `name` refers to from now on.
    pub fn declare(&mut self, name: &str) -> Local {
        let local = self.fresh();
        self.names.push((name.to_owned(), local));
        local
    }

    /// Begins a new arity: its parameters are the locals 0, 1, …
    pub fn restart(&mut self) -> usize {
        self.next = 0;
        self.open()
    }

    /// A mark to return to with [`FnScope::close`].
    pub fn open(&self) -> usize {
        self.names.len()
    }

    /// Forgets all names declared since the mark.
    pub fn close(&mut self, mark: usize) {
        self.names.truncate(mark);
    }
}
