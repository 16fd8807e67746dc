//! What a symbol stands for.

use super::node::{Node, NodeKind};
use super::{Analyzer, Result, Undefined};
use super::{meant, suggest};
use crate::builtins::registry;
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::names::split_name;
use crate::span::Span;
use crate::syntax::Form;

impl Analyzer<'_> {
    /// A symbol in value position.
    pub(super) fn symbol(&mut self, name: &str, span: Span) -> Result {
        if let Some(node) = self.scopes.resolve(name, span) {
            return Ok(node);
        }
        if let Some(internal) = name.strip_prefix(super::build::INTERNAL) {
            return Ok(self.builtin(internal, span));
        }
        match split_name(name) {
            (Some(ns), local) => self.qualified(ns, local, name, span),
            (None, _) => self.unqualified(name, span),
        }
    }

    fn unqualified(&mut self, name: &str, span: Span) -> Result {
        if let Some(node) = self.sibling(name, span) {
            return node;
        }
        if self.is_global(name) {
            return Ok(Node::new(NodeKind::Global(name.to_owned()), span));
        }
        if let Some(nth) = ["*1", "*2", "*3"].iter().position(|known| *known == name) {
            return Ok(Node::new(NodeKind::History(nth as u16 + 1), span));
        }
        if let Some(full) = self.namespaces.referred(name)
            && let Some(node) = self.declared(&full, span)
        {
            return node;
        }
        if let Some(id) = self.core_name(name) {
            return Ok(Node::new(NodeKind::Builtin(id), span));
        }
        if let Some(node) = self.class_name(name, span) {
            return Ok(node);
        }
        if let Some(error) = self.not_a_value(name) {
            return Err(error.at(span));
        }
        self.undefined(name, span);
        Ok(Node::nil(span))
    }

    /// A function of the core library by unqualified name.
    pub(super) fn core_name(&self, name: &str) -> Option<crate::builtins::BuiltinId> {
        if self.world.is_core() {
            let homes = [self.namespaces.current.as_str(), "ptc.impl"];
            let here = homes.iter().find_map(|ns| registry().qualified(&format!("{ns}/{name}")));
            if here.is_some() {
                return here;
            }
        }
        registry().unqualified(name).or_else(|| name.starts_with('.').then(|| registry().qualified(name))?)
    }

    /// Whether `name` is a definition of this program or an earlier one.
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.scopes.count(self.defined.len());
        self.defined.iter().any(|known| known == name) || self.world.has_global(name)
    }

    /// What a name that was referred to stands for.
    fn declared(&mut self, full: &str, span: Span) -> Option<Result> {
        if let (Some(ns), local) = split_name(full)
            && let Some(node) = self.prelude_member(ns, local, span)
        {
            return Some(node);
        }
        registry().qualified(full).map(|id| Ok(Node::new(NodeKind::Builtin(id), span)))
    }

    fn qualified(&mut self, ns: &str, local: &str, name: &str, span: Span) -> Result {
        match ns {
            "data" if !self.namespaces.is_alias(ns) => {
                return Ok(Node::new(NodeKind::Data(local.to_owned()), span));
            }
            "ctx" if !self.namespaces.is_alias(ns) => {
                return Ok(Node::new(NodeKind::Context(local.to_owned()), span));
            }
            "memory" => return Ok(Node::new(NodeKind::GlobalOrNil(local.to_owned()), span)),
            "tool" => return self.tool(local, span),
            "user" if self.is_global(local) => {
                return Ok(Node::new(NodeKind::Global(local.to_owned()), span));
            }
            "prim" | "ptc.impl" if !self.world.is_core() => {
                return self.unknown_namespace(ns, span);
            }
            _ => {}
        }
        if let Some(node) = self.prelude_member(ns, local, span) {
            return node;
        }
        let full = self.namespaces.expand(ns);
        if local == "concat" && full.iter().any(|ns| ns == "clojure.string") {
            // The alias reaches core functions, but this one would make a sequence of the texts.
            let error = Error::new(ErrorKind::InvalidForm, format!("{name} is not available"));
            return Err(error.hint("write (str a b), or (str/join coll) for a collection").at(span));
        }
        if let Some(id) = full.iter().find_map(|full| registry().qualified(&format!("{full}/{local}"))) {
            return Ok(Node::new(NodeKind::Builtin(id), span));
        }
        // `String/.length` and `String/new`: methods and constructors as values.
        if let Some(class) = super::types::known_class(ns) {
            let member = if local == "new" { format!("{class}.") } else { local.to_owned() };
            if let Some(id) =
                registry().qualified(&member).filter(|_| member != *local || local.starts_with('.'))
            {
                return Ok(Node::new(NodeKind::Builtin(id), span));
            }
        }
        if self.namespaces.is_own(ns) && self.is_global(local) {
            return Ok(Node::new(NodeKind::Global(local.to_owned()), span));
        }
        if let Some(target) = self.upstream_tool(ns, local, span) {
            target?;
            return self.upstream_function(name, span);
        }
        self.no_member(ns, local, name, span)
    }

    fn no_member(&mut self, ns: &str, local: &str, name: &str, span: Span) -> Result {
        let full = self.namespaces.expand(ns);
        let within = |namespaces: &[&String]| -> Vec<&str> {
            let all = registry().iter().map(|(_, entry)| entry);
            all.filter(|entry| namespaces.iter().any(|ns| *ns == entry.ns)).map(|entry| entry.local).collect()
        };
        // An alias may reach core functions too, but what it is for says more.
        let (core, own): (Vec<&String>, Vec<&String>) =
            full.iter().partition(|ns| matches!(ns.as_str(), "clojure.core" | "ptc"));
        let mut members = within(&own);
        if members.is_empty() {
            members = within(&core);
        }
        if members.is_empty()
            && let Some(hint) = self.meant_tool(ns, local)
        {
            let error = Error::new(ErrorKind::InvalidForm, format!("unknown namespace {ns}/"));
            return Err(error.hint(hint).at(span));
        }
        if members.is_empty() {
            return self.unknown_namespace(ns, span);
        }
        members.sort_unstable();
        members.dedup();
        let error = Error::new(ErrorKind::InvalidForm, format!("{name} is not available")).at(span);
        if super::special::is_special(local) {
            return Err(error.hint(format!("{local} is a special form: write it without a namespace")));
        }
        if let Some(hint) = self.hidden_server(ns, local) {
            return Err(error.hint(hint));
        }
        if let Some(hint) = method_of(ns, local) {
            return Err(error.hint(hint));
        }
        if registry().unqualified(local).is_some() {
            return Err(error.hint(format!("write ({local} …) without a namespace")));
        }
        let meant = meant::name(name).or_else(|| meant::name(local));
        let hint = match (suggest::closest(local, members.iter().copied()), meant) {
            (Some(best), _) => format!("did you mean {ns}/{best}?"),
            (None, Some(hint)) => hint,
            (None, None) => {
                let shown: Vec<&str> = members.iter().copied().take(40).collect();
                format!("{ns}/ has: {}", shown.join(", "))
            }
        };
        Err(error.hint(hint))
    }

    /// The hint for `ns/local` where a tool may have been meant, by another word for `tool/` or by its server.
    fn meant_tool(&self, ns: &str, local: &str) -> Option<String> {
        let tools = self.world.tools().unwrap_or_default();
        let granted = crate::prelude::granted_as(tools, local).filter(|tool| !self.world.is_private(tool));
        if let Some(tool) = granted.filter(|tool| *tool != UPSTREAM) {
            return Some(format!("write (tool/{tool} {{:key value}})"));
        }
        if matches!(ns, "tools" | "Tool" | "Tools") {
            return Some(format!("write (tool/{local} {{:key value}})"));
        }
        let calls_upstreams = tools.iter().any(|tool| tool == UPSTREAM) && !self.world.is_private(UPSTREAM);
        let may_be_server = ns.chars().all(|c| c.is_lowercase() || c.is_numeric() || matches!(c, '-' | '_'));
        if !calls_upstreams || !(may_be_server || self.is_server_in_other_letters(ns)) {
            return None;
        }
        self.meant_server(ns, local)
            .or_else(|| Some(format!("if {ns} is an upstream server, write {}", upstream_call(ns, local))))
    }

    fn unknown_namespace(&self, ns: &str, span: Span) -> Result {
        const KNOWN: &str = "namespaces: data/ (inputs), tool/ (tools), str/ set/ walk/ json/ edn/ math/, Java classes \
                             such as Math/ LocalDate/ Integer/; one of a prelude is there only if the prelude is attached";
        let class = || meant::class(super::namespaces::simple_class(ns)).map(str::to_owned);
        let hint = meant::namespace(ns).or_else(class).unwrap_or_else(|| KNOWN.to_owned());
        Err(Error::new(ErrorKind::InvalidForm, format!("unknown namespace {ns}/")).hint(hint).at(span))
    }

    /// `tool/name` in value position.
    pub(super) fn tool(&mut self, name: &str, span: Span) -> Result {
        if self.asks_for_servers(name) {
            return Ok(self.builtin("prim/servers", span));
        }
        let name = self.granted(name, span)?;
        self.manifest.add_mention(&name);
        Ok(Node::new(NodeKind::Const(Const::Tool(name)), span))
    }

    /// Whether `tool/name` is the question for upstream servers and no tool of that name.
    pub(super) fn asks_for_servers(&self, name: &str) -> bool {
        name == "servers" && !self.world.tools().is_some_and(|tools| tools.iter().any(|tool| tool == name))
    }

    /// The tool that `name` stands for in the program's own text.
    pub(super) fn granted(&self, name: &str, span: Span) -> Result<String> {
        let tool = self.granted_to_prelude(name, span)?;
        match self.world.is_private(&tool) {
            false => Ok(tool),
            true => {
                let message =
                    format!("Private tool may only be called by authorized prelude exports: {tool}");
                Err(Error::new(ErrorKind::UnknownTool, message)
                    .hint("call an export of the prelude")
                    .at(span))
            }
        }
    }

    /// The tool that `name` stands for, as it was granted: exact, else with hyphens for underscores.
    pub(super) fn granted_to_prelude(&self, name: &str, span: Span) -> Result<String> {
        let Some(tools) = self.world.tools() else { return Ok(name.to_owned()) };
        if let Some(tool) = crate::prelude::granted_as(tools, name) {
            return Ok(tool.clone());
        }
        let tools: Vec<&str> =
            tools.iter().map(String::as_str).filter(|tool| !self.world.is_private(tool)).collect();
        let error = Error::new(ErrorKind::UnknownTool, format!("unknown tool: {name}")).at(span);
        if let Some((server, tool)) = name.split_once('/')
            && tools.contains(&UPSTREAM)
        {
            return Err(error.hint(format!(
                "tools of upstream servers are functions of their own namespace: write ({server}/{tool} {{…}}) or {}",
                upstream_call(server, tool)
            )));
        }
        let close = suggest::closest(name, tools.iter().copied());
        Err(match (close, tools.as_slice()) {
            (Some(best), _) => error.hint(format!("did you mean tool/{best}?")),
            (None, tools) if tools.contains(&UPSTREAM) => error.hint(format!(
                "tools of upstream servers are called by name: write {}; (apropos \"{name}\") finds the server",
                upstream_call("…", name)
            )),
            (None, []) => error.hint("no tools are available to this program"),
            (None, _) => error.hint(format!("available tools: {}", tools.join(", "))),
        })
    }

    /// `#'name`: the var of a definition or of a function of the core library. Locals have none; what
    /// else a name stands for is its own var.
    pub(super) fn var(&mut self, inner: &Form) -> Result {
        let Some(name) = inner.as_symbol() else {
            return Err(super::malformed("a symbol after #'", inner.span));
        };
        let node = match self.is_global(name) {
            true => Node::new(NodeKind::Global(name.to_owned()), inner.span),
            false => self.symbol(name, inner.span)?,
        };
        let name = match &node.kind {
            NodeKind::Global(name) => name.clone(),
            NodeKind::Builtin(id) => registry().get(*id).name.to_owned(),
            _ => return Ok(node),
        };
        Ok(Node::new(NodeKind::Const(Const::Var(name)), inner.span))
    }

    /// Keeps an undefined name, with the local that may have been meant, for one error about all.
    fn undefined(&mut self, name: &str, span: Span) {
        if self.undefined.iter().any(|known| known.name == name) {
            return;
        }
        match self.undefined.len() < UNDEFINED_SHOWN {
            true => {
                let owner = name.split_once('.').map(|(owner, _)| owner);
                let own = self.scopes.names().find(|local| Some(*local) == owner);
                let near = own.or_else(|| suggest::closest(name, self.scopes.names())).map(str::to_owned);
                self.undefined.push(Undefined { name: name.to_owned(), span, near });
            }
            false => self.more_undefined = true,
        }
    }

    /// One error for all undefined names.
    pub(super) fn undefined_error(&mut self) -> Error {
        let names: Vec<&str> = self.undefined.iter().map(|undefined| undefined.name.as_str()).collect();
        let message = match names.as_slice() {
            [one] => format!("undefined name: {one}"),
            many if self.more_undefined => format!("undefined names: {} and more", many.join(", ")),
            many => format!("undefined names: {}", many.join(", ")),
        };
        let near = self.near();
        let hint = |undefined: &Undefined| self.hint_for(undefined, &near);
        let hints: Vec<String> = self.undefined.iter().filter_map(hint).collect();
        let mut error = Error::new(ErrorKind::UnboundVar, message);
        for undefined in &self.undefined {
            error = match error.span {
                None => error.at(undefined.span),
                Some(_) => error.note(undefined.span, format!("{} is not defined either", undefined.name)),
            };
        }
        if hints.is_empty() { error } else { error.hint(hints.join("; ")) }
    }

    /// An error for each undefined name.
    pub(super) fn undefined_errors(&self) -> Vec<Error> {
        let near = self.near();
        let error = |undefined: &Undefined| {
            let message = format!("undefined name: {}", undefined.name);
            let error = Error::new(ErrorKind::UnboundVar, message).at(undefined.span);
            match self.hint_for(undefined, &near) {
                Some(hint) => error.hint(hint),
                None => error,
            }
        };
        self.undefined.iter().map(error).collect()
    }

    /// A hint for an undefined name. A tool that the program is granted itself comes before tools of upstreams.
    fn hint_for(&self, undefined: &Undefined, near: &suggest::Near) -> Option<String> {
        let granted = crate::prelude::granted_as(&near.tools, &undefined.name).is_some();
        let word = || self.bare_server(&undefined.name).or_else(|| self.other_word(&undefined.name));
        let upstream = if granted { None } else { self.bare_tool(&undefined.name).or_else(word) };
        upstream.or_else(|| suggest::for_undefined(undefined, near))
    }

    /// What may have been meant by names that nothing defines.
    fn near(&self) -> suggest::Near {
        let mut globals = self.world.globals();
        globals.extend(self.defined.iter().cloned());
        let granted = self.world.tools().unwrap_or_default().iter();
        let tools = granted.filter(|tool| !self.world.is_private(tool)).cloned().collect();
        suggest::Near { globals, tools, inputs: self.world.inputs() }
    }
}

/// The tool that calls the tools of upstream servers.
pub(super) const UPSTREAM: &str = "call";

/// A call of an upstream's tool, as a program writes it.
pub(crate) fn upstream_call(server: &str, tool: &str) -> String {
    format!("(tool/{UPSTREAM} {{:server \"{server}\" :tool \"{tool}\" :args {{…}}}})")
}

/// How many undefined names an error lists.
const UNDEFINED_SHOWN: usize = 8;

/// The hint for a method that is written behind the name of its class or a constant of it: `ChronoUnit/DAYS/between`.
fn method_of(class: &str, local: &str) -> Option<String> {
    if let Some((constant, method)) = local.split_once(['/', '.']) {
        let known = registry().qualified(&format!("{class}/{constant}")).is_some()
            && registry().qualified(&format!(".{method}")).is_some();
        return known.then(|| format!("write (.{method} {class}/{constant} …)"));
    }
    (class == "ChronoUnit" && local == "between").then(|| "write (.between ChronoUnit/DAYS a b)".to_owned())
}
