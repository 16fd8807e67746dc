//! Covering secrets in whatever leaves. Secrets are kept apart by construction (`credentials.rs`); this is the
//! second line, for servers that echo what they were sent.
//!
//! A secret is found as it is, in base64 (both alphabets, with and without padding, alone or within a longer
//! text), percent-encoded and escaped as in JSON. Of overlapping finds the longest at the leftmost place counts.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value as Json};

/// What stands in place of a secret.
pub const COVER: &str = "[REDACTED]";

/// Shorter texts are not covered: they would be found everywhere.
pub const SHORTEST: usize = 4;

/// Shorter secrets are not looked for inside longer texts in base64.
const SHORTEST_INSIDE: usize = 8;

/// No secret may be larger.
pub const LARGEST: usize = 16 * 1024;

/// All secrets together may not be larger.
pub const TOTAL: usize = 512 * 1024;

/// Finds secrets in texts and JSON. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Finder>>);

struct Finder {
    automaton: AhoCorasick,
    /// What it looks for.
    forms: BTreeSet<String>,
    /// Whether a number could contain a secret.
    in_numbers: bool,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let forms = self.0.as_ref().map_or(0, |finder| finder.automaton.patterns_len());
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
        let known = self.0.iter().flat_map(|finder| finder.forms.iter().cloned());
        let more = secrets.into_iter().flat_map(|secret| forms(secret.expose_secret()));
        let forms: BTreeSet<String> = known.chain(more).collect();
        let in_numbers = forms.iter().any(|form| form.bytes().all(|byte| b"0123456789.eE+-".contains(&byte)));
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
        match automaton {
            Ok(automaton) if !forms.is_empty() => {
                Redactor(Some(Arc::new(Finder { automaton, forms, in_numbers })))
            }
            _ => Redactor(None),
        }
    }

    /// Whether there is nothing to cover.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The text with secrets covered.
    pub fn redact_str<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let Some(finder) = &self.0 else { return Cow::Borrowed(text) };
        let mut out = String::new();
        let mut end = 0;
        for found in finder.automaton.find_iter(text) {
            out.push_str(&text[end..found.start()]);
            out.push_str(COVER);
            end = found.end();
        }
        if end == 0 {
            return Cow::Borrowed(text);
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

/// All the ways in which a secret may show.
fn forms(secret: &str) -> Vec<String> {
    if secret.len() < SHORTEST {
        return Vec::new();
    }
    let mut forms = vec![secret.to_owned(), percent(secret, true), percent(secret, false)];
    forms.extend([STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD].map(|engine| engine.encode(secret)));
    if secret.len() >= SHORTEST_INSIDE {
        forms.extend(inside_base64(secret));
    }
    if let Ok(quoted) = serde_json::to_string(secret) {
        forms.push(quoted[1..quoted.len() - 1].to_owned());
    }
    forms
}

/// How a longer text in base64 shows that the secret is in it: three bytes become four characters, so it looks
/// different by where it begins, and the characters that it shares with its neighbours are left out.
fn inside_base64(secret: &str) -> Vec<String> {
    let shifted = (0..3).flat_map(|before| {
        let text = [&[0; 3][..before], secret.as_bytes()].concat();
        let first = (before * 4).div_ceil(3);
        let last = text.len() * 4 / 3;
        [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| engine.encode(&text)[first..last].to_owned())
    });
    shifted.collect()
}

/// Percent-encoded, with everything encoded that is not unreserved; hexadecimal digits in either case.
fn percent(text: &str, upper: bool) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            _ if upper => out.push_str(&format!("%{byte:02X}")),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}
