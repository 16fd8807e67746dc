//! Where the answer of a program is written down besides being given: with the request that may come again, with the
//! ticket that is used up, or with both if a request under a key decided about the ticket. What the program leaves behind in
//! the store and its receipt are one transaction, so a crash leaves all or nothing, and whoever lost one of them to another
//! server keeps nothing.

use std::sync::Arc;

use ptc_store::Lease;
use ptc_store::requests::Reply;
use ptc_store::sessions::Along;
use serde_json::Value as Json;

use super::api::Signals;
use super::{Answered, once, tickets};

/// The right to reply to a request under a key, and the digest of the request.
pub type RequestClaim = (Lease, Arc<str>);

/// Where an answer is written down.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// With the request that is held by this lease and has this digest.
    Request(Lease, Arc<str>),
    /// With the ticket that is held by this lease, and with the request that decided about it, if that has a key.
    Ticket(Lease, Option<RequestClaim>),
}

/// A receipt that is filled in.
#[derive(Debug)]
pub struct Filled {
    /// What stays with the ticket.
    ended: Option<(Lease, Json)>,
    /// What is kept for whoever sends the request again.
    reply: Option<(Lease, Json)>,
}

impl Receipt {
    /// For a request that may come again, if it is one.
    pub fn of(signals: &Signals) -> Option<Receipt> {
        signals.claim.clone().map(|(lease, digest)| Receipt::Request(lease, digest))
    }

    /// With this answer.
    pub fn filled(&self, answered: &Answered) -> Filled {
        let written = |(lease, digest): (&Lease, &str)| (lease.clone(), once::written(digest, answered));
        match self {
            Receipt::Request(lease, digest) => Filled { ended: None, reply: Some(written((lease, digest))) },
            Receipt::Ticket(ticket, request) => Filled {
                ended: Some((ticket.clone(), tickets::kept(answered))),
                reply: request.as_ref().map(|(lease, digest)| written((lease, digest))),
            },
        }
    }
}

impl Filled {
    /// The answer of a request, as the store keeps it.
    pub fn reply(&self) -> Option<Reply<'_>> {
        self.reply.as_ref().map(|(lease, answer)| Reply { lease, answer })
    }

    /// What stays with the ticket.
    pub fn ended(&self) -> Option<(&Lease, &Json)> {
        self.ended.as_ref().map(|(ticket, ended)| (ticket, ended))
    }

    /// What the store keeps with a session.
    pub fn along(&self) -> Option<Along<'_>> {
        match self.ended() {
            Some((ticket, ended)) => Some(Along::Ticket(ticket, ended, self.reply())),
            None => self.reply().map(Along::Reply),
        }
    }
}
