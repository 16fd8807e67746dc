//! `describe`: what a value looks like, in a few lines, however large it is.
//!
//! A model that gets data from a tool asks this before it writes code over it. Every part is bounded:
//! items looked at, keys, paths, examples and their length; what was cut off is said.

use std::collections::BTreeSet;

use super::access::{count_of, items};
use super::{Builtin, args, native};
use crate::heap::Heap;
use crate::signal::{Res, illegal, pending};
use crate::value::order::compare_numbers;
use crate::value::print::{Printer, Style};
use crate::value::{Items, Map, Table, Value};

pub(super) static TABLE: &[Builtin] = &[native(
    "ptc/describe",
    "[x] [x options]",
    describe,
    "A summary of the shape of a value: types, keys, examples, ranges. Options: :paths true adds nested \
     paths down to :depth (1 to 5); :sample (1 to 3) says how many examples. Characters that do not show, such as a mark \
     of byte order, are written as \\uFEFF and listed under :invisible.",
    &[
        ("(describe [1 2 3])", "{:type \"vector\", :count 3, :scanned 3, :item_types {\"integer\" 3}}"),
        ("(:type (describe {:a 1}))", "\"map\""),
    ],
)
.discovers()];

const MAX_ITEMS: usize = 1000;
const MAX_KEYS: usize = 100;
const MAX_PATHS: usize = 300;
const MAX_PATH_VALUES: usize = 10_000;
const MAX_DISTINCT: usize = 50;
const EXAMPLE_CHARS: usize = 120;

/// What the caller asked for.
struct ShapeOptions {
    paths: bool,
    depth: usize,
    sample: usize,
}

fn options(heap: &mut Heap, args: &[Value]) -> Res<ShapeOptions> {
    let mut options = ShapeOptions { paths: false, depth: 3, sample: 3 };
    let Some(given) = args.get(1) else { return Ok(options) };
    let Value::Map(body) = given else { return args::fail(args, 1, "a map of options") };
    for (key, value) in body.iter() {
        let Value::Kw(name) = key else { return illegal("options are keywords: :paths, :depth, :sample") };
        let number = |low: i64, high: i64| match value {
            Value::Int(n) if (low..=high).contains(n) => Ok(*n as usize),
            _ => illegal(format!("expected an integer from {low} to {high}, got {}", value.type_name())),
        };
        match heap.names.text(*name) {
            "paths" => options.paths = value.truthy(),
            "depth" => options.depth = number(1, 5)?,
            "sample" => options.sample = number(1, 3)?,
            other => {
                return illegal(format!("unknown option :{other}; there are :paths, :depth and :sample"));
            }
        }
    }
    Ok(options)
}

fn describe(heap: &mut Heap, args: &mut [Value]) -> Res {
    let options = options(heap, args)?;
    let mut report = Report { heap, options, caps: Vec::new(), unseen: BTreeSet::new() };
    let mut summary = match &args[0] {
        Value::Map(_) | Value::Sorted(_) if type_of(&args[0]) == "map" => report.map(&args[0])?,
        Value::Vec(_) | Value::Set(_) | Value::Sorted(_) => report.items(&args[0])?,
        value if value.is_sequential() => report.items(value)?,
        value => report.scalar(value)?,
    };
    if report.options.paths {
        let paths = report.paths(&args[0])?;
        report.put(&mut summary, "paths", paths);
    }
    if !report.unseen.is_empty() {
        let unseen =
            report.unseen.iter().map(|c| Value::string(format!("U+{:04X}", u32::from(*c)))).collect();
        report.put(&mut summary, "invisible", Value::vector(unseen));
    }
    if !report.caps.is_empty() {
        let caps = report.caps.iter().map(Value::str).collect();
        report.put(&mut summary, "caps_hit", Value::vector(caps));
        report.put(&mut summary, "truncated", Value::Bool(true));
    }
    Ok(Value::Map(summary))
}

/// The type of a value in the words of the summary.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => "vector",
        Value::Sorted(body) => {
            if body.is_set {
                "set"
            } else {
                "map"
            }
        }
        Value::Map(_) => "map",
        other => other.type_name(),
    }
}

/// Counts by type.
#[derive(Default)]
struct Histogram(Vec<(&'static str, i64)>);

impl Histogram {
    fn add(&mut self, value: &Value) {
        let kind = type_of(value);
        match self.0.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, count)) => *count += 1,
            None => self.0.push((kind, 1)),
        }
    }

    fn value(mut self) -> Value {
        self.0.sort_unstable();
        Value::map_of(self.0.into_iter().map(|(kind, count)| (Value::str(kind), Value::Int(count))))
    }
}

/// What is known of the values seen under one key or path.
#[derive(Default)]
struct FieldShape {
    types: Histogram,
    distinct: Table<()>,
    /// Whether there are more different values than it keeps.
    more_distinct: bool,
    least: Option<Value>,
    most: Option<Value>,
    sized: bool,
    non_empty: i64,
    present: i64,
}

impl FieldShape {
    fn add(&mut self, heap: &mut Heap, value: &Value) -> Res<()> {
        heap.realised(value)?;
        heap.work(1)?;
        self.types.add(value);
        self.present += 1;
        if self.distinct.len() < MAX_DISTINCT {
            self.distinct.insert(value.clone(), ());
        } else if !self.more_distinct {
            self.more_distinct = !self.distinct.contains(value);
        }
        match value {
            Value::Int(_) | Value::Big(_) | Value::Float(_) | Value::Decimal(_) => self.add_number(value),
            Value::Str(_) | Value::Vec(_) | Value::Map(_) | Value::Set(_) | Value::Sorted(_) => {
                self.sized = true;
                self.non_empty += i64::from(count_of(heap, value)? > 0);
            }
            value if value.is_sequential() => {
                self.sized = true;
                self.non_empty += i64::from(count_of(heap, value)? > 0);
            }
            _ => {}
        }
        Ok(())
    }

    fn add_number(&mut self, value: &Value) {
        let wins = |old: &Option<Value>, order| match old {
            Some(old) => compare_numbers(value, old) == Some(order),
            None => compare_numbers(value, value).is_some(),
        };
        if wins(&self.least, std::cmp::Ordering::Less) {
            self.least = Some(value.clone());
        }
        if wins(&self.most, std::cmp::Ordering::Greater) {
            self.most = Some(value.clone());
        }
    }
}

/// A description being made.
struct Report<'a> {
    heap: &'a mut Heap,
    options: ShapeOptions,
    caps: Vec<&'static str>,
    /// Characters that do not show, which keys and examples have.
    unseen: BTreeSet<char>,
}

/// Whether a character takes part in a text without being seen, or looks like a plain space: marks of byte order, spaces
/// that do not break, spaces without width. They come with files and pages, and a key that has one is not the key that
/// it looks like. Joiners belong to scripts and emoji.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202f}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

type Summary = Map;

impl Report<'_> {
    fn put(&mut self, summary: &mut Summary, key: &str, value: Value) {
        self.heap.allocated(64);
        summary.insert(self.heap.keyword(key), value);
    }

    fn cap(&mut self, name: &'static str) {
        if !self.caps.contains(&name) {
            self.caps.push(name);
        }
    }

    fn scalar(&mut self, value: &Value) -> Res<Summary> {
        let mut field = FieldShape::default();
        field.add(self.heap, value)?;
        let mut summary = Summary::default();
        self.put(&mut summary, "type", Value::str(type_of(value)));
        let sample = self.example(value);
        self.put(&mut summary, "sample", sample);
        self.field(&mut summary, field, None);
        Ok(summary)
    }

    fn map(&mut self, value: &Value) -> Res<Summary> {
        let mut keys = KeyShapes::default();
        keys.add(self, value)?;
        let mut summary = Summary::default();
        self.put(&mut summary, "type", Value::str("map"));
        let count = count_of(self.heap, value)?;
        self.put(&mut summary, "count", Value::from(count));
        self.keys(&mut summary, keys, None);
        Ok(summary)
    }

    fn items(&mut self, value: &Value) -> Res<Summary> {
        let mut walk = items(value)?;
        let known = walk.len_hint();
        let (mut types, mut keys) = (Histogram::default(), KeyShapes::default());
        let (mut scanned, mut maps, mut more) = (0usize, 0usize, false);
        while let Some(item) = walk.next().map_err(pending)? {
            if scanned == MAX_ITEMS {
                more = true;
                self.cap("max_items");
                break;
            }
            self.heap.work(1)?;
            scanned += 1;
            types.add(&item);
            if type_of(&item) == "map" {
                maps += 1;
                keys.add(self, &item)?;
            }
        }
        let mut summary = Summary::default();
        self.put(&mut summary, "type", Value::str(type_of(value)));
        self.put(&mut summary, "count", Value::from(known.unwrap_or(scanned)));
        if known.is_none() && more {
            self.put(&mut summary, "count_capped", Value::Bool(true));
        }
        self.put(&mut summary, "scanned", Value::from(scanned));
        self.put(&mut summary, "item_types", types.value());
        if maps > 0 && type_of(value) == "vector" {
            self.keys(&mut summary, keys, Some(maps));
        }
        Ok(summary)
    }

    /// The summary of a field; `total` says of how many maps.
    fn field(&mut self, summary: &mut Summary, field: FieldShape, total: Option<usize>) {
        self.put(summary, "types", field.types.value());
        let samples: Vec<Value> = field.distinct.keys().take(self.options.sample).cloned().collect();
        let examples = samples.iter().map(|value| self.example(value)).collect();
        self.put(summary, "examples", Value::vector(examples));
        self.put(summary, "distinct_count", Value::from(field.distinct.len()));
        if field.more_distinct {
            self.put(summary, "distinct_capped", Value::Bool(true));
            self.cap("max_distinct");
        }
        if let (Some(least), Some(most)) = (field.least, field.most) {
            let mut range = Summary::default();
            self.put(&mut range, "min", least);
            self.put(&mut range, "max", most);
            self.put(summary, "range", Value::Map(range));
        }
        if field.sized {
            self.put(summary, "non_empty", Value::Int(field.non_empty));
        }
        if let Some(total) = total {
            let percent = (field.present as f64 * 1000.0 / total.max(1) as f64).round() / 10.0;
            self.put(summary, "present", Value::Int(field.present));
            self.put(summary, "pct", Value::Float(percent));
        }
    }

    fn keys(&mut self, summary: &mut Summary, keys: KeyShapes, total: Option<usize>) {
        let mut described = Summary::default();
        for (key, field) in keys.fields {
            let mut inner = Summary::default();
            self.field(&mut inner, field, total);
            let name = self.key_name(&key);
            self.heap.allocated(64 + name.len());
            described.insert(Value::string(name), Value::Map(inner));
        }
        self.put(summary, "key_types", keys.types.value());
        self.put(summary, "keys", Value::Map(described));
    }

    fn key_name(&mut self, key: &Value) -> String {
        let name = match key {
            Value::Str(text) => text.as_str().to_owned(),
            _ => self.heap.brief(key),
        };
        self.visible(name)
    }

    /// A text with what does not show written as in a string of the language.
    fn visible(&mut self, text: String) -> String {
        if !text.contains(is_unseen) {
            return text;
        }
        let mut out = String::new();
        for c in text.chars() {
            match is_unseen(c) {
                true => {
                    self.unseen.insert(c);
                    out.push_str(&format!("\\u{:04X}", u32::from(c)));
                }
                false => out.push(c),
            }
        }
        out
    }

    /// A value as an example: whole if it is short, else the beginning of its text.
    fn example(&mut self, value: &Value) -> Value {
        if let Value::Str(text) = value {
            let mut chars = text.as_str().char_indices();
            return match chars.nth(EXAMPLE_CHARS) {
                Some((end, _)) => Value::string(self.visible(format!("{}…", &text.as_str()[..end]))),
                None if text.as_str().contains(is_unseen) => {
                    Value::string(self.visible(text.as_str().to_owned()))
                }
                None => value.clone(),
            };
        }
        if value.is_scalar() {
            return value.clone();
        }
        let mut printer = Printer::new(&self.heap.names, Style::Readable, EXAMPLE_CHARS);
        let cut = printer.value(value).is_err();
        if !cut {
            return value.clone();
        }
        let text: String = printer.finish().chars().take(EXAMPLE_CHARS).collect();
        Value::string(format!("{text}…"))
    }

    /// All paths through maps and vectors of maps, each with a summary.
    fn paths(&mut self, value: &Value) -> Res {
        let mut found: Table<FieldShape> = Table::default();
        let mut values = 0;
        let mut open: Vec<(String, usize, Value)> = vec![(String::new(), 0, value.clone())];
        while let Some((path, depth, value)) = open.pop() {
            self.heap.work(1)?;
            values += 1;
            if values > MAX_PATH_VALUES {
                self.cap("max_path_values");
                break;
            }
            if !path.is_empty() {
                let key = Value::str(&path);
                if !found.contains(&key) {
                    if found.len() == MAX_PATHS {
                        self.cap("max_paths");
                        continue;
                    }
                    found.insert(key.clone(), FieldShape::default());
                }
                if let Some(field) = found.get_mut(&key) {
                    field.add(self.heap, &value)?;
                }
            }
            self.open_children(&path, depth, &value, &mut open)?;
        }
        let mut out = Summary::default();
        for (path, field) in found {
            let mut inner = Summary::default();
            self.field(&mut inner, field, None);
            out.insert(path, Value::Map(inner));
        }
        Ok(Value::Map(out))
    }

    /// What lies below a value, last child first, so that a stack gives them in order.
    fn open_children(
        &mut self,
        path: &str,
        depth: usize,
        value: &Value,
        open: &mut Vec<(String, usize, Value)>,
    ) -> Res<()> {
        if depth >= self.options.depth {
            return Ok(());
        }
        let from = open.len();
        match value {
            Value::Map(_) | Value::Sorted(_) if type_of(value) == "map" => {
                let mut walk = items(value)?;
                while let Some(Value::Vec(entry)) = walk.next().map_err(pending)? {
                    if open.len() - from == MAX_KEYS {
                        self.cap("max_keys");
                        break;
                    }
                    let [key, inner] = &*entry.items else { break };
                    let name = self.key_name(key);
                    let below = if path.is_empty() { name } else { format!("{path}.{name}") };
                    open.push((below, depth + 1, inner.clone()));
                }
            }
            value if value.is_sequential() => {
                let mut walk: Items = items(value)?;
                while let Some(item) = walk.next().map_err(pending)? {
                    if open.len() - from == MAX_ITEMS {
                        self.cap("max_items");
                        break;
                    }
                    // The items of a vector share the path of the vector.
                    if type_of(&item) == "map" {
                        self.open_children(path, depth, &item, open)?;
                    }
                }
            }
            _ => {}
        }
        open[from..].reverse();
        Ok(())
    }
}

/// The keys of one or many maps.
#[derive(Default)]
struct KeyShapes {
    types: Histogram,
    fields: Table<FieldShape>,
}

impl KeyShapes {
    fn add(&mut self, report: &mut Report, map: &Value) -> Res<()> {
        let mut walk = items(map)?;
        while let Some(Value::Vec(entry)) = walk.next().map_err(pending)? {
            let [key, value] = &*entry.items else { break };
            if !self.fields.contains(key) {
                if self.fields.len() == MAX_KEYS {
                    report.cap("max_keys");
                    continue;
                }
                self.types.add(key);
                self.fields.insert(key.clone(), FieldShape::default());
            }
            if let Some(field) = self.fields.get_mut(key) {
                field.add(report.heap, value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    #[test]
    fn summaries_of_small_values() {
        let heap = &mut heap();
        let key = heap.keyword("a");
        let cases = [
            (ints([]), "{:type \"vector\", :count 0, :scanned 0, :item_types {}}"),
            (
                Value::set_of([Value::Int(1)]),
                "{:type \"set\", :count 1, :scanned 1, :item_types {\"integer\" 1}}",
            ),
            (
                Value::map_of([(key, Value::Int(1))]),
                "{:type \"map\", :count 1, :key_types {\"keyword\" 1}, :keys {\":a\" {:types {\"integer\" 1}, \
                 :examples [1], :distinct_count 1, :range {:min 1, :max 1}}}}",
            ),
            (
                Value::map_of([(Value::str("\u{feff}id"), Value::str("a\u{a0}b"))]),
                "{:type \"map\", :count 1, :key_types {\"string\" 1}, :keys {\"\\\\uFEFFid\" {:types {\"string\" 1}, \
                 :examples [\"a\\\\u00A0b\"], :distinct_count 1, :non_empty 1}}, :invisible [\"U+00A0\" \"U+FEFF\"]}",
            ),
            (
                Value::str("abc"),
                "{:type \"string\", :sample \"abc\", :types {\"string\" 1}, :examples [\"abc\"], \
                 :distinct_count 1, :non_empty 1}",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(answer(heap, "ptc/describe", [value]), expected);
        }
    }

    #[test]
    fn large_values_are_cut_and_say_so() {
        let heap = &mut heap();
        let summary = call(heap, "ptc/describe", [ints(0..5000)]).map_err(|_| ()).expect("a summary");
        let text = heap.show(&summary);
        assert!(text.contains(":count 5000") && text.contains(":scanned 1000"), "{text}");
        assert!(text.contains(":caps_hit [\"max_items\"], :truncated true"), "{text}");
    }

    #[test]
    fn a_count_of_different_values_that_is_cut_says_so() {
        let heap = &mut heap();
        let id = heap.keyword("id");
        let rows = |count: i64, different: i64| {
            let row = |n| Value::map_of([(id.clone(), Value::Int(n % different))]);
            Value::vector((0..count).map(row).collect())
        };
        let capped = ":distinct_count 50, :distinct_capped true";
        let text = answer(heap, "ptc/describe", [rows(100, 100)]);
        assert!(text.contains(capped) && text.contains(":caps_hit [\"max_distinct\"]"), "{text}");
        for (count, different) in [(50, 50), (100, 50), (100, 3)] {
            let text = answer(heap, "ptc/describe", [rows(count, different)]);
            assert!(text.contains(&format!(":distinct_count {different}")), "{text}");
            assert!(!text.contains("capped") && !text.contains("caps_hit"), "{text}");
        }
    }

    #[test]
    fn paths_lead_through_maps_and_vectors_of_maps() {
        let heap = &mut heap();
        let [a, b, paths] = ["a", "b", "paths"].map(|text| heap.keyword(text));
        let inner = Value::vector(vec![Value::map_of([(b, Value::Int(7))])]);
        let value = Value::map_of([(a, inner)]);
        let options = Value::map_of([(paths, Value::Bool(true))]);
        let text = answer(heap, "ptc/describe", [value, options]);
        assert!(text.contains("\":a.:b\" {:types {\"integer\" 1}"), "{text}");
    }
}
