//! Runs of agents as recordings: what a run is begun from, all of it, so that it can be begun again where its files,
//! its models and its tools are not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ptc_runner::model::{Chunk, Llm, Model, ModelError, ModelErrorKind, Pending, Reply, Request};
use ptc_runner::{Agent, Price, RunOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::lent;
use super::mission::{Mission, Ready};

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
}

/// What a mission is begun from, for a recording.
pub fn subject(mission: &Mission, ready: &Ready, stream: bool) -> anyhow::Result<Json> {
    let options = ready.options(&mission.inputs);
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
        upstreams: lent::told(&ready.agent).map(str::to_owned),
    })?)
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

fn read(subject: &Json) -> anyhow::Result<Subject> {
    Subject::deserialize(subject).context("what it was begun from makes no sense")
}

fn begin(subject: Subject) -> anyhow::Result<(Arc<Agent>, RunOptions)> {
    let kept = subject.root.as_deref().map(|root| (root, &subject.files));
    let (mut agent, file) = subject.mission.agent_of(kept)?;
    if let (Some(file), Some(told)) = (file, &subject.upstreams) {
        agent = lent::lend_silent(file, told)?.build()?;
    }
    let silent =
        |(name, label): (&String, &String)| (name.clone(), Llm::Model(Arc::new(Silent(label.clone()))));
    let registry: BTreeMap<String, Llm> = subject.models.iter().map(silent).collect();
    let options = RunOptions {
        llm: registry.get(&subject.model).cloned(),
        registry,
        // An agent that changed may know its models by other names.
        resolver: Some(Arc::new(|name| Some(Llm::Model(Arc::new(Silent(name.to_owned())))))),
        price: subject.price,
        seed: subject.seed,
        cache: subject.cache,
        on_chunk: subject.stream.then(|| Arc::new(|_: &str| {}) as Chunk),
        ..RunOptions::default()
    };
    Ok((Arc::new(agent), options.context(subject.mission.inputs)))
}

/// A model that has its name and nothing to say: the recording answers.
struct Silent(String);

impl Model for Silent {
    fn reply(&self, _: Arc<Request>, _: Option<Chunk>) -> Pending<Result<Reply, ModelError>> {
        let error = ModelError::new(ModelErrorKind::ConfigError, "a recording is played; nobody is asked");
        Box::pin(std::future::ready(Err(error)))
    }

    fn name(&self) -> &str {
        &self.0
    }
}
