//! Looking into sequences: the first, the rest, the nth, how many.
//!
//! Only what the answer needs is realised. Tails of vectors, lists and ranges copy nothing.

use std::rc::Rc;

use super::chain_part::ChainPart;
use super::eager::Whole;
use super::{Builtin, Run, args, lookup, native, registry, transients};
use crate::error::{Error, ErrorKind};
use crate::heap::{Heap, not_seqable};
use crate::signal::{Res, Signal, pending};
use crate::value::text::{char_count, characters};
use crate::value::{CellKind, Items, RangeObj, SeqObj, Shared, Value, VecObj};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/first",
        "[coll]",
        first,
        "The first item of a collection or string; nil if there is none.",
        &[("(first [1 2 3])", "1"), ("(first nil)", "nil")],
    )
    .in_chains(ChainPart::First),
    native(
        "clojure.core/second",
        "[coll]",
        second,
        "The second item; nil if there is none.",
        &[("(second [1 2 3])", "2")],
    )
    .in_chains(ChainPart::Second),
    native(
        "clojure.core/last",
        "[coll]",
        last,
        "The last item; nil if there is none.",
        &[("(last [1 2 3])", "3")],
    ),
    native(
        "clojure.core/rest",
        "[coll]",
        rest,
        "All items but the first, as a sequence that may be empty.",
        &[("(rest [1 2 3])", "(2 3)"), ("(rest [])", "()")],
    ),
    native(
        "clojure.core/next",
        "[coll]",
        next,
        "All items but the first; nil if there are none.",
        &[("(next [1 2 3])", "(2 3)"), ("(next [1])", "nil")],
    ),
    native(
        "clojure.core/ffirst",
        "[coll]",
        ffirst,
        "The first item of the first item.",
        &[("(ffirst [[1 2] [3]])", "1")],
    ),
    native(
        "clojure.core/fnext",
        "[coll]",
        second,
        "The first item after the first: the second.",
        &[("(fnext [1 2 3])", "2")],
    ),
    native(
        "clojure.core/nfirst",
        "[coll]",
        nfirst,
        "What follows the first item of the first item.",
        &[("(nfirst [[1 2] [3]])", "(2)")],
    ),
    native(
        "clojure.core/nnext",
        "[coll]",
        nnext,
        "What follows the second item; nil if nothing does.",
        &[("(nnext [1 2 3])", "(3)")],
    ),
    native(
        "clojure.core/butlast",
        "[coll]",
        butlast,
        "All items but the last; nil if there are none.",
        &[("(butlast [1 2 3])", "(1 2)"), ("(butlast [1])", "nil")],
    ),
    native(
        "clojure.core/nth",
        "[coll index] [coll index not-found]",
        nth,
        "The item at an index counted from zero. Outside the collection it gives not-found, or raises.",
        &[("(nth [:a :b] 1)", ":b"), ("(nth [:a :b] 5 :none)", ":none")],
    ),
    native(
        "clojure.core/seq",
        "[coll]",
        seq,
        "The items of a collection or string as a sequence; nil if there are none.",
        &[("(seq {:a 1})", "([:a 1])"), ("(seq [])", "nil")],
    ),
    native(
        "clojure.core/count",
        "[coll]",
        count,
        "How many items a collection has, or characters a string; 0 for nil.",
        &[("(count [1 2 3])", "3"), ("(count \"abc\")", "3")],
    )
    .in_chains(ChainPart::Count),
    native(
        "clojure.core/bounded-count",
        "[n coll]",
        bounded_count,
        "The count if it is known at once; else counts at least n items and stops.",
        &[("(bounded-count 2 [1 2 3])", "3")],
    ),
    native(
        "clojure.core/empty?",
        "[coll]",
        is_empty,
        "Whether a collection or string has no items; nil has none.",
        &[("(empty? [])", "true"), ("(empty? \"a\")", "false")],
    )
    .in_chains(ChainPart::Empty),
    native(
        "clojure.core/not-empty",
        "[coll]",
        not_empty,
        "The collection itself, or nil if it is empty.",
        &[("(not-empty [1])", "[1]"), ("(not-empty {})", "nil")],
    ),
];

/// The items of a value, or the error that says it has none.
pub(super) fn items(value: &Value) -> Res<Items> {
    Items::over(value).ok_or_else(|| not_seqable(value).into())
}

/// The next item of a walk; asks for a lazy part to be realised first.
pub(super) fn step(items: &mut Items) -> Res<Option<Value>> {
    items.next().map_err(pending)
}

/// The tail of an array from `offset` on.
pub(super) fn tail(items: &Shared<VecObj>, offset: usize, list: bool) -> Value {
    SeqObj::tail(items.clone(), offset, list)
}

const EMPTY_BYTES: usize = 96;
pub(super) const ENTRY_BYTES: usize = EMPTY_BYTES + 2 * size_of::<Value>();

/// The empty sequence.
pub(super) fn empty_seq() -> Value {
    Value::list(Vec::new())
}

/// The first item of `value`, nil if there is none.
#[inline]
pub(super) fn first_of(value: &Value) -> Res {
    match value {
        Value::Vec(body) => Ok(body.items.first().cloned().unwrap_or_default()),
        Value::Seq(body) => Ok(body.as_slice().first().cloned().unwrap_or_default()),
        Value::Cons(cell) => Ok(cell.first.clone()),
        Value::Range(range) => Ok(Value::Int(range.start)),
        _ => Ok(step(&mut items(value)?)?.unwrap_or_default()),
    }
}

/// Everything after the first item, which may be an unrealised lazy sequence.
pub(super) fn rest_of(heap: &mut Heap, value: &Value) -> Res {
    heap.allocated(EMPTY_BYTES);
    Ok(match value {
        Value::Vec(body) => tail(body, 1, false),
        Value::Seq(body) => body.without(1, body.list),
        Value::Cons(cell) if cell.rest.is_nil() => empty_seq(),
        Value::Cons(cell) => cell.rest.clone(),
        Value::Range(range) => rest_of_range(range),
        Value::Nil => empty_seq(),
        Value::Lazy(lazy) => match lazy.realised() {
            Some(realised) => return rest_of(heap, &realised),
            None => return Err(pending(lazy.clone())),
        },
        _ => match heap.seq(value)? {
            Value::Nil => empty_seq(),
            sequence => return rest_of(heap, &sequence),
        },
    })
}

fn rest_of_range(range: &RangeObj) -> Value {
    RangeObj::value(range.start.wrapping_add(range.step), range.step, range.count - 1)
}

/// Everything after the first item, nil if there is nothing.
pub(super) fn next_of(heap: &mut Heap, value: &Value) -> Res {
    let rest = rest_of(heap, value)?;
    heap.seq(&rest)
}

/// Moves a sequence with one owner forward by `by` without a new allocation.
fn advance(value: &mut Value, by: usize) -> bool {
    if let Value::Seq(body) = value
        && let Some(body) = Rc::get_mut(body)
    {
        body.offset = body.offset.saturating_add(by).min(body.end);
        body.meta = None;
        body.queue = false;
        return true;
    }
    false
}

/// Counts what an item of a map takes: an entry is a vector, made when somebody asks for it.
fn count_entry(heap: &mut Heap, coll: &Value) {
    if let Value::Map(_) | Value::Sorted(_) = coll {
        heap.allocated(ENTRY_BYTES);
    }
}

fn first(heap: &mut Heap, args: &mut [Value]) -> Res {
    count_entry(heap, &args[0]);
    first_of(&args[0])
}

fn second(heap: &mut Heap, args: &mut [Value]) -> Res {
    count_entry(heap, &args[0]);
    let mut items = items(&args[0])?;
    if step(&mut items)?.is_none() {
        return Ok(Value::Nil);
    }
    Ok(step(&mut items)?.unwrap_or_default())
}

fn last(heap: &mut Heap, args: &mut [Value]) -> Res {
    count_entry(heap, &args[0]);
    Ok(match &args[0] {
        Value::Vec(body) => body.items.last().cloned().unwrap_or_default(),
        Value::Seq(body) => body.as_slice().last().cloned().unwrap_or_default(),
        Value::Range(range) => Value::Int(range.at(range.count - 1)),
        Value::Str(text) => characters(text.as_str()).next_back().map_or(Value::Nil, Value::str),
        Value::Set(body) => body.table.keys().next_back().cloned().unwrap_or_default(),
        Value::Map(body) => match body.iter().next_back() {
            Some((key, value)) => Value::entry(key.clone(), value.clone()),
            None => Value::Nil,
        },
        Value::Sorted(body) => match body.entries.last() {
            Some((key, _)) if body.is_set => key.clone(),
            Some((key, value)) => Value::entry(key.clone(), value.clone()),
            None => Value::Nil,
        },
        other => {
            let mut last = Value::Nil;
            each(heap, other, |item| last = item)?;
            last
        }
    })
}

/// Walks all of a chain, realising it if need be.
fn each(heap: &mut Heap, value: &Value, mut visit: impl FnMut(Value)) -> Res<usize> {
    let mut items = items(value)?;
    let mut count = 0;
    loop {
        match items.next() {
            Ok(Some(item)) => visit(item),
            Ok(None) => return Ok(count),
            Err(_) => return Err(Signal::Realise(value.clone()).into()),
        }
        count += 1;
        heap.work(1)?;
    }
}

fn rest(heap: &mut Heap, args: &mut [Value]) -> Res {
    if advance(&mut args[0], 1) {
        return Ok(args::take(args, 0));
    }
    rest_of(heap, &args[0])
}

fn next(heap: &mut Heap, args: &mut [Value]) -> Res {
    if advance(&mut args[0], 1) {
        let rest = args::take(args, 0);
        return heap.seq(&rest);
    }
    next_of(heap, &args[0])
}

fn ffirst(_: &mut Heap, args: &mut [Value]) -> Res {
    first_of(&first_of(&args[0])?)
}

fn nfirst(heap: &mut Heap, args: &mut [Value]) -> Res {
    let first = first_of(&args[0])?;
    next_of(heap, &first)
}

fn nnext(heap: &mut Heap, args: &mut [Value]) -> Res {
    let next = next_of(heap, &args[0])?;
    next_of(heap, &next)
}

fn butlast(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Range(range) = &args[0] {
        let shorter = RangeObj::value(range.start, range.step, range.count - 1);
        return heap.seq(&shorter);
    }
    if let Some(whole) = Whole::of(&args[0]) {
        return if whole.len() < 2 { Ok(Value::Nil) } else { whole.part(heap, 0, whole.len() - 1) };
    }
    let mut items = heap.collect(&args[0])?;
    items.pop();
    Ok(if items.is_empty() { Value::Nil } else { Value::seq(items) })
}

fn nth(heap: &mut Heap, args: &mut [Value]) -> Res {
    let index = args::int(args, 1)?;
    let found = match usize::try_from(index) {
        Ok(index) => nth_of(heap, args, index)?,
        Err(_) => None,
    };
    match found {
        Some(item) => Ok(item),
        None if args.len() > 2 => Ok(args::take(args, 2)),
        None if args[0].is_nil() => Ok(Value::Nil),
        None => Err(out_of_bounds(index, &args[0]).into()),
    }
}

/// The item at `index`. A walk along a lazy sequence keeps its progress in the arguments, so that
/// being asked again after each realised step costs nothing.
fn nth_of(heap: &mut Heap, args: &mut [Value], index: usize) -> Res<Option<Value>> {
    Ok(match &args[0] {
        Value::Nil => None,
        Value::Vec(body) => body.items.get(index).cloned(),
        Value::Seq(body) => body.as_slice().get(index).cloned(),
        Value::Range(range) => (index as u64).lt(&range.count).then(|| Value::Int(range.at(index as u64))),
        Value::Str(text) => {
            heap.work(index / 8)?;
            characters(text.as_str()).nth(index).map(Value::str)
        }
        Value::Cons(_) | Value::Lazy(_) => {
            let mut items = items(&args[0])?;
            for walked in 0..=index {
                heap.work(1)?;
                match items.next() {
                    Ok(Some(item)) if walked == index => return Ok(Some(item)),
                    Ok(Some(_)) => {}
                    Ok(None) => return Ok(None),
                    Err(lazy) => {
                        args[0] = Value::Lazy(lazy.clone());
                        args[1] = Value::from(index - walked);
                        return Err(pending(lazy));
                    }
                }
            }
            None
        }
        Value::Cell(cell) if cell.kind == CellKind::Matcher => group_of(heap, &args[0], index)?,
        Value::Cell(cell) if lookup::is_indexed_cell(cell) => {
            lookup::find(heap, &args[0], &Value::from(index))?
        }
        Value::Map(_) | Value::Set(_) | Value::Sorted(_) => {
            let kind = args[0].type_name();
            let error = Error::new(ErrorKind::Type, format!("a {kind} has no positions"));
            return Err(error.hint("use (nth (seq coll) index), or (get coll key)").into());
        }
        _ => return args::fail(args, 0, "a vector, list or string"),
    })
}

/// The group of a matcher's last match.
fn group_of(heap: &mut Heap, matcher: &Value, index: usize) -> Res<Option<Value>> {
    let mut groups = [matcher.clone()];
    let run = registry().qualified("clojure.core/re-groups").map(|id| registry().get(id).run);
    let Some(Run::Native(re_groups)) = run else { return Ok(None) };
    Ok(match re_groups(heap, &mut groups)? {
        Value::Vec(body) => body.items.get(index).cloned(),
        whole => (index == 0).then_some(whole),
    })
}

/// The error for an index outside a collection.
pub(super) fn out_of_bounds(index: i64, coll: &Value) -> Error {
    if matches!(coll, Value::Cons(_) | Value::Lazy(_)) {
        return Error::new(ErrorKind::IndexOutOfBounds, "the index is past the end of the sequence");
    }
    let size = match coll {
        Value::Vec(body) => format!(" of {} items", body.items.len()),
        Value::Seq(body) => format!(" of {} items", body.as_slice().len()),
        Value::Str(text) => format!(" of {} characters", char_count(text.as_str())),
        _ => String::new(),
    };
    let message = format!("index {index} is outside the {}{size}", coll.type_name());
    Error::new(ErrorKind::IndexOutOfBounds, message).hint("use (get coll index) or (nth coll index default)")
}

fn seq(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.seq(&args[0])
}

/// How many items a value has, realising it if need be.
pub(super) fn count_of(heap: &mut Heap, value: &Value) -> Res<usize> {
    Ok(match value {
        Value::Str(text) => {
            heap.work(text.byte_len() / 8)?;
            char_count(text.as_str())
        }
        Value::Cons(_) | Value::Lazy(_) => each(heap, value, drop)?,
        Value::Cell(cell) if cell.kind == CellKind::Transient => {
            let inner = transients::inside(cell)?;
            count_of(heap, &inner)?
        }
        _ => items(value)?.len_hint().unwrap_or(0),
    })
}

fn count(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::from(count_of(heap, &args[0])?))
}

fn bounded_count(heap: &mut Heap, args: &mut [Value]) -> Res {
    let most = args::count(args, 0)?;
    if !matches!(args[1], Value::Cons(_) | Value::Lazy(_)) {
        return Ok(Value::from(count_of(heap, &args[1])?));
    }
    let mut items = items(&args[1])?;
    for count in 0..most {
        heap.work(1)?;
        if step(&mut items)?.is_none() {
            return Ok(Value::from(count));
        }
    }
    Ok(Value::from(most))
}

/// Whether a value has no items.
pub(super) fn has_none(value: &Value) -> Res<bool> {
    Ok(match value {
        Value::Nil => true,
        Value::Str(text) => text.byte_len() == 0,
        Value::Cons(_) | Value::Range(_) => false,
        _ => {
            let mut items = items(value)?;
            match items.len_hint() {
                Some(count) => count == 0,
                None => step(&mut items)?.is_none(),
            }
        }
    })
}

fn is_empty(_: &mut Heap, args: &mut [Value]) -> Res {
    has_none(&args[0]).map(Value::Bool)
}

fn not_empty(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(if has_none(&args[0])? { Value::Nil } else { args::take(args, 0) })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    #[test]
    fn ends_of_collections() {
        let heap = &mut heap();
        let key = heap.keyword("a");
        let map = Value::map_of([(key, Value::Int(1))]);
        let cases = [
            ("first", ints([1, 2]), "1"),
            ("first", map.clone(), "[:a 1]"),
            ("first", Value::str("žb"), "\"ž\""),
            ("first", Value::Int(5), "type_error"),
            ("rest", ints([1, 2]), "(2)"),
            ("rest", Value::Nil, "()"),
            ("rest", RangeObj::value(0, 2, 3), "(2 4)"),
            ("rest", Value::str("abc"), "(\"b\" \"c\")"),
            ("next", ints([1]), "nil"),
            ("next", map.clone(), "nil"),
            ("last", RangeObj::value(0, 2, 3), "4"),
            ("last", map, "[:a 1]"),
            ("butlast", ints([1, 2, 3]), "(1 2)"),
            ("second", ints([1]), "nil"),
            ("nnext", ints([1, 2, 3]), "(3)"),
            ("count", Value::str("e\u{301}x"), "3"),
            ("count", Value::Nil, "0"),
            ("empty?", Value::str(""), "true"),
            ("not-empty", ints([]), "nil"),
        ];
        for (name, arg, expected) in cases {
            assert_eq!(answer(heap, &format!("clojure.core/{name}"), [arg]), expected, "{name}");
        }
    }

    #[test]
    fn nth_raises_outside_unless_there_is_a_default() {
        let heap = &mut heap();
        let index = |at| Value::Int(at);
        assert_eq!(answer(heap, "clojure.core/nth", [ints([7, 8]), index(1)]), "8");
        assert_eq!(answer(heap, "clojure.core/nth", [ints([7, 8]), index(2)]), "index_out_of_bounds");
        assert_eq!(answer(heap, "clojure.core/nth", [ints([7, 8]), index(-1), Value::Nil]), "nil");
        assert_eq!(answer(heap, "clojure.core/nth", [Value::Nil, index(3)]), "nil");
        assert_eq!(answer(heap, "clojure.core/nth", [Value::set_of([]), index(0)]), "type_error");
    }

    #[test]
    fn a_tail_shares_the_array_and_rest_realises_nothing() {
        let heap = &mut heap();
        let lazy = heap.lazy(Value::Nil);
        let cell = crate::value::ConsObj::cell(Value::Int(1), lazy.clone(), false);
        let rest = call(heap, "clojure.core/rest", [cell.clone()]).map_err(|_| ()).expect("rest of a cons");
        assert!(matches!(rest, Value::Lazy(_)));
        assert!(matches!(call(heap, "clojure.core/next", [cell]).map_err(|s| *s), Err(Signal::Force(_))));
        assert!(matches!(call(heap, "clojure.core/count", [lazy]).map_err(|s| *s), Err(Signal::Realise(_))));
    }
}
