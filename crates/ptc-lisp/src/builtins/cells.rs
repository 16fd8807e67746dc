//! Atoms, volatiles, delays and promises: the mutable cells, and `reduced`.
//!
//! What calls functions (`swap!`, validators, watches, forcing a delay) is in the core library; here
//! are plain reads and writes.

use std::rc::Rc;

use super::{Builtin, args, native, sorted};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::{CellKind, CellObj, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/atom",
        "[x & options]",
        atom,
        "A cell that holds x; read it with @ or deref, change it with swap! and reset!. Options: :meta, \
         :validator.",
        &[("@(atom 1)", "1")],
    ),
    native(
        "clojure.core/volatile!",
        "[x]",
        volatile,
        "A cell that holds x; change it with vreset! and vswap!.",
        &[("@(volatile! 1)", "1")],
    ),
    native(
        "clojure.core/vreset!",
        "[volatile value]",
        vreset,
        "Sets a volatile and gives the value.",
        &[("(let [v (volatile! 1)] (vreset! v 2) @v)", "2")],
    ),
    native(
        "clojure.core/deref",
        "[ref] [ref timeout-ms timeout-value]",
        deref,
        "What an atom, volatile, delay, promise, var or reduced value holds; same as @ref.",
        &[("(deref (atom 5))", "5"), ("@(delay (+ 1 2))", "3")],
    ),
    native(
        "clojure.core/promise",
        "[]",
        promise,
        "A cell without a value, to be given one by deliver.",
        &[("(let [p (promise)] (deliver p 1) @p)", "1")],
    ),
    native(
        "clojure.core/deliver",
        "[promise value]",
        deliver,
        "Gives a promise its value and returns it; nil if it has one already.",
        &[("(let [p (promise)] (deliver p 1) (deliver p 2) @p)", "1")],
    ),
    native(
        "clojure.core/realized?",
        "[x]",
        is_realized,
        "Whether a delay, promise or lazy sequence has its value.",
        &[("(realized? (delay 1))", "false")],
    ),
    native(
        "clojure.core/reduced",
        "[x]",
        reduced,
        "Ends the reduce around it with x.",
        &[("(reduce (fn [sum n] (if (> n 2) (reduced sum) (+ sum n))) 0 [1 2 3 4])", "3")],
    ),
    native(
        "clojure.core/reduced?",
        "[x]",
        is_reduced,
        "Whether x was made by reduced.",
        &[("(reduced? (reduced 1))", "true")],
    ),
    native(
        "clojure.core/unreduced",
        "[x]",
        unreduced,
        "The value inside a reduced; anything else as it is.",
        &[("(unreduced (reduced 1))", "1")],
    ),
    native(
        "clojure.core/ensure-reduced",
        "[x]",
        ensure_reduced,
        "x as a reduced, unless it is one.",
        &[("@(ensure-reduced 1)", "1")],
    ),
    native("prim/cell-get", "[cell]", cell_get, "What a cell holds.", &[]),
    native("prim/cell-set", "[cell value]", cell_set, "Sets a cell; gives nil.", &[]),
    native("prim/cell-take", "[cell]", cell_take, "Takes out what a cell holds and leaves nil.", &[]),
    native("prim/cell-validator", "[cell]", cell_validator, "The validator of an atom.", &[]),
    native("prim/cell-watches", "[cell]", cell_watches, "The watches of an atom.", &[]),
    native("prim/set-validator", "[cell f]", set_validator, "Sets the validator of an atom.", &[]),
    native("prim/set-watches", "[cell watches]", set_watches, "Sets the watches of an atom.", &[]),
    native("prim/plain-atom?", "[cell]", is_plain, "Whether a cell has no validator and no watches.", &[]),
    native("prim/delay", "[thunk]", delay, "A delay of what a function will give.", &[]),
    native("prim/delay-thunk", "[delay]", delay_thunk, "The function of a delay that has not run.", &[]),
    native("prim/delay-failed", "[delay thunk]", delay_failed, "Gives a delay another function.", &[]),
    native("prim/delay-done", "[delay value]", delay_done, "Gives a delay its value.", &[]),
];

fn cell<'a>(args: &'a [Value], expected: &str) -> Res<&'a Rc<CellObj>> {
    match &args[0] {
        Value::Cell(cell) => Ok(cell),
        Value::Map(_) | Value::Vec(_) | Value::Set(_) | Value::Seq(_) => {
            let copies = "assoc, update, conj and their like give a changed copy; (atom x) makes what swap! and reset! change";
            Err(args::wrong(args, 0, expected).hint(copies).into())
        }
        _ => Err(args::wrong(args, 0, expected).into()),
    }
}

fn cell_of(args: &[Value], kind: CellKind) -> Res<&Rc<CellObj>> {
    match &args[0] {
        Value::Cell(cell) if cell.kind == kind => Ok(cell),
        _ => {
            let expected = match kind {
                CellKind::Atom => "an atom",
                CellKind::Volatile => "a volatile",
                CellKind::Delay => "a delay",
                CellKind::Promise => "a promise",
                CellKind::Matcher => "a matcher",
                CellKind::Builder => "a StringBuilder",
                CellKind::Transient => "a transient",
                CellKind::Array => "an array",
                CellKind::Format => "a DecimalFormat",
            };
            Err(args::wrong(args, 0, expected).into())
        }
    }
}

/// Replaces what a cell holds. The old value is dropped after the borrow has ended.
fn set(cell: &CellObj, value: Value) {
    let old = std::mem::replace(&mut cell.state.borrow_mut().value, value);
    drop(old);
}

fn atom(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (mut meta, mut validator) = (None, Value::Nil);
    for pair in args[1..].chunks(2) {
        let [Value::Kw(option), value] = pair else { continue };
        match (heap.names.text(*option), value) {
            ("meta", Value::Nil) => meta = None,
            ("meta", Value::Map(_) | Value::Sorted(_)) => meta = Some(Rc::new(value.clone())),
            ("meta", _) => return illegal(format!("metadata must be a map, got {}", value.type_name())),
            ("validator", _) => validator = value.clone(),
            _ => {}
        }
    }
    let atom = heap.cell(CellKind::Atom, args::take(args, 0), true);
    if let Value::Cell(cell) = &atom {
        cell.state.borrow_mut().meta = meta;
    }
    match validator {
        Value::Nil => Ok(atom),
        validator => Err(sorted::call("ptc.impl/checked-atom", vec![atom, validator])),
    }
}

fn volatile(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(heap.cell(CellKind::Volatile, args::take(args, 0), true))
}

fn vreset(_: &mut Heap, args: &mut [Value]) -> Res {
    set(cell_of(args, CellKind::Volatile)?, args[1].clone());
    Ok(args::take(args, 1))
}

fn deref(heap: &mut Heap, args: &mut [Value]) -> Res {
    let cell = match &args[0] {
        Value::Var(name) => return super::vars::value(heap, *name),
        Value::Cell(cell)
            if !matches!(
                cell.kind,
                CellKind::Matcher | CellKind::Transient | CellKind::Array | CellKind::Format
            ) =>
        {
            cell
        }
        Value::Reduced(value) => return Ok((**value).clone()),
        _ => return args::fail(args, 0, "an atom, volatile, delay or promise"),
    };
    if cell.state.borrow().ready {
        return Ok(cell.state.borrow().value.clone());
    }
    match cell.kind {
        CellKind::Delay => Err(sorted::call("ptc.impl/force-delay", vec![args::take(args, 0)])),
        _ if args.len() > 2 => Ok(args::take(args, 2)),
        _ => {
            let error = Error::new(ErrorKind::Runtime, "the promise has no value, and nothing else runs");
            Err(error.hint("deliver a value first, or write (deref promise 0 default)").into())
        }
    }
}

fn promise(heap: &mut Heap, _: &mut [Value]) -> Res {
    Ok(heap.cell(CellKind::Promise, Value::Nil, false))
}

fn deliver(_: &mut Heap, args: &mut [Value]) -> Res {
    let cell = cell_of(args, CellKind::Promise)?;
    if cell.state.borrow().ready {
        return Ok(Value::Nil);
    }
    set(cell, args[1].clone());
    cell.state.borrow_mut().ready = true;
    Ok(args::take(args, 0))
}

fn is_realized(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(match &args[0] {
        Value::Cell(cell) if matches!(cell.kind, CellKind::Delay | CellKind::Promise) => {
            cell.state.borrow().ready
        }
        Value::Lazy(lazy) => lazy.realised().is_some(),
        Value::Seq(body) if !body.list => true,
        Value::Range(_) => true,
        _ => return args::fail(args, 0, "a delay, promise or lazy sequence"),
    }))
}

fn reduced(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.allocated(32);
    Ok(Value::Reduced(Rc::new(args::take(args, 0))))
}

fn is_reduced(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(args[0], Value::Reduced(_))))
}

fn unreduced(_: &mut Heap, args: &mut [Value]) -> Res {
    match args::take(args, 0) {
        Value::Reduced(value) => Ok(Rc::unwrap_or_clone(value)),
        other => Ok(other),
    }
}

fn ensure_reduced(heap: &mut Heap, args: &mut [Value]) -> Res {
    if matches!(args[0], Value::Reduced(_)) { Ok(args::take(args, 0)) } else { reduced(heap, args) }
}

const ANY_CELL: &str = "an atom or volatile";

fn cell_get(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(cell(args, ANY_CELL)?.state.borrow().value.clone())
}

fn cell_set(_: &mut Heap, args: &mut [Value]) -> Res {
    let value = args::take(args, 1);
    set(cell(args, ANY_CELL)?, value);
    Ok(Value::Nil)
}

fn cell_take(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(std::mem::take(&mut cell(args, ANY_CELL)?.state.borrow_mut().value))
}

fn cell_validator(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(cell(args, ANY_CELL)?.state.borrow().validator.clone())
}

fn cell_watches(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(cell(args, ANY_CELL)?.state.borrow().watches.clone())
}

fn set_validator(_: &mut Heap, args: &mut [Value]) -> Res {
    let new = args::take(args, 1);
    let old = std::mem::replace(&mut cell_of(args, CellKind::Atom)?.state.borrow_mut().validator, new);
    drop(old);
    Ok(Value::Nil)
}

fn set_watches(_: &mut Heap, args: &mut [Value]) -> Res {
    let new = args::take(args, 1);
    let old = std::mem::replace(&mut cell_of(args, CellKind::Atom)?.state.borrow_mut().watches, new);
    drop(old);
    Ok(Value::Nil)
}

fn is_plain(_: &mut Heap, args: &mut [Value]) -> Res {
    let state = cell(args, ANY_CELL)?.state.borrow();
    Ok(Value::Bool(state.validator.is_nil() && state.watches.is_nil()))
}

fn delay(heap: &mut Heap, args: &mut [Value]) -> Res {
    Ok(heap.cell(CellKind::Delay, args::take(args, 0), false))
}

fn delay_thunk(_: &mut Heap, args: &mut [Value]) -> Res {
    let state = cell_of(args, CellKind::Delay)?.state.borrow();
    Ok(if state.ready { Value::Nil } else { state.value.clone() })
}

fn delay_failed(_: &mut Heap, args: &mut [Value]) -> Res {
    let thunk = args::take(args, 1);
    set(cell_of(args, CellKind::Delay)?, thunk);
    Ok(Value::Nil)
}

fn delay_done(_: &mut Heap, args: &mut [Value]) -> Res {
    let value = args::take(args, 1);
    let cell = cell_of(args, CellKind::Delay)?;
    set(cell, value);
    cell.state.borrow_mut().ready = true;
    Ok(Value::Nil)
}
