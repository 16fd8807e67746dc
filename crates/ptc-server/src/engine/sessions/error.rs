//! What goes wrong with sessions, as an answer.

use ptc_upstream::ledger::LedgerEntry;
use serde_json::{Value as Json, json};

use super::super::reason::Reason;
use super::super::tickets::Made;
use super::super::{Answered, envelope};

/// An error of a session tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionError {
    pub reason: Reason,
    pub message: String,
    pub detail: Option<Json>,
    /// Calls that the program made and that may have changed something, each once.
    made: Vec<String>,
    /// Those of them whose answers are not written down: whoever sends the request again is told that nobody knows of them.
    unknown: Vec<String>,
    /// Whether another server may have the session that this one cannot have.
    is_here_only: bool,
    /// Waiting does not help.
    is_lasting: bool,
}

impl SessionError {
    /// An error with a message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        SessionError {
            reason,
            message: message.into(),
            detail: None,
            made: Vec::new(),
            unknown: Vec::new(),
            is_here_only: false,
            is_lasting: false,
        }
    }

    /// The same for a session that is open, and that only this server refuses.
    pub fn here_only(self) -> Self {
        SessionError { is_here_only: true, ..self }
    }

    /// The same for what does not get better by itself.
    pub fn lasting(self) -> Self {
        SessionError { is_lasting: true, ..self }
    }

    /// Arguments that are wrong.
    pub fn args(message: impl Into<String>) -> Self {
        SessionError::new(Reason::SESSION_ARGS, message)
    }

    /// The same after a program that made these calls: what they did stays, whatever becomes of the session. The answers of
    /// those that are `unwritten` are not in the journal; the server's own tools are among them, and not in the account.
    pub fn after(self, calls: &[LedgerEntry], unwritten: Vec<String>) -> Self {
        let (made, unknown) = Made::of(calls, unwritten).names();
        SessionError { made, unknown, ..self }
    }

    /// Whether the session is there no more, for nobody.
    pub fn is_over(&self) -> bool {
        !self.is_here_only && self.is_one_of(&[Reason::SESSION_NOT_FOUND, Reason::SESSION_CLOSED])
    }

    /// Whether it may be had in a moment.
    pub fn is_passing(&self) -> bool {
        self.is_one_of(&[Reason::SESSION_BUSY, Reason::SESSIONS_UNAVAILABLE, Reason::OUTCOME_UNKNOWN])
    }

    fn is_one_of(&self, reasons: &[Reason]) -> bool {
        reasons.iter().any(|reason| reason.name == self.reason.name)
    }

    /// What to do about it.
    fn feedback(&self) -> &'static str {
        match self.reason.name {
            "session_not_found" | "session_closed" if !self.made.is_empty() || !self.unknown.is_empty() => {
                "The session is over, and what the calls did stays: look at it before you call again. Sent again under the \
                 same key, the request is told what they did, and makes none."
            }
            _ if !self.made.is_empty() || !self.unknown.is_empty() => {
                "What the calls did stays. Send the request again under the same key, if it has one: it is taken up, and calls \
                 that were answered are not made again. Else look first what they did; to call again makes them again."
            }
            "session_not_found" | "session_closed" => "Start a session with lisp_session_start.",
            "session_owner_mismatch" => "Use a session of your own; lisp_session_list shows them.",
            "session_busy" => "Wait until the running program is over, then call again.",
            "prelude_attach_failed" => "Ask for other preludes, or for a role that grants what these need.",
            "sessions_unavailable" if self.is_lasting => {
                "Nothing was changed, and waiting does not help. Close the session with lisp_session_close and start another \
                 one, or tell whoever runs the server, who can restore a backup."
            }
            "sessions_unavailable" => "Nothing was changed. Wait a moment, then call again.",
            "outcome_unknown" => {
                "Send the request again under the same key, if it has one: it is applied once. Else look first, with \
                 lisp_session_inspect or lisp_session_list, and call again only if the change is not there."
            }
            "session_limit_exceeded" => "Close sessions with lisp_session_close, then start a new one.",
            _ => "Mend the arguments and call again.",
        }
    }

    /// The answer, the same in every profile.
    pub fn answered(&self) -> Answered {
        Answered::new(envelope::plain(self.object(), true), Some(self.reason.name))
    }

    fn object(&self) -> Json {
        let mut object = json!({
            "status": "error",
            "reason": self.reason.name,
            "message": self.message,
            "feedback": self.feedback(),
        });
        if let Some(detail) = &self.detail {
            object["detail"] = detail.clone();
        }
        let told = [
            ("calls_made", "calls that the program made before", &self.made),
            (
                "calls_unknown",
                "calls of which nobody knows whether they were made, or later will",
                &self.unknown,
            ),
        ];
        for (field, words, calls) in told.into_iter().filter(|(.., calls)| !calls.is_empty()) {
            let message = object["message"].as_str().unwrap_or_default();
            object["message"] = format!("{message}; {words}: {}", calls.join(", ")).into();
            object[field] = json!(calls);
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use ptc_upstream::ledger::Status;
    use ptc_upstream::model::Reason as Fault;

    use super::*;

    fn call(tool: &str, effect: &'static str) -> LedgerEntry {
        LedgerEntry {
            server: "crm".to_owned(),
            tool: tool.to_owned(),
            status: Status::Ok,
            duration_ms: 1,
            result_bytes: None,
            oversize: false,
            reason: None,
            error: None,
            recalled: false,
            unsent: false,
            effect,
            args_hash: String::new(),
            overview: None,
        }
    }

    #[test]
    fn what_does_not_get_better_is_not_to_be_waited_for() {
        let error = || SessionError::new(Reason::SESSIONS_UNAVAILABLE, "the dump is damaged");
        assert!(error().feedback().contains("Wait a moment"));
        let told = error().lasting().feedback();
        assert!(told.contains("lisp_session_close") && !told.contains("Wait a moment"), "{told}");
    }

    #[test]
    fn who_is_told_that_nothing_was_kept_is_told_of_calls_that_stay() {
        let error = || SessionError::new(Reason::SESSIONS_UNAVAILABLE, "nothing was kept");
        let calls =
            [call("find", "read"), call("put", "write"), call("put", "write"), call("odd", "unknown")];
        let told = error().after(&calls, Vec::new()).object();
        assert_eq!(told["calls_made"], json!(["crm/put", "crm/odd"]));
        assert_eq!(told["message"], "nothing was kept; calls that the program made before: crm/put, crm/odd");
        assert!(
            told["feedback"].as_str().is_some_and(|text| text.starts_with("What the calls did stays.")),
            "{told}"
        );
        let told = error().after(&calls[1..], vec!["crm/odd".to_owned()]).object();
        assert_eq!((&told["calls_made"], &told["calls_unknown"]), (&json!(["crm/put"]), &json!(["crm/odd"])));
        // What was never sent, or was not let in, is none of them. A tool of the server's own is.
        let [unsent, refused, open] = ["unsent", "refused", "open"].map(|tool| call(tool, "write"));
        let unsent = LedgerEntry { unsent: true, reason: Some(Fault::UpstreamUnavailable), ..unsent };
        let refused = LedgerEntry { reason: Some(Fault::UpstreamToolDenied), ..refused };
        let open = LedgerEntry { unsent: true, reason: Some(Fault::OutcomeUnknown), ..open };
        let own = "ptc/prelude_write".to_owned();
        let told = error().after(&[unsent, refused, open], vec!["crm/open".to_owned(), own.clone()]).object();
        assert_eq!((&told["calls_made"], &told["calls_unknown"]), (&Json::Null, &json!(["crm/open", own])));
        // Whatever nobody knows of is told as such, also if nothing is written down.
        let late = LedgerEntry { reason: Some(Fault::Timeout), ..call("late", "write") };
        let told = error().after(&[late], Vec::new()).object();
        assert_eq!((&told["calls_made"], &told["calls_unknown"]), (&Json::Null, &json!(["crm/late"])));
        let told = error().after(&calls[..1], Vec::new()).object();
        assert_eq!((&told["calls_made"], &told["message"]), (&Json::Null, &json!("nothing was kept")));
        assert!(
            told["feedback"].as_str().is_some_and(|text| text.starts_with("Nothing was changed.")),
            "{told}"
        );
    }
}
