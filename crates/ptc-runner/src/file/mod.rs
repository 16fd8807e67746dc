//! Agents as files: TOML or JSON with the options of [`OPTIONS`](ptc_agent::OPTIONS) by name, and tools that are
//! commands, other agents, questions to a model, or the agent itself.
//!
//! ```toml
//! prompt = "Which of {{orders}} are late?"
//! signature = "(orders [:map]) -> {late [:int]}"
//! model = "haiku"
//!
//! [limits]
//! max_turns = 3
//!
//! [tools.stock]
//! description = "Stock of an article"
//! signature = "(sku :string) -> {count :int}"
//! command = ["./stock.sh"]
//!
//! [tools.triage]
//! agent = "triage.toml"
//! ```

mod document;
mod error;
mod fields;
mod preludes;
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_agent::model::Llm;
use ptc_agent::{Agent, BuildError, Builder, Kind, Tool};
use ptc_lisp::prelude::Prelude;
use ptc_system::environment::Template;
use serde_json::{Map, Value as Json};

use document::Document;
pub use error::{FileError, Place};
pub use fields::agent_schema;
pub use preludes::compile_preludes;

/// Reads an agent from a file; files it names are looked for beside it.
pub fn read_agent(path: &Path) -> Result<Agent, FileError> {
    AgentFile::read(path)?.with_preludes(None)?.build()
}

/// Reads an agent from text. `path` is for messages and for files that it names.
pub fn parse_agent(path: &Path, text: &str) -> Result<Agent, FileError> {
    AgentFile::parse(path, text)?.with_preludes(None)?.build()
}

/// A file of an agent, read and checked field by field. What it names besides the agent itself is for the host
/// to bring.
#[derive(Clone, Debug)]
pub struct AgentFile {
    /// The model, with its file beside this one if it has a file.
    pub model: Option<String>,
    /// Models of tools and of agents that are tools.
    pub tool_models: BTreeSet<String>,
    /// Files with definitions for programs.
    pub preludes: Vec<PathBuf>,
    /// The file that names servers.
    pub upstreams: Option<PathBuf>,
    /// Whether the run goes on after a call of a server that may have changed something.
    pub allow_writes: bool,
    /// Commands of tools by the tool's name, as they are run; those of agents that are tools behind the agent's name.
    pub commands: BTreeMap<String, Vec<String>>,
    /// Where words of commands would be if they are files: scripts are started, or read by whoever is started. Most are not there.
    pub words: BTreeSet<PathBuf>,
    /// What is added to the environment of commands.
    pub environment: Vec<(String, Template)>,
    /// The text of this file and of those that it names, by the path that each was read from.
    pub texts: BTreeMap<PathBuf, String>,
    document: Document,
    builder: Builder,
    /// Options that were set from outside; they have no place in the file.
    outside: BTreeSet<String>,
}

impl AgentFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        Self::read_at(path, Texts::Disk, 0)
    }

    /// Reads a file from texts that were kept, and none from disk.
    pub fn read_kept(path: &Path, texts: &BTreeMap<PathBuf, String>) -> Result<Self, FileError> {
        Self::read_at(path, Texts::Kept(texts), 0)
    }

    /// Reads a file from text. `path` is for messages and for files that it names.
    pub fn parse(path: &Path, text: &str) -> Result<Self, FileError> {
        Self::parse_at(path, text, Texts::Disk, 0)
    }

    /// The memory of its programs in bytes, if it says how much.
    pub fn max_heap(&self) -> Option<usize> {
        self.builder.options().max_heap
    }

    fn read_at(path: &Path, texts: Texts<'_>, depth: usize) -> Result<Self, FileError> {
        let text = texts.read(path).map_err(|error| unreadable(path, &error))?;
        Self::parse_at(path, &text, texts, depth)
    }

    fn parse_at(path: &Path, text: &str, texts: Texts<'_>, depth: usize) -> Result<Self, FileError> {
        let own = (path.to_owned(), text.to_owned());
        let mut document = Document::parse(path, text)?;
        let mut given = std::mem::take(&mut document.fields);
        check_fields(&document, &given)?;
        let prompt = given.get("prompt").and_then(Json::as_str).unwrap_or_default().to_owned();
        let mut builder = Agent::builder(prompt);
        if let Some(profile) = given.remove("profile") {
            let profile = serde_json::from_value(profile);
            builder = builder.profile(profile.map_err(|error| document.wrong("profile", error.to_string()))?);
        }
        let tools = given.remove("tools");
        let catalog = given.remove("tool_catalog");
        let text = |value: Option<Json>| value.as_ref().and_then(Json::as_str).map(str::to_owned);
        let folder = folder(path);
        let words = |value: Option<Json>| -> Vec<PathBuf> {
            let items = value.as_ref().and_then(Json::as_array).into_iter().flatten();
            items.filter_map(Json::as_str).map(|word| folder.join(word)).collect()
        };
        let mut file = AgentFile {
            model: text(given.remove("model")).map(|name| model_beside(&folder, &name)),
            tool_models: BTreeSet::new(),
            preludes: words(given.remove("preludes")),
            upstreams: text(given.remove("upstreams")).map(|name| folder.join(name)),
            allow_writes: given.remove("allow_writes") == Some(Json::Bool(true)),
            commands: BTreeMap::new(),
            words: BTreeSet::new(),
            environment: Vec::new(),
            texts: BTreeMap::from([own]),
            document,
            builder,
            outside: BTreeSet::new(),
        };
        let limits = given.remove("limits");
        file.options(&given, "")?;
        if let Some(Json::Object(limits)) = limits {
            if let Some(twice) = limits.keys().find(|name| given.contains_key(*name)) {
                let message = "stands in the file twice, at the top and among limits; leave one out";
                return Err(file.document.wrong(&format!("limits.{twice}"), message));
            }
            file.options(&limits, "limits.")?;
        }
        if let Some(Json::Object(tools)) = tools {
            tools::add(&mut file, tools, texts, depth)?;
        }
        if let Some(Json::Object(catalog)) = catalog {
            tools::plan(&mut file, catalog)?;
        }
        Ok(file)
    }

    fn options(&mut self, given: &Map<String, Json>, prefix: &str) -> Result<(), FileError> {
        for (name, value) in given {
            self.builder = self.builder.clone().set(name, value);
            if let Err(error) = self.builder.check() {
                return Err(self.document.wrong(&format!("{prefix}{name}"), error.message));
            }
        }
        Ok(())
    }

    /// Sets an option from outside, over what the file says.
    pub fn set(mut self, name: &str, value: &Json) -> Result<Self, BuildError> {
        self.builder = self.builder.set(name, value);
        self.builder.check()?;
        self.outside.insert(name.to_owned());
        Ok(self)
    }

    /// With the prelude that the host made of the files that it names.
    #[must_use]
    pub fn prelude(mut self, prelude: Arc<Prelude>) -> Self {
        self.builder = self.builder.prelude(prelude);
        self
    }

    /// With a tool that the host brings for a field of the file.
    pub fn lend(mut self, field: &str, tool: Tool) -> Result<Self, FileError> {
        if self.document.has(&format!("tools.{}", tool.name)) {
            let message =
                format!("programs know `{}` as a part of `{field}`; give the tool another name", tool.name);
            return Err(self.wrong(&format!("tools.{}", tool.name), message));
        }
        self.builder = self.builder.tool(tool);
        Ok(self)
    }

    /// The agent.
    pub fn build(self) -> Result<Agent, FileError> {
        let builder = match &self.model {
            Some(model) => self.builder.llm(Llm::named(model)),
            None => self.builder,
        };
        builder.build().map_err(|error| {
            let message = error.message;
            if self.outside.contains(&error.option) {
                return FileError::new(&self.document.path, message).field(&error.option);
            }
            let in_limits = format!("limits.{}", error.option);
            let place = self.document.wrong(&in_limits, message.clone());
            if place.place.is_some() && self.document.has(&in_limits) {
                return place;
            }
            self.document.wrong(&error.option, message)
        })
    }

    /// Something that the host found wrong with a field.
    pub fn wrong(&self, field: &str, message: impl Into<String>) -> FileError {
        self.document.wrong(field, message)
    }
}

/// Where files are read from.
#[derive(Clone, Copy)]
enum Texts<'t> {
    /// From disk.
    Disk,
    /// From texts that were kept.
    Kept(&'t BTreeMap<PathBuf, String>),
}

impl Texts<'_> {
    fn read(self, path: &Path) -> std::io::Result<String> {
        match self {
            Texts::Disk => std::fs::read_to_string(path),
            Texts::Kept(texts) => texts.get(path).cloned().ok_or_else(|| std::io::ErrorKind::NotFound.into()),
        }
    }

    fn has(self, path: &Path) -> bool {
        match self {
            Texts::Disk => path.is_file(),
            Texts::Kept(texts) => texts.contains_key(path),
        }
    }
}

/// The folder that files of this one are looked for in.
fn folder(path: &Path) -> PathBuf {
    path.parent().map(Path::to_owned).unwrap_or_default()
}

fn unreadable(path: &Path, error: &std::io::Error) -> FileError {
    let message = match error.kind() {
        std::io::ErrorKind::NotFound => {
            "there is no such file; check the name, or make one with `ptc init DIR`".to_owned()
        }
        std::io::ErrorKind::InvalidData => "this is not UTF-8 text".to_owned(),
        _ => format!("cannot be read: {error}"),
    };
    FileError::new(path, message)
}

/// The name of a model; files that it names, as `script:replies.jsonl` does, are looked for in a folder.
pub fn model_beside(folder: &Path, name: &str) -> String {
    match name.split_once(':') {
        Some(("record", rest)) => match rest.split_once(',') {
            Some((file, model)) => {
                format!("record:{},{}", folder.join(file).display(), model_beside(folder, model))
            }
            None => name.to_owned(),
        },
        Some((kind @ ("script" | "replay"), file)) if !file.is_empty() => {
            format!("{kind}:{}", folder.join(file).display())
        }
        _ => name.to_owned(),
    }
}

/// Every field must be known and of its kind; what the options find wrong comes later.
fn check_fields(document: &Document, given: &Map<String, Json>) -> Result<(), FileError> {
    for (name, value) in given {
        if name == fields::LLM {
            return Err(document.wrong(name, "is called `model` in files"));
        }
        if !fields::top().any(|known| known == name) {
            return Err(document.wrong(name, fields::unknown(name, "option", fields::top())));
        }
        if let Some(field) = fields::OWN.iter().find(|field| field.name == name) {
            of_kind(document, name, field.kind, value)?;
        }
    }
    if let Some(Json::Object(limits)) = given.get("limits") {
        for name in limits.keys() {
            if !fields::LIMITS.contains(&name.as_str()) {
                let message = fields::unknown(name, "limit", fields::LIMITS.iter().copied());
                return Err(document.wrong(&format!("limits.{name}"), message));
            }
        }
    }
    Ok(())
}

fn of_kind(document: &Document, field: &str, kind: Kind, value: &Json) -> Result<(), FileError> {
    if kind.holds(value) {
        return Ok(());
    }
    Err(document.wrong(field, format!("must be {}, not {value}", kind.words())))
}
