//! Sources taken apart into their top-level forms, byte for byte, so that one definition can be looked at or
//! replaced without touching the others.

use std::collections::BTreeSet;
use std::ops::Range;

use ptc_lisp::Position;
use ptc_lisp::reader::{ReadLimits, read_all};
use ptc_lisp::syntax::{Form, FormKind as Syntax};

use super::error::{PreludeError, Reason, refuse};

/// What a top-level form declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormKind {
    /// `(ns …)`
    Namespace,
    /// `(def …)`: a constant.
    Constant,
    /// `(defn …)`: a public function.
    Function,
    /// `(defn- …)`: a helper.
    Helper,
}

impl FormKind {
    /// The word that the form begins with.
    pub fn word(self) -> &'static str {
        match self {
            FormKind::Namespace => "ns",
            FormKind::Constant => "def",
            FormKind::Function => "defn",
            FormKind::Helper => "defn-",
        }
    }

    fn of(word: &str) -> Option<FormKind> {
        [FormKind::Namespace, FormKind::Constant, FormKind::Function, FormKind::Helper]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

/// One top-level form.
#[derive(Debug, Clone, PartialEq)]
pub struct TopForm {
    /// What it declares.
    pub kind: FormKind,
    /// The name it declares.
    pub name: String,
    /// Its documentation.
    pub doc: Option<String>,
    /// Everything that callers can see: parameters, documentation and metadata; for a constant its value.
    pub head: String,
    /// Its first byte in the source.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// Where the documentation stands; an empty range where it would.
    pub(crate) doc_place: Range<usize>,
    /// Every symbol in it.
    symbols: BTreeSet<String>,
}

/// A source and its forms.
#[derive(Debug, Clone, PartialEq)]
pub struct Forms {
    /// The source.
    pub source: String,
    /// Its forms, in order.
    pub forms: Vec<TopForm>,
}

impl Forms {
    /// Takes a source apart. The pieces are checked: each form reads as itself alone, and between them there is
    /// nothing but space and comments.
    pub fn scan(source: &str) -> Result<Forms, PreludeError> {
        let read = read_all(source, &ReadLimits::default()).map_err(|error| PreludeError::Refused {
            reason: Reason::BaseScanFailed,
            message: placed(source, &error),
            compile_reason: Some("parse_error".to_owned()),
        })?;
        let mut forms = Vec::with_capacity(read.len());
        let mut before = 0;
        for form in &read {
            let (start, end) = extent(form);
            check_piece(source, before, start, end, form)?;
            forms.push(top_form(source, form, start, end)?);
            before = end;
        }
        match nothing_in(&source[before..]) {
            true => Ok(Forms { source: source.to_owned(), forms }),
            false => Err(unreadable()),
        }
    }

    /// The declared namespaces.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.forms.iter().filter(|form| form.kind == FormKind::Namespace).map(|form| form.name.as_str())
    }

    /// The definitions, without the namespace.
    pub fn definitions(&self) -> impl Iterator<Item = &TopForm> {
        self.forms.iter().filter(|form| form.kind != FormKind::Namespace)
    }

    /// The definition of a name.
    pub fn definition(&self, name: &str) -> Option<&TopForm> {
        self.definitions().find(|form| form.name == name)
    }

    /// The text of a form.
    pub fn text(&self, form: &TopForm) -> &str {
        &self.source[form.start..form.end]
    }

    /// The other definitions that a form mentions.
    pub fn uses(&self, form: &TopForm) -> Vec<&str> {
        let others = self.definitions().filter(|other| other.name != form.name);
        others.filter(|other| form.symbols.contains(&other.name)).map(|other| other.name.as_str()).collect()
    }

    /// The definitions that mention a name.
    pub fn used_by(&self, name: &str) -> Vec<&str> {
        let others = self.definitions().filter(|form| form.name != name);
        let others = others.filter(|form| form.symbols.contains(name));
        others.map(|form| form.name.as_str()).collect()
    }
}

/// An error of the reader with its place and how to fix it, on one line.
fn placed(source: &str, error: &ptc_lisp::Error) -> String {
    let place = error.span.map(|span| Position::of(source, span.start));
    let place = place.map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column));
    let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
    format!("{place}{}{hint}", error.message)
}

/// From the metadata before a form to its end.
fn extent(form: &Form) -> (usize, usize) {
    let start = form.meta.iter().map(|meta| meta.span.start).fold(form.span.start, u32::min);
    // The span of metadata begins after its `^`.
    let start = match form.meta.is_empty() {
        true => start,
        false => start.saturating_sub(1),
    };
    (start as usize, form.span.end as usize)
}

fn unreadable() -> PreludeError {
    refuse(
        Reason::BaseScanFailed,
        "the source cannot be taken apart into forms without loss; write it as a whole",
    )
}

fn nothing_in(text: &str) -> bool {
    read_all(text, &ReadLimits::default()).is_ok_and(|forms| forms.is_empty())
}

fn check_piece(
    source: &str,
    before: usize,
    start: usize,
    end: usize,
    form: &Form,
) -> Result<(), PreludeError> {
    let pieces = source.get(before..start).zip(source.get(start..end));
    let whole = pieces.is_some_and(|(gap, text)| {
        let alone = read_all(text, &ReadLimits::default());
        nothing_in(gap) && alone.is_ok_and(|alone| alone.len() == 1 && same(&alone[0], form))
    });
    match whole {
        true => Ok(()),
        false => Err(unreadable()),
    }
}

/// Whether two forms are the same, wherever they stand.
fn same(a: &Form, b: &Form) -> bool {
    // Forms nest no deeper than the reader allows, so this recursion is bounded.
    let all = |a: &[Form], b: &[Form]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    let equal = match (&a.kind, &b.kind) {
        (Syntax::List(a), Syntax::List(b))
        | (Syntax::Vector(a), Syntax::Vector(b))
        | (Syntax::Map(a), Syntax::Map(b))
        | (Syntax::Set(a), Syntax::Set(b))
        | (Syntax::ShortFn(a), Syntax::ShortFn(b)) => all(a, b),
        (Syntax::Quote(a), Syntax::Quote(b))
        | (Syntax::Deref(a), Syntax::Deref(b))
        | (Syntax::Var(a), Syntax::Var(b)) => same(a, b),
        (Syntax::Tagged(tag, a), Syntax::Tagged(other, b)) => tag == other && same(a, b),
        (Syntax::Float(a), Syntax::Float(b)) => a.to_bits() == b.to_bits(),
        (a, b) => a == b,
    };
    equal && all(&a.meta, &b.meta)
}

fn top_form(source: &str, form: &Form, start: usize, end: usize) -> Result<TopForm, PreludeError> {
    let not_allowed = || PreludeError::Refused {
        reason: Reason::BaseScanFailed,
        message: "only `ns`, `def`, `defn` and `defn-` may stand at the top level of a prelude".to_owned(),
        compile_reason: Some("compile_error".to_owned()),
    };
    let items = form.as_list().ok_or_else(not_allowed)?;
    let word = items.first().and_then(Form::as_symbol).ok_or_else(not_allowed)?;
    let kind = FormKind::of(word).ok_or_else(not_allowed)?;
    let name = items.get(1).and_then(Form::as_symbol).ok_or_else(not_allowed)?;
    let mut symbols = BTreeSet::new();
    items.iter().skip(2).for_each(|item| collect_symbols(item, &mut symbols));
    let (doc, doc_place) = documentation(kind, items);
    Ok(TopForm {
        kind,
        name: name.to_owned(),
        doc,
        head: head(source, kind, items),
        start,
        end,
        doc_place,
        symbols,
    })
}

/// The documentation and its place. It stands after the name, or after metadata that follow the name; a `def`
/// has it only where a value comes after it.
fn documentation(kind: FormKind, items: &[Form]) -> (Option<String>, Range<usize>) {
    let after = items.get(1).map_or(0, |name| name.span.end as usize);
    let candidates = items.iter().skip(2).take(2).enumerate();
    for (at, item) in candidates {
        if let Syntax::Str(text) = &item.kind {
            if kind == FormKind::Constant && items.len() == at + 3 {
                break;
            }
            return (Some(text.clone()), item.span.start as usize..item.span.end as usize);
        }
        if !matches!(item.kind, Syntax::Map(_)) {
            break;
        }
    }
    (None, after..after)
}

/// What callers can see of a definition, as text.
fn head(source: &str, kind: FormKind, items: &[Form]) -> String {
    let text = |form: &Form| source.get(form.span.start as usize..form.span.end as usize).unwrap_or_default();
    let visible: Vec<&str> = match kind {
        FormKind::Constant | FormKind::Namespace => items.iter().map(text).collect(),
        FormKind::Function | FormKind::Helper => {
            let until = items.iter().position(|item| item.as_vector().is_some());
            match until {
                Some(parameters) => items[..=parameters].iter().map(text).collect(),
                // Several arities: the first element of each.
                None => {
                    let arity = |item: &Form| item.as_list().and_then(<[Form]>::first).map(text);
                    let leading = items.iter().take_while(|item| item.as_list().is_none()).map(text);
                    leading.chain(items.iter().filter_map(arity)).collect()
                }
            }
        }
    };
    visible.join(" ")
}

fn collect_symbols(form: &Form, into: &mut BTreeSet<String>) {
    match &form.kind {
        Syntax::Symbol(name) => {
            into.insert(name.clone());
        }
        Syntax::List(items)
        | Syntax::Vector(items)
        | Syntax::Map(items)
        | Syntax::Set(items)
        | Syntax::ShortFn(items) => items.iter().for_each(|item| collect_symbols(item, into)),
        Syntax::Deref(inner) | Syntax::Var(inner) | Syntax::Tagged(_, inner) => collect_symbols(inner, into),
        _ => {}
    }
}
