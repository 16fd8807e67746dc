//! Sequence functions over realised collections, as primitives.
//!
//! The public functions have transducer arities and must stay lazy over lazy sources, so they are
//! written in the core library; it comes here when everything is realised anyway.

use std::rc::Rc;

use super::access::{empty_seq, items, step, tail};
use super::vectors::{BODY, conj, vec};
use super::{Builtin, args, native};
use crate::heap::Heap;
use crate::signal::{Res, Signal, illegal};
use crate::value::equal::same_key;
use crate::value::items::Items;
use crate::value::seq::SEQ_BYTES;
use crate::value::{RangeObj, SeqObj, Shape, Shared, Stamp, Table, Value, VecObj};

pub(super) static TABLE: &[Builtin] = &[
    native("prim/vec-of", "[coll]", vec_of, "All items as a vector.", &[]),
    native("prim/take", "[n coll]", take, "The first n items.", &[]),
    native("prim/drop", "[n coll]", drop_items, "All items but the first n.", &[]),
    native("prim/take-last", "[n coll]", take_last, "The last n items; nil if there are none.", &[]),
    native("prim/drop-last", "[n coll]", drop_last, "All items but the last n.", &[]),
    native("prim/concat", "[colls]", concat, "The items of all collections in a vector.", &[]),
    native("prim/into", "[to from]", into, "Adds all items of a collection to another.", &[]),
    native(
        "prim/partition",
        "[n step pad has-pad coll]",
        partition,
        "Groups of n items at distance step; a short last group is filled from pad or left out.",
        &[],
    ),
    native("prim/split-at", "[n coll]", split_at, "The first n items and the rest.", &[]),
    native("prim/partition-all", "[n step coll]", partition_all, "Groups of up to n items.", &[]),
    native("prim/interleave", "[colls]", interleave, "One item of each collection in turn.", &[]),
    native("prim/interpose", "[sep coll]", interpose, "The items with a separator between them.", &[]),
    native("prim/distinct", "[coll]", distinct, "Every different item once.", &[]),
    native("prim/dedupe", "[coll]", dedupe, "The items without repetitions side by side.", &[]),
    native("prim/take-nth", "[n coll]", take_nth, "Every nth item.", &[]),
    native("prim/repeat", "[n x]", repeat, "The same value n times.", &[]),
    native("prim/group", "[keys items]", group, "A map from key to the vector of its items.", &[]),
];

fn seq_of(heap: &mut Heap, items: Vec<Value>) -> Res {
    heap.allocated(BODY);
    Ok(Value::seq(items))
}

fn vec_of(heap: &mut Heap, args: &mut [Value]) -> Res {
    vec(heap, args)
}

/// The first `n` items of anything that can be walked.
fn first_items(heap: &mut Heap, coll: &Value, n: usize) -> Res<Vec<Value>> {
    let mut walk = items(coll)?;
    let count = walk.len_hint().unwrap_or(0).min(n);
    heap.reserve_values(count)?;
    let mut out = Vec::with_capacity(count);
    while out.len() < n {
        match step(&mut walk)? {
            Some(item) => out.push(item),
            None => break,
        }
    }
    heap.work(out.len())?;
    heap.allocated(out.len().saturating_sub(count) * size_of::<Value>());
    Ok(out)
}

/// A vector, or a sequence over an array, of which a part is wanted.
pub(super) struct Whole<'a> {
    array: &'a Shared<VecObj>,
    start: usize,
    end: usize,
    /// Whether nobody else has the array, so that it goes away unless the part keeps it.
    alone: bool,
}

impl<'a> Whole<'a> {
    /// `None` for collections that are no arrays, and for arrays that can change.
    pub(super) fn of(coll: &'a Value) -> Option<Whole<'a>> {
        Some(match coll {
            Value::Vec(array) => {
                Whole { array, start: 0, end: array.items.len(), alone: Rc::strong_count(array) == 1 }
            }
            Value::Seq(body) => Whole {
                array: &body.items,
                start: body.offset,
                end: body.end,
                alone: Rc::strong_count(body) == 1 && Rc::strong_count(&body.items) == 1,
            },
            _ => return None,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Its items between two places, of which those behind its end count as its end. It is a part of the same array
    /// unless that keeps much alive for little: a few items of a long array, or a smaller part of one that nobody else
    /// has, are copied.
    pub(super) fn part(&self, heap: &mut Heap, from: usize, to: usize) -> Res {
        const FEW: usize = 32;
        let place = |at: usize| self.start.saturating_add(at).min(self.end);
        let (from, to) = (place(from), place(to));
        let count = to.saturating_sub(from);
        let besides = self.array.items.len() - count;
        if besides <= count.max(FEW) || (count > FEW && !self.alone) {
            heap.allocated(SEQ_BYTES);
            return Ok(SeqObj::part(self.array.clone(), from, from + count, false));
        }
        heap.work(count)?;
        heap.reserve_values(count)?;
        let items = self.array.items[from..from + count].to_vec();
        heap.allocated(BODY);
        Ok(Value::seq_from(items, self.array.shape))
    }
}

fn take(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    if let Some(whole) = Whole::of(&args[1]) {
        return whole.part(heap, 0, n);
    }
    match &args[1] {
        Value::Range(range) => Ok(RangeObj::value(range.start, range.step, range.count.min(n as u64))),
        coll => {
            let items = first_items(heap, coll, n)?;
            seq_of(heap, items)
        }
    }
}

fn drop_items(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    heap.allocated(BODY);
    match &args[1] {
        Value::Vec(body) => Ok(tail(body, n, false)),
        Value::Seq(body) => Ok(body.without(n, false)),
        Value::Range(range) => {
            let skip = range.count.min(n as u64);
            Ok(RangeObj::value(range.at(skip), range.step, range.count - skip))
        }
        coll => {
            let mut walk = items(coll)?;
            for _ in 0..n {
                heap.work(1)?;
                if step(&mut walk)?.is_none() {
                    return Ok(empty_seq());
                }
            }
            let left = heap.rest_of_walk(walk)?;
            Ok(if left.is_nil() { empty_seq() } else { left })
        }
    }
}

fn take_last(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    if let Some(whole) = Whole::of(&args[1]) {
        let count = whole.len();
        return if n.min(count) == 0 {
            Ok(Value::Nil)
        } else {
            whole.part(heap, count.saturating_sub(n), count)
        };
    }
    let mut items = heap.collect(&args[1])?;
    let items = items.split_off(items.len().saturating_sub(n));
    if items.is_empty() { Ok(Value::Nil) } else { seq_of(heap, items) }
}

fn drop_last(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    if let Some(whole) = Whole::of(&args[1]) {
        return whole.part(heap, 0, whole.len().saturating_sub(n));
    }
    let mut items = heap.collect(&args[1])?;
    items.truncate(items.len().saturating_sub(n));
    seq_of(heap, items)
}

/// The items of a vector or of a sequence over an array.
fn slice_of(coll: &Value) -> Option<&[Value]> {
    match coll {
        Value::Vec(body) => Some(&body.items),
        Value::Seq(body) => Some(body.as_slice()),
        _ => None,
    }
}

fn concat(heap: &mut Heap, args: &mut [Value]) -> Res {
    let colls = heap.collect(&args[0])?;
    // Room for arrays is made once, at its final size: growing would take twice as much for a moment.
    let count: usize = colls.iter().filter_map(slice_of).map(<[Value]>::len).sum();
    heap.work(count)?;
    heap.reserve_values(count)?;
    let mut out = Vec::with_capacity(count);
    for coll in &colls {
        match slice_of(coll) {
            Some(items) => out.extend_from_slice(items),
            None => out.append(&mut heap.collect(coll)?),
        }
    }
    seq_of(heap, out)
}

pub(super) fn into(heap: &mut Heap, args: &mut [Value]) -> Res {
    if let Some(joined) = joined(heap, args) {
        return joined;
    }
    let mut all = heap.collect(&args[1])?;
    // Exactly: one more would double the room.
    all.reserve_exact(1);
    all.insert(0, args::take(args, 0));
    let done = conj(heap, &mut all);
    // The machine may ask again, so the target must be back in its place.
    if matches!(&done, Err(signal) if !matches!(**signal, Signal::Raise(_) | Signal::Call(..))) {
        args[0] = std::mem::take(&mut all[0]);
    }
    done
}

/// A long array added to a vector that others have too: one copy of both at its final size, where a copy that
/// grows afterwards would have half of its room for nothing.
fn joined(heap: &mut Heap, args: &[Value]) -> Option<Res> {
    const LONG: usize = 1024;
    let (Value::Vec(body), Some(added)) = (&args[0], slice_of(&args[1])) else {
        return None;
    };
    if added.len() < LONG || Rc::strong_count(body) == 1 {
        return None;
    }
    let count = body.items.len() + added.len();
    if let Err(limit) = heap.work(count + added.len()).and_then(|()| heap.reserve_values(count)) {
        return Some(Err(limit));
    }
    let mut items = Vec::with_capacity(count);
    items.extend_from_slice(&body.items);
    let mut whole =
        VecObj { items, entry: false, shape: body.shape, meta: body.meta.clone(), stamp: Stamp::new() };
    for item in added {
        whole.shape.include(item);
        whole.items.push(item.clone());
    }
    Some(Ok(Value::Vec(Shared::new(whole))))
}

fn size(args: &[Value], at: usize) -> Res<usize> {
    match args::int(args, at)? {
        n if n > 0 => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
        n => illegal(format!("argument {} must be a positive integer, got {n}", at + 1)),
    }
}

/// The array that a collection is a part of, and where that begins and ends. Other collections become an array.
fn array_of(heap: &mut Heap, coll: &Value) -> Res<(Shared<VecObj>, usize, usize)> {
    Ok(match items(coll)? {
        Items::Slice(body, at) => {
            let end = body.items.len();
            (body, at.min(end), end)
        }
        Items::Part(body, at, end) => (body, at, end),
        _ => {
            let items = heap.collect(coll)?;
            let (shape, end) = (Shape::of(&items), items.len());
            heap.allocated(BODY);
            (Shared::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() }), 0, end)
        }
    })
}

/// The first `count` groups of up to `n` items, one beginning every `step` items. They are parts of the array itself:
/// overlapping ones would take many times its room.
fn groups(
    heap: &mut Heap,
    (array, start, end): &(Shared<VecObj>, usize, usize),
    (n, step): (usize, usize),
    count: usize,
) -> Res<Vec<Value>> {
    heap.reserve(count.saturating_mul(size_of::<Value>() + SEQ_BYTES))?;
    heap.work(count)?;
    let group = |from: usize| SeqObj::part(array.clone(), from, from.saturating_add(n).min(*end), false);
    Ok((*start..*end).step_by(step).take(count).map(group).collect())
}

fn partition(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (n, step) = (size(args, 0)?, size(args, 1)?);
    let all = array_of(heap, &args[4])?;
    let (start, end) = (all.1, all.2);
    let len = end - start;
    let whole = if len < n { 0 } else { (len - n) / step + 1 };
    let mut out = groups(heap, &all, (n, step), whole)?;
    let next = whole.saturating_mul(step);
    if args[3].truthy() && next < len {
        let rest = &all.0.items[start + next..end];
        heap.reserve_values(rest.len())?;
        let mut last = rest.to_vec();
        let pad = heap.collect(&args[2])?;
        let missing = n - last.len();
        last.extend(pad.into_iter().take(missing));
        out.push(Value::seq(last));
    }
    seq_of(heap, out)
}

fn partition_all(heap: &mut Heap, args: &mut [Value]) -> Res {
    let (n, step) = (size(args, 0)?, size(args, 1)?);
    let all = array_of(heap, &args[2])?;
    let groups = groups(heap, &all, (n, step), (all.2 - all.1).div_ceil(step))?;
    seq_of(heap, groups)
}

/// The first items and the rest, as parts of one array.
fn split_at(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    let (array, start, end) = array_of(heap, &args[1])?;
    let middle = start.saturating_add(n).min(end);
    heap.allocated(BODY + 2 * SEQ_BYTES);
    let parts = [(start, middle), (middle, end)];
    Ok(Value::vector(parts.map(|(from, to)| SeqObj::part(array.clone(), from, to, false)).to_vec()))
}

fn interleave(heap: &mut Heap, args: &mut [Value]) -> Res {
    let colls = heap.collect(&args[0])?;
    let parts = colls.iter().map(|coll| heap.collect(coll)).collect::<Res<Vec<_>>>()?;
    let rounds = parts.iter().map(Vec::len).min().unwrap_or(0);
    heap.reserve_values(rounds * parts.len())?;
    let out = (0..rounds).flat_map(|at| parts.iter().map(move |part| part[at].clone())).collect();
    seq_of(heap, out)
}

fn interpose(heap: &mut Heap, args: &mut [Value]) -> Res {
    let items = heap.collect(&args[1])?;
    heap.reserve_values(items.len() * 2)?;
    let mut out = Vec::with_capacity(items.len() * 2);
    for item in items {
        if !out.is_empty() {
            out.push(args[0].clone());
        }
        out.push(item);
    }
    seq_of(heap, out)
}

fn distinct(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let items = heap.collect(&args[0])?;
    heap.reserve(items.len() * 48)?;
    let seen: Table<()> = items.into_iter().map(|item| (item, ())).collect();
    let out = seen.into_iter().map(|(item, ())| item).collect();
    seq_of(heap, out)
}

fn dedupe(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let mut items = heap.collect(&args[0])?;
    items.dedup_by(|item, before| same_key(before, item));
    seq_of(heap, items)
}

fn take_nth(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = size(args, 0)?;
    let items = heap.collect(&args[1])?.into_iter().step_by(n).collect();
    seq_of(heap, items)
}

fn repeat(heap: &mut Heap, args: &mut [Value]) -> Res {
    let n = args::count(args, 0)?;
    heap.work(n)?;
    heap.reserve_values(n)?;
    seq_of(heap, vec![args::take(args, 1); n])
}

fn group(heap: &mut Heap, args: &mut [Value]) -> Res {
    heap.realised(&args[0])?;
    let shape = item_shape(&args[1]);
    let keys = heap.collect(&args[0])?;
    let items = heap.collect(&args[1])?;
    heap.allocated(keys.len() * 48);
    let mut table: Table<Vec<Value>> = Table::default();
    for (key, item) in keys.into_iter().zip(items) {
        match table.get_mut(&key) {
            Some(group) => group.push(item),
            None => {
                heap.allocated(BODY + 64);
                table.insert(key, vec![item]);
            }
        }
    }
    Ok(Value::Map(table.map_values(|group| Value::vector_from(group, shape)).into()))
}

/// The shape of the containers that hold items of `coll`; unknown ones must be looked at.
pub(super) fn item_shape(coll: &Value) -> Shape {
    match coll {
        Value::Vec(_) | Value::Seq(_) | Value::Range(_) => coll.shape(),
        _ => UNKNOWN,
    }
}

/// The shape of containers whose items must be looked at.
pub(super) const UNKNOWN: Shape = Shape { depth: u16::MAX, lazy: true };
