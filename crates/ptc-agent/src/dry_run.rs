//! Looks at a run before it begins: placeholders without values, inputs that break the signature, names that
//! clash.

use ptc_signature::{Mode, OnMissing};
use serde_json::Value as Json;

use crate::agent::Agent;
use crate::reason::Reason;
use crate::step::Fail;

impl Agent {
    /// What would go wrong with these inputs, without asking any model.
    pub fn validate(&self, context: &Json) -> Vec<Fail> {
        let mut found = Vec::new();
        found.extend(self.clash(context));
        if let Err(error) = self.template().render(context, OnMissing::Error)
            && matches!(error, ptc_signature::TemplateError::Missing(_))
        {
            found.push(Fail::new(Reason::TEMPLATE_ERROR, error.to_string()));
        }
        if let Some(signature) = self.signature()
            && let Err(rejection) = signature.validate_input(context, Mode::Enabled)
        {
            let errors = rejection.errors.iter().map(ToString::to_string);
            found.extend(errors.map(|error| Fail::new(Reason::VALIDATION_ERROR, error)));
        }
        found
    }

    /// An input that has the name of a tool.
    pub(crate) fn clash(&self, context: &Json) -> Option<Fail> {
        let name = context.as_object()?.keys().find(|key| self.tools().contains_key(*key))?;
        let message = format!("the input `{name}` has the name of a tool; rename one of them");
        Some(Fail::new(Reason::custom("context_clash"), message))
    }
}
