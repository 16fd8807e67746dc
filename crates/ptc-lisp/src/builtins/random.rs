//! Random numbers from the machine's seeded stream: the same seed gives the same program run.

use super::numbers::integer;
use super::{Builtin, native};
use crate::arith;
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/rand",
        "[] [n]",
        rand,
        "A random float from 0 up to, but not including, n, which is 1 by default.",
        &[("(<= 0 (rand) 1)", "true"), ("(< (rand 10) 10)", "true")],
    ),
    native(
        "clojure.core/rand-int",
        "[n]",
        rand_int,
        "A random integer from 0 up to, but not including, n.",
        &[("(< -1 (rand-int 6) 6)", "true")],
    ),
    native(
        "prim/random-sample",
        "[prob coll]",
        random_sample,
        "The items of a collection, each taken with the given probability.",
        &[("(prim/random-sample 1 [1 2 3])", "(1 2 3)")],
    ),
];

fn rand(heap: &mut Heap, args: &mut [Value]) -> Res {
    let size = match args {
        [] => 1.0,
        _ => arith::to_f64(&args[0])?,
    };
    Ok(Value::Float(heap.random_f64() * size))
}

fn rand_int(heap: &mut Heap, args: &mut [Value]) -> Res {
    let size = arith::to_f64(&args[0])?;
    match integer((heap.random_f64() * size).trunc()) {
        Some(int) => Ok(int),
        None => illegal("argument 1 must be a finite number"),
    }
}

fn random_sample(heap: &mut Heap, args: &mut [Value]) -> Res {
    let probability = arith::to_f64(&args[0])?;
    let mut items = heap.collect(&args[1])?;
    items.retain(|_| heap.random_f64() < probability);
    Ok(Value::seq(items))
}
