//! What is said of a call of which nobody knows whether it happened: the same wherever one is told of.

/// The reason of such calls, as programs and clients see it.
pub const OUTCOME_UNKNOWN: &str = "outcome_unknown";

/// Why nobody knows: whoever made the call ended before its answer came.
pub const BEGUN_BEFORE: &str = "was begun before and its answer never came";

/// Why nobody knows, although somebody looked.
pub const DISMISSED: &str = "was begun before, and was settled without a finding";

/// What to do about a call whose outcome is unknown: people find it by its identity, if it is written down.
pub fn look_and_settle(identity: Option<&str>) -> String {
    match identity {
        Some(identity) => format!(
            "it is not made again. Look what became of it, and note that with `ptc effects settle`; its identity is {identity}"
        ),
        None => "look before it is made again".to_owned(),
    }
}

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
