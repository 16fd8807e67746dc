//! What is said of a call of which nobody knows whether it happened: the same wherever one is told of.

/// Says that nobody knows whether a call happened: which call, when it was made, if that is known, why nobody knows what
/// came of it, and what to do then.
pub fn outcome_unknown(call: &str, called_at: Option<&str>, why: &str, then: &str) -> String {
    let called = called_at.map_or_else(String::new, |time| format!(", called at {time},"));
    format!("outcome unknown: {call}{called} {why}, so it may or may not have happened; {then}")
}
