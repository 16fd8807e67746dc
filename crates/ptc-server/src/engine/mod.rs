//! The engine: everything that the server does, without any transport.
//!
//! Transports give it a [`Caller`], the name of a tool and its arguments, and get a [`Reply`]. It runs programs
//! on a pool, shapes answers by profile, and keeps what outlives a call.
#![allow(dead_code)]

mod api;
mod args;
mod cards;
mod check;
mod counts;
mod envelope;
mod eval;
mod evaluate;
mod gate;
mod payload;
mod reason;
mod resources;
mod schema;
mod settings;
mod text;
mod tools;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_host::{Pool, PoolConfig};
use ptc_upstream::Redactor;
use tokio_util::sync::CancellationToken;

pub use self::api::{
    Annotations, Args, CallCount, CallError, Caller, Content, Progress, Reply, Resource, ResourceError,
    ResourceLink, Signals, Snapshot, ToolSpec, Transport,
};
use self::counts::Counts;
use self::gate::{Gate, Permit};
use self::payload::Payload;
pub use self::reason::Reason;
use self::resources::Resources;
pub use self::settings::{Payloads, Profile, Settings};
use self::tools::{Surface, Tool};

/// What an engine is made of besides its settings.
#[derive(Debug, Default)]
pub struct Parts {}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A setting does not fit the others.
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
    draining: AtomicBool,
    stop: CancellationToken,
}

/// What a handler made of a call.
struct Answered {
    reply: Reply,
    reason: Option<String>,
}

impl Answered {
    fn new(reply: Reply, reason: Option<&str>) -> Self {
        Answered { reply, reason: reason.map(str::to_owned) }
    }
}

type Handled = Result<Answered, CallError>;

impl Engine {
    /// Starts an engine.
    pub async fn start(settings: Settings, parts: Parts) -> Result<Arc<Engine>, StartError> {
        let Parts {} = parts;
        Ok(Arc::new(Engine {
            gate: Gate::new(settings.max_concurrent_calls),
            resources: Resources::new(settings.resource_bytes, settings.resources_per_owner),
            pool: Pool::new(PoolConfig::default()),
            counts: Counts::default(),
            redactor: Redactor::none(),
            draining: AtomicBool::new(false),
            stop: CancellationToken::new(),
            settings,
        }))
    }

    /// The tools that this caller may use.
    pub fn tools(&self, caller: &Caller) -> Vec<ToolSpec> {
        let surface = Surface { settings: &self.settings, catalog: None };
        Tool::ALL.iter().filter(|tool| self.offers(caller, **tool)).map(|tool| surface.spec(*tool)).collect()
    }

    /// Calls a tool. Whatever goes wrong with the call is an answer, except that nobody wants it any more.
    pub async fn call(
        &self,
        caller: &Caller,
        tool: &str,
        args: Args,
        signals: Signals,
    ) -> Result<Reply, CallError> {
        let known = Tool::named(tool).filter(|known| self.offers(caller, *known));
        let Some(known) = known else {
            self.counts.add("unknown", Some(Reason::UNKNOWN_TOOL.name));
            return Ok(self.unknown_tool(caller, tool));
        };
        let handled = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(CallError::Cancelled),
            handled = self.handle(caller, known, args, &signals) => handled,
        };
        match handled {
            Ok(answered) => {
                self.counts.add(known.name(), answered.reason.as_deref());
                Ok(answered.reply)
            }
            Err(error) => {
                self.counts.add(known.name(), Some(Reason::CANCELLED.name));
                Err(error)
            }
        }
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
        match tool {
            Tool::Eval => self.eval(caller, args, signals).await,
            Tool::Check => Ok(self.check(args)),
        }
    }

    /// Reads a result that was too large for an answer.
    pub async fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Resource, ResourceError> {
        self.resources.read(&caller.owner, uri)
    }

    /// The results that are kept for this caller, newest first.
    pub fn resources(&self, caller: &Caller) -> Vec<ResourceLink> {
        self.resources.list(&caller.owner)
    }

    /// Forgets what belongs to an owner who is gone.
    pub fn close_owner(&self, owner: &str) {
        self.resources.forget(owner);
    }

    /// The answer to a call that was cancelled, for transports that have to answer.
    pub fn cancelled(&self) -> Reply {
        envelope::fixed(
            Reason::CANCELLED.name,
            "the call was cancelled",
            "Nothing of it was kept. Call again if you still need it.",
        )
    }

    /// The answer when a connection has too many calls under way.
    pub fn busy(&self, most: usize) -> Reply {
        self.shaped(&busy(most)).reply
    }

    /// Counters of this moment.
    pub fn metrics(&self) -> Snapshot {
        let (resources, resource_bytes) = self.resources.size();
        Snapshot {
            in_flight: self.gate.taken(),
            permits: self.gate.most(),
            calls: self.counts.all(),
            sessions: 0,
            resources,
            resource_bytes,
            upstream_calls: 0,
            upstream_errors: 0,
            draining: self.draining.load(Ordering::Acquire),
        }
    }

    /// Whether new calls are taken: neither draining nor out of permits.
    pub fn ready(&self) -> bool {
        !self.draining.load(Ordering::Acquire) && self.gate.taken() < self.gate.most()
    }

    /// Takes no new calls; those under way go on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Stops everything that is under way.
    pub async fn shutdown(&self) {
        self.drain();
        self.stop.cancel();
    }

    fn offers(&self, _caller: &Caller, _tool: Tool) -> bool {
        true
    }

    fn unknown_tool(&self, caller: &Caller, name: &str) -> Reply {
        let offered: Vec<&str> =
            Tool::ALL.iter().filter(|tool| self.offers(caller, **tool)).map(|tool| tool.name()).collect();
        envelope::fixed(
            Reason::UNKNOWN_TOOL.name,
            &format!("unknown tool: {}", self.redactor.redact_str(text::cut(name, 120))),
            &format!("The tools of this server are {}.", offered.join(", ")),
        )
    }

    /// A permit, or the answer that there is none.
    fn permit(&self) -> Result<Permit, Box<Payload>> {
        self.gate.enter().ok_or_else(|| Box::new(busy(self.gate.most())))
    }

    /// The envelope of a payload of `lisp_eval`.
    fn shaped(&self, payload: &Payload) -> Answered {
        let reply = envelope::envelope(payload, self.settings.profile, envelope::Family::Eval);
        Answered::new(reply, payload.reason())
    }
}

fn busy(most: usize) -> Payload {
    Payload::error(
        Reason::BUSY.name,
        format!("server busy: {most} concurrent calls in flight"),
        "Wait a moment, then call again.",
    )
}

fn fixed(reason: Reason, message: &str, feedback: &str) -> Answered {
    Answered::new(envelope::fixed(reason.name, message, feedback), Some(reason.name))
}
