//! Reading by key: the one lookup behind `get`, keyword calls, map calls and destructuring.
//!
//! Reading is forgiving, because data from tools has string keys and programs write keywords: the
//! exact key is tried first, then the keyword or string of the same text, then the string with
//! underscores for hyphens. Writing is always exact.

use std::rc::Rc;

use super::{sorted, transients};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::names::Names;
use crate::signal::Res;
use crate::value::hash::STEP_BYTES;
use crate::value::text::characters;
use crate::value::{CellKind, CellObj, Map, Value, ledger};

/// The value of `key` in `coll`, or `default`. What cannot be looked into holds nothing.
#[inline]
pub(crate) fn get_or(heap: &mut Heap, coll: &Value, key: &Value, default: &Value) -> Res {
    if let (Value::Map(body), Value::Kw(_)) = (coll, key) {
        return Ok(in_map(body, key, &heap.names).unwrap_or(default).clone());
    }
    if let Value::Sorted(body) = coll
        && sorted::has_function(body)
    {
        return Err(sorted::call("ptc.impl/sorted-get", vec![coll.clone(), key.clone(), default.clone()]));
    }
    Ok(find(heap, coll, key)?.unwrap_or_else(|| default.clone()))
}

/// The value of `key` in `coll`, if there is one; for collections with a comparator of their own the
/// machine is asked to call the core library.
pub(crate) fn find(heap: &mut Heap, coll: &Value, key: &Value) -> Res<Option<Value>> {
    Ok(match coll {
        Value::Map(body) => {
            heap.realised(key)?;
            in_map(body, key, &heap.names).cloned()
        }
        Value::Vec(body) => index(key).and_then(|at| body.items.get(at).cloned()),
        Value::Set(body) => {
            heap.realised(key)?;
            body.table.get_entry(key).map(|(member, ())| member.clone())
        }
        Value::Sorted(body) => {
            if sorted::has_function(body) {
                let call = vec![coll.clone(), key.clone(), Value::Nil];
                return Err(sorted::call("ptc.impl/sorted-get", call));
            }
            let found = in_sorted(heap, coll, key)?;
            found.map(|(key, value)| if body.is_set { key } else { value })
        }
        Value::Str(text) => {
            let Some(at) = index(key) else { return Ok(None) };
            heap.work(at / 8)?;
            characters(text.as_str()).nth(at).map(Value::str)
        }
        Value::Cell(cell) => match cell.kind {
            CellKind::Array => array_item(cell, key),
            CellKind::Transient => {
                let inner = transients::inside(cell)?;
                return find(heap, &inner, key);
            }
            _ => None,
        },
        _ => None,
    })
}

/// The item of an array at an index.
pub(super) fn array_item(cell: &CellObj, key: &Value) -> Option<Value> {
    match &cell.state.borrow().value {
        Value::Vec(body) => body.items.get(index(key)?).cloned(),
        _ => None,
    }
}

/// Whether a cell has items at indexes: an array, or a transient vector.
pub(super) fn is_indexed_cell(cell: &CellObj) -> bool {
    matches!(cell.kind, CellKind::Array | CellKind::Transient)
        && matches!(cell.state.borrow().value, Value::Vec(_))
}

/// The entry of `key` in a sorted collection without a comparator of its own, read flexibly.
pub(super) fn in_sorted(heap: &mut Heap, coll: &Value, key: &Value) -> Res<Option<(Value, Value)>> {
    let Value::Sorted(body) = coll else { return Ok(None) };
    heap.realised(key)?;
    heap.work(4)?;
    if let Some(entry) = sorted::entry(body, key, &heap.names) {
        return Ok(Some(entry.clone()));
    }
    for other in counterparts(key, &heap.names).into_iter().flatten() {
        if let Some(entry) = sorted::entry(body, &other, &heap.names) {
            return Ok(Some(entry.clone()));
        }
    }
    Ok(None)
}

/// The value of `key` in a map, read flexibly.
#[inline]
pub(crate) fn in_map<'m>(map: &'m Map, key: &Value, names: &Names) -> Option<&'m Value> {
    if let Some(value) = map.get(key) {
        return Some(value);
    }
    if map.is_empty() || !matches!(key, Value::Kw(_) | Value::Str(_)) {
        return None;
    }
    counterparts(key, names).iter().flatten().find_map(|other| map.get(other))
}

/// Other spellings of a key. Of a keyword the same text, then each with underscores; of a text only the keyword: texts
/// are data, and "web-1" is another host than "web_1".
// In line, as when it had one caller: out of line, reading by a key that is there pays for it.
#[inline(always)]
fn counterparts(key: &Value, names: &Names) -> [Option<Value>; 3] {
    let keyword = |text: &str| names.find(text).map(Value::Kw);
    match key {
        Value::Kw(name) => {
            let text = names.text(*name);
            if text.len() >= STEP_BYTES {
                ledger::note((text.len() / STEP_BYTES) as u64);
            }
            let low = underscored(text);
            [Some(Value::str(text)), low.as_deref().map(Value::str), low.as_deref().and_then(keyword)]
        }
        Value::Str(text) => [keyword(text.as_str()), None, None],
        _ => [None, None, None],
    }
}

fn underscored(text: &str) -> Option<String> {
    text.contains('-').then(|| text.replace('-', "_"))
}

/// The slot that writing `key` goes to although the key itself is not there: that of the other spelling under which a
/// read finds it.
pub(crate) fn other_slot(map: &Map, key: &Value, names: &Names) -> Option<usize> {
    let layout = map.layout()?;
    match key {
        Value::Kw(name) if layout.has_texts() || names.text(*name).contains('-') => {
            counterparts(key, names).iter().flatten().find_map(|other| layout.position(other))
        }
        Value::Str(text) if layout.has_keywords() => layout.position(&Value::Kw(names.find(text.as_str())?)),
        _ => None,
    }
}

/// The key under which a map has the entry that `key` writes or removes, if it is another.
pub(super) fn other_key(coll: &Value, key: &Value, names: &Names) -> Option<Value> {
    match coll {
        Value::Map(map) if map.contains(key) => None,
        Value::Map(map) => map.layout()?.keys().get(other_slot(map, key, names)?).cloned(),
        Value::Sorted(body) if !sorted::has_function(body) && sorted::entry(body, key, names).is_none() => {
            let same = |other: &Value| sorted::entry(body, other, names).map(|(key, _)| key.clone());
            counterparts(key, names).iter().flatten().find_map(same)
        }
        _ => None,
    }
}

/// The key of the entry that reading by `key` finds under another spelling.
pub(super) fn found_key(coll: &Value, key: &Value, names: &Names) -> Option<Value> {
    let has = |other: &Value| match coll {
        Value::Map(map) => map.contains(other),
        Value::Sorted(body) if !sorted::has_function(body) => sorted::entry(body, other, names).is_some(),
        _ => false,
    };
    if !matches!(coll, Value::Map(_) | Value::Sorted(_)) || has(key) {
        return None;
    }
    counterparts(key, names).into_iter().flatten().find(has)
}

/// The exact value of `key` in a map, vector or nil: what `merge-with` reads.
pub(crate) fn find_exact(heap: &mut Heap, coll: &Value, key: &Value) -> Res<Option<Value>> {
    heap.realised(key)?;
    Ok(match coll {
        Value::Map(body) => body.get(key).cloned(),
        Value::Sorted(body) if !sorted::has_function(body) => {
            sorted::entry(body, key, &heap.names).map(|(_, value)| value.clone())
        }
        _ => return find(heap, coll, key),
    })
}

/// Takes the value that writing `key` replaces out of `coll` and leaves nil there, if `coll` has one owner; else it
/// is only read. Whoever calls this puts a value back at once.
pub(crate) fn take_slot(heap: &mut Heap, coll: &mut Value, key: &Value) -> Res<Option<Value>> {
    heap.realised(key)?;
    let slot = match coll {
        Value::Map(body) => {
            let Some(at) = body.position(key).or_else(|| other_slot(body, key, &heap.names)) else {
                return Ok(None);
            };
            if !body.is_own() {
                return Ok(body.slots().get(at).cloned());
            }
            body.own_slot_at(at)
        }
        Value::Vec(body) => {
            Rc::get_mut(body).and_then(|body| index(key).and_then(|at| body.items.get_mut(at)))
        }
        _ => None,
    };
    match slot {
        Some(slot) => Ok(Some(std::mem::take(slot))),
        None => find_exact(heap, coll, key),
    }
}

/// Refuses to update a key of a vector of maps, or what is a key itself, before the function is called with nil in place
/// of the value.
pub(crate) fn check_updates_no_rows(coll: &Value, key: &Value) -> Res<()> {
    match (coll, key) {
        (Value::Vec(body), Value::Kw(_)) if matches!(body.items.first(), Some(Value::Map(_))) => {
            let message = "the index of a vector must be an integer, got keyword";
            let error = Error::new(ErrorKind::IllegalArgument, message);
            Err(error.hint("to change every row write (map #(update % :key f) rows)").into())
        }
        // The function would be blamed for the nil that stands nowhere.
        (Value::Kw(_) | Value::Str(_), _) => {
            super::args::fail(std::slice::from_ref(coll), 0, "a map, vector or nil")
        }
        _ => Ok(()),
    }
}

/// A position in a vector or string, if `key` is one.
pub(super) fn index(key: &Value) -> Option<usize> {
    match key {
        Value::Int(at) => usize::try_from(*at).ok(),
        _ => None,
    }
}

/// The value at the end of `path`, or `default` as soon as a step finds nothing.
pub(super) fn get_in(heap: &mut Heap, coll: &Value, path: &[Value], default: &Value) -> Res {
    let mut found = coll.clone();
    for (at, key) in path.iter().enumerate() {
        heap.work(1)?;
        if matches!(&found, Value::Sorted(body) if sorted::has_function(body)) {
            let rest = Value::vector(path[at..].to_vec());
            return Err(sorted::call("ptc.impl/get-in", vec![found, rest, default.clone()]));
        }
        match find(heap, &found, key)? {
            Some(next) => found = next,
            None => return Ok(default.clone()),
        }
    }
    Ok(found)
}

/// The error for `(get :key map)` and its like: the collection comes first.
pub(super) fn swapped(name: &str, args: &[Value]) -> Option<Error> {
    let [first, second, ..] = args else { return None };
    let looks_like_key = matches!(first, Value::Kw(_) | Value::Int(_) | Value::Sym(_));
    let looks_like_map = matches!(second, Value::Map(_) | Value::Sorted(_) | Value::Vec(_) | Value::Set(_));
    (looks_like_key && looks_like_map).then(|| {
        let (first, second) = (first.type_name(), second.type_name());
        Error::new(ErrorKind::Type, format!("expected the collection first, got {first} and {second}"))
            .hint(format!("the arguments look swapped: write ({name} coll key)"))
    })
}

/// Whether a map holds `key`, read flexibly.
pub(super) fn map_has(body: &Map, key: &Value, names: &Names) -> bool {
    in_map(body, key, names).is_some()
}

#[cfg(test)]
mod tests {
    use crate::builtins::trial::check;

    #[test]
    fn writing_and_removing_find_the_entry_that_reading_finds() {
        check(&[
            ("(assoc {:user_id 1} :user-id 2)", "{:user_id 2}"),
            ("(assoc {\"user_id\" 1} :user-id 2 :b 3)", "{\"user_id\" 2, :b 3}"),
            ("(assoc {\"a\" 1} :a 2)", "{\"a\" 2}"),
            ("(assoc {:a 1} \"a\" 2)", "{:a 2}"),
            ("(assoc {:user-id 0 :user_id 1} :user-id 2)", "{:user-id 2, :user_id 1}"),
            (
                "(map #(dissoc % :credit-card) [{\"credit_card\" 1 \"n\" 2} {:credit_card 1}])",
                "({\"n\" 2} {})",
            ),
            ("(update {:user_id 1} :user-id inc)", "{:user_id 2}"),
            ("(update {:user_ids [1]} :user-ids conj 2)", "{:user_ids [1 2]}"),
            ("(update-in {:a {:user_id 1}} [:a :user-id] inc)", "{:a {:user_id 2}}"),
            ("(update-in {\"a\" {\"n\" [1]}} [:a :n] conj 2)", "{\"a\" {\"n\" [1 2]}}"),
            ("(assoc-in {\"a\" {\"user_id\" 1}} [:a :user-id] 2)", "{\"a\" {\"user_id\" 2}}"),
            ("(set/rename-keys {:user_id 1 :b 2} {:user-id :id})", "{:b 2, :id 1}"),
            ("(select-keys {:user_id 1 :b 2} [:user-id])", "{:user_id 1}"),
            (r#"(select-keys {"user_id" 1 :b 2} [:user-id :b])"#, r#"{"user_id" 1, :b 2}"#),
            ("(merge {:user_id 1} {:user-id 2})", "{:user_id 2}"),
            ("(merge {:n 1} {\"a\" 1 :a 2})", "{:n 1, \"a\" 1, :a 2}"),
            (
                "(let [a (atom {:user_id 1})] (swap! a update :user-id inc) (swap! a assoc :user-id 5) @a)",
                "{:user_id 5}",
            ),
            ("(let [a (atom {:user_id 1})] (swap! a update :user-id + 10) @a)", "{:user_id 11}"),
            ("(assoc (sorted-map :user_id 1) :user-id 2)", "{:user_id 2}"),
            ("(dissoc (sorted-map :user_id 1) :user-id)", "{}"),
            (
                "(let [m {:user_id [1]} n (update m :user-id conj 2)] [m n])",
                "[{:user_id [1]} {:user_id [1 2]}]",
            ),
            ("(persistent! (assoc! (transient {:user_id 1}) :user-id 2))", "{:user_id 2}"),
        ]);
    }

    #[test]
    fn keys_that_are_data_stay_apart() {
        check(&[
            (
                "(reduce (fn [m k] (update m k (fnil inc 0))) {} [\"web_1\" \"web-1\" \"web-1\"])",
                "{\"web_1\" 1, \"web-1\" 2}",
            ),
            ("(reduce (fn [m k] (assoc m k 1)) {} [\"x_y\" \"x-y\"])", "{\"x_y\" 1, \"x-y\" 1}"),
            ("(dissoc {\"x_y\" 1} \"x-y\")", "{\"x_y\" 1}"),
            ("(frequencies [:a \"a\" :b_c :b-c])", "{:a 1, \"a\" 1, :b_c 1, :b-c 1}"),
            ("(into {} [[\"a\" 1] [:a 2]])", "{\"a\" 1, :a 2}"),
            ("(update-vals {\"a\" 1 :a 2} inc)", "{\"a\" 2, :a 3}"),
            ("(update-vals {\"a\" 1 :a 2} (fn [n] (+ n 1)))", "{\"a\" 2, :a 3}"),
            ("(update-keys {\"b_c\" 1 \"b-c\" 2} (fn [k] (keyword k)))", "{:b_c 1, :b-c 2}"),
            ("(merge-with (fn [a b] (+ a b)) {:b_c 1} {:b-c 2})", "{:b_c 1, :b-c 2}"),
            ("(walk/keywordize-keys {\"b_c\" 1 \"b-c\" 2})", "{:b_c 1, :b-c 2}"),
            (
                "(do (defmulti f identity) (defmethod f :b_c [_] 1) (defmethod f :b-c [_] 2) [(f :b_c) (f :b-c)])",
                "[1 2]",
            ),
        ]);
    }
}
