//! Results as models see them: whole, or a handle on one that is too large to show.
//!
//! A handle is comments, so that nobody takes it for the value. Some are made of the value, and stand where values do:
//!
//! ```clojure
//! ;; each: {:id int :name string}
//! ;; head: [{:id 0 :name "a"} ...+999]
//! ;; tail: [{:id 999 :name "z"}]
//! ```
//!
//! The others are our words, and stand outside of what is marked as data:
//!
//! ```clojure
//! ;; vector of 1,000 items, 48,210 bytes; results are shown whole up to 8,192 bytes
//! ;; all of it: *1
//! ```

use ptc_lisp::view::{Glimpse, Part, View};

use super::clojure::fitted;
use super::shape::shape;
use super::{ViewLimits, grouped, type_name};

/// How the next program gets all of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is the latest value, and kept whole.
    Latest,
    /// It is not kept.
    Lost,
}

/// A result as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandlePreview {
    /// The value on one line that can be read as Clojure, or what a handle shows of it.
    pub text: String,
    /// What a handle says in our words; nothing if the value itself is shown.
    pub about: String,
}

impl HandlePreview {
    /// The text as a REPL shows it; a handle has no prompt before it.
    pub fn told(&self) -> String {
        if self.is_whole() { format!("user=> {}", self.text) } else { self.text.clone() }
    }

    /// Whether it is the value itself.
    pub fn is_whole(&self) -> bool {
        self.about.is_empty()
    }
}

/// Most characters of a handle, where results may have more.
const HANDLE: usize = 1_024;

/// A result in at most so many bytes: itself if it fits, else a handle (3.43).
pub(crate) fn preview(glimpse: &Glimpse, bytes: usize, reach: Reach) -> HandlePreview {
    let limits = ViewLimits::bytes(bytes);
    let (text, whole) = fitted(&glimpse.view, limits);
    if whole && text.len() <= bytes {
        return HandlePreview { text, about: String::new() };
    }
    let rest = match reach {
        Reach::Latest => "all of it: *1",
        Reach::Lost => "it is not kept: give it a name with (def name …) to use all of it",
    };
    HandlePreview {
        text: comments(&seen(glimpse, &glimpse.view, limits)),
        about: comments(&[measured(glimpse, limits), rest.to_owned()]),
    }
}

/// What a result is, in comments: how large it is and what is with the rest of it, then what is seen of it. Its shape is
/// that of another view of it, which may have more items.
pub(super) fn handle(glimpse: &Glimpse, shaped: &View, limits: ViewLimits, rest: &str) -> String {
    let mut lines = vec![measured(glimpse, limits), rest.to_owned()];
    lines.extend(seen(glimpse, shaped, limits));
    comments(&lines)
}

/// A handle as [`handle`] makes it, divided into our words about the value and what is made of the value.
pub(super) fn parts(handle: &str) -> (&str, &str) {
    let second = handle.match_indices('\n').nth(1);
    let end = second.map_or(handle.len(), |(at, _)| at);
    (&handle[..end], handle[end..].trim_start_matches('\n'))
}

fn comments(lines: &[String]) -> String {
    lines.iter().map(|line| format!(";; {line}")).collect::<Vec<_>>().join("\n")
}

/// How large a result is, and how large it may be to be shown.
fn measured(glimpse: &Glimpse, limits: ViewLimits) -> String {
    let (bytes, shown) = (grouped(glimpse.bytes), grouped(limits.chars));
    format!("{}, {bytes} bytes; results are shown whole up to {shown} bytes", size(&glimpse.view))
}

/// What is seen of a result: its shape, its beginning and its end.
fn seen(glimpse: &Glimpse, shaped: &View, limits: ViewLimits) -> Vec<String> {
    let view = &glimpse.view;
    let room = limits.chars.min(HANDLE);
    let looked_at = match shaped {
        View::Map { .. } => "of".to_owned(),
        View::Vector(part) | View::List(part) | View::Set(part) if part.items.len() < part.total => {
            format!("each of the first {}", grouped(part.items.len()))
        }
        _ => "each".to_owned(),
    };
    let parts = [
        (looked_at.as_str(), shape(shaped, room * 2 / 5)),
        ("head", head(view, room * 2 / 5, limits)),
        ("tail", tail(glimpse, room / 5, limits)),
    ];
    parts.into_iter().filter_map(|(name, text)| Some(format!("{name}: {}", text?))).collect()
}

/// What a value is and how much of it there is.
fn size(view: &View) -> String {
    let (kind, count, open) = match view {
        View::Vector(part) => ("vector", part.total, part.open),
        View::List(part) => ("list", part.total, part.open),
        View::Set(part) => ("set", part.total, false),
        View::Map { total, .. } => ("map", *total, false),
        View::Str { chars, .. } => return format!("string of {} characters", grouped(*chars)),
        other => return type_name(other).to_owned(),
    };
    let what = if kind == "map" { "entries" } else { "items" };
    format!("{kind} of {}{} {what}", grouped(count), if open { " or more" } else { "" })
}

/// The first items, entries or characters.
fn head(view: &View, room: usize, limits: ViewLimits) -> Option<String> {
    let items = limits.items;
    match view {
        View::Vector(_) | View::List(_) | View::Set(_) | View::Map { .. } | View::Str { .. } => {
            Some(fitted(view, ViewLimits { items, chars: room }).0).filter(|text| says_something(text))
        }
        _ => None,
    }
}

/// Whether a text has more in it than brackets and signs for what is left out.
fn says_something(text: &str) -> bool {
    let words = text.split(|c: char| c.is_whitespace() || "[](){}#\"".contains(c));
    words
        .into_iter()
        .any(|word| !word.is_empty() && !word.starts_with("...") && !word.starts_with('+') && word != "chars")
}

/// The last items or characters: as many as fit whole, or one that is shortened.
fn tail(glimpse: &Glimpse, room: usize, limits: ViewLimits) -> Option<String> {
    if let (View::Str { .. }, [end @ View::Str { .. }]) = (&glimpse.view, glimpse.tail.as_slice()) {
        let (text, whole) = fitted(end, ViewLimits { items: 1, chars: room });
        return whole.then_some(text);
    }
    let ends = (0..glimpse.tail.len()).map(|from| &glimpse.tail[from..]);
    ends.filter_map(|items| {
        let part = Part { items: items.to_vec(), total: items.len(), open: false };
        let (text, whole) = fitted(&View::Vector(part), ViewLimits { items: limits.items, chars: room });
        ((whole || items.len() == 1) && says_something(&text)).then_some(text)
    })
    .next()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    const BYTES: usize = 250;

    fn shown(json: &Json, bytes: usize, reach: Reach) -> HandlePreview {
        preview(&Glimpse::of_json(json, &ViewLimits::bytes(bytes).bounds(true)), bytes, reach)
    }

    fn rows(count: usize) -> Json {
        (0..count).map(|id| json!({"id": id, "name": format!("row {id}"), "_key": "k"})).collect()
    }

    #[test]
    fn r3_43_what_fits_is_shown_whole() {
        let preview = shown(&json!({"a": [1, 2], "b c": null}), BYTES, Reach::Latest);
        assert_eq!(preview.told(), "user=> {:a [1 2] \"b c\" nil}");
        assert!(preview.is_whole());
        let many: Json = (0..2_000).collect();
        assert!(shown(&many, 10_000, Reach::Latest).is_whole(), "only bytes count, not items");
        let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
        assert!(shown(&deep, BYTES, Reach::Latest).is_whole(), "and not levels");
        let wide = json!("ž".repeat(200));
        assert!(!shown(&wide, BYTES, Reach::Latest).is_whole(), "bytes, not characters");
    }

    fn both(preview: &HandlePreview) -> String {
        format!("{}\n{}", preview.about, preview.text)
    }

    #[test]
    fn a_large_value_becomes_a_handle_that_does_not_look_like_it_and_says_how_to_reach_it() {
        let preview = shown(&rows(1000), BYTES, Reach::Latest);
        assert!(!preview.is_whole() && !preview.told().contains("user=>"));
        assert!(preview.about.starts_with(";; vector of 1,000 items, "), "{}", preview.about);
        assert!(
            preview.about.ends_with(" bytes; results are shown whole up to 250 bytes\n;; all of it: *1"),
            "{}",
            preview.about
        );
        for part in [
            ";; each of the first 126: {:id int :name string :_key <Firewalled>}\n",
            "\n;; head: [{:id 0 :name \"row 0\" :_key <Firewalled>}",
            "\n;; tail: [{:id 999 :name \"row 999\" :_key <Firewalled>}]",
        ] {
            assert!(preview.text.contains(part), "{part} is not in {}", preview.text);
        }
        let lost = shown(&rows(1000), BYTES, Reach::Lost);
        assert!(!both(&lost).contains("*1") && lost.about.contains("(def "), "{}", both(&lost));
    }

    #[test]
    fn handles_are_made_of_everything_large() {
        let fields = |count: usize| -> Json {
            Json::Object((0..count).map(|at| (format!("k{at}"), json!(at))).collect())
        };
        let cases = [
            (json!("x".repeat(5000)), ";; string of 5,000 characters, 5,002 bytes;"),
            (fields(300), ";; map of 300 entries, "),
            (json!([["x".repeat(900)], [1]]), ";; vector of 2 items, "),
            (json!((0..2000).collect::<Vec<i32>>()), ";; each of the first 126: int\n;; head: [0 1 2 "),
            (json!([1, "a".repeat(600)]), ";; each: any\n"),
            (
                json!([{"a": 1}, {"a": null, "b": "x".repeat(600)}]),
                ";; each: {:a int? (50% nil) :b string? (in 50%)}",
            ),
        ];
        for (json, part) in cases {
            let preview = shown(&json, BYTES, Reach::Latest);
            assert!(both(&preview).contains(part), "{part} is not in {}", both(&preview));
        }
    }

    #[test]
    fn our_words_stand_first_in_handles_of_hosts_and_can_be_told_from_the_value() {
        let text = crate::handle_text(&rows(1000), 900, "all of it: *1");
        let (ours, data) = crate::handle_parts(&text);
        assert!(
            ours.starts_with(";; vector of 1,000 items, ") && ours.ends_with("\n;; all of it: *1"),
            "{ours}"
        );
        assert!(data.starts_with(";; each: {:id int ") && data.contains("\n;; tail: ["), "{data}");
        assert_eq!(format!("{ours}\n{data}"), text);
    }

    #[test]
    fn handles_are_comments_and_short_whatever_the_limit() {
        let deep = (0..30).fold(json!(1), |inner, _| json!({"k": [inner, "text \"quoted\" \u{200b}"]}));
        let odd = json!({"": 1, "a b": 2, "//": 3, "1": 4, ":x": 5, "ž": 6, "\"": 7, "a/b/c": 8});
        for json in [rows(40), deep, odd, json!("\\\"\n".repeat(400)), json!({"k": "y".repeat(999)})] {
            for bytes in (0..400).step_by(7) {
                let preview = shown(&json, bytes, Reach::Latest);
                if preview.is_whole() {
                    assert!(preview.text.len() <= bytes);
                    continue;
                }
                let text = both(&preview);
                assert!(text.trim_end().lines().all(|line| line.starts_with(";; ")), "{text}");
                assert!(text.chars().count() <= bytes + 240, "{bytes}: {text}");
            }
        }
    }
}
