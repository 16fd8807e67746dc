//! The tree of a pattern, and what can be told from looking at it.

use std::sync::Arc;

use super::class::CharSet;

/// A piece of a pattern. Flags are already applied: a letter that ignores case is a set.
#[derive(Clone, Debug)]
pub(super) enum PatternNode {
    /// Matches the empty text.
    Empty,
    /// One character.
    Char(char),
    /// One character out of a set; an empty set never matches.
    Set(Arc<CharSet>),
    /// One after the other.
    Concat(Vec<PatternNode>),
    /// The first that leads to a match.
    Alt(Vec<PatternNode>),
    /// Several times.
    Repeat { node: Box<PatternNode>, min: u32, max: Option<u32>, mode: Mode },
    /// A numbered group.
    Group { index: usize, node: Box<PatternNode> },
    /// `(?>…)`: once left, never entered again.
    Atomic(Box<PatternNode>),
    /// Look-around.
    Look { behind: bool, negate: bool, node: Box<PatternNode> },
    /// What a group matched, once more.
    Backref { group: usize, case: Case },
    /// A place in the text.
    Assert(Assert),
}

/// How a quantifier tries counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Most first.
    Greedy,
    /// Fewest first.
    Lazy,
    /// Most only.
    Possessive,
}

/// Which letters count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// Only equal ones.
    Exact,
    /// ASCII letters regardless of case.
    Ascii,
    /// All letters regardless of case.
    Unicode,
}

/// Places in a text. `unix` means that only `\n` ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assert {
    /// `\A`, `^`
    TextStart,
    /// `\z`
    TextEnd,
    /// `\Z`, `$`: the end, or before a line end that ends the text.
    LastLineEnd { unix: bool },
    /// `(?m)^`
    LineStart { unix: bool },
    /// `(?m)$`
    LineEnd { unix: bool },
    /// `\b`, or `\B` if negated. Letters of all scripts make words, as they do up to Java 18.
    Word { negate: bool },
    /// `\G`
    SearchStart,
}

/// What matters for the choice of an engine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    /// `$` or `\Z`: means more at a line end that ends the text.
    pub(super) last_line_end: bool,
    /// `(?m)^`: means less after a line end that ends the text.
    pub(super) line_start: bool,
    /// `(?m)^` or `(?m)$`: lines may also end with rare characters.
    pub(super) lines: bool,
    /// Looking for a match may read far beyond its end, so finding all matches may take quadratic time.
    pub(super) overruns: bool,
}

impl Traits {
    pub(super) fn of(node: &PatternNode) -> Traits {
        let mut traits = Traits::default();
        traits.visit(node);
        traits.overruns = overruns(node, false, false) || reads_far_on(node);
        traits
    }

    fn visit(&mut self, node: &PatternNode) {
        match node {
            PatternNode::Assert(Assert::LastLineEnd { .. }) => self.last_line_end = true,
            PatternNode::Assert(Assert::LineStart { .. }) => {
                self.line_start = true;
                self.lines = true;
            }
            PatternNode::Assert(Assert::LineEnd { .. }) => self.lines = true,
            _ => node.children().iter().for_each(|child| self.visit(child)),
        }
    }
}

impl PatternNode {
    /// The nodes directly inside.
    pub(super) fn children(&self) -> &[PatternNode] {
        match self {
            PatternNode::Concat(nodes) | PatternNode::Alt(nodes) => nodes,
            PatternNode::Repeat { node, .. }
            | PatternNode::Group { node, .. }
            | PatternNode::Atomic(node)
            | PatternNode::Look { node, .. } => std::slice::from_ref(node),
            _ => &[],
        }
    }

    /// About how many bytes it takes. Patterns nest no deeper than the parser allows.
    pub(super) fn bytes(&self) -> usize {
        let set = match self {
            PatternNode::Set(set) => {
                set.ranges().ranges().len() * size_of::<(char, char)>() + size_of::<CharSet>()
            }
            _ => 0,
        };
        size_of::<PatternNode>() + set + self.children().iter().map(PatternNode::bytes).sum::<usize>()
    }

    /// Whether there is a numbered group inside.
    pub(super) fn has_group(&self) -> bool {
        matches!(self, PatternNode::Group { .. }) || self.children().iter().any(PatternNode::has_group)
    }

    /// Whether it can match the empty text; `true` when in doubt.
    pub(super) fn nullable(&self) -> bool {
        match self {
            PatternNode::Char(_) | PatternNode::Set(_) => false,
            PatternNode::Concat(nodes) => nodes.iter().all(PatternNode::nullable),
            PatternNode::Alt(nodes) => nodes.iter().any(PatternNode::nullable),
            PatternNode::Repeat { node, min, .. } => *min == 0 || node.nullable(),
            PatternNode::Group { node, .. } | PatternNode::Atomic(node) => node.nullable(),
            PatternNode::Empty
            | PatternNode::Look { .. }
            | PatternNode::Backref { .. }
            | PatternNode::Assert(_) => true,
        }
    }

    /// The fewest and most characters it can match; `None` as the most means no bound.
    pub(super) fn width(&self) -> (usize, Option<usize>) {
        match self {
            PatternNode::Char(_) | PatternNode::Set(_) => (1, Some(1)),
            PatternNode::Empty | PatternNode::Look { .. } | PatternNode::Assert(_) => (0, Some(0)),
            PatternNode::Backref { .. } => (0, None),
            PatternNode::Concat(nodes) => {
                nodes.iter().map(PatternNode::width).fold((0, Some(0)), |(min, max), (low, high)| {
                    (min.saturating_add(low), max.zip(high).map(|(max, high)| max.saturating_add(high)))
                })
            }
            PatternNode::Alt(nodes) => {
                let widths = nodes.iter().map(PatternNode::width);
                widths
                    .reduce(|(min, max), (low, high)| {
                        (min.min(low), max.zip(high).map(|(max, high)| max.max(high)))
                    })
                    .unwrap_or((0, Some(0)))
            }
            PatternNode::Repeat { node, min, max, .. } => {
                let (low, high) = node.width();
                let most = max.zip(high).map(|(max, high)| high.saturating_mul(max as usize));
                (low.saturating_mul(*min as usize), most)
            }
            PatternNode::Group { node, .. } | PatternNode::Atomic(node) => node.width(),
        }
    }
}

/// Whether a pattern with a bound may match much more than it must, so that it may read as far on for nothing.
fn reads_far_on(node: &PatternNode) -> bool {
    const FAR: usize = 256;
    let (least, most) = node.width();
    most.is_some_and(|most| most - least.min(most) > FAR)
}

/// Whether a search may read on without bound after it has seen a possible match: there is a loop
/// without bound that something must follow (`tail`), inside a part that need not match (`optional`).
fn overruns(node: &PatternNode, tail: bool, optional: bool) -> bool {
    match node {
        PatternNode::Alt(nodes) => nodes.iter().any(|node| overruns(node, tail, true)),
        PatternNode::Repeat { node, min, max, .. } => {
            let endless = max.is_none();
            (endless && tail && optional) || overruns(node, tail, optional || *min == 0 || endless)
        }
        PatternNode::Concat(nodes) => {
            let mut follows = tail;
            nodes.iter().rev().any(|node| {
                let found = overruns(node, follows, optional);
                follows |= !node.nullable();
                found
            })
        }
        PatternNode::Group { node, .. } | PatternNode::Atomic(node) | PatternNode::Look { node, .. } => {
            overruns(node, tail, optional)
        }
        _ => false,
    }
}
