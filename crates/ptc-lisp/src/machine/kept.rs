//! How much definitions and earlier results keep, which is what limits of sessions count: the text that a value shows, and
//! the memory of what it holds and does not show.
//!
//! What text shows counts as its text: that is what people see, and it does not depend on how values are built. Out of sight
//! are metadata, what a lazy sequence is made from, the rest of an array of which a part is shown, watches and validators,
//! causes of exceptions, and what an order asks. So there are two walks: one over what text shows, which notes what is met
//! and where something begins that is not shown; and a census from there, which leaves out what was met.

use std::rc::Rc;

use super::census::Census;
use crate::globals::Facts;
use crate::names::Names;
use crate::value::written::written;
use crate::value::{Layout, LazyState, Meta, Ordering, SeqObj, Shared, Value, VecObj};

/// The bytes that a value keeps, or a number beyond `most` as soon as it is more.
pub(super) fn kept(value: &Value, names: &Names, most: usize) -> usize {
    let text = written(value, names, most);
    text.saturating_add(hidden([value], [], &[], most.saturating_sub(text)))
}

/// The bytes of what values hold and do not show, of what stands with definitions, and of what else is held. Shared parts
/// count once. A number beyond `most` as soon as it is more.
pub(super) fn hidden<'v>(
    values: impl IntoIterator<Item = &'v Value>,
    facts: impl IntoIterator<Item = &'v Facts>,
    held: &[&Value],
    most: usize,
) -> usize {
    let mut sight = Sight::new();
    sight.shown.all(values);
    sight.run();
    for Facts { name: _, origin: _, meta, watches, changed: _ } in facts {
        sight.metas.push(meta.clone());
        sight.values.push(watches.clone());
    }
    sight.values.extend(held.iter().copied().cloned());
    sight.hidden(most)
}

/// What is shown, and where something begins that is not.
struct Sight {
    /// Has met what is shown.
    shown: Census,
    /// Bytes of what was found on the way.
    bytes: usize,
    values: Vec<Value>,
    metas: Vec<Meta>,
    /// Arrays of which parts are shown, from where to where.
    parts: Vec<(Shared<VecObj>, usize, usize)>,
    /// What layouts came from: they may have more keys.
    origins: Vec<Shared<Layout>>,
}

impl Sight {
    fn new() -> Sight {
        let (values, metas, parts, origins) = Default::default();
        Sight { shown: Census::new(), bytes: 0, values, metas, parts, origins }
    }

    /// Walks what is shown.
    fn run(&mut self) {
        while let Some(value) = self.shown.pending.pop() {
            self.body(&value);
        }
    }

    fn meta(&mut self, meta: &Meta) {
        if meta.is_some() {
            self.metas.push(meta.clone());
        }
    }

    /// As [`written`] goes on from a value. Patterns and times are all text.
    fn body(&mut self, value: &Value) {
        match value {
            Value::Vec(body) => {
                self.shown.all(&body.items);
                self.meta(&body.meta);
            }
            Value::Seq(body) => self.seq(body),
            Value::Cons(body) => {
                self.shown.all([&body.first, &body.rest]);
                self.meta(&body.meta);
            }
            Value::Lazy(body) => match &*body.state.borrow() {
                LazyState::Thunk(thunk) => self.values.push(thunk.clone()),
                LazyState::Done(value) => {
                    // One that is another has no text of its own.
                    self.bytes += if matches!(value, Value::Lazy(_)) { Census::LAZY } else { 0 };
                    self.shown.visit(value);
                }
                LazyState::Running => {}
            },
            Value::Map(body) => {
                self.keys(body.layout());
                self.shown.all(body.slots());
                self.meta(body.meta());
            }
            Value::Set(body) => {
                self.keys(body.table.layout());
                self.meta(&body.meta);
            }
            Value::Sorted(body) => {
                self.shown.all(body.entries.iter().flat_map(|(key, value)| [key, value]));
                self.meta(&body.meta);
                if let Ordering::By(function) = &body.ordering {
                    self.values.push(function.clone());
                }
            }
            Value::Fn(body) => {
                if self.shown.alone_or_new(&body.captures) {
                    self.shown.all(&*body.captures);
                }
                self.meta(&body.meta);
            }
            Value::Cell(body) => {
                let state = body.state.borrow();
                self.shown.visit(&state.value);
                self.values.extend([&state.validator, &state.watches].map(Value::clone));
                self.meta(&state.meta);
            }
            Value::Ex(body) => {
                self.shown.visit(&body.data);
                self.values.push(body.cause.clone());
            }
            Value::Reduced(body) => self.shown.visit(body),
            Value::Iter(body) => {
                let mut held = Census::new();
                held.items(&body.borrow().clone());
                self.values.append(&mut held.pending);
            }
            _ => {}
        }
    }

    /// A sequence shows a part of its array, or all of it.
    fn seq(&mut self, body: &SeqObj) {
        self.meta(&body.meta);
        if body.as_slice().len() < body.items.items.len() {
            self.shown.all(body.as_slice());
            self.parts.push((body.items.clone(), body.offset, body.end));
        } else if self.shown.alone_or_new(&body.items) {
            self.shown.pending.push(Value::Vec(body.items.clone()));
        }
    }

    /// Keys of a table.
    fn keys(&mut self, layout: Option<&Shared<Layout>>) {
        let Some(layout) = layout else { return };
        if Rc::strong_count(layout) == 1 || self.shown.is_new(layout) {
            self.shown.all(layout.keys());
            self.origins.extend(layout.origin().cloned());
        }
    }

    /// Counts what begins where the walk did not go on.
    fn hidden(mut self, most: usize) -> usize {
        let mut census = self.shown;
        (census.bytes, census.most) = (self.bytes, most);
        // Parts of one array stand together, in order.
        self.parts.sort_unstable_by_key(|(array, from, _)| (Rc::as_ptr(array).addr(), *from));
        for parts in self.parts.chunk_by(|one, other| Rc::ptr_eq(&one.0, &other.0)) {
            gaps(&mut census, parts);
        }
        // They are few, and what layouts share with others is nobody's.
        for layout in self.origins {
            let mut next = Some(&layout);
            while let Some(layout) = next.filter(|layout| census.is_new(*layout)) {
                census.all(layout.keys());
                next = layout.origin();
            }
        }
        self.metas.iter().for_each(|meta| census.meta(meta));
        census.all(&self.values);
        census.run();
        census.bytes
    }
}

/// What of an array no part shows, unless it is shown as a whole.
fn gaps(census: &mut Census, parts: &[(Shared<VecObj>, usize, usize)]) {
    let Some((array, ..)) = parts.first().filter(|(array, ..)| census.is_new(array)) else { return };
    let (items, end) = (&array.items, array.items.len());
    let mut at = 0;
    for (from, to) in parts.iter().map(|(_, from, to)| (*from, *to)).chain([(end, end)]) {
        let gap = items.get(at..from).unwrap_or_default();
        census.bytes += size_of_val(gap);
        census.all(gap);
        at = at.max(to);
    }
    census.meta(&array.meta);
}
