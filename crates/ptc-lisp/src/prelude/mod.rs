//! Capability preludes: namespaces of functions and constants that a host gives to programs.
//!
//! [`Prelude::compile`] turns sources into an artifact that never changes. It is plain data, so any number of
//! machines on any number of threads share one; what a machine runs of it is linked once per thread (see
//! `machine/attached.rs`), and a program that uses nothing of it pays nothing for it.
//!
//! Compilation, in order: `outline.rs` reads declarations, `dependencies.rs` resolves qualified names, `compile.rs` compiles
//! each definition to a unit of its own, `requires.rs` and `export.rs` infer what exports need, `constants.rs` evaluates
//! constants, `hashes.rs` seals the artifact. `analyze/exports.rs` resolves its names in programs. Code refers to
//! definitions of a prelude by number (`Op::Export`), so a program cannot redefine them, and they are not among the
//! definitions of a session.

mod compile;
mod constants;
mod dependencies;
mod doctests;
mod export;
mod grants;
mod hashes;
mod inventory;
mod metadata;
mod outline;
mod policy;
mod problem;
mod requires;
mod source_text;
mod trace;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;

use crate::analyze::ToolUse;
use crate::code::{Const, Unit};
use crate::limits::Limits;
use crate::names::Names;
use crate::seed::Seeded;
use crate::span::Span;

pub use doctests::{Doctest, Verdict};
pub use export::{Export, Kind};
pub(crate) use grants::granted_as;
pub use grants::{Grants, Missing, Offer, Operation, Upstreams};
pub use metadata::{Effect, Visibility};
pub use outline::{Namespace, Params, RESERVED};
pub use policy::Policy;
pub use problem::{Problem, Reason};
pub use trace::Component;

/// One source of a prelude.
#[derive(Clone, Copy, Debug, Default)]
pub struct Source<'s> {
    /// What it is called in messages and traces.
    pub id: &'s str,
    /// Its text.
    pub text: &'s str,
    /// The ids of other sources whose namespaces it may use.
    pub needs: &'s [String],
    /// Where it comes from, for traces: `memory`, the name of a file, a version in a store.
    pub origin: &'s str,
}

impl<'s> Source<'s> {
    /// A source that needs no other.
    pub fn new(id: &'s str, text: &'s str) -> Self {
        Source { id, text, needs: &[], origin: "memory" }
    }
}

/// How a prelude is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// What computing all constants together may use, and how large the sources may be.
    pub limits: Limits,
    /// What the host takes away from what the sources show.
    pub policy: Policy,
}

impl Default for Options {
    fn default() -> Self {
        let limits = Limits { fuel: 10_000_000, memory: 10 << 20, tool_calls: 0, ..Limits::default() };
        Options { limits, policy: Policy::default() }
    }
}

/// What a definition runs as.
#[derive(Clone, Debug)]
pub(crate) enum Code {
    /// The first function of a unit of its own.
    Function(Arc<Unit>),
    /// A value.
    Constant(Const),
}

/// A definition of a prelude.
#[derive(Debug)]
pub(crate) struct Definition {
    pub ns: usize,
    pub part: usize,
    /// Its name with and without the namespace.
    pub full: String,
    pub name: String,
    pub private: bool,
    pub kind: Kind,
    pub params: Vec<Params>,
    pub doc: Option<String>,
    /// Where it stands in its source.
    pub span: Span,
    meta: metadata::Metadata,
    /// The tools that its own text calls.
    uses: Vec<ToolUse>,
    /// The definitions that its own text mentions.
    calls: Vec<u32>,
    /// Set when it has been compiled.
    pub code: OnceLock<Code>,
}

impl Definition {
    pub fn is_constant(&self) -> bool {
        self.kind == Kind::Constant
    }
}

/// A compiled prelude.
#[derive(Debug)]
pub struct Prelude {
    namespaces: Vec<Namespace>,
    definitions: Vec<Definition>,
    /// Numbers of definitions by name, for each namespace.
    members: Vec<HashMap<String, u32, Seeded>>,
    exports: Vec<Export>,
    /// What exports require of every run, with or without upstreams: by place of the export.
    local_requires: Vec<(usize, Operation)>,
    /// The servers behind the upstream operations that exports require.
    servers: Vec<String>,
    components: Vec<Component>,
    /// The texts of the sources, in order.
    texts: Vec<Arc<str>>,
    /// Every name that its code and constants use, so that what is linked once fits all machines.
    names: Arc<Names>,
    /// The keywords with hyphens that its definitions write as keys of maps.
    written: BTreeSet<String>,
    policy: Policy,
    policy_hash: Option<String>,
    source_hash: String,
    artifact_hash: String,
}

impl Prelude {
    /// Compiles sources, which are taken in order.
    pub fn compile(parts: &[Source<'_>], options: &Options) -> Result<Prelude, Problem> {
        compile::compile(parts, options)
    }

    /// Compiles one source.
    pub fn compile_text(text: &str) -> Result<Prelude, Problem> {
        Self::compile(&[Source::new("", text)], &Options::default())
    }

    /// The hash of the sources.
    pub fn source_hash(&self) -> &str {
        &self.source_hash
    }

    /// The hash of what the sources were compiled to: namespaces, exports, constants and the policy of the
    /// host. Equal hashes mean that programs cannot tell the two apart.
    pub fn artifact_hash(&self) -> &str {
        &self.artifact_hash
    }

    /// The protected namespaces, in order of declaration.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// The public exports, in order of definition.
    pub fn exports(&self) -> &[Export] {
        &self.exports
    }

    /// The export with a qualified name.
    pub fn export(&self, name: &str) -> Option<&Export> {
        self.exports.iter().find(|export| export.name == name)
    }

    /// The sources that it was made of.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The sources that it was compiled from, to compile them again with others or under another policy.
    pub fn sources(&self) -> Vec<Source<'_>> {
        self.components
            .iter()
            .zip(&self.texts)
            .map(|(part, text)| Source { id: &part.id, text, needs: &part.needs, origin: &part.origin })
            .collect()
    }

    /// What the host took away from what the sources show.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Why programs may not call what its source shows, if they may not.
    pub(crate) fn withheld(&self, name: &str) -> Option<&str> {
        self.policy.withheld.get(name).map(String::as_str)
    }

    /// Whether lists leave a namespace out.
    pub(crate) fn is_masked(&self, ns: &str) -> bool {
        self.policy.masked.iter().any(|masked| masked == ns)
    }

    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    pub(crate) fn namespace_number(&self, name: &str) -> Option<usize> {
        self.namespaces.iter().position(|ns| ns.name == name)
    }

    /// The number of a definition, public or not.
    pub(crate) fn member(&self, ns: usize, name: &str) -> Option<u32> {
        self.members.get(ns)?.get(name).copied()
    }

    /// The number of a definition by qualified name, public or not.
    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        let (ns, local) = crate::names::split_name(name);
        self.member(self.namespace_number(ns?)?, local)
    }

    pub(crate) fn count(&self) -> usize {
        self.definitions.len()
    }

    /// A definition by number, which [`Prelude::member`] and [`Prelude::find`] give.
    pub(crate) fn definition(&self, number: u32) -> &Definition {
        &self.definitions[number as usize]
    }

    /// A definition by a number that came from outside.
    pub(crate) fn get(&self, number: u32) -> Option<&Definition> {
        self.definitions.get(number as usize)
    }

    pub(crate) fn public_names(&self, ns: usize) -> impl Iterator<Item = &str> {
        let public = self.definitions.iter().filter(move |it| it.ns == ns && !it.private);
        public.map(|it| it.name.as_str())
    }
}
