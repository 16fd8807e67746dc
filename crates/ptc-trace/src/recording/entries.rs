//! The tape of a recording that was read. Each entry stays the line that it stands on and is read again when somebody
//! looks at it: as values, lines of numbers take forty times the memory of their text, and a recording may be anybody's.

use std::collections::{BTreeMap, BTreeSet};

use ptc_agent::tape::{Entry, Given, Question};

use super::{Line, hash};

/// The entries of a tape, in their order.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    lines: Vec<Box<[u8]>>,
    /// Which of them ask for something.
    asks: Vec<usize>,
    /// Where questions are answered, by their numbers.
    answers: BTreeMap<u64, usize>,
    /// Questions whose answers are not those that were recorded.
    changed: BTreeSet<u64>,
}

/// A call of a run: what it asked of a model or a tool, and what it got.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its number, from 1, in the order of asking.
    pub number: usize,
    /// What was asked.
    pub question: Question,
    /// What was answered, if anything.
    pub given: Option<Given>,
}

impl Entries {
    /// Takes the entry of a line, with the hash that the line says its answer has.
    pub(super) fn push(&mut self, line: &[u8], entry: &Entry, sha256: Option<&str>) {
        let at = self.lines.len();
        match entry {
            Entry::Ask(_) | Entry::Again(_) => self.asks.push(at),
            Entry::Answer { id, given, .. } => {
                self.answers.insert(*id, at);
                if sha256 == Some(&hash(given)) {
                    self.changed.remove(id);
                } else {
                    self.changed.insert(*id);
                }
            }
            _ => {}
        }
        self.lines.push(line.into());
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// An entry.
    pub fn get(&self, at: usize) -> Option<Entry> {
        match serde_json::from_slice(self.lines.get(at)?).ok()? {
            Line::Tape(entry) | Line::Answer { entry, .. } => Some(entry),
            Line::Head(_) | Line::Cut(_) | Line::End(_) => None,
        }
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// How many calls there are.
    pub(super) fn asked(&self) -> usize {
        self.asks.len()
    }

    /// A call, by its number.
    pub(super) fn call(&self, number: usize) -> Option<Call> {
        let (Entry::Ask(question) | Entry::Again(question)) =
            self.get(*self.asks.get(number.checked_sub(1)?)?)?
        else {
            return None;
        };
        let given = self.given(question.id);
        Some(Call { number, question, given })
    }

    /// What was answered to a question.
    pub(super) fn given(&self, id: u64) -> Option<Given> {
        match self.get(*self.answers.get(&id)?)? {
            Entry::Answer { given, .. } => Some(given),
            _ => None,
        }
    }

    /// The first call whose answer is not the one that was recorded.
    pub(super) fn changed(&self) -> Option<Call> {
        let first = |at: &usize| self.get(*at).is_some_and(|entry| self.is_changed(&entry));
        let at = if self.changed.is_empty() { None } else { self.asks.iter().position(first) };
        self.call(at? + 1)
    }

    fn is_changed(&self, entry: &Entry) -> bool {
        matches!(entry, Entry::Ask(asked) | Entry::Again(asked) if self.changed.contains(&asked.id))
    }
}
