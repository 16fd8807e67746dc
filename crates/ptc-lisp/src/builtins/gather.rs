//! What loops need of the library that stand in place of calls of sequence functions (`compile/chain`): whether values
//! are what such a loop takes them for, and the collections that it fills.

use std::rc::Rc;

use super::prims::has_unrealised;
use super::vectors::{BODY, charge_copy, may_append};
use super::{registry, sets};
use crate::heap::Heap;
use crate::signal::{Res, illegal};
use crate::value::{Items, Map, SetObj, Text, Value};

/// Bytes counted for an item that a vector takes.
pub(crate) const PUSHED: usize = 2 * size_of::<Value>();

/// Bytes counted for another key of a table.
const KEY: usize = 64;

/// What a loop takes a value for. In code it is a number: up to [`LoopRole::MOST`], a function of so many arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopRole {
    /// A function that is called with so many arguments.
    Function(u8),
    /// A collection that `conj` adds to.
    Target,
    /// A small integer.
    Count,
    /// A collection all of whose items are there: what is made of a lazy one is lazy, too.
    Realised,
    /// Anything that can be walked.
    Source,
}

impl LoopRole {
    /// The most arguments of a function.
    const MOST: u8 = 20;

    /// Its number in code.
    pub(crate) fn number(self) -> u8 {
        match self {
            LoopRole::Function(count) => count,
            LoopRole::Target => 252,
            LoopRole::Count => 253,
            LoopRole::Realised => 254,
            LoopRole::Source => 255,
        }
    }

    fn of(number: u8) -> Option<LoopRole> {
        Some(match number {
            count @ 0..=LoopRole::MOST => LoopRole::Function(count),
            252 => LoopRole::Target,
            253 => LoopRole::Count,
            254 => LoopRole::Realised,
            255 => LoopRole::Source,
            _ => return None,
        })
    }
}

/// Whether a value is what a loop takes it for. What does not fit is left to the calls that the loop stands for.
pub(crate) fn fits(heap: &mut Heap, value: &Value, role: u8) -> Res<bool> {
    Ok(match LoopRole::of(role) {
        Some(LoopRole::Function(count)) => takes(value, count.into()),
        Some(LoopRole::Target) => {
            matches!(value, Value::Nil | Value::Vec(_) | Value::Map(_) | Value::Set(_) | Value::Seq(_))
        }
        Some(LoopRole::Count) => matches!(value, Value::Int(_)),
        Some(LoopRole::Realised) => is_walked(value) && !has_unrealised(heap, value)?,
        Some(LoopRole::Source) => is_walked(value),
        None => false,
    })
}

/// Whether a function takes this many arguments.
fn takes(function: &Value, count: usize) -> bool {
    match function {
        Value::Fn(body) => {
            body.unit.unit.funcs.get(body.func as usize).is_some_and(|func| func.arity(count).is_some())
        }
        Value::Builtin(id) => registry().get(*id).arity().accepts(count),
        Value::Kw(_) | Value::Map(_) | Value::Set(_) => count == 1,
        _ => false,
    }
}

/// Whether a loop may walk it: everything that has items, but for what can change meanwhile.
fn is_walked(value: &Value) -> bool {
    !matches!(value, Value::Cell(_)) && Items::over(value).is_some()
}

/// Asks for what the next push takes.
pub(crate) fn may_push(heap: &mut Heap, vector: &Value) -> Res<()> {
    charge_copy(heap, vector)?;
    may_append(heap, vector, 1)
}

/// Adds to a vector.
pub(crate) fn append(vector: &mut Value, item: Value) -> Res<()> {
    let Value::Vec(body) = vector else {
        return illegal(format!("cannot push to a {}", vector.type_name()));
    };
    let inner = Rc::make_mut(body);
    inner.shape.include(&item);
    inner.items.push(item);
    Ok(())
}

/// Counts a key, which is likely to stand where the hint says.
pub(crate) fn tally(heap: &mut Heap, counts: &mut Value, key: &Value, hint: &mut u16) -> Res<()> {
    heap.realised(key)?;
    let Value::Map(counts) = counts else { return illegal("counts are not in a map") };
    let at = position(counts, key, hint);
    if let Some(Value::Int(count)) = at.and_then(|at| counts.own_slot_at(at)) {
        *count = count.saturating_add(1);
        return Ok(());
    }
    heap.reserve(KEY)?;
    counts.change(key, |count| *count = Value::Int(count.as_i64().unwrap_or(0).saturating_add(1)));
    Ok(())
}

/// Adds an item to the vector of a key, which is likely to stand where the hint says, and leaves nil behind.
pub(crate) fn group(
    heap: &mut Heap,
    groups: &mut Value,
    key: &Value,
    item: &mut Value,
    hint: &mut u16,
) -> Res<()> {
    heap.realised(key)?;
    let Value::Map(groups) = groups else { return illegal("groups are not in a map") };
    match position(groups, key, hint) {
        // Whether there is room must not matter here: looking for a key costs fuel, and room is not the same after a dump.
        Some(at) => {
            if let Some(group) = groups.own_slot_at(at)
                && let Value::Vec(body) = group
                && body.shape.has(item)
            {
                if Rc::strong_count(body) > 1 || body.items.len() == body.items.capacity() {
                    may_push(heap, group)?;
                }
                heap.allocated(PUSHED);
                return append(group, std::mem::take(item));
            }
        }
        None => heap.reserve(BODY + KEY)?,
    }
    let mut done = Ok(());
    groups.change(key, |group| {
        if group.is_nil() {
            *group = Value::vector(Vec::new());
        }
        done = may_push(heap, group).and_then(|()| append(group, std::mem::take(item)));
    });
    heap.allocated(PUSHED);
    done
}

/// Where a key stands, likely at the hint.
fn position(table: &Map, key: &Value, hint: &mut u16) -> Option<usize> {
    let near = usize::from(*hint);
    if !matches!(key, Value::Str(Text::Long(_))) && table.glance(near, key).is_some() {
        return Some(near);
    }
    let at = table.position(key)?;
    *hint = u16::try_from(at).unwrap_or(0);
    Some(at)
}

/// Adds an item to a set; whether it was not there.
pub(crate) fn include(heap: &mut Heap, set: &mut Value, item: &Value) -> Res<bool> {
    heap.realised(item)?;
    charge_copy(heap, set)?;
    let Value::Set(body) = set else { return illegal("members are not in a set") };
    let inner: &mut SetObj = Rc::make_mut(body);
    if inner.table.contains(item) {
        return Ok(false);
    }
    heap.allocated(KEY);
    sets::insert(inner, item.clone());
    Ok(true)
}
