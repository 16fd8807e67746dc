//! Sessions in a server of a simulation, in the steps of `ptc-server`'s `engine/sessions/keep.rs` and `eval.rs`.

use std::rc::Rc;

use ptc_lisp::machine::Machine;
use ptc_server::effects::BEGUN;
use ptc_server::engine::lease::lease_ms;
use ptc_store::requests::Reply;
use ptc_store::sessions::{Along, SessionError, TakenSession};
use ptc_store::{Lease, StoreError};
use ptc_upstream::EffectJournal as _;
use serde_json::{Value as Json, json};

use crate::fault::Fault;
use crate::messages::{CloseSession, Request, Said};
use crate::programs;
use crate::server::{Answered, Ended, Lasting, Renewing, Server, Work};

/// Why a session cannot be had any more.
pub const OVER: &str = "the session is over";

impl Server {
    /// Takes a session, and holds it.
    pub async fn session(
        self: &Rc<Self>,
        party: u64,
        id: &'static str,
        owner: &'static str,
    ) -> Result<(TakenSession, Renewing), &'static str> {
        let take = move |server: &Server| server.sessions.take(id, owner, lease_ms(), None);
        let unheard = move |server: &Server, taken: Result<TakenSession, SessionError>| match taken {
            Ok(taken) => drop(server.sessions.release(&taken.lease)),
            Err(_) => drop(server.sessions.release_owed(id)),
        };
        match self.ask_or((party, id), take, unheard).await {
            Some(Ok(taken)) => {
                self.note(party, || format!("takes session {id}, version {}", taken.version));
                let renewing = self.renew(party, Lasting::Session(taken.lease.clone()));
                Ok((taken, renewing))
            }
            Some(Err(SessionError::Busy)) => Err("a program runs in the session"),
            Some(Err(SessionError::Closed)) => Err(OVER),
            Some(Err(SessionError::Store(_))) => {
                self.gives_up(party, id);
                let _ = self.ask(party, move |server| server.sessions.release_owed(id)).await;
                Err("the session cannot be had")
            }
            _ => Err("the session cannot be had"),
        }
    }

    /// Ends a session, whoever holds it.
    pub async fn close(self: &Rc<Self>, party: u64, close: CloseSession) -> Said {
        let CloseSession { owner, session } = close;
        self.note(party, || format!("closes session {session}"));
        match self.ask(party, move |server| server.sessions.close(session, owner)).await {
            Some(Ok(()) | Err(SessionError::Closed)) => Said::Over(OVER),
            _ => Said::Again("whether the session is closed is not known"),
        }
    }

    /// Gives a session back as it was.
    pub async fn release(self: &Rc<Self>, party: u64, lease: &Lease) {
        let lease = lease.clone();
        self.note(party, || format!("gives session {} back", lease.id()));
        self.gives_up(party, lease.id());
        let _ = self.ask(party, move |server| server.sessions.release(&lease)).await;
    }

    /// A program in a session, as `Engine::session_eval` runs it.
    pub async fn session_eval(
        self: &Rc<Self>,
        work: &Work,
        request: &Request,
        session: &'static str,
        lease: &Lease,
    ) -> Answered {
        let party = work.party;
        let (taken, renewing) = match self.session(party, session, request.owner).await {
            Ok(taken) => taken,
            // As `again::without_session` says.
            Err(OVER) if work.journal.held.seen(BEGUN).is_some() => return Answered::Stale,
            Err(OVER) => return Answered::Refused(OVER),
            Err(why) => return Answered::NotRun(why),
        };
        let Some(permit) = self.permit(request.owner).await else {
            self.release(party, &taken.lease).await;
            return Answered::NotRun("too many programs run");
        };
        let changes = programs::changes(&taken);
        let machine = programs::machine(&taken)
            .and_then(|machine| self.loaded(work, machine, request, &changes.to_string()));
        let Some(mut machine) = machine else {
            self.release(party, &taken.lease).await;
            return Answered::Stale;
        };
        let ended = self.drive(work, &mut machine, &permit).await;
        drop(permit);
        match ended {
            _ if renewing.lost.get() => {
                self.release(party, &taken.lease).await;
                Answered::NotRun("the session is not held any more")
            }
            Ended::GivenUp => {
                self.release(party, &taken.lease).await;
                Answered::NotRun("another server has taken it over")
            }
            Ended::Waits(dump) => {
                self.release(party, &taken.lease).await;
                self.park(work, request, dump, changes, lease).await
            }
            Ended::Over(value) => {
                let reply = json!({"value": value, "session": session});
                let receipt = Receipt::Request(lease.clone(), reply.clone());
                match self.commit(party, &taken, &machine, &value, receipt).await {
                    Ok(()) => Answered::Kept(reply),
                    Err(None) => Answered::Open,
                    Err(Some(why)) => Answered::NotRun(why),
                }
            }
        }
    }

    /// Keeps a session with its receipt, as `Hold::commit` does. `Err(None)` if nobody knows whether it is kept.
    pub async fn commit(
        self: &Rc<Self>,
        party: u64,
        taken: &TakenSession,
        machine: &Machine,
        value: &Json,
        receipt: Receipt,
    ) -> Result<(), Option<&'static str>> {
        let Ok(state) = machine.dump() else { return Err(Some("the session cannot be written")) };
        let (lease, version, meta) = (taken.lease.clone(), taken.version, json!({"keys": value["log"]}));
        let apart = self.shared.has(Fault::ReceiptApart).then(|| receipt.clone());
        let committed = self.ask(party, move |server| {
            let along = apart.is_none().then(|| receipt.along());
            let kept = server.sessions.commit_along(&lease, version, &meta, Some(&state), along.as_ref());
            kept.inspect_err(|_| {
                server.gives_up(party, lease.id());
                drop(server.sessions.release(&lease));
            })
            .map(|_| apart)
        });
        let committed = committed.await;
        self.note(party, || {
            format!("commits its session: {:?}", committed.as_ref().map(|it| it.as_ref().map(|_| ())))
        });
        match committed {
            Some(Ok(None)) => Ok(()),
            Some(Ok(Some(Receipt::Request(lease, reply)))) => match self.keep(party, &lease, &reply).await {
                Some(Ok(())) => Ok(()),
                _ => Err(Some("its reply cannot be kept")),
            },
            Some(Ok(Some(Receipt::Ticket(..)))) | None => Err(None),
            Some(Err(SessionError::Store(StoreError::Unacknowledged { .. }))) => Err(None),
            Some(Err(_)) => Err(Some("the session is not held any more")),
        }
    }
}

/// Where the answer of a program of a session is written down.
#[derive(Clone)]
pub enum Receipt {
    Request(Lease, Json),
    /// With a ticket, and with the request that decided about it.
    Ticket(Lease, Json, Option<Lease>),
}

impl Receipt {
    fn along(&self) -> Along<'_> {
        match self {
            Receipt::Request(lease, answer) => Along::Reply(Reply { lease, answer }),
            Receipt::Ticket(ticket, ended, request) => {
                let reply = request.as_ref().map(|lease| Reply { lease, answer: ended });
                Along::Ticket(ticket, ended, reply)
            }
        }
    }
}
