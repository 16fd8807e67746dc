//! Functions that natives can apply by themselves: keywords, sets and maps, `juxt` of keywords, builtins
//! without effects, and functions of the program that are made of such things.
//!
//! Natives never call back into the machine, but these functions need no machine. So the core library
//! asks here first when it maps, filters, groups or folds; nil means that the function must be called.
//! Whatever such a function cannot answer at once (a lazy sequence inside, an error to raise) also gives
//! nil: it has no effects, so calling it again is harmless, and the error gets its usual place.

use std::borrow::Cow;

use super::eager::item_shape;
use super::pure::{self, Pure};
use super::vectors::BODY;
use super::{Builtin, NativeFn, lookup, native, registry};
use crate::arith;
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::{Table, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "prim/map-known",
        "[f coll]",
        map_known,
        "The results of a function that natives know, as a vector; nil for others.",
        &[],
    ),
    native(
        "prim/filter-known",
        "[f coll]",
        filter_known,
        "The items for which a function that natives know holds, as a vector; nil for others.",
        &[],
    ),
    native(
        "prim/group-known",
        "[f coll]",
        group_known,
        "The items by the results of a function that natives know; nil for others.",
        &[],
    ),
    native(
        "prim/reduce-known",
        "[f init coll]",
        reduce_known,
        "The fold with a function of two arguments that natives know; nil for others.",
        &[],
    ),
];

/// A function of one argument that natives can apply.
pub(super) enum Known {
    /// A keyword looks itself up.
    Field(Field),
    /// `juxt` of keywords.
    Fields(Vec<Field>),
    /// A set or map looks its argument up.
    Lookup(Value),
    /// A builtin.
    Native(NativeFn),
    /// A function of the program.
    Pure(Pure),
}

/// A keyword that is looked up in one map after the other.
#[derive(Clone, Debug)]
pub(super) struct Field {
    key: Value,
    /// Where the last map had it.
    hint: usize,
}

impl Field {
    pub(super) fn new(key: &Value) -> Field {
        Field { key: key.clone(), hint: 0 }
    }

    /// The value of the key in `item`.
    #[inline]
    pub(super) fn of<'i>(&mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        if let Value::Map(body) = item
            && let Some(value) = body.table.get_near(&self.key, &mut self.hint)
        {
            return Ok(Cow::Borrowed(value));
        }
        lookup::get_or(heap, item, &self.key, &Value::Nil).map(Cow::Owned)
    }
}

impl Known {
    /// Recognises a function that is applied to every item of `coll`; reading the code of a function is
    /// not worth it for a few.
    pub(super) fn for_items(function: &Value, coll: &Value) -> Option<Known> {
        const FEW: usize = 16;
        let count = match coll {
            Value::Vec(body) => body.items.len(),
            Value::Seq(body) => body.as_slice().len(),
            Value::Map(body) => body.table.len(),
            Value::Set(body) => body.table.len(),
            _ => 0,
        };
        match function {
            Value::Fn(body) if count < FEW && !is_core(body.unit.id) => None,
            _ => Known::of(function),
        }
    }

    /// Recognises a function.
    fn of(function: &Value) -> Option<Known> {
        match function {
            Value::Kw(_) => Some(Known::Field(Field::new(function))),
            Value::Set(_) | Value::Map(_) => Some(Known::Lookup(function.clone())),
            Value::Builtin(id) => pure::native_of(*id, 1).map(Known::Native),
            Value::Fn(body) if is_core(body.unit.id) => {
                if body.unit.function_name(body.func) != Some("juxt") {
                    return None;
                }
                let keys = match &*body.captures {
                    [Value::Vec(keys)] => &keys.items[..],
                    keys => keys,
                };
                let all = !keys.is_empty() && keys.iter().all(|key| matches!(key, Value::Kw(_)));
                all.then(|| Known::Fields(keys.iter().map(Field::new).collect()))
            }
            Value::Fn(body) => Pure::of(body).map(Known::Pure),
            _ => None,
        }
    }

    /// The result for one item.
    #[inline]
    fn apply<'i>(&'i mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        Ok(match self {
            Known::Field(field) => return field.of(heap, item),
            Known::Fields(fields) => {
                let row: Res<Vec<Value>> =
                    fields.iter_mut().map(|field| Ok(field.of(heap, item)?.into_owned())).collect();
                heap.allocated(BODY + 2 * size_of::<Value>());
                Cow::Owned(Value::vector(row?))
            }
            Known::Lookup(coll) => Cow::Owned(lookup::get_or(heap, coll, item, &Value::Nil)?),
            Known::Native(run) => Cow::Owned(run(heap, &mut [item.clone()])?),
            Known::Pure(function) => return function.apply(heap, item),
        })
    }
}

/// The items of a collection, in place if they are in an array.
pub(super) fn items_of<'v>(heap: &mut Heap, coll: &'v Value) -> Res<Cow<'v, [Value]>> {
    let slice = match coll {
        Value::Vec(body) => &body.items[..],
        Value::Seq(body) => body.as_slice(),
        _ => return Ok(Cow::Owned(heap.collect(coll)?)),
    };
    heap.work(slice.len())?;
    Ok(Cow::Borrowed(slice))
}

fn map_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(mut known) = Known::for_items(&args[0], &args[1]) else { return Ok(Value::Nil) };
    let items = items_of(heap, &args[1])?;
    heap.reserve_values(items.len())?;
    let mut out = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Ok(result) = known.apply(heap, item) else { return Ok(Value::Nil) };
        out.push(result.into_owned());
    }
    heap.allocated(BODY);
    Ok(Value::vector(out))
}

fn filter_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(mut known) = Known::for_items(&args[0], &args[1]) else { return Ok(Value::Nil) };
    let items = items_of(heap, &args[1])?;
    let shape = item_shape(&args[1]);
    let mut out = Vec::new();
    for item in items.iter() {
        let Ok(result) = known.apply(heap, item) else { return Ok(Value::Nil) };
        if result.truthy() {
            out.push(item.clone());
        }
    }
    heap.allocated(BODY + out.capacity() * size_of::<Value>());
    Ok(Value::vector_from(out, shape))
}

fn group_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(mut known) = Known::for_items(&args[0], &args[1]) else { return Ok(Value::Nil) };
    let items = items_of(heap, &args[1])?;
    heap.reserve_values(items.len() * 2)?;
    let mut groups: Table<Vec<Value>> = Table::default();
    for item in items.iter() {
        let Ok(key) = known.apply(heap, item) else { return Ok(Value::Nil) };
        if heap.realised(&key).is_err() {
            return Ok(Value::Nil);
        }
        match groups.get_mut(&key) {
            Some(group) => group.push(item.clone()),
            None => {
                heap.allocated(2 * BODY);
                groups.insert(key.into_owned(), vec![item.clone()]);
            }
        }
    }
    let shape = item_shape(&args[1]);
    Ok(Value::map(groups.map_values(|group| Value::vector_from(group, shape))))
}

fn reduce_known(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Builtin(id) = &args[0] else { return Ok(Value::Nil) };
    let fold: fn(&Value, &Value) -> Res = match registry().get(*id).name {
        "clojure.core/+" => arith::add,
        _ => return Ok(Value::Nil),
    };
    let mut sum = args[1].clone();
    let mut add = |heap: &mut Heap, item: &Value| {
        sum = match (&sum, item) {
            (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
            _ => {
                heap.work(arith::sum_cost(&sum, item))?;
                fold(&sum, item)?
            }
        };
        Res::Ok(())
    };
    // A lazy sequence is better folded as it is made.
    let done = match &args[2] {
        coll @ (Value::Vec(_) | Value::Seq(_)) => {
            let items = items_of(heap, coll)?;
            items.iter().try_for_each(|item| add(heap, item))
        }
        Value::Range(range) => {
            heap.work(usize::try_from(range.count).unwrap_or(usize::MAX))?;
            (0..range.count).try_for_each(|at| add(heap, &Value::Int(range.at(at))))
        }
        _ => return Ok(Value::Nil),
    };
    Ok(if done.is_ok() { sum } else { Value::Nil })
}

#[cfg(test)]
mod tests {
    use super::super::trial::check;

    #[test]
    fn functions_that_natives_know_give_what_calls_give() {
        check(&[
            ("(map :a [{:a 1} {\"a\" 2} nil 5 {:b 1} (sorted-map :a 3)])", "(1 2 nil nil nil 3)"),
            ("(mapv (juxt :a :b) [{:b 2 :a 1} {}])", "[[1 2] [nil nil]]"),
            ("(mapv (juxt :a :b :c) [{:b 2 :a 1}])", "[[1 2 nil]]"),
            ("(map (juxt :a inc) [])", "()"),
            ("(map inc [1 2.5])", "(2 3.5)"),
            ("(map inc #{1})", "(2)"),
            ("(map val {:a 1})", "(1)"),
            ("(map {1 :x} [1 2])", "(:x nil)"),
            ("(filter #{1 nil} [1 2 nil 1])", "(1 1)"),
            ("(filter :ok [{:ok 1} {:ok false} {}])", "({:ok 1})"),
            ("(remove even? [1 2 3])", "(1 3)"),
            ("(filterv :a (map identity [{:a 1}]))", "[{:a 1}]"),
            ("(group-by :k [{:k 1 :v 1} {:k 2} {:k 1 :v 2}])", "{1 [{:k 1, :v 1} {:k 1, :v 2}], 2 [{:k 2}]}"),
            ("(group-by (juxt :a :b) [{:a 1} {:a 1 :b nil}])", "{[1 nil] [{:a 1} {:a 1, :b nil}]}"),
            ("(group-by count [\"a\" [1 2] \"b\"])", "{1 [\"a\" \"b\"], 2 [[1 2]]}"),
            ("(map inc [1 nil])", "error: type_error"),
            ("(reduce + [1 2.5 9223372036854775807])", "9.223372036854776E18"),
            ("(reduce + 9223372036854775807 [1])", "9223372036854775808"),
            ("(reduce + [])", "0"),
            ("(reduce + [nil])", "nil"),
            ("(reduce + 1 [:a])", "error: type_error"),
            ("(reduce + (map :n [{:n 1} {:n 2}]))", "3"),
        ]);
    }
}
