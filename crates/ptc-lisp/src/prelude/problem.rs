//! Why a prelude was not accepted: a reason that hosts match on, a message with the fix, and the place.

use crate::error::Error;
use crate::span::{Position, Span};

/// The reasons, by stable name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// The text does not read.
    Parse,
    /// A form is wrong, a name is not defined, a constant cannot be made.
    Compile,
    /// `(ns …)` is written wrongly, or the namespace is declared twice.
    InvalidNamespace,
    /// A definition stands before any `(ns …)`.
    MissingNamespace,
    /// The namespace belongs to the host or to the language.
    ReservedNamespace,
    /// A name is defined twice in its namespace.
    DuplicateRef,
    /// Metadata that is no map of keywords, or has a value of the wrong sort.
    InvalidMetadata,
    /// `:visibility` is neither `:prompt` nor `:discoverable`.
    InvalidVisibility,
    /// `:requires` is no list of strings.
    InvalidRequires,
    /// Parameters are written wrongly.
    InvalidSignature,
    /// A prelude calls its own namespace by qualified name.
    QualifiedSelfReference,
    /// Another prelude is used or declared as needed, but is not there.
    UnknownDependency,
    /// A constant is computed with another prelude.
    DependencyInConstant,
    /// Preludes need each other in a circle.
    DependencyCycle,
}

impl Reason {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Parse => "parse_error",
            Reason::Compile => "compile_error",
            Reason::InvalidNamespace => "invalid_namespace",
            Reason::MissingNamespace => "missing_namespace",
            Reason::ReservedNamespace => "reserved_namespace",
            Reason::DuplicateRef => "duplicate_ref",
            Reason::InvalidMetadata => "invalid_metadata",
            Reason::InvalidVisibility => "invalid_visibility",
            Reason::InvalidRequires => "invalid_requires",
            Reason::InvalidSignature => "invalid_signature",
            Reason::QualifiedSelfReference => "qualified_self_reference",
            Reason::UnknownDependency => "unknown_dependency",
            Reason::DependencyInConstant => "dep_ref_in_def",
            Reason::DependencyCycle => "dependency_cycle",
        }
    }
}

/// Why a prelude was not accepted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", reason.name(), self.placed())]
pub struct Problem {
    /// The reason.
    pub reason: Reason,
    /// The source it is in, if there are several.
    pub part: Option<String>,
    /// What is wrong and where; the span is one of that source.
    pub error: Box<Error>,
    /// Line and column of the place.
    pub position: Option<Position>,
}

impl Problem {
    pub(super) fn new(reason: Reason, error: Error) -> Self {
        Problem { reason, part: None, error: Box::new(error), position: None }
    }

    /// A problem at a place.
    pub(super) fn at(reason: Reason, span: Span, message: impl Into<String>) -> Self {
        Problem::new(reason, Error::new(crate::error::ErrorKind::InvalidForm, message).at(span))
    }

    /// Adds how to fix it.
    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.error.hint = Some(hint.into());
        self
    }

    /// Says in which source it is.
    #[must_use]
    pub(super) fn within(mut self, id: &str, text: &str) -> Self {
        if !id.is_empty() {
            self.part.get_or_insert_with(|| id.to_owned());
        }
        self.position = self.error.span.map(|span| Position::of(text, span.start));
        self
    }

    /// The message on one line: where, what, and how to fix it.
    pub fn placed(&self) -> String {
        let part = self.part.as_ref().map_or_else(String::new, |part| format!("{part}: "));
        let place =
            self.position.map_or_else(String::new, |at| format!("line {}, column {}: ", at.line, at.column));
        let hint = self.error.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
        format!("{part}{place}{}{hint}", self.error.text())
    }
}
