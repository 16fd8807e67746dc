//! What came of a ticket: it is noted together with what the program left behind, or the ticket stays open with its decision
//! for whoever decides the same again.

use ptc_store::tickets::{TakenTicket, TicketError, Tickets};
use ptc_store::{Lease, StoreError};
use serde_json::{Value as Json, json};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::super::debug::CallFacts;
use super::super::lease::{give_back, lease_ms, renewal};
use super::super::receipt::{Receipt, RequestClaim};
use super::super::text::cut;
use super::super::{Answered, envelope};
use super::decide::answer;
use super::{UnkeptTicket, WaitingNote, blocking, changing, refused};
use crate::engine::Reason;

/// Bytes of an answer that stay with a ticket that was used.
const ENDED_BYTES: usize = 8 << 10;

/// What came of a part of a program.
pub enum Ended {
    /// It is over.
    Over(Box<Answered>),
    /// It is over, and the store did not keep what it left behind, or did not say so.
    Unkept(Box<Answered>),
    /// It waits again.
    Waits(Box<UnkeptTicket>, Box<CallFacts>),
}

/// Says again and again that this server goes on with a ticket, until it is dropped.
pub struct Holding(AbortHandle);

impl Holding {
    /// Of this ticket.
    pub fn of(tickets: &Tickets, lease: &Lease) -> Holding {
        let (tickets, lease) = (tickets.clone(), lease.clone());
        let saying = tokio::spawn(async move {
            loop {
                tokio::time::sleep(renewal()).await;
                let (at, lease) = (tickets.clone(), lease.clone());
                // A store that does not answer may do so next time; a ticket that was lost stays lost.
                let renewed = blocking(&tickets, move || at.renew(&lease, lease_ms())).await;
                if let Err(TicketError::Lost) = renewed {
                    return;
                }
            }
        });
        Holding(saying.abort_handle())
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether a program can never go on: nobody else can make it do so by waiting.
pub fn is_final(why: &Answered) -> bool {
    let last = [
        Reason::TICKET_STALE,
        Reason::SESSION_CLOSED,
        Reason::SESSION_NOT_FOUND,
        Reason::SESSION_OWNER,
        Reason::PRELUDE_ATTACH,
    ];
    last.iter().any(|reason| why.reason.as_deref() == Some(reason.name))
}

/// The answer to who rejects the calls of a program that does not go on.
pub fn rejected(because: &str) -> Answered {
    let message = format!("the calls are rejected, and the program is over: {because}");
    Answered::new(envelope::plain(json!({"status": "ok", "message": message}), false), None)
}

/// Notes what came of a ticket, and keeps the next one.
///
/// If a request under a key decided, its reply is kept with the end of the ticket or not at all: a request that another server
/// took over meanwhile leaves the ticket open, with its decision, for that one to go on with.
pub async fn settle(
    tickets: Tickets,
    taken: TakenTicket,
    ended: Ended,
    request: Option<RequestClaim>,
) -> Answered {
    let (answered, next) = match ended {
        // A session that is gone keeps nothing, however often the program goes on.
        Ended::Unkept(answered) if !is_final(&answered) => return unkept(tickets, taken, *answered).await,
        Ended::Over(answered) | Ended::Unkept(answered) => (*answered, None),
        Ended::Waits(new, facts) => {
            let answered = Answered::new(new.reply.clone(), Some(Reason::APPROVAL.name));
            (Answered { facts: *facts, ..answered }, Some(new))
        }
    };
    // With the ticket, and with the request that decided.
    let kept = request.is_some();
    if answered.kept {
        return Answered { kept, ..answered };
    }
    let note = next.as_deref().map(WaitingNote::of);
    let (filled, at) = (Receipt::Ticket(taken.lease.clone(), request).filled(&answered), tickets.clone());
    let noted = changing(&tickets, move || {
        let next = next.as_deref().map(UnkeptTicket::row);
        let Some((lease, ended)) = filled.ended() else { return Err(TicketError::Lost) };
        at.done_along(lease, ended, next.as_ref(), filled.reply().as_ref())
    });
    match noted.await {
        Ok(()) => {
            note.iter().for_each(WaitingNote::tell);
            Answered { kept, ..answered }
        }
        Err(error @ TicketError::Lost) => {
            // If it is the request that was lost, whoever took it over goes on with the ticket.
            given_back(tickets, taken).await;
            refused(&error)
        }
        Err(TicketError::Store(error @ StoreError::Unacknowledged { .. })) => {
            tracing::error!(%error, "nobody knows whether the end of a ticket is stored");
            tokio::spawn(given_back(tickets, taken));
            answer(
                Reason::OUTCOME_UNKNOWN,
                "the program went on, but whether what came of it is written down is not known",
                "Ask with lisp_result and the id, or decide the same again: what was made is not made again.",
            )
        }
        Err(TicketError::Store(error)) => {
            tracing::error!(%error, "the end of a ticket cannot be stored");
            given_back(tickets, taken).await;
            answer(
                Reason::STORE,
                "the program went on, but what came of it cannot be written down at the moment",
                "Decide the same again in a moment: what was made is not made again.",
            )
        }
        Err(error) => refused(&error),
    }
}

/// What is said of a program that the store did not keep with its session: the ticket is open, with its decision.
async fn unkept(tickets: Tickets, taken: TakenTicket, answered: Answered) -> Answered {
    let feedback = match answered.reason.as_deref() == Some(Reason::OUTCOME_UNKNOWN.name) {
        true => {
            // What the store has not answered may hold it up; whichever comes first counts, and the other changes nothing.
            tokio::spawn(given_back(tickets, taken));
            "Ask with lisp_result and the id whether the program is over. If it still waits, decide the same again: it goes on \
             from there, and calls that were made are not made again."
        }
        false => {
            given_back(tickets, taken).await;
            "The program waits as before, with its decision. Decide the same again in a moment: it goes on from there, and calls \
             that were made are not made again."
        }
    };
    let mut object = answered.reply.structured.unwrap_or_default();
    object["feedback"] = feedback.into();
    Answered { reply: envelope::plain(object, answered.reply.is_error), ..answered }
}

/// Gives a ticket back with its decision, for whoever decides the same again.
pub async fn given_back(tickets: Tickets, taken: TakenTicket) {
    put_back(tickets, TakenTicket { again: true, ..taken }).await;
}

/// Gives a ticket back as it was.
pub async fn put_back(tickets: Tickets, taken: TakenTicket) {
    let at = tickets.clone();
    let put = move || {
        release(&at, taken);
        Ok(())
    };
    // A store that does not answer is told when it does.
    let _ = blocking(&tickets, put).await;
}

/// Gives a ticket back as it was, now or as soon as the store can. Blocks, on a thread of the runtime.
pub fn release(tickets: &Tickets, taken: TakenTicket) {
    let tickets = tickets.clone();
    give_back(&Handle::current(), move || tickets.release(&taken).is_ok());
}

/// What stays with a ticket that was used.
pub fn kept(answered: &Answered) -> Json {
    let text = answered.reply.text();
    let status = match (&answered.reply.approval, answered.reply.is_error) {
        (Some(_), _) => "approval_required",
        (None, true) => "error",
        (None, false) => "ok",
    };
    let mut kept = json!({"status": status, "text": cut(&text, ENDED_BYTES)});
    if let Some(approval) = &answered.reply.approval {
        kept = json!({"status": status, "id": approval.id});
        // Where models decide, they are shown the next ticket.
        if let Some(ticket) = answered.reply.structured.as_ref().and_then(|shown| shown.get("ticket")) {
            kept["ticket"] = ticket.clone();
        }
    }
    kept
}
