//! Java arrays as far as programs read them: an array is a vector here, so nothing can be stored into
//! one.

use super::{Builtin, args, lookup, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

/// Declares one array constructor per element type, with the value a new element has.
macro_rules! arrays {
    ($($function:ident $name:literal $example:literal $shown:literal $zero:expr,)*) => {
        $(fn $function(heap: &mut Heap, args: &mut [Value]) -> Res {
            array(heap, args, $zero)
        })*

        /// The constructors, to be listed with the other builtins.
        pub(super) static CONSTRUCTORS: &[Builtin] = &[$(native(
            $name,
            "[size-or-items] [size items-or-value]",
            $function,
            "The items as a vector, or a vector of this size; arrays cannot be changed here.",
            &[($example, $shown)],
        ),)*];
    };
}

arrays! {
    int_array "clojure.core/int-array" "(int-array [1 2])" "[1 2]" Value::Int(0),
    long_array "clojure.core/long-array" "(long-array 2)" "[0 0]" Value::Int(0),
    short_array "clojure.core/short-array" "(short-array [1])" "[1]" Value::Int(0),
    byte_array "clojure.core/byte-array" "(byte-array [1])" "[1]" Value::Int(0),
    double_array "clojure.core/double-array" "(double-array 1)" "[0.0]" Value::Float(0.0),
    float_array "clojure.core/float-array" "(float-array 1)" "[0.0]" Value::Float(0.0),
    boolean_array "clojure.core/boolean-array" "(boolean-array 1)" "[false]" Value::Bool(false),
    char_array "clojure.core/char-array" "(char-array \"ab\")" "[\"a\" \"b\"]" Value::str("\0"),
    object_array "clojure.core/object-array" "(object-array 1)" "[nil]" Value::Nil,
}

pub(super) static TABLE: &[Builtin] = &[
    native(
        "clojure.core/to-array",
        "[coll]",
        to_array,
        "The items as a vector; arrays cannot be changed here.",
        &[("(to-array '(1 2))", "[1 2]")],
    ),
    native(
        "clojure.core/into-array",
        "[coll] [type coll]",
        into_array,
        "The items as a vector; the type does not count.",
        &[("(into-array [1 2])", "[1 2]")],
    ),
    native(
        "clojure.core/aget",
        "[array index & indexes]",
        aget,
        "The item at an index, or at a path of indexes.",
        &[("(aget (int-array [7 8]) 1)", "8")],
    ),
    native(
        "clojure.core/alength",
        "[array]",
        alength,
        "How many items an array has.",
        &[("(alength (int-array 3))", "3")],
    ),
    native(
        "clojure.core/aclone",
        "[array]",
        aclone,
        "The array itself: it cannot change.",
        &[("(aclone (int-array [1]))", "[1]")],
    ),
];

fn collected(heap: &mut Heap, coll: &Value) -> Res {
    let items = heap.collect(coll)?;
    heap.allocated(96);
    Ok(Value::vector(items))
}

fn array(heap: &mut Heap, args: &mut [Value], zero: Value) -> Res {
    if !matches!(args[0], Value::Int(_) | Value::Float(_) | Value::Big(_)) {
        return collected(heap, &args[0]);
    }
    let size = args::int(args, 0)?;
    let Ok(size) = usize::try_from(size) else {
        return Err(
            Error::new(ErrorKind::IllegalArgument, format!("an array cannot have {size} items")).into()
        );
    };
    heap.work(size)?;
    heap.reserve_values(size)?;
    let (given, filling) = match args.get(1) {
        Some(coll) if crate::value::Items::over(coll).is_some() => (heap.collect(coll)?, zero),
        Some(value) => (Vec::new(), value.clone()),
        None => (Vec::new(), zero),
    };
    let mut items = given;
    items.resize(size, filling);
    Ok(Value::vector(items))
}

fn to_array(heap: &mut Heap, args: &mut [Value]) -> Res {
    collected(heap, &args[0])
}

fn into_array(heap: &mut Heap, args: &mut [Value]) -> Res {
    collected(heap, &args[args.len() - 1])
}

fn aget(heap: &mut Heap, args: &mut [Value]) -> Res {
    let mut here = args[0].clone();
    for at in 1..args.len() {
        let index = args::int(args, at)?;
        args::vector(std::slice::from_ref(&here), 0)?;
        match lookup::find(heap, &here, &Value::Int(index))? {
            Some(item) => here = item,
            None => return Err(super::access::out_of_bounds(index, &here).into()),
        }
    }
    Ok(here)
}

fn alength(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::from(args::vector(args, 0)?.items.len()))
}

fn aclone(_: &mut Heap, args: &mut [Value]) -> Res {
    args::vector(args, 0)?;
    Ok(args::take(args, 0))
}
