//! Functions that natives can apply by themselves: keywords, sets and maps, `juxt` of such functions,
//! builtins without effects, and functions of the program that are made of such things.
//!
//! Natives never call back into the machine, but these functions need no machine. So `quick` asks here
//! when it maps, filters, groups or folds. Whatever such a function cannot answer at once (a lazy sequence
//! inside, an error to raise) is left to the machine: it has no effects, so calling it again is harmless,
//! and the error gets its usual place.

use std::borrow::Cow;
use std::rc::Rc;

use super::pure::{self, Pure};
use super::unary::Unary;
use super::vectors::BODY;
use super::{NativeFn, lookup};
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::{Layout, Map, RangeObj, Shared, Value, prefetch};

/// Functions of a `juxt` that cost no more than the call itself.
const FREE: usize = 2;

/// Counts the row that a `juxt` makes. Long ones need room; of short ones, which are keys mostly and gone again, only a
/// census can say how many are left.
fn take_row(heap: &mut Heap, len: usize) -> Res<()> {
    const SHORT: usize = 16;
    let bytes = BODY + len * size_of::<Value>();
    match len > SHORT {
        true => heap.reserve(bytes),
        false => {
            heap.allocated(bytes);
            Ok(())
        }
    }
}

/// A function of one argument that natives can apply.
pub(super) enum Known {
    /// A keyword looks itself up.
    Field(FieldLookup),
    /// `juxt` of keywords.
    Fields(Vec<FieldLookup>),
    /// A set or map looks its argument up.
    Lookup(Value),
    /// `juxt` of others.
    Each(Vec<Known>),
    /// A builtin that is quick on plain values.
    Unary(Unary, NativeFn),
    /// Another builtin.
    Native(NativeFn),
    /// A function of the program.
    Pure(Pure),
}

/// A keyword that is looked up in one map after the other.
#[derive(Clone, Debug)]
pub(super) struct FieldLookup {
    key: Value,
    /// Where the last map had it.
    hint: usize,
    /// The keys of the last map, if it shares them: maps with the same ones have it in the same place.
    layout: Option<Shared<Layout>>,
}

impl FieldLookup {
    pub(super) fn new(key: &Value) -> FieldLookup {
        FieldLookup { key: key.clone(), hint: 0, layout: None }
    }

    /// The value of the key in a map that has it.
    #[inline(always)]
    pub(super) fn near<'i>(&mut self, item: &'i Value) -> Option<&'i Value> {
        let Value::Map(body) = item else { return None };
        match (&self.layout, body.layout()) {
            (Some(known), Some(layout)) if Rc::ptr_eq(known, layout) => body.slots().get(self.hint),
            _ => self.found(body),
        }
    }

    /// The same for a map with other keys than the last one.
    #[inline(never)]
    fn found<'i>(&mut self, body: &'i Map) -> Option<&'i Value> {
        let value = body.get_near(&self.key, &mut self.hint)?;
        self.layout = body.layout().filter(|layout| Rc::strong_count(layout) > 1).cloned();
        Some(value)
    }

    /// The value of the key in `item`.
    #[inline]
    pub(super) fn of<'i>(&mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        if let Some(value) = self.near(item) {
            return Ok(Cow::Borrowed(value));
        }
        lookup::get_or(heap, item, &self.key, &Value::Nil).map(Cow::Owned)
    }
}

impl Known {
    /// Recognises a function that is applied to every item of `coll`; reading the code of a function is
    /// not worth it for a few.
    pub(super) fn for_items(heap: &Heap, function: &Value, coll: &Value) -> Option<Known> {
        const FEW: usize = 8;
        let count = size(coll).unwrap_or(0);
        match function {
            Value::Fn(body) if count < FEW && !is_core(body.unit.id) => None,
            _ => Known::of(heap, function),
        }
    }

    /// Recognises a function.
    pub(super) fn of(heap: &Heap, function: &Value) -> Option<Known> {
        match function {
            Value::Kw(_) => Some(Known::Field(FieldLookup::new(function))),
            Value::Set(_) | Value::Map(_) => Some(Known::Lookup(function.clone())),
            Value::Builtin(id) => {
                let native = pure::native_of(*id, 1)?;
                Some(Unary::of(*id).map_or(Known::Native(native), |unary| Known::Unary(unary, native)))
            }
            Value::Fn(body) if is_core(body.unit.id) => {
                if body.unit.function_name(body.func) != Some("juxt") {
                    return None;
                }
                let keys = match &*body.captures {
                    [Value::Vec(keys)] => &keys.items[..],
                    keys => keys,
                };
                if !keys.is_empty() && keys.iter().all(|key| matches!(key, Value::Kw(_))) {
                    return Some(Known::Fields(keys.iter().map(FieldLookup::new).collect()));
                }
                // What is captured may be another juxt, but not for ever.
                let simple = |key: &Value| !matches!(key, Value::Fn(body) if is_core(body.unit.id));
                let each = keys.iter().map(|key| simple(key).then(|| Known::of(heap, key)).flatten());
                each.collect::<Option<Vec<Known>>>().map(Known::Each)
            }
            Value::Fn(body) => Pure::of(heap, body, 1).map(Known::Pure),
            _ => None,
        }
    }

    /// Fuel for one item, which callers charge: for all of them at once where they go over all.
    pub(super) fn cost(&self) -> usize {
        match self {
            Known::Pure(function) => function.cost,
            Known::Fields(fields) => fields.len().saturating_sub(FREE),
            Known::Each(functions) => {
                functions.len().saturating_sub(FREE) + functions.iter().map(Known::cost).sum::<usize>()
            }
            _ => 0,
        }
    }

    /// Whether the result for one item counts as true.
    #[inline(always)]
    pub(super) fn test(&mut self, heap: &mut Heap, item: &Value) -> Res<bool> {
        match self {
            Known::Unary(unary, run) => match unary.test(item) {
                Some(holds) => Ok(holds),
                None => Ok(run(heap, &mut [item.clone()])?.truthy()),
            },
            Known::Field(field) => Ok(field.of(heap, item)?.truthy()),
            Known::Pure(function) => function.test(heap, item),
            other => Ok(other.apply(heap, item)?.truthy()),
        }
    }

    /// The result for one item.
    #[inline]
    pub(super) fn apply<'i>(&'i mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        Ok(match self {
            Known::Field(field) => return field.of(heap, item),
            Known::Fields(fields) => {
                take_row(heap, fields.len())?;
                let mut row = Vec::with_capacity(fields.len());
                for field in fields {
                    row.push(field.of(heap, item)?.into_owned());
                }
                Cow::Owned(Value::vector(row))
            }
            Known::Lookup(coll) => Cow::Owned(lookup::get_or(heap, coll, item, &Value::Nil)?),
            Known::Each(functions) => {
                take_row(heap, functions.len())?;
                let mut row = Vec::with_capacity(functions.len());
                for function in functions {
                    row.push(function.apply(heap, item)?.into_owned());
                }
                Cow::Owned(Value::vector(row))
            }
            Known::Unary(unary, run) => match unary.apply(item) {
                Some(value) => Cow::Owned(value),
                None => Cow::Owned(run(heap, &mut [item.clone()])?),
            },
            Known::Native(run) => Cow::Owned(run(heap, &mut [item.clone()])?),
            Known::Pure(function) => return function.apply(heap, [item, item]),
        })
    }
}

/// How many items a collection has that is not lazy; a range may be as long as it likes.
pub(super) fn size(coll: &Value) -> Option<usize> {
    Some(match coll {
        Value::Vec(body) => body.items.len(),
        Value::Seq(body) => body.as_slice().len(),
        Value::Range(range) => usize::try_from(range.count).unwrap_or(usize::MAX),
        Value::Map(body) => body.len(),
        Value::Set(body) => body.table.len(),
        _ => return None,
    })
}

/// The items of a collection, in place if they are in an array.
pub(super) fn items_of<'v>(heap: &mut Heap, coll: &'v Value) -> Res<Cow<'v, [Value]>> {
    let slice = match coll {
        Value::Vec(body) => &body.items[..],
        Value::Seq(body) => body.as_slice(),
        _ => return Ok(Cow::Owned(heap.collect(coll)?)),
    };
    heap.work(slice.len())?;
    Ok(Cow::Borrowed(slice))
}

/// Items that natives walk over: those of a range are made one by one.
pub(super) enum ItemWalk<'v> {
    Items(Cow<'v, [Value]>),
    Range(&'v RangeObj),
}

impl<'v> ItemWalk<'v> {
    /// The items of a collection, one unit of work each.
    pub(super) fn over(heap: &mut Heap, coll: &'v Value) -> Res<ItemWalk<'v>> {
        Ok(match coll {
            Value::Range(range) => {
                heap.work(usize::try_from(range.count).unwrap_or(usize::MAX))?;
                ItemWalk::Range(range)
            }
            _ => ItemWalk::Items(items_of(heap, coll)?),
        })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            ItemWalk::Items(items) => items.len(),
            ItemWalk::Range(range) => usize::try_from(range.count).unwrap_or(usize::MAX),
        }
    }

    /// Calls `each` with every item from the one at `from` on, as long as it says so.
    #[inline]
    pub(super) fn each(&self, from: usize, mut each: impl FnMut(&Value) -> Res<bool>) -> Res<()> {
        match self {
            ItemWalk::Items(items) => {
                for (at, item) in items.iter().enumerate().skip(from) {
                    items.get(at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
                    if !each(item)? {
                        break;
                    }
                }
            }
            ItemWalk::Range(range) => {
                for at in from as u64..range.count {
                    if !each(&Value::Int(range.at(at)))? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}
