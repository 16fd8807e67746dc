//! Signatures written as Malli schemas.

use crate::render::quote;
use crate::signature::Signature;
use crate::types::{Literal, Range, Record, Type};

impl Signature {
    /// The signature as a Malli function schema.
    pub fn to_malli(&self) -> String {
        let mut out = String::from("[:=> [:catn");
        entries(&mut out, &self.input);
        out.push_str("] ");
        ty(&mut out, &self.output);
        out.push(']');
        out
    }
}

impl Type {
    /// The type as a Malli schema.
    pub fn to_malli(&self) -> String {
        let mut out = String::new();
        ty(&mut out, self);
        out
    }
}

fn ty(out: &mut String, t: &Type) {
    match t {
        Type::Any => out.push_str(":any"),
        Type::Nil => out.push_str(":nil"),
        Type::Bool => out.push_str(":boolean"),
        Type::Keyword => out.push_str(":keyword"),
        Type::DateTime => out.push_str(":datetime"),
        Type::Map => out.push_str(":map"),
        Type::String(range) => string(out, range),
        Type::Int(range) => number(out, ":int", range),
        Type::Float(range) => number(out, ":double", range),
        Type::Enum(literals) => wrapped(out, "enum", literals, literal),
        Type::List(item) => wrapped(out, "vector", [item.as_ref()], ty),
        Type::Record(record) => {
            out.push_str(if record.closed { "[:map {:closed true}" } else { "[:map" });
            entries(out, record);
            out.push(']');
        }
        Type::MapOf(map) => wrapped(out, "map-of", [&map.key, &map.value], ty),
        Type::Union(members) => wrapped(out, "or", members, ty),
        Type::Optional(inner) => wrapped(out, "maybe", [inner.as_ref()], ty),
    }
}

fn wrapped<T>(
    out: &mut String,
    head: &str,
    parts: impl IntoIterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    out.push_str("[:");
    out.push_str(head);
    for part in parts {
        out.push(' ');
        write(out, part);
    }
    out.push(']');
}

fn entries(out: &mut String, record: &Record) {
    for field in &record.fields {
        out.push_str(" [");
        if crate::parse::lexer::is_bare_name(&field.name) {
            out.push(':');
            out.push_str(&field.name);
        } else {
            quote(out, &field.name);
        }
        let optional = field.ty.is_optional();
        out.push_str(if optional { " {:optional true} " } else { " " });
        ty(out, field.ty.required());
        out.push(']');
    }
}

fn literal(out: &mut String, literal: &Literal) {
    match literal {
        Literal::String(text) => quote(out, text),
        other => out.push_str(&other.to_string()),
    }
}

fn string(out: &mut String, range: &Range) {
    if range.is_unbounded() {
        return out.push_str(":string");
    }
    // Lengths are whole, so exclusive limits become the next inclusive ones.
    let step = |value: crate::types::Number, by: i128| match value {
        crate::types::Number::Int(i) => (i + by).to_string(),
        other => other.to_string(),
    };
    out.push_str("[:string {");
    if let Some(min) = range.min {
        out.push_str(&format!(":min {}", step(min.value, i128::from(min.exclusive))));
    }
    if let Some(max) = range.max {
        let gap = if range.min.is_some() { " " } else { "" };
        out.push_str(&format!("{gap}:max {}", step(max.value, -i128::from(max.exclusive))));
    }
    out.push_str("}]");
}

fn number(out: &mut String, name: &str, range: &Range) {
    if range.is_unbounded() {
        return out.push_str(name);
    }
    out.push_str(&format!("[:and {name}"));
    if let Some(min) = range.min {
        out.push_str(&format!(" [:{} {}]", if min.exclusive { ">" } else { ">=" }, min.value));
    }
    if let Some(max) = range.max {
        out.push_str(&format!(" [:{} {}]", if max.exclusive { "<" } else { "<=" }, max.value));
    }
    out.push(']');
}
