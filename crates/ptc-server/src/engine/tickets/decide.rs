//! `lisp_approve`, `lisp_reject` and `lisp_edit`: a ticket is taken, the program goes on, and what comes of it is kept
//! with the ticket. Whoever asks again is told.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use ptc_host::{Decision, Resumption};
use ptc_store::StoreError;
use ptc_store::tickets::{TakenTicket, TicketError, Tickets, Waiting};
use ptc_trace::recording::Begun;
use ptc_upstream::Grants;
use serde_json::Value as Json;
use tokio::runtime::Handle;

use super::super::api::{Approval, Args, CallError, Caller, Reply, Signals};
use super::super::audit::{self, AuditLine, AuditNote};
use super::super::debug::CallFacts;
use super::super::eval::Ran;
use super::super::evaluate;
use super::super::gate::Permit;
use super::super::lease::{give_back_later, lease_ms};
use super::super::receipt::{Receipt, RequestClaim};
use super::super::schema::OutputSchema;
use super::super::tools::Tool;
use super::super::trace::Execution;
use super::super::{Answered, Engine, Handled, envelope};
use super::choice::{By, Decided, Which, WrongAnswer};
use super::parked::{Before, Parked, shown};
use super::settle::{Ended, Holding, given_back, is_final, put_back, rejected, release, settle};
use super::shape::is_shown;
use super::unchanged::{Unfit, makes_calls};
use super::unopened::Unopened;
use super::{
    Claims, Desk, Head, ONLY_REJECTED, UNREADABLE, account, blocking, digest, refused, ruling, scope_of,
};
use crate::effects::{Held, HeldJournal};
use crate::engine::Reason;

/// What to do when the store could not say what a program did: it may be away, or rows of it damaged.
const DECIDE_AGAIN: &str = "Decide the same again in a moment. If that fails too, whoever runs the server can look with \
                            `ptc store check`.";
/// The same for who rejects.
pub(super) const REJECT_AGAIN: &str = "Reject the calls again in a moment. If that fails too, whoever runs the server can \
                                       look with `ptc store check`.";
/// Why a program is over whose calls are rejected after they were approved.
const LEFT: &str = "they had been approved, and the server that went on with the program ended";

impl Engine {
    /// One of the three tools.
    pub(in super::super) async fn decide_by_tool(
        &self,
        caller: &Caller,
        tool: Tool,
        args: Args,
        signals: &Signals,
    ) -> Handled {
        match Decided::read(tool, args) {
            Ok(decided) => self.decided(caller, decided, signals).await,
            Err(message) => Ok(wrong(&message)),
        }
    }

    /// Goes on with a program. Once it goes, it goes to its end, whether or not anybody waits for the answer: what
    /// came of it is kept with the ticket.
    pub(in super::super) async fn decided(
        &self,
        caller: &Caller,
        decided: Decided,
        signals: &Signals,
    ) -> Handled {
        let Some(engine) = self.own.upgrade() else { return Err(CallError::Cancelled) };
        let caller = caller.clone();
        let signals = Signals { cancel: Default::default(), ..signals.clone() };
        let deciding = async move { engine.take_and_go(&caller, &decided, &signals).await };
        let task = self.under_way.spawn(deciding);
        task.await
            .unwrap_or_else(|_| Err(CallError::Internal("a decision could not be carried out".to_owned())))
    }

    async fn take_and_go(&self, caller: &Caller, decided: &Decided, signals: &Signals) -> Handled {
        let Some(desk) = &self.desk else { return Ok(wrong("this server asks nobody for approval")) };
        let (id, claims) = match desk.claimed(caller, &decided.which) {
            Ok(claimed) => claimed,
            Err(answered) => return Ok(*answered),
        };
        // What comes of the ticket is the reply of a request under a key: both are kept at one moment.
        let beside = self.once.as_ref().is_some_and(|once| desk.tickets.is_beside(once.effects()));
        let request = signals.claim.clone().filter(|_| beside);
        let permit = match self.permit(caller, signals).await? {
            Ok(permit) => permit,
            Err(busy) => return Ok(self.shaped(&busy)),
        };
        let (at, owner, about, wanted) = (desk.clone(), account(caller), decided.clone(), id.clone());
        let looked =
            apart(&desk.tickets, move |_| at.waiting(&wanted, &owner, claims.as_ref(), &about)).await;
        let (waiting, parked) = match looked {
            Ok(looked) => looked,
            Err(NotTaken::Unopened(unopened)) => {
                let ended = self.end_unopened(caller, desk, &id, (&unopened, decided), request).await;
                return Ok(match ended {
                    Some(ended) => ended,
                    None => self.not_taken(desk, &id, NotTaken::Unopened(unopened)).await,
                });
            }
            Err(why) => return Ok(self.not_taken(desk, &id, why).await),
        };
        let decisions = match decided.decisions(&parked, &self.redactor) {
            Ok(decisions) => decisions,
            Err(wrong) => return Ok(self.not_decided(&id, decided, (&waiting, &parked), wrong)),
        };
        let unfit = match self.unfit(&parked, &decisions).await {
            Ok(()) => None,
            Err(Unfit::Edit(wrong)) => {
                return Ok(self.not_decided(&id, decided, (&waiting, &parked), wrong));
            }
            Err(Unfit::Answer(refusal)) if makes_calls(&decisions) => {
                return Ok(self.with_made(desk, &id, Some(&parked.head.before), *refusal).await);
            }
            // Whoever rejects ends a program that cannot go on.
            Err(Unfit::Answer(refusal)) => Some(message_of(&refusal)),
        };
        let (at, owner, wanted) = (desk.clone(), account(caller), id.clone());
        let taken =
            apart(&desk.tickets, move |waited| at.take(&wanted, &owner, parked, decisions, waited)).await;
        let (taken, head, resumption, lines) = match taken {
            Ok(taken) => taken,
            Err(why) => return Ok(self.not_taken(desk, &id, why).await),
        };
        let (who, again) = (account(caller).to_string(), taken.again);
        let note = AuditNote { who, ticket: id, by: decided.by.name(), again, lines };
        let holding = Holding::of(&desk.tickets, &taken.lease);
        let over = ruling::ends(&taken.decided).then(|| LEFT.to_owned()).or(unfit);
        let handled = match over {
            Some(because) => Ok(self.end(desk, (taken, request), &head.before, &because, &note).await),
            None => {
                let held = HeldTicket { taken, request, permit, note };
                self.go_on_with(caller, desk, held, (head, resumption), signals).await
            }
        };
        drop(holding);
        handled
    }

    /// The answer to a client whose user dismissed every form: what waits, and where people decide. Its request would be
    /// asked about again otherwise, and one that is sent anew makes its earlier calls once more.
    pub(in super::super) async fn dismissed(&self, caller: &Caller, decided: &Decided) -> Answered {
        let Some(desk) = &self.desk else { return wrong("this server asks nobody for approval") };
        let (id, claims) = match desk.claimed(caller, &decided.which) {
            Ok(claimed) => claimed,
            Err(answered) => return *answered,
        };
        let (at, owner, about, wanted) = (desk.clone(), account(caller), decided.clone(), id.clone());
        let found = apart(&desk.tickets, move |_| at.waiting(&wanted, &owner, claims.as_ref(), &about)).await;
        let (waiting, parked) = match found {
            Ok(found) => found,
            Err(why) => return self.not_taken(desk, &id, why).await,
        };
        if waiting.busy || waiting.decided.is_some() {
            return self.still_waits(caller, &id, waiting).await;
        }
        let reply = self.required(self.waits_on(&id, decided, (&waiting, &parked), None));
        Answered::new(Reply { approval: None, ..reply }, Some(Reason::APPROVAL.name))
    }

    /// What waits on, and what was wrong with what somebody answered.
    fn waits_on(
        &self,
        id: &str,
        decided: &Decided,
        (waiting, parked): (&Waiting, &Parked),
        wrong: Option<WrongAnswer>,
    ) -> Approval {
        let ticket = match &decided.which {
            Which::Text(text) => text.clone(),
            Which::Id(_) => String::new(),
        };
        let pending = shown(parked.held.pending(), &self.redactor);
        Approval { id: id.to_owned(), ticket, pending, expires_ms: waiting.expires_ms, wrong }
    }

    /// The answer to a decision that cannot be used: nothing of it is done, and forms are shown again.
    fn not_decided(
        &self,
        id: &str,
        decided: &Decided,
        found: (&Waiting, &Parked),
        why: WrongAnswer,
    ) -> Answered {
        match decided.by {
            By::Form => {
                let reply = self.required(self.waits_on(id, decided, found, Some(why)));
                Answered::new(reply, Some(Reason::APPROVAL.name))
            }
            By::Page | By::Model => wrong(&why.why),
        }
    }

    /// Goes on with a program whose ticket is taken, and notes what came of it.
    async fn go_on_with(
        &self,
        caller: &Caller,
        desk: &Desk,
        held: HeldTicket,
        (head, resumption): (Head, Resumption),
        signals: &Signals,
    ) -> Handled {
        let HeldTicket { taken, request, permit, note } = held;
        // A ticket that is taken again finds what was sent before.
        let scope: Arc<str> = scope_of(taken.lease.id()).into();
        let tickets = desk.tickets.clone();
        let journal = match self.ticket_journal(desk, &taken, &scope).await {
            Ok(journal) => journal,
            Err(why) => {
                tracing::error!("what a program was told before cannot be read: {why}");
                put_back(tickets, taken).await;
                let message =
                    "what the program was told before cannot be read at the moment; nothing was done now";
                return Ok(answer(Reason::STORE, message, DECIDE_AGAIN));
            }
        };
        let signals = &Signals { scope: Some(scope), claim: None, journal, ..signals.clone() };
        let rejects = resumption.decisions().all(|(_, decision)| matches!(decision, Decision::Reject(_)));
        let before = head.before.clone();
        let receipt = Receipt::Ticket(taken.lease.clone(), request.clone());
        let ended = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            ended = self.go_on(caller, head, resumption, (permit, receipt, &note), signals) => Some(ended),
        };
        let Some(ended) = ended else {
            // Another server goes on at once if the same is decided again, as if this one had been killed.
            given_back(tickets, taken).await;
            return Err(CallError::Cancelled);
        };
        match ended {
            Err(ResumeError::Unused(why)) if rejects && is_final(&why) => {
                Ok(self.end(desk, (taken, request), &before, &message_of(&why), &note).await)
            }
            Err(ResumeError::Unused(why)) => {
                // Nothing was done now: the ticket can be used as before.
                let id = taken.lease.id().to_owned();
                put_back(tickets, taken).await;
                Ok(self.with_made(desk, &id, Some(&before), *why).await)
            }
            Err(ResumeError::Call(error)) => Err(error),
            Ok(ended) => Ok(settle(tickets, taken, ended, request).await),
        }
    }

    /// Ends a program whose calls are rejected and that does not go on, and says what it has made.
    async fn end(
        &self,
        desk: &Desk,
        (taken, request): (TakenTicket, Option<RequestClaim>),
        before: &Before,
        because: &str,
        note: &AuditNote,
    ) -> Answered {
        let tickets = desk.tickets.clone();
        match self.made(desk, taken.lease.id(), Some(before)).await {
            Ok(made) => {
                note.tell(&self.counts);
                let over = Ended::Over(Box::new(made.tell(rejected(because), None)));
                settle(tickets, taken, over, request).await
            }
            Err(why) => {
                tracing::error!("what a program made before cannot be read: {why}");
                put_back(tickets, taken).await;
                let message =
                    "what the program made before cannot be read at the moment; nothing was done now";
                answer(Reason::STORE, message, REJECT_AGAIN)
            }
        }
    }

    /// The answer to who did not get a ticket.
    pub(super) async fn not_taken(&self, desk: &Desk, id: &str, why: NotTaken) -> Answered {
        match why {
            NotTaken::Refused(TicketError::Decided { before }) => self.decided_before(before),
            NotTaken::Refused(error @ (TicketError::Gone | TicketError::Expired)) => {
                self.with_made(desk, id, None, refused(&error)).await
            }
            NotTaken::Refused(error) => refused(&error),
            NotTaken::Answer(answer) => *answer,
            NotTaken::Unopened(unopened) if unopened.is_damaged => {
                tracing::error!("what is kept of the ticket {id} cannot be read: {}", unopened.why);
                let answered = answer(Reason::STORE, UNREADABLE, ONLY_REJECTED);
                match self.made(desk, id, None).await {
                    Ok(made) => made.tell(answered, Some(ONLY_REJECTED)),
                    Err(_) => answered,
                }
            }
            NotTaken::Unopened(unopened) => self.with_made(desk, id, None, invalid(&unopened.why)).await,
        }
    }

    /// Where calls of a program that goes on are written down, if they are in the store of its ticket.
    async fn ticket_journal(
        &self,
        desk: &Desk,
        taken: &TakenTicket,
        scope: &str,
    ) -> Result<Option<Arc<HeldJournal>>, String> {
        match self.once.as_ref().filter(|once| desk.tickets.is_beside(once.effects())) {
            Some(once) => once.held(Held::Ticket(taken.lease.clone()), scope, taken.again).await.map(Some),
            None => Ok(None),
        }
    }

    /// Goes on with a program as its tool would have.
    async fn go_on(
        &self,
        caller: &Caller,
        head: Head,
        resumption: Resumption,
        (permit, receipt, note): (Permit, Receipt, &AuditNote),
        signals: &Signals,
    ) -> Result<Ended, ResumeError> {
        // A ticket of an earlier version does not say who began.
        let owner = Some(&*head.owner).filter(|owner| !owner.is_empty()).map(Arc::from);
        let caller = &Caller { owner: owner.unwrap_or_else(|| caller.owner.clone()), ..caller.clone() };
        if head.session.is_some() {
            return self.session_goes_on(caller, head, resumption, (permit, receipt, note), signals).await;
        }
        if head.grants != self.grants_digest(&Grants::all(), None) {
            return Err(ResumeError::Unused(Box::new(stale(
                "what programs may use has changed since the program began",
            ))));
        }
        note.tell(&self.counts);
        let schema = head.schema.as_ref().map(OutputSchema::parse).transpose().unwrap_or_default();
        let calls = self.calls(caller, Grants::all(), signals).resumed(resumption.calls_made("call"));
        let (program, noted) =
            evaluate::resumed(resumption, self.prelude.clone(), caller.owner.clone(), &self.settings);
        let (program, recorded) = self.recordings.program(calls.attach(program), |program| Begun {
            source: head.source.clone(),
            ..Begun::of("lisp_eval", program)
        });
        let (program, execution) = Execution::begin(program, &head.source, signals);
        let running = self.pool.run(self.owned(program, caller, &permit));
        let waited = evaluate::wait(running, signals, &calls).await;
        let outcome = waited.map_err(ResumeError::Call)?;
        execution.end(&outcome);
        recorded.end(&outcome).await;
        drop(permit);
        let noted = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
        let facts = CallFacts { program: Some(head.source.clone()), ..CallFacts::default() };
        let ran = Ran { outcome, noted, ledger: calls.finish() };
        Ok(self.eval_ended(caller, head, schema.as_ref(), ran, facts).await)
    }
}

impl Engine {
    /// The answer to a decision that differs from an earlier one, whose program may have come to any point.
    fn decided_before(&self, mut before: Json) -> Answered {
        let mut answered = answer(
            Reason::TICKET_BUSY,
            "the ticket was decided before, and the server that went on with it ended",
            "Decide the same again: what was approved may have been made, and is not made again. Or reject all its calls, which \
             ends the program and says what it has made.",
        );
        if let Some(object) = &mut answered.reply.structured {
            self.redactor.redact_json(&mut before);
            object["decided"] = before;
        }
        answered
    }
}

/// A ticket that was taken, with what its program needs to go on.
struct HeldTicket {
    taken: TakenTicket,
    /// The request under a key that decided, if it is one.
    request: Option<RequestClaim>,
    permit: Permit,
    note: AuditNote,
}

/// A ticket that was taken, how its program began, how it goes on, and what is to be told of the decision.
type Taken = (TakenTicket, Head, Resumption, Vec<AuditLine>);

/// Why a ticket was not taken.
pub enum NotTaken {
    /// The store says so.
    Refused(TicketError),
    /// The ticket and the decision do not fit.
    Answer(Box<Answered>),
    /// What waits cannot be opened.
    Unopened(Box<Unopened>),
}

impl Desk {
    /// The id of the ticket that is meant and what its text claims, if the caller has one of that text.
    fn claimed(&self, caller: &Caller, which: &Which) -> Result<(String, Option<Claims>), Box<Answered>> {
        match which {
            Which::Id(id) => Ok((id.clone(), None)),
            Which::Text(text) => match self.claims(text) {
                Ok(claims) if *claims.owner != *account(caller) => {
                    Err(Box::new(refused(&TicketError::Owner)))
                }
                Ok(claims) => Ok((claims.id.clone(), Some(claims))),
                Err(error) => Err(Box::new(invalid(&format!("the ticket cannot be used: {error}")))),
            },
        }
    }

    /// What waits, if it is what the caller believes it to be. Blocks.
    fn waiting(
        &self,
        id: &str,
        owner: &str,
        claims: Option<&Claims>,
        decided: &Decided,
    ) -> Result<(Waiting, Parked), NotTaken> {
        let waiting = self.tickets.read(id, owner).map_err(NotTaken::Refused)?;
        if let Some(damaged) = Unopened::damaged(&waiting) {
            return Err(NotTaken::Unopened(Box::new(damaged)));
        }
        let parked = self
            .parked(id, owner, &waiting.sealed)
            .map_err(|why| Unopened::sealed(&waiting, &self.keys, id, owner, why))
            .map_err(|unopened| NotTaken::Unopened(Box::new(unopened)))?;
        fits(&parked, claims, decided).map_err(NotTaken::Answer)?;
        if !is_shown(&waiting.about, &parked) {
            return Err(NotTaken::Unopened(Box::new(Unopened::unlike(&waiting))));
        }
        Ok((waiting, parked))
    }

    /// Takes a ticket for what was decided. Blocks.
    fn take(
        &self,
        id: &str,
        owner: &str,
        parked: Parked,
        decisions: Vec<(u64, Decision)>,
        waited: &AtomicBool,
    ) -> Result<Taken, NotTaken> {
        let Parked { head, held } = parked;
        let lines = audit::lines(held.pending(), &decisions);
        let asked = Resumption::new(held.clone(), decisions)
            .map_err(|error| NotTaken::Answer(Box::new(wrong(&error.to_string()))))?;
        let decided = ruling::written(&asked.decisions().collect::<Vec<_>>());
        let rule = |before: &Json| ruling::ruling(before, &decided);
        let taken = self.tickets.take_over(id, owner, &decided, lease_ms(), rule);
        let taken = taken.map_err(|error| self.not_had(id, error))?;
        // What was decided first stays, with its reasons.
        let first = ruling::read(&taken.decided).and_then(|first| Resumption::new(held, first).ok());
        let resumption = first.unwrap_or(asked);
        if !waited.load(Ordering::SeqCst) {
            // Whoever decided was told that nothing was changed.
            release(&self.tickets, taken.clone());
        }
        Ok((taken, head, resumption, lines))
    }
}

impl Desk {
    /// Why a ticket was not had. It may be held although the store has not said so, and is given back then.
    fn not_had(&self, id: &str, error: TicketError) -> NotTaken {
        let TicketError::Store(why) = &error else { return NotTaken::Refused(error) };
        let (tickets, id) = (self.tickets.clone(), id.to_owned());
        give_back_later(&Handle::current(), move || tickets.release_owed(&id).is_ok());
        let StoreError::Unacknowledged { .. } = why else { return NotTaken::Refused(error) };
        tracing::error!("nobody knows whether a ticket is held: {why}");
        let message = "the store did not answer, so nothing was done; the ticket is as it was";
        NotTaken::Answer(Box::new(answer(Reason::STORE, message, "Decide the same again in a moment.")))
    }
}

/// Does something with the store apart from the threads that answer. It is told whether anybody still waits for it.
async fn apart<T: Send + 'static>(
    tickets: &Tickets,
    work: impl FnOnce(&AtomicBool) -> Result<T, NotTaken> + Send + 'static,
) -> Result<T, NotTaken> {
    let waits = Arc::new(AtomicBool::new(true));
    let waited = waits.clone();
    let done = blocking(tickets, move || Ok(work(&waited))).await;
    done.unwrap_or_else(|error| {
        waits.store(false, Ordering::SeqCst);
        Err(NotTaken::Refused(error))
    })
}

/// Why a program did not go on.
pub enum ResumeError {
    /// Nothing of it was done; this is why.
    Unused(Box<Answered>),
    /// Nobody waits for it any more.
    Call(CallError),
}

/// Whether a ticket is about what its holder believes it to be about.
fn fits(parked: &Parked, claims: Option<&Claims>, decided: &Decided) -> Result<(), Box<Answered>> {
    let program = digest(&parked.head.source);
    if claims.is_some_and(|claims| claims.program != program || claims.grants != parked.head.grants)
        || decided.program.as_ref().is_some_and(|text| digest(text) != program)
    {
        return Err(Box::new(invalid("the ticket belongs to another program")));
    }
    Ok(())
}

/// The answer to a decision that makes no sense.
pub fn wrong(message: &str) -> Answered {
    answer(Reason::ARGS, message, "Mend the arguments and call again; the ticket is as it was.")
}

fn invalid(message: &str) -> Answered {
    answer(Reason::TICKET_INVALID, message, "Use the ticket exactly as it came, on the server it came from.")
}

/// The answer to a ticket whose program can no longer go on.
pub fn stale(message: &str) -> Answered {
    answer(Reason::TICKET_STALE, message, "Nothing was done. Run the program again.")
}

/// What an answer says has happened.
fn message_of(answered: &Answered) -> String {
    let object = answered.reply.structured.as_ref();
    object.and_then(|object| object["message"].as_str()).unwrap_or_default().to_owned()
}

/// An error of a ticket.
pub fn answer(reason: Reason, message: &str, feedback: &str) -> Answered {
    Answered::new(envelope::fixed(reason.name, message, feedback), Some(reason.name))
}
