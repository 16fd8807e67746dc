//! What a source must pass before it is stored.

/// One source of a bundle.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The prelude.
    pub id: &'a str,
    /// Its source.
    pub source: &'a str,
    /// The ids of the preludes it needs; they come earlier in the bundle.
    pub needs: &'a [String],
}

/// Compiles sources to find out whether they may be stored.
pub trait CheckSource: Send + Sync {
    /// Compiles a bundle whose last part is the new source; the others are in the store already.
    fn check(&self, bundle: &[Part<'_>]) -> Result<(), CheckFault>;
}

/// Why a source was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFault {
    /// The compiler's reason by name, `parse_error` for instance.
    pub reason: String,
    /// What is wrong, where, and how to fix it.
    pub message: String,
}

/// The usual check.
pub(crate) struct Compiler;

impl CheckSource for Compiler {
    fn check(&self, bundle: &[Part<'_>]) -> Result<(), CheckFault> {
        let Some(part) = bundle.last() else { return Ok(()) };
        let forms = super::Forms::scan(part.source)
            .map_err(|error| CheckFault { reason: "compile_error".to_owned(), message: error.to_string() })?;
        let mut names = std::collections::BTreeSet::new();
        match forms.definitions().find(|form| !names.insert(form.name.as_str())) {
            None => Ok(()),
            Some(twice) => Err(CheckFault {
                reason: "duplicate_ref".to_owned(),
                message: format!("`{}` is defined twice; remove one of the definitions", twice.name),
            }),
        }
    }
}
