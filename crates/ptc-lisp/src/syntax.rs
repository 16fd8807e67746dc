//! The tree the reader makes: Clojure's data syntax with the place of every form.

use std::sync::Arc;

use num_bigint::BigInt;

use crate::exact::Exact;
use crate::span::Span;

/// One form and where it stands in the source. Parts are shared, because macros put forms into others: a copy takes
/// the same little room whatever is inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// What was read.
    pub kind: FormKind,
    /// Where it was read.
    pub span: Span,
    /// Metadata written before the form (`^:private`, `^{:doc "…"}`, `^String`), newest first.
    /// `^:k` is the keyword form, `^Tag` the symbol form, `^{…}` the map form. Empty for most.
    pub meta: Vec<Form>,
}

/// The shapes of a form. Reader shorthands that mean a call are kept apart from the call, so that
/// messages can speak of what was written.
#[derive(Clone, Debug, PartialEq)]
pub enum FormKind {
    /// `nil`
    Nil,
    /// `true`, `false`
    Bool(bool),
    /// An integer that fits 64 bits and has no `N`.
    Int(i64),
    /// A larger integer, or one written with `N`.
    BigInt(BigInt),
    /// An exact decimal or a ratio.
    Decimal(Exact),
    /// A float.
    Float(f64),
    /// A string; characters read as one-character strings.
    Str(String),
    /// A keyword without its colon; `::k` reads as `user/k`.
    Keyword(String),
    /// A symbol, `ns/name` if qualified.
    Symbol(String),
    /// A regular expression's source text, unescaped only as Clojure does (that is: not at all).
    Regex(String),
    /// `(…)`
    List(Arc<[Form]>),
    /// `[…]`
    Vector(Arc<[Form]>),
    /// `{…}`: keys and values alternate; the reader guarantees an even count.
    Map(Arc<[Form]>),
    /// `#{…}`
    Set(Arc<[Form]>),
    /// `#(…)`: the forms between the parentheses; `%`, `%1`…`%20`, `%&` are plain symbols in it.
    ShortFn(Arc<[Form]>),
    /// `'form`
    Quote(Arc<Form>),
    /// `@form`
    Deref(Arc<Form>),
    /// `#'name`
    Var(Arc<Form>),
    /// `#inst "…"`, `#uuid "…"` and other tags, with the tag's name and its form.
    Tagged(String, Arc<Form>),
}

impl Form {
    /// A form without metadata.
    pub fn new(kind: FormKind, span: Span) -> Self {
        Form { kind, span, meta: Vec::new() }
    }

    /// The text of a symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match &self.kind {
            FormKind::Symbol(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a keyword, without colon.
    pub fn as_keyword(&self) -> Option<&str> {
        match &self.kind {
            FormKind::Keyword(text) => Some(text),
            _ => None,
        }
    }

    /// The forms of a list.
    pub fn as_list(&self) -> Option<&[Form]> {
        match &self.kind {
            FormKind::List(items) => Some(items),
            _ => None,
        }
    }

    /// The forms of a vector.
    pub fn as_vector(&self) -> Option<&[Form]> {
        match &self.kind {
            FormKind::Vector(items) => Some(items),
            _ => None,
        }
    }
}
