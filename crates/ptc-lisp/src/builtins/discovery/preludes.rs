//! What the attached prelude answers: it comes before the library and the host.

use std::sync::Arc;

use super::options::{AproposQuery, PageRange};
use crate::error::{Error, ErrorKind};
use crate::heap::Heap;
use crate::lexical::{Index, IndexEntry, IndexField};
use crate::names::split_name;
use crate::pages;
use crate::prelude::{Effect, Export, Namespace, Prelude};
use crate::signal::Res;
use crate::value::Value;

fn prelude(heap: &Heap) -> Option<Arc<Prelude>> {
    heap.attached.as_ref().map(|attached| attached.prelude.clone())
}

/// The namespaces of the prelude.
pub(super) fn namespaces(heap: &Heap) -> Vec<String> {
    let prelude = prelude(heap);
    prelude.iter().flat_map(|prelude| prelude.namespaces()).map(|ns| ns.name.clone()).collect()
}

/// Whether a namespace belongs to the prelude.
pub(super) fn has_namespace(heap: &Heap, name: &str) -> bool {
    prelude(heap).is_some_and(|prelude| prelude.namespace_number(name).is_some())
}

/// The documentation of an export or namespace.
pub(super) fn doc(heap: &Heap, name: &str) -> Option<String> {
    let prelude = prelude(heap)?;
    if let Some(export) = prelude.export(name) {
        return Some(describe(export, export.effect_with(Some(&*heap.servers))));
    }
    let ns = prelude.namespaces().iter().find(|ns| ns.name == name)?;
    let doc = ns.doc.as_deref().unwrap_or("A namespace of the prelude.");
    Some(format!("{name}\n  {}\n  (dir '{name}) lists what it has.", indented(doc)))
}

/// Why there is nothing to say about a name in a namespace of the prelude: it is no export of it.
pub(super) fn not_public(heap: &Heap, name: &str) -> Option<Error> {
    let (Some(ns), _) = split_name(name) else { return None };
    let prelude = prelude(heap)?;
    let helper = prelude.find(name).is_some();
    // A server may have the same name, and then it is asked.
    if prelude.namespace_number(ns).is_none() || heap.discovery && !helper {
        return None;
    }
    let message = match helper {
        true => format!("doc: {name} is a helper of {ns}, not a public export"),
        false => format!("doc: {ns} has no export {name}"),
    };
    Some(Error::new(ErrorKind::Runtime, message).hint(format!("(dir '{ns}) lists its exports")))
}

/// The most bytes of the page about the prelude: results are shown whole up to a little more.
const PAGE_BYTES: usize = 7_500;

/// What the prelude offers, as prompts list it.
pub(super) fn page(heap: &mut Heap) -> Res<String> {
    let Some(prelude) = prelude(heap) else {
        return Ok(format!("{}: no prelude is attached.", pages::PRELUDE));
    };
    heap.work(prelude.exports().len().saturating_mul(prelude.namespaces().len()))?;
    let Some(text) = prelude.inventory(Some(&*heap.servers)) else {
        return Ok(format!(
            "{}: it lists nothing; (all-ns) and (dir 'ns) tell what there is.",
            pages::PRELUDE
        ));
    };
    if text.len() <= PAGE_BYTES {
        return Ok(text);
    }
    let shown = text.lines().scan(0, |bytes, line| {
        *bytes += line.len() + 1;
        (*bytes <= PAGE_BYTES).then_some(line)
    });
    let shown: Vec<&str> = shown.collect();
    let left = text.lines().count() - shown.len();
    Ok(format!(
        "{}\n;; … {left} more lines; (apropos \"words\") and (dir 'ns) find the rest.",
        shown.join("\n")
    ))
}

fn describe(export: &Export, effect: Effect) -> String {
    let mut text = export.name.clone();
    if !export.params.is_empty() {
        text.push_str(&format!("\n  {}", export.arglists()));
    }
    if let Some(doc) = &export.doc {
        text.push_str(&format!("\n  {}", indented(doc)));
    }
    if effect != Effect::Unknown {
        text.push_str(&format!("\n  Effect: {}", effect.name()));
    }
    if !export.requires.is_empty() {
        text.push_str(&format!("\n  Requires: {}", export.requires.join(", ")));
    }
    text
}

/// A docstring with all its lines two spaces in.
fn indented(doc: &str) -> String {
    doc.lines().map(str::trim).collect::<Vec<_>>().join("\n  ")
}

/// The source of an export, or of a helper that one reaches.
pub(super) fn source(heap: &Heap, name: &str) -> Option<String> {
    prelude(heap)?.source_of(name)
}

/// The metadata of an export.
pub(super) fn meta(heap: &mut Heap, name: &str) -> Option<Value> {
    let prelude = prelude(heap)?;
    let export = prelude.export(name)?;
    Some(about(heap, export))
}

fn about(heap: &mut Heap, export: &Export) -> Value {
    let arglists = export.arglists();
    let effect = export.effect_with(Some(&*heap.servers));
    let texts = [
        ("kind", "prelude-export"),
        ("source", "prelude"),
        ("namespace", export.namespace.as_str()),
        ("name", export.symbol.as_str()),
        ("ref", export.name.as_str()),
        ("doc", export.doc.as_deref().unwrap_or_default()),
        ("type", export.kind.name()),
        ("arglists", arglists.as_str()),
        ("visibility", export.visibility.name()),
        ("effect", effect.name()),
    ];
    let strings: usize = texts.iter().map(|(_, text)| text.len()).sum();
    heap.allocated(256 + strings + export.requires.iter().map(|id| 32 + id.len()).sum::<usize>());
    let mut pairs: Vec<(Value, Value)> =
        texts.iter().map(|(key, text)| (heap.keyword(key), Value::str(text))).collect();
    let arity = match export.params.as_slice() {
        [] => Value::Int(0),
        [only] if only.rest.is_none() => Value::Int(only.fixed.len() as i64),
        _ => Value::string(export.arity()),
    };
    pairs.push((heap.keyword("arity"), arity));
    let provider = export.provider.as_deref().map_or(Value::Nil, Value::str);
    pairs.push((heap.keyword("provider-ref"), provider));
    let requires = export.requires.iter().map(String::as_str).map(Value::str).collect();
    pairs.push((heap.keyword("requires"), Value::vector(requires)));
    Value::map_of(pairs)
}

fn exports<'p>(prelude: &'p Prelude, ns: &str) -> Vec<&'p Export> {
    let mut exports: Vec<&Export> =
        prelude.exports().iter().filter(|export| export.namespace == ns).collect();
    exports.sort_by_key(|export| &export.symbol);
    exports
}

/// The exports of a namespace in order; none of a masked one unless everything is asked for.
fn shown<'p>(prelude: &'p Prelude, ns: &str, full: bool) -> Vec<&'p Export> {
    if full || !prelude.is_masked(ns) { exports(prelude, ns) } else { Vec::new() }
}

/// The lines of `dir` for a namespace of the prelude.
pub(super) fn dir(heap: &mut Heap, ns: &str, page: PageRange) -> Res<Option<Value>> {
    let Some(prelude) = prelude(heap).filter(|prelude| prelude.namespace_number(ns).is_some()) else {
        return Ok(None);
    };
    heap.work(prelude.exports().len())?;
    let lines: Vec<String> =
        page.of(shown(&prelude, ns, page.full)).map(|export| line(&export.symbol, export)).collect();
    heap.allocated(lines.iter().map(|line| 48 + line.len()).sum());
    Ok(Some(Value::vector(lines.into_iter().map(Value::string).collect())))
}

fn line(name: &str, export: &Export) -> String {
    match export.summary() {
        summary if summary.is_empty() => name.to_owned(),
        summary => format!("{name} - {summary}"),
    }
}

/// The public names of a namespace of the prelude with what is known about each.
pub(super) fn publics(heap: &mut Heap, ns: &str, full: bool) -> Res<Option<Value>> {
    let Some(prelude) = prelude(heap).filter(|prelude| prelude.namespace_number(ns).is_some()) else {
        return Ok(None);
    };
    let mut pairs = Vec::new();
    for export in shown(&prelude, ns, full) {
        heap.work(8)?;
        pairs.push((Value::Sym(heap.intern(&export.symbol)), about(heap, export)));
    }
    Ok(Some(Value::map_of(pairs)))
}

/// What `apropos` finds in the prelude, best first.
pub(super) fn apropos(heap: &mut Heap, search: &AproposQuery) -> Res<(Vec<Value>, usize)> {
    let Some(prelude) = prelude(heap) else { return Ok((Vec::new(), 0)) };
    let mut exports: Vec<&Export> = prelude
        .exports()
        .iter()
        .filter(|export| search.full || !prelude.is_masked(&export.namespace))
        .collect();
    exports.sort_by_key(|export| &export.name);
    let texts: usize = exports
        .iter()
        .map(|export| entry(&prelude, export).iter().map(|part| part.1.len()).sum::<usize>())
        .sum();
    heap.work(exports.len() + texts)?;
    let index = Index::new(exports.iter().map(|export| entry(&prelude, export)));
    heap.work(index.work(&search.query))?;
    let mut found = index.find(&search.query);
    let left = found.len().saturating_sub(search.limit);
    found.truncate(search.limit);
    heap.allocated(found.len() * 96);
    let shown = |export: &Export| Value::string(format!("prelude: {}", line(&export.name, export)));
    Ok((found.into_iter().map(|(number, _)| shown(exports[number])).collect(), left))
}

/// What is said of an export.
fn entry<'p>(prelude: &'p Prelude, export: &'p Export) -> IndexEntry<'p> {
    let ns = prelude.namespaces().iter().find(|known: &&Namespace| known.name == export.namespace);
    vec![
        (IndexField::Name, export.symbol.as_str()),
        (IndexField::Owner, export.namespace.as_str()),
        (IndexField::Text, export.doc.as_deref().unwrap_or_default()),
        (IndexField::About, ns.and_then(|ns| ns.doc.as_deref()).unwrap_or_default()),
    ]
}
