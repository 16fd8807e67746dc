//! Runs of agents as recordings: what a run is begun from, all of it, so that it can be begun again where its files,
//! its models and its tools are not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use ptc_runner::model::{Llm, TextSink};
use ptc_runner::tape::silent;
use ptc_runner::upstreams::{self, Approvals};
use ptc_runner::{Agent, AgentFile, Guard, Price, RunOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::lent;
use super::mission::{Mission, ReadyMission};
use super::remembered::Remembered;

/// What a run is begun from.
#[derive(Debug, Serialize, Deserialize)]
struct Subject {
    mission: Mission,
    /// The file of the agent and those that it names, as they were.
    files: BTreeMap<PathBuf, String>,
    /// The file of the agent among them.
    root: Option<PathBuf>,
    /// The model of the agent.
    model: String,
    /// What each model is called in traces.
    models: BTreeMap<String, String>,
    price: Option<Price>,
    /// Where random numbers begin.
    seed: u64,
    /// Whether replies were streamed.
    stream: bool,
    /// Whether providers may cache prompts.
    cache: bool,
    /// What models were told about upstreams.
    upstreams: Option<String>,
    /// The calls of upstreams that waited for a person.
    #[serde(default)]
    approvals: Option<Approvals>,
    /// The servers that there were, with what their tools do to the world.
    #[serde(default)]
    servers: Option<Remembered>,
}

/// What a mission is begun from, for a recording.
pub fn subject(mission: &Mission, ready: &ReadyMission, stream: bool) -> anyhow::Result<Json> {
    let options = ready.options(mission.inputs.clone());
    let (_, file) = mission.agent()?;
    let label = |(name, llm): (&String, &Llm)| (name.clone(), llm.label().to_owned());
    Ok(serde_json::to_value(Subject {
        mission: mission.clone(),
        root: mission.path(),
        files: file.map(|file| file.texts).unwrap_or_default(),
        model: ready.model.clone(),
        models: ready.models.iter().map(label).collect(),
        price: options.price,
        seed: options.seed,
        stream,
        cache: options.cache,
        upstreams: upstreams::told(&ready.agent).map(str::to_owned),
        approvals: ready.upstreams.as_ref().and_then(|upstreams| upstreams.approvals()),
        servers: ready.upstreams.as_ref().map(|upstreams| Remembered::of(&upstreams.catalog())),
    })?)
}

/// What a recording of a mission does not have, beside what no recording has.
pub fn missing(ready: &ReadyMission) -> Vec<String> {
    let servers =
        "definitions of tools of upstreams; only their names and what they do to the world are here";
    ready.upstreams.iter().map(|_| servers.to_owned()).collect()
}

/// The agent of a recording and what its run was given, without models and tools that answer.
pub fn restore(subject: &Json) -> anyhow::Result<(Arc<Agent>, RunOptions)> {
    begin(read(subject)?)
}

/// The same with the agent of another file, as that is now.
pub fn restore_as(subject: &Json, file: &Path) -> anyhow::Result<(Arc<Agent>, RunOptions)> {
    let subject = read(subject)?;
    begin(Subject { mission: subject.mission.with_agent(file)?, root: None, ..subject })
}

/// The same with another text of one of its preludes. Nothing if it has none.
pub fn restore_with(subject: &Json, prelude: &Path) -> anyhow::Result<Option<(Arc<Agent>, RunOptions)>> {
    let mut subject = read(subject)?;
    let Some(root) = subject.root.as_deref() else { return Ok(None) };
    let lent = AgentFile::read_kept(root, &subject.files)?.preludes;
    let same_name = |path: &&PathBuf| path.file_name() == prelude.file_name();
    let replaced = match (lent.iter().find(same_name), lent.as_slice()) {
        (Some(path), _) | (None, [path]) => path.clone(),
        (None, []) => return Ok(None),
        (None, several) => {
            let names: Vec<String> = several.iter().map(|path| path.display().to_string()).collect();
            bail!(
                "--against: give {} the name of the prelude that it replaces: {}",
                prelude.display(),
                names.join(", ")
            );
        }
    };
    let text = std::fs::read_to_string(prelude)
        .with_context(|| format!("--against: cannot read {}", prelude.display()))?;
    subject.files.insert(replaced, text);
    begin(subject).map(Some)
}

fn read(subject: &Json) -> anyhow::Result<Subject> {
    Subject::deserialize(subject).context("what it was begun from makes no sense")
}

fn begin(subject: Subject) -> anyhow::Result<(Arc<Agent>, RunOptions)> {
    let kept = subject.root.as_deref().map(|root| (root, &subject.files));
    let (mut agent, file) = subject.mission.agent_of(kept)?;
    let everything: Guard = Arc::new(|_| None);
    let guard = file.as_ref().filter(|file| file.allow_writes).map(|_| everything);
    if let (Some(file), Some(told)) = (file, &subject.upstreams) {
        agent = lent::lend(file, upstreams::silent(told, subject.approvals))?.build()?;
    }
    let models = subject.models.iter();
    let registry: BTreeMap<String, Llm> = models.map(|(name, label)| (name.clone(), silent(label))).collect();
    let options = RunOptions {
        upstreams: subject.servers.map(|servers| Arc::new(servers.catalog()) as _),
        guard,
        llm: registry.get(&subject.model).cloned(),
        registry,
        // An agent that changed may know its models by other names.
        resolver: Some(Arc::new(|name| Some(silent(name)))),
        price: subject.price,
        seed: subject.seed,
        cache: subject.cache,
        on_chunk: subject.stream.then(|| Arc::new(|_: &str| {}) as TextSink),
        ..RunOptions::default()
    };
    Ok((Arc::new(agent), options.context(subject.mission.inputs)))
}
