//! How a server of a simulation goes on with a program that waits, in the steps of `ptc-server`'s `engine/tickets/decide.rs`.

use std::rc::Rc;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Answer, Machine};
use ptc_server::effects::Held;
use ptc_server::engine::gate::Permit;
use ptc_server::engine::lease::lease_ms;
use ptc_store::requests::Reply;
use ptc_store::tickets::{NewTicket, Ruling, SCOPE, TakenTicket, TicketError, Waiting};
use ptc_store::{Lease, StoreError};
use serde_json::{Value as Json, json};

use crate::fault::Fault;
use crate::messages::{Decide, Decision, EDITED, LEFT, Said};
use crate::programs;
use crate::server::{Ended, Lasting, Server, Unbegun, Work};
use crate::sessions::{OVER, Receipt};

/// Why a program did not go on, or what came of it.
enum Went {
    /// It ended so, which is to be noted.
    Over(Json),
    /// It ended, which is noted.
    Noted(Json),
    /// It waits again, as these bytes.
    Waits(Vec<u8>),
    /// It ended, and its session did not keep what it left behind, or did not say so.
    Unkept,
    /// Nothing of it was done.
    Unused(Said),
}

/// A decision that was taken, about the write of a program at this place.
struct Decided {
    decision: Decision,
    at: i64,
    taken: TakenTicket,
    /// The request under a key that decided.
    request: Option<Lease>,
}

impl Decided {
    /// What came of the ticket, with this besides.
    fn ended(&self, what: &str, value: Json) -> Json {
        json!({"decision": self.decision.name(), "at": self.at, what: value})
    }
}

impl Server {
    /// Decides, as `Engine::handle_once` does if there is a key.
    pub async fn decide(self: &Rc<Self>, party: u64, asked: &Decide) -> Said {
        let Some(scope) = asked.scope() else { return self.take_and_go(party, asked, None).await };
        let digest = asked.decision.name().as_bytes();
        let lease = match self.begin(party, &scope, "lisp_approve", digest).await {
            Ok((lease, _)) => lease,
            Err(Unbegun::Before(ended)) => return Said::Ended(ended),
            Err(Unbegun::Not(said)) => return said,
        };
        self.note(party, || format!("begins {scope}"));
        let renewing = self.renew(party, Lasting::Request(lease.clone()));
        let apart = self.shared.has(Fault::DecisionApart);
        let said = self.take_and_go(party, asked, (!apart).then(|| lease.clone())).await;
        drop(renewing);
        if let (true, Said::Ended(ended)) = (apart, &said) {
            let _ = self.keep(party, &lease, ended).await;
        }
        // One that has its reply is left alone.
        self.give_back(party, lease).await;
        said
    }

    /// Goes on with a program, as `Engine::take_and_go` does, for a request that is held if there is a key.
    async fn take_and_go(self: &Rc<Self>, party: u64, asked: &Decide, request: Option<Lease>) -> Said {
        let (id, owner) = (asked.ticket.clone(), asked.owner);
        let Some(permit) = self.permit(owner).await else { return Said::Again("too many programs run") };
        let wanted = id.clone();
        let waiting = match self.ask(party, move |server| server.tickets.read(&wanted, owner)).await {
            Some(Ok(waiting)) => waiting,
            other => return refused(other.map(|it| it.map(drop))),
        };
        let taken = match self.take(party, asked).await {
            Some(Ok(taken)) => taken,
            Some(Err(TicketError::Store(_))) => {
                self.gives_up(party, &id);
                let _ = self.ask(party, move |server| server.tickets.release_owed(&id)).await;
                return Said::Again("the store does not answer");
            }
            other => return refused(other.map(|it| it.map(drop))),
        };
        let name = asked.decision.name();
        self.note(party, || format!("takes {id} to {name}{}", if taken.again { " again" } else { "" }));
        if taken.decided == LEFT {
            return self.settle(party, (taken, request), json!({"decision": LEFT}), None).await;
        }
        let scope = format!("{SCOPE}{id}");
        let journal = self.journal_of(party, Held::Ticket(taken.lease.clone()), &scope, taken.again).await;
        let Some(journal) = journal else {
            self.put_back(party, taken).await;
            return Said::Again("what it was told before cannot be read");
        };
        let renewing = self.renew(party, Lasting::Ticket(taken.lease.clone()));
        // Who goes on with a ticket goes on to the end: what it may still do is for the journal to say.
        let work = Work { party, scope, journal, lost: Rc::default() };
        let mut decided = Decided { decision: asked.decision, at: 0, taken, request };
        let went = self.go_on(&work, &waiting, &mut decided, permit).await;
        drop(renewing);
        match went {
            Went::Noted(ended) => Said::Ended(ended),
            Went::Over(ended) => self.settle(party, (decided.taken, decided.request), ended, None).await,
            Went::Waits(dump) => self.wait_again(party, owner, decided, &waiting, dump).await,
            Went::Unkept => {
                self.leave_open(party, decided.taken).await;
                Said::Again("what it left behind is not kept")
            }
            Went::Unused(said) => {
                self.put_back(party, decided.taken).await;
                said
            }
        }
    }

    async fn take(self: &Rc<Self>, party: u64, asked: &Decide) -> Option<Result<TakenTicket, TicketError>> {
        let (id, owner, decided) = (asked.ticket.clone(), asked.owner, json!(asked.decision.name()));
        let take = move |server: &Server| {
            let rule = |before: &Json| ruling(before, &decided);
            server.tickets.take_over(&id, owner, &decided, lease_ms(), rule)
        };
        let late = asked.ticket.clone();
        let unheard = move |server: &Server, taken: Result<TakenTicket, TicketError>| match taken {
            Ok(taken) => drop(server.tickets.release(&taken)),
            Err(_) => drop(server.tickets.release_owed(&late)),
        };
        self.ask_or((party, &asked.ticket), take, unheard).await
    }

    async fn put_back(self: &Rc<Self>, party: u64, taken: TakenTicket) {
        self.note(party, || format!("gives {} back", taken.lease.id()));
        self.gives_up(party, taken.lease.id());
        let _ = self.ask(party, move |server| server.tickets.release(&taken)).await;
    }

    /// Gives a ticket back with its decision.
    async fn leave_open(self: &Rc<Self>, party: u64, taken: TakenTicket) {
        self.put_back(party, TakenTicket { again: true, ..taken }).await;
    }

    /// Goes on with a program, alone or in its session.
    async fn go_on(
        self: &Rc<Self>,
        work: &Work,
        waiting: &Waiting,
        decided: &mut Decided,
        permit: Permit,
    ) -> Went {
        let Ok(mut machine) = Machine::load_dump(&waiting.sealed, &Limits::default()) else {
            return Went::Unused(Said::Over("it cannot be read"));
        };
        let Some(session) = waiting.about["session"].as_str() else {
            return match self.resumed(work, &mut machine, decided, &permit).await {
                Some(Ended::Over(value)) => Went::Over(decided.ended("value", value)),
                Some(Ended::Waits(dump)) => Went::Waits(dump),
                Some(Ended::GivenUp) | None => Went::Over(decided.ended("failed", true.into())),
            };
        };
        let id = if session == "s1" { "s1" } else { "s2" };
        let (taken, renewing) = match self.session(work.party, id, crate::clients::owner_of(id)).await {
            Ok(taken) => taken,
            Err(OVER) if decided.decision == Decision::Reject => {
                return Went::Over(decided.ended("stale", true.into()));
            }
            Err(OVER) => return Went::Unused(Said::Over(OVER)),
            Err(why) => return Went::Unused(Said::Again(why)),
        };
        if programs::changes(&taken) as u64 != waiting.about["changes"].as_u64().unwrap_or_default() {
            self.release(work.party, &taken.lease).await;
            return match decided.decision {
                Decision::Reject => Went::Over(decided.ended("stale", true.into())),
                _ => Went::Unused(Said::Over("the session has changed since the program began")),
            };
        }
        let ended = self.resumed(work, &mut machine, decided, &permit).await;
        drop(permit);
        if renewing.lost.get() {
            self.release(work.party, &taken.lease).await;
            return Went::Unkept;
        }
        let value = match ended {
            Some(Ended::Over(value)) => value,
            Some(Ended::Waits(dump)) => {
                self.release(work.party, &taken.lease).await;
                return Went::Waits(dump);
            }
            Some(Ended::GivenUp) | None => {
                self.release(work.party, &taken.lease).await;
                return Went::Over(decided.ended("failed", true.into()));
            }
        };
        let ended = decided.ended("value", value.clone());
        let receipt = Receipt::Ticket(decided.taken.lease.clone(), ended.clone(), decided.request.clone());
        match self.commit(work.party, &taken, &machine, &value, receipt).await {
            Ok(()) => Went::Noted(ended),
            Err(_) => Went::Unkept,
        }
    }

    /// The rest of a program, with its call decided.
    async fn resumed(
        self: &Rc<Self>,
        work: &Work,
        machine: &mut Machine,
        decided: &mut Decided,
        permit: &Permit,
    ) -> Option<Ended> {
        let call = machine.outstanding().into_iter().next()?;
        let mut args = call.args;
        decided.at = args["args"]["at"].as_i64().unwrap_or_default();
        let answer = match decided.decision {
            Decision::Reject => {
                Answer::Fault { reason: "approval_rejected".to_owned(), message: "rejected".to_owned() }
            }
            Decision::Approve | Decision::Edit => {
                if decided.decision == Decision::Edit {
                    args["args"]["n"] = EDITED.into();
                }
                self.note(work.party, || format!("makes the call that was decided: {args}"));
                let context = self.context(work);
                self.answer(permit, context.call_approved(args)).await
            }
        };
        machine.answer(call.id, answer).ok()?;
        Some(self.drive(work, machine, permit).await)
    }

    /// Notes that a program waits again, with its next ticket.
    async fn wait_again(
        self: &Rc<Self>,
        party: u64,
        owner: &'static str,
        decided: Decided,
        waiting: &Waiting,
        dump: Vec<u8>,
    ) -> Said {
        let (id, expires_ms) = self.new_ticket(waiting.about["key"].as_str().unwrap_or_default());
        let ended = decided.ended("next", id.as_str().into());
        let next = Next { id, owner, expires_ms, dump, about: waiting.about.clone() };
        self.settle(party, (decided.taken, decided.request), ended, Some(next)).await
    }

    /// Notes what came of a ticket, as `settle` does.
    async fn settle(
        self: &Rc<Self>,
        party: u64,
        (taken, request): (TakenTicket, Option<Lease>),
        ended: Json,
        next: Option<Next>,
    ) -> Said {
        let (noted, lease) = (ended.clone(), taken.lease.clone());
        let done = self.ask(party, move |server| {
            let next = next.as_ref().map(Next::row);
            let reply = request.as_ref().map(|lease| Reply { lease, answer: &noted });
            server.tickets.done_along(&lease, &noted, next.as_ref(), reply.as_ref())
        });
        let done = done.await;
        self.note(party, || format!("notes the end of its ticket: {done:?}"));
        match done {
            Some(Ok(())) => Said::Ended(ended),
            Some(Err(TicketError::Store(StoreError::Unacknowledged { .. }))) | None => {
                self.leave_open(party, taken).await;
                Said::Again("whether its end is written down is not known")
            }
            Some(Err(TicketError::Store(_))) => {
                self.leave_open(party, taken).await;
                Said::Again("its end cannot be written down")
            }
            Some(Err(TicketError::Lost)) => {
                // If it is the request that was lost, whoever took it over goes on with the ticket.
                self.leave_open(party, taken).await;
                Said::Again("another server has taken it over")
            }
            other => refused(other.map(|it| it.map(drop))),
        }
    }
}

/// The next ticket of a program.
struct Next {
    id: String,
    owner: &'static str,
    expires_ms: i64,
    dump: Vec<u8>,
    about: Json,
}

impl Next {
    fn row(&self) -> NewTicket<'_> {
        NewTicket {
            id: &self.id,
            owner: self.owner,
            kind: "eval",
            session: self.about["session"].as_str(),
            expires_ms: self.expires_ms,
            sealed: &self.dump,
            about: &self.about,
        }
    }
}

/// What a decision is beside an earlier one, as `engine/tickets/ruling.rs` says.
fn ruling(before: &Json, now: &Json) -> Ruling {
    let rejects = *now == Decision::Reject.name();
    match () {
        () if before == now => Ruling::Same,
        () if *before == LEFT && rejects => Ruling::Same,
        () if rejects => Ruling::Instead(json!(LEFT)),
        () => Ruling::Otherwise,
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
