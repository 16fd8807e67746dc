//! The reasons of error answers: one table. Tools, schemas and documentation read it.

/// Why a call failed, by the name that clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The stable name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
}

macro_rules! reasons {
    ($($constant:ident, $name:literal, $doc:literal;)*) => {
        impl Reason {
            $(#[doc = $doc] pub const $constant: Reason = Reason { name: $name, doc: $doc };)*
            /// All of them.
            pub const ALL: &[Reason] = &[$(Reason::$constant),*];
        }
    };
}

reasons! {
    PARSE, "parse_error", "The program's text cannot be read.";
    RUNTIME, "runtime_error", "The program is wrong, or failed while it ran.";
    TIMEOUT, "timeout", "The program took too long.";
    MEMORY, "memory_limit", "The program needs more memory than it may have.";
    ARGS, "args_error", "The arguments of the call are wrong.";
    FAIL, "fail", "The program ended with (fail value).";
    VALIDATION, "validation_error", "The result does not fit the output schema.";
    BUSY, "busy", "Too many calls are under way.";
    CANCELLED, "cancelled", "The call was cancelled.";
    UNKNOWN_TOOL, "unknown_tool", "There is no such tool, or it is not offered.";
    SHUTTING_DOWN, "shutting_down", "The server takes no new calls.";
    ROLE_DENIED, "role_credential_denied", "The tool is not available to role credentials.";
    SESSIONS_DISABLED, "sessions_disabled", "The server has no sessions.";
    SESSIONS_UNAVAILABLE, "sessions_unavailable", "Sessions cannot be reached at the moment.";
    SESSION_NOT_FOUND, "session_not_found", "There is no such session.";
    SESSION_CLOSED, "session_closed", "The session is over.";
    SESSION_OWNER, "session_owner_mismatch", "The session belongs to another caller.";
    SESSION_BUSY, "session_busy", "A program of the session is running.";
    SESSION_ARGS, "session_args_error", "The arguments of a session tool are wrong.";
    SESSION_LIMIT, "session_limit_exceeded", "A limit of sessions does not allow it.";
    PRELUDE_ATTACH, "prelude_attach_failed", "Preludes cannot be compiled, or need what is not granted.";
    BUDGET, "budget_exceeded", "The task took more time than it has.";
    AGENT_FAILED, "agent_failed", "The planner did not come to an answer.";
    APPROVAL, "approval_required", "A call must be approved before the program goes on.";
    TICKET_INVALID, "ticket_invalid", "The ticket is not one of this server's, was changed, or belongs to another program.";
    TICKET_EXPIRED, "ticket_expired", "Nobody decided in time.";
    TICKET_USED, "ticket_used", "The ticket was used; the answer says what came of it.";
    TICKET_OWNER, "ticket_owner_mismatch", "The ticket belongs to another caller.";
    TICKET_BUSY, "ticket_busy", "The program of the ticket is going on right now.";
    TICKET_LIMIT, "ticket_limit_exceeded", "As many programs of the caller wait for approval as may.";
    TICKET_STALE, "ticket_stale", "What the program began with has changed since.";
    UPSTREAM, "upstream_unavailable", "The server of a call that was decided about cannot be asked what its tool is.";
    STORE, "store_unavailable", "The store cannot be reached at the moment.";
    REQUEST_STALE, "request_stale", "What the request began with has changed since, and it may have changed something.";
    OUTCOME_UNKNOWN, "outcome_unknown", "Whether the change was kept is not known; the answer says how to find out.";
    PARTIAL, "partial_side_effects", "The task stopped after calls that may have changed something.";
    AGENTIC_CONFIG, "agentic_config_error", "The planner is not set up.";
    PLANNER_TIMEOUT, "planner_timeout", "The planning model took too long.";
    PLANNER, "planner_error", "The planning model failed.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_documented() {
        for (at, reason) in Reason::ALL.iter().enumerate() {
            assert!(Reason::ALL[..at].iter().all(|other| other.name != reason.name), "{}", reason.name);
            assert!(reason.doc.ends_with('.'), "{}", reason.name);
        }
    }
}
