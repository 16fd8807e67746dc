//! The linear engine: regular patterns, handed to `regex-automata` as its own kind of tree.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use regex_automata::hybrid::{dfa, regex as lazy};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Input, MatchKind, PatternID, meta};
use regex_syntax::hir::{Capture, Class, Hir, Look, Repetition};

use super::MatchSpan;
use super::node::{Assert, Mode, PatternNode};

/// The largest automaton that is made, and the most that is remembered of it while it runs.
const SIZE_LIMIT: usize = 1 << 20;
const CACHE_LIMIT: usize = 1 << 18;

/// A pattern compiled for the linear engine.
#[derive(Debug)]
pub(super) struct Linear {
    regex: meta::Regex,
    /// Whether a match is one of the whole text.
    whole: bool,
    /// Searches that end by themselves where they would take too long, made when they are first needed.
    guarded: OnceLock<Option<Box<lazy::Regex>>>,
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
        let hir = bounded(node, whole)?;
        let config = meta::Config::new()
            .nfa_size_limit(Some(SIZE_LIMIT))
            .onepass_size_limit(Some(CACHE_LIMIT))
            .hybrid_cache_capacity(CACHE_LIMIT);
        let regex = meta::Builder::new().configure(config).build_from_hir(&hir).ok()?;
        let bytes_per_unit = (64 * 1024 / regex.memory_usage().max(1)).clamp(1, 8);
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Some(Linear { regex, whole, guarded: OnceLock::new(), number, bytes_per_unit })
    }

    pub(super) fn bytes(&self) -> usize {
        let guarded = self.guarded.get().and_then(Option::as_ref).map_or(0, |guarded| taken(guarded));
        self.regex.memory_usage() + guarded
    }

    /// Steps that a search of so many bytes takes at worst: where its automaton has too many states to be kept, the library
    /// follows every part of the pattern at every byte.
    pub(super) fn steps(&self, bytes: usize) -> usize {
        const PART_BYTES: usize = 32;
        (self.regex.memory_usage() / PART_BYTES).saturating_mul(bytes)
    }

    /// Searches of its pattern that end by themselves, and the bytes that were taken if they were made just now.
    pub(super) fn guarded(&self, node: &PatternNode) -> (Option<&lazy::Regex>, usize) {
        let was_made = self.guarded.get().is_some();
        let make = || bounded(node, self.whole).and_then(|tree| guarded(&tree)).map(Box::new);
        let guarded = self.guarded.get_or_init(make).as_deref();
        (guarded, guarded.filter(|_| !was_made).map_or(0, taken))
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

/// Bytes of a search that gives up; what it works in is not its own.
fn taken(guarded: &lazy::Regex) -> usize {
    guarded.forward().get_nfa().memory_usage() + guarded.reverse().get_nfa().memory_usage()
}

/// The tree of a pattern, which begins and ends with the text if a match is one of the whole text.
fn bounded(node: &PatternNode, whole: bool) -> Option<Hir> {
    let tree = tree(node)?;
    Some(if whole { Hir::concat(vec![Hir::look(Look::Start), tree, Hir::look(Look::End)]) } else { tree })
}

/// A search that gives up where it has to make states of its automaton again and again, which takes time for each part of
/// the pattern: what it made must last for as many bytes as there are parts, but for a constant.
fn guarded(tree: &Hir) -> Option<lazy::Regex> {
    let compiled = |reverse| {
        let captures = WhichCaptures::None;
        let config = thompson::Config::new()
            .reverse(reverse)
            .which_captures(captures)
            .nfa_size_limit(Some(SIZE_LIMIT));
        thompson::Compiler::new().configure(config).build_from_hir(tree).ok()
    };
    let automaton = |reverse, kind| {
        let nfa = compiled(reverse)?;
        let lasting = (nfa.states().len() / 16).max(10);
        let config = dfa::Config::new()
            .match_kind(kind)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_LIMIT)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(super::search::GIVEN_UP_AFTER))
            .minimum_bytes_per_state(Some(lasting));
        dfa::Builder::new().configure(config).build_from_nfa(nfa).ok()
    };
    let (forward, reverse) = (automaton(false, MatchKind::LeftmostFirst)?, automaton(true, MatchKind::All)?);
    Some(lazy::Builder::new().build_from_dfas(forward, reverse))
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
