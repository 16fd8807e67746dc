//! Upstreams for the programs of one command: flags, the async runtime that is built only if they are used, and
//! the account of each program.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ptc_host::{Bounds, Ran, Tools, drive};
use ptc_lisp::analyze::Manifest;
use ptc_lisp::machine::{Answer, Machine};
use ptc_lisp::prelude::{self, Prelude};
use ptc_lisp::{Error, ErrorKind};
use ptc_upstream::catalog::Catalog;
use ptc_upstream::effects::{PlannedUse, Policy, Refusal, nowhere, plan, unlisted};
use ptc_upstream::runtime::{EffectJournal, Rehearsed};
use ptc_upstream::{
    Account, Caps, Config, Redactor, RunContext, Runtime, RuntimeOptions, Secrets, SnapshotMode, shapes,
};
use serde_json::Value as Json;

use crate::plans::Asked;
use crate::terminal::errln;
use crate::values;

/// What help lists them below.
const HEADING: &str = "Upstreams";

/// Flags for upstreams.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct UpstreamArgs {
    /// Upstream servers that programs may call with (tool/call …)
    #[arg(long, help_heading = HEADING, alias = "upstreams", value_name = "FILE")]
    pub upstreams_config: Option<PathBuf>,

    /// Refuse programs that may call a tool which writes, before anything runs
    #[arg(long, help_heading = HEADING, requires = "upstreams_config")]
    read_only: bool,

    /// When tools are listed: at start, or when they are needed
    #[arg(long, help_heading = HEADING, value_name = "MODE", value_parser = ["live", "frozen"], default_value = "live", requires = "upstreams_config")]
    catalog_snapshot_mode: String,

    /// Most upstream calls of one program
    #[arg(long, help_heading = HEADING, value_name = "N", value_parser = values::count, requires = "upstreams_config")]
    max_upstream_calls: Option<u64>,

    /// How long one upstream call may take: 500ms, 10s
    #[arg(long, help_heading = HEADING, value_name = "DURATION", value_parser = values::duration, requires = "upstreams_config")]
    upstream_call_timeout: Option<Duration>,
}

/// Upstreams that are there.
pub struct AttachedUpstreams {
    runtime: Arc<Runtime>,
    caps: Caps,
    policy: Policy,
    /// Last, so that it outlives what runs on it.
    tokio: tokio::runtime::Runtime,
}

impl UpstreamArgs {
    /// The upstreams of a configuration, with as many calls as there are.
    pub fn of(config: PathBuf, call_timeout: Option<Duration>) -> UpstreamArgs {
        UpstreamArgs {
            upstreams_config: Some(config),
            max_upstream_calls: Some(u64::MAX),
            upstream_call_timeout: call_timeout,
            ..UpstreamArgs::default()
        }
    }

    /// Starts the upstreams; nothing if none were asked for. What people should know of them is told, also of those whose
    /// names the prelude of the programs uses for something else. Programs have so much memory, which bounds what is decoded for them.
    pub fn start(
        &self,
        prelude: Option<&Prelude>,
        memory: usize,
    ) -> anyhow::Result<Option<AttachedUpstreams>> {
        let Some(path) = &self.upstreams_config else { return Ok(None) };
        let config = Config::from_file(path).map_err(|error| anyhow!("{error}"))?;
        let secrets = Secrets::resolve(&config).map_err(|error| anyhow!("{}: {error}", path.display()))?;
        let snapshot = SnapshotMode::NAMES.iter().find(|(name, _)| *name == self.catalog_snapshot_mode);
        let options = RuntimeOptions {
            snapshot: snapshot.map(|(_, mode)| *mode).unwrap_or_default(),
            keep_failing: false,
            in_background: false,
            keeps_up: false,
            head_start: Duration::ZERO,
            shapes: shapes::default_file(path),
            catalogs: None,
        };
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let runtime = tokio.block_on(Runtime::start(&config, secrets, options))?;
        for state in runtime.states() {
            if let Some(fault) = state.fault {
                errln!("ptc: upstream '{}' cannot be used: {fault}", state.name);
            }
        }
        for note in config.other_notes() {
            errln!("ptc: {note}");
        }
        for note in prelude.iter().flat_map(|prelude| runtime.catalog().hidden_by(prelude)) {
            errln!("ptc: {note}");
        }
        let defaults = Caps::default();
        let caps = Caps {
            calls: self.max_upstream_calls.map_or(defaults.calls, |most| most as usize),
            call_timeout: self.upstream_call_timeout.unwrap_or(defaults.call_timeout),
            max_response_values: Caps::values_within(memory),
            ..defaults
        };
        let policy = if self.read_only { Policy::read_only() } else { Policy::open() };
        let upstreams = AttachedUpstreams { runtime, caps, policy, tokio };
        upstreams.warn();
        Ok(Some(upstreams))
    }
}

impl AttachedUpstreams {
    /// What covers secrets in what is printed.
    pub fn redactor(&self) -> &Redactor {
        self.runtime.redactor()
    }

    /// What is known of the servers and their tools, after a look at those that were not listed yet if asked for.
    pub fn catalog(&self, look: bool) -> Arc<Catalog> {
        if look {
            self.tokio.block_on(self.runtime.load_all());
        }
        self.runtime.catalog()
    }

    /// Tells which tools are used although they are not as pinned, each once.
    fn warn(&self) {
        for warning in self.runtime.pin_warnings() {
            errln!("ptc: {warning}");
        }
    }

    /// A context for one program.
    fn context(&self) -> RunContext {
        self.runtime.context(self.caps, self.policy.clone())
    }

    /// What a program in this machine may call, or all that is wrong with it. Servers that it names are listed, so that
    /// tools which they do not have are mistakes, and `note` is told of those that cannot be listed.
    pub fn check(
        &self,
        machine: &mut Machine,
        source: &str,
        tools: &Tools,
        note: &mut dyn FnMut(String),
    ) -> Result<Manifest, Vec<Error>> {
        let context = self.context();
        // What a program calls that cannot be read is not known: then it is the servers whose names stand in it.
        let addressed = |context: &RunContext| {
            let servers = context.catalog().addressed(source).into_iter();
            let unlisted = servers.filter(|server| server.tools.is_none());
            unlisted.map(|server| server.name.clone()).collect::<Vec<String>>()
        };
        match machine.check_all(source) {
            Ok(before) => self.tokio.block_on(context.look_up(&before)),
            Err(_) => self.tokio.block_on(context.list(&addressed(&context))),
        }
        // What programs may name is fixed when a run begins, so the servers are asked anew.
        machine.set_servers(context.grant(tools.clone()).servers());
        let checked = machine.check_all(source);
        let away = match &checked {
            Ok(manifest) => unlisted(&plan(manifest, &context.catalog(), &self.policy)).into_iter().collect(),
            Err(_) => addressed(&context),
        };
        for server in away {
            let states = self.runtime.states();
            let why = states.into_iter().find(|state| state.name == server).and_then(|state| state.fault);
            let why = why.map_or_else(|| "it did not list its tools".to_owned(), |fault| fault.to_string());
            note(format!("upstream '{server}' cannot be used, so its tools are not checked: {why}"));
        }
        let manifest = checked?;
        let (catalog, planned) = (context.catalog(), plan(&manifest, &context.catalog(), &self.policy));
        let wrong: Vec<Error> = nowhere(&planned, &catalog)
            .into_iter()
            .map(|each| {
                let kind = match each.reason {
                    "missing_args" => ErrorKind::InvalidToolArgs,
                    _ => ErrorKind::UnknownTool,
                };
                let error = Error::new(kind, each.message).hint(each.fix);
                each.place.into_iter().fold(error, Error::at)
            })
            .collect();
        if wrong.is_empty() { Ok(manifest) } else { Err(wrong) }
    }

    /// What a program may call. Servers that it names are listed first.
    pub fn plan(&self, manifest: &Manifest) -> Result<Vec<PlannedUse>, Refusal> {
        let context = self.context();
        self.tokio.block_on(context.look_up(manifest));
        context.admit(manifest)
    }

    /// Begins a program.
    pub fn begin(&self) -> Run<'_> {
        Run { upstreams: self, context: self.context() }
    }

    /// Begins something whose calls are made at most once in `scope`, after those that it made before.
    pub fn begin_journalled(&self, scope: &str, journal: Arc<dyn EffectJournal>, before: &[Json]) -> Run<'_> {
        let context = self.context().journalled(scope, journal);
        context.earlier_calls(before);
        Run { upstreams: self, context }
    }
}

/// Refuses a machine whose prelude requires what the program will not have.
pub fn admit(machine: &Machine, tools: &Tools, run: Option<&Run<'_>>) -> Result<(), Error> {
    let Some(prelude) = machine.prelude() else { return Ok(()) };
    run.iter().for_each(|run| run.settle(machine));
    let tools: Vec<String> = tools.names().map(str::to_owned).collect();
    let upstreams = run.map(|run| &run.context as &dyn prelude::Upstreams);
    prelude.admit(&prelude::Grants { tools: &tools, upstreams })
}

/// One program with upstreams.
pub struct Run<'u> {
    upstreams: &'u AttachedUpstreams,
    context: RunContext,
}

impl Run<'_> {
    /// Other tools, and those that call upstreams and answer questions about them.
    pub fn grant(&self, tools: &Tools) -> Tools {
        self.context.grant(tools.clone())
    }

    /// Drives the program, with tools that [`Run::grant`] gave.
    pub fn drive(&self, machine: &mut Machine, source: &str, tools: &Tools, bounds: &Bounds) -> Ran {
        self.look_up(machine, source, tools);
        tools.grant(machine);
        if self.upstreams.policy.read_only
            && let Ok(manifest) = machine.check(source)
            && let Err(refusal) = self.upstreams.plan(&manifest)
        {
            let error = Error::new(ErrorKind::Runtime, refusal.to_string());
            return Ran {
                result: Err(error),
                calls: Vec::new(),
                manifest,
                elapsed: Duration::ZERO,
                turns: 0,
                held: None,
            };
        }
        self.settle(machine);
        let _inside = self.upstreams.tokio.enter();
        drive(machine, source, tools, bounds)
    }

    /// Lists the tools of servers that a program names, where they are not known. What programs may name is fixed when a run
    /// begins, so this one has not begun yet.
    pub fn look_up(&self, machine: &mut Machine, source: &str, tools: &Tools) {
        if self.upstreams.runtime.states().iter().all(|state| state.tools.is_some()) {
            return;
        }
        let before = self.upstreams.context();
        before.grant(tools.clone()).grant(machine);
        if let Ok(manifest) = machine.check(source) {
            self.upstreams.tokio.block_on(before.look_up_named(&manifest));
        }
    }

    /// Lists the tools of servers behind the prelude of a machine, where they are not known for certain.
    fn settle(&self, machine: &Machine) {
        if let Some(prelude) = machine.prelude() {
            self.upstreams.tokio.block_on(self.context.settle(prelude.required_servers()));
        }
    }

    /// Gives a machine the tools, for whoever drives it in a way of its own. One whose prelude requires what is not there
    /// is refused.
    pub fn furnish(&self, machine: &mut Machine) -> Result<(), Error> {
        let tools = self.context.tools();
        tools.grant(machine);
        admit(machine, &tools, Some(self))
    }

    /// What the upstreams offer to a prelude, after a look at those behind it.
    pub fn offers(&self, prelude: &Prelude) -> &dyn prelude::Upstreams {
        self.upstreams.tokio.block_on(self.context.settle(prelude.required_servers()));
        &self.context
    }

    /// Whether a person must approve a call.
    pub fn asks(&self, call: &Json) -> bool {
        self.context.asks(call)
    }

    /// What a call would do.
    pub fn rehearse(&self, call: &Json) -> Rehearsed {
        self.upstreams.tokio.block_on(self.context.rehearse(call))
    }

    /// The hash of the definition of a tool, which is listed if need be.
    pub fn definition_hash(&self, server: &str, tool: &str) -> Option<String> {
        let runtime = &self.upstreams.runtime;
        self.upstreams.tokio.block_on(runtime.load(server)).ok()?;
        runtime.definition_hash(server, tool)
    }

    /// Makes calls and asks questions, all at once; nothing if that takes too long.
    pub fn ask_all(&self, asked: &[&Asked], timeout: Duration) -> Option<Vec<Answer>> {
        let waiting = asked.iter().map(|asked| {
            let context = self.context.clone();
            let asked = (*asked).clone();
            async move {
                match asked {
                    Asked::Call(call) => context.call(call.to_json()).await,
                    Asked::Question(question) => context.discover(question).await,
                }
            }
        });
        let all = futures_util::future::join_all(waiting);
        self.upstreams.tokio.block_on(async { tokio::time::timeout(timeout, all).await.ok() })
    }

    /// Makes a call that a person has looked at; nothing if that takes too long.
    pub fn make(&self, call: &Json, timeout: Duration) -> Option<Answer> {
        let made = self.context.call_approved(call.clone());
        self.upstreams.tokio.block_on(async { tokio::time::timeout(timeout, made).await.ok() })
    }

    /// What it called.
    pub fn finish(self) -> Account {
        self.upstreams.warn();
        self.context.finish()
    }
}

impl Drop for AttachedUpstreams {
    fn drop(&mut self) {
        self.warn();
        self.tokio.block_on(self.runtime.close());
    }
}
