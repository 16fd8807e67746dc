//! Binding compiled code to a machine: constants become values, names of definitions become slots.

use std::rc::Rc;
use std::sync::Arc;

use super::Machine;
use crate::code::{Const, Linked, Unit};
use crate::error::{Error, ErrorKind};
use crate::names::Name;
use crate::value::{Map, RegexObj, Stamp, Table, Time, Value};

impl Machine {
    /// Adds a unit to the machine.
    pub(crate) fn link(&mut self, unit: Arc<Unit>) -> Result<Rc<Linked>, Error> {
        let mut consts = Vec::with_capacity(unit.consts.len());
        for constant in &unit.consts {
            consts.push(value_of(constant, For::One, &mut |name| self.heap.intern(name))?);
        }
        self.heap.allocated(consts.len() * size_of::<Value>() + super::account::unit_bytes(&unit));
        let globals = unit.globals.iter().map(|name| self.heap.slot(name)).collect();
        let free = self.units.iter().position(Option::is_none);
        let id = free.unwrap_or(self.units.len());
        let linked = Rc::new(Linked { unit, id: id as u32, consts, globals });
        match free {
            Some(at) => self.units[at] = Some(linked.clone()),
            None => {
                self.units.reserve_exact(usize::from(self.units.capacity() == 0));
                self.units.push(Some(linked.clone()));
            }
        }
        Ok(linked)
    }

    /// Forgets units that no function refers to any more; running code stays.
    pub(super) fn drop_unused_units(&mut self) {
        for unit in &mut self.units {
            if unit.as_ref().is_some_and(|linked| Rc::strong_count(linked) == 1) {
                *unit = None;
            }
        }
    }
}

/// Who is to have a value.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum For {
    /// One machine.
    One,
    /// All machines of a thread; see `frozen.rs`.
    Everybody,
}

/// A constant as a value. Constants nest no deeper than source text may.
pub(super) fn value_of(
    constant: &Const,
    whom: For,
    intern: &mut impl FnMut(&str) -> Name,
) -> Result<Value, Error> {
    let shared = whom == For::Everybody;
    Ok(match constant {
        Const::Unbound => Value::Unbound,
        Const::Nil => Value::Nil,
        Const::Bool(value) => Value::Bool(*value),
        Const::Int(value) => Value::Int(*value),
        Const::Big(value) => Value::wide(value.clone()),
        Const::Decimal(value) => Value::decimal(value.clone()),
        Const::Float(value) => Value::Float(*value),
        Const::Str(text) => Value::str(text),
        Const::Keyword(name) => Value::Kw(intern(name)),
        Const::Symbol(name) => Value::Sym(intern(name)),
        Const::Type(name) => Value::Type(intern(name)),
        Const::Tool(name) => Value::Tool(intern(name)),
        Const::Var(name) => Value::Var(intern(name)),
        Const::Builtin(id) => Value::Builtin(*id),
        Const::Regex(source) => {
            let mut matcher = crate::regex::Matcher::compile(source)?;
            if shared {
                matcher.share();
            }
            Value::Regex(Rc::new(RegexObj { source: source.clone(), matcher, stamp: Stamp::new() }))
        }
        Const::Tagged(tag, text) => tagged(tag, text)?,
        Const::List(items) => Value::list(values_of(items, whom, intern)?),
        Const::Vector(items) => Value::vector(values_of(items, whom, intern)?),
        Const::Set(items) => {
            let members = values_of(items, whom, intern)?;
            let mut table: Table<()> = members.into_iter().map(|member| (member, ())).collect();
            if shared {
                table.freeze();
            }
            Value::set(table)
        }
        Const::Map(pairs) => {
            let mut map = Map::with_capacity(pairs.len());
            for (key, value) in pairs {
                map.insert(value_of(key, whom, intern)?, value_of(value, whom, intern)?);
            }
            if shared {
                map.freeze();
            }
            Value::Map(map)
        }
    })
}

fn values_of(items: &[Const], whom: For, intern: &mut impl FnMut(&str) -> Name) -> Result<Vec<Value>, Error> {
    items.iter().map(|item| value_of(item, whom, intern)).collect()
}

fn tagged(tag: &str, text: &str) -> Result<Value, Error> {
    let bad = |what: &str| Error::new(ErrorKind::Parse, format!("#{tag} needs {what}, got \"{text}\""));
    match tag {
        "uuid" => {
            let hex: String = text.chars().filter(|c| *c != '-').collect();
            let valid = hex.len() == 32 && text.len() == 36;
            let parsed = u128::from_str_radix(&hex, 16).ok().filter(|_| valid);
            parsed.map(|id| Value::time(Time::Uuid(id))).ok_or_else(|| bad("a UUID"))
        }
        _ => {
            let instant = text
                .parse::<jiff::Timestamp>()
                .ok()
                .or_else(|| {
                    let date = text.parse::<jiff::civil::DateTime>().ok()?;
                    date.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
                })
                .ok_or_else(|| bad("a date and time such as 2024-01-31T10:00:00Z"))?;
            Ok(Value::time(Time::JavaDate(instant)))
        }
    }
}
