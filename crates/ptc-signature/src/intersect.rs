//! What two types have in common: the meaning of Malli's `:and` and of JSON Schema's `allOf`.
//!
//! What unions have in common is what each member of one has with each member of the other, so a few lines can ask for
//! more types than there is memory. A [`Room`] bounds what is made.

use std::collections::BTreeMap;

use crate::types::{Bound, Field, Literal, Number, Range, Record, Type};

/// How many alternatives two unions may have together.
const CROSSED: usize = 1_000;
/// How many types may be made from all that is read in one go.
const ROOM: usize = 300_000;

/// How many types may still be made.
#[derive(Debug)]
pub(crate) struct Room(usize);

/// What two types have in common would be too large.
#[derive(Debug, PartialEq)]
pub(crate) struct TooLarge;

impl Default for Room {
    fn default() -> Room {
        Room(ROOM)
    }
}

impl Room {
    /// Takes room for so many types. Where it was too small once, there is none any more, so that trying costs nothing.
    fn take(&mut self, types: usize) -> Result<(), TooLarge> {
        let left = self.0.checked_sub(types);
        self.0 = left.unwrap_or(0);
        left.map(drop).ok_or(TooLarge)
    }

    fn copy(&mut self, ty: &Type) -> Result<Option<Type>, TooLarge> {
        self.take(size(ty))?;
        Ok(Some(ty.clone()))
    }
}

/// The values both types accept, or `None` where there are none.
///
/// Where no type says it exactly, the answer accepts a little more, never less.
pub(crate) fn intersect(a: &Type, b: &Type, room: &mut Room) -> Result<Option<Type>, TooLarge> {
    room.take(1)?;
    Ok(match (a, b) {
        (a, b) if a == b => room.copy(a)?,
        (Type::Any, other) | (other, Type::Any) => room.copy(other)?,
        (Type::Optional(a), Type::Optional(b)) => intersect(a, b, room)?.map(Type::optional),
        (Type::Optional(inner), other) | (other, Type::Optional(inner)) => intersect(inner, other, room)?,
        (Type::Union(members), other) | (other, Type::Union(members)) => crossed(members, other, room)?,
        (Type::Enum(literals), other) | (other, Type::Enum(literals)) => {
            room.take(literals.len())?;
            let kept: Vec<Literal> = literals.iter().filter(|l| literal_fits(l, other)).cloned().collect();
            if kept.is_empty() { None } else { Some(Type::Enum(kept)) }
        }
        (Type::Int(r), Type::Int(s) | Type::Float(s)) | (Type::Float(s), Type::Int(r)) => {
            whole(*s).and_then(|s| common(r.intersect(s))).map(Type::Int)
        }
        (Type::Float(r), Type::Float(s)) => common(r.intersect(*s)).map(Type::Float),
        (Type::String(r), Type::String(s)) => common(r.intersect(*s)).map(Type::String),
        (list @ Type::List(a), Type::List(b)) => match intersect(a, b, room)? {
            Some(item) => Some(Type::list(item)),
            None => room.copy(list)?,
        },
        (Type::Keyword, Type::String(_)) | (Type::String(_), Type::Keyword) => Some(Type::Keyword),
        (record @ Type::Record(_), Type::MapOf(_)) | (Type::MapOf(_), record @ Type::Record(_)) => {
            room.copy(record)?
        }
        (map @ Type::MapOf(_), Type::MapOf(_)) => room.copy(map)?,
        (Type::Map, map @ (Type::Record(_) | Type::MapOf(_))) => room.copy(map)?,
        (map @ (Type::Record(_) | Type::MapOf(_)), Type::Map) => room.copy(map)?,
        (Type::Record(a), Type::Record(b)) => Some(Type::Record(merge(a, b, room)?)),
        _ => None,
    })
}

/// What any member of a union and another type have in common.
fn crossed(members: &[Type], other: &Type, room: &mut Room) -> Result<Option<Type>, TooLarge> {
    if let Type::Union(others) = other
        && members.len().saturating_mul(others.len()) > CROSSED
    {
        return Err(TooLarge);
    }
    let mut common = Vec::new();
    for member in members {
        common.extend(intersect(member, other, room)?);
    }
    Ok(if common.is_empty() { None } else { Some(Type::union(common)) })
}

fn common(range: Range) -> Option<Range> {
    if range.is_empty() { None } else { Some(range) }
}

/// How many types a type is made of, itself included.
fn size(ty: &Type) -> usize {
    1 + match ty {
        Type::List(inner) | Type::Optional(inner) => size(inner),
        Type::Record(record) => fields_size(&record.fields),
        Type::MapOf(map) => size(&map.key) + size(&map.value),
        Type::Union(members) => members.iter().map(size).sum(),
        Type::Enum(literals) => literals.len(),
        _ => 0,
    }
}

fn fields_size(fields: &[Field]) -> usize {
    fields.iter().map(|field| size(&field.ty)).sum()
}

/// All fields of both. Fields that cannot be combined keep the first type. The outcome is open unless both are
/// closed, since each side would otherwise forbid what the other declares.
fn merge(a: &Record, b: &Record, room: &mut Room) -> Result<Record, TooLarge> {
    room.take(fields_size(&a.fields))?;
    let mut fields = a.fields.clone();
    // Of fields with one name, the first counts.
    let places: BTreeMap<&str, usize> =
        a.fields.iter().enumerate().rev().map(|(place, field)| (field.name.as_str(), place)).collect();
    for field in &b.fields {
        match places.get(field.name.as_str()) {
            None => {
                room.take(size(&field.ty))?;
                fields.push(field.clone());
            }
            Some(&place) => {
                let known = &mut fields[place];
                if let Some(ty) = intersect(&known.ty, &field.ty, room)? {
                    known.ty = ty;
                }
                known.description = known.description.take().or_else(|| field.description.clone());
            }
        }
    }
    Ok(Record { fields, closed: a.closed && b.closed })
}

fn literal_fits(literal: &Literal, ty: &Type) -> bool {
    match (ty, literal) {
        (Type::Any, _) | (Type::Bool, Literal::Bool(_)) | (Type::Keyword, Literal::String(_)) => true,
        (Type::String(range), Literal::String(text)) => {
            range.contains(Number::Int(text.chars().count() as i128))
        }
        (Type::Int(range) | Type::Float(range), Literal::Int(i)) => range.contains(Number::Int(*i)),
        (Type::Float(range), Literal::Float(f)) => range.contains(Number::Float(*f)),
        (Type::Enum(others), literal) => others.contains(literal),
        _ => false,
    }
}

/// The same range with whole limits, as an int needs it; `None` if a limit lies outside all ints.
pub(crate) fn whole(range: Range) -> Option<Range> {
    let limit = |bound: Bound, round: fn(f64) -> f64| match bound.value {
        Number::Int(_) => Some(bound),
        Number::Float(f) => {
            let rounded = round(f);
            let exclusive = bound.exclusive && rounded == f;
            let value = (rounded.abs() < 1e38).then_some(Number::Int(rounded as i128))?;
            Some(Bound { value, exclusive })
        }
    };
    let min = range.min.map(|bound| limit(bound, f64::ceil));
    let max = range.max.map(|bound| limit(bound, f64::floor));
    if min == Some(None) || max == Some(None) {
        return None;
    }
    Some(Range { min: min.flatten(), max: max.flatten() })
}
