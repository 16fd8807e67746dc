//! Names of preludes: what they stand for in programs and inside the prelude itself, and which of them
//! programs must leave alone.

use super::node::{Node, NodeKind};
use super::resolve::UPSTREAM;
use super::{Analyzer, Result, ToolUse, suggest};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::names::split_name;
use crate::prelude::{Code, Prelude};
use crate::span::Span;

/// The prelude whose names can be used, and from where.
#[derive(Clone, Copy, Debug)]
pub struct Exports<'p> {
    /// The prelude.
    pub(crate) prelude: &'p Prelude,
    /// The namespace being compiled, whose definitions have plain names; programs are in none.
    pub(crate) home: Option<usize>,
}

impl<'a> Analyzer<'a> {
    fn exports(&self) -> Option<Exports<'a>> {
        let world: &'a dyn super::World = self.world;
        world.exports()
    }

    /// Whether `name` is a definition of the namespace being compiled.
    pub(super) fn is_sibling(&self, name: &str) -> bool {
        self.sibling_number(name).is_some()
    }

    fn sibling_number(&self, name: &str) -> Option<u32> {
        let exports = self.exports()?;
        exports.prelude.member(exports.home?, name)
    }

    /// A definition of the namespace being compiled, by its plain name.
    pub(super) fn sibling(&mut self, name: &str, span: Span) -> Option<Result> {
        self.sibling_number(name).map(|number| self.export(number, span))
    }

    /// `ns/name` where `ns` is a namespace of the prelude.
    pub(super) fn prelude_member(&mut self, ns: &str, name: &str, span: Span) -> Option<Result> {
        let Exports { prelude, home } = self.exports()?;
        let ns = self.namespaces.full(ns).to_owned();
        let at = prelude.namespace_number(&ns)?;
        // What is withheld from programs is there for other parts of the prelude.
        let withheld = prelude.withheld(&format!("{ns}/{name}"));
        let visible =
            |number: &u32| !prelude.definition(*number).private || (home.is_some() && withheld.is_some());
        match prelude.member(at, name).filter(visible) {
            Some(number) => Some(self.export(number, span)),
            None => {
                let message = match withheld {
                    Some(why) => format!("{ns}/{name} may not be called: {why}"),
                    None => format!("{ns}/{name} is not a public export of {ns}"),
                };
                let error = Error::new(ErrorKind::InvalidForm, message);
                let public = prelude.public_names(at);
                let near = suggest::closest(name, public).map(|best| format!("did you mean {ns}/{best}? "));
                let hint = format!("{}(ns-publics '{ns}) lists all", near.unwrap_or_default());
                Some(Err(error.hint(hint).at(span)))
            }
        }
    }

    /// A definition of the prelude. A program may call whatever it may call.
    fn export(&mut self, number: u32, span: Span) -> Result {
        self.scopes.count(self.used.len());
        if let Some(exports) = self.exports()
            && !self.used.contains(&number)
        {
            let inside = exports.home.is_some();
            let (name, uses) = match inside {
                true => (String::new(), Vec::new()),
                false => (exports.prelude.definition(number).full.clone(), exports.prelude.uses(number)),
            };
            self.used.push(number);
            for mut tool_use in uses {
                tool_use.tool = self.granted_to_prelude(&tool_use.tool, span).map_err(|error| {
                    let message = format!("{name} calls tool/{}, which is not granted", tool_use.tool);
                    Error { message, hint: Some(not_granted(&tool_use)), ..error }
                })?;
                self.scopes.count(self.manifest.uses.len());
                self.manifest.add_through(tool_use);
            }
        }
        Ok(Node::new(NodeKind::Export(number), span))
    }

    /// Constants are values and may be called without arguments; some can be called with them.
    pub(super) fn constant_call(&self, function: &Node, count: usize, span: Span) -> Result<Option<Node>> {
        let (NodeKind::Export(number), Some(exports)) = (&function.kind, self.exports()) else {
            return Ok(None);
        };
        let definition = exports.prelude.definition(*number);
        if !definition.is_constant() {
            return Ok(None);
        }
        if count == 0 {
            return Ok(Some(function.clone()));
        }
        match definition.code.get() {
            Some(Code::Constant(Const::Map(_) | Const::Set(_) | Const::Vector(_) | Const::Keyword(_)))
            | None => Ok(None),
            _ => {
                let message = format!("{} is a constant, not a function", definition.full);
                Err(Error::new(ErrorKind::NotCallable, message)
                    .hint(format!("write {} without arguments", definition.full))
                    .at(span))
            }
        }
    }

    /// The arities of a function of the prelude, its name and how to call it.
    pub(super) fn export_arities(&self, number: u32) -> Option<(String, super::Arities, String)> {
        let definition = self.exports()?.prelude.definition(number);
        let arities =
            definition.params.iter().map(|params| (params.fixed.len(), params.rest.is_some())).collect();
        let usage: Vec<String> = definition.params.iter().map(ToString::to_string).collect();
        (!definition.is_constant()).then(|| (definition.full.clone(), arities, usage.join(" ")))
    }

    /// Refuses to define what belongs to a prelude.
    pub(super) fn check_unprotected(&self, name: &str, span: Span) -> Result<()> {
        let (Some(ns), local) = split_name(name) else { return Ok(()) };
        let Some(exports) = self.exports() else { return Ok(()) };
        let ns = self.namespaces.full(ns);
        let Some(at) = exports.prelude.namespace_number(ns) else { return Ok(()) };
        let exported =
            exports.prelude.member(at, local).is_some_and(|it| !exports.prelude.definition(it).private);
        let message = match exported {
            true => {
                format!("cannot redefine {ns}/{local}: it is a public export of the protected namespace {ns}")
            }
            false => format!("cannot define {ns}/{local}: {ns} is a protected namespace"),
        };
        Err(Error::new(ErrorKind::InvalidForm, message).hint("define a plain name of your own").at(span))
    }

    /// Refuses to enter a namespace of the prelude, or to give its name to another.
    pub(super) fn check_namespace_free(&self, ns: &str, span: Span) -> Result<()> {
        let taken = self.exports().is_some_and(|exports| exports.prelude.namespace_number(ns).is_some());
        match taken {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::InvalidForm, format!("{ns} is a protected namespace"))
                .hint("a prelude owns it: call its exports by qualified name, define names of your own without a namespace")
                .at(span)),
        }
    }
}

/// What to do about a tool that an export calls and a program has not.
fn not_granted(tool_use: &ToolUse) -> String {
    let text = |name: &str| tool_use.args.as_ref()?.get(name)?.as_str();
    match (text("server"), text("tool")) {
        (Some(server), Some(tool)) if tool_use.tool == UPSTREAM => {
            format!(
                "it needs the tool {tool} of the upstream server {server}: run it with upstreams, or do without it"
            )
        }
        _ => "ask the host for that tool, or do without it".to_owned(),
    }
}
