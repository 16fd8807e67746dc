//! What a program needs, what is wrong with it, and what its result is, without running it.

use super::{AnalysisWorld, Machine};
use crate::analyze::node::NodeKind;
use crate::analyze::{Manifest, analyze, discovery, mistakes};
use crate::error::Error;
use crate::reader::{ReadLimits, read_all};

/// What a function told of what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The call that tells it again, as the program has it. Nothing where that takes more of the program.
    pub call: Option<String>,
}

impl Machine {
    /// What a program needs, without running it: every mistake that shows before it runs, and the
    /// tools it may call.
    pub fn check(&mut self, source: &str) -> Result<Manifest, Error> {
        let prepared = self.prepare(source)?;
        self.has_inputs(&prepared.unit)?;
        Ok((*prepared.manifest).clone())
    }

    /// The same, with all mistakes that can be told at once, in the order in which they stand in the program. Text that
    /// cannot be read has one. A call that cannot work is a mistake, as it is when the program is loaded.
    pub fn check_all(&mut self, source: &str) -> Result<Manifest, Vec<Error>> {
        let first = match self.check(source) {
            Ok(manifest) => match manifest.failing() {
                Some(error) => error.clone(),
                None => return Ok(manifest),
            },
            Err(error) => error,
        };
        match self.all_mistakes(source) {
            // It is wrong with something else than its forms.
            found if found.is_empty() => Err(vec![first]),
            found => Err(found),
        }
    }

    /// Whether the result of the program that ended is what `doc`, `dir`, `apropos` or another such function told. The
    /// program is read once more for it, so it is for results of which not all is shown.
    pub fn discovered(&self) -> Option<Discovered> {
        let forms = read_all(&self.source, &self.read_limits()).ok()?;
        let body = analyze(&forms, &AnalysisWorld { machine: self }).ok()?.body;
        let span = discovery(&body)?;
        let text = self.source.get(span.start as usize..span.end as usize).unwrap_or_default();
        let alone = matches!(body.kind, NodeKind::Call(..)) && text.starts_with('(') && text.ends_with(')');
        Some(Discovered { call: alone.then(|| text.to_owned()) })
    }

    fn all_mistakes(&self, source: &str) -> Vec<Error> {
        let forms = read_all(source, &self.read_limits());
        forms.map(|forms| mistakes(&forms, &AnalysisWorld { machine: self })).unwrap_or_default()
    }

    /// How large the text of a program may be.
    pub(super) fn read_limits(&self) -> ReadLimits {
        /// Bytes that a form takes on its way from text to code.
        const FORM: usize = 384;
        let given = &self.heap.limits;
        ReadLimits {
            max_bytes: given.source_bytes,
            max_depth: given.source_depth,
            max_forms: ReadLimits::default().max_forms.min(given.memory / FORM),
            ..ReadLimits::default()
        }
    }
}
