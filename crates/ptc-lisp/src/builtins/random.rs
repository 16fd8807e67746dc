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
