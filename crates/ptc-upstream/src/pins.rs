//! Tools as they were when somebody looked at them. A server can change what a tool says about itself after it
//! was approved; a pin is the hash of a definition, and a change is reported, never silently used.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};

use crate::model::ToolDef;

/// The version of the file's form.
const VERSION: u32 = 1;

/// The pinned tools of all upstreams.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    version: u32,
    upstreams: BTreeMap<String, BTreeMap<String, String>>,
}

/// How a tool differs from its pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The tool was not there when tools were pinned.
    Added,
    /// The definition is another one.
    Changed,
    /// The tool is gone.
    Removed,
}

/// One tool that is not as it was pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// What happened to it.
    pub change: Change,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { server, tool, change } = self;
        let what = match change {
            Change::Added => "is new since tools were pinned",
            Change::Changed => {
                "is not as it was pinned: its description, a schema or a hint such as readOnlyHint changed"
            }
            Change::Removed => "was pinned and is gone",
        };
        write!(f, "tool '{server}/{tool}' {what}; look at it and run `ptc upstreams pin` to accept it")
    }
}

impl Pins {
    /// No pins: every tool is new.
    pub fn new() -> Pins {
        Pins { version: VERSION, upstreams: BTreeMap::new() }
    }

    /// Reads a file of pins.
    pub fn load(path: &Path) -> Result<Pins, String> {
        let fault = |what: &dyn fmt::Display| {
            format!("pins file {}: {what}; run `ptc upstreams pin` to write it again", path.display())
        };
        let text = std::fs::read_to_string(path).map_err(|error| fault(&error))?;
        let pins: Pins = serde_json::from_str(&text).map_err(|error| fault(&error))?;
        match pins.version {
            VERSION => Ok(pins),
            other => Err(fault(&format!("has version {other}, known is {VERSION}"))),
        }
    }

    /// Writes the file, so that readers find either the old or the new one.
    pub fn save(&self, path: &Path) -> std::io::Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        ptc_system::project::replace(path, text.as_bytes())
    }

    /// Pins the tools of an upstream as they are now, in place of what was pinned before.
    pub fn pin(&mut self, server: &str, tools: &[ToolDef]) {
        let hashes = tools.iter().map(|tool| (tool.name.clone(), hash(tool))).collect();
        self.upstreams.insert(server.to_owned(), hashes);
    }

    /// Forgets upstreams that are not among `servers`.
    pub fn retain(&mut self, servers: &[&str]) {
        self.upstreams.retain(|server, _| servers.contains(&server.as_str()));
    }

    /// How the tools of an upstream differ from what was pinned, by name.
    pub fn compare(&self, server: &str, tools: &[ToolDef]) -> Vec<Difference> {
        let none = BTreeMap::new();
        let pinned = self.upstreams.get(server).unwrap_or(&none);
        let mut changes: BTreeMap<&str, Change> = BTreeMap::new();
        for tool in tools {
            match pinned.get(&tool.name) {
                None => drop(changes.insert(&tool.name, Change::Added)),
                Some(known) if *known != hash(tool) => drop(changes.insert(&tool.name, Change::Changed)),
                Some(_) => {}
            }
        }
        let gone = pinned.keys().filter(|name| !tools.iter().any(|tool| tool.name == **name));
        changes.extend(gone.map(|name| (name.as_str(), Change::Removed)));
        let difference = |(tool, change): (&str, Change)| Difference {
            server: server.to_owned(),
            tool: tool.to_owned(),
            change,
        };
        changes.into_iter().map(difference).collect()
    }
}

/// The hash of a definition: name, description, schemas and hints. The order of fields does not matter.
pub fn hash(tool: &ToolDef) -> String {
    let definition = json!({
        "name": tool.name,
        "description": tool.description,
        "input": tool.input_schema,
        "output": tool.output_schema,
        "annotations": tool.annotations,
    });
    format!("sha256:{}", digest(&definition))
}

/// The SHA-256 of a value as hexadecimal text. The order of fields does not matter.
pub fn digest(value: &Json) -> String {
    let digest = Sha256::digest(sorted(value.clone(), 0).to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How deep definitions are looked into; JSON that was read never nests deeper.
const DEEPEST: usize = 256;

/// The same value with the fields of objects in the order of their names.
fn sorted(value: Json, depth: usize) -> Json {
    match value {
        Json::Object(fields) if depth < DEEPEST => {
            let fields: BTreeMap<String, Json> = fields.into_iter().collect();
            Json::Object(
                fields.into_iter().map(|(key, value)| (key, sorted(value, depth + 1))).collect::<Map<_, _>>(),
            )
        }
        Json::Array(items) if depth < DEEPEST => {
            items.into_iter().map(|item| sorted(item, depth + 1)).collect()
        }
        other => other,
    }
}
