//! From one step to the next: what a step gives as inputs, and whether that is what the next agent takes.

use ptc_signature::keys;
use serde_json::{Map, Value as Json, json};

use crate::agent::Agent;
use crate::reason::Reason;
use crate::step::{Fail, Step};

/// The inputs that a step gives, or why it gives none.
pub(crate) fn context_of(step: &Step) -> Result<Json, Fail> {
    if let Some(fail) = &step.fail {
        let upstream =
            json!({"reason": fail.reason.as_str(), "message": fail.message, "details": fail.details});
        return Err(Fail {
            details: json!({"upstream": upstream, "original_failure": upstream}),
            ..Fail::new(
                Reason::CHAINED_FAILURE,
                format!("the step before failed with {}: {}", fail.reason, fail.message),
            )
        });
    }
    Ok(match &step.value {
        Json::Object(_) => step.value.clone(),
        _ => Json::Object(Map::new()),
    })
}

impl Agent {
    /// Whether a step gives all that this agent takes; if not, what is missing. Steps that failed and agents
    /// without a signature are not looked at.
    pub fn accepts(&self, step: &Step) -> Result<(), Fail> {
        let (Some(signature), None) = (self.signature(), &step.fail) else { return Ok(()) };
        let given: Vec<&String> =
            step.value.as_object().map(|fields| fields.keys().collect()).unwrap_or_default();
        let wanted = signature.input.fields.iter().filter(|field| !field.ty.is_optional());
        let mut missing: Vec<&str> = wanted
            .map(|field| field.name.as_str())
            .filter(|name| !given.iter().any(|key| keys::same(key, name)))
            .collect();
        missing.sort_unstable();
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Fail::new(
                Reason::CHAIN_ERROR,
                format!("chain mismatch: the step before does not give {}", missing.join(", ")),
            )),
        }
    }
}
