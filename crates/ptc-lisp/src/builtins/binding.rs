//! Taking values apart: what patterns in `let`, `fn` and `for` come down to.

use super::{Builtin, args, native};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::{Items, Map, Value};

pub(super) static TABLE: &[Builtin] = &[
    native(
        "prim/nth",
        "[coll index]",
        nth,
        "The item at index, nil beyond the end, for vector patterns.",
        &[],
    ),
    native("prim/bindable-map", "[x]", bindable_map, "The value as a map, for map patterns.", &[]),
];

fn nth(heap: &mut Heap, args: &mut [Value]) -> Res {
    let index = args::count(args, 1)?;
    let item = match &args[0] {
        Value::Vec(body) => body.items.get(index).cloned(),
        Value::Seq(body) => body.as_slice().get(index).cloned(),
        Value::Nil => None,
        Value::Cons(_) | Value::Lazy(_) | Value::Range(_) | Value::Str(_) => {
            let mut items = Items::over(&args[0]).unwrap_or(Items::Empty);
            let mut item = None;
            for _ in 0..=index {
                item = items.next().map_err(|lazy| Box::new(Signal::Force(lazy)))?;
                if item.is_none() {
                    break;
                }
            }
            item
        }
        other => {
            let error = Error::new(
                ErrorKind::Destructure,
                format!("a vector pattern needs a vector or list, got {}", heap.brief(other)),
            );
            return Err(match other {
                Value::Map(_) | Value::Sorted(_) => {
                    error.hint("write {:keys [a b]} for a map, or walk its entries")
                }
                Value::Set(_) => error.hint("a set has no order: use (vec s) or (sort s)"),
                _ => error.hint("give it a vector, or bind the value to a plain name"),
            }
            .into());
        }
    };
    Ok(item.unwrap_or_default())
}

/// Maps and nil are what they are; a sequence of keys and values (keyword arguments) becomes a map;
/// other values are looked up as they are and give nil.
fn bindable_map(heap: &mut Heap, args: &mut [Value]) -> Res {
    match &args[0] {
        Value::Seq(_) | Value::Cons(_) | Value::Lazy(_) => {}
        Value::Int(_)
        | Value::Float(_)
        | Value::Big(_)
        | Value::Decimal(_)
        | Value::Bool(_)
        | Value::Kw(_)
        | Value::Fn(_) => {
            let message = format!("a map pattern needs a map, got {}", heap.brief(&args[0]));
            return Err(Error::new(ErrorKind::Destructure, message)
                .hint("give it a map, or bind the value to a plain name")
                .into());
        }
        _ => return Ok(args::take(args, 0)),
    }
    let items = heap.collect(&args[0])?;
    for key in items.iter().step_by(2) {
        heap.realised(key)?;
    }
    if let [map @ (Value::Map(_) | Value::Nil)] = items.as_slice() {
        return Ok(map.clone());
    }
    let mut table = Map::with_capacity(items.len() / 2);
    let mut items = items.into_iter();
    while let Some(key) = items.next() {
        match (items.next(), &key) {
            (Some(value), _) => {
                table.insert(key, value);
            }
            // Trailing keyword arguments may end in a map of further ones.
            (None, Value::Map(more)) => {
                for (key, value) in more.iter() {
                    table.insert(key.clone(), value.clone());
                }
            }
            (None, _) => {
                let message = format!("keyword arguments come in pairs; {} has no value", heap.brief(&key));
                return Err(Error::new(ErrorKind::Destructure, message).into());
            }
        }
    }
    Ok(Value::Map(table))
}
