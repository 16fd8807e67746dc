//! A mission: which agent, which model, which inputs. It is all that a run is begun from, so a run that was
//! interrupted is begun from it again.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use ptc_host::random_seed;
use ptc_lisp::analyze::closest;
use ptc_runner::model::{Llm, Reply};
use ptc_runner::{Agent, AgentFile, Guard, InputTexts, RunOptions, WrittenInputs, model_beside};
use ptc_upstream::Redactor;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tokio::runtime::Runtime;

use super::lent::{self, AgentUpstreams};
use super::models::Models;
use crate::values;

/// The file of an agent in its folder.
const AGENT: &str = "agent.toml";

/// What there is besides the usual model.
const ELSE: &str =
    "= `ptc models` lists others and their keys; `ptc init DIR` makes an agent that runs without one";

/// Characters of a title.
const TITLE: usize = 60;

/// Inputs on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Inputs {
    /// A file with the inputs: one JSON object; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    input: Option<String>,

    /// One input, over what --input says; may be repeated
    #[arg(long, value_name = "NAME=JSON|NAME=@FILE", value_parser = values::input)]
    data: Vec<values::Input>,
}

impl Inputs {
    /// Whether there are any.
    pub fn any(&self) -> bool {
        self.input.is_some() || !self.data.is_empty()
    }

    /// The inputs, of which long ones stay text.
    pub fn read(&self) -> anyhow::Result<ptc_runner::Context> {
        let mut fields = match self.input.as_deref() {
            None => Vec::new(),
            Some(path) => match from_file(path)? {
                Some(fields) => fields,
                None => bail!("--input: {path} must hold one JSON object, with a field for each input"),
            },
        };
        fields.extend(self.data.iter().map(values::Input::field));
        let inputs = WrittenInputs::new(fields).map_err(|refused| {
            // Those of the file were read already.
            let is_refused = |input: &&values::Input| WrittenInputs::new([input.field()]).is_err();
            match self.data.iter().find(is_refused) {
                Some(input) => input.refused(&refused.error),
                None => anyhow!("--input: {refused}"),
            }
        })?;
        self.data.iter().try_for_each(values::Input::exact)?;
        Ok(inputs.into())
    }
}

fn from_file(path: &str) -> anyhow::Result<Option<InputTexts>> {
    if path == "-" {
        let mut text = Vec::new();
        std::io::stdin().lock().read_to_end(&mut text).context("--input: cannot read standard input")?;
        return values::fields(&text).map_err(|error| anyhow!("--input: standard input {error}"));
    }
    let text = std::fs::read(path).map_err(|error| anyhow!("--input: cannot read {path}: {error}"))?;
    values::fields(&text).map_err(|error| anyhow!("--input: {path} {error}"))
}

/// Which agent is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// That of a file.
    File(PathBuf),
    /// One that has nothing but a mission.
    Prompt(String),
}

impl Source {
    /// A file if it looks like one, or that of a folder with an agent; else a mission in words. What can only be meant as
    /// a path is never sent to a model: asking one costs money.
    fn of(text: &str) -> anyhow::Result<Self> {
        if text.trim().is_empty() {
            bail!("no agent is named: give its file or its folder, or say in words what to do");
        }
        let path = Path::new(text);
        let inside = path.join(AGENT);
        if inside.is_file() {
            return Ok(Source::File(inside));
        }
        if path.is_dir() {
            bail!("there is no {AGENT} in the folder {text}; `ptc init` makes one");
        }
        let wordy = text.contains(char::is_whitespace);
        let named = path.extension().is_some_and(|extension| extension == "toml" || extension == "json");
        if path.is_file() || (named && !wordy) {
            return Ok(Source::File(path.to_owned()));
        }
        let close = if wordy { None } else { nearby(path) };
        let like_a_path = !wordy && (text.contains(['/', '\\']) || text.starts_with(['.', '~']));
        match (like_a_path, close) {
            (_, Some(close)) => {
                bail!(
                    "there is no agent {text}; did you mean {}? A mission has several words",
                    close.display()
                )
            }
            (true, None) => bail!("there is no file or folder {text}; `ptc init DIR` makes an agent"),
            (false, None) => Ok(Source::Prompt(text.to_owned())),
        }
    }
}

/// Entries of a folder that are looked at for an agent with a similar name.
const LOOKED_AT: usize = 10_000;

/// The agent beside a path whose name is close to it.
fn nearby(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let is_agent = |path: &Path| {
        path.join(AGENT).is_file() || path.extension().is_some_and(|extension| extension == "toml")
    };
    let entries = std::fs::read_dir(listed).ok()?.take(LOOKED_AT).flatten();
    let agents = entries.filter(|entry| is_agent(&entry.path()));
    let names: Vec<String> = agents.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let close = closest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(folder.join(close))
}

/// A mission as the command line gives it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Mission {
    source: Source,
    model: Option<String>,
    /// Options over those of the file.
    set: BTreeMap<String, Json>,
    /// The inputs.
    #[serde(with = "as_text")]
    pub inputs: ptc_runner::Context,
    /// Where random numbers begin; runs of earlier versions all began with 0.
    #[serde(default)]
    seed: u64,
}

/// Inputs are written as one text: as a part of something else they might nest too deeply to be read.
mod as_text {
    use ptc_runner::Context;
    use serde::ser::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(inputs: &Context, serializer: S) -> Result<S::Ok, S::Error> {
        let text = inputs.text().ok_or_else(|| S::Error::custom("what another run gave has no text"))?;
        serializer.serialize_str(&text)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Context, D::Error> {
        let text = String::deserialize(deserializer)?;
        Context::read(&text).map_err(serde::de::Error::custom)
    }
}

/// A mission that can begin.
pub struct ReadyMission {
    /// The agent.
    pub agent: Arc<Agent>,
    /// The name of its model.
    pub model: String,
    /// The models that agents and tools ask for by name.
    pub models: BTreeMap<String, Llm>,
    /// The registry they came from.
    pub registry: Models,
    /// Servers that programs may call.
    pub upstreams: Option<AgentUpstreams>,
    /// Whether the run goes on after a call of them that may have changed something.
    allow_writes: bool,
    /// The file that upstreams are lent to.
    file: Option<AgentFile>,
    seed: u64,
    /// What covers keys and credentials in whatever is shown or traced.
    pub redactor: Redactor,
}

impl Mission {
    /// A mission of the command line.
    pub fn new(
        agent: &str,
        model: Option<&str>,
        set: BTreeMap<String, Json>,
        inputs: ptc_runner::Context,
    ) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        let source = match Source::of(agent)? {
            // Absolute, because whoever goes on with it may stand elsewhere.
            Source::File(path) => Source::File(shortest(&here, path)),
            prompt => prompt,
        };
        let model = model.map(|name| model_beside(&here, name));
        Ok(Mission { source, model, set, inputs, seed: random_seed() })
    }

    /// The same with another model.
    pub fn with_model(self, name: &str) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        Ok(Mission { model: Some(model_beside(&here, name)), ..self })
    }

    /// The same with random numbers that begin here, if that is said.
    #[must_use]
    pub fn with_seed(self, seed: Option<u64>) -> Self {
        Mission { seed: seed.unwrap_or(self.seed), ..self }
    }

    /// The same with another file in place of its agent.
    pub fn with_agent(self, file: &Path) -> anyhow::Result<Self> {
        let here = std::env::current_dir().context("cannot tell the current directory")?;
        Ok(Mission { source: Source::File(shortest(&here, file.to_owned())), ..self })
    }

    /// What it is about, in a few words.
    pub fn title(&self, agent: &Agent) -> String {
        let text = agent.options().name.as_deref().unwrap_or(agent.prompt());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match words.char_indices().nth(TITLE) {
            Some((end, _)) => format!("{}…", &words[..end]),
            None => words,
        }
    }

    /// The agent with its file and its prelude; models and upstreams are not looked at.
    pub fn agent(&self) -> anyhow::Result<(Agent, Option<AgentFile>)> {
        self.agent_of(None)
    }

    /// The file of the agent, as it is read.
    pub fn path(&self) -> Option<PathBuf> {
        let Source::File(path) = &self.source else { return None };
        let here = std::env::current_dir().unwrap_or_default();
        Some(path.strip_prefix(here).map_or_else(|_| path.to_owned(), Path::to_owned))
    }

    /// The agent with its file, which may be one that was kept, with those that it names.
    pub fn agent_of(
        &self,
        kept: Option<(&Path, &BTreeMap<PathBuf, String>)>,
    ) -> anyhow::Result<(Agent, Option<AgentFile>)> {
        let wrong = |error: ptc_runner::BuildError| anyhow!(option_text(&error));
        match &self.source {
            Source::Prompt(prompt) => {
                let builder = Agent::builder(prompt.as_str());
                let builder =
                    self.set.iter().fold(builder, |builder, (name, value)| builder.set(name, value));
                Ok((builder.build().map_err(wrong)?, None))
            }
            Source::File(path) => {
                let mut file = match kept {
                    Some((root, texts)) => AgentFile::read_kept(root, texts)?,
                    None => AgentFile::read(&self.path().unwrap_or_else(|| path.clone()))?,
                };
                for (name, value) in &self.set {
                    file = file.set(name, value).map_err(wrong)?;
                }
                if self.model.is_some() {
                    file.model.clone_from(&self.model);
                }
                file = file.with_preludes(kept.map(|(_, texts)| texts))?;
                Ok((file.clone().build()?, Some(file)))
            }
        }
    }

    /// Whether the inputs are what the agent takes.
    pub fn check_inputs(&self, agent: &Agent) -> anyhow::Result<()> {
        let found = agent.validate_context(&self.inputs);
        if !found.is_empty() {
            let lines: Vec<String> = found.iter().map(|fail| format!("\n  - {}", fail.message)).collect();
            let takes = agent.signature().map(|signature| format!("\n  the signature is {signature}"));
            bail!(
                "the inputs do not fit:{}{}\n  give them with --input FILE or --data NAME=JSON",
                lines.concat(),
                takes.unwrap_or_default()
            );
        }
        Ok(())
    }

    /// Everything that is needed to begin, looked for before anything is done. `before` are the replies that a
    /// run had before it was interrupted.
    pub fn ready(&self, before: &[Reply], runtime: &Runtime) -> anyhow::Result<ReadyMission> {
        let (agent, file) = self.agent()?;
        self.check_inputs(&agent)?;
        self.ready_as(agent, file, before, runtime)
    }

    /// The same for inputs that come later.
    pub fn ready_for_any(&self, runtime: &Runtime) -> anyhow::Result<ReadyMission> {
        let (agent, file) = self.agent()?;
        self.ready_as(agent, file, &[], runtime)
    }

    fn ready_as(
        &self,
        agent: Agent,
        file: Option<AgentFile>,
        before: &[Reply],
        runtime: &Runtime,
    ) -> anyhow::Result<ReadyMission> {
        let registry = Models::load()?;
        let model = file.as_ref().and_then(|file| file.model.clone()).or_else(|| self.model.clone());
        let model = model.unwrap_or_else(|| registry.default_model());
        let mut models = BTreeMap::new();
        let others = file.iter().flat_map(|file| file.tool_models.iter().cloned());
        for name in std::iter::once(model.clone()).chain(others) {
            let llm = registry.open(&name, before).map_err(|error| match (&file, &self.model) {
                // Only files have others.
                (Some(file), _) if name != model => anyhow!(file.wrong("tools", error)),
                (Some(file), None) => anyhow!(file.wrong("model", error)),
                (None, None) => {
                    anyhow!("no model is named, and the usual one cannot be asked: {error}\n  {ELSE}")
                }
                _ => anyhow!("--model: {error}"),
            })?;
            if agent.options().max_cost_usd.is_some() {
                registry.check_cost(&name)?;
            }
            models.insert(name, llm);
        }
        let allow_writes = file.as_ref().is_some_and(|file| file.allow_writes);
        let mut secrets = registry.keys();
        secrets.extend(file.iter().flat_map(lent::command_secrets));
        // Last, because it starts processes.
        let file = file.filter(|file| file.upstreams.is_some());
        let (agent, upstreams) = match file.clone() {
            None => (agent, None),
            Some(file) => {
                let upstreams = runtime.block_on(AgentUpstreams::start(&file, &secrets))?;
                let file = match &upstreams {
                    Some(upstreams) => lent::lend(file, upstreams.tools())?,
                    None => file,
                };
                (file.build()?, upstreams)
            }
        };
        let redactor = match &upstreams {
            Some(upstreams) => upstreams.redactor(),
            None => Redactor::new(&secrets),
        };
        let (agent, seed) = (Arc::new(agent), self.seed);
        Ok(ReadyMission { agent, model, models, registry, upstreams, allow_writes, file, seed, redactor })
    }
}

impl ReadyMission {
    /// The agent of one of many runs, and what the run is given: each has an account of its own with the upstreams.
    pub fn begin(&self, inputs: &Json) -> anyhow::Result<(Arc<Agent>, RunOptions)> {
        let options = self.options(inputs.clone());
        let (Some(upstreams), Some(file)) = (&self.upstreams, &self.file) else {
            return Ok((self.agent.clone(), options));
        };
        let own = upstreams.afresh();
        let agent = lent::lend(file.clone(), own.tools())?.build()?;
        Ok((Arc::new(agent), own.options(options)))
    }

    /// What the run is given.
    pub fn options(&self, inputs: impl Into<ptc_runner::Context>) -> RunOptions {
        let everything: Guard = Arc::new(|_| None);
        let options = RunOptions {
            guard: self.allow_writes.then_some(everything),
            llm: self.models.get(&self.model).cloned(),
            registry: self.models.clone(),
            price: self.registry.price(&self.model),
            // Writing a cache costs; it pays off from the second turn on.
            cache: self.agent.options().max_turns > 1,
            seed: self.seed,
            ..RunOptions::default()
        };
        let options = options.context(inputs);
        match &self.upstreams {
            Some(upstreams) => upstreams.options(options),
            None => options,
        }
    }
}

/// An option that the command line set wrongly.
fn option_text(error: &ptc_runner::BuildError) -> String {
    match error.option.as_str() {
        "signature" => format!("--signature: {}", error.message),
        "prompt" => format!("the mission: {}", error.message),
        name => format!("--set {name}: {}", error.message),
    }
}

/// A path from the root, without what leads nowhere.
fn shortest(here: &Path, path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or_else(|_| here.join(path))
}
