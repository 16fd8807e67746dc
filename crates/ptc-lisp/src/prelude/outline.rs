//! What a source declares, by its syntax alone: namespaces and definitions with their documentation,
//! metadata and parameters. Bodies are left as forms.

use super::Source;
use super::metadata::{Metadata, Of, Visibility};
use super::problem::{Problem, Reason};
use crate::reader::{ReadLimits, read_all};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Namespaces of the host, which no prelude may declare.
pub const RESERVED: &[&str] = &["tool", "data", "budget", "ptc.core"];

/// A protected namespace.
#[derive(Clone, Debug)]
pub struct Namespace {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub doc: Option<String>,
    /// The visibility of exports that say nothing themselves.
    pub(super) visibility: Visibility,
    /// The source that declares it.
    pub(super) part: usize,
    /// `(:require …)` and its like.
    pub(super) clauses: Vec<Form>,
}

/// The parameters of one arity, as people read them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Fixed parameters; those that are taken apart as they are written, `{:keys [a b]}`, or `arg1`, `arg2`, … where
    /// that is long.
    pub fixed: Vec<String>,
    /// The one that takes the rest.
    pub rest: Option<String>,
}

impl std::fmt::Display for Params {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[")?;
        f.write_str(&self.fixed.join(" "))?;
        if let Some(rest) = &self.rest {
            let gap = if self.fixed.is_empty() { "" } else { " " };
            write!(f, "{gap}& {rest}")?;
        }
        f.write_str("]")
    }
}

/// A definition that is not compiled yet.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub ns: usize,
    pub part: usize,
    pub name: String,
    pub private: bool,
    pub doc: Option<String>,
    pub meta: Metadata,
    pub span: Span,
    pub body: Body,
}

/// What a definition is made of.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// Parameters and bodies as `fn` has them.
    Function(Vec<Params>, Vec<Form>),
    /// The expression whose value it is.
    Constant(Form),
}

/// All that sources declare.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub namespaces: Vec<Namespace>,
    pub drafts: Vec<Draft>,
}

/// Reads all sources.
pub(super) fn outline(parts: &[Source<'_>], limits: &ReadLimits) -> Result<Outline, Problem> {
    let mut outline = Outline::default();
    for (number, part) in parts.iter().enumerate() {
        let placed = |problem: Problem| problem.within(part.id, part.text);
        let forms =
            read_all(part.text, limits).map_err(|error| placed(Problem::new(Reason::Parse, error)))?;
        let first = outline.namespaces.len();
        for form in &forms {
            outline.form(form, number, first, parts).map_err(placed)?;
        }
        if outline.namespaces.len() == first {
            let problem =
                Problem::at(Reason::MissingNamespace, Span::default(), "the source declares no namespace");
            return Err(placed(problem.hint("begin with (ns name \"what it is for\")")));
        }
    }
    Ok(outline)
}

impl Outline {
    fn form(&mut self, form: &Form, part: usize, first: usize, parts: &[Source<'_>]) -> Result<(), Problem> {
        let head = form.as_list().and_then(|items| items.first()).and_then(Form::as_symbol);
        let items = form.as_list().unwrap_or_default();
        match head {
            Some("ns") => return self.namespace(items, form.span, part, parts),
            Some("defn" | "defn-" | "def") => {}
            _ => {
                let message = "only ns, def, defn and defn- may stand at the top level of a prelude";
                return Err(Problem::at(Reason::Compile, form.span, message));
            }
        }
        if self.namespaces.len() == first {
            let message = "a definition stands before any namespace";
            return Err(Problem::at(Reason::MissingNamespace, form.span, message)
                .hint("begin the source with (ns name \"what it is for\")"));
        }
        let ns = self.namespaces.len() - 1;
        let draft = draft(head.unwrap_or_default(), items, form.span, (ns, part), &self.namespaces[ns].name)?;
        if self.drafts.iter().any(|known| known.ns == ns && known.name == draft.name) {
            let message = format!("duplicate ref {}/{}", self.namespaces[ns].name, draft.name);
            return Err(Problem::at(Reason::DuplicateRef, items[1].span, message)
                .hint("remove one of the definitions"));
        }
        self.drafts.push(draft);
        Ok(())
    }

    /// `(ns name "doc"? {meta}? (:require …)…)`
    fn namespace(
        &mut self,
        items: &[Form],
        span: Span,
        part: usize,
        parts: &[Source<'_>],
    ) -> Result<(), Problem> {
        let wrong = |span| {
            Problem::at(Reason::InvalidNamespace, span, "expected (ns name \"doc\" {:visibility :prompt})")
        };
        let named = items.get(1).ok_or_else(|| wrong(span))?;
        let name = named.as_symbol().filter(|name| !name.contains('/')).ok_or_else(|| wrong(named.span))?;
        if RESERVED.contains(&name) || crate::analyze::is_language_namespace(name) {
            let message = format!("namespace '{name}' is reserved");
            return Err(Problem::at(Reason::ReservedNamespace, named.span, message)
                .hint("the host and the language keep it; choose another name"));
        }
        if let Some(other) = self.namespaces.iter().find(|known| known.name == name) {
            let message = format!("namespace '{name}' is declared more than once");
            let hint = match (parts.get(other.part), parts.get(part)) {
                (Some(one), Some(two)) if other.part != part => {
                    format!("{} and {} both declare it; select one of them", one.id, two.id)
                }
                _ => "merge the two into one namespace".to_owned(),
            };
            return Err(Problem::at(Reason::InvalidNamespace, span, message).hint(hint));
        }
        let (mut meta, mut doc, mut clauses) = (Metadata::default(), None, Vec::new());
        meta.read_before(&named.meta, Of::Namespace(name))?;
        for item in &items[2..] {
            match &item.kind {
                FormKind::Str(text) if doc.is_none() => doc = Some(text.clone()),
                FormKind::Map(pairs) => meta.read(pairs, Of::Namespace(name))?,
                FormKind::List(_) => clauses.push(item.clone()),
                _ => return Err(wrong(item.span)),
            }
        }
        let visibility = meta.visibility.unwrap_or(Visibility::Prompt);
        let doc = doc.or(meta.doc);
        self.namespaces.push(Namespace { name: name.to_owned(), doc, visibility, part, clauses });
        Ok(())
    }
}

/// `(defn name doc? meta? [params] body…)`, `(def name doc? meta? value)`
fn draft(
    head: &str,
    items: &[Form],
    span: Span,
    (ns, part): (usize, usize),
    ns_name: &str,
) -> Result<Draft, Problem> {
    let wrong = |span| Problem::at(Reason::Compile, span, format!("expected ({head} name …)"));
    let named = items.get(1).ok_or_else(|| wrong(span))?;
    let name = named.as_symbol().ok_or_else(|| wrong(named.span))?;
    if name.contains('/') && name.len() > 1 {
        return Err(Problem::at(
            Reason::Compile,
            named.span,
            format!("{name} must be defined by its plain name"),
        ));
    }
    let full = format!("{ns_name}/{name}");
    let mut meta = Metadata { private: head == "defn-", ..Metadata::default() };
    meta.read_before(&named.meta, Of::Definition(&full))?;
    let mut doc = None;
    let mut rest = &items[2..];
    // The last form is the value of a constant, whatever it is.
    while let [first, more @ ..] = rest
        && !more.is_empty()
    {
        match &first.kind {
            FormKind::Str(text) if doc.is_none() => doc = Some(text.clone()),
            FormKind::Map(pairs) => meta.read(pairs, Of::Definition(&full))?,
            _ => break,
        }
        rest = more;
    }
    let body = match (head, rest) {
        ("def", [value]) => constant(value)?,
        ("def", _) => {
            let message = format!("expected (def {name} value) or (def {name} \"doc\" value)");
            return Err(Problem::at(Reason::Compile, span, message));
        }
        (_, clauses) => Body::Function(arglists(clauses, &full, span)?, clauses.to_vec()),
    };
    let doc = doc.or_else(|| meta.doc.take());
    Ok(Draft { ns, part, name: name.to_owned(), private: meta.private, doc, meta, span, body })
}

/// A constant; one that is written as a function is a function.
fn constant(value: &Form) -> Result<Body, Problem> {
    let items = value.as_list().unwrap_or_default();
    if let [head, rest @ ..] = items
        && matches!(head.as_symbol(), Some("fn" | "fn*"))
    {
        let rest = if rest.first().and_then(Form::as_symbol).is_some() { &rest[1..] } else { rest };
        return Ok(Body::Function(arglists(rest, "the function", value.span)?, rest.to_vec()));
    }
    Ok(Body::Constant(value.clone()))
}

fn arglists(clauses: &[Form], of: &str, span: Span) -> Result<Vec<Params>, Problem> {
    let missing = || {
        Problem::at(Reason::InvalidSignature, span, format!("{of} has no parameters"))
            .hint("write [params] before the body")
    };
    match clauses.first() {
        None => Err(missing()),
        Some(first) if first.as_vector().is_some() => Ok(vec![params(first, of)?]),
        Some(_) => {
            let vector =
                |clause: &Form| clause.as_list().and_then(|items| items.first().cloned()).ok_or_else(missing);
            clauses.iter().map(|clause| params(&vector(clause)?, of)).collect()
        }
    }
}

fn params(vector: &Form, of: &str) -> Result<Params, Problem> {
    let wrong = |span: Span| {
        Problem::at(Reason::InvalidSignature, span, format!("the parameters of {of} are written wrongly"))
            .hint("write [a b] or [a & more]")
    };
    let items = vector.as_vector().ok_or_else(|| wrong(vector.span))?;
    let name = |at: usize, form: &Form| match &form.kind {
        FormKind::Symbol(name) if name != "&" => Ok(name.clone()),
        FormKind::Vector(_) | FormKind::Map(_) => {
            Ok(pattern(form).unwrap_or_else(|| format!("arg{}", at + 1)))
        }
        _ => Err(wrong(form.span)),
    };
    let split = items.iter().position(|item| item.as_symbol() == Some("&"));
    let fixed = &items[..split.unwrap_or(items.len())];
    let rest = match split.map(|at| &items[at + 1..]) {
        None => None,
        Some([rest]) => Some(name(fixed.len(), rest)?),
        Some(_) => return Err(wrong(vector.span)),
    };
    let fixed = fixed.iter().enumerate().map(|(at, form)| name(at, form)).collect::<Result<_, _>>()?;
    Ok(Params { fixed, rest })
}

/// Characters of a parameter that is taken apart.
const PATTERN: usize = 80;

/// A parameter that is taken apart, as its author wrote it: whoever calls the function must know which keys it reads.
/// Nothing if it is long, or holds more than names.
fn pattern(form: &Form) -> Option<String> {
    let text = match &form.kind {
        FormKind::Symbol(name) => name.clone(),
        FormKind::Keyword(name) => format!(":{name}"),
        FormKind::Str(_) | FormKind::Nil | FormKind::Bool(_) | FormKind::Int(_) => "…".to_owned(),
        FormKind::Vector(items) => format!("[{}]", patterns(items)?),
        FormKind::Map(items) => format!("{{{}}}", patterns(items)?),
        _ => return None,
    };
    (text.len() <= PATTERN).then_some(text)
}

/// Several of them. Each takes at least two characters, so that many cannot fit and are not looked at.
fn patterns(items: &[Form]) -> Option<String> {
    let items: Option<Vec<String>> =
        (items.len() <= PATTERN / 2).then(|| items.iter().map(pattern).collect())?;
    items.map(|items| items.join(" "))
}
