//! `clojure.lang.PersistentQueue`: a sequence that grows at its end and shrinks at its front.
//!
//! It is a tail of an array like other sequences. With one owner both ends cost a constant: taking
//! moves the offset, adding appends, and now and then the dead front is cut off.

use std::rc::Rc;

use super::vectors::{BODY, take_from};
use super::{Builtin, args, constant};
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{SeqObj, Shape, Stamp, Value, VecObj, room};

pub(super) static TABLE: &[Builtin] = &[constant(
    "PersistentQueue/EMPTY",
    |_| queue(Vec::new()),
    "The empty queue: conj adds at the end, peek and pop take from the front.",
    &[
        ("(peek (conj clojure.lang.PersistentQueue/EMPTY 1 2))", "1"),
        ("(seq (pop (conj clojure.lang.PersistentQueue/EMPTY 1 2)))", "(2)"),
    ],
)];

/// A queue of items, the first at the front.
pub(super) fn queue(items: Vec<Value>) -> Value {
    let shape = Shape::of(&items);
    let items = Rc::new(VecObj { items, entry: false, shape, meta: None, stamp: Stamp::new() });
    Value::Seq(Rc::new(SeqObj {
        offset: 0,
        end: items.items.len(),
        items,
        list: false,
        queue: true,
        meta: None,
        stamp: Stamp::new(),
    }))
}

/// A queue without its first item; an empty one stays as it is.
pub(super) fn pop(heap: &mut Heap, args: &mut [Value]) -> Value {
    heap.allocated(BODY);
    match args::take(args, 0) {
        Value::Seq(mut body) => {
            let inner = Rc::make_mut(&mut body);
            inner.offset = (inner.offset + 1).min(inner.end);
            Value::Seq(body)
        }
        other => other,
    }
}

/// A queue with items at its end.
pub(super) fn conj(heap: &mut Heap, args: &mut [Value]) -> Res {
    let Value::Seq(body) = &args[0] else { return Ok(Value::Nil) };
    if Rc::strong_count(body) > 1 || Rc::strong_count(&body.items) > 1 {
        heap.work(body.as_slice().len())?;
        heap.reserve_values(body.as_slice().len())?;
    }
    heap.may_take(&body.items.items, args.len() - 1)?;
    heap.allocated(args.len() * 2 * size_of::<Value>());
    let Value::Seq(mut body) = args::take(args, 0) else { return Ok(Value::Nil) };
    let inner = Rc::make_mut(&mut body);
    let array = Rc::make_mut(&mut inner.items);
    if inner.offset > 16 && inner.offset * 2 > array.items.len() {
        array.items.drain(..inner.offset);
        room::release(&mut array.items);
        inner.offset = 0;
    }
    for item in take_from(args, 1) {
        array.shape.include(&item);
        array.items.push(item);
    }
    inner.end = array.items.len();
    Ok(Value::Seq(body))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, call, heap};
    use super::*;

    #[test]
    fn first_in_first_out() {
        let heap = &mut heap();
        let mut queue = queue(Vec::new());
        for n in 0..100 {
            queue = call(heap, "clojure.core/conj", [queue, Value::Int(n)]).map_err(|_| ()).expect("a queue");
            if n % 2 == 1 {
                assert_eq!(answer(heap, "clojure.core/peek", [queue.clone()]), (n / 2).to_string());
                queue = call(heap, "clojure.core/pop", [queue]).map_err(|_| ()).expect("a queue");
            }
        }
        assert_eq!(answer(heap, "clojure.core/count", [queue.clone()]), "50");
        assert_eq!(answer(heap, "clojure.core/first", [queue]), "50");
    }

    #[test]
    fn a_shared_queue_is_not_changed() {
        let heap = &mut heap();
        let queue = queue(vec![Value::Int(1)]);
        assert_eq!(answer(heap, "clojure.core/conj", [queue.clone(), Value::Int(2)]), "(1 2)");
        assert_eq!(answer(heap, "clojure.core/pop", [queue.clone()]), "()");
        assert_eq!(heap.show(&queue), "(1)");
    }
}
