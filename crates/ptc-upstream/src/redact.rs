//! Covering secrets in whatever leaves. Secrets are kept apart by construction (`credentials.rs`); this is the
//! second line, for servers that echo what they were sent.
//!
//! A text is looked through twice: as it is, for the exact forms of a secret, and folded, which leaves letters and
//! digits in lower case and nothing else. Folding makes one form of what differs in case, in what stands between the
//! characters (spaces, punctuation, zero-width characters) or in the marks around codes (`%68`, `68:75`, `&#104;`,
//! `\u0068`), so `forms.rs` has to know each code only once. Of overlapping finds the union is covered.
//!
//! This is no wall against a program that wants a secret out: whoever can compute can write it in a form that nobody
//! lists, and whoever sees what is covered can test a guess. Credentials that cannot be guessed, and upstreams that do
//! not send them back, are what keeps them.

mod forms;
mod stream;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value as Json};

pub use self::stream::RedactedStream;

/// What stands in place of a secret.
pub const COVER: &str = "[REDACTED]";

/// Shorter texts are not covered: they would be found everywhere.
pub const SHORTEST: usize = 4;

/// Folded forms of fewer bytes are not looked for: they would be found by accident.
const SHORTEST_FOLDED: usize = 8;

/// The codes of larger secrets, such as the text of a private key, are not looked for.
pub const LARGEST_CODED: usize = 1024;

/// All codes together may not be larger. Those of secrets that come later are not looked for, and
/// [`Redactor::without_codes`] says of how many.
const TOTAL_CODED: usize = 4 << 20;

/// No secret may be larger.
pub const LARGEST: usize = 16 * 1024;

/// All secrets together may not be larger.
pub const TOTAL: usize = 512 * 1024;

/// Finds secrets in texts and JSON. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Finder>>);

struct Finder {
    exact: AhoCorasick,
    folded: Option<AhoCorasick>,
    /// What they look for.
    forms: Forms,
    /// Whether a number could contain a secret.
    in_numbers: bool,
}

#[derive(Clone, Default)]
struct Forms {
    /// What they are forms of: one that comes again is not counted again.
    secrets: BTreeSet<String>,
    exact: BTreeSet<String>,
    folded: BTreeSet<String>,
    /// The bytes of all codes among them.
    coded: usize,
    /// How many secrets have none, because there was no room.
    without_codes: usize,
}

impl Forms {
    fn add(&mut self, secret: &str) {
        if secret.len() < SHORTEST || !self.secrets.insert(secret.to_owned()) {
            return;
        }
        self.exact.extend(forms::exact(secret));
        let long = |form: &String| form.len() >= SHORTEST_FOLDED;
        self.folded.extend(forms::folded(secret).into_iter().filter(long));
        if secret.len() <= LARGEST_CODED {
            let codes: Vec<String> = forms::coded(secret).into_iter().filter(long).collect();
            let bytes: usize = codes.iter().map(String::len).sum();
            match self.coded + bytes <= TOTAL_CODED {
                true => {
                    self.coded += bytes;
                    self.folded.extend(codes);
                }
                false => self.without_codes += 1,
            }
        }
    }

    fn finder(self) -> Option<Finder> {
        let build = |forms: &BTreeSet<String>| {
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(forms).ok()
        };
        let exact = build(&self.exact).filter(|_| !self.exact.is_empty())?;
        let folded = build(&self.folded).filter(|_| !self.folded.is_empty());
        let number = |form: &String| form.bytes().all(|byte| b"0123456789.eE+-".contains(&byte));
        let in_numbers = self.exact.iter().any(number);
        Some(Finder { exact, folded, forms: self, in_numbers })
    }
}

impl Finder {
    /// Where secrets stand, in order, without overlaps.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut spans: Vec<Range<usize>> = self.exact.find_iter(text).map(|found| found.range()).collect();
        if let Some(folded) = self.folded.as_ref().filter(|_| text.len() >= SHORTEST_FOLDED) {
            let mut found = folded_spans(folded, text);
            // Places are the same in both.
            found
                .extend(forms::without_breaks(text).into_iter().flat_map(|text| folded_spans(folded, &text)));
            let exact = spans.clone();
            spans.extend(found.into_iter().map(|span| with_marks(text, span, &exact)));
        }
        spans.sort_by_key(|span| (span.start, span.end));
        spans.dedup_by(|next, kept| {
            let overlaps = next.start < kept.end;
            if overlaps {
                kept.end = kept.end.max(next.end);
            }
            overlaps
        });
        spans
    }
}

/// Where folded forms stand in a text.
fn folded_spans(folded: &AhoCorasick, text: &str) -> Vec<Range<usize>> {
    let plain = forms::fold(text);
    if !folded.is_match(&plain) {
        return Vec::new();
    }
    let places = forms::places(text);
    let found = folded.find_iter(&plain).map(|found| {
        let (first, last) = (&places[found.start()], &places[found.end() - 1]);
        first.start..last.end
    });
    found.collect()
}

/// A find together with the marks of its codes, so that no half of one is left: `\`, `%`, `&#` before and `;` behind it.
fn with_marks(text: &str, span: Range<usize>, exact: &[Range<usize>]) -> Range<usize> {
    // They are in order and apart, so the first that ends behind its beginning is the only one to look at.
    let at = exact.partition_point(|other| other.end <= span.start);
    if exact.get(at).is_some_and(|other| other.start < span.end) {
        return span;
    }
    let before = text[..span.start].trim_end_matches(['\\', '%', '&', '#']).len();
    let entity = text[before..span.start].contains('&');
    let after = usize::from(entity && text[span.end..].starts_with(';'));
    before..span.end + after
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let forms = self.0.as_ref().map_or(0, |finder| finder.forms.exact.len() + finder.forms.folded.len());
        write!(f, "Redactor({forms} forms)")
    }
}

impl Redactor {
    /// One that covers nothing.
    pub fn none() -> Redactor {
        Redactor(None)
    }

    /// One that covers these secrets in all their forms. Texts of fewer than [`SHORTEST`] bytes are left out.
    pub fn new<'s>(secrets: impl IntoIterator<Item = &'s SecretString>) -> Redactor {
        Redactor::none().and(secrets)
    }

    /// One that covers these secrets too.
    #[must_use]
    pub fn and<'s>(&self, secrets: impl IntoIterator<Item = &'s SecretString>) -> Redactor {
        let mut forms = self.0.as_ref().map(|finder| finder.forms.clone()).unwrap_or_default();
        secrets.into_iter().for_each(|secret| forms.add(secret.expose_secret()));
        Redactor(forms.finder().map(Arc::new))
    }

    /// Whether there is nothing to cover.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// How many secrets of at most [`LARGEST_CODED`] bytes are not looked for in codes, because all secrets together have too
    /// many.
    pub fn without_codes(&self) -> usize {
        self.0.as_ref().map_or(0, |finder| finder.forms.without_codes)
    }

    /// Whether a secret stands in a text. Where none does, which is nearly always, this is less work than covering it.
    pub fn finds(&self, text: &str) -> bool {
        let Some(finder) = &self.0 else { return false };
        let in_folds = |folded: &AhoCorasick| {
            let is_in = |text: &str| folded.is_match(&forms::fold(text));
            is_in(text) || forms::without_breaks(text).is_some_and(|text| is_in(&text))
        };
        finder.exact.is_match(text) || finder.folded.as_ref().is_some_and(in_folds)
    }

    /// The text with secrets covered.
    pub fn redact_str<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(finder) = &self.0 else { return Cow::Borrowed(text) };
        let spans = finder.spans(text);
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let mut end = 0;
        for span in spans {
            out.push_str(&text[end..span.start]);
            out.push_str(COVER);
            end = span.end;
        }
        out.push_str(&text[end..]);
        Cow::Owned(out)
    }

    /// An owned text with secrets covered, copied only if there are any.
    pub fn redact_string(&self, text: String) -> String {
        match self.redact_str(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(covered) => covered,
        }
    }

    /// Lines with secrets covered, also those that go over several lines. There are as many lines as before.
    pub fn redact_lines(&self, lines: Vec<String>) -> Vec<String> {
        let Some(finder) = &self.0 else { return lines };
        let text = lines.join("\n");
        let spans = finder.spans(&text);
        if spans.is_empty() {
            return lines;
        }
        let (mut begin, mut next) = (0, 0);
        let mut covered = Vec::with_capacity(lines.len());
        for line in &lines {
            let (mut at, end) = (begin, begin + line.len());
            let mut out = String::new();
            while let Some(span) = spans.get(next).filter(|span| span.start <= end) {
                // One that began in a line before is covered there.
                if span.start >= begin {
                    out.push_str(&text[at..span.start]);
                    out.push_str(COVER);
                }
                at = span.end.min(end);
                if span.end > end {
                    break;
                }
                next += 1;
            }
            out.push_str(&text[at..end]);
            covered.push(out);
            begin = end + 1;
        }
        covered
    }

    /// Covers secrets in texts, numbers and the names of fields, at any depth.
    pub fn redact_json(&self, value: &mut Json) {
        let Some(finder) = &self.0 else { return };
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Json::String(text) => self.redact_in_place(text),
                Json::Number(number) if finder.in_numbers => {
                    let text = number.to_string();
                    if let Cow::Owned(covered) = self.redact_str(&text) {
                        *value = Json::String(covered);
                    }
                }
                Json::Array(items) => open.extend(items.iter_mut()),
                Json::Object(fields) => {
                    self.redact_keys(fields);
                    open.extend(fields.values_mut());
                }
                Json::Null | Json::Bool(_) | Json::Number(_) => {}
            }
        }
    }

    /// As [`Redactor::redact_json`], for the fields of an object.
    pub fn redact_map(&self, fields: &mut Map<String, Json>) {
        if self.0.is_some() {
            self.redact_keys(fields);
            fields.values_mut().for_each(|value| self.redact_json(value));
        }
    }

    fn redact_in_place(&self, text: &mut String) {
        if let Cow::Owned(covered) = self.redact_str(text) {
            *text = covered;
        }
    }

    /// Covered names may become the same; later ones are numbered, so that no field is lost.
    fn redact_keys(&self, fields: &mut Map<String, Json>) {
        if !fields.keys().any(|key| matches!(self.redact_str(key), Cow::Owned(_))) {
            return;
        }
        for (key, value) in std::mem::take(fields) {
            let name = self.redact_string(key);
            let mut unique = name.clone();
            let mut number = 2;
            while fields.contains_key(&unique) {
                unique = format!("{name}-{number}");
                number += 1;
            }
            fields.insert(unique, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A configuration with such secrets is refused.
    #[test]
    fn secrets_whose_codes_have_no_room_are_counted() {
        let mut forms = Forms::default();
        let keys = |from: u128, to: u128| {
            (from..to).map(|n| format!("{:040x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)))
        };
        keys(1, 700).for_each(|key| forms.add(&key));
        assert_eq!(forms.without_codes, 0);
        keys(700, 1_000).for_each(|key| forms.add(&key));
        let without = forms.without_codes;
        assert!(without > 0);
        keys(1, 1_000).for_each(|key| forms.add(&key));
        assert_eq!(forms.without_codes, without, "none is counted again");
        assert!(keys(999, 1_000).all(|key| forms.folded.contains(&key)), "all but codes is looked for");
    }
}
