//! Equality, order, identity and hashes.

use std::cmp::Ordering;
use std::rc::Rc;

use super::{Builtin, native};
use crate::arith;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, pending};
use crate::value::hash::stable_hash;
use crate::value::{Items, Meter, Table, Value, equal, order};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/=",
        "[x] [x y] [x y & more]",
        |heap, args| Ok(Value::Bool(all_equal(heap, args)?)),
        "Whether all arguments are equal: numbers by value, collections by contents.",
        &[("(= 1 1.0)", "true"), ("(= [1 2] (list 1 2))", "true"), ("(= {:a 1} {:a 2})", "false")],
    ),
    native(
        "clojure.core/not=",
        "[x] [x y] [x y & more]",
        |heap, args| Ok(Value::Bool(!all_equal(heap, args)?)),
        "Whether some arguments differ; the opposite of `=`.",
        &[("(not= 1 2)", "true"), ("(not= :a :a)", "false")],
    ),
    native(
        "clojure.core/==",
        "[x] [x y] [x y & more]",
        same_number,
        "Whether all arguments are the same number.",
        &[("(== 1 1.0)", "true"), ("(== 1 2)", "false")],
    ),
    native(
        "prim/same-key?",
        "[x y]",
        |_, args| Ok(Value::Bool(equal::same_key(&args[0], &args[1]))),
        "Whether two equal values are the same as keys of a map.",
        &[],
    ),
    native(
        "clojure.core/identical?",
        "[x y]",
        |_, args| Ok(Value::Bool(identical(&args[0], &args[1]))),
        "Whether both arguments are the very same thing, not just equal.",
        &[("(identical? :a :a)", "true"), ("(identical? [1] [1])", "false")],
    ),
    native(
        "clojure.core/<",
        "[x] [x y] [x y & more]",
        |heap, args| chain(heap, args, arith::less),
        "Whether the numbers grow from left to right.",
        &[("(< 1 2 3)", "true"), ("(< 1 1)", "false")],
    ),
    native(
        "clojure.core/>",
        "[x] [x y] [x y & more]",
        |heap, args| chain(heap, args, |a, b| arith::less(b, a)),
        "Whether the numbers fall from left to right.",
        &[("(> 3 2 1)", "true"), ("(> 1 1)", "false")],
    ),
    native(
        "clojure.core/<=",
        "[x] [x y] [x y & more]",
        |heap, args| chain(heap, args, arith::less_eq),
        "Whether the numbers never fall from left to right.",
        &[("(<= 1 1 2)", "true"), ("(<= 2 1)", "false")],
    ),
    native(
        "clojure.core/>=",
        "[x] [x y] [x y & more]",
        |heap, args| chain(heap, args, |a, b| arith::less_eq(b, a)),
        "Whether the numbers never grow from left to right.",
        &[("(>= 2 2 1)", "true"), ("(>= 1 2)", "false")],
    ),
    native(
        "clojure.core/compare",
        "[x y]",
        compare,
        "-1, 0 or 1 as the first argument comes before, with or after the second. Nil comes first; other \
         values need one type: numbers, strings, keywords, vectors, dates.",
        &[("(compare 1 2)", "-1"), ("(compare \"b\" \"a\")", "1"), ("(compare nil 0)", "-1")],
    ),
    native(
        "clojure.core/distinct?",
        "[x] [x y] [x y & more]",
        distinct,
        "Whether no two arguments are equal.",
        &[("(distinct? 1 2 3)", "true"), ("(distinct? 1 2 1)", "false")],
    ),
    native(
        "clojure.core/hash",
        "[x]",
        |heap, args| hash(heap, &args[0]),
        "An integer that is the same for equal values.",
        &[("(= (hash [1 2]) (hash (list 1 2)))", "true")],
    ),
    native(
        "clojure.core/hash-ordered-coll",
        "[coll]",
        |heap, args| {
            let items = heap.collect(&args[0])?;
            hash(heap, &Value::vector(items))
        },
        "The hash of a collection whose order counts.",
        &[("(= (hash-ordered-coll [1 2]) (hash [1 2]))", "true")],
    ),
    native(
        "clojure.core/hash-unordered-coll",
        "[coll]",
        hash_unordered,
        "The hash of a collection whose order does not count.",
        &[("(= (hash-unordered-coll [1 2]) (hash #{2 1}))", "true")],
    ),
];

/// Whether two values are equal, paid for by what had to be looked at.
pub(crate) fn equals(heap: &mut Heap, a: &Value, b: &Value) -> Res<bool> {
    if let (Value::Str(a), Value::Str(b)) = (a, b) {
        heap.work(a.byte_len().min(b.byte_len()) / 64)?;
        return Ok(a.as_bytes() == b.as_bytes());
    }
    if a.is_scalar() && b.is_scalar() {
        return Ok(equal::equals(a, b));
    }
    if let Some(answer) = compare_fronts(heap, a, b)? {
        return Ok(answer);
    }
    heap.realised(a)?;
    heap.realised(b)?;
    metered(heap, a, b)
}

/// Compares realised values.
fn metered(heap: &mut Heap, a: &Value, b: &Value) -> Res<bool> {
    let mut meter = Meter::new(heap.fuel_left());
    let same = equal::equals_within(a, b, &mut meter);
    heap.work(meter.used())?;
    Ok(same)
}

/// Compares sequences with lazy parts item by item, so that an endless one differs from a short one as
/// soon as it does. After some items it is left to the comparison of realised sequences, because
/// every step that is realised begins the walk anew.
fn compare_fronts(heap: &mut Heap, a: &Value, b: &Value) -> Res<Option<bool>> {
    const FRONT: usize = 256;
    if let (Value::Lazy(a), Value::Lazy(b)) = (a, b)
        && Rc::ptr_eq(a, b)
    {
        return Ok(Some(true));
    }
    let lazy = |value: &Value| matches!(value, Value::Lazy(_) | Value::Cons(_)) && value.shape().lazy;
    if !(a.is_sequential() && b.is_sequential() && (lazy(a) || lazy(b))) {
        return Ok(None);
    }
    let (Some(mut left), Some(mut right)) = (Items::over(a), Items::over(b)) else { return Ok(None) };
    for _ in 0..FRONT {
        heap.work(1)?;
        match (left.next().map_err(pending)?, right.next().map_err(pending)?) {
            (None, None) => return Ok(Some(true)),
            (Some(x), Some(y)) => {
                heap.realised(&x)?;
                heap.realised(&y)?;
                if !metered(heap, &x, &y)? {
                    return Ok(Some(false));
                }
            }
            _ => return Ok(Some(false)),
        }
    }
    Ok(None)
}

fn all_equal(heap: &mut Heap, args: &[Value]) -> Res<bool> {
    for pair in args.windows(2) {
        if !equals(heap, &pair[0], &pair[1])? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_number(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.len() == 1 {
        return Ok(Value::Bool(true));
    }
    if let Some(other) = args.iter().find(|value| arith::check_number(value).is_err()) {
        let message = format!("expected a number, got {}", other.type_name());
        return Err(Error::new(ErrorKind::Type, message).hint("use = for values that are no numbers").into());
    }
    // By value: the decimal 1.0M is no integer, and yet the same number.
    chain(heap, args, |a, b| Ok(order::compare_as_floats(a, b) == Some(Ordering::Equal)))
}

/// A single argument is in order whatever it is.
fn chain(heap: &mut Heap, args: &[Value], holds: fn(&Value, &Value) -> Res<bool>) -> Res {
    heap.work(args.len().saturating_sub(2))?;
    for pair in args.windows(2) {
        heap.work(arith::words(&pair[0]).min(arith::words(&pair[1])))?;
        if !holds(&pair[0], &pair[1])? {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn compare(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (a, b) = (&args[0], &args[1]);
    heap.realised(a)?;
    heap.realised(b)?;
    let mut meter = Meter::new(heap.fuel_left());
    let order = order::compare_within(a, b, &heap.names, &mut meter);
    heap.work(meter.used())?;
    Ok(Value::Int(match order? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    }))
}

/// Numbers, names and short texts have no identity apart from their value.
fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Vec(a), Value::Vec(b)) => Rc::ptr_eq(a, b),
        (Value::Seq(a), Value::Seq(b)) => Rc::ptr_eq(a, b),
        (Value::Cons(a), Value::Cons(b)) => Rc::ptr_eq(a, b),
        (Value::Range(a), Value::Range(b)) => Rc::ptr_eq(a, b),
        (Value::Lazy(a), Value::Lazy(b)) => Rc::ptr_eq(a, b),
        (Value::Map(a), Value::Map(b)) => a.is(b),
        (Value::Set(a), Value::Set(b)) => Rc::ptr_eq(a, b),
        (Value::Sorted(a), Value::Sorted(b)) => Rc::ptr_eq(a, b),
        (Value::Regex(a), Value::Regex(b)) => Rc::ptr_eq(a, b),
        (Value::Time(a), Value::Time(b)) => Rc::ptr_eq(a, b),
        (Value::Reduced(a), Value::Reduced(b)) => Rc::ptr_eq(a, b),
        (Value::Iter(a), Value::Iter(b)) => Rc::ptr_eq(a, b),
        _ => !a.is_sequential() && equal::same_key(a, b),
    }
}

fn distinct(heap: &mut Heap, args: &mut [Value]) -> Res {
    for value in args.iter() {
        heap.realised(value)?;
    }
    heap.work(args.len())?;
    heap.reserve_values(args.len())?;
    let mut seen = Table::with_capacity(args.len());
    let fresh = args.iter().all(|value| seen.insert(value.clone(), ()).is_none());
    Ok(Value::Bool(fresh))
}

fn hash(heap: &mut Heap, value: &Value) -> Res {
    heap.realised(value)?;
    let (hash, steps) = stable_hash(value, heap.fuel_left());
    heap.work(usize::try_from(steps).unwrap_or(usize::MAX))?;
    Ok(Value::Int(hash))
}

fn hash_unordered(heap: &mut Heap, args: &mut [Value]) -> Res {
    let items = heap.collect(&args[0])?;
    for item in &items {
        heap.realised(item)?;
    }
    heap.reserve_values(items.len())?;
    hash(heap, &Value::set_of(items))
}
