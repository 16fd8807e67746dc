//! What the file of an agent names and the command brings: preludes, and upstreams, which programs call with
//! `tool/call` and ask about with `tool/servers`, `dir`, `doc` and `apropos`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ptc_lisp::machine::{Answer, DISCOVER};
use ptc_runner::{Agent, AgentFile, Answers, Effect, EffectOf, Tool, ToolResult};
use ptc_server::effects::StoreJournal;
use ptc_upstream::catalog::Catalog;
use ptc_upstream::config::{Config, EffectClass};
use ptc_upstream::credentials::Secrets;
use ptc_upstream::effects::Policy;
use ptc_upstream::runtime::{
    Begun, Caps, EffectJournal, NewEffect, RunContext, Runtime, RuntimeOptions, SnapshotMode,
};
use serde_json::{Value as Json, json};

use crate::commands::prelude::{self, Refused};

/// The field of files.
const FIELD: &str = "upstreams";
/// The tool that calls upstreams.
const CALL: &str = "call";
/// What it takes and gives.
const SIGNATURE: &str = "(server :string, tool :string, args :map?) -> :map";
/// Tools of a server that prompts name.
const NAMED: usize = 12;

/// How much an agent may use in all its turns; its own limits hold beside that.
fn caps() -> Caps {
    Caps { calls: 1_000, catalog_ops: 500, call_timeout: Duration::from_secs(60), ..Caps::default() }
}

/// The file of an agent with the prelude that its files make together; later ones may use those before. Their texts are
/// among those of the agent, and may be some that were kept.
pub fn with_prelude(
    mut file: AgentFile,
    kept: Option<&BTreeMap<PathBuf, String>>,
) -> anyhow::Result<AgentFile> {
    if file.preludes.is_empty() {
        return Ok(file);
    }
    let mut texts = Vec::with_capacity(file.preludes.len());
    for path in &file.preludes {
        let unreadable = |error| file.wrong("preludes", format!("cannot read {}: {error}", path.display()));
        texts.push(match kept {
            Some(kept) => kept.get(path).cloned().ok_or_else(|| unreadable(ErrorKind::NotFound.into()))?,
            None => std::fs::read_to_string(path).map_err(unreadable)?,
        });
    }
    let prelude = prelude::compile_texts(&file.preludes, &texts).map_err(|refused| match refused {
        Refused::Unreadable(message) => file.wrong("preludes", message),
        Refused::Wrong(problem, path, _) => file.wrong("preludes", format!("{path}: {problem}")),
    })?;
    file.texts.extend(file.preludes.iter().cloned().zip(texts));
    Ok(file.prelude(Arc::new(prelude)))
}

/// The configuration of a file's upstreams with their secrets. Nothing is started.
pub fn config(file: &AgentFile) -> anyhow::Result<Option<(Config, Secrets)>> {
    let Some(path) = &file.upstreams else { return Ok(None) };
    let wrong = |message: String| file.wrong(FIELD, format!("{}: {message}", path.display()));
    let config = Config::from_file(path).map_err(|error| wrong(error.to_string()))?;
    let secrets = Secrets::resolve(&config).map_err(|error| wrong(error.to_string()))?;
    Ok(Some((config, secrets)))
}

/// Upstreams that an agent may call.
#[derive(Debug)]
pub struct Upstreams {
    runtime: Arc<Runtime>,
    context: RunContext,
    journal: Arc<Journal>,
}

/// The journal of a run's calls, once it is known where the run is kept. A run that goes on makes no call again that
/// it made before, so calls are written down to be told of, never to be answered from.
#[derive(Debug, Default)]
struct Journal(OnceLock<(String, StoreJournal)>);

impl EffectJournal for Journal {
    fn begin(&self, _: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.0.get().map_or(Ok(Begun::Fresh), |(scope, journal)| journal.begin(scope, call))
    }

    fn done(&self, _: &str, identity: &str, answer: &Json) -> Result<(), String> {
        self.0.get().map_or(Ok(()), |(scope, journal)| journal.done(scope, identity, answer))
    }
}

/// The scope of the calls of a run.
pub fn scope(run: &str) -> String {
    format!("run:{run}")
}

impl Upstreams {
    /// Starts the upstreams of a file. Those that fail are listed as unavailable.
    pub async fn start(file: &AgentFile) -> anyhow::Result<Option<Self>> {
        let Some((config, secrets)) = config(file)? else { return Ok(None) };
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
        let context = runtime.context(caps(), Policy::open()).journalled(unique, journal.clone());
        Ok(Some(Upstreams { runtime, context, journal }))
    }

    /// Writes calls that may change something down beside the run.
    pub fn keep(&self, run: &str, journal: StoreJournal) {
        // There is one run.
        let _ = self.journal.0.set((scope(run), journal));
    }

    /// The run, as preludes see it.
    pub fn context(&self) -> Arc<dyn ptc_lisp::prelude::Upstreams> {
        Arc::new(self.context.clone())
    }

    /// What is known of the servers.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.runtime.catalog()
    }

    /// What people should know before the run begins.
    pub fn notes(&self) -> Vec<String> {
        let states = self.runtime.states().into_iter();
        let failed = states.filter_map(|state| Some(format!("upstream {}: {}", state.name, state.fault?)));
        failed.collect()
    }

    /// The file with the tools that reach the upstreams.
    pub fn lend(&self, file: AgentFile) -> anyhow::Result<AgentFile> {
        let (calls, questions, effects) = (self.context.clone(), self.context.clone(), self.context.clone());
        let call = Tool::future(CALL, move |args: Json| {
            let context = calls.clone();
            async move { result(context.call(args).await) }
        });
        let mut call = call.description(description(&self.runtime.catalog()));
        call.effect_of = Some(EffectOf(Arc::new(move |args| effect(&effects, args))));
        let discover = Tool::future(DISCOVER, move |question: Json| {
            let context = questions.clone();
            async move {
                match context.discover(question).await {
                    // What the world cannot answer is nothing; it is no result of a call.
                    Answer::Fault { .. } => Ok(Json::Null),
                    answer => result(answer),
                }
            }
        });
        lend(file, call, discover)
    }

    /// Ends the upstreams.
    pub async fn close(&self) {
        self.context.finish();
        self.runtime.close().await;
    }
}

/// The file with tools that stand where upstreams were and answer nothing, for a run that is played back.
pub fn lend_silent(file: AgentFile, description: &str) -> anyhow::Result<AgentFile> {
    let silent = |name: &str| Tool::new(name, |_| Err::<Json, _>("a recording is played; nobody is called"));
    lend(file, silent(CALL).description(description), silent(DISCOVER))
}

/// What models were told about the upstreams of an agent, if it has any.
pub fn told(agent: &Agent) -> Option<&str> {
    let call = agent.tools().get(CALL).filter(|tool| tool.answers == Answers::Upstream)?;
    call.description.as_deref()
}

fn lend(file: AgentFile, call: Tool, discover: Tool) -> anyhow::Result<AgentFile> {
    let call = call.signature(SIGNATURE)?.answers(Answers::Upstream);
    let discover = discover.private().effect(Effect::Read).answers(Answers::Discovery);
    Ok(file.lend(FIELD, call)?.lend(FIELD, discover)?)
}

/// An answer as tools of agents give it; programs see it again as it was.
fn result(answer: Answer) -> ToolResult {
    match answer {
        Answer::Value(value) => Ok(value),
        Answer::Json(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Answer::Upstream { value, kind } => {
            Ok(json!({"ok": true, "value": value, "value_kind": kind.name()}))
        }
        Answer::Fault { reason, message } => Ok(json!({"ok": false, "reason": reason, "message": message})),
        Answer::Raise(error) => Err(error.text()),
    }
}

/// What a call of an upstream does to the world.
fn effect(context: &RunContext, args: &Json) -> Effect {
    let text = |key: &str| args[key].as_str().unwrap_or_default();
    let catalog = context.catalog();
    let tool = catalog.server(text("server")).and_then(|server| server.tool(text("tool")));
    match tool.map(|tool| tool.effect) {
        Some(EffectClass::Read) => Effect::Read,
        Some(EffectClass::Write) => Effect::Write,
        Some(EffectClass::Unknown) | None => Effect::Unknown,
    }
}

/// What models are told: the servers and the names of their tools.
fn description(catalog: &Catalog) -> String {
    let servers = catalog.servers().iter().map(|server| match &server.tools {
        None => format!("{} (unavailable)", server.name),
        Some(tools) => {
            let mut names: Vec<&str> = tools.keys().map(String::as_str).take(NAMED).collect();
            if tools.len() > NAMED {
                names.push("…");
            }
            format!("{} ({})", server.name, names.join(", "))
        }
    });
    format!(
        "Calls a tool of a server; gives {{:ok true :value v}} or {{:ok false :reason kw :message text}}. Servers: {}. \
         (dir 'server) lists tools, (doc 'server/tool) describes one",
        servers.collect::<Vec<_>>().join("; ")
    )
}
