//! Arithmetic for natives that go over many numbers: the common kinds in place, the rest by `arith`.

use crate::arith;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Value, ledger};

/// The sum of two numbers; large ones pay for the time they take.
#[inline]
pub(super) fn add(heap: &mut Heap, a: &Value, b: &Value) -> Res {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => {
            if let Some(int) = a.checked_add(*b) {
                return Ok(Value::Int(int));
            }
        }
        (Value::Float(a), Value::Float(b)) => return Ok(Value::Float(a + b)),
        _ => {}
    }
    heap.work(arith::sum_cost(a, b))?;
    let value = arith::add(a, b)?;
    pay(heap, &value)?;
    Ok(value)
}

/// Pays for the memory of a large number, and for bringing decimals to one scale.
#[inline]
pub(super) fn pay(heap: &mut Heap, value: &Value) -> Res<()> {
    if value.is_plain() { Ok(()) } else { pay_large(heap, value) }
}

/// A number that a native made in one go. A large one pays for its memory and as much fuel as it has words.
pub(super) fn counted(heap: &mut Heap, number: Value) -> Res {
    heap.work(arith::words(&number))?;
    pay(heap, &number)?;
    Ok(number)
}

#[cold]
fn pay_large(heap: &mut Heap, value: &Value) -> Res<()> {
    heap.allocated(64 + arith::words(value) * size_of::<u64>());
    heap.work(usize::try_from(ledger::take()).unwrap_or(usize::MAX))
}
