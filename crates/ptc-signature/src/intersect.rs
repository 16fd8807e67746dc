//! What two types have in common: the meaning of Malli's `:and` and of JSON Schema's `allOf`.

use crate::types::{Bound, Field, Literal, Number, Range, Record, Type};

/// The values both types accept, or `None` where there are none.
///
/// Where no type says it exactly, the answer accepts a little more, never less.
pub(crate) fn intersect(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (Type::Any, other) | (other, Type::Any) => Some(other.clone()),
        (Type::Optional(a), Type::Optional(b)) => intersect(a, b).map(Type::optional),
        (Type::Optional(inner), other) | (other, Type::Optional(inner)) => intersect(inner, other),
        (Type::Union(members), other) | (other, Type::Union(members)) => {
            let common: Vec<Type> = members.iter().filter_map(|m| intersect(m, other)).collect();
            if common.is_empty() { None } else { Some(Type::union(common)) }
        }
        (Type::Enum(literals), other) | (other, Type::Enum(literals)) => {
            let kept: Vec<Literal> = literals.iter().filter(|l| literal_fits(l, other)).cloned().collect();
            if kept.is_empty() { None } else { Some(Type::Enum(kept)) }
        }
        (Type::Int(r), Type::Int(s) | Type::Float(s)) | (Type::Float(s), Type::Int(r)) => {
            common(r.intersect(whole(*s)?)).map(Type::Int)
        }
        (Type::Float(r), Type::Float(s)) => common(r.intersect(*s)).map(Type::Float),
        (Type::String(r), Type::String(s)) => common(r.intersect(*s)).map(Type::String),
        (Type::List(a), Type::List(b)) => {
            Some(intersect(a, b).map_or_else(|| Type::List(a.clone()), Type::list))
        }
        (Type::Keyword, Type::String(_)) | (Type::String(_), Type::Keyword) => Some(Type::Keyword),
        (record @ Type::Record(_), Type::MapOf(_)) | (Type::MapOf(_), record @ Type::Record(_)) => {
            Some(record.clone())
        }
        (map @ Type::MapOf(_), Type::MapOf(_)) => Some(map.clone()),
        (Type::Map, map @ (Type::Record(_) | Type::MapOf(_))) => Some(map.clone()),
        (map @ (Type::Record(_) | Type::MapOf(_)), Type::Map) => Some(map.clone()),
        (Type::Record(a), Type::Record(b)) => Some(Type::Record(merge(a, b))),
        _ => None,
    }
}

fn common(range: Range) -> Option<Range> {
    if range.is_empty() { None } else { Some(range) }
}

/// All fields of both. Fields that cannot be combined keep the first type. The outcome is open unless both are
/// closed, since each side would otherwise forbid what the other declares.
fn merge(a: &Record, b: &Record) -> Record {
    let mut fields = a.fields.clone();
    for field in &b.fields {
        match fields.iter_mut().find(|known| known.name == field.name) {
            None => fields.push(field.clone()),
            Some(known) => {
                let ty = intersect(&known.ty, &field.ty).unwrap_or_else(|| known.ty.clone());
                let description = known.description.take().or_else(|| field.description.clone());
                *known = Field { name: known.name.clone(), ty, description };
            }
        }
    }
    Record { fields, closed: a.closed && b.closed }
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
