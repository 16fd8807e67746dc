//! What the file of an agent names and the command brings: preludes, and upstreams, which programs call with
//! `tool/call` and ask about with `tool/servers`, `dir`, `doc` and `apropos`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_runner::upstreams::{Caps, Policy, Runtime};
use ptc_runner::{Agent, AgentFile, Tool, upstreams};
use ptc_server::effects::StoreJournal;
use ptc_system::environment::is_secret_name;
use ptc_upstream::config::Config;
use ptc_upstream::credentials::Secrets;
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect, RuntimeOptions, SnapshotMode};
use secrecy::SecretString;
use serde_json::Value as Json;

/// The field of files.
const FIELD: &str = "upstreams";
/// How much an agent may use in all its turns; its own limits hold beside that.
fn caps() -> Caps {
    Caps { calls: 1_000, catalog_ops: 500, call_timeout: Duration::from_secs(60), ..Caps::default() }
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
    let lookup = |name: &str| std::env::var(name).ok();
    let mut secrets = Vec::new();
    for (name, template) in &file.environment {
        let of_variables =
            template.variables().filter(|variable| is_secret_name(variable)).filter_map(lookup);
        secrets.extend(of_variables.map(SecretString::from));
        if is_secret_name(name) {
            secrets.extend(template.fill(&lookup).ok().map(SecretString::from));
        }
    }
    secrets
}

/// Upstreams that an agent may call.
#[derive(Debug)]
pub struct AgentUpstreams {
    lent: upstreams::Upstreams,
    journal: Arc<Journal>,
    /// What there is to say about the configuration.
    notes: Vec<String>,
}

/// The journal of a run's calls, once it is known where the run is kept. A call is never made under the identity of an
/// earlier one: what became of those is told when the run goes on (`findings.rs`).
#[derive(Debug, Default)]
struct Journal(OnceLock<(String, StoreJournal)>);

impl EffectJournal for Journal {
    fn begin(&self, _: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.0.get().map_or(Ok(Begun::Fresh), |(scope, journal)| journal.begin(scope, call))
    }

    fn done(&self, _: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.0.get().map_or(Ok(()), |(scope, journal)| journal.done(scope, identity, answer))
    }

    fn begun_ms(&self, _: &str, identity: &str) -> Option<i64> {
        self.0.get().and_then(|(scope, journal)| journal.begun_ms(scope, identity))
    }

    fn holds(&self) -> Option<Duration> {
        self.0.get().and_then(|(_, journal)| journal.holds())
    }

    fn unsent(&self, _: &str, identity: &str) -> Result<(), String> {
        self.0.get().map_or(Ok(()), |(scope, journal)| journal.unsent(scope, identity))
    }

    fn lists(&self) -> bool {
        self.0.get().is_some()
    }

    fn is_numbered(&self) -> bool {
        true
    }
}

/// The scope of the calls of a run.
pub fn scope(run: &str) -> String {
    format!("run:{run}")
}

/// The run that a scope is of, if it is one.
pub fn run_of(scope: &str) -> Option<&str> {
    scope.strip_prefix("run:")
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
        let journal = Arc::new(Journal::default());
        // Identities of one process are none of another.
        let unique = format!("{}:{:?}", std::process::id(), std::time::SystemTime::now());
        let lent = upstreams::Upstreams::new(runtime, caps(), Policy::open());
        let notes = config.notes.iter().map(ToString::to_string).collect();
        Ok(Some(AgentUpstreams { lent: lent.journalled(unique, journal.clone()), journal, notes }))
    }

    /// What people should know before a run of an agent begins.
    pub fn notes(&self, agent: &Agent) -> Vec<String> {
        self.notes.iter().cloned().chain(self.lent.notes(agent)).collect()
    }

    /// Writes calls that may change something down beside the run.
    pub fn keep(&self, run: &str, journal: StoreJournal) {
        // There is one run.
        let _ = self.journal.0.set((scope(run), journal));
    }

    /// The same servers for another run, which is kept elsewhere.
    pub fn afresh(&self) -> upstreams::Upstreams {
        self.lent.afresh(caps(), Policy::open())
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
