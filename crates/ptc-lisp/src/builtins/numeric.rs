//! Arithmetic for natives that go over many numbers: the common kinds in place, the rest by `arith`.

use crate::arith;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Value, ledger};

/// An operation on two numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
}

impl Arith {
    /// The result; large numbers pay for the time they take.
    #[inline]
    pub(super) fn apply(self, heap: &mut Heap, a: &Value, b: &Value) -> Res {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => {
                let small = match self {
                    Arith::Add => a.checked_add(*b),
                    Arith::Sub => a.checked_sub(*b),
                    Arith::Mul => a.checked_mul(*b),
                };
                if let Some(int) = small {
                    return Ok(Value::Int(int));
                }
            }
            (Value::Float(a), Value::Float(b)) => {
                return Ok(Value::Float(match self {
                    Arith::Add => a + b,
                    Arith::Sub => a - b,
                    Arith::Mul => a * b,
                }));
            }
            _ => {}
        }
        heap.work(match self {
            Arith::Add | Arith::Sub => arith::sum_cost(a, b),
            Arith::Mul => arith::product_cost(a, b),
        })?;
        let value = match self {
            Arith::Add => arith::add(a, b)?,
            Arith::Sub => arith::sub(a, b)?,
            Arith::Mul => arith::mul(a, b)?,
        };
        pay(heap, &value)?;
        Ok(value)
    }
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

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compare {
    Less,
    LessEq,
}

impl Compare {
    /// Whether it holds.
    #[inline]
    pub(super) fn apply(self, a: &Value, b: &Value) -> Res<bool> {
        /// Integers up to this are floats without rounding.
        const EXACT: i64 = 1 << 53;
        let floats = match (a, b) {
            (Value::Int(a), Value::Int(b)) => {
                return Ok(match self {
                    Compare::Less => a < b,
                    Compare::LessEq => a <= b,
                });
            }
            (Value::Float(a), Value::Float(b)) => Some((*a, *b)),
            (Value::Float(a), Value::Int(b)) if (-EXACT..=EXACT).contains(b) => Some((*a, *b as f64)),
            (Value::Int(a), Value::Float(b)) if (-EXACT..=EXACT).contains(a) => Some((*a as f64, *b)),
            _ => None,
        };
        match (self, floats) {
            (Compare::Less, Some((a, b))) => Ok(a < b),
            (Compare::LessEq, Some((a, b))) => Ok(a <= b),
            (Compare::Less, None) => arith::less(a, b),
            (Compare::LessEq, None) => arith::less_eq(a, b),
        }
    }
}

/// What is there so far and all items added up. As long as they are of one kind, the sum is a machine word.
pub(super) fn sum<'i>(heap: &mut Heap, mut so_far: Value, mut items: impl Iterator<Item = &'i Value>) -> Res {
    loop {
        let other = match &mut so_far {
            Value::Int(sum) => {
                let mut small = *sum;
                let other = loop {
                    match items.next() {
                        Some(item @ Value::Int(int)) => match small.checked_add(*int) {
                            Some(next) => small = next,
                            None => break Some(item),
                        },
                        other => break other,
                    }
                };
                *sum = small;
                other
            }
            Value::Float(sum) => {
                let mut float = *sum;
                let other = loop {
                    match items.next() {
                        Some(Value::Float(item)) => float += item,
                        other => break other,
                    }
                };
                *sum = float;
                other
            }
            _ => items.next(),
        };
        let Some(item) = other else { return Ok(so_far) };
        so_far = Arith::Add.apply(heap, &so_far, item)?;
    }
}

/// The same for integers.
pub(super) fn sum_of_ints(heap: &mut Heap, mut so_far: Value, mut ints: impl Iterator<Item = i64>) -> Res {
    loop {
        let other = match &mut so_far {
            Value::Int(sum) => {
                let mut small = *sum;
                let other = loop {
                    match ints.next() {
                        Some(int) => match small.checked_add(int) {
                            Some(next) => small = next,
                            None => break Some(int),
                        },
                        None => break None,
                    }
                };
                *sum = small;
                other
            }
            _ => ints.next(),
        };
        let Some(int) = other else { return Ok(so_far) };
        so_far = Arith::Add.apply(heap, &so_far, &Value::Int(int))?;
    }
}
