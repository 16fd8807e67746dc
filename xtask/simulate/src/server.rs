//! A server of a simulation. The order of its steps is that of `ptc-server`: requests as in `engine/once.rs`, tickets as in
//! `engine/tickets` (`decide.rs` here), sessions as in `engine/sessions` (`sessions.rs`). What decides in each step is the real
//! thing: the store, the journal, upstream calls, the machine and the gate. Between any two steps others may act, and the
//! server may be killed.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use ptc_host::{Judgement, Waits};
use ptc_lisp::Limits;
use ptc_lisp::machine::{Answer, Machine, Step};
use ptc_server::effects::{Held, HeldJournal, StoreJournal};
use ptc_server::engine::QueueState;
use ptc_server::engine::gate::{Gate, GateBounds, Permit};
use ptc_server::engine::lease::{lease_ms, renewal};
use ptc_store::effects::Became;
use ptc_store::requests::{Began, NewRequest, Reply, RequestError};
use ptc_store::sessions::{SessionError, Sessions};
use ptc_store::simulation::{Disk, Process};
use ptc_store::tickets::{NewTicket, TicketError, TicketQuota, Tickets};
use ptc_store::{Lease, Store, StoreError};
use ptc_upstream::effects::Policy;
use ptc_upstream::{Caps, RunContext, Runtime};
use serde_json::{Value as Json, json};

use crate::fault::Fault;
use crate::journal::Journal;
use crate::messages::{Request, Said};
use crate::tasks::{Of, Spawner, sleep, step};
use crate::world::{Seen, Shared};

/// One server, from its start to its end.
pub struct Server {
    pub node: usize,
    incarnation: u64,
    pub shared: Shared,
    pub spawner: Spawner,
    pub journal: StoreJournal,
    pub sessions: Sessions,
    pub tickets: Tickets,
    pub gate: Gate,
    upstreams: Arc<Runtime>,
}

/// What came of a program.
pub enum Ended {
    /// It ended with this value.
    Over(Json),
    /// It waits for a decision, as these bytes.
    Waits(Vec<u8>),
    /// Nobody wants its answer any more.
    GivenUp,
}

/// What a server has to say to a request that it holds, as `Engine::carry_out` looks at it.
pub enum Answered {
    /// This, which is kept.
    Kept(Json),
    /// This, which is to be kept.
    Ran(Json),
    /// Nothing was run.
    NotRun(&'static str),
    /// Nothing was run, and nothing can be.
    Refused(&'static str),
    /// It cannot be run again as it was, by nobody.
    Stale,
    /// Whether it is kept is not known.
    Open,
}

/// Why a request is not begun.
pub enum Unbegun {
    /// It ended so before.
    Before(Json),
    /// This is said, and nothing was done.
    Not(Said),
}

/// A program that belongs to something that is held.
pub struct Work {
    pub party: u64,
    pub scope: String,
    pub journal: Arc<Journal>,
    /// Set when another server has taken it over, where that ends the program.
    pub lost: Rc<Cell<bool>>,
}

/// What is held for longer.
#[derive(Clone)]
pub enum Lasting {
    Request(Lease),
    Session(Lease),
    Ticket(Lease),
}

/// Says that a server lives until it is dropped.
pub struct Renewing {
    over: Rc<Cell<bool>>,
    pub lost: Rc<Cell<bool>>,
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.over.set(true);
    }
}

/// How long a call waits for the store.
const PATIENCE: i64 = 10_000;

impl Server {
    /// Starts a server.
    pub fn start(
        node: usize,
        shared: &Shared,
        spawner: &Spawner,
        disk: &Disk,
        upstreams: &Arc<Runtime>,
        bounds: GateBounds,
    ) -> Rc<Server> {
        let world = Arc::new(Seen { shared: shared.clone(), node });
        let store = Arc::new(Store::simulated(Process::new(disk, world)));
        Rc::new(Server {
            node,
            incarnation: shared.lock().nodes[node].incarnation,
            shared: shared.clone(),
            spawner: spawner.clone(),
            journal: StoreJournal::new(store.clone()),
            sessions: Sessions::new(store.clone()),
            tickets: Tickets::new(store),
            gate: Gate::new(bounds),
            upstreams: upstreams.clone(),
        })
    }

    /// Asks the store for something to hold, as a step of its own. Nothing if it does not answer in time: what was asked goes on
    /// then, and what comes of it is for `unheard`, in the step after that. The call does not use what it got.
    pub async fn ask_or<T: 'static>(
        self: &Rc<Self>,
        (party, id): (u64, &str),
        work: impl FnOnce(&Server) -> T + 'static,
        unheard: impl FnOnce(&Server, T) + 'static,
    ) -> Option<T> {
        step().await;
        if let Some(late) = self.silence() {
            let (server, id) = (self.clone(), id.to_owned());
            self.spawner.spawn(Of::Upkeep(self.node), party, async move {
                sleep(&server.shared, late).await;
                let done = work(&server);
                server.gives_up(party, &id);
                step().await;
                server.unless_killed().await;
                unheard(&server, done);
            });
            sleep(&self.shared, PATIENCE).await;
            return None;
        }
        let done = work(self);
        self.unless_killed().await;
        Some(done)
    }

    /// The same for questions that leave nothing behind.
    pub async fn ask<T: 'static>(
        self: &Rc<Self>,
        party: u64,
        work: impl FnOnce(&Server) -> T + 'static,
    ) -> Option<T> {
        step().await;
        if let Some(late) = self.silence() {
            let server = self.clone();
            self.spawner.spawn(Of::Upkeep(self.node), party, async move {
                sleep(&server.shared, late).await;
                work(&server);
            });
            sleep(&self.shared, PATIENCE).await;
            return None;
        }
        let done = work(self);
        self.unless_killed().await;
        Some(done)
    }

    /// How late the store does what it is asked for, if it does not answer in time.
    fn silence(&self) -> Option<i64> {
        let mut state = self.shared.lock();
        state.strikes("store silent", |rates| rates.silent).then(|| state.random.between(1, 15_000))
    }

    /// Goes no further in a server that was killed.
    pub async fn unless_killed(&self) {
        let killed = {
            let state = self.shared.lock();
            let node = &state.nodes[self.node];
            !node.alive || node.incarnation != self.incarnation
        };
        if killed {
            std::future::pending::<()>().await;
        }
    }

    /// Notes what happens.
    pub fn note(&self, party: u64, what: impl FnOnce() -> String) {
        let node = self.node;
        self.shared.note(|| format!("server {node}, call {party}: {}", what()));
    }

    /// Says again and again that this server lives, as `Claim`, `Hold` and `Holding` do.
    pub fn renew(self: &Rc<Self>, party: u64, lasting: Lasting) -> Renewing {
        let (over, lost) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let (server, ended, told) = (self.clone(), over.clone(), lost.clone());
        let every = i64::try_from(renewal().as_millis()).unwrap_or(i64::MAX);
        self.spawner.spawn(Of::Upkeep(self.node), party, async move {
            while !ended.get() {
                sleep(&server.shared, every).await;
                if ended.get() {
                    return;
                }
                let held = lasting.clone();
                let is_lost = server.ask(party, move |server| server.renewed(&held)).await;
                if is_lost == Some(true) {
                    return told.set(true);
                }
            }
        });
        Renewing { over, lost }
    }

    /// Holds something for longer; whether it was lost.
    fn renewed(&self, lasting: &Lasting) -> bool {
        match lasting {
            Lasting::Request(lease) => {
                self.journal.requests().renew(lease, lease_ms()) == Err(RequestError::Lost)
            }
            Lasting::Session(lease) => {
                let renewed = self.sessions.renew(lease, lease_ms());
                !matches!(renewed, Ok(()) | Err(SessionError::Store(_)))
            }
            Lasting::Ticket(lease) => self.tickets.renew(lease, lease_ms()) == Err(TicketError::Lost),
        }
    }

    /// Carries out a request, as `Engine::handle_once` does.
    pub async fn request(self: &Rc<Self>, party: u64, request: &Request) -> Said {
        let scope = request.scope();
        let (lease, again) = match self.begin(party, &scope, "lisp_eval", scope.as_bytes()).await {
            Ok(held) => held,
            Err(Unbegun::Before(reply)) => return Said::Reply(reply),
            Err(Unbegun::Not(said)) => return said,
        };
        self.note(party, || format!("begins {scope}{}", if again { " again" } else { "" }));
        let renewing = self.renew(party, Lasting::Request(lease.clone()));
        let Some(journal) = self.journal_of(party, Held::Request(lease.clone()), &scope, again).await else {
            self.give_back(party, lease).await;
            return Said::Again("what it was told before cannot be read");
        };
        let work = Work { party, scope, journal, lost: renewing.lost.clone() };
        let answered = match request.session {
            None => self.eval(&work, request, &lease).await,
            Some(session) => self.session_eval(&work, request, session, &lease).await,
        };
        self.conclude(party, lease, answered).await
    }

    /// Begins a request, as `Once::begin` does: one for which nobody waits any more is given back.
    pub async fn begin(
        self: &Rc<Self>,
        party: u64,
        scope: &str,
        tool: &'static str,
        digest: &[u8],
    ) -> Result<(Lease, bool), Unbegun> {
        let (named, digest, late) = (scope.to_owned(), digest.to_owned(), scope.to_owned());
        let begin = move |server: &Server| {
            let new = NewRequest { scope: &named, tool, digest: &digest };
            server.journal.requests().begin(&new, lease_ms())
        };
        let unheard = move |server: &Server, began: Result<Began, RequestError>| {
            let requests = server.journal.requests();
            match began {
                Ok(Began::Held { lease, .. }) => drop(requests.give_back(&lease)),
                Ok(Began::Done(_) | Began::Busy | Began::Another) => {}
                Err(_) => drop(requests.give_back_owed(&late)),
            }
        };
        match self.ask_or((party, scope), begin, unheard).await {
            Some(Ok(Began::Held { lease, again })) => Ok((lease, again)),
            Some(Ok(Began::Done(reply))) => Err(Unbegun::Before(reply)),
            Some(Ok(Began::Busy)) => Err(Unbegun::Not(Said::Again("it is under way"))),
            Some(Ok(Began::Another)) => Err(Unbegun::Not(Said::Over("the key belongs to another request"))),
            Some(Err(_)) => {
                self.give_back_owed(party, scope.to_owned()).await;
                Err(Unbegun::Not(Said::Again("it cannot be written down")))
            }
            None => Err(Unbegun::Not(Said::Again("it cannot be written down"))),
        }
    }

    /// Where calls of a program are written down, as `Once::held` says.
    pub async fn journal_of(
        self: &Rc<Self>,
        party: u64,
        held: Held,
        scope: &str,
        again: bool,
    ) -> Option<Arc<Journal>> {
        let scope = scope.to_owned();
        let before = match again {
            true => self.ask(party, move |server| server.journal.effects().seen(&scope)).await?.ok()?,
            false => Vec::new(),
        };
        let fault = self.shared.lock().fault;
        Some(Arc::new(Journal::new(HeldJournal::new(&self.journal, held, before), fault)))
    }

    /// What becomes of a request that was carried out, as in `Engine::carry_out`.
    async fn conclude(self: &Rc<Self>, party: u64, lease: Lease, answered: Answered) -> Said {
        let reply = match answered {
            Answered::Kept(reply) => return Said::Reply(reply),
            Answered::Open => return Said::Again("whether it is kept is not known"),
            Answered::NotRun(why) => {
                self.give_back(party, lease).await;
                return Said::Again(why);
            }
            Answered::Refused(why) => {
                self.give_back(party, lease).await;
                return Said::Over(why);
            }
            Answered::Stale => match self.stale(party, &lease).await {
                Some(reply) if self.shared.has(Fault::StaleUnkept) => {
                    self.give_back(party, lease).await;
                    return Said::Reply(reply);
                }
                Some(reply) => reply,
                None => {
                    self.give_back(party, lease).await;
                    return Said::Again("what it made before cannot be read");
                }
            },
            Answered::Ran(reply) => reply,
        };
        if self.shared.has(Fault::ToldBeforeKept) {
            let server = self.clone();
            let told = reply.clone();
            self.spawner.spawn(Of::Call(self.node), party, async move {
                server.keep(party, &lease, &told).await;
            });
            return Said::Reply(reply);
        }
        match self.keep(party, &lease, &reply).await {
            Some(Ok(())) => Said::Reply(reply),
            Some(Err(RequestError::Lost)) => {
                self.give_back(party, lease).await;
                Said::Again("another server has taken it over")
            }
            Some(Err(RequestError::Store(_))) | None => {
                self.give_back(party, lease).await;
                Said::Again("the store did not keep its reply")
            }
        }
    }

    /// The reply of a request that cannot run again: how many calls it made, and of how many nobody knows, as
    /// `Engine::refused_with_made` counts them.
    async fn stale(self: &Rc<Self>, party: u64, lease: &Lease) -> Option<Json> {
        let scope = lease.id().to_owned();
        let known = self.ask(party, move |server| server.journal.effects().of_scope(&scope)).await?.ok()?;
        let count = |is: fn(&Became) -> bool| known.iter().filter(|call| is(&call.became)).count();
        let (made, unknown) = match self.shared.has(Fault::CallsUntold) {
            true => (0, 0),
            false => (
                count(|became| matches!(became, Became::Answered(_))),
                count(|became| matches!(became, Became::Unknown | Became::Dismissed)),
            ),
        };
        self.note(party, || format!("{} is stale: {made} made, {unknown} unknown", lease.id()));
        Some(json!({"stale": {"made": made, "unknown": unknown}}))
    }

    pub async fn keep(
        self: &Rc<Self>,
        party: u64,
        lease: &Lease,
        reply: &Json,
    ) -> Option<Result<(), RequestError>> {
        let (lease, answer) = (lease.clone(), reply.clone());
        let kept = self.ask(party, move |server| {
            server.journal.requests().keep(&Reply { lease: &lease, answer: &answer })
        });
        let kept = kept.await;
        self.note(party, || format!("keeps its reply: {kept:?}"));
        kept
    }

    pub async fn give_back(self: &Rc<Self>, party: u64, lease: Lease) {
        if self.shared.has(Fault::LeaseKept) {
            return;
        }
        self.note(party, || format!("gives {} back", lease.id()));
        self.gives_up(party, lease.id());
        // One that cannot be given back now is free when its lease is over.
        let _ = self.ask(party, move |server| server.journal.requests().give_back(&lease)).await;
    }

    /// Gives back a request that may be held although the store has not said so.
    pub async fn give_back_owed(self: &Rc<Self>, party: u64, scope: String) {
        self.gives_up(party, &scope);
        let _ = self.ask(party, move |server| server.journal.requests().give_back_owed(&scope)).await;
    }

    /// A call does not use what it may hold of this any more.
    pub fn gives_up(&self, party: u64, id: &str) {
        self.shared.lock().given_up.insert((party, id.to_owned()));
    }

    /// A permit for a program of an owner.
    pub async fn permit(&self, owner: &str) -> Option<Permit> {
        step().await;
        self.gate.enter(&owner.into(), &QueueState::default()).await.ok()
    }

    /// What a program of a scope calls upstreams with.
    pub fn context(&self, work: &Work) -> RunContext {
        let context = self.upstreams.context(Caps::default(), Policy::open());
        context.journalled(work.scope.as_str(), work.journal.clone())
    }

    /// A program of its own.
    async fn eval(self: &Rc<Self>, work: &Work, request: &Request, lease: &Lease) -> Answered {
        let Some(permit) = self.permit(request.owner).await else {
            return Answered::NotRun("too many programs run");
        };
        let machine = Machine::new(Limits::default());
        let Some(mut machine) = self.loaded(work, machine, request, "") else {
            return Answered::Stale;
        };
        match self.drive(work, &mut machine, &permit).await {
            Ended::Over(value) => Answered::Ran(json!({"value": value})),
            Ended::Waits(dump) => {
                drop(permit);
                self.park(work, request, dump, 0, lease).await
            }
            Ended::GivenUp => {
                self.leave(permit);
                Answered::NotRun("another server has taken it over")
            }
        }
    }

    /// A call is given up, and its permit with it.
    fn leave(&self, permit: Permit) {
        if self.shared.has(Fault::PermitKept) {
            std::mem::forget(permit);
        }
    }

    /// A machine with a program, which begins as it began before.
    pub fn loaded(
        &self,
        work: &Work,
        mut machine: Machine,
        request: &Request,
        basis: &str,
    ) -> Option<Machine> {
        let (seed, clock_ms) = {
            let mut state = self.shared.lock();
            (state.random.below(1 << 40), state.now)
        };
        let (seed, clock_ms) = work.journal.held.begun_with(seed, clock_ms, basis).ok()?;
        machine.set_tools(["call".to_owned()]);
        machine.set_seed(seed);
        machine.set_clock(clock_ms);
        machine.set_data(&json!({"key": request.key})).ok()?;
        machine.load(request.source).ok()?;
        Some(machine)
    }

    /// Runs a program to its end, or until it waits.
    pub async fn drive(self: &Rc<Self>, work: &Work, machine: &mut Machine, permit: &Permit) -> Ended {
        let context = self.context(work);
        loop {
            match machine.run(u64::MAX) {
                Step::Done(_) => return Ended::Over(machine.value_json()),
                Step::Failed(error) => return Ended::Over(json!({"failed": error.to_string()})),
                Step::Yield => {}
                Step::Calls(calls) => {
                    for call in calls {
                        step().await;
                        if work.lost.get() {
                            return Ended::GivenUp;
                        }
                        let judgement = context.judge().map(|judge| judge.judge(&call.tool, &call.args));
                        let answer = match judgement {
                            Some(Judgement::Ask(_)) => {
                                return machine.dump().map_or(Ended::GivenUp, Ended::Waits);
                            }
                            Some(Judgement::Answer(answer)) => answer,
                            Some(Judgement::Go) | None => {
                                self.note(work.party, || format!("calls {}", call.args));
                                self.answer(permit, context.call_approved(call.args)).await
                            }
                        };
                        if machine.answer(call.id, answer).is_err() {
                            return Ended::GivenUp;
                        }
                    }
                }
            }
        }
    }

    /// The answer of a call, for which a program waits without its permit.
    pub async fn answer(&self, permit: &Permit, call: impl Future<Output = Answer>) -> Answer {
        let (pace, room) = (permit.pace(), permit.room());
        pace(Waits::Begins { bytes: 1_000 });
        let answer = call.await;
        self.unless_killed().await;
        room().await;
        pace(Waits::Ends);
        answer
    }

    /// The id of a new ticket, and until when it can be used.
    pub fn new_ticket(&self, key: &str) -> (String, i64) {
        let mut state = self.shared.lock();
        let ttl = if state.random.below(4) == 0 { 15_000 } else { 3_600_000 };
        let expires_ms = state.now + state.nodes[self.node].skew + ttl;
        (format!("ticket-{key}-{}", state.number()), expires_ms)
    }

    /// Keeps a program that waits, as `Engine::keep_ticket` does.
    pub async fn park(
        self: &Rc<Self>,
        work: &Work,
        request: &Request,
        dump: Vec<u8>,
        changes: usize,
        lease: &Lease,
    ) -> Answered {
        let (id, expires_ms) = self.new_ticket(&request.key);
        let reply = json!({"approval": id});
        let (answer, lease, owner, session) = (reply.clone(), lease.clone(), request.owner, request.session);
        let about = json!({"key": request.key, "session": session, "changes": changes});
        let put = self.ask(work.party, move |server| {
            let new =
                NewTicket { id: &id, owner, kind: "eval", session, expires_ms, sealed: &dump, about: &about };
            let room = TicketQuota { tickets: 100, bytes: 1 << 24 };
            server.tickets.put(&new, room, Some(&Reply { lease: &lease, answer: &answer }))
        });
        let put = put.await;
        self.note(work.party, || format!("keeps its ticket: {put:?}"));
        match put {
            Some(Ok(())) => Answered::Kept(reply),
            Some(Err(TicketError::Store(StoreError::Unacknowledged { .. }))) | None => Answered::Open,
            Some(Err(TicketError::Lost)) => Answered::NotRun("another server has taken it over"),
            Some(Err(_)) => Answered::NotRun("its ticket cannot be kept"),
        }
    }
}
