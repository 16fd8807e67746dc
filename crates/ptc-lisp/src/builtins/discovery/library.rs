//! What the library answers to a search, and of its namespaces and classes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::options::AproposQuery;
use super::{Entry, Run, local_namespace, members, visible};
use crate::lexical::{Index, IndexField};
use crate::pages;

/// How many members of a class are named beside it.
const NAMED: usize = 12;

fn is_constant(entry: &Entry) -> bool {
    matches!(entry.run, Run::Const(_))
}

/// The names of members, functions first.
fn names(mut members: Vec<&Entry>) -> String {
    members.sort_by_key(|entry| (is_constant(entry), entry.local));
    let more = if members.len() > NAMED { ", …" } else { "" };
    let names: Vec<&str> = members.iter().take(NAMED).map(|entry| entry.local).collect();
    format!("{}{more}", names.join(", "))
}

/// The documentation of a namespace or class.
pub(super) fn namespace_doc(name: &str) -> Option<String> {
    let ns = local_namespace(name)?;
    let members = members(&ns);
    let is_class = members.first().is_some_and(|member| member.is_of_class());
    let kind = if is_class { "class" } else { "namespace" };
    let mut text = format!("{ns}\n  A {kind} with {}.\n  (dir {ns}) tells what each does.", names(members));
    if ns == "ptc" {
        text.extend(pages::names().map(|(page, about)| format!("\n  (doc '{page}) is a page: {about}.")));
    }
    Some(text)
}

/// What can be found.
struct LibraryItem {
    /// Its name without namespace and dot, by which it is named just so.
    local: &'static str,
    /// Its name as programs write it, and what it does.
    name: String,
    doc: String,
    kind: LibraryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LibraryKind {
    Function,
    Class,
    Constant,
}

impl LibraryKind {
    /// What its score is multiplied with, in tenths: classes tell of many functions, constants are seldom wanted.
    fn weight(self) -> u32 {
        match self {
            LibraryKind::Function => 10,
            LibraryKind::Class => 15,
            LibraryKind::Constant => 7,
        }
    }
}

/// Everything in the library, with an index that is made once.
fn library() -> &'static (Vec<LibraryItem>, Index) {
    static LIBRARY: OnceLock<(Vec<LibraryItem>, Index)> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let functions = visible().map(|entry| {
            let kind = if is_constant(entry) { LibraryKind::Constant } else { LibraryKind::Function };
            let item = LibraryItem {
                local: entry.local,
                name: entry.call_name().into_owned(),
                doc: entry.doc().to_owned(),
                kind,
            };
            (item, entry.ns)
        });
        let mut classes: BTreeMap<&'static str, Vec<&Entry>> = BTreeMap::new();
        for entry in visible().filter(|entry| entry.is_of_class()) {
            classes.entry(entry.ns).or_default().push(entry);
        }
        let classes = classes.into_iter().map(|(class, members)| {
            let doc = format!("A class with {}; (dir {class}) tells more.", names(members));
            (LibraryItem { local: class, name: class.to_owned(), doc, kind: LibraryKind::Class }, "")
        });
        let mut items: Vec<(LibraryItem, &str)> = functions.chain(classes).collect();
        items.sort_by(|(left, _), (right, _)| left.name.cmp(&right.name));
        items.dedup_by(|(item, _), (before, _)| item.name == before.name);
        let index = Index::new(items.iter().map(|(item, ns)| {
            // The members of a class stand by themselves.
            let doc = if item.kind == LibraryKind::Class { "" } else { item.doc.as_str() };
            vec![(IndexField::Name, item.local), (IndexField::About, *ns), (IndexField::Text, doc)]
        }));
        (items.into_iter().map(|(item, _)| item).collect(), index)
    })
}

/// How much work a search in the library is.
pub(super) fn work(search: &AproposQuery) -> usize {
    library().1.work(&search.query)
}

/// What the library has for a search, best first, and before all what is named just so.
pub(super) fn found(search: &AproposQuery) -> Vec<String> {
    let (items, index) = library();
    let wanted = search.text.trim();
    let mut found: Vec<(bool, Reverse<u32>, &LibraryItem)> = index
        .find(&search.query)
        .into_iter()
        .map(|(number, score)| {
            let item = &items[number];
            let is_named = item.local.trim_start_matches('.').eq_ignore_ascii_case(wanted);
            let score = if is_named { 0 } else { score.saturating_mul(item.kind.weight()) };
            (!is_named, Reverse(score), item)
        })
        .collect();
    found.sort_by(|left, right| (left.0, left.1, &left.2.name).cmp(&(right.0, right.1, &right.2.name)));
    found.into_iter().map(|(.., item)| format!("local: {} - {}", item.name, item.doc)).collect()
}
