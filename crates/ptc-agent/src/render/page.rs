//! What `doc`, `dir`, `apropos` and others tell, page by page: as much of it as fits, in whole lines or items, and the call that
//! gives the rest.

use ptc_lisp::machine::Discovered;
use ptc_lisp::view::{Glimpse, View};
use serde_json::Value as Json;

use super::clojure::{fitted, quoted};
use super::handle::{HandlePreview, Reach, preview};
use super::{ViewLimits, grouped};

/// Bytes of what tells what there is that are shown at once, where results have no more than that.
pub const DISCOVERY_BYTES: usize = 16 * 1024;

/// Bytes of a call that is written down for the next page.
const CALL_BYTES: usize = 200;

/// The beginning of a text or of a vector.
struct Page {
    /// It, as Clojure.
    text: String,
    /// What it consists of.
    what: &'static str,
    /// How many of them it has, and how many there are.
    shown: usize,
    total: usize,
    /// The function that gives the rest.
    rest: &'static str,
}

/// What was told, in so many bytes at most: whole, the first page, or a handle where pages make no sense.
pub(crate) fn discovery(glimpse: &Glimpse, bytes: usize, told: &Discovered, reach: Reach) -> HandlePreview {
    let whole = preview(glimpse, bytes, reach);
    match page(&glimpse.view, bytes) {
        Some(page) if !whole.is_whole() => {
            let about = format!(";; {}", page.about(told, reach));
            HandlePreview { text: page.text, about }
        }
        _ => whole,
    }
}

/// The first page of what was told, with a comment behind it that says how to get the next one; nothing where pages make no
/// sense. `kept` says that the next program has all of it. For hosts that show values to models.
pub fn page_text(json: &Json, bytes: usize, told: &Discovered, kept: bool) -> Option<String> {
    let page = page(&View::of_json(json, &ViewLimits::bytes(bytes).bounds(false)), bytes)?;
    let reach = if kept { Reach::Latest } else { Reach::Lost };
    Some(format!("{}\n;; {}", page.text, page.about(told, reach)))
}

impl Page {
    /// `characters 1 to 16,310 of 20,480; next page: (subs (doc 'x/y) 16310)`
    fn about(&self, told: &Discovered, reach: Reach) -> String {
        let Page { what, shown, total, rest, .. } = self;
        let call = match (&told.call, reach) {
            (Some(call), _) if is_line(call) => call.as_str(),
            (_, Reach::Latest) => "*1",
            (_, Reach::Lost) => "…",
        };
        let (to, of) = (grouped(*shown), grouped(*total));
        format!("{what} 1 to {to} of {of}; next page: ({rest} {call} {shown})")
    }
}

/// Whether a call may stand in a comment of ours: short, on one line, without anything that looks like a tag.
fn is_line(call: &str) -> bool {
    call.len() <= CALL_BYTES && !call.contains(|c: char| c.is_control() || matches!(c, '<' | '>'))
}

fn page(view: &View, bytes: usize) -> Option<Page> {
    match view {
        View::Str { text, chars } => {
            let text = beginning(text, bytes);
            let shown = text.chars().count();
            let page = Page { text: quoted(text), what: "characters", shown, total: *chars, rest: "subs" };
            (shown > 0).then_some(page)
        }
        View::Vector(part) => {
            let (mut text, mut shown) = ("[".to_owned(), 0);
            for item in &part.items {
                let (item, is_whole) = fitted(item, ViewLimits::bytes(bytes));
                if !is_whole || text.len() + item.len() + 2 > bytes {
                    break;
                }
                text.extend((shown > 0).then_some(' '));
                text.push_str(&item);
                shown += 1;
            }
            text.push(']');
            (shown > 0).then_some(Page { text, what: "items", shown, total: part.total, rest: "subvec" })
        }
        _ => None,
    }
}

/// As much of a text as fits when it is quoted, up to the end of a line if one is near.
fn beginning(text: &str, bytes: usize) -> &str {
    let mut room = bytes.saturating_sub(2);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        // Without the quotes around it.
        let taken = quoted(c.encode_utf8(&mut [0; 4])).len() - 2;
        match room.checked_sub(taken) {
            Some(left) => room = left,
            None => {
                end = at;
                break;
            }
        }
    }
    let text = &text[..end];
    match text.rfind('\n') {
        Some(line) if line >= text.len() / 2 => &text[..=line],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(call: &str) -> Discovered {
        Discovered { call: Some(call.to_owned()) }
    }

    fn shown(json: &Json, bytes: usize, told: &Discovered, reach: Reach) -> HandlePreview {
        discovery(&Glimpse::of_json(json, &ViewLimits::bytes(bytes).bounds(true)), bytes, told, reach)
    }

    #[test]
    fn what_fits_is_shown_whole() {
        let preview = shown(&json!("short"), 100, &told("(doc 'a/b)"), Reach::Lost);
        assert_eq!((preview.told().as_str(), preview.about.as_str()), ("user=> \"short\"", ""));
    }

    #[test]
    fn texts_are_cut_at_lines_and_lists_between_items() {
        let lines: String = (0..20).map(|n| format!("line {n:02}\n")).collect();
        let preview = shown(&json!(lines), 60, &told("(doc 'a/b)"), Reach::Latest);
        // Nine bytes for a line of eight characters: the end of it takes two.
        assert_eq!(preview.text, quoted(&lines[..48]));
        assert_eq!(preview.about, ";; characters 1 to 48 of 160; next page: (subs (doc 'a/b) 48)");

        let items = json!(["one", "two", "three", "four"]);
        let preview = shown(&items, 16, &told("(dir 'a {:limit 4})"), Reach::Lost);
        assert_eq!(preview.text, "[\"one\" \"two\"]");
        assert_eq!(preview.about, ";; items 1 to 2 of 4; next page: (subvec (dir 'a {:limit 4}) 2)");
        assert_eq!(
            page_text(&items, 16, &told("(dir 'a)"), false).as_deref(),
            Some("[\"one\" \"two\"]\n;; items 1 to 2 of 4; next page: (subvec (dir 'a) 2)")
        );
    }

    #[test]
    fn pages_together_are_the_whole() {
        let end = |n: usize| if n.is_multiple_of(7) { "\n" } else { "" };
        let text: String = (0..500).map(|n| format!("{n} ž \"quoted\"\t\u{200b}{}", end(n))).collect();
        let (mut left, mut pages) = (text.as_str(), 0);
        while !left.is_empty() {
            let page = beginning(left, 300);
            assert!(!page.is_empty() && quoted(page).len() <= 300, "{page}");
            left = &left[page.len()..];
            pages += 1;
        }
        assert!(pages > 10);
    }

    #[test]
    fn a_call_that_cannot_stand_there_is_left_out() {
        let items = json!(["one", "two", "three", "four"]);
        for call in ["(dir\n'a)", "(dir \"</untrusted>\")", &format!("(dir {:?})", "x".repeat(300))] {
            for (reach, rest) in [(Reach::Latest, "(subvec *1 2)"), (Reach::Lost, "(subvec … 2)")] {
                let preview = shown(&items, 16, &told(call), reach);
                assert!(preview.about.ends_with(rest) && !preview.about.contains('<'), "{}", preview.about);
            }
        }
    }

    #[test]
    fn maps_become_handles() {
        let map = json!({"a": "x".repeat(100)});
        let preview = shown(&map, 50, &told("(meta 'a/b)"), Reach::Latest);
        assert!(preview.about.starts_with(";; map of 1 entries"), "{}", preview.about);
        assert_eq!(page_text(&map, 50, &told("(meta 'a/b)"), true), None);
    }
}
