//! One run of a program: how much it may call, what it called, and whether it is over. All calls of a run, also
//! those that run side by side, share one count.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ptc_host::{Program, Tool, Tools};
use ptc_lisp::analyze::{Manifest, Servers};
use ptc_lisp::machine::{Answer, Machine, Owner};
use ptc_lisp::{Error, ErrorKind};
use serde_json::Value as Json;

use super::Runtime;
use super::journal::{EffectJournal, RunJournal};
use super::ledger::{Account, Book, UnderWay};
use crate::call::CallRequest;
use crate::catalog::Catalog;
use crate::config::MAX_RESPONSE_BYTES;
use crate::effects::{self, PlannedUse, Policy, Refusal};
use crate::model::{Fault, Reason};

/// How much one run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The most calls of upstreams.
    pub calls: usize,
    /// The most questions about upstreams, which are counted apart.
    pub catalog_ops: usize,
    /// How long one call may take.
    pub call_timeout: Duration,
    /// How long a run may wait for servers that are still being started, all in all and never longer than for one call; as
    /// long as starting them may take if it is not said.
    pub start_wait: Option<Duration>,
    /// How large an answer may be before it is decoded; the smaller of this and the upstream's own counts.
    pub max_response_bytes: usize,
    /// How many values an answer may have before it is decoded, from [`Caps::values_within`] the memory of a program.
    pub max_response_values: usize,
    /// How large the answer to a question may be.
    pub max_catalog_bytes: usize,
    /// How many calls may be under way at once.
    pub concurrency: usize,
}

impl Caps {
    /// How many values an answer may have for a program with so much memory.
    pub fn values_within(memory_bytes: usize) -> usize {
        ptc_host::parts::values_within(memory_bytes)
    }
}

impl Default for Caps {
    fn default() -> Self {
        Caps {
            calls: 50,
            catalog_ops: 25,
            call_timeout: Duration::from_millis(5_000),
            start_wait: None,
            max_response_bytes: MAX_RESPONSE_BYTES,
            max_response_values: Caps::values_within(64 << 20),
            max_catalog_bytes: 256 * 1024,
            concurrency: 50,
        }
    }
}

/// One run. Clones are the same run.
#[derive(Clone)]
pub struct RunContext(pub(super) Arc<Run>);

pub(super) struct Run {
    pub runtime: Arc<Runtime>,
    pub caps: Caps,
    pub policy: Policy,
    /// For whom it runs: what its results look like is told to nobody else.
    pub owner: Owner,
    calls: AtomicUsize,
    catalog_ops: AtomicUsize,
    closed: AtomicBool,
    book: Mutex<Book>,
    /// When it first waited for a server that was still being started.
    waiting_since: OnceLock<Instant>,
    /// What programs may name, once one has asked.
    pub servers: OnceLock<Arc<Servers>>,
    /// Where calls that may change the world are written down.
    pub journal: Option<RunJournal>,
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RunContext({} calls of {})", self.calls_made(), self.0.caps.calls)
    }
}

/// The name under which programs call upstreams.
pub(super) const CALL: &str = "call";

impl RunContext {
    pub(super) fn new(runtime: Arc<Runtime>, caps: Caps, policy: Policy) -> RunContext {
        RunContext::with(runtime, caps, policy, None, None)
    }

    fn with(
        runtime: Arc<Runtime>,
        caps: Caps,
        policy: Policy,
        owner: Owner,
        journal: Option<RunJournal>,
    ) -> RunContext {
        RunContext(Arc::new(Run {
            runtime,
            caps,
            policy,
            owner,
            calls: AtomicUsize::new(0),
            catalog_ops: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
            book: Mutex::default(),
            waiting_since: OnceLock::new(),
            servers: OnceLock::new(),
            journal,
        }))
    }

    /// The same run from its beginning, with calls that may change the world written down: each is made at most once
    /// in its scope, which names what may be run again, such as a request, a ticket or a plan.
    #[must_use]
    pub fn journalled(self, scope: impl Into<Arc<str>>, journal: Arc<dyn EffectJournal>) -> RunContext {
        let (run, kept) = (&self.0, RunJournal::new(scope.into(), journal));
        let owner = run.owner.clone();
        RunContext::with(run.runtime.clone(), run.caps, run.policy.clone(), owner, Some(kept))
    }

    /// The same run from its beginning, for somebody. What `doc` and `meta` tell of results is what calls of the same
    /// owner showed, in this process; runs that name nobody are all of one owner, and what they showed may be kept in a
    /// file.
    #[must_use]
    pub fn owned_by(self, owner: impl Into<Arc<str>>) -> RunContext {
        let run = &self.0;
        let (policy, journal) = (run.policy.clone(), run.journal.as_ref().map(RunJournal::afresh));
        RunContext::with(run.runtime.clone(), run.caps, policy, Some(owner.into()), journal)
    }

    /// For whom it runs.
    pub fn owner(&self) -> &Owner {
        &self.0.owner
    }

    /// Counts calls, `{server, tool, args}`, that the program made before it was stopped to go on here: an equal call
    /// that is still to come is another one.
    pub fn earlier_calls<'c>(&self, calls: impl IntoIterator<Item = &'c Json>) {
        let Some(journal) = &self.0.journal else { return };
        let requests =
            calls.into_iter().filter_map(|call| CallRequest::parse(call.clone(), &String::new).ok());
        requests.for_each(|request| drop(journal.identity(&request)));
    }

    /// The tools that let programs call upstreams and ask about them.
    pub fn tools(&self) -> Tools {
        self.grant(Tools::new())
    }

    /// Other tools, and those of [`RunContext::tools`].
    pub fn grant(&self, tools: Tools) -> Tools {
        let (call, discover) = (self.0.clone(), self.0.clone());
        let tools = match self.judge() {
            Some(judge) => tools.judge(judge),
            None => tools,
        };
        tools
            .with(CALL, Tool::future(move |args| call.call(args)))
            .discovery(Tool::future(move |question| discover.discover(question)))
            .upstreams(Arc::new(self.clone()))
            .concurrency(self.0.caps.concurrency)
    }

    /// Answers one call, `{server, tool, args}`, for drivers that have tools of their own kind. One that somebody
    /// must approve is refused: such drivers ask [`RunContext::judge`] first.
    pub async fn call(&self, args: Json) -> Answer {
        if self.0.asked(&args).is_some() && !self.0.is_known_later(&args).await {
            let message = "somebody must approve this call, and nobody can be asked here";
            return self.0.refused(&args, Fault::new(Reason::ApprovalRequired, message));
        }
        self.call_approved(args).await
    }

    /// Answers one question about what there is, for such drivers.
    pub async fn discover(&self, question: Json) -> Answer {
        self.0.discover(question).await
    }

    /// Lets a program use upstreams beside its own tools. One that may do more than the policy allows fails before
    /// anything of it runs, and so does one whose prelude requires what is not known to be there: servers behind it are
    /// listed by [`RunContext::settle`].
    pub fn attach(&self, mut program: Program) -> Program {
        program.tools = self.grant(program.tools);
        if !self.0.policy.read_only {
            return program;
        }
        let (own, before, source) = (self.clone(), program.hooks.prepare.take(), program.source.clone());
        program.prepare(move |machine| {
            before.as_ref().map_or(Ok(()), |prepare| prepare(machine))?;
            own.admit_source(machine, &source)
        })
    }

    /// Checks what a program in this machine may call, before it is loaded.
    pub fn admit_source(&self, machine: &mut Machine, source: &str) -> Result<(), Error> {
        // A program that cannot be read is told so when it is loaded.
        let Ok(manifest) = machine.check(source) else { return Ok(()) };
        let admitted = self.admit(&manifest);
        admitted.map(drop).map_err(|refusal| Error::new(ErrorKind::Runtime, refusal.to_string()))
    }

    /// Looks at all that a program may call before it runs; refuses it if the policy forbids any of it.
    pub fn admit(&self, manifest: &Manifest) -> Result<Vec<PlannedUse>, Refusal> {
        effects::enforce(manifest, &self.catalog(), &self.0.policy)
    }

    /// Lists the tools that a program names, so that what they do is known when it is admitted. What cannot be
    /// listed counts as unknown.
    pub async fn look_up(&self, manifest: &Manifest) {
        let planned = effects::plan(manifest, &self.catalog(), &self.0.policy);
        for server in effects::unlisted(&planned) {
            if let Err(fault) = self.0.listed(&server).await {
                tracing::warn!(upstream = %server, "cannot be listed: {fault}");
            }
        }
    }

    /// Lists the tools of servers whose names are written in a program, so that a call of what they do not have is told before
    /// anything runs. What cannot be listed is told where it is called.
    pub async fn look_up_named(&self, manifest: &Manifest) {
        let planned = effects::plan(manifest, &self.catalog(), &self.0.policy);
        let servers: Vec<String> = effects::named_unlisted(&planned).into_iter().collect();
        self.list(&servers).await;
    }

    /// Lists the tools of these servers, side by side, for as long as a call of them may wait.
    pub async fn list(&self, servers: &[String]) {
        self.0.list(&servers.iter().map(String::as_str).collect::<Vec<_>>()).await;
    }

    pub(super) fn run(&self) -> &Run {
        &self.0
    }

    /// The catalog as this run may see it.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.0.view()
    }

    /// How many calls were made so far.
    pub fn calls_made(&self) -> usize {
        self.0.calls.load(Ordering::Relaxed).min(self.0.caps.calls)
    }

    /// How far its calls are, with secrets covered; nothing before the first one.
    pub fn under_way(&self) -> Option<UnderWay> {
        let UnderWay { call, done, open } = self.0.book().under_way()?;
        Some(UnderWay { call: self.0.runtime.redactor().redact_string(call), done, open })
    }

    /// Ends the run: later calls fail with `run_context_closed`. Gives the account, once.
    pub fn finish(&self) -> Account {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.runtime.save_shapes_sometimes();
        std::mem::take(&mut *self.0.book()).finish()
    }
}

impl Run {
    /// How long it may still wait for servers that are being started.
    pub fn start_wait(&self) -> Duration {
        let Some(most) = self.caps.start_wait else { return Duration::MAX };
        most.saturating_sub(self.waiting_since.get_or_init(Instant::now).elapsed())
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    pub fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn view(&self) -> Arc<Catalog> {
        let needed = |server: &str| {
            self.runtime.upstream(server).map(|upstream| upstream.credentials()).unwrap_or_default()
        };
        self.policy.grants.view(&self.runtime.catalog(), &needed)
    }

    /// Takes one call of those that are left.
    pub fn take_call(&self) -> bool {
        take(&self.calls, self.caps.calls)
    }

    /// Whether no call is left.
    pub fn is_spent(&self) -> bool {
        self.calls.load(Ordering::SeqCst) >= self.caps.calls
    }

    /// Counts calls that were made before.
    pub fn count(&self, calls: usize) {
        self.calls.fetch_add(calls, Ordering::SeqCst);
    }

    /// Takes one question of those that are left.
    pub fn take_catalog_op(&self) -> bool {
        take(&self.catalog_ops, self.caps.catalog_ops)
    }
}

fn take(counter: &AtomicUsize, most: usize) -> bool {
    let next = |used: usize| (used < most).then_some(used + 1);
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok()
}
