//! Programs in wrappings that are no part of them: fences, JSON, the name of the language.

use ptc_lisp::analyze::SPECIALS;
use ptc_lisp::builtins::registry;
use ptc_lisp::reader::{ReadLimits, read_one};
use ptc_lisp::syntax::FormKind;
use serde_json::Value as Json;

use super::blocks::{Fence, begins_with_paren};
use super::chars::trim;
use super::repair::FixKind;

/// Words that models put before a program. None of them is defined, so none can be meant.
const LANGUAGES: [&str; 9] =
    ["clojure", "clj", "cljs", "edn", "lisp", "ptc-lisp", "ptc_lisp", "scheme", "user=>"];

/// Fields that hold the program where it comes as JSON.
const FIELDS: [&str; 2] = ["program", "code"];

/// What was inside a wrapping.
#[derive(Debug, PartialEq)]
pub(super) struct Unwrapped {
    pub(super) text: String,
    pub(super) kind: FixKind,
    pub(super) note: String,
}

impl Unwrapped {
    fn new(text: &str, kind: FixKind, note: impl Into<String>) -> Self {
        Unwrapped { text: text.trim().to_owned(), kind, note: note.into() }
    }
}

/// Takes one wrapping off, if there is one. What the model fenced as a program is not taken for a JSON
/// string: there a string means itself.
pub(super) fn once(text: &str, is_fenced: bool) -> Option<Unwrapped> {
    fences(text).or_else(|| wrapped(text).filter(|_| !(is_fenced && text.starts_with('"'))))
}

/// Whether the text is a program in some wrapping other than fences. Fences are told apart by whoever
/// looks for blocks, and one without an end is no wrapping but a reply that was cut.
pub(super) fn is_wrapped(text: &str) -> bool {
    wrapped(text).is_some_and(|inner| begins_with_paren(&inner.text))
}

fn wrapped(text: &str) -> Option<Unwrapped> {
    backticks(text).or_else(|| json(text)).or_else(|| language_word(text))
}

/// Lines of fences before and after the program. Backticks mean nothing in the language.
fn fences(text: &str) -> Option<Unwrapped> {
    let first = text.lines().next().filter(|line| Fence::opened_by(line).is_some());
    let inner = &text[first.map_or(0, str::len)..];
    let last = inner.lines().next_back().filter(|line| is_fence_end(line));
    let inner = &inner[..inner.len() - last.map_or(0, str::len)];
    ((first.is_some() || last.is_some()) && !trim(inner).is_empty())
        .then(|| Unwrapped::new(inner, FixKind::Fence, "took the program out of its code fence"))
}

fn is_fence_end(line: &str) -> bool {
    let line = trim(line);
    line.len() >= 3 && line.bytes().all(|b| b == b'`')
}

/// `` `(f)` ``
fn backticks(text: &str) -> Option<Unwrapped> {
    let inner = text.strip_prefix('`')?.strip_suffix('`')?;
    (begins_with_paren(inner) && !inner.contains('`'))
        .then(|| Unwrapped::new(inner, FixKind::Fence, "took the program out of its backticks"))
}

/// `{"program": "(f)"}`, a whole call written as JSON, or `"(f)"`.
fn json(text: &str) -> Option<Unwrapped> {
    if !text.starts_with(['{', '"']) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Json::String(inner) if calls_something_known(&inner) => {
            Some(Unwrapped::new(&inner, FixKind::Json, "took the program out of a JSON string"))
        }
        object @ Json::Object(_) => {
            let (field, inner) = program_field(&object)?;
            let note = format!("took the program out of the JSON field `{field}`");
            Some(Unwrapped::new(inner, FixKind::Json, note))
        }
        _ => None,
    }
}

/// The one field that holds the program, of the object or of the arguments of a call in it.
fn program_field(object: &Json) -> Option<(&'static str, &str)> {
    let calls = || ["arguments", "args", "input"].iter().filter_map(|name| object.get(name));
    own_program(object).or_else(|| calls().find_map(own_program))
}

fn own_program(object: &Json) -> Option<(&'static str, &str)> {
    let mut found = FIELDS.iter().filter_map(|field| Some((*field, object.get(field)?.as_str()?)));
    match (found.next(), found.next()) {
        (Some((field, text)), None) if !text.trim().is_empty() => Some((field, text)),
        _ => None,
    }
}

/// Whether the text is a call of something that the language has. A string in quotes may be meant as a
/// string; only what can be nothing but a program is taken out.
fn calls_something_known(text: &str) -> bool {
    let Ok(Some((form, _))) = read_one(text, &ReadLimits::default()) else { return false };
    let FormKind::List(items) = form.kind else { return false };
    match items.first().map(|head| &head.kind) {
        Some(FormKind::Symbol(name)) => is_known(name),
        _ => false,
    }
}

fn is_known(name: &str) -> bool {
    name.starts_with("tool/")
        || SPECIALS.contains(&name)
        || registry().unqualified(name).is_some()
        || registry().qualified(name).is_some()
}

/// `clojure (f)`
fn language_word(text: &str) -> Option<Unwrapped> {
    let end = text.find(|c: char| c.is_whitespace() || c == '(')?;
    let word = &text[..end];
    let name = word.strip_suffix(':').unwrap_or(word);
    let known = LANGUAGES.iter().any(|language| language.eq_ignore_ascii_case(name));
    (known && begins_with_paren(&text[end..])).then(|| {
        Unwrapped::new(&text[end..], FixKind::LanguageWord, format!("removed `{word}` before the program"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_25_wrappings_come_off() {
        for (text, inner, kind) in [
            ("```clojure\n(f)\n```", "(f)", FixKind::Fence),
            ("```clojure\n(f)", "(f)", FixKind::Fence),
            ("(f)\n```", "(f)", FixKind::Fence),
            ("`(f)`", "(f)", FixKind::Fence),
            (r#"{"program": "(f \"a\")"}"#, r#"(f "a")"#, FixKind::Json),
            (r#"{"code": "(f)", "why": "to see"}"#, "(f)", FixKind::Json),
            (r#"{"name": "lisp_eval", "arguments": {"program": "(f)"}}"#, "(f)", FixKind::Json),
            (r#""(return (+ 1 2))""#, "(return (+ 1 2))", FixKind::Json),
            (r#""(tool/find {:q 1})""#, "(tool/find {:q 1})", FixKind::Json),
            ("clojure\n(f)", "(f)", FixKind::LanguageWord),
            ("Lisp: (f)", "(f)", FixKind::LanguageWord),
            ("user=> (f)", "(f)", FixKind::LanguageWord),
        ] {
            let unwrapped = once(text, false).unwrap_or_else(|| panic!("{text:?} stays"));
            assert_eq!((unwrapped.text.as_str(), unwrapped.kind), (inner, kind), "{text:?}");
        }
    }

    #[test]
    fn r3_25_what_may_be_meant_stays() {
        for text in [
            "(f)",
            "\"(in brackets)\"",
            "\"plain\"",
            "{\"a\" 1}",
            "{:program \"(f)\"}",
            r#"{"program": "(f)", "code": "(g)"}"#,
            r#"{"program": " "}"#,
            "data/x",
            "clojure",
            "total (f)",
            "```clojure",
        ] {
            assert_eq!(once(text, false), None, "{text:?}");
        }
    }

    #[test]
    fn r3_25_a_string_in_a_fenced_program_means_itself() {
        assert_eq!(once("\"(max 3)\"", true), None);
        assert!(once("{\"program\": \"(max 3)\"}", true).is_some());
    }

    #[test]
    fn r3_21_a_cut_reply_is_not_taken_for_a_wrapped_program() {
        assert!(!is_wrapped("```clojure\n(+ 1"));
        assert!(is_wrapped(r#"{"program": "(f)"}"#));
    }
}
