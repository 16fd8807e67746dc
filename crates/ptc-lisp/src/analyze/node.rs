//! The core tree: what is left of a program after all names are resolved and all sugar is gone.

use crate::builtins::BuiltinId;
use crate::builtins::gather::LoopRole;
use crate::code::Const;
use crate::span::Span;

/// A local variable, numbered within its function.
pub type Local = u32;

/// An expression and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub kind: NodeKind,
    /// Where it was written.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// A constant.
    Const(Const),
    /// A local variable; the flag says that nothing after this reads it.
    Local(Local, bool),
    /// A value captured by the function, by place in its captures.
    Capture(u16),
    /// The function itself, by the name in `(fn name […] …)`.
    SelfFn,
    /// Another function of the same `letfn`, by place in the group.
    Sibling(u16),
    /// A definition.
    Global(String),
    /// A definition, nil if there is none (a bare name in `or`).
    GlobalOrNil(String),
    /// Whether a definition exists (`defonce`).
    HasGlobal(String),
    /// A function of the core library.
    Builtin(BuiltinId),
    /// A definition of the prelude, by number.
    Export(u32),
    /// An input.
    Data(String),
    /// An input, or what an earlier result put in its place (the draft's `ctx/`).
    Context(String),
    /// `*1`, `*2`, `*3`
    History(u16),
    /// `(if test then else)`
    If(Box<Node>, Box<Node>, Box<Node>),
    /// Takes the first if it is not nil, else the second (for `some->`: stops at nil).
    IfNil(Box<Node>, Box<Node>, Box<Node>),
    /// One after the other; the last is the value.
    Do(Vec<Node>),
    /// `and`: the first false value or the last.
    And(Vec<Node>),
    /// `or`: the first true value or the last.
    Or(Vec<Node>),
    /// Local variables in order, then a body.
    Let(Vec<(Local, Node)>, Box<Node>),
    /// Like `Let`, and a target for `Recur`.
    Loop(Vec<(Local, Node)>, Box<Node>),
    /// A jump to the innermost loop or function.
    Recur(Vec<Node>),
    /// A function.
    Fn(Box<FnNode>),
    /// Functions that see each other, bound to locals, then a body.
    Letfn(Box<LetfnNode>),
    /// A call.
    Call(Box<Node>, Vec<Node>),
    /// A vector of values.
    Vector(Vec<Node>),
    /// A map of keys and values.
    Map(Vec<(Node, Node)>),
    /// A set of values.
    Set(Vec<Node>),
    /// Gives a definition its value.
    Define(String, Box<Node>),
    /// `try` with its clauses.
    Try(Box<TryNode>),
    /// `(reduce* [acc init item coll] body)`
    Reduce(Box<ReduceNode>),
    /// `(take-slot! map key)`
    TakeSlot(Local, Box<Node>),
    /// A loop in place of a chain of calls. The compiler makes it; the analyzer never does.
    Chain(Box<ChainNode>),
}

/// A function with its arities.
#[derive(Clone, Debug)]
pub struct FnNode {
    /// The name it is known by in messages.
    pub name: Option<String>,
    /// Its arities.
    pub arities: Vec<ArityNode>,
    /// What it captures, as seen from outside.
    pub captures: Vec<Node>,
}

/// One arity of a function. Parameters are the locals 0, 1, …
#[derive(Clone, Debug)]
pub struct ArityNode {
    /// How many parameters are fixed.
    pub params: u16,
    /// Whether another parameter takes the rest.
    pub variadic: bool,
    /// What it does.
    pub body: Node,
}

/// `letfn`.
#[derive(Clone, Debug)]
pub struct LetfnNode {
    /// The functions and the locals that hold them; all have the same captures.
    pub functions: Vec<(Local, FnNode)>,
    /// What all of them capture.
    pub captures: Vec<Node>,
    /// What runs with them.
    pub body: Node,
}

/// `try`.
#[derive(Clone, Debug)]
pub struct TryNode {
    /// What is tried.
    pub body: Node,
    /// Class name, variable and what to do.
    pub catches: Vec<(String, Local, Node)>,
    /// What runs in any case.
    pub finally: Option<Node>,
}

/// `reduce*`.
#[derive(Clone, Debug)]
pub struct ReduceNode {
    /// The accumulator.
    pub acc: Local,
    /// Its first value.
    pub init: Node,
    /// The item.
    pub item: Local,
    /// What is walked.
    pub coll: Node,
    /// The next accumulator.
    pub body: Node,
}

/// A loop over a collection in place of calls of sequence functions (see `compile/chain`).
#[derive(Clone, Debug)]
pub struct ChainNode {
    /// What is evaluated first, in order: functions that are called as they are, first values, at last the source.
    pub before: Vec<(Local, Node)>,
    /// What the locals are taken for; if one of them is something else, the calls are made.
    pub fits: Vec<(Local, LoopRole)>,
    /// What is walked.
    pub source: Local,
    /// Where the walk is told to stand.
    pub source_span: Span,
    /// What goes from one turn to the next, with the first values.
    pub state: Vec<(Local, Node)>,
    /// What is done before an item is taken.
    pub ahead: Vec<ChainStep>,
    /// The item of the walk.
    pub item: Local,
    /// What is done with it.
    pub steps: Vec<ChainStep>,
    /// True once there was an item. If there is none, the calls say what that gives, for an empty vector.
    pub begun: Option<Local>,
    /// The sum that plain numbers are added to at once, and the keyword and the builtins that they go through.
    pub skim: Option<(Local, Vec<Const>)>,
    /// What it gives.
    pub result: Node,
    /// The calls.
    pub calls: Node,
}

/// A step of a chain.
#[derive(Clone, Debug)]
pub enum ChainStep {
    /// The local gets the value.
    Bind(Local, Node),
    /// The turn or the loop ends here if the value is so.
    Leave(Node, When, Exit),
    /// The turn or the loop ends here.
    Go(Exit),
    /// The loop ends if the local is `(reduced x)`, which becomes `x`.
    Unreduce(Local),
    /// Of the first item: the first local becomes true, the second the value, and the turn ends.
    Begin(Local, Local, Node),
    /// The map counts the key.
    Tally(Local, Node),
    /// The map has a vector for the key, which gets the item.
    Group(Local, Node, Node),
    /// The set gets the item, and the first local says whether it is new.
    Include(Local, Local, Node),
    /// What follows is done for each item of the collection.
    Each(Local, Node),
}

/// When a step leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The value is true: neither nil nor false.
    True,
    /// It is not.
    False,
    /// It is nil.
    Nil,
}

/// Where a step leaves to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The next item.
    Next,
    /// The end of the loop.
    Done,
}

/// Goes over the nodes of a step, by shared or by exclusive references.
macro_rules! step_parts {
    ($step:expr, $each:ident) => {
        match $step {
            ChainStep::Bind(_, node)
            | ChainStep::Leave(node, ..)
            | ChainStep::Begin(_, _, node)
            | ChainStep::Tally(_, node)
            | ChainStep::Include(_, _, node)
            | ChainStep::Each(_, node) => $each(node),
            ChainStep::Group(_, key, item) => {
                $each(key);
                $each(item);
            }
            ChainStep::Go(_) | ChainStep::Unreduce(_) => {}
        }
    };
}

impl ChainNode {
    /// All locals that it binds.
    pub fn locals(&self) -> impl Iterator<Item = Local> {
        let bound = self.before.iter().chain(&self.state).map(|(local, _)| *local);
        bound.chain([self.item]).chain(self.steps.iter().filter_map(ChainStep::bound))
    }
}

impl ChainStep {
    /// Calls `each` with its nodes.
    pub fn each_part(&self, each: &mut dyn FnMut(&Node)) {
        step_parts!(self, each);
    }

    /// The same for nodes that change.
    pub fn each_part_mut(&mut self, each: &mut dyn FnMut(&mut Node)) {
        step_parts!(self, each);
    }

    /// The local that it binds.
    pub fn bound(&self) -> Option<Local> {
        match self {
            ChainStep::Bind(local, _) | ChainStep::Include(local, ..) | ChainStep::Each(local, _) => {
                Some(*local)
            }
            _ => None,
        }
    }
}

/// Goes over the parts of a node, by shared or by exclusive references.
macro_rules! each_part {
    ($kind:expr, $each:ident, $iter:ident, $($borrow:tt)+) => {
        match $kind {
            NodeKind::If(test, then, other) | NodeKind::IfNil(test, then, other) => {
                $each(test);
                $each(then);
                $each(other);
            }
            NodeKind::Do(nodes)
            | NodeKind::And(nodes)
            | NodeKind::Or(nodes)
            | NodeKind::Recur(nodes)
            | NodeKind::Vector(nodes)
            | NodeKind::Set(nodes) => nodes.$iter().for_each($each),
            NodeKind::Map(pairs) => pairs.$iter().for_each(|(key, value)| {
                $each(key);
                $each(value);
            }),
            NodeKind::Let(bindings, body) | NodeKind::Loop(bindings, body) => {
                bindings.$iter().for_each(|(_, value)| $each(value));
                $each(body);
            }
            NodeKind::Fn(function) => function.captures.$iter().for_each($each),
            NodeKind::Letfn(letfn) => {
                letfn.captures.$iter().for_each(&mut *$each);
                $each($($borrow)+ letfn.body);
            }
            NodeKind::Call(function, args) => {
                $each(function);
                args.$iter().for_each($each);
            }
            NodeKind::Define(_, value) | NodeKind::TakeSlot(_, value) => $each(value),
            NodeKind::Try(node) => {
                $each($($borrow)+ node.body);
                node.catches.$iter().for_each(|(_, _, body)| $each(body));
                node.finally.$iter().for_each($each);
            }
            NodeKind::Reduce(reduce) => {
                $each($($borrow)+ reduce.init);
                $each($($borrow)+ reduce.coll);
                $each($($borrow)+ reduce.body);
            }
            NodeKind::Chain(chain) => {
                chain.before.$iter().for_each(|(_, value)| $each(value));
                chain.state.$iter().for_each(|(_, value)| $each(value));
                chain.ahead.$iter().for_each(|step| step_parts!(step, $each));
                chain.steps.$iter().for_each(|step| step_parts!(step, $each));
                $each($($borrow)+ chain.result);
                $each($($borrow)+ chain.calls);
            }
            NodeKind::Const(_)
            | NodeKind::Local(..)
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
    };
}

impl Node {
    /// A node.
    pub fn new(kind: NodeKind, span: Span) -> Self {
        Node { kind, span }
    }

    /// `nil`
    pub fn nil(span: Span) -> Self {
        Node::new(NodeKind::Const(Const::Nil), span)
    }

    /// Calls `each` with all parts that belong to the same function, in the order in which they are evaluated.
    pub fn each_part(&self, each: &mut dyn FnMut(&Node)) {
        each_part!(&self.kind, each, iter, &);
    }

    /// The same for parts that change.
    pub fn each_part_mut(&mut self, each: &mut dyn FnMut(&mut Node)) {
        each_part!(&mut self.kind, each, iter_mut, &mut);
    }
}
