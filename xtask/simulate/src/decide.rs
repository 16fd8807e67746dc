//! How a server of a simulation goes on with a program that waits, in the steps of `ptc-server`'s `engine/tickets/decide.rs`.

use std::rc::Rc;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Answer, Machine};
use ptc_server::effects::Held;
use ptc_server::engine::gate::Permit;
use ptc_server::engine::lease::lease_ms;
use ptc_store::tickets::{SCOPE, Taken, TicketError, Waiting};
use ptc_store::{Lease, StoreError};
use serde_json::{Value as Json, json};

use crate::messages::{Decide, Decision, EDITED, Said};
use crate::programs;
use crate::server::{Ended, Lasting, Server, Work};
use crate::sessions::Receipt;

/// Why a program did not go on, or what came of it.
enum Went {
    /// It ended so, which is to be noted.
    Over(Json),
    /// It ended, which is noted.
    Noted(Json),
    /// Nothing of it was done.
    Unused(Said),
}

impl Server {
    /// Goes on with a program, as `Engine::take_and_go` does.
    pub async fn decide(self: &Rc<Self>, party: u64, asked: &Decide) -> Said {
        let (id, owner) = (asked.ticket.clone(), asked.owner);
        let Some(permit) = self.permit(owner).await else { return Said::Again("too many programs run") };
        let wanted = id.clone();
        let waiting = match self.ask(party, move |server| server.tickets.read(&wanted, owner)).await {
            Some(Ok(waiting)) => waiting,
            other => return refused(other.map(|it| it.map(drop))),
        };
        let taken = match self.take(party, asked).await {
            Some(Ok(taken)) => taken,
            other => return refused(other.map(|it| it.map(drop))),
        };
        let name = asked.decision.name();
        self.note(party, || format!("takes {id} to {name}{}", if taken.again { " again" } else { "" }));
        let scope = format!("{SCOPE}{id}");
        let journal = self.journal_of(party, Held::Ticket(taken.lease.clone()), &scope, taken.again).await;
        let Some(journal) = journal else {
            self.put_back(party, taken).await;
            return Said::Again("what it was told before cannot be read");
        };
        let renewing = self.renew(party, Lasting::Ticket(taken.lease.clone()));
        // Who goes on with a ticket goes on to the end: what it may still do is for the journal to say.
        let work = Work { party, scope, journal, lost: Rc::default() };
        let went = self.go_on(&work, &waiting, asked.decision, &taken.lease, permit).await;
        drop(renewing);
        match went {
            Went::Noted(ended) => Said::Ended(ended),
            Went::Over(ended) => self.settle(party, taken.lease, ended).await,
            Went::Unused(said) => {
                self.put_back(party, taken).await;
                said
            }
        }
    }

    async fn take(self: &Rc<Self>, party: u64, asked: &Decide) -> Option<Result<Taken, TicketError>> {
        let (id, owner, decided) = (asked.ticket.clone(), asked.owner, json!(asked.decision.name()));
        let take = move |server: &Server| server.tickets.take(&id, owner, &decided, lease_ms());
        let unheard = |server: &Server, taken: Result<Taken, TicketError>| {
            if let Ok(taken) = taken {
                drop(server.tickets.release(&taken));
            }
        };
        self.ask_or(party, take, unheard).await
    }

    async fn put_back(self: &Rc<Self>, party: u64, taken: Taken) {
        self.note(party, || format!("gives {} back", taken.lease.id()));
        let _ = self.ask(party, move |server| server.tickets.release(&taken)).await;
    }

    /// Goes on with a program, alone or in its session.
    async fn go_on(
        self: &Rc<Self>,
        work: &Work,
        waiting: &Waiting,
        decision: Decision,
        lease: &Lease,
        permit: Permit,
    ) -> Went {
        let Some(session) = waiting.about["session"].as_str() else {
            let Ok(mut machine) = Machine::load_dump(&waiting.sealed, &Limits::default()) else {
                return Went::Unused(Said::Over("it cannot be read"));
            };
            return match self.resumed(work, &mut machine, decision, &permit).await {
                Some(value) => Went::Over(json!({"decision": decision.name(), "value": value})),
                None => Went::Over(json!({"decision": decision.name(), "failed": true})),
            };
        };
        self.session_goes_on(work, waiting, session, decision, lease, permit).await
    }

    async fn session_goes_on(
        self: &Rc<Self>,
        work: &Work,
        waiting: &Waiting,
        session: &str,
        decision: Decision,
        lease: &Lease,
        permit: Permit,
    ) -> Went {
        let id = if session == "s1" { "s1" } else { "s2" };
        let (taken, renewing) = match self.session(work.party, id, crate::clients::owner_of(id)).await {
            Ok(taken) => taken,
            Err(why) => return Went::Unused(Said::Again(why)),
        };
        if programs::changes(&taken) as u64 != waiting.about["changes"].as_u64().unwrap_or_default() {
            self.release(work.party, &taken.lease).await;
            return match decision {
                Decision::Reject => Went::Over(json!({"decision": decision.name(), "stale": true})),
                _ => Went::Unused(Said::Over("the session has changed since the program began")),
            };
        }
        let Ok(mut machine) = Machine::load_dump(&waiting.sealed, &Limits::default()) else {
            self.release(work.party, &taken.lease).await;
            return Went::Unused(Said::Over("it cannot be read"));
        };
        let value = self.resumed(work, &mut machine, decision, &permit).await;
        drop(permit);
        let failed = json!({"decision": decision.name(), "failed": true});
        let Some(value) = value.filter(|_| !renewing.lost.get()) else {
            self.release(work.party, &taken.lease).await;
            return Went::Over(failed);
        };
        let ended = json!({"decision": decision.name(), "value": value});
        let receipt = Receipt::Ticket(lease.clone(), ended.clone());
        match self.commit(work.party, &taken, &machine, &value, receipt).await {
            Ok(()) => Went::Noted(ended),
            Err(_) => Went::Over(failed),
        }
    }

    /// The rest of a program, with its call decided.
    async fn resumed(
        self: &Rc<Self>,
        work: &Work,
        machine: &mut Machine,
        decision: Decision,
        permit: &Permit,
    ) -> Option<Json> {
        let call = machine.outstanding().into_iter().next()?;
        let mut args = call.args;
        let answer = match decision {
            Decision::Reject => {
                Answer::Fault { reason: "approval_rejected".to_owned(), message: "rejected".to_owned() }
            }
            Decision::Approve | Decision::Edit => {
                if decision == Decision::Edit {
                    args["args"]["n"] = EDITED.into();
                }
                self.note(work.party, || format!("makes the call that was decided: {args}"));
                let context = self.context(work);
                self.answer(permit, context.call_approved(args)).await
            }
        };
        machine.answer(call.id, answer).ok()?;
        match self.drive(work, machine, permit).await {
            Ended::Over(value) => Some(value),
            Ended::Waits(_) | Ended::GivenUp => None,
        }
    }

    /// Notes what came of a ticket, as `settle` does.
    async fn settle(self: &Rc<Self>, party: u64, lease: Lease, ended: Json) -> Said {
        let noted = ended.clone();
        let done = self.ask(party, move |server| server.tickets.done(&lease, &noted, None)).await;
        self.note(party, || format!("notes the end of its ticket: {done:?}"));
        match done {
            Some(Ok(())) => Said::Ended(ended),
            Some(Err(TicketError::Store(StoreError::Unacknowledged { .. }))) | None => {
                Said::Again("whether its end is written down is not known")
            }
            Some(Err(TicketError::Store(_))) => Said::Again("its end cannot be written down"),
            other => refused(other.map(|it| it.map(drop))),
        }
    }
}

/// What is said of a ticket that cannot be gone on with.
fn refused(why: Option<Result<(), TicketError>>) -> Said {
    match why {
        Some(Err(TicketError::Used { ended })) => Said::Ended(ended),
        Some(Err(TicketError::Decided { before })) => Said::Decided(before),
        Some(Err(TicketError::Busy)) => Said::Again("somebody goes on with it"),
        Some(Err(TicketError::Lost)) => Said::Again("another server has taken it over"),
        Some(Err(TicketError::Store(_))) | None => Said::Again("the store does not answer"),
        Some(Ok(()) | Err(_)) => Said::Over("it cannot be used any more"),
    }
}
