//! How calls of a model that failed are tried again. Only what went wrong on the way to the model is
//! tried again; what it answered costs a turn.

use serde::{Deserialize, Serialize};

use crate::model::{ModelError, ModelErrorKind};

/// How delays grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backoff {
    /// Each twice the one before.
    #[default]
    Exponential,
    /// Each longer by the first.
    Linear,
    /// Always the first.
    Constant,
}

/// When and how often a model is called again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Retry {
    /// Attempts in all.
    pub max_attempts: u32,
    /// How delays grow.
    pub backoff: Backoff,
    /// The first delay in milliseconds.
    #[serde(rename = "base_delay")]
    pub base_delay_ms: u64,
    /// The classes of errors that are worth another attempt; all of them if `None`.
    pub retryable_errors: Option<Vec<ModelErrorKind>>,
}

impl Default for Retry {
    fn default() -> Self {
        use ModelErrorKind::{RateLimit, ServerError, Timeout};
        Retry {
            max_attempts: 3,
            backoff: Backoff::Exponential,
            base_delay_ms: 1_000,
            retryable_errors: Some(vec![RateLimit, Timeout, ServerError]),
        }
    }
}

impl Retry {
    /// The draft's: as many attempts, whatever went wrong.
    pub fn draft() -> Self {
        Retry { retryable_errors: None, ..Retry::default() }
    }

    /// How long to wait after attempt number `attempt` (from 1) failed; `None` if it was the last.
    pub fn delay_ms(&self, attempt: u32, error: &ModelError) -> Option<u64> {
        let worth = self.retryable_errors.as_ref().is_none_or(|kinds| kinds.contains(&error.kind));
        if attempt >= self.max_attempts || !worth {
            return None;
        }
        let factor = match self.backoff {
            Backoff::Exponential => 1u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX),
            Backoff::Linear => u64::from(attempt),
            Backoff::Constant => 1,
        };
        // A provider that says when to come back knows better.
        Some(self.base_delay_ms.saturating_mul(factor).max(error.retry_after_ms.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(retry: &Retry, error: &ModelError) -> Vec<Option<u64>> {
        (1..=4).map(|attempt| retry.delay_ms(attempt, error)).collect()
    }

    #[test]
    fn r10_5_delays_follow_the_backoff_and_end_with_the_attempts() {
        let error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
        let with = |backoff| Retry { max_attempts: 4, backoff, ..Retry::default() };
        let (exponential, linear) = (with(Backoff::Exponential), with(Backoff::Linear));
        assert_eq!(delays(&exponential, &error), [Some(1000), Some(2000), Some(4000), None]);
        assert_eq!(delays(&linear, &error), [Some(1000), Some(2000), Some(3000), None]);
        assert_eq!(delays(&with(Backoff::Constant), &error), [Some(1000), Some(1000), Some(1000), None]);
    }

    #[test]
    fn r10_5_only_listed_classes_are_tried_again() {
        let wrong = ModelError::new(ModelErrorKind::ClientError, "bad request");
        let current = Retry { max_attempts: 3, ..Retry::default() };
        assert_eq!(current.delay_ms(1, &wrong), None);
        assert_eq!(Retry::draft().delay_ms(1, &wrong), Some(1000));
    }

    #[test]
    fn a_provider_that_says_when_to_come_back_is_heard() {
        let mut error = ModelError::new(ModelErrorKind::RateLimit, "slow down");
        error.retry_after_ms = Some(7_000);
        assert_eq!(Retry { max_attempts: 2, ..Retry::default() }.delay_ms(1, &error), Some(7_000));
    }
}
