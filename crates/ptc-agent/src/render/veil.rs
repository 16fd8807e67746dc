//! The veil: values that stood behind the firewall and that a program took out of their fields,
//! `(println (:_ssn x))` for instance. It remembers them and covers where they occur in text for a model: texts, numbers
//! that nobody has by chance, lists and maps. Of small numbers and truth values nobody can say whose they are.
//!
//! The first values are kept as they are, and all others have marks ([`Marks`]). Whoever brings more than there is room for
//! is told so ([`Veil::learn`]) and must not show them to a program.
//!
//! It is a second line of defence: fields are hidden where values are shown, and a program can always spell a
//! secret backwards. It costs nothing as long as nothing is hidden.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use ptc_lisp::view::{Glimpse, View, is_hidden_name};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::beginning::{beginnings, enclosed, openings};
use super::clojure::{fitted, quoted};
use super::marks::Marks;
use super::sketch::looks_like_data;
use super::{FIREWALLED, ViewLimits};
use crate::written::{Datum, LONG, Passage, TextOutline, fields, items};

/// Shorter texts would cover too much.
pub(super) const SHORTEST: usize = 4;
/// Numbers of fewer digits would cover counts and sums.
const DIGITS: usize = 6;
/// Longer texts are remembered in pieces of so many characters, which stand one behind the other where the text is shown.
/// No piece is longer than a mark can tell.
const PIECE: usize = 4095;
/// How many characters of a long text are enough to cover as much of it as there is.
const ENOUGH: usize = 16;
/// Lines of a text that stand alone where it is printed are covered from so many characters on.
const LINE: usize = 8;
/// Where something is cut, as many characters before are looked at.
const BEFORE_CUT: usize = 64;
/// What stands where something was cut.
const CUT: char = '…';
/// How many texts, and how many bytes of them, are kept as they are.
const MOST: usize = 2000;
const MOST_BYTES: usize = 256 << 10;
/// A hidden map with more keys than this is a dictionary: all of its keys are data.
const NAMED: usize = 32;
/// How many numbers are kept so, so that texts have room.
const MOST_NUMBERS: usize = 1000;
/// As much of a collection as tells whether it begins like another.
const BEGINNING: ViewLimits = ViewLimits { items: 32, chars: 1_000 };
/// Stands before beginnings of collections where a veil is written.
const COLLECTION: char = '\0';
/// Stands before all marks where a veil is written.
const MARKS: &str = "\0\0";

/// Texts to cover.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeSet<String>", into = "BTreeSet<String>")]
pub(crate) struct Veil {
    texts: BTreeSet<String>,
    /// What is never covered.
    spared: BTreeSet<String>,
    bytes: usize,
    numbers: usize,
    /// How collections begin behind their bracket.
    beginnings: BTreeSet<String>,
    /// Everything for which there was no room.
    marks: Marks,
    search: OnceLock<Option<Search>>,
}

impl From<BTreeSet<String>> for Veil {
    /// Texts from bytes are learned like any others, within the same bounds.
    fn from(texts: BTreeSet<String>) -> Self {
        let mut veil = Veil::default();
        for text in texts {
            match (text.strip_prefix(MARKS), text.strip_prefix(COLLECTION)) {
                (Some(marks), _) => veil.marks.read(marks),
                (None, Some(beginning)) => veil.remember_beginning(beginning.to_owned()),
                (None, None) => veil.remember(&text),
            }
        }
        veil
    }
}

impl From<Veil> for BTreeSet<String> {
    fn from(veil: Veil) -> Self {
        let mut all = veil.texts;
        all.extend(veil.beginnings.iter().map(|beginning| format!("{COLLECTION}{beginning}")));
        if !veil.marks.is_empty() {
            all.insert(format!("{MARKS}{}", veil.marks.written()));
        }
        all
    }
}

/// A way to find texts by their beginnings.
#[derive(Clone, Debug)]
struct Search {
    beginnings: AhoCorasick,
    /// For each beginning the texts that begin so.
    texts: Vec<Vec<String>>,
    /// All texts in all spellings.
    whole: BTreeSet<String>,
    /// Beginnings of collections.
    collections: AhoCorasick,
}

impl Veil {
    /// Whether there is nothing to cover.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.beginnings.is_empty() && self.marks.is_empty()
    }

    /// Never covers these names, which prompts tell.
    pub fn spare(&mut self, names: impl IntoIterator<Item = String>) {
        for name in names {
            if self.texts.remove(&name) {
                self.search = OnceLock::new();
            }
            self.spared.insert(name);
        }
    }

    /// Remembers what stands under names that begin with `_`, and says whether there was room for all of it. JSON of
    /// hosts nests no deeper than its reader allowed.
    #[must_use]
    pub fn learn(&mut self, json: &Json) -> bool {
        self.has_room(|veil| veil.walk(json, false))
    }

    /// The same for a value that has a name itself.
    #[must_use]
    pub fn learn_named(&mut self, name: &str, json: &Json) -> bool {
        self.has_room(|veil| veil.walk(json, is_hidden_name(name)))
    }

    /// The same for the text of one that is long, of which no more is built than what is hidden in it.
    #[must_use]
    pub fn learn_written(&mut self, name: &str, text: &str) -> bool {
        let hidden = is_hidden_name(name);
        // Names that hide have a low line, which may be written as an escape.
        if !hidden && !text.contains(['_', '\\']) {
            return true;
        }
        let outline = TextOutline::of(text, LONG);
        self.has_room(|veil| veil.walk_written(outline.passage(text), hidden))
    }

    /// Remembers what another veil covers, and says whether there was room for all of it.
    #[must_use]
    pub fn join(&mut self, other: &Veil) -> bool {
        self.has_room(|veil| {
            other.texts.iter().for_each(|text| veil.remember(text));
            other.beginnings.iter().for_each(|beginning| veil.remember_beginning(beginning.clone()));
            veil.marks.join(&other.marks);
        })
    }

    fn has_room(&mut self, remember: impl FnOnce(&mut Self)) -> bool {
        let lost = self.marks.lost();
        remember(self);
        self.marks.lost() == lost
    }

    /// Recurses as deep as JSON may nest.
    fn walk_written(&mut self, passage: Passage<'_>, hidden: bool) {
        let datum = Datum::Written(passage);
        match datum.kind() {
            _ if hidden => self.walk(&datum.json(), true),
            // What cannot have a hidden name is not built.
            _ if datum.long().is_none() && !passage.text().contains(['_', '\\']) => {}
            _ if datum.long().is_none() => self.walk(&datum.json(), false),
            "list" => items(passage).for_each(|item| self.walk_written(item, false)),
            "map" => {
                fields(passage).for_each(|(name, value)| self.walk_written(value, is_hidden_name(&name)));
            }
            // Of scalars only hidden ones are remembered.
            _ => {}
        }
    }

    fn walk(&mut self, json: &Json, hidden: bool) {
        if hidden {
            match self.beginnings.len() < MOST {
                true => beginnings(json).for_each(|beginning| self.remember_beginning(beginning)),
                false => openings(json).for_each(|opening| self.marks.collection(&opening)),
            }
        }
        match json {
            Json::String(text) if hidden => {
                self.remember(text);
                // What is printed is shown line by line.
                let lines = text.lines().map(str::trim).filter(|line| line.len() < text.len());
                lines
                    .filter(|line| line.chars().nth(LINE - 1).is_some())
                    .for_each(|line| self.remember(line));
            }
            Json::Number(number) if hidden => {
                self.remember_number(&number_spellings(number));
            }
            Json::Array(items) => items.iter().for_each(|item| self.walk(item, hidden)),
            Json::Object(fields) => {
                let many = hidden && fields.len() > NAMED;
                for (key, value) in fields {
                    // Names of fields are everybody's; a key that is data is as hidden as a value.
                    if many || (hidden && looks_like_data(key)) {
                        self.remember(key);
                    }
                    self.walk(value, hidden || is_hidden_name(key));
                }
            }
            _ => {}
        }
    }

    /// Remembers a number in all of its spellings, if one of them has enough digits.
    fn remember_number(&mut self, spellings: &BTreeSet<String>) {
        let digits = |text: &String| text.bytes().filter(u8::is_ascii_digit).count();
        if spellings.iter().all(|text| digits(text) < DIGITS) {
            return;
        }
        let room = self.numbers < MOST_NUMBERS;
        self.numbers += usize::from(room);
        for text in spellings.iter().filter(|text| text.len() >= SHORTEST) {
            if room { self.remember(text) } else { self.marks.number(text) }
        }
    }

    fn remember(&mut self, text: &str) {
        let mut rest = text;
        while let Some((end, _)) = rest.char_indices().nth(PIECE) {
            let (piece, behind) = rest.split_at(end);
            self.remember_piece(piece);
            rest = behind;
        }
        self.remember_piece(rest);
    }

    fn remember_piece(&mut self, text: &str) {
        let long_enough = text.chars().nth(SHORTEST - 1).is_some() && !text.trim().is_empty();
        let room = self.texts.len() < MOST && self.bytes + text.len() <= MOST_BYTES;
        // It could not be told from what is no text where the veil is written.
        let room = room && !text.starts_with(COLLECTION);
        match room {
            _ if !long_enough || self.texts.contains(text) || self.spared.contains(text) => {}
            true => {
                self.bytes += text.len();
                self.texts.insert(text.to_owned());
                self.search = OnceLock::new();
            }
            false if is_number(text) => self.marks.number(text),
            false if is_plain(text) => self.marks.text(text),
            false => spellings(text).iter().for_each(|spelling| self.marks.text(spelling)),
        }
    }

    fn remember_beginning(&mut self, beginning: String) {
        match self.beginnings.len() < MOST && !beginning.starts_with(COLLECTION) {
            _ if self.beginnings.contains(&beginning) => {}
            true => {
                self.beginnings.insert(beginning);
                self.search = OnceLock::new();
            }
            false => self.marks.collection(&beginning),
        }
    }

    /// The text with everything remembered covered. Marks come first: they know only how a value begins, which must not be
    /// covered as part of another one before.
    pub fn cover<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.marks.is_empty() {
            return self.cover_kept(text);
        }
        match self.marks.cover(text) {
            Cow::Borrowed(text) => self.cover_kept(text),
            Cow::Owned(covered) => Cow::Owned(self.cover_kept(&covered).into_owned()),
        }
    }

    /// The text with everything covered that is kept as it is.
    fn cover_kept<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.texts.is_empty() && self.beginnings.is_empty() {
            return Cow::Borrowed(text);
        }
        let Some(search) = self.search.get_or_init(|| Search::over(&self.texts, &self.beginnings)) else {
            return Cow::Borrowed(text);
        };
        search.cover(text)
    }

    /// The same for a message with blocks in it, which stay: a hidden text that is spelt like their tags
    /// would open them otherwise. What is inside blocks has no such tags left.
    pub fn cover_message<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(super::untrusted::between_tags(text, |part| self.cover(part).into_owned()))
    }

    /// A view with all texts in it covered.
    pub fn cover_view(&self, view: View) -> View {
        if self.is_empty() { view } else { self.covered(view) }
    }

    /// A glimpse with all texts in it covered.
    pub fn cover_glimpse(&self, glimpse: &Glimpse) -> Glimpse {
        let mut glimpse = glimpse.clone();
        if !self.is_empty() {
            if matches!(glimpse.view, View::Str { .. }) {
                // The end of a string may be the end of a hidden one.
                glimpse.tail.clear();
            }
            glimpse.view = self.covered(glimpse.view);
            glimpse.tail = glimpse.tail.into_iter().map(|item| self.covered(item)).collect();
        }
        glimpse
    }

    /// JSON with all texts in it covered; blocks in them stay.
    pub fn cover_json(&self, json: Json) -> Json {
        match json {
            _ if self.is_empty() => json,
            Json::String(text) => Json::String(self.cover_message(&text).into_owned()),
            Json::Array(items) => items.into_iter().map(|item| self.cover_json(item)).collect(),
            Json::Object(fields) => {
                let covered = fields
                    .into_iter()
                    .map(|(key, value)| (self.cover(&key).into_owned(), self.cover_json(value)));
                Json::Object(covered.collect())
            }
            other => other,
        }
    }

    /// Views nest no deeper than their bounds.
    fn covered(&self, view: View) -> View {
        let text = |text: String| self.cover(&text).into_owned();
        match view {
            View::Str { text, chars } => match self.cover(&text) {
                Cow::Borrowed(_) => View::Str { text, chars },
                Cow::Owned(covered) => {
                    let whole = text.chars().count() == chars;
                    let count = covered.chars().count();
                    View::Str { text: covered, chars: if whole { count } else { chars.max(count + 1) } }
                }
            },
            View::Int(_) | View::Big(_) | View::Float(_) | View::Decimal(_)
                if self.is_hidden_number(&view) =>
            {
                View::Hidden
            }
            View::Vector(_) | View::List(_) | View::Set(_) | View::Map { .. }
                if self.is_hidden_collection(&view) =>
            {
                View::Hidden
            }
            View::Keyword(name) => View::Keyword(text(name)),
            View::Symbol(name) => View::Symbol(text(name)),
            View::Opaque(shown) => View::Opaque(text(shown)),
            View::Vector(part) => View::Vector(self.covered_part(part)),
            View::List(part) => View::List(self.covered_part(part)),
            View::Set(part) => View::Set(self.covered_part(part)),
            View::Map { entries, total } => {
                let entries =
                    entries.into_iter().map(|(key, value)| (self.covered(key), self.covered(value)));
                View::Map { entries: entries.collect(), total }
            }
            other => other,
        }
    }

    /// Whether a collection begins like a hidden one: not even what its items are like is shown then.
    fn is_hidden_collection(&self, view: &View) -> bool {
        if self.beginnings.is_empty() && self.marks.is_empty() {
            return false;
        }
        let (text, _) = fitted(view, BEGINNING);
        let inside = |text: &str| text.trim_start_matches('#').get(1..).unwrap_or_default().to_owned();
        if self.marks.is_collection(&inside(&text)) {
            return true;
        }
        inside(&self.cover_kept(&text)).strip_prefix(FIREWALLED).is_some_and(|rest| rest.len() == 1)
    }

    fn is_hidden_number(&self, view: &View) -> bool {
        let text = match view {
            View::Int(number) => number.to_string(),
            View::Big(text) => text.clone(),
            View::Float(number) => return float_spellings(*number).iter().any(|text| self.has_number(text)),
            View::Decimal(text) => text.trim_end_matches('M').to_owned(),
            _ => return false,
        };
        self.has_number(&text)
    }

    fn has_number(&self, text: &str) -> bool {
        self.texts.contains(text) || self.marks.has_number(text)
    }

    fn covered_part(&self, mut part: ptc_lisp::view::Part) -> ptc_lisp::view::Part {
        part.items = part.items.into_iter().map(|item| self.covered(item)).collect();
        part
    }
}

impl Search {
    /// None if the texts cannot be searched for, which their bounds exclude.
    fn over(texts: &BTreeSet<String>, collections: &BTreeSet<String>) -> Option<Search> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let whole: BTreeSet<String> = texts.iter().flat_map(|text| spellings(text)).collect();
        for text in whole.iter().cloned() {
            let end = text.char_indices().nth(ENOUGH).map_or(text.len(), |(at, _)| at);
            groups.entry(text[..end].to_owned()).or_default().push(text);
        }
        // They stand in blocks too, where tags are made harmless.
        let collections: BTreeSet<String> =
            collections.iter().flat_map(|text| [text.clone(), super::untrusted::neutralise(text)]).collect();
        Some(Search {
            beginnings: automaton(groups.keys())?,
            texts: groups.into_values().collect(),
            whole,
            collections: automaton(collections.iter())?,
        })
    }

    fn cover<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut covered = Cow::Borrowed(text);
        for cover in [Search::cover_collections, Search::cover_texts, Search::cover_cut] {
            if let Cow::Owned(more) = cover(self, &covered) {
                covered = Cow::Owned(more);
            }
        }
        covered
    }

    /// Covers the beginnings of texts that were cut short, as errors quote them.
    fn cover_cut<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut copied = 0;
        for (cut, _) in text.match_indices(CUT) {
            let before = &text[copied..cut];
            let starts = before.char_indices().rev().take(BEFORE_CUT).skip(SHORTEST - 1).map(|(at, _)| at);
            let begins = |start: &usize| {
                let beginning = &before[*start..];
                let mut from = self.whole.range::<str, _>((Bound::Included(beginning), Bound::Unbounded));
                from.next().is_some_and(|text| text.starts_with(beginning))
            };
            if let Some(start) = starts.filter(begins).last() {
                out.push_str(&before[..start]);
                out.push_str(FIREWALLED);
                copied = cut;
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }

    fn cover_texts<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        let mut from = 0;
        while let Some(found) = self.beginnings.find(&text[from..]) {
            let start = from + found.start();
            let texts = &self.texts[found.pattern().as_usize()];
            let covered = texts.iter().map(|hidden| common(hidden, &text[start..])).max().unwrap_or(0);
            out.push_str(&text[from..start]);
            out.push_str(FIREWALLED);
            from = start + covered.max(found.len());
        }
        if from == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }

    /// Covers all that stands in the brackets of a collection that begins like a hidden one.
    fn cover_collections<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = String::new();
        // Up to where the text was looked at, and up to where it was copied.
        let (mut from, mut copied) = (0, 0);
        while let Some(found) = self.collections.find(&text[from..]) {
            let start = from + found.start();
            if !text[..start].ends_with(['[', '(', '{']) {
                from = start + text[start..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            out.push_str(&text[copied..start]);
            out.push_str(FIREWALLED);
            from = start + enclosed(&text[start..]);
            copied = from;
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[copied..]);
        Cow::Owned(out)
    }
}

/// Finds the longest of these texts that begins first.
fn automaton<'t>(texts: impl Iterator<Item = &'t String>) -> Option<AhoCorasick> {
    AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts).ok()
}

/// Whether a text is a number, also one that the veil was given as text.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.parse::<f64>().is_ok()
}

/// A number as programs and JSON write it.
fn number_spellings(number: &serde_json::Number) -> BTreeSet<String> {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float_spellings(float),
        None => BTreeSet::from([number.to_string()]),
    }
}

/// A float as JSON has it, as it is without an exponent, and as Java prints it: `4.821337725E7` from ten millions on and
/// below a thousandth.
fn float_spellings(float: f64) -> BTreeSet<String> {
    let plain = float.to_string();
    let mut all = BTreeSet::from([Json::from(float).to_string()]);
    if !(1e-3..1e7).contains(&float.abs())
        && let Some((digits, exponent)) = format!("{float:e}").split_once('e')
    {
        let point = if digits.contains('.') { "" } else { ".0" };
        all.insert(format!("{digits}{point}E{exponent}"));
    }
    all.insert(plain);
    all
}

/// Whether a text is written alike wherever it stands.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b" -_.:@/+,".contains(&b))
}

/// A text as it is, on one line as messages have it, and as it stands in Clojure and JSON strings and in strings within
/// those, each as blocks show it too.
fn spellings(text: &str) -> Vec<String> {
    let inside = |quoted: String| quoted[1..quoted.len() - 1].to_owned();
    let in_strings = |text: &String| [inside(quoted(text)), inside(Json::from(text.as_str()).to_string())];
    let on_a_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let once = in_strings(&text.to_owned());
    let mut all: Vec<String> = once.iter().flat_map(in_strings).chain(once.clone()).collect();
    all.push(text.to_owned());
    all.extend(Some(on_a_line).filter(|line| line.chars().nth(SHORTEST - 1).is_some()));
    let quiet: Vec<String> = all.iter().map(|text| super::untrusted::neutralise(text)).collect();
    all.extend(quiet);
    all.sort_unstable();
    all.dedup();
    all
}

/// How many bytes two texts have in common from their beginning.
fn common(a: &str, b: &str) -> usize {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use ptc_lisp::view::Bounds;
    use serde_json::json;

    use super::*;

    fn veil() -> Veil {
        let mut veil = Veil::default();
        let named = [
            ("input", json!([{"_ssn": "078-05-1120", "name": "Ann", "_list": ["top secret", "abc", 12345]}])),
            ("_token", json!({"deep": ["tok-0123456789-abcdefghijklmnopqrstuvwxyz"]})),
            ("public", json!("visible")),
            ("input", json!({"_quote": "say \"hi\"\nnow"})),
        ];
        assert!(named.iter().all(|(name, json)| veil.learn_named(name, json)));
        veil
    }

    #[test]
    fn hidden_texts_are_covered_wherever_they_occur() {
        let veil = veil();
        let cases = [
            ("ssn 078-05-1120.", "ssn <Firewalled>."),
            ("top secret, topsecret", "<Firewalled>, topsecret"),
            // Too short, not text, not hidden.
            ("abc 12345 visible Ann", "abc 12345 visible Ann"),
            // As much of a long one as there is.
            ("tok-0123456789-abcdefgh", "<Firewalled>"),
            ("tok-0123456789-abcdefghijklmnopqrstuvwxyz!", "<Firewalled>!"),
            ("tok-012", "tok-012"),
            ("[\"say \\\"hi\\\"\\nnow\"]", "[\"<Firewalled>\"]"),
        ];
        for (text, expected) in cases {
            assert_eq!(veil.cover(text), expected);
        }
        assert!(matches!(Veil::default().cover("top secret"), Cow::Borrowed("top secret")));
    }

    #[test]
    fn texts_of_several_lines_and_texts_that_are_cut_are_covered() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhk\n-----END KEY-----\n";
        let mut veil = Veil::default();
        assert!(
            veil.learn(&json!({"_key": key, "_pw": "pwSECRETpw123456", "_note": "two  words\tand more"}))
        );
        for (text, expected) in [
            (key, "<Firewalled>"),
            ("-----BEGIN KEY----- MIIEvQIBADANBgkq hk -----END KEY-----", "<Firewalled>"),
            ("-----BEGIN KEY-----", "<Firewalled>"),
            ("  MIIEvQIBADANBgkq", "  <Firewalled>"),
            ("two words and more", "<Firewalled>"),
            ("no clause for {:_pw \"pwSECRETpw123…", "no clause for {:_pw \"<Firewalled>…"),
            ("[\"pwSE… \"pwS… \"pwSEC…", "[\"<Firewalled>… \"pwS… \"<Firewalled>…"),
            ("words… and hk", "words… and hk"),
        ] {
            assert_eq!(veil.cover(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_covered_to_its_end_however_long_it_is() {
        for words in [1_000, 100_000] {
            let text: String = (0..words).map(|n| format!("wörd{n:06}\n")).collect();
            let mut veil = Veil::default();
            assert!(veil.learn(&json!({"_doc": text})));
            for shown in
                [text.clone(), quoted(&text), json!({"a": json!({"b": text}).to_string()}).to_string()]
            {
                let covered = veil.cover(&shown);
                assert!(!covered.contains("000"), "{}", &covered[..100.min(covered.len())]);
            }
        }
    }

    #[test]
    fn names_that_prompts_tell_are_not_covered() {
        let mut veil = Veil::default();
        assert!(veil.learn(&json!({"_table": "orders", "_pw": "hunter22"})));
        veil.spare(["orders".to_owned(), "search".to_owned()]);
        assert!(veil.learn(&json!({"_role": "search"})));
        assert_eq!(veil.cover("search orders hunter22"), "search orders <Firewalled>");
    }

    #[test]
    fn numbers_and_collections_are_covered_too() {
        let mut veil = Veil::default();
        let rows = json!([{"id": 1, "amount": 99.5, "who": "Yak"}, {"id": 2, "amount": 7, "who": "Gnu"}]);
        let hidden =
            json!({"_ids": [11, 22, 33], "_account": 4_711_555, "_n": 4711, "_few": [1, 2], "_raw": rows});
        assert!(veil.learn(&hidden));
        let written = serde_json::to_string(&veil).expect("it can be written");
        let read: Veil = serde_json::from_str(&written).expect("it can be read");
        for veil in [veil, read] {
            let cases = [
                ("[11 22 33]", "[<Firewalled>]"),
                ("ids (11 22 33) and [44]", "ids (<Firewalled>) and [44]"),
                ("{\"a\":[11,22,33]}", "{\"a\":[<Firewalled>]}"),
                ("4711555 of 4711", "<Firewalled> of 4711"),
                ("[{:id 1 :amount 99.5 :who \"Yak\"} {:id 2 ... +2}] (2/2)", "[<Firewalled>] (2/2)"),
                ("({:id 2, :amount 7, :who Gnu} 5)", "({<Firewalled>} 5)"),
                // Nobody's, and others.
                ("[1 2] 11 22 33 [0 11 22 33]", "[1 2] 11 22 33 [0 11 22 33]"),
                ("[{:id 3 :amount 99.5}]", "[{:id 3 :amount 99.5}]"),
            ];
            for (text, expected) in cases {
                assert_eq!(veil.cover(text), expected);
            }
            assert_eq!(veil.cover_view(View::Int(4_711_555)), View::Hidden);
            assert_eq!(veil.cover_view(View::Int(4711)), View::Int(4711));
            let of = |json: &Json| View::of_json(json, &Bounds::default());
            assert_eq!(veil.cover_view(of(&json!([11, 22, 33]))), View::Hidden);
            let View::Map { entries, .. } = veil.cover_view(of(&json!({"ids": [11, 22, 33], "n": [44]})))
            else {
                panic!("the map is nobody's")
            };
            assert_eq!((&entries[0].1, &entries[1].1), (&View::Hidden, &of(&json!([44]))));
        }
    }

    #[test]
    fn views_and_json_are_covered_inside() {
        let veil = veil();
        let json = json!({"a": ["078-05-1120"], "top secret": 1});
        let covered = json!({"a": ["<Firewalled>"], "<Firewalled>": 1});
        assert_eq!(veil.cover_json(json.clone()), covered);
        let of = |json: &Json| View::of_json(json, &Bounds::default());
        assert_eq!(veil.cover_view(of(&json)), of(&covered));
    }

    #[test]
    fn a_veil_that_was_written_and_read_covers_the_same() {
        let text = serde_json::to_string(&veil()).expect("it can be written");
        let read: Veil = serde_json::from_str(&text).expect("it can be read");
        assert_eq!(read.cover("x 078-05-1120"), "x <Firewalled>");
    }

    #[test]
    fn what_is_kept_as_it_is_has_a_bound_and_what_is_behind_it_is_covered_too() {
        let mut veil = Veil::default();
        let many: Vec<String> =
            (0..5000).map(|at| format!("secret number {at} {}", "x".repeat(300))).collect();
        assert!(veil.learn(&json!({"_all": many})));
        assert!(veil.bytes <= MOST_BYTES && veil.texts.len() <= MOST);
        for text in &many {
            assert_eq!(veil.cover(text), FIREWALLED);
        }
    }

    #[test]
    fn values_of_every_kind_are_covered_however_many_there_are() {
        let row = |at: u64| {
            let name = format!("{at} \"Ann\"\t<{at}>");
            json!({"_name": name, "_account": 90_000_000 + at * 7, "_small": [at, 1, 2, 3], "_map": {"k": at, "open": "yes"}})
        };
        let rows: Vec<Json> = (10_000..14_000).map(row).collect();
        let mut veil = Veil::default();
        assert!(veil.learn(&json!(rows)));
        let written = serde_json::to_string(&veil).expect("it can be written");
        let read: Veil = serde_json::from_str(&written).expect("it can be read");
        let mut joined = Veil::default();
        assert!(joined.learn(&json!({"_other": "something else"})) && joined.join(&veil));
        for veil in [&veil, &read, &joined] {
            for row in rows.iter().step_by(97) {
                let (name, account, at) =
                    (row["_name"].as_str().expect("a text"), &row["_account"], &row["_map"]["k"]);
                for shown in [
                    name.to_owned(),
                    Json::from(name).to_string(),
                    quoted(name),
                    account.to_string(),
                    format!("[{at} 1 2 3]"),
                    format!("({at} 1 2 3)"),
                    format!("[{at},1,2,3]"),
                    format!("{{:k {at}, :open yes}}"),
                    format!("{{\"k\":{at},\"open\":\"yes\"}}"),
                ] {
                    let covered = veil.cover(&shown);
                    let bare = covered.trim_matches(['[', ']', '(', ')', '{', '}', '"']);
                    assert_eq!(bare, FIREWALLED, "{shown}");
                }
                let of = |json: &Json| View::of_json(json, &Bounds::default());
                for hidden in [account, &row["_small"], &row["_map"]] {
                    assert_eq!(veil.cover_view(of(hidden)), View::Hidden, "{hidden}");
                }
            }
            // What is nobody's stays.
            for open in ["[9 1 2 3]", "90000001", "{:k 9, :open yes}", "9 \"Ann\""] {
                assert_eq!(veil.cover(open), open);
            }
        }
    }
}
