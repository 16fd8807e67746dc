//! Shortcuts through functions of the core library: what natives can do without the machine.
//!
//! The core library is written in the language, because its functions call functions. Where the function
//! they are given is one that natives know (`known`), the whole call is one native. A shortcut that is not
//! for its arguments answers [`NOT_FOR_ME`] and leaves them as they were; then the function itself runs.

use std::rc::Rc;

use super::known::{FieldLookup, ItemWalk, Known, size};
use super::maps::ENTRY;
use super::pipeline::is_worth;
use super::pure::{Fold, folds_arguments};
use super::unary::Unary;
use super::vectors::BODY;
use super::{Builtin, NativeFn, eager, native, prims, update};
use crate::heap::Heap;
use crate::interrupt::Interrupt;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::{Map, RangeObj, Shape, Table, Value};

/// The answer of a shortcut that leaves the call to the function itself; the machine looks for it. No program ever sees it.
pub(super) const NOT_FOR_ME: Value = Value::Unbound;

/// The shortcuts, by name of the function.
static SHORTCUTS: &[(&str, NativeFn)] = &[
    ("clojure.core/apply", apply),
    ("clojure.core/every?", every),
    ("clojure.core/filter", filter),
    ("clojure.core/filterv", filterv),
    ("clojure.core/group-by", group_by),
    ("clojure.core/into", into),
    ("clojure.core/keep", keep),
    ("clojure.core/map", map),
    ("clojure.core/mapv", mapv),
    ("clojure.core/reduce", reduce),
    ("clojure.core/remove", remove),
    ("clojure.core/some", some),
    ("clojure.core/update", update::update),
    ("clojure.core/update-in", update::update_in),
];

/// The shortcut through a function.
pub(super) fn shortcut(name: &str) -> Option<NativeFn> {
    SHORTCUTS.iter().find(|(of, _)| *of == name).map(|(_, run)| *run)
}

/// What core functions asked before there were shortcuts: dumps of that time have their code.
pub(super) static TABLE: &[Builtin] = &[
    native("prim/map-known", "[f coll]", |heap, args| or_nil(mapv(heap, args)), FORMER, &[]),
    native("prim/filter-known", "[f coll]", |heap, args| or_nil(filterv(heap, args)), FORMER, &[]),
    native("prim/group-known", "[f coll]", |heap, args| or_nil(group_by(heap, args)), FORMER, &[]),
    native("prim/reduce-known", "[f init coll]", |heap, args| or_nil(reduce(heap, args)), FORMER, &[]),
];

const FORMER: &str = "The shortcut through a function, or nil.";

fn or_nil(answer: Res) -> Res {
    Ok(match answer? {
        Value::Unbound => Value::Nil,
        value => value,
    })
}

/// The function and the items of a call with a function and a collection that is not lazy, if natives know
/// the function.
fn known<'v>(heap: &mut Heap, args: &'v [Value]) -> Res<Option<(Known, ItemWalk<'v>)>> {
    let [function, coll] = args else { return Ok(None) };
    let eager = match coll {
        Value::Vec(_) | Value::Seq(_) | Value::Map(_) | Value::Set(_) => true,
        Value::Range(range) => range.count <= prims::LAZY_RANGE,
        _ => false,
    };
    if !eager {
        return Ok(None);
    }
    let Some(known) = Known::for_items(heap, function, coll) else { return Ok(None) };
    Ok(Some((known, ItemWalk::over(heap, coll)?)))
}

/// The results for all items and the shape of a container of them, or nothing if one must be left to the machine.
fn mapped(heap: &mut Heap, args: &[Value]) -> Res<Option<(Vec<Value>, Shape)>> {
    let Some((mut known, walk)) = known(heap, args)? else { return Ok(None) };
    heap.work_each(known.cost(), walk.len())?;
    heap.reserve_values(walk.len())?;
    let mut out = Vec::with_capacity(walk.len());
    let mut shape = eager::UNKNOWN;
    let done = match &mut known {
        Known::Unary(unary, run) => {
            if *unary != Unary::Identity {
                shape = Shape::EMPTY;
            }
            walk.each(0, |item| {
                out.push(match unary.apply(item) {
                    Some(value) => value,
                    None => run(heap, &mut [item.clone()])?,
                });
                Ok(true)
            })
        }
        Known::Field(field) => walk.each(0, |item| {
            out.push(match field.near(item) {
                Some(value) => value.clone(),
                None => field.of(heap, item)?.into_owned(),
            });
            Ok(true)
        }),
        known => walk.each(0, |item| {
            // What it gives stays, so that all of it has to fit.
            heap.reserve(0)?;
            out.push(known.apply(heap, item)?.into_owned());
            Ok(true)
        }),
    };
    heap.allocated(BODY);
    Ok(done.is_ok().then_some((out, shape)))
}

fn map(heap: &mut Heap, args: &mut [Value]) -> Res {
    let out = mapped(heap, args)?;
    heap.allocated(BODY);
    Ok(out.map_or(NOT_FOR_ME, |(out, shape)| Value::seq_from(out, shape)))
}

fn mapv(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(mapped(heap, args)?.map_or(NOT_FOR_ME, |(out, shape)| Value::vector_from(out, shape)))
}

/// The items for which the function's truth is `wanted`.
fn kept(heap: &mut Heap, args: &[Value], wanted: bool) -> Res<Option<Vec<Value>>> {
    let Some((mut known, walk)) = known(heap, args)? else { return Ok(None) };
    heap.work_each(known.cost(), walk.len())?;
    if let (Known::Unary(unary, _), ItemWalk::Range(range)) = (&known, &walk) {
        return kept_ints(heap, *unary, range, wanted).map(Some);
    }
    let mut out = Vec::new();
    let mut full = Ok(());
    let done = walk.each(0, |item| {
        if known.test(heap, item)? == wanted {
            if let Err(signal) = heap.grow(&mut out) {
                full = Err(signal);
                return Ok(false);
            }
            out.push(item.clone());
        }
        Ok(true)
    });
    full?;
    heap.allocated(BODY);
    Ok(done.is_ok().then_some(out))
}

/// The same for a builtin and the integers of a range. Counting them first is quicker than room that grows.
fn kept_ints(heap: &mut Heap, unary: Unary, range: &RangeObj, wanted: bool) -> Res<Vec<Value>> {
    let ints = || (0..range.count).map(|at| range.at(at)).filter(|int| unary.test_int(*int) == wanted);
    let count = ints().count();
    heap.reserve_values(count)?;
    let mut out = Vec::with_capacity(count);
    out.extend(ints().map(Value::Int));
    heap.allocated(BODY);
    Ok(out)
}

fn filter(heap: &mut Heap, args: &mut [Value]) -> Res {
    let out = kept(heap, args, true)?;
    heap.allocated(BODY);
    Ok(out.map_or(NOT_FOR_ME, |out| Value::seq_from(out, eager::item_shape(&args[1]))))
}

fn filterv(heap: &mut Heap, args: &mut [Value]) -> Res {
    let out = kept(heap, args, true)?;
    Ok(out.map_or(NOT_FOR_ME, |out| Value::vector_from(out, eager::item_shape(&args[1]))))
}

fn remove(heap: &mut Heap, args: &mut [Value]) -> Res {
    let out = kept(heap, args, false)?;
    heap.allocated(BODY);
    Ok(out.map_or(NOT_FOR_ME, |out| Value::seq_from(out, eager::item_shape(&args[1]))))
}

fn keep(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some((mut out, _)) = mapped(heap, args)? else { return Ok(NOT_FOR_ME) };
    out.retain(|item| !item.is_nil());
    heap.allocated(BODY);
    Ok(Value::seq(out))
}

fn some(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some((mut known, walk)) = known(heap, args)? else { return Ok(NOT_FOR_ME) };
    let (mut found, cost) = (Value::Nil, known.cost());
    let done = walk.each(0, |item| {
        heap.work(cost)?;
        let value = known.apply(heap, item)?;
        if value.truthy() {
            found = value.into_owned();
            return Ok(false);
        }
        Ok(true)
    });
    Ok(if done.is_ok() { found } else { NOT_FOR_ME })
}

fn every(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some((mut known, walk)) = known(heap, args)? else { return Ok(NOT_FOR_ME) };
    let (mut all, cost) = (true, known.cost());
    let done = walk.each(0, |item| {
        heap.work(cost)?;
        all = known.test(heap, item)?;
        Ok(all)
    });
    Ok(if done.is_ok() { Value::Bool(all) } else { NOT_FOR_ME })
}

fn group_by(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some((mut known, walk)) = known(heap, args)? else { return Ok(NOT_FOR_ME) };
    heap.work_each(known.cost(), walk.len())?;
    heap.reserve_values(walk.len() * 2)?;
    // First the group of each item by number, and how many there are of each: items that nobody else has may
    // move to their groups, but only when nothing can fail any more.
    let mut keys: Table<()> = Table::default();
    let mut sizes: Vec<usize> = Vec::new();
    let mut numbers: Vec<u32> = Vec::with_capacity(walk.len());
    let done = walk.each(0, |item| {
        let key = known.apply(heap, item)?;
        heap.realised(&key)?;
        let number = match keys.position(&key) {
            Some(number) => number,
            None => {
                heap.reserve(2 * BODY)?;
                keys.insert(key.into_owned(), ());
                sizes.push(0);
                sizes.len() - 1
            }
        };
        sizes[number] += 1;
        numbers.push(number as u32);
        Ok(true)
    });
    if done.is_err() {
        return Ok(NOT_FOR_ME);
    }
    let shape = eager::item_shape(&args[1]);
    let mut groups: Vec<Vec<Value>> = sizes.into_iter().map(Vec::with_capacity).collect();
    let mut numbers = numbers.into_iter();
    let mut put = |item| {
        if let Some(number) = numbers.next() {
            groups[number as usize].push(item);
        }
    };
    if is_own(&args[1]) {
        drop(walk);
        take_items(&mut args[1]).into_iter().for_each(put);
    } else {
        walk.each(0, |item| {
            put(item.clone());
            Ok(true)
        })?;
    }
    let mut groups = groups.into_iter();
    Ok(Value::Map(keys.map_values(|()| Value::vector_from(groups.next().unwrap_or_default(), shape)).into()))
}

/// Whether nobody else has a collection and what is in it.
fn is_own(coll: &Value) -> bool {
    match coll {
        Value::Vec(body) => Rc::strong_count(body) == 1,
        Value::Seq(body) => Rc::strong_count(body) == 1 && Rc::strong_count(&body.items) == 1,
        _ => false,
    }
}

/// Takes the items out of a collection that [`is_own`].
fn take_items(coll: &mut Value) -> Vec<Value> {
    match coll {
        Value::Vec(body) => Rc::get_mut(body).map(|body| std::mem::take(&mut body.items)),
        Value::Seq(body) => Rc::get_mut(body).and_then(|seq| {
            let (offset, end) = (seq.offset, seq.end);
            let mut items = std::mem::take(&mut Rc::get_mut(&mut seq.items)?.items);
            items.truncate(end);
            items.drain(..offset.min(items.len()));
            Some(items)
        }),
        _ => None,
    }
    .unwrap_or_default()
}

/// `(into to (map f) from)` is `(into to (map f from))`.
fn into(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [to, Value::Fn(xform), from] = &args else { return Ok(NOT_FOR_ME) };
    if !matches!(to, Value::Map(_) | Value::Vec(_) | Value::Set(_) | Value::Nil)
        || !is_core(xform.unit.id)
        || xform.unit.function_name(xform.func) != Some("map-xform")
    {
        return Ok(NOT_FOR_ME);
    }
    let Some(function) = xform.captures.first().cloned() else { return Ok(NOT_FOR_ME) };
    if is_bare(to)
        && let Some(index) = index(heap, &[function.clone(), from.clone()])?
    {
        return Ok(index);
    }
    let Some((items, _)) = mapped(heap, &[function, from.clone()])? else { return Ok(NOT_FOR_ME) };
    let mut call = [std::mem::take(&mut args[0]), Value::vector(items)];
    let done = eager::into(heap, &mut call);
    if let Err(signal) = &done {
        // Whatever is wrong, the function finds it again.
        args[0] = std::mem::take(&mut call[0]);
        if signal.runs_again() || args[0].is_nil() {
            return done;
        }
        return Ok(NOT_FOR_ME);
    }
    done
}

/// Whether it is `{}` and nothing more.
fn is_bare(coll: &Value) -> bool {
    matches!(coll, Value::Map(body) if body.is_empty() && body.record().is_none() && body.meta().is_none())
}

/// The map that `juxt` of two functions makes of the items, keys and values without pairs of them.
fn index(heap: &mut Heap, args: &[Value]) -> Res<Option<Value>> {
    let Some((function, walk)) = known(heap, args)? else { return Ok(None) };
    let [mut key, mut value] = match function {
        Known::Each(parts) => match <[Known; 2]>::try_from(parts) {
            Ok(parts) => parts,
            Err(_) => return Ok(None),
        },
        Known::Fields(parts) => match <[FieldLookup; 2]>::try_from(parts) {
            Ok(parts) => parts.map(Known::Field),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    heap.work_each(1 + key.cost() + value.cost(), walk.len())?;
    heap.reserve(walk.len().saturating_mul(ENTRY))?;
    let mut table = Map::default();
    let done = walk.each(0, |item| {
        heap.reserve(0)?;
        let key = key.apply(heap, item)?.into_owned();
        heap.realised(&key)?;
        let value = value.apply(heap, item)?.into_owned();
        table.insert(key, value);
        Ok(true)
    });
    heap.allocated(BODY);
    Ok(done.is_ok().then(|| Value::Map(table)))
}

fn reduce(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (function, init, coll) = match &args[..] {
        [function, coll] => (function, None, coll),
        [function, init, coll] => (function, Some(init.clone()), coll),
        _ => return Ok(NOT_FOR_ME),
    };
    // A lazy sequence is better folded as it is made.
    if !matches!(coll, Value::Vec(_) | Value::Seq(_) | Value::Range(_)) {
        return Ok(NOT_FOR_ME);
    }
    if !is_worth(function, size(coll).unwrap_or(0)) {
        return Ok(NOT_FOR_ME);
    }
    let Some(mut fold) = Fold::of(heap, function) else { return Ok(NOT_FOR_ME) };
    let walk = ItemWalk::over(heap, coll)?;
    let (from, init) = match (init, &walk) {
        (Some(init), _) => (0, init),
        (None, ItemWalk::Range(range)) => (1, Value::Int(range.start)),
        (None, ItemWalk::Items(items)) => match items.first() {
            Some(first) => (1, first.clone()),
            None => return Ok(NOT_FOR_ME),
        },
    };
    heap.work_each(fold.cost(), walk.len() - from)?;
    folded(heap, &mut fold, init, &walk, from)
}

/// `apply` of a function that folds its arguments, to two or more items.
fn apply(heap: &mut Heap, args: &mut [Value]) -> Res {
    let [function, coll] = &args[..] else { return Ok(NOT_FOR_ME) };
    if !folds_arguments(function) || size(coll).is_none_or(|count| count < 2) {
        return Ok(NOT_FOR_ME);
    }
    reduce(heap, args)
}

/// A fold over the items from one on. All of them are paid for; between blocks of them the host is asked whether to go on.
fn folded(heap: &mut Heap, fold: &mut Fold, init: Value, walk: &ItemWalk<'_>, from: usize) -> Res {
    const BLOCK: usize = Interrupt::FUEL as usize;
    let (mut so_far, mut at) = (init, from);
    while at < walk.len() {
        if at > BLOCK {
            heap.interrupt.check()?;
        }
        let end = walk.len().min(at + BLOCK);
        let done = match walk {
            ItemWalk::Items(items) => fold.over(heap, so_far, items[at..end].iter()),
            ItemWalk::Range(range) => {
                fold.over_ints(heap, so_far, (at as u64..end as u64).map(|at| range.at(at)))
            }
        };
        match done {
            Ok(value) => so_far = value,
            Err(_) => return Ok(NOT_FOR_ME),
        }
        at = end;
    }
    Ok(so_far)
}

#[cfg(test)]
mod tests {
    use super::super::trial::check;
    use super::super::{Run, registry};
    use super::*;

    #[test]
    fn shortcuts_are_named_after_core_functions() {
        for (name, _) in SHORTCUTS {
            let id = registry().qualified(name).unwrap_or_else(|| panic!("{name} is not declared"));
            assert!(matches!(registry().get(id).run, Run::Core(_)), "{name} is not in the core library");
        }
    }

    #[test]
    fn functions_that_natives_know_give_what_calls_give() {
        check(&[
            ("(map :a [{:a 1} {\"a\" 2} nil 5 {:b 1} (sorted-map :a 3)])", "(1 2 nil nil nil 3)"),
            ("(mapv (juxt :a :b) [{:b 2 :a 1} {}])", "[[1 2] [nil nil]]"),
            ("(mapv (juxt :a :b :c) [{:b 2 :a 1}])", "[[1 2 nil]]"),
            ("(mapv (juxt :a count) [{:b 2 :a 1}])", "[[1 2]]"),
            ("(mapv (juxt identity (juxt :a)) [{:a 1}])", "[[{:a 1} [1]]]"),
            ("(map (juxt :a inc) [])", "()"),
            ("(map inc [1 2.5])", "(2 3.5)"),
            ("(map inc #{1})", "(2)"),
            ("(map inc (range 3))", "(1 2 3)"),
            ("(map val {:a 1})", "(1)"),
            ("(map {1 :x} [1 2])", "(:x nil)"),
            ("(map inc [9223372036854775807])", "(9223372036854775808)"),
            ("(vec (take 2 (map inc (range))))", "[1 2]"),
            ("(filter #{1 nil} [1 2 nil 1])", "(1 1)"),
            ("(filter :ok [{:ok 1} {:ok false} {}])", "({:ok 1})"),
            ("(filter odd? (range 5))", "(1 3)"),
            ("(remove even? [1 2 3])", "(1 3)"),
            ("(remove :a [{:a 1} {}])", "({})"),
            ("(keep :a [{:a 1} {} {:a false}])", "(1 false)"),
            ("(some :a [{} {:a 1}])", "1"),
            ("(some #{3} [1 2])", "nil"),
            ("(every? even? [2 4])", "true"),
            ("(every? even? [2 3])", "false"),
            ("(every? even? [])", "true"),
            ("(filterv :a (map identity [{:a 1}]))", "[{:a 1}]"),
            ("(group-by :k [{:k 1 :v 1} {:k 2} {:k 1 :v 2}])", "{1 [{:k 1, :v 1} {:k 1, :v 2}], 2 [{:k 2}]}"),
            ("(group-by (juxt :a :b) [{:a 1} {:a 1 :b nil}])", "{[1 nil] [{:a 1} {:a 1, :b nil}]}"),
            ("(group-by count [\"a\" [1 2] \"b\"])", "{1 [\"a\" \"b\"], 2 [[1 2]]}"),
            ("(map inc [1 nil])", "error: type_error"),
            ("(into {} (map (juxt :id identity)) [{:id 1}])", "{1 {:id 1}}"),
            ("(into {} (map (juxt :id :n)) [{:id 1 :n 2} {:id 2} {:id 1 :n 3}])", "{1 3, 2 nil}"),
            ("(into {} (map (juxt :id count)) [{:id 1} {:id 2 :n 3}])", "{1 1, 2 2}"),
            ("(into {} (map (juxt :id inc)) [{:id 1}])", "error: type_error"),
            ("(into {:a 1} (map (juxt :id :n)) [{:id 1 :n 2}])", "{:a 1, 1 2}"),
            ("(meta (into ^{:m 1} {} (map (juxt :id :n)) [{:id 1 :n 2}]))", "{:m 1}"),
            ("(into [0] (map inc) [1 2])", "[0 2 3]"),
            ("(into {} (map inc) [1])", "error: type_error"),
            ("(let [m {:a 1}] [(into m (map (juxt :k :v)) [{:k 2 :v 3}]) m])", "[{:a 1, 2 3} {:a 1}]"),
        ]);
    }

    #[test]
    fn folds_give_what_calls_give() {
        check(&[
            ("(reduce + [1 2.5 9223372036854775807])", "9.223372036854776E18"),
            ("(reduce + 9223372036854775807 [1])", "9223372036854775808"),
            ("(reduce + [9223372036854775807 1 1])", "9223372036854775809"),
            ("(reduce + (range 5))", "10"),
            ("(reduce + 1.5 (range 5))", "11.5"),
            ("(reduce * (range 1 25))", "620448401733239439360000"),
            ("(reduce max [3 9 2])", "9"),
            ("(reduce - 10 [1 2])", "7"),
            ("(reduce + [])", "0"),
            ("(reduce + [nil])", "nil"),
            ("(reduce + 1 [:a])", "error: type_error"),
            ("(reduce + (map :n [{:n 1} {:n 2}]))", "3"),
            ("(map #(apply + %) [[1 2] '(1 2.5) [] [3] [1 2 3M]])", "(3 3.5 0 3 6M)"),
            (
                "[(apply max [3 9 2]) (apply min (range 3 9)) (apply * (range 1 25))]",
                "[9 3 620448401733239439360000]",
            ),
            ("(apply + [:a 1])", "error: type_error"),
            ("(apply max [1 ##NaN 2])", "##NaN"),
            ("(reduce (fn [sum x] (+ sum (* 2 x))) 0 (range 20))", "380"),
            ("(reduce (fn [best x] (if (> x best) x best)) (mapv #(mod (* 7 %) 13) (range 20)))", "12"),
            ("(reduce (fn [sum x] (if (> x 3) (reduced sum) (+ sum x))) 0 (range 20))", "6"),
            ("(reduce (fn [m x] (assoc m x (inc x))) {} (range 2))", "{0 1, 1 2}"),
        ]);
    }
}
