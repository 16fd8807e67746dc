//! Tools that are plain maps: `{prompt, signature, tools?, llm?}`. Without tools the map is a question that is
//! asked once, with tools it is an agent of several turns.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{LlmTool, Tool};
use crate::agent::{Agent, BuildError};
use crate::model::{Llm, Output};

/// How deep maps of tools may hold maps of tools.
const MAX_NESTING: usize = 16;

impl Tool {
    /// A map as a tool. It has a `prompt`, mostly a `signature`, and any option of an agent by its name.
    ///
    /// `granted` are the tools it may use. Its own `tools`, if it says, are names of those, or a map of names
    /// with maps like this one.
    pub fn from_config(
        name: impl Into<String>,
        config: &Json,
        granted: impl IntoIterator<Item = Tool>,
    ) -> Result<Tool, BuildError> {
        let granted = granted.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        promoted(&name.into(), config, &granted, 0)
    }
}

fn promoted(
    name: &str,
    config: &Json,
    granted: &BTreeMap<String, Tool>,
    depth: usize,
) -> Result<Tool, BuildError> {
    let wrong = |message: String| BuildError::option("tools", format!("`{name}`: {message}"));
    let Some(fields) = config.as_object() else {
        return Err(wrong(format!("must be a map with prompt and signature, got {config}")));
    };
    let Some(prompt) = fields.get("prompt").and_then(Json::as_str).filter(|text| !text.trim().is_empty())
    else {
        return Err(wrong("needs a prompt, a text that is not empty".to_owned()));
    };
    if depth >= MAX_NESTING {
        return Err(wrong(format!("tools within tools go at most {MAX_NESTING} deep")));
    }
    let tools = chosen(fields.get("tools"), granted, depth).map_err(|error| wrong(error.message))?;
    let builder = match tools.is_empty() {
        true => Agent::builder(prompt).output(Output::Text).max_turns(1),
        false => Agent::builder(prompt).tools(tools),
    };
    let own = ["prompt", "tools", "llm", "description"];
    let rest = fields.iter().filter(|(key, _)| !own.contains(&key.as_str()));
    let agent = builder.set_all(rest.map(|(key, value)| (key.as_str(), value))).build();
    let agent = agent.map_err(|error| wrong(error.to_string()))?;
    let mut tool = LlmTool::asking(agent).description(text(fields.get("description")).unwrap_or(prompt));
    tool.llm = text(fields.get("llm")).map(Llm::named);
    Ok(Tool::llm(name, tool))
}

fn text(value: Option<&Json>) -> Option<&str> {
    value.and_then(Json::as_str)
}

/// The tools of a map: those it names, those it describes, or all that it is granted.
fn chosen(
    wanted: Option<&Json>,
    granted: &BTreeMap<String, Tool>,
    depth: usize,
) -> Result<Vec<Tool>, BuildError> {
    let known = |name: &str| {
        granted.get(name).cloned().ok_or_else(|| {
            BuildError::option("tools", format!("there is no tool `{name}` that it could be granted"))
        })
    };
    match wanted {
        None | Some(Json::Null) => Ok(granted.values().cloned().collect()),
        Some(Json::Array(names)) => {
            names.iter().map(|name| known(text(Some(name)).unwrap_or_default())).collect()
        }
        Some(Json::Object(configs)) => {
            configs.iter().map(|(name, config)| promoted(name, config, granted, depth + 1)).collect()
        }
        Some(other) => {
            Err(BuildError::option("tools", format!("tools must be a list of names or a map, got {other}")))
        }
    }
}
