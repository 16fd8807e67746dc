//! The engine: everything that the server does, without any transport.
//!
//! Transports give it a [`Caller`], the name of a tool and its arguments, and get a [`Reply`]. It runs programs
//! on a pool, shapes answers by profile, and keeps what outlives a call.
//!
//! Choices where clients may expect something else: `lisp_eval` stays available beside sessions, inputs are maps with
//! keyword keys, running out of fuel is reported as `timeout`, and printed lines are part of the text of the structured
//! profile.

mod again;
mod announce;
mod api;
mod args;
mod audit;
mod backing;
mod cards;
mod check;
mod configure;
pub(crate) mod context;
mod counts;
mod debug;
mod depth;
mod envelope;
mod eval;
mod evaluate;
mod evidence;
pub mod gate;
pub mod host;
pub mod lease;
mod once;
mod payload;
pub(crate) mod pulse;
mod reason;
mod receipt;
mod recordings;
mod resources;
pub mod roles;
mod schema;
mod schemas;
mod sessions;
pub mod settings;
mod task;
#[cfg(test)]
mod tests;
mod text;
mod tickets;
mod tools;
mod trace;
pub mod turnlog;
mod upstreams;
mod watch;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use ptc_agent::model::Llm;
use ptc_host::{Pool, PoolConfig, Program};
use ptc_lisp::prelude::Prelude;
use ptc_store::Store;
use ptc_store::preludes::Preludes;
use ptc_store::shelf::Shelf;
use ptc_upstream::catalog::Catalog;
use ptc_upstream::{EffectJournal, Grants, Redactor, Runtime};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::api::{
    Annotations, Approval, Args, CallCount, CallError, Caller, Content, DecisionCount, Progress, QueueState,
    Reply, Resource, ResourceError, ResourceLink, Signals, Snapshot, ToolSpec, Transport,
};
use self::counts::Counts;
use self::debug::{CallFacts, Ring};
use self::gate::{Gate, Permit};
use self::host::Host;
use self::once::Once;
use self::payload::Payload;
use self::pulse::{Health, Pulse};
pub use self::reason::Reason;
use self::recordings::Recordings;
use self::resources::Resources;
pub use self::sessions::has_definitions;
use self::sessions::{Keeper, Sessions};
pub use self::settings::{Payloads, Profile, Settings};
pub use self::task::PlayedTask;
pub use self::tickets::{
    By, Choice, Decided, Keys, LackingKeys, Which, WrongAnswer, decisions_in_short, rejected_by_operator,
    wrong_seal, wrong_ticket,
};
use self::tickets::{Desk, Made, Place};
use self::tools::{Surface, Tool};
use self::trace::Traces;
use self::turnlog::TurnLog;
use self::upstreams::{Calls, GivenUpCalls, Upstreams};
pub use self::watch::StoreCounts;
use self::watch::Watched;
use crate::effects::StoreJournal;
use crate::options::{ApprovalBy, Options};

/// What an engine is made of besides its settings.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// Upstreams that programs may call.
    pub runtime: Option<Arc<Runtime>>,
    /// The prelude of all programs, compiled.
    pub prelude: Option<Arc<Prelude>>,
    /// Versions of preludes that sessions may ask for.
    pub preludes: Option<Preludes>,
    /// What keeps sessions, and programs that wait for approval, beyond this process.
    pub store: Option<Arc<Store>>,
    /// The model that plans for `lisp_task`.
    pub planner: Option<Llm>,
    /// Where calls that may change something are written down; nowhere unless told.
    pub effects: Option<StoreJournal>,
    /// What seals programs that wait for approval; a key that ends with the process unless told.
    pub ticket_keys: Option<Arc<Keys>>,
    /// What covers secrets in everything that leaves; the one of the runtime unless told.
    pub redactor: Option<Redactor>,
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting is wrong or does not fit the others.
    #[error("{0}")]
    Settings(String),
}

/// The server without its transports. Shared by all connections.
#[derive(Debug)]
pub struct Engine {
    settings: Settings,
    pool: Pool,
    gate: Gate,
    resources: Resources,
    counts: Counts,
    redactor: Redactor,
    upstreams: Option<Upstreams>,
    sessions: Option<Sessions>,
    prelude: Option<Arc<Prelude>>,
    /// What sessions have that choose nothing: the prelude of all programs, and the server's own namespaces.
    session_prelude: Option<Arc<Prelude>>,
    /// The same with the log of turns, or without it, for sessions that began on a server where that was otherwise.
    other_prelude: OnceLock<Option<Arc<Prelude>>>,
    host: Host,
    /// The last turns, for programs that look at them.
    turns: Option<Arc<TurnLog>>,
    warnings: Vec<String>,
    preludes: Option<Preludes>,
    pulse: Option<Pulse<()>>,
    once: Option<Once>,
    planner: Option<Llm>,
    capabilities: String,
    ring: Option<Ring>,
    desk: Option<Desk>,
    watched: Option<Watched>,
    /// Where people decide about calls that wait.
    page: OnceLock<Place>,
    /// For work that goes on without whoever asked for it.
    own: Weak<Engine>,
    traces: Traces,
    recordings: Recordings,
    /// How often descriptions of tools changed for clients without a role.
    described: tokio::sync::watch::Sender<u64>,
    upstream_calls: AtomicU64,
    upstream_errors: AtomicU64,
    draining: AtomicBool,
    stop: CancellationToken,
    /// Calls and decisions that have not ended. Whatever they hold in a store is given back when they do.
    under_way: TaskTracker,
}

/// What a handler made of a call.
struct Answered {
    reply: Reply,
    reason: Option<String>,
    facts: CallFacts,
    /// Whether it is kept already, together with what the program left behind.
    kept: bool,
    /// Whether it is the reply of a request under a key although no program ran for it: none ever will.
    is_last: bool,
}

impl Answered {
    fn new(reply: Reply, reason: Option<&str>) -> Self {
        let (reason, facts) = (reason.map(str::to_owned), CallFacts::default());
        Answered { reply, reason, facts, kept: false, is_last: false }
    }

    /// Whether it refuses the call: no program was run to its end for it.
    fn is_refusal(&self) -> bool {
        self.facts.program.is_none() && self.reason.is_some()
    }
}

type Handled = Result<Answered, CallError>;

/// How often sessions whose time is over are looked for.
const SWEEP: Duration = Duration::from_secs(5);
/// How long the end of the server waits for calls to end and for what they write. By then no lease holds any more.
const LAST_WORDS: Duration = Duration::from_secs(10);

impl Engine {
    /// Starts an engine as the options say.
    pub async fn start(options: &Options, parts: Parts) -> Result<Arc<Engine>, StartError> {
        let settings = Settings::of(options).map_err(StartError::Settings)?;
        let options = options.clone();
        let parts = sessions::apart(move || Ok(parts.completed(&options))).await;
        let parts = parts.map_err(|error| StartError::Settings(error.message))?;
        Engine::with(settings, parts.map_err(StartError::Settings)?).await
    }

    /// Starts an engine with these settings.
    pub async fn with(settings: Settings, parts: Parts) -> Result<Arc<Engine>, StartError> {
        let upstreams = parts.runtime.map(|runtime| Upstreams::new(runtime, &settings));
        let mut warnings = Vec::new();
        if let Some(prelude) = &parts.prelude {
            let missing = backing::backing(prelude, upstreams.as_ref()).map_err(StartError::Settings)?;
            // What has not been asked yet is no mistake of anybody; see `Engine::backed`.
            let asked = upstreams.as_ref().is_none_or(|upstreams| upstreams.unasked().is_empty());
            warnings.extend(missing.filter(|_| asked));
            let catalog = upstreams.as_ref().map(|upstreams| upstreams.runtime.catalog());
            warnings.extend(catalog.iter().flat_map(|catalog| catalog.hidden_by(prelude)));
        }
        let turns = settings.turn_log_dir.is_some().then(Arc::<TurnLog>::default);
        let host = Host::of(&settings, turns.as_ref()).map_err(StartError::Settings)?;
        if let Some(policy) = settings.sessions.as_ref().and_then(|sessions| sessions.roles.as_ref()) {
            let catalog = upstreams.as_ref().map(|upstreams| upstreams.runtime.catalog());
            let known = roles::Known {
                catalog: catalog.as_deref(),
                credentials: upstreams.as_ref().map_or(&[], |upstreams| upstreams.runtime.credentials()),
                tools: &host::all_tools(),
            };
            let wrong = |error| StartError::Settings(format!("--session-roles: {error}"));
            policy.check(&known).map_err(wrong)?;
            let (granting, store) = (policy.clone(), parts.preludes.clone());
            let checked = sessions::apart(move || Ok(granting.check_preludes(store.as_ref()))).await;
            checked.map_err(|error| StartError::Settings(error.message))?.map_err(wrong)?;
            warnings.extend(evidence::unreachable(&host, policy));
        }
        let (own, prelude) = (host.clone(), parts.prelude.clone());
        let composed = sessions::apart(move || Ok(own.with(prelude.as_ref()))).await;
        let composed = composed.map_err(|error| StartError::Settings(error.message))?;
        let session_prelude = composed.map_err(StartError::Settings)?;
        let capabilities = match (&upstreams, &settings.task) {
            (Some(upstreams), Some(task)) => task
                .capabilities
                .clone()
                .unwrap_or_else(|| task::capabilities(&upstreams.runtime.catalog(), task.capabilities_bytes)),
            _ => String::new(),
        };
        let known = upstreams.as_ref().map(|upstreams| upstreams.runtime.redactor().clone());
        let redactor = parts.redactor.or(known).unwrap_or_else(Redactor::none);
        let asks = upstreams.as_ref().is_some_and(|upstreams| upstreams.runtime.asks());
        let desk = match asks {
            true => Some(
                Desk::open(parts.store.clone(), parts.ticket_keys, settings.ticket_ttl)
                    .map_err(StartError::Settings)?,
            ),
            false => None,
        };
        let shelf = parts.store.clone().map(|store| Shelf::new(store, settings.resource_bytes));
        let pulse = parts.store.clone().map(|store| Pulse::of(store, Arc::<Health>::default()));
        let traces = Traces::open(&settings, &redactor).map_err(StartError::Settings)?;
        let recordings = Recordings::open(&settings, &redactor).map_err(StartError::Settings)?;
        let engine = Arc::new_cyclic(|own| Engine {
            own: own.clone(),
            desk,
            watched: parts.store.clone().map(watch::watched),
            page: settings
                .approval_page
                .clone()
                .map(|page| Place { page, how: "" }.into())
                .unwrap_or_default(),
            gate: Gate::new(gate::GateBounds {
                running: settings.max_concurrent_calls,
                waiting: settings.max_waiting_calls,
                queued: settings.max_queued_calls,
                memory: settings.programs_memory_bytes,
                each: settings.program_memory_bytes,
            }),
            resources: Resources::new(settings.resource_bytes, settings.resources_per_owner, shelf),
            pool: Pool::new(PoolConfig::default()),
            counts: Counts::default(),
            traces,
            recordings,
            redactor,
            sessions: settings
                .sessions
                .clone()
                .map(|sessions| Sessions::new(sessions, parts.store.map(Keeper::new))),
            prelude: parts.prelude,
            session_prelude,
            other_prelude: OnceLock::new(),
            host,
            turns,
            warnings,
            preludes: parts.preludes,
            pulse,
            once: parts.effects.map(Once::new),
            planner: parts.planner,
            capabilities,
            ring: settings.debug.map(|debug| Ring::new(debug.ring_size)),
            upstreams,
            described: tokio::sync::watch::Sender::new(0),
            upstream_calls: AtomicU64::new(0),
            upstream_errors: AtomicU64::new(0),
            draining: AtomicBool::new(false),
            stop: CancellationToken::new(),
            under_way: TaskTracker::new(),
            settings,
        });
        announce::begin(&engine);
        if engine.sessions.is_some() || engine.desk.is_some() || engine.pulse.is_some() {
            tokio::spawn(sweep(Arc::downgrade(&engine), engine.stop.clone()));
        }
        if let Some(desk) = engine.desk.clone() {
            tokio::spawn(async move { desk.tell_unopened().await });
        }
        if engine.once.is_some() {
            tokio::spawn(sweep_journal(Arc::downgrade(&engine), engine.stop.clone()));
        }
        Ok(engine)
    }

    /// Starts the upstreams that were held back for the first answers to the client.
    pub(crate) fn start_upstreams(&self) {
        if let Some(upstreams) = &self.upstreams {
            upstreams.runtime.start_upstreams();
        }
    }

    /// What upstreams offer to this caller now: to a role credential, what one of its roles grants. Nothing if there are no
    /// upstreams, or none that it may see.
    fn catalog(&self, caller: &Caller) -> Option<Arc<Catalog>> {
        let upstreams = self.upstreams.as_ref()?;
        let Some(roles) = self.roles(caller) else { return Some(upstreams.runtime.catalog()) };
        let seen = roles.iter().map(|role| upstreams.offers(role.grants()).catalog());
        let catalog = Catalog::joined(seen);
        (!catalog.servers().is_empty()).then(|| Arc::new(catalog))
    }

    /// The roles that a role credential may take; nothing if the caller has no such credential.
    fn roles(&self, caller: &Caller) -> Option<Vec<&roles::Role>> {
        let names = caller.roles.as_ref()?;
        let policy = self.settings.sessions.as_ref().and_then(|sessions| sessions.roles.as_ref());
        Some(names.iter().filter_map(|name| policy?.roles.get(name)).collect())
    }

    /// What a client is told about the server as a whole: which servers are behind it, as far as it may see them.
    pub fn instructions(&self, caller: &Caller) -> Option<String> {
        let text = tools::instructions(&self.settings, &*self.catalog(caller)?)?;
        Some(tools::fitted(self.redactor.redact_string(text)))
    }

    /// The tools that this caller may use.
    pub fn tools(&self, caller: &Caller) -> Vec<ToolSpec> {
        let (catalog, inventory) = (self.catalog(caller), self.inventory(caller));
        let surface = Surface {
            settings: &self.settings,
            capabilities: &self.capabilities,
            inventory: inventory.as_deref(),
            approves: self.desk.is_some().then_some(self.settings.approval_by),
            catalog: catalog.as_deref(),
        };
        let covered = |tool| {
            let spec = surface.spec(tool);
            let covered = self.redactor.redact_string(spec.description);
            let runs = matches!(tool, Tool::Eval | Tool::SessionEval);
            ToolSpec { description: if runs { tools::fitted(covered) } else { covered }, ..spec }
        };
        self.offered(caller).map(covered).collect()
    }

    /// Calls a tool. Whatever goes wrong with the call is an answer, except that nobody wants it any more.
    pub async fn call(
        &self,
        caller: &Caller,
        tool: &str,
        args: Args,
        mut signals: Signals,
    ) -> Result<Reply, CallError> {
        let Some(known) = Tool::named(tool).filter(|known| self.listed(caller, *known)) else {
            self.counts.add("unknown", Some(Reason::UNKNOWN_TOOL.name));
            return Ok(self.unknown_tool(caller, tool));
        };
        signals.span = self.traces.begin(known.name(), caller, &args, &signals);
        if let Some(engine) = self.going_on(known, &signals) {
            let (caller, gone) = (caller.clone(), signals.gone.clone());
            let carried_out = async move {
                let handling = engine.handle_once(&caller, known, args, &signals);
                engine.watched(&caller, known.name(), &signals, handling).await
            };
            return self.to_its_end(carried_out, gone).await;
        }
        let handling = self.handle_once(caller, known, args, &signals);
        self.watched(caller, known.name(), &signals, handling).await
    }

    /// Decides about calls that wait, for transports that have asked in their own way.
    pub async fn decide(
        &self,
        caller: &Caller,
        decided: Decided,
        mut signals: Signals,
    ) -> Result<Reply, CallError> {
        let name = decided.by.counted();
        signals.span = self.traces.begin(name, caller, &Args::new(), &signals);
        if let Some(engine) = self.going_on(Tool::Approve, &signals) {
            let (caller, gone) = (caller.clone(), signals.gone.clone());
            let carried_out = async move {
                let handling = engine.decide_once(&caller, decided, &signals);
                engine.watched(&caller, name, &signals, handling).await
            };
            return self.to_its_end(carried_out, gone).await;
        }
        let handling = self.decided_in_form(caller, decided, &signals);
        self.watched(caller, name, &signals, handling).await
    }

    /// Waits for a call that is handled; counts, traces and remembers it.
    async fn watched(
        &self,
        caller: &Caller,
        name: &'static str,
        signals: &Signals,
        handling: impl Future<Output = Handled>,
    ) -> Result<Reply, CallError> {
        let _under_way = self.under_way.token();
        let started = Instant::now();
        let handled = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(CallError::Cancelled),
            handled = handling => handled,
        };
        let (reply, reason, facts) = match handled {
            Ok(answered) => (Ok(answered.reply), answered.reason, answered.facts),
            Err(error) => (Err(error), Some(Reason::CANCELLED.name.to_owned()), CallFacts::default()),
        };
        self.counts.add(name, reason.as_deref());
        self.count_upstream(&facts);
        if let Some(span) = &signals.span {
            Traces::end(span, reply.as_ref().ok(), reason.as_deref(), &facts);
        }
        self.record(caller, name, reason.as_deref(), facts, started, signals);
        reply
    }

    async fn handle(&self, caller: &Caller, tool: Tool, args: Args, signals: &Signals) -> Handled {
        if self.draining.load(Ordering::Acquire) {
            return Ok(fixed(
                Reason::SHUTTING_DOWN,
                "server is draining after shutdown; new tool calls are rejected",
                "Start a new server or connect to another one.",
            ));
        }
        if signals.cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        if !is_for(caller, tool) {
            return Ok(fixed(
                Reason::ROLE_DENIED,
                &format!("{} is not available to role-token credentials", tool.name()),
                "Start a session with one of your roles instead.",
            ));
        }
        // A future is as large as the largest of these, and is moved through many layers: all but the one that is
        // wanted most are kept apart.
        match (tool, &self.sessions) {
            (Tool::Eval, _) => self.eval(caller, args, signals).await,
            (Tool::Check, _) => Ok(Box::pin(self.check(caller, args)).await),
            (Tool::Result, _) => Ok(Box::pin(self.result_of(caller, args)).await),
            (Tool::Approve | Tool::Reject | Tool::Edit, _) => {
                Box::pin(self.decide_by_tool(caller, tool, args, signals)).await
            }
            (Tool::Task, _) => match (&self.upstreams, &self.settings.task) {
                (Some(upstreams), Some(task)) => {
                    Box::pin(self.task(upstreams, task, caller, args, signals)).await
                }
                _ => Ok(fixed(Reason::UNKNOWN_TOOL, "unknown tool: lisp_task", "")),
            },
            (Tool::Debug, _) => Ok(match (&self.ring, &self.settings.debug) {
                (Some(ring), Some(debug)) => Box::pin(self.debug(ring, debug, caller, &args)).await,
                _ => fixed(Reason::UNKNOWN_TOOL, "unknown tool: lisp_debug", ""),
            }),
            (_, Some(sessions)) => Box::pin(self.session(sessions, caller, tool, args, signals)).await,
            (_, None) => Ok(fixed(
                Reason::SESSIONS_DISABLED,
                "sessions are off; start the server with --sessions or PTC_RUNNER_MCP_SESSIONS=true",
                "Use lisp_eval, which keeps nothing between calls.",
            )),
        }
    }

    async fn session(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        tool: Tool,
        args: Args,
        signals: &Signals,
    ) -> Handled {
        Ok(match tool {
            Tool::SessionStart => self.session_start(sessions, caller, args, signals).await,
            Tool::SessionList => self.session_list(sessions, caller, args).await,
            Tool::SessionPreludes => self.session_preludes(sessions, caller, args).await,
            Tool::SessionInspect => self.session_inspect(sessions, caller, args).await,
            Tool::SessionForget => self.session_forget(sessions, caller, args, signals).await,
            Tool::SessionClose => self.session_close(sessions, caller, args, signals).await,
            _ => return self.session_eval(sessions, caller, args, signals).await,
        })
    }

    /// Remembers a call for `lisp_debug`, whose own calls are not remembered, nor those that it would show to nobody.
    fn record(
        &self,
        caller: &Caller,
        tool: &'static str,
        reason: Option<&str>,
        facts: CallFacts,
        started: Instant,
        signals: &Signals,
    ) {
        let shown = tool != Tool::Debug.name() && !caller.is_any_with_its_token();
        let Some(ring) = self.ring.as_ref().filter(|_| shown) else { return };
        let ms = ptc_host::now_ms();
        let call = debug::Call {
            request_id: &signals.request_id,
            tool,
            reason,
            ts: text::moment(ms),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            protocol: caller.protocol.as_deref(),
            facts,
        };
        ring.push(ms, caller, call.record(self.settings.payloads, &self.redactor));
    }

    fn count_upstream(&self, facts: &CallFacts) {
        let (made, failed) = counts::made_and_failed(&facts.calls);
        self.upstream_calls.fetch_add(made, Ordering::Relaxed);
        self.upstream_errors.fetch_add(failed, Ordering::Relaxed);
    }

    /// Reads a result that was too large for an answer.
    pub async fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Resource, ResourceError> {
        self.resources.read(caller, uri).await
    }

    /// The results that are kept for this caller, newest first. Where clients cannot be told apart each reads those whose
    /// addresses it was told, and nobody is told those of others.
    pub async fn resources(&self, caller: &Caller) -> Vec<ResourceLink> {
        match caller.is_any_with_its_token() {
            true => Vec::new(),
            false => self.resources.list(caller).await,
        }
    }

    /// Where servers of one store leave things for each other.
    pub fn shelf(&self) -> Option<&Shelf> {
        self.resources.shelf()
    }

    /// Ends the sessions and forgets the results of an owner who is gone. Stored sessions of a principal stay.
    pub fn close_owner(&self, owner: &str) {
        self.resources.forget(owner);
        if let Some(sessions) = &self.sessions {
            let closed = sessions.close_owner(owner);
            if let Some(engine) = self.own.upgrade().filter(|_| !closed.is_empty()) {
                tokio::spawn(async move {
                    for session in closed {
                        engine.drop_waiting(&session).await;
                    }
                });
            }
        }
    }

    /// The answer to a call that was cancelled, for transports that have to answer, with what its program had called.
    pub fn cancelled(&self, calls: &GivenUpCalls) -> Reply {
        let answered = fixed(
            Reason::CANCELLED,
            "the call was cancelled",
            "Calls that it had made are made, and what came of the last ones may not be known: `ptc effects` lists those. What it \
             changed in a session is not kept, unless it was being kept just then: look before you call again, or send it again \
             under the same key.",
        );
        Made::of(&calls.all(), Vec::new()).tell(answered, None).reply
    }

    /// What to say of a call that took longer than any may: what it was doing goes on, or not.
    pub fn given_up(&self) -> (&'static str, &'static str) {
        (
            Reason::OUTCOME_UNKNOWN.name,
            "request timed out; what it changed may or may not be kept. Send it again under the same key, if it has one, or \
             look before you call again",
        )
    }

    /// The answer when a connection has too many calls under way.
    pub fn busy(&self, most: usize) -> Reply {
        self.shaped(&busy(format!("{most} calls of this connection are under way"))).reply
    }

    /// Counters of this moment.
    pub fn metrics(&self) -> Snapshot {
        let (resources, resource_bytes) = self.resources.size();
        let load = self.gate.load();
        Snapshot {
            in_flight: load.begun,
            queued: load.queued,
            permits: self.gate.running(),
            calls: self.counts.all(),
            decisions: self.counts.decisions(),
            sessions: self.sessions.as_ref().map_or(0, Sessions::count),
            resources,
            resource_bytes,
            upstream_calls: self.upstream_calls.load(Ordering::Relaxed),
            upstream_errors: self.upstream_errors.load(Ordering::Relaxed),
            draining: self.draining.load(Ordering::Acquire),
        }
    }

    /// Whether new calls are taken: not while it drains, nor while the queues of all who may call, so many owners, are
    /// full. One owner alone cannot make a server that has others unready for them.
    pub fn ready(&self, owners: usize) -> bool {
        !self.draining.load(Ordering::Acquire) && self.gate.load().full < owners.max(1)
    }

    /// Whether the store answers, if there is one.
    pub async fn store_answers(&self) -> bool {
        match &self.pulse {
            Some(pulse) => pulse.answer().await.is_some(),
            None => true,
        }
    }

    /// Takes no new calls; those under way go on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Whether calls or decisions have not ended, also those that nobody waits for.
    pub fn is_busy(&self) -> bool {
        !self.under_way.is_empty()
    }

    /// Stops everything that is under way and ends all sessions and upstreams. What calls held in the store is given
    /// back when this returns: a call gives it back when it ends, so the store is waited for after the calls.
    pub async fn shutdown(&self) {
        self.drain();
        self.stop.cancel();
        if let Some(sessions) = &self.sessions {
            sessions.close_all();
        }
        self.under_way.close();
        let given_back = async {
            self.under_way.wait().await;
            if let Some(sessions) = &self.sessions {
                sessions.finish().await;
            }
            if let Some(once) = &self.once {
                once.finish().await;
            }
        };
        if tokio::time::timeout(LAST_WORDS, given_back).await.is_err() {
            tracing::warn!(
                "the store did not answer in time; what this server held there is free when its lease ends"
            );
        }
        if let Some(upstreams) = &self.upstreams {
            upstreams.runtime.close().await;
        }
    }

    /// Says where people decide about calls that wait, unless the settings do, and in what way they come there.
    pub fn decided_at(&self, page: String, how: &'static str) {
        // Whoever came first was the operator.
        let _ = self.page.set(Place { page, how });
    }

    /// What looks like a mistake in the settings, for whoever writes logs.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What covers secrets in everything that leaves; transports use it for their logs.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The tools in the list of this caller.
    fn offered(&self, caller: &Caller) -> impl Iterator<Item = Tool> {
        let there = |tool: &Tool| match tool {
            Tool::Debug => !caller.is_any_with_its_token(),
            _ => self.sessions.is_some() || !tool.is_session(),
        };
        Tool::all().filter(move |tool| is_for(caller, *tool) && self.listed(caller, *tool) && there(tool))
    }

    /// Whether a tool exists for this caller. Sessions that are off have an answer of their own, and so has `lisp_debug`
    /// for clients that cannot be told apart.
    fn listed(&self, caller: &Caller, tool: Tool) -> bool {
        let policy = self.settings.sessions.as_ref().and_then(|sessions| sessions.roles.as_ref());
        let allowed = policy.and_then(|policy| policy.mcp_tools.as_ref());
        let named = allowed.is_none_or(|names| names.iter().any(|name| name == tool.name()));
        let there = match tool {
            Tool::Debug => self.ring.is_some() && caller.roles.is_none(),
            Tool::Task => self.settings.task.is_some() && self.upstreams.is_some(),
            Tool::Approve | Tool::Reject | Tool::Edit => {
                self.desk.is_some() && self.settings.approval_by == ApprovalBy::Model
            }
            Tool::Result => self.desk.is_some(),
            _ => true,
        };
        named && there
    }

    fn unknown_tool(&self, caller: &Caller, name: &str) -> Reply {
        let offered: Vec<&str> = self.offered(caller).map(Tool::name).collect();
        envelope::fixed(
            Reason::UNKNOWN_TOOL.name,
            &format!("unknown tool: {}", text::cut(&self.redactor.redact_str(name), 120)),
            &format!("The tools of this server are {}.", offered.join(", ")),
        )
    }

    /// A permit when it is the caller's turn, or the answer that the queue is full.
    async fn permit(
        &self,
        caller: &Caller,
        signals: &Signals,
    ) -> Result<Result<Permit, Box<Payload>>, CallError> {
        tokio::select! {
            biased;
            () = signals.cancel.cancelled() => Err(CallError::Cancelled),
            entered = self.gate.enter(&caller.principal, &signals.line) => Ok(entered.map_err(|full| {
                let (running, queued) = (self.gate.running(), self.gate.queued());
                let why = match full {
                    gate::QueueFull::Own => format!("{running} programs of yours run"),
                    gate::QueueFull::All => "the programs of all callers have the memory that there is".to_owned(),
                };
                Box::new(busy(format!("{why} and {queued} calls wait for their turn")))
            })),
        }
    }

    /// A program of a caller, which holds this permit while it runs.
    fn owned(&self, mut program: Program, caller: &Caller, permit: &Permit) -> Program {
        program.tools = program.tools.gated(&permit.room());
        program.lane(caller.principal.clone()).pace(permit.pace())
    }

    /// The upstream calls of one program of a caller, with these grants.
    fn calls(&self, caller: &Caller, grants: Grants, signals: &Signals) -> Calls {
        self.upstreams
            .as_ref()
            .map_or_else(Calls::none, |upstreams| self.calls_of(upstreams, caller, grants, signals))
    }

    fn calls_of(&self, upstreams: &Upstreams, caller: &Caller, grants: Grants, signals: &Signals) -> Calls {
        let held = signals.journal.clone().map(|journal| journal as Arc<dyn EffectJournal>);
        let journal = held.or_else(|| self.once.as_ref().map(Once::journal));
        upstreams.calls(caller, grants, signals.scope.clone().zip(journal)).told_to(&signals.given_up)
    }

    /// The envelope of a payload of `lisp_eval`.
    fn shaped(&self, payload: &Payload) -> Answered {
        let reply = envelope::envelope(payload, &self.settings, envelope::Family::Eval);
        Answered::new(reply, payload.reason())
    }
}

/// Ends sessions in time also when nobody asks for them, and looks whether a store that was away is back.
async fn sweep(engine: std::sync::Weak<Engine>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(SWEEP) => {}
        }
        let Some(engine) = engine.upgrade() else { return };
        if let Some(sessions) = &engine.sessions {
            sessions.tidy().await;
        }
        if let Some(desk) = &engine.desk {
            desk.sweep().await;
            desk.look_at_keys().await;
        }
        if let Some(pulse) = &engine.pulse {
            pulse.look_again().await;
        }
    }
}

/// Forgets in time what was kept for requests that might come again.
async fn sweep_journal(engine: std::sync::Weak<Engine>, stop: CancellationToken) {
    loop {
        if let Some(engine) = engine.upgrade()
            && let Some(once) = &engine.once
        {
            once.sweep().await;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(once::SWEEP) => {}
        }
    }
}

/// Whether a tool is for this caller: programs that nothing bounds but the server are not for roles.
fn is_for(caller: &Caller, tool: Tool) -> bool {
    caller.roles.is_none() || !matches!(tool, Tool::Eval | Tool::Task)
}

fn busy(why: String) -> Payload {
    Payload::error(Reason::BUSY.name, format!("server busy: {why}"), "Wait a moment, then call again.")
}

fn fixed(reason: Reason, message: &str, feedback: &str) -> Answered {
    Answered::new(envelope::fixed(reason.name, message, feedback), Some(reason.name))
}
