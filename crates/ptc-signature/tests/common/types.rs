//! Arbitrary types, and values made to fit them.
#![allow(dead_code)]

use proptest::prelude::*;
use ptc_signature::{Bound, Build, Field, Literal, Number, Range, Record, Signature, Type, keys};

use super::json_schema::Dice;

/// Names of fields: plain, hyphenated, firewalled and odd ones.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9_-]{0,6}",
        1 => "_[a-z]{1,5}",
        1 => any::<String>(),
    ]
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        4 => "[a-z][a-z0-9-]{0,8}".prop_map(Literal::String),
        1 => any::<String>().prop_map(Literal::String),
        1 => Just(Literal::String("true".into())),
        2 => any::<i64>().prop_map(|i| Literal::Int(i.into())),
        1 => (-1e6..1e6f64).prop_map(Literal::Float),
        1 => any::<bool>().prop_map(Literal::Bool),
    ]
}

fn bound(value: impl Strategy<Value = Number>) -> impl Strategy<Value = Option<Bound>> {
    proptest::option::of((value, any::<bool>()).prop_map(|(value, exclusive)| Bound { value, exclusive }))
}

/// A range with room for at least one value between its ends.
fn range(float: bool) -> impl Strategy<Value = Range> {
    let number = move |from: i64, to: i64| {
        (from..to, any::<bool>()).prop_map(move |(i, whole)| match float && !whole {
            true => Number::Float(i as f64 + 0.5),
            false => Number::Int(i.into()),
        })
    };
    (bound(number(-1000, 0)), bound(number(2, 1000))).prop_map(|(min, max)| Range { min, max })
}

fn lengths() -> impl Strategy<Value = Range> {
    let inclusive = |value: i128| Bound { value: Number::Int(value), exclusive: false };
    (proptest::option::of(0..5i128), proptest::option::of(5..20i128))
        .prop_map(move |(min, max)| Range { min: min.map(inclusive), max: max.map(inclusive) })
}

fn leaf() -> impl Strategy<Value = Type> {
    prop_oneof![
        Just(Type::Any),
        Just(Type::Nil),
        Just(Type::Bool),
        Just(Type::Keyword),
        Just(Type::DateTime),
        Just(Type::Map),
        lengths().prop_map(Type::String),
        range(false).prop_map(Type::Int),
        range(true).prop_map(Type::Float),
        proptest::collection::vec(literal(), 1..4).prop_map(enumeration),
    ]
}

fn enumeration(literals: Vec<Literal>) -> Type {
    // The union drops duplicates.
    Type::union(literals.into_iter().map(|literal| Type::Enum(vec![literal])))
}

fn record(field: impl Strategy<Value = Type>) -> impl Strategy<Value = Record> {
    (proptest::collection::vec((name(), field), 0..4), any::<bool>()).prop_map(|(fields, closed)| {
        let mut record = Record { fields: Vec::new(), closed };
        for (name, ty) in fields {
            if !record.fields.iter().any(|known| keys::same(&known.name, &name)) {
                record.fields.push(Field::new(name, ty));
            }
        }
        record
    })
}

/// Any type.
pub fn any_type() -> impl Strategy<Value = Type> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![Just(Type::STRING), Just(Type::Keyword), Just(Type::INT), Just(Type::Any)];
        prop_oneof![
            2 => inner.clone().prop_map(Type::list),
            3 => record(inner.clone()).prop_map(Type::Record),
            1 => (key, inner.clone()).prop_map(|(key, value)| Type::map_of(key, value)),
            1 => proptest::collection::vec(inner.clone(), 2..4).prop_map(Type::union),
            2 => inner.prop_map(Type::optional),
        ]
    })
}

/// Any signature.
pub fn any_signature() -> impl Strategy<Value = Signature> {
    (record(any_type()), any_type()).prop_map(|(input, output)| Signature { input, output })
}

/// A value of the type. With `loose`, scalars may be written as the table of conversions allows.
pub fn make<V: Build>(ty: &Type, dice: &mut Dice, loose: bool) -> V {
    let spelled = |dice: &mut Dice, exact: V, text: String| {
        if loose && dice.coin() { V::from_string(text) } else { exact }
    };
    match ty {
        Type::Any => V::from_items(vec![V::nil(), V::from_bool(true)]),
        Type::Nil => V::nil(),
        Type::Bool => spelled(dice, V::from_bool(true), "true".to_owned()),
        Type::Keyword => keyword("some-word"),
        Type::DateTime => {
            let text = "2026-01-31T12:00:00Z";
            let shifted = "2026-01-31T14:00:00+02:00".to_owned();
            spelled(dice, V::from_datetime(text), shifted)
        }
        Type::Map => V::from_fields(vec![("any".to_owned(), V::nil())]),
        Type::String(range) => string(range, dice, loose),
        Type::Int(range) => {
            let digits = whole(range).to_string();
            spelled(dice, int(&digits), digits)
        }
        Type::Float(range) => {
            let digits = whole(range).to_string();
            spelled(dice, int(&digits), format!("{digits}.0"))
        }
        Type::Enum(literals) => match &literals[dice.below(literals.len())] {
            Literal::String(text) => V::from_string(text.clone()),
            Literal::Int(i) => spelled(dice, int(&i.to_string()), i.to_string()),
            Literal::Float(f) => V::from_float(*f).expect("finite"),
            Literal::Bool(b) => spelled(dice, V::from_bool(*b), b.to_string()),
        },
        Type::List(item) => V::from_items((0..dice.below(3)).map(|_| make(item, dice, loose)).collect()),
        Type::Record(record) => fields(record, dice, loose),
        Type::MapOf(map) => {
            let key = if matches!(map.key, Type::Int(_)) { "7" } else { "key" };
            V::from_fields(vec![(key.to_owned(), make(&map.value, dice, loose))])
        }
        Type::Union(members) => make(&members[dice.below(members.len())], dice, loose),
        Type::Optional(inner) => {
            if dice.below(3) == 0 {
                V::nil()
            } else {
                make(inner, dice, loose)
            }
        }
        other => panic!("no value for {other}"),
    }
}

/// A map with the fields of a record; optional ones may be left out.
pub fn fields<V: Build>(record: &Record, dice: &mut Dice, loose: bool) -> V {
    let mut out = Vec::new();
    for field in &record.fields {
        if !field.ty.is_optional() || dice.coin() {
            let name = if loose { keys::snake(&field.name) } else { field.name.clone() };
            out.push((name, make(&field.ty, dice, loose)));
        }
    }
    V::from_fields(out)
}

fn int<V: Build>(digits: &str) -> V {
    V::from_int(digits).expect("64 bits")
}

fn keyword<V: Build>(name: &str) -> V {
    V::from_keyword(name).unwrap_or_else(|| V::from_string(name.to_owned()))
}

fn string<V: Build>(range: &Range, dice: &mut Dice, loose: bool) -> V {
    let length = (0..25).find(|n| range.contains(Number::Int(*n))).expect("room");
    let text = "x".repeat(length as usize);
    if loose && dice.coin() && !text.is_empty() { keyword(&text) } else { V::from_string(text) }
}

fn whole(range: &Range) -> i64 {
    (-1000..1000).find(|n| range.contains(Number::Int((*n).into()))).expect("room")
}
