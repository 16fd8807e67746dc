//! What the file of an agent names and the command brings: preludes, and upstreams, which programs call with
//! `tool/call` and ask about with `tool/servers`, `dir`, `doc` and `apropos`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ptc_lisp::Limits;
use ptc_runner::upstreams::{Caps, Policy, Runtime};
use ptc_runner::{Agent, AgentFile, Tool, upstreams};
use ptc_server::effects::StoreJournal;
use ptc_store::effects as stored;
use ptc_upstream::config::Config;
use ptc_upstream::credentials::{Secrets, in_environment};
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect, RuntimeOptions, SnapshotMode, identity_prefix};
use secrecy::SecretString;
use serde_json::Value as Json;

/// The field of files.
const FIELD: &str = "upstreams";
/// How much an agent may use in all its turns; its own limits hold beside that.
fn caps(file: &AgentFile) -> Caps {
    let memory = file.max_heap().unwrap_or(Limits::default().memory);
    Caps {
        calls: 1_000,
        catalog_ops: 500,
        call_timeout: Duration::from_secs(60),
        max_response_values: Caps::values_within(memory),
        ..Caps::default()
    }
}

/// The configuration of a file's upstreams with their secrets. Nothing is started.
pub fn config(file: &AgentFile) -> anyhow::Result<Option<(Config, Secrets)>> {
    let Some(path) = &file.upstreams else { return Ok(None) };
    let wrong = |message: String| file.wrong(FIELD, format!("{}: {message}", path.display()));
    let config = Config::from_file(path).map_err(|error| wrong(error.to_string()))?;
    let secrets = Secrets::resolve(&config).map_err(|error| wrong(error.to_string()))?;
    Ok(Some((config, secrets)))
}

/// The secrets that the commands of a file have in their environment.
pub fn command_secrets(file: &AgentFile) -> Vec<SecretString> {
    in_environment(&file.environment, &|name| std::env::var(name).ok())
}

/// Upstreams that an agent may call.
#[derive(Debug)]
pub struct AgentUpstreams {
    lent: upstreams::Upstreams,
    calls: Arc<RunCalls>,
    caps: Caps,
    /// What there is to say about the configuration.
    notes: Vec<String>,
}

/// The journal of a run's calls: beside the run, or in memory until the run is kept, if it ever is. A call is never made
/// under the identity of an earlier one: what became of those is told when the run goes on (`findings.rs`).
#[derive(Debug, Default)]
pub struct RunCalls {
    /// Where the run is kept, and the scope of its calls there.
    kept: OnceLock<(String, StoreJournal)>,
    /// Its calls by their identities, while it is not kept.
    made: Mutex<BTreeMap<String, MadeCall>>,
}

/// A call that is not written down.
#[derive(Debug)]
struct MadeCall {
    server: String,
    tool: String,
    /// Its arguments, with secrets covered.
    args: Json,
    begun_ms: i64,
    answered: bool,
}

impl RunCalls {
    /// Writes calls down beside the run, from now on before they are made. Of those before, the ones are written down that
    /// have no answer, or whose answers the run has not: it waits for these asks.
    pub fn keep(&self, run: &str, journal: StoreJournal, waits: &BTreeSet<u64>) -> anyhow::Result<()> {
        // No call begins meanwhile.
        let mut made = self.made();
        let scope = scope(run);
        let waits: Vec<String> = waits.iter().copied().map(identity_prefix).collect();
        let is_open = |identity: &str, call: &MadeCall| {
            !call.answered || waits.iter().any(|prefix| identity.starts_with(prefix))
        };
        for (identity, call) in made.iter().filter(|(identity, call)| is_open(identity, call)) {
            let MadeCall { server, tool, args, begun_ms, .. } = call;
            journal.effects().found_open(
                &scope,
                &stored::NewEffect { identity, server, tool, args },
                *begun_ms,
            )?;
        }
        made.clear();
        // A run is kept in one place.
        let _ = self.kept.set((scope, journal));
        Ok(())
    }

    fn made(&self) -> MutexGuard<'_, BTreeMap<String, MadeCall>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the run is kept; else its calls in memory, which stays so while they are looked at.
    fn place(&self) -> Result<(&str, &StoreJournal), MutexGuard<'_, BTreeMap<String, MadeCall>>> {
        let made = self.made();
        self.kept.get().map(|(scope, journal)| (&**scope, journal)).ok_or(made)
    }
}

impl EffectJournal for RunCalls {
    fn begin(&self, _: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        match self.place() {
            Ok((scope, journal)) => journal.begin(scope, call),
            Err(mut made) => {
                let (server, tool) = (call.server.to_owned(), call.tool.to_owned());
                let (args, begun_ms) = (call.args.clone(), ptc_host::now_ms());
                let call_made = MadeCall { server, tool, args, begun_ms, answered: false };
                made.insert(call.identity.to_owned(), call_made);
                Ok(Begun::Fresh)
            }
        }
    }

    fn done(&self, _: &str, identity: &str, answer: &Json) -> Result<(), String> {
        match self.place() {
            Ok((scope, journal)) => journal.done(scope, identity, answer)?,
            Err(mut made) => made.get_mut(identity).into_iter().for_each(|call| call.answered = true),
        }
        Ok(())
    }

    fn begun_ms(&self, _: &str, identity: &str) -> Option<i64> {
        match self.place() {
            Ok((scope, journal)) => journal.begun_ms(scope, identity),
            Err(made) => made.get(identity).map(|call| call.begun_ms),
        }
    }

    fn under_way(&self, _: &str, identity: &str, is: bool) {
        if let Some((scope, journal)) = self.kept.get() {
            journal.under_way(scope, identity, is);
        }
    }

    fn holds(&self) -> Option<Duration> {
        self.kept.get().and_then(|(_, journal)| journal.holds())
    }

    fn unsent(&self, _: &str, identity: &str) -> Result<(), String> {
        match self.place() {
            Ok((scope, journal)) => journal.unsent(scope, identity),
            Err(mut made) => {
                made.remove(identity);
                Ok(())
            }
        }
    }

    fn lists(&self) -> bool {
        self.kept.get().is_some()
    }

    fn is_numbered(&self) -> bool {
        true
    }
}

/// The scope of the calls of a run.
pub fn scope(run: &str) -> String {
    format!("run:{run}")
}

impl AgentUpstreams {
    /// Starts the upstreams of a file. Those that fail are listed as unavailable. What they give back covers `more`
    /// secrets, too.
    pub async fn start(file: &AgentFile, more: &[SecretString]) -> anyhow::Result<Option<Self>> {
        let Some((config, secrets)) = config(file)? else { return Ok(None) };
        let secrets = secrets.covering(more);
        let options = RuntimeOptions {
            snapshot: SnapshotMode::Frozen,
            keep_failing: true,
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::start(&config, secrets, options).await;
        let runtime = runtime.map_err(|error| file.wrong(FIELD, error.to_string()))?;
        let (calls, caps) = (Arc::new(RunCalls::default()), caps(file));
        // Identities of one process are none of another.
        let unique = format!("{}:{:?}", std::process::id(), std::time::SystemTime::now());
        let lent = upstreams::Upstreams::new(runtime, caps, Policy::open());
        let notes = config.notes.iter().map(ToString::to_string).collect();
        Ok(Some(AgentUpstreams { lent: lent.journalled(unique, calls.clone()), calls, notes, caps }))
    }

    /// What people should know before a run of an agent begins.
    pub fn notes(&self, agent: &Agent) -> Vec<String> {
        self.notes.iter().cloned().chain(self.lent.notes(agent)).collect()
    }

    /// The calls of the run that may change something.
    pub fn calls(&self) -> &Arc<RunCalls> {
        &self.calls
    }

    /// The same servers for another run, which is kept elsewhere.
    pub fn afresh(&self) -> upstreams::Upstreams {
        self.lent.afresh(self.caps, Policy::open())
    }
}

impl std::ops::Deref for AgentUpstreams {
    type Target = upstreams::Upstreams;

    fn deref(&self) -> &Self::Target {
        &self.lent
    }
}

/// The file with the tools that reach upstreams.
pub fn lend(file: AgentFile, tools: [Tool; 2]) -> anyhow::Result<AgentFile> {
    let [call, discover] = tools;
    Ok(file.lend(FIELD, call)?.lend(FIELD, discover)?)
}
