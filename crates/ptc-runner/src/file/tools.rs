//! The tools of a file: commands, agents, questions, and the agent itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ptc_agent::model::Llm;
use ptc_agent::{Approval, Effect, Expose, LlmTool, Preview, Tool};
use ptc_lisp::Limits;
use ptc_signature::Mode;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::{AgentFile, FileError, Texts, fields, folder, model_beside, of_kind};
use crate::command;

/// Files of agents may lead to other files this deep.
const MAX_DEPTH: usize = 8;

/// A tool of a file, its fields checked by the table.
#[derive(Debug, Deserialize)]
struct Entry {
    signature: Option<String>,
    description: Option<String>,
    command: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    agent: Option<String>,
    prompt: Option<String>,
    tools: Option<Map<String, Json>>,
    model: Option<String>,
    #[serde(default)]
    cache: bool,
    max_cached_bytes: Option<usize>,
    expose: Option<Expose>,
    native_result: Option<NativeResult>,
    preview_rows: Option<usize>,
    validation: Option<String>,
    effect: Option<Effect>,
    approval: Option<String>,
    #[serde(default)]
    idempotent: bool,
    timeout: Option<u64>,
}

/// What a model sees of a result that is kept for programs.
#[derive(Debug, Deserialize)]
#[serde(tag = "preview", rename_all = "snake_case", deny_unknown_fields)]
enum NativeResult {
    Metadata,
    Rows {
        #[serde(default = "rows")]
        limit: usize,
    },
}

/// How many rows a preview has that does not say how many.
fn rows() -> usize {
    20
}

/// A tool that nobody can call, as the file describes it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Planned {
    signature: Option<String>,
    description: Option<String>,
}

/// Gives an agent the tools that its model may plan with and nobody can call.
pub(super) fn plan(file: &mut AgentFile, tools: Map<String, Json>) -> Result<(), FileError> {
    for (name, given) in tools {
        let place = format!("tool_catalog.{name}");
        let planned: Planned =
            serde_json::from_value(given).map_err(|error| file.wrong(&place, error.to_string()))?;
        let mut tool = Tool::new(name, |_| Err::<Json, _>("tools of the catalog are for planning"));
        if let Some(text) = planned.signature {
            tool = tool
                .signature(&text)
                .map_err(|error| file.wrong(&format!("{place}.signature"), error.to_string()))?;
        }
        tool.description = planned.description;
        file.builder = file.builder.clone().catalog(tool);
    }
    Ok(())
}

/// Gives an agent the tools of its file.
pub(super) fn add(
    file: &mut AgentFile,
    tools: Map<String, Json>,
    texts: Texts<'_>,
    depth: usize,
) -> Result<(), FileError> {
    for (name, given) in tools {
        let place = format!("tools.{name}");
        let tool = tool(file, &name, &place, given, (texts, depth))?;
        file.builder = file.builder.clone().tool(tool);
    }
    Ok(())
}

fn entry(file: &AgentFile, place: &str, given: Json) -> Result<Entry, FileError> {
    let Json::Object(given) = given else {
        return Err(file.wrong(place, "a tool is a table: write [tools.NAME] and its fields below"));
    };
    for (name, value) in &given {
        let at = format!("{place}.{name}");
        let Some(field) = fields::TOOL.iter().find(|field| field.name == name) else {
            let known = fields::TOOL.iter().map(|field| field.name);
            return Err(file.wrong(&at, fields::unknown(name, "field of a tool", known)));
        };
        of_kind(&file.document, &at, field.kind, value)?;
    }
    let bodies = fields::BODIES
        .iter()
        .filter(|body| given.get(**body).is_some_and(|value| value != &Json::Bool(false)));
    if bodies.count() != 1 {
        let message = format!("give it exactly one of {}", fields::BODIES.join(", "));
        return Err(file.wrong(place, message));
    }
    if let Some(preview) = given.get("native_result")
        && let Err(error) = NativeResult::deserialize(preview)
    {
        let message =
            format!("write {{preview = \"metadata\"}} or {{preview = \"rows\", limit = 20}}: {error}");
        return Err(file.wrong(&format!("{place}.native_result"), message));
    }
    serde_json::from_value(Json::Object(given)).map_err(|error| file.wrong(place, error.to_string()))
}

fn tool(
    file: &mut AgentFile,
    name: &str,
    place: &str,
    given: Json,
    others: (Texts<'_>, usize),
) -> Result<Tool, FileError> {
    let entry = entry(file, place, given)?;
    let folder = folder(&file.document.path);
    let signature = |file: &AgentFile, error: &dyn std::fmt::Display| {
        file.wrong(&format!("{place}.signature"), error.to_string())
    };
    if entry.env.is_some() && entry.command.is_none() {
        return Err(file.wrong(&format!("{place}.env"), "only a command has an environment"));
    }
    if entry.tools.is_some() && entry.prompt.is_none() {
        let message = "only a question (`prompt`) has tools here; an agent has those of its file";
        return Err(file.wrong(&format!("{place}.tools"), message));
    }
    let mut tool = if let Some(words) = entry.command {
        file.commands.insert(name.to_owned(), words.clone());
        file.words.extend(words.iter().map(|word| folder.join(word)));
        let environment = command::environment(entry.env.unwrap_or_default())
            .map_err(|(variable, message)| file.wrong(&format!("{place}.env.{variable}"), message))?;
        file.environment.extend(environment.iter().cloned());
        let memory = file.max_heap().unwrap_or(Limits::default().memory);
        command::tool(name, words, &folder, environment, memory)
            .map_err(|message| file.wrong(&format!("{place}.command"), message))?
    } else if let Some(other) = entry.agent {
        agent(file, name, place, &folder.join(other), entry.description.is_some(), others)?
    } else if let Some(prompt) = entry.prompt {
        let Some(answer) = entry.signature.as_deref() else {
            return Err(file.wrong(place, "a question needs a signature for its answer"));
        };
        let own = nested(file, name, place, entry.tools.unwrap_or_default(), others)?;
        let question = LlmTool::with_tools(prompt, answer, own)
            .map_err(|error| file.wrong(&format!("{place}.{}", error.option), error.message))?;
        Tool::llm(name, question)
    } else {
        Tool::this(name)
    };
    if let Some(text) = entry.signature {
        tool = tool.signature(&text).map_err(|error| signature(file, &error))?;
    }
    tool.description = entry.description.or(tool.description);
    if let Some(model) = entry.model {
        let model = model_beside(&folder, &model);
        file.tool_models.insert(model.clone());
        tool = tool.bound_llm(Llm::named(model));
    }
    tool.cache = entry.cache;
    tool.max_cached_bytes = entry.max_cached_bytes;
    tool.expose = entry.expose;
    tool.timeout_ms = entry.timeout;
    tool.effect = entry.effect.unwrap_or_default();
    tool.approval = entry.approval.as_deref().and_then(Approval::named).unwrap_or_default();
    tool.idempotent = entry.idempotent;
    tool.validation = entry.validation.as_deref().and_then(Mode::from_name);
    tool.native_result = match (entry.native_result, entry.preview_rows) {
        (Some(_), Some(_)) => {
            let message = "says the same as `native_result`; leave one of them out";
            return Err(file.wrong(&format!("{place}.preview_rows"), message));
        }
        (Some(NativeResult::Metadata), None) => Some(Preview::Metadata),
        (Some(NativeResult::Rows { limit }), None) | (None, Some(limit)) => Some(Preview::Rows { limit }),
        (None, None) => None,
    };
    Ok(tool)
}

/// The tools that a question has of its own.
fn nested(
    file: &mut AgentFile,
    name: &str,
    place: &str,
    tools: Map<String, Json>,
    (texts, depth): (Texts<'_>, usize),
) -> Result<Vec<Tool>, FileError> {
    if depth >= MAX_DEPTH && !tools.is_empty() {
        let message = format!("tools within tools go at most {MAX_DEPTH} levels deep");
        return Err(file.wrong(&format!("{place}.tools"), message));
    }
    let outer = std::mem::take(&mut file.commands);
    let own = tools.into_iter().map(|(inner, given)| {
        tool(file, &inner, &format!("{place}.tools.{inner}"), given, (texts, depth + 1))
    });
    let own = own.collect::<Result<Vec<Tool>, FileError>>();
    let inner = std::mem::replace(&mut file.commands, outer);
    file.commands.extend(inner.into_iter().map(|(tool, words)| (format!("{name}/{tool}"), words)));
    own
}

/// An agent of another file. What is wrong there is told as of there.
fn agent(
    file: &mut AgentFile,
    name: &str,
    place: &str,
    path: &Path,
    described: bool,
    (texts, depth): (Texts<'_>, usize),
) -> Result<Tool, FileError> {
    let at = format!("{place}.agent");
    if depth >= MAX_DEPTH {
        let message = format!("files of agents name each other more than {MAX_DEPTH} levels deep");
        return Err(file.wrong(&at, message));
    }
    if !texts.has(path) {
        return Err(file.wrong(&at, format!("there is no file {}", path.display())));
    }
    let other = AgentFile::read_at(path, texts, depth + 1)?.attached(texts)?;
    file.texts.extend(other.texts.clone());
    if other.upstreams.is_some() {
        let message = "only the agent that is run may name this; agents that are tools cannot";
        return Err(other.wrong("upstreams", message));
    }
    file.environment.extend(other.environment.iter().cloned());
    let nested = other.commands.iter().map(|(tool, words)| (format!("{name}/{tool}"), words.clone()));
    file.commands.extend(nested);
    file.words.extend(other.words.iter().cloned());
    file.tool_models.extend(other.tool_models.iter().cloned());
    file.tool_models.extend(other.model.iter().cloned());
    let agent = other.build()?;
    let described = described || agent.options().description.is_some();
    let prompt = agent.prompt().to_owned();
    let tool = Tool::agent(name, Arc::new(agent));
    Ok(if described { tool } else { tool.description(prompt) })
}
