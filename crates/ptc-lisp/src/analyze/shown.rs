//! Whether the result of a program is what a function told of what there is. Hosts show more of such a result than of others,
//! and say how to get the rest. Which functions tell what there is stands in their declarations.

use super::node::{Node, NodeKind};
use crate::builtins::{Shown, registry};
use crate::span::Span;

/// Where the call stands whose value is the result of a program, if it tells what there is.
pub(crate) fn discovery(program: &Node) -> Option<Span> {
    match &program.kind {
        NodeKind::Do(forms) => discovery(forms.last()?),
        NodeKind::Let(_, body) => discovery(body),
        NodeKind::Call(function, args) => {
            let NodeKind::Builtin(id) = function.kind else { return None };
            let argument = |at: u8| discovery(args.get(usize::from(at))?);
            match registry().get(id).shown() {
                Shown::Result => None,
                Shown::Discovery => Some(program.span),
                Shown::PartOf(at) => argument(at).map(|_| program.span),
                Shown::Passes(at) => argument(at),
            }
        }
        _ => None,
    }
}
