//! Helpers for tests of natives: calling them by name with values written by hand.

use std::sync::Arc;

use super::{Run, registry};
use crate::heap::Heap;
use crate::limits::Limits;
use crate::names::Names;
use crate::signal::{Res, Signal};
use crate::value::Value;

/// A heap with default limits.
pub(crate) fn heap() -> Heap {
    Heap::new(Arc::new(Names::default()), Limits::default())
}

/// Calls a native.
pub(super) fn call(heap: &mut Heap, name: &str, args: impl Into<Vec<Value>>) -> Res {
    let id = registry().qualified(name).unwrap_or_else(|| panic!("{name} is not declared"));
    let entry = registry().get(id);
    let mut args = args.into();
    assert!(entry.arity().accepts(args.len()), "{name} does not take {} arguments", args.len());
    match entry.run {
        Run::Native(run) => run(heap, &mut args),
        _ => panic!("{name} is not native"),
    }
}

/// The printed answer of a native, or the kind of its error.
pub(super) fn answer(heap: &mut Heap, name: &str, args: impl Into<Vec<Value>>) -> String {
    match call(heap, name, args) {
        Ok(value) => heap.show(&value),
        Err(signal) => match *signal {
            Signal::Raise(error) => error.kind.reason().to_owned(),
            other => format!("{other:?}"),
        },
    }
}

/// A vector of integers.
pub(super) fn ints(range: impl IntoIterator<Item = i64>) -> Value {
    Value::vector(range.into_iter().map(Value::Int).collect())
}
