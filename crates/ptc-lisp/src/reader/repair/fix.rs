//! A change of the text that balances it, and how to tell people about it.

use super::outline::OutlineToken;
use crate::reader::fault::abbreviate;
use crate::span::{Position, Span};

/// A change of the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fix {
    /// Places and what to write there instead, in order; never empty.
    edits: Vec<(Span, String)>,
    /// Whether nothing else could be meant.
    pub(super) certain: bool,
    /// Whether it stands at the end of its chunk.
    pub(super) ends_chunk: bool,
    /// How many closers the text already has at the place.
    found: usize,
}

impl Fix {
    fn new(edits: Vec<(Span, String)>) -> Self {
        Fix { edits, certain: true, ends_chunk: false, found: 0 }
    }

    /// Writes `text` in place of `span`.
    pub(super) fn replace(span: Span, text: char) -> Self {
        Fix::new(vec![(span, text.to_string())])
    }

    /// Writes `text` at `at`.
    pub(super) fn insert(at: u32, text: char) -> Self {
        Fix::replace(Span { start: at, end: at }, text)
    }

    /// The change that makes `closers`, which follow `before`, read as `expected`.
    pub(super) fn replacing(before: Span, closers: &[OutlineToken], expected: &[char]) -> Option<Self> {
        let same = |(mark, wanted): &(&OutlineToken, &char)| mark.closer() == Some(**wanted);
        let prefix = closers.iter().zip(expected).take_while(same).count();
        let (closers_left, expected_left) = (&closers[prefix..], &expected[prefix..]);
        let suffix = closers_left.iter().rev().zip(expected_left.iter().rev()).take_while(same).count();
        let wrong = &closers_left[..closers_left.len() - suffix];
        let wanted = &expected_left[..expected_left.len() - suffix];
        let edits = if wrong.is_empty() {
            let end = prefix.checked_sub(1).map_or(before, |last| closers[last].span).end;
            vec![(Span { start: end, end }, wanted.iter().collect())]
        } else if wanted.is_empty() || wanted.len() == wrong.len() {
            let texts = wanted.iter().map(char::to_string).chain(std::iter::repeat(String::new()));
            wrong.iter().map(|mark| mark.span).zip(texts).collect()
        } else {
            return None;
        };
        Some(Fix { found: closers.len(), ..Fix::new(edits) })
    }

    /// Whether it only adds delimiters.
    pub(super) fn inserts(&self) -> bool {
        self.edits.iter().all(|(span, _)| span.start == span.end)
    }

    /// Whether a text that ends here looks cut off rather than miscounted: more closers are missing than
    /// are there.
    pub(super) fn looks_cut_off(&self) -> bool {
        self.found < self.written().len()
    }

    /// Whether it only removes delimiters.
    pub(super) fn deletes(&self) -> bool {
        self.edits.iter().all(|(_, text)| text.is_empty())
    }

    /// Where the text changes.
    pub(super) fn span(&self) -> Span {
        self.edits.iter().map(|(span, _)| *span).reduce(Span::to).unwrap_or_default()
    }

    /// The text with the change made.
    pub(super) fn apply(&self, source: &str) -> String {
        let mut text = String::with_capacity(source.len() + self.edits.len());
        let mut done = 0;
        for (span, replacement) in &self.edits {
            text.push_str(&source[done..span.start as usize]);
            text.push_str(replacement);
            done = span.end as usize;
        }
        text.push_str(&source[done..]);
        text
    }

    fn written(&self) -> String {
        self.edits.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// What to do, as advice.
    pub(super) fn advice(&self, source: &str) -> String {
        let span = self.span();
        let Position { line, column } = Position::of(source, span.start);
        let written = abbreviate(&self.written());
        let replaced: String =
            self.edits.iter().map(|(span, _)| &source[span.start as usize..span.end as usize]).collect();
        let replaced = abbreviate(&replaced);
        if self.inserts() {
            let rest = source[span.end as usize..].lines().next().unwrap_or("").trim_start();
            return match rest.chars().next().filter(|c| *c != ';') {
                None => format!("add `{written}` at the end of line {line}"),
                Some(next) => format!("add `{written}` before the `{next}` at line {line}, column {column}"),
            };
        }
        if self.deletes() {
            return format!("remove the `{replaced}` at line {line}, column {column}");
        }
        format!("write `{written}` in place of the `{replaced}` at line {line}, column {column}")
    }

    /// What to say at the place of the change.
    pub(super) fn remark(&self) -> String {
        let written = abbreviate(&self.written());
        if self.inserts() {
            format!("`{written}` is missing here")
        } else if self.deletes() {
            "surplus".to_owned()
        } else {
            format!("should be `{written}`")
        }
    }
}
