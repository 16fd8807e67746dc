//! The async driver: asks models and tools for what runs need, as many at once as they like.
//!
//! A run holds a machine that never crosses threads, so runs live on a few threads of their own, pinned;
//! models and tools run on the caller's runtime, wherever that likes.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_agent::model::{Chunk, Llm, ModelError, ModelErrorKind, Reply, Request};
use ptc_agent::typed::Call;
use ptc_agent::{
    Agent, AgentRun, Ask, AskKind, Body, Event, Fail, Function, Need, Reason, RunOptions, Step, Supply,
};
use ptc_host::now_ms;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, LocalPoolHandle};

/// Takes events as they happen.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;

/// Takes the bytes of a run at every stop; an error ends the run.
pub type Checkpoint = Arc<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// What a driver has beside the run.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Takes events.
    pub subscriber: Option<Subscriber>,
    /// Takes the run as bytes at every stop.
    pub checkpoint: Option<Checkpoint>,
    /// Ends the run.
    pub cancel: Option<CancellationToken>,
}

/// The threads that runs live on.
fn pool() -> &'static LocalPoolHandle {
    static POOL: OnceLock<LocalPoolHandle> = OnceLock::new();
    POOL.get_or_init(|| LocalPoolHandle::new(std::thread::available_parallelism().map_or(2, Into::into)))
}

/// How a run begins.
pub(crate) enum Begin {
    /// At its beginning.
    New,
    /// Where it was saved.
    Saved(Vec<u8>),
}

/// Drives a run to its end. Must be called on a tokio runtime.
pub(crate) async fn drive(
    agent: Arc<Agent>,
    options: RunOptions,
    begin: Begin,
    around: Surroundings,
) -> (Step, Option<ptc_agent::Carried>) {
    let home = Handle::current();
    let guard = CancellationToken::new();
    // Whoever drops the future drops the run.
    let dropped = guard.clone().drop_guard();
    let pinned = pool().spawn_pinned(move || async move {
        let run = match begin {
            Begin::New => AgentRun::new(agent.clone(), options, now()),
            Begin::Saved(bytes) => match AgentRun::load(agent.clone(), options, &bytes, now()) {
                Ok(run) => run,
                Err(error) => {
                    return (
                        Step::failed(Fail::new(Reason::custom("resume_error"), error.to_string())),
                        None,
                    );
                }
            },
        };
        Driver::new(run, &agent, home, around, guard).run().await
    });
    let ended = pinned.await;
    drop(dropped.disarm());
    ended.unwrap_or_else(|error| {
        (
            Step::failed(Fail::new(
                Reason::custom("internal_error"),
                format!("the run ended badly: {error}"),
            )),
            None,
        )
    })
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
    under_way: BTreeMap<u64, AbortHandle>,
    /// The run as it was kept last.
    kept: Option<Vec<u8>>,
    sender: mpsc::UnboundedSender<(u64, Supply)>,
    mail: mpsc::UnboundedReceiver<(u64, Supply)>,
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
        Driver { run, home, around, dropped, slots, under_way: BTreeMap::new(), kept: None, sender, mail }
    }

    async fn run(mut self) -> (Step, Option<ptc_agent::Carried>) {
        // A run that was saved may wait for answers that never came.
        for ask in self.run.outstanding() {
            self.start(ask);
        }
        loop {
            let need = self.run.next(now());
            self.tell();
            self.drop_unwanted();
            match need {
                Need::Done(step) => {
                    self.abort_all();
                    return (*step, self.run.take_carried());
                }
                Need::Busy => {
                    tokio::task::yield_now().await;
                    self.look_around();
                }
                Need::Asks(asks) => {
                    if let Some(lost) = self.keep() {
                        return (lost, None);
                    }
                    asks.into_iter().for_each(|ask| self.start(ask));
                }
                Need::Wait { until } => {
                    // Answers that came are kept too, so that nothing answered is asked again.
                    if let Some(lost) = self.keep() {
                        return (lost, None);
                    }
                    self.wait(until).await;
                }
            }
        }
    }

    fn tell(&mut self) {
        let events = self.run.take_events();
        if let Some(subscriber) = &self.around.subscriber {
            events.iter().for_each(|event| subscriber(event));
        }
    }

    /// Hands the run to whoever keeps it, if there is something new; a failure ends the run.
    fn keep(&mut self) -> Option<Step> {
        let checkpoint = self.around.checkpoint.as_ref()?;
        let saved = self.run.save().map_err(|error| error.to_string());
        let failed = saved.and_then(|bytes| {
            let new = self.kept.as_deref() != Some(bytes.as_slice());
            let result = if new { checkpoint(&bytes) } else { Ok(()) };
            self.kept = Some(bytes);
            result
        });
        let message = failed.err()?;
        self.abort_all();
        Some(Step::failed(Fail::new(Reason::custom("checkpoint_error"), message)))
    }

    /// Takes what came while a program ran.
    fn look_around(&mut self) {
        let cancelled = self.around.cancel.as_ref().is_some_and(CancellationToken::is_cancelled);
        if cancelled || self.dropped.is_cancelled() {
            self.run.cancel(now());
        }
        while let Ok((id, supply)) = self.mail.try_recv() {
            self.take(id, supply);
        }
    }

    /// Stops what nobody waits for any more.
    fn drop_unwanted(&mut self) {
        let run = &self.run;
        self.under_way.retain(|id, handle| {
            let wanted = run.wants(*id);
            if !wanted {
                handle.abort();
            }
            wanted
        });
    }

    fn abort_all(&mut self) {
        self.under_way.values().for_each(AbortHandle::abort);
        self.under_way.clear();
    }

    /// Waits for an answer, for a limit of time, or for the end.
    async fn wait(&mut self, until: Option<u64>) {
        let cancel = self.around.cancel.clone().unwrap_or_default();
        let pause = Duration::from_millis(
            until.map_or(u64::MAX / 4_000_000, |until| until.saturating_sub(now()).max(1)),
        );
        tokio::select! {
            biased;
            () = self.dropped.cancelled() => self.run.cancel(now()),
            () = cancel.cancelled() => self.run.cancel(now()),
            Some((id, supply)) = self.mail.recv() => {
                self.take(id, supply);
                while let Ok((id, supply)) = self.mail.try_recv() {
                    self.take(id, supply);
                }
            }
            () = tokio::time::sleep(pause) => {}
        }
    }

    fn take(&mut self, id: u64, supply: Supply) {
        self.under_way.remove(&id);
        self.run.at(now());
        self.run.supply(id, supply);
    }

    /// Starts what is asked for, on the caller's runtime.
    fn start(&mut self, ask: Ask) {
        let (id, sender) = (ask.id, self.sender.clone());
        // Nobody reads answers after the end.
        let post = move |supply| drop(sender.send((id, supply)));
        let handle = match ask.kind {
            AskKind::Model { llm, request, after_ms } => {
                let home = self.home.clone();
                let chunk = request.stream.then(|| self.run.on_chunk()).flatten();
                self.home.spawn(async move {
                    if after_ms > 0 {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                    }
                    post(Supply::Model(streamed(llm, request, chunk, &home).await));
                })
            }
            AskKind::Tool { tool, args, timeout_ms } => {
                let (home, slots) = (self.home.clone(), self.slots.clone());
                self.home.spawn(async move {
                    let _slot = slots.acquire().await;
                    post(Supply::Tool(call(&tool.body, args, timeout_ms, &home).await));
                })
            }
        };
        self.under_way.insert(id, handle.abort_handle());
    }
}

/// A model's reply, with its text handed on in pieces; from a model that does not stream, in one.
async fn streamed(
    llm: Llm,
    request: Arc<Request>,
    chunk: Option<Chunk>,
    home: &Handle,
) -> Result<Reply, ModelError> {
    let Some(chunk) = chunk else { return reply(llm, request, None, home).await };
    let came = Arc::new(AtomicBool::new(false));
    let (seen, sink) = (came.clone(), chunk.clone());
    let watched: Chunk = Arc::new(move |piece: &str| {
        seen.store(true, Ordering::Relaxed);
        // Whoever listens cannot end the run.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| sink(piece)));
    });
    let reply = reply(llm, request, Some(watched), home).await?;
    if let (false, Some(text)) = (came.load(Ordering::Relaxed), &reply.content) {
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| chunk(text)));
    }
    Ok(reply)
}

/// A model's reply. What panics becomes an error.
async fn reply(
    llm: Llm,
    request: Arc<Request>,
    chunk: Option<Chunk>,
    home: &Handle,
) -> Result<Reply, ModelError> {
    let panicked = |_| ModelError::from("the model's function panicked");
    match llm {
        Llm::Model(model) => {
            // Whoever drops this drops the request.
            AbortOnDropHandle::new(home.spawn(model.reply(request, chunk))).await.map_err(panicked)?
        }
        Llm::Function(function) => home.spawn_blocking(move || function(&request)).await.map_err(panicked)?,
        Llm::Named(name) => {
            Err(ModelError::new(ModelErrorKind::ConfigError, format!("`{name}` is only a name")))
        }
    }
}

/// A tool's result. What panics or takes too long becomes an error.
async fn call(body: &Body, args: Json, timeout_ms: Option<u64>, home: &Handle) -> Result<Json, String> {
    let Body::Function(function) = body else { return Err("this tool has no function".to_owned()) };
    let task = match function.clone() {
        Function::Sync(function) => home.spawn_blocking(move || {
            std::panic::catch_unwind(AssertUnwindSafe(|| function(args)))
                .unwrap_or_else(|_| Err(PANICKED.to_owned()))
        }),
        Function::Later(function) => home.spawn(async move { function(args).await }),
        // A typed function may block before it answers.
        Function::Typed(call) => home.spawn(async move {
            match tokio::task::spawn_blocking(move || call(args)).await {
                Ok(Call::Now(result)) => result,
                Ok(Call::Later(pending)) => pending.await,
                Err(_) => Err(PANICKED.to_owned()),
            }
        }),
    };
    // Whoever drops this drops the call, and so does the limit of time.
    let task = AbortOnDropHandle::new(task);
    let ended = match timeout_ms {
        None => task.await,
        Some(limit) => match tokio::time::timeout(Duration::from_millis(limit), task).await {
            Ok(ended) => ended,
            Err(_) => return Err(format!("took longer than {limit} ms")),
        },
    };
    ended.unwrap_or_else(|_| Err(PANICKED.to_owned()))
}

const PANICKED: &str = "the tool's function panicked";
