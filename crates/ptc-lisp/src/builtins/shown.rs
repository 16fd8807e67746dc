//! Types that say what their text is: `(toString [this] …)` under `Object` in `defrecord`, `deftype`,
//! `reify` and `extend-type`. Natives cannot call such a method; those that make text of their arguments
//! ask here first and leave the call to the core library.

use super::{Builtin, Run, native, registry, sorted};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::Value;

pub(super) static TABLE: &[Builtin] = &[
    native(
        "prim/object-methods",
        "[]",
        |heap, _| Ok(heap.object_methods()),
        "The atom that holds the methods of Object by type.",
        &[],
    ),
    native(
        "prim/text-method",
        "[x]",
        |heap, args| Ok(method(heap, &args[0]).unwrap_or_default()),
        "The toString method of a value's type, or nil.",
        &[],
    ),
];

/// The `toString` that the type of a value was given.
pub(super) fn method(heap: &mut Heap, value: &Value) -> Option<Value> {
    let Value::Map(body) = value else { return None };
    let record = body.record()?;
    let Value::Cell(cell) = heap.known_object_methods()? else { return None };
    let Value::Map(types) = &cell.state.borrow().value else { return None };
    let Some(Value::Map(methods)) = types.get(&Value::Type(record)) else { return None };
    methods.get(&Value::str("toString")).cloned()
}

/// Leaves a call to the core library if the type of some argument says what its text is; it comes back
/// with the texts. Call it before any argument is taken.
pub(super) fn of_arguments(heap: &mut Heap, name: &str, args: &[Value]) -> Res<()> {
    if heap.known_object_methods().is_none() || !args.iter().any(|arg| method(heap, arg).is_some()) {
        return Ok(());
    }
    let Some(id) = registry().qualified(name) else { return Ok(()) };
    debug_assert!(matches!(registry().get(id).run, Run::Native(_)));
    Err(sorted::call("ptc.impl/call-with-texts", vec![Value::Builtin(id), Value::vector(args.to_vec())]))
}

/// The same for the items of a sequence, of which `item` is one.
pub(super) fn of_items(heap: &mut Heap, args: &[Value], item: &Value) -> Res<()> {
    match method(heap, item) {
        Some(_) => Err(sorted::call("ptc.impl/join-texts", args.to_vec())),
        None => Ok(()),
    }
}

/// The call that gives the text of a value whose type says what it is.
pub(super) fn of_value(heap: &mut Heap, value: &Value) -> Res<()> {
    match method(heap, value) {
        Some(method) => Err(Signal::Call(method, vec![value.clone()]).into()),
        None => Ok(()),
    }
}
