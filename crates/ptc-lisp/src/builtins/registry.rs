//! All builtins by number and by name.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;

use super::chain_part::ChainPart;
use super::{Builtin, BuiltinId, Example, FAMILIES, JAVA_FAMILIES, Run, Shown};
use crate::names::split_name;

/// The fewest and most arguments of a function; `None` as the most means any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgCount {
    /// Counts from 0 to 20 that some arity takes exactly, as bits.
    exact: u32,
    /// The fewest arguments of the variadic arity, if there is one.
    variadic: Option<u8>,
}

impl ArgCount {
    /// Takes nothing.
    pub const NONE: ArgCount = ArgCount { exact: 0, variadic: None };

    /// Reads parameter vectors: `[a b] [a b & more]`.
    pub const fn parse(params: &str) -> ArgCount {
        let text = params.as_bytes();
        let mut arity = ArgCount { exact: 0, variadic: None };
        let (mut at, mut count, mut in_name, mut rest) = (0, 0u8, false, false);
        while at < text.len() {
            match text[at] {
                b'[' => (count, in_name, rest) = (0, false, false),
                b']' if rest => {}
                b']' => arity.exact |= 1 << if count > 31 { 31 } else { count },
                b' ' | b'\n' => in_name = false,
                b'&' if !in_name => {
                    rest = true;
                    arity.variadic = Some(count);
                }
                _ if !in_name && !rest => {
                    in_name = true;
                    count += 1;
                }
                _ => {}
            }
            at += 1;
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
    /// The qualified name: `clojure.string/trim`, `Math/sqrt`, `.length`.
    pub name: &'static str,
    /// The namespace or class: `clojure.core`, `Math`; empty for methods.
    pub ns: &'static str,
    /// The name without namespace.
    pub local: &'static str,
    /// What runs.
    pub run: Run,
    /// The declaration; that of a core function is read when it is asked for.
    decl: Option<&'static Builtin>,
}

impl Entry {
    fn new(name: &'static str, run: Run, decl: Option<&'static Builtin>) -> Entry {
        let (ns, local) = split_name(name);
        Entry { name, ns: ns.unwrap_or_default(), local, run, decl }
    }

    fn core(&self) -> Option<&'static crate::core::Declaration> {
        match self.run {
            Run::Core(place) => Some(crate::core::declaration(place)),
            _ => None,
        }
    }

    /// How many arguments it takes; nothing for a constant.
    #[inline]
    pub fn arity(&self) -> ArgCount {
        match self.decl {
            Some(decl) => decl.arity,
            None => self.core().map_or(ArgCount::NONE, |decl| decl.arity),
        }
    }

    /// Whether it is a member of a class of Java.
    pub fn is_of_class(&self) -> bool {
        self.ns.starts_with(|c: char| c.is_ascii_uppercase())
    }

    /// The name by which programs call it: members of classes with their class.
    pub fn call_name(&self) -> Cow<'static, str> {
        match self.is_of_class() {
            true => format!("{}/{}", self.ns, self.local).into(),
            false => self.local.into(),
        }
    }

    /// Parameter vectors, one per arity; empty for a constant.
    pub fn params(&self) -> &'static str {
        self.decl.map(|decl| decl.params).or_else(|| Some(&self.core()?.params)).unwrap_or_default()
    }

    /// What it does, in a sentence or two.
    pub fn doc(&self) -> &'static str {
        self.decl.map(|decl| decl.doc).or_else(|| Some(&self.core()?.doc)).unwrap_or_default()
    }

    /// How much of its value is shown.
    pub fn shown(&self) -> Shown {
        self.decl.map(|decl| decl.shown).or_else(|| Some(self.core()?.shown)).unwrap_or_default()
    }

    /// What it is in a chain of calls.
    pub(crate) fn part(&self) -> Option<ChainPart> {
        match self.decl {
            Some(decl) => decl.part,
            None => self.core()?.part,
        }
    }

    /// Examples that run as tests.
    pub fn examples(&self) -> &'static [Example] {
        self.decl.map(|decl| decl.examples).or_else(|| Some(&*self.core()?.examples)).unwrap_or_default()
    }
}

/// All builtins.
#[derive(Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    by_name: NameIndex,
    by_local: NameIndex,
}

/// Numbers of builtins by a name that they have. The names stay with the builtins: fewer pages are touched at the
/// start of a process.
#[derive(Debug)]
struct NameIndex {
    numbers: HashTable<BuiltinId>,
    name: fn(&Entry) -> &'static str,
}

impl NameIndex {
    fn new(name: fn(&Entry) -> &'static str) -> NameIndex {
        NameIndex { numbers: HashTable::with_capacity(2048), name }
    }

    fn find(&self, entries: &[Entry], name: &str) -> Option<BuiltinId> {
        self.numbers.find(hash(name), |&id| (self.name)(at(entries, id)) == name).copied()
    }

    /// Adds a builtin; another one of that name stays if it is one to keep.
    fn put(&mut self, entries: &[Entry], id: BuiltinId, keep: impl Fn(&Entry) -> bool) {
        let name_of = |&id: &BuiltinId| (self.name)(at(entries, id));
        let name = name_of(&id);
        match self.numbers.entry(hash(name), |id| name_of(id) == name, |id| hash(name_of(id))) {
            Slot::Vacant(slot) => drop(slot.insert(id)),
            Slot::Occupied(slot) if keep(at(entries, *slot.get())) => {}
            Slot::Occupied(mut slot) => *slot.get_mut() = id,
        }
    }
}

fn hash(name: &str) -> u64 {
    FixedState::default().hash_one(name)
}

#[inline]
fn at(entries: &[Entry], id: BuiltinId) -> &Entry {
    &entries[usize::from(id.0)]
}

/// Where an unqualified name is looked up, in this order.
const OPEN_NAMESPACES: &[&str] =
    &["clojure.core", "ptc", "clojure.string", "clojure.set", "clojure.walk", "clojure.math"];

/// Functions of these that need their namespace.
const QUALIFIED: &[&str] = &["clojure.string/capitalize"];

/// The registry, made at first use.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::build);
    &REGISTRY
}

impl Registry {
    fn build() -> Registry {
        let java = JAVA_FAMILIES.iter().flat_map(|family| family.iter());
        let declared = FAMILIES.iter().chain(java).flat_map(|family| family.iter());
        let mut registry = Registry {
            entries: Vec::with_capacity(2048),
            by_name: NameIndex::new(|entry| entry.name),
            by_local: NameIndex::new(|entry| entry.local),
        };
        for decl in declared {
            registry.add(Entry::new(decl.name, decl.run, Some(decl)));
        }
        for (name, place) in crate::core::function_names().zip(0..) {
            registry.add(Entry::new(name, Run::Core(place), None));
        }
        registry
    }

    fn add(&mut self, entry: Entry) {
        let Entry { name, ns, .. } = entry;
        let id = BuiltinId(u16::try_from(self.entries.len()).expect("fewer than 65,536 builtins"));
        self.entries.push(entry);
        self.by_name.put(&self.entries, id, |_| false);
        let rank = |ns: &str| OPEN_NAMESPACES.iter().position(|open| *open == ns);
        if let Some(new) = rank(ns).filter(|_| !QUALIFIED.contains(&name)) {
            self.by_local.put(&self.entries, id, |old| rank(old.ns).is_some_and(|old| old <= new));
        }
    }

    /// A builtin by number.
    #[inline]
    pub fn get(&self, id: BuiltinId) -> &Entry {
        at(&self.entries, id)
    }

    /// A builtin by qualified name (or method name, with its dot).
    pub fn qualified(&self, name: &str) -> Option<BuiltinId> {
        self.by_name.find(&self.entries, name)
    }

    /// A builtin by unqualified name.
    pub fn unqualified(&self, local: &str) -> Option<BuiltinId> {
        self.by_local.find(&self.entries, local)
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
        matches!(self.get(id).run, Run::Native(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_builtins_share_a_name() {
        let mut names: Vec<&str> = registry().iter().map(|(_, entry)| entry.name).collect();
        names.sort_unstable();
        let twice: Vec<&str> =
            names.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        assert!(twice.is_empty(), "declared twice: {twice:?}");
    }

    #[test]
    fn arities_are_read_from_parameter_vectors() {
        let arity = ArgCount::parse("[a] [a b] [a b c & more]");
        assert_eq!([0, 1, 2, 3, 9].map(|count| arity.accepts(count)), [false, true, true, true, true]);
        assert_eq!(ArgCount::parse("[]").describe(), "0");
        assert_eq!(ArgCount::parse("[a] [a b]").describe(), "1 or 2");
        assert_eq!(ArgCount::parse("[& xs]").describe(), "any number of");
        assert_eq!(ArgCount::parse("[f & xs]").describe(), "at least 1");
    }
}
