//! What numbers, comparisons and big integers cost, and where they stop. What they give is in the
//! examples of their declarations and in the conformance cases.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::builtins::{Run, registry};
use crate::error::ErrorKind;
use crate::heap::Heap;
use crate::limits::Limits;
use crate::names::Names;
use crate::signal::{Res, Signal};
use crate::value::Value;

fn heap(fuel: u64) -> Heap {
    Heap::new(Arc::new(Names::default()), Limits { fuel, ..Limits::default() })
}

fn call(heap: &mut Heap, name: &str, args: &[Value]) -> Res {
    let id = registry().qualified(&format!("clojure.core/{name}")).expect("a builtin");
    let Run::Native(run) = registry().get(id).run else { panic!("{name} is native") };
    run(heap, &mut args.to_vec())
}

fn failure(result: Res) -> Option<ErrorKind> {
    match *result.err()? {
        Signal::Raise(error) => Some(error.kind),
        other => panic!("unexpected {other:?}"),
    }
}

fn long(bits: u32) -> Value {
    Value::big((BigInt::from(1) << bits) - 1)
}

#[test]
fn results_too_long_to_compute_are_refused_whoever_asks() {
    let huge = Value::Int(i64::MAX);
    let cases: [(&str, Vec<Value>); 6] = [
        ("bit-shift-left", vec![Value::Int(1), huge.clone()]),
        ("bit-set", vec![Value::Int(0), huge.clone()]),
        ("bit-flip", vec![Value::Int(0), huge]),
        ("*", vec![long(600_000), long(600_000)]),
        ("+", vec![long(1_000_000), Value::Int(1)]),
        ("bigint", vec![Value::string("9".repeat(400_000))]),
    ];
    for (name, args) in cases {
        let result = call(&mut heap(u64::MAX), name, &args);
        assert_eq!(failure(result), Some(ErrorKind::MemoryExceeded), "{name}");
    }
}

#[test]
fn big_integers_and_long_values_use_fuel_in_proportion() {
    let vector = || Value::vector((0..10_000).map(Value::Int).collect());
    let cases: [(&str, Vec<Value>); 8] = [
        ("*", vec![long(100_000), long(100_000)]),
        ("/", vec![long(200_000), long(100_000)]),
        ("mod", vec![long(200_000), long(100_000)]),
        ("=", vec![vector(), vector()]),
        ("not=", vec![vector(), vector()]),
        ("compare", vec![vector(), vector()]),
        ("pr-str", vec![long(100_000)]),
        ("str", vec![Value::vector(vec![long(100_000)])]),
    ];
    for (name, args) in cases {
        let mut generous = heap(u64::MAX);
        assert!(call(&mut generous, name, &args).is_ok(), "{name}");
        assert!(generous.fuel_used >= 5_000, "{name} used {}", generous.fuel_used);
        let result = call(&mut heap(1_000), name, &args);
        assert_eq!(failure(result), Some(ErrorKind::FuelExceeded), "{name}");
    }
}

#[test]
fn ordinary_numbers_use_next_to_nothing() {
    let mut heap = heap(u64::MAX);
    for name in ["+", "-", "*", "/", "quot", "mod", "<", "=", "max", "compare"] {
        call(&mut heap, name, &[Value::Int(7), Value::Float(2.5)]).expect("a result");
    }
    assert!(heap.fuel_used < 20, "{}", heap.fuel_used);
}

/// Quotients are rounded once, from the exact quotient: what is left of the division decides where the quotient seems
/// to lie in the middle between two floats. Clojure's `(double (/ a b))` gives the same.
#[test]
fn quotients_of_large_integers_are_rounded_once() {
    let cases: [(i64, i64, f64); 5] = [
        (3_735_951_873_173_398_585, 711_446_416_568_115_743, 5.251_206_255_553_202),
        (7_670_425_047_013_158_796, 1_489_920_211_422_567_451, 5.148_211_956_725_844),
        (8_255_861_299_897_076_762, 6_247_771_161_397_114_811, 1.321_409_041_180_522),
        (3_474_064_177_229_804_977, 1_814_028_813_160_431_355, 1.915_109_700_588_069_7),
        (6_664_212_612_582_827_415, 484_147_571_508_260_651, 13.764_837_427_195_731),
    ];
    for (a, b, expected) in cases {
        for (a, b, expected) in [(a, b, expected), (-a, b, -expected), (-a, -b, expected)] {
            let quotient = crate::arith::div(&Value::Int(a), &Value::Int(b));
            assert!(
                matches!(quotient, Ok(Value::Float(float)) if float.to_bits() == expected.to_bits()),
                "{a} / {b} is {quotient:?}"
            );
        }
    }
}
