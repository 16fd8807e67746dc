//! What there is to know of a session, and what can go wrong with it.

use serde_json::Value as Json;

use crate::requests::Reply;
use crate::{Lease, StoreError};

/// A session that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// Its id, which nobody can guess.
    pub id: &'a str,
    /// Who may use it.
    pub owner: &'a str,
    /// What it is made of; it never changes.
    pub origin: &'a Json,
    /// What is said of it in lists; changes with every commit.
    pub meta: &'a Json,
    /// Its longest life.
    pub ttl_ms: i64,
    /// Its longest life without use.
    pub idle_ms: i64,
}

/// How many sessions there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionQuota {
    /// In the whole store.
    pub most: u64,
    /// Of one owner.
    pub per_owner: u64,
}

/// Times of a session in milliseconds since 1970, by the clock of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it began.
    pub created_ms: i64,
    /// When it was last changed.
    pub changed_ms: i64,
    /// When it ends at the latest.
    pub expires_ms: i64,
}

/// What is kept of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptSession {
    /// What it is made of.
    pub origin: Json,
    /// What was said of it in the last commit, or when it began.
    pub meta: Json,
    /// The last state; `None` if there was none yet.
    pub state: Option<Vec<u8>>,
}

/// A session in the hands of the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenSession {
    /// The right to change it.
    pub lease: Lease,
    /// How many commits it has had.
    pub version: i64,
    /// Its times.
    pub times: Times,
    /// What is kept of it; `None` if the caller knows this version.
    pub kept: Option<KeptSession>,
}

/// A session that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenSession {
    /// How many commits it has had.
    pub version: i64,
    /// Whether somebody holds it.
    pub busy: bool,
    /// Its times.
    pub times: Times,
    /// What is kept of it; `None` if the caller knows this version.
    pub kept: Option<KeptSession>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedSession {
    /// Its id.
    pub id: String,
    /// How many commits it has had.
    pub version: i64,
    /// Whether somebody holds it.
    pub busy: bool,
    /// Its times.
    pub times: Times,
    /// What is said of it.
    pub meta: Json,
    /// Why that cannot be read, if it cannot.
    pub damaged: Option<String>,
}

/// What is kept in the same transaction as a change of a session: the answer to whoever asked for it.
#[derive(Clone, Copy, Debug)]
pub enum Along<'a> {
    /// The reply of a request that is being carried out.
    Reply(Reply<'a>),
    /// The end of a ticket whose program made the change, and the reply of the request that decided about it, if that has a
    /// key.
    Ticket(&'a Lease, &'a Json, Option<Reply<'a>>),
}

/// Why something cannot be done with a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no such session.
    #[error("there is no such session")]
    Missing,
    /// It belongs to another.
    #[error("the session belongs to another owner")]
    Owner,
    /// Somebody holds it.
    #[error("a program is already running in the session")]
    Busy,
    /// It was closed, or its time is over.
    #[error("the session is closed")]
    Closed,
    /// Another took it over, because it was held too long without a sign of life.
    #[error("the session was taken over by another server; nothing was changed")]
    Lost,
    /// A session of this id is there already.
    #[error("there is a session of this id already")]
    Exists,
    /// The store has as many sessions as it may.
    #[error("maximum number of sessions reached")]
    Full,
    /// The owner has as many sessions as allowed.
    #[error("maximum number of sessions for this owner reached")]
    OwnerFull,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
