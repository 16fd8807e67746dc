//! Covering secrets in a text that comes in pieces, as models write it: what may be the beginning of a secret is held back
//! until it is known what it is.

use std::collections::BTreeSet;
use std::ops::Bound::{Included, Unbounded};

use super::{COVER, Finder, Redactor, forms};

/// A text of which pieces are shown as they come.
pub struct RedactedStream {
    redactor: Redactor,
    /// What was not shown yet.
    held: String,
}

impl RedactedStream {
    /// The beginning of a text.
    pub fn new(redactor: Redactor) -> RedactedStream {
        RedactedStream { redactor, held: String::new() }
    }

    /// The next piece; gives what can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        let Some(finder) = &self.redactor.0 else { return piece.to_owned() };
        self.held.push_str(piece);
        let (mut out, mut end) = (String::new(), 0);
        let mut open = finder.open(&self.held);
        for span in finder.spans(&self.held) {
            // One at the end may go on: with the mark behind a code.
            if span.end > open || span.end == self.held.len() {
                open = open.min(span.start);
                break;
            }
            out.push_str(&self.held[end..span.start]);
            out.push_str(COVER);
            end = span.end;
        }
        out.push_str(&self.held[end..open]);
        self.held.drain(..open);
        out
    }

    /// The end of the text: gives the rest.
    pub fn finish(&mut self) -> String {
        self.redactor.redact_string(std::mem::take(&mut self.held))
    }
}

impl Finder {
    /// Where the end of a text begins that may be the beginning of a form.
    fn open(&self, text: &str) -> usize {
        let starts = text.char_indices().map(|(at, _)| at);
        let exact = begun(&self.forms.exact, text, starts).unwrap_or(text.len());
        let breaks = forms::without_breaks(text);
        let folded = std::iter::once(text).chain(breaks.as_deref()).filter_map(|text| {
            let (plain, places) = (forms::fold(text), forms::places(text));
            let starts = plain.char_indices().map(|(at, _)| at);
            begun(&self.forms.folded, &plain, starts).map(|at| places[at].start)
        });
        let open = folded.min().unwrap_or(text.len()).min(exact);
        // Marks of a code are covered with it.
        text[..open].trim_end_matches(['\\', '%', '&', '#']).len()
    }
}

/// The first place from which on all that there is of a text is the beginning of a form.
fn begun(forms: &BTreeSet<String>, text: &str, mut starts: impl Iterator<Item = usize>) -> Option<usize> {
    let begins = |at: &usize| {
        let end = &text[*at..];
        forms.range::<str, _>((Included(end), Unbounded)).next().is_some_and(|form| form.starts_with(end))
    };
    starts.find(begins)
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[test]
    fn a_text_in_pieces_is_covered_as_it_is_in_one() {
        let secrets = ["hunter2024-secret", "hunter2024-secret-and-more", "ab\"c", "ünder-cover-9"];
        let secrets = secrets.map(SecretString::from);
        let redactor = Redactor::new(&secrets);
        for text in [
            "before hunter2024-secret after",
            "HUNTER 2024 - SECRET and more or less",
            "hunter2024-secret-and-more hunter2024-secret-and-hunter2024-secret",
            "%68%75%6e%74%65%72%32%30%32%34%2d%73%65%63%72%65%74 & ab\"c",
            "hunter2024\\n-sec\\nret ünder-cover-9 ÜNDER COVER 9",
            "aHVudGVyMjAyNC1zZWNyZXQ= hunt ab ter2024",
            "nothing of it",
        ] {
            let whole = redactor.redact_str(text);
            for size in [1, 2, 3, 7] {
                let mut stream = RedactedStream::new(redactor.clone());
                let chars: Vec<char> = text.chars().collect();
                let pieces = chars.chunks(size).map(|piece| piece.iter().collect::<String>());
                let mut shown: String = pieces.map(|piece| stream.push(&piece)).collect();
                shown.push_str(&stream.finish());
                assert_eq!(shown, whole, "{size}");
            }
        }
    }

    #[test]
    fn what_cannot_be_a_secret_is_shown_at_once() {
        let redactor = Redactor::new([&SecretString::from("hunter2024-secret")]);
        let mut stream = RedactedStream::new(redactor);
        // No form begins with this letter.
        assert_eq!(stream.push("you see: ž! "), "you see: ž! ");
        assert_eq!(stream.push("the hunter"), "the ");
        assert_eq!(stream.push("ž "), "hunterž ");
        assert_eq!(stream.finish(), "");
    }
}
