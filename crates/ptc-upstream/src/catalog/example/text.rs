//! Texts of a format, of a pattern, and of a length.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value as Json};

use super::{ANY_TEXT, LONGEST, fit, whole};

/// Texts of the formats that schemas name.
const FORMATS: &[(&str, &str)] = &[
    ("date", "2026-01-31"),
    ("date-time", "2026-01-31T12:00:00Z"),
    ("time", "12:00:00Z"),
    ("duration", "P1D"),
    ("email", "someone@example.com"),
    ("idn-email", "someone@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com"),
    ("uri-reference", "https://example.com"),
    ("url", "https://example.com"),
    ("json-pointer", "/field"),
    ("regex", ".*"),
    ("uuid", "00000000-0000-4000-8000-000000000000"),
];

/// A text that a schema asks for.
pub fn text(fields: &Map<String, Json>) -> String {
    let word = |key: &str| fields.get(key).and_then(Json::as_str);
    let least = whole(fields, "minLength").unwrap_or(0).min(LONGEST);
    let most = whole(fields, "maxLength").unwrap_or(usize::MAX);
    let fits = |text: &String| {
        let length = text.chars().count();
        (least..=most).contains(&length) && word("pattern").is_none_or(|pattern| fit::matches(pattern, text))
    };
    let format = FORMATS.iter().find(|(format, _)| word("format") == Some(format)).map(|(_, text)| *text);
    if let Some(text) = format.map(str::to_owned).filter(fits) {
        return text;
    }
    let tried = match word("pattern").map(|pattern| matching(pattern, least)) {
        Some(tried) if !tried.is_empty() => tried,
        _ => vec![format.unwrap_or(ANY_TEXT).to_owned()],
    };
    if let Some(text) = tried.iter().find(|text| fits(text)) {
        return text.clone();
    }
    let made = tried.into_iter().next().unwrap_or_default();
    sized(made, least, most)
}

/// A text of a length between these. One that fits a pattern mostly goes on as it ends.
fn sized(mut text: String, least: usize, most: usize) -> String {
    let missing = least.saturating_sub(text.chars().count());
    let last = text.chars().last().unwrap_or('.');
    text.extend(std::iter::repeat_n(last, missing));
    if let Some((cut, _)) = text.char_indices().nth(most) {
        text.truncate(cut);
    }
    text
}

/// Texts that a pattern matches, more or less: with what may be left out, without it, and one that is long enough.
fn matching(pattern: &str, least: usize) -> Vec<String> {
    let Ok(hir) = regex_syntax::parse(pattern) else { return Vec::new() };
    let written = |shows: bool, more: usize| {
        let mut writing = Writing { text: String::new(), shows, more };
        writing.part(&hir, 0);
        writing.text
    };
    let (shown, short) = (written(true, 0), written(false, 0));
    let long = written(false, least.saturating_sub(short.chars().count()));
    let mut texts = vec![shown, short, long];
    texts.retain(|text| !text.is_empty());
    texts
}

struct Writing {
    text: String,
    /// Whether what may be left out is shown once.
    shows: bool,
    /// How often parts may still be repeated beyond that.
    more: usize,
}

impl Writing {
    fn part(&mut self, hir: &Hir, depth: usize) {
        if depth > 64 || self.text.len() > LONGEST {
            return;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.text.push_str(&String::from_utf8_lossy(&literal.0)),
            HirKind::Class(class) => self.text.extend(member(class)),
            HirKind::Repetition(repeated) => {
                let once = self.shows && repeated.max != Some(0) && depth < 8;
                let least = repeated.min.max(u32::from(once)) as usize;
                let room = repeated.max.map_or(LONGEST, |most| most as usize).saturating_sub(least);
                let more = self.more.min(room);
                self.more -= more;
                (0..(least + more).min(LONGEST)).for_each(|_| self.part(&repeated.sub, depth + 1));
            }
            HirKind::Capture(group) => self.part(&group.sub, depth + 1),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.part(part, depth + 1)),
            HirKind::Alternation(ways) => ways.iter().take(1).for_each(|way| self.part(way, depth + 1)),
        }
    }
}

/// A character of a class, one that people can read if there is one.
fn member(class: &Class) -> Option<char> {
    let holds = |wanted: char| match class {
        Class::Unicode(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&wanted))
        }
        Class::Bytes(class) => {
            class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&(wanted as u8)))
        }
    };
    let readable = ('a'..='z').chain('0'..='9').chain('A'..='Z');
    readable.into_iter().find(|c| holds(*c)).or_else(|| match class {
        Class::Unicode(class) => class.ranges().first().map(|range| range.start()),
        Class::Bytes(class) => class.ranges().first().map(|range| char::from(range.start())),
    })
}
