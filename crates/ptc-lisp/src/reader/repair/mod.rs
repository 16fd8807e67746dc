//! Repair of unbalanced delimiters where nothing else can be meant.
//!
//! People and models indent by what they mean and then miscount the closers. So the closers between one
//! line and the next can be told from the columns: everything that was opened at or to the right of where
//! the next line begins is over. If that rule and the text disagree at one single place, the mistake is
//! there. If they disagree at more places, the indentation cannot be trusted and nothing is repaired.
//! Whether the place within the line is certain is up to `plausible`; if it is not, the repair is only
//! mentioned as advice.

mod fix;
mod outline;
mod plausible;

use super::ReadLimits;
use super::build;
use super::fault::Failure;
use crate::error::Error;
use crate::span::Span;
use fix::Fix;
use outline::{MarkKind, OutlineToken, chunks, is_balanced, outline};
use plausible::OpenDelimiter;

/// From this length on a run of closers is more easily miscounted than a closer inside the line forgotten.
const LONG_RUN: usize = 5;

/// The error of a failure, with what can be said about its repair.
pub(super) fn explain(failure: Failure, source: &str, limits: &ReadLimits) -> Error {
    let Failure { mut error, unbalanced, .. } = failure;
    if !unbalanced {
        return error;
    }
    let Some(fix) = find(source, limits) else { return error };
    let repaired = fix.apply(source);
    if build::read(&repaired, limits, usize::MAX).is_err() {
        return error;
    }
    let advice = fix.advice(source);
    if fix.certain {
        error.notes.push((fix.span(), fix.remark()));
        error.hint = Some(advice);
        error.repaired = Some(repaired);
    } else {
        error.hint = Some(format!("perhaps {advice}"));
    }
    error
}

fn find(source: &str, limits: &ReadLimits) -> Option<Fix> {
    let marks = outline(source, limits)?;
    let chunks = chunks(&marks);
    let mut broken = chunks.iter().enumerate().filter(|(_, chunk)| !is_balanced(chunk));
    let (Some((index, chunk)), None) = (broken.next(), broken.next()) else { return None };
    let strict = agreed(source, chunk, Reading::Strict);
    let mut fix = strict.or_else(|| agreed(source, chunk, Reading::Tolerant).filter(|fix| !fix.deletes()))?;
    if fix.inserts() && fix.ends_chunk {
        let has_lines = |chunk: &&[OutlineToken]| {
            chunk.iter().skip(1).any(|mark| mark.begins_line && mark.closer().is_none())
        };
        let one_line = !has_lines(chunk);
        let is_last = index + 1 == chunks.len();
        if one_line || is_last {
            fix.certain &= !fix.looks_cut_off();
        }
        if one_line && !is_last {
            // The next line could be the rest of this form, if the author does not indent.
            fix.certain &= chunks.iter().any(has_lines) || head(source, chunk) == Some("def");
        }
    }
    Some(fix)
}

fn head<'a>(source: &'a str, chunk: &[OutlineToken]) -> Option<&'a str> {
    chunk.get(1).map(|mark| mark.text(source))
}

/// How closely the text must follow its indentation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    /// Closers stand exactly where indentation asks for them.
    Strict,
    /// A form may be over although the next line stands to the right of it, as in a `cond` with
    /// results set deeper than their tests.
    Tolerant,
}

/// What to do about a wrong closer in the middle of a line, where indentation says nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Inline {
    Replace,
    InsertBefore,
}

/// The fix of a chunk, if only one works.
fn agreed(source: &str, chunk: &[OutlineToken], reading: Reading) -> Option<Fix> {
    let [replaced, inserted] = [Inline::Replace, Inline::InsertBefore]
        .map(|inline| RepairWalk::new(source, reading, inline).run(chunk));
    match (replaced, inserted) {
        (Some(fix), Some(other)) => (fix == other).then_some(fix),
        (fix, other) => fix.or(other),
    }
}

/// A walk over one chunk that collects the single fix it needs, and gives up if it needs two.
struct RepairWalk<'a> {
    source: &'a str,
    reading: Reading,
    inline: Inline,
    line: u32,
    open: Vec<OpenDelimiter<'a>>,
    /// Whether a top-level form of the chunk was already complete.
    emptied: bool,
    /// Whether several closers stand together in the middle of this line: the surplus one may be there.
    crowded: bool,
    /// Whether a form ended in the middle of a line where it should not: the surplus closer may be there.
    suspect: bool,
    fix: Option<Fix>,
}

impl<'a> RepairWalk<'a> {
    fn new(source: &'a str, reading: Reading, inline: Inline) -> Self {
        let (emptied, crowded, suspect) = (false, false, false);
        RepairWalk {
            source,
            reading,
            inline,
            line: 0,
            open: Vec::new(),
            emptied,
            crowded,
            suspect,
            fix: None,
        }
    }

    fn run(mut self, chunk: &[OutlineToken]) -> Option<Fix> {
        let mut at = 0;
        while at < chunk.len() {
            self.enter(&chunk[at]);
            let run = chunk[at + 1..].iter().take_while(|mark| mark.closer().is_some()).count();
            let (closers, next) = (&chunk[at + 1..=at + run], chunk.get(at + 1 + run));
            match next {
                Some(next) if !next.begins_line => self.inline(closers)?,
                _ => self.line_end(chunk[at].span, closers, next.map(|next| next.column))?,
            }
            at += 1 + run;
        }
        self.fix
    }

    fn enter(&mut self, mark: &OutlineToken) {
        if mark.begins_line {
            self.line += 1;
            self.crowded = false;
        }
        let word = (mark.kind == MarkKind::Atom).then(|| mark.text(self.source));
        if let Some(parent) = self.open.last_mut()
            && mark.kind != MarkKind::Prefix
        {
            parent.add(word);
        }
        if let MarkKind::Open(closer) = mark.kind {
            let open = OpenDelimiter::new(closer, mark.column, self.line, self.open.last());
            self.open.push(open);
        }
    }

    /// Closers between two lines; `next` is the column where the next line begins.
    fn line_end(&mut self, before: Span, closers: &[OutlineToken], next: Option<u32>) -> Option<()> {
        let over = match next {
            Some(column) => self.open.iter().rev().take_while(|open| open.column >= column).count(),
            None => self.open.len(),
        };
        let count = match self.reading {
            Reading::Strict => over,
            Reading::Tolerant => closers.len().clamp(over, self.open.len()),
        };
        let ending = self.open.split_off(self.open.len() - count);
        let expected: Vec<char> = ending.iter().rev().map(|open| open.closer).collect();
        if !closers.iter().filter_map(OutlineToken::closer).eq(expected.iter().copied()) {
            let mut fix = Fix::replacing(before, closers, &expected)?;
            fix.ends_chunk = next.is_none();
            fix.certain = self.is_certain(&fix, &ending);
            self.record(fix)?;
        }
        self.emptied |= self.open.is_empty();
        Some(())
    }

    /// Whether a fix between two lines leaves no other place for the mistake.
    fn is_certain(&self, fix: &Fix, ending: &[OpenDelimiter<'_>]) -> bool {
        let plausible = ending.iter().all(OpenDelimiter::is_plausible);
        if fix.inserts() {
            let is_loose = |open: &OpenDelimiter<'_>| open.line == self.line && open.could_be_shorter();
            plausible && (ending.len() >= LONG_RUN || !ending.iter().any(is_loose))
        } else if fix.deletes() {
            plausible && !ending.is_empty() && !self.emptied && !self.crowded && !self.suspect
        } else {
            true
        }
    }

    /// Closers in the middle of a line.
    fn inline(&mut self, closers: &[OutlineToken]) -> Option<()> {
        self.crowded |= closers.len() > 1;
        for mark in closers {
            let found = mark.closer()?;
            let top = self.open.pop()?;
            self.suspect |= top.line < self.line || !top.is_plausible();
            if top.closer != found {
                let fix = match self.inline {
                    Inline::Replace => Fix::replace(mark.span, top.closer),
                    Inline::InsertBefore if self.open.pop()?.closer == found => {
                        let mut fix = Fix::insert(mark.span.start, top.closer);
                        fix.certain = top.is_plausible() && !top.could_be_shorter();
                        fix
                    }
                    Inline::InsertBefore => return None,
                };
                self.record(fix)?;
            }
            self.emptied |= self.open.is_empty();
        }
        Some(())
    }

    /// Keeps the fix, unless there is one already.
    fn record(&mut self, fix: Fix) -> Option<()> {
        self.fix.replace(fix).is_none().then_some(())
    }
}
