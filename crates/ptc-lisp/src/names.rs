//! Interned names of symbols and keywords.
//!
//! A name is a `u32`, so comparing and hashing one costs nothing. Names that the core library knows
//! live in one table shared by all machines; names a program brings live in its machine's own table
//! and go away with it, so a program that makes a million names leaks nothing.
//!
//! A table also knows which names with hyphens its programs wrote as keys of maps. JSON has underscores where they have
//! hyphens (`:order-count` is `order_count`); the same keyword that only data brought along stays as it is.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::Arc;

use hashbrown::HashTable;

use crate::seed::Seeded;
use crate::value::hash::STEP_BYTES;
use crate::value::ledger;

/// An interned name: the full text of a symbol or keyword, `ns/name` if it has a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub(crate) u32);

/// Names known to one machine.
#[derive(Clone, Debug, Default)]
pub struct Names {
    base: Option<Arc<Names>>,
    base_len: u32,
    texts: Vec<Box<str>>,
    index: HashTable<u32>,
    bytes: usize,
    /// Names with hyphens that programs wrote as keys of maps.
    written: BTreeSet<Name>,
}

/// Bytes that a name takes beside its text: its place in the list and in the index, both of which double as they
/// grow, and what the allocator adds to the text.
const NAME: usize = 64;

/// Bytes that it takes to know of a name that a program wrote it as a key.
const WRITTEN: usize = 16;

/// Programs and their inputs bring names, so their hashes have a secret.
fn hash_of(text: &str) -> u64 {
    Seeded.hash_one(text)
}

impl Names {
    /// A table that begins with all names of `base`, which is shared, not copied.
    pub fn over(base: Arc<Names>) -> Self {
        let base_len = base.len();
        Names { base: Some(base), base_len, ..Names::default() }
    }

    fn len(&self) -> u32 {
        self.base_len + u32::try_from(self.texts.len()).unwrap_or(u32::MAX)
    }

    /// Bytes held by the names of this table, the shared base excluded.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The names this table holds beyond its shared base, in order.
    pub fn own(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }

    /// How many names this table holds beyond its shared base.
    pub fn own_count(&self) -> usize {
        self.texts.len()
    }

    /// The name for `text`, made if it is new.
    pub fn intern(&mut self, text: &str) -> Name {
        let hash = hash_of(text);
        if let Some(name) = self.find_hashed(text, hash) {
            return name;
        }
        let id = self.len();
        self.bytes += text.len() + NAME;
        // Many machines have one name of their own: the first takes no room for others.
        self.texts.reserve_exact(usize::from(self.texts.capacity() == 0));
        self.texts.push(text.into());
        let (texts, base_len) = (&self.texts, self.base_len);
        self.index.insert_unique(hash, id, |&id| hash_of(&texts[(id - base_len) as usize]));
        Name(id)
    }

    /// The name for `text` if it has been interned. Programs look for texts of any length, so long ones are noted in the
    /// [`ledger`].
    pub fn find(&self, text: &str) -> Option<Name> {
        if text.len() >= STEP_BYTES {
            ledger::note((text.len() / STEP_BYTES) as u64);
        }
        self.find_hashed(text, hash_of(text))
    }

    fn find_hashed(&self, text: &str, hash: u64) -> Option<Name> {
        if let Some(name) = self.base.as_ref().and_then(|base| base.find_hashed(text, hash)) {
            return Some(name);
        }
        let same = |&id: &u32| &*self.texts[(id - self.base_len) as usize] == text;
        self.index.find(hash, same).map(|&id| Name(id))
    }

    /// The text of a name made by this table or its base.
    pub fn text(&self, name: Name) -> &str {
        match &self.base {
            Some(base) if name.0 < self.base_len => base.text(name),
            _ => &self.texts[(name.0 - self.base_len) as usize],
        }
    }

    /// Notes a name that a program writes as a key of a map.
    pub fn write_key(&mut self, text: &str) {
        if !text.contains('-') {
            return;
        }
        let name = self.intern(text);
        if !self.is_written(name) {
            self.bytes += WRITTEN;
            self.written.insert(name);
        }
    }

    /// Whether a program wrote the name as a key of a map, and it has a hyphen.
    pub fn is_written(&self, name: Name) -> bool {
        self.written.contains(&name) || self.base.as_ref().is_some_and(|base| base.is_written(name))
    }

    /// The names with hyphens that programs wrote as keys, beyond those of the shared base, in order.
    pub fn written(&self) -> impl ExactSizeIterator<Item = Name> {
        self.written.iter().copied()
    }

    /// A keyword as a key of JSON: with underscores where a program wrote it, else as it is.
    pub fn key(&self, name: Name) -> Cow<'_, str> {
        match self.is_written(name) {
            true => self.text(name).replace('-', "_").into(),
            false => self.text(name).into(),
        }
    }

    /// Namespace and local part of a name: `a/b` gives `(Some("a"), "b")`, `/` gives `(None, "/")`.
    pub fn parts(&self, name: Name) -> (Option<&str>, &str) {
        split_name(self.text(name))
    }
}

/// Splits `ns/name` at its first slash; a slash alone is a name. Nothing that is read has an empty
/// namespace, but `(keyword "" "name")` has.
pub fn split_name(text: &str) -> (Option<&str>, &str) {
    match text.bytes().position(|byte| byte == b'/') {
        Some(at) if at + 1 < text.len() => (Some(&text[..at]), &text[at + 1..]),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_sees_its_base_and_keeps_its_own_names_apart() {
        let mut base = Names::default();
        let a = base.intern("a");
        let mut names = Names::over(Arc::new(base));
        let b = names.intern("b");
        assert_eq!(names.intern("a"), a);
        assert_ne!(a, b);
        assert_eq!((names.text(a), names.text(b)), ("a", "b"));
        assert_eq!(names.own_count(), 1);
    }

    #[test]
    fn keys_that_programs_wrote_have_underscores_and_others_stay() {
        let mut base = Names::default();
        base.write_key("of-base");
        let mut names = Names::over(Arc::new(base));
        names.write_key("order-count");
        names.write_key("total");
        names.intern("total");
        let data = names.intern("web-1");
        let found = ["of-base", "order-count", "total"].map(|text| names.find(text).unwrap());
        assert_eq!(found.map(|name| names.key(name).into_owned()), ["of_base", "order_count", "total"]);
        assert_eq!(names.key(data), "web-1");
        assert_eq!(names.written().collect::<Vec<_>>(), [found[1]]);
    }

    #[test]
    fn names_split_at_the_first_slash() {
        assert_eq!(split_name("a/b"), (Some("a"), "b"));
        assert_eq!(split_name("/"), (None, "/"));
        assert_eq!(split_name("core//"), (Some("core"), "/"));
        assert_eq!(split_name("/name"), (Some(""), "name"));
        assert_eq!(split_name("plain"), (None, "plain"));
    }
}
