//! Checking values against types, collecting errors with their paths.

use std::cmp::Ordering;

use crate::datetime::{self, NotInstant};
use crate::issue::{Issue, Issues, Step, Trail, cut};
use crate::keys;
use crate::parse::hints;
use crate::parse::lexer::is_bare_name;
use crate::render::quote;
use crate::shape::{Kind, Shape};
use crate::types::{Field, Literal, MapOf, Number, Range, Record, Type};

/// Most bytes of an offending value shown in a message: enough to know it by, too few to carry data to a model.
const PREVIEW: usize = 30;

/// The errors of a value against a type; `strict` rejects undeclared fields.
pub(crate) fn validate_type<V: Shape>(ty: &Type, value: &V, strict: bool) -> Vec<Issue> {
    let mut check = Check::new(strict, false);
    check.ty(ty, value);
    check.errors.into_vec()
}

/// The errors of an argument map against the parameters.
pub(crate) fn validate_record<V: Shape>(record: &Record, value: &V, strict: bool) -> Vec<Issue> {
    let mut check = Check::new(strict, false);
    check.record(record, value);
    check.errors.into_vec()
}

/// Whether the value fits, without saying why not.
pub(crate) fn fits<V: Shape>(ty: &Type, value: &V, strict: bool) -> bool {
    let mut check = Check::new(strict, true);
    check.ty(ty, value);
    !check.failed
}

/// One walk over a value. A probing walk stops at the first error and words none.
struct Check<'a> {
    strict: bool,
    probe: bool,
    failed: bool,
    trail: Trail<'a>,
    errors: Issues,
}

impl<'a> Check<'a> {
    fn new(strict: bool, probe: bool) -> Check<'a> {
        Check { strict, probe, failed: false, trail: Trail::default(), errors: Issues::default() }
    }

    fn done(&self) -> bool {
        self.failed && (self.probe || self.errors.is_full())
    }

    fn ty<V: Shape>(&mut self, ty: &'a Type, value: &'a V) {
        let kind = value.kind();
        let fits = match ty {
            Type::Any => true,
            Type::Optional(_) if kind == Kind::Nil => true,
            Type::Optional(inner) => return self.ty(inner, value),
            Type::Nil => kind == Kind::Nil,
            Type::Bool => kind == Kind::Bool,
            Type::Map => kind == Kind::Map,
            Type::DateTime => value.is_datetime(),
            Type::Keyword => is_keyword(value),
            Type::String(range) => kind == Kind::String && length_fits(range, value),
            Type::Int(range) => kind == Kind::Int && number_fits(range, value),
            Type::Float(range) => matches!(kind, Kind::Int | Kind::Float) && number_fits(range, value),
            Type::Enum(literals) => literals.iter().any(|literal| is_literal(literal, value)),
            Type::List(item) if kind == Kind::List => return self.list(item, value),
            Type::Record(record) if kind == Kind::Map => return self.record(record, value),
            Type::MapOf(map) if kind == Kind::Map => return self.map_of(map, value),
            Type::List(_) | Type::Record(_) | Type::MapOf(_) => false,
            Type::Union(members) => return self.union(ty, members, value),
        };
        if !fits {
            self.fail(|hidden| mismatch(ty, value, hidden));
        }
    }

    fn list<V: Shape>(&mut self, item: &'a Type, value: &'a V) {
        for (index, element) in value.items().into_iter().flatten().enumerate() {
            if self.done() {
                return;
            }
            self.within(Step::Index(index), |check| check.ty(item, element));
        }
    }

    fn record<V: Shape>(&mut self, record: &'a Record, value: &'a V) {
        if value.kind() != Kind::Map {
            return self.fail(|hidden| format!("expected map, got {}", describe(value, hidden)));
        }
        for field in &record.fields {
            if self.done() {
                return;
            }
            self.within(Step::field(&field.name), |check| match keys::lookup(value, &field.name) {
                Some(found) => check.ty(&field.ty, found),
                None if field.ty.is_optional() => {}
                None => check.fail(|_| missing_or_misspelt(field, record, value)),
            });
        }
        if record.closed || self.strict {
            self.extras(record, value);
        }
    }

    fn extras<V: Shape>(&mut self, record: &Record, value: &'a V) {
        for (key, _) in value.fields().into_iter().flatten() {
            if self.done() {
                return;
            }
            if record.field(&key).is_none() {
                let message = unexpected(record, &key);
                self.within(Step::Key(key), |check| check.fail(|_| message));
            }
        }
    }

    fn map_of<V: Shape>(&mut self, map: &'a MapOf, value: &'a V) {
        for (key, entry) in value.fields().into_iter().flatten() {
            if self.done() {
                return;
            }
            let known = key_fits(&map.key, &key);
            self.within(Step::Key(key), |check| {
                if !known {
                    check.fail(|_| format!("expected a key of type {}", expected(&map.key)));
                }
                check.ty(&map.value, entry);
            });
        }
    }

    /// A value fits if it fits any member. If not, a single member of the right kind explains it best.
    fn union<V: Shape>(&mut self, ty: &'a Type, members: &'a [Type], value: &'a V) {
        if members.iter().any(|member| fits(member, value, self.strict)) {
            return;
        }
        let mut likely = members.iter().filter(|member| same_kind(member, value));
        match (likely.next(), likely.next()) {
            (Some(only), None) if !self.probe => self.ty(only, value),
            _ => self.fail(|hidden| mismatch(ty, value, hidden)),
        }
    }

    fn within(&mut self, step: Step<'a>, inner: impl FnOnce(&mut Check<'a>)) {
        self.trail.push(step);
        inner(self);
        self.trail.pop();
    }

    /// Records an error here; `word` is told whether the value must not be shown.
    fn fail(&mut self, word: impl FnOnce(bool) -> String) {
        self.failed = true;
        if !self.probe {
            self.errors.add(&self.trail, word);
        }
    }
}

/// The message for a value of the wrong type; `hidden` leaves the value itself out.
pub(crate) fn mismatch<V: Shape>(ty: &Type, value: &V, hidden: bool) -> String {
    let message = format!("expected {}, got {}", expected(ty), describe(value, hidden));
    match advice(ty, value) {
        Some(advice) => format!("{message} ({advice})"),
        None => message,
    }
}

/// What to do about a text that is nearly what is wanted.
fn advice<V: Shape>(ty: &Type, value: &V) -> Option<&'static str> {
    let text = value.text().filter(|_| value.kind() == Kind::String)?;
    match ty {
        Type::DateTime => Some(match datetime::to_utc(text) {
            Err(NotInstant::NoOffset) => "add an offset, such as Z or +02:00",
            _ => "write it as 2026-01-31T12:00:00Z",
        }),
        Type::Int(_) if is_integer(text) && text.parse::<i64>().is_err() => {
            Some("an integer beyond 64 bits is a text in JSON: declare it as :string, or give a smaller one")
        }
        _ => None,
    }
}

/// Whether a text is a whole number, however large.
pub(crate) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The message for a required field that is not there; it goes on from the name of the field.
pub(crate) fn missing(ty: &Type) -> String {
    format!("is missing ({})", expected(ty))
}

/// The same, with a field that nobody declared and that may be the one that is meant.
fn missing_or_misspelt<V: Shape>(field: &Field, record: &Record, value: &V) -> String {
    let message = missing(&field.ty);
    let undeclared = value.fields().into_iter().flatten().map(|(key, _)| key);
    let mut undeclared = undeclared.filter(|key| record.field(key).is_none());
    let near = |key: &str| hints::nearest(&keys::snake(key), [field.name.as_str()].into_iter()).is_some();
    match undeclared.find(|key| is_bare_name(key) && near(key)) {
        Some(key) => format!("{message}; {}, which is not declared, may be meant", cut(&key, PREVIEW)),
        None => message,
    }
}

/// The message for a field that is not declared where it must be.
pub(crate) fn unexpected(record: &Record, key: &str) -> String {
    let folded = keys::snake(key);
    let names = record.fields.iter().map(|field| field.name.as_str());
    match hints::nearest(&folded, names) {
        Some(near) => format!("unexpected field (did you mean {near}?)"),
        None => "unexpected field".to_owned(),
    }
}

fn is_keyword<V: Shape>(value: &V) -> bool {
    match value.kind() {
        Kind::Keyword => true,
        Kind::String => value.text().is_some_and(is_keyword_name),
        _ => false,
    }
}

/// Whether a string could name a keyword: `active`, `user/id`, `valid?`, but not `two words`.
pub(crate) fn is_keyword_name(text: &str) -> bool {
    let name = text.strip_prefix(':').unwrap_or(text);
    let symbol = |c: char| c.is_alphanumeric() || "_-+*!?<>=.'&%$#/".contains(c);
    name.starts_with(|c: char| !c.is_numeric() && c != '/' && c != '#') && name.chars().all(symbol)
}

pub(crate) fn is_literal<V: Shape>(literal: &Literal, value: &V) -> bool {
    match literal {
        Literal::String(text) => {
            matches!(value.kind(), Kind::String | Kind::Keyword) && value.text() == Some(text.as_str())
        }
        Literal::Bool(flag) => value.boolean() == Some(*flag),
        Literal::Int(i) => equals(value, Number::Int(*i)),
        Literal::Float(f) => equals(value, Number::Float(*f)),
    }
}

fn equals<V: Shape>(value: &V, number: Number) -> bool {
    value.number().is_some_and(|n| n.partial_cmp(&number) == Some(Ordering::Equal))
}

fn number_fits<V: Shape>(range: &Range, value: &V) -> bool {
    range.is_unbounded() || value.number().is_some_and(|number| range.contains(number))
}

fn length_fits<V: Shape>(range: &Range, value: &V) -> bool {
    range.is_unbounded() || range.contains(Number::Int(length(value)))
}

fn length<V: Shape>(value: &V) -> i128 {
    value.text().map_or(0, |text| text.chars().count() as i128)
}

/// Keys are text, so a key type is checked against text.
pub(crate) fn key_fits(ty: &Type, key: &str) -> bool {
    match ty {
        Type::String(range) => range.contains(Number::Int(key.chars().count() as i128)),
        Type::Keyword => is_keyword_name(key),
        Type::Int(range) => key.parse().is_ok_and(|number| range.contains(Number::Int(number))),
        Type::Enum(literals) => literals.iter().any(|literal| match literal {
            Literal::String(text) => text == key,
            other => other.to_string() == key,
        }),
        Type::Union(members) => members.iter().any(|member| key_fits(member, key)),
        _ => true,
    }
}

/// Whether a union member is the one the value was probably meant for.
fn same_kind<V: Shape>(ty: &Type, value: &V) -> bool {
    match ty {
        Type::List(_) => value.kind() == Kind::List,
        Type::Record(_) | Type::MapOf(_) => value.kind() == Kind::Map,
        Type::Int(_) => value.kind() == Kind::Int,
        Type::Float(_) => matches!(value.kind(), Kind::Int | Kind::Float),
        Type::String(_) => value.kind() == Kind::String,
        _ => false,
    }
}

/// A type as named after "expected".
pub(crate) fn expected(ty: &Type) -> String {
    match ty {
        Type::Any => "any".to_owned(),
        Type::Nil => "nil".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Keyword => "keyword".to_owned(),
        Type::DateTime => "datetime".to_owned(),
        Type::Map | Type::Record(_) | Type::MapOf(_) => "map".to_owned(),
        Type::List(_) => "list".to_owned(),
        Type::String(range) if range.is_unbounded() => "string".to_owned(),
        Type::String(range) => format!("string of length {}", words(range)),
        Type::Int(range) => numeric("int", range),
        Type::Float(range) => numeric("float", range),
        Type::Enum(literals) => {
            let listed: Vec<String> = literals.iter().map(Literal::to_string).collect();
            format!("one of {}", listed.join(", "))
        }
        Type::Union(members) => members.iter().map(expected).collect::<Vec<_>>().join(" or "),
        Type::Optional(inner) => expected(inner),
    }
}

fn numeric(name: &str, range: &Range) -> String {
    if range.is_unbounded() { name.to_owned() } else { format!("{name} {}", words(range)) }
}

fn words(range: &Range) -> String {
    match (range.min, range.max) {
        (Some(min), Some(max)) if !min.exclusive && !max.exclusive => {
            format!("between {} and {}", min.value, max.value)
        }
        _ => range.to_string().replace(" <", " and <"),
    }
}

/// A value as named after "got": its kind, and the value itself where it is short and may be shown.
pub(crate) fn describe<V: Shape>(value: &V, hidden: bool) -> String {
    let kind = value.kind();
    if hidden {
        return kind.name().to_owned();
    }
    match kind {
        Kind::Nil | Kind::Opaque => kind.name().to_owned(),
        Kind::List => count(kind, "item", value.items().map_or(0, Iterator::count)),
        Kind::Map => count(kind, "field", value.fields().map_or(0, Iterator::count)),
        Kind::String => format!("string {}", preview(value.text().unwrap_or_default())),
        Kind::Keyword => format!("keyword :{}", cut(value.text().unwrap_or_default(), PREVIEW)),
        Kind::Bool | Kind::Int | Kind::Float | Kind::DateTime => {
            format!("{} {}", kind.name(), cut(&value.print(), PREVIEW))
        }
    }
}

fn count(kind: Kind, noun: &str, n: usize) -> String {
    format!("{} with {n} {noun}{}", kind.name(), if n == 1 { "" } else { "s" })
}

/// The start of a text, in quotes.
fn preview(text: &str) -> String {
    let mut quoted = String::new();
    quote(&mut quoted, &cut(text, PREVIEW));
    quoted
}
