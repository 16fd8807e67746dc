//! What the library answers to a search, and of its namespaces and classes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::options::Search;
use super::{Entry, Run, local_namespace, members, visible};
use crate::pages;

/// How many members of a class are named beside it.
const NAMED: usize = 12;

/// Whether a namespace is a class of Java.
fn is_class(ns: &str) -> bool {
    ns.starts_with(|c: char| c.is_ascii_uppercase())
}

fn is_constant(entry: &Entry) -> bool {
    matches!(entry.run, Run::Const(_))
}

/// The name by which programs call a member: functions of classes with their class.
fn shown(entry: &Entry) -> String {
    if is_class(entry.ns) { format!("{}/{}", entry.ns, entry.local) } else { entry.local.to_owned() }
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
    let kind = if is_class(&ns) { "class" } else { "namespace" };
    let mut text =
        format!("{ns}\n  A {kind} with {}.\n  (dir {ns}) tells what each does.", names(members(&ns)));
    if ns == "ptc" {
        text.extend(pages::names().map(|(page, about)| format!("\n  (doc '{page}) is a page: {about}.")));
    }
    Some(text)
}

/// What the library has for a search, best first: among equals what is named just so, then classes, then functions, then
/// constants.
pub(super) fn found(search: &Search) -> Vec<String> {
    let wanted = search.text.trim();
    let is_named = |local: &str| local.trim_start_matches('.').eq_ignore_ascii_case(wanted);
    let score = |name: &str, doc: &str| Some(search.query.score(&[name], &[doc])).filter(|score| *score > 0);
    let functions = visible().filter_map(|entry| {
        let rank = match () {
            () if is_named(entry.local) => 0,
            () if is_constant(entry) => 3,
            () => 2,
        };
        Some((Reverse(score(entry.local, entry.doc())?), rank, shown(entry), entry.doc().to_owned()))
    });
    let mut classes: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in visible().filter(|entry| is_class(entry.ns)) {
        classes.entry(entry.ns).or_default().push(entry);
    }
    let classes = classes.into_iter().filter_map(|(class, members)| {
        let score = Reverse(score(class, "")?);
        let doc = format!("A class with {}; (dir {class}) tells more.", names(members));
        Some((score, 1, class.to_owned(), doc))
    });
    let mut found: Vec<_> = functions.chain(classes).collect();
    found.sort();
    found.dedup_by(|(.., name, _), (.., before, _)| name == before);
    found.into_iter().map(|(.., name, doc)| format!("local: {name} - {doc}")).collect()
}
