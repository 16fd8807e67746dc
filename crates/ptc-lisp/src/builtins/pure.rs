//! Functions of a program that natives can run: code that only looks up, compares, computes, chooses and
//! builds, like `#(> (:amount %) 100)` or `(fn [{:keys [a b]}] {:sum (+ a b)})`.
//!
//! The code is followed once, way by way, and becomes an expression; that is evaluated for one item after
//! the other without a call. Only what the code would compute in any case may be computed: where a result
//! that might be an error goes unused, the function is left to the machine.

use std::borrow::Cow;
use std::rc::Rc;

use super::comparing::equals;
use super::known::Field;
use super::vectors::BODY;
use super::{BuiltinId, NativeFn, Run, registry};
use crate::arith;
use crate::code::Op;
use crate::heap::Heap;
use crate::signal::Res;
use crate::value::{Closure, Layout, Table, Value};

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
    "clojure.string/ends-with?",
    "clojure.string/includes?",
    "clojure.string/lower-case",
    "clojure.string/starts-with?",
    "clojure.string/trim",
    "clojure.string/upper-case",
    "prim/bindable-map",
    "prim/nth",
];

/// The native behind a builtin without effects that takes `count` arguments.
pub(super) fn native_of(id: BuiltinId, count: usize) -> Option<NativeFn> {
    let entry = registry().get(id);
    match entry.run {
        Run::Native(run) if PURE.binary_search(&entry.name).is_ok() && entry.arity().accepts(count) => {
            Some(run)
        }
        _ => None,
    }
}

/// A function of one argument as an expression.
pub(super) struct Pure {
    body: Expr,
    /// Fuel for one item.
    cost: usize,
}

impl Pure {
    /// The expression of a function, if it has one.
    pub(super) fn of(function: &Closure) -> Option<Pure> {
        let func = function.unit.unit.funcs.get(function.func as usize)?;
        let [arity] = func.arities.as_slice() else { return None };
        if arity.params != 1 || arity.variadic {
            return None;
        }
        let mut registers = vec![None; usize::from(arity.registers)];
        *registers.first_mut()? = Some(Expr::Item);
        let mut follower = Follower { function, left: LONGEST, risky: 0 };
        let body = follower.follow(arity.entry as usize, registers, &mut Vec::new())?;
        Some(Pure { body, cost: LONGEST - follower.left })
    }

    /// The result for one item.
    #[inline]
    pub(super) fn apply<'i>(&'i mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        heap.work(self.cost)?;
        self.body.eval(heap, item)
    }
}

/// Most instructions on all ways through a function together.
const LONGEST: usize = 64;

type Binary = fn(&Value, &Value) -> Res;
type Test = fn(&Value, &Value) -> Res<bool>;

/// What a register holds. Expressions that may fail carry a number, to see whether they are used.
#[derive(Clone)]
enum Expr {
    Item,
    Constant(Value),
    Field(Field, Box<Expr>),
    Binary(u32, Binary, Box<[Expr; 2]>),
    Test(u32, Test, Box<[Expr; 2]>),
    Equal(Box<[Expr; 2]>),
    Not(Box<Expr>),
    If(Box<[Expr; 3]>),
    IfNil(Box<[Expr; 3]>),
    Call(u32, NativeFn, Vec<Expr>),
    Vector(Vec<Expr>),
    Row(Rc<Layout>, Vec<Expr>),
}

impl Expr {
    fn eval<'i>(&'i mut self, heap: &mut Heap, item: &'i Value) -> Res<Cow<'i, Value>> {
        Ok(Cow::Owned(match self {
            Expr::Item => return Ok(Cow::Borrowed(item)),
            Expr::Constant(value) => return Ok(Cow::Borrowed(value)),
            Expr::Field(field, of) => match of.eval(heap, item)? {
                Cow::Borrowed(value) => return field.of(heap, value),
                Cow::Owned(value) => field.of(heap, &value)?.into_owned(),
            },
            Expr::Binary(_, run, pair) => {
                let [a, b] = &mut **pair;
                run(&*a.eval(heap, item)?, &*b.eval(heap, item)?)?
            }
            Expr::Test(_, run, pair) => {
                let [a, b] = &mut **pair;
                Value::Bool(run(&*a.eval(heap, item)?, &*b.eval(heap, item)?)?)
            }
            Expr::Equal(pair) => {
                let [a, b] = &mut **pair;
                let (a, b) = (a.eval(heap, item)?, b.eval(heap, item)?);
                Value::Bool(equals(heap, &a, &b)?)
            }
            Expr::Not(of) => Value::Bool(!of.eval(heap, item)?.truthy()),
            Expr::If(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.eval(heap, item)?.truthy() { then } else { other };
                return way.eval(heap, item);
            }
            Expr::IfNil(parts) => {
                let [test, then, other] = &mut **parts;
                let way = if test.eval(heap, item)?.is_nil() { then } else { other };
                return way.eval(heap, item);
            }
            Expr::Call(_, run, args) => {
                let mut args = evaluated(args, heap, item)?;
                run(heap, &mut args)?
            }
            Expr::Vector(items) => {
                heap.allocated(BODY + items.len() * size_of::<Value>());
                Value::vector(evaluated(items, heap, item)?)
            }
            Expr::Row(layout, values) => {
                heap.allocated(BODY + values.len() * size_of::<Value>());
                let values = evaluated(values, heap, item)?;
                Value::map(Table::with_layout(layout.clone(), values).unwrap_or_default())
            }
        }))
    }

    /// Crosses off the numbers of the expressions that may fail.
    fn cross_off(&self, open: &mut Vec<u32>) {
        if let Expr::Binary(id, ..) | Expr::Test(id, ..) | Expr::Call(id, ..) = self {
            open.retain(|other| other != id);
        }
        match self {
            Expr::Item | Expr::Constant(_) => {}
            Expr::Field(_, of) | Expr::Not(of) => of.cross_off(open),
            Expr::Binary(_, _, parts) | Expr::Test(_, _, parts) | Expr::Equal(parts) => {
                parts.iter().for_each(|part| part.cross_off(open));
            }
            // The ways were checked where they end; only the test is evaluated in any case.
            Expr::If(parts) | Expr::IfNil(parts) => parts[0].cross_off(open),
            Expr::Call(_, _, parts) | Expr::Vector(parts) | Expr::Row(_, parts) => {
                parts.iter().for_each(|part| part.cross_off(open));
            }
        }
    }
}

fn evaluated(parts: &mut [Expr], heap: &mut Heap, item: &Value) -> Res<Vec<Value>> {
    parts.iter_mut().map(|part| part.eval(heap, item).map(Cow::into_owned)).collect()
}

/// Follows the code of a function.
struct Follower<'f> {
    function: &'f Closure,
    left: usize,
    risky: u32,
}

impl Follower<'_> {
    /// The result of the code from `pc` on. `open` are the numbers of expressions that may fail and that
    /// the result must contain.
    fn follow(&mut self, mut pc: usize, mut regs: Vec<Option<Expr>>, open: &mut Vec<u32>) -> Option<Expr> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let op = *self.function.unit.unit.ops.get(pc)?;
            pc += 1;
            match op {
                Op::Jump { to } => {
                    // A way back would be a loop.
                    if (to as usize) < pc {
                        return None;
                    }
                    pc = to as usize;
                }
                Op::JumpIfNot { src, to } => return self.fork(regs, open, src, pc, to as usize, Expr::If),
                Op::JumpIf { src, to } => return self.fork(regs, open, src, to as usize, pc, Expr::If),
                Op::JumpIfNil { src, to } => return self.fork(regs, open, src, to as usize, pc, Expr::IfNil),
                Op::Return { src } => {
                    let result = read(&regs, src)?;
                    result.cross_off(open);
                    return open.is_empty().then_some(result);
                }
                _ => {
                    let (dst, value) = self.step(op, &mut regs, open)?;
                    *regs.get_mut(usize::from(dst))? = Some(value);
                }
            }
        }
    }

    /// Both ways from a test: `then` and `other` are where they go on.
    fn fork(
        &mut self,
        regs: Vec<Option<Expr>>,
        open: &mut Vec<u32>,
        src: u16,
        then: usize,
        other: usize,
        make: fn(Box<[Expr; 3]>) -> Expr,
    ) -> Option<Expr> {
        let test = read(&regs, src)?;
        test.cross_off(open);
        let then = self.follow(then, regs.clone(), &mut open.clone())?;
        let other = self.follow(other, regs, open)?;
        Some(make(Box::new([test, then, other])))
    }

    /// What an instruction puts where.
    fn step(&mut self, op: Op, regs: &mut [Option<Expr>], open: &mut Vec<u32>) -> Option<(u16, Expr)> {
        let constant = |at: usize| self.function.unit.consts.get(at).cloned().map(Expr::Constant);
        let mut number = || {
            self.risky += 1;
            open.push(self.risky);
            self.risky
        };
        let pair = |a, b| Some(Box::new([read(regs, a)?, read(regs, b)?]));
        let many = |first: u16, count: usize| -> Option<Vec<Expr>> {
            (0..count).map(|at| read(regs, first.checked_add(u16::try_from(at).ok()?)?)).collect()
        };
        Some(match op {
            Op::Nil { dst } => (dst, Expr::Constant(Value::Nil)),
            Op::Bool { dst, value } => (dst, Expr::Constant(Value::Bool(value))),
            Op::Int { dst, value } => (dst, Expr::Constant(Value::Int(i64::from(value)))),
            Op::Const { dst, at } => (dst, constant(at as usize)?),
            Op::Copy { dst, src } | Op::Move { dst, src } => (dst, read(regs, src)?),
            Op::Capture { dst, at } => {
                (dst, Expr::Constant(self.function.captures.get(usize::from(at))?.clone()))
            }
            Op::Add { dst, a, b } => (dst, Expr::Binary(number(), arith::add, pair(a, b)?)),
            Op::Sub { dst, a, b } => (dst, Expr::Binary(number(), arith::sub, pair(a, b)?)),
            Op::Mul { dst, a, b } => (dst, Expr::Binary(number(), arith::mul, pair(a, b)?)),
            Op::AddInt { dst, a, value } => {
                let parts = [read(regs, a)?, Expr::Constant(Value::Int(i64::from(value)))];
                (dst, Expr::Binary(number(), arith::add, Box::new(parts)))
            }
            Op::Less { dst, a, b } => (dst, Expr::Test(number(), arith::less, pair(a, b)?)),
            Op::LessEq { dst, a, b } => (dst, Expr::Test(number(), arith::less_eq, pair(a, b)?)),
            Op::Equal { dst, a, b } => (dst, Expr::Equal(pair(a, b)?)),
            Op::Not { dst, src } => (dst, Expr::Not(Box::new(read(regs, src)?))),
            Op::Lookup { dst, map, key } => {
                let Expr::Constant(key @ Value::Kw(_)) = constant(usize::from(key))? else { return None };
                (dst, Expr::Field(Field::new(&key), Box::new(read(regs, map)?)))
            }
            Op::CallBuiltin { dst, f, n, id } => {
                let run = native_of(id, usize::from(n))?;
                (dst, Expr::Call(number(), run, many(f.checked_add(1)?, usize::from(n))?))
            }
            Op::Vector { dst, first, n } => (dst, Expr::Vector(many(first, usize::from(n))?)),
            Op::Map { dst, first, n } => (dst, row(many(first, 2 * usize::from(n))?)?),
            _ => return None,
        })
    }
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
        ];
        let sources = cases.map(|(function, expected)| (each(function), expected));
        check(&sources.each_ref().map(|(source, expected)| (source.as_str(), *expected)));
    }

    #[test]
    fn effects_happen_once() {
        check(&[(
            "(let [seen (atom 0)] (mapv (fn [x] (swap! seen inc) (:n x)) (repeat 20 {:n 1})) @seen)",
            "20",
        )]);
    }
}
