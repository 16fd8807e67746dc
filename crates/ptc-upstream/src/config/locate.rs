//! Where a configuration is looked for: what was asked for, then the environment, then the user's folder.

use std::path::{Path, PathBuf};

use super::{Config, ConfigError};

/// The variable that names a configuration, or holds it as JSON.
pub const ENV_VAR: &str = "PTC_RUNNER_MCP_UPSTREAMS";

/// Below the user's configuration folder.
const DEFAULT_FILE: &str = "ptc_runner_mcp/upstreams.json";

/// Where a configuration was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// In a file that somebody asked for, so that it must exist.
    File(PathBuf),
    /// In the environment, as JSON.
    Inline(String),
    /// Nowhere: there are no upstreams.
    Nowhere,
}

/// Looks for a configuration: `flag`, then [`ENV_VAR`], then the default file if it exists. `lookup` reads the
/// environment.
pub fn locate(flag: Option<&Path>, lookup: &dyn Fn(&str) -> Option<String>) -> Found {
    if let Some(path) = flag {
        return Found::File(path.to_path_buf());
    }
    let set = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
    if let Some(value) = set(ENV_VAR) {
        return match value.trim_start().starts_with('{') {
            true => Found::Inline(value),
            false => Found::File(PathBuf::from(value)),
        };
    }
    let folder = set("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| set("HOME").map(|home| Path::new(&home).join(".config")));
    match folder.map(|folder| folder.join(DEFAULT_FILE)) {
        Some(path) if path.exists() => Found::File(path),
        _ => Found::Nowhere,
    }
}

impl Config {
    /// Finds and reads the configuration, see [`locate`]; `None` if there is none.
    pub fn find(flag: Option<&Path>) -> Result<Option<Config>, ConfigError> {
        match locate(flag, &|name| std::env::var(name).ok()) {
            Found::File(path) => Config::from_file(&path).map(Some),
            Found::Inline(text) => Config::from_json(&text, Path::new("")).map(Some),
            Found::Nowhere => Ok(None),
        }
    }
}
