//! What a source must pass before it is stored.

use ptc_lisp::ErrorKind;
use ptc_lisp::prelude::{Options, Prelude, Source};

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

/// The usual check: the bundle is compiled.
pub(crate) struct Compiler;

impl CheckSource for Compiler {
    fn check(&self, bundle: &[Part<'_>]) -> Result<(), CheckFault> {
        let sources: Vec<Source<'_>> = bundle
            .iter()
            .map(|part| Source { id: part.id, text: part.source, needs: part.needs, origin: "store" })
            .collect();
        // The bounds of the store say how long one source may be.
        let bytes: usize = bundle.iter().map(|part| part.source.len()).sum();
        let mut options = Options::default();
        options.limits.source_bytes = options.limits.source_bytes.max(bytes);
        Prelude::compile(&sources, &options).map(drop).map_err(|problem| CheckFault {
            reason: match problem.error.kind {
                ErrorKind::FuelExceeded => "compile_timeout",
                ErrorKind::MemoryExceeded => "compile_memory_exceeded",
                _ => problem.reason.name(),
            }
            .to_owned(),
            message: problem.placed(),
        })
    }
}
