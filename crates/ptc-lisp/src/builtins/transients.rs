//! Transients: a collection in a cell, changed in place.
//!
//! Collections with one owner are changed in place anyway, so a transient is not faster. It behaves
//! like Clojure's: the changing functions work on nothing else, every holder sees the changes, and
//! `persistent!` ends it.

use super::vectors::{conj, pop};
use super::{Builtin, args, maps, native, sets};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{CellKind, CellObj, Shared, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/transient",
        "[coll]",
        transient,
        "A copy of a vector, map or set that conj!, assoc! and their kin change in place.",
        &[("(persistent! (conj! (transient [1]) 2))", "[1 2]")],
    ),
    native(
        "clojure.core/persistent!",
        "[transient]",
        persistent,
        "The collection of a transient, which cannot be used any more.",
        &[("(persistent! (conj! (transient #{}) 1))", "#{1}")],
    ),
    native(
        "clojure.core/conj!",
        "[] [transient & items]",
        conj_bang,
        "Adds items to a transient.",
        &[("(persistent! (conj! (transient []) 1))", "[1]")],
    ),
    native(
        "clojure.core/assoc!",
        "[transient key value & kvs]",
        assoc_bang,
        "Sets keys of a transient map or indexes of a transient vector.",
        &[("(persistent! (assoc! (transient {}) :a 1))", "{:a 1}")],
    ),
    native(
        "clojure.core/dissoc!",
        "[transient & keys]",
        dissoc_bang,
        "Removes keys of a transient map.",
        &[("(persistent! (dissoc! (transient {:a 1}) :a))", "{}")],
    ),
    native(
        "clojure.core/disj!",
        "[transient & items]",
        disj_bang,
        "Removes members of a transient set.",
        &[("(persistent! (disj! (transient #{1 2}) 1))", "#{2}")],
    ),
    native(
        "clojure.core/pop!",
        "[transient]",
        pop_bang,
        "Removes the last item of a transient vector.",
        &[("(persistent! (pop! (transient [1 2])))", "[1]")],
    ),
];

fn ended() -> Error {
    Error::new(ErrorKind::IllegalArgument, "the transient was used after persistent!")
        .hint("use what persistent! gave, or keep the result of the last conj! or assoc!")
}

/// The collection of a transient, to be read.
pub(super) fn inside(cell: &CellObj) -> Res {
    let state = cell.state.borrow();
    if state.ready { Ok(state.value.clone()) } else { Err(ended().into()) }
}

fn need(args: &[Value]) -> Res<Shared<CellObj>> {
    match &args[0] {
        Value::Cell(cell) if cell.kind == CellKind::Transient => {
            if cell.state.borrow().ready {
                Ok(cell.clone())
            } else {
                Err(ended().into())
            }
        }
        _ => {
            let error = args::wrong(args, 0, "a transient");
            Err(error.hint("make one with (transient coll), or use the function without !").into())
        }
    }
}

fn transient(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Map(body) if body.record().is_some() => args::fail(args, 0, "a vector, map or set"),
        Value::Vec(_) | Value::Map(_) | Value::Set(_) => {
            Ok(heap.cell(CellKind::Transient, args::take(args, 0), true))
        }
        _ => args::fail(args, 0, "a vector, map or set"),
    }
}

fn persistent(_: &mut Heap, args: &mut [Value]) -> Res {
    let cell = need(args)?;
    let mut state = cell.state.borrow_mut();
    state.ready = false;
    Ok(std::mem::take(&mut state.value))
}

/// Lets `change` work on the collection instead of the cell. What fails leaves everything in place,
/// because functions that change collections check before they take.
fn change(
    heap: &mut Heap,
    args: &mut [Value],
    wanted: fn(&Value) -> bool,
    expected: &str,
    change: fn(&mut Heap, &mut [Value]) -> Res,
) -> Res {
    let cell = need(args)?;
    if !wanted(&cell.state.borrow().value) {
        return args::fail(args, 0, expected);
    }
    args[0] = std::mem::take(&mut cell.state.borrow_mut().value);
    match change(heap, args) {
        Ok(value) => {
            cell.state.borrow_mut().value = value;
            Ok(Value::Cell(cell))
        }
        Err(signal) => {
            cell.state.borrow_mut().value = args::take(args, 0);
            args[0] = Value::Cell(cell);
            Err(signal)
        }
    }
}

fn conj_bang(heap: &mut Heap, args: &mut [Value]) -> Res {
    if args.is_empty() {
        return Ok(heap.cell(CellKind::Transient, Value::vector(Vec::new()), true));
    }
    if args.len() == 1 {
        return Ok(args::take(args, 0));
    }
    change(heap, args, |_| true, "a transient", conj)
}

fn assoc_bang(heap: &mut Heap, args: &mut [Value]) -> Res {
    let wanted = |value: &Value| matches!(value, Value::Map(_) | Value::Vec(_));
    if args.len().is_multiple_of(2) {
        // Clojure's assoc! takes nil for a missing last value.
        let mut padded = args.to_vec();
        padded.push(Value::Nil);
        return change(heap, &mut padded, wanted, "a transient map or vector", maps::assoc);
    }
    change(heap, args, wanted, "a transient map or vector", maps::assoc)
}

fn dissoc_bang(heap: &mut Heap, args: &mut [Value]) -> Res {
    change(heap, args, |value| matches!(value, Value::Map(_)), "a transient map", maps::dissoc)
}

fn disj_bang(heap: &mut Heap, args: &mut [Value]) -> Res {
    change(heap, args, |value| matches!(value, Value::Set(_)), "a transient set", sets::disj)
}

fn pop_bang(heap: &mut Heap, args: &mut [Value]) -> Res {
    change(heap, args, |value| matches!(value, Value::Vec(_)), "a transient vector", pop)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    fn made(heap: &mut Heap, coll: Value) -> Value {
        call(heap, "clojure.core/transient", [coll]).map_err(|_| ()).expect("a transient")
    }

    #[test]
    fn every_holder_sees_the_changes_until_it_ends() {
        let heap = &mut heap();
        let transient = made(heap, ints([1]));
        let added = call(heap, "clojure.core/conj!", [transient.clone(), Value::Int(2)]);
        assert!(added.is_ok());
        assert_eq!(answer(heap, "clojure.core/count", [transient.clone()]), "2");
        assert_eq!(answer(heap, "clojure.core/get", [transient.clone(), Value::Int(1)]), "2");
        let wrong = [transient.clone(), Value::Int(9), Value::Nil];
        assert_eq!(answer(heap, "clojure.core/assoc!", wrong), "index_out_of_bounds");
        assert_eq!(answer(heap, "clojure.core/persistent!", [transient.clone()]), "[1 2]");
        assert_eq!(answer(heap, "clojure.core/conj!", [transient, Value::Int(3)]), "illegal_argument");
    }

    #[test]
    fn a_transient_is_no_collection_and_a_collection_no_transient() {
        let heap = &mut heap();
        let transient = made(heap, ints([1]));
        for name in ["vec", "seq", "transient"] {
            assert_eq!(answer(heap, &format!("clojure.core/{name}"), [transient.clone()]), "type_error");
        }
        assert_eq!(answer(heap, "clojure.core/conj", [transient, Value::Int(1)]), "type_error");
        assert_eq!(answer(heap, "clojure.core/conj!", [ints([1]), Value::Int(1)]), "type_error");
        let source = ints([1]);
        let copy = made(heap, source.clone());
        assert!(call(heap, "clojure.core/conj!", [copy, Value::Int(2)]).is_ok());
        assert_eq!(heap.show(&source), "[1]");
    }
}
