//! Chains of calls like `(reduce + (map :amount (filter paid? orders)))` in one pass.
//!
//! The compiler finds them (`compile/pipeline.rs`) and puts `Op::Pipe` before the calls. If natives know all
//! the functions (`known`) and the source is not lazy, the items go through all stages in batches, and no
//! collection in between is made. Whatever does not fit or goes wrong is left to the loop behind the calls
//! (`Op::Fuse`) or to the calls themselves: known functions have no effects, so nobody sees that they ran before.

mod batch;
mod sink;
#[cfg(test)]
mod tests;

use super::eager::{self, item_shape};
use super::known::{Known, items_of, size};
use super::prims::{self, LAZY_RANGE};
use super::registry;
use crate::code::Op;
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::{Res, Signal};
use crate::value::Value;
use batch::{Batch, Stage};
use sink::Sink;

/// What a function is in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PipelinePart {
    Apply,
    Count,
    Distinct,
    Empty,
    Every,
    Filter,
    Filterv,
    First,
    Frequencies,
    GroupBy,
    Into,
    Keep,
    Map,
    Mapv,
    NotAny,
    Reduce,
    Remove,
    Second,
    Set,
    Some,
    Take,
    TakeWhile,
    Vec,
}

/// The functions of chains.
static PARTS: &[(&str, PipelinePart)] = &[
    ("clojure.core/apply", PipelinePart::Apply),
    ("clojure.core/count", PipelinePart::Count),
    ("clojure.core/distinct", PipelinePart::Distinct),
    ("clojure.core/empty?", PipelinePart::Empty),
    ("clojure.core/every?", PipelinePart::Every),
    ("clojure.core/filter", PipelinePart::Filter),
    ("clojure.core/filterv", PipelinePart::Filterv),
    ("clojure.core/first", PipelinePart::First),
    ("clojure.core/frequencies", PipelinePart::Frequencies),
    ("clojure.core/group-by", PipelinePart::GroupBy),
    ("clojure.core/into", PipelinePart::Into),
    ("clojure.core/keep", PipelinePart::Keep),
    ("clojure.core/map", PipelinePart::Map),
    ("clojure.core/mapv", PipelinePart::Mapv),
    ("clojure.core/not-any?", PipelinePart::NotAny),
    ("clojure.core/reduce", PipelinePart::Reduce),
    ("clojure.core/remove", PipelinePart::Remove),
    ("clojure.core/second", PipelinePart::Second),
    ("clojure.core/set", PipelinePart::Set),
    ("clojure.core/some", PipelinePart::Some),
    ("clojure.core/take", PipelinePart::Take),
    ("clojure.core/take-while", PipelinePart::TakeWhile),
    ("clojure.core/vec", PipelinePart::Vec),
];

/// What a function is in a chain, by its name.
pub(super) fn part(name: &str) -> Option<PipelinePart> {
    PARTS.iter().find(|(of, _)| *of == name).map(|(_, part)| *part)
}

impl PipelinePart {
    /// Whether a call with `count` arguments can be inside of a chain.
    pub(crate) fn is_stage(self, count: usize) -> bool {
        count == 2 && (self.is_lazy_stage() || matches!(self, PipelinePart::Filterv | PipelinePart::Mapv))
    }

    /// Whether it is a stage that takes no more items than whatever comes after it needs.
    pub(crate) fn is_lazy_stage(self) -> bool {
        matches!(
            self,
            PipelinePart::Filter
                | PipelinePart::Keep
                | PipelinePart::Map
                | PipelinePart::Remove
                | PipelinePart::TakeWhile
        )
    }

    /// Whether the end of a chain gives a sequence, which is lazy if the source is.
    fn gives_sequence(self) -> bool {
        self.is_lazy_stage() || matches!(self, PipelinePart::Distinct | PipelinePart::Take)
    }

    /// Whether a call with `count` arguments can be the end of a chain.
    pub(crate) fn is_end(self, count: usize) -> bool {
        match self {
            PipelinePart::Reduce => count == 2 || count == 3,
            PipelinePart::Count
            | PipelinePart::Distinct
            | PipelinePart::Empty
            | PipelinePart::First
            | PipelinePart::Frequencies => count == 1,
            PipelinePart::Second | PipelinePart::Set | PipelinePart::Vec => count == 1,
            _ => count == 2,
        }
    }
}

/// Items that go through the stages together.
const BATCH: usize = 256;

/// Does `calls`, the innermost first, each the last argument of the next, in one pass. `row` are the
/// registers from the one of the outermost function on. `None` leaves it to the calls; the registers are as they were.
pub(crate) fn run(heap: &mut Heap, row: &mut [Value], calls: &[Op]) -> Res<Option<Value>> {
    match attempt(heap, row, calls) {
        // Limits are limits in either way.
        Err(signal) => match *signal {
            Signal::Reclaim(_) => Err(signal),
            Signal::Raise(ref error) if !error.kind.is_catchable() => Err(signal),
            _ => Ok(None),
        },
        done => done,
    }
}

/// Whether the loop behind the calls of a chain may do them: it walks what can be walked, calls what can be called, and
/// is done when it ends. What is wrong or lazy is left to the calls.
pub(crate) fn may_loop(heap: &mut Heap, row: &[Value], calls: &[Op]) -> Res<bool> {
    let Some(Op::CallBuiltin { f: first, .. }) = calls.last() else { return Ok(false) };
    let mut source = None;
    for (at, op) in calls.iter().enumerate() {
        let Some(call) = PipelineCall::read(*op, *first, row) else { return Ok(false) };
        if !call.is_callable() {
            return Ok(false);
        }
        source = if at == 0 { call.args.last() } else { source };
        // What `apply` calls may be lazy about its arguments.
        if at + 1 == calls.len() && (call.part.gives_sequence() || call.part == PipelinePart::Apply) {
            let Some(source) = source else { return Ok(false) };
            if prims::has_unrealised(heap, source)? {
                return Ok(false);
            }
        }
    }
    let is_walked = |value: &Value| {
        size(value).is_some()
            || matches!(
                value,
                Value::Nil | Value::Str(_) | Value::Lazy(_) | Value::Cons(_) | Value::Sorted(_)
            )
    };
    Ok(source.is_some_and(is_walked))
}

/// One call of a chain.
struct PipelineCall<'r> {
    part: PipelinePart,
    /// Its arguments; the last is the collection.
    args: &'r [Value],
}

impl<'r> PipelineCall<'r> {
    fn read(op: Op, first: u16, row: &'r [Value]) -> Option<PipelineCall<'r>> {
        let Op::CallBuiltin { f, n, id, .. } = op else { return None };
        let at = usize::from(f.checked_sub(first)?) + 1;
        Some(PipelineCall { part: registry().get(id).part?, args: row.get(at..at + usize::from(n))? })
    }

    /// Whether the function among its arguments takes what a loop calls it with; how many `take` takes is a number.
    fn is_callable(&self) -> bool {
        let Some(first) = self.args.first() else { return false };
        match self.part {
            PipelinePart::Take => matches!(first, Value::Int(_)),
            PipelinePart::Reduce => takes(first, 2),
            PipelinePart::Every | PipelinePart::NotAny | PipelinePart::Some => takes(first, 1),
            part if part.is_stage(self.args.len()) => takes(first, 1),
            _ => true,
        }
    }
}

fn attempt(heap: &mut Heap, row: &mut [Value], calls: &[Op]) -> Res<Option<Value>> {
    let Some((Op::CallBuiltin { f: first, .. }, inner)) = calls.split_last() else { return Ok(None) };
    let read = |op: &Op| PipelineCall::read(*op, *first, row);
    let Some(end) = calls.last().and_then(read) else { return Ok(None) };
    let Some(source) = calls.first().and_then(read).and_then(|call| call.args.last()) else {
        return Ok(None);
    };
    let Some(plan) = Plan::of(heap, inner.iter().map(read), &end, source) else { return Ok(None) };
    let part = end.part;
    let done = plan.run(heap, source)?;
    match (part, done) {
        (PipelinePart::Into, Some(items)) => into(heap, &mut row[1], items),
        (_, done) => Ok(done),
    }
}

/// Whether a function takes this many arguments.
fn takes(function: &Value, count: usize) -> bool {
    match function {
        Value::Fn(body) => body.unit.unit.funcs[body.func as usize].arity(count).is_some(),
        Value::Builtin(id) => registry().get(*id).arity().accepts(count),
        Value::Kw(_) | Value::Map(_) | Value::Set(_) => count == 1,
        _ => false,
    }
}

/// What a chain does.
struct Plan {
    stages: Vec<Stage>,
    sink: Sink,
    /// Whether no stage has to be done with all items before the next one begins.
    stops: bool,
    /// How many bytes the sink took.
    held: usize,
}

impl Plan {
    fn of<'r>(
        heap: &Heap,
        inner: impl ExactSizeIterator<Item = Option<PipelineCall<'r>>>,
        end: &PipelineCall,
        source: &Value,
    ) -> Option<Plan> {
        let count = size(source)?;
        let lazy = matches!(source, Value::Range(range) if range.count > LAZY_RANGE);
        let mut stages = Vec::with_capacity(inner.len() + 1);
        for call in inner {
            let PipelineCall { part, args } = call?;
            stages.push(Stage::of(heap, part, args.first()?, count)?);
        }
        if end.part.is_stage(end.args.len()) {
            stages.push(Stage::of(heap, end.part, end.args.first()?, count)?);
        }
        // A sequence of a lazy source would be lazy too.
        if lazy && end.part.gives_sequence() {
            return None;
        }
        let makes = stages.iter().any(Stage::makes);
        let shape = if makes { eager::UNKNOWN } else { item_shape(source) };
        let exact = stages.iter().all(Stage::is_exact).then_some(count);
        let sink = Sink::of(heap, end, count, exact, shape)?;
        Some(Plan { stops: stages.iter().all(Stage::is_lazy), stages, sink, held: 0 })
    }

    fn run(mut self, heap: &mut Heap, source: &Value) -> Res<Option<Value>> {
        self.sink.begin(heap)?;
        let mut batch = Batch::default();
        if let Value::Range(range) = source {
            let mut at = 0;
            while at < range.count {
                let end = range.count.min(at + BATCH as u64);
                batch.fill_ints((at..end).map(|at| range.at(at)));
                at = end;
                if self.flow(heap, &mut batch).map_err(|signal| self.wanting(signal))? {
                    break;
                }
            }
        } else {
            let items = match source {
                Value::Vec(body) => Ok(&body.items[..]),
                Value::Seq(body) => Ok(body.as_slice()),
                _ => Err(items_of(heap, source)?),
            };
            let items = match &items {
                Ok(items) => *items,
                Err(items) => items,
            };
            for chunk in items.chunks(BATCH) {
                batch.fill(chunk);
                if self.flow(heap, &mut batch).map_err(|signal| self.wanting(signal))? {
                    break;
                }
            }
        }
        self.sink.finish(heap)
    }

    /// One batch through all stages into the sink; whether that was enough.
    fn flow(&mut self, heap: &mut Heap, batch: &mut Batch) -> Res<bool> {
        for stage in &mut self.stages {
            stage.apply(heap, batch)?;
        }
        let before = heap.room();
        let enough = self.sink.take(heap, batch);
        self.held = self.held.saturating_add(before.saturating_sub(heap.room()));
        Ok(enough? && self.stops)
    }

    /// Says of memory that is short how much is wanted: what the sink holds is no garbage.
    fn wanting(&self, signal: Box<Signal>) -> Box<Signal> {
        match *signal {
            Signal::Reclaim(bytes) => Signal::Reclaim(bytes.saturating_add(self.held)).into(),
            _ if signal.is_short_of_memory() => Signal::Reclaim(self.held).into(),
            _ => signal,
        }
    }
}

/// A function of a chain; reading the code of one is not worth it for a few items.
fn known(heap: &Heap, function: &Value, count: usize) -> Option<Known> {
    if is_worth(function, count) { Known::of(heap, function) } else { None }
}

pub(super) fn is_worth(function: &Value, count: usize) -> bool {
    const FEW: usize = 8;
    count >= FEW || !matches!(function, Value::Fn(body) if !is_core(body.unit.id))
}

/// Adds items to a collection. It must not fail half way, because then the collection would be gone.
fn into(heap: &mut Heap, to: &mut Value, items: Value) -> Res<Option<Value>> {
    let Value::Vec(body) = &items else { return Ok(None) };
    let is_pair = |item: &Value| matches!(item, Value::Vec(pair) if pair.items.len() == 2);
    let fits = match to {
        Value::Vec(to) if to.items.is_empty() && to.meta.is_none() && !to.entry => return Ok(Some(items)),
        Value::Vec(_) => true,
        Value::Map(_) => body.items.iter().all(is_pair),
        Value::Set(_) => true,
        _ => false,
    };
    if !fits {
        return Ok(None);
    }
    heap.realised(&items)?;
    let mut call = [std::mem::take(to), items];
    eager::into(heap, &mut call).map(Some).inspect_err(|_| *to = std::mem::take(&mut call[0]))
}
