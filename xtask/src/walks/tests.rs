//! Walks that are found, and functions that are none.

use super::*;

fn found(text: &str) -> Vec<String> {
    found_in(&[("some.rs", text)])
}

fn found_in(files: &[(&str, &str)]) -> Vec<String> {
    let files = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    walks(&files, true).expect("it is Rust").into_iter().map(|(_, name)| name).collect()
}

#[test]
fn a_function_over_values_that_calls_itself_is_found() {
    let alone = "fn count(value: &Value) -> usize { match value { Value::Vec(b) => b.iter().map(count).sum(), _ => 1 } }";
    assert_eq!(found(alone), ["count"]);
    let through = "impl Count { fn value(&mut self, value: &Value) { self.all(value) } \
                   fn all(&mut self, value: &Value) { for item in items(value) { self.value(&item) } } }";
    assert_eq!(found(through), ["all", "value"]);
    let closure = "fn walk(items: &mut Items) { items.each(|item| walk(item)) }";
    assert_eq!(found(closure), ["walk"]);
}

#[test]
fn a_walk_is_found_however_it_is_written() {
    for (text, names) in [
        (
            "fn size(map: &Map) -> usize { map.iter().map(|(_, v)| inner(v)).sum() } \
          fn inner(value: &Value) -> usize { if let Value::Map(map) = value { size(map) } else { 1 } }",
            &["inner", "size"][..],
        ),
        // By the pattern alone.
        (
            "fn size(part: &Part) -> usize { match part.get() { Value::Map(map) => map.parts().map(|p| size(&p)).sum(), _ => 1 } }",
            &["size"],
        ),
        (
            "trait Walk { fn walk(&self); } impl Walk for Value { fn walk(&self) { for item in self.items() { item.walk() } } }",
            &["walk"],
        ),
        (
            "trait Walk { fn one(&self, value: &Value) { self.all(value) } fn all(&self, value: &Value); } \
          impl Walk for Count { fn all(&self, value: &Value) { self.one(value) } }",
            &["all", "one"],
        ),
        ("fn walk<V: Borrow<Value>>(value: V) { for item in items(value) { walk(item) } }", &["walk"]),
        ("fn walk<V>(value: V) where V: AsRef<Value> { for item in items(value) { walk(item) } }", &["walk"]),
        (
            "impl<V: Borrow<Value>> Walker<V> { fn walk(&mut self, value: V) { for item in items(value) { self.walk(item) } } }",
            &["walk"],
        ),
        (
            "fn value(walker: &mut Walker, value: &Value) { walker.part(value) } \
          impl Walker { fn part(&mut self, part: &Value) { value(self, part) } }",
            &["part", "value"],
        ),
        (
            "fn size(value: &Value) { let mut open = vec![value]; while let Some(next) = open.pop() { open.extend(parts(next)) } }",
            &["size"],
        ),
        (
            "fn size(value: &Value) { let mut open = vec![value]; loop { let Some(next) = open.pop() else { return }; parts(next, &mut open) } }",
            &["size"],
        ),
        (
            "impl Look { fn go(&mut self, value: &Value) { self.open.push(value.clone()); \
          while let Some(next) = self.open.pop_front() { for part in parts(next) { self.open.push_back(part) } } } }",
            &["go"],
        ),
    ] {
        assert_eq!(found(text), names, "{text}");
    }
    let walker =
        "impl Walker { pub fn part(&mut self, part: &Value) { value(self, part) } } use super::some::value;";
    let function =
        "use super::walker::Walker; pub fn value(walker: &mut Walker, value: &Value) { walker.part(value) }";
    assert_eq!(found_in(&[("some.rs", function), ("walker.rs", walker)]), ["value", "part"]);
}

#[test]
fn a_walk_is_found_through_macros_conversions_wrappers_and_other_names() {
    for (text, names) in [
        (
            "fn text(value: &Value) -> String { parts(value).map(|part| format!(\"{} {}\", 1, text(part))).collect() }",
            &["text"][..],
        ),
        ("fn all(value: &Value) -> Vec<usize> { vec![1, parts(value).map(all).count(); 2] }", &["all"]),
        (
            "fn json(value: &Value) -> Json { json!({\"parts\": {\"all\": parts(value).map(json)}}) }",
            &["json"],
        ),
        ("fn has(value: &Value) -> bool { matches!(first(value), Some(part) if has(part)) }", &["has"]),
        (
            "fn some(part: &Part) -> bool { matches!(part.get(), Value::Vec(items) if items.any(some)) }",
            &["some"],
        ),
        (
            "struct Shown<'a>(&'a Value); impl Display for Shown<'_> { fn fmt(&self, f: &mut Formatter) -> Result { \
             for part in parts(self.0) { write!(f, \"{}\", Shown(part))?; } Ok(()) } }",
            &["fmt"],
        ),
        (
            "struct Json<'a>(&'a Value); impl Serialize for Json<'_> { fn serialize<S>(&self, s: S) -> Result { \
             for part in parts(self.0) { seq.serialize_element(&Json(part))?; } seq.end() } }",
            &["serialize"],
        ),
        (
            "impl From<&Value> for Tree { fn from(value: &Value) -> Tree { Tree(parts(value).map(|part| part.into()).collect()) } }",
            &["from"],
        ),
        (
            "impl From<&Value> for Tree { fn from(value: &Value) -> Tree { Tree(parts(value).map(Into::into).collect()) } }",
            &["from"],
        ),
        (
            "impl From<&Value> for Tree { fn from(value: &Value) -> Tree { Tree(parts(value).map(Tree::from).collect()) } }",
            &["from"],
        ),
        (
            "struct Node { value: Value } fn walk(node: &Node) { node.parts().for_each(|part| walk(&part)) }",
            &["walk"],
        ),
        (
            "struct Node(Value); struct Inner(Node); impl Inner { fn walk(&self) { for part in self.parts() { part.walk() } } }",
            &["walk"],
        ),
        ("use crate::value::Value as V; fn walk(value: &V) { parts(value).for_each(walk) }", &["walk"]),
        ("type Part = Value; fn walk(value: &Part) { parts(value).for_each(walk) }", &["walk"]),
        (
            "fn levels(value: &Value) { let mut level = vec![value]; while !level.is_empty() { let mut next = Vec::new(); \
             for part in &level { next.extend(parts(part)); } level = next; } }",
            &["levels"],
        ),
        (
            "fn levels(value: &Value) { let mut level = vec![value]; for _ in 0.. { let mut next = Vec::new(); \
             for part in &level { next.extend(parts(part)); } std::mem::swap(&mut level, &mut next); } }",
            &["levels"],
        ),
        (
            "fn levels(value: &Value) { let mut level = vec![value]; while !level.is_empty() { \
             level = level.iter().flat_map(parts).collect(); } }",
            &["levels"],
        ),
        (
            "fn size(value: &Value) { let mut work = vec![value]; let mut at = 0; while at < work.len() { \
             work.extend(parts(work[at])); at += 1; } }",
            &["size"],
        ),
    ] {
        assert_eq!(found(text), names, "{text}");
    }
    let one = "use super::walker::go as on; pub fn start(value: &Value) { on(value) }";
    let other = "use super::some::start; pub fn go(value: &Value) { start(value) }";
    assert_eq!(found_in(&[("some.rs", one), ("walker.rs", other)]), ["start", "go"]);
    let one = "pub fn start(value: &Value) { Walker::go(value) }";
    let other = "impl Walker { pub fn go(value: &Value) { super::some::start(value) } }";
    assert_eq!(found_in(&[("some.rs", one), ("walker.rs", other)]), ["start", "go"]);
}

#[test]
fn other_crates_have_values_where_they_import_them() {
    let elsewhere = |text: &str| {
        let files = BTreeMap::from([("some.rs".to_owned(), text.to_owned())]);
        walks(&files, false).expect("it is Rust").len()
    };
    let walk = "fn walk(value: &Value) { parts(value).for_each(walk) }";
    for (import, walks) in [
        ("use ptc_lisp::value::Value;", 1),
        ("use ptc_lisp::value::*;", 1),
        ("use ptc_lisp::{limits, value::{Map, Value}};", 1),
        ("use serde_json::Value;", 0),
    ] {
        assert_eq!(elsewhere(&format!("{import} {walk}")), walks, "{import}");
    }
    assert_eq!(elsewhere("fn walk(value: &ptc_lisp::value::Value) { parts(value).for_each(walk) }"), 1);
    assert_eq!(elsewhere("use ptc_lisp::value; fn walk(v: &value::Value) { parts(v).for_each(walk) }"), 1);
    assert_eq!(elsewhere("use ptc_lisp::value::Value as V; struct W(V); fn walk(w: &W) { w.each(walk) }"), 1);
}

#[test]
fn other_functions_are_not() {
    let other = "fn depth(form: &Form) -> usize { form.parts().map(depth).max() }";
    let flat = "fn first(value: &Value) { second(value) } fn second(value: &Value) { value.clone(); }";
    let same_name = "impl A { fn of(value: &Value) { B::of(value) } } impl B { fn of(value: &Value) {} }";
    let tests = "#[cfg(test)] mod tests { fn count(value: &Value) { count(value) } }";
    let stack = "fn spans(forms: &[Form]) { let mut open = forms.to_vec(); while let Some(form) = open.pop() { open.extend(form.parts()) } }";
    let queue = "fn last(values: &mut Vec<Value>) -> Value { while let Some(value) = values.pop() { if value.is_map() { return value } } }";
    for text in [other, flat, same_name, tests, stack, queue] {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn the_sources_have_only_the_known_walks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    check(root).expect("no other walk");
}
