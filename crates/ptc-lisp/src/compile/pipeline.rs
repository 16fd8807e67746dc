//! Chains of calls that natives may do in one pass: `(reduce + (map :amount (filter paid? orders)))`.
//!
//! The arguments are evaluated in the usual order into the usual registers: the collection is the last
//! argument of each call, so all calls come after all arguments. Before the calls stands `Op::Pipe`, which
//! does them all at once and skips them if it can.

use super::{Builder, Result};
use crate::analyze::node::{Node, NodeKind};
use crate::builtins::{BuiltinId, registry};
use crate::code::{Op, Reg};

/// Most calls in one chain.
const LONGEST: usize = 16;

/// The builtin that a call is of, if it can be inside of a chain.
fn stage(node: &Node) -> Option<(BuiltinId, &[Node])> {
    let NodeKind::Call(function, args) = &node.kind else { return None };
    let NodeKind::Builtin(id) = function.kind else { return None };
    registry().get(id).part.filter(|part| part.is_stage(args.len())).map(|_| (id, args.as_slice()))
}

impl Builder<'_> {
    /// The code for a chain that ends with this call, if it is one.
    pub(super) fn pipeline(&mut self, function: &Node, args: &[Node], dst: Reg) -> Option<Result> {
        let NodeKind::Builtin(id) = function.kind else { return None };
        registry().get(id).part.filter(|part| part.is_end(args.len()))?;
        // The library itself calls what natives do not know.
        let is_chain = !self.compiler.library && args.last().and_then(stage).is_some();
        is_chain.then(|| self.chain(id, args, dst))
    }

    fn chain(&mut self, id: BuiltinId, args: &[Node], dst: Reg) -> Result {
        let (mark, outer) = (self.next, self.span);
        let (mut id, mut args, mut dst) = (id, args, dst);
        let mut calls = Vec::new();
        loop {
            let f = self.alloc(args.len() + 1)?;
            let n = args.len() as u8;
            calls.push((self.span, Op::CallBuiltin { dst, f, n, id }));
            let Some((coll, before)) = args.split_last() else { break };
            self.args(before, f)?;
            dst = f + u16::from(n);
            match stage(coll).filter(|_| calls.len() < LONGEST) {
                Some((next, inner)) => {
                    self.span = coll.span;
                    (id, args) = (next, inner);
                }
                None => {
                    self.expr(coll, dst)?;
                    break;
                }
            }
        }
        self.span = outer;
        self.emit(Op::Pipe { n: calls.len() as u8 });
        for (span, call) in calls.into_iter().rev() {
            self.span = span;
            self.emit(call);
        }
        self.span = outer;
        self.next = mark;
        Ok(())
    }
}
