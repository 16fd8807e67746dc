//! What sources use of each other, and of themselves by qualified name.

use super::Source;
use super::outline::{Body, Draft, Outline};
use super::problem::{Problem, Reason};
use crate::analyze::upstream_call;
use crate::names::split_name;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Checks that all needs are there and go in no circle.
pub(super) fn check_needs(parts: &[Source<'_>]) -> Result<(), Problem> {
    for part in parts {
        for need in part.needs {
            if !parts.iter().any(|other| other.id == need) {
                let message = format!("{} needs {need}, which is not among the sources", part.id);
                return Err(
                    Problem::at(Reason::UnknownDependency, Span::default(), message).within(part.id, "")
                );
            }
        }
    }
    // A source whose needs are all settled is settled; what is left over goes in a circle.
    let mut settled: Vec<&str> = Vec::new();
    loop {
        let ready = |part: &&Source<'_>| {
            !settled.contains(&part.id) && part.needs.iter().all(|need| settled.contains(&need.as_str()))
        };
        match parts.iter().find(ready) {
            Some(part) => settled.push(part.id),
            None => break,
        }
    }
    let open: Vec<&str> = parts.iter().map(|part| part.id).filter(|id| !settled.contains(id)).collect();
    match open.first() {
        None => Ok(()),
        Some(first) => {
            let message = format!("these need each other in a circle: {}", open.join(", "));
            Err(Problem::at(Reason::DependencyCycle, Span::default(), message).within(first, ""))
        }
    }
}

/// Checks the qualified names in one definition.
pub(super) fn check_references(
    outline: &Outline,
    draft: &Draft,
    parts: &[Source<'_>],
) -> Result<(), Problem> {
    let forms: &[Form] = match &draft.body {
        Body::Function(_, clauses) => clauses,
        Body::Constant(value) => std::slice::from_ref(value),
    };
    // Forms nest no deeper than the reader allows, but many may wait here.
    let mut pending: Vec<&Form> = forms.iter().collect();
    while let Some(form) = pending.pop() {
        match &form.kind {
            FormKind::Symbol(name) => check_symbol(outline, draft, parts, name, form.span)?,
            FormKind::List(items) if is_text(items) => {}
            FormKind::List(items)
            | FormKind::Vector(items)
            | FormKind::Map(items)
            | FormKind::Set(items)
            | FormKind::ShortFn(items) => {
                pending.extend(items.iter());
            }
            FormKind::Deref(inner) | FormKind::Var(inner) | FormKind::Tagged(_, inner) => pending.push(inner),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a list stands for itself, or for nothing.
fn is_text(items: &[Form]) -> bool {
    matches!(items.first().and_then(Form::as_symbol), Some("quote" | "comment"))
}

fn check_symbol(
    outline: &Outline,
    draft: &Draft,
    parts: &[Source<'_>],
    name: &str,
    span: Span,
) -> Result<(), Problem> {
    let (Some(ns), local) = split_name(name) else { return Ok(()) };
    let Some(other) = outline.namespaces.iter().find(|known| known.name == ns) else { return Ok(()) };
    if ns == outline.namespaces[draft.ns].name {
        let message = format!("{name} names its own namespace: qualified self-references are not allowed");
        let defined = outline.drafts.iter().any(|other| other.ns == draft.ns && other.name == local);
        let hint = match defined {
            true => format!("write {local}"),
            false => format!("for a tool of a server {ns} write {}", upstream_call(ns, local)),
        };
        return Err(Problem::at(Reason::QualifiedSelfReference, span, message).hint(hint));
    }
    if other.part == draft.part {
        return Ok(());
    }
    let id = parts[other.part].id;
    if !parts[draft.part].needs.iter().any(|need| need == id) {
        let message =
            format!("{name} belongs to {id}, which {} does not declare as needed", parts[draft.part].id);
        return Err(
            Problem::at(Reason::UnknownDependency, span, message).hint(format!("add {id} to its needs"))
        );
    }
    if matches!(draft.body, Body::Constant(_)) {
        let message = format!("the constant {} is computed with {name} of another prelude", draft.name);
        return Err(Problem::at(Reason::DependencyInConstant, span, message)
            .hint("compute it in a function, which runs when all preludes are there"));
    }
    Ok(())
}
