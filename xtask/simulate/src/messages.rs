//! What clients and servers say to each other.

use serde_json::Value as Json;

/// What a client asks for.
#[derive(Clone, Debug)]
pub enum Ask {
    /// To carry out a request under a key.
    Run(Request),
    /// To go on with a program that waits.
    Decide(Decide),
    /// To end a session.
    Close(CloseSession),
}

/// A session that is to end.
#[derive(Clone, Copy, Debug)]
pub struct CloseSession {
    pub owner: &'static str,
    pub session: &'static str,
}

/// A program to run under a key.
#[derive(Clone, Debug)]
pub struct Request {
    pub owner: &'static str,
    pub key: String,
    pub session: Option<&'static str>,
    pub source: &'static str,
}

impl Request {
    /// What the store knows it by.
    pub fn scope(&self) -> String {
        format!("request:{}:{}", self.owner, self.key)
    }

    /// What is asked for, in one line.
    pub fn text(&self) -> String {
        let session = self.session.map(|session| format!(" in session {session}")).unwrap_or_default();
        let source: Vec<&str> = self.source.split_whitespace().collect();
        format!("{}{session}: {}", self.scope(), source.join(" "))
    }
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Decide {
    pub owner: &'static str,
    pub ticket: String,
    pub decision: Decision,
    /// The key under which it may come again, if it has one.
    pub key: Option<String>,
}

impl Decide {
    /// What the store knows its request by, if it has a key.
    pub fn scope(&self) -> Option<String> {
        self.key.as_ref().map(|key| format!("request:{}:{key}", self.owner))
    }
}

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Reject,
    Edit,
}

/// As the store keeps it that somebody rejected what was left by a server that ended: the program is over.
pub const LEFT: &str = "reject what was left";

/// What an edit has written.
pub const EDITED: i64 = -7;

impl Decision {
    pub const ALL: [Decision; 3] = [Decision::Approve, Decision::Reject, Decision::Edit];

    /// As the store keeps it.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
            Decision::Edit => "edit",
        }
    }

    /// What was kept.
    pub fn named(name: &Json) -> Option<Decision> {
        if *name == LEFT {
            return Some(Decision::Reject);
        }
        Decision::ALL.into_iter().find(|decision| *name == decision.name())
    }
}

/// What a server says.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The reply that is kept under the key.
    Reply(Json),
    /// What came of a ticket.
    Ended(Json),
    /// Somebody decided this about the ticket, and did not come to an end.
    Decided(Json),
    /// Nothing for now, and why.
    Again(&'static str),
    /// Never, and why.
    Over(&'static str),
}

impl Said {
    /// The same in one line.
    pub fn text(&self) -> String {
        match self {
            Said::Reply(reply) => format!("the reply {reply}"),
            Said::Ended(ended) => format!("what came of it: {ended}"),
            Said::Decided(before) => format!("that somebody decided {before}"),
            Said::Again(why) => format!("not now: {why}"),
            Said::Over(why) => format!("never: {why}"),
        }
    }
}
