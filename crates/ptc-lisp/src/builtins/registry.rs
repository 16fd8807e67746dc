//! All builtins by number and by name.

use std::sync::LazyLock;

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::{Builtin, BuiltinId, FAMILIES, JAVA_FAMILIES, Run};
use crate::names::split_name;

/// The fewest and most arguments of a function; `None` as the most means any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// Counts from 0 to 20 that some arity takes exactly, as bits.
    exact: u32,
    /// The fewest arguments of the variadic arity, if there is one.
    variadic: Option<u8>,
}

impl Arity {
    /// Reads parameter vectors: `[a b] [a b & more]`.
    pub fn parse(params: &str) -> Arity {
        let mut arity = Arity { exact: 0, variadic: None };
        for vector in params.split('[').skip(1) {
            let names: Vec<&str> = vector.trim_end().trim_end_matches(']').split_whitespace().collect();
            match names.iter().position(|&name| name == "&") {
                Some(at) => arity.variadic = u8::try_from(at).ok(),
                None => arity.exact |= 1 << names.len().min(31),
            }
        }
        arity
    }

    /// Whether a call with `count` arguments is right.
    #[inline]
    pub fn accepts(self, count: usize) -> bool {
        (count < 31 && self.exact & (1 << count) != 0)
            || self.variadic.is_some_and(|least| count >= usize::from(least))
    }

    /// The counts in words: `1 or 2`, `at least 1`.
    pub fn describe(self) -> String {
        let exact: Vec<usize> = (0..31).filter(|&count| self.exact & (1 << count) != 0).collect();
        if let Some(least) = self.variadic {
            let first = exact.first().copied().unwrap_or(usize::from(least)).min(usize::from(least));
            return if first == 0 { "any number of".into() } else { format!("at least {first}") };
        }
        let words: Vec<String> = exact.iter().map(usize::to_string).collect();
        match words.split_last() {
            None => "no".into(),
            Some((last, [])) => last.clone(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

/// A builtin as the registry keeps it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The declaration.
    pub decl: Builtin,
    /// The namespace or class: `clojure.core`, `Math`; empty for methods.
    pub ns: &'static str,
    /// The name without namespace.
    pub local: &'static str,
    /// How many arguments it takes; nothing for a constant.
    pub arity: Arity,
}

/// All builtins.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    by_name: HashMap<&'static str, BuiltinId, FixedState>,
    by_local: HashMap<&'static str, BuiltinId, FixedState>,
}

/// Where an unqualified name is looked up, in this order.
const OPEN_NAMESPACES: &[&str] =
    &["clojure.core", "ptc", "clojure.string", "clojure.set", "clojure.walk", "clojure.math"];

/// The registry, made at first use.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::build);
    &REGISTRY
}

impl Registry {
    fn build() -> Registry {
        let java = JAVA_FAMILIES.iter().flat_map(|family| family.iter());
        let declared = FAMILIES.iter().chain(java).flat_map(|family| family.iter());
        let mut registry =
            Registry { entries: Vec::new(), by_name: HashMap::default(), by_local: HashMap::default() };
        for decl in declared {
            registry.add(*decl);
        }
        for decl in crate::core::declarations() {
            registry.add(decl);
        }
        registry
    }

    fn add(&mut self, decl: Builtin) {
        let (ns, local) = match split_name(decl.name) {
            (Some(ns), local) => (ns, local),
            (None, local) => ("", local),
        };
        let id = BuiltinId(u16::try_from(self.entries.len()).expect("fewer than 65,536 builtins"));
        self.entries.push(Entry { decl, ns, local, arity: Arity::parse(decl.params) });
        self.by_name.insert(decl.name, id);
        let rank = |ns: &str| OPEN_NAMESPACES.iter().position(|open| *open == ns);
        if let Some(new) = rank(ns) {
            let taken = self.by_local.get(local).and_then(|&old| rank(self.get(old).ns));
            if taken.is_none_or(|old| new < old) {
                self.by_local.insert(local, id);
            }
        }
    }

    /// A builtin by number.
    #[inline]
    pub fn get(&self, id: BuiltinId) -> &Entry {
        &self.entries[usize::from(id.0)]
    }

    /// A builtin by qualified name (or method name, with its dot).
    pub fn qualified(&self, name: &str) -> Option<BuiltinId> {
        self.by_name.get(name).copied()
    }

    /// A builtin by unqualified name.
    pub fn unqualified(&self, local: &str) -> Option<BuiltinId> {
        self.by_local.get(local).copied()
    }

    /// All builtins in order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (BuiltinId, &Entry)> {
        self.entries
            .iter()
            .enumerate()
            .map(|(at, entry)| (BuiltinId(u16::try_from(at).unwrap_or(u16::MAX)), entry))
    }

    /// Whether it is a native function.
    pub fn is_native(&self, id: BuiltinId) -> bool {
        matches!(self.get(id).decl.run, Run::Native(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_builtins_share_a_name() {
        let mut names: Vec<&str> = registry().iter().map(|(_, entry)| entry.decl.name).collect();
        names.sort_unstable();
        let twice: Vec<&str> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "declared twice: {twice:?}");
    }

    #[test]
    fn arities_are_read_from_parameter_vectors() {
        let arity = Arity::parse("[a] [a b] [a b c & more]");
        assert_eq!([0, 1, 2, 3, 9].map(|count| arity.accepts(count)), [false, true, true, true, true]);
        assert_eq!(Arity::parse("[]").describe(), "0");
        assert_eq!(Arity::parse("[a] [a b]").describe(), "1 or 2");
        assert_eq!(Arity::parse("[& xs]").describe(), "any number of");
        assert_eq!(Arity::parse("[f & xs]").describe(), "at least 1");
    }
}
