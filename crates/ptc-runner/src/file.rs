//! Agents as files: TOML or JSON with the options of [`OPTIONS`](ptc_agent::OPTIONS) by name, and tools that are
//! commands, other agents, questions to a model, or the agent itself.
//!
//! ```toml
//! prompt = "Which of {{orders}} are late?"
//! signature = "(orders [:map]) -> {late [:int]}"
//! model = "haiku"
//!
//! [tools.stock]
//! description = "Stock of an article"
//! signature = "(sku :string) -> {count :int}"
//! command = ["./stock.sh"]
//!
//! [tools.triage]
//! agent = "triage.toml"
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_agent::model::Llm;
use ptc_agent::{Agent, BuildError, Builder, Effect, Expose, LlmTool, Preview, Tool};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::command;

/// Files of agents may lead to other files this deep.
const MAX_DEPTH: usize = 8;

/// Why a file is no agent.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is neither TOML nor JSON.
    #[error("{path}: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the place.
        message: String,
    },
    /// A tool cannot be made.
    #[error("{path}: tool `{tool}`: {message}")]
    Tool {
        /// The file.
        path: PathBuf,
        /// The tool.
        tool: String,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// The options do not fit together.
    #[error("{path}: {source}")]
    Options {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BuildError,
    },
}

/// A tool of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolEntry {
    #[serde(default)]
    signature: Option<String>,
    #[serde(default)]
    description: Option<String>,
    /// A command: arguments come on its standard input as JSON, its standard output is the result.
    #[serde(default)]
    command: Option<Vec<String>>,
    /// Another file of an agent.
    #[serde(default)]
    agent: Option<String>,
    /// A question to a model.
    #[serde(default)]
    prompt: Option<String>,
    /// The agent itself.
    #[serde(default, rename = "self")]
    this: bool,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    cache: bool,
    #[serde(default)]
    max_cached_bytes: Option<usize>,
    #[serde(default)]
    expose: Option<Expose>,
    #[serde(default)]
    preview_rows: Option<usize>,
    #[serde(default)]
    effect: Option<Effect>,
    /// Milliseconds of a call.
    #[serde(default)]
    timeout: Option<u64>,
}

/// Reads an agent from a file; files it names are looked for beside it.
pub fn read_agent(path: &Path) -> Result<Agent, FileError> {
    read(path, 0)
}

/// Reads an agent from text. `path` is for messages and for files that it names.
pub fn parse_agent(path: &Path, text: &str) -> Result<Agent, FileError> {
    build(path, text, 0)
}

fn read(path: &Path, depth: usize) -> Result<Agent, FileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| FileError::Unreadable { path: path.to_owned(), source })?;
    build(path, &text, depth)
}

fn build(path: &Path, text: &str, depth: usize) -> Result<Agent, FileError> {
    let mut fields = fields(path, text)?;
    let tools = take_tools(path, &mut fields)?;
    if let Some(model) = fields.remove("model") {
        fields.insert("llm".to_owned(), model);
    }
    let prompt = fields.get("prompt").and_then(Json::as_str).unwrap_or_default().to_owned();
    let mut builder: Builder = Agent::builder(prompt);
    if let Some(profile) = fields.remove("profile") {
        let profile = serde_json::from_value(profile).map_err(|error| FileError::Malformed {
            path: path.to_owned(),
            message: format!("profile must be current or draft: {error}"),
        })?;
        builder = builder.profile(profile);
    }
    for (name, value) in &fields {
        builder = builder.set(name, value);
    }
    for (name, entry) in tools {
        let made = tool(path, &name, entry, depth);
        let made = made.map_err(|message| FileError::Tool { path: path.to_owned(), tool: name, message })?;
        builder = builder.tool(made);
    }
    builder.build().map_err(|source| FileError::Options { path: path.to_owned(), source })
}

/// The fields of a file, TOML unless it looks like JSON.
fn fields(path: &Path, text: &str) -> Result<Map<String, Json>, FileError> {
    let wrong = |message: String| FileError::Malformed { path: path.to_owned(), message };
    let is_json =
        path.extension().is_some_and(|extension| extension == "json") || text.trim_start().starts_with('{');
    let json: Json = match is_json {
        true => serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?,
        false => toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?,
    };
    match json {
        Json::Object(fields) => Ok(fields),
        _ => Err(wrong("a file of an agent is a table of options".to_owned())),
    }
}

fn take_tools(path: &Path, fields: &mut Map<String, Json>) -> Result<BTreeMap<String, ToolEntry>, FileError> {
    let mut tools = BTreeMap::new();
    let Some(given) = fields.remove("tools") else { return Ok(tools) };
    let Json::Object(given) = given else {
        let message = "tools must be a table: write [tools.NAME]".to_owned();
        return Err(FileError::Malformed { path: path.to_owned(), message });
    };
    for (name, entry) in given {
        let entry = serde_json::from_value(entry).map_err(|error| FileError::Tool {
            path: path.to_owned(),
            tool: name.clone(),
            message: error.to_string(),
        })?;
        tools.insert(name, entry);
    }
    Ok(tools)
}

fn tool(path: &Path, name: &str, entry: ToolEntry, depth: usize) -> Result<Tool, String> {
    let beside = path.parent().unwrap_or(Path::new("."));
    let kinds = [entry.command.is_some(), entry.agent.is_some(), entry.prompt.is_some(), entry.this];
    if kinds.iter().filter(|kind| **kind).count() != 1 {
        return Err("give it exactly one of command, agent, prompt or self".to_owned());
    }
    let mut tool = if let Some(words) = entry.command {
        command::tool(name, words, beside)?
    } else if let Some(file) = entry.agent {
        if depth >= MAX_DEPTH {
            return Err(format!("files of agents name each other more than {MAX_DEPTH} levels deep"));
        }
        let agent = read(&beside.join(file), depth + 1).map_err(|error| error.to_string())?;
        let described = entry.description.is_some() || agent.options().description.is_some();
        let prompt = agent.prompt().to_owned();
        let tool = Tool::agent(name, Arc::new(agent));
        if described { tool } else { tool.description(prompt) }
    } else if let Some(prompt) = entry.prompt {
        let signature = entry.signature.as_deref().ok_or("a question needs a signature for its answer")?;
        Tool::llm(name, LlmTool::new(prompt, signature).map_err(|error| error.to_string())?)
    } else {
        Tool::this(name)
    };
    if let Some(signature) = entry.signature {
        tool = tool.signature(&signature).map_err(|error| format!("signature: {error}"))?;
    }
    tool.description = entry.description.or(tool.description);
    if let Some(model) = entry.model {
        tool = tool.bound_llm(Llm::named(model));
    }
    tool.cache = entry.cache;
    tool.max_cached_bytes = entry.max_cached_bytes;
    tool.expose = entry.expose;
    tool.timeout_ms = entry.timeout;
    tool.effect = entry.effect.unwrap_or_default();
    tool.native_result = entry.preview_rows.map(|limit| Preview::Rows { limit });
    Ok(tool)
}
