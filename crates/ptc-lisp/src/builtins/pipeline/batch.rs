//! Items on their way through the stages of a chain: numbers as they are, items of the source where they
//! stand, and what stages made.

use std::borrow::Cow;

use super::super::known::{FieldLookup, Known};
use super::super::unary::Unary;
use super::{PipelinePart, known};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Value, prefetch};

/// Some items. Only the vector that `kind` names has any; the others keep their room.
#[derive(Default)]
pub(super) struct Batch<'v> {
    pub(super) kind: BatchKind,
    pub(super) ints: Vec<i64>,
    pub(super) lent: Vec<&'v Value>,
    pub(super) own: Vec<Value>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BatchKind {
    #[default]
    Ints,
    Lent,
    Own,
}

const NIL: &Value = &Value::Nil;

impl<'v> Batch<'v> {
    /// Integers in place of what was there.
    pub(super) fn fill_ints(&mut self, ints: impl Iterator<Item = i64>) {
        self.kind = BatchKind::Ints;
        self.ints.clear();
        self.ints.extend(ints);
    }

    /// Items of the source in place of what was there.
    pub(super) fn fill(&mut self, items: &'v [Value]) {
        self.kind = BatchKind::Lent;
        self.lent.clear();
        self.lent.extend(items);
        items.iter().for_each(prefetch::fetch);
    }

    /// How many items there are.
    pub(super) fn len(&self) -> usize {
        match self.kind {
            BatchKind::Ints => self.ints.len(),
            BatchKind::Lent => self.lent.len(),
            BatchKind::Own => self.own.len(),
        }
    }

    /// Leaves out what comes after the first `count` items.
    pub(super) fn truncate(&mut self, count: usize) {
        match self.kind {
            BatchKind::Ints => self.ints.truncate(count),
            BatchKind::Lent => self.lent.truncate(count),
            BatchKind::Own => self.own.truncate(count),
        }
    }

    /// Moves all items, or copies of them, to the end of `out`.
    pub(super) fn move_to(&mut self, out: &mut Vec<Value>) {
        match self.kind {
            BatchKind::Ints => out.extend(self.ints.iter().map(|int| Value::Int(*int))),
            BatchKind::Lent => out.extend(self.lent.iter().copied().cloned()),
            BatchKind::Own => out.append(&mut self.own),
        }
    }

    /// Calls `each` with every item, as long as it says so.
    #[inline]
    pub(super) fn each(&mut self, mut each: impl FnMut(Cow<Value>) -> Res<bool>) -> Res<()> {
        self.unpack();
        match self.kind {
            BatchKind::Lent => {
                for item in &self.lent {
                    if !each(Cow::Borrowed(item))? {
                        break;
                    }
                }
            }
            _ => {
                for item in self.own.drain(..) {
                    if !each(Cow::Owned(item))? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Integers as values.
    fn unpack(&mut self) {
        if self.kind == BatchKind::Ints {
            self.own.clear();
            self.own.extend(self.ints.iter().map(|int| Value::Int(*int)));
            self.kind = BatchKind::Own;
        }
    }

    /// Keeps the items for which the function's truth is `wanted`.
    fn filter(&mut self, heap: &mut Heap, known: &mut Known, wanted: bool) -> Res<()> {
        if let (BatchKind::Ints, Known::Unary(unary, _)) = (self.kind, &known) {
            unary.keep_ints(&mut self.ints, wanted);
            return Ok(());
        }
        self.unpack();
        if self.kind == BatchKind::Lent {
            let mut kept = 0;
            for at in 0..self.lent.len() {
                let item = self.lent[at];
                self.lent[kept] = item;
                kept += usize::from(known.test(heap, item)? == wanted);
            }
            self.lent.truncate(kept);
            return Ok(());
        }
        let mut failed = Ok(());
        self.own.retain(|item| {
            failed.is_ok()
                && known.test(heap, item).map(|holds| holds == wanted).unwrap_or_else(|signal| {
                    failed = Err(signal);
                    false
                })
        });
        failed
    }

    /// Puts the results of a function in the place of the items.
    fn map(&mut self, heap: &mut Heap, known: &mut Known) -> Res<()> {
        match (self.kind, &mut *known) {
            (_, Known::Unary(Unary::Identity, _)) => return Ok(()),
            (BatchKind::Ints, Known::Unary(unary, _)) if unary.change_ints(&mut self.ints) => return Ok(()),
            (BatchKind::Lent, Known::Field(field)) => return self.field(heap, field),
            _ => {}
        }
        self.unpack();
        if self.kind == BatchKind::Lent {
            self.own.clear();
            for item in &self.lent {
                self.own.push(known.apply(heap, item)?.into_owned());
            }
            self.kind = BatchKind::Own;
            return Ok(());
        }
        for item in &mut self.own {
            let value = known.apply(heap, item)?.into_owned();
            *item = value;
        }
        Ok(())
    }

    /// The same for a field: what a map has stays where it stands.
    fn field(&mut self, heap: &mut Heap, field: &mut FieldLookup) -> Res<()> {
        for at in 0..self.lent.len() {
            let item = self.lent[at];
            self.lent[at] = match field.near(item) {
                Some(value) => value,
                None => match field.of(heap, item)? {
                    Cow::Borrowed(value) => value,
                    Cow::Owned(Value::Nil) => NIL,
                    Cow::Owned(made) => {
                        self.own.clear();
                        self.own.extend(self.lent[..at].iter().copied().cloned());
                        self.own.push(made);
                        for item in &self.lent[at + 1..] {
                            self.own.push(field.of(heap, item)?.into_owned());
                        }
                        self.kind = BatchKind::Own;
                        return Ok(());
                    }
                },
            };
        }
        Ok(())
    }

    fn drop_nils(&mut self) {
        match self.kind {
            BatchKind::Ints => {}
            BatchKind::Lent => self.lent.retain(|item| !item.is_nil()),
            BatchKind::Own => self.own.retain(|item| !item.is_nil()),
        }
    }
}

/// One function that all items go through.
pub(super) struct Stage {
    part: PipelinePart,
    function: Known,
    cost: usize,
}

impl Stage {
    /// The stage of a call with this function.
    pub(super) fn of(heap: &Heap, part: PipelinePart, function: &Value, count: usize) -> Option<Stage> {
        // Natives have no stage that ends the items.
        let function = known(heap, function, count).filter(|_| part != PipelinePart::TakeWhile)?;
        Some(Stage { part, cost: 1 + function.cost(), function })
    }

    /// Whether as many items come out as go in.
    pub(super) fn is_exact(&self) -> bool {
        matches!(self.part, PipelinePart::Map | PipelinePart::Mapv)
    }

    /// Whether it takes no more items than the stages after it need.
    pub(super) fn is_lazy(&self) -> bool {
        self.part.is_lazy_stage()
    }

    /// Whether other items come out than go in.
    pub(super) fn makes(&self) -> bool {
        matches!(self.part, PipelinePart::Map | PipelinePart::Mapv | PipelinePart::Keep)
    }

    /// Puts a batch through it.
    pub(super) fn apply(&mut self, heap: &mut Heap, batch: &mut Batch) -> Res<()> {
        heap.work_each(self.cost, batch.len())?;
        match self.part {
            PipelinePart::Filter | PipelinePart::Filterv => batch.filter(heap, &mut self.function, true),
            PipelinePart::Remove => batch.filter(heap, &mut self.function, false),
            PipelinePart::Keep => {
                batch.map(heap, &mut self.function)?;
                batch.drop_nils();
                Ok(())
            }
            _ => batch.map(heap, &mut self.function),
        }
    }
}
