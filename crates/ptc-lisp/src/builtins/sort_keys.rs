//! Sort keys as numbers: numbers, short strings and nil become integers in the same order, so a sort by
//! one, two or three of them compares machine words.

use super::sorting::KnownComparator;
use crate::value::Value;
use crate::value::text::{Short, Text};

/// Most columns that are compared as numbers.
const MOST_COLUMNS: usize = 3;

/// The positions of the rows in the order of their keys, column by column; rows with equal keys stay in
/// their order. `None` if a key is not of a kind that becomes a number.
pub(super) fn order(columns: &[Vec<Value>], known: KnownComparator) -> Option<Vec<u32>> {
    let encoded: Option<Vec<Vec<u128>>> = columns.iter().map(|column| encode(column, known)).collect();
    match encoded?.as_slice() {
        [a] => Some(sorted(a.iter().map(|a| [*a]))),
        [a, b] => Some(sorted(a.iter().zip(b).map(|(a, b)| [*a, *b]))),
        [a, b, c] => Some(sorted(a.iter().zip(b).zip(c).map(|((a, b), c)| [*a, *b, *c]))),
        _ => None,
    }
}

/// Keys that are vectors of one length, as columns.
pub(super) fn columns(keys: &[Value]) -> Option<Vec<Vec<Value>>> {
    let Some(Value::Vec(first)) = keys.first() else { return None };
    let width = first.items.len();
    if !(1..=MOST_COLUMNS).contains(&width) {
        return None;
    }
    let mut columns = vec![Vec::with_capacity(keys.len()); width];
    for key in keys {
        let Value::Vec(row) = key else { return None };
        if row.items.len() != width {
            return None;
        }
        for (column, value) in columns.iter_mut().zip(&row.items) {
            column.push(value.clone());
        }
    }
    Some(columns)
}

fn sorted<const N: usize>(keys: impl Iterator<Item = [u128; N]>) -> Vec<u32> {
    // The position decides between equal keys, which makes any sort a stable one.
    let mut rows: Vec<([u128; N], u32)> = keys.zip(0..).collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, at)| at).collect()
}

/// The keys of one column. Its first value that is not nil says of which kind all of them have to be.
fn encode(column: &[Value], known: KnownComparator) -> Option<Vec<u128>> {
    let short_text = |value: &Value| match value {
        Value::Str(Text::Short(text)) => text_key(text),
        _ => None,
    };
    let int = |value: &Value| match value {
        Value::Int(int) => Some(1 + u128::from(int.cast_unsigned() ^ SIGN)),
        _ => None,
    };
    let number = |value: &Value| match value {
        Value::Float(float) => float_key(*float),
        // Beyond 2^53 an integer may lie between two floats.
        Value::Int(int) if int.unsigned_abs() <= 1 << 53 => float_key(*int as f64),
        _ => None,
    };
    match column.iter().find(|value| !matches!(value, Value::Nil)) {
        Some(Value::Str(_)) if known == KnownComparator::Natural => keys(column, known, short_text),
        Some(Value::Int(_)) => keys(column, known, int).or_else(|| keys(column, known, number)),
        Some(Value::Float(_)) => keys(column, known, number),
        Some(_) => None,
        None => keys(column, known, |_| None),
    }
}

/// The keys of one column whose values have one by `key`; nil comes first where nil has a place.
fn keys(column: &[Value], known: KnownComparator, key: impl Fn(&Value) -> Option<u128>) -> Option<Vec<u128>> {
    let backwards = if known == KnownComparator::Greater { u128::MAX } else { 0 };
    let mut keys = Vec::with_capacity(column.len());
    for value in column {
        let key = match value {
            Value::Nil if known == KnownComparator::Natural => 0,
            value => key(value)?,
        };
        keys.push(key ^ backwards);
    }
    Some(keys)
}

const SIGN: u64 = 1 << 63;

/// NaN has no place in the order, and both zeros have the same.
fn float_key(float: f64) -> Option<u128> {
    if float.is_nan() {
        return None;
    }
    let bits = if float == 0.0 { 0 } else { float.to_bits() };
    Some(1 + u128::from(if bits & SIGN == 0 { bits ^ SIGN } else { !bits }))
}

/// Strings compare by UTF-16 units, which is the order of their bytes except for rare characters.
fn text_key(text: &Short) -> Option<u128> {
    /// The first bit of every byte: none is set in ASCII.
    const FIRST_BITS: u128 = u128::from_be_bytes([0x80; 16]);
    let (bytes, len) = text.parts();
    let mut key = [0; 16];
    key[1..15].copy_from_slice(bytes);
    key[15] = len;
    let key = u128::from_be_bytes(key);
    if key & FIRST_BITS != 0 && bytes.iter().any(|byte| *byte >= 0xEE) {
        return None;
    }
    Some((1 << 120) | key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use crate::value::order::compare;

    #[test]
    fn keys_have_the_order_of_their_values() {
        let numbers = [
            Value::Nil,
            Value::Float(f64::NEG_INFINITY),
            Value::Int(-(1 << 53)),
            Value::Float(-2.5),
            Value::Int(-2),
            Value::Float(-0.0),
            Value::Int(0),
            Value::Float(5e-324),
            Value::Int(7),
            Value::Float(7.0),
            Value::Float(f64::INFINITY),
        ];
        let ints = [i64::MIN, -1, 0, 1, i64::MAX].map(Value::Int);
        let texts = ["", "\0", "a", "a\0", "a\0b", "aa", "b", "fourteen bytes", "ž"].map(Value::str);
        for column in [&numbers[..], &ints, &texts] {
            let keys = encode(column, KnownComparator::Natural).expect("every value has a key");
            for (x, a) in column.iter().zip(&keys) {
                for (y, b) in column.iter().zip(&keys) {
                    let expected = compare(x, y, &Names::default()).expect("they have an order");
                    assert_eq!(a.cmp(b), expected, "{x:?} {y:?}");
                }
            }
        }
    }

    #[test]
    fn what_has_no_key_is_left_to_compare() {
        let columns = [
            vec![Value::Float(f64::NAN)],
            vec![Value::Int(1), Value::str("a")],
            vec![Value::Float(1.0), Value::Int(i64::MAX)],
            vec![Value::str("more than fourteen bytes")],
            vec![Value::str("\u{ffff}")],
            vec![Value::vector(vec![])],
        ];
        for column in columns {
            assert!(encode(&column, KnownComparator::Natural).is_none(), "{column:?}");
        }
        assert!(encode(&[Value::Nil], KnownComparator::Less).is_none());
        assert!(encode(&[Value::str("a")], KnownComparator::Greater).is_none());
    }

    #[test]
    fn a_float_behind_integers_and_nil_is_in_order_with_them() {
        let column = vec![Value::Int(3), Value::Nil, Value::Float(2.5), Value::Int(-1)];
        assert_eq!(order(&[column], KnownComparator::Natural), Some(vec![1, 3, 2, 0]));
        assert_eq!(order(&[vec![Value::Nil, Value::Nil]], KnownComparator::Natural), Some(vec![0, 1]));
    }

    #[test]
    fn equal_keys_keep_their_order_also_backwards() {
        let column = [2, 1, 2, 1].map(Value::Int).to_vec();
        assert_eq!(order(std::slice::from_ref(&column), KnownComparator::Natural), Some(vec![1, 3, 0, 2]));
        assert_eq!(order(&[column], KnownComparator::Greater), Some(vec![0, 2, 1, 3]));
    }
}
