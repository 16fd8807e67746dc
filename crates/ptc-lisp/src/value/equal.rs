//! Equality and hashing.
//!
//! `=` is loose about numbers: 1 equals 1.0, also inside vectors and map values. Keys of maps and
//! members of sets are matched strictly, so `{1 :a 1.0 :b}` has two entries.

use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

use foldhash::fast::FixedState;
use num_traits::ToPrimitive;

use super::{Items, MapObj, SortedObj, Value};

/// `=`: structural, numbers by value.
pub fn equals(a: &Value, b: &Value) -> bool {
    same(a, b, false)
}

/// Whether two values are the same key: structural, numbers by type and value.
#[inline]
pub fn same_key(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Kw(a), Value::Kw(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        _ => same(a, b, true),
    }
}

fn same(a: &Value, b: &Value, strict: bool) -> bool {
    match (a, b) {
        (Value::Nil, Value::Nil) | (Value::Unbound, Value::Unbound) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            !strict && int_equals_float(*int, *float)
        }
        (Value::Big(a), Value::Big(b)) => a == b,
        (Value::Big(big), Value::Float(float)) | (Value::Float(float), Value::Big(big)) => {
            !strict && big.to_f64() == Some(*float)
        }
        (Value::Kw(a), Value::Kw(b)) | (Value::Sym(a), Value::Sym(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a.as_bytes() == b.as_bytes(),
        (Value::Map(a), Value::Map(b)) => {
            Rc::ptr_eq(a, b) || (a.record == b.record && same_maps(a, b, strict))
        }
        (Value::Map(map), Value::Sorted(sorted)) | (Value::Sorted(sorted), Value::Map(map)) => {
            !sorted.is_set && map.record.is_none() && same_sorted_map(sorted, map, strict)
        }
        (Value::Set(a), Value::Set(b)) => {
            Rc::ptr_eq(a, b)
                || (a.table.len() == b.table.len() && a.table.keys().all(|key| b.table.contains(key)))
        }
        (Value::Set(set), Value::Sorted(sorted)) | (Value::Sorted(sorted), Value::Set(set)) => {
            sorted.is_set
                && set.table.len() == sorted.entries.len()
                && sorted.entries.iter().all(|(key, _)| set.table.contains(key))
        }
        (Value::Sorted(a), Value::Sorted(b)) => a.is_set == b.is_set && same_sorted(a, b, strict),
        (Value::Builtin(a), Value::Builtin(b)) => a == b,
        (Value::Tool(a), Value::Tool(b))
        | (Value::Var(a), Value::Var(b))
        | (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Fn(a), Value::Fn(b)) => Rc::ptr_eq(a, b),
        (Value::Cell(a), Value::Cell(b)) => Rc::ptr_eq(a, b),
        (Value::Ex(a), Value::Ex(b)) => Rc::ptr_eq(a, b),
        (Value::Regex(a), Value::Regex(b)) => a.source == b.source,
        (Value::Time(a), Value::Time(b)) => a == b,
        (Value::Reduced(a), Value::Reduced(b)) => same(a, b, strict),
        _ => a.is_sequential() && b.is_sequential() && same_items(a, b, strict),
    }
}

fn int_equals_float(int: i64, float: f64) -> bool {
    float == int as f64 && float.to_i128() == Some(i128::from(int))
}

fn same_maps(a: &MapObj, b: &MapObj, strict: bool) -> bool {
    a.table.len() == b.table.len()
        && a.table.iter().all(|(key, x)| b.table.get(key).is_some_and(|y| same(x, y, strict)))
}

fn same_sorted_map(sorted: &SortedObj, map: &MapObj, strict: bool) -> bool {
    sorted.entries.len() == map.table.len()
        && sorted.entries.iter().all(|(key, x)| map.table.get(key).is_some_and(|y| same(x, y, strict)))
}

fn same_sorted(a: &SortedObj, b: &SortedObj, strict: bool) -> bool {
    a.entries.len() == b.entries.len()
        && a.entries
            .iter()
            .all(|(key, x)| b.entries.iter().any(|(other, y)| same(key, other, true) && same(x, y, strict)))
}

/// Element by element. Lazy sequences inside must be realised; what is not counts as the end.
fn same_items(a: &Value, b: &Value, strict: bool) -> bool {
    if let (Value::Vec(a), Value::Vec(b)) = (a, b) {
        return Rc::ptr_eq(a, b)
            || (a.items.len() == b.items.len()
                && a.items.iter().zip(&b.items).all(|(x, y)| same(x, y, strict)));
    }
    let (Some(mut a), Some(mut b)) = (Items::over(a), Items::over(b)) else { return false };
    loop {
        match (a.next().ok().flatten(), b.next().ok().flatten()) {
            (None, None) => return true,
            (Some(x), Some(y)) if same(&x, &y, strict) => {}
            _ => return false,
        }
    }
}

impl Value {
    /// Whether it is an ordered collection: vector, list or other sequence.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_))
    }
}

/// Feeds a key to a hasher; keys that are [`same_key`] feed the same.
pub fn hash_key(key: &Value, state: &mut impl Hasher) {
    /// Elements of a sequence beyond this do not take part: equality decides in the end.
    const SEQUENCE_PART: usize = 64;
    match key {
        Value::Unbound | Value::Nil => state.write_u8(0),
        Value::Bool(value) => value.hash(state),
        Value::Int(value) => state.write_i64(*value),
        Value::Float(value) => state.write_u64(if *value == 0.0 { 0 } else { value.to_bits() }),
        Value::Kw(name) => state.write_u32(name.0),
        Value::Sym(name) => {
            state.write_u8(1);
            state.write_u32(name.0);
        }
        Value::Tool(name) | Value::Var(name) | Value::Type(name) => state.write_u32(name.0),
        Value::Str(text) => state.write(text.as_bytes()),
        Value::Big(value) => value.hash(state),
        Value::Builtin(id) => id.hash(state),
        Value::Map(body) => {
            let entries = body.table.iter().map(|(key, value)| entry_hash(key, value));
            state.write_u64(entries.fold(2, u64::wrapping_add));
        }
        Value::Sorted(body) if !body.is_set => {
            let entries = body.entries.iter().map(|(key, value)| entry_hash(key, value));
            state.write_u64(entries.fold(2, u64::wrapping_add));
        }
        Value::Set(body) => state.write_u64(body.table.keys().map(one_hash).fold(3, u64::wrapping_add)),
        Value::Sorted(body) => {
            let members = body.entries.iter().map(|(key, _)| one_hash(key));
            state.write_u64(members.fold(3, u64::wrapping_add));
        }
        Value::Regex(body) => body.source.hash(state),
        Value::Time(body) => body.hash(state),
        Value::Fn(body) => state.write_usize(Rc::as_ptr(body) as usize),
        Value::Cell(body) => state.write_usize(Rc::as_ptr(body) as usize),
        Value::Ex(body) => state.write_usize(Rc::as_ptr(body) as usize),
        Value::Reduced(body) => hash_key(body, state),
        Value::Iter(_) => {}
        Value::Vec(_) | Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => {
            state.write_u8(4);
            let Some(mut items) = Items::over(key) else { return };
            for _ in 0..SEQUENCE_PART {
                let Ok(Some(item)) = items.next() else { return };
                hash_key(&item, state);
            }
        }
    }
}

fn one_hash(key: &Value) -> u64 {
    let mut hasher = FixedState::with_seed(7).build_hasher();
    hash_key(key, &mut hasher);
    hasher.finish()
}

fn entry_hash(key: &Value, value: &Value) -> u64 {
    let mut hasher = FixedState::with_seed(11).build_hasher();
    hash_key(key, &mut hasher);
    hash_key(value, &mut hasher);
    hasher.finish()
}

/// A hash for programs (`hash`): the same in every process.
pub fn stable_hash(value: &Value) -> i64 {
    i64::from((one_hash(value) >> 16) as i32)
}
