//! Sums of plain numbers: what the loop of a chain would do with them, without its instructions.
//!
//! A chain that adds up what a keyword finds in its items, and what such builtins make of it, begins with `Op::Skim`. It goes
//! on as long as there are small integers or floats for which nothing is out of the ordinary, and costs what the instructions
//! of the loop cost; the rest, from the first other item on, is the loop's. So it changes the time that a program takes and
//! nothing else.

use super::chain_part::ChainPart;
use super::registry;
use crate::heap::Heap;
use crate::names::Name;
use crate::signal::Res;
use crate::value::{Items, Value, prefetch};

/// Items between two looks at the meters.
const BLOCK: usize = 256;

/// What a builtin does with an integer.
#[derive(Clone, Copy)]
enum IntStep {
    Even,
    Odd,
    Positive,
    Negative,
    Zero,
    Add(i64),
}

impl IntStep {
    fn of(part: ChainPart) -> Option<IntStep> {
        Some(match part {
            ChainPart::Even => IntStep::Even,
            ChainPart::Odd => IntStep::Odd,
            ChainPart::Positive => IntStep::Positive,
            ChainPart::Negative => IntStep::Negative,
            ChainPart::Zero => IntStep::Zero,
            ChainPart::Inc => IntStep::Add(1),
            ChainPart::Dec => IntStep::Add(-1),
            _ => return None,
        })
    }
}

/// The step that the loop makes of a stage with a builtin; nothing where items are not skimmed.
pub(crate) fn is_skimmed(stage: ChainPart, function: ChainPart) -> bool {
    match IntStep::of(function) {
        Some(IntStep::Add(_)) => stage == ChainPart::Map,
        Some(_) => stage == ChainPart::Filter,
        None => false,
    }
}

/// Instructions of the loop: one takes an item, and three are a test: the argument, the call and the jump.
const TAKE: usize = 1;
const TEST: usize = 3;

/// Puts integers through a step, and says what that costs; nothing if one of them has no answer that is small, too.
fn through(step: IntStep, ints: &mut Vec<i64>) -> Option<usize> {
    let before = ints.len();
    match step {
        IntStep::Even => keep(ints, |int| int % 2 == 0),
        IntStep::Odd => keep(ints, |int| int % 2 != 0),
        IntStep::Positive => keep(ints, |int| int > 0),
        IntStep::Negative => keep(ints, |int| int < 0),
        IntStep::Zero => keep(ints, |int| int == 0),
        IntStep::Add(more) => {
            let mut fits = true;
            for int in ints.iter_mut() {
                let (sum, overflows) = int.overflowing_add(more);
                fits &= !overflows;
                *int = sum;
            }
            return fits.then_some(before);
        }
    }
    Some(TEST * before)
}

/// Keeps the integers for which a test holds.
#[inline]
fn keep(ints: &mut Vec<i64>, test: impl Fn(i64) -> bool) {
    let mut kept = 0;
    for at in 0..ints.len() {
        let int = ints[at];
        ints[kept] = int;
        kept += usize::from(test(int));
    }
    ints.truncate(kept);
}

/// Adds up what is left of a walk, as far as it goes. The plan is a vector of the functions, and how many instructions the
/// loop has for an item that comes through them.
#[inline(never)]
pub(crate) fn skim(heap: &mut Heap, sum: &mut Value, walk: &Value, plan: &Value) -> Res<()> {
    let (Value::Iter(walk), Value::Vec(plan)) = (walk, plan) else { return Ok(()) };
    let Some((Value::Int(price), functions)) = plan.items.split_last() else { return Ok(()) };
    let price = usize::try_from(*price).unwrap_or(0);
    let (key, builtins) = match functions {
        [Value::Kw(key), builtins @ ..] => (Some(*key), builtins),
        builtins => (None, builtins),
    };
    let walk = &mut walk.borrow_mut();
    if builtins.is_empty() && !matches!(**walk, Items::Range(_)) {
        return add_numbers(heap, sum, walk, key, price);
    }
    let step = |value: &Value| match value {
        Value::Builtin(id) => registry().get(*id).part().and_then(IntStep::of),
        _ => None,
    };
    match (key, builtins.iter().map(step).collect::<Option<Vec<IntStep>>>()) {
        (None, Some(steps)) => add_integers(heap, sum, walk, &steps, price),
        _ => Ok(()),
    }
}

/// Adds up small integers that go through some steps.
fn add_integers(
    heap: &mut Heap,
    sum: &mut Value,
    walk: &mut Items,
    steps: &[IntStep],
    price: usize,
) -> Res<()> {
    let Value::Int(so_far) = sum else { return Ok(()) };
    let mut ints = Vec::with_capacity(BLOCK);
    loop {
        ints.clear();
        fill(walk, &mut ints);
        let taken = ints.len();
        let mut cost = TAKE * taken;
        for step in steps {
            match through(*step, &mut ints) {
                Some(more) => cost += more,
                None => return Ok(()),
            }
        }
        let Some(next) = ints.iter().try_fold(*so_far, |sum, int| sum.checked_add(*int)) else {
            return Ok(());
        };
        *so_far = next;
        pass(walk, taken);
        heap.work(cost + price * ints.len())?;
        if taken < BLOCK {
            return Ok(());
        }
    }
}

/// Adds up the numbers in a vector, or those that its items have for a keyword.
fn add_numbers(
    heap: &mut Heap,
    sum: &mut Value,
    walk: &mut Items,
    key: Option<Name>,
    price: usize,
) -> Res<()> {
    let each = TAKE + usize::from(key.is_some()) + price;
    loop {
        let taken = add_block(sum, rest(walk), key);
        pass(walk, taken);
        heap.work(each * taken)?;
        if taken < BLOCK {
            return Ok(());
        }
    }
}

/// Adds up as many items as a block may have; how many it took.
fn add_block(sum: &mut Value, items: &[Value], key: Option<Name>) -> usize {
    let mut slot = 0;
    let mut taken = 0;
    let items = &items[..items.len().min(BLOCK)];
    for (at, item) in items.iter().enumerate() {
        items.get(at + prefetch::AHEAD).inspect(|item| prefetch::fetch(item));
        let number = match (key, item) {
            (None, item) => item,
            (Some(key), Value::Map(row)) => match row.field_near(key, &mut slot) {
                Some(value) => value,
                None => break,
            },
            _ => break,
        };
        *sum = match (&*sum, number) {
            (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
            (Value::Int(a), Value::Int(b)) => match a.checked_add(*b) {
                Some(sum) => Value::Int(sum),
                None => break,
            },
            _ => break,
        };
        taken += 1;
    }
    taken
}

/// The next items, as long as they are small integers.
fn fill(walk: &Items, ints: &mut Vec<i64>) {
    let items = match walk {
        Items::Range(range) => {
            let count = range.count.min(BLOCK as u64) as i64;
            ints.extend((0..count).map(|at| range.start.wrapping_add(range.step.wrapping_mul(at))));
            return;
        }
        walk => rest(walk),
    };
    let int = |item: &Value| if let Value::Int(int) = item { Some(*int) } else { None };
    ints.extend(items.iter().take(BLOCK).map_while(int));
}

/// The next items of a walk over a vector.
fn rest(walk: &Items) -> &[Value] {
    let items = match walk {
        Items::Slice(body, at) => body.items.get(*at..),
        Items::Part(body, at, end) => body.items.get(*at..*end),
        _ => None,
    };
    items.unwrap_or_default()
}

/// Leaves the next items behind.
fn pass(walk: &mut Items, count: usize) {
    match walk {
        Items::Range(range) => {
            range.start = range.start.wrapping_add(range.step.wrapping_mul(count as i64));
            range.count -= count as u64;
        }
        Items::Slice(_, at) | Items::Part(_, at, _) => *at += count,
        _ => {}
    }
}
