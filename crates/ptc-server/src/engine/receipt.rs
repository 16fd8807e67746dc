//! Where the answer of a program is written down besides being given: with the request that may come again, or with the
//! ticket that is used up. What the program leaves behind in the store and its receipt are one transaction, so a crash
//! leaves both or none.

use std::sync::Arc;

use ptc_store::Lease;
use ptc_store::effects::Kept;
use ptc_store::sessions::Along;
use serde_json::Value as Json;

use super::api::Signals;
use super::{Answered, once, tickets};

/// Where an answer is written down.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// In the journal, for the request with this scope and digest.
    Request(Arc<str>, Arc<str>),
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
        Some(Receipt::Request(signals.scope.clone()?, signals.digest.clone()?))
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
    /// The answer of a request, as the store keeps it.
    pub fn reply(&self) -> Option<Kept<'_>> {
        match &self.receipt {
            Receipt::Request(scope, _) => Some(Kept { scope, identity: once::REQUEST, answer: &self.answer }),
            Receipt::Ticket(_) => None,
        }
    }

    /// What the store keeps with a session.
    pub fn along(&self) -> Along<'_> {
        match &self.receipt {
            Receipt::Request(scope, _) => {
                Along::Reply(Kept { scope, identity: once::REQUEST, answer: &self.answer })
            }
            Receipt::Ticket(lease) => Along::Ticket(lease, &self.answer),
        }
    }
}
