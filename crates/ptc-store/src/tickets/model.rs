//! What there is to know of a ticket, and what can go wrong with it.

use serde_json::Value as Json;

use crate::{Lease, StoreError};

/// A ticket to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewTicket<'a> {
    /// Its id, which nobody can guess.
    pub id: &'a str,
    /// Who may decide.
    pub owner: &'a str,
    /// What waits, for the caller: `eval`, `session`, `run`.
    pub kind: &'a str,
    /// The session that the program runs in. It lives as long as the ticket, and the ticket is gone with it.
    pub session: Option<&'a str>,
    /// Until when it can be taken, in milliseconds since 1970.
    pub expires_ms: i64,
    /// What goes on, sealed by the caller.
    pub sealed: &'a [u8],
    /// What may be shown to its owner: the calls that wait.
    pub about: &'a Json,
}

/// What waits for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// What waits.
    pub kind: String,
    /// What may be shown to its owner.
    pub about: Json,
    /// What goes on; nothing if it is missing.
    pub sealed: Vec<u8>,
    /// Until when it can be taken.
    pub expires_ms: i64,
    /// Whether somebody holds it.
    pub busy: bool,
    /// What somebody decided who goes on with it, or did not come to an end.
    pub decided: Option<Json>,
    /// What of it cannot be read.
    pub damaged: Option<String>,
}

impl Waiting {
    /// What of it cannot be read, if something cannot. Nobody can go on with it then, but it can be ended.
    pub fn damage(&self) -> Option<String> {
        self.damaged.clone()
    }
}

/// Says why what is shown of a ticket, or what was decided about it, is not what the caller keeps, if it is not: JSON of another
/// shape is damage like everything else that cannot be read.
pub type TicketReader = fn(&Json, Option<&Json>) -> Option<String>;

/// A ticket in the hands of the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct TakenTicket {
    /// The right to go on with it.
    pub lease: Lease,
    /// Whether somebody took it before and did not come to an end.
    pub again: bool,
    /// What is decided: what was decided first, unless something else counts instead.
    pub decided: Json,
}

/// What a decision is beside an earlier one whose holder did not come to an end.
#[derive(Clone, Debug, PartialEq)]
pub enum Ruling {
    /// It means the same: the earlier one stays.
    Same,
    /// It counts instead, and this is kept as what was decided.
    Instead(Json),
    /// It is another one, and is refused.
    Otherwise,
}

/// A ticket in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedTicket {
    /// Its id.
    pub id: String,
    /// What waits.
    pub kind: String,
    /// Whether somebody holds it.
    pub busy: bool,
    /// What was decided by whoever holds it, or did so and did not come to an end. It may hold arguments of calls.
    pub decided: Option<Json>,
    /// When it was put, in milliseconds since 1970.
    pub created_ms: i64,
    /// Until when it can be taken.
    pub expires_ms: i64,
    /// What may be shown of it.
    pub about: Json,
    /// What of it cannot be read, as far as lists look.
    pub damaged: Option<String>,
}

/// What the open tickets of an owner may take together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketQuota {
    /// How many there may be.
    pub tickets: u64,
    /// Bytes of what is sealed and shown.
    pub bytes: u64,
}

/// Why something cannot be done with a ticket.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TicketError {
    /// There is no such ticket.
    #[error("there is no such ticket")]
    Missing,
    /// It belongs to another.
    #[error("the ticket belongs to another owner")]
    Owner,
    /// Its time is over.
    #[error("the ticket has expired")]
    Expired,
    /// It was used.
    #[error("the ticket was used already")]
    Used {
        /// What came of it.
        ended: Json,
    },
    /// The session of its program is over, or has changed since, so the program cannot go on.
    #[error("the session of the program is over or has changed since, so the program is gone")]
    Gone,
    /// Somebody holds it.
    #[error("the ticket is being used right now")]
    Busy,
    /// Somebody took it before, decided otherwise and did not come to an end.
    #[error("the ticket was decided before, and whoever went on with it ended")]
    Decided {
        /// What was decided.
        before: Json,
    },
    /// Another took it over, because it was held too long without a sign of life.
    #[error("the ticket was taken over by another server")]
    Lost,
    /// A ticket of this id is there already.
    #[error("there is a ticket of this id already")]
    Exists,
    /// The owner has as many open tickets as allowed.
    #[error("maximum number of programs that wait for approval reached")]
    Full,
    /// With this ticket, the open ones of its owner would take more room than they may.
    #[error("programs that wait for approval take more room than they may")]
    TooLarge {
        /// The bytes of this one.
        bytes: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
