//! The engine for the simplest patterns: one character of a set, or a run of them (`,`, `\s+`, `\W+`).
//!
//! Texts are split at such patterns all the time; a loop over a table beats any general engine there.

use std::sync::Arc;

use super::MatchSpan;
use super::class::CharSet;
use super::node::{Mode, PatternNode};

/// A set of characters to look for.
#[derive(Debug)]
pub(super) struct Scan {
    /// What each byte that can begin a character says.
    bytes: Box<[Byte; 256]>,
    set: Arc<CharSet>,
    /// Whether a match goes on as long as it can.
    run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    /// The character is not in the set.
    Out,
    /// The character is in the set.
    In,
    /// The character must be looked at.
    Look,
}

impl Scan {
    pub(super) fn new(node: &PatternNode) -> Option<Scan> {
        let (set, run) = match node {
            PatternNode::Set(set) => (set, false),
            PatternNode::Repeat { node, min: 1, max: None, mode: Mode::Greedy | Mode::Possessive } => {
                match &**node {
                    PatternNode::Set(set) => (set, true),
                    _ => return None,
                }
            }
            _ => return None,
        };
        // Beyond ASCII a set mostly holds nothing or everything.
        let ranges = set.ranges().ranges();
        let wide = match ranges.last() {
            None => Byte::Out,
            Some(last) if last.end().is_ascii() => Byte::Out,
            Some(last) if last.end() == char::MAX && last.start() <= '\u{80}' => Byte::In,
            Some(_) => Byte::Look,
        };
        let mut bytes = Box::new([wide; 256]);
        for (at, byte) in bytes.iter_mut().enumerate().take(128) {
            *byte = if set.ascii() >> at & 1 == 1 { Byte::In } else { Byte::Out };
        }
        Some(Scan { bytes, set: set.clone(), run })
    }

    pub(super) fn bytes(&self) -> usize {
        256
    }

    /// The first match at or after `at`.
    pub(super) fn find(&self, text: &str, at: usize) -> Option<MatchSpan> {
        let bytes = text.as_bytes();
        let mut start = at;
        while !self.is_in(text, start)? {
            start += 1;
        }
        let mut end = next_boundary(bytes, start + 1);
        while self.run && self.is_in(text, end) == Some(true) {
            end = next_boundary(bytes, end + 1);
        }
        Some(start..end)
    }

    /// Whether a character of the set begins here; `None` at the end of the text.
    #[inline]
    fn is_in(&self, text: &str, at: usize) -> Option<bool> {
        let byte = *text.as_bytes().get(at)?;
        Some(match self.bytes[usize::from(byte)] {
            Byte::Out => false,
            Byte::In => byte.is_ascii() || text.is_char_boundary(at),
            Byte::Look => {
                text.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| self.set.contains(c))
            }
        })
    }
}

/// The first place from `at` on where a character begins.
fn next_boundary(bytes: &[u8], at: usize) -> usize {
    let inside = bytes.get(at..).unwrap_or_default().iter().take_while(|byte| **byte & 0xc0 == 0x80).count();
    at + inside
}
