//! Lenient reading of inputs: models quote numbers and spell booleans as text.
//!
//! Only the conversions listed here happen; each but the widening of an int to a float leaves a warning.
//!
//! | from | to | note |
//! |---|---|---|
//! | `"42"` | `:int` | warning |
//! | `42.0` | `:int` | warning, where the number is whole and exact |
//! | `"3.14"` | `:float` | warning |
//! | `"true"` | `:bool` | warning |
//! | `42` | `:float` | silent |
//! | keyword | `:string` | warning |
//! | string | `:keyword` | warning, where the value type has keywords |
//! | point in time | `:string` | warning, ISO 8601 |
//! | ISO 8601 text with an offset | `:datetime` | warning if anything changes; brought to UTC |

use crate::datetime;
use crate::issue::{Issue, Issues, Mode, Rejection, Step, Trail};
use crate::keys;
use crate::shape::{Build, Kind};
use crate::types::{Literal, MapOf, Record, Type};
use crate::validate::{
    self, describe, fits, is_integer, is_keyword_name, key_fits, mismatch, missing, unexpected,
};

/// Arguments converted to the declared types.
#[derive(Clone, Debug, PartialEq)]
pub struct Coerced<V> {
    /// The declared fields, under their declared names.
    pub value: V,
    /// What was converted or dropped.
    pub warnings: Vec<Issue>,
}

/// Converts an argument map to the parameters.
pub(crate) fn coerce_record<V: Build>(
    record: &Record,
    value: &V,
    mode: Mode,
) -> Result<Coerced<V>, Rejection> {
    run(value, mode, |walk| walk.record(record, value))
}

impl Type {
    /// Converts one value to this type where the table of conversions allows it, then checks it.
    pub fn coerce<V: Build>(&self, value: &V, mode: Mode) -> Result<Coerced<V>, Rejection> {
        run(value, mode, |walk| walk.ty(self, value))
    }

    /// The same, but fields that are not declared stay where only a strict contract or a closed record forbids them.
    pub fn convert<V: Build>(&self, value: &V, mode: Mode) -> Result<Coerced<V>, Rejection> {
        run(value, mode, |walk| {
            walk.keeps = true;
            walk.ty(self, value)
        })
    }
}

fn run<'a, V: Build>(
    value: &V,
    mode: Mode,
    convert: impl FnOnce(&mut Walk<'a>) -> V,
) -> Result<Coerced<V>, Rejection> {
    if mode == Mode::Disabled {
        return Ok(Coerced { value: value.clone(), warnings: Vec::new() });
    }
    let mut walk = Walk::new(mode == Mode::Strict);
    let value = convert(&mut walk);
    let (errors, warnings) = (walk.errors.into_vec(), walk.warnings.into_vec());
    match mode {
        _ if errors.is_empty() => Ok(Coerced { value, warnings }),
        Mode::WarnOnly => Ok(Coerced { value, warnings: [errors, warnings].concat() }),
        _ => Err(Rejection { errors, warnings }),
    }
}

struct Walk<'a> {
    strict: bool,
    /// Whether fields that are not declared stay.
    keeps: bool,
    trail: Trail<'a>,
    errors: Issues,
    warnings: Issues,
}

impl<'a> Walk<'a> {
    fn new(strict: bool) -> Walk<'a> {
        Walk {
            strict,
            keeps: false,
            trail: Trail::default(),
            errors: Issues::default(),
            warnings: Issues::default(),
        }
    }

    fn ty<V: Build>(&mut self, ty: &'a Type, value: &'a V) -> V {
        match ty {
            Type::Optional(_) if value.kind() == Kind::Nil => V::nil(),
            Type::Optional(inner) => self.ty(inner, value),
            Type::List(item) if value.kind() == Kind::List => {
                let items = value.items().into_iter().flatten().enumerate();
                V::from_items(
                    items.map(|(i, v)| self.within(Step::Index(i), |walk| walk.ty(item, v))).collect(),
                )
            }
            Type::Record(record) => self.record(record, value),
            Type::MapOf(map) if value.kind() == Kind::Map => self.map_of(map, value),
            Type::Union(members) => self.union(ty, members, value),
            scalar => self.scalar(scalar, value),
        }
    }

    fn record<V: Build>(&mut self, record: &'a Record, value: &'a V) -> V {
        if value.kind() != Kind::Map {
            self.error(|hidden| format!("expected map, got {}", describe(value, hidden)));
            return value.clone();
        }
        let mut fields = Vec::with_capacity(record.fields.len());
        for field in &record.fields {
            let coerced =
                self.within(Step::field(&field.name), |walk| match keys::lookup(value, &field.name) {
                    Some(found) => Some(walk.ty(&field.ty, found)),
                    None if field.ty.is_optional() => None,
                    None => {
                        walk.error(|_| missing(&field.ty));
                        None
                    }
                });
            fields.extend(coerced.map(|v| (field.name.clone(), v)));
        }
        for (key, given) in value.fields().into_iter().flatten() {
            if record.field(&key).is_some() {
                continue;
            }
            if self.keeps && !record.closed && !self.strict {
                fields.push((key.into_owned(), given.clone()));
            } else {
                self.extra(record, key);
            }
        }
        V::from_fields(fields)
    }

    fn extra(&mut self, record: &Record, key: std::borrow::Cow<'a, str>) {
        let message = unexpected(record, &key);
        let reject = record.closed || self.strict;
        self.within(Step::Key(key), |walk| match reject {
            true => walk.error(|_| message),
            false => walk.warn(|_| format!("dropped {message}")),
        });
    }

    fn map_of<V: Build>(&mut self, map: &'a MapOf, value: &'a V) -> V {
        let mut fields = Vec::new();
        for (key, entry) in value.fields().into_iter().flatten() {
            let name = key.clone().into_owned();
            let known = key_fits(&map.key, &key);
            let coerced = self.within(Step::Key(key), |walk| {
                if !known {
                    walk.error(|_| format!("expected a key of type {}", validate::expected(&map.key)));
                }
                walk.ty(&map.value, entry)
            });
            fields.push((name, coerced));
        }
        V::from_fields(fields)
    }

    /// A member that fits as it is comes first, then the first that fits after conversion.
    fn union<V: Build>(&mut self, ty: &'a Type, members: &'a [Type], value: &'a V) -> V {
        if let Some(member) = members.iter().find(|member| fits(member, value, self.strict)) {
            return self.ty(member, value);
        }
        for member in members {
            let mut attempt = Walk { trail: self.trail.clone(), keeps: self.keeps, ..Walk::new(self.strict) };
            let coerced = attempt.ty(member, value);
            if attempt.errors.is_empty() {
                self.warnings.append(attempt.warnings);
                return coerced;
            }
        }
        self.error(|hidden| mismatch(ty, value, hidden));
        value.clone()
    }

    /// Converts if the table says so, then checks the outcome.
    fn scalar<V: Build>(&mut self, ty: &'a Type, value: &'a V) -> V {
        let converted = self.convert(ty, value);
        let outcome = converted.as_ref().unwrap_or(value);
        if !fits(ty, outcome, self.strict) {
            self.error(|hidden| mismatch(ty, value, hidden));
            return value.clone();
        }
        // Widening an int loses nothing worth mentioning.
        if let Some(new) = converted.as_ref().filter(|_| value.kind() != Kind::Int) {
            self.warn(|hidden| converted_message(value, new, ty, hidden));
        }
        converted.unwrap_or_else(|| value.clone())
    }

    /// The converted value, or `None` if the value stays as it is.
    fn convert<V: Build>(&self, ty: &Type, value: &V) -> Option<V> {
        let text = value.text();
        match (ty, value.kind()) {
            (Type::Int(_), Kind::String) => text.filter(|t| is_integer(t)).and_then(V::from_int),
            (Type::Int(_), Kind::Float) => V::from_int(&whole(value.number()?.as_f64())?.to_string()),
            (Type::Float(_), Kind::String) => text.and_then(float).and_then(V::from_float),
            (Type::Float(_), Kind::Int) => V::from_float(value.number()?.as_f64()),
            (Type::Bool, Kind::String) => text?.parse().ok().map(V::from_bool),
            (Type::String(_), Kind::Keyword) => text.map(|t| V::from_string(t.to_owned())),
            (Type::String(_), Kind::DateTime) => Some(V::from_string(value.print())),
            (Type::Keyword, Kind::String) => {
                let name = text.filter(|t| is_keyword_name(t))?;
                V::from_keyword(name.strip_prefix(':').unwrap_or(name))
            }
            (Type::DateTime, Kind::String) => {
                let utc = datetime::to_utc(text?).ok()?;
                let built = V::from_datetime(&utc.text);
                let unchanged = built.kind() == Kind::String && built.text() == text;
                (!unchanged).then_some(built)
            }
            (Type::Enum(literals), Kind::String) => {
                let literal = literals.iter().find(|l| Some(l.to_string().as_str()) == text)?;
                build_literal(literal)
            }
            _ => None,
        }
    }

    fn within<T>(&mut self, step: Step<'a>, inner: impl FnOnce(&mut Walk<'a>) -> T) -> T {
        self.trail.push(step);
        let out = inner(self);
        self.trail.pop();
        out
    }

    fn error(&mut self, word: impl FnOnce(bool) -> String) {
        self.errors.add(&self.trail, word);
    }

    fn warn(&mut self, word: impl FnOnce(bool) -> String) {
        self.warnings.add(&self.trail, word);
    }
}

fn converted_message<V: Build>(from: &V, to: &V, ty: &Type, hidden: bool) -> String {
    let kind = match ty {
        Type::DateTime => "datetime",
        _ => to.kind().name(),
    };
    let message = format!("coerced {} to {kind}", describe(from, hidden));
    let shifted = from.text().and_then(|text| datetime::to_utc(text).ok()).is_some_and(|utc| utc.shifted);
    match ty {
        Type::DateTime if shifted => format!("{message}, its offset converted to UTC"),
        _ => message,
    }
}

/// The integer that a float is, as far as floats have all of them.
fn whole(number: f64) -> Option<i64> {
    /// Below this every float that is whole is the integer that was meant; this one may be the next integer, rounded.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() < EXACT).then_some(number as i64)
}

/// A finite number in plain notation that a float has with all its digits; `inf` and `nan` are words, not numbers.
fn float(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E'));
    let float: f64 = text.parse().ok().filter(|_| plain)?;
    (float.is_finite() && significant(text) == significant(&format!("{float:e}"))).then_some(float)
}

/// The digits of a number between its zeros, and where its point stands from the first of them.
fn significant(number: &str) -> (String, i64) {
    let number = number.trim_start_matches(['+', '-']);
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, places) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{places}");
    let zeros = all.len() - all.trim_start_matches('0').len();
    let significant = all.trim_matches('0').to_owned();
    if significant.is_empty() {
        return (significant, 0);
    }
    let point = whole.len() as i64 - zeros as i64 + exponent.parse::<i64>().unwrap_or(i64::MAX / 2);
    (significant, point)
}

/// The value of a number or boolean listed in an enum.
fn build_literal<V: Build>(literal: &Literal) -> Option<V> {
    match literal {
        Literal::String(_) => None,
        Literal::Int(i) => V::from_int(&i.to_string()),
        Literal::Float(f) => V::from_float(*f),
        Literal::Bool(b) => Some(V::from_bool(*b)),
    }
}
