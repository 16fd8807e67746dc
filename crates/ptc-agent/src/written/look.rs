//! Views of JSON that is text: what `View::of_json` shows of the same value built, of which no more is built than that.

use std::borrow::Cow;

use ptc_lisp::view::{Bounds, View, is_hidden_name};

use super::{Datum, Passage, fields, items, text_parts};

/// A view shows no more values than this, all levels together.
const NODES: usize = 4_096;
/// Keys are sorted up to here.
const SORTED: usize = 4_096;

/// The view of JSON, built or not.
pub(crate) fn view(datum: Datum<'_>, bounds: &Bounds) -> View {
    look(datum, bounds, &mut { NODES })
}

/// Recurses as deep as the bounds allow.
fn look(datum: Datum<'_>, bounds: &Bounds, left: &mut usize) -> View {
    let Some(passage) = datum.long() else {
        let items = bounds.items.min(*left);
        let view = View::of_json(&datum.json(), &Bounds { items, ..bounds.clone() });
        *left = left.saturating_sub(nodes(&view));
        return view;
    };
    *left = left.saturating_sub(1);
    let room = if bounds.depth == 0 { 0 } else { bounds.items.min(*left) };
    let inner = Bounds { depth: bounds.depth.saturating_sub(1), ..bounds.clone() };
    match datum.kind() {
        "string" => {
            let (text, chars, _) = text_parts(passage.text(), bounds.string_chars);
            View::Str { text, chars }
        }
        "list" => {
            let shown = items(passage).take(room).map(|item| look(Datum::Written(item), &inner, left));
            let (items, total) = (shown.collect(), passage.count());
            View::Vector(ptc_lisp::view::Part { items, total, open: false })
        }
        "map" => {
            let total = passage.count();
            let taken = if bounds.sorted && total <= SORTED { total } else { room };
            let mut all: Vec<(Cow<'_, str>, Passage<'_>)> = fields(passage).take(taken).collect();
            if bounds.sorted {
                all.sort_by(|(one, _), (other, _)| one.cmp(other));
            }
            all.truncate(room);
            let entries = all.into_iter().map(|(name, value)| {
                let hidden = bounds.firewall && is_hidden_name(&name);
                let value = if hidden { View::Hidden } else { look(Datum::Written(value), &inner, left) };
                (key(&name, bounds), value)
            });
            View::Map { entries: entries.collect(), total }
        }
        _ => View::of_json(&datum.json(), bounds),
    }
}

/// A key as programs see it: a keyword, or a string where it has a slash.
fn key(name: &str, bounds: &Bounds) -> View {
    let text: String = name.chars().take(bounds.string_chars).collect();
    match name.contains('/') {
        true => View::Str { text, chars: name.chars().count() },
        false => View::Keyword(text),
    }
}

/// How many values a view shows.
fn nodes(view: &View) -> usize {
    1 + match view {
        View::Vector(part) | View::List(part) | View::Set(part) => part.items.iter().map(nodes).sum(),
        View::Map { entries, .. } => entries.iter().map(|(_, value)| nodes(value)).sum(),
        _ => 0,
    }
}
