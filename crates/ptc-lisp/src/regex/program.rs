//! Programs of the backtracking engine, and how patterns become one.

use std::sync::Arc;

use super::class::{CharSet, of_ranges};
use super::node::{Assert, Case, Mode, PatternNode};

/// A pattern compiled for this engine.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) ops: Vec<PatternOp>,
    pub(super) slots: usize,
    pub(super) counters: usize,
    /// Which bytes a match can begin with; `None` if it can be empty or begin with anything.
    pub(super) first: Option<Box<[bool; 256]>>,
    groups: usize,
    /// Groups with a reference to themselves in them, which means what they held when they last ended.
    within_themselves: Vec<usize>,
}

/// An instruction.
#[derive(Debug)]
pub(super) enum PatternOp {
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
    /// The end of a group that refers to itself: where it began, which a slot of its own has, counts from here on.
    Close {
        group: usize,
        begun: usize,
    },
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
    pub(super) fn new(node: &PatternNode, groups: usize) -> Program {
        let mut program = Program {
            ops: Vec::new(),
            slots: 2 * (groups + 1),
            counters: 0,
            first: None,
            groups,
            within_themselves: Vec::new(),
        };
        referred_within(node, &mut Vec::new(), &mut program.within_themselves);
        program.emit(node);
        program.ops.push(PatternOp::Match);
        let mut first = Box::new([false; 256]);
        if first_bytes(node, &mut first) == Reach::Stops {
            program.first = Some(first);
        }
        program
    }

    pub(super) fn bytes(&self) -> usize {
        let first = self.first.as_ref().map_or(0, |first| size_of_val(&**first));
        let within = size_of_val(self.within_themselves.as_slice());
        size_of::<Program>() + self.ops.len() * size_of::<PatternOp>() + first + within
    }

    fn emit(&mut self, node: &PatternNode) {
        match node {
            PatternNode::Empty => {}
            PatternNode::Char(c) => self.ops.push(PatternOp::Char(*c)),
            PatternNode::Set(set) => self.ops.push(PatternOp::Set(set.clone())),
            PatternNode::Concat(nodes) => nodes.iter().for_each(|node| self.emit(node)),
            PatternNode::Alt(nodes) => self.emit_alternatives(nodes),
            PatternNode::Repeat { node, min, max, mode } => self.emit_repeat(node, *min, *max, *mode),
            PatternNode::Group { index, node } => {
                if self.within_themselves.contains(index) {
                    let begun = self.slots;
                    self.slots += 1;
                    self.ops.push(PatternOp::Save(begun));
                    self.emit(node);
                    self.ops.push(PatternOp::Close { group: *index, begun });
                    return;
                }
                self.ops.push(PatternOp::Save(2 * index));
                self.emit(node);
                self.ops.push(PatternOp::Save(2 * index + 1));
            }
            PatternNode::Atomic(node) => self.emit_part(node, |exit| PatternOp::Atomic { exit }),
            PatternNode::Look { behind, negate, node } => {
                let behind = behind.then(|| node.width());
                let negate = *negate;
                self.emit_part(node, |exit| PatternOp::Look { behind, negate, exit });
            }
            // A group that is not there never matches.
            PatternNode::Backref { group, .. } if *group > self.groups => {
                self.ops.push(PatternOp::Set(Arc::new(CharSet::new(of_ranges(&[])))));
            }
            PatternNode::Backref { group, case } => self.ops.push(PatternOp::Backref(*group, *case)),
            PatternNode::Assert(place) => self.ops.push(PatternOp::Assert(*place)),
        }
    }

    /// A part that runs on its own: `op`, the part, `Done`.
    fn emit_part(&mut self, node: &PatternNode, op: impl Fn(usize) -> PatternOp) {
        let at = self.ops.len();
        self.ops.push(PatternOp::Done);
        self.emit(node);
        self.ops.push(PatternOp::Done);
        self.ops[at] = op(self.ops.len());
    }

    fn emit_alternatives(&mut self, nodes: &[PatternNode]) {
        let mut jumps = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            if at + 1 == nodes.len() {
                self.emit(node);
                break;
            }
            let split = self.ops.len();
            self.ops.push(PatternOp::Done);
            self.emit(node);
            jumps.push(self.ops.len());
            self.ops.push(PatternOp::Done);
            self.ops[split] = PatternOp::Split(split + 1, self.ops.len());
        }
        let end = self.ops.len();
        jumps.into_iter().for_each(|jump| self.ops[jump] = PatternOp::Jump(end));
    }

    fn emit_repeat(&mut self, node: &PatternNode, min: u32, max: Option<u32>, mode: Mode) {
        let one = match node {
            PatternNode::Char(c) => Some(One::Char(*c)),
            PatternNode::Set(set) => Some(One::Set(set.clone())),
            _ => None,
        };
        if let Some(one) = one {
            self.ops.push(PatternOp::Run { one, min, max, mode });
            return;
        }
        if mode == Mode::Possessive {
            let greedy = PatternNode::Repeat { node: Box::new(node.clone()), min, max, mode: Mode::Greedy };
            return self.emit(&PatternNode::Atomic(Box::new(greedy)));
        }
        let counter = self.counters;
        self.counters += 1;
        self.ops.push(PatternOp::LoopInit(counter));
        let test = self.ops.len();
        self.ops.push(PatternOp::Done);
        self.ops.push(PatternOp::LoopEnter(counter));
        self.emit(node);
        self.ops.push(PatternOp::Jump(test));
        let exit = self.ops.len();
        self.ops[test] = PatternOp::LoopTest { counter, min, max, lazy: mode == Mode::Lazy, exit };
    }
}

/// Finds the groups that hold references to themselves; `open` are those around the node.
fn referred_within(node: &PatternNode, open: &mut Vec<usize>, found: &mut Vec<usize>) {
    match node {
        PatternNode::Group { index, node } => {
            open.push(*index);
            referred_within(node, open, found);
            open.pop();
        }
        PatternNode::Backref { group, .. } => {
            if open.contains(group) && !found.contains(group) {
                found.push(*group);
            }
        }
        PatternNode::Concat(nodes) | PatternNode::Alt(nodes) => {
            nodes.iter().for_each(|node| referred_within(node, open, found));
        }
        PatternNode::Repeat { node, .. } | PatternNode::Atomic(node) | PatternNode::Look { node, .. } => {
            referred_within(node, open, found);
        }
        PatternNode::Empty | PatternNode::Char(_) | PatternNode::Set(_) | PatternNode::Assert(_) => {}
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

fn first_bytes(node: &PatternNode, first: &mut [bool; 256]) -> Reach {
    match node {
        PatternNode::Char(c) => {
            first[usize::from(c.encode_utf8(&mut [0; 4]).as_bytes()[0])] = true;
            Reach::Stops
        }
        PatternNode::Set(set) => {
            (0..128).filter(|bit| set.ascii() >> bit & 1 == 1).for_each(|byte| first[byte] = true);
            if set.ranges().iter().any(|range| !range.end().is_ascii()) {
                first[128..].fill(true);
            }
            Reach::Stops
        }
        PatternNode::Concat(nodes) => {
            for node in nodes {
                match first_bytes(node, first) {
                    Reach::Passes => {}
                    reach => return reach,
                }
            }
            Reach::Passes
        }
        PatternNode::Alt(nodes) => {
            nodes.iter().fold(Reach::Stops, |reach, node| match (reach, first_bytes(node, first)) {
                (Reach::Unknown, _) | (_, Reach::Unknown) => Reach::Unknown,
                (Reach::Passes, _) | (_, Reach::Passes) => Reach::Passes,
                _ => Reach::Stops,
            })
        }
        PatternNode::Repeat { node, min, .. } => match first_bytes(node, first) {
            Reach::Stops if *min == 0 => Reach::Passes,
            reach => reach,
        },
        PatternNode::Group { node, .. } | PatternNode::Atomic(node) => first_bytes(node, first),
        PatternNode::Empty | PatternNode::Look { .. } | PatternNode::Assert(_) => Reach::Passes,
        PatternNode::Backref { .. } => Reach::Unknown,
    }
}
