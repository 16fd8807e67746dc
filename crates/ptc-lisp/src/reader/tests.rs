//! The reader, case by case: what a text reads as, and what is said about a text that cannot be read.

mod errors;
mod properties;
mod repair;
mod trees;

use super::ReadLimits;
use crate::error::Error;
use crate::span::Position;
use crate::syntax::{Form, FormKind};

fn read(source: &str) -> Result<Vec<Form>, Error> {
    super::read_all(source, &ReadLimits::default())
}

/// The forms in a compact text that tells every kind apart.
fn print(forms: &[Form]) -> String {
    forms.iter().map(print_form).collect::<Vec<_>>().join(" ")
}

fn print_form(form: &Form) -> String {
    let meta: String = form.meta.iter().map(|meta| format!("^{} ", print_form(meta))).collect();
    let text = match &form.kind {
        FormKind::Nil => "nil".to_owned(),
        FormKind::Bool(value) => value.to_string(),
        FormKind::Int(value) => value.to_string(),
        FormKind::BigInt(value) => format!("{value}N"),
        FormKind::Decimal(value) if value.ratio().is_some() => value.to_string(),
        FormKind::Decimal(value) => format!("{value}M"),
        FormKind::Float(value) => format!("{value:?}"),
        FormKind::Str(text) => format!("{text:?}"),
        FormKind::Keyword(name) => format!(":{name}"),
        FormKind::Symbol(name) => name.clone(),
        FormKind::Regex(source) => format!("#/{source}/"),
        FormKind::List(items) => format!("({})", print(items)),
        FormKind::Vector(items) => format!("[{}]", print(items)),
        FormKind::Map(items) => format!("{{{}}}", print(items)),
        FormKind::Set(items) => format!("#{{{}}}", print(items)),
        FormKind::ShortFn(items) => format!("#({})", print(items)),
        FormKind::Quote(form) => format!("'{}", print_form(form)),
        FormKind::Deref(form) => format!("@{}", print_form(form)),
        FormKind::Var(form) => format!("#'{}", print_form(form)),
        FormKind::Tagged(tag, form) => format!("#{tag} {}", print_form(form)),
    };
    meta + &text
}

/// Where an error is, as `line:column`.
fn place(source: &str, error: &Error) -> String {
    error.span.map_or("nowhere".to_owned(), |span| {
        let Position { line, column } = Position::of(source, span.start);
        format!("{line}:{column}")
    })
}
