//! Sample values of a type: as a program writes them, and as JSON.

use ptc_signature::{Bound, Literal, Number, Range, Record, Type, keys};
use serde_json::{Map, Value as Json, json};

/// An instant that samples show.
const INSTANT: &str = "2024-01-15T10:30:00Z";

/// A float that samples show.
#[expect(clippy::approx_constant, reason = "a number that looks like a sample, not the circle's")]
const FLOAT: f64 = 3.14;

/// A value of the type as a program writes it. Types nest at most [`ptc_signature::MAX_DEPTH`] levels.
pub(super) fn lisp(ty: &Type) -> String {
    match ty {
        Type::Any => "...".to_owned(),
        Type::Nil => "nil".to_owned(),
        Type::Bool => "true".to_owned(),
        Type::Keyword => ":ok".to_owned(),
        Type::DateTime => format!("{INSTANT:?}"),
        Type::Map => "{}".to_owned(),
        Type::String(_) => "\"result\"".to_owned(),
        Type::Int(range) => whole(range, 42).to_string(),
        Type::Float(range) => format!("{:?}", real(range, FLOAT)),
        Type::Enum(literals) => literals.first().map_or_else(|| "nil".to_owned(), literal),
        Type::List(item) => match item.as_ref() {
            Type::Any => "[]".to_owned(),
            item => format!("[{}]", lisp(item)),
        },
        Type::Record(record) => fields(record),
        Type::MapOf(map) => format!("{{\"key\" {}}}", lisp(&map.value)),
        Type::Union(members) => members.first().map_or_else(|| "nil".to_owned(), lisp),
        Type::Optional(inner) => lisp(inner),
        _ => "...".to_owned(),
    }
}

fn fields(record: &Record) -> String {
    let shown = |name: &str| match keys::kebab(name) {
        plain if is_plain(&plain) => format!(":{plain}"),
        _ => format!("{name:?}"),
    };
    let entries: Vec<_> =
        record.fields.iter().map(|f| format!("{} {}", shown(&f.name), lisp(&f.ty))).collect();
    format!("{{{}}}", entries.join(" "))
}

/// Whether a name can be written as a keyword.
fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '?' | '!'))
}

fn literal(literal: &Literal) -> String {
    match literal {
        Literal::String(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// A value of the type as JSON, with its own field names.
pub(super) fn json_value(ty: &Type) -> Json {
    match ty {
        Type::Any | Type::Nil => Json::Null,
        Type::Bool => json!(true),
        Type::Keyword => json!("keyword"),
        Type::DateTime => json!(INSTANT),
        Type::Map => json!({}),
        Type::String(_) => json!("..."),
        Type::Int(range) => json!(whole(range, 0)),
        Type::Float(range) => json!(real(range, 0.0)),
        Type::Enum(literals) => match literals.first() {
            Some(Literal::String(text)) => json!(text),
            Some(Literal::Int(i)) => json!(*i as i64),
            Some(Literal::Float(x)) => json!(x),
            Some(Literal::Bool(b)) => json!(b),
            None => Json::Null,
        },
        Type::List(item) => json!([json_value(item)]),
        Type::Record(record) => {
            let entries = record.fields.iter().map(|field| (field.name.clone(), json_value(&field.ty)));
            Json::Object(entries.collect::<Map<_, _>>())
        }
        Type::MapOf(map) => json!({"key": json_value(&map.value)}),
        Type::Union(members) => members.first().map_or(Json::Null, json_value),
        Type::Optional(inner) => json_value(inner),
        _ => Json::Null,
    }
}

/// The wanted number, or the nearest one that the range allows.
fn whole(range: &Range, wanted: i64) -> i64 {
    let allowed = |n: i64| range.contains(Number::Int(n.into()));
    if allowed(wanted) {
        return wanted;
    }
    let near = |bound: Option<Bound>, step: f64| {
        let bound = bound?;
        let at = bound.value.as_f64();
        let edge = if step > 0.0 { at.ceil() } else { at.floor() };
        [edge, edge + step].into_iter().map(|n| n as i64).find(|n| allowed(*n))
    };
    near(range.min, 1.0).or_else(|| near(range.max, -1.0)).unwrap_or(wanted)
}

fn real(range: &Range, wanted: f64) -> f64 {
    let allowed = |x: &f64| range.contains(Number::Float(*x));
    let ends = |bound: Option<Bound>| bound.map(|bound| bound.value.as_f64());
    let middle = match (ends(range.min), ends(range.max)) {
        (Some(min), Some(max)) => f64::midpoint(min, max),
        (Some(min), None) => min + 1.0,
        (None, Some(max)) => max - 1.0,
        (None, None) => wanted,
    };
    [wanted, middle].into_iter().find(allowed).unwrap_or(wanted)
}

#[cfg(test)]
mod tests {
    use ptc_signature::Mode;

    use super::*;

    #[test]
    fn r3_19_samples_of_every_type_as_lisp() {
        let cases = [
            (":int", "42"),
            (":int[1..9]", "1"),
            (":int[<0]", "-1"),
            (":float", "3.14"),
            (":float[0..1]", "0.5"),
            (":string", "\"result\""),
            (":bool", "true"),
            (":keyword", ":ok"),
            (":any", "..."),
            (":map", "{}"),
            ("[:any]", "[]"),
            ("[:int]", "[42]"),
            (":enum[open closed]", "\"open\""),
            (":int|:string", "42"),
            (":string?", "\"result\""),
            (":datetime", "\"2024-01-15T10:30:00Z\""),
            ("{order_count :int, rows [{id :int}]}", "{:order-count 42 :rows [{:id 42}]}"),
        ];
        for (ty, expected) in cases {
            assert_eq!(lisp(&Type::parse(ty).unwrap()), expected, "{ty}");
        }
    }

    #[test]
    fn r5_4_samples_as_json_are_of_their_type() {
        let types = [
            ":int",
            ":int[3..9]",
            ":float",
            ":float[>0 <1]",
            ":string",
            ":bool",
            ":keyword",
            ":any",
            ":map",
            "[:int]",
            ":enum[a b]",
            ":int|:string",
            ":datetime",
            "{a_b :int, c [{d :string?}]}",
            ":map[:string :int]",
        ];
        for text in types {
            let ty = Type::parse(text).unwrap();
            let sample = json_value(&ty);
            assert!(ty.validate(&sample, Mode::Strict).is_ok(), "{text}: {sample}");
        }
        let record = Type::parse("{s :string, n :int, x :float, k :keyword}").unwrap();
        assert_eq!(json_value(&record), json!({"s": "...", "n": 0, "x": 0.0, "k": "keyword"}));
    }
}
