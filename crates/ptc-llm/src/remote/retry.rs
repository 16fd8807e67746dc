//! When another attempt is made: exponential delays with jitter, or when the provider says.

use std::time::Duration;

use super::fault::Fault;

/// How attempts follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// Attempts in all.
    pub most: u32,
    /// The first delay.
    pub first: Duration,
    /// No delay is longer; a provider that asks for more is not waited for.
    pub longest: Duration,
}

impl Default for Attempts {
    fn default() -> Self {
        Attempts { most: 3, first: Duration::from_millis(500), longest: Duration::from_secs(60) }
    }
}

impl Attempts {
    /// How long to wait after attempt number `attempt` (from 1) failed; `None` if there is no other. `chance`
    /// is between 0 and 1: it spreads those who failed together.
    pub(super) fn delay(&self, attempt: u32, fault: &Fault, chance: f64) -> Option<Duration> {
        if attempt >= self.most || !fault.class.is_worth_another_attempt() {
            return None;
        }
        let factor = 1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX);
        let own =
            self.first.saturating_mul(factor).min(self.longest).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0);
        match fault.retry_after_ms.map(Duration::from_millis) {
            Some(asked) if asked > self.longest => None,
            Some(asked) => Some(asked.max(own)),
            None => Some(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fault::Class;
    use super::*;

    fn fault(class: Class, retry_after_ms: Option<u64>) -> Fault {
        Fault { retry_after_ms, ..Fault::new(class, "x") }
    }

    #[test]
    fn delays_grow_are_spread_and_end() {
        let attempts = Attempts { most: 9, ..Attempts::default() };
        let ms = |attempt, chance| {
            attempts.delay(attempt, &fault(Class::Unavailable, None), chance).map(|delay| delay.as_millis())
        };
        assert_eq!([ms(1, 1.0), ms(2, 1.0), ms(3, 1.0)], [Some(500), Some(1000), Some(2000)]);
        assert_eq!([ms(1, 0.0), ms(3, 0.5)], [Some(250), Some(1500)]);
        assert_eq!([ms(8, 1.0), ms(9, 1.0)], [Some(60_000), None]);
    }

    #[test]
    fn only_infrastructure_gets_another_attempt() {
        let attempts = Attempts::default();
        for (class, again) in [
            (Class::RateLimit, true),
            (Class::Timeout, true),
            (Class::Unavailable, true),
            (Class::Auth, false),
            (Class::NoSuchModel, false),
            (Class::NoCredit, false),
            (Class::BadRequest, false),
            (Class::ContextLength, false),
            (Class::Malformed, false),
            (Class::TooLarge, false),
        ] {
            assert_eq!(attempts.delay(1, &fault(class, None), 0.0).is_some(), again, "{class:?}");
        }
    }

    #[test]
    fn the_provider_says_when_unless_that_is_too_long() {
        let delay = |asked| Attempts::default().delay(1, &fault(Class::RateLimit, Some(asked)), 0.0);
        assert_eq!(delay(7_000), Some(Duration::from_secs(7)));
        assert_eq!(delay(1), Some(Duration::from_millis(250)), "never sooner than our own delay");
        assert_eq!(delay(3_600_000), None);
    }
}
