//! Previews, and handles on values that are too large to show.
//!
//! A handle is one Clojure map:
//! `{:type vector :count 1000 :bytes 48210 :of {:id int :name string} :head […] :tail […] :all *1}`. What stands
//! under `:all` is the expression that gives the whole value in the next program.

use ptc_lisp::view::{Glimpse, Part, View};

use super::clojure::fitted;
use super::shape::shape;
use super::{Limits, type_name};

/// How the next program gets all of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is the latest value, and kept whole.
    Latest,
    /// It is a definition.
    Named(String),
    /// It is not kept.
    Lost,
}

impl Reach {
    fn expression(&self) -> Option<&str> {
        match self {
            Reach::Latest => Some("*1"),
            Reach::Named(name) => Some(name),
            Reach::Lost => None,
        }
    }
}

/// A value as a model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Preview {
    /// The value, or a handle on it: one line that can be read as Clojure.
    pub text: String,
    /// Whether it is the value itself.
    pub whole: bool,
    /// What to know about a handle, in a comment.
    pub hint: Option<String>,
}

impl Preview {
    /// The text with the hint below it.
    pub fn with_hint(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\n{hint}", self.text),
            None => self.text.clone(),
        }
    }
}

/// A value in at most about `limits.chars` characters: itself if it fits, else a handle (3.43).
pub(crate) fn preview(glimpse: &Glimpse, limits: Limits, reach: &Reach) -> Preview {
    let (text, whole) = fitted(&glimpse.view, limits);
    if whole {
        return Preview { text, whole, hint: None };
    }
    let limit = limits.chars;
    let advice = match reach.expression() {
        Some(expression) => format!("the next program can use all of it as {expression}"),
        None => "it is not kept: give it a name with (def name …) to use all of it".to_owned(),
    };
    let hint = Some(format!(";; too long to show whole (limit {limit} characters); {advice}"));
    Preview { text: handle(glimpse, limits, reach), whole, hint }
}

fn handle(glimpse: &Glimpse, limits: Limits, reach: &Reach) -> String {
    let view = &glimpse.view;
    let (kind, count, open) = match view {
        View::Vector(part) => ("vector", part.total, part.open),
        View::List(part) => ("list", part.total, part.open),
        View::Set(part) => ("set", part.total, false),
        View::Map { total, .. } => ("map", *total, false),
        View::Str { chars, .. } => ("string", *chars, false),
        other => (type_name(other), 1, false),
    };
    let counted = match view {
        View::Str { .. } => ":chars",
        _ if open => ":count-at-least",
        _ => ":count",
    };
    let start = format!("{{:type {kind} {counted} {count} :bytes {}", glimpse.bytes);
    let end = reach.expression().map_or("}".to_owned(), |all| format!(" :all {all}}}"));
    let room = limits.chars.saturating_sub(start.chars().count() + end.chars().count());
    let mut middle = String::new();
    let mut left = room;
    let mut put = |key: &str, text: Option<String>, most: usize, left: &mut usize| {
        let Some(text) = text else { return };
        let field = format!(" {key} {text}");
        let chars = field.chars().count();
        if chars <= most.min(*left) {
            *left -= chars;
            middle.push_str(&field);
        }
    };
    put(":of", shape(view, room * 2 / 5), room * 2 / 5 + 5, &mut left);
    let tail = tail(glimpse, room / 4, limits);
    let for_tail = tail.as_ref().map_or(0, |tail| tail.chars().count() + 7);
    let for_head = left.saturating_sub(for_tail);
    put(":head", head(view, for_head.saturating_sub(7), limits), for_head, &mut left);
    put(":tail", tail, room / 4 + 7, &mut left);
    format!("{start}{middle}{end}")
}

/// The first items, entries or characters.
fn head(view: &View, room: usize, limits: Limits) -> Option<String> {
    let items = limits.items;
    match view {
        View::Vector(_) | View::List(_) | View::Set(_) | View::Map { .. } | View::Str { .. } => {
            Some(fitted(view, Limits { items, chars: room }).0).filter(|text| says_something(text))
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
fn tail(glimpse: &Glimpse, room: usize, limits: Limits) -> Option<String> {
    if let (View::Str { .. }, [end @ View::Str { .. }]) = (&glimpse.view, glimpse.tail.as_slice()) {
        let (text, whole) = fitted(end, Limits { items: 1, chars: room });
        return whole.then_some(text);
    }
    let ends = (0..glimpse.tail.len()).map(|from| &glimpse.tail[from..]);
    ends.filter_map(|items| {
        let part = Part { items: items.to_vec(), total: items.len(), open: false };
        let (text, whole) = fitted(&View::Vector(part), Limits { items: limits.items, chars: room });
        ((whole || items.len() == 1) && says_something(&text)).then_some(text)
    })
    .next()
}

#[cfg(test)]
mod tests {
    use ptc_lisp::reader::{ReadLimits, read_all};
    use serde_json::{Value as Json, json};

    use super::*;

    const LIMITS: Limits = Limits { items: 50, chars: 250 };

    fn shown(json: &Json, limits: Limits, reach: &Reach) -> Preview {
        preview(&Glimpse::of_json(json, &limits.bounds(true)), limits, reach)
    }

    fn rows(count: usize) -> Json {
        (0..count).map(|id| json!({"id": id, "name": format!("row {id}"), "_key": "k"})).collect()
    }

    #[test]
    fn r3_43_what_fits_is_shown_whole() {
        let preview = shown(&json!({"a": [1, 2], "b c": null}), LIMITS, &Reach::Latest);
        assert_eq!(preview.text, "{:a [1 2] \"b c\" nil}");
        assert!(preview.whole && preview.hint.is_none());
    }

    #[test]
    fn a_large_value_becomes_a_handle_that_says_how_to_reach_it() {
        let preview = shown(&rows(1000), LIMITS, &Reach::Latest);
        assert!(!preview.whole);
        for part in [
            "{:type vector :count 1000 :bytes ",
            " :of {:id int :name string :_key <Firewalled>}",
            " :head [{:id 0 :name \"row 0\" :_key <Firewalled>}",
            " :tail [{:id 999 :name \"row 999\" :_key <Firewalled>}]",
            " :all *1}",
        ] {
            assert!(preview.text.contains(part), "{part} is not in {}", preview.text);
        }
        assert!(preview.text.chars().count() <= LIMITS.chars, "{}", preview.text);
        assert!(preview.hint.as_deref().is_some_and(|hint| hint.contains("*1") && hint.contains("250")));
        let named = shown(&rows(1000), LIMITS, &Reach::Named("rows".to_owned()));
        assert!(named.text.ends_with(" :all rows}"));
        let lost = shown(&rows(1000), LIMITS, &Reach::Lost);
        assert!(!lost.text.contains(":all") && lost.hint.is_some_and(|hint| hint.contains("(def ")));
    }

    #[test]
    fn handles_are_made_of_everything_large() {
        let fields = |count: usize| -> Json {
            Json::Object((0..count).map(|at| (format!("k{at}"), json!(at))).collect())
        };
        let cases = [
            (json!("x".repeat(5000)), "{:type string :chars 5000 :bytes 5002"),
            (fields(300), "{:type map :count 300 "),
            (json!([["x".repeat(900)], [1]]), "{:type vector :count 2 "),
            (json!((0..2000).collect::<Vec<i32>>()), ":of int :head [0 1 2 "),
            (json!([1, "a".repeat(600)]), ":of any "),
            (json!([{"a": 1}, {"a": null, "b": "x".repeat(600)}]), ":of {:a int :b string?}"),
        ];
        for (json, part) in cases {
            let preview = shown(&json, LIMITS, &Reach::Latest);
            assert!(preview.text.contains(part), "{part} is not in {}", preview.text);
            assert!(preview.text.chars().count() <= LIMITS.chars, "{}", preview.text);
        }
    }

    #[test]
    fn handles_can_be_read_whatever_the_limit() {
        let deep = (0..30).fold(json!(1), |inner, _| json!({"k": [inner, "text \"quoted\" \u{200b}"]}));
        let odd = json!({"": 1, "a b": 2, "//": 3, "1": 4, ":x": 5, "ž": 6, "\"": 7, "a/b/c": 8});
        for json in [rows(40), deep, odd, json!("\\\"\n".repeat(400)), json!({"k": "y".repeat(999)})] {
            for chars in (0..400).step_by(7) {
                for items in [0, 1, 3, 50] {
                    let preview = shown(&json, Limits { items, chars }, &Reach::Latest);
                    let forms = read_all(&preview.text, &ReadLimits::default());
                    assert!(forms.is_ok_and(|forms| forms.len() == 1), "{}", preview.text);
                    assert!(preview.text.chars().count() <= chars.max(90), "{chars}: {}", preview.text);
                }
            }
        }
    }
}
