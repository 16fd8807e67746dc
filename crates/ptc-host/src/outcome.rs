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

/// When a call was made, as people look for it in the log of whoever was called: in UTC, by the second.
///
/// ```
/// assert_eq!(ptc_host::called_at(1_700_000_000_999), "2023-11-14T22:13:20Z");
/// ```
pub fn called_at(ms: i64) -> String {
    // What no calendar has is told as it stands.
    jiff::Timestamp::from_second(ms.div_euclid(1_000))
        .map_or_else(|_| format!("{ms} ms"), |at| at.to_string())
}

/// Says that nobody knows whether a call happened: which call, when it was made in milliseconds since 1970, if that is known,
/// why nobody knows what came of it, and what to do then.
///
/// ```
/// let (why, then) = ("was sent and not answered", "look before it is made again");
/// assert_eq!(
///     ptc_host::outcome_unknown("mail/send", Some(1_700_000_000_000), why, then),
///     "outcome unknown: mail/send, called at 2023-11-14T22:13:20Z, was sent and not answered, so it may or may not have \
///      happened; look before it is made again"
/// );
/// assert!(ptc_host::outcome_unknown("mail/send", None, why, then).starts_with("outcome unknown: mail/send was sent"));
/// ```
pub fn outcome_unknown(call: &str, called_ms: Option<i64>, why: &str, then: &str) -> String {
    ptc_lisp::outcome_unknown(call, called_ms.map(called_at).as_deref(), why, then)
}
