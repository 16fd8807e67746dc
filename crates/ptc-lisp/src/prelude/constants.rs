//! Constants: computed once, when the prelude is compiled, under limits and without tools, and kept as plain
//! data that every machine can share.

use std::sync::{Arc, OnceLock};

use super::problem::{Problem, Reason};
use super::{Code, Options, Prelude};
use crate::code::{Const, Unit};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::machine::Machine;
use crate::value::extent::extent;
use crate::value::{Items, Value};

/// Computes the constants whose programs are given, in order, and puts them into the prelude.
pub(super) fn compute(
    prelude: Prelude,
    programs: Vec<(usize, Arc<Unit>)>,
    options: &Options,
) -> Result<Prelude, (usize, Problem)> {
    if programs.is_empty() {
        return Ok(prelude);
    }
    let first = programs[0].0;
    let prelude = Arc::new(super::hashes::with_names(prelude));
    let internal =
        || (first, Problem::new(Reason::Compile, Error::new(ErrorKind::Internal, "constants are lost")));
    let mut found = Vec::with_capacity(programs.len());
    {
        let mut limits = options.limits.clone();
        let mut room = limits.output_bytes.min(limits.memory);
        let mut machine = Machine::new(limits.clone());
        machine.attach_apart(&prelude);
        for (number, unit) in programs {
            let wrong = |error: Error| (number, exceeded(&prelude, number, error));
            machine.set_limits(limits.clone());
            let value = machine.evaluate(unit).map_err(wrong)?;
            limits.fuel = limits.fuel.saturating_sub(machine.fuel_used());
            let bytes = extent(&value, &machine.heap.names, room)
                .map_err(|found| wrong(found.error("the constant")))?;
            room = room.checked_sub(bytes).ok_or_else(|| {
                let message = "the constants together are too large";
                wrong(Error::new(ErrorKind::MemoryExceeded, message))
            })?;
            let constant =
                frozen(&value, &machine.heap).map_err(|kind| (number, not_data(&prelude, number, kind)))?;
            machine.put_constant(number as u32, &constant).map_err(wrong)?;
            found.push((number, constant));
        }
    }
    let mut prelude = Arc::into_inner(prelude).ok_or_else(internal)?;
    for (number, constant) in found {
        prelude.definitions[number].code = OnceLock::from(Code::Constant(constant));
    }
    Ok(prelude)
}

/// What went wrong while a constant was computed.
fn exceeded(prelude: &Prelude, number: usize, error: Error) -> Problem {
    let definition = &prelude.definitions[number];
    let limit = matches!(
        error.kind,
        ErrorKind::FuelExceeded
            | ErrorKind::MemoryExceeded
            | ErrorKind::OutputExceeded
            | ErrorKind::NestingTooDeep
    );
    let (message, hint) = match limit {
        _ if error.kind == ErrorKind::UnknownTool => (
            format!(
                "the constant {} cannot be computed: it calls a tool, and there is none yet",
                definition.full
            ),
            Some("call it in a function, which runs when tools are there".to_owned()),
        ),
        true => (
            format!("prelude evaluation exceeded sandbox limits: {}: {}", definition.full, error.text()),
            Some("use a cheaper constant, or compute it in a function".to_owned()),
        ),
        false => {
            (format!("the constant {} cannot be computed: {}", definition.full, error.text()), error.hint)
        }
    };
    let mut problem = Problem::at(Reason::Compile, definition.span, message);
    problem.error.kind = error.kind;
    problem.error.hint = hint;
    problem
}

fn not_data(prelude: &Prelude, number: usize, kind: &str) -> Problem {
    let definition = &prelude.definitions[number];
    let message = format!("the constant {} is not plain data: it holds {kind}", definition.full);
    Problem::at(Reason::Compile, definition.span, message).hint(
        "a prelude holds no state; write functions with defn, and compute other values when they are needed",
    )
}

/// A value as plain data, or what it holds that is none. Values nest at most
/// [`crate::value::MAX_DEPTH`] levels, and so deep it recurses.
fn frozen(value: &Value, heap: &Heap) -> Result<Const, &'static str> {
    let name = |name: &crate::names::Name| heap.names.text(*name).to_owned();
    Ok(match value {
        Value::Nil => Const::Nil,
        Value::Bool(value) => Const::Bool(*value),
        Value::Int(value) => Const::Int(*value),
        Value::Big(value) => Const::Big((**value).clone()),
        Value::Decimal(value) => Const::Decimal((**value).clone()),
        Value::Float(value) => Const::Float(*value),
        Value::Str(text) => Const::Str(text.as_str().to_owned()),
        Value::Kw(text) => Const::Keyword(name(text)),
        Value::Sym(text) => Const::Symbol(name(text)),
        Value::Builtin(id) => Const::Builtin(*id),
        Value::Type(text) => Const::Type(name(text)),
        Value::Regex(regex) => Const::Regex(regex.source.to_string()),
        Value::Vec(_) => Const::Vector(each(value, heap)?),
        Value::Set(_) => Const::Set(each(value, heap)?),
        Value::Map(body) if body.record().is_none() => {
            let mut pairs = Vec::with_capacity(body.len());
            for (key, value) in body.iter() {
                pairs.push((frozen(key, heap)?, frozen(value, heap)?));
            }
            Const::Map(pairs)
        }
        Value::Seq(_) | Value::Cons(_) | Value::Range(_) | Value::Lazy(_) => Const::List(each(value, heap)?),
        other => return Err(other.type_name()),
    })
}

fn each(value: &Value, heap: &Heap) -> Result<Vec<Const>, &'static str> {
    let mut items = Items::over(value).unwrap_or(Items::Empty);
    let mut out = Vec::new();
    while let Some(item) = items.next().map_err(|_| "a sequence that is not realised")? {
        out.push(frozen(&item, heap)?);
    }
    Ok(out)
}
