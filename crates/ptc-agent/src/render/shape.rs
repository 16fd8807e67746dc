//! What a value is made of: the keys and types of its records, the type of its items. It is written as
//! signatures write types, without the colons: `{:id int :tags [string] :note string?}`.

use ptc_lisp::view::{Part, View};

use super::clojure::key_text;
use super::sketch::share;
use super::type_name;

/// Maps with more entries than this whose values are of one kind are told by that kind.
const NAMED: usize = 8;

/// Levels of nesting that are told if there is room.
const DEEPEST: usize = 3;

#[derive(Clone, Debug, PartialEq)]
enum ValueShape {
    Of(&'static str),
    Record {
        fields: Vec<Field>,
        /// Keys that are not known.
        more: usize,
        /// How many maps have this shape together.
        maps: usize,
    },
    /// A map from many keys of a type to values of one shape.
    Dictionary(&'static str, Box<ValueShape>),
    List(Box<ValueShape>),
}

/// A key of records, and what stands under it.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    key: String,
    shape: ValueShape,
    /// How many records have it.
    present: usize,
    /// In how many of them it is nil.
    nils: usize,
}

/// The shape of a collection in at most `room` characters: that of a map, or of the items of a sequence.
pub(super) fn shape(view: &View, room: usize) -> Option<String> {
    let at = |depth: usize| match view {
        View::Map { .. } => Some(ValueShape::of(view, depth)),
        View::Vector(part) | View::List(part) | View::Set(part) => ValueShape::of_items(part, depth),
        _ => None,
    };
    let told = (1..=DEEPEST).rev().filter_map(|depth| {
        let text = at(depth)?.text(usize::MAX, true);
        (text.chars().count() <= room).then_some(text)
    });
    // Keys are worth more than their shares.
    told.into_iter().next().or_else(|| Some(at(1)?.text(room, false)))
}

impl ValueShape {
    /// The shape of a value down to a depth.
    fn of(view: &View, depth: usize) -> ValueShape {
        match view {
            View::Map { entries, total } if depth > 0 && *total > 0 => {
                let mut kinds = entries.iter().map(|(_, value)| type_name(value));
                let first = kinds.next();
                if *total > NAMED && kinds.all(|kind| Some(kind) == first) {
                    let values = entries.iter().map(|(_, value)| ValueShape::of(value, depth - 1));
                    let key = entries.first().map_or("any", |(key, _)| type_name(key));
                    return ValueShape::Dictionary(key, Box::new(ValueShape::merged(values)));
                }
                let field = |(key, value): &(View, View)| Field {
                    key: key_text(key),
                    shape: ValueShape::of(value, depth - 1),
                    present: 1,
                    nils: usize::from(*value == View::Nil),
                };
                let fields = entries.iter().map(field).collect();
                ValueShape::Record { fields, more: total - entries.len(), maps: 1 }
            }
            View::Vector(part) | View::List(part) if depth > 0 => ValueShape::of_items(part, depth - 1)
                .map_or(ValueShape::Of("list"), |items| ValueShape::List(Box::new(items))),
            other => ValueShape::Of(type_name(other)),
        }
    }

    /// The shape that all items of a sequence have.
    fn of_items(part: &Part, depth: usize) -> Option<ValueShape> {
        // Of records that are cut nobody knows what they lack.
        let whole = || part.items.iter().filter(|item| !is_cut(item)).map(|item| ValueShape::of(item, depth));
        let all = || part.items.iter().map(|item| ValueShape::of(item, depth));
        whole().reduce(ValueShape::with).or_else(|| all().reduce(ValueShape::with))
    }

    fn merged(shapes: impl Iterator<Item = ValueShape>) -> ValueShape {
        shapes.reduce(ValueShape::with).unwrap_or(ValueShape::Of("any"))
    }

    /// The shape of what has one shape or the other.
    fn with(self, other: ValueShape) -> ValueShape {
        match (self, other) {
            (ValueShape::Of("nil"), shape) | (shape, ValueShape::Of("nil")) => shape,
            (ValueShape::List(a), ValueShape::List(b)) => ValueShape::List(Box::new(a.with(*b))),
            (list @ ValueShape::List(_), ValueShape::Of("list"))
            | (ValueShape::Of("list"), list @ ValueShape::List(_)) => list,
            (ValueShape::Dictionary(a, x), ValueShape::Dictionary(b, y)) => {
                ValueShape::Dictionary(if a == b { a } else { "any" }, Box::new(x.with(*y)))
            }
            (
                ValueShape::Record { fields, more, maps },
                ValueShape::Record { fields: others, more: unknown, maps: with },
            ) => ValueShape::Record {
                fields: union(fields, others),
                more: more.max(unknown),
                maps: maps + with,
            },
            (a, b) if a == b => a,
            (
                ValueShape::Of("int" | "float" | "decimal" | "number"),
                ValueShape::Of("int" | "float" | "decimal" | "number"),
            ) => ValueShape::Of("number"),
            _ => ValueShape::Of("any"),
        }
    }

    /// The text, cut between fields where there is no room, with shares of records if they are wanted.
    fn text(&self, room: usize, shares: bool) -> String {
        match self {
            ValueShape::Of(kind) => (*kind).to_owned(),
            ValueShape::List(items) => format!("[{}]", items.text(room, shares)),
            ValueShape::Dictionary(key, value) => format!("{{{key} {}}}", value.text(room, shares)),
            ValueShape::Record { fields, more, maps } => {
                let texts: Vec<String> = fields.iter().map(|field| field.text(*maps, room, shares)).collect();
                record(&texts, *more, room)
            }
        }
    }
}

impl Field {
    /// The key and what stands under it; a `?` if some of so many records do not have it, or nil.
    fn text(&self, maps: usize, room: usize, shares: bool) -> String {
        let some = self.nils > 0 && self.nils < self.present;
        let mut notes = Vec::new();
        if self.present < maps {
            notes.push(format!("in {}", share(self.present, maps)));
        }
        if some {
            notes.push(format!("{} nil", share(self.nils, self.present)));
        }
        let optional = if notes.is_empty() { "" } else { "?" };
        let notes = match shares && !notes.is_empty() {
            true => format!(" ({})", notes.join(", ")),
            false => String::new(),
        };
        format!("{} {}{optional}{notes}", self.key, self.shape.text(room, shares))
    }
}

fn is_cut(view: &View) -> bool {
    matches!(view, View::Map { entries, total } if entries.len() < *total)
}

/// All fields of two records.
fn union(mut fields: Vec<Field>, others: Vec<Field>) -> Vec<Field> {
    for (at, other) in others.into_iter().enumerate() {
        // Records of a list mostly have the same keys in the same places.
        let place = match fields.get(at) {
            Some(field) if field.key == other.key => Some(at),
            _ => fields.iter().position(|field| field.key == other.key),
        };
        match place {
            Some(place) => {
                let field = &mut fields[place];
                let before = std::mem::replace(&mut field.shape, ValueShape::Of("any"));
                field.shape = before.with(other.shape);
                field.present += other.present;
                field.nils += other.nils;
            }
            None => fields.push(other),
        }
    }
    fields
}

fn record(fields: &[String], more: usize, room: usize) -> String {
    const MORE: usize = 10;
    let total = fields.len() + more;
    let mut out = String::from("{");
    let mut shown = 0;
    for field in fields {
        let space = if shown > 0 { " " } else { "" };
        let sign = if shown + 1 < total { MORE } else { 1 };
        let taken = out.chars().count() + space.len() + field.chars().count();
        if taken.saturating_add(sign) > room {
            break;
        }
        out.push_str(space);
        out.push_str(field);
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
            (
                200,
                "{:id int? (33% nil) :who {:name string}? (33% nil) :tags [string] :_key <Firewalled>? (in 33%)}",
            ),
            (90, "{:id int? (33% nil) :who map? (33% nil) :tags list :_key <Firewalled>? (in 33%)}"),
            (60, "{:id int? :who map? :tags list :_key <Firewalled>?}"),
            (40, "{:id int? :who map? :tags list ... +1}"),
            (5, "{... +4}"),
        ];
        for (room, expected) in cases {
            assert_eq!(of(&rows, room).as_deref(), Some(expected));
        }
        let many: Json = Json::Object((0..40).map(|at| (format!("k{at}"), json!([at]))).collect());
        let cases = [
            (json!([1, 2]), Some("int")),
            (json!([1, "a"]), Some("any")),
            (json!([[1], [2.5]]), Some("[number]")),
            (json!([{"a": null}, {"a": null}]), Some("{:a nil}")),
            (json!([{"a": 1}, {"a": 2.5}, {"a": 3}]), Some("{:a number}")),
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
