//! Emitting instructions: constants, operands, calls.

use hashbrown::HashMap;

use super::{Builder, Result, too_large};
use crate::analyze::node::{Node, NodeKind};
use crate::builtins::{BuiltinId, Run, registry};
use crate::code::{Const, Op, Reg};
use crate::seed::Seeded;

/// Constants and names of definitions, each once.
#[derive(Default)]
pub struct Pool {
    pub consts: Vec<Const>,
    pub globals: Vec<String>,
    texts: HashMap<(u8, String), u32, Seeded>,
    global_index: HashMap<String, u32, Seeded>,
}

impl Pool {
    /// The place of a constant.
    pub fn constant(&mut self, value: &Const) -> u32 {
        let key = match value {
            Const::Str(text) => Some((0, text.clone())),
            Const::Keyword(text) => Some((1, text.clone())),
            Const::Symbol(text) => Some((2, text.clone())),
            _ => None,
        };
        if let Some(at) = key.as_ref().and_then(|key| self.texts.get(key)) {
            return *at;
        }
        let at = u32::try_from(self.consts.len()).unwrap_or(u32::MAX);
        self.consts.push(value.clone());
        if let Some(key) = key {
            self.texts.insert(key, at);
        }
        at
    }

    /// The place of a definition's name.
    pub fn global(&mut self, name: &str) -> u32 {
        if let Some(at) = self.global_index.get(name) {
            return *at;
        }
        let at = u32::try_from(self.globals.len()).unwrap_or(u32::MAX);
        self.globals.push(name.to_owned());
        self.global_index.insert(name.to_owned(), at);
        at
    }
}

/// Builtins that have an instruction of their own when called with two arguments.
fn binary(name: &str, dst: Reg, a: Reg, b: Reg) -> Option<Op> {
    Some(match name {
        "clojure.core/+" => Op::Add { dst, a, b },
        "clojure.core/-" => Op::Sub { dst, a, b },
        "clojure.core/*" => Op::Mul { dst, a, b },
        "clojure.core/<" => Op::Less { dst, a, b },
        "clojure.core/>" => Op::Less { dst, a: b, b: a },
        "clojure.core/<=" => Op::LessEq { dst, a, b },
        "clojure.core/>=" => Op::LessEq { dst, a: b, b: a },
        "clojure.core/=" => Op::Equal { dst, a, b },
        _ => return None,
    })
}

/// Comparisons that have an instruction of their own in a branch.
const COMPARISONS: &[&str] =
    &["clojure.core/<", "clojure.core/<=", "clojure.core/>", "clojure.core/>=", "clojure.core/="];

/// The comparison that says the same of its arguments the other way round.
fn turned(name: &str) -> &str {
    match name {
        "clojure.core/<" => "clojure.core/>",
        "clojure.core/<=" => "clojure.core/>=",
        "clojure.core/>" => "clojure.core/<",
        "clojure.core/>=" => "clojure.core/<=",
        other => other,
    }
}

fn compare_int(name: &str, a: Reg, value: i32) -> Op {
    match name {
        "clojure.core/<" => Op::IfLessInt { a, value },
        "clojure.core/<=" => Op::IfLessEqInt { a, value },
        "clojure.core/>" => Op::IfMoreInt { a, value },
        "clojure.core/>=" => Op::IfMoreEqInt { a, value },
        _ => Op::IfEqualInt { a, value },
    }
}

fn compare_registers(name: &str, a: Reg, b: Reg) -> Op {
    match name {
        "clojure.core/<" => Op::IfLess { a, b },
        "clojure.core/<=" => Op::IfLessEq { a, b },
        "clojure.core/>" => Op::IfLess { a: b, b: a },
        "clojure.core/>=" => Op::IfLessEq { a: b, b: a },
        _ => Op::IfEqual { a, b },
    }
}

/// The integer that a node stands for, if it is small.
fn int(node: &Node) -> Option<i32> {
    match node.kind {
        NodeKind::Const(Const::Int(int)) => i32::try_from(int).ok(),
        _ => None,
    }
}

impl Builder<'_> {
    pub(super) fn emit(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.spans.push(self.span);
        self.ops.len() - 1
    }

    /// The place of the next instruction.
    pub(super) fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    /// Makes the jump at `at` go to the next instruction.
    pub(super) fn land(&mut self, at: usize) {
        let here = self.here();
        if let Some(to) = self.ops[at].target_mut() {
            *to = here;
        }
    }

    pub(super) fn constant(&mut self, value: &Const, dst: Reg) -> Result {
        let op = match value {
            Const::Nil => Op::Nil { dst },
            Const::Bool(value) => Op::Bool { dst, value: *value },
            Const::Int(value) if i32::try_from(*value).is_ok() => Op::Int { dst, value: *value as i32 },
            _ => Op::Const { dst, at: self.compiler.pool.constant(value) },
        };
        self.emit(op);
        Ok(())
    }

    /// A builtin in value position; constants of the Java surface are fetched by a call.
    pub(super) fn builtin_value(&mut self, id: BuiltinId, dst: Reg) -> Result {
        if let Run::Const(_) = registry().get(id).run {
            let mark = self.next;
            let f = self.alloc(1)?;
            self.emit(Op::CallBuiltin { dst, f, n: 0, id });
            self.next = mark;
            return Ok(());
        }
        self.constant(&Const::Builtin(id), dst)
    }

    /// Whether `node` is a local that can be read in its own register, which `later` cannot move away.
    fn is_own(&self, node: &Node, later: Option<&Node>) -> bool {
        let is_simple = |node: &Node| matches!(node.kind, NodeKind::Local(..) | NodeKind::Const(_));
        matches!(node.kind, NodeKind::Local(..)) && later.is_none_or(is_simple)
    }

    /// Whether a register is the newest temporary, which no local has had.
    fn is_fresh(&self, register: Reg) -> bool {
        register + 1 == self.next && !self.locals.contains(&register)
    }

    /// A register that holds the value of `node`: its own if it is a local that `later` cannot move
    /// away, a temporary otherwise.
    fn operand(&mut self, node: &Node, later: Option<&Node>) -> Result<Reg> {
        if let NodeKind::Local(local, _) = node.kind
            && self.is_own(node, later)
        {
            return Ok(self.register(local));
        }
        let register = self.alloc(1)?;
        self.expr(node, register)?;
        Ok(register)
    }

    pub(super) fn call(&mut self, function: &Node, args: &[Node], dst: Reg) -> Result {
        if let Some(done) = self.inline(function, args, dst) {
            return done;
        }
        let mark = self.next;
        let f = self.alloc(args.len() + 1)?;
        let n = u16::try_from(args.len()).map_err(|_| too_large())?;
        if let NodeKind::Global(name) = &function.kind
            && let (Ok(n), Ok(at)) = (u8::try_from(n), u16::try_from(self.compiler.pool.global(name)))
        {
            self.args(args, f)?;
            self.emit(Op::CallGlobal { dst, f, n, at });
            self.next = mark;
            return Ok(());
        }
        let direct = match function.kind {
            NodeKind::Builtin(id) if args.len() <= usize::from(u8::MAX) => Some(id),
            _ => None,
        };
        if direct.is_none() {
            self.expr(function, f)?;
        }
        self.args(args, f)?;
        match direct {
            Some(id) => self.emit(Op::CallBuiltin { dst, f, n: n as u8, id }),
            None => self.emit(Op::Call { dst, f, n }),
        };
        self.next = mark;
        Ok(())
    }

    /// Arguments into the registers after `f`.
    pub(super) fn args(&mut self, args: &[Node], f: Reg) -> Result {
        for (at, arg) in args.iter().enumerate() {
            self.expr(arg, f + 1 + at as u16)?;
        }
        Ok(())
    }

    /// Calls that are one instruction.
    fn inline(&mut self, function: &Node, args: &[Node], dst: Reg) -> Option<Result> {
        let mark = self.next;
        let result = match (&function.kind, args) {
            (NodeKind::Builtin(id), [a, b]) => {
                let name = registry().get(*id).name;
                binary(name, 0, 0, 0).map(|_| self.binary(name, a, b, dst)).or_else(|| match &b.kind {
                    NodeKind::Const(key @ Const::Keyword(_)) if name == "clojure.core/get" => {
                        self.lookup(a, key, dst)
                    }
                    _ if name == "prim/push" => self.push(a, b, dst),
                    _ => None,
                })
            }
            (NodeKind::Builtin(id), [a]) => match registry().get(*id).name {
                "clojure.core/inc" => Some(self.add_int(a, 1, dst)),
                "clojure.core/dec" => Some(self.add_int(a, -1, dst)),
                "clojure.core/not" => Some(self.operand(a, None).map(|src| {
                    self.emit(Op::Not { dst, src });
                })),
                _ => None,
            },
            (NodeKind::Const(key @ Const::Keyword(_)), [map]) => self.lookup(map, key, dst),
            _ => None,
        };
        self.next = mark;
        result
    }

    /// A comparison that is only wanted for a branch: it skips the jump that follows if it holds. The
    /// place of that jump, or `None` if `test` is no such comparison.
    pub(super) fn compare(&mut self, test: &Node) -> Result<Option<usize>> {
        let NodeKind::Call(function, args) = &test.kind else { return Ok(None) };
        let (NodeKind::Builtin(id), [a, b]) = (&function.kind, args.as_slice()) else { return Ok(None) };
        let name = registry().get(*id).name;
        if !COMPARISONS.contains(&name) {
            return Ok(None);
        }
        let outer = std::mem::replace(&mut self.span, test.span);
        let mark = self.next;
        let op = match (int(a), int(b)) {
            (_, Some(value)) => {
                let a = self.operand(a, None)?;
                compare_int(name, a, value)
            }
            (Some(value), _) => {
                let b = self.operand(b, None)?;
                compare_int(turned(name), b, value)
            }
            _ => {
                let a_register = self.operand(a, Some(b))?;
                let b_register = self.operand(b, None)?;
                compare_registers(name, a_register, b_register)
            }
        };
        self.emit(op);
        let jump = self.emit(Op::Jump { to: 0 });
        self.next = mark;
        self.span = outer;
        Ok(Some(jump))
    }

    fn binary(&mut self, name: &str, a: &Node, b: &Node, dst: Reg) -> Result {
        let small = |node: &Node| match node.kind {
            NodeKind::Const(Const::Int(int)) => i16::try_from(int).ok(),
            _ => None,
        };
        match (name, small(a), small(b)) {
            ("clojure.core/+", _, Some(value)) => return self.add_int(a, value, dst),
            ("clojure.core/+", Some(value), _) => return self.add_int(b, value, dst),
            // Not for zero: -0.0 less zero is -0.0, but plus zero it is 0.0.
            ("clojure.core/-", _, Some(value)) if value != i16::MIN && value != 0 => {
                return self.add_int(a, -value, dst);
            }
            _ => {}
        }
        let a_register = match self.is_own(a, Some(b)) {
            // Nothing reads the result's register yet, so the first operand can wait there.
            false if self.is_fresh(dst) => {
                self.expr(a, dst)?;
                dst
            }
            _ => self.operand(a, Some(b))?,
        };
        let b_register = self.operand(b, None)?;
        if let Some(op) = binary(name, dst, a_register, b_register) {
            self.emit(op);
        }
        Ok(())
    }

    /// A vector that nobody reads afterwards, so that it can wait while the item is made.
    fn push(&mut self, vector: &Node, item: &Node, dst: Reg) -> Option<Result> {
        let NodeKind::Local(local, true) = vector.kind else { return None };
        Some(self.owned(item).and_then(|own| {
            let src = self.register(local);
            let mut item = own;
            if own == dst && src != dst {
                item = self.alloc(1)?;
                self.emit(Op::Move { dst: item, src: own });
            }
            if src != dst {
                self.emit(Op::Move { dst, src });
            }
            self.emit(Op::Push { vec: dst, item });
            Ok(())
        }))
    }

    fn add_int(&mut self, a: &Node, value: i16, dst: Reg) -> Result {
        let a = self.operand(a, None)?;
        self.emit(Op::AddInt { dst, a, value });
        Ok(())
    }

    fn lookup(&mut self, map: &Node, key: &Const, dst: Reg) -> Option<Result> {
        let walk = match map.kind {
            NodeKind::Local(local, _) => self.walk_of(local),
            _ => None,
        };
        let key = u16::try_from(self.compiler.pool.constant(key)).ok();
        if let Some(walk) = walk {
            self.emit(match key {
                Some(key) => Op::Field { dst, walk, key },
                None => Op::Item { dst: walk + 1, walk },
            });
            return key.map(|_| Ok(()));
        }
        let key = key?;
        Some(self.operand(map, None).map(|map| {
            self.emit(Op::Lookup { dst, map, key });
        }))
    }
}
