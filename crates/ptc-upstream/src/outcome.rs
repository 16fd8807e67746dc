//! Calls of which nobody knows whether they happened. Whatever the cause, a program is told the same: that its outcome
//! is unknown, of which server and tool, when it was made, and under which identity `ptc effects` lists the call.

use crate::ledger::cut;
use crate::model::{Fault, Reason};

/// A call that may have changed something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unknown<'c> {
    /// The upstream.
    pub server: &'c str,
    /// The tool.
    pub tool: &'c str,
    /// What people find it by, if it is written down.
    pub identity: Option<&'c str>,
    /// When it was made, in milliseconds since 1970, if that is known.
    pub called_ms: Option<i64>,
}

/// Why nobody knows what came of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why<'c> {
    /// It was sent, and this came in the place of an answer.
    Unanswered(&'c Fault),
    /// It was sent, and the program ended first.
    Ended,
    /// It was begun when the program ran before, and there is no answer.
    BegunBefore,
    /// It was begun when the program ran before, and a person settled it without a finding.
    Dismissed,
    /// It may have been begun when the program ran before, which cannot be looked up because of this.
    NotLookedUp(&'c str),
}

/// Bytes of a cause: few enough that accounts have the whole message, with the identity at its end.
const CAUSE: usize = 160;

impl Unknown<'_> {
    /// What a program is told.
    pub fn fault(self, why: Why<'_>) -> Fault {
        let cause = match why {
            Why::Unanswered(fault) if fault.unread => {
                format!("was sent, and its answer cannot be read ({})", cut(&fault.message, CAUSE))
            }
            Why::Unanswered(fault) => {
                format!("was sent and not answered ({}: {})", fault.reason, cut(&fault.message, CAUSE))
            }
            Why::Ended => "was sent, and the program ended before the answer came".to_owned(),
            Why::BegunBefore => ptc_host::BEGUN_BEFORE.to_owned(),
            Why::Dismissed => ptc_host::DISMISSED.to_owned(),
            Why::NotLookedUp(cause) => {
                format!("may have been begun before, which cannot be looked up ({})", cut(cause, CAUSE))
            }
        };
        let then = match self.identity {
            Some(identity) if matches!(why, Why::Dismissed) => {
                format!("it is not made again; if it is wanted, ask for it anew. Its identity is {identity}")
            }
            // It may never have been begun, and then people look for its identity in vain.
            Some(identity) if matches!(why, Why::NotLookedUp(_)) => format!(
                "it is not made now. If it was begun, `ptc effects` lists it, with --done too: look what became of it. Its identity \
                 is {identity}"
            ),
            identity => ptc_host::look_and_settle(identity),
        };
        let call = format!("{}/{}", self.server, self.tool);
        let bytes = match why {
            Why::Unanswered(fault) => fault.bytes,
            _ => None,
        };
        let message = ptc_host::outcome_unknown(&call, self.called_ms, &cause, &then);
        Fault { bytes, ..Fault::new(Reason::OutcomeUnknown, message) }
    }
}

/// Whether a fault says what became of the call. After all others it may or may not have happened.
pub(crate) fn is_known(fault: &Fault) -> bool {
    fault.unsent || !(fault.unread || fault.reason.is_silent())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_outcomes_have_one_shape() {
        let late = Fault::new(Reason::Timeout, "no answer within 5 ms");
        let long = Fault::new(Reason::UpstreamUnavailable, "x".repeat(5_000));
        let broken = Fault::unreadable("malformed JSON response");
        let when = [(Some(1_700_000_000_999), ", called at 2023-11-14T22:13:20Z, "), (None, " ")];
        for (identity, (called_ms, at)) in
            [Some("c0ffee"), None].into_iter().flat_map(|i| when.map(|w| (i, w)))
        {
            let call = Unknown { server: "crm", tool: "put", identity, called_ms };
            for (why, part) in [
                (Why::Unanswered(&late), "(timeout: no answer within 5 ms)"),
                (Why::Unanswered(&long), "(upstream_unavailable: xxx"),
                (Why::Unanswered(&broken), "its answer cannot be read (malformed JSON response)"),
                (Why::Ended, "the program ended before the answer came"),
                (Why::BegunBefore, "was begun before"),
                (Why::Dismissed, "was settled without a finding"),
                (Why::NotLookedUp("the store is away"), "(the store is away)"),
            ] {
                let told = call.fault(why);
                assert_eq!(told.reason, Reason::OutcomeUnknown);
                let message = told.message;
                assert!(
                    message.starts_with(&format!("outcome unknown: crm/put{at}")) && message.contains(part),
                    "{message}"
                );
                assert!(message.contains("so it may or may not have happened; "), "{message}");
                let then = if identity.is_some() { "identity is c0ffee" } else { "before it is made again" };
                assert!(message.ends_with(then) && message.len() < 500, "{message}");
            }
        }
    }
}
