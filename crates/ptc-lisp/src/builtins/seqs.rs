//! Sequence functions without a function argument or transducer arity.

use std::borrow::Cow;

use num_traits::ToPrimitive;

use super::access::{empty_seq, items, rest_of, step, tail};
use super::chain_part::ChainPart;
use super::numeric;
use super::vectors::BODY;
use super::{Builtin, args, native, registry, sorted};
use crate::arith;
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::signal::{Res, Signal, pending, raise};
use crate::value::{Items, RangeObj, Table, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/range",
        "[] [end] [start end] [start end step]",
        range,
        "Numbers from start (0) up to but not including end, at distance step (1); endless without end.",
        &[("(range 4)", "(0 1 2 3)"), ("(range 10 0 -3)", "(10 7 4 1)")],
    ),
    native(
        "clojure.core/nthrest",
        "[coll n]",
        nthrest,
        "What is left after n items, as a sequence that may be empty.",
        &[("(nthrest [1 2 3] 2)", "(3)")],
    ),
    native(
        "clojure.core/nthnext",
        "[coll n]",
        nthnext,
        "What is left after n items; nil if nothing is.",
        &[("(nthnext [1 2 3] 2)", "(3)"), ("(nthnext [1] 2)", "nil")],
    ),
    native(
        "clojure.core/flatten",
        "[coll]",
        flatten,
        "The items of nested vectors and lists as one sequence; maps, sets and strings stay whole.",
        &[("(flatten [1 [2 [3]]])", "(1 2 3)")],
    ),
    native(
        "clojure.core/frequencies",
        "[coll]",
        frequencies,
        "A map from each different item to how often it occurs.",
        &[("(frequencies [:a :b :a])", "{:a 2, :b 1}")],
    )
    .in_chains(ChainPart::Frequencies),
    native(
        "clojure.core/shuffle",
        "[coll]",
        shuffle,
        "The items in random order, as a vector; the same seed gives the same order.",
        &[("(count (shuffle [1 2 3]))", "3")],
    ),
    native(
        "clojure.core/rand-nth",
        "[coll]",
        rand_nth,
        "A random item of a collection.",
        &[("(contains? #{1 2 3} (rand-nth [1 2 3]))", "true")],
    ),
    native(
        "ptc/zip",
        "[a b]",
        zip,
        "Pairs of the items at the same place, until one collection runs out.",
        &[("(zip [1 2] [:a :b])", "[[1 :a] [2 :b]]")],
    ),
    native(
        "ptc/combinations",
        "[coll n]",
        combinations,
        "All ways to choose n items, each in the order of the collection.",
        &[("(combinations [1 2 3] 2)", "[[1 2] [1 3] [2 3]]")],
    ),
    native(
        "clojure.core/doall",
        "[coll] [n coll]",
        doall,
        "The sequence itself, with all (or the first n) lazy items realised.",
        &[("(doall (map inc [1 2]))", "(2 3)")],
    ),
    native(
        "clojure.core/dorun",
        "[coll] [n coll]",
        dorun,
        "Realises all (or the first n) items of a sequence and gives nil.",
        &[("(dorun (map inc [1 2]))", "nil")],
    ),
];

fn range(heap: &mut Heap, args: &mut [Value]) -> Res {
    let one = Value::Int(1);
    let (start, end, step) = match &*args {
        [] => return Err(sorted::call("ptc.impl/range-from", vec![Value::Int(0), one])),
        [end] => (Value::Int(0), end.clone(), one),
        [start, end] => (start.clone(), end.clone(), one),
        [start, end, step, ..] => (start.clone(), end.clone(), step.clone()),
    };
    for at in 0..args.len() {
        args::float(args, at)?;
    }
    let [start, end, step] = [start, end, step].map(|bound| bound.as_i64().map_or(bound, Value::Int));
    match (&start, &end, &step) {
        (Value::Int(start), Value::Int(end), Value::Int(step)) if *step != 0 => {
            Ok(int_range(*start, i128::from(*end), *step))
        }
        (Value::Int(start), Value::Float(end), Value::Int(step)) if *step != 0 && end.is_finite() => {
            // A whole number is below the end exactly if it is below the end rounded away from start.
            let end = if *step > 0 { end.ceil() } else { end.floor() };
            Ok(int_range(*start, end.to_i128().unwrap_or_default(), *step))
        }
        _ => stepped_range(heap, start, &end, step),
    }
}

fn int_range(start: i64, end: i128, step: i64) -> Value {
    let (distance, step_wide) = (end - i128::from(start), i128::from(step));
    if distance == 0 || (distance > 0) != (step > 0) {
        return empty_seq();
    }
    let count = (distance.abs() + step_wide.abs() - 1) / step_wide.abs();
    // Beyond the last 64-bit integer there is nothing a machine could reach.
    let room = if step > 0 {
        i128::from(i64::MAX) - i128::from(start)
    } else {
        i128::from(start) - i128::from(i64::MIN)
    };
    let count = count.min(room / step_wide.abs() + 1);
    RangeObj::value(start, step, u64::try_from(count).unwrap_or(u64::MAX))
}

/// A range with floats: each number is the sum of the one before and the step.
fn stepped_range(heap: &mut Heap, start: Value, end: &Value, step: Value) -> Res {
    let number = |value: &Value| match value {
        Value::Int(int) => *int as f64,
        Value::Float(float) => *float,
        Value::Big(big) => big.to_f64().unwrap_or(f64::INFINITY),
        Value::Decimal(decimal) => decimal.to_f64(),
        _ => f64::NAN,
    };
    let (from, to, by) = (number(&start), number(end), number(&step));
    let inside = |at: f64| if by > 0.0 { at < to } else { at > to };
    if by == 0.0 {
        return if from == to {
            Ok(empty_seq())
        } else {
            Err(sorted::call("clojure.core/repeat", vec![start]))
        };
    }
    if !inside(from) {
        return Ok(empty_seq());
    }
    if to.is_infinite() {
        return Err(sorted::call("ptc.impl/range-from", vec![start, step]));
    }
    if [&start, end, &step].iter().any(|value| matches!(value, Value::Decimal(_))) {
        return exact_range(heap, start, end, &step);
    }
    let count = ((to - from) / by).abs().ceil().to_usize().unwrap_or(usize::MAX);
    heap.work(count)?;
    heap.reserve_values(count.saturating_add(1))?;
    let mut items = vec![start];
    let mut at = from + by;
    while inside(at) {
        items.push(Value::Float(at));
        if at == at + by {
            return raise(ErrorKind::Arithmetic, "the step is too small to reach the end of the range");
        }
        at += by;
    }
    Ok(Value::seq(items))
}

/// A range with decimals: each number is the sum of the one before and the step, whatever kind that gives.
fn exact_range(heap: &mut Heap, start: Value, end: &Value, step: &Value) -> Res {
    let goes_up = arith::sign(step)?.is_gt();
    let (mut items, mut at) = (Vec::new(), start);
    while if goes_up { arith::less(&at, end)? } else { arith::less(end, &at)? } {
        let next = numeric::add(heap, &at, step)?;
        heap.work(1)?;
        heap.grow(&mut items)?;
        if arith::less(&at, &next)? != goes_up {
            return raise(ErrorKind::Arithmetic, "the step is too small to reach the end of the range");
        }
        items.push(std::mem::replace(&mut at, next));
    }
    Ok(Value::seq(items))
}

/// Drops `n` items; a walk along a lazy sequence keeps its progress in the arguments.
fn drop_n(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 1)?;
    match &args[0] {
        Value::Vec(body) => return Ok(tail(body, n, false)),
        Value::Seq(body) => return Ok(body.without(n, body.list)),
        Value::Range(range) => {
            let skip = range.count.min(n as u64);
            return Ok(RangeObj::value(range.at(skip), range.step, range.count - skip));
        }
        _ => {}
    }
    for dropped in 0..n {
        if args[0].is_nil() || matches!(&args[0], Value::Seq(body) if body.as_slice().is_empty()) {
            break;
        }
        heap.work(1)?;
        args[1] = Value::from(n - dropped);
        args[0] = rest_of(heap, &args[0])?;
    }
    args[1] = Value::Int(0);
    Ok(args[0].clone())
}

fn nthrest(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args::count(args, 1)? == 0 {
        return Ok(args::take(args, 0));
    }
    let rest = drop_n(heap, args)?;
    Ok(if rest.is_nil() { empty_seq() } else { rest })
}

fn nthnext(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args[0].is_nil() {
        return Ok(Value::Nil);
    }
    let rest = drop_n(heap, args)?;
    heap.seq(&rest)
}

fn flatten(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !args[0].is_sequential() {
        return Ok(empty_seq());
    }
    heap.realised(&args[0])?;
    let mut open: Vec<Items> = vec![items(&args[0])?];
    let mut out = Vec::new();
    while let Some(inner) = open.last_mut() {
        heap.work(1)?;
        match step(inner)? {
            Some(item) if item.is_sequential() => open.push(items(&item)?),
            Some(item) => {
                heap.grow(&mut out)?;
                out.push(item);
            }
            None => {
                open.pop();
            }
        }
    }
    Ok(Value::seq(out))
}

/// The items of a collection, in place if they are in an array.
fn items_of<'v>(heap: &mut Heap, coll: &'v Value) -> Res<Cow<'v, [Value]>> {
    let slice = match coll {
        Value::Vec(body) => &body.items[..],
        Value::Seq(body) => body.as_slice(),
        _ => return Ok(Cow::Owned(heap.collect(coll)?)),
    };
    heap.work(slice.len())?;
    Ok(Cow::Borrowed(slice))
}

fn frequencies(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let mut table: Table<i64> = Table::default();
    let items = items_of(heap, &args[0])?;
    heap.work(items.len())?;
    for item in items.iter() {
        match table.get_mut(item) {
            Some(count) => *count += 1,
            None => {
                heap.allocated(64);
                table.insert(item.clone(), 1);
            }
        }
    }
    Ok(Value::Map(table.map_values(Value::Int).into()))
}

/// A random number below `bound`, which is not zero.
fn below(heap: &mut Heap, bound: usize) -> usize {
    ((u128::from(heap.random_u64()) * bound as u128) >> 64) as usize
}

fn shuffle(heap: &mut Heap, args: &mut [Value]) -> Res {
    if !matches!(args[0], Value::Vec(_) | Value::Set(_) | Value::Sorted(_)) && !args[0].is_sequential() {
        return args::fail(args, 0, "a vector, list or set");
    }
    let mut items = heap.collect(&args[0])?;
    for at in (1..items.len()).rev() {
        let other = below(heap, at + 1);
        items.swap(at, other);
    }
    heap.allocated(BODY);
    Ok(Value::vector(items))
}

fn rand_nth(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args[0].is_nil() {
        return Ok(Value::Nil);
    }
    if matches!(args[0], Value::Map(_) | Value::Set(_) | Value::Sorted(_)) {
        let error = args::wrong(args, 0, "a vector or list");
        return Err(error.hint("use (rand-nth (vec coll))").into());
    }
    let mut items = heap.collect(&args[0])?;
    if items.is_empty() {
        return raise(ErrorKind::IndexOutOfBounds, "an empty collection has no random item");
    }
    let at = below(heap, items.len());
    Ok(items.swap_remove(at))
}

fn zip(heap: &mut Heap, args: &mut [Value]) -> Res {
    for at in 0..2 {
        if !args[at].is_sequential() && !matches!(args[at], Value::Str(_)) {
            return args::fail(args, at, "a vector or list");
        }
    }
    let (mut left, mut right) = (items(&args[0])?, items(&args[1])?);
    let mut out = Vec::new();
    let lazy = |_| {
        let vector = registry().qualified("clojure.core/vector").map_or(Value::Nil, Value::Builtin);
        sorted::call("clojure.core/mapv", vec![vector, args[0].clone(), args[1].clone()])
    };
    while let Some(a) = left.next().map_err(lazy)? {
        let Some(b) = right.next().map_err(lazy)? else { break };
        heap.work(1)?;
        heap.allocated(BODY + 2 * size_of::<Value>());
        heap.grow(&mut out)?;
        out.push(Value::vector(vec![a, b]));
    }
    Ok(Value::vector(out))
}

fn combinations(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::int(args, 1)?;
    let items = heap.collect(&args[0])?;
    let Ok(n) = usize::try_from(n) else { return Ok(Value::vector(Vec::new())) };
    if n > items.len() {
        return Ok(Value::vector(Vec::new()));
    }
    let count = choices(items.len(), n);
    heap.work(count.saturating_mul(n.max(1)))?;
    heap.reserve(count.saturating_mul(BODY + (n + 1) * size_of::<Value>()))?;
    let mut chosen: Vec<usize> = (0..n).collect();
    let mut out = Vec::with_capacity(count);
    loop {
        out.push(Value::vector(chosen.iter().map(|&at| items[at].clone()).collect()));
        // The rightmost position that can still move on, with all after it following.
        let Some(at) = (0..n).rev().find(|&at| chosen[at] < items.len() - n + at) else { break };
        chosen[at] += 1;
        for next in at + 1..n {
            chosen[next] = chosen[next - 1] + 1;
        }
    }
    Ok(Value::vector(out))
}

/// How many ways there are to choose `n` of `from`, as far as it fits.
fn choices(from: usize, n: usize) -> usize {
    let n = n.min(from - n);
    let count =
        (0..n).try_fold(1u128, |count, at| Some(count.checked_mul((from - at) as u128)? / (at as u128 + 1)));
    count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
}

/// Realises a sequence, or its first items, and says which argument it was.
fn realise(heap: &mut Heap, args: &[Value]) -> Res<usize> {
    let at = args.len() - 1;
    let mut walk = items(&args[at])?;
    if args.len() == 1 {
        return match walk.len_hint() {
            Some(_) => Ok(at),
            None => loop {
                heap.work(1)?;
                match walk.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => return Ok(at),
                    Err(_) => return Err(Signal::Realise(args[at].clone()).into()),
                }
            },
        };
    }
    for _ in 0..args::count(args, 0)? {
        heap.work(1)?;
        if walk.next().map_err(pending)?.is_none() {
            break;
        }
    }
    Ok(at)
}

fn doall(heap: &mut Heap, args: &mut [Value]) -> Res {
    let at = realise(heap, args)?;
    Ok(args::take(args, at))
}

fn dorun(heap: &mut Heap, args: &mut [Value]) -> Res {
    realise(heap, args)?;
    Ok(Value::Nil)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, heap, ints};
    use super::*;

    #[test]
    fn ranges_hold_their_ends() {
        let heap = &mut heap();
        let (int, float) = (Value::Int, Value::Float);
        let cases = [
            (vec![int(3)], "(0 1 2)"),
            (vec![int(5), int(1), int(-2)], "(5 3)"),
            (vec![int(0), int(10), int(-1)], "()"),
            (vec![float(2.5)], "(0 1 2)"),
            (vec![int(0), int(1), float(0.25)], "(0 0.25 0.5 0.75)"),
            (vec![int(i64::MAX - 1), int(i64::MAX)], "(9223372036854775806)"),
            (vec![Value::str("a")], "type_error"),
        ];
        for (args, expected) in cases {
            assert_eq!(answer(heap, "clojure.core/range", args), expected);
        }
    }

    #[test]
    fn combinations_keep_the_order_of_items() {
        let heap = &mut heap();
        let cases = [(2, "[[1 2] [1 3] [2 3]]"), (0, "[[]]"), (3, "[[1 2 3]]"), (4, "[]"), (-1, "[]")];
        for (n, expected) in cases {
            assert_eq!(answer(heap, "ptc/combinations", [ints(1..4), Value::Int(n)]), expected);
        }
    }

    #[test]
    fn a_choice_too_large_is_refused_before_it_is_made() {
        let heap = &mut heap();
        let reply = answer(heap, "ptc/combinations", [ints(0..60), Value::Int(30)]);
        assert_eq!(reply, "fuel_exceeded");
    }
}
