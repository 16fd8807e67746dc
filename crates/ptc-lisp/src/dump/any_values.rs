//! A loaded machine can hand any value to any native, also to those that only the core library calls:
//! none may panic.

use std::rc::Rc;

use crate::builtins::{Run, registry};
use crate::decimal::Decimal;
use crate::heap::Heap;
use crate::limits::Limits;
use crate::ratio::Ratio;
use crate::regex::Matcher;
use crate::value::{
    CellKind, ConsObj, Items, LazyObj, LazyState, Ordering, RangeObj, RegexObj, SeqObj, Stamp, Time, Value,
};

/// Values of every kind, odd ones too.
fn pool(heap: &mut Heap) -> Vec<Value> {
    let name = heap.intern("n");
    let word = heap.intern("user/Point");
    let mut pool = vec![
        Value::Unbound,
        Value::Nil,
        Value::Bool(false),
        Value::Bool(true),
        Value::Int(0),
        Value::Int(1),
        Value::Int(-1),
        Value::Int(3),
        Value::Int(i64::MAX),
        Value::Int(i64::MIN),
        Value::Float(0.5),
        Value::Float(f64::NAN),
        Value::Float(f64::INFINITY),
        Value::Float(-1e300),
        Value::wide(num_bigint::BigInt::from(7) << 80usize),
        Value::wide((-1).into()),
        Value::Kw(name),
        Value::Sym(name),
        Value::Type(word),
        Value::Tool(name),
        Value::Var(name),
        Value::Builtin(registry().qualified("clojure.core/inc").expect("a builtin")),
        Value::Builtin(registry().qualified("clojure.core/map").expect("a builtin")),
        Value::decimal(Decimal::parse("-1.50").expect("a decimal")),
        Value::decimal(Decimal::parse("7e-9999").expect("a decimal")),
        Value::decimal(Decimal::parse("3e9999").expect("a decimal")),
        Value::decimal(Ratio::read((-2).into(), 3.into()).and_then(Result::ok).expect("a ratio")),
        Value::str(""),
        Value::str("a"),
        Value::str("žluťoučký kůň\r\n and more"),
        Value::str("12"),
        Value::str("2024-02-29"),
        RangeObj::value(0, 1, 5),
        RangeObj::value(i64::MAX, -3, 4),
        Value::time(Time::Uuid(7)),
        Value::time(Time::from_wire("LocalDate 2024-02-29").expect("a date")),
        Value::time(Time::from_wire("Duration PT1H").expect("a duration")),
        Value::time(Time::from_wire("ZonedDateTime 2024-03-31T03:30+02:00[Europe/Paris]").expect("a time")),
    ];
    let matcher = Matcher::compile("(a)(b)?").expect("a pattern");
    pool.push(Value::Regex(Rc::new(RegexObj { source: "(a)(b)?".to_owned(), matcher, stamp: Stamp::new() })));
    let ex = crate::builtins::exceptions::from_error(crate::error::Error::new(
        crate::error::ErrorKind::Runtime,
        "no",
    ));
    pool.push(Value::Ex(ex));
    let scalars = pool[4..8].to_vec();
    pool.push(Value::vector(Vec::new()));
    pool.push(Value::vector(scalars.clone()));
    pool.push(Value::vector(pool.clone()));
    pool.push(Value::entry(Value::Int(1), Value::Nil));
    pool.push(Value::list(scalars.clone()));
    pool.push(Value::seq(Vec::new()));
    if let Value::Vec(items) = Value::vector(scalars.clone()) {
        let end = items.items.len();
        let seq = SeqObj { items, offset: 4, end, list: true, queue: true, meta: None, stamp: Stamp::new() };
        pool.push(Value::Seq(Rc::new(seq)));
    }
    pool.push(ConsObj::cell(Value::Int(1), Value::Int(2), false));
    pool.push(ConsObj::cell(Value::Int(1), Value::Nil, true));
    for state in [
        LazyState::Running,
        LazyState::Thunk(Value::Nil),
        LazyState::Done(Value::Nil),
        LazyState::Done(Value::Int(3)),
        LazyState::Done(Value::list(scalars.clone())),
    ] {
        pool.push(Value::Lazy(Rc::new(LazyObj { state: state.into(), stamp: Stamp::new() })));
    }
    pool.push(Value::map_of([]));
    pool.push(Value::map_of([(Value::Kw(name), Value::Int(1)), (Value::Nil, Value::Nil)]));
    pool.push(Value::map_of((0..20).map(|n| (Value::Int(n), Value::vector(scalars.clone())))));
    pool.push(Value::set_of(scalars.clone()));
    // Out of order, and with a comparator that is no function.
    let entries = [3, 1, 2].map(|n| (Value::Int(n), Value::Kw(name))).to_vec();
    pool.push(Value::sorted(entries.clone(), Ordering::Natural, false));
    pool.push(Value::sorted(entries.clone(), Ordering::Reverse, true));
    pool.push(Value::sorted(entries, Ordering::By(Value::Nil), false));
    pool.push(Value::Reduced(Rc::new(Value::Nil)));
    pool.push(Value::Iter(Rc::new(Items::Empty.into())));
    pool.push(Value::Iter(Rc::new(Items::Chain(Value::Int(1)).into())));
    let kinds = [
        CellKind::Atom,
        CellKind::Volatile,
        CellKind::Delay,
        CellKind::Promise,
        CellKind::Matcher,
        CellKind::Builder,
        CellKind::Transient,
        CellKind::Array,
        CellKind::Format,
    ];
    for kind in kinds {
        for held in [Value::Nil, Value::str("text"), Value::vector(scalars.clone()), Value::map_of([])] {
            for ready in [false, true] {
                pool.push(heap.cell(kind, held.clone(), ready));
            }
        }
    }
    pool
}

fn rolls(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |most| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % most
    }
}

#[test]
fn natives_take_any_value_without_a_panic() {
    let limits = Limits { fuel: 50_000, memory: 1 << 20, ..Limits::default() };
    let mut roll = rolls(0x1234_5678_9abc_def1);
    let mut calls = 0;
    for (_, entry) in registry().iter() {
        let Run::Native(native) = entry.run else { continue };
        let rounds = if entry.ns == "prim" { 1000 } else { 100 };
        let mut heap = Heap::new(crate::core::names(), limits.clone());
        let values = pool(&mut heap);
        for round in 0..rounds {
            let count = round % 5;
            if !entry.arity().accepts(count) {
                continue;
            }
            let mut args: Vec<Value> = (0..count).map(|_| values[roll(values.len())].clone()).collect();
            let shown: Vec<&str> = args.iter().map(Value::type_name).collect();
            let shown = format!("{} {shown:?}", entry.name);
            let called = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = native(&mut heap, &mut args);
            }));
            assert!(called.is_ok(), "{shown}");
            heap.fuel_used = 0;
            heap.fresh_bytes = 0;
            calls += 1;
        }
    }
    assert!(calls > 20_000, "only {calls} calls");
}
