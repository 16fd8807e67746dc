//! The one renderer: whatever a model sees of values passes here.
//!
//! Values come as [`View`]s, which are bounded and have left out what is behind the firewall; JSON of the host
//! becomes a view first. A value that is too large to show becomes a handle ([`handle`]):
//! comments with type, count, size, shape, head and tail, and the way to all of it. Text of the world outside
//! stands in a block that it cannot end ([`untrusted`]), and a [`Veil`] covers hidden texts that a program
//! took out of their fields.

mod beginning;
mod clojure;
mod handle;
mod label;
mod marks;
mod options;
mod page;
#[cfg(test)]
pub(crate) mod properties;
mod shape;
mod sketch;
mod untrusted;
mod veil;

use ptc_lisp::view::{Bounds, Glimpse, View};
use ptc_signature::{Path, Segment, keys};
use serde_json::Value as Json;

pub(crate) use clojure::quoted;
use handle::handle;
pub(crate) use handle::{HandlePreview, Reach, preview};
pub(crate) use label::{label, type_name};
pub use options::{FormatOptions, MissionLogIn, PRINT_BYTES, RESULT_BYTES};
pub(crate) use page::discovery;
pub use page::{DISCOVERY_BYTES, page_text};
pub use sketch::grouped;
pub(crate) use sketch::{Schema, Sketch};
pub(crate) use untrusted::{block, bytes_as_json, disarm, framed_bytes, neutralise};
pub(crate) use veil::Veil;

/// What is shown in place of a hidden value.
pub(crate) const FIREWALLED: &str = "<Firewalled>";

/// How much of a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewLimits {
    /// Items of each collection.
    pub items: usize,
    /// Characters of the whole text.
    pub chars: usize,
}

impl ViewLimits {
    /// Samples in inventories (3.16).
    pub const SAMPLE: ViewLimits = ViewLimits { items: 3, chars: 80 };
    /// A value that is quoted in a complaint (3.34).
    pub const RECEIVED: ViewLimits = ViewLimits { items: 20, chars: 200 };
    /// A value in the mission log (12.5).
    pub const LOGGED: ViewLimits = ViewLimits { items: 20, chars: 200 };
    /// What is looked at to say what a definition is like.
    pub const SKETCHED: ViewLimits = ViewLimits { items: 100, chars: 128 };
    /// A value among the data of a text prompt (5.10).
    pub const CONTEXT: ViewLimits = ViewLimits { items: 100, chars: 200 };

    /// So many bytes and nothing else: an item takes two at least.
    pub const fn bytes(bytes: usize) -> ViewLimits {
        ViewLimits { items: bytes / 2 + 1, chars: bytes }
    }

    /// The bounds of a view that these limits need. Values that are shown whole may nest as deep as they like.
    pub fn bounds(self, firewall: bool) -> Bounds {
        let ViewLimits { items, chars } = self;
        Bounds { items, string_chars: chars, depth: 64, tail: 3, sorted: false, firewall }
    }

    /// The same for a sample, whose keys are sorted.
    pub fn sample_bounds(self, firewall: bool) -> Bounds {
        Bounds { sorted: true, tail: 0, ..self.bounds(firewall) }
    }
}

/// A sample for an inventory: `[1 2 ...] (2/5)`, `"abc..." (80/200 chars)` (3.16).
pub(crate) fn sample(view: &View, limits: ViewLimits) -> String {
    clojure::sample(view, limits)
}

/// The text of a view in at most about so many characters, cut only between values. It can be read as
/// Clojure, also where something is left out: `[1 2 ...+98]`.
pub(crate) fn brief(view: &View, limits: ViewLimits) -> String {
    clojure::fitted(view, limits).0
}

/// A view as Clojure text in about so many characters, with so many items of each collection; what is left out
/// is counted: `[1 2 ...+98]`. For hosts that show values to models.
pub fn preview_text(view: &View, items: usize, chars: usize) -> String {
    brief(view, ViewLimits { items, chars })
}

/// What a value is that does not fit so many bytes, as comments of Clojure: kind, count, size and what is said of the `rest` of
/// it, then shape, beginning and end. For hosts that show values to models.
pub fn handle_text(json: &Json, bytes: usize, rest: &str) -> String {
    // Enough for a beginning, so that an end is left.
    let limits = ViewLimits { items: 50, chars: bytes };
    let shaped = View::of_json(json, &ViewLimits { items: SHAPED, chars: 256 }.bounds(false));
    handle(&Glimpse::of_json(json, &limits.bounds(false)), &shaped, limits, rest)
}

/// A text of [`handle_text`], divided into words of the host and what is made of the value, which is data.
pub fn handle_parts(handle: &str) -> (&str, &str) {
    handle::parts(handle)
}

/// Items of a collection that are looked at for its shape.
const SHAPED: usize = 2_000;

/// The part of a view at a place, if it shows that much.
pub(crate) fn at_path<'v>(view: &'v View, path: &Path) -> Option<&'v View> {
    path.0.iter().try_fold(view, |view, segment| match (view, segment) {
        (View::Vector(part) | View::List(part) | View::Set(part), Segment::Index(at)) => part.items.get(*at),
        (View::Map { entries, .. }, Segment::Field(name)) => {
            let is_meant = |key: &View| match key {
                View::Keyword(key) | View::Str { text: key, .. } => keys::same(key, name),
                _ => false,
            };
            entries.iter().find(|(key, _)| is_meant(key)).map(|(_, value)| value)
        }
        _ => None,
    })
}

/// A number that JSON may not hold as it is, with its kind.
pub(crate) fn number_text(view: &View) -> Option<String> {
    match view {
        View::Big(_) | View::Decimal(_) => {
            Some(format!("{} {}", type_name(view), brief(view, ViewLimits::RECEIVED)))
        }
        _ => None,
    }
}

/// The same as [`brief`] for JSON.
pub(crate) fn brief_json(json: &Json, limits: ViewLimits, firewall: bool) -> String {
    brief(&View::of_json(json, &limits.bounds(firewall)), limits)
}

/// JSON as a model may see it: what stands under names that begin with `_` is replaced. JSON of hosts nests no
/// deeper than its reader allowed.
pub(crate) fn masked_json(json: &Json, firewall: bool) -> Json {
    match json {
        _ if !firewall => json.clone(),
        Json::Array(items) => items.iter().map(|item| masked_json(item, true)).collect(),
        Json::Object(fields) => {
            let masked = fields.iter().map(|(key, value)| {
                let hidden = ptc_lisp::view::is_hidden_name(key);
                (key.clone(), if hidden { Json::from(FIREWALLED) } else { masked_json(value, true) })
            });
            Json::Object(masked.collect())
        }
        other => other.clone(),
    }
}

/// As much of a text as may be shown, and our words about the rest. They are apart: what is shown may be data, and data
/// must not look like our words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut<'t> {
    /// The beginning, or all of it.
    pub kept: &'t str,
    /// How much is missing; empty if nothing is.
    pub missing: String,
}

/// The beginning of a text, by bytes (3.40, 3.44). It ends with a whole line if that is not much less.
pub(crate) fn cut(text: &str, bytes: usize) -> Cut<'_> {
    if text.len() <= bytes {
        return Cut { kept: text, missing: String::new() };
    }
    let end = text.floor_char_boundary(bytes);
    let (kept, rest, at_line) = match text[..end].rfind('\n').filter(|at| *at >= end / 2) {
        Some(line) => (&text[..line], &text[line + 1..], true),
        None => (&text[..end], &text[end..], false),
    };
    let lines = |count: usize| format!("{} more line{}", grouped(count), if count == 1 { "" } else { "s" });
    let lines = match (at_line, rest.matches('\n').count()) {
        (true, more) => format!(" in {}", lines(more + 1)),
        (false, 0) => String::new(),
        (false, more) => format!(", the rest of the line and {},", lines(more)),
    };
    let characters = grouped(rest.chars().count());
    Cut { kept, missing: format!("... ({characters} characters{lines} are missing here)") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r3_16_samples_are_short_and_say_how_much_there_is() {
        let cases = [
            (json!([1, 2, 3]), "[1 2 3]"),
            (json!([1, 2, 3, 4, 5]), "[1 2 3 ...] (3/5)"),
            (json!({"b": 1, "a": 2}), "{:a 2 :b 1}"),
            (json!({"c": 1, "b": 2, "a": 3}), "{:a 3 :b 2 ...} (2/3)"),
            (json!("x".repeat(200)), &format!("\"{}...\" (80/200 chars)", "x".repeat(80))),
            (json!({"_key": "secret", "n": null}), "{:_key <Firewalled> :n nil}"),
            (json!([{"id": 1, "tags": ["a", "b"]}]), "[{:id 1 :tags [\"a\" \"b\"]}]"),
            (json!([]), "[]"),
            (json!({}), "{}"),
            (json!(1.5), "1.5"),
            (json!("a\"b\n"), "\"a\\\"b\\n\""),
        ];
        for (json, expected) in cases {
            let view = View::of_json(&json, &ViewLimits::SAMPLE.sample_bounds(true));
            assert_eq!(sample(&view, ViewLimits::SAMPLE), expected);
        }
    }

    #[test]
    fn r3_44_text_is_cut_by_bytes_between_characters_and_says_how_much_is_missing() {
        let cases = [
            ("žluť", 6, "žluť", ""),
            ("žluťoučký", 7, "žluťo", "... (4 characters are missing here)"),
            ("žluťoučký", 5, "žlu", "... (6 characters are missing here)"),
            ("one\ntwo", 7, "one\ntwo", ""),
            ("one\ntwo\nthree\nžž", 9, "one\ntwo", "... (8 characters in 2 more lines are missing here)"),
            ("one\ntwo\nthree", 9, "one\ntwo", "... (5 characters in 1 more line are missing here)"),
            (
                "a long line\nb\nc",
                6,
                "a long",
                "... (9 characters, the rest of the line and 2 more lines, are missing here)",
            ),
        ];
        for (text, bytes, kept, missing) in cases {
            assert_eq!(cut(text, bytes), Cut { kept, missing: missing.to_owned() }, "{text}");
        }
    }

    #[test]
    fn d1_json_for_models_hides_firewalled_fields() {
        let json = json!({"a": [{"_b": "secret", "c": 1}]});
        assert_eq!(masked_json(&json, true), json!({"a": [{"_b": "<Firewalled>", "c": 1}]}));
        assert_eq!(masked_json(&json, false), json);
        assert_eq!(brief_json(&json, ViewLimits::RECEIVED, true), "{:a [{:_b <Firewalled> :c 1}]}");
        assert_eq!(brief_json(&json, ViewLimits::RECEIVED, false), "{:a [{:_b \"secret\" :c 1}]}");
    }
}
