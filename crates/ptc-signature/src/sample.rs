//! Values made up from types: they fit by construction, for whoever needs inputs before there are any.

use serde_json::{Map, Value as Json, json};

use crate::types::{Bound, Literal, Number, Range, Record, Type};

/// A text that samples are made of.
const TEXT: &str = "example";

/// The longest text that is made up.
const LONGEST: i64 = 65_536;

/// A point in time that samples have.
const INSTANT: &str = "2024-01-15T10:30:00Z";

impl Type {
    /// A value that fits the type in every mode; nothing where none does, as of `:int[>1 <2]`. Types nest at most
    /// [`MAX_DEPTH`](crate::MAX_DEPTH) levels.
    pub fn sample(&self) -> Option<Json> {
        Some(match self {
            Type::Any => json!("value"),
            Type::Nil => Json::Null,
            Type::Bool => json!(true),
            Type::Keyword => json!("keyword"),
            Type::DateTime => json!(INSTANT),
            Type::Map => json!({}),
            Type::String(range) => json!(text(range)?),
            Type::Int(range) => json!(whole(range, 42)?),
            Type::Float(range) => json!(real(range)?),
            Type::Enum(literals) => literals.iter().find_map(literal)?,
            // Nothing is in them where nothing fits.
            Type::List(item) => item.sample().into_iter().collect(),
            Type::MapOf(map) => {
                let entry = key(&map.key).zip(map.value.sample());
                Json::Object(entry.into_iter().collect())
            }
            Type::Record(record) => record.sample()?,
            Type::Union(members) => members.iter().find_map(Type::sample)?,
            Type::Optional(inner) => inner.sample().unwrap_or(Json::Null),
        })
    }
}

impl Record {
    /// A map with a made-up value in each field; nothing where a field that must be there can have none.
    pub fn sample(&self) -> Option<Json> {
        let fields = self.fields.iter().map(|field| Some((field.name.clone(), field.ty.sample()?)));
        fields.collect::<Option<Map<_, _>>>().map(Json::Object)
    }
}

fn text(range: &Range) -> Option<String> {
    let length = whole(range, TEXT.len() as i64).filter(|length| (0..=LONGEST).contains(length))?;
    Some(TEXT.chars().chain(std::iter::repeat('x')).take(length as usize).collect())
}

/// A key of a map, which is text whatever its type.
fn key(ty: &Type) -> Option<String> {
    match ty {
        Type::String(range) => text(range),
        Type::Int(range) => whole(range, 1).map(|number| number.to_string()),
        Type::Enum(literals) => literals.first().map(|literal| match literal {
            Literal::String(text) => text.clone(),
            other => other.to_string(),
        }),
        Type::Union(members) => members.iter().find_map(key),
        _ => Some("key".to_owned()),
    }
}

fn literal(literal: &Literal) -> Option<Json> {
    match literal {
        Literal::String(text) => Some(json!(text)),
        Literal::Int(number) => i64::try_from(*number).ok().map(Json::from),
        Literal::Float(number) => number.is_finite().then(|| json!(number)),
        Literal::Bool(flag) => Some(json!(flag)),
    }
}

/// The wanted number, or the one at an end of the range.
fn whole(range: &Range, wanted: i64) -> Option<i64> {
    let end = |bound: Option<Bound>, step: i128| {
        let Bound { value, exclusive } = bound?;
        let inside = match value {
            Number::Int(number) if exclusive => number.checked_add(step)?,
            Number::Int(number) => number,
            Number::Float(number) if step > 0 => {
                number.ceil() as i128 + i128::from(exclusive && number.fract() == 0.0)
            }
            Number::Float(number) => number.floor() as i128 - i128::from(exclusive && number.fract() == 0.0),
        };
        i64::try_from(inside).ok()
    };
    let mut numbers = [Some(wanted), end(range.min, 1), end(range.max, -1)].into_iter().flatten();
    numbers.find(|number| range.contains(Number::Int((*number).into())))
}

fn real(range: &Range) -> Option<f64> {
    let end = |bound: Option<Bound>| bound.map(|bound| bound.value.as_f64());
    let (min, max) = (end(range.min), end(range.max));
    let middle = min.zip(max).map(|(min, max)| f64::midpoint(min, max));
    let beside = [min.map(|min| min + 1.0), max.map(|max| max - 1.0)];
    let mut numbers = [Some(2.5), middle, min, max].into_iter().chain(beside).flatten();
    numbers.find(|number| number.is_finite() && range.contains(Number::Float(*number)))
}
