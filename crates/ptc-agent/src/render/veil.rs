//! The veil: texts that stood behind the firewall and that a program took out of their fields,
//! `(println (:_ssn x))` for instance. It remembers them and covers where they occur in text for a model.
//!
//! It is a second line of defence: fields are hidden where values are shown, and a program can always spell a
//! secret backwards. It costs nothing as long as nothing is hidden.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, MatchKind};
use ptc_lisp::view::{Glimpse, View, is_hidden_name};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::FIREWALLED;
use super::clojure::quoted;

/// Shorter texts would cover too much.
const SHORTEST: usize = 4;
/// Of a longer text the beginning is remembered.
const LONGEST: usize = 4096;
/// How many characters of a long text are enough to cover as much of it as there is.
const ENOUGH: usize = 16;
/// How many texts, and how many bytes of them, are remembered.
const MOST: usize = 2000;
const MOST_BYTES: usize = 256 << 10;

/// Texts to cover.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeSet<String>", into = "BTreeSet<String>")]
pub(crate) struct Veil {
    texts: BTreeSet<String>,
    bytes: usize,
    search: OnceLock<Option<Search>>,
}

impl From<BTreeSet<String>> for Veil {
    /// Texts from bytes are learned like any others, within the same bounds.
    fn from(texts: BTreeSet<String>) -> Self {
        let mut veil = Veil::default();
        texts.iter().for_each(|text| veil.remember(text));
        veil
    }
}

impl From<Veil> for BTreeSet<String> {
    fn from(veil: Veil) -> Self {
        veil.texts
    }
}

/// A way to find texts by their beginnings.
#[derive(Clone, Debug)]
struct Search {
    beginnings: AhoCorasick,
    /// For each beginning the texts that begin so.
    texts: Vec<Vec<String>>,
}

impl Veil {
    /// Whether there is nothing to cover.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Remembers the texts that stand under names that begin with `_`. JSON of hosts nests no deeper than
    /// its reader allowed.
    pub fn learn(&mut self, json: &Json) {
        self.walk(json, false);
    }

    /// The same for a value that has a name itself.
    pub fn learn_named(&mut self, name: &str, json: &Json) {
        self.walk(json, is_hidden_name(name));
    }

    /// Remembers what another veil covers.
    pub fn join(&mut self, other: &Veil) {
        other.texts.iter().for_each(|text| self.remember(text));
    }

    fn walk(&mut self, json: &Json, hidden: bool) {
        match json {
            Json::String(text) if hidden => self.remember(text),
            Json::Array(items) => items.iter().for_each(|item| self.walk(item, hidden)),
            Json::Object(fields) => {
                fields.iter().for_each(|(key, value)| self.walk(value, hidden || is_hidden_name(key)));
            }
            _ => {}
        }
    }

    fn remember(&mut self, text: &str) {
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        let text = &text[..end];
        let long_enough = text.chars().nth(SHORTEST - 1).is_some() && !text.trim().is_empty();
        let room = self.texts.len() < MOST && self.bytes + text.len() <= MOST_BYTES;
        if long_enough && room && !self.texts.contains(text) {
            self.bytes += text.len();
            self.texts.insert(text.to_owned());
            self.search = OnceLock::new();
        }
    }

    /// The text with everything remembered covered.
    pub fn cover<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let Some(search) = self.search.get_or_init(|| Search::over(&self.texts)) else {
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

    fn covered_part(&self, mut part: ptc_lisp::view::Part) -> ptc_lisp::view::Part {
        part.items = part.items.into_iter().map(|item| self.covered(item)).collect();
        part
    }
}

impl Search {
    /// None if the texts cannot be searched for, which their bounds exclude.
    fn over(texts: &BTreeSet<String>) -> Option<Search> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for text in texts.iter().flat_map(|text| spellings(text)) {
            let end = text.char_indices().nth(ENOUGH).map_or(text.len(), |(at, _)| at);
            groups.entry(text[..end].to_owned()).or_default().push(text);
        }
        let mut builder = AhoCorasick::builder();
        let beginnings = builder.match_kind(MatchKind::LeftmostLongest).build(groups.keys()).ok()?;
        Some(Search { beginnings, texts: groups.into_values().collect() })
    }

    fn cover<'t>(&self, text: &'t str) -> Cow<'t, str> {
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
}

/// A text as it is, and as it stands in Clojure and JSON strings, each as blocks show it too.
fn spellings(text: &str) -> Vec<String> {
    let inside = |quoted: String| quoted[1..quoted.len() - 1].to_owned();
    let mut all = vec![text.to_owned(), inside(quoted(text)), inside(Json::from(text).to_string())];
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
        veil.learn(&json!([{"_ssn": "078-05-1120", "name": "Ann", "_list": ["top secret", "abc", 12345]}]));
        veil.learn_named("_token", &json!({"deep": ["tok-0123456789-abcdefghijklmnopqrstuvwxyz"]}));
        veil.learn_named("public", &json!("visible"));
        veil.learn(&json!({"_quote": "say \"hi\"\nnow"}));
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
    fn what_is_remembered_is_bounded() {
        let mut veil = Veil::default();
        let many: Vec<String> =
            (0..5000).map(|at| format!("secret number {at} {}", "x".repeat(300))).collect();
        veil.learn(&json!({"_all": many}));
        assert!(veil.bytes <= MOST_BYTES && veil.texts.len() <= MOST);
        assert_eq!(veil.cover(&many[0]), FIREWALLED);
    }
}
