//! What a value is made of: the keys and types of its records, the type of its items. It is written as
//! signatures write types, without the colons: `{:id int :tags [string] :note string?}`.

use ptc_lisp::view::{Part, View};

use super::clojure::key_text;
use super::type_name;

/// Maps with more entries than this whose values are of one kind are told by that kind.
const NAMED: usize = 8;

/// Levels of nesting that are told if there is room.
const DEEPEST: usize = 3;

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Of(&'static str),
    /// Keys, what stands under them, and whether some record does not have them.
    Record {
        fields: Vec<(String, Shape, bool)>,
        /// Keys that are not known.
        more: usize,
    },
    /// A map from many keys of a type to values of one shape.
    Dictionary(&'static str, Box<Shape>),
    List(Box<Shape>),
}

/// The shape of a collection in at most `room` characters: that of a map, or of the items of a sequence.
pub(super) fn shape(view: &View, room: usize) -> Option<String> {
    let at = |depth: usize| match view {
        View::Map { .. } => Some(Shape::of(view, depth)),
        View::Vector(part) | View::List(part) | View::Set(part) => Shape::of_items(part, depth),
        _ => None,
    };
    let told = (1..=DEEPEST).rev().filter_map(|depth| {
        let text = at(depth)?.text(usize::MAX);
        (text.chars().count() <= room).then_some(text)
    });
    told.into_iter().next().or_else(|| Some(at(1)?.text(room)))
}

impl Shape {
    /// The shape of a value down to a depth.
    fn of(view: &View, depth: usize) -> Shape {
        match view {
            View::Map { entries, total } if depth > 0 && *total > 0 => {
                let mut kinds = entries.iter().map(|(_, value)| type_name(value));
                let first = kinds.next();
                if *total > NAMED && kinds.all(|kind| Some(kind) == first) {
                    let values = entries.iter().map(|(_, value)| Shape::of(value, depth - 1));
                    let key = entries.first().map_or("any", |(key, _)| type_name(key));
                    return Shape::Dictionary(key, Box::new(Shape::merged(values)));
                }
                let fields =
                    entries.iter().map(|(key, value)| (key_text(key), Shape::of(value, depth - 1), false));
                Shape::Record { fields: fields.collect(), more: total - entries.len() }
            }
            View::Vector(part) | View::List(part) if depth > 0 => Shape::of_items(part, depth - 1)
                .map_or(Shape::Of("list"), |items| Shape::List(Box::new(items))),
            other => Shape::Of(type_name(other)),
        }
    }

    /// The shape that all items of a sequence have.
    fn of_items(part: &Part, depth: usize) -> Option<Shape> {
        // Of records that are cut nobody knows what they lack.
        let whole = || part.items.iter().filter(|item| !is_cut(item)).map(|item| Shape::of(item, depth));
        let all = || part.items.iter().map(|item| Shape::of(item, depth));
        whole().reduce(Shape::with).or_else(|| all().reduce(Shape::with))
    }

    fn merged(shapes: impl Iterator<Item = Shape>) -> Shape {
        shapes.reduce(Shape::with).unwrap_or(Shape::Of("any"))
    }

    /// The shape of what has one shape or the other.
    fn with(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Of("nil"), shape) | (shape, Shape::Of("nil")) => shape,
            (a, b) if a == b => a,
            (Shape::List(a), Shape::List(b)) => Shape::List(Box::new(a.with(*b))),
            (list @ Shape::List(_), Shape::Of("list")) | (Shape::Of("list"), list @ Shape::List(_)) => list,
            (Shape::Dictionary(a, x), Shape::Dictionary(b, y)) => {
                Shape::Dictionary(if a == b { a } else { "any" }, Box::new(x.with(*y)))
            }
            (Shape::Record { fields, more }, Shape::Record { fields: others, more: others_more }) => {
                Shape::Record { fields: union(fields, others), more: more.max(others_more) }
            }
            _ => Shape::Of("any"),
        }
    }

    /// The text, cut between fields where there is no room.
    fn text(&self, room: usize) -> String {
        match self {
            Shape::Of(kind) => (*kind).to_owned(),
            Shape::List(items) => format!("[{}]", items.text(room)),
            Shape::Dictionary(key, value) => format!("{{{key} {}}}", value.text(room)),
            Shape::Record { fields, more } => record(fields, *more, room),
        }
    }
}

fn is_cut(view: &View) -> bool {
    matches!(view, View::Map { entries, total } if entries.len() < *total)
}

/// All fields of two records; what only one of them has is optional.
fn union(
    mut fields: Vec<(String, Shape, bool)>,
    others: Vec<(String, Shape, bool)>,
) -> Vec<(String, Shape, bool)> {
    for (key, _, optional) in &mut fields {
        *optional |= !others.iter().any(|(other, ..)| other == key);
    }
    for (key, shape, optional) in others {
        match fields.iter_mut().find(|(known, ..)| *known == key) {
            Some((_, known, known_optional)) => {
                let before = std::mem::replace(known, Shape::Of("any"));
                *known = before.with(shape);
                *known_optional |= optional;
            }
            None => fields.push((key, shape, true)),
        }
    }
    fields
}

fn record(fields: &[(String, Shape, bool)], more: usize, room: usize) -> String {
    const MORE: usize = 10;
    let total = fields.len() + more;
    let mut out = String::from("{");
    let mut shown = 0;
    for (key, shape, optional) in fields {
        let space = if shown > 0 { " " } else { "" };
        let field = format!("{space}{key} {}{}", shape.text(room), if *optional { "?" } else { "" });
        let sign = if shown + 1 < total { MORE } else { 1 };
        if (out.chars().count() + field.chars().count()).saturating_add(sign) > room {
            break;
        }
        out.push_str(&field);
        shown += 1;
    }
    match (shown, total - shown) {
        (_, 0) => out.push('}'),
        (0, left) => out.push_str(&format!("... +{left}}}")),
        (_, left) => out.push_str(&format!(" ... +{left}}}")),
    }
    out
}

#[cfg(test)]
mod tests {
    use ptc_lisp::view::Bounds;
    use serde_json::{Value as Json, json};

    use super::*;

    fn of(json: &Json, room: usize) -> Option<String> {
        shape(&View::of_json(json, &Bounds::default()), room)
    }

    #[test]
    fn shapes_tell_keys_and_types_as_deep_as_there_is_room() {
        let rows = json!([
            {"id": 1, "who": {"name": "a"}, "tags": []},
            {"id": 2, "who": {"name": "b"}, "tags": ["x"], "_key": "s"},
            {"id": null, "who": null, "tags": ["y"]},
        ]);
        let cases = [
            (200, "{:id int :who {:name string} :tags [string] :_key <Firewalled>?}"),
            (60, "{:id int :who map :tags list :_key <Firewalled>?}"),
            (40, "{:id int :who map :tags list ... +1}"),
            (5, "{... +4}"),
        ];
        for (room, expected) in cases {
            assert_eq!(of(&rows, room).as_deref(), Some(expected));
        }
        let many: Json = Json::Object((0..40).map(|at| (format!("k{at}"), json!([at]))).collect());
        let cases = [
            (json!([1, 2]), Some("int")),
            (json!([1, "a"]), Some("any")),
            (json!([[1], [2.5]]), Some("[any]")),
            (json!({"a": [[1]]}), Some("{:a [[int]]}")),
            (many, Some("{keyword [int]}")),
            (json!([]), None),
            (json!({}), Some("map")),
            (json!("text"), None),
        ];
        for (json, expected) in cases {
            assert_eq!(of(&json, 200).as_deref(), expected);
        }
    }
}
