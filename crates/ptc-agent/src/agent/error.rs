//! Why an agent cannot be built: the option, and what is wrong with it.

use crate::reason::Reason;

/// A definition that cannot work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("option `{option}`: {message}")]
pub struct BuildError {
    /// The option.
    pub option: String,
    /// What is wrong, and what would be right.
    pub message: String,
    /// A reason from the table, for the few that have one.
    pub reason: Option<Reason>,
}

impl BuildError {
    /// Something is wrong with an option.
    pub fn option(option: impl Into<String>, message: impl Into<String>) -> Self {
        BuildError { option: option.into(), message: message.into(), reason: None }
    }

    pub(super) fn because(mut self, reason: Reason) -> Self {
        self.reason = Some(reason);
        self
    }
}
