//! Programs of the backtracking engine, and how patterns become one.

use std::sync::Arc;

use super::class::CharSet;
use super::node::{Assert, Case, Mode, Node};

/// A pattern compiled for this engine.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
    pub(super) slots: usize,
    pub(super) counters: usize,
    /// Which bytes a match can begin with; `None` if it can be empty or begin with anything.
    pub(super) first: Option<Box<[bool; 256]>>,
}

/// An instruction.
#[derive(Debug)]
pub(super) enum Op {
    Char(char),
    Set(Arc<CharSet>),
    /// As many characters of a set as possible, or as few.
    Run {
        one: One,
        min: u32,
        max: Option<u32>,
        mode: Mode,
    },
    /// Goes on at the first place, or else at the second.
    Split(usize, usize),
    Jump(usize),
    Save(usize),
    Assert(Assert),
    Backref(usize, Case),
    /// Sets a loop's counter to zero.
    LoopInit(usize),
    /// Runs the body that follows once more, or leaves the loop for `exit`.
    LoopTest {
        counter: usize,
        min: u32,
        max: Option<u32>,
        lazy: bool,
        exit: usize,
    },
    /// Counts a round of a loop.
    LoopEnter(usize),
    /// Runs what follows up to `Done`, then goes on at `exit` without going back into it.
    Atomic {
        exit: usize,
    },
    /// Asks whether what follows up to `Done` matches here, or, for `behind`, just before here.
    Look {
        behind: Option<(usize, Option<usize>)>,
        negate: bool,
        exit: usize,
    },
    /// The end of a part.
    Done,
    /// The end of the pattern.
    Match,
}

/// One character.
#[derive(Clone, Debug)]
pub(super) enum One {
    Char(char),
    Set(Arc<CharSet>),
}

impl One {
    pub(super) fn matches(&self, c: char) -> bool {
        match self {
            One::Char(own) => *own == c,
            One::Set(set) => set.contains(c),
        }
    }
}

impl Program {
    pub(super) fn new(node: &Node, groups: usize) -> Program {
        let mut program = Program { ops: Vec::new(), slots: 2 * (groups + 1), counters: 0, first: None };
        program.emit(node);
        program.ops.push(Op::Match);
        let mut first = Box::new([false; 256]);
        if first_bytes(node, &mut first) == Reach::Stops {
            program.first = Some(first);
        }
        program
    }

    pub(super) fn bytes(&self) -> usize {
        let first = self.first.as_ref().map_or(0, |first| size_of_val(&**first));
        size_of::<Program>() + self.ops.len() * size_of::<Op>() + first
    }

    fn emit(&mut self, node: &Node) {
        match node {
            Node::Empty => {}
            Node::Char(c) => self.ops.push(Op::Char(*c)),
            Node::Set(set) => self.ops.push(Op::Set(set.clone())),
            Node::Concat(nodes) => nodes.iter().for_each(|node| self.emit(node)),
            Node::Alt(nodes) => self.emit_alternatives(nodes),
            Node::Repeat { node, min, max, mode } => self.emit_repeat(node, *min, *max, *mode),
            Node::Group { index, node } => {
                self.ops.push(Op::Save(2 * index));
                self.emit(node);
                self.ops.push(Op::Save(2 * index + 1));
            }
            Node::Atomic(node) => self.emit_part(node, |exit| Op::Atomic { exit }),
            Node::Look { behind, negate, node } => {
                let behind = behind.then(|| node.width());
                let negate = *negate;
                self.emit_part(node, |exit| Op::Look { behind, negate, exit });
            }
            Node::Backref { group, case } => self.ops.push(Op::Backref(*group, *case)),
            Node::Assert(place) => self.ops.push(Op::Assert(*place)),
        }
    }

    /// A part that runs on its own: `op`, the part, `Done`.
    fn emit_part(&mut self, node: &Node, op: impl Fn(usize) -> Op) {
        let at = self.ops.len();
        self.ops.push(Op::Done);
        self.emit(node);
        self.ops.push(Op::Done);
        self.ops[at] = op(self.ops.len());
    }

    fn emit_alternatives(&mut self, nodes: &[Node]) {
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.emit(node);
                break;
            }
            let split = self.ops.len();
            self.ops.push(Op::Done);
            self.emit(node);
            jumps.push(self.ops.len());
            self.ops.push(Op::Done);
            self.ops[split] = Op::Split(split + 1, self.ops.len());
        }
        let end = self.ops.len();
        jumps.into_iter().for_each(|jump| self.ops[jump] = Op::Jump(end));
    }

    fn emit_repeat(&mut self, node: &Node, min: u32, max: Option<u32>, mode: Mode) {
        let one = match node {
            Node::Char(c) => Some(One::Char(*c)),
            Node::Set(set) => Some(One::Set(set.clone())),
            _ => None,
        };
        if let Some(one) = one {
            self.ops.push(Op::Run { one, min, max, mode });
            return;
        }
        if mode == Mode::Possessive {
            let greedy = Node::Repeat { node: Box::new(node.clone()), min, max, mode: Mode::Greedy };
            return self.emit(&Node::Atomic(Box::new(greedy)));
        }
        let counter = self.counters;
        self.counters += 1;
        self.ops.push(Op::LoopInit(counter));
        let test = self.ops.len();
        self.ops.push(Op::Done);
        self.ops.push(Op::LoopEnter(counter));
        self.emit(node);
        self.ops.push(Op::Jump(test));
        let exit = self.ops.len();
        self.ops[test] = Op::LoopTest { counter, min, max, lazy: mode == Mode::Lazy, exit };
    }
}

/// Whether what comes after a node can stand at the start of a match.
#[derive(PartialEq, Eq)]
enum Reach {
    /// The node takes at least one character.
    Stops,
    /// The node can be empty.
    Passes,
    /// Nothing can be said.
    Unknown,
}

fn first_bytes(node: &Node, first: &mut [bool; 256]) -> Reach {
    match node {
        Node::Char(c) => {
            first[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            Reach::Stops
        }
        Node::Set(set) => {
            (0..128).filter(|bit| set.ascii() >> bit & 1 == 1).for_each(|byte| first[byte] = true);
            if set.ranges().iter().any(|range| !range.end().is_ascii()) {
                first[128..].fill(true);
            }
            Reach::Stops
        }
        Node::Concat(nodes) => {
            for node in nodes {
                match first_bytes(node, first) {
                    Reach::Passes => {}
                    reach => return reach,
                }
            }
            Reach::Passes
        }
        Node::Alt(nodes) => {
            nodes.iter().fold(Reach::Stops, |reach, node| match (reach, first_bytes(node, first)) {
                (Reach::Unknown, _) | (_, Reach::Unknown) => Reach::Unknown,
                (Reach::Passes, _) | (_, Reach::Passes) => Reach::Passes,
                _ => Reach::Stops,
            })
        }
        Node::Repeat { node, min, .. } => match first_bytes(node, first) {
            Reach::Stops if *min == 0 => Reach::Passes,
            reach => reach,
        },
        Node::Group { node, .. } | Node::Atomic(node) => first_bytes(node, first),
        Node::Empty | Node::Look { .. } | Node::Assert(_) => Reach::Passes,
        Node::Backref { .. } => Reach::Unknown,
    }
}
