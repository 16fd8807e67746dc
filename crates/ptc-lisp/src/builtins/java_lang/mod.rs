//! The Java-shaped surface of `java.lang` and `java.math`: static members of `Math`, `Integer`,
//! `Character`, `String`, `BigDecimal`, … and the methods of strings, numbers and collections.
//!
//! A static member is a builtin named `Class/member`, a constructor one named `Class.`, a method one
//! named `.method` whose first argument is the receiver. There is one declaration per method name; it
//! looks at the receiver itself. Characters are one-character strings, arrays are vectors, and numbers
//! are the language's own, so `Integer` and `Long` differ only where Java checks a range.

mod arithmetic;
mod big_decimal;
mod big_integer;
mod builder;
mod characters;
mod collections;
mod decimal_format;
mod math;
mod math_context;
mod numbers;
mod objects;
mod positions;
mod statics;
mod strings;
mod system;

pub(super) use big_decimal::of_number as bigdec;
pub(super) use decimal_format::format_number;
pub(super) use strings::made;

use super::{Builtin, Run, registry};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::Value;

pub(super) static TABLES: &[&[Builtin]] = &[
    arithmetic::OPERATIONS,
    arithmetic::TABLE,
    big_decimal::MODES,
    big_decimal::PARTS,
    big_decimal::TABLE,
    big_integer::TABLE,
    builder::TABLE,
    characters::QUESTIONS,
    characters::TABLE,
    collections::DELEGATES,
    collections::TABLE,
    decimal_format::TABLE,
    math::FLOATS,
    math::FLOAT_PAIRS,
    math::EXACT,
    math::TABLE,
    math_context::CONTEXTS,
    math_context::TABLE,
    numbers::CONSTANTS,
    numbers::INTEGER,
    numbers::LONG,
    numbers::DOUBLE,
    numbers::FLOAT,
    numbers::BOOLEAN,
    objects::NUMBERS,
    objects::TABLE,
    statics::TABLE,
    strings::CUTS,
    strings::TABLE,
    system::REFUSALS,
    system::TABLE,
];

/// The error for a method whose receiver does not have it; `types` names those that do.
pub(super) fn no_method(args: &[Value], types: &str) -> Box<Signal> {
    let error = match args.first() {
        None | Some(Value::Nil) => Error::new(ErrorKind::Type, "cannot call a method on nil")
            .hint("check for nil first, for example with some-> or when-let"),
        Some(receiver) => {
            let message =
                format!("{} does not have this method, only {types}", with_article(receiver.type_name()));
            let error = Error::new(ErrorKind::Type, message);
            match receiver {
                Value::Str(_) if types.contains("LocalDate") => {
                    error.hint("make the text a date first: (LocalDate/parse text)")
                }
                Value::Kw(_) if types.contains("a string") => error.hint("(name keyword) gives its text"),
                _ => error,
            }
        }
    };
    error.into()
}

/// A type name with `a` or `an` before it.
pub(super) fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) { "an" } else { "a" };
    format!("{article} {name}")
}

/// Does what a builtin of the core library does: at once if it is native, else by a call.
pub(super) fn delegate(heap: &mut Heap, name: &str, args: &mut [Value]) -> Res {
    let Some(id) = registry().qualified(name) else {
        return Err(Error::new(ErrorKind::UnboundVar, format!("{name} is not part of this build")).into());
    };
    match registry().get(id).run {
        Run::Native(run) => run(heap, args),
        _ => Err(Signal::Call(Value::Builtin(id), args.to_vec()).into()),
    }
}

/// A whole number as Java's `int` and `long` parameters take it; whole floats count, fractions do not.
pub(super) fn whole(args: &[Value], at: usize) -> Res<i64> {
    match args.get(at) {
        Some(Value::Int(int)) => Ok(*int),
        Some(Value::Float(float)) if float.fract() == 0.0 && float.abs() < 9e15 => Ok(*float as i64),
        Some(Value::Float(_)) => Err(super::args::wrong(args, at, "a whole number").into()),
        _ => super::args::int(args, at),
    }
}
