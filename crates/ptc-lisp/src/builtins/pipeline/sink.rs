//! What the end of a chain makes of the items that come through.

use std::borrow::Cow;

use super::super::known::Known;
use super::super::pure::Fold;
use super::super::registry;
use super::super::vectors::BODY;
use super::batch::{Batch, Kind};
use super::{Call, Part, is_worth, known};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Shape, Table, Value};

/// The end of a chain, with what it has made so far.
pub(super) struct Sink {
    goal: Goal,
    /// Fuel for one item.
    cost: usize,
}

enum Goal {
    Items(Items),
    Count(usize),
    First(Option<Value>),
    Every(Known, bool),
    Some(Known, Value),
    Fold(Fold, Option<Value>),
    /// `apply` of a function that folds two or more arguments.
    Apply(Fold, Option<Value>, usize),
    Set(Keys),
    Distinct(Keys),
    Frequencies(Keys, Vec<i64>),
    GroupBy(Known, Groups),
}

/// All items.
struct Items {
    out: Vec<Value>,
    /// How many there will be, if that is known.
    exact: Option<usize>,
    /// That of a container where they come from.
    shape: Shape,
    is_vector: bool,
}

/// Different values, numbered in the order in which they come.
#[derive(Default)]
struct Keys(Table<()>);

impl Keys {
    fn number(&mut self, heap: &mut Heap, key: Cow<Value>) -> Res<usize> {
        heap.realised(&key)?;
        if let Some(number) = self.0.position(&key) {
            return Ok(number);
        }
        heap.allocated(BODY);
        self.0.insert(key.into_owned(), ());
        Ok(self.0.len() - 1)
    }
}

/// Items and the group of each.
struct Groups {
    keys: Keys,
    /// How many items each group has.
    sizes: Vec<usize>,
    numbers: Vec<u32>,
    items: Vec<Value>,
    shape: Shape,
}

/// Functions of any number of arguments that are folds of two.
const FOLDING: &[&str] = &["clojure.core/*", "clojure.core/+", "clojure.core/max", "clojure.core/min"];

impl Sink {
    /// The end that a call makes of its items: `exact` if it is known how many there will be, all of them out
    /// of containers of this shape.
    pub(super) fn of(
        heap: &Heap,
        end: &Call,
        count: usize,
        exact: Option<usize>,
        shape: Shape,
    ) -> Option<Sink> {
        let function = || end.args.first();
        let known = || known(heap, function()?, count);
        let items = |is_vector| Goal::Items(Items { out: Vec::new(), exact, shape, is_vector });
        let fold = || function().filter(|function| is_worth(function, count)).and_then(|f| Fold::of(heap, f));
        let goal = match (end.part, end.args) {
            (Part::Filter | Part::Keep | Part::Map | Part::Remove, _) => items(false),
            (Part::Filterv | Part::Mapv | Part::Vec, _) => items(true),
            (Part::Into, [Value::Vec(_) | Value::Map(_) | Value::Set(_), _]) => items(true),
            (Part::Into, _) => return None,
            (Part::Count, _) => Goal::Count(0),
            (Part::First, _) => Goal::First(None),
            (Part::Every, _) => Goal::Every(known()?, true),
            (Part::Some, _) => Goal::Some(known()?, Value::Nil),
            (Part::Reduce, [_, init, _]) => Goal::Fold(fold()?, Some(init.clone())),
            (Part::Reduce, _) => Goal::Fold(fold()?, None),
            (Part::Apply, _) => {
                let Value::Builtin(id) = function()? else { return None };
                FOLDING.contains(&registry().get(*id).name).then_some(())?;
                Goal::Apply(fold()?, None, 0)
            }
            (Part::Set, _) => Goal::Set(Keys::default()),
            (Part::Distinct, _) => Goal::Distinct(Keys::default()),
            (Part::Frequencies, _) => Goal::Frequencies(Keys::default(), Vec::new()),
            (Part::GroupBy, _) => Goal::GroupBy(
                known()?,
                Groups {
                    keys: Keys::default(),
                    sizes: Vec::new(),
                    numbers: Vec::new(),
                    items: Vec::new(),
                    shape,
                },
            ),
        };
        let cost = 1 + match &goal {
            Goal::Every(known, _) | Goal::Some(known, _) | Goal::GroupBy(known, _) => known.cost(),
            Goal::Fold(fold, _) => fold.cost(),
            _ => 0,
        };
        Some(Sink { goal, cost })
    }

    /// Makes room where it is known how much is needed.
    pub(super) fn begin(&mut self, heap: &mut Heap) -> Res<()> {
        if let Goal::Items(Items { out, exact: Some(count), .. }) = &mut self.goal {
            heap.reserve_values(*count)?;
            out.reserve_exact(*count);
        }
        Ok(())
    }

    /// Takes a batch; whether no more items are needed.
    pub(super) fn take(&mut self, heap: &mut Heap, batch: &mut Batch) -> Res<bool> {
        heap.work_each(self.cost, batch.len())?;
        match &mut self.goal {
            Goal::Items(Items { out, .. }) => {
                heap.grow_by(out, batch.len())?;
                batch.move_to(out);
            }
            Goal::Count(count) => *count += batch.len(),
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
                heap.grow_by(&mut groups.items, batch.len())?;
                heap.grow_by(&mut groups.numbers, batch.len())?;
                batch.each(|item| {
                    let key = by.apply(heap, &item)?;
                    let number = groups.keys.number(heap, key)?;
                    if number == groups.sizes.len() {
                        heap.allocated(BODY);
                        groups.sizes.push(0);
                    }
                    groups.sizes[number] += 1;
                    groups.numbers.push(number as u32);
                    groups.items.push(item.into_owned());
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
            Goal::Items(Items { out, shape, is_vector: true, .. }) => Value::vector_from(out, shape),
            Goal::Items(Items { out, shape, .. }) => {
                heap.allocated(BODY);
                Value::seq_from(out, shape)
            }
            Goal::Count(count) => Value::from(count),
            Goal::First(first) => first.unwrap_or_default(),
            Goal::Every(_, all) => Value::Bool(all),
            Goal::Some(_, found) if found.truthy() => found,
            Goal::Some(..) => Value::Nil,
            Goal::Fold(_, so_far) => return Ok(so_far),
            Goal::Apply(_, so_far, count) => return Ok(so_far.filter(|_| count > 1)),
            Goal::Set(keys) => Value::set(keys.0),
            Goal::Distinct(keys) => {
                heap.reserve_values(keys.0.len())?;
                Value::seq(keys.0.into_iter().map(|(key, ())| key).collect())
            }
            Goal::Frequencies(keys, counts) => {
                let mut counts = counts.into_iter();
                Value::Map(keys.0.map_values(|()| Value::Int(counts.next().unwrap_or_default())).into())
            }
            Goal::GroupBy(_, groups) => groups.finish(heap)?,
        }))
    }
}

impl Groups {
    fn finish(self, heap: &mut Heap) -> Res {
        heap.reserve_values(self.items.len())?;
        let mut groups: Vec<Vec<Value>> = self.sizes.into_iter().map(Vec::with_capacity).collect();
        for (item, number) in self.items.into_iter().zip(self.numbers) {
            groups[number as usize].push(item);
        }
        let mut groups = groups.into_iter();
        let group = |()| Value::vector_from(groups.next().unwrap_or_default(), self.shape);
        Ok(Value::Map(self.keys.0.map_values(group).into()))
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
        Kind::Ints => {
            let init = begun.unwrap_or_else(|| Value::Int(batch.ints[0]));
            fold.over_ints(heap, init, batch.ints[from..].iter().copied())
        }
        Kind::Lent => {
            let init = begun.unwrap_or_else(|| batch.lent[0].clone());
            fold.over(heap, init, batch.lent[from..].iter().copied())
        }
        Kind::Own => {
            let init = begun.unwrap_or_else(|| batch.own[0].clone());
            fold.over(heap, init, batch.own[from..].iter())
        }
    };
    *so_far = Some(next?);
    Ok(())
}
