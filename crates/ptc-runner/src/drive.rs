//! The async driver: asks models and tools for what runs need, as many at once as they like.
//!
//! A run holds a machine that never crosses threads, so runs live on a few threads of their own, pinned;
//! models and tools run on the caller's runtime, wherever that likes.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_agent::tape::{Entry, Given, Question, Taper};
use ptc_agent::{
    Agent, AgentRun, Ask, AskKind, Carried, Event, Fail, Need, PendingCall, Reason, RunOptions, Step, Supply,
};
use ptc_host::{Waits, now_ms};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::LocalPoolHandle;

use crate::approve::{self, Approver, Outcome, Paused};
use crate::journal::{self, Answerer, Journal, LostCall, Saved};
use crate::outside::{NoResult, call, streamed};
use crate::turns::{Share, Turns};
use crate::under_way::{Mail, OwnCall, UnderWay};

/// Takes events as they happen.
pub type Subscriber = Arc<dyn Fn(Event) + Send + Sync>;

/// Takes the bytes of a run.
pub type Checkpoint = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// Hears of a call without which the run goes on, and of which nobody knows what it did.
pub type OnLost = Arc<dyn Fn(&LostCall) + Send + Sync>;

/// What a driver has beside the run.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Takes events.
    pub subscriber: Option<Subscriber>,
    /// Keeps the run while it goes on, so that it survives its process.
    pub journal: Option<Arc<dyn Journal>>,
    /// Ends the run.
    pub cancel: Option<CancellationToken>,
    /// Takes the run as it is when it is cancelled or pauses, where no journal keeps it.
    pub on_stop: Option<Checkpoint>,
    /// Hears of calls that a journal would be told were lost, where no journal keeps the run.
    pub on_lost: Option<OnLost>,
    /// Asks people about calls that wait for one. Without it a run pauses at such calls.
    pub approver: Option<Arc<dyn Approver>>,
    /// Takes everything that comes into a run from its beginning, so that it can be played back.
    pub tape: Option<Taper>,
    /// Whose share of the threads the run uses; runs without one have one together.
    pub share: Option<Share>,
}

impl Surroundings {
    fn taped(&self, entry: impl FnOnce() -> Entry) {
        if let Some(tape) = &self.tape {
            tape(entry());
        }
    }
}

/// Why a run that was saved does not go on: nothing of it was done.
pub(crate) const RESUME_ERROR: &str = "resume_error";

/// The threads that runs live on.
fn pool() -> &'static LocalPoolHandle {
    static POOL: OnceLock<LocalPoolHandle> = OnceLock::new();
    POOL.get_or_init(|| LocalPoolHandle::new(threads()))
}

/// How many there are.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, Into::into)
}

/// How a run begins.
pub(crate) enum Begin {
    /// At its beginning.
    New,
    /// Where it was saved.
    Saved(Saved),
}

/// Drives a run to its end. Must be called on a tokio runtime.
pub(crate) async fn drive(
    agent: Arc<Agent>,
    options: RunOptions,
    begin: Begin,
    around: Surroundings,
) -> Ended {
    let home = Handle::current();
    let guard = CancellationToken::new();
    // Whoever drops the future drops the run.
    let dropped = guard.clone().drop_guard();
    let prelude = agent.options().prelude.as_ref();
    let looking =
        options.look_up.as_ref().zip(prelude).and_then(|(look, lent)| look(lent.required_servers()));
    if let Some(looking) = looking {
        looking.await;
    }
    let pinned = pool().spawn_pinned(move || async move {
        let began = match &begin {
            Begin::New => {
                let now = now();
                around.taped(|| Entry::Begin { now });
                Ok(AgentRun::new(agent.clone(), options, now))
            }
            Begin::Saved(saved) => {
                let now = now();
                around.taped(|| Entry::Load { now, state: saved.state.clone() });
                AgentRun::load(agent.clone(), options, &saved.state, now)
            }
        };
        match began {
            Ok(mut run) => {
                run.set_clock(Arc::new(now));
                Driver::new(run, &agent, home, around, guard).run(begin).await
            }
            Err(error) => Ended::lost(failed(RESUME_ERROR, error.to_string())),
        }
    });
    let ended = pinned.await;
    drop(dropped.disarm());
    ended.unwrap_or_else(|error| {
        Ended::lost(failed("internal_error", format!("the run ended badly: {error}")))
    })
}

/// How a run ended.
pub(crate) struct Ended {
    pub step: Step,
    pub carried: Option<Carried>,
    /// The run, if it waits for people.
    pub paused: Option<(Vec<u8>, Vec<PendingCall>)>,
}

impl Ended {
    fn lost(step: Step) -> Self {
        Ended { step, carried: None, paused: None }
    }

    pub fn outcome(self) -> Outcome {
        match self.paused {
            None => Outcome::Over(self.step),
            Some((state, pending)) => Outcome::Paused(Paused { state, pending, step: self.step }),
        }
    }
}

pub(crate) fn failed(reason: &'static str, message: String) -> Step {
    Step::failed(Fail::new(Reason::custom(reason), message))
}

fn now() -> u64 {
    u64::try_from(now_ms()).unwrap_or(0)
}

/// A run with what goes on around it.
struct Driver {
    run: AgentRun,
    home: Handle,
    around: Surroundings,
    /// The caller is gone.
    dropped: CancellationToken,
    /// How many tools run at once.
    slots: Arc<Semaphore>,
    /// What was asked for.
    under_way: BTreeMap<u64, UnderWay>,
    sender: mpsc::UnboundedSender<(u64, Mail)>,
    mail: mpsc::UnboundedReceiver<(u64, Mail)>,
    /// The run as it is, if it waits for people.
    paused: Option<(Vec<u8>, Vec<PendingCall>)>,
}

impl Driver {
    fn new(
        run: AgentRun,
        agent: &Agent,
        home: Handle,
        around: Surroundings,
        dropped: CancellationToken,
    ) -> Self {
        let (sender, mail) = mpsc::unbounded_channel();
        let slots =
            Arc::new(Semaphore::new(agent.options().pmap_max_concurrency.unwrap_or(16).clamp(1, 1 << 16)));
        Driver { run, home, around, dropped, slots, under_way: BTreeMap::new(), sender, mail, paused: None }
    }

    async fn run(mut self, begin: Begin) -> Ended {
        let ended = match begin {
            Begin::New => self.drive().await,
            Begin::Saved(saved) => match self.go_on(&saved).await {
                Ok(()) => self.drive().await,
                Err(lost) => Err(lost),
            },
        };
        self.abort_all();
        match ended {
            Ok(step) => Ended { step: *step, carried: self.run.take_carried(), paused: self.paused },
            Err(step) => Ended::lost(*step),
        }
    }

    /// Brings a run that was saved what came after that, and asks again for what did not.
    async fn go_on(&mut self, saved: &Saved) -> Result<(), Box<Step>> {
        let refused = |message: String| Box::new(failed(RESUME_ERROR, message));
        for (id, supply) in saved.supplies().map_err(|error| refused(error.to_string()))? {
            self.supply(id, supply);
        }
        approve::check(&self.run, &saved.decisions).map_err(refused)?;
        for call in self.run.pending() {
            let decided = saved.decisions.iter().find(|(id, _)| *id == call.id);
            let Some((id, decision)) = decided else { continue };
            let supply = Supply::Approval(decision.clone());
            self.write(&[(*id, (Answerer::Person, call.tool.name.clone()), &supply)]).await?;
            self.supply(*id, supply);
        }
        for ask in self.run.outstanding() {
            self.around.taped(|| Entry::Again(Question::from(&ask)));
            let repeat = saved.repeat || saved.did_not_happen.contains(&ask.id);
            match journal::unanswered(&ask, repeat, saved.open.get(&ask.id)) {
                None => self.start(ask),
                Some(supply) => {
                    let of = journal::answerer(&ask);
                    self.write(&[(ask.id, of, &supply)]).await?;
                    self.supply(ask.id, supply);
                }
            }
        }
        Ok(())
    }

    async fn drive(&mut self) -> Result<Box<Step>, Box<Step>> {
        let lane = self.around.share.as_ref().map(|share| share.lane.clone());
        loop {
            self.look_up().await;
            let turn = Turns::shared().take(&lane).await;
            let now = now();
            self.around.taped(|| Entry::Next { now, times: 1 });
            let need = self.run.next(now);
            if let Some(look) = self.run.stopped() {
                self.around.taped(|| Entry::Stopped { look });
            }
            drop(turn);
            self.tell();
            self.drop_unwanted().await?;
            match need {
                Need::Done(step) => return Ok(step),
                Need::Busy => {
                    tokio::task::yield_now().await;
                    self.look_around().await?;
                }
                Need::Asks(asks) => {
                    if let Some(journal) = self.around.journal.clone() {
                        let bytes = self.bytes()?;
                        self.keep(move || journal.state(&bytes)).await?;
                    }
                    for ask in asks {
                        self.around.taped(|| Entry::Ask(Question::from(&ask)));
                        self.start(ask);
                    }
                }
                // Nobody is asked who could answer.
                Need::Wait { .. } if self.under_way.is_empty() && self.run.is_paused() => {
                    return self.pause().await;
                }
                Need::Wait { until } => {
                    // A run goes on whenever it can.
                    self.pace(Waits::Begins { bytes: usize::MAX });
                    self.wait(until).await?;
                    self.pace(Waits::Ends);
                }
            }
        }
    }

    /// Looks at the servers behind the prelude where they say that something changed, or are not there any more. A run
    /// that lost what its prelude requires is told so, and goes no further than its next turn.
    async fn look_up(&mut self) {
        let Some(looking) = self.run.look_up() else { return };
        // Upstreams live on the caller's runtime.
        let looked = self.home.spawn(looking);
        let cancel = self.around.cancel.clone().unwrap_or_default();
        tokio::select! {
            () = self.dropped.cancelled() => {}
            () = cancel.cancelled() => {}
            _ = looked => {}
        }
        if let Some(fail) = self.run.lost() {
            self.around.taped(|| Entry::Lost { fail: fail.clone() });
            self.run.lose(fail);
        }
    }

    fn pace(&self, waits: Waits) {
        if let Some(share) = &self.around.share {
            (share.pace)(waits);
        }
    }

    /// Leaves a run that waits for people as it is.
    async fn pause(&mut self) -> Result<Box<Step>, Box<Step>> {
        let state = self.bytes()?;
        self.leave(state.clone()).await?;
        self.around.taped(|| Entry::Pause);
        self.paused = Some((state, self.run.pending()));
        Ok(Box::new(self.run.paused()))
    }

    /// Has a run kept that stops here.
    async fn leave(&mut self, state: Vec<u8>) -> Result<(), Box<Step>> {
        if let Some(journal) = self.around.journal.clone() {
            self.keep(move || journal.state(&state)).await
        } else if let Some(take) = self.around.on_stop.take() {
            self.keep(move || take(&state)).await
        } else {
            Ok(())
        }
    }

    fn tell(&mut self) {
        let events = self.run.take_events();
        if let Some(subscriber) = &self.around.subscriber {
            events.into_iter().for_each(|event| subscriber(event));
        }
    }

    fn bytes(&self) -> Result<Vec<u8>, Box<Step>> {
        self.run.save().map_err(|error| Box::new(failed("checkpoint_error", error.to_string())))
    }

    /// Has something kept by who may take a while; a failure ends the run.
    async fn keep<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, Box<Step>> {
        let kept = self.home.spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
        kept.map_err(|message| Box::new(failed("checkpoint_error", message)))
    }

    /// Writes answers down before the run has them.
    async fn write(&self, came: &[(u64, (Answerer, String), &Supply)]) -> Result<(), Box<Step>> {
        let Some(journal) = self.around.journal.clone() else { return Ok(()) };
        let answers: Result<Vec<_>, _> =
            came.iter().map(|(id, of, supply)| journal::answer(*id, of, supply)).collect();
        let answers: Vec<_> = answers
            .map_err(|error| Box::new(failed("checkpoint_error", error.to_string())))?
            .into_iter()
            .flatten()
            .collect();
        match answers.is_empty() {
            true => Ok(()),
            false => self.keep(move || journal.answers(&answers)).await,
        }
    }

    /// Takes what came while a program ran.
    async fn look_around(&mut self) -> Result<(), Box<Step>> {
        if self.dropped.is_cancelled() {
            self.cancel();
        }
        if self.around.cancel.as_ref().is_some_and(CancellationToken::is_cancelled) {
            self.stop().await?;
        }
        self.take(Vec::new()).await
    }

    /// Ends the run from outside; it is kept as it is now.
    async fn stop(&mut self) -> Result<(), Box<Step>> {
        // What is answered already shall not be asked again.
        self.take(Vec::new()).await?;
        if self.run.is_over() {
            return Ok(());
        }
        if self.around.journal.is_some() || self.around.on_stop.is_some() {
            let state = self.bytes()?;
            self.leave(state).await?;
        }
        self.cancel();
        Ok(())
    }

    fn cancel(&mut self) {
        let now = now();
        self.around.taped(|| Entry::Cancel { now });
        self.run.cancel(now);
    }

    /// Stops what nobody waits for any more. Calls that were made may have changed something.
    async fn drop_unwanted(&mut self) -> Result<(), Box<Step>> {
        let unwanted: Vec<u64> = self.under_way.keys().copied().filter(|id| !self.run.wants(*id)).collect();
        for call in unwanted.iter().filter_map(|id| self.under_way.remove(id)).collect::<Vec<_>>() {
            call.handle.abort();
            if let Some(own) = call.own.filter(|own| !own.is_answered()) {
                self.lost(&own).await?;
            }
        }
        Ok(())
    }

    /// Has a call written down of which nobody knows what it did, if it was made: what people find it by.
    async fn lost(&self, call: &OwnCall) -> Result<Option<String>, Box<Step>> {
        match (self.around.journal.clone(), call.lost()) {
            (Some(journal), Some(lost)) => self.keep(move || journal.lost(&lost)).await,
            (None, Some(lost)) => {
                if let Some(hear) = &self.around.on_lost {
                    hear(&lost);
                }
                Ok(None)
            }
            (_, None) => Ok(None),
        }
    }

    /// What the run is told of a call that gave no result.
    async fn without_result(&self, id: u64, cause: NoResult) -> Result<Supply, Box<Step>> {
        let own = self.under_way.get(&id).and_then(|call| call.own.clone());
        let Some((own, called_ms)) = own.and_then(|own| own.called_ms().map(|ms| (own, ms))) else {
            return Ok(cause.lost());
        };
        let identity = match cause {
            NoResult::NoFunction => None,
            NoResult::Panicked | NoResult::Late(_) => self.lost(&own).await?,
        };
        Ok(cause.unknown(own.tool(), called_ms, identity.as_deref()))
    }

    fn abort_all(&mut self) {
        self.under_way.values().for_each(|call| call.handle.abort());
        self.under_way.clear();
    }

    /// Waits for an answer, for a limit of time, or for the end.
    async fn wait(&mut self, until: Option<u64>) -> Result<(), Box<Step>> {
        let cancel = self.around.cancel.clone().unwrap_or_default();
        let pause = Duration::from_millis(
            until.map_or(u64::MAX / 4_000_000, |until| until.saturating_sub(now()).max(1)),
        );
        tokio::select! {
            biased;
            () = self.dropped.cancelled() => {
                self.cancel();
                Ok(())
            }
            () = cancel.cancelled() => self.stop().await,
            Some(first) = self.mail.recv() => self.take(vec![first]).await,
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    /// Takes these answers and all others that are there.
    async fn take(&mut self, mut mail: Vec<(u64, Mail)>) -> Result<(), Box<Step>> {
        while let Ok(answer) = self.mail.try_recv() {
            mail.push(answer);
        }
        let mut came = Vec::new();
        for (id, answer) in mail {
            match answer {
                Mail::Answer(supply) => came.push((id, supply)),
                Mail::NoResult(cause) => came.push((id, self.without_result(id, cause).await?)),
                Mail::Undecided => drop(self.under_way.remove(&id)),
            }
        }
        // What nobody waits for any more was dropped from the list.
        let known = came.iter().filter_map(|(id, supply)| Some((*id, self.under_way.remove(id)?.of, supply)));
        let known: Vec<_> = known.collect();
        self.write(&known).await?;
        came.into_iter().for_each(|(id, supply)| self.supply(id, supply));
        Ok(())
    }

    /// Brings the run an answer, if it waits for it.
    fn supply(&mut self, id: u64, supply: Supply) {
        if self.run.wants(id) {
            let now = now();
            self.around.taped(|| Entry::Answer { id, now, given: Given::from(&supply) });
            self.run.at(now);
            self.run.supply(id, supply);
        }
    }

    /// Starts what is asked for, on the caller's runtime.
    fn start(&mut self, ask: Ask) {
        let (id, of, sender) = (ask.id, journal::answerer(&ask), self.sender.clone());
        // Nobody reads answers after the end.
        let reply = move |mail| drop(sender.send((id, mail)));
        if matches!(ask.kind, AskKind::Approval { .. }) {
            let (Some(approver), Some(call)) = (self.around.approver.clone(), ask.into_pending()) else {
                return;
            };
            let decision = self.home.spawn(async move { approver.decide(call).await });
            let handle = decision.abort_handle();
            // An approver that panics has not decided.
            self.home.spawn(async move {
                let decision = decision.await.ok().flatten();
                reply(decision.map_or(Mail::Undecided, |decision| Mail::Answer(Supply::Approval(decision))));
            });
            self.under_way.insert(id, UnderWay { handle, of, own: None });
            return;
        }
        let mut own = None;
        let handle = match ask.kind {
            AskKind::Approval { .. } => return,
            AskKind::Model { llm, request, after_ms } => {
                let home = self.home.clone();
                let chunk = request.stream.then(|| self.run.on_chunk()).flatten();
                self.home.spawn(async move {
                    if after_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                    }
                    reply(Mail::Answer(Supply::Model(streamed(llm, request, chunk, &home).await)));
                })
            }
            AskKind::Tool { tool, args, timeout_ms } => {
                let (home, slots) = (self.home.clone(), self.slots.clone());
                let is_kept = self.around.journal.is_some() || self.around.on_lost.is_some();
                own = OwnCall::of(id, &tool, &args, is_kept);
                let made = own.clone();
                self.home.spawn(async move {
                    let _slot = slots.acquire().await;
                    made.iter().for_each(|made| made.begins(ptc_host::now_ms()));
                    let called = call(id, &tool, args, timeout_ms, &home).await;
                    if called.is_ok() {
                        made.iter().for_each(|made| made.has_answer());
                    }
                    reply(called.map_or_else(Mail::NoResult, Mail::Answer));
                })
            }
        };
        self.under_way.insert(id, UnderWay { handle: handle.abort_handle(), of, own });
    }
}
