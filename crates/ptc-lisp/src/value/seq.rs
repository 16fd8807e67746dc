//! The bodies of sequences: tails of arrays, cons cells, ranges and lazy sequences.

use std::cell::{Cell, RefCell};
use std::mem::take;
use std::rc::Rc;

use super::{Meta, Shape, Shared, Stamp, Value, VecObj};

/// A list or realised sequence: a part of a shared array. Taking the rest of it, or parts of it as `partition` does,
/// copies nothing.
#[derive(Clone, Debug)]
pub struct SeqObj {
    /// The array.
    pub items: Shared<VecObj>,
    /// Where the sequence begins in it.
    pub offset: usize,
    /// Where it ends.
    pub end: usize,
    /// Whether `list?` says so.
    pub list: bool,
    /// Whether it is a queue: `conj` adds at its end.
    pub queue: bool,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

/// How many bytes a sequence takes besides its array; a stamp is not counted.
pub const SEQ_BYTES: usize = 56;

impl SeqObj {
    /// A sequence over all of `items`.
    pub fn over(items: Vec<Value>, list: bool) -> Value {
        let items = super::room::fitted(items);
        let shape = Shape::of(&items);
        let items = Rc::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() });
        SeqObj::tail(items, 0, list)
    }

    /// The tail of an array from `offset` on.
    pub fn tail(items: Shared<VecObj>, offset: usize, list: bool) -> Value {
        let end = items.items.len();
        SeqObj::part(items, offset.min(end), end, list)
    }

    /// The part of an array from `offset` up to `end`, both inside of it.
    pub fn part(items: Shared<VecObj>, offset: usize, end: usize, list: bool) -> Value {
        Value::Seq(Rc::new(SeqObj {
            items,
            offset,
            end,
            list,
            queue: false,
            meta: None,
            stamp: Stamp::new(),
        }))
    }

    /// What is left of it behind its first `n` elements.
    pub fn without(&self, n: usize, list: bool) -> Value {
        SeqObj::part(self.items.clone(), self.offset.saturating_add(n).min(self.end), self.end, list)
    }

    /// The elements.
    pub fn as_slice(&self) -> &[Value] {
        self.items.items.get(self.offset..self.end).unwrap_or_default()
    }

    /// Whether it goes on to the end of its array.
    pub fn is_tail(&self) -> bool {
        self.end == self.items.items.len()
    }
}

/// What the realised parts of a sequence lead to.
#[derive(Debug)]
pub enum Spine {
    /// Something without lazy parts behind it.
    Ends(Value),
    /// A lazy sequence that is not realised.
    Unrealised,
    /// A part that was met before, so that the sequence never ends.
    Circular,
}

/// Follows the realised parts of a sequence, and says how many steps it took: a few times as many as there are parts before
/// they repeat (Brent's algorithm).
pub fn spine(value: &Value) -> (Spine, usize) {
    let (mut here, mut steps) = (value.clone(), 0_usize);
    let (mut remembered, mut until) = (std::ptr::null(), 1_usize);
    loop {
        steps += 1;
        here = match &here {
            Value::Cons(body) if body.shape.lazy => body.rest.clone(),
            Value::Lazy(body) => {
                // Only a lazy sequence can lead back.
                let address = Rc::as_ptr(body);
                if address == remembered {
                    return (Spine::Circular, steps);
                }
                if steps >= until {
                    (remembered, until) = (address, 2 * steps);
                }
                match body.realised() {
                    Some(realised) => realised,
                    None => return (Spine::Unrealised, steps),
                }
            }
            _ => return (Spine::Ends(here), steps),
        };
    }
}

/// An element before another sequence. The rest is nil or any sequence; its length does not count
/// as nesting, so walks go along it in a loop.
#[derive(Debug)]
pub struct ConsObj {
    /// The element.
    pub first: Value,
    /// What follows.
    pub rest: Value,
    /// Whether `list?` says so.
    pub list: bool,
    /// See [`Shape`].
    pub shape: Shape,
    /// Metadata.
    pub meta: Meta,
    /// Whose it is.
    pub stamp: Stamp,
}

impl ConsObj {
    /// `first` before `rest`, which must be nil or a sequence.
    pub fn cell(first: Value, rest: Value, list: bool) -> Value {
        let mut shape = rest.shape();
        shape.depth = shape.depth.max(1);
        shape.include(&first);
        Value::Cons(Rc::new(ConsObj { first, rest, list, shape, meta: None, stamp: Stamp::new() }))
    }

    /// A shallow copy.
    pub fn copy(&self) -> ConsObj {
        ConsObj {
            first: self.first.clone(),
            rest: self.rest.clone(),
            list: self.list,
            shape: self.shape,
            meta: self.meta.clone(),
            stamp: Stamp::new(),
        }
    }
}

/// `count` integers from `start` at distance `step`.
#[derive(Clone, Debug)]
pub struct RangeObj {
    /// The first.
    pub start: i64,
    /// The distance, not zero.
    pub step: i64,
    /// How many; at least one.
    pub count: u64,
}

impl RangeObj {
    /// The integer at `index`.
    pub fn at(&self, index: u64) -> i64 {
        // The constructor saw to it that the last element fits, so every element does.
        self.start.wrapping_add((index as i64).wrapping_mul(self.step))
    }

    /// A range as a value; the empty one is the empty list.
    pub fn value(start: i64, step: i64, count: u64) -> Value {
        if count == 0 {
            return Value::seq(Vec::new());
        }
        Value::Range(Rc::new(RangeObj { start, step, count }))
    }
}

/// A lazy sequence: a thunk until somebody looks, then what the thunk gave.
#[derive(Debug)]
pub struct LazyObj {
    /// Where it stands.
    pub state: RefCell<LazyState>,
    /// Whose it is.
    pub stamp: Stamp,
}

/// Where a lazy sequence stands.
#[derive(Debug, Default)]
pub enum LazyState {
    /// A function without parameters that gives the sequence.
    Thunk(Value),
    /// The thunk is running; looking now is an endless recursion.
    #[default]
    Running,
    /// The realised front: nil, or a sequence that is not itself lazy.
    Done(Value),
}

impl LazyObj {
    /// How many bytes one takes; a stamp is not counted.
    pub const BYTES: usize = size_of::<RefCell<LazyState>>();

    /// What it realised to, if it did.
    pub fn realised(&self) -> Option<Value> {
        match &*self.state.borrow() {
            LazyState::Done(value) => Some(value.clone()),
            _ => None,
        }
    }

    /// See [`Shape`]; an unrealised sequence counts as lazy.
    pub fn shape(&self) -> Shape {
        match &*self.state.borrow() {
            LazyState::Done(value) => {
                let shape = value.shape();
                Shape { depth: shape.depth.max(1), lazy: shape.lazy }
            }
            _ => Shape { depth: 1, lazy: true },
        }
    }
}

impl Drop for ConsObj {
    /// Goes along the tail in a loop: a list of a million cells must not recurse a million deep.
    fn drop(&mut self) {
        let mut tail = take(&mut self.rest);
        loop {
            tail = match &mut tail {
                Value::Cons(next) => match Rc::get_mut(next) {
                    Some(next) => take(&mut next.rest),
                    None => break,
                },
                Value::Lazy(next) => match Rc::get_mut(next) {
                    Some(next) => match take(next.state.get_mut()) {
                        LazyState::Done(value) => value,
                        LazyState::Thunk(thunk) => {
                            drop_later(thunk);
                            break;
                        }
                        LazyState::Running => break,
                    },
                    None => break,
                },
                _ => break,
            };
        }
    }
}

impl Drop for LazyObj {
    fn drop(&mut self) {
        match take(self.state.get_mut()) {
            LazyState::Thunk(value) | LazyState::Done(value) => drop_later(value),
            LazyState::Running => {}
        }
    }
}

thread_local! {
    static DROP_DEPTH: Cell<u32> = const { Cell::new(0) };
    static DROP_QUEUE: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// Drops a value that hangs behind a lazy sequence or a mutable cell. Depth is not bounded there, so
/// beyond a few levels the value waits in a queue that the outermost drop empties.
pub fn drop_later(value: Value) {
    const NATIVE_LEVELS: u32 = 32;
    if value.is_scalar() {
        return;
    }
    let depth = DROP_DEPTH.get();
    if depth >= NATIVE_LEVELS {
        DROP_QUEUE.with_borrow_mut(|queue| queue.push(value));
        return;
    }
    DROP_DEPTH.set(depth + 1);
    drop(value);
    if depth == 0 {
        while let Some(value) = DROP_QUEUE.with_borrow_mut(Vec::pop) {
            drop(value);
        }
    }
    DROP_DEPTH.set(depth);
}

impl Drop for super::CellState {
    fn drop(&mut self) {
        drop_later(take(&mut self.value));
    }
}
