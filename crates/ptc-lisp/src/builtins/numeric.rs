//! Arithmetic for natives that go over many numbers: the common kinds in place, the rest by `arith`.

use super::known::Walk;
use crate::arith;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::Value;

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
        if let Value::Big(_) = value {
            heap.allocated(64 + arith::words(&value) * size_of::<u64>());
        }
        Ok(value)
    }
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

/// The sum of the items from the one at `from` on, added to `init`.
pub(super) fn sum(heap: &mut Heap, init: Value, walk: &Walk, from: usize) -> Res {
    let (mut so_far, mut at) = (init, from);
    if let Value::Int(int) = so_far {
        let (int, next) = sum_of_ints(int, walk, at);
        (so_far, at) = (Value::Int(int), next);
    }
    walk.each(at, |item| {
        match (&mut so_far, item) {
            (Value::Float(sum), Value::Float(float)) => *sum += *float,
            _ => so_far = Arith::Add.apply(heap, &so_far, item)?,
        }
        Ok(true)
    })?;
    Ok(so_far)
}

/// The sum as long as all of it is small, and the place of the first item that is not in it.
fn sum_of_ints(mut sum: i64, walk: &Walk, mut at: usize) -> (i64, usize) {
    match walk {
        Walk::Range(range) => {
            while (at as u64) < range.count
                && let Some(next) = sum.checked_add(range.at(at as u64))
            {
                (sum, at) = (next, at + 1);
            }
        }
        Walk::Items(items) => {
            while let Some(Value::Int(int)) = items.get(at)
                && let Some(next) = sum.checked_add(*int)
            {
                (sum, at) = (next, at + 1);
            }
        }
    }
    (sum, at)
}
