//! Functions of a program that natives can run: code that only looks up, compares, computes, chooses and
//! builds, like `#(> (:amount %) 100)` or `(fn [{:keys [a b]}] {:sum (+ a b)})`.
//!
//! The code is followed once, way by way, and becomes an expression; that is evaluated for one item after
//! the other without a call. Only what the code would compute in any case may be computed: where a result
//! that might be an error goes unused, the function is left to the machine.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::LazyLock;

use super::comparing::equals;
use super::known::{Field, Walk};
use super::lookup;
use super::numeric::{Arith, Compare, sum};
use super::unary::Unary;
use super::vectors::BODY;
use super::{BuiltinId, NativeFn, Run, registry};
use crate::code::Op;
use crate::heap::Heap;
use crate::machine::is_core;
use crate::signal::Res;
use crate::value::{Closure, Layout, Map, Table, Value};

/// Builtins without effects.
const PURE: &[&str] = &[
    "clojure.core/*",
    "clojure.core/+",
    "clojure.core/-",
    "clojure.core//",
    "clojure.core/<",
    "clojure.core/<=",
    "clojure.core/=",
    "clojure.core/>",
    "clojure.core/>=",
    "clojure.core/abs",
    "clojure.core/boolean",
    "clojure.core/compare",
    "clojure.core/contains?",
    "clojure.core/count",
    "clojure.core/dec",
    "clojure.core/double",
    "clojure.core/empty?",
    "clojure.core/even?",
    "clojure.core/false?",
    "clojure.core/ffirst",
    "clojure.core/first",
    "clojure.core/get",
    "clojure.core/get-in",
    "clojure.core/identity",
    "clojure.core/inc",
    "clojure.core/integer?",
    "clojure.core/key",
    "clojure.core/keyword",
    "clojure.core/keyword?",
    "clojure.core/last",
    "clojure.core/long",
    "clojure.core/map?",
    "clojure.core/max",
    "clojure.core/min",
    "clojure.core/mod",
    "clojure.core/name",
    "clojure.core/neg?",
    "clojure.core/nil?",
    "clojure.core/not",
    "clojure.core/not=",
    "clojure.core/nth",
    "clojure.core/number?",
    "clojure.core/odd?",
    "clojure.core/peek",
    "clojure.core/pos?",
    "clojure.core/quot",
    "clojure.core/rem",
    "clojure.core/second",
    "clojure.core/some?",
    "clojure.core/str",
    "clojure.core/string?",
    "clojure.core/subs",
    "clojure.core/true?",
    "clojure.core/val",
    "clojure.core/vector?",
    "clojure.core/zero?",
    "clojure.string/blank?",
    "clojure.string/capitalize",
    "clojure.string/ends-with?",
    "clojure.string/includes?",
    "clojure.string/join",
    "clojure.string/lower-case",
    "clojure.string/replace",
    "clojure.string/split",
    "clojure.string/starts-with?",
    "clojure.string/trim",
    "clojure.string/upper-case",
    "prim/bindable-map",
    "prim/nth",
];

/// Builtins without effects that change their first argument in place if nobody else has it. Natives keep
/// what they hand over, so these copy: right for one item after the other, wrong for what a fold builds up.
const COPYING: &[&str] = &[
    "clojure.core/assoc",
    "clojure.core/conj",
    "clojure.core/dissoc",
    "clojure.core/merge",
    "clojure.core/select-keys",
];

/// The native behind a builtin without effects that takes `count` arguments, one that copies included.
fn copying_native_of(id: BuiltinId, count: usize) -> Option<NativeFn> {
    let entry = registry().get(id);
    match entry.run {
        Run::Native(run) if COPYING.contains(&entry.name) && entry.arity().accepts(count) => Some(run),
        _ => native_of(id, count),
    }
}

/// The native behind a builtin without effects that takes `count` arguments.
pub(super) fn native_of(id: BuiltinId, count: usize) -> Option<NativeFn> {
    static IDS: LazyLock<Vec<BuiltinId>> = LazyLock::new(|| {
        let mut ids: Vec<_> = PURE.iter().filter_map(|name| registry().qualified(name)).collect();
        ids.sort_unstable();
        ids
    });
    let entry = registry().get(id);
    match entry.run {
        Run::Native(run) if IDS.binary_search(&id).is_ok() && entry.arity().accepts(count) => Some(run),
        _ => None,
    }
}

/// A function of one or two arguments as an expression.
pub(super) struct Pure {
    body: Expr,
    /// Fuel for one item, which callers charge.
    pub(super) cost: usize,
    /// Whether it makes something that takes memory.
    makes: bool,
}

impl Pure {
    /// The expression of a function with so many parameters, if it has one.
    pub(super) fn of(heap: &Heap, function: &Closure, params: u8) -> Option<Pure> {
        let args = (0..params).map(Expr::Item).collect();
        let mut follower = Follower { heap, function, copies: params == 1, left: LONGEST, risky: 0 };
        let body = follower.call(args)?;
        let cost = body.size().max(LONGEST - follower.left);
        Some(Pure { cost, makes: body.makes(), body })
    }

    /// The result for an item, or for what a fold has so far and an item.
    #[inline]
    pub(super) fn apply<'i>(&'i mut self, heap: &mut Heap, items: [&'i Value; 2]) -> Res<Cow<'i, Value>> {
        if self.makes {
            heap.work(0)?;
        }
        self.body.eval(heap, items)
    }

    /// Whether the result for an item counts as true.
    #[inline]
    pub(super) fn test(&mut self, heap: &mut Heap, item: &Value) -> Res<bool> {
        if self.makes {
            heap.work(0)?;
        }
        self.body.test(heap, [item, item])
    }
}

/// A function of two arguments that natives can fold with.
pub(super) enum Fold {
    Sum,
    Native(NativeFn),
    Pure(Pure),
}

impl Fold {
    /// Recognises a function.
    pub(super) fn of(heap: &Heap, function: &Value, coll: &Value) -> Option<Fold> {
        const FEW: usize = 8;
        let few = match coll {
            Value::Vec(body) => body.items.len() < FEW,
            Value::Seq(body) => body.as_slice().len() < FEW,
            _ => false,
        };
        match function {
            Value::Builtin(id) if registry().get(*id).name == "clojure.core/+" => Some(Fold::Sum),
            Value::Builtin(id) => native_of(*id, 2).map(Fold::Native),
            Value::Fn(body) if !few && !is_core(body.unit.id) => Pure::of(heap, body, 2).map(Fold::Pure),
            _ => None,
        }
    }

    /// The fold over the items from the one at `from` on; none if the machine must do it.
    pub(super) fn over(&mut self, heap: &mut Heap, init: Value, walk: &Walk, from: usize) -> Option<Value> {
        let mut so_far = init;
        let done = match self {
            Fold::Sum => return sum(heap, so_far, walk, from).ok(),
            Fold::Native(run) => walk.each(from, |item| {
                so_far = run(heap, &mut [std::mem::take(&mut so_far), item.clone()])?;
                Ok(true)
            }),
            Fold::Pure(function) => heap.work_each(function.cost, walk.len() - from).and_then(|()| {
                walk.each(from, |item| {
                    let next = function.apply(heap, [&so_far, item])?.into_owned();
                    so_far = next;
                    Ok(true)
                })
            }),
        };
        done.is_ok().then_some(so_far)
    }
}

/// Most instructions on all ways through a function together.
const LONGEST: usize = 64;

/// Largest expression. What a register holds is repeated wherever it is used, so few instructions may
/// become a tree of any size.
const LARGEST: usize = 128;

/// What a register holds. Expressions that may fail carry a number, to see whether they are used.
#[derive(Clone)]
enum Expr {
    Item(u8),
    Constant(Value),
    Field(Field, Box<Expr>),
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
    Vector(Vec<Expr>),
    Row(Rc<Layout>, Vec<Expr>),
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
    fn test(&mut self, heap: &mut Heap, items: [&Value; 2]) -> Res<bool> {
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
            Expr::If(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.test(heap, items)? { then } else { other };
                way.test(heap, items)
            }
            other => Ok(other.eval(heap, items)?.truthy()),
        }
    }

    fn eval<'i>(&'i mut self, heap: &mut Heap, items: [&'i Value; 2]) -> Res<Cow<'i, Value>> {
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
            | Expr::Arith(id, ..)
            | Expr::Compare(id, ..)
            | Expr::Unary(id, ..)
            | Expr::Bindable(id, ..)
            | Expr::Call(id, ..) => Some(*id),
            _ => None,
        }
    }

    /// What it is made of.
    fn parts(&self) -> &[Expr] {
        match self {
            Expr::Item(_) | Expr::Constant(_) => &[],
            Expr::Field(_, of)
            | Expr::Not(of)
            | Expr::Lookup(_, _, of)
            | Expr::Bindable(_, _, of)
            | Expr::Unary(_, _, _, of) => std::slice::from_ref(of),
            Expr::Arith(_, _, parts) | Expr::Compare(_, _, parts) | Expr::Equal(parts) => &**parts,
            Expr::If(parts) | Expr::IfNil(parts) => &**parts,
            Expr::Call(_, _, parts) | Expr::Vector(parts) | Expr::Row(_, parts) => parts,
        }
    }

    /// Whether it makes something that takes memory.
    fn makes(&self) -> bool {
        matches!(self, Expr::Call(..) | Expr::Vector(_) | Expr::Row(..))
            || self.parts().iter().any(Expr::makes)
    }

    /// How many parts it has, those of its parts included.
    fn size(&self) -> usize {
        1 + self.parts().iter().map(Expr::size).sum::<usize>()
    }

    /// Crosses off the numbers of the expressions that may fail.
    fn cross_off(&self, open: &mut Vec<u32>) {
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

fn evaluated(parts: &mut [Expr], heap: &mut Heap, items: [&Value; 2]) -> Res<Vec<Value>> {
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        values.push(part.eval(heap, items)?.into_owned());
    }
    Ok(values)
}

/// Follows the code of a function.
struct Follower<'f> {
    heap: &'f Heap,
    function: &'f Closure,
    /// Whether builtins that copy may be called.
    copies: bool,
    left: usize,
    risky: u32,
}

impl Follower<'_> {
    /// The result of the function for these arguments.
    fn call(&mut self, args: Vec<Expr>) -> Option<Expr> {
        let func = self.function.unit.unit.funcs.get(self.function.func as usize)?;
        let [arity] = func.arities.as_slice() else { return None };
        if usize::from(arity.params) != args.len() || arity.variadic {
            return None;
        }
        let mut regs: Vec<Option<Expr>> = args.into_iter().map(Some).collect();
        regs.resize(usize::from(arity.registers).max(regs.len()), None);
        self.follow(arity.entry as usize, regs, &mut Vec::new())
    }

    /// The result of the code from `pc` on. `open` are the numbers of expressions that may fail and that
    /// the result must contain.
    fn follow(&mut self, mut pc: usize, mut regs: Vec<Option<Expr>>, open: &mut Vec<u32>) -> Option<Expr> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let op = *self.function.unit.unit.ops.get(pc)?;
            pc += 1;
            let fork = match op {
                Op::Jump { to } => {
                    // A way back would be a loop.
                    if (to as usize) < pc {
                        return None;
                    }
                    pc = to as usize;
                    continue;
                }
                Op::JumpIfNot { src, to } => (read(&regs, src)?, pc, to as usize, Expr::If as Fork),
                Op::JumpIf { src, to } => (read(&regs, src)?, to as usize, pc, Expr::If as Fork),
                Op::JumpIfNil { src, to } => (read(&regs, src)?, to as usize, pc, Expr::IfNil as Fork),
                Op::Return { src } => {
                    let result = read(&regs, src)?;
                    result.cross_off(open);
                    return open.is_empty().then_some(result);
                }
                Op::TailCall { f, n } => {
                    let result = self.applied(&regs, f, usize::from(n), open)?;
                    result.cross_off(open);
                    return open.is_empty().then_some(result);
                }
                _ => match self.test(op, &regs, open)? {
                    Some(test) => {
                        let Op::Jump { to } = *self.function.unit.unit.ops.get(pc)? else { return None };
                        (test, pc + 1, to as usize, Expr::If as Fork)
                    }
                    None => {
                        let (dst, value) = self.step(op, &regs, open)?;
                        if value.size() > LARGEST {
                            return None;
                        }
                        *regs.get_mut(usize::from(dst))? = Some(value);
                        continue;
                    }
                },
            };
            // Both ways from a test, each to its end.
            let (test, then, other, make) = fork;
            if then < pc || other < pc {
                return None;
            }
            test.cross_off(open);
            let then = self.follow(then, regs.clone(), &mut open.clone())?;
            let other = self.follow(other, regs, open)?;
            return Some(make(Box::new([test, then, other])));
        }
    }

    /// A number for an expression that may fail.
    fn number(&mut self, open: &mut Vec<u32>) -> u32 {
        self.risky += 1;
        open.push(self.risky);
        self.risky
    }

    /// What a comparison that skips the next instruction asks; nothing for other instructions.
    #[expect(clippy::option_option, reason = "no comparison is no failure")]
    fn test(&mut self, op: Op, regs: &[Option<Expr>], open: &mut Vec<u32>) -> Option<Option<Expr>> {
        let int = |value: i32| Expr::Constant(Value::Int(value.into()));
        let (kind, a, b) = match op {
            Op::IfEqual { a, b } => {
                return Some(Some(Expr::Equal(Box::new([read(regs, a)?, read(regs, b)?]))));
            }
            Op::IfEqualInt { a, value } => {
                return Some(Some(Expr::Equal(Box::new([read(regs, a)?, int(value)]))));
            }
            Op::IfLess { a, b } => (Compare::Less, read(regs, a)?, read(regs, b)?),
            Op::IfLessEq { a, b } => (Compare::LessEq, read(regs, a)?, read(regs, b)?),
            Op::IfLessInt { a, value } => (Compare::Less, read(regs, a)?, int(value)),
            Op::IfLessEqInt { a, value } => (Compare::LessEq, read(regs, a)?, int(value)),
            Op::IfMoreInt { a, value } => (Compare::Less, int(value), read(regs, a)?),
            Op::IfMoreEqInt { a, value } => (Compare::LessEq, int(value), read(regs, a)?),
            _ => return Some(None),
        };
        Some(Some(Expr::Compare(self.number(open), kind, Box::new([a, b]))))
    }

    /// The result of a call of what is in register `f` with the `n` registers after it.
    fn applied(&mut self, regs: &[Option<Expr>], f: u16, n: usize, open: &mut Vec<u32>) -> Option<Expr> {
        let mut args = many(regs, f.checked_add(1)?, n)?;
        match read(regs, f)? {
            Expr::Constant(Value::Builtin(id)) => self.builtin(id, args, open),
            Expr::Constant(coll @ (Value::Map(_) | Value::Set(_))) if n == 1 => {
                Some(Expr::Lookup(self.number(open), coll, Box::new(args.pop()?)))
            }
            Expr::Constant(key @ Value::Kw(_)) if n == 1 => {
                Some(Expr::Field(Field::new(&key), Box::new(args.pop()?)))
            }
            Expr::Constant(Value::Fn(body)) if !is_core(body.unit.id) => self.inlined(&body, args),
            _ => None,
        }
    }

    fn builtin(&mut self, id: BuiltinId, mut args: Vec<Expr>, open: &mut Vec<u32>) -> Option<Expr> {
        let run = if self.copies { copying_native_of(id, args.len()) } else { native_of(id, args.len()) }?;
        let number = self.number(open);
        let is_pattern = || registry().get(id).name == "prim/bindable-map";
        Some(match Unary::of(id) {
            Some(unary) if args.len() == 1 => Expr::Unary(number, unary, run, Box::new(args.pop()?)),
            None if args.len() == 1 && is_pattern() => Expr::Bindable(number, run, Box::new(args.pop()?)),
            _ => Expr::Call(number, run, args),
        })
    }

    /// The result of another function of the program.
    fn inlined(&mut self, function: &Closure, args: Vec<Expr>) -> Option<Expr> {
        let Follower { heap, copies, left, risky, .. } = *self;
        let mut inner = Follower { heap, function, copies, left, risky };
        let result = inner.call(args)?;
        (self.left, self.risky) = (inner.left, inner.risky);
        Some(result)
    }

    /// What an instruction puts where.
    fn step(&mut self, op: Op, regs: &[Option<Expr>], open: &mut Vec<u32>) -> Option<(u16, Expr)> {
        let linked = &self.function.unit;
        let constant = |at: usize| linked.consts.get(at).cloned().map(Expr::Constant);
        let pair = |a, b| Some(Box::new([read(regs, a)?, read(regs, b)?]));
        Some(match op {
            Op::Nil { dst } => (dst, Expr::Constant(Value::Nil)),
            Op::Bool { dst, value } => (dst, Expr::Constant(Value::Bool(value))),
            Op::Int { dst, value } => (dst, Expr::Constant(Value::Int(i64::from(value)))),
            Op::Const { dst, at } => (dst, constant(at as usize)?),
            Op::Copy { dst, src } | Op::Move { dst, src } => (dst, read(regs, src)?),
            Op::Capture { dst, at } => {
                (dst, Expr::Constant(self.function.captures.get(usize::from(at))?.clone()))
            }
            Op::Add { dst, a, b } => (dst, Expr::Arith(self.number(open), Arith::Add, pair(a, b)?)),
            Op::Sub { dst, a, b } => (dst, Expr::Arith(self.number(open), Arith::Sub, pair(a, b)?)),
            Op::Mul { dst, a, b } => (dst, Expr::Arith(self.number(open), Arith::Mul, pair(a, b)?)),
            Op::AddInt { dst, a, value } => {
                let parts = [read(regs, a)?, Expr::Constant(Value::Int(i64::from(value)))];
                (dst, Expr::Arith(self.number(open), Arith::Add, Box::new(parts)))
            }
            Op::Less { dst, a, b } => (dst, Expr::Compare(self.number(open), Compare::Less, pair(a, b)?)),
            Op::LessEq { dst, a, b } => (dst, Expr::Compare(self.number(open), Compare::LessEq, pair(a, b)?)),
            Op::Equal { dst, a, b } => (dst, Expr::Equal(pair(a, b)?)),
            Op::Not { dst, src } => (dst, Expr::Not(Box::new(read(regs, src)?))),
            Op::Lookup { dst, map, key } => {
                let Expr::Constant(key @ Value::Kw(_)) = constant(usize::from(key))? else { return None };
                (dst, Expr::Field(Field::new(&key), Box::new(read(regs, map)?)))
            }
            Op::CallBuiltin { dst, f, n, id } => {
                let args = many(regs, f.checked_add(1)?, usize::from(n))?;
                (dst, self.builtin(id, args, open)?)
            }
            Op::Call { dst, f, n } => (dst, self.applied(regs, f, usize::from(n), open)?),
            Op::CallGlobal { dst, f, n, at } => {
                let slot = *linked.globals.get(usize::from(at))?;
                let Value::Fn(body) = self.heap.globals.get(slot).clone() else { return None };
                let args = many(regs, f.checked_add(1)?, usize::from(n))?;
                (dst, self.inlined(&body, args)?)
            }
            Op::Vector { dst, first, n } => (dst, Expr::Vector(many(regs, first, usize::from(n))?)),
            Op::Map { dst, first, n } => (dst, row(many(regs, first, 2 * usize::from(n))?)?),
            _ => return None,
        })
    }
}

/// Makes an expression of a test and its two ways.
type Fork = fn(Box<[Expr; 3]>) -> Expr;

fn many(regs: &[Option<Expr>], first: u16, count: usize) -> Option<Vec<Expr>> {
    (0..count).map(|at| read(regs, first.checked_add(u16::try_from(at).ok()?)?)).collect()
}

fn read(regs: &[Option<Expr>], at: u16) -> Option<Expr> {
    regs.get(usize::from(at))?.clone()
}

/// A map of different keywords: all results share their keys.
fn row(parts: Vec<Expr>) -> Option<Expr> {
    let mut fields: Table<Option<Expr>> = Table::default();
    let mut parts = parts.into_iter();
    while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
        let Expr::Constant(key @ Value::Kw(_)) = key else { return None };
        if fields.insert(key, Some(value)).is_some() {
            return None;
        }
    }
    let layout = Rc::new(Layout::of(fields.keys().cloned().collect()));
    let values: Option<Vec<Expr>> = fields.into_iter().map(|(_, value)| value).collect();
    Some(Expr::Row(layout, values?))
}

#[cfg(test)]
mod tests {
    use super::super::trial::check;
    use super::*;

    #[test]
    fn pure_builtins_are_natives_in_the_order_of_their_names() {
        assert!(PURE.is_sorted());
        for name in PURE {
            let id = registry().qualified(name).unwrap_or_else(|| panic!("{name} is not declared"));
            assert!(matches!(registry().get(id).run, Run::Native(_)), "{name} is not native");
        }
    }

    #[test]
    fn functions_without_effects_give_what_calls_give() {
        let each = |function: &str| {
            format!("(nth (mapv {function} (mapv (fn [n] {{:n n :s (str \"s\" n)}}) (range 20))) 5)")
        };
        let cases = [
            ("#(> (:n %) 4)", "true"),
            ("(fn [{:keys [n s]}] {:twice (* 2 n) :s s})", "{:twice 10, :s \"s5\"}"),
            ("(fn [x] (if (even? (:n x)) :even (do :odd)))", ":odd"),
            ("(fn [x] (and (> (:n x) 4) (:s x)))", "\"s5\""),
            ("(fn [x] (or (:missing x) (when-not (:n x) 1) [(:n x) (- (:n x))]))", "[5 -5]"),
            ("(fn [x] (cond (< (:n x) 3) :low (< (:n x) 9) :middle :else :high))", ":middle"),
            ("(let [k 10] (fn [x] (+ k (:n x))))", "15"),
            ("(fn [x] (let [n (:n x)] (loop [i 0] (if (< i n) (recur (inc i)) i))))", "5"),
            ("(fn [x] (count (:s x)))", "2"),
            ("(fn [x] (if-some [v (:none x)] v :nothing))", ":nothing"),
            ("(fn [x] (inc :a) x)", "error: type_error"),
            ("(fn [x] (let [bad (+ 1 (:s x))] (if (:n x) 1 bad)))", "error: type_error"),
            ("(fn [x] (+ 1 (:s x)))", "error: type_error"),
            ("(fn [x] {:a 1 (:n x) 2})", "{:a 1, 5 2}"),
            ("(let [m {5 :five}] (fn [x] (m (:n x))))", ":five"),
            ("(let [m {5 :five}] (fn [x] [(m (:n x)) (#{5} (:n x))]))", "[:five 5]"),
            ("(let [twice (fn [n] (if (< n 0) 0 (* 2 n)))] (fn [x] (inc (twice (:n x)))))", "11"),
            ("(fn [x] (if (= 5 (:n x)) (if (>= (:n x) 5) :yes :less) :no))", ":yes"),
            ("(fn [x] (assoc x :m (:n x)))", "{:n 5, :s \"s5\", :m 5}"),
            ("(fn [x] (if (< (:s x) 1) 1 2))", "error: type_error"),
        ];
        let sources = cases.map(|(function, expected)| (each(function), expected));
        check(&sources.each_ref().map(|(source, expected)| (source.as_str(), *expected)));
    }

    #[test]
    fn functions_of_the_session_are_followed_and_recursion_is_not() {
        check(&[
            ("(do (defn half [n] (/ n 2)) (mapv #(half %) (range 0 20 2)))", "[0 1 2 3 4 5 6 7 8 9]"),
            (
                "(do (defn down [n] (if (> n 0) (down (dec n)) :end)) (set (mapv #(down %) (range 20))))",
                "#{:end}",
            ),
        ]);
    }

    #[test]
    fn a_short_function_may_not_become_a_huge_expression() {
        let bindings: Vec<String> = (1..60).map(|n| format!("x{n} (- (+ x{0} x{0}) x{0})", n - 1)).collect();
        let program = format!("(nth (mapv (fn [x0] (let [{}] x59)) (range 20)) 7)", bindings.join(" "));
        check(&[(program.as_str(), "7")]);
    }

    #[test]
    fn effects_happen_once() {
        check(&[(
            "(let [seen (atom 0)] (mapv (fn [x] (swap! seen inc) (:n x)) (repeat 20 {:n 1})) @seen)",
            "20",
        )]);
    }
}
