//! From the code of a function to the expression that it computes. The code is followed once, way by way.

use std::rc::Rc;

use super::expr::{Expr, Pipe};
use super::known::FieldLookup;
use super::numeric::{Arith, Compare};
use super::pure::{copying_native_of, native_of};
use super::unary::Unary;
use super::{BuiltinId, registry};
use crate::code::Op;
use crate::heap::Heap;
use crate::machine::is_core;
use crate::value::{Closure, Layout, Table, Value};

/// Most instructions on all ways through a function together.
const LONGEST: usize = 64;

/// Largest expression. What a register holds is repeated wherever it is used, so few instructions may
/// become a tree of any size.
const LARGEST: usize = 128;

/// The expression of a function with so many parameters, if it has one, and how many instructions it took.
pub(super) fn follow(heap: &Heap, function: &Closure, params: u8) -> Option<(Expr, usize)> {
    let mut follower = Follower { heap, function, copies: params == 1, left: LONGEST, risky: 0 };
    let body = follower.call((0..params).map(Expr::Item).collect())?;
    // Parts are evaluated wherever they stand, and a walk is too much to do twice.
    let mut walks = Vec::new();
    body.walks(&mut walks);
    let count = walks.len();
    walks.sort_unstable();
    walks.dedup();
    (walks.len() == count).then_some((body, LONGEST - follower.left))
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
                Op::Return { src, .. } => {
                    let result = read(&regs, src)?;
                    result.cross_off(open);
                    return open.is_empty().then_some(result);
                }
                Op::TailCall { f, n } => {
                    let result = self.applied(&regs, f, usize::from(n), open)?;
                    result.cross_off(open);
                    return open.is_empty().then_some(result);
                }
                Op::Pipe { n } | Op::Fuse { n } => {
                    let end = pc + usize::from(n);
                    let (dst, value) = self.pipe(self.function.unit.unit.ops.get(pc..end)?, &regs, open)?;
                    *regs.get_mut(usize::from(dst))? = Some(value);
                    pc = end;
                    continue;
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
                Some(Expr::Field(FieldLookup::new(&key), Box::new(args.pop()?)))
            }
            Expr::Constant(Value::Fn(body)) if !is_core(body.unit.id) => self.inlined(&body, args, open),
            _ => None,
        }
    }

    fn builtin(&mut self, id: BuiltinId, mut args: Vec<Expr>, open: &mut Vec<u32>) -> Option<Expr> {
        let entry = registry().get(id);
        if let (Some(run), Some(_)) = (entry.quick, entry.part) {
            return Some(Expr::Shortcut(self.number(open), run, args));
        }
        let run = if self.copies { copying_native_of(id, args.len()) } else { native_of(id, args.len()) }?;
        let number = self.number(open);
        let is_pattern = || entry.name == "prim/bindable-map";
        Some(match Unary::of(id) {
            Some(unary) if args.len() == 1 => Expr::Unary(number, unary, run, Box::new(args.pop()?)),
            None if args.len() == 1 && is_pattern() => Expr::Bindable(number, run, Box::new(args.pop()?)),
            // These go over a whole text and make another.
            _ if is_text_walk(entry.name) => Expr::Shortcut(number, run, args),
            _ => Expr::Call(number, run, args),
        })
    }

    /// The result of a chain of calls, and where it goes.
    fn pipe(&mut self, calls: &[Op], regs: &[Option<Expr>], open: &mut Vec<u32>) -> Option<(u16, Expr)> {
        let (Op::CallBuiltin { dst, f: first, .. }, Op::CallBuiltin { f, n, .. }) =
            (calls.last()?, calls.first()?)
        else {
            return None;
        };
        let registers = usize::from(f.checked_sub(*first)?) + usize::from(*n) + 1;
        let (mut places, mut args) = (Vec::new(), Vec::new());
        for (at, call) in calls.iter().enumerate() {
            let Op::CallBuiltin { f, n, .. } = *call else { return None };
            // The last argument of all but the innermost is the result of the call before.
            for arg in 1..=u16::from(n) - u16::from(at > 0) {
                places.push(usize::from((f + arg).checked_sub(*first)?));
                args.push(read(regs, f + arg)?);
            }
        }
        let fits = places.iter().all(|place| *place < registers);
        let pipe = Pipe { calls: calls.into(), places, registers };
        fits.then(|| (*dst, Expr::Pipe(self.number(open), Rc::new(pipe), args)))
    }

    /// The result of another function of the program. Whatever may fail in there is part of it, so it may fail itself.
    fn inlined(&mut self, function: &Closure, args: Vec<Expr>, open: &mut Vec<u32>) -> Option<Expr> {
        let Follower { heap, copies, left, risky, .. } = *self;
        let mut inner = Follower { heap, function, copies, left, risky };
        let result = inner.call(args)?;
        (self.left, self.risky) = (inner.left, inner.risky);
        Some(Expr::Result(self.number(open), Box::new(result)))
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
                (dst, Expr::Field(FieldLookup::new(&key), Box::new(read(regs, map)?)))
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
                (dst, self.inlined(&body, args, open)?)
            }
            Op::Vector { dst, first, n } => (dst, Expr::Vector(many(regs, first, usize::from(n))?)),
            Op::Map { dst, first, n } => (dst, row(many(regs, first, 2 * usize::from(n))?)?),
            _ => return None,
        })
    }
}

/// Builtins that are too much to do twice, as walks over collections are.
fn is_text_walk(name: &str) -> bool {
    const WALKS: [&str; 7] = [
        "clojure.core/re-find",
        "clojure.core/re-matches",
        "clojure.core/re-seq",
        "clojure.string/join",
        "clojure.string/replace",
        "clojure.string/split",
        "clojure.string/split-lines",
    ];
    WALKS.contains(&name)
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
