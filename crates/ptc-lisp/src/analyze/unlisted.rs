//! Tools of servers in preludes, which are compiled before anybody knows servers: `(server/tool {…})` means the same as in
//! programs, and the server is whatever namespace is nothing else. Whether it is there is asked when the prelude is
//! attached, so slips that can be told apart are told here.

use super::namespaces::language_namespaces;
use super::resolve::upstream_call;
use super::upstream::UpstreamTool;
use super::{Analyzer, Result, meant, suggest};
use crate::builtins::registry;
use crate::error::{Error, ErrorKind};
use crate::span::Span;

/// Programs give namespaces of the language names that are this long at most.
const ALIAS: usize = 3;

impl Analyzer<'_> {
    /// The tool that `ns/local` names if `ns` may be a server.
    pub(super) fn unlisted_tool(&self, ns: &str, local: &str, span: Span) -> Option<Result<UpstreamTool>> {
        if !self.may_be_server(ns) {
            return None;
        }
        Some(match self.meant_namespace(ns, local) {
            None => Ok(UpstreamTool { server: ns.to_owned(), tool: local.to_owned() }),
            Some(meant) => {
                let server = upstream_call(ns, local);
                let error = Error::new(ErrorKind::InvalidForm, format!("unknown namespace {ns}/"));
                Err(error.hint(format!("{meant}; for a tool of a server {ns} write {server}")).at(span))
            }
        })
    }

    /// Whether a server may have the name of this namespace: it is nothing else, and no class or package.
    pub(super) fn may_be_server(&self, ns: &str) -> bool {
        let starts_small = ns.starts_with(|c: char| c.is_lowercase());
        starts_small
            && ns.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
            && ns != "tools"
            && !self.namespaces.is_own(ns)
            && !self.is_taken(ns)
    }

    /// What was likely meant by a namespace that is neither one of the language nor of the prelude.
    fn meant_namespace(&self, ns: &str, local: &str) -> Option<String> {
        if let Some(hint) = meant::namespace(ns) {
            return Some(hint);
        }
        let own = |prelude: &crate::prelude::Prelude| {
            let names = prelude.namespaces().iter().map(|known| known.name.as_str());
            let near = suggest::closest(ns, names)?.to_owned();
            prelude.find(&format!("{near}/{local}")).map(|_| near)
        };
        if let Some(near) = self.world.exports().and_then(|exports| own(exports.prelude)) {
            return Some(format!("did you mean {near}/{local}?"));
        }
        let near = language_namespace_near(ns, local)?;
        Some(format!("did you mean {near}/{local}?"))
    }
}

/// The namespace of the language with a function of this name that a name looks like, or may be a short name of.
fn language_namespace_near(ns: &str, local: &str) -> Option<&'static str> {
    let with_local = |home: &&&'static str| {
        // Classes are written with a capital letter, and servers here are not.
        home.starts_with(|c: char| c.is_lowercase())
            && !matches!(**home, "prim" | "ptc.impl")
            && registry().qualified(&format!("{home}/{local}")).is_some()
    };
    let homes: Vec<&'static str> = language_namespaces().iter().filter(with_local).copied().collect();
    let last = |home: &'static str| home.rsplit('.').next().unwrap_or(home);
    let looks_like = |home: &&&'static str| suggest::closest(ns, [last(home), **home].into_iter()).is_some();
    let initials = |home: &&&'static str| ns.len() <= ALIAS && last(home).starts_with(ns);
    homes.iter().find(looks_like).or_else(|| homes.iter().find(initials)).copied()
}
