//! What the end of a chain makes of the items that come through.

use std::borrow::Cow;

use super::super::known::Known;
use super::super::pure::{Fold, folds_arguments};
use super::super::vectors::BODY;
use super::batch::{Batch, BatchKind};
use super::{PipelineCall, PipelinePart, is_worth, known};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Shape, Table, Text, Value};

/// The end of a chain, with what it has made so far.
pub(super) struct Sink {
    goal: Goal,
    /// Fuel for one item.
    cost: usize,
}

enum Goal {
    Items(CollectAll),
    Count(usize),
    Empty(bool),
    First(Option<Value>),
    /// How many items came, and the second of them.
    Second(usize, Option<Value>),
    Every(Known, bool),
    NotAny(Known, bool),
    Some(Known, Value),
    Fold(Fold, Option<Value>),
    /// `apply` of a function that folds two or more arguments.
    Apply(Fold, Option<Value>, usize),
    Set(DistinctKeys),
    Distinct(DistinctKeys),
    Frequencies(DistinctKeys, Vec<i64>),
    GroupBy(Known, Groups),
}

/// All items.
struct CollectAll {
    out: Vec<Value>,
    /// How many there will be, if that is known.
    exact: Option<usize>,
    /// How many are wanted.
    most: usize,
    /// That of a container where they come from.
    shape: Shape,
    is_vector: bool,
}

/// Different values, numbered in the order in which they come.
#[derive(Default)]
struct DistinctKeys {
    table: Table<()>,
    /// Keys that came lately, as two words, with their numbers: mostly few keys come often.
    recent: [Option<([u64; 2], usize)>; RECENT],
}

const RECENT: usize = 32;

impl DistinctKeys {
    #[inline]
    fn number(&mut self, heap: &mut Heap, key: Cow<Value>) -> Res<usize> {
        let Some(words) = words(&key) else { return self.find(heap, key) };
        let mixed = (words[0] ^ words[1].rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = (mixed >> 32) as usize % RECENT;
        match self.recent[place] {
            Some((known, number)) if known == words => Ok(number),
            _ => {
                let number = self.find(heap, key)?;
                self.recent[place] = Some((words, number));
                Ok(number)
            }
        }
    }

    fn find(&mut self, heap: &mut Heap, key: Cow<Value>) -> Res<usize> {
        heap.realised(&key)?;
        if let Some(number) = self.table.position(&key) {
            return Ok(number);
        }
        heap.allocated(BODY);
        self.table.insert(key.into_owned(), ());
        Ok(self.table.len() - 1)
    }
}

/// What tells a small key apart from all others of these kinds.
#[inline]
fn words(key: &Value) -> Option<[u64; 2]> {
    Some(match key {
        Value::Int(int) => [int.cast_unsigned(), u64::MAX],
        Value::Kw(name) => [name.0.into(), u64::MAX - 1],
        Value::Str(Text::Short(text)) => {
            let (bytes, len) = text.parts();
            let mut all = [0; 16];
            all[..bytes.len()].copy_from_slice(bytes);
            all[15] = len;
            let all = u128::from_le_bytes(all);
            [all as u64, (all >> 64) as u64]
        }
        _ => return None,
    })
}

/// Items by group.
struct Groups {
    keys: DistinctKeys,
    groups: Vec<Vec<Value>>,
    shape: Shape,
}

impl Sink {
    /// The end that a call makes of its items: `exact` if it is known how many there will be, all of them out
    /// of containers of this shape.
    pub(super) fn of(
        heap: &Heap,
        end: &PipelineCall,
        count: usize,
        exact: Option<usize>,
        shape: Shape,
    ) -> Option<Sink> {
        let function = || end.args.first();
        let known = || known(heap, function()?, count);
        let items = |is_vector| {
            Goal::Items(CollectAll { out: Vec::new(), exact, most: usize::MAX, shape, is_vector })
        };
        let fold = || function().filter(|function| is_worth(function, count)).and_then(|f| Fold::of(heap, f));
        let goal = match (end.part, end.args) {
            (PipelinePart::Filter | PipelinePart::Keep | PipelinePart::Map | PipelinePart::Remove, _) => {
                items(false)
            }
            (PipelinePart::Filterv | PipelinePart::Mapv | PipelinePart::Vec, _) => items(true),
            (PipelinePart::Into, [Value::Vec(_) | Value::Map(_) | Value::Set(_), _]) => items(true),
            (PipelinePart::Into | PipelinePart::TakeWhile, _) => return None,
            (PipelinePart::Take, [Value::Int(most), _]) => {
                let most = usize::try_from(*most).ok()?;
                let exact = exact.map(|exact| exact.min(most));
                Goal::Items(CollectAll { out: Vec::new(), exact, most, shape, is_vector: false })
            }
            (PipelinePart::Take, _) => return None,
            (PipelinePart::Count, _) => Goal::Count(0),
            (PipelinePart::Empty, _) => Goal::Empty(true),
            (PipelinePart::First, _) => Goal::First(None),
            (PipelinePart::Second, _) => Goal::Second(0, None),
            (PipelinePart::Every, _) => Goal::Every(known()?, true),
            (PipelinePart::NotAny, _) => Goal::NotAny(known()?, true),
            (PipelinePart::Some, _) => Goal::Some(known()?, Value::Nil),
            (PipelinePart::Reduce, [_, init, _]) => Goal::Fold(fold()?, Some(init.clone())),
            (PipelinePart::Reduce, _) => Goal::Fold(fold()?, None),
            (PipelinePart::Apply, _) => {
                folds_arguments(function()?).then_some(())?;
                Goal::Apply(fold()?, None, 0)
            }
            (PipelinePart::Set, _) => Goal::Set(DistinctKeys::default()),
            (PipelinePart::Distinct, _) => Goal::Distinct(DistinctKeys::default()),
            (PipelinePart::Frequencies, _) => Goal::Frequencies(DistinctKeys::default(), Vec::new()),
            (PipelinePart::GroupBy, _) => {
                Goal::GroupBy(known()?, Groups { keys: DistinctKeys::default(), groups: Vec::new(), shape })
            }
        };
        let cost = 1 + match &goal {
            Goal::Every(known, _) | Goal::NotAny(known, _) => known.cost(),
            Goal::Some(known, _) | Goal::GroupBy(known, _) => known.cost(),
            Goal::Fold(fold, _) => fold.cost(),
            _ => 0,
        };
        Some(Sink { goal, cost })
    }

    /// Makes room where it is known how much is needed.
    pub(super) fn begin(&mut self, heap: &mut Heap) -> Res<()> {
        if let Goal::Items(CollectAll { out, exact: Some(count), .. }) = &mut self.goal {
            heap.reserve_values(*count)?;
            out.reserve_exact(*count);
        }
        Ok(())
    }

    /// Takes a batch; whether no more items are needed.
    pub(super) fn take(&mut self, heap: &mut Heap, batch: &mut Batch) -> Res<bool> {
        heap.work_each(self.cost, batch.len())?;
        match &mut self.goal {
            Goal::Items(CollectAll { out, most, .. }) => {
                batch.truncate(*most - out.len());
                heap.grow_by(out, batch.len())?;
                batch.move_to(out);
                return Ok(out.len() == *most);
            }
            Goal::Count(count) => *count += batch.len(),
            Goal::Empty(empty) => {
                *empty &= batch.len() == 0;
                return Ok(!*empty);
            }
            Goal::Second(seen, second) => {
                if *seen < 2 {
                    batch.each(|item| {
                        *seen += 1;
                        if *seen == 2 {
                            *second = Some(item.into_owned());
                        }
                        Ok(*seen < 2)
                    })?;
                }
                return Ok(*seen == 2);
            }
            Goal::First(first) => {
                if first.is_none() {
                    batch.each(|item| {
                        *first = Some(item.into_owned());
                        Ok(false)
                    })?;
                }
                return Ok(first.is_some());
            }
            Goal::Every(test, all) => {
                if *all {
                    batch.each(|item| {
                        *all = test.test(heap, &item)?;
                        Ok(*all)
                    })?;
                }
                return Ok(!*all);
            }
            Goal::NotAny(test, none) => {
                if *none {
                    batch.each(|item| {
                        *none = !test.test(heap, &item)?;
                        Ok(*none)
                    })?;
                }
                return Ok(!*none);
            }
            Goal::Some(test, found) => {
                if !found.truthy() {
                    batch.each(|item| {
                        *found = test.apply(heap, &item)?.into_owned();
                        Ok(!found.truthy())
                    })?;
                }
                return Ok(found.truthy());
            }
            Goal::Fold(fold, so_far) => folded(heap, fold, so_far, batch)?,
            Goal::Apply(fold, so_far, count) => {
                *count += batch.len();
                folded(heap, fold, so_far, batch)?;
            }
            Goal::Set(keys) | Goal::Distinct(keys) => batch.each(|item| {
                keys.number(heap, item)?;
                Ok(true)
            })?,
            Goal::Frequencies(keys, counts) => batch.each(|item| {
                let number = keys.number(heap, item)?;
                if number == counts.len() {
                    counts.push(0);
                }
                counts[number] += 1;
                Ok(true)
            })?,
            Goal::GroupBy(by, groups) => {
                batch.each(|item| {
                    let key = by.apply(heap, &item)?;
                    let number = groups.keys.number(heap, key)?;
                    if number == groups.groups.len() {
                        heap.allocated(BODY);
                        groups.groups.push(Vec::new());
                    }
                    let group = &mut groups.groups[number];
                    heap.grow_by(group, 1)?;
                    group.push(item.into_owned());
                    Ok(true)
                })?;
            }
        }
        Ok(false)
    }

    /// What it made; nothing if the call itself must say.
    pub(super) fn finish(self, heap: &mut Heap) -> Res<Option<Value>> {
        heap.allocated(BODY);
        Ok(Some(match self.goal {
            Goal::Items(CollectAll { out, shape, is_vector: true, .. }) => Value::vector_from(out, shape),
            Goal::Items(CollectAll { out, shape, .. }) => {
                heap.allocated(BODY);
                Value::seq_from(out, shape)
            }
            Goal::Count(count) => Value::from(count),
            Goal::First(found) | Goal::Second(_, found) => found.unwrap_or_default(),
            Goal::Empty(is) | Goal::Every(_, is) | Goal::NotAny(_, is) => Value::Bool(is),
            Goal::Some(_, found) if found.truthy() => found,
            Goal::Some(..) => Value::Nil,
            Goal::Fold(_, so_far) => return Ok(so_far),
            Goal::Apply(_, so_far, count) => return Ok(so_far.filter(|_| count > 1)),
            Goal::Set(keys) => Value::set(keys.table),
            Goal::Distinct(keys) => {
                heap.reserve_values(keys.table.len())?;
                Value::seq(keys.table.into_iter().map(|(key, ())| key).collect())
            }
            Goal::Frequencies(keys, counts) => {
                let mut counts = counts.into_iter();
                Value::Map(keys.table.map_values(|()| Value::Int(counts.next().unwrap_or_default())).into())
            }
            Goal::GroupBy(_, Groups { keys, groups, shape }) => {
                let mut groups = groups.into_iter();
                let group = |()| Value::vector_from(groups.next().unwrap_or_default(), shape);
                Value::Map(keys.table.map_values(group).into())
            }
        }))
    }
}

/// Folds a batch into what is there so far; without anything the first item is.
fn folded(heap: &mut Heap, fold: &mut Fold, so_far: &mut Option<Value>, batch: &mut Batch) -> Res<()> {
    let begun = so_far.take();
    let from = usize::from(begun.is_none());
    let next = match batch.kind {
        _ if batch.len() == 0 => {
            *so_far = begun;
            return Ok(());
        }
        BatchKind::Ints => {
            let init = begun.unwrap_or_else(|| Value::Int(batch.ints[0]));
            fold.over_ints(heap, init, batch.ints[from..].iter().copied())
        }
        BatchKind::Lent => {
            let init = begun.unwrap_or_else(|| batch.lent[0].clone());
            fold.over(heap, init, batch.lent[from..].iter().copied())
        }
        BatchKind::Own => {
            let init = begun.unwrap_or_else(|| batch.own[0].clone());
            fold.over(heap, init, batch.own[from..].iter())
        }
    };
    *so_far = Some(next?);
    Ok(())
}
