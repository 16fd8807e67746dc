//! The backtracking engine: everything Java's patterns can say, every step counted.
//!
//! It runs a program of [`Op`]s. Choices go on a stack of frames together with the old values
//! of whatever changes, so going back restores captures and counters exactly. Look-around and atomic
//! groups run their part of the program in a call of their own; the parser bounds how deep they nest.

use std::sync::LazyLock;

use super::class::{CharSet, escape};
use super::node::{Assert, Case, Mode};
use super::program::{One, PatternOp, Program};
use crate::interrupt::Interrupt;
use crate::value::ledger;

/// No position yet.
pub(super) const NONE: usize = usize::MAX;

/// Most frames on the stack.
const MAX_FRAMES: usize = 1 << 18;

/// What to go back to.
#[derive(Clone, Copy, Debug)]
enum ChoicePoint {
    /// Go on at an op with a position.
    Branch { op: usize, at: usize },
    /// A greedy run: go on with one character less, down to `low`.
    Shrink { op: usize, low: usize, high: usize },
    /// A lazy run: go on with one character more, `left` times.
    Grow { op: usize, at: usize, left: u32 },
    /// Set a slot to what it was.
    Slot { slot: usize, old: usize },
    /// Set a counter to what it was.
    Counter { counter: usize, old: Counter },
}

/// A loop's rounds so far, and where the last one began.
#[derive(Clone, Copy, Debug)]
struct Counter {
    rounds: u32,
    begin: usize,
}

/// The search took too many steps or choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooComplex;

/// A search with this engine.
#[derive(Debug)]
pub(super) struct BacktrackState<'a> {
    program: &'a Program,
    text: &'a str,
    /// Where groups begin and end.
    pub(super) slots: Vec<usize>,
    counters: Vec<Counter>,
    frames: Vec<ChoicePoint>,
    /// Steps taken since [`State::begin`].
    pub(super) steps: u64,
    limit: u64,
    /// The steps after which the host is asked again, or the limit if that comes before.
    looks_up_at: u64,
    /// Where the previous match ended, for `\G`.
    previous: usize,
    whole: bool,
}

impl<'a> BacktrackState<'a> {
    pub(super) fn new(program: &'a Program, text: &'a str) -> BacktrackState<'a> {
        BacktrackState {
            program,
            text,
            slots: vec![NONE; program.slots],
            counters: vec![Counter { rounds: 0, begin: NONE }; program.counters],
            frames: Vec::new(),
            steps: 0,
            limit: 0,
            looks_up_at: 0,
            previous: 0,
            whole: false,
        }
    }

    /// Starts to count steps anew, up to a limit.
    pub(super) fn begin(&mut self, limit: u64) {
        self.steps = 0;
        self.limit = limit;
        self.looks_up_at = limit.min(Interrupt::FUEL);
    }

    /// The first match at or after `at`. `previous` is where the match before ended.
    pub(super) fn find(&mut self, at: usize, previous: usize) -> Result<bool, TooComplex> {
        self.whole = false;
        self.previous = previous;
        let mut at = at;
        loop {
            if let Some(first) = &self.program.first {
                let rest = self.text.as_bytes().get(at..).unwrap_or_default();
                let Some(skip) = rest.iter().position(|byte| first[usize::from(*byte)]) else {
                    self.count(rest.len() as u64 / 8)?;
                    return Ok(false);
                };
                self.count(skip as u64 / 8)?;
                at += skip;
            }
            if self.text.is_char_boundary(at) && self.attempt(at)? {
                return Ok(true);
            }
            if at >= self.text.len() {
                return Ok(false);
            }
            at += 1;
        }
    }

    /// Whether the whole text matches.
    pub(super) fn whole(&mut self) -> Result<bool, TooComplex> {
        self.whole = true;
        self.previous = 0;
        self.attempt(0)
    }

    fn attempt(&mut self, at: usize) -> Result<bool, TooComplex> {
        self.count(self.slots.len() as u64 / 16)?;
        self.slots.fill(NONE);
        self.frames.clear();
        let end = self.run(0, at, NONE)?;
        if let Some(end) = end {
            self.slots[0] = at;
            self.slots[1] = end;
        }
        Ok(end.is_some())
    }

    fn count(&mut self, steps: u64) -> Result<(), TooComplex> {
        self.steps += steps;
        if self.steps > self.looks_up_at { self.look_up() } else { Ok(()) }
    }

    /// Whether there may be more steps, which the host decides too where there are many.
    #[cold]
    fn look_up(&mut self) -> Result<(), TooComplex> {
        self.looks_up_at = self.limit.min(self.steps.saturating_add(Interrupt::FUEL));
        if self.steps > self.limit || !ledger::goes_on() { Err(TooComplex) } else { Ok(()) }
    }

    fn push(&mut self, frame: ChoicePoint) -> Result<(), TooComplex> {
        if self.frames.len() >= MAX_FRAMES {
            return Err(TooComplex);
        }
        self.frames.push(frame);
        Ok(())
    }

    fn char_at(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at)? {
            byte if byte.is_ascii() => Some(char::from(*byte)),
            _ => self.text.get(at..)?.chars().next(),
        }
    }

    fn char_before(&self, at: usize) -> Option<char> {
        self.text.get(..at)?.chars().next_back()
    }

    /// Runs from an op and a position to the end of the part. `end`, unless it is [`NONE`], is where the
    /// part must end. Leaves the frames of the part on the stack; none if it fails.
    fn run(&mut self, op: usize, at: usize, end: usize) -> Result<Option<usize>, TooComplex> {
        let base = self.frames.len();
        let (mut op, mut at) = (op, at);
        loop {
            self.count(1)?;
            let next = match &self.program.ops[op] {
                PatternOp::Match if self.whole && at != self.text.len() => None,
                PatternOp::Done if end != NONE && at != end => None,
                PatternOp::Match | PatternOp::Done => return Ok(Some(at)),
                _ => self.step(op, at)?,
            };
            match next.or_else(|| self.back(base)) {
                Some(next) => (op, at) = next,
                None => return Ok(None),
            }
        }
    }

    /// One op: where to go on, `None` if it does not match.
    fn step(&mut self, op: usize, at: usize) -> Result<Option<(usize, usize)>, TooComplex> {
        let program = self.program;
        Ok(match &program.ops[op] {
            PatternOp::Char(c) => {
                self.char_at(at).filter(|own| own == c).map(|c| (op + 1, at + c.len_utf8()))
            }
            PatternOp::Set(set) => {
                self.char_at(at).filter(|c| set.contains(*c)).map(|c| (op + 1, at + c.len_utf8()))
            }
            PatternOp::Run { one, min, max, mode } => self.run_of(op, at, one, (*min, *max), *mode)?,
            PatternOp::Split(first, second) => {
                self.push(ChoicePoint::Branch { op: *second, at })?;
                Some((*first, at))
            }
            PatternOp::Jump(target) => Some((*target, at)),
            PatternOp::Save(slot) => {
                self.set_slot(*slot, at)?;
                Some((op + 1, at))
            }
            PatternOp::Close { group, begun } => {
                self.set_slot(2 * group, self.slots[*begun])?;
                self.set_slot(2 * group + 1, at)?;
                Some((op + 1, at))
            }
            PatternOp::Assert(place) => self.stands(*place, at).then_some((op + 1, at)),
            PatternOp::Backref(group, case) => self.repeats(*group, *case, at)?.map(|at| (op + 1, at)),
            PatternOp::LoopInit(counter) => {
                self.set_counter(*counter, Counter { rounds: 0, begin: NONE })?;
                Some((op + 1, at))
            }
            PatternOp::LoopEnter(counter) => {
                let rounds = self.counters[*counter].rounds + 1;
                self.set_counter(*counter, Counter { rounds, begin: at })?;
                Some((op + 1, at))
            }
            PatternOp::LoopTest { counter, min, max, lazy, exit } => {
                let Counter { rounds, begin } = self.counters[*counter];
                if begin == at || max.is_some_and(|max| rounds >= max) {
                    Some((*exit, at))
                } else if rounds < *min {
                    Some((op + 1, at))
                } else {
                    let (first, second) = if *lazy { (*exit, op + 1) } else { (op + 1, *exit) };
                    self.push(ChoicePoint::Branch { op: second, at })?;
                    Some((first, at))
                }
            }
            PatternOp::Atomic { exit } => {
                let base = self.frames.len();
                let end = self.run(op + 1, at, NONE)?;
                self.cut(base);
                end.map(|at| (*exit, at))
            }
            PatternOp::Look { behind, negate, exit } => {
                let base = self.frames.len();
                let found = match behind {
                    None => self.run(op + 1, at, NONE)?.is_some(),
                    Some(widths) => self.look_behind(op + 1, at, *widths)?,
                };
                if *negate {
                    self.undo(base);
                } else {
                    self.cut(base);
                }
                (found != *negate).then_some((*exit, at))
            }
            PatternOp::Match | PatternOp::Done => None,
        })
    }

    fn set_slot(&mut self, slot: usize, at: usize) -> Result<(), TooComplex> {
        self.push(ChoicePoint::Slot { slot, old: self.slots[slot] })?;
        self.slots[slot] = at;
        Ok(())
    }

    fn set_counter(&mut self, counter: usize, new: Counter) -> Result<(), TooComplex> {
        let old = std::mem::replace(&mut self.counters[counter], new);
        self.push(ChoicePoint::Counter { counter, old })
    }

    fn run_of(
        &mut self,
        op: usize,
        at: usize,
        one: &One,
        (min, max): (u32, Option<u32>),
        mode: Mode,
    ) -> Result<Option<(usize, usize)>, TooComplex> {
        let most = if mode == Mode::Lazy { min } else { max.unwrap_or(u32::MAX) };
        let (mut end, mut low, mut taken) = (at, at, 0);
        while taken < most {
            let Some(c) = self.char_at(end).filter(|c| one.matches(*c)) else { break };
            end += c.len_utf8();
            taken += 1;
            if taken == min {
                low = end;
            }
        }
        self.count(u64::from(taken) / 4)?;
        if taken < min {
            return Ok(None);
        }
        match mode {
            Mode::Greedy if end > low => self.push(ChoicePoint::Shrink { op: op + 1, low, high: end })?,
            Mode::Lazy if max != Some(min) => {
                let left = max.map_or(u32::MAX, |max| max - min);
                self.push(ChoicePoint::Grow { op, at: end, left })?;
            }
            _ => {}
        }
        Ok(Some((op + 1, end)))
    }

    /// Goes back to the last choice of this part; `None` if there is none left.
    fn back(&mut self, base: usize) -> Option<(usize, usize)> {
        while self.frames.len() > base {
            match self.frames.pop()? {
                ChoicePoint::Branch { op, at } => return Some((op, at)),
                ChoicePoint::Slot { slot, old } => self.slots[slot] = old,
                ChoicePoint::Counter { counter, old } => self.counters[counter] = old,
                ChoicePoint::Shrink { op, low, high } => {
                    let high = high - self.char_before(high).map_or(1, char::len_utf8);
                    if high > low {
                        self.frames.push(ChoicePoint::Shrink { op, low, high });
                    }
                    return Some((op, high));
                }
                ChoicePoint::Grow { op, at, left } => {
                    let PatternOp::Run { one, .. } = &self.program.ops[op] else { continue };
                    let Some(c) = self.char_at(at).filter(|c| one.matches(*c)) else { continue };
                    let at = at + c.len_utf8();
                    if left > 1 {
                        self.frames.push(ChoicePoint::Grow { op, at, left: left - 1 });
                    }
                    return Some((op + 1, at));
                }
            }
        }
        None
    }

    /// Forgets the choices of a part that has matched, but not how to restore what it changed.
    fn cut(&mut self, base: usize) {
        let mut kept = base;
        for at in base..self.frames.len() {
            if matches!(self.frames[at], ChoicePoint::Slot { .. } | ChoicePoint::Counter { .. }) {
                self.frames[kept] = self.frames[at];
                kept += 1;
            }
        }
        self.frames.truncate(kept);
    }

    /// Forgets a part altogether.
    fn undo(&mut self, base: usize) {
        self.cut(base);
        while self.back(base).is_some() {}
    }

    fn look_behind(
        &mut self,
        op: usize,
        at: usize,
        (min, max): (usize, Option<usize>),
    ) -> Result<bool, TooComplex> {
        let mut start = at;
        for width in 0..=max.unwrap_or(usize::MAX) {
            self.count(1)?;
            if width >= min && self.run(op, start, at)?.is_some() {
                return Ok(true);
            }
            match self.char_before(start) {
                Some(c) => start -= c.len_utf8(),
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Where the text of a group ends if it stands here once more. A group that took no part never does.
    fn repeats(&mut self, group: usize, case: Case, at: usize) -> Result<Option<usize>, TooComplex> {
        let (from, to) = (self.slots[2 * group], self.slots[2 * group + 1]);
        let (Some(text), Some(rest)) = (self.text.get(from..to), self.text.get(at..)) else {
            return Ok(None);
        };
        if case == Case::Exact {
            self.count(text.len() as u64 / 8)?;
            return Ok(rest.starts_with(text).then(|| at + text.len()));
        }
        let mut chars = rest.chars();
        let mut end = at;
        for own in text.chars() {
            self.count(1)?;
            match chars.next().filter(|other| same_letter(own, *other, case)) {
                Some(other) => end += other.len_utf8(),
                None => return Ok(None),
            }
        }
        Ok(Some(end))
    }

    fn stands(&self, place: Assert, at: usize) -> bool {
        let len = self.text.len();
        match place {
            Assert::TextStart => at == 0,
            Assert::TextEnd => at == len,
            Assert::SearchStart => at == self.previous,
            Assert::LastLineEnd { unix } => at == len || (self.line_end(at, unix) && self.ends_with_line(at)),
            Assert::LineEnd { unix } => at == len || self.line_end(at, unix),
            Assert::LineStart { unix } => at < len && (at == 0 || self.after_line_end(at, unix)),
            Assert::Word { negate } => {
                let word = |c: Option<char>| c.is_some_and(is_word);
                (word(self.char_before(at)) != word(self.char_at(at))) != negate
            }
        }
    }

    /// Whether a line end begins here.
    fn line_end(&self, at: usize, unix: bool) -> bool {
        match self.char_at(at) {
            Some('\n') => unix || self.char_before(at) != Some('\r'),
            Some('\r' | '\u{85}' | '\u{2028}' | '\u{2029}') => !unix,
            _ => false,
        }
    }

    /// Whether the line end that begins here is all that is left.
    fn ends_with_line(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        rest == "\r\n" || rest.chars().nth(1).is_none()
    }

    /// Whether a line end ends here.
    fn after_line_end(&self, at: usize, unix: bool) -> bool {
        match self.char_before(at) {
            Some('\n') => true,
            Some('\r') => !unix && self.char_at(at) != Some('\n'),
            Some('\u{85}' | '\u{2028}' | '\u{2029}') => !unix,
            _ => false,
        }
    }
}

fn same_letter(a: char, b: char, case: Case) -> bool {
    match case {
        Case::Exact => a == b,
        Case::Ascii => a.eq_ignore_ascii_case(&b),
        Case::Unicode => {
            a == b || a.to_lowercase().eq(b.to_lowercase()) || a.to_uppercase().eq(b.to_uppercase())
        }
    }
}

fn is_word(c: char) -> bool {
    static WORD: LazyLock<Option<CharSet>> = LazyLock::new(|| escape('w', true).map(CharSet::new));
    c.is_ascii_alphanumeric() || c == '_' || WORD.as_ref().is_some_and(|set| set.contains(c))
}
