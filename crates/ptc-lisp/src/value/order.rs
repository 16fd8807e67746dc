//! `compare`: the order of values that have one.

use std::cmp::Ordering;
use std::rc::Rc;

use num_bigint::BigInt;
use num_traits::FromPrimitive;

use super::meter::noted;
use super::text::Text;
use super::{Meter, Value, ledger};
use crate::error::{Error, ErrorKind};
use crate::exact::Exact;
use crate::names::{Name, Names};

/// Compares two values: nil first, then false before true, numbers by value, strings by UTF-16 unit
/// as Java does, keywords and symbols by namespace and name, a keyword and a string by their texts, vectors
/// by length and then elements, dates by time. Other pairs have no order.
pub fn compare(a: &Value, b: &Value, names: &Names) -> Result<Ordering, Error> {
    noted(|meter| compare_within(a, b, names, meter)).unwrap_or(Ok(Ordering::Equal))
}

/// [`compare`] as far as the meter goes; the answer means nothing once the meter is used up.
pub fn compare_within(a: &Value, b: &Value, names: &Names, meter: &mut Meter) -> Result<Ordering, Error> {
    if !meter.step(1) {
        return Ok(Ordering::Equal);
    }
    Ok(match (a, b) {
        (Value::Nil, Value::Nil) => Ordering::Equal,
        (Value::Nil, _) => Ordering::Less,
        (_, Value::Nil) => Ordering::Greater,
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => {
            meter.step(a.byte_len().min(b.byte_len()) / 8);
            compare_text(a.as_bytes(), b.as_bytes())
        }
        (Value::Kw(a), Value::Kw(b)) | (Value::Sym(a), Value::Sym(b)) => compare_names(*a, *b, names),
        (Value::Kw(name), Value::Str(text)) => keyword_with_text(*name, text, names, meter),
        (Value::Str(text), Value::Kw(name)) => keyword_with_text(*name, text, names, meter).reverse(),
        (Value::Var(a), Value::Var(b)) | (Value::Type(a), Value::Type(b)) => compare_names(*a, *b, names),
        (Value::Vec(x), Value::Vec(y)) => {
            let pair = meter.pair(a, b, false);
            if Rc::ptr_eq(x, y) || pair.is_some_and(|pair| meter.is_known(pair)) {
                return Ok(Ordering::Equal);
            }
            let order = match meter.enter() {
                true => compare_vectors(&x.items, &y.items, names, meter),
                false => Ok(Ordering::Equal),
            };
            meter.leave();
            let order = order?;
            if let Some(pair) = pair
                && order.is_eq()
            {
                meter.remember(pair);
            }
            order
        }
        (Value::Decimal(x), Value::Decimal(y)) => {
            meter.step(x.words().max(y.words()) / 4);
            x.compare(y)
        }
        (Value::Big(x), Value::Big(y)) => {
            meter.step(words(x).min(words(y)) / 4);
            x.cmp(y)
        }
        (Value::Time(x), Value::Time(y)) => x.compare(y).ok_or_else(|| incomparable(a, b))?,
        _ => compare_numbers(a, b).ok_or_else(|| incomparable(a, b))?,
    })
}

fn compare_vectors(a: &[Value], b: &[Value], names: &Names, meter: &mut Meter) -> Result<Ordering, Error> {
    if a.len() != b.len() {
        return Ok(a.len().cmp(&b.len()));
    }
    for (x, y) in a.iter().zip(b) {
        let order = compare_within(x, y, names, meter)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}

/// The words of a large integer.
pub(super) fn words(int: &BigInt) -> usize {
    usize::try_from(int.bits() / 64).unwrap_or(usize::MAX)
}

/// Compares two numbers; `None` if one is not a number or is NaN.
pub fn compare_numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => int_with_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => int_with_float(*b, *a).map(Ordering::reverse),
        (Value::Big(a), Value::Big(b)) => Some(a.cmp(b)),
        (Value::Big(a), Value::Int(b)) => Some((**a).cmp(&BigInt::from(*b))),
        (Value::Int(_), Value::Big(_)) => compare_numbers(b, a).map(Ordering::reverse),
        (Value::Big(a), Value::Float(b)) => big_with_float(a, *b),
        (Value::Float(a), Value::Big(b)) => big_with_float(b, *a).map(Ordering::reverse),
        (Value::Decimal(a), _) => exact_with(a, b),
        (_, Value::Decimal(b)) => exact_with(b, a).map(Ordering::reverse),
        _ => None,
    }
}

/// Compares two numbers as `<` and `==` do: a ratio beside a float counts as the nearest float, which makes `(== 1/3 (/ 1 3))`
/// true. Sorting needs an order in which two different ratios are not both equal to a third number.
pub fn compare_as_floats(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Decimal(exact), Value::Float(float)) if exact.ratio().is_some() => {
            exact.to_f64().partial_cmp(float)
        }
        (Value::Float(float), Value::Decimal(exact)) if exact.ratio().is_some() => {
            float.partial_cmp(&exact.to_f64())
        }
        _ => compare_numbers(a, b),
    }
}

#[cold]
fn exact_with(exact: &Exact, other: &Value) -> Option<Ordering> {
    match other {
        Value::Decimal(other) => Some(exact.compare(other)),
        Value::Int(int) => Some(exact.compare_int(&BigInt::from(*int))),
        Value::Big(int) => Some(exact.compare_int(int)),
        Value::Float(float) => exact.compare_float(*float),
        _ => None,
    }
}

/// Beyond 2^53 the float is the coarser of the two, so the comparison is made among integers.
fn int_with_float(int: i64, float: f64) -> Option<Ordering> {
    const EXACT: i64 = 1 << 53;
    if (-EXACT..=EXACT).contains(&int) || !float.is_finite() {
        return (int as f64).partial_cmp(&float);
    }
    let whole = float.trunc();
    let order = i128::from(int).cmp(&(whole as i128));
    Some(order.then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)))
}

/// Exact, so that the order of numbers has no gaps: a float near a big integer is some integer itself.
pub(super) fn big_with_float(big: &BigInt, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    Some(match BigInt::from_f64(float) {
        Some(whole) => big.cmp(&whole),
        None if float > 0.0 => Ordering::Less,
        None => Ordering::Greater,
    })
}

/// Bytes of UTF-8 have the order of UTF-16 units, but for U+E000 to U+FFFF, which come behind the planes above.
fn compare_text(a: &[u8], b: &[u8]) -> Ordering {
    const PRIVATE: u8 = 0xEE;
    const ABOVE: u8 = 0xF0;
    // Equal blocks are passed as such; to look at each byte would take twenty times as long.
    const BLOCK: usize = 256;
    let order = a.cmp(b);
    if order.is_eq() {
        return order;
    }
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let same = blocks.take_while(|(a, b)| a == b).count() * BLOCK;
    match a[same..].iter().zip(&b[same..]).find(|(x, y)| x != y) {
        Some((&x, &y)) if x.min(y) >= PRIVATE && (x < ABOVE) != (y < ABOVE) => order.reverse(),
        _ => order,
    }
}

/// Names without a namespace come first, as in Clojure.
pub fn compare_names(a: Name, b: Name, names: &Names) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    ledger::note((names.text(a).len().min(names.text(b).len()) / 16) as u64);
    let ((a_space, a), (b_space, b)) = (names.parts(a), names.parts(b));
    let spaces = match (a_space, b_space) {
        (Some(a), Some(b)) => compare_text(a.as_bytes(), b.as_bytes()),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    spaces.then_with(|| compare_text(a.as_bytes(), b.as_bytes()))
}

/// A keyword and a string, as keys of one JSON object may be: a string has the place of a keyword of its text, and comes
/// behind that keyword.
fn keyword_with_text(name: Name, text: &Text, names: &Names, meter: &mut Meter) -> Ordering {
    match names.parts(name) {
        (Some(_), _) => Ordering::Greater,
        (None, name) => {
            meter.step(text.byte_len().min(name.len()) / 8);
            compare_text(name.as_bytes(), text.as_bytes()).then(Ordering::Less)
        }
    }
}

fn incomparable(a: &Value, b: &Value) -> Error {
    let nan = |value: &Value| matches!(value, Value::Float(float) if float.is_nan());
    let describe = |value: &Value| if nan(value) { "NaN" } else { value.type_name() };
    let rows = matches!((a, b), (Value::Map(_), Value::Map(_)));
    let hint = match rows {
        true => "maps have no order: write (sort-by :key rows), or compare what stands under a key",
        false => "compare values of one type: numbers, strings, keywords, vectors or dates",
    };
    Error::new(ErrorKind::Type, format!("cannot compare {} with {}", describe(a), describe(b))).hint(hint)
}
