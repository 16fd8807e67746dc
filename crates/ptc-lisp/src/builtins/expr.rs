//! What a function without effects computes, as a tree that is evaluated for one item after the other.

use std::borrow::Cow;
use std::rc::Rc;

use super::NativeFn;
use super::comparing::equals;
use super::known::FieldLookup;
use super::lookup;
use super::numeric::{Arith, Compare};
use super::pipeline;
use super::unary::Unary;
use super::vectors::BODY;
use crate::code::Op;
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::signal::{Res, Signal};
use crate::value::{Layout, Map, Value};

/// What a register holds. Expressions that may fail carry a number, to see whether they are used.
#[derive(Clone)]
pub(super) enum Expr {
    Item(u8),
    Constant(Value),
    Field(FieldLookup, Box<Expr>),
    Lookup(u32, Value, Box<Expr>),
    Arith(u32, Arith, Box<[Expr; 2]>),
    Compare(u32, Compare, Box<[Expr; 2]>),
    Equal(Box<[Expr; 2]>),
    Not(Box<Expr>),
    If(Box<[Expr; 3]>),
    IfNil(Box<[Expr; 3]>),
    Unary(u32, Unary, NativeFn, Box<Expr>),
    /// What a map pattern takes apart: a map is what it is.
    Bindable(u32, NativeFn, Box<Expr>),
    Call(u32, NativeFn, Vec<Expr>),
    /// The shortcut through a function of the core library, which may leave it to the function.
    Shortcut(u32, NativeFn, Vec<Expr>),
    Pipe(u32, Rc<Pipe>, Vec<Expr>),
    /// What another function of the program gives.
    Result(u32, Box<Expr>),
    Vector(Vec<Expr>),
    Row(Rc<Layout>, Vec<Expr>),
}

/// A chain of calls that natives do in one pass.
pub(super) struct Pipe {
    /// The innermost first.
    pub(super) calls: Box<[Op]>,
    /// Where the arguments stand in the registers of the calls.
    pub(super) places: Vec<usize>,
    /// How many registers the calls need.
    pub(super) registers: usize,
}

impl Expr {
    /// The value of an expression that has it at hand: an item, a constant, a field of an item.
    #[inline(always)]
    fn direct<'i>(&'i mut self, items: [&'i Value; 2]) -> Option<&'i Value> {
        match self {
            Expr::Item(at) => Some(items[usize::from(*at)]),
            Expr::Constant(value) => Some(value),
            Expr::Field(field, of) => field.near(of.base(items)?),
            _ => None,
        }
    }

    /// The item that an expression is.
    #[inline(always)]
    fn base<'i>(&self, items: [&'i Value; 2]) -> Option<&'i Value> {
        match self {
            Expr::Item(at) => Some(items[usize::from(*at)]),
            Expr::Bindable(_, _, of) => match **of {
                Expr::Item(at) => Some(items[usize::from(at)]).filter(|item| matches!(item, Value::Map(_))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the value counts as true.
    pub(super) fn test(&mut self, heap: &mut Heap, items: [&Value; 2]) -> Res<bool> {
        match self {
            Expr::Compare(_, kind, pair) => {
                let [a, b] = &mut **pair;
                if let (Some(a), Some(b)) = (a.direct(items), b.direct(items)) {
                    return kind.apply(a, b);
                }
                let (a, b) = (a.eval(heap, items)?, b.eval(heap, items)?);
                kind.apply(&a, &b)
            }
            Expr::Equal(pair) => {
                let [a, b] = &mut **pair;
                if let (Some(a), Some(b)) = (a.direct(items), b.direct(items)) {
                    return equals(heap, a, b);
                }
                let (a, b) = (a.eval(heap, items)?, b.eval(heap, items)?);
                equals(heap, &a, &b)
            }
            Expr::Not(of) => Ok(!of.test(heap, items)?),
            Expr::Result(_, of) => of.test(heap, items),
            Expr::If(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.test(heap, items)? { then } else { other };
                way.test(heap, items)
            }
            other => Ok(other.eval(heap, items)?.truthy()),
        }
    }

    pub(super) fn eval<'i>(&'i mut self, heap: &mut Heap, items: [&'i Value; 2]) -> Res<Cow<'i, Value>> {
        Ok(Cow::Owned(match self {
            Expr::Item(at) => return Ok(Cow::Borrowed(items[usize::from(*at)])),
            Expr::Constant(value) => return Ok(Cow::Borrowed(value)),
            Expr::Field(field, of) => match of.base(items) {
                Some(item) => return field.of(heap, item),
                None => match of.eval(heap, items)? {
                    Cow::Borrowed(value) => return field.of(heap, value),
                    Cow::Owned(value) => field.of(heap, &value)?.into_owned(),
                },
            },
            Expr::Lookup(_, coll, key) => {
                let key = key.eval(heap, items)?;
                let coll = &*coll;
                if let Value::Map(body) = coll
                    && key.is_scalar()
                    && let Some(value) = body.get(&key)
                {
                    return Ok(Cow::Borrowed(value));
                }
                lookup::get_or(heap, coll, &key, &Value::Nil)?
            }
            Expr::Arith(_, kind, pair) => {
                let [a, b] = &mut **pair;
                if let (Some(a), Some(b)) = (a.direct(items), b.direct(items)) {
                    return Ok(Cow::Owned(kind.apply(heap, a, b)?));
                }
                let (a, b) = (a.eval(heap, items)?, b.eval(heap, items)?);
                kind.apply(heap, &a, &b)?
            }
            Expr::Compare(..) | Expr::Equal(_) | Expr::Not(_) => Value::Bool(self.test(heap, items)?),
            Expr::If(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.test(heap, items)? { then } else { other };
                return way.eval(heap, items);
            }
            Expr::IfNil(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.eval(heap, items)?.is_nil() { then } else { other };
                return way.eval(heap, items);
            }
            Expr::Result(_, of) => return of.eval(heap, items),
            Expr::Unary(_, unary, run, of) => {
                let of = of.eval(heap, items)?;
                match unary.apply(&of) {
                    Some(value) => value,
                    None => run(heap, &mut [of.into_owned()])?,
                }
            }
            Expr::Bindable(_, run, of) => match of.eval(heap, items)? {
                map if matches!(*map, Value::Map(_)) => return Ok(map),
                other => run(heap, &mut [other.into_owned()])?,
            },
            Expr::Call(_, run, args) => match args.as_mut_slice() {
                [a] => {
                    let a = a.eval(heap, items)?.into_owned();
                    run(heap, &mut [a])?
                }
                [a, b] => {
                    let (a, b) = (a.eval(heap, items)?, b.eval(heap, items)?);
                    run(heap, &mut [a.into_owned(), b.into_owned()])?
                }
                args => {
                    let mut args = evaluated(args, heap, items)?;
                    run(heap, &mut args)?
                }
            },
            Expr::Shortcut(_, run, args) => {
                let mut args = evaluated(args, heap, items)?;
                match run(heap, &mut args)? {
                    Value::Unbound => return Err(left()),
                    value => value,
                }
            }
            Expr::Pipe(_, pipe, args) => {
                let args = evaluated(args, heap, items)?;
                let mut row = vec![Value::Nil; pipe.registers];
                for (place, arg) in pipe.places.iter().zip(args) {
                    row[*place] = arg;
                }
                pipeline::run(heap, &mut row, &pipe.calls)?.ok_or_else(left)?
            }
            Expr::Vector(parts) => {
                heap.allocated(BODY + parts.len() * size_of::<Value>());
                Value::vector(evaluated(parts, heap, items)?)
            }
            Expr::Row(layout, values) => {
                heap.allocated(Map::bytes_for(values.len()));
                let values = values.iter_mut().map(|value| value.eval(heap, items).map(Cow::into_owned));
                Value::Map(Map::try_row(layout.clone(), values)?.unwrap_or_default())
            }
        }))
    }

    /// Its number, if it may fail.
    fn risk(&self) -> Option<u32> {
        match self {
            Expr::Lookup(id, ..)
            | Expr::Result(id, ..)
            | Expr::Arith(id, ..)
            | Expr::Compare(id, ..)
            | Expr::Unary(id, ..)
            | Expr::Bindable(id, ..)
            | Expr::Call(id, ..)
            | Expr::Shortcut(id, ..)
            | Expr::Pipe(id, ..) => Some(*id),
            _ => None,
        }
    }

    /// What it is made of.
    fn parts(&self) -> &[Expr] {
        match self {
            Expr::Item(_) | Expr::Constant(_) => &[],
            Expr::Field(_, of)
            | Expr::Not(of)
            | Expr::Result(_, of)
            | Expr::Lookup(_, _, of)
            | Expr::Bindable(_, _, of)
            | Expr::Unary(_, _, _, of) => std::slice::from_ref(of),
            Expr::Arith(_, _, parts) | Expr::Compare(_, _, parts) | Expr::Equal(parts) => &**parts,
            Expr::If(parts) | Expr::IfNil(parts) => &**parts,
            Expr::Call(_, _, parts)
            | Expr::Shortcut(_, _, parts)
            | Expr::Pipe(_, _, parts)
            | Expr::Vector(parts)
            | Expr::Row(_, parts) => parts,
        }
    }

    /// Whether it makes something that takes memory.
    pub(super) fn makes(&self) -> bool {
        matches!(self, Expr::Call(..) | Expr::Shortcut(..) | Expr::Pipe(..) | Expr::Vector(_) | Expr::Row(..))
            || self.parts().iter().any(Expr::makes)
    }

    /// How many parts it has, those of its parts included.
    pub(super) fn size(&self) -> usize {
        1 + self.parts().iter().map(Expr::size).sum::<usize>()
    }

    /// Adds the numbers of the parts that go over collections.
    pub(super) fn walks(&self, found: &mut Vec<u32>) {
        if let Expr::Shortcut(id, ..) | Expr::Pipe(id, ..) = self {
            found.push(*id);
        }
        self.parts().iter().for_each(|part| part.walks(found));
    }

    /// Crosses off the numbers of the expressions that may fail.
    pub(super) fn cross_off(&self, open: &mut Vec<u32>) {
        if let Some(id) = self.risk() {
            open.retain(|other| *other != id);
        }
        let parts = match self {
            // The ways were checked where they end; only the test is evaluated in any case.
            Expr::If(parts) | Expr::IfNil(parts) => &parts[..1],
            _ => self.parts(),
        };
        parts.iter().for_each(|part| part.cross_off(open));
    }
}

/// What ends an evaluation that must be left to the machine; nobody sees the words.
#[cold]
fn left() -> Box<Signal> {
    Error::new(ErrorKind::Type, "left to the machine").into()
}

fn evaluated(parts: &mut [Expr], heap: &mut Heap, items: [&Value; 2]) -> Res<Vec<Value>> {
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push(part.eval(heap, items)?.into_owned());
    }
    Ok(values)
}
