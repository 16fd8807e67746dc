//! Regular expressions: Java's syntax and meaning, in bounded time.
//!
//! A pattern is parsed into a tree of [`node::Node`]s with all flags applied. Three engines run it:
//!
//! | engine | for | time |
//! |---|---|---|
//! | `scan` | one character of a set, or a run of them | linear in the text |
//! | `linear` | everything else that is regular, in long texts | linear in the text |
//! | `backtrack` | look-around, back-references, possessive quantifiers, `\G`, and the few texts where Java's line anchors mean more than the linear engine knows | counted step by step, with a limit |
//!
//! Short texts go to the backtracking engine too, which needs no time to set up; if that takes more than a
//! few steps per character, the linear engine is there.
//!
//! A [`Search`] picks the engine for one text, walks over its matches as Java's `Matcher.find` does, and
//! keeps count of the work, so that the caller can charge for it.

mod backtrack;
mod brackets;
mod class;
mod escape;
mod linear;
mod node;
mod parse;
mod program;
mod scan;
mod search;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind};
use node::{PatternNode, Traits};
pub use search::{MatchSpan, Search};

/// Longest pattern text in bytes.
pub const MAX_PATTERN: usize = 10_000;

/// Patterns with more groups go to the backtracking engine: the linear one keeps the groups of every way
/// through the pattern at once.
const LINEAR_GROUPS: usize = 20;

/// A compiled pattern.
#[derive(Debug)]
pub struct Matcher {
    node: PatternNode,
    traits: Traits,
    /// Names of groups with their numbers.
    names: Vec<(String, usize)>,
    groups: usize,
    /// Bytes of the tree.
    size: usize,
    scan: Option<scan::Scan>,
    /// Whether the linear engine can run it.
    regular: bool,
    /// The linear engine, made when it is first needed.
    linear: OnceLock<Option<linear::Linear>>,
    /// The linear engine for matching a text as a whole, made when it is first needed.
    whole: OnceLock<Option<linear::Linear>>,
    /// The backtracking engine, made when it is first needed.
    program: OnceLock<program::Program>,
    /// Whether machines share it.
    shared: bool,
    /// Bytes of engines that were made and that nobody has counted yet.
    made: AtomicUsize,
}

impl Matcher {
    /// Compiles a pattern in Java's syntax.
    pub fn compile(source: &str) -> Result<Matcher, Error> {
        if source.len() > MAX_PATTERN {
            return Err(Error::new(
                ErrorKind::IllegalArgument,
                format!("a pattern of {} bytes is too long; the limit is {MAX_PATTERN}", source.len()),
            ));
        }
        let parsed = parse::parse(source)?;
        let traits = Traits::of(&parsed.node);
        Ok(Matcher {
            scan: scan::Scan::new(&parsed.node),
            traits,
            regular: linear::is_regular(&parsed.node) && parsed.groups <= LINEAR_GROUPS,
            linear: OnceLock::new(),
            names: parsed.names,
            groups: parsed.groups,
            size: parsed.node.bytes(),
            node: parsed.node,
            whole: OnceLock::new(),
            program: OnceLock::new(),
            shared: false,
            made: AtomicUsize::new(0),
        })
    }

    /// Units of work that compiling a pattern of `bytes` bytes costs.
    pub fn compile_work(bytes: usize) -> usize {
        200 + bytes.saturating_mul(20)
    }

    /// How many groups the pattern has, group 0 (the whole match) not counted.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The number of a named group.
    pub fn group_named(&self, name: &str) -> Option<usize> {
        self.names.iter().find(|(other, _)| other == name).map(|(_, index)| *index)
    }

    /// Makes it one that machines share: none of them pays for the engines that another needed.
    pub(crate) fn share(&mut self) {
        self.shared = true;
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        if self.shared {
            return size_of::<Matcher>() + self.size;
        }
        // The node's bytes are its size; what searches work in is bounded apart from patterns (`linear.rs`).
        let Matcher {
            node: _,
            traits: _,
            names,
            groups: _,
            size,
            scan,
            regular: _,
            linear,
            whole,
            program,
            made: _,
            shared: _,
        } = self;
        let engine = |engine: &OnceLock<Option<linear::Linear>>| {
            engine.get().and_then(Option::as_ref).map_or(0, linear::Linear::bytes)
        };
        let names: usize = names.iter().map(|name| size_of_val(name) + name.0.len()).sum();
        let program = program.get().map_or(0, program::Program::bytes);
        let scan = scan.as_ref().map_or(0, scan::Scan::bytes);
        size_of::<Matcher>() + names + size + scan + engine(linear) + engine(whole) + program
    }

    /// Bytes of engines made since the last call: a search may make one, which stays with the pattern.
    pub(crate) fn take_made(&self) -> usize {
        let made = if self.shared { 0 } else { self.made.load(Ordering::Relaxed) };
        if made > 0 {
            self.made.store(0, Ordering::Relaxed);
        }
        made
    }

    fn linear(&self) -> Option<&linear::Linear> {
        self.linear.get_or_init(|| self.make_linear(false)).as_ref()
    }

    fn whole(&self) -> Option<&linear::Linear> {
        self.whole.get_or_init(|| self.make_linear(true)).as_ref()
    }

    fn make_linear(&self, whole: bool) -> Option<linear::Linear> {
        let made = if self.regular { linear::Linear::new(&self.node, whole) } else { None };
        self.note_made(made.as_ref().map_or(0, linear::Linear::bytes));
        made
    }

    fn program(&self) -> &program::Program {
        self.program.get_or_init(|| {
            let made = program::Program::new(&self.node, self.groups);
            self.note_made(made.bytes());
            made
        })
    }

    fn note_made(&self, bytes: usize) {
        self.made.fetch_add(bytes, Ordering::Relaxed);
    }
}
