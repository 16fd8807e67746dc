//! All upstreams of a process together: clients, the catalog, learned shapes. A [`Runtime`] is shared; every run of
//! a program has a [`RunContext`] of its own, which counts its calls and keeps its account.
//!
//! `upstream.rs` is one upstream, `context.rs` one run, `calls.rs` what happens between a program's call and the
//! client, `journal.rs` calls that are made at most once, `unsent.rs` those that were begun and are not sent,
//! `rehearse.rs` calls that are held back, `remember.rs` what servers offered before, `grants.rs` what a run may use.

mod approval;
mod calls;
mod context;
mod grants;
mod journal;
mod ledger;
mod preludes;
mod rehearse;
mod remember;
mod unsent;
mod upstream;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use self::context::{Caps, RunContext};
pub use self::grants::Grants;
pub(crate) use self::journal::key_argument;
pub use self::journal::{Begun, EffectJournal, NewEffect, identity_prefix, numbered};
pub use self::ledger::{Account, CatalogOp, UnderWay};
pub use self::rehearse::{HeldBack, Rehearsed};
pub use self::remember::folder as catalogs_folder;
use self::upstream::{FoundTool, Known, Standard, Upstream};
use crate::catalog::{Catalog, Server, WhyDown};
use crate::client::{self, About, Client};
use crate::config::{Config, PinPolicy, TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::effects::Policy;
use crate::model::{Fault, Reason, ToolDef};
use crate::pins::{Difference, Pins};
use crate::redact::Redactor;
use crate::shapes::{ByOwner, Shapes};

/// When tools are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SnapshotMode {
    /// At start, once; what cannot be listed keeps the runtime from starting.
    Frozen,
    /// When they are needed first, and again when a server says that they changed.
    #[default]
    Live,
}

impl SnapshotMode {
    /// The modes by name.
    pub const NAMES: &[(&str, SnapshotMode)] =
        &[("frozen", SnapshotMode::Frozen), ("live", SnapshotMode::Live)];
}

/// How a runtime works.
#[derive(Clone, Debug, Default)]
pub struct RuntimeOptions {
    /// When tools are listed.
    pub snapshot: SnapshotMode,
    /// Whether a frozen runtime starts although upstreams failed; they stay listed and are tried again when
    /// they are needed.
    pub keep_failing: bool,
    /// Whether upstreams are started while the runtime is used already. Each is there as soon as it is up, and one that
    /// fails is tried again and again.
    pub in_background: bool,
    /// Whether upstreams are kept up by a process that goes on, as those in the background are: the end of one is told in the
    /// log, and it is started again. Else that happens when it is needed.
    pub keeps_up: bool,
    /// How long those in the background are not started, so that their first work does not hold up the first answers to a
    /// client; [`Runtime::start_upstreams`] ends it. One that is called is started at once.
    pub head_start: Duration,
    /// Where learned shapes are kept between runs, of runs that name no owner; nowhere unless told.
    pub shapes: Option<PathBuf>,
    /// The folder in which it is kept what servers offered, for descriptions; nowhere unless told. With pins nothing is kept:
    /// what was not looked at is not shown.
    pub catalogs: Option<PathBuf>,
}

/// Why a runtime does not start.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StartError {
    /// Upstreams cannot be used.
    Upstreams(Vec<(String, Fault)>),
    /// Tools are not as they were pinned.
    Pins(Vec<Difference>),
    /// The file of pins cannot be read.
    PinsFile(String),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = match self {
            StartError::Upstreams(faults) => faults
                .iter()
                .map(|(name, fault)| format!("upstream '{name}' cannot be used: {fault}"))
                .collect(),
            StartError::Pins(differences) => differences.iter().map(Difference::to_string).collect(),
            StartError::PinsFile(message) => vec![message.clone()],
        };
        f.write_str(&lines.join("\n"))
    }
}

/// What is known of one upstream.
#[derive(Clone, Debug)]
pub struct UpstreamState {
    /// Its name.
    pub name: String,
    /// How it is reached: `mcp_stdio`, `mcp_http` or `openapi`.
    pub transport: &'static str,
    /// How many tools it has, once they are listed.
    pub tools: Option<usize>,
    /// Why it could not be used when it was tried last.
    pub fault: Option<Fault>,
    /// What it says about itself, once it has been reached.
    pub about: Option<About>,
    /// How its tools differ from their pins.
    pub differences: Vec<Difference>,
}

/// The upstreams of a process. Shared by all runs.
pub struct Runtime {
    upstreams: Vec<Upstream>,
    standard: Standard,
    redactor: Redactor,
    /// The names of all credentials of the configuration.
    credentials: Vec<String>,
    catalog: RwLock<Arc<Catalog>>,
    /// How often the catalog changed.
    changes: watch::Sender<u64>,
    closed: CancellationToken,
    /// Whether it starts upstreams by itself.
    in_background: bool,
    /// Cancelled when they may be started.
    held: CancellationToken,
    shapes: Mutex<ByOwner>,
    shapes_file: Option<PathBuf>,
    saved: Mutex<Instant>,
    /// Tools that are used although they are not as pinned, once somebody was told.
    told: Mutex<BTreeSet<(String, String)>>,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runtime({})", self.catalog().names())
    }
}

/// Makes the client of an upstream.
pub type Connect<'c> = &'c (dyn Fn(&UpstreamConfig, &Secrets) -> Option<Arc<dyn Client>> + Sync);

/// How often learned shapes are written while a process goes on.
const SAVE_EVERY: Duration = Duration::from_secs(10);

impl Runtime {
    /// Starts all upstreams that must be known at once: every one if the catalog is frozen, else those that an
    /// OpenAPI document describes.
    pub async fn start(
        config: &Config,
        secrets: Secrets,
        options: RuntimeOptions,
    ) -> Result<Arc<Runtime>, StartError> {
        Runtime::start_with(config, secrets, options, &client::connect).await
    }

    /// As [`Runtime::start`], with clients of one's own.
    pub async fn start_with(
        config: &Config,
        secrets: Secrets,
        options: RuntimeOptions,
        connect: Connect<'_>,
    ) -> Result<Arc<Runtime>, StartError> {
        let frozen = options.snapshot == SnapshotMode::Frozen;
        let pins = match &config.pins {
            Some(pins) => {
                let known = Pins::load(&pins.file).map_err(StartError::PinsFile)?;
                Some((Arc::new(known), pins.policy))
            }
            None => None,
        };
        let refuses = pins.as_ref().is_some_and(|(_, policy)| *policy == PinPolicy::Refuse);
        let upstreams = config.upstreams.iter().filter_map(|upstream| {
            let client = connect(upstream, &secrets)?;
            let kept = options.catalogs.as_deref().filter(|_| config.pins.is_none());
            let kept = kept.map(|folder| remember::file(folder, upstream));
            Some(Upstream::new(upstream, client, &secrets, kept))
        });
        let upstreams: Vec<Upstream> = upstreams.collect();
        let runtime = Runtime {
            upstreams,
            standard: Standard { pins, frozen },
            redactor: secrets.redactor(),
            credentials: config.credentials.names().map(str::to_owned).collect(),
            catalog: RwLock::default(),
            changes: watch::Sender::new(0),
            closed: CancellationToken::new(),
            in_background: options.in_background,
            held: CancellationToken::new(),
            shapes: Mutex::new(ByOwner::new(options.shapes.as_deref().map(read_shapes).unwrap_or_default())),
            shapes_file: options.shapes,
            saved: Mutex::new(Instant::now()),
            told: Mutex::default(),
        };
        if options.in_background {
            runtime.refresh();
            let runtime = Arc::new(runtime);
            tokio::spawn(bring_all_up(Arc::downgrade(&runtime), options.head_start, runtime.held.clone()));
            return Ok(runtime);
        }
        let at_once =
            |upstream: &Upstream| frozen || matches!(upstream.config.transport, TransportConfig::OpenApi(_));
        let faults = runtime.load_where(at_once).await;
        for (name, fault) in &faults {
            tracing::warn!(upstream = %name, "cannot be used: {fault}");
        }
        runtime.refresh();
        let differences: Vec<Difference> =
            runtime.upstreams.iter().flat_map(|upstream| upstream.known().differences.to_vec()).collect();
        let error = match frozen && !options.keep_failing {
            true if !faults.is_empty() => Some(StartError::Upstreams(faults)),
            true if refuses && !differences.is_empty() => Some(StartError::Pins(differences)),
            _ => None,
        };
        match error {
            Some(error) => {
                runtime.close().await;
                Err(error)
            }
            None => {
                let runtime = Arc::new(runtime);
                if options.keeps_up {
                    tokio::spawn(bring_all_up(
                        Arc::downgrade(&runtime),
                        Duration::ZERO,
                        runtime.held.clone(),
                    ));
                }
                Ok(runtime)
            }
        }
    }

    /// Starts those upstreams in the background that wait for the end of their head start.
    pub fn start_upstreams(&self) {
        self.held.cancel();
    }

    /// What upstreams offer, as far as it is known now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Tells when the catalog changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What covers secrets in everything that leaves.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Whether the configuration has calls that somebody must approve.
    pub fn asks(&self) -> bool {
        self.upstreams.iter().any(|upstream| upstream.config.approval.any())
    }

    /// The names of all credentials that the configuration has.
    pub fn credentials(&self) -> &[String] {
        &self.credentials
    }

    /// A context for one run. A host that serves people who do not trust each other names them:
    /// [`RunContext::owned_by`].
    pub fn context(self: &Arc<Self>, caps: Caps, policy: Policy) -> RunContext {
        RunContext::new(self.clone(), caps, policy)
    }

    /// What is known of every upstream, in the order of the configuration.
    pub fn states(&self) -> Vec<UpstreamState> {
        let state = |upstream: &Upstream| {
            let known = upstream.known();
            UpstreamState {
                name: upstream.config.name.clone(),
                transport: upstream.config.transport.name(),
                tools: known.server.tools.as_ref().map(|tools| tools.len()),
                fault: upstream.client.down().or(known.failed.map(|(_, fault)| fault)),
                about: upstream.about(),
                differences: known.differences.to_vec(),
            }
        };
        self.upstreams.iter().map(state).collect()
    }

    /// How tools that are used, because the policy is to warn, differ from their pins: what nobody was told yet. Servers are
    /// listed when they are needed, so hosts ask before a program and after it.
    pub fn pin_warnings(&self) -> Vec<String> {
        if !self.standard.pins.as_ref().is_some_and(|(_, policy)| *policy == PinPolicy::Warn) {
            return Vec::new();
        }
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.upstreams.iter().flat_map(|upstream| upstream.known().differences.to_vec());
        let new = all.filter(|one| told.insert((one.server.clone(), one.tool.clone())));
        new.map(|difference| self.redactor.redact_string(difference.to_string())).collect()
    }

    /// Lists the tools of this upstream if they are not known.
    pub async fn load(&self, name: &str) -> Result<(), Fault> {
        let Some(upstream) = self.upstream(name) else {
            return Err(Fault::new(Reason::UpstreamUnavailable, format!("no upstream '{name}' configured")));
        };
        let loaded = upstream.load(&self.standard).await;
        if loaded != Ok(false) {
            self.refresh();
        }
        loaded.map(drop)
    }

    /// Lists the tools of this upstream once more, whatever is known of them: what its server has at this moment.
    pub async fn look_anew(&self, name: &str) -> Result<(), Fault> {
        let Some(upstream) = self.upstream(name) else { return self.load(name).await };
        let looked = upstream.look_anew(&self.standard).await;
        self.refresh();
        looked.map(drop)
    }

    /// Why a tool that its server has cannot be used, if that is so: it is not as it was pinned, or first listed, or its definition
    /// is one that no call can be checked against.
    pub fn withheld(&self, server: &str, tool: &str) -> Option<String> {
        match self.upstream(server)?.find(tool) {
            FoundTool::Withheld(why) | FoundTool::Unusable(why) => Some(why),
            FoundTool::Tool(_) | FoundTool::Unknown(_) => None,
        }
    }

    /// Lists the tools of these upstreams where they are not known for certain, and starts those again that are down.
    /// What cannot be had is told by whoever asks for it.
    async fn reach(&self, names: &[String]) {
        let wanted = self
            .upstreams
            .iter()
            .filter(|upstream| names.contains(&upstream.config.name) && !upstream.is_settled());
        join_all(wanted.map(|upstream| upstream.reach(&self.standard))).await;
        self.refresh();
    }

    /// Lists the tools of an upstream where they are not known for certain, and starts it again if it is down.
    async fn reach_one(&self, upstream: &Upstream) -> Result<(), Fault> {
        let reached = upstream.reach(&self.standard).await;
        self.refresh();
        reached.map(drop)
    }

    /// Lists the tools of all upstreams that are not known; gives those that could not be listed.
    pub async fn load_all(&self) -> Vec<(String, Fault)> {
        let faults = self.load_where(|_| true).await;
        self.refresh();
        faults
    }

    /// The tools of an upstream as its server defines them now, for pinning: nothing is covered or held back.
    pub async fn definitions(&self, name: &str) -> Option<Result<Vec<ToolDef>, Fault>> {
        Some(self.upstream(name)?.definitions().await)
    }

    /// The hash of the definition of a tool, once it is listed.
    pub fn definition_hash(&self, server: &str, tool: &str) -> Option<String> {
        self.upstream(server)?.definition_hash(tool)
    }

    /// The hash of how an upstream is configured: how it is reached, and what is said of its tools. The same for all
    /// processes and versions.
    pub fn config_hash(&self, server: &str) -> Option<String> {
        Some(crate::pins::digest(&self.upstream(server)?.config.canonical()))
    }

    /// Ends all connections and processes, and keeps what was learned.
    pub async fn close(&self) {
        self.closed.cancel();
        join_all(self.upstreams.iter().map(|upstream| upstream.client.close())).await;
        self.save_shapes();
    }

    /// The upstreams that it is starting, and that have not failed to.
    fn starting(&self) -> impl Iterator<Item = &Upstream> {
        let upstreams: &[Upstream] = if self.in_background { &self.upstreams } else { &[] };
        let is_starting =
            |upstream: &&Upstream| upstream.known().server.tools.is_none() && upstream.down().is_none();
        upstreams.iter().filter(is_starting)
    }

    fn upstream(&self, name: &str) -> Option<&Upstream> {
        self.upstreams.iter().find(|upstream| upstream.config.name == name)
    }

    async fn load_where(&self, wanted: impl Fn(&Upstream) -> bool) -> Vec<(String, Fault)> {
        let loads = self.upstreams.iter().filter(|upstream| wanted(upstream)).map(async |upstream| {
            let loaded = upstream.load(&self.standard).await;
            loaded.err().map(|fault| (upstream.config.name.clone(), fault))
        });
        join_all(loads).await.into_iter().flatten().collect()
    }

    /// Makes the catalog again from what upstreams know.
    fn refresh(&self) {
        let known: Vec<Known> = self.upstreams.iter().map(Upstream::known).collect();
        let withheld = known.iter().any(|known| !known.withheld.is_empty());
        let server = |(upstream, known): (&Upstream, Known)| match upstream.down() {
            Some(_) if upstream.is_briefly_away() => known.server,
            Some(why) => Arc::new(Server { down: Some(WhyDown(why)), ..(*known.server).clone() }),
            None => known.server,
        };
        let catalog = Catalog::new(self.upstreams.iter().zip(known).map(server));
        let catalog = Arc::new(if withheld { catalog } else { catalog.closed() });
        let mut known = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        if *known != catalog {
            *known = catalog;
            drop(known);
            self.changes.send_modify(|count| *count += 1);
        }
    }

    fn shapes(&self) -> std::sync::MutexGuard<'_, ByOwner> {
        self.shapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what was learned, if it was not written lately.
    fn save_shapes_sometimes(&self) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        if saved.elapsed() >= SAVE_EVERY {
            *saved = Instant::now();
            self.save_shapes();
        }
    }

    fn save_shapes(&self) {
        let mut all = self.shapes();
        let shapes = all.unnamed();
        if let Some(file) = self.shapes_file.as_ref().filter(|_| shapes.is_changed())
            && let Err(error) = shapes.save(file)
        {
            tracing::warn!("cannot keep shapes of results in {}: {error}", file.display());
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        self.save_shapes();
    }
}

/// Pauses between attempts to start an upstream.
const FIRST_PAUSE: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Starts all upstreams when their head start is over.
async fn bring_all_up(runtime: Weak<Runtime>, head_start: Duration, held: CancellationToken) {
    let _ = tokio::time::timeout(head_start, held.cancelled()).await;
    let Some(up) = runtime.upgrade() else { return };
    for upstream in &up.upstreams {
        tokio::spawn(bring_up(runtime.clone(), upstream.config.name.clone(), up.closed.clone()));
    }
}

/// Starts an upstream and lists its tools, again and again until it works, and again when it has ended, for as long as
/// somebody may need it.
async fn bring_up(runtime: Weak<Runtime>, name: String, closed: CancellationToken) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(up) = runtime.upgrade() else { return };
        let Some(upstream) = up.upstream(&name) else { return };
        let client = upstream.client.clone();
        let loaded = tokio::select! {
            loaded = up.reach_one(upstream) => loaded,
            () = closed.cancelled() => return,
        };
        let broken = client.is_broken();
        drop(up);
        let rest = match loaded {
            Ok(()) => {
                tracing::info!(upstream = %name, "is ready");
                pause = FIRST_PAUSE;
                tokio::select! {
                    () = client.ended() => {}
                    () = closed.cancelled() => return,
                }
                let Some(up) = runtime.upgrade() else { return };
                up.refresh();
                ended(&name, &*client)
            }
            Err(fault) if broken => return tracing::warn!(upstream = %name, "cannot be used: {fault}"),
            Err(fault) => {
                let (seconds, reason, cause) = (pause.as_secs(), fault.reason, fault.cause());
                tracing::warn!(upstream = %name, "cannot be used: {reason}: {cause}; it is tried again in {seconds} s");
                let longer = (pause * 2).min(LONGEST_PAUSE);
                std::mem::replace(&mut pause, longer)
            }
        };
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = closed.cancelled() => return,
        }
    }
}

/// Tells that an upstream has ended, and how long it rests.
fn ended(name: &str, client: &dyn Client) -> Duration {
    let rest = client.rests_until().map(|until| until.saturating_duration_since(Instant::now()));
    let rest = rest.unwrap_or_default();
    let why = client.down().map(|fault| fault.cause().to_owned()).unwrap_or_default();
    tracing::warn!(upstream = %name, "ended: {why}; it is started again in {} ms", rest.as_millis());
    rest
}

/// What was learned before; a file that cannot be read is left out and written again.
fn read_shapes(file: &std::path::Path) -> Shapes {
    Shapes::load(file).unwrap_or_else(|error| {
        tracing::warn!("cannot read shapes of results in {}: {error}", file.display());
        Shapes::default()
    })
}
