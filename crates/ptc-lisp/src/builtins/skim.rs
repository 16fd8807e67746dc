//! Small integers through builtins: what the loop of a chain would do with them, without its instructions.
//!
//! A chain all of whose functions are such builtins begins with `Op::Skim`. It goes on as long as items are small
//! integers for which nothing is out of the ordinary, and costs what the instructions of the loop cost; the rest, from the
//! first other item on, is the loop's. So it changes the time that a program takes and nothing else.

use super::chain_part::ChainPart;
use super::registry;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Items, Value};

/// Items between two looks at the meters.
const BLOCK: usize = 1024;

/// What a builtin does with an integer.
#[derive(Clone, Copy)]
enum Step {
    Even,
    Odd,
    Positive,
    Negative,
    Zero,
    Add(i64),
}

impl Step {
    fn of(part: ChainPart) -> Option<Step> {
        Some(match part {
            ChainPart::Even => Step::Even,
            ChainPart::Odd => Step::Odd,
            ChainPart::Positive => Step::Positive,
            ChainPart::Negative => Step::Negative,
            ChainPart::Zero => Step::Zero,
            ChainPart::Inc => Step::Add(1),
            ChainPart::Dec => Step::Add(-1),
            _ => return None,
        })
    }
}

/// The step that the loop makes of a stage with a builtin; nothing where items are not skimmed.
pub(crate) fn is_skimmed(stage: ChainPart, function: ChainPart) -> bool {
    match Step::of(function) {
        Some(Step::Add(_)) => stage == ChainPart::Map,
        Some(_) => stage == ChainPart::Filter,
        None => false,
    }
}

/// What became of an item.
enum Through {
    /// It came out at the end.
    Came(i64),
    /// A test held it back, after so many instructions.
    Held(usize),
    /// It is not for this.
    Other,
}

/// Instructions that take an item, those of a test, and those that add an item up.
const TAKE: usize = 1;
const TEST: usize = 2;
const BACK: usize = 1;

fn through(steps: &[Step], item: i64) -> Through {
    let (mut item, mut cost) = (item, TAKE);
    for step in steps {
        let holds = match step {
            Step::Even => item % 2 == 0,
            Step::Odd => item % 2 != 0,
            Step::Positive => item > 0,
            Step::Negative => item < 0,
            Step::Zero => item == 0,
            Step::Add(more) => match item.checked_add(*more) {
                Some(sum) => {
                    item = sum;
                    cost += 1;
                    continue;
                }
                None => return Through::Other,
            },
        };
        cost += TEST;
        if !holds {
            return Through::Held(cost + BACK);
        }
    }
    Through::Came(item)
}

/// Adds up what is left of a walk, as far as it goes. The plan is a vector of the builtins, and how many instructions the
/// loop has for an item that comes through.
pub(crate) fn skim(heap: &mut Heap, sum: &mut Value, walk: &Value, plan: &Value) -> Res<()> {
    let (Value::Int(so_far), Value::Iter(walk), Value::Vec(plan)) = (&mut *sum, walk, plan) else { return Ok(()) };
    let Some((Value::Int(price), builtins)) = plan.items.split_last() else { return Ok(()) };
    let step = |value: &Value| match value {
        Value::Builtin(id) => registry().get(*id).part().and_then(Step::of),
        _ => None,
    };
    let Some(steps) = builtins.iter().map(step).collect::<Option<Vec<Step>>>() else { return Ok(()) };
    let price = usize::try_from(*price).unwrap_or(0);
    let mut walk = walk.borrow_mut();
    let (mut cost, mut count) = (0, 0);
    loop {
        let Some(item) = next_int(&walk) else { break };
        match through(&steps, item) {
            Through::Came(item) => match so_far.checked_add(item) {
                Some(next) => {
                    *so_far = next;
                    cost += price;
                }
                None => break,
            },
            Through::Held(instructions) => cost += instructions,
            Through::Other => break,
        }
        pass(&mut walk);
        count += 1;
        if count == BLOCK {
            heap.work(cost)?;
            (cost, count) = (0, 0);
        }
    }
    heap.work(cost)
}

/// The next item, if it is a small integer.
#[inline]
fn next_int(walk: &Items) -> Option<i64> {
    match walk {
        Items::Range(range) if range.count > 0 => Some(range.start),
        Items::Slice(body, at) => match body.items.get(*at) {
            Some(Value::Int(int)) => Some(*int),
            _ => None,
        },
        Items::Part(body, at, end) if at < end => match body.items.get(*at) {
            Some(Value::Int(int)) => Some(*int),
            _ => None,
        },
        _ => None,
    }
}

/// Leaves the next item behind.
#[inline]
fn pass(walk: &mut Items) {
    match walk {
        Items::Range(range) => {
            range.start = range.start.wrapping_add(range.step);
            range.count -= 1;
        }
        Items::Slice(_, at) | Items::Part(_, at, _) => *at += 1,
        _ => {}
    }
}
