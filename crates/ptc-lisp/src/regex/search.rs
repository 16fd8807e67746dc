//! Walking over the matches in a text, as Java's `Matcher` does.

use regex_automata::hybrid::regex as lazy;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input};

use super::Matcher;
use super::backtrack::{BacktrackState, NONE, TooComplex};
use super::linear::Linear;
use crate::error::{Error, ErrorKind};
use crate::value::ledger;

/// Where something stands in a text, in bytes.
pub type MatchSpan = std::ops::Range<usize>;

/// Steps that the backtracking engine may take on any text, and further ones per byte of it.
const STEPS: u64 = 1_000_000;
const STEPS_PER_BYTE: u64 = 64;

/// Steps that the linear engine may take at worst, about ten milliseconds, without being watched.
const UNGUARDED: usize = 1 << 22;
/// Steps that it may take and bytes that it may read behind a match, and bytes of states that it makes, for a unit of work.
const STEPS_PER_UNIT: u64 = 1 << 12;
const BYTES_AHEAD_PER_UNIT: u64 = 64;
const BYTES_MADE_PER_UNIT: usize = 16;
/// How often its states are emptied before it gives up.
pub(super) const GIVEN_UP_AFTER: usize = 3;

/// Up to this many bytes a text is short.
const SHORT: usize = 2_000;

/// A search for the matches of a pattern in a text.
#[derive(Debug)]
pub struct Search<'a> {
    matcher: &'a Matcher,
    text: &'a str,
    pub(super) engine: Engine,
    state: Option<BacktrackState<'a>>,
    slots: Vec<Option<NonMaxUsize>>,
    /// What a guarded search of the linear engine works in.
    cache: Option<Box<lazy::Cache>>,
    /// The last match.
    last: Option<MatchSpan>,
    /// Bytes that the linear engine may still read in vain; see [`Search::overdrawn`].
    credit: usize,
    /// Steps that it may still take without being watched.
    unguarded: usize,
    cost: u64,
}

/// The engine that is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    /// The linear engine.
    Linear,
    /// The backtracking engine, until it takes too long.
    Quick,
    /// The backtracking engine, whatever it takes.
    Backtracking,
}

impl<'a> Search<'a> {
    /// A search that has found nothing yet.
    pub fn new(matcher: &'a Matcher, text: &'a str) -> Search<'a> {
        let engine = match (matcher.regular, text.len() <= SHORT) {
            (false, _) => Engine::Backtracking,
            (true, _) if means_more(matcher, text) => Engine::Backtracking,
            (true, true) => Engine::Quick,
            (true, false) => Engine::Linear,
        };
        let credit = (1 << 20) + 64 * text.len();
        // Whoever asks for lines has the text looked through for their ends.
        let lines = if matcher.traits.lines { text.len() as u64 / 32 } else { 0 };
        Search {
            matcher,
            text,
            engine,
            state: None,
            slots: Vec::new(),
            cache: None,
            last: None,
            credit,
            unguarded: UNGUARDED,
            cost: 1 + lines,
        }
    }

    /// Units of work done since the last call; the caller charges for them.
    pub fn take_cost(&mut self) -> usize {
        usize::try_from(std::mem::take(&mut self.cost)).unwrap_or(usize::MAX)
    }

    /// Bytes of engines made since the last call; they stay with the pattern, and the caller counts them.
    pub fn take_made(&mut self) -> usize {
        self.matcher.take_made()
    }

    /// Finds the next match. The search goes on where the last match ended, one character further if
    /// that was empty. Groups are only known afterwards if `groups` is set.
    pub fn next(&mut self, groups: bool) -> Result<Option<MatchSpan>, Error> {
        let previous = self.last.as_ref().map_or(0, |last| last.end);
        let at = match &self.last {
            Some(last) if last.is_empty() => match self.text[previous..].chars().next() {
                Some(c) => previous + c.len_utf8(),
                None => return Ok(None),
            },
            _ => previous,
        };
        self.last = self.find(at, previous, groups)?;
        Ok(self.last.clone())
    }

    /// Goes on after a match that an earlier search has found.
    pub fn resume(&mut self, last: Option<MatchSpan>) {
        self.last = last;
    }

    /// Whether the whole text matches; groups are known then.
    pub fn whole(&mut self) -> Result<bool, Error> {
        let found = self.backtracking(BacktrackState::whole)?;
        self.last = match found {
            Some(found) => found.then_some(0..self.text.len()),
            None => match self.matcher.whole().and_then(|linear| self.find_linear(linear, 0, true)) {
                Some(found) => found,
                None => self.insist(BacktrackState::whole)?.then_some(0..self.text.len()),
            },
        };
        Ok(self.last.is_some())
    }

    /// Where a group stood in the last match.
    pub fn group(&self, index: usize) -> Option<MatchSpan> {
        if let Some(state) = &self.state {
            let at = |slot: usize| state.slots.get(slot).copied().filter(|at| *at != NONE);
            return Some(at(2 * index)?..at(2 * index + 1)?);
        }
        if index == 0 {
            return self.last.clone();
        }
        let at = |slot: usize| self.slots.get(slot).copied().flatten().map(NonMaxUsize::get);
        Some(at(2 * index)?..at(2 * index + 1)?)
    }

    /// The text of a group in the last match.
    pub fn group_text(&self, index: usize) -> Option<&'a str> {
        self.text.get(self.group(index)?)
    }

    fn find(&mut self, at: usize, previous: usize, groups: bool) -> Result<Option<MatchSpan>, Error> {
        if at > self.text.len() {
            return Ok(None);
        }
        if let Some(scan) = &self.matcher.scan {
            let found = scan.find(self.text, at);
            let read = found.as_ref().map_or(self.text.len(), |found| found.end) - at;
            self.cost += 1 + read as u64 / 8;
            return Ok(found);
        }
        let search = |state: &mut BacktrackState<'a>| state.find(at, previous);
        let mut found = self.backtracking(search)?;
        if found.is_none() {
            let linear = self.matcher.linear().filter(|_| !self.overdrawn(at));
            if let Some(found) = linear.and_then(|linear| self.find_linear(linear, at, groups)) {
                return Ok(found);
            }
            self.engine = Engine::Backtracking;
            found = Some(self.insist(search)?);
        }
        Ok(if found == Some(true) { self.group(0) } else { None })
    }

    /// A pattern such as `a.*z|a` reads to the end of the text for every `a` it finds. Only so much of
    /// that is allowed before the other engine, which counts its steps, takes over.
    fn overdrawn(&mut self, at: usize) -> bool {
        if !self.matcher.traits.overruns {
            return false;
        }
        let ahead = self.text.len() - at;
        let overdrawn = ahead > self.credit;
        self.credit = self.credit.saturating_sub(ahead);
        overdrawn
    }

    /// Searches with the linear engine; `None` if it gives up.
    fn find_linear(&mut self, linear: &Linear, at: usize, groups: bool) -> Option<Option<MatchSpan>> {
        let groups = groups && self.matcher.groups > 0;
        let ahead = self.text.len() - at;
        let input = Input::new(self.text).range(at..).anchored(Anchored::No);
        let steps = linear.steps(ahead);
        let mut unseen = ahead as u64 / BYTES_AHEAD_PER_UNIT;
        let found = if self.may_take(steps) {
            unseen = steps as u64 / STEPS_PER_UNIT;
            if groups { self.find_slots(linear, &input) } else { linear.search(&input) }
        } else {
            match self.find_guarded(linear, &input)? {
                Some(span) if groups && !self.may_take(linear.steps(span.len())) => return None,
                Some(span) if groups => self.find_slots(linear, &input.anchored(Anchored::Yes).range(span)),
                found => found,
            }
        };
        let read = found.as_ref().map_or(self.text.len(), |found| found.end) - at;
        self.cost += 1 + (read / linear.bytes_per_unit) as u64;
        if self.matcher.traits.overruns {
            // It may have read to the end of the text to find less.
            self.cost += unseen;
        }
        Some(found)
    }

    /// Whether the linear engine may take so many steps, at worst, without an eye on what they are. A pattern that reads no
    /// further than its matches reads a text once; for all others the steps of all searches count.
    fn may_take(&mut self, steps: usize) -> bool {
        let left = if self.matcher.traits.overruns { self.unguarded } else { UNGUARDED };
        let may = steps <= left;
        if may {
            self.unguarded = left - steps;
        }
        may
    }

    /// The first match with its groups.
    fn find_slots(&mut self, linear: &Linear, input: &Input<'_>) -> Option<MatchSpan> {
        self.slots.resize(2 * (self.matcher.groups + 1), None);
        self.slots.fill(None);
        // A search in vain has cost as much.
        linear.search_slots(input, &mut self.slots)?;
        let at = |slot: usize| self.slots[slot].map(NonMaxUsize::get);
        Some(at(0)?..at(1)?)
    }

    /// Searches for a match until that takes too long, which is `None`. What is made of the automaton is paid for: each of its
    /// states takes time for all parts of the pattern.
    fn find_guarded(&mut self, linear: &Linear, input: &Input<'_>) -> Option<Option<MatchSpan>> {
        let (guarded, made) = linear.guarded(&self.matcher.node);
        self.matcher.note_made(made);
        let guarded = guarded?;
        let cache = self.cache.get_or_insert_with(|| Box::new(guarded.create_cache()));
        let before = cache.memory_usage();
        let found = guarded.try_search(cache, input);
        // It is emptied where it is full, and a search that was given up has filled it several times.
        let filled = cache.memory_usage().checked_sub(before).unwrap_or(before);
        let times = if found.is_err() { GIVEN_UP_AFTER } else { 1 };
        self.cost += (filled * times / BYTES_MADE_PER_UNIT) as u64;
        Some(found.ok()?.map(|found| found.range()))
    }

    /// Searches with the backtracking engine, if it is at work; `None` if it is not, or gives up.
    fn backtracking(
        &mut self,
        search: impl FnOnce(&mut BacktrackState<'a>) -> Result<bool, TooComplex>,
    ) -> Result<Option<bool>, Error> {
        match self.engine {
            Engine::Linear => Ok(None),
            Engine::Backtracking => self.insist(search).map(Some),
            Engine::Quick => {
                let found = self.attempt(256 + 16 * self.text.len() as u64, search);
                if found.is_err() {
                    self.engine = Engine::Linear;
                    self.state = None;
                }
                Ok(found.ok())
            }
        }
    }

    /// Searches with the backtracking engine; taking too long is an error.
    fn insist(
        &mut self,
        search: impl FnOnce(&mut BacktrackState<'a>) -> Result<bool, TooComplex>,
    ) -> Result<bool, Error> {
        // Nobody pays for steps beyond the fuel that is left.
        let limit = (STEPS + STEPS_PER_BYTE * self.text.len() as u64).min(ledger::left().max(1));
        self.attempt(limit, search).map_err(|TooComplex| {
            let message = format!("matching took more than {limit} steps and was given up");
            let hint = "avoid nested repetition such as (a+)+ and look-around on long texts";
            Error::new(ErrorKind::Runtime, message).hint(hint)
        })
    }

    fn attempt(
        &mut self,
        limit: u64,
        search: impl FnOnce(&mut BacktrackState<'a>) -> Result<bool, TooComplex>,
    ) -> Result<bool, TooComplex> {
        let (matcher, text) = (self.matcher, self.text);
        let state = self.state.get_or_insert_with(|| BacktrackState::new(matcher.program(), text));
        state.begin(limit);
        let found = search(state);
        self.cost += state.steps;
        found
    }
}

/// Whether line anchors mean more in this text than the linear engine knows: lines may also end with
/// U+0085, U+2028 or U+2029, `$` also stands before a line end that ends the text, and `(?m)^` does not
/// stand after it, nor in an empty text.
fn means_more(matcher: &Matcher, text: &str) -> bool {
    let traits = matcher.traits;
    const RARE: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    (traits.line_start && text.is_empty())
        || ((traits.last_line_end || traits.line_start)
            && text.ends_with(['\n', '\r', RARE[0], RARE[1], RARE[2]]))
        || (traits.lines && !text.is_ascii() && text.contains(RARE))
}
