//! What is said of a call of which nobody knows whether it happened: the same wherever one is told of.

/// The reason of such calls, as programs and clients see it.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// Says that nobody knows whether a call happened: which call, why nobody knows, and what to do then.
///
/// ```
/// let told = ptc_host::outcome_unknown("mail/send", "was sent and not answered", "look before it is made again");
/// assert_eq!(
///     told,
///     "outcome unknown: mail/send was sent and not answered, so it may or may not have happened; look before it is made \
///      again"
/// );
/// ```
pub fn outcome_unknown(call: &str, why: &str, then: &str) -> String {
    format!("outcome unknown: {call} {why}, so it may or may not have happened; {then}")
}
