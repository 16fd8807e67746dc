//! All mistakes of a program at once. A form that is wrong is taken for nil, and analysis goes on behind it. The mistakes of
//! forms inside of one that is wrong itself may stay unseen until that is mended.

use super::node::Node;
use super::{Analyzer, Result, World};
use crate::error::Error;
use crate::span::Span;
use crate::syntax::Form;

/// The most mistakes that are told of one program.
const MOST: usize = 20;

/// The mistakes of a program, in the order in which they stand in it.
pub fn mistakes(forms: &[Form], world: &dyn World) -> Vec<Error> {
    let mut analyzer = Analyzer::new(world);
    analyzer.mistakes = Some(Vec::new());
    analyzer.recall_required();
    analyzer.collect_definitions(forms);
    let stopped = analyzer.body(forms, Span::default(), true).err();
    let mut found = analyzer.mistakes.take().unwrap_or_default();
    found.extend(analyzer.undefined_errors());
    found.extend(stopped);
    found.sort_by_key(|error| error.span.map(|span| (span.start, span.end)));
    // A form that is written once may stand in several places of what it is rewritten to.
    found.dedup_by(|one, other| (&one.message, one.span) == (&other.message, other.span));
    found.truncate(MOST);
    found
}

impl Analyzer<'_> {
    /// Keeps the mistake of a form that is whole otherwise, where all of them are told.
    pub(super) fn keep_mistake(&mut self, error: Error) {
        if let Some(found) = self.mistakes.as_mut().filter(|found| found.len() < MOST) {
            found.push(error);
        }
    }

    /// A form that may be wrong: its mistake is kept, and what it opened is closed.
    pub(super) fn form_or_nil(&mut self, form: &Form, tail: bool) -> Result {
        let (scopes, trying) = (self.scopes.mark(), self.trying);
        let error = match self.form_inner(form, tail) {
            Ok(node) => return Ok(node),
            Err(error) => error.at(form.span),
        };
        match &mut self.mistakes {
            Some(found) if found.len() < MOST && error.kind.is_catchable() => found.push(error),
            // Limits end the analysis.
            _ => return Err(error),
        }
        self.scopes.reset(scopes);
        self.trying = trying;
        Ok(Node::nil(form.span))
    }
}
