//! What servers offered when they were last there, kept in files for descriptions that clients read once, before servers are
//! up: names, first lines and what they are for, with secrets covered. Nothing is called or judged by it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_system::private;
use serde::{Deserialize, Serialize};

use crate::catalog::{CatalogTool, Server, one_line};
use crate::config::{EffectClass, UpstreamConfig};
use crate::model::ToolDef;
use crate::pins::digest;

const VERSION: u32 = 1;

/// No file is larger, and none that is larger is read.
const MOST_BYTES: u64 = 512 * 1024;
/// The most tools that are described; of more, names are kept.
const DESCRIBED: usize = 64;
/// The most tools, and characters of a name and of a line.
const TOOLS: usize = 2_000;
const NAME: usize = 128;
const LINE: usize = 200;

/// What a file has.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberedCatalog {
    version: u32,
    description: String,
    tools: Vec<(String, String)>,
}

/// Where such files are kept, if the environment says where such things belong.
pub fn folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("ptc").join("catalogs"))
}

/// The file of an upstream: one that is configured in another way is another one.
pub(super) fn file(folder: &Path, config: &UpstreamConfig) -> PathBuf {
    folder.join(format!("{}.json", digest(&config.canonical())))
}

/// What the file has of a server; nothing if there is none, or one that is damaged.
pub(super) fn load(file: &Path, config: &UpstreamConfig) -> Option<Arc<Server>> {
    let is_small =
        std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_BYTES);
    let text = std::fs::read(file).ok().filter(|_| is_small)?;
    let stored: RememberedCatalog = serde_json::from_slice(&text).ok()?;
    if stored.version != VERSION || stored.tools.len() > TOOLS {
        return None;
    }
    let tools = stored.tools.into_iter().enumerate().map(|(place, (name, description))| {
        let (name, description) = (one_line(&name, NAME), one_line(&description, LINE));
        let def = ToolDef { name: name.clone(), description, ..ToolDef::default() };
        (name, Arc::new(CatalogTool { def, effect: EffectClass::Unknown, place }))
    });
    Some(Arc::new(Server {
        name: config.name.clone(),
        description: config.description.clone().unwrap_or_else(|| one_line(&stored.description, LINE)),
        own_words: config.description.is_none(),
        tags: config.tags.clone(),
        tools: Some(tools.collect::<BTreeMap<_, _>>()),
        ..Server::default()
    }))
}

/// Keeps what a server offers. One with more tools than are kept is forgotten.
pub(super) fn save(file: &Path, server: &Server) -> io::Result<()> {
    let listed = server.listed();
    let described = listed.len() <= DESCRIBED;
    let tool = |tool: &&Arc<CatalogTool>| {
        let line = if described { one_line(&tool.def.description, LINE) } else { String::new() };
        (one_line(&tool.def.name, NAME), line)
    };
    let tools: Vec<(String, String)> = listed.iter().map(tool).collect();
    let stored =
        RememberedCatalog { version: VERSION, description: one_line(&server.description, LINE), tools };
    let text = serde_json::to_vec(&stored)?;
    if text.len() as u64 > MOST_BYTES || stored.tools.len() > TOOLS {
        return std::fs::remove_file(file);
    }
    if std::fs::read(file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    private::folder_of(file)?;
    private::replace(file, &text)
}
