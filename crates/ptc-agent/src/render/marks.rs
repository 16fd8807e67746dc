//! Marks of hidden values, by which very many of them are known again: a hash of how each begins, and how long it is. A mark
//! never misses its value. What begins alike is covered too, which is why the first values of a run are kept as they are
//! ([`Veil`](super::Veil)), and only those behind them have nothing but marks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::FIREWALLED;
use super::beginning::enclosed;

/// Most marks of a run, some 30 MB of them. What brings more hidden values is refused.
const MOST: usize = 2 << 20;
/// Hidden texts and numbers have as many characters at least: these tell most places where none begins.
const FIRST: usize = super::veil::SHORTEST;
/// Characters of a shown collection that are looked at.
const NEAR: usize = 160;

/// The bits of a mark: those of the first characters, below them those of the whole beginning, and the length.
const FIRST_BITS: u32 = 24;
const REST_BITS: u32 = 64 - FIRST_BITS - LENGTH_BITS;
const LENGTH_BITS: u32 = 12;
/// The greatest length that is told from others.
const LONGEST: u64 = (1 << LENGTH_BITS) - 1;

/// What a mark is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkKind {
    Text,
    Number,
    Collection,
}

impl MarkKind {
    /// By so many characters one is known.
    fn enough(self) -> usize {
        match self {
            MarkKind::Text => 16,
            MarkKind::Number | MarkKind::Collection => 32,
        }
    }
}

/// The marks of a run.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    all: Arc<BTreeSet<u64>>,
    /// Which lengths beginnings have, a bit for each, by kind.
    lengths: [u64; 3],
    /// Which first characters there are, a bit for each; empty without marks.
    firsts: Arc<Vec<u64>>,
    most: usize,
    /// Values that had no room.
    lost: usize,
}

impl Default for Marks {
    fn default() -> Self {
        Marks::within(MOST)
    }
}

/// A hash over the first characters of a value.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    hash: u64,
    /// The hash when there were [`FIRST`] characters.
    first: u64,
    chars: usize,
}

impl Beginning {
    fn of(kind: MarkKind) -> Self {
        Beginning { hash: 0xcbf2_9ce4_8422_2325 ^ (kind as u64 + 1), first: 0, chars: 0 }
    }

    fn push(&mut self, c: char) {
        self.hash = (self.hash ^ u64::from(u32::from(c))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.hash ^= self.hash >> 29;
        self.chars += 1;
        if self.chars == FIRST {
            self.first = self.hash.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
    }

    /// The mark without a length.
    fn mark(&self) -> u64 {
        let first = self.first >> (64 - FIRST_BITS);
        let rest = self.hash.wrapping_mul(0x94d0_49bb_1331_11eb) >> (64 - REST_BITS);
        ((first << REST_BITS) | rest) << LENGTH_BITS
    }
}

impl Marks {
    /// No marks, and room for so many.
    fn within(most: usize) -> Self {
        Marks { all: Arc::default(), lengths: [0; 3], firsts: Arc::default(), most, lost: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many values had no room so far.
    pub fn lost(&self) -> usize {
        self.lost
    }

    /// Marks a text, as it is spelt where it is shown.
    pub fn text(&mut self, text: &str) {
        self.value(MarkKind::Text, text);
    }

    /// Marks a number.
    pub fn number(&mut self, digits: &str) {
        self.value(MarkKind::Number, digits);
    }

    /// Marks a collection, by what stands behind its bracket.
    pub fn collection(&mut self, opening: &str) {
        let kind = MarkKind::Collection;
        let mut beginning = Beginning::of(kind);
        words(opening).take(kind.enough()).for_each(|c| beginning.push(c));
        if beginning.chars > 0 {
            self.note(kind, &beginning, 0);
        }
    }

    fn value(&mut self, kind: MarkKind, text: &str) {
        let mut beginning = Beginning::of(kind);
        text.chars().take(kind.enough()).for_each(|c| beginning.push(c));
        self.note(kind, &beginning, text.chars().count());
    }

    fn note(&mut self, kind: MarkKind, beginning: &Beginning, length: usize) {
        if self.add(beginning.mark() | (length as u64).min(LONGEST)) {
            self.lengths[kind as usize] |= 1 << beginning.chars;
        }
    }

    /// Whether there was room for it.
    fn add(&mut self, mark: u64) -> bool {
        if self.all.contains(&mark) {
            return true;
        }
        if self.all.len() >= self.most {
            self.lost += 1;
            return false;
        }
        Arc::make_mut(&mut self.all).insert(mark);
        let firsts = Arc::make_mut(&mut self.firsts);
        firsts.resize(1 << (FIRST_BITS - 6), 0);
        let first = mark >> (64 - FIRST_BITS);
        firsts[(first >> 6) as usize] |= 1 << (first & 63);
        true
    }

    /// Takes in the marks of others.
    pub fn join(&mut self, other: &Marks) {
        if self.is_empty() && other.all.len() <= self.most {
            (self.all, self.firsts) = (other.all.clone(), other.firsts.clone());
        } else if !Arc::ptr_eq(&self.all, &other.all) {
            other.all.iter().for_each(|mark| {
                self.add(*mark);
            });
        }
        self.lengths.iter_mut().zip(other.lengths).for_each(|(own, others)| *own |= others);
    }

    /// As text that [`read`](Self::read) takes.
    pub fn written(&self) -> String {
        self.lengths.iter().chain(&*self.all).map(|number| format!("{number:016x}")).collect()
    }

    /// Takes in what was written. What is none is left out.
    pub fn read(&mut self, text: &str) {
        let number = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let mut numbers = text.as_bytes().chunks(16).filter_map(number);
        self.lengths.iter_mut().zip(&mut numbers).for_each(|(own, written)| *own |= written);
        numbers.for_each(|mark| {
            self.add(mark);
        });
    }

    /// Whether a number is hidden.
    pub fn has_number(&self, digits: &str) -> bool {
        let mut beginning = Beginning::of(MarkKind::Number);
        digits.chars().take(MarkKind::Number.enough()).for_each(|c| beginning.push(c));
        let length = (digits.chars().count() as u64).min(LONGEST);
        self.all.contains(&(beginning.mark() | length))
    }

    /// Whether what stands behind a bracket begins like a hidden collection.
    pub fn is_collection(&self, inside: &str) -> bool {
        let lengths = self.lengths[MarkKind::Collection as usize];
        if lengths == 0 {
            return false;
        }
        let end = inside.char_indices().nth(NEAR).map_or(inside.len(), |(at, _)| at);
        let mut beginning = Beginning::of(MarkKind::Collection);
        words(&inside[..end]).take(MarkKind::Collection.enough()).any(|c| {
            beginning.push(c);
            (lengths >> beginning.chars) & 1 == 1 && self.length(&beginning).is_some()
        })
    }

    /// The text with everything that is marked covered.
    pub fn cover<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        // Up to where the text was looked at, and up to where it was copied.
        let (mut at, mut copied, mut before) = (0, 0, ' ');
        while let Some(c) = text[at..].chars().next() {
            match self.hidden(before, &text[at..]) {
                0 => at += c.len_utf8(),
                hidden => {
                    out.push_str(&text[copied..at]);
                    out.push_str(FIREWALLED);
                    at += hidden;
                    copied = at;
                }
            }
            before = text[..at].chars().next_back().unwrap_or(' ');
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    /// How many bytes of what is hidden stand at the beginning of a text, behind such a character.
    fn hidden(&self, before: char, rest: &str) -> usize {
        if matches!(before, '[' | '(' | '{') && self.is_collection(rest) {
            return enclosed(rest);
        }
        let length = self.begins(MarkKind::Text, rest).or_else(|| self.begins_number(before, rest));
        length.map_or(0, |length| rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at))
    }

    /// The length of the number that a text begins with, if that is hidden and no part of another.
    fn begins_number(&self, before: char, rest: &str) -> Option<usize> {
        if before.is_ascii_digit() || !rest.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return None;
        }
        let length = self.begins(MarkKind::Number, rest)?;
        (!rest.chars().nth(length).is_some_and(|c| c.is_ascii_digit())).then_some(length)
    }

    /// The length of the longest hidden value of a kind that a text begins with.
    fn begins(&self, kind: MarkKind, rest: &str) -> Option<usize> {
        let lengths = self.lengths[kind as usize];
        if lengths == 0 {
            return None;
        }
        let (mut beginning, mut found) = (Beginning::of(kind), None);
        for c in rest.chars().take(kind.enough()) {
            beginning.push(c);
            if beginning.chars == FIRST && !self.may_begin(&beginning) {
                return None;
            }
            if (lengths >> beginning.chars) & 1 == 1 {
                found = self.length(&beginning).or(found);
            }
        }
        found
    }

    fn may_begin(&self, beginning: &Beginning) -> bool {
        let first = beginning.first >> (64 - FIRST_BITS);
        self.firsts.get((first >> 6) as usize).is_some_and(|bits| (bits >> (first & 63)) & 1 == 1)
    }

    /// The length of the longest value that begins so.
    fn length(&self, beginning: &Beginning) -> Option<usize> {
        let mark = beginning.mark();
        self.all.range(mark..=mark | LONGEST).next_back().map(|found| (found & LONGEST) as usize)
    }
}

/// What a collection says, however it is written: its words, and a bracket where one opens, with a space between them.
fn words(text: &str) -> impl Iterator<Item = char> {
    let (mut begun, mut apart) = (false, false);
    let spaced = text.chars().flat_map(move |c| {
        if c.is_whitespace() || ",:\"\\])}#".contains(c) {
            apart = begun;
            return [None, None];
        }
        let opens = matches!(c, '[' | '(' | '{');
        let space = (apart || (opens && begun)).then_some(' ');
        (begun, apart) = (true, opens);
        [space, Some(if opens { '(' } else { c })]
    });
    spaced.flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks() -> Marks {
        let mut marks = Marks::default();
        marks.text("top secret");
        marks.text("tok-0123456789-abcdefghijklmnopqrstuvwxyz");
        marks.number("4711555");
        marks.number("47115557");
        marks.collection("11 22 33");
        marks.collection(":id 1 :who \"Yak\" :amount -99.5");
        marks
    }

    #[test]
    fn what_is_marked_is_covered_and_nothing_else() {
        let mut joined = Marks::default();
        joined.text("other");
        joined.join(&marks());
        let mut read = Marks::default();
        read.read(&marks().written());
        for marks in [marks(), joined, read] {
            for (text, expected) in [
                ("a top secret, topsecret", "a <Firewalled>, topsecret"),
                ("tok-0123456789-abcdefgh", "<Firewalled>"),
                ("tok-0123456789-abcdefghijklmnopqrstuvwxyz!", "<Firewalled>!"),
                ("tok-012 žluť", "tok-012 žluť"),
                ("4711555 47115557, 14711555 47115558", "<Firewalled> <Firewalled>, 14711555 47115558"),
                ("[11 22 33 44] [11 22] 11 22 33", "[<Firewalled>] [11 22] 11 22 33"),
                ("{\"id\":1,\"who\":\"Yak\",\"amount\":-99.5}", "{<Firewalled>}"),
                ("({:id 1, :who Yak, :amount -99.5} 5)", "({<Firewalled>} 5)"),
                ("{:id 1 :who \"Yak\" :amount 99.5}", "{:id 1 :who \"Yak\" :amount 99.5}"),
                ("[] 11 22 33", "[] 11 22 33"),
            ] {
                assert_eq!(marks.cover(text), expected);
            }
            assert!(marks.has_number("4711555") && !marks.has_number("471155"));
        }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut marks = Marks::within(2);
        for text in ["first", "second", "first", "third"] {
            marks.text(text);
        }
        assert_eq!(marks.lost(), 1);
        assert_eq!(marks.cover("first second third"), "<Firewalled> <Firewalled> third");
        let mut small = Marks::within(1);
        small.join(&marks);
        assert_eq!(small.lost(), 1);
    }

    #[test]
    fn written_marks_of_others_do_no_harm() {
        for text in ["", "zz", "0123", &"f".repeat(160), "ž0000000000000000000000000000000000000"] {
            let mut marks = Marks::default();
            marks.read(text);
            assert_eq!(marks.cover("nothing is hidden"), "nothing is hidden");
        }
    }
}
