//! From the core tree to register code.
//!
//! Every local has a register of its own while it is in scope; temporaries come after them, like a
//! stack. A call finds its function in one register and the arguments in those that follow, which are
//! the parameters of the callee's frame: nothing is copied.

mod chain;
mod control;
mod emit;
mod liveness;
mod loops;

use std::sync::Arc;

use crate::analyze::node::{FnNode, Local, Node, NodeKind};
use crate::code::{Arity, Const, Func, Op, Reg, Unit};
use crate::error::{Error, ErrorKind};
use crate::residue::{ArityBody, settle};
use crate::span::Span;
use emit::Pool;
use loops::Target;

type Result<T = ()> = std::result::Result<T, Error>;

/// Compiles a program; its first function is the program itself.
pub fn compile(body: Node, source: Arc<str>) -> Result<Unit> {
    let mut compiler = Compiler::default();
    let arities = vec![crate::analyze::node::ArityNode { params: 0, variadic: false, body }];
    compiler.function(FnNode { name: None, arities, captures: Vec::new() })?;
    Ok(compiler.finish(source))
}

/// Compiles functions one after the other into one unit.
#[derive(Default)]
pub(crate) struct Compiler {
    unit: Unit,
    pool: Pool,
    /// Whether it compiles the core library itself.
    library: bool,
    /// Whether it compiles a prelude.
    prelude: bool,
}

impl Compiler {
    /// A compiler for the core library: its functions hand over to each other, while a program's
    /// function stays on the stack when it calls one, so that errors know the place.
    pub fn for_library() -> Self {
        Compiler { library: true, ..Compiler::default() }
    }

    /// A compiler for preludes: their functions hand over to each other, and the first one of a unit is no
    /// program.
    pub fn for_prelude() -> Self {
        Compiler { prelude: true, ..Compiler::default() }
    }

    /// The finished unit.
    pub fn finish(self, source: Arc<str>) -> Unit {
        Unit { source, consts: self.pool.consts, globals: self.pool.globals, ..self.unit }
    }

    /// Compiles a function, with those that are written in it, and returns its number.
    pub fn function(&mut self, mut node: FnNode) -> Result<u16> {
        // The library itself is what is called where there is no loop.
        if !self.library {
            chain::rewrite(&mut node);
        }
        liveness::mark_function(&mut node);
        self.marked(&node)
    }

    /// Compiles a function whose last uses are marked.
    fn marked(&mut self, node: &FnNode) -> Result<u16> {
        let at = self.reserve(node)?;
        self.fill(at, node, 0)?;
        Ok(at)
    }

    fn reserve(&mut self, node: &FnNode) -> Result<u16> {
        let at = u16::try_from(self.unit.funcs.len()).map_err(|_| too_large())?;
        let captures = u16::try_from(node.captures.len()).map_err(|_| too_large())?;
        self.unit.funcs.push(Func {
            name: node.name.clone(),
            arities: Vec::with_capacity(node.arities.len()),
            captures,
            needs_self: captures > 0,
        });
        Ok(at)
    }

    /// Compiles the arities of a function; `siblings` is the number of the first one of its `letfn`.
    fn fill(&mut self, at: u16, node: &FnNode, siblings: u16) -> Result {
        for arity in &node.arities {
            let params = arity.params + u16::from(arity.variadic);
            let top_level = at == 0 && !self.library && !self.prelude;
            let mut builder = Builder::new(self, params);
            builder.top_level = top_level;
            builder.siblings = siblings;
            builder.tail(&arity.body)?;
            let Builder { mut ops, spans, registers, .. } = builder;
            // The program itself has no caller whose registers lie below.
            if !top_level {
                settle(&mut ops, ArityBody { start: 0, params, registers }, &self.pool.consts);
            }
            self.unit.funcs[usize::from(at)].needs_self |= ops.iter().any(Op::looks_at_self);
            let entry = self.append(ops, spans)?;
            let arity = Arity { params: arity.params, variadic: arity.variadic, registers, entry };
            self.unit.funcs[usize::from(at)].arities.push(arity);
        }
        Ok(())
    }

    /// Adds the code of one arity; its jumps become absolute.
    fn append(&mut self, ops: Vec<Op>, spans: Vec<Span>) -> Result<u32> {
        let entry = u32::try_from(self.unit.ops.len()).map_err(|_| too_large())?;
        if entry == 0 {
            (self.unit.ops, self.unit.spans) = (ops, spans);
            return Ok(entry);
        }
        self.unit.ops.extend(ops.into_iter().map(|mut op| {
            if let Some(to) = op.target_mut() {
                *to += entry;
            }
            op
        }));
        self.unit.spans.extend(spans);
        Ok(entry)
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::ProgramTooLarge, "the program is too large to compile")
        .hint("pass data as data/… instead of writing it into the program")
}

/// The code of one arity being made.
struct Builder<'c> {
    compiler: &'c mut Compiler,
    ops: Vec<Op>,
    spans: Vec<Span>,
    /// Register of each local.
    locals: Vec<Reg>,
    /// The first free register.
    next: Reg,
    /// How many registers are needed at most.
    registers: Reg,
    target: Target,
    /// Whether it is the program itself, which stays on the stack so that errors know the place.
    top_level: bool,
    /// The number of the first function of the `letfn` this one belongs to.
    siblings: u16,
    /// Items of loops that are only where the walk is, and the walks.
    walked: Vec<(Local, Reg)>,
    span: Span,
}

impl<'c> Builder<'c> {
    fn new(compiler: &'c mut Compiler, params: u16) -> Self {
        let registers: Vec<Reg> = (0..params).collect();
        Builder {
            compiler,
            ops: Vec::new(),
            spans: Vec::new(),
            locals: registers.clone(),
            next: params,
            registers: params.max(1),
            target: Target::new(0, registers),
            top_level: false,
            siblings: 0,
            walked: Vec::new(),
            span: Span::default(),
        }
    }

    /// Takes `count` registers in a row.
    fn alloc(&mut self, count: usize) -> Result<Reg> {
        let first = self.next;
        let count = u16::try_from(count).map_err(|_| too_large())?;
        self.next = first.checked_add(count).filter(|next| *next < u16::MAX - 1).ok_or_else(too_large)?;
        self.registers = self.registers.max(self.next);
        Ok(first)
    }

    fn assign(&mut self, local: Local, register: Reg) {
        let at = local as usize;
        if self.locals.len() <= at {
            self.locals.resize(at + 1, Reg::MAX);
        }
        self.locals[at] = register;
    }

    /// The register of a local that has one in what is being made.
    fn bound(&self, local: Local) -> Option<Reg> {
        self.locals.get(local as usize).copied().filter(|register| *register != Reg::MAX)
    }

    fn register(&self, local: Local) -> Reg {
        self.locals[local as usize]
    }

    /// Code that leaves the value of `node` in `dst`.
    fn expr(&mut self, node: &Node, dst: Reg) -> Result {
        let outer = std::mem::replace(&mut self.span, node.span);
        let result = self.expr_inner(node, dst);
        self.span = outer;
        result
    }

    fn expr_inner(&mut self, node: &Node, dst: Reg) -> Result {
        match &node.kind {
            NodeKind::Const(value) => self.constant(value, dst),
            NodeKind::Local(local, _) if let Some(walk) = self.walk_of(*local) => {
                self.emit(Op::Item { dst, walk });
                Ok(())
            }
            NodeKind::Local(local, last) => {
                let src = self.register(*local);
                if src != dst {
                    self.emit(if *last { Op::Move { dst, src } } else { Op::Copy { dst, src } });
                }
                Ok(())
            }
            NodeKind::Capture(at) => {
                self.emit(Op::Capture { dst, at: *at });
                Ok(())
            }
            NodeKind::SelfFn => {
                self.emit(Op::SelfFn { dst });
                Ok(())
            }
            // The functions of a group stand together, and the running one is among them.
            NodeKind::Sibling(at) => {
                self.emit(Op::Sibling { dst, func: self.siblings + at });
                Ok(())
            }
            NodeKind::Global(name) => self.global(name, |at| Op::Global { dst, at }),
            NodeKind::GlobalOrNil(name) => self.global(name, |at| Op::GlobalOrNil { dst, at }),
            NodeKind::HasGlobal(name) => self.global(name, |at| Op::HasGlobal { dst, at }),
            NodeKind::Builtin(id) => self.builtin_value(*id, dst),
            NodeKind::Export(at) => {
                self.emit(Op::Export { dst, at: *at });
                Ok(())
            }
            NodeKind::Data(name) => {
                let at = self.compiler.pool.constant(&Const::Str(name.clone()));
                self.emit(Op::Data { dst, at });
                Ok(())
            }
            NodeKind::Context(name) => {
                let at = self.compiler.pool.constant(&Const::Keyword(name.clone()));
                self.emit(Op::Data { dst, at });
                Ok(())
            }
            NodeKind::History(nth) => {
                self.emit(Op::History { dst, nth: *nth });
                Ok(())
            }
            NodeKind::Call(function, args) => self.call(function, args, dst),
            NodeKind::Vector(items) => self.gather(items, |first, n| Op::Vector { dst, first, n }),
            NodeKind::Set(items) => self.gather(items, |first, n| Op::Set { dst, first, n }),
            NodeKind::Map(pairs) => self.map(pairs, dst),
            NodeKind::Fn(function) => self.closure(function, dst),
            NodeKind::Define(name, value) => {
                let mark = self.next;
                let src = self.alloc(1)?;
                self.expr(value, src)?;
                self.global(name, |at| Op::Define { src, at })?;
                self.next = mark;
                Ok(())
            }
            NodeKind::TakeSlot(local, key) => {
                let mark = self.next;
                let register = self.alloc(1)?;
                self.expr(key, register)?;
                let map = self.register(*local);
                self.emit(Op::TakeSlot { dst, map, key: register });
                self.next = mark;
                Ok(())
            }
            _ => self.control(node, dst),
        }
    }

    fn global(&mut self, name: &str, op: impl FnOnce(u32) -> Op) -> Result {
        let at = self.compiler.pool.global(name);
        self.emit(op(at));
        Ok(())
    }

    /// Values in a row, then an instruction that takes them.
    fn gather(&mut self, items: &[Node], op: impl FnOnce(Reg, u16) -> Op) -> Result {
        let mark = self.next;
        let first = self.alloc(items.len())?;
        for (at, item) in items.iter().enumerate() {
            self.expr(item, first + at as u16)?;
        }
        self.emit(op(first, items.len() as u16));
        self.next = mark;
        Ok(())
    }

    fn map(&mut self, pairs: &[(Node, Node)], dst: Reg) -> Result {
        let mark = self.next;
        let first = self.alloc(pairs.len() * 2)?;
        for (at, (key, value)) in pairs.iter().enumerate() {
            self.expr(key, first + 2 * at as u16)?;
            self.expr(value, first + 2 * at as u16 + 1)?;
        }
        self.emit(Op::Map { dst, first, n: pairs.len() as u16 });
        self.next = mark;
        Ok(())
    }

    fn closure(&mut self, function: &FnNode, dst: Reg) -> Result {
        let func = self.compiler.marked(function)?;
        self.gather(&function.captures, |first, _| Op::Function { dst, first, func })
    }
}
