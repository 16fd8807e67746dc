//! `ns`, `require` and `import`: accepted because models write them; aliases are honoured.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::build::At;
use super::node::Node;
use super::{Analyzer, Result};
use crate::error::{Error, ErrorKind};
use crate::reader::{ReadLimits, read_all};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Namespaces that a program may require, and the short names they have without asking.
const KNOWN: &[(&str, &[&str])] = &[
    ("clojure.core", &["core"]),
    ("clojure.string", &["str", "string"]),
    ("clojure.set", &["set"]),
    ("clojure.walk", &["walk"]),
    ("clojure.edn", &["edn"]),
    ("clojure.math", &["math"]),
    ("clojure.data", &[]),
    ("clojure.pprint", &["pprint", "pp"]),
    ("clojure.test", &[]),
    ("json", &[]),
    ("cheshire.core", &["cheshire"]),
    ("clojure.data.json", &[]),
    ("jsonista.core", &[]),
    ("ptc", &[]),
    ("budget", &[]),
    ("tool", &[]),
    ("prim", &[]),
    ("ptc.impl", &[]),
];

/// Short names that reach several namespaces.
const WIDE: &[(&str, &[&str])] = &[
    ("str", &["clojure.string", "clojure.core", "ptc"]),
    ("string", &["clojure.string", "clojure.core", "ptc"]),
    ("clojure.string", &["clojure.string", "clojure.core", "ptc"]),
    ("set", &["clojure.set", "clojure.core"]),
    ("clojure.set", &["clojure.set", "clojure.core"]),
    ("regex", &["clojure.core", "ptc"]),
    ("Math", &["Math", "ptc", "clojure.core"]),
    ("json", &["json"]),
];

const JAVA_PACKAGES: &[&str] = &[
    "java.lang.",
    "java.time.format.",
    "java.time.temporal.",
    "java.time.",
    "java.util.regex.",
    "java.util.stream.",
    "java.util.concurrent.",
    "java.util.",
    "java.io.",
    "java.nio.file.",
    "java.math.",
    "java.net.http.",
    "java.net.",
    "java.text.",
    "java.security.",
    "clojure.lang.",
];

/// The names a program gave to namespaces and to what is in them.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    /// The namespace the source belongs to; the core library switches it.
    pub current: String,
    aliases: Vec<(String, String)>,
    refers: Vec<(String, String)>,
}

impl Namespaces {
    /// These names, and those that the `require`, `use` and `ns` of a program that ran well have added: what a session hands
    /// on to its next program ([`crate::machine::Machine::set_required`]). A later name replaces an earlier one.
    pub fn after(&self, source: &str) -> Namespaces {
        let mut after = self.clone();
        for form in read_all(source, &ReadLimits::default()).unwrap_or_default() {
            let Some([head, rest @ ..]) = form.as_list() else { continue };
            match head.as_symbol() {
                Some("require" | "use") => after.take_all(rest),
                Some("ns") => {
                    let clauses = rest.iter().filter_map(Form::as_list);
                    clauses.for_each(|clause| after.take_all(clause.get(1..).unwrap_or_default()));
                }
                _ => {}
            }
        }
        after
    }

    fn take_all(&mut self, specs: &[Form]) {
        for spec in specs.iter().map(unquoted) {
            let (FormKind::Vector(items) | FormKind::List(items)) = &spec.kind else { continue };
            if let Some(name) = items.first().and_then(Form::as_symbol) {
                self.take(name, &items[1..]);
            }
        }
    }

    /// Takes the names that the options of a required namespace give.
    fn take(&mut self, name: &str, options: &[Form]) {
        for pair in options.chunks(2) {
            match (pair[0].as_keyword(), pair.get(1)) {
                (Some("as" | "as-alias"), Some(alias)) => {
                    if let Some(alias) = alias.as_symbol() {
                        self.aliases.retain(|(known, _)| known != alias);
                        self.aliases.push((alias.to_owned(), name.to_owned()));
                    }
                }
                (Some("refer" | "only"), Some(names)) => {
                    if let FormKind::Vector(names) | FormKind::List(names) = &names.kind {
                        for local in names.iter().filter_map(Form::as_symbol) {
                            self.refers.retain(|(known, _)| known != local);
                            self.refers.push((local.to_owned(), format!("{name}/{local}")));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The full names `ns` may stand for, in order of preference.
    pub fn expand(&self, ns: &str) -> Vec<String> {
        if let Some((_, full)) = self.aliases.iter().rev().find(|(alias, _)| alias == ns) {
            return expand_known(full);
        }
        expand_known(ns)
    }

    /// The namespace that `ns` is an alias of, or itself.
    pub fn full<'n>(&'n self, ns: &'n str) -> &'n str {
        self.aliases.iter().rev().find(|(alias, _)| alias == ns).map_or(ns, |(_, full)| full)
    }

    /// Whether the program made `ns` an alias itself.
    pub fn is_alias(&self, ns: &str) -> bool {
        self.aliases.iter().any(|(alias, _)| alias == ns)
    }

    /// Whether `ns` is the program's own namespace.
    pub fn is_own(&self, ns: &str) -> bool {
        ns == "user" || ns == self.current
    }

    /// The qualified name that `name` was referred as.
    pub fn referred(&self, name: &str) -> Option<String> {
        self.refers.iter().rev().find(|(known, _)| known == name).map(|(_, full)| full.clone())
    }

    /// A keyword as read, with an alias of `::alias/name` already resolved by the reader's rule.
    pub fn keyword(&self, name: &str) -> String {
        name.to_owned()
    }
}

/// What stands behind a quote.
fn unquoted(spec: &Form) -> &Form {
    match &spec.kind {
        FormKind::Quote(inner) => inner,
        FormKind::List(items) if items.len() == 2 && items[0].as_symbol() == Some("quote") => &items[1],
        _ => spec,
    }
}

fn expand_known(ns: &str) -> Vec<String> {
    if let Some((_, wide)) = WIDE.iter().find(|(short, _)| *short == ns) {
        return wide.iter().map(|full| (*full).to_owned()).collect();
    }
    if let Some((full, _)) = KNOWN.iter().find(|(full, short)| *full == ns || short.contains(&ns)) {
        return vec![(*full).to_owned()];
    }
    vec![simple_class(ns).to_owned()]
}

/// A class name without its package.
pub fn simple_class(name: &str) -> &str {
    JAVA_PACKAGES.iter().find_map(|package| name.strip_prefix(package)).unwrap_or(name)
}

impl Analyzer<'_> {
    /// `(ns name docstring? (:require …) (:import …))`
    pub(super) fn ns(&mut self, items: &[Form], span: Span) -> Result {
        let Some(name) = items.get(1).and_then(Form::as_symbol) else {
            return Err(super::malformed("(ns name (:require …))", span));
        };
        self.check_namespace_free(name, span)?;
        self.namespaces.current = name.to_owned();
        self.clauses(&items[2..])?;
        Ok(Node::nil(span))
    }

    /// `(:require …)` and its like in `ns`.
    pub(super) fn clauses(&mut self, clauses: &[Form]) -> Result<()> {
        for clause in clauses {
            let Some([head, specs @ ..]) = clause.as_list() else { continue };
            match head.as_keyword() {
                Some("require" | "require-macros" | "use") => self.require_all(specs)?,
                Some("import" | "refer-clojure" | "gen-class") => {}
                _ => return Err(super::malformed("(:require …) or (:import …) in ns", clause.span)),
            }
        }
        Ok(())
    }

    /// `(require '[name :as alias])`, `(use 'name)`
    pub(super) fn require(&mut self, items: &[Form], span: Span) -> Result {
        self.require_all(&items[1..])?;
        Ok(Node::nil(span))
    }

    fn require_all(&mut self, specs: &[Form]) -> Result<()> {
        for spec in specs.iter().map(unquoted) {
            match &spec.kind {
                FormKind::Symbol(name) => self.require_one(name, &[], spec.span)?,
                FormKind::Vector(items) | FormKind::List(items) => {
                    let Some(name) = items.first().and_then(Form::as_symbol) else {
                        return Err(super::malformed("[name :as alias] in require", spec.span));
                    };
                    self.require_one(name, &items[1..], spec.span)?;
                }
                FormKind::Keyword(_) => {}
                _ => return Err(super::malformed("[name :as alias] in require", spec.span)),
            }
        }
        Ok(())
    }

    fn require_one(&mut self, name: &str, options: &[Form], span: Span) -> Result<()> {
        let exported = |exports: super::Exports<'_>| exports.prelude.namespace_number(name).is_some();
        let is_server = || match self.world.servers_come_later() {
            true => self.may_be_server(name),
            false => self.world.servers().is_some_and(|all| all.iter().any(|(server, _)| server == name)),
        };
        let known = KNOWN.iter().any(|(full, _)| *full == name)
            || self.world.exports().is_some_and(exported)
            || is_server();
        if !known {
            let names: Vec<&str> = KNOWN.iter().map(|(full, _)| *full).take(8).collect();
            let hint = super::meant::namespace(name).unwrap_or_else(|| {
                format!("available: {}; functions of the program need no namespace", names.join(", "))
            });
            let message = format!("namespace {name} is not available");
            return Err(Error::new(ErrorKind::InvalidForm, message).hint(hint).at(span));
        }
        for pair in options.chunks(2) {
            if let (Some("as" | "as-alias"), Some(alias)) = (pair[0].as_keyword(), pair.get(1))
                && let Some(alias) = alias.as_symbol()
            {
                self.check_namespace_free(alias, span)?;
            }
        }
        self.namespaces.take(name, options);
        Ok(())
    }

    /// `(memory/put :k v)`, `(memory/get :k)`: the draft's spelling of definitions.
    pub(super) fn memory(&mut self, member: &str, items: &[Form], span: Span) -> Result {
        let at = At(span);
        let key = items.get(1).and_then(|key| match &key.kind {
            FormKind::Keyword(name) | FormKind::Str(name) => Some(name.clone()),
            _ => None,
        });
        match (member, key, items.len()) {
            ("put", Some(key), 3) => {
                if !self.is_global(&key) {
                    self.defined.push(key.clone());
                }
                let name = self.gensym("value");
                let define = at.call("%def", [at.sym(&key), at.sym(&name)]);
                let form = at.bind(vec![at.sym(&name), items[2].clone()], [define, at.sym(&name)]);
                self.form(&form, false)
            }
            ("get", Some(key), 2) => Ok(Node::new(super::node::NodeKind::GlobalOrNil(key), span)),
            _ => {
                let error = super::malformed("(memory/put :key value) or (memory/get :key)", span);
                Err(match self.hidden_server("memory", member) {
                    Some(hint) => error.hint(hint),
                    None => error,
                })
            }
        }
    }
}

/// Whether a namespace belongs to the language: nothing else can have its name.
pub fn is_language_namespace(name: &str) -> bool {
    let listed = |(full, short): &(&str, &[&str])| *full == name || short.contains(&name);
    KNOWN.iter().any(listed)
        || WIDE.iter().any(|(short, _)| *short == name)
        || ["user", "memory", "ctx", "data"].contains(&name)
        || language_namespaces().contains(name)
        || super::types::known_class(name).is_some()
}

/// The namespaces and classes that have something.
pub(super) fn language_namespaces() -> &'static BTreeSet<&'static str> {
    static ALL: OnceLock<BTreeSet<&str>> = OnceLock::new();
    ALL.get_or_init(|| crate::builtins::registry().iter().map(|(_, entry)| entry.ns).collect())
}

/// The full name of a namespace that may be given by its short name.
pub fn namespace_name(name: &str) -> String {
    expand_known(name).into_iter().next().unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Namespaces;

    #[test]
    fn names_that_were_required_last() {
        let after = Namespaces::default()
            .after("(ns mine (:require [clojure.set :as s]))")
            .after("(require '[clojure.string :as s :refer [join]] 'json)")
            .after("(def x 1) (require (quote [clojure.walk :as w]))");
        assert_eq!((after.full("s"), after.full("w")), ("clojure.string", "clojure.walk"));
        assert_eq!(after.referred("join").as_deref(), Some("clojure.string/join"));
        assert_eq!(after.aliases.len(), 2, "a later name replaces an earlier one");
        for nothing in ["(inc 1)", "(require", "(require :x [1])", "(let [] (require '[clojure.set :as t]))"]
        {
            let none = Namespaces::default().after(nothing);
            assert!(none.aliases.is_empty() && none.refers.is_empty(), "{nothing}: {none:?}");
        }
    }
}
