//! What goes wrong with sessions, as an answer.

use serde_json::{Value as Json, json};

use super::super::reason::Reason;
use super::super::{Answered, envelope};

/// An error of a session tool.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionError {
    pub reason: Reason,
    pub message: String,
    pub detail: Option<Json>,
}

impl SessionError {
    /// An error with a message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        SessionError { reason, message: message.into(), detail: None }
    }

    /// Arguments that are wrong.
    pub fn args(message: impl Into<String>) -> Self {
        SessionError::new(Reason::SESSION_ARGS, message)
    }

    /// What to do about it.
    fn feedback(&self) -> &'static str {
        match self.reason.name {
            "session_not_found" | "session_closed" => "Start a session with lisp_session_start.",
            "session_owner_mismatch" => "Use a session of your own; lisp_session_list shows them.",
            "session_busy" => "Wait until the running program is over, then call again.",
            "prelude_attach_failed" => "Ask for other preludes, or for a role that grants what these need.",
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
        let mut object = json!({
            "status": "error",
            "reason": self.reason.name,
            "message": self.message,
            "feedback": self.feedback(),
        });
        if let Some(detail) = &self.detail {
            object["detail"] = detail.clone();
        }
        Answered::new(envelope::plain(object, true), Some(self.reason.name))
    }
}
