//! The linear engine: regular patterns, handed to `regex-automata` as its own kind of tree.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Input, PatternID, meta};
use regex_syntax::hir::{Capture, Class, Hir, Look, Repetition};

use super::MatchSpan;
use super::node::{Assert, Mode, PatternNode};

/// A pattern compiled for the linear engine.
#[derive(Debug)]
pub(super) struct Linear {
    regex: meta::Regex,
    /// Tells it from all others of the process.
    number: u64,
    /// How many bytes of text one unit of work pays for: fewer for larger patterns, since in the worst
    /// case every part of the pattern is tried on every byte.
    pub(super) bytes_per_unit: usize,
}

impl Linear {
    /// Compiles a pattern, `None` if it is not regular or too large. `whole` asks for a match of the
    /// whole text.
    pub(super) fn new(node: &PatternNode, whole: bool) -> Option<Linear> {
        const SIZE_LIMIT: usize = 1 << 20;
        const CACHE_LIMIT: usize = 1 << 18;
        let mut hir = tree(node)?;
        if whole {
            hir = Hir::concat(vec![Hir::look(Look::Start), hir, Hir::look(Look::End)]);
        }
        let config = meta::Config::new()
            .nfa_size_limit(Some(SIZE_LIMIT))
            .onepass_size_limit(Some(CACHE_LIMIT))
            .hybrid_cache_capacity(CACHE_LIMIT);
        let regex = meta::Builder::new().configure(config).build_from_hir(&hir).ok()?;
        let bytes_per_unit = (64 * 1024 / regex.memory_usage().max(1)).clamp(1, 8);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Linear { regex, number, bytes_per_unit })
    }

    pub(super) fn bytes(&self) -> usize {
        self.regex.memory_usage()
    }

    /// The first match.
    pub(super) fn search(&self, input: &Input<'_>) -> Option<MatchSpan> {
        self.with_cache(|cache| self.regex.search_with(cache, input)).map(|found| found.range())
    }

    /// The first match with its groups.
    pub(super) fn search_slots(
        &self,
        input: &Input<'_>,
        slots: &mut [Option<NonMaxUsize>],
    ) -> Option<PatternID> {
        self.with_cache(|cache| self.regex.search_slots_with(cache, input, slots))
    }

    /// Lends a search what it works in, as the last one left it if that is still there.
    fn with_cache<T>(&self, search: impl FnOnce(&mut meta::Cache) -> T) -> T {
        let kept = CACHES.with_borrow_mut(|caches| {
            let at = caches.iter().position(|(number, _)| *number == self.number)?;
            Some(caches.remove(at))
        });
        let (number, mut cache) = kept.unwrap_or_else(|| (self.number, self.regex.create_cache()));
        let found = search(&mut cache);
        if cache.memory_usage() <= LARGEST_CACHE {
            CACHES.with_borrow_mut(|caches| {
                caches.truncate(CACHES_KEPT - 1);
                caches.insert(0, (number, cache));
            });
        }
        found
    }
}

/// Searches work in caches that grow with the pattern and the text. They belong to the thread and not to patterns,
/// of which a program may have thousands: so they are few and small, and no program's memory.
const CACHES_KEPT: usize = 4;
const LARGEST_CACHE: usize = 1 << 20;

thread_local! {
    /// The caches used last, latest first, by the number of their pattern.
    static CACHES: RefCell<Vec<(u64, meta::Cache)>> = const { RefCell::new(Vec::new()) };
}

/// Whether this engine can run a pattern.
pub(super) fn is_regular(node: &PatternNode) -> bool {
    let here = match node {
        PatternNode::Atomic(_) | PatternNode::Look { .. } | PatternNode::Backref { .. } => false,
        PatternNode::Assert(Assert::SearchStart) | PatternNode::Repeat { mode: Mode::Possessive, .. } => {
            false
        }
        // The engines differ in what a group inside remembers of a last, empty round.
        PatternNode::Repeat { node, .. } => !(node.nullable() && node.has_group()),
        _ => true,
    };
    here && node.children().iter().all(is_regular)
}

/// The pattern as a tree of the library; `None` for what only the backtracking engine can do.
fn tree(node: &PatternNode) -> Option<Hir> {
    Some(match node {
        PatternNode::Empty => Hir::empty(),
        PatternNode::Char(c) => Hir::literal(c.encode_utf8(&mut [0; 4]).as_bytes()),
        PatternNode::Set(set) => Hir::class(Class::Unicode(set.ranges().clone())),
        PatternNode::Concat(nodes) => Hir::concat(nodes.iter().map(tree).collect::<Option<_>>()?),
        PatternNode::Alt(nodes) => Hir::alternation(nodes.iter().map(tree).collect::<Option<_>>()?),
        PatternNode::Repeat { node, min, max, mode } => Hir::repetition(Repetition {
            min: *min,
            max: *max,
            greedy: *mode == Mode::Greedy,
            sub: Box::new(tree(node)?),
        }),
        PatternNode::Group { index, node } => {
            let index = u32::try_from(*index).ok()?;
            Hir::capture(Capture { index, name: None, sub: Box::new(tree(node)?) })
        }
        PatternNode::Assert(place) => Hir::look(look(*place)?),
        PatternNode::Atomic(_) | PatternNode::Look { .. } | PatternNode::Backref { .. } => return None,
    })
}

/// The library's name for a place. Line anchors are near enough except for the texts that
/// [`super::search`] gives to the other engine.
fn look(place: Assert) -> Option<Look> {
    Some(match place {
        Assert::TextStart => Look::Start,
        Assert::TextEnd | Assert::LastLineEnd { .. } => Look::End,
        Assert::LineStart { unix: true } => Look::StartLF,
        Assert::LineStart { unix: false } => Look::StartCRLF,
        Assert::LineEnd { unix: true } => Look::EndLF,
        Assert::LineEnd { unix: false } => Look::EndCRLF,
        Assert::Word { negate: false } => Look::WordUnicode,
        Assert::Word { negate: true } => Look::WordUnicodeNegate,
        Assert::SearchStart => return None,
    })
}
