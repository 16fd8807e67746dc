//! Java arrays: a vector in a cell, whose items can be set.

use std::rc::Rc;

use super::sorting::merge_sort;
use super::{Builtin, args, constant, lookup, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::order::compare;
use crate::value::{CellKind, CellObj, Items, Value};

/// Declares one constructor per type of element, with the value a new element has.
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
            "An array of the items, or of this size. Read it with aget, set items with aset.",
            &[($example, $shown)],
        ),)*];
    };
}

arrays! {
    int_array "clojure.core/int-array" "(vec (int-array [1 2]))" "[1 2]" Value::Int(0),
    long_array "clojure.core/long-array" "(vec (long-array 2))" "[0 0]" Value::Int(0),
    short_array "clojure.core/short-array" "(vec (short-array [1]))" "[1]" Value::Int(0),
    byte_array "clojure.core/byte-array" "(vec (byte-array [1]))" "[1]" Value::Int(0),
    double_array "clojure.core/double-array" "(vec (double-array 1))" "[0.0]" Value::Float(0.0),
    float_array "clojure.core/float-array" "(vec (float-array 1))" "[0.0]" Value::Float(0.0),
    boolean_array "clojure.core/boolean-array" "(vec (boolean-array 1))" "[false]" Value::Bool(false),
    char_array "clojure.core/char-array" "(vec (char-array \"ab\"))" "[\"a\" \"b\"]" Value::str("\0"),
    object_array "clojure.core/object-array" "(vec (object-array 1))" "[nil]" Value::Nil,
}

pub(super) static TABLE: &[Builtin] = &[
    constant(
        "Long/TYPE",
        |heap| Value::Type(heap.intern("long")),
        "The element type of arrays of integers.",
        &[("(aget (make-array Long/TYPE 1) 0)", "0")],
    ),
    constant(
        "Integer/TYPE",
        |heap| Value::Type(heap.intern("int")),
        "The element type of arrays of integers.",
        &[("(aget (make-array Integer/TYPE 1) 0)", "0")],
    ),
    constant(
        "Double/TYPE",
        |heap| Value::Type(heap.intern("double")),
        "The element type of arrays of floats.",
        &[("(aget (make-array Double/TYPE 1) 0)", "0.0")],
    ),
    constant(
        "Boolean/TYPE",
        |heap| Value::Type(heap.intern("boolean")),
        "The element type of arrays of booleans.",
        &[("(aget (make-array Boolean/TYPE 1) 0)", "false")],
    ),
    native(
        "clojure.core/to-array",
        "[coll]",
        to_array,
        "An array of the items.",
        &[("(alength (to-array [1 2]))", "2")],
    ),
    native(
        "clojure.core/into-array",
        "[coll] [type coll]",
        into_array,
        "An array of the items; the type does not count.",
        &[("(alength (into-array [1 2]))", "2")],
    ),
    native(
        "clojure.core/make-array",
        "[type size & sizes]",
        make_array,
        "An array of zeros or nils, as the type says; of arrays if more sizes are given.",
        &[("(alength (make-array Long 3))", "3")],
    ),
    native(
        "clojure.core/aget",
        "[array index & indexes]",
        aget,
        "The item at an index, or at a path of indexes.",
        &[("(aget (int-array [7 8]) 1)", "8")],
    ),
    native(
        "clojure.core/aset",
        "[array index value & more]",
        aset,
        "Sets the item at an index, or at a path of indexes before the value; gives the value.",
        &[("(let [a (int-array 2)] (aset a 1 5) (vec a))", "[0 5]")],
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
        "A copy of an array.",
        &[("(vec (aclone (int-array [1])))", "[1]")],
    ),
    native(
        "Arrays/fill",
        "[array value]",
        fill,
        "Sets all items of an array to a value.",
        &[("(let [a (int-array 2)] (java.util.Arrays/fill a 7) (vec a))", "[7 7]")],
    ),
    native(
        "Arrays/sort",
        "[array]",
        sort,
        "Puts the items of an array in their natural order.",
        &[("(let [a (int-array [2 1])] (java.util.Arrays/sort a) (vec a))", "[1 2]")],
    ),
];

fn collected(heap: &mut Heap, coll: &Value) -> Res {
    let items = heap.collect(coll)?;
    heap.allocated(96);
    Ok(heap.cell(CellKind::Array, Value::vector(items), true))
}

fn size(args: &[Value], at: usize) -> Res<usize> {
    let size = args::int(args, at)?;
    usize::try_from(size).map_err(|_| {
        Error::new(ErrorKind::IllegalArgument, format!("an array cannot have {size} items")).into()
    })
}

fn array(heap: &mut Heap, args: &mut [Value], zero: Value) -> Res {
    if !matches!(args[0], Value::Int(_) | Value::Float(_) | Value::Big(_) | Value::Decimal(_)) {
        return collected(heap, &args[0]);
    }
    let size = size(args, 0)?;
    heap.work(size)?;
    heap.reserve_values(size)?;
    let (mut items, filling) = match args.get(1) {
        Some(coll) if Items::over(coll).is_some() => (heap.collect(coll)?, zero),
        Some(value) => (Vec::new(), value.clone()),
        None => (Vec::new(), zero),
    };
    items.resize(size, filling);
    Ok(heap.cell(CellKind::Array, Value::vector(items), true))
}

fn to_array(heap: &mut Heap, args: &mut [Value]) -> Res {
    collected(heap, &args[0])
}

fn into_array(heap: &mut Heap, args: &mut [Value]) -> Res {
    collected(heap, &args[args.len() - 1])
}

fn make_array(heap: &mut Heap, args: &mut [Value]) -> Res {
    let sizes = (1..args.len()).map(|at| size(args, at)).collect::<Res<Vec<_>>>()?;
    let total = sizes.iter().fold(1usize, |total, size| total.saturating_mul(*size));
    heap.work(total)?;
    heap.reserve_values(total)?;
    let zero = match &args[0] {
        Value::Type(name) => match heap.names.text(*name) {
            "long" | "int" | "short" | "byte" => Value::Int(0),
            "double" | "float" => Value::Float(0.0),
            "boolean" => Value::Bool(false),
            _ => Value::Nil,
        },
        _ => Value::Nil,
    };
    Ok(nested(heap, &sizes, &zero))
}

/// Arrays in arrays; there are at most as many levels as arguments.
fn nested(heap: &mut Heap, sizes: &[usize], zero: &Value) -> Value {
    let Some((size, inner)) = sizes.split_first() else { return zero.clone() };
    let items = (0..*size).map(|_| nested(heap, inner, zero)).collect();
    heap.cell(CellKind::Array, Value::vector(items), true)
}

fn need(value: &Value) -> Res<&Rc<CellObj>> {
    match value {
        Value::Cell(cell) if cell.kind == CellKind::Array => Ok(cell),
        _ => Err(args::wrong(std::slice::from_ref(value), 0, "an array").into()),
    }
}

fn out_of_bounds(index: &Value, cell: &CellObj) -> Error {
    let message = match index {
        Value::Int(index) => format!("index {index} is outside the array of {} items", len(cell)),
        other => format!("the index of an array must be an integer, got {}", other.type_name()),
    };
    Error::new(ErrorKind::IndexOutOfBounds, message)
}

fn len(cell: &CellObj) -> usize {
    match &cell.state.borrow().value {
        Value::Vec(body) => body.items.len(),
        _ => 0,
    }
}

/// The array or item that a path of indexes leads to.
fn follow(array: &Value, path: &[Value]) -> Res {
    let mut here = array.clone();
    for index in path {
        let item = {
            let cell = need(&here)?;
            lookup::array_item(cell, index).ok_or_else(|| out_of_bounds(index, cell))?
        };
        here = item;
    }
    Ok(here)
}

fn aget(_: &mut Heap, args: &mut [Value]) -> Res {
    need(&args[0])?;
    follow(&args[0], &args[1..])
}

fn aset(heap: &mut Heap, args: &mut [Value]) -> Res {
    let last = args.len() - 1;
    let inner = follow(&args[0], &args[1..last - 1])?;
    let cell = need(&inner)?;
    let Some(at) = lookup::index(&args[last - 1]).filter(|at| *at < len(cell)) else {
        return Err(out_of_bounds(&args[last - 1], cell).into());
    };
    super::vectors::charge_copy(heap, &cell.state.borrow().value)?;
    let value = args[last].clone();
    let mut state = cell.state.borrow_mut();
    if let Value::Vec(body) = &mut state.value {
        let body = Rc::make_mut(body);
        body.shape.include(&value);
        let old = std::mem::replace(&mut body.items[at], value);
        drop(state);
        drop(old);
    }
    Ok(args::take(args, last))
}

fn alength(_: &mut Heap, args: &mut [Value]) -> Res {
    Ok(Value::from(len(need(&args[0])?)))
}

fn aclone(heap: &mut Heap, args: &mut [Value]) -> Res {
    let cell = need(&args[0])?.clone();
    let items = cell.state.borrow().value.clone();
    Ok(heap.cell(CellKind::Array, items, true))
}

/// Replaces all items of an array at once.
fn replace(cell: &CellObj, items: Vec<Value>) -> Res {
    let old = std::mem::replace(&mut cell.state.borrow_mut().value, Value::vector(items));
    drop(old);
    Ok(Value::Nil)
}

fn fill(heap: &mut Heap, args: &mut [Value]) -> Res {
    let cell = need(&args[0])?.clone();
    let count = len(&cell);
    heap.work(count)?;
    heap.reserve_values(count)?;
    replace(&cell, vec![args::take(args, 1); count])
}

fn sort(heap: &mut Heap, args: &mut [Value]) -> Res {
    let cell = need(&args[0])?.clone();
    heap.realised(&args[0])?;
    let items = heap.collect(&args[0])?;
    heap.work(items.len() * 4)?;
    let names = &heap.names;
    let sorted = merge_sort(items, |a, b| compare(a, b, names))?;
    replace(&cell, sorted)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap, ints};
    use super::*;

    #[test]
    fn items_are_set_in_place_and_copies_stay_apart() {
        let heap = &mut heap();
        let array = call(heap, "clojure.core/int-array", [ints([1, 2])]).map_err(|_| ()).expect("an array");
        let copy = call(heap, "clojure.core/aclone", [array.clone()]).map_err(|_| ()).expect("an array");
        assert_eq!(answer(heap, "clojure.core/aset", [array.clone(), Value::Int(0), Value::Int(9)]), "9");
        assert_eq!(answer(heap, "clojure.core/vec", [array.clone()]), "[9 2]");
        assert_eq!(answer(heap, "clojure.core/vec", [copy]), "[1 2]");
        let past = [array.clone(), Value::Int(2), Value::Nil];
        assert_eq!(answer(heap, "clojure.core/aset", past), "index_out_of_bounds");
        assert_eq!(answer(heap, "clojure.core/get", [array, Value::Int(5)]), "nil");
    }

    #[test]
    fn arrays_of_arrays_are_reached_by_a_path() {
        let heap = &mut heap();
        let grid = call(heap, "clojure.core/make-array", [Value::Nil, Value::Int(2), Value::Int(3)]);
        let grid = grid.map_err(|_| ()).expect("an array");
        let place = [grid.clone(), Value::Int(1), Value::Int(2), Value::Int(7)];
        assert_eq!(answer(heap, "clojure.core/aset", place), "7");
        assert_eq!(answer(heap, "clojure.core/aget", [grid.clone(), Value::Int(1), Value::Int(2)]), "7");
        assert_eq!(answer(heap, "clojure.core/aget", [grid, Value::Int(0), Value::Int(2)]), "nil");
    }
}
