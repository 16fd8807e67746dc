//! Vectors and lists: making them, adding to them, taking from their ends.

use std::rc::Rc;

use super::access::{empty_seq, out_of_bounds, tail};
use super::chain_part::ChainPart;
use super::{Builtin, args, maps, native, queues, sets, sorted};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, illegal, raise};
use crate::value::{ConsObj, RangeObj, Shared, Table, Value, VecObj, room};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/vector",
        "[& items]",
        vector,
        "A vector of the arguments.",
        &[("(vector 1 2)", "[1 2]")],
    ),
    native(
        "clojure.core/vec",
        "[coll]",
        vec,
        "All items of a collection or string as a vector.",
        &[("(vec '(1 2))", "[1 2]"), ("(vec nil)", "[]")],
    )
    .in_chains(ChainPart::Vec),
    native(
        "clojure.core/list",
        "[& items]",
        list,
        "A list of the arguments.",
        &[("(list 1 2)", "(1 2)"), ("(list)", "()")],
    ),
    native(
        "clojure.core/list*",
        "[& args]",
        list_star,
        "The arguments before the last, then the items of the last, as one sequence.",
        &[("(list* 1 2 [3 4])", "(1 2 3 4)")],
    ),
    native(
        "clojure.core/subvec",
        "[v start] [v start end]",
        subvec,
        "The part of a vector from start up to but not including end.",
        &[("(subvec [1 2 3 4] 1 3)", "[2 3]")],
    )
    .part_of(0),
    native(
        "clojure.core/peek",
        "[coll]",
        peek,
        "The end where conj adds: the last item of a vector, the first of a list.",
        &[("(peek [1 2 3])", "3"), ("(peek '(1 2 3))", "1")],
    ),
    native(
        "clojure.core/pop",
        "[coll]",
        pop,
        "A vector without its last item, a list without its first. An empty one raises.",
        &[("(pop [1 2 3])", "[1 2]"), ("(pop '(1 2 3))", "(2 3)")],
    ),
    native(
        "clojure.core/cons",
        "[x coll]",
        cons,
        "A sequence of x and then the items of the collection.",
        &[("(cons 1 [2 3])", "(1 2 3)")],
    ),
    native(
        "clojure.core/conj",
        "[] [coll & items]",
        conj,
        "Adds items: at the end of a vector, the front of a list, as entries of a map, members of a set.",
        &[("(conj [1] 2)", "[1 2]"), ("(conj '(1) 2)", "(2 1)"), ("(conj {:a 1} [:b 2])", "{:a 1, :b 2}")],
    ),
    native(
        "clojure.core/empty",
        "[coll]",
        empty,
        "An empty collection of the same kind; nil for anything else.",
        &[("(empty [1 2])", "[]"), ("(empty {:a 1})", "{}")],
    ),
    native(
        "clojure.core/reverse",
        "[coll]",
        reverse,
        "The items in the opposite order.",
        &[("(reverse [1 2 3])", "(3 2 1)")],
    ),
    native(
        "clojure.core/rseq",
        "[coll]",
        rseq,
        "A vector or sorted collection from its end; nil if it is empty.",
        &[("(rseq [1 2 3])", "(3 2 1)")],
    ),
    native("prim/push", "[v x]", push, "The vector with x at its end.", &[]),
    native("prim/as-seq", "[v]", as_seq, "The sequence over a vector's own array.", &[]),
    native("prim/as-list", "[v]", as_list, "The list over a vector's own array.", &[]),
];

/// Bytes of the body of a vector or sequence, without its items.
pub(super) const BODY: usize = 96;

/// How to stay inside of a vector.
const INSIDE: &str = "write (subvec v start (min end (count v)))";

/// All arguments from `from` on, taken out.
pub(super) fn take_from(args: &mut [Value], from: usize) -> Vec<Value> {
    args[from..].iter_mut().map(std::mem::take).collect()
}

/// Charges for the copy that changing argument `at` will make if it is shared.
pub(super) fn charge_copy(heap: &mut Heap, value: &Value) -> Res<()> {
    let (shared, count, bytes) = match value {
        Value::Vec(body) => (Rc::strong_count(body) > 1, body.items.len(), size_of::<Value>()),
        Value::Map(body) => (!body.is_own(), body.len(), 2 * size_of::<Value>() + 8),
        Value::Set(body) => (Rc::strong_count(body) > 1, body.table.len(), size_of::<Value>() + 8),
        Value::Sorted(body) => (Rc::strong_count(body) > 1, body.entries.len(), 2 * size_of::<Value>()),
        _ => return Ok(()),
    };
    if shared {
        heap.work(count)?;
        heap.reserve(BODY + count * bytes)?;
    }
    Ok(())
}

fn vector(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated(BODY + size_of_val(args));
    Ok(Value::vector(take_from(args, 0)))
}

fn list(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated(BODY + size_of_val(args));
    Ok(Value::list(take_from(args, 0)))
}

pub(super) fn vec(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &mut args[0] {
        Value::Vec(body) => {
            if body.entry || body.meta.is_some() {
                charge_copy(heap, &args[0])?;
                let Value::Vec(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
                let inner = Rc::make_mut(&mut body);
                inner.entry = false;
                inner.meta = None;
                return Ok(Value::Vec(body));
            }
            Ok(args::take(args, 0))
        }
        // A sequence over a whole array is that vector.
        Value::Seq(body)
            if body.offset == 0 && body.is_tail() && !body.items.entry && body.items.meta.is_none() =>
        {
            let items = body.items.clone();
            args[0] = Value::Nil;
            Ok(Value::Vec(items))
        }
        _ => {
            let items = heap.collect(&args[0])?;
            heap.allocated(BODY);
            Ok(Value::vector(items))
        }
    }
}

/// What can stand behind a cons cell: nil or a sequence, not realised if it is lazy.
pub(super) fn as_tail(heap: &mut Heap, value: &Value) -> Res {
    match value {
        Value::Lazy(_) => Ok(value.clone()),
        _ => heap.seq(value),
    }
}

fn list_star(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(last) = args.last() else {
        return raise(ErrorKind::Arity, "expected at least 1 argument, got 0");
    };
    let mut tail = as_tail(heap, last)?;
    heap.allocated(args.len() * BODY);
    let before = args.len() - 1;
    for item in args[..before].iter_mut().rev() {
        tail = ConsObj::cell(std::mem::take(item), tail, false);
    }
    Ok(tail)
}

fn subvec(heap: &mut Heap, args: &mut [Value]) -> Res {
    let body = args::vector(args, 0)?;
    let count = body.items.len();
    let start = position(args, 1)?;
    let end = if args.len() > 2 { position(args, 2)? } else { count as i64 };
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(out_of_bounds(start.min(end), &args[0]).hint(INSIDE).into());
    };
    if to > count || from > to {
        let outside = if to > count { end } else { start };
        return Err(out_of_bounds(outside, &args[0]).hint(INSIDE).into());
    }
    heap.work(to - from)?;
    heap.reserve_values(to - from)?;
    match args::take(args, 0) {
        Value::Vec(mut body) => match Rc::get_mut(&mut body) {
            Some(inner) => {
                inner.items.truncate(to);
                inner.items.drain(..from);
                room::release(&mut inner.items);
                inner.entry = false;
                inner.meta = None;
                Ok(Value::Vec(body))
            }
            None => Ok(Value::vector(body.items[from..to].to_vec())),
        },
        _ => Ok(Value::Nil),
    }
}

/// An index as Java casts it: NaN counts as zero.
fn position(args: &[Value], at: usize) -> Res<i64> {
    match &args[at] {
        Value::Float(float) if float.is_nan() => Ok(0),
        _ => args::int(args, at),
    }
}

fn peek(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(match &args[0] {
        Value::Nil => Value::Nil,
        Value::Vec(body) => body.items.last().cloned().unwrap_or_default(),
        Value::Seq(body) if body.list || body.queue => body.as_slice().first().cloned().unwrap_or_default(),
        Value::Cons(cell) if cell.list => cell.first.clone(),
        _ => return Err(not_a_stack(args).into()),
    })
}

fn not_a_stack(args: &[Value]) -> Error {
    args::wrong(args, 0, "a vector or list").hint("use first or last on other sequences, or (vec coll)")
}

/// Removes the item where `conj` adds.
pub(super) fn pop(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Nil => Ok(Value::Nil),
        Value::Vec(body) if body.items.is_empty() => illegal("cannot pop an empty vector"),
        Value::Vec(_) => {
            charge_copy(heap, &args[0])?;
            let Value::Vec(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
            let inner = Rc::make_mut(&mut body);
            inner.items.pop();
            room::release(&mut inner.items);
            inner.entry = false;
            Ok(Value::Vec(body))
        }
        Value::Seq(body) if body.queue => Ok(queues::pop(heap, args)),
        Value::Seq(body) if body.list => {
            if body.as_slice().is_empty() {
                return illegal("cannot pop an empty list");
            }
            heap.allocated(BODY);
            let rest = body.without(1, true);
            Ok(rest.with_meta(body.meta.clone()).unwrap_or_default())
        }
        Value::Cons(cell) if cell.list => {
            Ok(if cell.rest.is_nil() { empty_seq() } else { cell.rest.clone() })
        }
        _ => Err(not_a_stack(args).into()),
    }
}

fn cons(heap: &mut Heap, args: &mut [Value]) -> Res {
    let rest = as_tail(heap, &args[1])?;
    heap.allocated(BODY);
    let list = args[1].is_nil();
    Ok(ConsObj::cell(args::take(args, 0), rest, list))
}

/// Adds items to any collection.
pub(super) fn conj(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Some(coll) = args.first() else { return Ok(Value::vector(Vec::new())) };
    if args.len() == 1 {
        return Ok(args::take(args, 0));
    }
    heap.work(args.len() - 1)?;
    match coll {
        Value::Vec(_) => conj_vector(heap, args),
        Value::Map(_) => maps::conj_map(heap, args),
        Value::Set(_) => sets::conj_set(heap, args),
        Value::Sorted(_) => sorted::conj_sorted(heap, args),
        Value::Nil => {
            let mut items = take_from(args, 1);
            items.reverse();
            heap.allocated(BODY + items.len() * size_of::<Value>());
            Ok(Value::list(items))
        }
        Value::Seq(body) if body.queue => queues::conj(heap, args),
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => conj_list(heap, args),
        Value::Str(_) => Err(args::wrong(args, 0, "a collection").hint("use (str a b) to join text").into()),
        _ => args::fail(args, 0, "a collection"),
    }
}

fn conj_vector(heap: &mut Heap, args: &mut [Value]) -> Res {
    charge_copy(heap, &args[0])?;
    may_append(heap, &args[0], args.len() - 1)?;
    heap.allocated((args.len() - 1) * 2 * size_of::<Value>());
    let Value::Vec(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    append(&mut body, take_from(args, 1));
    Ok(Value::Vec(body))
}

/// Asks whether a vector may have more items at its end.
pub(super) fn may_append(heap: &mut Heap, vector: &Value, more: usize) -> Res<()> {
    match vector {
        Value::Vec(body) => heap.may_take(&body.items, more),
        _ => Ok(()),
    }
}

/// Appends items to a vector, in place if it has one owner.
pub(super) fn append(body: &mut Shared<VecObj>, items: impl IntoIterator<Item = Value>) {
    let inner = Rc::make_mut(body);
    inner.entry = false;
    for item in items {
        inner.shape.include(&item);
        inner.items.push(item);
    }
}

fn conj_list(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated((args.len() - 1) * BODY);
    let list = match &args[0] {
        Value::Seq(body) => body.list,
        Value::Cons(cell) => cell.list,
        _ => false,
    };
    let meta = args[0].meta();
    let empty = matches!(&args[0], Value::Seq(body) if body.as_slice().is_empty());
    let mut front = if empty { Value::Nil } else { args::take(args, 0) };
    for item in take_from(args, 1) {
        front = ConsObj::cell(item, front, list);
    }
    Ok(if meta.is_some() { front.with_meta(meta).unwrap_or_default() } else { front })
}

fn empty(_: &mut Heap, args: &mut [Value]) -> Res {
    let meta = args[0].meta();
    let empty = match &args[0] {
        Value::Vec(_) => Value::vector(Vec::new()),
        Value::Seq(body) if body.queue => queues::queue(Vec::new()),
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => empty_seq(),
        Value::Map(body) if body.record().is_some() => {
            return raise(ErrorKind::Unsupported, "a record cannot be empty: its fields belong to its type");
        }
        Value::Map(_) => Value::map_of([]),
        Value::Set(_) => Value::set(Table::default()),
        Value::Sorted(body) => Value::sorted(Vec::new(), body.ordering.clone(), body.is_set),
        _ => return Ok(Value::Nil),
    };
    Ok(empty.with_meta(meta).unwrap_or_default())
}

fn reverse(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Value::Range(range) = &args[0]
        && let Some(step) = range.step.checked_neg()
    {
        return Ok(RangeObj::value(range.at(range.count - 1), step, range.count));
    }
    let mut items = heap.collect(&args[0])?;
    items.reverse();
    heap.allocated(BODY);
    Ok(Value::list(items))
}

fn rseq(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !matches!(args[0], Value::Vec(_) | Value::Sorted(_)) {
        return args::fail(args, 0, "a vector or sorted collection");
    }
    let mut items = heap.collect(&args[0])?;
    items.reverse();
    heap.allocated(BODY);
    Ok(if items.is_empty() { Value::Nil } else { Value::seq(items) })
}

fn push(heap: &mut Heap, args: &mut [Value]) -> Res {
    charge_copy(heap, &args[0])?;
    may_append(heap, &args[0], 1)?;
    heap.allocated(2 * size_of::<Value>());
    let item = args::take(args, 1);
    match args::take(args, 0) {
        Value::Vec(mut body) => {
            let inner = Rc::make_mut(&mut body);
            inner.shape.include(&item);
            inner.items.push(item);
            Ok(Value::Vec(body))
        }
        other => illegal(format!("cannot push to a {}", other.type_name())),
    }
}

fn over_array(heap: &mut Heap, args: &mut [Value], list: bool) -> Res {
    heap.allocated(BODY);
    match args::take(args, 0) {
        Value::Vec(body) => Ok(tail(&body, 0, list)),
        other => illegal(format!("expected a vector, got {}", other.type_name())),
    }
}

fn as_seq(heap: &mut Heap, args: &mut [Value]) -> Res {
    over_array(heap, args, false)
}

fn as_list(heap: &mut Heap, args: &mut [Value]) -> Res {
    over_array(heap, args, true)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    #[test]
    fn adding_and_taking_at_the_ends() {
        let heap = &mut heap();
        let list = || Value::list(vec![Value::Int(1), Value::Int(2)]);
        let int = Value::Int;
        let cases = [
            ("conj", vec![ints([1]), int(2), int(3)], "[1 2 3]"),
            ("conj", vec![list(), int(0)], "(0 1 2)"),
            ("conj", vec![Value::Nil, int(1), int(2)], "(2 1)"),
            ("conj", vec![Value::str("a"), int(1)], "type_error"),
            ("peek", vec![ints([1, 2])], "2"),
            ("peek", vec![list()], "1"),
            ("peek", vec![RangeObj::value(0, 1, 3)], "type_error"),
            ("pop", vec![ints([1, 2])], "[1]"),
            ("pop", vec![ints([])], "illegal_argument"),
            ("pop", vec![list()], "(2)"),
            ("subvec", vec![ints([1, 2, 3]), int(1)], "[2 3]"),
            ("subvec", vec![ints([1, 2, 3]), int(2), int(1)], "index_out_of_bounds"),
            ("subvec", vec![list(), int(0)], "type_error"),
            ("cons", vec![int(0), ints([1])], "(0 1)"),
            ("list*", vec![int(0), int(1), ints([2])], "(0 1 2)"),
            ("vec", vec![Value::Nil], "[]"),
            ("vec", vec![Value::str("ab")], "[\"a\" \"b\"]"),
            ("reverse", vec![RangeObj::value(0, 1, 3)], "(2 1 0)"),
            ("rseq", vec![ints([])], "nil"),
            ("empty", vec![Value::str("a")], "nil"),
            ("empty", vec![list()], "()"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(answer(heap, &format!("clojure.core/{name}"), args), expected, "{name}");
        }
    }

    #[test]
    fn a_sequence_over_an_array_becomes_its_vector_without_a_copy() {
        let heap = &mut heap();
        let vector = ints(0..100);
        let Value::Vec(body) = &vector else { panic!("a vector") };
        let array = Rc::as_ptr(body);
        let seq = call(heap, "prim/as-seq", [vector]).map_err(|_| ()).expect("a sequence");
        let back = call(heap, "clojure.core/vec", [seq]).map_err(|_| ());
        let Ok(Value::Vec(body)) = back else { panic!("a vector") };
        assert_eq!((Rc::as_ptr(&body), Rc::strong_count(&body)), (array, 1));
    }

    #[test]
    fn a_shared_vector_is_copied_before_it_changes() {
        let heap = &mut heap();
        let vector = ints([1]);
        let longer = call(heap, "clojure.core/conj", [vector.clone(), Value::Int(2)]).map_err(|_| ());
        assert_eq!((heap.show(&vector), longer.map(|v| heap.show(&v))), ("[1]".into(), Ok("[1 2]".into())));
    }
}
