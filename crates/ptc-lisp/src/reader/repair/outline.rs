//! The outline of a text: its delimiters and how its lines are indented, balanced or not.

use crate::reader::ReadLimits;
use crate::reader::lex::{Lexer, Token};
use crate::span::Span;

/// A token as far as nesting and indentation are concerned.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutlineToken {
    pub(super) kind: MarkKind,
    pub(super) span: Span,
    /// 1-based, in characters.
    pub(super) column: u32,
    /// Whether it is the first token of its line.
    pub(super) begins_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MarkKind {
    /// An opening delimiter and the closer it needs.
    Open(char),
    Close(char),
    Prefix,
    Atom,
}

impl OutlineToken {
    pub(super) fn text<'a>(&self, source: &'a str) -> &'a str {
        &source[self.span.start as usize..self.span.end as usize]
    }

    pub(super) fn closer(&self) -> Option<char> {
        match self.kind {
            MarkKind::Close(closer) => Some(closer),
            _ => None,
        }
    }
}

/// Longer texts are not repaired: nobody indents them by hand, and an outline takes more room than its text.
const MOST_MARKS: usize = 100_000;

/// The outline of `source`; `None` if something other than the nesting is wrong with it, or it is very long.
pub(super) fn outline(source: &str, limits: &ReadLimits) -> Option<Vec<OutlineToken>> {
    let mut lexer = Lexer::new(source, limits);
    let mut place = LinePosition { column: 1, fresh: true };
    let mut marks = Vec::new();
    let mut done = 0;
    while let Some((token, span)) = lexer.next().ok()? {
        if marks.len() == MOST_MARKS {
            return None;
        }
        let (start, end) = (span.start as usize, span.end as usize);
        place.pass(&source[done..start]);
        let kind = match token {
            Token::Open(shape) => MarkKind::Open(shape.closer()),
            Token::Close(closer) => MarkKind::Close(closer),
            Token::Prefix(_) => MarkKind::Prefix,
            Token::Atom(_) => MarkKind::Atom,
        };
        marks.push(OutlineToken { kind, span, column: place.column, begins_line: place.fresh });
        place.pass(&source[start..end]);
        place.fresh = false;
        done = end;
    }
    Some(marks)
}

/// Splits an outline where a line begins a new top-level form, judged by indentation alone: no
/// further right than the first form of the text.
pub(super) fn chunks(marks: &[OutlineToken]) -> Vec<&[OutlineToken]> {
    let base = marks.first().map_or(1, |mark| mark.column);
    let mut chunks = Vec::new();
    let mut rest = marks;
    while !rest.is_empty() {
        let starts = |mark: &OutlineToken| mark.begins_line && mark.closer().is_none() && mark.column <= base;
        let end = rest.iter().skip(1).position(starts).map_or(rest.len(), |at| at + 1);
        let (chunk, later) = rest.split_at(end);
        chunks.push(chunk);
        rest = later;
    }
    chunks
}

/// Whether every delimiter has its partner.
pub(super) fn is_balanced(marks: &[OutlineToken]) -> bool {
    let mut open = Vec::new();
    for mark in marks {
        match mark.kind {
            MarkKind::Open(closer) => open.push(closer),
            MarkKind::Close(closer) if open.pop() != Some(closer) => return false,
            _ => {}
        }
    }
    open.is_empty()
}

/// Where the walk over the text is in its line.
struct LinePosition {
    column: u32,
    /// Whether no token stood on this line yet.
    fresh: bool,
}

impl LinePosition {
    fn pass(&mut self, text: &str) {
        for c in text.chars() {
            if c == '\n' {
                *self = LinePosition { column: 1, fresh: true };
            } else {
                self.column += 1;
            }
        }
    }
}
