//! Primitives of the core library's own source: walks, laziness and requests to the machine.
//!
//! They live in the namespace `prim`, which programs cannot name. Primitives that belong to one family
//! (eager sequence functions, cells, records) are declared with that family.

use std::cell::RefCell;
use std::rc::Rc;

use super::access::{ENTRY_BYTES, items};
use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind, excerpt};
use crate::heap::Heap;
use crate::signal::{Res, Signal, illegal, pending};
use crate::value::seq::{Spine, spine};
use crate::value::{Items, Value};

pub(super) static TABLE: &[Builtin] = &[
    native("prim/lazy?", "[coll]", is_lazy, "Whether the spine of a sequence has an unrealised part.", &[]),
    native("prim/lazy", "[thunk]", lazy, "A lazy sequence of what the function will give.", &[]),
    native("prim/iter", "[coll]", iter, "A walk over a collection.", &[]),
    native("prim/next", "[iter]", next, "The next item of a walk, or the end marker.", &[]),
    native("prim/iter-rest", "[iter]", iter_rest, "What is left of a walk as a sequence, or nil.", &[]),
    native("prim/end?", "[x]", is_end, "Whether a walk gave the end marker.", &[]),
    native("prim/apply", "[f args]", apply, "Calls a function with all items of a sequence.", &[]),
    native(
        "prim/parallel",
        "[thunks kind]",
        parallel,
        "Runs functions side by side; the kind, :pmap or :pcalls, names the error of a failing one.",
        &[],
    ),
    native(
        "prim/illegal",
        "[message] [message hint]",
        illegal_argument,
        "Raises an illegal-argument error.",
        &[],
    ),
    native("prim/excerpt", "[text]", quoted, "As much of a text as an error quotes.", &[]),
    native("prim/return", "[value]", finish, "Ends the program with a value.", &[]).passes(0),
    native("prim/fail", "[value]", fail, "Ends the program as a declared failure.", &[]),
    // What core functions asked in earlier versions, whose dumps have their code: nil leaves the work to them.
    native("prim/map-known", "[f coll]", leave, FORMER, &[]),
    native("prim/filter-known", "[f coll]", leave, FORMER, &[]),
    native("prim/group-known", "[f coll]", leave, FORMER, &[]),
    native("prim/reduce-known", "[f init coll]", leave, FORMER, &[]),
    native("prim/sort-by-known", "[f cmp coll]", leave, FORMER, &[]),
];

const FORMER: &str = "Nothing; former versions asked for a short cut.";

fn leave(_: &mut Heap, _: &mut [Value]) -> Res {
    Ok(Value::Nil)
}

/// Ranges beyond this many elements count as lazy sources.
pub(super) const LAZY_RANGE: u64 = 1_000_000;

fn is_lazy(heap: &mut Heap, args: &mut [Value]) -> Res {
    has_unrealised(heap, &args[0]).map(Value::Bool)
}

/// Whether the spine of a sequence has an unrealised part, or comes back to itself and so has no end.
pub(super) fn has_unrealised(heap: &mut Heap, coll: &Value) -> Res<bool> {
    let (spine, steps) = spine(coll);
    heap.work(steps / 8)?;
    Ok(match spine {
        Spine::Unrealised | Spine::Circular => true,
        // Nobody wants all of a range this long, so it is walked only as far as needed.
        Spine::Ends(Value::Range(range)) => range.count > LAZY_RANGE,
        Spine::Ends(_) => false,
    })
}

fn lazy(heap: &mut Heap, args: &mut [Value]) -> Res {
    let thunk = args::take(args, 0);
    Ok(heap.lazy(thunk))
}

fn iter(heap: &mut Heap, args: &mut [Value]) -> Res {
    let items = items(&args[0])?;
    heap.allocated(size_of_val(&items) + 32);
    args[0] = Value::Nil;
    Ok(Value::Iter(Rc::new(RefCell::new(items))))
}

fn next(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Iter(items) = &args[0] else { return illegal("expected an iterator") };
    heap.work(1)?;
    if let Items::Map(..) | Items::Sorted(..) = &*items.borrow() {
        heap.allocated(ENTRY_BYTES);
    }
    let item = items.borrow_mut().next().map_err(pending)?;
    Ok(item.unwrap_or(Value::Unbound))
}

fn iter_rest(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Iter(items) = &args[0] else { return illegal("expected an iterator") };
    let rest = items.borrow().clone();
    heap.work(rest.len_hint().unwrap_or(1) / 8 + 1)?;
    heap.rest_of_walk(rest)
}

fn is_end(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::Bool(matches!(args[0], Value::Unbound)))
}

fn apply(heap: &mut Heap, args: &mut [Value]) -> Res {
    let items = heap.collect(&args[1])?;
    // The arguments stay: the function may need something realised first and be called again.
    Err(Signal::Call(args[0].clone(), items).into())
}

fn parallel(heap: &mut Heap, args: &mut [Value]) -> Res {
    let thunks = heap.collect(&args[0])?;
    let Value::Kw(kind) = args[1] else { return illegal("expected :pmap or :pcalls") };
    let kind = if heap.names.text(kind) == "pcalls" { ErrorKind::Pcalls } else { ErrorKind::Pmap };
    Err(Signal::Parallel(thunks, kind).into())
}

fn illegal_argument(_: &mut Heap, args: &mut [Value]) -> Res {
    let error = Error::new(ErrorKind::IllegalArgument, args::text(args, 0)?);
    Err(match args.get(1) {
        Some(Value::Str(hint)) => error.hint(hint.as_str()).into(),
        _ => error.into(),
    })
}

fn quoted(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::string(excerpt(args::text(args, 0)?).into_owned()))
}

fn finish(_: &mut Heap, args: &mut [Value]) -> Res {
    Err(Signal::Return(args::take(args, 0)).into())
}

fn fail(_: &mut Heap, args: &mut [Value]) -> Res {
    Err(Signal::Fail(args::take(args, 0)).into())
}
