//! Where the answer of a program is written down besides being given: with the request that may come again, or with the
//! ticket that is used up. What the program leaves behind in the store and its receipt are one transaction, so a crash
//! leaves both or none.

use std::sync::Arc;

use ptc_store::Lease;
use ptc_store::requests::Reply;
use ptc_store::sessions::Along;
use serde_json::Value as Json;

use super::api::Signals;
use super::{Answered, once, tickets};

/// Where an answer is written down.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// With the request that is held by this lease and has this digest.
    Request(Lease, Arc<str>),
    /// With the ticket that is held by this lease.
    Ticket(Lease),
}

/// A receipt that is filled in.
#[derive(Debug)]
pub struct Filled {
    receipt: Receipt,
    answer: Json,
}

impl Receipt {
    /// For a request that may come again, if it is one.
    pub fn of(signals: &Signals) -> Option<Receipt> {
        signals.claim.clone().map(|(lease, digest)| Receipt::Request(lease, digest))
    }

    /// With this answer.
    pub fn filled(&self, answered: &Answered) -> Filled {
        let answer = match self {
            Receipt::Request(_, digest) => once::written(digest, answered),
            Receipt::Ticket(_) => tickets::kept(answered),
        };
        Filled { receipt: self.clone(), answer }
    }
}

impl Filled {
    /// The answer as it is written down.
    pub fn into_answer(self) -> Json {
        self.answer
    }

    /// The answer of a request, as the store keeps it.
    pub fn reply(&self) -> Option<Reply<'_>> {
        match &self.receipt {
            Receipt::Request(lease, _) => Some(Reply { lease, answer: &self.answer }),
            Receipt::Ticket(_) => None,
        }
    }

    /// What the store keeps with a session.
    pub fn along(&self) -> Along<'_> {
        match &self.receipt {
            Receipt::Request(lease, _) => Along::Reply(Reply { lease, answer: &self.answer }),
            Receipt::Ticket(lease) => Along::Ticket(lease, &self.answer),
        }
    }
}
